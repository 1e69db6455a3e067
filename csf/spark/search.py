"""Cost search as an estimator of pyspark.ml."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import get_annotations, signature
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasParallelism, HasSeed
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsReader, DefaultParamsWritable, DefaultParamsWriter
from pyspark.sql import DataFrame

from csf._common.sklearn import check_options, named_models, options_of
from csf._common.validation import check_count, check_fraction
from csf.distributed.local import RemoteClassifier, local_search, without_options_of_memory
from csf.distributed.plan import search_on
from csf.metrics.row_costs import row_costs
from csf.metrics.trials import Trial
from csf.search.config import SLOW, SearchConfig, SharedOptions, numbered
from csf.search.config import Model as SearchedModel
from csf.search.loop import Deadline
from csf.search.problems.binary_result import cv_results
from csf.search.problems.results import trial_table
from csf.spark.decisions import with_rule
from csf.spark.engine import (
    SparkBase,
    SparkData,
    SparkEngine,
    last_stage,
    score_method,
    stages,
)
from csf.thresholding.base import ScoredElsewhere

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from pyspark.sql import SparkSession

    from csf._common.typing import Costs
    from csf.distributed import CountedCut
    from csf.metrics import Constraint
    from csf.metrics.registry import MetricLike
    from csf.search.estimator import CostSearch
    from csf.search.planning import Outcome
    from csf.search.study import Bound
    from csf.strategies.base import StrategyLike

# ---------------------------------------------------------------- files


# Parameters of stages and their values, as `pyspark.ml.tuning.ParamGridBuilder` makes them.
ParamMap: TypeAlias = dict[Param[Any], Any]
# Parameters that are no plain values.
_APART = ("estimator", "estimatorParamMaps", "callbacks")


def _save(stage: Any, path: str, session: SparkSession) -> None:
    # Not all of Spark's classes say so, but all that there are can be written.
    stage.write().session(session).save(path)


def _loaded(path: str, session: SparkSession) -> Model:
    """Read a stage of Spark, whatever it is."""
    return DefaultParamsReader.loadParamsInstance(path, session)


class SearchWriter(DefaultParamsWriter):
    """Writer of a search that is not fitted."""

    instance: SparkCostSearch

    def saveImpl(self, path: str) -> None:
        """See `pyspark.ml.util.MLWriter`."""
        search = self.instance
        given = {param.name: search.getOrDefault(param) for param in search.params if search.isSet(param)}
        plain = {name: value for name, value in given.items() if name not in _APART}
        for name, value in plain.items():
            if not isinstance(value, str | int | float | None):
                raise ValueError(f"{name}={value!r} cannot be saved: give it by its name, e.g. metric='f1'")
        maps = [
            [{"parent": param.parent, "name": param.name, "value": value} for param, value in values.items()]
            for values in given.get("estimatorParamMaps") or []
        ]
        several, estimators = isinstance(given.get("estimator"), list), search.getEstimators()
        extra = {"estimatorParamMaps": maps, "nEstimators": len(estimators), "isList": several}
        DefaultParamsWriter.saveMetadata(search, path, self.sparkSession, extra, plain)
        for number, estimator in enumerate(estimators):
            _save(estimator, f"{path}/estimator{number}", self.sparkSession)


class SearchReader(DefaultParamsReader["SparkCostSearch"]):
    """Reader of files that `SearchWriter` wrote."""

    cls: type[SparkCostSearch]

    def load(self, path: str) -> SparkCostSearch:
        """See `pyspark.ml.util.MLReader`."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        search = self.cls()
        search._resetUid(metadata["uid"])
        for name, value in metadata["paramMap"].items():
            search.set(search.getParam(name), value)
        estimators = [_loaded(f"{path}/estimator{k}", self.sparkSession) for k in range(metadata["nEstimators"])]
        if estimators:
            search.setParams(estimator=estimators if metadata["isList"] else estimators[0])
            known = {stage.uid: stage for estimator in estimators for stage in (estimator, *stages(estimator))}
            maps = [
                {known[entry["parent"]].getParam(entry["name"]): entry["value"] for entry in entries}
                for entries in metadata["estimatorParamMaps"]
            ]
            if maps:
                search.setParams(estimatorParamMaps=maps)
        return search


