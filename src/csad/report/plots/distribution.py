"""How a number is spread over groups: outlines of counts, a panel for each part of the data; a whole SVG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csad.report.formatting import count
from csad.report.plots import canvas
from csad.report.plots.canvas import WIDTH, Frame, axes, line, room_for, shape, text

GAP, BELOW = 24.0, 40.0  # between two panels; of a panel below its floor
STEP = 5.0  # how wide a bin is


def distribution(panels: Mapping[str, Mapping[str, ArrayLike]], *, title: str, x_label: str, y_label: str) -> str:
    """A panel for each part of the data: in each, for each group, how many numbers fall into each bin of 5.

    Above each panel stands how many each group has there, and their mean. Bins are alike in all panels, heights not.
    """
    parts_of = {
        part: {name: np.asarray(v, dtype=np.float64) for name, v in groups.items()} for part, groups in panels.items()
    }
    names = list(dict.fromkeys(name for groups in parts_of.values() for name in groups))
    edges = _edges([values for groups in parts_of.values() for values in groups.values()])
    parts, top = canvas.legend([(name, partial(_sample, place)) for place, name in enumerate(names)], 0)
    for number, (part, groups) in enumerate(parts_of.items()):
        drawn = _panel(part, [(names.index(name), values) for name, values in groups.items()], edges, x_label, y_label)
        parts.append(shape("g", "".join(drawn), transform=f"translate({number * (WIDTH + GAP):g} {top:g})"))
    bottom = Frame((0, 1), (0, 1), 0, top + 24).floor + BELOW
    words = "; ".join(
        f"{part}: " + ", ".join(f"{name} {_about(values)}" for name, values in groups.items())
        for part, groups in parts_of.items()
    )
    wide = len(parts_of) * (WIDTH + GAP) - GAP
    svg = canvas.plot(bottom, parts, title=title, describe=f"{words}.", width=wide)
    return canvas.whole_file(svg)


def counts(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many of the values fall into each bin; one that lies on an edge belongs to the bin above it."""
    place = np.searchsorted(edges, values, side="right") - 1
    per_bin: NDArray[np.int64] = np.bincount(place, minlength=len(edges) - 1).astype(np.int64)
    return per_bin


def _edges(groups: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Edges at multiples of the step, the last above every value."""
    every = np.concatenate(groups)
    first, last = np.floor(every.min() / STEP), np.floor(every.max() / STEP) + 1
    return np.arange(first, last + 1) * STEP


def _panel(
    part: str,
    groups: Sequence[tuple[int, NDArray[np.float64]]],
    edges: NDArray[np.float64],
    x_label: str,
    y_label: str,
) -> list[str]:
    """The outlines of the groups, given with their place in the key, in one pair of axes."""
    outlines = [(place, counts(values, edges)) for place, values in groups]
    heights = canvas.ticks(0, max(int(each.max()) for _, each in outlines))
    left = room_for(heights)
    frame = Frame((float(edges[0]), float(edges[-1])), (heights[0], heights[-1]), left, 24.0)
    sizes = " and ".join(_about(values) for _, values in groups)
    parts = [text(left, 10, f"{part}: {sizes}", room=WIDTH - left)]
    parts += axes(frame, heights, x_label, y_label)
    for place, each in outlines:
        # Up and down at the edges of the bins, beginning and ending on the floor.
        x = np.repeat(edges, 2)
        y = np.concatenate([[0], np.repeat(each, 2), [0]])
        points = " ".join(f"{frame.x(float(a)):.1f},{frame.y(float(b)):.1f}" for a, b in zip(x, y, strict=True))
        parts.append(shape("polyline", points=points, class_="curve", **_look(place)))
    return parts


def _about(values: NDArray[np.float64]) -> str:
    return f"{count(len(values))} (mean {values.mean():.1f})" if len(values) else "none"


def _look(place: int) -> dict[str, str]:
    color, dash = canvas.color(place), canvas.DASHES[place % len(canvas.DASHES)]
    return {"stroke": color, "stroke_dasharray": dash}


def _sample(place: int, x: float, y: float) -> str:
    return line(x, y, x + 22, y, class_="curve", **_look(place))
