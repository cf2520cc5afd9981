"""All figures at once: which there are, what they are called, and that none is ever NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csad.auditing.metrics.all_metrics import all_metrics
from csad.auditing.metrics.classification import (
    accuracy,
    auc_within,
    balanced_accuracy,
    expected_calibration_error,
    f1,
    ranking,
)
from tests.support.messages import refused
from tests.support.metric_groups import attribute_figures, cell_figures, conflict_figures, recalls

PLAIN = ["accuracy", "balanced_accuracy"]
CELLS = ["worst_group", "unbiased"]
CONFLICTS = ["bias_conflicting"]
AREAS = ["auc", "ap", "auc_within", "ece"]


def of(attribute: str) -> list[str]:
    gaps = [f"gap_{attribute}_rms", f"gap_{attribute}_max"]
    return gaps + [f"{name}_{attribute}" for name in ("demographic_parity", "equal_opportunity", "equalized_odds")]


def recalled(classes: int) -> list[str]:
    return [f"recall_{k}" for k in range(classes)]


def random_split(classes: int, rows: int = 500) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    generator = np.random.default_rng(classes)
    y = generator.integers(classes, size=rows)
    probabilities = generator.dirichlet(np.ones(classes), size=rows)
    probabilities[:200] = 0.2 * probabilities[:200] + 0.8 * np.eye(classes)[y[:200]]
    biases = {"gender": generator.integers(2, size=rows), "race": generator.integers(-1, 3, size=rows)}
    return probabilities.argmax(1), y, probabilities, biases


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_figures_are_those_of_each_subject_under_the_names_of_the_design(classes: int) -> None:
    predicted, y, probabilities, biases = random_split(classes)
    found = all_metrics(predicted, y, probabilities=probabilities, biases=biases)
    shown = [*PLAIN, *recalled(classes), *CELLS, *CONFLICTS, *AREAS, "f1", *of("gender"), *of("race")]
    assert list(found) == shown
    assert found.keys() - all_metrics(predicted, y, biases=biases).keys() == set(AREAS)
    ranked = ranking(probabilities, y)
    known = biases["race"] >= 0
    assert ranked is not None
    expected = {
        "accuracy": accuracy(predicted, y),
        "balanced_accuracy": balanced_accuracy(predicted, y),
        **recalls(predicted, y),
        **cell_figures(predicted, y, biases),
        **conflict_figures(predicted, y, biases),
        "auc": ranked.auc,
        "ap": ranked.ap,
        "auc_within": auc_within(probabilities[known], y[known], (3 * biases["gender"] + biases["race"])[known]),
        "ece": expected_calibration_error(probabilities, y),
        "f1": f1(predicted, y, classes),
        **attribute_figures("gender", predicted, y, biases["gender"], classes),
        **attribute_figures("race", predicted, y, biases["race"], classes),
    }
    assert found == expected
    assert all(type(value) is float for value in found.values())


@pytest.mark.parametrize("classes", [2, 3])
def test_a_wanted_figure_is_as_among_all_and_comes_alone(classes: int) -> None:
    predicted, y, probabilities, biases = random_split(classes)
    whole = all_metrics(predicted, y, probabilities=probabilities, biases=biases)
    kinds = [["accuracy"], ["balanced_accuracy"], recalled(classes), CELLS, CONFLICTS, ["auc", "ap"], ["auc_within"]]
    for kind in [*kinds, ["ece"], ["f1"], [*of("gender"), *of("race")]]:
        for name in kind:
            found = all_metrics(predicted, y, probabilities=probabilities, biases=biases, wanted=[name])
            assert found == {name: whole[name]}
        found = all_metrics(predicted, y, probabilities=probabilities, biases=biases, wanted=kind)
        assert found == {figure: whole[figure] for figure in kind}
    both = all_metrics(
        predicted, y, probabilities=probabilities, biases=biases, wanted={"auc", "recall_1", "bias_from_h"}
    )
    assert set(both) == {"auc", "recall_1"}


def test_without_probabilities_and_attributes_the_plain_figures_are_left() -> None:
    y = np.array([0, 1, 2])
    assert all_metrics(y, y) == dict.fromkeys([*PLAIN, *recalled(3), "f1"], 1.0)


def test_an_attribute_of_real_numbers_is_left_out() -> None:
    predicted, y, probabilities, biases = random_split(3)
    age = np.random.default_rng(0).normal(size=len(y))
    more = all_metrics(predicted, y, probabilities=probabilities, biases={**biases, "age": age})
    assert more == all_metrics(predicted, y, probabilities=probabilities, biases=biases)


def test_an_attribute_of_truth_values_has_two_groups() -> None:
    predicted, y, _, biases = random_split(3)
    male = {"gender": biases["gender"] == 1}
    assert all_metrics(predicted, y, biases=male) == all_metrics(predicted, y, biases={"gender": biases["gender"]})


@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_labels_may_be_bytes_or_whole_floats(kind: type[np.generic]) -> None:
    predicted, y, probabilities, biases = random_split(10)
    expected = all_metrics(predicted, y, probabilities=probabilities, biases=biases)
    assert all_metrics(predicted.astype(kind), y.astype(kind), probabilities=probabilities, biases=biases) == expected


def test_the_number_of_classes_is_that_of_the_columns() -> None:
    # Class 2 is neither there nor predicted, but f1 and equal opportunity are still those of a task of three classes.
    predicted, y, sex = np.array([0, 1, 0, 0]), np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1])
    two, three = (np.eye(classes)[predicted] for classes in (2, 3))
    of_two = all_metrics(predicted, y, probabilities=two, biases={"sex": sex})
    of_three = all_metrics(predicted, y, probabilities=three, biases={"sex": sex})
    assert of_two["f1"] == pytest.approx(2 * 1 / 3)
    assert of_three["f1"] == pytest.approx((2 * 2 / 5 + 2 * 1 / 3) / 2)
    assert (of_two["equal_opportunity_sex"], of_three["equal_opportunity_sex"]) == (1.0, 0.5)


def test_a_class_that_the_model_does_not_know_is_always_wrong() -> None:
    y = np.array([0, 1, 2, 0])
    found = all_metrics(np.array([0, 1, 1, 0]), y, probabilities=np.eye(2)[[0, 1, 1, 0]], biases={"sex": y % 2})
    assert found["accuracy"] == 3 / 4
    assert found["balanced_accuracy"] == pytest.approx(2 / 3)


def test_probabilities_that_are_not_numbers_give_no_figures() -> None:
    predicted, y, probabilities, _ = random_split(3)
    probabilities[5] = np.nan
    assert list(all_metrics(predicted, y, probabilities=probabilities)) == [*PLAIN, *recalled(3), "f1"]


def test_one_class_only_leaves_what_can_be_said() -> None:
    y, sex = np.zeros(6, int), np.arange(6) % 2
    found = all_metrics(y, y, probabilities=np.eye(2)[y], biases={"sex": sex})
    gaps = [name for name in of("sex") if "opportunity" not in name]
    assert list(found) == [*PLAIN, *recalled(1), *CELLS, "ece", *gaps]
    assert found["accuracy"] == found["worst_group"] == 1.0


@settings(deadline=None)
@given(
    st.integers(2, 4).flatmap(
        lambda classes: st.tuples(
            st.just(classes),
            st.lists(
                st.tuples(st.integers(0, classes - 1), st.integers(-1, 2), st.integers(-1, 1), st.integers(0, 99)),
                min_size=1,
            ),
        )
    )
)
def test_no_figure_is_ever_nan_and_the_predictions_do_not_say_which_there_are(
    split: tuple[int, list[tuple[int, int, int, int]]],
) -> None:
    classes, rows = split
    y, sex, race, chance = np.array(rows).T
    names = set()
    for logits in (np.outer(chance, np.arange(classes)) % 7, np.zeros((len(y), classes)), 9 * np.eye(classes)[y]):
        odds = np.exp(logits)
        probabilities = odds / odds.sum(1, keepdims=True)
        found = all_metrics(probabilities.argmax(1), y, probabilities=probabilities, biases={"sex": sex, "race": race})
        assert all(math.isfinite(value) and 0 <= value <= 1 + 1e-12 for value in found.values())
        names.add(tuple(found))
    assert len(names) == 1


@pytest.mark.parametrize("wrong", [np.array([0, -1]), np.array([], int)])
def test_labels_that_are_no_class_numbers_are_an_input_error(wrong: np.ndarray) -> None:
    with refused("class-numbers-invalid", labels="y"):
        all_metrics(np.zeros(len(wrong) or 1, int), wrong)


@pytest.mark.parametrize(
    "more", [{"probabilities": np.eye(2)}, {"biases": {"sex": np.array([0, 1])}}], ids=["probabilities", "biases"]
)
def test_other_rows_are_an_input_error(more: dict) -> None:
    y = np.array([0, 1, 1])
    with refused("row-counts-differ"):
        all_metrics(y, y, **more)
