"""Shortlist of a search: the trials that are worth folds, by scores of one training on all samples each."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.data.folds import pool_held_out
from csf.evaluate import Resampling, ScoreStore
from csf.search.loop import SearchLoop
from csf.search.selection import N_DRAWS, Race, Shortlist
from csf.search.workers import LocalTrainer

if TYPE_CHECKING:
    from csf._common.typing import IntArray
    from csf.evaluate import ScoreRow
    from csf.metrics.base import Metric
    from csf.search.config import SearchConfig
    from csf.search.plan import MemoryPlan
    from csf.search.problems.base import Problem

# What a search says of it.
LISTED = "approximate leave-one-out scores compared the trials, and folds judged the best of them"
# Trials that are trained on folds beside the base's own with equal costs, and settings that are tried at other costs.
_SIZE, _SETTINGS = 3, 2
# With fewer samples trainings take no time, and chance decides which trials are the best.
_FEWEST = 2000


def shortlist(config: SearchConfig, problem: Problem, plan: MemoryPlan) -> Shortlist | None:
    """Run the race of a search with repeated folds on approximate leave-one-out scores; ``None`` where it has none.

    Scores of a sample come from the coefficients of all samples, moved by one Newton step that leaves it out. They
    choose as well as folds do. The value and threshold of a winner are those of folds.
    """
    everything = np.arange(plan.task.n_samples)
    if not _is_usual(config, plan):
        return None
    quick = replace(plan, splits=[(everything, everything)], studies=deepcopy(plan.studies))
    trainers = quick.trainers()
    if not all(trainer.leave_out() for row in trainers for trainer in row):
        return None
    trainer = LocalTrainer(problem.judge(config), trainers, quick.folds)
    race = problem.race(config, quick, trainer.store)
    if not isinstance(race, Race) or trainer.store is None:
        return None
    race.most_left = _SETTINGS
    loop = SearchLoop(quick.studies, trainer, raise_errors=True, race=race)
    try:
        stopped = loop.run()
    except Exception:  # the folds show it to the user
        return None
    if stopped:
        raise KeyboardInterrupt
    assert isinstance(trainer.store, ScoreStore), "races of settings are by scores of two classes"
    return _of(quick.studies, trainer.store, config.aim, pool_held_out(plan.folds)[2])


def _is_usual(config: SearchConfig, plan: MemoryPlan) -> bool:
    """Check whether folds are repeated, and nothing but the winner is read of them."""
    task = plan.task
    read = config.checkpoint or config.callbacks or config.averages_folds or config.bound_on == "train"
    return (
        not read
        and config.cv is None
        and len(plan.models) == 1
        and plan.models[0].effort.folds < len(plan.splits)
        and task.n_samples >= _FEWEST
        and task.weight is None
        and task.groups is None
    )


def _of(studies: Sequence[Any], store: ScoreStore, metric: Metric, samples: IntArray) -> Shortlist:
    """Reopen the best trials of a race, and take the scores of the others for each held-out entry."""
    base_key = 0, studies[0].trials[0].number
    draws = Resampling(store, metric, n_draws=N_DRAWS, keep=[base_key])
    value = draws.retuned.value
    value = value[:, ~np.isnan(value).all(axis=0)].mean(axis=1)
    stay = {base_key, *(draws.keys[row] for row in np.argsort(-value, kind="stable")[:_SIZE])}
    rows = [_for_entries(row, samples) for row in store if row.key not in stay]
    for setting, study in enumerate(studies):
        study.trials = [replace(trial, setting=setting, fold_scores=(None,)) for trial in study.trials]
    for setting, number in stay:
        studies[setting].reopen(number)
    return Shortlist(studies, rows)


def _for_entries(row: ScoreRow, samples: IntArray) -> ScoreRow:
    """Repeat the scores of a row for each entry of a sample."""
    names = ("score", "lost", "class_gaps")
    known = {name: values[samples] for name in names if (values := getattr(row, name)) is not None}
    return replace(row, **known, on_folds=False)
