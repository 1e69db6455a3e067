"""Thresholds by segment: the best ones whose rates differ by no more than a tolerance, or keep a level in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.ndimage import maximum_filter1d

from csf._common.dtypes import is_time
from csf._common.messages import did_you_mean, listed
from csf._common.sklearn import num_samples, safe_indexing
from csf._common.typing import Array, BoolArray, IntArray, Label, Samples
from csf._common.validation import are_missing, as_array, names_on, place_or_none
from csf.metrics.base import LinearFractional
from csf.metrics.binary import Precision, Recall
from csf.metrics.comparisons import NO_LIMIT, PairLimit
from csf.metrics.constraints import Constraint
from csf.thresholding._kernels import add_window_maxima
from csf.thresholding.curve import ThresholdCurve, sweep
from csf.thresholding.row_thresholds import RowThresholds, ScoredRows, TunedThresholds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf.metrics.base import Metric

# Rounding of two rates that are equal.
_ROUNDING = 1e-12
# Rounds of Dinkelbach's method, which needs about three; and places of each segment that bound the others.
# And parts of the width of a window.
_MOST_ROUNDS, _FEW, _BINS = 100, 1000, 8
# So many places of all segments are looked at one by one.
_SMALL = 20_000


# ---------------------------------------------------------------- which rows belong to which segment


@dataclass(frozen=True)
class Segments:
    """Values of a column, or of an array beside the samples, that divide the rows into segments.

    Parameters
    ----------
    by : str
        Name of the column.
    known : tuple of label
        The values.
    """

    by: str
    known: tuple[Label, ...]

    @classmethod
    def of(cls, by: str, X: Samples, given: ArrayLike | None) -> Self:
        """Read the segments of samples; ``given`` are their values where they are no column of ``X``."""
        values = set(_values(by, X, given))
        try:
            return cls(by, tuple(sorted(values)))
        except TypeError:
            return cls(by, tuple(sorted(values, key=str)))

    def codes(self, X: Samples, given: ArrayLike | None) -> IntArray:
        """Return the place of each row's segment among the known ones; raise a ValueError for others."""
        place = {value: code for code, value in enumerate(self.known)}
        values = _values(self.by, X, given)
        codes = np.array([place.get(value, -1) for value in values], dtype=np.int64)
        if (codes < 0).any():
            unknown = list(dict.fromkeys(value for value in values if value not in place))
            raise ValueError(
                f"{self.by} has the value {unknown[0]!r}, for which there is no threshold, in {(codes < 0).sum()} of "
                f"{codes.size} rows; known: {listed(self.known)}. Map it to one of these, or fit with rows of it"
            )
        return codes

    def table(
        self, codes: IntArray, is_pos: BoolArray, decided: BoolArray, weight: Array | None, constraint: Constraint
    ) -> dict[Label, dict[str, float]]:
        """Compute the weight of each segment, its share of positives, and rates of decisions about its rows.

        They are recall, precision, and the constrained ones; NaN where a segment has none.
        """
        n, weights = len(self.known), np.ones(codes.size) if weight is None else weight
        total, pos, fn, fp = (
            np.bincount(codes, weights * mask, n)
            for mask in (is_pos | True, is_pos, is_pos & ~decided, decided & ~is_pos)
        )
        quantities: list[Any] = [Recall(), Precision(), *(part.quantity for part in constraint.parts)]
        table: dict[Label, dict[str, float]] = {}
        for segment, name in enumerate(self.known):
            share, missed, wrong = (sums[segment : segment + 1] / (total[segment] or np.nan) for sums in (pos, fn, fp))
            rates = {rate.name: float(rate_at(rate, missed, wrong, float(share[0]))[0]) for rate in quantities}
            table[name] = {"weight": float(total[segment]), "positives": float(share[0])} | rates
        return table

    @property
    def limits_broken(self) -> str:
        """Why a limit on the number of positive predictions would break a demand."""
        return (
            "at_most= and wrong_at_most= would leave out more rows of some segments of "
            f"{self.by!r} than of others, and the constraint would not hold; leave them out, or search with a "
            "constraint on all rows"
        )

    def rates_on(
        self, constraint: Constraint, codes: IntArray, is_pos: BoolArray, decided: BoolArray, weight: Array | None
    ) -> dict[str, float]:
        """Compute the constrained values of decisions about samples of segments that are known."""
        return worst_rates(constraint, self.table(codes, is_pos, decided, weight, constraint))


