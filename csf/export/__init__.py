"""Winners for use without csf: plain coefficients, scikit-learn's own classes, ONNX."""

from csf.export.decisions import ScoreRule, decision_rule
from csf.export.records import read_rule
from csf.export.rules import LinearRule, NumberColumn, TableRule, TextColumn, linear_rule, table_rule
from csf.export.tools import fixed_threshold, to_onnx

__all__ = [
    "LinearRule",
    "NumberColumn",
    "ScoreRule",
    "TableRule",
    "TextColumn",
    "decision_rule",
    "fixed_threshold",
    "linear_rule",
    "read_rule",
    "table_rule",
    "to_onnx",
]
