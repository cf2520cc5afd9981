"""Planted leaks: they have the size they should, and are read the better the more rows there are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from csad.auditing.leakage.bias_column import BiasColumn, assign_folds, select_bias_rows
from csad.auditing.leakage.leakage import planted_labels, planted_leak_auc, typical_share


def reading(rows: int, features: int, seed: int = 0, constant: bool = False) -> float | None:
    generator = np.random.default_rng(seed)
    values = np.ones((rows, features)) if constant else generator.normal(size=(rows, features))
    column = select_bias_rows(np.arange(rows) % 2, np.arange(rows), np.ones(rows, bool), rows, generator)
    assert isinstance(column, BiasColumn)
    dealt = assign_folds(column.codes, np.arange(rows), np.zeros(rows, int), generator)
    return planted_leak_auc(values, column, dealt, 0.6, generator)


@pytest.mark.parametrize("share", [0.5, 0.2, 0.03])
@pytest.mark.parametrize("auc", [0.55, 0.6, 0.7])
def test_a_planted_leak_has_its_size_and_share(auc: float, share: float) -> None:
    generator = np.random.default_rng(0)
    along, strata = generator.normal(3.0, 2.0, size=(100_000, 2)), np.arange(100_000) % 2
    codes = planted_labels(along, strata, share, auc, generator)
    for stratum in (0, 1):
        assert codes[strata == stratum].mean(0) == pytest.approx([share, share], abs=1e-4)
    assert [roc_auc_score(codes[:, k], along[:, k]) for k in (0, 1)] == pytest.approx([auc, auc], abs=0.015)


def test_a_planted_leak_is_read_the_better_the_more_rows_there_are_for_each_feature() -> None:
    found = [reading(rows, features) for rows, features in ((500, 128), (2000, 128), (2000, 8), (8000, 4))]
    assert all(value is not None for value in found)
    assert 0.5 < found[0] < found[1] - 0.01 < found[2] - 0.02
    assert found[3] == pytest.approx(0.6, abs=0.005)


def test_in_constant_features_nothing_can_be_planted() -> None:
    assert reading(100, 3, constant=True) is None


def test_the_typical_share_has_the_mean_difficulty_of_the_labels() -> None:
    rows = 1000

    def share(labels: np.ndarray) -> float:
        column = select_bias_rows(labels, np.arange(rows), np.ones(rows, bool), rows, np.random.default_rng(0))
        assert isinstance(column, BiasColumn)
        return typical_share(column)

    assert share(np.arange(rows) % 2) == pytest.approx(0.5)
    assert share((np.arange(rows) % 10 == 0).astype(int)) == pytest.approx(0.1)
    assert share(np.arange(rows) % 5) == pytest.approx(0.2)
