"""A whole training, of one run or of many at once: stages, epochs, log and checkpoints, and how it resumes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

import torch
from torch import Tensor

from csad.data.samples import Dataset
from csad.errors import Diverged, Interrupted
from csad.messages import message
from csad.methods.method import Course, Method, Stage, load_into
from csad.training import checkpoint
from csad.training.batches import MAIN, Batches, OwnBatches, StackedBatches, mix_seed
from csad.training.checkpoint import Place, State
from csad.training.device import ComputeSettings, StopRequest
from csad.training.log import Log, NanGuard
from csad.training.memory import run_bytes, stays_on_host
from csad.training.stacking import Alone, Runs, Stack, set_buffers
from csad.training.steps import Steps, optimizers_of
from csad.training.validation import EpochCallback, ValidationMonitor, held_out

LOG_EVERY = 10  # steps; five times as many for a stack, which writes each line once per run
SAVE_EVERY = 60.0  # seconds, at the next end of an epoch; the end of a stage is always saved


class TrainingListener(Protocol):
    """Follows a training."""

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """Called at each logged step; ``steps`` is the length of the whole training, ``losses`` the mean of runs."""

    def log_line(self, log: Log, line: Mapping[str, Any]) -> None:
        """Called with each line that the log of a run takes."""

    def warn(self, text: str) -> None:
        """Called once for each warning."""


def fit(
    method: Method,
    dataset: Dataset,
    listener: TrainingListener,
    compute: ComputeSettings,
    *,
    seed: int,
    log: Log | None = None,
    keep: Path | None = None,
    resume: bool = False,
    callback: EpochCallback | None = None,
) -> Log:
    """Train one run to its end and return its log; the method then has the weights.

    Raise Interrupted after Ctrl-C, once the state is saved, and Diverged if a loss is no longer a number.

    Args:
        method: The method, with fresh weights.
        dataset: Its data.
        listener: Follows the training.
        compute: How to compute.
        seed: Decides the order of mini-batches.
        log: The log to write; a new one in memory by default.
        keep: The checkpoint to save the state to.
        resume: Whether to continue from ``keep`` if it exists.
        callback: Called after epochs of the last stage.
    """
    log = log or Log()
    fit_many(
        [method], [dataset], listener, compute,
        seeds=[seed], logs=[log], names=(), keep=keep, resume=resume, callback=callback,
    )  # fmt: skip
    method.eval()
    return log


def fit_many(
    methods: Sequence[Method],
    datasets: Sequence[Dataset],
    listener: TrainingListener,
    compute: ComputeSettings,
    *,
    seeds: Sequence[int],
    logs: Sequence[Log],
    names: Sequence[str],
    keep: Path | None = None,
    resume: bool = True,
    starts: Sequence[State] = (),
    until: int | None = None,
    callback: EpochCallback | None = None,
) -> Training:
    """Train R runs as one program to their end, or until a stage; if a run diverges, the others continue.

    A single run is not stacked: it is trained as it is, in its method's own weights.

    Args:
        methods: The method of each run, with fresh weights.
        datasets: The data of each run.
        listener: Follows the training.
        compute: How to compute.
        seeds: The seed of each run.
        logs: The log of each run.
        names: The name of each run for warnings; none for a single run that needs no name.
        keep: The checkpoint to save the state to.
        resume: Whether to continue from ``keep`` if it exists.
        starts: The state from which each run begins instead of fresh weights.
        until: The number of the stage before which to stop.
        callback: Called after epochs of the last stage.
    """
    with compute.computing(methods[0].course.precision) as request:
        for method, dataset in zip(methods, datasets, strict=True):
            # On the device of the data; an earlier stage may have moved the method away.
            method.to(dataset.train.x.device).prepare(dataset.train, dataset.view)
        for method, start in zip(methods, starts, strict=True) if starts else ():
            tensors = method.named_tensors()
            load_into(start.weights, {name: tensors[name] for name in start.weights})
        batches, monitor = _rows(datasets, methods[0], seeds, compute.device, listener, callback)
        runs: Runs = Stack(methods, compute.device) if len(methods) > 1 else Alone(methods[0].to(compute.device))
        training = Training(runs, batches, logs, listener, compute, keep, request, names, monitor)
        if keep and resume and keep.exists():
            training.restore(checkpoint.read_checkpoint(keep))
        elif starts:
            training.restore(State(starts[0].place, runs.state, _stack([start.optimizers for start in starts])))
        else:
            for log in logs:
                log.cut(0)
        training.run(until)
    return training


class Training:
    """Runs of a method, their optimizers and their place in the schedule: all that changes during a training."""

    def __init__(
        self,
        runs: Runs,
        batches: Batches,
        logs: Sequence[Log],
        listener: TrainingListener,
        compute: ComputeSettings,
        keep: Path | None,
        request: StopRequest,
        names: Sequence[str],
        monitor: ValidationMonitor | None,
    ) -> None:
        self.runs, self.batches, self.logs, self.listener, self.compute = runs, batches, logs, listener, compute
        self.keep, self.request, self.names, self.monitor = keep, request, names, monitor
        self.optimizers = optimizers_of(runs, compute.device)
        self.stages = runs.method.schedule()
        self.place = Place()
        self.guard = NanGuard()
        self.lost: dict[int, str] = {}  # the runs that have diverged, and how
        self.steps = sum(stage.epochs for stage in self.stages) * batches.per_epoch
        self.log_every = LOG_EVERY if len(logs) == 1 else 5 * LOG_EVERY
        self.saved = self.started = time.monotonic()

    def restore(self, state: State) -> None:
        """Continue from the state of an earlier session, or of a training that these runs share."""
        load_into(state.weights, self.runs.state)
        self.place = state.place
        self._freeze_batch_norm()  # before the optimizers, which hold only weights that may move
        self.optimizers.load(state.optimizers)
        for log in self.logs:
            log.cut(self.place.step)
        self.started = time.monotonic() - len(self.logs) * self.logs[0].seconds()

    def state(self) -> State:
        """All that a later session needs."""
        return State(self.place, self.runs.state, self.optimizers.state())

    def state_of(self, number: int) -> State:
        """The state of one of many runs, as if it had been trained alone."""
        state = self.optimizers.state()
        if len(self.logs) > 1:
            state = {name: value if name.endswith("/steps") else value[number] for name, value in state.items()}
        return State(self.place, self.runs.slice(number), state)

    def run(self, until: int | None = None) -> None:
        """Run the stages from the present place to the end, or until that stage."""
        for stage in self.stages[self.place.stage : until]:
            if self.place.epoch == self.place.batch == 0:
                self.optimizers.renew(stage.renew)
            if self.place.epoch < stage.epochs:
                self._stage(stage)
            self.place = Place(self.place.stage + 1, 0, 0, self.place.step)
            self._freeze_batch_norm()
            if self.place.stage == len(self.stages):
                set_buffers(self.runs, self.runs.call(self.runs.method.final_weights))
            self._save()
        self._check_weights()  # a restored state that was already complete may hold runs that diverged before

    def _freeze_batch_norm(self) -> None:
        """Freeze the BatchNorm that learns in one stage only, once a first stage has moved the encoder."""
        method = self.runs.method
        past = (stage for stage in self.stages[: self.place.stage] if stage.epochs)
        if any(method.moves_encoder(line) for stage in past for line in stage.updates):
            self.optimizers.renew(method.freeze_batch_norm())

    def _stage(self, stage: Stage) -> None:
        steps = Steps(self.runs, self.batches, self.optimizers, self.place.stage, self.compute, self.listener.warn)
        try:
            for epoch in range(self.place.epoch, stage.epochs):
                self._epoch(stage, steps, epoch)
        finally:
            if steps.unrecordable:
                self.compute = replace(self.compute, record=False)  # it would fail, and warn, in the next stage again
            steps.close()

    def _epoch(self, stage: Stage, steps: Steps, epoch: int) -> None:
        batches = steps.epoch(epoch)
        for number in range(self.place.batch, len(batches)):
            if isinstance(self.batches, OwnBatches):
                # For nets with dropout: a step's random numbers follow from its place, as the order of batches does.
                torch.manual_seed(mix_seed(self.batches.seed, self.place.stage, epoch, MAIN, number))
            losses = steps(batches[number])
            self.guard.check(losses, self.place.step)
            last = number + 1 == len(batches)
            if self.place.step % self.log_every == 0 or last:
                self._log_step(stage, losses, last)
            after = {"epoch": epoch + 1, "batch": 0} if last else {"batch": number + 1}
            self.place = replace(self.place, step=self.place.step + 1, **after)
            if last:
                self._diagnose(stage)
                self._call_back()
            if self.request.pending:
                self._save()
                raise Interrupted("Give --resume to continue." if self.keep else "")
        if time.monotonic() - self.saved > SAVE_EVERY:
            self._save()

    def _log_step(self, stage: Stage, losses: dict[str, Tensor], end_of_epoch: bool) -> None:
        self._check_losses()
        place = self.place
        values = {name: self.runs.each(value) for name, value in losses.items()}
        # Common pretraining is not monitored: its model is still biased.
        monitor = self.monitor if end_of_epoch and not stage.common else None
        if due := monitor is not None and self._due(place.epoch + 1):
            self._check_weights()  # the callback may keep them
        validation = monitor.metrics(self.runs, self._living(), due=due) if monitor else {}
        seconds = round((time.monotonic() - self.started) / len(self.logs), 3)
        for k in self._living():
            line: dict[str, Any] = {"stage": stage.name, "epoch": place.epoch, "step": place.step, "seconds": seconds}
            line["losses"] = {name: value[k] for name, value in values.items()}
            if validation:
                line["validation"] = validation[k]
            self._write_line(k, line)
        mean = {name: fmean(value[k] for k in self._living()) for name, value in values.items()}
        self.listener.progress(stage, place, self.steps, mean)

    def _write_line(self, number: int, line: Mapping[str, Any]) -> None:
        self.logs[number].write(line)
        self.listener.log_line(self.logs[number], line)

    def _due(self, epoch: int) -> bool:
        """Whether the callback is to be called after this epoch."""
        callback, last = self.monitor.callback if self.monitor else None, self.place.stage + 1 == len(self.stages)
        return callback is not None and last and callback.due(epoch, self.stages[-1].epochs)

    def _call_back(self) -> None:
        if self.monitor and self.monitor.callback and self._due(self.place.epoch):
            living = self._living()
            logs = [self.logs[k] for k in living]
            self.monitor.callback.on_epoch(self.place.epoch, logs, lambda number: self._final_state(living[number]))

    def _final_state(self, number: int) -> State:
        """The state with which a run would end here, without what it would need to continue."""
        final = self.runs.call_for(number, self.runs.method.final_weights)
        place = Place(len(self.stages), 0, 0, self.place.step)
        return State(place, {**self.runs.slice(number), **final}, {})

    def _living(self) -> list[int]:
        return [k for k in range(len(self.logs)) if k not in self.lost]

    def _diagnose(self, stage: Stage) -> None:
        """Warn of what the curves of a run show, each thing once."""
        for k in self._living():
            log = self.logs[k]
            warned = log.warnings()
            for text in self.runs.call_for(k, self.runs.method.diagnose, stage.name, log.curves(stage.name)):
                if text not in warned:
                    self._write_line(k, {"stage": stage.name, "step": self.place.step - 1, "warning": text})
                    self.listener.warn(f"{self.names[k]}: {text}" if self.names else text)

    def _save(self) -> None:
        self._check_losses()
        self._check_weights()
        if self.keep:
            checkpoint.save(self.keep, self.state())
        if self.monitor and self.monitor.callback:
            self.monitor.callback.on_save()
        self.saved = time.monotonic()

    def _check_weights(self) -> None:
        for k in self._living():
            if not checkpoint.weights_finite(self.runs.slice(k)):
                self._give_up(k, f"A weight or buffer is not a number after step {self.place.step - 1}")

    def _check_losses(self) -> None:
        for k, bad in enumerate(self.guard.first(self.runs.each)):
            if bad and k not in self.lost:
                self._give_up(k, f"The loss of the update '{bad[0]}' is not a number at step {bad[1]}")

    def _give_up(self, number: int, what: str) -> None:
        """Give up a run that has diverged. The others continue; raise Diverged if none is left."""
        self.lost[number] = what
        if len(self.lost) < len(self.logs):
            text = message("diverged-run-stopped", problem=what)
            stage = self.stages[min(self.place.stage, len(self.stages) - 1)]
            self._write_line(number, {"stage": stage.name, "step": self.place.step, "warning": text})
            self.listener.warn(f"{self.names[number]}: {text}")
            return
        saved = "; the last good checkpoint is kept" if self.keep and self.keep.exists() else ""
        raise Diverged(f"{what}{saved}. Lower train.rate or debias_weight, or look for extreme values in x.")


def _rows(
    datasets: Sequence[Dataset],
    method: Method,
    seeds: Sequence[int],
    device: torch.device,
    listener: TrainingListener,
    callback: EpochCallback | None,
) -> tuple[Batches, ValidationMonitor | None]:
    """The training rows of all runs; and their validation rows, if all have some."""
    needed = cache(lambda: run_bytes(method, datasets[0]))
    batches, validation = _batches(datasets, method.course, seeds, device, needed), held_out(datasets)
    if batches.on_host:
        listener.warn(message("x-stays-on-host", size=datasets[0].train.x.nbytes / 1000000000.0, device=device))
    if not validation:
        return batches, None
    return batches, ValidationMonitor(_batches(validation, method.course, seeds, device, needed), callback)


def _batches(
    datasets: Sequence[Dataset],
    course: Course,
    seeds: Sequence[int],
    device: torch.device,
    needed: Callable[[], int],
) -> Batches:
    """The rows of one run, with x on the device if it fits beside the bytes that are needed; or those of a stack."""
    if len(datasets) > 1:
        return StackedBatches(datasets, course, seeds, device)
    on_host = stays_on_host(datasets[0].train.x, device, needed)
    return OwnBatches(datasets[0], course, seeds[0], device, on_host=on_host)


def _stack(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Optimizer states of single runs as one; all runs have made the same number of steps."""
    if len(states) == 1:
        return states[0]
    return {
        name: value if name.endswith("/steps") else torch.stack([state[name] for state in states])
        for name, value in states[0].items()
    }
