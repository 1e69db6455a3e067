"""Winners for use without csf: plain coefficients, scikit-learn's own classes, ONNX."""

from csf.export.decisions import LabelRules, RowThresholdRules, ScoreRule, SegmentRules, decision_rule
from csf.export.rules import LinearRule, NumberColumn, TableRule, TextColumn, linear_rule, table_rule
from csf.export.tools import ClassRule, CostRule, class_rule, cost_rule, fixed_threshold, review_rule, to_onnx

__all__ = [
    "ClassRule",
    "CostRule",
    "LabelRules",
    "LinearRule",
    "NumberColumn",
    "TableRule",
    "TextColumn",
    "ScoreRule",
    "RowThresholdRules",
    "SegmentRules",
    "class_rule",
    "cost_rule",
    "decision_rule",
    "fixed_threshold",
    "linear_rule",
    "review_rule",
    "table_rule",
    "to_onnx",
]
