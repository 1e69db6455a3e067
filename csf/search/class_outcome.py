"""What a search of several classes, none of which is special, found: one record from which everything else follows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.validation import check_labels, check_weights, floats
from csf.resampling import seed_of
from csf.search.failures import nothing_worked
from csf.search.outcome import reason_of, warn_of_open_gap
from csf.search.results import setting_columns, split_columns, trial_columns
from csf.thresholding.class_choice import Candidate, ClassQuestion, choose_class
from csf.thresholding.class_rule import RuleOfClasses, no_threshold
from csf.thresholding.linear_rule import LinearRule, confusion_of, tune_rule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Array, Estimator
    from csf.data.labels import Labels
    from csf.metrics.confusion import ConfusionMetric
    from csf.search.config import SearchConfig
    from csf.study.classes import ClassStudy
    from csf.thresholding.class_store import ClassStore
    from csf.trials import Trial

__all__ = ["ClassOutcome", "conclude_classes"]


@dataclass(frozen=True, eq=False)
class ClassOutcome:
    """What a search found; `csf.CostSearch` describes what it publishes of it."""

    config: SearchConfig
    studies: list[ClassStudy]
    settings: list[dict[str, Any]]
    n_splits: int
    store: ClassStore
    stop_reason: str
    candidate: Candidate
    rule: LinearRule = field(default_factory=lambda: LinearRule.argmax(0))
    confusion: Array = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def metric(self) -> ConfusionMetric:
        """What was maximised."""
        return self.studies[0].metric

    @cached_property
    def trials(self) -> list[Trial]:
        """Those of all settings."""
        return [trial for study in self.studies for trial in study.trials]

    @property
    def index(self) -> int:
        """Place of the winner."""
        keys = [(trial.setting, trial.number) for trial in self.trials]
        return keys.index(self.candidate.key)

    @property
    def winner(self) -> Trial:
        """The trial that wins."""
        return self.trials[self.index]

    @property
    def question(self) -> ClassQuestion:
        """What is asked about the held-out scores."""
        return ClassQuestion(self.metric, self.candidate, seed_of(self.config.random_state))

    def published(self) -> dict[str, Any]:
        """Attributes of the fitted search."""
        return {
            "trials_": self.trials,
            "n_trials_": len(self.trials),
            "n_splits_": self.n_splits,
            "studies_": self.studies,
            "cv_results_": self._table(),
            "stop_reason_": self.stop_reason,
            "best_index_": self.index,
            "best_params_": self.settings[self.winner.setting],
            "class_costs_": np.array(self.winner.costs),
            "rule_": self.rule,
            "confusion_": self.confusion,
            "best_score_": float(self.metric.value(self.confusion)),
            "feasible_": True,
            "upper_bound_": np.nan,
            "gap_": np.nan,
        }

    def _table(self) -> dict[str, Array]:
        """The trials as a table: metric of the own decision, of the tuned rule, and of rules tuned on other samples."""
        trials = self.trials
        table = {"params": np.array([{"t": t.t, **self.settings[t.setting]} for t in trials], dtype=object)}
        table["param_t"] = np.array([trial.t for trial in trials])
        table |= setting_columns(trials, self.settings) | split_columns(trials, self.n_splits)
        for name in ("tuned", "judged"):
            matrices = [getattr(trial, name) for trial in trials]
            values = [np.nan if each is None else float(self.metric.value(np.array(each))) for each in matrices]
            table[f"{name}_value"] = np.array(values)
        return table | trial_columns(trials)

    def rule_with(self, estimator: Estimator, labels: Labels) -> RuleOfClasses:
        """What predicts with a fitted estimator."""
        row, ruled = self.store[self.candidate.key], self.candidate.ruled
        calibrator = None if row.score is None else self.store.calibrator(row.score)
        known = np.asarray(getattr(estimator, "classes_", np.arange(labels.classes.size)))
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


def conclude_classes(
    config: SearchConfig,
    studies: list[ClassStudy],
    settings: list[dict[str, Any]],
    n_splits: int,
    store: ClassStore,
    *,
    stopped: str | None = None,
) -> ClassOutcome:
    """Outcome of a search that is over; a TypeError or ValueError where no trial worked."""
    if not len(store):
        raise nothing_worked([trial for study in studies for trial in study.trials])
    found = ClassOutcome(
        config=config,
        studies=studies,
        settings=settings,
        n_splits=n_splits,
        store=store,
        stop_reason=stopped or reason_of(studies),
        candidate=choose_class(store, studies[0].metric),
    )
    warn_of_open_gap(found.winner)
    return _ruled(found)


def _ruled(found: ClassOutcome) -> ClassOutcome:
    """An outcome with the rule of its candidate, tuned on all held-out entries, and what that decides about them."""
    store, n_classes = found.store, found.store.n_classes
    row, rule = store[found.candidate.key], LinearRule.argmax(n_classes)
    decided = row.decided
    if found.candidate.ruled:
        assert row.score is not None, "rules are tuned on scores"
        proba = store.probabilities(row.score, row.costs)
        rule = tune_rule(proba, store.truth, found.metric, weight=store.weight)
        decided = rule.decide(proba)
    return replace(found, rule=rule, confusion=confusion_of(store.truth, decided, n_classes, store.weight))
