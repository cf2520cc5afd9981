"""The audit of a run on a split of its own data, alone or against another run, and its file audit.json."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from csad.atomic import write_whole
from csad.auditing.audit import Audit, AuditRecord, audit_arrays, read_audit
from csad.auditing.inputs import AuditedModel, AuditRows, AuditSettings, LabelColumn, ModelOutputs
from csad.auditing.leakage.bias_column import Integers
from csad.auditing.metrics.intervals import AnyArray
from csad.auditing.model_inputs import run_outputs
from csad.data.samples import Classes, Dataset, Number, Samples, Task, local
from csad.deploy.decision import HALF, decided
from csad.errors import InputError, unknown
from csad.messages import message
from csad.runs.digests import changed_splits, changed_words, rows_digest, weights_digest
from csad.runs.folder import Folder
from csad.runs.run import Run, data_of
from csad.runs.threshold import threshold_in

AUDIT_FILE = "audit.json"


class Written(NamedTuple):
    """The audit as its file now holds it, the file, and a sentence on a comparison that was there before."""

    record: AuditRecord
    path: Path
    notice: str = ""


def make_record(audit: Audit, run: Run, dataset: Dataset, split: str, against: Run | None) -> AuditRecord:
    """The audit with what it was made of: the run, its weights, the rows, and the run that it compares with."""
    assert run.folder is not None
    rival = against.folder if against is not None else None
    return AuditRecord(
        **{key: run.config[key] for key in ("task", "method", "seed")},
        run=str(run.folder),
        split=split,
        weights=weights_of(run.folder),
        split_rows=rows_digest(dataset.splits[split]),
        against=str(rival) if rival is not None else None,
        against_weights=weights_of(rival) if rival is not None else None,
        audit=audit,
    )


def weights_of(folder: Path) -> str:
    """A digest of the weights in the folder and their threshold; empty without weights."""
    files = Folder(folder)
    digest, threshold = weights_digest(files.checkpoint), threshold_in(files.read_result() or {})
    return f"{digest} {threshold!r}" if digest and threshold != HALF else digest


def write_audit(record: AuditRecord, folder: Path) -> Written:
    """Write an audit of the weights in place of an earlier one, whose comparison with another run is not lost.

    A comparison that is still valid becomes part of a new audit without one; one that does not fit the new audit moves
    to a file of its own.
    """
    before, notice = _earlier_comparison(folder / AUDIT_FILE), ""
    if before is not None and before.weights == record.weights:
        if record.against is None and _same_settings(record, before) and rival_unchanged(before):
            audit = replace(record.audit, comparison=before.audit.comparison)
            record = replace(record, against=before.against, against_weights=before.against_weights, audit=audit)
            notice = message("comparison-kept", against=before.against, file=AUDIT_FILE)
        elif _rival_place(record) != _rival_place(before) or not _same_settings(record, before):
            aside = _free(folder, f"audit-against-{Path(before.against or '').name}")
            _write(aside, before)
            notice = message("earlier-audit-moved", against=before.against, file=aside.name)
    _write(folder / AUDIT_FILE, record)
    return Written(record, folder / AUDIT_FILE, notice)


def check_writable(folder: Path) -> None:
    """Raise InputError if an audit could not be written: better before it is made than after."""
    if not os.access(folder, os.W_OK) or (folder / AUDIT_FILE).is_dir():
        raise InputError("audit-file-not-writable", file=folder / AUDIT_FILE, folder=folder)


def rival_unchanged(record: AuditRecord) -> bool:
    """Whether the run that an audit compares with exists and has the weights that it had."""
    return bool(record.against_weights) and _rival_weights(record) == record.against_weights


def rival_replaced(record: AuditRecord) -> bool:
    """Whether the run that an audit compares with exists with other weights; False if the run is gone."""
    return _rival_weights(record) not in ("", record.against_weights)


def _rival_weights(record: AuditRecord) -> str:
    try:
        return weights_of(Path(record.against or ""))
    except InputError:  # its folder is broken, which is no fault of the run that is audited
        return ""


def _rival_place(record: AuditRecord) -> Path | None:
    return Path(record.against).resolve() if record.against else None


def _free(folder: Path, stem: str) -> Path:
    """A file that does not exist yet, so that what was put aside before stays."""
    names = itertools.chain([stem], (f"{stem}-{count}" for count in itertools.count(2)))
    return next(path for name in names if not (path := folder / f"{name}.json").exists())


def _same_settings(first: AuditRecord, second: AuditRecord) -> bool:
    """Whether two audits were made alike: then they are alike, as nothing in them is left to chance."""
    return _settings(first) == _settings(second)


def _settings(record: AuditRecord) -> tuple[Any, ...]:
    audit, rule = record.audit, record.audit.leakage
    rows = (record.weights, record.split_rows, record.split, audit.among, audit.rows, audit.probed)
    return (*rows, rule.margin, rule.level, rule.conditional, rule.seed)


def _earlier_comparison(path: Path) -> AuditRecord | None:
    """An earlier audit that holds a comparison; None if there is none, or if it cannot be read."""
    try:
        record = read_audit(path)
    except InputError:
        return None
    return record if record.audit.comparison is not None and record.against and record.weights else None


def _write(path: Path, record: AuditRecord) -> None:
    try:
        write_whole(path, json.dumps(record.to_dict(), indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise InputError("audit-write-failed", file=path, reason=error.strerror, folder=path.parent) from error


def audit_run(
    run: Run,
    *,
    dataset: Dataset | None = None,
    split: str = "test",
    against: Run | None = None,
    settings: AuditSettings | None = None,
    tell: Callable[[str], None] | None = None,
) -> Audit:
    """The audit of a run on a split of its data.

    Args:
        run: the run.
        dataset: its data; by default they are read again.
        split: the split whose rows are audited.
        against: another run on the same data, to compare with.
        settings: how the audit is made.
        tell: called with a line of progress.
    """
    settings = settings or AuditSettings()
    if against is not None:
        check_same_data(run, against)
    dataset = dataset or data_of(run, None, call="csad.audit(run, X, y, b)")
    splits = {name: samples for name, samples in dataset.splits.items() if ":" not in name}
    if split not in splits:
        raise unknown("split", split, splits)
    samples, task = splits[split], dataset.task
    same = None if samples.persons is None else _numpy(samples.persons)
    facts = AuditRows(*labels_of(task, samples), same, labels_of(task, dataset.train))
    probed = facts.probed(settings)
    mine = _of_run(replace(run, view=dataset.view), samples, probed)
    mine = replace(mine, layers={"x": _numpy(samples.x[probed]), **mine.layers}, notes=_notes(run, dataset, split))
    other = None
    if against is not None:
        name = f"{against.config['method']} seed {against.config['seed']}"
        other = (name, _of_run(replace(against, view=dataset.view), samples, probed))
    return audit_arrays(mine, facts, settings, against=other, tell=tell)


def _of_run(run: Run, samples: Samples, probed: Integers) -> AuditedModel:
    raw = run_outputs(run, samples.x)
    if raw.probabilities is None:
        assert raw.predicted is not None
        return AuditedModel(ModelOutputs(raw.predicted.astype(np.float64)), raw.layers(probed), probed)
    outputs = ModelOutputs(decided(raw.probabilities, raw.threshold), raw.probabilities)
    return AuditedModel(outputs, raw.layers(probed), probed)


def labels_of(task: Task, samples: Samples) -> tuple[LabelColumn, tuple[LabelColumn, ...]]:
    """The target and the biases of samples, as the task describes them; a bias that is a number is in its own unit."""
    columns = zip(task.bias_names, task.biases, _numpy(samples.b).T, strict=True)
    target = Number() if isinstance(task.target, Number) else task.target  # predicted, and compared, as it is learned
    return _column("target", target, _numpy(samples.y)), tuple(_column(*column) for column in columns)


def _column(name: str, kind: Classes | Number, values: AnyArray) -> LabelColumn:
    if isinstance(kind, Number):
        return LabelColumn(name, values.astype(np.float64) * kind.size + kind.middle)
    codes = np.nan_to_num(values, nan=-1).astype(np.int64)
    return LabelColumn(name, codes, kind.words)


def check_same_data(run: Run, other: Run) -> None:
    """Raise InputError if two runs were trained on different data."""
    for what in ("task", "data"):
        ours, theirs = run.config[what], other.config[what]
        if ours != theirs:
            raise InputError("runs-trained-on-different-data", difference=_apart(what, ours, theirs))
    if run.config["about"].get("fingerprint") != other.config["about"].get("fingerprint"):
        raise InputError("runs-trained-on-different-rows")


def _apart(what: str, ours: Any, theirs: Any) -> str:
    """In what the two differ."""
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return f"the value of '{what}' differs: {ours} and {theirs}"
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    differences = "; ".join(
        f"{name} is {ours.get(name, 'not set')!r} and {theirs.get(name, 'not set')!r}" for name in names
    )
    return f"their {what} settings differ: {differences}"


def _notes(run: Run, dataset: Dataset, split: str) -> tuple[str, ...]:
    trained = [message("audited-rows-trained-on")] if split == "train" else []
    others = [changed_words([split])] if split in changed_splits(run.folder, dataset) else []
    return (*trained, *others)


def _numpy(values: Any) -> AnyArray:
    return np.asarray(local(values))


@dataclass(frozen=True)
class AuditRequest:
    """How all runs of a report are audited, so that they can be compared."""

    split: str = "test"
    settings: AuditSettings = field(default_factory=AuditSettings)

    def fits(self, record: AuditRecord) -> bool:
        """Whether an audit was made so."""
        rule, settings = record.audit.leakage, self.settings
        rule_of_record = (record.split, record.audit.among, rule.margin, rule.level, rule.seed)
        return rule_of_record == (self.split, settings.among, settings.margin, settings.level, settings.seed)


@dataclass(frozen=True)
class StoredAudit:
    """The audit in a run's folder if it is valid for the run as it is, or the reason why there is none."""

    record: AuditRecord | None
    reason: str = ""


