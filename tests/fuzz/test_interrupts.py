"""Searches that are killed or interrupted at random moments: they go on to the same trials and the same winner.

``CSF_FUZZ_KILLS`` gives the number of signals of each kind.
"""

import os
import signal
import threading
import time
import traceback
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from builders import interrupted, paper_search
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tqdm import tqdm

import csf
from csf.strategies import Cone
from csf.streams import fit_stream, iter_arrays, load_stream

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")]

KILLS = int(os.environ.get("CSF_FUZZ_KILLS", "24"))
# Signals in a row to one search before it is let to its end.
IN_A_ROW = 4
HINGE = LinearSVC(loss="hinge", max_iter=100_000)
SEARCHES = {
    "hinge": {"base": HINGE, "param_grid": {"C": [0.1, 1.0]}},
    "pipeline": {"base": make_pipeline(StandardScaler(), LogisticRegression()), "n_trials": 8},
    "trees": {"base": DecisionTreeClassifier(max_depth=3, random_state=0), "strategy": Cone(batch_size=3)},
    "losses": {"base": LinearSVC(max_iter=100_000), "param_grid": {"loss": ["hinge", "squared_hinge"]}},
    "one-vs-rest": {"base": OneVsRestClassifier(HINGE), "null_class": 0},
}
OK, INTERRUPTED, LOST = 0, 42, 1


def made(name, **options):
    """Search and data."""
    several = name == "one-vs-rest"
    X, y = make_classification(
        300, 6, n_informative=4, n_classes=3 if several else 2, weights=[0.7, 0.2][: 1 + several], random_state=0
    )
    return paper_search(**({"n_trials": 5, "cv": 3} | SEARCHES[name] | options)), X, y


def same(search, whole, *, partly=False):
    """Whether the trials of a search are those of the uninterrupted one, or some of them."""
    for study, other in zip(search.studies_, whole.studies_, strict=True):
        known = other.trials[: len(study.trials)] if partly else other.trials
        done = {trial.number: trial for trial in known}
        if not all(done.get(trial.number) == trial for trial in study.trials):
            return False
        if not partly and len(study.trials) != len(other.trials):
            return False
    return partly or search.best_index_ == whole.best_index_


