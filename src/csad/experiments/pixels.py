"""Pixels come as bytes of 0 … 255, or as floats on a scale of their own: a run misreads what it was not trained on."""

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
    """How these rows hold pixels, "bytes" or "floats", by name; nothing where they are no pictures."""
    if samples.x.ndim != 4:
        return {}
    return {"pixels": "bytes" if samples.x.dtype == torch.uint8 else "floats"}


def check_pixels(x: Tensor, trained_on: str | None) -> None:
    """Nothing, or an input error where pixels are plainly on another scale than those that were trained on."""
    given = "bytes" if x.dtype == torch.uint8 else "floats"
    if trained_on in (None, given) or not x.numel():
        return
    if trained_on == "floats":
        raise InputError("x holds pixels as bytes (uint8), and this run was trained on floats: give such floats.")
    low, high = (float(value) for value in torch.aminmax(x))
    told = f"x holds pixels as {str(x.dtype).removeprefix('torch.')} from {low:.4g} to {high:.4g}"
    if max(-low, high) > 1 + ROUNDING:
        raise InputError(f"{told}, and this run was trained on bytes: give bytes (uint8), or floats of {SCALE}.")
    if low >= 0:
        text = f"{told}: floats are taken to be of {SCALE}. If white is 1 and black 0, give bytes."
        warnings.warn(text, PixelWarning, stacklevel=2)
