"""Threshold of scores after learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.validation import check_bool
from csf.metrics import get_metric
from csf.thresholding import sweep

if TYPE_CHECKING:
    from csf.structural.losses.base import ClassScores, StructuralLoss

__all__ = ["check_tuning", "choose_threshold"]


def check_tuning(loss: StructuralLoss, tune_threshold: Any) -> None:
    """Check the parameter ``tune_threshold`` of a learner."""
    check_bool(tune_threshold, "tune_threshold")
    if tune_threshold and not loss.ranking and loss.metric is None:
        raise ValueError(f"tune_threshold=True needs a loss with a metric to be tuned, got {loss!r}; leave it False")


def choose_threshold(loss: StructuralLoss, scores: ClassScores) -> float:
    """Threshold of scores: the share of positives for a loss that only ranks, else the best for its metric."""
    score = np.concatenate([scores.pos, scores.neg])
    share = np.repeat([scores.share_pos, scores.share_neg], [scores.pos.shape[0], scores.neg.shape[0]])
    if not loss.ranking:
        assert loss.metric is not None  # checked with the parameters
        is_pos = np.arange(score.shape[0]) < scores.pos.shape[0]
        return float(sweep(is_pos, score, share).best(get_metric(loss.metric)).threshold)
    order = np.argsort(-score, kind="stable")
    target = scores.pos.shape[0] * scores.share_pos * (1.0 - 1e-9)
    last = min(int(np.searchsorted(np.cumsum(share[order]), target)), score.shape[0] - 1)
    upper, lower = score[order[last]], score[order[min(last + 1, score.shape[0] - 1)]]
    middle = 0.5 * upper + 0.5 * lower
    return float(middle if middle > lower else upper)
