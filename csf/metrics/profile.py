"""Error profiles: the only place where counts and predictions become proportions and rates; and hulls of profiles."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.compiled import njit, on_lists
from csf._common.messages import did_you_mean
from csf._common.typing import Array, BoolArray, IntArray, Label, Values
from csf._common.validation import (
    check_binary_target,
    check_labels,
    check_weights,
    floats,
    label_array,
    warn_of_order,
)

# Rounding of sums of up to 10^8 weights; anything further outside the box is a caller's mistake.
_SLACK = 1e-9
EPS = np.finfo(np.float64).eps
# What rounding leaves of a class that is wrong altogether, in parts of it.
NOISE = 4 * EPS


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
        for name, top, noise in (("fn", pos, NOISE * pos), ("fp", 1.0 - pos, NOISE)):
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
        """Compute the profile of a confusion table.

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
        """Compute the profile with given true positive and true negative rates.

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
        """Compute the profile of predicted labels.

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
        warn_of_order(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight)
        classes, is_pos, pos_label = check_binary_target(y_true, pos_label)
        y_pred = label_array(y_pred, "y_pred")
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
        """Compute the profile of predicted classes where one class is the null class.

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
        warn_of_order(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight)
        y_true, classes = check_labels(y_true)
        y_pred = label_array(y_pred, "y_pred")
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
        """Compute the profile of boolean arrays that are known to be valid.

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


# ---------------------------------------------------------------- the hull of known profiles


# Shares are at most 1; what is far beyond has no costs that a float can hold.
_LARGEST = 1e150


class Hull:
    """Lower-left convex hull of error profiles: all profiles that are cheapest for some costs >= 0.

    Parameters
    ----------
    points : array-like of shape (n_points, 2)
        Error profiles ``(fn, fp)``, in any order; at least one.

    Attributes
    ----------
    points : ndarray of shape (n_vertices, 2)
        Vertices, by increasing ``fn`` and decreasing ``fp``.

    Examples
    --------
    >>> hull = Hull([(0.0, 0.5), (0.1, 0.1), (0.2, 0.2), (0.3, 0.0)])
    >>> hull.points.tolist()
    [[0.0, 0.5], [0.1, 0.1], [0.3, 0.0]]
    >>> hull.cheapest(2.0, 1.0)
    0.3
    """

    __slots__ = ("points",)

    def __init__(self, points: ArrayLike) -> None:
        given = floats(points, "points")
        if given.ndim != 2 or given.shape[1] != 2 or given.shape[0] == 0:
            raise ValueError(f"points must have shape (n_points, 2) with n_points >= 1, got {given.shape}")
        if not np.isfinite(given).all():
            raise ValueError(f"points must be finite, got {given[~np.isfinite(given).all(axis=1)][0].tolist()}")
        large = (np.abs(given) > _LARGEST).any(axis=1)
        if large.any():
            raise ValueError(f"points must be shares of all samples, got {given[large][0].tolist()}")
        self.points: Array = _lower_left(given + 0.0)  # no negative zeros: they would be equal and hash differently
        self.points.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hull) and np.array_equal(self.points, other.points)

    def __hash__(self) -> int:
        return hash(self.points.tobytes())

    def __reduce__(self) -> tuple[type[Hull], tuple[Array]]:
        # For files that rebuild objects by calling a trusted type; the hull of its own corners is itself.
        return Hull, (self.points,)

    def __repr__(self) -> str:
        return f"Hull({self.points.tolist()})"

    def cheapest(self, c_fn: Values, c_fp: Values) -> Values:
        """Find the smallest weighted error ``c_fn fn + c_fp fp`` of the known profiles.

        Parameters
        ----------
        c_fn, c_fp : float or ndarray of shape (n_costs,)
            Costs, >= 0.

        Returns
        -------
        float or ndarray of shape (n_costs,)
            Cost of the cheapest known profile, for each pair of costs.
        """
        cost = np.multiply.outer(c_fn, self.points[:, 0]) + np.multiply.outer(c_fp, self.points[:, 1])
        cheapest = cost.min(axis=-1)
        return cheapest if cheapest.ndim else float(cheapest)

    @staticmethod
    def union(hulls: Sequence[Hull]) -> Hull:
        """Compute the hull of several hulls together.

        Parameters
        ----------
        hulls : sequence of Hull
            At least one.

        Returns
        -------
        Hull
            Their common hull. A sequence that grows by one costs one merge: the union of all but the last is
            remembered.
        """
        hulls = tuple(hulls)
        key = tuple(map(id, hulls))
        if (whole := _UNIONS.get(key)) is not None:
            return whole[1]
        known = _UNIONS.get(key[:-1])
        parts = hulls if known is None else (known[1], hulls[-1])
        merged = Hull(np.concatenate([hull.points for hull in parts]))
        with _LOCK:
            _UNIONS[key] = (hulls, merged)  # holds the hulls, so that their ids stay theirs
            while len(_UNIONS) > 32:
                _UNIONS.pop(next(iter(_UNIONS)))
        return merged

    @staticmethod
    def mean(hulls: Sequence[Hull], shares: Sequence[float] | Array) -> Hull:
        """Compute the hull of the weighted means of profiles, one from each hull, such as those of folds.

        Parameters
        ----------
        hulls : sequence of Hull
            At least one.
        shares : array-like of shape (n_hulls,)
            Weights of the hulls, summing to 1.

        Returns
        -------
        Hull
            The cheapest mean for some costs is the mean of the cheapest, so its edges are all edges, by slope.

        Examples
        --------
        >>> Hull.mean([Hull([(0.0, 0.4), (0.2, 0.0)]), Hull([(0.1, 0.1)])], [0.5, 0.5]).points.tolist()
        [[0.05, 0.25], [0.15, 0.05]]
        """
        start = sum(share * hull.points[0] for hull, share in zip(hulls, shares))
        edges = np.concatenate([share * np.diff(hull.points, axis=0) for hull, share in zip(hulls, shares)])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # tiny edges, and folds without a share
            edges = edges[np.argsort(edges[:, 1] / edges[:, 0], kind="stable")]
        return Hull(np.concatenate([[start], start + np.cumsum(edges, axis=0)]))


