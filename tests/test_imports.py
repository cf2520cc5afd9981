"""Each room knows its neighbours and no more."""

import ast
from pathlib import Path

import csad

ROOT = Path(csad.__file__).parent
# room → what of csad it may import, itself apart
ALLOWED = {
    "errors": set(),
    "printable": set(),
    "atomic": {"errors"},
    "registry": {"errors"},
    "data": {"registry", "errors"},
    "nets": {"registry", "errors"},
    "information": {"registry", "errors"},
    "methods": {"registry", "errors", "nets", "information", "data.samples", "data.pairs"},
    "training": {"errors", "atomic", "methods.method", "data.samples", "data.order", "data.pieces", "data.vary"},
    "auditing": {"errors"},
    "report": {"errors", "printable"},
    "deploy": {"errors", "atomic", "data.npz", "data.pieces", "data.tables"},
}
FREE = {"estimator", "experiments", "cli", "__init__", "__main__"}


def imports(path):
    """The csad modules that a file imports, as dotted names below csad."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names = [node.module] if node.module != "csad" else [f"csad.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (name.removeprefix("csad.") for name in names if name and name.startswith("csad."))


def room_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def files():
    return sorted(ROOT.rglob("*.py"))


def test_every_room_is_in_the_table():
    assert {room_of(path) for path in files()} == ALLOWED.keys() | FREE


def test_rooms_import_only_what_the_table_allows():
    strangers = [
        f"{path.relative_to(ROOT)} imports csad.{name}"
        for path in files()
        if (room := room_of(path)) in ALLOWED
        for name in imports(path)
        if name.split(".")[0] != room and not any(f"{name}.".startswith(f"{door}.") for door in ALLOWED[room])
    ]
    assert strangers == []


def test_nobody_imports_the_faces():
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files()
        if room_of(path) in ALLOWED
        for name in imports(path)
        if name.split(".")[0] in FREE
    ]
    assert found == []


def test_a_method_never_imports_another_method():
    own = {path.stem for path in (ROOT / "methods").glob("*.py") if "@METHODS.register" in path.read_text()}
    assert len(own) > 1
    for name in own:
        others = {f"methods.{other}" for other in own}
        assert not others & set(imports(ROOT / "methods" / f"{name}.py")), name


def test_method_files_hold_no_mechanics():
    for path in (ROOT / "methods").glob("*.py"):
        text = path.read_text()
        for word in ("requires_grad", "zero_grad", ".cuda(", "backward(", ".item(", "is_initialized"):
            assert word not in text, f"{path.name} has {word}"


def test_torch_functional_is_never_called_F():
    for path in files():
        assert "functional as F" not in path.read_text(), path
