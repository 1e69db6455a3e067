"""Contracts of metrics and strategies, as checks that other people's parts can run too."""

import warnings

import numpy as np

from csf.metrics import LinearFractional, Metric
from csf.metrics.registry import get_metric
from csf.profiles import ErrorProfile
from csf.strategies import Strategy
from csf.study import Study

__all__ = ["check_metric", "check_strategy"]

# Shares of positives from balanced to one in a million.
SHARES = (0.5, 0.9, 0.1, 1e-3, 1e-6)
N_PROFILES = 64


def check_metric(metric, *, random_state=0):
    """Check that a metric keeps what searches, thresholds and bounds rely on.

    Parameters
    ----------
    metric : Metric
        The metric.
    random_state : int, default=0
        Seed of the error profiles and levels that are tried.

    Raises
    ------
    AssertionError
        If a law is broken; the message says which one, and where.

    Notes
    -----
    The laws: it works on scalars and on arrays alike, without warnings, and changes nothing; it never grows with an
    error, never exceeds the end of its range; its costs are not negative and never both 0. A linear-fractional one
    must also have a denominator that is not negative, and costs that cut the plane exactly at their level.

    Examples
    --------
    >>> from csf.metrics import FBeta, FalsePositiveRate
    >>> check_metric(FBeta(2.0))
    >>> check_metric(FalsePositiveRate())
    Traceback (most recent call last):
        ...
    AssertionError: fpr, pos=0.5: the value grows with an error: ...
    """
    _require(isinstance(metric, Metric), f"{metric!r} is not a csf.metrics.Metric")
    _require(isinstance(metric.name, str) and metric.name != "", f"name must be a text, got {metric.name!r}")
    laws = [_range_is_an_interval, _serves_arrays, _falls_with_errors, _stays_in_its_range, _costs_are_usable]
    if isinstance(metric, LinearFractional):
        laws += [_denominator_is_positive, _costs_cut_at_the_level, _differences_are_weighted_errors]
    for pos in SHARES:
        rng = np.random.default_rng(random_state)
        for law in laws:
            try:
                with warnings.catch_warnings(), np.errstate(divide="raise", over="raise", invalid="raise"):
                    warnings.simplefilter("error")
                    law(metric, pos, rng)
            except Exception as error:
                raise AssertionError(f"{metric.name}, pos={pos:g}: {error}") from error


def check_strategy(strategy, *, metric="f1", n_trials=20, random_state=0):
    """Check that a strategy keeps what searches rely on.

    Parameters
    ----------
    strategy : Strategy
        The strategy.
    metric : str or Metric, default="f1"
        A metric that it serves.
    n_trials : int, default=20
        Length of the simulated searches.
    random_state : int, default=0
        Seed of the simulated learners.

    Raises
    ------
    AssertionError
        If a law is broken; the message says which one, and after which trials.

    Notes
    -----
    The laws: the same trials, in any order, give the same proposal, and stay as they are; a proposal is a level in
    the range of the metric, positive costs or ``None``, and its costs are new; pending and failed trials are borne.
    They are tried with an exact and a noisy learner, one that finds nothing, and one that often fails.

    Examples
    --------
    >>> from csf.strategies import Cone, FunctionStrategy
    >>> check_strategy(Cone(batch_size=2))
    >>> check_strategy(FunctionStrategy(lambda trials, *, metric, pos: 0.5))
    Traceback (most recent call last):
        ...
    AssertionError: <lambda>, exact learner, after 1 trials: costs (1.5, 0.5) were tried before
    """
    _require(isinstance(strategy, Strategy), f"{strategy!r} is not a csf.strategies.Strategy")
    _require(isinstance(strategy.name, str) and strategy.name != "", f"name must be a text, got {strategy.name!r}")
    size = strategy.batch_size
    _require(size is None or (isinstance(size, int) and size >= 1), f"batch_size must be None or >= 1, got {size!r}")
    metric = get_metric(metric)
    for name, learner in LEARNERS.items():
        for pos in (0.3, 0.01):
            rng = np.random.default_rng(random_state)
            study = Study(metric, strategy, pos=pos, n_trials=n_trials)
            try:
                _search(study, learner(pos, rng), rng)
            except Exception as error:
                where = f"{strategy.name}, {name} learner, after {len(study.trials)} trials"
                raise AssertionError(f"{where}: {error}") from error


def _require(holds, message):
    if not holds:
        raise AssertionError(message)


# ---------------------------------------------------------------- laws of metrics


def _profiles(pos, rng):
    """Random profiles of the box, its corners and its edges; read-only."""
    fnr = np.concatenate(
        [[0.0, 1.0, 0.0, 1.0], rng.random(N_PROFILES), np.zeros(8), rng.random(8), 0.1 ** np.arange(9)]
    )
    fpr = np.concatenate([[0.0, 0.0, 1.0, 1.0], rng.random(N_PROFILES), rng.random(8), np.ones(8), 0.1 ** np.arange(9)])
    fn, fp = fnr * pos, fpr * (1.0 - pos)
    fn.flags.writeable = fp.flags.writeable = False
    return fn, fp


def _levels(metric, pos, rng):
    lo, hi = metric.range(pos)
    levels = np.concatenate([[lo, hi], lo + (hi - lo) * rng.random(16)])
    return [metric.clip_level(t, pos=pos) for t in levels]


def _range_is_an_interval(metric, pos, rng):
    lo, hi = metric.range(pos)
    _require(np.isfinite([lo, hi]).all() and lo < hi, f"the range must be finite with lo < hi, got {(lo, hi)}")


def _serves_arrays(metric, pos, rng):
    fn, fp = _profiles(pos, rng)
    values = metric.value(fn, fp, pos=pos)
    _require(isinstance(values, np.ndarray) and values.shape == fn.shape, f"arrays must give an array, got {values!r}")
    _require(np.isfinite(values).all(), f"values must be finite, got {values[~np.isfinite(values)][:1]}")
    _require(np.array_equal(values, metric.value(fn, fp, pos=pos)), "the same profiles give other values")
    for x, y, value in zip(fn.tolist(), fp.tolist(), values.tolist()):
        alone = metric.value(x, y, pos=pos)
        _require(np.ndim(alone) == 0, f"numbers must give a number, got {alone!r}")
        close = abs(alone - value) <= 1e-12 * max(1.0, abs(value))
        _require(close, f"the profile ({x:g}, {y:g}) is worth {alone} alone and {value} in an array")


def _falls_with_errors(metric, pos, rng):
    fn, fp = _profiles(pos, rng)
    values = metric.value(fn, fp, pos=pos)
    better = metric.value(fn * rng.random(fn.size), fp * rng.random(fp.size), pos=pos)
    grows = better < values - 1e-9 * np.maximum(1.0, np.abs(values))
    at = np.argmax(grows)
    _require(not grows.any(), f"the value grows with an error: {values[at]:g} at ({fn[at]:g}, {fp[at]:g}), less below")


def _stays_in_its_range(metric, pos, rng):
    (_, hi), best = metric.range(pos), metric.value(0.0, 0.0, pos=pos)
    _require(best <= hi + 1e-9 * max(1.0, abs(hi)), f"no errors are worth {best:g}, above the range's end {hi:g}")


def _costs_are_usable(metric, pos, rng):
    for t in _levels(metric, pos, rng):
        costs = metric.cost_weights(t, pos=pos)
        _require(len(costs) == 2, f"cost_weights must return (c_fn, c_fp), got {costs!r}")
        usable = np.isfinite(costs).all() and min(costs) >= 0 and max(costs) > 0
        _require(usable, f"the costs at level {t:g} must be finite, not negative and not both 0, got {costs}")


def _denominator_is_positive(metric, pos, rng):
    c = metric.coefficients(pos)
    _require(len(c) == 6 and np.isfinite(c).all(), f"coefficients must be six finite numbers, got {tuple(c)}")
    fn, fp = _profiles(pos, rng)
    lowest = metric.denominator(fn, fp, pos=pos).min()
    _require(lowest >= -1e-12 * max(1.0, abs(c.d0)), f"the denominator falls to {lowest:g}; it must not be negative")


def _costs_cut_at_the_level(metric, pos, rng):
    fn, fp = _profiles(pos, rng)
    defined = metric.denominator(fn, fp, pos=pos) > 1e-9 * abs(metric.coefficients(pos).d0)
    fn, fp = fn[defined], fp[defined]
    values = metric.value(fn, fp, pos=pos)
    for t in _levels(metric, pos, rng):
        c_fn, c_fp = metric.cost_weights(t, pos=pos)
        excess = c_fn * fn + c_fp * fp + metric.offset(t, pos=pos)
        wrong = (np.abs(values - t) > 1e-9) & ((excess < 0) != (values > t))
        at = np.argmax(wrong)
        _require(not wrong.any(), f"the costs of level {t:g} misplace ({fn[at]:g}, {fp[at]:g}) of value {values[at]:g}")


def _differences_are_weighted_errors(metric, pos, rng):
    fn, fp = _profiles(pos, rng)
    denominator = metric.denominator(fn, fp, pos=pos)
    defined = denominator > 1e-9 * abs(metric.coefficients(pos).d0)
    fn, fp, denominator = fn[defined], fp[defined], denominator[defined]
    values = metric.value(fn, fp, pos=pos)
    for x, y, value in zip(fn[:16], fp[:16], values[:16]):
        c_fn, c_fp = metric.cost_weights(value, pos=pos)
        weighted = (c_fn * (fn - x) + c_fp * (fp - y)) / denominator
        close = np.abs(weighted - (value - values)) <= 1e-9 * np.maximum(1.0, np.abs(weighted))
        _require(close.all(), "differences of values are not those of errors weighted by cost_weights")


# ---------------------------------------------------------------- simulated searches


def _curve(pos, rng):
    """Profiles of a convex trade-off between both errors."""
    fnr = np.concatenate([[0.0, 1.0], rng.random(60)])
    return np.column_stack([pos * fnr, (1.0 - pos) * (1.0 - fnr**0.4) ** 2.5])


def _exact(pos, rng):
    curve = _curve(pos, rng)
    return lambda costs: curve[np.argmin(curve @ np.array(costs))]


def _noisy(pos, rng):
    curve = _curve(pos, rng)
    return lambda costs: curve[np.argsort(curve @ np.array(costs))[rng.integers(20)]]


def _blind(pos, rng):
    return lambda costs: np.array([pos, 0.0])


def _failing(pos, rng):
    learn = _noisy(pos, rng)
    return lambda costs: None if rng.random() < 0.4 else learn(costs)


LEARNERS = {"exact": _exact, "noisy": _noisy, "blind": _blind, "failing": _failing}


def _search(study, learn, rng):
    while batch := list(iter(lambda: _ask(study, rng), None)):
        for at in rng.permutation(len(batch)):
            point = learn(batch[at].costs)
            if point is None:
                study.fail(batch[at], "simulated")
            else:
                study.tell(batch[at], profile=ErrorProfile(*point.tolist(), study.pos))


def _ask(study, rng):
    """Next trial, after the laws about one proposal were checked."""
    pending = study.state()["pending"]
    if study.strategy.batch_size is not None and pending >= study.strategy.batch_size:
        return None
    history = list(study.trials)
    options = {"metric": study.metric, "pos": study.pos}
    first = study.strategy.propose(tuple(history), **options)
    _require(study.strategy.propose(tuple(history), **options) == first, "the same trials give another proposal")
    mixed = [history[at] for at in rng.permutation(len(history))]
    given = list(mixed)
    other = study.strategy.propose(given, **options)
    _require(other == first, f"the proposal depends on the order of the trials: {first} and {other}")
    _require(given == mixed, "propose changed the list of trials")
    trial = study.ask()
    # Where costs do not depend on the level, one training says it all.
    repeated = trial is None and "tried before" in (study.stop_reason or "")
    _require(not repeated or _constant_costs(study), study.stop_reason)
    return trial


def _constant_costs(study):
    lo, hi = study.metric.range(study.pos)
    low, high = (study.metric.cost_weights(lo + share * (hi - lo), pos=study.pos) for share in (0.25, 0.75))
    return low == high
