"""Costs of rows on Dask: what CostSearch finds on the same folds, and decisions by the costs of each row."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.dask import DaskCostSearch, DaskEngine
from csf.dask.collections import DaskData
from csf.dask.engine import LinearBase
from csf.distributed import Job, hash_folds
from csf.metrics import Column, RowCosts

pytestmark = pytest.mark.usefixtures("one_thread")

SAME = ("best_score_", "corrected_score_", "score_interval_", "best_t_", "dearest_share_", "threshold_without_costs_")


@pytest.fixture(scope="module")
def rows():
    """Frame of samples whose last column is what a missed one costs, labels, weights and folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = (X @ np.array([1.0, -0.5, 0.3, 0.2]) + 0.8 * rng.normal(size=900) > 1.3).astype(int)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(amount=np.exp(rng.normal(size=900) + X[:, 0]))
    return frame, y, rng.integers(0, 5, 900) / 2, hash_folds(0, 900, 3)


def collections(rows, n_parts=3):
    frame, y, weight, fold = rows
    whole = dd.from_pandas(frame.assign(y=y, weight=weight, fold=fold), npartitions=n_parts)
    return [whole[list(frame.columns)], *(whole[name] for name in ("y", "weight", "fold"))]


def check_same(search, whole):
    assert (search.n_trials_, search.row_rule_) == (whole.n_trials_, whole.row_rule_)
    assert [trial.t for trial in search.trials_] == [trial.t for trial in whole.trials_]
    for name in SAME:
        np.testing.assert_allclose(getattr(search, name), getattr(whole, name), atol=1e-4, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "weighted", "options"),
    [
        (LogisticRegression(tol=1e-9), True, {}),
        (LogisticRegression(C=1e-3, tol=1e-9), False, {"constraint": "recall >= 0.7"}),
        (LinearSVC(tol=1e-7), True, {"param_grid": {"C": [1e-3, 1.0]}}),
    ],
    ids=["plain", "constraint", "margins"],
)
def test_it_finds_what_the_search_in_memory_finds(rows, base, weighted, options):
    (frame, y, weight, fold), (dX, dy, dweight, dfold) = rows, collections(rows)
    costs = RowCosts(fn="amount", fp=2.0, tp=0.5)
    weight, dweight = (weight, dweight) if weighted else (None, None)
    whole = CostSearch(base, costs, cv=PredefinedSplit(fold), **options).fit(frame, y, weight)
    search = DaskCostSearch(base, costs, **options).fit(dX, dy, dweight, folds=dfold)
    check_same(search, whole)
    predicted = search.predict(dX).compute()
    assert np.mean(predicted != whole.predict(frame)) < 2e-3
    np.testing.assert_array_equal(search.to_local().predict(frame), predicted)
    assert search.score(dX, dy, dweight) == pytest.approx(costs.score(y, predicted, frame, sample_weight=weight))
    assert search.feasible_ == whole.feasible_


@pytest.mark.parametrize("measure", ["savings", pytest.param("cost", marks=pytest.mark.slow)])
def test_costs_are_given_as_collections(rows, measure):
    frame, y, _, fold = rows
    X, amount = frame.to_numpy()[:, :4], frame["amount"].to_numpy()
    dX, dy, dfold, damount = (da.from_array(a, chunks=(400, *a.shape[1:])) for a in (X, y, fold, amount))
    base = LogisticRegression(tol=1e-9)
    whole = CostSearch(base, measure, cv=PredefinedSplit(fold), pos_label=1).fit(X, y, fn_cost=amount, fp_cost=2.0)
    search = DaskCostSearch(base, measure, pos_label=1).fit(dX, dy, folds=dfold, fn_cost=damount, fp_cost=2.0)
    check_same(search, whole)
    predicted = search.predict(dX, fn_cost=damount)
    assert predicted.shape == (900,)
    np.testing.assert_array_equal(predicted.compute(), whole.predict(X, fn_cost=amount))
    np.testing.assert_array_equal(search.predict(X, fn_cost=amount), predicted.compute())
    proba = search.predict_proba(dX, fn_cost=damount).compute()
    np.testing.assert_allclose(proba, whole.predict_proba(X, fn_cost=amount), atol=1e-5)
    value = search.score(dX, dy, fn_cost=damount)
    assert value == pytest.approx(whole.score(X, y, fn_cost=amount), abs=1e-6)
    numbered = pd.Series(amount), pd.DataFrame(X)
    for shuffled, samples in [numbered, [dd.from_pandas(each, npartitions=1) for each in numbered]]:
        moved = (
            shuffled.iloc[::-1] if isinstance(shuffled, pd.Series) else shuffled.map_partitions(lambda s: s.iloc[::-1])
        )
        with pytest.warns(UserWarning, match="the index of fn_cost is that of X in another order"):
            np.asarray(search.predict(samples, fn_cost=moved))
    # Other numbers for the same rows change the decisions.
    assert (search.predict(dX, fn_cost=damount, fp_cost=200.0).compute().sum()) < predicted.sum().compute()
    with pytest.raises(ValueError, match="give fn_cost of these samples"):
        search.predict(dX)
    for given in (amount, pd.Series(amount), amount.tolist()):
        for ask in (search.predict, search.predict_proba):
            with pytest.raises(TypeError, match=r"fn_cost must be a Dask array or series.*dask.array.from_array"):
                ask(dX, fn_cost=given)


