"""Costs of rows and decisions by them, in Spark's SQL."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from csf.data.responses import LARGEST_LOG_ODDS
from csf.metrics.profile import NOISE
from csf.metrics.row_costs import ACCEPTED, FILLED, OUTCOMES, SWAPPED
from csf.thresholding.row_costs import DIGITS

if TYPE_CHECKING:
    from csf._common.typing import Costs
    from csf.metrics.row_costs import RowCosts
    from csf.thresholding.row_costs import CostDecision


def _number(value: Any) -> str:
    return f"{float(value)!r}D"


def sql_of(source: Any) -> str:
    """Return a cost in SQL: a number, or a column of the frame."""
    if isinstance(source, Real):
        return _number(source)
    quoted = source.replace("`", "``")
    return f"CAST(`{quoted}` AS DOUBLE)"


def gain_and_loss(costs: Any, extra: Costs = (0.0, 0.0)) -> tuple[str, str]:
    """Return `csf.metrics.row_costs.CostTable.gain` and ``loss`` in SQL, with extra costs of both errors."""
    known = {name: sql_of(getattr(costs, name)) for name in OUTCOMES}
    pairs = (("fn", "tp", extra[0]), ("fp", "tn", extra[1]))
    differences = []
    for error, right, more in pairs:
        first, second = f"({known[error]} + {_number(more)})", known[right]
        noise = f"{_number(NOISE)} * greatest(abs({first}), abs({second}))"
        differences.append(f"(CASE WHEN abs({first} - {second}) > {noise} THEN {first} - {second} ELSE 0D END)")
    return differences[0], differences[1]


def answer_in_sql(score: str, costs: RowCosts, decision: CostDecision, power: float, *, margin: bool) -> str:
    """Return the answer to a row in SQL, 1 or 0, or the error that its costs are none."""

    def clipped(value: str, most: float) -> str:
        return f"greatest({_number(-most)}, least({_number(most)}, {value}))"

    def shift(gain: str, loss: str) -> str:
        return f"(ln({gain}) - ln({loss}))"

    odds = score
    if not margin:
        inside = clipped(f"ln({score} / (1D - {score}))", LARGEST_LOG_ODDS)
        most = _number(LARGEST_LOG_ODDS)
        odds = f"(CASE WHEN {score} <= 0D THEN -{most} WHEN {score} >= 1D THEN {most} ELSE {inside} END)"
    if power:
        gain, loss = gain_and_loss(costs)
        finite = f"CASE WHEN {gain} > 0D AND {loss} > 0D THEN {shift(gain, loss)} ELSE 0D END"
        odds = f"({odds} - {_number(power)} * ({finite}))"
    if decision.kind == "sigmoid":
        odds = f"{_number(decision.slope)} * {clipped(odds, decision.farthest)}"
    gain, loss = gain_and_loss(costs, decision.extra)
    total = clipped(f"({odds} + {_number(decision.intercept)} + {shift(gain, loss)})", LARGEST_LOG_ODDS)
    certain = f"CASE WHEN {gain} >= 0D AND {loss} <= 0D AND {gain} > {loss} THEN 1D ELSE 0D END"
    tuned = f"CASE WHEN round({total}, {DIGITS}) >= {_number(decision.threshold)} THEN 1D ELSE 0D END"
    return f"CASE {_wrong_costs(costs)} WHEN {gain} > 0D AND {loss} > 0D THEN {tuned} ELSE {certain} END"


def answer_or_error(score: str, answer: str) -> str:
    """Return an answer in SQL that is an error where the score is missing, as it is of features that are."""
    message = "the model gives no score; fill missing features, or drop such rows"
    return f"CASE WHEN {score} IS NULL OR isnan({score}) THEN {_error(message)} ELSE {answer} END"


def _wrong_costs(costs: RowCosts) -> str:
    """Return the conditions of a CASE that raise an error where `csf.metrics.RowCosts.table` does."""
    cases = []
    for name in OUTCOMES:
        source = getattr(costs, name)
        if isinstance(source, str):
            value = sql_of(source)
            valid = f"coalesce({value} >= 0D AND {value} < CAST('Infinity' AS DOUBLE), false)"
            error = _error(f"{name}={source!r} of the metric is ", value, f"; {ACCEPTED}; {FILLED}")
            cases.append(f"WHEN NOT {valid} THEN {error}")
    gain, loss = gain_and_loss(costs)
    return " ".join([*cases, f"WHEN {gain} < 0D AND {loss} < 0D THEN {_error(SWAPPED)}"])


def _error(text: str, value: str = "''", more: str = "") -> str:
    """Return an error in SQL whose message holds a value."""
    before, after = (each.replace("\\", "\\\\").replace("'", "\\'") for each in (text, more))
    return f"raise_error(concat('{before}', coalesce(CAST({value} AS STRING), 'null'), '{after}'))"
