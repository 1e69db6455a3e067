"""Value of a winner on new data: its corrected score and its intervals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from csf._common.threads import side_by_side
from csf._common.typing import Array, IntArray
from csf._common.validation import check_count, check_fraction
from csf.data.responses import midpoint
from csf.evaluate._kernels import add_gains, row_gains
from csf.evaluate.choices import BEST, Chooser, JudgedDecisions, choose_on_parts, differences
from csf.evaluate.draws import (
    LARGE,
    CodedRow,
    LeftOut,
    Retuned,
    Units,
    bootstrap_counts,
    judge_left_out,
    retune_all,
    shares,
    units_of,
)
from csf.metrics import get_metric

if TYPE_CHECKING:
    from csf._common.typing import BoolArray
    from csf.evaluate.choices import Chosen
    from csf.evaluate.stores import ScoreRow, ScoreStore, TrialKey
    from csf.metrics.base import Metric

# ---------------------------------------------------------------- the resampler


N_DRAWS = 200
# Those of more than `LARGE` samples: as many as fill blocks of 32.
_N_DRAWS_OF_MANY = 96
# So many standard errors of the difference behind the best one a row cannot win.
_HOPELESS = 4.0
# So many rows are not worth the trouble of finding out.
_FEW = 12


class Resampling:
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
        at = self.keys.index(key)
        if "retuned" in vars(self):
            found, place = self.retuned, at
        else:  # nobody asked for all rows: fewer samples differ for one alone
            found, place = self._retuned(*units_of(self.store, [self._codes[at]])), 0
        valid = ~np.isnan(found.value[place])
        return self._codes[at].thresholds[found.cuts[place, valid]]

    def threshold_interval(self, key: TrialKey, level: float = 0.9) -> tuple[float, float]:
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

    @property
    def corrected_score(self) -> float:
        """Expected value of the winner on new data, corrected for the choice of the winner and its threshold.

        The winner and its threshold are chosen on two thirds of the samples and evaluated on the left-out third; the
        errors of all left-out parts are pooled before the metric is computed. NaN where no draw holds both classes.
        """
        return self._left_out.corrected_score

    @property
    def monte_carlo_error(self) -> float:
        """Standard error of `corrected_score` that comes from the finite number of random partitions."""
        return self._left_out.monte_carlo_error

    def choose(self, counts: Array, first: int) -> Chosen:
        """Choose the winner again on parts of the samples, which hold each unit ``counts`` times."""
        seeds = [(self.random_state, first + part) for part in range(counts.shape[1])]
        rivals = self.chooser.rivals(self.rows)
        return choose_on_parts(self.units, self.coded, self.metric, self.chooser, rivals, counts, seeds)

    @cached_property
    def _left_out(self) -> LeftOut:
        """Weights of true and false positives and of all positives and negatives in each left-out part."""

        def judge(counts: Array, first: int) -> Array:
            return self.choose(counts, first).left_out

        return judge_left_out(self.units, judge, lambda sums: _value(self.metric, *sums), self.random_state)


def n_draws_of(copies: IntArray) -> int:
    """Choose the number of draws: fewer for many samples, where percentiles vary less and draws take longer."""
    return N_DRAWS if copies.sum() <= LARGE else _N_DRAWS_OF_MANY


def interval(values: Array, level: float) -> tuple[float, float]:
    """Compute the percentile interval of values that may be infinite; NaN without a value."""
    tail = 0.5 * (1.0 - check_fraction(level, "level"))
    values = values[~np.isnan(values)]
    if not values.size:
        return np.nan, np.nan
    low, high = np.quantile(values, [tail, 1.0 - tail], method="nearest")
    return float(low), float(high)


def _value(metric: Metric, tp: float, fp: float, pos: float, neg: float) -> float:
    """Compute the metric from sums of weights; NaN where a class has no weight."""
    if pos <= 0.0 or neg <= 0.0:
        return np.nan
    fn, fp, share = shares(max(pos - tp, 0.0), min(fp, neg), pos, neg)
    return float(metric.value(fn, fp, pos=share))


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


# ---------------------------------------------------------------- the assessment


# Coverage of all intervals.
LEVEL = 0.9
# How much larger the error of a corrected score is than that of the same decisions on samples that no model, choice or
# threshold has seen: models of other training parts differ from the one that is returned, and what chose it has seen
# the samples that judge it. The ratio was 0.9 to 1.4 in 13 populations; with this one 90 % intervals cover
# (`tests.benchmarks honesty refits`).
SPREAD = 1.2


@dataclass(frozen=True, eq=False)
class Assessment:
    """Corrected value of a winner, with intervals.

    Parameters
    ----------
    corrected_score : float
        Value to expect on new data.
    errors : ndarray of shape (n_draws,)
        Its errors: those of a bootstrap of the decisions, ``spread`` times as large.
    threshold_interval : tuple of float
        90 % interval of its threshold; NaN for own decisions.
    value_range : tuple of float
        Smallest and largest value of the metric.
    judged : JudgedDecisions, default=None
        The decisions, for `mean_assessment`.
    random_state : int, default=0
        Seed of the draws.
    spread : float, default=1.2
        What training, choice and threshold add to the errors; 1 where the model was fitted to other samples.
    monte_carlo_error : float, default=NaN
        Standard error of ``corrected_score`` because it is a mean over some of all partitions; another seed moves it by
        so much.

    Notes
    -----
    Intervals lie between the smallest and the largest value of the metric, and hold the corrected score.
    """

    corrected_score: float
    errors: Array = field(repr=False)
    threshold_interval: tuple[float, float]
    value_range: tuple[float, float]
    judged: JudgedDecisions | None = field(default=None, repr=False)
    random_state: int = 0
    spread: float = SPREAD
    monte_carlo_error: float = np.nan

    @property
    def score_interval(self) -> tuple[float, float]:
        """90 % interval for the value of the returned model on new data."""
        middle = self.corrected_score
        low, high = interval(self.errors + middle, LEVEL)
        lowest, largest = self.value_range
        return min(max(low, lowest), middle), max(min(high, largest), middle)


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
    (0.461, (0.398, 0.524), (0.241, 1.24))
    """
    n_draws = n_draws_of(store.copies)
    metric = get_metric(metric)
    options = {"n_draws": n_draws, "random_state": random_state, "chooser": chooser}
    sampled = Resampling(store, metric, keep=[winner], **options)
    judged, spread = JudgedDecisions.of(store, store[winner], metric), SPREAD if trained else 1.0
    return Assessment(
        sampled.corrected_score,
        spread * judged.errors(n_draws, random_state),
        sampled.threshold_interval(winner, LEVEL),
        metric.range(float(np.average(store.is_pos, weights=store.weight))),
        judged,
        random_state,
        spread,
        sampled.monte_carlo_error,
    )


