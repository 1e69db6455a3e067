"""Pipelines: costs reach their last step alone, so that the others are fitted once for each fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from csf._common.typing import Costs, Estimator
from csf._sklearn import clone, routing_enabled, safe_indexing
from csf.samples.folds import Data, Fold
from csf.trainers.base import Trainer

if TYPE_CHECKING:
    from csf.costs.weights import WeightRoute
    from csf.scores.responses import Response
    from csf.trainers.base import Training


__all__ = ["PipelineTrainer", "pipeline_trainers"]


@dataclass(frozen=True, eq=False)
class _Before:
    """Steps before the last one, fitted to the training part of a split, and what they make of both parts.

    Parameters
    ----------
    steps : list of tuple of (str, object)
        The fitted steps.
    X : ndarray or CSR of shape (n_train + n_test, n_features)
        Transformed samples, those to train on first.
    shared : dict
        What trainers of the last step share.
    """

    steps: list
    X: object
    shared: dict = field(default_factory=dict)


class PipelineTrainer(Trainer):
    """Trains the last step of a pipeline on what the fitted steps before it give.

    Parameters
    ----------
    base : Pipeline
        Unfitted pipeline.
    steps : list of tuple of (str, object)
        The fitted steps before the last one.
    last : Trainer
        Trainer of the last step.
    """

    def __init__(self, base: Pipeline, steps: list[tuple[str, Any]], last: Trainer) -> None:
        self.base, self.steps, self.last = base, steps, last
        # Settings with other steps hold other data.
        self.family = None if last.family is None else f"{last.family} on {id(steps)}"

    @property
    def releases_gil(self) -> Any:
        """As the last step."""
        return self.last.releases_gil

    def position(self, costs: Costs) -> tuple[float, float]:
        """As the last step; see `Trainer.position`."""
        return self.last.position(costs)

    def fit(self, costs: Costs, starts: Sequence[Any] = ()) -> Training:
        """Train the last step; see `Trainer.fit`."""
        return self.last.fit(costs, starts)

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Ask the last step; see `Trainer.predict`."""
        return self.last.predict(training, part, tune=tune)

    def estimator(self, training: Training) -> Estimator:
        """The whole pipeline; see `Trainer.estimator`."""
        model = clone(self.base)
        model.steps = [*self.steps, (self.base.steps[-1][0], self.last.estimator(training))]
        return model


def pipeline_trainers(
    base: Pipeline,
    folds: list[Fold],
    route: WeightRoute,
    normalize: str,
    shared: dict[str, Any],
    *,
    trainers: Callable[..., Any],
) -> list[Trainer] | None:
    """Trainers of a pipeline, one for each fold.

    Parameters
    ----------
    base : Pipeline
        The base of one setting.
    folds : list of Fold
        Folds of the same data.
    route : WeightRoute
        How costs reach the base.
    normalize : {"none", "mean"}
        See `csf.costs.weights.cost_sample_weight`.
    shared : dict
        Keeps the fitted steps between calls: settings that differ in the last step alone share them, and problems on
        the same splits whose ``"labels"`` are what these steps see instead of the targets.
    trainers : callable
        Makes the trainers of the last step.

    Returns
    -------
    list of Trainer or None
        ``None`` where the steps do not allow it, or fail on the data.
    """
    name, last = base.steps[-1]
    inner, _, argument = route.name.partition("__")
    if len(base.steps) < 2 or inner != name or not argument or routing_enabled() or folds[0].data.fit_params:
        return None
    all_before = _fit_before(base, folds, shared)
    if all_before is None:
        return None
    route = replace(route, name=argument)
    made = [
        trainers(last, [_transformed(fold, before.X)], route, normalize, before.shared)[0]
        for fold, before in zip(folds, all_before)
    ]
    return [PipelineTrainer(base, before.steps, trainer) for before, trainer in zip(all_before, made)]


def _fit_before(base, folds, shared):
    """Fitted steps for each fold, or ``None``; those of an earlier setting where it has the same steps."""
    known = shared.setdefault("steps", [])
    steps = _hash(base.steps[:-1])
    splits = [(fold.train, fold.test) for fold in folds]
    for other_steps, other_splits, all_before in known:
        if steps == other_steps and _same(splits, other_splits):
            return all_before
    all_before = _fit_anew(base, folds, shared.get("labels", folds[0].data.y))
    if steps is not None:
        known.append((steps, splits, all_before))
    return all_before


def _same(splits, others):
    return len(splits) == len(others) and all(map(np.array_equal, sum(splits, ()), sum(others, ())))


def _hash(steps):
    try:
        return joblib.hash(steps)
    except Exception:  # what cannot be pickled cannot be compared
        return None


def _fit_anew(base, folds, y):
    result = []
    for fold in folds:
        before = clone(base)[:-1]
        X_train, X_test = (safe_indexing(fold.data.X, at) for at in (fold.train, fold.test))
        try:
            parts = before.fit_transform(X_train, y[fold.train]), before.transform(X_test)
        except Exception:  # every trial then fails with the same error, and records it
            return None
        if not all(sparse.issparse(part) or isinstance(part, np.ndarray) for part in parts):
            return None
        joined = sparse.vstack(parts).tocsr() if sparse.issparse(parts[0]) else np.concatenate(parts)
        result.append(_Before(before.steps, joined))
    return result


def _transformed(fold, X):
    """Fold of transformed samples: the training part above the held-out one."""
    weight = None if fold.weight_train is None else np.concatenate([fold.weight_train, fold.weight_test])
    data = Data(X, np.concatenate([fold.y_train, fold.y_test]), weight)
    n_train = fold.train.shape[0]
    return Fold(data, np.arange(n_train), np.arange(n_train, X.shape[0]))
