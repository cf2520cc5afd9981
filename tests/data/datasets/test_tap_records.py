from __future__ import annotations

import csv
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csad.data.datasets.tap_records import (
    BUTTONS,
    CHANNELS,
    Taps,
    as_series,
    centre_of,
    mend_taps,
    read_taps,
    write_taps,
)
from csad.errors import InputError
from tests.support.messages import Refusal, refused
from tests.support.parkinson_files import real, tap

LEFT, RIGHT = (100.0, 400.0), (200.0, 420.0)


def taps(*rows: tuple[float, float, float, int]) -> Taps:
    time, x, y, button = (np.array(column) for column in zip(*rows, strict=True))
    return Taps(time.astype(float), x.astype(float), y.astype(float), button.astype(np.int64))


def test_taps_are_read_as_they_stand() -> None:
    items = [tap(), tap(2, "None", "{-1.25e1, 113.66665649414062}"), tap(1.0, "Right", " { 3 ,4. } ")]
    found = read_taps(json.dumps(items).encode(), "a.json")
    assert found.time.tolist() == [1.5, 2, 1]
    assert found.x.tolist() == [10.5, -12.5, 3]
    assert found.y.tolist() == [20, 113.66665649414062, 4]
    assert [BUTTONS[k] for k in found.button] == [f"TappedButton{name}" for name in ("Left", "None", "Right")]
    assert [len(column) for column in read_taps("[]", "a.json")] == [0] * 4


def test_a_file_is_written_as_the_app_writes_it() -> None:
    wanted = [tap(0.5, "None", "{10.5, 20.0}"), tap(0.75, "Right", "{200.0, 420.0}")]
    assert json.loads(write_taps(taps((0.5, 10.5, 20, 0), (0.75, 200, 420, 2)))) == wanted


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 3, st.integers(0, 2)), min_size=1))
def test_what_is_written_is_read_again_to_the_bit(rows: list[tuple[float, float, float, int]]) -> None:
    for one, other in zip(taps(*rows), read_taps(write_taps(taps(*rows)), "a.json"), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[{", Refusal("taps-not-json", file="a.json")),
        (b"\xff\xfe\xff", Refusal("taps-not-json", file="a.json")),
        ("[" * 100_000, Refusal("taps-not-json", file="a.json")),
        ('{"a": 1}', Refusal("taps-not-a-list", file="a.json", value={"a": 1})),
        (
            "[3]",
            Refusal(
                "tap-keys-missing", tap="Tap 1 of a.json", keys="TapTimeStamp, TappedButtonId, TapCoordinate", value=3
            ),
        ),
        ([tap(), {"TapTimeStamp": 1}], Refusal("tap-keys-missing", tap="Tap 2 of a.json", value={"TapTimeStamp": 1})),
        ([tap("soon")], Refusal("tap-time-invalid", tap="Tap 1 of a.json", value="'soon'")),
        ([tap(True)], Refusal("tap-time-invalid", value=True)),
        ([tap(float("nan"))], Refusal("tap-time-invalid", value="nan")),
        ([tap(float("inf"))], Refusal("tap-time-invalid", value="inf")),
        ([tap(button="Up")], Refusal("tap-button-unknown", value="'TappedButtonUp'", known=", ".join(BUTTONS))),
        ([tap(place="10, 20")], Refusal("tap-coordinate-invalid", tap="Tap 1 of a.json", value="'10, 20'")),
        ([tap(place="{10}")], Refusal("tap-coordinate-invalid", value="'{10}'")),
        ([tap(place="{1, 2, 3}")], Refusal("tap-coordinate-invalid", value="'{1, 2, 3}'")),
        ([tap(place="{nan, 2}")], Refusal("tap-coordinate-invalid", value="'{nan, 2}'")),
        ([tap(place="{1e999, 2}")], Refusal("tap-coordinate-invalid", value="'{1e999, 2}'")),
        ([tap(place=[1, 2])], Refusal("tap-coordinate-invalid", value=[1, 2])),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(text: Any, complaint: Refusal) -> None:
    with refused(complaint) as error:
        read_taps(json.dumps(text) if isinstance(text, list) else text, "a.json")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@settings(deadline=None)
@given(st.integers(0, 150), st.binary(max_size=8), st.integers(0, 8))
def test_whatever_the_bytes_are_taps_come_back_or_an_input_error(place: int, junk: bytes, cut: int) -> None:
    good = json.dumps([tap(), tap(2)]).encode()
    try:
        found = read_taps(good[:place] + junk + good[place + cut :], "a.json")
    except InputError:
        return
    assert all(np.isfinite(column).all() for column in found)


def test_the_centre_of_a_rectangle_by_hand() -> None:
    assert centre_of("{{67.5, 395}, {104, 104}}") == (119.5, 447)
    for wrong in ("{67.5, 395}", "{{1, 2}, {3}}", "{{1, 2}, {3, 4}", "", "{{1e999, 2}, {3, 4}}"):
        assert centre_of(wrong) is None


def test_a_tap_of_no_button_goes_where_the_same_point_was_tapped_before() -> None:
    rows = [(0, 1, 1, 1), (0, 1, 1, 0), (1, 2, 2, 0), (1, 2, 2, 0), (2, 1, 1, 1), (3, 1, 2, 0), (4, 1, 2, 2)]
    assert mend_taps(taps(*rows)).time.tolist() == [0, 1, 2, 3, 4]
    assert mend_taps(taps(*rows)).button.tolist() == [1, 0, 1, 0, 2]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 2), st.sampled_from([0, 1, 2])), min_size=1))
