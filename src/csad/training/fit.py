"""A whole training, of one run or of many at once, from fresh weights or from where one stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from csad.data.samples import Dataset
from csad.methods.method import Course, Method
from csad.training import checkpoint
from csad.training.batches import Batches, OwnBatches, StackedBatches
from csad.training.checkpoint import State
from csad.training.device import Way
from csad.training.footprint import run_bytes, stays_on_host
from csad.training.log import Log
from csad.training.stack import Alone, Runs, Stack
from csad.training.stages import Listener, Training
from csad.training.watch import Onlooker, Watch, held_out


def fit(
    method: Method,
    dataset: Dataset,
    listener: Listener,
    way: Way,
    *,
    seed: int,
    log: Log | None = None,
    keep: Path | None = None,
    resume: bool = False,
    onlooker: Onlooker | None = None,
) -> Log:
    """The log of a training run to its end; the method holds the weights.

    With ``keep`` the state is saved there; with ``resume`` it is first taken from there. Raises Interrupted after a
    Ctrl-C, its state saved, and Diverged when a loss is no longer a number.
    """
    log = log or Log()
    going_on = resume and keep is not None and keep.exists()
    with way.computing(method.course.precision) as request:
        if not going_on:
            method.to(dataset.train.x.device).prepare(dataset.train, dataset.view)  # where the data lie
        batches, watch = _rows([dataset], method, [seed], way.device, listener, onlooker)
        training = Training(Alone(method.to(way.device)), batches, [log], listener, way, keep, request, watch=watch)
        if keep and going_on:
            training.take_up(checkpoint.load(keep))
        else:
            log.cut(0)
        training.run()
    method.eval()
    return log


def fit_many(
    methods: Sequence[Method],
    datasets: Sequence[Dataset],
    listener: Listener,
    way: Way,
    *,
    seeds: Sequence[int],
    logs: Sequence[Log],
    names: Sequence[str],
    keep: Path | None = None,
    starts: Sequence[State] = (),
    until: int | None = None,
    onlooker: Onlooker | None = None,
) -> Training:
    """R runs trained as one program to their end, or until a stage; a run that diverges is lost, the others go on.

    What ``keep`` holds is taken up first. Else each run begins with its state in ``starts``, or from fresh weights.
    A single run is not stacked: it is trained as it is, in its method's own weights.
    """
    for method, dataset in zip(methods, datasets, strict=True):
        method.cpu().prepare(dataset.train, dataset.view)  # where the data lie; an earlier stage may have moved it
    for method, start in zip(methods, starts, strict=True) if starts else ():
        own = Alone(method).state
        checkpoint.put(start.weights, {name: own[name] for name in start.weights})
    with way.computing(methods[0].course.precision) as request:
        batches, watch = _rows(datasets, methods[0], seeds, way.device, listener, onlooker)
        runs: Runs = Stack(methods, way.device) if len(methods) > 1 else Alone(methods[0].to(way.device))
        training = Training(runs, batches, logs, listener, way, keep, request, names, watch)
        if keep and keep.exists():
            training.take_up(checkpoint.load(keep))
        elif starts:
            optimisers = _stacked([start.optimisers for start in starts])
            training.take_up(State(starts[0].place, runs.state, optimisers))
        else:
            for log in logs:
                log.cut(0)
        training.run(until)
    return training


def _rows(
    datasets: Sequence[Dataset],
    method: Method,
    seeds: Sequence[int],
    device: torch.device,
    listener: Listener,
    onlooker: Onlooker | None,
) -> tuple[Batches, Watch | None]:
    """The training rows of all runs; and the validation rows, where all have some."""
    needed = cache(lambda: run_bytes(method, datasets[0]))
    batches, rest = _batches(datasets, method.course, seeds, device, needed), held_out(datasets)
    if batches.on_host:
        listener.warn(
            f"x of the training rows ({datasets[0].train.x.nbytes / 1e9:.1f} GB) does not fit on {device} beside what "
            "training needs: it stays on the host, and each mini-batch is brought from there, which may be slower."
        )
    return batches, Watch(_batches(rest, method.course, seeds, device, needed), onlooker) if rest else None


def _batches(
    datasets: Sequence[Dataset],
    course: Course,
    seeds: Sequence[int],
    device: torch.device,
    needed: Callable[[], int],
) -> Batches:
    """The rows of one run, whose x lies on the device where it fits beside what is needed; or those of a stack."""
    if len(datasets) > 1:
        return StackedBatches(datasets, course, seeds, device)
    on_host = stays_on_host(datasets[0].train.x, device, needed)
    return OwnBatches(datasets[0], course, seeds[0], device, on_host=on_host)


def _stacked(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Optimisers' states of single runs as one; all runs have made the same number of steps."""
    if len(states) == 1:
        return states[0]
    return {
        name: value if name.endswith("/steps") else torch.stack([state[name] for state in states])
        for name, value in states[0].items()
    }
