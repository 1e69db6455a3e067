"""FenchelSVM: certificate, data and labels, any base, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf.fenchel import FenchelSVM, RewardProblem
from csf.metrics import FBeta, GMean, MinRate, get_metric


def draw(seed=0, n=400):
    return make_classification(n, n_features=6, weights=[0.85], flip_y=0.1, class_sep=0.7, random_state=seed)


@pytest.mark.parametrize("metric", ["gmean", "hmean", "qmean", GMean(eps=0.01)])
@pytest.mark.parametrize("seed", range(5))
def test_certificate(metric, seed):
    X, y = draw(seed)
    model = FenchelSVM(metric).fit(X, y)
    assert model.gap_ <= 1e-4
    assert model.gap_ == model.history_["gap"][-1]
    assert (np.diff(model.history_["objective"]) >= 0).all()
    assert set(model.history_) == {"objective", "gap", "alpha", "beta", "tpr", "tnr"}
    assert {len(column) for column in model.history_.values()} == {model.n_iter_}
    # the objective is that of the coefficients
    problem, w = RewardProblem(X, y == 1, None, C=1.0), np.append(model.coef_, model.intercept_)
    objective = get_metric(metric).extension(*problem.rates(problem.margins(w))) - 0.5 * problem.lam * w @ w
    assert objective == pytest.approx(model.history_["objective"][-1], abs=1e-12)


def test_gmean_rises_where_balanced_weights_fail():
    """Positives in two clumps: the balanced SVM sacrifices a class; both rewards count for G-mean."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(900, 1)), rng.normal(2.0, 4.0, size=(100, 1))])
    y = np.repeat([0, 1], [900, 100])
    balanced = LinearSVC(loss="hinge", class_weight="balanced", random_state=0, max_iter=10**5).fit(X, y)
    score = get_metric("gmean").score
    assert score(y, FenchelSVM().fit(X, y).predict(X)) >= score(y, balanced.predict(X))


def test_c_is_that_of_linear_svc():
    """With one step the bound is that of the balanced SVM; doubling all weights is doubling C."""
    X, y = draw(1)
    doubled = FenchelSVM(C=1.0, tol=1e-8).fit(X, y, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose(doubled.coef_, FenchelSVM(C=2.0, tol=1e-8).fit(X, y).coef_, atol=1e-6)


def test_containers_and_labels():
    X, y = draw(2)
    X[np.abs(X) < 0.3] = 0.0
    model = FenchelSVM(tol=1e-8).fit(X, y)
    for kind in (sparse.csr_matrix, sparse.csc_array, np.asfortranarray, pd.DataFrame, np.float32):
        other = FenchelSVM(tol=1e-8).fit(kind(X), y)
        np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-4)
        np.testing.assert_allclose(other.decision_function(kind(X)), model.decision_function(X), atol=1e-3)
    for names, pos_label in ((np.where(y == 1, "bad", "good"), "bad"), (np.where(y == 1, "yes", "no"), "yes")):
        named = FenchelSVM(tol=1e-8, pos_label=pos_label).fit(X, names)
        np.testing.assert_array_equal(named.predict(X) == pos_label, model.predict(X) == 1)
        np.testing.assert_array_equal(named.decision_function(X) > 0, named.predict(X) == named.classes_[1])
    signed = FenchelSVM(tol=1e-8).fit(X, 2 * y - 1)
    np.testing.assert_array_equal(signed.coef_, model.coef_)


def test_weights_repeat_and_zero_drops():
    X, y = draw(3)
    times = np.random.default_rng(0).integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = FenchelSVM().fit(X, y, sample_weight=times)
    np.testing.assert_allclose(weighted.coef_, FenchelSVM().fit(X[rows], y[rows]).coef_, rtol=1e-5, atol=1e-7)


def test_swapping_the_classes_swaps_the_duals():
    X, y = draw(4)
    model, swapped = FenchelSVM(tol=1e-8).fit(X, y), FenchelSVM(tol=1e-8, pos_label=0).fit(X, y)
    np.testing.assert_allclose(swapped.coef_, model.coef_, atol=1e-4)
    assert swapped.dual_ == pytest.approx(model.dual_[::-1], abs=1e-4)
    np.testing.assert_array_equal(swapped.predict(X), model.predict(X))


