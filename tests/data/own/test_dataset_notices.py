"""What users are told of a table of their own before anything is trained on it, and what they are not bothered with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csad.data.own.dataset import TableDataset
from csad.data.own.from_files import from_table
from csad.data.validate import is_number_proxy
from csad.messages import Message, message
from tests.support.csv_tables import write_table
from tests.support.messages import codes, noticed, refused
from tests.support.own_people import COLUMNS, ROW, Make, maker


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return maker(tmp_path)


def test_a_class_that_no_training_row_has_is_told(make: Make) -> None:
    table = make(
        {"gender": ["x" if k == 0 else g for k, g in enumerate(COLUMNS["gender"])]}, split="fold", drop=("who", "pay")
    )
    assert table.notices == (message("values-absent-in-training", values="'x'", column="gender"),)


def test_a_bias_that_says_the_target_in_every_training_row_is_told(make: Make) -> None:
    """Rows that are tested do not count, nor do those whose bias is not known; one row against the bias is enough."""
    against = [k for k in ROW if COLUMNS["fold"][k] == "test"]
    town = [
        "" if k % 5 == 0 else {"high": ("Rome", "Oslo"), "low": ("Lima", "Bern")}[COLUMNS["income"][k]][k // 2 % 2]
        for k in ROW
    ]
    for k in against:
        town[k] = "Rome"
    settings: dict[str, Any] = {
        "bias": ("gender", "town"),
        "split": "fold",
        "drop": ("who", "pay", "city"),
        "fractions": (1, 0, 0),
    }
    told = message("bias-determines-target", bias="town", target="income")
    assert make({"town": town}, **settings).notices == (told,)
    town[next(k for k in ROW if k not in against and town[k] == "Lima")] = "Rome"
    assert make({"town": town}, **settings).notices == ()


def test_a_bias_that_is_known_of_one_target_alone_decides_nothing(make: Make) -> None:
    town = [("Rome", "Oslo")[k // 2 % 2] if COLUMNS["income"][k] == "high" else "" for k in ROW]
    assert make({"town": town}, bias=("town",), drop=("fold", "who", "pay", "gender")).notices == ()


GENDER, AGE = COLUMNS["gender"], COLUMNS["age"]
OF_GENDER, OF_AGE = (
    message("column-copies-bias", column="copy", bias=bias, quoted="copy") for bias in ("gender", "age")
)
OF_INCOME, OF_PAY = (
    message("column-copies-target", column="copy", target=target, quoted="copy") for target in ("income", "pay")
)
BINS: dict[str, Any] = {"bias": ("age",), "bins": {"age": (40,)}}
WIDTHS: dict[str, Any] = {"bias": ("age",), "widths": {"age": 5}}
PAY: dict[str, Any] = {"target": "pay", "drop": ("fold", "who", "income")}


@pytest.mark.parametrize(
    ("column", "settings", "told"),
    [
        ([{"f": "2", "m": "1"}[g] for g in GENDER], {}, [OF_GENDER]),
        ([g if k % 9 else "" for k, g in enumerate(GENDER)], {}, [OF_GENDER]),
        ([2000 - age for age in AGE], BINS, [OF_AGE]),
        ([round(age * 12 / 11) for age in AGE], WIDTHS, [OF_AGE]),
        ([word == "high" for word in COLUMNS["income"]], {}, [OF_INCOME]),
        ([pay / 7 for pay in COLUMNS["pay"]], PAY, [OF_PAY]),
        ([f"{g}{k % 2}" for k, g in enumerate(GENDER)], {}, []),
        ([g if k else "fm".replace(g, "") for k, g in enumerate(GENDER)], {}, []),
        ([g if k % 3 == 0 else "" for k, g in enumerate(GENDER)], {}, []),
        ([age + k % 5 for k, age in enumerate(AGE)], BINS, []),
        ([AGE[k] > 50 for k in ROW], BINS, []),
    ],
)
def test_an_input_that_says_a_label_over_again_is_told(
    make: Make, column: list[Any], settings: dict[str, Any], told: list[str]
) -> None:
    assert copies(make({"copy": column}, **settings)) == told


def copies(table: TableDataset) -> list[Any]:
    """The notices on inputs that are nearly copies of a label."""
    return [
        notice
        for notice, code in zip(table.notices, codes(table.notices), strict=True)
        if code in ("column-copies-bias", "column-copies-target")
    ]


def test_a_bias_that_is_asked_to_be_an_input_is_no_news(make: Make) -> None:
    assert make(keep_bias_in_x=True).notices == ()
    sex = {"sex, told": COLUMNS["gender"]}
    assert copies(make(sex, bias=("gender", "sex, told"), keep_bias_in_x=True)) == []
    [notice] = copies(make(sex))
    assert notice == message("column-copies-bias", column="sex, told", bias="gender", quoted='"sex, told"')


def test_values_far_out_make_no_copy_of_two_columns(make: Make) -> None:
    """Such as -9999 for what is missing."""
    far = [k % 20 == 3 for k in ROW]
    age, weight = ([-9999 if lost else k * n % m for k, lost in enumerate(far)] for n, m in ((37, 101), (53, 97)))
    assert np.corrcoef(age, weight)[0, 1] > 0.999
    assert copies(make({"age": age, "weight": weight}, bias=("age",), widths={"age": 5})) == []
    assert len(copies(make({"age": age, "weight": age}, bias=("age",), widths={"age": 5}))) == 1


@pytest.mark.parametrize(("known", "told"), [(19, 0), (99, 0), (100, 1), (200, 1)])
def test_a_copy_must_be_known_to_be_one_in_half_of_the_rows(make: Make, known: int, told: int) -> None:
    site = [["A", "B"][k // 3 % 2] if k < known else None for k in ROW]
    copy = [["1", "2"][k // 3 % 2] if k < known else str(1 + k % 3) for k in ROW]
    assert len(copies(make({"site": site, "copy": copy}, bias=("site",)))) == told


def test_a_copy_is_told_in_twenty_rows_or_more_alone(tmp_path: Path) -> None:
    for rows, told in ((19, 0), (20, 1)):
        columns = {"y": [k % 2 for k in range(rows)], "b": [k // 2 % 2 for k in range(rows)]}
        columns |= {"copy": [1 - b for b in columns["b"]], "x": [k * 7 % 11 for k in range(rows)]}
        table = from_table(write_table(tmp_path, columns), target="y", bias="b", fractions=(0.6, 0.2, 0.2))
        assert len(copies(table)) == told


def test_two_values_lie_on_a_line_and_are_no_copy(make: Make) -> None:
    old = [int(age > 50) for age in COLUMNS["age"]]
    assert copies(make({"old": old}, bias=("age",), widths={"age": 5})) == []
    assert not is_number_proxy(np.array([0.0, 1, 0, 1]), np.array([3.0, 5, 3, 5]))
    assert not is_number_proxy(np.array([0.0, 1, 2, 3]), np.array([4.0, 4, 4, 4]))
    assert is_number_proxy(np.array([0.0, 1, 2, 3]), np.array([3.0, 5, 7, 9]))


@pytest.mark.parametrize("shares", [(0.7, 0.15, 0.1501), (0.333, 0.333, 0.333), (70, 10, 20), (1, 0, 0), (33, 33, 33)])
def test_shares_that_are_as_good_as_a_whole_are_no_news(make: Make, shares: tuple[float, ...]) -> None:
    assert make(fractions=shares).notices == ()


def test_labels_that_are_numbers_with_signs_about_them_are_told(make: Make) -> None:
    rate = {"rate": [f"{20 + k % 5}%" for k in ROW]}
    for settings in ({"bias": ("rate",)}, {"target": "rate", "drop": ("fold", "who", "pay", "income")}):
        [advice] = [
            notice.facts["advice"]
            for notice in make(rate, **settings).notices
            if isinstance(notice, Message) and noticed([notice], "values-used-as-classes", column="rate")
        ]
        assert "'20%' means 20," in advice


@pytest.mark.parametrize(("width", "told"), [(58.9, False), (59, True), (1000, True)])
def test_a_width_that_holds_all_values_is_told(make: Make, width: float, told: bool) -> None:
    """Ages go from 20 to 79."""
    notices = make(bias=("age",), widths={"age": width}).notices
    assert noticed(notices, "width-makes-all-alike", bias="age", width=width) == told


def test_what_is_told_of_a_column_that_is_bias_and_input_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("y;b;x\n" + "".join(f"{k % 2};{1 + k // 2 % 3},{k // 2 % 3}24;{k * 7 % 11}\n" for k in range(90)))
    told = message("comma-read-as-point", column="b", value="1,024", read="1.024", other="1024")
    assert from_table(path, target="y", bias="b", keep_bias_in_x=True).notices == (told,)


def test_shares_that_are_no_whole_are_told_how_they_are_taken(make: Make) -> None:
    [notice] = make(fractions=(0.7, 0.1, 0.1)).notices
    assert "add up to 0.9," in notice
    assert noticed([notice], "split-shares-rescaled", given="0.7, 0.1, 0.1", shares="0.778, 0.111, 0.111")
    told = message("split-shares-rescaled", given="700, 100, 200", total=1000, shares="0.7, 0.1, 0.2")
    assert make(fractions=(700, 100, 200)).notices == (told,)
    with refused("fractions-invalid", fractions=(-0.7, 0.1, 0.2)):
        make(fractions=(-0.7, 0.1, 0.2))