def stored_audit(run: Run, dataset: Dataset) -> StoredAudit:
    """The audit in a run's folder; not one of other weights, of other rows, or one that cannot be read."""
    assert run.folder is not None
    if not (run.folder / AUDIT_FILE).is_file():
        return StoredAudit(None, "it had no audit yet")
    try:
        record = read_audit(run.folder / AUDIT_FILE)
        if record.weights != weights_of(run.folder):
            return StoredAudit(None, f"its {AUDIT_FILE} describes other weights")
        samples = dataset.splits.get(record.split)
        if samples is None or record.split_rows != rows_digest(samples):
            return StoredAudit(None, f"its {AUDIT_FILE} describes other rows of '{record.split}'")
    except (InputError, OSError) as error:
        return StoredAudit(None, f"its {AUDIT_FILE} cannot be read ({error.__cause__ or error})")
    return StoredAudit(record)


def request_like(stored: StoredAudit) -> AuditRequest:
    """All runs are audited as the first one was, by the user's own settings, if that audit is valid."""
    if stored.record is None:
        return AuditRequest()
    audit, rule = stored.record.audit, stored.record.audit.leakage
    settings = AuditSettings(audit.among, margin=rule.margin, level=rule.level, seed=rule.seed)
    return AuditRequest(stored.record.split, settings)


