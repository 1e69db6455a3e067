"""Who wins a search, decided once: every number that depends on the winner is computed from what this returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from csf.search.failures import nothing_worked
from csf.search.gain_rule import Choice, GainRule
from csf.search.stable_choice import stable_choice
from csf.trials import best_trial

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling import ScoreStore
    from csf.trials import Trial

__all__ = ["Winner", "choose"]


class Winner(NamedTuple):
    """The trial that wins, the threshold that it is used with, its score there, and what the gain rule said."""

    trial: Trial
    threshold: float | None
    score: float
    gain: Choice | None = None


def choose(
    trials: Sequence[Trial],
    metric: Metric,
    store: ScoreStore | None = None,
    *,
    min_gain: float | None = None,
    margin: float | None = None,
    own: int | None = None,
) -> Winner:
    """Choose among trials.

    The gain rule (``min_gain``) decides first whether equal costs are kept. Then the choice is by what is stable, where
    a ``margin`` for that is given, over equal costs (of the setting ``own``); else the best trial wins. Without a store
    there is nothing that chance could be measured by, and the best trial wins.
    """
    best = best_trial(trials)
    if best is None:
        raise nothing_worked(trials)
    gain = cut = None
    if store is not None and min_gain is not None:
        gain = GainRule(min_gain).choose(store, metric)
    key = None if gain is None else gain.key
    if store is not None and margin is not None:
        cut = stable_choice(store, metric, among=key, margin=margin, own=own)
    key = key if cut is None else cut.key
    trial = best if key is None else next(each for each in trials if (each.setting, each.number) == key)
    assert trial.score is not None, "a winner is complete"
    if cut is None:
        return Winner(trial, trial.threshold, trial.score, gain)
    return Winner(trial, cut.threshold, metric.of(cut.profile), gain)
