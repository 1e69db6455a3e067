"""A base that is fitted already: costs cannot reach it, its threshold can be tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Estimator
from csf.errors.profile import ErrorProfile
from csf.resampling import ScoreStore
from csf.scores.responses import respond
from csf.search.outcomes import evaluate, keep_scores
from csf.strategies import ImbalanceRatio
from csf.study import Study
from csf.trials import Trial

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.samples.task import Task
    from csf.study.study import Bound


__all__ = ["PrefitStudy", "is_prefit", "prefit_study"]


class PrefitStudy(NamedTuple):
    """A base that was fitted before, judged.

    Parameters
    ----------
    study : Study
        With one complete trial, whose costs are 1: those that the base was trained with are unknown.
    known : ndarray of shape (n_classes,)
        Classes as the base knows them.
    names : ndarray of shape (n_classes,)
        The user's labels of these.
    held_out : ScoreStore
        What it says about the samples that it was judged on.
    """

    study: Study
    known: Array
    names: Array
    held_out: ScoreStore


def is_prefit(base: Estimator, cv: object) -> bool:
    """Whether a base is to be taken as it is.

    Parameters
    ----------
    base : estimator
        The base.
    cv : object
        The ``cv`` argument of the search.

    Returns
    -------
    bool
        ``True`` for a frozen base and for ``cv="prefit"``.
    """
    return isinstance(base, FrozenEstimator) or (isinstance(cv, str) and cv == "prefit")


def prefit_study(base: Estimator, metric: Metric, task: Task, *, tune: bool, bound: Bound) -> PrefitStudy:
    """Study of one trial: the fitted base, with the threshold that suits it best.

    Parameters
    ----------
    base : estimator
        Fitted classifier.
    metric : Metric
        What is maximised.
    task : Task
        What to judge it on.
    tune : bool
        Whether the threshold is tuned.
    bound : str or type
        See `csf.bounds.get_bound`.

    Returns
    -------
    PrefitStudy
        The study, and what the base calls its classes.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the base is not fitted.
    """
    check_is_fitted(base)
    labels = task.user_labels
    known = np.asarray(getattr(base, "classes_", labels.classes))
    # It may have been trained on codes, by a search; it then knows the null class as 0.
    coded = known.tolist() == list(range(labels.classes.size)) != labels.classes.tolist()
    null, truth = (0, task.codes) if coded else (labels.null, labels.decode(task.codes))
    answer, is_pos = respond(base, task.X, null, tune=tune), task.codes > 0
    pos = ErrorProfile.from_masks(is_pos, is_pos, sample_weight=task.weight).pos
    study = Study(metric, ImbalanceRatio(), pos=pos, n_trials=1, bound=bound)
    study.trials = [Trial(number=0, t=None, c_fn=1.0, c_fp=1.0)]
    lost = is_pos & (truth != answer.found)
    trial = study.record(0, **evaluate(metric, is_pos, lost, answer.decided, answer.score, task.weight))
    held_out = ScoreStore(is_pos, task.weight)
    keep_scores(held_out, (0, 0), trial, [answer], lost)
    return PrefitStudy(study, known, labels.decode(known) if coded else known, held_out)
