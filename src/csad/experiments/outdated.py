"""What a run's folder tells of weights that it no longer holds: nobody should take it for true."""

from __future__ import annotations

from pathlib import Path

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


def to_be_removed(folder: Path | None) -> str:
    """A sentence on the files that go with the weights they tell of, where a run begins anew; or nothing."""
    there = [name for name in TOLD if folder is not None and (folder / name).is_file()]
    if not there:
        return ""
    go = "go" if len(there) > 1 else "goes"
    return f"{' and '.join(there)} of the earlier run in {folder} {go} with its weights."
