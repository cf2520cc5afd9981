"""Short words for what a run had and has: its rows, split by split, and its weights; others would have other words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from weakref import WeakKeyDictionary

from csad.data.samples import Dataset, Samples
from csad.errors import InputError

FILE = "rows.json"  # in a run's folder
_known: WeakKeyDictionary[Samples, str] = WeakKeyDictionary()  # runs share data, and large ones take a while


def rows_digest(samples: Samples) -> str:
    """A word that other rows would not have; what is changed in place after it was asked for goes unnoticed."""
    if samples not in _known:
        _known[samples] = samples.fingerprint()
    return _known[samples]


def weights_digest(file: Path) -> str:
    """A word that other weights would not have; empty where there is no file."""
    if not file.is_file():
        return ""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def rows_text(dataset: Dataset) -> str:
    """What a run's folder keeps of the rows of each split."""
    return json.dumps({name: rows_digest(samples) for name, samples in dataset.splits.items()}, indent=1) + "\n"


def changed_splits(folder: Path | None, dataset: Dataset) -> list[str]:
    """The splits that hold other rows than when the run in this folder began; none where it did not keep that."""
    before = _kept(folder / FILE) if folder is not None else {}
    gone = [name for name in before if name not in dataset.splits]
    return [
        *gone,
        *(name for name, rows in dataset.splits.items() if name in before and rows_digest(rows) != before[name]),
    ]


def check_rows(folder: Path, dataset: Dataset) -> None:
    """Nothing, or an input error where a run would go on with other rows, if only those it is tested on."""
    if changed := changed_splits(folder, dataset):
        raise InputError(
            f"{folder} was begun with other rows in {_quoted(changed)}, so that its figures would be of rows that it "
            "was not begun with: bring the old ones back, or give another --out."
        )


def changed_words(changed: list[str]) -> str:
    """What a user should know where rows have changed that were not trained on."""
    return (
        f"The rows of {_quoted(changed)} are not those of the training: figures on them will differ from those in "
        "result.json."
    )


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _kept(path: Path) -> Mapping[str, str]:
    """What the folder tells; nothing where it is of a run that kept none, or cannot be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read ({error}): train the run again.") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no words by split: train the run again.")
    return found
