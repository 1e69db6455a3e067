"""Structural losses of performances that cannot be summed over samples."""

from __future__ import annotations

import math
import numbers
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from csf._common.compiled import njit
from csf._common.messages import did_you_mean, warn
from csf._common.typing import Array, BoolArray, FloatArray, Label, Values
from csf._common.validation import (
    check_binary_target,
    check_choice,
    check_fraction,
    check_positive,
    check_scores,
    check_share,
    floats,
)
from csf.metrics import METRICS, FBeta, Metric, get_metric
from csf.metrics.named import MEANT, known_name

# ---------------------------------------------------------------- compiled loops
# The worst labelling from sorted scores, and its slopes.


@njit(cache=True, nogil=True)
def share_top(score, count, last, out) -> None:
    """Write 1 for the ``count`` largest scores and 0 for others; those tied with ``last``, the lowest, share the rest.

    ``last`` is the ``ceil(count)``-th largest score.
    """
    above, tied = 0, 0
    for i in range(score.shape[0]):
        if score[i] > last:
            above += 1
        elif score[i] == last:
            tied += 1
    share = (count - above) / tied
    for i in range(score.shape[0]):
        out[i] = 1.0 if score[i] > last else (share if score[i] == last else 0.0)


@njit(cache=True, nogil=True)
def _choose(score, ordered, count, out):
    """Apply `share_top` for a whole number; ``ordered`` holds at least that many of the largest scores."""
    if count == 0:
        out[:] = 0.0
    elif count == score.shape[0]:
        out[:] = 1.0
    else:
        share_top(score, count, ordered[ordered.shape[0] - count], out)


@njit(cache=True, nogil=True)
def _slopes(pos, neg, ordered_pos, ordered_neg, n_pos, n_neg, kappa_pos, kappa_neg, slope):
    """Write the slopes of labelling the best ``n_pos`` positives and ``n_neg`` negatives. Return the linear part."""
    of_pos, of_neg = slope[: pos.shape[0]], slope[pos.shape[0] :]
    _choose(pos, ordered_pos, n_pos, of_pos)
    _choose(neg, ordered_neg, n_neg, of_neg)
    linear = 0.0
    for i in range(pos.shape[0]):
        of_pos[i] -= 1.0
        linear += of_pos[i] * pos[i]
        of_pos[i] *= 2.0 * kappa_pos
    for i in range(neg.shape[0]):
        linear += of_neg[i] * neg[i]
        of_neg[i] *= 2.0 * kappa_neg
    return linear


@njit(cache=True, nogil=True)
def _sums(ordered):
    """Compute the sums of the 0, 1, 2, ... largest."""
    n = ordered.shape[0]
    sums = np.empty(n + 1)
    sums[0] = 0.0
    for k in range(n):
        sums[k + 1] = sums[k] + ordered[n - 1 - k]
    return sums


@njit(cache=True, nogil=True)
def fbeta_tangent(
    pos, neg, ordered_pos, ordered_neg, share_pos, share_neg, kappa_pos, kappa_neg, b2, slope
) -> tuple[float, float]:
    """Find the worst labelling for F-beta. Return its loss and the linear part.

    Scores come times twice their kappa. ``ordered_neg`` may lack negatives that cannot be in the labelling. For a
    fixed number of positives the objective is concave in that of negatives, so that halving finds the best.
    """
    n_pos, n_neg = pos.shape[0], ordered_neg.shape[0]
    of_pos, of_neg = _sums(ordered_pos), _sums(ordered_neg)
    total = b2 * share_pos * n_pos
    best, best_pos, best_neg, best_delta = -np.inf, 0, 0, 0.0
    for a in range(n_pos + 1):
        top, base = (1.0 + b2) * share_pos * a, share_pos * a + total
        lo, hi = 0, n_neg
        while lo < hi:
            b = (lo + hi) // 2
            below = base + share_neg * b
            if top * share_neg / (below * (below + share_neg)) + ordered_neg[n_neg - 1 - b] > 0.0:
                lo = b + 1
            else:
                hi = b
        delta = 1.0 - top / (base + share_neg * lo)
        value = delta + of_pos[a] - of_pos[n_pos] + of_neg[lo]
        if value > best:
            best, best_pos, best_neg, best_delta = value, a, lo, delta
    linear = _slopes(pos, neg, ordered_pos, ordered_neg, best_pos, best_neg, kappa_pos, kappa_neg, slope)
    return best_delta, linear


