"""Metrics of error profiles, those that are ratios of affine functions, and the order of candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, Label, Values
from csf.metrics.profile import NOISE, ErrorProfile

# Cells of the confusion matrix of two classes.
CELLS = ("tp", "fn", "fp", "tn")
# What a sample of each cell adds to the numerator and the denominator of a ratio of sums.
Terms: TypeAlias = "dict[str, tuple[float, float]]"
# Relative difference of two amounts that rounding may leave of equal ones.
SAME_AMOUNT = 1e-9
# Closest relative distance of a level to the ends of its range: at the ends one class would weigh nothing.
LEVEL_MARGIN = 1e-6


class Coefficients(NamedTuple):
    """The six numbers of a linear-fractional metric, ``(n0 + n·e) / (d0 + d·e)`` with ``e = (fn, fp)``."""

    n0: float
    n_fn: float
    n_fp: float
    d0: float
    d_fn: float
    d_fp: float


class Measure(ABC):
    """Metric of two classes, `Metric`, or of any number of classes, `csf.metrics.ConfusionMetric`."""

    # Size of a difference that matters, as 1 for rates.
    unit: float = 1.0
    # Largest level of a constraint that has a meaning; None where no constraint can be on it.
    largest_level: float | None = None
    # Whether it is one of several classes that is a mean of recalls, and leaves out classes that no sample has.
    of_recalls: ClassVar[bool] = False
    # Of `csf.metrics.Incomplete`: the `TrueMetric` that this one is or constrains, or None.
    truth: Any = None

    @property
    def name(self) -> str:
        """Short name for tables and plots."""
        return type(self).__name__

    @property
    def unconstrained(self) -> Self:
        """The metric without its constraints."""
        return self

    @property
    @abstractmethod
    def of_two(self) -> Metric:
        """The metric as one of two classes."""

    @property
    def of_classes(self) -> Measure | None:
        """The metric as one of any number of classes; ``None`` where it is of two alone."""
        return None

    @property
    def as_ratio(self) -> LinearFractional | None:
        """The metric itself where it is a ratio of affine functions of the error profile; ``None`` for others."""
        return None

    @abstractmethod
    def values_at_ends(self) -> list[tuple[float, float]]:
        """Compute the metric without errors and where all is wrong, on some tables."""

    def for_classes(self, classes: Array) -> Self:
        """Return the metric with its costs in the order of the classes.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            The classes, in their order: of two the negative and the positive class.

        Returns
        -------
        Measure
            The metric; itself where it has no costs by class.
        """
        return self

    def terms(self) -> Terms | None:
        """List the terms that a sample of each cell adds to the numerator and the denominator of a ratio of sums.

        Returns
        -------
        dict of str to tuple of float or None
            By cell of the confusion matrix of two classes, ``"tp"``, ``"fn"``, ``"fp"`` and ``"tn"``: the metric is at
            least t exactly where the mean of ``top - t bottom`` over the samples is not negative. ``None`` for metrics
            that are no ratio of sums, such as the G-mean and Cohen's kappa.

        Examples
        --------
        >>> from csf.metrics import get_metric
        >>> get_metric("f2").terms()
        {'tp': (5.0, 5.0), 'fn': (0.0, 4.0), 'fp': (0.0, 1.0), 'tn': (0.0, 0.0)}
        """
        return None


class Metric(Measure):
    """Metric of error profiles that does not increase with either error.

    Subclass it and write `value` to search costs for a metric of your own; a linear-fractional one is better
    written as `LinearFractional`, whose weights and bounds are sharper.

    Examples
    --------
    >>> class Youden(Metric):
    ...     def value(self, fn, fp, *, pos):
    ...         return 1 - fn / pos - fp / (1 - pos)
    >>> Youden().value(fn=0.05, fp=0.15, pos=0.25)
    0.6
    >>> Youden().cost_weights(0.5, pos=0.25)
    (2.0, 0.667)
    """

    # What a profile must satisfy besides: a `Constraint`, which only `csf.metrics.Constrained` has, or None.
    constraint: Any = None
    # Whether values are levels: costs that aim at one are known, and the best profile at them is the best one.
    has_levels: bool = False
    # Between which shares of positives it has a meaning.
    share_range: tuple[float, float] = (0.0, 1.0)

    @property
    def of_two(self) -> Metric:
        """The metric itself."""
        return self

    @property
    def extremes(self) -> tuple[Metric, ...]:
        """Metrics between which this one is, where what it rests on is known in a range; else itself alone."""
        return (self,)

    @property
    def maximised(self) -> Metric:
        """What a search maximises for the metric: of a mean cost the least is sought."""
        return self

    def values_at_ends(self) -> list[tuple[float, float]]:
        """Compute the metric without errors and where all is wrong, at three shares of positives."""
        low, high = self.share_range
        shares = [low + (high - low) * spot for spot in (0.1, 0.5, 0.9)]
        return [(float(self.value(0.0, 0.0, pos=pos)), float(self.value(pos, 1.0 - pos, pos=pos))) for pos in shares]

    @abstractmethod
    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the metric on error profiles.

        Parameters
        ----------
        fn, fp : float or ndarray
            Shares of *all* samples: false negatives in [0, pos], false positives in [0, 1 - pos].
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        float or ndarray
            One value for each profile; larger is better.
        """

    def range(self, pos: float) -> tuple[float, float]:
        """Return the smallest and the largest level worth aiming at.

        Parameters
        ----------
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        tuple of float
            ``(lo, hi)``; [0, 1] unless a metric says otherwise.
        """
        return 0.0, 1.0

    def clip_level(self, t: float, *, pos: float) -> float:
        """Clip level ``t`` to the range, a millionth of its width away from the ends.

        Parameters
        ----------
        t : float
            Level aimed at.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        float
            The level that is safe to train at: both classes keep a positive weight.
        """
        lo, hi = self.range(pos)
        margin = LEVEL_MARGIN * (hi - lo)
        return float(min(max(t, lo + margin), hi - margin))

    def cost_weights(self, t: float, *, pos: float) -> tuple[float, float]:
        """Compute the class costs a(t) that aim at level ``t``.

        Parameters
        ----------
        t : float
            Level, inside `range`.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        tuple of float
            ``(c_fn, c_fp)``, the cost of a false negative and of a false positive.

        Notes
        -----
        A metric that is only known to be monotone takes ``((1 - s) / pos, s / (1 - pos))``, with ``s`` the place of
        ``t`` in the range, from 0 to 1: every Pareto-optimal profile of a convex trade-off is optimal for one ``s``.
        """
        lo, hi = self.range(pos)
        share = (t - lo) / (hi - lo)
        return float((1.0 - share) / pos), float(share / (1.0 - pos))

    def trivial_answer(self, *, pos: float) -> str | None:
        """Find the constant prediction that is worth as much as no errors at all.

        Parameters
        ----------
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        {"positive", "negative"} or None
            ``"positive"`` for recall, ``"negative"`` for specificity, ``None`` where errors of both kinds count. Under
            a constraint, an answer that violates it is none.

        Examples
        --------
        >>> from csf.metrics import get_metric
        >>> get_metric("recall").trivial_answer(pos=0.1), get_metric("f1").trivial_answer(pos=0.1)
        ('positive', None)
        """
        best = self.value(0.0, 0.0, pos=pos)
        for answer, (fn, fp) in {"positive": (0.0, 1.0 - pos), "negative": (pos, 0.0)}.items():
            allowed = self.constraint is None or self.constraint.violation(fn, fp, pos=pos) == 0.0
            if allowed and self.value(fn, fp, pos=pos) >= best:
                return answer
        return None

    def of(self, profile: ErrorProfile) -> float:
        """Compute the metric on one `ErrorProfile`.

        Parameters
        ----------
        profile : ErrorProfile
            Error profile.

        Returns
        -------
        float
            The value.
        """
        return float(self.value(profile.fn, profile.fp, pos=profile.pos))

    def score(
        self, y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Label = None
    ) -> float:
        """Compute the metric on predicted labels.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            True and predicted labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        pos_label : label, default=None
            Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

        Returns
        -------
        float
            The value.
        """
        return self.of(ErrorProfile.from_predictions(y_true, y_pred, sample_weight=sample_weight, pos_label=pos_label))


