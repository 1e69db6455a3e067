"""The searches: CostSearch and MacroCostSearch."""

from csf.search.estimator import CostSearch
from csf.search.macro import MacroCostSearch

__all__ = ["CostSearch", "MacroCostSearch"]
