"""What tests of the command line type."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from csad.cli import app

# The shortest training of every stage.
SHORT = [
    word
    for name in ("target_epochs", "bias_epochs", "estimator_epochs", "epochs")
    for word in ("--set", f"train.{name}=1")
]


def typed(*words: str) -> Any:
    """What came of it: exit code, stdout, stderr."""
    return CliRunner().invoke(app, list(words))


def python(*words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Python with these words, as a program of its own."""
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=120, **options)


def contents(place: Path) -> dict[str, bytes | None]:
    """All that lies in a folder, by path: bytes of files, nothing of folders."""
    return {str(path.relative_to(place)): path.read_bytes() if path.is_file() else None for path in place.rglob("*")}
