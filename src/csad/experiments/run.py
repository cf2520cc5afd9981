"""A trained run: what it predicts, what it knows, how well it does; loaded from its folder without its data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csad import __version__
from csad.auditing.figures import figures
from csad.auditing.metrics import consistency, mean_squared_error
from csad.auditing.ranking import in_true_order
from csad.data.pieces import rows_at_a_time
from csad.data.samples import UNKNOWN, Classes, Dataset, Samples, Task, all_finite, as_float, to_tensor
from csad.data.tables.given import given_table, is_raw
from csad.data.tables.preparation import Preparation
from csad.data.tables.preparations import AnyPreparation
from csad.deploy.decision import HALF, decided
from csad.errors import InputError, unknown
from csad.experiments.build import build
from csad.experiments.folder import Folder, task_from
from csad.experiments.pixels import check_pixels
from csad.experiments.plan import SECTIONS, Plan
from csad.experiments.probing import leakage
from csad.experiments.reading import data_of as data_of
from csad.experiments.threshold import threshold_in
from csad.experiments.trust import OWN, backbone_to_build, named_backbone
from csad.methods.method import Method
from csad.nets.parts import OwnBackbone
from csad.nets.weights import without_files
from csad.training import checkpoint
from csad.training.device import choose_device, computing_in
from csad.training.log import Log
from csad.training.stack import Alone


@dataclass
class Run:
    """A trained model with its settings, figures and log, and the folder where it is kept, if any."""

    method: Method
    config: dict[str, Any]
    result: dict[str, Any]
    log: Log
    folder: Path | None = None
    view: Callable[[Tensor], Tensor] = as_float
    preparation: AnyPreparation | None = None  # of a run that was trained on a table of one's own
    threshold: float = HALF  # of two classes, the probability above which the second is said

    @property
    def classes(self) -> tuple[str, ...]:
        """What the classes are called, by class number; nothing of a task that asks for a number."""
        target = self.method.task.target
        return target.words if isinstance(target, Classes) else ()

    def predict(self, x: Any) -> NDArray[Any]:
        """Class numbers (n,), whose names are in ``classes``; or numbers for a task that asks for one.

        A run that was trained on a table of one's own takes raw values too, here and below: a dict of columns, dicts as
        rows, or a data frame. A number is then what would stand in the table; of an array x, it is as it was learned.
        """
        out = self.outputs(x)
        found = self.said(out) if out.shape[1] > 1 else np.asarray(out[:, 0])
        raw = self._reader(x) if out.shape[1] == 1 else None
        return raw.target.restored(found) if raw else found

    def outputs(self, x: Any) -> Tensor:
        """What P_y gives for each row: logits (n, classes), or the number as it was learned (n, 1)."""
        return self._each(x, self.method.predict)

    def said(self, out: Tensor) -> NDArray[Any]:
        """Class numbers of logits; with a half as the threshold of the logits alone, which are not rounded."""
        return np.asarray(out.argmax(1)) if self.threshold == HALF else decided(out.softmax(1).numpy(), self.threshold)

    def predict_proba(self, x: Any) -> NDArray[Any]:
        """Probabilities (n, classes)."""
        if not isinstance(self.method.task.target, Classes):
            raise InputError("This run predicts a number, which has no probabilities: call predict.")
        return np.asarray(self.outputs(x).softmax(1))

    def transform(self, x: Any) -> NDArray[Any]:
        """h_y (n, branch): the representation that knows y and should not know b."""
        return self.features(x, "h_y")

    def features(self, x: Any, layer: str) -> NDArray[Any]:
        """What one layer knows of x: "h" or "h_y"."""
        if layer not in ("h", "h_y"):
            raise unknown("layer", layer, ("h", "h_y"))
        return np.asarray(self._each(x, lambda rows: self.method.features(rows)[layer]))

    @torch.no_grad()
    def _each(self, x: Any, call: Callable[[Tensor], Tensor]) -> Tensor:
        reader = self._reader(x)
        x = to_tensor(reader.apply(given_table(x)) if reader else x, "x")
        shape = tuple(self.method.task.shape)
        if x.ndim == 0 or tuple(x.shape[1:]) != shape:
            raise InputError(f"x must have rows of shape {shape}, not {tuple(x.shape[1:])}.")
        if x.is_floating_point() and not all_finite(x):
            raise InputError("x holds NaN or infinity: fill in or drop such rows.")
        if self.view is as_float:
            check_pixels(x, self.config["about"].get("pixels"))
        device = next(self.method.parameters()).device
        self.method.eval()
        with computing_in(self.method.course.precision):
            # Copies, because a view may change what it is given.
            pieces = (rows.to(device, copy=True) for rows in torch.split(x, rows_at_a_time(shape)))
            return torch.cat([call(self.view(rows)).cpu() for rows in pieces])

    def _reader(self, x: Any) -> Preparation | None:
        """What makes an array of x, where x is raw values."""
        if isinstance(self.preparation, Preparation):
            return self.preparation if is_raw(x) else None
        if isinstance(x, Mapping):
            raise InputError("This run reads no columns of a table, so x must be an array: see csad predict.")
        return None


def load(
    folder: str | Path,
    *,
    backbone: OwnBackbone | str | None = None,
    view: Callable[[Tensor], Tensor] | None = None,
    device: str = "auto",
) -> Run:
    """A run from its folder, without its data, on a ``device``: auto, cpu, cuda or cuda:N.

    ``backbone`` and ``view`` are needed again if the run was trained with a module, a class or a view of one's own:
    what a folder names is not imported. A class is given as itself or as its path, ``package.module:Class``.
    """
    files = Folder(Path(folder))
    config = files.read_config()
    own = backbone_to_build(named_backbone(config), backbone, folder)
    check_view(config, folder, view)
    if not files.checkpoint.exists():
        if files.result.exists():
            raise InputError(f"The weights of {folder} were not kept: give --keep-weights where many runs are trained.")
        raise InputError(f"{folder} holds no checkpoint yet: go on with csad train --resume.")
    try:
        model = rebuilt(config, own)
        config["task"]
    except Exception as error:  # whatever an edited config, or one of another version, leads to
        made = config.get("csad", "unknown")
        if isinstance(error, InputError) and made == __version__:
            raise
        by = "" if made == __version__ else f"; it was written by csad {made}, and this is {__version__}"
        raise InputError(f"{files.config} is not whole ({str(error).rstrip('.')}{by}): train the run again.") from error
    weights = checkpoint.load(files.checkpoint).weights
    if not checkpoint.all_finite(weights):
        raise InputError(f"{files.checkpoint} holds weights that are not numbers: train the run again.")
    checkpoint.put(weights, Alone(model).state, str(files.checkpoint))
    result, log = files.read_result() or {}, Log(files.log)
    preparation = files.read_preparation()
    seen, threshold = view or as_float, threshold_in(result)
    return Run(model.to(choose_device(device)), config, result, log, files.path, seen, preparation, threshold)


def check_view(config: Mapping[str, Any], place: object, view: Callable[[Tensor], Tensor] | None) -> None:
    """Raise InputError if a view of one's own is needed again and was not given."""
    if config.get("view") == OWN and view is None:
        raise InputError(f"{place} was trained with a view of your own: give it again as view=.")


