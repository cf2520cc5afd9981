"""JSON that tells whether it was changed since it was written: a slip in it would go unnoticed otherwise."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from csad.errors import InputError

SEAL = "seal"


def sealed(values: Mapping[str, Any]) -> str:
    """The values as JSON, with a digest of them."""
    return json.dumps({**values, SEAL: _digest(values)}, indent=1) + "\n"


def unsealed(path: Path) -> Any:
    """The values of a file that ``sealed`` made, or an error where they were changed; one without a digest is taken."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read ({error}): train the run again.") from error
    if not isinstance(values, dict) or SEAL not in values:
        return values
    seal = values.pop(SEAL)
    if seal != _digest(values):
        raise InputError(
            f"{path} was changed since the run was trained, so what it makes of a row is not what the run learned: "
            "bring the old file back, or train the run again."
        )
    return values


def _digest(values: Mapping[str, Any]) -> str:
    plain = json.dumps(values, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]
