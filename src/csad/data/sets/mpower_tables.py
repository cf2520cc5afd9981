"""mPower as it comes from Synapse: two tables as CSV files, and a JSON file for each tapping record."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.given_files import BLANK, Table, read_csv
from csad.data.sets.mpower_records import FEWEST, People, Point, Records, as_series, centre_of, mended, read_taps
from csad.data.sets.tap_files import TapFiles
from csad.errors import InputError

PERSON = "healthCode"
AGE, DIAGNOSIS = "age", "professional-diagnosis"
SAMPLES = "tapping_results.json.TappingSamples"
RECTANGLES = ("tapping_results.json.ButtonRectLeft", "tapping_results.json.ButtonRectRight")
COLUMNS = ("recordId", PERSON, "createdOn", SAMPLES, *RECTANGLES)
OLDEST = 100
WORDS = {"false": 0, "true": 1}


class Person(NamedTuple):
    """What is known of a person; ``lacking`` says why no record of theirs can be used, if so."""

    age: int
    parkinson: int
    lacking: str = ""


def read_records(demographics: Path, tapping: Path, files: Path, *, every: bool, length: int, youngest: int) -> Records:
    """The usable records of all people, in the order of their codes; of each the first by date, or ``every`` one.

    Left out, and counted in ``dropped``, are records of people without demographics, without a diagnosis or an age of
    ``youngest`` … 100, records whose file or buttons are not told, and those with fewer than 5 taps once mended.
    """
    people = read_people(read_csv(demographics), youngest)
    table = read_csv(tapping)
    for column in COLUMNS:
        table[column]  # what is missing is told before any file is read
    dropped: Counter[str] = Counter()
    found: dict[str, list[NDArray[np.float32]]] = {}
    with TapFiles(files) as taps:
        for code, row in _in_order(table):
            if code in found and not every:
                continue
            lacking = people[code].lacking if code in people else "demographics"
            series = lacking or _series(table, row, taps, length)
            if isinstance(series, str):
                dropped[series] += 1
            else:
                found.setdefault(code, []).append(series)
    kept = People(
        parkinson=np.array([people[code].parkinson for code in found]),
        age=np.array([people[code].age for code in found]),
        dropped=dict(dropped),
        facts={},
    )
    if not found:
        raise InputError(f"No record of {tapping} can be used: {kept.wants()}.")
    return Records(
        x=np.stack([series for own in found.values() for series in own]),
        person=np.repeat(np.arange(len(found)), [len(own) for own in found.values()]),
        people=kept,
    )


def read_people(table: Table, youngest: int) -> dict[str, Person]:
    """People by their code; of several rows of one person the first that has all that is needed counts."""
    people: dict[str, Person] = {}
    columns = zip(table[PERSON], table[AGE], table[DIAGNOSIS], strict=True)
    for row, (code, age, diagnosis) in enumerate(columns):
        if code not in people or people[code].lacking:
            people[code] = _person(table, row, age.lower(), diagnosis.lower(), youngest)
    return people


def _person(table: Table, row: int, age: str, diagnosis: str, youngest: int) -> Person:
    if diagnosis in BLANK:
        return Person(0, 0, "a diagnosis")
    if diagnosis not in WORDS:
        raise table.wrong(DIAGNOSIS, row, "true, false or nothing")
    if age in BLANK:
        return Person(0, 0, "an age")
    try:
        years = float(age)
    except ValueError as error:
        raise table.wrong(AGE, row, "a number of years or nothing") from error
    if not math.isfinite(years) or not youngest <= years <= OLDEST:
        return Person(0, 0, f"an age of {youngest} to {OLDEST}")
    return Person(int(years), WORDS[diagnosis])


def _in_order(table: Table) -> list[tuple[str, int]]:
    """(code, row) of all records, those of a person by date: milliseconds, or a date that starts with the year."""
    keys = zip(table[PERSON], map(len, table["createdOn"]), table["createdOn"], table["recordId"], strict=True)
    return [(key[0], row) for row, key in sorted(enumerate(keys), key=lambda one: one[1])]


def _series(table: Table, row: int, files: TapFiles, length: int) -> NDArray[np.float32] | str:
    """The series of a record, or what it lacks."""
    left, right = (_centre(table, column, row) for column in RECTANGLES)
    if left is None or right is None:
        return "buttons"
    if not left[0] < right[0]:
        raise table.wrong(RECTANGLES[1], row, "a rectangle to the right of the left button's")
    handle = table[SAMPLES][row].removesuffix(".0")  # what a spreadsheet makes of a number
    if handle not in files:
        return "a file"
    taps = mended(read_taps(files.read(handle), files.where(handle)))
    return as_series(taps, left, right, length) if len(taps.time) >= FEWEST else f"{FEWEST} taps"


def _centre(table: Table, column: str, row: int) -> Point | None:
    text = table[column][row]
    if text.lower() in BLANK:
        return None
    centre = centre_of(text)
    if centre is None:
        raise table.wrong(column, row, "'{{x, y}, {width, height}}'")
    return centre
