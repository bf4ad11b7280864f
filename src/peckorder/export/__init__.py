"""Models for other programs: ONNX, which runs without Python."""

from peckorder.export._onnx import to_onnx

__all__ = ["to_onnx"]
