"""Thresholds by segment of two classes: a demand beside the samples, and what decides after the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, IntArray, Label, Params
from csf.evaluate import CodedRow, Resampling, ScoreRow, ScoreStore, TrialKey
from csf.evaluate.assessment import LEVEL
from csf.evaluate.choices import JudgedDecisions, decisions
from csf.evaluate.draws import Units, grouped
from csf.metrics import get_metric
from csf.metrics.base import LinearFractional
from csf.metrics.constraints import Constrained, Constraint, share_of
from csf.metrics.registry import for_classes
from csf.search.certification import with_tested_step
from csf.search.problems.base import SearchResult
from csf.thresholding.alerts import AlertLimit
from csf.thresholding.certificates import STRICTER, Decisions
from csf.thresholding.exact_tests import ScoredSamples
from csf.thresholding.exchange import ScoredEntries
from csf.thresholding.rule import ThresholdRule
from csf.thresholding.segments import (
    BY,
    SegmentCurves,
    SegmentCuts,
    SegmentRule,
    Segments,
    beyond,
    limits_by_segment,
    worst_rates,
)

if TYPE_CHECKING:
    from csf._common.typing import Samples
    from csf.data.folds import Task
    from csf.data.labels import Labels
    from csf.metrics.base import Metric
    from csf.search.config import SearchConfig, Unsupported
    from csf.search.study import Study

# Levels of 0 and 1 are none that a test can show.
_LEAST = 1e-9

# ---------------------------------------------------------------- thresholds of a winner


@dataclass(frozen=True, eq=False)
class SegmentThresholds:
    """Thresholds by segment for the scores of a winner."""

    demand: Constraint
    segments: Segments
    cuts: Array = field(default_factory=lambda: np.zeros(0))
    # Value of the best thresholds by segment on held-out samples, were there no constraint.
    free: float = np.nan

    def best_cuts(self, metric: Metric, curves: SegmentCurves, share: float = 0.0) -> SegmentCuts:
        """Find the best thresholds of all segments, with levels that are stricter by a share of the way."""
        metric = metric.metric if isinstance(metric, Constrained) else metric
        assert isinstance(metric, LinearFractional), "checked when the problem was read"
        return curves.best(metric, self.demand.tightened(share))

    def curves(self, found: ScoreResult) -> SegmentCurves:
        """Sweep the winner's scores of each segment."""
        store = found.store
        assert store is not None, "thresholds are tuned in memory"
        score = store[found.key].score
        assert score is not None, "thresholds are tuned"
        curves = SegmentCurves.of(store.is_pos, score, store.beside[BY], len(self.segments.known), store.weight)
        curves.check(self.demand, self.segments)
        return curves

    def tuned(self, found: Result, share: float = 0.0, curves: SegmentCurves | None = None) -> Result:
        """Tune the thresholds on the winner's held-out scores, see `best_cuts`; return the result with them."""
        best = self.best_cuts(found.metric, self.curves(found) if curves is None else curves, share)
        thresholds = replace(self, cuts=best.cuts, free=best.free)
        own: Any = {"by_segment": thresholds, "threshold": 0.0, "score": best.value, "feasible": best.keeps}
        # There is no upper bound.
        own |= dict.fromkeys(("upper_bound", "gap", "bound_margin"), np.nan)
        result = replace(found.untested(), decided=None, **own)
        return replace(result, constraint_value=next(iter(result.rates.values())))

    def beyond(self, row: ScoreRow, store: ScoreStore) -> ScoreRow:
        """Subtract the threshold of each entry's segment from its score."""
        assert row.score is not None, "thresholds are tuned"
        return replace(row, score=beyond(row.score, self.cuts[store.beside[BY]]), threshold=0.0)

    def table(self, row: ScoreRow, store: ScoreStore) -> dict[Label, dict[str, float]]:
        """Compute threshold, size and rates of each segment on held-out samples, from scores beyond the thresholds."""
        rows = self.segments.table(store.beside[BY], store.is_pos, decisions(row), store.weight, self.demand)
        return {name: {"threshold": float(cut)} | each for cut, (name, each) in zip(self.cuts, rows.items())}

    def check_reviews(self, found: ScoreResult, reviewed: BoolArray, error: float) -> None:
        """Warn where final answers with reviews do not keep the constraint that answers without them keep."""
        row, store = found.row, found.store
        assert store is not None, "thresholds are tuned in memory"
        right = np.where(reviewed, store.is_pos, decisions(row))
        wrong = np.where(reviewed, ~store.is_pos, right)
        # A review is right but for its errors.
        weight = np.ones(reviewed.size) if store.weight is None else store.weight
        weight = np.append((1.0 - error) * weight, error * weight)
        codes, is_pos = np.tile(store.beside[BY], 2), np.tile(store.is_pos, 2)
        rates = self.segments.rates_on(self.demand, codes, is_pos, np.append(right, wrong), weight)
        parts = self.demand.named_parts
        if found.feasible and any(part.missing(rates[name]) > _LEAST for name, part in parts.items()):
            shown = ", ".join(f"{name} {rate:.4g}" for name, rate in rates.items())
            warn(
                f"answers without reviews keep {self.demand} on held-out data; with reviews, which some segments have "
                f"more of, they do not ({shown}). Tighten the constraint, or leave the review out"
            )

    def published(self, found: ScoreResult) -> Params:
        """Return the attributes of the fitted search that one threshold does not have."""
        assert found.store is not None, "thresholds are tuned in memory"
        cuts = dict(zip(self.segments.known, self.cuts.tolist()))
        segments = self.table(found.row, found.store)
        return {"thresholds_": cuts, "segments_": segments, "limit_cost_": self.free - found.score}

    def refused(self, what: str) -> ValueError:
        """Build the error for what has no meaning with several thresholds."""
        why = {
            "prevalence": "at_prevalence moves one threshold, and there is one for each segment of "
            f"{self.segments.by!r}, whose shares of positives change by themselves; tune them on new "
            "labelled rows, with cv='prefit'",
            "bound": "this plot shows an upper bound, and there is none with thresholds by segment. Use "
            "csf.plots.ThresholdCurveDisplay, or search.report('report.html')",
        }
        return ValueError(why[what])

    def tested(self, found: ScoreResult, rule: Any, held_back: Task | None, confidence: float) -> Any:
        """Test thresholds that are tuned to stricter and stricter levels on the held-out samples."""
        assert held_back is not None, "thresholds that are tuned are tested on other samples"
        store, curves = found.store, self.curves(found)
        assert store is not None, "searches in memory keep their scores"
        steps = [self.tuned(found, share, curves) for share in STRICTER]
        own = [decisions(step.row) for step in steps]
        codes, score = self.segments.codes(held_back.X, held_back.fit_params.get(BY)), rule.raw(held_back.X)
        if not np.bincount(codes, minlength=len(self.segments.known)).all():
            raise ValueError(f"a segment of {self.demand.by} has no row held back for confidence=; merge small ones")
        decided = [score >= step.by_segment.cuts[codes] for step in steps if step.by_segment is not None]
        weight = None if held_back.weight is None else store.weight
        groups = None if held_back.groups is None else store.samples
        known = ScoredSamples(store.is_pos, np.zeros(store.is_pos.size), weight, None, groups, store.repeats)
        new = ScoredSamples(held_back.codes > 0, score, held_back.weight, None, held_back.groups)
        names = [f"{self.demand.by}={name!s}" for name in self.segments.known]
        searched = Decisions(known, own).by_segment(store.beside[BY], len(names))
        tested, n_parts = Decisions(new, decided).by_segment(codes, len(names)), len(self.demand.parts)
        steps = [replace(step, decided=each) for step, each in zip(steps, own)]
        return with_tested_step(steps, self.demand, searched * n_parts, tested * n_parts, confidence, names)

    def in_rule(self, rule: ThresholdRule) -> SegmentRule:
        """Put the thresholds into a rule."""
        own: Any = {each.name: getattr(rule, each.name) for each in fields(ThresholdRule)}
        return SegmentRule(**own | {"threshold": 0.0}, segments=self.segments, cuts=self.cuts)


