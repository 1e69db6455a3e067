"""Alternating weighted SVMs: FenchelSVM for concave metrics, AMP for pseudo-linear ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.messages import warn
from csf._common.sklearn import check_options, clone, one_of, option, with_parameters
from csf._common.typing import Array, BoolArray, Costs, Estimator, Foreign, Keywords, Label, Samples, Targets, Values
from csf._common.validation import (
    check_binary_target,
    check_class_totals,
    check_count,
    check_positive,
    check_weights,
    warn_of_order,
)
from csf.data.costs import cost_channel
from csf.data.labels import Labels
from csf.data.responses import LinearClassifier
from csf.metrics import Concave, LinearFractional, get_metric
from csf.metrics.base import require_levels
from csf.metrics.concave import concave_of
from csf.metrics.profile import ErrorProfile
from csf.solvers import Hinge, HingeSolution, Rows

__all__ = [
    "AMP",
    "FenchelSVM",
]

# ---------------------------------------------------------------- hinge rewards


# Smallest inverse strength of the regulariser in units of the rewards, and inverse of the largest one.
_SMALLEST = 1e-300


class RewardProblem:
    """Training set with the hinge losses of each class."""

    # The reward of a sample, 1 - max(0, 1 - margin), is never above the reward (margin > 0) of a correct prediction: so
    # averages of rewards bound the true rates from below. In units of the rewards the regulariser is
    # ``lam / 2 * ||w||**2`` with ``lam = 1 / (C * total weight)``.

    def __init__(
        self,
        X: Samples,
        is_pos: BoolArray,
        sample_weight: Array | None,
        *,
        C: float,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
    ) -> None:
        weight = np.ones(is_pos.shape[0]) if sample_weight is None else sample_weight
        total = float(weight.sum())
        self._is_pos = is_pos
        self._unit = weight / total
        self._of_pos = np.where(is_pos, self._unit, 0.0)
        self._of_neg = self._unit - self._of_pos
        self.pos = float(self._of_pos.sum())
        # in floats of Python, whose products overflow in silence
        if not _SMALLEST <= float(C) * total <= 1.0 / _SMALLEST:
            raise ValueError(
                f"C times the total weight must be between {_SMALLEST:g} and {1.0 / _SMALLEST:g}, got C={C!r} and a "
                f"total of {total:.6g}"
            )
        self.lam = 1.0 / (C * total)
        rows = Rows(X, constant=intercept_scaling if fit_intercept else 0.0)
        self._hinge = Hinge(rows, np.where(is_pos, 1.0, -1.0))

    def losses(self, margins: Array) -> tuple[float, float]:
        """Sum the hinge losses over each class, as shares of all samples."""
        hinge = np.maximum(1.0 - margins, 0.0)
        return float(self._of_pos @ hinge), float(self._of_neg @ hinge)

    def rates(self, margins: Array) -> tuple[float, float]:
        """Compute the average reward of each class."""
        fn, fp = self.losses(margins)
        return 1.0 - fn / self.pos, 1.0 - fp / (1.0 - self.pos)

    def errors(self, margins: Array) -> tuple[float, float]:
        """Compute the true errors of the rule that predicts positive when the score is above 0."""
        return float(self._of_pos @ (margins <= 0.0)), float(self._of_neg @ (margins < 0.0))

    def balanced(self, alpha: float = 0.5, beta: float = 0.5) -> tuple[float, float]:
        """Compute the class costs of the two rates."""
        return alpha / self.pos, beta / (1.0 - self.pos)

    def margins(self, w: Array) -> Array:
        """Compute the margins of coefficients."""
        return self._hinge.margins(w)

    def solve(self, costs: Costs, *, tol: float, start: HingeSolution | None = None) -> HingeSolution:
        """Solve the weighted SVM ``min c_fn fn + c_fp fp + lam / 2 ||w||**2`` over hinge losses."""
        weight = np.where(self._is_pos, costs[0], costs[1]) * (self._unit / self.lam)
        # The objective of the solver is that of the rewards divided by lam, and so is its tolerance.
        return self._hinge.solve(weight, tol=0.0, atol=tol / self.lam, starts=() if start is None else [start])


# ---------------------------------------------------------------- what the two estimators share


@with_parameters
class LinearAlternation(LinearClassifier):
    """Base of classifiers that alternate between a weighted linear SVM and a few numbers.

    Subclasses have the parameters ``C``, ``fit_intercept``, ``intercept_scaling``, ``tol``, ``max_iter``,
    ``pos_label`` and ``verbose``.
    """

    C: float = option(check=check_positive, default=1.0)
    fit_intercept: bool = True
    intercept_scaling: float = option(check=check_positive, default=1.0)
    tol: float = option(check=check_positive, default=1e-4)
    max_iter: int = option(check=check_count, default=100)
    pos_label: Label = None
    verbose: int = 0

    n_iter_: int = field(init=False)
    history_: dict[str, Array] = field(init=False)

    def _check_data(
        self, X: Samples, y: Targets, sample_weight: ArrayLike | None, numbers: Keywords
    ) -> tuple[Samples, BoolArray, Array | None]:
        """Check the data, and set ``classes_`` and ``pos_label_``; scikit-learn's check of ``X`` gets ``numbers``."""
        warn_of_order(X=X, y=y, sample_weight=sample_weight)
        X, y = validate_data(self, X, y, **numbers)
        self.classes_, is_pos, self.pos_label_ = check_binary_target(y, self.pos_label)
        weight = check_weights(sample_weight, is_pos.shape[0])
        if weight is not None:
            for name, of_class in (("positive", is_pos), ("negative", ~is_pos)):
                if not weight[of_class].any():
                    raise ValueError(
                        f"sample_weight is zero for every sample of the {name} class; both classes are needed"
                    )
            check_class_totals(weight[is_pos].sum(), weight[~is_pos].sum())
        return X, is_pos, weight

    def _problem(self, X: Samples, is_pos: BoolArray, weight: Array | None) -> RewardProblem:
        return RewardProblem(
            X,
            is_pos,
            weight,
            C=self.C,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
        )

    def _set_linear(self, w: Array) -> None:
        """Store coefficients of a score that is high for the positive class."""
        w = self._orientation() * w
        self.coef_ = w[None, :-1].copy()
        self.intercept_ = np.array([w[-1] * self.intercept_scaling])

    def _report(self, step: NamedTuple) -> None:
        if self.verbose:
            print("  ".join(f"{name} {number:.6g}" for name, number in step._asdict().items()))

    def _warn_if_open(self, gap: float) -> None:
        # Also where the gap is NaN.
        if not gap <= self.tol:
            warn(
                f"stopped after {self.n_iter_} steps with a gap of {gap:.2g} > tol={self.tol:g}; "
                "raise max_iter, scale the features or lower C",
                ConvergenceWarning,
            )


