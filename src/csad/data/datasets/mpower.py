"""mPower tapping (Bot et al., Scientific Data 2016), from Synapse: Parkinson's disease, whatever the age."""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import BROKEN, check_packed
from csad.data.datasets.tap_records import (
    CHANNELS,
    FEWEST,
    People,
    Point,
    Records,
    as_series,
    centre_of,
    mend_taps,
    read_taps,
)
from csad.data.events import report_notice
from csad.data.local_files import BLANK, CsvText, find_local_files, read_csv
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.splits import check_share, draw_people, generator_for, split_people
from csad.errors import InputError, unknown
from csad.messages import message
from csad.registry import DATASETS


class TapFiles:
    """The files of a folder and its folders, or of a zip file, by file handle.

    A file belongs to a handle if its name starts with that number, or if the name of its folder is that number.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        try:
            self._zip = None if place.is_dir() else zipfile.ZipFile(place)
        except BROKEN as error:
            raise InputError("tap-archive-unreadable", path=place, reason=error) from error
        self._names: dict[str, str] = {}
        for name in self._walk():
            for handle in _handles(PurePath(name)):
                self._names.setdefault(handle, name)  # the first in the order of names, not in that of the disk

    def __enter__(self) -> TapFiles:
        return self

    def __exit__(self, *_: object) -> None:
        if self._zip is not None:
            self._zip.close()

    def __contains__(self, handle: str) -> bool:
        return handle in self._names

    def where(self, handle: str) -> str:
        """The path of the file of that handle."""
        return str(self.place / self._names[handle])

    def read(self, handle: str) -> bytes:
        """The bytes of the file of that handle."""
        name = self._names[handle]
        if self._zip is not None:
            check_packed(self._zip.getinfo(name), self.place)
        try:
            return (self.place / name).read_bytes() if self._zip is None else self._zip.read(name)
        except BROKEN as error:
            reason = getattr(error, "strerror", None) or error  # an OSError of an unpacker has none
            raise InputError("tap-file-unreadable", file=self.where(handle), reason=reason) from error

    def _walk(self) -> Iterator[str]:
        if self._zip is not None:
            yield from sorted(name for name in self._zip.namelist() if not name.endswith("/"))
            return
        for folder, inner, names in os.walk(self.place):
            inner.sort()
            yield from (os.path.relpath(os.path.join(folder, name), self.place) for name in sorted(names))


def _handles(path: PurePath) -> list[str]:
    if path.name.startswith("."):  # what a Mac adds to a zip file
        return []
    digits = re.match(r"\d+", path.name)
    numbers = [digits[0]] if digits else []
    return numbers + ([path.parent.name] if path.parent.name.isdecimal() else [])


PERSON = "healthCode"
AGE, DIAGNOSIS = "age", "professional-diagnosis"
SAMPLES = "tapping_results.json.TappingSamples"
RECTANGLES = ("tapping_results.json.ButtonRectLeft", "tapping_results.json.ButtonRectRight")
COLUMNS = ("recordId", PERSON, "createdOn", SAMPLES, *RECTANGLES)
OLDEST = 100
WORDS = {"false": 0, "true": 1}


class Person(NamedTuple):
    """What is known of a person; ``lacking`` says why their records cannot be used, if so."""

    age: int
    parkinson: int
    lacking: str = ""


def read_records(demographics: Path, tapping: Path, files: Path, *, every: bool, length: int, youngest: int) -> Records:
    """The usable records of all people, in the order of their codes: the first of each by date, or ``every`` one.

    ``dropped`` counts the others: records of people without demographics, a diagnosis or an age of ``youngest`` … 100,
    records without a file or buttons, and those with fewer than 5 taps once they are mended.
    """
    people = read_people(read_csv(demographics), youngest)
    table = read_csv(tapping)
    for column in COLUMNS:
        table[column]  # raises an error for a missing column before any file is read
    dropped: Counter[str] = Counter()
    by_code: dict[str, list[NDArray[np.float32]]] = {}
    with TapFiles(files) as taps:
        for code, row in _in_order(table):
            if code in by_code and not every:
                continue
            lacking = people[code].lacking if code in people else "demographics"
            series = lacking or _series(table, row, taps, length)
            if isinstance(series, str):
                dropped[series] += 1
            else:
                by_code.setdefault(code, []).append(series)
    usable = People(
        parkinson=np.array([people[code].parkinson for code in by_code]),
        age=np.array([people[code].age for code in by_code]),
        dropped=dict(dropped),
        facts={},
    )
    if not by_code:
        raise InputError("no-usable-records", file=tapping, reasons=usable.describe_dropped())
    return Records(
        x=np.stack([series for series_list in by_code.values() for series in series_list]),
        person=np.repeat(np.arange(len(by_code)), [len(series_list) for series_list in by_code.values()]),
        people=usable,
    )


def read_people(table: CsvText, youngest: int) -> dict[str, Person]:
    """People by their code; of several rows of one person the first complete one counts."""
    people: dict[str, Person] = {}
    columns = zip(table[PERSON], table[AGE], table[DIAGNOSIS], strict=True)
    for row, (code, age, diagnosis) in enumerate(columns):
        if code not in people or people[code].lacking:
            people[code] = _person(table, row, age.lower(), diagnosis.lower(), youngest)
    return people


def _person(table: CsvText, row: int, age: str, diagnosis: str, youngest: int) -> Person:
    if diagnosis in BLANK:
        return Person(0, 0, "a diagnosis")
    if diagnosis not in WORDS:
        raise table.wrong(DIAGNOSIS, row, "true, false or empty")
    if age in BLANK:
        return Person(0, 0, "an age")
    try:
        years = float(age)
    except ValueError as error:
        raise table.wrong(AGE, row, "a number of years or empty") from error
    if not math.isfinite(years) or not youngest <= years <= OLDEST:
        return Person(0, 0, f"an age of {youngest} to {OLDEST}")
    return Person(int(years), WORDS[diagnosis])


def _in_order(table: CsvText) -> list[tuple[str, int]]:
    """(code, row) of all records, those of a person by date: milliseconds, or a date that starts with the year."""
    keys = zip(table[PERSON], map(len, table["createdOn"]), table["createdOn"], table["recordId"], strict=True)
    return [(key[0], row) for row, key in sorted(enumerate(keys), key=lambda item: item[1])]


def _series(table: CsvText, row: int, files: TapFiles, length: int) -> NDArray[np.float32] | str:
    """The series of a record, or the word for what it lacks."""
    left, right = (_centre(table, column, row) for column in RECTANGLES)
    if left is None or right is None:
        return "buttons"
    if not left[0] < right[0]:
        raise table.wrong(RECTANGLES[1], row, "a rectangle to the right of the rectangle of the left button")
    handle = table[SAMPLES][row].removesuffix(".0")  # a spreadsheet adds it to a number
    if handle not in files:
        return "a file"
    taps = mend_taps(read_taps(files.read(handle), files.where(handle)))
    return as_series(taps, left, right, length) if len(taps.time) >= FEWEST else f"{FEWEST} taps"


def _centre(table: CsvText, column: str, row: int) -> Point | None:
    text = table[column][row]
    if text.lower() in BLANK:
        return None
    centre = centre_of(text)
    if centre is None:
        raise table.wrong(column, row, "'{{x, y}, {width, height}}'")
    return centre


FILES = (("demographics.csv",), ("tapping.csv",), ("tapping", "tapping.zip"))
SOURCE = "Synapse project syn4993293 (tables syn5511429 and syn5511439 as CSV, with their files; access on request)"
DIAGNOSES = ("control", "parkinson")
# The paper tests on the last six; its bias head of 8 leaves two below them, which we chose.
AGES = ("<35", "35-44", "45-49", "50-54", "55-59", "60-64", "65-69", "70+")
EDGES = (35, 45, 50, 55, 60, 65, 70)
TESTED = AGES[2:]
YOUNGEST = 18  # of mPower's participants


class RecordWarning(UserWarning):
    """Notice of records that are left out, because they cannot be used."""


@DATASETS.register("mpower")
def mpower(
    *,
    records: str = "first",
    length: int = 256,
    per_cell: int = 30,
    validation: float = 0.0,
    tolerance: int = 0,
    youngest: int = YOUNGEST,
    seed: int = 0,
    data_root: Path | None = None,
) -> Dataset:
    """Taps of two fingers for 20 seconds as series of 6 channels: Parkinson's disease is the target, age the bias.

    x has the first ``length`` taps, as in ``tap_records.as_series``. The test split has ``per_cell`` people with and as
    many without the disease of each of the six ages from 45, drawn by ``seed``; all others of ``youngest`` … 100 years
    are for training, except the share ``validation``, which is held out from every age and diagnosis alike. Each person
    is in one split, with the "first" or "all" of their ``records``. People are related if their ages are at most
    ``tolerance`` of the eight bins apart.
    """
    if records not in ("first", "all"):
        raise unknown("choice of records", records, ("first", "all"))
    if not YOUNGEST <= youngest <= EDGES[1]:
        raise InputError("youngest-out-of-range", low=YOUNGEST, high=EDGES[1], youngest=youngest)
    check_settings(length, per_cell, validation, tolerance)
    demographics, tapping, files = find_local_files(FILES, "mpower", SOURCE, data_root)
    usable = read_records(demographics, tapping, files, every=records == "all", length=length, youngest=youngest)
    test = people_to_test(usable.people, per_cell, seed)
    if usable.people.dropped:
        report_notice(
            RecordWarning(message("records-left-out", file=tapping, reasons=usable.people.describe_dropped()))
        )
    return as_dataset("mpower", usable, test, validation=validation, tolerance=tolerance, seed=seed)


def check_settings(length: int, per_cell: int, validation: float, tolerance: int) -> None:
    """Raise InputError about the first setting that is out of range, if any."""
    for name, value, least in (("length", length, FEWEST), ("per_cell", per_cell, 1), ("tolerance", tolerance, 0)):
        if value < least:
            raise InputError("mpower-setting-too-small", setting=name, least=least, value=value)
    check_share(validation, of="people")


def age_groups(age: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each age's bin of ``AGES``."""
    return np.digitize(age, EDGES).astype(np.int64)


