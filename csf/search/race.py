"""Which settings are trained at further costs: those that could still win."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf.resampling import differences
from csf.strategies import EqualCostsFirst, Ladder, get_strategy

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.metrics.base import Metric
    from csf.resampling import ScoreStore, TrialKey
    from csf.search.config import SearchConfig
    from csf.search.defaults import Step
    from csf.study import Study
    from csf.trials import Trial

__all__ = ["DROPPED", "Race", "races"]

DROPPED = "settings that were behind, or failed, with equal costs were trained no further"
# Standard errors of a difference that are left to chance, and the gain in the metric that is worth trainings.
_DOUBT, _WORTH = 3.0, 0.005


def races(config: SearchConfig) -> bool:
    """Whether settings drop out: where all begin with equal costs, and the winner is chosen by what is stable."""
    strategy = get_strategy(config.strategy)
    first = strategy.strategy if isinstance(strategy, EqualCostsFirst) else strategy
    return config.threshold == "stable" and isinstance(first, Ladder) and first.race and config.aim.constraint is None


class _Standing(NamedTuple):
    """Settings with scores at equal costs, the place of the best one, and how far each (column) may be above others."""

    settings: list[int]
    leader: int
    most: Array


class Race:
    """Asks for the trials of several settings, as long as held-out scores leave in doubt which one is best.

    Equal costs come first, setting after setting away from the base's own, as long as they gain. Those that may still
    be better than the leader are then trained at the other costs. What is asked for depends on the held-out scores
    alone: a search that goes on after a pause asks for the same.

    Parameters
    ----------
    studies : sequence of Study
        One for each setting, each of which asks for equal costs first.
    steps : sequence of Step
        For each setting what has to be known before it is tried.
    store : ScoreStore
        Held-out scores of their trials.
    metric : Metric
        What is maximised.
    """

    def __init__(self, studies: Sequence[Study], steps: Sequence[Step], store: ScoreStore, metric: Metric) -> None:
        self.studies, self.steps, self.store, self.metric = studies, steps, store, metric
        self._known: tuple[list[TrialKey], _Standing | None] = [], None
        for study, step in zip(studies, steps):
            study.dropped = step.beyond

    def ask(self) -> list[tuple[int, Trial]]:
        """Settings and trials to train next; none when nothing is in doubt any more."""
        standing = self._standing()
        new = [at for at, study in enumerate(self.studies) if not study.trials and self._is_reached(at, standing)]
        if new:
            return [(at, trial) for at in new if (trial := self.studies[at].ask()) is not None]
        going = range(len(self.studies)) if standing is None else _in_doubt(standing)
        for at, study in enumerate(self.studies):
            # Who has no other costs to be trained at loses nothing.
            study.dropped = at not in going and len(study.trials) < study.most_trials
            if study.dropped and study.trials:
                study.stop_reason = DROPPED
        left = [(at, study) for at, study in enumerate(self.studies) if not study.dropped]
        return [(at, trial) for at, study in left for trial in study.ask_batch()]

    def _standing(self) -> _Standing | None:
        rows = [row for row in self.store if row.neutral]
        keys = [row.key for row in rows]
        # Most asks come between two trials of other costs, which change nothing here.
        if keys != self._known[0]:
            gain, error = differences(self.store, self.metric, rows, range(len(rows)))
            leader = int(np.argmax([row.value for row in rows]))
            self._known = keys, _Standing([key[0] for key in keys], leader, gain + _DOUBT * error)
        return self._known[1]

    def _is_reached(self, at: int, standing: _Standing | None) -> bool:
        """Whether the setting before it may gain over the one before that, and is not behind; or leads."""
        step = self.steps[at]
        if step.before is None:
            return True
        if standing is None or step.before not in standing.settings:
            return False
        place, inner = standing.settings.index(step.before), self.steps[step.before].before
        if step.beyond:
            return place == standing.leader
        gains = inner not in standing.settings or standing.most[standing.settings.index(inner), place] > _WORTH
        return bool(gains and standing.most[standing.leader, place] >= 0.0)


def _in_doubt(standing: _Standing) -> list[int]:
    """Settings to go on with: the leader and what may gain on it; the base's own alone where no other may gain."""
    settings, leader, most = standing
    own = settings.index(min(settings))
    if most[own, leader] <= _WORTH:
        return [settings[own]]
    return sorted({settings[leader], *(settings[at] for at in np.flatnonzero(most[leader] > _WORTH))})
