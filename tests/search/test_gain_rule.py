"""The choice among trials: gains that could be luck do not win."""

import numpy as np
import pytest
from builders import told

from csf.evaluate import Chooser, ScoreStore
from csf.metrics import Constrained, get_constraint, get_metric
from csf.search.selection import GainRule, choose
from csf.thresholding import sweep


def store_of(n_others, seed=0, *, n_samples=500, pos=0.15, shared=0.5, better=0.0, equal_costs=True):
    """Scores of equal costs (number 0) and of others that are ``better`` by so many standard deviations."""
    rng = np.random.default_rng([seed, n_others])
    is_pos = np.arange(n_samples) < pos * n_samples
    common, store = rng.normal(size=n_samples), ScoreStore(is_pos)
    for number in range(1 + n_others):
        score = np.sqrt(shared) * common + np.sqrt(1.0 - shared) * rng.normal(size=n_samples)
        score += (1.5 + better * (number > 0)) * is_pos
        best = sweep(is_pos, score).best("f1")
        equal = equal_costs and number == 0
        store.add((0, number), score=score, threshold=best.threshold, value=best.value, equal_costs=equal)
    return store


@pytest.mark.parametrize("n_others", [1, 11, 66])
def test_equal_costs_are_kept_where_nothing_is_better(n_others):
    kept = [GainRule(n_draws=100).choose(store_of(n_others, seed), "f1").key == (0, 0) for seed in range(30)]
    assert np.mean(kept) >= 0.8


def test_what_is_better_wins():
    won = [GainRule(n_draws=100).choose(store_of(5, seed, better=0.7), "f1").key != (0, 0) for seed in range(20)]
    assert np.mean(won) >= 0.9


def test_luck_grows_with_the_number_of_trials():
    few, many = (np.mean([GainRule(n_draws=50).choose(store_of(k, s), "f1").luck for s in range(5)]) for k in (2, 40))
    assert many > 1.5 * few


def test_a_larger_demand_keeps_equal_costs_longer():
    store = store_of(5, better=0.25)
    choice = GainRule(0.0).choose(store, "f1")
    assert choice.gain == pytest.approx(max(row.value for row in store) - store[0, 0].value)
    needed = (choice.gain - choice.luck) / choice.error
    assert needed > 0.0
    assert GainRule(needed - 0.01).choose(store, "f1").key == choice.best
    assert GainRule(needed + 0.01).choose(store, "f1").key == (0, 0)
    assert GainRule(1e9).choose(store, "f1").key == (0, 0)


def test_equal_costs_that_are_best_need_nothing():
    choice = GainRule().choose(store_of(3, better=-1.0), "f1")
    assert choice.key == choice.best == (0, 0)
    assert np.isnan([choice.luck, choice.error]).all()


def test_without_equal_costs_the_best_wins():
    store = store_of(3, equal_costs=False)
    choice = GainRule(5.0).choose(store, "f1")
    assert choice.key == min(store, key=lambda row: row.rank).key
    assert np.isnan(choice.gain)


def test_a_constraint_comes_first():
    is_pos = np.arange(40) < 10
    aim = Constrained(get_metric("recall"), get_constraint("precision >= 0.5"))
    store = ScoreStore(is_pos)
    store.add((0, 0), decided=np.ones(40, dtype=bool), value=1.0, violation=0.25, equal_costs=True)
    store.add((0, 1), decided=np.arange(40) < 5, value=0.5)
    choice = GainRule(100.0).choose(store, aim)
    assert choice.key == (0, 1)
    assert choice.gain == pytest.approx(-0.5)


def test_nothing_convinces_where_nothing_is_known():
    """One positive: hardly a draw of the samples tells anything."""
    is_pos = np.arange(8) < 1
    store = ScoreStore(is_pos)
    store.add((0, 0), decided=np.arange(8) < 4, value=0.4, equal_costs=True)
    store.add((0, 1), decided=np.arange(8) < 1, value=1.0)
    assert GainRule(1e9).choose(store, "f1").key == (0, 0)


def test_without_held_out_scores_the_best_trial_wins_whatever_is_asked_for():
    equal, better = told(0, None, 0.3, 0.2, pos=0.2, costs=(1.0, 1.0)), told(1, 0.5, 0.2, 0.2, pos=0.2)
    won = choose([equal, better], get_metric("f1"), chooser=Chooser(None, 1e9))
    assert (won.trial, won.score, won.gain) == (better, better.score, None)


def test_rule_without_trials_is_refused():
    with pytest.raises(ValueError, match="there is no trial to choose"):
        GainRule().choose(ScoreStore(np.array([True, False])), "f1")


@pytest.mark.parametrize("value", [-0.1, np.inf, np.nan, "half"])
def test_bad_gains_are_named(value):
    with pytest.raises(ValueError, match="min_gain must be a number of standard errors >= 0, got"):
        GainRule(value)


@pytest.mark.slow
@pytest.mark.parametrize("n_others", [1, 11, 66])
@pytest.mark.parametrize(("n_samples", "pos", "shared"), [(300, 0.1, 0.8), (1000, 0.2, 0.5), (1000, 0.05, 0.95)])
def test_the_protection_does_not_fade(n_others, n_samples, pos, shared):
    stores = (store_of(n_others, seed, n_samples=n_samples, pos=pos, shared=shared) for seed in range(100))
    assert np.mean([GainRule().choose(store, "f1").key == (0, 0) for store in stores]) >= 0.8
