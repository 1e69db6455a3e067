"""Searches on a Dask cluster: the same results, data sent once, lost workers."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from builders import paper_search
from joblib import parallel_config
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

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


# Any free port: the usual one may be taken, by another cluster of these tests already.
LOCAL = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}


@pytest.fixture(scope="module", autouse=True)
def quick_starts():
    """Workers are forked from a process that has imported everything: those that die are soon there again."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(["distributed", "csf", "sklearn.tree", "numba"])
        yield


@pytest.fixture(scope="module")
def client(quick_starts):
    """Client of a cluster of three processes; joblib sends its work there."""
    cluster = distributed.LocalCluster(n_workers=3, **LOCAL)
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
    search = paper_search(
        BASES[base], n_trials=4, cv=3, param_grid={} if base in ("pipeline", "tree") else {"C": [1, 9]}
    )
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
    search = paper_search(LinearSVC(), n_trials=8, cv=3, param_grid={"C": [0.1, 1.0, 10.0]}).fit(X, y)
    assert search.n_trials_ == 24
    assert 1 <= sum(message > size for message in sent) <= 2
    # Besides there are the indices of the folds, and with each training its result.
    assert sum(sent) < 2.5 * size + 72 * 2 * 8 * 4000


def test_slices_of_other_bases_travel_once(client, sent):
    X, y = make_classification(4000, 100, weights=[0.8], random_state=0)
    paper_search(DecisionTreeClassifier(max_depth=2, random_state=0), n_trials=8, cv=3, refit=False).fit(X, y)
    assert 1 <= sum(message > X.nbytes for message in sent) <= 2
    assert sum(sent) < 2 * 3.2 * X.nbytes + 24 * 8 * 4000


def upset(client, cluster, event):
    """What happens to clusters: processes are killed, workers are taken away and come back."""
    processes = list(client.run(os.getpid, on_error="ignore").values())
    if event == "kill":
        os.kill(processes[0], signal.SIGKILL)
    elif event == "kill all":
        for process in processes:
            os.kill(process, signal.SIGKILL)
    else:
        cluster.scale({"one": 1, "none": 0, "three": 3}[event])


@pytest.mark.parametrize("base", ["squared hinge", "hinge", "logistic", "pipeline", "tree"])
def test_workers_come_and_go_and_the_search_goes_on(client, data, base):
    """One worker left must train itself, not the client, which has no data; with none left the search waits."""
    X, y = data
    search = paper_search(BASES[base], strategy="grid", n_trials=12, cv=3, refit=False)
    alone = at_home(search, X, y).trials_
    plan, timers = ["kill", "one", "three", "kill all"], []

    def callback(study, trial):
        if trial.number % 3 == 0 and plan:
            timers.append(threading.Timer(0.02, upset, (client, client.cluster, plan.pop(0))))
            timers[-1].start()
            time.sleep(1.0)

    assert search.set_params(callbacks=[callback]).fit(X, y).trials_ == alone
    assert not plan
    for timer in timers:
        timer.join()
    client.cluster.scale(3)
    client.wait_for_workers(3)


def test_without_workers_the_search_waits_and_says_so(client, data, monkeypatch):
    X, y = data
    monkeypatch.setattr("csf.search.workers.QUIET", 1.0)
    search = paper_search(LinearSVC(), strategy="grid", n_trials=3, cv=3, refit=False)
    alone = at_home(search, X, y).trials_

    def callback(study, trial):
        if trial.number == 0:
            client.cluster.scale(0)
            while client.ncores():
                time.sleep(0.1)
            threading.Timer(4.0, client.cluster.scale, (3,)).start()

    with pytest.warns(UserWarning, match=r"the Dask cluster has no workers left.*: start workers. The search waits"):
        search.set_params(callbacks=[callback]).fit(X, y)
    assert search.trials_ == alone
    client.wait_for_workers(3)


def test_a_training_that_kills_its_workers_has_failed_and_no_other(data):
    """Two workers and no patience with tasks: the other training of the trial is blamed as well, and exonerated."""

    def deadly(die):
        class Deadly(LinearSVC):
            def fit(self, X, y, sample_weight=None):
                if sample_weight.max() > 1.8:
                    die()
                return super().fit(X, y, sample_weight=sample_weight)

        return Deadly()

    def refuse():
        raise RuntimeError("too heavy")

    X, y = data
    options = {"strategy": "grid", "n_trials": 4, "cv": [(np.arange(300), np.arange(300, 400))], "refit": False}
    with pytest.warns(FitFailedWarning, match="too heavy"):
        whole = paper_search(deadly(refuse), **options).fit(X, y)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=2, **LOCAL) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        parallel_config(backend="dask", client=client),
        pytest.warns(FitFailedWarning, match="KilledWorker: Attempted to run task"),
    ):
        search = paper_search(deadly(lambda: os._exit(3)), **options).fit(X, y)
    assert [(t.state, t.score) for t in search.trials_] == [(t.state, t.score) for t in whole.trials_]
    assert [t.state for t in search.trials_] == ["failed"] + ["complete"] * 3


def test_ctrl_c_keeps_finished_trials(client, data, tmp_path):
    hold, struck = tmp_path / "hold", tmp_path / "struck"

    class Held(LinearSVC):  # waits for Ctrl-C once the second trial is told
        def fit(self, X, y, sample_weight=None):
            while hold.exists() and not struck.exists():
                time.sleep(0.1)
            return super().fit(X, y, sample_weight=sample_weight)

    def strike():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        struck.touch()

    def interrupt(study, trial):
        if trial.number == 1:
            hold.touch()
            threading.Timer(0.5, strike).start()

    search = paper_search(Held(), n_trials=8, cv=3, checkpoint=tmp_path / "c.json")
    with pytest.warns(UserWarning, match="the search was interrupted"):
        search.set_params(callbacks=[interrupt]).fit(*data)
    assert search.n_trials_ == 2
    known = search.trials_
    assert search.set_params(callbacks=None).fit(*data).trials_[:2] == known


def test_errors_that_cannot_leave_their_worker_are_told(client, data):
    class Needy(Exception):
        def __init__(self, text, more):
            super().__init__(f"{text} {more}")

    class Broken(LinearSVC):
        def fit(self, X, y, sample_weight=None):
            raise Needy("no memory", "at all")

    search = paper_search(Broken(), n_trials=2, cv=2, error_score="raise")
    with pytest.raises(RuntimeError, match=r"(?s)cannot leave it:\nTraceback.*no memory at all"):
        search.fit(*data)
