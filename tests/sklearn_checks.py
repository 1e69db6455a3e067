"""scikit-learn's own checks on estimators of two classes.

Some checks have labels other than {0, 1} and {-1, 1}, where csf refuses to guess which class is the positive one. The
quick suite runs all checks on estimators that take the second class; the slow one on those that people use as well.
"""

from functools import wraps

import numpy as np

__all__ = ["NEEDS_POS_LABEL", "OTHER_LABELS", "OTHER_LABELS_AND_WEIGHTS", "SecondClassPositive", "any_labels"]

NEEDS_POS_LABEL = "the check's labels are not {0, 1} or {-1, 1}: guessing the positive class would take the wrong one"
OTHER_LABELS = dict.fromkeys(
    [
        "check_estimators_dtypes",
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_fit2d_1feature",
    ],
    NEEDS_POS_LABEL,
)
OTHER_LABELS_AND_WEIGHTS = OTHER_LABELS | dict.fromkeys(
    [
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
    ],
    NEEDS_POS_LABEL,
)


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
        if len(labels) == 2:
            self.pos_label = next(label for label in np.asarray(y).reshape(-1) if str(label) == labels[1])
        try:
            return kind.fit(self, X, y, *args, **params)
        finally:
            self.pos_label = given

    return fit
