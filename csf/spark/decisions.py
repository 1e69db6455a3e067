"""Decisions of searches in models of Spark: parameters, stages and SQL that decide as the rule in memory does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml import Model, PipelineModel, Transformer
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import SQLTransformer, VectorSlicer
from pyspark.ml.linalg import DenseMatrix, Vectors
from pyspark.ml.regression import LinearRegression
from pyspark.sql import SparkSession

from csf._common.typing import Array, Keywords
from csf.data.responses import LARGEST_LOG_ODDS
from csf.spark.engine import by_margin, last_stage, score_parameter
from csf.spark.row_costs import error_in_sql, gain_and_loss, number_in_sql, wrong_costs_in_sql
from csf.thresholding.cost_decisions import DIGITS
from csf.thresholding.linear_rule import MulticlassRule
from csf.thresholding.row_costs import RowCostRule
from csf.thresholding.rule import ThresholdRule

if TYPE_CHECKING:
    from csf.metrics.row_costs import RowCosts
    from csf.thresholding.base import DecisionRule


def with_rule(model: Model, rule: DecisionRule, costs: RowCosts | None) -> tuple[Model, float | None]:
    """Let a model decide as a rule does, by ``costs`` of the rows' columns; return it, and its threshold if it has one.

    Spark's threshold is below that of the rule, as it predicts the positive class only above its threshold.
    """
    return _DECIDING[type(rule)](model, rule, costs)


def _by_threshold(model: Model, rule: ThresholdRule, _: object) -> tuple[Model, float | None]:
    return _with_threshold(model, rule.cut) if rule.tuned else (model, None)


def _by_costs(model: Model, rule: RowCostRule, costs: RowCosts) -> tuple[Model, None]:
    return _answering(model, partial(answer_in_sql, rule=rule, costs=costs)), None


def _by_classes(model: Model, rule: MulticlassRule, _: object) -> tuple[Model, None]:
    return model if rule.own else _with_worth(model, rule.rule.worth), None


_DECIDING: dict[type, Any] = {ThresholdRule: _by_threshold, RowCostRule: _by_costs, MulticlassRule: _by_classes}


# ---------------------------------------------------------------- one score


def _with_threshold(model: Model, cut: float) -> tuple[Model, float]:
    """Set the threshold so that scores of at least ``cut`` are positive; return the model and the threshold.

    Spark itself predicts the positive class only above its threshold.
    """
    last = last_stage(model)
    if by_margin(last):
        largest = sys.float_info.max
        threshold = float(np.clip(np.nextafter(cut, -np.inf), -largest, largest))
        last.set(last.getParam("threshold"), threshold)
        return model, threshold
    threshold = _between(cut)
    if not last.hasParam("thresholds"):
        return _answering(model, lambda score: f"IF({score} > {threshold!r}D, 1D, 0D)"), threshold
    # LogisticRegression has both, which must agree, and reads one or the other depending on its family.
    last.set(last.getParam("thresholds"), [1.0 - threshold, threshold])
    if last.hasParam("threshold"):
        last.set(last.getParam("threshold"), threshold)
    return model, threshold


def _answering(model: Model, answer: Callable[[str], str]) -> PipelineModel:
    """Append stages of Spark that predict 1 or 0 by an expression in SQL of the score, whose name it is given."""
    last = last_stage(model)
    name, given = last.getOrDefault("predictionCol"), last.getOrDefault(score_parameter(last))
    sliced, score = added = [f"{name}_sliced", f"{name}_score"]
    # A regression on one feature with a slope of 1: its prediction is the entry of a vector as a number.
    known = [(Vectors.dense([value]), value) for value in (0.0, 1.0)]
    options: Keywords = {"solver": "normal", "fitIntercept": False, "standardization": False}
    line = LinearRegression(featuresCol=sliced, labelCol=score, **options)
    number = line.fit(SparkSession.active().createDataFrame(known, [sliced, score]))
    number.set(number.getParam("predictionCol"), score)
    slicer = VectorSlicer(inputCol=given, outputCol=sliced, indices=[1])
    return _followed(model, [slicer, number], added, answer_or_error(f"`{score}`", answer(f"`{score}`")))


def answer_in_sql(score: str, rule: RowCostRule, costs: RowCosts) -> str:
    """Return the answer to a row in SQL, 1 or 0, or the error that its costs are none."""
    decision, power = rule.decision, rule.power

    def clipped(value: str, most: float) -> str:
        return f"greatest({number_in_sql(-most)}, least({number_in_sql(most)}, {value}))"

    def shift(gain: str, loss: str) -> str:
        return f"(ln({gain}) - ln({loss}))"

    odds = score
    if rule.method == "predict_proba":
        inside = clipped(f"ln({score} / (1D - {score}))", LARGEST_LOG_ODDS)
        most = number_in_sql(LARGEST_LOG_ODDS)
        odds = f"(CASE WHEN {score} <= 0D THEN -{most} WHEN {score} >= 1D THEN {most} ELSE {inside} END)"
    if power:
        gain, loss = gain_and_loss(costs)
        finite = f"CASE WHEN {gain} > 0D AND {loss} > 0D THEN {shift(gain, loss)} ELSE 0D END"
        odds = f"({odds} - {number_in_sql(power)} * ({finite}))"
    if decision.is_calibrated:
        odds = f"{number_in_sql(decision.slope)} * {clipped(odds, decision.farthest)}"
    gain, loss = gain_and_loss(costs, decision.extra)
    odds = f"({odds} + {number_in_sql(decision.intercept)})"
    total = clipped(f"({odds} + {shift(gain, loss)})", LARGEST_LOG_ODDS)
    reversed_total = clipped(
        f"({number_in_sql(rule.cut)} - {odds} - {shift(f'-{gain}', f'-{loss}')})", LARGEST_LOG_ODDS
    )
    certain = f"CASE WHEN {gain} >= 0D AND {loss} <= 0D AND {gain} > {loss} THEN 1D ELSE 0D END"
    tuned = f"CASE WHEN round({total}, {DIGITS}) >= {number_in_sql(rule.cut)} THEN 1D ELSE 0D END"
    turned = (
        f"WHEN {gain} < 0D AND {loss} < 0D THEN CASE WHEN round({reversed_total}, {DIGITS}) >= 0D THEN 1D ELSE 0D END"
    )
    return f"CASE {wrong_costs_in_sql(costs)} WHEN {gain} > 0D AND {loss} > 0D THEN {tuned} {turned} ELSE {certain} END"


def answer_or_error(score: str, answer: str) -> str:
    """Return an answer in SQL that is an error where the score is missing, as it is of features that are."""
    message = "the model gives no score; fill missing features, or drop such rows"
    return f"CASE WHEN {score} IS NULL OR isnan({score}) THEN {error_in_sql(message)} ELSE {answer} END"


# ---------------------------------------------------------------- scores of classes


def _with_worth(model: Model, worth: Array) -> PipelineModel:
    """Append stages of Spark that predict the class k with the largest score, probabilities times ``worth[:, k]``."""
    last, size = last_stage(model), len(worth)
    name, given = last.getOrDefault("predictionCol"), last.getOrDefault("probabilityCol")
    answer, truth = f"{name}_found", f"{name}_truth"
    # A regression whose coefficients have no room: without a step it is the rule.
    bounds = DenseMatrix(size, size, worth.ravel())
    options: Keywords = {"family": "multinomial", "fitIntercept": False, "maxIter": 0}
    options |= {"rawPredictionCol": "", "probabilityCol": "", "predictionCol": answer}
    options |= {"lowerBoundsOnCoefficients": bounds, "upperBoundsOnCoefficients": bounds}
    known = [(Vectors.dense(row), float(code)) for code, row in enumerate(np.eye(size))]
    rows = SparkSession.active().createDataFrame(known, [given, truth])
    rule = LogisticRegression(featuresCol=given, labelCol=truth, **options).fit(rows)
    return _followed(model, [rule], [answer], f"`{answer}`")


def _followed(model: Model, more: list[Transformer], added: list[str], answer: str) -> PipelineModel:
    """Append stages and the prediction in SQL, without the columns that the stages have added."""
    last = last_stage(model)
    name = last.getOrDefault("predictionCol")
    half = f"{name}_half"
    last.set(last.getParam("predictionCol"), half)
    kept = ", ".join(f"`{column}`" for column in (half, *added))
    rule = SQLTransformer(statement=f"SELECT * EXCEPT ({kept}), {answer} AS `{name}` FROM __THIS__")
    before = model.stages if isinstance(model, PipelineModel) else [model]
    return PipelineModel(stages=[*before, *more, rule])


def _between(cut: float) -> float:
    """Return a probability between ``cut`` and the next smaller number of single precision."""
    with np.errstate(over="ignore"):
        single = np.float32(cut)
    if float(single) == cut and np.isfinite(cut):
        cut = 0.5 * cut + 0.5 * float(np.nextafter(single, np.float32(-np.inf)))
    return float(np.clip(cut, 0.0, 1.0))
