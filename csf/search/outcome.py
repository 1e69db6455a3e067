"""What a search found: one record from which everything else follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property, partial
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from csf._common.messages import warn
from csf._common.typing import Array
from csf._common.validation import check_fraction, check_labels, check_weights, floats
from csf.evaluate import Chooser, ScoreRow, ScoreStore, TrialKey, assess, seed_of
from csf.evaluate.choices import BEST
from csf.metrics.base import rank
from csf.metrics.profile import ErrorProfile, Hull
from csf.metrics.trials import Trial, gap, nothing_worked, outcome
from csf.search.margin import bound_with_margin
from csf.search.selection import choose
from csf.strategies.base import level_of_costs
from csf.thresholding.capacity import Bands, Ranked, bands_of_score, choices_by_score, rank_by_score
from csf.thresholding.class_choice import Candidate, assess_class, choose_class
from csf.thresholding.curve import Cut, ThresholdCurve, sweep_several
from csf.thresholding.linear_rule import (
    LinearRule,
    RuleOfClasses,
    confusion_of,
    fit_calibrator,
    no_threshold,
    tune_rule,
)
from csf.thresholding.prevalence import curve_at_prevalence
from csf.thresholding.rule import Leaning

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import BoolArray, Estimator
    from csf.data.labels import Labels
    from csf.evaluate import Assessment
    from csf.metrics.base import Metric
    from csf.metrics.confusion import ConfusionMetric
    from csf.metrics.constraints import Review
    from csf.search.config import SearchConfig
    from csf.search.selection import Choice
    from csf.thresholding.certificates import Guarantee
    from csf.thresholding.class_choice import ClassStore

# ---------------------------------------------------------------- tables of trials


def cv_results(trials: list[Trial], settings: list[dict[str, Any]], n_folds: int) -> dict[str, Array]:
    """Table of all trials in their order, with what every fold says."""
    costs = {f"param_{name}": _column(trials, attrgetter(name)) for name in ("c_fn", "c_fp")}
    judged = {"threshold": _column(trials, attrgetter("threshold"))}
    judged["fn"] = _column(trials, lambda t: t.profile and t.profile.fn)
    judged["fp"] = _column(trials, lambda t: t.profile and t.profile.fp)
    return trial_table(trials, settings, n_folds, costs=costs, judged=judged)


def trial_table(
    trials: list[Trial],
    settings: list[dict[str, Any]],
    n_folds: int,
    *,
    judged: Mapping[str, Array],
    costs: Mapping[str, Array] = MappingProxyType({}),
) -> dict[str, Array]:
    """What trials of any kind tell, beside the columns of their kind: ``costs`` and what was ``judged``."""
    params = np.array([{"t": t.t, **settings[t.setting]} for t in trials], dtype=object)
    table = {"params": params, "param_t": _column(trials, attrgetter("t")), **costs}
    table |= _setting_columns(trials, settings) | _split_columns(trials, n_folds) | dict(judged)
    table |= {name: _column(trials, attrgetter(name)) for name in ("value", "duality_gap", "fit_time", "score_time")}
    table["state"] = np.array([t.state for t in trials])
    table["error"] = np.array([t.error for t in trials], dtype=object)
    return table


def _setting_columns(trials: Sequence[Any], settings: list[dict[str, Any]]) -> dict[str, Array]:
    """A column for each parameter that was searched."""
    table = {}
    for name in dict.fromkeys(name for setting in settings for name in setting):
        values = [settings[t.setting].get(name) for t in trials]
        table[f"param_{name}"] = np.empty(len(values), dtype=object)
        table[f"param_{name}"][:] = values
    return table


def _split_columns(trials: Sequence[Any], n_folds: int) -> dict[str, Array]:
    """Scores in the folds, of all folds pooled, and their ranks."""
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


def _column(trials: Sequence[Any], get: Callable[[Any], float | None]) -> Array:
    return np.array([np.nan if get(t) is None else get(t) for t in trials], dtype=float)


def _ranks(trials: Sequence[Any]) -> Array:
    """Place of each trial as trials win, 1 for the best; equals share it, failed trials come last."""
    keys = [rank(np.inf, -np.inf) if trial.score is None else rank(trial.violation, trial.score) for trial in trials]
    first = {key: place for place, key in reversed(list(enumerate(sorted(keys), start=1)))}
    return np.array([first[key] for key in keys])


# ---------------------------------------------------------------- two classes


# Relative duality gap of the winner from which on the user is told.
_OPEN = 0.05


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What a search found; `csf.CostSearch` describes what it publishes of it."""

    config: SearchConfig
    studies: list[Any]
    settings: list[dict[str, Any]]
    n_splits: int
    store: Any
    stop_reason: str
    # What is not known of every kind: without a constraint, and without an upper bound.
    score: float = np.nan
    feasible: bool = True
    upper_bound: float = np.nan
    gap: float = np.nan

    @property
    def shared(self) -> dict[str, Any]:
        """The fields that are known before anything is chosen."""
        return {each.name: getattr(self, each.name) for each in fields(Outcome) if each.default is MISSING}

    @cached_property
    def trials(self) -> list[Trial]:
        """Those of all settings."""
        return [trial for study in self.studies for trial in study.trials]

    @property
    def metric(self) -> Any:
        """What was maximised, under the constraint."""
        return self.studies[0].metric

    @property
    def key(self) -> TrialKey:
        """Setting and number of the winner."""
        raise NotImplementedError

    def place(self, key: TrialKey) -> int:
        """Place of a trial."""
        return next(at for at, trial in enumerate(self.trials) if (trial.setting, trial.number) == key)

    @property
    def index(self) -> int:
        """Place of the winner."""
        return self.place(self.key)

    @property
    def params(self) -> dict[str, Any]:
        """Setting of the winner."""
        return self.settings[self.key[0]]

    @property
    def table(self) -> dict[str, Array]:
        """See `trial_table`."""
        raise NotImplementedError

    def published(self) -> dict[str, Any]:
        """Attributes of the fitted search."""
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
        } | ({} if self.store is None else {"held_out_": self.store})

    @property
    def scored(self) -> tuple[BoolArray, Array] | None:
        """Truth and score of held-out samples of two classes, each once; ``None`` where there are none."""
        return None

    @property
    def moves(self) -> bool:
        """Whether `moved` can put the threshold at another share of positives."""
        return self.store is not None and self.store[self.key].score is not None

    def assess(self) -> Assessment | None:
        """What the winner is worth; ``None`` without held-out scores."""
        return None if self.store is None else self._assessed(seed_of(self.config.random_state))

    def _assessed(self, seed: int) -> Assessment:
        """What held-out scores say of the winner."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchOutcome(Outcome):
    """What a search of costs and a threshold found."""

    store: ScoreStore | None
    winner: Trial
    threshold: float | None
    constraint_value: float | None = None
    bound_margin: float = np.nan
    gain: Choice | None = None
    guarantee: Guarantee | None = None
    # Decisions on the held-out samples that took the place of the winner's own.
    decided: BoolArray | None = None
    # Place of the trial that would be best at another share of positives, and its score there.
    moved_best: tuple[int, float] | None = None
    counted: Sequence[Any] = field(default=())
    # How the winner was chosen.
    chooser: Chooser = BEST

    @property
    def key(self) -> TrialKey:
        """Setting and number of the winner."""
        return self.winner.setting, self.winner.number

    @cached_property
    def table(self) -> dict[str, Array]:
        """See `cv_results`."""
        dropped = np.array([self.studies[trial.setting].dropped for trial in self.trials])
        return cv_results(self.trials, self.settings, self.n_splits) | {"dropped": dropped}

    def published(self) -> dict[str, Any]:
        """Attributes of the fitted search."""
        attributes = super().published() | {
            "best_t_": self.winner.t,
            "best_cost_weights_": self.winner.costs,
            "best_threshold_": self.threshold,
            "constraint_value_": self.constraint_value,
            "bound_margin_": self.bound_margin,
        }
        if self.gain is not None:
            attributes |= {"gain_": self.gain.gain, "gain_by_chance_": self.gain.chance, "gain_error_": self.gain.error}
        if self.guarantee is not None:
            attributes["guarantee_"] = self.guarantee
        if self.moved_best is not None:
            attributes["best_index_at_prevalence_"], attributes["score_at_prevalence_"] = self.moved_best
        return attributes

    @property
    def scored(self) -> tuple[BoolArray, Array] | None:
        """Truth and score of held-out samples of two classes, each once; ``None`` where there are none."""
        store, score = self.store, self.row.score if self.moves else None
        if store is None or score is None or not np.isfinite(score).all():
            return None
        # Repeated folds say the same sample again. Members of a group are samples of their own.
        at = slice(None) if store.has_groups else np.unique(store.samples, return_index=True)[1]
        return store.is_pos[at], score[at].astype(np.float64)

    def moved(self, pos: float, rule: Any) -> tuple[SearchOutcome, Any]:
        """The outcome and the rule at another share of positives."""
        found = moved_to(self, pos)
        return found, None if rule is None else replace(rule, threshold=found.threshold)

    def curve(self) -> ThresholdCurve:
        """All thresholds of the winner's held-out scores."""
        row, store = self.row, self.store
        assert store is not None, "there is a row of it"
        return curve_of(store, row)

    @property
    def _judged_store(self) -> ScoreStore:
        """Held-out scores of all trials, or what was decided in their place."""
        store = self.store
        assert store is not None, "asked for where there is one"
        if self.decided is None:
            return store
        decided = ScoreStore(store.is_pos, store.weight, samples=store.samples, copies=store.copies)
        decided.has_groups = store.has_groups
        decided.add(self.key, decided=self.decided, value=self.row.value)
        return decided

    def _assessed(self, seed: int) -> Assessment:
        store = self._judged_store
        # Without splits nothing was trained: the model is the user's own.
        trained = self.n_splits > 0
        found = assess(store, self.metric, self.key, random_state=seed, chooser=self.chooser, trained=trained)
        if store.share == 1.0:
            return found
        # Counts of all rows say what was attained, and draws of a sample what the choice added to the best value there:
        # at the threshold of all rows the sample may miss the constraint. Chance falls with the root of the rows.
        metric, attained, by_chance = self.metric, self.row.value, store.share**0.5
        if self.threshold is not None:
            attained = metric.of(self.curve().best(metric, metric.constraint).profile)
        return replace(
            found,
            corrected_score=self.score - by_chance * (attained - found.corrected_score),
            monte_carlo_error=by_chance * found.monte_carlo_error,
        )

    def ranked(self, *, tuned_apart: bool = False) -> Ranked:
        """The held-out entries by their scores, on which nothing is tuned but thresholds."""
        row, store = self.row, self.store
        if store is None or row.score is None or self.threshold is None:
            raise ValueError(
                "threshold=None keeps the base's own predictions, so there is no score to rank rows by; use "
                "threshold='stable'"
            )
        known = self._judged_store, self.key, self.metric, self.chooser, self._error_costs
        return rank_by_score(store, row.score, self.threshold, self.metric, again=partial(choices_by_score, *known))

    def leaning(self, review: Review, extra_cost: float) -> Leaning:
        """The held-out entries by their scores, for three answers."""
        return Leaning.of_score(self.ranked().rank)

    def bands(self, review: Review) -> Bands:
        """Which scores get which of three answers."""
        ranked, costs = self.ranked(), self._error_costs()
        return bands_of_score(review, ranked.rank, ranked.store.truth, ranked.weight, costs, ranked.least)

    def _error_costs(self) -> tuple[float, float]:
        """Costs of both errors by which three answers are weighed against each other."""
        ranked, metric = self.ranked(), self.metric
        truth, weight = ranked.store.truth, ranked.weight
        share = float(np.average(truth, weights=weight))
        if metric.constraint is None:
            return metric.cost_weights(metric.clip_level(self.score, pos=share), pos=share)
        # What both errors cost where the threshold that the constraint asks for is the best one.
        proba = fit_calibrator("sigmoid", ranked.rank, truth, weight)
        assert proba is not None, "one was asked for"
        (share,) = proba.predict(np.array([ranked.least]))
        return 1.0 - share, share

    @property
    def row(self) -> ScoreRow:
        """Held-out scores of the winner."""
        if self.store is None:
            raise ValueError("the held-out scores of this search were not kept")
        return self.store[self.key]