@njit(cache=True, nogil=True)
def precision_tangent(
    pos, neg, ordered_pos, ordered_neg, share_pos, share_neg, kappa_pos, kappa_neg, top, slope
) -> tuple[float, float]:
    """Find the worst selection of a share ``top`` of the data. Return its loss and the linear part.

    Scores come times twice their kappa. ``ordered_neg`` holds as many as can be selected.
    """
    n_pos, n_neg = pos.shape[0], neg.shape[0]
    of_pos, of_neg = _sums(ordered_pos), _sums(ordered_neg)
    slack = 0.5 * max(1.0, share_pos / share_neg)
    best, best_pos, best_neg = -np.inf, 0, 0
    for a in range(n_pos + 1):
        rest = (top - a * share_pos) / share_neg
        if rest < -slack:
            break
        if rest <= n_neg + slack:
            b = min(max(round(rest), 0), n_neg)
            value = -a * share_pos / top + of_pos[a] - of_pos[n_pos] + of_neg[b]
            if value > best:
                best, best_pos, best_neg = value, a, b
    linear = _slopes(pos, neg, ordered_pos, ordered_neg, best_pos, best_neg, kappa_pos, kappa_neg, slope)
    return 1.0 - best_pos * share_pos / top, linear


@njit(cache=True, nogil=True)
def top_precision_tangent(pos, neg, ordered_pos, ordered_neg, size, kappa, slope) -> tuple[float, float]:
    """Find the worst ``size`` samples against the mean of positives left out. Return its loss and the linear part.

    Scores come times twice kappa.
    """
    n_pos = pos.shape[0]
    left = 0.0
    for i in range(n_pos - size):
        left += ordered_pos[i]
    best, false, part_neg = 0.0, 0, 0.0
    for b in range(1, min(size, ordered_neg.shape[0]) + 1):
        part_neg += ordered_neg[ordered_neg.shape[0] - b]
        left += ordered_pos[n_pos - 1 - (size - b)]
        value = b / size + part_neg - b * left / (n_pos - size + b)
        if value > best:
            best, false = value, b
    if false == 0:
        slope[:] = 0.0
        return 0.0, 0.0
    linear = 0.0
    of_pos, of_neg = slope[:n_pos], slope[n_pos:]
    _choose(pos, ordered_pos, size - false, of_pos)
    _choose(neg, ordered_neg, false, of_neg)
    weight = false / (n_pos - size + false)
    for i in range(n_pos):
        of_pos[i] = (of_pos[i] - 1.0) * weight
        linear += of_pos[i] * pos[i]
        of_pos[i] *= 2.0 * kappa
    for i in range(neg.shape[0]):
        linear += of_neg[i] * neg[i]
        of_neg[i] *= 2.0 * kappa
    return false / size, linear


@njit(cache=True, nogil=True)
def pair_hinges(pos, top, share, slope) -> tuple[float, float]:
    """Sum ``max(0, 1 - pos + neg)`` over pairs, times the share of the negative.

    Positives rise, and so do the negatives ``top``. Writes the slopes, those of positives first, both in the order
    given, and returns the sum and the weight of all pairs with a loss.
    """
    n_pos = pos.shape[0]
    of_pos, of_neg = slope[:n_pos], slope[n_pos:]
    of_pos[:] = 0.0
    loss, active, c, part = 0.0, 0.0, 0, 0.0
    for k in range(top.shape[0]):
        while c < n_pos and pos[c] < top[k] + 1.0:
            part += pos[c]
            c += 1
        of_neg[k] = share[k] * c
        active += of_neg[k]
        loss += share[k] * (c * (1.0 + top[k]) - part)
        if c > 0:
            of_pos[c - 1] -= share[k]
    for i in range(n_pos - 2, -1, -1):
        of_pos[i] += of_pos[i + 1]
    return loss, active


@njit(cache=True, nogil=True)
def table_tangent(table, pos, neg, ordered_pos, ordered_neg, kappa_pos, kappa_neg, slope) -> tuple[float, float]:
    """Find the worst labelling for a table of losses by counts. Return its loss and the linear part.

    Scores come times twice their kappa.
    """
    n_pos, n_neg = pos.shape[0], neg.shape[0]
    of_pos, of_neg = _sums(ordered_pos), _sums(ordered_neg)
    best, best_pos, best_neg = -np.inf, 0, 0
    for a in range(n_pos + 1):
        part_pos = of_pos[a] - of_pos[n_pos]
        for b in range(n_neg + 1):
            value = table[a, b] + (part_pos + of_neg[b])
            if value > best:
                best, best_pos, best_neg = value, a, b
    linear = _slopes(pos, neg, ordered_pos, ordered_neg, best_pos, best_neg, kappa_pos, kappa_neg, slope)
    return table[best_pos, best_neg], linear


# ---------------------------------------------------------------- limits of parameters


# Squares of both ends, times shares of any number of samples, are numbers still.
_SMALLEST, _LARGEST = 1e-70, 1e70


def check_moderate(value: Values, name: str) -> float:
    """Check that ``value`` is a number > 0 whose square neither overflows nor vanishes, and return it as float."""
    value = check_positive(value, name)
    if not _SMALLEST <= value <= _LARGEST:
        raise ValueError(f"{name} must be a number from {_SMALLEST:g} to {_LARGEST:g}, got {value!r}")
    return value


# ---------------------------------------------------------------- how well scores rank


AREAS = ("count", "fraction")