class LinearFractional(Metric):
    r"""Ratio of two affine functions of the error profile (a pseudo-linear metric).

    Subclasses write `coefficients`; everything else follows from the six numbers.

    Notes
    -----
    .. math:: M(e) = \frac{n_0 + n \cdot e}{d_0 + d \cdot e}, \qquad
              M(e) \ge t \iff \langle a(t), e \rangle + b(t) \le 0

    with :math:`a(t) = t d - n` and :math:`b(t) = t d_0 - n_0`.

    References
    ----------
    .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.
    """

    has_levels = True
    largest_level: float = 1.0

    @property
    def as_ratio(self) -> LinearFractional:
        """The metric itself."""
        return self

    @abstractmethod
    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of the metric.

        Parameters
        ----------
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        Coefficients
            ``(n0, n_fn, n_fp, d0, d_fn, d_fp)``.
        """

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the metric; 0 where numerator and denominator are both 0, up to rounding.

        Parameters
        ----------
        fn, fp : float or ndarray
            Shares of all samples.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        float or ndarray
            One value for each profile.
        """
        n0, n_fn, n_fp, d0, d_fn, d_fp = self.coefficients(pos)
        if isinstance(fn, float) and isinstance(fp, float):  # the same numbers, without arrays
            # A denominator that is a tiny share of its terms is what rounding left of 0.
            bottom = d0 + d_fn * fn + d_fp * fp
            is_defined = bottom > NOISE * (abs(d0) + abs(d_fn) * fn + abs(d_fp) * fp)
            return float((n0 + n_fn * fn + n_fp * fp) / bottom) if is_defined else 0.0
        fn, fp = np.asarray(fn, dtype=float), np.asarray(fp, dtype=float)
        numerator = n0 + n_fn * fn + n_fp * fp
        denominator = d0 + d_fn * fn + d_fp * fp
        defined = denominator > NOISE * (abs(d0) + abs(d_fn) * fn + abs(d_fp) * fp)
        if defined.all():
            result = numerator / denominator
        else:
            result = np.where(defined, numerator, 0.0) / np.where(defined, denominator, 1.0)
        return float_or_array(result)

    def cost_weights(self, t: float, *, pos: float) -> tuple[float, float]:
        """Compute ``a(t) = t d - n``: level ``t`` is reached where this weighted error is at most ``-offset(t)``.

        Parameters
        ----------
        t : float
            Level, inside `range`.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        tuple of float
            ``(c_fn, c_fp)``.
        """
        _, n_fn, n_fp, _, d_fn, d_fp = self.coefficients(pos)
        return float(t * d_fn - n_fn), float(t * d_fp - n_fp)

    def terms(self) -> Terms | None:
        """List the terms of each cell, if the six numbers are sums over samples; see `Metric.terms`."""
        low, middle, high = (np.array(self.coefficients(pos)).reshape(2, 3) for pos in (0.25, 0.5, 0.75))
        slack = SAME_AMOUNT * np.abs(middle).max(axis=1, keepdims=True)
        # Constants must be linear in the share of positives.
        if (np.abs(low + high - 2.0 * middle) > slack).any() or (np.abs(high - low)[:, 1:] > slack).any():
            return None
        # (top, bottom) of a negative and of a positive without errors, and what errors change.
        constant, slope, (fn, fp) = low[:, 0], 2.0 * (high - low)[:, 0], middle[:, 1:].T
        tn = constant - 0.25 * slope
        tp = tn + slope
        cells = {"tp": tp, "fn": tp + fn, "fp": tn + fp, "tn": tn}
        whole = slack[:, 0]
        return {cell: tuple(np.where(np.abs(both) > whole, both, 0.0).tolist()) for cell, both in cells.items()}

    def require_falling(self, who: str, *, pos: float) -> None:
        """Raise a ValueError where the metric rewards an error at some level.

        Parameters
        ----------
        who : str
            What needs the metric, for the message.
        pos : float
            Share of positives, in (0, 1).

        Raises
        ------
        ValueError
            If a cost of `cost_weights` is negative at an end of the range, and so at some level.
        """
        for level in self.range(pos):
            costs = self.cost_weights(level, pos=pos)
            if min(costs) < 0.0:
                raise ValueError(
                    f"{who} needs a metric that falls with both errors; {self.name!r} has the costs "
                    f"(c_fn, c_fp) = {costs} at level {level:g}. Give its complement"
                )

    def offset(self, t: float, *, pos: float) -> float:
        """Compute ``b(t) = t d0 - n0``: level ``t`` is reached exactly when ``c_fn fn + c_fp fp + b(t) <= 0``.

        Parameters
        ----------
        t : float
            Level.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        float
            The offset.
        """
        n0, _, _, d0, _, _ = self.coefficients(pos)
        return float(t * d0 - n0)

    def denominator(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the denominator ``d0 + d·e``; its inverse turns weighted errors into units of the metric.

        Parameters
        ----------
        fn, fp : float or ndarray
            Shares of all samples.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        float or ndarray
            One denominator for each profile.
        """
        c = self.coefficients(pos)
        return c.d0 + c.d_fn * fn + c.d_fp * fp


def require_levels(metric: Metric, who: str, way: str) -> LinearFractional:
    """Return a linear-fractional metric; raise a TypeError that names ``who`` needs one, and the ``way`` out."""
    if (ratio := metric.as_ratio) is None:
        raise TypeError(
            f"{who} needs a linear-fractional metric such as 'f1' or 'jaccard', whose values are levels of the costs; "
            f"{metric.name!r} has none. {way}"
        )
    return ratio


def float_or_array(values: Values) -> Values:
    """Return a float for a single value, else the array."""
    return values if np.ndim(values) else float(values)


def wrong_direction(name: str, right: float, wrong: float) -> str:
    """Build the message about a metric that is no larger without errors than where everything is wrong."""
    return (
        f"{name!r} is worth {right:g} without errors and {wrong:g} where all is wrong; larger must be better. Turn its "
        "sign (WeightedAccuracy and CostMatrix maximise minus a cost, 'recall' and 'specificity' are 1 less a rate of "
        "errors), or limit it: constraint=csf.metrics.Constraint(metric, '<=', level)"
    )


def rank(violation: float, value: float, number: int = 0, setting: int = 0) -> tuple[float, float, int, int]:
    """Build the sort key of a candidate: smaller violation, then larger value, then earlier trial and setting."""
    return violation, -value, number, setting
