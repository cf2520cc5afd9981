"""Tests lie where the source does, and names are found once."""

import ast
from collections import defaultdict

from tests.support.paths import BENCHMARKS, DOCS, ROOT, SOURCE

TESTS = ROOT / "tests"


def test_tests_are_named_after_what_they_test() -> None:
    """``tests/a/test_b_aspect.py`` tests ``csad/a/b.py``, or all files of a folder named b."""
    homeless = []
    for path in sorted(TESTS.rglob("test_*.py")):
        if path.parent == TESTS:  # tests of csad as a whole
            continue
        place = path.parent.relative_to(TESTS)
        folder = {"benchmarks": BENCHMARKS, "docs": DOCS}.get(place.parts[0], SOURCE / place)
        named = [file.stem for file in folder.glob("*.py")] + [place.name]
        subject = path.stem.removeprefix("test_")
        if not any(subject == name or subject.startswith(f"{name}_") for name in named):
            homeless.append(str(path.relative_to(ROOT)))
    assert homeless == []


def test_shared_set_ups_are_in_one_package() -> None:
    named = ("test_", "conftest")
    helpers = {path.parent for path in TESTS.rglob("*.py") if not path.name.startswith(named)}
    assert helpers == {TESTS / "support", TESTS / "files"}


def public_names() -> dict[str, list[str]]:
    """Each public class and function at the top of a file → the files that define it."""
    homes = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(SOURCE)))
    return homes


def test_a_public_name_is_defined_once() -> None:
    twice = {name: homes for name, homes in public_names().items() if len(set(homes)) > 1}
    assert {name: homes for name, homes in twice.items() if name not in TWICE} == {}
    assert TWICE.keys() <= twice.keys(), "take it off the list"


def test_locals_say_what_they_hold() -> None:
    vague = {"found", "one", "own", "told"}
    named = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""
            if name in vague:
                named.append(f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)} {name}")
    assert named == []


# A name that two files define, and why both keep it.
COMMAND = "a command of the command line and the function that does its work"
TWICE = {
    **dict.fromkeys(("audit", "evaluate", "reproduce", "simulate", "train"), COMMAND),
    "predict_file": "with torch a run predicts, without it an exported file does",
}
