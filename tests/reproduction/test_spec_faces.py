"""The tables of faces, tapping and attributes: what they quote is in the paper, and what is not the paper's says so."""

from __future__ import annotations

import re

import pytest

from csad.registry import DATASETS
from csad.reproduction.spec import read_spec
from csad.runs.settings import experiment, resolve
from tests.support.paths import PAPER

NAMES = {
    "Baseline": "vanilla",
    "Alvi": "alvi",
    "Kim": "kim",
    "Ruggero": "ragonesi",
    "Group DRO": "group-dro",
    "LfF": "lff",
    "CSAD": "csad",
}


def printed(label: str, numbers: int) -> dict[str, list[float]]:
    """The lines of the paper's table of that label, by our names; one after the other where there are several."""
    text = PAPER.read_text(encoding="utf-8")
    body = text[: text.index(f"\\label{{{label}}}")].rpartition(r"\begin{tabular}")[2]
    found = {}
    for line in body.split(r"\\"):
        words = re.sub(r"\\[a-z]+\{[^}]*\}|\\textbf\{", " ", line.replace(r"\midrule", "").replace(r"\textbf{", ""))
        values = [float(number) for number in re.findall(r"\d?\.\d+", words)]
        name = next((ours for theirs, ours in NAMES.items() if words.strip().startswith(theirs)), None)
        if name and len(values) == numbers:
            found[name] = [*found.get(name, []), *values]
    return found


@pytest.mark.skipif(not PAPER.exists(), reason="the paper is not here")
@pytest.mark.parametrize(
    ("name", "label", "metric", "numbers"),
    [("imdb", "tab:imdb", "accuracy", 4), ("mpower", "tab:mpowerresultsd", "auc", 3)],
)
def test_a_table_of_the_paper_quotes_what_it_prints(name: str, label: str, metric: str, numbers: int) -> None:
    found = printed(label, numbers)
    quoted = {row.name: list(row.paper[metric]) for row in read_spec(name).rows}
    assert quoted == {row: values[: len(quoted[row])] for row, values in found.items()}
    assert len(found) == {"imdb": 5, "mpower": 3}[name]


@pytest.mark.skipif(not PAPER.exists(), reason="the paper is not here")
def test_celeba_s_table_quotes_both_blocks_of_the_papers() -> None:
    table = read_spec("celeba")
    quoted = {
        row.name: [
            row.paper[metric][k] for k in range(len(table.columns)) for metric in ("unbiased", "bias_conflicting")
        ]
        for row in table.rows
        if row.paper
    }
    assert quoted == printed("tab:celeba", 2)
    assert len(quoted) == 4
    assert re.search(r"\bnot\b", table.otherwise)


@pytest.mark.parametrize("name", ["wiki", "fairface", "mpower-simulated", "mpower-simulated-young", "tapping-park"])
def test_a_table_on_other_data_than_the_papers_quotes_nothing_and_says_so(name: str) -> None:
    table = read_spec(name)
    assert not any(row.paper for row in table.rows)
    assert re.search(r"\bnot\b", table.title)


@pytest.mark.parametrize("name", ["imdb", "wiki", "fairface"])
def test_the_tables_of_faces_train_on_one_half_and_look_at_the_other(name: str) -> None:
    table = read_spec(name)
    row = table.rows[0]
    for column in table.columns:
        trained, _, shown = column.partition("→")
        assert row.settings_for(table, column, 10)["data.setting"] == trained
        assert table.split_in(column) == shown
        assert row.trained_in(table, column).startswith(f"{trained}→")
    assert {row.name for row in table.rows} == {"vanilla", "alvi", "kim", "ragonesi", "csad"}


def test_nets_of_photographs_and_series_are_those_of_the_supplement() -> None:
    for task in ("imdb", "wiki", "fairface", "celeba", "mpower", "mpower-simulated"):
        net = resolve("csad", DATASETS[task], experiment(task), {}).net
        photos = {"backbone": "resnet18", "features": 256}
        series = {"backbone": "tcn", "layers": 6, "filters": 64, "kernel": 5}
        expected = {"branch": 64, "head": (), "estimator": (64, 32, 32)} | (series if "mpower" in task else photos)
        assert {name: net[name] for name in expected} == expected, task


def test_the_row_of_balanced_cells_differs_from_vanilla_with_its_decay_in_nothing_else() -> None:
    table = read_spec("celeba")
    plain, cells = (row for row in table.rows if row.name in ("vanilla-decay", "vanilla-cells"))
    own, other = (row.settings_for(table, "BlondHair", 10) for row in (plain, cells))
    assert other == own | {"train.balance": "cells"}
