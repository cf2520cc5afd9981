"""mPower without its people: records of a simulated world in mPower's files, or at once as a data set.

Age and Parkinson's disease change rhythm, side-to-side movement and fatigue. All numbers of this world were chosen
beforehand, from studies of tapping, and never by the results of a net.
"""

from __future__ import annotations

import csv
import json
import math
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.datasets.mpower import (
    AGE,
    DIAGNOSIS,
    PERSON,
    RECTANGLES,
    SAMPLES,
    age_groups,
    as_dataset,
    check_settings,
    people_to_test,
)
from csad.data.datasets.tap_records import (
    LEFT,
    NONE,
    RIGHT,
    SECONDS,
    People,
    Point,
    Records,
    Taps,
    as_series,
    mend_taps,
    write_taps,
)
from csad.data.samples import Dataset
from csad.data.splits import generator_for, stratified
from csad.errors import InputError, unknown
from csad.registry import DATASETS


class Trait(NamedTuple):
    """How people tap in one respect; ``spread`` is that between people, on the ``scale``."""

    typical: float  # at 60, without the disease
    scale: str
    spread: float
    per_decade: float  # what ten years of age add, in spreads
    disease: float  # what Parkinson's disease adds, in spreads, for an effect of 1


# Slower, less even and more scattered with age; the disease slows and unsettles the rhythm and, unlike age, makes it
# slow down while one taps (the sequence effect).
TRAITS = {
    "interval": Trait(0.16, "log", 0.20, 0.35, 1.0),  # seconds from tap to tap
    "unsteadiness": Trait(0.30, "log", 0.30, 0.15, 1.0),  # standard deviation of the intervals over their mean
    "slips": Trait(0.05, "logit", 0.60, 0.10, 0.5),  # share of taps on the side of the tap before
    "scatter": Trait(10.0, "log", 0.30, 0.35, 0.25),  # points on the screen, around where a finger aims
    "fatigue": Trait(0.05, "plain", 0.10, 0.0, 1.0),  # logarithm of how much longer intervals are at the end
}
EFFECTS = {"small": 0.2, "medium": 0.5, "large": 0.8}  # of the disease, in spreads: Cohen's d as he named it
AGES = (20, 84)  # all ages are equally frequent
MIDDLE = 60  # years; half of all people of this age have the disease
PHONES = ((320, 568), (375, 667), (414, 736))  # points of a screen; all are equally frequent
SIDE, GAP, HEIGHT = 104, 32, 0.592  # side of a button, gap between them, and their top as a share of the screen
AIM = ((0.0, 10.0), (-15.0, 12.0))  # how far right of a button's centre, and below it, people aim: mean, spread
FRAME = 1 / 60  # seconds between two looks at the screen
MOST = 600  # taps of a record at most
DEFECT = 0.2  # share of the people whose app writes every tap twice


@dataclass(frozen=True)
class World:
    """Settings of a simulated world: the number of people, the effects of disease and age, and the bias of age."""

    people: int = 3000
    effect: str = "medium"
    age_effect: float = 1.0  # a factor of what a decade adds in TRAITS
    age_bias: float = 1.0  # logarithm of the odds of the disease, per decade
    seed: int = 0

    def __post_init__(self) -> None:
        if self.effect not in EFFECTS:
            raise unknown("effect", self.effect, EFFECTS)
        if self.people < 2:
            raise InputError("people-below-two", people=self.people)
        for name in ("age_effect", "age_bias"):
            if not math.isfinite(getattr(self, name)) or abs(getattr(self, name)) > 10:
                raise InputError("simulation-effect-out-of-range", setting=name, value=getattr(self, name))


@dataclass(frozen=True)
class SimulatedPerson:
    """A person of that world; ``nature`` is what neither age nor disease explains, in spreads of each trait."""

    number: int
    code: str
    age: int
    parkinson: bool
    nature: tuple[float, ...]
    phone: tuple[int, int]
    aim: Point
    twice: bool  # the app writes every tap twice

    def scores(self, world: World) -> dict[str, float]:
        """Each trait on its scale, in spreads from the typical value: the sum of nature, age and disease."""
        decades = (self.age - MIDDLE) / 10 * world.age_effect
        disease = EFFECTS[world.effect] * self.parkinson
        return {
            name: nature + decades * trait.per_decade + disease * trait.disease
            for (name, trait), nature in zip(TRAITS.items(), self.nature, strict=True)
        }

    def traits(self, world: World) -> dict[str, float]:
        """Each trait in its own unit."""
        return {name: _unscaled(TRAITS[name], score) for name, score in self.scores(world).items()}

    def evidence(self, world: World) -> float:
        """log p(traits | age, disease) − log p(traits | age, none): the best score that does not use age."""
        shifts = [EFFECTS[world.effect] * trait.disease for trait in TRAITS.values()]
        nature = zip(shifts, self.nature, strict=True)
        return sum(shift * (deviation + shift * self.parkinson) - shift**2 / 2 for shift, deviation in nature)


