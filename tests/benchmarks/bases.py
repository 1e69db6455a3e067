"""Classifiers that several measurements share."""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import CostSearch

__all__ = ["LINEAR"]

# Each with a solver of csf's own, in the settings that scikit-learn gives it.
LINEAR = {"squared hinge": LinearSVC(), "hinge": LinearSVC(loss="hinge"), "logistic": LogisticRegression()}

# The search whose price and size are compared: trials of the base as it is on five plain folds.
PAPER = {"strategy": "cone", "param_grid": None, "cv": 5, "threshold": "tune", "normalize": "none"}


def paper_search(base, *args, **options):
    """CostSearch of the papers."""
    return CostSearch(base, **(PAPER | dict(zip(("metric", "strategy"), args)) | options))
