"""What a run predicts for the rows of a file: a table of raw values, a list of pictures, or arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.npz import member, read_npz
from csad.data.samples import Classes
from csad.data.tables.files import is_table_file, read_table_file
from csad.data.tables.filled import applied_notices
from csad.data.tables.pictures import PicturePreparation
from csad.data.tables.preparation import Preparation, Unit
from csad.deploy.predictions import ROW, Predictions, check_id, ids_of, row_numbers
from csad.errors import InputError
from csad.experiments.reading import OWN, where_now
from csad.experiments.run import Run


def predict_file(
    run: Run, path: str | Path, *, id_column: str = "", images: str | Path = "", data_root: Path | None = None
) -> Predictions:
    """What the run predicts for each row of a CSV or Parquet file of raw values, or of the x of an .npz file.

    Ids are those of a column, or array, of that name, else row numbers from 1. ``images`` is where the pictures lie
    that a table names, if not where they were in training, or by the same name in ``data_root``.
    """
    path = Path(path)
    check_id(id_column)
    if path.suffix.lower() == ".npz":
        return _of_arrays(run, path, id_column)
    if not is_table_file(path.name):
        raise InputError(f"{path} cannot be read: give a table (.csv, .parquet), or an .npz file with an array x.")
    if run.preparation is None:
        shape = ", ".join(map(str, run.method.task.shape))
        raise InputError(
            f"This run was not trained on a table of your own, so it cannot tell what the columns of {path} are: give "
            f"an .npz file with an array x of shape (rows, {shape})."
        )
    if isinstance(run.preparation, PicturePreparation):
        place = Path(images) if images else _place(run, data_root)
        return _of_pictures(run, run.preparation, path, id_column, place)
    if images:
        raise InputError("--images is for a run that was trained on pictures: leave it out.")
    return _of_table(run, run.preparation, path, id_column)


def _of_table(run: Run, preparation: Preparation, path: Path, id_column: str) -> Predictions:
    wanted = run.method.task.shape[0]
    if len(preparation.names()) != wanted:
        raise InputError(
            f"The run's preparation of a table makes {len(preparation.names())} columns where the run takes {wanted}, "
            "so one of the two is not whole: train the run again."
        )
    table = read_table_file(path, alone=[column.column for column in preparation.columns])
    ids = ids_of(table, id_column)
    scores = _scores(run, preparation.apply(table), preparation.target)
    return _predictions(run, id_column, ids, scores, applied_notices(preparation, table))


def _of_pictures(run: Run, preparation: PicturePreparation, path: Path, id_column: str, images: Path) -> Predictions:
    """Rows without a picture, or with one that is broken, have no prediction."""
    table = read_table_file(path, alone=[preparation.column])
    ids, names = ids_of(table, id_column), preparation.names(table)
    rows = np.array([row for row, name in enumerate(names) if name], np.int64)
    if not len(rows):
        raise InputError(f"Column '{preparation.column}' of {path} names no picture in any row.")
    found, notices = preparation.read(images, {"given": [names[row] for row in rows.tolist()]})
    seen = _scores(run, found["given"].pixels, preparation.target)
    scores = np.full((table.rows, seen.shape[1]), np.nan)
    scores[rows[found["given"].kept]] = seen
    if lost := int(np.isnan(scores).any(1).sum()):
        notices.append(f"{lost:,} row{'s have' if lost > 1 else ' has'} no picture, so nothing is predicted there.")
    return _predictions(run, id_column, ids, scores, notices)


def _place(run: Run, data_root: Path | None) -> Path:
    """Where the pictures of the training lie."""
    if run.config["task"] == OWN:
        raise InputError("This run was trained on pictures given from Python: say where those lie with --images.")
    if named := run.config["data"].get("images"):
        return Path(where_now(named, data_root))
    return Path(where_now(run.config["task"], data_root)).parent


def _of_arrays(run: Run, path: Path, id_column: str) -> Predictions:
    arrays = read_npz(path)
    x = member(arrays, "x", path)
    ids = (
        row_numbers(len(x)) if not id_column else [str(value) for value in member(arrays, id_column, path).reshape(-1)]
    )
    if len(ids) != len(x):
        raise InputError(f"x of {path} has {len(x)} rows but '{id_column}' has {len(ids)} ids: give one for each row.")
    if not len(x):
        raise InputError(f"{path} holds no rows.")
    unit = run.preparation.target if run.preparation else Unit()
    return _predictions(run, id_column, ids, _scores(run, x, unit), [])


def _scores(run: Run, x: Any, unit: Unit) -> NDArray[Any]:
    if isinstance(run.method.task.target, Classes):
        return run.predict_proba(x)
    return unit.restored(run.predict(x).astype(np.float64))[:, None]


def _predictions(
    run: Run, id_column: str, ids: Sequence[str], scores: NDArray[Any], notices: Sequence[str]
) -> Predictions:
    target = run.method.task.target
    classes = target.words if isinstance(target, Classes) else ()
    return Predictions(id_column or ROW, ids, classes, scores, tuple(notices))
