"""Rows of a dense or CSR matrix for the linear solvers: never copied as a whole, extended by a constant feature."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy import sparse

from csf._common.compiled import column_of, njit, parts, row_and_bounds
from csf._common.threads import side_by_side
from csf._common.typing import Array, FloatArray, IntArray, Samples
from csf._common.validation import canonical_csr, small_indices
from csf.solvers.base import Scalar

# ---------------------------------------------------------------- compiled loops over rows
# ``X`` is the matrix as `csf._common.compiled.parts` gives it, so that one loop serves both kinds at full speed.
# ``rows`` names the rows that take part, in order; arrays of results and multipliers are indexed by the place in
# ``rows``. The last coefficient belongs to the constant feature and counts where ``constant`` is not 0.


# ``(X,)``, or ``(data, indices, indptr)``.
Parts: TypeAlias = "tuple[Array, ...]"

_FAST = {"contract", "reassoc", "nsz"}
# Dense rows of a block, and a line of so many numbers: lines a power of two apart would compete for cache lines.
_BLOCK, _LINE = 256, 264


@njit(cache=True, nogil=True, fastmath=_FAST)
def _score(X: Parts, i: Scalar, w: Array) -> float:
    """Multiply row i by its coefficients, without the constant feature."""
    # A function of its own: within a loop over rows, references to the arrays of a row would be counted.
    row, start, stop = row_and_bounds(X, i)
    values, total = row[0], 0.0
    for k in range(start, stop):
        total += values[k] * w[column_of(row, k)]
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def scores(X: Parts, constant: float, rows: IntArray, w: Array, out: Array) -> None:
    """Multiply the rows by the coefficients."""
    shift = constant * w[w.size - 1]
    for place in range(rows.size):
        out[place] = _score(X, rows[place], w) + shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_rows(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add each row times its factor to ``out``."""
    # Which factors are 0 is hard to predict: to list the others without a branch takes a third of the time.
    count, places, shift = 0, np.empty(rows.size, np.int64), 0.0
    for place in range(rows.size):
        places[count] = place
        count += factor[place] != 0.0
    for place in places[:count]:
        (row, start, stop), v = row_and_bounds(X, rows[place]), factor[place]
        values = row[0]
        for k in range(start, stop):
            out[column_of(row, k)] += v * values[k]
        shift += v
    out[out.size - 1] += constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_by_sign(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add each row times its factor to the first line of ``out``, or to the second if the factor is negative."""
    last = out.shape[1] - 1
    for place in range(rows.size):
        (row, start, stop), v = row_and_bounds(X, rows[place]), factor[place]
        values, line = row[0], out[np.uint64(v < 0.0)]
        for k in range(start, stop):
            line[column_of(row, k)] += v * values[k]
        line[last] += constant * v


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_images(X: Parts, constant: float, rows: IntArray, factor: Array, v: Array, out: Array) -> None:
    """Add to ``out`` the product of ``v`` with the sum of the rows' outer products, each times its factor."""
    last = out.size - 1
    bias, shift = constant * v[last], 0.0
    for place in range(rows.size):
        if factor[place] != 0.0:
            # Scored and added at once: each row is read from memory only once.
            row, start, stop = row_and_bounds(X, rows[place])
            values, times = row[0], factor[place] * (_score(X, rows[place], v) + bias)
            for k in range(start, stop):
                out[column_of(row, k)] += times * values[k]
            shift += times
    out[last] += constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_squares(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add the squares of each row times its factor to ``out``."""
    shift = 0.0
    for place in range(rows.size):
        v = factor[place]
        if v != 0.0:
            row, start, stop = row_and_bounds(X, rows[place])
            values = row[0]
            for k in range(start, stop):
                out[column_of(row, k)] += v * values[k] * values[k]
            shift += v
    out[out.size - 1] += constant * constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def norms(X: Parts, constant: float, rows: IntArray, scale: Array, out: Array) -> None:
    """Sum the squares of each row, those of each feature times its ``scale``, with the constant feature."""
    last = constant * constant * scale[scale.size - 1]
    for place in range(rows.size):
        row, start, stop = row_and_bounds(X, rows[place])
        values, total = row[0], last
        for k in range(start, stop):
            total += scale[column_of(row, k)] * values[k] * values[k]
        out[place] = total


@njit(cache=True, nogil=True)
def gram_sparse(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add the outer product of each CSR row times its factor to the upper triangle of ``out``; columns must ascend."""
    last = np.uint64(out.shape[0] - 1)
    for place in range(rows.size):
        v = factor[place]
        if v == 0.0:
            continue
        (values, columns), start, stop = row_and_bounds(X, rows[place])
        for k in range(start, stop):
            scaled = v * values[k]
            line = out[np.uint64(columns[k])]
            for q in range(k, stop):
                line[np.uint64(columns[q])] += scaled * values[q]
            line[last] += scaled * constant
        out[last, last] += v * constant * constant


@njit(cache=True, nogil=True, fastmath=_FAST)
def gram_dense(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add the outer product of each dense row times its factor to the upper triangle of ``out``."""
    d = X[0].shape[1]
    even = d + 1 + (d + 1) % 2
    # A block of rows is kept as columns, whose products are long loops. Two columns are multiplied by two others: each
    # number that is read serves two products.
    part, one, two = np.zeros((even, _LINE)), np.empty(_BLOCK), np.empty(_BLOCK)
    part[d] = constant
    total = np.zeros((even, even))
    for start in range(0, rows.size, _BLOCK):
        size = min(_BLOCK, rows.size - start)
        for k in range(size):
            x = X[0][np.uint64(rows[start + k])]
            for j in range(np.uint64(d)):
                part[j, k] = x[j]
        for i in range(0, even, 2):
            for k in range(np.uint64(size)):
                one[k] = factor[start + k] * part[i, k]
                two[k] = factor[start + k] * part[i + 1, k]
            for j in range(i, even, 2):
                a, b = part[j], part[j + 1]
                one_a = one_b = two_a = two_b = 0.0
                for k in range(np.uint64(size)):
                    one_a += one[k] * a[k]
                    one_b += one[k] * b[k]
                    two_a += two[k] * a[k]
                    two_b += two[k] * b[k]
                total[i, j] += one_a
                total[i, j + 1] += one_b
                total[i + 1, j] += two_a
                total[i + 1, j + 1] += two_b
    out += total[: d + 1, : d + 1]


@njit(cache=True, nogil=True)
def compact(
    X: Parts, rows: IntArray, factor: Array, mark: IntArray, columns: IntArray
) -> tuple[Array, IntArray, IntArray, int]:
    """Copy CSR rows, each times its factor, with columns renumbered in the order of their first use.

    ``mark`` is -1 everywhere, before and after; ``columns`` receives the old numbers. Returns the three arrays of the
    copy and the number of its columns.
    """
    count = 0
    for row in rows:
        count += X[2][row + 1] - X[2][row]
    values = np.empty(count)
    places = np.empty(count, np.int32)
    starts = np.zeros(rows.size + 1, np.int64)
    n_columns, q = 0, 0
    for place in range(rows.size):
        (given, used), start, stop = row_and_bounds(X, rows[place])
        for k in range(start, stop):
            column = np.uint64(used[k])
            if mark[column] < 0:
                mark[column] = n_columns
                columns[n_columns] = column
                n_columns += 1
            values[q] = factor[place] * given[k]
            places[q] = mark[column]
            q += 1
        starts[place + 1] = q
    for column in columns[:n_columns]:
        mark[column] = -1
    return values, places, starts, n_columns


@njit(cache=True, nogil=True, fastmath=_FAST)
def outer_product(X: Parts, bias: Array, v: Array, buffer: Array, out: Array) -> None:
    """Multiply the rows of a compact copy by the sum of these rows times ``v``; ``bias`` is their last feature."""
    buffer[:] = 0.0
    shift = 0.0
    for i in range(v.size):
        (row, start, stop), factor = row_and_bounds(X, i), v[i]
        values = row[0]
        for k in range(start, stop):
            buffer[column_of(row, k)] += factor * values[k]
        shift += v[i] * bias[i]
    for i in range(v.size):
        (row, start, stop), total = row_and_bounds(X, i), shift * bias[i]
        values = row[0]
        for k in range(start, stop):
            total += values[k] * buffer[column_of(row, k)]
        out[i] = total


# Dual coordinate descent for linear SVMs (Hsieh et al., ICML 2008), with shrinking, on any of the rows.


@njit(cache=True, nogil=True)
def _shuffle(order: IntArray, count: Scalar, state: Scalar) -> int:
    """Shuffle the first ``count`` places by a xorshift generator; return its new state."""
    for k in range(count - 1):
        state ^= (state << np.uint64(13)) & np.uint64(0xFFFFFFFFFFFFFFFF)
        state ^= state >> np.uint64(7)
        state ^= (state << np.uint64(17)) & np.uint64(0xFFFFFFFFFFFFFFFF)
        other = k + np.int64(state % np.uint64(count - k))
        order[k], order[other] = order[other], order[k]
    return state


@njit(cache=True, nogil=True)
def _verdict(gradient: Scalar, value: Scalar, upper: Scalar, high: Scalar, low: Scalar) -> tuple[float, bool]:
    """Compute the projected gradient of one dual variable, and whether it is shrunk away for now."""
    if value <= 0.0:
        return min(gradient, 0.0), gradient > high
    if value >= upper:
        return max(gradient, 0.0), gradient < low
    return gradient, False


@njit(cache=True, nogil=True)
def descend(
    X: Parts,
    constant: float,
    rows: IntArray,
    problem: tuple[Array, Array, Array, Array],
    dual: Array,
    w: Array,
    order: IntArray,
    enough: float,
    max_iter: int,
    seed: int,
) -> int:
    """Improve ``dual`` and ``w`` in place; ``problem`` are the arrays of `csf.solvers.hinge.BoxProgram`.

    Passes over the places in ``order``, which are shuffled. Ends when the largest and the smallest projected gradient
    of those that are not shrunk away are within ``enough``; returns the number of passes.
    """
    # The order of a pass is random, results are not.
    sign, ridge, upper, squares = problem
    count, last = order.size, w.size - 1
    state = np.uint64(88172645463325252 + seed)
    high, low = np.inf, -np.inf
    for passes in range(max_iter):
        top, bottom = -np.inf, np.inf
        state = _shuffle(order, count, state)
        k = 0
        while k < count:
            i = order[k]
            gradient = sign[i] * (_score(X, rows[i], w) + constant * w[last]) - 1.0 + ridge[i] * dual[i]
            projected, shrunk = _verdict(gradient, dual[i], upper[i], high, low)
            # Likely to stay at its bound: left out until all are looked at again.
            if shrunk:
                count -= 1
                order[k], order[count] = order[count], order[k]
                continue
            top, bottom = max(top, projected), min(bottom, projected)
            if abs(projected) > 1e-12:
                curvature = squares[i] + ridge[i]
                # A sample of zeros has no curvature, and all of its weight is lost.
                value = min(max(dual[i] - gradient / curvature, 0.0), upper[i]) if curvature > 0.0 else upper[i]
                change = sign[i] * (value - dual[i])
                dual[i] = value
                row, start, stop = row_and_bounds(X, rows[i])
                for q in range(start, stop):
                    w[column_of(row, q)] += change * row[0][q]
                w[last] += change * constant
            k += 1
        # Gradients beyond which variables at a bound are shrunk in the next pass.
        high, low = (top if top > 0.0 else np.inf), (bottom if bottom < 0.0 else -np.inf)
        if top - bottom <= enough:
            return passes + 1
    return max_iter


# ---------------------------------------------------------------- rows


class DenseBlock:
    """A few rows of a dense matrix."""

    def __init__(self, columns: IntArray, part: Array) -> None:
        self.columns, self._part = columns, part

    def scores(self, v: Array) -> Array:
        """Multiply the rows by coefficients of ``columns``."""
        return self._part @ v

    def combine(self, factor: Array) -> Array:
        """Sum the rows times a factor each, in the order of ``columns``."""
        return factor @ self._part

    def outer(self, factor: Array) -> Array:
        """Multiply the rows by their own combination, ``scores(combine(factor))`` in one pass."""
        return self._part @ (factor @ self._part)


class CsrBlock:
    """A few rows of a CSR matrix, with columns numbered from 0, so that products stay in the cache."""

    def __init__(self, columns: IntArray, parts: tuple[Array, IntArray, IntArray], bias: Array) -> None:
        # The constant feature differs from row to row, since rows are multiplied with factors.
        self.columns, self._bias = columns, bias
        self._parts = parts
        self._all, self._buffer = np.arange(bias.shape[0]), np.empty(columns.shape[0] - 1)

    def scores(self, v: Array) -> Array:
        """Multiply the rows by coefficients, see `DenseBlock.scores`."""
        out = np.empty(self._bias.shape[0])
        scores(self._parts, 0.0, self._all, v, out)
        return out + self._bias * v[-1]

    def combine(self, factor: Array) -> Array:
        """Sum the rows times a factor each, see `DenseBlock.combine`."""
        out = np.zeros(self.columns.shape[0])
        add_rows(self._parts, 0.0, self._all, factor, out)
        out[-1] = factor @ self._bias
        return out

    def outer(self, factor: Array) -> Array:
        """Multiply the rows by their own combination, see `DenseBlock.outer`."""
        out = np.empty(factor.shape[0])
        outer_product(self._parts, self._bias, factor, self._buffer, out)
        return out


# A few rows, with the columns that they use: numbers of coefficients, the constant one last.
Block: TypeAlias = DenseBlock | CsrBlock


# Numbers of dense rows that are copied for products of numpy, which need no compiled loops.
_FEW = 1 << 15
# Rows that one thread passes over at a time, and stored values for each coefficient that it sums up.
_ROWS, _STORED = 1 << 16, 16


class Rows:
    """Rows of a matrix, with a constant feature after the others.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_total, n_features)
        Finite float32 or float64 values; kept as it is, whatever the rows.
    rows : ndarray of int of shape (n_rows,), default=None
        The rows; ``None`` for all.
    constant : float, default=1.0
        Value of the constant feature; with 0 its coefficient stays 0.

    Examples
    --------
    >>> rows = Rows(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), rows=np.array([2, 0]))
    >>> rows.scores(np.array([1.0, 0.0, 0.5]))
    array([5.5, 1.5])
    >>> rows.combine(np.array([1.0, -1.0]))
    array([4., 4., 0.])
    """

    def __init__(self, X: Samples, rows: IntArray | None = None, *, constant: float = 1.0) -> None:
        self.constant = float(constant)
        # Stored zeros would count in what a look at the rows costs, and so change when solvers stop.
        self.X: Samples = canonical_csr(X)
        if not sparse.issparse(X):
            self.X = np.ascontiguousarray(X)
        self.parts = parts(self.X)
        # Squared lengths of all rows, once they are asked for, for all views.
        self._norms: list[Array] = []
        self.places = small_indices(np.arange(X.shape[0]) if rows is None else np.asarray(rows), X.shape[0])

    def take(self, rows: IntArray) -> Rows:
        """Select other rows of the same matrix.

        Parameters
        ----------
        rows : ndarray of int
            Rows of the whole matrix.

        Returns
        -------
        Rows
            The view; nothing is copied.
        """
        view = copy(self)
        vars(view).pop("_few", None)
        view.places = small_indices(np.asarray(rows), self.X.shape[0])
        return view

    @property
    def is_sparse(self) -> bool:
        """True where the matrix is CSR."""
        return len(self.parts) == 3

    @cached_property
    def _few(self) -> FloatArray | None:
        """Rows with the constant feature, where these are dense and few; ``None`` elsewhere."""
        if self.is_sparse or self.n_rows * self.n_coefficients > _FEW:
            return None
        return self._extended(self.places)

    def _extended(self, rows: IntArray) -> FloatArray:
        """Copy dense rows of the matrix, with the constant feature."""
        part = np.full((rows.shape[0], self.n_coefficients), self.constant)
        part[:, :-1] = self.X[rows]
        return part

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.places.shape[0]

    @property
    def n_coefficients(self) -> int:
        """Number of features, with the constant one."""
        return self.X.shape[1] + 1

    @property
    def stored(self) -> float:
        """Mean number of stored values of a row of the matrix."""
        return (self.X.nnz if self.is_sparse else self.X.size) / max(1, self.X.shape[0])

    def scores(self, w: Array) -> Array:
        """Multiply all rows by the coefficients.

        Parameters
        ----------
        w : ndarray of shape (n_coefficients,)
            Coefficients, that of the constant feature last.

        Returns
        -------
        ndarray of shape (n_rows,)
            float64 products.
        """
        if self._few is not None:
            # Whatever rows are beside it, a row has the same score to the last digit.
            return np.einsum("ij,j->i", self._few, w)
        out = np.empty(self.n_rows)

        def score(part: slice) -> None:
            scores(self.parts, self.constant, self.places[part], w, out[part])

        side_by_side(score, self.blocks())
        return out

    def combine(self, factor: Array, *, squares: bool = False) -> Array:
        """Sum the rows, or their squares, times a factor each.

        Parameters
        ----------
        factor : ndarray of shape (n_rows,)
            Factors; rows with 0 cost nothing.
        squares : bool, default=False
            Whether to add the squared features.

        Returns
        -------
        ndarray of shape (n_coefficients,)
            The sum.
        """
        if self._few is not None:
            return factor @ (np.square(self._few) if squares else self._few)
        kernel = add_squares if squares else add_rows
        return self._sum(kernel, factor, self.n_coefficients)

    def image(self, factor: Array, v: Array) -> Array:
        """Multiply coefficients by the sum of outer products of the rows, times a factor each.

        Parameters
        ----------
        factor : ndarray of shape (n_rows,)
            Factors; rows with 0 cost nothing.
        v : ndarray of shape (n_coefficients,)
            Coefficients.

        Returns
        -------
        ndarray of shape (n_coefficients,)
            ``combine(factor * scores(v))``, in one pass over the rows.
        """
        if self._few is not None:
            return (factor * (self._few @ v)) @ self._few
        out = np.zeros(self.n_coefficients)
        add_images(self.parts, self.constant, self.places, factor, v, out)
        return out

    def combine_by_sign(self, factor: Array) -> Array:
        """Sum the rows times a factor each, those with negative factors separately.

        Parameters
        ----------
        factor : ndarray of shape (n_rows,)
            Factors.

        Returns
        -------
        ndarray of shape (2, n_coefficients)
            The sums of the rows whose factors are not negative, and of the others.
        """
        if self._few is not None:
            parts = np.empty((2, factor.size))
            np.maximum(factor, 0.0, out=parts[0])
            np.minimum(factor, 0.0, out=parts[1])
            return parts @ self._few
        return self._sum(add_by_sign, factor, 2, self.n_coefficients)

    def _sum(self, kernel: Callable[..., None], factor: Array, *shape: int) -> Array:
        """Sum the output of a kernel over the rows, block by block."""

        def of_block(part: slice) -> Array:
            out = np.zeros(shape)
            kernel(self.parts, self.constant, self.places[part], factor[part], out)
            return out

        first, *others = side_by_side(of_block, self.blocks())
        # In the order of the blocks, whichever thread has summed them up.
        for other in others:
            first += other
        return first

    def blocks(self, size: int = _ROWS) -> list[slice]:
        """Divide the rows into blocks: threads share the blocks, and the sums stay the same.

        Parameters
        ----------
        size : int, default=65536
            Number of rows; more where sums of so few would have more numbers than their rows.

        Returns
        -------
        list of slice
            One at least.
        """
        if self.n_rows <= size:
            return [slice(0, size)]
        size = max(size, int(_STORED * self.n_coefficients / max(self.stored, 1.0)))
        return [slice(start, start + size) for start in range(0, self.n_rows, size)]

    def squared_norms(self) -> Array:
        """Compute the squared lengths of the rows, with the constant feature.

        Returns
        -------
        ndarray of shape (n_rows,)
            The squares.
        """
        if not self._norms:
            self._norms.append(self.take(np.arange(self.X.shape[0]))._squares(np.ones(self.n_coefficients)))
        return self._norms[0][self.places]

    def leverages(self, factor: Array) -> Array:
        """Sum, over the features, the share of each feature's squares that a row holds.

        Parameters
        ----------
        factor : ndarray of shape (n_rows,)
            What the squares of each row are multiplied with, >= 0.

        Returns
        -------
        ndarray of shape (n_rows,)
            The sums; all of them add up to the number of coefficients whose squares are not all zero.
        """
        total = self.combine(factor, squares=True)
        return factor * self._squares(np.divide(1.0, total, out=np.zeros_like(total), where=total > 0.0))

    def _squares(self, scale: Array) -> Array:
        """Sum the squares of each row, those of each feature times its scale."""
        if self._few is not None:
            return np.square(self._few) @ scale
        out = np.empty(self.n_rows)
        norms(self.parts, self.constant, self.places, scale, out)
        return out

    def add_gram(self, places: IntArray, factor: Array, out: Array) -> None:
        """Add outer products of rows to the upper triangle of a matrix.

        Parameters
        ----------
        places : ndarray of int
            Rows, as places in these rows.
        factor : ndarray of the same shape
            A factor for each.
        out : ndarray of shape (n_coefficients, n_coefficients)
            Changed in place.
        """
        # Of few rows their copies are taken, of others a view, whose rows may be few.
        part = self.take(self.places[places]) if self._few is None else self
        few = part._few
        if few is not None:
            few = few.take(places, axis=0) if part is self else few
            out += (few * factor[:, None]).T @ few
            return
        out += part._sum(gram_sparse if self.is_sparse else gram_dense, factor, *out.shape)

    def block(self, places: IntArray, factor: Array) -> Block:
        """Copy some rows in a form that is fast to multiply many times.

        Parameters
        ----------
        places : ndarray of int
            Rows, as places in these rows.
        factor : ndarray of the same shape
            What each row is multiplied with.

        Returns
        -------
        Block
            The copy; it numbers the columns that it uses from 0.
        """
        if not self.is_sparse:
            part = self._extended(self.places[places]) * factor[:, None]
            return DenseBlock(np.arange(self.n_coefficients), part)
        mark = np.full(self.X.shape[1], -1, dtype=np.int32)
        columns = np.empty(self.n_coefficients, dtype=np.int64)
        values, used, starts, count = compact(self.parts, self.places[places], factor, mark, columns)
        columns[count] = self.X.shape[1]
        return CsrBlock(columns[: count + 1].copy(), (values, used, starts), self.constant * factor)
