"""The alternation behind FenchelSVM, without estimator manners."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

__all__ = ["Step", "alternate", "alternate_base", "best_step"]


class Step(NamedTuple):
    """State at the start of one step, and how good it is known to be."""

    objective: float
    gap: float
    alpha: float
    beta: float
    tpr: float
    tnr: float


def best_step(objective):
    """Length in [0, 1] that maximises a concave function of it; 0 unless it beats standing still."""
    found = minimize_scalar(lambda t: -objective(t), bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-6})
    values = {length: objective(length) for length in (0.0, float(found.x), 1.0)}
    return max(values, key=values.get)


def alternate(problem, metric, *, tol, max_iter, report):
    """Maximise the extension of a concave metric of hinge rewards minus the regulariser.

    Parameters
    ----------
    problem : RewardProblem
        The training set.
    metric : Concave
        A metric with tangents.
    tol : float
        Gap to reach.
    max_iter : int
        Largest number of steps; each solves one SVM.
    report : callable
        Called with each `Step`.

    Returns
    -------
    w : ndarray of shape (n_coefficients,)
        Coefficients.
    steps : list of Step
        One for each SVM after the balanced one; objectives do not fall, gaps do not rise.
    """

    def objective(rates, norm):
        return metric.extension(*rates) - 0.5 * problem.lam * norm

    svm = problem.solve(problem.balanced(*metric.initial_dual), tol=0.1 * tol)
    w, margins, bound, steps = svm.w, svm.margins, np.inf, []
    while True:
        rates = problem.rates(margins)
        alpha, beta = metric.dual(*rates)
        svm = problem.solve(problem.balanced(alpha, beta), tol=0.1 * tol, start=svm)
        # the dual bound of the SVM, not its objective, keeps the certificate valid for an inexact solution
        bound = min(bound, alpha + beta - metric.conjugate(alpha, beta) - problem.lam * svm.bound)
        value = objective(rates, w @ w)
        steps.append(Step(float(value), float(bound - value), alpha, beta, *rates))
        report(steps[-1])
        if bound - value <= tol or len(steps) == max_iter:
            return w, steps
        move, along = svm.w - w, svm.margins - margins
        square = w @ w, w @ move, move @ move

        def at(t, margins=margins, along=along, square=square):
            norm = square[0] + t * (2.0 * square[1] + t * square[2])
            return objective(problem.rates(margins + t * along), norm)

        length = best_step(at)
        if length == 0.0:
            return w, steps
        w = w + length * move
        # one product with the data a step: sums of margins would drift from the margins of the sum
        margins = problem.margins(w)


def alternate_base(fit, metric, *, tol, max_iter, report):
    """The same alternation on the rates of any classifier; mixtures of what it returned take the part of sums.

    Parameters
    ----------
    fit : callable
        ``fit(alpha, beta) -> (estimator, tpr, tnr)``: trains with the two rates priced at alpha and beta.
    metric : Concave
        A metric.
    tol : float
        Gap of the mixture at which to stop, if the classifier were the best one for its costs.
    max_iter : int
        Largest number of trainings.
    report : callable
        Called with each `Step`.

    Returns
    -------
    best : estimator
        The one with the best metric by its own rates.
    steps : list of Step
        State of the mixture before each training but the first.
    """
    best, *rates = fit(*metric.initial_dual)
    best_value, steps = metric.link(*rates), []
    while len(steps) < max_iter:
        alpha, beta = metric.dual(*rates)
        estimator, *new = fit(alpha, beta)
        gap = alpha * (new[0] - rates[0]) + beta * (new[1] - rates[1])
        steps.append(Step(metric.extension(*rates), gap, alpha, beta, *rates))
        report(steps[-1])
        if metric.link(*new) > best_value:
            best, best_value = estimator, metric.link(*new)
        if gap <= tol:
            break
        length = best_step(
            lambda t, rates=rates, new=new: metric.extension(*(p + t * (q - p) for p, q in zip(rates, new)))
        )
        if length == 0.0:
            break
        rates = [p + length * (q - p) for p, q in zip(rates, new)]
    return best, steps
