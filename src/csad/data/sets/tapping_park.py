"""PARK's finger tapping (ROC-HCI, 489 videos of 241 people): who has Parkinson's disease, whatever their age."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.given_files import BLANK, Table, find_given, read_csv
from csad.data.pairs import Related
from csad.data.people import drawn, parted
from csad.data.samples import Classes, Dataset, Number, Samples, Task
from csad.data.split import check_share, generator_for
from csad.errors import InputError, unknown
from csad.registry import DATASETS

FILE = "tapping_park.csv"
SOURCE = "github.com/ROC-HCI (the features of PARK's finger tapping, as tapping_park.csv)"
DIAGNOSES, HANDS = ("no", "yes"), ("Left", "Right")
BANDS = ("<50", "50-59", "60-64", "65-69", "70+")
EDGES = (50, 60, 65, 70)
# Rating is how ill a doctor finds the tapping, so all but the answer; gender is no symptom.
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

    Tested, as ``split`` draws them, are as many people with PD as without in each of five bands of age: half of the
    fewer, 29 + 29 in all. ``validation`` is the share of the other 183 that is held out. With ``age`` "binned" people
    of one band are related; as a "number", ((years − 60) / 16), people at most ``tolerance`` years apart.

    x: 116 features, scaled by the mean and spread of the rows trained on; 0 where a value is missing, which for the
    two features concerned a column more tells; whether it is the right hand. Gender and Rating are no inputs.
    """
    if not isinstance(split, int | np.integer) or split < 0:
        raise InputError(f"split must be a whole number from 0, not {split!r}.")
    if age not in ("binned", "number"):
        raise unknown("kind of age", age, ("binned", "number"))
    if not 0 <= tolerance < math.inf:
        raise InputError(f"tolerance must be 0 years or more, not {tolerance}.")
    check_share(validation, of="people")
    table = read_csv(find_given([(FILE,)], "parkinson", SOURCE, data_root)[0])
    for column in NEVER_INPUTS:
        table[column]  # all must be there: under another name one of them would become an input
    y, years = table.codes("diagnosed", DIAGNOSES), _numbers(table, "age", needed=True)
    bands = np.digitize(years, EDGES)
    first, person = np.unique(table["participant"], return_index=True, return_inverse=True)[1:]
    cells = bands[first] * len(DIAGNOSES) + y[first]
    test = drawn(cells, _tested(table, cells), generator_for(int(split), "tapping-park test"))
    parts = parted(cells, test, validation, generator_for(int(split), "tapping-park validation"))
    rows = {name: np.flatnonzero(np.isin(person, people)) for name, people in parts.items()}
    x = _inputs(table, rows["train"])
    b = bands if age == "binned" else ((years - MIDDLE) / UNIT).astype(np.float32)
    splits = {
        name: Samples(x[own], y[own], b[own], {"person": person[own], "age": years[own]}) for name, own in rows.items()
    }
    return Dataset(_task(age, tolerance, x.shape[1:]), splits)


def _task(age: str, tolerance: float, shape: tuple[int, ...]) -> Task:
    target = Classes(len(DIAGNOSES), DIAGNOSES)
    if age == "binned":
        return Task("tapping-park", shape, target, (Classes(len(BANDS), BANDS),), ("age",))
    years = Number(MIDDLE, UNIT)
    return Task("tapping-park", shape, target, (years,), ("age",), Related("near_bias", (tolerance / UNIT,)))


def _tested(table: Table, cells: Whole) -> list[int]:
    """How many people of each cell are tested: half of the fewer of a band, so that training keeps some of each."""
    present = np.bincount(cells, minlength=len(BANDS) * len(DIAGNOSES)).reshape(len(BANDS), -1)
    counts = np.repeat(present.min(1) // 2, len(DIAGNOSES))
    if not counts.any():
        bands = ", ".join(BANDS)
        raise InputError(f"{table.path} has no band of age ({bands}) with two people with and two without the disease.")
    return [int(count) for count in counts]


def _numbers(table: Table, column: str, *, needed: bool = False) -> Floats:
    """The numbers of a column, NaN where one is missing."""
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


def _inputs(table: Table, trained: Whole) -> NDArray[np.float32]:
    """x (rows, columns): the features, scaled, then which of them were missing, then the hand."""
    names = [name for name in table.columns if name not in NEVER_INPUTS]
    if not names:
        raise InputError(f"{table.path} has no column beside {', '.join(NEVER_INPUTS)}: the features are missing.")
    values = np.stack([_numbers(table, name) for name in names], axis=1)
    missing = np.isnan(values)
    here = np.ma.masked_array(values[trained], missing[trained])
    mean, spread = here.mean(0).filled(0), here.std(0).filled(0)
    scaled = (np.where(missing, mean, values) - mean) / np.where(spread > 0, spread, 1)
    hand = table.codes("hand", HANDS)[:, None]
    return np.concatenate([scaled, missing[:, missing.any(0)], hand], axis=1).astype(np.float32)
