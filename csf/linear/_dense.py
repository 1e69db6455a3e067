"""Compiled loops over the rows of a dense matrix; see `csf.linear._csr` for the conventions."""

from numba import njit

__all__ = ["add_rows", "add_squares", "norms", "scores"]

_FAST = {"contract", "reassoc", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def scores(X, constant, rows, w, out):
    """Products of the rows with the coefficients."""
    d = X.shape[1]
    shift = constant * w[d]
    for place in range(rows.size):
        row = rows[place]
        total = 0.0
        for j in range(d):
            total += X[row, j] * w[j]
        out[place] = total + shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_rows(X, constant, rows, factor, out):
    """Add each row times its factor to ``out``."""
    d = X.shape[1]
    shift = 0.0
    for place in range(rows.size):
        v = factor[place]
        if v != 0.0:
            row = rows[place]
            for j in range(d):
                out[j] += v * X[row, j]
            shift += v
    out[d] += constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_squares(X, constant, rows, factor, out):
    """Add the squares of each row times its factor to ``out``."""
    d = X.shape[1]
    shift = 0.0
    for place in range(rows.size):
        v = factor[place]
        if v != 0.0:
            row = rows[place]
            for j in range(d):
                out[j] += v * X[row, j] * X[row, j]
            shift += v
    out[d] += constant * constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def norms(X, constant, rows, out):
    """Squared lengths of the rows, with the constant feature."""
    for place in range(rows.size):
        row = rows[place]
        total = constant * constant
        for j in range(X.shape[1]):
            total += float(X[row, j]) * X[row, j]
        out[place] = total
