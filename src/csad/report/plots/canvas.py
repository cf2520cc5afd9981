"""The pieces that all plots share: escaped shapes and text, ticks, axes, keys, and PNG pixels. Colors: plots.css."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from csad.report.formatting import NARROW

# About one column of the page in pixels, so that text keeps its size on a phone and on a desk alike.
WIDTH = 400.0
FONT = 11.0
LETTER = 6.3  # a generous mean width of one letter at FONT, since an SVG string cannot measure text

ALONE = "svg.plot { background: var(--paper); color: var(--ink); font-family: system-ui, sans-serif; }"

Draw = Callable[[float, float], str]  # what draws at (x, y)

COLORS = tuple(f"var(--series-{number})" for number in range(1, 7))
# Five against six colours: the pair repeats only after thirty series, and each differs without colour too.
DASHES = ("none", "7 3", "2 2.5", "10 3 2 3", "14 4")


def tick_names(values: Sequence[float]) -> list[str]:
    """The ticks as an axis writes them: as many decimals as their step needs, spaced thousands, a real minus."""
    step = values[1] - values[0]
    if not 1e-4 <= step < 1e6:
        return [f"{value:.3g}".replace("-", "−") for value in values]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{value:,.{digits}f}".replace(",", NARROW).replace("-", "−") for value in values]


def shape(tag: str, content: str = "", /, **attributes: object) -> str:
    """One element; ``class_`` becomes ``class``, ``text_anchor`` ``text-anchor``; ``content`` is markup."""
    pairs = []
    for name, value in attributes.items():
        words = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        if words:
            pairs.append(f' {name.rstrip("_").replace("_", "-")}="{escape(words)}"')
    return f"<{tag}{''.join(pairs)}>{content}</{tag}>"


def text(x: float, y: float, words: str, room: float = math.inf, **attributes: object) -> str:
    """Words whose middle line is at ``y``; what is longer than ``room`` is cut and stays whole as a hint."""
    letters = max(int(room / LETTER + 1e-6), 2) if math.isfinite(room) else len(words)
    shown = escape(words)
    if len(words) > letters:
        shown = f"{escape(words[: letters - 1])}…<title>{escape(words)}</title>"
    # A shift by a third of the font size centres digits; dominant-baseline differs between browsers.
    return shape("text", shown, x=x, y=y + 0.35 * FONT, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> str:
    """A straight stroke."""
    return shape("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def plot(height: float, parts: Iterable[str], *, title: str, describe: str, width: float = WIDTH) -> str:
    """A whole picture that fills the width it is given and reads out its title and description."""
    body = f"<title>{escape(title)}</title><desc>{escape(describe)}</desc>{''.join(parts)}"
    view = f"0 0 {width:g} {height:g}"
    return f'<svg class="plot" role="img" viewBox="{view}" width="100%" font-size="{FONT:g}">{body}</svg>'


def whole_file(svg: str) -> str:
    """A plot as a file of its own, which brings its colours along."""
    css = files("csad.report").joinpath("plots.css").read_text(encoding="utf-8")
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace(
        "<title>", f"<style>{css}{ALONE}</style><title>", 1
    )


def color(number: int) -> str:
    """The colour of one series; they take turns."""
    return COLORS[number % len(COLORS)]


def mark(number: int, x: float, y: float, radius: float = 5.0) -> str:
    """The marker of one series: circle, diamond, square and triangle take turns."""
    r = radius
    d = {
        0: f"M{-r} 0a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        1: f"M0 {-1.25 * r}L{1.25 * r} 0L0 {1.25 * r}L{-1.25 * r} 0z",
        2: f"M{-0.9 * r} {-0.9 * r}h{1.8 * r}v{1.8 * r}h{-1.8 * r}z",
        3: f"M0 {-1.1 * r}L{1.1 * r} {0.9 * r}H{-1.1 * r}z",
    }[number % 4]
    return shape("path", d=d, transform=f"translate({x:.1f} {y:.1f})", fill=color(number), class_="mark")


def legend(samples: Sequence[tuple[str, Draw]], left: float, right: float = WIDTH) -> tuple[list[str], float]:
    """The entries (name, what draws its sample, 22 wide) in the rows they need, and the height of these."""
    parts, x, y = [], left, 8.0
    for name, draw in samples:
        width = 28 + LETTER * len(name)
        if x > left and x + width > right:
            x, y = left, y + 17
        parts += [draw(x, y), text(x + 28, y, name, room=right - x - 28)]
        x += width + 12
    return parts, y + 12


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers 1, 2 or 5 × a power of ten apart, from at or below ``low`` to at or above ``high``."""
    span = high - low
    if not span > 0:
        pad = abs(low) / 2 or 0.5
        low, high, span = low - pad, high + pad, 2 * pad
    power = 10.0 ** math.floor(math.log10(span / about))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= about)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


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
    return 24 + LETTER * max(map(len, tick_names(heights)))


def axes(frame: Frame, heights: Sequence[float], x_label: str, y_label: str) -> list[str]:
    """Rules at round heights, ticks at round steps, and what they count."""
    parts = []
    for height, name in zip(heights, tick_names(heights), strict=True):
        y = frame.y(height)
        parts.append(line(frame.left, y, frame.right, y, class_="axis" if height == 0 else "rule"))
        parts.append(text(frame.left - 6, y, name, text_anchor="end", class_="quiet"))
    low, high = frame.across
    steps = ticks(low, high, 4)
    for step, name in zip(steps, tick_names(steps), strict=True):
        if low <= step <= high:
            x = frame.x(step)
            parts.append(line(x, frame.floor, x, frame.floor + 4, class_="axis"))
            parts.append(text(x, frame.floor + 13, name, text_anchor="middle", class_="quiet"))
    turned = f"translate(7 {frame.top + TALL / 2:.1f}) rotate(-90)"
    middle = (frame.left + frame.right) / 2
    parts.append(text(0, 0, y_label, transform=turned, text_anchor="middle", class_="quiet"))
    parts.append(text(middle, frame.floor + 30, x_label, text_anchor="middle", class_="quiet"))
    return parts


Pixels = NDArray[np.uint8]


def png(pixels: Pixels) -> bytes:
    """The bytes of a PNG file: (h, w, 3) is red, green, blue; a fourth channel is opacity."""
    height, width, channels = pixels.shape
    # Each line of a PNG opens with the number of its filter; 0 means the bytes stand as they are.
    lines = np.zeros((height, 1 + width * channels), dtype=np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def data_uri(pixels: Pixels) -> str:
    """The PNG as a ``data:`` address."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode("ascii")