def partial_auc_score(
    y_true: ArrayLike, y_score: ArrayLike, *, beta: float = 0.1, mode: str = "count", pos_label: Label = None
) -> float:
    r"""Compute the partial area under the ROC curve for false positive rates in [0, beta], divided by beta.

    The share of right orders among pairs of a positive with one of the negatives of largest score; equal scores
    count one half.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        Scores; larger for the positive class.
    beta : float, default=0.1
        Largest false positive rate, in (0, 1].
    mode : {"count", "fraction"}, default="count"
        ``"count"``: the ``ceil(beta * n_neg)`` largest negatives. ``"fraction"``: the last one counts in part, so
        that exactly the share ``beta`` of the negatives counts.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

    Returns
    -------
    float
        In [0, 1]; not standardised: scores at random give about ``beta / 2``.

    Raises
    ------
    ValueError
        If a class is missing, a score is NaN, or ``beta`` or ``mode`` is unknown.

    Notes
    -----
    With all negatives it is the area under the ROC curve. With ties between classes at the last negative the area
    under the curve of straight lines is smaller than this value.

    References
    ----------
    .. [1] H. Narasimhan, S. Agarwal, "SVMpAUC-tight: a new support vector method for optimizing partial AUC based
       on a tight convex upper bound", KDD 2013.

    Examples
    --------
    >>> partial_auc_score([1, 1, 0, 0, 0, 0], [0.9, 0.5, 0.7, 0.5, 0.1, 0.0], beta=0.5)
    0.625
    """
    check_share(beta, "beta")
    check_choice(mode, "mode", AREAS)
    is_pos, score = _checked(y_true, y_score, pos_label)
    pos, neg = np.sort(score[is_pos]), np.sort(score[~is_pos])[::-1]
    exact = beta * neg.shape[0]
    size = math.ceil(exact * (1.0 - 1e-12))
    neg = neg[:size]
    worse = np.searchsorted(pos, neg, "left")
    right = pos.shape[0] - 0.5 * (worse + np.searchsorted(pos, neg, "right"))
    weight = np.ones(size)
    if mode == "fraction":
        weight[-1] = exact - (size - 1)
    return float(right @ weight / (pos.shape[0] * weight.sum()))


def precision_at_k_score(
    y_true: ArrayLike, y_score: ArrayLike, *, k: float | None = None, pos_label: Label = None
) -> float:
    """Compute the share of positives among the samples with the largest scores.

    By default as many are taken as there are positives: the precision-recall break-even point (PRBEP).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        Scores; larger for the positive class.
    k : float, default=None
        Share of samples to take, in (0, 1), rounded up to a whole sample; ``None`` is the share of positives.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

    Returns
    -------
    float
        In [0, 1]. Where scores tie at the threshold it is the mean over all orders.

    Raises
    ------
    ValueError
        If a class is missing, a score is NaN, or ``k`` is not in (0, 1).

    Examples
    --------
    >>> precision_at_k_score([1, 1, 0, 0, 0], [0.9, 0.5, 0.7, 0.2, 0.1])
    0.5
    >>> precision_at_k_score([1, 1, 0, 0, 0], [0.9, 0.5, 0.7, 0.2, 0.1], k=0.6)
    0.667
    """
    is_pos, score = _checked(y_true, y_score, pos_label)
    n = is_pos.shape[0]
    size = int(is_pos.sum()) if k is None else math.ceil(check_fraction(k, "k") * n * (1.0 - 1e-12))
    last = np.partition(score, n - size)[n - size]
    above, tied = score > last, score == last
    share = (size - np.count_nonzero(above)) / np.count_nonzero(tied)
    return float((np.count_nonzero(above & is_pos) + share * np.count_nonzero(tied & is_pos)) / size)


def _checked(y_true, y_score, pos_label):
    """Check the input. Return the boolean target and the scores."""
    _, is_pos, _ = check_binary_target(y_true, pos_label)
    return is_pos, check_scores(y_score, is_pos.shape[0], y_true=y_true)


# ---------------------------------------------------------------- what a loss must offer


class Tangent(NamedTuple):
    """Tangent plane of a loss: ``offset + slope @ score`` is ``value`` at the given scores, below the loss at others.

    ``slope`` has one entry for each sample; those of positives come first where they are given by class.
    """

    value: float
    offset: float
    slope: Array


class ClassScores(NamedTuple):
    """Scores by class, and the share of all data that one sample of each class stands for.

    Shares sum to 1 over the samples. They differ where the classes are sampled at different rates.
    """

    pos: Array
    neg: Array
    share_pos: float
    share_neg: float

    @classmethod
    def equal(cls, pos: Array, neg: Array) -> ClassScores:
        """Give all samples the same share."""
        share = 1.0 / (pos.shape[0] + neg.shape[0])
        return cls(pos, neg, share, share)


