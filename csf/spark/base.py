"""Classifiers of pyspark.ml as a search calls them: copies that are trained with weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.ml import Estimator, Model, Pipeline

from csf.spark.native import last_stage, score_parameter, stages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from csf.spark.frame import SparkData

__all__ = ["SparkBase"]


class SparkBase:
    """A classifier of pyspark.ml with ``weightCol``, or a pipeline that ends in one, in a copy of its own."""

    def __init__(self, estimator: Estimator, seed: int) -> None:
        self._check(estimator)
        self.estimator = estimator.copy()
        # Spark's own default seed differs in each process.
        for stage in stages(self.estimator):
            if stage.hasParam("seed") and not stage.isSet("seed"):
                stage.set(stage.getParam("seed"), seed)

    def __getstate__(self) -> list[Any]:
        """What tells it from others in every process: names and parameters, without the uids."""
        whole = list(stages(self.estimator))
        names = {stage.uid: f"stage{k}" for k, stage in enumerate(whole)}
        return [_description(stage, names) for stage in whole]

    @staticmethod
    def _check(estimator: Any) -> None:
        wanted = "estimator must be a classifier of pyspark.ml with weightCol, or a Pipeline that ends in one"
        if not isinstance(estimator, Estimator):
            raise TypeError(f"{wanted}, e.g. LinearSVC() of pyspark.ml.classification; got {estimator!r}")
        if isinstance(estimator, Pipeline) and not (estimator.isSet("stages") and estimator.getStages()):
            raise TypeError(f"{wanted}, got a Pipeline without stages")
        last = last_stage(estimator)
        if not last.hasParam("weightCol"):
            raise TypeError(f"{wanted}; {type(last).__name__} takes no weights, and costs are weights")
        if not (last.hasParam("probabilityCol") or (last.hasParam("threshold") and last.hasParam("rawPredictionCol"))):
            raise TypeError(f"{wanted}; {type(last).__name__} gives neither probabilities nor margins with a threshold")
        for name in ("labelCol", "predictionCol", score_parameter(last)):
            if not last.getOrDefault(name):
                raise ValueError(f"{type(last).__name__}({name}='') hides what the search reads; give it a name")

    def check_frame(self, frame: DataFrame) -> None:
        """Raise an error where the frame already has a column that the classifier adds."""
        last = last_stage(self.estimator)
        names = [
            last.getOrDefault(name)
            for name in ("predictionCol", "rawPredictionCol", "probabilityCol")
            if last.hasParam(name)
        ]
        taken = [name for name in names if name in frame.columns]
        if taken:
            raise ValueError(
                f"the frame has columns {', '.join(taken)} already, which {type(last).__name__} adds; drop them, or "
                "name the classifier's columns otherwise"
            )

    def trained(self, data: SparkData, fold: int | None, costs: tuple[float, float]) -> Model:
        """A model that does not know of the columns that were added."""
        estimator = self.estimator.copy()
        last = last_stage(estimator)
        own = last.getOrDefault("weightCol") if last.isDefined("weightCol") else ""
        last.set(last.getParam("labelCol"), data.label)
        last.set(last.getParam("weightCol"), data.weight_name)
        model = estimator.fit(data.training_rows(fold, costs))
        inner = last_stage(model)
        if inner.hasParam("weightCol"):
            inner.set(inner.getParam("weightCol"), own)
        return model


def _description(stage: Any, names: dict[str, str]) -> Any:
    """Plain values that tell a stage from others."""
    # What a fitted stage has learnt is known by its uid alone, which it keeps on disk.
    own = "" if isinstance(stage, Estimator) or not isinstance(stage, Model) else stage.uid
    values = {param.name: _plain(value, names) for param, value in stage.extractParamMap().items()}
    return [type(stage).__module__, type(stage).__qualname__, own, values]


def _plain(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        for uid, name in names.items():
            value = value.replace(uid, name)
        return value
    if isinstance(value, list | tuple):
        return [_plain(each, names) for each in value]
    return value if isinstance(value, bool | int | float | None) else repr(value)
