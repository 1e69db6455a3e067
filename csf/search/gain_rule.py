"""Which trial wins: the best one, or equal costs where its gain could be chance."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf._common.validation import check_count
from csf.resampling import Resampling
from csf.resampling.choices import decide_gain

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling import ScoreStore, TrialKey


__all__ = ["Choice", "GainRule"]


class Choice(NamedTuple):
    """The winner of a `GainRule` and what decided.

    Parameters
    ----------
    key : tuple of int
        Setting and number of the winner.
    best : tuple of int
        Those of the trial with the largest value, the winner unless its gain was too small.
    gain : float
        Value of ``best`` minus that of the best trial with equal costs; NaN where there is none.
    luck : float
        Gain to expect where no trial is better than equal costs are; NaN where it was not needed.
    error : float
        Standard error of such a gain; NaN where it was not needed.
    """

    key: TrialKey
    best: TrialKey
    gain: float
    luck: float
    error: float


@dataclass(frozen=True)
class GainRule:
    """Keeps equal costs unless the best trial gains more over them than chance would give it.

    The largest of many estimates is an optimistic one. With few positives a search over costs picks winners whose gain
    over plain training is chance, the more so the more trials there are. So the gain has to exceed what the best of
    *these* trials would gain if all of them were as good as equal costs, by ``min_gain`` standard errors.

    Parameters
    ----------
    min_gain : float, default=1.5
        Standard errors, >= 0, by which the gain has to exceed that of chance. With 1.5 equal costs are kept in 5 of 6
        cases where nothing is better, be it one other trial or 66; with 0 in every second case.
    n_draws : int, default=200
        Number of bootstrap draws.
    random_state : int, default=0
        Seed of the bootstrap.

    Notes
    -----
    On each draw of samples every threshold is tuned again. What a trial gains there over its own value on all samples
    is noise; the largest noise of the trials minus the largest of those with equal costs is a gain by chance (the
    bootstrap of White's reality check [1]_). The choice of the trial and its threshold are inside it.

    References
    ----------
    .. [1] H. White, "A reality check for data snooping", Econometrica 68, 2000.

    Examples
    --------
    >>> from csf.resampling import ScoreStore
    >>> rng, is_pos = np.random.default_rng(0), np.arange(500) < 100
    >>> store = ScoreStore(is_pos)
    >>> for number, value in enumerate([0.45, 0.48, 0.47, 0.49]):  # equally good but for luck
    ...     score = rng.normal(size=500) + is_pos
    ...     store.add((0, number), score=score, threshold=0.5, value=value, neutral=number == 0)
    >>> choice = GainRule().choose(store, "f1")
    >>> choice.key, choice.best, choice.gain, choice.luck
    ((0, 0), (0, 3), 0.04, 0.011)
    """

    min_gain: float = 1.5
    n_draws: int = 200
    random_state: int = 0

    def __post_init__(self) -> None:
        if not (isinstance(self.min_gain, Real) and 0.0 <= self.min_gain < np.inf):
            raise ValueError(f"min_gain must be a number of standard errors >= 0, got {self.min_gain!r}")
        check_count(self.n_draws, "n_draws", minimum=2)
        check_count(self.random_state, "random_state", minimum=0)

    def choose(self, store: ScoreStore, metric: str | Metric) -> Choice:
        """The winner among the trials of a store.

        Parameters
        ----------
        store : ScoreStore
            Held-out scores of the trials.
        metric : str or Metric
            What is maximised. A constraint of it comes first: a trial that satisfies it needs no gain over equal costs
            that do not.

        Returns
        -------
        Choice
            The winner and its gain.

        Raises
        ------
        ValueError
            If there is no trial.
        """
        if not len(store):
            raise ValueError("there is no trial to choose; add one first")
        sampled = Resampling(store, metric, n_draws=self.n_draws, random_state=self.random_state)
        own, violation, neutral = (
            np.array([getattr(row, name) for row in sampled.rows]) for name in ("value", "violation", "neutral")
        )
        found = decide_gain(own, violation, neutral, lambda: sampled.retuned.value, self.min_gain)
        return Choice(sampled.keys[found.at], sampled.keys[found.best], *found[2:])
