"""scikit-learn's own checks on every learner of csf.online."""

import inspect
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import csf.online
from csf.online import FOFO, OFO, OMCSL, OnlineLogistic, RiverClassifier

NEEDS_POS_LABEL = "the check's labels are not {0, 1} or {-1, 1}: guessing the positive class would learn the wrong one"
OTHER_LABELS = dict.fromkeys(
    [
        "check_estimators_dtypes",
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_fit2d_1feature",
    ],
    NEEDS_POS_LABEL,
)
NOT_AT_HALF = {"check_classifiers_train": "predict cuts at the learnt threshold, not where probabilities tie"}


class SecondClassPositive:
    """Takes the second class as positive, so that checks with other labels run as well."""

    def fit(self, X, y):
        given, labels = self.pos_label, () if y is None else np.unique(np.asarray(y).astype(str))
        if len(labels) == 2:
            self.pos_label = next(label for label in np.asarray(y).reshape(-1) if str(label) == labels[1])
        try:
            return super().fit(X, y)
        finally:
            self.pos_label = given


def learners():
    """Every public learner that is not a base, in its default form."""
    parts = (getattr(csf.online, name) for name in csf.online.__all__)
    found = [part() for part in parts if inspect.isclass(part) and not inspect.isabstract(part)]
    return [part for part in found if find_spec("river") or not isinstance(part, RiverClassifier)]


VARIANTS = [
    OnlineLogistic(),
    OnlineLogistic(step="paper", alpha=1e-3, averaging="suffix", fit_intercept=False),
    OFO(posterior=SGDClassifier(loss="log_loss", alpha=1.0, random_state=0), batch_size=20, random_state=0),
    FOFO("jaccard", horizon=500, step_scale=3.0),
    OMCSL(loss="hinge", average=True, gamma="sqrt"),
]


def expected_failures(learner):
    thresholds = isinstance(learner, FOFO | OFO)
    labels = {} if isinstance(learner, SecondClassPositive) else OTHER_LABELS
    return labels | (NOT_AT_HALF if thresholds else {})


def any_labels(learner):
    """The same learner, for any labels; its class can be found by pickle."""
    kind = type(learner)
    fields = {"__module__": __name__, "__init__": kind.__init__}
    globals()[f"Any{kind.__name__}"] = type(f"Any{kind.__name__}", (SecondClassPositive, kind), fields)
    return globals()[f"Any{kind.__name__}"]()


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(learners() + VARIANTS, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([any_labels(learner) for learner in learners()], expected_failed_checks=expected_failures)
def test_sklearn_checks_with_any_labels(estimator, check):
    check(estimator)
