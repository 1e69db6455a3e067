"""Choice of a threshold on scores of two classes, made again on draws and on parts of the samples."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from csf._common.threads import side_by_side
from csf._common.validation import check_count
from csf.evaluate.assessment import LEVEL, N_DRAWS, Assessment, Choice, interval, n_draws_of
from csf.evaluate.choices import BEST, Chooser, JudgedDecisions, choose_on_parts, differences
from csf.evaluate.draws import CodedRow, Retuned, Units, bootstrap_counts, retune_all, shares, units_of
from csf.evaluate.stores import TrialKey
from csf.metrics import get_metric

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.evaluate.choices import Chosen
    from csf.evaluate.stores import ScoreRow, ScoreStore
    from csf.metrics.base import Metric

# So many standard errors of the difference behind the best one a row cannot win.
_HOPELESS = 4.0
# So many rows are not worth the trouble of finding out.
_FEW = 12
# Fewer equal groups with positives than these are few.
_FEW_GROUPS = 20.0


class Resampling(Choice[TrialKey]):
    """Bootstrap and random partitions of the samples, with every trial's threshold tuned again on each draw.

    The winner is chosen again on parts of the samples. All entries of a sample are drawn together, so that repeated
    folds do not count as more data; a sample of weight 2 is drawn as two samples (see `ScoreStore`). Trials that are
    far behind the best one (4 standard errors of the difference) are left out.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores of the trials.
    metric : str or Metric
        What is maximised; its constraint counts first.
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
    >>> from csf.evaluate import ScoreStore
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
        keep: Collection[TrialKey] = (),
        n_draws: int = N_DRAWS,
        random_state: int = 0,
        chooser: Chooser = BEST,
    ) -> None:
        self.store, self.metric, self.chooser = store, get_metric(metric), chooser
        self.unit = self.metric.unit
        self.n_draws, self.random_state = check_count(n_draws, "n_draws"), random_state
        self.rows = _contenders(store, self.metric, keep)
        self.keys = [row.key for row in self.rows]
        # The errors and the assessment of a winner read the same decisions.
        self._judged = cache(self._decisions)

    # ---------------------------------------------------------------- bootstrap

    @cached_property
    def _codes(self) -> list[CodedRow]:
        return side_by_side(lambda row: CodedRow.of(row, self.store), self.rows)

    @cached_property
    def _units(self) -> tuple[Units, list[CodedRow]]:
        return units_of(self.store, self._codes)

    @property
    def units(self) -> Units:
        """Units that are drawn."""
        return self._units[0]

    @property
    def coded(self) -> list[CodedRow]:
        """Rows as places on their lists of thresholds, for the entries of `units`."""
        return self._units[1]

    @cached_property
    def retuned(self) -> Retuned:
        """Best threshold of each row on each bootstrap draw, with its value there."""
        return self._retuned(*self._units)

    def _retuned(self, units: Units, rows: list[CodedRow]) -> Retuned:
        return retune_all(units, rows, self.metric, bootstrap_counts(units.copies, self.n_draws, self.random_state))

    def thresholds(self, key: TrialKey) -> Array:
        """Tune the threshold of a trial again on each bootstrap draw that holds both classes.

        Parameters
        ----------
        key : tuple of int
            Setting and number of a trial in `keys`.

        Returns
        -------
        ndarray of shape (n_draws_told,)
            Thresholds, infinite where nothing or everything is best found positive; NaN for own decisions.
        """
        row = self.keys.index(key)
        if "retuned" in vars(self):
            retuned, place = self.retuned, row
        else:  # nobody asked for all rows: fewer samples differ for one alone
            retuned, place = self._retuned(*units_of(self.store, [self._codes[row]])), 0
        valid = ~np.isnan(retuned.value[place])
        return self._codes[row].thresholds[retuned.cuts[place, valid]]

    def threshold_interval(self, key: TrialKey, level: float = LEVEL) -> tuple[float, float]:
        """Compute the percentile interval of `thresholds`.

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

    def choose(self, counts: Array, first: int) -> Chosen:
        """Choose the winner again on parts of the samples, which hold each unit ``counts`` times."""
        seeds = [(self.random_state, first + part) for part in range(counts.shape[1])]
        rivals = self.chooser.rivals(self.rows)
        return choose_on_parts(self.units, self.coded, self.metric, self.chooser, rivals, counts, seeds)

    def on_parts(self, counts: Array, first: int) -> Iterator[tuple[Array, float]]:
        """Choose a trial and its threshold on parts of the samples.

        Parameters
        ----------
        counts : ndarray of shape (n_units, n_parts)
            How often a part holds each unit.
        first : int
            Number of the first part, for its seed.

        Yields
        ------
        score : ndarray of shape (n_entries,)
            Scores of all entries by the trial that is chosen on a part.
        threshold : float
            Its threshold there.
        """
        chosen = self.choose(counts, first)
        for place, cut in zip(chosen.places, chosen.cuts):
            yield -self.coded[place].codes.astype(float), float(-cut)

    def judge(self, counts: Array, first: int) -> Array:
        """Sum the weights of true and false positives, and of all positives and negatives, outside each part."""
        return self.choose(counts, first).left_out

    def value(self, sums: Array) -> float:
        """Compute the metric from sums of weights; NaN where a class has no weight."""
        tp, fp, pos, neg = sums
        if pos <= 0.0 or neg <= 0.0:
            return np.nan
        fn, fp, share = shares(max(pos - tp, 0.0), min(fp, neg), pos, neg)
        return float(self.metric.value(fn, fp, pos=share))

    def _decisions(self, winner: TrialKey) -> JudgedDecisions:
        return JudgedDecisions.of(self.store, self.store[winner], self.metric)

    def errors(self, winner: TrialKey) -> Array:
        """Draw bootstrap errors of the value of a trial's own decisions."""
        return self._judged(winner).errors(self.n_draws, self.random_state)

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """Smallest and largest value of the metric."""
        return self.metric.range(float(np.average(self.store.is_pos, weights=self.store.weight)))

    def assess(self, winner: TrialKey, *, trained: bool = True) -> Assessment:
        """Assess a winner with its decisions, see `Choice.assess`."""
        # A threshold that few groups chose adds as much as a training does.
        trained = trained or (self.store.has_groups and self._equal_groups < _FEW_GROUPS)
        return replace(super().assess(winner, trained=trained), judged=self._judged(winner))

    @property
    def _equal_groups(self) -> float:
        """Number of equal groups whose positives vary as much as those of the groups."""
        store = self.store
        weight = None if store.weight is None else store.weight[store.is_pos]
        sizes = np.bincount(store.samples[store.is_pos], weight)
        return float(sizes.sum() ** 2 / (sizes**2).sum())


