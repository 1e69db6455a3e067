"""A belief that learns at the prices a metric has where it is now: the steps without tuning of STAMP and SPADE."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from csf._common.typing import Array, Costs, FloatArray, Samples
from csf.online._belief import Belief, Pricing, believe
from csf.online._early import EarlyRows
from csf.online._recent import RecentScores, bins_of, next_due, posterior_at
from csf.online.base import LinearOnlineClassifier

if TYPE_CHECKING:
    from csf.errors.profile import ErrorProfile
    from csf.metrics.base import Metric

    PricesOf: TypeAlias = Callable[[float, ErrorProfile], Costs]

__all__ = ["Aim", "AimedLearner"]

# Ratios of prices, at most.
_FAR = 1e4


class Aim:
    """State: a belief, the recent scores, and what they say about the metric.

    Parameters
    ----------
    belief : Belief
        Fresh belief.
    metric : Metric
        What to aim at.
    window : int, default=None
        Examples to look back upon, about.
    """

    def __init__(self, belief: Belief, metric: Metric, window: int | None = None) -> None:
        self.metric = metric
        self.belief, self.recent, self.early = belief, RecentScores(window), EarlyRows(belief, window)
        self.place: int | None = None
        self.pricing = Pricing()
        self.window, self._due = window, next_due(0)

    def learn(self, X: Samples, y: Array, n_seen: int, prices_of: PricesOf) -> None:
        """Learn rows in order.

        Parameters
        ----------
        X : ndarray or CSR matrix
            Rows.
        y : ndarray
            Signs.
        n_seen : int
            Examples that came before.
        prices_of : callable
            From the value and the error profile at the best cut to the prices of a false negative and a false positive.
        """
        start = 0
        while start < y.size:
            stop = min(y.size, self._due - n_seen)
            proba = np.empty(stop - start)
            believe(self.belief, X, y, n_seen + start, self.pricing, proba, start)
            self.recent.add(bins_of(proba), y[start:stop] > 0.0)
            if n_seen + stop == self._due:
                self._look(self._due, prices_of)
                self._due = next_due(self._due, self.window)
            start = stop

    @property
    def threshold(self) -> float:
        """Log-odds from which on the positive class is predicted; 0 until both classes have come."""
        if self.place is None:
            return 0.0
        posterior = max(posterior_at(self.place), np.finfo(float).tiny)
        return float(np.log(posterior) - np.log1p(-posterior))

    def _look(self, n_seen: int, prices_of: PricesOf) -> None:
        """Move the aim to the best cut for the recent scores, early ones as the weights give them now."""
        again = self.early.again(self.belief, n_seen)
        if again is not None:
            self.recent.replace(*again)
        best = self.recent.best(self.metric)
        if best is not None:
            value, profile, self.place = best
            prices = prices_of(value, profile)
            self.pricing = Pricing.of(*np.clip(prices, max(prices) / _FAR, None))


class AimedLearner(LinearOnlineClassifier):
    """What STAMP and SPADE share with ``step="adaptive"``.

    They have the parameters ``step``, ``prior`` and ``window``, and write ``_check_metric()`` and
    ``_prices(value, profile)``.
    """

    step: Literal["adaptive", "paper"]
    prior: float
    window: int | None

    _aim: Aim

    @property
    def threshold_(self) -> float:
        """Score from which on the positive class is predicted."""
        return self._aim.threshold if self.step == "adaptive" else 0.0

    @property
    def _cut(self) -> float:
        return self._aim.threshold if self.step == "adaptive" else np.nextafter(0.0, np.inf)

    @abstractmethod
    def _check_metric(self) -> Metric:
        """The metric; raises where it is none for these steps."""

    @abstractmethod
    def _prices(self, value: float, profile: ErrorProfile) -> Costs:
        """Prices of a false negative and a false positive, from the value and the error profile at the best cut."""

    def _start_aim(self, n_features: int) -> None:
        belief = Belief(n_features, prior=self.prior, constant=self._constant(), window=self.window)
        self._aim = Aim(belief, self._check_metric(), self.window)

    def _learn(self, X: Samples, y: FloatArray) -> list[Any]:
        if self.step == "adaptive":
            self._aim.metric = self._check_metric()
            self._aim.early.keep(X, y > 0.0)
        return super()._learn(X, y)

    def _learn_aimed(self, X: Samples, y: FloatArray) -> None:
        self._aim.learn(X, y, self.n_seen_, self._prices)
