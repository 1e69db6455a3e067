"""What one pass teaches: online learners beside SGDClassifier, Vowpal Wabbit, river and batch logistic regression.

Part of ``python -m tests.benchmarks online``. A quarter of each set is held out, the rest comes once in a random order,
in 20 chunks, each predicted before it is learnt. Features are divided by their largest value; learners have their
defaults. Vowpal Wabbit (``vowpalwabbit``) and river are left out where they are not installed.
"""

import time
from importlib.util import find_spec

import numpy as np
from scipy.sparse import csr_matrix, diags, issparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import GridSearchCV, train_test_split

from csf.online import FOFO, OFO, OMCSL, SPADE, STAMP, OnlineLogistic, RiverClassifier
from csf.plugin import PlugInClassifier
from csf.thresholding import threshold_curve
from notebooks.experiments import load_set
from tests.benchmarks.data import data_folder

__all__ = ["SETS", "VowpalWabbit", "change_rows", "learning_rows", "prevalence_change", "rivals", "unit_rows"]

# Of letter and news20, four and three classes against the rest, chosen before anything was measured.
SETS = ("adult", "abalone10", "abalone12", "pageblocks", "wine", "mammography")
SETS += ("letter:1", "letter:5", "letter:15", "letter:24", "news20:1", "news20:7", "news20:16")
DENSE = tuple(name for name in SETS if not name.startswith(("adult", "news20")))
N_CHUNKS = 20
GRID = {"alpha": [1e-6, 1e-5, 1e-4, 1e-3], "average": [False, True]}


class VowpalWabbit(BaseEstimator):
    """Vowpal Wabbit's logistic regression with its defaults, as a learner of chunks."""

    def partial_fit(self, X, y, classes=None):
        """Learn rows in order."""
        if not hasattr(self, "model_"):
            from vowpalwabbit import Workspace

            self.model_ = Workspace("--loss_function logistic --quiet")
        for row, label in zip(_lines(X), np.asarray(y).tolist(), strict=True):
            self.model_.learn(f"{1 if label == 1 else -1} |{row}")
        return self

    def decision_function(self, X):
        """Scores of rows."""
        return np.array([self.model_.predict(f"|{row}") for row in _lines(X)])


def _lines(X):
    """Rows as text."""
    for row in csr_matrix(X):
        yield "".join(f" {j}:{value:.9g}" for j, value in zip(row.indices.tolist(), row.data.tolist()))


def rivals():
    """New learners by name, those that are installed."""
    found = {
        "OnlineLogistic": OnlineLogistic(), "OFO": OFO(), "FOFO": FOFO(), "STAMP": STAMP(),
        "SPADE, G-mean": SPADE("gmean"), "OMCSL": OMCSL(random_state=0),
        "published OFO": OFO(step="paper"), "published STAMP": STAMP(step="paper"),
        "SGDClassifier": SGDClassifier(loss="log_loss", random_state=0),
        "SGDClassifier, tuned": SGDClassifier(loss="log_loss", random_state=0),
    }  # fmt: skip
    if find_spec("vowpalwabbit"):
        found["Vowpal Wabbit"] = VowpalWabbit()
    if find_spec("river"):
        from river import linear_model, optim

        found["river, AdaGrad"] = RiverClassifier(linear_model.LogisticRegression(optim.AdaGrad()))
    return found


def _split(name, seed, *, units=False):
    """Training and test part of a set, features divided by their largest value; that too, with ``units``."""
    data = load_set(data_folder(), name)
    X, y = data.X, (np.asarray(data.y) > 0).astype(int)
    train, test = train_test_split(np.arange(y.size), test_size=0.25, stratify=y, random_state=seed)
    largest = np.asarray(abs(X[train]).max(axis=0).todense() if issparse(X) else abs(X[train]).max(axis=0)).ravel()
    largest = np.where(largest > 0.0, largest, 1.0).astype(float)
    X = csr_matrix(X.astype(float) @ diags(1.0 / largest)) if issparse(X) else X / largest
    return (X[train], y[train], X[test], y[test], *([largest] if units else []))


def _scored(learner, y, X):
    """F1 of the learner's own decisions and of the best cut, and average precision."""
    score = learner.decision_function(X)
    own = learner.predict(X) if hasattr(learner, "predict") else score >= 0.0
    return f1_score(y, own), threshold_curve(y, score).best("f1").value, average_precision_score(y, score)


