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

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.auditing.of_model import audit as audit
    from csad.data.arrays import from_arrays as from_arrays
    from csad.data.own.from_files import from_table as from_table
    from csad.data.pairs import Related as Related
    from csad.data.samples import Classes as Classes
    from csad.data.samples import Dataset as Dataset
    from csad.data.samples import Number as Number
    from csad.data.samples import Samples as Samples
    from csad.data.samples import Task as Task
    from csad.errors import InputError as InputError
    from csad.estimator.classifier import DebiasedClassifier as DebiasedClassifier
    from csad.reproduction.check import check as check
    from csad.reproduction.reproduce import reproduce as reproduce
    from csad.runs.evaluate import evaluate as evaluate
    from csad.runs.listeners import Listener as Listener
    from csad.runs.listeners import TrainingWarning as TrainingWarning
    from csad.runs.run import Run as Run
    from csad.runs.run import load as load
    from csad.sweeps.campaign import RunOptions as RunOptions
    from csad.sweeps.sweep import Sweep as Sweep
    from csad.sweeps.sweep import sweep as sweep
    from csad.sweeps.train import train as train

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Classes": "csad.data.samples.Classes",
        "Dataset": "csad.data.samples.Dataset",
        "DebiasedClassifier": "csad.estimator.classifier.DebiasedClassifier",
        "InputError": "csad.errors.InputError",
        "Listener": "csad.runs.listeners.Listener",
        "Number": "csad.data.samples.Number",
        "Related": "csad.data.pairs.Related",
        "Run": "csad.runs.run.Run",
        "RunOptions": "csad.sweeps.campaign.RunOptions",
        "Samples": "csad.data.samples.Samples",
        "Sweep": "csad.sweeps.sweep.Sweep",
        "Task": "csad.data.samples.Task",
        "TrainingWarning": "csad.runs.listeners.TrainingWarning",
        "audit": "csad.auditing.of_model.audit",
        "check": "csad.reproduction.check.check",
        "evaluate": "csad.runs.evaluate.evaluate",
        "from_arrays": "csad.data.arrays.from_arrays",
        "from_table": "csad.data.own.from_files.from_table",
        "load": "csad.runs.run.load",
        "reproduce": "csad.reproduction.reproduce.reproduce",
        "sweep": "csad.sweeps.sweep.sweep",
        "train": "csad.sweeps.train.train",
    },
    "__version__",
)
