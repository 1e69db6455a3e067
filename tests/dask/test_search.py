"""DaskCostSearch: what CostSearch finds on the same folds, whatever the partitions."""

import copy
import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from builders import PAPER, paper_search
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.dask import DaskCostSearch, DaskEngine
from csf.dask.collections import DaskData
from csf.dask.engine import LinearBase, base_kind
from csf.distributed import Job, hash_folds
from csf.export import fixed_threshold, linear_rule
from csf.metrics.trials import best_trial
from csf.testing import check_engine

pytestmark = pytest.mark.usefixtures("one_thread")

PAPERS = {name: value for name, value in PAPER.items() if name != "cv"}

# Solved to the same gap in both places, so that profiles differ by single samples near the cut at most.
PRECISE = {
    "squared hinge": LinearSVC(tol=1e-6),
    "logistic": LogisticRegression(tol=1e-9),
    "liblinear": LogisticRegression(C=5.0, tol=1e-9, solver="liblinear"),
}


def pieces(n_parts, *arrays):
    size = -(-arrays[0].shape[0] // n_parts)
    return [None if a is None else da.from_array(a, chunks=(size, *a.shape[1:])) for a in arrays]


def frames(n_parts, X, y, weight=None, fold=None):
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    columns = {"y": y, "weight": weight, "fold": fold}
    whole = dd.from_pandas(frame.assign(**{k: v for k, v in columns.items() if v is not None}), npartitions=n_parts)
    return [whole[list(frame.columns)], *(None if v is None else whole[k] for k, v in columns.items())]


def check_alike(search, whole, *, profile=6e-4, cut=1e-4):
    assert search.n_trials_ == whole.n_trials_
    for mine, known in zip(search.trials_, whole.trials_, strict=True):
        assert (mine.t, mine.costs) == (known.t, known.costs)
        away = abs(mine.profile.fn - known.profile.fn) + abs(mine.profile.fp - known.profile.fp)
        assert away <= profile
        # A sample is a larger share of the rare class.
        assert mine.score == pytest.approx(known.score, abs=10 * profile)
        assert mine.threshold == pytest.approx(known.threshold, abs=cut)
    assert search.best_t_ == whole.best_t_
    np.testing.assert_allclose(search.best_estimator_.coef_, whole.best_estimator_.coef_, atol=cut)
    np.testing.assert_allclose(search.best_estimator_.intercept_, whole.best_estimator_.intercept_, atol=cut)


@pytest.mark.slow
@pytest.mark.parametrize("base", PRECISE)
@pytest.mark.parametrize(("kind", "n_parts"), [("arrays", 1), ("arrays", 3), ("arrays", 17), ("frames", 3)])
def test_it_finds_what_the_search_in_memory_finds(data, base, kind, n_parts):
    X, y, weight = data
    fold = hash_folds(0, y.size, 3)
    options = PAPERS | {"metric": "f1", "n_trials": 3}
    search = DaskCostSearch(PRECISE[base], **options, error_score="raise")
    if n_parts != 3:
        weight = None
    dX, dy, dweight, dfold = (pieces if kind == "arrays" else frames)(n_parts, X, y, weight, fold)
    search.fit(dX, dy, dweight, folds=dfold)
    whole = paper_search(PRECISE[base], **options, cv=PredefinedSplit(fold)).fit(X, y, weight)
    check_alike(search, whole)
    assert max(search.cv_results_["duality_gap"]) < 1e-6


def test_the_order_of_the_rows_does_not_matter(data):
    X, y, weight = data
    fold, order = hash_folds(0, y.size, 3), np.random.default_rng(1).permutation(y.size)
    search = DaskCostSearch(
        LinearSVC(tol=1e-6), constraint="precision >= 0.6", metric="recall", n_trials=3, param_grid=None
    )
    (X1, y1, w1, f1), (X2, y2, w2, f2) = (
        pieces(4, *(a[at] for a in (X, y, weight, fold))) for at in (slice(None), order)
    )
    first, second = clone(search).fit(X1, y1, w1, folds=f1), search.fit(X2, y2, w2, folds=f2)
    for mine, known in zip(second.trials_, first.trials_, strict=True):
        assert mine.t == known.t
        for name in ("score", "rate"):
            assert getattr(mine, name) == pytest.approx(getattr(known, name), abs=6e-3)
        assert mine.threshold == pytest.approx(known.threshold, abs=1e-4)


def test_rows_of_weight_0_are_as_if_they_were_not_there(data):
    X, y, _ = data
    fold, weight = hash_folds(0, y.size, 3), np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    kept = weight > 0.0
    # Also for scalers and for classes, which read no weights.
    X, labels = np.where(kept[:, None], X, 1e3), np.where(kept, y, 1 - y)
    search = DaskCostSearch(make_pipeline(StandardScaler(), PRECISE["logistic"]), n_trials=2, **PAPERS)
    dX, dy, dweight, dfold = pieces(3, X, labels, weight, fold)
    search.fit(dX, dy, dweight, folds=dfold)
    whole = paper_search(search.base, n_trials=2, cv=PredefinedSplit(fold[kept]))
    whole.fit(X[kept], y[kept], weight[kept])
    assert search.classes_.tolist() == [0, 1]
    assert [mine.t for mine in search.trials_] == [known.t for known in whole.trials_]
    mine, known = (each.best_estimator_[-1] for each in (search, whole))
    np.testing.assert_allclose(mine.coef_, known.coef_, atol=1e-4)
    assert search.score(dX, dy, dweight) == pytest.approx(whole.score(X[kept], y[kept], weight[kept]), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("base", ["squared hinge", "logistic"])
def test_a_hundred_thousand_rows(base):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 20))
    y = (X @ rng.normal(size=20) / 4 + 0.6 * rng.normal(size=100_000) > 1.8).astype(int)
    weight, fold = rng.integers(1, 4, y.size) / 2, hash_folds(3, y.size, 5)
    whole = paper_search(PRECISE[base], n_trials=5, cv=PredefinedSplit(fold)).fit(X, y, weight)
    for n_parts, order in ((1, slice(None)), (3, rng.permutation(y.size)), (17, slice(None))):
        dX, dy, dweight, dfold = pieces(n_parts, *(a[order] for a in (X, y, weight, fold)))
        search = DaskCostSearch(PRECISE[base], n_trials=5, **PAPERS).fit(dX, dy, dweight, folds=dfold)
        check_alike(search, whole, profile=2e-5)
        assert all(found.n_passes <= 4 for found in search.counted_cuts_)


