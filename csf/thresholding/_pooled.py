"""What classifiers with a rule on out-of-fold scores share: these scores, a refit, and prediction by the rule."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from csf._common.sklearn import clone, pass_on_features, routing_enabled
from csf._common.typing import Array, BoolArray, Estimator, IntArray, Label, RandomState_, Samples
from csf._common.validation import check_binary_target, check_n_jobs, check_samples, check_weights
from csf.data.folds import resolve_splits
from csf.data.responses import positive_score, response_method
from csf.metrics.profile import ErrorProfile
from csf.thresholding._calibration import fit_calibrator
from csf.thresholding._scores import RESPONSE_METHODS, fold_scores, weight_argument
from csf.thresholding.classifier import ThresholdClassifier, base_has
from csf.thresholding.curve import check_both_classes, sweep
from csf.thresholding.oracle import check_probabilities
from csf.thresholding.rule import ThresholdRule

if TYPE_CHECKING:
    from csf.thresholding._calibration import Calibrator
    from csf.thresholding.class_rule import RuleOfClasses
    from csf.thresholding.curve import Cut, ThresholdCurve

__all__ = [
    "Pooled",
    "PooledThresholdClassifier",
    "ProbabilityThresholdClassifier",
    "Target",
    "TwoClasses",
    "gives_probabilities",
]


@dataclass(frozen=True)
class Pooled:
    """Scores of held-out samples, fold after fold; a sample counts as often as it was held out."""

    score: Array
    truth: Array
    sample_weight: Array | None
    samples: IntArray
    borders: IntArray

    def folds(self) -> Iterator[tuple[BoolArray, Array, Array | None]]:
        """Truth, scores and weights of each fold in which both classes weigh something."""
        for start, stop in zip(self.borders[:-1], self.borders[1:]):
            fold = slice(start, stop)
            weight = None if self.sample_weight is None else self.sample_weight[fold]
            counts = self.truth[fold] if weight is None else self.truth[fold][weight > 0]
            if counts.any() and not counts.all():
                yield self.truth[fold], self.score[fold], weight


class Target(Protocol):
    """Labels that were read, and what is learnt about their scores."""

    @property
    def classes(self) -> Array:
        """Sorted labels."""
        ...

    @property
    def truth(self) -> Array:
        """What each sample is, in the form that the rule is learnt from."""
        ...

    def check(self, truth: Array, weight: Array | None, owner: str) -> None:
        """Raise a ValueError unless all classes have samples of positive weight."""
        ...

    def read(self, estimator: Estimator, X: Samples, *, methods: Sequence[str]) -> Array:
        """Scores of samples."""
        ...

    def learn(self, model: Any, pooled: Pooled) -> None:
        """Set the attributes of a classifier that come from pooled scores."""
        ...

    def rank(self, model: Any, pooled: Pooled) -> tuple[float, ...]:
        """How good the best rule of pooled scores is; smaller is better."""
        ...

    def rule(self, model: Any) -> ThresholdRule | RuleOfClasses:
        """What predicts, of a classifier that has learnt and whose base is fitted to everything."""
        ...


@dataclass(frozen=True)
class TwoClasses:
    """Labels of two classes: a threshold is learnt."""

    classes: Array
    truth: BoolArray
    positive: Label

    def check(self, truth: Array, weight: Array | None, owner: str) -> None:
        """See `Target`."""
        check_both_classes(truth, weight, owner)

    def read(self, estimator: Estimator, X: Samples, *, methods: Sequence[str]) -> Array:
        """Scores of the positive class."""
        return positive_score(estimator, X, self.positive, methods)

    def learn(self, model: PooledThresholdClassifier, pooled: Pooled) -> None:
        """Find the threshold."""
        model.pos_label_ = self.positive
        model._set_threshold(pooled)

    def rank(self, model: Any, pooled: Pooled) -> tuple[float, ...]:
        """That of the best cut."""
        return model._rank(pooled)

    def rule(self, model: PooledThresholdClassifier) -> ThresholdRule:
        """The threshold with its score."""
        return ThresholdRule.of(
            model.estimator_,
            known=self.classes,
            names=self.classes,
            null=self.classes[self.classes != self.positive][0],
            method=response_method(model.estimator_, model._response_methods()),
            threshold=model.threshold_,
            calibrator=model.calibrator_,
        )


_base_gives_probabilities = base_has("predict_proba")


def gives_probabilities(self: Any) -> bool:
    return self.calibration is not None or _base_gives_probabilities(self)


class PooledThresholdClassifier(ThresholdClassifier):
    """Base class of classifiers that cut a base's score at a threshold found on out-of-fold scores.

    Subclasses have the parameters ``base``, ``metric``, ``cv``, ``calibration``, ``pos_label``, ``n_jobs`` and
    ``random_state``, and write `_best_cut` and `_response_methods`.
    """

    calibration: Literal["sigmoid", "isotonic"] | None
    pos_label: Label
    n_jobs: int | None
    random_state: RandomState_
    calibrator_: Calibrator | None
    curve_: ThresholdCurve
    fold_curves_: tuple[ThresholdCurve, ...]
    fold_thresholds_: Array
    threshold_: float
    threshold_std_: float
    best_score_: float
    profile_: ErrorProfile
    _rule: Any  # of the kind that its target makes
    feasible_: bool
    estimator_: Estimator

    @property
    def best_threshold_(self) -> float:
        """``threshold_``, under its name in `csf.CostSearch`."""
        return self.threshold_

    @property
    def best_estimator_(self) -> Estimator:
        """``estimator_``, under its name in `csf.CostSearch`."""
        return self.estimator_

    @abstractmethod
    def _best_cut(self, curve: ThresholdCurve) -> Cut:
        """Cut of a `ThresholdCurve` of out-of-fold scores."""

    @abstractmethod
    def _response_methods(self) -> tuple[str, ...]:
        """Names of the methods of the base that may give the score, in order of preference."""

    def _choose(self, curve: ThresholdCurve) -> Cut:
        """Cut of the pooled curve; subclasses that have more to store do it here."""
        return self._best_cut(curve)

    def _check_parameters(self) -> None:
        """Hook for checks before any fitting."""

    def fit(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Find the threshold on out-of-fold scores, then fit the base to everything.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that the base accepts.
        y : array-like of shape (n_samples,)
            Labels of two classes; of more where the subclass takes them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0. They always count in the metric, and reach the base where its ``fit`` (or that of a
            pipeline's last step) takes them; with metadata routing enabled, where the base requests them.
        **params
            Further arguments for the base's ``fit``, and ``groups`` for the splitter; with metadata routing
            enabled, whatever base and splitter request.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter is not valid, or a class has no positive weight.
        """
        self._check_parameters()
        check_n_jobs(self.n_jobs)
        X, y = check_samples(X, y, sample_weight=sample_weight, **params)
        target = self._target(y)
        labels = np.asarray(y).reshape(-1)
        weight = check_weights(sample_weight, target.truth.shape[0])
        target.check(target.truth, weight, "sample_weight")
        fit_params, split_params = self._route_with(weight, params)
        pooled = self._pool(X, labels, target, weight, fit_params, split_params)
        target.check(pooled.truth, pooled.sample_weight, "the held-out part of cv")
        self._forget()
        self.classes_ = target.classes
        target.learn(self, pooled)
        self.estimator_ = self.base if self._is_prefit() else self._final_base().fit(X, labels, **fit_params)
        self._rule = target.rule(self)
        pass_on_features(self.estimator_, self)
        return self

    def _forget(self) -> None:
        """Drop what an earlier fit found: another number of classes has other attributes."""
        own = ("_rule", "_assessed", "_assessment")
        for name in [name for name in vars(self) if name in own or (name.endswith("_") and name != "best_params_")]:
            del vars(self)[name]

    def _target(self, y: ArrayLike) -> Target:
        """Read labels."""
        return TwoClasses(*check_binary_target(y, self.pos_label))

    def _final_base(self) -> Estimator:
        """Unfitted base to train on everything."""
        return clone(self.base)

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _route_with(self, weight: Array | None, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments for the base's ``fit``, sample weights among them where it takes them, and for the splitter."""
        if isinstance(self.base, type) or not hasattr(self.base, "fit"):
            raise TypeError(f"base must be a classifier object with fit, got {self.base!r}")
        if routing_enabled():
            return self._route(params if weight is None else {"sample_weight": weight, **params})
        fit_params, split_params = self._route(params)
        name = weight_argument(self.base)
        if weight is not None and name is not None:
            fit_params[name] = weight
        return fit_params, split_params

    def _pool(
        self,
        X: Samples,
        y: Array,
        target: Target,
        weight: Array | None,
        fit_params: dict[str, Any],
        split_params: dict[str, Any],
    ) -> Pooled:
        """Scores of each held-out fold from a model that has not seen it."""
        read = partial(target.read, methods=self._response_methods())
        if self._is_prefit():
            check_is_fitted(self.base)
            tests: list[IntArray] = [np.arange(y.shape[0])]
            scores = [read(self.base, X)]
        else:
            splits = resolve_splits(self.cv, X, y, random_state=self.random_state, split_params=split_params)
            tests = [test for _, test in splits]
            scores: Any = Parallel(n_jobs=self.n_jobs)(
                delayed(fold_scores)(clone(self.base), X, y, train, test, fit_params, read) for train, test in splits
            )
        index = np.concatenate(tests)
        borders = np.cumsum([0] + [score.shape[0] for score in scores])
        given = None if weight is None else weight[index]
        return Pooled(np.concatenate(scores), target.truth[index], given, index, borders)

    def _set_threshold(self, pooled: Pooled) -> None:
        """Everything that is learnt from the pooled scores."""
        self.calibrator_ = fit_calibrator(self.calibration, pooled.score, pooled.truth, pooled.sample_weight)
        self.curve_ = sweep(pooled.truth, self._calibrated(pooled.score), pooled.sample_weight)
        cut = self._choose(self.curve_)
        self.threshold_, self.best_score_ = cut.threshold, cut.value
        self.profile_, self.feasible_ = cut.profile, cut.feasible
        self.fold_curves_ = tuple(sweep(y, self._calibrated(score), w) for y, score, w in pooled.folds())
        self.fold_thresholds_ = np.array([self._best_cut(curve).threshold for curve in self.fold_curves_])
        self.threshold_std_ = self._spread()

    def _spread(self) -> float:
        """Standard deviation over folds; an infinite threshold counts as the nearest finite pooled score."""
        if self.fold_thresholds_.shape[0] < 2:
            return np.nan
        scores = self.curve_.lowest_score
        scores = scores[np.isfinite(scores)]
        return float(np.std(np.clip(self.fold_thresholds_, scores[-1], scores[0]))) if scores.size else np.nan

    def _calibrated(self, score: Array) -> Array:
        return score if self.calibrator_ is None else self.calibrator_.predict(score)

    def positive_score(self, X: Samples) -> Array:
        """Score of the positive class, the one that `threshold_` cuts: larger means more likely positive.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The base's score, calibrated where a calibration was asked for.
        """
        check_is_fitted(self)
        return self._rule.scored(X)[1]

    def _positive_is_last(self) -> bool:
        return bool(self.classes_[1] == self.pos_label_)

    def _labels(self, predicted_pos: BoolArray) -> Array:
        return self.classes_[(predicted_pos == self._positive_is_last()).astype(int)]

    def predict(self, X: Samples) -> Array:
        """Predict the positive class where the score reaches `threshold_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return self._rule.predict(X)

    def decision_function(self, X: Samples) -> Array:
        """Distance of the score from `threshold_`, positive exactly where ``classes_[1]`` is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Distances in units of the score. An infinite threshold is no distance away from anything; the score,
            squashed to a width of 2, then keeps its order and gets the sign of the prediction.
        """
        check_is_fitted(self)
        return self._rule.decision_function(X)

    @available_if(gives_probabilities)
    def predict_proba(self, X: Samples) -> Array:
        """Probabilities of the base, or calibrated ones; the threshold does not change them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities of `classes_`. Their argmax is the prediction for threshold 1/2, not for `threshold_`.
        """
        check_is_fitted(self)
        if self.calibrator_ is None:
            return self.estimator_.predict_proba(X)
        proba = self.positive_score(X)
        columns = (1.0 - proba, proba) if self._positive_is_last() else (proba, 1.0 - proba)
        return np.column_stack(columns)

    def _errors(self, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> ErrorProfile:
        return ErrorProfile.from_predictions(y, predicted, sample_weight=sample_weight, pos_label=self.pos_label_)


class ProbabilityThresholdClassifier(PooledThresholdClassifier):
    """Base class of classifiers whose thresholds have a meaning for probabilities only."""

    def _response_methods(self) -> tuple[str, ...]:
        return ("predict_proba",) if self.calibration is None else RESPONSE_METHODS[::-1]

    def _set_threshold(self, pooled: Pooled) -> None:
        if self.calibration is None:
            check_probabilities(pooled.score, f"the scores of {type(self.base).__name__}")
        super()._set_threshold(pooled)
