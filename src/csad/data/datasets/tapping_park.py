"""PARK's finger tapping (ROC-HCI, 489 videos of 241 people): who has Parkinson's disease, whatever their age."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.local_files import BLANK, CsvText, find_local_files, read_csv
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Number, Samples, Task
from csad.data.splits import check_share, draw_people, generator_for, split_people
from csad.errors import InputError, unknown
from csad.registry import DATASETS

FILE = "tapping_park.csv"
SOURCE = "github.com/ROC-HCI (the features of PARK's finger tapping, as tapping_park.csv)"
DIAGNOSES, HANDS = ("no", "yes"), ("Left", "Right")
BANDS = ("<50", "50-59", "60-64", "65-69", "70+")
EDGES = (50, 60, 65, 70)
# Rating is a doctor's judgement of the tapping, which nearly is the answer; gender is no symptom.
NEVER_INPUTS = ("participant", "hand", "gender", "age", "diagnosed", "Rating")
MIDDLE, UNIT = 60, 16  # years; a power of two, so that differences of whole years stay exact

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@DATASETS.register("tapping-park")
def tapping_park(
    *,
    split: int = 0,
    age: str = "binned",
    tolerance: float = 5.0,
    validation: float = 0.0,
    data_root: Path | None = None,
) -> Dataset:
    """Features of finger tapping on video, by person: Parkinson's disease is the target, age the bias.

    ``split`` draws the test people: as many with PD as without in each of five age bands, half of the fewer, 29 + 29 in
    all. ``validation`` is the share of the other 183 that is held out. With the ``age`` "binned" people of one band are
    related; as a "number", (years − 60) / 16, people at most ``tolerance`` years apart.

    x has 116 features, scaled by the mean and spread of the training rows, with 0 for a missing value; two columns that
    mark missing values, as two features have some; and whether it is the right hand. Gender and Rating are no inputs.
    """
    if not isinstance(split, int | np.integer) or split < 0:
        raise InputError("tapping-park-split-invalid", split=split)
    if age not in ("binned", "number"):
        raise unknown("kind of age", age, ("binned", "number"))
    if not 0 <= tolerance < math.inf:
        raise InputError("negative-age-tolerance", tolerance=tolerance)
    check_share(validation, of="people")
    table = read_csv(find_local_files([(FILE,)], "parkinson", SOURCE, data_root)[0])
    for column in NEVER_INPUTS:
        table[column]  # all must be there: under another name, one of them would become an input
    y, years = table.codes("diagnosed", DIAGNOSES), _numbers(table, "age", needed=True)
    bands = np.digitize(years, EDGES)
    first, person = np.unique(table["participant"], return_index=True, return_inverse=True)[1:]
    cells = bands[first] * len(DIAGNOSES) + y[first]
    test = draw_people(cells, _tested(table, cells), generator_for(int(split), "tapping-park test"))
    parts = split_people(cells, test, validation, generator_for(int(split), "tapping-park validation"))
    rows = {name: np.flatnonzero(np.isin(person, people)) for name, people in parts.items()}
    x = _inputs(table, rows["train"])
    b = bands if age == "binned" else ((years - MIDDLE) / UNIT).astype(np.float32)
    splits = {
        name: Samples(x[chosen], y[chosen], b[chosen], {"person": person[chosen], "age": years[chosen]})
        for name, chosen in rows.items()
    }
    return Dataset(_task(age, tolerance, x.shape[1:]), splits)


def _task(age: str, tolerance: float, shape: tuple[int, ...]) -> Task:
    target = Classes(len(DIAGNOSES), DIAGNOSES)
    if age == "binned":
        return Task("tapping-park", shape, target, (Classes(len(BANDS), BANDS),), ("age",))
    years = Number(MIDDLE, UNIT)
    return Task("tapping-park", shape, target, (years,), ("age",), Related("near_bias", (tolerance / UNIT,)))


def _tested(table: CsvText, cells: Whole) -> list[int]:
    """The number of test people of each cell: half of the fewer of a band, so that some are left for training."""
    present = np.bincount(cells, minlength=len(BANDS) * len(DIAGNOSES)).reshape(len(BANDS), -1)
    counts = np.repeat(present.min(1) // 2, len(DIAGNOSES))
    if not counts.any():
        bands = ", ".join(BANDS)
        raise InputError("no-testable-age-band", file=table.path, bands=bands)
    return [int(count) for count in counts]


def _numbers(table: CsvText, column: str, *, needed: bool = False) -> Floats:
    """The numbers of a column, NaN if missing."""
    values = np.full(len(table.lines), np.nan)
    for row, word in enumerate(table[column]):
        if word.lower() in BLANK and not needed:
            continue
        try:
            values[row] = float(word)
        except ValueError as error:
            raise table.wrong(column, row, "a number") from error
        if not math.isfinite(values[row]):
            raise table.wrong(column, row, "a number")
    return values


def _inputs(table: CsvText, trained: Whole) -> NDArray[np.float32]:
    """x (rows, columns): the scaled features, then the marks of missing ones, then the hand."""
    names = [name for name in table.columns if name not in NEVER_INPUTS]
    if not names:
        raise InputError("tapping-park-features-missing", file=table.path, known=", ".join(NEVER_INPUTS))
    values = np.stack([_numbers(table, name) for name in names], axis=1)
    missing = np.isnan(values)
    here = np.ma.masked_array(values[trained], missing[trained])
    mean, spread = here.mean(0).filled(0), here.std(0).filled(0)
    scaled = (np.where(missing, mean, values) - mean) / np.where(spread > 0, spread, 1)
    hand = table.codes("hand", HANDS)[:, None]
    return np.concatenate([scaled, missing[:, missing.any(0)], hand], axis=1).astype(np.float32)
