"""Adult as a task: its splits, copies and labels, and settings that are wrong."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler

import csad
from csad.data.datasets import adult as module
from csad.data.datasets.adult import FLAGS, HEADER, INCOMES, KINDS, NUMBERS, AdultTable, adult, read_adult
from csad.data.samples import Classes, Dataset
from csad.data.validate import check_trainable
from csad.registry import DATASETS
from tests.support.adult_files import row, written
from tests.support.messages import refused

SPOUSES = ("husband", "wife")
PEOPLE = {"female-other": [0, 0], "female-white": [0, 1], "male-other": [1, 0], "male-white": [1, 1]}


def made_up(rows: int, rng: np.random.Generator) -> list[str]:
    kinds = {field.replace("-", "_"): values for field, values in {**KINDS, **FLAGS, "income": INCOMES}.items()}
    numbers = [field.replace("-", "_") for field in NUMBERS]
    return [
        row(**{f: str(rng.choice(v)) for f, v in kinds.items()}, **{f: str(rng.integers(90)) for f in numbers})
        for _ in range(rows)
    ]


@pytest.fixture
def little_adult(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of made-up Adult files, 300 rows and 100; no others can be had."""
    rng = np.random.default_rng(0)
    (tmp_path / "adult").mkdir()
    paths = [
        written(tmp_path / "adult", *made_up(300, rng), ""),
        written(tmp_path / "adult", HEADER, *(f"{line}." for line in made_up(100, rng)), "", name="adult.test"),
    ]
    monkeypatch.setattr(module, "FILES", {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths})
    monkeypatch.setattr(module, "MIRRORS", ())
    return tmp_path


def sizes(dataset: Dataset) -> dict[str, int]:
    return {split: len(samples) for split, samples in dataset.splits.items() if ":" not in split}


def cells(dataset: Dataset, split: str) -> np.ndarray:
    """How many rows of a split there are by income, gender and race."""
    samples = dataset.splits[split]
    found = np.zeros((2, 2, 2), dtype=int)
    np.add.at(found, (samples.y.numpy(), *samples.b.numpy().T), 1)
    return found


def test_the_split_is_numpys_permutation_and_the_first_four_fifths_train(
    adult_root: Path, adult_table: AdultTable
) -> None:
    for split in (0, 7):
        np.random.seed(split)
        order = np.random.permutation(45_222)
        dataset = adult(split=split, data_root=adult_root)
        assert sizes(dataset) == {"train": 36_177, "test": 9045}
        for name, rows in (("train", order[:36_177]), ("test", order[36_177:])):
            samples = dataset.splits[name]
            assert samples.x.dtype == torch.float32
            assert samples.y.tolist() == adult_table.y[rows].tolist()
            assert samples.b.tolist() == adult_table.x[rows, 39:].tolist()
            assert np.array_equal(samples.x[:, 5:].numpy(), adult_table.x[rows, 5:])


def test_numbers_are_standardised_by_the_rows_trained_on(adult_root: Path, adult_table: AdultTable) -> None:
    for validation in (0.0, 0.25):
        dataset = adult(split=3, validation=validation, data_root=adult_root)
        trained = dataset.train.x[:, :5].double()
        assert trained.mean(0).tolist() == pytest.approx([0] * 5, abs=1e-6)
        assert trained.std(0, correction=0).tolist() == pytest.approx([1] * 5, abs=1e-6)
    order = np.random.RandomState(3).permutation(45_222)
    scaler = StandardScaler().fit(adult_table.x[order[:36_177], :5].astype(np.float64))
    wanted = scaler.transform(adult_table.x[order[36_177:], :5].astype(np.float64))
    found = adult(split=3, data_root=adult_root).splits["test"].x[:, :5]
    assert np.allclose(found.numpy(), wanted, rtol=0, atol=1e-5)
    held = adult(split=3, validation=0.25, data_root=adult_root).splits["test"]
    assert not torch.equal(held.x[:, :5], found), "the scaler must not see rows that are held out"


@pytest.mark.parametrize("root", ["adult_root", "little_adult"])
def test_copies_differ_from_their_rows_in_the_named_columns_only(root: str, request: pytest.FixtureRequest) -> None:
    dataset = adult(validation=0.1, data_root=request.getfixturevalue(root))
    assert {split.partition(":")[2] for split in dataset.splits} == {"", *SPOUSES, *PEOPLE}
    for split in ("validation", "test"):
        own = dataset.splits[split]
        for copy in (*SPOUSES, *PEOPLE):
            samples = dataset.splits[f"{split}:{copy}"]
            assert torch.equal(samples.y, own.y)
            assert torch.equal(samples.b, own.b)
            wanted = own.x.clone()
            if copy in SPOUSES:
                wanted[:, 33:39] = torch.tensor([1.0, 0, 0, 0, 0, 0] if copy == "husband" else [0.0, 0, 0, 0, 0, 1])
            else:
                wanted[:, 39:] = torch.tensor(PEOPLE[copy], dtype=torch.float32)
            assert torch.equal(samples.x, wanted)
            assert not torch.equal(samples.x, own.x)


