"""What a trainer must give back for a handful of rows, checked where it is registered."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from csf._common.typing import Estimator
from csf.data.costs import CostChannel, cost_channel
from csf.data.folds import Fold, Task, make_folds
from csf.data.responses import respond, response_method
from csf.trainers.base import GenericTrainer, Maker, Prepared, Trainer, Training, seeded

__all__ = ["checked_trainers", "quick_check", "require_nearest", "scores_of"]

COSTS, SWAPPED = (4.0, 1.0), (1.0, 4.0)
# How much nearer to the right answer than to any wrong one a trainer must be: solvers end within their tolerance.
NEARER = 0.3


def quick_check(maker: Maker, base: Estimator) -> None:
    """Refuse a maker whose trainers cannot be right.

    Notes
    -----
    One training and three of the base itself, 40 rows each. `csf.testing.check_trainer` checks much more.
    """
    base = seeded(base, np.random.RandomState(0))
    try:
        channel = cost_channel(base)
    except ValueError:  # takes no weights, so that no search will ever train it
        return
    fold = _small_fold()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        made = checked_trainers(maker, base, [fold], channel)
        if made is None or type(made[0]) is GenericTrainer:
            return
        training = _trained(made[0])
        _require_answers(made[0], training, base, fold, channel)


def checked_trainers(
    maker: Maker, base: Estimator, folds: list[Fold], channel: CostChannel, normalize: str = "none"
) -> list[Trainer] | None:
    """Trainers of a maker, which must be one for each fold."""
    try:
        made = maker(base, folds, channel, normalize, Prepared())
    except Exception as error:
        raise ValueError(f"the maker fails for {base!r} on {folds[0].y_train.size} rows: {error!r}") from error
    if made is None:
        return None
    if not isinstance(made, list) or not all(isinstance(trainer, Trainer) for trainer in made):
        raise TypeError(f"the maker must return None or a list of csf.trainers.Trainer, one a fold, got {made!r}")
    if len(made) != len(folds):
        raise ValueError(f"the maker must return one trainer for each fold, got {len(made)} for {len(folds)} folds")
    return made


def scores_of(trainer: Trainer, training: Training, part: str) -> np.ndarray:
    """Scores of a part of the fold, or decisions as 0 and 1 where the base has no scores."""
    tune = response_method(trainer.base) is not None
    answer = trainer.predict(training, part, tune=tune)
    return np.asarray(answer.decided if answer.score is None else answer.score, dtype=float)


def require_nearest(name: str, score: np.ndarray, right: np.ndarray, wrong: Mapping[str, np.ndarray]) -> None:
    """Require that scores are much nearer to the right ones than to any wrong ones that differ from these."""
    if not np.isfinite(score).all():
        raise ValueError(f"{name} must be finite, got {score[~np.isfinite(score)][0]}")
    # Scores may be nearly constant, -1 for an SVM that finds nothing: then their size is the measure.
    off, size = _distance(score, right), float(np.sqrt(np.mean(right**2))) + 1e-300
    away = {text: _distance(other, right) for text, other in wrong.items()}
    away = {text: distance for text, distance in away.items() if distance > 1e-2 * size}
    limit = NEARER * min([*away.values(), size])
    if off > limit:
        nearest = min(away, key=lambda text: _distance(score, wrong[text]), default=None)
        near = _distance(score, wrong[nearest]) if nearest is not None else np.inf
        like = f" is as near to that {nearest} ({near:.3g})" if near <= off / NEARER else " is neither this nor that"
        raise ValueError(f"{name}{like}: the base's own is {off:.3g} away, more than {limit:.3g}")


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.sqrt(np.mean((one - other) ** 2)))


def _small_fold() -> Fold:
    rng = np.random.default_rng(0)
    y = np.tile([0, 0, 1, 0, 1], 12)
    X = rng.random((y.size, 3)) + 0.4 * y[:, None] * [1.0, 0.5, 0.0]
    return make_folds(Task(X, y), [(np.arange(40), np.arange(40, 60))])[0]


def _trained(trainer: Trainer) -> Training:
    try:
        training = trainer.fit(COSTS)
    except Exception as error:
        raise ValueError(f"{type(trainer).__name__}.fit fails on 40 rows: {error!r}") from error
    if not isinstance(training, Training):
        raise TypeError(f"{type(trainer).__name__}.fit must return a csf.trainers.Training, got {training!r}")
    return training


def _require_answers(trainer: Trainer, training: Training, base: Estimator, fold: Fold, channel: CostChannel) -> None:
    name, generic = type(trainer).__name__, GenericTrainer(base, fold, channel)
    answers = {
        text: scores_of(generic, generic.fit(costs), "test")
        for text, costs in (("right", COSTS), ("for swapped costs", SWAPPED), ("for equal costs", (1.0, 1.0)))
    }
    score = scores_of(trainer, training, "test")
    require_nearest(f"the answer of {name} for costs {COSTS}", score, answers.pop("right"), answers)
    model = trainer.estimator(training)
    if not np.array_equal(getattr(model, "classes_", ()), [0, 1]):
        raise ValueError(
            f"{name}.estimator must have classes_ [0, 1], as a fitted {type(base).__name__} has, got "
            f"{getattr(model, 'classes_', 'none')}"
        )
    own = respond(model, fold.X_test, 0, tune=False).decided
    decided = trainer.predict(training, "test", tune=False).decided
    if np.mean(own != decided) > 0.1:
        raise ValueError(
            f"{name}.predict and its estimator disagree on {np.sum(own != decided)} of {own.size} held-out rows"
        )
