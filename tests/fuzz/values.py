"""Values to attack with: each function takes a Generator and a good value and returns a damaged or unusual one."""

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

__all__ = ["ROLES", "mutate"]


def _with(array, value, rng, share=0.0):
    """Copy of an array with a value in one place, or in a share of all."""
    array = np.array(array, dtype=object if isinstance(value, (str, type(None))) else np.float64)
    where = rng.random(array.shape) < share
    if array.size:
        where.flat[rng.integers(array.size)] = True
    array[where] = value
    return array


def _unsorted(X):
    """CSR matrix whose rows hold their columns from right to left."""
    X = sparse.csr_matrix(X)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:]):
        X.indices[start:stop] = X.indices[start:stop][::-1].copy()
        X.data[start:stop] = X.data[start:stop][::-1].copy()
    X.has_sorted_indices = False
    return X


def _explicit_zeros(X):
    X = sparse.csr_matrix(X)
    X.data[::2] = 0.0
    return X


def _int64_indices(X):
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _doubled_entries(X):
    X = sparse.coo_matrix(X)
    entries = np.tile(X.data, 2), (np.tile(X.row, 2), np.tile(X.col, 2))
    return sparse.coo_matrix(entries, shape=X.shape)


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _frame(X, make):
    return make({f"c{at}": column for at, column in enumerate(X.T)})


SHAPES = [
    lambda X, rng: X[:0],
    lambda X, rng: X[:1],
    lambda X, rng: X[:2],
    lambda X, rng: X[:-1],
    lambda X, rng: X[:, :0],
    lambda X, rng: X[:, :1],
    lambda X, rng: X[:, 0],
    lambda X, rng: X[:, :, np.newaxis],
    lambda X, rng: np.hstack([X, X]),
    lambda X, rng: X.tolist(),
    lambda X, rng: None,
    lambda X, rng: 5.0,
    lambda X, rng: "text",
    lambda X, rng: [[1.0], [1.0, 2.0]],
]
DTYPES = [
    *(lambda X, rng, kind=kind: X.astype(kind) for kind in ("f2", "f4", "g", "i1", "i8", "?", "O", "U", "c16", "S")),
    lambda X, rng: (X * 1e6).astype(np.int64),
    lambda X, rng: _with(X, "a", rng),
    lambda X, rng: _with(X, None, rng),
]
NUMBERS = [
    *(lambda X, rng, value=value: _with(X, value, rng) for value in (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308)),
    *(lambda X, rng, factor=factor: X * factor for factor in (0.0, 1e-308, 1e-160, 1e150, 1e200, 1e306, -1.0)),
    *(lambda X, rng, shift=shift: X + shift for shift in (1e9, -1e9, 1e16, 1e307)),
    lambda X, rng: np.repeat(X[:1], X.shape[0], axis=0),
    lambda X, rng: np.repeat(X[:, :1], X.shape[1], axis=1),
    lambda X, rng: X * 10.0 ** rng.uniform(-300, 300, X.shape[1]),
    lambda X, rng: _with(X, np.finfo(float).max, rng, 0.5),
    lambda X, rng: _with(X, 5e-324, rng, 0.5),
]
LAYOUTS = [
    *(
        lambda X, rng, make=make: make(np.where(rng.random(X.shape) < 0.5, X, 0.0))
        for make in (
            sparse.csr_matrix,
            sparse.csc_matrix,
            sparse.coo_matrix,
            sparse.csr_array,
            sparse.csc_array,
            sparse.coo_array,
            sparse.lil_matrix,
            sparse.dok_matrix,
            sparse.dia_matrix,
            sparse.bsr_matrix,
            _unsorted,
            _explicit_zeros,
            _int64_indices,
            _doubled_entries,
        )
    ),
    lambda X, rng: sparse.csr_matrix(X.shape),
    lambda X, rng: sparse.csr_matrix(_with(X, np.nan, rng)),
    lambda X, rng: sparse.csr_matrix(X * 1e306),
    lambda X, rng: sparse.csr_matrix(X).astype(np.float32),
    lambda X, rng: sparse.csr_matrix(X.astype(np.int64)),
    lambda X, rng: sparse.csr_matrix(X[:1]),
    lambda X, rng: _frame(X, pd.DataFrame),
    lambda X, rng: _frame(X, pl.DataFrame),
    lambda X, rng: _frame(X, pd.DataFrame).astype("Float64"),
    lambda X, rng: _frame(X, pd.DataFrame).assign(c0="a"),
    lambda X, rng: np.asfortranarray(X),
    lambda X, rng: X[::-1, ::-1],
    lambda X, rng: _read_only(X),
    lambda X, rng: np.ma.masked_array(X, rng.random(X.shape) < 0.2),
]


