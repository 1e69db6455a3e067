"""Cost search on Dask arrays and frames that need not fit into any memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf._common.sklearn import with_parameters
from csf._common.typing import Array, Estimator, Label, PathLike, RandomState_, Samples
from csf.dask.collections import (
    DaskData,
    LostWorkers,
    RawPart,
    check_labels_given,
    is_array,
    is_frame,
    require_dask,
)
from csf.dask.engine import DaskEngine, base_kind
from csf.data.costs import check_class_weight
from csf.distributed.engine import EngineSearch, check_folds, local_search
from csf.metrics import get_metric
from csf.metrics.profile import ErrorProfile
from csf.search.config import BEYOND, MULTIPLES, NO_MEAN_OF_FOLDS, SearchConfig, has_fast_solver, settings_of
from csf.search.estimator import CostSearch
from csf.search.fitted import FittedSearch, class_attributes
from csf.search.planning import with_setting
from csf.search.problems.binary import BinaryResult
from csf.thresholding.rule import ThresholdRule, base_has
from csf.trainers import seeded

if TYPE_CHECKING:
    from dask.array import Array as DaskArray

    from csf.dask.collections import Column
    from csf.metrics.constraints import Constraint
    from csf.metrics.registry import MetricLike
    from csf.search.config import Grid
    from csf.search.study import Bound
    from csf.strategies.base import StrategyLike
    from csf.trainers.base import Training

# ---------------------------------------------------------------- lazy predictions


def mapped(rule: ThresholdRule, method: str, X: Samples, *, dtype: Any, n_columns: int | None = None) -> DaskArray:
    """Apply a method of a rule to samples, lazily if these are lazy; ``n_columns=None`` for one dimension."""
    columns = () if n_columns is None else (n_columns,)
    ask = _Asked(rule, method, np.empty((0, *columns), dtype=dtype))
    if is_array(X):
        X = X.rechunk({1: -1})
        shape = {"drop_axis": 1} if n_columns is None else {"chunks": (X.chunks[0], columns)}
        return X.map_blocks(ask, dtype=dtype, meta=ask.empty, **shape)
    if is_frame(X):
        import dask.array as da
        from dask.delayed import delayed

        whole = delayed(ask, pure=False, traverse=False)
        parts = [da.from_delayed(whole(part), (np.nan, *columns), dtype) for part in X.to_delayed()]
        return da.concatenate(parts, allow_unknown_chunksizes=True)
    return getattr(rule, method)(X)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Method of a rule for one partition; an empty one is skipped, as some libraries refuse it."""

    rule: ThresholdRule
    method: str
    empty: Array

    def __call__(self, X: Samples) -> Array:
        return getattr(self.rule, self.method)(X) if X.shape[0] else self.empty


def profile_of(rule: ThresholdRule, data: DaskData) -> ErrorProfile:
    """Compute the errors of a rule on collections, in one pass."""
    (tn, fp), (fn, tp) = data.reduced(partial(_judged, rule=rule), partial(np.sum, axis=0)).tolist()
    return ErrorProfile.from_counts(tp=tp, fp=fp, fn=fn, tn=tn)


def _judged(part: RawPart, *, rule: ThresholdRule) -> Array:
    """Sum the weights of one partition by truth and prediction."""
    check_labels_given(part)
    import pandas

    # numpy would compare texts and numbers as texts.
    for label in set(pandas.unique(part.y).tolist()).difference(rule.names.tolist()):
        raise ValueError(
            f"y holds the label {label!r} in partition {part.index}, the search knows {sorted(rule.names)}"
        )
    predicted = _Asked(rule, "predict", rule.names[:0])(part.X)
    cells = 2 * (part.y != rule.null) + (predicted != rule.null)
    return np.bincount(cells, weights=part.weight, minlength=4).reshape(2, 2).astype(np.float64)


# ---------------------------------------------------------------- DaskCostSearch


# Parameters that a search in memory does not take over from one on Dask, and attributes that it does.
_LEFT = ("base", "checkpoint", "callbacks")
_TAKEN = [
    "classes_",
    "class_count_",
    "null_class_",
    "pos_label_",
    "n_features_in_",
    "feature_names_in_",
    "refit_time_",
    "max_sample_weight_",
]


