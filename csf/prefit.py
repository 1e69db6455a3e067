"""A base that is fitted already: costs cannot reach it, its threshold can be tuned."""

from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from csf.evaluation import evaluate, predict
from csf.profiles import ErrorProfile
from csf.strategies import ImbalanceRatio
from csf.study import Study
from csf.trials import Trial

__all__ = ["is_prefit", "prefit_study"]


def is_prefit(base, cv):
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


def prefit_study(base, metric, X, is_pos, weight, pos_label, *, tune, bound):
    """Study of one trial: the fitted base, with the threshold that suits it best.

    Parameters
    ----------
    base : estimator
        Fitted classifier.
    metric : Metric
        What is maximised.
    X : array-like of shape (n_samples, n_features)
        Samples to judge it on.
    is_pos : ndarray of bool, shape (n_samples,)
        Truth.
    weight : ndarray of shape (n_samples,) or None
        Sample weights.
    pos_label : label
        Positive class as the user knows it; a base trained on 0 and 1 knows it as 1.
    tune : bool
        Whether the threshold is tuned.
    bound : str or type
        See `csf.bounds.get_bound`.

    Returns
    -------
    study : Study
        With one complete trial, whose costs are 1: those that the base was trained with are unknown.
    pos_label : label
        Positive class as the base knows it.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the base is not fitted.
    """
    check_is_fitted(base)
    pos_label = pos_label if pos_label in list(getattr(base, "classes_", [pos_label])) else 1
    pos = ErrorProfile.from_masks(is_pos, is_pos, sample_weight=weight).pos
    decided, score = predict(base, X, pos_label, tune=tune)
    study = Study(metric, ImbalanceRatio(), pos=pos, n_trials=1, bound=bound)
    study.trials = [Trial(number=0, t=None, c_fn=1.0, c_fp=1.0)]
    study.record(0, **evaluate(metric, is_pos, decided, score, weight))
    return study, pos_label
