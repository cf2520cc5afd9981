"""Tables whose data are the paper's, or others, and columns that have too few tested rows to tell anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_data import toy_table

import csad
from csad.experiments.papers_data import others_told, smallest_cell, too_few_told
from csad.experiments.reproduce import reproduce
from csad.registry import DATASETS
from csad.report.tables import ResultTable

QUICK = {"train.target_epochs": 1, "train.epochs": 1, "train.batch_size": 32, "data.rows": 64}
TOYS = """
paper_rows = {{ train = {train}, test = {test} }}
otherwise = "Not the toys of the paper"
fewest = {fewest}
[rows.vanilla]
label = "Plain"
paper = [0.7, 0.9]
"""


def made(declare: Callable[[str], None], out: Path, **facts: int) -> ResultTable:
    sizes = {split: len(rows) for split, rows in DATASETS["toy-table"](rows=64).splits.items()}
    declare(toy_table(TOYS.format(**{"fewest": 0, **sizes} | facts)))
    return reproduce("toys", settings=QUICK, seeds=1, out=out, device="cpu").table


def test_the_papers_figures_stand_beside_ours_where_the_data_are_the_papers(
    declare: Callable[[str], None], tmp_path: Path
) -> None:
    table = made(declare, tmp_path)
    assert [cell.paper for cell in table.cells] == [0.7, 0.9]
    assert table.title == "Toys"
    assert not any("the paper" in note for note in table.notes)


def test_other_data_have_another_title_no_figure_of_the_papers_and_say_why(
    declare: Callable[[str], None], tmp_path: Path
) -> None:
    table = made(declare, tmp_path, train=60_000)
    assert [cell.paper for cell in table.cells] == [None, None]
    assert table.title == "Not the toys of the paper"
    test = len(DATASETS["toy-table"](rows=64).splits["test"])
    assert table.notes[0] == (
        "Not the paper's data, and so none of its figures. "
        f"Rows: train 64, test {test}; the paper has train 60,000, test {test}."
    )


def test_a_column_whose_smallest_cell_is_too_small_is_said_to_tell_nothing(
    declare: Callable[[str], None], tmp_path: Path
) -> None:
    table = made(declare, tmp_path, fewest=10_000)
    assert [note for note in table.notes if "cannot tell" in note] == [
        f"{column}: cannot tell. The smallest cell of target × group × region has {count} tested rows."
        for column, count in ((c, smallest_cell(DATASETS["toy-table"](rows=64, agreement=float(c)), "test"))
                              for c in ("0.7", "0.9"))
    ]  # fmt: skip


def dataset(y: list[int], b: list[list[int]]) -> csad.Dataset:
    rows = csad.Samples(np.zeros((len(y), 1), np.float32), y, np.array(b))
    names = ("sex", "age")
    return csad.Dataset(
        csad.Task("t", (1,), csad.Classes(2), (csad.Classes(2), csad.Classes(2)), names), {"train": rows, "test": rows}
    )


def test_cells_are_of_the_target_and_all_biases_that_are_known() -> None:
    labels: dict[str, Any] = {"y": [0, 0, 0, 1, 1, 1], "b": [[0, 1], [0, 1], [0, 1], [1, 0], [1, 0], [1, -1]]}
    assert smallest_cell(dataset(**labels), "test") == 2
    assert too_few_told(dataset(**labels), "test", "Hair", 2) == ""
    assert too_few_told(dataset(**labels), "test", "Hair", 3) == (
        "Hair: cannot tell. The smallest cell of target × sex × age has 2 tested rows."
    )
    nobody = dataset([0, 1], [[-1, 0], [0, -1]])
    assert smallest_cell(nobody, "test") == 0


@pytest.mark.parametrize("papers", [{}, {"train": 2}, {"train": 2, "test": 2}])
def test_nothing_is_told_of_data_of_the_papers_size(papers: dict[str, int]) -> None:
    assert others_told(dataset([0, 1], [[0, 0], [1, 1]]), papers) == ""


def test_a_split_that_is_not_there_is_not_the_papers() -> None:
    whole = dataset([0, 1], [[0, 0], [1, 1]])
    alone = replace(whole, splits={"train": whole.train})
    assert others_told(alone, {"train": 2, "test": 2}).endswith("Rows: train 2; the paper has train 2, test 2.")
