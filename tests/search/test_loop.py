"""The loop of a search: which trainings run together, what they start from, what ends it."""

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from builders import paper_search, told
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch, ErrorProfile, Study
from csf._common.files import write_record
from csf.data.folds import Task, make_folds
from csf.data.responses import Response
from csf.evaluate import ScoreStore
from csf.metrics import FBeta
from csf.metrics.profile import Hull
from csf.metrics.trials import Trial, outcome
from csf.search import loop as forecast
from csf.search import loop as module
from csf.search.config import SearchConfig
from csf.search.loop import (
    Checkpoint,
    Deadline,
    EarlierSolutions,
    Forecast,
    SearchLoop,
    decode,
    encode,
    restore_scores,
    scores_to_record,
)
from csf.search.planning import open_checkpoint
from csf.search.problems.binary import BinaryEvaluator
from csf.search.workers import LocalTrainer
from csf.solvers import Hinge, HingeSolution, Rows, Solution, SquaredHinge
from csf.strategies import Cone, Grid
from csf.trainers import Trainer, Training

Y = np.tile([0, 1, 0, 0], 6)
FOLDS = make_folds(Task(np.zeros((24, 1)), Y), [(np.arange(12), np.arange(12, 24)), (np.arange(12, 24), np.arange(12))])


class Noted(Trainer):
    """Notes what it is asked for; predicts by the level alone."""

    def __init__(self, name, family, log, fold):
        self.name, self.family, self.log, self.fold = name, family, log, fold

    def fit(self, costs, starts=()):
        self.log.append((self.name, costs, tuple(starts)))
        if "broken" in self.name and costs[1] > 0.7:
            raise ValueError("no")
        return Training(costs, None if self.family is None else f"{self.name} at {costs[1]}", 0.01 * costs[1])

    def predict(self, training, part, *, tune):
        score = np.where(Y[self.fold.test] == 1, 1.0, -1.0) + np.linspace(-2, 2, 12) * training.model[1]
        return Response(score > 0, score if tune else None)

    def estimator(self, training):
        raise NotImplementedError


def runner_of(families, *, strategy="cone", n_trials=3, names=None, n_jobs=None, **options):
    """SearchLoop with one setting for each family, and the list of what its trainers are asked for."""
    log = []
    names = [f"setting {i}" for i in range(len(families))] if names is None else names
    trainers = [
        [Noted(f"{name}, fold {k}", family, log, fold) for k, fold in enumerate(FOLDS)]
        for name, family in zip(names, families, strict=True)
    ]
    studies = [Study(FBeta(), strategy, pos=0.25, n_trials=n_trials) for _ in families]
    trainer = LocalTrainer(BinaryEvaluator(FBeta(), tune=True), trainers, FOLDS, n_jobs=n_jobs)
    return SearchLoop(studies, trainer, **options), log


def started_from(log, name):
    return [starts for who, _, starts in log if who == name]


def test_each_fold_starts_from_its_own_states():
    runner, log = runner_of(["a"])
    assert runner.run() is None
    costs = [trial.c_fp for trial in runner.studies[0].trials]
    for fold in ("setting 0, fold 0", "setting 0, fold 1"):
        starts = started_from(log, fold)
        assert [set(some) for some in starts] == [{f"{fold} at {c}" for c in costs[:k]} for k in range(3)]


def test_settings_of_one_family_start_from_each_other():
    runner, log = runner_of(["a", "a", "b"], n_trials=1)
    runner.run()
    assert started_from(log, "setting 1, fold 0") == [("setting 0, fold 0 at 0.5",)]
    assert started_from(log, "setting 2, fold 0") == [()]


def test_trainers_without_states_start_anew_and_run_all_proposals_at_once(monkeypatch):
    batches = []
    original = SearchLoop._run_batch
    monkeypatch.setattr(
        SearchLoop, "_run_batch", lambda self, batch, *rest: batches.append(len(batch)) or original(self, batch, *rest)
    )
    runner, log = runner_of([None, None], strategy=Cone(batch_size=3), n_trials=6)
    runner.run()
    assert all(starts == () for _, _, starts in log)
    assert batches == [6, 6]  # three of each setting
    batches.clear()
    runner, _ = runner_of(["a", "a"], strategy=Cone(batch_size=3), n_trials=6)
    runner.run()
    assert set(batches) == {1}


