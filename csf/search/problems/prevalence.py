"""The result of a search at another share of positives: rates within the classes stay, all else follows from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from csf._common.validation import check_fraction
from csf.evaluate import ScoreStore
from csf.evaluate.choices import BEST
from csf.metrics.base import rank
from csf.metrics.profile import ErrorProfile, Hull
from csf.metrics.trials import Trial, gap, outcome
from csf.search.margin import bound_with_margin
from csf.search.problems.decisions import curve_of
from csf.strategies.base import level_of_costs
from csf.thresholding.prevalence import curve_at_prevalence

if TYPE_CHECKING:
    from csf._common.typing import Params
    from csf.evaluate import ScoreRow
    from csf.metrics.base import Metric
    from csf.search.problems.two_classes import TwoClassResult
    from csf.thresholding.curve import Cut


def fields_at_share(result: TwoClassResult, row: ScoreRow, pos: float) -> Params:
    """Compute the fields of a result at another share of positives; ``row`` has the scores that a threshold decides."""
    pos, metric, known = check_fraction(pos, "pos"), result.metric, result.store
    known = known if known.unmoved is None else known.unmoved
    cuts = {
        trial_row.key: curve_at_prevalence(curve_of(known, trial_row), pos).best(metric, metric.constraint)
        for trial_row in known
    }
    winner_cut, store = cuts[result.key], _moved_store(known, pos)
    store.put(
        replace(row, threshold=winner_cut.threshold, value=winner_cut.value, violation=violation_of(metric, winner_cut))
    )
    trials = [_moved_trial(trial, metric, pos, cuts.get((trial.setting, trial.number))) for trial in result.trials]
    judged = store if result.config.bound_on == "validation" else None
    bound = bound_with_margin(trials, metric, pos=pos, bound=result.config.bound, store=judged)
    distance = gap(trials, bound.exact)
    best = min(cuts, key=lambda key: rank(violation_of(metric, cuts[key]), cuts[key].value, *key[::-1]))
    constraint = metric.constraint
    return {
        # A test was one of data with the share of before.
        "guarantee": None,
        "store": store,
        "threshold": winner_cut.threshold,
        "score": winner_cut.value,
        "feasible": winner_cut.feasible,
        "constraint_value": None if constraint is None else constraint.rate.of(winner_cut.profile),
        "upper_bound": bound.value,
        "gap": np.nan if distance is None else distance + bound.margin,
        "bound_margin": bound.margin,
        "decided": None,
        # Its threshold is the best one there.
        "chooser": BEST,
        "moved_best": (result.place(best), cuts[best].value),
    }


def violation_of(metric: Metric, cut: Cut) -> float:
    """Compute by how much a threshold violates the constraint."""
    profile, constraint = cut.profile, metric.constraint
    return 0.0 if constraint is None else float(constraint.violation(profile.fn, profile.fp, pos=profile.pos))


def _moved_store(known: ScoreStore, pos: float) -> ScoreStore:
    """Create a store without rows whose weights have another share of positives."""
    factor, share = np.where(known.is_pos, pos, 1.0 - pos), np.average(known.is_pos, weights=known.weight)
    weight = factor / np.where(known.is_pos, share, 1.0 - share) * (1.0 if known.weight is None else known.weight)
    store = ScoreStore(known.is_pos, weight, samples=known.samples, copies=known.copies)
    store.repeats, store.has_groups, store.unmoved = known.repeats, known.has_groups, known
    store.codes = known.codes
    return store


def _moved_trial(trial: Trial, metric: Metric, pos: float, cut: Cut | None) -> Trial:
    """Adapt a trial to another share of positives: its costs change so that it still is the best at these rates."""
    if trial.profile is None:
        return trial
    up, down = pos / trial.profile.pos, (1.0 - pos) / (1.0 - trial.profile.pos)
    limits, factors = np.array([pos, 1.0 - pos]), np.array([up, down])
    fn, fp = np.minimum(np.array([trial.profile.fn, trial.profile.fp]) * factors, limits).tolist()
    hull = None if trial.hull is None else Hull(np.minimum(trial.hull.points * factors, limits))
    c_fn, c_fp = trial.c_fn / up, trial.c_fp / down
    fields_there = outcome(metric, ErrorProfile(fn, fp, pos), hull=hull, cut=cut)
    return replace(trial, t=level_of_costs(metric, c_fn, c_fp, pos=pos), costs=(c_fn, c_fp), **fields_there)
