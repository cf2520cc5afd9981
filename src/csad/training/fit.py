"""A whole training: stages, epochs, log, checkpoints, and going on where one stopped."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from csad.data.samples import Dataset
from csad.errors import Diverged, Interrupted
from csad.methods.method import Method, Stage
from csad.training import checkpoint
from csad.training.batches import OWN, Batches, Feed, mixed
from csad.training.checkpoint import Place
from csad.training.descent import Optimisers
from csad.training.device import computing_in, repeatable
from csad.training.iterate import iterate
from csad.training.log import Guard, Log
from csad.training.stop import Request, stop_request

LOG_EVERY = 10  # steps
SAVE_EVERY = 60.0  # seconds, at the next end of an epoch; the end of a stage is always saved


class Listener(Protocol):
    """Hears how a training goes."""

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """Called at each logged step; ``steps`` is how many the whole training makes."""

    def warn(self, text: str) -> None:
        """Called once for each piece of advice."""


def fit(
    method: Method,
    dataset: Dataset,
    listener: Listener,
    *,
    seed: int,
    device: torch.device,
    log: Log | None = None,
    keep: Path | None = None,
    resume: bool = False,
    deterministic: bool = False,
) -> Log:
    """The log of a training run to its end; the method holds the weights.

    With ``keep`` the state is saved there; with ``resume`` it is first taken from there. Raises Interrupted after a
    Ctrl-C, its state saved, and Diverged when a loss is no longer a number.
    """
    method.to(device)
    with stop_request() as request, repeatable(device, deterministic), computing_in(method.course.precision):
        batches = Batches(dataset, method.course, seed, device)
        training = Training(method, batches, log or Log(), listener, keep, request)
        training.begin(resume)
        training.run()
    method.eval()
    return training.log


class Training:
    """A method, its optimisers and its place in the schedule: all that changes while training."""

    def __init__(
        self, method: Method, batches: Batches, log: Log, listener: Listener, keep: Path | None, request: Request
    ) -> None:
        self.method, self.batches, self.log, self.listener = method, batches, log, listener
        self.keep, self.request = keep, request
        self.optimisers = Optimisers(method, method.course.optimiser, method.course.weight_decay)
        self.stages = method.schedule()
        self.place = Place()
        self.guard = Guard()
        self.steps = sum(stage.epochs for stage in self.stages) * batches.per_epoch
        self.saved = self.started = time.monotonic()

    def begin(self, resume: bool) -> None:
        """Takes up the state of an earlier sitting, or makes a start."""
        if resume and self.keep and self.keep.exists():
            self.place, state = checkpoint.load(self.keep, self.method)
            self.optimisers.load(state)
        else:
            self.method.prepare(self.batches.train)
        self.log.cut(self.place.step)
        self.started -= self.log.seconds()

    def run(self) -> None:
        """Runs the stages from the present place to the end."""
        for stage in self.stages[self.place.stage :]:
            if self.place.epoch == self.place.batch == 0:
                self.optimisers.renew(stage.renew)
            if self.place.epoch < stage.epochs:
                feed = Feed(self.method, self.batches, stage.updates, self.place.stage)
                for epoch in range(self.place.epoch, stage.epochs):
                    self._epoch(stage, feed, epoch)
            self.place = Place(self.place.stage + 1, 0, 0, self.place.step)
            self._save()

    def _epoch(self, stage: Stage, feed: Feed, epoch: int) -> None:
        batches = feed.epoch(epoch)
        for number in range(self.place.batch, len(batches)):
            own, fresh = batches[number]
            # For nets with dropout: random numbers of a step follow from its place, as the order of batches does.
            torch.manual_seed(mixed(self.batches.seed, self.place.stage, epoch, OWN, number))
            losses = iterate(self.method, stage.updates, own, fresh, self.optimisers, stage.rate_at(epoch))
            self.guard.see(losses, self.place.step)
            last = number + 1 == len(batches)
            if self.place.step % LOG_EVERY == 0 or last:
                self._note(stage, losses)
            after = {"epoch": epoch + 1, "batch": 0} if last else {"batch": number + 1}
            self.place = replace(self.place, step=self.place.step + 1, **after)
            if last:
                self._advise(stage)
            if self.request.made:
                self._save()
                raise Interrupted("Give --resume to go on." if self.keep else "")
        if time.monotonic() - self.saved > SAVE_EVERY:
            self._save()

    def _note(self, stage: Stage, losses: dict[str, Tensor]) -> None:
        self._check()
        values = {name: float(value) for name, value in losses.items()}
        place, seconds = self.place, round(time.monotonic() - self.started, 3)
        line = {"stage": stage.name, "epoch": place.epoch, "step": place.step, "losses": values, "seconds": seconds}
        self.log.write(line)
        self.listener.progress(stage, place, self.steps, values)

    def _advise(self, stage: Stage) -> None:
        given = self.log.warnings()
        for text in self.method.symptoms(stage.name, self.log.curves(stage.name)):
            if text not in given:
                self.log.write({"stage": stage.name, "step": self.place.step - 1, "warning": text})
                self.listener.warn(text)

    def _save(self) -> None:
        self._check()
        if not checkpoint.all_finite(self.method):
            raise self._diverged(f"A weight is not a number after step {self.place.step - 1}")
        if self.keep:
            checkpoint.save(self.keep, self.method, self.optimisers.state(), self.place)
        self.saved = time.monotonic()

    def _check(self) -> None:
        if bad := self.guard.first():
            raise self._diverged(f"The loss of the update '{bad[0]}' is not a number at step {bad[1]}")

    def _diverged(self, what: str) -> Diverged:
        kept = "; the last good checkpoint is kept" if self.keep and self.keep.exists() else ""
        return Diverged(f"{what}{kept}. Lower train.rate or debias_weight, or look for extreme values in x.")
