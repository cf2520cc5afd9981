"""A run of which all is known but its weight: what is tried for it, and what is chosen of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor, nn

from csad.data.samples import Dataset
from csad.errors import Diverged
from csad.experiments.choices.choice import Choice, Tried, decide
from csad.experiments.choices.leakage import Readable
from csad.experiments.choices.looks import Looks
from csad.experiments.choices.occasion import WEIGHT, with_weight
from csad.experiments.choices.scores import score_name, scored
from csad.experiments.plan import Plan
from csad.experiments.run import load
from csad.experiments.threshold import judged_by
from csad.experiments.wanted import Ready, Wanted
from csad.nets.parts import OwnBackbone


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
    threshold: float | None = None  # that is given

    @property
    def own_backbone(self) -> OwnBackbone | None:
        """The module or class that its caller gave; its folders are read again with it."""
        return self.plan.own_backbone if self.backbone is None else self.backbone

    @property
    def epochs(self) -> int:
        """Of the last stage, if nothing stops it."""
        return int(self.plan.train["epochs"])

    def vanilla(self, place: Path) -> Wanted:
        """What all are held against, as a run that is a folder in that place."""
        return self._wanted("vanilla", "vanilla", replace(self.plan, settings={}), place)

    def weighted(self, weights: Sequence[float], place: Path, looks: Looks) -> list[Wanted]:
        """The runs that are tried, each a folder in that place."""
        plans = {weight: with_weight(self.plan, weight) for weight in weights}
        runs = [self._wanted(f"{WEIGHT}={weight:g}", self.method, plan, place) for weight, plan in plans.items()]
        return [replace(run, onlooker=looks) for run in runs]

    def _wanted(self, name: str, method: str, plan: Plan, place: Path) -> Wanted:
        return Wanted(name, self.task, method, self.seed, plan, place / name, (), (), self.dataset, self.backbone)

    def measured(self, run: Ready, device: str) -> Tried | None:
        """What a run came to in the end; None where it has diverged, or is not there yet."""
        if not run.folder.result.exists():
            return None
        found = load(run.wanted.out, backbone=self.own_backbone, view=self.dataset.view, device=device)
        weight = run.wanted.plan.settings.get(WEIGHT)
        out = found.outputs(self.dataset.splits["validation"].x)
        return Tried(weight, *self.scored(out), None if weight is None else self.epochs)

    def scored(self, out: Tensor) -> tuple[float, float]:
        """Score and leakage of a model that gives ``out`` for the validation rows, with the threshold it would have."""
        threshold = judged_by(self.task, self.dataset, self.plan.train["balance"], self.threshold)
        return scored(self.dataset, self.rows, out, threshold)

    def decided(self, vanilla: Tried | None, runs: Sequence[Ready], looks: Looks, device: str) -> Choice:
        """The choice among all that was seen of the runs; those of which nothing was have diverged."""
        seen = {run.wanted.plan.settings[WEIGHT]: looks.seen[run.wanted.out] for run in runs}
        if self.epochs == 0:  # then there is nothing to look at but the end
            ends = {run.wanted.plan.settings[WEIGHT]: self.measured(run, device) for run in runs}
            seen = {weight: [end] if end else [] for weight, end in ends.items()}
        every = [look for several in seen.values() for look in several]
        if vanilla is None or not every:
            what = "Vanilla's training" if vanilla is None else f"The training with each {WEIGHT} that was tried"
            raise Diverged(f"{what} has diverged. Lower train.rate, or look for extreme values in x.")
        return decide(
            vanilla,
            every,
            cost=self.cost,
            score=score_name(self.dataset),
            rows=len(self.dataset.splits["validation"]),
            epochs=self.epochs,
            lost=[weight for weight, several in seen.items() if not several],
        )
