"""An audit is read back from its file equal to the one written; a file that is no audit any more says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.auditing.audit import Audit, AuditRecord, audit_arrays, read_audit
from csad.auditing.inputs import AuditedModel, AuditRows, AuditSettings, LabelColumn, ModelOutputs
from tests.support.messages import refused
from tests.support.paths import ROOT

OLD = ROOT / "tests" / "files" / "22e8846" / "people-csad" / "audit.json"


@pytest.fixture(scope="module")
def record() -> AuditRecord:
    """An audit with every part: two biases, one a number, groups, cells, alignment, a comparison."""
    generator = np.random.default_rng(0)
    y = generator.integers(2, size=300)
    gender = np.where(generator.random(300) < 0.8, y, 1 - y)
    facts = AuditRows(
        LabelColumn("target", y, ("no", "yes")),
        (LabelColumn("gender", gender, ("f", "m")), LabelColumn("age", generator.normal(40, 10, 300))),
    )
    models = [
        AuditedModel(ModelOutputs(values), {"h": generator.normal(size=(300, 2))}, np.arange(300))
        for values in (y, gender)
    ]
    settings = AuditSettings(probes=("linear", "neighbors"), repeats=10)
    audit = audit_arrays(models[0], facts, settings, against=("the other", models[1]))
    return AuditRecord("people", "csad", 3, "runs/a", "test", "0f 0.5", "ab", "runs/b", "1e", audit)


def test_an_audit_is_read_back_equal(record: AuditRecord, tmp_path: Path) -> None:
    audit = record.audit
    assert all((audit.groups, audit.cells, audit.alignment, audit.comparison))
    assert Audit.from_dict(json.loads(json.dumps(audit.to_dict()))) == audit
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(record.to_dict(), allow_nan=False))
    assert read_audit(path) == record


def test_the_parts_of_an_audit_and_where_it_comes_from_are_in_one_object(record: AuditRecord) -> None:
    assert list(record.to_dict()) == [
        "task", "method", "seed", "run", "split", "weights", "split_rows", "against", "against_weights", "state",
        "words", "needed_rows", "deployed", "rows", "probed", "among", "targets", "leakage", "figures", "groups",
        "cells", "alignment", "notes", "comparison",
    ]  # fmt: skip
    assert list(record.to_dict()["leakage"]) == ["verdicts", "margin", "level", "conditional", "seed"]


def test_a_file_of_an_earlier_version_is_read_and_would_be_written_alike() -> None:
    record = read_audit(OLD)
    assert (record.task, record.split, record.audit.state) == ("people.csv", "test", "leaks")
    assert record.audit.comparison is not None
    text = OLD.read_text().replace("neighbours", "neighbors").replace("equalised_odds", "equalized_odds")
    assert text != OLD.read_text()
    assert json.dumps(record.to_dict(), indent=2, allow_nan=False) + "\n" == text


def broken(*path: str | int, value: Any = None) -> str:
    """The old file with one part taken out, or changed to ``value``."""
    whole = part = json.loads(OLD.read_text())
    for name in path[:-1]:
        part = part[name]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return json.dumps(whole)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "Expecting property name"),
        ("[]", "the whole must be an object of named values"),
        ("{}", "has no state, words, needed_rows"),
        (broken("weights"), "has no weights"),
        (broken("state", value="innocent"), "state must be 'leaks' or 'cannot tell' or 'no evidence of leakage'"),
        (broken("leakage", "verdicts", 0, "readings"), "leakage.verdicts[0] has no readings"),
        (broken("figures", "accuracy", "value", value="high"), "figures.accuracy.value must be a number, not 'high'"),
        (broken("comparison", "figures", value=[]), "comparison.figures must be an object of named values"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_file_that_was_damaged_or_edited_is_one_clear_error(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with refused("audit-file-invalid", file=path) as caught:
        read_audit(path)
    assert message in str(caught.value)
    assert "`csad audit`" in str(caught.value)


def test_a_file_that_is_missing_is_one_clear_error(tmp_path: Path) -> None:
    with refused("file-unreadable"):
        read_audit(tmp_path / "audit.json")


def test_what_a_reader_asks_first_can_be_asked_of_an_audit(record: AuditRecord) -> None:
    audit = record.audit
    assert (audit.biases, audit.layers) == (("gender", "age"), ("h", "prediction"))
    assert [verdict.bias for verdict in audit.deployed_verdicts] == ["gender", "age"]
    best = audit.best_reading("gender")
    assert best is not None
    readings = [r for v in audit.leakage.verdicts if (v.layer, v.bias) == ("prediction", "gender") for r in v.readings]
    assert best.score == max(reading.score for reading in readings)
    assert audit.best_reading("gender", "h") != best
    assert audit.best_reading("nothing") is None
