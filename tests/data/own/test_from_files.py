from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from csad.data.datasets.adult import FIELDS
from csad.data.own.from_files import from_table
from csad.data.own.labeled_table import number_by_column, numbers_by_column
from csad.data.own.preprocessor import Preprocessor
from csad.data.samples import Classes, Number
from csad.data.tables.read_table import read_table_file
from csad.messages import message
from tests.support.csv_tables import write_table
from tests.support.messages import Refusal, noticed, refused
from tests.support.own_people import COLUMNS, ROW, Make, N, maker
from tests.support.parkinson_files import real


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return maker(tmp_path)


def cells(name: str, rows: torch.Tensor) -> list[Any]:
    return [COLUMNS[name][row] for row in rows.tolist()]


def test_a_table_becomes_a_data_set_whose_rows_stay_together(make: Make) -> None:
    table = make()
    assert table.task.name == "people"
    assert (table.task.target, table.task.biases) == (Classes(2, ("high", "low")), (Classes(2, ("f", "m")),))
    assert table.task.bias_names == ("gender",)
    assert table.preparation.names() == ("age", "city=Lima", "city=Oslo", "city=Rome", "height")
    assert {name: len(rows) for name, rows in table.splits.items()} == {"train": 140, "validation": 20, "test": 40}
    for rows in table.splits.values():
        assert [("high", "low")[y] for y in rows.y] == cells("income", rows.extra["row"])
        assert [("f", "m")[b] for b in rows.b[:, 0]] == cells("gender", rows.extra["row"])
        assert [rows.x[k, 1:4].tolist() for k in range(len(rows))] == [
            [float(city == kind) for kind in ("Lima", "Oslo", "Rome")] for city in cells("city", rows.extra["row"])
        ]
    heights = np.array(cells("height", table.train.extra["row"]))
    np.testing.assert_allclose(table.train.x[:, 4], (heights - heights.mean()) / heights.std(), atol=1e-6)
    assert table.notices == ()


def test_the_lines_for_people_say_what_becomes_of_each_column(make: Make) -> None:
    lines = make(bias=("gender", "age"), bins={"age": (40, 60)}, group="who", drop=("pay", "fold")).describe()
    assert lines == [
        "income  2 different words   target: 2 classes (high, low)",
        "pay     numbers             dropped as requested",
        "gender  2 different words   bias: 2 classes (f, m)",
        "age     numbers             bias: 3 classes (<40, 40 to <60, ≥60)",
        "city    3 different words   input: one-hot, 3 columns",
        "height  numbers             input: standardised, 1 column",
        "who     50 different words  group: all rows of a group are in one split",
        "fold    2 different words   dropped as requested",
        "Rows: train 140, validation 20, test 40. Inputs: 4 columns.",
    ]


def test_a_bias_is_an_input_only_where_that_is_asked_for(make: Make) -> None:
    assert "gender=f" in make(keep_bias_in_x=True).preparation.names()
    line = next(line for line in make(keep_bias_in_x=True).columns if line.column == "gender")
    assert line.becomes == "bias: 2 classes (f, m); input: one-hot, 2 columns"


def test_several_biases_may_be_classes_and_numbers_and_unknown(make: Make) -> None:
    genders = [None if k == 3 else gender for k, gender in enumerate(COLUMNS["gender"])]
    ages: list[Any] = [None if k == 5 else age for k, age in enumerate(COLUMNS["age"])]
    table = make({"gender": genders, "age": ages}, bias=("gender", "age"), widths={"age": 5}, fractions=(1, 0, 0))
    assert table.task.biases == (Classes(2, ("f", "m")), Number())
    omega = table.task.related(table.train.b).numpy()
    known = [k for k in range(N) if k not in (3, 5)]
    for i in (3, 5):
        assert (omega[i] == -1).all()
    wanted = [[genders[i] == genders[j] and abs(ages[i] - ages[j]) <= 5 for j in known] for i in known]
    np.testing.assert_array_equal(omega[np.ix_(known, known)], np.array(wanted))


def test_classes_alone_keep_whole_numbers_with_minus_one_for_unknown(make: Make) -> None:
    table = make({"gender": ["?" if k < 10 else g for k, g in enumerate(COLUMNS["gender"])]})
    assert table.train.b.dtype == torch.int64
    assert sum(int((rows.b == -1).sum()) for rows in table.splits.values()) == 10
    assert table.notices == (message("values-read-as-missing", column="gender", values="'?'"),)


