"""One linear model for each class against the rest, on the same rows, each from its own earlier solutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.parallel import Parallel, delayed

from csf._common.typing import Costs, Estimator
from csf._sklearn import clone
from csf.costs.one_vs_rest import OneVsRestRoute, assembled, problem_costs
from csf.costs.weights import cost_sample_weight
from csf.scores.responses import Response, compare
from csf.trainers.base import Trainer, Training
from csf.trainers.linear import linear_kind, linear_trainers, shared_rows

if TYPE_CHECKING:
    from csf.costs.weights import WeightRoute
    from csf.samples.folds import Fold


__all__ = ["LinearSVCsTrainer", "OneVsRestTrainer", "linear_svc_trainers", "one_vs_rest_trainers"]


class OneVsRestTrainer(Trainer):
    """Trains `sklearn.multiclass.OneVsRestClassifier` of a linear model.

    Parameters
    ----------
    base : OneVsRestClassifier
        Unfitted classifier with its parameters set.
    fold : Fold
        Data to train on and to predict; never sliced.
    make : callable
        ``make(fold)`` returns the `LinearTrainer` of a problem of two classes.
    normalize : {"none", "mean"}, default="none"
        See `csf.costs.weights.cost_sample_weight`.
    own_costs : bool, default=False
        Whether each problem has costs of its own, see `csf.costs.one_vs_rest`; otherwise all of them see the samples
        with the costs of their true classes, ``c_fp`` where there is nothing to find, whichever class is
        against the rest.
    n_jobs : int, default=None
        Threads for the classes.
    """

    releases_gil = True

    def __init__(
        self,
        base: OneVsRestClassifier,
        fold: Fold,
        make: Callable[..., Any],
        normalize: Literal["none", "mean"] = "none",
        own_costs: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.base, self.normalize, self.own_costs, self.n_jobs = base, normalize, own_costs, n_jobs
        self._y, self._weight = fold.y_train, fold.weight_train
        self.codes = np.unique(self._y)
        self.problems = self.codes if self.codes.size > 2 else self.codes[1:]
        self.parts = [make(replace(fold, data=replace(fold.data, y=(fold.data.y == k) * 1))) for k in self.problems]

    @property
    def family(self) -> Any:
        """That of its parts: each starts from its own class."""
        return self.parts[0].family

    def position(self, costs: Costs) -> tuple[float, float]:
        """That of its parts; see `Trainer.position`."""
        return self.parts[-1].position(costs)

    def fit(self, costs: Costs, starts: Sequence[Any] = ()) -> Training:
        """Solve the problems of all classes; see `Trainer.fit`."""
        of_class = zip(*starts) if starts else [()] * len(self.parts)
        if self.own_costs:
            costs_of = (problem_costs(k, costs) for k in self.problems)
            tasks = [(part.fit, *task) for part, *task in zip(self.parts, costs_of, of_class)]
        else:
            weight = cost_sample_weight(self._y > 0, costs, sample_weight=self._weight, normalize=self.normalize)
            how = weight, self.position(costs)
            tasks = [(_train, part, *how, states) for part, states in zip(self.parts, of_class)]
        if effective_n_jobs(self.n_jobs) == 1:
            trainings = [train(*task) for train, *task in tasks]
        else:
            threads = Parallel(n_jobs=self.n_jobs, prefer="threads")
            trainings = threads(delayed(train)(*task) for train, *task in tasks)
        return Training(trainings, tuple(t.state for t in trainings), max(t.gap for t in trainings))

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Compare the scores of all classes; see `Trainer.predict`."""
        scores = [p.predict(t, part, tune=True).score for p, t in zip(self.parts, training.model)]
        if len(scores) == 1:
            return Response(scores[0] > 0.0, scores[0] if tune else None, self.codes[1])
        scores = np.column_stack(scores)
        if not tune:
            found = self.codes[scores.argmax(axis=1)]
            return Response(found > 0, found=found)
        score, best = compare(scores, 0, probabilities=False)
        return Response(score > 0.0, score, self.codes[best])

    def estimator(self, training: Training) -> Estimator:
        """The base with its parts; see `Trainer.estimator`."""
        parts = [part.estimator(t) for part, t in zip(self.parts, training.model)]
        return assembled(clone(self.base), self._y, parts)


