"""Real data, where there are any: a test that asks for them is skipped elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.scripts import ROOT


def root_of(name: str, folder: str, file: str) -> Path:
    """The data root, if the file lies in that folder there."""
    root = Path(os.environ.get("CSAD_DATA") or ROOT.resolve().parent / "shared" / "data")
    if not (root / folder / file).is_file():
        pytest.skip(f"{name} is not here: set CSAD_DATA to the folder that holds {folder}/")
    return root
