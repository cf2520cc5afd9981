from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from csad.data.datasets.mpower import AGES, RecordWarning, mpower, read_records
from csad.data.datasets.tap_records import Records
from csad.data.samples import Classes, Dataset
from csad.data.validate import check_trainable
from csad.registry import DATASETS
from tests.support.messages import Refusal, refused, warned
from tests.support.parkinson_files import RESULTS, Folder, tap, tap_items

TABLES = ("demographics.csv", "tapping.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def small(folder: Folder) -> Path:
    """The data root of 96 people, six of each bin of age and diagnosis, with a record or two each."""
    for number in range(96):
        age = (25, 40, 45, 54, 57, 60, 69, 88)[number % 8]
        folder.person(f"p{number:02}", age, ("false", "true")[number // 8 % 2])
        for record in range(1 + number % 2):
            folder.record(f"p{number:02}", tap_items(6 + number, start=record))
    return folder.write()


def records(folder: Folder, **settings: Any) -> Records:
    folder.write()
    paths = [folder.path / name for name in (*TABLES, "tapping")]
    return read_records(*paths, **{"every": False, "length": 16, "youngest": 18, **settings})


def counts(dataset: Dataset, split: str) -> list[list[int]]:
    """People of a split by diagnosis and bin of age."""
    samples = dataset.splits[split]
    first = np.unique(samples.extra["person"].numpy(), return_index=True)[1]
    found = np.zeros((2, len(AGES)), dtype=int)
    np.add.at(found, (samples.y.numpy()[first], samples.b.numpy()[first, 0]), 1)
    return found.tolist()


def test_the_test_split_is_balanced_in_the_six_ages_and_all_others_train(small: Path) -> None:
    dataset = mpower(per_cell=2, data_root=small)
    assert counts(dataset, "test") == [[0, 0, 2, 2, 2, 2, 2, 2]] * 2
    assert counts(dataset, "train") == [[6, 6, 4, 4, 4, 4, 4, 4]] * 2
    assert [*dataset.splits] == ["train", "test"]


def test_the_task_is_parkinson_with_age_in_eight_bins_as_bias(small: Path) -> None:
    dataset = DATASETS["mpower"](per_cell=2, validation=0.25, length=40, data_root=small)
    task = dataset.task
    assert (task.name, task.shape, task.bias_names) == ("mpower", (6, 40), ("age",))
    assert task.target == Classes(2, ("control", "parkinson"))
    assert task.biases == (Classes(8, ("<35", "35-44", "45-49", "50-54", "55-59", "60-64", "65-69", "70+")),)
    assert task.related(torch.tensor([[2], [3], [2]])).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    near = mpower(per_cell=2, tolerance=1, data_root=small).task.related
    assert near(torch.tensor([[2], [3], [4]])).tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert dataset.train.x.dtype == torch.float32
    check_trainable(dataset, needs_bias=True)


def test_ages_fall_into_their_bins(small: Path) -> None:
    dataset = mpower(per_cell=2, data_root=small)
    bins = {25: 0, 40: 1, 45: 2, 54: 3, 57: 4, 60: 5, 69: 6, 88: 7}
    for samples in dataset.splits.values():
        assert [bins[age] for age in samples.extra["age"].tolist()] == samples.b[:, 0].tolist()


@pytest.mark.parametrize("choice", ["first", "all"])
def test_nobody_is_in_two_splits_whichever_records_are_taken(small: Path, choice: str) -> None:
    dataset = mpower(records=choice, per_cell=2, validation=0.25, data_root=small)
    people = [set(samples.extra["person"].tolist()) for samples in dataset.splits.values()]
    assert [len(own) for own in people] == [54, 18, 24]
    assert len(set.union(*people)) == 96
    assert sum(map(len, dataset.splits.values())) == (96 if choice == "first" else 144)
    assert min(min(row) for row in counts(dataset, "train")) >= 2


def test_the_seed_draws_who_is_tested(small: Path) -> None:
    one, again, other = (mpower(per_cell=2, validation=0.25, seed=seed, data_root=small) for seed in (1, 1, 2))
    for split, samples in one.splits.items():
        assert samples.fingerprint() == again.splits[split].fingerprint()
        assert samples.fingerprint() != other.splits[split].fingerprint()


def test_the_youngest_can_be_left_out(small: Path) -> None:
    with warned(RecordWarning, "records-left-out", file=small / "mpower" / "tapping.csv") as caught:
        dataset = mpower(per_cell=2, youngest=45, data_root=small)
    assert re.search(r"\d+ without an age", str(caught[0].message))
    assert counts(dataset, "train") == [[0, 0, 4, 4, 4, 4, 4, 4]] * 2


def test_the_order_of_the_rows_does_not_matter(small: Path) -> None:
    one = mpower(per_cell=2, records="all", data_root=small)
    for name in TABLES:
        header, *lines = (small / "mpower" / name).read_text().splitlines()
        (small / "mpower" / name).write_text("\n".join([header, *reversed(lines)]))
    other = mpower(per_cell=2, records="all", data_root=small)
    assert {k: v.fingerprint() for k, v in one.splits.items()} == {k: v.fingerprint() for k, v in other.splits.items()}


def test_cells_with_too_few_people_are_named_with_their_counts(folder: Folder) -> None:
    for number, age in enumerate((47, 47, 52, 57, 62, 67, 70)):
        for diagnosis in ("true", "false"):
            folder.person(f"{diagnosis}{number}", age, diagnosis)
            folder.record(f"{diagnosis}{number}")
    folder.record("unheard of")
    folder.records = [row for row in folder.records if row["healthCode"] != "true3"]
    few = (
        "1 aged 50-54 (control), 1 aged 50-54 (parkinson), 1 aged 55-59 (control), 0 aged 55-59 (parkinson), "
        "1 aged 60-64 (control), 1 aged 60-64 (parkinson), 1 aged 65-69 (control), 1 aged 65-69 (parkinson), "
        "1 aged 70+ (control), 1 aged 70+ (parkinson)"
    )
    with refused("too-few-test-people", per_cell=2, found=few, advice="a smaller per_cell") as error:
        mpower(per_cell=2, data_root=folder.write())
    assert "1 without demographics" in error.value.facts["left_out"]


def test_testing_everyone_is_an_input_error(folder: Folder) -> None:
    for age in (47, 52, 57, 62, 67, 70):
        for diagnosis in ("true", "false"):
            folder.person(f"{diagnosis}{age}", age, diagnosis)
            folder.record(f"{diagnosis}{age}")
    with refused("no-people-left-to-train", count=12):
        mpower(per_cell=1, data_root=folder.write())


def test_people_without_what_is_needed_are_dropped_and_their_records_counted(folder: Folder) -> None:
    for code, age, diagnosis in (
        ("good", 60, "true"), ("older", "100.0", "FALSE"), ("child", 17, "true"), ("ancient", 101, "true"),
        ("ageless", "", "false"), ("silent", 60, ""), ("endless", "inf", "true"),
    ):  # fmt: skip
        folder.person(code, age, diagnosis)
        folder.record(code)
    folder.record("child")
    folder.record("stranger")
    found = records(folder, every=True)
    assert found.people.age.tolist() == [60, 100]
    assert found.people.parkinson.tolist() == [1, 0]
    assert found.people.dropped == {
        "an age of 18 to 100": 4, "an age": 1, "a diagnosis": 1, "demographics": 1
    }  # fmt: skip


def test_of_several_answers_of_a_person_the_first_complete_one_counts(folder: Folder) -> None:
    for age, diagnosis in (("", "true"), (50, "false"), (70, "true")):
        folder.person("one", age, diagnosis)
    folder.record("one")
    found = records(folder)
    assert (found.people.age.tolist(), found.people.parkinson.tolist()) == ([50], [0])


def test_records_with_too_few_taps_no_file_or_no_buttons_are_dropped_and_counted(folder: Folder) -> None:
    doubled = [item for one in tap_items(4) for item in (one, {**one, "TappedButtonId": "TappedButtonNone"})]
    folder.person("one")
    folder.record("one", [])
    folder.record("one", tap_items(4))
    folder.record("one", doubled)
    folder.record("one", **{f"{RESULTS}ButtonRectLeft": ""})
    folder.record("one", **{f"{RESULTS}TappingSamples": 77})
    folder.record("one", tap_items(5))
    folder.record("one", tap_items(9))
    first, every = (records(folder, every=every) for every in (False, True))
    assert first.people.dropped == every.people.dropped == {"5 taps": 3, "buttons": 1, "a file": 1}
    assert [(x[0] != 0).sum() for x in first.x] == [5], "the first that can be used"
    assert [(x[0] != 0).sum() for x in every.x] == [5, 9]


def test_doubled_taps_are_mended(folder: Folder) -> None:
    whole = tap_items(6)
    doubled = [item for one in whole for item in (one, {**one, "TappedButtonId": "TappedButtonNone"})]
    for code, items in (("a", whole), ("b", doubled)):
        folder.person(code)
        folder.record(code, items)
    one, other = records(folder).x
    assert np.array_equal(one, other)


def test_the_first_record_is_the_first_by_date(folder: Folder) -> None:
    folder.person("one")
    folder.record("one", tap_items(7), createdOn="1425859200000")
    folder.record("one", tap_items(9), createdOn="999")
    assert [(x[0] != 0).sum() for x in records(folder).x] == [9]


def test_no_record_at_all_is_an_input_error(folder: Folder) -> None:
    folder.person("one", diagnosis="")
    folder.record("one")
    folder.record("other")
    with refused("no-usable-records", reasons="1 without a diagnosis, 1 without demographics"):
        records(folder)


@pytest.mark.parametrize("name", ["{}.json", "{}-tapping.json.tmp", "{}/3f-samples.json", "000/{}/samples.json"])
def test_files_are_found_by_their_handle_in_a_folder_or_a_zip(folder: Folder, name: str) -> None:
    for code in ("a", "b"):
        folder.person(code)
        folder.record(code, tap_items(ord(code) % 16 + 5), file=name)
    found = records(folder)
    assert [(x[0] != 0).sum() for x in found.x] == [6, 7]
    for path in [*(folder.path / "tapping").rglob("*.*")]:
        (path.parent / f"._{path.name}").write_text("what a Mac adds")
    packed = shutil.make_archive(str(folder.path / "tapping"), "zip", folder.path, "tapping")
    paths = [folder.path / table for table in TABLES]
    again = read_records(*paths, Path(packed), every=False, length=16, youngest=18)
    assert np.array_equal(found.x, again.x)


def test_a_handle_that_a_spreadsheet_made_a_decimal_number_is_the_same_handle(folder: Folder) -> None:
    folder.person("one")
    folder.record("one", tap_items(7), **{f"{RESULTS}TappingSamples": "5000000.0"})
    folder.record("one", tap_items(9), **{f"{RESULTS}TappingSamples": "5000000"})
    found = records(folder, every=True)
    assert [(x[0] != 0).sum() for x in found.x] == [7, 7]
    assert found.people.dropped == {}


def test_a_zip_takes_the_place_of_the_folder(small: Path) -> None:
    one = mpower(per_cell=2, data_root=small)
    shutil.make_archive(str(small / "mpower" / "tapping"), "zip", small / "mpower" / "tapping")
    shutil.rmtree(small / "mpower" / "tapping")
    assert mpower(per_cell=2, data_root=small).train.fingerprint() == one.train.fingerprint()
    (small / "mpower" / "tapping.zip").write_bytes(b"PK")
    with refused("tap-archive-unreadable", path=re.compile(r"tapping\.zip$")):
        mpower(per_cell=2, data_root=small)


def test_a_damaged_file_in_a_zip_is_an_input_error(small: Path) -> None:
    packed = Path(shutil.make_archive(str(small / "mpower" / "tapping"), "zip", small / "mpower" / "tapping"))
    shutil.rmtree(small / "mpower" / "tapping")
    content = bytearray(packed.read_bytes())
    content[60:90] = bytes(30)
    packed.write_bytes(content)
    with refused("tap-file-unreadable", file=re.compile(r"tapping\.zip/\d+\.json$")):
        mpower(per_cell=2, data_root=small)


def test_a_byte_order_mark_does_not_matter(folder: Folder, tmp_path: Path) -> None:
    folder.person("one")
    folder.record("one")
    plain = records(folder)
    folder.write("utf-8-sig")
    paths = [folder.path / name for name in (*TABLES, "tapping")]
    assert np.array_equal(read_records(*paths, every=False, length=16, youngest=18).x, plain.x)


@pytest.mark.parametrize(
    ("table", "column", "wrong", "complaint"),
    [
        (
            0,
            "healthCode",
            "healthcode",
            Refusal("column-not-in-file", column="healthCode", nearest=" Nearest: healthcode."),
        ),
        (
            0,
            "professional-diagnosis",
            "diagnosis",
            Refusal("column-not-in-file", column="professional-diagnosis", nearest=" Nearest: diagnosis."),
        ),
        (
            1,
            f"{RESULTS}TappingSamples",
            f"{RESULTS}Taps",
            Refusal("column-not-in-file", column=f"{RESULTS}TappingSamples", file=re.compile("tapping.csv$")),
        ),
        (
            1,
            "createdOn",
            "created_on",
            Refusal("column-not-in-file", column="createdOn", nearest=" Nearest: created_on."),
        ),
    ],
)
def test_a_missing_column_is_told_with_the_nearest(
    folder: Folder, table: int, column: str, wrong: str, complaint: Refusal
) -> None:
    folder.person("one")
    folder.record("one")
    rows = (folder.people, folder.records)[table]
    rows[0] = {wrong if key == column else key: value for key, value in rows[0].items()}
    with refused(complaint):
        records(folder)


@pytest.mark.parametrize(
    ("person", "record", "complaint"),
    [
        (
            {"diagnosis": "maybe"},
            {},
            Refusal("file-damaged", problem=re.compile("'maybe' as professional-diagnosis in line 2, .* true, false ")),
        ),
        (
            {"age": "old"},
            {},
            Refusal("file-damaged", problem=re.compile("'old' as age in line 2, .* a number of years ")),
        ),
        (
            {},
            {f"{RESULTS}ButtonRectLeft": "{1, 2}"},
            Refusal("file-damaged", problem=re.compile(r"'\{1, 2\}' as .*ButtonRectLeft in line 2, .* '\{\{x, y\}, ")),
        ),
        (
            {},
            {f"{RESULTS}ButtonRectRight": "{{9, 9}, {4, 4}}"},
            Refusal(
                "file-damaged", problem=re.compile("ButtonRectRight in line 2, .* to the right of .* the left button")
            ),
        ),
        ({}, {"items": "[{"}, Refusal("taps-not-json", file=re.compile(r"tapping/5000000\.json$"))),
        ({}, {"items": "{}"}, Refusal("taps-not-a-list", file=re.compile(r"5000000\.json$"))),
        (
            {},
            {"items": [tap(place="1, 2")]},
            Refusal("tap-coordinate-invalid", tap=re.compile(r"^Tap 1 of .*5000000\.json$"), value="'1, 2'"),
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told(
    folder: Folder, person: dict[str, Any], record: dict[str, Any], complaint: Refusal
) -> None:
    folder.person("one", **person)
    folder.record("one", **record)
    with refused(complaint):
        records(folder)


def test_missing_files_are_told_with_where_to_get_them_and_where_to_put_them(tmp_path: Path) -> None:
    files = "demographics.csv, tapping.csv, tapping or tapping.zip are"
    with refused("dataset-files-missing", files=files, problem=f"not in {tmp_path / 'mpower'}") as error:
        mpower(data_root=tmp_path)
    for words in ("FOLDER/mpower", "syn4993293", "syn5511429 and syn5511439 as CSV", "access on request"):
        assert words in error.value.facts["advice"]


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        (
            {"records": "frist"},
            Refusal("misspelled-name", kind="choice of records", name="frist", nearest="first", known="all, first"),
        ),
        ({"per_cell": 0}, Refusal("mpower-setting-too-small", setting="per_cell", least=1, value=0)),
        ({"length": 4}, Refusal("mpower-setting-too-small", setting="length", least=5, value=4)),
        ({"tolerance": -1}, Refusal("mpower-setting-too-small", setting="tolerance", least=0, value=-1)),
        ({"youngest": 46}, Refusal("youngest-out-of-range", low=18, high=45, youngest=46)),
        ({"validation": 1.0}, Refusal("validation-share-out-of-range", units="people", validation=1.0)),
    ],
)
def test_a_setting_out_of_range_is_told_before_any_file_is_read(
    tmp_path: Path, setting: dict[str, Any], complaint: Refusal
) -> None:
    with refused(complaint):
        mpower(**setting, data_root=tmp_path / "nowhere")
