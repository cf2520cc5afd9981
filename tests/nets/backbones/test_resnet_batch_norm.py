"""ResNet-18's BatchNorm: it learns, or it rests; from weights of a file; alone and stacked."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from csad.data.datasets.toys import toy_image
from csad.sweeps.train import train
from csad.training.stacking import Alone, why_not_stacked
from tests.support.nets_alike import SMALL, drawn, lived, norms, resnet, with_classes
from tests.support.stacking import apart, assert_like_single, planned, stacked

SHORT = {"target_epochs": 1, "bias_epochs": 1, "estimator_epochs": 1, "epochs": 1}


def learns(net: Any) -> bool:
    """Whether a mini-batch in train mode leaves its mark on every statistic, and every scale may move."""
    before = {name: norm.running_mean.clone() for name, norm in norms(net).items()}
    with torch.no_grad():
        net.train()(drawn(2, *SMALL, dtype=torch.float32))
    marked = {not torch.equal(norm.running_mean, before[name]) for name, norm in norms(net).items()}
    movable = {norm.weight.requires_grad and norm.bias.requires_grad for norm in norms(net).values()}
    assert len(marked) == 1
    assert marked == movable == {norm.training for norm in norms(net).values()}
    return marked.pop()


def test_batch_norm_learns_until_it_is_put_to_rest_and_no_longer() -> None:
    net = resnet()
    assert learns(net)
    assert net.freeze()
    assert not learns(net)
    assert not net.freeze()
    assert not learns(copy.deepcopy(net))
    assert net.training
    assert all(weight.requires_grad for name, weight in net.named_parameters() if "conv" in name or "last" in name)


@pytest.mark.parametrize(("policy", "at_first"), [("learns", True), ("frozen", False)])
def test_batch_norm_learns_always_or_never_where_that_is_asked_for(policy: str, at_first: bool) -> None:
    net = resnet(batch_norm=policy)
    assert learns(net) is at_first
    assert not net.freeze()
    assert learns(net) is at_first


def test_at_rest_a_mini_batch_is_encoded_row_by_row() -> None:
    net = resnet().double()
    net(drawn(4, *SMALL))
    net.freeze()
    x = drawn(3, *SMALL, seed=1)
    with torch.no_grad():
        torch.testing.assert_close(net.train()(x)[:2], net.eval()(x[:2]))


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as torchvision's weights are, from a net of our own."""
    torch.manual_seed(4)
    return with_classes(lived(resnet(features=0)), "fc", 512, tmp_path_factory.mktemp("weights") / "imagenet.pth")


@pytest.mark.parametrize(("policy", "learning"), [("auto", False), ("frozen", False), ("learns", True)])
def test_with_weights_from_a_file_batch_norm_is_frozen_unless_told_to_learn(
    imagenet: Path, policy: str, learning: bool
) -> None:
    net = resnet(weights=str(imagenet), batch_norm=policy)
    assert not net.freeze()
    assert learns(net) is learning


def test_with_weights_from_a_file_pixels_are_on_imagenets_scale(imagenet: Path) -> None:
    plain, taken = resnet(), resnet(weights=str(imagenet))
    x = torch.rand(2, 3, 32, 32) * 2 - 1
    assert plain.pixels(x) is x
    shown = taken.pixels(x)
    # By hand: a pixel of 0 in −1 … 1 is .5, which is (.5 − .485) / .229 of red.
    assert float(taken.pixels(torch.zeros(1, 3, 32, 32))[0, 0, 0, 0]) == pytest.approx(0.015 / 0.229)
    assert torch.allclose(shown[:, 2], ((x[:, 2] + 1) / 2 - 0.406) / 0.225)
    assert not any(name.startswith("pixels") for name in taken.state_dict())


def test_training_from_a_file_of_weights_moves_all_but_batch_norm(imagenet: Path) -> None:
    settings = {**SHORT, "backbone": "resnet18", "weights": str(imagenet)}
    F = train(toy_image(rows=16), "csad", settings=settings, device="cpu").method.F.state_dict()
    for name, value in torch.load(imagenet, weights_only=True).items():
        if not name.startswith("fc."):
            assert torch.equal(F[name], value) is ("bn" in name or "downsample.1" in name), name


@pytest.mark.parametrize("policy", ["auto", "frozen"])
def test_runs_can_be_stacked_whether_batch_norm_learns_or_rests(policy: str) -> None:
    _, method = planned(toy_image(rows=16), "vanilla", net__backbone="resnet18", net__batch_norm=policy)
    before = copy.deepcopy(method.F.state_dict())
    assert why_not_stacked(method) == ""
    assert all(torch.equal(value, before[name]) for name, value in method.F.state_dict().items())
    moving = Alone(method).weights("F")
    assert ("bn1.weight" in moving) is (policy == "auto")
    assert "layer1.0.conv1.weight" in moving


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("policy", ["learns", "frozen"])
def test_stacked_runs_are_what_they_are_alone(heard: Any, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csad.nets.backbones.resnet.WIDTHS", (4, 4, 6, 8))  # else it takes half a minute

    def pairs() -> list[Any]:
        settings = {"net__backbone": "resnet18", "net__batch_norm": policy, "train__epochs": 1}
        return [planned(toy_image(rows=16, seed=seed), "vanilla", seed, **settings) for seed in (1, 2)]

    training = stacked(pairs(), heard, [1, 2])
    assert apart(training)
    assert_like_single(training, pairs(), heard, [1, 2])
