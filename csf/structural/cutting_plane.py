"""Learners of a whole training set: the one-slack cutting-plane method, and projected subgradient descent."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from csf._common.compiled import njit
from csf._common.messages import warn
from csf._common.sklearn import check_options, option, with_parameters
from csf._common.typing import Array, BoolArray, Label, Samples, Targets, Values
from csf._common.validation import check_binary_target, check_bool, check_count, check_positive, warn_of_order
from csf.data.responses import LinearClassifier
from csf.online.base import NUMBERS, lengths, power_of_two_above
from csf.structural.base import check_tuning, choose_threshold, rows_of
from csf.structural.losses import ClassScores, check_moderate, get_loss

if TYPE_CHECKING:
    from csf.structural.base import TrainingRows
    from csf.structural.losses import StructuralLoss, Tangent

# ---------------------------------------------------------------- the problem


class Plane(NamedTuple):
    """Tangent plane: ``offset + gradient @ w`` is ``value`` at the given weights, below the loss at others."""

    value: float
    offset: float
    gradient: Array


class StructuralProblem:
    """Loss of linear scores of scaled rows."""

    def __init__(
        self,
        rows: TrainingRows,
        is_pos: BoolArray,
        tangent_of: Callable[[ClassScores], Tangent],
        *,
        n_features: int,
        constant: float,
        x_scale: float,
    ) -> None:
        self._tangent_of = tangent_of
        self._constant = constant
        self._rows = rows.take(np.argsort(~is_pos, kind="stable"))
        self.n_pos = int(np.count_nonzero(is_pos))
        self.n_weights = n_features + (constant > 0.0)
        self.x_scale = x_scale

    def scores(self, w: Array) -> ClassScores:
        """Compute the scores of the rows, by class."""
        score = self._rows.scores(w, self.x_scale, self._constant)
        return ClassScores.equal(score[: self.n_pos], score[self.n_pos :])

    def value(self, w: Array) -> float:
        """Compute the loss at some weights."""
        return self._tangent_of(self.scores(w)).value

    def plane(self, w: Array) -> Plane:
        """Compute the tangent plane at some weights."""
        tangent = self._tangent_of(self.scores(w))
        gradient = np.zeros(self.n_weights)
        self._rows.add(tangent.slope, self.x_scale, self._constant, gradient)
        return Plane(tangent.value, tangent.offset, gradient)


def longest_scale(X: Samples) -> float:
    """Return the largest power of two that makes no row of ``X`` longer than 1 (1 if all are 0)."""
    longest = float(lengths(X).max(initial=0.0))
    return 1.0 / power_of_two_above(longest) if longest > 0.0 else 1.0


# ---------------------------------------------------------------- quadratic programs over a simplex


# Ridge relative to the largest diagonal entry: equal cuts make the equations singular.
_RIDGE = 1e-13


@njit(cache=True, nogil=True)
def solve_simplex_qp(H, linear, total, alpha, tol) -> float:
    """Maximise ``linear @ alpha - alpha @ H @ alpha / 2`` over ``alpha >= 0`` with a given sum, from ``alpha`` on."""
    # A variable of zeros in H and linear turns the given sum into an upper bound. The duality gap that is returned is
    # above ``tol`` only where rounding prevents more.
    n = linear.shape[0]
    ridge = 1e-300
    for i in range(n):
        ridge = max(ridge, _RIDGE * H[i, i])
    free = alpha > 0.0
    gap = np.inf
    for _ in range(50 + 10 * n):
        while _move(H, linear, total, alpha, free, ridge):
            pass
        gradient = linear - H @ alpha
        best = int(np.argmax(gradient))
        before, gap = gap, total * gradient[best] - gradient @ alpha
        # free variables alone can gain only what a large ridge left, which falls from step to step
        if gap <= tol or (free[best] and gap > 0.5 * before):
            break
        free[best] = True
    return gap


@njit(cache=True, nogil=True)
def _move(H, linear, total, alpha, free, ridge):
    """Go to the maximum over the free variables, or to the first bound on the way, whose variable is then fixed.

    The ridge counts from where the variables are: it slows them down where the program is flat, and no more.
    """
    places = np.flatnonzero(free)
    size, last = places.shape[0] - 1, 0
    for a in range(size + 1):
        last = a if alpha[places[a]] > alpha[places[last]] else last
    # the largest one makes up for the moves of the others, so that the sum stays
    places[last], places[size] = places[size], places[last]
    pivot = places[size]
    slope, rest = linear[places] - linear[pivot], total
    for a in range(size + 1):
        rest -= alpha[places[a]]
        for b in range(size + 1):
            slope[a] -= (H[places[a], places[b]] - H[pivot, places[b]]) * alpha[places[b]]
    H_free, factor = np.empty((size, size)), np.empty((size, size))
    for a in range(size):
        for b in range(size):
            H_free[a, b] = (H[places[a], places[b]] - H[places[a], pivot]) - (H[pivot, places[b]] - H[pivot, pivot])
    while not _cholesky(H_free, ridge, factor):
        ridge *= 10.0
    move = np.append(_solve(factor, slope[:size]), 0.0)
    move[size] = rest - move.sum()
    step, block = 1.0, -1
    for a in range(size + 1):
        if alpha[places[a]] + move[a] < 0.0:
            length = -alpha[places[a]] / move[a]
            if length < step:
                step, block = length, a
    for a in range(size + 1):
        alpha[places[a]] = max(alpha[places[a]] + step * move[a], 0.0)
    if block < 0:
        return False
    alpha[places[block]] = 0.0
    free[places[block]] = False
    return True


@njit(cache=True, nogil=True)
def _cholesky(H, ridge, factor):
    """Write the Cholesky factor of ``H`` plus the ridge; ``False`` where rounding hides it."""
    for a in range(H.shape[0]):
        for b in range(a):
            rest = H[a, b] - np.dot(factor[a, :b], factor[b, :b])
            factor[a, b] = rest / factor[b, b]
        rest = H[a, a] + ridge - np.dot(factor[a, :a], factor[a, :a])
        if not rest >= 0.5 * ridge:  # no pivot of the sum is smaller than the ridge
            return False
        factor[a, a] = np.sqrt(rest)
    return True


@njit(cache=True, nogil=True)
def _solve(factor, right):
    """Solve the equations of a Cholesky factor."""
    x = right.copy()
    for a in range(x.shape[0]):
        x[a] = (x[a] - np.dot(factor[a, :a], x[:a])) / factor[a, a]
    for a in range(x.shape[0] - 1, -1, -1):
        for b in range(a + 1, x.shape[0]):
            x[a] -= factor[b, a] * x[b]
        x[a] /= factor[a, a]
    return x


# ---------------------------------------------------------------- the method


# The small quadratic program is solved to this part of the gap asked for.
_INNER = 1e-3
# Rounding of objectives and bounds, as a share of their terms: no smaller gap is proven.
_NOISE = 4 * np.finfo(np.float64).eps


class Bounds(NamedTuple):
    """Best objective met and largest lower bound, after one more tangent plane."""

    objective: float
    bound: float
    n_cuts: int


class CuttingPlaneSolver:
    r"""Minimiser of :math:`\frac12 \|w\|^2 + C \ell(w)` for one loss and any C; planes are kept between them."""

    def __init__(self, problem: StructuralProblem, *, drop_after: int = 50) -> None:
        self._problem = problem
        self._drop_after = drop_after
        # the first plane is 0: the loss is not negative
        self._planes = np.zeros((1, problem.n_weights))
        self._gram, self._offsets, self._alpha = np.zeros((1, 1)), np.zeros(1), np.ones(1)
        self._idle = np.zeros(1, dtype=np.int64)
        self._size = 1

    def solve(
        self, C: float, *, eps: float, max_iter: int, watch: Callable[[Bounds, Array, Array], object] | None = None
    ) -> tuple[Array, Array, list[Bounds]]:
        """Solve for one ``C``."""
        tol = eps * max(1.0, C)
        steps: list[Bounds] = []
        objective, bound = np.inf, 0.0
        best: Any = None
        w, lower = self._model_minimum(C, _INNER * tol)
        while True:
            bound = max(bound, lower)
            plane = self._problem.plane(w)
            value: Values = 0.5 * (w @ w) + C * max(plane.value, 0.0)
            # the minimum of the model is preferred to an earlier point where both are good enough
            if value < objective or value - bound <= tol:
                best, objective = w, value
            steps.append(Bounds(objective, min(bound, objective - _NOISE * (C + objective)), self._size - 1))
            if watch is not None:
                watch(steps[-1], best, w)
            if objective - bound <= tol or len(steps) == max_iter:
                return best, w, steps
            self._add(plane)
            w, lower = self._model_minimum(C, _INNER * tol)

    def _model_minimum(self, C: float, tol: float) -> tuple[Array, float]:
        """Minimise the model. Return the weights, and the value, which is a lower bound."""
        size = self._size
        alpha, gram, offsets = C * self._alpha[:size], self._gram[:size, :size], self._offsets[:size]
        solve_simplex_qp(np.ascontiguousarray(gram), offsets, C, alpha, tol)
        self._alpha[:size] = alpha / C
        used = np.flatnonzero(alpha)
        w = -(alpha[used] @ self._planes[used])
        self._idle[1:size] += 1
        self._idle[used] = 0
        return w, float(alpha @ offsets - 0.5 * (w @ w))

    def _add(self, plane: Plane) -> None:
        """Add a plane, in the place of one that has been idle for long if there is any."""
        slot = int(np.argmax(self._idle[: self._size]))
        if slot == 0 or self._idle[slot] < self._drop_after:
            slot, self._size = self._size, self._size + 1
        if slot == self._offsets.shape[0]:
            self._grow()
        self._planes[slot], self._offsets[slot] = plane.gradient, plane.offset
        self._idle[slot] = 0  # its alpha is 0 already
        row = self._planes[: self._size] @ plane.gradient
        self._gram[slot, : self._size] = self._gram[: self._size, slot] = row

    def _grow(self) -> None:
        more = max(16, self._offsets.shape[0])
        self._planes = np.pad(self._planes, ((0, more), (0, 0)))
        self._gram = np.pad(self._gram, (0, more))
        for name in ("_offsets", "_alpha", "_idle"):
            setattr(self, name, np.pad(getattr(self, name), (0, more)))


def warn_of_weak_results(steps: list[Bounds], at_zero: float, C: float, *, eps: float, advice: tuple[str, ...]) -> None:
    """Warn where the solver was stopped early, or where zero weights are as good as its result."""
    objective, bound, _ = steps[-1]
    gap = (objective - bound) / max(1.0, C)
    if gap > eps:
        warn(
            f"stopped after {len(steps)} tangent planes with a gap of {gap:.2g} > eps={eps:g}; {advice[0]}",
            ConvergenceWarning,
        )
    elif at_zero - bound <= eps * max(1.0, C):
        warn(
            f"zero weights are as good as any up to eps={eps:g}; the model may be of little use. {advice[1]}, use a "
            "looser loss (a larger beta for partial AUC), or OnePassMiniBatch",
        )


# ---------------------------------------------------------------- what these learners share


@with_parameters
class BatchLearner(LinearClassifier):
    """Base of learners of a whole training set; they write ``_solve``: best and last weights of a problem."""

    loss: str | StructuralLoss = field(default="prbep", kw_only=False)
    fit_intercept: bool = option(check=check_bool, default=True)
    intercept_scaling: float = option(check=check_moderate, default=1.0)
    tune_threshold: bool = False
    pos_label: Label = None

    n_features_in_: int = field(init=False)
    n_seen_: int = field(init=False)
    x_scale_: float = field(init=False)
    coef_last_: Array = field(init=False)
    threshold_: float = field(init=False)

    _sample_checks = NUMBERS

    def fit(self, X: Samples, y: ArrayLike) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        BatchLearner
            Itself.
        """
        check_tuning(get_loss(self.loss), self.tune_threshold)
        check_options(self)
        X, is_pos = self._check_data(X, y)
        loss = get_loss(self.loss)
        loss.check()
        constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
        how = {"n_features": X.shape[1], "constant": constant, "x_scale": longest_scale(X)}
        problem = StructuralProblem(rows_of(X), is_pos, loss.class_tangent, **how)
        best, last = self._solve(problem)
        self.x_scale_ = problem.x_scale
        sign = self._orientation()
        self.coef_ = sign * self.x_scale_ * best[None, : X.shape[1]]
        self.coef_last_ = sign * self.x_scale_ * last[None, : X.shape[1]]
        self.intercept_ = np.array([sign * constant * best[-1]])
        chosen = loss.ranking or self.tune_threshold
        self.threshold_ = choose_threshold(loss, problem.scores(best)) if chosen else 0.0
        # a score of 0 is negative, unless a threshold was chosen
        self._cut = self.threshold_ if chosen else np.nextafter(0.0, np.inf)
        self.n_seen_ = X.shape[0]
        return self

    @abstractmethod
    def _solve(self, problem: StructuralProblem) -> tuple[Array, Array]:
        """Compute the best and the last weights."""

    def _check_data(self, X: Samples, y: Targets) -> tuple[Samples, BoolArray]:
        """Check the samples and find the positives; set ``classes_`` and ``pos_label_``."""
        warn_of_order(X=X, y=y)
        X, y = validate_data(self, X, y, **NUMBERS)
        self.classes_, is_pos, self.pos_label_ = check_binary_target(y, self.pos_label)
        return X, is_pos

    def _watch(self, objective: float, best: Array, last: Array) -> None:
        """Do nothing after an iteration; measurements override this."""


