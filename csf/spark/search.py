"""SparkCostSearch: the cost search as an estimator of pyspark.ml."""

from __future__ import annotations

from inspect import signature
from typing import Any

from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame

from csf._common.validation import check_count
from csf.cluster import EngineSearch
from csf.search.config import SearchConfig
from csf.spark.base import SparkBase
from csf.spark.engine import SparkEngine
from csf.spark.frame import SparkData
from csf.spark.model import SparkCostSearchModel
from csf.spark.native import last_stage, with_threshold
from csf.spark.params import SHARED, SearchParams
from csf.spark.persistence import SearchReader, SearchWriter

__all__ = ["SparkCostSearch"]


class SparkCostSearch(Estimator, SearchParams, DefaultParamsReadable, DefaultParamsWritable):
    """Search class costs and the threshold on a Spark frame.

    What `csf.CostSearch` does, where the data are: each trial trains the estimator on the folds, with the costs times
    the user's weights in a column of its own. Held-out scores of up to 2**18 rows are collected, and winner and
    threshold chosen from them as in memory; of more rows nothing is collected that grows with them: the exact best
    threshold is found from counts (`csf.cluster.counted_cut`) that the executors make. The winner is Spark's own model
    with its threshold set. Executors need no csf.

    Parameters
    ----------
    estimator : pyspark.ml.Estimator
        Classifier with ``weightCol`` (LinearSVC, LogisticRegression, trees, forests, GBTClassifier, NaiveBayes,
        ``xgboost.spark.SparkXGBClassifier``), or a Pipeline that ends in one.
    estimatorParamMaps : list of dict, default=None
        Parameters to search together with the costs, as `pyspark.ml.tuning.ParamGridBuilder` makes them. They race as
        the settings of `csf.CostSearch` do where scores are collected: those that are behind with equal costs are
        trained no further.
    metric : str or Metric, default="f1"
        What is maximised, see `csf.CostSearch`.
    strategy : str, Strategy or callable, default="ladder"
        Where to train next: ``"ladder"`` is equal costs, those that balance the classes, and those in between.
    constraint : str or Constraint, default=None
        What the classifier must satisfy, e.g. ``"precision >= 0.8"``.
    nTrials : int, default=10
        Largest number of levels to train at, for each parameter map; the ladder has 3.
    threshold : {"stable", "tune", None}, default="stable"
        ``"tune"`` finds the threshold that maximises the metric. ``"stable"`` takes the mean of the best thresholds on
        bootstrap draws, and the trial that is on average a standard deviation better than equal costs; under a
        constraint and with more than 2**18 rows in folds it is the same as ``"tune"``. ``None`` keeps the classifier's
        own decision.
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
    normalize : {"none", "mean"}, default="mean"
        ``"mean"`` scales the weights of each training to the mean of the given ones.
    minGain : float, default=None
        Standard errors by which costs have to gain over equal ones, see `csf.CostSearch`; of no effect with more than
        2**18 rows in folds, of which chance decides little.
    bound : {"support", "diagonal", "envelope", "parambath"} or type, default="support"
        How ``upperBound`` is computed, see `csf.bounds`.
    tol : float, default=None
        Stop when the bound is within this of the best value, in units of the metric.
    timeLimit : float, default=None
        Seconds after which the search is over, the last training included: no trial begins that would end later.
    seed : int, default=0
        Seed of the folds and of every seed that the estimator leaves unset.
    parallelism : int, default=1
        Number of folds to train at a time.
    checkpoint : str, default=None
        File of the driver that keeps finished trials; the same search on the same data resumes from it. A checksum of
        all rows distinguishes the data from others.

    See Also
    --------
    csf.spark.SparkCostSearchModel : What ``fit`` returns.
    csf.dask.DaskCostSearch : The same on Dask.

    Notes
    -----
    The default search is that of `csf.CostSearch` for a base without a fast solver and ``param_grid=None``, as
    Spark's trainings start again each time. What differs, and why:

    - No C is searched. Spark's classifiers are not regularised unless they are asked to (``regParam=0``), and there are
      no multiples of nothing; give ``estimatorParamMaps``.
    - The folds are not repeated, however few the positives: each repeat would be as many trainings on a cluster again.
    - There are two classes, coded 0 and 1, so no ``pos_label`` or ``null_class``.
    - ``confidence`` is not offered: no rows are set apart that would decide which thresholds pass.
    - There is no ``report``, which judges predictions in memory, and no ``at_prevalence``: Spark's model does not keep
      the scores. ``results`` of the model is the table of the trials.

    Each training and each trial's scores read the frame once for each fold: where it is not persisted, the search keeps
    its rows in memory or on the executors' disks until it ends, however it ends. Scores that are not collected are kept
    in four narrow columns while a trial is counted. With pyarrow they are collected at once, without it row by row,
    some 20 microseconds for each. Probabilities are compared in single precision; LinearSVC's margins are not
    rounded.

    The time goes into Spark's own trainings, ``numFolds`` for each trial and one in the end: 16 for the default search,
    of some 50 jobs each for LogisticRegression. Ctrl-C keeps what is finished; a cancelled job (``cancelJobGroup``)
    ends the search with Spark's error. A search may be a stage of a `pyspark.ml.Pipeline`.

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
        metric: Any = SearchConfig.metric,
        strategy: Any = SearchConfig.strategy,
        constraint: Any = SearchConfig.constraint,
        nTrials: int = SearchConfig.n_trials,
        threshold: str | None = SearchConfig.threshold,
        numFolds: int = 5,
        foldCol: str | None = None,
        labelCol: str | None = None,
        weightCol: str | None = None,
        normalize: str = SearchConfig.normalize,
        minGain: float | None = SearchConfig.min_gain,
        bound: Any = SearchConfig.bound,
        tol: float | None = SearchConfig.tol,
        timeLimit: float | None = SearchConfig.time_limit,
        seed: int = 0,
        parallelism: int = 1,
        checkpoint: str | None = None,
    ) -> None:
        super().__init__()
        # Spark tells what was given from defaults, which this signature has.
        self._setDefault(**{each.name: each.default for each in signature(type(self)).parameters.values()})
        self._set(**self._input_kwargs)

    def setParams(self, **params: Any) -> SparkCostSearch:
        """Set parameters by their names; those that are not given stay as they are."""
        unknown = [name for name in params if not self.hasParam(name)]
        if unknown:
            known = ", ".join(param.name for param in self.params)
            raise TypeError(f"SparkCostSearch has no parameter {', '.join(unknown)}; it has {known}")
        return self._set(**params)

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
        if self.getEstimator() is not None:
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
        self._check(dataset)
        config = SearchConfig(
            base=self.getEstimator(),
            param_grid=None,
            **{theirs: self.getOrDefault(own) for own, theirs in SHARED.items()},
        )
        config.check_options({theirs: own for own, theirs in SHARED.items()})
        maps = self.getEstimatorParamMaps()
        bases = [SparkBase(config.base.copy(each), self.getSeed()) for each in maps]
        for base in bases:
            base.check_frame(dataset)
        data = self._data(dataset)
        with data.kept():
            engine = SparkEngine(
                data, tuned=config.tunes, parallelism=self.getParallelism(), checksum=config.checkpoint is not None
            )
            search = EngineSearch(engine, bases, [_setting(each) for each in maps], config)
            try:
                found = search.run()
            finally:
                engine.release()
            model, threshold = search.train_on_everything(found).model, found.threshold
        if threshold is not None:
            model, threshold = with_threshold(model, threshold)
        return SparkCostSearchModel.of(model, threshold, found)

    def _check(self, dataset: Any) -> None:
        """Raise an error for what no other part checks."""
        if not isinstance(dataset, DataFrame):
            raise TypeError(
                f"SparkCostSearch needs a Spark frame, got a {type(dataset).__name__}; for data in memory use "
                "csf.CostSearch, or spark.createDataFrame(...)"
            )
        if self.getEstimator() is None:
            raise ValueError("SparkCostSearch has no estimator; give one, e.g. estimator=LinearSVC()")
        SparkBase(self.getEstimator(), 0)
        maps = self.getEstimatorParamMaps()
        if not isinstance(maps, list) or not maps or not all(isinstance(each, dict) for each in maps):
            raise TypeError(f"estimatorParamMaps must be a list of dicts as of ParamGridBuilder, got {maps!r}")
        check_count(self.getNumFolds(), "numFolds", minimum=2)
        check_count(self.getParallelism(), "parallelism")

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
