"""A model from an ONNX file that csad export wrote; the file holds all that the model needs."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.chunks import rows_at_a_time
from csad.data.own.load_preprocessor import load_preprocessor
from csad.data.own.preprocessor import AnyPreprocessor, Preprocessor
from csad.data.tables.infer import is_raw, table_from_values
from csad.deploy.decision import HALF, decided
from csad.errors import InputError

Array = NDArray[Any]
FORMAT = "csad-export-1"
KEY = "csad"  # the entry of the file's metadata that describes the model, as JSON


class Model:
    """A trained run, ready to predict: F, D_y and P_y as one graph, and how its input is prepared.

    ``about`` is the description in the file; ``classes`` are the names of the classes, none for a number;
    ``threshold`` is the probability above which the second of two classes is predicted;
    ``preparation`` makes x from a table's columns, or from the files it names, if the run learned from such a table.

    Args:
        path: the ONNX file.
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
        """Predict class numbers (n,), whose names are in ``classes``, or numbers.

        Numbers are in the unit of the table for raw values, and in the learned unit for an array.

        Args:
            x: an array (n, …); or raw values, if the model learned from a user's table: a dict of columns, a list of
                dicts, or a data frame.
        """
        scores = self.scores(x)
        if self.classes:
            plain = self.threshold == HALF  # then the scores decide, which are not rounded
            return np.asarray(scores.argmax(1)) if plain else decided(softmax(scores), self.threshold)
        reader = self._reader(x)
        return reader.target.restored(scores[:, 0]) if reader else scores[:, 0]

    def predict_proba(self, x: Any) -> Array:
        """Predict probabilities (n, classes).

        Args:
            x: rows as for ``predict``.
        """
        if not self.classes:
            raise InputError("model-without-probabilities", model=self.path)
        return softmax(self.scores(x))

    def scores(self, x: Any) -> Array:
        """Compute logits (n, classes), or numbers (n, 1) in the learned unit.

        Args:
            x: rows as for ``predict``.
        """
        reader = self._reader(x)
        rows = self._checked(reader.apply(table_from_values(x)) if reader else x)
        most = rows_at_a_time(self.shape)
        parts = [self._session.run(None, {"x": rows[k : k + most]})[0] for k in range(0, len(rows), most)]
        return np.concatenate(parts) if parts else np.zeros((0, max(1, len(self.classes))), np.float32)

    def _reader(self, x: Any) -> Preprocessor | None:
        """The preprocessor that makes an array of x, if x are raw values."""
        return self.preparation if isinstance(self.preparation, Preprocessor) and is_raw(x) else None

    def _checked(self, x: Any) -> Array:
        try:
            rows = np.asarray(x)
        except ValueError as error:
            raise InputError("ragged-x") from error
        if rows.dtype.kind not in "buif":
            raise InputError("x-not-numeric", dtype=rows.dtype)
        if rows.ndim == 0 or rows.shape[1:] != self.shape:
            raise InputError("x-row-shape-mismatch", expected=self.shape, shape=rows.shape[1:])
        if len(self.shape) == 3 and self._bytes != (rows.dtype == np.uint8):
            # Bytes and floats have other scales, 0 … 255 and −1 … 1: those that were not trained on would be misread.
            expected = "bytes of 0 … 255 (uint8)" if self._bytes else "floats, as in training"
            raise InputError("pixel-type-mismatch", expected=expected, dtype=rows.dtype)
        if not np.isfinite(rows).all():
            raise InputError("input-not-finite")
        return np.ascontiguousarray(rows, dtype=np.uint8 if self._bytes else np.float32)


def softmax(scores: Array) -> Array:
    """Probabilities (n, classes) of logits."""
    powers = np.exp(scores - scores.max(1, keepdims=True, initial=-np.inf))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def _preparation(values: dict[str, Any] | None) -> AnyPreprocessor | None:
    return None if values is None else load_preprocessor(values)


def _session(path: Path) -> Any:
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise InputError("onnxruntime-not-installed") from error
    if not path.is_file():
        raise InputError("onnx-file-missing", file=path)
    quiet = runtime.SessionOptions()
    quiet.log_severity_level = 4  # its warnings would reach the terminal with names out of the file, as they are
    try:
        return runtime.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own kinds of error have no common parent
        raise InputError("onnx-file-unreadable", file=path) from error


def _about(path: Path, session: Any) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(session.get_modelmeta().custom_metadata_map[KEY])
        if about["format"] != FORMAT:
            raise ValueError
    except (KeyError, ValueError, TypeError) as error:
        raise InputError("not-a-csad-export", file=path) from error
    return about
