"""The run that was chosen: an ordinary one of its weight, whose last stage has as many epochs as were chosen."""

from __future__ import annotations

from pathlib import Path

from csad.data.tables.owned import preparation_of
from csad.errors import InputError
from csad.experiments.account import environment, result_of
from csad.experiments.choices.asked import Asked
from csad.experiments.choices.choice import Choice
from csad.experiments.choices.looks import until
from csad.experiments.choices.occasion import WEIGHT, with_epochs
from csad.experiments.epochs import weights_after
from csad.experiments.run import Run, rebuilt
from csad.experiments.wanted import Ready
from csad.training import checkpoint
from csad.training.device import Way
from csad.training.log import Log
from csad.training.stack import Alone


def weights_taken(run: Ready, choice: Choice) -> Path:
    """The file that holds the weights of the epoch that was chosen."""
    kept = weights_after(run.wanted.out, choice.epoch)
    found = kept if kept.exists() or choice.stopped else run.folder.checkpoint
    if not found.exists():
        raise InputError(f"{found} is no longer there: give --force to choose {WEIGHT} again.")
    return found


def taken_run(asked: Asked, run: Ready, choice: Choice, way: Way) -> Run:
    """The run with the weights, the log and the figures of that epoch, in memory."""
    plan, dataset = with_epochs(run.wanted.plan, choice.epoch), asked.dataset
    config = run.config | {"train": run.config["train"] | {"epochs": choice.epoch}}
    weights, method = weights_taken(run, choice), rebuilt(config, asked.own_backbone)
    checkpoint.put(checkpoint.load(weights).weights, Alone(method).state, str(weights))
    method.to(way.device).eval()
    log = until(Log(run.folder.log), choice.epoch, choice.epochs)
    found = Run(method, config, {}, log, None, dataset.view, preparation_of(dataset))
    result = result_of(found, dataset, plan, environment(way, method.course.precision), threshold=asked.threshold)
    if choice.epochs > 1:
        result["selection"] = f"epoch {choice.epoch} of {choice.epochs}, chosen on the validation split"
    together = (run.folder.read_result() or {}).get("stacked", 1)
    found.result = result | {"stacked": together, "choice": choice.as_dict()}
    return found
