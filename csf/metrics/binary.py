"""Metrics of two classes: ratios of affine functions of (fn, fp), rates among them, and two that are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from csf._common.typing import Values
from csf._common.validation import check_number, floats
from csf.metrics.base import CELLS, Coefficients, LinearFractional, Metric, Terms, float_or_array

__all__ = [
    "BalancedAccuracy",
    "CohenKappa",
    "CustomMetric",
    "FBeta",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "FowlkesMallows",
    "GowerLegendre",
    "Informedness",
    "Jaccard",
    "MCC",
    "MeanCost",
    "NegativePredictiveValue",
    "Precision",
    "PredictedPositiveRate",
    "Rate",
    "Recall",
    "Specificity",
    "Tversky",
    "WeightedAccuracy",
]

# Its square is a number.
_LARGEST = 1e150
# Predicted shares up to this are what rounding leaves of none; its root would show, 1e-8 instead of 0.
_ROUNDING = 8.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class FBeta(LinearFractional):
    r"""F-beta score of an error profile, in [0, 1].

    The harmonic mean of precision and recall, tilted by ``beta``.

    Parameters
    ----------
    beta : float, default=1.0
        Importance of recall relative to precision; positive.

    Raises
    ------
    ValueError
        If ``beta`` is not positive and finite.

    Notes
    -----
    .. math:: F_\beta(e) = \frac{(1+\beta^2)(P - e_{FN})}{(1+\beta^2)P - e_{FN} + e_{FP}}

    It is 0, without a warning, where nothing positive is found.

    References
    ----------
    .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.

    Examples
    --------
    >>> FBeta(beta=2.0).value(fn=0.05, fp=0.15, pos=0.25)
    0.741
    >>> FBeta().cost_weights(0.6, pos=0.25)
    (1.4, 0.6)
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.beta, Real) and not 0 < float(self.beta) < _LARGEST:
            raise ValueError(
                f"beta must be positive and finite, got {self.beta!r}; accepted: numbers below {_LARGEST:g}"
            )
        check_number(self.beta, "beta", positive=True)

    @property
    def name(self) -> str:
        """Name of the metric: ``"f1"``, ``"f2"``, ``"f0.5"``, …"""
        return f"f{self.beta:g}"

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of F-beta, see `LinearFractional.coefficients`."""
        b = 1.0 + self.beta**2
        return Coefficients(b * pos, -b, 0.0, b * pos, -1.0, 1.0)


@dataclass(frozen=True)
class Jaccard(LinearFractional):
    r"""Jaccard index of an error profile, in [0, 1]: true positives over everything true or predicted positive.

    Notes
    -----
    .. math:: J(e) = \frac{P - e_{FN}}{P + e_{FP}} = \frac{F_1}{2 - F_1}

    References
    ----------
    .. [1] O. Koyejo et al., "Consistent binary classification with generalized performance metrics", NIPS 2014.

    Examples
    --------
    >>> Jaccard().value(fn=0.05, fp=0.15, pos=0.25)
    0.5
    >>> Jaccard().cost_weights(0.5, pos=0.25)
    (1.0, 0.5)
    """

    name: ClassVar[str] = "jaccard"

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of the Jaccard index, see `LinearFractional.coefficients`."""
        return Coefficients(pos, -1.0, 0.0, pos, 0.0, 1.0)


