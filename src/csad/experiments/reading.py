"""The data that a run was trained on, read again: from wherever, and never others unnoticed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from csad.data.samples import Dataset
from csad.data.tables.file_columns import PLACES
from csad.errors import InputError
from csad.experiments.build import is_file, read
from csad.experiments.digests import changed_splits, changed_words
from csad.experiments.trust import OWN

if TYPE_CHECKING:
    from csad.experiments.run import Run


class RowsWarning(UserWarning):
    """Rows that a run was not trained on are others than in its training."""


def data_of(run: Run, data_root: Path | None = None, *, call: str = "csad.evaluate(run, dataset)") -> Dataset:
    """The data set that a run was trained on, read again, from wherever; other training rows are an error.

    Other rows of another split are a ``RowsWarning``: what is found on them is true, but of other rows. A file that is
    no longer where it was is looked for in ``data_root``. ``call`` is what to do instead in Python, where data were
    given from there.
    """
    task, settings = run.config["task"], dict(run.config["data"])
    if task == OWN:
        raise InputError(f"This run was trained on data given from Python: call {call} there.")
    known = run.config["about"].get("fingerprint")
    if not known:  # a stranger's config may name any file of the reader's, and a page may show rows of it
        raise InputError(
            f"{run.folder} does not say on which rows it was trained, so {task} may be other data: train it again."
        )
    if is_file(task):
        task = where_now(task, data_root)
    for place in PLACES:
        if settings.get(place):
            settings[place] = where_now(settings[place], data_root)
    dataset = read(task, settings, data_root)
    if dataset.fingerprint() != known:
        raise InputError(
            f"The training rows of {task} are not those that this run was trained on, so its figures would mean "
            "something else: bring the old ones back, or train again."
        )
    if changed := changed_splits(run.folder, dataset):
        warnings.warn(changed_words(changed), RowsWarning, stacklevel=2)
    return dataset


def where_now(file: str, data_root: Path | None) -> str:
    """The file or folder where it was in training, else by its name in the data root."""
    name = Path(file).name
    if Path(file).exists():
        return file
    if data_root is not None and (data_root / name).exists():
        return str(data_root / name)
    raise InputError(f"{file}, which this run was trained on, is not there: give --data-root FOLDER that holds {name}.")


def name_of(task: str) -> str:
    """What a task is called in figures and titles: of a file, its name without the folders."""
    return Path(task).name if is_file(task) else task
