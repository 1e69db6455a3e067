"""Common parts of all online learners: rows, checks of chunks and labels, passes, predictions."""

from __future__ import annotations

import functools
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.compiled import njit, parts, row_at
from csf._common.dtypes import is_whole
from csf._common.sklearn import check_options, option, with_parameters
from csf._common.typing import Array, Estimator, FloatArray, IntArray, Label, Params, RandomState_, Samples, Targets
from csf._common.validation import (
    check_binary_target,
    check_bool,
    check_choice,
    check_count,
    check_positive,
    check_seed,
    label_array,
    warn_of_order,
)
from csf.data.responses import LinearClassifier, TwoClassRule
from csf.metrics.profile import ErrorProfile

if TYPE_CHECKING:
    from csf.metrics.base import Metric

# What a step returns: the scores or probabilities of its rows before it; nothing for most learners.
StepResult: TypeAlias = Any

# ---------------------------------------------------------------- rows of a chunk


# Inverses of powers of two up to this one are normal numbers.
_LONGEST = 2.0**1000
# Products of two numbers, each made so much smaller, stay in the range.
_SMALL = 2.0**-520


def are_ready(X: Samples, y: Targets, n_features: int) -> bool:
    """Check whether the general check would return a chunk unchanged: one look at its values instead of several."""
    chunk = X
    if type(X) is np.ndarray:
        values, fits = chunk, X.ndim == 2 and X.flags.c_contiguous
    elif isinstance(X, csr_array | csr_matrix):
        values, fits = chunk.data, True
    else:
        return False
    if not (
        fits
        and values.dtype in (np.float64, np.float32)
        and chunk.shape[0] > 0
        and chunk.shape[1] == n_features
        and type(y) is np.ndarray
        and is_whole(y)
        and y.shape == chunk.shape[:1]
    ):
        return False
    # One value that is not finite makes the sum so; a sum that overflows is left to the general check.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def canonical(X: Samples) -> Samples:
    """Sort the columns of sparse rows and merge duplicates; return anything else unchanged."""
    if issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def rows(X: Samples, start: int, stop: int) -> Samples:
    """Return the rows from ``start`` to ``stop``, without a copy where that is all of them."""
    return X if start == 0 and stop == X.shape[0] else X[start:stop]


def linear_scores(X: Samples, coef: Array, intercept: float) -> FloatArray:
    """Compute the scores of rows; sums that overflow become the largest number of the right sign."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(X @ coef, dtype=np.float64).ravel() + intercept
        lost = np.flatnonzero(~np.isfinite(scores))
        if lost.size:
            small = (X[lost].astype(np.float64) * _SMALL) @ (coef * _SMALL) + intercept * _SMALL * _SMALL
            largest = np.finfo(np.float64).max
            scores[lost] = np.clip(np.asarray(small).ravel() / _SMALL / _SMALL, -largest, largest)
    return scores


def lengths(X: Samples) -> FloatArray:
    """Compute the Euclidean length of each row, at most 2**1000."""
    return np.minimum(row_lengths(parts(X)), _LONGEST)


def within_range(X: Samples) -> tuple[Samples, FloatArray]:
    """Return rows and their lengths, below 2**1000; in rows that are longer each value counts as 2**960 at most."""
    length = lengths(X)
    far = np.flatnonzero(length >= _LONGEST)
    if far.size:
        X = X.copy()
        for i in far:
            values = X.data[X.indptr[i] : X.indptr[i + 1]] if issparse(X) else X[i]
            np.clip(values, -(2.0**960), 2.0**960, out=values)
        length[far] = lengths(X[far])
    return X, length


def shorten(X: Samples, length: FloatArray, limit: float) -> Samples:
    """Shrink rows longer than ``limit`` to this length, in a copy if there are any."""
    if not (length > limit).any():
        return X
    factors = (limit / np.maximum(length, limit)).astype(X.dtype)
    if not issparse(X):
        return X * factors[:, None]
    X = X.copy()
    X.data *= np.repeat(factors, np.diff(X.indptr))
    return X


def power_of_two_above(length: float) -> float:
    """Return the least power of two, from 2**-1000 on, that is not below ``length``."""
    fraction, exponent = math.frexp(length)
    return math.ldexp(1.0, max(exponent - (fraction == 0.5), -1000))


@njit(cache=True, nogil=True)
def _careful_length(values):
    """Compute the Euclidean length where squares would overflow or vanish."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(np.float64(value)))
    if largest == 0.0:
        return 0.0
    total = 0.0
    for value in values:
        total += (value / largest) ** 2
    return largest * math.sqrt(total)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def row_lengths(rows) -> Array:
    """Compute the `lengths` of the rows of ``(X,)`` or ``(data, indices, indptr)``."""
    n_rows = rows[0].shape[0] if len(rows) == 1 else rows[2].shape[0] - 1
    out = np.empty(n_rows)
    for i in range(n_rows):
        values, square = row_at(rows, i)[0], 0.0
        for k in range(values.shape[0]):
            square += np.float64(values[k]) * np.float64(values[k])
        out[i] = math.sqrt(square) if 1e-280 < square < 1e280 else _careful_length(values)
    return out


