"""Projected subgradient descent on a structural loss of the whole training set: the baseline."""

import math

import numpy as np

from csf._validation import check_count
from csf.online.base import check_positive
from csf.structural._batch import BatchLearner
from csf.structural._limits import check_moderate

__all__ = ["ProjectedSubgradient"]


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
        First step size, positive; step t has ``eta / sqrt(t)``. ``None`` makes the first step as long as ``radius``.
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
        Whether the threshold of a loss of labels is chosen anew after learning, where its metric is best: on the
        training set. Weights that have a small loss need not cut best at 0.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``: those with the least loss.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        Coefficients of the last step.
    threshold_ : float
        Threshold of the score of the positive class: 0, or tuned, or for losses that only rank the cut that predicts as
        many positives as there are in the training set.
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

    def __init__(
        self,
        loss="pauc",
        *,
        radius=100.0,
        eta=None,
        max_iter=1000,
        patience=50,
        tol=1e-5,
        fit_intercept=True,
        intercept_scaling=1.0,
        tune_threshold=False,
        pos_label=None,
    ):
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

    def _check_parameters(self):
        check_positive(self.tol, "tol")
        check_moderate(self.radius, "radius")
        if self.eta is not None:
            check_moderate(self.eta, "eta")
        check_count(self.max_iter, "max_iter")
        check_count(self.patience, "patience")

    def _solve(self, problem):
        w = best = np.zeros(problem.n_weights)
        losses, least, last_fall, eta = [], math.inf, 0, self.eta
        for t in range(self.max_iter + 1):
            plane = problem.plane(w)
            losses.append(plane.value)
            if plane.value < least:
                if plane.value < least - self.tol * abs(least):
                    last_fall = t
                least, best = plane.value, w
            self._watch(least, best, w)
            length = np.linalg.norm(plane.gradient)
            if length == 0.0 or t == self.max_iter or t - last_fall >= self.patience:
                break
            if eta is None:
                eta = self.radius / length
            w = w - (eta / math.sqrt(t + 1.0)) * plane.gradient
            w *= min(1.0, self.radius / max(np.linalg.norm(w), 1e-300))
        self.loss_ = least
        self.n_iter_ = self.n_updates_ = len(losses) - 1
        self.history_ = {"loss": np.array(losses)}
        return best, w
