"""Trainings in threads and processes: the same results, and no copy of the data with each task."""

import os
import signal
import threading
import time
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
import sklearn
from builders import paper_search
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf.data.folds import Task, make_folds
from csf.data.responses import Response
from csf.search.training import FoldTask
from csf.search.workers import Workers
from csf.trainers import Trainer, Training

BASES = {
    "squared hinge": LinearSVC(),
    "hinge": LinearSVC(loss="hinge"),
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(MaxAbsScaler(), LinearSVC()),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
}


def data(kind, n=300, d=6):
    X, y = make_classification(n, d, weights=[0.8], flip_y=0.1, random_state=0)
    return (sparse.csr_array(np.where(X > 0, X, 0.0)) if kind == "CSR" else X), y


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("kind", ["dense", "CSR"])
@pytest.mark.parametrize("base", BASES)
def test_the_backend_changes_no_bit(base, kind, backend):
    X, y = data(kind)
    options = {"n_trials": 4, "cv": 3}
    alone = paper_search(BASES[base], **options).fit(X, y)
    with parallel_config(backend=backend):
        together = paper_search(BASES[base], n_jobs=2, **options).fit(X, y)
    assert together.trials_ == alone.trials_
    assert [t.duality_gap for t in together.trials_] == [t.duality_gap for t in alone.trials_]


