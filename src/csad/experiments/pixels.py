"""Pixels come as bytes of 0 … 255, or as numbers on a scale of their own: a run misreads what it did not train on."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from csad.data.samples import Samples
from csad.errors import InputError

ROUNDING = 1e-3  # that floats may be off by, however they were made of bytes
SCALE = "−1 … 1, as training has them: (byte / 255 − .5) / .5"


class PixelWarning(UserWarning):
    """Pixels may be on another scale than those that were trained on."""


def pixels_of(samples: Samples) -> dict[str, str]:
    """How these rows hold pixels, by name; nothing where they are no pictures."""
    return {"pixels": _kind(samples.x)} if samples.x.ndim == 4 else {}


def check_pixels(x: Tensor, trained_on: str | None) -> None:
    """Nothing, or an input error where pixels are plainly on another scale than those that were trained on."""
    given, name = _kind(x), str(x.dtype).removeprefix("torch.")
    if trained_on in (None, given) or not x.numel():
        return
    if trained_on != "bytes":
        raise InputError(
            f"x holds pixels as {given} ({name}), and this run was trained on {trained_on}: give such {trained_on}."
        )
    # Not every kind of whole numbers has a least and a greatest in torch.
    low, high = (float(value) for value in torch.aminmax(x if x.is_floating_point() else x.double()))
    told = f"x holds pixels as {name} from {low:.4g} to {high:.4g}"
    if max(-low, high) > 1 + ROUNDING:
        raise InputError(f"{told}, and this run was trained on bytes: give bytes (uint8), or floats of {SCALE}.")
    if low >= 0:
        text = f"{told}: floats are taken to be of {SCALE}. If white is 1 and black 0, give bytes."
        warnings.warn(text, PixelWarning, stacklevel=2)


def _kind(x: Tensor) -> str:
    if x.dtype == torch.uint8:
        return "bytes"
    return "floats" if x.is_floating_point() else "whole numbers"
