"""Kappa, Matthews correlation, Fowlkes-Mallows and informedness: corners, and that their costs find the best."""

import numpy as np
import pytest
from builders import exact_learner, rates, run, shares
from hypothesis import given
from hypothesis import strategies as st

from csf import Study
from csf.bounds import SupportLineBound
from csf.metrics import MCC, CohenKappa, FowlkesMallows, Informedness

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


@each_metric
@given(pos=shares, fnr=rates, fpr=rates, less=rates)
def test_fewer_errors_are_never_worth_less_below_chance_too(metric, pos, fnr, fpr, less):
    fn, fp = fnr * pos, fpr * (1.0 - pos)
    here = metric.value(fn, fp, pos=pos)
    assert metric.value(less * fn, fp, pos=pos) >= here - 1e-9
    assert metric.value(fn, less * fp, pos=pos) >= here - 1e-9


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
