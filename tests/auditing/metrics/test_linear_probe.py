"""A fresh linear reader finds what is there and nothing that is not."""

from __future__ import annotations

import numpy as np
import pytest

from csad.auditing.metrics.linear_probe import linear_probe

NOISE = np.random.default_rng(0).normal(size=(400, 6))
LABEL = np.arange(400) % 4 // 2  # 0 0 1 1 0 0 1 1 …
ROWS = np.arange(400)


def with_label(label: np.ndarray) -> np.ndarray:
    features = NOISE.copy()
    features[:, 2] = 4.0 * label + 0.5 * NOISE[:, 2]
    return features


def test_a_label_that_is_in_the_features_is_read() -> None:
    score, chance = linear_probe(with_label(LABEL), LABEL, ROWS)
    assert score >= 0.95
    assert chance == 0.5


def test_a_label_of_several_values_is_read() -> None:
    label = np.arange(400) % 4
    features = NOISE.copy()
    features[:, :4] += 6.0 * np.eye(4)[label]
    score, chance = linear_probe(features, label, ROWS)
    assert score >= 0.95
    assert chance == 0.25


def test_noise_is_read_no_better_than_chance() -> None:
    score, chance = linear_probe(NOISE, LABEL, ROWS)
    assert chance == 0.5
    assert abs(score - chance) < 0.1


def test_chance_is_the_share_of_the_commonest_label() -> None:
    label = (np.arange(400) % 10 == 0).astype(int)
    score, chance = linear_probe(NOISE, label, ROWS)
    assert chance == 0.9
    assert score == pytest.approx(0.9, abs=0.02)


def test_the_scale_of_the_features_does_not_matter() -> None:
    features = with_label(LABEL)
    assert linear_probe(features, LABEL, ROWS) == linear_probe(features * 1000.0 + 7, LABEL, ROWS)


@pytest.mark.parametrize("unknown", [-1, np.nan])
def test_rows_of_unknown_label_are_left_out(unknown: float) -> None:
    features, label = with_label(LABEL), LABEL.astype(type(unknown))
    label[:100] = unknown
    features[:100] = 1e6
    found = linear_probe(features, label, ROWS)
    assert found == linear_probe(features[100:], LABEL[100:], ROWS[100:])
    assert found is not None
    assert found[0] >= 0.95


def test_a_label_too_rare_for_five_folds_is_left_out() -> None:
    label = LABEL.copy()
    label[:4] = 7
    score, chance = linear_probe(with_label(label), label, ROWS)
    assert score >= 0.95
    assert chance == pytest.approx(198 / 396)


@pytest.mark.parametrize("label", [np.zeros(400, int), np.full(400, -1), np.r_[np.ones(397, int), 0, 0, 0]])
def test_with_one_label_only_there_is_nothing_to_tell_apart(label: np.ndarray) -> None:
    assert linear_probe(NOISE, label, ROWS) is None


def test_noise_with_more_features_than_rows_is_not_learned_by_heart() -> None:
    features = np.random.default_rng(1).normal(size=(400, 500))
    score, chance = linear_probe(features, LABEL, ROWS)
    assert abs(score - chance) < 0.1


def test_views_of_one_sample_are_never_on_both_sides() -> None:
    # Each sample has a mark of its own, which says nothing of other samples' labels; views of it come eight times.
    sample = np.arange(400) // 8
    label = np.random.default_rng(2).integers(0, 2, 50)[sample]
    marks = np.eye(50)[sample] * 10
    apart, _ = linear_probe(marks, label, sample)
    mixed, _ = linear_probe(marks, label, ROWS % 5)
    assert mixed > 0.95
    assert apart < 0.7