def conclude(searched: Outcome, chooser: Chooser, counted: Sequence[Any] = ()) -> SearchOutcome:
    """Outcome of a search that is over, by what its ``chooser`` says.

    A TypeError or ValueError where no trial worked.
    """
    config, trials, metric, store = searched.config, searched.trials, searched.metric, searched.store
    won = choose(trials, metric, store, chooser)
    _warn_of(won.trial, metric)
    if store is not None:
        key = won.trial.setting, won.trial.number
        store.put(replace(store[key], threshold=won.threshold, value=won.score))
    # One bound for all settings: it speaks of every classifier on these data, whatever its parameters. What the
    # training parts say has no scores here, and so no margin.
    judged = store if config.bound_on == "validation" else None
    bound = bound_with_margin(trials, metric, pos=searched.studies[0].pos, bound=config.bound, store=judged)
    distance = gap(trials, bound.exact)
    assert distance is not None, "a winner attained something"
    return SearchOutcome(
        **searched.shared,
        winner=won.trial,
        threshold=won.threshold,
        score=won.score,
        feasible=won.trial.feasible,
        constraint_value=won.trial.rate,
        upper_bound=bound.value,
        gap=distance + bound.margin,
        bound_margin=bound.margin,
        gain=won.gain,
        counted=counted,
        chooser=chooser,
    )


