"""Time and memory of a table of one's own as it grows: written, read, prepared, trained on, measured and audited.

    python benchmarks/table_scale.py --json docs/results/table-scale.json

Each size has a process of its own, so that its peak memory is its own; a step's peak is the highest so far. Growth is
told of the processor's seconds, which do not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import multiprocessing
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

SIZES, QUICK = (10_000, 100_000, 1_000_000), (1_000, 10_000)
BLOCK = 10_000  # rows that are made at a time
MEASURES, KINDS = 32, 13  # with target, two biases, a date and an id these are 50 columns
SETTINGS = {
    "train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1,
    "train.batch_size": 256, "inner_steps": 1, "debias_weight": 1.0,
}  # fmt: skip
PROBED = 20_000  # rows that the audit's readers are shown at most
T = TypeVar("T")


def made_rows(generator: np.random.Generator, first: int, count: int) -> list[Sequence[str]]:
    """The columns of some rows in words: target and gender go together, and both show in numbers and categories."""
    y = generator.integers(2, size=count)
    gender = np.where(generator.random(count) < 0.8, y, 1 - y)
    race, days = generator.integers(5, size=count), generator.integers(20_000, size=count)
    columns: list[Sequence[str]] = [
        np.array(["no", "yes"])[y].tolist(),
        np.array(["f", "m"])[gender].tolist(),
        np.array(["a", "b", "c", "d", "e"])[race].tolist(),
        (np.datetime64("1970-01-01") + days).astype(str).tolist(),
        [f"id{row}" for row in range(first, first + count)],
    ]
    for k in range(MEASURES):
        values = generator.normal(size=count) + 0.3 * (y if k % 3 else gender)
        gaps = generator.random(count) < (0.05 if k % 4 == 0 else 0.0)
        columns.append(
            ["" if gap else f"{value:.4f}" for value, gap in zip(values.tolist(), gaps.tolist(), strict=True)]
        )
    for k in range(KINDS):
        words = np.array([f"word{j}" for j in range(2 + k)] + ["?"])
        kinds = (generator.integers(2 + k, size=count) + y * (k % 2)) % (2 + k)
        columns.append(words[np.where(generator.random(count) < 0.02, 2 + k, kinds)].tolist())
    return columns


def write(path: Path, rows: int) -> None:
    """Writes a made-up table of 50 columns, block by block."""
    names = ["target", "gender", "race", "day", "id"]
    names += [f"number{k}" for k in range(MEASURES)] + [f"kind{k}" for k in range(KINDS)]
    generator = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(names)
        for first in range(0, rows, BLOCK):
            writer.writerows(zip(*made_rows(generator, first, min(BLOCK, rows - first)), strict=True))


def steps_of(rows: int, folder: Path, found: dict[str, Any]) -> None:
    """Goes through all steps with a table of so many rows; ``found`` has their seconds and peaks as they end."""
    from csad import evaluate, from_table, train
    from csad.auditing.inputs import AuditSettings
    from csad.auditing.of_run import audit_run
    from csad.data.tables.read_table import read_table_file

    def step(name: str, call: Callable[[], T]) -> T:
        gc.collect()
        start, busy = time.perf_counter(), time.process_time()
        given = call()
        seconds, processor = time.perf_counter() - start, time.process_time() - busy
        # Kilobytes, on a Mac bytes.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        found[name] = {
            "seconds": round(seconds, 3),
            "processor_seconds": round(processor, 3),
            "peak_gb": round(peak / 1e9, 3),
        }
        told = f"{seconds:8.1f} s  {processor:8.1f} s of processor  {peak / 1e9:6.2f} GB"
        print(f"{rows:>9,} rows  {name:<12} {told}", flush=True)
        return given

    path = folder / "table.csv"
    step("write", partial(write, path, rows))
    step("read", lambda: read_table_file(path).rows)
    dataset = step("prepare", lambda: from_table(path, target="target", bias=("gender", "race")))
    step("fingerprint", dataset.fingerprint)
    run = step("train", lambda: train(dataset, "csad", settings=SETTINGS, device="cpu"))
    step("figures", lambda: evaluate(run, dataset))
    step("audit", lambda: audit_run(run, dataset=dataset, settings=AuditSettings(most_rows=PROBED)))
    found["file_mb"] = round(path.stat().st_size / 1e6, 1)


def measured(rows: int) -> dict[str, Any]:
    """Seconds and peak memory of each step, from a process that did nothing else."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (rows,))


def _measured(rows: int) -> dict[str, Any]:
    found: dict[str, Any] = {"rows": rows}
    with tempfile.TemporaryDirectory() as folder:
        steps_of(rows, Path(folder), found)
    return found


def growth(sizes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many times longer the processor took for each step than with a tenth of the rows."""
    found = []
    for smaller, larger in pairwise(sizes):
        ratios = {
            name: round(told["processor_seconds"] / smaller[name]["processor_seconds"], 1)
            for name, told in larger.items()
            if isinstance(told, dict) and smaller[name]["processor_seconds"] > 0
        }
        found.append({"from": smaller["rows"], "to": larger["rows"], "ratio": ratios})
    return found


def main() -> None:
    """Measures all sizes and prints what came of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 rows only")
    parser.add_argument("--rows", type=int, nargs="+", help="other sizes, each ten times the one before")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    sizes = [measured(rows) for rows in options.rows or (QUICK if options.quick else SIZES)]
    grown = growth(sizes)
    for one in grown:
        told = "  ".join(f"{name} ×{ratio:g}" for name, ratio in one["ratio"].items())
        print(f"{one['from']:,} → {one['to']:,} rows: {told}")
    if options.json:
        import torch

        about = {"cores": os.cpu_count(), "threads": torch.get_num_threads(), "python": platform.python_version()}
        settings = SETTINGS | {"method": "csad", "columns": 5 + MEASURES + KINDS, "probed_rows": PROBED}
        answer = {"environment": about, "settings": settings, "sizes": sizes, "growth": grown}
        options.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
