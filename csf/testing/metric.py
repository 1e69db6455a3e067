"""Contract of metrics."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from csf._common.validation import generator
from csf.metrics import LinearFractional, Metric
from csf.testing._require import naming, require

__all__ = ["check_metric"]

# Shares of positives from balanced to one in a million.
SHARES = (0.5, 0.9, 0.1, 1e-3, 1e-6)
N_PROFILES, N_LABELS = 64, 300


def check_metric(metric: Metric, *, reference: Callable[..., float] | None = None, random_state: int = 0) -> None:
    """Check that a metric keeps what searches, thresholds and bounds rely on.

    Parameters
    ----------
    metric : Metric
        The metric.
    reference : callable, default=None
        Another formula for the same metric, ``reference(y_true, y_pred, sample_weight=...)`` with labels 0 and 1, such
        as `sklearn.metrics.f1_score`.
    random_state : int, default=0
        Seed of the error profiles, levels and predictions that are tried.

    Raises
    ------
    AssertionError
        If a check fails; the message says which one, and where.

    Notes
    -----
    The checks: it works on scalars and on arrays alike, without warnings, and changes nothing; it never grows with an
    error, never exceeds the end of its range; its costs are not negative and never both 0. A linear-fractional one
    must also have a denominator that is not negative, and costs whose line divides the plane exactly at their level.
    Only ``reference`` can say whether it is the metric that its name promises: both must agree on random predictions,
    with weights and without, of which each kind, right or wrong, occurs.

    Examples
    --------
    >>> from csf.metrics import FBeta, FalsePositiveRate
    >>> check_metric(FBeta(2.0))
    >>> check_metric(FalsePositiveRate())
    Traceback (most recent call last):
        ...
    AssertionError: fpr, pos=0.5: the value grows with an error: ...
    >>> from sklearn.metrics import f1_score, jaccard_score
    >>> check_metric(FBeta(), reference=f1_score)
    >>> check_metric(FBeta(), reference=jaccard_score)
    Traceback (most recent call last):
        ...
    AssertionError: f1, pos=0.5: the reference gives ...
    """
    require(isinstance(metric, Metric), f"{metric!r} is not a csf.metrics.Metric")
    require(isinstance(metric.name, str) and metric.name != "", f"name must be a text, got {metric.name!r}")
    laws: list[Callable[[Any, float, np.random.Generator], None]]
    laws = [_range_is_an_interval, _serves_arrays, _falls_with_errors, _stays_in_its_range, _costs_are_usable]
    if isinstance(metric, LinearFractional):
        laws += [_denominator_is_positive, _costs_cut_at_the_level, _differences_are_weighted_errors]
    if reference is not None:
        laws.append(partial(_agrees_with_the_reference, reference=reference))
    for pos in SHARES:
        rng = generator(random_state)
        for law in laws:
            strict = np.errstate(divide="raise", over="raise", invalid="raise")
            with naming(f"{metric.name}, pos={pos:g}"), warnings.catch_warnings(action="error"), strict:
                law(metric, pos, rng)


def _profiles(pos: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random profiles of the box, its corners and its edges; read-only."""
    fnr = np.concatenate(
        [[0.0, 1.0, 0.0, 1.0], rng.random(N_PROFILES), np.zeros(8), rng.random(8), 0.1 ** np.arange(9)]
    )
    fpr = np.concatenate([[0.0, 0.0, 1.0, 1.0], rng.random(N_PROFILES), rng.random(8), np.ones(8), 0.1 ** np.arange(9)])
    fn, fp = fnr * pos, fpr * (1.0 - pos)
    fn.flags.writeable = fp.flags.writeable = False
    return fn, fp


def _levels(metric: Metric, pos: float, rng: np.random.Generator) -> list[float]:
    lo, hi = metric.range(pos)
    levels = np.concatenate([[lo, hi], lo + (hi - lo) * rng.random(16)])
    return [metric.clip_level(t, pos=pos) for t in levels]


def _range_is_an_interval(metric: Metric, pos: float, rng: np.random.Generator) -> None:
    lo, hi = metric.range(pos)
    require(np.isfinite([lo, hi]).all() and lo < hi, f"the range must be finite with lo < hi, got {(lo, hi)}")


def _serves_arrays(metric: Metric, pos: float, rng: np.random.Generator) -> None:
    fn, fp = _profiles(pos, rng)
    values: Any = metric.value(fn, fp, pos=pos)
    require(isinstance(values, np.ndarray) and values.shape == fn.shape, f"arrays must give an array, got {values!r}")
    require(np.isfinite(values).all(), f"values must be finite, got {values[~np.isfinite(values)][:1]}")
    require(np.array_equal(values, metric.value(fn, fp, pos=pos)), "the same profiles give other values")
    for x, y, value in zip(fn.tolist(), fp.tolist(), values.tolist()):
        alone = metric.value(x, y, pos=pos)
        require(np.ndim(alone) == 0, f"numbers must give a number, got {alone!r}")
        close = abs(alone - value) <= 1e-12 * max(1.0, abs(value))
        require(close, f"the profile ({x:g}, {y:g}) is worth {alone} alone and {value} in an array")


