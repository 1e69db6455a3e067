"""Searches on a Dask cluster: the same results, data sent once, lost workers."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch

distributed = pytest.importorskip("distributed")
TCP = pytest.importorskip("distributed.comm.tcp").TCP
pytestmark = pytest.mark.slow

BASES = {
    "squared hinge": LinearSVC(),
    "hinge": LinearSVC(loss="hinge"),
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(MaxAbsScaler(), LogisticRegression()),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
}


@pytest.fixture(scope="module")
def client():
    """Client of a cluster of three processes; joblib sends its work there."""
    options = {"n_workers": 3, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    cluster = distributed.LocalCluster(**options)
    with cluster, distributed.Client(cluster) as client, parallel_config(backend="dask"):
        yield client


@pytest.fixture(scope="module")
def data():
    return make_classification(400, 8, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)


def at_home(search, X, y):
    with parallel_config(backend="sequential"):
        return search.fit(X, y)


def test_the_cluster_is_one(client):
    assert len(set(client.run(os.getpid).values()) - {os.getpid()}) == 3


@pytest.mark.parametrize("kind", ["dense", "CSR"])
@pytest.mark.parametrize("base", BASES)
def test_the_cluster_changes_no_bit(client, data, base, kind):
    X, y = data
    X = sparse.csr_array(np.where(X > 0, X, 0.0)) if kind == "CSR" else X
    search = CostSearch(BASES[base], n_trials=4, cv=3, param_grid={} if base in ("pipeline", "tree") else {"C": [1, 9]})
    alone = at_home(search, X, y).trials_
    assert search.fit(X, y).trials_ == alone


@pytest.fixture
def sent(monkeypatch):
    """Sizes of the messages that this process, which holds the data and the scheduler, writes to others."""
    sizes, write = [], TCP.write

    async def counted(self, *args, **kwargs):
        sizes.append(await write(self, *args, **kwargs))
        return sizes[-1]

    monkeypatch.setattr(TCP, "write", counted)
    return sizes


@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_the_data_travel_once(client, sent, kind):
    """All folds, settings and trials share one matrix: it goes to the scheduler, and from there to a worker."""
    X, y = make_classification(4000, 100, weights=[0.8], random_state=0)
    X = sparse.csr_array(np.where(X > 0, X, 0.0)) if kind == "CSR" else X
    size = X.nbytes if kind == "dense" else X.data.nbytes + X.indices.nbytes
    search = CostSearch(LinearSVC(), n_trials=8, cv=3, param_grid={"C": [0.1, 1.0, 10.0]}).fit(X, y)
    assert search.n_trials_ == 24
    assert 1 <= sum(message > size for message in sent) <= 2
    # Besides there are the indices of the folds, and with each training its result.
    assert sum(sent) < 2.5 * size + 72 * 2 * 8 * 4000


def test_slices_of_other_bases_travel_once(client, sent):
    X, y = make_classification(4000, 100, weights=[0.8], random_state=0)
    CostSearch(DecisionTreeClassifier(max_depth=2, random_state=0), n_trials=8, cv=3, refit=False).fit(X, y)
    assert 1 <= sum(message > X.nbytes for message in sent) <= 2
    assert sum(sent) < 2 * 3.2 * X.nbytes + 24 * 8 * 4000


def slow_base():
    """A base that takes its time; made in a function, so that it travels with its code."""

    class Slow(LinearSVC):
        def fit(self, X, y, sample_weight=None):
            time.sleep(0.1)
            return super().fit(X, y, sample_weight=sample_weight)

    return Slow()


def kill_during(client, number, how_many):
    """Callback that kills workers a moment after a trial, in the midst of the next one."""
    processes = list(client.run(os.getpid).values())[:how_many]

    def callback(study, trial):
        if trial.number == number:
            threading.Timer(0.05, lambda: [os.kill(process, signal.SIGKILL) for process in processes]).start()

    return callback


def test_the_search_survives_the_death_of_a_worker(client, data):
    whole = CostSearch(LinearSVC(), n_trials=6, cv=3, engine="generic")
    at_home(whole, *data)
    search = CostSearch(slow_base(), n_trials=6, cv=3, callbacks=[kill_during(client, 1, 1)]).fit(*data)
    assert search.trials_ == whole.trials_


def test_the_search_resumes_after_the_death_of_all_workers(client, data, tmp_path):
    base, path = slow_base(), tmp_path / "c.json"
    search = CostSearch(base, n_trials=6, cv=3, checkpoint=path, callbacks=[kill_during(client, 2, 3)])
    with pytest.raises(distributed.client.FutureCancelledError):
        search.fit(*data)
    assert search.set_params(callbacks=None).fit(*data).n_trials_ == 6
    whole = CostSearch(LinearSVC(), n_trials=6, cv=3, engine="generic")
    assert search.trials_ == at_home(whole, *data).trials_
