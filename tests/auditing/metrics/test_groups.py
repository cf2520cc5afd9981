"""Figures that compare groups: by hand, against fairlearn and the paper's definition, and where cells are empty."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.metrics import (
    demographic_parity_difference,
    equal_opportunity_difference,
    equalized_odds_difference,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from csad.auditing.metrics.classification import balanced_accuracy
from tests.support.metric_groups import attribute_figures, cell_figures

# Group 0: class 0 right 3 of 4, class 1 right 1 of 2. Group 1: class 0 right 1 of 2, class 1 right 4 of 4.
Y = np.array([0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1])
PREDICTED = np.array([0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1])
GROUP = np.repeat([0, 1], 6)


def figures(predicted: np.ndarray, y: np.ndarray, group: np.ndarray, classes: int = 2) -> dict[str, float]:
    return attribute_figures("sex", predicted, y, group, classes)


def slow_figures(predicted: np.ndarray, y: np.ndarray, group: np.ndarray, classes: int) -> dict[str, float]:
    """The same from their definitions, with loops; all cells of the data must hold rows."""
    groups, gaps, parity, odds = np.unique(group), [], [], []
    for c in range(classes):
        recall = [np.mean(predicted[(y == c) & (group == g)] == c) for g in groups]
        false = [np.mean(predicted[(y != c) & (group == g)] == c) for g in groups]
        share = [np.mean(predicted[group == g] == c) for g in groups]
        gaps.append(max(recall) - min(recall))
        parity.append(max(share) - min(share))
        odds += [gaps[-1], max(false) - min(false)]
    return {
        "gap_sex_rms": float(np.sqrt(np.mean(np.square(gaps)))),
        "gap_sex_max": float(max(gaps)),
        "demographic_parity_sex": float(max(parity)),
        "equal_opportunity_sex": float(gaps[1] if classes == 2 else np.mean(gaps)),
        "equalized_odds_sex": float(max(odds)),
    }


def random_rows(seed: int, classes: int, groups: int, rows: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions that are often right, and of which group 0 gets more of class 1; every cell holds rows."""
    generator = np.random.default_rng(seed)
    y, group, noise = (generator.integers(count, size=rows) for count in (classes, groups, classes))
    y[: classes * groups], group[: classes * groups] = np.indices((classes, groups)).reshape(2, -1)
    predicted = np.where(generator.random(rows) < 0.6, y, noise)
    return np.where((group == 0) & (generator.random(rows) < 0.3), 1, predicted), y, group


def test_the_figures_of_an_attribute_by_hand() -> None:
    gap_0, gap_1 = 3 / 4 - 1 / 2, 4 / 4 - 1 / 2
    found = figures(PREDICTED, Y, GROUP)
    assert found == pytest.approx(
        {
            "gap_sex_rms": ((gap_0**2 + gap_1**2) / 2) ** 0.5,
            "gap_sex_max": 1 / 2,
            "demographic_parity_sex": 5 / 6 - 2 / 6,
            "equal_opportunity_sex": 1 / 2,
            "equalized_odds_sex": 1 / 2,
        }
    )
    assert all(type(value) is float for value in found.values())


@pytest.mark.parametrize("seed", range(5))
def test_the_gaps_of_two_classes_and_two_groups_are_the_papers(seed: int) -> None:
    predicted, y, group = random_rows(seed, 2, 2)

    def rate(of: int, said: int, g: int) -> float:
        return float(np.mean(predicted[(y == of) & (group == g)] == said))

    # The protocol's words: −(FNR_unprivileged − FNR_privileged), −(FPR_unprivileged − FPR_privileged).
    true = -(rate(1, 0, 0) - rate(1, 0, 1))
    negative = -(rate(0, 1, 0) - rate(0, 1, 1))
    found = figures(predicted, y, group)
    assert found["gap_sex_rms"] == pytest.approx((0.5 * (true**2 + negative**2)) ** 0.5)
    assert found["gap_sex_max"] == pytest.approx(max(abs(true), abs(negative)))


