"""Scores of linear models."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array, Samples

__all__ = ["linear_scores"]


def linear_scores(X: Samples, coef: Array, intercept: float) -> Array:
    """Scores of checked samples."""
    with np.errstate(over="ignore", invalid="ignore"):
        score = np.asarray(X @ coef).ravel() + intercept
    if np.isnan(score).any():
        raise ValueError(
            f"X holds features so large that {int(np.isnan(score).sum())} of {score.shape[0]} scores are no numbers; "
            "scale them as those that were learnt from"
        )
    return score