def test_the_largest_gap_of_the_folds_is_recorded():
    runner, _ = runner_of(["a"])
    runner.run()
    assert [trial.duality_gap for trial in runner.studies[0].trials] == [
        pytest.approx(0.01 * trial.c_fp) for trial in runner.studies[0].trials
    ]


def test_failed_trainings_leave_no_states():
    runner, log = runner_of(["a"], strategy="grid", n_trials=4, names=["broken"])
    with pytest.warns(FitFailedWarning, match="failed and is left out"):
        runner.run()
    failed = {trial.c_fp for trial in runner.studies[0].trials if trial.state == "failed"}
    assert failed
    assert not any(f"at {c}" in start for *_, starts in log for start in starts for c in failed)


def test_errors_are_raised_where_that_is_wanted():
    runner, _ = runner_of(["a"], strategy="grid", names=["broken"], raise_errors=True)
    with pytest.raises(ValueError, match="no"):
        runner.run()
    assert not any(trial.state == "pending" for trial in runner.studies[0].trials)


def test_callbacks_end_the_search_and_leave_nothing_pending():
    runner, _ = runner_of([None], n_trials=6, strategy="grid", callbacks=[lambda study, trial: trial.number == 1])
    assert runner.run() == "a callback ended the search"
    assert [trial.state for trial in runner.studies[0].trials] == ["complete"] * 2


def test_the_bar_of_a_search_that_ends_early_is_full_in_the_end(capfd):
    runner, _ = runner_of(["a"], strategy="bisection", n_trials=60, verbose=1)
    runner.run()
    n_trials = len(runner.studies[0].trials)
    assert n_trials < 60
    shown = capfd.readouterr().err.split("\r")
    assert "/60 " in shown[1]
    assert f"{n_trials}/{n_trials} " in shown[-1]


def test_trials_left_pending_come_first():
    runner, log = runner_of(["a"])
    runner.studies[0].ask()
    level = runner.studies[0].trials[0].c_fp
    runner.run()
    assert log[0][1][1] == level
    assert len(runner.studies[0].trials) == 3


@pytest.mark.parametrize("families", [["a", "b"], [None, None]])
def test_workers_change_nothing(monkeypatch, families):
    monkeypatch.setattr(Noted, "releases_gil", True)
    results = []
    for n_jobs in (None, 2):
        runner, _ = runner_of(families, n_jobs=n_jobs)
        runner.run()
        results.append([study.trials for study in runner.studies])
    assert results[0] == results[1]


class Grumbling(Noted):
    """Fails at every level above its limit, always for the same reason."""

    limit = 0.7

    def fit(self, costs, starts=()):
        if costs[1] > self.limit:
            raise ValueError("Input X contains NaN.\nSee https://example.org for the long story.")
        return super().fit(costs, starts)


@pytest.mark.parametrize(("limit", "n_warnings"), [(0.7, 2), (0.0, 1), (0.9, 1)])
def test_each_cause_of_failures_is_told_once(limit, n_warnings):
    """At its first trial, and in numbers at the end where there is something to go on with."""
    runner, _ = runner_of([None], strategy="grid", n_trials=10)
    runner.trainer.startables = [[Grumbling(t.name, None, t.log, t.fold) for t in runner.trainer.startables[0]]]
    for trainer in runner.trainer.startables[0]:
        trainer.limit = limit
    with pytest.warns(FitFailedWarning) as record:
        runner.run()
    texts = [str(warning.message) for warning in record]
    assert len(texts) == n_warnings
    assert texts[0].endswith("its error is in trials_: ValueError: Input X contains NaN.")
    failed = sum(trial.state == "failed" for trial in runner.studies[0].trials)
    assert failed > 1 or n_warnings == 1
    if n_warnings == 2:
        assert f"ValueError: Input X contains NaN. ({failed} times)" in texts[1]


