"""Plots as inline SVG strings: lines, intervals, points, heat maps and grids of pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.report.formatting import MISSING, finite, percent
from csad.report.plots import canvas
from csad.report.plots.canvas import (
    FONT,
    LETTER,
    WIDTH,
    Frame,
    Pixels,
    axes,
    data_uri,
    line,
    room_for,
    shape,
    text,
)

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
    color = canvas.color(number)
    if len(points) == 1:
        return shape("circle", cx=points[0][0], cy=points[0][1], r=3, fill=color)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = canvas.DASHES[number % len(canvas.DASHES)]
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
        return canvas.plot(30, [text(0, 15, "No finite value to draw.")], title=title, describe=describe)
    stages = [(float(start), name) for start, name in breaks if finite(start)]
    across = [*every[:, 0].tolist(), *(start for start, _ in stages)]
    heights = canvas.ticks(float(every[:, 1].min()), float(every[:, 1].max()))
    left = room_for(heights)
    parts, below = canvas.legend([(name, partial(_sample, place)) for place, name in enumerate(thin)], left)

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
    return canvas.plot(frame.floor + 38, parts, title=title, describe=describe)


Range = tuple[float, float, float]  # low, value, high
MOST_ROOM = 150.0  # for the names of rows


@dataclass(frozen=True)
class ChartRow:
    """A row of the chart: for each series that has it a value between the ends of its interval."""

    label: str
    values: Mapping[str, Range]


def range_chart(
    rows: Sequence[ChartRow],
    *,
    title: str,
    describe: str,
    x_label: str,
    mark_at: float | None = None,
    mark_name: str = "",
    across: tuple[float, float] | None = None,
) -> str:
    """One row for each label; an upright at ``mark_at``, such as chance. ``across`` are the ends of the axis at least.

    Axis and uprights hold every interval: nothing is cut off.
    """
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    every = [end for row in rows for value in row.values.values() for end in value]
    every += [*(across or ()), *((mark_at,) if mark_at is not None else ())]
    if not names:
        return canvas.plot(30, [text(0, 15, "No values to draw.")], title=title, describe=describe)
    steps = canvas.ticks(min(every), max(every), 5)
    room = min(LETTER * max(len(row.label) for row in rows), MOST_ROOM)
    left, right = room + 14, WIDTH - 16

    def x(value: float) -> float:
        return left + (right - left) * (value - steps[0]) / (steps[-1] - steps[0])

    def sample(number: int, at: float, y: float) -> str:
        return canvas.mark(number, at + 14, y)

    samples: list[tuple[str, canvas.Draw]] = [(name, partial(sample, place)) for place, name in enumerate(names)]
    if mark_at is not None and mark_name:
        samples.append((mark_name, lambda at, y: line(at + 14, y - 6, at + 14, y + 6, class_="chance")))
    parts, top = canvas.legend(samples, 0)
    tall = 16.0 + 9 * len(names)
    floor = top + 4 + tall * len(rows)
    for step, name in zip(steps, canvas.tick_names(steps), strict=True):
        parts.append(line(x(step), top + 4, x(step), floor, class_="rule"))
        parts.append(text(x(step), floor + 12, name, text_anchor="middle", class_="quiet"))
    if mark_at is not None:
        parts.append(line(x(mark_at), top + 4, x(mark_at), floor, class_="chance"))
    for place, row in enumerate(rows):
        middle = top + 4 + tall * (place + 0.5)
        parts.append(text(room, middle, row.label, room, text_anchor="end"))
        for name, (low, value, high) in row.values.items():
            number = names.index(name)
            y = middle + 9 * (number - (len(names) - 1) / 2)
            color = canvas.color(number)
            parts.append(line(x(low), y, x(high), y, stroke=color, class_="whisker"))
            parts.append(canvas.mark(number, x(value), y, 4.0))
    parts.append(text(right, floor + 28, x_label, text_anchor="end", class_="quiet"))
    return canvas.plot(floor + 36, parts, title=title, describe=describe)


class Spot(NamedTuple):
    """A named point with its interval in both directions."""

    name: str
    x: Range
    y: Range


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """The least and the greatest value; if all are equal, 0 and that value, since a gap of 1.5 makes no sense."""
    low, high = min(values), max(values)
    return (low, high) if low < high else (min(low, 0.0), max(high, 0.0))


def scatter(spots: Sequence[Spot], *, title: str, describe: str, x_label: str, y_label: str) -> str:
    """A marker for each spot, in the order of the key, on a cross of its intervals."""

    def sample(number: int) -> canvas.Draw:
        return lambda x, y: canvas.mark(number, x + 14, y)

    parts, top = canvas.legend([(spot.name, sample(place)) for place, spot in enumerate(spots)], 0)
    wide, high = (
        [end for value in values for end in value] for values in zip(*(spot[1:] for spot in spots), strict=True)
    )
    heights, across = (canvas.ticks(*_ends(values), 4) for values in (high, wide))
    left = room_for(heights)
    frame = Frame((across[0], across[-1]), (heights[0], heights[-1]), left, top + 8)
    parts += axes(frame, heights, x_label, y_label)
    for number, (name, across_it, up_it) in enumerate(spots):
        x, y = [frame.x(value) for value in across_it], [frame.y(value) for value in up_it]
        look = {"stroke": canvas.color(number), "class_": "whisker"}
        parts += [line(x[0], y[1], x[2], y[1], **look), line(x[1], y[0], x[1], y[2], **look)]
        parts.append(shape("g", f"<title>{escape(name)}</title>{canvas.mark(number, x[1], y[1], 6.0)}"))
    return canvas.plot(frame.floor + 38, parts, title=title, describe=describe)


# Where a cell's number changes its text colour; plots.css keeps both sides readable in both themes.
TURN = 0.54


def _cell(x: float, y: float, width: float, height: float, value: float | None, hint: str = "") -> str:
    """A rectangle in the colour of ``value``; dashed and empty where there is none."""
    look = {"class_": "cell empty"}
    if finite(value):
        look = {"class_": "cell", "style": f"--value:{100 * min(max(value, 0), 1):.1f}%"}
    title = f"<title>{escape(hint)}</title>" if hint else ""
    return shape("rect", title, x=x, y=y, width=width, height=height, rx=2, **look)


def _scale(left: float, top: float, missing: bool) -> list[str]:
    """The legend of a heat map: the colours from 0 to 100 per cent and, if needed, the empty cell."""
    parts = [_cell(left + 12 * step, top, 11, 9, step / 10) for step in range(11)]
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x = left + 131 * share
        parts.append(text(x, top + 18, percent(share), text_anchor=anchor, class_="quiet"))
    if missing:
        parts += [
            _cell(left + 160, top, 11, 9, None),
            text(left + 177, top + 4.5, "no sample", class_="quiet"),
        ]
    return parts


def heat_map(
    values: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    describe: str,
    row_swatches: Sequence[tuple[int, int, int]] | None = None,
    row_title: str = "",
    column_title: str = "",
) -> str:
    """A table of shares in 0..1, each cell coloured and with its per cent; None and NaN are empty cells."""
    room = min(LETTER * max((len(name) for name in [*rows, row_title]), default=0), 132)
    left, top = room + (24 if row_swatches else 8), 40.0
    width = (WIDTH - left) / max(len(columns), 1)
    height = min(max(width * 0.8, 16), 28)
    size = min(FONT, width / 2.4)
    parts = [text(left - 6, 26, row_title, room + 18, text_anchor="end", class_="quiet")] if row_title else []
    parts.append(text((left + WIDTH) / 2, 8, column_title, text_anchor="middle", class_="quiet"))
    for number, name in enumerate(columns):
        parts.append(text(left + width * (number + 0.5), 26, name, width, text_anchor="middle"))
    for place, (name, cells) in enumerate(zip(rows, values, strict=True)):
        middle = top + height * (place + 0.5)
        parts.append(text(room, middle, name, room, text_anchor="end"))
        if row_swatches:
            fill = "rgb({},{},{})".format(*row_swatches[place])
            box = {"x": room + 6, "y": middle - 6, "width": 12, "height": 12, "rx": 3}
            parts.append(shape("rect", fill=fill, class_="swatch", **box))
        for number, (column, value) in enumerate(zip(columns, cells, strict=True)):
            x = left + width * number
            hint = f"{row_title} {name}, {column_title} {column}: {percent(value, 1)}"
            parts.append(_cell(x + 1, middle - height / 2 + 1, width - 2, height - 2, value, hint.strip()))
            words = f"{100 * value:.0f}" if finite(value) else MISSING
            ink = "on-high" if finite(value) and value >= TURN else "on-low"
            x += width / 2
            parts.append(text(x, middle, words, text_anchor="middle", class_=ink, font_size=size))
    bottom = top + height * len(rows) + 12
    parts += _scale(left, bottom, any(not finite(value) for cells in values for value in cells))
    return canvas.plot(bottom + 26, parts, title=title, describe=describe)


def picture_grid(pictures: Pixels, columns: int, *, title: str, describe: str) -> str:
    """The pictures (n, h, w, 3) line by line in one PNG with crisp pixels."""
    number, height, width, _ = pictures.shape
    lines = -(-number // columns)
    gap = max(width // 12, 1)
    down, over = height + gap, width + gap
    sheet = np.zeros((max(lines * down - gap, 1), columns * over - gap, 4), dtype=np.uint8)
    for place, picture in enumerate(pictures):
        y, x = down * (place // columns), over * (place % columns)
        sheet[y : y + height, x : x + width] = np.dstack([picture, np.full((height, width), 255, np.uint8)])
    tall = sheet.shape[0] * WIDTH / sheet.shape[1]
    box = {"width": WIDTH, "height": tall, "preserveAspectRatio": "none", "class_": "pixels"}
    return canvas.plot(tall, [shape("image", href=data_uri(sheet), **box)], title=title, describe=describe)


INK = (38, 122, 214)  # a blue in the middle: 3 to 1 against white and against the dark paper


def attention_map(values: Points, *, title: str, describe: str) -> str:
    """An attention map (height, width) as transparent ink, which reads on light and dark paper; opaque at its top."""
    height, width = values.shape
    pixels = np.zeros((height, width, 4), np.uint8)
    pixels[..., :3] = INK
    top = values.max()
    pixels[..., 3] = np.rint(255 * values / top) if top > 0 else 0
    tall = WIDTH * height / width
    box = {"x": 0, "y": 0, "width": WIDTH, "height": tall}
    parts = [
        shape("image", href=data_uri(pixels), preserveAspectRatio="none", class_="pixels", **box),
        shape("rect", class_="edge", fill="none", **box),
    ]
    return canvas.plot(tall, parts, title=title, describe=describe)
