"""Folds: views of the data, sliced where and when somebody asks."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from csf.samples import Fold, Labels, Task, bound_share, make_folds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = (X[:, 0] + RNG.normal(size=90) > 1.0).astype(int)
WEIGHT = RNG.uniform(0.5, 2.0, 90)
SPLITS = list(StratifiedKFold(3).split(X, Y))
weights = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])


@pytest.mark.parametrize(
    "container",
    [lambda X: X, lambda X: X.tolist(), pd.DataFrame, lambda X: pl.DataFrame(X, schema=list("abcd")), sparse.csr_array],
    ids=["array", "list", "pandas", "polars", "CSR"],
)
@pytest.mark.parametrize("sliced", [False, True])
@weights
def test_folds_are_slices_of_every_container(container, weight, sliced):
    data = container(X)
    params = {"group": np.arange(90), "note": "text", "rate": np.float64(0.5), "grid": [1, 2], "none": None}
    folds = make_folds(Task(data, Y, weight, params), SPLITS)
    for fold, (train, test) in zip(folds, SPLITS, strict=True):
        fold = fold.sliced if sliced else fold
        for part, at in ((fold.X_train, train), (fold.X_test, test)):
            assert type(part) is type(data)
            values = part.toarray() if sparse.issparse(part) else np.asarray(part)
            assert np.array_equal(values, X[at])
        assert np.array_equal(fold.y_train, Y[train])
        assert np.array_equal(fold.y_test, Y[test])
        assert (fold.weight_train is None) == (weight is None) == (fold.weight_test is None)
        if weight is not None:
            assert np.array_equal(fold.weight_train, weight[train])
            assert np.array_equal(fold.weight_test, weight[test])
        assert np.array_equal(fold.fit_params["group"], train)
        assert {name: fold.fit_params[name] for name in list(params)[1:]} == {n: params[n] for n in list(params)[1:]}


def test_nothing_is_sliced_before_it_is_asked_for():
    class Watched(np.ndarray):
        def __getitem__(self, at):
            raise AssertionError("sliced")

    folds = make_folds(Task(X.view(Watched), Y, WEIGHT), SPLITS)
    assert folds[0].y_train.shape == SPLITS[0][0].shape
    assert folds[0].weight_test.shape == SPLITS[0][1].shape


def test_a_slice_is_made_once():
    fold = make_folds(Task(X, Y), SPLITS)[0]
    assert fold.X_train is fold.X_train
    # The one who took the slices keeps them, the fold does not.
    sliced = fold.sliced
    assert sliced.X_train is sliced.X_train
    assert "X_train" not in vars(fold)
    assert fold.sliced is sliced


def test_a_sliced_fold_travels_without_the_data():
    whole = np.arange(90_000.0).reshape(90, 1000)
    sliced = pickle.loads(pickle.dumps(make_folds(Task(whole, Y), SPLITS)[0].sliced))
    assert sliced.given is None
    np.testing.assert_array_equal(sliced.X_test, whole[SPLITS[0][1]])
    assert len(pickle.dumps(sliced)) < 1.01 * whole.nbytes + 10_000


@weights
def test_share_of_the_data_that_bounds_read(weight):
    folds = make_folds(Task(X, Y, weight), SPLITS)
    assert bound_share(folds, on_train=False) == pytest.approx(np.average(Y, weights=weight))
    train = np.concatenate([train for train, _ in SPLITS])
    expected = np.average(Y[train], weights=None if weight is None else weight[train])
    assert bound_share(folds, on_train=True) == pytest.approx(expected)


@pytest.mark.parametrize(("y", "weight"), [([0, 0], None), ([1, 1], None), ([0, 1], np.array([1.0, 0.0]))])
def test_parts_of_one_class_are_named(y, weight):
    fold = Fold(Task(X[:2], np.array(y), weight), np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"the held-out parts of cv hold a weight of \d in the positive class of \d"):
        bound_share([fold], on_train=False)


@pytest.mark.parametrize(("labels", "expected"), [(Labels(np.array(["a", "b", "c"]), None), 3), (None, None)])
def test_how_many_classes_are_alike_survives_every_slice(labels, expected):
    fold = Fold(Task(X, np.arange(90) % 3, labels=labels), *SPLITS[0])
    slices = fold.sliced, fold.without_samples, fold.sliced.sliced, pickle.loads(pickle.dumps(fold.without_samples))
    assert [each.n_alike for each in (fold, *slices)] == [expected] * 5
