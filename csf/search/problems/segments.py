"""Two classes with thresholds by segment: the kind of problem, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeAlias

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Estimator, IntArray, Label, Params
from csf.data.labels import read_labels
from csf.evaluate import CodedRow, Resampling, ScoreRow, ScoreStore, TrialKey
from csf.evaluate.assessment import LEVEL, n_draws_of
from csf.evaluate.choices import JudgedDecisions, decisions
from csf.evaluate.draws import Units, grouped
from csf.metrics import get_constraint, get_metric
from csf.metrics.base import LinearFractional
from csf.metrics.constraints import Constrained, Constraint, share_of
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import for_classes
from csf.metrics.row_costs import row_costs
from csf.search.config import Unsupported
from csf.search.problems.base import SearchResult
from csf.search.problems.binary import BinaryEvaluator, BinaryProblem, BinaryResult, conclude, on_positive
from csf.thresholding.certificates import (
    STRICTER,
    Decisions,
    Guarantee,
    ScoredSamples,
    certify_decisions,
    certify_rules,
)
from csf.thresholding.rule import ThresholdRule
from csf.thresholding.segments import (
    BY,
    SegmentCurves,
    SegmentCuts,
    SegmentRule,
    Segments,
    beyond,
    counts_by_segment,
    expected_violation_of_pairs,
    limits_by_segment,
    violation_of_pairs,
    worst_rates,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Samples
    from csf.data.folds import Fold, Task
    from csf.evaluate import Assessment, Chooser
    from csf.evaluate.stores import Store
    from csf.metrics.base import Metric
    from csf.metrics.comparisons import PairLimit
    from csf.search.config import Model, SearchConfig, SearchEffort
    from csf.search.plan import Plan
    from csf.search.selection import LargestLast, Race
    from csf.search.study import Study

# Levels of 0 and 1 are none that a test can show.
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class SegmentProblem(BinaryProblem):
    """Problem of two classes whose constraint is by segments: each of these has a threshold of its own.

    Costs and parameters are searched for the metric of all rows. Thresholds are tuned on the winner's held-out scores.
    """

    demand: Constraint
    segments: Segments
    # Of the samples; and whether some are held back for a test.
    codes: IntArray
    certifies: bool = False
    unsupported: ClassVar[Mapping[str, Unsupported]] = {
        "null_class": (None, "rates are those of two classes"),
        "threshold": ("stable", "each segment has a tuned threshold"),
        "review": (None, "rows that are reviewed would leave the rates of the segments open"),
        "tol": (None, "there is no upper bound"),
        "bound_on": ("validation", "there is no upper bound"),
    }

    @classmethod
    def matches(cls, config: SearchConfig, y: ArrayLike) -> bool:
        """Match constraints by segments."""
        constraint = get_constraint(config.constraint)
        return constraint is not None and constraint.segment_column is not None

    @classmethod
    def read(cls, config: SearchConfig, X: Samples, y: ArrayLike, given: Mapping[str, Any]) -> tuple[Self, IntArray]:
        """Read a target and the segments; raise a ValueError for what has no thresholds by segment."""
        demand = get_constraint(config.constraint)
        assert demand is not None, "it matches"
        if row_costs(config.metric) is not None:
            demand.require_all_rows()
        tuned = replace(config, threshold="stable") if config.threshold == "tune" else config
        tuned.refuse(cls.unsupported, f"the constraint {demand}")
        columns = {part.by for part in demand.parts}
        if len(columns) > 1 or (demand.others and any(part.pair_limit is not None for part in demand.parts)):
            raise ValueError(
                f"constraint {demand}: thresholds by segment keep one gap or ratio, or levels in each segment of one "
                "column; give the most important one"
            )
        labels, codes = read_labels(y, pos_label=config.pos_label)
        demand = on_positive(demand, labels.classes.tolist(), labels.positive)
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
        problem = cls(labels, demand, segments, segments.codes(X, given.get(BY)), config.confidence is not None)
        if problem.certifies:
            problem._check_numbers(codes > 0, 1.0 - float(config.confidence or 0.0), config.calibration)
        return problem, codes

    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """Check the user's weights and return them; each segment needs rows that a rate counts."""
        weight = super().weights(sample_weight, codes)
        none = np.zeros(codes.size)
        SegmentCurves.of(codes > 0, none, self.codes, len(self.segments.known), weight).check(
            self.demand, self.segments
        )
        return weight

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
        """Restrict the problem to a task that may be a part of all samples; return the task without its segments."""
        if (
            self.certifies
            and self.demand.pair_limit is not None
            and (task.weight is not None or task.groups is not None)
        ):
            raise ValueError(
                f"confidence= certifies {self.demand} for independent rows that count once each; leave out "
                "sample_weight= and groups=, or confidence="
            )
        params = {name: each for name, each in task.fit_params.items() if name != BY}
        return replace(self, codes=self._codes_of(task)), replace(task, fit_params=params)

    def _codes_of(self, task: Task) -> IntArray:
        return self.segments.codes(task.X, task.fit_params.get(BY))

    def on_all_rows(self, config: SearchConfig) -> SearchConfig:
        """Return the options of the search for costs and parameters, whose constraint is one on all rows."""
        return replace(config, constraint=self.demand.on_all_rows)

    def read_constraint(self, constraint: str | Constraint | None) -> Constraint | None:
        """Read a constraint; it is by segments."""
        return get_constraint(constraint)

    def settings(self, config: SearchConfig, model: Model, n_samples: int | None) -> list[Params]:
        """List the settings of a model's parameters, see `settings_of`."""
        return super().settings(self.on_all_rows(config), model, n_samples)

    def studies(self, config: SearchConfig, folds: list[Fold], efforts: list[SearchEffort]) -> list[Study]:
        """Create a study without trials for each setting, which has an effort."""
        return super().studies(self.on_all_rows(config), folds, efforts)

    def race(self, config: SearchConfig, plan: Plan, store: Any) -> Race | LargestLast | None:
        """Create the race that decides which settings are trained at more costs."""
        return super().race(self.on_all_rows(config), plan, store)

    def judge(self, config: SearchConfig) -> SegmentEvaluator:
        """Create the judge of trainings."""
        return SegmentEvaluator(self.on_all_rows(config).aim, self.codes, tune=config.tunes)

    def prefit(self, config: SearchConfig, task: Task) -> tuple[BinaryResult, ThresholdRule]:
        """Evaluate a fitted base; return the result and the rule that predicts."""
        return super().prefit(self.on_all_rows(config), task)

    def conclude(self, config: SearchConfig, plan: Plan, store: Store | None, stopped: str | None) -> BinaryResult:
        """Build the result of a finished search."""
        return super().conclude(self.on_all_rows(config), plan, store, stopped)

    def _concluded(self, searched: SearchResult, chooser: Chooser) -> SegmentResult:
        won: Any = conclude(searched, chooser, made=partial(SegmentResult, demand=self.demand, segments=self.segments))
        found = won.tuned()
        if not found.feasible:
            rates = ", ".join(f"{name} {rate:.4g}" for name, rate in found.rates.items())
            warn(
                f"no thresholds keep {self.demand} on held-out data ({rates}): segments that cannot have the closest "
                "ones. Loosen the constraint, or add rows or features"
            )
        elif found.score < found.free and not found.decisions.any():
            warn(
                f"thresholds that keep {self.demand} predict no held-out row positive in any segment. Loosen it, "
                f"or ask for a level in place of it, such as 'recall >= 0.5 in each {self.segments.by}'"
            )
        return found

    def _rule(self, found: Any, estimator: Estimator, known: Array, names: Array) -> SegmentRule:
        plain = super()._rule(found, estimator, known, names)
        own = {each.name: getattr(plain, each.name) for each in fields(plain)}
        return found.in_rule(SegmentRule(**own, segments=self.segments, cuts=found.cuts))

    def with_mean_scores(self, found: Any, mean: Array, plan: Plan) -> SegmentResult:
        """Replace the winner's held-out scores by means over models, and the thresholds."""
        averaged: Any = super().with_mean_scores(found, mean, plan)
        return averaged.tuned()

    def certify(self, found: Any, rule: Any, calibration: Task, confidence: float) -> tuple[SegmentResult, SegmentRule]:
        """Replace the thresholds by the best ones whose constraint is certified.

        They are tuned to stricter and stricter levels on the held-out samples, and tested from the strictest on.
        """
        codes, score, is_pos = self._codes_of(calibration), rule.raw(calibration.X), calibration.codes > 0
        steps = [found.tuned(share) for share in STRICTER]
        store, tested = found.store, ScoredSamples(is_pos, score, calibration.weight, None, calibration.groups)
        weight = None if calibration.weight is None else store.weight
        groups = None if calibration.groups is None else store.samples
        searched = ScoredSamples(store.is_pos, np.zeros(store.is_pos.size), weight, None, groups, store.repeats)
        parts = (store.segment, [step.decisions for step in steps], searched)
        tests = (codes, [score >= step.cuts[codes] for step in steps], tested)
        if not np.bincount(codes, minlength=len(self.segments.known)).all():
            raise ValueError(f"a segment of {self.demand.by} has no row held back for confidence=; merge small ones")
        values, limit = np.array([step.score for step in steps]), self.demand.pair_limit
        if limit is None:
            test, at = self._certify_each(parts, tests, values, confidence)
        else:
            test, at = self._certify_pairs(limit, parts, tests, values, confidence)
        rates = worst_rates(self.demand, self.segments.table(codes, is_pos, tests[1][at], tested.weight, self.demand))
        n_positives = np.bincount(codes, is_pos, len(self.segments.known))
        smallest = f"{self.demand.by}={self.segments.known[n_positives.argmin()]!s}"
        test = replace(test, constraint=str(self.demand), rates=rates, n_samples=codes.size, smallest=smallest)
        if not test.holds:
            warn(str(test))
        won = replace(steps[at], guarantee=test, decided=steps[at].decisions, feasible=test.holds)
        won = replace(won, constraint_value=next(iter(rates.values())))
        return won, won.in_rule(rule)

    def _certify_pairs(
        self, limit: PairLimit, searched: _Part, tested: _Part, values: Array, confidence: float
    ) -> tuple[Guarantee, int]:
        """Test the limit on all pairs of segments."""
        demand, share, n_segments = self.demand, share_of(self.demand.quantity), len(self.segments.known)
        assert share is not None, "checked before"
        known, counts = (
            [counts_by_segment(share, codes, n_segments, samples.is_pos, each) for each in decided]
            for codes, decided, samples in (searched, tested)
        )
        codes, _, samples = tested
        n_positives = int(np.bincount(codes, samples.is_pos, n_segments).min())
        return certify_rules(
            {"constraint": str(demand), "confidence": confidence, "n_samples": codes.size, "n_positives": n_positives},
            [expected_violation_of_pairs(known, share, limit, searched[0].size)],
            lambda at: violation_of_pairs(counts[at], share, limit, 1.0 - confidence),
            lambda at: {},
            values,
            codes.size,
        )

    def _certify_each(self, searched: _Part, tested: _Part, values: Array, confidence: float) -> tuple[Guarantee, int]:
        """Test the levels of all segments."""
        names, parts = self.segments.known, self.demand.parts
        first, *others = (replace(part, by=None, of=name) for part in parts for name in names)
        known, calibrated = (
            [_segment_of(part, at) for _ in parts for at in range(len(names))] for part in (searched, tested)
        )
        return certify_decisions(replace(first, others=tuple(others)), known, calibrated, values, confidence)


