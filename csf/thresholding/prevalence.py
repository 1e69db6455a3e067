"""Another share of positives: what thresholds are worth there, and what the share is where labels are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from csf._common.validation import check_class_totals, check_count, check_fraction, check_number, check_weights, floats
from csf.thresholding.curve import ThresholdCurve
from csf.thresholding.oracle import check_probabilities

__all__ = ["curve_at_prevalence", "estimate_prevalence"]

# Closest distance of an estimate to 0 and 1.
_EDGE = 1e-12


def curve_at_prevalence(curve: ThresholdCurve, pos: float) -> ThresholdCurve:
    """The same thresholds where the classes have other shares, and the rates within them do not change.

    Parameters
    ----------
    curve : ThresholdCurve
        Thresholds and their errors.
    pos : float
        Share of positives, in (0, 1).

    Returns
    -------
    ThresholdCurve
        What a sweep of the same scores finds with the classes weighted accordingly.

    Examples
    --------
    >>> from csf.thresholding import threshold_curve
    >>> curve = threshold_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.best("f1").threshold, curve_at_prevalence(curve, 0.1).best("f1").threshold
    (0.225, 0.6)
    """
    pos = check_fraction(pos, "pos")
    fn, fp = curve.fn * (pos / curve.pos), curve.fp * ((1.0 - pos) / (1.0 - curve.pos))
    return ThresholdCurve(curve.lowest_score, np.minimum(fn, pos), np.minimum(fp, 1.0 - pos), pos)


def estimate_prevalence(
    y_score: ArrayLike,
    pos: float,
    *,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> float:
    r"""Share of positives in samples without labels, by expectation maximisation.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Probabilities of the positive class for the new samples, by a classifier that is calibrated where the share of
        positives is ``pos``. Scores that are no probabilities, or were trained with costs and not corrected for it
        (``CostSearch.predict_proba`` is), give a wrong answer.
    pos : float
        Share of positives in the data that the classifier was trained on, in (0, 1).
    sample_weight : array-like of shape (n_samples,), default=None
        Weights >= 0 of the new samples.
    tol : float, default=1e-8
        The estimate has converged when a step changes it by less than this.
    max_iter : int, default=10000
        Largest number of steps.

    Returns
    -------
    float
        The share, in [0, 1]: that of the largest likelihood.

    Raises
    ------
    ValueError
        If the scores are no probabilities, or there is none.

    Notes
    -----
    Only the share of the classes may differ from the training data, not what samples of one class look like. Then the
    likelihood of a share q is :math:`\prod_i (q\,p_i/P + (1-q)(1-p_i)/(1-P))` and concave in q; each step replaces q
    by the mean of the probabilities that Bayes' rule gives with q.

    References
    ----------
    .. [1] M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure", Neural Computation 14, 2002.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=5000) + 2.0 * (rng.random(5000) < 0.4)  # 40 % positives
    >>> proba = 1 / (1 + np.exp(2.0 - 2.0 * x) * 9)  # right where there are 10 %
    >>> estimate_prevalence(proba, 0.1)
    0.398
    """
    pos = check_fraction(pos, "pos")
    check_class_totals(pos, 1.0 - pos, "pos")
    check_number(tol, "tol", positive=True)
    check_count(max_iter, "max_iter")
    proba = floats(y_score, "y_score")
    if proba.ndim != 1 or proba.size == 0:
        raise ValueError(f"y_score must hold one probability for each new sample, got shape {proba.shape}")
    check_probabilities(proba, "y_score")
    weight = check_weights(sample_weight, proba.size)
    # How much more likely a sample is among positives, up to a factor of its own.
    as_pos, as_neg = proba / pos, (1.0 - proba) / (1.0 - pos)
    share = pos
    for _ in range(max_iter):
        positive = share * as_pos
        last, share = share, float(np.average(positive / (positive + (1.0 - share) * as_neg), weights=weight))
        share = min(max(share, _EDGE), 1.0 - _EDGE)
        if abs(share - last) < tol:
            break
    return share
