"""Fast trainers of scikit-learn's linear models, by csf's solvers and by LIBLINEAR's own package."""

from __future__ import annotations

import ctypes
import re
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isfinite, log
from numbers import Real
from threading import Lock
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from csf._common.messages import warn
from csf._common.sklearn import clone
from csf._common.typing import Array, Costs, Estimator, Foreign, IntArray, Keywords, RandomState_, Samples
from csf._common.validation import small_indices
from csf.data.costs import CostChannel, cost_sample_weight, own_class_weights
from csf.data.folds import Fold, Task
from csf.data.responses import Features, Response
from csf.solvers import Hinge, HingeDescent, HingeSolution, Logistic, Rows, SquaredHinge
from csf.solvers.base import DIRECT, LOGISTIC, SQUARED_HINGE, Loss, Solution
from csf.solvers.left_out import margins_left_out
from csf.trainers.base import Prepared, Trainer, Training

# ---------------------------------------------------------------- solutions as states


LinearSolution: TypeAlias = HingeSolution | Solution
# Place of a training, and its solution as later ones start from it.
Start: TypeAlias = tuple[Array, Any]


def starts_at(starts: Sequence[Start], place: Array) -> Sequence[LinearSolution]:
    """Return solutions to start from: on the line through the nearest two, unless the solver mixes them itself.

    Coefficients move along with the logarithms of the weights. Dual variables of the hinge loss are piecewise linear in
    the weights themselves.
    """
    solutions = [solution for _, solution in starts]
    if len(starts) < 2:
        return solutions
    (first, nearest), (second, far) = starts[:2]
    if isinstance(nearest, HingeSolution) and nearest.dual is not None:
        part = _part(np.exp(place), np.exp(first), np.exp(second), -1.0)
        return [replace(nearest, dual=nearest.dual + part * (far.dual - nearest.dual))]
    # Solvers that mix solutions, or know better lines, do so by themselves.
    if nearest.dual is not None or getattr(nearest, "totals", None) is not None:
        return solutions
    part = _part(place, first, second, -0.5)
    changes = {"w": nearest.w + part * (far.w - nearest.w)}
    if isinstance(nearest, HingeSolution) and isinstance(far, HingeSolution):
        changes["share"] = np.clip(nearest.share + part * (far.share - nearest.share), 0.0, 1.0)
    return [replace(nearest, **changes)]


def _part(place: Array, first: Array, second: Array, least: float) -> float:
    """Compute how far a place lies along the line from one place to another, from ``least`` to 1."""
    line = second - first
    return float(np.clip((place - first) @ line / (line @ line), least, 1.0)) if line.any() else 0.0


def part_of(solution: LinearSolution, rows: Rows, sign: Array) -> LinearSolution:
    """Restrict a solution on all samples to some of them: the dual variables of the others are left out."""
    if isinstance(solution, HingeSolution):
        dual = None if solution.dual is None else solution.dual[rows.places]
        return replace(solution, share=solution.share[rows.places], dual=dual)
    if solution.dual is None:
        # Second derivatives that are made once, for all parts, are made where the solution is.
        return replace(solution, anchor=None if solution.anchor is None else solution.w, of_all=True)
    dual = solution.dual[rows.places]
    return replace(solution, dual=dual, margins=sign * rows.scores(rows.combine(dual * sign)))


def light(solution: LinearSolution) -> LinearSolution:
    """Keep only what the next training needs: coefficients, or dual variables (and margins to mix them)."""
    if getattr(solution, "dual", None) is None:
        return replace(solution, margins=None)
    margins = None if isinstance(solution, HingeSolution) else solution.margins
    return replace(solution, w=None, margins=margins)


# ---------------------------------------------------------------- one solution on all samples


class Whole:
    """State of a training with equal costs on all samples, computed on first use.

    Folds share most of their samples, so that each is a small change of it. It depends on the data and on the base
    alone: which fold asks first changes nothing.
    """

    def __init__(self, make: Callable[[], Trainer], neutral: Costs = (1.0, 1.0), first: Whole | None = None) -> None:
        # That of the first setting, whose solution is near those of others.
        self._make, self._neutral, self._first, self._lock = make, neutral, first, Lock()
        self._state: Any = None

    @cached_property
    def trainer(self) -> Any:
        """Trainer on all samples; its solution is a start alone."""
        trainer: Any = self._make()
        trainer.is_final = False
        return trainer

    def state(self) -> Start:
        """Return the state, the same one each time."""
        with self._lock:
            if self._state is None:
                starts = [] if self._first is None else self._first._starts(self.trainer.family)
                self._state = self.trainer.fit(self._neutral, starts).state
            return self._state

    def _starts(self, family: str | None) -> list[Start]:
        """Return the state for the families that can start from it."""
        return [self.state()] if family is not None and family == self.trainer.family else []

    def __getstate__(self) -> Keywords:
        return {name: vars(self)[name] for name in ("_make", "_neutral", "_first", "_state")}

    def __setstate__(self, state: Keywords) -> None:
        vars(self).update(state, _lock=Lock())