def mean_assessment(parts: Sequence[Assessment]) -> Assessment:
    """Combine assessments of several values on the same samples into that of their mean, without a threshold interval.

    Parameters
    ----------
    parts : sequence of Assessment
        Of problems on the same samples: these are drawn for all of them at once.

    Returns
    -------
    Assessment
        That of the mean.
    """
    ranges = np.array([part.value_range for part in parts])
    together = JudgedDecisions.mean([part.judged for part in parts if part.judged is not None])
    spread = max(part.spread for part in parts)
    # The partitions of all parts are the same: their errors do not cancel.
    by_chance = [part.monte_carlo_error for part in parts]
    return Assessment(
        float(np.mean([part.corrected_score for part in parts])),
        spread * together.errors(parts[0].errors.size, parts[0].random_state),
        (np.nan, np.nan),
        (float(ranges[:, 0].min()), float(ranges[:, 1].max())),
        spread=spread,
        monte_carlo_error=float(np.mean(by_chance)),
    )


def seed_of(random_state: object) -> int:
    """Return the seed of the draws: the user's where it is a number."""
    return random_state if isinstance(random_state, int) else 0


class AssessedMixin:
    """Corrected score and intervals of a fitted classifier, computed on first access."""

    held_out_: Any

    def _assess_scores(self) -> Assessment | None:
        """Assess the classifier by its held-out scores; return ``None`` where there are none."""
        raise NotImplementedError

    def assess(self) -> Assessment:
        """Assess the corrected score with its bootstrap, once, from the held-out scores that ``fit`` kept.

        Returns
        -------
        Assessment
            See `csf.evaluate.assess`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the classifier is not fitted.
        """
        if "_assessment" not in vars(self):
            found = self._assess_scores()
            if found is None:
                raise NotFittedError(f"this {type(self).__name__} is not fitted, or was fitted without held-out data")
            self._assessment = found
        return self._assessment

    @property
    def corrected_score_(self) -> float:
        """Expected value on new data: ``best_score_`` corrected for the choice of trial and threshold."""
        return self.assess().corrected_score

    @property
    def score_interval_(self) -> tuple[float, float]:
        """90 % interval for the value of the fitted model on new data, around ``corrected_score_``."""
        return self.assess().score_interval

    @property
    def threshold_interval_(self) -> tuple[float, float]:
        """90 % interval of the best threshold of the winner's held-out scores, over other draws of the samples.

        Percentiles of the best thresholds of bootstrap draws; NaN where none is tuned.
        """
        return self.assess().threshold_interval