class StructuralLoss(ABC):
    r"""Convex upper bound of 1 - performance, for performances that cannot be summed over samples.

    Subclasses write `class_tangent`, and have a ``metric`` or write `performance`. Learners need nothing else.

    Notes
    -----
    Most are the structural hinge loss of labellings :math:`\bar y`, with a loss :math:`\Delta` of counts,

    .. math:: \ell(s) = \max_{\bar y} \Delta(\bar y) + \sum_i \kappa_i (\bar y_i - y_i) s_i, \qquad y_i = \pm 1

    whose maximiser gives a subgradient :math:`\kappa_i (\bar y_i - y_i)`, one entry a sample. Where several
    labellings differ in samples with equal scores only, their average is taken, which is a subgradient as well and
    does not depend on the order of the samples.

    Examples
    --------
    A loss of your own: the smallest margin between the classes.

    >>> class WorstPair(StructuralLoss):
    ...     def class_tangent(self, scores):
    ...         slope = np.zeros(len(scores.pos) + len(scores.neg))
    ...         slope[np.argmin(scores.pos)], slope[len(scores.pos) + np.argmax(scores.neg)] = -1.0, 1.0
    ...         gap = scores.neg.max() - scores.pos.min()
    ...         return Tangent(1.0 + gap, 1.0, slope) if gap > -1.0 else Tangent(0.0, 0.0, 0.0 * slope)
    ...     def performance(self, score, is_pos):
    ...         return float(score[is_pos].min() > score[~is_pos].max())
    >>> WorstPair().tangent([0.5, 0.2, -1.0], [True, False, False])
    Tangent(value=0.7, offset=1.0, slope=array([-1., 1., 0.]))
    """

    # Whether only the order of the scores counts; a learner then has to choose a threshold.
    ranking: bool = False
    # Metric of the labels ``score > 0``, as a name or object; a loss that only ranks has none.
    metric: str | Metric | None = None

    @abstractmethod
    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Compute the value and a subgradient at checked scores.

        Parameters
        ----------
        scores : ClassScores
            Finite scores, at least one in each class.

        Returns
        -------
        Tangent
            Value, offset and slope; the slopes of positives come first.
        """

    def performance(self, score: Array, is_pos: BoolArray) -> float:
        """Compute the performance behind the loss: the metric of the labels ``score > 0``, unless overridden.

        Parameters
        ----------
        score : ndarray of shape (n_samples,)
            Scores.
        is_pos : ndarray of bool, shape (n_samples,)
            ``True`` for positives.

        Returns
        -------
        float
            In [0, 1]; larger is better.
        """
        n, predicted = is_pos.shape[0], score > 0.0
        fn, fp = np.count_nonzero(is_pos & ~predicted) / n, np.count_nonzero(predicted & ~is_pos) / n
        metric = get_metric(cast("str | Metric", self.metric))
        return float(metric.value(fn, fp, pos=np.count_nonzero(is_pos) / n))

    def total(self, n_pos: int, n_neg: int) -> tuple[StructuralLoss, float]:
        """Return the loss as a sum over samples, which grows with their number and which `FTRL` minimises.

        Parameters
        ----------
        n_pos, n_neg : int
            Samples of each class.

        Returns
        -------
        loss : StructuralLoss
            This loss, perhaps of other parameters.
        factor : float
            The sum is so many times ``loss``.
        """
        return self, float(n_pos + n_neg)

    def check(self) -> None:  # noqa: B027 - most losses promise what they can keep
        """Raise or warn where parameters promise less than a learner needs; it is called once before learning."""

    def tangent(self, score: ArrayLike, is_pos: ArrayLike) -> Tangent:
        """Compute the value and a subgradient at any scores.

        Parameters
        ----------
        score : array-like of shape (n_samples,)
            Finite scores.
        is_pos : array-like of bool, shape (n_samples,)
            ``True`` for positives; at least one sample of each class.

        Returns
        -------
        Tangent
            Value, offset and slope in the order of the samples.

        Raises
        ------
        ValueError
            If a class is missing, a score is not finite, or the lengths differ.
        """
        score, is_pos = _check_scores(score, is_pos)
        pos, neg = np.flatnonzero(is_pos), np.flatnonzero(~is_pos)
        value, offset, by_class = self.class_tangent(ClassScores.equal(score[pos], score[neg]))
        slope = np.empty_like(score)
        slope[pos], slope[neg] = by_class[: pos.size], by_class[pos.size :]
        return Tangent(float(value), float(offset), slope)

    def value(self, score: ArrayLike, is_pos: ArrayLike) -> float:
        """Compute the loss at any scores.

        Parameters
        ----------
        score : array-like of shape (n_samples,)
            Finite scores.
        is_pos : array-like of bool, shape (n_samples,)
            ``True`` for positives; at least one sample of each class.

        Returns
        -------
        float
            The loss.
        """
        return self.tangent(score, is_pos).value


class Labelled(StructuralLoss):
    """Base of losses that are a maximum over labellings; they have the parameter ``kappa``."""

    kappa: float | None

    def total(self, n_pos: int, n_neg: int) -> tuple[StructuralLoss, float]:
        """Return the sum, in which samples have a factor of 1 (``kappa`` times them), see `StructuralLoss.total`."""
        factor = self._count(n_pos, n_neg)
        unit = 1.0 if self.kappa is None else self.kappa * (n_pos + n_neg)
        return replace(cast(Any, self), kappa=unit / factor), factor

    def _count(self, n_pos: int, n_neg: int) -> float:
        """Return the count that a loss of 1 stands for."""
        return float(n_pos + n_neg)

    def _check_kappa(self) -> None:
        if self.kappa is not None:
            check_moderate(self.kappa, "kappa")

    def _kappas(self, scores: ClassScores) -> tuple[float, float]:
        """Compute the factors of the linear part for one positive and one negative."""
        if self.kappa is None:
            return scores.share_pos, scores.share_neg
        n_samples = scores.pos.shape[0] + scores.neg.shape[0]
        return self.kappa * n_samples * scores.share_pos, self.kappa * n_samples * scores.share_neg


def largest(score: Array, count: int) -> Array:
    """Return the ``count`` largest scores, or all if they are fewer, in rising order."""
    n = score.shape[0]
    if count < n:
        score = np.partition(score, n - count)[n - count :]
    return np.sort(score)


def whole_count(share: float, n_samples: float) -> int:
    """Return the least whole number that is not below ``share * n_samples``, but for rounding."""
    return math.ceil(share * n_samples * (1.0 - 1e-12))


def _check_scores(score: ArrayLike, is_pos: ArrayLike) -> tuple[FloatArray, BoolArray]:
    score, is_pos = floats(score, "score", is_pos=is_pos), np.asarray(is_pos)
    if is_pos.dtype != bool:
        raise TypeError(f"is_pos must be an array of bool, got dtype {is_pos.dtype}; write y == pos_label")
    if score.ndim != 1 or score.shape != is_pos.shape:
        raise ValueError(f"score and is_pos must be 1D and of one length, got shapes {score.shape} and {is_pos.shape}")
    if not np.isfinite(score).all():
        raise ValueError(f"score has {int((~np.isfinite(score)).sum())} entries that are NaN or infinite")
    if not is_pos.any() or is_pos.all():
        raise ValueError(f"{int(is_pos.sum())} of {is_pos.size} samples are positive; the loss needs both classes")
    return score, is_pos


# ---------------------------------------------------------------- F-beta


@dataclass(frozen=True)
class FBetaLoss(Labelled):
    r"""Structural hinge loss of F-beta: an upper bound of 1 - F-beta of the labels ``score > 0``.

    Parameters
    ----------
    beta : float, default=1.0
        Importance of recall relative to precision; positive.
    kappa : float, default=None
        Factor of each sample in the linear part, positive; ``None`` means 1 / number of samples. A factor only
        rescales the scores.

    Raises
    ------
    ValueError
        If ``beta`` or ``kappa`` is not positive and finite.

    Notes
    -----
    With the positives and the negatives sorted, the worst labelling is found in O(n log n), also where samples of
    the two classes stand for different shares of the data.

    References
    ----------
    .. [1] T. Joachims, "A Support Vector Method for Multivariate Performance Measures", ICML 2005.

    Examples
    --------
    >>> loss, is_pos = FBetaLoss(), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, -2.0], is_pos)
    Tangent(value=0.083, offset=0.333, slope=array([ 0. , -0.5, 0. , 0. ]))
    >>> loss.value(np.zeros(4), is_pos)
    1.0
    """

    beta: float = 1.0
    kappa: float | None = None

    def __post_init__(self) -> None:
        check_moderate(self.beta, "beta")
        self._check_kappa()

    @property
    def metric(self) -> FBeta:
        """F-beta, the metric that the loss bounds."""
        return FBeta(self.beta)

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Compute the value and a subgradient, see `StructuralLoss.class_tangent`."""
        kappas = self._kappas(scores)
        b2 = float(self.beta) ** 2
        pos, neg = 2.0 * kappas[0] * scores.pos, 2.0 * kappas[1] * scores.neg
        # what one more negative can add to the loss of F-beta, at most: lower ones never come into the labelling
        total = pos.shape[0] * scores.share_pos
        top = min(total, b2 * total)
        gain = (1.0 + b2) * scores.share_neg * top / (top + b2 * total) ** 2
        close = np.sort(neg[neg > -gain])
        slope = np.empty(pos.shape[0] + neg.shape[0])
        delta, linear = fbeta_tangent(
            pos, neg, np.sort(pos), close, scores.share_pos, scores.share_neg, *kappas, b2, slope
        )
        return Tangent(delta + linear, delta, slope)