def shared_whole(name: str, make: Callable[[], Trainer], folds: list[Fold], prepared: Prepared) -> Whole | None:
    """Return the training on all samples that starts those of all folds of a setting; ``None`` for one fold."""
    task = folds[0].task
    # Searches of several classes share what is prepared, and may run side by side: each has its own.
    key = f"{name} {id(task)}"
    if key not in prepared and len(folds) > 1:
        first = prepared.get(f"first {id(task)}")
        # With the task, whose number nothing else gets while it lives.
        prepared[key] = task, Whole(make, (1.0,) * (task.n_alike or 2), first)
        prepared.setdefault(f"first {id(task)}", prepared[key][1])
    return prepared.get(key, (None, None))[1]


# ---------------------------------------------------------------- trainers


Solver: TypeAlias = Hinge | HingeDescent | Logistic | SquaredHinge

# Gaps to reach beyond `DIRECT` coefficients, as multiples of the base's tolerance; with fewer features than samples, of
# squared hinges; and of hinges. The first two are loose proofs; LinearSVC solves hinges closer than its tolerance says.
_LOOSE, _LOOSE_TALL, _CLOSE = 50.0, 10.0, 0.2
# How much closer a first training gets to its optimum when its start has seen the samples that it holds out.
_CLOSER = 0.1
# How much closer the training on all samples gets, so that it is as close as scikit-learn's at the same tolerance.
_CLOSEST = 1e-3


