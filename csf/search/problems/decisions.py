"""How scores of two classes are decided after a search: by one threshold, or by thresholds that depend on the row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray, Label, Params
from csf.evaluate import CodedRow, Resampling, ScoreRow, ScoreStore, TrialKey
from csf.evaluate.assessment import LEVEL
from csf.evaluate.choices import JudgedDecisions
from csf.evaluate.draws import Units, grouped
from csf.metrics import get_constraint, get_metric
from csf.metrics.constraints import Constraint
from csf.metrics.registry import for_classes
from csf.search.problems.results import with_tested_steps
from csf.search.problems.segments import SegmentConstraint, is_by_segments
from csf.search.supports import ROW_THRESHOLDS, SEGMENTS, TWO_CLASSES, Supports
from csf.thresholding.curve import ThresholdCurve, sweep_several
from csf.thresholding.row_thresholds import BY, RowThresholdRule, RowThresholds, ScoredRows, TunedThresholds, beyond
from csf.thresholding.rule import ThresholdRule
from csf.thresholding.segments import Segments, SegmentThresholds

if TYPE_CHECKING:
    from csf._common.typing import Samples
    from csf.data.folds import Task
    from csf.data.labels import Labels
    from csf.metrics.base import Metric
    from csf.search.config import SearchConfig
    from csf.search.problems.two_classes import TwoClassResult

# A result with thresholds by row is of the same class as that without.
Result = TypeVar("Result", bound="TwoClassResult")


# ---------------------------------------------------------------- decisions


class ScoreDecision:
    """Decision of two classes by one threshold on the score."""

    kind: ClassVar[str] = "binary"
    # Whether one threshold decides all rows.
    is_single: ClassVar[bool] = True
    supports: ClassVar[Supports] = TWO_CLASSES
    # Constraint by segments, if there is one.
    segmented: SegmentConstraint | None = None

    @classmethod
    def matches(cls, config: SearchConfig) -> bool:
        """Check whether the options of a search ask for this decision."""
        return True

    @classmethod
    def refuse(cls, config: SearchConfig) -> None:
        """Raise a ValueError for options that the decision has no use for."""

    @classmethod
    def read(cls, config: SearchConfig, labels: Labels, X: Samples, given: Mapping[str, Any], codes: IntArray) -> Self:
        """Read what the decision needs of the samples."""
        return cls()

    def beside(self, X: Samples, given: Mapping[str, Any]) -> Mapping[str, Array]:
        """Read what the decision depends on beside the scores, by the names that stores have for it."""
        return {}

    def check(self, is_pos: BoolArray, beside: Mapping[str, Array], weight: Array | None) -> None:
        """Raise a ValueError where the samples cannot tune the decision."""

    def check_certificate(self, task: Task) -> None:
        """Raise a ValueError where a certificate has no test for such samples."""

    def constraint(self, known: Constraint | None) -> Constraint | None:
        """Return the constraint of the decisions; ``known`` is that of all rows."""
        return known

    def tuned(self, result: Result, share: float = 0.0) -> Result:
        """Tune the decision on the winner's held-out scores, to levels that are stricter by a share of the way."""
        return result

    def steps(self, result: Result, shares: Sequence[float]) -> list[Result]:
        """Tune the decision to levels of several kinds of strictness."""
        return [self.tuned(result, share) for share in shares]

    def conclude(self, won: Result) -> Result:
        """Tune the decision of a winner, and warn where it does not keep its constraint."""
        return self.tuned(won)

    def tested(self, result: Any, rule: Any, held_back: Task | None, confidence: float) -> Any:
        """Test thresholds on samples held back, or on all without them."""
        return result.tested_threshold(rule, held_back, confidence)

    def decide(self, score: Array, beside: Mapping[str, Array], threshold: float) -> BoolArray:
        """Mark scores that are decided positive."""
        return score >= threshold

    def places(self, store: ScoreStore, segment: Label) -> BoolArray | None:
        """Mark the held-out entries that one threshold decides, that of a segment where each has one."""
        return np.ones(store.is_pos.size, dtype=bool)

    def check_limits(self) -> None:
        """Raise a ValueError where a limit on the number of positive predictions would break the constraint."""

    def beyond(self, row: ScoreRow, store: ScoreStore) -> ScoreRow:
        """Return a row whose scores one threshold decides."""
        return row

    def resampling(self, store: ScoreStore, metric: Metric, **options: Any) -> Resampling:
        """Return the choice of a trial and its decision, made again on parts of the samples."""
        return Resampling(store, metric, **options)

    def limit_cost(self, result: TwoClassResult) -> float:
        """Compute what a constraint by segments costs on held-out samples."""
        return 0.0

    @property
    def by_segment(self) -> Sequence[Params]:
        """What the decision has for each segment, if there are some."""
        return ()

    def in_rule(self, rule: ThresholdRule, threshold: float | None) -> ThresholdRule:
        """Put the decision into a rule; without a tuned threshold it keeps its natural one."""
        return rule if threshold is None else replace(rule, threshold=threshold)

    @property
    def published(self) -> Params:
        """Attributes of the fitted search that one threshold does not have."""
        return {}


