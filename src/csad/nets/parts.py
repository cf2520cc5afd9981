"""The six parts of the network by letter: F, D_y, P_y, D_b, P_b and the two nets of M, from plain sizes."""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import nn

from csad.errors import InputError, reason, unknown
from csad.nets.adapters import LIBRARIES
from csad.nets.layers import Heads, Own, at_least_one, dense
from csad.nets.weights import without_files
from csad.registry import BACKBONES

OwnBackbone = type[nn.Module] | nn.Module  # a user's class or module


@dataclass(frozen=True)
class Sizes:
    """F and the widths of the parts after it; defaults are the authors' for Colored MNIST.

    Args:
        backbone: F: a registered name, ``torchvision:NAME``, ``timm:NAME``, or your own class or module.
        branch: Width of D, one linear layer from h to h_y or h_b; 0: no layer, h_y is h.
        branch_relu: Whether a ReLU follows D; the authors' code has none.
        head: Widths of the hidden layers of P.
        estimator: Widths of the layers of M_y and M_b; the supplement prints 64, 32, 32.
        settings: Settings of the backbone by name.
    """

    backbone: str | OwnBackbone = "conv"
    branch: int = 128
    branch_relu: bool = False
    head: tuple[int, ...] = (64,)
    estimator: tuple[int, ...] = (128, 64, 64)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        at_least_one(branch=self.branch or 1, head=self.head, estimator=self.estimator)


@dataclass(frozen=True)
class Nets:
    """Build new parts that fit a task.

    Args:
        sizes: The backbone and the widths of the parts.
        shape: Shape of one row of x.
        outputs: How many numbers P_y gives: one per class, or one for a number.
        bias_outputs: The same for each bias column.
    """

    sizes: Sizes
    shape: tuple[int, ...]
    outputs: int
    bias_outputs: tuple[int, ...]

    def extractor(self) -> nn.Module:
        """F: x → h."""
        backbone = self.sizes.backbone
        if isinstance(backbone, nn.Module):
            return Own(copy.deepcopy(backbone))
        return make_backbone(backbone, self.shape, self.sizes.settings)

    def branch(self) -> nn.Module:
        """D: h → h_y or h_b."""
        if self.sizes.branch == 0:
            return nn.Identity()
        linear = dense((self.features, self.sizes.branch))
        return nn.Sequential(*linear, nn.ReLU()) if self.sizes.branch_relu else linear

    def target_head(self) -> nn.Module:
        """P_y: h_y → logits (n, outputs)."""
        return dense((self.branch_width, *self.sizes.head, self.outputs))

    def bias_heads(self) -> nn.Module:
        """P_b: h_b → a list of logits, one per bias column."""
        return Heads([dense((self.branch_width, *self.sizes.head, size)) for size in self.bias_outputs])

    def estimator_net(self) -> nn.Module:
        """M_y or M_b: features of a branch → the space in which they are compared."""
        return dense((self.branch_width, *self.sizes.estimator))

    def critic(self, labels: int) -> nn.Module:
        """M of MINE: features of a branch, joined with ``labels`` numbers of the bias labels → one score."""
        return dense((self.branch_width + labels, *self.sizes.estimator, 1))

    @property
    def branch_width(self) -> int:
        """The width of h_y and h_b."""
        return self.sizes.branch or self.features

    @cached_property
    def features(self) -> int:
        """The width of h, measured on two rows of zeros without a change to the random state."""
        with torch.random.fork_rng(devices=[]), torch.no_grad(), without_files():
            F = self.extractor().eval()
            try:
                h = F(torch.zeros(2, *self.shape))
            except Exception as error:  # a user's backbone may raise anything
                raise InputError("backbone-input-shape", shape=self.shape, reason=reason(error)) from error
        if h.ndim != 2 or len(h) != 2 or h.shape[1] == 0:
            raise InputError("backbone-output-shape", shape=tuple(h.shape))
        return int(h.shape[1])


def make_backbone(backbone: str | type[nn.Module], shape: tuple[int, ...], settings: Mapping[str, Any]) -> nn.Module:
    """Build F from a registered name, ``library:NAME`` or a user's class.

    The path of a class is refused here: a name may come from a file, and a file never decides what is imported.
    """
    if not isinstance(backbone, str | type):
        raise InputError("backbone-wrong-type", value=backbone)
    if is_class_path(backbone):
        raise InputError("backbone-class-not-passed", backbone=backbone)
    if isinstance(backbone, str) and ":" not in backbone:
        module: nn.Module = BACKBONES[backbone](shape, **settings)
        return module
    name = backbone if isinstance(backbone, str) else class_path(backbone)
    maker = library_model(backbone) if isinstance(backbone, str) else backbone
    try:
        net = maker(**settings)
        return net if isinstance(net, Own) else Own(net)
    except TypeError as error:
        raise InputError("backbone-build-failed", backbone=name, reason=reason(error)) from error


def library_model(name: str) -> Callable[..., nn.Module]:
    """The function that builds the model ``library:NAME``, for a library that csad has an adapter for."""
    library, _, model = name.partition(":")
    return LIBRARIES[library](model)


def is_class_path(name: object) -> bool:
    """Whether a backbone's name has the form ``package.module:Class``, a class that is not csad's."""
    return isinstance(name, str) and ":" in name and name.partition(":")[0] not in LIBRARIES


def class_path(kind: type[nn.Module]) -> str:
    """``package.module:Class`` of a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def own_class(path: str) -> type[nn.Module]:
    """Import the class that ``package.module:Class`` names: only ever call this with what the caller typed."""
    place, _, name = path.partition(":")
    try:
        module = importlib.import_module(place)
    except Exception as error:  # a user's module may raise anything
        why = reason(error)
        raise InputError("backbone-import-failed", path=path, reason=why) from error
    backbone: Any = module
    for part in name.split("."):
        backbone = getattr(backbone, part, None)
    if not callable(backbone):
        raise unknown(f"class in {place}", name, (n for n, _ in inspect.getmembers(module, inspect.isclass)))
    if not isinstance(backbone, type) or not issubclass(backbone, nn.Module):
        raise InputError("backbone-not-module-class", path=path)
    return backbone
