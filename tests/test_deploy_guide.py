"""The commands and the Python of the guide do what it says, one after the other."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from csad.cli import app
from tests.support.paths import GUIDES

GUIDE = GUIDES / "deploy.md"


def test_the_guide_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python)?\n(.*?)```", GUIDE.read_text(), flags=re.S)
    for language, text in blocks:
        if language:
            exec(compile(text, "guide", "exec"), {"__name__": "guide"})
            continue
        for line in text.splitlines():
            name, *words = shlex.split(line, comments=True)
            assert name == "csad"
            result = CliRunner().invoke(app, [*words, "--quiet"])
            assert result.exit_code == 0, result.output
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"run", "toy.pt2", "toy.safetensors", "again.safetensors", "new.npy"}
    assert (tmp_path / "run" / "model.onnx").exists()
