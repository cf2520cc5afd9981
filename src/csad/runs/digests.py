"""Digests of a run's rows and weights, and JSON files with a digest that shows whether they were changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from csad.data.samples import Dataset, Samples
from csad.errors import InputError
from csad.messages import message

ROWS_FILE = "rows.json"  # in a run's folder
_known: WeakKeyDictionary[Samples, str] = WeakKeyDictionary()  # runs share data, and large ones take a while


def rows_digest(samples: Samples) -> str:
    """A digest of the rows, computed once; later changes in place go unnoticed."""
    if samples not in _known:
        _known[samples] = samples.fingerprint()
    return _known[samples]


def weights_digest(file: Path) -> str:
    """A digest of a file of weights; empty if there is no file."""
    if not file.is_file():
        return ""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def rows_text(dataset: Dataset) -> str:
    """The digests of the rows of each split, as JSON for a run's folder."""
    return json.dumps({name: rows_digest(samples) for name, samples in dataset.splits.items()}, indent=1) + "\n"


def changed_splits(folder: Path | None, dataset: Dataset) -> list[str]:
    """The splits whose rows changed since the run in this folder began; none if its folder has no digests."""
    before = _read_rows(folder / ROWS_FILE) if folder is not None else {}
    missing = [name for name in before if name not in dataset.splits]
    return [
        *missing,
        *(name for name, rows in dataset.splits.items() if name in before and rows_digest(rows) != before[name]),
    ]


def check_rows(folder: Path, dataset: Dataset) -> None:
    """Raise InputError if a run would be resumed with other rows, if only those it is tested on."""
    if changed := changed_splits(folder, dataset):
        raise InputError("resumed-with-other-rows", folder=folder, splits=_quoted(changed))


def changed_words(changed: list[str]) -> str:
    """The sentence for a user if rows have changed that were not trained on."""
    return message("rows-changed-since-training", splits=_quoted(changed))


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _read_rows(path: Path) -> Mapping[str, str]:
    """The digests in a file; none if there is no file, as in folders of earlier versions."""
    try:
        digests = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise InputError("run-file-unreadable", file=path, reason=error) from error
    if not isinstance(digests, dict):
        raise InputError("row-digests-invalid", file=path)
    return digests


SEAL = "seal"


def write_with_digest(values: Mapping[str, Any]) -> str:
    """The values and a digest of them, as JSON."""
    return json.dumps({**values, SEAL: _digest(values)}, indent=1) + "\n"


def read_with_digest(path: Path) -> Any:
    """Read a file of ``write_with_digest``; raise InputError if it was changed. A file without a digest is accepted."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise InputError("run-file-unreadable", file=path, reason=error) from error
    if not isinstance(values, dict) or SEAL not in values:
        return values
    seal = values.pop(SEAL)
    if seal != _digest(values):
        raise InputError("preparation-changed", file=path)
    return values


def _digest(values: Mapping[str, Any]) -> str:
    plain = json.dumps(values, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]
