"""A small table of people, written as a CSV file, and the settings of a short training on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.csv_tables import write_columns

N = 80
PEOPLE: dict[str, list[Any]] = {
    "who": [f"{k:03d}" for k in range(N)],
    "income": ["high" if k % 2 else "low" for k in range(N)],
    "gender": ["f" if k // 2 % 2 else "m" for k in range(N)],
    "age": [20 + 7 * k % 50 for k in range(N)],
    "city": [None if k == 9 else ["Rome", "Oslo", "Lima"][k % 3] for k in range(N)],
    "hours": [None if k == 4 else 30.5 + 10 * (k % 2) + k % 3 for k in range(N)],
    "family": [f"fam{k // 4}" for k in range(N)],
    "fold": ["test" if k % 8 < 4 else "train" for k in range(N)],
}
ROLES = ["--target", "income", "--bias", "gender", "--split", "fold", "--drop", "who,family"]
SHORT = [
    "--method", "vanilla", "--set", "train.target_epochs=8", "--set", "train.epochs=1", "--set", "train.batch_size=16",
    "--set", "train.pretrain_rate=0.02",
    "--device", "cpu",
]  # fmt: skip


def write_people(
    path: Path, changes: Mapping[str, Sequence[Any]] | None = None, *, without: Sequence[str] = ()
) -> Path:
    """The table with these columns changed or left out, None as an empty cell."""
    columns = {name: values for name, values in (PEOPLE | dict(changes or {})).items() if name not in without}
    return write_columns(path, columns)
