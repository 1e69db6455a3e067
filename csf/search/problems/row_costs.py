"""Searches for costs of rows: the kind of problem, its trials, and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import expit, logit

from csf._common.typing import Array, BoolArray, Estimator, IntArray, Params
from csf._common.validation import check_fraction
from csf.data.folds import Fold, pool_held_out, pooled
from csf.data.labels import read_labels
from csf.data.responses import PROBABILITIES_FIRST, gives_log_odds, log_odds, response_method
from csf.evaluate.entry_means import class_shares
from csf.metrics.constraints import Constraint, Review
from csf.metrics.profile import ErrorProfile
from csf.metrics.row_costs import COSTS, CostTable, RowCosts, cost_sums, costs_in, stake_scales, stake_weights
from csf.metrics.row_costs import row_costs as get_row_costs
from csf.metrics.trials import Trial, nothing_worked
from csf.search.config import AUTO, FAST, MANY, WIDE, settings_of, steps_of, variant_numbers
from csf.search.problems.results import (
    SearchRecord,
    held_out_units,
    trial_table,
    warn_of_open_gap,
    warn_of_violation,
)
from csf.search.problems.segments import SegmentConstraint, is_by_segments
from csf.search.problems.two_classes import TwoClasses, TwoClassResult
from csf.search.selection import LargestLast
from csf.search.study import History, powers_of
from csf.search.supports import ROW_COSTS, SEGMENTED_COSTS, Supports
from csf.search.training import Evaluator, FoldResult, HeldOutPredictions
from csf.thresholding.alerts import ComparedRows, WrongAlerts
from csf.thresholding.base import refuse_limits
from csf.thresholding.capacity import CostAnswers, CostCandidates, RankedAnswers, ReviewBands, bands_of_costs
from csf.thresholding.certificates import STRICTER
from csf.thresholding.cost_decisions import CostDecision, alert_scores, best_cut, unweighted, valued_curve
from csf.thresholding.cost_demands import CostDemand, codes_of, demand_on_costs
from csf.thresholding.evaluation import Evaluation
from csf.thresholding.row_costs import CostTerms, RowCostChoice, RowCostRule, RowCostStore
from csf.thresholding.row_thresholds import BY
from csf.thresholding.rule import AllowedAnswers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Samples
    from csf.data.folds import ClassShares, Task
    from csf.evaluate import Assessment
    from csf.search.config import Model, SearchConfig, SearchEffort
    from csf.search.plan import Plan
    from csf.thresholding.curve import ValuedCurve

# Share of the rows that is dearest, whose share of all that is at stake is reported.
_DEAREST = 0.01


class PowerStudy(History):
    """Study of one training with weights that are a power of each row's costs; power 0 trains the base without."""

    def __init__(self, metric: RowCosts, power: float) -> None:
        super().__init__()
        self.metric, self.power = metric, power

    @property
    def most_trials(self) -> int:
        """One trial."""
        return 1

    def ask_batch(self) -> list[Trial]:
        """Return the trial, once."""
        if self.trials:
            pending = self.trials[0].state == "pending"
            self.stop_reason = self.stop_reason if pending else "all trainings were tried"
            return []
        self.trials = [Trial(0, self.power, (1.0, 1.0))]
        return list(self.trials)


