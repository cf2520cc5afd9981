"""Names that the shell completes, read from files: a key press must not wait for torch."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
REGISTERED = re.compile(r"^@?[A-Z]+\.register\(\s*\"([^\"]+)\"", re.MULTILINE)
# A shell runs what some other letters mean, in names that it completes without quoting them.
PLAIN = re.compile(r"[\w.,+@%][\w.,+@%=-]*( [\w.,+@%][\w.,+@%=-]*)*")
FILES = (".csv", ".tsv", ".txt", ".data", ".parquet", ".pq", ".npz")


def names_in(folder: str) -> list[str]:
    """The names under which the files of a folder register their members, sorted."""
    texts = (file.read_text(encoding="utf-8") for file in (ROOT / folder).glob("*.py"))
    return sorted(name for text in texts for name in REGISTERED.findall(text))


def methods(incomplete: str) -> list[str]:
    """Methods that begin so."""
    return _begin(names_in("methods"), incomplete)


def backbones(incomplete: str) -> list[str]:
    """Backbones that begin so."""
    return _begin(names_in("nets/backbones"), incomplete)


def tasks(incomplete: str) -> list[str]:
    """Data sets that begin so, and the user's own files and folders."""
    return [*_begin(names_in("data/sets"), incomplete), *_files(incomplete)]


def tables(incomplete: str) -> list[str]:
    """Tables of the paper that begin so."""
    return _begin(sorted(file.stem for file in (ROOT / "experiments" / "tables").glob("*.toml")), incomplete)


def lists(incomplete: str) -> list[str]:
    """What csad list can list."""
    return _begin(["methods", "datasets", "backbones", "bounds", "tables", "settings"], incomplete)


def devices(incomplete: str) -> list[str]:
    """Where to compute."""
    return _begin(["auto", "cpu", "cuda"], incomplete)


def effects(incomplete: str) -> list[str]:
    """How much Parkinson's disease may show in simulated tapping."""
    return _begin(["small", "medium", "large"], incomplete)


def _begin(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _files(incomplete: str) -> list[str]:
    head, slash, start = incomplete.rpartition("/")
    folder = Path(head + slash)
    if not folder.is_dir():
        return []
    entries = [entry for entry in folder.iterdir() if entry.name.startswith(start)]
    shown = [entry for entry in entries if start or not entry.name.startswith(".")]
    names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in shown if _useful(entry)]
    return [head + slash + name for name in sorted(names)]


def _useful(entry: Path) -> bool:
    plain = PLAIN.fullmatch(entry.name) is not None
    return plain and (entry.is_dir() or entry.suffix.lower() in FILES)
