"""scikit-learn's own checks on both estimators."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn_checks import OTHER_LABELS_AND_WEIGHTS, any_labels

from csf.fenchel import AMP, FenchelSVM

pytestmark = pytest.mark.filterwarnings("ignore")


@parametrize_with_checks(
    [any_labels(part) for part in (FenchelSVM(), FenchelSVM(base=LogisticRegression()), AMP())],
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [FenchelSVM(), FenchelSVM("qmean"), FenchelSVM(base=LogisticRegression()), AMP(), AMP(level="surrogate")],
    expected_failed_checks=lambda estimator: OTHER_LABELS_AND_WEIGHTS,
)
def test_sklearn_checks_of_two_usual_labels(estimator, check):
    check(estimator)
