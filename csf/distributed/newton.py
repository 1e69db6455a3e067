"""Linear models of data in parts: Newton's method, one pass for each step, and the scalers before them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from csf._common.sklearn import clone, last_step
from csf._common.typing import Array, BoolArray, Costs, Estimator, IntArray, Samples
from csf.solvers import Rows
from csf.solvers.base import DIRECT, LOGISTIC, NOISE, SQUARED_HINGE, Loss, conjugate_directions, least_gap, newton_step
from csf.trainers.linear import LogisticTrainer, linear_kind

if TYPE_CHECKING:
    from csf.distributed.engine import Job

# ---------------------------------------------------------------- scalers

# Sums over raw features become those over scaled ones: rows are never scaled themselves.

_ACCEPTED = StandardScaler, MinMaxScaler, MaxAbsScaler


def scalers_of(base: Estimator) -> list[Estimator] | None:
    """Return the steps before the last one of a pipeline if all of them scale columns, else ``None``."""
    if not isinstance(base, Pipeline):
        return None
    scalers = [step for _, step in base.steps[:-1]]
    return scalers if scalers and all(map(is_scaler, scalers)) else None


def is_scaler(step: object) -> bool:
    """Check whether a step is a scaler that parts can fit."""
    return isinstance(step, _ACCEPTED) and not getattr(step, "clip", False)


class Moments(NamedTuple):
    """Statistics of the columns of some rows for scalers; ``squares`` are sums of squares around the mean."""

    n_rows: int
    mean: Array
    squares: Array
    low: Array
    high: Array
    is_sparse: bool

    @classmethod
    def of(cls, X: Samples) -> Self:
        """Compute the moments of rows."""
        if sparse.issparse(X):
            columns: Any = mean_variance_axis(X, axis=0), min_max_axis(X, axis=0)
            (mean, variance), (low, high) = columns
        else:
            mean, variance = X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
            low, high = X.min(axis=0), X.max(axis=0)
        return cls(X.shape[0], mean, X.shape[0] * variance, low, high, sparse.issparse(X))

    @classmethod
    def merged(cls, parts: Sequence[Moments]) -> Self:
        """Merge the moments of several parts."""
        n_rows, mean, squares, low, high, is_sparse = (np.array(values) for values in zip(*parts, strict=True))
        share = n_rows[:, None] / n_rows.sum()
        middle = (share * mean).sum(axis=0)
        squares = squares.sum(axis=0) + (n_rows[:, None] * (mean - middle) ** 2).sum(axis=0)
        return cls(int(n_rows.sum()), middle, squares, low.min(axis=0), high.max(axis=0), bool(is_sparse.any()))

    def of_columns(self, columns: slice) -> Self:
        """Select columns, which an encoder keeps dense."""
        of_rows = (self.mean, self.squares, self.low, self.high)
        return type(self)(self.n_rows, *(values[columns] for values in of_rows), is_sparse=False)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Fitted scalers and their joint effect: ``scaled = slope * raw + shift``, column by column."""

    scalers: list[Estimator]
    slope: Array
    # Over the value of the constant feature, whose coefficient takes it in.
    shift: Array

    @classmethod
    def of(cls, scalers: Sequence[Estimator], moments: Moments, constant: float, names: Array | None) -> Self:
        """Fit scalers to rows of these moments; raise a ValueError where a linear model cannot absorb the shift."""
        deviation = np.sqrt(moments.squares / moments.n_rows)
        # So far from 0 that the difference of two scaled values is exact.
        step = np.maximum(deviation, np.abs(moments.mean))
        step[step == 0.0] = 1.0
        # Two rows have the mean and the deviation of all, two others their ends, and two show what becomes of a value.
        usual, ends = moments.mean + np.outer([-1.0, 1.0], deviation), np.array([moments.low, moments.high])
        shown: Samples = np.outer([0.0, 1.0], step)
        fitted = []
        for scaler in map(clone, scalers):
            scaler.fit(usual if isinstance(scaler, StandardScaler) else ends)
            scaler.n_samples_seen_ = moments.n_rows
            usual, ends, shown = (scaler.transform(rows) for rows in (usual, ends, shown))
            fitted.append(scaler)
        if names is not None:
            fitted[0].feature_names_in_ = names
        slope, shift = (shown[1] - shown[0]) / step, shown[0]
        if shift.any() and (moments.is_sparse or constant == 0.0):
            what = "sparse features would be dense" if moments.is_sparse else "a model without an intercept is another"
            raise ValueError(
                f"{what} where a scaler shifts them; use StandardScaler(with_mean=False) or MaxAbsScaler()"
            )
        return cls(fitted, slope, shift / (constant or 1.0))

    def raw(self, w: Array) -> Array:
        """Convert coefficients of scaled features to equivalent ones of raw features."""
        return np.append(self.slope * w[:-1], w[-1] + self.shift @ w[:-1])

    def scaled(self, sums: Array) -> Array:
        """Convert sums over raw rows, columns last, to those over scaled rows."""
        inner = self.slope * sums[..., :-1] + self.shift * sums[..., -1:]
        return np.concatenate([inner, sums[..., -1:]], axis=-1)


