"""Find the class costs that maximise the metric you care about."""

from csf.macro import MacroCostSearch
from csf.profiles import ErrorProfile
from csf.search import CostSearch
from csf.study import Study
from csf.trials import Trial

__all__ = ["CostSearch", "ErrorProfile", "MacroCostSearch", "Study", "Trial", "__version__"]

__version__ = "0.1.0"