def matrix(X, rng):
    """Samples of another shape, dtype, size or layout; sometimes of two of them."""
    X = np.asarray(X, dtype=np.float64)
    kinds = [SHAPES, DTYPES, NUMBERS, LAYOUTS]
    if rng.random() < 0.2:
        X = _pick([*NUMBERS, SHAPES[1], SHAPES[5]], rng)(X, rng)
        kinds = [LAYOUTS]
    with np.errstate(all="ignore"):
        return _pick(_pick(kinds, rng), rng)(X, rng)


LABELS = [
    lambda y, rng: np.full(y.shape, y[0]),
    lambda y, rng: np.where(y == y[0], "no", "yes"),
    lambda y, rng: np.where(y == y[0], "no", "yes").astype(object),
    lambda y, rng: np.where(y == y[0], b"no", b"yes"),
    lambda y, rng: y == y[0],
    lambda y, rng: np.where(y == y[0], -1.0, 1.0),
    lambda y, rng: np.where(y == y[0], 0.0, 1.0).astype(np.float32),
    lambda y, rng: np.where(y == y[0], 0, 255).astype(np.uint8),
    lambda y, rng: np.where(y == y[0], -(2**62), 2**62),
    lambda y, rng: np.where(y == y[0], 1.5, 2.5),
    lambda y, rng: np.arange(y.shape[0]) % 3,
    lambda y, rng: np.arange(y.shape[0]),
    lambda y, rng: rng.normal(size=y.shape),
    lambda y, rng: np.where(np.arange(y.shape[0]) == 0, np.nan, y == y[0]),
    lambda y, rng: np.where(np.arange(y.shape[0]) == 0, np.inf, y == y[0]),
    lambda y, rng: np.where(np.arange(y.shape[0]) == 0, None, y == y[0]),
    lambda y, rng: np.array([1 if at % 2 else "a" for at in range(y.shape[0])], dtype=object),
    lambda y, rng: [1 if at % 2 else "a" for at in range(y.shape[0])],
    lambda y, rng: (np.arange(y.shape[0]) == 0).astype(int),
    lambda y, rng: y[:0],
    lambda y, rng: y[:1],
    lambda y, rng: y[:-1],
    lambda y, rng: np.append(y, y),
    lambda y, rng: y[:, np.newaxis],
    lambda y, rng: np.column_stack([y == y[0], y != y[0]]).astype(int),
    lambda y, rng: y.tolist(),
    lambda y, rng: pd.Series(y, index=np.arange(y.shape[0])[::-1]),
    lambda y, rng: pd.Series(y).astype("category"),
    lambda y, rng: pd.Series(y == y[0]).astype("boolean"),
    lambda y, rng: pd.Series(np.where(y == y[0], 0, 1), dtype="Int64").where(np.arange(y.shape[0]) > 0),
    lambda y, rng: pl.Series(y.tolist()),
    lambda y, rng: sparse.csr_matrix(np.where(y == y[0], 0, 1)),
    lambda y, rng: np.where(y == y[0], np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
    lambda y, rng: np.where(y == y[0], 1j, 2j),
    lambda y, rng: [[1], [2, 3]],
    lambda y, rng: None,
    lambda y, rng: 1,
    lambda y, rng: "text",
    lambda y, rng: {"a": 1},
]


def labels(y, rng):
    """Labels of another kind or number."""
    return _pick(LABELS, rng)(np.array([0, 1] * 10) if y is None else np.asarray(y), rng)


ARRAYS = [
    *(
        lambda w, rng, value=value: _with(w, value, rng)
        for value in (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 1e300, 1e-300, 5e-324, 1e16, "a", None)
    ),
    *(lambda w, rng, factor=factor: w * factor for factor in (0.0, 1e-308, 1e-160, 1e150, 1e300, -1.0, 1e6, 1e-6)),
    *(lambda w, rng, kind=kind: w.astype(kind) for kind in ("f2", "f4", "i8", "?", "O", "U", "c16")),
    lambda w, rng: w + 1e9,
    lambda w, rng: np.full(w.shape, 1.7e308),
    lambda w, rng: _with(np.zeros(w.shape), 1.0, rng),
    lambda w, rng: _with(_with(w, np.inf, rng, 0.3), -np.inf, rng, 0.3),
    lambda w, rng: np.where(rng.random(w.shape) < 0.5, 1e-300, 1e300),
    lambda w, rng: np.where(rng.random(w.shape) < 0.5, 5e-324, 1e-320),
    lambda w, rng: np.where(rng.random(w.shape) < 0.5, 0.0, w),
    lambda w, rng: np.where(rng.random(w.shape) < 0.5, -1e308, 1e308),
    lambda w, rng: w[:0],
    lambda w, rng: w[:1],
    lambda w, rng: w[:-1],
    lambda w, rng: np.append(w, w),
    lambda w, rng: w[:, np.newaxis],
    lambda w, rng: np.column_stack([w, w]),
    lambda w, rng: w.tolist(),
    lambda w, rng: pd.Series(w, index=np.arange(w.shape[0])[::-1]),
    lambda w, rng: pl.Series(w),
    lambda w, rng: pd.Series(w, dtype="Float64").where(np.arange(w.shape[0]) > 0),
    lambda w, rng: None,
    lambda w, rng: 2.0,
    lambda w, rng: "balanced",
    lambda w, rng: {0: 1.0, 1: 2.0},
    lambda w, rng: [[1.0], [1.0, 2.0]],
]


def array(values, rng):
    """Weights, scores or probabilities with other numbers, of another kind or length."""
    with np.errstate(all="ignore"):
        return _pick(ARRAYS, rng)(np.ones(20) if values is None else np.asarray(values, dtype=np.float64), rng)


PARAMETERS = [
    *(np.nan, np.inf, -np.inf, -1, 0, 1, 2, 3, 0.0, -0.0, 1.0, 0.5, -0.5, 2.5, 1e308, -1e308, 1e-308, 5e-324, 1e16),
    *(1e-3, 1e3, 1e-12, 1e12, 1e150, 1e-150),
    *("nonsense", "", "1", "f1", "none", b"f1", None, True, False, (), (1.0, 2.0), [], [1, 0], {}, {"a": 1}),
    *(object, int, NotImplemented, 1j, np.int64(2), np.float32(0.5), np.bool_(True), np.array(1.0)),
    np.array([1.0, 2.0]),
]


def parameter(value, rng):
    """Any parameter: numbers out of range, other types, unknown names."""
    return _pick(PARAMETERS, rng)


def jobs(value, rng):
    """Numbers of workers that start no process."""
    return _pick([None, 1, 0, np.nan, 1.5, "2", (), np.inf], rng)


ROLES = {
    **dict.fromkeys(("X", "X_new", "points"), matrix),
    **dict.fromkeys(("y", "y_true", "y_pred", "target", "classes"), labels),
    **dict.fromkeys(("sample_weight", "y_score", "proba", "fn", "fp", "levels", "shares"), array),
    "n_jobs": jobs,
}


def mutate(name, value, choices, rng):
    """Attack one argument; half of the parameters with choices get one of them, so that they meet each other."""
    if choices and rng.random() < 0.5:
        return choices[rng.integers(len(choices))]
    role = parameter if isinstance(value, (str, int, float)) else ROLES.get(name, parameter)
    return role(value, rng)


def _pick(options, rng):
    return options[rng.integers(len(options))]