def test_the_figures_of_consistency_name_the_copies(little_adult: Path) -> None:
    dataset = adult(data_root=little_adult)
    assert dataset.consistency == {"spouse_consistency": SPOUSES, "gender_race_consistency": tuple(PEOPLE)}
    assert [*dataset.splits] == ["train", "test", *(f"test:{copy}" for copy in (*PEOPLE, *SPOUSES))]


def test_validation_rows_are_held_out_of_the_training_rows_alike_in_every_cell(
    adult_root: Path, adult_table: AdultTable
) -> None:
    whole, held = (adult(split=2, validation=share, data_root=adult_root) for share in (0.0, 0.1))
    assert sizes(held) == {"train": 32_559, "validation": 3618, "test": 9045}
    share = cells(whole, "train") * 3618 / 36_177
    assert np.abs(cells(held, "validation") - share).max() < 3
    assert (cells(held, "train") + cells(held, "validation") == cells(whole, "train")).all()
    assert torch.equal(held.splits["test"].y, whole.splits["test"].y)
    assert torch.equal(held.splits["test"].x[:, 5:], whole.splits["test"].x[:, 5:])


@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_every_row_is_in_one_split(little_adult: Path, validation: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_scaled", lambda x, trained: x)
    dataset = adult(split=1, validation=validation, data_root=little_adult)
    wanted = {"train": 256, "validation": 64, "test": 80} if validation else {"train": 320, "test": 80}
    assert sizes(dataset) == wanted
    whole = read_adult(little_adult / "adult" / "adult.data", little_adult / "adult" / "adult.test")
    rows = np.concatenate([dataset.splits[split].x.numpy() for split in wanted])
    assert len(np.unique(whole.x, axis=0)) == 400
    assert sorted(rows.tolist()) == sorted(whole.x.tolist())


def test_the_task_is_income_with_gender_and_race_as_biases(little_adult: Path) -> None:
    dataset = DATASETS["adult"](data_root=little_adult)
    task = dataset.task
    assert (task.name, task.shape, task.bias_names) == ("adult", (41,), ("gender", "race"))
    assert task.target == Classes(2, ("<=50K", ">50K"))
    assert task.biases == (Classes(2, ("female", "male")), Classes(2, ("other", "white")))
    omega = task.related(torch.tensor([[0, 0], [0, 1], [1, 1], [0, 1]]))
    assert omega.tolist() == [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1]]
    assert dataset.train.b.tolist() == dataset.train.x[:, 39:].tolist()
    check_trainable(dataset, needs_bias=True)


def test_the_number_of_the_split_decides_everything(little_adult: Path) -> None:
    one, again, other = (adult(split=split, validation=0.2, data_root=little_adult) for split in (1, 1, 2))
    for split, samples in one.splits.items():
        assert samples.fingerprint() == again.splits[split].fingerprint()
        assert samples.fingerprint() != other.splits[split].fingerprint()


def test_a_file_that_is_not_as_distributed_is_told(little_adult: Path) -> None:
    path = little_adult / "adult" / "adult.test"
    path.write_bytes(path.read_bytes()[:-100])
    with refused("file-damaged", file=path, problem=re.compile("published file")):
        adult(data_root=little_adult)


@pytest.mark.parametrize("split", [-1, 2**32, 0.5])
def test_a_split_that_numpy_cannot_draw_is_an_input_error(split: int, tmp_path: Path) -> None:
    with refused("adult-split-invalid", split=split):
        adult(split=split, data_root=tmp_path / "nowhere")


@pytest.mark.parametrize("validation", [-0.1, 1.0, float("nan"), float("inf")])
def test_a_validation_share_outside_0_to_1_is_an_input_error(validation: float, tmp_path: Path) -> None:
    with refused("validation-share-out-of-range", units="training rows"):
        adult(validation=validation, data_root=tmp_path / "nowhere")


@pytest.mark.parametrize(("validation", "held"), [(0.001, 0), (0.999, 320)])
def test_a_validation_share_that_leaves_a_part_empty_is_an_input_error(
    little_adult: Path, validation: float, held: int
) -> None:
    problem = re.compile(f"share of {validation} holds out {held} of 320 training rows")
    with refused("validation-share-leaves-none", problem=problem):
        adult(validation=validation, data_root=little_adult)


def test_a_net_learns_from_adult(adult_root: Path) -> None:
    short = {"train.target_epochs": 1, "train.batch_size": 512}
    run = csad.train("adult", method="vanilla", settings=short, data_root=adult_root, device="cpu", split=1)
    assert run.result["settings"]["data"]["split"] == 1
    assert run.result["metrics"]["test"]["balanced_accuracy"] > 0.65
