"""Several values for a setting, several seeds: each combination a run, all of them together as few programs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Unpack

from csad.errors import InputError
from csad.experiments.build import maker_of, plan_run
from csad.experiments.choices.occasion import told_of_several
from csad.experiments.folder import Folder
from csad.experiments.forecast import carry_out
from csad.experiments.many import Campaign, Means
from csad.experiments.plan import tuple_settings
from csad.experiments.threshold import is_own
from csad.experiments.train import checked_seed
from csad.experiments.wanted import Wanted


@dataclass(frozen=True)
class Sweep:
    """The runs of a sweep: what differs between them, and the results of those that came to their end."""

    out: Path
    varied: tuple[str, ...]
    runs: list[dict[str, Any]]  # {"name", "seed", "values", "result"}
    lost: list[str]

    def summary(self) -> list[dict[str, Any]]:
        """For each combination of values, mean and standard deviation over the seeds of each split's figures."""
        found: dict[str, dict[str, Any]] = {}
        for run in self.runs:
            if run["result"]:
                line = found.setdefault(json.dumps(run["values"]), {"values": run["values"], "metrics": []})
                line["metrics"].append(run["result"]["metrics"])
        return [{"values": line["values"], **_over_seeds(line["metrics"])} for line in found.values()]


def _over_seeds(metrics: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    return {
        "n": len(metrics),
        "mean": {s: {m: fmean(one[s][m] for one in metrics) for m in metrics[0][s]} for s in metrics[0]},
        "std": {
            s: {m: stdev(one[s][m] for one in metrics) if len(metrics) > 1 else None for m in metrics[0][s]}
            for s in metrics[0]
        },
    }


def is_sweep(task: str, method: str, seeds: Sequence[int], given: Mapping[str, Any]) -> bool:
    """Whether more than one run is asked for."""
    return len(seeds) * len(variants(given, tuple_settings(method, maker_of(task, given), given))) > 1


def variants(given: Mapping[str, Any], tuples: Sequence[str]) -> list[dict[str, Any]]:
    """Every combination of the values given: ``a=1,2`` with commas between, or a list; what is a tuple stays whole."""
    choices = []
    for name, value in given.items():
        if isinstance(value, list):
            several = value
        elif isinstance(value, str) and name not in tuples:
            several = [word.strip() for word in value.split(",")]
        else:
            several = [value]
        if not several or (len(several) > 1 and "" in several):
            raise InputError(f"{name} must be a value, or several with commas between, not {value!r}.")
        if len(set(map(str, several))) < len(several):
            raise InputError(f"{name} has a value twice: {value}.")
        choices.append([(name, one) for one in several])
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
    **means: Unpack[Means],
) -> Sweep:
    """Trains every combination of the settings' values and the seeds; each run is a folder below ``out``.

    ``settings={"debias_weight": [0.1, 1, 10]}`` is what ``--set debias_weight=0.1,1,10`` means. Runs that differ only
    in numbers are trained as one program, and pretraining that they share once; it is kept in ``shared``, which several
    sweeps may have in common. ``means`` are ``device``, ``data_root``, ``keep_weights`` and the like: see Means.
    """
    if not isinstance(task, str | Path):
        raise InputError(f"A sweep needs a data set's name or an .npz file, not a {type(task).__name__}.")
    task, seeds, given = str(task), [checked_seed(seed) for seed in seeds], dict(settings or {})
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError(f"seeds must be one seed or more, each once, not {seeds}.")
    place = Path(out) if out is not None else Path("runs") / f"{Path(task).stem}-{method}-sweep"
    campaign = Campaign.at(Path(shared) if shared is not None else place / "shared", **means)
    combinations = variants(given, tuple_settings(method, maker_of(task, given), given))
    varied = tuple(name for name in given if len({str(values[name]) for values in combinations}) > 1)
    Folder(place).check_home()
    wanted, about = [], []
    for values, seed in itertools.product(combinations, seeds):
        name = ",".join([*(f"{key}={values[key]}" for key in varied), f"seed={seed}"])
        _, plan = plan_run(task, method, values, preset, campaign.dataset)
        wanted.append(Wanted(name, task, method, seed, plan, place / name))
        about.append({"name": name, "seed": seed, "values": {key: values[key] for key in varied}})
    plan = wanted[0].plan
    if told := told_of_several(campaign.dataset(task, plan.data), plan, given, own=is_own(task)):
        campaign.teller.say(told)
    runs = [campaign.ready(one, resume=resume, force=force) for one in wanted]
    campaign.begin(runs, resume=resume, force=force)
    lost = carry_out(campaign, f"{Path(task).stem} {method}", runs, "Give --resume to go on.")
    if shared is None:
        campaign.programs.clear()
    for line, run in zip(about, runs, strict=True):
        line["result"] = run.folder.read_result()
    return Sweep(place, varied, about, lost)
