"""Support lines and exploration: few trainings, none of them wasted next to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, Values
from csf._common.validation import check_count, check_number
from csf.bounds import SupportLineBound
from csf.metrics import LinearFractional
from csf.strategies.base import SAME, Strategy
from csf.strategies.corners import corner_promise

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.strategies.base import Proposal
    from csf.trials import Trial


__all__ = ["Support"]


@dataclass(frozen=True)
class Support(Strategy):
    """Alternate between the level of the best value and the largest unexplored gap.

    An exploiting trial aims at the best value attained so far (Dinkelbach's point; for metrics without levels at the
    gap whose support lines promise most), unless a trial is already there. An exploring trial halves the largest gap
    on the log-odds scale of the level, on which rare classes, that reward very small levels, get their share.

    Parameters
    ----------
    tol : float, default=1e-3
        What counts as an improvement or as a gap, in units of the metric.
    patience : int, default=3
        The strategy ends when the support-line bound is within ``tol`` of the best value **and** this many exploring
        trials in a row, and the exploiting ones between them, did not improve it by ``tol``. The bound alone is no
        reason to stop: it holds for profiles near those already seen.
    reach : float, default=0.01
        Explored levels stay this share of the range away from its ends, in [1e-9, 0.5).

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Support().propose([], metric=FBeta(), pos=0.1)
    0.5
    """

    tol: float = 1e-3
    patience: int = 3
    reach: float = 0.01

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")
        check_count(self.patience, "patience")
        if not SAME <= check_number(self.reach, "reach", positive=True) < 0.5:
            raise ValueError(f"reach must be in [{SAME:g}, 0.5), got {self.reach!r}")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Exploit and explore in turn, see `Strategy.propose`."""
        lo, hi = metric.range(pos)
        trials = sorted((trial for trial in trials if trial.t is not None), key=lambda trial: trial.number)
        levels = [trial.t for trial in trials if trial.t is not None]
        tried = np.clip([(t - lo) / (hi - lo) for t in levels], self.reach, 1.0 - self.reach)
        if self._is_done(trials, tried, metric, pos):
            return None
        share = None
        if len(trials) % 2:
            share = self._exploit(trials, tried, metric, pos)
        if share is None:
            share = self._explore(tried)
        return None if share is None else float(lo + share * (hi - lo))

    def _exploit(self, trials: Sequence[Trial], tried: Array, metric: Metric, pos: float) -> float | None:
        """Share of the range at the best value, or ``None`` where a trial is near already."""
        attained = [trial.attained for trial in trials if trial.attained is not None]
        if not attained:
            return None
        lo, hi = metric.range(pos)
        if isinstance(metric, LinearFractional):
            share = float(np.clip((max(attained) - lo) / (hi - lo), self.reach, 1.0 - self.reach))
        else:
            edges = np.unique(np.concatenate([[self.reach], tried, [1.0 - self.reach]]))
            promise = corner_promise(trials, lo + edges * (hi - lo), metric, pos)
            at = int(np.argmax(promise))
            share = float(_sigmoid(0.5 * (_logit(edges[at]) + _logit(edges[at + 1]))))
        near = np.abs(_logit(tried) - _logit(share)) < 0.25
        return None if near.any() else share

    def _explore(self, tried: Array) -> float | None:
        """Share of the range in the middle of the largest gap, the lower one of equal gaps."""
        edges = _logit(np.unique(np.concatenate([[self.reach], tried, [1.0 - self.reach]])))
        if not tried.size:
            return 0.5
        gaps = np.diff(edges)
        if gaps.max() < 1e-6:
            return None
        at = int(np.argmax(gaps > gaps.max() - 1e-9))
        return float(_sigmoid(0.5 * (edges[at] + edges[at + 1])))

    def _is_done(self, trials: Sequence[Trial], tried: Array, metric: Metric, pos: float) -> bool:
        complete = [trial for trial in trials if trial.attained is not None]
        if len(complete) <= self.patience:
            return False
        best = np.maximum.accumulate([trial.attained for trial in complete if trial.attained is not None])
        if best[-1] - best[-1 - self.patience] >= self.tol:
            return False
        if SupportLineBound(complete, metric, pos=pos).best_possible() - best[-1] > self.tol:
            return False
        since = self._exploring_since(trials, tried, metric, pos)
        before = [trial.attained for trial in trials[:since] if trial.attained is not None]
        return bool(before) and best[-1] - max(before) < self.tol

    def _exploring_since(self, trials: Sequence[Trial], tried: Array, metric: Metric, pos: float) -> int:
        """Place of the first of the last ``patience`` exploring trials that were told; 0 where there are fewer."""
        left = self.patience
        for i in range(len(trials) - 1, -1, -1):
            # a trial explored unless what came before it asks for its level to exploit
            share = self._exploit(trials[:i], tried[:i], metric, pos) if i % 2 else None
            exploring = share is None or abs(share - tried[i]) > SAME
            left -= exploring and trials[i].attained is not None
            if left == 0:
                return i
        return 0


def _logit(share: Values) -> Values:
    return np.log(share) - np.log1p(-np.asarray(share))


def _sigmoid(x: Values) -> Values:
    return 1.0 / (1.0 + np.exp(-x))
