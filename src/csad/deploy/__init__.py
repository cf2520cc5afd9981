"""Predict with an exported ONNX file: this needs NumPy and onnxruntime only, not torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.deploy.files import predict_file as predict_file
    from csad.deploy.model import Model as Model
    from csad.deploy.predictions import Predictions as Predictions

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Model": "csad.deploy.model.Model",
        "Predictions": "csad.deploy.predictions.Predictions",
        "predict_file": "csad.deploy.files.predict_file",
    },
)