# ---------------------------------------------------------------- objectives


@dataclass(frozen=True)
class LinearProblem:
    """Objective of `sklearn.svm.LinearSVC` (squared hinge) or `sklearn.linear_model.LogisticRegression` (L2).

    Parameters
    ----------
    logistic : bool
        True for the logistic loss, False for the squared hinge loss.
    constant : float
        Value of the constant feature that stands for the intercept; 0 without one.
    free : bool
        Whether the coefficient of the constant feature is not regularised.
    scale : tuple of float
        Factors of the costs of positives and of negatives: C and the base's own class weights.
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
        """Read the problem from a base.

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
        class_weight = base.class_weight or {}
        scale = base.C * class_weight.get(1, 1.0), base.C * class_weight.get(0, 1.0)
        constant = kind.constant(base)
        free = logistic and constant != 0.0 and base.solver != "liblinear"
        # As in `csf.trainers.linear`: the last digits come for nothing with a Newton step.
        return cls(logistic, constant, free, scale, base.tol if logistic else 1e-3 * base.tol, base.max_iter)


# ---------------------------------------------------------------- Newton's method


# Shares of a Newton step that are tried together where the whole step goes up.
_SHARES = 0.5 ** np.arange(1.0, 25.0)
# Products with the second derivatives for one step, and the share of the slope that they leave.
_PRODUCTS, _FORCING = 50, 0.1
_TOO_LARGE = (
    "the features are not finite, or too large for a linear model to be solved, or C times the weights is; scale the "
    "features, e.g. to [0, 1]"
)

# Sums over rows: arrays that are added one by one.
Answer: TypeAlias = tuple[Array, ...]


