"""Every name that a document gives is imported from ``csad`` or from a package one level below it."""

import ast
import importlib
import re
import subprocess
import sys

import pytest

from tests.support.paths import DOCS, ROOT, SOURCE

# A page that tells of the inside names files and modules as they are; results are of their own time.
INSIDE = {"architecture.md", "walk.md"}
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(p for p in sorted(DOCS.rglob("*.md")) if p.name not in INSIDE and not {"results", "_site"} & set(p.parts)),
]
SCRIPTS = [*sorted((ROOT / "benchmarks").glob("*.py")), *sorted(DOCS.glob("*.py"))]
SOURCES = sorted(SOURCE.rglob("*.py"))
FILES = {"csad.json", "csad.toml"}  # these are files


def door_files():
    """The packages with doors → their files: csad, and those one level below it."""
    files = [SOURCE / "__init__.py", *sorted(SOURCE.glob("*/__init__.py"))]
    with_doors = [path for path in files if "lazy_names(" in path.read_text()]
    return {".".join(("csad", *path.relative_to(SOURCE).parent.parts)): path for path in with_doors}


def homes(path):
    """Name → place, as the call of ``lazy_names`` has them."""
    (call,) = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return ast.literal_eval(call.args[1])


def typed_homes(path):
    """Name → place, as type checkers and editors see them."""
    (block,) = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.If)]
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in block.body:
        if isinstance(node, ast.Assign):  # a door with a name of its own
            imported[node.targets[0].id] = imported.pop(node.value.id)
    return imported


DOORS = door_files()
NAMES = {door: homes(path) for door, path in DOORS.items()}


def is_door(path):
    """Whether a dotted path begins with a public name, or is a package with doors or part of the registry."""
    first, *rest = path.removeprefix("csad.").split(".")
    if first in NAMES["csad"] or first in ("__version__", "registry"):
        return True
    return f"csad.{first}" in DOORS and (not rest or rest[0] in NAMES[f"csad.{first}"])


def imported(path):
    """The dotted paths of what a Python file takes from csad."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "csad":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def named(text):
    """The dotted paths of csad that a text gives, in prose or in Python."""
    whole = set(re.findall(r"(?<![\w/'\"-])csad(?:\.\w+)+", text)) - FILES
    for module, names in re.findall(r"from (csad[\w.]*) import ([\w, ]+)", text):
        whole -= {module}
        whole |= {f"{module}.{name.split()[0]}" for name in names.split(",")}
    return sorted(whole)


def docstrings(path):
    tree = ast.parse(path.read_text())
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]


@pytest.mark.parametrize("door", DOORS)
def test_every_name_of_a_door_is_there(door):
    package = importlib.import_module(door)
    assert set(package.__all__) - {"__version__"} == NAMES[door].keys()
    assert dir(package) == sorted(package.__all__)
    for name, place in NAMES[door].items():
        module, _, attribute = place.rpartition(".")
        assert getattr(package, name) is getattr(importlib.import_module(module), attribute), name
        assert place.startswith(f"{door}.")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("door", DOORS)
def test_type_checkers_see_the_same_names(door):
    assert typed_homes(DOORS[door]) == NAMES[door]


def test_a_name_is_the_same_thing_at_every_door():
    places = {}
    for names in NAMES.values():
        for name, place in names.items():
            assert places.setdefault(name, place) == place


def test_documents_name_nothing_deeper_than_the_doors():
    texts = [(page.name, page.read_text()) for page in PAGES]
    texts += [(str(path), "\n".join(docstrings(path))) for path in SOURCES]
    deeper = [f"{where}: {path}" for where, text in texts for path in named(text) if not is_door(path)]
    assert deeper == []
    assert sum(len(named(text)) for _, text in texts) > 100


def test_directives_of_the_reference_name_doors():
    directives = [
        path
        for page in (DOCS / "api").glob("*.md")
        for path in re.findall(r"^\.\. [\w:]+:: (csad[\w.]+)", page.read_text(), flags=re.MULTILINE)
    ]
    assert len(directives) > 50
    assert [path for path in directives if not is_door(path) or path.count(".") > 2] == []


def test_scripts_use_a_door_where_there_is_one():
    places = {place: f"{door}.{name}" for door, names in NAMES.items() for name, place in names.items()}
    beside = [f"{path.name}: {place}" for path in SCRIPTS for place in imported(path) if place in places]
    assert beside == []


def test_the_inside_goes_through_no_door():
    """Else the test of who may import whom could not see what a module needs."""
    through = [
        f"{path.relative_to(SOURCE)}: {taken}"
        for path in SOURCES
        for taken in imported(path)
        if taken.rpartition(".")[0] in DOORS and taken.rpartition(".")[2] in NAMES[taken.rpartition(".")[0]]
    ]
    assert through == []


def test_opening_all_doors_loads_neither_torch_nor_scikit_learn():
    code = "\n".join([*(f"import {door}" for door in DOORS), "import sys", "print(*sys.modules)"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "sklearn", "scipy", "numpy"} & set(done.stdout.split())
