"""Trials: outcomes of evaluations, the winner, the gap, and the way to JSON and back."""

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from builders import predictions, rates, shares, told
from hypothesis import given
from hypothesis import strategies as st

from csf import ErrorProfile, Trial
from csf.metrics import Constrained, FBeta, GMean, Recall, get_constraint
from csf.metrics.profile import Hull
from csf.metrics.trials import best_trial, gap, known_hull, outcome
from csf.thresholding import sweep

PRECISE = Constrained(Recall(), get_constraint("precision >= 0.8"))
number = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def any_trials(draw):
    """Trials in every state, with fields that a search can set."""
    pos = draw(shares)
    profile = ErrorProfile(fn=draw(rates) * pos, fp=draw(rates) * (1 - pos), pos=pos)
    state = draw(st.sampled_from(["pending", "complete", "failed"]))
    own = {
        "profile": profile,
        "value": draw(number),
        "attained": draw(number),
        "threshold": draw(st.none() | st.floats(allow_nan=False)),
        "score": draw(number),
        "rate": draw(number),
        "violation": draw(st.floats(0, 1)),
        "hull": draw(st.none() | st.lists(st.tuples(rates, rates), min_size=1, max_size=6).map(Hull)),
        "fold_scores": tuple(draw(st.lists(number, max_size=3))),
    }
    return Trial(
        number=draw(st.integers(0, 1000)),
        t=draw(st.none() | st.floats(0, 1)),
        costs=(draw(st.floats(1e-9, 1e9)), draw(st.floats(1e-9, 1e9))),
        state=state,
        setting=draw(st.integers(0, 5)),
        error=draw(st.text(max_size=20)) if state == "failed" else None,
        fit_time=draw(st.floats(0, 1e6)),
        **(own if state == "complete" else {}),
    )


@given(trial=any_trials())
def test_json_there_and_back(trial):
    back = Trial.from_dict(json.loads(json.dumps(trial.to_dict(), allow_nan=False)))
    assert back == trial
    assert back.fit_time == trial.fit_time
    assert hash(back) == hash(trial)


@pytest.mark.parametrize("threshold", [np.inf, -np.inf, 0.1 + 0.2, np.float64(0.5), np.float32(0.25)])
def test_thresholds_survive_json_exactly(threshold):
    trial = replace(told(0, 0.5, 0.1, 0.1, pos=0.3), threshold=threshold)
    assert Trial.from_dict(json.loads(json.dumps(trial.to_dict(), allow_nan=False))).threshold == threshold


def test_trials_never_change_and_times_are_no_part_of_them():
    trial = told(0, 0.5, 0.1, 0.1, pos=0.3)
    assert replace(trial, fit_time=9.0) == trial
    assert replace(trial, t=0.6) != trial
    assert (trial.costs, trial.feasible, replace(trial, violation=0.1).feasible) == ((1.5, 0.5), True, False)
    with pytest.raises(FrozenInstanceError):
        trial.t = 0.7


# ---------------------------------------------------------------- outcomes


