"""What the mini-batch learners share: projected, averaged steps along the subgradient of a buffer, and a threshold."""

import math

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._validation import check_count
from csf.online.base import NUMBERS, check_positive
from csf.structural._online import StructuralOnlineClassifier
from csf.structural._rows import copy_rows, cut_rows, score_rows, split_classes, stack_rows
from csf.structural._threshold import choose_threshold
from csf.structural._weights import AveragedWeights
from csf.structural.losses import ClassScores

__all__ = ["MiniBatchLearner", "Waiting"]

# Length of the longest step relative to the radius, where no step size is given.
LONGEST_STEP = 0.1


class MiniBatchLearner(StructuralOnlineClassifier):
    """Base of learners that make one subgradient step for each buffer.

    Subclasses have the parameters ``loss``, ``buffer_size``, ``eta`` and ``radius`` beside those of the base. They
    write ``_step`` and ``_finish()`` (learn from a last buffer that is not full, at the end of `fit`), and call
    ``_descend`` with the buffer.
    """

    @property
    def n_updates_(self):
        """Steps made: one for each buffer that was used."""
        check_is_fitted(self)
        return self._w.n_steps

    def fit(self, X, y):
        """Forget everything and learn ``passes`` times over the samples, in a new random order each time.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        MiniBatchLearner
            Itself.
        """
        super().fit(X, y)
        self._finish()
        if self._chooses:
            is_pos = np.asarray(y).ravel() == self.pos_label_
            score = self._orientation() * self._scores(validate_data(self, X, reset=False, **NUMBERS))
            self._threshold = choose_threshold(self._loss, ClassScores.equal(score[is_pos], score[~is_pos]))
        return self

    def _check_parameters(self):
        super()._check_parameters()
        check_count(self.buffer_size, "buffer_size", minimum=2)
        if self.eta is not None:
            check_positive(self.eta, "eta")

    def _start(self, n_features):
        super()._start(n_features)
        known = self._n_expected is not None
        self._size = min(self.buffer_size, self._n_expected // self.passes) if known else self.buffer_size
        self._w = AveragedWeights(n_features + bool(self.fit_intercept))
        self._squares, self._buffer = 0.0, None
        self._last_loss = math.nan
        self.n_skipped_ = 0

    def _take(self, X, y):
        results = super()._take(X, y)
        if self._buffer is not None:  # no part of X: it may be large, and change
            parts, shares = self._buffer
            self._buffer = [(copy_rows(rows), sign.copy()) for rows, sign in parts], shares
        return results

    def _numbers(self):
        return {"n_updates": self._w.n_steps, "loss": self._last_loss}

    def _weights(self):
        return self._w.average(), self._w.last()

    def _descend(self, parts, shares=None):
        """One step. ``parts`` are pairs of rows and signs; ``shares`` are those of one positive and one negative.

        Returns whether there was one: without one of the classes there is none.
        """
        scores, places = self._split(parts, self._w.scores, shares)
        if not (scores.pos.size and scores.neg.size):
            return False
        tangent = self._loss.class_tangent(scores)
        slopes, constant, start, moved = tangent.slope[places], self._constant(), 0, []
        for rows, sign in parts:
            moved.append((rows, slopes[start : start + sign.size]))
            self._squares += self._w.add(*moved[-1], self.x_scale_, constant)
            start += sign.size
        self._w.step(moved, self._step_size(), self.radius)
        self._last_loss = tangent.value
        if self._chooses:
            self._threshold, self._buffer = None, (parts, shares)
        return True

    def _step_size(self):
        """Factor of the next subgradient."""
        if self.eta is not None:
            return self.eta / math.sqrt(self._w.n_steps + 1)
        return LONGEST_STEP * self.radius / math.sqrt(self._squares) if self._squares > 0.0 else 0.0

    def _choose_threshold(self):
        """Threshold of a ranking loss on the last buffer; nothing is positive before the first."""
        if self._buffer is None:
            return math.inf
        parts, shares = self._buffer
        average = self._w.average()
        scores, _ = self._split(parts, lambda rows, *how: score_rows(rows, average, *how), shares)
        return choose_threshold(self._loss, scores)

    def _split(self, parts, scores_of, shares):
        """Scores by class, and the place of each row in them."""
        constant = self._constant()
        score = [scores_of(rows, self.x_scale_, constant) for rows, _ in parts]
        sign = [sign for _, sign in parts]
        score, sign = (score[0], sign[0]) if len(parts) == 1 else (np.concatenate(score), np.concatenate(sign))
        by_class, places = np.empty(score.size), np.empty(score.size, dtype=np.int64)
        n_pos = split_classes(score, sign, by_class, places)
        pos, neg = by_class[:n_pos], by_class[n_pos:]
        return (ClassScores.equal(pos, neg) if shares is None else ClassScores(pos, neg, *shares)), places


class Waiting:
    """Rows that wait until a buffer is full."""

    def __init__(self):
        self._parts = []
        self.n_rows = 0

    def fill(self, size, rows, sign):
        """Yield full buffers as pairs of rows and signs, and keep a copy of what remains."""
        start = 0
        if self._parts and self.n_rows + sign.size >= size:
            start = size - self.n_rows
            self._keep(cut_rows(rows, 0, start), sign[:start])
            yield self.empty()
        while not self._parts and start + size <= sign.size:
            yield cut_rows(rows, start, start + size), sign[start : start + size]
            start += size
        if start < sign.size:
            self._keep(cut_rows(rows, start, sign.size), sign[start:])

    def empty(self):
        """What waits, as one pair, or ``None``; nothing waits any more."""
        parts, self._parts, self.n_rows = self._parts, [], 0
        if not parts:
            return None
        return stack_rows([rows for rows, _ in parts]), np.concatenate([sign for _, sign in parts])

    def _keep(self, rows, sign):
        self._parts.append((copy_rows(rows), sign.copy()))
        self.n_rows += sign.size
