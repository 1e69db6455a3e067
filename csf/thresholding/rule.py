"""Fitted classifiers with a threshold on their score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf._common.messages import shown
from csf._common.sklearn import DocLinkMixin, named_models, num_samples, pass_on_input_tags, routing_enabled
from csf._common.typing import Array, BoolArray, Costs, Estimator, Label, Params, Samples
from csf._common.validation import check_class_weights, check_labels, check_weights
from csf.data.costs import problem_probabilities
from csf.data.labels import names_of_answers
from csf.data.responses import (
    above,
    class_scores,
    gives_log_odds,
    log_odds,
    lost_samples,
    margin,
    moved_scores,
    natural_threshold,
    null_column,
    respond,
    response_method,
)
from csf.metrics import get_metric
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import metric_of
from csf.thresholding.alerts import NO_LIMITS, AlertLimit, AlertLimits
from csf.thresholding.base import DecisionRule, ScoredElsewhere, refuse_limits
from csf.thresholding.batch import (
    batch_within,
    best_rows,
    check_capacity,
    limit_of_others,
    limit_of_positives,
    refuse_null,
)
from csf.thresholding.curve import sweep_several

if TYPE_CHECKING:
    from csf.metrics.constraints import Review
    from csf.metrics.registry import MetricLike
    from csf.thresholding.curve import ThresholdCurve
    from csf.thresholding.linear_rule import Calibrator

# ---------------------------------------------------------------- what classifiers with a threshold share


def base_has(*methods: str) -> Callable[[Estimator], bool]:
    """Return a condition for `available_if`: the base, fitted or not, has one of the methods."""

    def check(self: Estimator) -> bool:
        estimator = getattr(self, "best_estimator_", self.base)
        models = named_models(estimator) or [("", estimator)]
        return all(any(hasattr(model, method) for method in methods) for _, model in models)

    return check


class ThresholdClassifier(DocLinkMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base class; a subclass has the parameters ``base``, ``cv`` and ``metric``, and defines what is declared here."""

    # Groups are asked for always, whatever the splitter: they count in folds and intervals.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}
    base: Estimator
    cv: Any
    # A name or a metric; subclasses say of which kind.
    metric: MetricLike
    classes_: Array
    pos_label_: Label
    _rule: Any
    # Methods, declared alone: that of the subclass may come and go with those of the base.
    predict: Any
    predict_proba: Any

    def _route(self, fit_params: Mapping[str, object]) -> tuple[Params, Params]:
        """Split the arguments into those of the base's fit and of the splitter."""
        groups = {"groups": fit_params["groups"]} if "groups" in fit_params else {}
        if routing_enabled():
            routed = process_routing(self, "fit", **fit_params)
            return dict(routed.base.fit), dict(routed.splitter.split) | groups
        return {name: value for name, value in fit_params.items() if name != "groups"}, groups

    def get_metadata_routing(self) -> MetadataRouter:
        """Route ``sample_weight`` and ``groups`` to this object, other arguments to the base and the splitter.

        Returns
        -------
        MetadataRouter
            The router.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(base=self.base, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        splitter = self.cv if hasattr(self.cv, "split") else StratifiedKFold()
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    @available_if(lambda self: hasattr(self, "predict_proba"))
    def predict_log_proba(self, X: Samples) -> Array:
        """Compute the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute ``metric`` (not the accuracy) on new data, as scikit-learn's searches do.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            The value of the predictions.
        """
        check_is_fitted(self)
        weight = check_weights(sample_weight, num_samples(X), X=X, y=y)
        # Predictions of a subclass may be drawn.
        return self._rule.value(metric_of(self), y, self.predict(X), weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        pass_on_input_tags(self.base, tags)
        return tags


# ---------------------------------------------------------------- a fitted classifier with a threshold


# The score of a rule, in words.
SCORE_IN_WORDS = (
    "estimator.classes_ = the classes whose scores the method reads gives, in this order; f = the largest score of a "
    "class other than null, of equal ones the first in names, g = the score of null; s = f of two classes (a decision "
    "function is times -1 where null is the last of classes_), else f - g of decision functions and f / (f + g), or "
    "0.5 where both are 0, of probabilities"
)

# Labels of samples, which of them are not of the null class, and the weights.
Truth: TypeAlias = tuple[Array, BoolArray, Array | None]


class AllowedAnswers(NamedTuple):
    """Answers that rows may get, and a score.

    ``down`` and ``up`` are where "negative" and "positive" may be answered at all, by what answers cost on average, and
    ``score`` is larger for rows that look positive. ``named`` is the class that "positive" gives each row, of several
    beside a null class.
    """

    down: BoolArray
    up: BoolArray
    score: Array
    named: Array | None = None

    @classmethod
    def of_score(cls, score: Array, named: Array | None = None) -> Self:
        """Describe rows in which a score decides alone."""
        every = np.ones(score.size, dtype=bool)
        return cls(every, every, score, named)


@dataclass(frozen=True, eq=False)
class ThresholdRule(DecisionRule):
    """Fitted classifier with a threshold on one of its scores.

    A threshold has no meaning without the score that it was chosen on: a margin of 0.3 is no probability of 0.3. So the
    two are kept together, wherever the search ran and wherever the classifier goes.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier.
    known : ndarray of shape (n_classes,)
        Its classes, ascending.
    names : ndarray of shape (n_classes,)
        What the user calls them.
    null : label
        The user's name of the null class, the negative one of two.
    method : str or None
        Method of the estimator that gives the score, ``"decision_function"`` or ``"predict_proba"``; ``None`` for one
        without scores.
    threshold : float or None
        Least score of a positive prediction; the natural threshold where it is not ``tuned``.
    tuned : bool
        Whether the threshold decides, or the classifier itself.
    costs : tuple of float
        Costs ``(c_fn, c_fp)`` of its training, which are taken out of its probabilities.
    one_vs_rest : bool
        Whether these are costs of each problem of a OneVsRestClassifier by itself.
    calibrator : Calibrator, default=None
        What makes the score with the threshold of the classifier's own.
    """

    estimator: Estimator
    known: Array
    names: Array
    null: Label
    method: str | None
    threshold: float | None
    tuned: bool = True
    costs: Costs = (1.0, 1.0)
    one_vs_rest: bool = False
    calibrator: Calibrator | None = None

    in_words = f"{SCORE_IN_WORDS}; the class of f where s >= threshold, else null"
    review_in_words = 'the class of f where s >= upper, null where s < lower, else "review"'

    @classmethod
    def of(
        cls, estimator: Estimator, *, threshold: float | None, method: str | None = None, **more: Any
    ) -> ThresholdRule:
        """Build the rule of an estimator; by default of its first score and the natural threshold of that."""
        method = response_method(estimator) if method is None else method
        if threshold is None and method is not None:
            threshold = natural_threshold(estimator, (method,))
        return cls(estimator, method=method, threshold=threshold, **more)

    @property
    def cut(self) -> float:
        """Threshold of the rule ``score >= cut`` that decides as this one does."""
        if self.threshold is None:
            raise TypeError(f"{type(self.estimator).__name__} has no scores; export best_estimator_ itself")
        # Of equal scores a classifier's own decision is the first class.
        return self.threshold if self.tuned or self.listed[0] != self.null else above(self.threshold)

    @property
    def threshold_proba(self) -> float | None:
        """Smallest probability of a positive prediction; ``None`` for scores that are not log-odds."""
        if self.names.size != 2 or self.threshold is None or not gives_log_odds(self.estimator):
            return None
        p, (c_fn, c_fp) = float(expit(log_odds(self.threshold, self.method))), self.costs  # pyright: ignore[reportArgumentType] (a number is an array)
        return p * c_fp / (p * c_fp + (1.0 - p) * c_fn)

    @property
    def more_than_threshold(self) -> str | None:
        """Several classes."""
        return None if self.names.size == 2 else f"{self.names.size} classes"

    @property
    def score_names(self) -> Sequence[Label]:
        """Classes in the order of the estimator's columns."""
        return self.listed.tolist()

    def on_scores(self, column: int | None = None) -> Self:
        """Return the rule for samples that are the estimator's scores, or for a column of them."""
        source, names = ScoredElsewhere.of(self.estimator, self.method, self.listed, column), np.sort(self.names)
        return replace(self, estimator=source, known=names, names=names, threshold=self.cut, tuned=True)

    def raw(self, X: Samples) -> Array:
        """Compute the classifier's own scores."""
        return self.scored(X)[1]

    def cuts(self, X: Samples) -> Array:
        """Return the threshold of each row."""
        return np.full(num_samples(X), self.cut)

    @property
    def known_null(self) -> Label:
        """Label that the estimator uses for the null class."""
        return self.known[self.names.tolist().index(self.null)]

    def scored(self, X: Samples) -> tuple[Array, Array]:
        """Return the user's label that a positive prediction gives each sample, and the score to threshold."""
        methods = () if self.method is None else (self.method,)
        answer = respond(self.estimator, X, self.known_null, tune=True, methods=methods)
        assert answer.score is not None, "they were asked for"
        score = answer.score if self.calibrator is None else self.calibrator.predict(answer.score)
        return self._named(answer.found), score

    def _named(self, labels: Label) -> Array:
        return self.names[np.searchsorted(self.known, labels)]

    @property
    def listed(self) -> Array:
        """The user's labels in the order in which the estimator lists its classes, and its columns."""
        return self._named(getattr(self.estimator, "classes_", self.known))

    def predict(self, X: Samples) -> Array:
        """Predict the user's labels."""
        if self.tuned:
            named, score = self.scored(X)
            decided: BoolArray = score >= self.threshold
        else:
            answer = respond(self.estimator, X, self.known_null, tune=False)
            named, decided = self._named(answer.found), answer.decided
        return np.where(decided, named, self.null).astype(self.names.dtype, copy=False)

    def predict_within(self, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS) -> Array:
        """Predict with no more positives than the capacity and a limit on wrong alerts allow: those of highest rank.

        Beside a null class limits on single classes give rows beyond them their next best class.
        """
        self.check_limits()
        names, several, n_rows = np.sort(self.names), self.names.size > 2, num_samples(X)
        at_most = limit_of_others(at_most, names.tolist(), self.null) if several else at_most
        ranked = None if 1 in wrong else self.ranked(X)
        if several and isinstance(at_most, Mapping):
            if wrong:
                raise ValueError(
                    f"at_most={shown(at_most)} is by class, and wrong_at_most limits all but {self.null} together; "
                    "give at_most as a number too"
                )
            refuse_null(at_most, names.tolist(), self.null, example=50)
            return names[batch_within(self.decision_function(X), at_most, names.tolist(), X)]
        most = n_rows if at_most is None else check_capacity(self.limit_of_positives(at_most), n_rows)
        kept = self.alerted(X, wrong[1], most) if ranked is None else best_rows(*ranked, most, X)
        return np.where(kept, self.scored(X)[0], self.null).astype(names.dtype) if several else self.labels(kept)

    @property
    def limits_broken(self) -> str | None:
        """Why a limit on the number of positive predictions would break a demand; ``None`` where it would not."""
        return None

    def check_limits(self) -> None:
        """Raise a ValueError where a limit on the number of positive predictions would break a demand."""
        refuse_limits(self.limits_broken)

    def limit_of_positives(self, at_most: object) -> object:
        """Return a limit that may be a dict with the positive one of two classes, or all beside a null class."""
        names = self.names.tolist()
        if len(names) > 2:
            limit = limit_of_others(at_most, names, self.null)
            if isinstance(limit, Mapping):
                together = {names_of_answers(self.null, None)[1]: 50}
                raise ValueError(
                    f"at_most={shown(limit)} limits single classes, and beside a null class answers with reviews "
                    f"limit all others together: give a number, or {together}. predict limits single classes, without "
                    "reviews; a search without null_class, such as of 'f1_macro', limits them beside reviews"
                )
            return limit
        return limit_of_positives(at_most, sorted(names, key=lambda name: name != self.null), example=50)

    def alerted(self, X: Samples, limit: AlertLimit, most: int) -> BoolArray:
        """Mark the samples of a batch that are alerts by a limit on wrong ones, the best ones up to a number."""
        rank = self.ranked(X)[1]
        return best_rows(limit.passing(rank, most), rank, most, X)

    def ranked(self, X: Samples) -> tuple[BoolArray, Array]:
        """Return which samples are predicted positive, and their rank under limited capacity."""
        if self.method is None:
            raise ValueError(
                f"at_most= and wrong_at_most= take rows of largest score, and {type(self.estimator).__name__} gives "
                "none; use a base with decision_function or predict_proba"
            )
        score = self.scored(X)[1]
        return score >= self.cut, score

    def allowed_answers(self, X: Samples, review: Review, extra_cost: float) -> AllowedAnswers:
        """Describe the samples by their scores, for three answers."""
        named, score = self.scored(X)
        return AllowedAnswers.of_score(score, named if self.names.size > 2 else None)

    def with_classes(self, X: Samples, answers: Array, acted: BoolArray) -> Array:
        """Return answers with the class of each row that is acted on, of several beside a null class."""
        if self.names.size > 2:
            answers[acted] = self.scored(X)[0][acted]
        return answers

    def labels(self, decided: Array) -> Array:
        """Convert decisions about two classes to the user's labels."""
        (positive,) = self.names[self.names != self.null]
        return np.where(decided, positive, self.null).astype(self.names.dtype, copy=False)

    def value(self, metric: MetricLike, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> float:
        """Compute a metric of predicted labels; raise a ValueError for labels that are unknown."""
        self._check_known(check_labels(y)[1])
        errors = ErrorProfile.from_classes(y, predicted, null_class=self.null, sample_weight=sample_weight)
        return get_metric(metric).of(errors)

    def score_samples(self, X: Samples) -> Array:
        """Compute the score that the threshold applies to."""
        return self.scored(X)[1]

    def decision_function(self, X: Samples) -> Array:
        """Compute the score minus the threshold, or the scores of several classes with the null class shifted.

        Both agree with `predict`: above 0 where the second of the sorted labels is predicted, or the largest one.
        """
        if self.names.shape[0] == 2:
            return margin(self.score_samples(X), self.cut, np.sort(self.names)[0] == self.null)
        assert self.method is not None, "several classes have scores"
        scores, column = class_scores(self.estimator, X, (self.method,)), null_column(self.estimator, self.known_null)
        return self._ordered(moved_scores(scores, column, self.cut, probabilities=self.method == "predict_proba"))

    def predict_proba(self, X: Samples) -> Array:
        """Predict the probabilities of the sorted labels, calibrated or with the costs undone."""
        if self.calibrator is not None:
            return self._of_positives(self.score_samples(X))
        c_fn, c_fp = self.costs
        if self.one_vs_rest and c_fn != c_fp:
            proba = problem_probabilities(self.estimator, X, (c_fn, c_fp), self.known_null)
        else:
            proba = class_scores(self.estimator, X, ("predict_proba",))
            proba = proba / np.where(self.known == self.known_null, c_fp, c_fn)
        total = proba.sum(axis=1, keepdims=True)
        return self._ordered(np.divide(proba, total, out=proba, where=total > 0.0))

    def _of_positives(self, proba: Array) -> Array:
        """Expand probabilities of the positive label to those of the two sorted labels."""
        return self._ordered(np.where(self.known == self.known_null, 1.0 - proba[:, None], proba[:, None]))

    def _ordered(self, columns: Array) -> Array:
        """Order columns as the sorted labels."""
        return columns[:, np.argsort(self.names)]

    def curve(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ThresholdCurve:
        """Compute the curve of all thresholds of the score on labelled samples."""
        (labels, is_pos, weight), (named, score) = self.checked_truth(X, y, sample_weight), self.scored(X)
        return sweep_several(is_pos, lost_samples(labels, named, self.null), score, weight)

    def _check_known(self, classes: Array) -> None:
        if not np.isin(classes, self.names).all():
            raise ValueError(f"y holds the labels {classes.tolist()}, the search knows {np.sort(self.names).tolist()}")

    def checked_truth(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None) -> Truth:
        """Check that labels are known, and those of both sides there."""
        labels, classes = check_labels(y)
        self._check_known(classes)
        is_pos = labels != self.null
        return labels, is_pos, check_class_weights(sample_weight, is_pos, X=X, y=y)
