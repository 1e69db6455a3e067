"""Interrupted searches: nothing that was finished is lost."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from builders import paper_search
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf.strategies import Cone

SCRIPT = """
import sys, time
import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC
from csf import CostSearch
from csf.strategies import Cone

class Slow(LinearSVC):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        Slow.fits += 1
        time.sleep(DELAY if Slow.fits <= 12 else 60 * DELAY)  # does not end before it is killed
        return super().fit(X, y, sample_weight=sample_weight)

DELAY = float(sys.argv[2])
STRATEGY = {"cone": "cone", "grid": "grid", "cones": Cone(batch_size=3)}[sys.argv[3]]
X, y = make_classification(200, 5, weights=[0.8], random_state=0)
"""


@pytest.fixture(scope="module")
def data():
    return make_classification(200, 5, weights=[0.8], random_state=0)


def search(**options):
    return paper_search(LinearSVC(), **({"n_trials": 8, "cv": 2, "param_grid": {"C": [0.1, 1.0]}} | options))


@pytest.mark.parametrize(
    "strategy", ["cone", *(pytest.param(name, marks=pytest.mark.slow) for name in ("grid", "cones"))]
)
def test_a_killed_search_resumes_to_the_same_result(data, tmp_path, strategy):
    path = tmp_path / "trials.json"
    run = (
        'CostSearch(Slow(), STRATEGY, n_trials=8, cv=2, param_grid={"C": [0.1, 1.0]}, checkpoint=sys.argv[1], '
        'threshold="tune", normalize="none")'
    )
    script = SCRIPT + run.replace("STRATEGY", "strategy=STRATEGY") + ".fit(X, y)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(path), "0.05", strategy], stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 600
    while finished(path) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = finished(path)
    assert 3 <= done < 16

    namespace = {}
    exec(SCRIPT.replace("float(sys.argv[2])", "0.0").replace("sys.argv[3]", repr(strategy)), namespace)
    counted = []
    slow = namespace["Slow"]

    class Slow(slow):
        def fit(self, X, y, sample_weight=None):
            counted.append(1)
            return super().fit(X, y, sample_weight=sample_weight)

    # the checkpoint knows its base by name and parameters
    Slow.__module__, Slow.__qualname__ = "__main__", "Slow"
    chosen = Cone(batch_size=3) if strategy == "cones" else strategy
    resumed = search(strategy=chosen, checkpoint=path).set_params(base=Slow()).fit(*data)
    whole = search(strategy=chosen, engine="generic").fit(*data)
    assert resumed.trials_ == whole.trials_
    assert resumed.best_index_ == whole.best_index_
    assert len(counted) == 2 * (16 - done) + 1  # two folds a trial, and the last training
    np.testing.assert_array_equal(resumed.predict(data[0]), whole.predict(data[0]))


def finished(path):
    if not path.exists():
        return 0
    studies = json.loads(path.read_text())["studies"]
    return sum(trial["state"] == "complete" for study in studies for trial in study)


def stop_after(n_trials):
    """Callback that ends the search after so many trials."""
    left = iter(range(n_trials - 1))
    return lambda study, trial: next(left, None) is None


BASES = {
    "squared hinge": {"base": LinearSVC()},
    "hinge": {"base": LinearSVC(loss="hinge", max_iter=100_000)},
    "hinge, many features": {"base": LinearSVC(loss="hinge", max_iter=100_000), "width": 600},
    "squared hinge, many features": {"base": LinearSVC(), "width": 600},
    "logistic": {"base": LogisticRegression()},
    "logistic, some features": {"base": LogisticRegression(), "width": 60},
    "logistic, many features": {"base": LogisticRegression(), "width": 600},
    "pipeline": {"base": make_pipeline(StandardScaler(), LinearSVC(loss="hinge", max_iter=100_000)), "step": True},
    "steps": {
        "base": make_pipeline(StandardScaler(), LogisticRegression()),
        "param_grid": {"standardscaler__with_mean": [True, False]},
    },
    "losses": {"base": LinearSVC(max_iter=100_000), "param_grid": {"loss": ["hinge", "squared_hinge"]}},
    "fast and generic": {"base": LinearSVC(dual=False, random_state=0), "param_grid": {"penalty": ["l2", "l1"]}},
    "one-vs-rest": {"base": OneVsRestClassifier(LinearSVC(loss="hinge", max_iter=100_000)), "classes": True},
    "one-vs-rest costs": {
        "base": OneVsRestClassifier(LogisticRegression()),
        "classes": True,
        "weighting": "one-vs-rest",
        "param_grid": {"estimator__C": [0.1, 1.0]},
    },
    "gain": {"base": LinearSVC(loss="hinge", max_iter=100_000), "min_gain": 0.25},
    "training part": {"base": LinearSVC(loss="hinge", max_iter=100_000), "bound_on": "train"},
    "batches": {"base": LinearSVC(loss="hinge", max_iter=100_000), "strategy": Cone(batch_size=3)},
}


def linear_search(name, **options):
    """Search and data of one of the bases above."""
    options = BASES[name] | {"n_trials": 6, "cv": 2} | options
    width, step, several = (options.pop(key, default) for key, default in (("width", 5), ("step", 0), ("classes", 0)))
    if several:
        X, y = make_classification(
            150, 5, n_informative=4, n_redundant=0, n_classes=3, weights=[0.6, 0.2], random_state=0
        )
        options["null_class"] = 0
    else:
        X, y = make_classification(150, width, weights=[0.8], flip_y=0.2, random_state=0)
    prefix = "linearsvc__" if step else "estimator__" if several else ""
    options.setdefault("param_grid", {f"{prefix}C": [0.1, 1.0]})
    return paper_search(**options), X, y


@pytest.mark.parametrize("name", BASES)
def test_linear_models_resume_to_the_last_digit(tmp_path, name):
    whole, X, y = linear_search(name)
    whole.fit(X, y)
    for n_trials in (1, 3, 6, 9):
        path = tmp_path / f"{n_trials}.json"
        linear_search(name, checkpoint=path, callbacks=[stop_after(n_trials)])[0].fit(X, y)
        resumed = linear_search(name, checkpoint=path, n_jobs=2)[0].fit(X, y)
        assert resumed.trials_ == whole.trials_
        assert [t.duality_gap for t in resumed.trials_] == [t.duality_gap for t in whole.trials_]
        assert resumed.best_index_ == whole.best_index_
        assert vars(resumed).get("gain_") == vars(whole).get("gain_")
        np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))


class Struck(Cone):
    """Cones in batches of three; Ctrl-C comes while a batch is asked for."""

    asked = 0

    def propose(self, *args, **kwargs):
        Struck.asked += 1
        if Struck.asked == 5:
            raise KeyboardInterrupt
        return super().propose(*args, **kwargs)


@pytest.mark.parametrize("grid", [None, {"C": [0.1, 1.0]}], ids=["one setting", "two settings"])
def test_ctrl_c_within_a_batch_leaves_no_part_of_it(data, tmp_path, monkeypatch, grid):
    # What is asked for after a part would know the part's results, and be another trial.
    monkeypatch.setattr(Struck, "asked", 0)
    options = {"strategy": Struck(batch_size=3), "param_grid": grid, "checkpoint": tmp_path / "c.json"}
    if grid is None:
        with pytest.warns(UserWarning, match="interrupted"):
            assert len(search(**options).fit(*data).trials_) == 3
    else:  # in the first batch: nothing is finished
        with pytest.raises(KeyboardInterrupt):
            search(**options).fit(*data)
    whole = search(strategy=Cone(batch_size=3), param_grid=grid).fit(*data)
    assert search(**options).fit(*data).trials_ == whole.trials_


@pytest.mark.parametrize("name", ["hinge", "losses", "one-vs-rest costs", "gain"])
def test_states_too_large_to_keep_are_computed_again(tmp_path, name, monkeypatch):
    monkeypatch.setattr("csf.search.loop._LARGEST_STATES", 0)
    whole, X, y = linear_search(name)
    whole.fit(X, y)
    linear_search(name, checkpoint=tmp_path / "c.json", callbacks=[stop_after(5)])[0].fit(X, y)
    assert '"states": null' in (tmp_path / "c.json").read_text()
    assert linear_search(name, checkpoint=tmp_path / "c.json")[0].fit(X, y).trials_ == whole.trials_


def test_a_linear_search_goes_on_with_more_trials(data, tmp_path):
    search(checkpoint=tmp_path / "c.json", n_trials=3).fit(*data)
    assert search(checkpoint=tmp_path / "c.json").fit(*data).trials_ == search().fit(*data).trials_


def test_a_finished_checkpoint_trains_nothing_but_the_winner(data, tmp_path):
    first = search(checkpoint=tmp_path / "c.json").fit(*data)
    again = search(checkpoint=tmp_path / "c.json").fit(*data)
    assert again.trials_ == first.trials_
    assert os.listdir(tmp_path) == ["c.json"]


class Interrupted(LinearSVC):
    """Is interrupted in its n-th training."""

    left = 0

    def fit(self, X, y, sample_weight=None):
        Interrupted.left -= 1
        if Interrupted.left == 0:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight=sample_weight)


def test_ctrl_c_keeps_the_finished_trials(data):
    Interrupted.left = 8
    stopped = paper_search(Interrupted(), n_trials=8, cv=2)
    with pytest.warns(UserWarning, match="the search was interrupted"):
        stopped.fit(*data)
    whole = paper_search(LinearSVC(), n_trials=8, cv=2, engine="generic").fit(*data)
    assert stopped.stop_reason_ == "interrupted"
    assert stopped.trials_ == whole.trials_[:3]
    assert stopped.predict(data[0]).shape == data[1].shape


def test_ctrl_c_before_the_first_result_is_raised(data):
    Interrupted.left = 2
    with pytest.raises(KeyboardInterrupt):
        paper_search(Interrupted(), n_trials=8, cv=2).fit(*data)