class LinearTrainer(Trainer):
    """Base class of the fast trainers of linear models."""

    releases_gil = True
    # Loss with second derivatives; None where there are none.
    smooth: Loss | None = None
    _leaves_out = False

    def __init__(
        self,
        base: Estimator,
        fold: Fold,
        rows: Rows,
        features: Features,
        normalize: str = "none",
        whole: Whole | None = None,
    ) -> None:
        self.base, self.features, self.normalize, self._whole = base, features, normalize, whole
        self._train, self._test = rows.take(fold.train), rows.take(fold.test)
        self._same, self.is_final = np.array_equal(fold.train, fold.test), fold.train.size == rows.n_rows
        self.is_pos, self._sign, self._weight = fold.is_pos_train, fold.sign_train, fold.weight_train
        self.labels, of_code = fold.labels, own_class_weights(base.class_weight, self.is_pos, fold.labels, self._weight)
        # Class weights of the base itself, of the positive and of the other class.
        self.class_weights: Costs = tuple(of_code[::-1].tolist())
        self._solver = self._prepare()
        self.family = self._family()

    @abstractmethod
    def _prepare(self) -> Any:
        """Make the solver for the rows of the training part."""

    @abstractmethod
    def _family(self) -> str | None:
        """Return the family, whose settings can start from each other's solutions."""

    @abstractmethod
    def _solve(self, weight: Array, starts: Sequence[LinearSolution], closer: float = 1.0) -> LinearSolution:
        """Solve for weights, starting from other solutions, to a share of the usual gap."""

    @staticmethod
    @abstractmethod
    def serves(base: Estimator) -> bool:
        """Check whether this trainer solves what the base documents."""

    @staticmethod
    def constant(base: Estimator) -> float:
        """Return the value of the constant feature that stands for the intercept; 0 without one."""
        return float(base.intercept_scaling) if base.fit_intercept else 0.0

    @property
    def _ridge(self) -> Array:
        """Factors of the penalties of the coefficients."""
        return np.ones(self._train.n_coefficients)

    @property
    def _is_narrow(self) -> bool:
        """True where there are few enough features for matrices of second derivatives."""
        return self._train.n_coefficients <= DIRECT

    def _costs(self, costs: Costs) -> Costs:
        """Multiply costs by the class weights of the base."""
        (c_fn, c_fp), (own_fn, own_fp) = costs, self.class_weights
        return c_fn * own_fn, c_fp * own_fp

    def leave_out(self) -> bool:
        """Score each sample of a training on all of them without itself; see `Trainer.leave_out`."""
        self._leaves_out = self.smooth is not None and self._is_narrow
        # Steps of a pipeline give the same rows twice.
        self._same, self.is_final = True, False
        return self._leaves_out

    def prepare(self, starts: Sequence[object]) -> None:
        """Solve for all samples before threads start, which would wait for it; see `Trainer.prepare`."""
        if not starts and self._whole is not None:
            self._whole.state()

    def fit(self, costs: Costs, starts: Sequence[Start] = ()) -> Training:
        """Solve the base's problem for the costs; see `Trainer.fit`."""
        weight = cost_sample_weight(self.is_pos, self._costs(costs), sample_weight=self._weight)
        if self.normalize == "mean":
            plain = cost_sample_weight(self.is_pos, costs, sample_weight=self._weight)
            weight *= (plain.size if self._weight is None else self._weight.sum()) / plain.sum()
        return self.train(weight, self.position(costs), starts)

    def train(self, weight: Array, position: tuple[float, ...], starts: Sequence[Start] = ()) -> Training:
        """Solve the base's problem for any weights of its samples."""
        place = np.array(position)
        # Avoids a needless copy of the weights of a million samples.
        weight = weight if self.base.C == 1.0 else self.base.C * weight
        if starts or self._whole is None:
            solution = self._solve(weight, starts_at(starts, place))
        else:
            start = part_of(self._whole.state()[1], self._train, self._sign)
            solution = self._solve(weight, [start], 1.0 if self._same else _CLOSER)
        state, gap = (place, light(solution)), max(0.0, solution.relative_gap)
        if self._leaves_out and self.smooth is not None:
            margins = margins_left_out(self._train, self.smooth, self._ridge, solution.margins, weight)
            return Training(replace(solution, margins=margins), state, gap)
        return Training(solution, state, gap)

    def position(self, costs: Costs) -> tuple[float, ...]:
        """Return the logarithms of the weights of both classes; see `Trainer.position`."""
        return tuple(log(self.base.C * cost) for cost in self._costs(costs))

    def predict(self, training: Training, part: str, *, tune: bool) -> Response:
        """Predict by the scores of the coefficients; see `Trainer.predict`."""
        score = self.scores(training, part)
        return Response(score > 0.0, score if tune else None)

    def scores(self, training: Training, part: str) -> Array:
        """Compute the scores of a part of the fold."""
        if part == "train" or self._same:
            return self._sign * training.model.margins
        return self._test.scores(training.model.w)

    def estimator(self, training: Training) -> Estimator:
        """Return the base with the fitted coefficients; see `Trainer.estimator`."""
        n_iter = self._n_iter(training.model.n_iter)
        w = training.model.w[None] * (-1.0 if self.labels.positive_is_first else 1.0)
        return fitted(self.base, w, self._train.constant, self.labels.classes, n_iter, self.features)

    def _n_iter(self, n_iter: int) -> int | IntArray:
        """Return the number of iterations in the form of the base."""
        return n_iter


def fitted(
    base: Estimator, w: Array, constant: float, classes: Array, n_iter: int | IntArray, features: Features
) -> Estimator:
    """Give a clone of the base coefficients, a row for each model; the last column is that of the constant feature."""
    model = clone(base)
    model.coef_, model.intercept_ = w[:, :-1].copy(), w[:, -1] * constant
    model.classes_, model.n_iter_ = classes, n_iter
    features.put_on(model)
    return model