def history(steps: Sequence[NamedTuple]) -> dict[str, Array]:
    """Convert steps to a dict of arrays, one for each field."""
    return {name: np.array(column) for name, column in zip(steps[0]._fields, zip(*steps))}


# ---------------------------------------------------------------- the alternation


class Step(NamedTuple):
    """One weighted SVM: the best objective before it, the gap after it, its duals, the best rewards before it."""

    objective: float
    gap: float
    alpha: float
    beta: float
    tpr: float
    tnr: float


class _Iterate(NamedTuple):
    """Coefficients with all that follows from them."""

    w: Array
    margins: Array
    rates: tuple[float, float]
    objective: float


def best_step(objective: Callable[[float], Values]) -> float:
    """Find the length in [0, 1] that maximises a concave function of it; 0 unless that beats no step."""
    # A rough search would leave the mixture of two SVMs too far from the optimum to be certified.
    optimum: Foreign = minimize_scalar(
        lambda t: -objective(t), bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9}
    )
    values = {length: objective(length) for length in (0.0, float(optimum.x), 1.0)}
    return max(values, key=values.__getitem__)


class _Surrogate:
    """Extension of the metric of average rewards minus the regulariser, as a function of the coefficients."""

    def __init__(self, problem: RewardProblem, metric: Concave) -> None:
        self._problem, self._metric = problem, metric

    def _value(self, rates: tuple[float, float], norm: Values) -> float:
        return float(self._metric.extension(*rates) - 0.5 * self._problem.lam * norm)

    def point(self, w: Array) -> _Iterate:
        """Evaluate coefficients."""
        margins = self._problem.margins(w)
        rates = self._problem.rates(margins)
        return _Iterate(w, margins, rates, self._value(rates, w @ w))

    def between(self, start: _Iterate, end: _Iterate) -> _Iterate:
        """Find the best point of a segment, searched on cached margins."""
        move, along = end.w - start.w, end.margins - start.margins
        constant, linear, square = start.w @ start.w, start.w @ move, move @ move

        def objective(t: float) -> float:
            norm = constant + t * (2.0 * linear + t * square)
            return self._value(self._problem.rates(start.margins + t * along), norm)

        return self.point(start.w + best_step(objective) * move)


