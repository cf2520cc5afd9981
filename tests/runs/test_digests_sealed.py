"""A sealed file tells whether it was changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from csad.runs.digests import read_with_digest, write_with_digest
from tests.support.messages import refused

VALUES = {"version": 1, "columns": [{"column": "age", "mean": 46.75, "kinds": ["é", "b"]}]}


def test_what_was_sealed_comes_back(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(write_with_digest(VALUES), encoding="utf-8")
    assert read_with_digest(tmp_path / "a.json") == VALUES


def test_another_layout_is_no_change(tmp_path: Path) -> None:
    values = json.loads(write_with_digest(VALUES))
    (tmp_path / "a.json").write_text(json.dumps(dict(reversed(values.items()))), encoding="utf-8")
    assert read_with_digest(tmp_path / "a.json") == VALUES


def test_a_file_of_a_first_version_has_no_seal_and_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(VALUES), encoding="utf-8")
    assert read_with_digest(tmp_path / "a.json") == VALUES


@pytest.mark.parametrize(("old", "new"), [("46.75", "46.76"), ('"age"', '"ages"'), ('"version": 1', '"version": 2')])
def test_a_change_is_told(tmp_path: Path, old: str, new: str) -> None:
    text = write_with_digest(VALUES)
    assert text.count(old) == 1
    (tmp_path / "a.json").write_text(text.replace(old, new), encoding="utf-8")
    with refused("preparation-changed", file=tmp_path / "a.json"):
        read_with_digest(tmp_path / "a.json")


@pytest.mark.parametrize("text", ["", "{", '{"a": \xff}'])
def test_what_is_no_json_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_bytes(text.encode("latin1"))
    with refused("run-file-unreadable", file=tmp_path / "a.json"):
        read_with_digest(tmp_path / "a.json")