def _values(by: str, X: Samples, given: ArrayLike | None) -> list[Label]:
    columns, n_rows = names_on(X), num_samples(X)
    place = place_or_none(by, columns or ())
    if given is None and place is None:
        known, hint = ("no names", "") if columns is None else (listed(columns), did_you_mean(by, columns))
        raise ValueError(
            f"the constraint is by {by!r}, and the columns of X have {known}. Give a frame with this column, or its "
            f"values as by=, to fit and to predict{hint}"
        )
    values = as_array(safe_indexing(X, place, axis=1) if given is None else given, by)
    if values.shape != (n_rows,):
        raise ValueError(f"by must have one value for each of {n_rows} rows, got shape {values.shape}")
    if is_time(values) and n_rows:
        raise _no_segment(by, values[0])
    rows = values.tolist()
    missing = np.count_nonzero(are_missing(values))
    if missing:
        raise ValueError(
            f"{by} is missing in {missing} of {n_rows} rows, and no threshold is for them; fill it with a value of its "
            "own, such as 'unknown', or drop these rows"
        )
    other = next((value for value in rows if not isinstance(value, str | int | float)), None)
    if other is not None:
        raise _no_segment(by, other)
    return rows


def _no_segment(by: str, value: object) -> ValueError:
    """Build the error for values that files of rules cannot hold, or that depend on a unit of time."""
    return ValueError(
        f"{by} holds {value!r} of the type {type(value).__name__}; segments are texts, numbers or booleans. Turn it "
        f"into text, such as the year of a date, or frame[{by!r}].astype(str)"
    )


# ---------------------------------------------------------------- the best thresholds


@dataclass(frozen=True, eq=False)
class SegmentCuts:
    """Thresholds of all segments, the value of the metric, that without a constraint, and whether it is kept."""

    cuts: Array
    value: float
    free: float
    keeps: bool


# Curve of a segment of no weight.
_NOTHING = ThresholdCurve(np.array([np.inf, -np.inf]), np.zeros(2), np.zeros(2), 0.0)


