"""Parameters of the search, in the manner of `pyspark.ml.tuning.CrossValidator`."""

from __future__ import annotations

from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasParallelism, HasSeed

from csf.spark.native import last_stage

__all__ = ["SHARED", "SearchParams"]

# Parameters that are those of every search, and their names there.
SHARED = {
    "metric": "metric",
    "strategy": "strategy",
    "constraint": "constraint",
    "nTrials": "n_trials",
    "threshold": "threshold",
    "normalize": "normalize",
    "minGain": "min_gain",
    "bound": "bound",
    "tol": "tol",
    "timeLimit": "time_limit",
    "seed": "random_state",
    "checkpoint": "checkpoint",
}


def _param(name: str, doc: str, converter: Any = None) -> Any:
    return Param(Params._dummy(), name, doc, converter)  # type: ignore[arg-type]


class SearchParams(HasSeed, HasParallelism):
    """What `SparkCostSearch` takes as parameters, each with its ``get...`` method."""

    estimator = _param("estimator", "classifier with weightCol, or a Pipeline that ends in one")
    estimatorParamMaps = _param("estimatorParamMaps", "parameters of the estimator to search together with the costs")
    metric = _param("metric", "what is maximised: a name or a csf.metrics.Metric")
    strategy = _param("strategy", "where to train next: a name or a csf.strategies.Strategy")
    constraint = _param("constraint", "what the classifier must satisfy, e.g. 'precision >= 0.8'")
    nTrials = _param("nTrials", "largest number of levels for each parameter map", TypeConverters.toInt)
    threshold = _param("threshold", "'stable' or 'tune' finds a threshold; None keeps the classifier's own decision")
    numFolds = _param("numFolds", "number of folds, >= 2", TypeConverters.toInt)
    foldCol = _param(
        "foldCol", "column of fold numbers 0, 1, ...; -1 for rows that train only", TypeConverters.toString
    )
    labelCol = _param("labelCol", "column of labels 0 and 1", TypeConverters.toString)
    weightCol = _param("weightCol", "column of weights >= 0", TypeConverters.toString)
    normalize = _param("normalize", "'mean' keeps the mean weight of a training, 'none' does not")
    minGain = _param("minGain", "standard errors by which costs have to gain over equal ones", TypeConverters.toFloat)
    bound = _param("bound", "how the upper bound is computed")
    tol = _param("tol", "stop when the bound is within this of the best value", TypeConverters.toFloat)
    timeLimit = _param("timeLimit", "seconds after which no trial begins that would not end", TypeConverters.toFloat)
    checkpoint = _param("checkpoint", "file of the driver that keeps finished trials", TypeConverters.toString)

    def getEstimator(self) -> Any:
        """The classifier."""
        return self.getOrDefault(self.estimator)

    def getEstimatorParamMaps(self) -> list[dict[Param[Any], Any]]:
        """Parameters of the estimator that are searched."""
        maps = self.getOrDefault(self.estimatorParamMaps)
        return [{}] if maps is None else maps

    def getMetric(self) -> Any:
        """What is maximised."""
        return self.getOrDefault(self.metric)

    def getStrategy(self) -> Any:
        """Where is trained next."""
        return self.getOrDefault(self.strategy)

    def getConstraint(self) -> Any:
        """What the classifier must satisfy."""
        return self.getOrDefault(self.constraint)

    def getNTrials(self) -> int:
        """Largest number of levels."""
        return self.getOrDefault(self.nTrials)

    def getThreshold(self) -> str | None:
        """How the threshold is chosen, if it is."""
        return self.getOrDefault(self.threshold)

    def getNumFolds(self) -> int:
        """Number of folds."""
        return self.getOrDefault(self.numFolds)

    def getFoldCol(self) -> str | None:
        """Column of fold numbers; ``None`` where folds are hashed."""
        return self._named("foldCol")

    def getLabelCol(self) -> str:
        """Column of labels: that of the estimator where none is given."""
        name = self._named("labelCol")
        return self._of_estimator("labelCol") or "label" if name is None else name

    def getWeightCol(self) -> str | None:
        """Column of weights: that of the estimator where none is given; ``None`` without."""
        name = self._named("weightCol")
        return self._of_estimator("weightCol") if name is None else name

    def getNormalize(self) -> str:
        """Whether the mean weight of a training is kept."""
        return self.getOrDefault(self.normalize)

    def getMinGain(self) -> float | None:
        """Standard errors by which costs have to gain."""
        return self.getOrDefault(self.minGain)

    def getBound(self) -> Any:
        """How the upper bound is computed."""
        return self.getOrDefault(self.bound)

    def getTol(self) -> float | None:
        """Gap at which the search stops."""
        return self.getOrDefault(self.tol)

    def getTimeLimit(self) -> float | None:
        """Seconds that the search may take."""
        return self.getOrDefault(self.timeLimit)

    def getCheckpoint(self) -> str | None:
        """File of finished trials."""
        return self.getOrDefault(self.checkpoint)

    def _named(self, name: str) -> str | None:
        """A column, where one is given: Spark takes an empty name for none."""
        return (self.getOrDefault(name) or None) if self.isSet(name) else None

    def _of_estimator(self, name: str) -> str | None:
        last = last_stage(self.getEstimator())
        return last.getOrDefault(name) or None if last.hasParam(name) and last.isDefined(name) else None