@pytest.mark.parametrize("groups", [2, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_judged_as_by_fairlearn(seed: int, groups: int) -> None:
    predicted, y, group = random_rows(seed, 2, groups)
    found = figures(predicted, y, group)
    for name, theirs in (
        ("demographic_parity_sex", demographic_parity_difference),
        ("equal_opportunity_sex", equal_opportunity_difference),
        ("equalized_odds_sex", equalized_odds_difference),
    ):
        assert found[name] == pytest.approx(theirs(y, predicted, sensitive_features=group)), name


@pytest.mark.parametrize(("classes", "groups"), [(2, 2), (2, 5), (3, 2), (10, 8)])
def test_the_figures_are_those_of_plain_loops(classes: int, groups: int) -> None:
    predicted, y, group = random_rows(classes, classes, groups, 900)
    assert figures(predicted, y, group, classes) == pytest.approx(slow_figures(predicted, y, group, classes))


@pytest.mark.parametrize("classes", [2, 4])
def test_predictions_that_are_all_right_have_no_gaps_but_follow_the_shares_of_the_classes(classes: int) -> None:
    _, y, group = random_rows(1, classes, 3)
    found = figures(y, y, group, classes)
    assert found.pop("demographic_parity_sex") == pytest.approx(
        max(np.ptp([np.mean(y[group == g] == c) for g in range(3)]) for c in range(classes))
    )
    assert set(found.values()) == {0.0}


@pytest.mark.parametrize("classes", [2, 4])
def test_one_prediction_for_all_has_no_gaps_at_all(classes: int) -> None:
    _, y, group = random_rows(1, classes, 3)
    assert set(figures(np.ones_like(y), y, group, classes).values()) == {0.0}


def test_groups_without_rows_of_a_class_do_not_count_for_it() -> None:
    # Group 2 has rows of class 0 only, none of them right.
    y, predicted = np.append(Y, [0, 0]), np.append(PREDICTED, [1, 1])
    found = figures(predicted, y, np.append(GROUP, [2, 2]))
    assert found["equal_opportunity_sex"] == 1 / 2
    assert found["gap_sex_max"] == found["equalized_odds_sex"] == 3 / 4 - 0
    assert found["gap_sex_rms"] == pytest.approx(((0.75**2 + 0.5**2) / 2) ** 0.5)


def test_a_class_that_only_one_group_has_is_not_compared() -> None:
    # Three rows of class 2, all in group 1: the gaps are those of classes 0 and 1.
    y, predicted, group = np.append(Y, [2] * 3), np.append(PREDICTED, [2, 2, 0]), np.append(GROUP, [1] * 3)
    found = figures(predicted, y, group, 3)
    assert found["gap_sex_max"] == 1 / 2
    assert found["equal_opportunity_sex"] == pytest.approx((0.25 + 0.5) / 2)
    assert found["gap_sex_rms"] == figures(PREDICTED, Y, GROUP)["gap_sex_rms"]


def test_where_target_and_group_are_one_there_are_no_recalls_to_compare() -> None:
    y = np.array([0, 0, 1, 1])
    assert figures(np.array([0, 1, 1, 1]), y, y) == {"demographic_parity_sex": 0.5}
    # Of three classes each group has rows of the other two: false positive rates can be compared.
    y = np.array([0, 0, 1, 1, 2, 2])
    found = figures(np.array([0, 1, 1, 1, 2, 2]), y, y, 3)
    assert found == {"demographic_parity_sex": 1.0, "equalized_odds_sex": 0.5}


def test_two_classes_without_class_1_in_two_groups_have_no_equal_opportunity() -> None:
    y, predicted = np.array([0, 0, 0, 0, 1]), np.array([0, 1, 0, 0, 1])
    found = figures(predicted, y, np.array([0, 0, 1, 1, 1]))
    assert "equal_opportunity_sex" not in found
    assert found["gap_sex_rms"] == found["gap_sex_max"] == 1 / 2


@pytest.mark.parametrize("group", [np.zeros(12, int), np.full(12, -1), np.where(GROUP == 0, -1, 4)])
def test_an_attribute_of_fewer_than_two_known_groups_has_no_figures(group: np.ndarray) -> None:
    assert figures(PREDICTED, Y, group) == {}
    assert cell_figures(PREDICTED, Y, {"sex": group}) == {}


def test_rows_of_unknown_group_are_left_out() -> None:
    y, predicted = np.append(Y, [0, 1, 1]), np.append(PREDICTED, [1, 0, 0])
    group = np.append(GROUP, [-1] * 3)
    assert figures(predicted, y, group) == figures(PREDICTED, Y, GROUP)
    assert cell_figures(predicted, y, {"sex": group}) == cell_figures(PREDICTED, Y, {"sex": GROUP})


def test_the_numbers_of_the_groups_do_not_matter() -> None:
    assert figures(PREDICTED, Y, GROUP) == figures(PREDICTED, Y, np.where(GROUP == 0, 10**9, 3))


def test_cells_of_one_attribute_by_hand() -> None:
    found = cell_figures(PREDICTED, Y, {"sex": GROUP})
    assert found == pytest.approx({"worst_group": 1 / 2, "unbiased": (3 / 4 + 1 / 2 + 1 / 2 + 4 / 4) / 4})
    assert all(type(value) is float for value in found.values())


def test_cells_of_two_attributes_are_those_that_hold_rows() -> None:
    y, predicted = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 0, 0, 1])
    biases = {"sex": np.array([0, 0, 1, 0, 0]), "race": np.array([0, 0, 2, 0, 2])}
    # (y, sex, race): (0, 0, 0) half right, (0, 1, 2) right, (1, 0, 0) wrong, (1, 0, 2) right; the rest are empty.
    assert cell_figures(predicted, y, biases) == {"worst_group": 0.0, "unbiased": (0.5 + 1 + 0 + 1) / 4}


