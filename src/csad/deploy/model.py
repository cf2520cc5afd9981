"""A model from an ONNX file that csad export wrote; all it needs to know is in the file."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.pieces import rows_at_a_time
from csad.data.tables.given import given_table, is_raw
from csad.data.tables.preparation import Preparation
from csad.data.tables.preparations import AnyPreparation, preparation_from
from csad.deploy.decision import HALF, decided
from csad.errors import InputError

Array = NDArray[Any]
FORMAT = "csad-export-1"
KEY = "csad"  # the entry of the file's metadata that holds what it says of itself, as JSON


class Model:
    """What a run learned, ready to predict: F, D_y and P_y as one graph, and how its input is made.

    ``about`` is all that the file says of itself; ``classes`` are the names of the classes, none for a number;
    ``threshold`` is the probability above which the second of two classes is said;
    ``preparation`` makes x of a table's columns, or of the files it names, where the run learned from such a table.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._session = _session(self.path)
        self.about = _about(self.path, self._session)
        self.shape: tuple[int, ...] = tuple(self.about["input"]["shape"])
        self.classes: tuple[str, ...] = tuple(self.about["classes"])
        self.preparation = _preparation(self.about["preparation"])
        self.threshold = float(self.about.get("threshold", HALF))
        self._bytes = self.about["input"]["dtype"] == "uint8"

    def predict(self, x: Any) -> Array:
        """Class numbers (n,), whose names are in ``classes``; or numbers for a task that asks for one.

        A model that learned from a table of one's own takes raw values too, here and below: a dict of columns, dicts as
        rows, or a data frame. A number is then what would stand in the table; of an array x, it is as it was learned.
        """
        scores = self.scores(x)
        if self.classes:
            plain = self.threshold == HALF  # then the scores decide, which are not rounded
            return np.asarray(scores.argmax(1)) if plain else decided(softmax(scores), self.threshold)
        reader = self._reader(x)
        return reader.target.restored(scores[:, 0]) if reader else scores[:, 0]

    def predict_proba(self, x: Any) -> Array:
        """Probabilities (n, classes)."""
        if not self.classes:
            raise InputError(f"{self.path} predicts a number, which has no probabilities: call predict.")
        return softmax(self.scores(x))

    def scores(self, x: Any) -> Array:
        """What the graph gives: logits (n, classes), or (n, 1) for a number, in the unit in which it was learned."""
        reader = self._reader(x)
        rows = self._checked(reader.apply(given_table(x)) if reader else x)
        most = rows_at_a_time(self.shape)
        parts = [self._session.run(None, {"x": rows[k : k + most]})[0] for k in range(0, len(rows), most)]
        return np.concatenate(parts) if parts else np.zeros((0, max(1, len(self.classes))), np.float32)

    def _reader(self, x: Any) -> Preparation | None:
        """What makes an array of x, where these are raw values."""
        return self.preparation if isinstance(self.preparation, Preparation) and is_raw(x) else None

    def _checked(self, x: Any) -> Array:
        try:
            rows = np.asarray(x)
        except ValueError as error:
            raise InputError("x must be an array whose rows are all of one length.") from error
        if rows.dtype.kind not in "buif":
            raise InputError(f"x must be numbers, not {rows.dtype}: encode it first.")
        if rows.ndim == 0 or rows.shape[1:] != self.shape:
            raise InputError(f"x must have rows of shape {self.shape}, not {rows.shape[1:]}.")
        if len(self.shape) == 3 and self._bytes != (rows.dtype == np.uint8):
            # Bytes and floats have other scales, 0 … 255 and −1 … 1: what was not trained on would be misread.
            wanted = "bytes of 0 … 255 (uint8)" if self._bytes else "floats, as in training"
            raise InputError(f"x must hold pixels as {wanted}, not {rows.dtype}.")
        if not np.isfinite(rows).all():
            raise InputError("x holds NaN or infinity: fill in or drop such rows.")
        return np.ascontiguousarray(rows, dtype=np.uint8 if self._bytes else np.float32)


def softmax(scores: Array) -> Array:
    """Probabilities (n, classes) of logits."""
    powers = np.exp(scores - scores.max(1, keepdims=True, initial=-np.inf))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def _preparation(values: dict[str, Any] | None) -> AnyPreparation | None:
    return None if values is None else preparation_from(values)


def _session(path: Path) -> Any:
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise InputError("Predicting with an ONNX file needs onnxruntime: pip install onnxruntime.") from error
    if not path.is_file():
        raise InputError(f"There is no file {path}: give an ONNX file that csad export wrote.")
    quiet = runtime.SessionOptions()
    quiet.log_severity_level = 4  # its warnings would reach the terminal with names out of the file, as they are
    try:
        return runtime.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own kinds of error have no common parent
        raise InputError(f"{path} cannot be read as an ONNX file: export the run again.") from error


def _about(path: Path, session: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(session.get_modelmeta().custom_metadata_map[KEY])
        if found["format"] != FORMAT:
            raise ValueError
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path} was not written by csad export, or by another version: export the run.") from error
    return found
