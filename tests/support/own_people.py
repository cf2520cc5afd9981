"""The table of people that tests of tables of one's own read, and what makes a data set of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from csad.data.own.dataset import TableDataset
from csad.data.own.from_files import from_table
from tests.support.csv_tables import write_table

N = 200
ROW = np.arange(N)
COLUMNS: dict[str, list[Any]] = {
    "income": ["high" if k % 2 else "low" for k in ROW],
    "pay": [10.0 * (k % 50) for k in ROW],
    "gender": ["f" if k // 2 % 2 else "m" for k in ROW],
    "age": [20 + k % 60 for k in ROW],
    "city": [["Rome", "Oslo", "Lima"][k % 3] for k in ROW],
    "height": [150 + (k * 7) % 45 + 0.25 for k in ROW],
    "who": [f"p{k // 4}" for k in ROW],
    "fold": ["test" if k % 8 < 4 else "train" for k in ROW],
}
USUAL: dict[str, Any] = {"target": "income", "bias": ("gender",), "drop": ("fold", "who", "pay")}
Make = Callable[..., TableDataset]


def maker(folder: Path) -> Make:
    """Reads the table, some columns changed or added, with the usual settings, some of them others."""

    def made(columns: dict[str, list[Any]] | None = None, **settings: Any) -> TableDataset:
        return from_table(write_table(folder, COLUMNS | (columns or {})), **(USUAL | settings))

    return made
