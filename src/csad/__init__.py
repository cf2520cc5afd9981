"""csad trains models that do not lean on a known bias, and proves it (CSAD: Zhu et al., ICCV 2021).

::

    x ─F─▶ h ─┬─ D_y ─▶ h_y ─ P_y ─▶ y        target branch: all that is left at test time
              └─ D_b ─▶ h_b ─ P_b ─▶ b        bias branch: thrown away after training
                 h_y ─ M_y ─┐
                            ├─▶ scores M(h_y_i, h_b_j)  (N, N)  = content + structure (random walk with restart)
                 h_b ─ M_b ─┘
         b ─▶ related Ω (N, N) mask ─▶ bound I_CS(scores, Ω) ─▶ M climbs it, F descends it
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from csad.data.arrays import from_arrays
    from csad.data.pairs import Related
    from csad.data.samples import Classes, Dataset, Number, Samples, Task
    from csad.data.tables.own import from_table
    from csad.errors import InputError
    from csad.estimator import DebiasedClassifier
    from csad.experiments.audits.audit import audit
    from csad.experiments.check import check
    from csad.experiments.listeners import TrainingWarning
    from csad.experiments.reproduce import reproduce
    from csad.experiments.run import Run, evaluate, load
    from csad.experiments.sweep import sweep
    from csad.experiments.train import train

__version__ = "0.1.0"

# Public names are imported when first used: ``import csad`` is quick and loads nothing it may not need.
_HOMES = {
    "train": "csad.experiments.train",
    "audit": "csad.experiments.audits.audit",
    "sweep": "csad.experiments.sweep",
    "reproduce": "csad.experiments.reproduce",
    "check": "csad.experiments.check",
    "TrainingWarning": "csad.experiments.listeners",
    "load": "csad.experiments.run",
    "evaluate": "csad.experiments.run",
    "Run": "csad.experiments.run",
    "from_arrays": "csad.data.arrays",
    "from_table": "csad.data.tables.own",
    "Samples": "csad.data.samples",
    "Dataset": "csad.data.samples",
    "Task": "csad.data.samples",
    "Classes": "csad.data.samples",
    "Number": "csad.data.samples",
    "Related": "csad.data.pairs",
    "InputError": "csad.errors",
    "DebiasedClassifier": "csad.estimator",
}

__all__ = [
    "Classes",
    "Dataset",
    "DebiasedClassifier",
    "InputError",
    "Number",
    "Related",
    "Run",
    "Samples",
    "Task",
    "TrainingWarning",
    "__version__",
    "audit",
    "check",
    "evaluate",
    "from_arrays",
    "from_table",
    "load",
    "reproduce",
    "sweep",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'csad' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