@dataclass(frozen=True)
class Tversky(LinearFractional):
    r"""Tversky index of an error profile, in [0, 1].

    Parameters
    ----------
    alpha : float, default=0.5
        Cost of a false negative; >= 0.
    beta : float, default=0.5
        Cost of a false positive; >= 0. Both 0.5 give F1, both 1 give Jaccard.

    Raises
    ------
    ValueError
        If a cost is negative or not finite.

    Notes
    -----
    .. math:: T(e) = \frac{TP}{TP + \alpha e_{FN} + \beta e_{FP}}

    References
    ----------
    .. [1] A. Tversky, "Features of similarity", Psychological Review 84, 1977.

    Examples
    --------
    >>> Tversky(alpha=0.7, beta=0.3).value(fn=0.05, fp=0.15, pos=0.25)
    0.714
    """

    alpha: float = 0.5
    beta: float = 0.5

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            check_number(getattr(self, name), name)

    @property
    def name(self) -> str:
        """Name of the metric with its parameters: ``"tversky(0.5, 0.5)"``, …"""
        return f"tversky({self.alpha:g}, {self.beta:g})"

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of the Tversky index, see `LinearFractional.coefficients`."""
        return Coefficients(pos, -1.0, 0.0, pos, self.alpha - 1.0, self.beta)


@dataclass(frozen=True)
class GowerLegendre(LinearFractional):
    r"""Gower-Legendre similarity of an error profile, in [0, 1].

    Parameters
    ----------
    sigma : float, default=2.0
        Cost of a disagreement, positive. 1 is accuracy, 2 the Rogers-Tanimoto and 0.5 the Sokal-Sneath index.

    Raises
    ------
    ValueError
        If ``sigma`` is not positive and finite.

    Notes
    -----
    .. math:: G(e) = \frac{1 - e_{FN} - e_{FP}}{1 + (\sigma - 1)(e_{FN} + e_{FP})}

    It increases with accuracy alone, so both classes cost the same at every level: only the size of the
    weights changes along a search, not their ratio.

    References
    ----------
    .. [1] J. Gower, P. Legendre, "Metric and Euclidean properties of dissimilarity coefficients",
       Journal of Classification 3, 1986.

    Examples
    --------
    >>> GowerLegendre(sigma=2.0).value(fn=0.05, fp=0.15, pos=0.25)
    0.667
    """

    sigma: float = 2.0

    def __post_init__(self) -> None:
        check_number(self.sigma, "sigma", positive=True)

    @property
    def name(self) -> str:
        """Name of the metric with its parameter: ``"gower_legendre(2)"``, …"""
        return f"gower_legendre({self.sigma:g})"

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of the similarity, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, -1.0, -1.0, 1.0, self.sigma - 1.0, self.sigma - 1.0)


@dataclass(frozen=True)
class WeightedAccuracy(LinearFractional):
    r"""One minus the weighted error, ``1 - w_fn fn - w_fp fp``, at most 1.

    Parameters
    ----------
    w_fn, w_fp : float, default=1.0
        Costs of a false negative and of a false positive; positive. Both 1 give accuracy.

    Raises
    ------
    ValueError
        If a cost is not positive and finite.

    Notes
    -----
    It can be summed over examples: its costs do not depend on the level, and one training is enough.

    Examples
    --------
    >>> WeightedAccuracy(w_fn=3.0).value(fn=0.05, fp=0.15, pos=0.25)
    0.7
    >>> WeightedAccuracy(w_fn=3.0).cost_weights(0.4, pos=0.25)
    (3.0, 1.0)
    """

    w_fn: float = 1.0
    w_fp: float = 1.0

    def __post_init__(self) -> None:
        for name in ("w_fn", "w_fp"):
            check_number(getattr(self, name), name, positive=True)

    @property
    def name(self) -> str:
        """Name of the metric: ``"accuracy"``, or its costs where they differ from 1."""
        return "accuracy" if self.w_fn == self.w_fp == 1 else f"accuracy({self.w_fn:g}, {self.w_fp:g})"

    def range(self, pos: float) -> tuple[float, float]:
        """Return the values with all predictions wrong and with all right, see `Metric.range`."""
        return 1.0 - self.w_fn * pos - self.w_fp * (1.0 - pos), 1.0

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of the weighted accuracy, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, -self.w_fn, -self.w_fp, 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class BalancedAccuracy(LinearFractional):
    """Mean of the true positive and the true negative rate, in [0, 1].

    Examples
    --------
    >>> BalancedAccuracy().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    >>> BalancedAccuracy().cost_weights(0.4, pos=0.25)
    (2.0, 0.667)
    """

    name: ClassVar[str] = "balanced_accuracy"

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of balanced accuracy, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, -0.5 / pos, -0.5 / (1.0 - pos), 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class CohenKappa(LinearFractional):
    r"""Cohen's kappa of an error profile, at most 1; chance agreement has value 0, less than 0 is worse.

    Notes
    -----
    .. math:: \kappa(e) = 1 - \frac{e_{FN} + e_{FP}}{2 P (1 - P) + (1 - 2 P)(e_{FP} - e_{FN})}

    The denominator is the disagreement of chance, with the shares of positives that are true and predicted. It is
    at least min(P, 1 - P) and :math:`\kappa` falls with both errors everywhere. Levels worth aiming at are [0, 1]:
    predicting one class everywhere already gives 0.

    References
    ----------
    .. [1] J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20,
       1960.

    Examples
    --------
    >>> CohenKappa().value(fn=0.05, fp=0.15, pos=0.25)
    0.529
    >>> CohenKappa().cost_weights(0.6, pos=0.25)
    (1.2, 0.8)
    """

    name: ClassVar[str] = "cohen_kappa"

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of kappa, see `LinearFractional.coefficients`."""
        neg, chance = 1.0 - pos, 2.0 * pos * (1.0 - pos)
        return Coefficients(chance, -2.0 * neg, -2.0 * pos, chance, pos - neg, neg - pos)


