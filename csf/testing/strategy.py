"""Contract of strategies."""

from collections.abc import Callable

import numpy as np

from csf._common.validation import generator
from csf.metrics import Metric, get_metric
from csf.metrics.profile import ErrorProfile
from csf.strategies import Strategy
from csf.strategies.base import has_one_ratio
from csf.study import Study
from csf.testing._require import require
from csf.trials import Trial

__all__ = ["check_strategy"]

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
    They are tried with an exact and a noisy learner, one that finds nothing, and one that often fails.

    It must also find something. There are two trade-offs, one best at high costs of a false negative, where equal costs
    find nothing, and one best near equal costs. With an exact learner it must come 70 % of the way from the better
    constant prediction to the best profile, on both (40 % with fewer than four trainings, where even balanced
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
    """Profiles of a convex trade-off between both errors."""
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
        for at in rng.permutation(len(batch)):
            point = learn(batch[at].costs)
            if point is None:
                study.fail(batch[at], "simulated")
            else:
                study.tell(batch[at], profile=ErrorProfile(float(point[0]), float(point[1]), study.pos))


def _ask(study: Study, rng: np.random.Generator) -> Trial | None:
    """Next trial, after the laws about one proposal were checked."""
    pending = study.state()["pending"]
    if study.strategy.batch_size is not None and pending >= study.strategy.batch_size:
        return None
    history = list(study.trials)
    options = {"metric": study.metric, "pos": study.pos}
    first = study.strategy.propose(tuple(history), **options)
    require(study.strategy.propose(tuple(history), **options) == first, "the same trials give another proposal")
    mixed = [history[at] for at in rng.permutation(len(history))]
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
    """Two positives in a hundred: the best profiles for F1 and the G-mean are cheapest at costs of 10 to 50 to 1."""
    pos, tpr = 0.02, np.linspace(0.0, 1.0, 401)
    return pos, np.column_stack([pos * (1.0 - tpr), (1.0 - pos) * (0.1 * tpr + 0.9 * tpr**8)])


def _clear_class() -> tuple[float, np.ndarray]:
    """A quarter of the positives costs six false positives each: costs beyond 6 to 1 buy them, to no good."""
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
    floor, found = constant + share * (best - constant), max(values)
    require(
        found >= floor,
        f"{where}: the best {metric.name} is {found:.3g}, where {best:.3g} can be had, and {floor:.3g} is asked for",
    )
