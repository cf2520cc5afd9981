"""The audit of a run on a split of its own data, alone or against another run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from csad.auditing.audit import Audit, audit_arrays
from csad.auditing.audited import Facts, Labels, Model, Outputs, Settings, Table
from csad.auditing.columns import Numbers
from csad.data.samples import Classes, Dataset, Number, Samples, Task, local
from csad.deploy.decision import decided
from csad.errors import InputError, unknown
from csad.experiments.audits.model import of_run
from csad.experiments.digests import changed_splits, changed_words
from csad.experiments.run import Run, data_of


def audit_run(
    run: Run,
    *,
    dataset: Dataset | None = None,
    split: str = "test",
    against: Run | None = None,
    data_root: Path | None = None,
    settings: Settings | None = None,
    tell: Callable[[str], None] | None = None,
) -> Audit:
    """The audit of a run on a split of its data, read again unless ``dataset`` is given; ``against`` another run."""
    settings = settings or Settings()
    if against is not None:
        check_same_data(run, against)
    dataset = dataset or data_of(run, data_root, call="csad.audit(run, X, y, b)")
    own = {name: samples for name, samples in dataset.splits.items() if ":" not in name}
    if split not in own:
        raise unknown("split", split, own)
    samples, task = own[split], dataset.task
    same = None if samples.persons is None else _numpy(samples.persons)
    facts = Facts(*labels_of(task, samples), same, labels_of(task, dataset.train))
    probed = facts.probed(settings)
    mine = _of_run(replace(run, view=dataset.view), samples, probed)
    mine = replace(mine, layers={"x": _numpy(samples.x[probed]), **mine.layers}, notes=_notes(run, dataset, split))
    other = None
    if against is not None:
        name = f"{against.config['method']} seed {against.config['seed']}"
        other = (name, _of_run(replace(against, view=dataset.view), samples, probed))
    return audit_arrays(mine, facts, settings, against=other, tell=tell)


def _of_run(run: Run, samples: Samples, probed: Numbers) -> Model:
    given = of_run(run, samples.x)
    if given.probabilities is None:
        assert given.said is not None
        return Model(Outputs(given.said.astype(np.float64)), given.layers(probed), probed)
    outputs = Outputs(decided(given.probabilities, given.threshold), given.probabilities)
    return Model(outputs, given.layers(probed), probed)


def labels_of(task: Task, samples: Samples) -> tuple[Labels, tuple[Labels, ...]]:
    """The target and the biases of samples, as the task describes them; a bias that is a number is in its own unit."""
    columns = zip(task.bias_names, task.biases, _numpy(samples.b).T, strict=True)
    target = Number() if isinstance(task.target, Number) else task.target  # predicted, and compared, as it is learned
    return _column("target", target, _numpy(samples.y)), tuple(_column(*column) for column in columns)


def _column(name: str, kind: Classes | Number, values: Table) -> Labels:
    if isinstance(kind, Number):
        return Labels(name, values.astype(np.float64) * kind.size + kind.middle)
    codes = np.nan_to_num(values, nan=-1).astype(np.int64)
    return Labels(name, codes, kind.words)


def check_same_data(run: Run, other: Run) -> None:
    """Nothing, or an input error where two runs were trained on other data."""
    for what in ("task", "data"):
        ours, theirs = run.config[what], other.config[what]
        if ours != theirs:
            raise InputError(f"Runs are compared on the same data, but {_apart(what, ours, theirs)}.")
    if run.config["about"].get("fingerprint") != other.config["about"].get("fingerprint"):
        raise InputError("Runs are compared on the same data, but these two were trained on other rows.")


def _apart(what: str, ours: Any, theirs: Any) -> str:
    """In what the two differ."""
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return f"their {what} differ: {ours} and {theirs}"
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    told = "; ".join(f"{name} is {ours.get(name, 'not set')!r} and {theirs.get(name, 'not set')!r}" for name in names)
    return f"their settings of {what} differ: {told}"


def _notes(run: Run, dataset: Dataset, split: str) -> tuple[str, ...]:
    seen = ["These are the rows that the model was trained on."] if split == "train" else []
    others = [changed_words([split])] if split in changed_splits(run.folder, dataset) else []
    return (*seen, *others)


def _numpy(values: Any) -> Table:
    return np.asarray(local(values))
