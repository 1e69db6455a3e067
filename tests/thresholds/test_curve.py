"""The sweep: equal to trying every rule, and honest about ties, infinities, weights and bad input."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.threshold_sweep import all_rules, f1, plug_in_threshold

from csf.metrics import METRICS, Constrained, Metric, get_constraint, get_metric
from csf.metrics.profile import ErrorProfile
from csf.thresholding import ThresholdCurve, sweep, sweep_several, threshold_curve

INF = np.inf
LARGEST = np.finfo(float).max
SCORES = st.sampled_from([-INF, -LARGEST, -2.5, -0.0, 0.0, 5e-324, 0.3, np.nextafter(0.3, 1), 1.0, LARGEST, INF])
FEW = st.integers(0, 4).map(float)
WEIGHTS = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 1.7, 1e-9])


@st.composite
def samples(draw, scores=SCORES, weights=WEIGHTS):
    """Truth, score and weights; both classes weigh something."""
    rows = draw(st.lists(st.tuples(st.booleans(), scores, weights), max_size=25))
    rows += [(True, draw(scores), 1.0), (False, draw(scores), 1.0)]
    is_pos, score, weight = zip(*draw(st.permutations(rows)), strict=True)
    return np.array(is_pos), np.array(score), np.array(weight)


# ---------------------------------------------------------------- equal to brute force


@given(samples())
@settings(max_examples=150)
def test_sweep_equals_trying_every_rule(data):
    curve = sweep(*data)
    rules, pos = all_rules(*data)
    lowest, fn, fp = (np.array(column, dtype=float) for column in zip(*rules, strict=True))
    np.testing.assert_array_equal(curve.lowest_score, lowest)
    np.testing.assert_allclose(curve.fn, fn, rtol=0, atol=5e-16)
    np.testing.assert_allclose(curve.fp, fp, rtol=0, atol=5e-16)
    assert curve.pos == pytest.approx(float(pos), rel=3e-16)


@given(samples())
@settings(max_examples=150)
def test_thresholds_make_the_cuts_they_stand_for(data):
    is_pos, score, weight = data
    curve = sweep(*data)
    assert (np.diff(curve.thresholds) < 0).all()  # so none is NaN
    np.testing.assert_array_equal(curve.cuts_at(curve.thresholds), np.arange(curve.fn.shape[0]))
    for threshold, fn, fp in zip(curve.thresholds, curve.fn, curve.fp, strict=True):
        predicted = score >= threshold
        assert weight[is_pos & ~predicted].sum() / weight.sum() == pytest.approx(fn, abs=1e-15)
        assert weight[~is_pos & predicted].sum() / weight.sum() == pytest.approx(fp, abs=1e-15)


@given(samples())
@settings(max_examples=150)
def test_ends_are_exact_and_nothing_leaves_the_box(data):
    _, score, weight = data
    curve = sweep(*data)
    assert (curve.fn[-1], curve.fp[-1], curve.thresholds[-1]) == (0.0, 1.0 - curve.pos, -INF)
    assert (np.diff(curve.fn) <= 0).all()
    assert (np.diff(curve.fp) >= 0).all()
    assert curve.fn[0] <= curve.pos
    assert curve.fp[0] >= 0.0
    if not (score[weight > 0] == INF).any():
        assert (curve.fn[0], curve.fp[0], curve.thresholds[0]) == (curve.pos, 0.0, INF)


@given(samples(scores=FEW, weights=st.just(1.0)))
@settings(max_examples=200)
def test_best_is_the_first_of_the_best_in_exact_arithmetic(data):
    is_pos, score, _ = data
    cut = sweep(is_pos, score).best("f1")
    threshold, value = plug_in_threshold(is_pos, score)
    assert cut.threshold == threshold
    assert cut.value == pytest.approx(float(value), rel=1e-15)


@given(samples(scores=FEW))
@settings(max_examples=150)
def test_best_of_weighted_samples_is_the_first_of_the_best(data):
    curve = sweep(*data)
    rules, pos = all_rules(*data)
    exact = [f1(fn, fp, pos) for _, fn, fp in rules]
    chosen = int(curve.cuts_at(curve.best("f1").threshold))
    assert exact[chosen] >= max(exact) * (1 - Fraction(4, 10**15))
    assert all(value < max(exact) for value in exact[:chosen])


# Squares of the metrics where a root would leave the rational numbers.
EXACT = {
    "gmean": lambda tpr, tnr: tpr * tnr,
    "hmean": lambda tpr, tnr: 2 * tpr * tnr / (tpr + tnr) if tpr + tnr else Fraction(0),
    "min_rate": min,
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("way", ["plain", "weighted", "several"])
@given(data=samples(scores=FEW, weights=st.sampled_from([1.0, 3.0])), wrong=st.lists(FEW, max_size=3))
@settings(max_examples=100)
def test_a_rate_of_zero_is_worth_nothing_at_every_cut(name, way, data, wrong):
    """Rates next to 0 are differences; a root would make 1e-8 of the 1e-17 that rounding leaves of them."""
    is_pos, score, weight = data
    if way == "several":
        is_pos, score = np.append(is_pos, np.ones(len(wrong), dtype=bool)), np.append(score, wrong)
        weight = np.append(weight, np.ones(len(wrong)))
        lost = np.arange(score.size) >= score.size - len(wrong)
        curve = sweep_several(is_pos, lost, score, weight)
    else:
        weight, lost = weight if way == "weighted" else np.ones(score.size), np.zeros(score.size, dtype=bool)
        curve = sweep(is_pos, score, weight if way == "weighted" else None)
    exact = []
    for lowest in curve.lowest_score:
        found = score >= lowest
        tp, fp, n_pos = (Fraction(float(weight[at].sum())) for at in (is_pos & found & ~lost, ~is_pos & found, is_pos))
        exact.append(EXACT[name](tp / n_pos, 1 - fp / Fraction(float(weight[~is_pos].sum()))))
    assert curve.cuts_at(curve.best(name).threshold) == exact.index(max(exact))
    np.testing.assert_array_equal(curve.value(name) == 0.0, [value == 0 for value in exact])
    for cut, value in enumerate(exact):
        found = (score >= curve.lowest_score[cut]) & ~lost
        profile = ErrorProfile.from_masks(is_pos, found, sample_weight=weight)
        assert (get_metric(name).of(profile) == 0.0) == (value == 0)


def test_nothing_found_has_no_precision():
    """Shares of lost samples are sums of their own; what rounding left of the others must not count as found."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        is_pos = np.append(rng.random(20) < 0.5, [True, True, False])
        lost = is_pos & (np.append(rng.random(20), [0.0, 1.0, 1.0]) < 0.5)
        curve = sweep_several(is_pos, lost, rng.normal(size=23), rng.random(23) + 0.1)
        assert curve.value("precision")[0] == 0.0
        assert curve.value("f1")[0] == 0.0


