"""Contracts of metrics and strategies, and how all contracts assert what they check."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from csf._common.typing import Values
from csf._common.validation import generator
from csf.metrics import LinearFractional, Metric, get_metric
from csf.metrics.profile import ErrorProfile
from csf.metrics.trials import Trial
from csf.search.study import Study
from csf.strategies import Strategy
from csf.strategies.base import has_one_ratio


def require(holds: object, message: str) -> None:
    """Raise AssertionError with the message unless ``holds``."""
    if not holds:
        raise AssertionError(message)


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Turn any error of a check into an AssertionError that names the place."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{where}: {error}") from error


# Shares of positives from balanced to one in a million.
SHARES = (0.5, 0.9, 0.1, 1e-3, 1e-6)
N_PROFILES, N_LABELS = 64, 300
# Rounding of a few operations, as a share of the terms that they add up.
_EPSILONS = 8.0 * np.finfo(float).eps


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
    if metric.as_ratio is not None:
        laws += [_denominator_is_positive, _costs_cut_at_the_level, _differences_are_weighted_errors]
    if reference is not None:
        laws.append(partial(_agrees_with_the_reference, reference=reference))
    low, high = metric.share_range
    for pos in (low + (high - low) * share for share in SHARES):
        rng = generator(random_state)
        for law in laws:
            strict = np.errstate(divide="raise", over="raise", invalid="raise")
            with naming(f"{metric.name}, pos={pos:g}"), warnings.catch_warnings(action="error"), strict:
                law(metric, pos, rng)


def _profiles(pos: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw random profiles of the box, its corners and its edges; read-only."""
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
    values: Values = metric.value(fn, fp, pos=pos)
    require(isinstance(values, np.ndarray) and values.shape == fn.shape, f"arrays must give an array, got {values!r}")
    require(np.isfinite(values).all(), f"values must be finite, got {values[~np.isfinite(values)][:1]}")
    require(np.array_equal(values, metric.value(fn, fp, pos=pos)), "the same profiles give other values")
    for x, y, value in zip(fn.tolist(), fp.tolist(), values.tolist()):
        single = metric.value(x, y, pos=pos)
        require(np.ndim(single) == 0, f"numbers must give a number, got {single!r}")
        close = abs(single - value) <= 1e-12 * max(1.0, abs(value))
        require(close, f"the profile ({x:g}, {y:g}) is worth {single} alone and {value} in an array")


def _falls_with_errors(metric: Metric, pos: float, rng: np.random.Generator) -> None:
    fn, fp = _profiles(pos, rng)
    values = np.asarray(metric.value(fn, fp, pos=pos))
    better = metric.value(fn * rng.random(fn.size), fp * rng.random(fp.size), pos=pos)
    grows = better < values - 1e-9 * np.maximum(1.0, np.abs(values))
    worst = np.argmax(grows)
    require(
        not grows.any(),
        f"the value grows with an error: {values[worst]:g} at ({fn[worst]:g}, {fp[worst]:g}), less below",
    )


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


