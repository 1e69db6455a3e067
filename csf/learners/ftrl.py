"""FTRL for structural losses: the regularised minimum over all examples so far, found again as they come."""

from __future__ import annotations

import math
import numbers
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.sklearn import with_parameters
from csf._common.typing import Array, FloatArray, Label, RandomState_, Samples
from csf._common.validation import check_count, check_positive
from csf.learners.cutting_plane import Bounds, CuttingPlaneSolver, StructuralProblem, warn_of_weak_results
from csf.learners.losses import check_moderate
from csf.learners.minibatch import StructuralOnlineClassifier
from csf.learners.structural import choose_threshold, rows_of, stack_rows

if TYPE_CHECKING:
    from csf.learners.losses import StructuralLoss
    from csf.learners.structural import Rows

SCHEDULES = ("geometric", "every")
# Growth of the stream between two fits of the geometric schedule.
_GROWTH = 1.2
# Bound of the slope of one penalty, for precision among the top k.
_LIPSCHITZ = 8.0
# Share of the gap that each minimisation may leave where the ball holds the weights back, and limit of these.
_INNER, _MOST_HALVINGS = 0.25, 100


@with_parameters
class FTRL(StructuralOnlineClassifier):
    r"""Linear classifier that follows the regularised leader for a structural loss.

    After t examples its weights minimise the loss of all of them, as a sum, plus a regulariser. Everything is kept:
    memory grows with the stream. It is a reference for small streams.

    Parameters
    ----------
    loss : str or StructuralLoss, default="prbep"
        What to lower: ``"prbep"``, ``"pauc"``, ``"f1"``, ``"f<beta>"``, ``"top_precision"``, the name of a metric in
        ``csf.metrics.METRICS``, or a loss of `csf.structural`.
    eta : float, default=None
        Strength of the regulariser, positive. ``None`` means ``8 * sqrt(2 t) / radius`` after t examples, for which
        the regret for precision among the top k is bounded.
    radius : float, default=100.0
        Largest length of the weights, positive, for rows of length at most 1.
    refit : {"geometric", "every"} or int, default="geometric"
        When to find the minimum again. ``"geometric"``: after 1, 2, 3, ... examples, ever more rarely, when their
        number has grown by a fifth; the work is then linear in the stream. ``"every"``: after each example, as the
        theory has it. A number: after so many examples.
    eps : float, default=1e-3
        Gap of each minimisation, in units of the mean loss.
    max_planes : int, default=1000
        Limit of tangent planes of each minimisation.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It does not matter to losses that only rank.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a random order.
    tune_threshold : bool, default=False
        Whether the threshold of a loss of labels is tuned after learning, where its metric is best: on the
        examples so far. Weights that have a small loss need not be best at threshold 0.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the score for ``classes_[1]``.
    intercept_ : ndarray of shape (1,)
        Intercept of that score.
    coef_last_ : ndarray of shape (1, n_features)
        The same as ``coef_``: nothing is averaged.
    threshold_ : float
        Threshold of the score of the positive class: 0, or tuned, or for losses that only rank the threshold that
        predicts as many positives as there were.
    penalty_ : float
        Sum of the penalties so far, see the notes.
    n_seen_ : int
        Examples seen.
    n_updates_ : int
        Minimisations made.
    history_ : dict of ndarray
        After ``n_seen`` = 1, 2, 4, 8, ... examples: ``n_updates`` and ``penalty``.
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    With the loss as a sum over the first t examples, 0 while one class is missing, the weights are

    .. math:: w_{t+1} = \arg\min_{\|w\| \le R} \ell(x_{1:t}; w) + \frac{\eta}{2} \|w\|^2

    and example t costs the penalty :math:`L_t(w_t) = \ell(x_{1:t}; w_t) - \ell(x_{1:t-1}; w_t)`. The sum counts
    selected negatives for precision among the top k, pairs for partial AUC, samples for the others. The bound of the
    regret needs ``refit="every"``; for partial AUC it means nothing while positives are few.

    References
    ----------
    .. [1] P. Kar, H. Narasimhan, P. Jain, "Online and Stochastic Gradient Methods for Non-decomposable Loss
       Functions", NIPS 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.structural import precision_at_k_score
    >>> X, y = make_classification(2000, weights=[0.9], class_sep=1.5, random_state=0)
    >>> model = FTRL("prbep", random_state=0).fit(X, y)
    >>> precision_at_k_score(y, model.decision_function(X))
    0.9
    """

    loss: str | StructuralLoss = field(default="prbep", kw_only=False)
    eta: float | None = None
    radius: float = 100.0
    refit: Literal["geometric", "every"] | int = "geometric"
    eps: float = 0.001
    max_planes: int = 1000
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    shuffle: bool = True
    tune_threshold: bool = False
    pos_label: Label = None
    random_state: RandomState_ = None

    # A leader sees each example once.
    passes = 1

    penalty_: float = field(init=False)
    n_updates_: int = field(init=False)

    def fit(self, X: Samples, y: ArrayLike) -> Self:
        """Forget everything and go over the samples once; the last weights are the minimum over all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        FTRL
            Itself.
        """
        super().fit(X, y)
        if self._n_fitted < self.n_seen_:
            self._refit()
        steps, at_zero, C = self._last_solution
        advice = ("raise max_planes or eta", "Lower eta or raise radius")
        warn_of_weak_results(steps, at_zero, C, eps=self.eps, advice=advice)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.eta is not None:
            check_moderate(self.eta, "eta")
        check_positive(self.eps, "eps")
        check_count(self.max_planes, "max_planes")
        if isinstance(self.refit, str):
            if self.refit not in SCHEDULES:
                raise ValueError(f"refit must be one of {SCHEDULES} or a number of examples, got {self.refit!r}")
        elif isinstance(self.refit, bool) or not isinstance(self.refit, numbers.Integral):
            raise TypeError(f"refit must be one of {SCHEDULES} or a number of examples, got {self.refit!r}")
        else:
            check_count(self.refit, "refit")

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self._w = np.zeros(n_features + bool(self.fit_intercept))
        self._kept: list[tuple[Rows, FloatArray]] = []
        self._n_fitted = 0
        self._due = 1 if isinstance(self.refit, str) else self.refit
        self.penalty_, self.n_updates_ = 0.0, 0

    def _step(self, X: Samples, y: FloatArray) -> None:
        rows, start, stop = rows_of(X), 0, self._due - self.n_seen_
        while stop <= y.size:
            self._keep(rows, y, start, stop)
            self._refit()
            start, stop = stop, self._due - self.n_seen_
        self._keep(rows, y, start, y.size)

    def _keep(self, rows: Rows, y: FloatArray, start: int, stop: int) -> None:
        if start < stop:
            self._kept.append((rows.take(slice(start, stop)).copy(), y[start:stop].copy()))

    def _refit(self) -> None:
        """Charge the penalty of the examples since the last time, and follow the leader of all."""
        rows, sign = stack_rows([rows for rows, _ in self._kept]), np.concatenate([sign for _, sign in self._kept])
        self._kept = [(rows, sign)]
        n_rows = sign.size
        self.penalty_ += self._total(rows, sign, n_rows) - self._total(rows, sign, self._n_fitted)
        self._n_fitted = n_rows
        self._due = self._next(n_rows)
        problem, factor = self._problem(rows, sign, n_rows)
        if problem is None:
            return
        self._w = self._minimise(problem, factor, n_rows)
        self.n_updates_ += 1
        if self._chooses:
            self._threshold = choose_threshold(self._loss, problem.scores(self._w))

    def _next(self, n_rows: int) -> int:
        if not isinstance(self.refit, str):
            return n_rows - n_rows % self.refit + self.refit
        return n_rows + 1 if self.refit == "every" else max(n_rows + 1, math.ceil(_GROWTH * n_rows))

    def _problem(self, rows: Rows, sign: FloatArray, n_rows: int) -> tuple[StructuralProblem | None, float]:
        """Problem of the first rows and the factor of its loss; ``None`` while one class is missing."""
        is_pos = sign[:n_rows] > 0.0
        n_pos = int(np.count_nonzero(is_pos))
        if n_pos in (0, n_rows):
            return None, 0.0
        loss, factor = self._loss.total(n_pos, n_rows - n_pos)
        how = {"constant": self._constant(), "x_scale": self.x_scale_, "n_features": self.n_features_in_}
        return StructuralProblem(rows.take(slice(0, n_rows)), is_pos, loss.class_tangent, **how), factor

    def _total(self, rows: Rows, sign: FloatArray, n_rows: int) -> float:
        """Loss of the first rows at the present weights, as a sum."""
        problem, factor = self._problem(rows, sign, n_rows)
        return 0.0 if problem is None else factor * max(problem.value(self._w), 0.0)

    def _minimise(self, problem: StructuralProblem, factor: float, n_rows: int) -> Array:
        """Regularised minimum in the ball."""
        eta = _LIPSCHITZ * math.sqrt(2.0 * n_rows) / self.radius if self.eta is None else self.eta
        solver, C = CuttingPlaneSolver(problem), factor / eta
        w, _, steps = solver.solve(C, eps=self.eps, max_iter=self.max_planes)
        self._last_solution = steps, steps[0].objective, C
        if np.linalg.norm(w) <= self.radius:
            return w
        w, bounds = self._minimise_on_ball(solver, problem, C)
        self._last_solution = [*steps[:-1], bounds], math.inf, C  # weights are held back: zero is worse
        return w

    def _minimise_on_ball(
        self, solver: CuttingPlaneSolver, problem: StructuralProblem, C: float
    ) -> tuple[Array, Bounds]:
        """Best weights of the length of the radius, and bounds of the objective.

        A larger regulariser shortens the weights, so that halving finds the one that the ball amounts to. What it
        adds is at most that of the longest weights: each minimum with it bounds those in the ball from below.
        """
        radius, tol = self.radius, self.eps * max(1.0, C)
        best: Any = None
        objective, bound, low, high = math.inf, 0.0, 0.0, C
        short: Array = np.zeros(problem.n_weights)
        long: Array | None = None
        for _ in range(_MOST_HALVINGS):
            middle = 0.5 * (low + high)
            more = C / middle  # times the regulariser
            inner = _INNER * tol / (more * max(1.0, middle))
            w, _, steps = solver.solve(middle, eps=inner, max_iter=self.max_planes)
            bound = max(bound, more * steps[-1].bound - 0.5 * (more - 1.0) * radius**2)
            if float(np.linalg.norm(w)) > radius:
                long, high = w, middle
            else:
                short, low = w, middle
            for point in _on_sphere(short, long, radius):
                value: Any = 0.5 * point @ point + C * max(problem.value(point), 0.0)
                if value < objective:
                    best, objective = point, value
            if objective - bound <= tol or not low < 0.5 * (low + high) < high:
                break
        return best, Bounds(objective, min(bound, objective), len(steps))

    def _choose_threshold(self) -> float:
        """Nothing is positive before the first minimisation."""
        return math.inf

    def _weights(self) -> tuple[Array, Array]:
        return self._w, self._w


def _on_sphere(short: Array, long: Array | None, radius: float) -> list[Array]:
    """Weights of the length of the radius near the shorter and the longer ones: these, cut off, and those between."""
    points = [short] if long is None else [short, long * (radius / np.linalg.norm(long))]
    if long is not None:
        move = long - short
        square, along, missing = move @ move, short @ move, radius**2 - short @ short
        points.append(short + (math.sqrt(along**2 + square * max(missing, 0.0)) - along) / square * move)
    return [w * min(1.0, radius / max(float(np.linalg.norm(w)), 1e-300)) for w in points]