# ---------------------------------------------------------------- emitted predictions


class EmittedPredictions:
    """Counts of emitted predictions, for learners that keep them in ``self._counts``: tp, fp, fn, tn."""

    n_seen_: int

    _counts: IntArray

    @property
    def online_counts_(self) -> dict[str, int]:
        """Dict with ``tp``, ``fp``, ``fn`` and ``tn`` of all predictions emitted so far."""
        check_is_fitted(self)
        return dict(zip(("tp", "fp", "fn", "tn"), self._counts.tolist()))

    @property
    def online_profile_(self) -> ErrorProfile:
        """Error profile of all predictions emitted so far; raises ValueError until both classes have been seen."""
        return ErrorProfile.from_counts(**self.online_counts_)

    @property
    def n_updates_(self) -> int:
        """Number of steps: one for each example."""
        check_is_fitted(self)
        return self.n_seen_

    def _numbers(self) -> dict[str, int]:
        return self.online_counts_


def value_of_counts(metric: Metric, *, tp: int, fp: int, fn: int, tn: int) -> float:
    """Compute a linear-fractional metric of counts, also where one class is absent; 0 where it is 0 / 0."""
    total = max(tp + fp + fn + tn, 1)
    return metric.value(fn / total, fp / total, pos=(tp + fn) / total)


@njit(cache=True, nogil=True)
def count_predictions(is_predicted, is_pos, counts) -> None:
    """Add boolean predictions to the counts tp, fp, fn, tn."""
    for i in range(is_pos.shape[0]):
        counts[(0 if is_pos[i] else 1) if is_predicted[i] else (2 if is_pos[i] else 3)] += 1


# ---------------------------------------------------------------- what all online learners share


# How kernels want their rows.
NUMBERS = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "order": "C"}
# Rows that `fit` takes out of a shuffled order at a time.
BLOCK = 4096
# Rows that set the scale; longer rows that come later are shortened.
WARM_UP = 1000
_LARGEST_CONSTANT = 1e100


