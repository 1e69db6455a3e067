"""Plug-in classifiers: a search of one trial at equal costs, whose threshold or rule maximises a metric."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf._common.messages import warn
from csf._common.sklearn import is_pairwise, pass_on_features, routing_enabled, with_parameters
from csf._common.typing import Array, Estimator, Folding, IntArray, Keywords, Label, RandomState_, Samples
from csf._common.validation import check_choice, check_grid, check_labels, check_n_jobs, check_samples
from csf.data.costs import NO_CHANNEL, CostChannel, cost_channel
from csf.data.folds import Task, drop_weightless, pool_held_out, read_groups
from csf.data.labels import Labels, read_classes, read_labels
from csf.data.responses import (
    DECISION_FIRST,
    PROBABILITIES_FIRST,
    class_scores,
    method_once_fitted,
    response_method,
)
from csf.evaluate import AssessedMixin, Candidate, ScoreRow, ScoreStore
from csf.metrics import LinearFractional, Metric, get_confusion_metric, get_metric
from csf.metrics.concave import Concave
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import aim, for_classes, positive_class
from csf.search.config import SearchConfig, SearchEffort, check_base
from csf.search.planning import plan_in_memory, run_search
from csf.search.problems.base import FittedBase, record_of
from csf.search.problems.binary import BinaryProblem, study_of_equal_costs
from csf.search.problems.binary_result import THRESHOLD, BinaryResult
from csf.search.problems.multiclass import (
    MulticlassEvaluator,
    MulticlassProblem,
    MulticlassResult,
    class_metric,
    ruled,
)
from csf.search.problems.prevalence import violation_of
from csf.thresholding.class_choice import TUNED
from csf.thresholding.consistent import (
    BisectionResult,
    Mixture,
    bisection,
    check_linear_fractional,
    check_tangents,
    frank_wolfe,
)
from csf.thresholding.curve import Cut, ThresholdCurve, sweep
from csf.thresholding.linear_rule import fit_calibrator
from csf.thresholding.rule import ThresholdClassifier, ThresholdRule, base_has
from csf.trainers import Prepared

if TYPE_CHECKING:
    from csf.data.folds import ClassShares
    from csf.evaluate import Assessment
    from csf.metrics.constraints import Constraint
    from csf.search.plan import MemoryPlan
    from csf.search.training import Evaluator
    from csf.thresholding.linear_rule import Calibrator, ClassCalibrator, ClassProbabilityRule
    from csf.trainers.base import Trainer, Training

__all__ = [
    "BisectionPlugIn",
    "FrankWolfePlugIn",
    "PlugInClassifier",
    "RandomizedFrankWolfePlugIn",
]

# ---------------------------------------------------------------- searches of one trial


def plain_plan(plan: MemoryPlan, methods: Sequence[str]) -> MemoryPlan:
    """Return a plan whose trainings get the user's weights where bases take them, with scores of the first method."""
    setup = replace(plan.setup, channel_of=plain_channel, methods=methods)
    return replace(plan, setup=setup, trained=not isinstance(plan.bases[0], FrozenEstimator))


def plain_channel(base: Estimator) -> CostChannel:
    """Return the way of sample weights into a base's ``fit``; none where it takes none, or scikit-learn routes them."""
    channel = NO_CHANNEL if routing_enabled() else cost_channel(base, required=False)
    return NO_CHANNEL if not channel.carries_samples or channel.is_routed else channel


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdResult(BinaryResult):
    """Result of a search of one trial: its threshold on the scores, which are calibrated if the classifier does so."""

    calibrator: Calibrator | None
    fold_curves: tuple[ThresholdCurve, ...]


