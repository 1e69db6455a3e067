"""Pipelines: costs reach their last step alone, so that the others are fitted once for each fold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import joblib
import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from csf._common.sklearn import clone, routing_enabled, safe_indexing
from csf._common.typing import Costs, Estimator, IntArray, Samples
from csf.data.costs import CostChannel
from csf.data.folds import Fold, Task
from csf.data.responses import Response
from csf.trainers.base import FittedSteps, Prepared, Steps, Trainer, Training

__all__ = ["PipelineTrainer", "pipeline_trainers"]


class PipelineTrainer(Trainer):
    """Trains the last step of a pipeline on what the fitted steps before it give."""

    def __init__(self, base: Pipeline, steps: list[tuple[str, Any]], last: Trainer) -> None:
        self.base, self.steps, self.last = base, steps, last
        self.releases_gil = last.releases_gil

    @property
    def family(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride] (that of boosters comes late)
        """Settings with other steps hold other data."""
        return None if self.last.family is None else f"{self.last.family} on {id(self.steps)}"

    def position(self, costs: Costs) -> tuple[float, ...]:
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
    channel: CostChannel,
    normalize: str,
    prepared: Prepared,
    *,
    trainers: Callable[..., list[Trainer]],
) -> list[Trainer] | None:
    """Trainers of a pipeline, one for each fold."""
    name, last = base.steps[-1]
    own = channel.inside(name)
    # Arguments of fit, given or routed, could be meant for any step: the whole pipeline is fitted each time then.
    if len(base.steps) < 2 or own is None or routing_enabled() or folds[0].task.fit_params:
        return None
    steps = _fit_before(base, folds, prepared)
    if steps is None:
        return None
    made = [
        trainers(last, [_transformed(fold, each)], own, normalize, each.prepared)[0] for fold, each in zip(folds, steps)
    ]
    return [PipelineTrainer(base, each.fitted, trainer) for each, trainer in zip(steps, made)]


def _fit_before(base: Pipeline, folds: list[Fold], prepared: Prepared) -> list[Steps] | None:
    """Fitted steps for each fold, or ``None``; those of an earlier setting where it has the same steps."""
    key = _hash(base.steps[:-1])
    splits = [(fold.train, fold.test) for fold in folds]
    for known in prepared.steps:
        if known.serve(key, splits):
            return known.steps
    steps = _fit_anew(base, folds, folds[0].task.codes if prepared.labels is None else prepared.labels)
    if key is not None:
        prepared.steps.append(FittedSteps(key, splits, steps))
    return steps


def _hash(steps: list[tuple[str, Any]]) -> str | None:
    try:
        return joblib.hash(steps)
    except Exception:  # what cannot be pickled cannot be compared
        return None


def _fit_anew(base: Pipeline, folds: list[Fold], y: IntArray) -> list[Steps] | None:
    result = []
    for fold in folds:
        before = clone(base)[:-1]
        X_train, X_test = (safe_indexing(fold.task.X, at) for at in (fold.train, fold.test))
        try:
            parts = before.fit_transform(X_train, y[fold.train]), before.transform(X_test)
        except Exception:  # every trial then fails with the same error, and records it
            return None
        joined = _joined(*parts)
        if joined is None:
            return None
        result.append(Steps(before.steps, joined, Prepared()))
    return result


def _joined(train: Samples, test: Samples) -> Samples | None:
    """The rows of both parts, one above the other; ``None`` where they could become something else on the way."""
    if sparse.issparse(train):
        return sparse.vstack([train, test]).tocsr()
    if isinstance(train, np.ndarray):
        return np.concatenate([train, test])
    name = type(train).__module__.partition(".")[0]
    # What set_output(transform=...) gives; whoever has such a frame has imported its package.
    if name not in ("pandas", "polars") or type(test) is not type(train) or list(test.columns) != list(train.columns):
        return None
    # Categories that differ would become texts, and numbers next to missing ones other numbers.
    same = list(test.dtypes) == list(train.dtypes)
    return sys.modules[name].concat([train, test]) if same else None


def _transformed(fold: Fold, steps: Steps) -> Fold:
    """Fold of transformed samples, the training part above the held-out one; the same one for all settings."""
    known: WeakKeyDictionary[Fold, Fold] = steps.prepared.setdefault("folds", WeakKeyDictionary())
    if fold not in known:
        weight = None
        if fold.weight_train is not None and fold.weight_test is not None:
            weight = np.concatenate([fold.weight_train, fold.weight_test])
        task = Task(steps.X, np.concatenate([fold.y_train, fold.y_test]), weight, labels=fold.task.labels)
        n_train = fold.train.shape[0]
        known[fold] = Fold(task, np.arange(n_train), np.arange(n_train, steps.X.shape[0]))
    return known[fold]
