"""Choice of the winning trial, on all held-out samples or on a part of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import csr_array, identity
from scipy.special import expit, logit

from csf._common.dtypes import is_integer
from csf._common.typing import Array, BoolArray, IntArray
from csf.evaluate._kernels import sums_at
from csf.evaluate.draws import (
    LARGE,
    bootstrap_counts,
    class_weights,
    count_distinct,
    draw_weights,
    retune,
    retune_all,
    shares,
)
from csf.evaluate.intervals import DrawnSums, gradients
from csf.metrics.averages import values_of_tables

if TYPE_CHECKING:
    from csf.evaluate.draws import CodedRow, Units
    from csf.evaluate.stores import ScoreRow, ScoreStore
    from csf.metrics.base import Metric

# ---------------------------------------------------------------- decisions and the error of their value


# Samples that each kind of outcome is taken to have been met besides (Jeffreys' prior): an error that was not made yet
# can be made.
_UNMET = 0.5


def decisions(row: ScoreRow) -> BoolArray:
    """Return the mask of entries predicted positive at the row's threshold, without positives of the wrong class."""
    if row.score is None or row.threshold is None:
        assert row.decided is not None, "a row has scores and a threshold, or decisions"
        predicted = row.decided
    else:
        predicted = row.score >= row.threshold
    return predicted if row.lost is None else predicted & ~row.lost


def outcomes(store: ScoreStore, row: ScoreRow) -> Array:
    """Sum the weights of tp, fn, fp and tn (the cells of the confusion matrix) in one copy of each sample."""
    if store.importance is None and store.once:
        # No sum: each sample has one of them.
        return (np.arange(4) == (2 * ~store.is_pos + ~decisions(row))[:, None]).view(np.uint8)
    place = 4 * store.samples + 2 * ~store.is_pos + ~decisions(row)
    table = np.bincount(place, store.importance, minlength=4 * store.n_samples).reshape(-1, 4)
    # A byte each, where no sample is held out more often.
    return table.astype(np.uint8) if is_integer(table) and table.max() < 256 else table


def influence(metric: Metric, outcome: Array, copies: IntArray) -> Array:
    """Compute by how much the metric changes with one more copy of each sample."""
    totals = copies @ outcome.astype(float)
    return outcome @ gradients(partial(_values, (metric,)), totals[None])[0]


def standard_error(store: ScoreStore, row: ScoreRow, metric: Metric) -> float:
    """Estimate the standard error of the metric of a trial's own decisions, by the delta method.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores.
    row : ScoreRow
        One of its trials.
    metric : Metric
        The metric.

    Returns
    -------
    float
        In units of the metric. Entries of one sample count together, a sample of weight 2 as two samples.

    Examples
    --------
    >>> from csf.metrics import get_metric
    >>> from csf.evaluate import ScoreStore
    >>> store = ScoreStore(np.arange(100) < 50)
    >>> store.add((0, 0), decided=np.arange(100) % 5 > 0, value=0.5)
    >>> standard_error(store, store[0, 0], get_metric("recall"))  # sqrt(0.8 * 0.2 / 50)
    0.057
    """
    tables = outcomes(store, row)
    first, copies = count_distinct(list(tables.T), store.copies)
    return float(np.sqrt(copies @ influence(metric, tables[first], copies) ** 2))


def differences(store: ScoreStore, metric: Metric, rows: Sequence[ScoreRow], to: Sequence[int]) -> tuple[Array, Array]:
    """Compute by how much rows exceed some of them, and the standard errors of that, by the delta method.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores.
    metric : Metric
        The metric.
    rows : sequence of ScoreRow
        Trials, at their own thresholds.
    to : sequence of int
        Places of those that all are compared with.

    Returns
    -------
    gain : ndarray of shape (n_to, n_rows)
        In units of the metric.
    error : ndarray of shape (n_to, n_rows)
        Standard errors of it. All rows are about the same samples, so that what is hard for both cancels out.
    """
    moves = [influence(metric, outcomes(store, row), store.copies) for row in rows]
    value = np.array([row.value for row in rows])
    gain = value - value[list(to), None]
    return gain, np.array([[np.sqrt(store.copies @ (move - moves[row]) ** 2) for move in moves] for row in to])