def alternate(
    problem: RewardProblem, metric: Concave, *, tol: float, max_iter: int, report: Callable[..., None]
) -> tuple[Array, list[Step]]:
    """Maximise the extension of a concave metric of hinge rewards minus the regulariser."""

    def share(rates: tuple[float, float]) -> Values:
        alpha, beta = metric.dual(*rates)
        return alpha / (alpha + beta)

    surrogate, bound = _Surrogate(problem, metric), np.inf
    sides: dict[bool, _Iterate] = {}
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
        candidates = [best, surrogate.between(best, answer)]
        if len(sides) == 2:
            first, second = sides.values()
            candidates.append(surrogate.between(first, second))
        best = max(candidates, key=lambda point: point.objective)


def alternate_base(
    fit: Callable[[float, float], tuple[Estimator, float, float]],
    metric: Concave,
    *,
    tol: float,
    max_iter: int,
    report: Callable[..., None],
) -> tuple[Estimator, list[Step]]:
    """Alternate as `alternate` does on the rates of any classifier; mixtures of its models replace sums."""
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


# ---------------------------------------------------------------- AMP


LEVELS = ("actual", "surrogate")


class LevelStep(NamedTuple):
    """One weighted SVM: the level aimed at, its costs and its results."""

    level: float
    c_fn: float
    c_fp: float
    next_level: float
    valuation: float
    bound: float


