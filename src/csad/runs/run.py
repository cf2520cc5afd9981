"""A trained run: what it predicts and knows; loaded from its folder without its data, which can be read again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from csad import __version__
from csad.data.chunks import rows_at_a_time
from csad.data.own.linked_files import PLACES
from csad.data.own.preprocessor import AnyPreprocessor, FilePreprocessor, Preprocessor
from csad.data.samples import Classes, Dataset, Samples, all_finite, as_float, to_tensor
from csad.data.tables.infer import is_raw, table_from_values
from csad.deploy.decision import HALF, decided
from csad.errors import InputError, unknown
from csad.messages import message
from csad.methods.method import Method
from csad.nets.parts import OwnBackbone
from csad.runs.build import OWN, backbone_to_build, check_view, is_file, named_backbone, read_dataset, rebuilt
from csad.runs.digests import changed_splits, changed_words
from csad.runs.folder import Folder
from csad.runs.threshold import threshold_in
from csad.training import checkpoint
from csad.training.device import choose_device, computing_in
from csad.training.log import Log

ROUNDING = 1e-3  # that floats may be off by, however they were made of bytes
SCALE = "−1 … 1, as in training: (byte / 255 − .5) / .5"


class PixelWarning(UserWarning):
    """Pixels may be on another scale than those that were trained on."""


class RowsWarning(UserWarning):
    """Rows that a run was not trained on have changed since its training."""


@dataclass
class Run:
    """A trained model with its settings, metrics and log; ``csad.train`` and ``csad.load`` return one.

    Args:
        method: The trained method, a torch module.
        config: The resolved settings, as config.toml holds them.
        result: The metrics and what they depend on, as result.json holds them.
        log: The lines that the training logged.
        folder: The run's folder; None if the run is not kept.
        view: What turns rows of x into what the net takes, such as bytes into floats.
        preparation: How raw values become x, if the run was trained on the user's own table.
        threshold: Of two classes, the probability above which the second is predicted.
    """

    method: Method
    config: dict[str, Any]
    result: dict[str, Any]
    log: Log
    folder: Path | None = None
    view: Callable[[Tensor], Tensor] = as_float
    preparation: AnyPreprocessor | None = None
    threshold: float = HALF

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, by class number; none if the target is a number."""
        target = self.method.task.target
        return target.words if isinstance(target, Classes) else ()

    def predict(self, x: Any) -> NDArray[Any]:
        """Predict a class or a number for each row.

        Args:
            x: Rows as an array or tensor (n, …). A run that was trained on the user's own table takes raw values too,
                as do the other methods: a dict of columns, a list of dicts, or a data frame.

        Returns:
            Class numbers (n,), whose names are in ``classes``; or numbers (n,) if the target is one. For raw values
            these are in the unit of the table, for an array in the unit of training.
        """
        out = self.outputs(x)
        values = self.decide(out) if out.shape[1] > 1 else np.asarray(out[:, 0])
        raw = self._reader(x) if out.shape[1] == 1 else None
        return raw.target.restored(values) if raw else values

    def outputs(self, x: Any) -> Tensor:
        """Compute what P_y gives for each row: logits (n, classes), or the number as it was learned (n, 1).

        Args:
            x: Rows, as ``predict`` takes them.
        """
        return self._each(x, self.method.predict)

    def decide(self, out: Tensor) -> NDArray[Any]:
        """Turn logits into class numbers (n,) by the run's threshold.

        Args:
            out: Logits (n, classes), as ``outputs`` gives them. At a threshold of .5 they are compared themselves,
                since probabilities are rounded.
        """
        return np.asarray(out.argmax(1)) if self.threshold == HALF else decided(out.softmax(1).numpy(), self.threshold)

    def predict_proba(self, x: Any) -> NDArray[Any]:
        """Predict the probabilities of the classes (n, classes).

        Args:
            x: Rows, as ``predict`` takes them.
        """
        if not isinstance(self.method.task.target, Classes):
            raise InputError("run-without-probabilities")
        return np.asarray(self.outputs(x).softmax(1))

    def transform(self, x: Any) -> NDArray[Any]:
        """Compute h_y (n, width): the representation that knows y and should not know b.

        Args:
            x: Rows, as ``predict`` takes them.
        """
        return self.features(x, "h_y")

    def features(self, x: Any, layer: str) -> NDArray[Any]:
        """Compute the features of one layer (n, width).

        Args:
            x: Rows, as ``predict`` takes them.
            layer: "h", the encoder's output, or "h_y", that of the target branch.
        """
        if layer not in ("h", "h_y"):
            raise unknown("layer", layer, ("h", "h_y"))
        return np.asarray(self._each(x, lambda rows: self.method.features(rows)[layer]))

    @torch.no_grad()
    def _each(self, x: Any, call: Callable[[Tensor], Tensor]) -> Tensor:
        reader = self._reader(x)
        x = to_tensor(reader.apply(table_from_values(x)) if reader else x, "x")
        shape = tuple(self.method.task.shape)
        if x.ndim == 0 or tuple(x.shape[1:]) != shape:
            raise InputError("x-row-shape-mismatch", expected=shape, shape=tuple(x.shape[1:]))
        if x.is_floating_point() and not all_finite(x):
            raise InputError("input-not-finite")
        if self.view is as_float:
            check_pixels(x, self.config["about"].get("pixels"))
        device = next(self.method.parameters()).device
        self.method.eval()
        with computing_in(self.method.course.precision):
            # Copies, because a view may change its input.
            pieces = (rows.to(device, copy=True) for rows in torch.split(x, rows_at_a_time(shape)))
            return torch.cat([call(self.view(rows)).cpu() for rows in pieces])

    def _reader(self, x: Any) -> Preprocessor | None:
        """What turns raw values into an array; None if x is one already."""
        if isinstance(self.preparation, Preprocessor):
            return self.preparation if is_raw(x) else None
        if isinstance(x, Mapping):
            raise InputError("run-takes-no-columns")
        return None