@dataclass(frozen=True)
class Informedness(LinearFractional):
    """Informedness (Youden's J), the sum of both rates less 1: 1 is perfect, 0 chance, less than 0 worse.

    It orders classifiers as balanced accuracy does, so its costs do not depend on the level and one training is
    enough. Levels worth aiming at are [0, 1]: predicting one class everywhere already gives 0.

    References
    ----------
    .. [1] W. Youden, "Index for rating diagnostic tests", Cancer 3, 1950.

    Examples
    --------
    >>> Informedness().value(fn=0.05, fp=0.15, pos=0.25)
    0.6
    >>> Informedness().cost_weights(0.4, pos=0.25)
    (4.0, 1.333)
    """

    name: ClassVar[str] = "informedness"

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of informedness, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, -1.0 / pos, -1.0 / (1.0 - pos), 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class CustomMetric(LinearFractional):
    """Metric ``(n0 + n_fn fn + n_fp fp) / (d0 + d_fn fn + d_fp fp)`` given by its six numbers.

    Parameters
    ----------
    numbers : callable or sequence of 6 floats
        ``(n0, n_fn, n_fp, d0, d_fn, d_fp)``, or a function of the share of positives that returns them. Give a
        module-level function if the search has to be pickled.
    label : str, default="custom"
        Name for tables and plots.
    levels : tuple of float, default=(0.0, 1.0)
        Smallest and largest level worth aiming at.

    Raises
    ------
    ValueError
        If the levels are not two increasing finite numbers; on use, if there are not six finite numbers or the
        denominator is negative for some error profile (turn the signs of all six).

    Examples
    --------
    The F1 score, written by hand:

    >>> f1 = CustomMetric(lambda pos: (2 * pos, -2, 0, 2 * pos, -1, 1), label="my F1")
    >>> f1.value(fn=0.05, fp=0.15, pos=0.25)
    0.667
    """

    numbers: Callable[[float], Sequence[float]] | Sequence[float]
    label: str = "custom"
    levels: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.label, str):
            raise TypeError(f"label must be a text, got {self.label!r}")
        levels = floats(self.levels, "levels")
        if levels.shape != (2,) or not np.isfinite(levels).all() or not levels[0] < levels[1]:
            raise ValueError(f"levels must be two finite numbers (lo, hi) with lo < hi, got {self.levels!r}")

    @property
    def name(self) -> str:
        """Label of the metric."""
        return self.label

    def range(self, pos: float) -> tuple[float, float]:
        """Return the given levels, see `Metric.range`."""
        lo, hi = self.levels
        return float(lo), float(hi)

    def coefficients(self, pos: float) -> Coefficients:
        """Return the given numbers, see `LinearFractional.coefficients`."""
        given = floats(self.numbers(pos) if callable(self.numbers) else self.numbers, "numbers")
        if given.shape != (6,) or not np.isfinite(given).all():
            raise ValueError(
                f"numbers must give six finite values (n0, n_fn, n_fp, d0, d_fn, d_fp), got {given.tolist()}"
            )
        numbers = Coefficients(*given.tolist())
        lowest = numbers.d0 + min(numbers.d_fn * pos, 0.0) + min(numbers.d_fp * (1.0 - pos), 0.0)
        if lowest < -1e-12 * max(abs(numbers.d0), 1.0):
            raise ValueError(
                f"the denominator of {self.label!r} falls to {lowest:.6g} over the error profiles with pos={pos:g}; it "
                "must not be negative. Turn the signs of all six numbers if it always is"
            )
        return numbers


