"""Scores of linear models."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array, Samples

__all__ = ["linear_scores"]


def linear_scores(X: Samples, coef: Array, intercept: float) -> Array:
    """Scores of checked samples.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples.
    coef : ndarray of shape (n_features,)
        Coefficients.
    intercept : float
        What is added to each score.

    Returns
    -------
    ndarray of shape (n_samples,)
        Scores, infinite where they are too large for a float.

    Raises
    ------
    ValueError
        If parts of a score overflow in both directions: nothing is known of it then.

    Examples
    --------
    >>> linear_scores(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([3.0, -1.0]), 0.5)
    array([ 1.5, -0.5])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        score = np.asarray(X @ coef).ravel() + intercept
    if np.isnan(score).any():
        raise ValueError(
            f"X holds features so large that {int(np.isnan(score).sum())} of {score.shape[0]} scores are no numbers; "
            "scale them as those that were learnt from"
        )
    return score
