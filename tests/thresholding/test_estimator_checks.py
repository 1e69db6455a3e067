"""scikit-learn's own checks on every classifier with a threshold."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn_checks import OTHER_LABELS_AND_WEIGHTS, any_labels

from csf.thresholding import BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier, RandomizedFrankWolfePlugIn

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


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([any_labels(classifier) for classifier in CLASSIFIERS[::2]])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=lambda classifier: OTHER_LABELS_AND_WEIGHTS)
def test_sklearn_checks_of_two_usual_labels(estimator, check):
    check(estimator)
