from __future__ import annotations

import csv
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

import csad
from csad.data.check import check_trainable
from csad.data.samples import Classes, Dataset
from csad.data.sets import adult as module
from csad.data.sets.adult import adult
from csad.data.sets.adult_table import (
    COLUMNS,
    FIELDS,
    FLAGS,
    HEADER,
    INCOMES,
    KINDS,
    NUMBERS,
    Table,
    read_file,
    read_table,
)
from csad.errors import InputError
from csad.registry import DATASETS

ROW = (
    "39, State-gov, 7, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K"
)
SPOUSES = ("husband", "wife")
PEOPLE = {"female-other": [0, 0], "female-white": [0, 1], "male-other": [1, 0], "male-white": [1, 1]}


def written(folder: Path, *lines: str, name: str = "adult.data") -> Path:
    path = folder / name
    path.write_text("\n".join(lines), encoding="latin-1")
    return path


def row(**values: str) -> str:
    """A good row, but for the fields that are given (with _ for -)."""
    words = dict(zip(FIELDS, ROW.split(", "), strict=True))
    return ", ".join((words | {field.replace("_", "-"): value for field, value in values.items()}).values())


def made_up(rows: int, rng: np.random.Generator) -> list[str]:
    kinds = {field.replace("-", "_"): values for field, values in {**KINDS, **FLAGS, "income": INCOMES}.items()}
    numbers = [field.replace("-", "_") for field in NUMBERS]
    return [
        row(**{f: str(rng.choice(v)) for f, v in kinds.items()}, **{f: str(rng.integers(90)) for f in numbers})
        for _ in range(rows)
    ]