def in_a_child(work, errors):
    """Process number of a child that works and ends with a code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the child is ready for it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that threads are about
        child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return child
    code = LOST
    try:
        try:
            tqdm.set_lock(threading.RLock())  # its usual one is shared with the parent, which would wait for the dead
            warnings.simplefilter("ignore")
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            work()
            code = OK
        except KeyboardInterrupt:
            code = INTERRUPTED
        except BaseException:
            code = LOST
            Path(errors).write_text(traceback.format_exc())
    finally:
        os._exit(code)


def struck(work, which, delay, errors):
    """Exit code of a child that gets a signal after some seconds."""
    child = in_a_child(work, errors)
    time.sleep(delay)
    os.kill(child, which)  # it is waited for below, and so still has its number
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def moments(name, which):
    """Generator of random delays for a part of all signals."""
    rng = np.random.default_rng([which, *name.encode()])
    return lambda seconds: seconds * rng.uniform(0, 1.1) * rng.uniform()  # rather early: little is left later


@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_that_is_struck_goes_on_to_the_same_result(tmp_path, name, which):
    whole, X, y = made(name)
    whole.fit(X, y)
    start = time.perf_counter()
    made(name, checkpoint=tmp_path / "first.json")[0].fit(X, y)
    seconds, delay, errors = time.perf_counter() - start, moments(name, which), tmp_path / "errors"

    def work():
        search = made(name, checkpoint=path)[0].fit(X, y)
        assert same(search, whole, partly=True), "trials differ"
        if search.stop_reason_ == "interrupted":
            raise KeyboardInterrupt

    hits = 0
    for number in range(-(-KILLS // len(SEARCHES) // IN_A_ROW)):
        path = tmp_path / f"{number}.json"
        for _ in range(IN_A_ROW):
            code = struck(work, which, delay(seconds), errors)
            assert code in (OK, INTERRUPTED, -signal.SIGKILL), errors.read_text() if errors.exists() else code
            hits += code != OK
        resumed = made(name, checkpoint=path)[0].fit(X, y)
        assert same(resumed, whole)
        np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))
    print(f"{hits} of {(number + 1) * IN_A_ROW} signals came before the end of a search")
    # A killed process cannot remove the file that it was writing.
    assert which == signal.SIGKILL or not list(tmp_path.glob("*.tmp"))


ROOT = Path(csf.__file__).parent
TRACED = {str(path) for path in (ROOT / "search").glob("*.py")}
TRACED |= {str(ROOT / name) for name in ("_common/files.py", "evaluate/stores.py", "metrics/trials.py")}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:the search was interrupted")
@pytest.mark.parametrize("name", ["hinge", "trees", "losses"])
def test_ctrl_c_at_any_line_of_a_search_loses_nothing(tmp_path, name):
    whole, X, y = made(name)
    whole.fit(X, y)
    n_lines = interrupted(lambda: made(name, checkpoint=tmp_path / "c.json")[0].fit(X, y), -1, files=TRACED)
    rng, told = np.random.default_rng(0), 0
    for number, at in enumerate(rng.integers(1, n_lines, KILLS)):
        path = tmp_path / f"{number}.json"
        search = made(name, checkpoint=path)[0]
        try:
            interrupted(partial(search.fit, X, y), at, files=TRACED)
        except KeyboardInterrupt:
            pass
        else:
            assert same(search, whole, partly=True)
            assert search.predict(X).shape == y.shape
            told += search.stop_reason_ == "interrupted"
        resumed = made(name, checkpoint=path)[0].fit(X, y)
        assert same(resumed, whole)
        np.testing.assert_equal(vars(resumed).get("gain_error_"), vars(whole).get("gain_error_"))
    assert told > 0 or KILLS < 100
    assert list(tmp_path.glob("*.tmp")) == []


@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_a_stream_that_is_struck_goes_on_to_the_same_learner(tmp_path, which):
    X, y = make_classification(4000, 5, random_state=0)

    def fresh():
        return SGDClassifier(random_state=0), iter_arrays(X, y, 100)

    def work():
        learner, chunks = load_stream(path) if path.exists() else fresh()
        fit_stream(learner, chunks, classes=None if path.exists() else [0, 1], save_to=path, save_every=1)

    learner, chunks = fresh()
    whole = fit_stream(learner, chunks, classes=[0, 1])
    path = tmp_path / "first"
    start = time.perf_counter()
    work()
    seconds, delay = time.perf_counter() - start, moments("stream", which)
    for number in range(-(-KILLS // len(SEARCHES) // IN_A_ROW)):
        path = tmp_path / f"{number}.state"
        for _ in range(IN_A_ROW):
            code = struck(work, which, delay(seconds), tmp_path / "errors")
            assert code in (OK, INTERRUPTED, -signal.SIGKILL), (tmp_path / "errors").read_text()
        work()
        np.testing.assert_array_equal(load_stream(path)[0].coef_, whole.coef_)
    # A killed process cannot remove the file that it was writing.
    assert which == signal.SIGKILL or not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("name", SEARCHES)
def test_a_disk_that_fills_up_leaves_what_was_finished(tmp_path, name):
    import resource

    whole, X, y = made(name)
    path, errors = tmp_path / "c.json", tmp_path / "errors"
    made(name, checkpoint=path)[0].fit(X, y)
    size = path.stat().st_size
    for share in np.random.default_rng(0).uniform(0.05, 0.95, size=3):
        path.unlink(missing_ok=True)

        def work(limit=int(share * size)):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                made(name, checkpoint=path)[0].fit(X, y)
            except OSError:
                raise KeyboardInterrupt from None

        child = in_a_child(work, errors)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == INTERRUPTED
        assert path.stat().st_size <= share * size if path.exists() else True
        assert made(name, checkpoint=path)[0].fit(X, y).trials_ == whole.fit(X, y).trials_
    assert [file.name for file in tmp_path.glob("*.tmp")] == []