@with_parameters
class AMP(LinearAlternation):
    r"""Linear classifier for F-beta, Jaccard and other ratios of two affine functions of the errors.

    It alternates between the level reached and the linear SVM whose class costs aim at that level.

    Parameters
    ----------
    metric : str or LinearFractional, default="f1"
        ``"f1"``, ``"f<beta>"``, ``"jaccard"``, ``"gower_legendre"``, or another linear-fractional metric that falls
        with both errors.
    C : float, default=1.0
        Inverse strength of regularisation, positive; each SVM is a `sklearn.svm.LinearSVC` with this ``C`` and the
        costs as class weights. It is ``lambda = 1 / (C * total weight)`` below.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive; a larger one regularises the intercept less.
    tol : float, default=1e-6
        Change of the level at which to stop.
    max_iter : int, default=50
        Largest number of steps; each trains one SVM, warm-started.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    verbose : int, default=0
        1 prints a line for each step.
    level : {"actual", "surrogate"}, default="actual"
        Where the next level comes from. ``"surrogate"``: the metric of the hinge losses, regulariser included;
        then the levels rise to the maximum of that ratio, in few steps. ``"actual"``: the metric of the
        predictions on the training set, as in the paper's experiments; levels are higher and may fall, the best
        model met is kept.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    level_ : float
        Level of the model kept: the metric of its predictions, or of its hinge losses.
    n_iter_ : int
        Steps made.
    history_ : dict of ndarray of shape (n_iter\_,)
        For each step: ``level``, ``c_fn``, ``c_fp``, ``next_level``, and the ``valuation`` reached with its upper
        ``bound`` (numerator minus level times denominator, minus the regulariser).
    n_features_in_ : int
        Number of features seen in ``fit``.

    Notes
    -----
    With hinge losses in place of the errors it maximises

    .. math:: M_\lambda(w) = \frac{n(w) - \frac{\lambda}{2} \|w\|^2}{d(w)}

    The largest valuation :math:`f(v) = \max_w n(w) - v\, d(w) - \frac{\lambda}{2} \|w\|^2` falls with the level v and
    is convex; its root is the maximum, and the alternation is Newton's method for it (Dinkelbach's). For
    Gower-Legendre metrics both costs are equal at each level: they are accuracy in another form.

    References
    ----------
    .. [1] H. Narasimhan, P. Kar, P. Jain, "Optimizing Non-decomposable Performance Measures: A Tale of Two
       Classes", ICML 2015.
    .. [2] W. Dinkelbach, "On nonlinear fractional programming", Management Science 13, 1967.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, weights=[0.9], flip_y=0.1, random_state=0)
    >>> model = AMP("f1", level="surrogate").fit(X, y)
    >>> model.history_["level"].round(3)
    array([0.306, 0.307])
    """

    metric: str | LinearFractional = field(default="f1", kw_only=False)
    tol: float = option(check=check_positive, default=1e-6)
    max_iter: int = option(check=check_count, default=50)
    level: Literal["actual", "surrogate"] = option(check=one_of(*LEVELS), default="actual")

    level_: float = field(init=False)

    def fit(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the classifier.

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
        AMP
            Itself.
        """
        metric = self._check_metric()
        check_options(self)
        X, is_pos, weight = self._check_data(X, y, sample_weight, self._sample_checks)
        problem = self._problem(X, is_pos, weight)
        metric.require_falling("AMP", pos=problem.pos)
        w, self.level_, steps = self._alternate(problem, metric)
        self._set_linear(w)
        self.n_iter_ = len(steps)
        self.history_ = history(steps)
        if self.level == "surrogate":
            self._warn_if_open(steps[-1].next_level - steps[-1].level)
        return self

    def _alternate(self, problem: RewardProblem, metric: LinearFractional) -> tuple[Array, float, list[LevelStep]]:
        """Train SVMs for one level after the other. Return the best model, its level and all steps."""
        climbs = self.level == "surrogate"
        reached = _surrogate if climbs else _actual
        svm = problem.solve(problem.balanced(), tol=0.01 * self.tol)
        w, level = svm.w, reached(problem, metric, svm)
        best = level = metric.clip_level(level, pos=problem.pos) if climbs else level
        steps: list[LevelStep] = []
        seen: set[float] = set()
        # The next level is a function of the level alone: one that comes back would begin a cycle.
        while len(steps) < self.max_iter and level not in seen:
            seen.add(level)
            svm, step = self._aim(problem, metric, metric.clip_level(level, pos=problem.pos), svm)
            new = reached(problem, metric, svm)
            if climbs:
                # Newton's method on a convex function comes from below. An SVM that is not solved to the end may seem
                # to fall back, and then the level stays.
                new = max(metric.clip_level(new, pos=problem.pos), level)
            steps.append(step._replace(next_level=new))
            self._report(steps[-1])
            if new > best:
                w, best = svm.w, new
            if abs(new - level) <= self.tol:
                break
            level = new
        return w, best, steps

    def _aim(
        self, problem: RewardProblem, metric: LinearFractional, level: float, start: HingeSolution
    ) -> tuple[HingeSolution, LevelStep]:
        """Train the SVM for one level."""
        costs = metric.cost_weights(level, pos=problem.pos)
        svm = problem.solve(costs, tol=0.01 * self.tol, start=start)
        best = -metric.offset(level, pos=problem.pos)
        return svm, LevelStep(level, *costs, level, best - problem.lam * svm.objective, best - problem.lam * svm.bound)

    def _check_metric(self) -> LinearFractional:
        way = "Use csf.fenchel.FenchelSVM for concave metrics such as G-mean, or CostSearch"
        return require_levels(get_metric(self.metric), "AMP", way)


def _actual(problem: RewardProblem, metric: LinearFractional, svm: HingeSolution) -> float:
    """Compute the metric of the predictions."""
    return float(metric.value(*problem.errors(svm.margins), pos=problem.pos))


def _surrogate(problem: RewardProblem, metric: LinearFractional, svm: HingeSolution) -> float:
    """Compute the ratio of the hinge losses with the regulariser; minus infinity unless its denominator is positive."""
    fn, fp = problem.losses(svm.margins)
    n0, n_fn, n_fp, *_ = metric.coefficients(problem.pos)
    denominator = metric.denominator(fn, fp, pos=problem.pos)
    if denominator <= 0.0:
        return float("-inf")
    return (n0 + n_fn * fn + n_fp * fp - 0.5 * problem.lam * svm.w @ svm.w) / denominator


# ---------------------------------------------------------------- FenchelSVM


def _has_scores(estimator: FenchelSVM) -> bool:
    return estimator.base is None or hasattr(getattr(estimator, "estimator_", estimator.base), "decision_function")


@with_parameters
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
    base : classifier, default=None
        Inner solver to use instead of the linear SVM: any classifier that takes sample or class weights. There is
        no line search between such models and no certificate: the alternation runs on the rates of mixtures of
        them, and the single model with the best metric on the training set is kept. ``C``, ``fit_intercept`` and
        ``intercept_scaling`` are then not used.

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

    metric: str | Concave = field(default="gmean", kw_only=False)
    base: Estimator = None

    gap_: float = field(init=False)
    dual_: tuple[float, float] = field(init=False)
    estimator_: Estimator = field(init=False)

    def fit(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the classifier.

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
        check_options(self)
        if self.base is not None and (isinstance(self.base, type) or not hasattr(self.base, "fit")):
            raise TypeError(f"base must be a classifier such as LogisticRegression() or None, got {self.base!r}")
        # a base gets the samples as they come, tables with text included
        numbers: Keywords = self._sample_checks if self.base is None else {"skip_check_array": True}
        X, is_pos, weight = self._check_data(X, y, sample_weight, numbers)
        run: Keywords = {"tol": self.tol, "max_iter": self.max_iter, "report": self._report}
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
        given = get_metric(self.metric)
        if (metric := concave_of(given)) is None:
            raise TypeError(
                f"FenchelSVM needs a concave metric of the two rates, got {given.name!r}. Use csf.fenchel.AMP for "
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
        """Return the function that trains the base at given duals and measures its rates."""
        channel, labels = cost_channel(self.base, weighted=weight is not None), self._labels
        target = is_pos.astype(int)
        unit = np.ones(is_pos.shape[0]) if weight is None else weight
        pos = float(unit[is_pos].sum() / unit.sum())

        def fit(alpha: float, beta: float) -> tuple[Estimator, float, float]:
            # A class of no weight at all would leave many bases with one class.
            costs = max(alpha, 1e-6) / pos, max(beta, 1e-6) / (1.0 - pos)
            how: Keywords = {"sample_weight": weight, "normalize": "mean", "labels": labels}
            estimator = channel.fit(clone(self.base), X, target, costs, **how)
            decided = labels.learnt_by(estimator).encode(estimator.predict(X)) == 1
            profile = ErrorProfile.from_masks(is_pos, decided, sample_weight=weight)
            return estimator, profile.tpr, profile.tnr

        return fit

    @available_if(_has_scores)
    def decision_function(self, X: Samples) -> Array:  # pyright: ignore[reportIncompatibleMethodOverride] - a base may have none
        """Compute the signed score of each sample; above 0 exactly where ``predict`` gives ``classes_[1]``.

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
        return self.estimator_.decision_function(X)

    def predict(self, X: Samples) -> Array:
        """Predict the class of each sample.

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
        learnt = self._labels.learnt_by(self.estimator_)
        return self._labels.decode(learnt.encode(self.estimator_.predict(X)))

    @property
    def _labels(self) -> Labels:
        return Labels(self.classes_, self.classes_[self.classes_ != self.pos_label_][0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.base is not None:
            tags.input_tags.sparse = get_tags(self.base).input_tags.sparse
        return tags