@dataclass(frozen=True, eq=False)
class SegmentCurves:
    """Curves of all thresholds of each segment.

    Parameters
    ----------
    curves : list of ThresholdCurve
        One for each segment.
    shares : ndarray of shape (n_segments,)
        Share of each segment in the weight of all rows.
    """

    curves: list[ThresholdCurve]
    shares: Array

    @classmethod
    def of(cls, is_pos: BoolArray, score: Array, codes: IntArray, n_segments: int, weight: Array | None) -> Self:
        """Sweep the scores of each segment."""
        parts = [np.flatnonzero(codes == segment) for segment in range(n_segments)]
        weights = [None if weight is None else weight[part] for part in parts]
        totals = np.array(
            [part.size if part_weight is None else part_weight.sum() for part, part_weight in zip(parts, weights)],
            dtype=float,
        )
        curves = [
            sweep(is_pos[part], score[part], part_weight) if total else _NOTHING
            for part, part_weight, total in zip(parts, weights, totals)
        ]
        return cls(curves, totals / totals.sum())

    @cached_property
    def pos(self) -> float:
        """Share of positives in all rows."""
        return float(self.shares @ [curve.pos for curve in self.curves])

    def rates(self, part: Constraint) -> list[Array]:
        """Compute a constrained rate at each threshold of each segment; NaN for a segment that has none."""
        rates = [rate_at(part.quantity, curve.fn, curve.fp, curve.pos) for curve in self.curves]
        return [rate if share else np.full(rate.size, np.nan) for rate, share in zip(rates, self.shares)]

    def check(self, constraint: Constraint, segments: Segments) -> None:
        """Raise a ValueError where a segment has no row that a constrained rate counts."""
        for part in constraint.parts:
            for name, rates in zip(segments.known, self.rates(part)):
                if np.isnan(rates).any():
                    raise ValueError(
                        f"{part.quantity.name} has no value where {segments.by} is {name!r}: all held-out rows of "
                        "positive weight there are of one class. Merge it with another one of "
                        f"{listed(segments.known)}, or leave its rows out"
                    )

    def best(self, metric: LinearFractional, constraint: Constraint | None = None) -> SegmentCuts:
        """Find the thresholds of largest value among those that keep a constraint by segments.

        A level t of a ratio of sums gives either error a cost (Dinkelbach): thresholds of least total cost are those of
        the best value at the level that they reach, and each round reaches a higher one. At given costs each segment
        has its own best threshold. A gap or a ratio is kept exactly where one window holds all rates, from the smallest
        one to the largest one that is allowed beside it: of each window that begins at a rate the best thresholds of
        all segments add up. So the result is the best one of all combinations of thresholds.

        Where no threshold of a segment keeps a level, its nearest ones are taken, and ``keeps`` is False.
        """
        limits, parts = self.limits(constraint), list(zip(self.curves, self.shares.tolist()))
        # The best level without limits is out of reach, and good to begin with; for that one few thresholds do.
        free = level = self._rough_level(metric) if constraint is None else self.best(metric).value
        best, best_places = -np.inf, None
        for _ in range(_MOST_ROUNDS):
            c_fn, c_fp = metric.cost_weights(level, pos=self.pos)
            worth = [(-c_fn * share) * curve.fn - (c_fp * share) * curve.fp for curve, share in parts]
            chosen = limits.best(worth, best_places)
            fn = float(sum(share * curve.fn[place] for (curve, share), place in zip(parts, chosen)))
            fp = float(sum(share * curve.fp[place] for (curve, share), place in zip(parts, chosen)))
            value = float(metric.value(min(fn, self.pos), min(fp, 1.0 - self.pos), pos=self.pos))
            if value <= best:
                break
            aimed_at, level, best, best_places = level, value, value, chosen
            if value == aimed_at:
                break
        assert best_places is not None, "there is a first round"
        cuts = np.array([curve.threshold_of(place) for curve, place in zip(self.curves, best_places)])
        return SegmentCuts(cuts, best, best if constraint is None else free, limits.kept_at(best_places))

    def _rough_level(self, metric: LinearFractional) -> float:
        """Compute a level that is close to the best one without limits."""
        step = max(curve.fn.size for curve in self.curves) // _FEW
        if step < 2:
            return metric.range(self.pos)[1]
        few = [
            replace(curve, lowest_score=curve.lowest_score[::step], fn=curve.fn[::step], fp=curve.fp[::step])
            for curve in self.curves
        ]
        return SegmentCurves(few, self.shares).best(metric).value

    def limits(self, constraint: Constraint | None) -> SegmentLimits:
        """Find the places of each segment's curve that a constraint allows, and the rates that share a window."""
        if constraint is None:
            return SegmentLimits()
        if (limit := constraint.pair_limit) is not None:
            rates = {segment: rate for segment, rate in enumerate(self.rates(constraint)) if not np.isnan(rate).any()}
            return SegmentLimits(rates=rates, window=limit._replace(slack=limit.slack + _ROUNDING))
        missing = [np.maximum.reduce(of_parts) for of_parts in zip(*map(self._missing, constraint.parts))]
        return SegmentLimits(
            [amounts <= amounts.min() for amounts in missing], keeps=all(amounts.min() == 0.0 for amounts in missing)
        )

    def _missing(self, part: Constraint) -> list[Array]:
        """Compute by how much each threshold of each segment misses a level; 0 for a segment without the rate."""
        return [np.nan_to_num(np.asarray(part.missing(rate))) for rate in self.rates(part)]


