"""First trainings start from one solution on all samples, later ones from what earlier solutions make."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.data.costs import CostChannel
from csf.data.folds import Fold, Task
from csf.solvers import HingeDescent, Rows
from csf.trainers import Prepared, Training, make_trainers
from csf.trainers.linear import Whole, light, shared_whole, starts_at

BASES = {
    "squared hinge": LinearSVC(),
    "hinge": LinearSVC(loss="hinge", max_iter=100_000),
    "logistic": LogisticRegression(),
}
X, Y = make_classification(300, 8, weights=[0.8], flip_y=0.1, random_state=0)
WIDE = np.hstack([X, np.random.default_rng(0).normal(size=(300, 600)) * 0.1])


def trainers(base, samples, prepared):
    task = Task(samples, Y)
    folds = [Fold(task, *split) for split in StratifiedKFold(3).split(samples, Y)]
    channel = CostChannel("sample_weight", "sample_weight")
    return make_trainers(base, folds, channel, "none", prepared), [
        make_trainers(base, [fold], channel, "none", Prepared())[0] for fold in folds
    ]


@pytest.mark.parametrize("samples", [X, WIDE], ids=["few features", "many features"])
@pytest.mark.parametrize("name", BASES)
def test_folds_find_what_they_find_alone(name, samples):
    together, alone = trainers(BASES[name], samples, Prepared())
    for ours, own in zip(together, alone):
        found, expected = ours.fit((1.5, 0.5)), own.fit((1.5, 0.5))
        ours_value, own_value = found.model.objective, expected.model.objective
        assert abs(ours_value - own_value) <= found.model.gap + expected.model.gap + 1e-9 * own_value
        assert found.gap <= 5.1e-3


@pytest.mark.parametrize("samples", [X, WIDE], ids=["few features", "many features"])
@pytest.mark.parametrize("name", BASES)
def test_the_order_of_folds_changes_nothing(name, samples):
    forwards, _ = trainers(BASES[name], samples, Prepared())
    backwards, _ = trainers(BASES[name], samples, Prepared())
    first = [trainer.fit((1.5, 0.5)).model.w for trainer in forwards]
    second = [trainer.fit((1.5, 0.5)).model.w for trainer in backwards[::-1]][::-1]
    np.testing.assert_array_equal(first, second)


def test_it_is_made_before_trainings_run_side_by_side():
    (trainer, *_), _ = trainers(LinearSVC(), X, Prepared())
    trainer.prepare(["a state to start from"])
    assert trainer._whole._state is None
    trainer.prepare(())
    assert trainer._whole._state is not None


def test_it_is_made_once_and_travels():
    calls = []

    def make():
        calls.append(1)
        return SimpleNamespace(fit=lambda costs, starts: Training(None, (costs, len(calls))))

    whole = Whole(make)
    assert whole.state() == whole.state() == ((1.0, 1.0), 1)
    assert calls == [1]
    again = Whole(_Maker())
    again.state()
    assert pickle.loads(pickle.dumps(again)).state() == "state"


class _Maker:
    def __call__(self):
        return SimpleNamespace(fit=lambda costs, starts: Training(None, "state"))


def test_the_last_training_shares_it_and_other_tasks_do_not():
    task, other, prepared = Task(X, Y), Task(X, 1 - Y), Prepared()
    fold, another = (Fold(each, np.arange(300), np.arange(300)) for each in (task, other))
    assert shared_whole("a", _Maker(), [fold], prepared) is None
    whole = shared_whole("a", _Maker(), [fold, fold], prepared)
    assert shared_whole("a", _Maker(), [fold], prepared) is whole
    assert shared_whole("b", _Maker(), [fold], prepared) is None
    assert shared_whole("a", _Maker(), [another], prepared) is None


@pytest.mark.parametrize("name", BASES)
def test_threads_change_nothing(name):
    alone, pair = (CostSearch(BASES[name], n_trials=4, cv=3, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    assert alone.trials_ == pair.trials_
    np.testing.assert_array_equal(alone.best_estimator_.coef_, pair.best_estimator_.coef_)


@pytest.mark.parametrize("name", BASES)
def test_other_settings_start_from_the_first_one(name):
    """What they find is as good."""
    prepared, task = Prepared(), Task(X, Y)
    folds = [Fold(task, *split) for split in StratifiedKFold(3).split(X, Y)]
    channel = CostChannel("sample_weight", "sample_weight")
    bases = [clone(BASES[name]).set_params(C=C) for C in (1.0, 4.0)]
    _, later = (make_trainers(base, folds, channel, "none", prepared)[0] for base in bases)
    found = later._whole.state()[1]
    everything = Fold(task, np.arange(300), np.arange(300))
    alone = make_trainers(bases[1], [everything], channel, "none", Prepared())[0].fit((1.0, 1.0)).model
    assert abs(found.objective - alone.objective) <= found.gap + alone.gap + 1e-9 * alone.objective


# ---------------------------------------------------------------- starts that earlier solutions make


def path(seed=0, n=150, d=600):
    """A hinge problem of many features, and a function that solves it for the weights of both classes."""
    rng = np.random.default_rng(seed)
    X, sign = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.05), np.where(np.arange(n) < 30, 1.0, -1.0)
    solver = HingeDescent(Rows(X), sign)

    def solve(t, tol=1e-8, starts=()):
        weight = np.where(sign > 0, 2.0 - t, t) * 0.1
        return solver.solve(weight, tol=tol, starts=starts, max_iter=20_000)

    return solve


def known(solve, t):
    return np.log([2.0 - t, t]), light(solve(t))


@pytest.mark.parametrize("t", [0.55, 0.5, 0.42])
def test_dual_variables_move_along_with_the_weights(t):
    """The path of an SVM is piecewise linear in the weights: between two solutions the third is near the line."""
    solve = path()
    right = solve(t).dual
    starts = [known(solve, 0.5), known(solve, 0.6)]
    (found,) = starts_at(starts, np.log([2.0 - t, t]))
    nearest = np.linalg.norm(starts[0][1].dual - right)
    assert np.linalg.norm(found.dual - right) <= 0.6 * nearest + 1e-6
    assert solve(t, starts=[found]).relative_gap <= 1e-8


def test_a_start_between_two_solutions_saves_passes():
    """Of single problems the order of the passes decides: all of them together take a quarter less."""
    passes = np.zeros(2)
    for seed in range(4):
        solve = path(seed)
        (found,) = starts_at([known(solve, 0.5), known(solve, 0.6)], np.log([1.45, 0.55]))
        passes += [solve(0.55, starts=given).n_iter for given in ([found], [])]
    assert passes[0] <= 0.9 * passes[1]


def test_one_solution_is_its_own_start():
    solve = path()
    start = known(solve, 0.5)
    assert starts_at([start], np.log([1.4, 0.6])) == [start[1]]


def test_far_beyond_both_the_line_ends():
    solve = path()
    starts = [known(solve, 0.5), known(solve, 0.55)]
    (found,) = starts_at(starts, np.log([1.9, 0.1]))
    near, far = (solution.dual for _, solution in starts)
    np.testing.assert_allclose(found.dual, 2.0 * near - far)
