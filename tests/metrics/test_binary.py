"""Metrics of two classes: formulas, costs, and what is refused."""

import pickle

import numpy as np
import pytest
from builders import betas, exact_learner, predictions, random_profiles, rates, run, shares
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, fbeta_score

from csf import ErrorProfile, Study
from csf.bounds import SupportLineBound
from csf.metrics import (
    MCC,
    CohenKappa,
    CustomMetric,
    FBeta,
    FowlkesMallows,
    GowerLegendre,
    Informedness,
    Jaccard,
    Tversky,
    WeightedAccuracy,
    get_metric,
)
from csf.testing import check_metric


@given(case=predictions(), beta=betas)
def test_it_is_that_of_scikit_learn(case, beta):
    y_true, y_pred, weight = case
    expected = fbeta_score(y_true, y_pred, beta=beta, sample_weight=weight, zero_division=0.0)
    assert FBeta(beta).score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


@given(beta=betas, pos=shares, t=st.floats(0.0, 1.0))
def test_cost_weights_have_the_published_form(beta, pos, t):
    assert FBeta(beta).cost_weights(t, pos=pos) == pytest.approx((1 + beta**2 - t, t), rel=1e-12)
    assert FBeta(beta).offset(t, pos=pos) == pytest.approx((t - 1) * (1 + beta**2) * pos, rel=1e-12, abs=1e-15)
    assert Jaccard().cost_weights(t, pos=pos) == (1.0, t)


def test_extreme_betas_are_precision_and_recall():
    y_true, y_pred = [1, 1, 1, 0, 0], [1, 0, 0, 1, 0]
    assert FBeta(1e-9).score(y_true, y_pred) == pytest.approx(1 / 2)
    assert FBeta(1e9).score(y_true, y_pred) == pytest.approx(1 / 3)
    assert FBeta(1e-9).value(0.2, 0.0, pos=0.2) == 0.0


def test_objects_are_values():
    assert FBeta(2) == FBeta(2.0)
    assert hash(FBeta(2)) == hash(FBeta(2.0))
    assert pickle.loads(pickle.dumps(FBeta(0.5))) == FBeta(0.5)
    assert [FBeta(beta).name for beta in (1, 2.0, 0.5)] == ["f1", "f2", "f0.5"]
    assert Tversky(0.7, 0.3).name == "tversky(0.7, 0.3)"
    assert (WeightedAccuracy().name, WeightedAccuracy(3, 1).name) == ("accuracy", "accuracy(3, 1)")


cost, positive = st.floats(0.0, 10.0), st.floats(0.01, 100.0)


@given(case=predictions(), alpha=cost, beta=cost)
def test_it_is_the_ratio_of_counts(case, alpha, beta):
    y_true, y_pred, weight = case
    e = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight)
    total = e.tp + alpha * e.fn + beta * e.fp
    expected = e.tp / total if total > 0 else 0.0
    assert Tversky(alpha, beta).score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


def test_without_costs_and_true_positives_it_is_zero():
    assert Tversky(0.0, 0.0).value(0.3, 0.1, pos=0.3) == 0.0
    assert Tversky(0.0, 1.0).value(0.3, 0.0, pos=0.3) == 0.0
    assert Tversky(0.0, 0.0).value(0.1, 0.1, pos=0.3) == 1.0


@given(case=predictions(), sigma=positive)
def test_it_grows_with_accuracy_alone(case, sigma):
    y_true, y_pred, weight = case
    accuracy = accuracy_score(y_true, y_pred, sample_weight=weight)
    expected = accuracy / (accuracy + sigma * (1 - accuracy))
    assert GowerLegendre(sigma).score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


@given(w_fn=positive, w_fp=positive, pos=shares)
def test_the_range_goes_from_everything_wrong_to_everything_right(w_fn, w_fp, pos):
    metric = WeightedAccuracy(w_fn, w_fp)
    lo, hi = metric.range(pos)
    assert metric.value(pos, 1 - pos, pos=pos) == pytest.approx(lo)
    assert metric.value(0.0, 0.0, pos=pos) == hi == 1.0


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("strategy", ["cone", "grid", "bisection", "dinkelbach", "support"])
def test_one_training_is_enough(name, strategy):
    points = random_profiles(np.random.default_rng(0), 0.2, 50)
    study = run(Study(name, strategy, pos=0.2, n_trials=9), exact_learner(points, 0.2))
    assert sum(trial.state == "complete" for trial in study.trials) == 1
    assert "were tried before" in study.stop_reason
    assert study.best_score == get_metric(name).value(points[:, 0], points[:, 1], pos=0.2).max()
    assert study.gap == pytest.approx(0.0, abs=1e-12)


