"""AMP: alternate between the level of a pseudo-linear metric and the weighted SVM that aims at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from numpy.typing import ArrayLike

from csf._common.typing import Array, Label, Samples
from csf._common.validation import check_choice
from csf.fenchel._estimator import LinearAlternation, history
from csf.metrics import LinearFractional, get_metric

if TYPE_CHECKING:
    from csf.fenchel.rewards import RewardProblem
    from csf.solvers import HingeSolution

__all__ = ["AMP"]

LEVELS = ("actual", "surrogate")


class LevelStep(NamedTuple):
    """One weighted SVM: the level aimed at, its costs, what came out."""

    level: float
    c_fn: float
    c_fp: float
    next_level: float
    valuation: float
    bound: float


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
    level : {"actual", "surrogate"}, default="actual"
        Where the next level comes from. ``"surrogate"``: the metric of the hinge losses, regulariser included;
        then the levels rise to the maximum of that ratio, in few steps. ``"actual"``: the metric of the
        predictions on the training set, as in the paper's experiments; levels are higher and may fall, the best
        model met is kept.
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

    level_: float

    def __init__(
        self,
        metric: str | LinearFractional = "f1",
        *,
        C: float = 1.0,
        level: Literal["actual", "surrogate"] = "actual",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-06,
        max_iter: int = 50,
        pos_label: Label = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.C = C
        self.level = level
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
        AMP
            Itself.
        """
        metric = self._check_metric()
        self._check_numbers()
        X, is_pos, weight = self._check_data(X, y, sample_weight, self._sample_checks)
        problem = self._problem(X, is_pos, weight)
        metric.require_falling("AMP", pos=problem.pos)
        w, self.level_, steps = (self._climb if self.level == "surrogate" else self._follow)(problem, metric)
        self._set_linear(w)
        self.n_iter_ = len(steps)
        self.history_ = history(steps)
        if self.level == "surrogate":
            self._warn_if_open(steps[-1].next_level - steps[-1].level)
        return self

    def _climb(self, problem: RewardProblem, metric: LinearFractional) -> tuple[Array, float, list[LevelStep]]:
        """Newton's method on the surrogate; levels do not fall."""
        tol = 0.01 * self.tol
        svm = problem.solve(problem.balanced(), tol=tol)
        level = metric.clip_level(_surrogate(problem, metric, svm), pos=problem.pos)
        w = svm.w
        steps: list[LevelStep] = []
        while len(steps) < self.max_iter:
            svm, step = self._aim(problem, metric, level, tol, svm)
            new = metric.clip_level(_surrogate(problem, metric, svm), pos=problem.pos)
            # Newton's method on a convex function comes from below: an SVM that is not solved to the end may seem to
            # fall back, and then the level stays.
            gain = max(new - level, 0.0)
            if gain > 0.0:
                w = svm.w
            level += gain
            steps.append(step._replace(next_level=level))
            self._report(steps[-1])
            if gain <= self.tol:
                break
        return w, level, steps

    def _follow(self, problem: RewardProblem, metric: LinearFractional) -> tuple[Array, float, list[LevelStep]]:
        """Levels of the predictions; the best model is kept."""
        tol = 0.01 * self.tol
        svm = problem.solve(problem.balanced(), tol=tol)
        best = level = metric.value(*problem.errors(svm.margins), pos=problem.pos)
        w = svm.w
        steps: list[LevelStep] = []
        seen: set[float] = set()
        # The next level is a function of the level alone: one that comes back would begin a cycle.
        while len(steps) < self.max_iter and level not in seen:
            seen.add(level)
            svm, step = self._aim(problem, metric, metric.clip_level(level, pos=problem.pos), tol, svm)
            new = metric.value(*problem.errors(svm.margins), pos=problem.pos)
            steps.append(step._replace(next_level=new))
            self._report(steps[-1])
            if new > best:
                w, best = svm.w, new
            if abs(new - level) <= self.tol:
                break
            level = new
        return w, best, steps

    def _aim(
        self, problem: RewardProblem, metric: LinearFractional, level: float, tol: float, start: HingeSolution
    ) -> tuple[HingeSolution, LevelStep]:
        """SVM for one level."""
        costs = metric.cost_weights(level, pos=problem.pos)
        svm = problem.solve(costs, tol=tol, start=start)
        best = -metric.offset(level, pos=problem.pos)
        return svm, LevelStep(level, *costs, level, best - problem.lam * svm.objective, best - problem.lam * svm.bound)

    def _check_metric(self) -> LinearFractional:
        metric = get_metric(self.metric)
        if not isinstance(metric, LinearFractional):
            raise TypeError(
                f"AMP needs a linear-fractional metric such as 'f1' or 'jaccard', got {metric.name!r}. Use "
                "csf.fenchel.FenchelSVM for concave metrics such as G-mean, or CostSearch"
            )
        check_choice(self.level, "level", LEVELS)
        return metric


def _surrogate(problem: RewardProblem, metric: LinearFractional, svm: HingeSolution) -> float:
    """The ratio of the hinge losses, regulariser included; minus infinity where its denominator is not positive."""
    fn, fp = problem.losses(svm.margins)
    n0, n_fn, n_fp, *_ = metric.coefficients(problem.pos)
    denominator = metric.denominator(fn, fp, pos=problem.pos)
    if denominator <= 0.0:
        return float("-inf")
    return (n0 + n_fn * fn + n_fp * fp - 0.5 * problem.lam * svm.w @ svm.w) / denominator
