"""What a run predicts for the rows of a file: a table of raw values, a list of pictures or series, or arrays."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.own.preprocessor import Unit
from csad.data.samples import Classes
from csad.deploy.files import RowPredictor, predict_rows
from csad.deploy.predictions import Predictions
from csad.runs.run import Run, linked_files_of


def predict_file(
    run: Run, path: str | Path, *, id_column: str = "", images: str | Path = "", data_root: Path | None = None
) -> Predictions:
    """What the run predicts for each row of a CSV or Parquet file of raw values, or of x as .npz or .npy.

    Args:
        run: The trained run.
        path: The file.
        id_column: The column, or array, of the ids; row numbers from 1 by default.
        images: The place of the pictures or series that a table names, if not that of the training.
        data_root: A folder that holds the pictures or series of the training by the same name.
    """
    shape, place = run.method.task.shape, partial(linked_files_of, run, data_root)
    predictor = RowPredictor("This run", partial(_scores, run), run.classes, shape, run.preparation, place)
    return replace(predict_rows(predictor, Path(path), id_column, images), threshold=run.threshold)


def _scores(run: Run, x: Any) -> NDArray[Any]:
    """Probabilities, or numbers in the unit of the table, (n, 1)."""
    if isinstance(run.method.task.target, Classes):
        return run.predict_proba(x)
    unit = run.preparation.target if run.preparation else Unit()
    return unit.restored(run.predict(x).astype(np.float64))[:, None]
