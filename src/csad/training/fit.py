"""A whole training: stages, epochs, log, checkpoints, and going on where one stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from csad.data.samples import Dataset
from csad.errors import Diverged, Interrupted
from csad.methods.method import Encoded, Method, Stage
from csad.training import checkpoint
from csad.training.batches import FRESH, Batches
from csad.training.checkpoint import Place
from csad.training.descent import Optimisers
from csad.training.device import exactness
from csad.training.iterate import iterate, moves_encoder
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


@dataclass
class Training:
    """One method, its optimisers and its place in the schedule: all that changes while training."""

    method: Method
    batches: Batches
    optimisers: Optimisers
    log: Log
    listener: Listener
    keep: Path | None  # where the checkpoint goes
    place: Place
    started: float  # of the clock, less what earlier sittings took
    saved: float
    request: Request
    steps: int = 0


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
    course = method.course
    optimisers = Optimisers(method, course.optimiser, course.weight_decay)
    log = log or Log()
    place = Place()
    if resume and keep and keep.exists():
        place, state = checkpoint.load(keep, method)
        optimisers.load(state)
        log.cut(place.step)
    else:
        method.prepare(dataset.train.to(device))
        log.cut(0)
    batches = Batches(dataset, course, seed, device)
    now = time.monotonic()
    with stop_request() as request, exactness(course.precision, deterministic):
        started = now - log.seconds()
        training = Training(method, batches, optimisers, log, listener, keep, place, started, now, request)
        stages = method.schedule()
        per_epoch = len(batches.order(0, 0))
        training.steps = sum(stage.epochs for stage in stages) * per_epoch
        for number in range(place.stage, len(stages)):
            _run_stage(training, stages[number])
    method.eval()
    return log


def _run_stage(t: Training, stage: Stage) -> None:
    if t.place.epoch == t.place.batch == 0:
        t.optimisers.renew(stage.renew)
    guard = Guard()
    # h of the whole training set, where this stage leaves F alone.
    still = not any(moves_encoder(t.method, line) for line in stage.updates)
    cache = t.batches.encode_all(t.method) if still and stage.epochs > t.place.epoch else None

    def source(rows: Tensor, gradient: bool) -> Encoded:
        return cache(rows) if cache else t.batches.encode(t.method, rows, gradient)

    draws = sum(line.repeat for line in stage.updates if line.batch == "fresh")
    for epoch in range(t.place.epoch, stage.epochs):
        rate = stage.rate_at(epoch)
        order = t.batches.order(t.place.stage, epoch)
        others = t.batches.order(t.place.stage, epoch, FRESH) if draws else []
        for number in range(t.place.batch, len(order)):
            rows = order[number]
            following = iter(others[(number * draws + k) % len(others)] for k in range(draws))
            losses = iterate(
                t.method,
                stage.updates,
                lambda gradient, rows=rows: source(rows, gradient),  # type: ignore[misc]
                lambda gradient, following=following: source(next(following), gradient),  # type: ignore[misc]
                t.optimisers,
                rate,
            )
            guard.see(losses, t.place.step)
            last = number + 1 == len(order)
            if t.place.step % LOG_EVERY == 0 or last:
                guard.check()
                _note(t, stage, epoch, losses)
            t.place = replace(t.place, epoch=epoch + last, batch=0 if last else number + 1, step=t.place.step + 1)
            if t.request.made:
                guard.check()
                _save(t)
                raise Interrupted
        _warn(t, stage)
        if time.monotonic() - t.saved > SAVE_EVERY and epoch + 1 < stage.epochs:
            _save(t)
    t.place = Place(t.place.stage + 1, 0, 0, t.place.step)
    _save(t)


def _note(t: Training, stage: Stage, epoch: int, losses: dict[str, Tensor]) -> None:
    values = {name: float(value) for name, value in losses.items()}
    seconds = round(time.monotonic() - t.started, 3)
    t.log.write({"stage": stage.name, "epoch": epoch, "step": t.place.step, "losses": values, "seconds": seconds})
    t.listener.progress(stage, t.place, t.steps, values)


def _warn(t: Training, stage: Stage) -> None:
    given = t.log.warnings()
    for text in t.method.symptoms(stage.name, t.log.curves(stage.name)):
        if text not in given:
            t.log.write({"stage": stage.name, "step": t.place.step - 1, "warning": text})
            t.listener.warn(text)


def _save(t: Training) -> None:
    if not t.keep:
        return
    if not checkpoint.all_finite(t.method):
        raise Diverged(
            f"A weight is not a number after step {t.place.step - 1}; the last good checkpoint is kept. "
            "Lower train.rate."
        )
    checkpoint.save(t.keep, t.method, t.optimisers.state(), t.place)
    t.saved = time.monotonic()
