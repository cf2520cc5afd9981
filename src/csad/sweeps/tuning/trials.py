"""A tuning job and its trials: each is scored while it trains, and its weights are kept in case they are chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from csad.data.samples import Dataset
from csad.errors import Diverged
from csad.runs.best_epoch import Epochs, EpochWeightsCallback
from csad.runs.build import is_own
from csad.runs.folder import Folder
from csad.runs.planned_run import PreparedRun, RunRequest
from csad.runs.threshold import training_threshold
from csad.runs.train_run import FinishedTraining, on_device
from csad.sweeps.tuning.rule import Choice, Trial, candidates, decide
from csad.sweeps.tuning.validation_rows import WEIGHT, LeakageScorer, score_name, score_outputs, with_weight
from csad.training import checkpoint
from csad.training.log import Log

MOST_LOOKS = 10  # at a run, evenly over the epochs of its last stage; the last of them is at its end
SCORE, LEAKAGE = "score", "leakage"  # as a run's log calls them


def trials_in(log: Log, weight: float) -> list[Trial]:
    """The trials that the log of a run with that weight holds, one for each epoch after which it was scored."""
    lines = [line for line in log.lines if LEAKAGE in line.get("validation", {})]
    return [Trial(weight, line["validation"][SCORE], line["validation"][LEAKAGE], line["epoch"] + 1) for line in lines]


def log_until(log: Log, epoch: int, epochs: int) -> Log:
    """The log, in memory, of a run that is stopped after an epoch of its last stage; the file stays as it is."""
    shorter = Log(log.path)
    shorter.path = None
    scored = [line for line in shorter.lines if LEAKAGE in line.get("validation", {}) and line["epoch"] + 1 == epoch]
    if scored and epoch < epochs:
        shorter.cut(scored[-1]["step"] + 1)
        place = {name: scored[-1][name] for name in ("stage", "epoch", "step")}
        shorter.write({**place, "stopped": f"after epoch {epoch} of {epochs}, as chosen on the validation split"})
    return shorter


class TrialWatcher(EpochWeightsCallback):
    """Scores trials while they train, and keeps the weights that the rule may choose."""

    def __init__(
        self,
        score_and_leakage: Callable[[Tensor], tuple[float, float]],
        cost: float,
        vanilla: Callable[[], Trial | None],
    ) -> None:
        self.score_and_leakage, self.cost, self.vanilla = score_and_leakage, cost, vanilla
        self.weights: dict[Path, float] = {}  # by the folder of the run
        self.trials: dict[Path, list[Trial]] = {}

    def add(self, folder: Folder, weight: float, *, over: bool) -> None:
        """Add a run that will be scored; one whose training is ``over`` has been."""
        self.weights[folder.path] = weight
        self.trials[folder.path] = trials_in(Log(folder.log), weight) if over else []

    def due(self, epoch: int, epochs: int) -> bool:
        """True after each epoch, or after MOST_LOOKS of them if there are more."""
        count = min(epochs, MOST_LOOKS)
        return epoch in {math.ceil(epochs * number / count) for number in range(1, count + 1)}

    def metrics(self, number: int, out: Tensor) -> dict[str, float]:
        """Score and leakage, computed alike for all runs; none if a run no longer gives numbers."""
        if not bool(out.isfinite().all()):
            return {}
        score, leakage = self.score_and_leakage(out)
        return {SCORE: score, LEAKAGE: leakage}

    def read(self, folder: Path, log: Log) -> None:
        """Read the trials of a run from its log."""
        self.trials[folder] = trials_in(log, self.weights[folder])

    def known_epochs(self) -> Epochs:
        """The epochs of all trials."""
        return {(folder, trial.epoch or 0) for folder, trials in self.trials.items() for trial in trials}

    def may_be_taken(self) -> Epochs:
        """The epochs of the trials that the rule may choose, whatever comes later."""
        vanilla = self.vanilla()
        trials = [trial for several in self.trials.values() for trial in several]
        alive = candidates(vanilla, trials, self.cost) if vanilla else []
        return {
            (folder, trial.epoch or 0) for folder, several in self.trials.items() for trial in several if trial in alive
        }


@dataclass(frozen=True)
class TuningJob:
    """A run of which all is known but the weight, and what is needed to choose that."""

    request: RunRequest
    dataset: Dataset
    scorer: LeakageScorer
    cost: float

    @property
    def epochs(self) -> int:
        """The epochs of the last stage, if nothing stops it."""
        return int(self.request.plan.train["epochs"])

    def vanilla(self, place: Path) -> RunRequest:
        """The run without debiasing that all trials are compared with, as a folder in that place."""
        plan = replace(self.request.plan, settings={})
        return replace(self.request, name="vanilla", method="vanilla", plan=plan, out=place / "vanilla", threshold=None)

    def weighted(self, weights: Sequence[float], place: Path, watcher: TrialWatcher) -> list[RunRequest]:
        """The runs with these weights, each a folder in that place."""
        names = {weight: f"{WEIGHT}={weight:g}" for weight in weights}
        return [
            replace(
                self.request, name=name, plan=with_weight(self.request.plan, weight), out=place / name, threshold=None,
                callback=watcher,
            )
            for weight, name in names.items()
        ]  # fmt: skip

    def trial_of(self, run: PreparedRun, device: torch.device) -> Trial | None:
        """The trial at the end of a run; None if it has diverged, or is not finished yet."""
        if not run.folder.result.exists():
            return None
        training = FinishedTraining(run, Log(run.folder.log), checkpoint.read_checkpoint(run.folder.checkpoint))
        with on_device(training, device) as (trained, dataset):
            out = trained.outputs(dataset.splits["validation"].x)
        weight = run.request.plan.settings.get(WEIGHT)
        return Trial(weight, *self.score_and_leakage(out), None if weight is None else self.epochs)

    def score_and_leakage(self, out: Tensor) -> tuple[float, float]:
        """Score and leakage of a model that gives ``out`` for the validation rows, at the threshold it would have."""
        threshold = training_threshold(
            self.dataset,
            self.request.plan.train["balance"],
            own_data=is_own(self.request.task),
            given=self.request.threshold,
        )
        return score_outputs(self.dataset, self.scorer, out, threshold)

    def decide(
        self, vanilla: Trial | None, runs: Sequence[PreparedRun], watcher: TrialWatcher, device: torch.device
    ) -> Choice:
        """The choice among all trials of the runs; runs without a trial have diverged."""
        trials = {run.request.plan.settings[WEIGHT]: watcher.trials[run.folder.path] for run in runs}
        if self.epochs == 0:  # then there is nothing to score but the end
            ends = {run.request.plan.settings[WEIGHT]: self.trial_of(run, device) for run in runs}
            trials = {weight: [end] if end else [] for weight, end in ends.items()}
        every = [trial for several in trials.values() for trial in several]
        if vanilla is None or not every:
            what = "Vanilla's training" if vanilla is None else f"The training with every {WEIGHT} that was tried"
            raise Diverged(f"{what} has diverged. Lower train.rate, or look for extreme values in x.")
        return decide(
            vanilla,
            every,
            cost=self.cost,
            score=score_name(self.dataset),
            rows=len(self.dataset.splits["validation"]),
            epochs=self.epochs,
            lost=[weight for weight, several in trials.items() if not several],
        )
