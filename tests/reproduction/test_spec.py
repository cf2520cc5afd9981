"""Tables as they are declared: what they name exists, what they set can be set, what they quote is in the paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from csad.registry import DATASETS, METHODS
from csad.reproduction.spec import SpecRow, TableSpec, read_spec, tables
from csad.runs.settings import experiment, experiments, resolve
from tests.support.messages import Refusal, refused
from tests.support.own_data import toy_table
from tests.support.paths import PAPER

CELLS = [(name, row.name) for name in tables() for row in read_spec(name).rows]


def row_of(name: str, row: str) -> tuple[TableSpec, SpecRow]:
    table = read_spec(name)
    return table, next(one for one in table.rows if one.name == row)


def test_the_tables_of_the_paper_are_there() -> None:
    assert {"colored-mnist", "colored-mnist-bounds", "digits"} <= set(tables())


@pytest.mark.parametrize("name", tables())
def test_a_table_says_all_that_its_reader_must_know(name: str) -> None:
    table = read_spec(name)
    assert table.name == name
    assert table.task in experiments()
    assert all((table.title, table.metrics, table.split, table.column_title))
    assert len(set(table.columns)) == len(table.columns) > 0
    assert len(set(table.seeds)) == len(table.seeds) > 1
    assert all(table.notes)
    assert {*table.gap, *filter(None, [table.compared])} <= {row.name for row in table.rows}
    assert len(table.gap) in (0, 2)
    assert table.compared or not table.gap


@pytest.mark.parametrize(("name", "row"), CELLS)
def test_every_row_is_a_method_whose_settings_can_be_set_in_every_column(name: str, row: str) -> None:
    table, line = row_of(name, row)
    assert line.method in METHODS
    assert line.label
    for number, column in enumerate(table.columns):
        given = line.settings_for(table, column, table.seeds[0])
        plan = resolve(line.method, DATASETS[table.task], experiment(table.task), given, line.preset)
        plan.course()
        plan.sizes()
        for setting, wanted in ((table.column, column), (table.seed_sets, table.seeds[0])):
            section, _, name_of_setting = setting.rpartition(".")
            found = getattr(plan, section)[name_of_setting] if setting else wanted
            assert found == (float(wanted) if isinstance(found, float) else wanted)
        for key, value in line.settings.items():
            assert given[key] == (value[number] if isinstance(value, list) else value)


def test_the_settings_of_a_table_hold_for_all_rows_but_those_that_have_their_own(
    declare: Callable[[str], None],
) -> None:
    rows = '[rows.plain]\n[rows.other]\nset = { "train.rate" = [0.1, 0.2] }\n'
    declare(f'set = {{ "train.rate" = 0.5, "train.epochs" = 2 }}\n{toy_table(rows)}')
    plain, other = (row_of("toys", name)[1] for name in ("plain", "other"))
    table = read_spec("toys")
    assert plain.settings_for(table, "0.9", 3) == {"data.agreement": "0.9", "train.rate": 0.5, "train.epochs": 2}
    assert other.settings_for(table, "0.9", 3) == {"data.agreement": "0.9", "train.rate": 0.2, "train.epochs": 2}


def test_a_seed_may_be_a_setting_as_well(declare: Callable[[str], None]) -> None:
    declare(toy_table("[rows.vanilla]\n", seed_sets="data.seed", column="", columns=["Toys"]))
    table, row = row_of("toys", "vanilla")
    assert [row.settings_for(table, "Toys", seed) for seed in table.seeds] == [{"data.seed": 3}, {"data.seed": 4}]
    with refused("setting-fixed-by-table", setting="data.seed", parts="seeds", table="toys"):
        table.with_settings({"data.seed": "5"})


def test_a_row_of_another_table_brings_its_settings_and_its_home(
    declare: Callable[[str], None], tmp_path: Path
) -> None:
    declare(f'set = {{ "train.epochs" = 2 }}\n{toy_table("[rows.vanilla]")}\nlabel = "Plain"\npaper = [0.5, 0.6]\n')
    (tmp_path / "tables" / "more.toml").write_text(toy_table('[rows.csad]\n[rows.vanilla]\ntable = "toys"\n'))
    own, borrowed = read_spec("more").rows
    assert (own.home, borrowed.home) == ("more", "toys")
    assert (borrowed.label, borrowed.paper) == ("Plain", {"accuracy": (0.5, 0.6)})
    assert borrowed.settings_for(read_spec("more"), "0.7", 3) == {"data.agreement": "0.7", "train.epochs": 2}


def test_the_paper_may_be_quoted_by_metric(declare: Callable[[str], None]) -> None:
    row = "[rows.vanilla]\npaper = { accuracy = 0.5, f1 = 0.4 }\n"
    declare(toy_table(row, metrics=["accuracy", "f1", "auc"], columns=["0.7"]))
    table, line = row_of("toys", "vanilla")
    assert [line.paper_in(table, "0.7", metric) for metric in table.metrics] == [0.5, 0.4, None]


def test_the_papers_tables_train_on_all_digits() -> None:
    for name in (name for name in tables() if name.startswith("colored-mnist")):
        table = read_spec(name)
        for line in table.rows:
            given = line.settings_for(table, table.columns[0], table.seeds[0])
            plan = resolve(line.method, DATASETS[table.task], experiment(table.task), given, line.preset)
            assert plan.data["validation"] == 0, (name, line.name)


@pytest.mark.parametrize(("name", "row"), CELLS)
def test_every_row_has_a_number_for_each_column_or_none_at_all(name: str, row: str) -> None:
    table, line = row_of(name, row)
    lists = [value for value in line.settings.values() if isinstance(value, list)]
    assert all(len(value) == len(table.columns) for value in lists)
    assert line.paper.keys() <= set(table.metrics)
    for metric in table.metrics:
        found = [line.paper_in(table, column, metric) for column in table.columns]
        assert found == list(line.paper.get(metric, [None] * len(table.columns)))
        assert all(0 < value <= 1 for value in found if value is not None)


@pytest.mark.parametrize("name", tables())
def test_no_row_is_the_same_as_another(name: str) -> None:
    table = read_spec(name)
    made = [
        (line.method, str(resolve(line.method, DATASETS[table.task], experiment(table.task), given, line.preset)))
        for line in table.rows
        for given in [line.settings_for(table, table.columns[0], table.seeds[0])]
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

    table = read_spec("colored-mnist")
    assert list(table.columns) == printed.pop("")
    named = {
        "Vanilla": "Baseline",
        "Ragonesi et al.": "Ruggero et al.",  # the paper calls him by his first name
        "CSAD, settings of the authors' code": "CSAD",
    }
    quoted = {named.get(line.label, line.label): list(line.paper["accuracy"]) for line in table.rows if line.paper}
    assert quoted.keys() == printed.keys()
    assert quoted == {name: [float(value) for value in printed[name]] for name in quoted}


def printed_numbers(caption: str) -> dict[str, list[float | None]]:
    """What a table of the paper on Adult prints, by its first column: per cent as fractions, a dash as None."""
    body = re.search(rf"{caption}.*?\\midrule(.*?)\\end\{{tabular\}}", PAPER.read_text(encoding="utf-8"), re.DOTALL)
    assert body
    found = {}
    for line in body[1].replace(r"\midrule", "").split(r"\\"):
        name, *cells = (re.sub(r"\\textbf|\\cite\{[^}]*\}|[{}]|\(ours\)", "", cell).strip() for cell in line.split("&"))
        if cells:
            numbers = [None if cell == "-" else float(cell) for cell in cells]
            found[name] = [value / 100 if value and value > 1 else value for value in numbers]
    return found


@pytest.mark.skipif(not PAPER.exists(), reason="the paper is not here")
@pytest.mark.parametrize(
    ("name", "caption", "named"),
    [
        (
            "adult",
            "Income prediction of Adult dataset",
            {
                "vanilla-two-layer": "Baseline",
                "vanilla": "Baseline*",
                "project": "Project",
                "zhang": "Adv. debiasing",
                "cocl": "CoCL",
                "sensr": "SenSR",
                "sensei": "SenSeI",
                "csad": "CSAD",
            },
        ),
        ("adult-tradeoff", "We vary the", {f"csad-{weight}": str(weight) for weight in (1, 2, 10, 20, 40)}),
    ],
)
def test_the_papers_numbers_on_adult_are_those_it_prints(name: str, caption: str, named: dict[str, str]) -> None:
    table, printed = read_spec(name), printed_numbers(caption)
    assert printed.keys() == set(named.values())
    for line in table.rows:
        if line.name in named:
            quoted = [line.paper_in(table, "Adult", metric) for metric in table.metrics]
            assert quoted == pytest.approx(printed[named[line.name]], abs=1e-9)


def test_only_rows_of_the_paper_quote_it() -> None:
    quoting = {line.name for line in read_spec("colored-mnist").rows if line.paper}
    variants, rivals = {"csad", "csad-content", "csad-struc", "ad-jsd", "csad-authors"}, {"alvi", "kim", "ragonesi"}
    assert quoting == {"vanilla"} | variants | rivals
    assert not any(line.paper for line in read_spec("digits").rows)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            lambda: read_spec("colored-mnits"),
            Refusal("misspelled-name", kind="table", name="colored-mnits", nearest="colored-mnist"),
        ),
        (lambda: read_spec("../digits"), Refusal("misspelled-name", kind="table", name="../digits", nearest="digits")),
        (
            lambda: read_spec("digits").chosen_rows(["csda"]),
            Refusal("misspelled-name", kind="row of digits", name="csda", nearest="csad"),
        ),
        (lambda: read_spec("digits").chosen_rows(["csad", ""]), Refusal("unknown-name", kind="row of digits")),
        (
            lambda: read_spec("digits").chosen_columns(["0.02", "0.2"]),
            Refusal("misspelled-name", kind="column of digits", name="0.2"),
        ),
        (
            lambda: read_spec("digits").chosen_columns(["nan"]),
            Refusal("unknown-name", kind="column of digits", name="nan"),
        ),
        (lambda: read_spec("digits").chosen_seeds(0), Refusal("seed-count-below-one", count=0)),
    ],
)
def test_what_is_not_there_is_told_with_the_nearest_name(wrong, says: Refusal) -> None:
    with refused(says):
        wrong()


@pytest.mark.parametrize("name", ["0.020", ".02", "0.02", "2e-2", " .020"])
def test_a_column_may_be_written_as_any_number(name: str) -> None:
    assert read_spec("digits").chosen_columns([name]) == ("0.020",)


def test_rows_and_columns_are_all_unless_some_are_named() -> None:
    table = read_spec("digits")
    assert table.chosen_rows([]) == table.rows
    assert table.chosen_columns([]) == table.columns
    assert [row.name for row in table.chosen_rows(["grey", "vanilla"])] == ["grey", "vanilla"]


def test_a_row_or_column_named_twice_is_there_once() -> None:
    table = read_spec("digits")
    assert len(table.chosen_rows(["csad", "csad"])) == 1
    assert table.chosen_columns([".02", "0.020"]) == ("0.020",)


@pytest.mark.parametrize(
    ("count", "seeds"), [(None, (10, 11, 12)), (1, (10,)), (3, (10, 11, 12)), (5, (10, 11, 12, 13, 14))]
)
def test_seeds_are_the_tables_own_and_those_that_follow(count: int | None, seeds: tuple[int, ...]) -> None:
    assert read_spec("digits").chosen_seeds(count) == seeds


def test_settings_are_laid_over_every_row_and_told() -> None:
    table = read_spec("digits").with_settings({"train.epochs": "1", "data.coloring": "biased"})
    assert all(row.settings["train.epochs"] == "1" for row in table.rows)
    assert all(row.settings_for(table, "0.050", 10)["data.coloring"] == "biased" for row in table.rows)
    assert "train.epochs=1, data.coloring=biased" in table.notes[-1]
    assert read_spec("digits").with_settings({}) == read_spec("digits")


def test_the_setting_that_makes_the_columns_cannot_be_laid_over_them() -> None:
    with refused("setting-fixed-by-table", setting="data.color_variance", parts="columns"):
        read_spec("digits").with_settings({"data.color_variance": "0.03"})


def test_a_setting_may_have_a_value_per_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text(
        'title = "Mine"\ntask = "digits"\nmetrics = ["accuracy"]\nsplit = "test"\ncolumn = "data.color_variance"\n'
        'column_title = "σ²"\ncolumns = ["0.020", "0.050"]\nseeds = [1, 2]\nnotes = []\n'
        '[rows.csad]\npaper = [0.5, 0.25]\nset = { debias_weight = [1.0, 0.5], "train.epochs" = 3 }\n'
    )
    monkeypatch.setattr("csad.reproduction.spec.FOLDER", tmp_path)
    table = read_spec("mine")
    (row,) = table.rows
    assert (row.label, row.method, row.preset) == ("csad", "csad", "")
    assert row.settings_for(table, "0.050", 1) == {
        "data.color_variance": "0.050",
        "debias_weight": 0.5,
        "train.epochs": 3,
    }
    assert [row.paper_in(table, column, "accuracy") for column in table.columns] == [0.5, 0.25]