# ---------------------------------------------------------------- results that hold them


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreResult(SearchResult):
    """Result whose held-out scores are decided by one threshold, or by thresholds by segment."""

    store: ScoreStore | None
    threshold: float | None
    by_segment: SegmentThresholds | None = None
    # Decisions on the held-out samples that took the place of the winner's own.
    decided: BoolArray | None = None

    @property
    def kind(self) -> str:
        """``"binary"``, or ``"segments"`` with a threshold each."""
        return "binary" if self.by_segment is None else "segments"

    @property
    def constraint(self) -> Constraint | None:
        """Constraint of the decisions."""
        return super().constraint if self.by_segment is None else self.by_segment.demand

    @property
    def rates(self) -> dict[str, float]:
        """Constrained values on held-out samples, by their names; by segment the worst ones."""
        if self.by_segment is None or self.store is None:
            return super().rates
        return worst_rates(self.by_segment.demand, self.by_segment.table(self.row, self.store))

    def in_rule(self, rule: Any) -> Any:
        """Put the threshold, or those by segment, into a rule."""
        if self.by_segment is not None:
            return self.by_segment.in_rule(rule)
        return replace(rule, threshold=self.threshold)

    def alert_limits(self, wrong_at_most: object, names: list[Label], bands: Any = None) -> dict[int, AlertLimit]:
        """Read a limit on wrong alerts; raise a ValueError where it would leave out more alerts of some segments."""
        if self.by_segment is not None:
            raise limits_by_segment(self.by_segment.segments.by)
        return super().alert_limits(wrong_at_most, names, bands)

    def study(self, setting: int | None = None) -> Study:
        """Return the study of a setting; raise a ValueError where there is no upper bound."""
        if self.by_segment is not None:
            raise self.by_segment.refused("bound")
        return super().study(setting)

    @property
    def moves(self) -> bool:
        """True where `moved` can adapt the threshold to another share of positives; not those by segment."""
        return self.by_segment is None and super().moves

    @property
    def row(self) -> ScoreRow:
        """Held-out scores of the winner; by segment those beyond the threshold of each entry's segment."""
        if self.store is None:
            raise ValueError("the held-out scores of this search were not kept")
        row = self.store[self.key]
        return row if self.by_segment is None else self.by_segment.beyond(row, self.store)

    def scores_beside(self, segment: Label) -> ScoredEntries | None:
        """Return the held-out entries that a threshold decides, each sample once, see `SearchResult.scores_beside`."""
        row, store = self.row, self.store
        if store is None or row.score is None or self.threshold is None:
            return None
        counts = np.isfinite(row.score)
        if not store.has_groups:  # repeated folds hold the same entry out again
            counts &= np.isin(np.arange(counts.size), np.unique(store.samples, return_index=True)[1])
        if self.by_segment is not None:
            known = list(self.by_segment.segments.known)
            if segment not in known:
                raise ValueError(f"each segment has a threshold: name one by segment=, of {known}, got {segment!r}")
            counts &= store.beside[BY] == known.index(segment)
        weight = None if store.weight is None else store.weight[counts]
        return ScoredEntries(store.is_pos[counts], row.score[counts].astype(np.float64), weight, self.threshold)