def reason_of(studies: Sequence[Any]) -> str:
    """Why studies asked for no more trials."""
    return "; ".join(dict.fromkeys(study.stop_reason for study in studies if study.stop_reason))


def warn_of_open_gap(winner: Any) -> None:
    """Tell where the model of a winner is far from its optimum."""
    if winner.duality_gap is not None and winner.duality_gap > _OPEN:
        warn(
            f"the objective of the best model may be {winner.duality_gap:.0%} above its optimum; scale the features, "
            "lower C, or raise max_iter of the base",
            ConvergenceWarning,
        )


def _warn_of(winner: Trial, metric: Metric) -> None:
    """Tell what is wrong with a winner."""
    warn_of_open_gap(winner)
    if not winner.feasible:
        warn(
            f"no trial satisfies {metric.constraint} on held-out data; the closest one has {winner.rate:.4g}. Loosen "
            "the constraint, or add trials or features",
        )


def curve_of(store: ScoreStore, row: ScoreRow) -> ThresholdCurve:
    """All thresholds of the held-out scores of a trial."""
    if row.score is None:
        raise ValueError("the search kept the base's own decisions (threshold=None), so that no threshold can move")
    return sweep_several(store.is_pos, row.lost, row.score, store.weight)


# ---------------------------------------------------------------- another share of positives


