"""What a run's folder tells of weights that it no longer holds: nobody should take it for true."""

from __future__ import annotations

from pathlib import Path

from csad.experiments.folder import Folder

TOLD = ("audit.json", "report.html")  # what commands write into a run's folder on its weights


def put_aside(folder: Path) -> str:
    """A sentence on the files that tell of weights from before the run goes on, now under another name; or nothing."""
    moved = []
    for name in TOLD:
        path = folder / name
        if path.is_file():
            aside = path.with_name(f"{path.stem}-before-resume{path.suffix}")
            path.replace(aside)
            moved.append(f"{name} is now {aside.name}")
    if not moved:
        return ""
    return f"{'; '.join(moved)}: made before the run went on, it does not tell of its weights now."


def to_be_removed(folder: Path) -> str:
    """What goes with the weights it tells of, and what stays though it may tell of them, where a run begins anew."""
    there = [name for name in TOLD if (folder / name).is_file()]
    others = [entry.name for entry in Folder(folder).others()] if folder.is_dir() else []
    go, stay = ("" if len(names) > 1 else ending for names, ending in ((there, "es"), (others, "s")))
    found = [f"{' and '.join(there)} of the earlier run in {folder} go{go} with its weights."] if there else []
    found += [f"{', '.join(others)} stay{stay} in {folder}, and may be of the earlier run."] if others else []
    return " ".join(found)
