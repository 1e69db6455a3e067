"""What a search on Spark found: Spark's own model, and what the trials said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml import Model
from pyspark.ml.util import MLReadable, MLWritable

from csf.search.results import cv_results
from csf.spark.persistence import ModelReader, ModelWriter
from csf.trials import Trial

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from pyspark.sql import DataFrame

    from csf.cluster import CountedCut
    from csf.search.fitted import SearchResults

__all__ = ["SparkCostSearchModel"]


class SparkCostSearchModel(Model, MLReadable, MLWritable):
    """What `SparkCostSearch` found.

    Parameters
    ----------
    bestModel : pyspark.ml.Model, default=None
        The winner.
    told : dict, default=None
        The other attributes below, but for ``trials`` and ``countedCuts``.
    trials : sequence of Trial, default=()
        All trials.

    Attributes
    ----------
    bestModel : pyspark.ml.Model
        Spark's own model, trained on all rows, with its threshold set: it is saved, loaded and served without csf.
        XGBoost's, which has no threshold, becomes a PipelineModel with stages of Spark that cut its probability.
    bestThreshold : float or None
        The threshold: a probability, or a raw margin for LinearSVC. More than that is positive. ``None`` where the
        model keeps its own decision.
    bestScore : float
        Value of the metric on the pooled held-out rows.
    bestCosts : tuple of float
        ``(c_fn, c_fp)``.
    bestLevel : float or None
        The level of the winner.
    bestParams : dict
        Its parameters out of ``estimatorParamMaps``.
    bestIndex : int
        Its place in ``trials``.
    upperBound, gap : float
        Best value still possible by the bound, and its distance from ``bestScore``.
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

    def __init__(self, bestModel: Any = None, told: dict[str, Any] | None = None, trials: Sequence[Trial] = ()) -> None:
        super().__init__()
        told = told or {}
        self.bestModel, self.trials, self.countedCuts = bestModel, list(trials), []
        self.bestThreshold: float | None = told.get("bestThreshold")
        self.bestScore: float = told.get("bestScore", np.nan)
        self.bestCosts: tuple[float, ...] = tuple(told.get("bestCosts", ()))
        self.bestLevel: float | None = told.get("bestLevel")
        self.bestParams: dict[str, Any] = told.get("bestParams", {})
        self.bestIndex: int = told.get("bestIndex", 0)
        self.upperBound: float = told.get("upperBound", np.nan)
        self.gap: float = told.get("gap", np.nan)
        self.stopReason: str = told.get("stopReason", "")
        self.feasible: bool = told.get("feasible", True)
        self.constraintValue: float | None = told.get("constraintValue")
        self.numFolds: int = told.get("numFolds", 0)
        self.settings: list[dict[str, Any]] = told.get("settings", [{}])

    @classmethod
    def of(
        cls,
        bestModel: Any,
        results: SearchResults,
        settings: list[dict[str, Any]],
        counted: list[CountedCut],
    ) -> SparkCostSearchModel:
        """Model of the results of a search.

        Parameters
        ----------
        bestModel : pyspark.ml.Model
            The winner.
        results : SearchResults
            What the trials say.
        settings : list of dict
            Parameters of the estimator for each setting.
        counted : list of CountedCut
            What the counts told.

        Returns
        -------
        SparkCostSearchModel
            The model.
        """
        told = {
            "bestThreshold": results.best_threshold_,
            "bestScore": results.best_score_,
            "bestCosts": results.best_cost_weights_,
            "bestLevel": results.best_t_,
            "bestParams": results.best_params_,
            "bestIndex": results.best_index_,
            "upperBound": results.upper_bound_,
            "gap": results.gap_,
            "stopReason": results.stop_reason_,
            "feasible": results.feasible_,
            "constraintValue": results.constraint_value_,
            "numFolds": results.n_splits_,
            "settings": settings,
        }
        model = cls(bestModel, told, results.trials_)
        model.countedCuts = counted
        return model

    @property
    def told(self) -> dict[str, Any]:
        """Attributes as plain values."""
        names = ("bestThreshold", "bestScore", "bestCosts", "bestLevel", "bestParams", "bestIndex", "upperBound")
        more = ("gap", "stopReason", "feasible", "constraintValue", "numFolds", "settings")
        return {name: getattr(self, name) for name in (*names, *more)}

    @property
    def results(self) -> PandasFrame:
        """Table of all trials (pandas), with the columns of ``csf.CostSearch().cv_results_``."""
        import pandas as pd

        return pd.DataFrame(cv_results(self.trials, self.settings, self.numFolds))

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
