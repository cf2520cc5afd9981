"""What a run predicts for the rows of a file: a table of raw values, a list of pictures or series, or arrays."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.samples import Classes
from csad.data.tables.file_columns import PLACES
from csad.data.tables.preparation import Unit
from csad.data.tables.preparations import FilePreparation
from csad.deploy.files import Speaker, predicted
from csad.deploy.predictions import Predictions
from csad.errors import InputError
from csad.experiments.reading import where_now
from csad.experiments.run import Run
from csad.experiments.trust import OWN


def predict_file(
    run: Run, path: str | Path, *, id_column: str = "", images: str | Path = "", data_root: Path | None = None
) -> Predictions:
    """What the run predicts for each row of a CSV or Parquet file of raw values, or of x as .npz or .npy.

    Ids are those of a column, or array, of that name, else row numbers from 1. ``images`` is where the pictures or
    series lie that a table names, if not where they were in training, or by the same name in ``data_root``.
    """
    shape, place = run.method.task.shape, partial(_place, run, data_root)
    by = Speaker("This run", partial(_scores, run), run.classes, shape, run.preparation, place)
    return replace(predicted(by, Path(path), id_column, images), threshold=run.threshold)


def _place(run: Run, data_root: Path | None, table: Path, preparation: FilePreparation) -> Path:
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
