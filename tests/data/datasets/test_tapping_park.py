from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import csad
from csad.data.datasets.tapping_park import tapping_park
from csad.data.samples import Classes, Dataset, Number
from csad.data.validate import check_trainable
from csad.registry import DATASETS
from tests.support.messages import Refusal, refused
from tests.support.parkinson_files import real, write_csv

BANDS = ("<50", "50-59", "60-64", "65-69", "70+")


@pytest.fixture
def root() -> Path:
    return real("tapping_park.csv").parents[1]


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """60 people with two rows each: six of each band and diagnosis."""
    made = []
    for number in range(60):
        person = {"participant": number, "gender": "male", "age": (40, 55, 62, 67, 80)[number % 5], "Rating": 3}
        person["diagnosed"] = ("no", "yes")[number // 5 % 2]
        made += [
            {**person, "hand": hand, "speed": number + k / 2, "size": -number}
            for k, hand in enumerate(("Left", "Right"))
        ]
    return made


def written(folder: Path, rows: list[dict[str, Any]], encoding: str = "utf-8") -> Path:
    (folder / "parkinson").mkdir(exist_ok=True)
    write_csv(folder / "parkinson" / "tapping_park.csv", rows, encoding)
    return folder


def people(dataset: Dataset, split: str) -> list[list[int]]:
    """People of a split by diagnosis and band of age."""
    samples = dataset.splits[split]
    first = np.unique(samples.extra["person"].numpy(), return_index=True)[1]
    found = np.zeros((2, len(BANDS)), dtype=int)
    np.add.at(found, (samples.y.numpy()[first], samples.b.numpy()[first, 0].astype(int)), 1)
    return found.tolist()


@pytest.mark.parametrize("split", range(10))
def test_every_split_tests_as_many_with_as_without_the_disease_at_each_age(root: Path, split: int) -> None:
    dataset = tapping_park(split=split, data_root=root)
    assert people(dataset, "test") == [[3, 7, 8, 6, 5]] * 2
    assert people(dataset, "train") == [[19, 7, 9, 6, 6], [3, 26, 21, 28, 58]]
    assert sum(map(len, dataset.splits.values())) == 489
    assert 118 <= len(dataset.splits["test"]) <= 124
    areas = [roc_auc_score(samples.y, samples.extra["age"]) for samples in dataset.splits.values()]
    assert areas[0] > 0.74
    assert abs(areas[1] - 0.5) < 0.04


def test_the_task_is_the_diagnosis_with_age_as_bias(root: Path) -> None:
    dataset = DATASETS["tapping-park"](data_root=root)
    task = dataset.task
    assert (task.name, task.shape, task.bias_names) == ("tapping-park", (119,), ("age",))
    assert task.target == Classes(2, ("no", "yes"))
    assert task.biases == (Classes(5, BANDS),)
    assert task.related(torch.tensor([[0], [1], [0]])).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    for samples in dataset.splits.values():
        assert np.digitize(samples.extra["age"], (50, 60, 65, 70)).tolist() == samples.b[:, 0].tolist()
    check_trainable(dataset, needs_bias=True)


def test_age_can_be_a_number_with_a_tolerance_in_years(root: Path) -> None:
    binned, plain = (tapping_park(age=kind, data_root=root) for kind in ("binned", "number"))
    assert plain.task.biases == (Number(),)
    assert torch.equal(plain.train.b[:, 0] * 16 + 60, plain.train.extra["age"].float())
    assert torch.equal(plain.train.x, binned.train.x)
    ages = plain.train.extra["age"]
    for tolerance in (0, 3, 5, 7.5):
        related = tapping_park(age="number", tolerance=tolerance, data_root=root).task.related
        assert torch.equal(related(plain.train.b) == 1, (ages[:, None] - ages[None]).abs() <= tolerance)
    check_trainable(plain, needs_bias=True)


def test_inputs_are_as_a_slow_reading_of_the_file_finds_them(root: Path) -> None:
    dataset = tapping_park(split=4, validation=0.2, data_root=root)
    with (root / "parkinson" / "tapping_park.csv").open(encoding="utf-8-sig") as stream:
        table = [*csv.DictReader(stream)]
    number = {code: k for k, code in enumerate(sorted({row["participant"] for row in table}))}
    never = {"participant", "hand", "gender", "age", "diagnosed", "Rating"}
    features = [name for name in table[0] if name not in never]
    assert len(features) == 116
    absent = [name for name in features if any(row[name] == "" for row in table)]
    assert absent == ["amplitude_entropy_trimmed", "amplitude_decrement_last_to_first_half_trimmed"]
    chosen = {k: set(samples.extra["person"].tolist()) for k, samples in dataset.splits.items()}
    trained = [row for row in table if number[row["participant"]] in chosen["train"]]
    assert len(trained) == len(dataset.train)
    known = {name: np.array([float(row[name]) for row in trained if row[name]]) for name in features}
    scale = {name: (values.mean(), values.std()) for name, values in known.items()}
    for split, samples in dataset.splits.items():
        own = [row for row in table if number[row["participant"]] in chosen[split]]
        assert samples.y.tolist() == [int(row["diagnosed"] == "yes") for row in own]
        assert samples.extra["age"].tolist() == [float(row["age"]) for row in own]
        for place, name in enumerate(features):
            mean, spread = scale[name]
            wanted = [(float(row[name]) - mean) / spread if row[name] else 0.0 for row in own]
            assert np.allclose(samples.x[:, place], wanted, rtol=1e-4, atol=1e-5), name
        for place, name in enumerate(absent, 116):
            assert samples.x[:, place].tolist() == [float(row[name] == "") for row in own]
        assert samples.x[:, 118].tolist() == [float(row["hand"] == "Right") for row in own]


@pytest.mark.parametrize("validation", [0.0, 0.25])
def test_nobody_is_in_two_splits(tmp_path: Path, rows: list[dict[str, Any]], validation: float) -> None:
    dataset = tapping_park(validation=validation, data_root=written(tmp_path, rows))
    found = [set(samples.extra["person"].tolist()) for samples in dataset.splits.values()]
    assert [len(own) for own in found] == ([22, 8, 30] if validation else [30, 30])
    assert len(set.union(*found)) == 60
    assert sum(map(len, dataset.splits.values())) == 120
    assert people(dataset, "test") == [[3] * 5] * 2


def test_the_number_of_the_split_decides_who_is_tested(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    root = written(tmp_path, rows)
    one, again, other = (tapping_park(split=split, validation=0.25, data_root=root) for split in (1, 1, 2))
    for name, samples in one.splits.items():
        assert samples.fingerprint() == again.splits[name].fingerprint()
        assert samples.fingerprint() != other.splits[name].fingerprint()


def test_rating_gender_age_and_participant_change_no_input(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    plain = tapping_park(data_root=written(tmp_path, rows))
    # Codes in the same order, ages in the same bands: the same people are drawn.
    other = [
        {**row, "Rating": 0, "gender": "x", "age": row["age"] + 1, "participant": f"{row['participant']}"}
        for row in rows
    ]
    changed = tapping_park(data_root=written(tmp_path, other))
    assert plain.task.shape == (3,)
    for name, samples in plain.splits.items():
        assert torch.equal(samples.x, changed.splits[name].x)


def test_a_column_without_a_value_or_without_spread_stays_finite(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    changed = [{**row, "empty": "", "same": 7, "seldom": "NaN" if k else 5} for k, row in enumerate(rows)]
    dataset = tapping_park(data_root=written(tmp_path, changed))
    assert dataset.task.shape == (8,)
    x = torch.cat([samples.x for samples in dataset.splits.values()])
    assert not x[:, 2:5].any()
    assert x[:, 5].all()
    assert x[:, 6].sum() == 119


def test_a_byte_order_mark_does_not_matter(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    plain = tapping_park(data_root=written(tmp_path, rows))
    assert tapping_park(data_root=written(tmp_path, rows, "utf-8-sig")).train.fingerprint() == plain.train.fingerprint()


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (
            {"diagnosed": "maybe"},
            Refusal("file-damaged", problem=re.compile("'maybe' as diagnosed in line 4, .* one of no, yes$")),
        ),
        (
            {"hand": "both"},
            Refusal("file-damaged", problem=re.compile("'both' as hand in line 4, .* one of Left, Right$")),
        ),
        ({"age": ""}, Refusal("file-damaged", problem=re.compile("'' as age in line 4, .* a number$"))),
        ({"age": "nan"}, Refusal("file-damaged", problem=re.compile("'nan' as age in line 4, .* a number$"))),
        ({"speed": "fast"}, Refusal("file-damaged", problem=re.compile("'fast' as speed in line 4, .* a number$"))),
        ({"speed": "inf"}, Refusal("file-damaged", problem=re.compile("'inf' as speed in line 4, .* a number$"))),
    ],
)
def test_a_value_that_is_wrong_is_named_with_its_line(
    tmp_path: Path, rows: list[dict[str, Any]], changed: dict[str, str], complaint: Refusal
) -> None:
    rows[2] |= changed
    with refused(complaint):
        tapping_park(data_root=written(tmp_path, rows))


@pytest.mark.parametrize("column", ["participant", "hand", "gender", "age", "diagnosed", "Rating"])
def test_a_missing_column_is_told_with_the_nearest(tmp_path: Path, rows: list[dict[str, Any]], column: str) -> None:
    renamed = [{f"{key}s" if key == column else key: value for key, value in row.items()} for row in rows]
    with refused("column-not-in-file", column=column, nearest=f" Nearest: {column}s."):
        tapping_park(data_root=written(tmp_path, renamed))


def test_a_table_without_features_or_without_a_band_to_test_is_an_input_error(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    bare = [{key: value for key, value in row.items() if key not in ("speed", "size")} for row in rows]
    with refused("tapping-park-features-missing", known=re.compile("^participant, ")):
        tapping_park(data_root=written(tmp_path, bare))
    ill = [row for row in rows if row["diagnosed"] == "yes"]
    with refused("no-testable-age-band"):
        tapping_park(data_root=written(tmp_path, ill))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"split": -1}, Refusal("tapping-park-split-invalid", split=-1)),
        ({"split": 0.5}, Refusal("tapping-park-split-invalid", split=0.5)),
        (
            {"age": "numbr"},
            Refusal("misspelled-name", kind="kind of age", name="numbr", nearest="number", known="binned, number"),
        ),
        ({"tolerance": -1.0}, Refusal("negative-age-tolerance", tolerance=-1.0)),
        ({"tolerance": float("nan")}, Refusal("negative-age-tolerance", tolerance="nan")),
        ({"validation": 1.5}, Refusal("validation-share-out-of-range", units="people", validation=1.5)),
    ],
)
def test_a_setting_out_of_range_is_told(tmp_path: Path, settings: dict[str, Any], complaint: Refusal) -> None:
    with refused(complaint):
        tapping_park(**settings, data_root=tmp_path)


def test_a_missing_file_is_told_with_where_to_get_it(tmp_path: Path) -> None:
    with refused("dataset-files-missing", files="tapping_park.csv is"):
        tapping_park(data_root=tmp_path)


@pytest.mark.parametrize("age", ["binned", "number"])
def test_csad_trains_on_it(tmp_path: Path, rows: list[dict[str, Any]], age: str) -> None:
    short = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1}
    root = written(tmp_path, rows)
    run = csad.train(
        "tapping-park",
        method="csad",
        settings={**short, "data.age": age, "inner_steps": 1},
        data_root=root,
        device="cpu",
    )
    assert 0 <= run.result["metrics"]["test"]["auc"] <= 1
