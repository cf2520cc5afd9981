"""A run on one's own data whose debias_weight (λ) is chosen on validation rows: several are tried as one program."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from torch import nn

from csad.auditing.audited import Outputs
from csad.data.samples import Classes, Dataset
from csad.errors import Diverged
from csad.experiments.choices.choice import Choice, Tried, decide
from csad.experiments.choices.folder import begin, beside, keep, weight_before
from csad.experiments.choices.leakage import Readable
from csad.experiments.choices.occasion import WEIGHT, with_weight
from csad.experiments.folder import Folder
from csad.experiments.forecast import carry_out
from csad.experiments.listeners import Unadvised
from csad.experiments.many import Campaign, Ready, Wanted
from csad.experiments.plan import Plan
from csad.experiments.run import Run, load
from csad.training.device import Way
from csad.training.log import Log
from csad.training.stages import Listener

RUNGS = (0.1, 0.3, 1.0, 3.0, 10.0)  # times the default of the method on data of this kind: what is tried


@dataclass(frozen=True)
class Asked:
    """A run of which all is known but the weight, and the validation rows by which that is chosen."""

    task: str  # a file, or OWN
    method: str
    seed: int
    plan: Plan
    dataset: Dataset
    rows: Readable
    cost: float
    backbone: nn.Module | None = None

    @property
    def classes(self) -> bool:
        """Whether the target is classes, not a number."""
        return isinstance(self.dataset.task.target, Classes)

    def weights(self) -> list[float]:
        """What is tried."""
        return [float(f"{rung * self.plan.settings[WEIGHT]:.6g}") for rung in RUNGS]

    def wanted(self, place: Path) -> list[Wanted]:
        """The runs that are tried, vanilla first; each is a folder in that place."""
        plans = [("vanilla", "vanilla", replace(self.plan, settings={}))]
        plans += [(f"{WEIGHT}={weight:g}", self.method, with_weight(self.plan, weight)) for weight in self.weights()]
        return [
            Wanted(name, self.task, method, self.seed, plan, place / name, (), (), self.dataset, self.backbone)
            for name, method, plan in plans
        ]

    def loaded(self, run: Ready, device: str) -> Run:
        """A run that was tried, from its folder."""
        return load(run.wanted.out, backbone=self.backbone, view=self.dataset.view, device=device)

    def tried(self, run: Ready, device: str) -> Tried:
        """What a run came to on the validation rows."""
        found, samples = self.loaded(run, device), self.dataset.splits["validation"]
        figures = found.result["metrics"]["validation"]
        if self.classes:
            score = figures["balanced_accuracy"]
            outputs = Outputs(found.predict(samples.x), found.predict_proba(samples.x))
        else:
            spread = float(samples.y.double().var(unbiased=False)) or 1.0
            score = 1 - figures["mean_squared_error"] / spread
            outputs = Outputs(found.predict(samples.x))
        return Tried(run.wanted.plan.settings.get(WEIGHT), float(score), self.rows.leakage(outputs))

    def decided(self, runs: Sequence[Ready], device: str) -> Choice:
        """The choice, from runs of which vanilla's is the first; those without a result have diverged."""
        done = [self.tried(run, device) if run.folder.result.exists() else None for run in runs]
        tried = [one for one in done[1:] if one is not None]
        if done[0] is None or not tried:
            what = "Vanilla's training" if done[0] is None else f"The training with each {WEIGHT} that was tried"
            raise Diverged(f"{what} has diverged. Lower train.rate, or look for extreme values in x.")
        lost = [weight for weight, one in zip(self.weights(), done[1:], strict=True) if one is None]
        score = "balanced accuracy" if self.classes else "share of variance explained"
        rows = len(self.dataset.splits["validation"])
        return decide(done[0], tried, cost=self.cost, score=score, rows=rows, lost=lost)


def choose(
    asked: Asked, way: Way, listener: Listener, *, out: Path | None = None, resume: bool = False, force: bool = False
) -> Run:
    """The run with the chosen weight; in ``out`` it is an ordinary run folder, with choice.json beside the rest.

    Until then what is tried lies beside it, in OUT.choosing, from where a stopped choice goes on with ``resume``.
    """
    teller, device = Unadvised(listener), str(way.device)
    again = begin(out, resume=resume, force=force) if out is not None else False
    weights = ", ".join(f"{weight:g}" for weight in asked.weights())
    teller.say(f"{WEIGHT} is chosen on the validation split: {weights} are tried, beside vanilla.")
    with tempfile.TemporaryDirectory() if out is None else nullcontext(beside(out)) as scratch:
        place = Path(scratch)
        campaign = Campaign(place / "shared", way, teller, keep_weights=True)
        runs = [campaign.ready(one, resume=again, force=force) for one in asked.wanted(place)]
        campaign.begin(runs, resume=again, force=force)
        carry_out(campaign, asked.method, runs, "Give --resume to go on." if out is not None else "")
        choice = asked.decided(runs, device)
        taken = next(run for run in runs[1:] if run.wanted.plan.settings[WEIGHT] == choice.debias_weight)
        for text in Log(taken.folder.log).warnings():
            listener.warn(text)
        told = {"choice": choice.as_dict()}
        if out is None:
            run = asked.loaded(taken, device)
            run.folder, run.log.path = None, None
            run.result |= told
            return run
        keep(taken, Folder(out), told, force=force or again)
        run = load(out, backbone=asked.backbone, view=asked.dataset.view, device=device)
        for one in (*(run.wanted.out for run in runs), place / "shared"):
            shutil.rmtree(one)
        place.rmdir()
        return run


def chosen_before(asked: Asked, out: Path | None, *, resume: bool) -> Plan | None:
    """The plan of a run to go on with, with the weight that was chosen for it; None where that is still to be done."""
    if not resume or out is None or not Folder(out).config.exists() or beside(out).exists():
        return None
    weight = weight_before(out, asked.cost)
    return asked.plan if weight is None else with_weight(asked.plan, weight)
