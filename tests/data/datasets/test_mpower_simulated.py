from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import csad
from csad.data.datasets.mpower import mpower
from csad.data.datasets.mpower_simulated import (
    EFFECTS,
    TRAITS,
    World,
    ceiling,
    corners,
    mpower_simulated,
    population,
    simulate,
    simulate_taps,
    with_diagnosis,
)
from csad.data.datasets.tap_records import LEFT, NONE, RIGHT, Taps, mend_taps, read_taps
from csad.data.samples import Dataset
from csad.data.validate import check_trainable
from csad.registry import DATASETS
from tests.support.messages import Refusal, refused
from tests.support.parkinson_files import real

SMALL: dict[str, Any] = {"people": 300, "per_cell": 2}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def measured(taps: Taps) -> dict[str, float]:
    """What a record tells of each trait, on the scale of the trait where that is a logarithm."""
    taps = mend_taps(taps)
    intervals = np.diff(taps.time)
    side = taps.x > np.median(taps.x)
    late = taps.time[1:] > 10
    return {
        "interval": float(np.log(intervals.mean())),
        "unsteadiness": float(np.log(intervals.std() / intervals.mean())),
        "slips": float((side[1:] == side[:-1]).mean()),
        "scatter": float(np.log(taps.y.std())),
        "fatigue": float(2 * np.log(intervals[late].mean() / intervals[~late].mean())),
    }


def difference(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """The difference of two means, and its standard error."""
    error = np.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other))
    return float(one.mean() - other.mean()), float(error)


@pytest.fixture(scope="module")
def default() -> Dataset:
    return DATASETS["mpower-simulated"]()


@pytest.fixture(scope="module")
def crowd() -> tuple[World, dict[str, np.ndarray]]:
    """A world in which age changes nothing but the traits, and what is measured of 600 of its people."""
    world = World(people=600, age_bias=0.0, seed=11)
    people = population(world)
    found = [measured(simulate_taps(person, world)) for person in people]
    facts = {f"measured {name}": np.array([own[name] for own in found]) for name in TRAITS}
    facts |= {f"true {name}": np.array([person.scores(world)[name] for person in people]) for name in TRAITS}
    facts |= {"age": np.array([p.age for p in people]), "ill": np.array([p.parkinson for p in people])}
    return world, facts


def test_the_same_seed_writes_the_same_files(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("again", 3), ("other", 4)):
        simulate(tmp_path / name, people=20, records=2, seed=seed)
    one, again, other = (contents(tmp_path / name) for name in ("one", "again", "other"))
    handles = [f"tapping/{5_000_000 + k}.json" for k in range(40)]
    assert sorted(one) == sorted([*handles, "demographics.csv", "tapping.csv", "truth.json"])
    assert one == again
    assert all(one[name] != other[name] for name in one)


def test_what_is_read_from_the_files_is_the_data_set_in_memory_to_the_bit(tmp_path: Path) -> None:
    world: dict[str, Any] = {"people": 150, "effect": "large", "age_effect": 0.5, "age_bias": 0.3, "seed": 5}
    simulate(tmp_path / "mpower", records=2, **world)
    for settings in ({"validation": 0.2}, {"length": 100, "tolerance": 1}):
        read = mpower(data_root=tmp_path, per_cell=1, seed=5, **settings)
        made = mpower_simulated(per_cell=1, **world, **settings)
        assert read.task.related == made.task.related
        assert [*read.splits] == [*made.splits]
        for split, own in read.splits.items():
            other = made.splits[split]
            pairs = [(own.x, other.x), (own.y, other.y), (own.b, other.b)]
            pairs += [(own.extra[fact], other.extra[fact]) for fact in ("person", "age")]
            assert all(one.dtype == two.dtype and torch.equal(one, two) for one, two in pairs)


def test_all_records_of_a_person_are_read_and_differ(tmp_path: Path) -> None:
    simulate(tmp_path / "mpower", people=100, records=3, age_bias=0.0)
    dataset = mpower(data_root=tmp_path, records="all", per_cell=1)
    assert sum(map(len, dataset.splits.values())) == 300
    assert len(dataset.splits["test"]) == 36
    assert len(torch.unique(dataset.train.x.flatten(1), dim=0)) == len(dataset.train)


