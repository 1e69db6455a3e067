"""LIBLINEAR's own package as the trainer of linear models, as the authors of the papers trained.

Its samples are handed over once for all folds, costs and settings of the same intercept. Costs are its class weights:
the package has no weights for single samples. It has no option for ``max_iter`` either and keeps limits of its own
(300 passes of coordinate descent, after which the smooth losses go on with Newton steps), and its random numbers are
those of C's ``rand``.
"""

from __future__ import annotations

import ctypes
import re
import sys
import threading
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from csf._common.messages import warn
from csf._common.typing import Array, Estimator, IntArray
from csf.data.costs import CostChannel
from csf.data.folds import Fold
from csf.solvers import Rows
from csf.trainers.base import Prepared, Trainer, Training
from csf.trainers.linear import LinearTrainer, LogisticTrainer, are_usual, linear_trainers
from csf.trainers.multiclass import one_vs_rest_trainers

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
_SAMPLES: WeakKeyDictionary[Rows, Any] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class _Found:
    """Coefficients, the constant one last, their margins, and steps or passes."""

    w: Array
    margins: Array
    n_iter: int


class LiblinearTrainer(LinearTrainer):
    """Trains `sklearn.svm.LinearSVC` and `sklearn.linear_model.LogisticRegression` with LIBLINEAR."""

    def __init__(self, base: Estimator, fold: Fold, rows: Rows, *given: Any, **named: Any) -> None:
        self._rows, self._at = rows, fold.train
        super().__init__(base, fold, rows, *given, **named)
        # Threads share samples, processes do not; but passes in a random order would wait for each other in threads.
        self.releases_gil = self._solver in _NEWTON
        if not 0 < np.count_nonzero(self.is_pos) < self.is_pos.size:
            raise ValueError("engine='liblinear' needs samples of both classes in each training part; stratify cv")
        if self._weight is not None:
            self._class_weights(self._weight)

    @staticmethod
    def serves(base: Estimator) -> bool:
        """Whether LIBLINEAR has what the base documents."""
        return type(base) in (LinearSVC, LogisticRegression) and are_usual(base) and bool(_solvers(base))

    @staticmethod
    def constant(base: Estimator) -> float:
        """See `LinearTrainer.constant`."""
        kind = LogisticTrainer if isinstance(base, LogisticRegression) else LinearTrainer
        return kind.constant(base)

    def _family(self) -> None:
        """Every training starts anew."""
        return

    def _prepare(self) -> int:
        solvers = _solvers(self.base)
        # As LinearSVC chooses: the smaller problem, where there is a choice.
        prefers_dual = self._train.n_rows < self._train.n_coefficients - 1
        return solvers.get(prefers_dual, solvers.get(not prefers_dual, -1))

    def train(self, weight: Array, position: tuple[float, ...], starts: Sequence[Any] = ()) -> Training:
        """Solve the base's problem for weights that are equal within each class; see `LinearTrainer.train`."""
        w, n_iter = self._solve(self._class_weights(weight))
        return Training(_Found(w, self._sign * self._train.scores(w), n_iter))

    def _class_weights(self, weight: Array) -> tuple[float, float]:
        """The weight of the samples of each class, the positive one first."""
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
        """Coefficients and number of iterations."""
        from liblinear import liblinearutil

        given, problem = self._parameter(weights), self._problem
        model: Any
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

    def _parameter(self, weights: tuple[float, float]) -> Any:
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
    def _problem(self) -> Any:
        """The training part: pointers to its samples, and its classes."""
        from liblinear import liblinear

        whole, size = _samples(self._rows), self._at.size
        part, pointers = whole.copy(), (ctypes.POINTER(liblinear.feature_node) * size)()
        _addresses(pointers, size)[:] = _addresses(whole.x, whole.l)[self._at]
        part.l, part.x, part.y = size, pointers, (ctypes.c_double * size)(*self._sign.tolist())
        return part

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_problem"}

    def _n_iter(self, n_iter: int) -> Any:
        """Iterations, as the base keeps them."""
        return np.array([n_iter], dtype=np.int32) if isinstance(self.base, LogisticRegression) else n_iter