def _unscaled(trait: Trait, score: float) -> float:
    if trait.scale == "log":
        return trait.typical * math.exp(trait.spread * score)
    if trait.scale == "logit":
        return 1 / (1 + (1 / trait.typical - 1) * math.exp(-trait.spread * score))
    return trait.typical + trait.spread * score


def ceiling(effect: str) -> float:
    """The AUC of ``evidence`` among people of one age: Φ(δ / √2) with the length δ of the shifts of all traits."""
    shift = EFFECTS[effect] * math.hypot(*(trait.disease for trait in TRAITS.values()))
    return 0.5 * (1 + math.erf(shift / 2))


def population(world: World) -> list[SimulatedPerson]:
    """All people in the order of their codes; the first of a larger world are those of a smaller one."""
    return sorted((_person(world, number) for number in range(world.people)), key=lambda person: person.code)


def _person(world: World, number: int) -> SimulatedPerson:
    generator = generator_for(world.seed, f"mpower person {number}")
    age = int(generator.integers(AGES[0], AGES[1] + 1))
    odds = math.exp(world.age_bias * (age - MIDDLE) / 10)
    return SimulatedPerson(
        number=number,
        code=str(uuid.UUID(bytes=generator.bytes(16), version=4)),
        age=age,
        parkinson=bool(generator.random() < odds / (1 + odds)),
        nature=tuple(generator.normal(size=len(TRAITS)).tolist()),
        phone=PHONES[int(generator.integers(len(PHONES)))],
        aim=(float(generator.normal(*AIM[0])), float(generator.normal(*AIM[1]))),
        twice=bool(generator.random() < DEFECT),
    )


def with_diagnosis(person: SimulatedPerson, parkinson: bool) -> SimulatedPerson:
    """The same person with or without the disease: all chance in their records stays as it was."""
    return replace(person, parkinson=parkinson)


def corners(phone: tuple[int, int]) -> tuple[Point, Point]:
    """The upper left corners of the left and the right button on a screen."""
    width, height = phone
    top = float(round(HEIGHT * height))
    return (width / 2 - GAP / 2 - SIDE, top), (width / 2 + GAP / 2, top)


def simulate_taps(person: SimulatedPerson, world: World, record: int = 0) -> Taps:
    """The taps of one record as the app would write them, for some people every tap twice."""
    generator = generator_for(world.seed, f"mpower person {person.number} record {record}")
    traits = person.traits(world)
    time = _times(traits, generator)
    right_side = np.cumsum(generator.random(MOST) >= traits["slips"])[: len(time)] % 2
    left, right = corners(person.phone)
    spread = traits["scatter"] * generator.normal(size=(2, MOST))[:, : len(time)]
    x = np.where(right_side, right[0], left[0]) + SIDE / 2 + person.aim[0] + spread[0]
    y = left[1] + SIDE / 2 + person.aim[1] + spread[1]
    # Half a point is one dot of such a screen.
    x, y = (np.round(2 * at.clip(0, end)) / 2 for at, end in zip((x, y), person.phone, strict=True))
    level = (y >= left[1]) & (y <= left[1] + SIDE)
    on_left, on_right = (level & (x >= corner[0]) & (x <= corner[0] + SIDE) for corner in (left, right))
    taps = Taps(time, x, y, np.where(on_left, LEFT, np.where(on_right, RIGHT, NONE)))
    if not person.twice:
        return taps
    doubled = taps.rows(np.repeat(np.arange(len(time)), 2))
    doubled.button[1::2] = NONE
    return doubled


