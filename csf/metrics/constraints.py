"""Constraints on rates, metrics that are shares of samples with exact intervals, and limits on wrong answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import beta

from csf._common.messages import did_you_mean
from csf._common.typing import Array, Label, Values
from csf._common.validation import check_choice, check_fraction, check_number, place_of
from csf.metrics.base import CELLS, SAME_AMOUNT, LinearFractional, Measure, Metric, Terms, float_or_array
from csf.metrics.comparisons import COMPARISONS, PairLimit, SegmentComparison
from csf.metrics.confusion import CostMatrix
from csf.metrics.named import MEANT, MEASURES, RATES, measure_named

if TYPE_CHECKING:
    from csf.metrics.incomplete import TrueMetric


# A text in quotes, where both the quote and the backslash are written with a backslash before them.
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
# One demand and the comma after it. Whatever is between brackets is the name of a class, up to the first bracket that
# a side follows.
_DEMAND = re.compile(
    rf"""\s* (?P<rate>[^\s<>=≤≥\[\],]+) (?:\s+(?P<word>gap|ratio))?
    (?: \s* \[ \s* (?P<of>{_QUOTED}|.*?) \s* \] (?:\s*(?P<last>gap|ratio))? )?
    \s* (?P<side>[<>=≤≥]+) \s* (?P<level>[^\s<>=≤≥,]* (?:\s*%)?)
    (?: \s+ (?P<link>by|in\s+each) \s+ (?P<by>{_QUOTED}|(?:\[[^\]]*\]|[^,])+?) )?
    \s* (?P<end>,|\Z)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_SIDES = {">=": ">=", "<=": "<=", "≥": ">=", "≤": "<="}
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Constraint:
    """Requirement on one rate of the error profile, or of one class of several.

    Parameters
    ----------
    quantity : LinearFractional or CostMatrix
        The rate; or the mean cost by a matrix of several classes.
    side : {">=", "<="}
        Whether the rate must be at least or at most the level.
    level : float
        The level, in [0, 1]; of a mean cost up to the largest cost.
    others : tuple of Constraint, default=()
        Demands on other rates that have to hold besides.
    of : label, default=None
        Class, or label of several per sample, that counts as positive: a label or its text. ``None`` is the positive
        class of two; of several labels a sample each of them.
    by : str, default=None
        Column whose values divide the rows into segments: the rate must keep the level in each of them.
    compare : {"each", "gap", "ratio"}, default="each"
        What the level is for, by segments: the rate of each one, the largest difference of the rates of two segments,
        or the smallest ratio of two, which is the smallest rate over the largest one.

    Examples
    --------
    >>> constraint = get_constraint("precision >= 0.8")
    >>> constraint.violation(0.05, 0.15, pos=0.25)
    0.229
    >>> str(get_constraint("precision >= 0.8, fpr <= 0.1"))
    'precision >= 0.8, fpr <= 0.1'
    >>> from csf.metrics import Precision, Recall
    >>> str(Constraint(Recall(), ">=", 0.9, of="urgent"))
    'recall[urgent] >= 0.9'
    >>> str(Constraint(Recall(), "<=", 0.05, by="sex", compare="gap"))
    'recall gap <= 0.05 by sex'
    >>> str(Constraint(Precision(), ">=", 0.8, of="a, b]", by="age, sex"))
    'precision["a, b]"] >= 0.8 in each "age, sex"'
    """

    quantity: LinearFractional | CostMatrix
    side: str
    level: float
    others: tuple[Constraint, ...] = ()
    of: Label = None
    by: str | None = None
    compare: str = "each"

    def __post_init__(self) -> None:
        if getattr(self.quantity, "largest_level", None) is None:
            raise TypeError(f"quantity must be a rate such as csf.metrics.Precision(), got {self.quantity!r}")
        check_choice(self.side, "side", (">=", "<="))
        comparison, name = COMPARISONS[check_choice(self.compare, "compare", COMPARISONS)], self.quantity.name
        if isinstance(self.level, bool) or not isinstance(self.level, Real):
            raise TypeError(f"level must be a number in [0, 1], got {self.level!r}")
        if not 0.0 <= self.level <= (highest := self._highest):
            raise ValueError(f"level must be a number in [0, {highest:g}], got {self.level!r}")
        if not all(isinstance(other, Constraint) for other in self.others):
            raise TypeError(f"others must be csf.metrics.Constraint objects, got {self.others!r}")
        if comparison.side not in (None, self.side) or (self.by is None and comparison.word):
            raise ValueError(
                f"a {comparison.word} is {comparison.side} a level, and between segments: write {name} "
                f"{comparison.word} {comparison.side} {self.level:g} by COLUMN, got side={self.side!r}, by={self.by!r}"
            )
        if (
            self.compare == "ratio"
            and (rate := self.quantity.as_ratio) is not None
            and rate.value(0.5, 0.5, pos=0.5) < 0.0
        ):
            raise ValueError(f"a ratio of {name} has no meaning, as it can be negative; constrain its gap by segments")

    @property
    def _highest(self) -> float:
        """Largest level that has a meaning."""
        return 1.0 if self.compare == "ratio" else self.quantity.largest_level

    @property
    def name(self) -> str:
        """Name with class or segments: ``"recall"``, ``"recall[urgent]"``, ``"recall gap by sex"``."""
        return f"{self._rate_name}{self._segments}"

    @property
    def _rate_name(self) -> str:
        of = "" if self.of is None else f"[{_written(str(self.of), ']')}]"
        return " ".join(filter(None, [f"{self.quantity.name}{of}", self.comparison.word]))

    @property
    def _segments(self) -> str:
        return "" if self.by is None else f" {self.comparison.link} {_written(str(self.by), ',[]')}"

    def __str__(self) -> str:
        return ", ".join(f"{one._rate_name} {one.side} {one.level:g}{one._segments}" for one in self.parts)

    @property
    def comparison(self) -> SegmentComparison:
        """How rates of segments are compared with the level."""
        return COMPARISONS[self.compare]

    @property
    def pair_limit(self) -> PairLimit | None:
        """Limit on the rates of each two segments; ``None`` where each keeps the level by itself."""
        return self.comparison.limit(self.level)

    @property
    def segment_column(self) -> str | None:
        """Column of the segments of the first part that is by segments; ``None`` where all parts are on all rows."""
        return next((part.by for part in self.parts if part.by is not None), None)

    def require_all_rows(self) -> None:
        """Raise a ValueError for a constraint by segments, where only those on all rows have a meaning."""
        if self.segment_column is not None:
            raise ValueError(
                f"constraint {self} is by segments, which csf.CostSearch and csf.tune_threshold keep for two classes "
                "with one metric of complete labels or costs of rows, in memory. Elsewhere give a constraint on all "
                "rows; out-of-fold scores of any model have thresholds by segment with csf.tune_threshold(y, score, "
                "by=...)"
            )

    @property
    def on_all_rows(self) -> Constraint | None:
        """The constraint with all rows in place of each segment, without limits on pairs; ``None`` without others."""
        parts = [replace(part, by=None) for part in self.parts if part.pair_limit is None]
        return all_of(parts) if parts else None

    @property
    def parts(self) -> tuple[Constraint, ...]:
        """All requirements one by one, this one first."""
        return (replace(self, others=()), *(part for other in self.others for part in other.parts))

    @property
    def named_parts(self) -> dict[str, Constraint]:
        """All requirements by the name of what is constrained; with the side where the same is, from both sides."""
        return named(self.parts)

    def tightened(self, share: float) -> Constraint:
        """Move all levels towards the strictest ones of a rate.

        Parameters
        ----------
        share : float
            Share of the way, in [0, 1].

        Returns
        -------
        Constraint
            The stricter constraint.
        """
        level = self.level + share * (1.0 - self.level) if self.side == ">=" else self.level * (1.0 - share)
        return replace(self, level=level, others=tuple(other.tightened(share) for other in self.others))

    def place_in(self, names: Sequence[Label]) -> int | None:
        """Return the place of the class, or label, that it is on; ``None`` where it names none.

        Parameters
        ----------
        names : sequence of label
            Classes or labels that there are.

        Returns
        -------
        int or None
            The place.

        Raises
        ------
        ValueError
            If there is no such name.
        """
        return None if self.of is None else place_of(self.of, names, f"constraint {self}")

    def violation(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute by how much error profiles violate the constraint.

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
        return self.missing(self.rate.value(fn, fp, pos=pos))

    def missing(self, rate: Values) -> Values:
        """Compute by how much a value of the rate misses the level, without ``others``; 0 where it keeps it.

        Parameters
        ----------
        rate : float or ndarray
            Values of the rate.

        Returns
        -------
        float or ndarray
            What is missing.
        """
        missing = np.maximum(self.level - rate if self.side == ">=" else rate - self.level, 0.0)
        return np.where(missing <= _ROUNDING, 0.0, missing)

    @property
    def rate(self) -> LinearFractional:
        """The quantity, as one of error profiles of two classes; on all rows."""
        self.require_all_rows()
        return self.ratio

    @property
    def ratio(self) -> LinearFractional:
        """The quantity, as one of error profiles of two classes; of each segment where it is by segments."""
        if (rate := self.quantity.as_ratio) is None:
            raise ValueError(
                f"constraint {self}: a cost matrix is one of several classes; of two give MeanCost(fn=..., fp=...)"
            )
        return rate

    def half_plane(self, *, pos: float) -> tuple[tuple[float, float], float]:
        """Return the constraint, without ``others``, as ``normal·(fn, fp) <= rhs``.

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
        a_fn, a_fp = LinearFractional.cost_weights(self.rate, self.level, pos=pos)
        return (sign * a_fn, sign * a_fp), -sign * self.rate.offset(self.level, pos=pos) + _ROUNDING


def all_of(parts: Sequence[Constraint]) -> Constraint:
    """Join requirements into one constraint: the first one, and the others besides."""
    return replace(parts[0], others=tuple(parts[1:]))


def get_constraint(constraint: str | tuple[str, str, float] | Constraint | None) -> Constraint | None:
    """Parse a constraint given as text, or return the object itself.

    Parameters
    ----------
    constraint : str, tuple, Constraint or None
        ``"<rate> >= <level>"`` or ``"<rate> <= <level>"``, also with ``≥`` or ``≤`` and with a level such as
        ``"80%"``, or several of these, divided by commas; or the three parts as ``("precision", ">=", 0.8)``. Rates
        include ``f1``, ``f<beta>`` and ``jaccard``; one of several classes is in brackets, ``"recall[urgent] >= 0.9"``.
        By segments, the values of a column: ``"recall gap <= 0.05 by sex"``, ``"selection_rate ratio >= 0.8 by sex"``,
        ``"precision >= 0.8 in each country"``. Quotes hold any name: ``'recall["a, b"] >= 0.9'``.

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
    return all_of([_one_constraint(text, match) for match in read_demands(text)])


def read_demands(text: str) -> list[re.Match[str]]:
    """Split a text into its demands, whose groups are ``rate``, ``side``, ``level`` and those of classes and segments.

    Raise a ValueError where it cannot be read.
    """
    demands, position = [], 0
    while position < len(text) or not demands:
        match = _DEMAND.match(text, position)
        # Nothing follows a comma at the end.
        if match is None or (match["end"] and match.end() == len(text)):
            raise _unreadable(text, text[position:])
        demands.append(match)
        position = match.end()
    return demands


def _one_constraint(text: str, match: re.Match[str]) -> Constraint:
    """Build the constraint of one demand in a text."""
    name, compare = match["rate"], (match["word"] or match["last"] or "each").lower()
    measure, comparison = measure_named(name), COMPARISONS[compare]
    if (quantity := measure.limited()) is None:
        raise _unreadable(text, name)
    sides = measure.sides if comparison.side is None else (comparison.side,)
    side, by_pairs = _read_side(text, match["side"], sides), bool(comparison.word)
    # Levels by segments are levels in each; a largest one "by" could be meant for the gap too.
    is_by = (match["link"] or "").lower() == "by"
    if by_pairs != is_by and not (is_by and side == ">="):
        raise ValueError(
            f"constraint {text!r}: a gap or a ratio is by segments. Write '{name} gap <= <level> by <column>', "
            f"'{name} ratio >= <level> by <column>', or '{name} <side> <level> in each <column>' for a level that each "
            "segment keeps"
        )
    if side not in sides:
        what = f"{name} {comparison.word}".strip()
        raise ValueError(f"constraint {text!r}: {what} can only be asked to be {' or '.join(sides)} a level")
    of, by = _unquoted(match["of"]), _unquoted(match["by"])
    return Constraint(quantity, side, read_level(text, match["level"]), of=of, by=by, compare=compare)


def _unreadable(text: str, part: str) -> ValueError:
    known = ", ".join(f"{name} {' or '.join(MEASURES[name].sides)}" for name in RATES)
    hint = did_you_mean(re.split(r"[\s\[<>=≤≥]", part.strip())[0], RATES, MEANT)
    return ValueError(
        f"cannot read constraint {text!r}; accepted: '<rate> <side> <level>' with {known}, f<beta> >=, by segments "
        "'<rate> gap <= <level> by <column>', '<rate> ratio >= <level> by <column>' and '<rate> <side> <level> in each "
        f"<column>', and any name in quotes, 'recall[\"a, b\"] >= 0.9'{hint}"
    )


def _written(name: str, barred: str) -> str:
    """Write a name as it can be read again: in quotes where it begins with one or holds a barred character."""
    is_plain = name and name == name.strip() and name[0] not in "\"'" and not set(name) & set(barred)
    return name if is_plain else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unquoted(name: str | None) -> str | None:
    """Take the quotes off a name that has them."""
    if name is None or re.fullmatch(_QUOTED, name, re.DOTALL) is None:
        return name
    return re.sub(r"""\\(["'\\])""", r"\1", name[1:-1])


def _read_side(text: str, side: str, sides: tuple[str, ...]) -> str:
    if side not in _SIDES:
        offer = f"{side}=" if f"{side}=" in sides else " or ".join(sides)
        raise ValueError(
            f"constraint {text!r}: the side must be >= or <=, got {side!r}; write {offer}, which "
            "takes the level itself in"
        )
    return _SIDES[side]


def read_level(text: str, number: str) -> float:
    """Read the level of a demand, a number in [0, 1] or per cent; ``text`` is what a message quotes."""
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
    """Metric that is maximised under a constraint.

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
    >>> from csf.metrics import Recall
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
        self.constraint.require_all_rows()

    @property
    def name(self) -> str:
        """Name of the metric and the constraint."""
        return f"{self.metric.name}, {self.constraint}"

    @property
    def unit(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride] (that of the metric)
        """Size of a difference that matters."""
        return self.metric.unit

    @property
    def truth(self) -> TrueMetric | None:  # pyright: ignore[reportIncompatibleVariableOverride] (that of the metric)
        """That of the metric, see `Metric.truth`."""
        return self.metric.truth

    @property
    def unconstrained(self) -> Metric:
        """The metric that is maximised."""
        return self.metric

    @property
    def extremes(self) -> tuple[Metric, ...]:
        """Metrics between which the metric is, see `Metric.extremes`."""
        return self.metric.extremes

    def range(self, pos: float) -> tuple[float, float]:
        """Return the range of the metric, see `Metric.range`."""
        return self.metric.range(pos)

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the metric, whether the constraint holds or not; see `Metric.value`."""
        return self.metric.value(fn, fp, pos=pos)

    def terms(self) -> Terms | None:
        """List the terms of each cell of the metric, see `Metric.terms`."""
        return self.metric.terms()


def named(parts: Sequence[Constraint]) -> dict[str, Constraint]:
    """Name requirements, see `Constraint.named_parts`."""
    names = [part.name for part in parts]
    return {f"{part.name} {part.side}" if names.count(part.name) > 1 else part.name: part for part in parts}


# ---------------------------------------------------------------- metrics that are shares of samples


# A metric is a share where the samples that it counts add only two different amounts to it. F1 is one: with
# ``J = TP / (TP + FP + FN)`` it is ``2 J / (1 + J)``, so that ``F1 >= f`` exactly where ``J >= f / (2 - f)``. Among the
# samples that are positive or predicted positive, the number of true positives is binomial.


@dataclass(frozen=True)
class Share:
    """Metric as a share of ones among the samples that it counts: its value increases with that share.

    Attributes
    ----------
    ones, zeros : tuple of {"tp", "fn", "fp", "tn"}
        Cells of the confusion matrix that are counted as ones, and as zeros; samples of the others are not counted.
        Of several classes, ``"tp"`` are the samples that are right, and ``"fn"`` the others.
    top, bottom : tuple of float
        What a one and a zero add to the numerator of the metric, and to its denominator.

    Examples
    --------
    >>> from csf.metrics import get_metric
    >>> f1 = share_of(get_metric("f1"))
    >>> f1.counts(tp=18, fn=2, fp=4, tn=900)
    (18, 24)
    >>> f1.value(18 / 24), f1.share(0.5), f1.interval(18, 24)
    (0.857, 0.333, (0.740, 0.930))
    """

    ones: tuple[str, ...]
    zeros: tuple[str, ...]
    top: tuple[float, float] = (1.0, 0.0)
    bottom: tuple[float, float] = (1.0, 1.0)

    def counts(self, *, tp: Values, fn: Values, fp: Values, tn: Values) -> tuple[Values, Values]:
        """Count the ones and the counted samples, from numbers (or arrays of numbers) of the cells."""
        cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
        ones = sum(cells[name] for name in self.ones)
        return ones, ones + sum(cells[name] for name in self.zeros)

    def value(self, share: Values) -> Values:
        """Compute the metric at a share of ones."""
        (n1, n0), (d1, d0), share = self.top, self.bottom, np.asarray(share, dtype=float)
        return float_or_array((n1 * share + n0 * (1.0 - share)) / (d1 * share + d0 * (1.0 - share)))

    def share(self, value: Values) -> Values:
        """Compute the share of ones at which the metric has a value; 0 or 1 for values outside its range."""
        (n1, n0), (d1, d0), value = self.top, self.bottom, np.asarray(value, dtype=float)
        gain, loss = n1 - value * d1, value * d0 - n0  # of a one above the value, and of a zero below it
        # Where one of them is negative, the value is out of reach: all samples are above it, or below.
        gain, loss = np.maximum(gain, 0.0), np.maximum(loss, 0.0)
        return float_or_array(loss / (gain + loss))

    def interval(self, ones: int, trials: int, confidence: float = 0.9, *, exact: bool = False) -> tuple[float, float]:
        """Compute the interval of the metric for a number of ones among the counted samples.

        Parameters
        ----------
        ones, trials : int
            See `counts`; the samples are independent of each other and of the classifier.
        confidence : float, default=0.9
            How often the interval holds the true value.
        exact : bool, default=False
            Whether it holds it at least so often, whatever the share is (Clopper and Pearson). Otherwise it does so on
            average (Jeffreys), and is narrower [1]_; where all are ones, or none is, its end is nearly the exact one,
            as Jeffreys' interval misses small shares too often there.

        Returns
        -------
        tuple of float
            Both ends; all values of the metric where nothing is counted.

        References
        ----------
        .. [1] L. Brown, T. Cai, A. DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16,
           2001.
        """
        tail, half = 0.5 * (1.0 - check_fraction(confidence, "confidence")), 0.0 if exact else 0.5
        zeros = trials - ones
        low = beta.ppf(tail, ones + half, zeros + (1.0 - half if zeros else 1.0)) if ones else 0.0
        high = beta.ppf(1.0 - tail, ones + (1.0 - half if ones else 1.0), zeros + half) if zeros else 1.0
        return float(self.value(low)), float(self.value(high))


def share_of(metric: Measure) -> Share | None:
    """Return the share that a metric is, or ``None`` for other metrics.

    Shares are F1, Jaccard, precision, recall, specificity and the other rates, accuracy, and all ratios that count
    errors of both kinds alike, such as ``Tversky(a, a)``; of several classes accuracy. F-beta of another beta counts
    three different amounts, and the G-mean is no ratio of sums: neither is a share.

    Examples
    --------
    >>> from csf.metrics import get_metric
    >>> share_of(get_metric("jaccard"))
    Share(ones=('tp',), zeros=('fn', 'fp'), top=(1.0, 0.0), bottom=(1.0, 1.0))
    >>> print(share_of(get_metric("f2")))
    None
    """
    terms = {cell: amounts for cell, amounts in (metric.terms() or {}).items() if any(amounts)}
    if not terms:
        return None
    amounts = np.array(list(terms.values()))
    size = np.abs(amounts).max(axis=0)
    alike = (np.abs(amounts - amounts[0]) <= SAME_AMOUNT * size).all(axis=1)
    groups = [[cell for cell, same in zip(terms, alike) if same == side] for side in (True, False)]
    if not groups[1] or np.ptp(amounts[~alike] / np.where(size > 0.0, size, 1.0), axis=0).max() > SAME_AMOUNT:
        return None
    (first, second) = (terms[cells[0]] for cells in groups)
    if min(first[1], second[1]) <= 0.0:
        return None
    if first[0] / first[1] < second[0] / second[1]:
        groups, first, second = groups[::-1], second, first
    ones, zeros = (tuple(cells) for cells in groups)
    return Share(ones, zeros, (first[0], second[0]), (first[1], second[1]))


def gains_of(terms: Terms, side: str, level: float) -> Array:
    """Compute the gain of a sample of each cell; the sum of gains is >= 0 exactly where a metric keeps a level.

    The gain is ``top - level bottom`` for a lower bound of the metric (``">="``), and minus that for an upper bound.
    """
    sign = 1.0 if side == ">=" else -1.0
    return sign * np.array([terms[cell][0] - level * terms[cell][1] for cell in CELLS])


# ---------------------------------------------------------------- reviews, and limits on wrong answers


ANSWERS = ("negative", "review", "positive")


def check_no_review(labels: Sequence[Label], whose: str = "y") -> None:
    """Raise a ValueError where a label is called like the answer to rows that are reviewed."""
    if ANSWERS[1] in map(str, labels):
        raise ValueError(f"{whose} has a class {ANSWERS[1]!r}, the answer to rows that are reviewed; rename it")


@dataclass(frozen=True)
class Review:
    """Cost of a review, and the number of rows that can be reviewed.

    With it as ``review`` of `csf.CostSearch`, `csf.CostSearch.predict_with_review` chooses the answer with the smallest
    expected cost for each row [1]_: a label, as `csf.CostSearch.predict` gives it, or "review".

    Parameters
    ----------
    cost : float, default=0.0
        What a review costs, >= 0. With a `RowCosts` as metric in its units. With other metrics in units of a false
        positive: a false negative then costs ``c_fn / c_fp`` of these, by the class costs of the metric at the value
        that the search attained (for F1 = 0.6 they are 1.4 : 0.6), or with a constraint by those for which the
        threshold in use is the best one. Of several classes in units of the mean cost of the errors that are made, by
        the gradient of the metric at the value attained; with a cost matrix in its units.
    at_most : float, default=None
        Share of the rows that can be reviewed, in (0, 1). Rows for which a review saves least are then answered
        without one, so that the share is kept on the held-out rows. New rows keep it on average.
    error : float, default=0.0
        Share of the reviews that end in the wrong answer, in [0, 1).
    wrong : float or dict, default=None
        Largest share of wrong answers among the rows that get each label without a review. A dict such as ``{"urgent":
        0.01}`` limits one of them; of two classes ``"negative"`` and ``"positive"`` also name those that no label is
        called like. More rows are reviewed for it, beyond ``at_most`` where need be. It holds on the held-out rows, and
        so on new ones about half the time; with ``confidence`` of the search it is certified on the ``calibration``
        share, so that all limits, and the constraint, hold together. Where a limit cannot be shown, all rows are
        reviewed that would have been answered so. Alone, without ``cost`` and ``at_most``, it has as few rows reviewed
        as it needs.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on Information Theory 16,
       1970.

    Examples
    --------
    >>> Review(cost=2.0, at_most=0.1)
    Review(cost=2.0, at_most=0.1, error=0.0, wrong=None)
    """

    cost: float = 0.0
    at_most: float | None = None
    error: float = 0.0
    wrong: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        check_number(self.cost, "cost of a review")
        if self.at_most is not None:
            check_fraction(self.at_most, "at_most of a review")
        elif self.only_limits and not self.wrong:
            raise ValueError(
                "a review that costs nothing is the answer to all rows; give its cost=, at_most= or wrong="
            )
        if not check_number(self.error, "error of a review") < 1.0:
            raise ValueError(f"error of a review must be a share in [0, 1), got {self.error!r}")
        limits = self.wrong if isinstance(self.wrong, Mapping) else {} if self.wrong is None else {"": self.wrong}
        for answer, limit in limits.items():
            check_fraction(limit, f"wrong of {answer!r}" if answer else "wrong")

    @property
    def only_limits(self) -> bool:
        """True where rows are reviewed only because of the limits on wrong answers."""
        return not self.cost and self.at_most is None

    def limits_on(self, answers: Sequence[Label] = ANSWERS[::2]) -> dict[int, float]:
        """Return the largest share of wrong answers by the place of each answer that has a limit.

        Parameters
        ----------
        answers : sequence of label, default=("negative", "positive")
            Labels, which are the answers without a review; of two classes the positive one comes last.

        Returns
        -------
        dict of int to float
            The limits.

        Raises
        ------
        ValueError
            If a label is called like the answer "review", or another answer has a limit.
        """
        check_no_review(answers)
        # What a class is called goes before what it is.
        n, known = len(answers), [*answers, *ANSWERS[::2]] if len(answers) == 2 else answers
        if isinstance(self.wrong, Mapping):
            return {place_of(answer, known, "wrong of a review") % n: limit for answer, limit in self.wrong.items()}
        return {} if self.wrong is None else dict.fromkeys(range(n), self.wrong)
