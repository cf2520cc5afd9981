"""The demonstration: vanilla against CSAD on colored digits, from embedded data to the page of ``csad report``."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from csad.atomic import write_whole
from csad.errors import Interrupted
from csad.report.gather import findings_of
from csad.report.page import run_page
from csad.runs.folder import Folder
from csad.runs.listeners import Listener
from csad.runs.run import Run
from csad.sweeps.train import train

TASK = "digits"
BEFORE, AFTER = METHODS = ("vanilla", "csad")


def run_demo(out: Path, seeds: Sequence[int], listener: Listener, *, force: bool, device: str) -> dict[str, Any]:
    """Train or reload the runs under ``out``, write their report, and return the figures with the report's path."""
    runs = {method: [_run(out, method, seed, listener, force, device) for seed in seeds] for method in METHODS}
    listener.message("Auditing the models, and writing the report …")
    findings = findings_of([*runs[AFTER], *runs[BEFORE]], against=runs[BEFORE][0], show_data=True)
    report = out / "report.html"
    write_whole(report, run_page(findings))
    methods = {method: _summary(several) for method, several in runs.items()}
    return {
        "task": TASK,
        "seeds": list(seeds),
        "methods": methods,
        "gain": methods[AFTER]["accuracy"] - methods[BEFORE]["accuracy"],
        "runs": [
            {"seed": seed, **{method: _accuracy(runs[method][k]) for method in METHODS}} for k, seed in enumerate(seeds)
        ],
        "verdicts": {run.name: {"state": run.audit.state, "words": run.audit.words} for run in findings.runs},
        "report": str(report),
        "environment": runs[AFTER][0].result["environment"],
    }


def _run(out: Path, method: str, seed: int, listener: Listener, force: bool, device: str) -> Run:
    place = out / f"{method}-{seed}"
    begun = Folder(place).config.exists()
    try:
        return train(
            TASK,
            method,
            seed=seed,
            out=place,
            resume=begun and not force,
            force=force,
            device=device,
            listener=listener,
        )
    except Interrupted:
        raise Interrupted("Run the same command again to continue.") from None


def _accuracy(run: Run) -> float:
    accuracy: float = run.result["metrics"]["test"]["accuracy"]
    return accuracy


def _summary(runs: Sequence[Run]) -> dict[str, Any]:
    accuracies = [_accuracy(run) for run in runs]
    return {
        "accuracy": statistics.mean(accuracies),
        "std": statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0,
        "target_updates": runs[0].result["target_updates"],
        "seconds": sum(run.result["seconds"] for run in runs),
    }