class Rate(LinearFractional):
    """Share of ones among the samples that it counts; both are cells of the confusion matrix.

    Subclass it and name the cells to constrain a rate of your own, with a confidence too: a share of ones has an exact
    binomial test, which other metrics lack.

    Attributes
    ----------
    ones, zeros : tuple of {"tp", "fn", "fp", "tn"}
        Cells that the rate counts as ones, and those that it counts as zeros.

    Examples
    --------
    >>> class FalseDiscoveryRate(Rate):
    ...     ones, zeros = ("fp",), ("tp",)
    >>> FalseDiscoveryRate().value(fn=0.05, fp=0.15, pos=0.25)
    0.429
    """

    ones: ClassVar[tuple[str, ...]]
    zeros: ClassVar[tuple[str, ...]]

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of the rate, see `LinearFractional.coefficients`."""
        # Each cell as a share of all samples: a constant, and the weights of fn and fp.
        cells = {
            "tp": (pos, -1.0, 0.0),
            "fn": (0.0, 1.0, 0.0),
            "fp": (0.0, 0.0, 1.0),
            "tn": (1.0 - pos, 0.0, -1.0),
        }
        n0, n_fn, n_fp = map(sum, zip(*(cells[name] for name in self.ones)))
        d0, d_fn, d_fp = map(sum, zip(*(cells[name] for name in self.ones + self.zeros)))
        if d_fn == d_fp == 0.0:  # a rate within a class: costs are in units of the rate
            return Coefficients(n0 / d0, n_fn / d0, n_fp / d0, 1.0, 0.0, 0.0)
        return Coefficients(n0, n_fn, n_fp, d0, d_fn, d_fp)

    def terms(self) -> Terms:
        """List the terms of each cell, see `csf.metrics.Metric.terms`."""
        return {cell: (float(cell in self.ones), float(cell in self.ones + self.zeros)) for cell in CELLS}


@dataclass(frozen=True)
class Precision(Rate):
    """Share of true positives among the predicted positives, in [0, 1]; 0 where nothing is predicted positive.

    Examples
    --------
    >>> Precision().value(fn=0.05, fp=0.15, pos=0.25)
    0.571
    """

    name: ClassVar[str] = "precision"
    ones, zeros = ("tp",), ("fp",)


@dataclass(frozen=True)
class Recall(Rate):
    """Share of the positives that are predicted positive (true positive rate), in [0, 1].

    Examples
    --------
    >>> Recall().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    """

    name: ClassVar[str] = "recall"
    ones, zeros = ("tp",), ("fn",)


@dataclass(frozen=True)
class Specificity(Rate):
    """Share of the negatives that are predicted negative (true negative rate), in [0, 1].

    Examples
    --------
    >>> Specificity().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    """

    name: ClassVar[str] = "specificity"
    ones, zeros = ("tn",), ("fp",)


@dataclass(frozen=True)
class NegativePredictiveValue(Rate):
    """Share of true negatives among the predicted negatives, in [0, 1]; 0 where nothing is predicted negative.

    Examples
    --------
    >>> NegativePredictiveValue().value(fn=0.05, fp=0.15, pos=0.25)
    0.923
    """

    name: ClassVar[str] = "npv"
    ones, zeros = ("tn",), ("fn",)


@dataclass(frozen=True)
class FalsePositiveRate(Rate):
    """Share of the negatives predicted positive, in [0, 1]; for constraints, smaller is better.

    Examples
    --------
    >>> FalsePositiveRate().value(fn=0.05, fp=0.15, pos=0.25)
    0.2
    """

    name: ClassVar[str] = "fpr"
    ones, zeros = ("fp",), ("tn",)


@dataclass(frozen=True)
class FalseNegativeRate(Rate):
    """Share of the positives predicted negative, in [0, 1]; for constraints, smaller is better.

    Examples
    --------
    >>> FalseNegativeRate().value(fn=0.05, fp=0.15, pos=0.25)
    0.2
    """

    name: ClassVar[str] = "fnr"
    ones, zeros = ("fn",), ("tp",)


@dataclass(frozen=True)
class PredictedPositiveRate(Rate):
    """Share of all samples predicted positive, in [0, 1]; for constraints such as a limit on the number of checks.

    Examples
    --------
    >>> PredictedPositiveRate().value(fn=0.05, fp=0.15, pos=0.25)
    0.35
    """

    name: ClassVar[str] = "predicted_positive_rate"
    ones, zeros = ("tp", "fp"), ("fn", "tn")


@dataclass(frozen=True)
class MeanCost(LinearFractional):
    """Mean cost of a sample; smaller is better. As ``metric`` of a search minus the mean cost is maximised.

    Parameters
    ----------
    fn, fp : float, default=1.0
        Costs of a false negative and of a false positive, >= 0.

    Raises
    ------
    ValueError
        If a cost is negative or not finite.

    Examples
    --------
    >>> MeanCost(fn=5.0).value(fn=0.05, fp=0.15, pos=0.25)
    0.4
    """

    fn: float = 1.0
    fp: float = 1.0

    def __post_init__(self) -> None:
        for name in ("fn", "fp"):
            check_number(getattr(self, name), name)

    @property
    def name(self) -> str:
        """Name of the metric with its costs: ``"cost(5, 1)"``, …"""
        return f"cost({self.fn:g}, {self.fp:g})"

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of the mean cost, see `LinearFractional.coefficients`."""
        return Coefficients(0.0, self.fn, self.fp, 1.0, 0.0, 0.0)

    @property
    def largest_level(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride] (of these costs)
        """Largest cost of an error."""
        return max(self.fn, self.fp)

    @property
    def maximised(self) -> LinearFractional:
        """Minus the mean cost, as the cost is to be least; the cost itself where nothing costs anything."""
        if max(self.fn, self.fp) <= 0.0:
            return self
        return CustomMetric((0.0, -self.fn, -self.fp, 1.0, 0.0, 0.0), f"-{self.name}", (-max(self.fn, self.fp), 0.0))