CHANCE = [CohenKappa(), MCC(), Informedness()]
each_metric = pytest.mark.parametrize("metric", [*CHANCE, FowlkesMallows()], ids=lambda metric: metric.name)
each_curved = pytest.mark.parametrize("metric", [MCC(), FowlkesMallows()], ids=lambda metric: metric.name)


@each_metric
@given(pos=shares)
def test_perfect_is_one_and_one_class_everywhere_is_none_or_little(metric, pos):
    neg = 1.0 - pos
    assert metric.value(0.0, 0.0, pos=pos) == pytest.approx(1.0, abs=1e-12)
    assert metric.value(pos, 0.0, pos=pos) == pytest.approx(0.0, abs=1e-12)
    all_positive = np.sqrt(pos) if metric.name == "fowlkes_mallows" else 0.0
    assert metric.value(0.0, neg, pos=pos) == pytest.approx(all_positive, abs=1e-12)


@pytest.mark.parametrize("metric", CHANCE, ids=lambda metric: metric.name)
@given(pos=shares, rate=rates)
def test_chance_is_worth_nothing(metric, pos, rate):
    assert metric.value((1.0 - rate) * pos, rate * (1.0 - pos), pos=pos) == pytest.approx(0.0, abs=1e-9)


@given(pos=shares, fnr=rates, fpr=rates)
def test_turned_predictions_turn_the_sign_of_the_correlation(pos, fnr, fpr):
    value = MCC().value(fnr * pos, fpr * (1.0 - pos), pos=pos)
    turned = MCC().value((1.0 - fnr) * pos, (1.0 - fpr) * (1.0 - pos), pos=pos)
    assert value == pytest.approx(-turned, abs=1e-7)
    assert -1.0 - 1e-12 <= value <= 1.0 + 1e-12


@pytest.mark.parametrize("tiny", [1e-18, 1e-100, 5e-324])
@each_metric
def test_next_to_one_class_everywhere_nothing_jumps(metric, tiny):
    for pos in (0.3, 1e-6):
        assert metric.value(pos, tiny, pos=pos) == pytest.approx(0.0, abs=1e-5)
        assert np.isfinite(metric.value(np.array([pos, pos * (1 - 1e-16)]), np.array([tiny, 0.0]), pos=pos)).all()


@each_curved
def test_rounding_of_one_class_everywhere_does_not_show(metric):
    """Shares that sums of weights leave behind."""
    for pos in (0.3, 0.7):
        neg, ulp = 1.0 - pos, 1.1e-16
        assert metric.value(pos - ulp, 0.0, pos=pos) == metric.value(pos, ulp, pos=pos) == 0.0
        all_positive = metric.value(0.0, neg, pos=pos)
        assert metric.value(0.0, neg - ulp, pos=pos) == pytest.approx(all_positive, abs=1e-15)
        assert metric.value(ulp, neg, pos=pos) == pytest.approx(all_positive, abs=1e-15)


def test_fowlkes_mallows_is_one_with_few_true_alarms_only_if_all_are_found():
    found = 1e-9
    assert FowlkesMallows().value(0.3 - found, 0.0, pos=0.3) == pytest.approx(np.sqrt(found / 0.3), rel=1e-6)


@each_curved
@given(pos=st.floats(0.01, 0.99), fnr=st.floats(1e-3, 0.999), fpr=st.floats(1e-3, 0.999))
def test_costs_are_the_slopes_at_some_level(metric, pos, fnr, fpr):
    """Wherever the metric is above chance, its slopes have the ratio of the costs of one level in [0, 1]."""
    fn, fp, neg = fnr * pos, fpr * (1.0 - pos), 1.0 - pos
    if fnr + fpr > 0.99:
        return
    found = pos - fn + fp
    if metric.name == "mcc":
        t = pos + pos * neg * (1.0 - 2.0 * found) * (1.0 - fnr - fpr) / (found * (1.0 - found))
    else:
        t = (pos - fn) / found
    assert -1e-9 <= t <= 1.0 + 1e-9
    h = 1e-6 * min(fn, fp)
    by_fn = metric.value(fn - h, fp, pos=pos) - metric.value(fn + h, fp, pos=pos)
    by_fp = metric.value(fn, fp - h, pos=pos) - metric.value(fn, fp + h, pos=pos)
    c_fn, c_fp = metric.cost_weights(t, pos=pos)
    assert by_fn * c_fp == pytest.approx(by_fp * c_fn, rel=1e-2, abs=1e-11)