# ---------------------------------------------------------------- the moment by which a search has to be over


def clock_of(*times):
    each = iter(times)
    return lambda: next(each)


def test_it_leaves_time_for_another_trial_and_the_last_training():
    # Trials of 2 s; folds of 1 s, so the last training takes 1.5 s: 6 + 2 + 1.5 is too late.
    deadline = Deadline(9.0, clock=clock_of(0, 2, 4, 6))
    assert [deadline.passes([1.0, 0.5]) for _ in range(3)] == [False, False, True]


def test_the_slowest_training_counts_even_if_later_ones_are_quick():
    deadline = Deadline(10.0, clock=clock_of(0, 1, 2))
    assert not deadline.passes([4.0])
    assert Deadline(8.0, clock=clock_of(0, 1, 2)).passes([4.9])
    assert not deadline.passes([0.1])


def test_what_was_prepared_before_the_trials_is_no_measure_of_them():
    deadline = Deadline(10.0, clock=clock_of(0, 5, 6))
    deadline.begin()
    assert not deadline.passes([0.5])
    assert Deadline(10.0, clock=clock_of(0, 6)).passes([0.5])


@pytest.mark.parametrize("folds", [[], [0.0]])
def test_trials_without_times_take_none(folds):
    assert not Deadline(1.0, clock=clock_of(0, 0.1)).passes(folds)


# ---------------------------------------------------------------- what linear models start from: kept once, in its


def startable(family):
    return SimpleNamespace(family=family, position=lambda costs: costs)


def trial(number, c_fn=1.0):
    return Trial(number=number, t=None, costs=(c_fn, 1.0))


def solutions_of(*families, n_folds=2):
    return EarlierSolutions([[startable(family) for _ in range(n_folds)] for family in families])


def test_a_trial_that_is_told_twice_is_kept_once():
    solutions = solutions_of("a")
    for _ in range(2):
        solutions.add(0, trial(0), ["one", "two"])
    assert solutions.order == [[0, 0]]
    assert list(solutions.starts(0, 0, (1.0, 1.0))) == ["one"]
    assert list(solutions.starts(0, 1, (1.0, 1.0))) == ["two"]


def test_states_are_those_of_the_family_and_the_nearest_come_first():
    solutions = solutions_of("a", "b", "a", None)
    solutions.add(0, trial(0, 1.0), ["far", "far"])
    solutions.add(1, trial(0, 2.0), ["other", "other"])
    solutions.add(2, trial(0, 2.0), ["near", None])
    solutions.add(3, trial(0, 2.0), ["lost", "lost"])
    assert solutions.order == [[0, 0], [1, 0], [2, 0], [3, 0]]
    assert list(solutions.starts(0, 0, (2.0, 1.0))) == ["near", "far"]
    assert list(solutions.starts(2, 1, (2.0, 1.0))) == ["far"]
    assert list(solutions.starts(1, 0, (2.0, 1.0))) == ["other"]
    assert list(solutions.starts(3, 0, (2.0, 1.0))) == []


def test_what_was_known_before_a_trial_is_not_changed_by_it():
    """Ctrl-C between two lines leaves all of a trial or nothing of it."""
    solutions = solutions_of("a")
    before = solutions._known
    solutions.add(0, trial(0), ["one", "two"])
    assert before[0] == []
    assert all(starts.known == () for starts in before[1])


TRIALS = {(1, 0): trial(0), (0, 0): trial(0, 2.0), (0, 1): trial(1)}


def filled():
    solutions = solutions_of("a", "b")
    solutions.add(1, TRIALS[1, 0], [np.arange(3.0), np.arange(2.0)])
    solutions.add(0, TRIALS[0, 0], [("text", 1), None])
    return solutions


def test_a_file_gives_all_of_it_back():
    solutions, other = filled(), solutions_of("a", "b")
    assert other.restore(solutions.to_record(), scores_known=True) == []
    assert other.order == [[1, 0], [0, 0]]
    np.testing.assert_array_equal(other.starts(1, 0, (1.0, 1.0))[0], np.arange(3.0))
    assert list(other.starts(0, 0, (1.0, 1.0))) == [("text", 1)]
    assert list(other.starts(0, 1, (1.0, 1.0))) == []