# ---------------------------------------------------------------- partial area under the ROC curve


@dataclass(frozen=True)
class PartialAUC(StructuralLoss):
    r"""Mean hinge loss of the pairs of a positive with one of the negatives of largest score.

    It bounds 1 - partial AUC from above, for false positive rates in [0, ``beta``].

    Parameters
    ----------
    beta : float, default=0.1
        Largest false positive rate, in (0, 1]; 1 is the whole area.
    mode : {"count", "fraction"}, default="count"
        ``"count"``: the ``ceil(beta * n_neg)`` largest negatives count alike. ``"fraction"``: the last one counts in
        part, which is the exact area.

    Raises
    ------
    ValueError
        If ``beta`` or ``mode`` is none of these.

    Notes
    -----
    .. math:: \ell(s) = \frac{1}{n_+ j} \sum_{i: y_i = 1} \sum_{k \in T} \max(0, 1 - s_i + s_k), \qquad
              j = \lceil \beta n_- \rceil

    with T the j negatives of largest score, in O(n + j log j). Shares of the data do not matter: each class is
    averaged by itself.

    References
    ----------
    .. [1] H. Narasimhan, S. Agarwal, "SVMpAUC-tight: a new support vector method for optimizing partial AUC based
       on a tight convex upper bound", KDD 2013.

    Examples
    --------
    >>> loss, is_pos = PartialAUC(beta=0.5), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, 0.4], is_pos)
    Tangent(value=0.45, offset=0.5, slope=array([ 0. , -0.5, 0. , 0.5]))
    """

    beta: float = 0.1
    mode: str = "count"

    ranking = True

    def __post_init__(self) -> None:
        if isinstance(self.beta, bool) or not isinstance(self.beta, numbers.Real):
            raise TypeError(f"beta must be a number in (0, 1], got {self.beta!r}")
        if not 0.0 < self.beta <= 1.0:
            raise ValueError(f"beta must be in (0, 1], got {self.beta!r}: at least one negative has to be in the range")
        check_choice(self.mode, "mode", AREAS)

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Compute the value and a subgradient, see `StructuralLoss.class_tangent`."""
        n_pos, n_neg = scores.pos.shape[0], scores.neg.shape[0]
        count = whole_count(self.beta, n_neg) if self.mode == "count" else self.beta * n_neg
        share = np.ones(n_neg)
        if count < n_neg:
            last = n_neg - math.ceil(count)
            share_top(scores.neg, count, np.partition(scores.neg, last)[last], share)
        top = np.flatnonzero(share)
        top = top[np.argsort(scores.neg[top])]
        order = np.argsort(scores.pos)
        sums = np.empty(n_pos + top.shape[0])
        loss, active = pair_hinges(scores.pos[order], scores.neg[top], share[top], sums)
        sums /= n_pos * count
        slope = np.zeros(n_pos + n_neg)
        slope[order], slope[n_pos + top] = sums[:n_pos], sums[n_pos:]
        return Tangent(loss / (n_pos * count), active / (n_pos * count), slope)

    def total(self, n_pos: int, n_neg: int) -> tuple[StructuralLoss, float]:
        """Return the sum over pairs, see `StructuralLoss.total`."""
        count = whole_count(self.beta, n_neg) if self.mode == "count" else self.beta * n_neg
        return self, float(n_pos * count)

    def performance(self, score: Array, is_pos: BoolArray) -> float:
        """Compute the partial AUC, divided by ``beta``, see `StructuralLoss.performance`."""
        return partial_auc_score(is_pos, score, beta=self.beta, mode=self.mode, pos_label=True)


# ---------------------------------------------------------------- precision among the top k


@dataclass(frozen=True)
class PrecisionAtK(Labelled):
    r"""Structural hinge loss of the precision among the k samples with the largest scores.

    By default k is the number of positives: then precision equals recall and F1, and the performance is the
    precision-recall break-even point (PRBEP).

    Parameters
    ----------
    k : float, default=None
        Share of samples to select, in (0, 1); ``None`` is the share of positives.
    kappa : float, default=None
        Factor of each sample in the linear part, positive; ``None`` means 1 / number of samples.
    allow_k_neq_pos : bool, default=False
        Whether ``k`` may be given. Where it differs from the share of positives the loss is *not* an upper bound
        of 1 - precision, since the true labels are no selection of k samples; learners warn. `TopPrecision` has a
        bound for small k.

    Raises
    ------
    ValueError
        If ``k`` is given without ``allow_k_neq_pos`` or is not in (0, 1).

    Notes
    -----
    The worst selection is found by selection and one sort of the samples near the threshold. Where the samples of the
    two classes stand for different shares of the data, selections are those of the nearest share.

    References
    ----------
    .. [1] T. Joachims, "A Support Vector Method for Multivariate Performance Measures", ICML 2005.
    .. [2] P. Kar, H. Narasimhan, P. Jain, "Online and Stochastic Gradient Methods for Non-decomposable Loss
       Functions", NIPS 2014.

    Examples
    --------
    >>> loss, is_pos = PrecisionAtK(), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, 0.4], is_pos)
    Tangent(value=0.45, offset=0.5, slope=array([ 0. , -0.5, 0. , 0.5]))
    >>> loss.value(np.zeros(4), is_pos)
    1.0
    """

    k: float | None = None
    kappa: float | None = None
    allow_k_neq_pos: bool = False

    ranking = True

    def __post_init__(self) -> None:
        if self.k is not None:
            check_fraction(self.k, "k")
            if not self.allow_k_neq_pos:
                raise ValueError(
                    f"k={self.k!r} differs from the share of positives in general, and then the loss does not bound "
                    "1 - precision; leave k=None, use TopPrecision(k), or set allow_k_neq_pos=True"
                )
        self._check_kappa()

    def check(self) -> None:
        """Warn where the loss bounds nothing, see `StructuralLoss.check`."""
        if self.k is not None:
            warn(
                f"PrecisionAtK(k={self.k!r}) is no upper bound of 1 - precision unless k is the share of positives",
            )

    def _count(self, n_pos: int, n_neg: int) -> float:
        """Return the number of samples selected: the sum counts those that are negative."""
        return float(n_pos if self.k is None else whole_count(self.k, n_pos + n_neg))

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Compute the value and a subgradient, see `StructuralLoss.class_tangent`."""
        kappas = self._kappas(scores)
        top = self._top(scores)
        pos, neg = 2.0 * kappas[0] * scores.pos, 2.0 * kappas[1] * scores.neg
        close = largest(neg, int(top / scores.share_neg + 1.0))
        slope = np.empty(pos.shape[0] + neg.shape[0])
        delta, linear = precision_tangent(
            pos, neg, np.sort(pos), close, scores.share_pos, scores.share_neg, *kappas, top, slope
        )
        return Tangent(delta + linear, delta, slope)

    def _top(self, scores: ClassScores) -> float:
        """Return the share of the data to select."""
        n_pos, n_neg = scores.pos.shape[0], scores.neg.shape[0]
        if self.k is None:
            return n_pos * scores.share_pos
        unit = min(scores.share_pos, scores.share_neg)
        total = n_pos * scores.share_pos + n_neg * scores.share_neg
        return unit * whole_count(self.k, total / unit)

    def performance(self, score: Array, is_pos: BoolArray) -> float:
        """Compute the precision among the top k, see `StructuralLoss.performance`."""
        return precision_at_k_score(is_pos, score, k=self.k, pos_label=True)


