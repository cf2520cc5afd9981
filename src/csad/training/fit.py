"""A whole training, of one run or of many at once, from fresh weights or from where one stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from csad.data.samples import Dataset
from csad.methods.method import Course, Method
from csad.training import checkpoint
from csad.training.batches import Batches, OwnBatches, StackedBatches
from csad.training.checkpoint import State
from csad.training.device import Way
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
    method.to(way.device)
    log = log or Log()
    with way.computing(method.course.precision) as request:
        batches = OwnBatches(dataset, method.course, seed, way.device)
        watch = _watch([dataset], method.course, [seed], way.device, onlooker)
        training = Training(Alone(method), batches, [log], listener, way, keep, request, watch=watch)
        if resume and keep and keep.exists():
            training.take_up(checkpoint.load(keep))
        else:
            method.prepare(batches.train, dataset.view)
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
    runs: Runs = Stack(methods, way.device) if len(methods) > 1 else Alone(methods[0].to(way.device))
    with way.computing(runs.method.course.precision) as request:
        batches = _batches(datasets, runs.method.course, seeds, way.device)
        watch = _watch(datasets, runs.method.course, seeds, way.device, onlooker)
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


def _batches(datasets: Sequence[Dataset], course: Course, seeds: Sequence[int], device: torch.device) -> Batches:
    """The rows of one run, or of a stack."""
    if len(datasets) == 1:
        return OwnBatches(datasets[0], course, seeds[0], device)
    return StackedBatches(datasets, course, seeds, device)


def _watch(
    datasets: Sequence[Dataset],
    course: Course,
    seeds: Sequence[int],
    device: torch.device,
    onlooker: Onlooker | None,
) -> Watch | None:
    """The validation rows of all runs, where all have some."""
    rest = held_out(datasets)
    return Watch(_batches(rest, course, seeds, device), onlooker) if rest else None


def _stacked(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Optimisers' states of single runs as one; all runs have made the same number of steps."""
    if len(states) == 1:
        return states[0]
    return {
        name: value if name.endswith("/steps") else torch.stack([state[name] for state in states])
        for name, value in states[0].items()
    }
