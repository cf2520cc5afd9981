"""The colours of plots.css, measured: text in every cell, and every series, can be seen in both themes."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

from csad.report.plots.charts import TURN

Array = NDArray[np.float64]

# Björn Ottosson's OKLab, the space in which plots.css mixes the heat scale.
TO_CONE = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                    [0.2119034982, 0.6806995451, 0.1073969566],
                    [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
TO_LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                   [1.9779984951, -2.4285922050, 0.4505937099],
                   [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def themes() -> dict[str, dict[str, Array]]:
    """Linear light of each custom property: light, dark and print, in the order they are written."""
    css = files("csad.report").joinpath("plots.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    found = {}
    for name, block in zip(("light", "dark", "print"), blocks, strict=True):
        found[name] = {
            key: linear(np.array([int(code[i : i + 2], 16) for i in (0, 2, 4)]) / 255)
            for key, code in re.findall(r"--([\w-]+): #([0-9a-f]{6})", block)
        }
    return found


def linear(encoded: Array) -> Array:
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def mixed(low: Array, high: Array, share: float) -> Array:
    """Linear light of ``color-mix(in oklab, high share, low)``."""
    lab_low, lab_high = (TO_LAB @ np.cbrt(TO_CONE @ color) for color in (low, high))
    lab = share * lab_high + (1 - share) * lab_low
    return np.clip(np.linalg.solve(TO_CONE, np.linalg.solve(TO_LAB, lab) ** 3), 0, 1)


def contrast(one: Array, other: Array) -> float:
    """The ratio of WCAG 2."""
    bright, dim = sorted((float(color @ [0.2126, 0.7152, 0.0722]) for color in (one, other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_the_number_in_every_cell_can_be_read(theme: str) -> None:
    colors = themes()[theme]
    for share in np.linspace(0, 1, 201):
        cell = mixed(colors["heat-low"], colors["heat-high"], share)
        assert contrast(cell, colors["on-high" if share >= TURN else "on-low"]) >= 4.5, share


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_texts_and_series_stand_out_from_the_paper(theme: str) -> None:
    colors = themes()[theme]
    for name in ("ink", "soft", "accent", *(f"series-{number}" for number in range(1, 7))):
        assert contrast(colors[name], colors["paper"]) >= 4.5, name
    assert contrast(colors["warn"], colors["warn-panel"]) >= 4.5
    assert contrast(colors["soft"], colors["panel"]) >= 4.5
