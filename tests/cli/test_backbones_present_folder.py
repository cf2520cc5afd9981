"""Modules in the folder where csad is called: none is run, but for those that the user names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.commands import SHORT, python
from tests.support.strangers import poisoned_config

# Modules that csad itself, torch or Python import under names that anybody may give to a file of theirs.
NAMES = ("torch", "numpy", "csv", "json", "typing", "typer", "rich", "random", "sklearn")
# Modules that these try to import, and that are not installed here, or may not be elsewhere.
TRIED = (
    "flint", "gmpy", "gmpy2", "psutil", "numexpr", "bottleneck", "triton", "tabulate", "timm", "torchvision", "tqdm",
)  # fmt: skip
RUN_CSAD = ["-P", "-c", "from csad.cli import main; main()"]  # as the installed command does


def traps(place: Path, names: Iterable[str]) -> None:
    """Files of these names that say so when they are run."""
    for name in names:
        (place / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the present folder was run')\n")


@pytest.mark.parametrize("call", [RUN_CSAD, ["-m", "csad"]], ids=["csad", "-m"])
@pytest.mark.parametrize("words", [["list", "methods"], ["evaluate", "good"], ["--version"]], ids="-".join)
def test_files_in_the_present_folder_hide_no_module(here: Path, call: list[str], words: list[str]) -> None:
    early = {"typing"} if call[0] == "-m" else set()  # which Python itself imports there before csad is asked
    traps(here, set(NAMES) - early)
    result = python(*call, *words, cwd=here)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "was run" not in result.stdout + result.stderr


BESIDE = """
from torch import nn

from neighbour import WIDTH


class Net(nn.Sequential):
    def __init__(self):
        import late_neighbour

        super().__init__(nn.Linear(8, WIDTH))
"""


@pytest.mark.parametrize("module", ["beside", "package.inner"])
def test_a_backbone_beside_the_user_has_its_neighbours_and_nobody_else_is_run(here: Path, module: str) -> None:
    (here / "package").mkdir()
    (here / "package" / "__init__.py").write_text("")
    (here / f"{module.replace('.', '/')}.py").write_text(BESIDE)
    (here / "neighbour.py").write_text("import next_neighbour\n\nWIDTH = 4\n")
    for name in ("next_neighbour", "late_neighbour"):
        (here / f"{name}.py").write_text("")
    traps(here, [*NAMES, *TRIED])
    own = ["--backbone", f"{module}:Net"]
    for words in (
        ["train", "toy-table", "--method", "vanilla", *SHORT, "--out", "own", "--quiet"],
        ["audit", "own", "--quiet"],
        ["export", "own", "--format", "pt2", "--no-data"],
        ["audit", "own", "--against", str(poisoned_config(here / "good", "timm:resnet18", {}))],
    ):
        result = python(*RUN_CSAD, *words, *own, cwd=here)
        assert "was run" not in result.stdout + result.stderr
        if "--against" in words:  # timm is not there, but for the file in the present folder
            assert result.returncode == 2
            assert "needs timm, which is not installed" in result.stderr
        else:
            assert result.returncode == 0, result.stdout + result.stderr


INSTALLED = """
from torch import nn

try:
    import tqdm
except ImportError:
    pass


class Net(nn.Flatten):
    pass
"""


@pytest.mark.parametrize("own", ["torch.nn:Flatten", "installed:Net"])
def test_a_backbone_that_is_installed_has_no_neighbours_in_the_present_folder(
    here: Path, tmp_path_factory: pytest.TempPathFactory, own: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("site")
    (elsewhere / "installed.py").write_text(INSTALLED)
    traps(here, [*NAMES, *TRIED])
    for words in (
        ["train", "toy-table", "--method", "vanilla", *SHORT, "--out", "own", "--quiet"],
        ["audit", "own", "--quiet"],
        ["export", "own", "--format", "pt2", "--no-data"],
        ["export", "own", "--format", "onnx", "--no-data"],
    ):
        found = {"cwd": here, "env": os.environ | {"PYTHONPATH": str(elsewhere)}}
        result = python(*RUN_CSAD, *words, "--backbone", own, **found)
        assert result.returncode == 0, result.stdout + result.stderr
