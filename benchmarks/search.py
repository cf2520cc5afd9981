"""Runs named sweeps of the search for a recipe on Colored MNIST, without the test digits; one JSON line per run.

    python benchmarks/search.py s1 w1 --data-root DATA --out docs/results/colored-mnist-search

The sweeps are declared in docs/results/colored-mnist-search/stacks.toml; what one does not set is as in the authors'
code, but for the digits that are held out. Only MNIST's training files are read.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from pathlib import Path
from typing import Any

from csad.experiments.listeners import Silent
from csad.experiments.sweep import sweep
from csad.training.log import Log

HELD_OUT = {"data.validation": "5000", "data.test": "false", "train.partial": "fill"}
STACKS = Path(__file__).parent.parent / "docs" / "results" / "colored-mnist-search" / "stacks.toml"


class Aloud(Silent):
    """Says what goes on."""

    def say(self, text: str) -> None:
        """A line."""
        print(text, flush=True)

    def warn(self, text: str) -> None:
        """A line."""
        print(f"warning: {text}", flush=True)


def curve(folder: Path) -> list[tuple[int, float]]:
    """Steps and validation accuracies, epoch by epoch."""
    lines = [line for line in Log(folder / "log.jsonl").lines if "validation" in line]
    return [(line["step"], round(line["validation"]["accuracy"], 4)) for line in lines]


def search(name: str, told: dict[str, Any], out: Path, runs: Path, data_root: Path | None) -> None:
    """Runs one sweep and writes its lines."""
    start = time.monotonic()
    method, seeds = told.get("method", "csad"), told.get("seeds", [0])
    settings = {**HELD_OUT, "train.precision": "tf32", **{key: str(v) for key, v in told["set"].items()}}
    made = sweep(
        "colored-mnist", method, preset="authors", seeds=seeds, settings=settings, out=runs / name,
        shared=runs / "shared", resume=True, data_root=data_root, teller=Aloud(),
    )  # fmt: skip
    found = []
    for run in made.runs:
        if run["result"]:
            metrics = {split: run["result"]["metrics"][split]["accuracy"] for split in ("validation", "train")}
            told_of = {"stack": name, "method": method, "values": run["values"], "seed": run["seed"]}
            found.append(told_of | metrics | {"curve": curve(made.out / run["name"])})
            print(f"{metrics['validation']:.4f} {metrics['train']:.4f} {run['name']}", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in found))
    print(f"{name}: {len(found)} runs in {time.monotonic() - start:.0f} s, lost: {made.lost}", flush=True)


def main() -> None:
    """Runs the sweeps that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--out", type=Path, default=STACKS.parent)
    parser.add_argument("--runs", type=Path, default=Path("runs/search"))
    parser.add_argument("--data-root", type=Path)
    options = parser.parse_args()
    stacks = tomllib.loads(STACKS.read_text(encoding="utf-8"))
    for name in options.names:
        search(name, stacks[name], options.out, options.runs, options.data_root)


if __name__ == "__main__":
    main()