def load(
    folder: str | Path,
    *,
    backbone: OwnBackbone | str | None = None,
    view: Callable[[Tensor], Tensor] | None = None,
    device: str = "auto",
) -> Run:
    """Load a trained run from its folder, without its data.

    Args:
        folder: The run's folder, as ``csad.train(out=…)`` or ``csad train`` made it.
        backbone: The module, the class or its path ``package.module:Class``, if the run was trained with a backbone of
            the user's own. It must be given again, since csad imports nothing that only a folder names.
        view: The function that turns rows of x into the net's input, if the run was trained with one of the user's own.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
    """
    files = Folder(Path(folder))
    config = files.read_config()
    own_backbone = backbone_to_build(named_backbone(config), backbone, folder)
    check_view(config, folder, view)
    if not files.checkpoint.exists():
        if files.result.exists():
            raise InputError("weights-not-kept", folder=folder)
        raise InputError("run-without-checkpoint", folder=folder)
    try:
        model = rebuilt(config, own_backbone)
        config["task"]
    except Exception as error:  # whatever an edited config, or one of another version, leads to
        version = config.get("csad", "unknown")
        if isinstance(error, InputError) and version == __version__:
            raise
        by = "" if version == __version__ else f"; csad {version} wrote it, but this is csad {__version__}"
        raise InputError("run-config-invalid", file=files.config, reason=str(error).rstrip("."), version=by) from error
    weights = checkpoint.read_checkpoint(files.checkpoint).weights
    if not checkpoint.weights_finite(weights):
        raise InputError("weights-not-finite", file=files.checkpoint)
    model.load_weights(weights, str(files.checkpoint))
    result, log = files.read_result() or {}, Log(files.log)
    preparation, threshold = files.read_preparation(), threshold_in(result)
    return Run(
        model.to(choose_device(device)), config, result, log, files.path, view or as_float, preparation, threshold
    )


def data_of(run: Run, data_root: Path | None = None, *, call: str = "csad.evaluate(run, dataset)") -> Dataset:
    """Read again the data set that a run was trained on; raise InputError if its training rows have changed.

    If rows of another split have changed, there is a ``RowsWarning``: metrics of them are true, but of other rows. A
    file that is no longer at its place is looked for in ``data_root``. ``call`` is what the error advises for data
    that were given from Python.
    """
    task, settings = run.config["task"], dict(run.config["data"])
    if task == OWN:
        raise InputError("training-data-from-python", call=call)
    fingerprint = run.config["about"].get("fingerprint")
    if not fingerprint:  # a stranger's config may name any file of the reader's, and a page may show rows of it
        raise InputError("training-rows-not-recorded", folder=run.folder, data=task)
    if is_file(task):
        task = where_now(task, data_root)
    for place in PLACES:
        if settings.get(place):
            settings[place] = where_now(settings[place], data_root)
    dataset = read_dataset(task, settings, data_root)
    if dataset.fingerprint() != fingerprint:
        raise InputError("training-rows-changed", data=task)
    if changed := changed_splits(run.folder, dataset):
        warnings.warn(changed_words(changed), RowsWarning, stacklevel=2)
    return dataset


def where_now(file: str, data_root: Path | None) -> str:
    """A training's file or folder: at its old place, else by its name in the data root."""
    name = Path(file).name
    if Path(file).exists():
        return file
    if data_root is not None and (data_root / name).exists():
        return str(data_root / name)
    raise InputError("training-file-not-found", file=file, name=name)


def linked_files_of(run: Run, data_root: Path | None, table: Path, preparation: FilePreprocessor) -> Path:
    """The place of the pictures or series that a run was trained on, for ``predict_file``."""
    if run.config["task"] == OWN:
        what, option = ("series", "--series-in") if preparation.what == "series" else ("pictures", "--images")
        raise InputError("training-files-not-located", files=what, option=option)
    if place := next(filter(None, map(run.config["data"].get, PLACES)), ""):
        return Path(where_now(place, data_root))
    return Path(where_now(run.config["task"], data_root)).parent


def made_with(environment: Mapping[str, Any]) -> str:
    """The versions and the device of a result's environment, for people."""
    return "csad {csad}, torch {torch}, Python {python}, {device}".format(**environment)


def pixels_of(samples: Samples) -> dict[str, str]:
    """How these rows hold pixels, as an entry of a config; none if they are no pictures."""
    return {"pixels": _kind(samples.x)} if samples.x.ndim == 4 else {}


def check_pixels(x: Tensor, trained_on: str | None) -> None:
    """Raise InputError if pixels are plainly on another scale than those that were trained on."""
    kind, dtype = _kind(x), str(x.dtype).removeprefix("torch.")
    if trained_on in (None, kind) or not x.numel():
        return
    if trained_on != "bytes":
        raise InputError("pixel-kind-mismatch", given=kind, dtype=dtype, expected=trained_on)
    # Not every kind of whole numbers has a least and a greatest in torch.
    low, high = (float(value) for value in torch.aminmax(x if x.is_floating_point() else x.double()))
    if max(-low, high) > 1 + ROUNDING:
        raise InputError("pixel-range-mismatch", dtype=dtype, low=low, high=high, scale=SCALE)
    if low >= 0:
        text = message("pixel-scale-assumed", dtype=dtype, low=low, high=high, scale=SCALE)
        warnings.warn(text, PixelWarning, stacklevel=2)


def _kind(x: Tensor) -> str:
    if x.dtype == torch.uint8:
        return "bytes"
    return "floats" if x.is_floating_point() else "whole numbers"