@pytest.mark.parametrize("kind", ["dense", pytest.param("CSR", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "base", ["hinge", *(pytest.param(base, marks=pytest.mark.slow) for base in ("squared hinge", "logistic"))]
)
@pytest.mark.slow
def test_processes_train_on_memory_maps_as_on_arrays(base, kind):
    """Arrays above a megabyte are mapped, read-only, for the workers."""
    X, y = data(kind, n=20_000, d=20)
    alone = paper_search(BASES[base], n_trials=2, cv=2, refit=False).fit(X, y)
    with parallel_config(backend="loky"):
        together = paper_search(BASES[base], n_trials=2, cv=2, n_jobs=2, refit=False).fit(X, y)
    assert together.trials_ == alone.trials_


def where_arrays_lie(kind, releases_gil, backend):
    """What six trainings of each of two folds see: process, and file and type of the values of X."""

    class Seer(Trainer):
        def __init__(self, X):
            self.X = X

        def fit(self, costs, starts=()):
            values = self.X.data if sparse.issparse(self.X) else self.X
            return Training(None, (os.getpid(), str(getattr(values, "filename", None)), values.ctypes.data))

        def predict(self, training, part, *, tune):
            return Response(np.zeros(2, dtype=bool))

        def estimator(self, training):
            raise NotImplementedError

    Seer.releases_gil = releases_gil
    X, y = data(kind, n=10_000, d=30)
    folds = make_folds(Task(X, y), [(np.arange(2, 9_998), np.array([0, 9_999])), (np.arange(9_998), np.arange(2))])
    trainers = [[Seer(fold.X_train) for fold in folds]]
    seen = [set(), set()]
    choice = nullcontext() if backend is None else parallel_config(backend=backend)
    with choice, Workers(trainers, folds, 2) as workers:
        for _ in range(6):
            tasks = [FoldTask(0, fold, (1.0, 1.0), tune=False) for fold in (0, 1)]
            for fold, result in enumerate(workers.run(tasks, raise_errors=True)):
                seen[fold].add(result.state)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_processes_map_one_file_a_fold(kind):
    seen = where_arrays_lie(kind, False, "loky")
    for states in seen:
        assert os.getpid() not in {process for process, *_ in states}
        assert len({file for _, file, _ in states}) == 1
        assert next(iter(states))[1] != "None"


@pytest.mark.parametrize(("releases_gil", "backend"), [(True, None), (False, "threading")])
def test_threads_share_one_array_a_fold(releases_gil, backend):
    """Compiled trainers choose threads by themselves."""
    for states in where_arrays_lie("dense", releases_gil, backend):
        assert len(states) == 1
        assert next(iter(states))[:2] == (os.getpid(), "None")


class Unwell(Trainer):
    """Cannot be prepared; notes who trains, and under which settings of scikit-learn."""

    releases_gil = True

    def __init__(self):
        pass

    def prepare(self, starts):
        raise ArithmeticError("too large")

    def fit(self, costs, starts=()):
        return Training(None, (threading.get_ident(), sklearn.get_config()["assume_finite"]))

    def predict(self, training, part, *, tune):
        return Response(np.zeros(2, dtype=bool))


def test_threads_have_the_callers_settings_of_scikit_learn_and_trainings_their_own_errors():
    folds = make_folds(Task(np.zeros((4, 1)), np.arange(4) % 2), [(np.arange(2), np.arange(2, 4))])
    with sklearn.config_context(assume_finite=True), Workers([[Unwell()]], folds, 2) as workers:
        (result,) = workers.run([FoldTask(0, 0, (1.0, 1.0), tune=False)], raise_errors=True)
    who, finite = result.state
    assert who != threading.get_ident()
    assert finite


def test_trainers_that_hold_the_interpreter_get_processes():
    for states in where_arrays_lie("dense", False, None):
        assert os.getpid() not in {process for process, *_ in states}


# ---------------------------------------------------------------- trainings that fail, or take their worker along


def moody_base(reaction, limit=1.8):
    """A base that reacts to heavy weights; made in a function, so that it travels with its code."""

    class Moody(LinearSVC):
        def fit(self, X, y, sample_weight=None):
            if sample_weight.max() > limit:
                reaction()
            return super().fit(X, y, sample_weight=sample_weight)

    return Moody()


def refuse():
    raise RuntimeError("too heavy")


def without_times(trial):
    return trial.number, trial.costs, trial.state, trial.score, trial.threshold


@pytest.mark.slow
@pytest.mark.parametrize("reaction", [lambda: os._exit(3), lambda: os.kill(os.getpid(), signal.SIGSEGV)])
def test_a_training_that_kills_its_process_has_failed_and_no_other(reaction):
    X, y = data("dense")
    options = {"strategy": "grid", "n_trials": 4, "cv": 2, "refit": False}
    with pytest.warns(FitFailedWarning, match="too heavy"):
        expected = paper_search(moody_base(refuse, 1.7), **options).fit(X, y)
    search = paper_search(moody_base(reaction, 1.7), n_jobs=2, **options)
    with pytest.warns(
        FitFailedWarning, match=r"TerminatedWorkerError: A worker process .* was unexpectedly terminated"
    ):
        search.fit(X, y)
    assert [t.state for t in search.trials_] == ["failed"] + ["complete"] * 3
    assert list(map(without_times, search.trials_)) == list(map(without_times, expected.trials_))


@pytest.mark.slow
def test_a_single_training_that_kills_its_process_is_told():
    X, y = data("dense")
    search = paper_search(moody_base(lambda: os._exit(3), 0.0), n_trials=2, cv=0.3, n_jobs=2)
    with (
        pytest.warns(FitFailedWarning, match="failed and is left out"),
        pytest.raises(ValueError, match=r"all 2 trials failed: .*TerminatedWorkerError"),
    ):
        search.fit(X, y)
    with pytest.raises(RuntimeError, match="unexpectedly terminated"):
        search.set_params(error_score="raise").fit(X, y)


def needy(text, more):
    raise AssertionError


class Needy(Exception):
    """Cannot be made again from its message, as unpickling does; nor by tblib, which Dask has for that."""

    def __reduce__(self):
        return needy, self.args


def raise_one_that_cannot_be_unpickled():
    raise Needy("no memory at all")


def raise_one_that_cannot_be_pickled():
    error = ArithmeticError("no memory at all")
    error.lock = threading.Lock()
    raise error


@pytest.mark.slow
@pytest.mark.parametrize("reaction", [raise_one_that_cannot_be_unpickled, raise_one_that_cannot_be_pickled])
def test_errors_that_cannot_leave_their_process_are_told(reaction):
    X, y = data("dense")
    search = paper_search(moody_base(reaction), strategy="grid", n_trials=3, cv=2, n_jobs=2, error_score="raise")
    with (
        parallel_config(backend="loky"),
        pytest.raises(RuntimeError, match=r"(?s)cannot leave it:\nTraceback.*no memory"),
    ):
        search.fit(X, y)
    search.set_params(error_score=np.nan)
    with parallel_config(backend="loky"), pytest.warns(FitFailedWarning, match="no memory at all"):
        search.fit(X, y)
    assert [t.state for t in search.trials_] == ["failed", "complete", "complete"]


def test_errors_of_other_processes_bring_their_traceback():
    X, y = data("dense")
    search = paper_search(moody_base(refuse), strategy="grid", n_trials=3, cv=2, n_jobs=2, error_score="raise")
    with parallel_config(backend="loky"), pytest.raises(RuntimeError, match="too heavy") as caught:
        search.fit(X, y)
    assert str(caught.value) == "too heavy"
    assert "in refuse" in "".join(caught.value.__notes__)


@pytest.mark.parametrize(
    ("backend", "base"),
    [
        ("threading", LinearSVC()),
        pytest.param("threading", BASES["tree"], marks=pytest.mark.slow),
        pytest.param("loky", BASES["tree"], marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_keeps_finished_trials(backend, base, tmp_path):
    """Nothing hangs, the workers are given back, and the checkpoint holds what was finished."""

    class Slow(type(base)):
        def fit(self, X, y, sample_weight=None):
            time.sleep(0.2)
            return super().fit(X, y, sample_weight=sample_weight)

    def interrupt(study, trial):
        if trial.number == 1:
            threading.Timer(0.1, signal.raise_signal, (signal.SIGINT,)).start()

    X, y = data("dense")
    options = {"strategy": "grid", "n_trials": 8, "cv": 2, "checkpoint": tmp_path / "c.json", "n_jobs": 2}
    search = paper_search(Slow(**base.get_params()), callbacks=[interrupt], **options)
    start = time.perf_counter()
    with parallel_config(backend=backend), pytest.warns(UserWarning, match="the search was interrupted"):
        search.fit(X, y)
    assert search.stop_reason_ == "interrupted"
    assert 2 <= search.n_trials_ < 8
    assert time.perf_counter() - start < 60
    known = search.trials_
    with parallel_config(backend=backend):
        again = clone(search).set_params(callbacks=None).fit(X, y)
    assert again.trials_[: len(known)] == known
    assert again.n_trials_ == 8


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_errors_of_callbacks_pass_through(n_jobs):
    seen = []

    def callback(study, trial):
        seen.append(trial)
        raise KeyError("mine")

    X, y = data("dense")
    search = paper_search(LinearSVC(), n_trials=3, cv=2, n_jobs=n_jobs, callbacks=[callback])
    with pytest.raises(KeyError, match="mine"):
        search.fit(X, y)
    assert len(seen) == 1
    assert not hasattr(search, "studies_")  # a fit that fails leaves nothing


# ---------------------------------------------------------------- trainings on a Dask cluster inside this process:


distributed = pytest.importorskip("distributed")

Y = (np.arange(60) % 3 == 0).astype(int)
X = np.random.default_rng(0).normal(size=(60, 3)) + Y[:, None]
OPTIONS = {"n_trials": 2, "cv": 2, "refit": False}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client,
        parallel_config(backend="dask"),
    ):
        yield client


class Cancelling(LinearSVC):
    """Cancels all that is on the cluster, the data as well, in as many trainings as it has clients for."""

    clients = ()

    def fit(self, X, y, sample_weight=None):
        if Cancelling.clients:
            client, *Cancelling.clients = Cancelling.clients
            client.cancel([distributed.Future(key, client) for key in list(client.futures)])
        return super().fit(X, y, sample_weight=sample_weight)


def test_what_was_cancelled_is_sent_again_however_often(client):
    """It is no fault of the training, which has failed only where it kills its worker when it is alone."""
    with parallel_config(backend="sequential"):
        alone = paper_search(Cancelling(), **OPTIONS).fit(X, Y)
    Cancelling.clients = [client] * 3
    search = paper_search(Cancelling(), **OPTIONS).fit(X, Y)
    assert not Cancelling.clients
    assert search.trials_ == alone.trials_


class Chatty(LinearSVC):
    def fit(self, X, y, sample_weight=None):
        warnings.warn("all is well", UserWarning, stacklevel=2)
        return super().fit(X, y, sample_weight=sample_weight)


def test_filters_of_warnings_keep_their_order_on_the_cluster(client):
    """The later one, which is asked first, lets pass what the earlier one makes an error of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="all is well")
        search = paper_search(Chatty(), **OPTIONS).fit(X, Y)
    assert [trial.state for trial in search.trials_] == ["complete"] * 2