# ---------------------------------------------------------------- CuttingPlane


@with_parameters
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
        Number of tangent planes computed.
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

    C: float = option(check=check_positive, default=100000.0)
    eps: float = option(check=check_positive, default=0.001)
    max_iter: int = option(check=check_count, default=1000)
    drop_after: int = option(check=check_count, default=50)
    verbose: int = 0

    objective_: float = field(init=False)
    bound_: float = field(init=False)
    gap_: float = field(init=False)
    n_iter_: int = field(init=False)
    n_updates_: int = field(init=False)
    history_: dict[str, Array] = field(init=False)

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


# ---------------------------------------------------------------- ProjectedSubgradient


# Lengths of the first step, in parts of the longest, until one of them lowers the loss.
_FACTORS = 0.125 ** np.arange(8)


@with_parameters
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

    loss: str | StructuralLoss = field(default="pauc", kw_only=False)
    radius: float = option(check=check_moderate, default=100.0)
    eta: float | None = option(check=check_moderate, default=None)
    max_iter: int = option(check=check_count, default=1000)
    patience: int = option(check=check_count, default=50)
    tol: float = option(check=check_positive, default=1e-05)

    loss_: float = field(init=False)
    n_iter_: int = field(init=False)
    n_updates_: int = field(init=False)
    history_: dict[str, Array] = field(init=False)

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
        """Descend from zero weights until the loss no longer falls. Return the best loss and weights, and the last."""
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