@pytest.mark.parametrize("why", ["scores", "size", "kind"])
def test_what_cannot_be_got_back_is_trained_again_in_its_order(why, monkeypatch):
    solutions, other = filled(), solutions_of("a", "b")
    if why == "kind":
        solutions.add(0, TRIALS[0, 1], [object(), None])
    if why == "size":
        monkeypatch.setattr(module, "_LARGEST_STATES", 10)
    record = solutions.to_record()
    assert (record["states"] is None) == (why != "scores")
    assert other.restore(record, scores_known=why != "scores") == solutions.order
    assert other.order == []


def test_states_are_described_once(monkeypatch):
    solutions, described = filled(), []
    monkeypatch.setattr(module, "encode", lambda state: described.append(state) or "text")
    first = solutions.to_record()
    assert len(described) == 3
    solutions.add(0, trial(1), ["more", None])
    assert solutions.to_record()["states"][0][:2] == first["states"][0]
    assert len(described) == 4


# ---------------------------------------------------------------- held-out scores in the file of a checkpoint


IS_POS = np.arange(100) < 20
SCORES = np.random.default_rng(0).normal(size=(3, 100)).astype(np.float32)


def store_of(*, rows):
    """A store with room for so many rows of scores."""
    return ScoreStore(IS_POS, max_bytes=rows * SCORES[0].nbytes)


@pytest.fixture
def trials():
    """Three of them, the second one the worst."""
    values = (0.6, 0.2, 0.5)
    return {
        (0, at): replace(told(at, 0.5, 0.1, 0.1, pos=0.2), score=value, threshold=0.5)
        for at, value in enumerate(values)
    }


def heard(trials, *, rows):
    store = store_of(rows=rows)
    for (key, trial), score in zip(trials.items(), SCORES, strict=True):
        store.add_trial(key, trial, score, None)
    return store


def written(store):
    return json.loads(json.dumps(scores_to_record(store, {})))


@pytest.mark.parametrize(("rows", "kept"), [(3, [0, 1, 2]), (2, [0, 2]), (1, [0])])
def test_a_store_comes_back_without_the_rows_that_it_dropped(trials, rows, kept):
    again = store_of(rows=rows)
    assert restore_scores(again, written(heard(trials, rows=rows)), trials)
    assert [row.key for row in again] == [(0, number) for number in kept]
    assert again.n_dropped == 3 - len(kept)
    for row in again:
        np.testing.assert_array_equal(row.score, SCORES[row.key[1]])
        assert (row.threshold, row.value) == (0.5, trials[row.key].score)


# ---------------------------------------------------------------- states of trainings in files: the same bits come


def there_and_back(state):
    return decode(json.loads(json.dumps(encode(state))))


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.1, -0.0, np.nan, np.inf, 5e-324]),
        np.zeros((0, 3)),
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(3.5),
        np.array([True, False]),
        np.float32([1.1]),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_come_back_bit_by_bit(array):
    found = there_and_back(array)
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert found.flags.writeable


def test_values_keep_their_types():
    state = (None, True, 3, 0.1, "a", [1, (2,)], np.float64(0.1), np.int32(7))
    found = there_and_back(state)
    assert found == state
    assert [type(part) for part in found] == [type(part) for part in state]


@pytest.mark.parametrize(("solver", "kind"), [(Hinge, HingeSolution), (SquaredHinge, Solution)])
def test_solutions_come_back(solver, kind):
    rng = np.random.default_rng(0)
    rows, sign = Rows(rng.normal(size=(30, 3))), np.where(rng.random(30) < 0.4, 1.0, -1.0)
    solution = solver(rows, sign).solve(np.ones(30), tol=1e-6)
    found = there_and_back(solution)
    assert type(found) is kind
    for field in fields(kind):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(solution, field.name))


