"""What scikit-learn's linear models minimise, where it can be minimised in parts."""

from __future__ import annotations

from dataclasses import dataclass

from csf._common.typing import Estimator
from csf.trainers.linear import LogisticTrainer, linear_kind

__all__ = ["LinearProblem"]


@dataclass(frozen=True)
class LinearProblem:
    """What `sklearn.svm.LinearSVC` (squared hinge loss) or `sklearn.linear_model.LogisticRegression` (L2) minimises.

    Parameters
    ----------
    logistic : bool
        Which loss.
    constant : float
        Value of the constant feature that stands for the intercept; 0 without one.
    free : bool
        Whether the coefficient of the constant feature is not regularised.
    scale : tuple of float
        What the costs of positives and of negatives are multiplied with: C and the base's own class weights.
    tol : float
        Duality gap to reach, as a share of the objective.
    max_iter : int
        Limit of Newton steps.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> LinearProblem.of(LinearSVC(C=2.0))
    LinearProblem(logistic=False, constant=1.0, free=False, scale=(2.0, 2.0), tol=1e-07, max_iter=1000)
    """

    logistic: bool
    constant: float
    free: bool
    scale: tuple[float, float]
    tol: float
    max_iter: int

    @classmethod
    def of(cls, base: Estimator) -> LinearProblem:
        """Problem of a base.

        Parameters
        ----------
        base : LinearSVC or LogisticRegression
            The base with its parameters.

        Returns
        -------
        LinearProblem
            The problem.

        Raises
        ------
        ValueError
            If the base minimises something else: the hinge loss, an L1 penalty, balanced class weights, ...
        """
        kind = linear_kind(base)
        logistic = kind is LogisticTrainer
        if kind is None or base.class_weight == "balanced" or not (logistic or base.loss == "squared_hinge"):
            raise ValueError(
                f"{base!r} cannot be trained in parts: accepted are LinearSVC with loss='squared_hinge' and "
                "LogisticRegression, both with an L2 penalty and class_weight=None or a dict"
            )
        own = base.class_weight or {}
        scale = base.C * own.get(1, 1.0), base.C * own.get(0, 1.0)
        constant = kind.constant(base)
        free = logistic and constant != 0.0 and base.solver != "liblinear"
        # As in `csf.trainers.linear`: the last digits come for nothing with a Newton step.
        return cls(logistic, constant, free, scale, base.tol if logistic else 1e-3 * base.tol, base.max_iter)
