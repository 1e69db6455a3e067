"""Winners in people's own tools: plain coefficients, scikit-learn's own classes, ONNX. None of them needs csf."""

from csf.export.fixed_threshold import fixed_threshold
from csf.export.linear import LinearRule, linear_rule
from csf.export.onnx import to_onnx

__all__ = ["LinearRule", "fixed_threshold", "linear_rule", "to_onnx"]
