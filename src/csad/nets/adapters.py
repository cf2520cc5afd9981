"""Backbones of other libraries by name, ``torchvision:NAME`` and ``timm:NAME``, without the layer of classes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from torch import nn

from csad.errors import InputError, reason, unknown
from csad.nets.layers import ImageNetPixels, Own, at_least_one
from csad.nets.weights import take_weights

HEADS = ("fc", "classifier", "heads", "head")  # what torchvision's models call the part that gives the classes
DROPS = nn.modules.dropout._DropoutNd


def from_torchvision(name: str) -> Callable[..., Own]:
    """The function that builds torchvision's model of that name from settings, without the dropout in its head."""
    models = _imported("torchvision", "torchvision.models", name)
    _check_name("torchvision", name, models.list_models(module=models))

    def make(weights: str = "", batch_norm: str = "auto", image_size: int = 0) -> Own:
        at_least_one(image_size=image_size or 1)  # 0: the model's own
        sized = {"image_size": image_size} if image_size else {}
        net = _build(f"torchvision:{name}", models.get_model, name, weights=None, **sized)
        if getattr(net, "aux_logits", False):
            raise InputError("backbone-several-outputs", name=name)
        return _as_backbone(net, weights, batch_norm, left_out=(_remove_classes(net),))

    return make


def from_timm(name: str) -> Callable[..., Own]:
    """The function that builds timm's model of that name from settings; ``channels`` are those of x."""
    timm = _imported("timm", "timm", name)
    _check_name("timm", name, timm.list_models())

    def make(weights: str = "", batch_norm: str = "auto", image_size: int = 0, channels: int = 3) -> Own:
        at_least_one(image_size=image_size or 1, channels=channels)  # 0: the model's own
        sized = {"img_size": image_size} if image_size else {}
        net = _build(
            f"timm:{name}", timm.create_model, name, pretrained=False, num_classes=0, in_chans=channels, **sized
        )
        head = getattr(net, "pretrained_cfg", {}).get("classifier") or ()
        heads = (head,) if isinstance(head, str) else tuple(head)
        return _as_backbone(net, weights, batch_norm, left_out=tuple(f"{part}." for part in heads))

    return make


LIBRARIES = {"torchvision": from_torchvision, "timm": from_timm}


def _imported(library: str, module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except Exception as error:  # a torchvision built for another torch raises a RuntimeError
        raise InputError("backbone-library-missing", library=library, name=name, reason=reason(error)) from error


def _check_name(library: str, name: str, known: Iterable[str]) -> None:
    names = list(known)
    if name not in names:
        # timm has over a thousand models: the error names only the nearest.
        raise unknown(f"model of {library}", name, get_close_matches(name, names, n=5, cutoff=0.5))


def _build(backbone: str, make: Callable[..., nn.Module], *arguments: Any, **options: Any) -> nn.Module:
    try:
        return make(*arguments, **options)
    except Exception as error:  # a model may refuse an option in whatever way
        raise InputError("backbone-build-failed", backbone=backbone, reason=reason(error)) from error


def _as_backbone(net: nn.Module, weights: str, batch_norm: str, left_out: tuple[str, ...]) -> Own:
    if weights:
        take_weights(net, weights, left_out=left_out)
        net = nn.Sequential(ImageNetPixels(), net)  # on whose scale nearly all of their weights were trained
    backbone = Own(net)
    backbone.set_batch_norm(batch_norm, pretrained=bool(weights))
    return backbone


def _remove_classes(net: nn.Module) -> str:
    """Replace the layer of classes and the head's dropout by identities; return the layer's name with a dot."""
    head = next((part for part in HEADS if isinstance(getattr(net, part, None), nn.Module)), "")
    layers = {name: layer for name, layer in net.named_modules() if head and f"{name}.".startswith(f"{head}.")}
    weighted = [name for name, layer in layers.items() if isinstance(layer, nn.Linear | nn.Conv2d)]
    if not weighted:
        raise InputError("no-classification-layer", model=type(net).__name__)
    for name, layer in layers.items():
        if name == weighted[-1] or isinstance(layer, DROPS):
            net.set_submodule(name, nn.Identity())
    return f"{weighted[-1]}."
