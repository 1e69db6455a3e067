"""The sweep: equal to trying every rule, and honest about ties, infinities, weights and bad input."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.null_class import all_offsets, f_beta, predictions
from oracles.threshold_sweep import all_rules, f1, plug_in_threshold

from csf.data.responses import compare
from csf.metrics import METRICS, Constrained, FBeta, Jaccard, LinearFractional, Metric, get_constraint, get_metric
from csf.metrics.profile import ErrorProfile, hull_cuts
from csf.thresholding import ThresholdCurve, cost_threshold, probability_curve, sweep, sweep_several, threshold_curve
from csf.thresholding import _kernels as kernels

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
        return np.where(fn + fp > 0.0, (0.1 + fn + fp) - (fn + fp), 0.1 + 1e-15)


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


def test_large_curves_are_evaluated_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    curve = sweep(rng.random(1000) < 0.3, rng.random(1000))
    whole, best = curve.value("f1"), curve.best("f1")
    monkeypatch.setattr("csf.thresholding.curve._BLOCK", 7)
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
        return np.where(fn + fp > 0.0, (0.1 + fn + fp) - (fn + fp), 0.1 + 1e-15)


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
        ({"y_score": ["a", "b", "c", "d"]}, "got texts"),
        ({"y_true": ["a", "b", "a", "b"]}, "pos_label"),
        ({"sample_weight": [1, 1, 1]}, "expected"),
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


# ---------------------------------------------------------------- several classes beside a null class


CLASSES = ["a", "b", "none", "z"]


@st.composite
def problems(draw, n_classes=4):
    """Labels, scores with many ties, and weights, with weight in the null class and in another."""
    size = draw(st.integers(2, 14))
    labels = st.lists(st.integers(0, n_classes - 1), min_size=size, max_size=size)
    row = st.lists(st.integers(-2, 2), min_size=n_classes, max_size=n_classes)
    y = np.array(draw(labels))
    y[:2] = 2, 1
    scores = np.array(draw(st.lists(row, min_size=size, max_size=size)), dtype=float)
    weight = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=size, max_size=size)))
    weight[:2] = 1.0
    return y, scores, draw(st.sampled_from([None, weight]))


@given(problems(), st.sampled_from([1, 2, 0.5]))
def test_every_cut_is_a_literal_offset(problem, beta):
    y, scores, weight = problem
    names, metric = np.array(CLASSES), FBeta(beta)
    score, best = compare(scores, 2, probabilities=False)
    curve = sweep_several(y != 2, (y != 2) & (best != y), score, weight)
    weights = [1.0] * y.size if weight is None else weight
    found = 0.0
    for offset in all_offsets(scores.tolist(), CLASSES, "none"):
        predicted = predictions(scores.tolist(), CLASSES, "none", offset)
        value = float(f_beta(names[y].tolist(), predicted, "none", beta, weights))
        assert metric.of(curve.at(offset)) == pytest.approx(value, abs=1e-12)
        profile = ErrorProfile.from_classes(names[y], predicted, null_class="none", sample_weight=weight)
        for name in ("fn", "fp", "pos"):
            assert getattr(curve.at(offset), name) == pytest.approx(getattr(profile, name), abs=1e-12)
        found = max(found, value)
    cut = curve.best(metric)
    assert cut.value == pytest.approx(found, abs=1e-12)
    chosen = predictions(scores.tolist(), CLASSES, "none", cut.threshold)
    assert float(f_beta(names[y].tolist(), chosen, "none", beta, weights)) == pytest.approx(found, abs=1e-12)


@given(problems())
def test_without_lost_samples_it_is_the_plain_sweep(problem):
    """So two classes, of which none can be taken for a third, give the very same numbers."""
    y, scores, weight = problem
    first, second = (
        sweep_several(y != 2, np.zeros(y.size, bool), scores[:, 0], weight),
        sweep(y != 2, scores[:, 0], weight),
    )
    for name in ("lowest_score", "fn", "fp"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert first.pos == second.pos


def test_all_are_lost():
    is_pos = np.array([True, False, True])
    curve = sweep_several(is_pos, is_pos, np.array([1.0, 0.0, 2.0]))
    assert curve.fn.tolist() == pytest.approx([2 / 3] * curve.fn.size)
    assert curve.best("f1").value == 0.0
    assert curve.best("f1").profile.fn == pytest.approx(2 / 3)


def test_scores_of_lost_samples_are_no_cuts():
    curve = sweep_several(np.array([False, True, True]), np.array([False, True, False]), np.array([0.0, 5.0, 1.0]))
    assert curve.lowest_score.tolist() == [np.inf, 1.0, 0.0]


def test_lost_samples_stay_lost_where_everything_is_found():
    """Scores of -inf as well: the rule that finds something everywhere has them."""
    score = np.array([-np.inf, -np.inf, -np.inf])
    curve = sweep_several(np.array([False, True, True]), np.array([False, True, False]), score)
    assert (curve.at(-np.inf).fn, curve.at(-np.inf).fp) == pytest.approx((1 / 3, 1 / 3))


@pytest.mark.parametrize("n_lost", [1, 4])
def test_where_everything_is_found_no_negative_is_left_however_sums_are_rounded(n_lost):
    for n_pos in range(1, 10):
        for n_neg in range(1, 10):
            size = n_lost + n_pos + n_neg
            curve = sweep_several(np.arange(size) < n_lost + n_pos, np.arange(size) < n_lost, np.arange(size) * 1.0)
            assert curve.fp[-1] == 1.0 - curve.pos


# ---------------------------------------------------------------- thresholds from costs, and curves of probabilities


LEVELS = st.floats(0.01, 0.99)


@given(LEVELS, st.floats(0.1, 5), st.floats(0.01, 0.99))
def test_published_thresholds(level, beta, pos):
    threshold = cost_threshold(*FBeta(beta).cost_weights(level, pos=pos))
    assert threshold == pytest.approx(level / (1 + beta**2))
    assert cost_threshold(*Jaccard().cost_weights(level, pos=pos)) == pytest.approx(level / (1 + level))


@given(st.floats(0.01, 5), st.floats(0.01, 5))
def test_no_cut_is_cheaper_when_the_probabilities_are_right(c_fn, c_fp):
    curve = probability_curve(np.random.default_rng(0).beta(0.7, 2.0, 200).round(2))
    chosen = curve.at(cost_threshold(c_fn, c_fp))
    assert c_fn * chosen.fn + c_fp * chosen.fp <= (c_fn * curve.fn + c_fp * curve.fp).min() + 1e-12


LEVELLED = [name for name in METRICS if isinstance(get_metric(name), LinearFractional)]


@pytest.mark.parametrize("name", [name for name in LEVELLED if name not in ("precision", "recall", "specificity")])
def test_the_best_value_is_a_fixed_point(name):
    """With expected counts the threshold of the best level makes the best cut."""
    curve, metric = probability_curve(np.random.default_rng(1).random(300)), get_metric(name)
    best = curve.best(metric).value
    threshold = cost_threshold(*metric.cost_weights(best, pos=curve.pos))
    assert metric.of(curve.at(threshold)) == pytest.approx(best, abs=1e-12)


def test_hard_targets_are_labels():
    rng = np.random.default_rng(0)
    proba, weight = rng.random(50), rng.exponential(size=50)
    is_pos = rng.random(50) < proba
    curve, other = probability_curve(proba, is_pos, sample_weight=weight), sweep(is_pos, proba, weight)
    np.testing.assert_allclose(curve.fn, other.fn, atol=1e-15)
    np.testing.assert_array_equal(curve.thresholds, other.thresholds)


# Classes that leave no digits of a rate are refused.
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30).filter(lambda p: 1e-12 < sum(p) < len(p) - 1e-8))
def test_expected_counts(proba):
    proba = np.array(proba)
    curve = probability_curve(proba)
    for threshold, fn, fp in zip(curve.thresholds, curve.fn, curve.fp, strict=True):
        assert fn == pytest.approx(proba[proba < threshold].sum() / proba.size, abs=1e-14)
        assert fp == pytest.approx((1 - proba)[proba >= threshold].sum() / proba.size, abs=1e-14)


@pytest.mark.parametrize("costs", [(-1.0, 1.0), (1.0, -1.0), (0.0, 0.0), (np.nan, 1.0), (np.inf, 1.0)])
def test_costs_out_of_range(costs):
    with pytest.raises(ValueError, match="costs must be >= 0"):
        cost_threshold(*costs)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"proba": [0.5, 1.5]}, "proba must hold probabilities"),
        ({"proba": [0.5, np.nan]}, "proba must hold probabilities"),
        ({"proba": []}, "shape"),
        ({"proba": [[0.5], [0.5]]}, "shape"),
        ({"target": [0.5]}, "target must have shape"),
        ({"target": [1, 2]}, "target must hold probabilities"),
        ({"target": [1, 1]}, "negative class weighs nothing"),
        ({"target": [0, 0]}, "positive class weighs nothing"),
        ({"sample_weight": [-1, 1]}, "negative"),
    ],
)
def test_bad_probabilities(arguments, match):
    with pytest.raises(ValueError, match=match):
        probability_curve(**({"proba": [0.2, 0.6]} | arguments))


@pytest.mark.parametrize("cost", ["1", None, [1.0], len])
def test_costs_are_numbers(cost):
    with pytest.raises(TypeError, match="c_fn must be a number >= 0, got"):
        cost_threshold(cost, 1.0)
    with pytest.raises(TypeError, match="c_fp must be a number >= 0, got"):
        cost_threshold(1.0, cost)


def test_probabilities_are_real_numbers():
    with pytest.raises(TypeError, match="proba must be an array of real numbers, got complex ones"):
        probability_curve(np.array([0.2, 0.8], dtype=complex))
    with pytest.raises(ValueError, match="target must be an array of numbers"):
        probability_curve([0.2, 0.8], ["a", "b"])


# ---------------------------------------------------------------- compiled loops do what their Python source does


def run(kernel, arguments, python):
    """Result of a kernel and its arrays afterwards; they are written in place."""
    arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result = (kernel.py_func if python else kernel.dispatcher())(*arguments)
    return result, [a for a in arguments if isinstance(a, np.ndarray)]


def cases():
    rng = np.random.default_rng(0)
    n = 60
    score = np.sort(rng.choice([-np.inf, -1.0, -0.0, 0.0, 0.3, np.nextafter(0.3, 1), np.inf], n))[::-1].copy()
    is_pos, weight = rng.random(n) < 0.4, rng.choice([0.1, 0.7], n)
    out = [np.zeros(n + 1) for _ in range(3)]
    yield kernels.merge_cuts, (score[is_pos], None, score[~is_pos], None, *out)
    yield kernels.merge_cuts, (score[is_pos], weight[is_pos], score[~is_pos], weight[~is_pos], *out)
    yield hull_cuts, (np.linspace(0.4, 0, 12) ** 2, np.linspace(0, 0.6, 12))


@pytest.mark.parametrize(("kernel", "arguments"), list(cases()))
def test_compiled_equals_python(kernel, arguments):
    (compiled, arrays), (python, expected) = run(kernel, arguments, False), run(kernel, arguments, True)
    np.testing.assert_array_equal(compiled, python)
    for array, other in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array, other)
