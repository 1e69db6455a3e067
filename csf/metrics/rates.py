"""Rates of an error profile: what constraints speak of, and what can be maximised under a constraint."""

from __future__ import annotations

from dataclasses import dataclass

from csf.metrics.base import Coefficients, LinearFractional

__all__ = ["FalseNegativeRate", "FalsePositiveRate", "Precision", "PredictedPositiveRate", "Recall", "Specificity"]


@dataclass(frozen=True)
class Precision(LinearFractional):
    """Share of true positives among the predicted positives, in [0, 1]; 0 where nothing is predicted positive.

    Examples
    --------
    >>> Precision().value(fn=0.05, fp=0.15, pos=0.25)
    0.571
    """

    @property
    def name(self) -> str:
        """``"precision"``."""
        return "precision"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of precision, see `LinearFractional.coefficients`."""
        return Coefficients(pos, -1.0, 0.0, pos, -1.0, 1.0)


@dataclass(frozen=True)
class Recall(LinearFractional):
    """Share of the positives that are found (true positive rate), in [0, 1].

    Examples
    --------
    >>> Recall().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    """

    @property
    def name(self) -> str:
        """``"recall"``."""
        return "recall"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of recall, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, -1.0 / pos, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class Specificity(LinearFractional):
    """Share of the negatives that are left alone (true negative rate), in [0, 1].

    Examples
    --------
    >>> Specificity().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    """

    @property
    def name(self) -> str:
        """``"specificity"``."""
        return "specificity"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of specificity, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, 0.0, -1.0 / (1.0 - pos), 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class FalsePositiveRate(LinearFractional):
    """Share of the negatives predicted positive, in [0, 1]; for constraints, smaller is better.

    Examples
    --------
    >>> FalsePositiveRate().value(fn=0.05, fp=0.15, pos=0.25)
    0.2
    """

    @property
    def name(self) -> str:
        """``"fpr"``."""
        return "fpr"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of the rate, see `LinearFractional.coefficients`."""
        return Coefficients(0.0, 0.0, 1.0 / (1.0 - pos), 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class FalseNegativeRate(LinearFractional):
    """Share of the positives predicted negative, in [0, 1]; for constraints, smaller is better.

    Examples
    --------
    >>> FalseNegativeRate().value(fn=0.05, fp=0.15, pos=0.25)
    0.2
    """

    @property
    def name(self) -> str:
        """``"fnr"``."""
        return "fnr"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of the rate, see `LinearFractional.coefficients`."""
        return Coefficients(0.0, 1.0 / pos, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class PredictedPositiveRate(LinearFractional):
    """Share of all samples predicted positive, in [0, 1]; for constraints such as a limited budget of alarms.

    Examples
    --------
    >>> PredictedPositiveRate().value(fn=0.05, fp=0.15, pos=0.25)
    0.35
    """

    @property
    def name(self) -> str:
        """``"predicted_positive_rate"``."""
        return "predicted_positive_rate"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of the rate, see `LinearFractional.coefficients`."""
        return Coefficients(pos, -1.0, 1.0, 1.0, 0.0, 0.0)
