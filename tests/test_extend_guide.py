"""The guide for researchers: its method, data set, backbone and figure run as they stand there."""

import re
import subprocess
import sys

from csad.registry import METHODS
from tests.support.paths import GUIDES

GUIDE = GUIDES / "extend.md"


def test_the_guide_can_be_followed(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.S)
    assert len(blocks) == 5
    # In a process of its own: what it registers would be in every later test of all methods.
    script = tmp_path / "guide.py"
    script.write_text("\n\n".join(blocks))
    told = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    accuracy, worst, of_run, gap, difference = told.stdout.splitlines()
    assert 0.5 < float(accuracy) <= 1
    assert 0 <= float(worst) <= 1
    value, low, high = map(float, re.findall(r"-?[\d.]+(?:e-?\d+)?", gap))
    assert low <= value <= high
    assert float(of_run) == value
    assert difference.startswith("(")
    assert (tmp_path / "runs" / "unread" / "result.json").exists()
    assert "unread" not in METHODS


def test_files_that_the_guide_names_are_there():
    text = GUIDE.read_text()
    source = GUIDE.parents[2] / "src" / "csad"
    named = re.findall(r"`((?:methods|runs|nets|data|information|auditing)/[\w/.-]*)`", text)
    assert len(named) >= 8
    for place in named:
        assert (source / place).exists(), place