def _stream(learner, X, y):
    """Learn in chunks. Return F1 of the predictions made before and seconds of learning."""
    emitted, seconds = np.zeros(y.size), 0.0
    for part in np.array_split(np.arange(y.size), N_CHUNKS):
        if part[0]:
            score = learner.decision_function(X[part])
            emitted[part] = learner.predict(X[part]) if hasattr(learner, "predict") else score >= 0.0
        start = time.perf_counter()
        learner.partial_fit(X[part], y[part], classes=[0, 1])
        seconds += time.perf_counter() - start
    return f1_score(y, emitted), seconds


def learning_rows(names=SETS, *, n_orders=5):
    """What learners know after one pass."""
    for name in names:
        results = {}
        for seed in range(n_orders):
            X, y, X_test, y_test = _split(name, seed)
            for key, learner in rivals().items():
                if "tuned" in key:
                    learner.set_params(max_iter=1, tol=None)
                    search = GridSearchCV(learner, GRID, scoring="average_precision", cv=3).fit(X, y)
                    learner.set_params(**search.best_params_)
                progressive, seconds = _stream(learner, X, y)
                results.setdefault(key, []).append((progressive, *_scored(learner, y_test, X_test), seconds))
            batch, start = PlugInClassifier(LogisticRegression(max_iter=1000), "f1"), time.perf_counter()
            batch.fit(X, y)
            seconds = time.perf_counter() - start
            results.setdefault("batch plug-in", []).append((np.nan, *_scored(batch, y_test, X_test), seconds))
        for key, values in results.items():
            columns = ("progressive", "own", "best_cut", "average_precision", "seconds")
            yield {"data": name, "name": key} | dict(zip(columns, np.mean(values, axis=0).tolist()))


def unit_rows(names=DENSE, *, n_orders=5):
    """How far the units of features move F1: raw and divided by the largest value, one column ten times as large."""
    # ``tenfold``: the largest move of the mean F1 by any of the first five columns, made ten times larger or smaller.
    for name in names:
        for kind in (OFO, FOFO, STAMP):
            results = np.mean([_f1_in_units(kind, name, seed) for seed in range(n_orders)], axis=0)
            divided, raw, *others = results.tolist()
            most = max(abs(other - divided) for other in others)
            yield {"data": name, "name": kind.__name__, "divided": divided, "raw": raw, "tenfold": most}


def _f1_in_units(kind, name, seed):
    """F1 with features divided by their largest value, raw, and with single columns in other units."""
    X, y, X_test, y_test, largest = _split(name, seed, units=True)
    scales = [np.ones(X.shape[1]), largest]
    for column in range(min(5, X.shape[1])):
        scales += [np.where(np.arange(X.shape[1]) == column, factor, 1.0) for factor in (10.0, 0.1)]
    learnt = [(kind().partial_fit(X * scale, y), scale) for scale in scales]
    return [f1_score(y_test, learner.predict(X_test * scale)) for learner, scale in learnt]


def prevalence_change(n=40_000, *, before=0.1, after=0.01, seed=0):
    """Stream whose share of positives changes half-way, and only that."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < np.where(np.arange(n) < n // 2, before, after)).astype(int)
    X = rng.standard_normal((n, 5))
    X[:, :2] += 1.5 * y[:, None]
    return X, y


def change_rows(*, n_pos=(10, 25, 50, 100, 200), windows=(None, 2000), n_orders=5):
    """F1 on the new part after a change of prevalence from 10 % to 1 %, beside learners of the new part alone."""
    # ``own``: a learner that has seen both parts; ``fresh``: one that has seen the new part alone.
    for kind in (OFO, FOFO, STAMP):
        for window in windows:
            values = np.mean([_after_change(kind, window, n_pos, seed) for seed in range(n_orders)], axis=0)
            for count, (own, fresh) in zip(n_pos, values.tolist()):
                yield {"name": kind.__name__, "window": str(window), "positives": count, "own": own, "fresh": fresh}


def _after_change(kind, window, n_pos, seed):
    X, y = prevalence_change(60_000, seed=seed)
    X_test, y_test = (part[30_000:] for part in prevalence_change(60_000, seed=1000 + seed))
    both = kind(window=window).partial_fit(X[:30_000], y[:30_000])
    fresh, rows, start = kind(), [], 30_000
    for count in n_pos:
        stop = 30_001 + int(np.flatnonzero(np.cumsum(y[30_000:]) == count)[0])
        for learner in (both, fresh):
            learner.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
        rows.append([f1_score(y_test, learner.predict(X_test)) for learner in (both, fresh)])
        start = stop
    return rows
