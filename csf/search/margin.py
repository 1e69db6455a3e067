"""Upper bounds of a search with a margin for few positives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf.bounds import upper_bound
from csf.evaluate import standard_error
from csf.metrics.trials import best_trial

if TYPE_CHECKING:
    from csf.bounds import Bound
    from csf.evaluate import ScoreStore
    from csf.metrics.base import Metric
    from csf.metrics.trials import Trial

# Standard errors of the margin after one trial, and how they fall with the number of trials: chosen so that a dense
# sweep of levels stays below the bound in 95 % of searches with 4 to 42 trials (`tests.benchmarks honesty bound`).
_ERRORS, _FALL = 2.4, 0.25


class BoundWithMargin(NamedTuple):
    """Upper bound for exact learners, plus a margin for the noise of few positives."""

    exact: float
    margin: float

    @property
    def value(self) -> float:
        """Best value that is expected to be possible."""
        return self.exact + self.margin


def bound_with_margin(
    trials: Sequence[Trial], metric: Metric, *, pos: float, bound: str | type[Bound], store: ScoreStore | None = None
) -> BoundWithMargin:
    """Compute the bound of some trials, with a margin where their held-out scores are known.

    Parameters
    ----------
    trials : sequence of Trial
        Trials in any order.
    metric : Metric
        What they were trained for.
    pos : float
        Share of positives.
    bound : str or type
        See `csf.bounds.get_bound`. Bounds of the papers stay what they are: a margin is for ``"support"`` alone.
    store : ScoreStore, default=None
        Held-out scores of the trials, on the data of their profiles; ``None`` for none, and so without a margin.

    Returns
    -------
    BoundWithMargin
        The bound; without a margin where no trial satisfies the constraint.

    Notes
    -----
    What the bound misses is mostly that models which nobody trained find a few held-out positives more. The margin is
    the standard error of the best trial, ``2.4 k ** -0.25`` times after k trials: 1.7 after 4, 0.94 after 42. Repeated
    folds divide it by the root of their number, as what models differ by is not the same in all of them.
    """
    value = upper_bound(trials, metric, pos=pos, bound=bound)
    winner = best_trial(trials)
    if bound != "support" or store is None or winner is None or not winner.feasible:
        return BoundWithMargin(value, 0.0)
    keys = {(trial.setting, trial.number) for trial in trials}
    best = min((row for row in store if row.key in keys), key=lambda row: row.rank, default=None)
    if best is None:  # a store that is full keeps better ones
        return BoundWithMargin(value, 0.0)
    n_complete = sum(trial.state == "complete" for trial in trials)
    # What models differ by is as fresh in a repeat of the folds as in new samples.
    error = standard_error(store, best, metric) / np.sqrt(store.repeats)
    margin = min(_ERRORS * n_complete**-_FALL * float(error), max(metric.range(pos)[1] - value, 0.0))
    return BoundWithMargin(value, margin)
