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
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from csf import CostSearch
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
    return CostSearch(LinearSVC(), **({"n_trials": 8, "cv": 2, "param_grid": {"C": [0.1, 1.0]}} | options))


@pytest.mark.parametrize("strategy", ["cone", "grid", "cones"])
def test_a_killed_search_resumes_to_the_same_result(data, tmp_path, strategy):
    path = tmp_path / "trials.json"
    run = 'CostSearch(Slow(), STRATEGY, n_trials=8, cv=2, param_grid={"C": [0.1, 1.0]}, checkpoint=sys.argv[1])'
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


@pytest.mark.parametrize("n_trials", [1, 3, 5])
def test_linear_models_resume_within_their_accuracy(data, tmp_path, n_trials):
    """They start from other solutions then: of which none are kept."""
    search(checkpoint=tmp_path / "c.json", n_trials=n_trials).fit(*data)
    resumed = search(checkpoint=tmp_path / "c.json").fit(*data)
    whole = search().fit(*data)
    assert resumed.trials_[:n_trials] == whole.trials_[:n_trials]
    for one, other in zip(resumed.trials_, whole.trials_, strict=True):
        assert max(one.duality_gap, other.duality_gap) <= 1e-6
        assert (one.t, one.score) == pytest.approx((other.t, other.score), abs=1e-9)
        assert one.threshold == pytest.approx(other.threshold, abs=1e-3)
    assert resumed.best_index_ == whole.best_index_
    np.testing.assert_allclose(resumed.decision_function(data[0]), whole.decision_function(data[0]), atol=1e-3)


def test_a_finished_checkpoint_trains_nothing_but_the_winner(data, tmp_path):
    first = search(checkpoint=tmp_path / "c.json").fit(*data)
    again = search(checkpoint=tmp_path / "c.json").fit(*data)
    assert again.trials_ == first.trials_
    assert os.listdir(tmp_path) == ["c.json"]


def test_a_checkpoint_can_be_continued_with_more_trials(data, tmp_path):
    options = {"engine": "generic"}
    search(checkpoint=tmp_path / "c.json", n_trials=3, **options).fit(*data)
    resumed = search(checkpoint=tmp_path / "c.json", **options).fit(*data)
    assert resumed.trials_ == search(**options).fit(*data).trials_


@pytest.mark.parametrize("content", ["", '{"format": "csf-checkpoint", "versi', "\x00\x01", "[1, 2]", '{"a": 1}'])
def test_a_torn_or_foreign_file_is_refused_and_left_alone(data, tmp_path, content):
    path = tmp_path / "c.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"c\.json .*it was left as it is"):
        search(checkpoint=path).fit(*data)
    assert path.read_text() == content


@pytest.mark.parametrize(
    "other",
    [
        *({"metric": "f2"}, {"strategy": "grid"}, {"cv": 3}, {"threshold": None}, {"param_grid": {"C": [0.1, 2.0]}}),
        {"engine": "generic"},
    ],
)
def test_the_checkpoint_of_another_search_is_refused_and_left_alone(data, tmp_path, other):
    path = tmp_path / "c.json"
    search(checkpoint=path, n_trials=1).fit(*data)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="belongs to another search"):
        search(checkpoint=path, **other).fit(*data)
    assert path.read_bytes() == before


def test_the_checkpoint_of_other_data_is_refused(data, tmp_path):
    X, y = data
    search(checkpoint=tmp_path / "c.json", n_trials=1).fit(X, y)
    with pytest.raises(ValueError, match="belongs to another search"):
        search(checkpoint=tmp_path / "c.json", n_trials=1).fit(X + 1, y)


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
    stopped = CostSearch(Interrupted(), n_trials=8, cv=2)
    with pytest.warns(UserWarning, match="the search was interrupted"):
        stopped.fit(*data)
    whole = CostSearch(LinearSVC(), n_trials=8, cv=2, engine="generic").fit(*data)
    assert stopped.stop_reason_ == "interrupted"
    assert stopped.trials_ == whole.trials_[:3]
    assert stopped.predict(data[0]).shape == data[1].shape


def test_ctrl_c_before_the_first_result_is_raised(data):
    Interrupted.left = 2
    with pytest.raises(KeyboardInterrupt):
        CostSearch(Interrupted(), n_trials=8, cv=2).fit(*data)
