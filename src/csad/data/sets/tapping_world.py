"""A made-up world of people who tap: how age and Parkinson's disease change rhythm, side-to-side movement and fatigue.

All its numbers were chosen beforehand, from what tapping is known to look like, and never by what a net made of them.
"""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from csad.data.sets.mpower_records import LEFT, NONE, RIGHT, SECONDS, Point, Taps
from csad.data.split import generator_for
from csad.errors import InputError, unknown


class Trait(NamedTuple):
    """How a person taps in one respect; ``spread``, between people, is measured on the ``scale``."""

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
AGES = (20, 84)  # all alike frequent
MIDDLE = 60  # years, at which half of all have the disease
PHONES = ((320, 568), (375, 667), (414, 736))  # points of a screen; all alike frequent
SIDE, GAP, HEIGHT = 104, 32, 0.592  # of the buttons, between them, and where they begin down the screen
AIM = ((0.0, 10.0), (-15.0, 12.0))  # how far from a button's centre people aim, right and down: mean, spread
FRAME = 1 / 60  # seconds between two looks at the screen
MOST = 600  # taps that a record could have
DEFECT = 0.2  # share of the people whose app writes every tap twice


@dataclass(frozen=True)
class World:
    """Its settings: how many people, how much disease and age show, how much likelier ten years make the disease."""

    people: int = 3000
    effect: str = "medium"
    age_effect: float = 1.0  # times what TRAITS says of a decade
    age_bias: float = 1.0  # logarithm of the odds of the disease, per decade
    seed: int = 0

    def __post_init__(self) -> None:
        if self.effect not in EFFECTS:
            raise unknown("effect", self.effect, EFFECTS)
        if self.people < 2:
            raise InputError(f"people must be 2 or more, not {self.people}.")
        for name in ("age_effect", "age_bias"):
            if not math.isfinite(getattr(self, name)) or abs(getattr(self, name)) > 10:
                raise InputError(f"{name} must be a number from -10 to 10, not {getattr(self, name)}.")


@dataclass(frozen=True)
class Person:
    """Someone of that world; ``nature`` is what neither age nor disease explains, in spreads of each trait."""

    number: int
    code: str
    age: int
    parkinson: bool
    nature: tuple[float, ...]
    phone: tuple[int, int]
    aim: Point
    twice: bool  # the app writes every tap twice

    def scores(self, world: World) -> dict[str, float]:
        """Each trait on its scale, in spreads from the typical: nature, age and disease added up."""
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
        """log p(traits | age, disease) − log p(traits | age, none): the best score that leaves age alone."""
        shifts = [EFFECTS[world.effect] * trait.disease for trait in TRAITS.values()]
        nature = zip(shifts, self.nature, strict=True)
        return sum(shift * (own + shift * self.parkinson) - shift**2 / 2 for shift, own in nature)


def _unscaled(trait: Trait, score: float) -> float:
    if trait.scale == "log":
        return trait.typical * math.exp(trait.spread * score)
    if trait.scale == "logit":
        return 1 / (1 + (1 / trait.typical - 1) * math.exp(-trait.spread * score))
    return trait.typical + trait.spread * score


def ceiling(effect: str) -> float:
    """The AUC of ``evidence`` among people of one age: Φ(δ / √2), δ being the length of the shifts of all traits."""
    shift = EFFECTS[effect] * math.hypot(*(trait.disease for trait in TRAITS.values()))
    return 0.5 * (1 + math.erf(shift / 2))


def population(world: World) -> list[Person]:
    """All people in the order of their codes; the first of a larger world are those of a smaller one."""
    return sorted((_person(world, number) for number in range(world.people)), key=lambda person: person.code)


def _person(world: World, number: int) -> Person:
    generator = generator_for(world.seed, f"mpower person {number}")
    age = int(generator.integers(AGES[0], AGES[1] + 1))
    odds = math.exp(world.age_bias * (age - MIDDLE) / 10)
    return Person(
        number=number,
        code=str(uuid.UUID(bytes=generator.bytes(16), version=4)),
        age=age,
        parkinson=bool(generator.random() < odds / (1 + odds)),
        nature=tuple(generator.normal(size=len(TRAITS)).tolist()),
        phone=PHONES[int(generator.integers(len(PHONES)))],
        aim=(float(generator.normal(*AIM[0])), float(generator.normal(*AIM[1]))),
        twice=bool(generator.random() < DEFECT),
    )


def diagnosed(person: Person, parkinson: bool) -> Person:
    """The same person with or without the disease: all chance in their records stays as it was."""
    return replace(person, parkinson=parkinson)


def corners(phone: tuple[int, int]) -> tuple[Point, Point]:
    """The upper left corners of the left and the right button on a screen."""
    width, height = phone
    top = float(round(HEIGHT * height))
    return (width / 2 - GAP / 2 - SIDE, top), (width / 2 + GAP / 2, top)


def tapped(person: Person, world: World, record: int = 0) -> Taps:
    """The taps of one record as the app would write them, every tap twice where it does so."""
    generator = generator_for(world.seed, f"mpower person {person.number} record {record}")
    own = person.traits(world)
    time = _times(own, generator)
    right_side = np.cumsum(generator.random(MOST) >= own["slips"])[: len(time)] % 2
    left, right = corners(person.phone)
    spread = own["scatter"] * generator.normal(size=(2, MOST))[:, : len(time)]
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


def _times(own: dict[str, float], generator: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """When each tap falls: intervals of the person's mean and unsteadiness, longer and longer by fatigue."""
    width = math.sqrt(math.log1p(own["unsteadiness"] ** 2))
    intervals = own["interval"] * np.exp(width * generator.normal(size=MOST) - width**2 / 2)
    rested = np.cumsum(intervals)
    time = np.cumsum(intervals * np.exp(own["fatigue"] * (rested / SECONDS - 0.5)))
    return np.round(time[time <= SECONDS] / FRAME) * FRAME
