"""Plug-in classifiers: a search of one trial at equal costs, whose threshold or rule maximises a metric."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from csf._common.messages import warn
from csf._common.sklearn import clone, last_step, pass_on_features, routing_enabled, safe_indexing, with_parameters
from csf._common.typing import Array, Costs, Estimator, IntArray, Label, RandomState_, Samples
from csf._common.validation import (
    check_choice,
    check_grid,
    check_labels,
    check_n_jobs,
    check_samples,
    check_weights,
)
from csf.data.folds import Fold, Task, make_folds, pool_held_out, resolve_splits
from csf.data.labels import Labels, read_classes, read_labels
from csf.data.responses import (
    DECISION_FIRST,
    PROBABILITIES_FIRST,
    Response,
    natural_threshold,
    positive_score,
    response_method,
)
from csf.evaluate import MAX_BYTES, AssessedMixin, Candidate, ScoreStore, assess, seed_of
from csf.metrics import LinearFractional, Metric, get_confusion_metric, get_metric
from csf.metrics.base import rank
from csf.metrics.concave import Concave
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import aim, for_classes
from csf.metrics.trials import Trial
from csf.search.planning import with_setting
from csf.search.problems.binary import violation_of
from csf.search.problems.multiclass import MulticlassEvaluator, class_metric, tuned_decision
from csf.search.training import FoldResult, FoldTask, pooled
from csf.search.workers import Workers
from csf.thresholding.class_choice import TUNED, MulticlassChoice
from csf.thresholding.consistent import (
    BisectionResult,
    Mixture,
    bisection,
    check_linear_fractional,
    check_tangents,
    frank_wolfe,
)
from csf.thresholding.curve import Cut, ThresholdCurve, check_both_classes, check_probabilities, sweep
from csf.thresholding.linear_rule import MulticlassRule, aligned_scores, fit_calibrator
from csf.thresholding.rule import ThresholdClassifier, ThresholdRule, base_has
from csf.trainers.base import Trainer, Training

if TYPE_CHECKING:
    from csf.evaluate import Assessment
    from csf.metrics.constraints import Constraint
    from csf.thresholding.linear_rule import Calibrator, ClassProbabilityRule

__all__ = [
    "BisectionPlugIn",
    "FrankWolfePlugIn",
    "PlugInClassifier",
    "RandomizedFrankWolfePlugIn",
]

# ---------------------------------------------------------------- out-of-fold scores


def weight_argument(base: Estimator) -> str | None:
    """Return the name of the argument of the base's ``fit`` that takes sample weights, or ``None``."""
    prefix, last = last_step(base)
    return f"{prefix}sample_weight" if has_fit_parameter(last, "sample_weight") else None


class PlainTrainer(Trainer):
    """Trainer of a base on the user's labels, without costs; its scores come from the first of some methods."""

    def __init__(self, base: Estimator, fold: Fold, methods: Sequence[str]) -> None:
        self.base, self.fold, self.methods = base, fold, methods

    def fit(self, costs: Costs, starts: Sequence[Any] = ()) -> Training:
        """Train a fresh clone of the base; see `Trainer.fit`."""
        task, fold = self.fold.task, self.fold
        # Slices are made for this training alone: those of all folds would be the samples several times.
        X, y = safe_indexing(task.X, fold.train), task.user_labels.decode(fold.y_train)
        return Training(clone(self.base).fit(X, y, **fold.fit_params))

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict the scores of a part; see `Trainer.predict`."""
        at = self.fold.test if part == "test" else self.fold.train
        return respond_to_labels(training.model, safe_indexing(self.fold.task.X, at), self.fold.task, self.methods)


def respond_to_labels(model: Estimator, X: Samples, task: Task, methods: Sequence[str]) -> Response:
    """Build the response of a classifier that was trained on the user's labels."""
    labels = task.user_labels
    if labels.n_alike is None:
        score = positive_score(model, X, labels.positive, methods)
        return Response(score > natural_threshold(model, methods), score)
    known = np.asarray(model.classes_)
    if not np.isin(known, labels.classes).all():
        raise ValueError(
            f"{type(model).__name__} has learnt the classes {known.tolist()}, but y holds {labels.classes.tolist()}; "
            "give samples of all of them"
        )
    score = aligned_scores(model, X, np.searchsorted(labels.classes, known), labels.n_alike, methods)
    codes = score.argmax(axis=1)
    return Response(codes, score, codes)


