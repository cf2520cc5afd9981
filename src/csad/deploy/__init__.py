"""Predicts with an exported ONNX file: NumPy and onnxruntime are all it loads, so torch need not be there."""

from csad.deploy.files import predict_file
from csad.deploy.model import Model
from csad.deploy.predictions import Predictions

__all__ = ["Model", "Predictions", "predict_file"]