def test_an_attribute_that_does_not_split_the_rows_makes_no_cells() -> None:
    expected = cell_figures(PREDICTED, Y, {"sex": GROUP})
    for other in (np.full(12, -1), np.full(12, 3), np.where(np.arange(12) < 5, -1, 3)):
        assert cell_figures(PREDICTED, Y, {"sex": GROUP, "race": other}) == expected


def test_a_row_counts_in_the_cells_only_if_all_its_attributes_are_known() -> None:
    race = np.where(np.arange(12) % 6 == 0, -1, np.arange(12) % 2)
    kept = race >= 0
    expected = cell_figures(PREDICTED[kept], Y[kept], {"sex": GROUP[kept], "race": race[kept]})
    assert cell_figures(PREDICTED, Y, {"sex": GROUP, "race": race}) == expected
    apart = {"sex": np.array([0, 1, -1, -1]), "race": np.array([-1, -1, 0, 1])}
    assert cell_figures(PREDICTED[:4], Y[:4], apart) == {}


def test_without_attributes_there_are_no_cells() -> None:
    assert cell_figures(PREDICTED, Y, {}) == {}


def test_very_many_attributes_are_no_trouble() -> None:
    generator = np.random.default_rng(0)
    biases = {f"b{k}": generator.integers(9, size=50) for k in range(100)}
    predicted, y = generator.integers(2, size=(2, 50))
    # Every row is a cell of its own.
    assert cell_figures(predicted, y, biases) == {"worst_group": 0.0, "unbiased": np.mean(predicted == y)}


def test_labels_of_bytes_do_not_wrap() -> None:
    generator = np.random.default_rng(0)
    predicted, y = generator.integers(30, size=(2, 3000))
    biases = {name: generator.integers(30, size=3000) for name in ("sex", "race")}
    small = {name: labels.astype(np.int8) for name, labels in biases.items()}
    expected = cell_figures(predicted, y, biases)
    assert cell_figures(predicted.astype(np.uint8), y.astype(np.uint8), small) == expected


def rows_of(*counts: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Rows of predicted, y and attributes; −1 only in these."""
    return st.lists(st.tuples(*(st.integers(-1 if k > 1 else 0, n - 1) for k, n in enumerate(counts))), min_size=1)


@settings(deadline=None)
@given(rows_of(3, 3, 3, 2))
def test_whatever_is_predicted_every_figure_is_a_fraction_and_none_comes_or_goes(rows: list[tuple[int, ...]]) -> None:
    predicted, y, sex, race = np.array(rows).T
    names = set()
    for said in (predicted, y, np.zeros_like(y)):
        found = figures(said, y, sex, 3) | cell_figures(said, y, {"sex": sex, "race": race})
        assert all(0 <= value <= 1 for value in found.values())
        if "unbiased" in found:
            assert found["worst_group"] <= found["unbiased"]
        names.add(frozenset(found))
    assert len(names) == 1


@settings(deadline=None)
@given(rows_of(2, 2))
def test_with_one_attribute_that_is_the_target_the_mean_of_the_cells_is_balanced_accuracy(
    rows: list[tuple[int, ...]],
) -> None:
    predicted, y = np.array(rows).T
    found = cell_figures(predicted, y, {"same": y})
    assert not found or found["unbiased"] == pytest.approx(balanced_accuracy(predicted, y))
