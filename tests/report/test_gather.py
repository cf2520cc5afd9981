"""What a report gathers of real runs: audits that still hold are used, others are made, none is lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import csad
from csad.auditing.of_run import stored_audit
from csad.report.gather import findings_of
from csad.runs.run import data_of, load
from tests.support.messages import codes, noticed, refused
from tests.support.people_tables import write_people

SETTINGS = {
    "data.target": "income", "data.bias": ("gender",), "data.drop": ("who", "family"), "data.split": "fold",
    "train.target_epochs": 4, "train.pretrain_rate": 0.02, "train.batch_size": 16, "train.epochs": 1,
}  # fmt: skip
FOLDS = ["validation" if k % 8 == 7 else "test" if k % 8 < 4 else "train" for k in range(80)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("reported")
    people = write_people(place / "people.csv", {"fold": FOLDS})
    for name, seed, drop in (("main", 0, ()), ("before", 1, ()), ("other", 0, ("age",))):
        settings = SETTINGS | {"data.drop": ("who", "family", *drop)}
        csad.train(people, "vanilla", seed=seed, settings=settings, out=place / name)
    findings_of([load(place / "main")], against=load(place / "before"))
    return place


@pytest.fixture
def runs(trained: Path, tmp_path: Path) -> Path:
    """Copies that a test may change; the audit names its rival by its place."""
    shutil.copytree(trained, tmp_path / "runs")
    place = tmp_path / "runs" / "main" / "audit.json"
    found = json.loads(place.read_text())
    place.write_text(json.dumps(found | {"against": str(tmp_path / "runs" / "before")}))
    return tmp_path / "runs"


def gathered(runs: Path, *names: str, **options: Any) -> Any:
    return findings_of([load(runs / name) for name in names], **options)


def test_audits_that_still_hold_are_used_and_not_touched(runs: Path) -> None:
    before = {name: (runs / name / "audit.json").stat().st_mtime_ns for name in ("main", "before")}
    found = gathered(runs, "main", against=load(runs / "before"))
    assert found.notes == []
    assert found.main.audit.comparison.against == "vanilla seed 1"
    assert {name: (runs / name / "audit.json").stat().st_mtime_ns for name in before} == before
    assert [run.name for run in found.pair] == ["vanilla seed 1", "vanilla seed 0"]


@pytest.mark.parametrize(
    "how, why",
    [
        ("missing", "no audit yet"),
        ("of other weights", "other weights"),
        ("of other rows", "other rows of 'test'"),
        ("broken", "cannot be read"),
        ("lacking", "has no words"),
        ("edited", "cannot be read"),
    ],
)
def test_why_an_audit_does_not_hold_is_told(runs: Path, how: str, why: str) -> None:
    place = runs / "before" / "audit.json"
    edited = json.loads(place.read_text())
    edited["leakage"]["verdicts"][0].pop("readings")
    whole = json.loads(place.read_text())
    texts = {
        "broken": "{",
        "lacking": json.dumps({"state": "leaks"}),
        "edited": json.dumps(edited),
        "of other weights": json.dumps(whole | {"weights": "0" * 16}),
        "of other rows": json.dumps(whole | {"split_rows": "0" * 16}),
    }
    if how == "missing":
        place.unlink()
    else:
        place.write_text(texts[how])
    run = load(runs / "before")
    stored = stored_audit(run, data_of(run))
    assert stored.record is None
    assert why in stored.reason


def test_an_audit_that_does_not_hold_is_made_again_kept_and_said(runs: Path) -> None:
    place = runs / "before" / "audit.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"weights": "0" * 16}))
    said: list[str] = []
    found = gathered(runs, "before", tell=said.append)
    reason = "its audit.json describes other weights"
    assert noticed(found.notes, "audit-made-for-page", run="vanilla seed 1", reason=reason)
    assert "The new audit is in audit.json." in found.notes[0]
    assert said[0] == f"Auditing vanilla seed 1: {reason} …"
    assert json.loads(place.read_text()) == found.main.record.to_dict()
    run = load(runs / "before")
    stored = stored_audit(run, data_of(run)).record
    assert stored is not None
    assert stored == found.main.record


def changed(place: Path) -> None:
    """Gives a run other weights, so far as anyone can tell who does not read them."""
    with (place / "checkpoint" / "state.safetensors").open("ab") as stream:
        stream.write(b" ")


def test_a_comparison_with_a_run_that_was_trained_again_is_not_believed(runs: Path) -> None:
    place = runs / "main" / "audit.json"
    kept, before = place.read_bytes(), load(runs / "before")
    changed(runs / "before")
    found = gathered(runs, "main")
    assert found.main.audit.comparison is None
    assert codes(found.notes) == ["comparison-left-out"]
    assert noticed(found.notes, "comparison-left-out", run="vanilla seed 0", other="vanilla seed 1")
    assert "the weights of that run have changed. Run `csad audit`" in found.notes[0]
    anew = gathered(runs, "main", against=before)
    assert anew.main.record.against_weights != json.loads(kept)["against_weights"]
    assert anew.notes[0].endswith("audit.json was not changed. Run `csad audit` to update it.")
    assert place.read_bytes() == kept


def test_a_comparison_with_a_run_that_is_gone_is_still_told(runs: Path) -> None:
    shutil.rmtree(runs / "before")
    found = gathered(runs, "main")
    assert found.notes == []
    assert found.main.audit.comparison.against == "vanilla seed 1"


def test_an_audit_of_other_rows_that_compares_is_put_aside_and_that_is_said(runs: Path) -> None:
    place = runs / "main" / "audit.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"split_rows": "0" * 16}))
    said: list[str] = []
    (note,) = gathered(runs, "main", tell=said.append).notes
    assert noticed(said, "earlier-audit-moved", file="audit-against-before.json")
    assert (runs / "main" / "audit-against-before.json").exists()
    assert str(runs) not in note  # the page names no place on this machine


def test_an_audit_of_the_users_own_making_sets_the_rule_for_all_and_is_never_written_over(runs: Path) -> None:
    from csad.auditing.inputs import AuditSettings
    from csad.auditing.of_run import audit_run, make_record, write_audit

    run = load(runs / "main")
    mine = audit_run(run, split="train", settings=AuditSettings("all", margin=0.1))
    write_audit(make_record(mine, run, data_of(run), "train", None), runs / "main")
    kept = (runs / "main" / "audit.json").read_bytes()
    found = gathered(runs, "main", against=load(runs / "before"))
    for told in found.runs:
        assert (told.record.split, told.audit.among, told.audit.leakage.margin) == ("train", "all", 0.1)
    assert found.main.audit.comparison is not None
    assert (runs / "main" / "audit.json").read_bytes() == kept
    assert json.loads((runs / "before" / "audit.json").read_text())["split"] == "test"
    assert all("was not changed" in note for note in found.notes)


def test_the_columns_of_both_runs_are_weighed_on_the_same_rows(runs: Path) -> None:
    found = gathered(runs, "main", against=load(runs / "before"))
    assert [one.column for one in found.importance] == ["age", "city", "hours"]
    assert all(set(one.loss) == {"vanilla seed 0", "vanilla seed 1"} for one in found.importance)
    assert found.shown is None
    assert max(mean for one in found.importance for mean, _ in one.loss.values()) > 0


def test_a_run_named_twice_is_told_once(runs: Path) -> None:
    found = gathered(runs, "main", "main", "before")
    assert [run.name for run in found.runs] == ["vanilla seed 0", "vanilla seed 1"]
    assert found.before is None  # a vanilla run is held against none unasked


def test_curves_settings_and_data_are_told_without_any_path(runs: Path) -> None:
    found = gathered(runs, "main")
    assert set(found.main.curves) == {"target"}
    assert found.main.held_out["accuracy"][-1][1] > 0.4
    assert found.main.settings["train"]["target_epochs"] == "4"
    assert found.data["rows"] == "train 30, validation 10, test 40"
    assert found.data["bias gender"] == "2 classes: f, m"
    assert [line[0] for line in found.columns][:3] == ["who", "income", "gender"]
    assert str(runs) not in repr((found.title, found.main.settings, found.main.facts, found.data))


def test_runs_on_other_data_and_a_run_against_itself_are_refused(runs: Path) -> None:
    with refused("runs-trained-on-different-data"):
        gathered(runs, "main", "other")
    with refused("run-against-itself"):
        gathered(runs, "main", against=load(runs / "main"))


def test_a_map_of_a_few_pictures_would_show_them_and_is_drawn_only_where_data_may_be_shown(tmp_path: Path) -> None:
    settings = {"train.target_epochs": 1, "train.epochs": 0, "data.rows": 24}
    csad.train("toy-image", "vanilla", settings=settings, out=tmp_path / "few")
    found = gathered(tmp_path, "few")
    assert found.attention is None
    assert noticed(found.notes[-1:], "attention-map-hidden", rows=12)
    shown = gathered(tmp_path, "few", show_data=True)
    assert shown.attention is not None
    assert shown.attention.rows == 12
