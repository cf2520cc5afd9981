"""ResNet-18: its names, sizes and formulas by a separate transcription."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from csad.nets.backbones.resnet import ResidualBlock
from csad.nets.parts import Nets, Sizes
from csad.registry import BACKBONES
from csad.runs.settings import experiment, resolve
from tests.support.messages import Refusal, refused
from tests.support.nets_alike import SMALL, assert_same, drawn, lived, norms, resnet


def torchvisions_names() -> Iterator[str]:
    """The 122 names of torchvision's ResNet-18, by rule."""

    def norm(name: str) -> Iterator[str]:
        yield from (f"{name}.{of}" for of in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"))

    yield "conv1.weight"
    yield from norm("bn1")
    for layer in (1, 2, 3, 4):
        for block in (0, 1):
            for number in (1, 2):
                yield f"layer{layer}.{block}.conv{number}.weight"
                yield from norm(f"layer{layer}.{block}.bn{number}")
            if layer > 1 and block == 0:
                yield f"layer{layer}.0.downsample.0.weight"
                yield from norm(f"layer{layer}.0.downsample.1")
    yield from ("fc.weight", "fc.bias")


def test_its_names_are_torchvisions_in_torchvisions_order() -> None:
    wanted = list(torchvisions_names())
    assert len(wanted) == 122
    ours = list(resnet().state_dict())
    assert ours[:-2] == wanted[:-2]
    assert ours[-2:] == ["last.weight", "last.bias"]
    assert list(resnet(features=0).state_dict()) == wanted[:-2]


def test_it_has_as_many_weights_as_resnet_18_but_for_the_last_layer() -> None:
    bare = sum(weight.numel() for weight in resnet(features=0).parameters())
    assert bare + 512 * 1000 + 1000 == 11_689_512
    assert sum(weight.numel() for weight in resnet().parameters()) == bare + 512 * 256 + 256


@pytest.mark.parametrize(
    ("settings", "sides"), [({}, (16, 8, 8, 4, 2, 1)), ({"stem": "small"}, (32, 32, 32, 16, 8, 4))]
)
def test_each_group_of_blocks_halves_the_sides_and_doubles_the_width(
    settings: dict[str, Any], sides: tuple[int, ...]
) -> None:
    net = resnet(**settings)
    x = torch.zeros(2, *SMALL)
    seen = []
    with torch.no_grad():
        for name in ("conv1", "pool", "layer1", "layer2", "layer3", "layer4"):
            x = net.get_submodule(name)(x)
            seen.append(tuple(x.shape))
    widths = (64, 64, 64, 128, 256, 512)
    assert seen == [(2, width, side, side) for width, side in zip(widths, sides, strict=True)]


def test_photographs_of_224_pixels_end_as_seven_by_seven_maps() -> None:
    net = resnet((3, 224, 224)).eval()
    sizes = []
    net.layer4.register_forward_hook(lambda part, given, out: sizes.append(tuple(out.shape)))
    with torch.no_grad():
        assert net(torch.zeros(1, 3, 224, 224)).shape == (1, 256)
    assert sizes == [(1, 512, 7, 7)]


@pytest.mark.parametrize(("features", "width"), [(256, 256), (0, 512), (5, 5)])
def test_h_has_the_width_of_the_last_layer(features: int, width: int) -> None:
    settings = {"features": features}
    assert Nets(Sizes("resnet18", settings=settings), (1, 16, 24), 2, (2,)).features == width


# A separate transcription: convolutions as sums over windows, BatchNorm as printed, weights by name.


def convolved(x: Tensor, weight: Tensor, stride: int) -> Tensor:
    kernel = weight.shape[-1]
    padded = nn.functional.pad(x, (kernel // 2,) * 4)
    windows = padded.unfold(2, kernel, stride).unfold(3, kernel, stride)
    return torch.einsum("nchwij,fcij->nfhw", windows, weight)


def normed(x: Tensor, state: dict[str, Tensor], name: str, *, training: bool) -> Tensor:
    mean, var = (state[f"{name}.running_{of}"] for of in ("mean", "var"))
    if training:
        mean = x.mean((0, 2, 3))
        var = (x - mean[:, None, None]).square().mean((0, 2, 3))
    scale = state[f"{name}.weight"] / (var + 1e-5).sqrt()
    return (x - mean[:, None, None]) * scale[:, None, None] + state[f"{name}.bias"][:, None, None]


def slow_block(x: Tensor, state: dict[str, Tensor], name: str, stride: int, *, training: bool = False) -> Tensor:
    within = normed(convolved(x, state[f"{name}conv1.weight"], stride), state, f"{name}bn1", training=training)
    out = convolved(within.clamp(min=0), state[f"{name}conv2.weight"], 1)
    out = normed(out, state, f"{name}bn2", training=training)
    if f"{name}downsample.0.weight" in state:
        x = convolved(x, state[f"{name}downsample.0.weight"], stride)
        x = normed(x, state, f"{name}downsample.1", training=training)
    return (out + x).clamp(min=0)


def slow_resnet(x: Tensor, state: dict[str, Tensor]) -> Tensor:
    x = normed(convolved(x, state["conv1.weight"], 2), state, "bn1", training=False).clamp(min=0)
    # Zeros around are as good as −∞ here: after a ReLU nothing is below.
    x = nn.functional.pad(x, (1, 1, 1, 1)).unfold(2, 3, 2).unfold(3, 3, 2).amax((-2, -1))
    for layer in (1, 2, 3, 4):
        for block in (0, 1):
            x = slow_block(x, state, f"layer{layer}.{block}.", 2 if layer > 1 and block == 0 else 1)
    return (x.mean((2, 3)) @ state["last.weight"].T + state["last.bias"]).clamp(min=0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("channels", "width", "stride"), [(3, 4, 2), (4, 4, 1), (4, 4, 2), (2, 4, 1)])
def test_a_block_is_its_formula_in_value_and_in_gradients(
    channels: int, width: int, stride: int, training: bool
) -> None:
    block = lived(ResidualBlock(channels, width, stride).double()).train(training)
    x = drawn(2, channels, 7, 6).requires_grad_()
    weights = dict(block.named_parameters())
    theirs = slow_block(x, {**dict(block.named_buffers()), **weights}, "", stride, training=training)
    assert_same(block(x), theirs, (x, *weights.values()))


def test_the_whole_net_is_its_formula() -> None:
    net = lived(resnet(features=6).double()).eval()
    x = drawn(2, *SMALL)
    with torch.no_grad():
        ours, theirs = net(x), slow_resnet(x, net.state_dict())
    assert ours.max() > 0
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.gpu  # where torchvision comes with torch; it need not be asked for elsewhere
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False])
def test_the_whole_net_is_torchvisions(training: bool) -> None:
    try:
        from torchvision.models import resnet18
    except Exception as error:  # one that was made for another torch raises a RuntimeError
        pytest.skip(f"torchvision cannot be imported ({error})")
    theirs = lived(resnet18(weights=None, num_classes=256)).train(training)
    ours = resnet((3, 64, 64), last_relu=False).train(training)
    ours.load_state_dict({name.replace("fc.", "last."): value for name, value in theirs.state_dict().items()})
    x = drawn(4, 3, 64, 64, dtype=torch.float32)
    one, other = ours(x), theirs(x)
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5 * other.abs().max().item())
    for name, value in theirs.named_buffers():
        torch.testing.assert_close(ours.get_buffer(name), value, rtol=1e-5, atol=1e-5)
    slopes = zip(
        torch.autograd.grad(one.square().mean(), list(ours.parameters())),
        torch.autograd.grad(other.square().mean(), list(theirs.parameters())),
        strict=True,
    )
    for own, their in slopes:
        torch.testing.assert_close(own, their, rtol=1e-3, atol=1e-4 * (1e-6 + their.abs().max().item()))


