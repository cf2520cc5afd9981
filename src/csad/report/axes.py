"""The area inside two axes: numbers go in, places on the page come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csad.report import drawing
from csad.report.drawing import LETTER, WIDTH, line, text

TALL = 180.0


@dataclass(frozen=True)
class Frame:
    """The area, and the numbers at its edges."""

    across: tuple[float, float]
    up: tuple[float, float]
    left: float
    top: float
    right: float = WIDTH - 8

    @property
    def floor(self) -> float:
        """The height on the page at which it ends."""
        return self.top + TALL

    def x(self, value: float) -> float:
        """Where a number stands across."""
        low, high = self.across
        return self.left + (self.right - self.left) * (value - low) / ((high - low) or 1)

    def y(self, value: float) -> float:
        """Where a number stands up."""
        low, high = self.up
        return self.floor - TALL * (value - low) / (high - low)


def room_for(heights: Sequence[float]) -> float:
    """How far from the left an area begins, so that the names of its heights fit beside it."""
    return 24 + LETTER * max(map(len, drawing.tick_names(heights)))


def axes(frame: Frame, heights: Sequence[float], x_label: str, y_label: str) -> list[str]:
    """Rules at round heights, ticks at round steps, and what they count."""
    parts = []
    for height, name in zip(heights, drawing.tick_names(heights), strict=True):
        y = frame.y(height)
        parts.append(line(frame.left, y, frame.right, y, class_="axis" if height == 0 else "rule"))
        parts.append(text(frame.left - 6, y, name, text_anchor="end", class_="quiet"))
    low, high = frame.across
    steps = drawing.ticks(low, high, 4)
    for step, name in zip(steps, drawing.tick_names(steps), strict=True):
        if low <= step <= high:
            x = frame.x(step)
            parts.append(line(x, frame.floor, x, frame.floor + 4, class_="axis"))
            parts.append(text(x, frame.floor + 13, name, text_anchor="middle", class_="quiet"))
    turned = f"translate(7 {frame.top + TALL / 2:.1f}) rotate(-90)"
    middle = (frame.left + frame.right) / 2
    parts.append(text(0, 0, y_label, transform=turned, text_anchor="middle", class_="quiet"))
    parts.append(text(middle, frame.floor + 30, x_label, text_anchor="middle", class_="quiet"))
    return parts