def test_the_truth_is_written_and_comes_back(tmp_path: Path) -> None:
    truth = simulate(tmp_path / "new" / "mpower", people=30, effect="large")
    assert json.loads((tmp_path / "new" / "mpower" / "truth.json").read_text()) == truth
    assert truth["disease_effect"] == 0.8
    assert truth["world"] == {"people": 30, "effect": "large", "age_effect": 1.0, "age_bias": 1.0, "seed": 0}
    with (tmp_path / "new" / "mpower" / "demographics.csv").open() as stream:
        rows = {row["healthCode"]: row for row in csv.DictReader(stream)}
    assert rows.keys() == truth["people"].keys()
    for code, person in truth["people"].items():
        assert int(rows[code]["age"]) == person["age"]
        assert rows[code]["professional-diagnosis"] == str(person["parkinson"]).lower()
        assert person.keys() == {"age", "parkinson", "evidence", *TRAITS}


def test_traits_by_hand() -> None:
    world = World(effect="medium", age_effect=2.0)
    person = replace(with_diagnosis(population(World(people=2))[0], True), age=70, nature=(0.0, 1.0, 0.0, -1.0, 2.0))
    found = person.traits(world)
    assert found["interval"] == pytest.approx(0.16 * np.exp(0.2 * (0.7 + 0.5)))
    assert found["unsteadiness"] == pytest.approx(0.3 * np.exp(0.3 * (1 + 0.3 + 0.5)))
    odds = 0.05 / 0.95 * np.exp(0.6 * (0.2 + 0.25))
    assert found["slips"] == pytest.approx(odds / (1 + odds))
    assert found["scatter"] == pytest.approx(10 * np.exp(0.3 * (-1 + 0.7 + 0.125)))
    assert found["fatigue"] == pytest.approx(0.05 + 0.1 * (2 + 0.5))
    shifts, nature = np.array([0.5, 0.5, 0.25, 0.125, 0.5]), np.array(person.nature)
    assert person.evidence(world) == pytest.approx(((nature + shifts) * shifts - shifts**2 / 2).sum())


@pytest.mark.parametrize("effect", EFFECTS)
def test_the_disease_slows_taps_by_the_stated_amount(effect: str) -> None:
    world = World(people=400, effect=effect, age_effect=0.0, age_bias=0.0, seed=7)
    people = population(world)
    logs = np.array([measured(simulate_taps(person, world))["interval"] for person in people])
    ill = np.array([person.parkinson for person in people])
    slower, error = difference(logs[ill], logs[~ill])
    assert abs(slower - EFFECTS[effect] * 0.2) < 4 * error
    # The same people with and without it, which leaves no chance but that of the record.
    pairs = [
        [measured(simulate_taps(with_diagnosis(person, sick), world)) for sick in (True, False)]
        for person in people[:150]
    ]
    changes = {name: np.array([one[name] - other[name] for one, other in pairs]) for name in TRAITS}
    for name, scale in (("interval", 0.2), ("unsteadiness", 0.3), ("fatigue", 0.1)):
        error = changes[name].std(ddof=1) / np.sqrt(len(pairs))
        # Frames of 1/60 second add to the unsteadiness of all, and so take from its ratio.
        assert changes[name].mean() == pytest.approx(EFFECTS[effect] * scale, abs=4 * error + 0.1 * scale), name


def test_age_slows_taps_by_the_stated_amount(crowd: tuple[World, dict[str, np.ndarray]]) -> None:
    _, facts = crowd
    columns = np.column_stack([np.ones(600), (facts["age"] - 60) / 10, facts["ill"]])
    wanted = {"interval": (0.07, 0.1), "scatter": (0.105, 0.0375)}
    for name, (by_age, by_disease) in wanted.items():
        values = facts[f"measured {name}"]
        solution, squares = np.linalg.lstsq(columns, values)[:2]
        errors = np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)) * squares[0] / (600 - 3))
        assert abs(solution[1] - by_age) < 4 * errors[1], name
        assert abs(solution[2] - by_disease) < 4 * errors[2], name


@pytest.mark.parametrize("name", TRAITS)
def test_a_trait_can_be_read_from_a_record(crowd: tuple[World, dict[str, np.ndarray]], name: str) -> None:
    facts = crowd[1]
    least = {"fatigue": 0.5, "slips": 0.7}.get(name, 0.9)
    assert np.corrcoef(facts[f"true {name}"], facts[f"measured {name}"])[0, 1] > least