# ---------------------------------------------------------------- the plain call


@pytest.fixture(scope="module")
def both():
    """The plain call on collections and in memory, with the same folds."""
    X, y = make_classification(2000, 8, n_informative=4, weights=[0.9], flip_y=0.05, random_state=0)
    fold = hash_folds(0, y.size, 3)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    base = LinearSVC(tol=1e-6)
    with dask.config.set(scheduler="synchronous"):
        dX, dy, dfold = pieces(3, X, y, fold)
        search = DaskCostSearch(base, random_state=0).fit(dX, dy, folds=dfold)
    return search, CostSearch(base, cv=splits, random_state=0).fit(X, y), X, y


def check_same_outcome(search, whole):
    assert (search.best_params_, search.best_cost_weights_) == (whole.best_params_, whole.best_cost_weights_)
    assert (search.stop_reason_, search.n_trials_, search.n_splits_) == (whole.stop_reason_, whole.n_trials_, 3)
    for name in ("best_threshold_", "best_score_", "corrected_score_", "upper_bound_", "gap_", "bound_margin_"):
        assert getattr(search, name) == pytest.approx(getattr(whole, name), abs=2e-4), name
    for name in ("score_interval_", "threshold_interval_", "class_count_"):
        np.testing.assert_allclose(getattr(search, name), getattr(whole, name), atol=1e-3)


def test_the_plain_call_is_that_in_memory(both):
    search, whole, X, _ = both
    # Settings race.
    assert search.n_trials_ < 42
    assert [study.dropped for study in search.studies_] == [study.dropped for study in whole.studies_]
    for mine, known in zip(search.trials_, whole.trials_, strict=True):
        assert (mine.costs, mine.setting) == (known.costs, known.setting)
        assert mine.score == pytest.approx(known.score, abs=2e-3)
    check_same_outcome(search, whole)
    check_same_outcome(search.at_prevalence(0.3), whole.at_prevalence(0.3))
    assert np.mean(search.predict(X) != whole.predict(X)) < 1e-3


@pytest.mark.parametrize("limit", ["at_most", "wrong_at_most"])
def test_limits_on_a_batch_are_those_of_a_local_search(both, limit):
    search, _, X, _ = both
    with pytest.raises(TypeError, match=rf"to_local\(\)\.predict\(X\.compute\(\), {limit}=\.\.\.\)"):
        search.predict(X, **{limit: 0.2})


@pytest.mark.parametrize("threshold", ["tune", None])
def test_so_are_its_variations(both, threshold):
    _, whole, X, y = both
    options = {"threshold": threshold, "param_grid": {"C": [0.01, 1.0]}, "base__tol": 1e-8}
    whole = clone(whole).set_params(**options).fit(X, y)
    fold = np.zeros(y.size, dtype=int)
    for k, (_, test) in enumerate(whole.cv):
        fold[test] = k
    dX, dy, dfold = pieces(3, X, y, fold)
    search = DaskCostSearch(LinearSVC(), random_state=0).set_params(**options).fit(dX, dy, folds=dfold)
    check_same_outcome(search, whole)


def test_more_rows_than_are_collected_are_counted(both, monkeypatch):
    search, whole, X, y = both
    monkeypatch.setattr("csf.dask.engine.MOST_COLLECTED", 1999)
    counted = clone(search).set_params(param_grid=None, n_trials=3)
    dX, dy, dfold = pieces(3, X, y, hash_folds(0, y.size, 3))
    counted.fit(dX, dy, folds=dfold)
    for mine, known in zip(counted.trials_, search.trials_[:3], strict=True):
        assert (mine.costs, mine.score, mine.threshold) == (known.costs, known.score, known.threshold)
    best = best_trial(counted.trials_)
    assert (counted.best_threshold_, counted.best_score_) == (best.threshold, best.score)
    assert max(found.n_passes for found in counted.counted_cuts_) <= 4
    # So few rows are all in the sample: corrections are those of memory.
    known = clone(whole).set_params(param_grid=None, n_trials=3, threshold="tune", base__tol=1e-8).fit(X, y)
    assert counted.held_out_.is_pos.size == y.size
    for name in ("corrected_score_", "score_interval_", "bound_margin_"):
        assert getattr(counted, name) == pytest.approx(getattr(known, name), abs=2e-3)
    assert counted.at_prevalence(0.3).best_score_ == pytest.approx(known.at_prevalence(0.3).best_score_, abs=2e-3)


@pytest.fixture
def sampled(monkeypatch):
    """A sample takes the place of all rows wherever one is possible."""
    monkeypatch.setattr("csf.dask.engine.MOST_COLLECTED", 0)
    monkeypatch.setattr("csf.dask.engine._SAMPLED", 1200)


@pytest.mark.parametrize("kind", [pieces, frames])
def test_a_sample_stands_for_all_rows(data, sampled, kind):
    X, y, weight = data
    whole = DaskEngine(DaskData(*kind(3, X, y, weight)[:3], None, 4, 0), base_kind(LinearSVC()))
    part, all_of = whole.sample(), whole.totals().weight
    np.testing.assert_allclose(part.totals().weight[:-1], all_of[:-1], rtol=0.25)
    entries = whole.entries()
    # All of the rare class, with weights as they were; of the other one some.
    assert entries.is_pos.sum() == y.sum()
    assert np.sort(entries.weight[entries.is_pos]).tolist() == np.sort(weight[y == 1]).tolist()
    assert 1000 < entries.is_pos.size < 1400
    models = [each.model for each in whole.train([Job(LinearSVC(), fold, (1.0, 1.0)) for fold in range(4)])]
    np.testing.assert_array_equal(whole.scores(models).collected(), part.scores(models).collected())


