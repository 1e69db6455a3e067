"""How well scores rank: partial area under the ROC curve, precision among the top k."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Label
from csf._common.validation import check_binary_target, check_choice, check_fraction, check_scores, check_share

__all__ = ["partial_auc_score", "precision_at_k_score"]

AREAS = ("count", "fraction")


def partial_auc_score(
    y_true: ArrayLike, y_score: ArrayLike, *, beta: float = 0.1, mode: str = "count", pos_label: Label = None
) -> float:
    r"""Partial area under the ROC curve for false positive rates in [0, beta], divided by beta.

    The share of right orders among pairs of a positive with one of the negatives of largest score; equal scores
    count one half.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        Scores; larger for the positive class.
    beta : float, default=0.1
        Largest false positive rate, in (0, 1].
    mode : {"count", "fraction"}, default="count"
        ``"count"``: the ``ceil(beta * n_neg)`` largest negatives. ``"fraction"``: the last one counts in part, so
        that exactly the share ``beta`` of the negatives counts.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

    Returns
    -------
    float
        In [0, 1]; not standardised: scores at random give about ``beta / 2``.

    Raises
    ------
    ValueError
        If a class is missing, a score is NaN, or ``beta`` or ``mode`` is unknown.

    Notes
    -----
    With all negatives it is the area under the ROC curve. With ties between classes at the last negative the area
    under the curve of straight lines is smaller than this value.

    References
    ----------
    .. [1] H. Narasimhan, S. Agarwal, "SVMpAUC-tight: a new support vector method for optimizing partial AUC based
       on a tight convex upper bound", KDD 2013.

    Examples
    --------
    >>> partial_auc_score([1, 1, 0, 0, 0, 0], [0.9, 0.5, 0.7, 0.5, 0.1, 0.0], beta=0.5)
    0.625
    """
    check_share(beta, "beta")
    check_choice(mode, "mode", AREAS)
    is_pos, score = _checked(y_true, y_score, pos_label)
    pos, neg = np.sort(score[is_pos]), np.sort(score[~is_pos])[::-1]
    exact = beta * neg.shape[0]
    size = math.ceil(exact * (1.0 - 1e-12))
    neg = neg[:size]
    worse = np.searchsorted(pos, neg, "left")
    right = pos.shape[0] - 0.5 * (worse + np.searchsorted(pos, neg, "right"))
    weight = np.ones(size)
    if mode == "fraction":
        weight[-1] = exact - (size - 1)
    return float(right @ weight / (pos.shape[0] * weight.sum()))


def precision_at_k_score(
    y_true: ArrayLike, y_score: ArrayLike, *, k: float | None = None, pos_label: Label = None
) -> float:
    """Share of positives among the samples with the largest scores.

    By default as many are taken as there are positives: the precision-recall break-even point (PRBEP).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        Scores; larger for the positive class.
    k : float, default=None
        Share of samples to take, in (0, 1), rounded up to a whole sample; ``None`` is the share of positives.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

    Returns
    -------
    float
        In [0, 1]. Where scores tie at the threshold it is the mean over all orders.

    Raises
    ------
    ValueError
        If a class is missing, a score is NaN, or ``k`` is not in (0, 1).

    Examples
    --------
    >>> precision_at_k_score([1, 1, 0, 0, 0], [0.9, 0.5, 0.7, 0.2, 0.1])
    0.5
    >>> precision_at_k_score([1, 1, 0, 0, 0], [0.9, 0.5, 0.7, 0.2, 0.1], k=0.6)
    0.667
    """
    is_pos, score = _checked(y_true, y_score, pos_label)
    n = is_pos.shape[0]
    size = int(is_pos.sum()) if k is None else math.ceil(check_fraction(k, "k") * n * (1.0 - 1e-12))
    last = np.partition(score, n - size)[n - size]
    above, tied = score > last, score == last
    share = (size - np.count_nonzero(above)) / np.count_nonzero(tied)
    return float((np.count_nonzero(above & is_pos) + share * np.count_nonzero(tied & is_pos)) / size)


def _checked(y_true, y_score, pos_label):
    """Boolean target and scores."""
    _, is_pos, _ = check_binary_target(y_true, pos_label)
    return is_pos, check_scores(y_score, is_pos.shape[0])