class Part(NamedTuple):
    """Rows of one part of the data: float32 or float64, dense or CSR, and the fold of each row."""

    X: Samples
    is_pos: BoolArray
    weight: Array | None
    fold: IntArray


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Coefficients of a linear model of two classes, that of the constant feature last, and their accuracy."""

    w: Array
    constant: float
    objective: float
    relative_gap: float
    n_iter: int
    # What is done with rows before.
    scaling: Scaling | None = None

    def scores(self, X: Samples) -> Array:
        """Compute the scores of some rows."""
        w = self.w if self.scaling is None else self.scaling.raw(self.w)
        return Rows(X, constant=self.constant).scores(w)


@dataclass(frozen=True, eq=False)
class Question:
    """Sums that one pass over the rows computes for one training."""

    problem: LinearProblem
    # Its rows are left out.
    fold: int | None
    # Of the losses of positives and negatives.
    weights: tuple[float, float]
    w: Array
    # Without it the losses of both classes, their slopes and second derivatives at ``w`` are asked for (the diagonal
    # where there are many). With ``shares``, the losses at ``w + share * along``; else the product of the second
    # derivatives with it.
    along: Array | None = None
    shares: Array | None = None

    def answer(self, rows: Rows, part: Part) -> Answer:
        """Compute the sums over the rows of one part."""
        weight = np.where(part.is_pos, *self.weights)
        if part.weight is not None:
            weight *= part.weight
        if self.fold is not None:
            weight[part.fold == self.fold] = 0.0
        sign = np.where(part.is_pos, 1.0, -1.0)
        margins = sign * rows.scores(self.w)
        if self.along is None:
            return self._value(rows, margins, sign, weight)
        if self.shares is None:
            along = rows.scores(self.along)
            return (rows.combine(self._loss.curvature(margins, weight) * along),)
        steps = sign * rows.scores(self.along)
        return (np.array([self._loss.value(margins + share * steps, weight) for share in self.shares]),)

    @property
    def _loss(self) -> Loss:
        return LOGISTIC if self.problem.logistic else SQUARED_HINGE

    def _value(self, rows: Rows, margins: Array, sign: Array, weight: Array) -> Answer:
        """Compute losses of both classes, sums of their rows times minus the slopes, and second derivatives."""
        losses, factor = np.zeros(2), np.empty_like(margins)
        for k, of_class in enumerate((sign > 0.0, sign < 0.0)):
            places, part = np.flatnonzero(of_class), np.empty(np.count_nonzero(of_class))
            losses[k] = self._loss.terms(margins[places], sign[places], weight[places], part)
            factor[places] = part
        return losses, rows.combine_by_sign(factor), self._matrix(rows, self._loss.curvature(margins, weight))

    def _matrix(self, rows: Rows, curvature: Array) -> Array:
        if rows.n_coefficients > DIRECT:
            return rows.combine(curvature, squares=True)
        matrix, places = np.zeros((rows.n_coefficients, rows.n_coefficients)), np.flatnonzero(curvature)
        rows.add_gram(places, curvature[places], matrix)
        return matrix


def answers(part: Part, questions: Sequence[Question]) -> list[Answer]:
    """Answer some questions on one part of the data."""
    with np.errstate(over="ignore", invalid="ignore"):
        views: dict[float, Rows] = {}
        for question in questions:
            constant = question.problem.constant
            views[constant] = views.get(constant) or Rows(part.X, constant=constant)
        return [question.answer(views[question.problem.constant], part) for question in questions]


def add_answers(parts: Sequence[list[Answer]]) -> list[Answer]:
    """Add the sums of several parts."""
    return [tuple(np.sum(terms, axis=0) for terms in zip(*answer, strict=True)) for answer in zip(*parts, strict=True)]


# Answers questions in one pass over the rows.
Ask: TypeAlias = Callable[[list[Question]], list[Answer]]
# Asks for sums until the model is found.
Solving: TypeAlias = Generator[Question, Answer, LinearModel]


def solve_together(
    jobs: Sequence[Job], n_features: int, ask: Ask, scalings: Sequence[Scaling | None] | None = None
) -> list[LinearModel]:
    """Solve several problems on the same data, with one pass for a step of all of them.

    With ``scalings``, one for each job or ``None``, the problems are on scaled features.
    """
    problems = [LinearProblem.of(last_step(job.base)[1]) for job in jobs]
    solving = [_solved(problem, job.fold, job.costs, n_features, job.starts) for problem, job in zip(problems, jobs)]
    if scalings is not None:
        pairs = zip(solving, scalings, strict=True)
        solving = [generator if scaling is None else _scaled(generator, scaling) for generator, scaling in pairs]
    models: dict[int, LinearModel] = {}
    questions = {k: next(generator) for k, generator in enumerate(solving)}
    while questions:
        answered = ask(list(questions.values()))
        asked, questions = list(questions), {}
        for k, answer in zip(asked, answered, strict=True):
            try:
                questions[k] = solving[k].send(answer)
            except StopIteration as end:
                models[k] = end.value
    return [models[k] for k in range(len(jobs))]


def _scaled(solving: Solving, scaling: Scaling) -> Solving:
    """Run a training on scaled features by questions about raw rows."""
    question = next(solving)
    while True:
        along = None if question.along is None else scaling.raw(question.along)
        answer = yield replace(question, w=scaling.raw(question.w), along=along)
        try:
            question = solving.send(_of_scaled(question, answer, scaling))
        except StopIteration as end:
            return replace(end.value, scaling=scaling)


def _of_scaled(question: Question, answer: Answer, scaling: Scaling) -> Answer:
    """Convert an answer about raw rows to that about scaled rows."""
    if question.along is not None:
        return answer if question.shares is not None else (scaling.scaled(answer[0]),)
    losses, pulls, matrix = answer
    if matrix.ndim == 2:
        whole = np.triu(matrix) + np.triu(matrix, 1).T
        return losses, scaling.scaled(pulls), scaling.scaled(scaling.scaled(whole).T)
    # A diagonal is only what directions are conditioned by.
    return losses, scaling.scaled(pulls), np.append(scaling.slope**2 * matrix[:-1], matrix[-1])


def _solved(
    problem: LinearProblem, fold: int | None, costs: Costs, n_features: int, starts: Sequence[object]
) -> Solving:
    """Solve a problem by Newton's method with a line search; the generator asks for sums."""
    weights = costs[0] * problem.scale[0], costs[1] * problem.scale[1]
    ridge = np.ones(n_features + 1)
    ridge[-1] = 0.0 if problem.free else 1.0
    w = np.array(starts[0]) if starts else np.zeros(n_features + 1)
    state = _Value(ridge, w, (yield Question(problem, fold, weights, w)))
    count = 0
    # No smaller gap is proven: with a tolerance below rounding, steps would go to and fro.
    tol = max(problem.tol, NOISE)
    while state.gap > tol * state.objective and count < problem.max_iter:
        step = yield from _step(problem, fold, weights, ridge, state)
        descent, count = state.slope @ step, count + 1
        if not descent < 0.0:
            break
        w = state.w + step
        new = _Value(ridge, w, (yield Question(problem, fold, weights, w)))
        if not new.objective <= state.objective + 1e-4 * descent:
            (losses,) = yield Question(problem, fold, weights, state.w, step, _SHARES)
            tried = state.w + _SHARES[:, None] * step
            values = 0.5 * (tried**2) @ ridge + losses
            best = int(np.argmin(values))
            # What is left is rounding, and the gap says how much it is.
            if not values[best] < state.objective:
                break
            new = _Value(ridge, tried[best], (yield Question(problem, fold, weights, tried[best])))
        if new.objective == state.objective and not new.gap < state.gap:
            break  # rounding too: steps would go to and fro
        state = new
    gap = max(state.gap, NOISE * state.objective) / state.objective if state.objective > 0 else 0.0
    return LinearModel(state.w, problem.constant, state.objective, gap, count)


