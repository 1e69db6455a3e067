"""scikit-learn's own checks on CostSearch, with several bases."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from csf import CostSearch

pytestmark = pytest.mark.filterwarnings("ignore")

NEEDS_POS_LABEL = "the check's labels are not {0, 1} or {-1, 1}: guessing the positive class would score the wrong one"
OTHER_LABELS = {
    "check_estimators_dtypes": NEEDS_POS_LABEL,
    "check_sample_weights_pandas_series": NEEDS_POS_LABEL,
    "check_sample_weights_not_an_array": NEEDS_POS_LABEL,
    "check_sample_weights_shape": NEEDS_POS_LABEL,
    "check_sample_weights_not_overwritten": NEEDS_POS_LABEL,
    "check_classifier_data_not_an_array": NEEDS_POS_LABEL,
    "check_classifiers_classes": NEEDS_POS_LABEL,
    "check_fit2d_1feature": NEEDS_POS_LABEL,
}
PROBA = {"check_classifiers_train": "predict cuts the score where the metric is best, not where probabilities tie"}
FOLDS = {
    "check_sample_weight_equivalence_on_dense_data": "repeating rows changes the folds; with given folds it holds "
    "(test_search.py)",
}


class SecondClassPositive(CostSearch):
    """CostSearch that takes the second class as positive, so that checks with other labels run as well."""

    def fit(self, X, y, sample_weight=None, **fit_params):
        given = self.pos_label
        labels = np.unique(np.asarray(y).astype(str)) if y is not None else ()
        if len(labels) == 2:
            self.pos_label = next(label for label in np.asarray(y).ravel() if str(label) == labels[1])
        try:
            return super().fit(X, y, sample_weight=sample_weight, **fit_params)
        finally:
            self.pos_label = given


SCALED = make_pipeline(StandardScaler(), LogisticRegression())
EXPECTED = {"LogisticRegression": PROBA, "Pipeline": PROBA | FOLDS}
BASES = [LinearSVC(), LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0), SCALED]


def expected_failures(search):
    labels = {} if isinstance(search, SecondClassPositive) else OTHER_LABELS
    return labels | EXPECTED.get(type(search.base).__name__, {})


@parametrize_with_checks(
    [CostSearch(base, n_trials=3, cv=3) for base in BASES], expected_failed_checks=expected_failures
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [SecondClassPositive(base, n_trials=3, cv=3) for base in BASES], expected_failed_checks=expected_failures
)
def test_sklearn_checks_with_any_labels(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("callbacks", print),
        ("callbacks", "text"),
        ("callbacks", [1]),
        ("checkpoint", 1),
        ("checkpoint", 2.5),
        ("checkpoint", ""),
    ],
)
def test_callbacks_and_checkpoint_are_checked(name, value):
    search = CostSearch(LinearSVC(), **{name: value})
    with pytest.raises((TypeError, ValueError), match=f"{name} must be"):
        search.fit([[0.0], [1.0]] * 10, [0, 1] * 10)


@pytest.mark.parametrize("grid", [0, "C", [1.0], {"C": 1.0}, [], ()])
def test_the_grid_of_parameters_is_named(grid):
    with pytest.raises((TypeError, ValueError), match=r"param_grid=.* cannot be used: (Parameter|it holds no setting)"):
        CostSearch(LinearSVC(), param_grid=grid).fit([[0.0], [1.0]] * 10, [0, 1] * 10)
