"""Scores of the two classes, each sorted, with or without weights."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array, BoolArray
from csf.thresholding._kernels import pack_keys, split, split_weighted, unpack_keys

__all__ = ["sorted_samples", "sorted_scores"]

_NAN_SCORES = "scores contain NaN; accepted: finite numbers and +-inf. Impute them or drop those samples"


def sorted_scores(score: Array, is_pos: BoolArray) -> tuple[Array, Array]:
    """Scores of positives and of negatives, each sorted."""
    scores = np.empty_like(score)
    border = split(score, is_pos, scores)
    if border < 0:
        raise ValueError(_NAN_SCORES)
    parts = scores[:border], scores[border:]
    for part in parts:
        part.sort()
    return parts


def sorted_samples(score: Array, is_pos: BoolArray, weight: Array) -> tuple[Array, Array, Array, Array]:
    """Scores and weights of positives, then of negatives, each pair sorted by score; weights of zero left out."""
    scores, weights = np.empty_like(score), np.empty_like(score)
    front, back = split_weighted(score, is_pos, weight, scores, weights)
    if front < 0:
        raise ValueError(_NAN_SCORES)
    return *_sort_together(scores[:front], weights[:front]), *_sort_together(scores[back:], weights[back:])


def _sort_together(score: Array, weight: Array) -> tuple[Array, Array]:
    """Sorted scores and the weights in that order.

    Sorting integers that hold the leading bits of a score and the index of its sample is several times faster
    than an argsort; where scores are too close together for that, argsort does it.
    """
    if score.shape[0] == 0:
        return score, weight
    index_bits = score.shape[0].bit_length()
    keys = np.empty(score.shape[0], dtype=np.uint64)
    pack_keys(score.view(np.uint64), index_bits, keys)
    keys.sort()
    sorted_score = np.sort(score)
    unsorted = np.zeros(score.shape[0], dtype=bool)
    n_unsorted = unpack_keys(keys, index_bits, score, sorted_score, unsorted)
    order = keys.view(np.int64)
    if n_unsorted:
        # Such places follow one another in the order of their scores, so one argsort serves them all.
        samples = order[unsorted]
        order[unsorted] = samples[np.argsort(score[samples])]
    return sorted_score, weight[order]
