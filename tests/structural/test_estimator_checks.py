"""scikit-learn's own checks on every learner of csf.structural."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import csf.structural
from csf.structural import FTRL, CuttingPlane, OnePassMiniBatch, ProjectedSubgradient, TableLoss, TwoPassMiniBatch

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


def expected_failures(learner):
    return {} if isinstance(learner, SecondClassPositive) else OTHER_LABELS


def any_labels(learner):
    """The same learner, for any labels; its class can be found by pickle."""
    kind = type(learner)
    fields = {"__module__": __name__, "__init__": kind.__init__}
    globals()[f"Any{kind.__name__}"] = type(f"Any{kind.__name__}", (SecondClassPositive, kind), fields)
    return globals()[f"Any{kind.__name__}"]()


def test_every_learner_is_checked():
    names = {type(learner).__name__ for learner in learners()}
    assert names == {"CuttingPlane", "FTRL", "OnePassMiniBatch", "ProjectedSubgradient", "TwoPassMiniBatch"}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(learners() + VARIANTS, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([any_labels(learner) for learner in learners()], expected_failed_checks=expected_failures)
def test_sklearn_checks_with_any_labels(estimator, check):
    check(estimator)