def _step(
    problem: LinearProblem, fold: int | None, weights: tuple[float, float], ridge: Array, state: _Value
) -> Generator[Question, Answer, Array]:
    """Compute a Newton step, by a factorisation or, with many features, by one matrix-vector product per pass."""
    matrix = state.matrix
    if matrix.ndim == 2:
        return newton_step(matrix + np.diag(ridge), state.slope)
    diagonal = ridge + matrix
    diagonal[diagonal == 0.0] = 1.0
    search = conjugate_directions(-state.slope, diagonal=diagonal, left=_FORCING**2, max_iter=_PRODUCTS)
    try:
        direction = next(search)
        while True:
            (product,) = yield Question(problem, fold, weights, state.w, direction)
            direction = search.send(ridge * direction + product)
    except StopIteration as end:
        return end.value[0]


class _Value:
    """Objective, slope, second derivatives and duality gap at some coefficients."""

    def __init__(self, ridge: Array, w: Array, answer: Answer) -> None:
        losses, pulls, self.matrix = answer
        self.w, self.slope = w, ridge * w - pulls.sum(axis=0)
        self.objective = float(0.5 * w @ (ridge * w) + losses.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            square = float(self.slope @ self.slope)
            if not np.isfinite(square + self.objective):
                raise ValueError(_TOO_LARGE)
            gap, scale = least_gap(w, ridge, pulls)
        # An entropy that is scaled is at most the entropy of what is scaled, which would need another pass.
        self.gap = float(gap + (1.0 - scale) @ losses) if scale.all() else np.inf