@pytest.mark.parametrize("name", METRICS)
def test_best_equals_the_maximum_over_all_rules(name):
    rng = np.random.default_rng(0)
    for _ in range(20):
        is_pos = np.append(rng.random(30) < 0.3, [True, False])
        score = rng.integers(0, 8, 32).astype(float)
        weight = rng.exponential(size=32)
        cut = sweep(is_pos, score, weight).best(name)
        metric, labels = get_metric(name), is_pos.astype(int)
        rules = [(score >= s).astype(int) for s in np.append(np.unique(score), INF)]
        values = [metric.score(labels, rule, sample_weight=weight) for rule in rules]
        assert cut.value == pytest.approx(max(values), abs=1e-14)
        applied = metric.score(labels, (score >= cut.threshold).astype(int), sample_weight=weight)
        assert applied == pytest.approx(cut.value, abs=1e-14)
        assert metric.of(cut.profile) == pytest.approx(cut.value, abs=1e-14)


# ---------------------------------------------------------------- laws


@given(samples(scores=st.floats(-5, 5)))
@settings(max_examples=60)
def test_strictly_increasing_maps_change_thresholds_only(data):
    is_pos, score, weight = data
    mapped = np.unique(score, return_inverse=True)[1].reshape(-1) * 2.0
    curve, other = sweep(is_pos, score, weight), sweep(is_pos, mapped, weight)
    np.testing.assert_array_equal(curve.fn, other.fn)
    np.testing.assert_array_equal(curve.fp, other.fp)


