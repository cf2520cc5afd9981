"""mPower without its people: simulated records in mPower's files, or at once as a data set, whose truth is known."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.data.samples import Dataset
from csad.data.sets.mpower import age_bins, as_dataset, check_settings, people_to_test
from csad.data.sets.mpower_records import People, Records, as_series, mended, write_taps
from csad.data.sets.mpower_tables import AGE, DIAGNOSIS, PERSON, RECTANGLES, SAMPLES
from csad.data.sets.tapping_world import (
    EFFECTS,
    SIDE,
    TRAITS,
    Person,
    World,
    ceiling,
    corners,
    diagnosed,
    population,
    tapped,
)
from csad.data.split import generator_for, stratified
from csad.errors import InputError
from csad.registry import DATASETS

COMMON = ("recordId", PERSON, "createdOn", "appVersion", "phoneInfo")
DEMOGRAPHICS = (*COMMON, AGE, DIAGNOSIS)
TAPPING = (*COMMON, *RECTANGLES, SAMPLES, "tapping_results.json.TappingViewSize")
BEGIN, DAY = 1425859200000, 86_400_000  # 9 March 2015, and a day, in milliseconds
FIRST_HANDLE = 5_000_000


@DATASETS.register("mpower-simulated")
def mpower_simulated(
    *,
    effect: str = "medium",
    age_effect: float = 1.0,
    age_bias: float = 1.0,
    people: int = 3000,
    balanced: bool = False,
    length: int = 256,
    per_cell: int = 30,
    validation: float = 0.0,
    tolerance: int = 0,
    seed: int = 0,
) -> Dataset:
    """mPower with made-up people: PD is the target, age the bias, a "small", "medium" or "large" effect of PD known.

    The rest is as in ``mpower``, and x, y and b are, to the bit, what ``mpower`` reads from the files of ``simulate``.
    With ``balanced`` the people who are not tested get another diagnosis, as many with PD as before but as often at
    every age: what is learned from them is not biased. The traits of people (``tapping_world``) are extra facts.
    """
    check_settings(length, per_cell, validation, tolerance)
    world = World(people, effect, age_effect, age_bias, seed)
    everyone = population(world)
    about = _about(everyone, world)
    test = people_to_test(about, per_cell, seed)
    if balanced:
        everyone = _evened(everyone, test, seed)
        about = _about(everyone, world)
    x = np.stack([_series(person, world, length) for person in everyone])
    records = Records(x, np.arange(len(everyone)), about)
    return as_dataset("mpower-simulated", records, test, validation=validation, tolerance=tolerance, seed=seed)


def _about(everyone: list[Person], world: World) -> People:
    """What is known of the people."""
    facts = [person.traits(world) | {"evidence": person.evidence(world)} for person in everyone]
    return People(
        parkinson=np.array([person.parkinson for person in everyone], dtype=np.int64),
        age=np.array([person.age for person in everyone]),
        dropped={},
        facts={fact: np.array([own[fact] for own in facts]) for fact in (*TRAITS, "evidence")},
    )


def _series(person: Person, world: World, length: int) -> NDArray[np.float32]:
    left, right = ((x + SIDE / 2, y + SIDE / 2) for x, y in corners(person.phone))
    return as_series(mended(tapped(person, world)), left, right, length)


def _evened(everyone: list[Person], test: NDArray[np.int64], seed: int) -> list[Person]:
    """The people, among whom those not tested are as often ill at every age; as many are as before."""
    others = np.setdiff1d(np.arange(len(everyone)), test)
    ages = age_bins(np.array([everyone[k].age for k in others]))
    ill = sum(everyone[k].parkinson for k in others)
    chosen = stratified(ages, (len(others) - ill, ill), generator_for(seed, "mpower balanced"))[1]
    anew = dict.fromkeys(others.tolist(), False) | dict.fromkeys(others[chosen].tolist(), True)
    return [diagnosed(person, anew.get(k, person.parkinson)) for k, person in enumerate(everyone)]


def simulate(
    folder: Path | str,
    *,
    people: int = 3000,
    effect: str = "medium",
    age_effect: float = 1.0,
    age_bias: float = 1.0,
    records: int = 1,
    seed: int = 0,
) -> dict[str, Any]:
    """The truth of a simulated world, once its files are written to ``folder``, a new or an empty one.

    They are demographics.csv, tapping.csv and tapping/HANDLE.json, as ``mpower`` reads them from a folder "mpower"
    under the data root; ``records`` of each person; and truth.json: what age and disease do, and everyone's traits.
    """
    if records < 1:
        raise InputError(f"records must be 1 or more, not {records}.")
    world = World(people, effect, age_effect, age_bias, seed)
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder, and nothing is written over: give a new one.")
    everyone = population(world)
    truth = _truth(everyone, world)
    try:
        (folder / "tapping").mkdir(parents=True)
        _write(folder / "demographics.csv", DEMOGRAPHICS, (_demographics(person) for person in everyone))
        rows = [_recorded(folder, person, world, k, records) for k in range(records) for person in everyone]
        _write(folder / "tapping.csv", TAPPING, rows)
        (folder / "truth.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder} cannot be written to: {error.strerror or error}.") from error
    return truth


def _truth(everyone: list[Person], world: World) -> dict[str, Any]:
    return {
        "world": asdict(world),
        "disease_effect": EFFECTS[world.effect],
        "traits": {name: trait._asdict() for name, trait in TRAITS.items()},
        "ceiling_auc": ceiling(world.effect),
        "people": {
            person.code: {"age": person.age, "parkinson": person.parkinson, "evidence": person.evidence(world)}
            | person.traits(world)
            for person in everyone
        },
    }


def _write(path: Path, columns: tuple[str, ...], rows: Iterable[dict[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(rows)


def _common(person: Person, kind: str, day: int) -> dict[str, object]:
    version = "version 1.0, build 7" if person.twice else "version 1.0.5, build 12"
    phone = f"iPhone with {person.phone[0]} x {person.phone[1]} points"
    values = (f"{kind}-{person.code}-{day}", person.code, BEGIN + day * DAY, version, phone)
    return dict(zip(COMMON, values, strict=True))


def _demographics(person: Person) -> dict[str, object]:
    return {**_common(person, "demographics", 0), AGE: person.age, DIAGNOSIS: str(person.parkinson).lower()}


def _recorded(folder: Path, person: Person, world: World, record: int, records: int) -> dict[str, object]:
    """The row of a record, whose file is written."""
    handle = FIRST_HANDLE + person.number * records + record
    (folder / "tapping" / f"{handle}.json").write_text(write_taps(tapped(person, world, record)), encoding="utf-8")
    rectangles = [f"{{{{{x}, {y}}}, {{{SIDE}, {SIDE}}}}}" for x, y in corners(person.phone)]
    view = f"{{{person.phone[0]}, {person.phone[1]}}}"
    own = dict(zip(TAPPING[len(COMMON) :], (*rectangles, handle, view), strict=True))
    return _common(person, "tapping", record) | own
