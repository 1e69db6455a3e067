"""Weighted linear problems of all shapes, their objectives, and tight solutions by scikit-learn."""

import warnings
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

FLAWS = (
    "none",
    "constant column",
    "zero column",
    "equal columns",
    "equal rows",
    "zero rows",
    "zero weights",
    "one big",
)


def unsorted_csr(X):
    """CSR whose columns are in no order, and whose every third value is stored in two parts."""
    X = sparse.csr_array(X)
    data, indices, indptr = [], [], [0]
    for row in range(X.shape[0]):
        at = slice(X.indptr[row], X.indptr[row + 1])
        values, columns = X.data[at][::-1], X.indices[at][::-1]
        twice = np.arange(values.size) % 3 == 0
        data += [*np.where(twice, 0.25 * values, values), *(0.75 * values[twice])]
        indices += [*columns, *columns[twice]]
        indptr.append(len(data))
    parts = np.array(data, dtype=X.dtype), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    return sparse.csr_array(parts, shape=X.shape)


def long_csr(X):
    """CSR with 64-bit indices."""
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def full_csr(X):
    """CSR that stores its zeros too."""
    shape = X.shape
    columns, ends = np.tile(np.arange(shape[1]), shape[0]), np.arange(shape[0] + 1) * shape[1]
    return sparse.csr_array((X.ravel().copy(), columns, ends), shape=shape)


LAYOUTS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "CSR": sparse.csr_array,
    "CSR matrix": sparse.csr_matrix,
    "64-bit CSR": long_csr,
    "unsorted CSR": unsorted_csr,
    "CSR with zeros": full_csr,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
}


@dataclass(frozen=True)
class Problem:
    """Samples with a constant feature behind the others, signs of their classes, and weights of their losses."""

    X: np.ndarray
    sign: np.ndarray
    weight: np.ndarray
    constant: float = 1.0

    @property
    def Z(self):
        """Samples with the constant feature, in float64."""
        return np.column_stack([self.X.astype(float), np.full(len(self.X), self.constant)])

    def margins(self, w):
        """Products with the coefficients times the signs."""
        return self.sign * (self.Z @ w)

    def squared_hinge(self, w):
        """Objective and gradient."""
        slack = np.maximum(1.0 - self.margins(w), 0.0)
        return 0.5 * w @ w + self.weight @ slack**2, w - 2.0 * (self.weight * slack * self.sign) @ self.Z

    def hinge(self, w):
        """Objective."""
        return 0.5 * w @ w + self.weight @ np.maximum(1.0 - self.margins(w), 0.0)

    def logistic(self, w, ridge):
        """Objective and gradient, with factors of the squares of the coefficients."""
        margins = self.margins(w)
        share = np.exp(-np.logaddexp(0.0, margins))
        value = 0.5 * w @ (ridge * w) + self.weight @ np.logaddexp(0.0, -margins)
        return value, ridge * w - (self.weight * share * self.sign) @ self.Z


@st.composite
def problems(draw, *, max_n=60, max_d=8, flaws=FLAWS, scales=(-6, 6), bits=(32, 64)):
    """Random problems with one flaw each; ``scales`` are powers of ten of the weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(6, max_n)), draw(st.integers(1, max_d))
    sign = np.where(np.arange(n) < draw(st.integers(1, n - 1)), 1.0, -1.0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.3, 1.0])))
    X += draw(st.sampled_from([0.0, 0.5, 3.0])) * sign[:, None]
    weight = rng.exponential(size=n) * 10.0 ** draw(st.integers(*scales))
    flaw = draw(st.sampled_from(flaws))
    if flaw == "constant column":
        X[:, 0] = 3.0
    if flaw == "zero column":
        X[:, 0] = 0.0
    if flaw == "equal columns":
        X[:, -1] = X[:, 0]
    if flaw == "equal rows":
        X[n // 2 :] = X[: n - n // 2]
    if flaw == "zero rows":
        X[::3] = 0.0
    if flaw == "zero weights":
        weight[1:-1:2] = 0.0
    if flaw == "one big":
        X[:, 0] *= 1e3
    X = X.astype(np.float32 if draw(st.sampled_from(bits)) == 32 else np.float64)
    return Problem(X, sign, weight, draw(st.sampled_from([0.0, 1.0, 5.0])))


def tight_squared_hinge(problem):
    """Coefficients by scikit-learn."""
    options = {"fit_intercept": problem.constant > 0, "intercept_scaling": problem.constant or 1.0}
    return _fitted(LinearSVC(dual=False, tol=1e-12, max_iter=1000, **options), problem)


def tight_logistic(problem, *, penalised):
    """Coefficients by scikit-learn."""
    options = {"fit_intercept": problem.constant > 0, "tol": 1e-12, "max_iter": 1000}
    if penalised:
        options |= {"solver": "liblinear", "intercept_scaling": problem.constant or 1.0}
    return _fitted(LogisticRegression(**({"solver": "newton-cholesky"} | options)), problem)


def _fitted(model, problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so where rounding keeps it from its tolerance
        model.fit(problem.X.astype(float), problem.sign, sample_weight=problem.weight)
    last = model.intercept_[0] / problem.constant if problem.constant else 0.0
    return np.append(model.coef_.ravel(), last)
