"""Runs on their way through a schedule: stages, epochs, log, checkpoints, and going on where one stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

import torch

from csad.errors import Diverged, Interrupted
from csad.methods.method import Stage
from csad.training import checkpoint
from csad.training.batches import OWN, Batches, OwnBatches, mixed
from csad.training.checkpoint import Place, State
from csad.training.device import Way
from csad.training.iterate import moves_encoder, put
from csad.training.log import Guard, Log
from csad.training.record import Losses
from csad.training.stack import Runs
from csad.training.steps import Steps, optimisers_of
from csad.training.stop import Request
from csad.training.watch import Watch

LOG_EVERY = 10  # steps; of a stack, whose every line is written once per run, five times as many
SAVE_EVERY = 60.0  # seconds, at the next end of an epoch; the end of a stage is always saved


class Listener(Protocol):
    """Hears how a training goes."""

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """Called at each logged step; ``steps`` is how many the whole training makes, ``losses`` the mean of runs."""

    def warn(self, text: str) -> None:
        """Called once for each piece of advice."""


class Training:
    """Runs of a method, their optimisers and their place in the schedule: all that changes while training."""

    def __init__(
        self,
        runs: Runs,
        batches: Batches,
        logs: Sequence[Log],
        listener: Listener,
        way: Way,
        keep: Path | None,
        request: Request,
        names: Sequence[str] = (),
        watch: Watch | None = None,
    ) -> None:
        self.runs, self.batches, self.logs, self.listener, self.way = runs, batches, logs, listener, way
        self.keep, self.request, self.names, self.watch = keep, request, names, watch
        self.optimisers = optimisers_of(runs, way.device)
        self.stages = runs.method.schedule()
        self.place = Place()
        self.guard = Guard()
        self.lost: dict[int, str] = {}  # which runs have diverged, and how
        self.steps = sum(stage.epochs for stage in self.stages) * batches.per_epoch
        self.log_every = LOG_EVERY if len(logs) == 1 else 5 * LOG_EVERY
        self.saved = self.started = time.monotonic()

    def take_up(self, state: State) -> None:
        """Goes on from the state of an earlier sitting, or of a training that these runs share."""
        checkpoint.put(state.weights, self.runs.state)
        self.place = state.place
        self._rest()  # before the optimisers, which hold only what may move
        self.optimisers.load(state.optimisers)
        for log in self.logs:
            log.cut(self.place.step)
        self.started = time.monotonic() - len(self.logs) * self.logs[0].seconds()

    def state(self) -> State:
        """All that a later sitting needs."""
        return State(self.place, self.runs.state, self.optimisers.state())

    def state_of(self, number: int) -> State:
        """The state of one of many runs, as if it had been trained alone."""
        own = self.optimisers.state()
        if len(self.logs) > 1:
            own = {name: value if name.endswith("/steps") else value[number] for name, value in own.items()}
        return State(self.place, self.runs.slice(number), own)

    def run(self, until: int | None = None) -> None:
        """Runs the stages from the present place to the end, or until that stage."""
        for stage in self.stages[self.place.stage : until]:
            if self.place.epoch == self.place.batch == 0:
                self.optimisers.renew(stage.renew)
            if self.place.epoch < stage.epochs:
                self._stage(stage)
            self.place = Place(self.place.stage + 1, 0, 0, self.place.step)
            self._rest()
            if self.place.stage == len(self.stages):
                put(self.runs, self.runs.call(self.runs.method.settled))
            self._save()
        self._check_weights()  # what was kept when all was done may hold runs that were lost before

    def _rest(self) -> None:
        """Once a first stage has moved the encoder, what was to learn in it alone is put to rest."""
        method = self.runs.method
        over = (stage for stage in self.stages[: self.place.stage] if stage.epochs)
        if any(moves_encoder(method, line) for stage in over for line in stage.updates):
            self.optimisers.renew(method.rest())

    def _stage(self, stage: Stage) -> None:
        steps = Steps(self.runs, self.batches, self.optimisers, self.place.stage, self.way, self.listener.warn)
        try:
            for epoch in range(self.place.epoch, stage.epochs):
                self._epoch(stage, steps, epoch)
        finally:
            if steps.unrecordable:
                self.way = replace(self.way, record=False)  # it would fail, and warn, in the next stage again
            steps.close()

    def _epoch(self, stage: Stage, steps: Steps, epoch: int) -> None:
        batches = steps.epoch(epoch)
        for number in range(self.place.batch, len(batches)):
            if isinstance(self.batches, OwnBatches):
                # For nets with dropout: random numbers of a step follow from its place, as the order of batches does.
                torch.manual_seed(mixed(self.batches.seed, self.place.stage, epoch, OWN, number))
            losses = steps(batches[number])
            self.guard.see(losses, self.place.step)
            last = number + 1 == len(batches)
            if self.place.step % self.log_every == 0 or last:
                self._note(stage, losses, last)
            after = {"epoch": epoch + 1, "batch": 0} if last else {"batch": number + 1}
            self.place = replace(self.place, step=self.place.step + 1, **after)
            if last:
                self._advise(stage)
                self._show()
            if self.request.made:
                self._save()
                raise Interrupted("Give --resume to go on." if self.keep else "")
        if time.monotonic() - self.saved > SAVE_EVERY:
            self._save()

    def _note(self, stage: Stage, losses: Losses, end_of_epoch: bool) -> None:
        self._check()
        place = self.place
        values = {name: self.runs.each(value) for name, value in losses.items()}
        # Pretraining is not watched: what comes of it is still biased.
        watch = self.watch if end_of_epoch and not stage.common else None
        if looks := watch is not None and self._due(place.epoch + 1):
            self._check_weights()  # what is looked at may be kept
        held_out = watch.figures(self.runs, self._living(), looks=looks) if watch else {}
        seconds = round((time.monotonic() - self.started) / len(self.logs), 3)
        for k in self._living():
            line: dict[str, Any] = {"stage": stage.name, "epoch": place.epoch, "step": place.step, "seconds": seconds}
            line["losses"] = {name: value[k] for name, value in values.items()}
            if held_out:
                line["validation"] = held_out[k]
            self.logs[k].write(line)
        mean = {name: fmean(value[k] for k in self._living()) for name, value in values.items()}
        self.listener.progress(stage, place, self.steps, mean)
        if advice := self.way.crowd.advice(self.way.device):
            self.listener.warn(advice)

    def _due(self, epoch: int) -> bool:
        """Whether somebody wants to look at the runs after this epoch."""
        onlooker, last = self.watch.onlooker if self.watch else None, self.place.stage + 1 == len(self.stages)
        return onlooker is not None and last and onlooker.due(epoch, self.stages[-1].epochs)

    def _show(self) -> None:
        """Shows what the runs have come to after an epoch."""
        if self.watch and self.watch.onlooker and self._due(self.place.epoch):
            living = self._living()
            logs = [self.logs[k] for k in living]
            self.watch.onlooker.looked(self.place.epoch, logs, lambda number: self._ended(living[number]))

    def _ended(self, number: int) -> State:
        """The state with which a run would end here, without what only going on needs."""
        settled = self.runs.look(number, self.runs.method.settled)
        place = Place(len(self.stages), 0, 0, self.place.step)
        return State(place, {**self.runs.slice(number), **settled}, {})

    def _living(self) -> list[int]:
        return [k for k in range(len(self.logs)) if k not in self.lost]

    def _advise(self, stage: Stage) -> None:
        for k in self._living():
            log = self.logs[k]
            given = log.warnings()
            for text in self.runs.look(k, self.runs.method.symptoms, stage.name, log.curves(stage.name)):
                if text not in given:
                    self._write_warning(k, stage, text)

    def _write_warning(self, number: int, stage: Stage, text: str) -> None:
        self.logs[number].write({"stage": stage.name, "step": self.place.step - 1, "warning": text})
        self.listener.warn(f"{self.names[number]}: {text}" if self.names else text)

    def _save(self) -> None:
        self._check()
        self._check_weights()
        if self.keep:
            checkpoint.save(self.keep, self.state())
        if self.watch and self.watch.onlooker:
            self.watch.onlooker.saved()
        self.saved = time.monotonic()

    def _check_weights(self) -> None:
        for k in self._living():
            if not checkpoint.all_finite(self.runs.slice(k)):
                self._lose(k, f"A weight or buffer is not a number after step {self.place.step - 1}")

    def _check(self) -> None:
        for k, bad in enumerate(self.guard.first(self.runs.each)):
            if bad and k not in self.lost:
                self._lose(k, f"The loss of the update '{bad[0]}' is not a number at step {bad[1]}")

    def _lose(self, number: int, what: str) -> None:
        """A run that has diverged is out; the others go on, and when none is left all stops."""
        self.lost[number] = what
        if len(self.lost) < len(self.logs):
            text = f"{what}: this run is given up, the others go on."
            stage = self.stages[min(self.place.stage, len(self.stages) - 1)]
            self.logs[number].write({"stage": stage.name, "step": self.place.step, "warning": text})
            self.listener.warn(f"{self.names[number]}: {text}")
            return
        kept = "; the last good checkpoint is kept" if self.keep and self.keep.exists() else ""
        raise Diverged(f"{what}{kept}. Lower train.rate or debias_weight, or look for extreme values in x.")
