"""Winners in people's own tools: plain coefficients, scikit-learn's own classes, ONNX. None of them needs csf."""

from csf.show.export import ClassRule, CostRule, class_rule, cost_rule, fixed_threshold, review_rule, to_onnx
from csf.show.rules import LinearRule, NumberColumn, TableRule, TextColumn, linear_rule, table_rule

__all__ = [
    "ClassRule",
    "CostRule",
    "LinearRule",
    "NumberColumn",
    "TableRule",
    "TextColumn",
    "class_rule",
    "cost_rule",
    "fixed_threshold",
    "linear_rule",
    "review_rule",
    "table_rule",
    "to_onnx",
]