# Segments of samples, decisions of several rules about them, and the samples.
_Part: TypeAlias = "tuple[IntArray, list[BoolArray], ScoredSamples]"


def _segment_of(part: _Part, segment: int) -> Decisions:
    """Select the decisions about the samples of a segment."""
    codes, decided, samples = part
    rows = codes == segment
    weight, groups = (None if each is None else each[rows] for each in (samples.weight, samples.groups))
    own = replace(samples, is_pos=samples.is_pos[rows], score=samples.score[rows], weight=weight, groups=groups)
    return Decisions(own, [each[rows] for each in decided])


class SegmentStore(ScoreStore):
    """Held-out scores of trials, with the segment of each entry."""

    segment: IntArray


class SegmentEvaluator(BinaryEvaluator):
    """Judge of trials by one threshold, whose store knows the segments of the samples."""

    def __init__(self, metric: Metric, codes: IntArray, *, tune: bool) -> None:
        super().__init__(metric, tune=tune)
        self.codes = codes

    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> SegmentStore:
        """Create the store of held-out scores."""
        store = SegmentStore(truth > 0, weight, samples=samples, max_bytes=max_bytes)
        store.segment = self.codes[samples]
        return store


class SegmentResampling(Resampling):
    """Choice of a trial, by one threshold, and of thresholds by segment for it, made again on parts of the samples."""

    store: SegmentStore

    def __init__(self, result: SegmentResult, random_state: int) -> None:
        store = result.store
        assert isinstance(store, SegmentStore), "it is in memory"
        options: Any = {"n_draws": n_draws_of(store.copies), "random_state": random_state, "chooser": result.chooser}
        super().__init__(store, result.metric, keep=[result.key], **options)
        self.result = result

    @cached_property
    def _grouped(self) -> tuple[Units, IntArray]:
        return grouped(self.store, [self.store.segment, *(row.codes for row in self._codes)])

    @cached_property
    def _units(self) -> tuple[Units, list[CodedRow]]:
        units, at = self._grouped
        return units, [replace(row, codes=row.codes[at]) for row in self._codes]

    def judge(self, counts: Array, first: int) -> Array:
        """Choose on parts, and sum the weights of true and false positives and of both classes in the rest."""
        chosen = self.choose(counts, first)
        parts = zip(chosen.places.tolist(), counts.T.astype(np.int64))
        return np.array([self._outside(place, held) if place >= 0 else np.zeros(4) for place, held in parts])

    def _outside(self, place: int, held: Array) -> Array:
        """Tune the thresholds of a row on a part, and sum what they find in the rest."""
        units, rows = self._units
        # The first threshold that finds an entry: a score that falls.
        score, segment = -rows[place].codes.astype(float), self.store.segment[self._grouped[1]]
        n_segments = len(self.result.segments.known)
        curves = SegmentCurves.of(units.is_pos, score, segment, n_segments, units.weights_in(held))
        cuts = self.result.best_cuts(curves).cuts
        rest, found = units.weights_in(units.copies - held), score >= cuts[segment]
        positives, negatives = rest * units.is_pos, rest * ~units.is_pos
        return np.array([positives @ found, negatives @ found, positives.sum(), negatives.sum()])

    def threshold_interval(self, winner: TrialKey, level: float = LEVEL) -> tuple[float, float]:
        """Return NaN: each segment has a threshold of its own."""
        return np.nan, np.nan

    def _decisions(self, winner: TrialKey) -> JudgedDecisions:
        return JudgedDecisions.of(self.store, self.result.row, self.metric)


