"""The figures of a run, split by split: what they are made of, and what copies of a split are for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import csad
from csad.auditing.metrics.all_metrics import all_metrics
from csad.auditing.metrics.classification import in_true_order
from tests.support.messages import refused
from tests.support.own_data import DATASET, PLAIN, B, X, Y

CODES = np.unique(Y, return_inverse=True)[1]


@pytest.fixture(scope="module")
def run() -> csad.Run:
    return csad.train(DATASET, "vanilla", settings=PLAIN)


def labelled(y: Any, b: Any, *biases: csad.Classes | csad.Number, **more: Any) -> csad.Dataset:
    """A data set of X with one split, called test, and biases called b0, b1, …"""
    names = tuple(f"b{k}" for k in range(len(biases)))
    task = csad.Task("labelled", (4,), csad.Classes(3), biases, names)
    return csad.Dataset(task, {"test": csad.Samples(X, y, b)}, **more)


def with_copies(dataset: csad.Dataset, split: str, **shifts: float) -> csad.Dataset:
    """The data set with copies of a split in which the column that tells of y is shifted."""
    base = dataset.splits[split]
    columns = torch.tensor([1.0, 0, 0, 0])
    copies = {f"{split}:{n}": csad.Samples(base.x + by * columns, base.y, base.b) for n, by in shifts.items()}
    return replace(dataset, splits={**dataset.splits, **copies})


def test_figures_are_of_predictions_probabilities_and_biases(run: csad.Run) -> None:
    test = DATASET.splits["test"]
    biases = {"sex": test.b[:, 0].numpy()}
    probabilities = run.predict_proba(test.x)
    expected = all_metrics(run.predict(test.x), test.y.numpy(), probabilities=probabilities, biases=biases)
    assert csad.evaluate(run, DATASET)["test"] == expected
    assert {"accuracy", "worst_group", "auc", "ece", "gap_sex_rms", "equalized_odds_sex"} <= expected.keys()


def test_a_view_that_changes_what_it_is_given_leaves_the_data_alone(run: csad.Run) -> None:
    tripled = replace(DATASET, view=lambda x: x.mul_(3.0))
    before = {name: samples.x.clone() for name, samples in DATASET.splits.items()}
    assert csad.evaluate(run, tripled) == csad.evaluate(run, tripled)
    assert all(torch.equal(DATASET.splits[name].x, x) for name, x in before.items())


def test_the_net_sees_every_row_once(run: csad.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, predict = [], run.method.predict

    def counted(x: torch.Tensor) -> torch.Tensor:
        seen.append(len(x))
        return predict(x)

    monkeypatch.setattr(run.method, "predict", counted)
    csad.evaluate(run, DATASET)
    assert sum(seen) == len(X)


def test_the_attributes_are_those_that_the_data_set_names(run: csad.Run) -> None:
    site = np.arange(120) % 3
    found = csad.evaluate(run, labelled(CODES, np.column_stack([B, site]), csad.Classes(2), csad.Classes(3)))["test"]
    assert {"gap_b0_rms", "gap_b1_rms"} <= found.keys()
    assert not any("sex" in name for name in found)
    one = csad.evaluate(run, labelled(CODES, B, csad.Classes(2)))["test"]
    assert found["gap_b0_rms"] == one["gap_b0_rms"]
    assert found["worst_group"] <= one["worst_group"]


def test_beside_a_bias_that_is_a_number_classes_are_read_as_such(run: csad.Run) -> None:
    sex, age = np.where(np.arange(120) % 7 == 0, -1, B), X[:, 1].astype(float)
    whole = csad.evaluate(run, labelled(CODES, sex, csad.Classes(2)))["test"]
    b = np.column_stack([np.where(sex < 0, np.nan, sex), np.where(np.arange(120) % 3 == 0, np.nan, age)])
    assert csad.evaluate(run, labelled(CODES.astype(float), b, csad.Classes(2), csad.Number()))["test"] == whole


def test_a_bias_with_one_known_group_has_no_figures(run: csad.Run) -> None:
    found = csad.evaluate(run, labelled(CODES, np.full(120, -1), csad.Classes(2)))["test"]
    recalls = {f"recall_{k}" for k in range(3)}
    assert found.keys() == {"accuracy", "balanced_accuracy", "auc", "ap", "ece", "f1"} | recalls


def test_copies_have_no_figures_but_give_their_split_the_share_on_which_they_agree(run: csad.Run) -> None:
    copied = with_copies(DATASET, "test", low=-1.5, high=1.5, same=1.5)
    dataset = replace(copied, consistency={"shift_consistency": ("low", "high"), "same_consistency": ("high", "same")})
    found = csad.evaluate(run, dataset)
    plain = csad.evaluate(run, DATASET)
    low, high = (run.predict(dataset.splits[f"test:{name}"].x) for name in ("low", "high"))
    agreed = sum(int(a == b) for a, b in zip(low, high, strict=True)) / len(low)
    assert 0 < agreed < 1
    both = {"shift_consistency": agreed, "same_consistency": 1.0}
    assert found == {**plain, "test": plain["test"] | both}
    assert list(found) == ["train", "validation", "test"]
    assert next(iter(found["test"])) == "accuracy"


def test_a_split_without_all_its_copies_has_no_such_figure(run: csad.Run) -> None:
    copied = with_copies(with_copies(DATASET, "test", low=-1.5, high=1.5), "validation", low=-1.5)
    names = {"shift_consistency": ("low", "high"), "other_consistency": ("low", "other"), "empty": ()}
    found = csad.evaluate(run, replace(copied, consistency=names))
    assert [split for split, values in found.items() if "shift_consistency" in values] == ["test"]
    assert not any({"other_consistency", "empty"} & values.keys() for values in found.values())


def test_copies_are_seen_through_the_data_sets_own_view(run: csad.Run) -> None:
    copied = with_copies(DATASET, "test", low=-1.5, high=1.5)
    dataset = replace(copied, consistency={"shift_consistency": ("low", "high")}, view=lambda x: 0 * x)
    assert csad.evaluate(run, dataset)["test"]["shift_consistency"] == 1.0


def test_copies_of_other_lengths_are_an_input_error(run: csad.Run) -> None:
    copied = with_copies(DATASET, "test", low=-1.5)
    splits = {**copied.splits, "test:high": DATASET.splits["train"]}
    dataset = replace(copied, splits=splits, consistency={"shift_consistency": ("low", "high")})
    with refused("copies-unequal-length"):
        csad.evaluate(run, dataset)


def test_a_copy_cannot_be_probed(run: csad.Run) -> None:
    with refused("misspelled-name", kind="split", name="test:low", nearest="test"):
        csad.evaluate(run, with_copies(DATASET, "test", low=-1.5), probed=["test:low"])


def test_a_run_on_data_with_copies_is_trained_and_keeps_their_figures() -> None:
    copied = with_copies(DATASET, "test", low=-1.5, high=1.5)
    dataset = replace(copied, consistency={"shift_consistency": ("low", "high")})
    run = csad.train(dataset, "vanilla", settings=PLAIN)
    assert list(run.result["metrics"]) == ["train", "validation", "test"]
    assert run.result["metrics"] == csad.evaluate(run, dataset)
    assert "shift_consistency" in run.result["metrics"]["test"]


def test_a_target_that_is_a_number_has_its_error_and_nothing_else() -> None:
    task = csad.Task("number", (4,), csad.Number(), (csad.Classes(2),), ("sex",))
    rows = csad.Samples(X, 3 * X[:, 0], B)
    dataset = csad.Dataset(task, {"train": rows, "train:low": rows, "train:high": rows})
    dataset = replace(dataset, consistency={"shift_consistency": ("low", "high")})
    run = csad.train(dataset, "vanilla", settings=PLAIN)
    error = float(np.mean((run.predict(X) - 3 * X[:, 0]) ** 2))
    assert csad.evaluate(run, dataset) == {"train": {"mean_squared_error": error}}


def test_where_the_truth_is_known_a_run_of_two_classes_is_held_against_its_order() -> None:
    task = csad.Task("known", (4,), csad.Classes(2), (csad.Classes(2),), ("sex",))
    truth = X[:, 0] - X[:, 1]
    rows = {"train": csad.Samples(X, truth > 0, B), "test": csad.Samples(X, truth > 0, B, {"evidence": truth})}
    dataset = csad.Dataset(task, rows)
    run = csad.train(dataset, "vanilla", settings=PLAIN)
    found = csad.evaluate(run, dataset)
    logits = run.outputs(X).numpy()
    assert found["test"]["in_true_order"] == in_true_order(logits[:, 1] - logits[:, 0], truth)
    assert 0.6 < found["test"]["in_true_order"] < 1
    assert "in_true_order" not in found["train"]
    three = replace(dataset, task=replace(task, target=csad.Classes(3)))
    assert "in_true_order" not in csad.evaluate(csad.train(three, "vanilla", settings=PLAIN), three)["test"]
