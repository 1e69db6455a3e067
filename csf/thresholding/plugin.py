"""A classifier whose threshold, or rule of several classes, maximises a metric on out-of-fold scores."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf._common.messages import warn
from csf._common.sklearn import clone
from csf._common.typing import Array, Estimator, IntArray, Label, RandomState_, Samples, Values
from csf._common.validation import check_binary_target, check_choice, check_grid, check_labels
from csf.data.folds import resolve_splits
from csf.metrics import ConfusionMetric, Metric, get_confusion_metric, get_constraint, get_metric
from csf.metrics.base import rank
from csf.resampling import AssessedMixin, ScoreStore, ThresholdQuestion
from csf.thresholding._calibration import fit_calibrator
from csf.thresholding._pooled import PooledThresholdClassifier, TwoClasses, gives_probabilities
from csf.thresholding._scores import RESPONSE_METHODS
from csf.thresholding._several import SeveralClasses
from csf.thresholding.class_rule import RuleOfClasses
from csf.thresholding.curve import check_both_classes, sweep

if TYPE_CHECKING:
    from csf.metrics.constraints import Constraint
    from csf.thresholding._pooled import Pooled, Target
    from csf.thresholding.curve import Cut, ThresholdCurve

__all__ = ["PlugInClassifier"]


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
        Value of the metric to expect on new data, see `csf.resampling`; computed when it is first asked for. With three
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
        self._keep_scores(store, ThresholdQuestion(aim, key, self.random_state))

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