def moved_to(found: SearchOutcome, pos: float) -> SearchOutcome:
    """The outcome where positives have another share: rates within the classes stay, all that is made of them moves."""
    pos, metric, known, row = check_fraction(pos, "pos"), found.metric, found.store, found.row
    assert known is not None, "there is a row of it"
    known = known if known.unmoved is None else known.unmoved
    cuts = {each.key: curve_at_prevalence(curve_of(known, each), pos).best(metric, metric.constraint) for each in known}
    own, store = cuts[found.key], _moved_store(known, pos)
    store.put(replace(row, threshold=own.threshold, value=own.value, violation=violation_of(metric, own)))
    trials = [_moved_trial(trial, metric, pos, cuts.get((trial.setting, trial.number))) for trial in found.trials]
    judged = store if found.config.bound_on == "validation" else None
    bound = bound_with_margin(trials, metric, pos=pos, bound=found.config.bound, store=judged)
    distance = gap(trials, bound.exact)
    best = min(cuts, key=lambda key: rank(violation_of(metric, cuts[key]), cuts[key].value, *key[::-1]))
    constraint = metric.constraint
    return replace(
        found,
        store=store,
        threshold=own.threshold,
        score=own.value,
        feasible=own.feasible,
        constraint_value=None if constraint is None else constraint.quantity.of(own.profile),
        upper_bound=bound.value,
        gap=np.nan if distance is None else distance + bound.margin,
        bound_margin=bound.margin,
        # The test was one of data with the share of the calibration samples.
        guarantee=None,
        decided=None,
        # Its threshold is the best one there.
        chooser=BEST,
        moved_best=(found.place(best), cuts[best].value),
    )


