"""The audit of a run for a report: that of its folder where it still holds, else a new one; what was done is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from csad.auditing.audited import Settings
from csad.data.samples import Dataset
from csad.experiments.audits.kept import FILE, check_writable, is_replaced, keep, record, still_there, weights_of
from csad.experiments.audits.of_run import audit_run
from csad.experiments.digests import rows_digest
from csad.experiments.run import Run

NEEDED = (
    "state", "words", "needed_rows", "deployed", "rows", "targets", "leakage", "figures", "groups", "cells",
    "alignment", "notes", "comparison", "among", "split", "against", "weights", "split_rows", "against_weights",
)  # fmt: skip
OF_VERDICT = ("layer", "bias", "state", "words", "readings", "notes")


@dataclass(frozen=True)
class Wanted:
    """How all runs of a report are audited, so that they can be compared."""

    split: str = "test"
    settings: Settings = field(default_factory=Settings)

    def fits(self, audit: dict[str, Any]) -> bool:
        """Whether an audit was made so."""
        rule = audit["leakage"]
        made = (audit["split"], audit["among"], rule["margin"], rule["level"], rule["seed"])
        ours = self.settings
        return made == (self.split, ours.among, ours.margin, ours.level, ours.seed)


@dataclass(frozen=True)
class Kept:
    """What a folder holds: an audit that still holds, or why there is none."""

    audit: dict[str, Any] | None
    why: str = ""


def kept_audit(run: Run, dataset: Dataset) -> Kept:
    """The audit in a run's folder; one of other weights is of another model, and one of other rows tells of those."""
    assert run.folder is not None
    place = run.folder / FILE
    if not place.is_file():
        return Kept(None, "it has none yet")
    try:
        audit: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        if missing := [name for name in NEEDED if name not in audit]:
            return Kept(None, f"its {FILE} lacks {', '.join(missing)}")
        Wanted().fits(audit)
        parts = ((audit["leakage"]["verdicts"], OF_VERDICT), (audit["figures"].values(), ("value", "low", "high")))
        for several, names in parts:
            for part in several:
                itemgetter(*names)(part)
        if audit["weights"] != weights_of(run.folder):
            return Kept(None, f"its {FILE} is of other weights")
        samples = dataset.splits.get(audit["split"])
        if samples is None or audit["split_rows"] != rows_digest(samples):
            return Kept(None, f"its {FILE} is of other rows of '{audit['split']}'")
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        return Kept(None, f"its {FILE} cannot be read ({error})")
    return Kept(audit)


def wanted_by(kept: Kept) -> Wanted:
    """All are audited as the first run was, by the user's own settings, where that audit still holds."""
    if kept.audit is None:
        return Wanted()
    rule = kept.audit["leakage"]
    settings = Settings(kept.audit["among"], margin=rule["margin"], level=rule["level"], seed=rule["seed"])
    return Wanted(kept.audit["split"], settings)


def audit_for(
    run: Run, name: str, dataset: Dataset, wanted: Wanted, against: Run | None, tell: Callable[[str], None]
) -> tuple[dict[str, Any], str]:
    """The audit, and a sentence where it is not what was kept; an audit that still holds is never written over."""
    assert run.folder is not None
    kept = kept_audit(run, dataset)
    if kept.audit is not None and wanted.fits(kept.audit) and _same(kept.audit, against):
        return _without_replaced(kept.audit, name)
    if kept.audit is None:
        check_writable(run.folder)
        why, after = kept.why, f"it is now in {FILE}"
    else:
        how = f"that in its {FILE} is made in another way or against no such run"
        why, after = how, f"{FILE} stays as it is: csad audit would replace it"
    tell(f"Auditing {name}: {why} …")
    made = audit_run(run, dataset=dataset, split=wanted.split, against=against, settings=wanted.settings, tell=tell)
    found = record(made, run, dataset, wanted.split, against)
    if kept.audit is None and (said := keep(found, run.folder).said):
        tell(said)  # and not the page, as it names a place on this machine
    return json.loads(json.dumps(found)), f"The audit of {name} was made for this page, since {why}; {after}."


def _without_replaced(audit: dict[str, Any], name: str) -> tuple[dict[str, Any], str]:
    """The audit without its comparison, and a sentence that says so, where the other run has other weights now."""
    if audit["comparison"] is None or not audit["against"] or not is_replaced(audit):
        return audit, ""
    rival = audit["comparison"]["against"]
    why = "that run has other weights now; csad audit makes it anew"
    return audit | {"comparison": None}, f"The comparison of {name} with {rival} is left out: {why}."


def _same(audit: dict[str, Any], against: Run | None) -> bool:
    """Whether the audit holds the comparison that is wanted, with weights that have not changed since."""
    if against is None:
        return True
    if audit["comparison"] is None or not audit["against"] or against.folder is None:
        return False
    return Path(audit["against"]).resolve() == against.folder.resolve() and still_there(audit)
