"""The alternation behind FenchelSVM, without estimator manners."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from csf._common.typing import Array, Estimator, Values

if TYPE_CHECKING:
    from csf.fenchel.rewards import RewardProblem
    from csf.metrics.concave import Concave


__all__ = ["Step", "alternate", "alternate_base", "best_step"]


class Step(NamedTuple):
    """One weighted SVM: the best objective before it, the gap after it, its duals, the best rewards before it."""

    objective: float
    gap: float
    alpha: float
    beta: float
    tpr: float
    tnr: float


class _Point(NamedTuple):
    """Coefficients with all that follows from them."""

    w: Array
    margins: Array
    rates: tuple[float, float]
    objective: float


def best_step(objective: Callable[[float], Values]) -> float:
    """Length in [0, 1] that maximises a concave function of it; 0 unless it beats standing still."""
    # A rough search would leave the mixture of two SVMs too far from the optimum to be certified.
    found: Any = minimize_scalar(lambda t: -objective(t), bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    values = {length: objective(length) for length in (0.0, float(found.x), 1.0)}
    return max(values, key=values.__getitem__)


class _Surrogate:
    """Extension of the metric of average rewards minus the regulariser, as a function of the coefficients."""

    def __init__(self, problem: RewardProblem, metric: Concave) -> None:
        self._problem, self._metric = problem, metric

    def _value(self, rates: tuple[float, float], norm: Values) -> float:
        return float(self._metric.extension(*rates) - 0.5 * self._problem.lam * norm)

    def point(self, w: Array) -> _Point:
        """Evaluate coefficients."""
        margins = self._problem.margins(w)
        rates = self._problem.rates(margins)
        return _Point(w, margins, rates, self._value(rates, w @ w))

    def between(self, start: _Point, end: _Point) -> _Point:
        """Best point of a segment, searched on cached margins."""
        move, along = end.w - start.w, end.margins - start.margins
        constant, linear, square = start.w @ start.w, start.w @ move, move @ move

        def objective(t: float) -> float:
            norm = constant + t * (2.0 * linear + t * square)
            return self._value(self._problem.rates(start.margins + t * along), norm)

        return self.point(start.w + best_step(objective) * move)


def alternate(
    problem: RewardProblem, metric: Concave, *, tol: float, max_iter: int, report: Callable[..., Any]
) -> tuple[Array, list[Step]]:
    """Maximise the extension of a concave metric of hinge rewards minus the regulariser."""

    def share(rates: tuple[float, float]) -> Values:
        alpha, beta = metric.dual(*rates)
        return alpha / (alpha + beta)

    surrogate, bound = _Surrogate(problem, metric), np.inf
    sides: dict[bool, _Point] = {}
    steps: list[Step] = []
    # A tenth of the tolerance for each SVM leaves the rest of it to the alternation.
    svm = problem.solve(problem.balanced(*metric.initial_dual), tol=0.1 * tol)
    best = surrogate.point(svm.w)
    # It was trained with equal prices.
    sides[share(best.rates) > 0.5] = best
    while True:
        alpha, beta = metric.dual(*best.rates)
        svm = problem.solve(problem.balanced(alpha, beta), tol=0.1 * tol, start=svm)
        # The dual bound of the SVM, not its objective, keeps the certificate valid for an inexact solution. Tangents at
        # other rates bound the metric as well: the smallest bound of all steps holds.
        bound = min(bound, alpha + beta - metric.conjugate(alpha, beta) - problem.lam * svm.bound)
        steps.append(Step(best.objective, bound - best.objective, alpha, beta, *best.rates))
        report(steps[-1])
        if steps[-1].gap <= tol or len(steps) == max_iter:
            return best.w, steps
        answer = surrogate.point(svm.w)
        # Line searches towards the SVM of the tangent are enough to converge, but may zigzag for hundreds of steps
        # where the SVM is sensitive to its weights. So the latest SVM of each side is kept, one that was priced too
        # high for what it reached and one too low: the optimum may lie between the two, where no single SVM is, and a
        # search of that segment leaves about four steps.
        sides[share(answer.rates) > share(best.rates)] = answer
        found = [best, surrogate.between(best, answer)]
        if len(sides) == 2:
            first, second = sides.values()
            found.append(surrogate.between(first, second))
        best = max(found, key=lambda point: point.objective)


def alternate_base(
    fit: Callable[..., Any], metric: Concave, *, tol: float, max_iter: int, report: Callable[..., Any]
) -> tuple[Estimator, list[Step]]:
    """The same alternation on the rates of any classifier; mixtures of what it returned take the part of sums."""
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
        # Any base may fit worse than its costs ask for. A training that does not raise the mixture ends the search,
        # since the next tangent would be the same, and so would its training.
        length = best_step(
            lambda t, rates=rates, new=new: metric.extension(*(p + t * (q - p) for p, q in zip(rates, new)))
        )
        if length == 0.0:
            break
        rates = [p + length * (q - p) for p, q in zip(rates, new)]
    return best, steps