@with_parameters
class DaskCostSearch(FittedSearch, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Search for class costs and a threshold on Dask collections, which are not moved.

    It does what `csf.CostSearch` does, with the same defaults except ``cv``, where the data are: each trial trains the
    base on the folds by the cluster. It runs on any scheduler that Dask is set to: a `distributed.Client`, or threads
    of this process. With the same folds, its results are those of `csf.CostSearch`. Where the folds hold 2^20 rows at
    most, their scores (8 bytes for each row and trial, never the samples) are collected for that; of more rows, counts
    and the scores of a sample are collected, see Notes.

    Parameters
    ----------
    base : estimator
        `sklearn.svm.LinearSVC` (squared hinge) or `sklearn.linear_model.LogisticRegression` (L2), whose objectives
        are minimised by Newton's method, a pass over the data for each step of all folds and settings, with the duality
        gap as proof; a pipeline of `StandardScaler`, `MinMaxScaler` or `MaxAbsScaler` that ends in one of them, whose
        scalers learn the training part of each fold in the first pass; `xgboost.dask.DaskXGBClassifier` or
        `lightgbm.DaskLGBMClassifier`, which need a cluster and its memory.
    metric : str or Metric, default="f1"
        What is maximised, see `csf.CostSearch`.
    strategy : str, Strategy or callable, default="ladder"
        Where to train next.
    n_trials : int, default=10
        Largest number of levels to train at, for each setting of ``param_grid``; the ladder has 6 for linear bases and
        3 for boosting.
    param_grid : dict, list of dict, "auto" or None, default="auto"
        Parameters of the base to search together with the costs; ``"auto"`` searches the C of linear bases, and keeps
        the number of rounds of boosting.
    constraint : str or Constraint, default=None
        What the classifier must satisfy, e.g. ``"precision >= 0.8"``.
    threshold : {"stable", "tune", None}, default="stable"
        How the threshold and the winner are chosen, see `csf.CostSearch`.
    cv : int or float, default=5
        Number of folds, or the share of the rows to hold out, in (0, 1): one training for each trial instead of five.
        A row's fold is a hash of its partition, its place there and ``random_state``, as nothing that grows with the
        rows is shuffled: repartitioned data have other folds, and classes are not stratified. Folds are not repeated,
        as each repeat would be a pass over data that are large. ``fit(folds=)`` takes folds of your own.
    refit : bool, default=True
        Train the winner on all data; needed to predict.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    normalize : {"mean", "none"}, default="mean"
        ``"mean"`` scales the weights of each training to the mean of the given sample weights.
    min_gain : float, default=None
        Keep equal costs unless the best trial gains this many standard errors more than chance gives, see
        `csf.CostSearch`.
    bound : {"support", "diagonal", "envelope", "parambath"} or type, default="support"
        How ``upper_bound_`` is computed, see `csf.bounds`.
    tol : float, default=None
        Stop when the bound is within this of the best value, in units of the metric.
    time_limit : float, default=None
        Seconds after which the search ends with the trials that it has, see `csf.CostSearch`.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of every ``random_state`` that the base leaves unset.
    verbose : int, default=0
        1 shows a progress bar.
    error_score : "raise" or nan, default=nan
        What a failing training does: end the search, or be left out as failed.
    checkpoint : path-like, default=None
        File that keeps finished trials; the same search on the same data resumes from it after the client was lost.
        A checksum of all partitions distinguishes the data from others, which makes the first pass read them all.
    callbacks : list of callable, default=None
        ``callback(study, trial)`` after each trial; a true result ends the search.

    Attributes
    ----------
    best_estimator_ : estimator
        The winner, trained on all data: an ordinary LinearSVC or LogisticRegression, or the fitted Dask classifier,
        which knows 0 for the first and 1 for the last of the labels.
    best_t_, best_cost_weights_, best_threshold_, best_score_, best_params_, best_index_ : object
        The winner, as in `csf.CostSearch`; the threshold is for `score_samples`, on the scale of a search in memory.
    corrected_score_, score_interval_, threshold_interval_, held_out_ : object
        As in `csf.CostSearch`; those of a sample where the rows are many, see Notes.
    upper_bound_, gap_, bound_margin_, stop_reason_, feasible_, constraint_value_ : object
        As in `csf.CostSearch`. Bounds read the thresholds between the bins that were counted, some thousand of them.
    gain_, gain_by_chance_, gain_error_ : float
        As in `csf.CostSearch`, with ``min_gain``.
    trials_, studies_, cv_results_, n_trials_, n_splits_, refit_time_ : object
        As in `csf.CostSearch`.
    classes_, class_count_, pos_label_, null_class_ : object
        The labels and their numbers of rows, the positive and the other one.
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
    pass reads each partition again, unless the collections were persisted, and must find the same rows in the same
    order. Data that fit in memory took 10 to 84 times the processor time of `csf.CostSearch` here. Where a worker is
    lost, Dask computes its part again; where none is at work for two minutes, lost or paused, it is a RuntimeError. The
    boosting libraries need all workers until the end of a training: where one leaves, it is a RuntimeError too. A
    search with ``checkpoint`` goes on where it was when it is fitted again.

    Where the folds hold more than 2^20 rows, their scores stay in the partitions, and the exact best threshold of each
    trial comes from counts (`csf.distributed.counted_cut`); ``"stable"`` is ``"tune"`` then, as chance moves such a
    threshold little. A sample of 2^18 rows does the rest. It has as many rows of both classes, or all of the rarer one,
    with weights by which they stand for all, and stays on the workers. Settings race there with equal costs: those
    that are behind are not trained on all rows, and are not among ``trials_``. ``held_out_``, the corrections,
    ``min_gain``, ``bound_margin_`` and `at_prevalence` read its scores. Corrections take the root of its share of the
    rows of what the choice adds there; its intervals are wider than those of all rows would be. A constraint switches
    the race off.

    What `csf.CostSearch` has and this search has not: ``confidence`` (its stratified calibration part is drawn by
    shuffling rows in memory), ``null_class`` and ``weighting`` (partitions are trained on two classes),
    the choice of rounds for boosting (it would score all rows once more for each number of them),
    ``bound_on="train"`` (it would score all rows once more for each fold), other steps of pipelines and other bases
    (they would have to be fitted on partitions too), and scikit-learn's callbacks. `report` takes samples in memory, as
    it shows them: give it computed ones.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import LinearSVC
    >>> X, y = make_classification(4000, weights=[0.9], random_state=0)
    >>> dX, dy = da.from_array(X, chunks=(1000, -1)), da.from_array(y, chunks=1000)
    >>> search = DaskCostSearch(LinearSVC(), metric="f1", n_trials=4).fit(dX, dy)
    >>> search.best_score_
    0.645
    >>> search.predict(dX)
    dask.array<...shape=(4000,)...>
    """

    base: Estimator = field(kw_only=False)
    metric: MetricLike = field(default=SearchConfig.metric, kw_only=False)
    strategy: StrategyLike = field(default=SearchConfig.strategy, kw_only=False)
    n_trials: int = SearchConfig.n_trials
    param_grid: Grid = SearchConfig.param_grid
    constraint: str | Constraint | None = SearchConfig.constraint
    threshold: Literal["stable", "tune"] | None = SearchConfig.threshold
    cv: int | float = 5
    refit: bool | Literal["folds"] = SearchConfig.refit  # as everywhere; "folds" is refused
    pos_label: Label = SearchConfig.pos_label
    normalize: Literal["none", "mean"] = SearchConfig.normalize
    min_gain: float | None = SearchConfig.min_gain
    bound: Bound = SearchConfig.bound
    tol: float | None = SearchConfig.tol
    time_limit: float | None = SearchConfig.time_limit
    random_state: RandomState_ = SearchConfig.random_state
    verbose: int = SearchConfig.verbose
    error_score: str | float = SearchConfig.error_score
    checkpoint: PathLike | None = SearchConfig.checkpoint
    callbacks: list[Callable[..., object]] | None = SearchConfig.callbacks

    # Plots of any search ask for it.
    bound_on: ClassVar[str] = "validation"

    def fit(
        self, X: Samples, y: Column, sample_weight: Column | None = None, *, folds: Column | None = None
    ) -> DaskCostSearch:
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
        RuntimeError
            If a partition is not what it was at the first read, or the cluster is lost or ends its workers.
        """
        self._forget()
        require_dask()
        config = SearchConfig.of(self)
        config.refuse(NO_MEAN_OF_FOLDS, "data on a cluster")
        kind = base_kind(config.base)
        kind.check(config.base)  # before it is cloned, which some bases cannot be
        random_state = None if config.random_state is None else check_random_state(config.random_state)
        base = seeded(config.base, random_state)
        check_class_weight(base)
        settings = settings_of(config.param_grid, base, multiples=[*MULTIPLES, *BEYOND])
        bases = [with_setting(base, setting) for setting in settings]
        for each in bases:
            kind.check(each)
        seed = 0 if random_state is None else int(random_state.randint(2**31))
        data = DaskData(X, y, sample_weight, folds, check_folds(config.cv), seed)
        engine = DaskEngine(data, kind, pos_label=config.pos_label, checksum=config.checkpoint is not None)
        search = EngineSearch(engine, bases, settings, config, has_fast_solver(base))
        found, start = search.run(), time.perf_counter()
        fitted, rule = _refitted(search, engine, found) if config.refit else (None, None)
        # All at once, at the end: a fit that fails on its way leaves a search that is not fitted.
        self._publish(found, rule)
        vars(self).update(class_attributes(engine.labels))
        self.class_count_, self.counted_cuts_ = engine.found.count(self.classes_), list(found.counted)
        self.max_sample_weight_ = None if sample_weight is None else float(engine.found.table["largest"].max())
        self.n_features_in_ = data.n_features
        if data.feature_names is not None:
            self.feature_names_in_ = data.feature_names
        if fitted is not None:
            self.best_estimator_, self.refit_time_ = fitted, time.perf_counter() - start
        return self

    def __getattr__(self, name: str) -> Any:
        if hasattr(CostSearch, name) and not hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__} has no {name}; to_local() is a search in memory, which has")
        # As it is without this method: the error of a property stays what it is.
        return object.__getattribute__(self, name)

    def to_local(self) -> CostSearch:
        """Convert the search to one in memory, which needs no Dask: to predict, to show, to export.

        Returns
        -------
        CostSearch
            Fitted, with the same results and predictions; its base is the one for data in memory.
        """
        check_is_fitted(self, "trials_")
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in _LEFT}
        known = {name: value for name, value in vars(self).items() if name in _TAKEN}
        return local_search(base_kind(self.base).in_memory(self.base), self.result_, self._rule, options, **known)

    def predict(self, X: Samples) -> DaskArray:
        """Predict labels with the winner and its threshold.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are predicted at once.

        Returns
        -------
        dask array of shape (n_samples,)
            Labels, as in ``classes_``; computed when they are asked for.
        """
        return mapped(self.decision_rule_, "predict", X, dtype=self.classes_.dtype)

    @available_if(base_has("decision_function", "predict_proba"))
    def score_samples(self, X: Samples) -> DaskArray:
        """Compute the scores that ``best_threshold_`` is for, see `csf.CostSearch.score_samples`.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are scored at once.

        Returns
        -------
        dask array of shape (n_samples,)
            Scores; computed when they are asked for.
        """
        return mapped(self.decision_rule_, "score_samples", X, dtype=np.float64)

    @available_if(base_has("decision_function", "predict_proba"))
    def decision_function(self, X: Samples) -> DaskArray:
        """Compute score minus threshold, above 0 exactly where the second of ``classes_`` is predicted.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are scored at once.

        Returns
        -------
        dask array of shape (n_samples,)
            Scores; computed when they are asked for.
        """
        return mapped(self.decision_rule_, "decision_function", X, dtype=np.float64)

    @available_if(base_has("predict_proba"))
    def predict_proba(self, X: Samples) -> DaskArray:
        """Compute class probabilities corrected for the costs, see `csf.CostSearch.predict_proba`.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are scored at once.

        Returns
        -------
        dask array of shape (n_samples, 2)
            Probabilities in the order of ``classes_``; computed when they are asked for.
        """
        return mapped(self.decision_rule_, "predict_proba", X, dtype=np.float64, n_columns=2)

    def score(self, X: Samples, y: Column, sample_weight: Column | None = None) -> float:
        """Compute the value of ``metric`` (not the accuracy) on new data, in one pass.

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
        return get_metric(self.metric).of(profile_of(self.decision_rule_, DaskData(X, y, sample_weight, None, 2, 0)))


def _refitted(search: EngineSearch, engine: DaskEngine, found: BinaryResult) -> tuple[Estimator, ThresholdRule]:
    """Train the winner on everything; return it, and the rule that predicts with it in memory."""
    kind, labels = engine.kind, engine.labels
    base = search.bases[found.winner.setting]
    model = _trained_on_everything(search, engine, found).model
    fitted = kind.fitted(base, model, engine.data.feature_names, labels)
    local = kind.local(fitted)
    learnt = labels.learnt_by(local)
    rule = ThresholdRule.of(
        local,
        known=learnt.known,
        names=labels.decode(learnt.codes),
        null=labels.null,
        threshold=found.threshold,
        method=kind.method,
        tuned=found.config.tunes,
        costs=found.winner.costs,
    )
    return fitted, rule


def _trained_on_everything(search: EngineSearch, engine: DaskEngine, found: BinaryResult) -> Training:
    """Train the winner; after Ctrl-C, which may have ended all workers, in this process if necessary."""
    interrupted = found.stop_reason.startswith("interrupted")
    if interrupted:
        engine.hurry()
    try:
        return search.train_on_everything(found)
    except LostWorkers as lost:
        if not interrupted:
            raise
        from dask import config

        try:
            with config.set(scheduler="threads"):
                return search.train_on_everything(found)
        except Exception as error:  # what was persisted was lost with the workers
            raise lost from error
