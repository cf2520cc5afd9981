from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from csad.data.samples import Classes, Dataset, Samples
from csad.data.validate import check_trainable
from csad.registry import DATASETS
from tests.support.messages import Refusal, refused

TOYS = ("toy-image", "toy-series", "toy-table")


def seen(dataset: Dataset, split: str) -> np.ndarray:
    """x as one flat row per sample."""
    return dataset.view(dataset.splits[split].x).flatten(1).numpy()


def measured(dataset: Dataset, split: str) -> np.ndarray:
    """What a linear model needs to read either label: means, and spread along rows, columns or frequencies."""
    x = dataset.view(dataset.splits[split].x).numpy()
    if x.ndim == 4:
        return np.concatenate([x.mean((2, 3)), x.mean((1, 2)).std(1)[:, None], x.mean((1, 3)).std(1)[:, None]], 1)
    return x if x.ndim == 2 else np.concatenate([x.mean(2), np.abs(np.fft.rfft(x)).sum(1)], 1)


@pytest.mark.parametrize("name", TOYS)
def test_a_toy_has_three_splits_and_fits_its_task(name: str) -> None:
    dataset = DATASETS[name]()
    sizes = {split: len(rows) for split, rows in dataset.splits.items()}
    assert sizes == {"train": 256, "validation": 64, "test": 128}
    assert dataset.task.name == name
    check_trainable(dataset, needs_bias=True)


def test_the_shapes_and_labels_are_as_described() -> None:
    image, series, table = (DATASETS[name]() for name in TOYS)
    assert (image.task.shape, series.task.shape, table.task.shape) == ((3, 8, 8), (2, 32), (8,))
    assert image.train.x.dtype == torch.uint8
    assert [bias.count for bias in table.task.biases if isinstance(bias, Classes)] == [2, 3]
    assert table.task.bias_names == ("group", "region")


@pytest.mark.parametrize("name", TOYS)
def test_target_and_bias_agree_in_training_and_nowhere_else(name: str) -> None:
    dataset = DATASETS[name](rows=4800)

    def follows(samples: Samples) -> list[float]:
        top = torch.tensor([bias.count - 1 for bias in dataset.task.biases])
        return (samples.b == samples.y[:, None] * top).double().mean(0).tolist()

    assert follows(dataset.train) == pytest.approx([0.95] * len(dataset.task.biases), abs=0.015)
    chance = [1 / bias.count for bias in dataset.task.biases]
    for split in ("validation", "test"):
        assert follows(dataset.splits[split]) == pytest.approx(chance, abs=1e-9)


@pytest.mark.parametrize("name", ["toy-image", "toy-table"])
def test_a_plain_model_leans_on_the_bias(name: str) -> None:
    dataset = DATASETS[name](rows=1024)
    y, b = dataset.splits["test"].y.numpy(), dataset.splits["test"].b[:, 0].numpy()
    train = seen(dataset, "train")
    model = LogisticRegression(max_iter=5000).fit(train, dataset.train.y.numpy())
    right = model.predict(seen(dataset, "test")) == y
    assert right[y == b].mean() - right[y != b].mean() > 0.1


@pytest.mark.parametrize("name", TOYS)
def test_both_labels_can_be_learned_where_they_do_not_agree(name: str) -> None:
    dataset = DATASETS[name](rows=1024, agreement=0.5)
    train, test = dataset.train, dataset.splits["test"]
    for labels, held in ((train.y, test.y), (train.b[:, 0], test.b[:, 0])):
        model = LogisticRegression(max_iter=5000).fit(measured(dataset, "train"), labels.numpy())
        assert model.score(measured(dataset, "test"), held.numpy()) > 0.9


@pytest.mark.parametrize("name", TOYS)
def test_a_seed_decides_everything(name: str) -> None:
    one, again, other = (DATASETS[name](seed=seed) for seed in (3, 3, 4))
    for split in one.splits:
        assert torch.equal(one.splits[split].x, again.splits[split].x)
        assert not torch.equal(one.splits[split].x, other.splits[split].x)


def test_full_agreement_leaves_no_row_that_disagrees() -> None:
    train = DATASETS["toy-image"](agreement=1.0).train
    assert torch.equal(train.y, train.b[:, 0])


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"agreement": 1.5}, Refusal("agreement-out-of-range", agreement=1.5)),
        ({"agreement": -0.1}, Refusal("agreement-out-of-range", agreement=-0.1)),
        ({"rows": 4}, Refusal("too-few-toy-rows", rows=4)),
    ],
)
def test_settings_out_of_range_are_input_errors(wrong: dict[str, float], complaint: Refusal) -> None:
    with refused(complaint):
        DATASETS["toy-table"](**wrong)
