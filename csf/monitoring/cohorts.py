"""Decisions that wait for their labels, which come later, in any order, and are matched by row id."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, BoolArray, IntArray, Json, Label, Samples

# Row ids that an error shows.
_SHOWN = 5
# Position of a label that has not come.
NO_LABEL = -1
# Numbers of a state are smaller: their squares stay numbers.
HUGE = 1e150

RowId = int | str


@dataclass
class Cohort:
    """Decisions of one batch, and what is known of their labels; classes are positions among those of the search.

    Predictions and labels have the shape (n_rows, n_labels), costs (n_rows, n_costs).
    """

    name: str
    rows: list[RowId]
    y_pred: IntArray
    y: IntArray
    weight: Array | None
    # NaN where none is known.
    cost: Array

    @property
    def labelled(self) -> BoolArray:
        """Mark the rows whose labels are known."""
        return (self.y != NO_LABEL).all(axis=1)

    def plain(self) -> dict[str, Json]:
        """Return the cohort as JSON can hold it."""
        weight = None if self.weight is None else self.weight.tolist()
        cost = [None if np.isnan(amount) else amount for amount in self.cost.ravel().tolist()]
        codes = {name: getattr(self, name).ravel().tolist() for name in ("y_pred", "y")}
        return {"name": self.name, "rows": self.rows, **codes, "weight": weight, "cost": cost}

    @classmethod
    def read(cls, content: Label, n_classes: int, n_labels: int, n_costs: int) -> Self | None:
        """Read what `plain` returns; return ``None`` where it is something else."""
        names = ("name", "rows", "y_pred", "y", "weight", "cost")
        if not isinstance(content, dict) or set(content) != set(names):
            return None
        name, rows, y_pred, y, weight, cost = (content[entry] for entry in names)
        parts = [
            (rows, 1),
            (y_pred, n_labels),
            (y, n_labels),
            (cost, n_costs),
            *([] if weight is None else [(weight, 1)]),
        ]
        if not (
            isinstance(name, str)
            and name
            and all(type(column) is list and len(column) == width * len(rows) for column, width in parts)
        ):
            return None
        sound = (
            all(type(row) in (int, str) for row in rows)
            and all(type(code) is int and 0 <= code < n_classes for code in y_pred)
            and all(type(code) is int and NO_LABEL <= code < n_classes for code in y)
            and all(_is_amount(value) for value in weight or [])
            and all(amount is None or _is_amount(amount) for amount in cost)
            # Of costs of rows all are known from the start.
            and (n_costs == 1 or None not in cost)
        )
        if not sound:
            return None
        given = None if weight is None else np.array(weight, dtype=float)
        codes, labels = (np.reshape(np.array(codes, dtype=np.int64), (-1, n_labels)) for codes in (y_pred, y))
        return cls(name, rows, codes, labels, given, np.reshape(np.array(cost, dtype=float), (-1, n_costs)))


def _is_amount(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value < HUGE


def row_ids(rows: ArrayLike | None, labels: Samples, name: str) -> list[RowId]:
    """Check the ids of rows, by default the pandas index of ``labels``, and return them as integers and texts."""
    if rows is None:
        index: Samples = getattr(labels, "index", None)
        if not hasattr(index, "is_unique"):
            raise ValueError(
                f"rows= is missing: give the ids of the rows, or {name} as a pandas Series with its ids as index"
            )
        if type(index).__name__ == "RangeIndex":
            raise ValueError(
                f"the index of {name} counts its rows ({index[:3].tolist()}, ...) and does not say which ones these "
                "are. Give the ids as rows=, or as the index, such as frame.set_index('id')"
            )
        rows = index
    ids: list[Label] = np.asarray(rows, dtype=object).tolist()
    odd = [row for row in ids if isinstance(row, bool) or not isinstance(row, (numbers.Integral, str))]
    if odd:
        raise ValueError(
            f"ids of rows are integers or texts, got {odd[0]!r} ({type(odd[0]).__name__}); give them as texts, such as "
            "rows.astype(str), for decisions and labels alike"
        )
    if len(ids) != len(labels):
        raise ValueError(f"rows has {len(ids)} ids, and {name} {len(labels)} entries; give one id for each")
    return [row if isinstance(row, str) else int(row) for row in ids]


def refuse_repeated(rows: Sequence[RowId], cohorts: Sequence[Cohort]) -> None:
    """Raise a ValueError where a row is expected twice."""
    before = {row for cohort in cohorts for row in cohort.rows}
    twice = []
    for row in rows:
        if row in before:
            twice.append(row)
        before.add(row)
    if twice:
        raise ValueError(
            f"{_some(twice)} expected twice: each decision is counted once, with one label. If rows of different "
            "batches share an id, put the batch into the id"
        )


def take_labels(
    cohorts: Sequence[Cohort], rows: Sequence[RowId], y: IntArray, cost: Array | None, classes: Array
) -> None:
    """Write labels and costs beside the decisions of these rows; labels that are there already may be repeated.

    Raises
    ------
    ValueError
        If a row is not expected, or has another label or cost already.
    """
    places = {row: (cohort, index) for cohort in cohorts for index, row in enumerate(cohort.rows)}
    unknown = [row for row in rows if row not in places]
    if unknown:
        raise ValueError(
            f"{_some(unknown)} not expected: expect() has not had the decisions, or their batch has counted "
            "already. Leave these rows out (monitor.awaited lists those that wait); nothing was counted"
        )
    for k in np.flatnonzero((y != NO_LABEL).all(axis=1)).tolist():
        row, label = rows[k], y[k]
        cohort, index = places[row]
        before, amount = cohort.y[index].copy(), cohort.cost[index] if cost is None else cost[k]
        if NO_LABEL in before:
            cohort.y[index], cohort.cost[index] = label, amount
        elif (before != label).any():
            first, second = (
                classes[codes].tolist()[0 if codes.size == 1 else slice(None)] for codes in (before, label)
            )
            raise ValueError(
                f"row {row!r} has the label {first!r} already, and now {second!r}; the first "
                "one stays, and nothing was counted. Give labels once they are final"
            )
        elif not np.array_equal(cohort.cost[index], amount, equal_nan=True):
            raise ValueError(
                f"row {row!r} has the cost {cohort.cost[index, 0]:g} already, and now {amount[0]:g}; nothing was "
                "counted"
            )


def _some(rows: Sequence[RowId]) -> str:
    """Name rows at the beginning of a sentence."""
    if len(rows) == 1:
        return f"row {rows[0]!r} is"
    more = "" if len(rows) <= _SHOWN else f" and {len(rows) - _SHOWN} more"
    return f"rows {list(rows[:_SHOWN])}{more} are"