@dataclass(frozen=True, eq=False, kw_only=True)
class SegmentResult(BinaryResult):
    """Result of a search with thresholds by segment."""

    kind = "segments"

    demand: Constraint
    segments: Segments
    cuts: Array = field(default_factory=lambda: np.zeros(0))
    # Value of the best thresholds by segment on held-out samples, were there no constraint.
    free: float = np.nan

    def best_cuts(self, curves: SegmentCurves, share: float = 0.0) -> SegmentCuts:
        """Find the best thresholds of all segments, with levels that are stricter by a share of the way."""
        metric = self.metric.metric if isinstance(self.metric, Constrained) else self.metric
        assert isinstance(metric, LinearFractional), "checked when the problem was read"
        return curves.best(metric, self.demand.tightened(share))

    @cached_property
    def _curves(self) -> SegmentCurves:
        store, row = self._of_winner
        assert row.score is not None, "thresholds are tuned"
        curves = SegmentCurves.of(store.is_pos, row.score, store.segment, len(self.segments.known), store.weight)
        curves.check(self.demand, self.segments)
        return curves

    def alert_limits(self, wrong_at_most: object, names: list[Label], bands: Any = None) -> NoReturn:
        """Raise an error: alerts would be left out in some segments more than in others."""
        raise limits_by_segment(self.segments.by)

    def scored_rows(self, rule: ThresholdRule, task: Task) -> None:
        """Return ``None``: there are no limits on wrong alerts."""

    def with_training(self, rule: ThresholdRule, some: Task) -> Self:
        """Return the result unchanged: nothing is compared with training samples."""
        return self

    def tuned(self, share: float = 0.0) -> Self:
        """Tune the thresholds on the winner's held-out scores, see `best_cuts`."""
        found = self.best_cuts(self._curves, share)
        own: Any = {"cuts": found.cuts, "score": found.value, "free": found.free, "feasible": found.keeps}
        own |= {"config": replace(self.config, constraint=self.demand)}
        result = replace(self, threshold=0.0, guarantee=None, decided=None, **own)
        unknown = dict.fromkeys(("upper_bound", "gap", "bound_margin"), np.nan)
        return replace(result, constraint_value=next(iter(result.rates.values())), **unknown)

    @property
    def _of_winner(self) -> tuple[SegmentStore, ScoreRow]:
        if not isinstance(self.store, SegmentStore):
            raise ValueError("the held-out scores of this search were not kept")
        return self.store, self.store[self.key]

    @property
    def row(self) -> ScoreRow:
        """Held-out scores of the winner beyond the threshold of each entry's segment."""
        store, row = self._of_winner
        assert row.score is not None, "thresholds are tuned"
        return replace(row, score=beyond(row.score, self.cuts[store.segment]), threshold=0.0)

    @property
    def decisions(self) -> BoolArray:
        """Mask of the held-out entries that are predicted positive."""
        return decisions(self.row)

    @property
    def table_by_segment(self) -> dict[Label, dict[str, float]]:
        """Threshold, size and rates of each segment on held-out samples."""
        store, _ = self._of_winner
        rows = self.segments.table(store.segment, store.is_pos, self.decisions, store.weight, self.demand)
        return {name: {"threshold": float(cut)} | row for cut, (name, row) in zip(self.cuts, rows.items())}

    @property
    def rates(self) -> dict[str, float]:
        """Constrained values on held-out samples, by their names."""
        return worst_rates(self.demand, self.table_by_segment)

    @property
    def errors(self) -> ErrorProfile:
        """Error profile of the decisions about the held-out samples."""
        store, _ = self._of_winner
        return ErrorProfile.from_masks(store.is_pos, self.decisions, sample_weight=store.weight)

    def published(self) -> Params:
        """Return the attributes of the fitted search."""
        cuts = dict(zip(self.segments.known, self.cuts.tolist()))
        lost = {"segments_": self.table_by_segment, "limit_cost_": self.free - self.score}
        return super().published() | {"thresholds_": cuts} | lost

    def in_rule(self, rule: SegmentRule) -> SegmentRule:
        """Put the thresholds of this result into a rule."""
        return replace(rule, cuts=self.cuts, threshold=0.0)

    def _assessed(self, seed: int) -> Assessment:
        if self.decided is not None:
            return super()._assessed(seed)
        return SegmentResampling(self, seed).assess(self.key, trained=self.n_splits > 0)

    @property
    def moves(self) -> bool:
        """False: what becomes of the share of positives in each segment is not known."""
        return False

    def moved(self, pos: float, rule: Any) -> NoReturn:
        """Raise an error: another share of all positives says nothing of the segments."""
        raise ValueError(
            f"at_prevalence moves one threshold, and there is one for each segment of {self.demand.by!r}, whose shares "
            "of positives change by themselves; tune them on new labelled rows, with cv='prefit'"
        )

    def evaluation(self, seed: int, review: Any = None) -> NoReturn:
        """Raise an error: a limit on all rows would move the rates of the segments."""
        raise ValueError(
            f"a limit on the rows that are acted on would break {self.demand}; leave it out, or search with a "
            "constraint on all rows"
        )

    def study(self, setting: int | None = None) -> NoReturn:
        """Raise an error: an upper bound is one of a single threshold."""
        raise ValueError(
            "this plot shows an upper bound, and there is none with thresholds by segment. Use "
            "csf.plots.ThresholdCurveDisplay, or search.report('report.html')"
        )
