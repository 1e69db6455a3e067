"""What all online learners share: checks of chunks and labels, passes, the scale of rows, coefficients, prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.typing import Array, FloatArray, Label, RandomState_, Samples
from csf._common.validation import check_binary_target, check_bool, check_count, check_intercept
from csf.data.responses import LinearRule, TwoClassRule
from csf.online.rows import are_ready, canonical, linear_scores, power_of_two_above, rows, shorten, within_range

__all__ = ["LinearOnlineClassifier", "OnlineClassifier"]

# How kernels want their rows.
NUMBERS = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "order": "C"}
# Rows that `fit` takes out of a shuffled order at a time.
BLOCK = 4096
# Rows that set the scale; longer rows that come later are shortened.
WARM_UP = 1000
_LARGEST_CONSTANT = 1e100


class OnlineClassifier(TwoClassRule):
    """Base of classifiers of two classes that learn from one example after the other.

    A subclass has the parameters ``passes``, ``shuffle``, ``pos_label`` and ``random_state``. It writes

    - ``_check_parameters()``: raise ValueError or TypeError for a bad parameter;
    - ``_start(n_features)``: make a fresh state; ``self._rng`` is a new generator, ``self.n_seen_`` is 0;
    - ``_step(X, y)``: learn rows in order, ``y`` is +1.0 or -1.0, ``self.n_seen_`` rows came before;
    - ``_numbers()``: dict of numbers to be kept in ``history_`` after 1, 2, 4, 8, ... rows;
    - ``decision_function(X)``: above 0 exactly where ``classes_[1]`` is predicted.

    The state consists of arrays, numbers and the generator, so that it can be pickled at any time. Rows may come
    in chunks of any size: how they are divided makes no difference.
    """

    passes: int
    shuffle: bool
    pos_label: Label
    random_state: RandomState_
    n_features_in_: int
    n_seen_: int

    _rng: np.random.Generator
    _n_expected: int | None
    _records: list[dict[str, Any]]

    def fit(self, X: Samples, y: ArrayLike) -> Self:
        """Forget everything and learn ``passes`` times over the samples, in a new random order each time.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        OnlineClassifier
            Itself.
        """
        with self._unchanged_on_error():
            self._check_common_parameters()
            X, labels = self._checked(X, y)
            self._begin(labels, X.shape[1], n_expected=self.passes * labels.size)
            signs = self._signs(labels)
        self._go_through(X, signs)
        return self

    def partial_fit(self, X: Samples, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from a chunk of examples, in the order given.

        A chunk that is refused leaves the estimator as it was.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array-like of shape (n_samples,)
            Their labels. One class is enough once both labels are known.
        classes : array-like of shape (2,), default=None
            Both labels; needed in the first call if its ``y`` has one class only.

        Returns
        -------
        OnlineClassifier
            Itself.
        """
        first = not hasattr(self, "classes_")
        with self._unchanged_on_error():
            self._check_common_parameters()
            X, labels = self._checked(X, y, reset=first)
            if first:
                self._begin(_first_labels(labels, classes), X.shape[1])
            elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(
                    f"classes={np.unique(classes).tolist()} differ from those of the first call, "
                    f"{self.classes_.tolist()}; use a new estimator for other labels"
                )
            signs = self._signs(labels)
        self._learn(X, signs)
        return self

    @property
    def history_(self) -> dict[str, Array]:
        """Dict of arrays: ``n_seen`` (1, 2, 4, 8, ...) and what the learner records of itself after so many rows."""
        check_is_fitted(self)
        return {name: np.array([row[name] for row in self._records]) for name in ("n_seen", *self._numbers())}

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise for a bad parameter."""

    @abstractmethod
    def _start(self, n_features: int) -> None:
        """Make a fresh state."""

    @abstractmethod
    def _step(self, X: Samples, y: FloatArray) -> Any:
        """Learn rows in order."""

    def _numbers(self) -> dict[str, Any]:
        """Numbers for the history."""
        return {}

    def _checked(self, X: Samples, y: Any, *, reset: bool = True) -> tuple[Samples, Array]:
        """Checked samples and labels."""
        known = None if reset or hasattr(self, "feature_names_in_") else self.n_features_in_
        if known is None or not are_ready(X, y, known):
            X, y = validate_data(self, X, y, reset=reset, **NUMBERS)
        return canonical(X), y

    def _check_common_parameters(self) -> None:
        check_count(self.passes, "passes")
        check_bool(self.shuffle, "shuffle")
        self._check_parameters()

    def _begin(
        self,
        labels: Any,
        n_features: int,
        *,
        n_expected: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Fresh state for these labels; ``n_expected`` examples will come, ``None`` where nobody knows."""
        if n_expected is not None and _distinct(labels).shape[0] == 1:
            raise ValueError(
                f"y has one class only ({_distinct(labels).tolist()[0]!r}), fit needs both; partial_fit(X, y, "
                "classes=[0, 1]), with both labels, learns from what there is"
            )
        self.classes_, _, self.pos_label_ = check_binary_target(labels, self.pos_label)
        if rng is None:
            rng = np.random.default_rng(_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self._rng = rng
        self.n_seen_, self._n_expected = 0, n_expected
        self._records = []
        self._start(n_features)

    def _adopt(self, classes: Array, n_features: int, rng: np.random.Generator) -> None:
        """Begin inside another estimator, which has checked labels and features and has a generator."""
        self._check_common_parameters()
        self.n_features_in_ = n_features
        self._begin(classes, n_features, rng=rng)

    def _signs(self, y: Array) -> FloatArray:
        """Labels as +1.0 for the positive class and -1.0 for the other."""
        is_pos, is_last = y == self.pos_label_, y == self.classes_[1]
        known = is_pos | is_last | (y == self.classes_[0])
        if not np.all(known):
            unseen = np.unique(np.asarray(y)[~np.broadcast_to(known, y.shape)].astype(str)).tolist()
            raise ValueError(f"y holds unseen labels {unseen[:5]}; the labels are {self.classes_.tolist()}")
        return np.where(is_pos, 1.0, -1.0)

    def _go_through(self, X: Samples, y: FloatArray) -> None:
        """All passes over checked samples."""
        for _ in range(self.passes):
            self._pass_over(X, y)

    def _pass_over(self, X: Samples, y: FloatArray) -> None:
        order = self._rng.permutation(y.size) if self.shuffle else None
        for start in range(0, y.size, BLOCK):
            block = slice(start, start + BLOCK) if order is None else order[start : start + BLOCK]
            self._learn(X[block], y[block])

    def _learn(self, X: Samples, y: FloatArray) -> list[Any]:
        """Learn checked rows; the history gets its entries where they are due. List of what the steps return."""
        results, start, n_rows = [], 0, y.size
        while start < n_rows:
            due = 1 << self.n_seen_.bit_length()  # the next power of two
            stop = min(n_rows, start + self._piece(due - self.n_seen_))
            results += self._take(rows(X, start, stop), y[start:stop])
            if self.n_seen_ >= due:
                self._records.append({"n_seen": self.n_seen_, **self._numbers()})
            start = stop
        return results

    def _piece(self, n_left: int) -> int:
        """Rows to take at a time, ``n_left`` before the history is due."""
        return n_left

    def _take(self, X: Samples, y: FloatArray) -> list[Any]:
        result = self._step(X, y)
        self.n_seen_ += y.size
        return [result]

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Take back what checks and a first start have set, if one of them fails."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise


class LinearOnlineClassifier(LinearRule, OnlineClassifier):
    """Base of online classifiers with one vector of weights.

    Beside those of `OnlineClassifier`, a subclass has the parameters ``fit_intercept`` and ``intercept_scaling``,
    and writes ``_weights()``: the weights to predict with and those of the last step, as one pair of arrays of
    shape (n_weights,). There ``n_weights`` is ``n_features``, plus 1 for the constant feature of value
    ``intercept_scaling``, which comes last, with ``fit_intercept``.

    Kernels multiply each row by ``self.x_scale_`` on the fly (not the constant feature) and so see rows of length at
    most 1. The scale is the largest power of two for which that holds among the first 1000 rows, in the course of which
    it may fall. Later rows that are too long arrive shortened. Scores are positive for ``s > 0``. Where
    ``_scales_rows`` is False, rows come as they are, and ``x_scale_`` is 1.
    """

    fit_intercept: bool
    intercept_scaling: float
    x_scale_: float

    _sample_checks = NUMBERS
    _scales_rows: bool = True
    # A score of 0 is negative, whichever label comes last.
    _cut = np.nextafter(0.0, np.inf)

    def _constant(self) -> float:
        """Value of the constant feature that stands for the intercept; 0 without one."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    @property
    def coef_(self) -> Array:
        """Coefficients of the score for ``classes_[1]``, of shape (1, n_features)."""
        return self._coef(0)

    @property
    def coef_last_(self) -> Array:
        """As ``coef_``, but those of the last step, not averaged."""
        return self._coef(1)

    @property
    def intercept_(self) -> Array:
        """Intercept of the score for ``classes_[1]``, of shape (1,)."""
        check_is_fitted(self)
        constant = self._weights()[0][-1] * self.intercept_scaling if self.fit_intercept else 0.0
        return np.array([self._orientation() * constant])

    @abstractmethod
    def _weights(self) -> tuple[Array, Array]:
        """Weights to predict with, and those of the last step."""

    def _scores(self, X: Samples) -> Array:
        """Linear scores of checked rows."""
        return linear_scores(X, self.coef_[0], self.intercept_[0])

    def _coef(self, which: int) -> Array:
        check_is_fitted(self)
        w = self._weights()[which][: self.n_features_in_]
        return (self._orientation() * self.x_scale_ * w)[None, :]

    def _check_common_parameters(self) -> None:
        check_intercept(self.fit_intercept, self.intercept_scaling)
        if float(self.intercept_scaling) > _LARGEST_CONSTANT:
            raise ValueError(
                f"intercept_scaling must be at most {_LARGEST_CONSTANT:g}, got {self.intercept_scaling!r}: its square "
                "leaves the range of numbers; values near the lengths of rows are usual"
            )
        super()._check_common_parameters()

    def _begin(self, labels: Any, n_features: int, **options: Any) -> None:
        self.x_scale_ = 1.0
        self._longest = 0.0
        super()._begin(labels, n_features, **options)

    def _take(self, X: Samples, y: FloatArray) -> list[Any]:
        """Hand on rows in pieces of one scale, or as they are to steps that need none."""
        if not self._scales_rows:
            return super()._take(X, y)
        X, norm = within_range(X)
        results, start, n_rows = [], 0, y.size
        while start < n_rows and self.n_seen_ < WARM_UP:
            longer = np.flatnonzero(norm[start:] > self._longest)
            if longer.size and longer[0] == 0:
                self._longest = power_of_two_above(norm[start])
                self.x_scale_ = 1.0 / self._longest
                continue
            stop = start + int(longer[0]) if longer.size else n_rows
            results += super()._take(rows(X, start, stop), y[start:stop])
            start = stop
        if start < n_rows:
            results += super()._take(shorten(rows(X, start, n_rows), norm[start:], 1.0 / self.x_scale_), y[start:])
        return results


def _random_state(seed: RandomState_) -> np.random.RandomState:
    """Generator of a seed."""
    try:
        return check_random_state(seed)
    except ValueError:
        raise ValueError(
            f"random_state must be None, an int from 0 to 2**32 - 1, or a RandomState, got {seed!r}"
        ) from None


def _distinct(labels: Any) -> Array:
    """Sorted distinct labels."""
    try:
        return np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in np.ravel(labels)})
        raise ValueError(
            f"y must hold labels of one kind without missing ones, got a mixture of {', '.join(kinds)}"
        ) from None


def _first_labels(y: Array, classes: ArrayLike | None) -> ArrayLike:
    """Labels to start with."""
    if classes is not None:
        return classes
    if _distinct(y).shape[0] == 1:
        raise ValueError(
            f"the first chunk has one class only ({np.unique(y).tolist()[0]!r}); give both labels in the first call, "
            "e.g. partial_fit(X, y, classes=[0, 1])"
        )
    return y
