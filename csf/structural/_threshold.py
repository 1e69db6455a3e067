"""Threshold for losses that see the order of scores only."""

import numpy as np

__all__ = ["share_threshold"]


def share_threshold(scores):
    """Threshold at which the share that is predicted positive is nearest to that of positives, from above."""
    score = np.concatenate([scores.pos, scores.neg])
    share = np.repeat([scores.share_pos, scores.share_neg], [scores.pos.shape[0], scores.neg.shape[0]])
    order = np.argsort(-score, kind="stable")
    target = scores.pos.shape[0] * scores.share_pos * (1.0 - 1e-9)
    last = int(np.searchsorted(np.cumsum(share[order]), target))
    upper, lower = score[order[last]], score[order[min(last + 1, score.shape[0] - 1)]]
    middle = 0.5 * upper + 0.5 * lower
    return float(middle if middle > lower else upper)
