"""What a `ConeDisplay` shows, computed from trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array
from csf.bounds import get_bound
from csf.bounds.cone import Cone, ConeBound
from csf.metrics import LinearFractional
from csf.metrics.profile import ErrorProfile
from csf.plots._style import Bounded, Excess, names_of
from csf.trials import best_trial

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

    from csf.metrics.base import Metric
    from csf.trials import Trial

__all__ = ["cone_data", "corners", "own_value", "shown_value"]

# Levels at which a bound is drawn; the apexes of the cones come on top.
GRID = 257


def cone_data(
    trials: Sequence[Trial],
    metric: Metric,
    *,
    pos: float,
    bound: Bounded | None = None,
    eps: Excess = "evidence",
    others: Sequence[Trial] = (),
    ratio: bool = False,
    ceiling: float | None = None,
    winner: Trial | None = None,
) -> dict[str, Any]:
    """Arrays of a `ConeDisplay`, see `ConeDisplay.from_trials`."""
    told = sorted((trial for trial in trials if trial.state == "complete"), key=lambda trial: trial.number)
    tuned = any(trial.threshold is not None for trial in told)
    if bound is None:
        ratio = ratio or any(trial.t is None for trial in told) or (tuned and not isinstance(metric, LinearFractional))
    if not ratio:
        told = [trial for trial in told if trial.t is not None]
    if not told:
        raise ValueError(
            "there is no complete trial with a level to draw: tell the study its first results, or search with a cv "
            "other than 'prefit', which trains at no level"
        )
    winner = winner if winner in told else best_trial(told)
    assert winner is not None  # some trial is complete
    others = [trial for trial in others if trial.state == "complete" and (ratio or trial.t is not None)]
    data = {
        "t": _places(told, ratio),
        "value": np.array([own_value(trial, metric) for trial in told]),
        "attained": np.array([shown_value(trial) for trial in told]),
        "others": np.column_stack([_places(others, ratio), [shown_value(trial) for trial in others]]),
        "groups": np.array([trial.setting for trial in others], dtype=int),
        "failed": _places([trial for trial in trials if trial.state == "failed" and (ratio or trial.t)], ratio),
        "winner": next((i for i, trial in enumerate(told) if trial is winner), None),
        "feasible": winner.feasible,
        "span": metric.range(pos),
        "diagonal": isinstance(metric, LinearFractional) and not ratio,
        "ratio": ratio,
        **names_of(metric),
    }
    if not winner.feasible:
        return data | _missed(told, others, metric, ratio)
    if ratio and tuned:
        data["value"] = data["attained"]  # what a model decides by itself says nothing of a curve over costs
    area = _drawn_area if bound is None else _asked_area
    return data | area(told, others, metric, data, pos=pos, bound=bound, eps=eps, ceiling=ceiling)


def _missed(told: Sequence[Trial], others: Sequence[Trial], metric: Metric, ratio: bool) -> dict[str, Any]:
    """What an infeasible search shows: the constrained rate of each trial's closest cut, and no area at all."""
    rates = np.array([trial.rate for trial in told], dtype=float)
    empty = np.empty(0)
    assert metric.constraint is not None, "missed by all trials"
    return {
        "value": rates,
        "attained": rates,
        "others": np.column_stack([_places(others, ratio), np.array([trial.rate for trial in others], dtype=float)]),
        "cones": [],
        "levels": empty,
        "envelope": empty,
        "best_possible": np.nan,
        "diagonal": False,
        "metric_name": metric.constraint.quantity.name,
        "demand": metric.constraint.level,
    }


def shown_value(trial: Trial) -> float:
    """Best value that a trial shows; NaN where no cut satisfies the constraint."""
    assert trial.attained is not None, "a complete trial has values"
    return trial.attained if trial.feasible else np.nan


def own_value(trial: Trial, metric: Metric) -> float:
    """Value of a trial's own decision; NaN where that misses the constraint."""
    profile, constraint = trial.profile, metric.constraint
    assert profile is not None, "a complete trial has a profile"
    assert trial.value is not None, "a complete trial has a value"
    if constraint is not None and constraint.violation(profile.fn, profile.fp, pos=profile.pos) > 0:
        return np.nan
    return trial.value


