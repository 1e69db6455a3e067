"""Costs of rows in Spark's SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsFloat

from csf.metrics.profile import NOISE
from csf.metrics.row_costs import ACCEPTED, FILLED, OUTCOMES, SWAPPED

if TYPE_CHECKING:
    from csf._common.typing import Costs
    from csf.metrics.row_costs import RowCosts


def number_in_sql(value: SupportsFloat) -> str:
    """Return a number in SQL."""
    return f"{float(value)!r}D"


def sql_of(source: SupportsFloat | str) -> str:
    """Return a cost in SQL: a number, or a column of the frame."""
    if not isinstance(source, str):
        return number_in_sql(source)
    quoted = source.replace("`", "``")
    return f"CAST(`{quoted}` AS DOUBLE)"


def gain_and_loss(costs: RowCosts, extra: Costs = (0.0, 0.0)) -> tuple[str, str]:
    """Return `csf.metrics.row_costs.CostTable.gain` and ``loss`` in SQL, with extra costs of both errors."""
    known = {name: sql_of(getattr(costs, name)) for name in OUTCOMES}
    pairs = (("fn", "tp", extra[0]), ("fp", "tn", extra[1]))
    differences = []
    for error, right, more in pairs:
        first, second = f"({known[error]} + {number_in_sql(more)})", known[right]
        noise = f"{number_in_sql(NOISE)} * greatest(abs({first}), abs({second}))"
        differences.append(f"(CASE WHEN abs({first} - {second}) > {noise} THEN {first} - {second} ELSE 0D END)")
    return differences[0], differences[1]


def wrong_costs_in_sql(costs: RowCosts) -> str:
    """Return the conditions of a CASE that raise an error where `csf.metrics.RowCosts.table` does."""
    cases = []
    for name in OUTCOMES:
        source = getattr(costs, name)
        if isinstance(source, str):
            value = sql_of(source)
            valid = f"coalesce({value} >= 0D AND {value} < CAST('Infinity' AS DOUBLE), false)"
            error = error_in_sql(f"{name}={source!r} of the metric is ", value, f"; {ACCEPTED}; {FILLED}")
            cases.append(f"WHEN NOT {valid} THEN {error}")
    gain, loss = gain_and_loss(costs)
    return " ".join([*cases, f"WHEN {gain} < 0D AND {loss} < 0D THEN {error_in_sql(SWAPPED)}"])


def error_in_sql(text: str, value: str = "''", more: str = "") -> str:
    """Return an error in SQL whose message holds a value."""
    before, after = (part.replace("\\", "\\\\").replace("'", "\\'") for part in (text, more))
    return f"raise_error(concat('{before}', coalesce(CAST({value} AS STRING), 'null'), '{after}'))"