def rate_at(quantity: Any, fn: Array, fp: Array, pos: float) -> Array:
    """Compute a rate of a segment; NaN where it counts nothing of it."""
    try:
        return np.asarray(quantity.value(fn, fp, pos=float(pos)), dtype=float) + 0.0 * pos  # NaN of no rows
    except ZeroDivisionError:
        return np.full(np.shape(fn), np.nan)


@dataclass(frozen=True, eq=False)
class SegmentLimits:
    """Allowed places of each segment's curve, ``None`` for all; and the rates of segments that share a window."""

    allowed: list[BoolArray] | None = None
    rates: dict[int, Array] = field(default_factory=dict)
    window: PairLimit = NO_LIMIT
    keeps: bool = True

    def best(self, worth: list[Array], known: list[int] | None) -> list[int]:
        """Choose a place of each segment, rates in one window, so that their worth adds up to most.

        ``known`` are places within the limits, if some are known.
        """
        if self.allowed is not None:
            worth = [np.where(allowed, values, -np.inf) for allowed, values in zip(self.allowed, worth)]
        chosen = [int(values.argmax()) for values in worth]
        if not self.rates or self.kept_at(chosen):
            return chosen
        candidates: dict[int, IntArray] = {segment: np.arange(rate.size) for segment, rate in self.rates.items()}
        if sum(map(len, candidates.values())) <= _SMALL:
            return self._in_window(worth, chosen, candidates) or chosen
        if known is None:
            # Few places have a good sum already.
            steps = {segment: max(1, rate.size // _FEW) for segment, rate in self.rates.items()}
            some: dict[int, IntArray] = {
                segment: np.arange(0, self.rates[segment].size, step) for segment, step in steps.items()
            }
            known = self._in_window(worth, chosen, some)
        if known is not None:
            candidates = self._candidates(worth, sum(worth[segment][known[segment]] for segment in self.rates))
        return self._in_window(worth, chosen, candidates) or chosen

    @cached_property
    def _width(self) -> float:
        """Largest width of a window."""
        return self.window.widest(max(float(rate.max()) for rate in self.rates.values()))

    @cached_property
    def _bins(self) -> tuple[int, dict[int, IntArray]]:
        """Number of bins of the rates, less 1, and the bin of each place."""
        n_bins = int(np.clip(_BINS / self._width, 1, _FEW))
        return n_bins, {
            segment: np.clip((rate * n_bins).astype(np.int64), 0, n_bins) for segment, rate in self.rates.items()
        }

    def _candidates(self, worth: list[Array], least: float) -> dict[int, IntArray]:
        """Select the places that may be in a sum of at least so much, by the largest worth of the others nearby."""
        n_bins, bins = self._bins
        width, tops = int(np.ceil(self._width * n_bins)) + 1, np.full((len(worth), n_bins + 1), -np.inf)
        for segment, bin_of in bins.items():
            np.maximum.at(tops[segment], bin_of, worth[segment])
        tops = maximum_filter1d(tops, 2 * width + 1, axis=1, mode="constant", cval=-np.inf)[list(bins)]
        others = {segment: (np.delete(tops, row, axis=0)).sum(axis=0) for row, segment in enumerate(bins)}
        return {
            segment: np.flatnonzero(worth[segment] + others[segment][bin_of] >= least - _ROUNDING)
            for segment, bin_of in bins.items()
        }

    def _in_window(self, worth: list[Array], chosen: list[int], among: dict[int, IntArray]) -> list[int] | None:
        """Choose among some places of the segments that share a window; ``None`` where no window holds all."""
        among = {
            segment: places[np.argsort(self.rates[segment][places], kind="stable")] for segment, places in among.items()
        }
        rates = {segment: self.rates[segment][places] for segment, places in among.items()}
        most, start = -np.inf, 0.0
        # The least rate is one of some segment.
        for starts in rates.values():
            totals, ends = np.zeros(starts.size), self.window.largest_beside(starts)
            for segment, rate in rates.items():
                add_window_maxima(rate, worth[segment][among[segment]], starts, ends, totals)
            best = int(totals.argmax())
            if totals[best] > most:
                most, start = float(totals[best]), float(starts[best])
        if most == -np.inf:
            return None
        chosen = list(chosen)
        for segment, rate in rates.items():
            first = np.searchsorted(rate, start)
            end = np.searchsorted(rate, self.window.largest_beside(start), side="right")
            places = among[segment][first:end]
            chosen[segment] = int(places[worth[segment][places].argmax()])
        return chosen

    def kept_at(self, chosen: list[int]) -> bool:
        """Check whether all limits are kept at the chosen places."""
        rates = [float(rate[chosen[segment]]) for segment, rate in self.rates.items()]
        return self.keeps and (not rates or max(rates) <= self.window.largest_beside(min(rates)))


def worst_rates(constraint: Constraint, table: Mapping[Label, Mapping[str, float]]) -> dict[str, float]:
    """Return the values of rates of segments that the levels are for: a gap, a ratio, or the worst rate."""
    rates = {}
    for name, part in constraint.named_parts.items():
        values = np.array([row[part.quantity.name] for row in table.values()])
        rates[name] = part.comparison.value(values, part.side)
    return rates


# ---------------------------------------------------------------- thresholds under a constraint by segments


@dataclass(frozen=True, eq=False)
class SegmentThresholds(RowThresholds):
    """Thresholds by segment that keep a constraint by segments.

    Parameters
    ----------
    demand : Constraint
        The constraint.
    segments : Segments
        Which rows belong to which segment.
    cuts : ndarray of shape (n_segments,), default=()
        Threshold of each segment.
    free : float, default=nan
        Value of the best thresholds by segment on held-out samples, were there no constraint.
    """

    demand: Constraint
    segments: Segments
    cuts: Array = field(default_factory=lambda: np.zeros(0))
    free: float = np.nan

    in_words = "thresholds by segment"

    def beside(self, X: Samples, given: ArrayLike | None = None) -> IntArray:
        """Return the place of each row's segment."""
        return self.segments.codes(X, given)

    def of_rows(self, beside: Array) -> Array:
        """Return the threshold of each row's segment."""
        return self.cuts[beside]

    def curves(self, rows: ScoredRows) -> SegmentCurves:
        """Sweep the scores of each segment."""
        return SegmentCurves.of(rows.is_pos, rows.score, rows.beside, len(self.segments.known), rows.weight)

    def tuned(self, metric: Metric, rows: ScoredRows, share: float = 0.0) -> TunedThresholds:
        """Find the best thresholds of all segments, see `SegmentCurves.best`."""
        return self.tuned_on(metric, self.curves(rows), share)

    def tuned_on(self, metric: Metric, curves: SegmentCurves, share: float = 0.0) -> TunedThresholds:
        """Find the best thresholds on curves, with levels that are stricter by a share of the way."""
        ratio = metric.unconstrained.as_ratio
        assert ratio is not None, "checked when the problem was read"
        best = curves.best(ratio, self.demand.tightened(share))
        return TunedThresholds(replace(self, cuts=best.cuts, free=best.free), best.value, best.keeps)

    @property
    def parameters(self) -> dict[Label, float]:
        """Threshold of each segment."""
        return dict(zip(self.segments.known, self.cuts.tolist()))

    @property
    def limits_broken(self) -> str:
        """A limit on all rows would move the rates of the segments."""
        return self.segments.limits_broken
