"""Backbones of other libraries by name, ``torchvision:NAME`` and ``timm:NAME``, without the layer of classes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from torch import nn

from csad.errors import InputError, unknown
from csad.nets.layers import ImageNetPixels, Own, at_least_one, reason
from csad.nets.weights import take_weights

HEADS = ("fc", "classifier", "heads", "head")  # what torchvision's models call the part that gives the classes
DROPS = nn.modules.dropout._DropoutNd


def from_torchvision(name: str) -> Callable[..., Own]:
    """The function that makes torchvision's model of that name from settings; dropout in its head goes as well."""
    models = _imported("torchvision", "torchvision.models", name)
    _check_name("torchvision", name, models.list_models(module=models))

    def make(weights: str = "", batch_norm: str = "auto", image_size: int = 0) -> Own:
        at_least_one(image_size=image_size or 1)  # 0: the model's own
        sized = {"image_size": image_size} if image_size else {}
        net = _made(f"torchvision:{name}", models.get_model, name, weights=None, **sized)
        if getattr(net, "aux_logits", False):
            raise InputError(f"The backbone 'torchvision:{name}' gives more than one output: take another model.")
        return _own(net, weights, batch_norm, left_out=(_without_classes(net),))

    return make


def from_timm(name: str) -> Callable[..., Own]:
    """The function that makes timm's model of that name from settings; ``channels`` are those of x."""
    timm = _imported("timm", "timm", name)
    _check_name("timm", name, timm.list_models())

    def make(weights: str = "", batch_norm: str = "auto", image_size: int = 0, channels: int = 3) -> Own:
        at_least_one(image_size=image_size or 1, channels=channels)  # 0: the model's own
        sized = {"img_size": image_size} if image_size else {}
        net = _made(
            f"timm:{name}", timm.create_model, name, pretrained=False, num_classes=0, in_chans=channels, **sized
        )
        head = getattr(net, "pretrained_cfg", {}).get("classifier") or ()
        heads = (head,) if isinstance(head, str) else tuple(head)
        return _own(net, weights, batch_norm, left_out=tuple(f"{part}." for part in heads))

    return make


LIBRARIES = {"torchvision": from_torchvision, "timm": from_timm}


def _imported(library: str, module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except Exception as error:  # a torchvision made for another torch raises a RuntimeError
        raise InputError(
            f"The backbone '{library}:{name}' needs {library}, which is not installed or cannot be imported "
            f"({reason(error)}): install it, or use the backbone resnet18."
        ) from error


def _check_name(library: str, name: str, known: Iterable[str]) -> None:
    names = list(known)
    if name not in names:
        # timm has over a thousand: only the nearest are told.
        raise unknown(f"model of {library}", name, get_close_matches(name, names, n=5, cutoff=0.5))


def _made(backbone: str, make: Callable[..., nn.Module], *arguments: Any, **options: Any) -> nn.Module:
    try:
        return make(*arguments, **options)
    except Exception as error:  # a model may refuse an option in whatever way
        raise InputError(f"The backbone '{backbone}' cannot be made: {reason(error)}.") from error


def _own(net: nn.Module, weights: str, batch_norm: str, left_out: tuple[str, ...]) -> Own:
    if weights:
        take_weights(net, weights, left_out=left_out)
        net = nn.Sequential(ImageNetPixels(), net)  # on whose scale nearly all of their weights were trained
    own = Own(net)
    own.set_batch_norm(batch_norm, pretrained=bool(weights))
    return own


def _without_classes(net: nn.Module) -> str:
    """The name of the layer that gave the classes, with a dot; it and the head's dropout are made to do nothing."""
    head = next((part for part in HEADS if isinstance(getattr(net, part, None), nn.Module)), "")
    layers = {name: layer for name, layer in net.named_modules() if head and f"{name}.".startswith(f"{head}.")}
    giving = [name for name, layer in layers.items() if isinstance(layer, nn.Linear | nn.Conv2d)]
    if not giving:
        raise InputError(f"{type(net).__name__} has no layer of classes to take off: give it as a module of your own.")
    for name, layer in layers.items():
        if name == giving[-1] or isinstance(layer, DROPS):
            net.set_submodule(name, nn.Identity())
    return f"{giving[-1]}."
