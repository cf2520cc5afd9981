"""How a model does on the validation rows, as the rule judges it: its score, and what its predictions leak."""

from __future__ import annotations

from torch import Tensor

from csad.auditing.audited import Outputs
from csad.auditing.metrics import balanced_accuracy, mean_squared_error
from csad.data.samples import Classes, Dataset
from csad.experiments.choices.leakage import Readable
from csad.experiments.threshold import said_by


def scored(dataset: Dataset, rows: Readable, out: Tensor, threshold: float | None) -> tuple[float, float]:
    """Score and leakage of a model that gives ``out`` (n, classes) for the validation rows.

    Of two classes the second is said above the ``threshold``; where that is None, above the one that is best here.
    """
    y = dataset.splits["validation"].y.cpu().numpy()
    values = out.detach().double().cpu()
    if isinstance(dataset.task.target, Classes):
        shares = values.softmax(1).numpy()
        said = said_by(shares, y, threshold)
        return balanced_accuracy(said, y), rows.leakage(Outputs(said, shares))
    numbers = values[:, 0].numpy()
    spread = float(y.astype("float64").var()) or 1.0
    return 1 - mean_squared_error(numbers, y) / spread, rows.leakage(Outputs(numbers))


def score_name(dataset: Dataset) -> str:
    """What the score is."""
    return "balanced accuracy" if isinstance(dataset.task.target, Classes) else "share of variance explained"