@pytest.fixture
def little_adult(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of made-up Adult files, 300 rows and 100; no others can be had."""
    rng = np.random.default_rng(0)
    (tmp_path / "adult").mkdir()
    paths = [
        written(tmp_path / "adult", *made_up(300, rng), ""),
        written(tmp_path / "adult", HEADER, *(f"{line}." for line in made_up(100, rng)), "", name="adult.test"),
    ]
    monkeypatch.setattr(module, "FILES", {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths})
    monkeypatch.setattr(module, "MIRRORS", ())
    monkeypatch.setenv("CSAD_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def table(adult_root: Path) -> Table:
    return read_table(adult_root / "adult" / "adult.data", adult_root / "adult" / "adult.test")


def sizes(dataset: Dataset) -> dict[str, int]:
    return {split: len(samples) for split, samples in dataset.splits.items() if ":" not in split}


def cells(dataset: Dataset, split: str) -> np.ndarray:
    """How many rows of a split there are by income, gender and race."""
    samples = dataset.splits[split]
    found = np.zeros((2, 2, 2), dtype=int)
    np.add.at(found, (samples.y.numpy(), *samples.b.numpy().T), 1)
    return found


def test_there_are_41_columns_in_the_order_of_the_protocol() -> None:
    assert len(COLUMNS) == len(set(COLUMNS)) == 41
    starts = {0: "age", 1: "education-num", 2: "capital-gain", 3: "capital-loss", 4: "hours-per-week"}
    starts |= {5: "workclass_Federal-gov", 11: "workclass_Without-pay", 12: "marital-status_Divorced"}
    starts |= {18: "marital-status_Widowed", 19: "occupation_Adm-clerical", 32: "occupation_Transport-moving"}
    starts |= {33: "relationship_Husband", 38: "relationship_Wife", 39: "sex_Male", 40: "race_White"}
    assert {place: COLUMNS[place] for place in starts} == starts


def test_the_counts_are_those_of_the_protocol(table: Table) -> None:
    assert table.x.shape == (45_222, 41)
    assert table.x.dtype == np.float32
    assert table.y.sum() == 11_208
    found = {(g, r): np.bincount(table.y[(table.x[:, 39:] == (g, r)).all(1)]).tolist() for g in (0, 1) for r in (0, 1)}
    assert found == {(1, 1): [18_268, 8752], (0, 1): [10_428, 1455], (1, 0): [2720, 787], (0, 0): [2598, 214]}


def test_rows_read_by_eye_are_in_their_columns(table: Table) -> None:
    first_of_test = 30_162  # that many rows of adult.data are kept
    by_eye = {
        # 39, State-gov, …, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, …, <=50K
        0: ({0: 39, 1: 13, 2: 2174, 4: 40, 10: 1, 16: 1, 19: 1, 34: 1, 39: 1, 40: 1}, 0),
        # 28, Private, …, 13, Married-civ-spouse, Prof-specialty, Wife, Black, Female, 0, 0, 40, Cuba, <=50K
        4: ({0: 28, 1: 13, 4: 40, 7: 1, 14: 1, 28: 1, 38: 1}, 0),
        # 25, Private, …, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, …, <=50K.
        first_of_test: ({0: 25, 1: 7, 4: 40, 7: 1, 16: 1, 25: 1, 36: 1, 39: 1}, 0),
        # 35, Self-emp-inc, …, 13, Married-civ-spouse, Exec-managerial, Husband, White, Male, 0, 0, 60, …, >50K.
        45_221: ({0: 35, 1: 13, 4: 60, 8: 1, 14: 1, 22: 1, 33: 1, 39: 1, 40: 1}, 1),
    }
    for number, (columns, income) in by_eye.items():
        assert {place: value for place, value in enumerate(table.x[number].tolist()) if value} == columns
        assert table.y[number] == income


def test_every_row_is_as_a_slow_reading_of_the_files_finds_it(adult_root: Path, table: Table) -> None:
    kept = []
    for name in ("adult.data", "adult.test"):
        with (adult_root / "adult" / name).open() as stream:
            for words in csv.DictReader(stream, FIELDS, skipinitialspace=True):
                if words["income"] and "?" not in (words["native-country"], words["occupation"]):
                    kept.append(words)
    assert len(kept) == len(table.x)
    assert table.y.tolist() == [int(words["income"].startswith(">")) for words in kept]
    for place, column in enumerate(COLUMNS):
        field, _, kind = column.partition("_")
        values = [float(words[field] == kind if kind else words[field]) for words in kept]
        assert table.x[:, place].tolist() == values, column


def test_the_split_is_numpys_permutation_and_the_first_four_fifths_train(adult_root: Path, table: Table) -> None:
    for split in (0, 7):
        np.random.seed(split)
        order = np.random.permutation(45_222)
        dataset = adult(split=split, data_root=adult_root)
        assert sizes(dataset) == {"train": 36_177, "test": 9045}
        for name, rows in (("train", order[:36_177]), ("test", order[36_177:])):
            samples = dataset.splits[name]
            assert samples.x.dtype == torch.float32
            assert samples.y.tolist() == table.y[rows].tolist()
            assert samples.b.tolist() == table.x[rows, 39:].tolist()
            assert np.array_equal(samples.x[:, 5:].numpy(), table.x[rows, 5:])


def test_numbers_are_standardised_by_the_rows_trained_on(adult_root: Path, table: Table) -> None:
    for validation in (0.0, 0.25):
        dataset = adult(split=3, validation=validation, data_root=adult_root)
        trained = dataset.train.x[:, :5].double()
        assert trained.mean(0).tolist() == pytest.approx([0] * 5, abs=1e-6)
        assert trained.std(0, correction=0).tolist() == pytest.approx([1] * 5, abs=1e-6)
    order = np.random.RandomState(3).permutation(45_222)
    scaler = StandardScaler().fit(table.x[order[:36_177], :5].astype(np.float64))
    wanted = scaler.transform(table.x[order[36_177:], :5].astype(np.float64))
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


def test_validation_rows_are_held_out_of_the_training_rows_alike_in_every_cell(adult_root: Path, table: Table) -> None:
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
    whole = read_table(little_adult / "adult" / "adult.data", little_adult / "adult" / "adult.test")
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


def test_files_are_read_once_and_again_when_they_have_changed(tmp_path: Path) -> None:
    data = written(tmp_path, ROW)
    test = written(tmp_path, HEADER, f"{ROW}.", name="adult.test")
    first = read_table(data, test)
    assert read_table(data, test) is first
    with pytest.raises(ValueError, match="read-only"):
        first.x[0, 0] = 1
    written(tmp_path, ROW, row(age="17"))
    os.utime(data, ns=(1, 1))
    assert read_table(data, test).x[:, 0].tolist() == [39, 17, 39]


def test_blanks_dots_and_empty_lines_do_not_matter_and_unknown_rows_are_dropped(tmp_path: Path) -> None:
    lines = ["", ROW.replace(", ", ","), "  ", f"  {ROW.replace(', ', ' ,  ')}. \r"]
    dropped = [row(native_country="?"), row(occupation="?", workclass="?"), row(occupation="?", age="?")]
    found = read_file(written(tmp_path, *dropped, *lines, *dropped))
    assert found.y.tolist() == [0, 0]
    assert found.x[0].tolist() == found.x[1].tolist()
    assert found.x[0, :5].tolist() == [39, 13, 2174, 0, 40]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (ROW.rpartition(",")[0], "has 14 columns in line 3 where 15 are wanted"),
        (f"{ROW}, more", "has 16 columns in line 3 where 15 are wanted"),
        ("\0\xff\xfe", "has 1 column in line 3 where 15 are wanted"),
        (row(age="old"), "has 'old' as age in line 3 where a whole number of at most 7 digits is wanted"),
        (row(age=""), "has '' as age in line 3"),
        (row(capital_gain="nan"), "has 'nan' as capital-gain in line 3"),
        (row(capital_loss="-1"), "has '-1' as capital-loss in line 3"),
        (row(hours_per_week="40.5"), r"has '40\.5' as hours-per-week in line 3"),
        (row(education_num="²"), "has '²' as education-num in line 3"),
        (row(age="9" * 5000), r"has '9+\.\.\.9+' as age in line 3"),
        (row(workclass="?"), r"has '\?' as workclass in line 3 where one of Federal-gov, Local-gov, .* is wanted"),
        (row(workclass="Never-worked"), "has 'Never-worked' as workclass in line 3"),
        (row(marital_status="Divorcé"), "has 'Divorcé' as marital-status in line 3 where one of Divorced, "),
        (row(occupation="Sailor"), "has 'Sailor' as occupation in line 3"),
        (row(relationship="husband"), "has 'husband' as relationship in line 3"),
        (row(race="Whit\x85e"), r"has 'Whit\\x85e' as race in line 3"),
        (row(sex="M"), "has 'M' as sex in line 3 where one of Female, Male is wanted"),
        (row(income="50K"), "has '50K' as income in line 3 where one of <=50K, >50K is wanted"),
    ],
)
def test_a_row_that_is_wrong_is_named_with_its_line_and_what_to_do(tmp_path: Path, line: str, complaint: str) -> None:
    path = written(tmp_path, ROW, row(occupation="?"), line, ROW)
    with pytest.raises(InputError, match=complaint) as error:
        read_file(path)
    said = str(error.value)
    assert said.startswith(f"{path} has ")
    assert said.endswith("; download it again or remove it.")
    assert len(said) < 400 + len(str(path))
    assert "\n" not in said


@pytest.mark.parametrize(
    ("lines", "found"), [((), "''"), (("", HEADER), "''"), ((ROW,), r"'39, State-go\.\.\."), (("|1x4",), r"'\|1x4'")]
)
def test_another_first_line_of_adult_test_is_told(tmp_path: Path, lines: tuple[str, ...], found: str) -> None:
    path = written(tmp_path, *lines, name="adult.test")
    with pytest.raises(InputError, match=rf"adult.test starts with {found}.* where the line '\|1x3 Cross validator'"):
        read_file(path, HEADER)


@pytest.mark.parametrize("lines", [(), ("", " "), (row(occupation="?"),)])
def test_a_file_without_a_row_to_keep_is_told(tmp_path: Path, lines: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"adult\.data has no row with a known native country and occupation"):
        read_file(written(tmp_path, *lines))


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    missing = tmp_path / "adult.test"
    with pytest.raises(InputError, match=r"adult\.test cannot be read: No such file"):
        read_table(written(tmp_path, ROW), missing)
    with pytest.raises(InputError, match=r"adult\.test cannot be read: No such file"):
        read_file(missing)
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_file(tmp_path)


@settings(deadline=None)
@given(place=st.integers(0, len(ROW)), cut=st.integers(0, 12), junk=st.binary(max_size=12))
def test_whatever_the_bytes_are_a_table_comes_back_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, place: int, cut: int, junk: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "adult-damaged.data"
    good = ROW.encode()
    path.write_bytes(good[:place] + junk + good[place + cut :])
    try:
        found = read_file(path)
    except InputError:
        return
    assert found.x.shape[1] == 41
    assert np.isfinite(found.x).all()


def test_a_file_that_is_not_as_distributed_is_told(little_adult: Path) -> None:
    path = little_adult / "adult" / "adult.test"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"adult\.test .* is not the file as it is distributed"):
        adult(data_root=little_adult)


@pytest.mark.parametrize("split", [-1, 2**32, 0.5])
def test_a_split_that_numpy_cannot_draw_is_an_input_error(split: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"split must be a whole number from 0, below 2\*\*32, not {split}\."):
        adult(split=split, data_root=tmp_path / "nowhere")


@pytest.mark.parametrize("validation", [-0.1, 1.0, float("nan"), float("inf")])
def test_a_validation_share_outside_0_to_1_is_an_input_error(validation: float, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="validation must be a share of the training rows"):
        adult(validation=validation, data_root=tmp_path / "nowhere")


@pytest.mark.parametrize(("validation", "held"), [(0.001, 0), (0.999, 320)])
def test_a_validation_share_that_leaves_a_part_empty_is_an_input_error(
    little_adult: Path, validation: float, held: int
) -> None:
    with pytest.raises(InputError, match=f"share of {validation} holds out {held} of 320 training rows: both parts"):
        adult(validation=validation, data_root=little_adult)


def test_a_net_learns_from_adult(adult_root: Path) -> None:
    short = {"train.target_epochs": 1, "train.batch_size": 512}
    run = csad.train("adult", method="vanilla", settings=short, data_root=adult_root, device="cpu", split=1)
    assert run.result["settings"]["data"]["split"] == 1
    assert run.result["metrics"]["test"]["balanced_accuracy"] > 0.65