def _times(traits: dict[str, float], generator: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The time of each tap: intervals of the person's mean and unsteadiness, which grow by fatigue."""
    width = math.sqrt(math.log1p(traits["unsteadiness"] ** 2))
    intervals = traits["interval"] * np.exp(width * generator.normal(size=MOST) - width**2 / 2)
    rested = np.cumsum(intervals)
    time = np.cumsum(intervals * np.exp(traits["fatigue"] * (rested / SECONDS - 0.5)))
    return np.round(time[time <= SECONDS] / FRAME) * FRAME


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

    The rest is as in ``mpower``, and x, y and b equal, to the bit, those that ``mpower`` reads from the files of
    ``simulate``. With ``balanced`` people outside the test split get another diagnosis: as many have PD as before, but
    equally many at every age, so that they teach no bias. The traits of people are extra facts.
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


def _about(everyone: list[SimulatedPerson], world: World) -> People:
    """What is known of the people."""
    facts = [person.traits(world) | {"evidence": person.evidence(world)} for person in everyone]
    return People(
        parkinson=np.array([person.parkinson for person in everyone], dtype=np.int64),
        age=np.array([person.age for person in everyone]),
        dropped={},
        facts={fact: np.array([traits[fact] for traits in facts]) for fact in (*TRAITS, "evidence")},
    )


def _series(person: SimulatedPerson, world: World, length: int) -> NDArray[np.float32]:
    left, right = ((x + SIDE / 2, y + SIDE / 2) for x, y in corners(person.phone))
    return as_series(mend_taps(simulate_taps(person, world)), left, right, length)


def _evened(everyone: list[SimulatedPerson], test: NDArray[np.int64], seed: int) -> list[SimulatedPerson]:
    """The people, with new diagnoses outside the test split: as many are ill as before, equally many at every age."""
    others = np.setdiff1d(np.arange(len(everyone)), test)
    ages = age_groups(np.array([everyone[k].age for k in others]))
    ill = sum(everyone[k].parkinson for k in others)
    chosen = stratified(ages, (len(others) - ill, ill), generator_for(seed, "mpower balanced"))[1]
    anew = dict.fromkeys(others.tolist(), False) | dict.fromkeys(others[chosen].tolist(), True)
    return [with_diagnosis(person, anew.get(k, person.parkinson)) for k, person in enumerate(everyone)]


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
    """Write the files of a simulated world to ``folder``, a new or an empty one, and return its truth.

    They are demographics.csv, tapping.csv and tapping/HANDLE.json, as ``mpower`` reads them from a folder "mpower"
    under the data root, with so many ``records`` of each person; and truth.json: the effects of age and disease, and
    the traits of all people.
    """
    if records < 1:
        raise InputError("records-below-one", records=records)
    world = World(people, effect, age_effect, age_bias, seed)
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("simulation-folder-not-empty", folder=folder)
    everyone = population(world)
    truth = _truth(everyone, world)
    try:
        (folder / "tapping").mkdir(parents=True)
        _write(folder / "demographics.csv", DEMOGRAPHICS, (_demographics(person) for person in everyone))
        rows = [_recorded(folder, person, world, k, records) for k in range(records) for person in everyone]
        _write(folder / "tapping.csv", TAPPING, rows)
        (folder / "truth.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")
    except OSError as error:
        raise InputError("simulation-folder-not-writable", folder=folder, reason=error.strerror or error) from error
    return truth


def _truth(everyone: list[SimulatedPerson], world: World) -> dict[str, Any]:
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


def _common(person: SimulatedPerson, kind: str, day: int) -> dict[str, object]:
    version = "version 1.0, build 7" if person.twice else "version 1.0.5, build 12"
    phone = f"iPhone with {person.phone[0]} x {person.phone[1]} points"
    values = (f"{kind}-{person.code}-{day}", person.code, BEGIN + day * DAY, version, phone)
    return dict(zip(COMMON, values, strict=True))


def _demographics(person: SimulatedPerson) -> dict[str, object]:
    return {**_common(person, "demographics", 0), AGE: person.age, DIAGNOSIS: str(person.parkinson).lower()}


def _recorded(folder: Path, person: SimulatedPerson, world: World, record: int, records: int) -> dict[str, object]:
    """Write the file of a record, and return its row."""
    handle = FIRST_HANDLE + person.number * records + record
    (folder / "tapping" / f"{handle}.json").write_text(
        write_taps(simulate_taps(person, world, record)), encoding="utf-8"
    )
    rectangles = [f"{{{{{x}, {y}}}, {{{SIDE}, {SIDE}}}}}" for x, y in corners(person.phone)]
    view = f"{{{person.phone[0]}, {person.phone[1]}}}"
    values = dict(zip(TAPPING[len(COMMON) :], (*rectangles, handle, view), strict=True))
    return _common(person, "tapping", record) | values
