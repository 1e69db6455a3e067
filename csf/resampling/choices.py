"""Who wins among rows by draws, on all samples or on a part of them: the same decisions for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray
    from csf.resampling.store import ScoreRow

__all__ = ["BEST", "Chooser", "gains_of_luck", "mean_share", "steadiest"]

_EPS = np.finfo(float).eps


def steadiest(values: Array, neutral: BoolArray, margin: float) -> int:
    """Row that is best on average over draws, unless it is not by a margin better than one of equal costs."""
    means = np.nanmean(values, axis=1)
    best = int(np.argmax(means))
    if not margin or neutral[best] or not any(neutral):
        return best
    equal = int(np.argmax(np.where(neutral, means, -np.inf)))
    gain = values[best] - values[equal]
    return best if np.nanmean(gain) > margin * np.nanstd(gain) else equal


def gains_of_luck(own: Array, values: Array, neutral: Array) -> Array:
    """Gains over rows of equal costs on draws, with what the rows really differ by taken out."""
    noise = values - own[:, None]
    noise = noise[:, ~np.isnan(noise).any(axis=0)]
    return noise[~neutral].max(axis=0) - noise[neutral].max(axis=0)


def mean_share(found: Array) -> float:
    """Mean of shares of samples that are found, in log-odds."""
    return float(expit(logit(np.clip(found, _EPS, 1.0 - _EPS)).mean()))


@dataclass(frozen=True)
class Chooser:
    """How a search chooses among its trials.

    Parameters
    ----------
    margin : float, default=None
        As for `csf.search.stable_choice.stable_choice`; ``None`` takes the best trial at its best threshold.
    min_gain : float, default=None
        As for `csf.search.gain_rule.GainRule`; ``None`` asks for no gain.
    own : int, default=None
        Setting whose equal costs the margin is over; ``None`` for any.
    """

    margin: float | None = None
    min_gain: float | None = None
    own: int | None = None

    def defaults(self, rows: Sequence[ScoreRow]) -> BoolArray:
        """Which rows stay unless others are better by enough."""
        own = self.own if self.min_gain is None else None
        return np.array([row.neutral and own in (None, row.key[0]) for row in rows], dtype=bool)

    def kept(self, own: Array, violation: Array, values: Array, neutral: Array) -> int | None:
        """Row that the demanded gain decides for, ``None`` where it leaves the choice open."""
        if self.min_gain is None or not neutral.any():
            return None
        order = np.lexsort([-own, violation])
        best, equal = int(order[0]), int(order[neutral[order]][0])
        if neutral[best] or violation[best] < violation[equal]:
            return best
        among = violation <= violation[equal]
        lucky = gains_of_luck(own[among], values[among], neutral[among])
        if lucky.size < 2:
            return equal
        beaten = own[best] - own[equal] > lucky.mean() + self.min_gain * lucky.std(ddof=1)
        return best if beaten else equal


# The best trial at its best cut.
BEST = Chooser()
