"""Every warning of csf points at the line of the user that led to it."""

import ast
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from builders import paper_search
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import csf
from csf import MacroCostSearch
from csf._common.warn import warn
from csf.cli.data import ReadOptions, read_dataset
from csf.fenchel import AMP, FenchelSVM
from csf.structural import FTRL, CuttingPlane, OnePassMiniBatch, PrecisionAtK
from csf.thresholding import PlugInClassifier

ROOT = Path(csf.__file__).parent
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = (RNG.random(90) < 0.3).astype(int)
FAST = {"n_trials": 2, "cv": 2}
BALANCED = paper_search(LogisticRegression(class_weight="balanced"), **FAST)
STRICT = paper_search(LinearSVC(), constraint="precision >= 0.99", **FAST)


class Moody(LinearSVC):
    def fit(self, X, y, sample_weight=None):
        if sample_weight.max() > 1.3:
            raise RuntimeError("too heavy")
        return super().fit(X, y, sample_weight=sample_weight)


class Stopped(LinearSVC):
    left = 0

    def fit(self, X, y, sample_weight=None):
        Stopped.left -= 1
        if Stopped.left == 0:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight=sample_weight)


class Drifting(ClassifierMixin, BaseEstimator):
    """Scores that grow with the number of training samples, so that no threshold passes on."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.size_ = np.unique(y), len(y)
        return self

    def decision_function(self, X):
        return X[:, 0] + self.size_

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


def interrupted():
    Stopped.left = 6
    paper_search(Stopped(), n_trials=8, cv=2).fit(X, Y)


def far_from_optimal():
    Z = sparse.csr_array(RNG.poisson(0.3, size=(400, 700)) * RNG.lognormal(3.0, 2.0, size=(400, 1)))
    paper_search(LinearSVC(C=1e6, max_iter=1), refit=False, **FAST).fit(Z, (RNG.random(400) < 0.3).astype(int))


def table(folder):
    path = folder / "names.csv"
    path.write_text("a,name,y\n" + "".join(f"{i},name{i},{i % 2}\n" for i in range(30)))
    read_dataset(str(path), ReadOptions("y"))


def chunks(learner):
    learner.partial_fit(X[:50], Y[:50], classes=[0, 1]).partial_fit(X[50:], Y[50:])


WARNINGS = {
    "class_weight": (lambda _: BALANCED.fit(X, Y), "which multiplies the searched costs"),
    "infeasible": (lambda _: STRICT.fit(X, Y), "no trial satisfies"),
    "two workers": (
        lambda _: paper_search(Moody(), strategy="grid", n_trials=5, cv=2, n_jobs=2).fit(X, Y),
        "is left out",
    ),
    "failed": (lambda _: paper_search(Moody(), strategy="grid", n_trials=5, cv=2).fit(X, Y), "is left out"),
    "interrupted": (lambda _: interrupted(), "was interrupted"),
    "lost": (lambda _: paper_search(Drifting(), **FAST).fit(X, X[:, 0] > 0), "of its samples positive"),
    "gap": (lambda _: far_from_optimal(), "above its optimum"),
    "column": (lambda _: paper_search(LinearSVC(), **FAST).fit(X, Y[:, None]), "column-vector y"),
    "frame of y": (lambda _: paper_search(LinearSVC(), **FAST).fit(X, Y[:, None].tolist()), "column-vector y"),
    "pipeline": (lambda _: make_pipeline(StandardScaler(), BALANCED).fit(X, Y), "multiplies the searched"),
    "grid search": (lambda _: GridSearchCV(BALANCED, {"n_trials": [1]}, cv=2).fit(X, Y), "multiplies the searched"),
    "cross validation": (lambda _: cross_val_score(BALANCED, X, Y, cv=2), "multiplies the searched"),
    "macro": (lambda _: MacroCostSearch(STRICT).fit(X, Y), "no trial satisfies"),
    "threads": (lambda _: MacroCostSearch(STRICT, n_jobs=2).fit(X, np.arange(90) % 3), "no trial satisfies"),
    "plugin": (lambda _: PlugInClassifier(LinearSVC(), constraint="precision >= 1", cv=2).fit(X, Y), "no threshold"),
    "svm": (lambda _: FenchelSVM(max_iter=1).fit(X, Y), "stopped after"),
    "amp": (lambda _: AMP("f0.5", level="surrogate", max_iter=1, tol=1e-9).fit(X, Y), "stopped after"),
    "planes": (lambda _: CuttingPlane("pauc", C=1e6, max_iter=2).fit(X, Y), "tangent planes"),
    "ftrl": (lambda _: FTRL("pauc", eta=1e-3, max_planes=2, refit=1000).fit(X, Y), "tangent planes"),
    "k": (lambda _: OnePassMiniBatch(PrecisionAtK(0.2, allow_k_neq_pos=True)).fit(X, Y), "no upper bound"),
    "k chunks": (lambda _: chunks(OnePassMiniBatch(PrecisionAtK(0.2, allow_k_neq_pos=True))), "no upper bound"),
    "table": (table, "distinct texts"),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_every_warning_points_at_the_line_of_the_user(name, tmp_path):
    act, text = WARNINGS[name]
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        act(tmp_path)
    assert any(re.search(text, str(warning.message)) for warning in met)
    # what the bases say belongs to their own packages
    others = {warning.filename for warning in met if warning.filename != __file__}
    assert not {name for name in others if str(ROOT) in name}
    assert {w.filename for w in met if re.search(text, str(w.message))} == {__file__}


def test_only_one_file_calls_warnings_by_itself():
    for path in sorted(ROOT.rglob("*.py")):
        calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)]
        names = {node.attr for node in calls if isinstance(node.value, ast.Name) and node.value.id == "warnings"}
        assert path == ROOT / "_common" / "warn.py" or not names & {"warn", "warn_explicit"}, path


def test_a_warning_without_a_line_outside_points_at_its_caller():
    names = {"__name__": "csf.inner", "warn": warn}
    with pytest.warns(UserWarning, match="said") as met:
        exec(compile("warn('said')", "inner.py", "exec"), names)
    assert met[0].filename == __file__