# A result with thresholds is of the same kind as that without.
Result = TypeVar("Result", bound=ScoreResult)


class SegmentResampling(Resampling):
    """Choice of a trial, by one threshold, and of thresholds by segment for it, made again on parts of the samples."""

    def __init__(self, store: ScoreStore, metric: Metric, thresholds: SegmentThresholds, **options: Any) -> None:
        super().__init__(store, metric, **options)
        self.by_segment = thresholds

    @cached_property
    def _grouped(self) -> tuple[Units, IntArray]:
        return grouped(self.store, [self.store.beside[BY], *(row.codes for row in self._codes)])

    @cached_property
    def _units(self) -> tuple[Units, list[CodedRow]]:
        units, at = self._grouped
        return units, [replace(row, codes=row.codes[at]) for row in self._codes]

    def judge(self, counts: Array, first: int) -> Array:
        """Choose on parts, and sum the weights of true and false positives and of both classes in the rest."""
        return np.array([self._outside(*tuned, held) for tuned, held in zip(self.on_parts(counts, first), counts.T)])

    def on_parts(self, counts: Array, first: int) -> Iterator[tuple[Array, float]]:
        """Choose and tune on parts; return the scores of all entries beyond the threshold of their segment, and 0."""
        (units, rows), segment = self._units, self.store.beside[BY][self._grouped[1]]
        for place, held in zip(self.choose(counts, first).places.tolist(), counts.T.astype(np.int64)):
            if place < 0:  # a class is missing
                yield np.zeros(segment.size), np.inf
                continue
            # The first threshold that finds an entry: a score that falls.
            score = -rows[place].codes.astype(float)
            n_segments = len(self.by_segment.segments.known)
            curves = SegmentCurves.of(units.is_pos, score, segment, n_segments, units.weights_in(held))
            yield beyond(score, self.by_segment.best_cuts(self.metric, curves).cuts[segment]), 0.0

    def _outside(self, score: Array, threshold: float, held: Array) -> Array:
        """Sum what decisions find in the rest; nothing where the part lacks a class."""
        if threshold == np.inf:
            return np.zeros(4)
        units, found = self.units, score >= threshold
        rest = units.weights_in(units.copies - held)
        positives, negatives = rest * units.is_pos, rest * ~units.is_pos
        return np.array([positives @ found, negatives @ found, positives.sum(), negatives.sum()])

    def threshold_interval(self, key: TrialKey, level: float = LEVEL) -> tuple[float, float]:
        """Return NaN: each segment has a threshold of its own."""
        return np.nan, np.nan

    def _decisions(self, winner: TrialKey) -> JudgedDecisions:
        return JudgedDecisions.of(self.store, self.by_segment.beyond(self.store[winner], self.store), self.metric)


