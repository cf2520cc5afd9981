"""The scikit-learn face: any method of csad as a classifier that fits, predicts and transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from csad.estimator.classifier import DebiasedClassifier

__all__ = ["DebiasedClassifier"]


def __getattr__(name: str) -> Any:
    """The classifier, imported when first used: who needs only the rows beside it loads no scikit-learn."""
    if name != "DebiasedClassifier":
        raise AttributeError(f"module 'csad.estimator' has no attribute {name!r}")
    from csad.estimator.classifier import DebiasedClassifier

    return DebiasedClassifier
