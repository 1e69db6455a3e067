"""Base classes of what a search found: the trials that it tried, the winner among them, and its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from csf._common.messages import warn
from csf._common.typing import Array, IntArray, Keywords, Label, Params
from csf.evaluate import HeldOutEntries, TrialKey, seed_of
from csf.metrics import get_constraint, get_metric
from csf.metrics.base import rank
from csf.metrics.constraints import ANSWERS
from csf.metrics.registry import truth_of
from csf.metrics.trials import Trial
from csf.search.certification import with_tested_step
from csf.search.supports import Supports
from csf.thresholding.capacity import Capacity, NamedCapacities, Reviewed
from csf.thresholding.evaluation import GivenAnswers
from csf.thresholding.exact_tests import ScoredSamples

if TYPE_CHECKING:
    from csf.data.folds import Task
    from csf.evaluate import Assessment, Candidate
    from csf.metrics import Constraint, Review
    from csf.search.config import SearchConfig
    from csf.search.problems.segments import SegmentConstraint
    from csf.search.study import History
    from csf.thresholding.alerts import AlertLimit, ComparedRows, WrongAlerts
    from csf.thresholding.band import ConfidenceBand
    from csf.thresholding.base import DecisionRule
    from csf.thresholding.capacity import RankedAnswers
    from csf.thresholding.certificates import Guarantee
    from csf.thresholding.evaluation import Evaluation, TunedAnswers
    from csf.thresholding.exchange import ScoredEntries
    from csf.thresholding.prevalence import KnownSamples


# ---------------------------------------------------------------- the table of the trials


def trial_table(
    trials: list[Trial],
    settings: list[Params],
    n_folds: int,
    *,
    judged: Mapping[str, Array],
    costs: Mapping[str, Array] = MappingProxyType({}),
) -> dict[str, Array]:
    """Tabulate trials of any kind, with the columns of their kind: ``costs`` and ``judged`` values."""
    params = np.array([{"t": t.t, **settings[t.setting]} for t in trials], dtype=object)
    table = {"params": params, "param_t": column(trials, attrgetter("t")), **costs}
    table |= _setting_columns(trials, settings) | _split_columns(trials, n_folds) | dict(judged)
    table |= {name: column(trials, attrgetter(name)) for name in ("value", "duality_gap", "fit_time", "score_time")}
    table["state"] = np.array([t.state for t in trials])
    table["error"] = np.array([t.error for t in trials], dtype=object)
    return table


def _setting_columns(trials: Sequence[Trial], settings: list[Params]) -> dict[str, Array]:
    """Build a column for each parameter that was searched."""
    table = {}
    for name in dict.fromkeys(name for setting in settings for name in setting):
        values = [settings[t.setting].get(name) for t in trials]
        table[f"param_{name}"] = np.empty(len(values), dtype=object)
        table[f"param_{name}"][:] = values
    return table


def _split_columns(trials: Sequence[Trial], n_folds: int) -> dict[str, Array]:
    """Build the columns of the scores in the folds, of all folds pooled, and of their ranks."""
    folds = np.full((len(trials), n_folds), np.nan)
    for row, trial in zip(folds, trials):
        row[: len(trial.fold_scores)] = [np.nan if score is None else score for score in trial.fold_scores]
    table = {f"split{i}_test_score": folds[:, i] for i in range(n_folds)}
    measured = np.isfinite(folds).any(axis=1)
    table["mean_test_score"], table["std_test_score"] = np.full((2, len(trials)), np.nan)
    table["mean_test_score"][measured] = np.nanmean(folds[measured], axis=1)
    table["std_test_score"][measured] = np.nanstd(folds[measured], axis=1)
    table["pooled_test_score"] = column(trials, lambda t: t.score)
    table["rank_test_score"] = _ranks(trials)
    return table


def column(trials: Sequence[Trial], get: Callable[[Trial], float | None]) -> Array:
    """Collect a number of each trial; NaN where it has none."""
    return np.array([np.nan if get(t) is None else get(t) for t in trials], dtype=float)


def _ranks(trials: Sequence[Trial]) -> Array:
    """Rank the trials, 1 for the best; ties share a rank, and failed trials come last."""
    keys = [rank(np.inf, -np.inf) if trial.score is None else rank(trial.violation, trial.score) for trial in trials]
    first = {key: place for place, key in reversed(list(enumerate(sorted(keys), start=1)))}
    return np.array([first[key] for key in keys])


# ---------------------------------------------------------------- results


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchRecord:
    """Trials of a search that is over, before one of them wins."""

    config: SearchConfig
    studies: list[Any]
    settings: list[Params]
    n_splits: int
    store: Any
    stop_reason: str

    @property
    def shared(self) -> Keywords:
        """Fields of the record, for the result."""
        return {part.name: getattr(self, part.name) for part in fields(SearchRecord)}

    @cached_property
    def trials(self) -> list[Trial]:
        """Trials of all settings."""
        return [trial for study in self.studies for trial in study.trials]

    @property
    def metric(self) -> Any:
        """Metric that was maximised, under the constraint."""
        return self.studies[0].metric


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchResult(SearchRecord, ABC):
    """Result of a search; `csf.CostSearch` describes the attributes that it sets."""

    # Kind of problem: "binary", "multiclass", "row_costs", "multilabel" with a search for each label, or
    # "shared_threshold" of all labels; "row_thresholds" or "segments" where rows have thresholds of their own.
    kind: ClassVar[str]
    # What it refuses.
    supports: ClassVar[Supports]
    # What the held-out scores of the winner are, on the axes of plots.
    score_name: ClassVar[str] = "score"

    # Trial that wins, with the name of its decision rule.
    candidate: Candidate
    # What is not known of every kind: without a constraint, and without an upper bound.
    score: float = np.nan
    feasible: bool = True
    upper_bound: float = np.nan
    gap: float = np.nan
    # Test of the constraint on samples that were held back, or on all.
    guarantee: Guarantee | None = None

    @staticmethod
    def read_metric(metric: Any) -> Any:
        """Read a metric as this kind of problem does."""
        return get_metric(metric)

    def study(self, setting: int | None = None) -> Any:
        """Return the study of a setting, or the winner's; raise a ValueError where there is no such setting."""
        setting = self.key[0] if setting is None else setting
        if not 0 <= setting < len(self.studies):
            raise ValueError(f"setting must be in 0..{len(self.studies) - 1} or None for the winner's, got {setting!r}")
        return self.studies[setting]

    @property
    def key(self) -> TrialKey:
        """Setting and number of the winner."""
        return self.candidate.key

    @property
    def winner(self) -> Trial:
        """Trial that wins."""
        return self.trials[self.index]

    def place(self, key: TrialKey) -> int:
        """Return the place of a trial."""
        return next(place for place, trial in enumerate(self.trials) if (trial.setting, trial.number) == key)

    @property
    def index(self) -> int:
        """Place of the winner."""
        return self.place(self.key)

    @property
    def params(self) -> Params:
        """Setting of the winner."""
        return self.settings[self.key[0]]

    @property
    @abstractmethod
    def table(self) -> dict[str, Array]:
        """Table of the trials, see `trial_table`."""

    def published(self) -> Params:
        """Return the attributes of the fitted search."""
        return {
            "trials_": self.trials,
            "n_trials_": len(self.trials),
            "n_splits_": self.n_splits,
            "studies_": self.studies,
            "cv_results_": self.table,
            "stop_reason_": self.stop_reason,
            "best_index_": self.index,
            "best_params_": self.params,
            "best_score_": self.score,
            "feasible_": self.feasible,
            "upper_bound_": self.upper_bound,
            "gap_": self.gap,
            **({} if self.guarantee is None else {"guarantee_": self.guarantee}),
        } | ({} if self.store is None else {"held_out_": self.store})

    @property
    def constraint(self) -> Constraint | None:
        """Constraint of the decisions."""
        return get_constraint(self.config.constraint)

    @property
    def segmented(self) -> SegmentConstraint | None:
        """Constraint by segments, if there is one."""
        return None

    @property
    def has_scores(self) -> bool:
        """True where the winner has held-out scores."""
        return self.store is not None and self.store[self.key].score is not None

    def with_training(self, rule: Any, some: Task) -> Self:
        """Keep some of the training samples, where they are of use."""
        return self

    def assess(self) -> Assessment | None:
        """Assess the winner; return ``None`` without held-out scores."""
        return None if self.store is None else self._assessed(seed_of(self.config.random_state))

    @abstractmethod
    def _assessed(self, seed: int) -> Assessment | None:
        """Assess the winner by its held-out scores."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AnsweredResult(SearchResult):
    """Result whose answers can be limited, reviewed, tested and moved to another prevalence."""

    # Samples held back that limits on wrong alerts compare with, if there are some.
    calibrated: ComparedRows | None = None
    # Training rows as the final model scores them, which are compared with besides out-of-fold scores.
    trained: ComparedRows | None = None

    # ------------------------------------------------------------ tests of a constraint

    def tested(self, rule: DecisionRule, held_back: Task | None, confidence: float) -> Self:
        """Return the result with the best decision that passes a test, on samples held back or on all without them."""
        return with_tested_steps(self, rule, held_back, confidence)

    def tested_by(self, test: Guarantee) -> Self:
        """Keep the test of the decisions."""
        return replace(self, guarantee=test, feasible=test.holds)

    # Names of the views of each part of the constraint, where it has several.
    view_names: ClassVar[Sequence[str]] = ()

    @property
    @abstractmethod
    def rates(self) -> dict[str, float]:
        """Constrained values on held-out samples, by their names."""

    # ------------------------------------------------------------ scores

    @property
    @abstractmethod
    def learnt_shares(self) -> Array:
        """Shares of the classes, by code and by weight, that the winner was trained with."""

    @property
    def scored(self) -> KnownSamples | None:
        """Held-out entries of two classes with their scores; ``None`` where there are none."""
        return None

    def scores_beside(self, segment: Label) -> ScoredEntries | None:
        """Return the held-out entries that one threshold decides, or that of a segment; ``None`` where none does."""
        return None

    @property
    def probable(self) -> KnownSamples | None:
        """Held-out entries of several classes with their probabilities; ``None`` for others."""
        return None

    def band(self, confidence: float) -> ConfidenceBand | None:
        """Bound the rates at all thresholds of scores of unseen samples; ``None`` where there are no such scores."""
        return None

    @property
    def answers_by_probability(self) -> RankedAnswers | None:
        """Answers by probability alone, where expected costs rank rows otherwise; ``None`` elsewhere."""
        return None

    @property
    def follows_shares(self) -> bool:
        """True where `at_shares` can adapt the decision to another share of positives."""
        supported = "at_prevalence" not in self.supports.methods
        return supported and self.has_scores and truth_of(self.config.metric) is None

    # ------------------------------------------------------------ reviews

    @abstractmethod
    def reviews(self, review: Review, names: Sequence[Label]) -> Any:
        """Tune the rule of answers with reviews on the held-out entries; of two labels the positive one comes last."""

    @abstractmethod
    def tested_reviews(self, review: Review, rule: Any, calibration: Task, confidence: float) -> Any:
        """Tune the rule of answers with reviews, and test its limits on wrong ones on samples held back."""

    @abstractmethod
    def evaluation(self, seed: int, review: Review | None = None) -> Evaluation:
        """Return what evaluates the winner's answers to the held-out entries, within limits or with reviews."""

    def reviewed(self, bands: Any, assessment: Assessment) -> Any:
        """Assess answers with reviews."""
        evaluation = self.evaluation(assessment.random_state, bands.review)
        codes = self.review_codes(bands, evaluation.answers)
        worth = evaluation.reviewed(bands.review, codes, assessment)
        table = evaluation.terms.table(GivenAnswers.whole(codes), evaluation.terms.weight)
        totals, right = self.totals(table), np.diagonal(table)
        return Reviewed.of(worth, bands, [*map(str, bands.names), ANSWERS[1]], totals, right)

    def totals(self, table: Array) -> Array:
        """Sum a table of true classes and answers, reviews last, over the classes, by answers that have names."""
        return table.sum(axis=0)

    @abstractmethod
    def review_codes(self, bands: Any, answers: TunedAnswers) -> IntArray:
        """Return the answers with reviews to the entries of an evaluation; the number of answers is a review."""

    # ------------------------------------------------------------ limits on wrong alerts

    @abstractmethod
    def held_out_rows(self) -> ComparedRows:
        """Collect the held-out entries that limits on wrong alerts compare with."""

    @abstractmethod
    def scored_rows(self, rule: Any, task: Task) -> ComparedRows:
        """Score samples by the rule that predicts, for limits on wrong alerts."""

    def with_calibration(self, rule: DecisionRule, calibration: Task) -> Self:
        """Keep the samples held back, which the model has not been trained on, for limits on wrong alerts."""
        return replace(self, calibrated=self.scored_rows(rule, calibration))

    def with_training(self, rule: Any, some: Task) -> Self:
        """Keep some of the training samples, for limits on wrong alerts."""
        return replace(self, trained=self.scored_rows(rule, some)) if self.has_scores else self

    def wrong_alerts(self, answer: int, *more: Any) -> WrongAlerts:
        """Collect scores of rows for which an alert is wrong, of calibration samples or held-out and training rows.

        ``more`` are the rule of answers with reviews, and the classes with a limit.
        """
        known = self.alerts_among(self.calibrated or self.held_out_rows(), answer, *more)
        if self.calibrated is not None or not self.n_splits:
            return replace(known, exact=True)
        if self.trained is None:
            return known
        return replace(known, trained=self.alerts_among(self.trained, answer, *more).of_sample(known.n_rows))

    def alerts_among(self, known: ComparedRows, answer: int, bands: Any = None) -> WrongAlerts:
        """Collect the scores of rows for which an alert is wrong; ``bands`` have the rule of answers with reviews."""
        return known.alerts(known.rows, answer)

    @abstractmethod
    def alert_limits(self, wrong_at_most: object, names: list[Label], bands: Any = None) -> dict[int, AlertLimit]:
        """Read limits on wrong alerts by answer; of two classes ``names`` has the positive one last."""

    # ------------------------------------------------------------ capacity

    @abstractmethod
    def capacity_limits(self, at_most: object, names: list[Label]) -> dict[int, float]:
        """Read shares of the rows by answer; of two classes ``names`` has the positive one last."""

    def capacity(
        self, at_most: object, names: list[Label], assess: Callable[[], Assessment]
    ) -> Capacity | NamedCapacities:
        """Assess answers of which some go to no more than a share of the rows; ``assess`` those without limits."""
        return self.within_limits(at_most, self.capacity_limits(at_most, names), self.evaluation, assess)

    @staticmethod
    def within_limits(
        at_most: object,
        limits: Mapping[int, float],
        evaluation_by: Callable[[int], Evaluation],
        assess: Callable[[], Assessment],
    ) -> Capacity | NamedCapacities:
        """Assess answers within limits that were read of ``at_most``; ``evaluation_by`` evaluates them by a seed."""
        assessment = assess()
        evaluation = evaluation_by(assessment.random_state)
        ((worth, captured),) = evaluation.within([limits], assessment)
        answers, weight = evaluation.answers, evaluation.terms.weight
        given = answers.within(limits, weight)
        parts = {
            answer: Capacity(
                at_most=share,
                value=worth.corrected_score,
                interval=worth.score_interval,
                threshold=answers.border(answer, given),
                acted_on=min(share, answers.acted(answer, given, weight)),
                captured=captured[answer],
            )
            for answer, share in limits.items()
        }
        if not isinstance(at_most, Mapping):
            return parts[1]
        named = dict(zip(at_most, parts.values()))
        return NamedCapacities.of(worth.corrected_score, worth.score_interval, named)


