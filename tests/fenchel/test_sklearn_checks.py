"""scikit-learn's own checks on both estimators."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from csf.fenchel import AMP, FenchelSVM

pytestmark = pytest.mark.filterwarnings("ignore")

NEEDS_POS_LABEL = "the check's labels are not {0, 1} or {-1, 1}: guessing the positive class would train the wrong one"
OTHER_LABELS = dict.fromkeys(
    [
        "check_estimators_dtypes",
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_fit2d_1feature",
    ],
    NEEDS_POS_LABEL,
)


class SecondClassPositive:
    """Takes the second class as positive, so that checks with other labels run as well."""

    def fit(self, X, y, sample_weight=None):
        given = self.pos_label
        labels = np.unique(np.asarray(y).astype(str)) if y is not None else ()
        if len(labels) == 2:
            self.pos_label = next(label for label in np.asarray(y).ravel() if str(label) == labels[1])
        try:
            return super().fit(X, y, sample_weight=sample_weight)
        finally:
            self.pos_label = given


class AnyFenchelSVM(SecondClassPositive, FenchelSVM):
    """FenchelSVM for any labels."""


class AnyAMP(SecondClassPositive, AMP):
    """AMP for any labels."""


@parametrize_with_checks(
    [FenchelSVM(), FenchelSVM("qmean"), FenchelSVM(base=LogisticRegression()), AMP(), AMP(level="surrogate")],
    expected_failed_checks=lambda estimator: OTHER_LABELS,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [AnyFenchelSVM(), AnyFenchelSVM("hmean"), AnyFenchelSVM(base=LogisticRegression()), AnyAMP()],
)
def test_sklearn_checks_with_any_labels(estimator, check):
    check(estimator)
