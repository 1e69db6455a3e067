"""The promise of an interval: where its two support lines meet, or the best allowed profile near there."""

import numpy as np
import pytest
from builders import told
from hypothesis import given
from hypothesis import strategies as st
from oracles import half_planes

from csf.metrics import Constrained, FBeta, GMean, Recall, get_constraint
from csf.strategies.corners import corner_promise

POS = 0.2


def history(levels, metric):
    """Trials of an exact learner on a smooth trade-off: each support line touches it."""
    fnr = np.linspace(0, 1, 2001)
    points = np.column_stack([fnr * POS, (1 - fnr**0.4) ** 2.5 * (1 - POS)])
    trials = []
    for number, t in enumerate(levels):
        fn, fp = points[np.argmin(points @ np.array(metric.cost_weights(t, pos=POS)))]
        trials.append(told(number, t, fn / POS, min(fp / (1 - POS), 1.0), pos=POS, metric=metric))
    return trials


@given(levels=st.lists(st.integers(1, 63), min_size=1, max_size=5, unique=True))
def test_promises_are_values_of_corners_of_the_polygon(levels):
    metric, levels = GMean(), sorted(level / 64 for level in levels)
    trials = history(levels, metric)
    lines = [(*t.costs, t.c_fn * t.profile.fn + t.c_fp * t.profile.fp) for t in trials]
    corners = np.array(half_planes.possible(lines, POS)).clip(0, [POS, 1 - POS])
    values = metric.value(corners[:, 0], corners[:, 1], pos=POS)
    promise = corner_promise(trials, np.array([0.0, *levels, 1.0]), metric, POS)
    assert promise.shape == (len(levels) + 1,)
    assert all(np.abs(values - value).min() < 1e-6 for value in promise)
    assert promise.max() == pytest.approx(values.max(), abs=1e-6)


@pytest.mark.parametrize("constraint", ["precision >= 0.8", "fpr <= 0.02", "predicted_positive_rate <= 0.1"])
def test_a_forbidden_corner_promises_the_best_allowed_profile_near_it(constraint):
    """The interval whose two support lines meet next to the border of the constraint promises most."""
    metric = Constrained(Recall(), get_constraint(constraint))
    levels = np.arange(1, 16) / 16
    trials = history(levels, metric)
    promise = corner_promise(trials, np.concatenate([[0.0], levels, [1.0]]), metric, POS)
    allowed = [trial.value for trial in trials if trial.feasible]
    at = int(np.argmax(promise))
    assert promise[at] >= max(allowed)
    assert promise[at] <= max(allowed) + 0.1
    # Left of it models are forbidden, right of it they find less.
    assert [trial.feasible for trial in trials] == [False] * at + [True] * (15 - at)


def test_an_interval_without_an_allowed_profile_promises_its_miss():
    metric = Constrained(Recall(), get_constraint("specificity >= 1"))
    promise = corner_promise(history([0.25, 0.5], metric), np.array([0.0, 0.25, 0.5, 1.0]), metric, POS)
    assert promise[0] < promise[1] < 0 < promise[2]


def test_the_model_that_finds_everything_is_known_without_training():
    """Below the lowest level, what finds too little promises the best that finds enough on the way to that model."""
    metric = Constrained(FBeta(), get_constraint("predicted_positive_rate >= 0.6"))
    (trial,) = history([0.5], metric)
    corner = 0.0, (trial.c_fn * trial.profile.fn + trial.c_fp * trial.profile.fp) / trial.c_fp
    assert 0.0 < metric.constraint.violation(*corner, pos=POS) < 0.2
    promise = corner_promise([trial], np.array([0.0, 0.5, 1.0]), metric, POS)
    assert promise[0] == pytest.approx(metric.value(0.0, 0.4, pos=POS))


def test_nothing_known_promises_the_perfect_classifier():
    assert corner_promise([], np.array([0.0, 1.0]), GMean(), POS).tolist() == [1.0]
