"""Finite problems solved exactly: a class of classifiers is a list of error profiles, and a learner looks at all.

Nothing here is meant to be fast.
"""

from typing import NamedTuple

import numpy as np

from csf import ErrorProfile, Trial


class FiniteProblem(NamedTuple):
    """Error profiles ``(fn, fp)`` of all classifiers of a class on data with a share ``pos`` of positives."""

    profiles: list
    pos: float


def random_problem(rng):
    """Profiles scattered over the box, on a convex trade-off, or those of a handful of samples."""
    kind = rng.choice(["scattered", "trade-off", "counts"])
    n = int(rng.integers(2, 20))
    pos = float(rng.choice([rng.uniform(0.02, 0.98), 10.0 ** rng.uniform(-3.0, -0.3)]))
    if kind == "scattered":
        rates = rng.random((n, 2))
    elif kind == "trade-off":
        fnr, bend = rng.random(n), rng.uniform(0.2, 1.0)
        rates = np.column_stack([fnr, rng.random() * (1.0 - fnr**bend) ** (1.0 / bend)])
    else:
        samples = int(rng.integers(3, 40))
        positives = int(np.clip(round(pos * samples), 1, samples - 1))
        negatives, pos = samples - positives, positives / samples
        fn, fp = rng.integers(0, positives + 1, n), rng.integers(0, negatives + 1, n)
        rates = np.column_stack([fn / positives, fp / negatives])
    return FiniteProblem([(fnr * pos, fpr * (1.0 - pos)) for fnr, fpr in rates.tolist()], pos)


def cost(profile, costs):
    """Weighted error of a profile."""
    return costs[0] * profile[0] + costs[1] * profile[1]


def cost_optimal(problem, metric, t):
    """All profiles that an exact learner may return when it is trained at level t."""
    costs = metric.cost_weights(metric.clip_level(t, pos=problem.pos), pos=problem.pos)
    cheapest = min(cost(profile, costs) for profile in problem.profiles)
    return [profile for profile in problem.profiles if cost(profile, costs) <= cheapest]


def excess(problem, metric, t, profile):
    """By how much a profile costs more than the cheapest of the class at level t."""
    costs = metric.cost_weights(t, pos=problem.pos)
    return cost(profile, costs) - min(cost(other, costs) for other in problem.profiles)


def best_value(problem, metric, profiles=None):
    """Largest metric among profiles (of the class) that satisfy the metric's constraint; the range's end without."""
    constraint = getattr(metric, "constraint", None)
    best = metric.range(problem.pos)[0]
    for fn, fp in problem.profiles if profiles is None else profiles:
        if constraint is None or constraint.violation(fn, fp, pos=problem.pos) == 0:
            best = max(best, metric.value(fn, fp, pos=problem.pos))
    return best


def trial_of(problem, metric, t, profile, *, number=0, hull=None):
    """Complete trial of a model with a given profile, trained at level t."""
    c_fn, c_fp = metric.cost_weights(t, pos=problem.pos)
    profile = ErrorProfile(*profile, pos=problem.pos)
    told = {"value": metric.of(profile), "attained": metric.of(profile), "score": metric.of(profile), "hull": hull}
    return Trial(number=number, t=t, costs=(c_fn, c_fp), state="complete", profile=profile, **told)


def published_cone(profile, t, level, *, pos, beta=1.0):
    """Height at ``level`` of the cone of a profile trained at ``t``, from the paper's closed forms for F-beta."""
    fn, fp = profile
    b, neg = 1.0 + beta**2, 1.0 - pos
    phi = 1.0 / (b * pos - fn + fp)
    value = b * (pos - fn) * phi
    highest = neg if fn == pos else fp + min(neg - fp, fn * (beta**2 * pos + fp) / (pos - fn))
    lowest = -fn - fp * (pos - fn) / (beta**2 * pos + fp)
    span = highest if level < t else lowest
    return value + phi * (fp - fn - span) * (level - t)
