"""Training sees rows varied, anew in each epoch, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

import torch

import csad
from csad.data.augment import Pictures
from csad.training.batches import OwnBatches, StackedBatches

CPU = torch.device("cpu")
ROWS = torch.arange(16)
SHORT = {"train.target_epochs": 2, "train.epochs": 1, "train.batch_size": 32}


def varied(make, **settings):
    dataset, method = make("toy-image", "vanilla", **settings)
    return replace(dataset, vary=Pictures(shift=2)), method


def test_rows_are_varied_anew_in_each_epoch_and_only_where_asked(make) -> None:
    dataset, method = varied(make)
    batches = OwnBatches(dataset, method.course, 0, CPU)
    plain = batches.take(ROWS).x
    assert torch.equal(plain, dataset.view(dataset.train.x[ROWS]))
    seen = []
    for stage, epoch in ((0, 0), (0, 1), (1, 0)):
        batches.begin(stage, epoch)
        seen.append(batches.take(ROWS, augmented=True).x)
        assert torch.equal(batches.take(ROWS).x, plain)
    assert not any(torch.equal(one, other) for k, one in enumerate([plain, *seen]) for other in [plain, *seen][:k])


def test_stacked_runs_see_what_each_would_see_alone(make) -> None:
    dataset, method = varied(make)
    plain = replace(dataset, vary=None)
    for datasets in ([dataset, dataset], [dataset, plain]):
        stacked = StackedBatches(datasets, method.course, [3, 4], CPU)
        stacked.begin(1, 2)
        x = stacked.take(ROWS.expand(2, -1), augmented=True).x
        for k, seed in enumerate((3, 4)):
            alone = OwnBatches(datasets[k], method.course, seed, CPU)
            alone.begin(1, 2)
            assert torch.equal(x[k], alone.take(ROWS, augmented=True).x)


def test_a_training_on_varied_rows_is_another_and_stays_the_same_by_seed() -> None:
    data = csad.from_arrays(*_pictures())
    moved = replace(data, vary=Pictures(shift=1))
    plain, one, again = (csad.train(given, "vanilla", settings=SHORT, device="cpu") for given in (data, moved, moved))
    weights = [list(run.method.parameters()) for run in (plain, one, again)]
    assert all(torch.equal(a, b) for a, b in zip(weights[1], weights[2], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights[0], weights[1], strict=True))
    assert plain.config["about"]["fingerprint"] != one.config["about"]["fingerprint"]
    assert one.config["about"]["fingerprint"] == again.config["about"]["fingerprint"]


def _pictures():
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (120, 3, 16, 16), generator=generator, dtype=torch.uint8)
    return x, torch.arange(120) % 2, torch.arange(120) // 2 % 2