@pytest.mark.parametrize("age_bias", [0.0, 1.0])
def test_older_people_have_the_disease_more_often_as_the_bias_says(age_bias: float) -> None:
    people = population(World(people=1500, age_bias=age_bias, seed=2))
    age = np.array([(person.age - 60) / 10 for person in people])[:, None]
    ill = np.array([person.parkinson for person in people])
    model = LogisticRegression(C=1e6).fit(age, ill)
    chance = model.predict_proba(age)[:, 1]
    error = 1 / np.sqrt(
        (chance * (1 - chance) * (age[:, 0] - np.average(age[:, 0], weights=chance * (1 - chance))) ** 2).sum()
    )
    assert abs(model.coef_[0, 0] - age_bias) < 4 * error
    assert {min(p.age for p in people), max(p.age for p in people)} == {20, 84}


def test_the_evidence_reaches_the_ceiling_and_tells_nothing_of_age() -> None:
    assert [round(ceiling(effect), 2) for effect in EFFECTS] == [0.60, 0.74, 0.85]
    for effect in EFFECTS:
        world = World(people=1500, effect=effect, seed=3)
        people = population(world)
        evidence = np.array([person.evidence(world) for person in people])
        ill, age = (np.array([getattr(person, name) for person in people]) for name in ("parkinson", "age"))
        # An AUC of n + m rows has a standard error below √(1 / (4 min(n, m))).
        assert abs(roc_auc_score(ill, evidence) - ceiling(effect)) < 4 / np.sqrt(4 * min(ill.sum(), (~ill).sum()))
        assert abs(np.corrcoef(evidence[~ill], age[~ill])[0, 1]) < 4 / np.sqrt((~ill).sum())


def test_a_smaller_world_is_the_beginning_of_a_larger_one() -> None:
    small, large = (population(World(people=count)) for count in (10, 40))
    assert sorted(small, key=lambda p: p.number) == sorted(large, key=lambda p: p.number)[:10]
    assert [person.code for person in large] == sorted(person.code for person in large)


def test_some_apps_write_every_tap_twice_and_mending_undoes_it() -> None:
    world = World(people=300)
    people = population(world)
    share = np.mean([person.twice for person in people])
    assert abs(share - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 300)
    for person in people[:50]:
        once = simulate_taps(replace(person, twice=False), world)
        twice = simulate_taps(replace(person, twice=True), world)
        assert len(twice.time) == 2 * len(once.time)
        assert (twice.button[1::2] == NONE).all()
        for one, other in zip(mend_taps(once), mend_taps(twice), strict=True):
            assert np.array_equal(one, other)


def test_taps_lie_on_the_screen_and_hit_the_button_they_name() -> None:
    world = World(people=60, effect="large")
    for person in population(world):
        taps = simulate_taps(person, world)
        left, right = (
            (np.abs(taps.x - corner[0] - 52) <= 52) & (np.abs(taps.y - corner[1] - 52) <= 52)
            for corner in corners(person.phone)
        )
        buttons = np.where(left, LEFT, np.where(right, RIGHT, NONE))
        assert (taps.button == (np.where(np.arange(len(left)) % 2, NONE, buttons) if person.twice else buttons)).all()
        assert (taps.x * 2 % 1 == 0).all()
        assert (taps.y * 2 % 1 == 0).all()
        np.testing.assert_allclose(taps.time * 60, np.round(taps.time * 60), atol=1e-9)
        for at, end in zip((taps.x, taps.y), person.phone, strict=True):
            assert (at.min(), at.max()) >= (0, 0)
            assert at.max() <= end
        assert 0 < taps.time.min() <= taps.time.max() <= 20 + 1 / 60
        assert (np.diff(taps.time) >= 0).all()


def test_a_real_record_could_be_one_of_the_simulated() -> None:
    with real("mpower_tap_record.csv").open() as stream:
        rows = [*csv.DictReader(stream)]
    items = [
        {"TapTimeStamp": float(r["t"]), "TappedButtonId": r["buttonid"], "TapCoordinate": f"{{{r['x']}, {r['y']}}}"}
        for r in sorted(rows, key=lambda row: float(row["t"]))
    ]
    own = read_taps(json.dumps(items), "real.json")
    world = World(people=300)
    crowd = [mend_taps(simulate_taps(person, world)) for person in population(world)]
    figures = {name: [measured(taps)[name] for taps in crowd] for name in TRAITS}
    figures |= {"taps": [len(taps.time) for taps in crowd], "missed": [(taps.button == NONE).mean() for taps in crowd]}
    found = measured(own) | {"taps": 181, "missed": 16 / 181}
    for name, values in figures.items():
        assert min(values) < found[name] < max(values), name


