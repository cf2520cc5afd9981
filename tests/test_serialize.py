"""Dataclasses become plain JSON values and come back equal; what does not fit its field is one clear error."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from csad.serialize import Serializable
from tests.support.messages import Refusal, refused


@dataclass(frozen=True)
class Point(Serializable):
    x: float
    y: float | None = None


@dataclass(frozen=True)
class Shape(Serializable):
    name: str
    kind: Literal["line", "area"]
    count: int
    closed: bool
    points: tuple[Point, ...]
    marks: dict[str, Point]
    drawn: list[int] = field(default_factory=list, compare=False, metadata={"saved": False})


SHAPE = Shape("s", "line", 2, False, (Point(0.1), Point(1.0, 2.0)), {"a": Point(3.0)}, [7])


def test_what_is_written_is_read_back_equal_and_in_the_order_of_the_fields() -> None:
    plain = json.loads(json.dumps(SHAPE.to_dict()))
    assert list(plain) == ["name", "kind", "count", "closed", "points", "marks"]
    assert Shape.from_dict(plain) == SHAPE
    assert Shape.from_dict(plain).drawn == []


def test_a_name_with_a_default_may_be_missing_and_an_unknown_one_is_ignored() -> None:
    assert Point.from_dict({"x": 1, "z": 3}) == Point(1.0)


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({"name": 3}, Refusal("saved-value-misfit", where="name", expected="text", value=3)),
        ({"kind": "lin"}, Refusal("saved-value-misfit", where="kind", expected="'line' or 'area'", value="'lin'")),
        ({"count": 1.5}, Refusal("saved-value-misfit", where="count", expected="a whole number", value=1.5)),
        ({"count": True}, Refusal("saved-value-misfit", where="count", expected="a whole number", value=True)),
        ({"closed": 1}, Refusal("saved-value-misfit", where="closed", expected="true or false", value=1)),
        ({"points": 3}, Refusal("saved-value-misfit", where="points", expected="a list", value=3)),
        ({"points": [{"x": 1.0}, {"y": 1.0}]}, Refusal("saved-parts-missing", where="points[1]", parts="x")),
        (
            {"points": [{"x": "1"}]},
            Refusal("saved-value-misfit", where="points[0].x", expected="a number", value="'1'"),
        ),
        (
            {"points": [{"x": float("nan")}]},
            Refusal("saved-value-misfit", where="points[0].x", expected="a number", value="nan"),
        ),
        (
            {"points": [[1.0]]},
            Refusal("saved-value-misfit", where="points[0]", expected="an object of named values", value=[1.0]),
        ),
        (
            {"marks": {"a": {"x": None}}},
            Refusal("saved-value-misfit", where="marks.a.x", expected="a number", value=None),
        ),
        ({"marks": []}, Refusal("saved-value-misfit", where="marks", expected="an object of named values", value=[])),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(change: dict[str, Any], complaint: Refusal) -> None:
    with refused(complaint):
        Shape.from_dict(SHAPE.to_dict() | change)


def test_missing_names_are_all_named() -> None:
    with refused("saved-parts-missing", parts="name, kind, count, closed, points, marks"):
        Shape.from_dict({})
    with refused("saved-value-misfit", where="the whole", expected="an object of named values", value=3):
        Shape.from_dict(3)  # type: ignore[arg-type]
