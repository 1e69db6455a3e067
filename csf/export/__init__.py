"""Winners in people's own tools: plain coefficients, scikit-learn's own classes, ONNX. None of them needs csf."""

from csf.export.classes import ClassRule, class_rule
from csf.export.fixed_threshold import fixed_threshold
from csf.export.linear import LinearRule, linear_rule
from csf.export.onnx import to_onnx
from csf.export.table import NumberColumn, TableRule, TextColumn, table_rule

__all__ = [
    "ClassRule",
    "LinearRule",
    "NumberColumn",
    "TableRule",
    "TextColumn",
    "class_rule",
    "fixed_threshold",
    "linear_rule",
    "table_rule",
    "to_onnx",
]
