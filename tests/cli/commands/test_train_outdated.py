"""What a run's folder says stays true: nothing is left of a run that never began, and nothing stale is believed."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from csad.messages import message
from tests.support.commands import contents, typed
from tests.support.messages import says
from tests.support.own_homes import ON_OWN, moved_home, trained_home
from tests.support.people_tables import PEOPLE, write_people

SAYS = f"csad: {message('batch-smaller-than-values', values=4, batch_size=3)}\n"


def in_threes(*more: str, method: str = "vanilla") -> list[str]:
    """What is typed for balanced mini-batches of three rows, where target and bias have four cells."""
    other = {"train.batch_size=16": "train.batch_size=3", "vanilla": method}
    shorter = [other.get(word, word) for word in ON_OWN]
    return [*shorter, "--set", "train.balance=cells", "--quiet", *more]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_home(tmp_path_factory.mktemp("outdated"), "run0", "run1")


@pytest.fixture
def here(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = moved_home(home, tmp_path / "here")
    monkeypatch.chdir(place)
    return place


def audit(*words: str) -> dict[str, Any]:
    result = typed("audit", "run0", "--rows", "40", "--device", "cpu", "--json", *words)
    assert result.exit_code == 0, result.stderr
    return {"said": result.stderr, **json.loads(result.stdout)}


@pytest.mark.parametrize(
    ("seeds", "method"), [("1", "vanilla"), ("2,3", "vanilla"), ("1", "csad")], ids=["a run", "a sweep", "a choice"]
)
def test_mini_batches_that_cannot_be_made_leave_no_folder(here: Path, seeds: str, method: str) -> None:
    result = typed(*in_threes("--out", "new", "--seed", seeds, method=method))
    assert (result.exit_code, result.stderr) == (2, SAYS)
    assert not (here / "new").exists()
    assert not (here / "new.choosing").exists()


def test_mini_batches_that_cannot_be_made_leave_a_run_that_was_to_be_replaced(here: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in (here / "run0").iterdir()}
    result = typed(*in_threes("--out", "run0", "--force"))
    assert (result.exit_code, result.stderr) == (2, SAYS)
    assert {path.name: path.stat().st_mtime_ns for path in (here / "run0").iterdir()} == before


def test_a_run_that_goes_on_puts_aside_what_was_said_of_its_earlier_weights(here: Path) -> None:
    (here / "run0" / "result.json").unlink()
    (here / "run0" / "audit.json").write_text("of before")
    (here / "run0" / "report.html").write_text("of before, too")
    result = typed(*ON_OWN, "--seed", "0", "--out", "run0", "--resume")
    assert result.exit_code == 0, result.stderr
    assert says(result.stderr, "reports-renamed-on-resume")
    assert "audit.json is now audit-before-resume.json" in result.stderr
    assert "report.html is now report-before-resume.html" in result.stderr
    assert not (here / "run0" / "audit.json").exists()
    assert (here / "run0" / "audit-before-resume.json").read_text() == "of before"
    assert (here / "run0" / "report-before-resume.html").read_text() == "of before, too"


def test_a_finished_run_keeps_its_audit(here: Path) -> None:
    (here / "run0" / "audit.json").write_text("still true")
    result = typed(*ON_OWN, "--seed", "0", "--out", "run0", "--resume")
    assert result.exit_code == 0, result.stderr
    assert (here / "run0" / "audit.json").read_text() == "still true"


def test_a_run_begun_anew_says_that_its_audit_goes(here: Path) -> None:
    (here / "run0" / "audit.json").write_text("of before")
    (here / "run0" / "model.onnx").write_text("of before")
    result = typed(*ON_OWN, "--seed", "0", "--out", "run0", "--force")
    assert result.exit_code == 0, result.stderr
    assert says(result.stderr, "earlier-reports-removed", files="audit.json", folder="run0")
    assert not (here / "run0" / "audit.json").exists()
    assert says(result.stderr, "other-files-kept", files="model.onnx", folder="run0")
    assert (here / "run0" / "model.onnx").read_text() == "of before"


def test_a_setting_that_cannot_be_costs_an_earlier_run_nothing(here: Path) -> None:
    before = contents(here / "run0")
    result = typed(*ON_OWN, "--seed", "0", "--out", "run0", "--force", "--set", "train.batch_size=0")
    assert result.exit_code == 2
    assert contents(here / "run0") == before
    (here / "run0" / "config.toml").write_text("garbage")
    broken = typed(*ON_OWN, "--seed", "0", "--out", "run0", "--force")
    assert broken.exit_code == 2
    assert says(broken.stderr, "run-config-unreadable", advice=re.compile("remove run0 and train the run again"))
    assert not says(broken.stderr, "earlier-reports-removed")


def test_a_plain_audit_keeps_the_comparison_of_an_earlier_one(here: Path) -> None:
    compared = audit("--against", "run1")
    plain = audit()
    assert says(plain["said"], "comparison-kept", against="run1", file="audit.json")
    assert {**plain, "said": ""} == {**compared, "said": ""}
    assert json.loads((here / "run0" / "audit.json").read_text())["comparison"] == compared["comparison"]


def test_an_audit_made_in_another_way_puts_the_compared_one_aside(here: Path) -> None:
    compared = audit("--against", "run1")
    plain = audit("--split", "train")
    assert says(plain["said"], "earlier-audit-moved", against="run1", file="audit-against-run1.json")
    assert plain["comparison"] is None
    aside = json.loads((here / "run0" / "audit-against-run1.json").read_text())
    assert aside["comparison"] == compared["comparison"]
    assert json.loads((here / "run0" / "audit.json").read_text())["split"] == "train"


def test_a_comparison_with_weights_that_have_changed_is_put_aside(here: Path) -> None:
    audit("--against", "run1")
    shutil.copy(here / "run0" / "checkpoint" / "state.safetensors", here / "run1" / "checkpoint")
    plain = audit()
    assert says(plain["said"], "earlier-audit-moved", file="audit-against-run1.json")
    assert (plain["comparison"], plain["against"]) == (None, None)


def test_an_audit_with_another_margin_or_against_another_run_puts_the_compared_one_aside(here: Path) -> None:
    audit("--against", "run1")
    assert says(audit("--margin", "0.1", "--against", "run1")["said"], "earlier-audit-moved", against="run1")
    shutil.copytree(here / "run1", here / "run2")
    found = audit("--margin", "0.1", "--against", "run2")
    assert says(found["said"], "earlier-audit-moved", against="run1", file="audit-against-run1-2.json")
    margins = [
        json.loads((here / "run0" / f"{name}.json").read_text())["leakage"]["margin"]
        for name in ("audit-against-run1", "audit-against-run1-2")
    ]
    assert margins == [0.05, 0.1]  # both are there: what was put aside first is not written over


def test_the_same_audit_again_puts_nothing_aside(here: Path) -> None:
    audit("--against", "run1")
    assert not says(audit("--against", "run1")["said"], "earlier-audit-moved")
    assert not list((here / "run0").glob("audit-against-*"))


def test_a_comparison_of_other_weights_of_the_run_itself_goes(here: Path) -> None:
    audit("--against", "run1")
    shutil.copy(here / "run1" / "checkpoint" / "state.safetensors", here / "run0" / "checkpoint")
    plain = audit()
    assert not says(plain["said"], "earlier-audit-moved")
    assert plain["comparison"] is None
    assert not list((here / "run0").glob("audit-against-*"))


def test_a_comparison_with_a_run_whose_threshold_has_changed_does_not_hold(here: Path) -> None:
    audit("--against", "run1")
    result = here / "run1" / "result.json"
    result.write_text(json.dumps(json.loads(result.read_text()) | {"threshold": {"value": 0.3, "why": "given"}}))
    assert audit()["comparison"] is None


def test_a_rival_that_is_broken_does_not_stop_an_audit_without_it(here: Path) -> None:
    audit("--against", "run1")
    (here / "run1" / "result.json").write_text("{")
    assert audit()["comparison"] is None


def other_test_rows(here: Path) -> None:
    first = PEOPLE["fold"].index("test")
    write_people(here / "own.csv", {"hours": [99 if k == first else hours for k, hours in enumerate(PEOPLE["hours"])]})


@pytest.mark.filterwarnings("always::csad.runs.run.RowsWarning")
def test_test_rows_that_have_changed_are_told_and_noted_in_the_audit(here: Path) -> None:
    other_test_rows(here)
    found = audit()
    words = message("rows-changed-since-training", splits="'test'")
    assert f"csad: warning: {words}" in found["said"]
    assert found["notes"] == [words]
    assert audit("--split", "train")["notes"] == [message("audited-rows-trained-on")]


def test_a_run_does_not_go_on_with_other_test_rows(here: Path) -> None:
    other_test_rows(here)
    (here / "run0" / "result.json").unlink()
    result = typed(*ON_OWN, "--seed", "0", "--out", "run0", "--resume", "--quiet")
    assert result.exit_code == 2
    assert says(result.stderr, "resumed-with-other-rows", folder="run0", splits="'test'")


def test_what_a_run_keeps_of_its_rows_may_be_lost_but_not_broken(here: Path) -> None:
    (here / "run0" / "rows.json").write_text("[]")
    result = typed("audit", "run0", "--quiet")
    assert result.exit_code == 2
    assert says(result.stderr, "row-digests-invalid", file="run0/rows.json")
    (here / "run0" / "rows.json").unlink()
    assert audit()["notes"] == []