def _defined(
    metric: LinearFractional, pos: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw profiles whose denominator is not 0. Return them with their values."""
    fn, fp = _profiles(pos, rng)
    defined = metric.denominator(fn, fp, pos=pos) > 1e-9 * abs(metric.coefficients(pos).d0)
    fn, fp = fn[defined], fp[defined]
    return fn, fp, np.asarray(metric.value(fn, fp, pos=pos))


def _rounding(metric: LinearFractional, fn: np.ndarray, fp: np.ndarray, pos: float) -> np.ndarray:
    """Bound what rounding leaves of the terms of numerator and denominator, in units of the metric."""
    n0, n_fn, n_fp, d0, d_fn, d_fp = np.abs(metric.coefficients(pos))
    top, bottom = n0 + n_fn * fn + n_fp * fp, d0 + d_fn * fn + d_fp * fp
    largest = 1.0 + np.abs(metric.range(pos)).max()
    return 1e-9 + _EPSILONS * (top + largest * bottom) / metric.denominator(fn, fp, pos=pos)


def _costs_cut_at_the_level(metric: LinearFractional, pos: float, rng: np.random.Generator) -> None:
    fn, fp, values = _defined(metric, pos, rng)
    noise = _rounding(metric, fn, fp, pos)
    for t in _levels(metric, pos, rng):
        c_fn, c_fp = metric.cost_weights(t, pos=pos)
        excess = c_fn * fn + c_fp * fp + metric.offset(t, pos=pos)
        wrong = (np.abs(values - t) > noise) & ((excess < 0) != (values > t))
        worst = np.argmax(wrong)
        require(
            not wrong.any(),
            f"the costs of level {t:g} misplace ({fn[worst]:g}, {fp[worst]:g}) of value {values[worst]:g}",
        )


def _differences_are_weighted_errors(metric: LinearFractional, pos: float, rng: np.random.Generator) -> None:
    fn, fp, values = _defined(metric, pos, rng)
    denominator, noise = metric.denominator(fn, fp, pos=pos), _rounding(metric, fn, fp, pos)
    for row, (x, y, value) in enumerate(zip(fn[:16], fp[:16], values[:16])):
        c_fn, c_fp = metric.cost_weights(value, pos=pos)
        weighted = (c_fn * (fn - x) + c_fp * (fp - y)) / denominator
        # The value itself is rounded, and in units of another denominator its rounding may be larger.
        either = noise + noise[row] * np.maximum(1.0, denominator[row] / denominator)
        close = np.abs(weighted - (value - values)) <= either * np.maximum(1.0, np.abs(weighted))
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


Learner = Callable[[tuple[float, float]], np.ndarray | None]

# Share of the way from the better constant prediction to the best profile that a search must go: with fewer trainings
# than FEW as far as a single one with balanced classes comes, else nearly all of it.
FEW, SHARE_OF_FEW, SHARE = 4, 0.4, 0.7


def check_strategy(
    strategy: Strategy, *, metric: str | Metric = "f1", n_trials: int = 20, random_state: int = 0
) -> None:
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
        If a check fails; the message says which one, and after which trials.

    Notes
    -----
    The checks: the same trials, in any order, give the same proposal, and stay as they are; a proposal is a level in
    the range of the metric, positive costs or ``None``, and its costs are new; pending and failed trials are borne.
    They are tried with an exact and a noisy learner, one that predicts no positives, and one that often fails.

    It must also make progress. There are two trade-offs, one best at high costs of a false negative, where equal costs
    predict no positives, and one best near equal costs. With an exact learner it must come 70 % of the way from the
    better constant prediction to the best profile, on both (40 % with fewer than four trainings, where even balanced
    classes get). Metrics under a constraint, and those that a constant prediction maximises, are let off.

    Examples
    --------
    >>> from csf.strategies import Cone, FunctionStrategy
    >>> check_strategy(Cone(batch_size=2))
    >>> check_strategy(FunctionStrategy(lambda trials, *, metric, pos: 0.5))
    Traceback (most recent call last):
        ...
    AssertionError: <lambda>, exact learner, after 1 trials: costs (1.5, 0.5) were tried before: ...
    >>> check_strategy(FunctionStrategy(lambda trials, *, metric, pos: 0.9 + 0.001 * len(trials)))
    Traceback (most recent call last):
        ...
    AssertionError: <lambda>, rare class, after 20 trials: the best f1 is 0, ...
    """
    require(isinstance(strategy, Strategy), f"{strategy!r} is not a csf.strategies.Strategy")
    require(isinstance(strategy.name, str) and strategy.name != "", f"name must be a text, got {strategy.name!r}")
    size = strategy.batch_size
    require(size is None or (isinstance(size, int) and size >= 1), f"batch_size must be None or >= 1, got {size!r}")
    metric = get_metric(metric)
    for name, learner in LEARNERS.items():
        for pos in (0.3, 0.01):
            rng = generator(random_state)
            study = Study(metric, strategy, pos=pos, n_trials=n_trials)
            try:
                _search(study, learner(pos, rng), rng)
            except Exception as error:
                where = f"{strategy.name}, {name} learner, after {len(study.trials)} trials"
                raise AssertionError(f"{where}: {error}") from error
    if metric.constraint is None:
        for name, curve in CURVES.items():
            _require_progress(strategy, metric, n_trials, name, *curve())


# ---------------------------------------------------------------- simulated searches


def _curve(pos: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the profiles of a convex trade-off between both errors."""
    fnr = np.concatenate([[0.0, 1.0], rng.random(60)])
    return np.column_stack([pos * fnr, (1.0 - pos) * (1.0 - fnr**0.4) ** 2.5])


def _exact(pos: float, rng: np.random.Generator) -> Learner:
    curve = _curve(pos, rng)
    return lambda costs: curve[np.argmin(curve @ np.array(costs))]


def _noisy(pos: float, rng: np.random.Generator) -> Learner:
    curve = _curve(pos, rng)
    return lambda costs: curve[np.argsort(curve @ np.array(costs))[rng.integers(20)]]


def _blind(pos: float, rng: np.random.Generator) -> Learner:
    return lambda costs: np.array([pos, 0.0])


def _failing(pos: float, rng: np.random.Generator) -> Learner:
    learn = _noisy(pos, rng)
    return lambda costs: None if rng.random() < 0.4 else learn(costs)


LEARNERS = {"exact": _exact, "noisy": _noisy, "blind": _blind, "failing": _failing}


def _search(study: Study, learn: Learner, rng: np.random.Generator) -> None:
    while batch := list(iter(lambda: _ask(study, rng), None)):
        for row in rng.permutation(len(batch)):
            point = learn(batch[row].costs)
            if point is None:
                study.fail(batch[row], "simulated")
            else:
                study.tell(batch[row], profile=ErrorProfile(float(point[0]), float(point[1]), study.pos))


def _ask(study: Study, rng: np.random.Generator) -> Trial | None:
    """Ask for the next trial, and check the properties of its proposal."""
    pending = study.state()["pending"]
    if study.strategy.batch_size is not None and pending >= study.strategy.batch_size:
        return None
    history = list(study.trials)
    options = {"metric": study.metric, "pos": study.pos}
    first = study.strategy.propose(tuple(history), **options)
    require(study.strategy.propose(tuple(history), **options) == first, "the same trials give another proposal")
    mixed = [history[row] for row in rng.permutation(len(history))]
    given = list(mixed)
    other = study.strategy.propose(given, **options)
    require(other == first, f"the proposal depends on the order of the trials: {first} and {other}")
    require(given == mixed, "propose changed the list of trials")
    trial = study.ask()
    # Where costs do not depend on the level, one training says it all.
    repeated = trial is None and "tried before" in (study.stop_reason or "")
    require(not repeated or has_one_ratio(study.metric, pos=study.pos), f"{study.stop_reason}")
    return trial


# ---------------------------------------------------------------- progress


def _rare_class() -> tuple[float, np.ndarray]:
    """Return a trade-off with 2 % positives: the best F1 and G-mean are cheapest at costs of 10 to 50 to 1."""
    pos, tpr = 0.02, np.linspace(0.0, 1.0, 401)
    return pos, np.column_stack([pos * (1.0 - tpr), (1.0 - pos) * (0.1 * tpr + 0.9 * tpr**8)])


def _clear_class() -> tuple[float, np.ndarray]:
    """Return a trade-off in which a quarter of the positives costs six false ones each: too many for the metrics."""
    pos = 0.3
    return pos, np.array([(pos, 0.0), (0.25 * pos, 0.0), (0.0, 0.45), (0.0, 1.0 - pos)])


CURVES = {"rare class": _rare_class, "clear class": _clear_class}


def _require_progress(
    strategy: Strategy, metric: Metric, n_trials: int, name: str, pos: float, curve: np.ndarray
) -> None:
    """Require that a search with an exact learner ends near the best profile of a known trade-off."""
    constant = float(np.max(metric.value(np.array([pos, 0.0]), np.array([0.0, 1.0 - pos]), pos=pos)))
    best = float(np.max(metric.value(*curve.T, pos=pos)))
    lo, hi = metric.range(pos)
    if best - constant < 0.05 * (hi - lo):
        return
    study = Study(metric, strategy, pos=pos, n_trials=n_trials)
    while (trial := study.ask()) is not None:
        fn, fp = curve[np.argmin(curve @ np.array(trial.costs))]
        study.tell(trial, profile=ErrorProfile(float(fn), float(fp), pos))
    values = [trial.value for trial in study.trials if trial.value is not None]
    where = f"{strategy.name}, {name}, after {len(values)} trials"
    require(values, f"{where}: nothing was trained")
    share = SHARE_OF_FEW if len(values) < FEW else SHARE
    floor, reached = constant + share * (best - constant), max(values)
    require(
        reached >= floor,
        f"{where}: the best {metric.name} is {reached:.3g}, where {best:.3g} is possible and {floor:.3g} is required",
    )