def rebuilt(config: Mapping[str, Any], backbone: OwnBackbone | None) -> Method:
    """The method that a config describes, with fresh weights; ``backbone`` is the caller's, never the config's."""
    plan = Plan(**{name: config[name] for name in SECTIONS})
    with without_files():  # of pretrained weights: what is put in next has them all
        return build(task_from(config["about"]), config["method"], plan, config["seed"], backbone)


def evaluate(run: Run, dataset: Dataset, *, probed: Sequence[str] = ()) -> dict[str, dict[str, float]]:
    """Figures by split; x is seen through the data set's own view.

    Copies of a split ("test:husband") have no figures of their own: what is predicted for them is compared, and the
    split has the figures of that. On the splits ``probed`` figures say, too, how well fresh readers find the bias in h
    and in h_y, which takes seconds.
    """
    seen = replace(run, view=dataset.view)
    own = {name: samples for name, samples in dataset.splits.items() if ":" not in name}
    for name in probed:
        if name not in own:
            raise unknown("split", name, own)
    found = {name: _figures(seen, samples, dataset.task) for name, samples in own.items()}
    if isinstance(run.method.task.target, Classes):
        for name, (figure, copies) in itertools.product(own, dataset.consistency.items()):
            alike = [f"{name}:{copy}" for copy in copies]
            if alike and dataset.splits.keys() >= set(alike):
                found[name][figure] = consistency([seen.predict(dataset.splits[copy].x) for copy in alike])
    return found | {name: found[name] | leakage(seen, own[name]) for name in probed}


def _figures(run: Run, samples: Samples, task: Task) -> dict[str, float]:
    """The figures of one split, whose columns of b the task names; the net runs once."""
    out = run.outputs(samples.x)
    return figures_of(out, samples, task, run.said(out)) | _against_truth(out, samples)


def _against_truth(out: Tensor, samples: Samples) -> dict[str, float]:
    """How well two classes are told in the order of what truly speaks for them, where that is known."""
    if samples.evidence is None or out.shape[1] != 2 or not bool(out.isfinite().all()):
        return {}
    share = in_true_order((out[:, 1] - out[:, 0]).numpy(), samples.evidence.cpu().numpy())
    return {} if share is None else {"in_true_order": share}


def figures_of(
    out: Tensor,
    samples: Samples,
    task: Task,
    said: NDArray[Any] | None = None,
    wanted: Collection[str] | None = None,
) -> dict[str, float]:
    """The figures of what P_y gives for rows, and of the classes then ``said``: the likeliest, if not given.

    Of some that are ``wanted``, these and what comes with them.
    """
    y = samples.y.cpu().numpy()
    if not isinstance(task.target, Classes):
        return {"mean_squared_error": mean_squared_error(out[:, 0].numpy(), y)}
    said = np.asarray(out.argmax(1)) if said is None else said
    biases = classes_of_bias(samples, task)
    return figures(said, y, probabilities=out.softmax(1).numpy(), biases=biases, wanted=wanted)


def classes_of_bias(samples: Samples, task: Task) -> dict[str, NDArray[Any]]:
    """The labels of each bias that has classes, by its name; −1 is unknown."""
    b = samples.b.cpu().nan_to_num(nan=UNKNOWN).long().numpy()
    columns = zip(task.bias_names, task.biases, b.T, strict=True)
    return {name: column for name, kind, column in columns if isinstance(kind, Classes)}