def violation_of(metric: Metric, cut: Cut) -> float:
    """By how much a threshold misses the constraint."""
    profile, constraint = cut.profile, metric.constraint
    return 0.0 if constraint is None else float(constraint.violation(profile.fn, profile.fp, pos=profile.pos))


def _moved_store(known: ScoreStore, pos: float) -> ScoreStore:
    """A store without rows whose weights have another share of positives."""
    factor, share = np.where(known.is_pos, pos, 1.0 - pos), np.average(known.is_pos, weights=known.weight)
    weight = factor / np.where(known.is_pos, share, 1.0 - share) * (1.0 if known.weight is None else known.weight)
    store = ScoreStore(known.is_pos, weight, samples=known.samples, copies=known.copies)
    store.repeats, store.has_groups, store.unmoved = known.repeats, known.has_groups, known
    return store


def _moved_trial(trial: Trial, metric: Metric, pos: float, cut: Cut | None) -> Trial:
    """What a training says at another share: weighted by its costs it still is the best at these rates."""
    if trial.profile is None:
        return trial
    up, down = pos / trial.profile.pos, (1.0 - pos) / (1.0 - trial.profile.pos)
    limits, factors = np.array([pos, 1.0 - pos]), np.array([up, down])
    fn, fp = np.minimum(np.array([trial.profile.fn, trial.profile.fp]) * factors, limits).tolist()
    hull = None if trial.hull is None else Hull(np.minimum(trial.hull.points * factors, limits))
    c_fn, c_fp = trial.c_fn / up, trial.c_fp / down
    fields_there = outcome(metric, ErrorProfile(fn, fp, pos), hull=hull, cut=cut)
    return replace(trial, t=level_of_costs(metric, c_fn, c_fp, pos=pos), costs=(c_fn, c_fp), **fields_there)


# ---------------------------------------------------------------- several classes


