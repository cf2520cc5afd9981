"""Arrays of one's own, and settings for short trainings on them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import csad

# Just long enough that the target is off chance, where csad would warn.
SHORT = {
    "target_epochs": 4,
    "bias_epochs": 1,
    "estimator_epochs": 1,
    "epochs": 1,
    "batch_size": 16,
    "pretrain_rate": 0.02,
    "inner_steps": 2,
}
PLAIN = {name: value for name, value in SHORT.items() if name != "inner_steps"}


def arrays(n: int = 120) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(0)
    y, b = generator.integers(3, size=n), generator.integers(2, size=n)
    x = generator.normal(size=(n, 4)).astype(np.float32)
    x[:, 0] += 3 * y
    return x, np.array(["low", "mid", "top"])[y], b


X, Y, B = arrays()
DATASET = csad.from_arrays(X, Y, B, name="own arrays", bias_names=["sex"])


def toy_table(rows: str, **changes: Any) -> str:
    """The TOML of a table on the toy table, with these rows."""
    head = {
        "title": "Toys",
        "task": "toy-table",
        "metrics": ["accuracy"],
        "split": "test",
        "column": "data.agreement",
        "column_title": "Agreement",
        "columns": ["0.7", "0.9"],
        "seeds": [3, 4],
        "notes": [],
    }
    return "\n".join([*(f"{key} = {json.dumps(value)}" for key, value in (head | changes).items()), rows])


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def copied(run: csad.Run, place: Path) -> Path:
    assert run.folder is not None
    shutil.copytree(run.folder, place)
    return place