class LinearSVCTrainer(LinearTrainer):
    """Trainer of `sklearn.svm.LinearSVC` with either loss."""

    @staticmethod
    def serves(base: LinearSVC) -> bool:
        """Check whether this trainer solves what the base documents."""
        losses = {"squared_hinge": (True, False, "auto"), "hinge": (True, "auto")}
        return (
            are_usual(base)
            and base.penalty == "l2"
            and base.multi_class == "ovr"
            and any(base.dual is dual or base.dual == dual for dual in losses.get(base.loss, ()))
        )

    @property
    def smooth(self) -> Loss | None:
        """Loss, where it has second derivatives."""
        return SQUARED_HINGE if self.base.loss == "squared_hinge" else None

    def _family(self) -> str:
        """Return the family, which settings with the same loss and constant feature share."""
        return f"{self.base.loss} {self._train.constant}"

    def _prepare(self) -> Solver:
        if self.base.loss == "squared_hinge":
            return SquaredHinge(self._train, self._sign)
        return (Hinge if self._is_narrow else HingeDescent)(self._train, self._sign)

    def _solve(self, weight: Array, starts: Sequence[LinearSolution], closer: float = 1.0) -> LinearSolution:
        if self.base.loss == "squared_hinge":
            # Newton steps reach full precision at no extra cost.
            loose = _LOOSE_TALL if self._train.n_rows > self._train.n_coefficients else _LOOSE
            tol = (1e-3 if self._is_narrow else loose) * self.base.tol
            return self._solver.solve(weight, tol=tol, starts=starts, max_iter=self.base.max_iter)
        # Dual starts leave out what is held out, coefficients have seen it.
        tol = (closer if self._is_narrow else _CLOSE) * self.base.tol
        return self._solver.solve(weight, tol=tol, starts=starts)


class LogisticTrainer(LinearTrainer):
    """Trainer of `sklearn.linear_model.LogisticRegression` with its L2 penalty, whatever its solver."""

    smooth = LOGISTIC

    @staticmethod
    def constant(base: Estimator) -> float:
        """Return the constant feature's value; solvers that leave the intercept free have no scaling for it."""
        scaling = base.intercept_scaling if base.solver == "liblinear" else 1.0
        return float(scaling) if base.fit_intercept else 0.0

    @staticmethod
    def serves(base: LogisticRegression) -> bool:
        """Check whether this trainer solves what the base documents."""
        solvers = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
        return (
            are_usual(base)
            and base.penalty in ("l2", "deprecated")
            and not base.l1_ratio
            and base.dual is False
            and base.warm_start is False
            and getattr(base, "multi_class", "auto") in ("auto", "deprecated", "ovr")
            and base.solver in solvers
        )

    def _family(self) -> str:
        """Return the family, which settings that treat the intercept in the same way share."""
        return f"logistic {self.base.solver == 'liblinear'} {self._train.constant}"

    def _prepare(self) -> Solver:
        penalised = self.base.solver == "liblinear"
        whole = None if self._whole is None else self._solver_of_all
        return Logistic(self._train, self._sign, penalise_constant=penalised, shares=self._weight, whole=whole)

    @property
    def _ridge(self) -> Array:
        return self._solver.ridge

    def _solver_of_all(self) -> Logistic:
        """Return the solver of the training that folds start from."""
        assert self._whole is not None, "only folds ask for it"
        return self._whole.trainer._solver

    def _solve(self, weight: Array, starts: Sequence[LinearSolution], closer: float = 1.0) -> LinearSolution:
        # The gap is that of the objective, and the model that users get is to have the coefficients of the optimum too.
        loose = 1.0 if self._is_narrow else _LOOSE
        tol = (_CLOSEST if self.is_final else closer * loose) * self.base.tol
        return self._solver.solve(weight, tol=tol, starts=starts)

    def _n_iter(self, n_iter: int) -> int | IntArray:
        return np.array([n_iter], dtype=np.int32)


def are_usual(base: Estimator) -> bool:
    """Check that the parameters of both models have values that both accept."""
    numbers, class_weight = (base.C, base.tol, base.intercept_scaling), base.class_weight
    return bool(
        all(_is_positive(v) and not isinstance(v, bool) and isfinite(v) for v in numbers)
        and isinstance(base.fit_intercept, (bool, np.bool_))
        and (
            class_weight is None
            or class_weight == "balanced"
            or (isinstance(class_weight, dict) and all(map(_is_positive, class_weight.values())))
        )
        and isinstance(base.max_iter, (int, np.integer))
        and base.max_iter > 0
    )


def _is_positive(value: object) -> bool:
    return isinstance(value, Real) and bool(value > 0)  # pyright: ignore[reportOperatorIssue] (Real has an order)


