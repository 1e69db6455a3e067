"""Rates of an error profile, constraints on them, and metrics that are maximised under one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import ClassVar

import numpy as np

from csf._common.messages import did_you_mean
from csf._common.typing import Values
from csf._common.validation import check_choice, check_number
from csf.metrics.base import Coefficients, LinearFractional, Metric, float_or_array
from csf.metrics.binary import FBeta, Jaccard, WeightedAccuracy, f_beta_of


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


@dataclass(frozen=True)
class MeanCost(LinearFractional):
    """Mean cost of a sample, for constraints; smaller is better.

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
    >>> str(Constraint(MeanCost(fn=5.0), "<=", 1.5))
    'cost(5, 1) <= 1.5'
    """

    fn: float = 1.0
    fp: float = 1.0

    def __post_init__(self) -> None:
        for name in ("fn", "fp"):
            check_number(getattr(self, name), name)

    @property
    def name(self) -> str:
        """``"cost(5, 1)"``, …"""
        return f"cost({self.fn:g}, {self.fp:g})"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of the mean cost, see `LinearFractional.coefficients`."""
        return Coefficients(0.0, self.fn, self.fp, 1.0, 0.0, 0.0)


# name -> quantity and the only side on which a constraint makes sense (None: both)
QUANTITIES: dict[str, tuple[Callable[[], LinearFractional], str | None]] = {
    "precision": (Precision, ">="),
    "recall": (Recall, ">="),
    "tpr": (Recall, ">="),
    "specificity": (Specificity, ">="),
    "tnr": (Specificity, ">="),
    "fpr": (FalsePositiveRate, "<="),
    "fnr": (FalseNegativeRate, "<="),
    "predicted_positive_rate": (PredictedPositiveRate, None),
    "f1": (FBeta, ">="),
    "jaccard": (Jaccard, ">="),
    "accuracy": (WeightedAccuracy, ">="),
}

