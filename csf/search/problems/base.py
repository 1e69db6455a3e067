"""Base classes of the kinds of problem that a search solves, and of what a search found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from csf._common.messages import warn
from csf._common.typing import Array, Estimator, IntArray, Label, Params
from csf._common.validation import check_fraction, floats, place_of, small_indices
from csf.data.folds import Fold
from csf.data.labels import learnt_classes
from csf.data.responses import respond
from csf.evaluate import MAX_BYTES, EntryStore, TrialKey, seed_of
from csf.metrics import get_constraint, get_metric
from csf.metrics.base import rank
from csf.metrics.constraints import ANSWERS
from csf.metrics.registry import truth_of
from csf.metrics.trials import Trial
from csf.search.certification import with_tested_step
from csf.search.config import FAST, MODEL, Model, cv_of
from csf.search.training import FoldResult
from csf.thresholding.alerts import AlertLimit
from csf.thresholding.batch import places_limited
from csf.thresholding.capacity import Capacity, LabelledScores, NamedCapacities, Reviewed, answer_codes
from csf.thresholding.evaluation import GivenAnswers
from csf.thresholding.exact_tests import ScoredSamples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import BoolArray, Samples
    from csf.data.folds import Task
    from csf.data.labels import Labels
    from csf.evaluate import Assessment, Candidate
    from csf.evaluate.stores import Store
    from csf.metrics import Constraint, Review
    from csf.metrics.profile import ErrorProfile
    from csf.search.config import SearchConfig, SearchEffort, Unsupported
    from csf.search.plan import Plan
    from csf.search.selection import SettingRace
    from csf.search.study import History
    from csf.search.training import Evaluator
    from csf.thresholding.alerts import ComparedRows, WrongAlerts
    from csf.thresholding.band import ConfidenceBand
    from csf.thresholding.base import DecisionRule
    from csf.thresholding.capacity import RankedAnswers, ReviewBands
    from csf.thresholding.certificates import Guarantee
    from csf.thresholding.evaluation import Evaluation, TunedAnswers
    from csf.thresholding.exchange import ScoredEntries
    from csf.thresholding.rule import AllowedAnswers
    from csf.trainers.base import Trainer, Training


# Studies of all settings of a search.
Studies: TypeAlias = "list[Any]"


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """A kind of problem: how its target is read, how trials are evaluated, and what becomes of the winner."""

    labels: Labels

    # Options that a search of this kind has no use for: what is accepted, and why nothing else is.
    unsupported: ClassVar[Mapping[str, Unsupported]] = {}
    # Whether trainings may have other costs than equal ones.
    searches_costs: ClassVar[bool] = True

    @property
    def decides_by_score(self) -> bool:
        """True where one threshold on one score decides."""
        return False

    @classmethod
    @abstractmethod
    def matches(cls, config: SearchConfig, y: ArrayLike) -> bool:
        """Check whether a search with these options, for this target, is of this kind."""

    @classmethod
    @abstractmethod
    def read(cls, config: SearchConfig, X: Samples, y: ArrayLike, given: Params) -> tuple[Problem, IntArray]:
        """Read samples, target and costs of rows; raise a ValueError for options that this kind does not support."""

    def read_constraint(self, constraint: str | Constraint | None) -> Constraint | None:
        """Read a constraint as this kind of problem does."""
        return get_constraint(constraint)

    @property
    def content(self) -> tuple[object, ...]:
        """What identifies the problem in a checkpoint, besides samples, codes and weights."""
        return ()

    @abstractmethod
    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """Check the user's weights."""

    def of_part(self, task: Task) -> tuple[Self, Task]:
        """Return the problem of a task that may be a part of all samples, and what is left of the task."""
        return self, task

    @abstractmethod
    def settings(self, config: SearchConfig, model: Model, n_samples: int | None) -> list[Params]:
        """Return the settings of a model's parameters, see `settings_of`."""

    def cv(self, config: SearchConfig, y: Array, effort: SearchEffort, *, random_state: Any) -> Any:
        """Return the splitter, or the splits."""
        return cv_of(config.cv, y, effort, random_state=random_state)

    def stakes(self, task: Task) -> Array | None:
        """Return what each sample contributes to the value; ``None`` where all count alike."""
        return task.weight

    @abstractmethod
    def studies(self, config: SearchConfig, folds: list[Fold], efforts: Sequence[SearchEffort]) -> Studies:
        """Return one study without trials for each setting, which has an effort."""

    def extended(self, config: SearchConfig, plan: Plan) -> Plan:
        """Return the plan with the trainings that this kind of problem adds."""
        return plan

    def race(self, config: SearchConfig, plan: Plan, store: Store | None) -> SettingRace | None:
        """Return what decides which settings are trained, or at further costs; ``None`` for all of them."""
        return None

    @abstractmethod
    def judge(self, config: SearchConfig) -> Evaluator:
        """Return what evaluates trainings."""

    def prefit(self, config: SearchConfig, task: Task) -> tuple[SearchResult, DecisionRule]:
        """Evaluate fitted bases; return the result of the best one and the rule that predicts."""
        bases = [FittedBase.of(model.base, task.user_labels) for model in config.models]
        results = [self.fitted_result(config, base, task) for base in bases]
        stopped = "the base was fitted before: only its decision was tuned"
        if len(bases) > 1:
            stopped = "the models were fitted before: only their decisions were tuned, and the best of them was chosen"
        studies = self.fitted_studies(config, task)
        searched = judge_fitted(config, task, self.fitted_judge(config, results), studies, results, stopped)
        # None of them has parameters that margins are for.
        found = self.concluded(searched, [Model(None, None, None)])
        setting = found.key[0]
        return found, self.fitted_rule(found, bases[setting], results[setting])

    @abstractmethod
    def fitted_result(self, config: SearchConfig, base: FittedBase, task: Task) -> FoldResult:
        """Predict all samples by a fitted base."""

    def fitted_studies(self, config: SearchConfig, task: Task) -> Studies:
        """Return a study with one pending trial for each fitted base."""
        everything = np.arange(task.n_samples)
        efforts = [FAST] * len(config.models)
        studies = self.studies(replace(config, n_trials=1), [Fold(task, everything, everything)], efforts)
        for study in studies:
            study.ask_batch()
        return studies

    def fitted_judge(self, config: SearchConfig, results: Sequence[FoldResult]) -> Evaluator:
        """Return what evaluates fitted bases."""
        return self.judge(config)

    @abstractmethod
    def fitted_rule(self, found: Any, base: FittedBase, result: FoldResult) -> DecisionRule:
        """Build the rule of a fitted base."""

    def conclude(self, config: SearchConfig, plan: Plan, store: Store | None, stopped: str | None) -> SearchResult:
        """Return the result of a search that is over."""
        return self.concluded(SearchResult.of_plan(plan, config, store, stopped), plan.models)

    @abstractmethod
    def concluded(self, searched: SearchResult, models: Sequence[Model]) -> SearchResult:
        """Choose the winner among the trials of some models, and its decision."""

    def held_out_scores(self, model: Any, fold: Any) -> Array:
        """Compute the scores in what a fold holds out that are averaged over models: probabilities of "positive"."""
        null = fold.labels.learnt_by(model).null
        score = respond(model, fold.X_test, null, tune=True, methods=("predict_proba",)).score
        assert score is not None, "it was asked for"
        return score

    @abstractmethod
    def with_mean_scores(self, found: Any, mean: Array, plan: Plan) -> SearchResult:
        """Replace the winner's held-out scores by means over models, and all that is tuned on them."""

    def rule(self, found: Any, trainer: Trainer, training: Training) -> DecisionRule:
        """Build the rule of the winner, trained on all samples."""
        return self.rule_of(found, trainer.estimator(training))

    @abstractmethod
    def rule_of(self, found: Any, estimator: Any) -> DecisionRule:
        """Build the rule of a winner that is a fitted estimator; of several labels there is a list of these."""