@dataclass(frozen=True, eq=False)
class ThresholdProblem(BinaryProblem):
    """Problem of two classes whose threshold a plug-in classifier chooses on scores of trainings with equal costs."""

    model: PooledThresholdClassifier
    searches_costs = False

    def studies(self, config: SearchConfig, shares: ClassShares, efforts: Sequence[SearchEffort]) -> list[Any]:
        """Create a study of one trial for each setting."""
        return [study_of_equal_costs(config, shares.pos) for _ in efforts]

    def extended(self, config: SearchConfig, plan: MemoryPlan) -> MemoryPlan:
        """Return the plan with trainings that get the user's weights where the base takes them."""
        return plain_plan(plan, self.model._response_methods())

    def conclude(
        self, config: SearchConfig, plan: MemoryPlan, store: ScoreStore, stopped: str | None
    ) -> ThresholdResult:
        """Calibrate the scores of each setting and choose its threshold; return the result of the best setting."""
        calibrators = {row.key: self._calibrated(config, store, row) for row in list(store)}
        best = min(store, key=attrgetter("rank"))
        searched = record_of(plan, config, store, stopped)
        assert best.score is not None, "thresholds are tuned"
        parts = np.split(best.score, np.cumsum([fold.test.size for fold in plan.folds])[:-1])
        held_out = [(fold, part) for fold, part in zip(plan.folds, parts) if fold.holds_out_both]
        return ThresholdResult(
            **searched.shared,
            candidate=Candidate(best.key, THRESHOLD),
            threshold=best.threshold,
            score=best.value,
            calibrator=calibrators[best.key],
            fold_curves=tuple(sweep(fold.y_test > 0, part, fold.weight_test) for fold, part in held_out),
        )

    def _calibrated(self, config: SearchConfig, store: ScoreStore, row: ScoreRow) -> Calibrator | None:
        """Replace the scores of a trial by calibrated ones, with their threshold; return the calibrator."""
        assert row.score is not None, "thresholds are tuned"
        score, model = row.score.astype(np.float64), self.model
        calibrator = fit_calibrator(model.calibration, score, store.is_pos, store.weight)
        score = score if calibrator is None else calibrator.predict(score)
        cut = model._best_cut(sweep(store.is_pos, score, store.weight))
        violation = violation_of(config.aim, cut)
        store.put(replace(row, score=score, threshold=cut.threshold, value=cut.value, violation=violation))
        return calibrator

    def rule(self, result: Any, trainer: Trainer, training: Training) -> ThresholdRule:
        """Build the rule of the threshold with its score."""
        estimator = trainer.estimator(training)
        method = response_method(estimator, self.model._response_methods())
        rule = self.rule_by(result, estimator, *self.names_in(estimator), method)
        return replace(rule, calibrator=result.calibrator)


@dataclass(frozen=True, eq=False)
class RuleProblem(MulticlassProblem):
    """Problem of several classes for which a rule is tuned on the probabilities of trainings with equal weights."""

    model: PlugInClassifier
    searches_costs = False

    def extended(self, config: SearchConfig, plan: MemoryPlan) -> MemoryPlan:
        """Return the plan with trainings that get the user's weights where the base takes them."""
        truth, weight, _ = pool_held_out(plan.folds)
        missing = np.bincount(truth, weight, self.labels.classes.size) <= 0.0
        if missing.any():
            raise ValueError(
                f"the held-out part of cv has no sample with a positive weight of the classes "
                f"{self.labels.classes[missing].tolist()}; each of the classes {self.labels.classes.tolist()} needs one"
            )
        return plain_plan(plan, self.model._response_methods())

    def judge(self, config: SearchConfig) -> Evaluator:
        """Create the judge of trainings."""
        margins = method_once_fitted(config.base, self.model._response_methods()) != "predict_proba"
        return MulticlassEvaluator(self.metric, self.labels.classes.size, margins=margins, tune=True)

    def conclude(
        self, config: SearchConfig, plan: MemoryPlan, store: ScoreStore, stopped: str | None
    ) -> MulticlassResult:
        """Return the result of the setting whose tuned rule is best."""
        searched = record_of(plan, config, store, stopped)
        tuned = {(trial.setting, trial.number): self.metric.value(np.array(trial.tuned)) for trial in searched.trials}
        best = Candidate(max((row.key for row in store), key=tuned.__getitem__), TUNED)
        return ruled(MulticlassResult(**searched.shared, candidate=best, only=best))


# ---------------------------------------------------------------- what classifiers with a threshold share


_base_gives_probabilities = base_has("predict_proba")


def _has_classes_alike(self: Estimator) -> bool:
    """Check whether three or more classes were learnt, about which a rule decides."""
    return "rule_" in vars(self)


def _has_a_threshold(self: Estimator) -> bool:
    return not _has_classes_alike(self)


def _gives_probabilities(self: Estimator) -> bool:
    return _has_classes_alike(self) or self.calibration is not None or _base_gives_probabilities(self)