def _places(trials: Sequence[Trial], ratio: bool) -> Array:
    """Where trials stand on the axis: at their level, or at the ratio of their costs."""
    return np.array([trial.c_fn / trial.c_fp if ratio else trial.t for trial in trials], dtype=float)


def _asked_area(told, others, metric, data, *, pos, bound, eps, ceiling):
    """What a bound that was asked for rules out for exact learners, whatever was seen there."""
    limit = get_bound(bound)(told, metric, pos=pos, eps=eps)
    lo, hi = data["span"]
    levels = np.union1d(np.linspace(lo, hi, GRID), data["t"])
    parts = getattr(limit, "polygons", None)
    regions = [limit.region()] if parts is None else parts()
    return {
        "cones": [corners(region) for region in regions],
        "levels": levels,
        "envelope": np.clip(limit.upper_bound(levels), lo, hi),
        "best_possible": limit.best_possible() if ceiling is None else ceiling,
        "claim": "ruled out for exact learners",
    }


def _drawn_area(told, others, metric, data, *, pos, bound, eps, ceiling):
    """What all trials speak against: values above the bound, and cones that hold nothing which is shown."""
    lo, hi = data["span"]
    if ceiling is None:
        ceiling = get_bound("support")(told, metric, pos=pos, eps=eps).best_possible()
    seen = np.concatenate([np.column_stack([data["t"], data["attained"]]), data["others"]])
    seen = seen[~np.isnan(seen[:, 1])]
    top = min(max(ceiling, seen[:, 1].max()), hi)
    if data["ratio"]:
        ends = np.array([np.min(data["t"]), np.max(data["t"])])
        return {"cones": [], "levels": ends, "envelope": np.array([top, top]), "best_possible": top}
    levels = np.union1d(np.linspace(lo, hi, GRID), data["t"])
    if not isinstance(metric, LinearFractional):
        envelope = get_bound("support")(told, metric, pos=pos, eps=eps).upper_bound(levels)
        lift = np.nanmax(data["attained"] - np.interp(data["t"], levels, envelope), initial=0.0)
        return {"cones": [], "levels": levels, "envelope": np.clip(envelope + lift, lo, top), "best_possible": top}
    limit = ConeBound([_as_shown(trial, metric) for trial in told], metric, pos=pos, eps=eps)
    limit.cones = _lifted(limit.cones, seen)
    return {
        "cones": [corners(region) for region in limit.polygons()],
        "levels": levels,
        "envelope": np.clip(np.minimum(limit.upper_bound(levels), top), lo, hi),
        "best_possible": top,
    }


def _as_shown(trial: Trial, metric: Metric) -> Trial:
    """The trial with its best cut in the place of its own decision: what its cone starts from."""
    profile = trial.profile
    assert profile is not None, "a complete trial has a profile"
    assert trial.value is not None, "a complete trial has a value"
    if trial.hull is None or trial.attained is None or trial.attained <= trial.value:
        return trial
    values = metric.value(*trial.hull.points.T, pos=profile.pos)
    fn, fp = trial.hull.points[np.argmax(values)].tolist()
    return replace(trial, profile=ErrorProfile(fn, fp, profile.pos))


def _lifted(cones: Cone, seen: Array) -> Cone:
    """Cones raised until none of them holds a point that was seen: off the diagonal they are guides, no proofs."""
    away = np.subtract.outer(seen[:, 0], cones.t)
    heights = cones.value + np.where(away < 0, -np.asarray(cones.slope_left), cones.slope_right) * away
    return cones._replace(value=cones.value + np.max(seen[:, 1:] - heights, axis=0, initial=0.0))


def corners(region: BaseGeometry) -> Array:
    """Corners of a shapely polygon, the largest part of a divided one; none for an empty one."""
    parts = [part for part in getattr(region, "geoms", [region]) if part.geom_type == "Polygon"]
    largest = max(parts, key=lambda part: part.area, default=None)
    return np.empty((0, 2)) if largest is None or largest.is_empty else np.asarray(largest.exterior.coords)
