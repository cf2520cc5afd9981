"""The scikit-learn face: any method of csad as a classifier that fits, predicts and transforms."""

from csad.estimator.classifier import DebiasedClassifier

__all__ = ["DebiasedClassifier"]
