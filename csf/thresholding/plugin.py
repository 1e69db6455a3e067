"""Classifiers whose threshold, or rule of several classes, maximises a metric on out-of-fold scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from csf._common.messages import warn
from csf._common.sklearn import clone, last_step, pass_on_features, routing_enabled, safe_indexing, slice_params
from csf._common.typing import Array, BoolArray, Estimator, IntArray, Label, RandomState_, Samples, Values
from csf._common.validation import (
    check_binary_target,
    check_choice,
    check_grid,
    check_labels,
    check_n_jobs,
    check_samples,
    check_weights,
)
from csf.data.folds import resolve_splits
from csf.data.responses import positive_score, response_method
from csf.evaluate import AssessedMixin, ScoreStore, assess, seed_of
from csf.metrics import ConfusionMetric, Metric, get_confusion_metric, get_constraint, get_metric
from csf.metrics.base import rank
from csf.metrics.profile import ErrorProfile
from csf.thresholding.class_choice import Candidate, ClassRow, ClassStore, assess_class
from csf.thresholding.curve import check_both_classes, check_probabilities, sweep
from csf.thresholding.linear_rule import (
    ClassCalibrator,
    LinearRule,
    RuleOfClasses,
    aligned_scores,
    confusion_of,
    cross_fitted,
    fit_calibrator,
    fit_class_calibrator,
    tune_rule,
)
from csf.thresholding.rule import ThresholdClassifier, ThresholdRule, base_has

if TYPE_CHECKING:
    from csf.evaluate import Assessment
    from csf.metrics.confusion import ConfusionMetric
    from csf.metrics.constraints import Constraint
    from csf.thresholding.curve import Cut, ThresholdCurve
    from csf.thresholding.linear_rule import Calibrator

__all__ = [
    "PlugInClassifier",
    "Pooled",
    "PooledThresholdClassifier",
    "ProbabilityThresholdClassifier",
    "RESPONSE_METHODS",
    "SeveralClasses",
    "Target",
    "TwoClasses",
    "fold_scores",
    "gives_probabilities",
    "weight_argument",
]

# ---------------------------------------------------------------- out-of-fold scores


RESPONSE_METHODS = ("predict_proba", "decision_function")


def weight_argument(base: Estimator) -> str | None:
    """Name of the argument of the base's ``fit`` that takes sample weights, or ``None``."""
    prefix, last = last_step(base)
    return f"{prefix}sample_weight" if has_fit_parameter(last, "sample_weight") else None


def fold_scores(
    model: Estimator,
    X: Samples,
    y: Array,
    train: IntArray,
    test: IntArray,
    fit_params: dict[str, Any],
    read: Callable[[Estimator, Samples], Array],
) -> Array:
    """Fit to one part, read scores of another."""
    fit_params = slice_params(fit_params, train, y.shape[0])
    model.fit(safe_indexing(X, train), safe_indexing(y, train), **fit_params)
    return read(model, safe_indexing(X, test))


# ---------------------------------------------------------------- what these classifiers share


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
        """That of the best threshold."""
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
    """Base class of classifiers with a threshold on a base's score, found on out-of-fold scores.

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
        own = ("_rule", "_assessor", "_assessment")
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
        """Score of the positive class, the one that `threshold_` is for: larger means more likely positive.

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


# ---------------------------------------------------------------- several classes


# The only candidate: a tuned rule is what was asked for.
_RULE = Candidate((0, 0), True)


