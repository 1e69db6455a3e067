"""The first rows of a stream, which the present weights score again: short streams have no late scores of their own."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from csf._common.typing import BoolArray, IntArray, Samples
from csf.online._belief import Belief
from csf.online._recent import bins_of_scores
from csf.online.rows import linear_scores, rows

__all__ = ["EarlyRows"]

# Rows that are kept, at most; and rows, all and a feature, from which on weights are not fitted to them.
_MOST, _LEAST, _LEAST_EACH = 4096, 100, 8
# How many times as many rows there must be as at the last time.
_MORE = 1.25


class EarlyRows:
    """Rows up to a number, and their labels."""

    def __init__(self, belief: Belief, window: int | None = None) -> None:
        self.least = max(_LEAST, _LEAST_EACH * belief.n_features)
        self.most = int(min(_MOST, window or _MOST, belief.window))
        self.wanted = belief.full and self.least <= self.most
        self.n, self.next = 0, self.least
        self.rows, self.is_pos = [], []

    def keep(self, X: Samples, is_pos: BoolArray) -> None:
        """Keep rows, while there is room."""
        n_new = min(is_pos.size, self.most - self.n)
        if self.wanted and n_new > 0:
            new = rows(X, 0, n_new)
            self.rows.append(new.copy() if new is X or not issparse(new) else new)
            self.is_pos.append(is_pos[:n_new])
            self.n += n_new

    def again(self, belief: Belief, n_seen: int) -> tuple[IntArray, BoolArray] | None:
        """Bins of the posteriors that the weights give to the rows so far, and their labels.

        None where they say nothing; beyond the last of them all are given up.
        """
        if n_seen > self.most:
            self.wanted, self.rows, self.is_pos = False, [], []
        if not self.wanted or n_seen < self.next:
            return None
        self.next = math.ceil(_MORE * n_seen)
        self.rows, self.is_pos = [_joined(self.rows)], [np.concatenate(self.is_pos)]
        X, w = self.rows[0], belief.weights()[0]
        # products of sparse rows do not depend on how many there are, those of dense rows might by a bit
        X = X if issparse(X) else X[:n_seen]
        scores = linear_scores(X, w[:-1], w[-1] * belief.constant)[:n_seen]
        return bins_of_scores(scores), self.is_pos[0][:n_seen]


def _joined(parts: list[Samples]) -> Samples:
    """Rows of all parts, sparse where one of them is."""
    if len(parts) == 1:
        return parts[0]
    if any(map(issparse, parts)):
        return csr_array(vstack([csr_array(part) for part in parts]))
    return np.concatenate(parts)
