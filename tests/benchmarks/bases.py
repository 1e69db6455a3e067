"""Classifiers that several measurements share."""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

__all__ = ["LINEAR"]

# Each with a solver of csf's own, in the settings that scikit-learn gives it.
LINEAR = {"squared hinge": LinearSVC(), "hinge": LinearSVC(loss="hinge"), "logistic": LogisticRegression()}
