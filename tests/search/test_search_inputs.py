"""What CostSearch says to arguments and data that it cannot use."""

import inspect

import numpy as np
import pandas as pd
import pytest
from linear_builders import LAYOUTS
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

from csf import CostSearch

X = np.random.default_rng(0).normal(size=(40, 3))
y = np.tile([0, 0, 0, 1], 10)


def search(**options):
    return CostSearch(**({"base": LinearSVC(), "n_trials": 2, "cv": 2} | options))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"base": LinearSVC}, TypeError, "base must be a classifier object"),
        ({"base": "svm"}, TypeError, "base must be a classifier object with fit, e.g. LinearSVC"),
        ({"metric": "f-one"}, ValueError, "unknown metric 'f-one'; known: f1"),
        ({"metric": "recall", "strategy": "cone"}, ValueError, "add a constraint, e.g. metric='recall', constraint="),
        ({"strategy": "random"}, ValueError, "unknown strategy 'random'; known: cone, grid"),
        ({"strategy": "bisection", "metric": "gmean"}, TypeError, "'bisection' needs a linear-fractional metric"),
        ({"n_trials": 0}, ValueError, "n_trials must be an int >= 1, got 0"),
        ({"threshold": 0.3}, ValueError, r"got 0\.3; .*sklearn\.model_selection\.FixedThresholdClassifier"),
        ({"engine": "fast"}, ValueError, r"engine must be one of \('auto', 'generic', 'liblinear'\), got 'fast'"),
        ({"normalize": "sum"}, ValueError, r"normalize must be one of \('none', 'mean'\), got 'sum'"),
        ({"bound": "tight"}, ValueError, "unknown bound 'tight'; known: support, diagonal"),
        ({"bound": "envelope", "metric": "gmean"}, TypeError, "ConeBound needs a linear-fractional metric"),
        ({"bound_on": "test"}, ValueError, "bound_on must be one of"),
        ({"tol": -1.0}, ValueError, r"tol must be >= 0 .* got -1\.0"),
        ({"n_jobs": "2"}, TypeError, "n_jobs must be a number of workers, -1 for one on each core, or None, got '2'"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be a number of workers, -1 .* got 0"),
        ({"error_score": 0}, ValueError, "error_score must be 'raise' or nan, got 0"),
        ({"constraint": "precision > 0.8"}, ValueError, "the side must be >= or <=, got '>'; write >="),
        ({"cv": 1.5}, ValueError, r"cv=1\.5: a float is the share held out"),
        ({"cv": 11}, ValueError, "cv=11 needs at least 11 samples of each class, the rarer one has n_samples=10"),
        ({"cv": [(np.arange(4, 40), np.arange(4)), (np.array([0, 1]), np.arange(3, 40))]}, ValueError, "split 1 of cv"),
        ({"pos_label": "yes"}, ValueError, r"pos_label='yes' is not a label of y, which holds \[0, 1\]"),
        ({"param_grid": {"gamma": [1.0]}}, ValueError, "Invalid parameter 'gamma'"),
        ({"sample_weight_name": 3}, TypeError, "sample_weight_name must be a str or None, got 3"),
        (
            {"strategy": lambda trials, *, metric, pos: 2.0},
            ValueError,
            r"proposed t=2\.0, outside",
        ),
        ({"strategy": lambda trials, *, metric, pos: "half"}, TypeError, "proposed 'half'; accepted: a level in"),
    ],
)
@pytest.mark.filterwarnings("ignore:recall is largest when every sample")
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        search(**options).fit(X, y)


def test_a_parameter_inside_a_pipeline_is_named_in_full():
    columns = ColumnTransformer([("numbers", StandardScaler(), [0])])
    with pytest.raises(ValueError, match=r"Did you mean 'logisticregression__C'\?$"):
        search(base=make_pipeline(columns, LogisticRegression()), param_grid={"C": [1.0]}).fit(X, y)


def test_threshold_needs_scores():
    class Labels:
        def fit(self, X, y, sample_weight=None): ...

    with pytest.raises(ValueError, match="threshold='stable' needs decision_function or predict_proba, and Labels"):
        search(base=Labels()).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.full((40, 3), np.nan), y, r"all trials failed on every fold .*Input X contains NaN"),
        (
            np.full((40, 3), np.inf),
            y,
            r"(?s)all trials failed on every fold .*infinity.*\nClip infinite values",
        ),
        (
            pd.DataFrame(X, columns=["age", "sex", "age"]),
            y,
            r"X has several columns of the same name, \['age'\]; rename",
        ),
        (X, np.zeros(40), "y has one class only"),
        (X, np.arange(40) % 3, "multiclass with 3 classes: 'f1' is a metric of two classes; for more, write"),
        (X, np.where(y == 1, "yes", "no"), "Give pos_label, e.g. pos_label='yes', the rarer one"),
        (X[:30], y, "inconsistent numbers of samples"),
    ],
)
def test_bad_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        search().fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(39), r"sample_weight.shape == \(39,\), expected \(40,\)"),
        (np.zeros(40), "zero for every sample; at least one weight must be positive"),
        (y * 1.0, "zero for every sample of the classes"),
        (np.where(y == 1, np.nan, 1.0), "contains NaN or infinity"),
        (2.0, "must be an array of 40 weights"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        search().fit(X, y, sample_weight=weight)


def test_a_sample_weight_name_that_fit_does_not_take():
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        search(sample_weight_name="weights", error_score="raise").fit(X, y)


def test_predict_before_fit():
    with pytest.raises(ValueError, match="not fitted yet"):
        search().predict(X)


def test_predict_with_another_width():
    fitted = search(threshold=None).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but LinearSVC is expecting 3"):
        fitted.predict(X[:, :2])


def stored(X, kind):
    """The same values, stored in another way."""
    if kind == "two parts a value":
        rows, columns = np.nonzero(X)
        halves = np.tile(0.5 * X[rows, columns], 2)
        return sparse.coo_matrix((halves, (np.tile(rows, 2), np.tile(columns, 2))), shape=X.shape)
    if kind == "zeros too":
        return LAYOUTS["CSR with zeros"](X)
    if kind == "columns reversed":
        full = LAYOUTS["CSR with zeros"](X)
        order = np.arange(X.size).reshape(X.shape)[:, ::-1].ravel()
        return sparse.csr_matrix((full.data[order], full.indices[order], full.indptr), shape=X.shape)
    return getattr(sparse, kind)(X)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "generic"])
