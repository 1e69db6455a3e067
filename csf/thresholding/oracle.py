"""From costs to a threshold on probabilities, and error profiles that are expected under the probabilities."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array
from csf._common.validation import check_class_totals, check_weights, floats
from csf.thresholding.curve import sweep

if TYPE_CHECKING:
    from csf.thresholding.curve import ThresholdCurve


__all__ = ["cost_threshold", "probability_curve"]


def cost_threshold(c_fn: float, c_fp: float) -> float:
    r"""Threshold on the probability of the positive class with the smallest expected cost.

    Predicting positive costs ``c_fp`` times the probability of the negative class, predicting negative ``c_fn``
    times that of the positive class.

    Parameters
    ----------
    c_fn, c_fp : float
        Costs of a false negative and of a false positive, >= 0 and not both 0.

    Returns
    -------
    float
        ``c_fp / (c_fn + c_fp)``, in [0, 1]; predict positive from there on.

    Raises
    ------
    ValueError
        If a cost is negative or NaN, or both are 0.

    Notes
    -----
    With the costs of F-beta at level t this is :math:`t / (1 + \beta^2)`, with those of the Jaccard index
    :math:`t / (1 + t)`. For a gain ``g`` of each rate the costs are ``g / pos`` and ``g / (1 - pos)``.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> cost_threshold(*FBeta(2.0).cost_weights(0.5, pos=0.1))
    0.1
    """
    for name, cost in (("c_fn", c_fn), ("c_fp", c_fp)):
        if not isinstance(cost, Real):
            raise TypeError(f"{name} must be a number >= 0, got {cost!r}")
    if not (c_fn >= 0 and c_fp >= 0 and 0 < c_fn + c_fp < np.inf):
        raise ValueError(f"costs must be >= 0, finite and not both 0, got c_fn={c_fn!r}, c_fp={c_fp!r}")
    return float(c_fp / (c_fn + c_fp))


def probability_curve(
    proba: ArrayLike, target: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> ThresholdCurve:
    """Threshold curve of probabilities, counted on labels or on probabilities in their place.

    Parameters
    ----------
    proba : array-like of shape (n_samples,)
        Probability of the positive class, in [0, 1].
    target : array-like of shape (n_samples,), default=None
        What a sample counts as: 1 or ``True`` for a positive, 0 for a negative, anything between for a share of
        both. ``None`` takes ``proba`` itself: the profiles are then those expected if the probabilities are right.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights >= 0.

    Returns
    -------
    ThresholdCurve
        All thresholds on ``proba``.

    Raises
    ------
    ValueError
        If lengths differ, a probability or target is NaN or outside [0, 1], or a class weighs nothing.

    Examples
    --------
    >>> curve = probability_curve([0.9, 0.6, 0.3, 0.2])
    >>> curve.pos, curve.at(0.5)
    (0.5, ErrorProfile(fn=0.125, fp=0.125, pos=0.5))
    """
    proba = check_probabilities(proba, "proba")
    share = proba if target is None else check_probabilities(target, "target", proba.shape)
    weight = check_weights(sample_weight, proba.shape[0])
    weight = np.ones(proba.shape[0]) if weight is None else weight
    as_pos, as_neg = weight * share, weight * (1.0 - share)
    for name, mass in (("positive", as_pos), ("negative", as_neg)):
        if not (mass > 0).any():
            raise ValueError(f"the {name} class weighs nothing; both classes are needed")
    owner = "proba" if target is None else "target"
    check_class_totals(as_pos.sum(), as_neg.sum(), owner if sample_weight is None else f"sample_weight times {owner}")
    is_pos = np.repeat([True, False], proba.shape[0])
    return sweep(is_pos, np.concatenate((proba, proba)), np.concatenate((as_pos, as_neg)))


def check_probabilities(values: ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """Check an array of numbers in [0, 1], of a given or any one-dimensional shape; return it as float64."""
    checked = floats(values, name)
    if checked.ndim != 1 or checked.shape[0] == 0 or (shape is not None and checked.shape != shape):
        raise ValueError(f"{name} must have shape {shape or '(n_samples,)'}, got {checked.shape}")
    outside = ~((checked >= 0.0) & (checked <= 1.0))
    if outside.any():
        raise ValueError(
            f"{name} must hold probabilities in [0, 1], got {checked[outside][0]!r}; calibration='sigmoid' or "
            "'isotonic' of the classifiers makes probabilities of other scores"
        )
    return checked
