"""Pipelines: costs reach their last step alone, so that the others are fitted once for each fold."""

import numpy as np
from scipy import sparse
from sklearn.base import clone

from csf._validation import routing_enabled
from csf.costs import WeightRoute
from csf.folds import Data, Fold
from csf.trainers.base import Trainer

__all__ = ["PipelineTrainer", "pipeline_trainers"]


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

    def __init__(self, base, steps, last):
        self.base, self.steps, self.last = base, steps, last

    @property
    def releases_gil(self):
        """As the last step."""
        return self.last.releases_gil

    @property
    def family(self):
        """As the last step; settings with other steps before it hold other data."""
        return None if self.last.family is None else f"{self.last.family} {self.steps!r}"

    def position(self, costs):
        """As the last step; see `Trainer.position`."""
        return self.last.position(costs)

    def fit(self, costs, starts=()):
        """Train the last step; see `Trainer.fit`."""
        return self.last.fit(costs, starts)

    def predict(self, training, part, *, tune):
        """Ask the last step; see `Trainer.predict`."""
        return self.last.predict(training, part, tune=tune)

    def estimator(self, training):
        """The whole pipeline; see `Trainer.estimator`."""
        model = clone(self.base)
        model.steps = [*self.steps, (self.base.steps[-1][0], self.last.estimator(training))]
        return model


def pipeline_trainers(base, folds, route, normalize, shared, *, trainers):
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
        See `csf.costs.cost_sample_weight`.
    shared : dict
        Not used: each fold has data of its own.
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
    result = []
    for fold in folds:
        before = clone(base)[:-1]
        try:
            parts = before.fit_transform(fold.X_train, fold.y_train), before.transform(fold.X_test)
        except Exception:  # every trial then fails with the same error, and records it
            return None
        if not all(sparse.issparse(part) or isinstance(part, np.ndarray) for part in parts):
            return None
        made = trainers(last, [_joined(parts, fold)], WeightRoute(route.kind, argument), normalize, {})
        result.append(PipelineTrainer(base, before.steps, made[0]))
    return result


def _joined(parts, fold):
    """Fold of transformed samples: the training part above the held-out one."""
    stack = sparse.vstack if sparse.issparse(parts[0]) else np.concatenate
    X = stack(parts).tocsr() if sparse.issparse(parts[0]) else stack(parts)
    weight = None if fold.weight_train is None else np.concatenate([fold.weight_train, fold.weight_test])
    data = Data(X, np.concatenate([fold.y_train, fold.y_test]), weight)
    n_train = fold.train.shape[0]
    return Fold(data, np.arange(n_train), np.arange(n_train, X.shape[0]))