@pytest.mark.parametrize(
    "kind", ["zeros too", "columns reversed", "two parts a value", "csc_matrix", "coo_array", "lil_matrix"]
)
def test_how_sparse_samples_are_stored_changes_no_number(kind, engine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    X = np.where(np.abs(X) < 0.3, 0.0, X).round(2)
    y, weight = (X[:, 0] ** 2 + rng.normal(size=300) > 2.2).astype(int), rng.random(300) + 0.1
    base = make_pipeline(MaxAbsScaler(), LogisticRegression())
    search = CostSearch(base, "gmean", cv=0.3, random_state=0, engine=engine, n_trials=3)
    given = stored(X, kind)
    before = given.copy()
    plain = clone(search).fit(sparse.csr_matrix(X), y, weight)
    other = search.fit(given, y, weight)
    assert other.best_score_ == plain.best_score_
    assert other.best_threshold_ == plain.best_threshold_
    np.testing.assert_array_equal(other.best_estimator_[-1].coef_, plain.best_estimator_[-1].coef_)
    assert other.best_estimator_[-1].n_iter_ == plain.best_estimator_[-1].n_iter_
    assert given.nnz == before.nnz
    if hasattr(given, "indices"):
        np.testing.assert_array_equal(given.indices, before.indices)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scoring": "f1"}, r"CostSearch has no argument 'scoring'; write metric=, a name such as 'f1'"),
        ({"estimator": LinearSVC()}, r"CostSearch has no argument 'estimator'; write base="),
        ({"param_distributions": {}}, r"CostSearch has no argument 'param_distributions'; write param_grid="),
        ({"nonsense": 1}, r"unexpected keyword argument 'nonsense'"),
    ],
)
def test_arguments_by_their_names_in_scikit_learn(given, words):
    """The signature is the plain one all the same: clone, get_params and editors read it."""
    with pytest.raises(TypeError, match=words):
        CostSearch(**({} if "estimator" in given else {"base": LinearSVC()}), **given)
    assert "scoring" not in inspect.signature(CostSearch).parameters
    assert next(iter(inspect.signature(CostSearch).parameters)) == "base"
    assert set(CostSearch(LinearSVC()).get_params(deep=False)) == set(inspect.signature(CostSearch).parameters)


@pytest.mark.parametrize("base", [Ridge(), make_pipeline(StandardScaler(), Ridge())])
@pytest.mark.parametrize("threshold", ["stable", None])
def test_a_regressor_is_no_classifier(base, threshold):
    with pytest.raises(TypeError, match=r"must be a classifier, got .*Ridge\(\).*a regressor; e.g. RidgeClassifier"):
        CostSearch(base, threshold=threshold).fit(np.eye(4), [0, 1, 0, 1])


def test_three_positives_are_warned_of():
    rng = np.random.default_rng(0)
    y = np.arange(60) < 3
    X = rng.normal(size=(60, 3)) + y[:, None]
    with pytest.warns(UserWarning, match="rarer class has only 3 samples.* the threshold, the intervals and the bound"):
        CostSearch(LinearSVC(), param_grid=None).fit(X, y)
    y = np.arange(60) < 5
    CostSearch(LinearSVC(), param_grid=None).fit(X, y)


@pytest.mark.parametrize("name", ["y", "sample_weight", "groups"])
def test_an_index_in_another_order_is_warned_of(name):
    """Rows are taken by position, as scikit-learn does."""
    frame, mixed = pd.DataFrame(X, index=np.arange(40) + 7), np.random.default_rng(1).permutation(40)
    given = {"y": y, "sample_weight": np.ones(40), "groups": np.arange(40)}
    moved = given | {name: pd.Series(given[name], index=frame.index).iloc[mixed]}
    with pytest.warns(UserWarning, match=rf"index of {name} is that of X in another order.*{name}\.loc\[X\.index\]"):
        found = search(cv=StratifiedGroupKFold(2), refit=False).fit(frame, **moved)
    by_position = search(cv=StratifiedGroupKFold(2), refit=False).fit(X, **(given | {name: given[name][mixed]}))
    assert found.best_score_ == by_position.best_score_


@pytest.mark.parametrize("index", [np.arange(40) + 7, np.arange(40), [7] * 40, list("abcdefgh") * 5], ids=str)
def test_the_same_index_and_others_are_not_warned_of(index):
    target = pd.Series(y, index=index)
    search(n_trials=1, refit=False).fit(pd.DataFrame(X, index=np.arange(40) + 7), target)
    search(n_trials=1, refit=False).fit(X, target)


@pytest.mark.filterwarnings("ignore:the base has class_weight")
def test_class_weights_of_unknown_labels():
    y = np.arange(60) % 2
    with pytest.raises(ValueError, match="not in class_weight"):
        CostSearch(LinearSVC(class_weight={"yes": 2})).fit(y[:, None] + np.linspace(0, 2, 60)[:, None], y)