@dataclass(frozen=True)
class OfNegatives(LinearFractional):
    """Metric with the negative class in place of the positive one.

    Parameters
    ----------
    quantity : LinearFractional
        The metric.

    Examples
    --------
    >>> OfNegatives(Recall()).value(fn=0.05, fp=0.15, pos=0.25), Specificity().value(fn=0.05, fp=0.15, pos=0.25)
    (0.8, 0.8)
    """

    quantity: LinearFractional

    @property
    def name(self) -> str:
        """Name of the metric: ``"recall of negatives"``, …"""
        return f"{self.quantity.name} of negatives"

    def coefficients(self, pos: float) -> Coefficients:
        """Return the six numbers of the metric, with both errors exchanged."""
        n0, n_fn, n_fp, d0, d_fn, d_fp = self.quantity.coefficients(1.0 - pos)
        return Coefficients(n0, n_fp, n_fn, d0, d_fp, d_fn)

    def terms(self) -> Terms | None:
        """List the terms of each cell, see `csf.metrics.Metric.terms`."""
        terms = self.quantity.terms()
        return None if terms is None else dict(zip(CELLS, (terms[cell] for cell in CELLS[::-1])))


@dataclass(frozen=True)
class MCC(Metric):
    r"""Matthews correlation coefficient (phi) of an error profile: 1 is perfect, 0 chance, less than 0 worse.

    Notes
    -----
    With the predicted share of positives :math:`q = P - e_{FN} + e_{FP}`

    .. math:: M(e) = \sqrt{\frac{P (1 - P)}{q (1 - q)}} \left(1 - \frac{e_{FN}}{P} - \frac{e_{FP}}{1 - P}\right)

    and 0, its limit, where one class is predicted everywhere. It falls with both errors everywhere, below chance too:
    turning all predictions turns the sign. Levels worth aiming at are [0, 1].

    It is not linear-fractional. Above chance the profiles *below* a value are a convex set (:math:`\sqrt{q (1 - q)}` is
    concave), so on a convex trade-off the best profile is a corner, and cheapest for the slopes of :math:`M` there.
    Up to a factor these are

    .. math:: a(t) = (2 - P - t, P + t), \qquad
              t = P + \frac{P (1 - P) (1 - 2 q)}{q (1 - q)} \left(1 - \frac{e_{FN}}{P} - \frac{e_{FP}}{1 - P}\right)

    with t in [0, 1] wherever :math:`M \ge 0`: no other costs can be needed.

    References
    ----------
    .. [1] B. Matthews, "Comparison of the predicted and observed secondary structure of T4 phage lysozyme",
       Biochimica et Biophysica Acta 405, 1975.

    Examples
    --------
    >>> MCC().value(fn=0.05, fp=0.15, pos=0.25)
    0.545
    >>> MCC().cost_weights(0.6, pos=0.25)
    (1.15, 0.85)
    """

    name: ClassVar[str] = "mcc"

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the coefficient, see `Metric.value`."""
        fn, fp, neg = np.asarray(fn, dtype=float), np.asarray(fp, dtype=float), 1.0 - pos
        # Differences of shares keep the digits that 1 - fn / pos would lose where nearly all of a class is missed.
        tp, tn = np.maximum(pos - fn, 0.0), np.maximum(neg - fp, 0.0)
        spread = np.sqrt(pos * neg) * np.sqrt(tp + fp) * np.sqrt(tn + fn)
        defined = np.minimum(tp + fp, tn + fn) > _ROUNDING
        result = np.where(defined, tp * tn - fn * fp, 0.0) / np.where(defined, spread, 1.0)
        return float_or_array(result)

    def cost_weights(self, t: float, *, pos: float) -> tuple[float, float]:
        """Compute the class costs a(t) of the notes; t is a place in the range, not a value. See `Metric.cost_weights`.

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
        return float(2.0 - pos - t), float(pos + t)


