"""The loop of a search: which trainings run together, what they start from, what ends it."""

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning

from csf import Study
from csf.data.folds import Task, make_folds
from csf.data.responses import Response
from csf.metrics import FBeta
from csf.search.loop import SearchLoop
from csf.search.training import ThresholdJudge
from csf.search.workers import LocalTrainer
from csf.strategies import Cone
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
    trainer = LocalTrainer(ThresholdJudge(FBeta(), tune=True), trainers, FOLDS, n_jobs=n_jobs)
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
    waves = []
    original = SearchLoop._run_wave
    monkeypatch.setattr(
        SearchLoop, "_run_wave", lambda self, batch, *rest: waves.append(len(batch)) or original(self, batch, *rest)
    )
    runner, log = runner_of([None, None], strategy=Cone(batch_size=3), n_trials=6)
    runner.run()
    assert all(starts == () for _, _, starts in log)
    assert waves == [6, 6]  # three of each setting
    waves.clear()
    runner, _ = runner_of(["a", "a"], strategy=Cone(batch_size=3), n_trials=6)
    runner.run()
    assert set(waves) == {1}


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
