"""Folds, trainings on them, and scores that are pooled before the metric is taken."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from csf import ErrorProfile
from csf.costs import cost_sample_weight
from csf.evaluation import Fold, FoldResult, bound_share, evaluate, make_folds, pooled_outcome, run_fold
from csf.hull import Hull
from csf.metrics import Constrained, FBeta, GMean, Recall, get_constraint

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = (X[:, 0] + RNG.normal(size=90) > 1.0).astype(int)
WEIGHT = RNG.uniform(0.5, 2.0, 90)
SPLITS = list(StratifiedKFold(3).split(X, Y))


class Trainer:
    """All that a fold asks of a trainer."""

    def __init__(self, base, fold):
        self.base, self.fold = base, fold

    def fit(self, costs):
        weight = cost_sample_weight(self.fold.y_train == 1, costs, sample_weight=self.fold.weight_train)
        return clone(self.base).fit(self.fold.X_train, self.fold.y_train, sample_weight=weight)


def results_of(folds, *, tune, base=None, on_train=False, raise_errors=True, costs=(1.5, 0.5)):
    base = LinearSVC() if base is None else base
    options = {"tune": tune, "on_train": on_train, "raise_errors": raise_errors}
    return [run_fold(Trainer(base, fold), fold, costs, **options) for fold in folds]


class Broken(LinearSVC):
    """Raises when it is trained."""

    def fit(self, X, y, sample_weight=None):
        raise ValueError("out of memory")


class Nan(LinearSVC):
    """Predicts NaN."""

    def predict(self, X):
        return np.full(X.shape[0], np.nan)

    def decision_function(self, X):
        return np.full(X.shape[0], np.nan)


# ---------------------------------------------------------------- folds


@pytest.mark.parametrize(
    "container",
    [lambda X: X, lambda X: X.tolist(), pd.DataFrame, lambda X: pl.DataFrame(X, schema=list("abcd")), sparse.csr_array],
    ids=["array", "list", "pandas", "polars", "CSR"],
)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_folds_are_slices_of_every_container(container, weight):
    data = container(X)
    params = {"group": np.arange(90), "note": "text", "rate": np.float64(0.5), "grid": [1, 2], "none": None}
    folds = make_folds(data, Y, weight, SPLITS, params)
    for fold, (train, test) in zip(folds, SPLITS, strict=True):
        for part, at in ((fold.X_train, train), (fold.X_test, test)):
            assert type(part) is type(data)
            values = part.toarray() if sparse.issparse(part) else np.asarray(part)
            assert np.array_equal(values, X[at])
        assert np.array_equal(fold.y_train, Y[train])
        assert np.array_equal(fold.y_test, Y[test])
        assert (fold.weight_train is None) == (weight is None)
        if weight is not None:
            assert np.array_equal(fold.weight_train, weight[train])
            assert np.array_equal(fold.weight_test, weight[test])
        assert np.array_equal(fold.fit_params["group"], train)
        assert {name: fold.fit_params[name] for name in list(params)[1:]} == {n: params[n] for n in list(params)[1:]}


# ---------------------------------------------------------------- pooling


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_without_a_threshold_the_score_is_that_of_all_predictions_together(weight):
    folds = make_folds(X, Y, weight, SPLITS)
    results = results_of(folds, tune=False)
    fields = pooled_outcome(FBeta(), folds, results, tune=False)
    y_true, y_pred = (np.concatenate(parts) for parts in ([f.y_test for f in folds], [r.decided for r in results]))
    weights = None if weight is None else np.concatenate([f.weight_test for f in folds])
    assert fields["score"] == pytest.approx(f1_score(y_true, y_pred, sample_weight=weights), abs=1e-12)
    assert fields["threshold"] is None
    each = [f1_score(f.y_test, r.decided, sample_weight=f.weight_test) for f, r in zip(folds, results, strict=True)]
    assert fields["fold_scores"] == pytest.approx(each, abs=1e-12)
    # ... which is not the mean of the folds'.
    assert fields["score"] != pytest.approx(np.mean(each), abs=1e-3)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("metric", [FBeta(), GMean()], ids=repr)
def test_the_threshold_is_the_best_for_all_scores_together(metric, weight):
    folds = make_folds(X, Y, weight, SPLITS)
    results = results_of(folds, tune=True)
    fields = pooled_outcome(metric, folds, results, tune=True)
    y_true, score = (np.concatenate(parts) for parts in ([f.y_test for f in folds], [r.score for r in results]))
    weights = None if weight is None else np.concatenate([f.weight_test for f in folds])

    def at(threshold):
        return metric.score(y_true, (score >= threshold).astype(int), sample_weight=weights)

    assert fields["score"] == pytest.approx(at(fields["threshold"]), abs=1e-12)
    assert fields["score"] == pytest.approx(max(at(threshold) for threshold in [*score, np.inf]), abs=1e-12)
    assert fields["value"] == pytest.approx(at(np.nextafter(0.0, 1.0)), abs=1e-12)
    assert fields["attained"] == pytest.approx(fields["score"], abs=1e-12)
    assert fields["fit_time"] > 0


def test_folds_without_a_class_have_no_score_of_their_own():
    """Leave-one-out, and folds in which only one class has weight."""
    splits = [(np.delete(np.arange(90), i), np.array([i])) for i in range(90)]
    folds = make_folds(X, Y, None, splits[:30])
    fields = pooled_outcome(FBeta(), folds, results_of(folds, tune=True), tune=True)
    assert fields["fold_scores"] == (None,) * 30
    assert fields["score"] > 0
    weight = np.ones(90)
    weight[SPLITS[0][1]] = np.where(Y[SPLITS[0][1]] == 1, 0.0, 1.0)
    folds = make_folds(X, Y, weight, SPLITS)
    fields = pooled_outcome(FBeta(), folds, results_of(folds, tune=True), tune=True)
    assert fields["fold_scores"][0] is None
    assert None not in fields["fold_scores"][1:]


def test_a_constraint_is_kept_on_the_pooled_predictions():
    metric = Constrained(Recall(), get_constraint("precision >= 0.6"))
    folds = make_folds(X, Y, None, SPLITS)
    fields = pooled_outcome(metric, folds, results_of(folds, tune=True), tune=True)
    assert fields["violation"] == 0
    assert fields["rate"] >= 0.6 - 1e-12


@given(labels=st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=20), cut=st.integers(0, 4))
def test_scores_that_say_as_much_as_the_decision(labels, cut):
    is_pos, score = (np.array(part) for part in zip((True, 0), (False, 4), *labels, strict=True))
    score = score.astype(float)
    fields = evaluate(FBeta(), is_pos, score >= cut, score, None)
    best = max(FBeta().of(ErrorProfile.from_masks(is_pos, score >= t)) for t in [*score, np.inf])
    assert fields["score"] == pytest.approx(best, abs=1e-12)
    assert fields["value"] <= fields["score"] + 1e-12


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize(("base", "text"), [(Broken(), "out of memory"), (Nan(), "NaN")])
@pytest.mark.parametrize("tune", [False, True])
def test_failures_are_recorded_or_raised(base, text, tune):
    folds = make_folds(X, Y, None, SPLITS)
    results = results_of(folds, tune=tune, base=base, raise_errors=False)
    fields = pooled_outcome(FBeta(), folds, results, tune=tune)
    assert text in fields["error"]
    assert "Traceback" in fields["error"]
    assert set(fields) == {"error", "fit_time", "score_time"}
    with pytest.raises(ValueError, match=text):
        results_of(folds, tune=tune, base=base, raise_errors=True)


def test_one_failed_fold_fails_the_trial():
    folds = make_folds(X, Y, None, SPLITS)
    results = results_of(folds, tune=True)
    results[1] = FoldResult(error="no")
    assert pooled_outcome(FBeta(), folds, results, tune=True)["error"] == "no"


# ---------------------------------------------------------------- training parts


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_training_parts_are_averaged_over_folds(weight):
    folds = make_folds(X, Y, weight, SPLITS)
    results = results_of(folds, tune=True, on_train=True, base=LogisticRegression())
    fields = pooled_outcome(FBeta(), folds, results, tune=True)
    shares = np.array([f.y_train.size if weight is None else f.weight_train.sum() for f in folds])
    shares = shares / shares.sum()
    profiles = [result.train_outcome[0] for result in results]
    for name in ("fn", "fp", "pos"):
        expected = sum(share * getattr(p, name) for share, p in zip(shares, profiles, strict=True))
        assert getattr(fields["profile"], name) == pytest.approx(expected)
    assert fields["profile"].pos == pytest.approx(bound_share(folds, on_train=True))
    for c in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (4.0, 1.0)):
        cheapest = [result.train_outcome[1].cheapest(*c) for result in results]
        assert fields["hull"].cheapest(*c) == pytest.approx(np.dot(shares, cheapest))
    assert isinstance(fields["hull"], Hull)
    # The winner is still chosen on held-out predictions.
    held_out = pooled_outcome(FBeta(), folds, results_of(folds, tune=True, base=LogisticRegression()), tune=True)
    assert (fields["score"], fields["threshold"]) == (held_out["score"], held_out["threshold"])
    assert fields["value"] != held_out["value"]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_share_of_the_data_that_bounds_read(weight):
    folds = make_folds(X, Y, weight, SPLITS)
    assert bound_share(folds, on_train=False) == pytest.approx(np.average(Y, weights=weight))
    train = np.concatenate([train for train, _ in SPLITS])
    expected = np.average(Y[train], weights=None if weight is None else weight[train])
    assert bound_share(folds, on_train=True) == pytest.approx(expected)


@pytest.mark.parametrize(("y", "weight"), [([0, 0], None), ([1, 1], None), ([0, 1], np.array([1.0, 0.0]))])
def test_parts_of_one_class_are_named(y, weight):
    fold = Fold(X[:2], np.array([0, 1]), None, {}, X[:2], np.array(y), weight)
    with pytest.raises(ValueError, match=r"the held-out parts of cv hold a weight of \d in the positive class of \d"):
        bound_share([fold], on_train=False)