def test_a_target_of_many_numbers_is_a_number_in_units_of_its_spread(make: Make) -> None:
    table = make(target="pay", drop=("fold", "who", "income"))
    assert table.task.target == Number()
    assert float(table.train.y.mean()) == pytest.approx(0, abs=1e-6)
    assert float(table.train.y.std(correction=0)) == pytest.approx(1, abs=1e-6)
    restored = table.preparation.target.restored(table.splits["test"].y.numpy())
    np.testing.assert_allclose(restored, cells("pay", table.splits["test"].extra["row"]), atol=1e-3)
    becomes = {line.column: line.becomes for line in table.columns}
    assert becomes["pay"].startswith("target: a number, because it has 50 different values; standardized ")
    assert make(target="pay", target_kind="class", drop=("fold", "who", "income")).task.target == Classes(
        50, tuple(str(10 * k) for k in range(50))
    )


def test_rows_without_a_target_are_left_out_and_counted(make: Make) -> None:
    table = make({"income": [None if k < 7 else income for k, income in enumerate(COLUMNS["income"])]})
    rows = torch.cat([rows.extra["row"] for rows in table.splits.values()])
    assert sorted(rows.tolist()) == list(range(7, N))
    assert table.notices == (message("target-missing-in-some-rows", target="income", missing=7, rows=200),)


def test_nobody_is_in_two_splits(make: Make) -> None:
    table = make(group="who", drop=("fold", "pay"))
    homes = [set(cells("who", rows.extra["row"])) for rows in table.splits.values()]
    assert sum(map(len, homes)) == len(set.union(*homes)) == 50
    assert all(
        len(set(rows.extra["group"].tolist())) == len(home)
        for rows, home in zip(table.splits.values(), homes, strict=True)
    )


def test_a_column_may_say_the_split(make: Make) -> None:
    table = make(split="fold", group="who", drop="pay")
    assert list(table.splits) == ["train", "test"]
    assert set(cells("fold", table.train.extra["row"])) == {"train"}


def test_a_column_without_validation_rows_has_some_drawn_and_says_so(make: Make) -> None:
    table = make(split="fold", drop=("who", "pay"), fractions=(0.5, 0.5, 0))
    assert {name: len(rows) for name, rows in table.splits.items()} == {"train": 50, "validation": 50, "test": 100}
    assert set(cells("fold", table.splits["validation"].extra["row"])) == {"train"}
    assert table.notices == (message("split-column-without-validation", column="fold", drawn=50, total=100),)


def test_the_seed_decides_who_is_tested(make: Make) -> None:
    one, again, other = (make(seed=seed).splits["test"].extra["row"].tolist() for seed in (0, 0, 1))
    assert one == again != other


def test_plain_settings_give_the_same_as_python_values(tmp_path: Path, make: Make) -> None:
    one = make(bias=("gender", "age"), widths={"age": 5})
    again = from_table(
        tmp_path / "people.csv", target="income", bias=("gender", "age"), drop=("fold", "who", "pay"), widths=("age=5",)
    )
    assert again.task == one.task
    assert torch.equal(again.train.x, one.train.x)
    binned = from_table(
        tmp_path / "people.csv", target="income", bias=("age",), drop=("fold", "who"), bins=("age=40, 60",)
    )
    assert binned.task.biases == (Classes(3, ("<40", "40 to <60", "≥60")),)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, Refusal("target-column-missing")),
        ({"target": "income"}, Refusal("bias-column-missing")),
        (
            {"target": "income", "bias": ("age",), "widths": ("age",)},
            Refusal("column-number-option-invalid", option="width"),
        ),
        (
            {"target": "income", "bias": ("age",), "widths": ("age=5,6",)},
            Refusal("column-number-option-invalid", value="age=5,6"),
        ),
        (
            {"target": "income", "bias": ("age",), "bins": ("age=a,b",)},
            Refusal("column-number-option-invalid", option="bins", value="age=a,b"),
        ),
        (
            {"target": "income", "bias": ("age",), "bins": ("age=1", "age=2")},
            Refusal("option-column-twice", option="bins", column="age"),
        ),
    ],
)
def test_plain_settings_that_say_too_little_are_told(
    tmp_path: Path, settings: dict[str, Any], complaint: Refusal
) -> None:
    with refused(complaint):
        from_table(write_table(tmp_path, COLUMNS), **settings)


