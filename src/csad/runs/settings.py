"""Settings of a run: a task's TOML file, a preset over it, and the user's own, checked against the signatures."""

from __future__ import annotations

import copy
import inspect
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from csad.data.samples import Classes, Dataset
from csad.errors import InputError, unknown
from csad.methods.method import Course
from csad.nets.parts import OwnBackbone, Sizes, is_class_path, library_model, own_class
from csad.registry import BACKBONES, METHODS
from csad.runs.parse import current_name, current_names, settings_of, toml_names, typed

TASKS = resources.files("csad.runs") / "tasks"
KINDS = resources.files("csad.runs") / "kinds"
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
# Parameters that csad itself passes, which are no settings of the user's.
HANDED = {
    "data": ("data_root", "path"),
    "net": ("shape",),
    "settings": ("task", "nets", "course"),
    "bound": ("scores", "related", "scale"),
}
SHARED = ("data", "net", "train")  # the sections that all methods have
SECTIONS = (*SHARED, "settings")  # the last holds the method's own


@dataclass(frozen=True)
class Plan:
    """All settings of a run as plain values: enough to train it again."""

    data: dict[str, Any]
    net: dict[str, Any]
    train: dict[str, Any]
    settings: dict[str, Any]  # of the method
    # The class that net.backbone names, if its caller named it: a plan that was read from a file has none by itself.
    own_backbone: OwnBackbone | None = field(default=None, compare=False)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], own_backbone: OwnBackbone | None = None) -> Plan:
        """The plan that a config holds; ``own_backbone`` is the caller's, never the config's."""
        config = current_names(config)
        return cls(**{section: config[section] for section in SECTIONS}, own_backbone=own_backbone)

    def sections(self) -> dict[str, dict[str, Any]]:
        """The settings by section, as a run's config holds them."""
        return {section: copy.deepcopy(getattr(self, section)) for section in SECTIONS}

    def course(self) -> Course:
        """The training settings, checked."""
        return Course(**self.train)

    def with_own_backbone(self, name: str) -> Plan:
        """The plan with a module of the user's as the backbone, without the settings of the one that it named."""
        sizes = {key: value for key, value in self.net.items() if key in settings_of(Sizes)}
        return replace(self, net=sizes | {"backbone": name})

    def sizes(self, backbone: OwnBackbone | None = None) -> Sizes:
        """The sizes of the parts; ``backbone`` is a class or module of the user's in place of the named one."""
        backbone = self.own_backbone if backbone is None else backbone
        sizes = settings_of(Sizes, leave_out=("settings",))
        plain = {name: value for name, value in self.net.items() if name in sizes}
        rest = {name: value for name, value in self.net.items() if name not in sizes}
        if backbone is not None:
            plain["backbone"] = backbone
        return Sizes(**plain, settings=rest)


def experiment(name: str) -> dict[str, Any]:
    """The TOML file of a task, or nothing where it has none; ``kinds/table`` has those of tables of one's own."""
    files = {f"kinds/{kind}": KINDS / f"{kind}.toml" for kind in toml_names(KINDS)}
    files |= {task: TASKS / f"{task}.toml" for task in experiments()}
    return tomllib.loads(files[name].read_text(encoding="utf-8")) if name in files else {}


def experiments() -> list[str]:
    """The tasks that have a TOML file of their own."""
    return toml_names(TASKS)


def own_settings(kind: str, member: Any) -> dict[str, inspect.Parameter]:
    """The settings of a data set, backbone, method or bound that the user may choose."""
    return settings_of(member, leave_out=HANDED[kind])


def check_overrides(method: str, data: Any, overrides: Mapping[str, Any]) -> None:
    """Raise one InputError that names all settings which are wrong for every data set and backbone."""
    backbone = overrides.get("net.backbone", overrides.get("backbone"))
    allowed = _allowed(method, data, backbone or Sizes().backbone)
    for other in () if backbone else BACKBONES.names():
        allowed["net"] |= _backbone_settings(other)
    _placed(overrides, allowed)


