"""Fresh readers: what each can read, and what becomes of constant, wide and strange features."""

from __future__ import annotations

import numpy as np
import pytest

from csad.auditing.leakage.bias_column import Folds, assign_folds, paired_auc
from csad.auditing.leakage.probes import MOST_FEATURES, PROBES, Features, as_features, probe_scores, standardized

ROWS = 2000


def dealt_rows(strata: np.ndarray | None = None) -> Folds:
    strata = np.zeros(ROWS, int) if strata is None else strata
    return assign_folds(np.zeros(ROWS, int), np.arange(ROWS), strata, np.random.default_rng(0))


def auc(probe: str, features: Features, yes: np.ndarray) -> float:
    dealt = dealt_rows()
    scores = probe_scores(PROBES[probe], features, yes[:, None].astype(float), dealt)
    return float(paired_auc(scores, yes[:, None], dealt.cells()).item())


@pytest.fixture(scope="module")
def noise() -> Features:
    return np.random.default_rng(1).normal(size=(ROWS, 12))


@pytest.mark.parametrize("probe", PROBES)
def test_every_reader_reads_what_lies_along_a_line(probe: str, noise: Features) -> None:
    assert auc(probe, noise, noise[:, 0] + noise[:, 1] > 0) > (0.9 if probe == "neighbors" else 0.98)


def test_only_the_net_reads_two_features_that_tell_nothing_alone(noise: Features) -> None:
    leak = noise[:, 0] * noise[:, 1] > 0
    assert auc("mlp", noise, leak) > 0.8 > 0.55 > auc("linear", noise, leak)


def test_the_net_reads_how_long_rows_are() -> None:
    features = np.random.default_rng(2).normal(size=(ROWS, 64))
    length = np.square(features).sum(1)
    assert auc("mlp", features, length > np.median(length)) > 0.9


@pytest.mark.parametrize("probe", PROBES)
def test_features_that_are_constant_tell_nothing_and_do_no_harm(probe: str, noise: Features) -> None:
    yes = noise[:, 0] > 0
    assert auc(probe, np.full((ROWS, 3), 0.1), yes) == 0.5
    assert auc(probe, np.hstack([noise[:, :2], np.full((ROWS, 3), 1e6)]), yes) == auc(probe, noise[:, :2], yes)


@pytest.mark.parametrize("probe", PROBES)
def test_features_that_repeat_one_another_are_read(probe: str, noise: Features) -> None:
    yes = noise[:, 0] > 0
    twice = np.column_stack([yes, ~yes, yes]).astype(float)
    assert auc(probe, twice, yes) == 1.0


@pytest.mark.parametrize("probe", PROBES)
def test_more_features_than_rows_can_be_read(probe: str) -> None:
    features = np.random.default_rng(3).normal(size=(ROWS, 600))
    features[:, :300] += np.repeat([0, 1], ROWS // 2)[:, None]
    assert auc(probe, features, np.repeat([False, True], ROWS // 2)) > 0.95


def test_the_first_block_is_not_read() -> None:
    dealt = dealt_rows()
    targets = np.random.default_rng(4).random((ROWS, 2))
    scores = probe_scores(PROBES["linear"], targets, targets, dealt)
    assert (scores[dealt.block == 0] == 0).all()
    assert (scores[dealt.block > 0] != 0).all()


def test_rows_are_standardised_by_the_rows_seen_alone(noise: Features) -> None:
    seen, rows = np.arange(100), np.arange(100, 200)
    features = 5 * noise + 3
    shown, asked = standardized(features, seen, rows, np.zeros(ROWS, int))
    assert shown.mean(0) == pytest.approx(np.zeros(12), abs=1e-9)
    assert shown.std(0) == pytest.approx(np.ones(12))
    features[100:] *= 2
    assert (standardized(features, seen, rows, np.zeros(ROWS, int))[0] == shown).all()
    assert asked.shape == (100, 12)


def test_each_stratum_has_its_own_mean_and_one_not_seen_has_that_of_all(noise: Features) -> None:
    strata = np.arange(ROWS) % 3
    features = noise + 10.0 * strata[:, None]
    seen, rows = np.flatnonzero(strata[:300] < 2), np.flatnonzero(strata == 2)
    shown, _ = standardized(features, seen, rows, strata)
    for stratum in (0, 1):
        assert shown[strata[seen] == stratum].mean(0) == pytest.approx(np.zeros(12), abs=1e-9)
    spread = (features[seen] - np.stack([features[seen][strata[seen] == s].mean(0) for s in (0, 1)])[strata[seen]]).std(
        0
    )
    expected = np.clip((features[rows] - features[seen].mean(0)) / spread, -10, 10)
    assert standardized(features, seen, rows, strata)[1] == pytest.approx(expected)


def test_one_column_of_class_numbers_becomes_a_column_for_each() -> None:
    generator = np.random.default_rng(0)
    assert as_features(np.array([7, 3, 7]), generator).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert as_features(np.array([0.5, 1.5]), generator).tolist() == [[0.5], [1.5]]


def test_pictures_are_flattened_and_wide_rows_folded() -> None:
    generator = np.random.default_rng(0)
    assert as_features(np.zeros((4, 3, 5, 5), np.uint8), generator).shape == (4, 75)
    wide = generator.normal(size=(ROWS, 2 * MOST_FEATURES + 5))
    wide[:, 7] = 3.0
    folded = as_features(wide, generator)
    assert folded.shape == (ROWS, MOST_FEATURES)
    # All but the constant feature are there once, each with variance 1.
    assert folded.var(0).sum() == pytest.approx(2 * MOST_FEATURES + 4, rel=0.02)
