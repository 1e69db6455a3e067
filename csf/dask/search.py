"""Cost search on Dask arrays and frames that need not fit into any memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf._common.sklearn import with_parameters
from csf._common.typing import Array, Estimator, Samples, Values
from csf._common.validation import warn_of_order
from csf.dask.collections import (
    DaskData,
    RawPart,
    check_labels_given,
    is_array,
    is_frame,
    pieces_of,
    require_dask,
    truth_of,
)
from csf.dask.engine import DaskEngine, base_kind, base_kinds
from csf.data.costs import check_class_weight
from csf.data.labels import Labels
from csf.distributed.engine import check_folds
from csf.distributed.local import local_search, without_options_of_memory
from csf.distributed.plan import search_on
from csf.metrics.registry import metric_of
from csf.metrics.row_costs import RowCosts, given_costs, paid
from csf.search.config import (
    BEYOND,
    FAST,
    MULTIPLES,
    SLOW,
    SearchConfig,
    SharedOptions,
    has_fast_solver,
    numbered,
    settings_of,
)
from csf.search.estimator import CostSearch
from csf.search.fitted import FittedSearch
from csf.search.loop import Deadline
from csf.search.planning import seeded_models, with_setting
from csf.search.supports import CLASSES
from csf.thresholding.base import DecisionRule
from csf.thresholding.rule import base_has

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from numpy.typing import DTypeLike

    from csf.dask.collections import Column
    from csf.metrics.registry import MetricLike
    from csf.search.config import Model
    from csf.thresholding.row_costs import RowCostRule

# ---------------------------------------------------------------- lazy predictions


# Costs of some rows: numbers for all of them, or columns.
CostsGiven: TypeAlias = "Mapping[str, Column | float | None]"


def mapped(
    rule: DecisionRule,
    method: str,
    X: Samples,
    costs: CostsGiven | None = None,
    *,
    dtype: DTypeLike,
    n_columns: int | None = None,
) -> DaskArray | Array:
    """Apply a method of a rule to samples and their costs, lazily if these are lazy; ``n_columns=None`` for none."""
    numbers, columns = split_costs(costs or {})
    shape = () if n_columns is None else (n_columns,)
    ask = _Asked(rule, method, np.empty((0, *shape), dtype=dtype), numbers, tuple(columns))
    if not (is_array(X) or is_frame(X)):
        return ask.on(X, columns)
    import dask.array as da
    from dask.delayed import delayed

    if is_array(X) and not columns:
        X = X.rechunk({1: -1})
        chunks = {"drop_axis": 1} if n_columns is None else {"chunks": (X.chunks[0], shape)}
        return X.map_blocks(ask, dtype=dtype, meta=ask.empty, **chunks)
    whole, pieces = delayed(ask, pure=False, traverse=False), pieces_of(X, columns)
    lengths = X.chunks[0] if is_array(X) else [np.nan] * len(pieces)
    parts = [da.from_delayed(whole(*piece), (n, *shape), dtype) for piece, n in zip(pieces, lengths, strict=True)]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def split_costs(given: CostsGiven) -> tuple[dict[str, float], dict[str, Samples]]:
    """Return the costs that are numbers for all rows, and those that are columns."""
    numbers = {name: float(cost) for name, cost in given.items() if isinstance(cost, Real)}
    columns = {name: cost for name, cost in given.items() if not isinstance(cost, Real | NoneType)}
    return numbers, columns


@dataclass(frozen=True, eq=False)
class _Asked:
    """Method of a rule for one partition and its costs; an empty one is skipped, as some libraries refuse it."""

    rule: DecisionRule
    method: str
    empty: Array
    # Costs of all rows, and the names of those that come with a partition.
    numbers: Mapping[str, float] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    def __call__(self, X: Samples, *costs: Samples) -> Array:
        return self.on(X, dict(zip(self.names, costs))) if X.shape[0] else self.empty

    def on(self, X: Samples, columns: Mapping[str, Samples]) -> Array:
        """Apply the method to samples in memory."""
        warn_of_order(X=X, **columns)
        given = {**self.numbers, **{name: np.asarray(column) for name, column in columns.items()}}
        return getattr(self.rule.for_rows(given) if given else self.rule, self.method)(X)


def value_of(rule: DecisionRule, labels: Labels, metric: MetricLike, data: DaskData) -> float:
    """Compute a metric of the decisions of a rule on collections, in one pass."""
    cells: Array = data.reduced(partial(_judged, rule=rule, labels=labels), partial(np.sum, axis=0))
    # As if the collections had one row for each pair of a true and a predicted label.
    truth, predicted = (labels.by_code[codes.ravel()] for codes in np.indices(cells.shape))
    return rule.value(metric, truth, predicted, cells.ravel())


def _judged(part: RawPart, *, rule: DecisionRule, labels: Labels) -> Array:
    """Sum the weights of one partition by truth and prediction."""
    (truth, predicted), size = _decided(part, rule, labels), labels.classes.size
    cells = np.bincount(size * truth + predicted, weights=part.weight, minlength=size**2)
    return cells.reshape(size, size).astype(np.float64)


def _decided(part: RawPart, rule: DecisionRule, labels: Labels) -> tuple[Array, Array]:
    """Return which rows of one partition are positive, and which are predicted so; codes of several classes."""
    check_labels_given(part)
    import pandas

    # numpy would compare texts and numbers as texts.
    for label in set(pandas.unique(part.y).tolist()).difference(labels.classes.tolist()):
        raise ValueError(
            f"y holds the label {label!r} in partition {part.index}, the search knows {labels.classes.tolist()}"
        )
    predicted = _Asked(rule, "predict", labels.classes[:0])(part.X)
    return truth_of(part.y, labels), truth_of(predicted, labels)


def paid_by(rule: RowCostRule, labels: Labels, data: DaskData) -> float:
    """Compute the value of the decisions of a rule on collections with costs, in one pass."""
    sums: Values = data.reduced(partial(_paid, rule=rule, labels=labels), partial(np.sum, axis=0))
    return rule.row_costs.value(*sums)


def _paid(part: RawPart, *, rule: RowCostRule, labels: Labels) -> Array:
    """Sum what the decisions about one partition and both constant answers cost, and the weights."""
    weight, table = np.ones(part.y.size) if part.weight is None else part.weight, part.table()
    known = {f"{name}_cost": cost for name, cost in vars(table).items()}
    is_pos, predicted = _decided(part, rule.for_rows(known), labels)
    costs = table.answers(is_pos)
    return np.array([weight @ paid(*costs, predicted), *(weight @ cost for cost in costs), weight.sum()])


# ---------------------------------------------------------------- DaskCostSearch


_has_scores = base_has("decision_function", "predict_proba")


def _has_a_threshold(search: DaskCostSearch) -> bool:
    """Check that the scores have a threshold (for `available_if`), as those of several classes have not."""
    if getattr(search, "null_class_", "") is None:
        CLASSES.require("threshold_curve")
    return _has_scores(search)


@without_options_of_memory
@with_parameters
class DaskCostSearch(FittedSearch, ClassifierMixin, MetaEstimatorMixin, BaseEstimator, SharedOptions):
    """Search for class costs and a threshold on Dask collections, which are not moved.

    It does what `csf.CostSearch` does, with the same defaults except ``cv``, where the data are: each trial trains the
    base on the folds by the cluster. It runs on any scheduler that Dask is set to: a `distributed.Client`, or threads
    of this process. With the same folds, its results are those of `csf.CostSearch`. Where the folds hold 2^20 rows at
    most, their scores (8 bytes for each row and trial, never the samples) are collected for that; of more rows, counts
    and the scores of a sample are collected, see Notes.

    Parameters
    ----------
    base : estimator, or list or dict of estimators
        `sklearn.svm.LinearSVC` (squared hinge) or `sklearn.linear_model.LogisticRegression` (L2), whose objectives
        are minimised by Newton's method, a pass over the data for each step of all folds and settings, with the duality
        gap as proof; a pipeline of `StandardScaler`, `MinMaxScaler` or `MaxAbsScaler` that ends in one of them, whose
        scalers learn the training part of each fold in the first pass; a pipeline of a `OneHotEncoder`, or a
        `ColumnTransformer` of such encoders, scalers, ``"passthrough"`` and ``"drop"``, and one of them, see Notes;
        `xgboost.dask.DaskXGBClassifier` or
        `lightgbm.DaskLGBMClassifier`, which need a cluster and its memory. Several are trained one after the other, and
        the best one is chosen as in `csf.CostSearch`.
    metric : str, Metric or RowCosts, default="f1"
        What is maximised, see `csf.CostSearch`. Costs of rows are columns of ``X``, or given to `fit`.
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
    rule_, confusion_, class_costs_ : object
        As in `csf.CostSearch`, with several classes.
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
    ``bound_margin_`` and `at_prevalence` read its scores. Corrections take the root of its share of the
    rows of what the choice adds there; its intervals are wider than those of all rows would be. A constraint switches
    the race off. With costs of rows, the sample decides all but the trainings: which one and which decision win, the
    score, its interval, and whether a constraint holds.

    With three or more classes and boosting, class probabilities are collected, a column for each class, or those of the
    sample. They choose among the settings of ``param_grid`` and tune the rule of the probabilities, as in memory.
    Trainings have equal class weights. Each training part must have all classes.

    The categories of all rows are read in a pass of their own, then rows are encoded in each pass, partition by
    partition. A category that the training part of a fold lacks has coefficient 0 there, as if it was ignored. With
    ``handle_unknown="error"``, where the categories are not given, such a category is a ValueError. An encoder makes
    2^14 columns at most. It has no ``drop``, ``min_frequency`` and ``max_categories``. Missing texts of a frame are
    filled before, as scikit-learn's encoder refuses those of Dask. Linear models of one search share their encoder.

    What `csf.CostSearch` has and this search has not: ``confidence`` (its stratified calibration part is drawn by
    shuffling rows in memory), ``null_class`` and ``weighting`` (partitions are trained on two classes),
    the choice of rounds for boosting (it would score all rows once more for each number of them),
    ``bound_on="train"`` (it would score all rows once more for each fold), several classes with linear bases (their
    sums over partitions are those of two; search one against the others, ``y == label``, or a sample in memory), other
    steps of pipelines and other bases (they would have to be fitted on partitions too), and scikit-learn's callbacks.
    `report` takes samples in memory, as it shows them: give it computed ones.

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

    cv: int | float = 5

    # Plots of any search ask for it.
    bound_on: ClassVar[str] = "validation"

    def fit(
        self,
        X: Samples,
        y: Column,
        sample_weight: Column | None = None,
        *,
        folds: Column | None = None,
        **costs: Column | float,
    ) -> DaskCostSearch:
        """Search the costs and train the winner.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples.
        y : dask array or series of shape (n_samples,)
            Labels of two classes; of more with boosting.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights >= 0; they count in every training, metric and bound.
        folds : dask array or series of int, shape (n_samples,), default=None
            Fold of each row instead of ``cv``: 0, 1, ..., or -1 for rows that are never held out.
        **costs : float, dask array or series of shape (n_samples,)
            ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost`` where the metric is costs of rows.

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
        config, of_rows = SearchConfig.of(self), given_costs(self.metric, costs)
        deadline = Deadline.of(config.time_limit)
        for model in config.models:
            base_kind(model.base).check(model.base)  # before it is cloned, which some bases cannot be
        random_state = None if config.random_state is None else check_random_state(config.random_state)
        models, bases = _planned(seeded_models(config.models, random_state), races=of_rows is None)
        seed = 0 if random_state is None else int(random_state.randint(2**31))
        of_rows, columns = _with_numbers(of_rows, costs)
        data = DaskData(X, y, sample_weight, folds, check_folds(config.cv), seed, of_rows, columns)
        checksum = config.checkpoint is not None
        engine = DaskEngine(data, *base_kinds(bases), pos_label=config.pos_label, checksum=checksum)
        plan, _, (result, rule, seconds, model) = search_on(engine, config, models, bases, deadline=deadline)
        # All at once, at the end: a fit that fails on its way leaves a search that is not fitted.
        self._publish(result, rule)
        vars(self).update(engine.published | data.features)
        self.counted_cuts_ = plan.counted
        if model is not None:
            self.best_estimator_, self.refit_time_ = model, seconds
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
        config = SearchConfig.of(self)
        bases: Estimator = {model.name: base_kind(model.base).in_memory(model.base) for model in config.models}
        known = {name: value for name, value in vars(self).items() if name.endswith("_") and name != "counted_cuts_"}
        return local_search(config, bases.get(None, bases), self.result_, self._rule, known)

    @property
    def _labels(self) -> Labels:
        return Labels(self.classes_, self.null_class_)

    def _mapped(self, method: str, X: Samples, costs: CostsGiven) -> DaskArray | Array:
        """Apply a method of the rule that gives labels, or a column for each class, to samples and their costs."""
        rule = self.decision_rule_
        for name in {"at_most", "wrong_at_most"} & set(costs):
            raise TypeError(f"{name} is of a batch in memory: to_local().predict(X.compute(), {name}=...)")
        if given_costs(self.metric, costs) is not None and (missing := rule.row_costs.needs(costs)):
            raise ValueError(f"fit was given costs that are not given here; give {', '.join(missing)} of these samples")
        if method == "predict":
            return mapped(rule, method, X, costs, dtype=self.classes_.dtype)
        return mapped(rule, method, X, costs, dtype=np.float64, n_columns=self.classes_.size)

    def predict(self, X: Samples, **costs: Column | float) -> DaskArray | Array:
        """Predict labels with the winner and its threshold.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are predicted at once.
        **costs : float, dask array or series of shape (n_samples,)
            ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost`` of these samples, where `fit` was given some.

        Returns
        -------
        dask array of shape (n_samples,)
            Labels, as in ``classes_``; computed when they are asked for.
        """
        return self._mapped("predict", X, costs)

    @available_if(_has_a_threshold)
    def score_samples(self, X: Samples) -> DaskArray | Array:
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

    @available_if(_has_scores)
    def decision_function(self, X: Samples) -> DaskArray | Array:
        """Compute score minus threshold, above 0 exactly where the second of ``classes_`` is predicted.

        Of several classes each has a score, and the largest one is predicted.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are scored at once.

        Returns
        -------
        dask array of shape (n_samples,)
            Scores; computed when they are asked for.
        """
        return mapped(self.decision_rule_, "decision_function", X, dtype=np.float64, n_columns=self._labels.n_alike)

    @available_if(base_has("predict_proba"))
    def predict_proba(self, X: Samples, **costs: Column | float) -> DaskArray | Array:
        """Compute class probabilities corrected for the costs, see `csf.CostSearch.predict_proba`.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples; those in memory are scored at once.
        **costs : float, dask array or series of shape (n_samples,)
            As for `predict`.

        Returns
        -------
        dask array of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``; computed when they are asked for.
        """
        return self._mapped("predict_proba", X, costs)

    def score(self, X: Samples, y: Column, sample_weight: Column | None = None, **costs: Column | float) -> float:
        """Compute the value of ``metric`` (not the accuracy) on new data, in one pass.

        Parameters
        ----------
        X : dask array or frame of shape (n_samples, n_features)
            Samples.
        y : dask array or series of shape (n_samples,)
            Labels.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights >= 0.
        **costs : float, dask array or series of shape (n_samples,)
            As for `predict`.

        Returns
        -------
        float
            The value of the predictions.
        """
        rule, of_rows = self.decision_rule_, given_costs(self.metric, costs)
        of_rows, columns = _with_numbers(None if of_rows is None else rule.row_costs, costs)
        data = DaskData(X, y, sample_weight, costs=of_rows, given=columns)
        if of_rows is None:
            return value_of(rule, self._labels, metric_of(self), data)
        return paid_by(rule, self._labels, data)


def _planned(models: list[Model], *, races: bool) -> tuple[list[Model], list[Estimator]]:
    """Return models with the settings to search, and one base for each setting; raise a ValueError for wrong ones."""
    planned, bases = [], []
    for model in models:
        check_class_weight(model.base)
        settings = settings_of(model.param_grid, model.base, multiples=[*MULTIPLES, *BEYOND] if races else (1.0,))
        bases += [with_setting(model.base, setting) for setting in settings]
        effort = FAST if has_fast_solver(model.base) else SLOW
        planned.append(model._replace(settings=settings, effort=effort))
    for base in bases:
        base_kind(base).check(base)
    return numbered(planned), bases


def _with_numbers(costs: RowCosts | None, given: CostsGiven) -> tuple[RowCosts | None, dict[str, Samples]]:
    """Return the costs that know the numbers that were given for all rows, and those that were given as columns."""
    return (None, {}) if costs is None else (costs.remembering(given), split_costs(given)[1])
