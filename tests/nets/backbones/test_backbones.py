"""The feature extractors: shapes and weights by hand, and what each refuses."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from csad.nets.layers import FromPixels
from csad.nets.parts import make_backbone
from csad.registry import BACKBONES
from tests.support.messages import Refusal, refused


def weights(name: str, shape: tuple[int, ...], **settings: Any) -> int:
    return sum(weight.numel() for weight in make_backbone(name, shape, settings).parameters())


def test_the_papers_net_turns_28_pixels_into_1024_features() -> None:
    F = make_backbone("conv", (3, 28, 28), {})
    # 28 - 4 = 24, halved 12; 12 - 4 = 8, halved 4: 64 maps of 4 x 4.
    assert F(torch.zeros(2, 3, 28, 28)).shape == (2, 64 * 4 * 4)


def test_the_papers_net_has_two_convolutions_of_64_filters() -> None:
    assert weights("conv", (3, 28, 28)) == (3 * 64 * 25 + 64) + (64 * 64 * 25 + 64)


def test_the_smallest_image_for_the_papers_net_gives_one_pixel_per_map() -> None:
    # 16 - 4 = 12, halved 6; 6 - 4 = 2, halved 1.
    assert make_backbone("conv", (1, 16, 20), {})(torch.zeros(1, 1, 16, 20)).shape == (1, 64 * 1 * 2)
    with refused("images-too-small-for-conv", least=16, sides="[20, 15]"):
        make_backbone("conv", (1, 20, 15), {})


def test_the_smallest_image_follows_from_the_kernel() -> None:
    assert make_backbone("conv", (1, 10, 10), {"kernel": 3})(torch.zeros(1, 1, 10, 10)).shape == (1, 64)
    with refused("images-too-small-for-conv", least=10):
        make_backbone("conv", (1, 9, 9), {"kernel": 3})


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.double, requires_grad=True)


def assert_near(ours: tuple[Tensor, ...], theirs: tuple[Tensor, ...]) -> None:
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, other, rtol=0, atol=1e-12 * (1 + other.abs().max().item()))


@pytest.mark.parametrize(("channels", "kernel", "sides"), [(3, 5, (28, 28)), (1, 1, (4, 6)), (2, 3, (3, 7))])
def test_a_convolution_from_pixels_is_torchs_in_value_and_in_gradients(
    channels: int, kernel: int, sides: tuple[int, int]
) -> None:
    layer = FromPixels(channels, 6, kernel).double()
    x = drawn(4, channels, *sides)
    ours, theirs = layer(x), nn.functional.conv2d(x, layer.weight, layer.bias)
    assert_near((ours,), (theirs,))
    inputs, slope = (x, layer.weight, layer.bias), drawn(*theirs.shape, seed=1).detach()
    assert_near(torch.autograd.grad(ours, inputs, slope), torch.autograd.grad(theirs, inputs, slope))


def test_a_convolution_from_pixels_of_many_runs_is_torchs_of_each() -> None:
    layer, runs = FromPixels(3, 6, 5).double(), 3
    x, weight, bias = drawn(runs, 4, 3, 12, 12), drawn(runs, 6, 3, 5, 5, seed=1), drawn(runs, 6, seed=2)
    slope = drawn(runs, 4, 6, 8, 8, seed=3).detach()
    ours = vmap(lambda w, b, x: functional_call(layer, {"weight": w, "bias": b}, (x,)))(weight, bias, x)
    theirs = torch.stack([nn.functional.conv2d(x[k], weight[k], bias[k]) for k in range(runs)])
    assert_near((ours,), (theirs,))
    inputs = (x, weight, bias)
    assert_near(torch.autograd.grad(ours, inputs, slope), torch.autograd.grad(theirs, inputs, slope))


def test_in_the_papers_net_pooling_before_relu_is_relu_before_pooling() -> None:
    F = make_backbone("conv", (3, 28, 28), {"filters": 8}).double()
    first, second = F[0], F[3]
    assert [type(layer) for layer in (F[1], F[2], F[4], F[5])] == [nn.MaxPool2d, nn.ReLU] * 2
    as_printed = nn.Sequential(first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    x = drawn(3, 3, 28, 28)
    ours, theirs = F(x), as_printed(x)
    assert torch.equal(ours, theirs)
    assert (ours == 0).any()
    inputs, slope = (x, *F.parameters()), drawn(*theirs.shape, seed=1).detach()
    assert_near(torch.autograd.grad(ours, inputs, slope), torch.autograd.grad(theirs, inputs, slope))


def test_the_small_net_halves_the_sides_once() -> None:
    assert make_backbone("small-conv", (3, 8, 8), {})(torch.zeros(2, 3, 8, 8)).shape == (2, 32 * 4 * 4)
    assert weights("small-conv", (3, 8, 8), filters=4) == (3 * 4 * 9 + 4) + (4 * 4 * 9 + 4)


def test_a_dense_net_takes_rows_of_any_shape_as_one_row() -> None:
    F = make_backbone("mlp", (2, 3), {"hidden": (5, 4)})
    assert F(torch.zeros(7, 2, 3)).shape == (7, 4)
    assert weights("mlp", (2, 3), hidden=(5, 4)) == (6 * 5 + 5) + (5 * 4 + 4)


def test_a_dense_net_ends_with_a_relu() -> None:
    F = make_backbone("mlp", (3,), {"hidden": (16,)})
    h = F(torch.randn(40, 3, generator=torch.Generator().manual_seed(0)))
    assert h.min() == 0
    assert h.max() > 0


def test_a_dense_net_without_layers_gives_x_itself() -> None:
    x = torch.arange(6.0).reshape(1, 2, 3)
    assert torch.equal(make_backbone("mlp", (2, 3), {"hidden": ()})(x), x.flatten(1))


def test_a_temporal_net_gives_one_row_per_series_of_any_length() -> None:
    F = make_backbone("tcn", (2, 32), {})
    assert F(torch.zeros(3, 2, 32)).shape == (3, 64)
    assert F(torch.zeros(3, 2, 50)).shape == (3, 64)


def test_a_temporal_net_has_six_convolutions_and_a_skip_where_the_width_changes() -> None:
    first = (2 * 64 * 5 + 64) + (2 * 64 + 64)
    assert weights("tcn", (2, 32)) == first + 5 * (64 * 64 * 5 + 64)
    assert weights("tcn", (64, 32), layers=1) == 64 * 64 * 5 + 64


@pytest.mark.parametrize("time", [0, 1, 17, 39])
def test_a_temporal_net_at_time_t_does_not_see_what_comes_later(time: int) -> None:
    layers = make_backbone("tcn", (2, 40), {"filters": 8})[:-2]
    x = torch.randn(3, 2, 40, generator=torch.Generator().manual_seed(0))
    later = x.clone()
    later[..., time + 1 :] += 100
    now = x.clone()
    now[..., time] += 100
    assert layers(x).shape == (3, 8, 40)
    assert torch.equal(layers(x)[..., : time + 1], layers(later)[..., : time + 1])
    assert not torch.equal(layers(x)[..., time], layers(now)[..., time])


def test_a_temporal_net_sees_as_far_back_as_its_dilations_reach() -> None:
    layers = make_backbone("tcn", (1, 40), {"layers": 3, "filters": 8, "kernel": 3})[:-2]
    x = torch.randn(1, 1, 40, generator=torch.Generator().manual_seed(0))
    reach = (3 - 1) * (1 + 2 + 4)
    seen = torch.autograd.functional.jacobian(lambda x: layers(x)[0, :, -1], x).abs().sum((0, 1, 2))
    assert torch.nonzero(seen).min() == 39 - reach


# A separate transcription: number by number, as printed, weights by name.


def slow_layer(x: Tensor, state: dict[str, Tensor], name: str, dilation: int) -> Tensor:
    """relu(Σ over taps and channels + bias + skip): the skip is x itself, or a convolution of one tap."""
    weight, bias = state[f"{name}layer.1.weight"], state[f"{name}layer.1.bias"]
    filters, channels, kernel = weight.shape
    skip = state.get(f"{name}skip.weight")
    series = []
    for own in x:
        found = []
        for f in range(filters):
            for t in range(own.shape[1]):
                total = bias[f]
                for c in range(channels):
                    for tap in range(kernel):
                        ago = (kernel - 1 - tap) * dilation  # the last tap is now
                        if ago <= t:
                            total = total + weight[f, c, tap] * own[c, t - ago]
                    if skip is not None:
                        total = total + skip[f, c, 0] * own[c, t]
                total = total + (own[f, t] if skip is None else state[f"{name}skip.bias"][f])
                found.append(total.clamp(min=0))
        series.append(torch.stack(found).reshape(filters, -1))
    return torch.stack(series)


@pytest.mark.parametrize(("channels", "layers", "kernel"), [(2, 1, 3), (3, 1, 2), (3, 3, 2), (1, 2, 1)])
def test_a_temporal_net_is_its_formula_with_its_skips_in_value_and_in_gradients(
    channels: int, layers: int, kernel: int
) -> None:
    F = make_backbone("tcn", (channels, 7), {"layers": layers, "filters": 3, "kernel": kernel}).double()
    x = drawn(2, channels, 7)
    state = dict(F.named_parameters())
    theirs: Tensor = x
    for k in range(layers):
        theirs = slow_layer(theirs, state, f"{k}.", 2**k)
    ours, theirs = F(x), theirs.mean(-1)
    assert_near((ours,), (theirs,))
    inputs, slope = (x, *state.values()), drawn(*theirs.shape, seed=1).detach()
    assert_near(torch.autograd.grad(ours, inputs, slope), torch.autograd.grad(theirs, inputs, slope))


def test_a_temporal_net_averages_over_time() -> None:
    F = make_backbone("tcn", (2, 40), {"filters": 8})
    x = torch.randn(3, 2, 40, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(F(x), F[:-2](x).mean(-1), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("conv", (28, 28), Refusal("conv-input-shape", shape="(28, 28)")),
        ("small-conv", (8,), Refusal("conv-input-shape", shape="(8,)")),
        ("tcn", (8,), Refusal("tcn-input-shape", shape="(8,)")),
        ("tcn", (3, 8, 8), Refusal("tcn-input-shape", shape="(3, 8, 8)")),
    ],
)
def test_x_of_another_kind_is_an_input_error(name: str, shape: tuple[int, ...], words: str) -> None:
    with refused(words):
        make_backbone(name, shape, {})


@pytest.mark.parametrize(
    ("name", "shape", "settings"),
    [
        ("conv", (3, 28, 28), {"filters": -1}),
        ("conv", (3, 28, 28), {"kernel": 0}),
        ("small-conv", (3, 8, 8), {"filters": 0}),
        ("mlp", (8,), {"hidden": (4, 0)}),
        ("tcn", (2, 32), {"layers": 0}),
        ("tcn", (2, 32), {"filters": 0}),
        ("tcn", (2, 32), {"kernel": -5}),
    ],
)
def test_a_size_below_one_is_an_input_error(name: str, shape: tuple[int, ...], settings: dict[str, Any]) -> None:
    with refused("net-size-below-one"):
        make_backbone(name, shape, settings)


def test_an_unknown_backbone_names_the_nearest() -> None:
    with refused("misspelled-name", kind="backbone", name="convv", nearest="conv"):
        make_backbone("convv", (3, 28, 28), {})


def test_every_backbone_says_what_it_is() -> None:
    assert {"conv", "mlp", "small-conv", "tcn"} <= set(BACKBONES.names())
    assert all(len(BACKBONES.describe(name)) > 20 for name in BACKBONES.names())
