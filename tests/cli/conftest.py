"""Shared by the tests of the command line: files of csad's own, and a place where none of a stranger's may be run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from commands import SHORT, typed
from strangers import CANARY, FLAG

import csad


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, its export, and a saved classifier: all made by csad."""
    place = tmp_path_factory.mktemp("trusted")
    words = ["toy-table", "--method", "vanilla", *SHORT, "--quiet"]
    assert typed("train", *words, "--out", str(place / "good")).exit_code == 0
    made = typed("export", str(place / "good"), "--out", str(place / "good.safetensors"), "--no-data")
    assert made.exit_code == 0, made.stderr
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 8)).astype(np.float32), np.arange(60) % 2
    csad.DebiasedClassifier("vanilla", epochs=1, random_state=0).fit(x, y, bias=y).save(place / "classifier")
    return place


@pytest.fixture
def here(trusted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the user stands, a canary in the present folder and on Python's path; neither may be imported."""
    shutil.copytree(trusted, tmp_path, dirs_exist_ok=True)
    (tmp_path / "canary.py").write_text(CANARY)
    np.save(tmp_path / "x.npy", np.zeros((3, 8), np.float32))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("canary", None)
    yield tmp_path
    assert "canary" not in sys.modules, "a file decided what is imported"
    assert not (tmp_path / FLAG).exists(), "a file decided what is run"
