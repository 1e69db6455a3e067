"""Thresholds on a score in the order of their tests, which follows from the scores and not from the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.stats import binom

from csf._common.typing import Array, BoolArray, IntArray
from csf.metrics.constraints import gains_of
from csf.thresholding.exact_tests import SAME, Demand, Outlook, ScoredSamples, violation_at

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.thresholding.curve import ThresholdCurve

# Neighbours on a path differ by this factor in the number of samples, and bets test at most so many thresholds.
_FACTOR, _MOST = 1.05, 60
# A precision is tested from so many samples on, times level / (1 - level), but from this part of all at the latest;
# by bets from as many on as can lose so often what the heaviest one takes away.
_FIRST, _PART, _FEWEST, _LOSSES = 20, 20, 10, 6.0
# Shares of the samples predicted positive where paths start of demands that hold between two thresholds.
_STARTS = (0.03, 0.1, 0.3)


class _Where(Enum):
    """Where along a score a demand holds: safest are few or many samples predicted positive, or neither."""

    FEW, MANY, BETWEEN = "few", "many", "between"


def _where(gains: Array) -> tuple[_Where, bool]:
    """Read the gains of cells: where a demand holds, and whether it holds at all that is safer than where it does."""
    tp, fn, fp, tn = gains.tolist()
    # What changes with each positive and each negative that is predicted positive.
    changes = tp - fn, fp - tn
    if max(changes) <= 0.0 or min(changes) >= 0.0:
        return (_Where.FEW if max(changes) <= 0.0 else _Where.MANY), True
    # Shares among the samples of one answer, such as a precision.
    if fn == tn == 0.0 or tp == fp == 0.0:
        return (_Where.FEW if fn == tn == 0.0 else _Where.MANY), False
    return _Where.BETWEEN, False


@dataclass(frozen=True, eq=False)
class Guide:
    """What samples that were searched before say about paths.

    ``start`` is the threshold that is most likely to pass, ``toward`` says where better ones are, and bets test nothing
    beyond the ``ends``. ``sizes`` are expected mean squares of gains at their ``curve``, a column for each demand.
    """

    curve: ThresholdCurve
    sizes: Array
    start: float
    toward: _Where
    ends: tuple[float, float]

    @classmethod
    def of(
        cls, curve: ThresholdCurve, values: Array, outlooks: Sequence[Outlook], n: float, ends: tuple[float, float]
    ) -> Self:
        """Read thresholds with values, for a test of ``n`` independent samples or groups."""
        inside = (curve.thresholds <= ends[0]) & (curve.thresholds >= ends[1])
        expected = np.where(inside, np.maximum.reduce([outlook.p(n) for outlook in outlooks]), np.inf)
        start, values = int(expected.argmin()), np.where(inside & ~np.isnan(values), values, -np.inf)
        toward = _Where.FEW if values[: start + 1].max() > values[start:].max() else _Where.MANY
        sizes = np.column_stack([outlook.sizes for outlook in outlooks])
        return cls(curve, sizes, float(curve.thresholds[start]), toward, ends)


@dataclass(frozen=True, eq=False)
class ScorePaths:
    """Paths of thresholds, each tested up to its first failure, that share an error.

    A recall, and what else rises with the samples predicted positive, is tested from the lowest threshold upwards: what
    passes ends at an order statistic of the positives. A false positive rate is tested from the highest threshold
    downwards; so is a precision, from as many samples on as can show its level. Demands of both directions share the
    error. F1 or a cost holds between two thresholds and has several starts, with a path each way that can improve the
    metric. A guide starts such paths, and those of demands of both directions, in one place.
    """

    samples: ScoredSamples
    demands: Sequence[Demand]
    error: float
    guide: Guide | None = None

    @cached_property
    def curve(self) -> ThresholdCurve:
        """All thresholds."""
        return self.samples.curve()

    @cached_property
    def predicted_share(self) -> Array:
        """Share of the weight that each threshold predicts positive."""
        order = np.argsort(-self.samples.score)
        weight = np.ones(order.size) if self.samples.weight is None else self.samples.weight[order]
        n_found = np.searchsorted(-self.samples.score[order], -self.curve.lowest_score, side="right")
        return np.append(0.0, np.cumsum(weight))[n_found] / weight.sum()

    def walk(self, metric: Metric) -> tuple[BoolArray, Array, int]:
        """Test thresholds; return which pass, p-values (NaN where none was computed), and how many were tested.

        ``metric`` says which ways along the score can improve it.
        """
        families: dict[_Where, list[int]] = {}
        for place, demand in enumerate(self.demands):
            families.setdefault(_where(demand.gains)[0], []).append(place)
        if self.guide is not None and len(families) > 1:
            families = {_Where.BETWEEN: list(range(len(self.demands)))}
        passed, p_values, n_tested = (
            np.ones(self.predicted_share.size, dtype=bool),
            np.zeros(self.predicted_share.size),
            0,
        )
        for where, family in families.items():
            reached, p_there = (
                np.zeros(self.predicted_share.size, dtype=bool),
                np.full(self.predicted_share.size, np.nan),
            )
            paths = self._paths(where, family, metric)
            error = self.error / len(families) / len(paths)
            for path in paths:
                p, n_passed = self._follow(path, family, error)
                p_there[path[: p.size]] = p
                reached[path[:n_passed]] = True
                n_tested += p.size
                if n_passed and self._is_monotone(family):
                    # What is safer than the last one holds too.
                    last = int(path[n_passed - 1])
                    safer = slice(last + 1) if where is _Where.FEW else slice(last, None)
                    reached[safer], p_there[safer] = True, np.fmax(p_there[safer], p_there[last])
            passed, p_values = passed & reached, np.maximum(p_values, p_there)
        return passed, p_values, n_tested

    @cached_property
    def _start(self) -> float:
        """Share of the weight that the threshold of the guide predicts positive."""
        assert self.guide is not None, "asked for where there is one"
        return float(self.predicted_share[self.curve.cuts_at(self.guide.start)])

    def _is_monotone(self, family: Sequence[int]) -> bool:
        return all(_where(self.demands[place].gains)[1] for place in family)

    def _paths(self, where: _Where, family: Sequence[int], metric: Metric) -> list[IntArray]:
        """List the paths of some demands, as places of thresholds."""
        predicted = self.predicted_share
        if where is _Where.BETWEEN:
            terms = metric.terms()
            better = _Where.BETWEEN if terms is None else _where(gains_of(terms, ">=", 0.5))[0]
            ways = [way for way in (_Where.FEW, _Where.MANY) if better in (way, _Where.BETWEEN)]
            starts = _STARTS
            if self.guide is not None:
                starts, ways = (self._start,), [self.guide.toward]
            # Towards many samples a path goes as one does from where few are.
            begun = [(start, way is _Where.MANY) for start in starts for way in ways]
            return [
                self._path(predicted >= start if down else predicted <= start, predicted, down) for start, down in begun
            ]
        down = where is _Where.FEW
        first = 0.0 if self._is_monotone(family) else self._first(family)
        if first and self.guide is not None:
            first = self._start if down else 1.0 - self._start
        exact = all(self.demands[place].level is not None for place in family)
        shares = predicted if down else 1.0 - predicted
        return [self._path(shares >= first, None if exact and not first else shares if first else predicted, down)]

    def _path(self, among: BoolArray, shares: Array | None, down: bool) -> IntArray:
        """Order thresholds, those whose ``shares`` grow or fall by a factor where these are given."""
        bets = any(demand.level is None for demand in self.demands)
        high, low = (np.inf, -np.inf) if self.guide is None or not bets else self.guide.ends
        path = np.flatnonzero(among & (self.curve.thresholds <= high) & (self.curve.thresholds >= low))
        path = path if down else path[::-1]
        if shares is None or path.size < 2:
            return path
        fewest, most = shares[path][shares[path] > 0.0].min(), shares[path].max()
        n_steps = int(np.ceil(np.log(max(most / fewest, _FACTOR)) / np.log(_FACTOR)))
        n_steps = min(n_steps, _MOST) if bets else n_steps
        ascending = path if shares[path[0]] <= shares[path[-1]] else path[::-1]
        picked = np.searchsorted(shares[ascending], np.geomspace(fewest, most, n_steps + 1))
        kept = ascending[np.unique(np.minimum(picked, path.size - 1))]
        return kept if ascending is path else kept[::-1]

    def _first(self, family: Sequence[int]) -> float:
        """Compute the share of the samples that can show a rate among them, whoever they are."""
        units = self.samples.totals(np.ones(self.samples.score.size))
        copies = self.samples.n_units / self.samples.n_different
        n_independent, firsts = units.sum() ** 2 / (units @ units) / copies, []
        for demand in (self.demands[place] for place in family if not _where(self.demands[place].gains)[1]):
            level = -demand.gains.min() / np.ptp(demand.gains)
            wrong = max(1.0 - level, 1e-9)
            enough = min(_FIRST * max(level / wrong, 1.0), max(n_independent / _PART, _FEWEST)) / n_independent
            # A bet has to win what the heaviest unit can take away several times.
            losses = 0.0 if demand.level is not None else _LOSSES * demand.loss / wrong * copies / units.sum()
            firsts.append(max(enough, min(losses, 1.0 / _PART)))
        return max(firsts)

    def _follow(self, path: IntArray, family: Sequence[int], error: float) -> tuple[Array, int]:
        """Test thresholds up to the first failure; return their p-values and how many of them passed."""
        demands = [self.demands[place] for place in family]
        exact = [self._tails(demand, path) for demand in demands if demand.level is not None]
        p = np.maximum.reduce([np.zeros(path.size), *exact])
        n_passed = int((p > error).argmax()) if (p > error).any() else path.size
        bets = [place for place in family if self.demands[place].level is None]
        for step in range(n_passed if bets else 0):
            threshold = float(self.curve.thresholds[path[step]])
            sizes = np.array([self._size(place, threshold) for place in bets])
            bet = violation_at([self.demands[place] for place in bets], self.samples, threshold, error, sizes)
            p[step] = max(p[step], bet)
            if bet > error:
                n_passed = step
                break
        return p[: n_passed + 1], n_passed

    def _size(self, place: int, threshold: float) -> float:
        """Expect a mean square of what a unit adds to a demand: by the guide, or where gains and losses are even."""
        if self.guide is not None:
            return float(self.guide.sizes[self.guide.curve.cuts_at(threshold), place])
        gains, predicted = self.demands[place].gains, self.samples.predicted(threshold)
        counted = np.where(predicted, gains[[0, 2]].any(), gains[[1, 3]].any())
        squares = self.samples.totals(counted * 1.0) ** 2 * gains.max() * -gains.min()
        return float(squares.sum() / max((squares > 0.0).sum(), 1))

    def _tails(self, demand: Demand, path: IntArray) -> Array:
        """Compute the binomial tails of a demand at thresholds."""
        none, copies = SAME * np.abs(demand.gains).max(), self.samples.n_units / self.samples.n_different
        counts = self.samples.sums(
            self.curve.lowest_score[path], demand.gains, lambda gains: np.stack([gains > none, gains < -none]) * 1.0
        )
        # Of samples that are there several times mean counts.
        ones, zeros = np.floor(counts[0] / copies), np.ceil(counts[1] / copies)
        return binom.sf(ones - 1.0, ones + zeros, demand.level)
