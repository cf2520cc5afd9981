"""What is known of the people behind rows, by split and target; a table draws it beside its figures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from csad.data.samples import Classes, Dataset, Samples, Task
from csad.reproduction.reproduce import facts_by_target, reproduce
from tests.support.messages import refused
from tests.support.own_data import DATASET, toy_table


def samples(y: list[int], age: list[int], person: list[int] | None = None) -> Samples:
    extra = {"age": np.array(age)} | ({"person": np.array(person)} if person else {})
    return Samples(np.zeros((len(y), 2)), y, [0] * len(y), extra)


def dataset(**splits: Samples) -> Dataset:
    return Dataset(Task("people", (2,), Classes(2, ("well", "ill")), (Classes(2),), ("age",)), splits)


def test_each_person_counts_once_however_many_rows_they_have() -> None:
    rows = dataset(
        train=samples([0, 0, 1, 1, 1], [50, 50, 70, 60, 70], [4, 4, 9, 2, 9]), test=samples([0, 1], [40, 41], [1, 3])
    )
    found = facts_by_target(rows, "age")
    told = {split: {name: sorted(ages.tolist()) for name, ages in groups.items()} for split, groups in found.items()}
    assert told == {"train": {"well": [50], "ill": [60, 70]}, "test": {"well": [40], "ill": [41]}}


def test_where_no_person_is_told_every_row_is_one() -> None:
    rows = dataset(train=samples([0, 0], [50, 50]), test=samples([1], [7]))
    assert facts_by_target(rows, "age")["train"]["well"].tolist() == [50, 50]


def test_a_fact_that_the_data_do_not_tell_is_an_input_error() -> None:
    with refused("fact-not-recorded", dataset="own arrays", fact="age", known="nothing"):
        facts_by_target(Dataset(DATASET.task, {"train": DATASET.train, "test": DATASET.train}), "age")


def test_a_table_of_simulated_people_draws_their_ages_beside_its_figures(tmp_path: Path, heard: Any) -> None:
    small = {"data.people": 420, "data.per_cell": 3, "data.length": 32, "net.filters": 4, "net.layers": 2}
    short = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1}
    made = reproduce(
        "mpower-simulated",
        columns=["large"],
        seeds=1,
        settings=small | short,
        out=tmp_path / "out",
        device="cpu",
        listener=heard,
    )
    assert [(cell.method, cell.metric) for cell in made.table.cells] == [
        (row, metric) for row in ("vanilla", "csad", "oracle") for metric in ("auc", "bias_from_h_y", "bias_chance")
    ]
    root = ElementTree.parse(made.path.with_name("mpower-simulated-part.svg")).getroot()
    told = next(root.iter("{http://www.w3.org/2000/svg}desc")).text or ""
    assert "test: without Parkinson's disease 18 (mean" in told  # three of each of six ages
    assert "train: without Parkinson's disease " in told


def test_a_table_draws_the_fact_that_it_names(declare: Callable[[str], None], tmp_path: Path) -> None:
    declare(toy_table("[rows.vanilla]", task="mpower-simulated", column="", columns=["one"], distribution="evidence"))
    small = {"data.people": 420, "data.per_cell": 3, "data.length": 32, "net.filters": 4, "net.layers": 2}
    made = reproduce("toys", settings=small | {"train.target_epochs": 1}, seeds=1, out=tmp_path / "out", device="cpu")
    root = ElementTree.parse(made.path.with_name("toys-part.svg")).getroot()
    titles = [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(title.startswith("mpower-simulated: evidence of the people") for title in titles)
