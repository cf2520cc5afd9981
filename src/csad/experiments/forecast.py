"""How long a campaign will take and how much memory, told before it begins: a few real steps of each kind, timed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from csad.errors import Interrupted
from csad.experiments.many import Campaign
from csad.experiments.pretraining import common_stages, key
from csad.experiments.timing import epoch_seconds
from csad.experiments.wanted import Ready
from csad.methods.method import Stage
from csad.training.batches import batches_per_epoch
from csad.training.checkpoint import Place
from csad.training.footprint import run_bytes
from csad.training.stack import why_not_stacked


@dataclass(frozen=True)
class Forecast:
    """What is still to be done, and what it will take."""

    runs: int
    stacks: int
    seconds: float
    bytes: int

    def told(self, device: str) -> str:
        """The forecast in a sentence."""
        one = f"{self.runs} run{'s' * (self.runs > 1)} in {self.stacks} program{'s' * (self.stacks > 1)}"
        memory = f"{self.bytes / 2**30:.1f} GiB" if self.bytes >= 2**30 else f"{math.ceil(self.bytes / 2**20)} MiB"
        return f"{one} on {device}: about {duration(self.seconds)} and {memory} of memory."


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def carry_out(campaign: Campaign, name: str, runs: Sequence[Ready], go_on: str) -> list[str]:
    """Says what the runs that are not there yet will take, and makes them; gives the names of those that were lost.

    ``go_on`` says how to go on after a Ctrl-C.
    """
    try:
        return _carry_out(campaign, name, runs)
    except KeyboardInterrupt:
        raise Interrupted(go_on) from None


def _carry_out(campaign: Campaign, name: str, runs: Sequence[Ready]) -> list[str]:
    campaign.complete(runs)
    stacks = campaign.stacked(runs)
    device, missing = campaign.way.device, sum(map(len, stacks))
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "the CPU"
    done = f", {len(runs) - missing} of them are there already" if missing < len(runs) else ""
    campaign.teller.say(f"{name}: {len(runs)} run{'s' * (len(runs) > 1)}{done}.")
    if stacks:
        campaign.teller.say(forecast(campaign, stacks).told(where))
    return [name for stack in stacks for name in campaign.programs.train(stack)]


def forecast(campaign: Campaign, stacks: Sequence[Sequence[Ready]]) -> Forecast:
    """What the stacks still take; what was done before, and pretraining that an earlier stack makes, counts nothing."""
    seconds, most = 0.0, 0
    planned: set[str] = set()
    known: dict[tuple[str, int, int], float] = {}  # what one run of a kind takes, another does not take to time again
    sizes: dict[str, int] = {}
    for stack in stacks:
        first, kind = stack[0], stack[0].kind()
        data = {id(run.dataset): run.dataset.train.x.nbytes for run in stack}
        if kind not in sizes:
            sizes[kind] = run_bytes(first.method, first.dataset)
        most = max(most, sum(data.values()) + len(stack) * sizes[kind])
        shared = 0 if why_not_stacked(first.method) else common_stages(first.method)
        for number, stage in enumerate(first.method.schedule()):
            runs, common = list(stack), number + 1 if number < shared else None
            if common:
                runs = _missing(campaign, stack, common, planned)
            if runs and (epochs := _epochs_left(stage, number, campaign.programs.place_of(runs, common), first)):
                place = kind, number, len(runs)
                if place not in known:
                    known[place] = epoch_seconds(runs, number, campaign.way)
                seconds += epochs * known[place]
    return Forecast(sum(map(len, stacks)), len(stacks), seconds, most)


def _missing(campaign: Campaign, stack: Sequence[Ready], stages: int, planned: set[str]) -> list[Ready]:
    """The runs that make what the first stages lead to, each for all that share it; ``planned`` then has it."""
    words: dict[str, Ready] = {}
    for run in stack:
        words.setdefault(key(run.config, run.method, stages), run)
    found = [run for word, run in words.items() if word not in planned and not campaign.programs.pretrained.holds(word)]
    planned.update(words)
    return found


def _epochs_left(stage: Stage, number: int, place: Place, run: Ready) -> float:
    """How much of a stage is still to be done, from the place where a training will go on."""
    if place.stage != number:
        return stage.epochs if place.stage < number else 0
    return stage.epochs - place.epoch - place.batch / batches_per_epoch(run.dataset.train.y, run.method.course)