@dataclass(frozen=True, eq=False)
class RowDecision(ScoreDecision):
    """Decision by thresholds that depend on the row.

    Costs and parameters are searched with one threshold for all rows.
    """

    thresholds: RowThresholds
    kind: ClassVar[str] = "row_thresholds"
    is_single: ClassVar[bool] = False
    supports: ClassVar[Supports] = ROW_THRESHOLDS

    @classmethod
    def matches(cls, config: SearchConfig) -> bool:
        """Match searches whose ``threshold`` is one by row."""
        return isinstance(config.threshold, RowThresholds)

    @classmethod
    def refuse(cls, config: SearchConfig) -> None:
        """Raise a ValueError for options that thresholds by row have no use for."""
        cls.supports.check(config, f"threshold={type(config.threshold).__name__}(...)")

    @classmethod
    def read(cls, config: SearchConfig, labels: Labels, X: Samples, given: Mapping[str, Any], codes: IntArray) -> Self:
        """Take the thresholds of the search."""
        thresholds: Any = config.threshold
        return cls(thresholds)

    def beside(self, X: Samples, given: Mapping[str, Any]) -> Mapping[str, Array]:
        """Read what the thresholds depend on."""
        return {BY: self.thresholds.values(X, given.get(BY))}

    def row(self, result: TwoClassResult) -> ScoreRow:
        """Return the winner's held-out scores beyond the threshold of each entry."""
        return self.beyond(result.store[result.key], result.store)

    def rows(self, result: TwoClassResult) -> ScoredRows:
        """Collect the winner's held-out scores."""
        store = result.store
        assert store is not None, "thresholds are tuned in memory"
        score = store[result.key].score
        assert score is not None, "thresholds are tuned"
        return ScoredRows(store.is_pos, score, store.beside[BY], store.weight)

    def tuned(self, result: Result, share: float = 0.0) -> Result:
        """Tune the thresholds on the winner's held-out scores."""
        return self.with_thresholds(result, self.thresholds.tuned(result.metric, self.rows(result), share))

    def with_thresholds(self, winner: Result, best: TunedThresholds) -> Result:
        """Replace the thresholds of a result; there is no upper bound."""
        known: Any = {"decision": replace(self, thresholds=best.thresholds), "threshold": 0.0, "score": best.value}
        known |= {"feasible": best.keeps} | dict.fromkeys(("upper_bound", "gap", "bound_margin"), np.nan)
        result = replace(winner, guarantee=None, decided=None, **known)
        return replace(result, constraint_value=next(iter(result.rates.values()), None))

    def tested(self, result: Result, rule: Any, held_back: Task | None, confidence: float) -> Result:
        """Test thresholds that are tuned to stricter and stricter levels."""
        return with_tested_steps(result, rule, held_back, confidence)

    def decide(self, score: Array, beside: Mapping[str, Array], threshold: float) -> BoolArray:
        """Mark scores that are decided positive by the thresholds of their rows."""
        return score >= self.thresholds.of_rows(beside[BY])

    def places(self, store: ScoreStore, segment: Label) -> BoolArray | None:
        """Return ``None``: rows have thresholds of their own."""
        return None

    def check_limits(self) -> None:
        """Raise a ValueError where a limit on the number of positive predictions would break the constraint."""
        self.thresholds.check_limits()

    def beyond(self, row: ScoreRow, store: ScoreStore) -> ScoreRow:
        """Subtract the threshold of each entry from its score."""
        assert row.score is not None, "thresholds are tuned"
        return replace(row, score=beyond(row.score, self.thresholds.of_rows(store.beside[BY])), threshold=0.0)

    def resampling(self, store: ScoreStore, metric: Metric, **options: Any) -> Resampling:
        """Return the choice of a trial and its thresholds, made again on parts of the samples."""
        return RowThresholdResampling(store, metric, self, **options)

    def in_rule(self, rule: ThresholdRule, threshold: float | None) -> ThresholdRule:
        """Put the thresholds into a rule."""
        known: Any = {field.name: getattr(rule, field.name) for field in fields(ThresholdRule)}
        return RowThresholdRule(**known | {"threshold": 0.0}, thresholds=self.thresholds)

    @property
    def published(self) -> Params:
        """Attributes of the fitted search that one threshold does not have."""
        return {"thresholds_": dict(self.thresholds.parameters)}


