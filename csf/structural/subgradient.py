"""Projected subgradient descent on a structural loss of the whole training set: the baseline."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, Label
from csf._common.validation import check_count, check_positive
from csf.structural._batch import BatchLearner
from csf.structural._limits import check_moderate

if TYPE_CHECKING:
    from csf.structural._problem import StructuralProblem
    from csf.structural.losses.base import StructuralLoss


__all__ = ["ProjectedSubgradient"]

# Lengths of the first step, in parts of the longest, until one of them lowers the loss.
_FACTORS = 0.125 ** np.arange(8)


class ProjectedSubgradient(BatchLearner):
    r"""Linear classifier for a structural loss, by subgradient steps on the whole training set (PSG).

    Parameters
    ----------
    loss : str or StructuralLoss, default="pauc"
        What to lower: ``"prbep"``, ``"pauc"``, ``"f1"``, ``"f<beta>"``, ``"top_precision"``, the name of a metric in
        ``csf.metrics.METRICS``, or a loss of `csf.structural`.
    radius : float, default=100.0
        Largest length of the weights, positive, for rows scaled to length at most 1.
    eta : float, default=None
        First step size, positive; step t has ``eta / sqrt(t)``. ``None`` makes the first step as long as ``radius``;
        where no step from there lowers the loss of zero weights, it starts again with an eighth of that, and so on.
    max_iter : int, default=1000
        Limit of steps.
    patience : int, default=50
        Stop when the least loss has not fallen by ``tol`` in so many steps.
    tol : float, default=1e-5
        Least relative fall of the loss that counts, positive.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It does not matter to losses that only rank.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    tune_threshold : bool, default=False
        Whether the threshold of a loss of labels is tuned after learning, where its metric is best: on the
        training set. Weights that have a small loss need not be best at threshold 0.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``: those with the least loss of all steps made.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        Coefficients of the last step.
    threshold_ : float
        Threshold of the score of the positive class: 0, or tuned, or for losses that only rank the threshold that
        predicts as many positives as there are in the training set.
    loss_ : float
        Loss of the training set.
    n_iter_ : int
        Steps made.
    n_updates_ : int
        The same number, named as in the stochastic learners.
    n_seen_ : int
        Samples of the training set.
    history_ : dict of ndarray of shape (n_iter\_ + 1,)
        ``loss`` of each weights, zero weights first.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    n_features_in_ : int
        Number of features.

    References
    ----------
    .. [1] H. Narasimhan, S. Agarwal, "SVMpAUC-tight: a new support vector method for optimizing partial AUC based
       on a tight convex upper bound", KDD 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.structural import partial_auc_score
    >>> X, y = make_classification(5000, weights=[0.95], class_sep=1.5, random_state=0)
    >>> model = ProjectedSubgradient("pauc").fit(X, y)
    >>> partial_auc_score(y, model.decision_function(X), beta=0.1)
    0.9
    """

    loss_: float
    n_iter_: int
    n_updates_: int
    history_: dict[str, Array]

    def __init__(
        self,
        loss: str | StructuralLoss = "pauc",
        *,
        radius: float = 100.0,
        eta: float | None = None,
        max_iter: int = 1000,
        patience: int = 50,
        tol: float = 1e-05,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tune_threshold: bool = False,
        pos_label: Label = None,
    ) -> None:
        self.loss = loss
        self.radius = radius
        self.eta = eta
        self.max_iter = max_iter
        self.patience = patience
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tune_threshold = tune_threshold
        self.pos_label = pos_label

    def _check_parameters(self) -> None:
        check_positive(self.tol, "tol")
        check_moderate(self.radius, "radius")
        if self.eta is not None:
            check_moderate(self.eta, "eta")
        check_count(self.max_iter, "max_iter")
        check_count(self.patience, "patience")

    def _solve(self, problem: StructuralProblem) -> tuple[Array, Array]:
        zero = np.zeros(problem.n_weights)
        first = problem.plane(zero)
        losses, best, last = [first.value], (math.inf, zero), zero
        length: Any = np.linalg.norm(first.gradient)
        for shorter in _FACTORS if self.eta is None else (1.0,):
            if length == 0.0 or len(losses) > self.max_iter:
                break
            eta = shorter * self.radius / length if self.eta is None else self.eta
            best, last = self._descend(problem, eta, losses, best)
            if best[0] < first.value * (1.0 - self.tol):
                break
        else:
            if self.eta is None:
                self._warn_of_zero(first.value)
        self.loss_ = first.value if length == 0.0 else best[0]
        self.n_iter_ = self.n_updates_ = len(losses) - 1
        self.history_ = {"loss": np.array(losses)}
        return best[1], last

    def _descend(
        self, problem: StructuralProblem, eta: float, losses: list[float], best: tuple[float, Array]
    ) -> tuple[tuple[float, Array], Array]:
        """Steps from zero weights until the loss no longer falls. Return the best loss and weights, and the last."""
        w, fallen, last_fall, t = np.zeros(problem.n_weights), losses[0], 0, 0
        plane = problem.plane(w)
        while len(losses) <= self.max_iter and t - last_fall < self.patience and np.any(plane.gradient):
            t += 1
            w = w - (eta / math.sqrt(t)) * plane.gradient
            w *= min(1.0, self.radius / max(np.linalg.norm(w), 1e-300))
            plane = problem.plane(w)
            losses.append(plane.value)
            if plane.value < fallen:
                if plane.value < fallen - self.tol * abs(fallen):
                    last_fall = t
                fallen = plane.value
            if plane.value < best[0]:
                best = plane.value, w
            self._watch(min(losses), best[1], w)
        return best, w

    def _warn_of_zero(self, at_zero: float) -> None:
        warn(
            f"no step lowered the loss of {at_zero:.4g} at zero weights, however short; the weights are those of the "
            "least loss among the steps made, and may be of little use. Use a looser loss (a larger beta for partial "
            "AUC), or OnePassMiniBatch",
        )
