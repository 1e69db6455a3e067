"""How class costs reach training."""

from csf.costs.channel import CostChannel, WeightRoute, cost_channel, weight_route
from csf.costs.one_vs_rest import (
    WEIGHTINGS,
    OneVsRestChannel,
    OneVsRestRoute,
    assembled,
    one_vs_rest_channel,
    one_vs_rest_route,
    problem_costs,
)
from csf.costs.weights import NORMALIZATIONS, check_class_weight, cost_sample_weight

__all__ = [
    "NORMALIZATIONS",
    "WEIGHTINGS",
    "CostChannel",
    "OneVsRestChannel",
    "OneVsRestRoute",
    "WeightRoute",
    "assembled",
    "check_class_weight",
    "cost_channel",
    "cost_sample_weight",
    "one_vs_rest_channel",
    "one_vs_rest_route",
    "problem_costs",
    "weight_route",
]
