"""A base that is fitted already: costs cannot reach it, its threshold can be tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Estimator, IntArray
from csf.errors.profile import ErrorProfile
from csf.scores.responses import respond
from csf.search.outcomes import evaluate
from csf.strategies import ImbalanceRatio
from csf.study import Study
from csf.trials import Trial

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.samples.labels import Labels


__all__ = ["is_prefit", "prefit_study"]


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


def prefit_study(
    base: Estimator,
    metric: Metric,
    X: ArrayLike,
    labels: Labels,
    codes: IntArray,
    weight: Array | None,
    *,
    tune: bool,
    bound: str | type,
) -> tuple[Study, Array, Array]:
    """Study of one trial: the fitted base, with the threshold that suits it best.

    Parameters
    ----------
    base : estimator
        Fitted classifier.
    metric : Metric
        What is maximised.
    X : array-like of shape (n_samples, n_features)
        Samples to judge it on.
    labels : Labels
        Classes of the problem. A base trained on codes knows the null class as 0.
    codes : ndarray of int, shape (n_samples,)
        Truth.
    weight : ndarray of shape (n_samples,) or None
        Sample weights.
    tune : bool
        Whether the threshold is tuned.
    bound : str or type
        See `csf.bounds.get_bound`.

    Returns
    -------
    study : Study
        With one complete trial, whose costs are 1: those that the base was trained with are unknown.
    known : ndarray of shape (n_classes,)
        Classes as the base knows them.
    names : ndarray of shape (n_classes,)
        The user's labels of these.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the base is not fitted.
    """
    check_is_fitted(base)
    known = np.asarray(getattr(base, "classes_", labels.classes))
    coded = known.tolist() == list(range(labels.classes.size)) != labels.classes.tolist()
    null, truth = (0, codes) if coded else (labels.null, labels.decode(codes))
    answer, is_pos = respond(base, X, null, tune=tune), codes > 0
    pos = ErrorProfile.from_masks(is_pos, is_pos, sample_weight=weight).pos
    study = Study(metric, ImbalanceRatio(), pos=pos, n_trials=1, bound=bound)
    study.trials = [Trial(number=0, t=None, c_fn=1.0, c_fp=1.0)]
    lost = is_pos & (truth != answer.found)
    study.record(0, **evaluate(metric, is_pos, lost, answer.decided, answer.score, weight))
    return study, known, labels.decode(known) if coded else known
