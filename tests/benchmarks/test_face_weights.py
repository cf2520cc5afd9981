"""The weights that are made of CelebA's attributes: who is told what, and that a backbone takes them."""

import sys

import pytest
import torch

from csad.nets.weights import read_weights
from csad.registry import BACKBONES
from tests.support.celeba_files import ATTRIBUTES, write_celeba
from tests.support.scripts import script


@pytest.fixture
def made(tmp_path, cache, monkeypatch, capsys):
    """Runs the program on a few small images; gives what it printed and where the weights are."""
    write_celeba(tmp_path / "celeba")
    program = script("benchmarks/face_weights.py")
    out = tmp_path / "runs" / "weights.safetensors"

    def run(batch=16, epochs=2):
        monkeypatch.setattr(program, "BATCH", batch)
        words = ("--data-root", tmp_path, "--out", out, "--size", 32, "--epochs", epochs, "--device", "cpu")
        monkeypatch.setattr(sys, "argv", ["face_weights.py", *map(str, words)])
        program.main()
        return capsys.readouterr().out, out

    return run


def test_a_backbone_takes_the_weights_and_they_have_moved(made):
    printed, out = made()
    assert "epoch 2/2: loss" in printed
    assert "of the commoner answers alone" in printed
    torch.manual_seed(0)
    fresh = BACKBONES["resnet18"]((3, 32, 32))
    taken = BACKBONES["resnet18"]((3, 32, 32), weights=str(out))
    weights = read_weights(str(out))
    assert torch.equal(taken.layer4[1].conv2.weight, weights["layer4.1.conv2.weight"])
    assert weights["bn1.num_batches_tracked"] == 2 * (60 // 16)
    assert not any(name.startswith(("fc", "last")) for name in weights)
    assert not torch.equal(fresh.conv1.weight, taken.conv1.weight)


def test_gender_and_age_are_told_in_neither_kind(tmp_path):
    program = script("benchmarks/face_weights.py")
    write_celeba(tmp_path / "celeba")
    others, plain = (program.told_of(kind, tmp_path) for kind in program.KINDS)
    assert set(others) == set(ATTRIBUTES) - {"Male", "Young"}
    assert set(plain) < set(others)
    assert not {"No_Beard", "Heavy_Makeup", "Gray_Hair", "Wearing_Necktie"} & set(plain)


def test_fewer_images_than_a_mini_batch_are_refused(made):
    with pytest.raises(SystemExit, match="At least 64 training images are wanted, and there are 60"):
        made(batch=64)