_UNIONS: dict[tuple[int, ...], tuple[tuple[Hull, ...], Hull]] = {}
_LOCK = Lock()  # searches may run in several threads


def _lower_left(points: Array) -> Array:
    """Find the vertices of the lower-left hull, by increasing fn."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    # A profile that is nowhere below all earlier ones is dominated.
    lowest = np.minimum.accumulate(points[:, 1])
    points = points[np.concatenate([[True], points[1:, 1] < lowest[:-1]])]
    if _is_convex(points):
        return points
    fn, fp = np.ascontiguousarray(points[::-1].T)
    return points[::-1][hull_cuts(fn, fp)][::-1].copy()


def _is_convex(points):
    """Check that all points are vertices; not compiled, so that a hull can be loaded from a file without numba."""
    before, middle, after = points[:-2], points[1:-1], points[2:]
    into, over = middle - before, after - before
    return bool((into[:, 0] * over[:, 1] > into[:, 1] * over[:, 0]).all())


@njit(cache=True, few=on_lists, most=1 << 11, nogil=True)
def hull_cuts(fn: Array, fp: Array) -> IntArray:
    """Find the vertices of the lower-left convex hull, by decreasing ``fn``, but none within rounding of an edge."""
    first, end = 0, len(fn) - 1
    largest_fn, largest_fp = fn[first], fp[end]
    while first < end and fp[first + 1] == fp[first]:
        first += 1
    while end > first and fn[end - 1] == fn[end]:
        end -= 1
    most = 1  # of equal ``fn`` one cut counts
    for cut in range(first + 1, end + 1):
        most += fn[cut] != fn[cut - 1]
    stack = np.empty(most, dtype=np.int64)
    size = 0
    for cut in range(first, end + 1):
        if cut > first and fn[cut] == fn[cut - 1]:  # the one before is better
            continue
        while size > 1:
            a, b = stack[size - 2], stack[size - 1]
            turn = (fn[a] - fn[b]) * (fp[cut] - fp[b]) - (fp[b] - fp[a]) * (fn[b] - fn[cut])
            if turn > EPS * (largest_fn * (fp[cut] - fp[a]) + largest_fp * (fn[a] - fn[cut])):
                break
            size -= 1
        stack[size] = cut
        size += 1
    return stack[:size].copy()