def _solvers(base: Estimator) -> dict[bool, int]:
    """LIBLINEAR's solvers of a base, by whether they solve the dual problem."""
    if isinstance(base, LogisticRegression):
        # A free intercept is beyond the dual problem, for scikit-learn too.
        loss, duals = "logistic", (base.dual,) if base.solver == "liblinear" or not base.dual else ()
        ratios = {None: "l2", 0.0: "l2", 1.0: "l1"}
        penalty = ratios.get(base.l1_ratio, "both") if base.penalty == "deprecated" else base.penalty
        is_alone = base.warm_start is False and getattr(base, "multi_class", "auto") in ("auto", "deprecated", "ovr")
    else:
        loss, penalty, is_alone = base.loss, base.penalty, base.multi_class == "ovr"
        duals = (True, False) if isinstance(base.dual, str) and base.dual == "auto" else (base.dual,)
    kinds: list[Any] = [(loss, penalty, bool(dual)) for dual in duals if isinstance(dual, (bool, np.bool_))]
    return {kind[-1]: _SOLVERS[kind] for kind in kinds if is_alone and kind in _SOLVERS}


def _is_free(base: Estimator) -> bool:
    """Whether the intercept is not regularised."""
    return isinstance(base, LogisticRegression) and base.solver != "liblinear"


def _samples(rows: Rows) -> Any:
    """All samples in the form of LIBLINEAR, made once."""
    from liblinear import liblinear

    make: Any = liblinear.problem
    with _HANDING:
        if rows not in _SAMPLES:
            X = sparse.csr_matrix(rows.X)
            _SAMPLES[rows] = make(np.zeros(rows.X.shape[0]), X, rows.constant or -1.0)
        return _SAMPLES[rows]


def _addresses(pointers: Any, size: int) -> IntArray:
    """An array of pointers as numbers."""
    return np.ctypeslib.as_array(ctypes.cast(pointers, ctypes.POINTER(ctypes.c_uint64)), (size,))


def _seed(random_state: Any) -> None:
    """Begin C's random numbers anew, the same ones for each training."""
    seed = _UNSEEDED
    if random_state is not None:
        seed = int(check_random_state(deepcopy(random_state)).randint(np.iinfo(np.int32).max))
    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).srand(ctypes.c_uint(seed))


def _note(text: bytes) -> None:
    """Keep what is printed in this thread, where someone waits for it."""
    if hasattr(_PRINTED, "lines"):
        _PRINTED.lines.append(text)


_NOTES: list[Any] = []


def _print_function() -> Any:
    """The one function that all trainings print with: LIBLINEAR may call it as long as the process lives."""
    from liblinear import liblinear

    if not _NOTES:
        _NOTES.append(liblinear.PRINT_STRING_FUN(_note))
    return _NOTES[0]


def _iterations(printed: str) -> int:
    """Passes and Newton steps that LIBLINEAR tells of; a warning where it stopped at its own limit."""
    # At the limit of passes the smooth losses go on with Newton steps.
    if re.search(r"reaching max number of (Newton )?iterations", printed.rpartition("Switching to use")[2]):
        warn(
            "LIBLINEAR stopped at its own limit of iterations, for which it has no option; scale the features, take a "
            "smaller C or a larger tol, or use engine='auto'",
            ConvergenceWarning,
        )
    return sum(map(int, re.findall(r"#iter = (\d+)", printed))) + len(re.findall(r"^iter +\d+ f ", printed, re.M))


def _liblinear_kind(base: Estimator) -> type[LinearTrainer]:
    """The trainer, if LIBLINEAR has what the base documents."""
    if not LiblinearTrainer.serves(base):
        raise ValueError(
            "engine='liblinear' trains LinearSVC and LogisticRegression, also in pipelines and OneVsRestClassifier, "
            "with an L1 or L2 penalty, a finite C, class_weight=None, 'balanced' or a dict, and the combinations of "
            f"loss, penalty and dual that LIBLINEAR has, got {base!r}; use engine='auto' or 'generic'"
        )
    return LiblinearTrainer


def liblinear_trainers(
    base: Estimator, folds: list[Fold], channel: CostChannel, normalize: str, prepared: Prepared
) -> list[Trainer] | None:
    """LIBLINEAR's trainers of a linear base, one for each fold; ``None`` where the base refuses the samples."""
    if folds[0].task.n_alike is not None:
        raise ValueError(
            f"engine='liblinear' weighs one class against the rest, and y has {folds[0].task.n_alike} classes of which "
            "none means nothing to find; use engine='auto' or 'generic', or name that class with null_class="
        )
    if folds[0].task.several and not channel.has_own_costs:
        raise ValueError(
            "LIBLINEAR weighs a class against the rest, whose classes have different costs with weighting='class'; "
            "use OneVsRestClassifier with weighting='one-vs-rest', or engine='auto'"
        )
    make = one_vs_rest_trainers if type(base) is OneVsRestClassifier else linear_trainers
    return make(base, folds, channel, normalize, prepared, kind_of=_liblinear_kind)
