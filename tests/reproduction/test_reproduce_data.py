"""Tables whose data are the paper's, or others, and columns that have too few tested rows to tell anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import csad
from csad.messages import message
from csad.registry import DATASETS
from csad.reproduction.reproduce import other_data_note, reproduce, smallest_cell, too_few_rows_note
from csad.reproduction.result_table import ResultTable
from tests.support.own_data import toy_table

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
    rows, paper_rows = f"train 64, test {test}", f"train 60,000, test {test}"
    assert table.notes[0] == message("data-differ-from-paper", rows=rows, paper_rows=paper_rows)


def test_a_column_whose_smallest_cell_is_too_small_is_said_to_tell_nothing(
    declare: Callable[[str], None], tmp_path: Path
) -> None:
    table = made(declare, tmp_path, fewest=10_000)
    counts = {c: smallest_cell(DATASETS["toy-table"](rows=64, agreement=float(c)), "test") for c in ("0.7", "0.9")}
    assert [note for note in table.notes if "cannot tell" in note] == [
        message("cell-too-small-to-compare", column=column, biases="group × region", count=count)
        for column, count in counts.items()
    ]


def dataset(y: list[int], b: list[list[int]]) -> csad.Dataset:
    rows = csad.Samples(np.zeros((len(y), 1), np.float32), y, np.array(b))
    names = ("sex", "age")
    return csad.Dataset(
        csad.Task("t", (1,), csad.Classes(2), (csad.Classes(2), csad.Classes(2)), names), {"train": rows, "test": rows}
    )


def test_cells_are_of_the_target_and_all_biases_that_are_known() -> None:
    labels: dict[str, Any] = {"y": [0, 0, 0, 1, 1, 1], "b": [[0, 1], [0, 1], [0, 1], [1, 0], [1, 0], [1, -1]]}
    assert smallest_cell(dataset(**labels), "test") == 2
    assert too_few_rows_note(dataset(**labels), "test", "Hair", 2) == ""
    assert too_few_rows_note(dataset(**labels), "test", "Hair", 3) == message(
        "cell-too-small-to-compare", column="Hair", biases="sex × age", count=2
    )
    nobody = dataset([0, 1], [[-1, 0], [0, -1]])
    assert smallest_cell(nobody, "test") == 0


@pytest.mark.parametrize("papers", [{}, {"train": 2}, {"train": 2, "test": 2}])
def test_nothing_is_told_of_data_of_the_papers_size(papers: dict[str, int]) -> None:
    assert other_data_note(dataset([0, 1], [[0, 0], [1, 1]]), papers) == ""


def test_a_split_that_is_not_there_is_not_the_papers() -> None:
    whole = dataset([0, 1], [[0, 0], [1, 1]])
    alone = replace(whole, splits={"train": whole.train})
    note = other_data_note(alone, {"train": 2, "test": 2})
    assert note == message("data-differ-from-paper", rows="train 2", paper_rows="train 2, test 2")
