"""DaskCostSearch: the cost search on Dask arrays and frames that need not fit into any memory."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Estimator, Label, PathLike, RandomState_, Samples
from csf.cluster.folds import check_folds
from csf.cluster.loop import EngineSearch
from csf.costs.weights import check_class_weight
from csf.dask.collections import DaskData, require_dask
from csf.dask.engine import DaskEngine, base_kind
from csf.dask.lazy import mapped, profile_of
from csf.metrics import get_metric
from csf.metrics.aim import aim_of
from csf.search.arguments import check_arguments, with_setting
from csf.search.estimator import CostSearch
from csf.search.fitted import SearchResults
from csf.thresholding.cut_predictor import base_has
from csf.trainers import seeded

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraint import Constraint
    from csf.strategies.base import Strategy
    from csf.study.study import Bound

__all__ = ["DaskCostSearch"]


class DaskCostSearch(SearchResults, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Search class costs and the threshold on Dask collections; nothing that grows with the rows is collected.

    What `csf.CostSearch` does, where the data are: each trial trains the base on the folds by the cluster, and finds
    the exact best cut of the pooled held-out scores from counts (`csf.cluster.counted_cut`). It runs on whatever
    scheduler Dask is set to: a `distributed.Client`, or threads of this process.

    Parameters
    ----------
    base : estimator
        `sklearn.svm.LinearSVC` (squared hinge) or `sklearn.linear_model.LogisticRegression` (L2), whose objectives
        are minimised by Newton's method, a pass over the data for each step of all folds, with the duality gap as
        proof; `xgboost.dask.DaskXGBClassifier` or `lightgbm.DaskLGBMClassifier`, which need a cluster and its memory.
    metric : str or Metric, default="f1"
        What is maximised, see `csf.CostSearch`.
    strategy : str, Strategy or callable, default="cone"
        Where to train next.
    n_trials : int, default=10
        Largest number of levels to train at, for each setting of ``param_grid``.
    param_grid : dict or list of dict, default=None
        Parameters of the base to search together with the costs.
    constraint : str or Constraint, default=None
        What the classifier must satisfy, e.g. ``"precision >= 0.8"``.
    threshold : {"tune", None}, default="tune"
        ``"tune"`` finds the cut that maximises the metric; ``None`` keeps the base's own decision.
    cv : int or float, default=5
        Number of folds, or the share of the rows to hold out, in (0, 1): one training for each trial instead of five.
        A row's fold is a hash of its partition, its place there and ``random_state``: repartitioned data have other
        folds, and classes are not stratified. ``fit(folds=)`` takes folds of your own.
    refit : bool, default=True
        Train the winner on all data; needed to predict.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    normalize : {"none", "mean"}, default="none"
        ``"mean"`` scales the weights of each training to the mean of the given sample weights.
    bound : {"support", "diagonal", "envelope", "parambath"} or type, default="support"
        How ``upper_bound_`` is computed, see `csf.bounds`.
    tol : float, default=None
        Stop when the bound is within this of the best value, in units of the metric.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of every ``random_state`` that the base leaves unset.
    verbose : int, default=0
        1 shows a progress bar.
    error_score : "raise" or nan, default=nan
        What a failing training does: end the search, or be left out as failed.
    checkpoint : path-like, default=None
        File that keeps finished trials; the same search on the same data resumes from it after the client was lost.
        A checksum of all partitions tells the data from others, which makes the first pass read them all.
    callbacks : list of callable, default=None
        ``callback(study, trial)`` after each trial; a true result ends the search.

    Attributes
    ----------
    best_t_, best_cost_weights_, best_threshold_, best_score_, best_params_, best_index_ : object
        The winner, as in `csf.CostSearch`.
    best_estimator_ : estimator
        The winner, trained on all data (coded 0 and 1): an ordinary LinearSVC or LogisticRegression, or the fitted
        Dask classifier.
    upper_bound_, gap_, stop_reason_, feasible_, constraint_value_ : object
        As in `csf.CostSearch`. Bounds read the cuts between the bins that were counted, some thousand of them.
    trials_, studies_, cv_results_, n_trials_, n_splits_, refit_time_ : object
        As in `csf.CostSearch`.
    classes_, pos_label_, null_class_ : object
        The labels, the positive and the other one.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Number and names of the features.
    counted_cuts_ : list of CountedCut
        For each trial that was trained by this ``fit``: passes over the scores, and how many were listed.

    See Also
    --------
    csf.CostSearch : For data in memory; also on joblib's Dask backend, which trains many small models side by side.

    Notes
    -----
    Weights, labels and fold numbers must have the partitions of the samples; arrays with known chunks are aligned. A
    pass reads each partition anew, unless the collections were persisted. Workers may be lost: Dask computes their
    part again, and the boosting libraries, which need all workers until the end of a training, begin it again.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import LinearSVC
    >>> X, y = make_classification(4000, weights=[0.9], random_state=0)
    >>> dX, dy = da.from_array(X, chunks=(1000, -1)), da.from_array(y, chunks=1000)
    >>> search = DaskCostSearch(LinearSVC(), metric="f1", n_trials=4).fit(dX, dy)
    >>> search.best_score_
    0.652
    >>> search.predict(dX)
    dask.array<...shape=(4000,)...>
    """

    # What `csf.CostSearch` lets choose and this search does in one way.
    n_jobs, engine, weighting, bound_on, min_gain, null_class = None, "auto", "class", "validation", None, None
    confidence, time_limit = None, None

    def __init__(
        self,
        base: Estimator,
        metric: str | Metric = "f1",
        strategy: str | Strategy | Callable[..., Any] = "cone",
        *,
        n_trials: int = 10,
        param_grid: dict[str, Any] | list[dict[str, Any]] | None = None,
        constraint: str | Constraint | None = None,
        threshold: Literal["tune"] | None = "tune",
        cv: int | float = 5,
        refit: bool = True,
        pos_label: Label = None,
        normalize: Literal["none", "mean"] = "none",
        bound: Bound = "support",
        tol: float | None = None,
        random_state: RandomState_ = None,
        verbose: int = 0,
        error_score: str | float = np.nan,
        checkpoint: PathLike | None = None,
        callbacks: list[Callable[..., Any]] | None = None,
    ) -> None:
        self.base = base
        self.metric = metric
        self.strategy = strategy
        self.n_trials = n_trials
        self.param_grid = param_grid
        self.constraint = constraint
        self.threshold: Literal["tune"] | None = threshold
        self.cv = cv
        self.refit = refit
        self.pos_label = pos_label
        self.normalize: Literal["none", "mean"] = normalize
        self.bound: Bound = bound
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.error_score = error_score
        self.checkpoint = checkpoint
        self.callbacks = callbacks

    def fit(self, X: Samples, y: Any, sample_weight: Any = None, *, folds: Any = None) -> DaskCostSearch:
        """Search the costs and train the winner.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples.
        y : dask array or series of shape (n_samples,)
            Labels of two classes.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights >= 0; they count in every training, metric and bound.
        folds : dask array or series of int, shape (n_samples,), default=None
            Fold of each row instead of ``cv``: 0, 1, ..., or -1 for rows that are never held out.

        Returns
        -------
        DaskCostSearch
            ``self``, fitted.

        Raises
        ------
        ImportError
            Without Dask.
        TypeError
            If the data are no Dask collections or the base cannot be trained on them.
        ValueError
            If an argument or the data cannot be used, or every trial failed.
        """
        require_dask()
        check_arguments(self)
        self._forget()
        kind, metric = base_kind(self.base), aim_of(self)
        kind.check(self.base)  # before it is cloned, which some bases cannot be
        random_state = None if self.random_state is None else check_random_state(self.random_state)
        base = seeded(self.base, random_state)
        check_class_weight(base)
        settings = list(ParameterGrid(self.param_grid)) if self.param_grid is not None else [{}]
        bases = [with_setting(base, setting) for setting in settings]
        for each in bases:
            kind.check(each)
        seed = 0 if random_state is None else int(random_state.randint(2**31))
        data = DaskData(X, y, sample_weight, folds, check_folds(self.cv), seed)
        engine = DaskEngine(data, kind, pos_label=self.pos_label, checksum=self.checkpoint is not None)
        search = EngineSearch(
            engine,
            bases,
            settings,
            metric,
            strategy=self.strategy,
            n_trials=self.n_trials,
            tune=self.threshold == "tune",
            normalize=self.normalize,
            bound=self.bound,
            tol=self.tol,
            raise_errors=self.error_score == "raise",
            checkpoint=self.checkpoint,
            callbacks=list(self.callbacks or ()),
            verbose=self.verbose,
        )
        self._told = search.run()
        self._report(metric, self._told)
        self.classes_, self.null_class_, self.pos_label_ = engine.labels.classes, engine.labels.null, engine.pos_label
        self.studies_, self.counted_cuts_, self.n_features_in_ = search.studies, search.counted, data.n_features
        if data.feature_names is not None:
            self.feature_names_in_ = data.feature_names
        if self.refit:
            self._refit(search, engine)
        return self

    def _refit(self, search: EngineSearch, engine: DaskEngine) -> None:
        """Train the winner on everything."""
        start = time.perf_counter()
        winner = self.trials_[self.best_index_]
        model = search.train_on_everything(winner).model
        base = search.bases[winner.setting]
        self.best_estimator_ = engine.kind.fitted(base, model, engine.data.feature_names)
        if self.best_threshold_ is None:
            self.best_threshold_ = engine.kind.natural_threshold
        self.refit_time_ = time.perf_counter() - start

    def to_local(self) -> CostSearch:
        """This search as one in memory, which predicts without Dask.

        Returns
        -------
        CostSearch
            Fitted, with the same results and predictions.
        """
        check_is_fitted(self, "trials_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "this DaskCostSearch was fitted with refit=False and has no best_estimator_ to predict with; use "
                "refit=True"
            )
        model = base_kind(self.base).local(self.best_estimator_)
        search = CostSearch(
            model,
            self.metric,
            self.strategy,
            n_trials=self.n_trials,
            param_grid=self.param_grid,
            constraint=self.constraint,
            threshold=self.threshold,
            pos_label=self.pos_label,
            normalize=self.normalize,
            bound=self.bound,
            tol=self.tol,
            random_state=self.random_state,
        )
        search.classes_, search.null_class_, search.pos_label_ = self.classes_, self.null_class_, self.pos_label_
        search.studies_, search.refit_time_ = self.studies_, self.refit_time_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say about the results was said by `fit`
            search._report(aim_of(self), self._told)
        search._adopt(model, np.array([0, 1]), np.array([self.null_class_, self.pos_label_]))
        return search

    def predict(self, X: Samples) -> Any:
        """Labels by the winner and its threshold.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are predicted at once.

        Returns
        -------
        dask array of shape (n_samples,)
            Labels, as in ``classes_``; computed when they are asked for.
        """
        return mapped(self.to_local(), "predict", X, dtype=self.classes_.dtype)

    @available_if(base_has("decision_function", "predict_proba"))
    def decision_function(self, X: Samples) -> Any:
        """Score minus threshold, above 0 exactly where the second of ``classes_`` is predicted.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are scored at once.

        Returns
        -------
        dask array of shape (n_samples,)
            Scores; computed when they are asked for.
        """
        return mapped(self.to_local(), "decision_function", X, dtype=np.float64)

    @available_if(base_has("predict_proba"))
    def predict_proba(self, X: Samples) -> Any:
        """Class probabilities with the costs taken out again, see `csf.CostSearch.predict_proba`.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are scored at once.

        Returns
        -------
        dask array of shape (n_samples, 2)
            Probabilities in the order of ``classes_``; computed when they are asked for.
        """
        return mapped(self.to_local(), "predict_proba", X, dtype=np.float64, n_columns=2)

    def score(self, X: Samples, y: Any, sample_weight: Any = None) -> float:
        """Value of ``metric`` (not the accuracy) on new data, in one pass.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples.
        y : dask array or series of shape (n_samples,)
            Labels.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            The value of the predictions.
        """
        return get_metric(self.metric).of(profile_of(self.to_local(), DaskData(X, y, sample_weight, None, 2, 0)))
