"""What a model knows of the bias, and what it gets right: arrays in, figures out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.auditing.audit import Audit as Audit
    from csad.auditing.comparison import Comparison as Comparison
    from csad.auditing.leakage.leakage import Leakage as Leakage
    from csad.auditing.leakage.verdicts import Verdict as Verdict
    from csad.auditing.measure import Alignment as Alignment
    from csad.auditing.metrics.all_metrics import all_metrics as all_metrics
    from csad.auditing.metrics.classification import consistency as consistency
    from csad.auditing.metrics.intervals import bootstrap as bootstrap
    from csad.auditing.metrics.intervals import bootstrap_difference as bootstrap_difference
    from csad.auditing.metrics.metric import METRICS as METRICS
    from csad.auditing.metrics.metric import Metrics as Metrics

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Alignment": "csad.auditing.measure.Alignment",
        "Audit": "csad.auditing.audit.Audit",
        "Comparison": "csad.auditing.comparison.Comparison",
        "Leakage": "csad.auditing.leakage.leakage.Leakage",
        "METRICS": "csad.auditing.metrics.metric.METRICS",
        "Metrics": "csad.auditing.metrics.metric.Metrics",
        "Verdict": "csad.auditing.leakage.verdicts.Verdict",
        "all_metrics": "csad.auditing.metrics.all_metrics.all_metrics",
        "bootstrap": "csad.auditing.metrics.intervals.bootstrap",
        "bootstrap_difference": "csad.auditing.metrics.intervals.bootstrap_difference",
        "consistency": "csad.auditing.metrics.classification.consistency",
    },
)
