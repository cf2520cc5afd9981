"""The line chart: named curves over steps, with the stages of a training marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from csad.report import drawing
from csad.report.axes import Frame, axes, room_for
from csad.report.drawing import LETTER, WIDTH, finite, line, shape, text

Curve = Sequence[tuple[float, float]]
Points = NDArray[np.float64]

MOST_POINTS = 200
ROW = 14.0  # of stage names


def _thinned(curve: Curve) -> Points:
    """At most MOST_POINTS finite points (n, 2), each the mean of its neighbours."""
    points = np.asarray(curve, dtype=np.float64).reshape(-1, 2)
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) <= MOST_POINTS:
        return points
    return np.stack([bucket.mean(axis=0) for bucket in np.array_split(points, MOST_POINTS)])


def _stroke(number: int, points: Sequence[tuple[float, float]]) -> str:
    """The line of one series through places on the page; a single one becomes a dot."""
    color = drawing.color(number)
    if len(points) == 1:
        return shape("circle", cx=points[0][0], cy=points[0][1], r=3, fill=color)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = drawing.DASHES[number % len(drawing.DASHES)]
    return shape("polyline", points=path, stroke=color, stroke_dasharray=dash, class_="curve")


def _sample(number: int, x: float, y: float) -> str:
    return _stroke(number, [(x, y), (x + 22, y)])


def _stage_rows(frame: Frame, breaks: Sequence[tuple[float, str]]) -> list[tuple[float, float, int, str]]:
    """(start, where its name begins, row, name): a name that would run into another moves to the next row."""
    placed = []
    reach: list[float] = []  # how far right each row is taken
    for start, name in sorted(breaks):
        begin = max(min(frame.x(start) + 4, WIDTH - LETTER * len(name)), frame.left)
        row = next((row for row, end in enumerate(reach) if end + 4 < begin), len(reach))
        reach[row : row + 1] = [begin + LETTER * len(name)]
        placed.append((start, begin, row, name))
    return placed


def line_chart(
    curves: Mapping[str, Curve],
    *,
    title: str,
    describe: str,
    x_label: str,
    y_label: str,
    breaks: Sequence[tuple[float, str]] = (),
) -> str:
    """Named lines with a key; ``breaks`` say where a stage of that name starts. NaN points are left out."""
    thin = {name: _thinned(curve) for name, curve in curves.items()}
    every = np.concatenate([np.empty((0, 2)), *thin.values()])
    if not len(every):
        return drawing.plot(30, [text(0, 15, "No finite value to draw.")], title=title, describe=describe)
    stages = [(float(start), name) for start, name in breaks if finite(start)]
    across = [*every[:, 0].tolist(), *(start for start, _ in stages)]
    heights = drawing.ticks(float(every[:, 1].min()), float(every[:, 1].max()))
    left = room_for(heights)
    parts, below = drawing.key([(name, partial(_sample, place)) for place, name in enumerate(thin)], left)

    frame = Frame((min(across), max(across)), (heights[0], heights[-1]), left, below)
    named = _stage_rows(frame, stages)
    frame = replace(frame, top=below + 8 + ROW * max((row + 1 for _, _, row, _ in named), default=0))
    parts += axes(frame, heights, x_label, y_label)
    for start, begin, row, name in named:
        x, y = frame.x(start), frame.top - 3 - ROW * (row + 0.5)
        parts.append(line(x, y - 5, x, frame.floor, class_="break"))
        parts.append(text(begin, y, name, room=WIDTH - begin + LETTER, class_="quiet"))
    for place, points in enumerate(thin.values()):
        if len(points):
            parts.append(_stroke(place, [(frame.x(x), frame.y(y)) for x, y in points.tolist()]))
    return drawing.plot(frame.floor + 38, parts, title=title, describe=describe)
