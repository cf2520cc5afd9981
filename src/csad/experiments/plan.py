"""Settings of a run: a task's TOML file, a preset over it, and what the user sets, checked against the signatures."""

from __future__ import annotations

import copy
import inspect
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from csad.errors import InputError, unknown
from csad.experiments.values import settings_of, toml_names, typed
from csad.methods.method import Course
from csad.nets.parts import OwnBackbone, Sizes, is_class_path, library_model, own_class
from csad.registry import BACKBONES, METHODS

FOLDER = resources.files("csad.experiments")
# What a reader of the paper may type, and what it is called here.
PAPER_NAMES = {
    "lambda": "debias_weight",
    "λ": "debias_weight",
    "K": "inner_steps",
    "alpha": "scale",
    "α": "scale",
    "tau": "sharpness",
    "τ": "sharpness",
    "c": "walk_on",
    "sigma2": "data.color_variance",
    "σ²": "data.color_variance",
    "lr": "train.rate",
}
# What csad itself hands to a member, and so no setting of the user's.
HANDED = {
    "data": ("data_root", "path"),
    "net": ("shape",),
    "settings": ("task", "nets", "course"),
    "bound": ("scores", "related", "scale"),
}
SHARED = ("data", "net", "train")  # what all methods have settings of
SECTIONS = (*SHARED, "settings")  # the last holds the method's own


@dataclass(frozen=True)
class Plan:
    """All that makes a run, as plain values: enough to run it again."""

    data: dict[str, Any]
    net: dict[str, Any]
    train: dict[str, Any]
    settings: dict[str, Any]  # of the method
    # The class that net.backbone names, if its caller named it: a plan that was read from a file has none by itself.
    own_backbone: OwnBackbone | None = field(default=None, compare=False)

    def sections(self) -> dict[str, dict[str, Any]]:
        """The settings by section, as a run's config holds them."""
        return {section: copy.deepcopy(getattr(self, section)) for section in SECTIONS}

    def course(self) -> Course:
        """The training settings, checked."""
        return Course(**self.train)

    def with_own_backbone(self, name: str) -> Plan:
        """The plan of a run whose backbone is a module of the user's: the named one's settings mean nothing to it."""
        sizes = {key: value for key, value in self.net.items() if key in settings_of(Sizes)}
        return replace(self, net=sizes | {"backbone": name})

    def sizes(self, backbone: OwnBackbone | None = None) -> Sizes:
        """The sizes of the parts; ``backbone`` is a class or module of the user's own in place of the named one."""
        backbone = self.own_backbone if backbone is None else backbone
        own = settings_of(Sizes, leave_out=("settings",))
        plain = {name: value for name, value in self.net.items() if name in own}
        rest = {name: value for name, value in self.net.items() if name not in own}
        if backbone is not None:
            plain["backbone"] = backbone
        return Sizes(**plain, settings=rest)


def experiment(name: str) -> dict[str, Any]:
    """The TOML file of a task, or nothing where it has none; ``kinds/table`` has those of tables of one's own."""
    names = [*experiments(), *(f"kinds/{kind}" for kind in toml_names(FOLDER / "kinds"))]
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")) if name in names else {}


def experiments() -> list[str]:
    """The tasks that have a TOML file of their own."""
    return toml_names(FOLDER)


def own_settings(kind: str, member: Any) -> dict[str, inspect.Parameter]:
    """The settings of a data set, backbone, method or bound that are the user's to choose."""
    return settings_of(member, leave_out=HANDED[kind])


def check_given(method: str, data: Any, given: Mapping[str, Any]) -> None:
    """Nothing, or one error that tells all settings that no data set or backbone could make right."""
    backbone = given.get("net.backbone", given.get("backbone"))
    allowed = _allowed(method, data, backbone or Sizes().backbone)
    for other in () if backbone else BACKBONES.names():
        allowed["net"] |= _backbone_settings(other)
    _placed(given, allowed)


