"""The benchmark of photographs times the same work on both sides, and writes what it prints."""

import json
import sys
from dataclasses import replace

import pytest
import torch

from csad.data.samples import Samples
from csad.methods.method import Encoded
from tests.support.scripts import script

CPU = torch.device("cpu")
ROWS = torch.arange(8)


@pytest.fixture
def images():
    return script("benchmarks/images.py")


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_the_plain_loop_computes_what_vanilla_computes(images, precision):
    dataset = images.made_up_photos(16, 32)
    rows = dataset.train
    # Pictures that are their own mirror image: which of them are flipped then changes nothing.
    mirrored = torch.cat([rows.x[..., :16], rows.x[..., :16].flip(-1)], -1)
    dataset = replace(dataset, splits={"train": Samples(mirrored, rows.y, rows.b)})
    plain = images.Plain(dataset, 8, CPU, precision)
    method = images.made_method(dataset.task, "vanilla", 8, precision)
    batches = images.OwnBatches(dataset, method.course, 0, CPU)
    batch = batches.take(ROWS, augmented=True)
    loss = method.target_loss(Encoded(method.train().encode(batch), batch.y, batch.b, batch.rows))
    assert plain.iteration(ROWS).item() == pytest.approx(loss.item(), rel=1e-5 if precision == "float32" else 0.02)
    assert plain.iteration(ROWS).item() < loss.item()


def test_it_writes_what_it_prints(images, tmp_path, monkeypatch, capsys):
    words = "--device cpu --size 16 --batch 4 --images 8 --jpegs 20 --seconds 0.01 --precision float32 --json"
    monkeypatch.setattr(sys, "argv", ["images.py", *words.split(), str(tmp_path / "images.json")])
    images.main()
    shown, found = capsys.readouterr().out, json.loads((tmp_path / "images.json").read_text())
    assert list(found["lines"]) == ["plain loop", "vanilla, eager", "csad, eager"]
    lines = found["lines"]
    assert found["ratios"]["csad_epoch_beside_vanilla"] == pytest.approx(
        lines["csad, eager"]["epoch"] / lines["vanilla, eager"]["epoch"]
    )
    assert found["ratios"]["vanilla_beside_plain"] == pytest.approx(
        lines["vanilla, eager"]["images_per_second"] / lines["plain loop"]["images_per_second"]
    )
    assert found["decoding"]["images"] == 20
    assert "an epoch of CSAD beside one of vanilla" in shown
    assert f"{found['ratios']['csad_epoch_beside_vanilla']:.2f} (aim ≤ 2.5" in shown