@pytest.mark.parametrize(
    ("columns", "settings", "complaint"),
    [
        ({}, {"bias": ("gender", "income")}, Refusal("target-is-bias", column="income")),
        ({}, {"target": "incom"}, Refusal("unknown-column", column="incom", advice="Nearest: income.")),
        ({}, {"bias": ("gendr",)}, Refusal("unknown-column", column="gendr", advice="Nearest: gender.")),
        ({}, {"drop": ("folds",)}, Refusal("unknown-column", column="folds", advice="Nearest: fold.")),
        ({}, {"group": "whom"}, Refusal("unknown-column", column="whom", advice="Nearest: who.")),
        ({}, {"split": "splits"}, Refusal("unknown-column", column="splits")),
        ({}, {"bias": ()}, Refusal("bias-column-missing")),
        ({}, {"bias": ("gender", "gender")}, Refusal("column-named-twice", column="gender")),
        ({}, {"drop": ("gender",)}, Refusal("dropped-column-has-role", column="gender")),
        ({}, {"group": "income", "drop": ()}, Refusal("target-is-group", column="income")),
        ({}, {"split": "gender", "drop": ()}, Refusal("split-column-role-conflict", column="gender")),
        ({"income": ["low"] * N}, {}, Refusal("target-has-one-value", target="Target 'income'", value="low")),
        ({"income": [None] * N}, {}, Refusal("target-missing-everywhere", column="income")),
        ({"gender": ["NA"] * N}, {}, Refusal("bias-missing-everywhere", bias="Bias 'gender'")),
        ({}, {"bias": ("age",)}, Refusal("bias-needs-bins", bias="Bias 'age'", count=60, column="age")),
        ({}, {"bias": ("age",), "widths": {"age": 5}, "bins": {"age": (1,)}}, Refusal("bins-and-width")),
        ({}, {"widths": {"gender": 5}}, Refusal("bins-on-text-column", bias="Bias 'gender'", value="m")),
        ({}, {"bins": {"age": (5,)}}, Refusal("unknown-name", kind="bias", name="age")),
        ({}, {"bias": ("age",), "widths": {"age": -1}}, Refusal("width-out-of-range", width=-1)),
        ({}, {"bias": ("age",), "bins": {"age": (40, 30)}}, Refusal("bins-not-increasing", bins="40, 30")),
        (
            {},
            {"target_kind": "numbr"},
            Refusal("misspelled-name", kind="kind of target", name="numbr", nearest="number"),
        ),
        ({}, {"target_kind": "number"}, Refusal("target-not-numeric", target="Target 'income'", value="low")),
        ({"gender": [f"g{k}" for k in ROW]}, {}, Refusal("too-many-classes")),
        ({"income": [f"{k} EUR" for k in ROW]}, {}, Refusal("too-many-classes")),
        (
            {"income": [f"2020-01-{1 + k % 28:02d}" for k in ROW]},
            {},
            Refusal("label-holds-dates", label="Target 'income'"),
        ),
        (
            {"gender": [f"2020-01-{1 + k % 28:02d}" for k in ROW]},
            {},
            Refusal("label-holds-dates", label="Bias 'gender'"),
        ),
        (
            {"age": [*range(20, 219), "old"]},
            {},
            Refusal("text-in-number-column", column="age", value="'old' in line 201"),
        ),
        ({"age": [*range(20, 219), "old"]}, {"bias": ("age",)}, Refusal("text-in-number-column", column="age")),
        ({"fold": ["dev"] * N}, {"split": "fold", "drop": ()}, Refusal("unknown-split-value", value="dev")),
        (
            {"fold": ["train", "test"] * (N // 2)},
            {"split": "fold", "group": "who", "drop": ()},
            Refusal("group-in-two-splits", group="Group 'p0'"),
        ),
        (
            {"who": [None] * N},
            {"group": "who", "drop": ()},
            Refusal("group-missing-in-rows", column="who", missing=200),
        ),
        ({}, {"fractions": (0.5, 0.5)}, Refusal("fractions-invalid")),
        ({}, {"fractions": (0.999, 0.0005, 0.0005)}, Refusal("too-few-rows-for-fractions", count=200, units="rows")),
        ({}, {"drop": ("pay", "age", "city", "height", "who", "fold")}, Refusal("no-input-columns")),
        ({}, {"seed": -1}, Refusal("negative-seed")),
        (
            {"income": ["low" if k % 8 >= 4 else "hi" for k in ROW]},
            {"split": "fold", "drop": ()},
            Refusal("training-target-constant"),
        ),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(
    make: Make, columns: dict[str, list[Any]], settings: dict[str, Any], complaint: Refusal
) -> None:
    with refused(complaint) as error:
        make(columns, **settings)
    assert "\n" not in str(error.value)


def test_a_column_of_a_million_words_is_no_bias_and_no_input(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csad.data.tables.infer.MOST_WORDS", 50)
    table = make({"city": [f"c{k}" for k in ROW]})
    [notice] = table.notices
    assert noticed([notice], "column-not-used", column="city")
    assert "too many different words (such as 'c0' in line 2), as in a column of ids or free text." in notice
    with refused("too-many-label-values", label="Bias 'city'", kind="words"):
        make({"city": [f"c{k}" for k in ROW]}, bias=("city",))


def test_a_group_may_have_more_members_than_words_are_kept(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csad.data.tables.infer.MOST_WORDS", 50)
    table = make({"who": [f"p{k // 3}" for k in ROW]}, group="who", drop="fold")
    homes = [set((rows.extra["row"] // 3).tolist()) for rows in table.splits.values()]
    assert sum(map(len, homes)) == len(set.union(*homes)) == 67
    assert [line.kind for line in table.columns if line.column == "who"] == ["very many different words"]


def test_parkinson_tapping_as_a_table_of_ones_own() -> None:
    path = real("tapping_park.csv")
    table = from_table(
        path, target="diagnosed", bias="age", widths={"age": 5}, group="participant", drop=("Rating", "gender")
    )
    assert table.task.target == Classes(2, ("no", "yes"))
    assert table.task.biases == (Number(),)
    assert sum(map(len, table.splits.values())) == 489
    homes = [set(rows.extra["group"].tolist()) for rows in table.splits.values()]
    assert sum(map(len, homes)) == len(set.union(*homes)) == 241
    names = table.preparation.names()
    assert {"age", "participant", "Rating", "diagnosed", "gender=male"}.isdisjoint(names)
    assert {"hand=Left", "hand=Right", "wrist_mvmnt_x_median"} <= set(names)
    again = Preprocessor.from_dict(json.loads(json.dumps(table.preparation.to_dict())))
    test = table.splits["test"]
    assert np.array_equal(again.apply(read_table_file(path), test.extra["row"].numpy()), test.x.numpy())


def test_adult_as_a_table_of_ones_own(tmp_path: Path, adult_root: Path) -> None:
    path = tmp_path / "census.csv"
    path.write_text(",".join(FIELDS) + "\n" + (adult_root / "adult" / "adult.data").read_text())
    table = from_table(path, target="income", bias=("sex", "race"), drop=("fnlwgt",))
    assert table.task.target == Classes(2, ("<=50K", ">50K"))
    assert [bias.count for bias in table.task.biases if isinstance(bias, Classes)] == [2, 5]
    assert sum(map(len, table.splits.values())) == 32_561
    assert len(table.preparation.names()) == 5 + (8 + 1) + 16 + 7 + (14 + 1) + 6 + (41 + 1)
    assert len(table.notices) == 3  # '?' counts as missing
    for rows in table.splits.values():
        assert float(rows.y.double().mean()) == pytest.approx(7841 / 32_561, abs=0.001)
        assert float((rows.b[:, 0] == 0).double().mean()) == pytest.approx(10_771 / 32_561, abs=0.001)


def test_a_name_may_hold_the_sign_that_parts_it_from_its_numbers() -> None:
    assert number_by_column("width", ["dose=mg=5", "age>=50=1"]) == {"dose=mg": 5.0, "age>=50": 1.0}
    assert numbers_by_column("bins", ["age=30,60", "a,b=1 2"]) == {"age": (30.0, 60.0), "a,b": (1.0, 2.0)}
    for words in (["age=5,hours=2"], ["age=30,60,hours=2"]):
        with refused("option-with-several-columns", option="bins"):
            numbers_by_column("bins", words)
