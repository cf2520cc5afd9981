"""Where a choice of debias_weight lies: beside the run's folder while it goes on, as choice.json within it then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from csad.errors import InputError
from csad.experiments.choices.occasion import WEIGHT
from csad.experiments.folder import Folder, write_whole
from csad.experiments.many import Ready

FILE = "choice.json"


def keep(run: Ready, folder: Folder, told: dict[str, Any], *, force: bool) -> None:
    """Makes a run folder of what was tried; copied, so that a stop in between loses nothing."""
    folder.begin(run.config, resume=False, force=force, dataset=run.dataset)
    for entry in run.folder.path.iterdir():
        if entry not in (run.folder.config, run.folder.preparation, run.folder.result):
            shutil.copytree(entry, folder.path / entry.name) if entry.is_dir() else shutil.copy(entry, folder.path)
    write_whole(folder.path / FILE, json.dumps(told["choice"], indent=2) + "\n")
    folder.write_result((run.folder.read_result() or {}) | told)


def beside(out: Path) -> Path:
    """Where what is tried for a run lies until one is taken."""
    return out.with_name(f"{out.name}.choosing")


def begin(out: Path, *, resume: bool, force: bool) -> bool:
    """Whether a stopped choice goes on; an error where none may begin."""
    if beside(out).exists() and not force:
        if resume:
            return True
        raise InputError(
            f"{beside(out)} holds a choice of {WEIGHT} that was stopped: give --resume to go on with it, --force to "
            "begin anew, or another --out."
        )
    Folder(out).check({}, resume=resume, force=force)
    return False


def weight_before(out: Path, cost: float) -> float | None:
    """The weight that was chosen for the run that ``out`` holds; None where it was not chosen, but given."""
    if not (out / FILE).exists():
        return None
    try:
        found = json.loads((out / FILE).read_text(encoding="utf-8"))
        weight, allowed = float(found[WEIGHT]), float(found["cost"])
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{out / FILE} cannot be read ({error}): give --force to choose again.") from error
    if allowed != cost:
        raise InputError(f"{out} was chosen at a cost of {allowed:g}, not {cost:g}: give the same, or another --out.")
    return weight
