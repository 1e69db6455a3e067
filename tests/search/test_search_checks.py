"""scikit-learn's own checks on CostSearch, with several bases."""

import pytest
from builders import paper_search
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn_checks import OTHER_LABELS_AND_WEIGHTS, SecondClassPositive, any_labels

pytestmark = pytest.mark.filterwarnings("ignore")

PROBA = {"check_classifiers_train": "predict cuts the score where the metric is best, not where probabilities tie"}
FOLDS = {
    "check_sample_weight_equivalence_on_dense_data": "repeating rows changes the folds; with given folds it holds "
    "(test_search.py)",
}


SCALED = make_pipeline(StandardScaler(), LogisticRegression())
EXPECTED = {"LogisticRegression": PROBA, "Pipeline": PROBA | FOLDS}
BASES = [LinearSVC(), LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0), SCALED]


def expected_failures(search):
    labels = {} if isinstance(search, SecondClassPositive) else OTHER_LABELS_AND_WEIGHTS
    return labels | EXPECTED.get(type(search.base).__name__, {})


@parametrize_with_checks(
    [any_labels(paper_search(base, n_trials=3, cv=3)) for base in (BASES[0], BASES[-1])],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [paper_search(base, n_trials=3, cv=3) for base in BASES]
    + [any_labels(paper_search(base, n_trials=3, cv=3)) for base in BASES[1:-1]],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks_of_other_bases_and_two_usual_labels(estimator, check):
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
    search = paper_search(LinearSVC(), **{name: value})
    with pytest.raises((TypeError, ValueError), match=f"{name} must be"):
        search.fit([[0.0], [1.0]] * 10, [0, 1] * 10)


@pytest.mark.parametrize("grid", [0, [1.0], {"C": 1.0}, [], ()])
def test_the_grid_of_parameters_is_named(grid):
    with pytest.raises((TypeError, ValueError), match=r"param_grid=.* cannot be used: (Parameter|it holds no setting)"):
        paper_search(LinearSVC(), param_grid=grid).fit([[0.0], [1.0]] * 10, [0, 1] * 10)
