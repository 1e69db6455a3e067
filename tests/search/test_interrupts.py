"""Ctrl-C at any moment of a search that goes on from its file: it is raised, or what there is is fitted; never more."""

import signal
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.search import loop as checkpoint

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] ** 2 + RNG.normal(size=120) > 2.2).astype(int)
GRID = {"param_grid": {"C": [0.1, 1.0]}, "cv": 3}
KINDS = {
    "plain": (LinearSVC(), {}, ()),
    "tree": (DecisionTreeClassifier(max_depth=3, random_state=0), {}, ()),
    "grid": (LogisticRegression(), GRID | {"strategy": "cone"}, ()),
    "no scores": (LinearSVC(), GRID, ("_LARGEST",)),
    "no states": (LinearSVC(), GRID, ("_LARGEST_STATES",)),
    "neither": (LinearSVC(), GRID, ("_LARGEST", "_LARGEST_STATES")),
}
pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")


def told(search):
    trials = [(trial.setting, trial.number, trial.costs, trial.score, trial.threshold) for trial in search.trials_]
    return search.best_index_, search.best_threshold_, search.best_score_, trials


class CtrlC:
    """Raises KeyboardInterrupt where the main thread is after a number of seconds of its own work."""

    def __init__(self, seconds):
        self.seconds, self.over = seconds, False

    def __enter__(self):
        def interrupt(signum, frame):
            if not self.over:
                raise KeyboardInterrupt

        self.before = signal.signal(signal.SIGPROF, interrupt)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def __exit__(self, *error):
        self.over = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, self.before)


def interrupted(kind, path, draw, n_times, seconds):
    """Go on from a file again and again, interrupted each time; how often it was raised, and how often fitted."""
    base, options, _ = KINDS[kind]
    raised = fitted = 0
    for _ in range(n_times):
        search = CostSearch(base, random_state=0, checkpoint=path, **options)
        try:
            with CtrlC(seconds * draw.random() + 1e-3):
                search.fit(X, Y)
        except KeyboardInterrupt:
            raised += 1
        else:
            fitted += 1
        # All of a search or nothing: also where Ctrl-C came between the end of fit and the next line.
        if "trials_" in vars(search):
            n_complete = sum(trial.state == "complete" for trial in search.trials_)
            assert len(search.held_out_) + search.held_out_.n_dropped == n_complete
            assert search.predict(X).shape == Y.shape
        else:
            assert not [name for name in vars(search) if name.endswith("_")]
    return raised, fitted


# Ctrl-C between open() and the with statement that closes the file: Python closes it later and warns.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_at_random_moments_while_going_on(kind, tmp_path, monkeypatch):
    base, options, small = KINDS[kind]
    for name in small:
        monkeypatch.setattr(checkpoint, name, 0)
    expected = told(CostSearch(base, random_state=0, **options).fit(X, Y))
    draw, path = np.random.default_rng(0), tmp_path / "c.json"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the search was interrupted")
        # The first ones may come before there is a trial, which not every machine is slow enough for.
        for seconds in (0.0, 0.02, 0.05, 0.1, 0.2):
            path.unlink(missing_ok=True)
            raised, fitted = interrupted(kind, path, draw, 6, seconds)
            assert raised + fitted == 6
            again = CostSearch(base, random_state=0, checkpoint=path, **options).fit(X, Y)
            assert told(again) == expected


@pytest.mark.parametrize("moment", ["scores", "memory"])
def test_ctrl_c_while_a_file_is_read_leaves_the_file(moment, tmp_path, monkeypatch):
    path, done = tmp_path / "c.json", []
    search = CostSearch(LogisticRegression(), random_state=0, checkpoint=path, **GRID)
    expected = told(CostSearch(LogisticRegression(), random_state=0, **GRID).fit(X, Y))
    search.set_params(callbacks=[lambda study, trial: done.append(trial) or len(done) > 3]).fit(X, Y)
    before = path.read_bytes()
    owner, name = (checkpoint, "restore_scores") if moment == "scores" else (checkpoint.EarlierSolutions, "restore")

    def restore(*args, **options):
        raise KeyboardInterrupt

    search.set_params(callbacks=None)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, restore)
        if moment == "scores":
            with pytest.raises(KeyboardInterrupt):
                search.fit(X, Y)
        else:  # all that a winner is chosen by is there
            with pytest.warns(UserWarning, match="the search was interrupted"):
                search.fit(X, Y)
            assert len(search.trials_) == 4
    assert path.read_bytes() == before
    assert told(search.fit(X, Y)) == expected


def test_ctrl_c_while_results_are_published_leaves_none(monkeypatch):
    def interrupt(self, *args):
        raise KeyboardInterrupt

    search = CostSearch(LogisticRegression(), **GRID)
    monkeypatch.setattr("csf.search.fitted.pass_on_features", interrupt)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert not [name for name in vars(search) if name.endswith("_")]