def test_the_default_data_set_is_as_described(default: Dataset) -> None:
    assert {split: len(samples) for split, samples in default.splits.items()} == {"train": 2640, "test": 360}
    assert (default.task.name, default.task.shape, default.task.bias_names) == ("mpower-simulated", (6, 256), ("age",))
    test = default.splits["test"]
    cells = torch.bincount(test.b[:, 0] * 2 + test.y, minlength=16)
    assert cells.tolist() == [0] * 4 + [30] * 12
    assert set(test.extra) == {"person", "age", "evidence", *TRAITS}
    assert float((default.train.x[:, 0] != 0).sum(1).double().mean()) == pytest.approx(125, abs=25)
    check_trainable(default, needs_bias=True)


def test_age_tells_of_the_disease_in_training_and_not_in_testing(default: Dataset) -> None:
    areas = {split: roc_auc_score(rows.y, rows.extra["age"]) for split, rows in default.splits.items()}
    assert areas["train"] > 0.8
    assert areas["test"] == pytest.approx(0.5, abs=0.03)


def test_a_balanced_world_keeps_the_test_and_the_ages_and_trains_without_bias() -> None:
    biased, fair = (mpower_simulated(**SMALL, balanced=balanced) for balanced in (False, True))
    assert biased.splits["test"].fingerprint() == fair.splits["test"].fingerprint()
    one, other = biased.train, fair.train
    assert torch.equal(one.b, other.b)
    assert torch.equal(one.extra["person"], other.extra["person"])
    assert one.y.sum() == other.y.sum()
    same = one.y == other.y
    assert torch.equal(one.x[same], other.x[same])
    assert not (one.x[~same] == other.x[~same]).flatten(1).all(1).any()
    share = other.y.double().mean()
    for age in range(8):
        there = other.y[other.b[:, 0] == age]
        assert abs(there.sum() - share * len(there)) < 2


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"effect": "huge"}, Refusal("unknown-name", kind="effect", name="huge", known="large, medium, small")),
        (
            {"effect": "midium"},
            Refusal("misspelled-name", name="midium", nearest="medium", known="large, medium, small"),
        ),
        ({"people": 1}, Refusal("people-below-two", people=1)),
        ({"age_bias": float("nan")}, Refusal("simulation-effect-out-of-range", setting="age_bias", value="nan")),
        ({"age_effect": 11}, Refusal("simulation-effect-out-of-range", setting="age_effect", value=11)),
        ({"seed": -1}, Refusal("negative-seed", seed=-1)),
    ],
)
def test_settings_out_of_range_are_input_errors(tmp_path: Path, settings: dict[str, Any], complaint: Refusal) -> None:
    for call in (lambda: mpower_simulated(**settings), lambda: simulate(tmp_path / "new", **settings)):
        with refused(complaint):
            call()
    assert not (tmp_path / "new").exists()


def test_too_few_people_for_the_test_are_told() -> None:
    with refused("too-few-test-people", per_cell=30, found=re.compile(r"^\d+ aged 45-49 \(control\), ")):
        mpower_simulated(people=100)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "demographics.csv").touch()
    for place in (tmp_path, tmp_path / "demographics.csv"):
        with refused("simulation-folder-not-empty"):
            simulate(place, people=2)
    with refused("records-below-one", records=0):
        simulate(tmp_path / "new", people=2, records=0)
    with refused("simulation-folder-not-writable", reason="Not a directory"):
        simulate(tmp_path / "demographics.csv" / "mpower", people=2)


def test_a_net_trains_on_it() -> None:
    short = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1}
    data = {"data.people": 150, "data.per_cell": 1, "data.length": 32, "data.age_bias": 0.3}
    settings = {**short, **data, "net.filters": 8, "net.layers": 2, "inner_steps": 1}
    run = csad.train("mpower-simulated", method="csad", settings=settings, device="cpu")
    assert 0 <= run.result["metrics"]["test"]["auc"] <= 1