@pytest.mark.parametrize("state", [object(), {"a": 1}, np.array([object()]), lambda: 0, {1}])
def test_other_states_cannot_be_kept(state):
    with pytest.raises(TypeError, match="cannot be kept in a file"):
        encode((1, state))


@pytest.mark.parametrize(
    "record",
    [
        [],
        ["eval", "1"],
        ["array", "<f8", [2], "AAAA"],
        ["array", "<f8", [2]],
        ["array", "O", [1], encode(np.zeros(1))[3]],
        ["Solution", 1],
        ["tuple", ["nothing"]],
    ],
)
def test_other_records_are_refused(record):
    with pytest.raises(ValueError, match="this is not the record of a state"):
        decode(record)


# ---------------------------------------------------------------- checkpoints: what is restored, and files that are


CONTENT = (LinearSVC(C=2.0), FBeta(), Grid(3), np.arange(4.0))


def studies(n_trials=3):
    return [Study("f1", Grid(3), pos=0.2, n_trials=n_trials) for _ in range(2)]


def told_studies():
    pair = studies()
    for study in pair:
        trials = study.ask_batch()
        number = pair.index(study)
        profile = ErrorProfile(fn=0.1, fp=0.1, pos=0.2)
        study.record(trials[0], setting=number, **outcome(study.metric, profile, hull=Hull([(0.1, 0.1)])))
        study.fail(trials[1], "no", setting=number)
    return pair


def test_all_trials_come_back_pending_ones_too(tmp_path):
    saved, fresh = told_studies(), studies()
    Checkpoint(tmp_path / "c.json", CONTENT).save(saved)
    Checkpoint(tmp_path / "c.json", CONTENT).restore(fresh)
    assert [study.trials for study in fresh] == [study.trials for study in saved]
    assert [study.state()["pending"] for study in fresh] == [1, 1]


def test_without_a_file_nothing_happens(tmp_path):
    fresh = studies()
    Checkpoint(tmp_path / "c.json", CONTENT).restore(fresh)
    assert [study.trials for study in fresh] == [[], []]
    assert not (tmp_path / "c.json").exists()


