"""Who wins among rows by draws, on all samples or on a part of them: the same decisions for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray, IntArray
    from csf.resampling.store import ScoreRow

__all__ = ["BEST", "Chooser", "Gain", "averaged", "decide_gain", "steadiest"]

_EPS = np.finfo(float).eps

Cut = TypeVar("Cut", int, float)


def steadiest(values: Array, neutral: BoolArray, margin: float) -> int:
    """Row that is best on average over draws, unless it is not by a margin better than one of equal costs."""
    means = np.nanmean(values, axis=1)
    best = int(np.argmax(means))
    if not margin or neutral[best] or not any(neutral):
        return best
    equal = int(np.argmax(np.where(neutral, means, -np.inf)))
    gain = values[best] - values[equal]
    return best if np.nanmean(gain) > margin * np.nanstd(gain) else equal


class Gain(NamedTuple):
    """Places of the winner and of the best row, and what decided between them; see `csf.search.gain_rule.Choice`."""

    at: int
    best: int
    gain: float = np.nan
    luck: float = np.nan
    error: float = np.nan


def decide_gain(own: Array, violation: Array, neutral: BoolArray, values: Callable[[], Array], min_gain: float) -> Gain:
    """Keep the best row of equal costs unless the best of all gains more over it than chance would give it.

    ``values``, of shape (n_rows, n_draws), are those of the rows on draws; they are asked for where they decide.
    """
    # A stable sort: of equal rows the first one is the best.
    order = np.lexsort([-own, violation])
    best = int(order[0])
    if not neutral.any():
        return Gain(best, best)
    equal = int(order[neutral[order]][0])
    gain = float(own[best] - own[equal])
    if neutral[best] or violation[best] < violation[equal]:
        return Gain(best, best, gain)
    # Rows that miss the constraint by more than equal costs do cannot win.
    among = violation <= violation[equal]
    # With what the rows really differ by taken out.
    noise = values()[among] - own[among, None]
    noise = noise[:, ~np.isnan(noise).any(axis=0)]
    lucky = noise[~neutral[among]].max(axis=0) - noise[neutral[among]].max(axis=0)
    if lucky.size < 2:  # nothing is known, so nothing convinces
        return Gain(equal, best, gain, error=np.inf)
    luck, error = float(lucky.mean()), float(lucky.std(ddof=1))
    return Gain(best if gain > luck + min_gain * error else equal, best, gain, luck, error)


def averaged(
    found: Array, cuts: IntArray, best: Cut, at: Callable[[float], Cut], value: Callable[[Cut], float], error: float
) -> Cut:
    """Threshold that finds the mean of the shares that others find, unless it loses more than an error to ``best``.

    ``found`` has the share of samples that each threshold finds, and ``at`` gives the threshold of a share. Shares are
    averaged in log-odds.
    """
    shares = found[cuts]
    # Finding nothing, or everything, is at no distance from other cuts that could be averaged.
    inner = shares[(shares > 0.0) & (shares < 1.0)]
    if not inner.size:
        return best
    mean = at(float(expit(logit(np.clip(inner, _EPS, 1.0 - _EPS)).mean())))
    return mean if value(mean) >= value(best) - error else best


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


# The best trial at its best cut.
BEST = Chooser()