@dataclass(frozen=True, eq=False)
class SegmentDecision(RowDecision):
    """Decision by thresholds by segment, under a constraint by segments."""

    thresholds: SegmentThresholds
    segmented: SegmentConstraint
    kind: ClassVar[str] = "segments"
    supports: ClassVar[Supports] = SEGMENTS

    @classmethod
    def matches(cls, config: SearchConfig) -> bool:
        """Match searches whose constraint is by segments."""
        return is_by_segments(config)

    @classmethod
    def refuse(cls, config: SearchConfig) -> None:
        """Raise a ValueError for options that thresholds by segment have no use for."""
        cls.supports.check(config, f"the constraint {get_constraint(config.constraint)}")

    @classmethod
    def read(cls, config: SearchConfig, labels: Labels, X: Samples, given: Mapping[str, Any], codes: IntArray) -> Self:
        """Read the segments of samples; raise a ValueError for what has no thresholds by segment."""
        metric = get_metric(for_classes(config.metric, labels.by_code))
        if metric.as_ratio is None:
            raise ValueError(
                f"metric {metric.name!r} is no ratio of sums over rows, and best thresholds by segment are known of "
                "those alone: use F1, F-beta, Jaccard, accuracy or WeightedAccuracy (costs of both errors), or leave "
                "the segments out of the constraint"
            )
        segmented = SegmentConstraint.read(config, labels, X, given, codes)
        return cls(SegmentThresholds(segmented.demand, segmented.segments), segmented)

    @property
    def segments(self) -> Segments:
        """Which rows belong to which segment."""
        return self.segmented.segments

    def check(self, is_pos: BoolArray, beside: Mapping[str, Array], weight: Array | None) -> None:
        """Raise a ValueError where a segment has no row that a constrained rate counts."""
        self.segmented.check(is_pos, beside[BY], weight)

    def check_certificate(self, task: Task) -> None:
        """Raise a ValueError where a gap or a ratio would be certified for rows with weights or groups."""
        self.segmented.check_certificate(task)

    def constraint(self, known: Constraint | None) -> Constraint:
        """Return the constraint by segments."""
        return self.segmented.demand

    def tuned(self, result: Result, share: float = 0.0) -> Result:
        """Tune the thresholds on the winner's held-out scores, to levels that are stricter by a share of the way."""
        return self.steps(result, [share])[0]

    def steps(self, result: Result, shares: Sequence[float]) -> list[Result]:
        """Tune the thresholds on the winner's held-out scores to levels of several kinds of strictness."""
        return [self.with_thresholds(result, best) for best in self.stricter_thresholds(result, shares)]

    def stricter_thresholds(self, result: TwoClassResult, shares: Sequence[float]) -> list[TunedThresholds]:
        """Tune the thresholds to levels that are stricter by shares of the way."""
        curves = self.thresholds.curves(self.rows(result))
        curves.check(self.segmented.demand, self.segments)
        return [self.thresholds.tuned_on(result.metric, curves, share) for share in shares]

    def conclude(self, won: Result) -> Result:
        """Tune the thresholds of a winner, and warn where they do not keep the constraint."""
        result = self.tuned(won)
        result.warn_of_segments()
        return result

    def limit_cost(self, result: TwoClassResult) -> float:
        """Compute what the constraint costs on held-out samples."""
        return self.thresholds.free - result.score

    @property
    def by_segment(self) -> Sequence[Params]:
        """Threshold of each segment."""
        return [{"threshold": cut} for cut in self.thresholds.cuts.tolist()]

    def places(self, store: ScoreStore, segment: Label) -> BoolArray | None:
        """Mark the held-out entries of a segment."""
        known = list(self.segments.known)
        if segment not in known:
            raise ValueError(f"each segment has a threshold: name one by segment=, of {known}, got {segment!r}")
        return store.beside[BY] == known.index(segment)


