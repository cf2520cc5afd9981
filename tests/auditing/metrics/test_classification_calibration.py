"""The expected calibration error by hand, against scikit-learn's curve, and at the edges of its bins."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from csad.auditing.metrics.classification import expected_calibration_error


def test_the_error_by_hand() -> None:
    # Of ten bins: .9 … 1 holds .95 (right) and .91 (wrong), .6 … .7 holds .65 and .61 (both right, both class 0).
    probabilities = np.array([[0.05, 0.95], [0.09, 0.91], [0.65, 0.35], [0.61, 0.39]])
    y = np.array([1, 0, 0, 0])
    expected = 2 / 4 * abs(1 / 2 - (0.95 + 0.91) / 2) + 2 / 4 * abs(2 / 2 - (0.65 + 0.61) / 2)
    assert expected_calibration_error(probabilities, y, bins=10) == pytest.approx(expected)


def test_over_and_under_confidence_cancel_only_within_a_bin() -> None:
    # In one bin: one right, one wrong, both at .5 of three classes; then apart.
    together = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
    assert expected_calibration_error(together, np.array([0, 1])) == pytest.approx(0.0)
    apart = np.array([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]])
    assert expected_calibration_error(apart, np.array([0, 1])) == pytest.approx((0.5 + 0.9) / 2)


def test_a_bin_has_its_upper_edge() -> None:
    # With two bins .5 is in the first, alone with its error of .5; .6 and .9 make up for one another in the second.
    probabilities = np.array([[0.5, 0.5], [0.6, 0.4], [0.9, 0.1]])
    error = 1 / 3 * abs(1 - 0.5) + 2 / 3 * abs(1 / 2 - 0.75)
    assert expected_calibration_error(probabilities, np.array([0, 1, 0]), bins=2) == pytest.approx(error)


def test_sure_and_right_is_nought_and_sure_and_wrong_is_one() -> None:
    sure = np.eye(3)[[0, 1, 2, 0]]
    assert expected_calibration_error(sure, np.array([0, 1, 2, 0])) == 0.0
    assert expected_calibration_error(sure, np.array([1, 2, 0, 1])) == 1.0


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bins_are_those_of_scikit_learns_curve(classes: int, dtype: type[np.floating]) -> None:
    generator = np.random.default_rng(classes)
    probabilities = generator.dirichlet(np.ones(classes), size=2000).astype(dtype)
    y = generator.integers(classes, size=2000)
    top, right = probabilities.max(1), probabilities.argmax(1) == y
    share, mean = calibration_curve(right, top, n_bins=15)
    count = np.histogram(top, 15, (0, 1))[0]
    expected = np.sum(count[count > 0] / 2000 * np.abs(share - mean))
    assert expected_calibration_error(probabilities, y) == pytest.approx(expected, abs=1e-6)
