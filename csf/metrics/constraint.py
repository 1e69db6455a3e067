"""Constraints such as ``precision >= 0.8``, and metrics that are maximised under one."""

import re
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from csf._validation import check_choice
from csf.metrics.base import LinearFractional, Metric
from csf.metrics.rates import (
    FalseNegativeRate,
    FalsePositiveRate,
    Precision,
    PredictedPositiveRate,
    Recall,
    Specificity,
)

__all__ = ["Constrained", "Constraint", "get_constraint"]

# name -> quantity and the only side on which a constraint makes sense (None: both)
QUANTITIES = {
    "precision": (Precision, ">="),
    "recall": (Recall, ">="),
    "tpr": (Recall, ">="),
    "specificity": (Specificity, ">="),
    "tnr": (Specificity, ">="),
    "fpr": (FalsePositiveRate, "<="),
    "fnr": (FalseNegativeRate, "<="),
    "predicted_positive_rate": (PredictedPositiveRate, None),
}

_PATTERN = re.compile(r"\s*([a-z_]+)\s*(>=|<=)\s*([0-9.eE+-]+)\s*")
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
        The level, in [0, 1].

    Examples
    --------
    >>> constraint = get_constraint("precision >= 0.8")
    >>> constraint.violation(0.05, 0.15, pos=0.25)
    0.229
    """

    quantity: LinearFractional
    side: str
    level: float

    def __post_init__(self):
        if not isinstance(self.quantity, LinearFractional):
            raise TypeError(f"quantity must be a rate such as csf.metrics.Precision(), got {self.quantity!r}")
        check_choice(self.side, "side", (">=", "<="))
        if isinstance(self.level, bool) or not isinstance(self.level, Real):
            raise TypeError(f"level must be a number in [0, 1], got {self.level!r}")
        if not 0.0 <= self.level <= 1.0:
            raise ValueError(f"level must be a number in [0, 1], got {self.level!r}")

    def __str__(self):
        return f"{self.quantity.name} {self.side} {self.level:g}"

    def violation(self, fn, fp, *, pos):
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
            0 where it holds, else the missing amount, in units of the rate.
        """
        rate = self.quantity.value(fn, fp, pos=pos)
        missing = np.maximum(self.level - rate if self.side == ">=" else rate - self.level, 0.0)
        missing = np.where(missing <= _ROUNDING, 0.0, missing)
        return missing if missing.ndim else float(missing)

    def half_plane(self, *, pos):
        """The demand as ``normal·(fn, fp) <= rhs``.

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


def get_constraint(constraint):
    """Constraint of a text, or the object itself.

    Parameters
    ----------
    constraint : str, Constraint or None
        ``"<rate> >= <level>"`` or ``"<rate> <= <level>"``.

    Returns
    -------
    Constraint or None
        The constraint; ``None`` stays ``None``.

    Raises
    ------
    ValueError
        If the text cannot be read, the rate is unknown, the side makes no sense or the level is outside [0, 1].
    TypeError
        If it is something else.

    Examples
    --------
    >>> str(get_constraint("fpr<=0.01"))
    'fpr <= 0.01'
    """
    if constraint is None or isinstance(constraint, Constraint):
        return constraint
    if not isinstance(constraint, str):
        raise TypeError(f"constraint must be a text such as 'precision >= 0.8' or a Constraint, got {constraint!r}")
    known = ", ".join(f"{name} {side or '<= or >='}" for name, (_, side) in QUANTITIES.items())
    match = _PATTERN.fullmatch(constraint)
    if match is None or match[1] not in QUANTITIES:
        raise ValueError(f"cannot read constraint {constraint!r}; accepted: '<rate> <side> <level>' with {known}")
    quantity, side = QUANTITIES[match[1]]
    try:
        level = float(match[3])
    except ValueError:
        raise ValueError(f"constraint {constraint!r} needs a number in [0, 1], got {match[3]!r}") from None
    if side is not None and match[2] != side:
        raise ValueError(f"constraint {constraint!r}: {match[1]} can only be asked to be {side} a level")
    if not 0.0 <= level <= 1.0:
        raise ValueError(f"constraint {constraint!r} needs a level in [0, 1], got {level!r}")
    return Constraint(quantity(), match[2], level)


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

    def __post_init__(self):
        for name, kind in (("metric", Metric), ("constraint", Constraint)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be a csf.metrics.{kind.__name__} object, got {getattr(self, name)!r}")

    @property
    def name(self):
        """Name of the metric and the constraint."""
        return f"{self.metric.name}, {self.constraint}"

    def range(self, pos):
        """Range of the metric, see `Metric.range`."""
        return self.metric.range(pos)

    def value(self, fn, fp, *, pos):
        """Value of the metric, whether the constraint holds or not; see `Metric.value`."""
        return self.metric.value(fn, fp, pos=pos)
