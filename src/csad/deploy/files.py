"""What an exported model predicts for a file: a table as it comes, or an array."""

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
from csad.data.tables.file_columns import looked_for
from csad.data.tables.files import is_table_file, read_table_file
from csad.data.tables.preparation import Preparation
from csad.deploy.model import Model, softmax
from csad.deploy.predictions import ROW, Predictions, check_id, ids_of, row_numbers
from csad.errors import InputError, unreadable

if TYPE_CHECKING:
    from csad.data.tables.preparations import AnyPreparation, FilePreparation

Scores = Callable[[Any], NDArray[Any]]  # of x: probabilities (n, classes), or numbers (n, 1) in the table's unit


def predict_file(
    model: Model | str | Path, file: str | Path, *, id_column: str = "", images: str | Path = ""
) -> Predictions:
    """What a model, or the ONNX file of one, predicts for each row of a CSV or Parquet table, an .npy array or an .npz.

    Ids are those of a column of that name, or array of an .npz, else row numbers from 1. Pictures or series that a
    table names are looked for in ``images``, or in the table's own folder. Numbers are in the unit of the table that
    was learned.
    """
    made = model if isinstance(model, Model) else Model(model)
    by = Speaker(str(made.path), partial(_scores, made), made.classes, made.shape, made.preparation)
    return replace(predicted(by, Path(file), id_column, images), threshold=made.threshold)


@dataclass(frozen=True)
class Speaker:
    """What predicts for the rows of a file: an exported model, or a run."""

    told: str  # what an error calls it
    scores: Scores
    classes: tuple[str, ...]  # none where it says a number
    shape: tuple[int, ...]  # of one x
    preparation: AnyPreparation | None  # how the rows of a table become x
    place: Callable[[Path, FilePreparation], Path] = lambda table, _: table.parent  # of files that a table names


def predicted(by: Speaker, path: Path, id_column: str, images: str | Path = "") -> Predictions:
    """What is predicted for each row of the file."""
    check_id(id_column)
    if path.suffix.lower() in (".npz", ".npy"):
        return _of_arrays(by, path, id_column)
    if not is_table_file(path.name):
        raise InputError(f"{path} cannot be read: give a table (.csv, .parquet), an .npy array or an .npz with x.")
    if by.preparation is None:
        raise InputError(
            f"{by.told} was not trained on a table of your own, so it cannot tell what the columns of {path} are: "
            f"give x of shape (rows, {', '.join(map(str, by.shape))}) as .npy or .npz."
        )
    if not isinstance(by.preparation, Preparation):
        return _of_named_files(by, by.preparation, path, id_column, images)
    if images:
        raise InputError("--images is for what was trained on pictures, --series-in on series: leave it out.")
    return _of_table(by, by.preparation, path, id_column)


def _of_table(by: Speaker, prepared: Preparation, path: Path, id_column: str) -> Predictions:
    wanted = math.prod(by.shape)  # of series, channels × steps
    if len(prepared.names()) != wanted:
        raise InputError(
            f"The preparation of a table makes {len(prepared.names())} columns where the model takes {wanted}, so one "
            "of the two is not whole: train the run again."
        )
    table = read_table_file(path, alone=[column.column for column in prepared.columns])
    ids = ids_of(table, id_column)
    scores, notices = by.scores(prepared.apply(table)), prepared.notices(table)
    return Predictions(id_column or ROW, ids, by.classes, scores, tuple(notices))


def _of_named_files(
    by: Speaker, prepared: FilePreparation, path: Path, id_column: str, images: str | Path
) -> Predictions:
    """What is said of pictures or series that a table names; nothing where a row has none, or a broken one."""
    table = read_table_file(path, alone=[prepared.column])
    ids, names = ids_of(table, id_column), prepared.names(table)
    rows = np.array([row for row, name in enumerate(names) if name], np.int64)
    if not len(rows):
        raise InputError(f"Column '{prepared.column}' of {path} names no {prepared.what} in any row.")
    with looked_for(images or by.place(path, prepared), images, prepared.what) as place:
        found, notices = prepared.read(place, {"given": [names[row] for row in rows.tolist()]}, tolerated=1)
    seen = by.scores(found["given"].x)
    every = np.full((table.rows, seen.shape[1]), np.nan)
    every[rows[found["given"].kept]] = seen
    if lost := int(np.isnan(every).any(1).sum()):
        lack = f"{lost:,} row{'s have' if lost > 1 else ' has'} no {prepared.what}"
        notices.append(f"{lack}, so nothing is predicted there.")
    return Predictions(id_column or ROW, ids, by.classes, every, tuple(notices))


def _of_arrays(by: Speaker, path: Path, id_column: str) -> Predictions:
    """What is said of the x of an .npz file, or of an .npy array."""
    arrays = read_npz(path) if path.suffix.lower() == ".npz" else {"x": _read_npy(path)}
    x = member(arrays, "x", path)
    rows = len(np.atleast_1d(x))  # of a lone number, the scores say what is wrong
    ids = [str(value) for value in member(arrays, id_column, path).reshape(-1)] if id_column else row_numbers(rows)
    if len(ids) != rows:
        raise InputError(f"x of {path} has {rows} rows but '{id_column}' has {len(ids)} ids: give one for each row.")
    if not rows:
        raise InputError(f"{path} holds no rows.")
    return Predictions(id_column or ROW, ids, by.classes, by.scores(x), ())


def _scores(model: Model, x: Any) -> NDArray[Any]:
    """Probabilities, or numbers in the unit of the table, (n, 1)."""
    scores = model.scores(x)
    if model.classes:
        return softmax(scores)
    return model.preparation.target.restored(scores.astype(np.float64)) if model.preparation else scores


def _read_npy(file: Path) -> NDArray[Any]:
    try:
        with file.open("rb") as stream:
            found = np.lib.format.read_array(stream, allow_pickle=False)
    except OSError as error:
        raise unreadable(file, error) from error
    except (ValueError, EOFError) as error:
        raise InputError(f"{file} is no .npy file of numbers: write it with numpy.save.") from error
    return found
