"""Bootstrap intervals: they cover, repeat by seed, bear resamples that lack a class, and compare two predictions."""

from __future__ import annotations

import numpy as np
import pytest

from csad.auditing.metrics.all_metrics import all_metrics
from csad.auditing.metrics.classification import accuracy, balanced_accuracy, consistency
from csad.auditing.metrics.intervals import bootstrap, bootstrap_difference, holm, student
from tests.support.messages import refused
from tests.support.metric_groups import attribute_figures

GENERATOR = np.random.default_rng(0)
Y = GENERATOR.integers(2, size=200)
PREDICTED = np.where(GENERATOR.random(200) < 0.8, Y, 1 - Y)


def mean(values: np.ndarray) -> float:
    return float(values.mean())


def test_an_interval_is_the_percentiles_over_rows_drawn_again() -> None:
    values, generator = np.arange(7.0), np.random.default_rng(5)
    drawn = [values[generator.integers(7, size=7)].mean() for _ in range(50)]
    assert bootstrap(mean, values, repeats=50, level=0.8, seed=5) == pytest.approx(np.quantile(drawn, [0.1, 0.9]))


def test_an_interval_of_95_percent_covers_the_truth_about_so_often() -> None:
    generator = np.random.default_rng(1)
    covered = 0
    for trial in range(200):
        right = (generator.random(100) < 0.7).astype(int)
        low, high = bootstrap(accuracy, right, np.ones(100, int), repeats=200, seed=trial)
        covered += low <= 0.7 <= high
    assert 0.9 <= covered / 200 <= 0.98


def test_a_higher_level_is_wider_and_more_rows_are_narrower() -> None:
    narrow, wide = (np.ptp(bootstrap(accuracy, PREDICTED, Y, level=level)) for level in (0.5, 0.99))
    assert narrow < wide
    many = bootstrap(accuracy, np.tile(PREDICTED, 16), np.tile(Y, 16), repeats=300)
    few = bootstrap(accuracy, PREDICTED, Y, repeats=300)
    assert np.ptp(many) == pytest.approx(np.ptp(few) / 4, rel=0.2)


def test_the_same_seed_gives_the_same_interval() -> None:
    once, again, other = (bootstrap(mean, np.sqrt(np.arange(50.0)), repeats=20, seed=seed) for seed in (3, 3, 4))
    assert once == again
    assert once != other
    assert all(type(end) is float for end in once)


def test_figures_by_name_have_an_interval_each_as_they_would_alone() -> None:
    def both(predicted: np.ndarray, y: np.ndarray) -> dict[str, float]:
        return {"accuracy": accuracy(predicted, y), "balanced_accuracy": balanced_accuracy(predicted, y)}

    found = bootstrap(both, PREDICTED, Y, repeats=100)
    assert found["accuracy"] == bootstrap(accuracy, PREDICTED, Y, repeats=100)
    assert found["balanced_accuracy"] == bootstrap(balanced_accuracy, PREDICTED, Y, repeats=100)


def test_all_figures_of_a_split_have_intervals() -> None:
    sex = np.arange(200) % 3
    probabilities = np.column_stack([1 - 0.8 * PREDICTED, 0.8 * PREDICTED])

    def all_figures(predicted: np.ndarray, y: np.ndarray, shares: np.ndarray, group: np.ndarray) -> dict[str, float]:
        return all_metrics(predicted, y, probabilities=shares, biases={"sex": group})

    whole = all_figures(PREDICTED, Y, probabilities, sex)
    found = bootstrap(all_figures, PREDICTED, Y, probabilities, sex, repeats=100)
    assert found.keys() == whole.keys()
    for name in ("accuracy", "balanced_accuracy", "unbiased", "auc", "ap", "f1", "ece"):
        low, high = found[name]
        assert low <= whole[name] <= high, name


