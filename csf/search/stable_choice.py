"""Winner and threshold that would not change with a few samples: both by bootstrap draws of the held-out ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf.resampling import Chooser, Resampling, ScoreRow, ScoreStore
from csf.resampling.choices import averaged, steadiest
from csf.thresholding import sweep_several

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.metrics.base import Metric
    from csf.metrics.profile import ErrorProfile
    from csf.resampling import TrialKey
    from csf.thresholding import ThresholdCurve

__all__ = ["N_DRAWS", "StableChoice", "averaged_cut", "stable_choice"]

# More draws change neither winner nor cut by what matters beside the noise of the data.
N_DRAWS = 50


class StableChoice(NamedTuple):
    """The trial that is best on average over draws, and the average of its best thresholds.

    Parameters
    ----------
    key : tuple of int
        Setting and number of the trial.
    threshold : float
        Its threshold.
    profile : ErrorProfile
        Errors there, on all held-out samples.
    """

    key: TrialKey
    threshold: float
    profile: ErrorProfile


def stable_choice(
    store: ScoreStore,
    metric: Metric,
    *,
    among: TrialKey | None = None,
    margin: float = 0.0,
    own: int | None = None,
    random_state: int = 0,
) -> StableChoice | None:
    """Choose a trial by the mean of its best values over bootstrap draws, and take the mean of its best thresholds.

    The largest of many values, and the threshold at which it is reached, follow the noise of a few held-out positives.
    Draws of the samples, with every trial's threshold tuned again on each, show which trial is good however that noise
    falls.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores of the trials.
    metric : Metric
        What is maximised.
    among : tuple of int, default=None
        The trial, where it is chosen already.
    margin : float, default=0.0
        Standard deviations over draws by which a trial has to be better than the best one of equal costs on average.
    own : int, default=None
        The setting whose equal costs these are; ``None`` for any.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    StableChoice or None
        ``None`` where no draw holds both classes, and under a constraint: the mean of thresholds that satisfy it on
        draws need not do so on all samples.

    Notes
    -----
    Thresholds are averaged as the shares of samples that they find, in log-odds, and not as scores: what is found
    depends on the ranking alone. Between two distant thresholds that are equally good, their mean may be a bad one.
    Where it loses more than a standard error of the value on all samples, the threshold is the best one of these.

    Examples
    --------
    >>> rng, is_pos = np.random.default_rng(0), np.arange(500) < 100
    >>> store = ScoreStore(is_pos)
    >>> store.add((0, 0), score=rng.normal(size=500) + 1.5 * is_pos, threshold=0.9, value=0.6)
    >>> from csf.metrics import FBeta
    >>> stable_choice(store, FBeta()).threshold
    1.239
    """
    if metric.constraint is not None or not len(store):
        return None
    keep = [] if among is None else [among]
    sampled = Resampling(store, metric, n_draws=N_DRAWS, random_state=random_state, keep=keep)
    told = ~np.isnan(sampled.retuned.value).all(axis=0)
    if not told.any():
        return None
    values = sampled.retuned.value[:, told]
    kept = Chooser(margin, own=own).defaults(sampled.rows)
    at = steadiest(values, kept, margin) if among is None else sampled.keys.index(among)
    key = sampled.keys[at]
    return _cut(store, store[key], metric, sampled.thresholds(key), float(np.nanstd(values[at])))


def _cut(store: ScoreStore, row: ScoreRow, metric: Metric, thresholds: Array, error: float) -> StableChoice:
    """The row, cut at the mean of thresholds if that loses no more than an error."""
    assert row.score is not None, "there are thresholds of scores alone"
    assert row.threshold is not None, "there are thresholds of scores alone"
    lost = np.zeros(store.is_pos.size, dtype=bool) if row.lost is None else row.lost
    curve = sweep_several(store.is_pos, lost, row.score, store.weight)
    threshold = averaged_cut(curve, row.threshold, thresholds, lambda cut: metric.of(curve.at(cut)), error)
    return StableChoice(row.key, threshold, curve.at(threshold))


def averaged_cut(
    curve: ThresholdCurve, best: float, thresholds: Array, value: Callable[[float], float], error: float
) -> float:
    """Mean of thresholds on a curve, unless it loses more than an error against the best one."""
    cuts = curve.cuts_at(thresholds)
    if not np.isfinite(best):
        return best
    found = (curve.pos - curve.fn + curve.fp) / (curve.pos - curve.fn[-1] + curve.fp[-1])
    # Each score lies in the middle of the samples that have it.
    middles = 0.5 * (found[1:] + found[:-1])

    def at(share: float) -> float:
        """A quantile of the scores."""
        place = int(np.clip(np.searchsorted(middles, share), 1, middles.size - 1))
        upper, lower = curve.lowest_score[place], curve.lowest_score[place + 1]
        inside = float(np.interp(share, middles[place - 1 : place + 1], [upper, lower]))
        return inside if lower < inside <= upper else float(upper)

    return averaged(found, cuts, best, at, value, error)
