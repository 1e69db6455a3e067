"""scikit-learn's own checks on every classifier with a threshold."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from csf.thresholding import BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier, RandomizedFrankWolfePlugIn

NEEDS_POS_LABEL = "the check's labels are not {0, 1} or {-1, 1}: guessing the positive class would tune the wrong one"
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
PROBA = {"check_classifiers_train": "predict cuts where the metric is best, not where probabilities tie"}


class SecondClassPositive:
    """Takes the second class as positive, so that checks with other labels run as well."""

    def fit(self, X, y, sample_weight=None, **params):
        given, labels = self.pos_label, () if y is None else np.unique(np.asarray(y).astype(str))
        if len(labels) == 2:
            self.pos_label = next(label for label in np.asarray(y).reshape(-1) if str(label) == labels[1])
        try:
            return super().fit(X, y, sample_weight=sample_weight, **params)
        finally:
            self.pos_label = given


class PlugInOfSecond(SecondClassPositive, PlugInClassifier):
    pass


class FrankWolfeOfSecond(SecondClassPositive, FrankWolfePlugIn):
    pass


LOGISTIC = LogisticRegression(solver="newton-cholesky")  # the default takes ten times as long
CLASSIFIERS = [
    PlugInClassifier(LOGISTIC, cv=2),
    PlugInClassifier(LinearSVC(), cv=2),
    BisectionPlugIn(LOGISTIC, cv=2),
    BisectionPlugIn(LinearSVC(), cv=2, calibration="sigmoid"),
    FrankWolfePlugIn(LOGISTIC, cv=2),
    FrankWolfePlugIn(LinearSVC(), cv=2, calibration="isotonic"),
    RandomizedFrankWolfePlugIn(LOGISTIC, cv=2, random_state=0),
    RandomizedFrankWolfePlugIn(LinearSVC(), cv=2, calibration="sigmoid", random_state=0),
]
ANY_LABELS = [PlugInOfSecond(LOGISTIC, cv=2), FrankWolfeOfSecond(LinearSVC(), cv=2, calibration="isotonic")]


def expected_failures(classifier):
    return {} if isinstance(classifier, SecondClassPositive) else OTHER_LABELS


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ANY_LABELS, expected_failed_checks=expected_failures)
def test_sklearn_checks_with_any_labels(estimator, check):
    check(estimator)