def check_all_classes(labels: Labels, codes: IntArray, weight: Array | None, owner: str) -> None:
    """Raise a ValueError unless all classes have samples of positive weight."""
    if labels.n_alike is None:
        check_both_classes(codes > 0, weight, owner)
        return
    missing = np.bincount(codes, weights=weight, minlength=labels.n_alike) <= 0.0
    if missing.any():
        raise ValueError(
            f"{owner} has no sample with a positive weight of the classes {labels.classes[missing].tolist()}; each "
            f"of the classes {labels.classes.tolist()} needs a sample with a positive weight"
        )


# ---------------------------------------------------------------- what pooled scores say


@dataclass(frozen=True, eq=False)
class PooledScores:
    """Out-of-fold scores of two classes, fold after fold, optionally calibrated."""

    folds: list[Fold]
    scores: list[Array]
    calibrator: Calibrator | None
    labels: Labels

    @classmethod
    def of(cls, model: PooledThresholdClassifier, labels: Labels, folds: list[Fold], results: list[FoldResult]) -> Self:
        """Pool the scores of the trainings of one setting."""
        truth, weight, _ = pool_held_out(folds)
        scores: list[Any] = [each.score for each in results]
        model._check_scores(pooled(scores))
        calibrator = fit_calibrator(model.calibration, pooled(scores), truth > 0, weight)
        return cls(folds, scores if calibrator is None else list(map(calibrator.predict, scores)), calibrator, labels)

    @cached_property
    def curve(self) -> ThresholdCurve:
        """All thresholds of the pooled scores."""
        truth, weight, _ = pool_held_out(self.folds)
        return sweep(truth > 0, pooled(self.scores), weight)

    @property
    def fold_curves(self) -> tuple[ThresholdCurve, ...]:
        """All thresholds of each fold in which both classes have positive weight."""
        curves = []
        for fold, score in zip(self.folds, self.scores):
            truth, weight = fold.y_test > 0, fold.weight_test
            counts = truth if weight is None else truth[weight > 0]
            if counts.any() and not counts.all():
                curves.append(sweep(truth, score, weight))
        return tuple(curves)

    def rank(self, model: PlugInClassifier) -> tuple[float, ...]:
        """Return the rank of the best threshold by violation, then value; smaller is better."""
        cut = model._best_cut(self.curve)
        return rank(violation_of(model._aim, cut), cut.value)

    def publish(self, model: PooledThresholdClassifier) -> None:
        """Set the attributes of a classifier that come from the scores."""
        model.pos_label_ = self.labels.positive
        model._set_threshold(self)

    def rule(self, model: PooledThresholdClassifier) -> ThresholdRule:
        """Build the rule of the threshold with its score."""
        return ThresholdRule.of(
            model.estimator_,
            known=self.labels.classes,
            names=self.labels.classes,
            null=self.labels.null,
            method=response_method(model.estimator_, model._response_methods()),
            threshold=model.threshold_,
            calibrator=self.calibrator,
        )


# The only trial, with its rule: a tuned rule is what was asked for.
_RULE = Candidate((0, 0), TUNED)


