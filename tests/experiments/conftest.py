"""Shared by the tests of whole runs."""

from __future__ import annotations

import pytest
from own_data import DATASET, SHORT

import csad


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> csad.Run:
    """A short run that was kept; tests that change its folder copy it first."""
    return csad.train(DATASET, "csad", settings=SHORT, debias_weight=0.5, out=tmp_path_factory.mktemp("runs") / "run")