@pytest.mark.slow
def test_settings_race_on_a_sample(data, sampled, monkeypatch):
    """What is behind there is not trained on all rows; what goes on has the scores that it has without a race."""
    X, y, weight = data
    passes, reduced = [], DaskData.reduced
    monkeypatch.setattr(DaskData, "reduced", lambda own, *given: passes.append(own.thinned) or reduced(own, *given))
    spent, found = [], []  # one more pass draws the sample
    for threshold in ("tune", "stable"):
        passes.clear()
        found.append(
            DaskCostSearch(LinearSVC(), cv=3, random_state=0, threshold=threshold).fit(*pieces(3, X, y, weight))
        )
        spent.append(sum(parts is None for parts in passes))
    alone, raced = found
    assert spent[1] < 0.5 * spent[0]
    assert re.search(r"a sample of \d+ rows left \d of \d+ settings in the race", raced.stop_reason_)
    known, own = ([params["C"] for params in search.cv_results_["params"]] for search in found)
    for C, trial in zip(own, raced.trials_, strict=True):
        (same,) = (each for at, each in zip(known, alone.trials_) if (at, each.costs) == (C, trial.costs))
        assert (trial.score, trial.threshold) == pytest.approx((same.score, same.threshold), abs=1e-3)
    assert raced.best_score_ == pytest.approx(alone.best_score_, abs=0.01)
    for search in found:
        low, high = search.score_interval_
        assert low <= search.corrected_score_ <= high
        assert search.corrected_score_ <= search.best_score_ + 0.005
    assert search.to_local().at_prevalence(0.3).best_estimator_ is search.best_estimator_


def covers(seed, metric, constraint):
    """Whether the interval of a sample holds what counts of all rows say, and how wide it is beside that of all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40_000, 3))
    y = (X @ [1.0, 0.8, 0.4] + rng.normal(size=40_000) > 3.5).astype(int)
    options = {"constraint": constraint, "n_trials": 2, "param_grid": None, "cv": 3, "random_state": seed}
    search = DaskCostSearch(LogisticRegression(), metric, **options).fit(*pieces(4, X, y))
    low, high = search.score_interval_
    # What the interval of a share says of all rows of the rare class, by whom the metric is known.
    assert high - low < 12.0 / np.sqrt(y.sum())
    return low <= search.best_score_ <= high


def test_the_interval_of_a_sample_holds_what_is_counted_under_a_constraint(sampled, monkeypatch):
    monkeypatch.setattr("csf.dask.engine._SAMPLED", 4096)
    assert covers(0, "recall", "precision >= 0.5")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "constraint"),
    [
        *(("recall", "precision >= 0.5"), ("recall", "fpr <= 0.002")),
        pytest.param("recall", "precision >= 0.7", marks=pytest.mark.simulation),
        pytest.param("precision", "recall >= 0.4", marks=pytest.mark.simulation),
        pytest.param("f1", None, marks=pytest.mark.simulation),
    ],
)
def test_intervals_of_samples_hold_what_is_counted(sampled, monkeypatch, metric, constraint):
    monkeypatch.setattr("csf.dask.engine._SAMPLED", 4096)
    assert sum(covers(seed, metric, constraint) for seed in range(20)) >= 18


@pytest.mark.slow
def test_a_search_with_a_sample_goes_on_from_its_file(data, sampled, tmp_path):
    given, options = pieces(3, *data), {"cv": 3, "random_state": 0, "param_grid": {"C": [1e-4, 1.0]}}
    whole = DaskCostSearch(LinearSVC(), **options).fit(*given)
    search = DaskCostSearch(LinearSVC(), checkpoint=tmp_path / "search.json", **options)
    first = search.set_params(callbacks=[lambda study, trial: True]).fit(*given)
    assert first.n_trials_ == 1 < whole.n_trials_
    again = search.set_params(callbacks=None).fit(*given)
    assert [(t.costs, t.score, t.threshold) for t in again.trials_] == [
        (t.costs, t.score, t.threshold) for t in whole.trials_
    ]
    assert (again.corrected_score_, again.best_threshold_) == (whole.corrected_score_, whole.best_threshold_)


def test_rows_of_a_key_are_in_one_fold(data):
    """As the guide does it."""
    X, y, _ = data
    keys = np.random.default_rng(0).integers(0, 200, y.size).astype(str).astype(object)
    dX, dy = frames(3, X, y)[:2]
    customer = dd.from_pandas(pd.Series(keys), npartitions=3)

    def fold_of(part):
        return (pd.util.hash_array(part.to_numpy(), categorize=False) % 5).astype(np.int64)

    folds = customer.map_partitions(fold_of, meta=("fold", "int64"))
    assert pd.DataFrame({"key": keys, "fold": fold_of(pd.Series(keys))}).groupby("key")["fold"].nunique().max() == 1
    search = DaskCostSearch(LinearSVC(), n_trials=1, param_grid=None).fit(dX, dy, folds=folds)
    known = CostSearch(LinearSVC(), n_trials=1, param_grid=None, cv=PredefinedSplit(fold_of(pd.Series(keys)))).fit(X, y)
    assert search.n_splits_ == 5
    assert search.trials_[0].score == pytest.approx(known.trials_[0].score, abs=1e-3)


SCALED = {
    "standard": make_pipeline(StandardScaler(), LogisticRegression(tol=1e-9)),
    "range": make_pipeline(MinMaxScaler(), StandardScaler(with_std=False), LinearSVC(tol=1e-6)),
    "largest": make_pipeline(MaxAbsScaler(), LogisticRegression(tol=1e-9, fit_intercept=False)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pieces, frames])
@pytest.mark.parametrize("base", SCALED)
def test_scalers_learn_of_each_fold(data, base, kind):
    """A pipeline trains on what its scalers make of the training part of each fold, as in memory."""
    X, y, _ = data
    X, fold = X * [1, 10, 0.1, 100, 1, 1] + [0, 5, 3, 2000, 0, 0], hash_folds(0, y.size, 3)
    options = {"param_grid": None, "n_trials": 3, "random_state": 0}
    whole = CostSearch(SCALED[base], cv=PredefinedSplit(fold), **options).fit(X, y)
    dX, dy, _, dfold = kind(3, X, y, None, fold)
    search = DaskCostSearch(SCALED[base], **options).fit(dX, dy, folds=dfold)
    for mine, known in zip(search.trials_, whole.trials_, strict=True):
        assert mine.costs == known.costs
        assert (mine.score, mine.threshold) == pytest.approx((known.score, known.threshold), abs=1e-4)
    fitted, known = search.best_estimator_, whole.best_estimator_
    assert [name for name, _ in fitted.steps] == [name for name, _ in known.steps]
    np.testing.assert_allclose(fitted[:-1].transform(dX.compute()), known[:-1].transform(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fitted[-1].coef_, known[-1].coef_, atol=1e-3)
    np.testing.assert_array_equal(search.predict(dX).compute(), search.to_local().predict(dX.compute()))
    assert (search.predict(dX).compute() != whole.predict(X)).mean() <= 1e-3
    assert getattr(fitted, "feature_names_in_", np.array(["f0"]))[0] == "f0"


def test_scalers_of_sparse_partitions(data):
    X, y, _ = data
    parts = [sparse.csr_matrix(np.where(each > 0, each, 0.0)) for each in np.array_split(X, 3)]
    meta = sparse.csr_matrix((0, 6))
    dX = da.concatenate([da.from_delayed(dask.delayed(each), each.shape, meta=meta) for each in parts])
    search = DaskCostSearch(SCALED["largest"], cv=2, n_trials=1, param_grid=None).fit(dX, *pieces(3, y))
    np.testing.assert_array_equal(search.predict(dX).compute()[:1000], search.to_local().predict(parts[0]))
    with pytest.raises(ValueError, match="sparse features would be dense where a scaler shifts them"):
        search.set_params(base=SCALED["standard"]).fit(dX, *pieces(3, y))


def test_many_features_are_scaled_too(data, monkeypatch):
    """Where second derivatives are too many, directions are found by products with them."""
    X, y, _ = data
    monkeypatch.setattr("csf.distributed.newton.DIRECT", 3)
    base, options = SCALED["standard"], {"cv": 2, "n_trials": 1, "param_grid": None}
    found = DaskCostSearch(base, **options).fit(*pieces(3, 5 * X + 1, y))
    monkeypatch.undo()
    known = DaskCostSearch(base, **options).fit(*pieces(3, 5 * X + 1, y))
    np.testing.assert_allclose(found.best_estimator_[-1].coef_, known.best_estimator_[-1].coef_, atol=1e-3)


def test_settings_share_passes(data, monkeypatch):
    X, y, _ = data
    passes, reduced = [], DaskData.reduced
    monkeypatch.setattr(DaskData, "reduced", lambda *given: passes.append(1) or reduced(*given))
    search, spent = DaskCostSearch(LinearSVC(), n_trials=1, cv=2, refit=False), []
    for grid in ({"C": [1.0]}, {"C": [0.5, 1.0, 2.0, 4.0]}):
        passes.clear()
        search.set_params(param_grid=grid).fit(*pieces(2, X, y))
        spent.append(len(passes))
    # Scores of each trial are a pass of their own.
    assert spent[1] < 2 * spent[0]


@pytest.mark.parametrize("base", PRECISE)
def test_the_final_training_goes_on_from_a_fold(data, base, monkeypatch):
    X, y, weight = data
    passes, reduced, spent, found = [], DaskData.reduced, [], []
    monkeypatch.setattr(DaskData, "reduced", lambda *given: passes.append(1) or reduced(*given))
    trained = DaskEngine.refit

    def counted(self, job, **options):
        for known in ((), job.starts):
            passes.clear()
            found.append(trained(self, replace(job, starts=known), **options))
            spent.append(len(passes))
        return found[-1]

    monkeypatch.setattr(DaskEngine, "refit", counted)
    DaskCostSearch(PRECISE[base], n_trials=2, cv=3, param_grid=None).fit(*pieces(3, X, y, weight))
    cold, warm = spent
    assert warm < cold
    np.testing.assert_allclose(found[1].model.coef_, found[0].model.coef_, atol=1e-5)


# ---------------------------------------------------------------- the interface


@pytest.mark.slow
def test_a_local_search_is_a_fitted_one(both, tmp_path):
    search, whole, X, y = both
    local = pickle.loads(pickle.dumps(search)).to_local()
    assert isinstance(local, CostSearch)
    check_same_outcome(pickle.loads(pickle.dumps(local)), whole)
    np.testing.assert_array_equal(local.predict(X), search.predict(X))
    rule = linear_rule(local)
    np.testing.assert_array_equal(rule.predict(X), search.predict(X))
    np.testing.assert_array_equal(fixed_threshold(local).predict(X), search.predict(X))
    moved = search.at_prevalence(0.3)
    np.testing.assert_array_equal(moved.to_local().predict(X), moved.predict(X))
    again = moved.to_local().at_prevalence(0.1)
    assert again.best_threshold_ == search.at_prevalence(0.1).best_threshold_
    np.testing.assert_array_equal(again.score_samples(X) >= again.best_threshold_, again.predict(X) == 1)
    assert moved.best_threshold_ < search.best_threshold_
    np.testing.assert_array_equal(local.held_out_curve().fn, search.held_out_curve().fn)
    for number, shown in enumerate((search, local)):
        shown.report(tmp_path / f"{number}.html", X, y)
    assert (tmp_path / "0.html").read_text() == (tmp_path / "1.html").read_text()
    assert clone(local).set_params(cv=whole.cv, refit=False).fit(X, y).best_score_ == whole.best_score_


@pytest.mark.parametrize("name", ["ConeDisplay", "ProgressDisplay"])
def test_plots_draw_it_as_they_draw_a_local_one(both, name):
    plots = pytest.importorskip("csf.plots", exc_type=ImportError)
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    for search in both[:2]:
        assert getattr(plots, name).from_estimator(search).ax_.has_data()


def test_a_report_asks_for_samples_in_memory(both, tmp_path):
    search, _, X, y = both
    with pytest.raises(TypeError, match=r"X must be in memory, got a dask Array.*give X\.compute\(\)"):
        search.report(tmp_path / "report.html", *pieces(2, X, y))
    with pytest.raises(TypeError, match=r"^((?!DaskCostSearch).)*$"):
        search.report(tmp_path / "report.html", *pieces(2, X, y))


def test_what_it_lacks_is_to_be_had_in_memory(fitted):
    for name in ("predict_with_review", "predict_log_proba"):
        with pytest.raises(AttributeError, match=rf"has no {name}; to_local\(\) is a search in memory"):
            getattr(fitted, name)
        assert hasattr(fitted.to_local(), name)
    for search, name in ((fitted, "fitt"), (DaskCostSearch(LinearSVC()), "predict_proba")):
        with pytest.raises(AttributeError) as raised:
            getattr(search, name)
        assert "to_local" not in str(raised.value)


@pytest.fixture
def fitted(data):
    X, y, weight = data
    return DaskCostSearch(LogisticRegression(), n_trials=2, cv=3, param_grid=None).fit(*pieces(4, X, y, weight))


def test_predictions_are_lazy_and_those_in_memory(fitted, data):
    X, y, weight = data
    dX, dy, dweight = pieces(5, X, y, weight)
    local = fitted.to_local()
    for method in ("predict", "predict_proba", "decision_function", "score_samples"):
        told = getattr(fitted, method)(dX)
        assert isinstance(told, da.Array)
        assert told.shape == getattr(local, method)(X).shape
        np.testing.assert_array_equal(told.compute(), getattr(local, method)(X))
        np.testing.assert_array_equal(getattr(fitted, method)(X), getattr(local, method)(X))
    assert fitted.score(dX, dy, dweight) == pytest.approx(local.score(X, y, weight), rel=1e-12)
    assert local.best_score_ == fitted.best_score_
    assert local.trials_ == fitted.trials_


def test_frames_with_names_and_texts(data):
    X, y, _ = data
    dX, dy, *_ = frames(3, X, np.where(y, "rare", "usual"))
    search = DaskCostSearch(LogisticRegression(), n_trials=2, cv=2, param_grid=None, pos_label="rare").fit(dX, dy)
    assert search.classes_.tolist() == ["rare", "usual"]
    assert search.feature_names_in_.tolist() == [f"f{j}" for j in range(6)]
    frame = dX.compute()
    np.testing.assert_array_equal(search.predict(dX).compute(), search.to_local().predict(frame))
    proba, decided = search.predict_proba(dX).compute(), search.decision_function(dX).compute()
    assert proba.shape == (3000, 2)
    np.testing.assert_array_equal(decided > 0, search.predict(frame) == "usual")


def test_a_share_is_held_out_by_the_seed(data):
    X, y, _ = data
    given = pieces(3, X, y)
    search = DaskCostSearch(LinearSVC(), n_trials=2, cv=0.3, random_state=0, **PAPERS)
    first, again = search.fit(*given), clone(search).fit(*given)
    assert first.n_splits_ == 1
    assert first.trials_ == again.trials_
    assert first.trials_[0].threshold != again.set_params(random_state=1).fit(*given).trials_[0].threshold
    fold = np.concatenate([hash_folds(k, 1000, 0.3) for k in range(3)])
    whole = paper_search(LinearSVC(), n_trials=2, cv=PredefinedSplit(fold)).fit(X, y)
    search = search.set_params(random_state=None).fit(*given)
    assert search.best_score_ == pytest.approx(whole.best_score_, abs=2e-3)


def test_parameters_are_searched_and_the_own_decision_is_kept(data):
    X, y, _ = data
    search = DaskCostSearch(LinearSVC(), "gmean", threshold=None, param_grid={"C": [1e-4, 1.0]}, n_trials=2, cv=2)
    search.fit(*pieces(2, X, y))
    assert search.n_trials_ == 4
    assert search.best_params_ in ({"C": 1e-4}, {"C": 1.0})
    assert (search.best_threshold_, search.best_estimator_.C) == (0.0, search.best_params_["C"])
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_sparse_blocks_and_many_features():
    rng = np.random.default_rng(0)
    X = sparse.random(400, 700, density=0.02, random_state=0, format="csr")
    y = (X @ rng.normal(size=700) + 0.1 * rng.normal(size=400) > 0.3).astype(int)
    blocks = [da.from_delayed(dask.delayed(X[k : k + 100]), (100, 700), meta=X[:0]) for k in range(0, 400, 100)]
    fold = hash_folds(0, 400, 2)
    search = DaskCostSearch(LinearSVC(tol=1e-5), n_trials=1, **PAPERS)
    search.fit(da.concatenate(blocks), da.from_array(y, chunks=100), folds=da.from_array(fold, chunks=100))
    whole = paper_search(LinearSVC(tol=1e-6, max_iter=100_000), n_trials=1, cv=PredefinedSplit(fold)).fit(X, y)
    assert search.cv_results_["duality_gap"].max() < 1e-7
    assert search.best_score_ == pytest.approx(whole.best_score_, abs=0.01)
    np.testing.assert_allclose(search.best_estimator_.coef_, whole.best_estimator_.coef_, atol=1e-3)


def test_without_a_final_model_there_is_nothing_to_predict_with(data):
    X, y, _ = data
    search = DaskCostSearch(LinearSVC(), n_trials=1, param_grid=None, refit=False).fit(*pieces(2, X, y))
    assert search.to_local().corrected_score_ == search.corrected_score_
    with pytest.raises(AttributeError, match="fitted with refit=False"):
        search.predict(X)


# ---------------------------------------------------------------- what cannot be used


def test_data_in_memory_are_sent_to_the_other_class(data):
    X, y, _ = data
    dX, dy = pieces(2, X, y)
    with pytest.raises(TypeError, match=r"X must be a Dask array or frame, got a ndarray; .*csf\.CostSearch"):
        DaskCostSearch(LinearSVC()).fit(X, dy)
    with pytest.raises(TypeError, match="y must be a Dask array or series, got a ndarray"):
        DaskCostSearch(LinearSVC()).fit(dX, y)
    with pytest.raises(TypeError, match=r"X must be in memory, got a dask Array.*with csf\.dask\.DaskCostSearch"):
        paper_search(LinearSVC()).fit(dX, dy)


@pytest.mark.parametrize(
    ("base", "error", "message"),
    [
        (DecisionTreeClassifier(), TypeError, "base must be LinearSVC, LogisticRegression"),
        (LinearSVC(loss="hinge"), ValueError, "cannot be trained in parts"),
        (LogisticRegression(class_weight="balanced"), ValueError, "cannot be trained in parts"),
    ],
)
@pytest.mark.filterwarnings("ignore:the base has class_weight")
def test_bases_that_need_their_data_in_memory(data, base, error, message):
    with pytest.raises(error, match=message):
        DaskCostSearch(base).fit(*pieces(2, *data[:2]))


def test_columns_that_do_not_belong_to_the_samples(data):
    X, y, weight = data
    dX, dy, dweight = pieces(3, X, y, weight)
    search = DaskCostSearch(LinearSVC(), n_trials=1)
    with pytest.raises(ValueError, match="X has 3000 rows, y 2999"):
        search.fit(dX, dy[1:])
    with pytest.raises(ValueError, match="X has 3 partitions and y 2"):
        search.fit(frames(3, X, y)[0], frames(2, X, y)[1])
    moved = dweight.rechunk(((999, 1001, 1000),)).to_dask_dataframe()
    with pytest.raises(ValueError, match=r"in partition \d X has 1000 rows and sample_weight (999|1001)"):
        search.fit(*frames(3, X, y)[:2], moved)
    with pytest.raises(ValueError, match="y must have 1 dimension, got 2"):
        search.fit(dX, dX)
    parts = [X[:1000], X[1000:2000], X[2000:, :5]]
    narrow = da.concatenate([da.from_delayed(dask.delayed(part), (1000, 6), dtype=float) for part in parts])
    with pytest.raises(ValueError, match="partition 2 of X has 5 columns in place of 6"):
        search.fit(narrow, dy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": -1.0}, "sample_weight must hold finite numbers >= 0, got -1.0 in partition 0"),
        ({"y": np.nan}, "y must hold labels .*, in all rows, got NaN, None or infinity in partition 0; drop rows"),
        ({"y": np.inf}, "y must hold labels .*, got NaN, None or infinity in partition 0"),
        ({"y": 2}, "Only binary classification"),
        ({"fold": -2}, "folds must hold fold numbers 0, 1, .*, integers, or -1 .* got -2 in partition 0"),
        ({"X": np.nan}, r"X holds nan in partition 0, row 7 of it, column 0: .* in the collection before the search"),
        ({"X": -np.inf}, "X holds -inf in partition 0, row 7 of it, column 0: linear models need finite numbers"),
    ],
)
def test_values_that_cannot_be_used(data, change, message):
    X, y, weight = data
    given = {"X": X.copy(), "y": y.astype(float), "weight": weight.copy(), "fold": hash_folds(0, y.size, 2)}
    for name, value in change.items():
        given[name][7] = value
    dX, dy, dweight, dfold = pieces(2, *given.values())
    with pytest.raises(ValueError, match=message):
        DaskCostSearch(LinearSVC(), n_trials=1, error_score="raise").fit(dX, dy, dweight, folds=dfold)


def delayed_frame(X, change, **more):
    """Three partitions of which the second was changed; Dask believes what is said of them."""
    parts = [pd.DataFrame(each, columns=[f"f{j}" for j in range(6)]) for each in np.array_split(X, 3)]
    meta = parts[0].iloc[:0].assign(**more)
    parts[1] = change(parts[1])
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=meta, verify_meta=False)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda part: part[part.columns[::-1]], ValueError, r"partition 1 of X has another order, \['f5', 'f4'"),
        (lambda part: part.drop(columns="f2"), ValueError, r"partition 1 of X has other columns, .* in \['f2'\]; give"),
        (
            lambda part: part.rename(columns={"f2": "z"}),
            ValueError,
            r"other columns, which differ in \['f2', 'z'\]; give",
        ),
        (lambda part: part.assign(z=1.0), ValueError, r"of X has other columns, which differ in \['z'\]; give"),
        (lambda part: part.assign(f3="a"), TypeError, r"in partition 1 samples must be columns .* encode \['f3'\]"),
        (lambda part: part.assign(f4=np.nan), ValueError, "X holds nan in partition 1, row 0 of it, column 'f4'"),
    ],
)
def test_a_partition_of_a_frame_with_other_columns(data, change, error, message):
    X, y, _ = data
    with pytest.raises(error, match=message) as caught:
        DaskCostSearch(LinearSVC(), n_trials=1).fit(delayed_frame(X, change), *pieces(3, y))
    # What this search refuses is no way out.
    assert not re.search("make_pipeline|Imputer|HistGradient", str(caught.value))


def read_anew(draw, n_parts=3):
    """Collections whose source is drawn again at each read."""
    parts = [dask.delayed(draw, nout=2, pure=False)(number) for number in range(n_parts)]
    X = [da.from_delayed(X, (1000, 6), dtype=float) for X, _ in parts]
    y = [da.from_delayed(y, (1000,), dtype=int) for _, y in parts]
    return da.concatenate(X), da.concatenate(y)


@pytest.mark.parametrize("collected", [True, False])
@pytest.mark.parametrize("what", ["labels, folds or texts", "features"])
def test_a_source_that_gives_other_rows_at_each_read_is_refused(data, what, collected, monkeypatch):
    X, y, _ = data
    reads = iter(range(10_000))
    if not collected:
        monkeypatch.setattr("csf.dask.engine.MOST_COLLECTED", 0)

    def draw(number):
        order = np.random.default_rng(next(reads)).permutation(1000) + 1000 * number
        kept = np.arange(1000) + 1000 * number
        return X[order], y[order if what == "labels, folds or texts" else kept]

    message = f"the {what} of partition [012] are not those of the first read: .*Persist"
    with pytest.raises(RuntimeError, match=message):
        DaskCostSearch(LinearSVC(), n_trials=1, threshold="tune").fit(*read_anew(draw))


def test_last_digits_of_features_may_change_from_read_to_read(data):
    X, y, _ = data
    reads = iter(range(10_000))

    def draw(number):
        at = slice(1000 * number, 1000 * number + 1000)
        return X[at] * (1 + 1e-15 * next(reads)), y[at]

    found = DaskCostSearch(LinearSVC(), n_trials=1, param_grid=None, cv=2, random_state=0).fit(*read_anew(draw))
    fixed = DaskCostSearch(LinearSVC(), n_trials=1, param_grid=None, cv=2, random_state=0).fit(*pieces(3, X, y))
    assert found.best_score_ == pytest.approx(fixed.best_score_, abs=1e-3)


def labelled(y, kinds):
    """Dask labels with a partition of each kind, whatever Dask believes of them."""
    parts = [kind(part) for kind, part in zip(kinds, np.array_split(y, len(kinds)))]
    series = dd.from_delayed([dask.delayed(pd.Series)(part) for part in parts], meta=("y", "int64"), verify_meta=False)
    arrays = [da.from_delayed(dask.delayed(part), part.shape, np.int64, meta=np.empty(0, np.int64)) for part in parts]
    return series, da.concatenate(arrays)


TEXTS, OBJECTS = (lambda part: part.astype(str)), (lambda part: part.astype(object))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds",
    [
        (TEXTS, np.int64, np.int64),
        (np.int64, lambda part: part.astype(str).astype(object), np.float64),
        (np.bool_, lambda part: part.astype("S"), np.bool_),
        (np.int64, lambda part: np.where(np.arange(part.size) % 2, part.astype(object), part.astype(str)), np.int64),
    ],
)
@pytest.mark.parametrize("pos_label", [None, 1, "1"])
def test_labels_of_two_kinds_are_refused_with_their_partitions(data, fitted, kinds, pos_label):
    X, y, _ = data
    whole = frames(3, X, y)[0], pieces(3, X)[0]
    for rows, labels in zip(whole, labelled(y, kinds)):
        message = r"y holds (\w+s in partition \d, such as .*){2}: labels must be of one kind .*y.astype\(int\)"
        with pytest.raises(TypeError, match=message):
            DaskCostSearch(LinearSVC(), n_trials=1, pos_label=pos_label).fit(rows, labels)
    with pytest.raises(ValueError, match=r"y holds the label b?'.' in partition .*, the search knows"):
        fitted.score(whole[1], labelled(y, kinds)[1])


@pytest.mark.parametrize("labels", range(2), ids=["frames", "arrays"])
def test_the_advice_for_labels_of_two_kinds_helps(data, labels):
    X, y, _ = data
    mixed = labelled(y, (TEXTS, np.int64, OBJECTS))[labels]
    mended = mixed.map_blocks(lambda part: part.astype(int), dtype=int) if labels else mixed.astype(int)
    rows = pieces(3, X)[0] if labels else frames(3, X, y)[0]
    search = DaskCostSearch(LinearSVC(), n_trials=1, param_grid=None, cv=2).fit(rows, mended)
    assert search.class_count_.tolist() == np.bincount(y).tolist()


@pytest.mark.parametrize(
    "kinds",
    [
        (np.int64, np.float64, np.int8),
        (np.bool_, np.int64, np.float32),
        (OBJECTS, np.bool_, np.uint8),
        (lambda part: pd.Categorical(part, [1, 0, 2]), np.int64, lambda part: pd.array(part, dtype="Int64")),
    ],
)
def test_equal_labels_of_several_types_are_one_class(data, kinds):
    X, y, _ = data
    search, plain = (DaskCostSearch(LinearSVC(), n_trials=1, param_grid=None, cv=2) for _ in range(2))
    rows, labels = frames(3, X, y)[0], labelled(y, kinds)[0]
    search.fit(rows, labels)
    plain.fit(rows, frames(3, X, y)[1])
    assert search.class_count_.tolist() == np.bincount(y).tolist()
    assert search.best_score_ == plain.best_score_
    assert search.score(rows, labels) == plain.score(rows, frames(3, X, y)[1])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_labels_of_texts_that_are_missing(data, missing):
    X, y, _ = data
    texts = np.where(y, "rare", "usual").astype(object)
    texts[2001] = missing
    search = DaskCostSearch(LinearSVC(), n_trials=1, pos_label="rare")
    message = "y must hold .*, got NaN, None or infinity in partition 1; drop rows without a label"
    with pytest.raises(ValueError, match=message):
        search.fit(*pieces(2, X, texts))
    with pytest.raises(ValueError, match=message):
        search.fit(*frames(2, X, texts)[:2])


@pytest.mark.parametrize(
    "option",
    [
        *({"threshold": 0.5}, {"normalize": "max"}, {"n_trials": 0}, {"param_grid": "x"}, {"param_grid": {"C": []}}),
        *(
            {"param_grid": {"D": [1]}},
            {"strategy": "con"},
            {"metric": "f"},
            {"constraint": "precision"},
            {"bound": "x"},
        ),
        *({"time_limit": 0}, {"error_score": 0}, {"callbacks": 1}, {"random_state": "a"}),
        *({"base": LinearSVC}, {"pos_label": 7}),
    ],
)
def test_options_that_cannot_be_used_are_told_as_in_memory(data, option):
    X, y, _ = data
    told = []
    for search, given in ((CostSearch(LinearSVC()), (X, y)), (DaskCostSearch(LinearSVC()), pieces(2, X, y))):
        with pytest.raises((TypeError, ValueError)) as caught:
            search.set_params(**option).fit(*given)
        told.append((caught.type, str(caught.value)))
    assert told[0] == told[1]
    assert str(next(iter(option))) in told[0][1]


@pytest.mark.parametrize(("rare", "usual"), [("ill", "well"), ("well", "ill"), (7, 3), (3, 7)])
def test_the_rarer_class_is_advised_as_in_memory(data, rare, usual):
    X, y, _ = data
    labels, told = np.where(y, rare, usual), []
    for search, given in ((CostSearch(LinearSVC()), (X, labels)), (DaskCostSearch(LinearSVC()), pieces(3, X, labels))):
        with pytest.raises(ValueError, match=f"e.g. pos_label={rare!r}, the rarer one") as caught:
            search.fit(*given)
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_a_fit_that_fails_leaves_nothing(fitted, data):
    X, y, _ = data
    search = copy.deepcopy(fitted)
    with pytest.raises(ValueError, match="Only binary"):
        search.fit(*pieces(2, X, y + 2 * (np.arange(y.size) == 0)))
    assert not [name for name in vars(search) if name.endswith("_")]
    for ask in (search.to_local, search.held_out_curve, lambda: search.predict(X), lambda: search.at_prevalence(0.5)):
        with pytest.raises(NotFittedError):
            ask()


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ImportError, match=r"Dask collections needs Dask .*pip install 'csf-search\[dask\]'"):
        DaskCostSearch(LinearSVC()).fit(0, 0)


# ---------------------------------------------------------------- the engine, and the file


def arrays_engine(X, y, fold, weight):
    return DaskEngine(DaskData(*pieces(4, X, y, weight, fold), 2, 0), LinearBase())


def frames_engine(X, y, fold, weight):
    return DaskEngine(DaskData(*frames(3, X, y, weight, fold), 2, 0), LinearBase())


@pytest.mark.slow
@pytest.mark.parametrize("make", [arrays_engine, frames_engine])
@pytest.mark.parametrize("base", [LinearSVC(), LogisticRegression()])
def test_it_keeps_the_contract_of_engines(make, base):
    check_engine(make, base)


RESUMED = """
import os, sys
import dask, dask.array as da, numpy as np
from sklearn.svm import LinearSVC
from csf.dask import DaskCostSearch

dask.config.set(scheduler="synchronous")
path, killed, seed = sys.argv[1], sys.argv[2] == "killed", int(sys.argv[3])
rng = np.random.default_rng(seed)
X = rng.normal(size=(600, 4))
y = (X[:, 0] + rng.normal(size=600) > 1.5).astype(int)
stop = [lambda study, trial: os._exit(9) if killed and trial.number == 1 else None]
search = DaskCostSearch(LinearSVC(), n_trials=4, cv=2, checkpoint=path if path else None, callbacks=stop)
search.fit(da.from_array(X, chunks=(200, 4)), da.from_array(y, chunks=200))
print(len(search.counted_cuts_), [(t.t, t.threshold, t.score) for t in search.trials_], search.best_estimator_.coef_)
"""


def run(*arguments):
    root = str(Path(__file__).parents[2])
    options = {"capture_output": True, "text": True, "env": {**os.environ, "PYTHONPATH": root}, "check": False}
    return subprocess.run([sys.executable, "-c", RESUMED, *map(str, arguments)], **options)


@pytest.mark.slow
def test_a_client_that_was_killed_goes_on_where_it_was(tmp_path):
    path = tmp_path / "search.json"
    whole = run("", "", 0)
    assert run(path, "killed", 0).returncode == 9
    again = run(path, "", 0)
    (n_whole, told), (n_again, told_again) = (text.stdout.split(" ", 1) for text in (whole, again))
    # Five values of C race with equal costs; the first trial at other costs is the sixth.
    assert (n_whole, n_again) == ("8", "2")
    assert told_again == told
    other = run(path, "", 1)
    assert "belongs to another search" in other.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the base has")
@pytest.mark.parametrize("labels", [[0, 1], [False, True], [1, 2], ["bad", "good"]], ids=str)
@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("scaled", [False, True])
def test_class_weights_are_those_of_the_users_labels(labels, positive, scaled):
    X, is_last = make_classification(300, 3, n_redundant=0, weights=[0.4], flip_y=0.2, random_state=0)
    names = np.array(labels)
    base = LogisticRegression(class_weight={labels[0]: 6.0}, tol=1e-8)
    base, y = make_pipeline(StandardScaler(), base) if scaled else base, names[is_last]
    options = {"n_trials": 1, "cv": 2, "param_grid": None, "threshold": None, "pos_label": names[positive]}
    search, own = DaskCostSearch(base, **options).fit(*pieces(3, X, y)), clone(base).fit(X, y)
    for model in (search, search.to_local(), search.best_estimator_):
        assert np.mean(np.asarray(model.predict(X)) == own.predict(X)) > 0.99
        np.testing.assert_array_equal(model.classes_, names)


def test_a_monitor_knows_the_weights_and_tunes_in_memory(data):
    X, y = data[:2]
    weight = np.where(np.arange(len(y)) % 7 == 0, 5.0, 1.0)
    parts = [pieces(3, each)[0] for each in (X, y, weight)]
    search = DaskCostSearch(LogisticRegression(), "f1", n_trials=1, param_grid=None, random_state=0)
    search.fit(parts[0], parts[1], sample_weight=parts[2])
    for fitted in (search, search.to_local()):
        monitor = fitted.monitor("f1 >= 0.99")
        assert monitor.max_weight == 10.0
        assert monitor.update(y, search.to_local().predict(X), sample_weight=weight) == "1"
        again = monitor.retune(X, y, sample_weight=weight)
        np.testing.assert_array_equal(again.score_samples(X), search.to_local().score_samples(X))


@pytest.mark.parametrize("how", ["in each partition", "across partitions"])
@pytest.mark.parametrize("name", ["y", "sample_weight"])
def test_an_index_in_another_order_is_warned_of(how, name):
    X, y = make_classification(300, 4, weights=[0.7], random_state=0)
    frame, given = pd.DataFrame(X, columns=list("abcd")), {"y": pd.Series(y), "sample_weight": pd.Series(np.ones(300))}
    collections = {key: dd.from_pandas(value, npartitions=3) for key, value in given.items()}
    mixed = given[name].sample(frac=1, random_state=0)
    moved = {
        "in each partition": collections[name].sample(frac=1, random_state=0),
        "across partitions": dd.from_pandas(mixed, npartitions=3, sort=False),
    }
    whole = dd.from_pandas(frame, npartitions=3)
    search = DaskCostSearch(LogisticRegression(), param_grid=None, n_trials=1, cv=3)
    with pytest.warns(UserWarning, match=f"the index of {name} is that of X in another order"):
        search.fit(whole, **(collections | {name: moved[how]}))
    with pytest.warns(UserWarning, match=f"the index of {name} is that of X in another order"):
        search.score(whole, **(collections | {name: moved[how]}))
    # That of other rows is none of an order.
    shifted = dd.from_pandas(given[name].set_axis(np.arange(300) + 7), npartitions=3)
    search.score(whole, **(collections | {name: shifted}))
