"""Costs of each row in the user's own units: costs of the four outcomes of a decision, and the total of decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from csf._common.messages import did_you_mean
from csf._common.sklearn import num_samples, safe_indexing
from csf._common.typing import Array, BoolArray, IntArray, Keywords, Label, Samples, Values
from csf._common.validation import (
    check_binary_target,
    check_choice,
    check_count,
    check_weights,
    floats,
    label_array,
    names_on,
    place_or_none,
    warn_of_order,
)
from csf.metrics.profile import NOISE

MEASURES = ("savings", "cost", "benefit")
# What is wrong with costs, what is accepted, and what helps where one is missing.
SWAPPED = "both errors cost less than correct predictions (fn < tp and fp < tn)"
ACCEPTED, FILLED = "costs are finite numbers >= 0", "fill such rows, or drop them"
# The four outcomes, as `RowCosts` calls their costs, with what each of them is.
OUTCOMES = {"fn": "a false negative", "fp": "a false positive", "tp": "a true positive", "tn": "a true negative"}
# Arguments of `fit`, `predict` and `score` for the same costs.
COSTS = tuple(f"{name}_cost" for name in OUTCOMES)


@dataclass(frozen=True)
class Column:
    """Column of X by its place or name, or a share of it.

    Parameters
    ----------
    place : int or str
        Place of the column, from 0, or its name.
    share : float, default=1.0
        Share > 0 of the column that is the cost, such as 0.05 of the amount.

    Examples
    --------
    >>> RowCosts(fn=Column(1), fp=Column(1, share=0.5)).table(np.array([[0.1, 8.0], [0.2, 9.0]])).fp
    array([4. , 4.5])
    """

    place: int | str
    share: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.place, str):
            check_count(self.place, "place of a Column", minimum=0)
        if not (isinstance(self.share, Real) and 0.0 < self.share < np.inf):
            raise ValueError(f"share of a Column must be a finite number > 0, got {self.share!r}")


# A number for all rows, the name or the place of a column of X, a function of X; None where `fit` is given it.
Source: TypeAlias = "float | str | Column | Callable[[Samples], ArrayLike] | None"


@dataclass(frozen=True, eq=False)
class CostTable:
    """Costs of the four outcomes in each row.

    Parameters
    ----------
    fn, fp, tp, tn : ndarray of shape (n_rows,)
        Cost of a false negative, a false positive, a true positive and a true negative.
    segment : ndarray of shape (n_rows,), default=None
        Place of each row's segment, where a constraint is by segments.
    """

    fn: Array
    fp: Array
    tp: Array
    tn: Array
    segment: IntArray | None = None

    @property
    def gain(self) -> Array:
        """Saving by the answer "positive" in a row that is positive."""
        return _difference(self.fn, self.tp)

    @property
    def loss(self) -> Array:
        """Cost of the answer "positive" in a row that is negative."""
        return _difference(self.fp, self.tn)

    @property
    def shift(self) -> Array:
        """Logarithm of gain / loss: the answer "positive" pays where a row's log-odds plus this are at least 0.

        It is +inf where "positive" is the cheaper answer for either class, and -inf where "negative" is; rows in which
        both answers cost the same are answered "negative". In rows that are `turned` "positive" pays where log-odds
        plus this are at most 0.
        """
        gain, loss = self.gain, self.loss
        weighs = (gain * np.sign(loss) > 0.0) & (loss != 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.log(np.abs(gain)) - np.log(np.abs(loss))
        certain = np.where((gain >= 0.0) & (loss <= 0.0) & (gain > loss), np.inf, -np.inf)
        return np.where(weighs, shift, certain)

    @property
    def turned(self) -> BoolArray:
        """Mark rows in which both errors cost less than the right answers, as constraints can make them."""
        return (self.gain < 0.0) & (self.loss < 0.0)

    def stakes(self, is_pos: BoolArray) -> Array:
        """Compute the cost of "positive" minus that of "negative" in each row; below 0 where "positive" is right."""
        return np.where(is_pos, -self.gain, self.loss)

    def expected_gain(self, proba: Array) -> Array:
        """Compute the expected saving of the answer "positive" over "negative" in each row, given its probability."""
        return _rounded(_difference(proba * self.gain, (1.0 - proba) * self.loss, _SAME))

    def expected_costs(self, proba: Array, cost: float, error: float) -> tuple[Array, Array, Array]:
        """Compute the expected cost of "negative", a review and "positive" in each row, beyond the right answer."""
        negative, positive = proba * self.gain, (1.0 - proba) * self.loss
        return _rounded(negative), _rounded(cost + error * (negative + positive)), _rounded(positive)

    def answers(self, is_pos: BoolArray) -> tuple[Array, Array]:
        """Return the costs of the answers "negative" and "positive" in each row."""
        return np.where(is_pos, self.fn, self.tn), np.where(is_pos, self.tp, self.fp)

    def plus(self, fn: Values, fp: Values) -> CostTable:
        """Add what a false negative and a false positive cost besides in all rows, or in each."""
        return replace(self, fn=self.fn + fn, fp=self.fp + fp) if np.any(fn) or np.any(fp) else self

    def in_segments(self, segment: IntArray) -> CostTable:
        """Add the place of each row's segment."""
        return replace(self, segment=segment)

    @property
    def columns(self) -> dict[str, Array]:
        """What is known of the rows, by name."""
        values = {column.name: getattr(self, column.name) for column in fields(self)}
        return {name: column for name, column in values.items() if column is not None}

    def take(self, rows: IntArray) -> CostTable:
        """Select rows of the table."""
        return CostTable(**{name: column[rows] for name, column in self.columns.items()})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join the costs of several parts, in their order."""
        return cls(**{name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns})


# Parts of a number that count as none: a power of two, by which nothing is rounded.
_SAME = 2.0**-33


def _rounded(values: Array) -> Array:
    """Round numbers to ten digits, so that equal ones stay equal in another unit."""
    digits, exponent = np.frexp(values)
    return np.ldexp(np.rint(digits / _SAME) * _SAME, exponent)


def _difference(first: Array, second: Array, noise: float = NOISE) -> Array:
    """Subtract the second numbers from the first; 0 where the difference may be rounding error."""
    difference = first - second
    return np.where(np.abs(difference) > noise * np.maximum(np.abs(first), np.abs(second)), difference, 0.0)


@dataclass(frozen=True)
class RowCosts:
    """Costs of errors in the user's own units, different for each row.

    With it as ``metric`` of `csf.CostSearch`, each row is answered by its own costs: "positive" where that has the
    smaller expected cost [1]_. The answer depends on the row's costs and on its probability of being positive.

    Parameters
    ----------
    fn : float, str, Column, callable or None
        Cost of a false negative: a number for all rows, the name of a column of X, its place as a `Column`, or a
        function that takes X and returns a number for each row, from that row alone: X is all rows, a batch or a
        partition of them. ``None`` leaves it to the argument ``fn_cost`` of ``fit``, ``predict`` and ``score``, which
        counts where both are given. A column that X has stays a feature of the base, unless the base leaves it out, for
        example by a ColumnTransformer.
    fp : float, str, Column, callable or None
        Cost of a false positive.
    tp, tn : float, str, Column, callable or None, default=0.0
        Cost of a true positive, such as that of a call, and of a true negative.
    measure : {"savings", "cost", "benefit"}, default="savings"
        The units of all values. ``"savings"`` is 1 minus the cost as a share of the cost of the better one of
        the two answers given to all rows [2]_: 1 where nothing is paid, 0 where a model is worth as much as none.
        ``"cost"`` is the mean cost of a row with the sign changed, so that larger is better, as in the scorers of
        scikit-learn that begin with ``neg_``. ``"benefit"`` is what a row saves on average against the answer
        "negative" to all.

    Notes
    -----
    Costs are finite numbers >= 0. Write a gain as a cost of the other answer: who earns 30 from a sale that is found
    loses 30 by missing it. The same number may be added to the costs of both answers to a row without changing any
    decision; it changes the savings, as it is paid in any case.

    Where few dear rows carry much of what is at stake, see ``dearest_share_``, intervals are wide, and those of 30
    positives may still be too narrow. ``corrected_score_`` has no bias of a ratio, which made savings of decisions 1 to
    8 points too low there, but choices on two thirds of so few rows may lower it.

    References
    ----------
    .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001.
    .. [2] A. Correa Bahnsen, D. Aouada, B. Ottersten, "Example-dependent cost-sensitive decision trees", Expert
       Systems with Applications 42, 2015.

    Examples
    --------
    >>> cost = RowCosts(fn=Column(0), fp=5.0)
    >>> X, y = np.array([[100.0], [2.0], [40.0], [3.0]]), [1, 1, 0, 0]
    >>> cost.score(y, [1, 0, 1, 0], X)  # 2 for the missed one and 5 for the false alarm; 10 if all are positive
    0.3
    """

    fn: Source = None
    fp: Source = None
    tp: Source = 0.0
    tn: Source = 0.0
    measure: str = "savings"

    def __post_init__(self) -> None:
        check_choice(self.measure, "measure", MEASURES)
        for name in OUTCOMES:
            source = getattr(self, name)
            known = source is None or isinstance(source, (Real, str, Column)) or callable(source)
            if isinstance(source, bool) or not known:
                raise TypeError(
                    f"{name} must be a number, the name of a column of X, a csf.metrics.Column or a function of X, got "
                    f"{type(source).__name__}; give costs of rows to fit, predict and score instead, as {name}_cost="
                )

    @property
    def name(self) -> str:
        """Short name for tables and plots."""
        return {"savings": "savings", "cost": "cost per row (negative)", "benefit": "benefit per row"}[self.measure]

    def needs(self, given: Mapping[str, object]) -> list[str]:
        """List the arguments that have to be given with the samples, and are missing."""
        arguments = [f"{name}_cost" for name in OUTCOMES if getattr(self, name) is None]
        return [argument for argument in arguments if given.get(argument) is None]

    def remembering(self, given: Mapping[str, object]) -> Self:
        """Return the same costs with the numbers that were given for all rows, which hold for other rows too."""
        numbers = {name: given.get(f"{name}_cost") for name in OUTCOMES}
        return replace(self, **{name: float(cost) for name, cost in numbers.items() if isinstance(cost, Real)})

    def without_columns(self) -> Self:
        """Return the same costs, where those that are columns have to be given with the rows."""
        return replace(self, **{name: None for name in OUTCOMES if isinstance(getattr(self, name), str)})

    def table(self, X: Samples | None, *, n_rows: int | None = None, **given: ArrayLike | None) -> CostTable:
        """Compute the costs of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features), or None
            Samples; ``None`` where no cost is a column or a function of them.
        n_rows : int, default=None
            Number of rows; ``None`` counts those of X.
        **given : float or array-like of shape (n_rows,)
            ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost``, which count before what the object says.

        Returns
        -------
        CostTable
            The costs.

        Raises
        ------
        ValueError
            If a cost is not known, negative, missing or infinite, there is not one for each row, X lacks a column, or
            both errors of a row cost less than the right answers.
        """
        unknown = [name for name in given if name not in COSTS]
        if unknown:
            hint = did_you_mean(unknown[0], COSTS)
            raise TypeError(f"{', '.join(unknown)} cannot be given; accepted: {', '.join(COSTS)}{hint}")
        missing = self.needs(given)
        if missing:
            raise ValueError(
                f"{' and '.join(missing)} must be given: metric={self!r} does not say what "
                f"{' and '.join(OUTCOMES[name.removesuffix('_cost')] for name in missing)} costs. Give an array or a "
                f"number, or name a column of X, such as RowCosts({missing[0].removesuffix('_cost')}='amount')"
            )
        warn_of_order(X=X, **given)
        n_rows = num_samples(X) if n_rows is None else n_rows
        table = CostTable(*(self._column(name, given.get(f"{name}_cost"), X, n_rows) for name in OUTCOMES))
        swapped = np.flatnonzero((table.gain < 0.0) & (table.loss < 0.0))
        if swapped.size:
            raise ValueError(
                f"{SWAPPED} in {swapped.size} of {n_rows} rows, first in row {swapped[0]}. If the costs of the two "
                "classes are swapped, exchange fn with fp and tp with tn, or give pos_label"
            )
        return table

    def check_stakes(self, table: CostTable, is_pos: BoolArray, weight: Array | None = None) -> None:
        """Raise a ValueError where there is nothing to decide, or to save, in rows with a weight."""
        self.check_sums(cost_sums(table, is_pos, weight))

    def check_sums(self, sums: Array) -> None:
        """Raise a ValueError where there is nothing to decide, or to save, in rows with these `cost_sums`."""
        n_negative, n_positive, negative, positive = sums[:4]
        if not (n_negative and n_positive):
            answer = "positive" if n_positive else "negative"
            raise ValueError(
                f"with these costs, predicting {answer} is never more expensive in any row, so there is nothing to "
                f"decide: {'fn > tp in no positive row' if answer == 'negative' else 'fp > tn in no negative row'}. "
                "Check the costs"
            )
        if self.measure == "savings" and min(negative, positive) <= 0.0:
            raise ValueError(
                "predicting one class for all rows costs nothing, so no savings are possible; use measure='cost'"
            )

    def _column(self, name: str, given: ArrayLike | None, X: Samples, n_rows: int) -> Array:
        """Read one of the four costs of each row and check it."""
        source = getattr(self, name) if given is None else given
        shown = getattr(source, "__name__", None) or repr(source)
        title = f"{name}_cost" if given is not None else f"{name}={shown} of the metric"
        if given is None and X is None and not isinstance(source, Real):
            raise ValueError(f"X must be given: {title} is a column of X, or a function of it")
        if given is not None and (isinstance(given, (str, bool, Column)) or callable(given)):
            raise TypeError(
                f"{title} must be a number or an array with one for each row, got {given!r}; columns and functions of "
                f"X belong to the metric: RowCosts({name}={given!r})"
            )
        function = source if given is None and callable(source) else None
        if given is None and isinstance(source, (str, Column)):
            source = _of_column(X, source, title)
        values = floats(source if function is None else function(X), title)
        if values.ndim == 0:
            values = np.full(n_rows, float(values))
        if values.shape != (n_rows,):
            raise ValueError(f"{title} must have one number for each of {n_rows} rows, got the shape {values.shape}")
        bad = np.flatnonzero(~np.isfinite(values) | (values < 0.0))
        if bad.size:
            row = int(bad[0])
            hint = f"; write a gain as a cost of the other answer, {_OTHER[name]}" if values[row] < 0.0 else ""
            raise ValueError(
                f"{title} is {values[row].item()!r} in row {row} ({bad.size} such rows of {n_rows}); {ACCEPTED}"
                f"{hint or f'; {FILLED}'}"
            )
        if function is not None:
            _check_alone(function, X, values, f"{title} must depend on each row alone", name)
        return values

    def terms(self) -> None:
        """Return ``None``: what a cell adds differs from row to row, see `csf.metrics.Metric.terms`."""

    def value(self, paid: Values, negative: Values, positive: Values, n_rows: Values) -> Values:
        """Compute the value of decisions.

        Parameters
        ----------
        paid : float or ndarray
            What they cost in all.
        negative, positive : float or ndarray
            What the answers "negative" and "positive" to all rows cost.
        n_rows : float or ndarray
            How many rows there are.

        Returns
        -------
        float or ndarray
            The value, larger is better; NaN where it is not defined.
        """
        paid, negative = np.asarray(paid, dtype=float), np.asarray(negative, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.measure == "savings":
                least = np.minimum(negative, positive)
                value = np.where(least > 0.0, 1.0 - paid / least, np.nan)
            else:
                value = (negative * (self.measure == "benefit") - paid) / n_rows
        return float(value) if value.ndim == 0 else value

    def score(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        X: Samples | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Label = None,
        **given: ArrayLike | None,
    ) -> float:
        """Compute the value of predicted labels.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_rows,)
            True and predicted labels.
        X : array-like of shape (n_rows, n_features), default=None
            Samples, needed where costs are columns or functions of them.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights >= 0: for how many rows each one stands.
        pos_label : label, default=None
            Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
        **given : float or array-like of shape (n_rows,)
            ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost``.

        Returns
        -------
        float
            The value.
        """
        warn_of_order(y_true=y_true, y_pred=y_pred, X=X, sample_weight=sample_weight, **given)
        labels, is_pos, positive = check_binary_target(y_true, pos_label)
        if X is not None and num_samples(X) != is_pos.size:
            raise ValueError(f"X has {num_samples(X)} rows, and y_true {is_pos.size} labels; give one label a row")
        table = self.table(X, n_rows=is_pos.size, **given)
        predicted, known = label_array(y_pred, "y_pred"), np.unique(labels).tolist()
        if predicted.shape != is_pos.shape or not np.isin(predicted, known).all():
            raise ValueError(
                f"y_pred must hold one of the labels {known} for each of {is_pos.size} rows; CostSearch.predict makes "
                "labels of probabilities by the costs of the rows"
            )
        return self.value_of(table, is_pos, predicted == positive, check_weights(sample_weight, is_pos.size))

    def value_of(self, table: CostTable, is_pos: BoolArray, decided: Array, weight: Array | None) -> float:
        """Compute the value of decisions about rows with these costs; decisions may be shares of a row."""
        weight = np.ones(is_pos.size) if weight is None else weight
        return self.value(weight @ paid(*table.answers(is_pos), decided), *_totals(table, is_pos, weight), weight.sum())


def costs_in(given: Mapping[str, object]) -> Keywords:
    """Select the costs among the arguments of `fit` or `predict` that come with rows."""
    return {name: values for name, values in given.items() if name in COSTS}


def paid(negative: Array, positive: Array, decided: Array) -> Array:
    """Compute the cost of rows, or of the share of each that is predicted positive."""
    return decided * positive + (1.0 - decided) * negative


def cost_sums(table: CostTable, is_pos: BoolArray, weight: Array | None, powers: Sequence[float] = ()) -> Array:
    """Sum over rows what a search has to know of their costs; sums of parts of the rows can be added.

    These are the numbers of rows with a weight in which "negative" and "positive" are the cheaper answers, the costs of
    both answers to all rows, and the weights times each of the powers of what is at stake.
    """
    stakes, weight = table.stakes(is_pos), np.ones(is_pos.size) if weight is None else weight
    counts = [np.count_nonzero(cheaper & (weight > 0.0)) for cheaper in (stakes > 0.0, stakes < 0.0)]
    sums = [weight @ np.abs(stakes) ** power for power in powers]
    return np.array([*counts, *_totals(table, is_pos, weight), *sums])


def stake_scales(sums: Array, powers: Sequence[float]) -> dict[float, float]:
    """Compute the scales of `stake_weights` that keep the mean weight, from `cost_sums` whose first power is 0."""
    return {power: float(sums[4] / total) for power, total in zip(powers, sums[4:], strict=True)}


def stake_weights(table: CostTable, is_pos: BoolArray, weight: Array | None, power: float, scale: float) -> Array:
    """Weigh rows by a power of what is at stake in them."""
    weight = np.ones(is_pos.size) if weight is None else weight
    # Without the digits that costs in another unit, or rows in another order, would change.
    return (weight * np.abs(table.stakes(is_pos)) ** power * scale).astype(np.float32).astype(np.float64)


def _totals(table: CostTable, is_pos: BoolArray, weight: Array) -> tuple[float, float]:
    """Sum the costs of both answers to all rows; raise a ValueError on overflow."""
    with np.errstate(over="ignore"):
        negative, positive = (float(weight @ costs) for costs in table.answers(is_pos))
    if not np.isfinite(negative + positive):
        raise ValueError("the costs add up to more than a float can hold; give them in a larger unit")
    return negative, positive


# Rows, about, for which the costs by a function are computed once more, twice, and what rounding may change of them.
_COMPARED, _ROUNDING = 512, 1e-5


def _check_alone(function: Callable[..., object], X: Samples, costs: Array, title: str, name: str) -> None:
    """Raise a ValueError where a function of X gives rows other costs if X is a part of them."""
    for first in range(min(costs.size, 3) - 1):
        rows = np.arange(first, costs.size, max(costs.size // _COMPARED, 2))
        part, known = floats(function(safe_indexing(X, rows)), name), costs[rows]
        limit = _ROUNDING * known + np.finfo(np.float32).eps * np.max(known)
        if part.shape not in ((), rows.shape) or not (np.abs(part - known) <= limit).all():
            raise ValueError(
                f"{title}, and gives other numbers where X is a part of these rows: each fold, batch and partition "
                "would have other costs. Compute what depends on several rows, such as a mean, before the search, and "
                f"give a column of X or {name}_cost"
            )


_OTHER = {"fn": "tp", "tp": "fn", "fp": "tn", "tn": "fp"}


def _of_column(X: Samples, source: str | Column, title: str) -> Array:
    """Read the values of a column of X."""
    columns = names_on(X)
    place, share = (source.place, source.share) if isinstance(source, Column) else (source, 1.0)
    column = place_or_none(place, columns or ()) if isinstance(place, str) else int(place)
    if column is None:
        known = "no names" if columns is None else f"the columns {columns}{did_you_mean(place, columns)}"
        raise ValueError(
            f"{title} is no column of X, which has {known}. Give a frame that has the column, its place as "
            f"csf.metrics.Column(place), or the costs themselves as {title.partition('=')[0]}_cost="
        )
    X = np.asarray(X) if isinstance(X, (list, tuple)) else X
    n_columns = X.shape[1] if len(X.shape) == 2 else 0
    if not column < n_columns:
        raise ValueError(f"{title} is no column of X, which has the places 0 to {n_columns - 1}; give one of these")
    # Not all formats of sparse matrices have columns to take.
    values: Samples = X.tocsc()[:, [column]] if issparse(X) else safe_indexing(X, column, axis=1)
    values = values.toarray().ravel() if issparse(values) else np.asarray(values)
    return values if share == 1.0 else share * floats(values, title)


def row_costs(metric: object) -> RowCosts | None:
    """Return the costs of rows that a metric name or object stands for; ``None`` for other metrics."""
    if isinstance(metric, RowCosts):
        return metric
    return RowCosts(measure=metric) if isinstance(metric, str) and metric in MEASURES else None


def given_costs(metric: object, given: Mapping[str, object]) -> RowCosts | None:
    """Return `row_costs` of a metric; raise a TypeError where arguments are no costs, or the metric has none."""
    costs = row_costs(metric)
    unknown = [name for name in given if name not in COSTS]
    if given and (costs is None or unknown):
        hint = did_you_mean(unknown[0], ("at_most", "wrong_at_most", *COSTS)) if unknown else ""
        if "at_most" in hint:
            hint = "; at_most and wrong_at_most are arguments of predict and predict_with_review"
        raise TypeError(
            f"{', '.join(given)} cannot be given with metric={metric!r}; accepted: {', '.join(COSTS)}, with "
            f"metric='savings', 'cost' or 'benefit', or a csf.metrics.RowCosts{hint}"
        )
    return costs
