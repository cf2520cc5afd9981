"""Intervals of a few runs: by hand, and how often they hold what is true."""

from __future__ import annotations

import numpy as np
import pytest

from csad.reproduction.compare import widened


def test_an_interval_of_three_runs_reaches_as_far_as_student_s_t_calls_for() -> None:
    # s² = .0004; t(.975, 2) = 4.302653, 1.959964² · 2/3 = 2.560973: (18.512821 − 2.560973) · .0004 / 3 = .002126913
    low, high = widened((0.48, 0.53), 0.5, [0.48, 0.5, 0.52])
    assert low == pytest.approx(0.5 - (0.0004 + 0.002126913) ** 0.5, abs=1e-8)
    assert high == pytest.approx(0.5 + (0.0009 + 0.002126913) ** 0.5, abs=1e-8)


def test_one_run_and_runs_that_are_alike_leave_an_interval_as_it_is() -> None:
    assert widened((0.4, 0.6), 0.5, [0.5]) == (0.4, 0.6)
    assert widened((0.4, 0.6), 0.5, [0.5, 0.5, 0.5]) == pytest.approx((0.4, 0.6))


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_runs_drawn_anew_hold_the_truth_as_often_as_they_say_once_they_are_widened(runs: int) -> None:
    """The mean of runs around 0, 2,000 times over; of three runs the drawn ones alone hold it four times in five."""
    generator = np.random.default_rng(0)
    values = generator.normal(size=(2000, runs))
    drawn = np.take_along_axis(values[:, None], generator.integers(runs, size=(2000, 400, runs)), 2).mean(2)
    ends = np.quantile(drawn, [0.025, 0.975], axis=1).T
    plain = np.mean([low <= 0 <= high for low, high in ends])
    wide = [widened((low, high), own.mean(), own.tolist()) for (low, high), own in zip(ends, values, strict=True)]
    share = np.mean([low <= 0 <= high for low, high in wide])
    assert 0.94 < share < 0.98
    assert plain < {3: 0.82, 5: 0.88, 10: 0.93}[runs]
