"""Class costs to sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from csf._common.typing import Array, BoolArray, Costs, Estimator, IntArray
from csf._common.validation import check_choice
from csf._common.warn import warn

__all__ = ["NORMALIZATIONS", "check_class_weight", "cost_sample_weight", "own_class_weights"]

NORMALIZATIONS = ("none", "mean")


def cost_sample_weight(
    codes: IntArray | BoolArray, costs: Costs, *, sample_weight: Array | None = None, normalize: str = "none"
) -> Array:
    """Weights for the samples of a training set: class cost times the user's weight.

    Parameters
    ----------
    codes : ndarray of int or bool, shape (n_samples,)
        Codes of the classes; ``True`` for the positive one of two.
    costs : tuple of float
        ``(c_fn, c_fp)``: what there is to find (codes above 0) gets ``c_fn``, the rest ``c_fp``. More numbers are
        those of the codes.
    sample_weight : ndarray of shape (n_samples,), default=None
        The user's weights.
    normalize : {"none", "mean"}, default="none"
        ``"none"`` keeps the costs as they are, so that their size acts on the base's regularisation as in the
        papers; ``"mean"`` scales the weights to the mean of the user's weights (1 without). Then equal costs are no
        costs, and a weight of 2 is a sample that is there twice.

    Returns
    -------
    ndarray of shape (n_samples,)
        float64 weights.

    Raises
    ------
    ValueError
        If a code has no weight.

    Examples
    --------
    >>> cost_sample_weight(np.array([True, False, False]), (1.4, 0.6))
    array([1.4, 0.6, 0.6])
    >>> cost_sample_weight(np.array([2, 0, 1, 2]), (0.5, 1.0, 3.0))
    array([3. , 0.5, 1. , 3. ])
    """
    check_choice(normalize, "normalize", NORMALIZATIONS)
    weight = _of_samples(codes, costs)
    if sample_weight is not None:
        weight *= sample_weight
    if normalize == "mean":
        total = float(codes.shape[0]) if sample_weight is None else sample_weight.sum()
        weight *= total / weight.sum()
    return weight


def _of_samples(codes: IntArray | BoolArray, costs: Costs) -> Array:
    """Cost of each sample."""
    if len(costs) == 2:
        c_fn, c_fp = costs
        return np.where(codes > 0, float(c_fn), float(c_fp))
    if codes.max(initial=0) >= len(costs):
        raise ValueError(
            f"costs={costs!r} has {len(costs)} weights for codes up to {codes.max()}; give one for each class, or "
            "(c_fn, c_fp) where code 0 means nothing to find"
        )
    return np.array(costs, dtype=np.float64)[codes]


def own_class_weights(own: Any, codes: IntArray | BoolArray, sample_weight: Array | None = None) -> dict[int, float]:
    """Class weights that a base brings by codes, 1 where it names none; they multiply costs.

    ``"balanced"`` means as the user weighs the samples. scikit-learn from 1.7 on reads the weights that ``fit`` is
    given, with the costs in them, and so would undo these.
    """
    if not isinstance(own, str):
        return own or {}
    total = np.bincount(codes, weights=sample_weight)
    known = np.flatnonzero(total)
    return dict(zip(known.tolist(), (total.sum() / (known.size * total[known])).tolist()))


def check_class_weight(base: Estimator, n_classes: int = 2, *, alike: bool = False) -> None:
    """Warn where a base brings class weights of its own, which multiply the costs.

    Parameters
    ----------
    base : estimator
        Classifier or pipeline.
    n_classes : int, default=2
        Number of classes.
    alike : bool, default=False
        Whether none of them means nothing to find.

    Raises
    ------
    ValueError
        If its ``class_weight`` names other labels than 0, 1, …, which the base is trained on.
    """
    for name, value in base.get_params(deep=True).items():
        if value is None or name.rpartition("__")[2] != "class_weight":
            continue
        if isinstance(value, dict) and not set(value) <= set(range(n_classes)):
            first = "0 (the first of the sorted classes)" if alike else "0 (nothing to find)"
            seen = "1 (positive) and 0" if n_classes == 2 else f"{first}, 1, ..., {n_classes - 1}"
            raise ValueError(
                f"{name}={value!r} names labels that the base does not see: it is trained on {seen}. "
                "Leave class_weight=None; the costs come from the metric"
            )
        warn(
            f"the base has {name}={value!r}, which multiplies the searched costs (or is replaced by them, where its "
            "fit takes no sample_weight); set it to None unless you want both",
        )