@given(samples())
@settings(max_examples=100)
def test_weightless_samples_do_not_exist(data):
    is_pos, score, weight = data
    kept = weight > 0
    curve, other = sweep(*data), sweep(is_pos[kept], score[kept], weight[kept])
    for name in ("lowest_score", "thresholds", "fn", "fp", "pos"):
        np.testing.assert_array_equal(getattr(curve, name), getattr(other, name))


@given(samples(weights=st.integers(0, 3).map(float)))
@settings(max_examples=60)
def test_whole_weights_are_repetitions(data):
    is_pos, score, weight = data
    times = weight.astype(int)
    repeated = sweep(np.repeat(is_pos, times), np.repeat(score, times))
    weighted = sweep(*data)
    for name in ("lowest_score", "fn", "fp", "pos"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_sums_of_many_weights_do_not_drift():
    rng = np.random.default_rng(0)
    is_pos, score = rng.random(200_000) < 0.3, rng.random(200_000)
    weighted, plain = sweep(is_pos, score, np.full(200_000, 0.1)), sweep(is_pos, score)
    np.testing.assert_allclose(weighted.fn, plain.fn, rtol=0, atol=5e-16)
    np.testing.assert_allclose(weighted.fp, plain.fp, rtol=0, atol=5e-16)


def test_equal_weights_are_no_weights_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    is_pos, score = rng.random(500) < 0.2, rng.integers(0, 100, 500) / 7
    curve = sweep(is_pos, score)
    order = rng.permutation(500)
    for other in (sweep(is_pos, score, np.ones(500)), sweep(is_pos[order], score[order])):
        np.testing.assert_array_equal(curve.fn, other.fn)
        np.testing.assert_array_equal(curve.fp, other.fp)
        np.testing.assert_array_equal(curve.thresholds, other.thresholds)


class Tilted(Metric):
    """Constant in exact arithmetic, torn apart by rounding."""

    def value(self, fn, fp, *, pos):
        return (0.1 + fn + fp) - (fn + fp)


def test_rounding_does_not_break_ties():
    rng = np.random.default_rng(0)
    curve = sweep(rng.random(200) < 0.5, rng.random(200))
    assert np.ptp(curve.value(Tilted())) > 0
    assert curve.best(Tilted()).threshold == INF


class Scaled(Metric):
    """Accuracy in another unit."""

    def __init__(self, unit):
        self.unit = unit

    def value(self, fn, fp, *, pos):
        return self.unit * (1.0 - fn - fp)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_the_unit_of_a_metric_decides_nothing(unit):
    rng = np.random.default_rng(0)
    is_pos = rng.random(200) < 0.3
    curve = sweep(is_pos, rng.normal(size=200) + is_pos)
    assert curve.best(Scaled(unit)).profile == curve.best("accuracy").profile
    assert np.isfinite(curve.best("accuracy").threshold)


@given(samples(scores=st.floats(-5, 5)))
@settings(max_examples=60)
def test_hull_is_cheapest_for_all_costs(data):
    curve = sweep(*data)
    hull = curve.lower_hull()
    assert (np.diff(hull[:, 0]) > 0).all()
    assert (np.diff(hull[:, 1]) < 0).all()
    for share in np.linspace(0, 1, 41):
        cheapest = (share * curve.fn + (1 - share) * curve.fp).min()
        assert (hull @ [share, 1 - share]).min() == pytest.approx(cheapest, abs=1e-15)


@given(samples(scores=st.floats(-5, 5)))
@settings(max_examples=60)
def test_hull_has_corners_only(data):
    hull = sweep(*data).lower_hull()
    steps = np.diff(hull, axis=0)
    turns = steps[:-1, 0] * steps[1:, 1] - steps[:-1, 1] * steps[1:, 0]
    assert (turns > 0).all()


def test_hull_of_a_straight_line_has_two_corners():
    score = np.repeat(np.arange(999.0), 2)
    hull = sweep(np.tile([True, False], 999), score).lower_hull()
    np.testing.assert_array_equal(hull, [[0.0, 0.5], [0.5, 0.0]])


def test_hull_of_perfect_scores_is_a_point():
    np.testing.assert_array_equal(sweep(np.array([False, True]), np.array([0.0, 1.0])).lower_hull(), [[0, 0]])


# ---------------------------------------------------------------- edges


def test_scores_that_hold_infinities():
    """No rule score >= threshold leaves out a score of +inf, so the first cut holds it."""
    curve = sweep(np.array([True, False, True, False]), np.array([INF, INF, 0.0, -INF]))
    np.testing.assert_array_equal(curve.lowest_score, [INF, 0.0, -INF])
    np.testing.assert_array_equal(curve.fn, [0.25, 0.0, 0.0])
    np.testing.assert_array_equal(curve.fp, [0.25, 0.25, 0.5])
    assert np.isfinite(curve.thresholds[1])
    assert curve.at(INF).fp == 0.25


def test_no_float_between_the_scores():
    upper = np.nextafter(0.3, 1)
    assert sweep(np.array([False, True]), np.array([0.3, upper])).thresholds[1] == upper
    tiny = np.array([0.0, 5e-324])
    assert sweep(np.array([False, True]), tiny).thresholds[1] == 5e-324


def test_equal_scores_have_two_cuts():
    curve = threshold_curve([0, 1, 1], [0.5, 0.5, 0.5])
    np.testing.assert_array_equal(curve.thresholds, [INF, -INF])
    assert curve.best("f1").threshold == -INF
    assert curve.best("precision").value == pytest.approx(2 / 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, bool])
