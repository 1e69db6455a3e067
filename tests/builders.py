"""Trials, profiles and learners that many tests need."""

import sys

import numpy as np
from hypothesis import strategies as st

from csf import CostSearch, ErrorProfile, Trial
from csf.metrics import FBeta
from csf.metrics.profile import Hull
from csf.metrics.trials import outcome

# What the papers do, without the defaults that make the plain call good; quick, and the same from version to version.
PAPER = {"strategy": "cone", "param_grid": None, "cv": 5, "threshold": "tune", "normalize": "none"}


def paper_search(base, *args, **options):
    """CostSearch of the papers: cone trials of the base as it is, five plain folds, the best cut."""
    names = ("metric", "strategy")
    return CostSearch(base, **(PAPER | dict(zip(names, args)) | options))


# Shares of positives, rare ones included.
shares = st.floats(0.01, 0.99) | st.sampled_from([1e-6, 1e-3, 0.5, 1.0 - 1e-3])
# Rates, and the corners where formulas break.
rates = st.floats(1e-9, 1.0) | st.sampled_from([0.0, 1.0])
betas = st.floats(0.1, 10.0) | st.just(1.0)


def told(number, t, fnr, fpr, *, pos, metric=None, hull=None, costs=None):
    """Complete trial with the given error rates."""
    metric = FBeta() if metric is None else metric
    c_fn, c_fp = metric.cost_weights(t, pos=pos) if costs is None else costs
    profile = ErrorProfile(fn=fnr * pos, fp=fpr * (1.0 - pos), pos=pos)
    return Trial(number=number, t=t, costs=(c_fn, c_fp), state="complete", **outcome(metric, profile, hull=hull))


@st.composite
def histories(draw, metric, pos, *, min_size=0, max_size=8, distinct=True):
    """Lists of complete trials with any profiles at all: no learner behind them."""
    lo, hi = metric.range(pos)
    level = st.floats(1e-3, 1.0 - 1e-3) | st.sampled_from([0.125, 0.25, 0.5, 0.75])
    unique = (lambda row: row[0]) if distinct else None
    rows = draw(st.lists(st.tuples(level, rates, rates), min_size=min_size, max_size=max_size, unique_by=unique))
    return [told(i, lo + s * (hi - lo), fnr, fpr, pos=pos, metric=metric) for i, (s, fnr, fpr) in enumerate(rows)]


def random_profiles(rng, pos, n):
    """Profiles anywhere in the box, the two trivial ones among them: a finite class of classifiers."""
    points = np.concatenate([[(0.0, 1.0), (1.0, 0.0)], rng.random((n, 2)) ** rng.uniform(0.5, 4.0)])
    return points * [pos, 1.0 - pos]


def exact_learner(points, pos):
    """Function from costs to the cheapest profile of a finite class."""

    def learn(costs):
        fn, fp = points[np.argmin(points @ np.array(costs))]
        return ErrorProfile(fn=fn, fp=fp, pos=pos)

    return learn


def run(study, learn, *, known=None):
    """Ask and tell until the study ends."""
    while (trial := study.ask()) is not None:
        profile = learn(trial.costs)
        hull = None if known is None else Hull(known)
        study.record(trial, **outcome(study.metric, profile, hull=hull))
    return study


@st.composite
def predictions(draw, *, max_size=30):
    """True labels of both classes, any predicted ones, and weights of which each class has a positive one."""
    size = draw(st.integers(2, max_size))
    label = st.lists(st.integers(0, 1), min_size=size, max_size=size)
    y_true, y_pred = np.array(draw(label)), np.array(draw(label))
    first, second = draw(st.permutations(range(size)))[:2]
    y_true[first], y_true[second] = 0, 1
    weight = st.floats(0.1, 10.0) | st.just(0.0)
    weights = np.array(draw(st.lists(weight, min_size=size, max_size=size)))
    weights[[first, second]] = np.maximum(weights[[first, second]], 0.1)
    return y_true, y_pred, draw(st.sampled_from([None, weights]))


def interrupted(function, at, *, files=None):
    """Run a function, raise KeyboardInterrupt at its ``at``-th line, and return how many lines it ran.

    Lines of what it calls in Python count as well; with ``files``, those of these files alone.
    """
    lines = 0

    def trace(frame, event, arg):
        nonlocal lines
        if files is not None and frame.f_code.co_filename not in files:
            return None
        if event == "line":
            lines += 1
            if lines == at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return lines
