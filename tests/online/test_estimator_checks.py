"""scikit-learn's own checks on every learner of csf.online."""

import inspect
from importlib.util import find_spec

import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn_checks import OTHER_LABELS, SecondClassPositive, any_labels

import csf.online
from csf.online import FOFO, OFO, OMCSL, OnlineLogistic, RiverClassifier

NOT_AT_HALF = {"check_classifiers_train": "predict cuts at the learnt threshold, not where probabilities tie"}


def learners():
    """Every public learner that is not a base, in its default form."""
    parts = (getattr(csf.online, name) for name in csf.online.__all__)
    found = [part() for part in parts if inspect.isclass(part) and not inspect.isabstract(part)]
    return [part for part in found if find_spec("river") or not isinstance(part, RiverClassifier)]


VARIANTS = [
    OnlineLogistic(),
    OnlineLogistic(step="paper", alpha=1e-3, averaging="suffix", fit_intercept=False),
    OFO(posterior=SGDClassifier(loss="log_loss", alpha=1.0, random_state=0), batch_size=20, random_state=0),
    FOFO("jaccard", horizon=500, step_scale=3.0, random_state=0),
    OMCSL(loss="hinge", average=True, gamma="sqrt", random_state=0),
]


def expected_failures(learner):
    labels = {} if isinstance(learner, SecondClassPositive) else OTHER_LABELS
    return labels | (NOT_AT_HALF if getattr(learner, "posterior", None) is not None else {})


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([any_labels(learner) for learner in learners()], expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(learners() + VARIANTS, expected_failed_checks=expected_failures)
def test_sklearn_checks_of_two_usual_labels(estimator, check):
    check(estimator)
