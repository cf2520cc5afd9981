"""AUCs within cells, joined: against scikit-learn's, with ties, with weights, for classes and numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from csad.auditing.leakage.bias_column import BiasColumn, joined_auc, paired_auc, scorable_tasks, weighted_auc

CELLS = [np.arange(0, 40), np.arange(40, 70), np.arange(70, 100)]


def column_of(codes: np.ndarray, positives: np.ndarray, reads: np.ndarray | None = None) -> BiasColumn:
    reads = np.arange(positives.shape[1]) if reads is None else reads
    return BiasColumn(np.arange(len(codes)), positives[codes].astype(float), codes, positives, reads)


def random_rows(classes: int, seed: int = 0) -> tuple[np.ndarray, BiasColumn]:
    """Scores with many ties, and labels that go with them a little."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(classes, size=100)
    positives = np.eye(classes, dtype=bool)[:, 1:] if classes == 2 else np.eye(classes, dtype=bool)
    scores = generator.integers(5, size=(100, positives.shape[1])) + positives[codes]
    return scores.astype(float), column_of(codes, positives)


def slow(scores: np.ndarray, column: BiasColumn, weights: np.ndarray) -> float:
    found = []
    for task, score in enumerate(column.reads):
        parts, total = 0.0, 0.0
        for rows in CELLS:
            yes = column.positives[column.codes[rows], task]
            pairs = weights[rows][yes].sum() * weights[rows][~yes].sum() / (len(rows) + 1)
            parts += pairs * roc_auc_score(yes, scores[rows, score], sample_weight=weights[rows])
            total += pairs
        found.append(parts / total)
    return float(np.mean(found))


@pytest.mark.parametrize("classes", [2, 4])
def test_the_joined_auc_is_the_weighted_mean_of_scikit_learns(classes: int) -> None:
    scores, column = random_rows(classes)
    expected = slow(scores, column, np.ones(100))
    assert joined_auc(scores, column.codes[None], column, CELLS) == pytest.approx([expected])
    assert weighted_auc(scores, np.ones((1, 100)), column, CELLS) == pytest.approx([expected])


@pytest.mark.parametrize("classes", [2, 4])
def test_weights_count_rows_as_scikit_learns_do(classes: int) -> None:
    scores, column = random_rows(classes, seed=1)
    weights = np.random.default_rng(2).exponential(size=(3, 100))
    assert weighted_auc(scores, weights, column, CELLS) == pytest.approx([slow(scores, column, one) for one in weights])


def test_shuffled_labels_are_scored_draw_by_draw() -> None:
    scores, column = random_rows(3)
    generator = np.random.default_rng(3)
    codes = np.stack([generator.permutation(column.codes) for _ in range(4)])
    expected = [slow(scores, column_of(one, column.positives), np.ones(100)) for one in codes]
    assert joined_auc(scores, codes, column, CELLS) == pytest.approx(expected)


def test_a_joined_auc_by_hand() -> None:
    # Cell 1: yes .9 .1, no .5: 1 of 2 pairs. Cell 2: yes .7 and no .7: a tie. Weights 2 / 4 and 1 / 3.
    scores, codes = np.array([[0.9], [0.1], [0.5], [0.7], [0.7]]), np.array([1, 1, 0, 1, 0])
    cells = [np.arange(3), np.arange(3, 5)]
    found = joined_auc(scores, codes[None], column_of(codes, np.array([[False], [True]])), cells)
    assert found == pytest.approx([(1 / 4 + 0.5 / 3) / (2 / 4 + 1 / 3)])
    assert paired_auc(scores, codes[:, None] == 1, cells) == pytest.approx(found)


def test_scores_of_different_cells_are_never_compared() -> None:
    scores, column = random_rows(2)
    moved = scores.copy()
    moved[CELLS[0]] += 100
    assert joined_auc(moved, column.codes[None], column, CELLS) == joined_auc(scores, column.codes[None], column, CELLS)


def test_the_columns_of_a_pairing_are_apart() -> None:
    generator = np.random.default_rng(4)
    scores, yes = generator.normal(size=(100, 3)), generator.random((100, 3)) < 0.4
    two = np.array([[False], [True]])
    expected = [
        joined_auc(scores[:, [k]], one[None].astype(int), column_of(one.astype(int), two), CELLS).item()
        for k, one in enumerate(yes.T)
    ]
    assert paired_auc(scores, yes, CELLS) == pytest.approx(expected)


def test_one_score_answers_all_cuts_of_a_number() -> None:
    codes, cuts = np.random.default_rng(5).integers(3, size=100), np.arange(3)[:, None] > np.arange(2)
    column = column_of(codes, cuts, np.zeros(2, int))
    scores = codes[:, None] + np.random.default_rng(6).normal(size=(100, 1))
    assert joined_auc(scores, codes[None], column, CELLS) == pytest.approx([slow(scores, column, np.ones(100))])


def test_a_task_without_both_answers_in_any_cell_is_not_scored() -> None:
    codes = np.repeat([0, 1, 2], [40, 30, 30])
    codes[:20] = 1
    column = column_of(codes, np.eye(3, dtype=bool))
    assert scorable_tasks(column, CELLS).tolist() == [0, 1]
    assert joined_auc(np.eye(3)[codes], codes[None], column, CELLS) == [1.0]