def test_doubled_taps_are_those_that_one_looked_up_finds(rows: list[tuple[int, int, int]]) -> None:
    seen, kept = set(), []
    for number, (x, y, button) in enumerate(rows):
        kept += [number] * (button != 0 or (x, y) not in seen)
        seen.add((x, y))
    found = mend_taps(taps(*((number, *row) for number, row in enumerate(rows))))
    assert found.time.tolist() == kept


def test_a_series_by_hand() -> None:
    rows = [(7, 100, 400, 1), (7.5, 200, 420, 2), (7.25, 150, 410, 0), (27, 250, 460, 2), (999, 9999, -9999, 0)]
    found = as_series(taps(*rows), LEFT, RIGHT, 6)
    wanted = {
        "time": [-1, -0.975, -0.95, 1, 10, 0],
        "interval": [0, 1.25, 1.25, 10, 10, 0],
        "x": [-1, 0, 1, 2, 10, 0],
        "y": [-0.2, 0, 0.2, 1, -10, 0],
        "left": [1, 0, 0, 0, 0, 0],
        "right": [0, 0, 1, 1, 0, 0],
    }
    assert tuple(wanted) == CHANNELS
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array([*wanted.values()]), abs=1e-6)
    assert np.array_equal(as_series(taps(*rows), LEFT, RIGHT, 2), found[:, :2])


def test_a_real_record_is_taken() -> None:
    with real("mpower_tap_record.csv").open() as stream:
        rows = [*csv.DictReader(stream)]
    items = [tap(float(row["t"]), row["buttonid"][12:], f"{{{row['x']}, {row['y']}}}") for row in rows]
    found = read_taps(json.dumps(items), "real.json")
    assert found.x.tolist() == [float(row["x"]) for row in rows]
    assert len(mend_taps(found).time) == 181, "nothing in it is doubled"
    left, right = centre_of("{{67.5, 395}, {104, 104}}"), centre_of("{{203.5, 395}, {104, 104}}")
    assert left == (119.5, 447)
    assert right == (255.5, 447)
    series = dict(zip(CHANNELS, as_series(mend_taps(found), left, right, 256), strict=True))
    assert not any(channel[181:].any() for channel in series.values())
    assert (np.diff(series["time"][:181]) >= 0).all(), "its taps are not in order"
    assert series["left"].sum() == 90
    assert series["right"].sum() == 75
    assert 0.4 < series["interval"][1:181].mean() < 0.7
    assert series["x"][series["left"] == 1].mean() == pytest.approx(-0.9, abs=0.1)
    assert series["x"][series["right"] == 1].mean() == pytest.approx(1.1, abs=0.1)