class RowCostEvaluator(Evaluator):
    """Judge of trials by the cost of their decisions."""

    tune = True

    def __init__(self, problem: RowCostProblem, *, likely: bool) -> None:
        self.problem, self.likely = problem, likely

    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> RowCostStore:
        """Create the store of held-out scores."""
        costs, table = self.problem.costs, self.problem.table.take(samples)
        options: Any = {"demand": self.problem.demand, "samples": samples, "max_bytes": max_bytes}
        self._store = RowCostStore(truth > 0, weight, costs, table, likely=self.likely, **options)
        return self._store

    def _judged(self, folds: list[Fold], results: list[FoldResult], trial: Trial) -> tuple[Params, HeldOutPredictions]:
        given = [(result.score, result.method) for result in results if result.score is not None]
        store, score = self._store, pooled([log_odds(*predictions) for predictions in given])
        decided = store.decisions(unweighted(score, store.shift, trial.t or 0.0), store.kinds[0])
        value = float(store.value(store.paid(decided), store.copies))
        parts = np.split(decided, np.cumsum([fold.test.size for fold in folds])[:-1])
        of_folds = [self.problem.value_in(fold, part) for fold, part in zip(folds, parts)]
        return {"value": value, "score": value, "fold_scores": tuple(of_folds)}, HeldOutPredictions(score, None)


