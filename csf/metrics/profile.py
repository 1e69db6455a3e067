"""Error profiles: counts and predictions become proportions and rates here and nowhere else."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.messages import did_you_mean
from csf._common.typing import Array, BoolArray, Label
from csf._common.validation import check_binary_target, check_labels, check_weights

# Rounding of sums of up to 10^8 weights; anything further outside the box is a caller's mistake.
_SLACK = 1e-9
# What rounding leaves of a class that is wrong altogether.
_NOISE = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True)
class ErrorProfile:
    """Errors of a binary classifier as proportions of *all* (weighted) samples.

    Parameters
    ----------
    fn : float
        Share of all samples that are positive and predicted negative, in [0, pos].
    fp : float
        Share of all samples that are negative and predicted positive, in [0, 1 - pos].
    pos : float
        Share of all samples that are positive, in (0, 1).

    Raises
    ------
    ValueError
        If a share lies outside its range.

    Notes
    -----
    ``fn`` and ``fp`` are never rates; the rates within a class are `fnr`, `fpr`, `tpr`, `tnr`.

    Examples
    --------
    >>> profile = ErrorProfile.from_predictions([0, 0, 0, 1], [0, 1, 0, 0])
    >>> profile
    ErrorProfile(fn=0.25, fp=0.25, pos=0.25)
    >>> profile.tpr, profile.fpr
    (0.0, 0.333)
    """

    fn: float
    fp: float
    pos: float

    def __post_init__(self) -> None:
        for name in ("fn", "fp", "pos"):
            # The abstract class asks longer than all the rest takes.
            if not isinstance(getattr(self, name), (float, numbers.Real)):
                raise TypeError(f"{name} must be a number, a share of all samples, got {getattr(self, name)!r}")
        if not 0.0 < self.pos < 1.0:
            raise ValueError(f"pos must be a share in (0, 1), got {self.pos!r}: an error profile needs both classes")
        pos = float(self.pos)
        # 1 - pos is a difference itself: what rounding leaves of it does not shrink with it
        for name, top, noise in (("fn", pos, _NOISE * pos), ("fp", 1.0 - pos, _NOISE)):
            share = float(getattr(self, name))
            if not -_SLACK <= share <= top + _SLACK:
                raise ValueError(
                    f"{name} must be a share of all samples in [0, {top:.6g}], got {share!r}; "
                    "rates and counts go through ErrorProfile.from_rates and ErrorProfile.from_counts"
                )
            object.__setattr__(self, name, max(0.0, share) if share < top - noise else top)
        object.__setattr__(self, "pos", pos)

    @classmethod
    def from_counts(cls, *, tp: float, fp: float, fn: float, tn: float) -> Self:
        """Profile of a confusion table.

        Parameters
        ----------
        tp, fp, fn, tn : float
            Counts, or sums of sample weights; not negative, both classes present.

        Returns
        -------
        ErrorProfile
            The table as shares of its total.

        Raises
        ------
        ValueError
            If a count is negative or not finite, or one class is absent.

        Examples
        --------
        >>> ErrorProfile.from_counts(tp=30, fp=20, fn=10, tn=40)
        ErrorProfile(fn=0.1, fp=0.2, pos=0.4)
        """
        counts = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        for name, count in counts.items():
            if not isinstance(count, numbers.Real):
                raise TypeError(f"{name} must be a finite count >= 0, got {count!r}")
            if not 0 <= count < math.inf:
                raise ValueError(f"{name} must be a finite count >= 0, got {count!r}")
        if tp + fn == 0 or fp + tn == 0:
            raise ValueError(f"both classes must be present, got tp + fn = {tp + fn}, fp + tn = {fp + tn}")
        tp, fp, fn, tn = (float(count) for count in (tp, fp, fn, tn))
        total = tp + fp + fn + tn
        return cls(fn=fn / total, fp=fp / total, pos=(tp + fn) / total)

    @classmethod
    def from_rates(cls, *, tpr: float, tnr: float, pos: float) -> Self:
        """Profile with given true positive and true negative rates.

        Parameters
        ----------
        tpr, tnr : float
            Rates within the positive and the negative class, in [0, 1].
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        ErrorProfile
            The same classifier as proportions.

        Examples
        --------
        >>> ErrorProfile.from_rates(tpr=0.75, tnr=0.5, pos=0.2)
        ErrorProfile(fn=0.05, fp=0.4, pos=0.2)
        """
        for name, share in (("tpr", tpr), ("tnr", tnr), ("pos", pos)):
            if not (isinstance(share, numbers.Real) and -_SLACK <= share <= 1.0 + _SLACK):
                raise ValueError(f"{name} must be a number in [0, 1], got {share!r}")
        return cls(fn=(1.0 - tpr) * pos, fp=(1.0 - tnr) * (1.0 - pos), pos=pos)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Label = None
    ) -> Self:
        """Profile of predicted labels.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            True and predicted labels of one binary problem.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero; ``None`` counts every sample once.
        pos_label : label, default=None
            The positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

        Returns
        -------
        ErrorProfile
            Weighted shares of false negatives, false positives and positives.

        Raises
        ------
        ValueError
            If lengths differ, a class is absent, or a predicted label is unknown.
        """
        classes, is_pos, pos_label = check_binary_target(y_true, pos_label)
        y_pred = np.asarray(y_pred)
        if y_pred.shape != is_pos.shape:
            raise ValueError(f"y_pred must have shape {is_pos.shape} like y_true, got {y_pred.shape}")
        unknown = y_pred[(y_pred != classes[0]) & (y_pred != classes[1])]
        if unknown.size:
            raise ValueError(f"y_pred holds {unknown.tolist()[0]!r}, y_true only {classes.tolist()}")
        return cls.from_masks(is_pos, y_pred == pos_label, sample_weight=check_weights(sample_weight, is_pos.shape[0]))

    @classmethod
    def from_classes(
        cls, y_true: ArrayLike, y_pred: ArrayLike, *, null_class: Label, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Profile of predicted classes where one class means that there is nothing to find.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            True and predicted labels of one problem with two or more classes.
        null_class : label
            The class of nothing to find.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero; ``None`` counts every sample once.

        Returns
        -------
        ErrorProfile
            ``pos`` is the share of all other classes, ``fn`` that of their samples which are not predicted as what
            they are (also those given to another of these classes), ``fp`` that of samples of the null class in which
            something is found.

        Raises
        ------
        ValueError
            If lengths differ or ``y_true`` lacks the null class.

        Notes
        -----
        F-beta of this profile is the multiclass F-beta of [1]_; with two classes it is F-beta of the other class.

        References
        ----------
        .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
           NIPS 2014.

        Examples
        --------
        >>> y_true, y_pred = list("ooooaabb"), list("oooaabbo")
        >>> ErrorProfile.from_classes(y_true, y_pred, null_class="o")
        ErrorProfile(fn=0.25, fp=0.125, pos=0.5)
        """
        y_true, classes = check_labels(y_true)
        y_pred = np.asarray(y_pred)
        if y_pred.shape != y_true.shape:
            raise ValueError(f"y_pred must have shape {y_true.shape} like y_true, got {y_pred.shape}")
        if null_class not in classes.tolist():
            hint = did_you_mean(null_class, classes.tolist())
            raise ValueError(
                f"null_class={null_class!r} is not a label of y_true, which holds {classes.tolist()}{hint}"
            )
        is_pos = y_true != null_class
        predicted_pos = (y_pred != null_class) & ~(is_pos & (y_pred != y_true))
        return cls.from_masks(is_pos, predicted_pos, sample_weight=check_weights(sample_weight, is_pos.shape[0]))

    @classmethod
    def from_masks(cls, is_pos: BoolArray, predicted_pos: BoolArray, *, sample_weight: Array | None = None) -> Self:
        """Profile of boolean arrays that are known to be valid.

        Parameters
        ----------
        is_pos, predicted_pos : ndarray of bool, shape (n_samples,)
            Truth and prediction, ``True`` for the positive class.
        sample_weight : ndarray of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        ErrorProfile
            Weighted shares.
        """
        if sample_weight is None:
            n, n_pos, tp = is_pos.shape[0], np.count_nonzero(is_pos), np.count_nonzero(is_pos & predicted_pos)
            return cls(fn=(n_pos - tp) / n, fp=(np.count_nonzero(predicted_pos) - tp) / n, pos=n_pos / n)
        masks, total = (is_pos & ~predicted_pos, ~is_pos & predicted_pos, is_pos), sample_weight.sum()
        fn, fp, pos = (sample_weight[mask].sum() / total for mask in masks)
        return cls(fn=fn, fp=fp, pos=pos)

    @property
    def neg(self) -> float:
        """Share of negatives, ``1 - pos``."""
        return 1.0 - self.pos

    @property
    def tp(self) -> float:
        """Share of all samples that are true positives."""
        return self.pos - self.fn

    @property
    def tn(self) -> float:
        """Share of all samples that are true negatives."""
        return self.neg - self.fp

    @property
    def fnr(self) -> float:
        """False negative rate, ``fn / pos``."""
        return self.fn / self.pos

    @property
    def fpr(self) -> float:
        """False positive rate, ``fp / (1 - pos)``."""
        return self.fp / self.neg

    @property
    def tpr(self) -> float:
        """True positive rate (recall), ``1 - fnr``."""
        return 1.0 - self.fnr

    @property
    def tnr(self) -> float:
        """True negative rate (specificity), ``1 - fpr``."""
        return 1.0 - self.fpr

    @property
    def predicted_pos(self) -> float:
        """Share of all samples that are predicted positive."""
        return self.pos - self.fn + self.fp