OTHERS = {
    "base": (LinearSVC(C=3.0), *CONTENT[1:]),
    "kind of base": (LogisticRegression(C=2.0), *CONTENT[1:]),
    "metric": (CONTENT[0], FBeta(2.0), *CONTENT[2:]),
    "strategy": (*CONTENT[:2], Grid(4), CONTENT[3]),
    "kind of strategy": (*CONTENT[:2], Cone(), CONTENT[3]),
    "data": (*CONTENT[:3], np.arange(4.0) + 1e-12),
    "type of data": (*CONTENT[:3], np.arange(4.0, dtype=np.float32)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_search_is_refused_and_the_file_left_alone(tmp_path, name):
    path = tmp_path / "c.json"
    Checkpoint(path, CONTENT).save(told_studies())
    before = path.read_bytes()
    checkpoint, fresh = Checkpoint(path, OTHERS[name]), studies()
    with pytest.raises(ValueError, match=r"belongs to another search: the data, splits, .* give another checkpoint"):
        checkpoint.restore(fresh)
    assert path.read_bytes() == before
    assert fresh[0].trials == []


def good(**changes):
    record = {"fingerprint": Checkpoint("", CONTENT).fingerprint, "kept": None}
    histories = [[{**t.to_dict(), "setting": n} for t in study.trials] for n, study in enumerate(told_studies())]
    return {name: value for name, value in (record | {"studies": histories} | changes).items() if value != "missing"}


def text(*, kind="csf-checkpoint", version=4, **changes):
    """A file that is intact, whatever it says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        write_record(path, kind, version, good(**changes))
        return path.read_text()


FILES = {
    "torn": (text()[:-9], "is damaged or not a csf-checkpoint file"),
    "a study": (text(kind="csf-study"), "is not a csf-checkpoint file; it was left as it is"),
    "older": (text(version=1), "has version 1 of the csf-checkpoint format; this csf reads 4.* with the csf that"),
    "no fingerprint": (text(fingerprint="missing"), "belongs to another search"),
    "no studies": (text(studies="missing"), r"is damaged \(KeyError\('studies'\)\); it was left as it is"),
    "one study only": (text(studies=good()["studies"][:1]), "is damaged .*it was left as it is"),
    "numbers": (text(studies=[1, 2]), "is damaged .*it was left as it is"),
    "a score of 7": (text().replace('"score": 0.5', '"score": 7.0'), "its content and its checksum differ"),
    "no checksum": (json.dumps({"format": "csf-checkpoint", "version": 4} | good()), "its content and its checksum"),
    "a key twice": (text().replace("{", '{"format": "csf-checkpoint", ', 1), "a key occurs twice"),
    "a mark of order": ("\ufeff" + text(), "is damaged or not a csf-checkpoint file .*BOM"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files_are_named_and_left_alone(tmp_path, name):
    content, message = FILES[name]
    path, fresh = tmp_path / "c.json", studies()
    path.write_text(content, encoding="utf-8")
    os.utime(path, ns=(10**18, 10**18))
    checkpoint = Checkpoint(path, CONTENT)
    with pytest.raises(ValueError, match=message):
        checkpoint.restore(fresh)
    assert path.read_text(encoding="utf-8") == content
    assert path.stat().st_mtime_ns == 10**18
    assert [study.trials for study in fresh] == [[], []]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Data, a search on them, and the content of its checkpoint after two of three trials."""
    path = tmp_path_factory.mktemp("stopped") / "c.json"
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0.7).astype(int)

    def fitted(content=None, **options):
        if content is not None:
            write_record(path, "csf-checkpoint", 4, content)
        options = {"strategy": "cone", "threshold": "tune", "n_trials": 3, "cv": 2, "param_grid": None} | options
        return CostSearch(LinearSVC(loss="hinge"), **{"checkpoint": path} | options).fit(X, y)

    fitted(callbacks=[lambda study, trial: trial.number == 1])
    content = json.loads(path.read_text())
    del content["sha256"]
    return fitted, content


def test_an_intact_file_goes_on(stopped):
    fitted, content = stopped
    assert fitted(content).trials_ == fitted(content | {"kept": None}, checkpoint=None).trials_


def test_good_content_is_good(tmp_path):
    (tmp_path / "c.json").write_text(text())
    fresh = studies()
    Checkpoint(tmp_path / "c.json", CONTENT).restore(fresh)
    assert len(fresh[0].trials) == 3


# ---------------------------------------------------------------- what tells the checkpoint of one search from that


BASES, DATA = (LinearSVC(),), (np.arange(4.0),)


def opened(path, bases=BASES, data=DATA, **options):
    config = SearchConfig(base=LinearSVC(), checkpoint=path, **options)
    study = Study("f1", pos=0.2)
    return open_checkpoint(config, list(bases), data, [study]), study


@pytest.fixture
def path(tmp_path):
    """A file of a search with one pending trial."""
    path = tmp_path / "c.json"
    checkpoint, study = opened(path)
    study.ask()
    checkpoint.save([study])
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"bases": [LinearSVC(C=2.0)]},
        {"bases": [LinearSVC(), LinearSVC()]},
        {"data": (np.arange(5.0),)},
        {"metric": "f2"},
        {"constraint": "precision >= 0.5"},
        {"strategy": "grid"},
        {"threshold": "tune"},
        {"normalize": "none"},
        {"bound_on": "train"},
        {"engine": "generic"},
        {"weighting": "one-vs-rest"},
        {"sample_weight_name": "sample_weight"},
    ],
    ids=str,
)
def test_what_decides_the_trials_is_another_search(path, options):
    with pytest.raises(ValueError, match="belongs to another search"):
        opened(path, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"n_trials": 20},
        {"n_jobs": 2},
        {"time_limit": 5.0},
        {"tol": 0.1},
        {"refit": False},
        {"bound": "diagonal"},
    ],
    ids=str,
)
def test_what_does_not_goes_on_with_the_same_one(path, options):
    _, study = opened(path, **options)
    assert len(study.trials) == 1


def test_without_a_path_there_is_none():
    assert opened(None)[0] is None


