"""csad report as a user types it: a page, a card, and nothing lost where something is wrong."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import typed
from tests.support.messages import Refusal, says
from tests.support.people_tables import ROLES, write_people

LENGTH = ["--set", "train.target_epochs=2", "--set", "train.epochs=1", "--set", "train.batch_size=16"]
LONGER = ["--set", "train.bias_epochs=1", "--set", "train.estimator_epochs=1", "--set", "inner_steps=2"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vanilla and a csad run on a table of people, audited by a first report."""
    place = tmp_path_factory.mktemp("reports")
    people = write_people(place / "people.csv")
    for method, more in (("vanilla", []), ("csad", LONGER)):
        words = [*ROLES, "--method", method, *LENGTH, *more, "--device", "cpu", "--quiet", "--out", str(place / method)]
        trained = typed("train", str(people), *words)
        assert trained.exit_code == 0, trained.stderr
    return place


@pytest.fixture(scope="module")
def first(made: Path) -> Any:
    return typed("report", str(made / "csad"), str(made / "vanilla"), "--card", str(made / "card.md"))


def test_the_page_goes_into_the_first_run_and_says_what_was_done(first: Any, made: Path) -> None:
    assert first.exit_code == 0, first.stderr
    assert "Auditing csad seed 0: it had no audit yet" in first.stderr
    lines = first.stdout.splitlines()
    assert "gender" in lines[0]
    assert lines[-1] == f"Written: {made / 'csad' / 'report.html'}, {made / 'card.md'}"
    page, card = (made / "csad" / "report.html").read_text(), (made / "card.md").read_text()
    for name in ("vanilla seed 0", "csad seed 0", "people.csv", "hours", "city"):
        assert name in page
        assert name in card
    assert "before" in page
    assert str(made) not in page + card
    audit = json.loads((made / "csad" / "audit.json").read_text())
    assert audit["state"].upper() in first.stdout
    assert f"{audit['rows']} rows of the test split." in " ".join(first.stdout.split())
    assert re.search(rf'<p class="eyebrow">[^<]+: {audit["rows"]} rows of the test split</p>', page)
    source = audit["leakage"]["verdicts"][0]
    readings = re.findall(rf"<tr>\s*<t[hd][^>]*>{source['layer']}</t[hd]>.*?</tr>", page, flags=re.S)
    told = [row for row in readings if source["state"] in row]
    assert len(source["readings"]) > 1
    assert len(told) == len(readings) == 2  # in one row of each run, for all readers of a source
    assert all(row.count("(") >= len(source["readings"]) for row in readings)
    assert f"{100 * audit['figures']['accuracy']['value']:.1f}" in page
    assert "fam3" not in page  # of the rows themselves there is nothing
    assert "row of test" not in page


def test_json_is_one_object_and_rows_are_shown_only_where_asked_for(first: Any, made: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    result = typed("report", str(made / "csad"), "--against", str(made / "vanilla"), "--out", str(out), "--show-data",
                   "--json", "--quiet")  # fmt: skip
    assert result.exit_code == 0
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert (found["report"], found["card"], found["before"]) == (str(out), None, "vanilla seed 0")
    assert found["notes"] == []
    assert set(found["runs"]) == {"csad seed 0", "vanilla seed 0"}
    assert "row of test" in out.read_text()


def test_a_page_that_is_there_is_replaced_only_when_told(first: Any, made: Path, tmp_path: Path) -> None:
    out, card = tmp_path / "page.html", tmp_path / "card.md"
    for existing, words in ((out, ()), (card, ("--card", str(card)))):
        existing.write_text("mine")
        refused = typed("report", str(made / "csad"), "--out", str(out), *words)
        assert refused.exit_code == 2
        assert says(refused.stderr, "report-file-exists", file=existing, option="--card" if words else "--out")
        assert existing.read_text() == "mine"
        if existing is out:
            out.unlink()
    assert not out.exists()
    assert (
        typed("report", str(made / "csad"), "--out", str(out), "--card", str(card), "--force", "--quiet").exit_code == 0
    )
    assert card.read_text().startswith("# Model card: csad seed 0 on people.csv")


@pytest.mark.parametrize(
    "words, expected",
    [
        (["nowhere"], Refusal("run-config-missing", folder="nowhere")),
        (["RUN", "--against", "nowhere"], Refusal("run-config-missing", folder="nowhere")),
        (["RUN", "--against", "RUN"], Refusal("run-against-itself")),
        (["RUN", "--out", "HERE"], Refusal("report-path-invalid", option="--out")),
        (
            ["RUN", "--out", "HERE/none/page.html"],
            Refusal("report-path-invalid", file=re.compile(r"none/page\.html"), option="--out"),
        ),
        (["RUN", "--out", "HERE/page.txt"], Refusal("report-file-ending", file=re.compile(r"page\.txt"))),
        (
            ["RUN", "--out", "HERE/page.html", "--card", "HERE/card.html"],
            Refusal("report-file-ending", file=re.compile(r"card\.html")),
        ),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence_and_nothing_is_written(
    words: list[str], expected: Refusal, first: Any, made: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(made / "csad", tmp_path / "run")
    (run / "report.html").unlink()
    given = [word.replace("RUN", str(run)).replace("HERE", str(tmp_path)) for word in words]
    result = typed("report", *given, "--json")
    assert result.exit_code == 2
    assert expected.is_in(result.stderr), result.stderr
    assert json.loads(result.stdout)["exit"] == 2
    assert "Traceback" not in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    assert not (run / "report.html").exists()


def test_a_table_that_is_gone_is_told_with_what_to_do(first: Any, made: Path, tmp_path: Path) -> None:
    run = shutil.copytree(made / "vanilla", tmp_path / "run")
    config = run / "config.toml"
    config.write_text(config.read_text().replace(str(made / "people.csv"), str(tmp_path / "people.csv")))
    result = typed("report", str(run))
    assert result.exit_code == 2
    assert says(result.stderr, "training-file-not-found", file=tmp_path / "people.csv", name="people.csv")
    assert typed("report", str(run), "--data-root", str(made), "--quiet").exit_code == 0