class FittedBase(NamedTuple):
    """Fitted base with its classes, the user's names of these, and whether it was trained on codes."""

    base: Estimator
    known: Array
    names: Array
    coded: bool

    @classmethod
    def of(cls, base: Estimator, labels: Labels) -> Self:
        """Read the classes of a base: the user's labels, or codes where only one order of these is possible."""
        check_is_fitted(base)
        known = learnt_classes(base) if hasattr(base, "classes_") else labels.classes
        if known.tolist() != list(range(labels.classes.size)) or known.tolist() == labels.classes.tolist():
            return cls(base, known, known, coded=False)  # the base may have other names besides
        labels.check_codes(known)
        return cls(base, known, labels.decode(known), coded=True)


def judge_fitted(
    config: SearchConfig,
    task: Task,
    judge: Evaluator,
    studies: Sequence[History],
    results: Sequence[FoldResult],
    stopped: str,
) -> SearchResult:
    """Evaluate fitted bases: the pending trial of each study is judged on all samples, without training."""
    everything = small_indices(np.arange(task.n_samples), task.n_samples)
    fold = Fold(task, everything, everything)
    vars(fold).update(y_test=task.codes)
    store = judge.store(task.codes, task.weight, samples=everything, max_bytes=MAX_BYTES)
    store.draw_together(task.groups)
    for at, (study, result) in enumerate(zip(studies, results, strict=True)):
        (trial,) = study.trials
        fields, predictions = judge.judge([fold], [result], trial)
        assert predictions is not None, "nothing was trained that could fail"
        trial = study.record(trial, setting=at, **fields | {"fold_scores": ()})
        store.add_trial((at, trial.number), trial, *predictions)
    settings: list[Params] = [{} if model.name is None else {MODEL: model.name} for model in config.models]
    return SearchResult(
        config=config, studies=list(studies), settings=settings, n_splits=0, store=store, stop_reason=stopped
    )


