"""Decisions by the costs of each row: log-odds against the costs of both errors, and the choice of a decision rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Keywords, Samples, Values
from csf._common.validation import label_array
from csf.data.responses import LARGEST_LOG_ODDS, log_odds
from csf.evaluate import Assessment, Candidate, EntryStore, TrialKey, TrialRow
from csf.evaluate.assessment import LEVEL, CandidateChoice, interval, n_draws_of
from csf.evaluate.choices import Margins
from csf.evaluate.draws import LARGE, Units, grouped
from csf.evaluate.intervals import DrawnErrors, DrawnSums
from csf.metrics.constraints import Review
from csf.metrics.row_costs import COSTS, OUTCOMES, CostTable, RowCosts, costs_in, paid
from csf.thresholding.alerts import AlertLimit
from csf.thresholding.batch import best_rows
from csf.thresholding.class_choice import dealt
from csf.thresholding.cost_decisions import (
    CONSTANT,
    DIGITS,
    FARTHEST,
    NOISE,
    CostDecision,
    LabelledCosts,
    alert_scores,
    tune,
    unweighted,
    valued_curve,
)
from csf.thresholding.curve import ValuedCurve
from csf.thresholding.evaluation import AnswerTerms, GivenAnswers
from csf.thresholding.row_thresholds import BY
from csf.thresholding.rule import SCORE_IN_WORDS, AllowedAnswers, ThresholdRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf.metrics.registry import MetricLike
    from csf.thresholding.cost_demands import CostDemand
    from csf.thresholding.segments import Segments


# ---------------------------------------------------------------- a fitted classifier with it


_LARGEST = f"at least -{LARGEST_LOG_ODDS:g} and at most {LARGEST_LOG_ODDS:g}"


@dataclass(frozen=True, eq=False, kw_only=True)
class RowCostRule(ThresholdRule):
    """Rule of a fitted classifier and the costs of each row; see `ThresholdRule` for the other parameters.

    Parameters
    ----------
    row_costs : RowCosts
        What rows cost.
    decision : CostDecision
        What decides.
    alone : float
        Threshold of the log-odds of the classifier alone, where costs are not known.
    power : float, default=0.0
        The training weighed rows by this power of what they cost.
    given : mapping, default={}
        Costs of the rows that are to be predicted, and their segments ``by``.
    segments : Segments, default=None
        Which rows belong to which segment, where a constraint is by segments.
    """

    row_costs: RowCosts
    decision: CostDecision
    alone: float
    power: float = 0.0
    given: Mapping[str, Any] = field(default_factory=dict)
    segments: Segments | None = None

    in_words = (
        f"{SCORE_IN_WORDS}; of a probability s = log(s / (1 - s)), {_LARGEST}; s = s - power * log((fn - tp) / (fp - "
        "tn)) where both are above 0; z = s + intercept where kind is plain or swept, else slope * s + intercept of s "
        "at least -farthest and at most farthest; extra = what is added to fn and fp, by_segment = the same for the "
        "known segments, where there are some; gain = fn - tp; loss = fp - tn; "
        f"positive where z + log(gain / loss), {_LARGEST}, rounded to {DIGITS} decimals, >= threshold, else negative. "
        "Where gain < 0 and loss < 0: positive where threshold - z - log(gain / loss), limited and rounded in the same "
        "way, >= 0, else negative. Where gain <= 0 and loss >= 0: negative; else where loss <= 0: positive. Where "
        "nothing is known of costs by row: positive where s >= alone"
    )
    review_in_words = (
        "z less the threshold, unless kind is negative or positive; p = 1 / (1 + exp(-z)). Costs: of negative p * "
        "gain, of positive (1 - p) * loss, of a review cost + extra_cost + error * (both together). The answer of "
        "least cost (of equal ones positive, negative, review in this order), but where kind is negative or positive "
        f'the answer of the rule or a review; "review" in place of positive where z, at least -{FARTHEST:g} and at '
        f"most {FARTHEST:g}, < upper, and of negative where it is >= lower"
    )

    @property
    def more_than_threshold(self) -> str:
        """Costs."""
        return "the costs of each row"

    def for_rows(self, given: Mapping[str, Any]) -> Self:
        """Return the rule for rows with these costs."""
        return replace(self, given={name: given.get(name) for name in (*COSTS, BY)})

    def table(self, X: Samples) -> CostTable:
        """Return the costs of samples, with their segments where the constraint is by these."""
        table = self.row_costs.table(X, **costs_in(self.given))
        return table if self.segments is None else table.in_segments(self.segments.codes(X, self.given.get(BY)))

    def on_scores(self, column: int | None = None) -> Self:
        """Return the rule for samples that are scores; costs that are columns or functions of samples are given."""
        known = {name: getattr(self.row_costs, name) for name in OUTCOMES}
        numbers: Keywords = {name: cost if isinstance(cost, Real) else None for name, cost in known.items()}
        return replace(super().on_scores(column), row_costs=RowCosts(**numbers), given={})

    def scored(self, X: Samples) -> tuple[Array, Array]:
        """Return the positive class, and the score that the threshold applies to."""
        if self._lacks_costs and self.segments is None:
            names = ", ".join(f"{name}=" for name in self.row_costs.needs(self.given))
            warn(
                f"fit was given costs that are not given here ({names}): one threshold on the probability of a row "
                f"decides, {expit(self.alone):.4g}, the best one by cost on held-out data. Give {names} to decide each "
                "row by its own costs, which costs less; under metadata routing ask for them by set_predict_request"
            )
            labels, score = super().scored(X)
            return labels, log_odds(score, self.method) - self.alone + self.cut
        table = self.table(X)
        labels, score = super().scored(X)
        score = unweighted(log_odds(score, self.method), table.shift, self.power)
        return labels, replace(self.decision, threshold=self.cut).scores(score, table)

    def curve(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ValuedCurve:
        """Compute the curve of all thresholds of the score on labelled rows, by what decisions cost."""
        table, (_, is_pos, weight) = self.table(X), self.checked_truth(X, y, sample_weight)
        return valued_curve(self.row_costs, self.scored(X)[1], is_pos, table, weight)

    def ranked(self, X: Samples) -> tuple[BoolArray, Array]:
        """Return which rows are answered "positive", and the expected saving of that answer in each of them."""
        if self._lacks_costs:
            return super().ranked(X)
        rows, decision = self.rows(X), replace(self.decision, threshold=self.cut)
        return decision.decide(*rows), decision.ranks(*rows)[0]

    @property
    def limits_broken(self) -> str | None:
        """Why a limit on the number of positive predictions would break a demand; ``None`` where it would not."""
        return None if self.segments is None else self.segments.limits_broken

    def alerted(self, X: Samples, limit: AlertLimit, most: int) -> BoolArray:
        """Mark the rows of largest expected saving, up to a number, that pay and keep a limit on wrong alerts."""
        self.table(X)  # which rows pay is not known without costs
        pays, rank = self.ranked(X)
        return best_rows(limit.passing(self.sureness(X, pays), most), rank, most, X)

    def sureness(self, X: Samples, alerts: BoolArray) -> Array:
        """Compute what limits on wrong alerts compare: the log-odds alone, of rows that can be alerts."""
        return alert_scores(self.rows(X)[0], alerts)

    def allowed_answers(self, X: Samples, review: Review, extra_cost: float) -> AllowedAnswers:
        """Return which answers cost least on average, and the log-odds."""
        return self.decision.allowed_answers(*self.rows(X), review, extra_cost)

    @property
    def threshold_proba(self) -> None:
        """``None``: each row has a threshold of its own."""

    @property
    def _lacks_costs(self) -> bool:
        """True where rows come without the costs that `fit` was given."""
        return bool(self.row_costs.needs(self.given)) and all(cost is None for cost in costs_in(self.given).values())

    def rows(self, X: Samples) -> tuple[Array, CostTable]:
        """Return what decisions read of samples: log-odds of the base without training weights, and costs."""
        table = self.table(X)
        return unweighted(log_odds(super().scored(X)[1], self.method), table.shift, self.power), table

    def _log_odds(self, X: Samples, table: CostTable | None) -> tuple[Array, Array]:
        """Return the positive class, and its log-odds with the training weights undone."""
        labels, score = super().scored(X)
        score = log_odds(score, self.method)
        return labels, self.decision.log_odds(score if table is None else unweighted(score, table.shift, self.power))

    def score(self, metric: MetricLike, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute what the predictions save or cost; ``metric`` is what `fit` was given, without columns."""
        # Before predicting, which can do without costs.
        self.table(X)
        options = {"sample_weight": sample_weight, "pos_label": self.labels(np.array([True]))[0]}
        return self.row_costs.score(label_array(y, "y"), self.predict(X), X, **options, **costs_in(self.given))

    def predict_proba(self, X: Samples) -> Array:
        """Predict the probabilities of the sorted labels, without regard to costs; undo training weights."""
        known = self.power or any(cost is not None for cost in costs_in(self.given).values())
        table = self.row_costs.table(X, **costs_in(self.given)) if known else None
        proba = expit(self._log_odds(X, table)[1])
        return self._of_positives(proba)


