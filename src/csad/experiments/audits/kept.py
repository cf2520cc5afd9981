"""The audit in a run's folder, audit.json: it tells what it was made of, and no comparison is lost to a new one."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from csad.atomic import write_whole
from csad.auditing.audit import Audit
from csad.data.samples import Dataset
from csad.deploy.decision import HALF
from csad.errors import InputError
from csad.experiments.digests import rows_digest, weights_digest
from csad.experiments.folder import Folder
from csad.experiments.run import Run
from csad.experiments.threshold import threshold_in

FILE = "audit.json"
# Where all of these are alike, two audits of a run say the same of it: nothing in them is left to chance.
MADE_BY = ("weights", "split_rows", "split", "among", "rows", "probed")
RULE = ("margin", "level", "conditional", "seed")


class Written(NamedTuple):
    """The audit as it is now kept, where, and a sentence on what became of a comparison that was there before."""

    audit: dict[str, Any]
    place: Path
    said: str = ""


def record(found: Audit, run: Run, dataset: Dataset, split: str, against: Run | None) -> dict[str, Any]:
    """An audit as a run's folder keeps it: what was found, of what run, weights and rows, and against which other."""
    assert run.folder is not None
    rival = against.folder if against is not None else None
    return {
        **{key: run.config[key] for key in ("task", "method", "seed")},
        "run": str(run.folder),
        "split": split,
        "weights": weights_of(run.folder),
        "split_rows": rows_digest(dataset.splits[split]),
        "against": str(rival) if rival is not None else None,
        "against_weights": weights_of(rival) if rival is not None else None,
        **found.as_dict(),
    }


def weights_of(folder: Path) -> str:
    """A word that other weights than those in the folder, or another threshold, would not have; empty without any."""
    files = Folder(folder)
    word, threshold = weights_digest(files.checkpoint), threshold_in(files.read_result() or {})
    return f"{word} {threshold!r}" if word and threshold != HALF else word


def keep(audit: dict[str, Any], folder: Path) -> Written:
    """Writes an audit of these weights in place of an earlier one, whose comparison with another run is not lost.

    One that still holds becomes part of an audit that is made without any; one that does not fit the new audit is put
    aside in a file of its own.
    """
    before, said = _comparing(folder / FILE), ""
    if before is not None and before["weights"] == audit["weights"]:
        if audit["against"] is None and _alike(audit, before) and still_there(before):
            audit = audit | {key: before[key] for key in ("against", "against_weights", "comparison")}
            said = f"The comparison with {before['against']} that {FILE} held is kept: all it was made of is the same."
        elif _place(audit) != _place(before) or not _alike(audit, before):
            aside = _free(folder, f"audit-against-{Path(before['against']).name}")
            _write(aside, before)
            said = f"The earlier audit, against {before['against']}, is now {aside.name}."
    _write(folder / FILE, audit)
    return Written(audit, folder / FILE, said)


def check_writable(folder: Path) -> None:
    """Nothing, or an input error where an audit could not be kept: better before it is made than after."""
    if not os.access(folder, os.W_OK) or (folder / FILE).is_dir():
        raise InputError(f"{folder / FILE} cannot be written: make {folder} writable.")


def still_there(audit: Mapping[str, Any]) -> bool:
    """Whether the other run that an audit is against is there, with the weights that it had."""
    return bool(audit["against_weights"]) and _rivals_weights(audit) == audit["against_weights"]


def is_replaced(audit: Mapping[str, Any]) -> bool:
    """Whether the other run is there with other weights than it had; of one that is gone nobody can tell."""
    return _rivals_weights(audit) not in ("", audit["against_weights"])


def _rivals_weights(audit: Mapping[str, Any]) -> str:
    try:
        return weights_of(Path(audit["against"]))
    except InputError:  # its folder is broken, which is no fault of the run that is audited
        return ""


def _place(audit: Mapping[str, Any]) -> Path | None:
    return Path(audit["against"]).resolve() if audit["against"] else None


def _free(folder: Path, stem: str) -> Path:
    """A file that is not there yet, so that what was put aside before stays."""
    names = itertools.chain([stem], (f"{stem}-{count}" for count in itertools.count(2)))
    return next(place for name in names if not (place := folder / f"{name}.json").exists())


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one[key] == other.get(key) for key in MADE_BY) and all(
        one["leakage"][key] == other["leakage"].get(key) for key in RULE
    )


def _comparing(place: Path) -> dict[str, Any] | None:
    """An earlier audit that holds a comparison; nothing where there is none, or it cannot be read."""
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        whole = found["comparison"] and found["against"] and found["weights"] and found["leakage"]
        return found if whole and "against_weights" in found else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(place: Path, audit: Mapping[str, Any]) -> None:
    try:
        write_whole(place, json.dumps(audit, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise InputError(f"{place} cannot be written ({error.strerror}): make {place.parent} writable.") from error
