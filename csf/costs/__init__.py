"""How class costs reach training."""

from csf.costs.one_vs_rest import WEIGHTINGS, OneVsRestRoute, assembled, one_vs_rest_route, problem_costs
from csf.costs.weights import NORMALIZATIONS, WeightRoute, check_class_weight, cost_sample_weight, weight_route

__all__ = [
    "NORMALIZATIONS",
    "WEIGHTINGS",
    "OneVsRestRoute",
    "WeightRoute",
    "assembled",
    "check_class_weight",
    "cost_sample_weight",
    "one_vs_rest_route",
    "problem_costs",
    "weight_route",
]