# ---------------------------------------------------------------- any metric, by a table of its values


# Cells of a table of float64: 80 MB.
_MOST_CELLS = 10_000_000


@lru_cache(maxsize=1)
def _losses(metric: Metric, n_pos: int, n_neg: int, share_pos: float, share_neg: float) -> Array:
    """Compute 1 - metric for ``a`` positives (rows) and ``b`` negatives (columns) labelled positive."""
    fn = np.minimum(share_pos * np.arange(n_pos, -1, -1.0), share_pos * n_pos)[:, None]
    fp = (share_neg * np.arange(n_neg + 1.0))[None, :]
    pos = share_pos * n_pos
    table = np.ascontiguousarray(1.0 - np.broadcast_to(metric.value(fn, fp, pos=pos), (n_pos + 1, n_neg + 1)))
    table.setflags(write=False)
    return table


@dataclass(frozen=True)
class TableLoss(Labelled):
    r"""Structural hinge loss of any metric: an upper bound of 1 - metric of the labels ``score > 0``.

    Parameters
    ----------
    metric : str or Metric, default="gmean"
        A name in ``csf.metrics.METRICS`` or a metric; it must be hashable, as all of csf are.
    kappa : float, default=None
        Factor of each sample in the linear part, positive; ``None`` means 1 / number of samples.

    Raises
    ------
    ValueError
        If the metric is unknown.

    Notes
    -----
    All numbers of positives and negatives are tried: time and memory are ``n_pos * n_neg``, at most ten million. For
    F-beta, `FBetaLoss` finds the same in O(n log n).

    References
    ----------
    .. [1] T. Joachims, "A Support Vector Method for Multivariate Performance Measures", ICML 2005.

    Examples
    --------
    >>> loss, is_pos = TableLoss("gmean"), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, -2.0], is_pos)
    Tangent(value=0.043, offset=0.293, slope=array([ 0. , -0.5, 0. , 0. ]))
    """

    metric: str | Metric = "gmean"
    kappa: float | None = None

    def __post_init__(self) -> None:
        get_metric(self.metric)
        self._check_kappa()

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Compute the value and a subgradient, see `StructuralLoss.class_tangent`."""
        n_pos, n_neg = scores.pos.shape[0], scores.neg.shape[0]
        if n_pos * n_neg > _MOST_CELLS:
            raise ValueError(
                f"the table for {n_pos} positives and {n_neg} negatives has more than {_MOST_CELLS} cells; learn from "
                "buffers, or use FBetaLoss or csf.fenchel.FenchelSVM"
            )
        kappas = self._kappas(scores)
        table = _losses(get_metric(self.metric), n_pos, n_neg, scores.share_pos, scores.share_neg)
        pos, neg = 2.0 * kappas[0] * scores.pos, 2.0 * kappas[1] * scores.neg
        slope = np.empty(n_pos + n_neg)
        delta, linear = table_tangent(table, pos, neg, np.sort(pos), np.sort(neg), *kappas, slope)
        return Tangent(delta + linear, delta, slope)


# ---------------------------------------------------------------- precision among a top k that is smaller still


@dataclass(frozen=True)
class TopPrecision(Labelled):
    r"""Convex upper bound of 1 - precision among the k largest scores, for k up to the number of positives.

    Each negative among the k is compared with the mean of the positives that are not among them, so that k positives
    at the top suffice: the others may lie anywhere.

    Parameters
    ----------
    k : float, default=0.01
        Share of samples to select, in (0, 1). The number of samples is rounded up, and is never more than that of
        positives.
    kappa : float, default=None
        Factor of each sample in the linear part, positive; ``None`` means 1 / number of samples.

    Raises
    ------
    ValueError
        If ``k`` is not in (0, 1).

    Notes
    -----
    For K selected samples, of which TP are positive,

    .. math:: \ell(s) = \max_{\bar y} 1 - \frac{TP}{K} + 2 \kappa \Big( \sum_{\bar y_i = 1, y_i = -1} s_i -
              \frac{K - TP}{n_+ - TP} \sum_{\bar y_i = -1, y_i = 1} s_i \Big)

    It counts samples alike, whatever share of the data they stand for. For K equal to the number of positives it
    is `PrecisionAtK`.

    References
    ----------
    .. [1] P. Kar, H. Narasimhan, P. Jain, "Surrogate Functions for Maximizing Precision at the Top", ICML 2015.

    Examples
    --------
    >>> loss, is_pos = TopPrecision(k=0.25), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, 0.4], is_pos)
    Tangent(value=0.325, offset=1.0, slope=array([-0.25, -0.25, 0. , 0.5 ]))
    """

    k: float = 0.01
    kappa: float | None = None

    ranking = True

    def __post_init__(self) -> None:
        check_fraction(self.k, "k")
        self._check_kappa()

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Compute the value and a subgradient, see `StructuralLoss.class_tangent`."""
        n_pos, n_neg = scores.pos.shape[0], scores.neg.shape[0]
        kappa = 1.0 / (n_pos + n_neg) if self.kappa is None else self.kappa
        size = min(whole_count(self.k, n_pos + n_neg), n_pos)
        pos, neg = 2.0 * kappa * scores.pos, 2.0 * kappa * scores.neg
        slope = np.empty(n_pos + n_neg)
        delta, linear = top_precision_tangent(pos, neg, np.sort(pos), largest(neg, size), size, kappa, slope)
        return Tangent(delta + linear, delta, slope)

    def _count(self, n_pos: int, n_neg: int) -> float:
        """Return the number of samples selected: the sum counts those that are negative."""
        return float(min(whole_count(self.k, n_pos + n_neg), n_pos))

    def performance(self, score: Array, is_pos: BoolArray) -> float:
        """Compute the precision among the top k, see `StructuralLoss.performance`."""
        return precision_at_k_score(is_pos, score, k=self.k, pos_label=True)