@dataclass(frozen=True)
class FowlkesMallows(Metric):
    r"""Geometric mean of precision and recall of an error profile, in [0, 1]; 0 without true positives.

    Notes
    -----
    .. math:: G(e) = \frac{P - e_{FN}}{\sqrt{P (P - e_{FN} + e_{FP})}}

    It is not linear-fractional. The profiles below a value are a convex set (the root in the denominator is concave),
    so on a convex trade-off the best profile is a corner, and cheapest for the slopes of :math:`G` there. Up to a
    factor these are :math:`a(t) = (2 - t, t)`, with t the **precision** of the best profile: the costs of F1, where t
    is its F1 score.

    The function of this name in `sklearn.metrics` compares clusterings, by pairs of samples; it is another number.

    References
    ----------
    .. [1] E. Fowlkes, C. Mallows, "A method for comparing two hierarchical clusterings", Journal of the American
       Statistical Association 78, 1983.

    Examples
    --------
    >>> FowlkesMallows().value(fn=0.05, fp=0.15, pos=0.25)
    0.676
    >>> FowlkesMallows().cost_weights(0.6, pos=0.25)
    (1.4, 0.6)
    """

    name: ClassVar[str] = "fowlkes_mallows"

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the index, see `Metric.value`."""
        fn, fp = np.asarray(fn, dtype=float), np.asarray(fp, dtype=float)
        hits = np.maximum(pos - fn, 0.0)
        defined = hits + fp > _ROUNDING
        result = np.where(defined, hits, 0.0) / np.where(defined, np.sqrt(pos) * np.sqrt(hits + fp), 1.0)
        return float_or_array(result)

    def cost_weights(self, t: float, *, pos: float) -> tuple[float, float]:
        """Compute the class costs that aim at precision t, see `Metric.cost_weights`.

        Parameters
        ----------
        t : float
            Level, inside `range`; a precision, not a value of the index.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        tuple of float
            ``(c_fn, c_fp)``.
        """
        return float(2.0 - t), float(t)