class PooledClassScores:
    """Out-of-fold scores of three and more classes, and the linear rule of their probabilities."""

    def __init__(self, model: PlugInClassifier, labels: Labels, folds: list[Fold], results: list[FoldResult]) -> None:
        self.labels, self.metric = labels, get_confusion_metric(for_classes(model.metric, labels.classes))
        truth, weight, samples = pool_held_out(folds)
        margins = response_method(model.base, model._response_methods()) != "predict_proba"
        judge = MulticlassEvaluator(self.metric, labels.classes.size, margins=margins, tune=True)
        self.store = judge.store(truth, weight, samples=samples, max_bytes=MAX_BYTES)
        trial = Trial(0, 0.0, (1.0,) * labels.classes.size)
        fields, predictions = judge.judge(folds, results, trial)
        assert predictions is not None, "failed trainings have raised their errors"
        score, decided, codes = predictions
        assert decided is not None, "the largest score decides"
        self.trial = replace(trial, state="complete", **fields)
        self.store.add_trial(_RULE.key, self.trial, score, decided, codes)

    def rank(self, model: PlugInClassifier) -> tuple[float, ...]:
        """Return the rank of the tuned rule by its value; smaller is better."""
        return rank(0.0, float(self.metric.value(np.array(self.trial.tuned))))

    def publish(self, model: PlugInClassifier) -> None:
        """Set the attributes of a classifier that come from the scores."""
        model.rule_, model.confusion_ = tuned_decision(self.store, self.metric, _RULE)
        score = self.store[_RULE.key].score
        assert score is not None, "rules are tuned on scores"
        model.calibrator_ = self.store.calibrator(score)
        model.best_score_ = float(self.metric.value(model.confusion_))
        model.held_out_ = self.store
        seed = seed_of(model.random_state)
        choice = MulticlassChoice(self.store, self.metric, only=_RULE, random_state=seed)
        model._assessor = partial(choice.assess, _RULE, trained=not model._is_prefit())

    def rule(self, model: PlugInClassifier) -> MulticlassRule:
        """Build the rule with the probabilities that it reads."""
        known = np.asarray(model.estimator_.classes_)
        return MulticlassRule(model.estimator_, self.labels.classes, known, model.rule_, calibrator=model.calibrator_)


# ---------------------------------------------------------------- what classifiers with a threshold share


_base_gives_probabilities = base_has("predict_proba")


def _has_classes_alike(self: Any) -> bool:
    """Check whether three or more classes were learnt, about which a rule decides."""
    return isinstance(getattr(self, "_rule", None), MulticlassRule)


def _has_a_threshold(self: Any) -> bool:
    return not _has_classes_alike(self)


def _gives_probabilities(self: Any) -> bool:
    return _has_classes_alike(self) or self.calibration is not None or _base_gives_probabilities(self)