def test_trainings_weigh_rows_by_what_they_cost(rows):
    """A training with a power is one with the weights that memory has, whatever else is trained beside it."""
    frame, y, weight, fold = rows
    costs, (dX, dy, dweight, dfold) = RowCosts(fn="amount", fp=2.0), collections(rows)
    engine = DaskEngine(DaskData(dX, dy, dweight, dfold, 2, 0, costs=costs), LinearBase())
    base, stakes = LogisticRegression(tol=1e-10), np.where(y == 1, frame["amount"], 2.0)
    sums = engine.row_costs.sums([0.0, 0.5])
    np.testing.assert_allclose(sums[2:4], [weight @ (stakes * y), weight @ (stakes * (1 - y))])
    np.testing.assert_allclose(sums[4:], [weight.sum(), weight @ stakes**0.5])
    jobs = [Job(base, 1, (1.0, 1.0), power=power) for power in (0.5, 0.0)]
    weighed = weight * stakes**0.5 * weight.sum() / (weight @ stakes**0.5)
    for given, training in zip((weighed, weight), engine.train(jobs), strict=True):
        known = base.fit(frame[fold != 1], y[fold != 1], given[fold != 1])
        np.testing.assert_allclose(training.model.model.w[:-1], known.coef_[0], atol=1e-4)


def test_a_sample_stands_for_all_rows(rows, monkeypatch):
    monkeypatch.setattr("csf.dask.engine.MOST_COLLECTED", 0)
    monkeypatch.setattr("csf.dask.engine._SAMPLED", 500)
    (_, y, _, _), (dX, dy, _, dfold) = rows, collections(rows)
    search = DaskCostSearch(LogisticRegression(), RowCosts(fn="amount", fp=2.0)).fit(dX, dy, folds=dfold)
    assert search.held_out_.truth.size < y.size
    low, high = search.score_interval_
    assert low <= search.corrected_score_ <= high
    assert low < search.score(dX, dy) < high


def test_a_search_goes_on_from_its_file(rows, tmp_path):
    dX, dy, _, dfold = collections(rows)
    options = {"metric": RowCosts(fn="amount", fp=2.0), "checkpoint": tmp_path / "search.json"}
    first = DaskCostSearch(LogisticRegression(), callbacks=[lambda study, trial: True], **options)
    assert first.fit(dX, dy, folds=dfold).n_trials_ == 1
    again = DaskCostSearch(LogisticRegression(), **options).fit(dX, dy, folds=dfold)
    assert again.n_trials_ == 3
    with pytest.raises(ValueError, match="belongs to another search"):
        DaskCostSearch(LogisticRegression(), **options | {"metric": RowCosts(fn="amount", fp=3.0)}).fit(
            dX, dy, folds=dfold
        )


@pytest.mark.parametrize(
    ("metric", "options", "given", "error", "message"),
    [
        (RowCosts(fn="size", fp=1.0), {}, {}, ValueError, r"in partition \d fn='size' .* is no column of X"),
        (RowCosts(fn=Column(9), fp=1.0), {}, {}, ValueError, "places 0 to 4"),
        (RowCosts(fn="a", fp=1.0), {}, {}, ValueError, r"in partition \d fn='a' .* costs are finite numbers >= 0"),
        ("savings", {}, {"fp_cost": 1.0}, ValueError, r"in partition \d fn_cost must be given: .* name a column of X"),
        ("f1", {}, {"fn_cost": 1.0}, TypeError, "fn_cost cannot be given with metric='f1'"),
        ("savings", {}, {"fm_cost": 1.0}, TypeError, "fm_cost cannot be given"),
        (RowCosts(fn="amount", fp=0.0), {}, {}, ValueError, "there is nothing to decide"),
        (RowCosts(fn="amount", fp=1.0), {"threshold": "tune"}, {}, ValueError, "threshold='tune' is not for costs"),
        (RowCosts(fn="amount", fp=1.0), {"constraint": "recall >= 0.8 in each a"}, {}, ValueError, "is by segments"),
        ("savings", {}, {"fn_cost": [1.0] * 900, "fp_cost": 1.0}, TypeError, "fn_cost must be a Dask array or series"),
        (
            RowCosts(fn=lambda X: X["amount"] / X["amount"].max(), fp=1.0),
            {},
            {},
            ValueError,
            r"in partition \d fn=<lambda> of the metric must depend on each row alone",
        ),
        (RowCosts(fn="amount", fp=1.0), {"strategy": "cone"}, {}, ValueError, "searched by 'ladder' or 'grid'"),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_training(rows, monkeypatch, metric, options, given, error, message):
    def trained(*_):
        raise AssertionError("nothing is trained")

    monkeypatch.setattr(DaskEngine, "train", trained)
    dX, dy, _, dfold = collections(rows)
    with pytest.raises(error, match=message):
        DaskCostSearch(LogisticRegression(), metric, **options).fit(dX, dy, folds=dfold, **given)
