"""The one-slack cutting-plane method for structural losses, with a certificate of how good the result is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, Label
from csf._common.validation import check_count, check_positive
from csf.structural._batch import BatchLearner
from csf.structural._solver import Bounds, CuttingPlaneSolver, warn_of_weak_results

if TYPE_CHECKING:
    from csf.structural._problem import StructuralProblem
    from csf.structural.losses.base import StructuralLoss


__all__ = ["CuttingPlane"]


class CuttingPlane(BatchLearner):
    r"""Linear classifier that minimises a structural loss of the whole training set, up to a certified gap.

    Parameters
    ----------
    loss : str or StructuralLoss, default="prbep"
        What to lower: ``"prbep"``, ``"pauc"``, ``"f1"``, ``"f<beta>"``, ``"top_precision"``, the name of a metric in
        ``csf.metrics.METRICS``, or a loss of `csf.structural`.
    C : float, default=1e5
        Weight of the loss, positive. Losses of labels (all but ``"pauc"``) divide scores by the number of samples
        and need a large one, 1e3 to 1e7.
    eps : float, default=1e-3
        Gap at which to stop, in units of the loss (where ``C`` is at least 1).
    max_iter : int, default=1000
        Limit of tangent planes.
    drop_after : int, default=50
        Rounds after which a tangent plane that carries no weight gives way to a new one.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It does not matter to losses that only rank.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive; it is regularised like the others.
    tune_threshold : bool, default=False
        Whether the threshold of a loss of labels is tuned after learning, where its metric is best: on the
        training set. Weights that have a small loss need not be best at threshold 0.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    verbose : int, default=0
        1 prints a line for each tangent plane.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        Coefficients at the minimum of the last model of the loss.
    threshold_ : float
        Threshold of the score of the positive class: 0, or tuned, or for losses that only rank the threshold that
        predicts as many positives as there are in the training set.
    objective_ : float
        ``1/2 ||w||^2 + C * loss``, for rows scaled to length at most 1.
    bound_ : float
        No weights have a smaller objective.
    gap_ : float
        ``objective_ - bound_``, divided by the larger of 1 and ``C``.
    n_iter_ : int
        Tangent planes asked for.
    n_updates_ : int
        The same number, named as in the stochastic learners.
    n_seen_ : int
        Samples of the training set.
    history_ : dict of ndarray of shape (n_iter\_,)
        For each tangent plane: best ``objective`` so far, ``bound``, and ``n_cuts`` kept.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    It minimises

    .. math:: \tfrac12 \|w\|^2 + C \ell(w)

    Each round adds the tangent plane of the loss at the minimum of the model so far, a quadratic program with one
    variable for each plane. For the tightest losses the best weights may be zero: no direction lowers the loss of
    the training set. That happens with few, scattered positives; the stochastic learners then still rank by the
    first directions they took.

    References
    ----------
    .. [1] T. Joachims, "A Support Vector Method for Multivariate Performance Measures", ICML 2005.
    .. [2] T. Joachims, T. Finley, C.-N. Yu, "Cutting-plane training of structural SVMs", Machine Learning 77, 2009.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.structural import precision_at_k_score
    >>> X, y = make_classification(5000, weights=[0.95], class_sep=1.5, random_state=0)
    >>> model = CuttingPlane("prbep").fit(X, y)
    >>> precision_at_k_score(y, model.decision_function(X)), bool(model.gap_ <= 1e-3)
    (0.905, True)
    """

    objective_: float
    bound_: float
    gap_: float
    n_iter_: int
    n_updates_: int
    history_: dict[str, Array]

    def __init__(
        self,
        loss: str | StructuralLoss = "prbep",
        *,
        C: float = 100000.0,
        eps: float = 0.001,
        max_iter: int = 1000,
        drop_after: int = 50,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tune_threshold: bool = False,
        pos_label: Label = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.eps = eps
        self.max_iter = max_iter
        self.drop_after = drop_after
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tune_threshold = tune_threshold
        self.pos_label = pos_label
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_positive(self.C, "C")
        check_positive(self.eps, "eps")
        check_count(self.max_iter, "max_iter")
        check_count(self.drop_after, "drop_after")

    def _solve(self, problem: StructuralProblem) -> tuple[Array, Array]:
        solver = CuttingPlaneSolver(problem, drop_after=self.drop_after)
        best, last, steps = solver.solve(float(self.C), eps=self.eps, max_iter=self.max_iter, watch=self._report)
        self.objective_, self.bound_ = steps[-1].objective, steps[-1].bound
        self.gap_ = (self.objective_ - self.bound_) / max(1.0, self.C)
        self.n_iter_ = self.n_updates_ = len(steps)
        self.history_ = {name: np.array(column) for name, column in zip(steps[0]._fields, zip(*steps))}
        advice = ("raise max_iter or lower C", "Raise C")
        warn_of_weak_results(steps, steps[0].objective, self.C, eps=self.eps, advice=advice)
        return best, last

    def _report(self, step: Bounds, best: Array, last: Array) -> None:
        if self.verbose:
            print("  ".join(f"{name} {number:.6g}" for name, number in step._asdict().items()))
        self._watch(step.objective, best, last)