# ---------------------------------------------------------------- interrupted searches: nothing that was finished is


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
@pytest.mark.slow
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


RESUMED = {
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
    "training part": {"base": LinearSVC(loss="hinge", max_iter=100_000), "bound_on": "train"},
    "batches": {"base": LinearSVC(loss="hinge", max_iter=100_000), "strategy": Cone(batch_size=3)},
}


def linear_search(name, **options):
    """Search and data of one of the bases above."""
    options = RESUMED[name] | {"n_trials": 6, "cv": 2} | options
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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "fast and generic" else name for name in RESUMED]
)
@pytest.mark.slow
def test_linear_models_resume_to_the_last_digit(tmp_path, name):
    whole, X, y = linear_search(name)
    whole.fit(X, y)
    for n_trials in (1, 6):
        path = tmp_path / f"{n_trials}.json"
        linear_search(name, checkpoint=path, callbacks=[stop_after(n_trials)])[0].fit(X, y)
        resumed = linear_search(name, checkpoint=path, n_jobs=2)[0].fit(X, y)
        assert resumed.trials_ == whole.trials_
        assert [t.duality_gap for t in resumed.trials_] == [t.duality_gap for t in whole.trials_]
        assert resumed.best_index_ == whole.best_index_
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


@pytest.mark.parametrize("name", ["hinge", "losses", "one-vs-rest costs"])
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


# ---------------------------------------------------------------- one line that says what the rest of a long search


RNG = np.random.default_rng(0)
SAMPLES = RNG.normal(size=(80, 3))
TARGET = (SAMPLES[:, 0] + RNG.normal(size=80) > 0.8).astype(int)


def ticking(*times):
    ticks = iter(times)
    return Forecast(lambda: next(ticks))


@pytest.mark.parametrize(
    ("times", "left", "is_like_first", "said"),
    [
        ((0.0, 20.0, 40.0), 3, True, [63, None]),
        ((0.0, 20.0, 40.0), 3, False, [None, 63]),
        ((0.0, 5.0, 10.0), 3, True, [None, None]),
        ((0.0, 5.0, 45.0), 3, True, [None, 123]),
        ((0.0, 500.0, 1000.0), 0, True, [None, None]),
    ],
)
def test_what_is_left_is_said_once_where_it_is_long(times, left, is_like_first, said, caplog):
    told = ticking(*times)
    for seconds in said:
        told.add_trial([1.0, 2.0], left=left, is_like_first=is_like_first)
        lines = [record.getMessage() for record in caplog.records if record.name == "csf"]
        caplog.clear()
        assert [line.startswith(f"the search takes {seconds} s more at most") for line in lines] == [True] * (
            seconds is not None
        )
        for line in lines:
            assert all(name in line for name in ("time_limit=", "n_jobs=", "n_trials=", "verbose="))


def test_a_last_training_that_is_long_is_said_too(caplog):
    ticking(0.0, 500.0).add_trial([100.0, 90.0], left=0, is_like_first=True)
    assert "takes 150 s more at most" in caplog.text


@pytest.mark.parametrize("base", [LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)])
@pytest.mark.parametrize(
    ("options", "n_lines"), [({}, 1), ({"verbose": 1}, 0), ({"time_limit": 1e6}, 0), ({"n_trials": 1}, 0)], ids=str
)
def test_searches_say_it_unless_a_bar_or_a_limit_does(base, options, n_lines, monkeypatch, caplog):
    """As if each trial took more than half a minute: what is short is any rest with trials in it."""
    monkeypatch.setattr(forecast, "_SHORT", 0.0)
    monkeypatch.setattr(forecast, "LAST", 0.0)
    with caplog.at_level(logging.WARNING, logger="csf"):
        CostSearch(base, param_grid=None, cv=2, **options).fit(SAMPLES, TARGET)
    assert sum(record.name == "csf" for record in caplog.records) == n_lines


def test_a_last_training_alone_is_no_trial(caplog):
    told = ticking(0.0, 120.0)
    told.add_trial([40.0], left=0, is_like_first=True)
    assert "s more at most: the last training; time_limit=" in caplog.text