def _checked_matrix(base: Estimator, X: Samples) -> tuple[Samples, Features]:
    """Check the samples as LinearSVC and LogisticRegression do. Return them, and what these keep of the features."""
    template = clone(base)
    X = validate_data(template, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    return X, Features.of(template)


def linear_kind(base: Estimator) -> type[LinearTrainer] | None:
    """Return the class of the fast trainer of a base; ``None`` where none supports it."""
    kinds: dict[type, type[LinearTrainer]] = {LinearSVC: LinearSVCTrainer, LogisticRegression: LogisticTrainer}
    kind = kinds.get(type(base))
    return kind if kind is not None and kind.serves(base) else None


# Which trainer serves a linear base, by its engine.
KindOf: TypeAlias = Callable[[Estimator], type[LinearTrainer] | None]


def linear_trainers(
    base: Estimator,
    folds: list[Fold],
    channel: CostChannel,
    normalize: str,
    prepared: Prepared,
    *,
    kind_of: KindOf = linear_kind,
) -> list[Trainer] | None:
    """Make fast trainers of a linear base, one for each fold; return ``None`` where base or data are unsupported."""
    kind, task = kind_of(base), folds[0].task
    if kind is None or not channel.is_own or task.fit_params or task.several:
        return None
    make = maker_with_whole(kind, base, folds, normalize, prepared)
    return None if make is None else [make(fold) for fold in folds]


def maker_of(
    kind: type[Any], base: Estimator, X: Samples, normalize: str, prepared: Prepared
) -> Callable[..., Any] | None:
    """Return the function that makes the trainer of a fold; ``None`` where the base refuses the samples."""
    rows = shared_rows(kind, base, X, prepared)
    if rows is None:
        return None
    return partial(kind, base, rows=rows, features=prepared.features, normalize=normalize)


def maker_with_whole(
    kind: type[Any], base: Estimator, folds: list[Fold], normalize: str, prepared: Prepared
) -> Callable[..., Any] | None:
    """Return such a function as `maker_of` does, where all folds start from one solution on all samples."""
    task = folds[0].task
    make = maker_of(kind, base, task.X, normalize, prepared)
    if make is None:
        return None
    of_all = partial(make, everything(task, prepared))
    whole = shared_whole(f"{kind.__name__} of {base.get_params()} with {normalize}", of_all, folds, prepared)
    return partial(make, whole=whole)


def everything(task: Task, prepared: Prepared) -> Fold:
    """Return the fold of all samples, the same one for all settings."""
    known = prepared.get("everything")
    if known is None or known[0] is not task:
        places = small_indices(np.arange(task.n_samples), task.n_samples)
        known = prepared["everything"] = task, Fold(task, places, places).without_samples
    return known[1]


def shared_rows(kind: type[Any], base: Estimator, X: Samples, prepared: Prepared) -> Rows | None:
    """Check all samples once for the trainer of a linear base; return ``None`` where the base refuses them."""
    try:
        if prepared.matrix is None:
            X, prepared.features = _checked_matrix(base, X)
            prepared.matrix = Rows(X).X
        constant = kind.constant(base)
        return prepared.setdefault(f"rows with {constant}", Rows(prepared.matrix, constant=constant))
    except (ValueError, TypeError):
        return None


# ---------------------------------------------------------------- LIBLINEAR
# Its own package, as the authors of the papers trained. Its samples are handed over once for all folds, costs and
# settings of the same intercept. Costs are its class weights: the package has no weights for single samples. It has no
# option for ``max_iter`` either and keeps limits of its own (300 passes of coordinate descent, after which the smooth
# losses go on with Newton steps), and its random numbers are those of C's ``rand``.


# Number of LIBLINEAR's solver of a loss, a penalty, and the dual problem or not.
_SOLVERS = {
    ("logistic", "l2", False): 0,
    ("squared_hinge", "l2", True): 1,
    ("squared_hinge", "l2", False): 2,
    ("hinge", "l2", True): 3,
    ("squared_hinge", "l1", False): 5,
    ("logistic", "l1", False): 6,
    ("logistic", "l2", True): 7,
}
# Newton's method draws no random numbers.
_NEWTON = (0, 2)
# C's generator where nobody has seeded it.
_UNSEEDED = 1

# LIBLINEAR's generator and what it prints are of the whole process.
_RANDOM, _HANDING, _PRINTED = threading.Lock(), threading.Lock(), threading.local()
_SAMPLES: WeakKeyDictionary[Rows, Foreign] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class _LiblinearModel:
    """Coefficients, the constant one last, their margins, and steps or passes."""

    w: Array
    margins: Array
    n_iter: int


class LiblinearTrainer(LinearTrainer):
    """Trainer of `sklearn.svm.LinearSVC` and `sklearn.linear_model.LogisticRegression` with LIBLINEAR."""

    def __init__(self, base: Estimator, fold: Fold, rows: Rows, *given: Any, **named: Any) -> None:
        self._rows, self._places = rows, fold.train
        super().__init__(base, fold, rows, *given, **named)
        # Threads share samples, processes do not; but passes in a random order would wait for each other in threads.
        self.releases_gil = self._solver in _NEWTON
        if not 0 < np.count_nonzero(self.is_pos) < self.is_pos.size:
            raise ValueError("engine='liblinear' needs samples of both classes in each training part; stratify cv")
        if self._weight is not None:
            self._class_weights(self._weight)

    @staticmethod
    def serves(base: Estimator) -> bool:
        """Check whether LIBLINEAR supports what the base documents."""
        return type(base) in (LinearSVC, LogisticRegression) and are_usual(base) and bool(_solvers(base))

    @staticmethod
    def constant(base: Estimator) -> float:
        """Return the value of the constant feature, see `LinearTrainer.constant`."""
        kind = LogisticTrainer if isinstance(base, LogisticRegression) else LinearTrainer
        return kind.constant(base)

    def _family(self) -> None:
        """Return ``None``: every training starts from scratch."""
        return

    def _prepare(self) -> int:
        solvers = _solvers(self.base)
        # As LinearSVC chooses: the smaller problem, where there is a choice.
        prefers_dual = self._train.n_rows < self._train.n_coefficients - 1
        return solvers.get(prefers_dual, solvers.get(not prefers_dual, -1))

    def train(self, weight: Array, position: tuple[float, ...], starts: Sequence[Start] = ()) -> Training:
        """Solve the base's problem for weights that are equal within each class; see `LinearTrainer.train`."""
        w, n_iter = self._solve(self._class_weights(weight))
        return Training(_LiblinearModel(w, self._sign * self._train.scores(w), n_iter))

    def _class_weights(self, weight: Array) -> tuple[float, float]:
        """Return the weight of the samples of each class, the positive one first."""
        parts = weight[self.is_pos], weight[~self.is_pos]
        for name, part in zip(("positive", "negative"), parts):
            if (part != part[0]).any():
                raise ValueError(
                    f"LIBLINEAR weighs classes, not single samples, and weights within the {name} class go from "
                    f"{part.min():g} to {part.max():g}; drop sample_weight, or use engine='auto' or 'generic', whose "
                    "solvers take it"
                )
        return float(parts[0][0]), float(parts[1][0])

    def _solve(self, weights: tuple[float, float]) -> tuple[Array, int]:
        """Solve for class weights. Return the coefficients and the number of iterations."""
        from liblinear import liblinearutil

        given, problem = self._parameter(weights), self._problem
        model: Foreign
        _PRINTED.lines = []
        if self._solver in _NEWTON:
            model = liblinearutil.train(problem, given)
        else:
            with _RANDOM:
                _seed(self.base.random_state)
                model = liblinearutil.train(problem, given)
        # Classes +1 and -1 come in this order, whichever is seen first.
        w = np.ctypeslib.as_array(model.w, (problem.n,)).copy()
        return (w if self._train.constant else np.append(w, 0.0)), _iterations(b"".join(_PRINTED.lines).decode())

    def _parameter(self, weights: tuple[float, float]) -> Foreign:
        from liblinear import liblinear

        # Its constructor parses text and also silences the output of other threads.
        given = liblinear.parameter.__new__(liblinear.parameter)
        given.set_to_default_values()
        given.solver_type, given.eps, given.C = self._solver, self.base.tol, self.base.C
        given.bias = self._train.constant or -1.0
        given.regularize_bias = int(not self._train.constant or not _is_free(self.base))
        given.nr_weight = 2
        given.weight_label, given.weight = (ctypes.c_int * 2)(1, -1), (ctypes.c_double * 2)(*weights)
        given.print_func = _print_function()
        return given

    @cached_property
    def _problem(self) -> Foreign:
        """LIBLINEAR's problem of the training part: pointers to its samples, and its classes."""
        from liblinear import liblinear

        whole, size = _samples(self._rows), self._places.size
        part, pointers = whole.copy(), (ctypes.POINTER(liblinear.feature_node) * size)()
        _addresses(pointers, size)[:] = _addresses(whole.x, whole.l)[self._places]
        part.l, part.x, part.y = size, pointers, (ctypes.c_double * size)(*self._sign.tolist())
        return part

    def __getstate__(self) -> Keywords:
        return {name: value for name, value in vars(self).items() if name != "_problem"}

    def _n_iter(self, n_iter: int) -> int | IntArray:
        """Return the number of iterations in the form of the base."""
        return np.array([n_iter], dtype=np.int32) if isinstance(self.base, LogisticRegression) else n_iter


def _solvers(base: Estimator) -> dict[bool, int]:
    """Map whether the dual problem is solved to LIBLINEAR's solver of the base."""
    if isinstance(base, LogisticRegression):
        # A free intercept is beyond the dual problem, for scikit-learn too.
        loss, duals = "logistic", (base.dual,) if base.solver == "liblinear" or not base.dual else ()
        ratios = {None: "l2", 0.0: "l2", 1.0: "l1"}
        penalty = ratios.get(base.l1_ratio, "both") if base.penalty == "deprecated" else base.penalty
        is_alone = base.warm_start is False and getattr(base, "multi_class", "auto") in ("auto", "deprecated", "ovr")
    else:
        loss, penalty, is_alone = base.loss, base.penalty, base.multi_class == "ovr"
        duals = (True, False) if isinstance(base.dual, str) and base.dual == "auto" else (base.dual,)
    kinds = [(loss, penalty, bool(dual)) for dual in duals if isinstance(dual, (bool, np.bool_))]
    return {kind[-1]: _SOLVERS[kind] for kind in kinds if is_alone and kind in _SOLVERS}


def _is_free(base: Estimator) -> bool:
    """Check whether the intercept is not regularised."""
    return isinstance(base, LogisticRegression) and base.solver != "liblinear"


def _samples(rows: Rows) -> Foreign:
    """Convert all samples to the form of LIBLINEAR, once."""
    from liblinear import liblinear

    make: Foreign = liblinear.problem
    with _HANDING:
        if rows not in _SAMPLES:
            X = sparse.csr_matrix(rows.X)
            _SAMPLES[rows] = make(np.zeros(rows.X.shape[0]), X, rows.constant or -1.0)
        return _SAMPLES[rows]


def _addresses(pointers: Foreign, size: int) -> IntArray:
    """Read an array of pointers as numbers."""
    return np.ctypeslib.as_array(ctypes.cast(pointers, ctypes.POINTER(ctypes.c_uint64)), (size,))


def _seed(random_state: RandomState_) -> None:
    """Seed C's random numbers, in the same way for each training."""
    seed = _UNSEEDED
    if random_state is not None:
        seed = int(check_random_state(deepcopy(random_state)).randint(np.iinfo(np.int32).max))
    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).srand(ctypes.c_uint(seed))


