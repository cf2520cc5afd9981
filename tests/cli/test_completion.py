"""The shell completes names of tasks, methods, backbones and tables, without loading torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from csad.cli import completion
from csad.registry import BACKBONES, DATASETS, METHODS
from csad.reproduction.spec import tables

CODE = (
    "import atexit, sys\n"
    "atexit.register(lambda: print('LOADED', *sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr))\n"
    "from csad.cli import main\n"
    "sys.argv = ['csad']\n"
    "main()\n"
)


def test_names_read_from_files_are_those_that_are_registered() -> None:
    assert completion.names_in("methods") == METHODS.names()
    assert completion.names_in("data/datasets") == DATASETS.names()
    assert completion.names_in("nets/backbones") == BACKBONES.names()
    assert completion.table_names("") == tables()
    assert completion.lists("") == list(completion.LISTS)


def test_the_users_own_files_are_tasks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("people.csv", "people.md", "toys.npz", ".hidden.csv"):
        (tmp_path / name).touch()
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "more.parquet").touch()
    assert completion.tasks("pe") == ["people.csv"]
    assert completion.tasks("toy") == ["toy-image", "toy-series", "toy-table", "toys.npz"]
    assert completion.tasks("tables/") == ["tables/more.parquet"]
    assert completion.tasks("nowhere/x") == []
    assert completion.tasks("")[-3:] == ["people.csv", "tables/", "toys.npz"]


def test_a_name_that_a_shell_would_run_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good = ["2026+a@b.csv", "a b.csv", "data=1.csv", "größe.csv"]
    bad = [
        "a;touch x.csv", "$(touch x).csv", "`x`.csv", "\\$(x).csv", "a&b.csv", "a|b.csv", "a --force.csv", "'a.csv",
        '"a.csv', "-a.csv", "=a.csv", "~a.csv", "a\x1b]0;b\x07.csv", "a\nb.csv", "a(1).csv", "!a.csv", "a*.csv",
        "#a.csv", "{a,b}.csv", "a>b.csv",
    ]  # fmt: skip
    for name in (*good, *bad):
        (tmp_path / name).touch()
    assert [name for name in completion.tasks("") if name.endswith(".csv")] == good


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("csad train toy-t", ["toy-table"]),
        ("csad train toy-table --method ad", ["ad-jsd"]),
        ("csad reproduce colored-mnist-b", ["colored-mnist-bounds"]),
        ("csad train toy-table --device c", ["cpu", "cuda"]),
        ("csad train toy-table --seed 0 --seed 1 --method ad", ["ad-jsd"]),
    ],
)
def test_a_key_press_in_the_shell_gives_names_and_loads_no_torch(words: str, expected: list[str]) -> None:
    asked = {"_CSAD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run([sys.executable, "-c", CODE], env=os.environ | asked, capture_output=True, text=True)
    assert done.stdout.split() == expected
    loaded = done.stderr.splitlines()[-1].split()
    assert loaded[0] == "LOADED"
    assert not {"torch", "numpy", "sklearn"} & set(loaded)


def test_completion_can_be_installed() -> None:
    done = subprocess.run([sys.executable, "-m", "csad", "--help"], capture_output=True, text=True)
    assert "--install-completion" in done.stdout
