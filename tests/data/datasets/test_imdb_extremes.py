"""How photos become EB1, EB2 and a test set, by age and gender alone."""

from __future__ import annotations

import numpy as np

from csad.data.datasets.face_metadata import Photos
from csad.data.datasets.imdb import AGES, age_bins, divide
from tests.support.messages import refused


def made(*people: tuple[int, int], test: list[bool] | None = None) -> Photos:
    """Photos of these (male, age)."""
    male, age = np.array(people, dtype=np.int64).reshape(-1, 2).T
    paths = np.array([f"{row}.jpg" for row in range(len(male))], dtype=object)
    return Photos(paths, male, age, None if test is None else np.array(test))


def test_the_bins_of_ages_are_those_of_the_protocol() -> None:
    edges = (0, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 120)
    ages = np.arange(0, 120)
    assert age_bins(ages).tolist() == (np.digitize(ages, edges) - 1).tolist()
    assert AGES == (
        "0-19", "20-24", "25-29", "30-34", "35-39", "40-44", "45-49", "50-54", "55-59", "60-64", "65-69", "70+",
    )  # fmt: skip
    for age in ages:
        first, _, last = AGES[int(age_bins(np.array([age]))[0])].replace("70+", "70-120").partition("-")
        assert int(first) <= age <= int(last)


def test_the_splits_are_those_of_the_paper() -> None:
    people = [(male, age) for male in (0, 1) for age in (0, 29, 30, 39, 40, 100)]
    photos = made(*people * 10)
    parts = divide(photos, setting="EB1")
    held = set(parts["test"].tolist())
    rest = [row for row in range(120) if row not in held]
    assert parts["train"].tolist() == [row for row in rest if people[row % 12] in ((0, 0), (0, 29), (1, 40), (1, 100))]
    assert parts["EB2"].tolist() == [row for row in rest if people[row % 12] in ((0, 40), (0, 100), (1, 0), (1, 29))]
    assert {people[row % 12] for row in held} <= {(male, age) for male, age in people if not 30 <= age <= 39}
    assert len(held) == 16
    for male in (0, 1):
        for ages in ((0, 29), (40, 100)):
            assert sum(people[row % 12][0] == male and people[row % 12][1] in ages for row in held) == 4


def test_training_on_the_other_extreme_swaps_the_two() -> None:
    photos = made(*[(male, age) for male in (0, 1) for age in (20, 50)] * 10)
    one, other = (divide(photos, setting=setting, seed=3) for setting in ("EB1", "EB2"))
    assert [*one] == ["train", "EB2", "test"]
    assert [*other] == ["train", "EB1", "test"]
    assert one["train"].tolist() == other["EB1"].tolist()
    assert one["EB2"].tolist() == other["train"].tolist()
    assert one["test"].tolist() == other["test"].tolist()


def test_the_seed_draws_the_test_photos() -> None:
    photos = made(*[(male, age) for male in (0, 1) for age in (20, 50)] * 50)
    drawn = [divide(photos, setting="EB1", seed=seed)["test"].tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    with refused("negative-seed", seed=-1):
        divide(photos, setting="EB1", seed=-1)


def test_validation_is_held_out_of_the_training_photos_alike_in_every_bin() -> None:
    photos = made(*[(male, age) for male in (0, 1) for age in (10, 22, 27, 42, 47, 52)] * 100)
    whole, held = (divide(photos, setting="EB2", validation=share) for share in (0.0, 0.25))
    assert [*held] == ["train", "EB1", "test", "validation"]
    assert sorted([*held["train"], *held["validation"]]) == whole["train"].tolist()
    assert held["test"].tolist() == whole["test"].tolist()
    before = np.bincount(age_bins(photos.age[whole["train"]]), minlength=12)
    after = np.bincount(age_bins(photos.age[held["validation"]]), minlength=12)
    assert np.abs(after - before / 4).max() <= 1


def test_a_list_says_what_is_tested_on_whatever_the_age() -> None:
    photos = made((0, 20), (0, 35), (1, 35), (1, 50), (1, 20), (0, 20), test=[False, False, True, False, False, True])
    parts = divide(photos, setting="EB1")
    assert {part: rows.tolist() for part, rows in parts.items()} == {"train": [0, 3], "EB2": [4], "test": [2, 5]}


def test_a_split_without_photos_is_an_error() -> None:
    with refused("photo-split-empty", splits="'EB2'"):
        divide(made(*[(0, 20), (1, 50)] * 10), setting="EB1")
    with refused("photo-split-empty", splits="'train' and 'EB2' and 'test'"):
        divide(made(*[(0, 30), (1, 39)] * 10), setting="EB1")
    with refused("photo-split-empty", splits="'validation'"):
        divide(made(*[(male, age) for male in (0, 1) for age in (20, 50)] * 10), setting="EB1", validation=0.001)
