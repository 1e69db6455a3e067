"""MacroCostSearch: one search for each class against the rest, for macro-averaged metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from csf._common.messages import warn
from csf._common.sklearn import DocLinkMixin, clone
from csf._common.typing import Array, Samples
from csf._common.validation import check_labels, check_n_jobs, check_samples, check_weights
from csf.data.labels import has_several_columns
from csf.data.responses import Features
from csf.evaluate import MAX_BYTES, mean_assessment
from csf.metrics import FBeta, get_metric
from csf.metrics.profile import ErrorProfile
from csf.search.estimator import CostSearch
from csf.search.fitted import ReportMixin
from csf.search.labels import common_splits, mean_of_searches, search_one
from csf.search.problem import is_prefit
from csf.thresholding.linear_rule import fit_calibrator
from csf.trainers import Prepared

__all__ = ["MacroCostSearch"]


def _search_has(method: str) -> Callable[[Any], bool]:
    """Condition for `available_if`: the search has a method."""

    def check(self: MacroCostSearch) -> bool:
        return hasattr(self.search, method)

    return check


class MacroCostSearch(ReportMixin, DocLinkMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Search the costs of each class against the rest, and so the macro average of a metric.

    The macro average is the mean over classes of the metric of "this class or not". It is no function of two error
    numbers, so neither costs a(t) nor bounds exist for it as a whole. But each of its terms is the metric of a problem
    of its own, so that the sum is maximised by maximising each: one `CostSearch` for each class, with levels,
    threshold and bound of its own. All of them are made on the same splits, stratified by all classes, and share what
    is prepared of the samples: steps of a pipeline before its last one are fitted once for each split (on the labels
    of all classes), and linear models read one matrix.

    Parameters
    ----------
    search : CostSearch
        What is done for each class, with ``pos_label`` and ``null_class`` left at ``None``. The metric is the one to
        average.
    n_jobs : int, default=None
        Threads that search classes at the same time; the result does not depend on it.

    Attributes
    ----------
    searches_ : list of CostSearch
        One for each class, fitted to "this class or not" as 1 and 0.
    best_scores_ : ndarray of shape (n_classes,)
        Their metrics on the pooled held-out predictions.
    best_score_ : float
        Mean of these: the macro average of the one-vs-rest decisions, by which a sample may have several classes or
        none. `predict` gives each sample one class, and its macro average (`score`) is another number.
    corrected_scores_ : ndarray of shape (n_classes,)
        Values to expect on new data, see `CostSearch`.
    corrected_score_, score_interval_ : float, tuple of float
        Mean of these, and a 90 % interval of it.
    threshold_intervals_ : ndarray of shape (n_classes, 2)
        90 % intervals of the thresholds.
    upper_bound_, gap_ : float
        Mean of the bounds of the searches and of their gaps (NaN where one is), see `CostSearch`.
    best_ts_, best_thresholds_ : ndarray of shape (n_classes,)
        Level (NaN for none) and threshold of each winner.
    scales_ : ndarray of shape (n_classes,)
        Factors of the scores, see Notes; absent with ``refit=False``.
    best_params_ : list of dict
        Setting of ``param_grid`` that won for each class.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Number and names of the features, where the base has them.

    Warns
    -----
    FutureWarning
        In ``fit``, where ``y`` has more than two classes: `CostSearch` searches the decisions that are made then.

    See Also
    --------
    CostSearch : Searches macro averages of several classes (``metric="f1_macro"``), and of several labels a sample, by
        the decisions that it makes. With ``null_class`` it searches the F-measure of several classes together.

    Notes
    -----
    Models of different classes are trained with different costs, so that their scores are no numbers of one scale.
    What `predict` compares is the distance of each score from its threshold in units of log-odds: times the slope of a
    sigmoid that is fitted to the training samples. That keeps what each search decides for its class; where no class
    or several are found, the one that is missed by the least, or found with the most certainty, is predicted.

    References
    ----------
    .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> macro = MacroCostSearch(CostSearch(LogisticRegression(), n_trials=3, cv=3)).fit(X, y)
    >>> macro.best_score_, macro.score(X, y)
    (0.881, 0.953)
    """

    searches_: list[CostSearch]
    best_scores_: Array
    best_score_: float
    upper_bound_: float
    gap_: float
    best_ts_: Array
    best_thresholds_: Array
    scales_: Array
    best_params_: list[dict[str, Any]]
    classes_: Array
    n_features_in_: int
    feature_names_in_: Array

    def __init__(self, search: CostSearch, *, n_jobs: int | None = None) -> None:
        self.search = search
        self.n_jobs = n_jobs

    def fit(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Search the costs of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        **fit_params
            As for `CostSearch.fit`.

        Returns
        -------
        MacroCostSearch
            ``self``, fitted.

        Raises
        ------
        ValueError
            If an argument or the data cannot be used, or every trial of a class failed.
        """
        self._check_search()
        check_n_jobs(self.n_jobs)
        X, y = check_samples(X, y, sample_weight=sample_weight, **fit_params)
        if has_several_columns(y):
            raise ValueError(
                "y has several columns, and MacroCostSearch is for one class a sample; several labels are searched by "
                f"csf.CostSearch(base, {self._average!r})"
            )
        y, self.classes_ = check_labels(y)
        if self.classes_.size > 2:
            warn(
                "MacroCostSearch is deprecated for one of several classes a sample: it maximises the decisions of each "
                f"class for itself, and not those of predict. Use csf.CostSearch(base, {self._average!r}), or another "
                "metric of several classes",
                FutureWarning,
            )
        weight = check_weights(sample_weight, y.shape[0])
        splits, seed, rest = common_splits(self.search, X, y, fit_params)
        each = clone(self.search).set_params(cv=splits, random_state=seed)
        # The first class prepares the samples; the others, which may run at the same time, find all of it there.
        prepared = Prepared(labels=np.searchsorted(self.classes_, y))
        share = MAX_BYTES // self.classes_.size
        first = search_one(each, X, y == self.classes_[0], weight, rest, prepared, share)
        others: Any = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(search_one)(each, X, y == label, weight, rest, prepared, share) for label in self.classes_[1:]
        )
        self._report([first, *others])
        if self.search.refit:
            self._scale(X, y, weight)
        return self

    @property
    def _average(self) -> str:
        """Name of the average that `csf.CostSearch` searches."""
        metric = get_metric(self.search.metric)
        return f"{metric.name}_macro" if isinstance(metric, FBeta) else "f1_macro"

    def _scale(self, X: Samples, y: Array, weight: Array | None) -> None:
        """Find how fast the log-odds of each class grow with its score, so that scores of all classes compare."""
        slopes = []
        for label, search in zip(self.classes_, self.searches_):
            score = search.decision_function(X)
            usable = np.isfinite(score).all()
            sigmoid: Any = fit_calibrator("sigmoid", score, y == label, weight) if usable else None
            slope = np.nan if sigmoid is None else sigmoid.slope_
            slopes.append(slope if np.isfinite(slope) and slope > 0.0 else np.nan)
        # a score that says nothing of its class has no scale of its own
        middle = 1.0 if np.isnan(slopes).all() else np.nanmedian(slopes)
        self.scales_ = np.where(np.isnan(slopes), middle, slopes)

    def _check_search(self) -> None:
        if not isinstance(self.search, CostSearch):
            raise TypeError(
                f"search must be a csf.CostSearch, got {self.search!r}; write MacroCostSearch(CostSearch(base)), with "
                "the metric to average as CostSearch(base, metric)"
            )
        for name in ("pos_label", "null_class", "checkpoint"):
            if getattr(self.search, name) is not None:
                raise ValueError(
                    f"{name} of the search must be None, got {getattr(self.search, name)!r}: each class is searched "
                    "against the rest, for itself"
                )
        if self.search.confidence is not None:
            raise ValueError(
                f"confidence of the search must be None, got {self.search.confidence!r}: the classes are searched on "
                "the same samples"
            )
        if is_prefit(self.search.base, self.search.cv):
            raise ValueError("the base of the search is fitted before; each class needs trainings of its own")

    def _report(self, searches: list[CostSearch]) -> None:
        """Set the results."""
        vars(self).update(mean_of_searches(searches))
        self.best_ts_ = np.array([np.nan if search.best_t_ is None else search.best_t_ for search in searches])
        self.best_thresholds_ = np.array([search.best_threshold_ for search in searches], dtype=float)
        vars(self).pop("scales_", None)
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
        Features.of(searches[0]).put_on(self)

    @property
    def corrected_scores_(self) -> Array:
        """Values to expect of the searches on new data, of shape (n_classes,)."""
        return np.array([search.corrected_score_ for search in self.searches_])

    @property
    def corrected_score_(self) -> float:
        """Mean of ``corrected_scores_``: what to expect of ``best_score_`` on new data."""
        return mean_assessment([search.assess() for search in self.searches_]).corrected_score

    @property
    def score_interval_(self) -> tuple[float, float]:
        """90 % interval for it."""
        return mean_assessment([search.assess() for search in self.searches_]).score_interval

    @property
    def threshold_intervals_(self) -> Array:
        """90 % intervals of the thresholds, of shape (n_classes, 2)."""
        return np.array([search.threshold_interval_ for search in self.searches_])

    def predict(self, X: Samples) -> Array:
        """The class whose score exceeds its threshold by the most, in units of log-odds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels, as in ``classes_``.
        """
        best = self._margins(X).argmax(axis=1)
        return self.classes_[best]

    def decision_function(self, X: Samples) -> Array:
        """Scores that say what `predict` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Score of each class minus its threshold, times its scale: above 0 where its search finds it. With two
            classes the difference of both, above 0 where the second one is predicted.
        """
        margins = self._margins(X)
        return margins[:, 1] - margins[:, 0] if margins.shape[1] == 2 else margins

    def _margins(self, X: Samples) -> Array:
        check_is_fitted(self)
        return np.column_stack([search.decision_function(X) for search in self.searches_]) * self.scales_

    @available_if(_search_has("predict_proba"))
    def predict_proba(self, X: Samples) -> Array:
        """Probabilities of each class against the rest with the costs taken out, scaled to sum 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``.
        """
        check_is_fitted(self)
        proba = np.column_stack([search.predict_proba(X)[:, 1] for search in self.searches_])
        total = proba.sum(axis=1, keepdims=True)
        return np.divide(proba, total, out=np.full_like(proba, 1.0 / proba.shape[1]), where=total > 0.0)

    def score(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Macro average of the metric on new data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            Mean of the metric of `predict` over the classes that ``y`` holds.
        """
        metric, predicted = get_metric(self.search.metric), self.predict(X)
        y, classes = check_labels(y)
        weight = check_weights(sample_weight, y.shape[0])
        profiles = [ErrorProfile.from_masks(y == k, predicted == k, sample_weight=weight) for k in classes]
        return float(np.mean([metric.of(profile) for profile in profiles]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.search, CostSearch):
            inner = get_tags(self.search).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags
