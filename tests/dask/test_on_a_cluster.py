"""DaskCostSearch on processes: the boosting libraries, lost workers, and what moves between processes."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from builders import PAPER, paper_search
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.dask import DaskCostSearch
from csf.distributed import hash_folds
from csf.strategies import Ladder

PAPERS = {name: value for name, value in PAPER.items() if name != "cv"}

pytestmark = [
    pytest.mark.slow,
    # What the libraries say of their own accord on a cluster.
    pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    # Dask's own reader of Parquet files on pandas 3.1.
    pytest.mark.filterwarnings("ignore:(?s).*The inplace keyword in DataFrame"),
]


def boosting(name):
    if name == "xgboost":
        return pytest.importorskip("xgboost.dask").DaskXGBClassifier(n_estimators=15, max_depth=3, n_jobs=1)
    return pytest.importorskip("lightgbm").DaskLGBMClassifier(n_estimators=15, max_depth=3, verbose=-1)


def in_memory(name):
    if name == "xgboost":
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=15, max_depth=3, n_jobs=1)
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=15, max_depth=3, verbose=-1, n_jobs=1)


def test_a_sample_is_made_again_where_its_worker_is_lost(client, data, monkeypatch):
    """The rows of a race are kept by the workers: those that are lost are drawn again, the same ones."""
    X, y, weight = data
    monkeypatch.setattr("csf.dask.engine.MOST_COLLECTED", 0)
    monkeypatch.setattr("csf.dask.engine._SAMPLED", 1200)
    options = {"cv": 3, "random_state": 0, "param_grid": {"C": [1e-4, 1.0]}}
    given = [da.from_array(a, chunks=(600, *a.shape[1:])) for a in (X, y, weight)]
    with dask.config.set(scheduler="synchronous"):
        alone = DaskCostSearch(LinearSVC(), **options).fit(*given)
    processes = list(client.run(os.getpid).values())

    def callback(study, trial):
        if processes:
            os.kill(processes.pop(), signal.SIGKILL)
            processes.clear()

    search = DaskCostSearch(LinearSVC(), callbacks=[callback], **options).fit(*given)
    assert [trial.score for trial in search.trials_] == pytest.approx([trial.score for trial in alone.trials_])
    assert search.corrected_score_ == pytest.approx(alone.corrected_score_)
    client.wait_for_workers(2)


@pytest.mark.parametrize("kind", ["arrays", "frames"])
@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_boosting_finds_about_what_it_finds_in_memory(client, data, name, kind):
    X, y, weight = data
    fold = hash_folds(0, y.size, 2)
    if kind == "arrays":
        given = [da.from_array(a, chunks=(800, *a.shape[1:])) for a in (X, y, weight, fold)]
    else:
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(6)])
        whole = dd.from_pandas(frame.assign(y=y, weight=weight, fold=fold), npartitions=4)
        given = [whole[list(frame.columns)], whole["y"], whole["weight"], whole["fold"]]
    search = DaskCostSearch(boosting(name), n_trials=2, error_score="raise", **PAPERS).fit(*given[:3], folds=given[3])
    alone = paper_search(in_memory(name), n_trials=2, cv=PredefinedSplit(fold)).fit(X, y, weight)
    # Bins of features are approximate where no one sees all rows.
    for mine, known in zip(search.trials_, alone.trials_, strict=True):
        assert mine.costs == known.costs
        assert mine.score == pytest.approx(known.score, abs=0.05)
    local = search.to_local()
    samples = X if kind == "arrays" else frame
    np.testing.assert_array_equal(search.predict(given[0]).compute(), local.predict(samples))
    assert search.score(*given[:3]) == pytest.approx(local.score(samples, y, weight), rel=1e-12)
    # The threshold is one of the scores that a search in memory reads.
    scores = search.score_samples(given[0]).compute()
    np.testing.assert_array_equal(local.predict(samples), (scores >= search.best_threshold_).astype(int))
    method = "decision_function" if hasattr(in_memory(name), "decision_function") else "predict_proba"
    for fitted, expected in ((local, scores), (alone, alone.score_samples(X))):
        said = np.asarray(getattr(fitted.best_estimator_, method)(samples if fitted is local else X))
        np.testing.assert_array_equal(said if said.ndim == 1 else said[:, 1], expected)
    assert pickle.loads(pickle.dumps(local)).corrected_score_ == search.corrected_score_


def test_pieces_of_boosters_have_one_task_each(client, data):
    """The scheduler warns where samples, labels and weights ask for one piece of a frame by different tasks."""
    X, y, weight = (each[:800] for each in data)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]).assign(y=y, weight=weight)
    given, names = dd.from_pandas(frame, npartitions=3), list(frame.columns[:-2])
    records, handler = [], logging.Handler()
    handler.emit = records.append
    logging.getLogger("distributed.scheduler").addHandler(handler)
    try:
        search = DaskCostSearch(boosting("xgboost"), cv=2, n_trials=1)
        search.fit(given[names], given["y"], given["weight"])
    finally:
        logging.getLogger("distributed.scheduler").removeHandler(handler)
    assert not [each for each in records if "run_spec" in each.getMessage()]


def test_a_base_with_a_client_of_its_own_is_refused(client, data):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = data
    base = lightgbm.DaskLGBMClassifier(client=client)
    with pytest.raises(ValueError, match=r"DaskLGBMClassifier\(client=...\) cannot be cloned"):
        DaskCostSearch(base, n_trials=1).fit(da.from_array(X), da.from_array(y))


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_linear_models_and_boosters_by_the_costs_of_rows(client, data, name):
    """Models of several kinds in one search, trained on rows as they are and weighed by what they cost."""
    X, y, _ = data
    amount = np.exp(X[:, 1])
    dX, dy, damount = (da.from_array(a, chunks=(1000, *a.shape[1:])) for a in (X, y, amount))
    base, options = {"booster": boosting(name), "linear": LogisticRegression()}, {"cv": 2, "error_score": "raise"}
    search = DaskCostSearch(base, "savings", strategy=Ladder(2), param_grid=None, **options)
    search.fit(dX, dy, fn_cost=damount, fp_cost=0.5)
    tried = {(params["model"], params["t"]) for params in search.cv_results_["params"]}
    assert tried == {(model, power) for model in base for power in (0.0, 1.0)}
    scores = dict(zip(((p["model"], p["t"]) for p in search.cv_results_["params"]), search.cv_results_["value"]))
    assert scores["booster", 0.0] != scores["booster", 1.0]
    predicted = search.predict(dX, fn_cost=damount).compute()
    np.testing.assert_array_equal(search.to_local().predict(X, fn_cost=amount), predicted)
    assert search.score(dX, dy, fn_cost=damount) > 0.3
    assert search.score_interval_[0] <= search.corrected_score_ <= search.score_interval_[1]


@pytest.mark.parametrize("kind", ["arrays", "frames"])
@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_boosting_of_several_classes(client, data, name, kind):
    X, _, weight = data
    score = X @ np.array([1.0, -0.5, 0.3, 0.0, 0.0, 0.2])
    y = np.array(["calm", "soon", "urgent"])[np.digitize(score, np.quantile(score, [0.7, 0.92]))]
    fold = hash_folds(0, y.size, 2)
    if kind == "arrays":
        given = [da.from_array(a, chunks=(800, *a.shape[1:])) for a in (X, y, weight, fold)]
    else:
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(6)])
        whole = dd.from_pandas(frame.assign(y=y, weight=weight, fold=fold), npartitions=4)
        given = [whole[list(frame.columns)], whole["y"], whole["weight"], whole["fold"]]
    options = {"metric": "f1_macro", "constraint": "recall[urgent] >= 0.9", "param_grid": None, "error_score": "raise"}
    search = DaskCostSearch(boosting(name), **options).fit(*given[:3], folds=given[3])
    alone = CostSearch(in_memory(name), n_trials=1, cv=PredefinedSplit(fold), **options).fit(X, y, weight)
    # Bins of features are approximate where no one sees all rows.
    assert search.best_score_ == pytest.approx(alone.best_score_, abs=0.05)
    assert search.feasible_
    local, samples = search.to_local(), X if kind == "arrays" else frame
    np.testing.assert_array_equal(search.predict(given[0]).compute(), local.predict(samples))
    np.testing.assert_array_equal(search.predict_proba(given[0]).compute(), local.predict_proba(samples))
    assert search.score(*given[:3]) == pytest.approx(local.score(samples, y, weight), rel=1e-12)
    assert pickle.loads(pickle.dumps(local)).corrected_score_ == search.corrected_score_


def kill_a_worker(client):
    """Kill a worker in a moment."""

    def kill():
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    threading.Timer(0.05, kill).start()


def test_a_worker_that_is_killed_changes_nothing_for_linear_models(client, data):
    given = [da.from_array(a, chunks=(500, *a.shape[1:])) for a in data[:2]]
    options = {"n_trials": 4, "cv": 2, "error_score": "raise", "strategy": "grid", "param_grid": None}
    whole = DaskCostSearch(LinearSVC(), **options).fit(*given)
    callbacks = [lambda study, trial: kill_a_worker(client) if trial.number == 1 else None]
    search = DaskCostSearch(LinearSVC(), **options, callbacks=callbacks).fit(*given)
    client.wait_for_workers(2)
    assert search.trials_ == whole.trials_


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_boosting_that_loses_a_worker_goes_on_from_its_file(another_cluster, data, tmp_path, monkeypatch, name):
    """The libraries need all workers until the end of a training; LightGBM would wait for a lost one for ever."""
    given = [da.from_array(a, chunks=(500, *a.shape[1:])) for a in data[:2]]
    options = {"n_trials": 3, "cv": 2, "strategy": "grid", "checkpoint": tmp_path / "search.json"}
    kind, begun = type(boosting(name)), []
    fit = kind.fit

    def long_and_interrupted(self, *given, **weights):
        begun.append(1)
        if len(begun) == 3:  # the first training of the second trial
            kill_a_worker(lost)
            self.set_params(n_estimators=100_000)
        return fit(self, *given, **weights)

    with another_cluster() as lost, monkeypatch.context() as patch:
        patch.setattr(kind, "fit", long_and_interrupted)
        with pytest.raises(RuntimeError, match=r"a worker was lost .* restart the cluster.* with checkpoint="):
            DaskCostSearch(boosting(name), **options).fit(*given)
    with another_cluster():
        search = DaskCostSearch(boosting(name), **options).fit(*given)
    assert [trial.state for trial in search.trials_] == ["complete"] * 3
    assert len(search.counted_cuts_) == 2


def test_a_linear_search_whose_workers_leave_for_good_ends_and_goes_on_later(client, data, tmp_path, monkeypatch):
    monkeypatch.setattr("csf.dask.collections._RETURN", 4.0)
    X, y, _ = data
    given = da.from_array(X, chunks=(500, 6)), da.from_array(y, chunks=500)
    options = {"n_trials": 3, "cv": 2, "strategy": "grid", "param_grid": None}
    whole = DaskCostSearch(LinearSVC(), **options).fit(*given)
    options["checkpoint"] = tmp_path / "search.json"
    try:
        with pytest.raises(RuntimeError, match=r"no worker was at work .* start workers; with checkpoint= the search"):
            DaskCostSearch(LinearSVC(), **options, callbacks=[lambda *_: client.cluster.scale(0)]).fit(*given)
    finally:
        client.cluster.scale(2)
        client.wait_for_workers(2)
    assert DaskCostSearch(LinearSVC(), **options).fit(*given).trials_ == whole.trials_


def test_a_search_whose_workers_are_paused_ends_with_a_way_out(another_cluster, data, monkeypatch):
    monkeypatch.setattr("csf.dask.collections._RETURN", 2.0)
    X, y, _ = data
    given = da.from_array(X, chunks=(500, 6)), da.from_array(y, chunks=500)

    full = {f"distributed.worker.memory.{what}": False for what in ("target", "spill", "terminate")}
    message = r"all workers of the Dask cluster are paused .*memory_limit="
    with (
        dask.config.set({**full, "distributed.worker.memory.pause": 1e-6}),
        another_cluster(),
        pytest.raises(RuntimeError, match=message),
    ):
        DaskCostSearch(LinearSVC(), n_trials=1).fit(*given)


INTERRUPTED = """
import os, signal, threading, warnings
import dask, dask.array as da, numpy as np
from distributed import Client, LocalCluster
from sklearn.svm import LinearSVC
from csf.dask import DaskCostSearch

def strike(study, trial):
    if trial.number == 1:
        threading.Timer(0.2, os.killpg, (0, signal.SIGINT)).start()

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 6))
    y = (X[:, 0] + rng.normal(size=20_000) > 1.5).astype(int)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster, Client(cluster):
        given = da.from_array(X, chunks=(5000, 6)), da.from_array(y, chunks=5000)
        given = dask.persist(*given) if PERSISTED else given
        search = DaskCostSearch(LinearSVC(), strategy="grid", n_trials=50, param_grid=None, callbacks=[strike])
        try:
            search.fit(*given)
            print("fitted", search.stop_reason_, search.predict(X).sum() > 0)
        except RuntimeError as error:
            print(error)
"""


@pytest.mark.parametrize(
    ("persisted", "message"), [(False, "fitted interrupted True"), (True, "no worker was at work for 5 s")]
)
def test_ctrl_c_that_ends_the_workers_too_leaves_a_fitted_search(tmp_path, persisted, message):
    """As a terminal sends it, to all processes: what is read here is trained here, what the workers held is lost."""
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED.replace("PERSISTED", str(persisted)))
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, start_new_session=True)
    assert message in run.stdout, run.stderr[-2000:]


def test_partitions_that_end_their_workers_are_told_with_a_way_out(client, data):
    X, y, _ = data

    def deadly(part):
        if part.shape[0] == 500 and part[0, 0] == X[1000, 0]:
            os._exit(3)
        return part

    dX = da.from_array(X, chunks=(500, 6)).map_blocks(deadly, meta=np.empty((0, 6)))
    with pytest.raises(RuntimeError, match=r"workers ended while they read a partition; .*smaller partitions"):
        DaskCostSearch(LinearSVC(), n_trials=1).fit(dX, da.from_array(y, chunks=500))
    client.wait_for_workers(2)


def test_nothing_is_shuffled_and_little_comes_back(client, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 5))
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=(X[:, 0] + rng.normal(size=60_000) > 2).astype(int))
    dd.from_pandas(frame, npartitions=6).to_parquet(tmp_path / "data")
    known = dd.read_parquet(tmp_path / "data")
    before = client.run_on_scheduler(kinds_of_tasks)
    search = DaskCostSearch(LinearSVC(), n_trials=2, cv=3, param_grid=None).fit(known[list("abcde")], known["y"])
    kinds = set(client.run_on_scheduler(kinds_of_tasks)) - set(before)
    assert kinds
    assert not [name for name in kinds if "shuffle" in name]
    # Counts of bins, never scores.
    assert max(found.n_listed for found in search.counted_cuts_) < 6000
    assert max(found.n_passes for found in search.counted_cuts_) <= 4


def kinds_of_tasks(dask_scheduler):
    return list(dask_scheduler.task_prefixes)
