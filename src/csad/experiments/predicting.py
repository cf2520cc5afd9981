"""What a run predicts for the rows of a file: a table of raw values, a list of pictures or series, or arrays."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.samples import Classes
from csad.data.tables.file_columns import PLACES
from csad.data.tables.files import is_table_file, read_table_file
from csad.data.tables.preparation import Preparation, Unit
from csad.data.tables.preparations import FilePreparation
from csad.deploy.files import of_arrays, of_named_files
from csad.deploy.predictions import ROW, Predictions, check_id, ids_of
from csad.errors import InputError
from csad.experiments.reading import OWN, where_now
from csad.experiments.run import Run


def predict_file(
    run: Run, path: str | Path, *, id_column: str = "", images: str | Path = "", data_root: Path | None = None
) -> Predictions:
    """What the run predicts for each row of a CSV or Parquet file of raw values, or of the x of an .npz file.

    Ids are those of a column, or array, of that name, else row numbers from 1. ``images`` is where the pictures or
    series lie that a table names, if not where they were in training, or by the same name in ``data_root``.
    """
    return replace(_predicted(run, Path(path), id_column, images, data_root), threshold=run.threshold)


def _predicted(run: Run, path: Path, id_column: str, images: str | Path, data_root: Path | None) -> Predictions:
    check_id(id_column)
    if path.suffix.lower() == ".npz":
        return of_arrays(partial(_scores, run), _classes(run), path, id_column)
    if not is_table_file(path.name):
        raise InputError(f"{path} cannot be read: give a table (.csv, .parquet), or an .npz file with an array x.")
    if run.preparation is None:
        shape = ", ".join(map(str, run.method.task.shape))
        raise InputError(
            f"This run was not trained on a table of your own, so it cannot tell what the columns of {path} are: give "
            f"an .npz file with an array x of shape (rows, {shape})."
        )
    if not isinstance(run.preparation, Preparation):
        place = Path(images) if images else _place(run, run.preparation, data_root)
        return of_named_files(partial(_scores, run), _classes(run), run.preparation, path, id_column, place)
    if images:
        raise InputError("--images is for a run that was trained on pictures, --series-in on series: leave it out.")
    return _of_table(run, run.preparation, path, id_column)


def _of_table(run: Run, preparation: Preparation, path: Path, id_column: str) -> Predictions:
    wanted = math.prod(run.method.task.shape)  # of series, channels × steps
    if len(preparation.names()) != wanted:
        raise InputError(
            f"The run's preparation of a table makes {len(preparation.names())} columns where the run takes {wanted}, "
            "so one of the two is not whole: train the run again."
        )
    table = read_table_file(path, alone=[column.column for column in preparation.columns])
    ids = ids_of(table, id_column)
    scores, notices = _scores(run, preparation.apply(table)), preparation.notices(table)
    return Predictions(id_column or ROW, ids, _classes(run), scores, tuple(notices))


def _place(run: Run, preparation: FilePreparation, data_root: Path | None) -> Path:
    """Where the pictures or series of the training lie."""
    if run.config["task"] == OWN:
        what, option = ("series", "--series-in") if preparation.what == "series" else ("pictures", "--images")
        raise InputError(f"This run was trained on {what} given from Python: say where those lie with {option}.")
    if named := next(filter(None, map(run.config["data"].get, PLACES)), ""):
        return Path(where_now(named, data_root))
    return Path(where_now(run.config["task"], data_root)).parent


def _scores(run: Run, x: Any) -> NDArray[Any]:
    """Probabilities, or numbers in the unit of the table, (n, 1)."""
    if isinstance(run.method.task.target, Classes):
        return run.predict_proba(x)
    unit = run.preparation.target if run.preparation else Unit()
    return unit.restored(run.predict(x).astype(np.float64))[:, None]


def _classes(run: Run) -> tuple[str, ...]:
    target = run.method.task.target
    return target.words if isinstance(target, Classes) else ()