@pytest.mark.parametrize("metric", [FBeta(), GMean(), PRECISE], ids=lambda metric: metric.name)
@given(case=predictions(), seed=st.integers(0, 10**6))
def test_outcome_of_scores_is_the_best_cut_and_all_that_is_known(metric, case, seed):
    y_true, y_pred, weight = case
    score = np.random.default_rng(seed).normal(size=y_true.size).round(1)
    is_pos = y_true == 1
    curve = sweep(is_pos, score, weight)
    profile = ErrorProfile.from_masks(is_pos, y_pred == 1, sample_weight=weight)
    constraint = getattr(metric, "constraint", None)
    cut = curve.best(metric, constraint)
    fields = outcome(metric, profile, hull=known_hull(profile, curve), cut=cut)
    rule = ErrorProfile.from_masks(is_pos, score >= fields["threshold"], sample_weight=weight)
    assert fields["profile"] == profile
    assert fields["value"] == metric.of(profile)
    # The G-mean turns a rounding error of 1e-16 in a rate into one of 1e-8.
    rounding = 1e-7 if isinstance(metric, GMean) else 1e-12
    assert fields["score"] == pytest.approx(metric.of(rule), abs=rounding)
    known = np.column_stack([curve.fn, curve.fp])
    for c in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.2, 1.0), (3.0, 1.0)):
        cheapest = min((known @ c).min(), c[0] * profile.fn + c[1] * profile.fp)
        assert fields["hull"].cheapest(*c) == pytest.approx(cheapest, abs=1e-12)
    if constraint is None:
        assert (fields["rate"], fields["violation"]) == (None, 0.0)
        assert fields["attained"] >= max(fields["score"], fields["value"]) - rounding
    else:
        assert fields["rate"] == pytest.approx(constraint.quantity.of(rule), abs=1e-12)
        assert fields["violation"] == pytest.approx(max(0.8 - fields["rate"], 0.0), abs=1e-12)
        if fields["violation"] == 0:
            assert fields["attained"] >= fields["score"] - 1e-12


@given(pos=shares, fnr=rates, fpr=rates)
def test_outcome_without_scores_is_the_own_decision(pos, fnr, fpr):
    profile = ErrorProfile(fn=fnr * pos, fp=fpr * (1 - pos), pos=pos)
    fields = outcome(FBeta(), profile)
    assert fields["value"] == fields["score"] == fields["attained"] == FBeta().of(profile)
    assert fields["threshold"] is None
    assert fields["hull"].points.tolist() == [[profile.fn, profile.fp]]


def test_everything_known_is_attained():
    """Also where no cut was chosen: bounds that read the training part know its hull alone."""
    profile, hull = ErrorProfile(fn=0.1, fp=0.3, pos=0.3), Hull([(0.0, 0.6), (0.05, 0.1), (0.3, 0.0)])
    fields = outcome(FBeta(), profile, hull=hull)
    assert fields["attained"] == FBeta().value(0.05, 0.1, pos=0.3)
    assert fields["score"] == fields["value"] == FBeta().of(profile)


def test_where_nothing_is_allowed_the_end_of_the_range_is_attained():
    fields = outcome(PRECISE, ErrorProfile(fn=0.0, fp=0.5, pos=0.1))
    assert fields["attained"] == 0.0
    assert fields["score"] == 1.0
    assert fields["violation"] == pytest.approx(0.8 - 0.1 / 0.6)


# ---------------------------------------------------------------- winners


def test_the_winner_satisfies_then_scores_then_comes_first():
    trials = [replace(told(i, 0.1 * i + 0.1, 0.2, 0.2, pos=0.3), score=0.5) for i in range(4)]
    assert best_trial(trials) is trials[0]
    assert best_trial(trials[::-1]) is trials[0]
    of_another_setting = replace(trials[0], setting=1)
    assert best_trial([trials[1], of_another_setting]) is of_another_setting
    better = replace(trials[2], score=0.6)
    assert best_trial([*trials, better]) is better
    forbidden = replace(trials[3], score=0.9, violation=0.01)
    assert best_trial([*trials, forbidden]) is trials[0]
    worse = replace(trials[3], score=0.95, violation=0.02)
    assert best_trial([worse, forbidden]) is forbidden
    assert best_trial([Trial(number=0, t=0.5, costs=(1.0, 1.0))]) is None
    assert best_trial([]) is None


def test_the_gap_is_measured_from_what_is_attained_and_never_negative():
    trials = [replace(told(0, 0.5, 0.2, 0.2, pos=0.3), attained=0.6), Trial(number=1, t=0.2, costs=(1.0, 1.0))]
    assert gap(trials, 0.7) == pytest.approx(0.1)
    assert gap(trials, 0.5) == 0.0
    assert gap(trials[1:], 0.7) is None