# Decisions that a search can ask for; the first one that matches decides.
DECISIONS: tuple[type[ScoreDecision], ...] = (SegmentDecision, RowDecision, ScoreDecision)


def decision_of(config: SearchConfig) -> type[ScoreDecision]:
    """Return the decision that the options of a search ask for; raise a ValueError for options of no use to it."""
    decision = next(kind for kind in DECISIONS if kind.matches(config))
    decision.refuse(config)
    return decision


def curve_of(store: ScoreStore, row: ScoreRow) -> ThresholdCurve:
    """Return all thresholds on the held-out scores of a trial."""
    if row.score is None:
        raise ValueError("the search kept the base's own decisions (threshold=None), so that no threshold can move")
    return sweep_several(store.is_pos, row.lost, row.score, store.weight)


class RowThresholdResampling(Resampling):
    """Choice of a trial, by one threshold, and of thresholds by row for it, made again on parts of the samples."""

    def __init__(self, store: ScoreStore, metric: Metric, decision: RowDecision, **options: Any) -> None:
        super().__init__(store, metric, **options)
        self.decision = decision

    @cached_property
    def _grouped(self) -> tuple[Units, IntArray]:
        return grouped(self.store, [self.store.beside[BY], *(row.codes for row in self._codes)])

    @cached_property
    def _units(self) -> tuple[Units, list[CodedRow]]:
        units, entries = self._grouped
        return units, [replace(row, codes=row.codes[entries]) for row in self._codes]

    def judge(self, counts: Array, first: int) -> Array:
        """Choose on parts, and sum the weights of true and false positives and of both classes in the rest."""
        return np.array([self._outside(*tuned, held) for tuned, held in zip(self.on_parts(counts, first), counts.T)])

    def on_parts(self, counts: Array, first: int) -> Iterator[tuple[Array, float]]:
        """Choose and tune on parts; return the scores of all entries beyond the threshold of their row, and 0."""
        (units, rows), beside = self._units, self.store.beside[BY][self._grouped[1]]
        for place, held in zip(self.choose(counts, first).places.tolist(), counts.T.astype(np.int64)):
            if place < 0:  # a class is missing
                yield np.zeros(beside.size), np.inf
                continue
            known = ScoredRows(units.is_pos, rows[place].scores, beside, units.weights_in(held))
            best = self.decision.thresholds.tuned(self.metric, known).thresholds
            yield beyond(known.score, best.of_rows(beside)), 0.0

    def _outside(self, score: Array, threshold: float, held: Array) -> Array:
        """Sum what decisions find in the rest; nothing where the part lacks a class."""
        if threshold == np.inf:
            return np.zeros(4)
        units, decided = self.units, score >= threshold
        rest = units.weights_in(units.copies - held)
        positives, negatives = rest * units.is_pos, rest * ~units.is_pos
        return np.array([positives @ decided, negatives @ decided, positives.sum(), negatives.sum()])

    def threshold_interval(self, key: TrialKey, level: float = LEVEL) -> tuple[float, float]:
        """Return NaN: rows have thresholds of their own."""
        return np.nan, np.nan

    def _decisions(self, winner: TrialKey) -> JudgedDecisions:
        return JudgedDecisions.of(self.store, self.decision.beyond(self.store[winner], self.store), self.metric)