def _note(text: bytes) -> None:
    """Keep printed text of this thread, where a training collects it."""
    if hasattr(_PRINTED, "lines"):
        _PRINTED.lines.append(text)


_NOTES: list[Foreign] = []


def _print_function() -> Foreign:
    """Return the one print function of all trainings: LIBLINEAR may call it as long as the process lives."""
    from liblinear import liblinear

    if not _NOTES:
        _NOTES.append(liblinear.PRINT_STRING_FUN(_note))
    return _NOTES[0]


def _iterations(printed: str) -> int:
    """Count the passes and Newton steps that LIBLINEAR reports; warn where it stopped at its own limit."""
    # At the limit of passes the smooth losses go on with Newton steps.
    if re.search(r"reaching max number of (Newton )?iterations", printed.rpartition("Switching to use")[2]):
        warn(
            "LIBLINEAR stopped at its own limit of iterations, for which it has no option; scale the features, take a "
            "smaller C or a larger tol, or use engine='auto'",
            ConvergenceWarning,
        )
    return sum(map(int, re.findall(r"#iter = (\d+)", printed))) + len(re.findall(r"^iter +\d+ f ", printed, re.M))


def liblinear_kind(base: Estimator) -> type[LinearTrainer]:
    """Return the trainer class, if LIBLINEAR supports what the base documents."""
    if not LiblinearTrainer.serves(base):
        raise ValueError(
            "engine='liblinear' trains LinearSVC and LogisticRegression, also in pipelines and OneVsRestClassifier, "
            "with an L1 or L2 penalty, a finite C, class_weight=None, 'balanced' or a dict, and the combinations of "
            f"loss, penalty and dual that LIBLINEAR has, got {base!r}; use engine='auto' or 'generic'"
        )
    return LiblinearTrainer
