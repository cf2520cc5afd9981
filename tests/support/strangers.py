"""What a stranger would like to run, and a run folder that asks for it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

FLAG = "PWNED"  # the file that there is once something of a stranger's was run
CANARY = f"open({FLAG!r}, 'w').close()\nfrom torch import nn\n\nclass Net(nn.Linear):\n    pass\n"


def poisoned_config(folder: Path, backbone: str, settings: dict[str, Any]) -> Path:
    """A copy of the run whose config names another backbone and its arguments."""
    place = folder.with_name("stranger")
    shutil.copytree(folder, place)
    text = (place / "config.toml").read_text()
    lines = [f"backbone = {json.dumps(backbone)}", *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
    changed, count = re.subn(r"^backbone = .*$", lambda _: "\n".join(lines), text, flags=re.MULTILINE)
    assert count == 1
    (place / "config.toml").write_text(re.sub(r"^hidden = .*\n", "", changed, flags=re.MULTILINE))
    return place
