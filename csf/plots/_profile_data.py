"""What an `ErrorProfileDisplay` shows, computed from a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array
from csf.bounds import SupportLineBound, known_profiles
from csf.plots._style import Excess, names_of
from csf.trials import best_trial

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.plots._searched import Told
    from csf.trials import Trial

__all__ = ["profile_data"]

GRID = 161
# The winner stands at this share of the axes, and no axis is shorter than this share of its class.
_SHARE, _LEAST = 0.45, 0.01


def profile_data(
    study: Told, *, eps: Excess, winner: Trial | None = None, ceiling: float | None = None
) -> dict[str, Any]:
    """Arrays of an `ErrorProfileDisplay`, see `ErrorProfileDisplay.from_study`."""
    told = sorted((t for t in study.trials if t.state == "complete"), key=lambda trial: trial.number)
    if not told:
        raise ValueError("there is no complete trial to draw; tell the study its first results")
    metric, pos = study.metric, study.pos
    bound = SupportLineBound(told, metric, pos=pos, eps=eps)
    profiles = np.array([(trial.profile.fn, trial.profile.fp) for trial in told if trial.profile is not None])
    costs = np.array([trial.costs for trial in told])
    least = (costs * profiles).sum(axis=1) - bound.excess()
    winner, known = winner if winner in told else best_trial(told), known_profiles(told)
    assert winner is not None  # some trial is complete
    assert known is not None
    at, box = _best_profile(winner, metric), np.array([pos, 1.0 - pos])
    window = np.clip(np.array(at) / _SHARE, _LEAST * box, box)
    grid_fn, grid_fp = np.linspace(0.0, window[0], GRID), np.linspace(0.0, window[1], GRID)
    parts = () if metric.constraint is None else metric.constraint.parts
    lines = [part.half_plane(pos=pos) for part in parts]
    return {
        "profiles": profiles,
        "window": (float(window[0]), float(window[1])),
        "lines": np.array([_ends(c, rhs, box) for c, rhs in zip(costs, least)]),
        "known": known.points,
        "possible": bound.chain_,
        "grid_fn": grid_fn,
        "grid_fp": grid_fp,
        "values": metric.value(*np.meshgrid(grid_fn, grid_fp), pos=pos),
        "best_possible": bound.best_possible() if ceiling is None else ceiling,
        "pos": pos,
        "winner": at,
        "feasible": winner.feasible,
        "demands": [_ends(np.array(costs), rhs, window) for costs, rhs in lines],
        **names_of(metric),
    }


def _best_profile(trial: Trial, metric: Metric) -> tuple[float, float]:
    """Errors of the best cut of a trial that is known; those of its own decision where that is as good."""
    profile = trial.profile
    assert profile is not None, "a complete trial has a profile"
    points = np.array([(profile.fn, profile.fp), *([] if trial.hull is None else trial.hull.points)])
    values = np.asarray(metric.value(*points.T, pos=profile.pos), dtype=float)
    if metric.constraint is not None:
        missed = metric.constraint.violation(*points.T, pos=profile.pos)
        values = np.where(missed <= missed.min(), values, -np.inf)
    fn, fp = points[np.argmax(values)].tolist()
    return fn, fp


def _ends(costs: Array, rhs: float, box: Array) -> list[tuple[float, float]]:
    """Two points where the line ``costs·e = rhs`` crosses the sides of a box, or touches it."""
    (a, b), (right, top) = costs, box
    crossings = [(x, (rhs - a * x) / b) for x in (0.0, right) if b] + [((rhs - b * y) / a, y) for y in (0.0, top) if a]
    inside = [(x, y) for x, y in crossings if -1e-12 <= x <= right + 1e-12 and -1e-12 <= y <= top + 1e-12]
    return [min(inside), max(inside)] if inside else [crossings[0], crossings[0]]