_PATTERN = re.compile(r"\s*([^<>=≤≥]*?)\s*([<>=≤≥]+)\s*([^<>=≤≥]*?)\s*")
_SIDES = {">=": ">=", "<=": "<=", "≥": ">=", "≤": "<="}
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Constraint:
    """A demand on one rate of the error profile.

    Parameters
    ----------
    quantity : LinearFractional
        The rate.
    side : {">=", "<="}
        Whether the rate must be at least or at most the level.
    level : float
        The level, in [0, 1]; of a mean cost up to the largest cost.
    others : tuple of Constraint, default=()
        Demands on other rates that have to hold besides.

    Examples
    --------
    >>> constraint = get_constraint("precision >= 0.8")
    >>> constraint.violation(0.05, 0.15, pos=0.25)
    0.229
    >>> str(get_constraint("precision >= 0.8, fpr <= 0.1"))
    'precision >= 0.8, fpr <= 0.1'
    """

    quantity: LinearFractional
    side: str
    level: float
    others: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.quantity, LinearFractional):
            raise TypeError(f"quantity must be a rate such as csf.metrics.Precision(), got {self.quantity!r}")
        check_choice(self.side, "side", (">=", "<="))
        if isinstance(self.level, bool) or not isinstance(self.level, Real):
            raise TypeError(f"level must be a number in [0, 1], got {self.level!r}")
        highest = max(self.quantity.fn, self.quantity.fp) if isinstance(self.quantity, MeanCost) else 1.0
        if not 0.0 <= self.level <= highest:
            raise ValueError(f"level must be a number in [0, {highest:g}], got {self.level!r}")
        if not all(isinstance(other, Constraint) for other in self.others):
            raise TypeError(f"others must be csf.metrics.Constraint objects, got {self.others!r}")

    def __str__(self) -> str:
        return ", ".join(f"{one.quantity.name} {one.side} {one.level:g}" for one in self.parts)

    @property
    def parts(self) -> tuple[Constraint, ...]:
        """Each demand by itself, this one first."""
        return (replace(self, others=()), *(part for other in self.others for part in other.parts))

    def violation(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """By how much error profiles miss the demand.

        Parameters
        ----------
        fn, fp : float or ndarray
            Shares of all samples.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        float or ndarray
            0 where it holds, else the missing amount, in units of the rate; of several demands the largest one.
        """
        return float_or_array(np.maximum.reduce([part._missing(fn, fp, pos) for part in self.parts]))

    def _missing(self, fn: Values, fp: Values, pos: float) -> Values:
        rate = self.quantity.value(fn, fp, pos=pos)
        missing = np.maximum(self.level - rate if self.side == ">=" else rate - self.level, 0.0)
        return np.where(missing <= _ROUNDING, 0.0, missing)

    def half_plane(self, *, pos: float) -> tuple[tuple[float, float], float]:
        """The demand, without ``others``, as ``normal·(fn, fp) <= rhs``.

        Parameters
        ----------
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        normal : tuple of float
            Weights of fn and fp.
        rhs : float
            Right-hand side.
        """
        sign = 1.0 if self.side == ">=" else -1.0
        a_fn, a_fp = LinearFractional.cost_weights(self.quantity, self.level, pos=pos)
        return (sign * a_fn, sign * a_fp), -sign * self.quantity.offset(self.level, pos=pos) + _ROUNDING


def get_constraint(constraint: str | tuple[str, str, float] | Constraint | None) -> Constraint | None:
    """Constraint of a text, or the object itself.

    Parameters
    ----------
    constraint : str, tuple, Constraint or None
        ``"<rate> >= <level>"`` or ``"<rate> <= <level>"``, also with ``≥`` or ``≤`` and with a level such as
        ``"80%"``, or several of these, divided by commas; or the three parts as ``("precision", ">=", 0.8)``. Rates
        include ``f1``, ``f<beta>`` and ``jaccard``.

    Returns
    -------
    Constraint or None
        The constraint; ``None`` stays ``None``.

    Raises
    ------
    ValueError
        If the text cannot be read, the rate is unknown, the side is strict or makes no sense, or the level is outside
        [0, 1].
    TypeError
        If it is something else.

    Examples
    --------
    >>> str(get_constraint("fpr<=0.01")), str(get_constraint("precision ≥ 80%"))
    ('fpr <= 0.01', 'precision >= 0.8')
    """
    if constraint is None or isinstance(constraint, Constraint):
        return constraint
    text = " ".join(map(str, constraint)) if isinstance(constraint, tuple) and len(constraint) == 3 else constraint
    if not isinstance(text, str):
        raise TypeError(f"constraint must be a text such as 'precision >= 0.8' or a Constraint, got {constraint!r}")
    if "," in text:
        first, *others = (_one_constraint(part) for part in text.split(","))
        return replace(first, others=tuple(others))
    return _one_constraint(text)


def _one_constraint(text: str) -> Constraint:
    match = _PATTERN.fullmatch(text)
    score = None if match is None else f_beta_of(match[1])
    if match is None or (match[1] not in QUANTITIES and score is None):
        known = ", ".join(f"{name} {side or '<= or >='}" for name, (_, side) in QUANTITIES.items())
        hint = "" if match is None else did_you_mean(match[1], QUANTITIES)
        raise ValueError(
            f"cannot read constraint {text!r}; accepted: '<rate> <side> <level>' with {known}, f<beta> >={hint}"
        )
    quantity, only = QUANTITIES[match[1]] if score is None else (lambda: score, ">=")
    side = _read_side(text, match[2], only)
    if only is not None and side != only:
        raise ValueError(f"constraint {text!r}: {match[1]} can only be asked to be {only} a level")
    return Constraint(quantity(), side, _read_level(text, match[3]))


def _read_side(text: str, side: str, only: str | None) -> str:
    if side not in _SIDES:
        offer = only or {">": ">=", "<": "<="}.get(side, ">= or <=")
        raise ValueError(
            f"constraint {text!r}: the side must be >= or <=, got {side!r}; write {offer}, which "
            "takes the level itself in"
        )
    return _SIDES[side]


def _read_level(text: str, number: str) -> float:
    try:
        level = float(number.removesuffix("%"))
    except ValueError:
        raise ValueError(f"constraint {text!r} needs a number in [0, 1], got {number!r}") from None
    level = level / 100.0 if number.endswith("%") else level
    if not 0.0 <= level <= 1.0:
        hint = f". Did you mean {number}%?" if 1.0 < level <= 100.0 and not number.endswith("%") else ""
        raise ValueError(f"constraint {text!r} needs a level in [0, 1], got {level!r}{hint}")
    return level


@dataclass(frozen=True)
class Constrained(Metric):
    """A metric that is to be maximised under a constraint.

    The best profile under a constraint lies anywhere on the trade-off between the two errors, so the costs are the
    generic ones of `Metric`, which sweep all of it.

    Parameters
    ----------
    metric : Metric
        What is maximised.
    constraint : Constraint
        What must hold.

    Examples
    --------
    >>> recall = Constrained(Recall(), get_constraint("precision >= 0.8"))
    >>> recall.value(fn=0.05, fp=0.15, pos=0.25), recall.name
    (0.8, 'recall, precision >= 0.8')
    """

    metric: Metric
    constraint: Constraint = field()  # required, although the base class has None

    def __post_init__(self) -> None:
        for name, kind in (("metric", Metric), ("constraint", Constraint)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be a csf.metrics.{kind.__name__} object, got {getattr(self, name)!r}")

    @property
    def name(self) -> str:
        """Name of the metric and the constraint."""
        return f"{self.metric.name}, {self.constraint}"

    def range(self, pos: float) -> tuple[float, float]:
        """Range of the metric, see `Metric.range`."""
        return self.metric.range(pos)

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Value of the metric, whether the constraint holds or not; see `Metric.value`."""
        return self.metric.value(fn, fp, pos=pos)