# ---------------------------------------------------------------- losses by name


LOSSES = {"f1": FBetaLoss, "prbep": PrecisionAtK, "top_precision": TopPrecision, "pauc": PartialAUC}

_FBETA = re.compile(r"f(\d+(?:\.\d*)?|\.\d+)")


def get_loss(loss: str | StructuralLoss) -> StructuralLoss:
    """Return the loss of a name, or the object itself.

    Parameters
    ----------
    loss : str or StructuralLoss
        A name in ``LOSSES``, ``"f<beta>"`` for any positive beta, the name of another metric in
        ``csf.metrics.METRICS`` (a `TableLoss`), or a loss.

    Returns
    -------
    StructuralLoss
        The loss.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If it is neither a name nor a loss.

    Examples
    --------
    >>> get_loss("f2"), get_loss("pauc")
    (FBetaLoss(beta=2.0, kappa=None), PartialAUC(beta=0.1, mode='count'))
    >>> get_loss("gmean")
    TableLoss(metric='gmean', kappa=None)
    """
    if isinstance(loss, StructuralLoss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(f"loss must be a name or a csf.structural.StructuralLoss object, got {loss!r}")
    loss = known_name(loss)
    if loss in LOSSES:
        return LOSSES[loss]()
    match = _FBETA.fullmatch(loss)
    if match and float(match[1]) > 0:
        return FBetaLoss(float(match[1]))
    if loss in METRICS:
        return TableLoss(loss)
    raise ValueError(
        f"unknown loss {loss!r}; known: {', '.join(LOSSES)}, f<beta>, a metric ({', '.join(METRICS)}), or a "
        f"StructuralLoss object{did_you_mean(loss, [*LOSSES, *METRICS], MEANT)}"
    )