# ---------------------------------------------------------------- means over samples of several labels


# Sums of as many terms as there are entries differ by less than this where they are of the same entries.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """True labels of entries, which are the labels of a row, then those of the next one, and the values of rows.

    Parameters
    ----------
    is_pos : ndarray of bool, shape (n_entries,)
        Truth.
    n_labels : int
        Entries of a row.
    beta : float
        Of F-beta.
    """

    is_pos: BoolArray
    n_labels: int
    beta: float

    def gains(self, order: IntArray) -> Array:
        """Compute by how much each entry, added to those before it, changes the value of its row; 0 for others."""
        gains = np.zeros(self.is_pos.size)
        row_gains(order, self.is_pos, self.n_labels, self.beta**2, gains)
        return gains

    @property
    def empty(self) -> Array:
        """Value of each row where no label is predicted: 1 for rows without labels."""
        return np.asarray(~self.is_pos.reshape(-1, self.n_labels).any(axis=1), dtype=np.float64)

    def values(self, found: BoolArray) -> Array:
        """Compute the value of each row where the given labels are predicted."""
        gains = self.gains(np.flatnonzero(found))
        return self.empty + gains.reshape(-1, self.n_labels).sum(axis=1)

    def best_cut(self, score: Array, weight: Array | None) -> tuple[float, float]:
        """Find the threshold with the largest mean value, the highest among equals, and that value."""
        each = np.ones(score.size) if weight is None else weight
        order = np.argsort(-score, kind="stable")
        order = order[each[order] > 0.0]
        ordered, total = score[order], each.sum() / self.n_labels
        nothing = self.empty @ each[:: self.n_labels]
        values = np.append(nothing, nothing + np.cumsum((self.gains(order) * each)[order])) / total
        ends = np.append(ordered[1:] != ordered[:-1], True)
        allowed = np.append(ordered[0] < np.inf, ends)
        at = int(np.argmax(allowed & (values >= values[allowed].max() - _SAME)))
        upper = ordered[at - 1] if at else np.inf
        lower = ordered[at] if at < ordered.size else -np.inf
        inner = 0 < at < ordered.size
        cut = midpoint(upper, lower) if inner else -np.inf if at else np.inf
        return float(cut), float(values[at])


class SampleDraws:
    """Draws of the rows, with each trial's threshold tuned again on each; see `Resampling` for the binary case.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores of the trials; entries of a sample are its labels, in each part that holds it out.
    n_labels : int
        Number of labels.
    beta : float
        Of F-beta.
    n_draws : int
        Number of bootstrap draws.
    random_state : int
        Seed.
    """

    def __init__(self, store: ScoreStore, n_labels: int, beta: float, n_draws: int, random_state: int) -> None:
        self.rows = list(store)
        self.n_draws, self.random_state = n_draws, random_state
        self.units, self.coded = units_of(store, [CodedRow.of(row, store) for row in self.rows], n_labels)
        truth = LabelledSamples(self.units.is_pos, n_labels, beta)
        each = np.ones(truth.is_pos.size) if self.units.weight is None else self.units.weight
        self.gains = [truth.gains(np.argsort(row.codes, kind="stable")) * each for row in self.coded]
        unit, weight = self.units.samples[::n_labels], each[::n_labels]
        n_units = self.units.copies.size
        self.weight = np.bincount(unit, weight, minlength=n_units)
        self.empty = np.bincount(unit, weight * truth.empty, minlength=n_units)

    def sums(self, at: int, counts: Array) -> Array:
        """Compute the weighted sum of the values at each threshold of a trial, of shape (n_cuts, n_draws)."""
        row = self.coded[at]
        sums = np.zeros((row.thresholds.size + 1, counts.shape[1]))
        add_gains(row.codes, self.gains[at], self.units.samples, np.ascontiguousarray(counts), sums)
        return self.empty @ counts + np.cumsum(sums[:-1], axis=0)

    def tuned(self, at: int, counts: Array) -> tuple[IntArray, Array]:
        """Tune the threshold of a trial on each draw; return it with its value, the middle one among equals."""
        values = self.sums(at, counts) / (self.weight @ counts)
        near = values >= values.max(axis=0) - _SAME
        first, places = near.argmax(axis=0), np.arange(len(values))[:, None]
        last = np.where(~near & (places > first), places, len(values)).min(axis=0) - 1
        return (first + last) // 2, values.max(axis=0)

    @cached_property
    def counts(self) -> Array:
        """Bootstrap draws, of shape (n_units, n_draws)."""
        return np.concatenate(list(bootstrap_counts(self.units.copies, self.n_draws, self.random_state)), axis=1)

    @cached_property
    def retuned(self) -> list[tuple[IntArray, Array]]:
        """Best threshold and value of each trial on each bootstrap draw."""
        return [self.tuned(at, self.counts) for at in range(len(self.rows))]

    def thresholds(self, at: int) -> Array:
        """Tune the threshold of a trial again on each bootstrap draw."""
        return self.coded[at].thresholds[self.retuned[at][0]]

    def errors(self, at: int) -> Array:
        """Compute the bootstrap errors of the value of a trial at its own threshold."""
        row = self.coded[at]
        own = np.flatnonzero(row.thresholds == self.rows[at].threshold)
        cut = int(own[0]) if own.size else 0
        sums = self.empty + np.bincount(
            self.units.samples, np.where(row.codes <= cut, self.gains[at], 0.0), minlength=self.empty.size
        )
        values = (sums @ self.counts) / (self.weight @ self.counts)
        return values - values.mean()

    @cached_property
    def left_out(self) -> LeftOut:
        """Sums of values and weights on left-out thirds of the rows; the other thirds choose trial and threshold."""
        return judge_left_out(self.units, self._judged, lambda sums: float(sums[0] / sums[1]), self.random_state)

    def _judged(self, counts: Array, first: int) -> Array:
        left_out = self.units.copies[:, None] - counts.astype(np.int64)
        found = [self.tuned(at, counts) for at in range(len(self.rows))]
        winners, sums = np.array([values for _, values in found]).argmax(axis=0), np.zeros(counts.shape[1])
        for at in np.unique(winners):
            draws = np.flatnonzero(winners == at)
            sums[draws] = self.sums(at, left_out[:, draws])[found[at][0][draws], np.arange(draws.size)]
        return np.column_stack([sums, self.weight @ left_out])


def assess_sample_means(
    store: ScoreStore, n_labels: int, beta: float, winner: TrialKey, random_state: int = 0
) -> Assessment:
    """Correct the mean value of the rows of the winner of a search; see `csf.evaluate.assess`."""
    draws = SampleDraws(store, n_labels, beta, n_draws_of(store.copies), random_state)
    at = [row.key for row in draws.rows].index(winner)
    errors, thresholds = SPREAD * draws.errors(at), interval(draws.thresholds(at), LEVEL)
    found = draws.left_out
    return Assessment(
        found.corrected_score,
        errors,
        thresholds,
        (0.0, 1.0),
        random_state=random_state,
        monte_carlo_error=found.monte_carlo_error,
    )