def test_draws_that_lack_a_class_do_not_count() -> None:
    # A row of class 1 in each group: in more than half of all draws one of them is missing.
    y, group = np.array([1, 0, 0, 0, 0, 0, 0, 1]), np.array([0, 0, 0, 0, 1, 1, 1, 1])

    def opportunity(predicted: np.ndarray, y: np.ndarray, group: np.ndarray) -> dict[str, float]:
        found = attribute_figures("sex", predicted, y, group, 2)
        return {name: value for name, value in found.items() if name == "equal_opportunity_sex"}

    def as_number(predicted: np.ndarray, y: np.ndarray, group: np.ndarray) -> float:
        return opportunity(predicted, y, group).get("equal_opportunity_sex", float("nan"))

    predicted = np.zeros(8, int)
    predicted[0] = 1
    found = bootstrap(opportunity, predicted, y, group, repeats=200)
    # Where both rows are drawn, one is right and the other is not.
    assert found == {"equal_opportunity_sex": (1.0, 1.0)}
    assert bootstrap(as_number, predicted, y, group, repeats=200) == (1.0, 1.0)


def test_a_figure_that_no_draw_gives_is_left_out_or_an_input_error() -> None:
    assert bootstrap(lambda y: {"a": float("nan"), "b": 1.0}, Y, repeats=5) == {"b": (1.0, 1.0)}
    assert bootstrap(lambda y: {}, Y, repeats=5) == {}
    with refused("metric-never-defined", repeats=5, rows=200):
        bootstrap(lambda y: float("nan"), Y, repeats=5)


def test_copies_can_be_compared() -> None:
    low, high = bootstrap(lambda *copies: consistency(copies), PREDICTED, Y, repeats=200)
    assert low < accuracy(PREDICTED, Y) < high


def test_the_difference_of_two_predictions_is_taken_on_the_same_rows() -> None:
    better = PREDICTED.copy()
    wrong = np.flatnonzero(PREDICTED != Y)[:10]
    better[wrong] = Y[wrong]
    low, high = bootstrap_difference(accuracy, better, PREDICTED, Y)
    # Ten rows of 200 differ, all for the better: the difference is never below nought, though the intervals overlap.
    assert 0 < low < 10 / 200 < high < 0.1
    assert bootstrap(accuracy, better, Y)[0] < bootstrap(accuracy, PREDICTED, Y)[1]
    assert bootstrap_difference(accuracy, PREDICTED, PREDICTED, Y) == (0.0, 0.0)


def test_the_difference_of_several_figures_is_taken_name_by_name() -> None:
    def both(predicted: np.ndarray, y: np.ndarray) -> dict[str, float]:
        named = {"accuracy": accuracy(predicted, y)}
        return named | ({"rare": 1.0} if predicted.sum() > 150 else {})

    found = bootstrap_difference(both, np.ones(200, int), PREDICTED, Y, repeats=100)
    assert found == {"accuracy": bootstrap_difference(accuracy, np.ones(200, int), PREDICTED, Y, repeats=100)}


@pytest.mark.parametrize("arrays", [(), (Y, Y[:5]), (Y[:0],)])
def test_arrays_without_common_rows_are_an_input_error(arrays: tuple[np.ndarray, ...]) -> None:
    with refused("metric-arrays-unequal"):
        bootstrap(lambda *_: 1.0, *arrays)


@pytest.mark.parametrize(("repeats", "level"), [(0, 0.95), (10, 0.0), (10, 1.0), (10, 95.0)])
def test_repeats_or_a_level_out_of_range_are_an_input_error(repeats: int, level: float) -> None:
    with refused("interval-settings-out-of-range"):
        bootstrap(mean, Y, repeats=repeats, level=level)


def test_rows_of_one_person_are_drawn_together() -> None:
    values, same = np.repeat(np.random.default_rng(2).normal(size=30), 10), np.repeat(np.arange(30), 10)
    persons = bootstrap(mean, values, repeats=300, same=same)
    assert np.ptp(persons) == pytest.approx(np.ptp(bootstrap(mean, values[::10], repeats=300)), rel=0.2)
    assert np.ptp(persons) > 2 * np.ptp(bootstrap(mean, values, repeats=300))
    both = bootstrap_difference(accuracy, PREDICTED, PREDICTED, Y, repeats=20, same=np.arange(200) // 4)
    assert both == (0.0, 0.0)


def test_holms_correction_by_hand() -> None:
    # Sorted: .005 × 4, .01 × 3, .03 × 2, .04 × 1; the last is raised to the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.4, 0.9]) == pytest.approx([0.8, 0.9])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_the_interval_of_a_mean_of_five_reaches_student_t() -> None:
    assert student(5) == pytest.approx(2.776, abs=1e-3)
    assert student(5, 0.9) == pytest.approx(2.132, abs=1e-3)
