"""What the mini-batch learners share: projected, averaged steps along the subgradient of a buffer, and a threshold."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, BoolArray, FloatArray, IntArray, Samples
from csf._common.validation import check_choice, check_count
from csf.structural._limits import check_moderate
from csf.structural._online import StructuralOnlineClassifier
from csf.structural._problem import longest_scale
from csf.structural._rows import rows_of, split_classes, stack_rows
from csf.structural._threshold import choose_threshold
from csf.structural._weights import AveragedWeights
from csf.structural.losses import ClassScores

if TYPE_CHECKING:
    from csf.structural._rows import Rows

    # Rows and their signs.
    Part: TypeAlias = tuple[Rows, FloatArray]

__all__ = ["MiniBatchLearner", "Waiting"]

# How much more the later steps count in averages.
POWERS = {"poly": 3.0, "uniform": 0.0}
# Length of the longest step relative to the radius, where no step size is given.
LONGEST_STEP = 0.1


class MiniBatchLearner(StructuralOnlineClassifier):
    """Base of learners that make one subgradient step for each buffer.

    Subclasses have the parameters ``loss``, ``buffer_size``, ``eta``, ``averaging`` and ``radius`` beside those of
    the base. They write ``_step`` for chunks of a stream, ``_buffered(rows, sign)`` (look at a whole training set and
    say which rows go through buffers) and ``_use(rows, sign)`` (learn from a buffer), which calls ``_descend``.
    """

    buffer_size: int
    eta: float | None
    averaging: str
    n_skipped_: int

    _buffer: tuple[Sequence[Part], tuple[float, float] | None] | None

    @property
    def n_updates_(self) -> int:
        """Steps made: one for each buffer that was used."""
        check_is_fitted(self)
        return self._w.n_steps

    def fit(self, X: Samples, y: ArrayLike) -> Self:
        """Forget everything and learn ``passes`` times over the samples, in a new random order each time.

        Rows are scaled by the longest of them. A last buffer that is not full counts if it is at least half full.

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
        with self._unchanged_on_error():
            self._check_common_parameters()
            X, labels = self._checked(X, y)
            scale = longest_scale(X)
            self._begin(labels, X.shape[1], n_expected=self.passes * labels.size)
            self.x_scale_, self._longest = scale, 1.0 / scale
            sign = self._signs(labels)
        rows = rows_of(X)
        self._learn_passes(rows, sign)
        if self._chooses:
            score = rows.scores(self._w.average(), self.x_scale_, self._constant())
            self._threshold = choose_threshold(self._loss, ClassScores.equal(score[sign > 0], score[sign < 0]))
            self._own_buffer()
        return self

    @abstractmethod
    def _buffered(self, rows: Rows, sign: FloatArray) -> BoolArray:
        """Boolean array: which rows of a training set go through buffers."""

    @abstractmethod
    def _use(self, rows: Rows, sign: FloatArray) -> None:
        """Learn from a buffer."""

    def _learn_passes(self, rows: Rows, sign: FloatArray) -> None:
        """Buffers of a training set, pass after pass; what is left of a pass begins the next."""
        buffered, n_rows = self._buffered(rows, sign), sign.size
        rest = (np.empty(0, dtype=np.int64),) * 2
        for number in range(self.passes):
            order = self._rng.permutation(n_rows) if self.shuffle else np.arange(n_rows)
            places = np.flatnonzero(buffered[order])
            seen = np.concatenate([rest[1], number * n_rows + places + 1])
            order = np.concatenate([rest[0], order[places]])
            n_full = order.size // self._size
            for start in range(0, n_full * self._size, self._size):
                at = order[start : start + self._size]
                self._use_after(int(seen[start + self._size - 1]), rows.take(at), sign[at])
            rest = order[n_full * self._size :], seen[n_full * self._size :]
        if 2 * rest[0].size >= self._size:
            self._use_after(int(rest[1][-1]), rows.take(rest[0]), sign[rest[0]])
        self._record(self.passes * n_rows)
        self.n_seen_ = self.passes * n_rows

    def _use_after(self, n_seen: int, rows: Rows, sign: FloatArray) -> None:
        """Learn from a buffer whose last row is number ``n_seen``."""
        self._record(n_seen - 1)
        self._use(rows, sign)
        self.n_seen_ = n_seen
        self._record(n_seen)

    def _record(self, n_seen: int) -> None:
        """Entries of the history that are due up to some number of rows, with the numbers as they are."""
        due = 1 << len(self._records)
        while due <= n_seen:
            self._records.append({"n_seen": due, **self._numbers()})
            due *= 2

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count(self.buffer_size, "buffer_size", minimum=2)
        if self.eta is not None:
            check_moderate(self.eta, "eta")
        check_choice(self.averaging, "averaging", POWERS)

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        expected = self._n_expected
        self._size = self.buffer_size if expected is None else min(self.buffer_size, expected // self.passes)
        self._w = AveragedWeights(n_features + bool(self.fit_intercept), POWERS[self.averaging])
        self._squares, self._buffer = 0.0, None
        self._last_loss = math.nan
        self.n_skipped_ = 0

    def _take(self, X: Samples, y: FloatArray) -> list[Any]:
        results = super()._take(X, y)
        self._own_buffer()
        return results

    def _own_buffer(self) -> None:
        """Hold on to a copy of the last buffer instead of the data it is part of, which may be large, and change."""
        if self._buffer is not None:
            parts, shares = self._buffer
            self._buffer = [(rows.copy(), sign.copy()) for rows, sign in parts], shares

    def _numbers(self) -> dict[str, Any]:
        return {"n_updates": self._w.n_steps, "loss": self._last_loss}

    def _weights(self) -> tuple[Array, Array]:
        return self._w.average(), self._w.last()

    def _descend(self, parts: Sequence[Part], shares: tuple[float, float] | None = None) -> bool:
        """One step. ``parts`` are pairs of rows and signs; ``shares`` are those of one positive and one negative.

        Returns whether there was one: without one of the classes there is none.
        """
        scores, places = self._split(parts, self._w.scores, shares)
        if not (scores.pos.size and scores.neg.size):
            return False
        tangent = self._loss.class_tangent(scores)
        slopes, constant, start = tangent.slope[places], self._constant(), 0
        moved: list[tuple[Rows, Array]] = []
        for rows, sign in parts:
            moved.append((rows, slopes[start : start + sign.size]))
            self._squares += self._w.add(*moved[-1], self.x_scale_, constant)
            start += sign.size
        self._w.step(moved, self._step_size(), self.radius)
        self._last_loss = tangent.value
        if self._chooses:
            self._threshold, self._buffer = None, (parts, shares)
        return True

    def _step_size(self) -> float:
        """Factor of the next subgradient."""
        if self.eta is not None:
            return self.eta / math.sqrt(self._w.n_steps + 1)
        return LONGEST_STEP * self.radius / math.sqrt(self._squares) if self._squares > 0.0 else 0.0

    def _choose_threshold(self) -> float:
        """Threshold on the last buffer; nothing is positive before the first."""
        if self._buffer is None:
            return math.inf
        parts, shares = self._buffer
        average = self._w.average()
        scores, _ = self._split(parts, lambda rows, *how: rows.scores(average, *how), shares)
        return choose_threshold(self._loss, scores)

    def _split(
        self, parts: Sequence[Part], scores_of: Callable[..., FloatArray], shares: tuple[float, float] | None
    ) -> tuple[ClassScores, IntArray]:
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

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self.n_rows = 0

    def fill(self, size: int, rows: Rows, sign: FloatArray) -> Iterator[Part]:
        """Yield full buffers as pairs of rows and signs, and keep a copy of what remains."""
        start = 0
        if self._parts and self.n_rows + sign.size >= size:
            start = size - self.n_rows
            self._keep(rows.take(slice(0, start)), sign[:start])
            parts, self._parts, self.n_rows = self._parts, [], 0
            yield stack_rows([rows for rows, _ in parts]), np.concatenate([sign for _, sign in parts])
        while not self._parts and start + size <= sign.size:
            stop = start + size
            yield rows.take(slice(start, stop)), sign[start:stop]
            start = stop
        if start < sign.size:
            self._keep(rows.take(slice(start, None)), sign[start:])

    def _keep(self, rows: Rows, sign: FloatArray) -> None:
        self._parts.append((rows.copy(), sign.copy()))
        self.n_rows += sign.size