class EntryResampling(Resampling):
    """Resampling whose units are the samples themselves: equal ones are not merged, so that all scores are known."""

    @cached_property
    def _units(self) -> tuple[Units, list[CodedRow]]:
        store = self.store
        return Units(store.truth, store.importance, store.samples, store.copies), self._codes

    def on_parts(self, counts: Array, first: int) -> Iterator[tuple[Array, float]]:
        """Choose a trial and its threshold on parts of the samples, see `Resampling.on_parts`."""
        for row, threshold in self.rows_on_parts(counts, first):
            assert row.score is not None, "thresholds are tuned"
            yield row.score, threshold

    def rows_on_parts(self, counts: Array, first: int) -> Iterator[tuple[ScoreRow, float]]:
        """Choose a trial and its threshold on parts; the threshold is infinite where a part lacks a class."""
        chosen = self.choose(counts, first)
        for place, cut in zip(chosen.places.tolist(), chosen.cuts.tolist()):
            yield self.rows[place], np.inf if place < 0 else float(self.coded[place].thresholds[cut])


class FixedEntries(EntryResampling):
    """Choice of a trial and a threshold that a test has made: nothing is tuned on parts."""

    def __init__(self, store: ScoreStore, metric: str | Metric, threshold: float) -> None:
        super().__init__(store, metric)
        self.threshold = threshold

    def rows_on_parts(self, counts: Array, first: int) -> Iterator[tuple[ScoreRow, float]]:
        """Return the same choice for each part."""
        (row,) = self.rows
        yield from [(row, self.threshold)] * counts.shape[1]


def _contenders(store: ScoreStore, metric: Metric, keep: Collection[TrialKey]) -> list[ScoreRow]:
    """List the rows that can win on some draw: those not far behind the best row, or the best row with equal costs."""
    rows = list(store)
    # Where a constraint decides, thresholds move by more than decisions at fixed ones can tell.
    if len(rows) <= _FEW or metric.constraint is not None:
        return rows
    value, equal_costs = (np.array([getattr(row, name) for row in rows]) for name in ("value", "equal_costs"))
    groups = [among for among in (np.ones(len(rows), dtype=bool), equal_costs) if among.any()]
    best = [np.flatnonzero(among)[value[among].argmax()] for among in groups]
    gain, error = differences(store, metric, rows, best)
    kept = np.any(np.array(groups) & (gain + _HOPELESS * error >= -1e-12), axis=0).tolist()
    return [row for row, stays in zip(rows, kept) if stays or row.key in keep]


def assess(
    store: ScoreStore,
    metric: str | Metric,
    winner: TrialKey,
    *,
    random_state: int = 0,
    chooser: Chooser = BEST,
    trained: bool = True,
) -> Assessment:
    """Correct the value of the winner of a search.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores of all trials.
    metric : str or Metric
        What was maximised.
    winner : tuple of int
        The trial that was chosen.
    random_state : int, default=0
        Seed.
    chooser : Chooser, optional
        How it was chosen; the best trial at its best threshold if not given.
    trained : bool, default=True
        Whether the scores are those of models trained on parts of the same samples, in whose place another one is
        used; ``False`` for a model that was fitted to other samples.

    Returns
    -------
    Assessment
        See `csf.evaluate.Resampling` for how.

    Examples
    --------
    >>> from csf.evaluate import ScoreStore
    >>> rng, is_pos = np.random.default_rng(0), np.arange(500) < 100
    >>> store = ScoreStore(is_pos)
    >>> store.add((0, 0), score=rng.normal(size=500) + is_pos, threshold=0.5, value=0.48)
    >>> found = assess(store, "f1", (0, 0))
    >>> found.corrected_score, found.score_interval, found.threshold_interval
    (0.461, (0.405, 0.531), (0.241, 1.24))
    """
    options = {"n_draws": n_draws_of(store.copies), "random_state": random_state, "chooser": chooser}
    return Resampling(store, metric, keep=[winner], **options).assess(winner, trained=trained)
