"""The search: CostSearch."""

from csf.search.estimator import CostSearch

__all__ = ["CostSearch"]
