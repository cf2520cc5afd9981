"""The predictions of a model for the rows of a file: a table of raw values, or an array."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csad.data.npz import member, read_npz
from csad.data.own.linked_files import locate_files
from csad.data.own.preprocessor import Preprocessor
from csad.data.tables.read_table import is_table_file, read_table_file
from csad.deploy.model import Model, softmax
from csad.deploy.predictions import ROW, Predictions, check_id, ids_of, row_numbers
from csad.errors import InputError, unreadable
from csad.messages import message

if TYPE_CHECKING:
    from csad.data.own.preprocessor import AnyPreprocessor, FilePreprocessor

Scores = Callable[[Any], NDArray[Any]]  # of x: probabilities (n, classes), or numbers (n, 1) in the table's unit


def predict_file(
    model: Model | str | Path, file: str | Path, *, id_column: str = "", images: str | Path = ""
) -> Predictions:
    """Predict each row of a table or an array with an exported model.

    Numbers are in the unit of the table that the model learned from.

    Args:
        model: the model, or the path of its ONNX file.
        file: a CSV or Parquet table, an .npy array, or an .npz with x.
        id_column: the column of the table, or the array of the .npz, that holds ids; by default row numbers from 1.
        images: the folder of the pictures or series that a table names; by default the table's folder.
    """
    loaded = model if isinstance(model, Model) else Model(model)
    predictor = RowPredictor(
        str(loaded.path), partial(_scores, loaded), loaded.classes, loaded.shape, loaded.preparation
    )
    return replace(predict_rows(predictor, Path(file), id_column, images), threshold=loaded.threshold)


@dataclass(frozen=True)
class RowPredictor:
    """What predicts the rows of a file: an exported model, or a run."""

    name: str  # in errors
    scores: Scores
    classes: tuple[str, ...]  # none for a number
    shape: tuple[int, ...]  # of one x
    preparation: AnyPreprocessor | None  # how the rows of a table become x
    place: Callable[[Path, FilePreprocessor], Path] = lambda table, _: table.parent  # of the files that a table names


def predict_rows(predictor: RowPredictor, path: Path, id_column: str, images: str | Path = "") -> Predictions:
    """The predictions for all rows of the file."""
    check_id(id_column)
    if path.suffix.lower() in (".npz", ".npy"):
        return _of_arrays(predictor, path, id_column)
    if not is_table_file(path.name):
        raise InputError("prediction-input-unknown", file=path)
    if predictor.preparation is None:
        raise InputError(
            "model-takes-no-table", model=predictor.name, file=path, shape=", ".join(map(str, predictor.shape))
        )
    if not isinstance(predictor.preparation, Preprocessor):
        return _of_named_files(predictor, predictor.preparation, path, id_column, images)
    if images:
        raise InputError("file-place-not-needed")
    return _of_table(predictor, predictor.preparation, path, id_column)


def _of_table(predictor: RowPredictor, prepared: Preprocessor, path: Path, id_column: str) -> Predictions:
    width = math.prod(predictor.shape)  # of series, channels × steps
    if len(prepared.names()) != width:
        raise InputError("preparation-width-mismatch", columns=len(prepared.names()), expected=width)
    table = read_table_file(path, alone=[column.column for column in prepared.columns])
    ids = ids_of(table, id_column)
    scores, notices = predictor.scores(prepared.apply(table)), prepared.notices(table)
    return Predictions(id_column or ROW, ids, predictor.classes, scores, tuple(notices))


def _of_named_files(
    predictor: RowPredictor, prepared: FilePreprocessor, path: Path, id_column: str, images: str | Path
) -> Predictions:
    """The predictions for the pictures or series that a table names; NaN for a row with none, or a broken one."""
    table = read_table_file(path, alone=[prepared.column])
    ids, names = ids_of(table, id_column), prepared.names(table)
    rows = np.array([row for row, name in enumerate(names) if name], np.int64)
    if not len(rows):
        raise InputError("no-files-named", column=prepared.column, file=path, files=prepared.what)
    with locate_files(images or predictor.place(path, prepared), images, prepared.what) as place:
        read, notices = prepared.read(place, {"given": [names[row] for row in rows.tolist()]}, tolerated=1)
    known = predictor.scores(read["given"].x)
    scores = np.full((table.rows, known.shape[1]), np.nan)
    scores[rows[read["given"].places]] = known
    if lost := int(np.isnan(scores).any(1).sum()):
        notices.append(message("rows-without-prediction", rows=lost, files=prepared.what))
    return Predictions(id_column or ROW, ids, predictor.classes, scores, tuple(notices))


def _of_arrays(predictor: RowPredictor, path: Path, id_column: str) -> Predictions:
    """The predictions for the x of an .npz file, or for an .npy array."""
    arrays = read_npz(path) if path.suffix.lower() == ".npz" else {"x": _read_npy(path)}
    x = member(arrays, "x", path)
    rows = len(np.atleast_1d(x))  # a lone number gets its error from the scores
    ids = [str(value) for value in member(arrays, id_column, path).reshape(-1)] if id_column else row_numbers(rows)
    if len(ids) != rows:
        raise InputError("id-count-mismatch", file=path, rows=rows, column=id_column, count=len(ids))
    if not rows:
        raise InputError("file-without-rows", file=path)
    return Predictions(id_column or ROW, ids, predictor.classes, predictor.scores(x), ())


def _scores(model: Model, x: Any) -> NDArray[Any]:
    """Probabilities, or numbers in the unit of the table, (n, 1)."""
    scores = model.scores(x)
    if model.classes:
        return softmax(scores)
    return model.preparation.target.restored(scores.astype(np.float64)) if model.preparation else scores


def _read_npy(file: Path) -> NDArray[Any]:
    try:
        with file.open("rb") as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
    except OSError as error:
        raise unreadable(file, error) from error
    except (ValueError, EOFError) as error:
        raise InputError("invalid-npy-file", file=file) from error
    return array
