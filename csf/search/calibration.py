"""What a search does with samples that it never trains on, and with the winner that it has found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import train_test_split

from csf._common.typing import Array, Estimator, IntArray
from csf._common.warn import warn
from csf._sklearn import safe_indexing, slice_params
from csf._validation import check_fraction
from csf.resampling import AssessedMixin
from csf.resampling.resampling import decisions
from csf.search.guarantee import Guarantee, certify
from csf.search.results import summary
from csf.search.stable_choice import stable_choice
from csf.thresholding import sweep_several

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling import ScoreStore
    from csf.samples.task import Task
    from csf.search.prefit import PrefitStudy
    from csf.trials import Trial

__all__ = ["CalibratedMixin", "calibration_split", "check_confidence"]


def check_confidence(search: Estimator) -> None:
    """Check ``confidence`` and ``calibration`` of a search, and what they need.

    Parameters
    ----------
    search : CostSearch
        The search.

    Raises
    ------
    ValueError, TypeError
        If one cannot be used.
    """
    if search.confidence is None:
        return
    check_fraction(search.confidence, "confidence")
    check_fraction(search.calibration, "calibration")
    missing = {
        "a constraint, such as 'precision >= 0.8'": search.constraint is None,
        "a threshold, 'stable' or 'tune'": search.threshold is None,
        "refit=True": not search.refit,
    }
    for what, absent in missing.items():
        if absent:
            raise ValueError(f"confidence={search.confidence!r} needs {what}; give it, or leave out confidence")
    cv = search.cv
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        raise ValueError(
            "with confidence, a part of the samples is held out before they are split, so that cv cannot be splits of "
            "all of them; give a number of folds, a share, a splitter or 'prefit'"
        )


def calibration_split(search: Estimator, task: Task) -> tuple[Task, Task]:
    """Samples to search on, and samples to calibrate on; stratified.

    Parameters
    ----------
    search : CostSearch
        The search.
    task : Task
        All samples.

    Returns
    -------
    tuple of Task
        The two parts.

    Raises
    ------
    ValueError
        If a part lacks a class, or the samples come in groups.
    """
    if "groups" in task.fit_params:
        raise ValueError("confidence needs samples that are independent of each other; it cannot be had with groups")
    every, seed = np.arange(task.n_samples), search.random_state
    try:
        parts = train_test_split(every, test_size=search.calibration, stratify=task.codes, random_state=seed)
    except ValueError as error:
        raise ValueError(
            f"calibration={search.calibration!r} of {task.n_samples} samples cannot be held out: {error}"
        ) from error
    searched, calibrated = (_part(task, np.sort(part)) for part in parts)
    return searched, calibrated


def _part(task: Task, at: IntArray) -> Task:
    return replace(
        task,
        X=safe_indexing(task.X, at),
        codes=task.codes[at],
        weight=None if task.weight is None else task.weight[at],
        fit_params=slice_params(dict(task.fit_params), at, task.n_samples),
        labels=task.user_labels,
    )


class CalibratedMixin(AssessedMixin):
    """What `csf.CostSearch` does with its winner."""

    guarantee_: Guarantee
    confidence: float | None
    threshold: str | None
    random_state: Any
    trials_: list[Trial]
    best_index_: int
    best_threshold_: float | None
    best_score_: float
    feasible_: bool
    constraint_value_: float | None
    null_class_: Any
    _names: Array
    _known: Array
    # methods of the classes that are used together with this one
    _scored: Any
    _report: Any
    _adopt: Any
    base: Estimator

    def _keep_winner(self, metric: Metric, held_out: ScoreStore) -> None:
        trial = self.trials_[self.best_index_]
        key = trial.setting, trial.number
        held_out.put(replace(held_out[key], threshold=self.best_threshold_, value=self.best_score_))
        self._keep_scores(held_out, metric, key, self.random_state)

    def _tune_prefit(self, found: PrefitStudy) -> None:
        self.studies_, metric = [found.study], found.study.metric
        stopped = "the base was fitted before: only its threshold was tuned"
        cut = stable_choice(found.held_out, metric) if self.threshold == "stable" else None
        self._report(metric, summary(self.studies_, [{}], 0, stopped=stopped), cut)
        self._keep_winner(metric, found.held_out)
        self.refit_time_ = 0.0
        self._adopt(self.base, found.known, found.names)

    def _certify(self, metric: Metric, task: Task) -> None:
        """Replace the threshold by the best one that samples which nothing was trained on stand for."""
        assert self.confidence is not None, "asked for where there is one"
        winner, store = self.trials_[self.best_index_], self.held_out_
        row = store[winner.setting, winner.number]
        assert row.score is not None, "thresholds are tuned"
        lost = np.zeros(store.is_pos.size, dtype=bool) if row.lost is None else row.lost
        curve = sweep_several(store.is_pos, lost, row.score, store.weight)
        answer, score = self._scored(task.X)
        is_pos = task.codes > 0
        wrong = is_pos & (
            task.user_labels.decode(task.codes) != self._names[np.searchsorted(self._known, answer.found)]
        )
        found = certify(curve, metric, self.confidence, is_pos, wrong, score, task.weight)
        self.guarantee_ = found
        self.best_threshold_, self.feasible_ = found.threshold, found.holds
        self.best_score_ = metric.of(curve.at(found.threshold))
        self.constraint_value_ = next(iter(found.rates.values()))
        # The corrected score is that of the threshold which was taken, not of the best one.
        self._keep_decisions(decisions(replace(row, threshold=found.threshold)))
        if not found.holds:
            warn(str(found))
