"""A base that is fitted already: costs cannot reach it, its threshold can be tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Estimator
from csf.data.responses import respond
from csf.metrics.profile import ErrorProfile
from csf.resampling import ScoreStore
from csf.search.defaults import FAST, margin_of
from csf.search.outcome import SearchOutcome, conclude
from csf.search.pooling import evaluate
from csf.search.studies import warn_of_trivial
from csf.strategies import ImbalanceRatio
from csf.study import Study
from csf.trials import Trial

if TYPE_CHECKING:
    from csf.data.folds import Task
    from csf.search.config import SearchConfig

__all__ = ["is_prefit", "judge_prefit"]


def is_prefit(base: Estimator, cv: object) -> bool:
    """Whether a base is to be taken as it is: a frozen one, or any with ``cv="prefit"``."""
    return isinstance(base, FrozenEstimator) or (isinstance(cv, str) and cv == "prefit")


def judge_prefit(config: SearchConfig, task: Task) -> tuple[SearchOutcome, Array, Array]:
    """Outcome of the fitted base with the threshold that suits it best, its classes, and the user's names of them.

    Its costs are 1: those that it was trained with are unknown.
    """
    base, labels, metric = config.base, task.user_labels, config.aim
    check_is_fitted(base)
    known = np.asarray(getattr(base, "classes_", labels.classes))
    # It may have been trained on codes, by a search; it then knows the null class as 0.
    coded = known.tolist() == list(range(labels.classes.size)) != labels.classes.tolist()
    if coded:  # else the base's own names are meant, of which it may have others
        labels.check_codes(known)
    null, truth = (0, task.codes) if coded else (labels.null, labels.decode(task.codes))
    answer, is_pos = respond(base, task.X, null, tune=config.tunes), task.codes > 0
    pos = ErrorProfile.from_masks(is_pos, is_pos, sample_weight=task.weight).pos
    warn_of_trivial(metric, pos)
    study = Study(metric, ImbalanceRatio(), pos=pos, n_trials=1, bound=config.bound)
    study.trials = [Trial(number=0, t=None, costs=(1.0, 1.0))]
    lost = is_pos & (truth != answer.found)
    trial = study.record(0, **evaluate(metric, is_pos, lost, answer.decided, answer.score, task.weight))
    store = ScoreStore(is_pos, task.weight)
    store.hear((0, 0), trial, answer.score, answer.decided, lost)
    margin, stopped = margin_of(config.threshold, FAST), "the base was fitted before: only its threshold was tuned"
    found = conclude(config, [study], [{}], 0, store, margin=margin, stopped=stopped)
    return found, known, labels.decode(known) if coded else known