def _values(metrics: Sequence[Metric], sums: Array) -> Array:
    """Compute the mean of metrics from the weights of the cells tp, fn, fp and tn of each; 0 where a class has none."""
    cells = sums.reshape(len(sums), -1, 4)[:, :, [3, 2, 1, 0]].reshape(len(sums), -1, 2, 2)
    return np.mean(
        [np.nan_to_num(values_of_tables(metric, cells[:, place])) for place, metric in enumerate(metrics)], axis=0
    )


@dataclass(frozen=True, eq=False)
class JudgedDecisions:
    """Decisions on the same samples, of which the mean value is estimated.

    Parameters
    ----------
    metrics : tuple of Metric
        One for each problem.
    outcomes : tuple of ndarray of shape (n_samples, 4)
        One for each problem.
    copies : ndarray of int, shape (n_samples,)
        How many samples each one stands for.
    """

    metrics: tuple[Metric, ...]
    outcomes: tuple[Array, ...]
    copies: IntArray

    @classmethod
    def of(cls, store: ScoreStore, row: ScoreRow, metric: Metric) -> JudgedDecisions:
        """Read the decisions of a trial at its own threshold."""
        return cls((metric,), (outcomes(store, row),), store.copies)

    @classmethod
    def mean(cls, parts: Sequence[JudgedDecisions]) -> JudgedDecisions:
        """Combine the decisions of several problems on the same samples."""
        metrics, tables = ([item for part in parts for item in getattr(part, name)] for name in ("metrics", "outcomes"))
        return cls(tuple(metrics), tuple(tables), parts[0].copies)

    def errors(self, n_draws: int, random_state: int) -> Array:
        """Compute bootstrap errors of the mean value, of shape (n_draws,).

        Half a sample of each outcome is taken to have been met besides; see `csf.evaluate.intervals.DrawnSums`.
        """
        tables = self.outcomes[0] if len(self.outcomes) == 1 else np.concatenate(self.outcomes, axis=1)
        first, copies = count_distinct(list(tables.T), self.copies)
        tables = tables[first].astype(float)
        cells, n_sums = tables.reshape(len(tables), -1, 2), tables.shape[1]
        besides = np.full(n_sums, _UNMET)
        drawn = DrawnSums.of_tables(
            partial(_values, self.metrics), tables, copies, cells, csr_array(identity(n_sums)), besides
        )
        return drawn.bootstrap(n_draws, random_state).errors


# ---------------------------------------------------------------- winners by draws


_EPS = np.finfo(float).eps


class Margins:
    """Margins by which others must beat equal costs, in standard deviations of the gain over draws of the samples."""

    # Two classes: trainings start from earlier solutions; others; those whose rounds of boosting are searched.
    FAST, SLOW, ROUNDS = 0.0, 1.0, 1.0
    # Several classes, where the base's own decision with equal weights is to be beaten: other class weights change the
    # model, and not its decisions alone.
    RULE, CLASS_WEIGHTS = 0.5, 2.0
    # Costs of rows: other parameters, or a training that weighs rows by what they cost.
    ROW_COSTS = 1.0
    # A sigmoid costs nothing where probabilities are right already, and saves much where they are not. A tuned
    # threshold loses on few positives, and saves much where no sigmoid mends the probabilities, as with naive Bayes.
    # The same answer to all rows takes no model.
    ROW_RULES: ClassVar[dict[str, float]] = {"sigmoid": 0.0, "swept": 2.0, "negative": 0.0, "positive": 0.0}
    # A race: standard errors of a difference that are left to chance, and the gain in the metric that is worth
    # trainings.
    RACE_ERRORS, RACE_GAIN = 3.0, 0.005


Cut = TypeVar("Cut", int, float)


def best_on_average(values: Array, equal_costs: BoolArray, margin: float) -> int:
    """Choose the row with the best mean over draws; keep equal costs unless it exceeds them by the margin."""
    means = np.nanmean(values, axis=1)
    best = int(np.argmax(means))
    if not margin or equal_costs[best] or not any(equal_costs):
        return best
    equal = int(np.argmax(np.where(equal_costs, means, -np.inf)))
    gain = values[best] - values[equal]
    return best if np.nanmean(gain) > margin * np.nanstd(gain) else equal


@dataclass(frozen=True, eq=False)
class Rivals:
    """Rows among which a winner is chosen.

    ``kept`` marks rows that stay unless others of the same ``model`` are better by its margin.
    """

    kept: BoolArray
    model: IntArray
    margins: tuple[float, ...]

    def take(self, places: IntArray) -> Rivals:
        """Select some of the rows."""
        return Rivals(self.kept[places], self.model[places], self.margins)

    def best_on_average(self, values: Array) -> int:
        """Choose a row for each model with `best_on_average`, and return the one with the best mean over draws."""
        means = np.nanmean(values, axis=1)
        places = [np.flatnonzero(self.model == model) for model in np.unique(self.model)]
        best = [
            rows[best_on_average(values[rows], self.kept[rows], self.margins[self.model[rows[0]]])] for rows in places
        ]
        return int(best[int(np.argmax(means[best]))])


