"""mPower tapping (Bot et al., Scientific Data 2016): who has Parkinson's disease, whatever their age."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csad.data.given_files import find_given
from csad.data.pairs import Related
from csad.data.people import drawn, parted
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.sets.mpower_records import CHANNELS, FEWEST, People, Records
from csad.data.sets.mpower_tables import read_records
from csad.data.split import check_share, generator_for
from csad.errors import InputError, unknown
from csad.registry import DATASETS

FILES = (("demographics.csv",), ("tapping.csv",), ("tapping", "tapping.zip"))
SOURCE = "Synapse project syn4993293 (tables syn5511429 and syn5511439 as CSV, with their files; access on request)"
DIAGNOSES = ("control", "parkinson")
# The paper tests on the last six; its bias head of 8 leaves two below them, which are our reading.
AGES = ("<35", "35-44", "45-49", "50-54", "55-59", "60-64", "65-69", "70+")
EDGES = (35, 45, 50, 55, 60, 65, 70)
TESTED = AGES[2:]
YOUNGEST = 18  # of mPower's participants


class RecordWarning(UserWarning):
    """Records that cannot be used are left out."""


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

    The first ``length`` taps are seen, as ``mpower_records.as_series`` says. Tested on are ``per_cell`` people with and
    as many without the disease of each of the six ages from 45, drawn by ``seed``; all others of ``youngest`` … 100
    years are trained on, less the share ``validation``, held out from every age and diagnosis alike. Each person is in
    one split, with the "first" or "all" of their ``records``. People are related if their ages are at most
    ``tolerance`` of the eight bins apart.
    """
    if records not in ("first", "all"):
        raise unknown("choice of records", records, ("first", "all"))
    if not YOUNGEST <= youngest <= EDGES[1]:
        raise InputError(f"youngest must be {YOUNGEST} … {EDGES[1]} years, not {youngest}.")
    check_settings(length, per_cell, validation, tolerance)
    demographics, tapping, files = find_given(FILES, "mpower", SOURCE, data_root)
    found = read_records(demographics, tapping, files, every=records == "all", length=length, youngest=youngest)
    test = people_to_test(found.people, per_cell, seed)
    if found.people.dropped:
        warnings.warn(f"Records of {tapping} are left out: {found.people.wants()}.", RecordWarning, stacklevel=2)
    return as_dataset("mpower", found, test, validation=validation, tolerance=tolerance, seed=seed)


def check_settings(length: int, per_cell: int, validation: float, tolerance: int) -> None:
    """Nothing, or an error about the first setting that is out of range."""
    for name, value, least in (("length", length, FEWEST), ("per_cell", per_cell, 1), ("tolerance", tolerance, 0)):
        if value < least:
            raise InputError(f"{name} must be {least} or more, not {value}.")
    check_share(validation, of="people")


def age_bins(age: NDArray[np.int64]) -> NDArray[np.int64]:
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
        left_out = f" (records left out: {people.wants()})" if people.dropped else ""
        raise InputError(
            f"{per_cell} people of each age and diagnosis are to be tested, but there are only {', '.join(few)}: "
            f"give {'a smaller per_cell' if per_cell > 1 else 'data of more people'}{left_out}."
        )
    counts = [per_cell * (age in TESTED) for age in AGES for _ in DIAGNOSES]
    return drawn(cells, counts, generator_for(seed, "mpower test"))


def _cells(people: People) -> NDArray[np.int64]:
    cells: NDArray[np.int64] = age_bins(people.age) * len(DIAGNOSES) + people.parkinson
    return cells


def as_dataset(
    name: str, records: Records, test: NDArray[np.int64], *, validation: float, tolerance: int, seed: int
) -> Dataset:
    """The data set of these records, in which the people ``test`` are tested; age and person are extra facts."""
    people = records.people
    parts = parted(_cells(people), test, validation, generator_for(seed, "mpower validation"))
    bins, splits = age_bins(people.age), {}
    for split, own in parts.items():
        rows = np.isin(records.person, own)
        person = records.person[rows]
        facts = {fact: values[person] for fact, values in people.facts.items()}
        extra = {"person": person, "age": people.age[person], **facts}
        splits[split] = Samples(records.x[rows], people.parkinson[person], bins[person], extra)
    related = Related("near_bias", (float(tolerance),)) if tolerance else Related()
    target, bias = Classes(len(DIAGNOSES), DIAGNOSES), Classes(len(AGES), AGES)
    return Dataset(Task(name, (len(CHANNELS), records.x.shape[2]), target, (bias,), ("age",), related), splits)
