"""Steps without tuning of STAMP and SPADE: a belief that learns at the prices a metric has where it is now."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import BoolArray, Costs, FloatArray, IntArray, Samples
from csf.online._belief import Belief, BeliefSteps, Pricing, believe
from csf.online._early import EarlyRows
from csf.online._recent import RecentScores, bins_of, next_due, posterior_at
from csf.online._steps import SteppingLearner

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.profile import ErrorProfile

__all__ = ["AimedLearner", "AimedSteps", "LookBack"]

# Ratios of prices, at most.
_FAR = 1e4


class LookBack:
    """Recent scores, and when to look at them again; early rows get the scores that the weights give them now.

    Without a belief there are no weights to score early rows with.
    """

    def __init__(self, belief: Belief | None, window: int | None) -> None:
        self.window, self.recent, self.due = window, RecentScores(window), next_due(0)
        self.early = None if belief is None else EarlyRows(belief, window)

    def keep(self, X: Samples, is_pos: BoolArray) -> None:
        """Keep rows of a chunk that is about to be learnt, while they are early."""
        if self.early is not None:
            self.early.keep(X, is_pos)

    def pieces(self, n_rows: int, n_seen: int) -> Iterator[slice]:
        """Parts of the next rows, each up to where a look is due."""
        start = 0
        while start < n_rows:
            stop = min(n_rows, self.due - n_seen)
            yield slice(start, stop)
            start = stop

    def add(self, bins: IntArray, is_pos: BoolArray, n_seen: int) -> bool:
        """Count examples, ``n_seen`` with all before them. Return whether a look is due."""
        self.recent.add(bins, is_pos)
        if n_seen < self.due:
            return False
        self.due = next_due(n_seen, self.window)
        return True

    def again(self, belief: Belief | None, n_seen: int) -> tuple[IntArray, BoolArray] | None:
        """Bins and labels of early rows as the weights score them now, which replace the counts; None without any."""
        again = None if self.early is None or belief is None else self.early.again(belief, n_seen)
        if again is not None:
            self.recent.replace(*again)
        return again


class AimedSteps(BeliefSteps):
    """A belief, and a cut and prices that follow the best value of the metric among recent examples."""

    prices: Costs

    def __init__(self, learner: AimedLearner, n_features: int) -> None:
        super().__init__(learner, n_features)
        self.look = LookBack(self.belief, learner.window)
        self.place: int | None = None
        self.pricing = Pricing()

    @property
    def threshold(self) -> float:
        """Log-odds from which on the positive class is predicted; 0 until both classes have come."""
        if self.place is None:
            return 0.0
        posterior = max(posterior_at(self.place), np.finfo(float).tiny)
        return float(np.log(posterior) - np.log1p(-posterior))

    @property
    def cut(self) -> float:
        """The same: a score of the threshold is positive."""
        return self.threshold

    def meet(self, learner: AimedLearner, X: Samples, y: FloatArray) -> None:
        """Keep early rows."""
        self.look.keep(X, y > 0.0)

    def learn(self, learner: AimedLearner, X: Samples, y: FloatArray) -> None:
        """Predict rows, then learn them, and move the aim where that is due."""
        for part in self.look.pieces(y.size, learner.n_seen_):
            proba, n_seen = np.empty(part.stop - part.start), learner.n_seen_ + part.stop
            believe(self.belief, X, y, learner.n_seen_ + part.start, self.pricing, proba, part.start)
            if self.look.add(bins_of(proba), y[part] > 0.0, n_seen):
                self._move_aim(learner, n_seen)

    def _move_aim(self, learner: AimedLearner, n_seen: int) -> None:
        self.look.again(self.belief, n_seen)
        best = self.look.recent.best(learner._check_metric())
        if best is not None:
            value, profile, self.place = best
            prices = learner._prices(value, profile)
            self.pricing = Pricing.of(*np.clip(prices, max(prices) / _FAR, None))


class AimedLearner(SteppingLearner):
    """What STAMP and SPADE share: a metric that they aim at, by its prices where it is."""

    @property
    def threshold_(self) -> float:
        """Score from which on the positive class is predicted."""
        return self._rule.threshold

    @property
    def _cut(self) -> float:
        return self._rule.cut

    def _check_parameters(self) -> None:
        self._check_metric()
        super()._check_parameters()

    @abstractmethod
    def _check_metric(self) -> Metric:
        """The metric; raises where it is none for these steps."""

    @abstractmethod
    def _prices(self, value: float, profile: ErrorProfile) -> Costs:
        """Prices of a false negative and a false positive, from the value and the error profile at the best cut."""
