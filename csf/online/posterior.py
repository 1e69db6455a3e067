"""Classifiers that learn a threshold for the probabilities of another online learner."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.typing import Array, BoolArray, Estimator, FloatArray, IntArray, Samples
from csf._sklearn import clone
from csf._validation import check_count
from csf.metrics import FBeta, Jaccard, get_metric
from csf.online._early import EarlyRows
from csf.online._recent import RecentScores, bins_of, next_due, posterior_at
from csf.online._steps import check_step
from csf.online.base import NUMBERS, OnlineClassifier
from csf.online.emitted import EmittedPredictions, value_of_counts
from csf.online.logistic import OnlineLogistic
from csf.scores.responses import margin, positive_score

if TYPE_CHECKING:
    from csf.metrics.base import Metric

__all__ = ["PosteriorThreshold"]

_TINY = np.finfo(np.float64).tiny


class PosteriorThreshold(EmittedPredictions, OnlineClassifier):
    """Base of online thresholds on the posteriors of an online learner.

    A subclass has the parameters ``metric``, ``posterior``, ``step``, ``window`` and ``batch_size`` beside the common
    ones. It writes ``_start_threshold()``, ``_move_threshold(proba, is_pos)`` for examples in order, and ``_level()``:
    the posterior from which on it predicts the positive class. With ``step="adaptive"`` what it is given, and what it
    means, is the share of positives among recent examples with such a posterior, not the posterior itself.

    With `OnlineLogistic` as the learner, its own steps without tuning and at most 512 features, the first 4096 rows are
    kept: the present weights score them again and again, and the threshold goes through them anew, as long as there are
    no more. Scores from before would say little of weights that have moved since.

    Parameters in ``_of_paper`` are for ``step="paper"`` alone. Learners of csf predict each example before they learn
    it, in one compiled loop. Any other learner with ``partial_fit`` and ``predict_proba`` predicts ``batch_size``
    examples at a time and then learns them; before it has learnt anything, the probability is 1/2. So labels never
    reach a prediction for their own example.
    """

    metric: str | Metric
    posterior: Estimator
    step: Literal["adaptive", "paper"]
    window: int | None
    batch_size: int
    posterior_: Estimator

    _of_paper: tuple[str, ...] = ()

    @property
    def threshold_(self) -> float:
        """Threshold for the probability of the positive class, from the learner."""
        check_is_fitted(self)
        if self.step == "paper":
            return self._level()
        return posterior_at(int(np.searchsorted(self._shares, self._level())))

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

    @property
    def n_updates_(self) -> int:
        """Updates of the threshold: one for each example."""
        check_is_fitted(self)
        return self.n_seen_

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
        X = validate_data(self, X, reset=False, **NUMBERS)
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
        if self.step == "adaptive":
            self._recent, self._due = RecentScores(self.window), next_due(0)
            self._shares = self._recent.shares()
            belief = getattr(self.posterior_, "_belief", None)
            self._early = None if belief is None else EarlyRows(belief, self.window)
        self._start_threshold()

    def _learner_predicts_first(self) -> bool:
        return hasattr(self.posterior_, "_predict_then_learn")

    def _kept(self) -> EarlyRows | None:
        """Rows so far, which are to be scored again; None where none are kept."""
        early = self._early if self.step == "adaptive" else None
        return early if early is not None and early.wanted else None

    def _learn(self, X: Samples, y: FloatArray) -> list[Any]:
        """Learn checked rows; the squared beta is that of the parameters at the start of a chunk."""
        self._square = self._squared_beta()
        kept = self._kept()
        if kept is not None:
            kept.keep(X, y > 0.0)
        return super()._learn(X, y)

    def _piece(self, n_left: int) -> int:
        kept = self._kept()
        if kept is not None:
            return min(n_left, max(self._due, kept.next) - self.n_seen_)
        return n_left if self._learner_predicts_first() else self.batch_size

    def _step(self, X: Samples, y: FloatArray) -> None:
        if self._learner_predicts_first():
            proba = self.posterior_._predict_then_learn(X, y)
        elif self.n_seen_:
            proba = positive_score(self.posterior_, X, self.pos_label_, ("predict_proba",))
        else:
            proba = np.full(y.size, 0.5)
        if not self._learner_predicts_first():
            self.posterior_.partial_fit(X, self._labels(y), classes=self.classes_)
        if self.step == "paper":
            self._move_threshold(proba, y > 0.0)
            return
        self._follow(bins_of(proba), y > 0.0)

    def _follow(self, bins: IntArray, is_pos: BoolArray) -> None:
        """Move the threshold by what recent examples say about posteriors in these bins."""
        start = 0
        while start < bins.size:
            stop = min(bins.size, self._due - self.n_seen_)
            part = slice(start, stop)
            self._move_threshold(self._shares[bins[part]], is_pos[part])
            self._recent.add(bins[part], is_pos[part])
            if self.n_seen_ + stop == self._due:
                self._look(self._due)
                self._due = next_due(self._due, self.window)
            start = stop

    def _look(self, n_seen: int) -> None:
        """Bring shares up to date; while rows are kept, go through them again with the scores they have now."""
        kept = self._kept()
        again = None if kept is None else kept.again(self.posterior_._belief, n_seen)
        if again is not None:
            self._recent.replace(*again)
        self._shares = self._recent.shares()
        if again is not None:
            emitted, self._counts = self._counts, np.zeros_like(self._counts)
            self._start_threshold()
            self._move_threshold(self._shares[again[0]], again[1])
            self._counts = emitted

    def _labels(self, y: FloatArray) -> Array:
        """Labels of signs."""
        negative = self.classes_[0] if self.pos_label_ == self.classes_[1] else self.classes_[1]
        return np.where(y > 0.0, self.pos_label_, negative)