def data_settings(data: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a data set alone, for one that must be read before the rest can be known."""
    allowed = own_settings("data", data)
    own = {key: value for key, value in given.items() if key.removeprefix("data.") in allowed}
    return {name: value for (_, name), value in _placed(own, {"data": allowed}).items()}


def resolve(method: str, data: Any, file: Mapping[str, Any], given: Mapping[str, Any], preset: str = "") -> Plan:
    """Settings from a TOML file, a preset and the user's own, in that order; all errors are raised together.

    ``data`` is the data set's function, or None where the user brought a data set. A key is ``data.x``, ``net.x``,
    ``train.x``, or bare for whatever section has it; a bare name that two sections have is an error.
    """
    chosen = _from_file(file, method, preset)
    usual = chosen["net"].get("backbone", Sizes().backbone)
    backbone = given.get("net.backbone", given.get("backbone", usual))
    if backbone != usual:
        # Another backbone brings its own settings; those of the file's backbone mean nothing to it.
        plain = settings_of(Sizes)
        chosen["net"] = {name: value for name, value in chosen["net"].items() if name in plain}
    allowed = _allowed(method, data, backbone)
    for (section, name), value in _placed(given, allowed).items():
        chosen[section][name] = value
    for section, names in allowed.items():
        defaults = {name: p.default for name, p in names.items() if _is_plain(p.default)}
        chosen[section] = defaults | {n: typed(n, v, names[n].annotation) for n, v in chosen[section].items()}
    named = chosen["net"]["backbone"]
    return Plan(**chosen, own_backbone=own_class(named) if is_class_path(named) else None)


def tuple_settings(method: str, data: Any, given: Mapping[str, Any]) -> list[str]:
    """Those of the given settings that are tuples: commas in them stand between parts, not between several values."""
    chosen = given.get("net.backbone", given.get("backbone")) or BACKBONES.names()
    found = []
    for backbone in chosen.split(",") if isinstance(chosen, str) else chosen:
        allowed = _allowed(method, data, backbone)
        found += [key for key in given if _is_tuple(key, allowed)]
    return found


def _is_tuple(key: str, allowed: Mapping[str, Mapping[str, inspect.Parameter]]) -> bool:
    section, _, name = key.rpartition(".")
    homes = [allowed.get(section, {})] if section else allowed.values()
    return any(typing.get_origin(names[name].annotation) is tuple for names in homes if name in names)


def _allowed(method: str, data: Any, backbone: Any) -> dict[str, dict[str, inspect.Parameter]]:
    """What may be set, by section."""
    return {
        "data": own_settings("data", data) if data else {},
        "net": settings_of(Sizes, leave_out=("settings",)) | _backbone_settings(backbone),
        "train": settings_of(Course),
        "settings": own_settings("settings", METHODS[method]),
    }


def _from_file(file: Mapping[str, Any], method: str, preset: str) -> dict[str, dict[str, Any]]:
    """The sections of a task's file, then what it has for this method, then a preset's in the same way."""
    presets = file.get("presets", {})
    if preset and preset not in presets:
        raise unknown("preset", preset, presets)
    layers = []
    for layer in (file, presets.get(preset, {})):
        own = layer.get("methods", {}).get(method, {})
        shared = {name: own[name] for name in SHARED if name in own}  # a method that is trained otherwise than the rest
        layers += [layer, shared, {"settings": {name: own[name] for name in own if name not in SHARED}}]
    return {section: _overlaid(layer.get(section, {}) for layer in layers) for section in SECTIONS}


def _overlaid(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for layer in layers for name, value in layer.items()}


def _placed(given: Mapping[str, Any], allowed: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
    """What the user set, by section and name, each of its kind; or one error that tells all that is wrong."""
    found: dict[tuple[str, str], Any] = {}
    spelled: dict[tuple[str, str], str] = {}
    problems = []
    for key, value in given.items():
        try:
            place = _place(key, allowed)
            if (first := spelled.setdefault(place, key)) != key:
                raise InputError(f"The setting '{first}' is given twice, the second time as '{key}'; give it once.")
            found[place] = typed(key, value, allowed[place[0]][place[1]].annotation)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError(" ".join(problems))
    return found


def _is_plain(value: Any) -> bool:
    """Whether a run's config can hold it; another default of a user's class stays with the class."""
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, bool | int | float | str)


def _backbone_settings(backbone: Any) -> dict[str, Any]:
    if not isinstance(backbone, str):
        return {}
    if ":" not in backbone:
        return own_settings("net", BACKBONES[backbone])
    return settings_of(own_class(backbone) if is_class_path(backbone) else library_model(backbone))


def _place(key: str, allowed: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """The section and name that a key means."""
    section, dot, name = key.rpartition(".")
    if dot:
        if section not in allowed:
            raise unknown("section of settings", section, SHARED)
        if name not in allowed[section]:
            raise unknown(f"setting of {section}", name, allowed[section])
        return section, name
    homes = [section for section, names in allowed.items() if name in names]
    if not homes and name in PAPER_NAMES:
        raise InputError(f"'{name}' is called {PAPER_NAMES[name]} here: write {PAPER_NAMES[name]}=….")
    if not homes and name in {
        other for method in METHODS.names() for other in own_settings("settings", METHODS[method])
    }:
        raise InputError(f"'{name}' is a setting of other methods (csad list settings), not of this one: leave it out.")
    if not homes:
        raise unknown("setting", name, {n for names in allowed.values() for n in names})
    if len(homes) > 1:
        spelled = " or ".join(f"{home}.{name}" for home in homes)
        raise InputError(f"The setting '{name}' could mean {spelled}: write which.")
    return homes[0], name


def from_words(words: list[str]) -> dict[str, str]:
    """``["a=1", "train.b=2"]`` as a dict of text."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise InputError(f"A setting must read name=value, not '{word}'.")
        if key in found:
            raise InputError(f"The setting '{key}' is given twice; give it once.")
        found[key] = value
    return found
