"""The choice among trials: gains that could be luck do not win."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.errors.profile import ErrorProfile
from csf.metrics import Constrained, get_constraint, get_metric
from csf.search.gain_rule import GainRule, gain_error


def literal_error(metric, is_pos, decided, reference, weight, n_bootstrap, seed):
    """Oracle: every sample is drawn for itself."""
    rng, metric, gains = np.random.default_rng(seed), get_metric(metric), []
    for _ in range(n_bootstrap):
        drawn = rng.poisson(1.0, size=is_pos.size) * weight
        values = [metric.of(ErrorProfile.from_masks(is_pos, d, sample_weight=drawn)) for d in (decided, reference)]
        gains.append(values[0] - values[1])
    return np.std(gains, ddof=1)


def problem(seed, n=400):
    rng = np.random.default_rng(seed)
    is_pos = rng.random(n) < 0.15
    decided, reference = is_pos ^ (rng.random(n) < 0.1), is_pos ^ (rng.random(n) < 0.13)
    return is_pos, decided, reference, rng


@pytest.mark.parametrize("metric", ["f1", "gmean", "jaccard"])
@pytest.mark.parametrize("weighted", [False, True])
def test_error_equals_that_of_single_draws(metric, weighted):
    is_pos, decided, reference, rng = problem(0)
    weight = rng.integers(1, 4, is_pos.size) + rng.random(is_pos.size).round(1) if weighted else np.ones(is_pos.size)
    found = gain_error(metric, is_pos, decided, reference, weight if weighted else None, n_bootstrap=4000)
    expected = literal_error(metric, is_pos, decided, reference, weight, 4000, 1)
    assert found == pytest.approx(expected, rel=0.05)


def test_error_of_the_accuracy_is_the_textbook_one():
    is_pos, decided, reference, _ = problem(1, n=2000)
    gain = (decided == is_pos).astype(float) - (reference == is_pos)
    found = gain_error("accuracy", is_pos, decided, reference, n_bootstrap=4000)
    assert found == pytest.approx(gain.std() / np.sqrt(is_pos.size), rel=0.05)


def test_entries_of_one_sample_are_drawn_together():
    """Three equal repeats of a cross-validation know no more than one."""
    is_pos, decided, reference, _ = problem(4)
    samples = np.tile(np.arange(is_pos.size), 3)
    tripled = [np.tile(part, 3) for part in (is_pos, decided, reference)]
    once = gain_error("f1", is_pos, decided, reference, n_bootstrap=3000)
    assert gain_error("f1", *tripled, samples=samples, n_bootstrap=3000) == pytest.approx(once, rel=1e-9)
    assert gain_error("f1", *tripled, n_bootstrap=3000) == pytest.approx(once / np.sqrt(3), rel=0.1)
    weight = np.random.default_rng(0).random(is_pos.size)
    once = gain_error("f1", is_pos, decided, reference, weight, n_bootstrap=100)
    again = gain_error("f1", *tripled, np.tile(weight, 3), samples=samples, n_bootstrap=100)
    assert again == pytest.approx(once, rel=1e-9)


def test_rule_passes_samples_on():
    is_pos = np.arange(400) < 40
    neutral, better = np.arange(400) < 20, np.arange(400) < 23
    tripled = [np.tile(part, 3) for part in (is_pos, neutral, better)]
    errors = []
    for samples in (None, np.tile(np.arange(400), 3)):
        told = GainRule("f1", tripled[0], samples=samples)
        told.add("n", tripled[1], neutral=True)
        told.add("b", tripled[2], neutral=False)
        errors.append(told.choose().error)
    assert errors[1] > 1.5 * errors[0]


def test_equal_decisions_differ_by_nothing():
    is_pos, decided, _, _ = problem(2)
    assert gain_error("f1", is_pos, decided, decided) == 0.0


def test_blocks_do_not_change_the_draws(monkeypatch):
    is_pos, decided, reference, rng = problem(3)
    weight = rng.random(is_pos.size)
    whole = gain_error("f1", is_pos, decided, reference, weight, n_bootstrap=50)
    monkeypatch.setattr("csf.search.gain_rule._BLOCK", 7 * is_pos.size)
    assert gain_error("f1", is_pos, decided, reference, weight, n_bootstrap=50) == pytest.approx(whole, rel=1e-12)


def test_nothing_is_known_where_no_draw_holds_both_classes():
    is_pos = np.array([True, False])
    assert gain_error("f1", is_pos, is_pos, ~is_pos, sample_weight=np.array([1.0, 0.0])) == np.inf


def rule(is_pos, candidates, **options):
    """Rule that was told ``{key: (decided, neutral)}``."""
    rule = GainRule(options.pop("metric", "f1"), is_pos, **options)
    for key, (decided, neutral) in candidates.items():
        rule.add(key, decided, neutral=neutral)
    return rule


def test_small_gain_loses_and_large_gain_wins():
    is_pos = np.arange(400) < 40
    neutral, one_more, many_more = np.arange(400) < 20, np.arange(400) < 21, np.arange(400) < 35
    choice = rule(is_pos, {"n": (neutral, True), "c": (one_more, False)}, min_gain=2.0).choose()
    assert (choice.key, choice.best) == ("n", "c")
    assert 0 < choice.gain < 2 * choice.error
    choice = rule(is_pos, {"n": (neutral, True), "c": (many_more, False)}, min_gain=2.0).choose()
    assert (choice.key, choice.best) == ("c", "c")
    assert choice.gain > 2 * choice.error > 0


def test_zero_gain_asked_for_means_the_best_and_a_tie_the_neutral_one():
    is_pos = np.arange(100) < 10
    neutral, better = np.arange(100) < 5, np.arange(100) < 6
    assert rule(is_pos, {0: (neutral, True), 1: (better, False)}, min_gain=0.0).choose().key == 1
    assert rule(is_pos, {0: (better, False), 1: (better.copy(), True)}, min_gain=0.0).choose().key == 1


def test_the_best_neutral_candidate_is_the_one_to_beat():
    is_pos = np.arange(100) < 10
    candidates = {0: (np.arange(100) < 5, True), 1: (is_pos, True), 2: (np.arange(100) < 8, False)}
    choice = rule(is_pos, candidates).choose()
    assert (choice.key, choice.gain) == (1, 0.0)


def test_without_neutral_candidates_the_best_wins():
    is_pos = np.arange(100) < 10
    choice = rule(is_pos, {0: (np.arange(100) < 5, False), 1: (np.arange(100) < 6, False)}).choose()
    assert choice.key == 1
    assert np.isnan(choice.gain)


def test_constraint_comes_first():
    is_pos = np.arange(100) < 10
    metric = Constrained(get_metric("recall"), get_constraint("precision >= 0.8"))
    everything, careful = np.ones(100, dtype=bool), np.arange(100) < 2
    assert rule(is_pos, {0: (everything, True), 1: (careful, False)}, metric=metric).choose().key == 1
    assert rule(is_pos, {0: (careful, True), 1: (everything, False)}, metric=metric).choose().key == 0


@given(order=st.permutations(range(5)), seed=st.integers(0, 20))
def test_order_matters_for_equals_only(order, seed):
    rng = np.random.default_rng(seed)
    is_pos = np.arange(60) < 12
    candidates = [(is_pos ^ (rng.random(60) < share), share < 0.15) for share in (0.05, 0.1, 0.2, 0.25, 0.3)]
    values = [get_metric("f1").of(ErrorProfile.from_masks(is_pos, decided)) for decided, _ in candidates]
    if len(set(values)) < 5:
        return
    first = rule(is_pos, dict(enumerate(candidates))).choose()
    assert rule(is_pos, {at: candidates[at] for at in order}).choose() == first


def test_only_two_candidates_are_kept():
    is_pos = np.arange(50) < 10
    told = rule(is_pos, {at: (np.arange(50) < at, at % 2 == 0) for at in range(1, 40)})
    held = [part.decided for part in vars(told).values() if hasattr(part, "decided")]
    assert len(held) == 2


def test_rule_without_candidates_is_refused():
    with pytest.raises(ValueError, match="no candidate to choose"):
        GainRule("f1", np.array([True, False])).choose()


def test_wrong_number_of_decisions_is_refused():
    with pytest.raises(ValueError, match=r"must have shape \(2,\) like is_pos, got \(3,\)"):
        GainRule("f1", np.array([True, False])).add(0, [True, False, True], neutral=True)


@pytest.mark.parametrize("min_gain", [-0.1, np.nan, np.inf])
def test_gain_that_makes_no_sense_is_refused(min_gain):
    with pytest.raises(ValueError, match="standard errors >= 0"):
        GainRule("f1", np.array([True, False]), min_gain=min_gain)


@pytest.mark.parametrize(("name", "value"), [("n_bootstrap", "many"), ("random_state", 0.5)])
def test_the_bootstrap_is_checked(name, value):
    is_pos = np.arange(20) < 4
    with pytest.raises(TypeError, match=f"{name} must be"):
        gain_error("f1", is_pos, is_pos, ~is_pos, **{name: value})


@pytest.mark.parametrize("min_gain", ["0.5", None, 1j])
def test_the_gain_asked_for_is_a_number(min_gain):
    with pytest.raises(ValueError, match="min_gain must be a number of standard errors >= 0, got"):
        GainRule("f1", np.arange(20) < 4, min_gain=min_gain)
