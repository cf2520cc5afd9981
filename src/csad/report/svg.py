"""Plots as inline SVG strings: heat map, line chart, dot chart, grid of pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

import numpy as np

from csad.report import drawing
from csad.report.digits import MISSING
from csad.report.drawing import FONT, LETTER, WIDTH, finite, line, percent, shape, text
from csad.report.lines import line_chart
from csad.report.png import Pixels, data_uri

__all__ = ["Dot", "dot_chart", "heat_map", "line_chart", "picture_grid"]

# Where a cell's number changes its text colour; plots.css keeps both sides readable in both themes.
TURN = 0.54


@dataclass(frozen=True)
class Dot:
    """One row of a dot chart: a value in 0..1 for each named series, and what a blind guess would reach."""

    label: str
    values: Mapping[str, float | None]
    chance: float | None = None


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
    return drawing.plot(bottom + 26, parts, title=title, describe=describe)


def dot_chart(rows: Sequence[Dot], *, title: str, describe: str, x_label: str) -> str:
    """One row per label with a marker for each series on an axis from 0 to 100 per cent, chance as a tick."""
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    room = min(LETTER * max((len(row.label) for row in rows), default=0), 96)
    left, right = room + 16, WIDTH - 18

    def sample(number: int, x: float, y: float) -> str:
        return drawing.mark(number, x + 14, y)

    def guess(x: float, y: float, reach: float = 9) -> str:
        return line(x, y - reach, x, y + reach, class_="chance")

    samples: list[tuple[str, drawing.Draw]] = [(name, partial(sample, i)) for i, name in enumerate(names)]
    if any(finite(row.chance) for row in rows):
        samples.append(("chance", lambda x, y: guess(x + 14, y, 6)))
    parts, top = drawing.key(samples, left - 8)
    tall = 28 + 4 * min(len(names), 6)
    floor = top + 6 + tall * len(rows)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + (right - left) * share
        parts.append(line(x, top + 6, x, floor, class_="rule"))
        parts.append(text(x, floor + 12, percent(share), text_anchor="middle", class_="quiet"))
    for place, row in enumerate(rows):
        middle = top + 6 + tall * (place + 0.5)
        parts.append(text(room, middle, row.label, room, text_anchor="end"))
        parts.append(line(left, middle, right, middle, class_="rule"))
        if finite(row.chance):
            parts.append(guess(left + (right - left) * row.chance, middle))
        for number, name in enumerate(names):
            value = row.values.get(name)
            if finite(value):
                # Series sit a little above one another, so that equal values do not hide each other.
                y = middle + 4 * (number - (len(names) - 1) / 2)
                parts.append(drawing.mark(number, left + (right - left) * value, y))
    parts.append(text((left + right) / 2, floor + 28, x_label, text_anchor="middle", class_="quiet"))
    return drawing.plot(floor + 36, parts, title=title, describe=describe)


def picture_grid(
    pictures: Pixels, columns: int, *, title: str, describe: str, labels: Sequence[str] | None = None
) -> str:
    """The pictures (n, h, w, 3) line by line in one PNG with crisp pixels, each with its label below."""
    number, height, width, _ = pictures.shape
    lines = -(-number // columns)
    gap, strip = max(width // 12, 1), (round(width * columns / WIDTH * 1.6 * FONT) if labels else 0)
    down, over = height + gap + strip, width + gap
    sheet = np.zeros((max(lines * down - gap, 1), columns * over - gap, 4), dtype=np.uint8)
    for place, picture in enumerate(pictures):
        y, x = down * (place // columns), over * (place % columns)
        sheet[y : y + height, x : x + width] = np.dstack([picture, np.full((height, width), 255, np.uint8)])
    unit = WIDTH / sheet.shape[1]
    tall = sheet.shape[0] * unit
    box = {"width": WIDTH, "height": tall, "preserveAspectRatio": "none", "class_": "pixels"}
    parts = [shape("image", href=data_uri(sheet), **box)]
    for place, label in enumerate(labels or ()):
        x = unit * (over * (place % columns) + width / 2)
        y = unit * (down * (place // columns) + height + strip / 2)
        parts.append(text(x, y, label, unit * over, text_anchor="middle"))
    return drawing.plot(tall, parts, title=title, describe=describe)
