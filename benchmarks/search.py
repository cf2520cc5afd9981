"""Runs named sweeps of a search for settings, without the test rows; one JSON line per run.

    python benchmarks/search.py colored-mnist s1 w1 --data-root DATA

The sweeps of a search are declared in docs/results/TASK-search/stacks.toml, what all have in common in its section
``common``; figures are those of the validation split, or of the splits that ``judges`` names there. Several processes
share a sweep with ``--only data.setting=EB1`` and so on, each with an ``--out`` and ``--runs`` of its own: their files,
one after the other, are the sweep's.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from pathlib import Path
from statistics import fmean
from typing import Any

from csad import InputError, Listener, sweep
from csad.runs.settings import from_words
from csad.training.log import Log

Figures = dict[str, float]
RESULTS = Path(__file__).parent.parent / "docs" / "results"


class Aloud(Listener):
    """Says what goes on."""

    def message(self, text: str) -> None:
        """A line."""
        print(text, flush=True)

    def warn(self, text: str) -> None:
        """A line."""
        print(f"warning: {text}", flush=True)


def curve(folder: Path) -> list[tuple[int, float]]:
    """Steps and validation accuracies, epoch by epoch."""
    lines = [line for line in Log(folder / "log.jsonl").lines if "validation" in line]
    return [(line["step"], round(line["validation"]["accuracy"], 4)) for line in lines]


def judged(result: dict[str, Figures], judges: list[str], metrics: list[str]) -> tuple[float, Figures]:
    """The figure by which a run is judged, and those that are shown: all of one split, or the first of each of several.

    Where several splits judge it is their mean; a run whose training set is one of them is judged by the others.
    """
    if len(judges) == 1:
        only = result[judges[0]]
        return only[metrics[0]], {metric: round(only[metric], 5) for metric in metrics}
    figures = {split: result[split][metrics[0]] for split in judges if split in result}
    return fmean(figures.values()), {split: round(value, 5) for split, value in figures.items()}


def search(
    name: str, told: dict[str, Any], common: dict[str, Any], only: dict[str, str], runs: Path, data_root: Path | None
) -> list[Any]:
    """Runs one sweep, or those of its runs that have the values of ``only``; gives a line for each run."""
    start = time.monotonic()
    method, seeds, metrics = told.get("method", "csad"), told.get("seeds", [0]), common["metrics"]
    settings = {key: str(value) for key, value in (common["set"] | told["set"] | only).items()}
    made = sweep(
        common["task"], method, preset=told.get("preset", common.get("preset", "")), seeds=seeds, settings=settings,
        out=runs / name, shared=runs / "shared", resume=True, data_root=data_root, listener=Aloud(),
    )  # fmt: skip
    found = []
    for run in made.runs:
        if run["result"]:
            score, figures = judged(run["result"]["metrics"], common.get("judges", ["validation"]), metrics)
            line = {"stack": name, "method": method, "values": only | run["values"], "seed": run["seed"]}
            line |= {"validation": score, "train": run["result"]["metrics"]["train"][metrics[0]]}
            line |= {"curve": curve(made.out / run["name"])}
            if len(figures) > 1:
                line["figures"] = figures
            found.append(line)
            print(" ".join(f"{value:.4f}" for value in figures.values()), run["name"], flush=True)
    print(f"{name}: {len(found)} runs in {time.monotonic() - start:.0f} s, lost: {made.lost}", flush=True)
    return found


def main() -> None:
    """Runs the sweeps that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--only", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path, help="docs/results/TASK-search if not given")
    parser.add_argument("--runs", type=Path, default=Path("runs/search"))
    parser.add_argument("--data-root", type=Path)
    options = parser.parse_args()
    try:
        only = from_words(options.only)
    except InputError as error:
        parser.error(str(error))
    home = RESULTS / f"{options.task}-search"
    stacks = tomllib.loads((home / "stacks.toml").read_text(encoding="utf-8"))
    out = options.out or home
    out.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        found = search(name, stacks[name], stacks["common"], only, options.runs / options.task, options.data_root)
        (out / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in found))


if __name__ == "__main__":
    main()