def test_order_of_samples_and_features_does_not_matter():
    X, y = draw(5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    moved = FenchelSVM(tol=1e-8).fit(X[rows][:, columns], y[rows])
    np.testing.assert_allclose(moved.coef_[0], FenchelSVM(tol=1e-8).fit(X, y).coef_[0, columns], atol=1e-4)


def test_repeats_itself_pickles_and_clones():
    X, y = draw(6)
    model = FenchelSVM().fit(X, y)
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_intercept_is_optional_and_scaled():
    X, y = draw(7)
    assert FenchelSVM(fit_intercept=False).fit(X, y).intercept_ == 0.0
    loose = FenchelSVM(C=1e-3, intercept_scaling=100.0).fit(X, y).intercept_
    assert abs(loose[0]) > abs(FenchelSVM(C=1e-3).fit(X, y).intercept_[0])


def test_silent_unless_asked(capfd):
    X, y = draw(0)
    FenchelSVM().fit(X, y)
    assert capfd.readouterr().out == ""
    model = FenchelSVM(verbose=1).fit(X, y)
    out = capfd.readouterr().out
    assert len(out.splitlines()) == model.n_iter_
    assert "objective" in out


BASES = [
    LogisticRegression(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    LinearSVC(random_state=0),
]


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_any_base(base):
    X, y = draw(8)
    model = FenchelSVM("gmean", base=base, max_iter=20).fit(X, y)
    plain = get_metric("gmean").score(y, clone(base).fit(X, y).predict(X))
    assert get_metric("gmean").score(y, model.predict(X)) >= plain
    assert np.isnan(model.gap_)
    assert (np.diff(model.history_["objective"]) >= 0).all()
    assert not hasattr(model, "coef_")
    names = np.where(y == 1, "bad", "good")
    named = FenchelSVM("gmean", base=base, max_iter=20, pos_label="bad").fit(X, names)
    np.testing.assert_array_equal(named.predict(X) == "bad", model.predict(X) == 1)
    if hasattr(model, "decision_function"):
        np.testing.assert_array_equal(named.decision_function(X) > 0, named.predict(X) == "good")


@pytest.mark.parametrize("pos_label", ["bad", "good"])
def test_parameters_of_a_base_keep_their_classes(pos_label):
    """Given priors are those of the sorted labels, and leave costs nothing to change."""
    X, y = draw(8)
    names = np.where(y == 1, "bad", "good")
    base = GaussianNB(priors=[0.9, 0.1])
    model = FenchelSVM("gmean", base=base, max_iter=5, pos_label=pos_label).fit(X, names)
    np.testing.assert_array_equal(model.predict(X), clone(base).fit(X, names).predict(X))


def test_a_base_gets_tables_as_they_come():
    table = pd.DataFrame({"kind": ["a", "b", "c", "a"] * 50, "size": np.arange(200.0)})
    y = (np.arange(200) % 4 == 1).astype(int)
    encoder = ColumnTransformer([("kind", OneHotEncoder(), ["kind"])], remainder="passthrough")
    model = FenchelSVM(base=make_pipeline(encoder, LogisticRegression(max_iter=1000))).fit(table, y)
    np.testing.assert_array_equal(model.predict(table), y)
    assert model.feature_names_in_.tolist() == ["kind", "size"]


def test_a_base_that_scores_nothing_gives_no_scores():
    X, y = draw(8)
    model = FenchelSVM(base=DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, y)
    assert not hasattr(model, "decision_function")


def test_a_base_gets_the_users_weights():
    X, y = draw(9)
    times = 1 + np.arange(len(y)) % 2
    rows = np.repeat(np.arange(len(y)), times)
    weighted = FenchelSVM(base=LogisticRegression()).fit(X, y, sample_weight=times)
    # weights are scaled to their own mean, so that C of the base means the same
    repeated = FenchelSVM(base=LogisticRegression()).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.estimator_.coef_, repeated.estimator_.coef_, atol=1e-3)


class Recording(LogisticRegression):
    """Remembers the mean weight of each training."""

    means = []  # noqa: RUF012 - shared by the clones on purpose

    def fit(self, X, y, sample_weight=None):
        self.means.append(np.mean(sample_weight))
        return super().fit(X, y, sample_weight=sample_weight)


def test_regularisation_of_a_base_does_not_move_with_the_duals():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.arange(300) < 30
    X[y] += 0.3
    model = FenchelSVM(base=Recording(), max_iter=5).fit(X, y.astype(int))
    assert (model.history_["alpha"] + model.history_["beta"] - 1.0).max() > 1e-5
    assert Recording.means == pytest.approx([1.0] * len(Recording.means), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metric": FBeta()}, TypeError, "Use csf.fenchel.AMP for linear-fractional"),
        ({"metric": "accuracy"}, TypeError, "FenchelSVM needs a concave metric"),
        ({"metric": MinRate()}, ValueError, "kink where the rates are equal"),
        ({"metric": "gmaen"}, ValueError, "unknown metric 'gmaen'"),
        ({"C": -1}, ValueError, "C must be positive and finite, got -1"),
        ({"C": np.inf}, ValueError, "C must be positive and finite, got inf"),
        ({"tol": 0.0}, ValueError, "tol must be positive"),
        ({"tol": None}, TypeError, "tol must be a number, positive and finite, got None"),
        ({"intercept_scaling": 0}, ValueError, "intercept_scaling must be positive"),
        ({"max_iter": 2.5}, TypeError, "max_iter must be an int"),
        ({"base": KNeighborsClassifier()}, ValueError, "takes no weights"),
    ],
)
def test_bad_arguments(arguments, error, message):
    model, (X, y) = FenchelSVM(**arguments), draw(0, n=60)
    with pytest.raises(error, match=message):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda y: np.where(y == 1, 0.0, 1.0), "sample_weight is zero for every sample of the positive class"),
        (lambda y: np.where(y == 1, 1.0, 0.0), "sample_weight is zero for every sample of the negative class"),
        (lambda y: -np.ones(len(y)), "must not be negative"),
        (lambda y: np.ones(3), r"sample_weight.shape == \(3,\)"),
    ],
)
def test_bad_weights(weight, message):
    model, (X, y) = FenchelSVM(), draw(0, n=60)
    sample_weight = weight(y)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=sample_weight)


def test_not_fitted():
    model = FenchelSVM()
    with pytest.raises(NotFittedError, match="not fitted"):
        model.predict([[0.0]])


def test_an_open_gap_is_said():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.arange(200) < 40
    model = FenchelSVM(tol=1e-9, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps with a gap of"):
        model.fit(X, y)