class PooledThresholdClassifier(ThresholdClassifier):
    """Base class of classifiers with a threshold on a base's score, chosen on out-of-fold scores.

    Subclasses have the parameters ``base``, ``metric``, ``cv``, ``calibration``, ``pos_label``, ``n_jobs`` and
    ``random_state``, and write `_best_cut` and `_response_methods`.
    """

    calibration: Literal["sigmoid", "isotonic"] | None
    constraint: str | Constraint | None = None
    param_grid: Keywords | list[Keywords] | None = None
    pos_label: Label
    n_jobs: int | None
    random_state: RandomState_
    calibrator_: Calibrator | ClassCalibrator | None
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
            Further arguments for the base's ``fit``, and ``groups`` of samples that are held out together; with
            metadata routing enabled, whatever base and splitter request.

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
        check_base(self.base)
        check_n_jobs(self.n_jobs)
        X, y = check_samples(X, y, sample_weight=sample_weight, **params)
        X, y, sample_weight, params, cv = drop_weightless(X, y, sample_weight, params, self.cv)
        problem, codes = self._read(y)
        weight = problem.weights(sample_weight, codes)
        if weight is not None and routing_enabled():
            params["sample_weight"] = weight
        groups = read_groups(params.get("groups"), codes.size)
        config = self._config(problem.labels, codes.size, cv)
        pairwise = is_pairwise(self) and not isinstance(config.base, FrozenEstimator)
        task = Task(X, codes, weight, params, problem.labels, groups, pairwise)
        plan = plan_in_memory(self, config, problem, task, Prepared())
        result, rule, *_ = run_search(config, problem, plan, search=self)
        self._forget()
        self._rule = replace(rule, estimator=self.base) if self._is_prefit() else rule
        self.best_params_, self.classes_, self.estimator_ = result.params, problem.labels.classes, self._rule.estimator
        self._publish(result, problem.labels)
        pass_on_features(self.estimator_, self)
        return self

    def _read(self, y: ArrayLike) -> tuple[ThresholdProblem | RuleProblem, IntArray]:
        """Read the problem that the labels pose, and their codes."""
        labels, codes = read_labels(y, pos_label=positive_class(self.metric, y, self.pos_label))
        return ThresholdProblem(labels, self), codes

    def _config(self, labels: Labels, n_samples: int, cv: Folding) -> SearchConfig:
        """Return the options of the search; one of a fitted base holds out all samples and trains nothing."""
        base, cv = self.base, 5 if cv is None else cv
        if self._is_prefit():
            base, cv = FrozenEstimator(base), [(np.arange(n_samples), np.arange(n_samples))]
        if isinstance(base, FrozenEstimator):
            FittedBase.of(base.estimator, labels)  # raises an error for one that is not, or of unclear classes
        return SearchConfig(
            base,
            self.metric,
            constraint=self.constraint,
            param_grid=self.param_grid,
            cv=cv,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            threshold="tune",
            n_trials=1,
            error_score="raise",
        )

    def _forget(self) -> None:
        """Drop the attributes of an earlier fit: another number of classes has others."""
        learnt = ("_rule", "_result", "_assessment")
        for name in [name for name in vars(self) if name in learnt or name.endswith("_")]:
            del vars(self)[name]

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _publish(self, result: Any, labels: Labels) -> None:
        """Set everything that is learnt from the held-out scores of two classes."""
        self.pos_label_ = labels.positive
        self.calibrator_, self.curve_, self.fold_curves_ = result.calibrator, result.curve(), result.fold_curves
        cut = self._choose(self.curve_)
        self.threshold_, self.best_score_ = cut.threshold, cut.value
        self.profile_, self.feasible_ = cut.profile, cut.feasible
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
        return class_scores(self.estimator_, X, ("predict_proba",)) if as_is else self._rule.predict_proba(X)


class ProbabilityThresholdClassifier(PooledThresholdClassifier):
    """Base class of classifiers whose thresholds have a meaning for probabilities only."""

    bisection_: BisectionResult
    mixture_: Mixture
    n_iter_: int

    def _response_methods(self) -> tuple[str, ...]:
        return ("predict_proba",) if self.calibration is None else DECISION_FIRST


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
        hold-out; both keep the ``groups`` of `fit` together. ``"prefit"`` takes the fitted base as it is: give `fit`
        samples that the base has not seen.
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
        Seed of the hold-out when ``cv`` is a float, and of a base without one; ``None`` always draws the same one.

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
        The base fitted to everything, linear models as `csf.trainers` solves them; the base itself for
        ``cv="prefit"``.
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
    param_grid: Keywords | list[Keywords] | None = None
    cv: Folding = 5
    calibration: Literal["sigmoid", "isotonic"] | None = None
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto"
    pos_label: Label = None
    n_jobs: int | None = None
    random_state: RandomState_ = None

    def _read(self, y: ArrayLike) -> tuple[ThresholdProblem | RuleProblem, IntArray]:
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
        return RuleProblem(labels, get_confusion_metric(for_classes(self.metric, labels.classes)), self), codes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = class_metric(self.metric) is not None
        return tags

    def _check_parameters(self) -> None:
        _ = self._aim
        self._response_methods()
        if self.param_grid is not None:
            check_grid(self.param_grid)
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

    def _publish(self, result: Any, labels: Labels) -> None:
        self._result, self.held_out_ = result, result.store
        if labels.classes.size == 2:
            super()._publish(result, labels)
            return
        self.rule_, self.confusion_, self.best_score_ = result.rule, result.confusion, result.score
        self.calibrator_ = self._rule.calibrator

    def _assess_scores(self) -> Assessment | None:
        return self._result.assess() if "_result" in vars(self) else None

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
        Seed of the hold-out when ``cv`` is a float, and of a base without one; ``None`` always draws the same one.

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
    (0.374, 0.742)
    """

    base: Estimator = field(kw_only=False)
    metric: str | LinearFractional = field(default="f1", kw_only=False)
    tol: float = 1e-9
    cv: Folding = 5
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
        Seed of the hold-out when ``cv`` is a float, and of a base without one; ``None`` always draws the same one.

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
    cv: Folding = 5
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
        Seed of the hold-out when ``cv`` is a float, of a base without one, and of the draws: with an int every call
        of ``predict`` draws the same thresholds, in the order of the samples.

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags
