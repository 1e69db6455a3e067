"""SparkCostSearch: the cost search as an estimator of pyspark.ml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame

from csf._validation import check_choice, check_count, check_path
from csf.cluster import EngineSearch
from csf.metrics.aim import aim
from csf.search.fitted import SearchResults
from csf.spark.base import SparkBase
from csf.spark.engine import SparkEngine
from csf.spark.frame import SparkData
from csf.spark.model import SparkCostSearchModel
from csf.spark.native import last_stage, with_threshold
from csf.spark.params import SearchParams
from csf.spark.persistence import SearchReader, SearchWriter

if TYPE_CHECKING:
    from csf.metrics.base import Metric

__all__ = ["SparkCostSearch"]


class SparkCostSearch(Estimator, SearchParams, MLReadable, MLWritable):
    """Search class costs and the threshold on a Spark frame; nothing that grows with the rows is collected.

    What `csf.CostSearch` does, where the data are: each trial trains the estimator on the folds, with the costs times
    the user's weights in a column of its own, and finds the exact best cut of the pooled held-out scores from counts
    (`csf.cluster.counted_cut`) that the executors make. The winner is Spark's own model with its threshold set.
    Executors need no csf.

    Parameters
    ----------
    estimator : pyspark.ml.Estimator
        Classifier with ``weightCol`` (LinearSVC, LogisticRegression, trees, forests, GBTClassifier, NaiveBayes,
        ``xgboost.spark.SparkXGBClassifier``), or a Pipeline that ends in one.
    estimatorParamMaps : list of dict, default=[{}]
        Parameters to search together with the costs, as `pyspark.ml.tuning.ParamGridBuilder` makes them.
    metric : str or Metric, default="f1"
        What is maximised, see `csf.CostSearch`.
    strategy : str, Strategy or callable, default="cone"
        Where to train next.
    constraint : str or Constraint, default=None
        What the classifier must satisfy, e.g. ``"precision >= 0.8"``.
    nTrials : int, default=10
        Largest number of levels to train at, for each parameter map.
    threshold : {"tune", None}, default="tune"
        ``"tune"`` finds the cut that maximises the metric; ``None`` keeps the classifier's own decision.
    numFolds : int, default=5
        Number of folds. A row's fold is a hash of its content and ``seed``: equal rows are in one fold, the order and
        the partitions do not matter, and classes are not stratified.
    foldCol : str, default=None
        Column of fold numbers instead: 0, 1, ..., or -1 for rows that are never held out. They must be below
        ``numFolds`` where that is given.
    labelCol : str, default=None
        Column of labels, 1 for the positive class and 0 for the other; ``None`` takes that of the estimator.
    weightCol : str, default=None
        Column of weights >= 0, which count in every training, metric and bound; ``None`` takes that of the estimator.
    normalize : {"none", "mean"}, default="none"
        ``"mean"`` scales the weights of each training to the mean of the given ones.
    bound : {"support", "diagonal", "envelope", "parambath"} or type, default="support"
        How ``upperBound`` is computed, see `csf.bounds`.
    tol : float, default=None
        Stop when the bound is within this of the best value, in units of the metric.
    seed : int, default=0
        Seed of the folds and of every seed that the estimator leaves unset.
    parallelism : int, default=1
        Number of folds to train at a time.
    checkpoint : str, default=None
        File of the driver that keeps finished trials; the same search on the same data resumes from it. A checksum of
        all rows tells the data from others.

    See Also
    --------
    csf.spark.SparkCostSearchModel : What ``fit`` returns.
    csf.dask.DaskCostSearch : The same on Dask.

    Notes
    -----
    Each training and each trial's scores read the frame once for each fold: persist it before. Scores are kept in four
    narrow columns, in memory or on the executors' disks, while a trial is counted. Probabilities are told apart in
    single precision; LinearSVC's margins are not rounded.

    Examples
    --------
    >>> from pyspark.ml.classification import LogisticRegression
    >>> search = SparkCostSearch(estimator=LogisticRegression(), metric="f1", numFolds=3)  # doctest: +SKIP
    >>> model = search.fit(frame)  # doctest: +SKIP
    >>> model.bestModel.write().save("model")  # Spark's own, with its threshold  # doctest: +SKIP
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        estimator: Estimator | None = None,
        estimatorParamMaps: list[dict[Any, Any]] | None = None,
        metric: Any = "f1",
        strategy: Any = "cone",
        constraint: Any = None,
        nTrials: int = 10,
        threshold: str | None = "tune",
        numFolds: int = 5,
        foldCol: str | None = None,
        labelCol: str | None = None,
        weightCol: str | None = None,
        normalize: str = "none",
        bound: Any = "support",
        tol: float | None = None,
        seed: int = 0,
        parallelism: int = 1,
        checkpoint: str | None = None,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self,
        *,
        estimator: Estimator | None = None,
        estimatorParamMaps: list[dict[Any, Any]] | None = None,
        metric: Any = "f1",
        strategy: Any = "cone",
        constraint: Any = None,
        nTrials: int = 10,
        threshold: str | None = "tune",
        numFolds: int = 5,
        foldCol: str | None = None,
        labelCol: str | None = None,
        weightCol: str | None = None,
        normalize: str = "none",
        bound: Any = "support",
        tol: float | None = None,
        seed: int = 0,
        parallelism: int = 1,
        checkpoint: str | None = None,
    ) -> SparkCostSearch:
        """Set parameters by their names; those that are not given stay as they are."""
        self._set(**self._input_kwargs)
        return self

    def copy(self, extra: dict[Any, Any] | None = None) -> SparkCostSearch:
        """A copy with other parameters, those of the estimator too.

        Parameters
        ----------
        extra : dict, default=None
            Parameters and their values.

        Returns
        -------
        SparkCostSearch
            The copy.
        """
        that = super().copy(extra)
        if self.isSet(self.estimator):
            that.setParams(estimator=self.getEstimator().copy(extra))
        return that

    def write(self) -> SearchWriter:
        """Writer of the unfitted search: ``search.write().overwrite().save(path)``."""
        return SearchWriter(self)

    @classmethod
    def read(cls) -> SearchReader:
        """Reader of what `write` wrote: ``SparkCostSearch.load(path)``."""
        return SearchReader(cls)

    # ---------------------------------------------------------------- the search

    def _fit(self, dataset: DataFrame) -> SparkCostSearchModel:
        metric = self._checked(dataset)
        maps, tuned = self.getEstimatorParamMaps(), self.getThreshold() == "tune"
        bases = [SparkBase(self.getEstimator().copy(each), self.getSeed()) for each in maps]
        for base in bases:
            base.check_frame(dataset)
        settings = [_setting(each) for each in maps]
        engine = SparkEngine(
            self._data(dataset),
            tuned=tuned,
            parallelism=self.getParallelism(),
            checksum=self.getCheckpoint() is not None,
        )
        search = EngineSearch(
            engine,
            bases,
            settings,
            metric,
            strategy=self.getStrategy(),
            n_trials=self.getNTrials(),
            tune=tuned,
            normalize=self.getNormalize(),
            bound=self.getBound(),
            tol=self.getTol(),
            checkpoint=self.getCheckpoint(),
        )
        try:
            told = SearchResults()
            told._report(metric, search.run())
        finally:
            engine.release()
        model = search.train_on_everything(told.trials_[told.best_index_]).model
        if told.best_threshold_ is not None:
            model, told.best_threshold_ = with_threshold(model, told.best_threshold_)
        return SparkCostSearchModel.of(model, told, settings, search.counted)

    def _checked(self, dataset: Any) -> Metric:
        """What is maximised; raises an error for parameters that no other part checks."""
        if not isinstance(dataset, DataFrame):
            raise TypeError(
                f"SparkCostSearch needs a Spark frame, got a {type(dataset).__name__}; for data in memory use "
                "csf.CostSearch, or spark.createDataFrame(...)"
            )
        if not self.isSet(self.estimator):
            raise ValueError("SparkCostSearch has no estimator; give one, e.g. estimator=LinearSVC()")
        SparkBase(self.getEstimator(), 0)
        maps = self.getEstimatorParamMaps()
        if not isinstance(maps, list) or not maps or not all(isinstance(each, dict) for each in maps):
            raise TypeError(f"estimatorParamMaps must be a list of dicts as of ParamGridBuilder, got {maps!r}")
        check_count(self.getNumFolds(), "numFolds", minimum=2)
        check_count(self.getParallelism(), "parallelism")
        check_choice(self.getThreshold(), "threshold", ("tune", None))
        check_choice(self.getNormalize(), "normalize", ("none", "mean"))
        check_path(self.getCheckpoint(), "checkpoint")
        return aim(self.getMetric(), self.getConstraint())

    def _data(self, dataset: DataFrame) -> SparkData:
        label, fold, last = self.getLabelCol(), self.getFoldCol(), last_stage(self.getEstimator())
        if last.isSet("labelCol") and last.getOrDefault("labelCol") != label:
            raise ValueError(
                f"labelCol={label!r} of the search is not that of {type(last).__name__}, "
                f"{last.getOrDefault('labelCol')!r}; set one of them only"
            )
        known = self.getNumFolds() if fold is None or self.isSet(self.numFolds) else None
        return SparkData(dataset, label, self.getWeightCol(), fold, known, self.getSeed(), self.uid)


def _setting(values: dict[Any, Any]) -> dict[str, Any]:
    """Names and values of a parameter map; names of two stages go with that of the stage."""
    names = [param.name for param in values]
    return {
        param.name if names.count(param.name) == 1 else f"{param.parent.rpartition('_')[0]}.{param.name}": value
        for param, value in values.items()
    }
