"""FenchelSVM: a linear SVM whose class weights are the dual variables of a concave metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf._common.sklearn import clone
from csf._common.typing import Array, BoolArray, Estimator, Label, Samples
from csf.data.costs import cost_channel
from csf.fenchel._estimator import LinearAlternation, history
from csf.fenchel.alternation import alternate, alternate_base
from csf.metrics import Concave, get_metric
from csf.metrics.profile import ErrorProfile

__all__ = ["FenchelSVM"]


def _has_scores(estimator: FenchelSVM) -> bool:
    return estimator.base is None or hasattr(getattr(estimator, "estimator_", estimator.base), "decision_function")


class FenchelSVM(LinearAlternation):
    r"""Linear classifier that maximises a concave metric of the two rates, with a certificate.

    It alternates between two exact steps: the class weights that are best for the current rates, in closed form,
    and the linear SVM that is best for these weights. Line searches between the SVMs make it monotone.

    Parameters
    ----------
    metric : str or Concave, default="gmean"
        ``"gmean"``, ``"hmean"``, ``"qmean"`` or a differentiable concave metric.
    C : float, default=1.0
        Inverse strength of regularisation, positive; the same scale as in `sklearn.svm.LinearSVC`, whose
        ``class_weight="balanced"`` model is the starting point. It is ``lambda = 1 / (C * total weight)`` in the
        objective below.
    base : classifier, default=None
        Inner solver to use instead of the linear SVM: any classifier that takes sample or class weights. There is
        no line search between such models and no certificate: the alternation runs on the rates of mixtures of
        them, and the single model with the best metric on the training set is kept. ``C``, ``fit_intercept`` and
        ``intercept_scaling`` are then not used.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive; a larger one regularises the intercept less.
    tol : float, default=1e-4
        Gap to the optimum at which to stop, in units of the metric.
    max_iter : int, default=100
        Largest number of steps; each trains one SVM, warm-started.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    verbose : int, default=0
        1 prints a line for each step.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``; without ``base`` only.
    intercept_ : ndarray of shape (1,)
        Intercept of that score; without ``base`` only.
    estimator_ : classifier
        The model kept; with ``base`` only. It is trained on targets 0 and 1 (positive).
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    dual_ : tuple of float
        Last ``(alpha, beta)``, the costs of the two rates.
    gap_ : float
        The objective is at most this far from its maximum; NaN with ``base``.
    n_iter_ : int
        Steps made.
    history_ : dict of ndarray of shape (n_iter\_,)
        For each step: ``alpha`` and ``beta`` of its SVM, ``objective`` and average rewards ``tpr`` and ``tnr`` of
        the best coefficients before it, and the ``gap`` it proves for them. With ``base`` the rates are true
        ones, of the mixture.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Notes
    -----
    It maximises :math:`\Psi(P(w), N(w)) - \frac{\lambda}{2} \|w\|^2` where :math:`\Psi` is the extension of the
    metric and P, N are the averages of :math:`\min(1, \text{margin})` over each class, which are not above the true
    rates. Any duals :math:`(\alpha, \beta)` give a weighted SVM whose optimum bounds this objective from above for
    every w; the smallest bound minus the best objective is the gap. The duals tried are those of the best rates so
    far, in closed form; the best coefficients are looked for on the segments between the SVMs. Taking each SVM as it
    comes, without line search, can cycle.

    Features should be scaled, as for every linear SVM; with few features in [0, 1], a ``C`` of 10 to 1000 is often
    better than 1. The solver has no random part.

    References
    ----------
    .. [1] H. Narasimhan, P. Kar, P. Jain, "Optimizing Non-decomposable Performance Measures: A Tale of Two
       Classes", ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, weights=[0.9], flip_y=0.1, random_state=0)
    >>> model = FenchelSVM("gmean").fit(X, y)
    >>> model.gap_ <= 1e-4
    True
    >>> alpha, beta = model.dual_
    >>> alpha * beta
    0.25
    """

    gap_: float
    dual_: tuple[float, float]
    estimator_: Estimator

    def __init__(
        self,
        metric: str | Concave = "gmean",
        *,
        C: float = 1.0,
        base: Estimator = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 0.0001,
        max_iter: int = 100,
        pos_label: Label = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.C = C
        self.base = base
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.pos_label = pos_label
        self.verbose = verbose

    def fit(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, positive somewhere in each class.

        Returns
        -------
        FenchelSVM
            Itself.
        """
        metric = self._check_metric()
        self._check_numbers()
        if self.base is not None and (isinstance(self.base, type) or not hasattr(self.base, "fit")):
            raise TypeError(f"base must be a classifier such as LogisticRegression() or None, got {self.base!r}")
        # a base gets the samples as they come, tables with text included
        numbers: Mapping[str, Any] = self._sample_checks if self.base is None else {"skip_check_array": True}
        X, is_pos, weight = self._check_data(X, y, sample_weight, numbers)
        run: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "report": self._report}
        if self.base is None:
            w, steps = alternate(self._problem(X, is_pos, weight), metric, **run)
            self._set_linear(w)
            self.gap_ = steps[-1].gap
        else:
            self.estimator_, steps = alternate_base(self._trainer(X, is_pos, weight), metric, **run)
            # No bound is known for what a base does with its costs.
            self.gap_ = float("nan")
        self.dual_ = steps[-1].alpha, steps[-1].beta
        self.n_iter_ = len(steps)
        self.history_ = history(steps)
        if self.base is None:
            self._warn_if_open(self.gap_)
        return self

    def _check_metric(self) -> Concave:
        metric = get_metric(self.metric)
        if not isinstance(metric, Concave):
            raise TypeError(
                f"FenchelSVM needs a concave metric of the two rates, got {metric.name!r}. Use csf.fenchel.AMP for "
                "linear-fractional metrics such as F1, or CostSearch"
            )
        if not metric.differentiable:
            raise ValueError(
                f"FenchelSVM needs a differentiable metric; {metric.name!r} has a kink where the rates are equal. "
                "Use 'hmean' or 'gmean', which also balance the rates, or the online learner SPADE"
            )
        return metric

    def _trainer(
        self, X: Samples, is_pos: BoolArray, weight: Array | None
    ) -> Callable[[float, float], tuple[Estimator, float, float]]:
        """Function that trains the base at given duals and measures its rates."""
        channel = cost_channel(self.base, weighted=weight is not None)
        target = is_pos.astype(int)
        unit = np.ones(is_pos.shape[0]) if weight is None else weight
        pos = float(unit[is_pos].sum() / unit.sum())

        def fit(alpha: float, beta: float) -> tuple[Estimator, float, float]:
            # A class of no weight at all would leave many bases with one class.
            costs = max(alpha, 1e-6) / pos, max(beta, 1e-6) / (1.0 - pos)
            estimator = channel.fit(clone(self.base), X, target, costs, sample_weight=weight, normalize="mean")
            profile = ErrorProfile.from_masks(is_pos, estimator.predict(X) == 1, sample_weight=weight)
            return estimator, profile.tpr, profile.tnr

        return fit

    @available_if(_has_scores)
    def decision_function(self, X: Samples) -> Array:  # pyright: ignore[reportIncompatibleMethodOverride] - a base may have none
        """Signed score of each sample; above 0 exactly where ``predict`` gives ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.
        """
        check_is_fitted(self)
        if self.base is None:
            return super().decision_function(X)
        score = self.estimator_.decision_function(X)
        return score if self.pos_label_ == self.classes_[1] else -score

    def predict(self, X: Samples) -> Array:
        """Class of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        check_is_fitted(self)
        if self.base is None:
            return super().predict(X)
        other = self.classes_[0] if self.pos_label_ == self.classes_[1] else self.classes_[1]
        return np.where(self.estimator_.predict(X) == 1, self.pos_label_, other)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.base is not None:
            tags.input_tags.sparse = get_tags(self.base).input_tags.sparse
        return tags
