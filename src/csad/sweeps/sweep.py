"""Several values of settings and several seeds: each combination is a run, trained together as few programs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Unpack

from csad.errors import InputError
from csad.runs.build import checked_seed, is_own, maker_of, plan_run
from csad.runs.folder import Folder
from csad.runs.planned_run import RunRequest
from csad.runs.settings import tuple_settings
from csad.sweeps.campaign import Campaign, RunOptions
from csad.sweeps.forecast import carry_out
from csad.sweeps.tuning.validation_rows import note_on_several


@dataclass(frozen=True)
class Sweep:
    """The runs of a sweep: what differs between them, and the results of those that finished.

    Args:
        out: The folder below which each run has its own.
        varied: The names of the settings that differ between runs.
        runs: ``{"name", "seed", "values", "result"}`` of each run.
        lost: The names of the runs that diverged.
    """

    out: Path
    varied: tuple[str, ...]
    runs: list[dict[str, Any]]
    lost: list[str]

    def summary(self) -> list[dict[str, Any]]:
        """Mean and standard deviation over the seeds of each split's metrics, for each combination of values."""
        lines: dict[str, dict[str, Any]] = {}
        for run in self.runs:
            if run["result"]:
                line = lines.setdefault(json.dumps(run["values"]), {"values": run["values"], "metrics": []})
                line["metrics"].append(run["result"]["metrics"])
        return [{"values": line["values"], **_over_seeds(line["metrics"])} for line in lines.values()]


def _over_seeds(metrics: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    return {
        "n": len(metrics),
        "mean": {s: {m: fmean(run[s][m] for run in metrics) for m in metrics[0][s]} for s in metrics[0]},
        "std": {
            s: {m: stdev(run[s][m] for run in metrics) if len(metrics) > 1 else None for m in metrics[0][s]}
            for s in metrics[0]
        },
    }


def is_sweep(task: str, method: str, seeds: Sequence[int], overrides: Mapping[str, Any]) -> bool:
    """Whether more than one run is asked for."""
    return len(seeds) * len(variants(overrides, tuple_settings(method, maker_of(task, overrides), overrides))) > 1


def variants(overrides: Mapping[str, Any], tuples: Sequence[str]) -> list[dict[str, Any]]:
    """Every combination of the given values, as ``a=1,2`` or a list; the value of a tuple setting stays whole."""
    choices = []
    for name, value in overrides.items():
        if isinstance(value, list):
            several = value
        elif isinstance(value, str) and name not in tuples:
            several = [word.strip() for word in value.split(",")]
        else:
            several = [value]
        if not several or (len(several) > 1 and "" in several):
            raise InputError("sweep-values-invalid", setting=name, value=value)
        if len(set(map(str, several))) < len(several):
            raise InputError("sweep-value-twice", setting=name, values=value)
        choices.append([(name, choice) for choice in several])
    return [dict(combination) for combination in itertools.product(*choices)]


def sweep(
    task: str | Path,
    method: str = "csad",
    *,
    seeds: Sequence[int] = (0,),
    preset: str = "",
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    shared: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    **options: Unpack[RunOptions],
) -> Sweep:
    """Train every combination of the settings' values and the seeds, in as few programs as possible.

    Runs that differ only in numbers are trained as one program, and pretraining that they share is done once.

    Args:
        task: A data set's name, an .npz file of x, y and b, or a table (.csv, .parquet).
        method: A method's name, as ``csad list methods`` prints it.
        seeds: Seeds; each fixes the weights and the order of mini-batches.
        preset: Named settings of the task, such as ``authors``.
        settings: Settings by name. A list is several values: ``{"debias_weight": [0.1, 1, 10]}`` is what
            ``--set debias_weight=0.1,1,10`` means.
        out: The folder below which each run has its own; ``runs/TASK-METHOD-sweep`` by default.
        shared: A folder that keeps shared pretraining, which several sweeps may have in common.
        resume: Continue a sweep that was stopped; finished runs are left alone.
        force: Begin anew over existing runs.
        **options: ``device``, ``deterministic``, ``record``, ``keep_weights``, ``data_root`` and ``listener``, as
            ``csad.RunOptions`` describes them.
    """
    if not isinstance(task, str | Path):
        raise InputError("sweep-task-wrong-type", kind=type(task).__name__)
    task, seeds, overrides = str(task), [checked_seed(seed) for seed in seeds], dict(settings or {})
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError("sweep-seeds-invalid", seeds=seeds)
    place = Path(out) if out is not None else Path("runs") / f"{Path(task).stem}-{method}-sweep"
    campaign = Campaign.at(Path(shared) if shared is not None else place / "shared", **options)
    combinations = variants(overrides, tuple_settings(method, maker_of(task, overrides), overrides))
    varied = tuple(name for name in overrides if len({str(values[name]) for values in combinations}) > 1)
    Folder(place).check_home()
    requests, lines = [], []
    for values, seed in itertools.product(combinations, seeds):
        name = ",".join([*(f"{key}={values[key]}" for key in varied), f"seed={seed}"])
        _, plan = plan_run(task, method, values, preset, campaign.dataset)
        requests.append(RunRequest(name, task, method, seed, plan, place / name))
        lines.append({"name": name, "seed": seed, "values": {key: values[key] for key in varied}})
    plan = requests[0].plan
    if note := note_on_several(campaign.dataset(task, plan.data), plan, overrides, own_data=is_own(task)):
        campaign.listener.message(note)
    runs = campaign.begin(requests, resume=resume, force=force)
    lost = carry_out(campaign, f"{Path(task).stem} {method}", runs, "Give --resume to continue.")
    if shared is None:
        campaign.trainer.clear()
    for line, run in zip(lines, runs, strict=True):
        line["result"] = run.folder.read_result()
    return Sweep(place, varied, lines, lost)
