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

from csad.errors import InputError, unknown
from csad.nets.adapters import LIBRARIES
from csad.nets.layers import Heads, Own, at_least_one, dense, reason
from csad.nets.weights import without_files
from csad.registry import BACKBONES

OwnBackbone = type[nn.Module] | nn.Module  # a class or a module of the user's


@dataclass(frozen=True)
class Sizes:
    """Widths of the parts after F; defaults are the authors' for Colored MNIST. ``backbone`` names F.

    F is a registered name, ``torchvision:NAME``, ``timm:NAME``, or a class or a module of one's own.
    """

    backbone: str | OwnBackbone = "conv"
    branch: int = 128  # D: h → h_y and h → h_b, one linear layer; 0: none, h_y is h
    branch_relu: bool = False  # a ReLU after D: none in the authors' code
    head: tuple[int, ...] = (64,)  # hidden layers of P
    estimator: tuple[int, ...] = (128, 64, 64)  # layers of M_y and M_b; the supplement prints 64, 32, 32
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the backbone

    def __post_init__(self) -> None:
        at_least_one(branch=self.branch or 1, head=self.head, estimator=self.estimator)


@dataclass(frozen=True)
class Nets:
    """Builds parts for inputs of a shape, a target of ``outputs`` and biases of ``bias_outputs``; each is new."""

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
        """M of MINE: features of a branch beside so many numbers of labels → one score."""
        return dense((self.branch_width + labels, *self.sizes.estimator, 1))

    @property
    def branch_width(self) -> int:
        """The width of h_y and h_b."""
        return self.sizes.branch or self.features

    @cached_property
    def features(self) -> int:
        """The width of h, found by encoding two rows of zeros, without disturbing the random numbers."""
        with torch.random.fork_rng(devices=[]), torch.no_grad(), without_files():
            F = self.extractor().eval()
            try:
                h = F(torch.zeros(2, *self.shape))
            except Exception as error:  # a backbone of the user's own may raise anything
                raise InputError(f"The backbone cannot take x of shape {self.shape}: {reason(error)}.") from error
        if h.ndim != 2 or len(h) != 2 or h.shape[1] == 0:
            raise InputError(f"The backbone must give one row of features per x, not a shape of {tuple(h.shape)}.")
        return int(h.shape[1])


def make_backbone(backbone: str | type[nn.Module], shape: tuple[int, ...], settings: Mapping[str, Any]) -> nn.Module:
    """F by registered name, as ``library:NAME``, or from a class of one's own.

    A path to a class is refused here: a name may come from a file, and a file never decides what is imported.
    """
    if not isinstance(backbone, str | type):
        raise InputError(f"A backbone must be a name or a class, not {backbone!r}.")
    if is_class_path(backbone):
        raise InputError(
            f"Of the backbone '{backbone}', which is not csad's, only the name is known: give the class as backbone=, "
            "or train again."
        )
    if isinstance(backbone, str) and ":" not in backbone:
        module: nn.Module = BACKBONES[backbone](shape, **settings)
        return module
    name = backbone if isinstance(backbone, str) else class_path(backbone)
    maker = library_model(backbone) if isinstance(backbone, str) else backbone
    try:
        own = maker(**settings)
        return own if isinstance(own, Own) else Own(own)
    except TypeError as error:
        raise InputError(f"The backbone '{name}' cannot be made: {reason(error)}.") from error


def library_model(name: str) -> Callable[..., nn.Module]:
    """The function that makes the model ``library:NAME``, of one of the libraries that csad has adapters for."""
    library, _, model = name.partition(":")
    return LIBRARIES[library](model)


def is_class_path(name: object) -> bool:
    """Whether a backbone's name reads as ``package.module:Class``, a class that is not csad's."""
    return isinstance(name, str) and ":" in name and name.partition(":")[0] not in LIBRARIES


def class_path(kind: type[nn.Module]) -> str:
    """``package.module:Class`` of a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def own_class(path: str) -> type[nn.Module]:
    """Import the class that ``package.module:Class`` names: only ever call this with what the caller typed."""
    place, _, name = path.partition(":")
    try:
        module = importlib.import_module(place)
    except Exception as error:  # a module of the user's own may raise anything
        why = reason(error)
        raise InputError(f"The backbone '{path}' cannot be imported ({why}): give package.module:Class.") from error
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise unknown(f"class in {place}", name, (n for n, _ in inspect.getmembers(module, inspect.isclass)))
    if not isinstance(found, type) or not issubclass(found, nn.Module):
        raise InputError(
            f"The backbone '{path}' is not a subclass of torch.nn.Module: give the path of one or, in Python, a module "
            "as backbone=."
        )
    return found
