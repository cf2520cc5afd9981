"""What fresh readers find in a run: how well the bias can be told from h and from h_y."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import torch

from csad.auditing.probes import linear_probe
from csad.data.samples import Classes, Samples
from csad.errors import InputError
from csad.report import Probe

if TYPE_CHECKING:
    from csad.experiments.run import Run

PROBED_ROWS = 5000  # of a split, at most: several times the features of any net here, and seconds for each run
LAYERS = ("h", "h_y")
# The figures of ``leakage``, and how tables print them.
LEAKAGE = {"bias_from_h": "bias from h", "bias_from_h_y": "bias from h_y", "bias_chance": "bias by chance"}


def probes(run: Run, views: Sequence[Samples]) -> list[Probe]:
    """How well a fresh reader tells each bias from each layer; row i of every view is the same sample, seen anew.

    Rows of one person, where the data tell it, are never both learned from and asked about.
    """
    persons = torch.arange(len(views[0])) if views[0].persons is None else views[0].persons
    same = np.tile(persons.cpu().numpy(), len(views))
    labels = np.concatenate([view.b.cpu().numpy() for view in views])
    task, found = run.method.task, []
    for layer in LAYERS:
        features = np.concatenate([run.features(view.x, layer) for view in views])
        for k, (column, bias) in enumerate(zip(task.bias_names, task.biases, strict=True)):
            if isinstance(bias, Classes) and (read_out := linear_probe(features, labels[:, k], same)):
                found.append(Probe(layer, column, *read_out))
    return found


def leakage(run: Run, samples: Samples) -> dict[str, float]:
    """``bias_from_h``, ``bias_from_h_y`` and ``bias_chance``, each a mean over the bias columns.

    They mean what they say on rows in which target and bias are independent: else to know the target is enough.
    """
    count = min(len(samples), PROBED_ROWS)
    spread = torch.arange(count) * len(samples) // count  # evenly, since rows may lie in some order
    found = probes(run, [samples.rows(spread)])
    if not found:
        raise InputError(f"{run.method.task.name} has too few rows of any two bias labels for a probe to read them.")
    read = {f"bias_from_{layer}": fmean(p.score for p in found if p.features == layer) for layer in LAYERS}
    return read | {"bias_chance": fmean(probe.chance for probe in found)}
