"""Contract of engines."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from csf._common.typing import Estimator
from csf._common.validation import generator
from csf.distributed import CountedCut, Engine, Job, MemoryEngine, PartScores, counted_cut
from csf.distributed.counts import MemoryScores
from csf.metrics import Constrained, Constraint, FBeta, Precision, Recall
from csf.testing.metric import require
from csf.trainers.base import Training

__all__ = ["check_engine"]

N_ROWS, N_FEATURES, N_FOLDS = 600, 4, 3
COSTS = (4.0, 1.0)
# ``make(X, y, fold, sample_weight)``: an engine on these arrays.
Make: TypeAlias = Callable[..., Engine]


def check_engine(make: Make, base: Estimator, *, tol: float = 1e-2, random_state: int = 0) -> None:
    """Check that an engine keeps what `csf.distributed.EngineSearch` relies on.

    Parameters
    ----------
    make : callable
        ``make(X, y, fold, sample_weight)`` returns the engine of some arrays: float64 samples of shape
        (n_samples, n_features), targets 0 and 1, a fold number for each sample (-1: never held out), and weights or
        ``None``.
    base : estimator
        Base as the engine calls it. It must be able to separate what lies on two sides of a plane.
    tol : float, default=1e-2
        Allowed differences of error profiles where trainings should be alike but for their solver's precision.
    random_state : int, default=0
        Seed of the samples.

    Raises
    ------
    AssertionError
        If the totals are wrong, a fold's own rows are trained on, costs are ignored or swapped, weights do not count,
        scores come from another fold's model, counts are not those of all held-out rows, collected scores are not those
        that are counted, in the order of the entries, trainings change when they are repeated or reordered, or a start
        changes what is found.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> check_engine(MemoryEngine, LogisticRegression())
    """
    rng = generator(random_state)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    y = (X[:, 0] + 0.8 * rng.normal(size=N_ROWS) > 0.8).astype(int)
    fold, weight = rng.integers(-1, N_FOLDS, N_ROWS), rng.integers(0, 4, N_ROWS) / 2.0
    for given in (None, weight):
        engine = make(X, y, fold, given)
        _check_totals(engine, MemoryEngine(X, y, fold, given))
        trained = _trained(engine, base)
        _check_counts(engine, trained, y, fold, given)
        _check_entries(engine, base, trained)
        _check_repeats(engine, base, trained, tol)
        _check_costs(engine, base, trained)
    _check_weights_count(make, base, X, y, fold, weight, tol)
    _check_nothing_leaks(make, base, X, y, fold, tol)


def _trained(engine: Engine, base: Estimator, costs: tuple[float, float] = COSTS, starts: Any = ()) -> list[Training]:
    """Trainings of all folds."""
    jobs = [Job(base, fold, costs, starts[fold : fold + 1]) for fold in range(N_FOLDS)]
    trained = engine.train(jobs)
    require(len(trained) == N_FOLDS, f"train must return one result for each of {N_FOLDS} jobs, got {len(trained)}")
    for training in trained:
        if isinstance(training, Exception):
            raise AssertionError(f"a training of {base!r} failed") from training
        require(isinstance(training, Training), f"train must return trainings, got {training!r}")
    return [training for training in trained if isinstance(training, Training)]


def _cut(engine: Engine, trained: list[Training]) -> CountedCut:
    return counted_cut(engine.scores([training.model for training in trained]), FBeta())


def _check_totals(engine: Engine, known: MemoryEngine) -> None:
    totals, expected = engine.totals(), known.totals()
    require(
        np.array_equal(totals.weight, expected.weight),
        f"totals().weight must be the weights of negatives and positives of each fold, then of rows in none, "
        f"{expected.weight.tolist()}; got {np.asarray(totals.weight).tolist()}",
    )
    require(
        np.array_equal(totals.rows, expected.rows),
        f"totals().rows must be {expected.rows.tolist()}, got {np.asarray(totals.rows).tolist()}",
    )


def _check_counts(engine: Engine, trained: list[Training], y: Any, fold: Any, weight: Any) -> None:
    """Counts are those of the scores that are listed one by one, and these are all that are held out."""
    scores = engine.scores([training.model for training in trained])
    listed = scores.distinct(np.array([-np.inf]), np.array([np.inf]))
    counted = np.ones(N_ROWS) if weight is None else weight
    expected = np.array([[(counted * ((fold == k) & (y == c))).sum() for c in (0, 1)] for k in range(N_FOLDS)])
    require(
        np.allclose(listed.sums.sum(axis=2), expected, rtol=1e-12),
        "distinct(-inf, inf) must count all rows of each fold, negatives before positives",
    )
    require(bool((np.diff(listed.lowest) > 0).all()), "distinct must list each score once, ascending")
    require(np.array_equal(listed.lowest, listed.highest), "distinct must list one score in a bin")
    edges = np.unique(np.quantile(listed.lowest, [0.0, 0.3, 0.5, 0.9]))
    bins, place = scores.counts(edges), np.searchsorted(edges, listed.lowest, side="right")
    for k in range(edges.shape[0] + 1):
        inside = place == k
        require(
            np.allclose(bins.sums[..., k], listed.sums[..., inside].sum(axis=-1), rtol=1e-12, atol=0),
            f"counts must hold in bin {k} what is at least {edges[k - 1] if k else -np.inf} and below the next edge",
        )
        require(
            bins.rows[k] == listed.rows[inside].sum(), f"counts has another number of rows in bin {k} than distinct"
        )
        ends = (listed.lowest[inside][0], listed.lowest[inside][-1]) if inside.any() else (np.inf, -np.inf)
        require((bins.lowest[k], bins.highest[k]) == ends, f"bin {k} must reach from {ends[0]} to {ends[1]}")
    # One sample with the weight of all of its class and score is as good as all of them.
    negatives, positives = listed.sums.sum(axis=0)
    is_pos = np.arange(2 * negatives.size) >= negatives.size
    alike = PartScores(np.tile(listed.lowest, 2), is_pos, np.concatenate([negatives, positives]))
    for metric in (FBeta(), Constrained(Recall(), Constraint(Precision(), ">=", 0.7))):
        found, known = counted_cut(scores, metric), counted_cut(MemoryScores([alike]), metric)
        require(found.cut == known.cut, f"the best threshold for {metric.name} must be {known.cut}, got {found.cut}")


def _check_entries(engine: Engine, base: Estimator, trained: list[Training]) -> None:
    """Collected scores belong to the entries, for whatever models."""
    entries = engine.entries()
    if entries is None:
        return
    for models in (trained, _trained(engine, base, (1.0, 2.0))):
        scores = engine.scores([training.model for training in models])
        here = MemoryScores([entries._replace(score=scores.collected())], N_FOLDS)
        ends = np.array([-np.inf]), np.array([np.inf])
        found, known = here.distinct(*ends), scores.distinct(*ends)
        require(
            np.array_equal(found.lowest, known.lowest)
            and np.array_equal(found.rows, known.rows)
            and np.allclose(found.sums, known.sums, rtol=1e-12),
            "scores().collected() must be the scores that are counted, in the order of entries(), which has truth, "
            "weight and fold of these rows",
        )


def _check_repeats(engine: Engine, base: Estimator, trained: list[Training], tol: float) -> None:
    """The same jobs give the same results, one by one and in another order, and starts change nothing but time."""
    first = _cut(engine, trained)
    alone = [engine.train([Job(base, fold, COSTS)])[0] for fold in reversed(range(N_FOLDS))][::-1]
    again = _cut(engine, [training for training in alone if isinstance(training, Training)])
    _require_alike(again, first, 1e-9, "trainings must not depend on what else is trained, and repeat")
    starts = [training.state for training in _trained(engine, base, (1.0, 2.0))]
    if starts[0] is not None:
        warm = _cut(engine, _trained(engine, base, COSTS, starts))
        _require_alike(warm, first, tol, "a training must find the same from another start")


def _check_costs(engine: Engine, base: Estimator, trained: list[Training]) -> None:
    """More is found where missing costs more."""
    shares = []
    for costs in ((1.0, 8.0), (8.0, 1.0)):
        shares.append(_cut(engine, _trained(engine, base, costs)).own.predicted_pos)
    require(shares[0] < shares[1], f"costs are ignored or swapped: {shares} of the rows are found at (1, 8) and (8, 1)")


def _check_weights_count(make: Make, base: Estimator, X: Any, y: Any, fold: Any, weight: Any, tol: float) -> None:
    """A row of weight two counts as the same row twice, and one of weight zero as none."""
    times = (2 * weight).astype(int)
    repeated = [np.repeat(values, times, axis=0) for values in (X, y, fold)]
    weighted, plain = make(X, y, fold, 2 * weight), make(*repeated, None)
    found, expected = (_cut(engine, _trained(engine, base)) for engine in (weighted, plain))
    _require_alike(found, expected, tol, "weights must count as so many rows")


def _check_nothing_leaks(make: Make, base: Estimator, X: Any, y: Any, fold: Any, tol: float) -> None:
    """What a fold holds out does not change its model: with its labels turned, the same rows are found."""
    models = [training.model for training in _trained(make(X, y, fold, None), base)]
    turned = make(X, np.where(fold == 0, 1 - y, y), fold, None)
    again = [_trained(turned, base)[0].model, *models[1:]]
    found, expected = (counted_cut(turned.scores(each), FBeta()).own for each in (again, models))
    require(
        abs(found.fn - expected.fn) + abs(found.fp - expected.fp) <= tol,
        "the model of a fold changes with the labels that the fold holds out",
    )


def _require_alike(found: CountedCut, expected: CountedCut, tol: float, law: str) -> None:
    away = abs(found.own.fn - expected.own.fn) + abs(found.own.fp - expected.own.fp)
    require(away <= tol, f"{law}: the profiles {found.own} and {expected.own} differ by more than {tol:g}")
