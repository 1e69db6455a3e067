"""Logistic regression of several classes that are all alike: one model, from earlier solutions on shared rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import log
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from csf._common.sklearn import clone
from csf._common.typing import Array, Costs, Estimator
from csf.data.costs import CostChannel, cost_sample_weight, own_class_weights
from csf.data.folds import Fold
from csf.data.responses import Features, Response, answer_of_classes
from csf.solvers import Rows
from csf.solvers.multinomial import Multinomial, scores_of, shares_of
from csf.trainers.base import Trainer, Training
from csf.trainers.generic import GenericTrainer
from csf.trainers.linear import LogisticTrainer, everything, linear_trainers, shared_rows
from csf.trainers.prepared import Prepared
from csf.trainers.whole import Whole, shared_whole

__all__ = ["MultinomialTrainer", "logistic_trainers"]

# How much closer than the base's tolerance: a start may have seen what is held out, and must not be told from others.
_CLOSER = 0.1


class MultinomialTrainer(Trainer):
    """Trains `sklearn.linear_model.LogisticRegression` of three and more classes, whatever its solver."""

    releases_gil = True

    def __init__(
        self,
        base: LogisticRegression,
        fold: Fold,
        rows: Rows,
        features: Features,
        normalize: str = "none",
        whole: Whole | None = None,
    ) -> None:
        assert fold.n_alike is not None, "other problems have other trainers"
        self.base, self.features, self.normalize, self._whole = base, features, normalize, whole
        self._train, self._test, self._n_classes = rows.take(fold.train), rows.take(fold.test), fold.n_alike
        self._y, self._weight, self.codes = fold.y_train, fold.weight_train, fold.codes_train
        own = own_class_weights(base.class_weight, self._y, self._weight)
        # Class weights of the base itself, by code.
        self.own = np.array([own.get(code, 1.0) for code in range(self._n_classes)])
        self._solver = Multinomial(self._train, np.searchsorted(self.codes, self._y), self.codes.size)
        self.family = f"multinomial {rows.constant}"

    @staticmethod
    def serves(base: LogisticRegression) -> bool:
        """Whether this trainer solves what the base documents; LIBLINEAR solves one class against the rest."""
        return LogisticTrainer.serves(base) and base.solver != "liblinear"

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Logarithms of the weights of all classes; see `Trainer.position`."""
        return tuple(log(self.base.C * cost * own) for cost, own in zip(costs, self.own.tolist(), strict=True))

    def fit(self, costs: Costs, starts: Sequence[Any] = ()) -> Training:
        """Solve the base's problem for the weights; see `Trainer.fit`."""
        weight = cost_sample_weight(self._y, costs, sample_weight=self._weight, normalize=self.normalize)
        weight *= self.base.C * self.own[self._y]
        place = np.array(self.position(costs))
        if not starts and self._whole is not None:
            starts = [self._whole.state()]
        start = self._moved(starts[0][1], place - starts[0][0]) if starts else None
        solution = self._solver.solve(weight, tol=_CLOSER * self.base.tol, start=start)
        w = np.zeros((self._n_classes, solution.w.shape[1]))
        w[self.codes] = solution.w
        return Training(solution, (place, w))

    def _moved(self, w: Array, change: Array) -> Array:
        """Coefficients of the classes at hand for other weights.

        If the model holds, these move the constants by their logarithms, and nothing else.
        """
        w = w[self.codes]
        if self._train.constant:
            w[:, -1] += (change - change.mean())[self.codes]
        return w

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Probabilities of all classes; see `Trainer.predict`."""
        scores = (shares_of if tune else scores_of)(self._test if part == "test" else self._train, training.model.w)
        answer = answer_of_classes(scores, self.codes, self._n_classes, probabilities=tune)
        return answer if tune else answer._replace(score=None)

    def estimator(self, training: Training) -> Estimator:
        """The base with the coefficients found; see `Trainer.estimator`."""
        model, w = clone(self.base), training.model.w
        model.coef_, model.intercept_ = w[:, :-1].copy(), w[:, -1] * self._train.constant
        model.classes_, model.n_iter_ = self.codes, np.array([training.model.n_iter], dtype=np.int32)
        self.features.put_on(model)
        return model


def logistic_trainers(
    base: LogisticRegression, folds: list[Fold], channel: CostChannel, normalize: str, prepared: Prepared
) -> list[Trainer] | None:
    """Fast trainers of `sklearn.linear_model.LogisticRegression`, one for each fold."""
    task = folds[0].task
    if task.n_alike is None:
        return linear_trainers(base, folds, channel, normalize, prepared)
    if not MultinomialTrainer.serves(base) or not channel.is_own or task.fit_params:
        return None
    rows = shared_rows(LogisticTrainer, base, task.X, prepared)
    if rows is None:
        return None
    rest = rows, prepared.features, normalize
    make = partial(MultinomialTrainer, base, everything(task, prepared), *rest)
    whole = shared_whole(f"multinomial of {base.get_params()} with {normalize}", make, folds, prepared)
    # Of two classes the base trains another model, whose penalty counts once.
    return [
        MultinomialTrainer(base, fold, *rest, whole)
        if fold.codes_train.size > 2
        else GenericTrainer(base, fold, channel, normalize)
        for fold in folds
    ]