@with_parameters
class OnlineClassifier(TwoClassRule):
    """Base of classifiers of two classes that learn from one example after the other.

    Its parameters are ``passes``, ``shuffle``, ``pos_label`` and ``random_state``. A subclass writes

    - ``_check_parameters()``: raise ValueError or TypeError for a bad parameter, where there is more to check than what
      `csf._common.sklearn.option` declares;
    - ``_start(n_features)``: make a fresh state; ``self._rng`` is a new generator, ``self.n_seen_`` is 0;
    - ``_step(X, y)``: learn rows in order, ``y`` is +1.0 or -1.0, ``self.n_seen_`` rows came before;
    - ``_numbers()``: dict of numbers to be kept in ``history_`` after 1, 2, 4, 8, ... rows;
    - ``decision_function(X)``: above 0 exactly where ``classes_[1]`` is predicted.

    The state consists of arrays, numbers and the generator, so that it can be pickled at any time. Rows may come
    in chunks of any size: how they are divided makes no difference.
    """

    passes: int = option(check=check_count, default=1)
    shuffle: bool = option(check=check_bool, default=True)
    pos_label: Label = None
    random_state: RandomState_ = option(check=check_seed, default=None)

    n_features_in_: int = field(init=False)
    n_seen_: int = field(init=False)

    _rng: np.random.Generator = field(init=False)
    _n_expected: int | None = field(init=False)
    _records: list[Params] = field(init=False)

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
        """Create a fresh state."""

    @abstractmethod
    def _step(self, X: Samples, y: FloatArray) -> StepResult:
        """Learn rows in order."""

    def _numbers(self) -> Params:
        """Return the numbers for the history."""
        return {}

    def _checked(self, X: Samples, y: Targets, *, reset: bool = True) -> tuple[Samples, Array]:
        """Check samples and labels, and return them."""
        known = None if reset or hasattr(self, "feature_names_in_") else self.n_features_in_
        if known is None or not are_ready(X, y, known):
            warn_of_order(X=X, y=y)
            y = y if y is None else label_array(y, "y")  # scikit-learn refuses None
            X, y = validate_data(self, X, y, reset=reset, **NUMBERS)
        return canonical(X), y

    def _check_common_parameters(self) -> None:
        check_options(self)
        self._check_parameters()

    def _begin(
        self,
        labels: Targets,
        n_features: int,
        *,
        n_expected: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Create a fresh state for these labels; ``n_expected`` examples will come, ``None`` for unknown."""
        if n_expected is not None and np.all(labels == labels[0]):
            raise ValueError(
                f"y has one class only ({labels.tolist()[0]!r}), fit needs both; partial_fit(X, y, "
                "classes=[0, 1]), with both labels, learns from what there is"
            )
        self.classes_, _, self.pos_label_ = check_binary_target(labels, self.pos_label)
        if rng is None:
            rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
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
        """Convert labels to +1.0 for the positive class and -1.0 for the other."""
        is_pos, is_last = y == self.pos_label_, y == self.classes_[1]
        known = is_pos | is_last | (y == self.classes_[0])
        if not np.all(known):
            unseen = np.unique(np.asarray(y)[~np.broadcast_to(known, y.shape)].astype(str)).tolist()
            raise ValueError(f"y holds unseen labels {unseen[:5]}; the labels are {self.classes_.tolist()}")
        return np.where(is_pos, 1.0, -1.0)

    def _go_through(self, X: Samples, y: FloatArray) -> None:
        """Learn checked samples in all passes."""
        for _ in range(self.passes):
            self._pass_over(X, y)

    def _pass_over(self, X: Samples, y: FloatArray) -> None:
        order = self._rng.permutation(y.size) if self.shuffle else None
        for start in range(0, y.size, BLOCK):
            block = slice(start, start + BLOCK) if order is None else order[start : start + BLOCK]
            self._learn(X[block], y[block])

    def _learn(self, X: Samples, y: FloatArray) -> list[StepResult]:
        """Learn checked rows, and record the history where due. Return the list of the steps' results."""
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
        """Return the number of rows to take at a time, ``n_left`` before the history is due."""
        return n_left

    def _take(self, X: Samples, y: FloatArray) -> list[StepResult]:
        result = self._step(X, y)
        self.n_seen_ += y.size
        return [result]

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Undo what checks and a first start have set, if one of them fails."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise


def _check_constant(value: float, name: str) -> None:
    """Check the value of the constant feature."""
    if check_positive(value, name) > _LARGEST_CONSTANT:
        raise ValueError(
            f"{name} must be at most {_LARGEST_CONSTANT:g}, got {value!r}: its square leaves the range of numbers; "
            "values near the lengths of rows are usual"
        )


@with_parameters
class LinearOnlineClassifier(LinearClassifier, OnlineClassifier):
    """Base of online classifiers with one vector of weights.

    Beside those of `OnlineClassifier`, it has the parameters ``fit_intercept`` and ``intercept_scaling``. A subclass
    writes ``_weights()``: the weights to predict with and those of the last step, as one pair of arrays of
    shape (n_weights,). There ``n_weights`` is ``n_features``, plus 1 for the constant feature of value
    ``intercept_scaling``, which comes last, with ``fit_intercept``.

    Kernels multiply each row by ``self.x_scale_`` on the fly (not the constant feature) and so see rows of length at
    most 1. The scale is the largest power of two for which that holds among the first 1000 rows, in the course of which
    it may fall. Later rows that are too long arrive shortened. Scores are positive for ``s > 0``. Where
    ``_scales_rows`` is False, rows come as they are, and ``x_scale_`` is 1.
    """

    fit_intercept: bool = option(check=check_bool, default=True)
    intercept_scaling: float = option(check=_check_constant, default=1.0)

    x_scale_: float = field(init=False)

    _sample_checks = NUMBERS
    _scales_rows: ClassVar[bool] = True
    # A score of 0 is negative, whichever label comes last.
    _cut = np.nextafter(0.0, np.inf)

    def _constant(self) -> float:
        """Return the value of the constant feature that stands for the intercept; 0 without one."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    @property
    def coef_(self) -> Array:
        """Coefficients of the score for ``classes_[1]``, of shape (1, n_features)."""
        return self._coef(0)

    @property
    def coef_last_(self) -> Array:
        """Coefficients of the last step, not averaged; otherwise as ``coef_``."""
        return self._coef(1)

    @property
    def intercept_(self) -> Array:
        """Intercept of the score for ``classes_[1]``, of shape (1,)."""
        check_is_fitted(self)
        constant = self._weights()[0][-1] * self.intercept_scaling if self.fit_intercept else 0.0
        return np.array([self._orientation() * constant])

    @abstractmethod
    def _weights(self) -> tuple[Array, Array]:
        """Return the weights to predict with, and those of the last step."""

    def _scores(self, X: Samples) -> Array:
        """Compute the linear scores of checked rows."""
        return linear_scores(X, self.coef_[0], self.intercept_[0])

    def _coef(self, which: int) -> Array:
        check_is_fitted(self)
        w = self._weights()[which][: self.n_features_in_]
        return (self._orientation() * self.x_scale_ * w)[None, :]

    def _begin(self, labels: Targets, n_features: int, **options: Any) -> None:
        self.x_scale_ = 1.0
        self._longest = 0.0
        super()._begin(labels, n_features, **options)

    def _take(self, X: Samples, y: FloatArray) -> list[StepResult]:
        """Pass on rows in pieces of one scale, or as they are to steps that need no scale."""
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


def _first_labels(y: Array, classes: ArrayLike | None) -> ArrayLike:
    """Return the labels to start with."""
    if classes is not None:
        return classes
    if np.all(y == y[0]):
        raise ValueError(
            f"the first chunk has one class only ({y.tolist()[0]!r}); give both labels in the first call, "
            "e.g. partial_fit(X, y, classes=[0, 1])"
        )
    return y


# ---------------------------------------------------------------- rules of steps


class StepRule(ABC):
    """Step rule of a linear learner, with the state that it has learnt.

    Parameters of the learner are read where they are needed, so that changes of them count from the next chunk on.
    """

    # Whether rows come at length at most 1, or as they are.
    scales_rows = True
    # Score from which on the positive class is predicted; the least score of such a prediction.
    threshold, cut = 0.0, float(np.nextafter(0.0, np.inf))

    @abstractmethod
    def __init__(self, learner: Estimator, n_features: int) -> None:
        """Create a fresh state."""

    @staticmethod
    def check(learner: Estimator) -> None:
        """Raise for a bad parameter of the learner that this rule alone has, if there is any."""
        return

    def meet(self, learner: Estimator, X: Samples, y: FloatArray) -> None:
        """Look at a whole chunk before it is learnt in pieces; most rules need not."""
        return

    @abstractmethod
    def learn(self, learner: Estimator, X: Samples, y: FloatArray) -> StepResult:
        """Learn rows in order."""

    @abstractmethod
    def weights(self) -> tuple[Array, Array]:
        """Return the weights to predict with, and those of the last step."""

    def n_updates(self, n_seen: int) -> int:
        """Count the steps made: one for each example, unless overridden."""
        return n_seen


@with_parameters
class SteppingLearner(LinearOnlineClassifier):
    """Base of learners with steps that need no tuning beside the published ones.

    Subclasses have ``_rules``, by the values of ``step``, and the names of parameters of the published rule alone.
    """

    step: Literal["adaptive", "paper"] = "adaptive"
    prior: float = option(check=check_positive, default=1.0)
    window: int | None = None
    _rules: ClassVar[Mapping[str, type[StepRule]]]
    _of_paper: ClassVar[tuple[str, ...]]
    _rule: Any = field(init=False)  # of the class that `_rules` says

    @property
    def n_updates_(self) -> int:
        """Number of steps made."""
        check_is_fitted(self)
        return self._rule.n_updates(self.n_seen_)

    @property
    def _scales_rows(self) -> bool:
        return self._rule.scales_rows

    def _check_parameters(self) -> None:
        check_step(self, of_paper=self._of_paper)
        self._rules[self.step].check(self)

    def _start(self, n_features: int) -> None:
        self._rule = self._rules[self.step](self, n_features)

    def _learn(self, X: Samples, y: FloatArray) -> list[StepResult]:
        self._rule.meet(self, X, y)
        return super()._learn(X, y)

    def _step(self, X: Samples, y: FloatArray) -> StepResult:
        return self._rule.learn(self, X, y)

    def _weights(self) -> tuple[Array, Array]:
        return self._rule.weights()


def check_step(learner: Estimator, *, of_paper: tuple[str, ...]) -> None:
    """Check ``step`` and ``window``; parameters of the published rule alone must keep their defaults with the other."""
    check_choice(learner.step, "step", ("adaptive", "paper"))
    if learner.step == "paper":
        if learner.window is not None:
            raise ValueError(f"window={learner.window!r} is for step='adaptive'; step='paper' looks back upon all")
        return
    if learner.window is not None:
        check_count(learner.window, "window", minimum=2)
    for name, default in _defaults(type(learner), of_paper):
        value = getattr(learner, name)
        if value is not default and value != default:
            raise ValueError(
                f"{name}={value!r} is for step='paper', and step='adaptive' has no {name}; give step='paper', or "
                f"leave {name}={default!r}"
            )


@functools.cache
def _defaults(kind, names):
    parameters = inspect.signature(kind).parameters
    return [(name, parameters[name].default) for name in names]
