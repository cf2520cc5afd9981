"""One mPower tapping record: from its JSON file, mended where the app erred, to a series that a net can read."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.errors import InputError

KEYS = ("TapTimeStamp", "TappedButtonId", "TapCoordinate")
NONE, LEFT, RIGHT = range(3)
BUTTONS = ("TappedButtonNone", "TappedButtonLeft", "TappedButtonRight")
CHANNELS = ("time", "interval", "x", "y", "left", "right")
FEWEST = 5  # taps that a usable record has at least, as in Sage's features
SECONDS = 20.0  # a record's length
BRISK = 0.2  # seconds between taps that count as 1
FARTHEST = 10.0  # limits a broken time stamp; the edge of a phone is about 6 away
_NUMBER = r"\s*([-+]?\d+\.?\d*(?:[eE][-+]?\d+)?)\s*"
_PAIR = rf"\{{{_NUMBER},{_NUMBER}\}}"
POINT = re.compile(_PAIR)
RECTANGLE = re.compile(rf"\{{\s*{_PAIR}\s*,\s*{_PAIR}\s*\}}")

Floats = NDArray[np.float64]
Point = tuple[float, float]


class Taps(NamedTuple):
    """The taps of a record as its file has them: seconds, points on the screen, button numbers; each (taps,)."""

    time: Floats
    x: Floats
    y: Floats
    button: NDArray[np.int64]

    def rows(self, index: Any) -> Taps:
        """The chosen taps."""
        return Taps(self.time[index], self.x[index], self.y[index], self.button[index])


class People(NamedTuple):
    """What is known of people with usable records, and why other records cannot be used."""

    parkinson: NDArray[np.int64]  # (people,), 0 or 1
    age: NDArray[np.int64]  # (people,), years
    dropped: Mapping[str, int]  # numbers of left-out records by what they lack
    facts: Mapping[str, Floats]  # further values of each person

    def describe_dropped(self) -> str:
        """Why records were left out, in words; empty if none was."""
        return ", ".join(f"{count} without {reason}" for reason, count in self.dropped.items())


class Records(NamedTuple):
    """Series x (records, channels, length), and the number of the person of each."""

    x: NDArray[np.float32]
    person: NDArray[np.int64]
    people: People


def read_taps(data: bytes | str, name: str) -> Taps:
    """The taps of a JSON file called ``name``: a list of {TapTimeStamp, TappedButtonId, TapCoordinate: "{x, y}"}."""
    try:
        items = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("taps-not-json", file=name, reason=reprlib.repr(str(error))) from error
    if not isinstance(items, list):
        raise InputError("taps-not-a-list", file=name, value=reprlib.repr(items))
    rows = [_tap(item, f"Tap {number} of {name}") for number, item in enumerate(items, 1)]
    times, points, buttons = zip(*rows, strict=True) if rows else ((), (), ())
    x, y = np.array(points, dtype=np.float64).reshape(-1, 2).T
    return Taps(np.array(times, dtype=np.float64), x, y, np.array(buttons, dtype=np.int64))


def _tap(item: Any, what: str) -> tuple[float, Point, int]:
    if not isinstance(item, dict) or any(key not in item for key in KEYS):
        raise InputError("tap-keys-missing", tap=what, keys=", ".join(KEYS), value=reprlib.repr(item))
    time, button, place = (item[key] for key in KEYS)
    if isinstance(time, bool) or not isinstance(time, int | float) or not -1e12 < time < 1e12:
        raise InputError("tap-time-invalid", tap=what, value=reprlib.repr(time))
    if button not in BUTTONS:
        raise InputError("tap-button-unknown", tap=what, value=reprlib.repr(button), known=", ".join(BUTTONS))
    numbers = _numbers(POINT, place)
    if numbers is None:
        raise InputError("tap-coordinate-invalid", tap=what, value=reprlib.repr(place))
    return float(time), (numbers[0], numbers[1]), BUTTONS.index(button)


def _numbers(pattern: re.Pattern[str], text: Any) -> tuple[float, ...] | None:
    """The numbers in a text of that form, None if it has another form."""
    match = pattern.fullmatch(text.strip()) if isinstance(text, str) else None
    numbers = tuple(map(float, match.groups())) if match else ()
    return numbers if match and all(map(math.isfinite, numbers)) else None


def write_taps(taps: Taps) -> str:
    """The text of a JSON file that ``read_taps`` reads as the very same numbers."""
    rows = zip(*(column.tolist() for column in taps), strict=True)
    return json.dumps([dict(zip(KEYS, (t, BUTTONS[b], f"{{{x}, {y}}}"), strict=True)) for t, x, y, b in rows])


def centre_of(rectangle: str) -> Point | None:
    """The middle of a rectangle "{{x, y}, {width, height}}", None if the text is something else."""
    sides = _numbers(RECTANGLE, rectangle)
    return None if sides is None else (sides[0] + sides[2] / 2, sides[1] + sides[3] / 2)


def mend_taps(taps: Taps) -> Taps:
    """The taps without their doubles: early versions of the app wrote taps again, as taps of no button.

    A row of TappedButtonNone goes if an earlier row, of whatever button, has the same x and y (Sage's own rule).
    """
    none = taps.button == NONE
    if not none.any():
        return taps
    points = taps.x + 1j * taps.y
    order = np.argsort(points, kind="stable")  # taps of one place follow one another, the earliest first
    again = np.zeros(len(points), dtype=np.bool_)
    again[order[1:]] = points[order[1:]] == points[order[:-1]]
    return taps.rows(~(none & again))


def as_series(taps: Taps, left: Point, right: Point, length: int) -> NDArray[np.float32]:
    """The first ``length`` taps in order of time as a series (6, length), one step per tap, zeros after the last.

    Channels: time, −1 at the first tap and 1 after 20 seconds; interval since the tap before, in units of .2 seconds;
    x and y from the middle between the buttons, whose centres ``left`` and ``right`` are at x = −1 and 1 on phones of
    all sizes; 1 if the left button was hit; 1 if the right one was.
    """
    taps = taps.rows(np.argsort(taps.time, kind="stable")[:length])
    time = taps.time - taps.time[:1]
    half = (right[0] - left[0]) / 2
    series = np.zeros((len(CHANNELS), length), dtype=np.float32)
    channels = (
        time / (SECONDS / 2) - 1,
        np.diff(time, prepend=time[:1]) / BRISK,
        (taps.x - (left[0] + right[0]) / 2) / half,
        (taps.y - (left[1] + right[1]) / 2) / half,
        taps.button == LEFT,
        taps.button == RIGHT,
    )
    series[:, : len(time)] = np.clip(np.stack(channels), -FARTHEST, FARTHEST)
    return series
