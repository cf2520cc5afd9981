"""Shared by the tests of whole runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from own_data import DATASET, SHORT

import csad


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> csad.Run:
    """A short run that was kept; tests that change its folder copy it first."""
    return csad.train(DATASET, "csad", settings=SHORT, debias_weight=0.5, out=tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a TOML text the table called toys, the only one there is."""
    folder = tmp_path / "tables"
    folder.mkdir()
    monkeypatch.setattr("csad.experiments.table.FOLDER", folder)

    def declared(text: str) -> None:
        (folder / "toys.toml").write_text(text)

    return declared
