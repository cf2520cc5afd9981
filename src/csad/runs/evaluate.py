"""What a run comes to on data: metrics by split, probes of its features, and its predictions row by row."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csad.auditing.metrics.all_metrics import all_metrics, number_metrics
from csad.auditing.metrics.classification import consistency
from csad.auditing.metrics.linear_probe import LAYERS, LayerProbe, linear_probe
from csad.auditing.metrics.metric import METRICS
from csad.data.samples import UNKNOWN, Classes, Dataset, Samples, Task
from csad.errors import InputError, unknown
from csad.runs.run import Run

PROBED_ROWS = 5000  # of a split, at most: several times the features of any net here, and seconds for each run
SAID, PROBABILITIES = "said", "probabilities"  # the tensors in a file of row predictions


def evaluate(run: Run, dataset: Dataset, *, probed: Sequence[str] = ()) -> dict[str, dict[str, float]]:
    """Compute the metrics of a run on each split of a data set.

    Args:
        run: The trained run.
        dataset: The data; x is seen through the data set's own view. Copies of a split ("test:husband") have no
            metrics of their own: they show how consistent the predictions for the split are.
        probed: Splits on which fresh probes also look for the bias in h and in h_y, which takes seconds.

    Returns:
        ``{split: {metric: value}}``.
    """
    run = replace(run, view=dataset.view)
    splits = {name: samples for name, samples in dataset.splits.items() if ":" not in name}
    for name in probed:
        if name not in splits:
            raise unknown("split", name, splits)
    values = {name: _split_metrics(run, samples, dataset.task) for name, samples in splits.items()}
    if isinstance(run.method.task.target, Classes):
        for name, (metric, copies) in itertools.product(splits, dataset.consistency.items()):
            alike = [f"{name}:{copy}" for copy in copies]
            if alike and dataset.splits.keys() >= set(alike):
                values[name][metric] = consistency([run.predict(dataset.splits[copy].x) for copy in alike])
    return values | {name: values[name] | leakage(run, splits[name]) for name in probed}


def _split_metrics(run: Run, samples: Samples, task: Task) -> dict[str, float]:
    """The metrics of one split, whose columns of b the task names; the net runs once."""
    out = run.outputs(samples.x)
    return output_metrics(out, samples, task, run.decide(out))


def output_metrics(
    out: Tensor,
    samples: Samples,
    task: Task,
    classes: NDArray[np.integer] | None = None,
    only: Collection[str] | None = None,
) -> dict[str, float]:
    """The metrics of what P_y gives for rows, and of the ``classes`` then predicted: the likeliest by default.

    With ``only`` some metrics, no others.
    """
    y = samples.y.cpu().numpy()
    if not isinstance(task.target, Classes):
        return number_metrics(out[:, 0].numpy(), y, only)
    predicted = np.asarray(out.argmax(1)) if classes is None else classes
    biases = classes_of_bias(samples, task)
    evidence = {}
    if samples.evidence is not None and out.shape[1] == 2 and bool(out.isfinite().all()):
        evidence = {"score": (out[:, 1] - out[:, 0]).numpy(), "evidence": samples.evidence.cpu().numpy()}
    return all_metrics(predicted, y, probabilities=out.softmax(1).numpy(), biases=biases, wanted=only, **evidence)


def classes_of_bias(samples: Samples, task: Task) -> dict[str, NDArray[np.int64]]:
    """The labels of each bias that has classes, by its name; −1 is unknown."""
    b = samples.b.cpu().nan_to_num(nan=UNKNOWN).long().numpy()
    columns = zip(task.bias_names, task.biases, b.T, strict=True)
    return {name: column for name, kind, column in columns if isinstance(kind, Classes)}


def probes(run: Run, views: Sequence[Samples]) -> list[LayerProbe]:
    """How well a fresh probe reads each bias from each layer; row i of every view is the same sample, seen anew.

    A probe is never tested on rows of a person from whose other rows it learned, if the data name persons.
    """
    persons = torch.arange(len(views[0])) if views[0].persons is None else views[0].persons
    groups = np.tile(persons.cpu().numpy(), len(views))
    labels = np.concatenate([view.b.cpu().numpy() for view in views])
    task, results = run.method.task, []
    for layer in LAYERS:
        features = np.concatenate([run.features(view.x, layer) for view in views])
        for k, (column, bias) in enumerate(zip(task.bias_names, task.biases, strict=True)):
            if isinstance(bias, Classes) and (score_and_chance := linear_probe(features, labels[:, k], groups)):
                results.append(LayerProbe(layer, column, *score_and_chance))
    return results


def leakage(run: Run, samples: Samples) -> dict[str, float]:
    """The metrics of probes, such as ``bias_from_h_y``, each a mean over the bias columns.

    They measure leakage only on rows in which target and bias are independent; else knowing the target is enough.
    """
    count = min(len(samples), PROBED_ROWS)
    spread = torch.arange(count) * len(samples) // count  # evenly, since the rows may be sorted
    results = probes(run, [samples.rows(spread)])
    if not results:
        raise InputError("too-few-rows-for-probe", dataset=run.method.task.name)
    return METRICS.compute({"probes": results}, "any")


def row_predictions(run: Run, dataset: Dataset, splits: Sequence[str]) -> dict[str, dict[str, Tensor]]:
    """The class and the probabilities that the run predicts for each row of some splits."""
    run, predictions = replace(run, view=dataset.view), {}
    for split in splits:
        out = run.outputs(dataset.splits[split].x)
        predictions[split] = {SAID: torch.from_numpy(run.decide(out)), PROBABILITIES: out.softmax(1)}
    return predictions