@dataclass(frozen=True, eq=False)
class RowCostProblem(TwoClasses):
    """Problem of two classes whose errors have different costs in each row."""

    costs: RowCosts
    table: CostTable
    demand: CostDemand | None = None
    # Constraint by segments, if there is one.
    segmented: SegmentConstraint | None = None
    # Whether scores are log-odds or probabilities; ``None`` asks the bases.
    likely: bool | None = None
    supports = ROW_COSTS
    methods = PROBABILITIES_FIRST

    @classmethod
    def matches(cls, config: SearchConfig, y: ArrayLike) -> bool:
        """Match metrics that are costs of rows."""
        return get_row_costs(config.metric) is not None

    @classmethod
    def read(cls, config: SearchConfig, X: Samples, y: ArrayLike, given: Mapping[str, Any]) -> tuple[Self, IntArray]:
        """Read samples, their costs and a target; a ValueError for what has no meaning with costs of rows."""
        costs = get_row_costs(config.metric)
        assert costs is not None, "it matches"
        by_segments = is_by_segments(config)
        (SEGMENTED_COSTS if by_segments else ROW_COSTS).check(config)
        labels, codes = read_labels(y, pos_label=config.pos_label)
        problem = cls(labels, costs.remembering(given), costs.table(X, **costs_in(given)))
        if not by_segments:
            return problem.constrained(config), codes
        segmented = SegmentConstraint.read(config, labels, X, given, codes)
        demand = demand_on_costs(segmented.demand, segmented.segments)
        table = problem.table.in_segments(segmented.codes(X, given))
        return replace(problem, table=table, demand=demand, segmented=segmented), codes

    def constrained(self, config: SearchConfig) -> Self:
        """Return the problem under the constraint of a search on all rows."""
        constraint = self.read_constraint(config.constraint)
        return self if constraint is None else replace(self, demand=demand_on_costs(constraint, None))

    def read_constraint(self, constraint: str | Constraint | None) -> Constraint | None:
        """Read a constraint, which may be by segment."""
        return super().read_constraint(constraint) if self.segmented is None else self.segmented.demand

    def table_of(self, X: Samples, given: Mapping[str, Any]) -> CostTable:
        """Read the costs of samples, and their segments where the constraint is by these."""
        table = self.costs.table(X, **costs_in(given))
        return table if self.segmented is None else table.in_segments(self.segmented.codes(X, given))

    @property
    def content(self) -> tuple[object, ...]:
        """What identifies the problem in a checkpoint, besides samples, codes and weights."""
        return (self.table,)

    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """Check the user's weights and return them; raise a ValueError where no weighted row has anything to decide."""
        weight = super().weights(sample_weight, codes)
        self.costs.check_stakes(self.table, codes > 0, weight)
        if self.segmented is not None:
            self.segmented.check(codes > 0, codes_of(self.table), weight)
        return weight

    def of_part(self, task: Task) -> tuple[Self, Task]:
        """Restrict the problem to a task that may be a part of all samples; return the task without its costs."""
        if self.segmented is not None:
            self.segmented.check_certificate(task)
        return replace(self, table=self.table_of(task.X, task.fit_params)), task.without((*COSTS, BY))

    def settings(self, config: SearchConfig, model: Model, n_samples: int | None) -> list[Params]:
        """List the settings of a model, its own first: given ones, else wide ones of boosters on few samples."""
        grid, is_few = model.param_grid, n_samples is not None and n_samples <= MANY
        if grid == AUTO:
            grid, n_samples = (WIDE, n_samples) if is_few else (AUTO, None)
        return settings_of(grid, model.base, config.engine, multiples=(1.0,), n_samples=n_samples)

    def stakes(self, task: Task) -> Array:
        """Compute what is at stake in each row, times the user's weights."""
        return np.abs(self.table.stakes(task.codes > 0)) * (1.0 if task.weight is None else task.weight)

    def studies(self, config: SearchConfig, shares: ClassShares, efforts: Sequence[SearchEffort]) -> list[PowerStudy]:
        """Create a study without trials for each setting."""
        return [PowerStudy(self.costs, 0.0) for _ in efforts]

    def extended(self, config: SearchConfig, plan: Any) -> Any:
        """Add trainings of each model's own setting to the plan, with rows weighted by powers of their costs.

        Bases without a fast solver have such trainings only if a strategy object asks for them.
        """
        powers = [(model.first, self._powers(config, model.effort, plan.n_rows)) for model in plan.weighable]
        more = [(first, power) for first, of_model in powers for power in of_model]
        return plan.with_powers(self, more, [PowerStudy(self.costs, power) for _, power in more])

    @staticmethod
    def _powers(config: SearchConfig, effort: SearchEffort, n_samples: int) -> list[float]:
        """List the powers of the rows' costs other than 0."""
        given = not isinstance(config.strategy, str)
        # Of many samples the root is left out, for the time of its training.
        most = (3 if given or n_samples <= MANY else 2) if given or effort is FAST else 1
        return powers_of(config.strategy, min(config.n_trials, most))[1:]

    def weight(self, task: Task, power: float) -> Array:
        """Compute the weights of a training, with the same mean as the user's weights."""
        given, powers = (self.table, task.codes > 0, task.weight), (0.0, power)
        return stake_weights(*given, power, stake_scales(cost_sums(*given, powers), powers)[power])

    def value_in(self, fold: Fold, decided: Array) -> float | None:
        """Compute the value of decisions in one fold; ``None`` where there is nothing to save."""
        value = self.costs.value_of(self.table.take(fold.test), fold.y_test > 0, decided, fold.weight_test)
        return None if np.isnan(value) else value

    def race(self, config: SearchConfig, plan: Plan, store: RowCostStore | None) -> LargestLast | None:
        """Return what tries the largest trees of boosters last; ``None`` where all settings are trained at once."""
        waiting: dict[int, tuple[list[int], list[int]]] = {}
        for model in plan.models:
            steps = steps_of(model.param_grid, model.settings, model.effort)
            numbered = list(enumerate(zip(steps, variant_numbers(model.settings)), start=model.first))
            original = [setting for setting, (_, number) in numbered if number == 0]
            smaller = [setting for setting, (step, number) in numbered if number and step.before is None]
            waiting |= {setting: (original, smaller) for setting, (step, _) in numbered if step.before is not None}
        if not waiting or store is None:
            return None
        return LargestLast(
            plan.studies, waiting, lambda settings, others: RowCostChoice(store).is_behind(settings, others)
        )

    def judge(self, config: SearchConfig) -> RowCostEvaluator:
        """Create the judge of trainings."""
        likely = self.likely
        if likely is None:
            likely = all(gives_log_odds(model.base) for model in config.models)
        return RowCostEvaluator(self, likely=likely)

    def fitted_judge(self, config: SearchConfig, results: Sequence[FoldResult]) -> RowCostEvaluator:
        """Create the judge of fitted bases."""
        return RowCostEvaluator(self, likely=all(result.method == "predict_proba" for result in results))

    def concluded(self, searched: SearchRecord, models: Sequence[Model]) -> RowCostResult:
        """Choose the winner, and its decision."""
        return conclude(searched, self.segmented)

    def with_mean_scores(self, result: RowCostResult, mean: Array, folds: list[Fold]) -> RowCostResult:
        """Replace the winner's held-out scores by means over models, and the decision."""
        truth, weight, samples = pool_held_out(folds)
        # The result's own store has the samples in another order.
        store = self.judge(result.config).store(truth, weight, samples=samples, max_bytes=result.store.max_bytes)
        groups = folds[0].task.groups
        store.draw_together(None if groups is None else groups[samples])
        store.put(replace(result.store[result.key], score=log_odds(mean, "predict_proba")))
        return decided_on(result, store.condensed())

    def rule_by(
        self, result: RowCostResult, estimator: Estimator, known: Array, names: Array, method: str | None = None
    ) -> RowCostRule:
        """Build the rule of a fitted estimator whose scores are those of a method; ``None`` for its first one."""
        return RowCostRule(
            estimator=estimator,
            known=known,
            names=names,
            null=self.labels.null,
            method=response_method(estimator) if method is None else method,
            threshold=result.tuned.threshold,
            row_costs=self.costs,
            decision=result.tuned,
            alone=result.alone,
            power=result.store[result.key].power,
            segments=None if self.segmented is None else self.segmented.segments,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RowCostResult(TwoClassResult):
    """Result of a search for costs of rows."""

    kind = "row_costs"
    score_name = "log-odds"

    store: RowCostStore
    tuned: CostDecision = field(default_factory=CostDecision)
    alone: float = 0.0
    dearest_share: float = np.nan
    segmented: SegmentConstraint | None = None  # pyright: ignore[reportIncompatibleVariableOverride] (a field)
    # Decisions on the held-out samples that took the place of the winner's.
    decided: BoolArray | None = None

    @property
    def supports(self) -> Supports:  # pyright: ignore[reportIncompatibleVariableOverride] (that of the constraint)
        """What the search refuses."""
        return ROW_COSTS if self.segmented is None else SEGMENTED_COSTS

    @property
    def constraint(self) -> Constraint | None:
        """Constraint of the decisions."""
        return super().constraint if self.segmented is None else self.segmented.demand

    @staticmethod
    def read_metric(metric: Any) -> RowCosts | None:
        """Read costs of rows."""
        return get_row_costs(metric)

    @property
    def table(self) -> dict[str, Array]:
        """Table of the trials, see `trial_table`."""
        return trial_table(self.trials, self.settings, self.n_splits, judged={})

    def published(self) -> Params:
        """Return the attributes of the fitted search."""
        return super().published() | {
            "best_t_": self.winner.t,
            "best_threshold_": self.tuned.threshold,
            "bound_margin_": np.nan,
            "constraint_value_": next(iter(self.rates.values()), None),
            "best_cost_weights_": self.winner.costs,
            "row_costs_": self.metric,
            "row_rule_": self.tuned.kind,
            "threshold_without_costs_": float(expit(self.alone)),
            "dearest_share_": self.dearest_share,
        }

    @property
    def by_segment(self) -> Sequence[Params]:
        """Extra costs of each segment, if there are some."""
        n_segments = 0 if self.segmented is None else len(self.segmented.segments.known)
        return [{"extra_fn": fn, "extra_fp": fp} for fn, fp in self.tuned.by_segment or [(0.0, 0.0)] * n_segments]

    @property
    def limit_cost(self) -> float:
        """What the constraint costs on the held-out entries, beside the same decision without extra costs."""
        store, free = self.store, self.tuned.without_prices().decide(*self._rows)
        kept = self.held_out_decisions
        attained, unconstrained = (float(store.value(store.paid(decided), store.copies)) for decided in (kept, free))
        # Extra costs by segment may save more, where the base does not know the segments.
        return max(unconstrained - attained, 0.0)

    @property
    def held_out_segments(self) -> IntArray:
        """Places of the segments of the held-out entries."""
        return codes_of(self.store.table)

    @property
    def _rows(self) -> tuple[Array, CostTable]:
        """Log-odds of the winner on the held-out entries, without training weights, and their costs."""
        return RowCostChoice(self.store).score(self.key), self.store.table

    @cached_property
    def held_out_decisions(self) -> BoolArray:
        """Decisions about the held-out entries."""
        return self.tuned.decide(*self._rows) if self.decided is None else self.decided

    @cached_property
    def errors(self) -> ErrorProfile:
        """Error profile of the decisions about the held-out entries."""
        store = self.store
        return ErrorProfile.from_masks(
            store.truth, self.held_out_decisions, sample_weight=store.weights_in(store.copies)
        )

    def _assessed(self, seed: int) -> Assessment:
        choice = RowCostChoice(self.store, fixed=self.decided, random_state=seed)
        return choice.assess(self.candidate, trained=self.n_splits > 0)

    @property
    def learnt_shares(self) -> Array:
        """Shares of the classes, by code and by weight, that the winner was trained with."""
        pos = expit(logit(class_shares(self.store, self.store.truth, 2)[1]) - self.store.prior)
        return np.array([1.0 - pos, pos])

    @property
    def held_out_odds(self) -> Array:
        """Log-odds of the held-out entries by the trained winner."""
        return self.store[self.key].score

    @property
    def held_out_scores(self) -> Array:
        """Scores of the held-out entries by the winner, to which the threshold applies."""
        score, table = self._rows
        return self.tuned.scores(score, table)

    def curve(self) -> ValuedCurve:
        """Return all thresholds on the winner's held-out scores, with rows weighted by the cost of the wrong answer."""
        store = self.store
        return valued_curve(store.costs, self.held_out_scores, store.truth, store.table, store.weight)

    def evaluation(self, seed: int, review: Review | None = None) -> Evaluation:
        """Return what evaluates the answers by expected cost, within limits or with reviews."""
        if self.store is None:
            raise ValueError("the held-out scores of this search were not kept")
        if review is None:
            self.check_limits()
        paid = {} if review is None else {"cost": review.cost, "error": review.error}
        # The rule of predictions answers all entries: ranks by several rules would belong to none of them.
        choice, terms = RowCostChoice(self.store, random_state=seed), CostTerms(self.store, **paid)
        answers = CostAnswers(self.store, choice.score(self.key), self.tuned)
        return Evaluation(answers, terms, CostCandidates(choice), terms, seed)

    @property
    def answers_by_probability(self) -> RankedAnswers:
        """Answers by one threshold on the probability of each held-out entry."""
        return RankedAnswers(self.held_out_odds, self.alone)

    def held_out_rows(self) -> ComparedRows:
        """Collect the log-odds and costs of the held-out rows."""
        return ComparedRows(self._rows, self.store.truth, self.store)

    def scored_rows(self, rule: RowCostRule, task: Task) -> ComparedRows:
        """Score samples, which bring their costs along."""
        return ComparedRows(self.rows_of(rule, task), task.codes > 0, held_out_units(task))

    def alerts_among(self, known: ComparedRows, answer: int, bands: Any = None) -> WrongAlerts:
        """Collect the scores of negatives; those that would get another answer are below all others."""
        odds, table = known.rows
        alerts = self.tuned.decide(odds, table)
        if bands is not None:
            alerts = bands.decide(self.tuned.allowed_answers(odds, table, bands.review, bands.extra_cost)) == "positive"
        return known.alerts(alert_scores(odds, alerts), answer)

    def allowed_answers(self, review: Review, extra_cost: float) -> AllowedAnswers:
        """Compute which of three answers to the held-out entries has the smallest expected cost."""
        return self.tuned.allowed_answers(*self._rows, review, extra_cost)

    def bands(self, review: Review) -> ReviewBands:
        """Compute the bands of the three answers, by the rule of predictions."""
        return bands_of_costs(review, self.tuned, *self._rows, self.store.weights_in(self.store.copies))

    def check_limits(self) -> None:
        """Raise a ValueError where a limit on the number of positive predictions would break the constraint."""
        refuse_limits(None if self.segmented is None else self.segmented.segments.limits_broken)

    def at_shares(self, pos: float, rule: RowCostRule | None) -> tuple[RowCostResult, RowCostRule | None]:
        """Adapt the result and the rule to another share of positives: the log-odds move by that of the shares."""
        # Log-odds of the calibration samples are those of before.
        store = self.store.moved(check_fraction(pos, "pos"))
        result = decided_on(self, store, guarantee=None, calibrated=None, trained=None)
        return result, None if rule is None else result.in_rule(rule)

    def in_rule(self, rule: RowCostRule) -> RowCostRule:
        """Put the decision of this result into a rule."""
        return replace(rule, threshold=self.tuned.threshold, decision=self.tuned, alone=self.alone)

    def stricter(self) -> list[RowCostResult]:
        """Tune the decision to stricter and stricter levels; the strictest one comes first."""
        store, free, (score, table) = self.store, self.tuned.without_prices(), self._rows
        assert store.demand is not None, "asked for where there is a constraint"
        results = []
        for share in STRICTER:
            tuned = store.demand.tightened(share).kept_by(free, store.rows(score))
            decided = tuned.decide(score, table)
            value = float(store.value(store.paid(decided), store.copies))
            results.append(replace(self, tuned=tuned, decided=decided, score=value))
        return results

    def rows_of(self, rule: RowCostRule, task: Task) -> tuple[Array, CostTable]:
        """Score samples that bring their costs along."""
        return rule.for_rows(task.fit_params).rows(task.X)

    def decide(self, rows: tuple[Array, CostTable]) -> BoolArray:
        """Decide scored rows."""
        return self.tuned.decide(*rows)


def conclude(searched: SearchRecord, segmented: SegmentConstraint | None = None) -> RowCostResult:
    """Conclude a search that is over; a TypeError or ValueError where no trial worked."""
    if not len(searched.store):
        raise nothing_worked(searched.trials)
    store = searched.store.condensed()
    candidate = RowCostChoice(store).choose(store.copies)
    result = RowCostResult(
        **searched.shared, candidate=candidate, dearest_share=_dearest_share(store), segmented=segmented
    )
    result = decided_on(result, store)
    warn_of_open_gap(result.winner)
    if segmented is not None:
        result.warn_of_segments()
    elif not result.feasible:
        warn_of_violation(result.constraint, next(iter(result.rates.values())))
    return result


def decided_on(result: RowCostResult, store: RowCostStore, **changes: Any) -> RowCostResult:
    """Tune the decision of a result's candidate on held-out entries, with further changes to the result."""
    choice, candidate, demand = RowCostChoice(store), result.candidate, store.demand
    tuned, score = choice.tuned(candidate, store.copies), store[candidate.key].score
    given = score, store.truth, store.table, store.weight
    threshold = best_cut(*given) if demand is None else demand.cut_within(*given)
    if demand is not None:
        decided = tuned.decide(choice.score(candidate.key), store.table)
        changes["feasible"] = not demand.missing(store.rows(score), decided)
    changes |= {"score": choice.value_of(candidate), "decided": None}
    return replace(result, store=store, tuned=tuned, alone=threshold, **changes)


def _dearest_share(store: RowCostStore) -> float:
    """Compute the share of the total cost at stake that falls on the most expensive 1 % of rows."""
    stakes = np.sort(np.repeat(np.abs(store.fixed[1] - store.fixed[0]), store.copies))[::-1]
    return float(stakes[: max(1, round(_DEAREST * stakes.size))].sum() / stakes.sum())
