"""scikit-learn's own checks on every learner of csf.structural."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn_checks import OTHER_LABELS, any_labels

import csf.structural
from csf.structural import FTRL, CuttingPlane, OnePassMiniBatch, ProjectedSubgradient, TableLoss, TwoPassMiniBatch


def learners():
    """Every public learner, in its default form."""
    parts = (getattr(csf.structural, name) for name in csf.structural.__all__)
    return [part() for part in parts if inspect.isclass(part) and issubclass(part, BaseEstimator)]


VARIANTS = [
    OnePassMiniBatch("f1", buffer_size=20, eta=10.0, tune_threshold=True, fit_intercept=False),
    TwoPassMiniBatch("prbep", buffer_size=20, reservoir_size=10, reweight=False),
    CuttingPlane(TableLoss("gmean"), C=1e3, tune_threshold=True),
    ProjectedSubgradient("f2", eta=1.0),
    FTRL("pauc", refit=50),
]


def test_every_learner_is_checked():
    names = {type(learner).__name__ for learner in learners()}
    assert names == {"CuttingPlane", "FTRL", "OnePassMiniBatch", "ProjectedSubgradient", "TwoPassMiniBatch"}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([any_labels(learner) for learner in learners()])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(learners() + VARIANTS, expected_failed_checks=lambda learner: OTHER_LABELS)
def test_sklearn_checks_of_two_usual_labels(estimator, check):
    check(estimator)