@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateOutcome(Outcome):
    """What a search found whose candidates are trials, each with ways to decide."""

    candidate: tuple[TrialKey, Any]

    @property
    def key(self) -> TrialKey:
        """Setting and number of the winner."""
        return self.candidate[0]

    @property
    def winner(self) -> Trial:
        """The trial that wins."""
        return self.trials[self.index]


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassOutcome(CandidateOutcome):
    """What a search of class weights and a rule found."""

    store: ClassStore
    candidate: Candidate
    rule: LinearRule = field(default_factory=lambda: LinearRule.argmax(0))
    confusion: Array = field(default_factory=lambda: np.empty((0, 0)))

    def _assessed(self, seed: int) -> Assessment:
        return assess_class(self.store, self.metric, self.candidate, seed)

    def published(self) -> dict[str, Any]:
        """Attributes of the fitted search."""
        return super().published() | {
            "class_costs_": np.array(self.winner.costs),
            "rule_": self.rule,
            "confusion_": self.confusion,
        }

    @property
    def table(self) -> dict[str, Array]:
        """The trials as a table: metric of the own decision, of the tuned rule, and of rules tuned on other samples."""

        def value(trial: Trial, name: str) -> float | None:
            matrix = getattr(trial, name)
            return None if matrix is None else float(self.metric.value(np.array(matrix)))

        columns = {f"{name}_value": _column(self.trials, partial(value, name=name)) for name in ("tuned", "judged")}
        return trial_table(self.trials, self.settings, self.n_splits, judged=columns)

    def rule_with(self, estimator: Estimator, labels: Labels) -> RuleOfClasses:
        """What predicts with a fitted estimator."""
        row, ruled = self.store[self.candidate.key], self.candidate.ruled
        calibrator = None if row.score is None else self.store.calibrator(row.score)
        known = labels.learnt_by(estimator).known
        weights = self.store.class_weights(row.costs)
        return RuleOfClasses(estimator, labels.classes, known, self.rule, weights, calibrator, own=not ruled)

    def value_of(self, y: ArrayLike, predicted: Array, classes: Array, sample_weight: ArrayLike | None) -> float:
        """Metric of predicted labels."""
        labels, known = check_labels(y)
        if not np.isin(known, classes).all():
            raise ValueError(f"y holds the labels {known.tolist()}, the search knows {classes.tolist()}")
        weight = check_weights(sample_weight, labels.shape[0])
        truth, codes = (np.searchsorted(classes, each) for each in (labels, predicted))
        return float(self.metric.value(confusion_of(truth, codes, classes.size, weight)))

    def curve(self) -> Any:
        """An error: no threshold decides."""
        raise no_threshold()

    def moved(self, shares: ArrayLike, rule: Any) -> tuple[ClassOutcome, Any]:
        """The outcome and the rule where classes have other shares: what is said within each class stays."""
        new, n_classes = floats(shares, "pos"), self.store.n_classes
        if new.shape != (n_classes,) or not (new > 0.0).all() or not np.isfinite(new).all():
            raise ValueError(f"pos must be one positive share for each of {n_classes} classes, got {shares!r}")
        store = self.store.moved(new / new.sum())
        row = store[self.candidate.key]
        if row.score is None:
            raise ValueError("the search kept the base's own decisions (threshold=None), so that no rule can move")
        found = _ruled(replace(self, store=store, candidate=Candidate(row.key, True)))
        if rule is None:
            return found, None
        return found, replace(rule, rule=found.rule, class_weights=store.class_weights(row.costs), own=False)


def conclude_classes(searched: Outcome) -> ClassOutcome:
    """Outcome of a search that is over; a TypeError or ValueError where no trial worked."""
    if not len(searched.store):
        raise nothing_worked(searched.trials)
    found = ClassOutcome(**searched.shared, candidate=choose_class(searched.store, searched.metric))
    warn_of_open_gap(found.winner)
    return _ruled(found)


def _ruled(found: ClassOutcome) -> ClassOutcome:
    """An outcome with the rule of its candidate and what that decides about all held-out entries."""
    rule, confusion = tuned_decision(found.store, found.metric, found.candidate)
    return replace(found, rule=rule, confusion=confusion, score=float(found.metric.value(confusion)))


def tuned_decision(store: ClassStore, metric: ConfusionMetric, candidate: Candidate) -> tuple[LinearRule, Array]:
    """The rule of a candidate, tuned on all held-out entries, and the confusion matrix of its decisions about them."""
    row, rule = store[candidate.key], LinearRule.argmax(store.n_classes)
    decided = row.decided
    if candidate.ruled:
        assert row.score is not None, "rules are tuned on scores"
        proba = store.probabilities(row.score, row.costs)
        rule = tune_rule(proba, store.truth, metric, weight=store.weight)
        decided = rule.decide(proba)
    return rule, confusion_of(store.truth, decided, store.n_classes, store.weight)


# ---------------------------------------------------------------- shares of classes as a user gives them


def in_order(shares: Mapping[Any, float], names: Sequence[Any]) -> Array:
    """Shares that are given by name, in the order of the names; a ValueError where they are those of others."""
    if set(shares) != set(names):
        raise ValueError(f"pos must have a share for each of {list(names)}, got those of {list(shares)}")
    return floats([shares[name] for name in names], "pos")
