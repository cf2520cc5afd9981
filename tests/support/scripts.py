"""Programs that are no part of the package, in benchmarks/ and docs/, as modules that tests can call."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.support.paths import ROOT


def script(path: str) -> Any:
    """The module that a file makes, by its path from the root of the repository; it may import its neighbours."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.object(sys, "path", [str((ROOT / path).parent), *sys.path]):  # as Python does for a program
        spec.loader.exec_module(module)
    return module
