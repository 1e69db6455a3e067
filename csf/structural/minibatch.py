"""Streaming learners of structural losses: a step for each buffer (1PMB, 2PMB), or the minimum over all (FTRL)."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common.sklearn import one_of, option, with_parameters
from csf._common.typing import Array, BoolArray, FloatArray, IntArray, Params, Samples, Values
from csf._common.validation import check_bool, check_count, check_positive
from csf.online.base import LinearOnlineClassifier, StepResult
from csf.structural.base import (
    AveragedWeights,
    Reservoir,
    check_tuning,
    choose_threshold,
    rows_of,
    split_classes,
    stack_rows,
)
from csf.structural.cutting_plane import (
    Bounds,
    CuttingPlaneSolver,
    StructuralProblem,
    longest_scale,
    warn_of_weak_results,
)
from csf.structural.losses import ClassScores, check_moderate, get_loss

if TYPE_CHECKING:
    from csf.structural.base import TrainingRows
    from csf.structural.losses import StructuralLoss


# ---------------------------------------------------------------- what streaming learners of structural losses share


class StructuralOnlineClassifier(LinearOnlineClassifier):
    """Base of streaming learners with the parameters ``loss``, ``radius`` and ``tune_threshold``.

    Subclasses write ``_choose_threshold()``, the threshold of positive scores, and set ``self._threshold`` to ``None``
    where it has to be chosen again; ``self._chooses`` is True where it is chosen at all.
    """

    loss: str | StructuralLoss
    radius: float
    tune_threshold: bool

    _loss: StructuralLoss
    _threshold: float | None

    @property
    def threshold_(self) -> float:
        """Threshold of the scores of positives: 0, tuned, or for ranking losses the one that predicts their share."""
        check_is_fitted(self)
        if self._threshold is None:
            self._threshold = self._choose_threshold()
        return self._threshold

    @property
    def _cut(self) -> float | None:
        """Smallest score predicted positive."""
        return self.threshold_ if self._chooses else LinearOnlineClassifier._cut

    @abstractmethod
    def _choose_threshold(self) -> float:
        """Choose the threshold, where it is not 0."""

    def _check_parameters(self) -> None:
        check_tuning(get_loss(self.loss), self.tune_threshold)
        check_moderate(self.intercept_scaling, "intercept_scaling")

    def _start(self, n_features: int) -> None:
        self._loss = get_loss(self.loss)
        self._loss.check()
        self._chooses = self._loss.ranking or self.tune_threshold
        self._threshold = None if self._chooses else 0.0


# ---------------------------------------------------------------- what mini-batch learners share


# Rows and their signs.
Part: TypeAlias = "tuple[TrainingRows, FloatArray]"

# How much more the later steps count in averages.
POWERS = {"poly": 3.0, "uniform": 0.0}
# Length of the longest step relative to the radius, where no step size is given.
LONGEST_STEP = 0.1


@with_parameters
class MiniBatchLearner(StructuralOnlineClassifier):
    """Base of learners that make one subgradient step for each buffer.

    Subclasses have the parameters ``loss``, ``buffer_size``, ``eta``, ``averaging`` and ``radius`` beside those of
    the base. They write ``_step`` for chunks of a stream, ``_buffered(rows, sign)`` (look at a whole training set and
    say which rows go through buffers) and ``_use(rows, sign)`` (learn from a buffer), which calls ``_descend``.
    """

    loss: str | StructuralLoss = field(default="prbep", kw_only=False)
    buffer_size: int = option(check=partial(check_count, minimum=2), default=500)
    eta: float | None = option(check=check_moderate, default=None)
    averaging: Literal["poly", "uniform"] = option(check=one_of(*POWERS), default="poly")
    radius: float = option(check=check_moderate, default=1000.0)
    passes: int = option(check=check_count, default=25)
    tune_threshold: bool = False

    n_skipped_: int = field(init=False)

    _buffer: tuple[Sequence[Part], tuple[float, float] | None] | None = field(init=False)

    @property
    def n_updates_(self) -> int:
        """Number of steps: one for each buffer that was used."""
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
    def _buffered(self, rows: TrainingRows, sign: FloatArray) -> BoolArray:
        """Mark the rows of a training set that go through buffers."""

    @abstractmethod
    def _use(self, rows: TrainingRows, sign: FloatArray) -> None:
        """Learn from a buffer."""

    def _learn_passes(self, rows: TrainingRows, sign: FloatArray) -> None:
        """Learn the buffers of a training set, pass after pass; what is left of a pass begins the next."""
        buffered, n_rows = self._buffered(rows, sign), sign.size
        rest = (np.empty(0, dtype=np.int64),) * 2
        for number in range(self.passes):
            order = self._rng.permutation(n_rows) if self.shuffle else np.arange(n_rows)
            places = np.flatnonzero(buffered[order])
            seen = np.concatenate([rest[1], number * n_rows + places + 1])
            order = np.concatenate([rest[0], order[places]])
            n_full = order.size // self._size
            for start in range(0, n_full * self._size, self._size):
                batch = order[start : start + self._size]
                self._use_after(int(seen[start + self._size - 1]), rows.take(batch), sign[batch])
            rest = order[n_full * self._size :], seen[n_full * self._size :]
        if 2 * rest[0].size >= self._size:
            self._use_after(int(rest[1][-1]), rows.take(rest[0]), sign[rest[0]])
        self._record(self.passes * n_rows)
        self.n_seen_ = self.passes * n_rows

    def _use_after(self, n_seen: int, rows: TrainingRows, sign: FloatArray) -> None:
        """Learn from a buffer whose last row is number ``n_seen``."""
        self._record(n_seen - 1)
        self._use(rows, sign)
        self.n_seen_ = n_seen
        self._record(n_seen)

    def _record(self, n_seen: int) -> None:
        """Record the history that is due up to some number of rows, with the numbers as they are."""
        due = 1 << len(self._records)
        while due <= n_seen:
            self._records.append({"n_seen": due, **self._numbers()})
            due *= 2

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        expected = self._n_expected
        self._size = self.buffer_size if expected is None else min(self.buffer_size, expected // self.passes)
        self._w = AveragedWeights(n_features + bool(self.fit_intercept), POWERS[self.averaging])
        self._squares, self._buffer = 0.0, None
        self._last_loss = math.nan
        self.n_skipped_ = 0

    def _take(self, X: Samples, y: FloatArray) -> list[StepResult]:
        results = super()._take(X, y)
        self._own_buffer()
        return results

    def _own_buffer(self) -> None:
        """Keep a copy of the last buffer: the data it belongs to may be large, and may change."""
        if self._buffer is not None:
            parts, shares = self._buffer
            self._buffer = [(rows.copy(), sign.copy()) for rows, sign in parts], shares

    def _numbers(self) -> Params:
        return {"n_updates": self._w.n_steps, "loss": self._last_loss}

    def _weights(self) -> tuple[Array, Array]:
        return self._w.average(), self._w.last()

    def _descend(self, parts: Sequence[Part], shares: tuple[float, float] | None = None) -> bool:
        """Make one step from pairs of rows and signs; ``shares`` are those of one positive and one negative.

        Returns whether there was one: without one of the classes there is none.
        """
        scores, places = self._split(parts, self._w.scores, shares)
        if not (scores.pos.size and scores.neg.size):
            return False
        tangent = self._loss.class_tangent(scores)
        slopes, constant, start = tangent.slope[places], self._constant(), 0
        steps: list[tuple[TrainingRows, Array]] = []
        for rows, sign in parts:
            steps.append((rows, slopes[start : start + sign.size]))
            self._squares += self._w.add(*steps[-1], self.x_scale_, constant)
            start += sign.size
        self._w.step(steps, self._step_size(), self.radius)
        self._last_loss = tangent.value
        if self._chooses:
            self._threshold, self._buffer = None, (parts, shares)
        return True

    def _step_size(self) -> float:
        """Return the factor of the next subgradient."""
        if self.eta is not None:
            return self.eta / math.sqrt(self._w.n_steps + 1)
        return LONGEST_STEP * self.radius / math.sqrt(self._squares) if self._squares > 0.0 else 0.0

    def _choose_threshold(self) -> float:
        """Choose the threshold on the last buffer; predict nothing positive before the first."""
        if self._buffer is None:
            return math.inf
        parts, shares = self._buffer
        average = self._w.average()
        scores, _ = self._split(parts, lambda rows, *how: rows.scores(average, *how), shares)
        return choose_threshold(self._loss, scores)

    def _split(
        self, parts: Sequence[Part], scores_of: Callable[..., FloatArray], shares: tuple[float, float] | None
    ) -> tuple[ClassScores, IntArray]:
        """Compute the scores by class, and the place of each row in them."""
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

    def fill(self, size: int, rows: TrainingRows, sign: FloatArray) -> Iterator[Part]:
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

    def _keep(self, rows: TrainingRows, sign: FloatArray) -> None:
        self._parts.append((rows.copy(), sign.copy()))
        self.n_rows += sign.size


# ---------------------------------------------------------------- 1PMB


@with_parameters
class OnePassMiniBatch(MiniBatchLearner):
    r"""Linear classifier for a structural loss, by projected subgradient steps on buffers of a stream (1PMB).

    Parameters
    ----------
    loss : str or StructuralLoss, default="prbep"
        What to lower: ``"prbep"``, ``"pauc"``, ``"f1"``, ``"f<beta>"``, ``"top_precision"``, the name of a metric in
        ``csf.metrics.METRICS``, or a loss of `csf.structural`.
    buffer_size : int, default=500
        Examples for one step, at least 2; the square root of the number of examples is a good value. In `fit` it is
        never more than the number of samples.
    eta : float, default=None
        First step size, positive; step e has ``eta / sqrt(e)``. ``None`` takes a tenth of ``radius``, divided by
        the length of all subgradients so far, as one vector: no step is longer than a tenth of ``radius``.
    averaging : {"poly", "uniform"}, default="poly"
        Weights to predict with: averages over all steps in which step e counts as its cube (``"poly"``), or all steps
        alike, as in the paper (``"uniform"``).
    radius : float, default=1000.0
        Largest length of the weights, positive, for rows scaled to length at most 1.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It does not matter to losses that only rank.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    passes : int, default=25
        Passes over the samples in `fit`.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    tune_threshold : bool, default=False
        Whether the threshold of a loss of labels is tuned after learning, where its metric is best: on the
        training set after `fit`, else on the last buffer. Weights that have a small loss need not be best at threshold
        0.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``, averaged over all steps.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        Coefficients of the last step.
    threshold_ : float
        Threshold of the score of the positive class: 0, or tuned, or for losses that only rank the threshold that
        predicts as many positives as there are, in the training set after `fit`, else in the last buffer.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    n_seen_ : int
        Examples seen.
    n_updates_ : int
        Steps made.
    n_skipped_ : int
        Buffers without one of the classes; they are discarded.
    history_ : dict of ndarray
        After ``n_seen`` = 1, 2, 4, 8, ... examples: ``n_updates`` and the ``loss`` of the last buffer before its step.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Memory is that of the buffer and a few vectors; a step on sparse rows costs as much as their entries.

    References
    ----------
    .. [1] P. Kar, H. Narasimhan, P. Jain, "Online and Stochastic Gradient Methods for Non-decomposable Loss
       Functions", NIPS 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.structural import precision_at_k_score
    >>> X, y = make_classification(5000, weights=[0.95], class_sep=1.5, random_state=0)
    >>> model = OnePassMiniBatch("prbep", random_state=0).fit(X, y)
    >>> precision_at_k_score(y, model.decision_function(X))
    0.905
    """

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self._waiting = Waiting()

    def _step(self, X: Samples, y: FloatArray) -> None:
        for rows, sign in self._waiting.fill(self._size, rows_of(X), y):
            self._use(rows, sign)

    def _buffered(self, rows: TrainingRows, sign: FloatArray) -> BoolArray:
        return np.ones(sign.size, dtype=bool)

    def _use(self, rows: TrainingRows, sign: FloatArray) -> None:
        self.n_skipped_ += not self._descend([(rows, sign)])


# ---------------------------------------------------------------- 2PMB


@with_parameters
class TwoPassMiniBatch(MiniBatchLearner):
    r"""Linear classifier for a structural loss that keeps a sample of the rare class (2PMB).

    A first pass samples the rare class. In later passes each buffer of the other class makes one projected
    subgradient step of the loss of both.

    Parameters
    ----------
    loss : str or StructuralLoss, default="pauc"
        What to lower: ``"prbep"``, ``"pauc"``, ``"f1"``, ``"f<beta>"``, ``"top_precision"``, the name of a metric in
        ``csf.metrics.METRICS``, or a loss of `csf.structural`.
    buffer_size : int, default=500
        Examples of the common class for one step, at least 2.
    eta : float, default=None
        First step size, positive; step e has ``eta / sqrt(e)``. ``None`` takes a tenth of ``radius``, divided by
        the length of all subgradients so far, as one vector: no step is longer than a tenth of ``radius``.
    averaging : {"poly", "uniform"}, default="poly"
        Weights to predict with: averages over all steps in which step e counts as its cube (``"poly"``), or all steps
        alike, as in the paper (``"uniform"``).
    radius : float, default=1000.0
        Largest length of the weights, positive, for rows scaled to length at most 1.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It does not matter to losses that only rank.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    passes : int, default=25
        Passes over the samples in `fit`, beside the first, which samples.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    tune_threshold : bool, default=False
        Whether the threshold of a loss of labels is tuned after learning, where its metric is best: on the
        training set after `fit`, else on the last buffer. Weights that have a small loss need not be best at threshold
        0.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample and of the order in `fit`.
    reservoir_size : int, default=500
        Examples of the rare class that are kept, at least 1; all of them if they are fewer.
    reweight : bool, default=True
        Whether each example counts as the share of the data that it stands for. Without it, performances that
        depend on the share of positives (precision, F-beta) are those of the buffer, in which the rare class is
        more frequent.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``, averaged over all steps.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        Coefficients of the last step.
    threshold_ : float
        Threshold of the score of the positive class: 0, or tuned, or for losses that only rank the threshold that
        predicts as many positives as there are, in the training set after `fit`, else in the last buffer.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    n_seen_ : int
        Examples seen, those of `collect` included.
    n_updates_ : int
        Steps made.
    n_skipped_ : int
        Buffers of the common class that came before any example of the rare class; they are discarded.
    history_ : dict of ndarray
        After ``n_seen`` = 1, 2, 4, 8, ... examples: ``n_updates`` and the ``loss`` of the last buffer before its step.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    For a stream, call `collect` with all chunks and then ``partial_fit`` with all chunks again, as often as you
    like. Without `collect`, the positive class is taken for the rare one and its sample grows while the stream goes
    by. Memory is that of the sample, the buffer and a few vectors.

    References
    ----------
    .. [1] P. Kar, H. Narasimhan, P. Jain, "Online and Stochastic Gradient Methods for Non-decomposable Loss
       Functions", NIPS 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.structural import partial_auc_score
    >>> X, y = make_classification(5000, weights=[0.95], class_sep=1.5, random_state=0)
    >>> model = TwoPassMiniBatch("pauc", random_state=0).fit(X, y)
    >>> partial_auc_score(y, model.decision_function(X), beta=0.1)
    0.916
    """

    loss: str | StructuralLoss = field(default="pauc", kw_only=False)
    reservoir_size: int = option(check=check_count, default=500)
    reweight: bool = option(check=check_bool, default=True)

    def collect(self, X: Samples, y: ArrayLike, classes: ArrayLike | None = None) -> TwoPassMiniBatch:
        """Sample both classes in a first pass over a stream, and count them; nothing is learnt yet.

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
        TwoPassMiniBatch
            Itself.

        Raises
        ------
        ValueError
            If learning has begun.
        """
        if getattr(self, "_rare", None) is not None:
            raise ValueError("collect comes before partial_fit; learning has begun. Use another estimator")
        try:
            self._collecting = True
            return self.partial_fit(X, y, classes)
        finally:
            vars(self).pop("_collecting", None)

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self._waiting = Waiting()
        self._samples: dict[float, Reservoir] | None = None
        self._rare: float | None = None

    def _step(self, X: Samples, y: FloatArray) -> None:
        rows = rows_of(X)
        if hasattr(self, "_collecting"):
            if self._samples is None:
                self._samples = {sign: Reservoir(self.reservoir_size) for sign in (1.0, -1.0)}
            random = self._rng.random(y.size)
            for sign, sample in self._samples.items():
                _add(sample, rows, y == sign, random)
            return
        if self._rare is None:
            self._choose_rare()
        if self._collected_before:
            self._learn_common(rows, y)
        else:
            self._learn_all(rows, y)

    def _learn_common(self, rows: TrainingRows, y: FloatArray) -> None:
        """Make the steps of rows of the common class; the others are in the sample already."""
        common = np.flatnonzero(y != self._rare)
        for part in self._waiting.fill(self._size, rows.take(common), y[common]):
            self._use(*part)

    def _learn_all(self, rows: TrainingRows, y: FloatArray) -> None:
        """Sample rows up to the one that fills a buffer, and make the step of that buffer."""
        random, common, start = self._rng.random(y.size), np.flatnonzero(y != self._rare), 0
        while start < y.size:
            ahead = np.searchsorted(common, start) + self._size - self._waiting.n_rows - 1
            stop = int(common[ahead]) + 1 if ahead < common.size else y.size
            part, sign = rows.take(slice(start, stop)), y[start:stop]
            _add(self._sample, part, sign == self._rare, random[start:stop])
            self._n_common += np.count_nonzero(sign != self._rare)
            self._learn_common(part, sign)
            start = stop

    def _choose_rare(self) -> None:
        """Choose the class to keep, and start from the samples that were collected."""
        samples = self._samples
        self._collected_before = samples is not None
        if samples is None:
            self._rare, self._sample, self._n_common = 1.0, Reservoir(self.reservoir_size), 0
            return
        rare = min((1.0, -1.0), key=lambda sign: samples[sign].n_seen)
        if samples[rare].n_seen == 0:
            raise ValueError("collect has met one class only; call it with the other class too, or use a new estimator")
        self._rare, self._sample, self._n_common = rare, samples[rare], samples[-rare].n_seen
        self._size = min(self._size, self._n_common)
        self._samples = None

    def _buffered(self, rows: TrainingRows, sign: FloatArray) -> BoolArray:
        """Sample the rare class in one go, as uniformly as row by row."""
        n_pos = np.count_nonzero(sign > 0)
        self._rare = 1.0 if 2 * n_pos <= sign.size else -1.0
        self._collected_before = True
        rare = np.flatnonzero(sign == self._rare)
        self._sample = Reservoir(self.reservoir_size)
        kept = rare if rare.size <= self.reservoir_size else self._rng.choice(rare, self.reservoir_size, replace=False)
        self._sample.rows, self._sample.n_kept, self._sample.n_seen = rows.take(kept).copy(), kept.size, rare.size
        self._n_common = sign.size - rare.size
        self._size = min(self._size, self._n_common)
        return sign != self._rare

    def _use(self, rows: TrainingRows, sign: FloatArray) -> None:
        kept, n_kept, n_rare = self._sample.rows, self._sample.n_kept, self._sample.n_seen
        if kept is None or n_kept == 0:
            self.n_skipped_ += 1
            return
        shares = None
        if self.reweight:
            pos = n_rare / (n_rare + self._n_common)
            shares = pos / n_kept, (1.0 - pos) / sign.size
            if self._rare == -1.0:
                shares = shares[1], shares[0]
        self._descend([(kept, np.full(n_kept, self._rare)), (rows, sign)], shares)


def _add(sample: Reservoir, rows: TrainingRows, chosen: BoolArray, random: FloatArray) -> None:
    places = np.flatnonzero(chosen)
    if places.size:
        sample.add(rows.take(places), random[places])


# ---------------------------------------------------------------- FTRL


SCHEDULES = ("geometric", "every")
# Growth of the stream between two fits of the geometric schedule.
_GROWTH = 1.2
# Bound of the slope of one penalty, for precision among the top k.
_LIPSCHITZ = 8.0
# Share of the gap that each minimisation may leave where the ball holds the weights back, and limit of these.
_INNER, _MOST_HALVINGS = 0.25, 100


def _check_refit(refit: object, name: str) -> None:
    """Check when `FTRL` trains again."""
    accepted = f"{name} must be one of {SCHEDULES} or a number of examples, got {refit!r}"
    if isinstance(refit, bool) or not isinstance(refit, str | numbers.Integral):
        raise TypeError(accepted)
    if isinstance(refit, str) and refit not in SCHEDULES:
        raise ValueError(accepted)
    if not isinstance(refit, str):
        check_count(refit, name)


@with_parameters
class FTRL(StructuralOnlineClassifier):
    r"""Linear classifier that follows the regularised leader for a structural loss.

    After t examples its weights minimise the loss of all of them, as a sum, plus a regulariser. Everything is kept:
    memory grows with the stream. It is a reference for small streams.

    Parameters
    ----------
    loss : str or StructuralLoss, default="prbep"
        What to lower: ``"prbep"``, ``"pauc"``, ``"f1"``, ``"f<beta>"``, ``"top_precision"``, the name of a metric in
        ``csf.metrics.METRICS``, or a loss of `csf.structural`.
    eta : float, default=None
        Strength of the regulariser, positive. ``None`` means ``8 * sqrt(2 t) / radius`` after t examples, for which
        the regret for precision among the top k is bounded.
    radius : float, default=100.0
        Largest length of the weights, positive, for rows of length at most 1.
    refit : {"geometric", "every"} or int, default="geometric"
        When to find the minimum again. ``"geometric"``: after 1, 2, 3, ... examples, ever more rarely, when their
        number has grown by a fifth; the work is then linear in the stream. ``"every"``: after each example, as the
        theory has it. A number: after so many examples.
    eps : float, default=1e-3
        Gap of each minimisation, in units of the mean loss.
    max_planes : int, default=1000
        Limit of tangent planes of each minimisation.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It does not matter to losses that only rank.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a random order.
    tune_threshold : bool, default=False
        Whether the threshold of a loss of labels is tuned after learning, where its metric is best: on the
        examples so far. Weights that have a small loss need not be best at threshold 0.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        The same as ``coef_``: nothing is averaged.
    threshold_ : float
        Threshold of the score of the positive class: 0, or tuned, or for losses that only rank the threshold that
        predicts as many positives as there were.
    penalty_ : float
        Sum of the penalties so far, see the notes.
    n_seen_ : int
        Examples seen.
    n_updates_ : int
        Minimisations made.
    history_ : dict of ndarray
        After ``n_seen`` = 1, 2, 4, 8, ... examples: ``n_updates`` and ``penalty``.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    With the loss as a sum over the first t examples, 0 while one class is missing, the weights are

    .. math:: w_{t+1} = \arg\min_{\|w\| \le R} \ell(x_{1:t}; w) + \frac{\eta}{2} \|w\|^2

    and example t costs the penalty :math:`L_t(w_t) = \ell(x_{1:t}; w_t) - \ell(x_{1:t-1}; w_t)`. The sum counts
    selected negatives for precision among the top k, pairs for partial AUC, samples for the others. The bound of the
    regret needs ``refit="every"``; for partial AUC it means nothing while positives are few.

    References
    ----------
    .. [1] P. Kar, H. Narasimhan, P. Jain, "Online and Stochastic Gradient Methods for Non-decomposable Loss
       Functions", NIPS 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.structural import precision_at_k_score
    >>> X, y = make_classification(2000, weights=[0.9], class_sep=1.5, random_state=0)
    >>> model = FTRL("prbep", random_state=0).fit(X, y)
    >>> precision_at_k_score(y, model.decision_function(X))
    0.9
    """

    loss: str | StructuralLoss = field(default="prbep", kw_only=False)
    eta: float | None = option(check=check_moderate, default=None)
    radius: float = option(check=check_moderate, default=100.0)
    refit: Literal["geometric", "every"] | int = option(check=_check_refit, default="geometric")
    eps: float = option(check=check_positive, default=0.001)
    max_planes: int = option(check=check_count, default=1000)
    # A leader sees each example once.
    passes: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]
    tune_threshold: bool = False

    penalty_: float = field(init=False)
    n_updates_: int = field(init=False)

    def fit(self, X: Samples, y: ArrayLike) -> Self:
        """Forget everything and go over the samples once; the last weights are the minimum over all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        FTRL
            Itself.
        """
        super().fit(X, y)
        if self._n_fitted < self.n_seen_:
            self._refit()
        steps, at_zero, C = self._last_solution
        advice = ("raise max_planes or eta", "Lower eta or raise radius")
        warn_of_weak_results(steps, at_zero, C, eps=self.eps, advice=advice)
        return self

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self._w = np.zeros(n_features + bool(self.fit_intercept))
        self._kept: list[tuple[TrainingRows, FloatArray]] = []
        self._n_fitted = 0
        self._due = 1 if isinstance(self.refit, str) else self.refit
        self.penalty_, self.n_updates_ = 0.0, 0

    def _step(self, X: Samples, y: FloatArray) -> None:
        rows, start, stop = rows_of(X), 0, self._due - self.n_seen_
        while stop <= y.size:
            self._keep(rows, y, start, stop)
            self._refit()
            start, stop = stop, self._due - self.n_seen_
        self._keep(rows, y, start, y.size)

    def _keep(self, rows: TrainingRows, y: FloatArray, start: int, stop: int) -> None:
        if start < stop:
            self._kept.append((rows.take(slice(start, stop)).copy(), y[start:stop].copy()))

    def _refit(self) -> None:
        """Add the penalty of the examples since the last time, and minimise over all examples."""
        rows, sign = stack_rows([rows for rows, _ in self._kept]), np.concatenate([sign for _, sign in self._kept])
        self._kept = [(rows, sign)]
        n_rows = sign.size
        self.penalty_ += self._total(rows, sign, n_rows) - self._total(rows, sign, self._n_fitted)
        self._n_fitted = n_rows
        self._due = self._next(n_rows)
        problem, factor = self._problem(rows, sign, n_rows)
        if problem is None:
            return
        self._w = self._minimise(problem, factor, n_rows)
        self.n_updates_ += 1
        if self._chooses:
            self._threshold = choose_threshold(self._loss, problem.scores(self._w))

    def _next(self, n_rows: int) -> int:
        if not isinstance(self.refit, str):
            return n_rows - n_rows % self.refit + self.refit
        return n_rows + 1 if self.refit == "every" else max(n_rows + 1, math.ceil(_GROWTH * n_rows))

    def _problem(self, rows: TrainingRows, sign: FloatArray, n_rows: int) -> tuple[StructuralProblem | None, float]:
        """Build the problem of the first rows, with the factor of its loss; ``None`` while one class is missing."""
        is_pos = sign[:n_rows] > 0.0
        n_pos = int(np.count_nonzero(is_pos))
        if n_pos in (0, n_rows):
            return None, 0.0
        loss, factor = self._loss.total(n_pos, n_rows - n_pos)
        how = {"constant": self._constant(), "x_scale": self.x_scale_, "n_features": self.n_features_in_}
        return StructuralProblem(rows.take(slice(0, n_rows)), is_pos, loss.class_tangent, **how), factor

    def _total(self, rows: TrainingRows, sign: FloatArray, n_rows: int) -> float:
        """Compute the loss of the first rows at the present weights, as a sum."""
        problem, factor = self._problem(rows, sign, n_rows)
        return 0.0 if problem is None else factor * max(problem.value(self._w), 0.0)

    def _minimise(self, problem: StructuralProblem, factor: float, n_rows: int) -> Array:
        """Compute the regularised minimum in the ball."""
        eta = _LIPSCHITZ * math.sqrt(2.0 * n_rows) / self.radius if self.eta is None else self.eta
        solver, C = CuttingPlaneSolver(problem), factor / eta
        w, _, steps = solver.solve(C, eps=self.eps, max_iter=self.max_planes)
        self._last_solution = steps, steps[0].objective, C
        if np.linalg.norm(w) <= self.radius:
            return w
        w, bounds = self._minimise_on_ball(solver, problem, C)
        self._last_solution = [*steps[:-1], bounds], math.inf, C  # weights are held back: zero is worse
        return w

    def _minimise_on_ball(
        self, solver: CuttingPlaneSolver, problem: StructuralProblem, C: float
    ) -> tuple[Array, Bounds]:
        """Find the best weights of the length of the radius, and bounds of the objective.

        A larger regulariser shortens the weights, so that halving finds the one that corresponds to the ball. What it
        adds is at most that of the longest weights: each minimum with it bounds those in the ball from below.
        """
        radius, tol = self.radius, self.eps * max(1.0, C)
        best: Any = None
        objective, bound, low, high = math.inf, 0.0, 0.0, C
        short: Array = np.zeros(problem.n_weights)
        long: Array | None = None
        for _ in range(_MOST_HALVINGS):
            middle = 0.5 * (low + high)
            more = C / middle  # times the regulariser
            inner = _INNER * tol / (more * max(1.0, middle))
            w, _, steps = solver.solve(middle, eps=inner, max_iter=self.max_planes)
            bound = max(bound, more * steps[-1].bound - 0.5 * (more - 1.0) * radius**2)
            if float(np.linalg.norm(w)) > radius:
                long, high = w, middle
            else:
                short, low = w, middle
            for point in _on_sphere(short, long, radius):
                value: Values = 0.5 * point @ point + C * max(problem.value(point), 0.0)
                if value < objective:
                    best, objective = point, value
            if objective - bound <= tol or not low < 0.5 * (low + high) < high:
                break
        return best, Bounds(objective, min(bound, objective), len(steps))

    def _choose_threshold(self) -> float:
        """Return infinity: nothing is predicted positive before the first minimisation."""
        return math.inf

    def _weights(self) -> tuple[Array, Array]:
        return self._w, self._w


def _on_sphere(short: Array, long: Array | None, radius: float) -> list[Array]:
    """Cut weights to the length of the radius: the shorter ones, the longer ones, and those between."""
    points = [short] if long is None else [short, long * (radius / np.linalg.norm(long))]
    if long is not None:
        move = long - short
        square, along, missing = move @ move, short @ move, radius**2 - short @ short
        points.append(short + (math.sqrt(along**2 + square * max(missing, 0.0)) - along) / square * move)
    return [w * min(1.0, radius / max(float(np.linalg.norm(w)), 1e-300)) for w in points]
