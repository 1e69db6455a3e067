"""Where a fitted search predicts: a process of its own that needs neither compiled loops nor drawings."""

import contextlib
import functools
import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from builders import paper_search
from builders_of_kinds import KINDS, samples_of, search_of
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import csf
from csf import CostSearch
from csf.plugin import PlugInClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + RNG.normal(size=80) > 0.8).astype(int)
SHORT = {"n_trials": 2, "cv": 2}
MODELS = {
    "SVM": paper_search(LinearSVC(), **SHORT),
    "logistic regression": paper_search(LogisticRegression(), "gmean", **SHORT),
    "pipeline": paper_search(make_pipeline(StandardScaler(), LogisticRegression()), **SHORT),
    "tree": paper_search(DecisionTreeClassifier(max_depth=2, random_state=0), **SHORT),
    "labels": CostSearch(LogisticRegression(), "f1_macro", param_grid=None, **SHORT),
    "plug-in": PlugInClassifier(LogisticRegression(), cv=2),
}
LOAD = """
import pickle, sys
from pathlib import Path

folder = Path(sys.argv[1])
models, X, expected = pickle.loads((folder / "models.pickle").read_bytes())
for name, model in models.items():
    assert (model.predict(X) == expected[name]).all(), name
loaded = {name.partition(".")[0] for name in sys.modules}
print(*sorted(loaded & {"numba", "llvmlite", "shapely", "matplotlib", "tqdm"}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Fitted models in a file."""
    where = tmp_path_factory.mktemp("models")
    targets = {"labels": np.column_stack([Y, 1 - Y])}
    fitted = {name: model.fit(X, targets.get(name, Y)) for name, model in MODELS.items()}
    expected = {name: model.predict(X) for name, model in fitted.items()}
    (where / "models.pickle").write_bytes(pickle.dumps((fitted, X, expected)))
    return where


@pytest.mark.slow
def test_loading_and_predicting_load_nothing_heavy(folder):
    out = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(csf.__file__).parents[1])},
    )
    assert out.stdout.split() == []


def test_a_bar_is_loaded_where_it_is_shown(capfd):
    paper_search(LogisticRegression(), verbose=1, **SHORT).fit(X, Y)
    assert "2/2" in capfd.readouterr().err


def read_on_first_access(result):
    """Read each attribute of a result that is computed when it is first read."""
    for name, _ in inspect.getmembers(type(result), lambda member: isinstance(member, functools.cached_property)):
        with contextlib.suppress(ValueError):  # a kind may have none of these
            getattr(result, name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_back_from_skops_and_pickle(kind):
    skops = pytest.importorskip("skops.io")
    search, (samples, target) = search_of(kind), samples_of(kind)
    search.summary()
    read_on_first_access(search.result_)  # what is computed then is there too
    data = skops.dumps(search)
    for again in (skops.loads(data, trusted=skops.get_untrusted_types(data=data)), pickle.loads(pickle.dumps(search))):
        np.testing.assert_array_equal(again.predict(samples), search.predict(samples))
        assert again.score(samples, target) == search.score(samples, target)
        np.testing.assert_array_equal(again.score_interval_, search.score_interval_)
        assert str(again.summary()) == str(search.summary())