def test_weights_begin_as_he_and_torchvision_have_them() -> None:
    torch.manual_seed(0)
    net = resnet()
    for name, layer in net.named_modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = layer.out_channels * layer.kernel_size[0] ** 2
            assert layer.weight.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=0.05), name
            assert layer.bias is None
    assert net.last.weight.std().item() == pytest.approx((2 / 512) ** 0.5, rel=0.02)
    assert torch.equal(net.last.bias, torch.zeros(256))
    for norm in norms(net).values():
        assert torch.equal(norm.weight, torch.ones_like(norm.weight))
        assert torch.equal(norm.bias, torch.zeros_like(norm.bias))


def test_h_is_not_negative_unless_the_last_relu_is_left_out() -> None:
    x = drawn(4, *SMALL, dtype=torch.float32)
    with torch.no_grad():
        assert resnet()(x).min() == 0
        assert resnet(last_relu=False)(x).min() < 0
        assert resnet(features=0, last_relu=False)(x).min() >= 0


@pytest.mark.parametrize("last_relu", [True, False])
def test_without_a_last_layer_h_is_the_mean_of_the_last_maps_and_nothing_bends_it(last_relu: bool) -> None:
    net = resnet(features=0, last_relu=last_relu).eval()
    # Maps that are not negative, as its own blocks give them, would pass a ReLU unseen: these are.
    net.layer4 = nn.Conv2d(256, 512, 1)
    maps: list[Tensor] = []
    net.layer4.register_forward_hook(lambda part, given, out: maps.append(out))
    with torch.no_grad():
        h = net(drawn(4, *SMALL, dtype=torch.float32))
    assert h.min() < 0
    assert torch.equal(h, maps[0].mean((2, 3)))


@pytest.mark.parametrize(
    ("shape", "settings", "words"),
    [
        ((32, 32), {}, Refusal("conv-input-shape", shape="(32, 32)")),
        (SMALL, {"features": -1}, Refusal("net-size-below-one", sizes="net.features = -1")),
        (SMALL, {"stem": "tiny"}, Refusal("unknown-stem", known="('large', 'small')", stem="tiny")),
        (
            SMALL,
            {"batch_norm": "off"},
            Refusal("unknown-batch-norm-policy", known="('auto', 'frozen', 'learns')", policy="off"),
        ),
    ],
)
def test_a_wrong_setting_is_an_input_error(shape: tuple[int, ...], settings: dict[str, Any], words: str) -> None:
    with refused(words):
        resnet(shape, **settings)


def test_its_settings_can_be_written_as_words() -> None:
    given = {"backbone": "resnet18", "net.features": "32", "last_relu": "false", "net.stem": "small"}
    plan = resolve("csad", None, experiment("kinds/image"), given)
    own = {"features": 32, "last_relu": False, "stem": "small", "weights": "", "batch_norm": "auto"}
    assert plan.sizes().settings == own
    assert "resnet18" in BACKBONES
