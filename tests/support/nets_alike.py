"""Nets for photographs: small ones, what goes in, files of their weights, and whether two are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from csad.nets.parts import make_backbone

SMALL = (3, 32, 32)


def resnet(shape: tuple[int, ...] = SMALL, **settings: Any) -> Any:
    return make_backbone("resnet18", shape, settings)


def norms(net: nn.Module) -> dict[str, nn.BatchNorm2d]:
    return {name: part for name, part in net.named_modules() if isinstance(part, nn.BatchNorm2d)}


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def lived(net: nn.Module) -> nn.Module:
    """The net with statistics and weights of BatchNorm that are not those of a fresh one."""
    for k, norm in enumerate(norms(net).values()):
        for j, values in enumerate((norm.running_mean, norm.running_var, norm.weight.data, norm.bias.data)):
            values.copy_(drawn(*values.shape, seed=10 * k + j).abs() + 0.5)
    return net


def with_classes(net: nn.Module, layer: str, width: int, file: Path) -> Path:
    """The file, in which the net's weights are as if it had a last layer for ImageNet's classes."""
    classes = {f"{layer}.weight": torch.ones(1000, width), f"{layer}.bias": torch.ones(1000)}
    torch.save({**net.state_dict(), **classes}, file)
    return file


def assert_same(ours: Tensor, theirs: Tensor, inputs: Sequence[Tensor]) -> None:
    """In value and in what the inputs' gradients are."""
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
    slopes = (torch.autograd.grad(found.square().sum(), inputs) for found in (ours, theirs))
    for own, other in zip(*slopes, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-9, atol=1e-9)
