"""What a `ConeDisplay` shows, computed from trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array
from csf.bounds import get_bound
from csf.bounds.cone import ConeBound, DiagonalBound
from csf.metrics import LinearFractional
from csf.plots._style import Bounded, Excess
from csf.trials import best_trial

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

    from csf.metrics.base import Metric
    from csf.trials import Trial

__all__ = ["cone_data", "corners"]

# Levels at which a bound is drawn; the apexes of the cones come on top.
GRID = 257


def cone_data(
    trials: Sequence[Trial], metric: Metric, *, pos: float, bound: Bounded | None = None, eps: Excess = "evidence"
) -> dict[str, Any]:
    """Arrays of a `ConeDisplay`, see `ConeDisplay.from_trials`.

    Returns
    -------
    dict
        Arguments of `ConeDisplay`.
    """
    trials = sorted((trial for trial in trials if trial.t is not None), key=lambda trial: trial.number)
    told = [trial for trial in trials if trial.state == "complete"]
    if not told:
        raise ValueError(
            "there is no complete trial with a level to draw: tell the study its first results, or search with a cv "
            "other than 'prefit', which trains at no level"
        )
    if bound is None:
        bound = "envelope" if isinstance(metric, LinearFractional) else "support"
    limit = get_bound(bound)(told, metric, pos=pos, eps=eps)
    # Over all levels the envelope says less than where it meets the diagonal.
    sharper = DiagonalBound(told, metric, pos=pos, eps=eps) if type(limit) is ConeBound else limit
    lo, hi = metric.range(pos)
    t = np.array([trial.t for trial in told])
    levels = np.union1d(np.linspace(lo, hi, GRID), t)
    winner = best_trial(told)
    assert winner is not None  # some trial is complete
    parts = getattr(limit, "polygons", None)
    regions = [limit.region()] if parts is None else parts()
    return {
        "t": t,
        "value": np.array([trial.value for trial in told]),
        "attained": np.array([trial.attained if trial.feasible else trial.score for trial in told]),
        "cones": [corners(region) for region in regions],
        "levels": levels,
        "envelope": np.clip(limit.upper_bound(levels), lo, hi),
        "best_possible": sharper.best_possible(),
        "failed": np.array([trial.t for trial in trials if trial.state == "failed"]),
        "winner": next(i for i, trial in enumerate(told) if trial is winner),
        "feasible": winner.feasible,
        "span": (lo, hi),
        "diagonal": isinstance(metric, LinearFractional),
        "metric_name": metric.name,
    }


def corners(region: BaseGeometry) -> Array:
    """Corners of a shapely polygon, the largest part of a divided one; none for an empty one."""
    parts = [part for part in getattr(region, "geoms", [region]) if part.geom_type == "Polygon"]
    largest = max(parts, key=lambda part: part.area, default=None)
    return np.empty((0, 2)) if largest is None or largest.is_empty else np.asarray(largest.exterior.coords)
