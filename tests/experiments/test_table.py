"""Tables as they are declared: what they name exists, what they set can be set, what they quote is in the paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from own_data import toy_table

from csad.errors import InputError
from csad.experiments.plan import experiment, experiments, resolve
from csad.experiments.table import Row, Table, read_table, tables
from csad.registry import DATASETS, METHODS

PAPER = Path(__file__).parents[3] / "shared" / "paper" / "csad.tex"
CELLS = [(name, row.name) for name in tables() for row in read_table(name).rows]


def row_of(name: str, row: str) -> tuple[Table, Row]:
    table = read_table(name)
    return table, next(one for one in table.rows if one.name == row)


def test_the_tables_of_the_paper_are_there() -> None:
    assert {"colored-mnist", "colored-mnist-bounds", "digits"} <= set(tables())


@pytest.mark.parametrize("name", tables())
def test_a_table_says_all_that_its_reader_must_know(name: str) -> None:
    table = read_table(name)
    assert table.name == name
    assert table.task in experiments()
    assert all((table.title, table.selection, table.metrics, table.split, table.column_title))
    assert len(set(table.columns)) == len(table.columns) > 0
    assert len(set(table.seeds)) == len(table.seeds) > 1
    assert all(table.notes)


@pytest.mark.parametrize(("name", "row"), CELLS)
def test_every_row_is_a_method_whose_settings_can_be_set_in_every_column(name: str, row: str) -> None:
    table, line = row_of(name, row)
    assert line.method in METHODS
    assert line.label
    for number, column in enumerate(table.columns):
        given = line.given(table, column)
        plan = resolve(line.method, DATASETS[table.task], experiment(table.task), given, line.preset)
        plan.course()
        plan.sizes()
        section, name_of_setting = table.column.split(".")
        found = getattr(plan, section)[name_of_setting]
        assert found == (float(column) if isinstance(found, float) else column)
        for key, value in line.settings.items():
            assert given[key] == (value[number] if isinstance(value, list) else value)


def test_the_settings_of_a_table_hold_for_all_rows_but_those_that_have_their_own(
    declare: Callable[[str], None],
) -> None:
    rows = '[rows.plain]\n[rows.other]\nset = { "train.rate" = [0.1, 0.2] }\n'
    declare(f'set = {{ "train.rate" = 0.5, "train.epochs" = 2 }}\n{toy_table(rows)}')
    plain, other = (row_of("toys", name)[1] for name in ("plain", "other"))
    table = read_table("toys")
    assert plain.given(table, "0.9") == {"data.agreement": "0.9", "train.rate": 0.5, "train.epochs": 2}
    assert other.given(table, "0.9") == {"data.agreement": "0.9", "train.rate": 0.2, "train.epochs": 2}


def test_the_papers_tables_train_on_all_digits() -> None:
    for name in (name for name in tables() if name.startswith("colored-mnist")):
        table = read_table(name)
        for line in table.rows:
            given = line.given(table, table.columns[0])
            plan = resolve(line.method, DATASETS[table.task], experiment(table.task), given, line.preset)
            assert plan.data["validation"] == 0, (name, line.name)


@pytest.mark.parametrize(("name", "row"), CELLS)
def test_every_row_has_a_number_for_each_column_or_none_at_all(name: str, row: str) -> None:
    table, line = row_of(name, row)
    lists = [value for value in line.settings.values() if isinstance(value, list)]
    assert all(len(value) == len(table.columns) for value in lists)
    assert len(line.paper) in (0, len(table.columns))
    assert all(0 < value < 1 for value in line.paper if value is not None)
    found = [line.paper_in(table, column) for column in table.columns]
    assert found == (list(line.paper) or [None] * len(table.columns))


@pytest.mark.parametrize("name", tables())
def test_no_row_is_the_same_as_another(name: str) -> None:
    table = read_table(name)
    made = [
        (line.method, str(resolve(line.method, DATASETS[table.task], experiment(table.task), given, line.preset)))
        for line in table.rows
        for given in [line.given(table, table.columns[0])]
    ]
    assert len(set(made)) == len(made)
    assert len({line.label for line in table.rows}) == len(table.rows)


@pytest.mark.skipif(not PAPER.exists(), reason="the paper is not here")
def test_the_papers_numbers_are_those_it_prints() -> None:
    text = PAPER.read_text(encoding="utf-8")
    body = re.search(r"Colored MNIST test set.*?\\begin\{tabular\}(.*?)\\end\{tabular\}", text, re.DOTALL)
    assert body
    printed: dict[str, list[str]] = {}
    for line in body[1].split(r"\\"):
        name, *cells = line.split("&")
        numbers = [found[0] for cell in cells if (found := re.search(r"\d\.\d+", cell))]
        if len(numbers) == 7:
            words = re.sub(r"\\[a-z]+(\([a-z]\))?(\{[^}]*\})?|\(ours\)|~", "", name)
            printed[" ".join(words.split())] = numbers
    assert len(printed) == 9

    table = read_table("colored-mnist")
    assert list(table.columns) == printed.pop("")
    named = {
        "Vanilla": "Baseline",
        "Ragonesi et al.": "Ruggero et al.",  # the paper calls him by his first name
        "CSAD, settings of the authors' code": "CSAD",
    }
    quoted = {named.get(line.label, line.label): list(line.paper) for line in table.rows if line.paper}
    assert quoted.keys() == printed.keys()
    assert quoted == {name: [float(value) for value in printed[name]] for name in quoted}


def test_only_rows_of_the_paper_quote_it() -> None:
    quoting = {line.name for line in read_table("colored-mnist").rows if line.paper}
    variants, rivals = {"csad", "csad-content", "csad-struc", "ad-jsd", "csad-authors"}, {"alvi", "kim", "ragonesi"}
    assert quoting == {"vanilla"} | variants | rivals
    assert not any(line.paper for line in read_table("digits").rows)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: read_table("colored-mnits"), "No table is called 'colored-mnits'. Nearest: colored-mnist. Known: "),
        (lambda: read_table("../digits"), "No table is called '../digits'"),
        (lambda: read_table("digits").chosen_rows(["csda"]), "No row of digits is called 'csda'. Nearest: csad."),
        (lambda: read_table("digits").chosen_rows(["csad", ""]), "No row of digits is called ''"),
        (lambda: read_table("digits").chosen_columns(["0.02", "0.2"]), "No column of digits is called '0.2'. Nearest:"),
        (lambda: read_table("digits").chosen_columns(["nan"]), "No column of digits is called 'nan'"),
        (lambda: read_table("digits").chosen_seeds(0), "--seeds must be 1 or more, not 0."),
    ],
)
def test_what_is_not_there_is_told_with_the_nearest_name(wrong, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        wrong()


@pytest.mark.parametrize("name", ["0.020", ".02", "0.02", "2e-2", " .020"])
def test_a_column_may_be_written_as_any_number(name: str) -> None:
    assert read_table("digits").chosen_columns([name]) == ("0.020",)


def test_rows_and_columns_are_all_unless_some_are_named() -> None:
    table = read_table("digits")
    assert table.chosen_rows([]) == table.rows
    assert table.chosen_columns([]) == table.columns
    assert [row.name for row in table.chosen_rows(["grey", "vanilla"])] == ["grey", "vanilla"]


def test_a_row_or_column_named_twice_is_there_once() -> None:
    table = read_table("digits")
    assert len(table.chosen_rows(["csad", "csad"])) == 1
    assert table.chosen_columns([".02", "0.020"]) == ("0.020",)


@pytest.mark.parametrize(
    ("count", "seeds"), [(None, (10, 11, 12)), (1, (10,)), (3, (10, 11, 12)), (5, (10, 11, 12, 13, 14))]
)
def test_seeds_are_the_tables_own_and_those_that_follow(count: int | None, seeds: tuple[int, ...]) -> None:
    assert read_table("digits").chosen_seeds(count) == seeds


def test_settings_are_laid_over_every_row_and_told() -> None:
    table = read_table("digits").with_settings({"train.epochs": "1", "data.coloring": "biased"})
    assert all(row.settings["train.epochs"] == "1" for row in table.rows)
    assert all(row.given(table, "0.050")["data.coloring"] == "biased" for row in table.rows)
    assert "train.epochs=1, data.coloring=biased" in table.notes[-1]
    assert read_table("digits").with_settings({}) == read_table("digits")


def test_the_setting_that_makes_the_columns_cannot_be_laid_over_them() -> None:
    with pytest.raises(InputError, match="color_variance"):
        read_table("digits").with_settings({"data.color_variance": "0.03"})


def test_a_setting_may_have_a_value_per_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text(
        'title = "Mine"\ntask = "digits"\nmetrics = ["accuracy"]\nsplit = "test"\ncolumn = "data.color_variance"\n'
        'column_title = "σ²"\ncolumns = ["0.020", "0.050"]\nseeds = [1, 2]\nselection = "last epoch"\nnotes = []\n'
        '[rows.csad]\npaper = [0.5, 0.25]\nset = { debias_weight = [1.0, 0.5], "train.epochs" = 3 }\n'
    )
    monkeypatch.setattr("csad.experiments.table.FOLDER", tmp_path)
    table = read_table("mine")
    (row,) = table.rows
    assert (row.label, row.method, row.preset) == ("csad", "csad", "")
    assert row.given(table, "0.050") == {"data.color_variance": "0.050", "debias_weight": 0.5, "train.epochs": 3}
    assert [row.paper_in(table, column) for column in table.columns] == [0.5, 0.25]
