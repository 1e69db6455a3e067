"""Classifiers that learn a threshold for the probabilities of another online learner."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.sklearn import clone
from csf._common.typing import Array, BoolArray, Estimator, FloatArray, Samples
from csf._common.validation import check_count
from csf.data.responses import margin, positive_score
from csf.metrics import FBeta, Jaccard, get_metric
from csf.online._aim import LookBack
from csf.online._recent import bins_of, posterior_at
from csf.online._steps import check_step
from csf.online.base import NUMBERS, OnlineClassifier
from csf.online.emitted import EmittedPredictions, value_of_counts
from csf.online.logistic import OnlineLogistic

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.online._belief import Belief

__all__ = ["PosteriorThreshold", "PublishedThresholds", "ThresholdsOfShares"]

_TINY = np.finfo(np.float64).tiny


class PublishedThresholds:
    """As published: thresholds apply to the probabilities of the learner."""

    def __init__(self, belief: Belief | None, window: int | None) -> None:
        """Nothing is to be kept."""

    def meet(self, X: Samples, is_pos: BoolArray) -> None:
        """Nothing is to be kept of a chunk."""

    def piece(self, n_left: int, n_seen: int) -> int:
        """Rows to take at a time: all."""
        return n_left

    def posterior(self, level: float) -> float:
        """Probability of the learner at a threshold."""
        return level

    def follow(self, learner: PosteriorThreshold, proba: FloatArray, is_pos: BoolArray) -> None:
        """Move the threshold over examples in order."""
        learner._move_threshold(proba, is_pos)


class ThresholdsOfShares:
    """Thresholds apply to the share of positives among recent examples with such a probability."""

    def __init__(self, belief: Belief | None, window: int | None) -> None:
        self.look, self.belief = LookBack(belief, window), belief
        self.shares = self.look.recent.shares()

    def meet(self, X: Samples, is_pos: BoolArray) -> None:
        """Keep early rows of a chunk."""
        self.look.keep(X, is_pos)

    def piece(self, n_left: int, n_seen: int) -> int:
        """Rows to take at a time: while early rows are kept, up to where they are scored again."""
        early = self.look.early
        if early is None or not early.wanted:
            return n_left
        return min(n_left, max(self.look.due, early.next) - n_seen)

    def posterior(self, level: float) -> float:
        """Probability of the learner at which the share is so large."""
        return posterior_at(int(np.searchsorted(self.shares, level)))

    def follow(self, learner: PosteriorThreshold, proba: FloatArray, is_pos: BoolArray) -> None:
        """Move the threshold by what recent examples say about posteriors in the same bins."""
        bins = bins_of(proba)
        for part in self.look.pieces(bins.size, learner.n_seen_):
            n_seen = learner.n_seen_ + part.stop
            learner._move_threshold(self.shares[bins[part]], is_pos[part])
            if self.look.add(bins[part], is_pos[part], n_seen):
                again = self.look.again(self.belief, n_seen)
                self.shares = self.look.recent.shares()
                if again is not None:
                    learner._move_threshold_anew(self.shares[again[0]], again[1])


class PosteriorThreshold(EmittedPredictions, OnlineClassifier):
    """Base of online thresholds on the posteriors of an online learner.

    A subclass has the parameters ``metric``, ``posterior``, ``step``, ``window`` and ``batch_size`` beside the common
    ones. It writes ``_start_threshold()``, ``_move_threshold(proba, is_pos)`` for examples in order, and ``_level()``:
    the posterior from which on it predicts the positive class. With ``step="adaptive"`` what it is given, and what it
    means, is the share of positives among recent examples with such a posterior, not the posterior itself.

    With `OnlineLogistic` as the learner, its own steps without tuning and at most 512 features, the first 4096 rows are
    kept: the present weights score them again and again, and the threshold goes through them again, as long as there
    are no more. Scores from before would be of little use for weights that have moved since.

    The rules by the values of ``step`` are ``_rules``. Parameters in ``_of_paper`` are for ``step="paper"`` alone.
    Learners of csf predict each example before they learn it, in one compiled loop. Any other learner with
    ``partial_fit`` and ``predict_proba`` predicts ``batch_size`` examples at a time and then learns them; before it has
    learnt anything, the probability is 1/2. So labels never reach a prediction for their own example.
    """

    metric: str | Metric
    posterior: Estimator
    step: Literal["adaptive", "paper"]
    window: int | None
    batch_size: int
    posterior_: Estimator

    _rules: ClassVar[Mapping[str, type[PublishedThresholds | ThresholdsOfShares]]]
    _of_paper: ClassVar[tuple[str, ...]] = ()
    _rule: Any  # of the class that `_rules` says

    @property
    def threshold_(self) -> float:
        """Threshold for the probability of the positive class, from the learner."""
        check_is_fitted(self)
        return self._rule.posterior(self._level())

    @property
    def level_(self) -> float:
        """Share of positives from which on a group of like examples is predicted positive."""
        check_is_fitted(self)
        return self._level()

    @property
    def online_value_(self) -> float:
        """Metric of the predictions emitted so far."""
        return value_of_counts(get_metric(self.metric), **self.online_counts_)

    @property
    def coef_(self) -> Array:
        """Coefficients of the learner, where it has some."""
        check_is_fitted(self)
        return self.posterior_.coef_

    @property
    def intercept_(self) -> Array:
        """Intercept of the learner, where it has one."""
        check_is_fitted(self)
        return self.posterior_.intercept_

    @property
    def coef_last_(self) -> Array:
        """Coefficients of the learner's last step, where it averages them."""
        check_is_fitted(self)
        return self.posterior_.coef_last_

    def predict_proba(self, X: Samples) -> Array:
        """Probabilities of both classes, from the learner.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of ``classes_``. The threshold applies to that of the positive class.
        """
        check_is_fitted(self)
        return self.posterior_.predict_proba(validate_data(self, X, reset=False, **NUMBERS))

    def decision_function(self, X: Samples) -> Array:
        """Log-odds less those of the threshold; above 0 exactly where ``predict`` gives ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; their sign is turned where the positive class is ``classes_[0]``. At threshold 0, where all are
            positive, only their order has a meaning.
        """
        proba, threshold, is_last = self._posteriors(X), self.threshold_, self.pos_label_ == self.classes_[1]
        log_odds = logit(proba.clip(_TINY, 1.0 - np.finfo(np.float64).epsneg))
        distance = margin(log_odds, logit(threshold), is_last)
        # The rule is about probabilities: log-odds of neighbouring numbers may be equal.
        last = margin(proba, threshold, is_last) > 0.0
        return np.where(last, np.maximum(distance, _TINY), np.minimum(distance, 0.0))

    def _numbers(self) -> dict[str, Any]:
        return {"threshold": self.threshold_, **super()._numbers()}

    @abstractmethod
    def _level(self) -> float:
        """Posterior from which on the positive class is predicted."""

    @abstractmethod
    def _start_threshold(self) -> None:
        """Make a fresh state."""

    @abstractmethod
    def _move_threshold(self, proba: FloatArray, is_pos: BoolArray) -> None:
        """Emit predictions for examples in order, and move the threshold after each."""

    def _posteriors(self, X: Samples) -> FloatArray:
        """Probabilities of the positive class."""
        check_is_fitted(self)
        return self._proba_of_pos(validate_data(self, X, reset=False, **NUMBERS))

    def _proba_of_pos(self, X: Samples) -> FloatArray:
        return positive_score(self.posterior_, X, self.pos_label_, ("predict_proba",))

    def _check_parameters(self) -> None:
        if hasattr(self.metric, "partial_fit"):
            name = type(self).__name__
            raise TypeError(
                f"metric comes first, and is a name such as 'f1', got {self.metric!r}; a learner of probabilities is "
                f"posterior: {name}('f1', posterior={self.metric!r})"
            )
        if not isinstance(get_metric(self.metric), FBeta | Jaccard):
            raise TypeError(
                f"{type(self).__name__} finds thresholds for F-beta and Jaccard ('f1', 'f2', 'jaccard', ...), got "
                f"metric={self.metric!r}. Use csf.thresholding.PlugInClassifier for other metrics"
            )
        for method in ("partial_fit", "predict_proba"):
            if self.posterior is not None and not hasattr(self.posterior, method):
                raise TypeError(
                    f"posterior must have partial_fit and predict_proba, {self.posterior!r} has no {method}; such as "
                    f"OnlineLogistic(), SGDClassifier(loss='log_loss') or {self._wrapped()}"
                )
        check_count(self.batch_size, "batch_size")
        check_step(self, of_paper=self._of_paper)

    def _wrapped(self) -> str:
        """How to give a model of river."""
        is_river = hasattr(self.posterior, "learn_one")
        return f"RiverClassifier({type(self.posterior).__name__}(...))" if is_river else "RiverClassifier(model)"

    def _squared_beta(self) -> float:
        """Squared beta of the metric; Jaccard has the threshold of F1."""
        return float(getattr(get_metric(self.metric), "beta", 1.0)) ** 2

    def _start(self, n_features: int) -> None:
        own = OnlineLogistic(step=self.step, window=self.window)
        self.posterior_ = own if self.posterior is None else clone(self.posterior)
        if self._learner_predicts_first():
            self.posterior_.set_params(pos_label=self.pos_label_)._adopt(self.classes_, n_features, self._rng)
        self._counts = np.zeros(4, dtype=np.int64)
        self._rule = self._rules[self.step](getattr(self.posterior_, "_belief", None), self.window)
        self._start_threshold()

    def _learner_predicts_first(self) -> bool:
        return hasattr(self.posterior_, "_predict_then_learn")

    def _learn(self, X: Samples, y: FloatArray) -> list[Any]:
        """Learn checked rows; the squared beta is that of the parameters at the start of a chunk."""
        self._square = self._squared_beta()
        self._rule.meet(X, y > 0.0)
        return super()._learn(X, y)

    def _piece(self, n_left: int) -> int:
        return self._rule.piece(n_left, self.n_seen_) if self._learner_predicts_first() else self.batch_size

    def _step(self, X: Samples, y: FloatArray) -> None:
        if self._learner_predicts_first():
            proba = self.posterior_._predict_then_learn(X, y)
        else:
            unknown = self.n_seen_ == 0
            proba = np.full(y.size, 0.5) if unknown else self._proba_of_pos(X)
            self.posterior_.partial_fit(X, self._labels(y), classes=self.classes_)
        self._rule.follow(self, proba, y > 0.0)

    def _move_threshold_anew(self, proba: FloatArray, is_pos: BoolArray) -> None:
        """Go through early examples from the beginning; what was emitted for them stays."""
        emitted, self._counts = self._counts, np.zeros_like(self._counts)
        self._start_threshold()
        self._move_threshold(proba, is_pos)
        self._counts = emitted

    def _labels(self, y: FloatArray) -> Array:
        """Labels of signs."""
        negative = self.classes_[0] if self.pos_label_ == self.classes_[1] else self.classes_[1]
        return np.where(y > 0.0, self.pos_label_, negative)
