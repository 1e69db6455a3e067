"""Contract of strategies."""

import numpy as np

from csf._validation import generator
from csf.errors.profile import ErrorProfile
from csf.metrics.registry import get_metric
from csf.strategies import Strategy
from csf.study import Study
from csf.testing._require import require

__all__ = ["check_strategy"]


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
    require(study.strategy.propose(tuple(history), **options) == first, "the same trials give another proposal")
    mixed = [history[at] for at in rng.permutation(len(history))]
    given = list(mixed)
    other = study.strategy.propose(given, **options)
    require(other == first, f"the proposal depends on the order of the trials: {first} and {other}")
    require(given == mixed, "propose changed the list of trials")
    trial = study.ask()
    # Where costs do not depend on the level, one training says it all.
    repeated = trial is None and "tried before" in (study.stop_reason or "")
    require(not repeated or _constant_costs(study), study.stop_reason)
    return trial


def _constant_costs(study):
    lo, hi = study.metric.range(study.pos)
    low, high = (study.metric.cost_weights(lo + share * (hi - lo), pos=study.pos) for share in (0.25, 0.75))
    return low == high