def data_settings(data: Any, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a data set alone, if it must be read before the other settings are known."""
    allowed = own_settings("data", data)
    of_data = {key: value for key, value in overrides.items() if key.removeprefix("data.") in allowed}
    return {name: value for (_, name), value in _placed(of_data, {"data": allowed}).items()}


def resolve(method: str, data: Any, file: Mapping[str, Any], overrides: Mapping[str, Any], preset: str = "") -> Plan:
    """Settings from a TOML file, a preset and the user's overrides, in that order; all errors are raised together.

    Args:
        method: The method's name.
        data: The function that makes the data set; None for a data set that was given from Python.
        file: The task's TOML file.
        overrides: The user's settings. A key is ``data.x``, ``net.x``, ``train.x``, or bare for the one section that
            has it.
        preset: The name of a preset in the file.
    """
    chosen = _from_file(file, method, preset)
    usual = chosen["net"].get("backbone", Sizes().backbone)
    backbone = overrides.get("net.backbone", overrides.get("backbone", usual))
    if backbone != usual:
        # Another backbone brings its own settings; those of the file's backbone mean nothing to it.
        plain = settings_of(Sizes)
        chosen["net"] = {name: value for name, value in chosen["net"].items() if name in plain}
    allowed = _allowed(method, data, backbone)
    for (section, name), value in _placed(overrides, allowed).items():
        chosen[section][name] = value
    for section, names in allowed.items():
        defaults = {name: p.default for name, p in names.items() if _is_plain(p.default)}
        chosen[section] = defaults | {n: typed(n, v, names[n].annotation) for n, v in chosen[section].items()}
    named = chosen["net"]["backbone"]
    return Plan(**chosen, own_backbone=own_class(named) if is_class_path(named) else None)


def tuple_settings(method: str, data: Any, overrides: Mapping[str, Any]) -> list[str]:
    """The names of the settings that are tuples: commas separate their parts, not several values."""
    chosen = overrides.get("net.backbone", overrides.get("backbone")) or BACKBONES.names()
    tuples = []
    for backbone in chosen.split(",") if isinstance(chosen, str) else chosen:
        allowed = _allowed(method, data, backbone)
        tuples += [key for key in overrides if _is_tuple(key, allowed)]
    return tuples


def _is_tuple(key: str, allowed: Mapping[str, Mapping[str, inspect.Parameter]]) -> bool:
    section, _, name = current_name(key).rpartition(".")
    homes = [allowed.get(section, {})] if section else allowed.values()
    return any(typing.get_origin(names[name].annotation) is tuple for names in homes if name in names)


def _allowed(method: str, data: Any, backbone: Any) -> dict[str, dict[str, inspect.Parameter]]:
    """The settings that may be set, by section."""
    return {
        "data": own_settings("data", data) if data else {},
        "net": settings_of(Sizes, leave_out=("settings",)) | _backbone_settings(backbone),
        "train": settings_of(Course),
        "settings": own_settings("settings", METHODS[method]),
    }


def _from_file(file: Mapping[str, Any], method: str, preset: str) -> dict[str, dict[str, Any]]:
    """The sections of a task's file, overlaid by those for this method, then by those of a preset in the same way."""
    presets = file.get("presets", {})
    if preset and preset not in presets:
        raise unknown("preset", preset, presets)
    layers = []
    for layer in (file, presets.get(preset, {})):
        of_method = layer.get("methods", {}).get(method, {})
        shared = {name: of_method[name] for name in SHARED if name in of_method}  # unlike those of other methods
        layers += [layer, shared, {"settings": {name: of_method[name] for name in of_method if name not in SHARED}}]
    return {section: _overlaid(layer.get(section, {}) for layer in layers) for section in SECTIONS}


def _overlaid(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {current_name(name): value for layer in layers for name, value in layer.items()}


def _placed(overrides: Mapping[str, Any], allowed: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
    """The user's settings as typed values by section and name; raise one InputError that names all that is wrong."""
    values: dict[tuple[str, str], Any] = {}
    spelled: dict[tuple[str, str], str] = {}
    problems = []
    for key, value in overrides.items():
        try:
            place = _place(key, allowed)
            if (first := spelled.setdefault(place, key)) != key:
                raise InputError("setting-under-two-names", name=first, other=key)
            values[place] = typed(key, value, allowed[place[0]][place[1]].annotation)
        except InputError as error:
            problems.append(error)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise InputError("several-settings-wrong", problems=" ".join(map(str, problems)))
    return values


def _is_plain(value: Any) -> bool:
    """Whether a config can hold a default; other defaults of a user's class stay with the class."""
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, bool | int | float | str)


def _backbone_settings(backbone: Any) -> dict[str, Any]:
    if not isinstance(backbone, str):
        return {}
    if ":" not in backbone:
        return own_settings("net", BACKBONES[backbone])
    return settings_of(own_class(backbone) if is_class_path(backbone) else library_model(backbone))


def _place(key: str, allowed: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """The section and name that a key means."""
    section, dot, name = current_name(key).rpartition(".")
    if dot:
        if section not in allowed:
            raise unknown("section of settings", section, SHARED)
        if name not in allowed[section]:
            raise unknown(f"setting of {section}", name, allowed[section])
        return section, name
    homes = [section for section, names in allowed.items() if name in names]
    if not homes and name in PAPER_NAMES:
        raise InputError("setting-has-other-name", name=name, setting=PAPER_NAMES[name])
    if not homes and name in {
        other for method in METHODS.names() for other in own_settings("settings", METHODS[method])
    }:
        raise InputError("setting-of-other-method", name=name)
    if not homes:
        raise unknown("setting", name, {n for names in allowed.values() for n in names})
    if len(homes) > 1:
        spelled = " or ".join(f"{home}.{name}" for home in homes)
        raise InputError("setting-ambiguous-name", name=name, known=spelled)
    return homes[0], name


def from_words(words: list[str]) -> dict[str, str]:
    """``["a=1", "train.b=2"]`` as a dict of text."""
    settings: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise InputError("setting-not-name-value", value=word)
        if key in settings:
            raise InputError("setting-given-twice", name=key)
        settings[key] = value
    return settings


PHOTO = 48  # pixels: from here on an image is too large for the small nets
SMALL = 5000  # training rows: a table of fewer takes smaller mini-batches and a higher rate
MOST_EPOCHS = 60  # of a stage whose length is in steps
LEAST_SHARE = 4  # rows of each class that a balanced mini-batch must have room for


def kind_defaults(dataset: Dataset) -> dict[str, Any]:
    """The default settings for data of this kind, in the form of a task's TOML file."""
    file = experiment(f"kinds/{_kind(dataset)}")
    return file | {"train": _fitted(file["train"], file.get("steps", {}), dataset)}


def _kind(dataset: Dataset) -> str:
    shape = dataset.task.shape
    if len(shape) == 1:
        return "small-table" if len(dataset.train) < SMALL else "table"
    if len(shape) == 2:
        return "series"
    if len(shape) == 3:
        return "photo" if min(shape[1:]) >= PHOTO else "image"
    raise InputError("x-dimension-count", dimensions=len(shape) + 1)


def _fitted(train: dict[str, Any], steps: dict[str, int], dataset: Dataset) -> dict[str, Any]:
    """The training settings with lengths in steps as epochs, without balance if a mini-batch has no room for it."""
    fitted = dict(train)
    for name, count in steps.items():
        per_epoch = -(-len(dataset.train) // train["batch_size"])
        fitted[name] = min(MOST_EPOCHS, max(1, round(count / per_epoch)))
    target = dataset.task.target
    if "balance" in fitted and not (isinstance(target, Classes) and LEAST_SHARE * target.count <= train["batch_size"]):
        del fitted["balance"]
    return fitted
