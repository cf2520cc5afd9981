"""Runs as points: what each gets right against what is left of a bias in it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from csad.report import drawing
from csad.report.axes import Frame, axes, room_for
from csad.report.drawing import line, shape
from csad.report.ranges import Range


class Spot(NamedTuple):
    """A named point with its interval in both directions."""

    name: str
    x: Range
    y: Range


def scatter(spots: Sequence[Spot], *, title: str, describe: str, x_label: str, y_label: str) -> str:
    """A marker for each spot, in the order of the key, on a cross of its intervals."""

    def sample(number: int) -> drawing.Draw:
        return lambda x, y: drawing.mark(number, x + 14, y)

    parts, top = drawing.key([(spot.name, sample(place)) for place, spot in enumerate(spots)], 0)
    wide, high = (
        [end for value in values for end in value] for values in zip(*(spot[1:] for spot in spots), strict=True)
    )
    heights, across = drawing.ticks(min(high), max(high), 4), drawing.ticks(min(wide), max(wide), 4)
    left = room_for(heights)
    frame = Frame((across[0], across[-1]), (heights[0], heights[-1]), left, top + 8)
    parts += axes(frame, heights, x_label, y_label)
    for number, (name, across_it, up_it) in enumerate(spots):
        x, y = [frame.x(value) for value in across_it], [frame.y(value) for value in up_it]
        look = {"stroke": drawing.color(number), "class_": "whisker"}
        parts += [line(x[0], y[1], x[2], y[1], **look), line(x[1], y[0], x[1], y[2], **look)]
        parts.append(shape("g", f"<title>{escape(name)}</title>{drawing.mark(number, x[1], y[1], 6.0)}"))
    return drawing.plot(frame.floor + 38, parts, title=title, describe=describe)