@dataclass(frozen=True)
class SeveralClasses:
    """A target of three or more classes: a linear rule of their probabilities is learnt."""

    classes: Array
    truth: IntArray
    metric: ConfusionMetric

    def check(self, truth: Array, weight: Array | None, owner: str) -> None:
        """See `csf.thresholding.plugin.Target`."""
        missing = np.bincount(truth, weights=weight, minlength=self.classes.shape[0]) <= 0.0
        if missing.any():
            raise ValueError(
                f"{owner} leaves no sample of positive weight of {self.classes[missing].tolist()}; all of the classes "
                f"{self.classes.tolist()} are needed"
            )

    def read(self, estimator: Estimator, X: Samples, *, methods: Sequence[str]) -> Array:
        """Scores of all classes; a class that the estimator has not learnt has the lowest one."""
        known = np.asarray(estimator.classes_)
        if not np.isin(known, self.classes).all():
            raise ValueError(
                f"{type(estimator).__name__} has learnt the classes {known.tolist()}, but y holds "
                f"{self.classes.tolist()}; give samples of all of them"
            )
        return aligned_scores(estimator, X, np.searchsorted(self.classes, known), self.classes.shape[0], methods)

    def learn(self, model: Any, pooled: Pooled) -> None:
        """Find the rule."""
        model.rule_, model.calibrator_, model.confusion_ = self._tuned(model, pooled)
        model.best_score_ = float(self.metric.value(model.confusion_))
        model.held_out_ = store = self._store(model, pooled)
        seed = seed_of(model.random_state)
        model._assessor = partial(assess_class, store, self.metric, _RULE, seed, chosen=False)

    def _store(self, model: Any, pooled: Pooled) -> ClassStore:
        """Held-out scores, and what rules decide about samples that they were not tuned on."""
        n_classes, weight = self.classes.shape[0], pooled.sample_weight
        options = {"n_classes": n_classes, "margins": model.calibrator_ is not None, "samples": pooled.samples}
        store = ClassStore(pooled.truth, weight, **options)
        score, costs = np.ascontiguousarray(pooled.score, dtype=np.float32), (1.0,) * n_classes
        proba = store.probabilities(score, costs)
        codes = cross_fitted(proba, pooled.truth, self.metric, store.parts(score), weight=weight)
        decided = score.argmax(axis=1).astype(codes.dtype)
        told = {"score": score, "decided": decided, "judged": codes, "value": model.best_score_}
        store.put(ClassRow(key=_RULE.key, costs=costs, equal_costs=True, **told))
        return store

    def rank(self, model: Any, pooled: Pooled) -> tuple[float, ...]:
        """That of the tuned rule."""
        return rank(0.0, float(self.metric.value(self._tuned(model, pooled)[2])))

    def _tuned(self, model: Any, pooled: Pooled) -> tuple[LinearRule, ClassCalibrator | None, Array]:
        """Rule, what makes the probabilities that it reads, and the confusion matrix of its decisions."""
        proba, weight, calibrator = pooled.score, pooled.sample_weight, None
        if response_method(model.base, model._response_methods()) != "predict_proba":
            calibrator = fit_class_calibrator(pooled.score, pooled.truth, weight)
            proba = calibrator.predict(pooled.score)
        rule = tune_rule(proba, pooled.truth, self.metric, weight=weight)
        confusion = confusion_of(pooled.truth, rule.decide(proba), self.classes.shape[0], weight)
        return rule, calibrator, confusion

    def rule(self, model: Any) -> RuleOfClasses:
        """The rule with what it reads."""
        known = np.asarray(model.estimator_.classes_)
        return RuleOfClasses(model.estimator_, self.classes, known, model.rule_, calibrator=model.calibrator_)


# ---------------------------------------------------------------- the plug-in classifier


def _decides_about_classes(self: Any) -> bool:
    return isinstance(getattr(self, "_rule", None), RuleOfClasses)


def _cuts(self: Any) -> bool:
    return not _decides_about_classes(self)


def _gives_probabilities(self: Any) -> bool:
    return _decides_about_classes(self) or gives_probabilities(self)


