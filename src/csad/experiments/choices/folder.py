"""Where a choice of debias_weight lies: beside the run's folder while it goes on, as choice.json within it then."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from csad.atomic import write_whole
from csad.errors import InputError
from csad.experiments.choices.asked import Asked
from csad.experiments.choices.occasion import WEIGHT, with_epochs, with_weight
from csad.experiments.epochs import EPOCHS
from csad.experiments.folder import Folder
from csad.experiments.plan import Plan
from csad.experiments.run import Run
from csad.experiments.wanted import Ready

FILE = "choice.json"
LOST, TERMS = "lost.json", "terms.json"  # beside what is tried


def keep(run: Run, tried: Ready, weights: Path, folder: Folder, *, force: bool) -> None:
    """Makes a run folder of what was taken, with these weights; copied, so that a stop in between loses nothing."""
    folder.begin(run.config, resume=False, force=force, dataset=tried.dataset)
    own = (folder.config.name, folder.preparation.name, folder.log.name, folder.checkpoint.parent.name, EPOCHS)
    for entry in tried.folder.path.iterdir():
        if entry.name not in (*own, folder.result.name) and not entry.is_symlink():
            copy = shutil.copytree if entry.is_dir() else shutil.copy
            copy(entry, folder.path / entry.name)
    run.log.copy_to(folder.log)
    folder.checkpoint.parent.mkdir()
    shutil.copy(weights, folder.checkpoint)
    write_whole(folder.path / FILE, json.dumps(run.result["choice"], indent=2) + "\n")
    folder.write_result(run.result)


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


def check_terms(asked: Asked, place: Path, *, again: bool) -> None:
    """Nothing, or an error where a choice goes on by another cost or threshold than what was seen till now."""
    terms = {"cost": asked.cost, "threshold": asked.threshold}
    if again and _read(place / TERMS, terms) != terms:
        raise InputError(
            f"{place} was begun with another cost or threshold: give the same ones to go on with it, or --force to "
            "begin anew."
        )
    write_whole(place / TERMS, json.dumps(terms) + "\n")


def _read(file: Path, otherwise: Any) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else otherwise
    except ValueError as error:
        raise InputError(f"{file} cannot be read ({error}): give --force to choose again.") from error


class Lost:
    """The names of runs that have diverged, kept with what is tried: a choice that goes on does not try them again."""

    def __init__(self, place: Path, *, fresh: bool) -> None:
        self._file = place / LOST
        if fresh:
            self._file.unlink(missing_ok=True)
        self._names: list[str] = _read(self._file, [])

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, names: Sequence[str]) -> None:
        """Some more."""
        if names:
            self._names += names
            write_whole(self._file, json.dumps(self._names) + "\n")


def clear(place: Path) -> None:
    """Removes what was tried, once one of it is kept elsewhere; what is not ours stays."""
    for entry in place.iterdir():
        if entry.name in (LOST, TERMS):
            entry.unlink()
        elif entry.name == "shared" or Folder(entry).config.exists():
            shutil.rmtree(entry)
    if not any(place.iterdir()):
        place.rmdir()


def chosen_before(asked: Asked, out: Path | None, *, resume: bool) -> Plan | None:
    """The plan of a run to go on with, with what was chosen for it; None where that is still to be done."""
    if not resume or out is None or not Folder(out).config.exists() or beside(out).exists():
        return None
    if not (out / FILE).exists():  # the weight was not chosen, but given
        return asked.plan
    try:
        found = json.loads((out / FILE).read_text(encoding="utf-8"))
        weight, allowed, epoch, epochs = (float(found[name]) for name in (WEIGHT, "cost", "epoch", "epochs"))
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{out / FILE} cannot be read ({error}): give --force to choose again.") from error
    if allowed != asked.cost:
        raise InputError(
            f"{out} was chosen at a cost of {allowed:g}, not {asked.cost:g}: give the same, or another --out."
        )
    plan = with_weight(asked.plan, weight)
    return with_epochs(plan, int(epoch)) if epochs == asked.epochs else plan
