"""A user's folder with own.csv and finished runs on it, trained once and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.commands import typed
from tests.support.people_tables import ROLES, SHORT, write_people

ON_OWN = ["train", "own.csv", *ROLES, *SHORT]


def trained_home(place: Path, *runs: str) -> Path:
    """own.csv, and runs of these names that differ in their seed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        write_people(place / "own.csv")
        for seed, name in enumerate(runs):
            made = typed(*ON_OWN, "--seed", str(seed), "--out", name, "--quiet")
            assert made.exit_code == 0, made.stderr
    return place


def moved_home(home: Path, place: Path) -> Path:
    """A copy; its runs were trained on the own.csv that is there."""
    shutil.copytree(home, place)
    for config in place.glob("*/config.toml"):
        config.write_text(config.read_text().replace(str(home), str(place)))
    return place