def averaged(
    shares: Array, best: Cut, cut_at: Callable[[float], Cut], value: Callable[[Cut], float], error: float
) -> Cut:
    """Average the shares of positive predictions at thresholds; return ``best`` where that costs more than an error.

    ``at`` gives the threshold of a share. Shares are averaged in log-odds.
    """
    # Finding nothing, or everything, is at no distance from other cuts that could be averaged.
    inner = shares[(shares > 0.0) & (shares < 1.0)]
    if not inner.size:
        return best
    mean = cut_at(float(expit(logit(np.clip(inner, _EPS, 1.0 - _EPS)).mean())))
    return mean if value(mean) >= value(best) - error else best


class ModelMargin(NamedTuple):
    """Settings of one of several models from ``first`` on, ``margin`` and ``base_setting`` as for `Chooser`."""

    first: int
    margin: float
    base_setting: int | None


@dataclass(frozen=True)
class Chooser:
    """Rule by which a search chooses among its trials.

    Parameters
    ----------
    margin : float, default=None
        As for `csf.search.selection.stable_choice`; ``None`` takes the best trial at its best threshold.
    base_setting : int, default=None
        Setting whose equal costs the margin is over; ``None`` for any.
    models : tuple of ModelMargin, default=()
        Of several models the margin of each, in the order of their settings.
    """

    margin: float | None = None
    base_setting: int | None = None
    models: tuple[ModelMargin, ...] = ()

    def rivals(self, rows: Sequence[ScoreRow]) -> Rivals:
        """Compare the rows: which ones stay as equal costs, and the model and margin of each."""
        models = self.models or (ModelMargin(0, self.margin or 0.0, self.base_setting),)
        setting = np.array([row.key[0] for row in rows], dtype=int)
        model = np.searchsorted([margin.first for margin in models], setting, side="right") - 1
        kept = [
            row.equal_costs and models[number].base_setting in (None, row.key[0]) for row, number in zip(rows, model)
        ]
        return Rivals(np.array(kept, dtype=bool), model, tuple(margin.margin for margin in models))


# The best trial at its best cut.
BEST = Chooser()


# ---------------------------------------------------------------- choices made again on parts of the samples


# Draws of each part: the parts are many, so that few of each do; fewer where samples are many and chance says little.
_N_DRAWS, _N_DRAWS_OF_MANY = 16, 4
# Rows that are the best ones of a part at their best cuts, of which draws say which is best on average; and as many of
# equal costs.
_CLOSE = 4


class Chosen(NamedTuple):
    """Row and threshold chosen on each part, both -1 where it lacks a class, and their results on the rest.

    Parameters
    ----------
    places, cuts : ndarray of int, shape (n_parts,)
        The choice.
    left_out : ndarray of shape (n_parts, 4)
        Weight of found and of all positives and negatives that the part does not hold.
    """

    places: IntArray
    cuts: IntArray
    left_out: Array


def choose_on_parts(
    units: Units,
    rows: list[CodedRow],
    metric: Metric,
    chooser: Chooser,
    rivals: Rivals,
    counts: Array,
    seeds: Sequence[Sequence[int]],
) -> Chosen:
    """Choose a row and a threshold on each part of the samples.

    ``counts``, of shape (n_units, n_parts), holds the number of samples of each unit in a part; ``seeds`` are those of
    its draws.
    """
    of_draws = retune(units, rows, metric, counts, middle=True)
    # The mean of cuts that satisfy a constraint on draws need not do so: there the best cut is taken.
    steady = chooser.margin is not None and metric.constraint is None
    n_parts = counts.shape[1]
    places, cuts, tuned_cuts = np.full(n_parts, -1), np.full(n_parts, -1), {}
    for part in np.flatnonzero(~np.isnan(of_draws.value).all(axis=0)).tolist():
        among = np.arange(len(rows))
        if steady:
            values = of_draws.value[:, part]
            among, tuned_cuts[part] = _steady(units, rows, metric, rivals, counts[:, part], values, seeds[part])
        winner = among[np.lexsort([-of_draws.value[among, part], of_draws.violation[among, part]])[0]]
        places[part], cuts[part] = winner, of_draws.cuts[winner, part]
    left_out, copies = np.zeros((n_parts, 4)), units.copies.astype(counts.dtype)[:, None]
    for row in np.unique(places[places >= 0]).tolist():
        parts = np.flatnonzero(places == row)
        held = _PartWeights.of(units, rows[row], counts[:, parts])
        if steady:
            cuts[parts] = [
                held.averaged(place, metric, int(cuts[part]), tuned_cuts[part]) for place, part in enumerate(parts)
            ]
        whole = _PartWeights.of(units, rows[row], copies)
        # Sums of weights are rounded.
        left_out[parts] = np.maximum(whole.weights_at(cuts[parts]) - held.weights_at(cuts[parts]), 0.0)
    return Chosen(places, cuts, left_out)