def test_scores_of_other_types_are_float64(dtype):
    score = np.array([0, 1, 1, 0, 1]).astype(dtype)
    curve = threshold_curve([0, 1, 1, 0, 0], score)
    assert curve.lowest_score.dtype == np.float64
    np.testing.assert_array_equal(curve.thresholds, [INF, 0.5, -INF])


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_weighted_sweep_of_many_samples_equals_the_plain_way(scale):
    rng = np.random.default_rng(1)
    n = 20_000
    score, is_pos, weight = rng.standard_normal(n) * scale, rng.random(n) < 0.1, rng.exponential(size=n)
    curve = sweep(is_pos, score, weight)
    order = np.argsort(-score)
    tp = np.append(0.0, np.cumsum((weight * is_pos)[order]))
    fp = np.append(0.0, np.cumsum((weight * ~is_pos)[order]))
    np.testing.assert_allclose(curve.fn, (tp[-1] - tp) / weight.sum(), atol=1e-13)
    np.testing.assert_allclose(curve.fp, fp / weight.sum(), atol=1e-13)
    np.testing.assert_array_equal(curve.lowest_score[1:], score[order])


def test_large_curves_are_evaluated_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    curve = sweep(rng.random(1000) < 0.3, rng.random(1000))
    whole, best = curve.value("f1"), curve.best("f1")
    monkeypatch.setattr("csf.thresholds.curve._BLOCK", 7)
    np.testing.assert_array_equal(curve.value("f1"), whole)
    assert curve.best("f1") == best


