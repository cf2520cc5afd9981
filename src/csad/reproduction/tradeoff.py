"""A plot of a trade-off: one figure of each method against others, the undominated ones joined."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import NamedTuple

from csad.report.plots import canvas
from csad.report.plots.canvas import WIDTH, Frame, axes, line, room_for, shape, text
from csad.reproduction.result_table import ERROR, ResultTable, metric_label

GAP = 24.0  # between two panels


class Point(NamedTuple):
    """A row of a table: more of x is better, less of y; ``dx`` and ``dy`` are the spreads."""

    row: str
    x: float
    y: float
    dx: float = 0.0
    dy: float = 0.0


def undominated(points: Sequence[Point]) -> list[Point]:
    """The points than which no other is at least as good in both and better in one, from left to right."""

    def better(point: Point, other: Point) -> bool:
        return point.x >= other.x and point.y <= other.y and (point.x, point.y) != (other.x, other.y)

    best = (point for point in points if not any(better(other, point) for other in points))
    return sorted(best, key=lambda point: point.x)


def tradeoff(table: ResultTable, x: str, ys: Sequence[str]) -> str:
    """A whole SVG file with a panel for each of the metrics ``ys``, drawn against the metric ``x``.

    Rows whose labels begin alike, up to a comma, are one series: a method at several strengths, joined by a line.
    """
    panels = [(y, _points(table, x, y)) for y in ys]
    names = {point.row: _named(table, point.row) for _, points in panels for point in points}
    order = list(dict.fromkeys(series for series, _ in names.values()))
    wide = 2 * WIDTH + GAP if len(panels) > 1 else WIDTH
    samples: list[tuple[str, canvas.Draw]] = [(name, partial(_sample, place)) for place, name in enumerate(order)]
    samples.append(("undominated", lambda x, y: line(x, y, x + 22, y, class_="break")))
    parts, top = canvas.legend(samples, 0, wide)
    low, high = (edge(p.x for _, points in panels for p in points) for edge in (min, max))
    bottom = top
    for number, (y, points) in enumerate(panels):
        left, above = (number % 2) * (WIDTH + GAP), top + (number // 2) * 260
        placed = [(point, order.index(names[point.row][0]), names[point.row][1]) for point in points]
        drawn = _panel(placed, (low, high), metric_label(table, x), metric_label(table, y))
        parts.append(shape("g", "".join(drawn), transform=f"translate({left:g} {above:g})"))
        bottom = above + 250
    best = {metric_label(table, y): ", ".join(p.row for p in undominated(points)) for y, points in panels}
    undominated_rows = "; ".join(f"{label}: {rows}" for label, rows in best.items())
    svg = canvas.plot(bottom, parts, title=table.title, describe=f"Undominated in {undominated_rows}.", width=wide)
    return canvas.whole_file(svg)


def _points(table: ResultTable, x: str, y: str) -> list[Point]:
    """The rows that have both figures, in their order."""
    cells = {(cell.method, cell.metric): cell for cell in table.cells}
    points = []
    for row in dict.fromkeys(cell.method for cell in table.cells):
        if (row, x) in cells and (row, y) in cells:
            across, up = cells[row, x], cells[row, y]
            spreads = [(c.std or 0) / (c.n**0.5 if table.spread == ERROR else 1) for c in (across, up)]
            points.append(Point(row, across.mean, up.mean, *spreads))
    return points


def _panel(
    placed: Sequence[tuple[Point, int, str]], across: tuple[float, float], x_label: str, y_label: str
) -> list[str]:
    """Points with the number of their series and, where it has several, what tells them apart."""
    points = [point for point, _, _ in placed]
    heights = canvas.ticks(0, max(point.y + point.dy for point in points))
    pad = (across[1] - across[0]) * 0.06 or 0.01
    left = room_for(heights)
    frame = Frame((across[0] - pad, across[1] + pad), (heights[0], heights[-1]), left, 12.0)
    parts = axes(frame, heights, x_label, y_label)
    parts.append(_path([(frame.x(p.x), frame.y(p.y)) for p in undominated(points)], class_="break"))
    for number in sorted({number for _, number, _ in placed}):
        series = [(point, strength) for point, other, strength in placed if other == number]
        color = canvas.color(number)
        if len(series) > 1:
            parts.append(_path([(frame.x(p.x), frame.y(p.y)) for p, _ in series], class_="curve", stroke=color))
        for point, strength in series:
            x, y = frame.x(point.x), frame.y(point.y)
            reach, rise = x - frame.x(point.x - point.dx), frame.y(point.y - point.dy) - y
            parts += [line(x - reach, y, x + reach, y, stroke=color), line(x, y - rise, x, y + rise, stroke=color)]
            if strength and len(series) > 1:
                parts.append(text(x + 7, y - 9, strength, class_="quiet"))
            parts.append(shape("g", f"<title>{escape(point.row)}</title>{canvas.mark(number, x, y)}"))
    return parts


def _path(places: Sequence[tuple[float, float]], **look: str) -> str:
    return shape("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places), fill="none", **look)


def _sample(number: int, x: float, y: float) -> str:
    return canvas.mark(number, x + 14, y)


def _named(table: ResultTable, row: str) -> tuple[str, str]:
    """The series that a row belongs to, and its place there."""
    series, _, strength = table.labels.get(row, row).partition(",")
    return series, strength.strip()