# ---------------------------------------------------------------- which training and which decision win


@dataclass(frozen=True, eq=False, kw_only=True)
class RowScores(TrialRow):
    """Scores of one trial; ``power`` is that of its training weights."""

    score: Array
    decided: None = None
    power: float

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """Arrays that the trial does not contain."""
        return (self.score,)


class RowCostStore(EntryStore[RowScores]):
    """Pooled held-out log-odds, or margins, of the trials of one search, and the costs of the entries.

    ``likely`` is True for log-odds of the class, and ``prior`` is what is added to them for another share of positives;
    see `csf.evaluate.EntryStore` for the ``options``.
    """

    def __init__(
        self,
        truth: BoolArray,
        weight: Array | None,
        costs: RowCosts,
        table: CostTable,
        *,
        likely: bool,
        demand: CostDemand | None = None,
        prior: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(truth, weight, **options)
        self.costs, self.table, self.likely, self.demand, self.prior = costs, table, likely, demand, prior
        self.answers, self.shift = table.answers(truth), table.shift

    def condensed(self) -> RowCostStore:
        """Merge equal samples, in an order that depends on their values alone.

        What is computed from it is the same for rows in another order, and for weights that stand for equal rows.
        """
        units, entries = grouped(self, [*(row.score for row in self), *self._cost_columns])
        weight = units.copies[units.samples] * (1.0 if units.weight is None else units.weight)
        if self.weight is not None:
            # Weights of units are those of the entries up to a power of two.
            weight = weight * 2.0 ** np.rint(np.log2(self.weight.sum() / weight.sum()))
        options: Any = {"samples": units.samples, "copies": units.copies, "max_bytes": self.max_bytes}
        store = self._like(units.truth, weight, self.table.take(entries), **options)
        for row in self:
            store.put(replace(row, score=row.score[entries]))
        return store

    def _like(self, truth: BoolArray, weight: Array | None, table: CostTable, **options: Any) -> RowCostStore:
        """Create a store without trials whose decisions are made as here."""
        options = {"likely": self.likely, "demand": self.demand, "prior": self.prior} | options
        store = RowCostStore(truth, weight, self.costs, table, **options)
        store.has_groups, store.n_dropped, store.repeats = self.has_groups, self.n_dropped, self.repeats
        return store

    def moved(self, pos: float) -> RowCostStore:
        """Return the same entries with another share of positives, by their weights and their log-odds."""
        weight = self.weights_in(self.copies)
        share = float(np.average(self.truth, weights=weight))
        weight = weight * np.where(self.truth, pos / share, (1.0 - pos) / (1.0 - share))
        prior = self.prior + float(logit(pos) - logit(share))
        options: Any = {"samples": self.samples, "copies": self.copies, "max_bytes": self.max_bytes}
        store = self._like(self.truth, weight, self.table, prior=prior, **options)
        for row in self:
            store.put(row)
        return store

    @property
    def _cost_columns(self) -> list[Array]:
        segment = [] if self.table.segment is None else [self.table.segment]
        return [self.table.gain, self.table.loss, self.answers[0], *segment]

    @cached_property
    def fixed(self) -> Array:
        """Costs of both answers in one copy of each sample, and its weight."""
        return np.stack([self.of_samples(values) for values in (*self.answers, np.ones(self.truth.size))])

    @cached_property
    def unit(self) -> float:
        """Largest cost; costs in this unit can be squared without overflow."""
        return float(self.fixed[:2].max())

    @cached_property
    def value_unit(self) -> float:
        """Size of a difference in value that matters: as large as the savings there can be."""
        negative, positive, rows = self.fixed @ self.copies
        return 1.0 if self.costs.measure == "savings" else float(min(negative, positive) / rows)

    def add_trial(self, key: TrialKey, trial: Any, score: Array, *_: object) -> None:
        """Store the predictions of a complete trial."""
        self.put(RowScores(key=key, score=score, value=trial.score, equal_costs=not trial.t, power=trial.t))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the decision rules; the first one stays unless another gains the margin."""
        return ("plain", *Margins.ROW_RULES) if self.likely else ("sigmoid", "negative", "positive")

    def tuned(self, score: Array, kind: str, counts: Array) -> CostDecision:
        """Tune a decision rule on the entries of samples with these counts."""
        # Rows tell nothing of odds beyond their number; those of trees, 0 or infinite, would flatten the sigmoid.
        farthest, weight = float(np.log(counts.sum())) if self.likely else FARTHEST, self.weights_in(counts)
        decision = tune(kind, score, self.truth, self.table, weight, farthest, self.prior)
        if self.demand is None:
            return decision
        return self.demand.kept_by(decision, LabelledCosts(score, self.truth, self.table, weight))

    def rows(self, score: Array) -> LabelledCosts:
        """Return all entries with their scores."""
        return LabelledCosts(score, self.truth, self.table, self.weights_in(self.copies))

    def missing(self, decision: CostDecision, score: Array) -> float:
        """Compute by how much a decision rule misses the constraint on all entries."""
        if self.demand is None:
            return 0.0
        return self.demand.missing(self.rows(score), decision.decide(score, self.table))

    def decisions(self, score: Array, kind: str) -> Array:
        """Compute the share of the copies of each entry that is decided positive, tuned outside the part of each."""
        if kind in CONSTANT and self.demand is None:
            odds = np.clip(score + self.prior - CONSTANT[kind], -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
            return CostDecision().decide(odds, self.table).astype(float)
        columns = [self.truth, np.clip(score, -FARTHEST, FARTHEST), *self._cost_columns]
        # A row of weight 2 in a group is two such rows.
        sums = self.of_samples if self.has_groups else partial(np.bincount, self.samples)
        held = dealt([sums(column) for column in columns], self.copies)
        # Halves of many samples say as much.
        parts = held.T if self.copies.sum() <= LARGE else np.stack([held[:, half::2].sum(axis=1) for half in (0, 1)])
        decided = np.zeros(score.size)
        for inside in parts[parts.any(axis=1)]:
            rule = self.tuned(score, kind, self.copies - inside)
            odds = np.clip(rule.log_odds(score), -FARTHEST, FARTHEST) - rule.threshold
            odds = np.clip(odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
            share = (inside / np.maximum(self.copies, 1))[self.samples]
            decided += share * rule.of_odds().decide(odds, self.table)
        return decided

    def of_samples(self, values: Array) -> Array:
        """Sum over the entries of one copy of each sample."""
        weight = values if self.importance is None else values * self.importance
        return np.bincount(self.samples, weight, minlength=self.n_samples)

    def paid(self, decided: Array) -> Array:
        """Sum the costs of decisions about the entries in one copy of each sample."""
        return self.of_samples(paid(*self.answers, decided))

    def costs_at(self, score: Array, thresholds: Array, counts: Array) -> Array:
        """Compute the mean cost of a row at each of ascending thresholds, on samples with these counts."""
        weight = self.table.stakes(self.truth)
        weight = weight if self.importance is None else weight * self.importance
        place = np.searchsorted(thresholds, score, side="right"), self.samples
        moves = sparse.csr_array((weight, place), shape=(thresholds.size + 1, self.n_samples)) @ counts
        return (self.fixed[0] @ counts + moves[::-1].cumsum(axis=0)[::-1][1:]) / (self.fixed[2] @ counts)

    def value(self, paid: Array, counts: Array) -> Values:
        """Compute the value of decisions on samples with these counts; an array for a column per draw."""
        return self.costs.value(paid @ counts, *(self.fixed @ counts))


def _drawn_costs(store: RowCostStore, columns: Array, seed: int) -> DrawnErrors:
    """Draw errors and the bias of a value, from what each sample adds to what is paid, both fixed costs and rows."""
    # Derivatives take steps that are parts of all sums together, so that costs are as large as numbers of rows.
    units = np.append(np.full(columns.shape[1] - 1, store.unit), 1.0)
    drawn = DrawnSums(lambda sums: store.costs.value(*(sums * units).T), columns / units, store.copies)
    return drawn.bootstrap(n_draws_of(store.copies), seed)


def widened(errors: Array, gap: float) -> Array:
    """Widen errors until their interval holds the value on all held-out rows, ``gap`` from the corrected one.

    Where a row is most of the total and some choices answer it wrongly, no draw of the winner's answers shows that.
    """
    low, high = interval(errors, LEVEL)
    return np.where(errors >= high, np.fmax(errors, gap), np.where(errors <= low, np.fmin(errors, gap), errors))


class CostTerms(AnswerTerms):
    """Terms of the costs of rows: what is paid, what either answer to all rows costs, rows, and what can be saved."""

    n_classes = n_answers = 2

    def __init__(self, store: RowCostStore, *, cost: float = 0.0, error: float = 0.0) -> None:
        self.entries = self.store = store
        self.truth, self.unit = store.truth.astype(np.int64), store.value_unit
        right, wrong = (np.where(store.truth, *pair) for pair in (store.answers[::-1], store.answers))
        self._paid = np.stack([*store.answers, cost + (1.0 - error) * right + error * wrong])
        saved = np.maximum(store.answers[0] - store.answers[1], 0.0)
        self._fixed = np.stack([*store.answers, np.ones(store.truth.size), saved])

    def _cost(self, answers: GivenAnswers) -> Array:
        """Compute what the answers to each entry cost."""
        entries = np.arange(self.truth.size)
        return np.add.reduce([share * self._paid[codes, entries] for codes, share in answers.parts])

    def sums(self, answers: GivenAnswers, weight: Array) -> Array:
        """Sum costs and rows."""
        return np.append(weight @ self._cost(answers), self._fixed @ weight)

    def value(self, sums: Array) -> Array:
        """Compute the value of what was paid."""
        return np.asarray(self.store.costs.value(*np.moveaxis(sums[..., :-1], -1, 0)))

    def captured(self, sums: Array, answer: int) -> float:
        """Compute the share of what can be saved that is saved."""
        return float((sums[1] - sums[0]) / sums[-1])

    def drawn(self, answers: GivenAnswers, seed: int) -> DrawnErrors:
        """Draw errors and the bias of the value of what was paid."""
        store, cost = self.store, self._cost(answers)
        if (border := answers.border) is not None:
            entries, gets = np.arange(cost.size), answers.share * (answers.codes == border.codes)
            change = border.weight @ (self._paid[border.codes, entries] - self._paid[answers.others, entries])
            cost = cost + change * (border.limit - gets)
        return _drawn_costs(store, np.column_stack([store.of_samples(cost), *store.fixed]), seed)

    def assessed(self, corrected: float, attained: float, drawn: DrawnErrors, assessment: Assessment) -> Assessment:
        """Return an assessment without the bias of a ratio, whose interval holds the value on all rows."""
        assessed = super().assessed(corrected - drawn.bias, attained, drawn, assessment)
        return replace(assessed, errors=widened(assessed.errors, attained - assessed.corrected_score))


class RowCostChoice(CandidateChoice):
    """Candidates of a store, and the costs of their decisions; ``fixed`` ones are those of the only candidate."""

    def __init__(self, store: RowCostStore, *, fixed: BoolArray | None = None, random_state: int = 0) -> None:
        self.store, self.fixed, self.random_state = store, fixed, random_state
        # Errors and bias come from the same draws.
        self.paid, self.drawn = cache(self._paid), cache(self._drawn)
        self.unit = store.value_unit

    @property
    def units(self) -> Units:
        """Units that are drawn."""
        store = self.store
        return Units(store.truth, None, store.samples, store.copies)

    def score(self, key: TrialKey) -> Array:
        """Return the log-odds, or margins, of a trial."""
        return unweighted(self.store[key].score, self.store.shift, self.store[key].power)

    def _paid(self, candidate: Candidate) -> Array:
        """Compute the costs of a candidate's decisions in each sample."""
        if self.fixed is not None:
            return self.store.paid(self.fixed)
        return self.store.paid(self.store.decisions(self.score(candidate.key), candidate.rule))

    @cached_property
    def allowed(self) -> list[Candidate]:
        """Candidates that keep the constraint on all samples, or miss least."""
        keys = sorted(row.key for row in self.store)
        candidates = [Candidate(key, rule) for rule in self.store.kinds for key in keys]
        if self.store.demand is None or self.fixed is not None:
            return candidates
        missing = [
            self.store.missing(self.tuned(candidate, self.store.copies), self.score(candidate.key))
            for candidate in candidates
        ]
        return [candidate for candidate, amount in zip(candidates, missing) if amount <= min(missing)]

    def _saved(self, over: Candidate, candidate: Candidate, counts: Array, margin: float) -> float:
        """Compute what a candidate saves over another one; 0 unless that is more than the margin.

        The margin is in standard deviations over bootstrap draws of the samples.
        """
        saved_by_row = (self.paid(over) - self.paid(candidate)) / self.store.unit
        saved, noise = float(saved_by_row @ counts), NOISE * float((self.paid(over) / self.store.unit) @ counts)
        return saved if saved > margin * np.sqrt(counts @ saved_by_row**2) + noise else 0.0

    def choose(self, counts: Array) -> Candidate:
        """Choose the training, and then its decision rule, on samples with these counts."""
        # The base's own setting, trained as it is, comes first, and is the first of equal ones.
        trials = [candidate for candidate in self.allowed if candidate.rule == self.allowed[0].rule]
        saved = np.array([self._saved(trials[0], trial, counts, Margins.ROW_COSTS) for trial in trials])
        winner = trials[int(np.argmax(saved >= (1.0 - NOISE) * saved.max()))]
        for other in self.allowed:
            same = other.key == winner.key and other.rule in Margins.ROW_RULES
            if same and (self._saved(winner, other, counts, Margins.ROW_RULES[other.rule]) or self._is(winner, other)):
                winner = other
        return winner

    def _is(self, winner: Candidate, other: Candidate) -> bool:
        """Check whether a tuned threshold is beyond all scores, so that it is the same answer to all rows."""
        return winner.rule == "swept" and other.rule in CONSTANT and np.array_equal(self.paid(winner), self.paid(other))

    def is_behind(self, settings: Sequence[int], others: Sequence[int]) -> bool:
        """Check whether the best one of other settings saves more on all samples than the best one of these."""

        def least(some: Sequence[int]) -> float:
            candidates = [Candidate(row.key, self.store.kinds[0]) for row in self.store if row.key[0] in some]
            return min((float(self.paid(candidate) @ self.store.copies) for candidate in candidates), default=np.inf)

        return least(others) < least(settings)

    def tuned(self, candidate: Candidate, counts: Array) -> CostDecision:
        """Tune the decision rule of a candidate on samples with these counts."""
        return self.store.tuned(self.score(candidate.key), candidate.rule, counts)

    def outside(self, candidate: Candidate, counts: Array) -> Array:
        """Sum the costs paid, the costs of both answers and the rows outside samples with these counts."""
        store, rest, decided = self.store, self.store.copies - counts, self.fixed
        if decided is None:
            decided = self.tuned(candidate, counts).decide(self.score(candidate.key), store.table)
        return np.array([store.paid(decided) @ rest, *(store.fixed @ rest)])

    def value(self, sums: Array) -> float:
        """Compute the value of decisions from the costs paid, the costs of both answers and the number of rows."""
        return self.store.costs.value(*sums)

    def value_of(self, candidate: Candidate) -> float:
        """Compute the value of a candidate's decisions on all samples."""
        return float(self.store.value(self.paid(candidate), self.store.copies))

    def errors(self, winner: Candidate) -> Array:
        """Draw bootstrap errors of the value of a candidate."""
        return self.drawn(winner).errors

    def _drawn(self, winner: Candidate) -> DrawnErrors:
        """Draw errors and the bias of the value of a candidate."""
        store = self.store
        columns = np.column_stack([self.paid(winner), *store.fixed])
        return _drawn_costs(store, columns, self.random_state)

    @property
    def value_range(self) -> tuple[float, float]:
        """No lower limit, and the value of decisions without an error."""
        store = self.store
        return -np.inf, store.value(store.paid(store.answers[1] < store.answers[0]), store.copies)

    def threshold_interval(self, winner: Candidate) -> tuple[float, float]:
        """Return the threshold twice: it is not drawn."""
        threshold = self.tuned(winner, self.store.copies).threshold
        return threshold, threshold

    def assess(self, winner: Candidate, *, trained: bool = True) -> Assessment:
        """Assess a winner, see `Choice.assess`; the interval holds the value on all held-out rows."""
        assessment = super().assess(winner, trained=trained)
        # Savings are a ratio: where few dear rows are most of what is divided by, it is too small on average.
        corrected = min(assessment.corrected_score - self.drawn(winner).bias, self.value_range[1])
        if winner.rule in ("negative", "positive"):
            # The same answer to all rows reads no scores, and gains nothing by chance.
            corrected = self.value_of(winner)
        gap = self.value_of(winner) - corrected
        return replace(assessment, corrected_score=corrected, errors=widened(assessment.errors, gap))
