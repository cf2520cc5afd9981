"""Pixels on another scale than a run was trained on are told, not predicted for."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import csad
from csad.data.samples import as_float
from csad.runs.run import SCALE, PixelWarning
from tests.support.messages import refused, warned
from tests.support.own_data import PLAIN

QUICK = {f"train.{name}": value for name, value in PLAIN.items()}
RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (60, 3, 12, 12), dtype=np.uint8)
FLOATS = (BYTES / np.float32(255) - np.float32(0.5)) / np.float32(0.5)
Y, B = np.arange(60) % 2, np.arange(60) // 2 % 2


def trained(x: np.ndarray, out: Path | None = None) -> csad.Run:
    return csad.train(csad.from_arrays(x, Y, B), method="vanilla", settings=QUICK, out=out, device="cpu")


@pytest.fixture(scope="module")
def of_bytes(tmp_path_factory: pytest.TempPathFactory) -> csad.Run:
    """A run that was read from its folder, so that the folder must tell."""
    place = tmp_path_factory.mktemp("pixels") / "run"
    trained(BYTES, place)
    return csad.load(place, device="cpu")


@pytest.fixture(scope="module")
def of_floats() -> csad.Run:
    return trained(FLOATS)


def test_bytes_and_the_floats_that_they_become_are_predicted_alike(of_bytes: csad.Run) -> None:
    np.testing.assert_allclose(of_bytes.predict_proba(FLOATS), of_bytes.predict_proba(BYTES), atol=1e-5)


@pytest.mark.parametrize(
    "x",
    [*(BYTES.astype(kind) for kind in (np.float32, np.int64, np.uint16, np.uint32)), FLOATS - 0.1],
    ids=["floats", "int64", "uint16", "uint32", "low"],
)
def test_pixels_beyond_what_bytes_become_are_refused(of_bytes: csad.Run, x: np.ndarray) -> None:
    values = {"dtype": x.dtype, "low": float(x.min()), "high": float(x.max())}
    for predict in (of_bytes.predict, of_bytes.predict_proba, of_bytes.transform):
        with refused("pixel-range-mismatch", **values, scale=SCALE):
            predict(x)


def test_floats_without_a_dark_pixel_are_predicted_with_a_warning(of_bytes: csad.Run) -> None:
    x = BYTES / np.float32(255)
    with warned(PixelWarning, "pixel-scale-assumed", dtype="float32", low=0.0, high=1.0):
        assert of_bytes.predict(x).shape == (60,)


def test_floats_that_were_trained_on_may_have_any_scale_but_that_of_bytes(of_floats: csad.Run) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of_floats.predict(FLOATS * 200)
        of_floats.predict(np.abs(FLOATS))
    for x, kind in ((BYTES, "bytes"), (BYTES.astype(np.int16), "whole numbers")):
        with refused("pixel-kind-mismatch", given=kind, dtype=x.dtype, expected="floats"):
            of_floats.predict(x)


def test_whole_numbers_that_were_trained_on_are_no_bytes() -> None:
    """They are seen as they are, but bytes from −1 to 1."""
    run = trained(BYTES.astype(np.int64))
    assert run.predict(BYTES.astype(np.int32)).shape == (60,)
    for x in (BYTES, FLOATS):
        with refused("pixel-kind-mismatch", expected="whole numbers"):
            run.predict(x)


def test_who_sees_pixels_in_a_way_of_their_own_is_not_corrected() -> None:
    data = replace(csad.from_arrays(BYTES, Y, B), view=lambda x: as_float(x) if x.dtype == torch.uint8 else x / 255)
    run = csad.train(data, method="vanilla", settings=QUICK, device="cpu")
    assert run.predict(BYTES.astype(np.float32)).shape == (60,)


def test_rows_that_are_no_pictures_may_be_whole_numbers_or_floats() -> None:
    x = RNG.integers(0, 200, (60, 5), dtype=np.uint8)
    run = trained(x)
    assert "pixels" not in run.config["about"]
    assert run.predict(x.astype(np.float32)).shape == (60,)