# ---------------------------------------------------------------- the demand of a search


@dataclass(frozen=True, eq=False)
class SegmentDemand:
    """Constraint by segments, and the segment of each sample.

    Costs and parameters are searched for the metric of all rows, under what is left of the constraint there.
    """

    demand: Constraint
    segments: Segments
    codes: IntArray
    # Whether samples are held back for a test.
    tests: bool = False
    unsupported: ClassVar[Mapping[str, Unsupported]] = {
        "null_class": (None, "rates are those of two classes"),
        "threshold": ("stable", "each segment has a tuned threshold"),
        "tol": (None, "there is no upper bound"),
        "bound_on": ("validation", "there is no upper bound"),
    }

    @classmethod
    def read(
        cls,
        config: SearchConfig,
        demand: Constraint,
        labels: Labels,
        X: Samples,
        given: Mapping[str, Any],
        codes: IntArray,
    ) -> Self:
        """Read the segments of samples; raise a ValueError for what has no thresholds by segment."""
        columns = {part.by for part in demand.parts}
        if len(columns) > 1 or (demand.others and any(part.pair_limit is not None for part in demand.parts)):
            raise ValueError(
                f"constraint {demand}: thresholds by segment keep one gap or ratio, or levels in each segment of one "
                "column; give the most important one"
            )
        metric = get_metric(for_classes(config.metric, labels.by_code))
        if not isinstance(metric, LinearFractional):
            raise ValueError(
                f"metric {metric.name!r} is no ratio of sums over rows, and best thresholds by segment are known of "
                "those alone: use F1, F-beta, Jaccard, accuracy or WeightedAccuracy (costs of both errors), or leave "
                "the segments out of the constraint"
            )
        by: Any = demand.by
        segments = Segments.of(by, X, given.get(BY))
        if len(segments.known) < 2:
            raise ValueError(f"{by} has the values {list(segments.known)} alone; a constraint by segments needs two")
        found = cls(demand, segments, segments.codes(X, given.get(BY)), config.confidence is not None)
        if found.tests:
            found._check_numbers(codes > 0, 1.0 - float(config.confidence or 0.0), config.held_back)
        return found

    @classmethod
    def refuse(cls, config: SearchConfig, demand: Constraint) -> None:
        """Raise a ValueError for options that thresholds by segment have no use for."""
        tuned = replace(config, threshold="stable") if config.threshold == "tune" else config
        tuned.refuse(cls.unsupported, f"the constraint {demand}")

    def check_rates(self, is_pos: BoolArray, weight: Array | None) -> None:
        """Raise a ValueError where a segment has no row that a constrained rate counts."""
        none = np.zeros(is_pos.size)
        SegmentCurves.of(is_pos, none, self.codes, len(self.segments.known), weight).check(self.demand, self.segments)

    def _check_numbers(self, is_pos: BoolArray, error: float, held_back: float) -> None:
        """Raise a ValueError where a test cannot pass, whatever it sees: even rows without a fault are too few."""
        for part in self.demand.parts:
            share = share_of(part.quantity)
            if share is None and part.pair_limit is not None:
                raise ValueError(
                    "confidence= certifies gaps and ratios of rates that are shares of rows, such as recall, and "
                    f"{part.name} is none; leave confidence out"
                )
            if share is None:
                continue
            cells = set(share.ones + share.zeros)
            counted = np.where(is_pos, bool(cells & {"tp", "fn"}), bool(cells & {"fp", "tn"}))
            n_rows = np.bincount(self.codes, counted, len(self.segments.known))
            # So often are all rows right where the rate is at the level, or differs by the whole gap.
            right = np.clip(share.share(1.0 - part.level if part.side == "<=" else part.level), _LEAST, 1.0 - _LEAST)
            needed, at = np.ceil(np.log(error) / np.log(right) / held_back), int(n_rows.argmin())
            if n_rows[at] < needed:
                raise ValueError(
                    f"too few rows to certify {part} with confidence {1.0 - error:g}: where {part.by} is "
                    f"{self.segments.known[at]!r} there are {n_rows[at]:g} that {part.quantity.name} counts, and "
                    f"{needed:g} are needed even if all of them are right. Merge small segments, loosen the level, or "
                    "leave confidence out"
                )

    def of_part(self, task: Task) -> tuple[Self, Task]:
        """Restrict the demand to a task that may be a part of all samples; return the task without its segments."""
        if self.tests and self.demand.pair_limit is not None and (task.weight is not None or task.groups is not None):
            raise ValueError(
                f"confidence= certifies {self.demand} for independent rows that count once each; leave out "
                "sample_weight= and groups=, or confidence="
            )
        params = {name: each for name, each in task.fit_params.items() if name != BY}
        return replace(self, codes=self._codes_of(task)), replace(task, fit_params=params)

    def _codes_of(self, task: Task) -> IntArray:
        return self.segments.codes(task.X, task.fit_params.get(BY))

    def conclude(self, won: Result) -> Result:
        """Tune the thresholds of a winner."""
        found = SegmentThresholds(self.demand, self.segments).tuned(won)
        assert found.by_segment is not None, "it was tuned"
        if not found.feasible:
            rates = ", ".join(f"{name} {rate:.4g}" for name, rate in found.rates.items())
            warn(
                f"no thresholds keep {self.demand} on held-out data ({rates}): segments that cannot have the closest "
                "ones. Loosen the constraint, or add rows or features"
            )
        elif found.score < found.by_segment.free and not decisions(found.row).any():
            warn(
                f"thresholds that keep {self.demand} predict no held-out row positive in any segment. Loosen it, "
                f"or ask for a level in place of it, such as 'recall >= 0.5 in each {self.segments.by}'"
            )
        return found
