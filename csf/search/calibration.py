"""What a search does with samples that it never trains on: they decide which thresholds keep a promise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import train_test_split

from csf._common.messages import warn
from csf._common.sklearn import safe_indexing, slice_params
from csf._common.typing import IntArray
from csf.resampling.outcomes import decisions
from csf.search.defaults import split_seed
from csf.search.guarantee import ClassWeights, certify
from csf.search.outcome import SearchOutcome, curve_of

if TYPE_CHECKING:
    from csf.data.folds import Task
    from csf.search.config import SearchConfig
    from csf.thresholding.rule import ThresholdRule

__all__ = ["calibration_split", "certified"]


def calibration_split(config: SearchConfig, task: Task) -> tuple[Task, Task]:
    """Samples to search on, and samples to calibrate on; stratified."""
    if "groups" in task.fit_params:
        raise ValueError("confidence needs samples that are independent of each other; it cannot be had with groups")
    every, share = np.arange(task.n_samples), config.calibration
    try:
        seed = split_seed(config.random_state)
        parts = train_test_split(every, test_size=share, stratify=task.codes, random_state=seed)
    except ValueError as error:
        raise ValueError(f"calibration={share!r} of {task.n_samples} samples cannot be held out: {error}") from error
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


def certified(found: SearchOutcome, rule: ThresholdRule, task: Task) -> SearchOutcome:
    """The outcome with the best threshold that samples which nothing was trained on stand for."""
    assert found.config.confidence is not None, "asked for where there is one"
    assert found.store is not None, "searches in memory keep their scores"
    row, metric = found.row, found.metric
    curve = curve_of(found.store, row)
    (named, score), is_pos = rule.scored(task.X), task.codes > 0
    wrong = is_pos & (task.user_labels.decode(task.codes) != named)
    searched = known = None
    truth, weight = found.store.is_pos, found.store.weight
    if task.weight is not None and weight is not None:
        # No sample that the user gave is heavier, so none is expected to be: two parts know more of that than one.
        searched = ClassWeights.of(truth, weight)
        known = ClassWeights.of(np.concatenate([truth, is_pos]), np.concatenate([weight, task.weight]))
    test = certify(
        curve, metric, found.config.confidence, is_pos, wrong, score, task.weight, searched=searched, known=known
    )
    if not test.holds:
        warn(str(test))
    return replace(
        found,
        guarantee=test,
        threshold=test.threshold,
        score=metric.of(curve.at(test.threshold)),
        feasible=test.holds,
        constraint_value=next(iter(test.rates.values())),
        # The corrected score is that of the threshold which was taken, not of the best one.
        decided=decisions(replace(row, threshold=test.threshold)),
    )
