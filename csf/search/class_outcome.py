"""What a search of several classes, none of which is special, found: one record from which everything is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.search.class_choice import Candidate, ClassQuestion, choose_class
from csf.search.failures import nothing_worked
from csf.search.outcome import warn_of_open_gap
from csf.search.results import setting_columns, split_columns, trial_columns
from csf.thresholding.class_rule import RuleOfClasses
from csf.thresholding.linear_rule import LinearRule, confusion_of, tune_rule

if TYPE_CHECKING:
    from csf._common.typing import Array, Estimator
    from csf.metrics.confusion import ConfusionMetric
    from csf.samples.labels import Labels
    from csf.search.class_store import ClassStore
    from csf.search.config import SearchConfig
    from csf.study.classes import ClassStudy, ClassTrial

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
    rule: LinearRule
    confusion: Array

    @property
    def metric(self) -> ConfusionMetric:
        """What was maximised."""
        return self.studies[0].metric

    @cached_property
    def trials(self) -> list[ClassTrial]:
        """Those of all settings."""
        return [trial for study in self.studies for trial in study.trials]

    @property
    def index(self) -> int:
        """Place of the winner."""
        keys = [(trial.setting, trial.number) for trial in self.trials]
        return keys.index(self.candidate.key)

    @property
    def winner(self) -> ClassTrial:
        """The trial that wins."""
        return self.trials[self.index]

    @property
    def question(self) -> ClassQuestion:
        """What is asked about the held-out scores."""
        seed = self.config.random_state
        return ClassQuestion(self.metric, self.candidate, seed if isinstance(seed, int) else 0)

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
        weights = np.array(row.costs)
        return RuleOfClasses(estimator, labels.classes, known, self.rule, weights, calibrator, own=not ruled)

    def without_store(self) -> ClassOutcome:
        """The same without the held-out scores."""
        return replace(self, store=None)


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
    metric, n_classes = studies[0].metric, store.n_classes
    candidate = choose_class(store, metric)
    row, rule = store[candidate.key], LinearRule.argmax(n_classes)
    decided = row.decided
    if candidate.ruled:
        assert row.score is not None, "rules are tuned on scores"
        proba = store.probabilities(row.score, row.costs)
        rule = tune_rule(proba, store.truth, metric, weight=store.weight)
        decided = rule.decide(proba)
    found = ClassOutcome(
        config=config,
        studies=studies,
        settings=settings,
        n_splits=n_splits,
        store=store,
        stop_reason=stopped or "; ".join(dict.fromkeys(study.stop_reason for study in studies if study.stop_reason)),
        candidate=candidate,
        rule=rule,
        confusion=confusion_of(store.truth, decided, n_classes, store.weight),
    )
    warn_of_open_gap(found.winner)
    return found
