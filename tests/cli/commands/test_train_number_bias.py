"""A bias that is a number is shown in the user's own units wherever its groups are: terminal, file, page and card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import typed
from tests.support.people_tables import SHORT, N, write_people

ROLES = ["--target", "income", "--bias", "age", "--width", "age=5", "--split", "fold", "--drop", "who,family"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose bias is an age, from 20 to 69, and its audit, page and card."""
    place = tmp_path_factory.mktemp("ages")
    ages = [20 + k // 8 * 5 + k % 2 * 3 for k in range(N)]  # 20, 23, 25, 28, … 65, 68 in training and in test
    people = write_people(place / "people.csv", {"age": ages})
    made = typed("train", str(people), *ROLES, *SHORT, "--quiet", "--out", str(place / "run"))
    assert made.exit_code == 0, made.stderr
    return place / "run"


def test_groups_of_an_age_are_years_in_every_place(run: Path) -> None:
    shown = typed("audit", str(run), "--device", "cpu")
    assert shown.exit_code == 0, shown.stderr
    found = json.loads((run / "audit.json").read_text())
    groups = [group["group"] for group in found["groups"]]
    assert groups == ["up to 28", "over 28 to 38", "over 38 to 48", "over 48 to 58", "over 58"]
    assert {cell["group"] for cell in found["cells"]} == set(groups)
    card = run / "card.md"
    made = typed("report", str(run), "--card", str(card), "--show-data", "--device", "cpu", "--quiet")
    assert made.exit_code == 0, made.stderr
    page = (run / "report.html").read_text()
    for name in groups:
        assert name in shown.stdout
        assert name in page
        assert name in card.read_text()


def test_rows_that_are_shown_have_their_age_in_years(run: Path) -> None:
    from csad.report.shown_data import shown_data
    from csad.runs.run import data_of, load

    loaded = load(run, device="cpu")
    data = data_of(loaded)
    shown = shown_data({"it": loaded}, data, "test", [])
    ages = [int(row[shown.head.index("age")]) for row in shown.rows]
    assert min(ages) >= 20
    assert len(set(ages)) > 1
    assert all(age % 5 in (0, 3) for age in ages)
