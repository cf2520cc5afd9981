"""What a run's file may decide: numbers and names that csad registers, but never what is imported.

A run folder, an exported file or a saved classifier may come from a stranger. It may name any class as its backbone,
with arguments for it; csad imports and calls that class only if its caller gives it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from torch import nn

from csad.errors import InputError
from csad.nets.parts import OwnBackbone, class_path, is_class_path, own_class

OWN = "own"  # what a config calls a task, a backbone or a view that was given from Python
CLASS_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def named_backbone(config: Any) -> str:
    """The backbone that a config names; empty if it names none."""
    net = config.get("net") if isinstance(config, Mapping) else None
    named = net.get("backbone") if isinstance(net, Mapping) else None
    return named if isinstance(named, str) else ""


def is_own_backbone(named: str) -> bool:
    """Whether a config names a class or a module that is not csad's."""
    return named == OWN or is_class_path(named)


def backbone_to_build(named: str, given: OwnBackbone | str | None, place: object) -> OwnBackbone | None:
    """What the caller gives in place of the name in a file; None for a backbone that csad registers.

    A class is ``given`` as ``package.module:Class``, the same path as in the file, or as the class or a module of it,
    which is taken as it is; a module that was given from Python is given again as a module.
    """
    if given is not None and not _is_backbone(given):
        raise InputError(
            f"backbone must be a torch module, a class of modules or its path package.module:Class, not {given!r}."
        )
    if named == OWN:
        return _module_again(given, place)
    if is_class_path(named):
        return _class_again(named, given, place)
    if named and given is not None and given != named:
        raise InputError(f"{place} was trained with csad's '{named}', not with {_shown(given)}: leave that out.")
    return None


def _is_backbone(given: object) -> bool:
    return isinstance(given, str | nn.Module) or (isinstance(given, type) and issubclass(given, nn.Module))


def _module_again(given: OwnBackbone | str | None, place: object) -> nn.Module:
    if not isinstance(given, nn.Module):
        raise InputError(
            f"{place} was trained with a backbone of your own: give it again as backbone=, a module, in Python."
        )
    return given


def _class_again(named: str, given: OwnBackbone | str | None, place: object) -> OwnBackbone:
    """The class, imported only if the caller gives the very path that the file has."""
    if isinstance(given, type | nn.Module):
        return given
    if not CLASS_PATH.fullmatch(named):  # nor is it shown: it may read as a command, or as words of csad's
        raise InputError(f"{place} names no backbone of csad's and no package.module:Class: train the run again.")
    if given is None:
        raise InputError(
            f"{place} was trained with the class '{named}', and csad imports nothing that only a file names: "
            f"if you know and trust that class, give it again (--backbone {named} or, in Python, backbone='{named}')."
        )
    if given != named:
        raise InputError(f"{place} was trained with the backbone '{named}', not with '{given}': give the same again.")
    return own_class(given)


def _shown(given: OwnBackbone | str) -> str:
    if isinstance(given, str):
        return f"'{given}'"
    return f"'{class_path(given)}'" if isinstance(given, type) else f"a module {type(given).__name__}"