def audit_for(
    run: Run, name: str, dataset: Dataset, request: AuditRequest, against: Run | None, tell: Callable[[str], None]
) -> tuple[AuditRecord, str]:
    """The audit, and a sentence if it is not the stored one; a stored audit that is valid is never written over."""
    assert run.folder is not None
    stored = stored_audit(run, dataset)
    if stored.record is not None and request.fits(stored.record) and _compares_with(stored.record, against):
        return _without_replaced(stored.record, name)
    if stored.record is None:
        check_writable(run.folder)
        why, after = stored.reason, f"The new audit is in {AUDIT_FILE}"
    else:
        how = f"its {AUDIT_FILE} used other settings or was not compared with the run that this page compares with"
        why, after = how, f"{AUDIT_FILE} was not changed. Run `csad audit` to update it"
    tell(f"Auditing {name}: {why} …")
    audit = audit_run(run, dataset=dataset, split=request.split, against=against, settings=request.settings, tell=tell)
    record = make_record(audit, run, dataset, request.split, against)
    if stored.record is None and (notice := write_audit(record, run.folder).notice):
        tell(notice)  # and not the page, as it names a place on this machine
    return record, message("audit-made-for-page", run=name, reason=why, outcome=after)


def _without_replaced(record: AuditRecord, name: str) -> tuple[AuditRecord, str]:
    """The audit without its comparison, and a sentence that says so, if the other run has other weights now."""
    if record.audit.comparison is None or not record.against or not rival_replaced(record):
        return record, ""
    rival = record.audit.comparison.against
    why = "the weights of that run have changed. Run `csad audit` to compare again"
    without = replace(record, audit=replace(record.audit, comparison=None))
    return without, message("comparison-left-out", run=name, other=rival, reason=why)


def _compares_with(record: AuditRecord, against: Run | None) -> bool:
    """Whether the audit holds the comparison with this run, whose weights have not changed since."""
    if against is None:
        return True
    if record.audit.comparison is None or not record.against or against.folder is None:
        return False
    return _rival_place(record) == against.folder.resolve() and rival_unchanged(record)
