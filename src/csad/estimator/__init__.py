"""The scikit-learn face: any method of csad as a classifier that fits, predicts and transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.estimator.classifier import DebiasedClassifier as DebiasedClassifier

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "DebiasedClassifier": "csad.estimator.classifier.DebiasedClassifier",
    },
)
