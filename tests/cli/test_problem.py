"""Bases by name, their grids, and the methods that a search has to beat."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from csf.cli.data import FeatureColumns
from csf.cli.problem import BASES, POOLED, RIVALS, NotApplicable, Setup, make_base, parse_grid, takes_sparse
from csf.cli.tables import CliError
from csf.metrics import FBeta, Recall, get_constraint
from csf.search.config import SearchConfig
from csf.thresholding import threshold_curve

FAST = {
    "sgd": {"random_state": 0},
    "hist-gradient-boosting": {"max_iter": 3, "random_state": 0},
    "random-forest": {"n_estimators": 3, "random_state": 0},
    "lightgbm": {"n_estimators": 3, "n_jobs": 1},
    "xgboost": {"n_estimators": 3, "n_jobs": 1},
}


def fast_base(name, features):
    if name in ("lightgbm", "xgboost"):
        pytest.importorskip(name)
    base = make_base(name, features)
    return base.set_params(**{f"classifier__{key}": value for key, value in FAST.get(name, {}).items()})


@pytest.mark.parametrize("name", BASES)
def test_every_base_takes_frames_with_gaps_and_unknown_categories(name, customers):
    features = FeatureColumns("frame", 3, ("age",), ("city", "smoker"))
    X, y = (
        customers[["age", "city", "smoker"]].astype({"city": object, "smoker": object}),
        customers["outcome"] == "churn",
    )
    base = fast_base(name, features).fit(X, y)
    new = X.iloc[:4, ::-1].assign(city=["Rome", "Paris", np.nan, "Lima"])
    assert base.predict(new).shape == (4,)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_every_base_takes_arrays(name, kind):
    rng = np.random.default_rng(0)
    X = rng.random((60, 4)) * (rng.random((60, 4)) < 0.5)
    y = (X[:, 0] > 0.3).astype(int)
    base = fast_base(name, FeatureColumns(kind, 4))
    if kind == "sparse" and not takes_sparse(name):
        kind = "dense"
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    assert set(clone(base).fit(X, y).predict(X)) <= {0, 1}


def test_numbers_are_scaled_for_linear_bases_and_a_column_without_any_is_kept(customers):
    X = customers[["age"]].assign(empty=np.nan)
    base = make_base("linear-svc", FeatureColumns("frame", 2, ("age", "empty"))).fit(X, customers["outcome"])
    assert base[-1].coef_.shape == (1, 2)
    scaled = base[:-1].transform(X)[:, 0]
    assert (scaled.mean(), scaled.std()) == pytest.approx((0, 1))


@pytest.mark.parametrize(
    ("name", "texts", "grid"),
    [
        ("linear-svc", ["C=0.1,1"], {"C": [0.1, 1]}),
        ("linear-svc", ["C = 2", "loss=hinge,squared_hinge"], {"C": [2], "loss": ["hinge", "squared_hinge"]}),
        (
            "random-forest",
            ["max_depth=None,3", "bootstrap=true,False"],
            {"max_depth": [None, 3], "bootstrap": [True, False]},
        ),
    ],
)
def test_grids(name, texts, grid):
    found = parse_grid(texts, make_base(name, FeatureColumns("dense", 2)))
    assert found == {f"classifier__{key}": values for key, values in grid.items()}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["C"], "--param must be NAME=VALUE,VALUE,..., such as C=0.1,1,10; got 'C'"),
        (["C="], "--param must be NAME=VALUE"),
        (["gamma=1"], "the base has no parameter 'gamma'; it has C, class_weight, dual"),
        (["C=1", "C=2"], "--param C is given twice"),
    ],
)
def test_bad_grids(texts, message):
    base = make_base("linear-svc", FeatureColumns("dense", 2))
    with pytest.raises(CliError, match=message):
        parse_grid(texts, base)


def test_a_base_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(CliError, match="--base lightgbm needs lightgbm: pip install"):
        make_base("lightgbm", FeatureColumns("dense", 2))


X, Y = make_classification(300, 6, weights=[0.8], class_sep=0.6, flip_y=0.1, random_state=0)
SPLITS = list(StratifiedKFold(3).split(X, Y))
WEIGHT = np.random.default_rng(0).integers(1, 4, 300).astype(float)


def setup(base=None, grid=None, metric=None, constraint=None):
    base = Pipeline([("classifier", base or LogisticRegression())])
    return Setup(SearchConfig(base, random_state=0), grid or {}, metric or FBeta(1.0), constraint, SPLITS)


def coefficients(model):
    return getattr(model, "estimator_", model)[-1].coef_


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(("name", "kind"), [("base as it is", None), ('base, class_weight="balanced"', "balanced")])
def test_the_base_alone_or_with_balanced_weights(weight, name, kind):
    model = RIVALS[name](setup(), X, Y, weight)
    expected = LogisticRegression(class_weight=kind).fit(X, Y, weight)
    np.testing.assert_array_equal(coefficients(model), expected.coef_)


@pytest.mark.parametrize("name", ["base as it is", 'base, class_weight="balanced"'])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_parameters_are_chosen_by_the_pooled_metric(name, weight):
    grid = [1e-4, 1e-2, 1.0]
    model = RIVALS[name](setup(grid={"classifier__C": grid}), X, Y, weight)
    kind = None if name == "base as it is" else "balanced"

    def value(C):
        base = LogisticRegression(C=C, class_weight=kind)
        params = {} if weight is None else {"sample_weight": weight}
        return f1_score(Y, cross_val_predict(base, X, Y, cv=SPLITS, params=params), sample_weight=weight)

    assert value(model[-1].C) == max(value(C) for C in grid)
    assert len({value(C) for C in grid}) == 3


def test_the_exact_pooled_threshold():
    model = RIVALS[POOLED](setup(LinearSVC(dual=False), {"classifier__C": [1.0]}), X, Y, None)
    score = cross_val_predict(LinearSVC(dual=False), X, Y, cv=SPLITS, method="decision_function")
    assert model.best_threshold_ == pytest.approx(threshold_curve(Y, score).best("f1").threshold, abs=1e-4)


@pytest.mark.filterwarnings("ignore:recall is largest when every sample")
def test_the_exact_pooled_threshold_with_a_constraint():
    free = RIVALS[POOLED](setup(metric=Recall()), X, Y, None)
    bound = RIVALS[POOLED](setup(metric=Recall(), constraint=get_constraint("precision >= 0.6")), X, Y, None)
    assert bound.feasible_
    assert bound.constraint_value_ >= 0.6
    assert bound.best_score_ < free.best_score_ == 1.0


@pytest.mark.parametrize("name", [POOLED, "TunedThresholdClassifierCV"])
def test_threshold_tuners_choose_parameters_too(name):
    one = [RIVALS[name](setup(grid={"classifier__C": [C]}), X, Y, None) for C in (1e-4, 1.0)]
    both = RIVALS[name](setup(grid={"classifier__C": [1e-4, 1.0]}), X, Y, None)
    assert both.best_score_ == max(model.best_score_ for model in one)


def test_rivals_that_do_not_apply():
    with pytest.raises(NotApplicable, match="its scorer gets no sample weights"):
        RIVALS["TunedThresholdClassifierCV"](setup(), X, Y, WEIGHT)
