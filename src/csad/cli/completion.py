"""Names that the shell completes. They are read from files, because a key press must not wait for torch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
REGISTERED = re.compile(r"^@?[A-Z]+\.register\(\s*\"([^\"]+)\"", re.MULTILINE)
# The shell completes names without quotes, and gives other characters a meaning of their own.
PLAIN = re.compile(r"[\w.,+@%][\w.,+@%=-]*( [\w.,+@%][\w.,+@%=-]*)*")
LISTS = ("methods", "datasets", "backbones", "bounds", "tables", "settings")
FILES = (".csv", ".tsv", ".txt", ".data", ".parquet", ".pq", ".npz")


def names_in(folder: str) -> list[str]:
    """The names that the files of a folder register, sorted."""
    texts = (file.read_text(encoding="utf-8") for file in (ROOT / folder).glob("*.py"))
    return sorted(name for text in texts for name in REGISTERED.findall(text))


def methods(incomplete: str) -> list[str]:
    """Methods that begin with the typed letters."""
    return _begin(names_in("methods"), incomplete)


def backbones(incomplete: str) -> list[str]:
    """Backbones that begin with the typed letters."""
    return _begin(names_in("nets/backbones"), incomplete)


def tasks(incomplete: str) -> list[str]:
    """Data sets that begin with the typed letters, and files and folders of the user."""
    return [*_begin(names_in("data/datasets"), incomplete), *_files(incomplete)]


def table_names(incomplete: str) -> list[str]:
    """Tables of the paper that begin with the typed letters."""
    return _begin(sorted(file.stem for file in (ROOT / "reproduction" / "tables").glob("*.toml")), incomplete)


def lists(incomplete: str) -> list[str]:
    """The lists that ``csad list`` shows."""
    return _begin(LISTS, incomplete)


def devices(incomplete: str) -> list[str]:
    """Devices to compute on."""
    return _begin(["auto", "cpu", "cuda"], incomplete)


def effects(incomplete: str) -> list[str]:
    """Sizes of the effect of Parkinson's disease in simulated tapping."""
    return _begin(["small", "medium", "large"], incomplete)


def _begin(names: Sequence[str], incomplete: str) -> list[str]:
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
