"""Bases by name and their pipelines."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from csf.cli.data import Features
from csf.cli.errors import CliError
from csf.cli.models import BASES, make_base, parse_grid, takes_sparse

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
    features = Features("frame", 3, ("age",), ("city", "smoker"))
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
    base = fast_base(name, Features(kind, 4))
    if kind == "sparse" and not takes_sparse(name):
        kind = "dense"
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    assert set(clone(base).fit(X, y).predict(X)) <= {0, 1}


def test_a_column_without_any_number_is_kept(customers):
    X = customers[["age"]].assign(empty=np.nan)
    base = make_base("linear-svc", Features("frame", 2, ("age", "empty"))).fit(X, customers["outcome"])
    assert base[-1].coef_.shape == (1, 2)


def test_linear_bases_get_scaled_numbers(customers):
    X = customers[["age"]]
    base = make_base("logistic", Features("frame", 1, ("age",))).fit(X, customers["outcome"])
    scaled = base[:-1].transform(X)
    assert (scaled.mean(), scaled.std()) == pytest.approx((0, 1))


@pytest.mark.parametrize(
    ("text", "values"),
    [("C=0.1,1", [0.1, 1]), ("C = 2", [2]), ("loss=hinge,squared_hinge", ["hinge", "squared_hinge"])],
)
def test_grids(text, values):
    base = make_base("linear-svc", Features("dense", 2))
    assert parse_grid([text], base) == {f"classifier__{text.partition('=')[0].strip()}": values}


def test_words_of_grids():
    base = make_base("random-forest", Features("dense", 2))
    assert parse_grid(["max_depth=None,3", "bootstrap=true,False"], base) == {
        "classifier__max_depth": [None, 3],
        "classifier__bootstrap": [True, False],
    }


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
    base = make_base("linear-svc", Features("dense", 2))
    with pytest.raises(CliError, match=message):
        parse_grid(texts, base)


def test_a_base_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(CliError, match="--base lightgbm needs lightgbm: pip install"):
        make_base("lightgbm", Features("dense", 2))
