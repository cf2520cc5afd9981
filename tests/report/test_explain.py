"""What a run goes by, held against models whose weights are set by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import csad
from csad.data.own.from_files import from_table
from csad.data.samples import Classes, Number, Samples, Task
from csad.data.tables.read_table import read_table_file
from csad.report.explain import (
    attention,
    color_maps,
    column_blocks,
    column_importance,
    integrated_gradients,
    mean_attention,
    mean_row,
)
from csad.report.shown_data import disputed_rows, grid_of_pictures, raw_cells, shown_data
from csad.runs.run import data_of
from tests.support.own_data import PLAIN
from tests.support.people_tables import PEOPLE, write_people

WEIGHTS = torch.tensor([[0.0, 0.0, 0.0], [5.0, 0.0, 1.0]])


def linear_run(x: Any, y: Any) -> tuple[csad.Run, csad.Dataset]:
    """A run that says x · w, with the weights above."""
    dataset = csad.from_arrays(x, y, np.arange(len(y)) % 2, name="by hand", bias_names=["b"])
    plain = PLAIN | {"target_epochs": 1, "epochs": 0, "net.branch": 0, "net.head": ()}
    run = csad.train(dataset, "vanilla", settings=plain, backbone=nn.Flatten())
    last = [layer for layer in run.method.P_y.modules() if isinstance(layer, nn.Linear)][-1]
    with torch.no_grad():
        last.weight.copy_(WEIGHTS)
        last.bias.zero_()
    return replace(run, view=dataset.view), dataset


@pytest.fixture(scope="module")
def by_hand() -> tuple[csad.Run, csad.Dataset]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3)).astype(np.float32)
    return linear_run(x, (x[:, 0] > 0).astype(int))


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> csad.Run:
    path = write_people(tmp_path_factory.mktemp("people") / "people.csv")
    settings = {"data.target": "income", "data.bias": ("gender",), "data.drop": ("who", "family"), "data.split": "fold"}
    return csad.train(path, "vanilla", settings=PLAIN | settings)


def test_a_column_that_counts_for_nothing_is_worth_nothing_and_the_one_that_counts_most_is_worth_most(
    by_hand: tuple[csad.Run, csad.Dataset],
) -> None:
    run, dataset = by_hand
    found, repeats = column_importance(run, dataset.splits["test"])
    first, second, third = found
    assert repeats == 5
    assert [one.column for one in found] == ["column 1", "column 2", "column 3"]
    assert (second.mean, second.std, second.changed) == (0.0, 0.0, 0.0)
    assert first.mean == pytest.approx(0.45, abs=0.12)  # nearly all right, then as good as a coin
    assert first.changed is not None
    assert third.changed is not None
    assert first.changed > 0.3 > third.changed > 0
    again, _ = column_importance(run, dataset.splits["test"])
    assert again == found


def test_shuffling_a_raw_column_is_shuffling_all_that_it_became(people: csad.Run, tmp_path: Path) -> None:
    cities = PEOPLE["city"]
    order = np.random.default_rng(1).permutation(len(cities))
    plain = write_people(tmp_path / "plain.csv")
    dealt = write_people(tmp_path / "dealt.csv", {"city": [cities[k] for k in order]})
    assert people.preparation is not None
    before, after = (people.preparation.apply(read_table_file(path)) for path in (plain, dealt))  # type: ignore[union-attr]
    block = column_blocks(people, before.shape[1])["city"]
    assert block.stop - block.start >= 3
    expected = before.copy()
    expected[:, block] = before[order][:, block]
    np.testing.assert_array_equal(after, expected)


def test_the_cells_of_a_table_can_be_told_from_x(people: csad.Run, tmp_path: Path) -> None:
    table = read_table_file(write_people(tmp_path / "people.csv"))
    assert people.preparation is not None
    cells = raw_cells(people.preparation, torch.as_tensor(people.preparation.apply(table)))  # type: ignore[union-attr]
    assert cells["age"] == [f"{age}" for age in PEOPLE["age"]]
    known = [k for k, city in enumerate(PEOPLE["city"]) if city]
    assert [cells["city"][k] for k in known] == [PEOPLE["city"][k] for k in known]
    assert raw_cells(None, torch.tensor([[0.5, 2.0]])) == {"column 1": ["0.5"], "column 2": ["2"]}


@pytest.mark.parametrize("threshold", [0.5, 0.99])
def test_gradients_of_a_linear_model_are_its_weights_times_the_way_from_the_mean(
    by_hand: tuple[csad.Run, csad.Dataset], threshold: float
) -> None:
    run, dataset = replace(by_hand[0], threshold=threshold), by_hand[1]
    samples = dataset.splits["test"]
    middle = mean_row(samples)
    found = integrated_gradients(run, samples.x[:20], middle)
    said = torch.as_tensor(run.predict(samples.x[:20]))
    assert torch.equal(said, torch.as_tensor(by_hand[0].predict(samples.x[:20]))) == (threshold == 0.5)
    expected = (samples.x[:20] - middle) * WEIGHTS[said]
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("task", ["toy-image", "toy-series"])
def test_what_all_places_add_is_what_is_said_less_what_is_said_of_the_mean(task: str) -> None:
    run = csad.train(task, "vanilla", settings={"train.target_epochs": 2, "train.epochs": 0})
    dataset = data_of(run)
    samples = dataset.splits["test"]
    rows, middle = samples.x[:24], mean_row(samples)
    run = replace(run, view=dataset.view)
    with torch.no_grad():
        scores, start = (run.method.predict(run.view(x)) for x in (rows, middle[None]))
    said = scores.argmax(1)
    gained = (scores - start)[torch.arange(24), said].numpy()
    parts = integrated_gradients(run, rows, middle)
    assert parts.shape == tuple(rows.shape)
    np.testing.assert_allclose(parts.reshape(24, -1).sum(1), gained, atol=0.05 * np.abs(gained).max())
    maps, count = mean_attention({"one": run}, samples)
    assert count == len(samples)
    assert maps["one"].shape == (tuple(rows.shape[2:]) if task == "toy-image" else tuple(rows.shape[1:]))
    assert maps["one"].sum() == pytest.approx(1)


def test_a_row_of_which_nothing_adds_anything_has_no_attention() -> None:
    parts = np.zeros((2, 3, 2, 2))
    parts[1, :, 0, 1] = [-1.0, 2.0, 1.0]
    found = attention(parts)
    np.testing.assert_array_equal(found[0], 0)
    np.testing.assert_array_equal(found[1], [[0, 1], [0, 0]])


def test_rows_that_the_runs_disagree_on_come_first_and_classes_take_turns() -> None:
    y = np.array([0, 0, 0, 1, 1, 1])
    one, other = np.array([0, 0, 0, 0, 0, 0]), np.array([0, 0, 1, 0, 1, 1])
    assert disputed_rows([one, other], y, 5).tolist() == [2, 4, 5, 0, 1]


def test_pictures_are_shown_with_what_is_looked_at_and_tables_with_their_raw_cells(people: csad.Run) -> None:
    run = csad.train("toy-image", "vanilla", settings={"train.target_epochs": 1, "train.epochs": 0})
    dataset = data_of(run)
    shown = shown_data({"one": run}, dataset, "test", [])
    assert list(shown.pictures) == ["the pictures", "attention of one"]
    assert shown.pictures["attention of one"].shape == (8, 8, 8, 3)
    own = from_table(people.config["task"], target="income", bias="gender", drop=("who", "family"), split="fold")
    shown = shown_data({"one": people}, own, "test", ["hours", "age"])
    assert shown.head == ["row of test", "target", "prediction of one", "gender", "hours", "age"]
    tests = [k for k, fold in enumerate(PEOPLE["fold"]) if fold == "test"]
    for row in shown.rows:
        k = tests[int(row[0]) - 1]
        assert (row[1], row[3], row[5]) == (PEOPLE["income"][k], PEOPLE["gender"][k], str(PEOPLE["age"][k]))


def test_a_number_is_shown_as_it_stands_in_the_table(tmp_path: Path) -> None:
    path = write_people(tmp_path / "people.csv", {"hours": [30.5 + 10 * (k % 2) + k / 7 for k in range(80)]})
    roles = {"target": "hours", "bias": ("gender",), "drop": ("who", "family"), "split": "fold"}
    run = csad.train(path, "vanilla", settings=PLAIN | {f"data.{name}": value for name, value in roles.items()})
    own = from_table(path, target="hours", bias="gender", drop=("who", "family"), split="fold")
    shown = shown_data({"one": run}, own, "test", ["age"])
    tests = [k for k, fold in enumerate(PEOPLE["fold"]) if fold == "test"]
    for row in shown.rows:
        k = tests[int(row[0]) - 1]
        assert float(row[1]) == pytest.approx(30.5 + 10 * (k % 2) + k / 7, abs=1e-3)
        assert 20 < float(row[2]) < 60
    worth, _ = column_importance(run, own.splits["test"])
    assert [one.changed for one in worth] == [None] * len(worth)


def pictures(targets: list[int], colors: list[int], *, size: int = 8) -> csad.Dataset:
    """Each color in one flat tone on black; the same rows to train and to test."""
    tones = np.array([[200, 10, 10], [10, 10, 200]], np.uint8)
    x = np.zeros((len(colors), 3, size, size), np.uint8)
    x[:, :, 1:] = tones[colors][:, :, None, None]
    task = Task("flat", (3, size, size), Classes(2, ("round", "square")), (Classes(2),), ("color",))
    samples = Samples(x, targets, colors, {"color": np.array(colors)})
    return csad.Dataset(task, {"train": samples, "test": samples})


class Constant:
    """A model that says one class of every picture."""

    def predict(self, x: torch.Tensor) -> np.ndarray:
        return np.zeros(len(x), np.int64)


def test_a_grid_has_the_first_pictures_of_each_target_in_its_columns() -> None:
    dataset = pictures([0, 1] * 12, [0, 1] * 12, size=200)
    grid = grid_of_pictures(dataset, "train")
    assert grid is not None
    assert (grid.columns, grid.names) == (8, ["round", "square"])  # four columns each
    assert grid.pictures.shape == (24, 67, 67, 3)  # every third pixel: no more than 96 across
    tones = grid.pictures[:, 40, 40].reshape(3, 2, 4, 3)
    assert (tones[:, 0] == [200, 10, 10]).all()
    assert (tones[:, 1] == [10, 10, 200]).all()
    assert grid_of_pictures(pictures([0, 1], [0, 1]), "train") is None  # too few to fill a line


def test_a_grid_of_a_target_that_is_a_number_goes_from_the_smallest_to_the_largest() -> None:
    dataset = pictures([0, 1] * 12, [0, 1] * 12)
    ages = np.arange(24.0)[::-1].copy()
    samples = Samples(dataset.train.x, ages, dataset.train.b)
    task = Task("ages", (3, 8, 8), Number(), (Classes(2),), ("color",))
    grid = grid_of_pictures(csad.Dataset(task, {"train": samples}), "train")
    assert grid is not None
    assert (len(grid.pictures), grid.columns) == (24, 8)
    assert list(grid.names)[::7] == ["0 to 2", "21 to 23"]


def test_a_grid_of_digits_has_a_column_for_each() -> None:
    dataset = csad.registry.DATASETS["digits"]()
    grid = grid_of_pictures(dataset, "test")
    assert grid is not None
    assert (len(grid.pictures), grid.columns) == (30, 10)
    first = [int(np.flatnonzero(dataset.splits["test"].y.numpy() == digit)[0]) for digit in range(10)]
    expected = dataset.splits["test"].x.numpy()[first].transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(grid.pictures[:10], expected)


def test_a_color_map_has_the_accuracy_of_each_color_and_target_and_the_tone_of_each_color() -> None:
    maps = color_maps({"one": Constant()}, pictures([0, 1, 0, 1], [0, 1, 0, 1]), "test")  # type: ignore[dict-item]
    assert maps is not None
    assert maps.cells == {"one": [[1.0, None], [None, 0.0]]}
    assert maps.swatches == [(200, 10, 10), (10, 10, 200)]
    assert maps.paired
    apart = color_maps({"one": Constant()}, pictures([0, 1, 1, 1], [1, 0, 0, 1]), "test")  # type: ignore[dict-item]
    assert apart is not None
    assert not apart.paired  # a color does not belong to a target


def test_rows_that_tell_no_color_have_no_color_map() -> None:
    dataset = pictures([0, 1], [0, 1])
    plain = {name: Samples(part.x, part.y, part.b) for name, part in dataset.splits.items()}
    assert color_maps({}, csad.Dataset(dataset.task, plain), "test") is None
