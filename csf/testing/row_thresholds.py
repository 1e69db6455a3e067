"""Contract of thresholds that depend on the row."""

import json
from collections.abc import Sequence
from copy import deepcopy

import numpy as np
from numpy.typing import ArrayLike

from csf._common.validation import generator
from csf.metrics import get_metric
from csf.metrics.base import Metric
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import aim
from csf.testing.metric import naming, require
from csf.thresholding.row_thresholds import RowThresholds, ScoredRows, TunedThresholds, beyond

# Stricter levels that are tried, as certificates do.
STEPS = (0.0, 0.3, 0.6)


def check_row_thresholds(thresholds: RowThresholds, values: ArrayLike, *, random_state: int = 0) -> None:
    """Check that thresholds by row keep what searches, intervals and certificates rely on.

    Parameters
    ----------
    thresholds : RowThresholds
        The thresholds, as a search is given them.
    values : array-like of shape (n_rows,)
        Values beside some rows, as ``by`` of `fit`; about a thousand of them.
    random_state : int, default=0
        Seed of the scores and classes that are tried.

    Raises
    ------
    AssertionError
        If a check fails; the message says which one.

    Notes
    -----
    The checks: tuning returns thresholds of the same class, with a finite number or an infinite one for each row, and
    changes nothing that it is given; ``value`` is that of the metric at these thresholds, and ``keeps`` says whether
    the constraint holds there; they are at least as good as one threshold for all rows; stricter levels (``share``)
    hold too; a shift of all scores shifts the thresholds alone; copies have the same thresholds, and JSON holds
    `RowThresholds.to_dict`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Same(RowThresholds):
    ...     cut: float = 0.0
    ...     def beside(self, X, given=None):
    ...         return np.asarray(given, dtype=float)
    ...     def of_rows(self, beside):
    ...         return np.full(beside.size, self.cut)
    ...     def tuned(self, metric, rows, share=0.0):
    ...         best = rows.best_cut(metric, np.zeros(rows.score.size), share)
    ...         return TunedThresholds(type(self)(best.threshold), best.value, best.feasible)
    ...     @property
    ...     def parameters(self):
    ...         return {"all rows": self.cut}
    >>> check_row_thresholds(Same(), np.arange(1000) % 24)
    >>> class Higher(Same):
    ...     def tuned(self, metric, rows, share=0.0):
    ...         best = super().tuned(metric, rows, share)
    ...         return best._replace(value=best.value + 0.1)
    >>> check_row_thresholds(Higher(), np.arange(1000) % 24)
    Traceback (most recent call last):
        ...
    AssertionError: Higher(cut=0.0), f1: value must be that of the metric at the thresholds, ...
    """
    values = np.asarray(values)
    rng = generator(random_state)
    beside = thresholds.values(np.empty((values.shape[0], 0)), values)
    is_pos = rng.random(values.shape[0]) < 0.3
    # In tenths, so that scores are equal too.
    rows = ScoredRows(is_pos, np.round(rng.normal(size=is_pos.size) + 1.5 * is_pos, 1), beside, None)
    for metric in (get_metric("f1"), get_metric("gmean"), aim("f1", "recall >= 0.6")):
        with naming(f"{thresholds!r}, {metric.name}"):
            _check(thresholds, metric, rows, STEPS if metric.constraint is not None else STEPS[:1])
    weighted = rows._replace(weight=rng.integers(0, 3, is_pos.size).astype(float))
    with naming(f"{thresholds!r}, weights"):
        _check(thresholds, get_metric("f1"), weighted, STEPS[:1])


def _check(thresholds: RowThresholds, metric: Metric, rows: ScoredRows, shares: Sequence[float]) -> None:
    """Check thresholds that are tuned on rows."""
    for share in shares:
        given = [part for part in rows if part is not None]
        copies = [part.copy() for part in given]
        best = thresholds.tuned(metric, rows, share)
        same = all(np.array_equal(part, copy) for part, copy in zip(given, copies))
        require(same, "tuning must not change the rows")
        _check_tuned(best, type(thresholds), metric, rows, share)
        if not share:
            one = rows.best_cut(metric, np.zeros(rows.score.size))
            better = (best.keeps, best.value) >= (one.feasible, one.value - 1e-9)
            require(better, f"one threshold for all rows is better, {one.value:.4g} and not {best.value:.4g}")
    shifted = thresholds.tuned(metric, rows._replace(score=rows.score + 4.0))
    gap = abs(shifted.value - thresholds.tuned(metric, rows).value)
    require(gap < 1e-6, f"scores that are all larger by 4 change the value by {gap:.3g}")


def _check_tuned(
    best: TunedThresholds, made: type[RowThresholds], metric: Metric, rows: ScoredRows, share: float
) -> None:
    """Check the value and the class of tuned thresholds, and that they can be stored."""
    require(isinstance(best.thresholds, made), f"tuning must return a {made.__name__}, got {best.thresholds!r}")
    cuts = np.asarray(best.thresholds.of_rows(rows.beside))
    right = cuts.shape == rows.score.shape and not np.isnan(cuts).any()
    require(right, f"of_rows must give a threshold for each row, got shape {cuts.shape}")
    profile = ErrorProfile.from_masks(rows.is_pos, beyond(rows.score, cuts) >= 0.0, sample_weight=rows.weight)
    value, constraint = metric.of(profile), metric.constraint
    alike = abs(value - best.value) < 1e-6
    require(alike, f"value must be that of the metric at the thresholds, {value:.6g}, got {best.value:.6g}")
    if constraint is not None:
        level = constraint.tightened(share)
        holds = not level.violation(profile.fn, profile.fp, pos=profile.pos) > 1e-9
        require(holds == best.keeps, f"keeps must say whether {level} holds, {holds}, got {best.keeps}")
    require(np.array_equal(deepcopy(best.thresholds).of_rows(rows.beside), cuts), "a copy has other thresholds")
    json.dumps(best.thresholds.to_dict())