def test_curve_is_frozen_and_survives_pickling():
    curve = threshold_curve([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ValueError, match="read-only"):
        curve.fn[0] = 0.0
    again = pickle.loads(pickle.dumps(curve))
    np.testing.assert_array_equal(again.thresholds, curve.thresholds)
    assert repr(again) == "ThresholdCurve(n_cuts=5, pos=0.5)"
    assert isinstance(again, ThresholdCurve)


def test_the_callers_arrays_stay_as_they_are():
    is_pos, score, weight = np.array([True, False]), np.array([1.0, 0.0]), np.array([1.0, 2.0])
    sweep(is_pos, score, weight)
    assert score.flags.writeable
    np.testing.assert_array_equal(score, [1.0, 0.0])
    np.testing.assert_array_equal(weight, [1.0, 2.0])


def test_frames_and_string_labels():
    y = pd.Series(["ham", "spam", "ham", "spam"])
    curve = threshold_curve(y, pd.Series([0.2, 0.9, 0.4, 0.3]), sample_weight=pd.Series([1, 2, 1, 1]), pos_label="spam")
    assert curve.pos == 0.6
    assert curve.best("f1").value == pytest.approx(6 / 7)


# ---------------------------------------------------------------- constraints


def test_best_feasible_cut():
    y, score = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    curve = threshold_curve(y, score)
    assert curve.best("recall").threshold == pytest.approx(0.25)
    cut = curve.best("recall", get_constraint("precision >= 0.9"))
    assert (cut.feasible, cut.threshold, cut.value) == (True, pytest.approx(0.45), pytest.approx(2 / 3))


def test_nothing_feasible_takes_the_smallest_violation():
    curve = threshold_curve([1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4])
    constraint = get_constraint("precision >= 0.9")
    cut = curve.best("f1", constraint)
    violation = constraint.violation(curve.fn, curve.fp, pos=curve.pos)
    assert not cut.feasible
    # precision is at most 1/2: at two and at four predicted positives; the second has the larger F1
    assert constraint.violation(cut.profile.fn, cut.profile.fp, pos=curve.pos) == violation.min()
    assert cut.threshold == -INF


class Never:
    """A constraint that nothing satisfies and that rounding tears apart."""

    def violation(self, fn, fp, *, pos):
        return (0.1 + fn + fp) - (fn + fp)


def test_equal_violations_are_decided_by_the_metric():
    rng = np.random.default_rng(0)
    curve = sweep(rng.random(200) < 0.5, rng.random(200))
    cut = curve.best("f1", Never())
    assert not cut.feasible
    assert cut.value == curve.best("f1").value


class Missing(Metric):
    """NaN where nothing is predicted positive, or everywhere."""

    def __init__(self, *, everywhere):
        self.everywhere = everywhere

    def value(self, fn, fp, *, pos):
        predicted = pos - fn + fp
        return np.where((predicted > 0) & (not self.everywhere), pos - fn, np.nan)

    def violation(self, fn, fp, *, pos):
        return np.full_like(fn, np.nan)


def test_nan_never_wins():
    curve = threshold_curve([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    assert curve.best(Missing(everywhere=False)).value == 0.5
    with pytest.raises(ValueError, match="NaN at every allowed threshold"):
        curve.best(Missing(everywhere=True))
    with pytest.raises(ValueError, match="NaN at every threshold"):
        curve.best("f1", Missing(everywhere=True))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0, 0.0])])
def test_nan_scores_are_refused(weight):
    with pytest.raises(ValueError, match="NaN"):
        sweep(np.array([True, False, True]), np.array([0.1, 0.2, np.nan]), weight)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"y_score": [0.1, np.nan, 0.3, 0.4]}, "NaN"),
        ({"y_score": [0.1, 0.2, 0.3]}, "shape"),
        ({"y_score": [[0.1, 0.9]] * 4}, "shape"),
        ({"y_score": ["a", "b", "c", "d"]}, "could not convert"),
        ({"y_true": [1, 1, 1, 1]}, "one class"),
        ({"y_true": [0, 1, 2, 1]}, "multiclass"),
        ({"y_true": [], "y_score": []}, "empty"),
        ({"y_true": ["a", "b", "a", "b"]}, "pos_label"),
        ({"pos_label": 3}, "pos_label=3"),
        ({"sample_weight": [1, 1, 1]}, "expected"),
        ({"sample_weight": [1, -1, 1, 1]}, "negative"),
        ({"sample_weight": [0, 0, 0, 0]}, "zero for every sample"),
        ({"sample_weight": [1, np.nan, 1, 1]}, "NaN"),
        ({"sample_weight": [1, 0, 1, 0]}, "no positive sample of positive weight"),
        ({"sample_weight": [0, 1, 0, 1]}, "no negative sample of positive weight"),
    ],
)
def test_bad_input(arguments, match):
    good = {"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.2, 0.3, 0.4]}
    with pytest.raises(ValueError, match=match):
        threshold_curve(**(good | arguments))


def test_bad_threshold_and_metric():
    curve = threshold_curve([0, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match="threshold must be a number"):
        curve.at(np.nan)
    with pytest.raises(ValueError, match="unknown metric"):
        curve.value("auc")


def test_the_constraint_of_a_metric_counts():
    rng, is_pos = np.random.default_rng(0), np.arange(200) < 60
    curve = sweep(is_pos, rng.normal(size=200) + is_pos)
    constraint = get_constraint("precision >= 0.8")
    assert curve.best(Constrained(get_metric("recall"), constraint)) == curve.best("recall", constraint)
    assert curve.best("recall") != curve.best("recall", constraint)
