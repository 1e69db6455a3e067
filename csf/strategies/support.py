"""Support lines and exploration: few trainings, none of them wasted next to another."""

from dataclasses import dataclass

import numpy as np

from csf.bounds import SupportLineBound
from csf.metrics import LinearFractional
from csf.strategies.base import Strategy
from csf.strategies.corners import corner_promise

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
        trials in a row did not improve it by ``tol``. The bound alone is no reason to stop: it speaks of profiles
        near those already seen.
    reach : float, default=0.01
        Explored levels stay this share of the range away from its ends, in (0, 0.5).

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Support().propose([], metric=FBeta(), pos=0.1)
    0.5
    """

    tol: float = 1e-3
    patience: int = 3
    reach: float = 0.01

    def propose(self, trials, *, metric, pos):
        """Exploit and explore in turn, see `Strategy.propose`."""
        lo, hi = metric.range(pos)
        trials = sorted((trial for trial in trials if trial.t is not None), key=lambda trial: trial.number)
        tried = np.clip([(trial.t - lo) / (hi - lo) for trial in trials], self.reach, 1.0 - self.reach)
        if self._is_done(trials, metric, pos):
            return None
        share = None
        if len(trials) % 2:
            share = self._exploit(trials, tried, metric, pos)
        if share is None:
            share = self._explore(tried)
        return None if share is None else float(lo + share * (hi - lo))

    def _exploit(self, trials, tried, metric, pos):
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

    def _explore(self, tried):
        """Share of the range in the middle of the largest gap, the lower one of equal gaps."""
        edges = _logit(np.unique(np.concatenate([[self.reach], tried, [1.0 - self.reach]])))
        if not tried.size:
            return 0.5
        gaps = np.diff(edges)
        if gaps.max() < 1e-6:
            return None
        at = int(np.argmax(gaps > gaps.max() - 1e-9))
        return float(_sigmoid(0.5 * (edges[at] + edges[at + 1])))

    def _is_done(self, trials, metric, pos):
        complete = [trial for trial in trials if trial.attained is not None]
        if len(complete) <= self.patience:
            return False
        best = np.maximum.accumulate([trial.attained for trial in complete])
        if best[-1] - best[-1 - self.patience] >= self.tol:
            return False
        return SupportLineBound(complete, metric, pos=pos).best_possible() - best[-1] <= self.tol


def _logit(share):
    return np.log(share) - np.log1p(-np.asarray(share))


def _sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))
