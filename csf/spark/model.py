"""What a search on Spark found: Spark's own model, and what the trials gave."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import get_annotations
from typing import TYPE_CHECKING, Any

from pyspark.ml import Model
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable

from csf.search.results import cv_results
from csf.spark.persistence import ModelReader, ModelWriter
from csf.trials import Trial

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from pyspark.sql import DataFrame

    from csf._common.typing import Costs
    from csf.cluster import CountedCut
    from csf.search.outcome import SearchOutcome

__all__ = ["SparkCostSearchModel"]


class SparkCostSearchModel(Model, DefaultParamsReadable, DefaultParamsWritable):
    """What `SparkCostSearch` found.

    Parameters
    ----------
    bestModel : pyspark.ml.Model
        The winner.
    told : dict
        The attributes below, but for ``bestModel``, ``trials`` and ``countedCuts``.
    trials : sequence of Trial
        All trials.

    Attributes
    ----------
    bestModel : pyspark.ml.Model
        Spark's own model, trained on all rows, with its threshold set: it is saved, loaded and served without csf.
        XGBoost's, which has no threshold, becomes a PipelineModel with stages of Spark that apply the threshold to its
        probability.
    bestThreshold : float or None
        The threshold: a probability, or a raw margin for LinearSVC. More than that is positive. ``None`` where the
        model keeps its own decision.
    bestScore : float
        Value of the metric on the pooled held-out rows.
    correctedScore : float or None
        Value to expect on new data: ``bestScore`` without what choosing trial and threshold added to it. ``None`` where
        the held-out scores were too many to be collected, see `SparkCostSearch`.
    scoreInterval : tuple of float or None
        90 % interval for the value on new data, around ``correctedScore``.
    bestCosts : tuple of float
        ``(c_fn, c_fp)``.
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
    gain, gainByLuck, gainError : float or None
        What ``minGain`` compared, as ``gain_``, ``gain_by_luck_`` and ``gain_error_`` of `csf.CostSearch`.
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
    bestCosts: Costs
    bestLevel: float | None
    bestParams: dict[str, Any]
    bestIndex: int
    upperBound: float
    gap: float
    boundMargin: float
    stopReason: str
    feasible: bool
    constraintValue: float | None
    gain: float | None
    gainByLuck: float | None
    gainError: float | None
    numFolds: int
    settings: tuple[dict[str, Any], ...]

    def __init__(self, bestModel: Any, told: dict[str, Any], trials: Sequence[Trial]) -> None:
        super().__init__()
        self.bestModel, self.trials = bestModel, list(trials)
        self.countedCuts: list[CountedCut] = []
        for name, value in told.items():
            # Files know lists and no tuples.
            setattr(self, name, tuple(value) if isinstance(value, list) else value)

    @classmethod
    def of(cls, bestModel: Any, bestThreshold: float | None, found: SearchOutcome) -> SparkCostSearchModel:
        """Model of what a search found.

        Parameters
        ----------
        bestModel : pyspark.ml.Model
            The winner.
        bestThreshold : float or None
            Its threshold.
        found : SearchOutcome
            What the trials gave.

        Returns
        -------
        SparkCostSearchModel
            The model.
        """
        expected = None
        if found.store is not None:
            expected = found.question.answer(found.store)
        told = {
            "bestThreshold": bestThreshold,
            "bestScore": found.score,
            "correctedScore": None if expected is None else expected.corrected_score,
            "scoreInterval": None if expected is None else expected.score_interval,
            "bestCosts": found.winner.costs,
            "bestLevel": found.winner.t,
            "bestParams": found.params,
            "bestIndex": found.index,
            "upperBound": found.upper_bound,
            "gap": found.gap,
            "boundMargin": found.bound_margin,
            "stopReason": found.stop_reason,
            "feasible": found.feasible,
            "constraintValue": found.constraint_value,
            "gain": None if found.gain is None else found.gain.gain,
            "gainByLuck": None if found.gain is None else found.gain.luck,
            "gainError": None if found.gain is None else found.gain.error,
            "numFolds": found.n_splits,
            "settings": found.settings,
        }
        model = cls(bestModel, told, found.trials)
        model.countedCuts = list(found.counted)
        return model

    @property
    def told(self) -> dict[str, Any]:
        """Attributes as plain values."""
        return {name: getattr(self, name) for name in get_annotations(SparkCostSearchModel)}

    @property
    def results(self) -> PandasFrame:
        """Table of all trials (pandas), with the columns of ``csf.CostSearch().cv_results_``."""
        import pandas as pd

        return pd.DataFrame(cv_results(self.trials, list(self.settings), self.numFolds))

    def _transform(self, dataset: DataFrame) -> DataFrame:
        return self.bestModel.transform(dataset)

    def copy(self, extra: dict[Any, Any] | None = None) -> SparkCostSearchModel:
        """A copy.

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
        """Writer: ``model.write().overwrite().save(path)``."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """Reader of what `write` wrote: ``SparkCostSearchModel.load(path)``."""
        return ModelReader(cls)
