"""Classifiers that several measurements share."""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.builders import paper_search

__all__ = ["LINEAR", "paper_search"]

# Each with a solver of csf's own, in the settings that scikit-learn gives it.
LINEAR = {"squared hinge": LinearSVC(), "hinge": LinearSVC(loss="hinge"), "logistic": LogisticRegression()}
