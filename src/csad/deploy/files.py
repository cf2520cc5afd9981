"""What an exported model predicts for a file: a table as it comes, or an array."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csad.data.npz import member, read_npz
from csad.data.tables.files import is_table_file, read_table_file
from csad.data.tables.filled import applied_notices
from csad.data.tables.preparation import Preparation
from csad.deploy.model import Model, softmax
from csad.deploy.predictions import ROW, Predictions, check_id, ids_of, row_numbers
from csad.errors import InputError

if TYPE_CHECKING:
    from csad.data.tables.pictures import PicturePreparation


def predict_file(
    model: Model | str | Path, file: str | Path, *, id_column: str = "", images: str | Path = ""
) -> Predictions:
    """What a model, or the ONNX file of one, predicts for each row of a CSV or Parquet table, an .npy array or an .npz.

    Ids are those of a column of that name, or array of an .npz, else row numbers from 1. Pictures that a table names
    are looked for in ``images``, or in the table's own folder. Numbers are in the unit of the table that was learned.
    """
    made, path = model if isinstance(model, Model) else Model(model), Path(file)
    check_id(id_column)
    if path.suffix.lower() in (".npz", ".npy"):
        return _of_arrays(made, path, id_column)
    if not is_table_file(path.name):
        raise InputError(f"{path} cannot be read: give a table (.csv, .parquet), an .npy array or an .npz with x.")
    if made.preparation is None:
        raise InputError(
            f"{made.path} was not trained on a table, so it cannot tell what the columns of {path} are: give x of "
            f"shape (rows, {', '.join(map(str, made.shape))}) as .npy or .npz."
        )
    if not isinstance(made.preparation, Preparation):
        return _of_pictures(made, made.preparation, path, id_column, images)
    if images:
        raise InputError("--images is for a model that was trained on pictures: leave it out.")
    return _of_table(made, made.preparation, path, id_column)


def _of_table(model: Model, prepared: Preparation, path: Path, id_column: str) -> Predictions:
    table = read_table_file(path, alone=[column.column for column in prepared.columns])
    scores, notices = _scores(model, prepared.apply(table)), applied_notices(prepared, table)
    return Predictions(id_column or ROW, ids_of(table, id_column), model.classes, scores, tuple(notices))


def _of_pictures(
    model: Model, prepared: PicturePreparation, path: Path, id_column: str, images: str | Path
) -> Predictions:
    """Rows without a picture, or with one that is broken, have no prediction."""
    table = read_table_file(path, alone=[prepared.column])
    names = prepared.names(table)
    rows = np.array([row for row, name in enumerate(names) if name], np.int64)
    if not len(rows):
        raise InputError(f"Column '{prepared.column}' of {path} names no picture in any row.")
    found, notices = prepared.read(Path(images or path.parent), {"given": [names[row] for row in rows.tolist()]})
    scores = np.full((table.rows, max(1, len(model.classes))), np.nan)
    scores[rows[found["given"].kept]] = _scores(model, found["given"].pixels)
    if lost := int(np.isnan(scores).any(1).sum()):
        notices.append(f"{lost:,} row{'s have' if lost > 1 else ' has'} no picture, so nothing is predicted there.")
    return Predictions(id_column or ROW, ids_of(table, id_column), model.classes, scores, tuple(notices))


def _of_arrays(model: Model, path: Path, id_column: str) -> Predictions:
    arrays = read_npz(path) if path.suffix.lower() == ".npz" else {"x": _read_npy(path)}
    x = member(arrays, "x", path)
    scores = _scores(model, x)
    ids = [str(value) for value in member(arrays, id_column, path).reshape(-1)] if id_column else row_numbers(len(x))
    if len(ids) != len(x):
        raise InputError(f"x of {path} has {len(x)} rows but '{id_column}' has {len(ids)} ids: give one for each row.")
    if not len(x):
        raise InputError(f"{path} holds no rows.")
    return Predictions(id_column or ROW, ids, model.classes, scores, ())


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
        raise InputError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (ValueError, EOFError) as error:
        raise InputError(f"{file} is no .npy file of numbers: write it with numpy.save.") from error
    return found
