"""Each room knows its neighbours and no more; the house has no cycles, few siblings and names that exist once."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import SOURCE

# Room → what of csad it may import besides itself. A module is of the room with the longest name that begins its own.
ALLOWED = {
    "messages": set(),
    "errors": {"messages"},
    "lazy": set(),
    "printable": set(),
    "atomic": {"errors"},
    "registry": {"errors"},
    "serialize": {"errors"},
    "data": {"registry", "errors"},
    "data.images": {"data", "errors"},
    "data.datasets": {"data", "registry", "errors"},
    "data.tables": {"data.events", "errors"},
    "data.own": {"data", "errors"},
    "nets": {"registry", "errors"},
    "nets.backbones": {"nets", "registry", "errors"},
    "information": {"registry", "errors"},
    "information.bounds": {"information", "registry", "errors"},
    "methods": {"methods.pieces", "registry", "errors", "nets", "information", "data.samples", "data.pairs"},
    "methods.pieces": {"errors", "methods.method", "nets", "information", "data.samples", "data.pairs"},
    "training": {"errors", "atomic", "methods.method", "data.samples", "data.sampler", "data.chunks", "data.augment"},
    "auditing.metrics": {"registry", "errors"},
    "auditing.leakage": {"errors", "serialize", "auditing.metrics"},
    "auditing": {"errors", "serialize", "auditing.metrics", "auditing.leakage"},
    "auditing.model_inputs": {"auditing", "runs", "data", "deploy", "estimator", "methods.method", "errors"},
    "auditing.of_model": {"auditing", "data", "deploy", "errors"},
    "auditing.of_run": {"auditing", "runs", "data", "deploy", "atomic", "errors"},
    "deploy": {"errors", "atomic", "data.npz", "data.chunks", "data.tables", "data.own"},
    "runs": {"errors", "atomic", "registry", "data", "nets", "methods", "training", "auditing.metrics", "deploy"},
    "sweeps": {"errors", "data", "methods", "training", "runs", "auditing.metrics"},
    # The two doors know the tuning: one run of one's own data is tuned, and several say that they are not.
    "sweeps.train": {"sweeps.tuning", "errors", "data", "runs", "training"},
    "sweeps.sweep": {"sweeps", "sweeps.tuning.validation_rows", "errors", "runs"},
    "sweeps.tuning": {"sweeps", "errors", "atomic", "data", "nets", "training", "runs", "auditing"},
    "export": {"errors", "atomic", "data", "nets", "methods.method", "training", "runs", "deploy"},
    "report": {"errors", "printable", "auditing", "report.plots"},
    "report.plots": {"errors", "report.formatting"},
    "report.gather": {"report", "auditing", "runs", "data", "errors"},
    "report.explain": {"report", "auditing.metrics", "runs", "data", "training", "errors"},
    "report.shown_data": {"report", "runs", "data", "errors"},
    "report.demo": {"report", "runs", "sweeps.train", "atomic", "errors"},
    "reproduction": {"errors", "atomic", "data", "auditing", "runs", "sweeps", "report"},
}
FREE = {"estimator", "cli", "__init__", "__main__"}


def modules() -> dict[str, Path]:
    """Dotted names below csad → files, packages by their own name."""
    names = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in sorted(SOURCE.rglob("*.py"))}
    return {name.removesuffix(".__init__"): path for name, path in names.items()}


MODULES = modules()
FILES = {name: path for name, path in MODULES.items() if path.name != "__init__.py"}


@cache
def imports(name: str) -> frozenset[str]:
    """The csad modules that a file imports, lazily and for types, too."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}".removeprefix("csad.")
                if f"{node.module}.".startswith("csad."):
                    found.add(whole if whole in MODULES else str(node.module).removeprefix("csad."))
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("csad.") for alias in node.names if alias.name.startswith("csad.")}
    return frozenset(found - {name, "csad"})


def room_of(name: str) -> str:
    rooms = [room for room in ALLOWED.keys() | FREE if f"{name}.".startswith(f"{room}.")]
    return max(rooms, key=len, default="")


def test_every_module_is_of_a_room() -> None:
    assert [name for name in MODULES if not room_of(name)] == []


def allowed(name: str, room: str) -> set[str]:
    """What a module may import besides its room; a package's ``__init__`` names what lies below it as its doors."""
    doors = ALLOWED[room] | ({"messages"} if "errors" in ALLOWED[room] else set())  # whoever fails may also say so
    return doors if name in FILES else {*doors, name, "lazy"}


def test_rooms_import_only_what_the_table_allows() -> None:
    strangers = [
        f"{name} imports {other}"
        for name in MODULES
        if (room := room_of(name)) in ALLOWED
        for other in imports(name)
        if room_of(other) != room and not any(f"{other}.".startswith(f"{door}.") for door in allowed(name, room))
    ]
    assert strangers == []


def test_nobody_imports_the_command_line() -> None:
    assert [name for name in MODULES if not name.startswith(("cli", "__main__")) and "cli" in str(imports(name))] == []


def cycles() -> list[list[str]]:
    """Modules that can be reached from themselves, by sets of those that reach one another."""
    reach = {name: set(imports(name) & FILES.keys()) for name in FILES}
    for middle in FILES:
        for name in FILES:
            if middle in reach[name]:
                reach[name] |= reach[middle]
    knots = {frozenset(other for other in reach[name] if name in reach[other]) for name in FILES if name in reach[name]}
    return sorted(sorted(knot) for knot in knots)


def test_no_cycle() -> None:
    assert cycles() == []


def siblings() -> dict[str, list[int]]:
    """Package → how many files of the same folder each of its files imports."""
    counts: dict[str, list[int]] = {}
    for name in FILES:
        package = name.rpartition(".")[0]
        near = [other for other in imports(name) & FILES.keys() if other.rpartition(".")[0] == package]
        counts.setdefault(package, []).append(len(near))
    return counts


def test_files_import_few_siblings() -> None:
    counts = siblings()
    every = [count for package in counts.values() for count in package]
    assert sum(every) / len(every) <= 1.4
    assert {package: sum(own) / len(own) for package, own in counts.items() if sum(own) / len(own) > 2.2} == {}


def test_there_are_not_more_files_than_a_newcomer_can_learn() -> None:
    assert len(FILES) <= 205


def test_a_file_name_exists_once() -> None:
    # A command's file is named after the command, whatever does its work is named after what it does.
    named = Counter(path.name for name, path in FILES.items() if not name.startswith("cli.commands."))
    assert [name for name, count in named.items() if count > 1] == []


METHOD_FILES = [
    name for name in FILES if name.startswith("methods.") and "@METHODS.register" in FILES[name].read_text()
]


def test_a_method_never_imports_another_method() -> None:
    assert len(METHOD_FILES) > 1
    for name in METHOD_FILES:
        assert not set(METHOD_FILES) & imports(name), name


def test_each_file_directly_in_methods_is_a_method() -> None:
    direct = {name for name in FILES if name.startswith("methods.") and name.count(".") == 1}
    assert direct - set(METHOD_FILES) == {"methods.method"}


@pytest.mark.parametrize("name", sorted(name for name in FILES if name.startswith("methods.")))
def test_method_files_hold_no_mechanics(name: str) -> None:
    text = FILES[name].read_text()
    for word in ("requires_grad", "zero_grad", ".cuda(", "backward(", ".item(", "is_initialized"):
        assert word not in text, word


def test_torch_functional_is_never_called_F() -> None:
    assert [name for name, path in MODULES.items() if "functional as F" in path.read_text()] == []