def people_to_test(people: People, per_cell: int, seed: int) -> NDArray[np.int64]:
    """The numbers of ``per_cell`` people of each tested age and diagnosis."""
    cells = _cells(people)
    present = np.bincount(cells, minlength=len(AGES) * len(DIAGNOSES)).reshape(len(AGES), -1)
    few = [
        f"{present[place, diagnosis]} aged {age} ({name})"
        for place, age in enumerate(AGES)
        for diagnosis, name in enumerate(DIAGNOSES)
        if age in TESTED and present[place, diagnosis] < per_cell
    ]
    if few:
        left_out = f" (records left out: {people.describe_dropped()})" if people.dropped else ""
        raise InputError(
            "too-few-test-people",
            per_cell=per_cell,
            found=", ".join(few),
            advice="a smaller per_cell" if per_cell > 1 else "data of more people",
            left_out=left_out,
        )
    counts = [per_cell * (age in TESTED) for age in AGES for _ in DIAGNOSES]
    return draw_people(cells, counts, generator_for(seed, "mpower test"))


def _cells(people: People) -> NDArray[np.int64]:
    cells: NDArray[np.int64] = age_groups(people.age) * len(DIAGNOSES) + people.parkinson
    return cells


def as_dataset(
    name: str, records: Records, test: NDArray[np.int64], *, validation: float, tolerance: int, seed: int
) -> Dataset:
    """The data set of these records with the test people ``test``; age and person are extra facts."""
    people = records.people
    parts = split_people(_cells(people), test, validation, generator_for(seed, "mpower validation"))
    bins, splits = age_groups(people.age), {}
    for split, numbers in parts.items():
        rows = np.isin(records.person, numbers)
        person = records.person[rows]
        facts = {fact: values[person] for fact, values in people.facts.items()}
        extra = {"person": person, "age": people.age[person], **facts}
        splits[split] = Samples(records.x[rows], people.parkinson[person], bins[person], extra)
    related = Related("near_bias", (float(tolerance),)) if tolerance else Related()
    target, bias = Classes(len(DIAGNOSES), DIAGNOSES), Classes(len(AGES), AGES)
    return Dataset(Task(name, (len(CHANNELS), records.x.shape[2]), target, (bias,), ("age",), related), splits)
