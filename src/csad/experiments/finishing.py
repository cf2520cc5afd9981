"""The end of runs: their figures are taken, their weights kept or let go, their results written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import torch

from csad.data.samples import Dataset
from csad.experiments.account import environment, result_of
from csad.experiments.answers import answers_of, write_answers
from csad.experiments.listeners import Teller
from csad.experiments.run import Run, evaluate
from csad.experiments.selection import forget_epochs
from csad.experiments.threshold import threshold_in
from csad.training import checkpoint
from csad.training.checkpoint import State
from csad.training.device import Way, memory_told
from csad.training.footprint import stays_on_host
from csad.training.log import Log
from csad.training.stack import Alone

if TYPE_CHECKING:
    from csad.experiments.wanted import Ready


class Ended(NamedTuple):
    """A run that has come to its end: its final state and its log."""

    run: Ready
    state: State
    log: Log


def finish(runs: Sequence[Ended], way: Way, teller: Teller, *, together: int, keep_weights: bool) -> None:
    """Writes what is left of runs that were trained ``together``; the figures of each last.

    All are measured before the first is written: a stop in between leaves the stack as it was kept, not a part of it.
    """
    if probed := sum(bool(one.run.wanted.probed) for one in runs):
        teller.say(f"Reading the bias out of h and h_y of {probed} run{'s' * (probed > 1)} with fresh probes …")
    measured = []
    for one in runs:
        wanted, about = one.run.wanted, environment(way, one.run.method.course.precision)
        with _awake(one, way.device) as (run, dataset):
            result = result_of(run, dataset, wanted.plan, about, wanted.probed) | {"stacked": together}
            measured.append((result, answers_of(run, dataset, wanted)))
    for one, (result, answers) in zip(runs, measured, strict=True):
        folder = one.run.folder
        write_answers(folder, answers)
        if keep_weights:
            checkpoint.save(folder.checkpoint, one.state)
        else:
            folder.checkpoint.unlink(missing_ok=True)
        folder.write_result(result)
        forget_epochs(folder.path, one.run.method)


def measure_again(ready: Ready, way: Way) -> None:
    """Adds the figures that a finished run lacks, from the weights that were kept; those it has stay as they are."""
    folder = ready.folder
    result = folder.read_result() or {}
    with _awake(Ended(ready, checkpoint.load(folder.checkpoint), Log(folder.log)), way.device) as (run, dataset):
        run.threshold = threshold_in(result)
        found = evaluate(run, dataset, probed=ready.wanted.probed)
        write_answers(folder, answers_of(run, dataset, ready.wanted))
    before = result["metrics"]
    folder.write_result(result | {"metrics": {split: found[split] | before.get(split, {}) for split in found}})


@contextmanager
def _awake(ended: Ended, device: torch.device) -> Iterator[tuple[Run, Dataset]]:
    """The run with its final weights, and its data, on the device as long as they are looked at and fit there."""
    with memory_told(device):
        ready, method = ended.run, ended.run.method.to(device).eval()
        checkpoint.put(ended.state.weights, Alone(method).state, str(ready.folder.checkpoint))
        splits = {
            name: samples if stays_on_host(samples.x, device, needed=lambda: 0) else samples.to(device)
            for name, samples in ready.dataset.splits.items()
        }
        run = Run(method, ready.config, {}, ended.log, ready.wanted.out, ready.dataset.view)
        yield run, replace(ready.dataset, splits=splits)
        method.to("cpu")