class LinearSVCsTrainer(OneVsRestTrainer):
    """Trains `sklearn.svm.LinearSVC` of several classes, which is one model for each against the rest."""

    def estimator(self, training: Training) -> Estimator:
        """The base with the coefficients of all classes; see `Trainer.estimator`."""
        parts = [part.estimator(t) for part, t in zip(self.parts, training.model)]
        model = clone(self.base)
        model.coef_ = np.vstack([part.coef_ for part in parts])
        model.intercept_ = np.concatenate([part.intercept_ for part in parts])
        model.classes_, model.n_iter_ = self.codes, max(part.n_iter_ for part in parts)
        vars(model).update(self.parts[0].names)
        return model


def _train(part, weight, position, starts):
    """Train one class against the rest; class weights of its own model are those of the class and of the rest."""
    own = part.own
    if own != (1.0, 1.0):
        weight = weight * np.where(part.is_pos, *own)
    return part.train(weight, position, starts)


@dataclass(frozen=True)
class _Maker:
    """Makes trainers of two classes."""

    kind: type
    base: object
    rows: object
    names: dict
    normalize: str

    def __call__(self, fold: Fold) -> Any:
        return self.kind(self.base, fold, self.rows, self.names, self.normalize)


def one_vs_rest_trainers(
    base: OneVsRestClassifier, folds: list[Fold], route: WeightRoute, normalize: str, shared: dict[str, Any]
) -> list[Trainer] | None:
    """Fast trainers of `sklearn.multiclass.OneVsRestClassifier`, one for each fold.

    Parameters
    ----------
    base : OneVsRestClassifier
        The base of one setting.
    folds : list of Fold
        Folds of the same data.
    route : WeightRoute
        How costs would reach the base.
    normalize : {"none", "mean"}
        See `csf.costs.weights.cost_sample_weight`.
    shared : dict
        Keeps the checked samples between calls.

    Returns
    -------
    list of Trainer or None
        ``None`` where it wraps another classifier than a linear one, or refuses the data.
    """
    own_costs = isinstance(route, OneVsRestRoute)
    way = route.inner.name if own_costs else route.name.removeprefix("estimator__")
    if way != "sample_weight" or base.verbose:
        return None
    options = {"own_costs": own_costs, "n_jobs": base.n_jobs}
    return _trainers(OneVsRestTrainer, base, base.estimator, folds, normalize, shared, options)


def linear_svc_trainers(
    base: LinearSVC, folds: list[Fold], route: WeightRoute, normalize: str, shared: dict[str, Any]
) -> list[Trainer] | None:
    """Fast trainers of `sklearn.svm.LinearSVC`, one for each fold; parameters as for `one_vs_rest_trainers`.

    Parameters
    ----------
    base : LinearSVC
        The base of one setting.
    folds : list of Fold
        Folds of the same data.
    route : WeightRoute
        How costs would reach the base.
    normalize : {"none", "mean"}
        See `csf.costs.weights.cost_sample_weight`.
    shared : dict
        Keeps the checked samples between calls.

    Returns
    -------
    list of Trainer or None
        ``None`` where the base is not served, or refuses the data.
    """
    if folds[0].data.y.max() == 1:
        return linear_trainers(base, folds, route, normalize, shared)
    if route.name != "sample_weight":
        return None
    return _trainers(LinearSVCsTrainer, base, base, folds, normalize, shared, {})


def _trainers(kind, base, inner, folds, normalize, shared, options):
    inner_kind = linear_kind(inner)
    if inner_kind is None or folds[0].data.fit_params:
        return None
    rows = shared_rows(inner, folds[0].data.X, shared)
    if rows is None:
        return None
    make = _Maker(inner_kind, inner, rows, shared["names"], normalize)
    return [kind(base, fold, make, normalize, **options) for fold in folds]