def _falls_with_errors(metric: Metric, pos: float, rng: np.random.Generator) -> None:
    fn, fp = _profiles(pos, rng)
    values = np.asarray(metric.value(fn, fp, pos=pos))
    better = metric.value(fn * rng.random(fn.size), fp * rng.random(fp.size), pos=pos)
    grows = better < values - 1e-9 * np.maximum(1.0, np.abs(values))
    at = np.argmax(grows)
    require(not grows.any(), f"the value grows with an error: {values[at]:g} at ({fn[at]:g}, {fp[at]:g}), less below")


def _stays_in_its_range(metric: Metric, pos: float, rng: np.random.Generator) -> None:
    (_, hi), best = metric.range(pos), metric.value(0.0, 0.0, pos=pos)
    require(best <= hi + 1e-9 * max(1.0, abs(hi)), f"no errors are worth {best:g}, above the range's end {hi:g}")


def _costs_are_usable(metric: Metric, pos: float, rng: np.random.Generator) -> None:
    for t in _levels(metric, pos, rng):
        costs = metric.cost_weights(t, pos=pos)
        require(len(costs) == 2, f"cost_weights must return (c_fn, c_fp), got {costs!r}")
        usable = np.isfinite(costs).all() and min(costs) >= 0 and max(costs) > 0
        require(usable, f"the costs at level {t:g} must be finite, not negative and not both 0, got {costs}")


def _denominator_is_positive(metric: LinearFractional, pos: float, rng: np.random.Generator) -> None:
    c = metric.coefficients(pos)
    require(len(c) == 6 and np.isfinite(c).all(), f"coefficients must be six finite numbers, got {tuple(c)}")
    fn, fp = _profiles(pos, rng)
    lowest = metric.denominator(fn, fp, pos=pos).min()
    require(lowest >= -1e-12 * max(1.0, abs(c.d0)), f"the denominator falls to {lowest:g}; it must not be negative")


def _defined(metric: LinearFractional, pos: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
    """Profiles whose denominator is not 0, with their values."""
    fn, fp = _profiles(pos, rng)
    defined = metric.denominator(fn, fp, pos=pos) > 1e-9 * abs(metric.coefficients(pos).d0)
    fn, fp = fn[defined], fp[defined]
    return fn, fp, np.asarray(metric.value(fn, fp, pos=pos))


def _costs_cut_at_the_level(metric: LinearFractional, pos: float, rng: np.random.Generator) -> None:
    fn, fp, values = _defined(metric, pos, rng)
    for t in _levels(metric, pos, rng):
        c_fn, c_fp = metric.cost_weights(t, pos=pos)
        excess = c_fn * fn + c_fp * fp + metric.offset(t, pos=pos)
        wrong = (np.abs(values - t) > 1e-9) & ((excess < 0) != (values > t))
        at = np.argmax(wrong)
        require(not wrong.any(), f"the costs of level {t:g} misplace ({fn[at]:g}, {fp[at]:g}) of value {values[at]:g}")


def _differences_are_weighted_errors(metric: LinearFractional, pos: float, rng: np.random.Generator) -> None:
    fn, fp, values = _defined(metric, pos, rng)
    denominator = metric.denominator(fn, fp, pos=pos)
    for x, y, value in zip(fn[:16], fp[:16], values[:16]):
        c_fn, c_fp = metric.cost_weights(value, pos=pos)
        weighted = (c_fn * (fn - x) + c_fp * (fp - y)) / denominator
        close = np.abs(weighted - (value - values)) <= 1e-9 * np.maximum(1.0, np.abs(weighted))
        require(close.all(), "differences of values are not those of errors weighted by cost_weights")


def _agrees_with_the_reference(
    metric: Metric, pos: float, rng: np.random.Generator, *, reference: Callable[..., float]
) -> None:
    n_pos = max(4, round(N_LABELS * min(pos, 0.99)))
    y_true = (np.arange(N_LABELS) < n_pos).astype(int)
    for wrong in (0.1, 0.3, 0.5):
        y_pred = np.where(rng.random(N_LABELS) < wrong, 1 - y_true, y_true)
        y_pred[:2], y_pred[-2:] = (0, 1), (0, 1)  # each kind occurs: what 0 / 0 is worth is a matter of taste
        for sample_weight in (None, rng.uniform(0.1, 2.0, N_LABELS)):
            expected = float(reference(y_true, y_pred, sample_weight=sample_weight))
            value = metric.score(y_true, y_pred, sample_weight=sample_weight)
            close = abs(value - expected) <= 1e-9 * max(1.0, abs(expected))
            how = "without weights" if sample_weight is None else "with weights"
            share = f"{y_true.mean():.3g} of the labels positive, {wrong:g} of them wrong, {how}"
            require(close, f"the reference gives {expected:.6g} where the metric gives {value:.6g} ({share})")
