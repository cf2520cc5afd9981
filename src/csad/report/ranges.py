"""Values with their intervals, in rows: dots with whiskers, one colour and marker for each series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from csad.report import drawing
from csad.report.drawing import LETTER, WIDTH, line, text

Range = tuple[float, float, float]  # low, value, high
MOST_ROOM = 150.0  # for the names of rows


@dataclass(frozen=True)
class Row:
    """A row of the chart: for each series that has it a value between the ends of its interval."""

    label: str
    values: Mapping[str, Range]


def range_chart(
    rows: Sequence[Row],
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
        return drawing.plot(30, [text(0, 15, "Nothing was read.")], title=title, describe=describe)
    steps = drawing.ticks(min(every), max(every), 5)
    room = min(LETTER * max(len(row.label) for row in rows), MOST_ROOM)
    left, right = room + 14, WIDTH - 16

    def x(value: float) -> float:
        return left + (right - left) * (value - steps[0]) / (steps[-1] - steps[0])

    def sample(number: int, at: float, y: float) -> str:
        return drawing.mark(number, at + 14, y)

    samples: list[tuple[str, drawing.Draw]] = [(name, partial(sample, place)) for place, name in enumerate(names)]
    if mark_at is not None and mark_name:
        samples.append((mark_name, lambda at, y: line(at + 14, y - 6, at + 14, y + 6, class_="chance")))
    parts, top = drawing.key(samples, 0)
    tall = 16.0 + 9 * len(names)
    floor = top + 4 + tall * len(rows)
    for step, name in zip(steps, drawing.tick_names(steps), strict=True):
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
            color = drawing.color(number)
            parts.append(line(x(low), y, x(high), y, stroke=color, class_="whisker"))
            parts.append(drawing.mark(number, x(value), y, 4.0))
    parts.append(text(right, floor + 28, x_label, text_anchor="end", class_="quiet"))
    return drawing.plot(floor + 36, parts, title=title, describe=describe)
