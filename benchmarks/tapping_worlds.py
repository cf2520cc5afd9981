"""How much age misleads in which simulated world of tapping: what is lost by learning from people whose age tells.

    python benchmarks/tapping_worlds.py

A logistic regression on people's traits and their products learns the disease from the people of a world, another from
the same people among whom it is as frequent at every age; both are tested on others of the ages that ``mpower`` tests,
half of whom are ill at each. No net has a part in it: a world for an experiment can be picked by this and still be new.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from csad.data.datasets.mpower import EDGES
from csad.data.datasets.mpower_simulated import EFFECTS, SimulatedPerson, World, population, with_diagnosis

OUT = Path(__file__).parent.parent / "docs" / "results" / "mpower-simulated-search" / "worlds.json"
WORLDS = [(age, bias) for bias in (-2.0, -1.0, 1.0, 2.0, 4.0) for age in (1.0, 2.0, 3.0)]
YOUNGEST = EDGES[1]  # of those who are tested
LEARNED, TESTED = 100, 101  # seeds; the experiment's tables have others


def scores(people: list[SimulatedPerson], world: World) -> NDArray[np.float64]:
    """Everyone's traits, in spreads."""
    return np.array([list(person.scores(world).values()) for person in people])


def ill(people: list[SimulatedPerson]) -> NDArray[np.bool_]:
    """Who has the disease."""
    return np.array([person.parkinson for person in people])


def evened(people: list[SimulatedPerson], seed: int) -> list[SimulatedPerson]:
    """The people, each of whom is ill with the same chance of one half."""
    coins = np.random.default_rng(seed).random(len(people)) < 0.5
    return [with_diagnosis(person, bool(coin)) for person, coin in zip(people, coins, strict=True)]


def auc(learned: list[SimulatedPerson], tested: list[SimulatedPerson], world: World) -> float:
    """How well what is learned from some tells who is ill among the others."""
    model = make_pipeline(
        PolynomialFeatures(2, include_bias=False), LogisticRegression(class_weight="balanced", max_iter=2000)
    )
    model.fit(scores(learned, world), ill(learned))
    return float(roc_auc_score(ill(tested), model.decision_function(scores(tested, world))))


def compared(effect: str, age_effect: float, age_bias: float, people: int) -> dict[str, float | str]:
    """The AUC that biased people teach, and the one that even ones do."""
    world = World(people, effect, age_effect, age_bias, LEARNED)
    learned = population(world)
    others = population(World(people, effect, age_effect, age_bias, TESTED))
    tested = evened([person for person in others if person.age >= YOUNGEST], TESTED)
    found = {"biased": auc(learned, tested, world), "even": auc(evened(learned, LEARNED), tested, world)}
    told = {name: round(value, 5) for name, value in found.items()}
    return {"effect": effect, "age_effect": age_effect, "age_bias": age_bias, **told}


def main() -> None:
    """Prints a line for each world and effect, and writes them all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    rows = []
    for age_effect, age_bias in WORLDS:
        for effect in EFFECTS:
            rows.append(compared(effect, age_effect, age_bias, options.people))
            print(*(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    options.out.write_text(json.dumps({"people": options.people, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