def held_out_units(task: Task) -> Store:
    """Return what the samples of a task are of, which no model has been trained on: their weights and groups."""
    units: Store = EntryStore(np.zeros(task.n_samples, dtype=bool), task.weight)
    units.draw_together(task.groups)
    return units


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
    table = {"params": params, "param_t": _column(trials, attrgetter("t")), **costs}
    table |= _setting_columns(trials, settings) | _split_columns(trials, n_folds) | dict(judged)
    table |= {name: _column(trials, attrgetter(name)) for name in ("value", "duality_gap", "fit_time", "score_time")}
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
    table["pooled_test_score"] = _column(trials, lambda t: t.score)
    table["rank_test_score"] = _ranks(trials)
    return table


def _column(trials: Sequence[Trial], get: Callable[[Trial], float | None]) -> Array:
    return np.array([np.nan if get(t) is None else get(t) for t in trials], dtype=float)


def _ranks(trials: Sequence[Trial]) -> Array:
    """Rank the trials, 1 for the best; ties share a rank, and failed trials come last."""
    keys = [rank(np.inf, -np.inf) if trial.score is None else rank(trial.violation, trial.score) for trial in trials]
    first = {key: place for place, key in reversed(list(enumerate(sorted(keys), start=1)))}
    return np.array([first[key] for key in keys])


