"""AUC and average precision: by counting pairs, against scikit-learn, with ties, with classes that are missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import label_binarize

from csad.auditing.leakage.bias_column import paired_auc
from csad.auditing.metrics.classification import Ranking, auc_within, in_true_order, rank, ranking


def two_columns(score: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - score, score])


def random_probabilities(seed: int, classes: int, rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    y = generator.integers(classes, size=rows)
    y[:classes] = np.arange(classes)
    logits = generator.normal(size=(rows, classes))
    logits[np.arange(rows), y] += 1
    odds = np.exp(logits)
    return odds / odds.sum(1, keepdims=True), y


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    score, y = np.array([0.9, 0.8, 0.4, 0.3, 0.2]), np.array([1, 0, 1, 0, 0])
    # Positives .9 and .4 against negatives .8, .3 and .2: of six pairs only (.4, .8) is in the wrong order.
    found = ranking(two_columns(score), y)
    assert found is not None
    assert found.auc == pytest.approx(5 / 6)
    # The first positive comes first of one row, the second third: precisions 1/1 and 2/3, each for half the recall.
    assert found.ap == pytest.approx((1 / 1 + 2 / 3) / 2)


def test_rows_of_one_score_count_half_and_come_in_together() -> None:
    score, y = np.array([0.5, 0.5, 0.5, 0.1]), np.array([1, 0, 0, 1])
    # Pairs: (.5, .5) twice, half each; (.1, .5) twice, wrong. Precision at .5 is 1/3, at .1 it is 2/4.
    found = ranking(two_columns(score), y)
    assert found == pytest.approx((2 * 0.5 / 4, 0.5 * 1 / 3 + 0.5 * 2 / 4))


def test_a_constant_score_is_worth_a_half_and_the_share_of_positives() -> None:
    assert ranking(np.full((10, 2), 0.5), np.arange(10) % 5 // 4) == pytest.approx((0.5, 2 / 10))


def test_a_perfect_order_is_worth_one_and_the_reverse_nought() -> None:
    y = np.array([0, 0, 0, 1, 1])
    score = np.arange(5) / 5
    assert ranking(two_columns(score), y) == (1.0, 1.0)
    worst = ranking(two_columns(1 - score), y)
    assert worst is not None
    assert worst.auc == 0.0


@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
def test_where_one_class_only_is_there_nothing_can_be_ranked(y: list[int]) -> None:
    assert ranking(two_columns(np.array([0.1, 0.2, 0.3])), np.array(y)) is None
    assert ranking(np.full((3, 3), 1 / 3), np.array(y)) is None


@pytest.mark.parametrize("digits", [1, 2, 12])
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_ranked_as_by_scikit_learn(seed: int, digits: int) -> None:
    probabilities, y = random_probabilities(seed, 2)
    probabilities = probabilities.round(digits).astype(np.float32)  # few digits make many ties
    score = probabilities[:, 1]
    assert ranking(probabilities, y) == pytest.approx((roc_auc_score(y, score), average_precision_score(y, score)))


@pytest.mark.parametrize("classes", [3, 10])
@pytest.mark.parametrize("digits", [1, 12])
def test_many_classes_are_ranked_as_by_scikit_learn(classes: int, digits: int) -> None:
    probabilities, y = random_probabilities(classes, classes)
    hot = label_binarize(y, classes=range(classes))
    probabilities = probabilities.round(digits)
    found = ranking(probabilities, y)
    assert found is not None
    assert found.auc == pytest.approx(roc_auc_score(hot, probabilities, average="macro"))
    assert found.ap == pytest.approx(average_precision_score(hot, probabilities, average="macro"))
    if digits == 12:  # scikit-learn's own way from class to rest wants rows that add up to one
        assert found.auc == pytest.approx(roc_auc_score(y, probabilities, multi_class="ovr", average="macro"))


def test_classes_without_rows_do_not_count() -> None:
    probabilities, y = random_probabilities(0, 5)
    y = np.where(y > 2, 0, y)
    each = [rank(probabilities[:, c], y == c) for c in range(3)]
    found = ranking(probabilities, y)
    assert found == pytest.approx([np.mean(values) for values in zip(*filter(None, each), strict=True)])
    assert isinstance(found, Ranking)
    assert all(type(value) is float for value in found)


def test_a_class_beyond_the_columns_is_in_the_rest_of_all_others() -> None:
    probabilities, y = random_probabilities(1, 3)
    y[:20] = 7
    expected = np.mean([roc_auc_score(y == c, probabilities[:, c]) for c in range(3)])
    found = ranking(probabilities, y)
    assert found is not None
    assert found.auc == pytest.approx(expected)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2))
def test_auc_counts_pairs_whatever_the_ties(rows: list[tuple[int, bool]]) -> None:
    score, positive = np.array([s for s, _ in rows]) / 4, np.array([p for _, p in rows])
    found = rank(score, positive)
    if positive.all() or not positive.any():
        assert found is None
        return
    pairs = score[positive][:, None] - score[~positive]
    assert found is not None
    assert found.auc == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    assert found.ap == pytest.approx(average_precision_score(positive, score))


def test_the_auc_within_groups_never_compares_rows_of_two_groups() -> None:
    # Group 0: yes .9 .1, no .5: 1 of 2 pairs. Group 1: yes .7 and no .7: a tie. Weights 2 / 4 and 1 / 3.
    score, y, group = np.array([0.9, 0.7, 0.1, 0.5, 0.7]), np.array([1, 1, 1, 0, 0]), np.array([0, 1, 0, 0, 1])
    expected = (1 / 4 + 0.5 / 3) / (2 / 4 + 1 / 3)
    assert auc_within(two_columns(score), y, group) == pytest.approx(expected)
    moved = np.where(group == 1, score / 100, score)
    assert auc_within(two_columns(moved), y, group) == pytest.approx(expected)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("groups", [1, 3, 60])
def test_the_auc_within_groups_is_that_of_the_readers(classes: int, groups: int) -> None:
    probabilities, y = random_probabilities(groups, classes)
    probabilities = probabilities.round(2)  # many ties
    group = np.random.default_rng(groups).integers(groups, size=len(y))
    cells = [np.flatnonzero(group == one) for one in range(groups)]
    asked = [1] if classes == 2 else list(range(classes))
    expected = paired_auc(probabilities[:, asked], y[:, None] == asked, cells).mean()
    assert auc_within(probabilities, y, group) == pytest.approx(expected)


def test_what_only_tells_the_group_has_an_auc_of_a_half_within() -> None:
    group = np.repeat([0, 1], 50)
    y = np.r_[np.arange(50) < 40, np.arange(50) < 10].astype(int)
    score = two_columns(np.where(group == 0, 0.9, 0.2))
    found = ranking(score, y)
    assert found is not None
    assert found.auc == pytest.approx(0.8)
    assert auc_within(score, y, group) == 0.5


def test_groups_of_one_class_each_leave_nothing_to_tell_within() -> None:
    y = np.repeat([0, 1], 5)
    assert auc_within(two_columns(np.linspace(0, 1, 10)), y, y) is None


def test_the_true_order_is_kept_by_the_share_of_pairs_that_a_score_puts_so() -> None:
    # Truth: a > b > c = d, five pairs with an order. The score has a level with b, and both below c and d.
    truth, score = np.array([3.0, 1.0, 0.5, 0.5]), np.array([0.1, 0.1, 0.2, 0.15])
    assert in_true_order(score, truth) == pytest.approx(0.5 / 5)
    assert in_true_order(-score, truth) == pytest.approx(4.5 / 5)
    assert in_true_order(truth, truth) == 1.0
    assert in_true_order(np.zeros(4), truth) == 0.5
    assert in_true_order(score, np.zeros(4)) is None


@pytest.mark.parametrize("rows", [2, 3, 64, 500, 1203])
def test_the_true_order_is_that_of_all_pairs_however_many_rows(rows: int) -> None:
    generator = np.random.default_rng(rows)
    truth = generator.integers(0, 50, rows).astype(float)
    score = (truth + generator.normal(size=rows) * 20).round(-1)
    pairs = [
        (0.5 if score[i] == score[j] else float((score[i] > score[j]) == (truth[i] > truth[j])))
        for i in range(rows)
        for j in range(i)
        if truth[i] != truth[j]
    ]
    assert in_true_order(score, truth) == pytest.approx(np.mean(pairs))


def test_the_true_order_of_many_rows_is_found_without_comparing_all_pairs() -> None:
    """Of 200,000 rows all pairs would be 20 billion: two of three are so placed where thirds are turned around."""
    truth = np.arange(200_001.0)
    assert in_true_order(truth % 66_667, truth) == pytest.approx(2 / 3, abs=1e-4)