def with_tested_steps(best: Any, rule: DecisionRule, held_back: Task | None, confidence: float) -> Any:
    """Test decisions of a result that are tuned to stricter and stricter levels."""
    assert held_back is not None, "decisions that are tuned are tested on other samples"
    store, steps, rows = best.store, best.stricter(), best.rows_of(rule, held_back)
    groups = store.samples if store.has_groups else None
    weight = None if held_back.weight is None else store.weight
    # Decisions are tested and no scores.
    none, other = (np.zeros(truth.shape[0], dtype=bool) for truth in (store.truth, held_back.codes))
    known = ScoredSamples(none, none, weight, None, groups, store.repeats)
    new = ScoredSamples(other, other, held_back.weight, None, held_back.groups)
    searched = best.views(store.truth, [step.decided for step in steps], known)
    tested = best.views(held_back.codes, [step.decide(rows) for step in steps], new, held_back)
    return with_tested_step(steps, best.constraint, searched, tested, confidence, best.view_names)


def held_out_units(task: Task) -> HeldOutEntries:
    """Return what the samples of a task are of, which no model has been trained on: their weights and groups."""
    return HeldOutEntries.of_rows(task.n_samples, task.weight, task.groups)


# Relative duality gap of the winner from which on the user is told.
_OPEN = 0.05


def reason_of(studies: Sequence[History]) -> str:
    """Return why studies asked for no more trials."""
    return "; ".join(dict.fromkeys(study.stop_reason for study in studies if study.stop_reason))


def warn_of_open_gap(winner: Trial) -> None:
    """Warn where the model of a winner is far from its optimum."""
    if winner.duality_gap is not None and winner.duality_gap > _OPEN:
        warn(
            f"the objective of the best model may be {winner.duality_gap:.0%} above its optimum; scale the features, "
            "lower C, or raise max_iter of the base",
            ConvergenceWarning,
        )


def warn_of_violation(constraint: object, rate: float | None) -> None:
    """Warn where no trial keeps the constraint."""
    warn(
        f"no trial satisfies {constraint} on held-out data; the closest one has {rate:.4g}. Loosen the constraint, or "
        "add trials or features"
    )
