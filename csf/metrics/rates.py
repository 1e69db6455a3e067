"""Rates of an error profile: what constraints are about, and what can be maximised under a constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from csf._common.typing import BoolArray, Values
from csf.metrics.base import Coefficients, LinearFractional

__all__ = [
    "FalseNegativeRate",
    "FalsePositiveRate",
    "Precision",
    "PredictedPositiveRate",
    "Rate",
    "Recall",
    "Specificity",
]


class Rate(LinearFractional):
    """A share of ones among the samples that it counts; both are cells of the confusion matrix.

    Subclass it and name the cells to constrain a rate of your own, also with a confidence: what is a share of ones
    has an exact binomial test, which other metrics do not have.

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
        """The six numbers of the rate, see `LinearFractional.coefficients`."""
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

    def shares(self, fn: Values, fp: Values, *, pos: float) -> tuple[Values, Values]:
        """Ones and zeros of error profiles.

        Parameters
        ----------
        fn, fp : float or ndarray
            Shares of all samples.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        tuple of float or ndarray
            Both as shares of all samples.
        """
        cells = {"tp": pos - fn, "fn": fn, "fp": fp, "tn": 1.0 - pos - fp}
        return sum(cells[name] for name in self.ones), sum(cells[name] for name in self.zeros)

    def masks(self, is_pos: BoolArray, found: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Ones and zeros among samples.

        Parameters
        ----------
        is_pos, found : ndarray of bool, shape (n_samples,)
            Truth and prediction.

        Returns
        -------
        tuple of ndarray of bool, shape (n_samples,)
            Samples that are counted, as either of the two.
        """
        cells = {"tp": is_pos & found, "fn": is_pos & ~found, "fp": ~is_pos & found, "tn": ~is_pos & ~found}
        either = np.logical_or.reduce
        return either([cells[name] for name in self.ones]), either([cells[name] for name in self.zeros])


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
    """Share of the positives that are found (true positive rate), in [0, 1].

    Examples
    --------
    >>> Recall().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    """

    name: ClassVar[str] = "recall"
    ones, zeros = ("tp",), ("fn",)


@dataclass(frozen=True)
class Specificity(Rate):
    """Share of the negatives that are left alone (true negative rate), in [0, 1].

    Examples
    --------
    >>> Specificity().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    """

    name: ClassVar[str] = "specificity"
    ones, zeros = ("tn",), ("fp",)


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
    """Share of all samples predicted positive, in [0, 1]; for constraints such as a limit on what can be checked.

    Examples
    --------
    >>> PredictedPositiveRate().value(fn=0.05, fp=0.15, pos=0.25)
    0.35
    """

    name: ClassVar[str] = "predicted_positive_rate"
    ones, zeros = ("tp", "fp"), ("fn", "tn")
