"""Trainings in threads and processes: the same results, and no copy of the data with each task."""

import os
from contextlib import nullcontext

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
from csf.folds import Data, make_folds
from csf.responses import Response
from csf.trainers import Trainer, Training
from csf.workers import Workers

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


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("kind", ["dense", "CSR"])
@pytest.mark.parametrize("base", BASES)
def test_the_backend_changes_no_bit(base, kind, backend):
    X, y = data(kind)
    options = {"n_trials": 4, "cv": 3}
    alone = CostSearch(BASES[base], **options).fit(X, y)
    with parallel_config(backend=backend):
        together = CostSearch(BASES[base], n_jobs=2, **options).fit(X, y)
    assert together.trials_ == alone.trials_
    assert [t.duality_gap for t in together.trials_] == [t.duality_gap for t in alone.trials_]


@pytest.mark.parametrize("kind", ["dense", "CSR"])
@pytest.mark.parametrize("base", ["squared hinge", "hinge", "logistic"])
def test_processes_train_on_memory_maps_as_on_arrays(base, kind):
    """Arrays above a megabyte are mapped, read-only, for the workers."""
    X, y = data(kind, n=20_000, d=20)
    alone = CostSearch(BASES[base], n_trials=2, cv=2, refit=False).fit(X, y)
    with parallel_config(backend="loky"):
        together = CostSearch(BASES[base], n_trials=2, cv=2, n_jobs=2, refit=False).fit(X, y)
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
    folds = make_folds(Data(X, y), [(np.arange(2, 9_998), np.array([0, 9_999])), (np.arange(9_998), np.arange(2))])
    trainers = [[Seer(fold.X_train) for fold in folds]]
    options = {"tune": False, "on_train": False, "raise_errors": True}
    seen = [set(), set()]
    choice = nullcontext() if backend is None else parallel_config(backend=backend)
    with choice, Workers(trainers, folds, 2) as workers:
        for _ in range(6):
            tasks = [(0, fold, (1.0, 1.0), ()) for fold in (0, 1)]
            for fold, result in enumerate(workers.run(tasks, **options)):
                seen[fold].add(result.state)
    return seen


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


def test_trainers_that_hold_the_interpreter_get_processes():
    for states in where_arrays_lie("dense", False, None):
        assert os.getpid() not in {process for process, *_ in states}
