"""What models of pyspark.ml decide by themselves: their scores, and the threshold that is set to decide otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LinearSVC
from pyspark.ml.feature import SQLTransformer, VectorSlicer
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from csf.spark.frame import named_column

if TYPE_CHECKING:
    from pyspark.ml import Model
    from pyspark.ml.param import Params
    from pyspark.sql import Column, DataFrame

__all__ = ["last_stage", "own_cut", "score_parameter", "scored", "stages", "with_threshold"]


def stages(stage: Any) -> Iterator[Any]:
    """An estimator or model, or all stages of a pipeline, those of inner pipelines too."""
    if isinstance(stage, Pipeline | PipelineModel):
        for inner in stage.getStages() if isinstance(stage, Pipeline) else stage.stages:
            yield from stages(inner)
    else:
        yield stage


def last_stage(stage: Any) -> Any:
    """The classifier: the last stage of a pipeline, or the whole."""
    return list(stages(stage))[-1]


def score_parameter(last: Params) -> str:
    """Parameter that names the column of scores: probabilities, or margins where the threshold is one (LinearSVC)."""
    return "rawPredictionCol" if _by_margin(last) else "probabilityCol"


def scored(model: Model, rows: DataFrame, *, tuned: bool) -> tuple[DataFrame, Column]:
    """Rows with what the model says of them, and the score: the predicted label where no threshold is wanted."""
    last = last_stage(model)
    told = model.transform(rows)
    if not tuned:
        return told, named_column(last.getOrDefault("predictionCol")).cast("double")
    score = vector_to_array(named_column(last.getOrDefault(score_parameter(last))))[1]
    # Probabilities that differ by less than single precision are often equal but for rounding, and no threshold of
    # Spark's models parts them reliably.
    score = score if _by_margin(last) else score.cast("float").cast("double")
    # There are two zeros, of which Spark sorts one before the other.
    return told, F.when(score == 0.0, F.lit(0.0)).otherwise(score)


def own_cut(model: Model, *, tuned: bool) -> float:
    """See `csf.cluster.Scored`."""
    last = last_stage(model)
    if not tuned:
        return 0.5
    if last.hasParam("thresholds") and last.isSet("thresholds"):
        negative, positive = last.getOrDefault("thresholds")
        own = positive / (negative + positive)
    elif last.hasParam("threshold"):
        own = last.getOrDefault("threshold")
    else:
        own = 0.5
    return float(np.nextafter(own, np.inf))


def with_threshold(model: Model, cut: float) -> tuple[Model, float]:
    """The model, changed, and the threshold that makes it find what scores at least ``cut``: Spark asks for more."""
    last = last_stage(model)
    if _by_margin(last):
        largest = sys.float_info.max
        threshold = float(np.clip(np.nextafter(cut, -np.inf), -largest, largest))
        last.set(last.getParam("threshold"), threshold)
        return model, threshold
    threshold = _between(cut)
    if not last.hasParam("thresholds"):
        return _decided(model, threshold), threshold
    # LogisticRegression has both, which must agree, and reads one or the other depending on its family.
    last.set(last.getParam("thresholds"), [1.0 - threshold, threshold])
    if last.hasParam("threshold"):
        last.set(last.getParam("threshold"), threshold)
    return model, threshold


def _decided(model: Model, threshold: float) -> PipelineModel:
    """The model followed by stages of Spark that cut its probability, for models that always cut at a half."""
    last = last_stage(model)
    name, given = last.getOrDefault("predictionCol"), last.getOrDefault("probabilityCol")
    added = [f"{name}_{what}" for what in ("half", "score", "margin")]
    last.set(last.getParam("predictionCol"), added[0])
    # A linear model of one feature, whose sign is known: its margin is a multiple of the probability.
    line = LinearSVC(fitIntercept=False, standardization=False, maxIter=1, featuresCol=added[1], labelCol="label")
    known = [(Vectors.dense([value]), value) for value in (0.0, 1.0)]
    rule = line.fit(SparkSession.active().createDataFrame(known, [added[1], "label"]))
    rule.set(rule.getParam("threshold"), float(rule.coefficients[0]) * threshold)
    rule.set(rule.getParam("predictionCol"), name)
    rule.set(rule.getParam("rawPredictionCol"), added[2])
    slicer = VectorSlicer(inputCol=given, outputCol=added[1], indices=[1])
    kept = SQLTransformer(statement=f"SELECT * EXCEPT ({', '.join(f'`{each}`' for each in added)}) FROM __THIS__")
    before = model.stages if isinstance(model, PipelineModel) else [model]
    return PipelineModel(stages=[*before, slicer, rule, kept])


def _between(cut: float) -> float:
    """Probability that parts the numbers of single precision from a cut on from those below."""
    with np.errstate(over="ignore"):
        single = np.float32(cut)
    if float(single) == cut and np.isfinite(cut):
        cut = 0.5 * cut + 0.5 * float(np.nextafter(single, np.float32(-np.inf)))
    return float(np.clip(cut, 0.0, 1.0))


def _by_margin(last: Params) -> bool:
    """Whether the classifier's threshold is one of raw margins."""
    return last.hasParam("threshold") and not last.hasParam("thresholds")