class ModelWriter(DefaultParamsWriter):
    """Writer of the results of a search."""

    instance: SparkCostSearchModel

    def saveImpl(self, path: str) -> None:
        """See `pyspark.ml.util.MLWriter`."""
        model = self.instance
        extra = {"attributes": model.attributes, "trials": [trial.to_dict() for trial in model.trials]}
        DefaultParamsWriter.saveMetadata(model, path, self.sparkSession, extra)
        _save(model.bestModel, f"{path}/bestModel", self.sparkSession)


class ModelReader(DefaultParamsReader["SparkCostSearchModel"]):
    """Reader of files that `ModelWriter` wrote."""

    cls: type[SparkCostSearchModel]

    def load(self, path: str) -> SparkCostSearchModel:
        """See `pyspark.ml.util.MLReader`."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        best = _loaded(f"{path}/bestModel", self.sparkSession)
        trials = [Trial.from_dict(record) for record in metadata["trials"]]
        model = self.cls(best, metadata["attributes"], trials)
        model._resetUid(metadata["uid"])
        return model


# ---------------------------------------------------------------- parameters


# Parameters that are those of every search, by their names there.
_OF_ALL_SEARCHES = (
    *("metric", "strategy", "constraint", "n_trials", "threshold", "normalize", "bound", "tol", "time_limit"),
    *("checkpoint", "callbacks", "verbose"),
)
# How Spark converts what is given, by the types of parameters there.
_CONVERTERS = {
    "int": TypeConverters.toInt,
    "float | None": TypeConverters.toFloat,
    "PathLike | None": TypeConverters.toString,
}
SHARED = {re.sub("_(.)", lambda letter: letter[1].upper(), name): name for name in _OF_ALL_SEARCHES}
_PARAMETERS = {
    param: (options_of(SearchConfig)[name].words, _CONVERTERS.get(str(get_annotations(SharedOptions)[name])))
    for param, name in SHARED.items()
}
SHARED["seed"] = "random_state"
_OF_SPARK = {
    "estimator": ("classifier with weightCol, or a Pipeline that ends in one; or a list of several", None),
    "estimatorParamMaps": ("parameters of the estimator to search together with the costs", None),
    "numFolds": ("number of folds, >= 2", TypeConverters.toInt),
    "trainRatio": ("share of the rows to train on, once, instead of folds", TypeConverters.toFloat),
    "foldCol": ("column of fold numbers 0, 1, ...; -1 for rows that train only", TypeConverters.toString),
    "labelCol": ("column of labels 0 and 1, or 0, 1, ..., of several classes", TypeConverters.toString),
    "weightCol": ("column of weights >= 0", TypeConverters.toString),
}


def _getter(param: Param[object]) -> Callable[[SearchParams], object]:
    """Make a method that returns the value of a parameter."""

    def get(self: SearchParams) -> object:
        return self.getOrDefault(param.name)

    get.__doc__ = f"{param.doc[0].upper()}{param.doc[1:]}."
    return get


Kind = TypeVar("Kind", bound=type)


def _with_parameters(kind: Kind) -> Kind:
    """Decorate a class with the parameters, and each with a ``get...`` method unless it has one."""
    for name, (doc, converter) in (_OF_SPARK | _PARAMETERS).items():
        param = Param(Params._dummy(), name, doc, converter)
        setattr(kind, name, param)
        getter = f"get{name[0].upper()}{name[1:]}"
        if getter not in vars(kind):
            setattr(kind, getter, _getter(param))
    return kind


@_with_parameters
class SearchParams(HasSeed, HasParallelism):
    """Parameters of `SparkCostSearch`, each with its ``get...`` method."""

    def getEstimators(self) -> list[Estimator]:
        """Return the estimators, whether one or several are given."""
        given = self.getOrDefault("estimator")
        return [] if given is None else list(given) if isinstance(given, list | tuple) else [given]

    def getEstimatorParamMaps(self) -> list[ParamMap]:
        """Return the parameters of the estimator that are searched."""
        maps = self.getOrDefault("estimatorParamMaps")
        return [{}] if maps is None else maps

    def getFoldCol(self) -> str | None:
        """Return the column of fold numbers; ``None`` where folds are hashed."""
        return self._named("foldCol")

    def getLabelCol(self) -> str:
        """Return the column of labels; by default that of the estimator."""
        name = self._named("labelCol")
        return self._of_estimator("labelCol") or "label" if name is None else name

    def getWeightCol(self) -> str | None:
        """Return the column of weights; by default that of the estimator, ``None`` without one."""
        name = self._named("weightCol")
        return self._of_estimator("weightCol") if name is None else name

    def _named(self, name: str) -> str | None:
        """Return a column if one is set: Spark treats an empty name as none."""
        return (self.getOrDefault(name) or None) if self.isSet(name) else None

    def _of_estimator(self, name: str) -> str | None:
        last = last_stage(self.getEstimators()[0])
        return last.getOrDefault(name) or None if last.hasParam(name) and last.isDefined(name) else None


# ---------------------------------------------------------------- the fitted model


class SparkCostSearchModel(Model, DefaultParamsReadable, DefaultParamsWritable):
    """Result of a `SparkCostSearch`.

    Parameters
    ----------
    bestModel : pyspark.ml.Model
        The winner.
    attributes : dict
        The attributes below, but for ``bestModel``, ``trials`` and ``countedCuts``.
    trials : sequence of Trial
        All trials.

    Attributes
    ----------
    bestModel : pyspark.ml.Model
        Spark's own model, trained on all rows, with its threshold set: it is saved, loaded and served without csf.
        XGBoost's, which has no threshold, becomes a PipelineModel with stages of Spark that apply the threshold to its
        probability, and so does any model with costs of rows, with a stage that answers each row by its costs, and of
        several classes, with one that applies the rule of their probabilities.
    bestThreshold : float or None
        The threshold: a probability, or a raw margin for LinearSVC. More than that is positive. ``None`` where the
        model keeps its own decision, with costs of rows, and for several classes.
    bestScore : float
        Value of the metric on the pooled held-out rows.
    correctedScore : float or None
        Value to expect on new data: ``bestScore`` without what choosing trial and threshold added to it. ``None`` where
        the held-out scores were too many to be collected, see `SparkCostSearch`.
    scoreInterval : tuple of float or None
        90 % interval for the value on new data, around ``correctedScore``.
    bestCosts : tuple of float or None
        ``(c_fn, c_fp)``; ``None`` for several classes, which have equal weights in all trainings.
    bestLevel : float or None
        The level of the winner; ``None`` for strategies that choose costs.
    bestParams : dict
        Its parameters out of ``estimatorParamMaps``.
    bestIndex : int
        Its place in ``trials``.
    upperBound, gap : float
        Best value still possible by the bound, ``boundMargin`` included, and its distance from ``bestScore``.
    boundMargin : float
        What the noise of few positives added to the bound; 0 where the held-out scores were too many to be collected.
    stopReason : str
        Why the search ended.
    feasible : bool
        Whether the winner satisfies the constraint.
    constraintValue : float or None
        What the constraint compares, for the winner.
    numFolds : int
        Number of folds.
    trials : list of Trial
        All trials.
    countedCuts : list of CountedCut
        For each trial that was trained by this ``fit``: passes over the scores, and how many were listed. Not saved.
    """

    # What files keep, by these names.
    bestThreshold: float | None
    bestScore: float
    correctedScore: float | None
    scoreInterval: tuple[float, float] | None
    bestCosts: Costs | None
    bestLevel: float | None
    bestParams: dict[str, object]
    bestIndex: int
    upperBound: float
    gap: float
    boundMargin: float
    stopReason: str
    feasible: bool
    constraintValue: float | None
    numFolds: int
    settings: tuple[dict[str, object], ...]

    def __init__(self, bestModel: Model, attributes: Mapping[str, object], trials: Sequence[Trial]) -> None:
        super().__init__()
        self.bestModel, self.trials = bestModel, list(trials)
        self.countedCuts: list[CountedCut] = []
        self._local: CostSearch | None = None
        for name, value in attributes.items():
            # Files know lists and no tuples.
            setattr(self, name, tuple(value) if isinstance(value, list) else value)

    @classmethod
    def of(
        cls, bestModel: Model, bestThreshold: float | None, local: CostSearch, counted: Sequence[CountedCut]
    ) -> SparkCostSearchModel:
        """Make the model from the results of a search.

        Parameters
        ----------
        bestModel : pyspark.ml.Model
            The winner.
        bestThreshold : float or None
            Its threshold.
        local : CostSearch
            The results, in memory.
        counted : sequence of CountedCut
            Passes and counts behind each threshold.

        Returns
        -------
        SparkCostSearchModel
            The model.
        """
        result = local.result_
        attributes = {name: getattr(local, _published(name), None) for name in get_annotations(SparkCostSearchModel)}
        attributes |= {"bestThreshold": bestThreshold, "numFolds": result.n_splits, "settings": result.settings}
        model = cls(bestModel, attributes, result.trials)
        model.countedCuts, model._local = list(counted), local
        return model

    def to_local(self) -> CostSearch:
        """Convert the results to a search in memory without Spark: to show, to monitor, to change the prevalence.

        Returns
        -------
        CostSearch
            Fitted, with the same results, and the methods that read held-out scores: ``summary``, ``report``,
            ``monitor``, ``at_prevalence``. With LogisticRegression and LinearSVC outside of pipelines it predicts, for
            arrays with a column for each entry of the vectors and, where errors have costs in each row, for these costs
            (``fn_cost=`` and so on), and can be exported. Other models are Spark's own: there is no
            ``best_estimator_`` then, and `transform` predicts.

        Raises
        ------
        ValueError
            If the model was read from files, which keep no held-out scores.
        """
        if self._local is None:
            raise ValueError(
                "this model was read from files, which keep no held-out scores; save the search that to_local() of the "
                "fitted model returns beside it, e.g. with pickle"
            )
        return self._local

    @property
    def attributes(self) -> dict[str, object]:
        """Attributes as plain values."""
        return {name: getattr(self, name) for name in get_annotations(SparkCostSearchModel)}

    @property
    def results(self) -> PandasFrame:
        """Table of all trials (pandas), with the columns of ``csf.CostSearch().cv_results_``."""
        import pandas as pd

        given = self.trials, list(self.settings), self.numFolds
        several = len(self.trials[0].costs) > 2
        return pd.DataFrame(trial_table(*given, judged={}) if several else cv_results(*given))

    def _transform(self, dataset: DataFrame) -> DataFrame:
        return self.bestModel.transform(dataset)

    def copy(self, extra: ParamMap | None = None) -> SparkCostSearchModel:
        """Copy the model.

        Parameters
        ----------
        extra : dict, default=None
            Parameters of the best model and their values.

        Returns
        -------
        SparkCostSearchModel
            The copy.
        """
        that = super().copy(extra)
        that.bestModel = self.bestModel.copy(extra)
        return that

    def write(self) -> ModelWriter:
        """Return a writer: ``model.write().overwrite().save(path)``."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """Return a reader of files that `write` wrote: ``SparkCostSearchModel.load(path)``."""
        return ModelReader(cls)


# ---------------------------------------------------------------- SparkCostSearch


@without_options_of_memory
class SparkCostSearch(Estimator, SearchParams, DefaultParamsReadable, DefaultParamsWritable):
    """Search for class costs and a threshold on a Spark frame.

    It does what `csf.CostSearch` does, where the data are: each trial trains the estimator on the folds, with the costs
    times the user's weights in a column of its own. Held-out scores of up to 2**18 rows are collected, and winner and
    threshold chosen from them as in memory; of more rows nothing is collected that grows with them: the exact best
    threshold is found from counts (`csf.distributed.counted_cut`) that the executors make. The winner is Spark's own
    model with its threshold set. Executors need no csf.

    Parameters
    ----------
    estimator : pyspark.ml.Estimator or list of these
        Classifier with ``weightCol`` (LinearSVC, LogisticRegression, trees, forests, GBTClassifier, NaiveBayes,
        ``xgboost.spark.SparkXGBClassifier``), or a Pipeline that ends in one. Of several the best one is chosen as in
        `csf.CostSearch`, under one corrected score; they share labels and weights. With three or more classes all but
        LinearSVC, GBTClassifier and FMClassifier, whose models have two.
    estimatorParamMaps : list of dict, default=None
        Parameters to search together with the costs, as `pyspark.ml.tuning.ParamGridBuilder` makes them. They race as
        the settings of `csf.CostSearch` do where scores are collected: those that are behind with equal costs are
        trained no further. Of several estimators each has the maps whose parameters are its own.
    metric : str, Metric or RowCosts, default="f1"
        What is maximised, see `csf.CostSearch`; of several classes ``"f1_macro"``, ``"gmean"``, a cost matrix and
        others. Costs of rows are numbers or columns of the frame, and of two classes,
        ``RowCosts(fn="amount", fp=5.0)``; of more than 2**18 rows in folds a sample of so many decides on them.
    strategy : str, Strategy or callable, default="ladder"
        Where to train next: ``"ladder"`` is equal costs, those that balance the classes, and those in between.
    constraint : str or Constraint, default=None
        What the classifier must satisfy, e.g. ``"precision >= 0.8"``; of several classes ``"recall[2] >= 0.9"``.
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
    trainRatio : float, default=None
        Share of the rows to train on, in (0, 1); the others are held out, once. One training for each trial instead of
        ``numFolds``, as `pyspark.ml.tuning.TrainValidationSplit` makes it.
    foldCol : str, default=None
        Column of fold numbers instead: 0, 1, ..., or -1 for rows that are never held out. They must be below
        ``numFolds`` where that is given.
    labelCol : str, default=None
        Column of labels, 1 for the positive class and 0 for the other, or 0, 1, ..., K - 1 for 3 <= K <= 100 classes,
        which all occur; ``None`` takes that of the estimator.
    weightCol : str, default=None
        Column of weights >= 0, which count in every training, metric and bound; ``None`` takes that of the estimator.
    normalize : {"none", "mean"}, default="mean"
        ``"mean"`` scales the weights of each training to the mean of the given ones.
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
    callbacks : list of callable, default=None
        ``callback(study, trial)`` after each trial, on the driver; a true result ends the search. Not saved.
    verbose : int, default=0
        1 shows a progress bar.

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
    - Classes are coded, so there is no ``pos_label``; nor is there a ``null_class``. With three or more, all trainings
      have equal class weights, and estimators, ``estimatorParamMaps`` and the rule of the class probabilities are
      searched; of more than 2**18 rows in folds, a sample of so many decides.
    - ``confidence`` is not offered: no rows are set apart that would decide which thresholds pass.
    - ``summary``, ``report``, ``monitor`` and ``at_prevalence`` are those of `SparkCostSearchModel.to_local`.

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

    _input_kwargs: dict[str, object]

    @keyword_only
    def __init__(
        self,
        *,
        estimator: Estimator | list[Estimator] | None = None,
        estimatorParamMaps: list[ParamMap] | None = None,
        metric: MetricLike = SearchConfig.metric,
        strategy: StrategyLike = SearchConfig.strategy,
        constraint: str | Constraint | None = SearchConfig.constraint,
        nTrials: int = SearchConfig.n_trials,
        threshold: Literal["stable", "tune"] | None = "stable",
        numFolds: int = 5,
        trainRatio: float | None = None,
        foldCol: str | None = None,
        labelCol: str | None = None,
        weightCol: str | None = None,
        normalize: str = SearchConfig.normalize,
        bound: Bound = SearchConfig.bound,
        tol: float | None = SearchConfig.tol,
        timeLimit: float | None = SearchConfig.time_limit,
        seed: int = 0,
        parallelism: int = 1,
        checkpoint: str | None = None,
        callbacks: list[Callable[..., object]] | None = None,
        verbose: int = SearchConfig.verbose,
    ) -> None:
        super().__init__()
        # Spark tells what was given from defaults, which this signature has.
        self._setDefault(
            **{parameter.name: parameter.default for parameter in signature(type(self)).parameters.values()}
        )
        self._set(**self._input_kwargs)

    def setParams(self, **params: object) -> SparkCostSearch:
        """Set parameters by their names; those that are not given stay as they are."""
        unknown = [name for name in params if not self.hasParam(name)]
        if unknown:
            known = ", ".join(param.name for param in self.params)
            raise TypeError(f"SparkCostSearch has no parameter {', '.join(unknown)}; it has {known}")
        return self._set(**params)

    def copy(self, extra: ParamMap | None = None) -> SparkCostSearch:
        """Copy the search with other parameters, including those of the estimator.

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
        copies = [estimator.copy(extra) for estimator in self.getEstimators()]
        if copies:
            that.setParams(estimator=copies if isinstance(self.getOrDefault("estimator"), list | tuple) else copies[0])
        return that

    def write(self) -> SearchWriter:
        """Return a writer of the unfitted search: ``search.write().overwrite().save(path)``."""
        return SearchWriter(self)

    @classmethod
    def read(cls) -> SearchReader:
        """Return a reader of files that `write` wrote: ``SparkCostSearch.load(path)``."""
        return SearchReader(cls)

    # ---------------------------------------------------------------- the search

    def _fit(self, dataset: DataFrame) -> SparkCostSearchModel:
        self._check(dataset)
        config = SearchConfig(
            base=self.getEstimators(),
            param_grid=None,
            **{theirs: self.getOrDefault(param) for param, theirs in SHARED.items()},
        )
        check_options(config, {theirs: param for param, theirs in SHARED.items()})
        deadline = Deadline.of(config.time_limit)
        models, bases = self._planned()
        for base in bases:
            base.check_frame(dataset)
        data = self._data(dataset)
        with data.kept():
            options = {"parallelism": self.getParallelism(), "checksum": config.checkpoint is not None}
            engine = SparkEngine(data, bases, tuned=config.tunes, **options)
            try:
                plan, problem, outcome = search_on(engine, config, models, bases, deadline=deadline)
            finally:
                engine.release()
        elsewhere = ScoredElsewhere("", score_method(outcome.model), engine.labels.classes)
        rule = problem.rule_of(outcome.result, elsewhere, elsewhere.reads)
        deciding = with_rule(outcome.model, rule, data.costs)
        return SparkCostSearchModel.of(*deciding, _local(config, outcome, engine), plan.counted)

    def _check(self, dataset: object) -> None:
        """Raise an error for invalid parameters that are checked nowhere else."""
        if not isinstance(dataset, DataFrame):
            raise TypeError(
                f"SparkCostSearch needs a Spark frame, got a {type(dataset).__name__}; for data in memory use "
                "csf.CostSearch, or spark.createDataFrame(...)"
            )
        if not self.getEstimators():
            raise ValueError("SparkCostSearch has no estimator; give one, e.g. estimator=LinearSVC()")
        for estimator in self.getEstimators():
            SparkBase(estimator, 0)
        maps = self.getEstimatorParamMaps()
        if not isinstance(maps, list) or not maps or not all(isinstance(values, dict) for values in maps):
            raise TypeError(f"estimatorParamMaps must be a list of dicts as of ParamGridBuilder, got {maps!r}")
        check_count(self.getOrDefault("numFolds"), "numFolds", minimum=2)
        check_count(self.getParallelism(), "parallelism")
        if self.getOrDefault("trainRatio") is not None:
            check_fraction(self.getOrDefault("trainRatio"), "trainRatio")
            if self.getFoldCol() is not None or self.isSet("numFolds"):
                raise ValueError("trainRatio holds out one part, numFolds and foldCol several; give one of them")

    def _planned(self) -> tuple[list[SearchedModel], list[SparkBase]]:
        """Return the estimators, named and sorted as the models of `csf.CostSearch`, and a base for each setting."""
        estimators, left = self.getEstimators(), self.getEstimatorParamMaps()
        named: list[tuple[str | None, Estimator, list[ParamMap]]] = []
        if len(estimators) == 1:
            named.append((None, estimators[0], left))
            left = []
        else:
            left = [values for values in left if values]
            names = [name for name, _ in named_models([last_stage(estimator) for estimator in estimators]) or ()]
            for name, estimator in sorted(zip(names, estimators), key=itemgetter(0)):
                uids = {estimator.uid, *(stage.uid for stage in stages(estimator))}
                maps = [values for values in left if {param.parent for param in values} <= uids]
                left = [values for values in left if values not in maps]
                named.append((name, estimator, maps or [{}]))
        if left:
            raise ValueError(f"estimatorParamMaps holds {left[0]!r}, whose parameters are not those of one estimator")
        models = [SearchedModel(name, base, None, [*map(_setting, maps)], effort=SLOW) for name, base, maps in named]
        bases = [SparkBase(base.copy(values), self.getSeed()) for _, base, maps in named for values in maps]
        return numbered(models), bases

    def _data(self, dataset: DataFrame) -> SparkData:
        label, fold, lasts = (
            self.getLabelCol(),
            self.getFoldCol(),
            [last_stage(estimator) for estimator in self.getEstimators()],
        )
        for last in lasts:
            if last.isSet("labelCol") and last.getOrDefault("labelCol") != label:
                raise ValueError(
                    f"labelCol={label!r} of the search is not that of {type(last).__name__}, "
                    f"{last.getOrDefault('labelCol')!r}; set one of them only"
                )
        known = self.getOrDefault("numFolds") if fold is None or self.isSet("numFolds") else None
        known = known if self.getOrDefault("trainRatio") is None else 1.0 - self.getOrDefault("trainRatio")
        # XGBoost takes NaN, and pipelines make their features.
        unpiped = [
            last for last in lasts if last in self.getEstimators() and type(last).__module__.startswith("pyspark.")
        ]
        features = unpiped[0].getOrDefault("featuresCol") if unpiped else None
        costs = row_costs(self.getOrDefault("metric"))
        return SparkData(dataset, label, self.getWeightCol(), fold, known, self.getSeed(), self.uid, features, costs)


def _published(name: str) -> str:
    """Return the attribute of searches in memory for one of the model."""
    renamed = {"bestCosts": "best_cost_weights", "bestLevel": "best_t"}
    return renamed.get(name, re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)) + "_"


def _local(config: SearchConfig, outcome: Outcome, engine: SparkEngine) -> CostSearch:
    """Convert the results to a search in memory, which predicts if the model is available there."""
    result, rule = outcome.result, outcome.rule
    names = [type(estimator).__name__ for estimator in config.base]
    base = RemoteClassifier(names[0] if len(names) == 1 else "several models")
    base = base if rule is None else type(rule.estimator)()
    return local_search(config, base, result, rule, engine.published)


def _setting(values: ParamMap) -> dict[str, object]:
    """Return names and values of a parameter map; a name that two stages share is prefixed by the stage."""
    names = [param.name for param in values]
    return {
        param.name if names.count(param.name) == 1 else f"{param.parent.rpartition('_')[0]}.{param.name}": value
        for param, value in values.items()
    }