class PooledThresholdClassifier(ThresholdClassifier):
    """Base class of classifiers with a threshold on a base's score, chosen on out-of-fold scores.

    Subclasses have the parameters ``base``, ``metric``, ``cv``, ``calibration``, ``pos_label``, ``n_jobs`` and
    ``random_state``, and write `_best_cut` and `_response_methods`.
    """

    calibration: Literal["sigmoid", "isotonic"] | None
    pos_label: Label
    n_jobs: int | None
    random_state: RandomState_
    calibrator_: Any  # a Calibrator, or that of several classes
    curve_: ThresholdCurve
    fold_curves_: tuple[ThresholdCurve, ...]
    fold_thresholds_: Array
    threshold_: float
    threshold_std_: float
    best_score_: float
    profile_: ErrorProfile
    _rule: Any  # a ThresholdRule, or a MulticlassRule
    feasible_: bool
    estimator_: Estimator
    rule_: ClassProbabilityRule
    confusion_: Array

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
        """Choose the threshold of a `ThresholdCurve` of out-of-fold scores."""

    @abstractmethod
    def _response_methods(self) -> tuple[str, ...]:
        """List the methods of the base that may give the score, in order of preference."""

    def _choose(self, curve: ThresholdCurve) -> Cut:
        """Choose the threshold of the pooled curve; subclasses that have more to store do it here."""
        return self._best_cut(curve)

    def _check_parameters(self) -> None:
        """Check parameters before any fitting; a hook for subclasses."""

    def fit(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Choose the threshold on out-of-fold scores, then fit the base to everything.

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
        labels, codes = self._read(y)
        weight = check_weights(sample_weight, codes.shape[0])
        check_all_classes(labels, codes, weight, "sample_weight")
        fit_params, split_params = self._route_with(weight, params)
        task, settings = Task(X, codes, weight, fit_params, labels), self._settings()
        folds, results = self._train(task, settings, split_params)
        check_all_classes(labels, *pool_held_out(folds)[:2], "the held-out part of cv")
        found = [self._pool(labels, folds, each) for each in results]
        best = min(range(len(found)), key=lambda at: found[at].rank(self)) if len(found) > 1 else 0
        self._forget()
        self.best_params_, self.classes_ = settings[best], labels.classes
        found[best].publish(self)
        self.estimator_ = self.base
        if not self._is_prefit():
            self.estimator_ = with_setting(self.base, settings[best]).fit(X, np.asarray(y).reshape(-1), **fit_params)
        self._rule = found[best].rule(self)
        pass_on_features(self.estimator_, self)
        return self

    def _read(self, y: ArrayLike) -> tuple[Labels, IntArray]:
        """Read the labels and their codes."""
        return read_labels(y, pos_label=self.pos_label)

    def _settings(self) -> list[dict[str, Any]]:
        """List the settings of the base's parameters."""
        return [{}]

    def _train(
        self, task: Task, settings: list[dict[str, Any]], split_params: dict[str, Any]
    ) -> tuple[list[Fold], list[list[FoldResult]]]:
        """Train each setting on each fold. Return the folds, and the held-out results of each setting."""
        methods = self._response_methods()
        if self._is_prefit():
            check_is_fitted(self.base)
            answer, every = respond_to_labels(self.base, task.X, task, methods), np.arange(task.n_samples)
            return [Fold(task, every, every)], [[FoldResult(decided=answer.decided, score=answer.score)]]
        bases = [with_setting(self.base, setting) for setting in settings]
        folds = make_folds(
            task,
            resolve_splits(self.cv, task.X, task.strata, random_state=self.random_state, split_params=split_params),
        )
        trainers: list[list[Trainer]] = [[PlainTrainer(base, fold, methods) for fold in folds] for base in bases]
        equal = (1.0,) * task.user_labels.classes.size
        tasks = [FoldTask(setting, fold, equal) for setting in range(len(bases)) for fold in range(len(folds))]
        with Workers(trainers, folds, self.n_jobs) as workers:
            results = workers.run(tasks, raise_errors=True)
            return folds, [[next(results) for _ in folds] for _ in bases]

    def _pool(self, labels: Labels, folds: list[Fold], results: list[FoldResult]) -> Any:
        """Pool the scores of one setting."""
        return PooledScores.of(self, labels, folds, results)

    def _check_scores(self, score: Array) -> None:
        """Check the pooled scores before any calibration; a hook for subclasses."""

    def _forget(self) -> None:
        """Drop the attributes of an earlier fit: another number of classes has others."""
        own = ("_rule", "_assessor", "_assessment")
        for name in [name for name in vars(self) if name in own or name.endswith("_")]:
            del vars(self)[name]

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _route_with(self, weight: Array | None, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Split arguments into those of the base's ``fit``, with weights where it takes them, and of the splitter."""
        if isinstance(self.base, type) or not hasattr(self.base, "fit"):
            raise TypeError(f"base must be a classifier object with fit, got {self.base!r}")
        if routing_enabled():
            return self._route(params if weight is None else {"sample_weight": weight, **params})
        fit_params, split_params = self._route(params)
        name = weight_argument(self.base)
        if weight is not None and name is not None:
            fit_params[name] = weight
        return fit_params, split_params

    def _set_threshold(self, pooled: PooledScores) -> None:
        """Set everything that is learnt from the pooled scores."""
        self.calibrator_, self.curve_ = pooled.calibrator, pooled.curve
        cut = self._choose(self.curve_)
        self.threshold_, self.best_score_ = cut.threshold, cut.value
        self.profile_, self.feasible_ = cut.profile, cut.feasible
        self.fold_curves_ = pooled.fold_curves
        self.fold_thresholds_ = np.array([self._best_cut(curve).threshold for curve in self.fold_curves_])
        scores = self.curve_.lowest_score[np.isfinite(self.curve_.lowest_score)]
        several = self.fold_thresholds_.size > 1 and scores.size > 0
        # An infinite threshold counts as the nearest finite score.
        self.threshold_std_ = (
            float(np.std(np.clip(self.fold_thresholds_, scores[-1], scores[0]))) if several else np.nan
        )

    @available_if(_has_a_threshold)
    def positive_score(self, X: Samples) -> Array:
        """Compute the positive class's score, which `threshold_` applies to: larger is more likely positive.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The base's score, calibrated if the classifier calibrates.
        """
        check_is_fitted(self)
        return self._rule.scored(X)[1]

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
        """Compute the score minus `threshold_`, positive exactly where ``classes_[1]`` is predicted.

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

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Samples) -> Array:
        """Predict the probabilities of the base, or calibrated ones; neither a threshold nor a rule changes them.

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
        as_is = self.calibrator_ is None and _has_a_threshold(self)
        return self.estimator_.predict_proba(X) if as_is else self._rule.predict_proba(X)


class ProbabilityThresholdClassifier(PooledThresholdClassifier):
    """Base class of classifiers whose thresholds have a meaning for probabilities only."""

    bisection_: BisectionResult
    mixture_: Mixture
    n_iter_: int

    def _response_methods(self) -> tuple[str, ...]:
        return ("predict_proba",) if self.calibration is None else DECISION_FIRST

    def _check_scores(self, score: Array) -> None:
        if self.calibration is None:
            check_probabilities(score, f"the scores of {type(self.base).__name__}")


# ---------------------------------------------------------------- the plug-in classifier


@with_parameters
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
    rule_ : ClassProbabilityRule
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
    threshold_curve : The thresholds of given scores, without any fitting.
    ClassProbabilityRule : The rule that decides about three or more classes.
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

    base: Estimator = field(kw_only=False)
    metric: str | Metric = field(default="f1", kw_only=False)
    constraint: str | Constraint | None = None
    param_grid: dict[str, Any] | list[dict[str, Any]] | None = None
    cv: Any = 5
    calibration: Literal["sigmoid", "isotonic"] | None = None
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto"
    pos_label: Label = None
    n_jobs: int | None = None
    random_state: RandomState_ = None

    def _read(self, y: ArrayLike) -> tuple[Labels, IntArray]:
        if class_metric(self.metric) is None or check_labels(y)[1].shape[0] == 2:
            return super()._read(y)  # more than two classes are refused there
        labels, codes = read_classes(y)
        for name in ("constraint", "calibration", "pos_label"):
            if (given := getattr(self, name)) is not None:
                raise ValueError(
                    f"{name}={given!r} needs two classes, but y has {labels.classes.size}: "
                    f"{labels.classes.tolist()}. For these a linear rule on the probabilities is found; leave {name} "
                    "out"
                )
        return labels, codes

    def _settings(self) -> list[dict[str, Any]]:
        return [{}] if self.param_grid is None else check_grid(self.param_grid)

    def _pool(self, labels: Labels, folds: list[Fold], results: list[FoldResult]) -> Any:
        if labels.n_alike is None:
            return super()._pool(labels, folds, results)
        return PooledClassScores(self, labels, folds, results)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = class_metric(self.metric) is not None
        return tags

    def _check_parameters(self) -> None:
        _ = self._aim
        self._response_methods()
        if self.param_grid is not None and self._is_prefit():
            raise ValueError('cv="prefit" takes the base as it was fitted; leave out param_grid, or give folds as cv')

    def _response_methods(self) -> tuple[str, ...]:
        if self.response_method == "auto":
            # A sigmoid fits log-odds and margins, not probabilities.
            return PROBABILITIES_FIRST if self.calibration is None else DECISION_FIRST
        return (check_choice(self.response_method, "response_method", ("auto", *PROBABILITIES_FIRST)),)

    @property
    def _aim(self) -> Metric:
        """The metric, under the constraint; a constrained metric brings its own."""
        metric = get_metric(self.metric)
        if metric.constraint is not None and self.constraint is not None:
            raise ValueError(f"metric {metric.name!r} has a constraint of its own; leave out constraint=")
        return aim(metric, self.constraint)

    def _best_cut(self, curve: ThresholdCurve) -> Cut:
        return curve.best(self._aim)

    def _set_threshold(self, pooled: PooledScores) -> None:
        super()._set_threshold(pooled)
        truth, weight, samples = pool_held_out(pooled.folds)
        self.held_out_ = store = ScoreStore(truth > 0, weight, samples=samples)
        cut = Cut(self.threshold_, self.best_score_, self.profile_)
        score, missed = np.concatenate(pooled.scores), violation_of(self._aim, cut)
        store.add(_RULE.key, score=score, threshold=cut.threshold, value=cut.value, violation=missed)
        self._assessor = partial(assess, store, self._aim, _RULE.key, random_state=seed_of(self.random_state))

    def _assess_scores(self) -> Assessment | None:
        return self._assessor() if "_assessor" in vars(self) else None

    def _choose(self, curve: ThresholdCurve) -> Cut:
        cut = self._best_cut(curve)
        if not cut.feasible:
            warn(
                f"no threshold satisfies {self._aim.constraint} on the out-of-fold scores. The one that comes "
                f"closest is used: {cut.profile}",
            )
        return cut


# ---------------------------------------------------------------- plug-in classifiers of the papers


@with_parameters
class BisectionPlugIn(ProbabilityThresholdClassifier):
    """Classifier with the threshold that bisection finds for a linear-fractional metric.

    The threshold follows from probabilities and the metric's costs; labels are only counted. With good
    probabilities this is less noisy than the best threshold of `PlugInClassifier`, with bad ones it is worse.

    Parameters
    ----------
    base : estimator
        Classifier with ``predict_proba``; any score will do with ``calibration``.
    metric : str or LinearFractional, default="f1"
        What to maximise.
    tol : float, default=1e-9
        Width of the final bracket of levels, in units of the metric.
    cv : int, float, splitter, iterable of splits, "prefit" or None, default=5
        As for `PlugInClassifier`.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Map from scores to probabilities, fitted on the pooled out-of-fold scores.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    n_jobs : int, default=None
        Number of folds fitted at the same time; ``None`` means 1, -1 all processors.
    random_state : int, RandomState instance or None, default=None
        Seed of the hold-out when ``cv`` is a float.

    Attributes
    ----------
    bisection_ : BisectionResult
        The steps on the pooled out-of-fold probabilities.
    threshold_, threshold_std_, best_score_ : float
        As for `PlugInClassifier`.
    curve_, fold_curves_, fold_thresholds_, profile_, estimator_, calibrator_, classes_, pos_label_
        As for `PlugInClassifier`.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, A. Saha, S. Agarwal, "Consistent multiclass algorithms for complex
       performance measures", ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(1000, weights=[0.9], class_sep=0.7, random_state=0)
    >>> plugin = BisectionPlugIn(LogisticRegression(), metric="f1").fit(X, y)
    >>> plugin.threshold_, plugin.best_score_
    (0.372, 0.742)
    """

    base: Estimator = field(kw_only=False)
    metric: str | LinearFractional = field(default="f1", kw_only=False)
    tol: float = 1e-9
    cv: Any = 5
    calibration: Literal["sigmoid", "isotonic"] | None = None
    pos_label: Label = None
    n_jobs: int | None = None
    random_state: RandomState_ = None

    def _check_parameters(self) -> None:
        check_linear_fractional(self.metric)

    def _choose(self, curve: ThresholdCurve) -> Cut:
        self.bisection_ = bisection(curve, self.metric, tol=self.tol)
        return self.bisection_.cut

    def _best_cut(self, curve: ThresholdCurve) -> Cut:
        return bisection(curve, self.metric, tol=self.tol).cut


@with_parameters
class FrankWolfePlugIn(ProbabilityThresholdClassifier):
    """Classifier with the best single threshold that Frank-Wolfe visits for a metric concave in the two rates.

    Parameters
    ----------
    base : estimator
        Classifier with ``predict_proba``; any score will do with ``calibration``.
    metric : str or Concave, default="gmean"
        What to maximise: concave in the two rates and differentiable.
    max_iter : int, default=100
        Largest number of steps.
    tol : float, default=1e-6
        Gap at which to stop, in units of the metric.
    cv : int, float, splitter, iterable of splits, "prefit" or None, default=5
        As for `PlugInClassifier`.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Map from scores to probabilities, fitted on the pooled out-of-fold scores.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    n_jobs : int, default=None
        Number of folds fitted at the same time; ``None`` means 1, -1 all processors.
    random_state : int, RandomState instance or None, default=None
        Seed of the hold-out when ``cv`` is a float.

    Attributes
    ----------
    mixture_ : Mixture
        The mixture found on the pooled out-of-fold probabilities; its ``best_single`` is the rule used here.
    n_iter_ : int
        Number of thresholds that were computed for it.
    threshold_, threshold_std_, best_score_ : float
        As for `PlugInClassifier`.
    curve_, fold_curves_, fold_thresholds_, profile_, estimator_, calibrator_, classes_, pos_label_
        As for `PlugInClassifier`.

    See Also
    --------
    RandomizedFrankWolfePlugIn : The same search, predicting with the mixture.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, A. Saha, S. Agarwal, "Consistent multiclass algorithms for complex
       performance measures", ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(1000, weights=[0.9], class_sep=0.7, random_state=0)
    >>> plugin = FrankWolfePlugIn(LogisticRegression(), metric="gmean").fit(X, y)
    >>> plugin.threshold_, plugin.best_score_
    (0.102, 0.866)
    """

    base: Estimator = field(kw_only=False)
    metric: str | Concave = field(default="gmean", kw_only=False)
    max_iter: int = 100
    tol: float = 1e-6
    cv: Any = 5
    calibration: Literal["sigmoid", "isotonic"] | None = None
    pos_label: Label = None
    n_jobs: int | None = None
    random_state: RandomState_ = None

    def _check_parameters(self) -> None:
        check_tangents(self.metric)

    def _choose(self, curve: ThresholdCurve) -> Cut:
        self.mixture_ = frank_wolfe(curve, self.metric, max_iter=self.max_iter, tol=self.tol)
        self.n_iter_ = self.mixture_.n_iter
        return self.mixture_.best_single

    def _best_cut(self, curve: ThresholdCurve) -> Cut:
        return frank_wolfe(curve, self.metric, max_iter=self.max_iter, tol=self.tol).best_single


@with_parameters
class RandomizedFrankWolfePlugIn(FrankWolfePlugIn):
    """Classifier that draws one of the thresholds of a Frank-Wolfe mixture for every sample it predicts.

    Same parameters and attributes as `FrankWolfePlugIn`, with the exceptions below. It has no ``decision_function``: no
    number decides the prediction.

    Parameters
    ----------
    base : estimator
        Classifier with ``predict_proba``; any score will do with ``calibration``.
    metric : str or Concave, default="gmean"
        What to maximise: concave in the two rates and differentiable.
    max_iter : int, default=100
        Largest number of steps.
    tol : float, default=1e-6
        Gap at which to stop, in units of the metric.
    cv : int, float, splitter, iterable of splits, "prefit" or None, default=5
        As for `PlugInClassifier`.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Map from scores to probabilities, fitted on the pooled out-of-fold scores.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    n_jobs : int, default=None
        Number of folds fitted at the same time; ``None`` means 1, -1 all processors.
    random_state : int, RandomState instance or None, default=None
        Seed of the hold-out when ``cv`` is a float, and of the draws: with an int every call of ``predict`` draws
        the same thresholds, in the order of the samples.

    Attributes
    ----------
    mixture_ : Mixture
        Thresholds and their probabilities.
    best_score_ : float
        Metric of the expected error profile of the mixture on the pooled out-of-fold probabilities.
    profile_ : ErrorProfile
        That expected error profile.
    threshold_ : float
        Best single threshold; not the rule of this class.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(1000, weights=[0.9], class_sep=0.7, random_state=0)
    >>> plugin = RandomizedFrankWolfePlugIn(LogisticRegression(), metric="gmean", random_state=0).fit(X, y)
    >>> plugin.positive_probability(X[:4]), plugin.best_score_
    (array([0., 1., 1., 0.]), 0.866)
    """

    def _choose(self, curve: ThresholdCurve) -> Cut:
        cut = super()._choose(curve)
        return replace(cut, value=self.mixture_.value, profile=self.mixture_.profile)

    @property
    def decision_function(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - hides the inherited one
        """Not available: predictions are drawn."""
        raise AttributeError(
            f"{type(self).__name__} has no decision_function: its predictions are drawn; see positive_probability"
        )

    def positive_probability(self, X: Samples) -> Array:
        """Compute the probability with which each sample is predicted positive.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Total weight of the thresholds that the sample's score reaches; not a probability of its class.
        """
        score = self.positive_score(X)
        return self.mixture_.positive_probability(score)

    def predict(self, X: Samples) -> Array:
        """Predict with a threshold drawn for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        probability = self.positive_probability(X)
        draws = check_random_state(self.random_state).uniform(size=probability.shape[0])
        return self._rule.labels(draws < probability)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags
