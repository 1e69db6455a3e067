"""How class costs reach training."""

from csf.costs.channel import CostChannel, cost_channel
from csf.costs.one_vs_rest import (
    WEIGHTINGS,
    OneVsRestChannel,
    assembled,
    one_vs_rest_channel,
    problem_costs,
)
from csf.costs.weights import NORMALIZATIONS, check_class_weight, cost_sample_weight

__all__ = [
    "NORMALIZATIONS",
    "WEIGHTINGS",
    "CostChannel",
    "OneVsRestChannel",
    "assembled",
    "check_class_weight",
    "cost_channel",
    "cost_sample_weight",
    "one_vs_rest_channel",
    "problem_costs",
]
