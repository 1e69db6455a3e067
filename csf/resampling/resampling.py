"""One resampling of the held-out samples, and what it says of the winner, its score and its threshold."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from csf._common.threads import side_by_side
from csf._common.typing import Array, IntArray
from csf._common.validation import check_count, check_fraction
from csf.metrics import get_metric
from csf.resampling.choices import BEST, Chooser
from csf.resampling.draws import LARGE, LeftOut, bootstrap_counts, judge_left_out
from csf.resampling.nested import choose_on_parts
from csf.resampling.outcomes import Judged, differences
from csf.resampling.retuning import CodedRow, Retuned, retune_all
from csf.resampling.shares import shares
from csf.resampling.units import Units, units_of

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling.store import ScoreRow, ScoreStore, TrialKey

__all__ = ["LARGE", "N_DRAWS", "N_DRAWS_OF_MANY", "Resampling", "Rule", "best_rows", "interval"]

# Values and violations of all rows on all draws -> place of the row that wins on each draw.
Rule: TypeAlias = Callable[[Array, Array], IntArray]

N_DRAWS = 200
# Those of more than `LARGE` samples: as many as fill blocks of 32.
N_DRAWS_OF_MANY = 96
# So many standard errors of the difference behind the best one a row cannot win.
_HOPELESS = 4.0
# So many rows are not worth the trouble of finding out.
_FEW = 12


def best_rows(value: Array, violation: Array) -> IntArray:
    """Row that wins on each draw as a search chooses it: the smallest violation, then the largest value.

    Parameters
    ----------
    value, violation : ndarray of shape (n_rows, n_draws)
        As in `Retuned`; NaN never wins.

    Returns
    -------
    ndarray of int, shape (n_draws,)
        Places of the rows, of equals the first.

    Examples
    --------
    >>> best_rows(np.array([[0.5, 0.7], [0.6, 0.6]]), np.zeros((2, 2)))
    array([1, 0])
    """
    least = violation.min(axis=0)
    allowed = np.where((violation <= least) & ~np.isnan(value), value, -np.inf)
    return allowed.argmax(axis=0)


class Resampling:
    """Draws samples again, tunes every trial's threshold on each draw, and picks the winner there.

    All entries of a sample are drawn together, so that repeated folds do not pass for more data; a sample of weight 2
    is drawn as two of them (see `ScoreStore`). Trials that are far behind the best one (4 standard errors of the
    difference) are left out.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores of the trials.
    metric : str or Metric
        What is maximised; its constraint counts first.
    rule : callable, default=best_rows
        How the winner is picked: ``rule(value, violation)`` of arrays of shape (n_rows, n_draws).
    keep : collection of tuple, default=()
        Trials that are looked at however far behind they are.
    n_draws : int, default=200
        Number of bootstrap draws.
    random_state : int, default=0
        Seed; results depend on nothing else.
    chooser : Chooser, optional
        How the search chooses, for `corrected_score`; the best trial at its best threshold if not given.

    Attributes
    ----------
    keys : list of tuple
        Trials that can win, in the order of all rows of arrays here.

    References
    ----------
    .. [1] I. Tsamardinos, E. Greasidou, G. Borboudakis, "Bootstrapping the out-of-sample predictions for efficient
       and accurate cross-validation", Machine Learning 107, 2018.

    Examples
    --------
    >>> from csf.resampling import ScoreStore
    >>> rng, is_pos = np.random.default_rng(0), np.arange(500) < 100
    >>> store = ScoreStore(is_pos)
    >>> for number in range(5):  # five models that are equally good
    ...     store.add((0, number), score=rng.normal(size=500) + is_pos, threshold=0.5, value=0.48)
    >>> sampled = Resampling(store, "f1")
    >>> sampled.corrected_score
    0.463
    """

    def __init__(
        self,
        store: ScoreStore,
        metric: str | Metric,
        *,
        rule: Rule = best_rows,
        keep: Collection[TrialKey] = (),
        n_draws: int = N_DRAWS,
        random_state: int = 0,
        chooser: Chooser = BEST,
    ) -> None:
        self.store, self.metric, self.rule, self.chooser = store, get_metric(metric), rule, chooser
        self.n_draws, self.random_state = check_count(n_draws, "n_draws"), random_state
        self.rows = _contenders(store, self.metric, keep)
        self.keys = [row.key for row in self.rows]

    # ---------------------------------------------------------------- bootstrap

    @cached_property
    def _codes(self) -> list[CodedRow]:
        return side_by_side(lambda row: CodedRow.of(row, self.store), self.rows)

    @cached_property
    def _units(self) -> tuple[Units, list[CodedRow]]:
        return units_of(self.store, self._codes)

    @property
    def units(self) -> Units:
        """What is drawn."""
        return self._units[0]

    @property
    def coded(self) -> list[CodedRow]:
        """The rows as places on their lists of thresholds, of the entries of `units`."""
        return self._units[1]

    @cached_property
    def retuned(self) -> Retuned:
        """Best threshold of each row on each bootstrap draw, with its value there."""
        return self._retuned(*self._units)

    def _retuned(self, units: Units, rows: list[CodedRow]) -> Retuned:
        return retune_all(units, rows, self.metric, bootstrap_counts(units.copies, self.n_draws, self.random_state))

    @cached_property
    def winners(self) -> IntArray:
        """Place of the row that wins on each bootstrap draw that holds both classes."""
        told = ~np.isnan(self.retuned.value).all(axis=0)
        return self.rule(self.retuned.value[:, told], self.retuned.violation[:, told])

    @property
    def win_shares(self) -> dict[TrialKey, float]:
        """Share of bootstrap draws on which each trial wins."""
        counts = np.bincount(self.winners, minlength=len(self.keys))
        return {key: count / max(self.winners.size, 1) for key, count in zip(self.keys, counts.tolist())}

    def thresholds(self, key: TrialKey) -> Array:
        """Thresholds of a trial, tuned again on each bootstrap draw that holds both classes.

        Parameters
        ----------
        key : tuple of int
            Setting and number of a trial in `keys`.

        Returns
        -------
        ndarray of shape (n_draws_told,)
            Thresholds, infinite where nothing or everything is best found positive; NaN for own decisions.
        """
        at = self.keys.index(key)
        if "retuned" in vars(self):
            found, place = self.retuned, at
        else:  # nobody asked for all rows: fewer samples differ for one alone
            found, place = self._retuned(*units_of(self.store, [self._codes[at]])), 0
        told = ~np.isnan(found.value[place])
        return self._codes[at].thresholds[found.cuts[place, told]]

    def threshold_interval(self, key: TrialKey, level: float = 0.9) -> tuple[float, float]:
        """Percentile interval of `thresholds`: where the best threshold is by these data.

        Parameters
        ----------
        key : tuple of int
            Setting and number of a trial in `keys`.
        level : float, default=0.9
            Share of the draws inside.

        Returns
        -------
        tuple of float
            Lower and upper end.
        """
        return interval(self.thresholds(key), level)

    # ---------------------------------------------------------------- corrected score

    @property
    def corrected_score(self) -> float:
        """Value to expect of the winner on new data, with what choosing it and its threshold added taken out.

        The winner and its threshold are chosen on two thirds of the samples and judged on the third that is left out;
        the errors of all left-out parts are pooled before the metric is computed. NaN where no draw holds both
        classes.
        """
        return self._left_out.corrected_score

    @property
    def monte_carlo_error(self) -> float:
        """Standard error that `corrected_score` has because its partitions are a few of all there could be."""
        return self._left_out.monte_carlo_error

    @cached_property
    def _left_out(self) -> LeftOut:
        """Weights of found and of all positives and negatives in each left-out part."""
        units, defaults = self.units, self.chooser.defaults(self.rows)

        def judge(counts: Array, first: int) -> Array:
            seeds = [(self.random_state, first + part) for part in range(counts.shape[1])]
            return choose_on_parts(units, self.coded, self.metric, self.chooser, defaults, counts, seeds).left_out

        return judge_left_out(units, judge, lambda sums: _value(self.metric, *sums), self.random_state)

    def score_errors(self, winner: TrialKey) -> Array:
        """Bootstrap errors of the value of a trial's own decisions.

        Parameters
        ----------
        winner : tuple of int
            The trial.

        Returns
        -------
        ndarray of shape (n_draws,)
            Value on each draw minus the mean of all.
        """
        return Judged.of(self.store, self.store[winner], self.metric).errors(self.n_draws, self.random_state)


def interval(values: Array, level: float) -> tuple[float, float]:
    """Percentile interval of values that may be infinite; NaN without one."""
    tail = 0.5 * (1.0 - check_fraction(level, "level"))
    values = values[~np.isnan(values)]
    if not values.size:
        return np.nan, np.nan
    low, high = np.quantile(values, [tail, 1.0 - tail], method="nearest")
    return float(low), float(high)


def _value(metric: Metric, tp: float, fp: float, pos: float, neg: float) -> float:
    """Metric of sums of weights; NaN where a class weighs nothing."""
    if pos <= 0.0 or neg <= 0.0:
        return np.nan
    fn, fp, share = shares(max(pos - tp, 0.0), min(fp, neg), pos, neg)
    return float(metric.value(fn, fp, pos=share))


def _contenders(store: ScoreStore, metric: Metric, keep: Collection[TrialKey]) -> list[ScoreRow]:
    """Rows that can win on some draw: those not far behind the best one, or behind the best one with equal costs."""
    rows = list(store)
    # Where a constraint decides, thresholds move by more than decisions at fixed ones can tell.
    if len(rows) <= _FEW or metric.constraint is not None:
        return rows
    value, neutral = (np.array([getattr(row, name) for row in rows]) for name in ("value", "neutral"))
    groups = [among for among in (np.ones(len(rows), dtype=bool), neutral) if among.any()]
    best = [np.flatnonzero(among)[value[among].argmax()] for among in groups]
    gain, error = differences(store, metric, rows, best)
    kept = np.any(np.array(groups) & (gain + _HOPELESS * error >= -1e-12), axis=0).tolist()
    return [row for row, stays in zip(rows, kept) if stays or row.key in keep]