class _TunedCuts(NamedTuple):
    """Best thresholds of a row on draws, and the standard deviation of its values there."""

    cuts: IntArray
    error: float


def _steady(
    units: Units,
    rows: list[CodedRow],
    metric: Metric,
    rivals: Rivals,
    counts: Array,
    value: Array,
    seed: Sequence[int],
) -> tuple[IntArray, _TunedCuts | None]:
    """Choose the row that is best on draws of a part, with its thresholds there; return all rows without draws.

    ``value`` is that of the rows on the part itself.
    """
    among = _close(value, rivals.kept)
    n_draws = _N_DRAWS if units.copies.sum() <= LARGE else _N_DRAWS_OF_MANY
    draws = bootstrap_counts(counts.astype(np.int64), n_draws, seed)
    drawn = retune_all(units, [rows[row] for row in among], metric, draws)
    valid = ~np.isnan(drawn.value).all(axis=0)
    if not valid.any():
        return among, None
    values = drawn.value[:, valid]
    place = rivals.take(among).best_on_average(values)
    return among[[place]], _TunedCuts(drawn.cuts[place, valid], float(np.nanstd(values[place])))


def _close(value: Array, equal_costs: BoolArray) -> IntArray:
    """List the best few rows, and the best few rows with equal costs, in their order."""
    order = np.argsort(-value, kind="stable")
    return np.unique(np.concatenate([order[:_CLOSE], order[equal_costs[order]][:_CLOSE]]))


@dataclass(frozen=True, eq=False)
class _PartWeights:
    """Weights in some parts: of negatives and positives at a row's thresholds, (2, n_cuts, n_parts), and of all."""

    sums: Array
    neg: Array
    pos: Array

    @classmethod
    def of(cls, units: Units, row: CodedRow, counts: Array) -> _PartWeights:
        """Sum the weights of parts that hold each unit ``counts`` times."""
        weight = draw_weights(units, counts)
        pos, neg = class_weights(units, weight)
        sums = np.empty((2, row.thresholds.size + 1, weight.shape[1]))
        sums_at(row.codes, units.is_pos, weight, row.thresholds.size, sums)
        return cls(np.minimum(sums[:, :-1], np.stack([neg, pos])[:, None]), neg, pos)

    def weights_at(self, cuts: IntArray) -> Array:
        """Return the weights of predicted and of all positives and negatives, of each part at its own threshold(s)."""
        fp, tp = self.sums[:, cuts, np.arange(cuts.size) % self.pos.size]
        return np.stack(np.broadcast_arrays(tp, fp, self.pos, self.neg), axis=1)

    def averaged(self, part: int, metric: Metric, best: int, tuned_cuts: _TunedCuts | None) -> int:
        """Average the thresholds tuned on draws of a part; see `csf.search.selection`."""
        (fp, tp), pos, neg = self.sums[:, :, part], self.pos[part], self.neg[part]
        if tuned_cuts is None or tp.size == 1:
            return best
        found_share = (tp + fp) / (tp[-1] + fp[-1])

        def value(cut: int) -> float:
            return float(metric.value(*shares(pos - tp[cut], fp[cut], pos, neg)[:2], pos=pos / (pos + neg)))

        return averaged(
            found_share[tuned_cuts.cuts], best, lambda share: _place(found_share, share), value, tuned_cuts.error
        )


def _place(shares: Array, share: float) -> int:
    """Find the threshold with a share of positive predictions; among thresholds with equal shares, the middle one."""
    values, first, count = np.unique(shares, return_index=True, return_counts=True)
    return int(np.round(np.interp(share, values, first + 0.5 * (count - 1))))