class PlugInClassifier(AssessedMixin, PooledThresholdClassifier):
    """Classifier with the threshold, or the weights of the probabilities of several classes, that maximise a metric.

    The base is fitted in every fold and scores what it has not seen; all these scores are pooled, every threshold of
    them is tried, and the base is fitted again to everything. The metric is that of the pooled errors, not a
    mean over folds. For three or more classes, the base's probabilities are pooled, and a linear rule of them takes the
    place of the threshold.

    Parameters
    ----------
    base : estimator
        Classifier with ``predict_proba`` or ``decision_function``.
    metric : str, Metric or ConfusionMetric, default="f1"
        Any metric: a name in ``csf.metrics.METRICS`` or an object. For three or more classes one of the confusion
        matrix: a name in ``csf.metrics.CONFUSION_METRICS``, such as ``"f1_macro"``, or an object.
    constraint : str or Constraint, default=None
        Such as ``"precision >= 0.8"``: the best threshold among those where it holds on the pooled scores. Where it
        never holds, the threshold that misses it least, with a warning and ``feasible_=False``.
    param_grid : dict or list of dict, default=None
        Parameters of the base to choose, such as ``{"C": [0.1, 1, 10]}``: all settings are fitted in the same folds,
        and the one with the best threshold of its pooled scores is taken, of equal ones the first. ``None`` takes the
        base as it is.
    cv : int, float, splitter, iterable of splits, "prefit" or None, default=5
        An int is a number of stratified folds (``None`` means 5) and a float in (0, 1) the share of one stratified
        hold-out. ``"prefit"`` takes the fitted base as it is: give `fit` samples that the base has not seen.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Map from scores to probabilities, fitted on the pooled scores. It gives ``predict_proba`` to a base that
        has none. As it keeps the order of scores (isotonic joins some), it hardly changes the predictions. With three
        or more classes, decision scores become probabilities by a sigmoid of each class, scaled to sum 1, anyway.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        The base's score; ``"auto"`` takes the first of the two that it has, with a calibration the second.
    pos_label : label, default=None
        Positive class of two; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    n_jobs : int, default=None
        Number of folds fitted at the same time; ``None`` means 1, -1 all processors.
    random_state : int, RandomState instance or None, default=None
        Seed of the hold-out when ``cv`` is a float.

    Attributes
    ----------
    rule_ : LinearRule
        With three or more classes, what decides: the class with the largest of its scores is predicted. There is no
        threshold then, and none of the attributes up to ``fold_thresholds_`` but ``best_score_``.
    confusion_ : ndarray of shape (n_classes, n_classes)
        With three or more classes, pooled out-of-fold confusion matrix of `rule_`: shares of all samples, rows true and
        columns predicted.
    threshold_ : float
        Positive is predicted where ``score >= threshold_``; may be infinite.
    threshold_std_ : float
        Standard deviation of `fold_thresholds_`; NaN for a single fold. An infinite threshold counts as the
        nearest pooled score.
    best_score_ : float
        Metric of the pooled out-of-fold predictions by the threshold or rule. As the largest of many values on the same
        scores it is optimistic.
    corrected_score_ : float
        Value of the metric to expect on new data, see `csf.evaluate`; computed when it is first asked for. With three
        or more classes rules are tuned on two thirds of the samples and judged on the others.
    score_interval_, threshold_interval_ : tuple of float
        90 % intervals for that value and for the best threshold.
    profile_ : ErrorProfile
        Pooled out-of-fold error profile at `threshold_`.
    feasible_ : bool
        Whether the constraint holds for `profile_`.
    curve_ : ThresholdCurve
        All thresholds on the pooled scores.
    fold_curves_ : tuple of ThresholdCurve
        The thresholds on each held-out fold that has both classes.
    fold_thresholds_ : ndarray of shape (n_folds,)
        Best threshold of each of them.
    best_params_ : dict
        Setting of ``param_grid`` that was taken.
    estimator_ : estimator
        The base fitted to everything; the base itself for ``cv="prefit"``.
    calibrator_ : object or None
        The fitted map to probabilities.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    pos_label_ : label
        Positive class of two.
    n_features_in_, feature_names_in_
        Those of `estimator_`, where it has them.

    See Also
    --------
    threshold_curve : The cuts of given scores, without any fitting.
    LinearRule : What decides about three or more classes.
    BisectionPlugIn, FrankWolfePlugIn : Thresholds that follow from probabilities and the metric.

    Notes
    -----
    Probabilities of the predicted classes are those of the base: their argmax is not the prediction.

    References
    ----------
    .. [1] O. Koyejo, N. Natarajan, P. Ravikumar, I. Dhillon, "Consistent binary classification with generalized
       performance metrics", NIPS 2014.
    .. [2] H. Narasimhan, R. Vaish, S. Agarwal, "On the statistical consistency of plug-in classifiers for
       non-decomposable performance measures", NIPS 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(1000, weights=[0.9], class_sep=0.7, random_state=0)
    >>> plugin = PlugInClassifier(LogisticRegression(), metric="f1").fit(X, y)
    >>> plugin.threshold_, plugin.threshold_std_, plugin.best_score_
    (0.319, 0.125, 0.747)

    Three classes, with a model that is fitted already:

    >>> X, y = make_classification(1000, n_informative=4, n_classes=3, weights=[0.7, 0.2], random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> plugin = PlugInClassifier(model, metric="f1_macro", cv="prefit").fit(X[500:], y[500:])
    >>> plugin.rule_.slopes.round(2), plugin.best_score_
    (array([0.43, 1.49, 2.32]), 0.669)
    """

    def __init__(
        self,
        base: Estimator,
        metric: str | Metric = "f1",
        *,
        constraint: str | Constraint | None = None,
        param_grid: dict[str, Any] | list[dict[str, Any]] | None = None,
        cv: Any = 5,
        calibration: Literal["sigmoid", "isotonic"] | None = None,
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        pos_label: Label = None,
        n_jobs: int | None = None,
        random_state: RandomState_ = None,
    ) -> None:
        self.base = base
        self.metric = metric
        self.constraint = constraint
        self.param_grid = param_grid
        self.cv = cv
        self.calibration = calibration
        self.response_method = response_method
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _target(self, y: ArrayLike) -> Target:
        metric = self._metric_of_classes()
        if metric is None:  # more than two classes are refused there
            return super()._target(y)
        labels, classes = check_labels(y)
        if classes.shape[0] == 2:
            return TwoClasses(*check_binary_target(labels, self.pos_label))
        for name in ("constraint", "calibration", "pos_label"):
            if (given := getattr(self, name)) is not None:
                raise ValueError(
                    f"{name}={given!r} is for thresholds between two classes, and y holds {classes.shape[0]}, "
                    f"{classes.tolist()}, for which a linear rule of their probabilities is found; leave it out"
                )
        return SeveralClasses(classes, np.searchsorted(classes, labels), metric)

    def _metric_of_classes(self) -> ConfusionMetric | None:
        """The metric for three or more classes; ``None`` for a metric of two classes alone."""
        try:
            return get_confusion_metric(self.metric)
        except (TypeError, ValueError):
            return None

    @available_if(_cuts)
    def positive_score(self, X: Samples) -> Array:
        """Score of the positive class of two, the one that `threshold_` is for: larger means more likely positive.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The base's score, calibrated where a calibration was asked for.
        """
        return super().positive_score(X)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Samples) -> Array:
        """Probabilities of the base, or calibrated ones; neither a threshold nor a rule changes them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities of `classes_`. Their argmax is not the prediction.
        """
        check_is_fitted(self)
        return self._rule.predict_proba(X) if _decides_about_classes(self) else super().predict_proba(X)

    def _value(self, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> float:
        if not _decides_about_classes(self):
            return super()._value(y, predicted, sample_weight)
        return float(get_confusion_metric(self.metric).value(self._rule.confusion(y, predicted, sample_weight)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._metric_of_classes() is not None
        return tags

    def _check_parameters(self) -> None:
        self._demand()
        self._response_methods()
        if self.param_grid is not None and self._is_prefit():
            raise ValueError('cv="prefit" takes the base as it was fitted; leave out param_grid, or give folds as cv')

    def _response_methods(self) -> tuple[str, ...]:
        if self.response_method == "auto":
            # A sigmoid fits log-odds and margins, not probabilities.
            return RESPONSE_METHODS if self.calibration is None else RESPONSE_METHODS[::-1]
        return (check_choice(self.response_method, "response_method", ("auto", *RESPONSE_METHODS)),)

    def _demand(self) -> tuple[Metric, Any]:
        """The metric and the constraint; a constrained metric brings its own."""
        metric = get_metric(self.metric)
        own = metric.constraint
        if own is not None and self.constraint is not None:
            raise ValueError(f"metric {metric.name!r} has a constraint of its own; leave out constraint=")
        given = own if self.constraint is None else self.constraint
        return metric, given if hasattr(given, "violation") else get_constraint(given)

    def _best_cut(self, curve: ThresholdCurve) -> Cut:
        return curve.best(*self._demand())

    def _set_threshold(self, pooled: Pooled) -> None:
        super()._set_threshold(pooled)
        metric, demand = self._demand()
        store = ScoreStore(pooled.truth, pooled.sample_weight, samples=pooled.samples)
        missed = 0.0 if demand is None else demand.violation(self.profile_.fn, self.profile_.fp, pos=self.profile_.pos)
        score, key = self._calibrated(pooled.score), (0, 0)
        store.add(key, score=score, threshold=self.threshold_, value=self.best_score_, violation=missed)
        aim = metric if demand is None else _Demanding(metric, demand)
        self.held_out_, self._assessor = (
            store,
            partial(assess, store, aim, key, random_state=seed_of(self.random_state)),
        )

    def _assess_scores(self) -> Assessment | None:
        return self._assessor() if "_assessor" in vars(self) else None

    def _pool(
        self,
        X: Samples,
        y: Array,
        target: Target,
        weight: Array | None,
        fit_params: dict[str, Any],
        split_params: dict[str, Any],
    ) -> Any:
        """Pooled scores; those of the setting with the best cut where there are several."""
        self.best_params_ = {}
        if self.param_grid is None:
            return super()._pool(X, y, target, weight, fit_params, split_params)
        settings = check_grid(self.param_grid)
        # Made once, so that all settings are judged by the same folds, whatever is left to chance in them.
        splits = resolve_splits(self.cv, X, y, random_state=self.random_state, split_params=split_params)
        ones = [self._with(setting, splits) for setting in settings]
        pooled = [one._pool(X, y, target, weight, fit_params, {}) for one in ones]
        best = min(range(len(pooled)), key=lambda at: target.rank(self, pooled[at]))
        self.best_params_ = settings[best]
        return pooled[best]

    def _with(self, setting: dict[str, Any], splits: list[tuple[IntArray, IntArray]]) -> PlugInClassifier:
        """The same classifier with one setting and folds."""
        one = copy(self)
        one.base, one.cv, one.param_grid = _set(self.base, setting), splits, None
        return one

    def _rank(self, pooled: Any) -> tuple[float, ...]:
        """How good the best cut of pooled scores is: what it misses of the constraint first, then its value."""
        is_pos, weight = pooled.truth, pooled.sample_weight
        check_both_classes(is_pos, weight, "the held-out part of cv")
        calibrator = fit_calibrator(self.calibration, pooled.score, is_pos, weight)
        score = pooled.score if calibrator is None else calibrator.predict(pooled.score)
        cut, (_, demand) = self._best_cut(sweep(is_pos, score, weight)), self._demand()
        profile = cut.profile
        missed = 0.0 if cut.feasible else float(demand.violation(profile.fn, profile.fp, pos=profile.pos))
        return rank(missed, cut.value)

    def _final_base(self) -> Estimator:
        return _set(self.base, self.best_params_)

    def _choose(self, curve: ThresholdCurve) -> Cut:
        cut = self._best_cut(curve)
        if not cut.feasible:
            _, constraint = self._demand()
            warn(
                f"no threshold satisfies {constraint} on the out-of-fold scores; taken is the one that misses it "
                f"least, {cut.profile}",
            )
        return cut


class _Demanding(Metric):
    """A metric with whatever has a ``violation`` as its constraint."""

    def __init__(self, metric: Metric, demand: Any) -> None:
        self.metric, self.constraint = metric, demand

    def range(self, pos: float) -> tuple[float, float]:
        return self.metric.range(pos)

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        return self.metric.value(fn, fp, pos=pos)


def _set(base: Estimator, setting: dict[str, Any]) -> Estimator:
    """Clone of a base with other parameters, whose own estimators are cloned too."""
    own = clone(base)
    own.set_params(**clone(setting, safe=False))
    return own