def frontier(seed, pos):
    """Random profiles, among them the two that predict one class everywhere."""
    rng = np.random.default_rng(seed)
    points = np.concatenate([[(0.0, 1.0), (1.0, 0.0)], rng.random((30, 2)) ** rng.uniform(1.0, 4.0)])
    return points * [pos, 1.0 - pos]


@each_metric
@given(seed=st.integers(0, 10_000), pos=st.sampled_from([0.5, 0.9, 0.1, 1e-3]))
def test_the_best_corner_is_cheapest_at_some_level(metric, seed, pos):
    points = frontier(seed, pos)
    levels = np.linspace(0.0, 1.0, 20_001)
    costs = np.array([metric.cost_weights(t, pos=pos) for t in (0.0, 1.0)])
    costs = costs[0] + levels[:, None] * (costs[1] - costs[0])
    cheapest = points[np.unique((costs @ points.T).argmin(axis=1))]
    hull = metric.value(*cheapest.T, pos=pos).max()
    from_all = np.linspace(1e-6, 1.0 - 1e-6, 20_001)
    directions = np.column_stack([(1.0 - from_all) / pos, from_all / (1.0 - pos)])
    everywhere = points[np.unique((directions @ points.T).argmin(axis=1))]
    assert hull >= metric.value(*everywhere.T, pos=pos).max() - 1e-9


@each_metric
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_and_closes_in(metric, seed):
    pos = 0.1
    points = frontier(seed, pos)
    study = run(Study(metric, "cone", pos=pos, n_trials=12), exact_learner(points, pos))
    best = metric.value(*points.T, pos=pos).max()
    for n in (1, 3, 12):
        # A scatter of profiles has good ones above its convex edge; support lines leave these possible as well.
        assert SupportLineBound(study.trials[:n], metric, pos=pos).best_possible() >= best - 1e-9
    assert study.gap <= 0.1


def f2(pos):
    return 5 * pos, -5, 0, 5 * pos, -1, 1


@given(pos=shares, fnr=rates, fpr=rates, t=rates)
def test_f2_by_hand_is_f2(pos, fnr, fpr, t):
    by_hand, named = CustomMetric(f2), FBeta(2.0)
    fn, fp = fnr * pos, fpr * (1 - pos)
    assert by_hand.value(fn, fp, pos=pos) == named.value(fn, fp, pos=pos)
    assert by_hand.cost_weights(t, pos=pos) == named.cost_weights(t, pos=pos)


def test_numbers_may_be_fixed():
    metric = CustomMetric([1.0, -2.0, -1.0, 1.0, 0.0, 0.0], label="mine", levels=(-1.0, 1.0))
    check_metric(metric)
    assert metric.value(0.1, 0.1, pos=0.3) == pytest.approx(0.7)
    assert (metric.name, metric.range(0.3)) == ("mine", (-1.0, 1.0))


def test_a_denominator_that_vanishes_in_a_corner_is_allowed():
    precision = CustomMetric(lambda pos: (pos, -1, 0, pos, -1, 1))
    for pos in (0.1, 0.3, 1e-6, 1 - 1e-6):
        assert precision.value(pos, 0.0, pos=pos) == 0.0


NUMBERS = "numbers must give six finite values .*, got"
LEVELS = r"levels must be two finite numbers \(lo, hi\) with lo < hi, got"


@pytest.mark.parametrize(
    ("numbers", "more", "message"),
    [
        *((numbers, {}, NUMBERS) for numbers in ((1, 2, 3), lambda pos: (1, 2), (1, 2, 3, 4, 5, np.nan))),
        ("six", {}, "^numbers must"),
        *(
            (f2, {"levels": levels}, LEVELS)
            for levels in ((1.0, 0.0), (0.5, 0.5), (0.0,), (0.0, np.inf), (np.nan, 1.0))
        ),
        (f2, {"levels": "ab"}, "^levels must"),
        (f2, {"label": 1}, "^label must"),
        # Its value would be 0 everywhere: turned signs are the usual reason.
        (lambda pos: [-n for n in f2(pos)], {}, r"the denominator of 'custom' falls to -2\.\d* .*must not be negative"),
    ],
)
def test_numbers_that_are_refused(numbers, more, message):
    with pytest.raises((TypeError, ValueError), match=message):
        CustomMetric(numbers, **more).value(0.1, 0.1, pos=0.3)
