"""What a structural loss must offer: its value and a tangent plane at any scores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, BoolArray, FloatArray
from csf.metrics import get_metric
from csf.structural._limits import check_moderate

if TYPE_CHECKING:
    from csf.metrics.base import Metric

__all__ = ["ClassScores", "Tangent", "StructuralLoss"]


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
        """All samples stand for the same share."""
        share = 1.0 / (pos.shape[0] + neg.shape[0])
        return cls(pos, neg, share, share)


class StructuralLoss(ABC):
    r"""A convex upper bound of 1 - performance, for performances that cannot be summed over samples.

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
        """Value and subgradient at checked scores.

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
        """Performance that the loss is a surrogate of: the metric of the labels ``score > 0``, unless overridden.

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
        n, found = is_pos.shape[0], score > 0.0
        fn, fp = np.count_nonzero(is_pos & ~found) / n, np.count_nonzero(found & ~is_pos) / n
        metric = get_metric(cast("str | Metric", self.metric))
        return float(metric.value(fn, fp, pos=np.count_nonzero(is_pos) / n))

    def total(self, n_pos: int, n_neg: int) -> tuple[StructuralLoss, float]:
        """The loss as a sum over samples, which grows with their number: what `FTRL` lowers.

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
        """Value and subgradient at any scores.

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
        """Loss at any scores.

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
        """Factors of samples in the sum are 1 (``kappa`` times the samples), see `StructuralLoss.total`."""
        factor = self._count(n_pos, n_neg)
        unit = 1.0 if self.kappa is None else self.kappa * (n_pos + n_neg)
        return replace(cast(Any, self), kappa=unit / factor), factor

    def _count(self, n_pos: int, n_neg: int) -> float:
        """What a loss of 1 counts."""
        return float(n_pos + n_neg)

    def _check_kappa(self) -> None:
        if self.kappa is not None:
            check_moderate(self.kappa, "kappa")

    def _kappas(self, scores: ClassScores) -> tuple[float, float]:
        """Factors of the linear part for one positive and one negative."""
        if self.kappa is None:
            return scores.share_pos, scores.share_neg
        n_samples = scores.pos.shape[0] + scores.neg.shape[0]
        return self.kappa * n_samples * scores.share_pos, self.kappa * n_samples * scores.share_neg


def largest(score: Array, count: int) -> Array:
    """The ``count`` largest scores, or all if they are fewer, rising."""
    n = score.shape[0]
    if count < n:
        score = np.partition(score, n - count)[n - count :]
    return np.sort(score)


def whole_count(share: float, n_samples: float) -> int:
    """Least whole number that is not below ``share * n_samples``, but for rounding."""
    return math.ceil(share * n_samples * (1.0 - 1e-12))


def _check_scores(score: ArrayLike, is_pos: ArrayLike) -> tuple[FloatArray, BoolArray]:
    score, is_pos = np.asarray(score, dtype=np.float64), np.asarray(is_pos)
    if is_pos.dtype != bool:
        raise TypeError(f"is_pos must be an array of bool, got dtype {is_pos.dtype}; write y == pos_label")
    if score.ndim != 1 or score.shape != is_pos.shape:
        raise ValueError(f"score and is_pos must be 1D and of one length, got shapes {score.shape} and {is_pos.shape}")
    if not np.isfinite(score).all():
        raise ValueError(f"score has {int((~np.isfinite(score)).sum())} entries that are NaN or infinite")
    if not is_pos.any() or is_pos.all():
        raise ValueError(f"{int(is_pos.sum())} of {is_pos.size} samples are positive; the loss needs both classes")
    return score, is_pos
