"""scikit-learn's own checks on estimators of two classes.

Some checks have labels other than {0, 1} and {-1, 1}, where csf refuses to guess which class is the positive one.
Estimators that take the second class (or the first for the null class) run them all.
"""

from functools import wraps

import numpy as np
from sklearn.utils.estimator_checks import check_estimator

from csf import CostSearch

__all__ = ["FirstClassNull", "SecondClassPositive", "any_labels", "faults_of"]


def faults_of(estimator, expected):
    """Checks that fail, and those that were expected to fail (names and reasons) and pass."""
    results = check_estimator(estimator, expected_failed_checks=expected, on_skip=None, on_fail=None)
    assert len(results) > 40
    failed = [f"{each['check_name']}: {each['exception']!r}" for each in results if each["status"] == "failed"]
    passed = [each["check_name"] for each in results if each["status"] == "passed" and each["expected_to_fail"]]
    return failed + [f"{name} passes" for name in passed]


class SecondClassPositive:
    """What estimators that take the second class as positive have in common."""


def any_labels(estimator):
    """The same estimator, for any labels; its class can be found by pickle."""
    kind = type(estimator)
    name = f"Any{kind.__name__}"
    if name not in globals():
        fields = {"__module__": __name__, "__init__": kind.__init__, "fit": _taking_the_second(kind)}
        globals()[name] = type(name, (SecondClassPositive, kind), fields)
    return globals()[name](**estimator.get_params(deep=False))


def _taking_the_second(kind):
    @wraps(kind.fit)  # scikit-learn reads the arguments
    def fit(self, X, y, *args, **params):
        given, labels = self.pos_label, () if y is None else np.unique(np.asarray(y).astype(str))
        if len(labels) == 2 and np.squeeze(np.asarray(y)).ndim == 1:  # and not a column a label
            self.pos_label = next(label for label in np.asarray(y).reshape(-1) if str(label) == labels[1])
        try:
            return kind.fit(self, X, y, *args, **params)
        finally:
            self.pos_label = given

    return fit


class FirstClassNull(CostSearch):
    """CostSearch that takes the first class as the null one."""

    def fit(self, X, y, sample_weight=None, **fit_params):
        labels = np.unique(np.asarray(y).astype(str)) if y is not None else ()
        given = self.null_class
        if len(labels) > 1:
            self.null_class = next(label for label in np.asarray(y).ravel() if str(label) == labels[0])
        try:
            return super().fit(X, y, sample_weight=sample_weight, **fit_params)
        finally:
            self.null_class = given