# Relative duality gap of the winner from which on the user is told.
_OPEN = 0.05


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchResult:
    """Result of a search; `csf.CostSearch` describes the attributes that it sets."""

    # Kind of problem: "binary", "multiclass", "row_costs", "multilabel" with a search for each label, or
    # "shared_threshold" of all labels; "row_thresholds" or "segments" where rows have thresholds of their own.
    kind: ClassVar[str]
    # Whether a single threshold decides; if not, `curve` and `study` raise errors.
    has_threshold: ClassVar[bool] = True
    # What the held-out scores of the winner are, on the axes of plots.
    score_name: ClassVar[str] = "score"

    config: SearchConfig
    studies: list[Any]
    settings: list[Params]
    n_splits: int
    store: Any
    stop_reason: str
    # What is not known of every kind: without a constraint, and without an upper bound.
    score: float = np.nan
    feasible: bool = True
    upper_bound: float = np.nan
    gap: float = np.nan
    # Test of the constraint on samples that were held back, or on all.
    guarantee: Guarantee | None = None
    # Samples held back that limits on wrong alerts compare with, if there are some.
    calibrated: ComparedRows | None = None
    # Training rows as the final model scores them, which are compared with besides out-of-fold scores.
    trained: ComparedRows | None = None

    @classmethod
    def of_plan(cls, plan: Plan, config: SearchConfig, store: Store | None, stopped: str | None) -> SearchResult:
        """Record a finished search; ``stopped`` says why it ended where the studies do not."""
        return SearchResult(
            config=config,
            studies=plan.studies,
            settings=plan.settings,
            n_splits=len(plan.splits),
            store=store,
            stop_reason=stopped or "; ".join([reason_of(plan.studies), *plan.unsearched, *plan.notes]),
        )

    @property
    def shared(self) -> dict[str, Any]:
        """Fields that are known before anything is chosen."""
        return {each.name: getattr(self, each.name) for each in fields(SearchResult) if each.default is MISSING}

    @cached_property
    def trials(self) -> list[Trial]:
        """Trials of all settings."""
        return [trial for study in self.studies for trial in study.trials]

    @property
    def metric(self) -> Any:
        """Metric that was maximised, under the constraint."""
        return self.studies[0].metric

    @staticmethod
    def read_metric(metric: Any) -> Any:
        """Read a metric as this kind of problem does."""
        return get_metric(metric)

    def study(self, setting: int | None = None) -> Any:
        """Return the study of a setting, or the winner's.

        Raises
        ------
        TypeError, ValueError
            If ``setting`` is none of the search, or this kind of problem has no study of class costs.
        """
        setting = self.key[0] if setting is None else setting
        if not 0 <= setting < len(self.studies):
            raise ValueError(f"setting must be in 0..{len(self.studies) - 1} or None for the winner's, got {setting!r}")
        return self.studies[setting]

    @property
    def key(self) -> TrialKey:
        """Setting and number of the winner."""
        raise NotImplementedError

    def place(self, key: TrialKey) -> int:
        """Return the place of a trial."""
        return next(at for at, trial in enumerate(self.trials) if (trial.setting, trial.number) == key)

    @property
    def index(self) -> int:
        """Place of the winner."""
        return self.place(self.key)

    @property
    def params(self) -> Params:
        """Setting of the winner."""
        return self.settings[self.key[0]]

    @property
    def table(self) -> dict[str, Array]:
        """Table of the trials, see `trial_table`."""
        raise NotImplementedError

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

    def untested(self) -> Self:
        """Forget the test of the constraint, for other decisions."""
        return replace(self, guarantee=None)

    def tested(self, rule: Any, held_back: Task | None, confidence: float) -> Self:
        """Return the result with the best decision that passes a test, on samples held back or on all without them."""
        raise NotImplementedError

    def tested_by(self, test: Guarantee) -> Self:
        """Keep the test of the decisions."""
        return replace(self, guarantee=test, feasible=test.holds)

    @property
    def constraint(self) -> Constraint | None:
        """Constraint of the decisions."""
        return get_constraint(self.config.constraint)

    @property
    def rates(self) -> dict[str, float]:
        """Constrained values on held-out samples, by their names."""
        constraint = self.constraint
        parts = {} if constraint is None else constraint.named_parts
        return {name: float(part.rate.of(self.errors)) for name, part in parts.items()}

    @property
    def errors(self) -> ErrorProfile:
        """Error profile of the decisions about the held-out samples."""
        raise NotImplementedError

    @property
    def scored(self) -> tuple[BoolArray, Array] | None:
        """True class and score of held-out samples of two classes, each once; ``None`` where there are none."""
        return None

    def scores_beside(self, segment: Label) -> ScoredEntries | None:
        """Return the held-out entries that one threshold decides, or that of a segment; ``None`` where none does."""
        return None

    @property
    def probable(self) -> tuple[Array, IntArray, Array] | None:
        """Shares of several classes, and true class and probabilities of held-out samples; ``None`` for others."""
        return None

    def band(self, confidence: float) -> ConfidenceBand | None:
        """Bound the rates at all thresholds of scores of unseen samples; ``None`` where there are no such scores."""
        return None

    @property
    def answers_by_probability(self) -> RankedAnswers | None:
        """Answers by probability alone, where expected costs rank rows otherwise; ``None`` elsewhere."""
        return None

    @property
    def moves(self) -> bool:
        """True where `moved` can adapt the threshold to another share of positives."""
        return self.has_scores and truth_of(self.config.metric) is None

    @property
    def has_scores(self) -> bool:
        """True where the winner has held-out scores."""
        return self.store is not None and self.store[self.key].score is not None

    def reviews(self, review: Review, names: Sequence[Label]) -> Any:
        """Tune the rule of three answers on the held-out entries; of two labels the positive one comes last."""
        bands = self._named_bands(review, names)
        return bands.limited(LabelledScores.of(self, bands))

    def tested_reviews(self, review: Review, rule: Any, calibration: Task, confidence: float) -> Any:
        """Tune the rule of three answers, and test its limits on wrong ones on samples held back."""
        bands = self._named_bands(review, calibration.user_labels.answers)
        rows = rule.leaning(calibration.X, bands.review, bands.extra_cost)
        tested = LabelledScores(rows, calibration.codes > 0, calibration.weight, calibration.groups)
        tested = tested._replace(lost=rule.lost(calibration.X, calibration.user_labels.decode(calibration.codes)))
        return bands.limited(LabelledScores.of(self, bands), tested, confidence)

    def _named_bands(self, review: Review, names: Sequence[Label]) -> ReviewBands:
        """Compute the bands of three answers with the labels that they stand for."""
        limits = {ANSWERS[::2][at]: limit for at, limit in review.limits_on(names).items()}
        return replace(self.bands(replace(review, wrong=limits or None)), names=names)

    def bands(self, review: Review) -> ReviewBands:
        """Compute the bands of three answers, before limits on wrong ones."""
        raise NotImplementedError

    def leaning(self, review: Review, extra_cost: float) -> AllowedAnswers:
        """Describe the held-out entries for three answers."""
        raise NotImplementedError

    def evaluation(self, seed: int, review: Review | None = None) -> Evaluation:
        """Return what evaluates the winner's answers to the held-out entries, within limits or with reviews."""
        raise NotImplementedError

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

    @property
    def lost(self) -> BoolArray | None:
        """Held-out entries that are taken for a wrong class, of several beside a null class."""
        return None

    def review_codes(self, bands: Any, answers: TunedAnswers) -> IntArray:
        """Return the answers with reviews to the entries of an evaluation; the number of answers is a review."""
        return answer_codes(bands.decide(self.leaning(bands.review, bands.extra_cost)))

    def held_out_rows(self) -> ComparedRows:
        """Collect the held-out entries that limits on wrong alerts compare with."""
        raise NotImplementedError

    def scored_rows(self, rule: Any, task: Task) -> ComparedRows | None:
        """Score samples by the rule that predicts, for limits on wrong alerts; return ``None`` where there are none."""
        raise NotImplementedError

    def with_calibration(self, rule: Any, calibration: Task) -> Self:
        """Keep the samples held back, which the model has not been trained on, for limits on wrong alerts."""
        return replace(self, calibrated=self.scored_rows(rule, calibration))

    def with_training(self, rule: Any, some: Task) -> Self:
        """Keep some of the training samples, for limits on wrong alerts."""
        return replace(self, trained=self.scored_rows(rule, some)) if self.has_scores else self

    def wrong_alerts(self, at: int, *more: Any) -> WrongAlerts:
        """Collect scores of rows for which an alert is wrong, of calibration samples or held-out and training rows.

        ``more`` are the rule of answers with reviews, and the classes with a limit.
        """
        known = self.alerts_among(self.calibrated or self.held_out_rows(), at, *more)
        if self.calibrated is not None or not self.n_splits:
            return replace(known, exact=True)
        if self.trained is None:
            return known
        return replace(known, trained=self.alerts_among(self.trained, at, *more).of_sample(known.n_rows))

    def alerts_among(self, known: ComparedRows, at: int, bands: Any = None) -> WrongAlerts:
        """Collect the scores of rows for which an alert is wrong; ``bands`` have the rule of answers with reviews."""
        return known.alerts(known.rows, at)

    def alert_limits(self, wrong_at_most: object, names: list[Label], bands: Any = None) -> dict[int, AlertLimit]:
        """Read a limit on wrong alerts; of two classes ``names`` has the positive one last."""
        share = wrong_at_most
        if isinstance(wrong_at_most, Mapping):
            if list(places_limited(wrong_at_most, names, option="wrong_at_most")) != [1]:
                raise ValueError(
                    f"wrong_at_most limits the positive class {names[1]} alone, by a number such as 0.2, got "
                    f"{wrong_at_most!r}"
                )
            share = next(iter(wrong_at_most.values()))
        return {1: AlertLimit(self.wrong_alerts(1, bands), check_fraction(share, "wrong_at_most"))}

    def capacity_limits(self, at_most: Any, names: list[Label]) -> dict[int, float]:
        """Read shares of the rows by answer; of two classes ``names`` has the positive one last."""
        if isinstance(at_most, Mapping):
            if list(places_limited(at_most, names)) != [1]:
                raise ValueError(f"at_most limits the positive class {names[1]!r} alone, got {at_most!r}")
            (at_most,) = at_most.values()
        return {1: check_fraction(at_most, "at_most")}

    def capacity(self, at_most: Any, names: list[Label], assessment: Assessment) -> Capacity | NamedCapacities:
        """Assess answers of which some go to no more than a share of the rows."""
        limits = self.capacity_limits(at_most, names)
        evaluation = self.evaluation(assessment.random_state)
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

    def assess(self) -> Assessment | None:
        """Assess the winner; return ``None`` without held-out scores."""
        return None if self.store is None else self._assessed(seed_of(self.config.random_state))

    def _assessed(self, seed: int) -> Assessment:
        """Assess the winner by its held-out scores."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateResult(SearchResult):
    """Result of a search whose candidates are pairs of a trial and a decision rule."""

    candidate: Candidate

    def tested(self, rule: Any, held_back: Task | None, confidence: float) -> Self:
        """Test decisions that are tuned to stricter and stricter levels."""
        return with_tested_steps(self, rule, held_back, confidence)

    @property
    def key(self) -> TrialKey:
        """Setting and number of the winner."""
        return self.candidate.key

    @property
    def winner(self) -> Trial:
        """Trial that wins."""
        return self.trials[self.index]


def with_tested_steps(best: Any, rule: Any, held_back: Task | None, confidence: float) -> Any:
    """Test decisions of a result that are tuned to stricter and stricter levels."""
    assert held_back is not None, "decisions that are tuned are tested on other samples"
    store, steps, rows = best.store, best.stricter(), best.rows_of(rule, held_back)
    groups = store.samples if store.has_groups else None
    weight = None if held_back.weight is None else store.weight
    # Decisions are tested and no scores.
    none, other = (np.zeros(each.shape[0], dtype=bool) for each in (store.truth, held_back.codes))
    known = ScoredSamples(none, none, weight, None, groups, store.repeats)
    new = ScoredSamples(other, other, held_back.weight, None, held_back.groups)
    searched = best.views(store.truth, [step.decided for step in steps], known)
    tested = best.views(held_back.codes, [step.decide(rows) for step in steps], new)
    return with_tested_step(steps, best.config.constraint, searched, tested, confidence)


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


def in_order(shares: Mapping[Label, float], names: Sequence[Label]) -> Array:
    """Order shares that are given by name; raise a ValueError where the names differ."""
    places = {place_of(name, names, "pos"): share for name, share in shares.items()}
    if len(places) != len(names):
        raise ValueError(f"pos must have a share for each of {list(names)}, got those of {list(shares)}")
    return floats([places[at] for at in range(len(names))], "pos")
