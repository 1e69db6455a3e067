"""Rows of a dense or CSR matrix, as the linear solvers see them: never copied whole, extended by a constant feature."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from csf._common.compiled import parts
from csf._common.threads import side_by_side
from csf._common.typing import Array, IntArray, Samples
from csf._common.validation import canonical_csr, small_indices
from csf.solvers import kernels


class DenseBlock:
    """A few rows of a dense matrix."""

    def __init__(self, columns: IntArray, part: Array) -> None:
        self.columns, self._part = columns, part

    def scores(self, v: Array) -> Array:
        """Products of the rows with coefficients of ``columns``."""
        return self._part @ v

    def combine(self, factor: Array) -> Array:
        """Sum of the rows times a factor each, in the order of ``columns``."""
        return factor @ self._part

    def outer(self, factor: Array) -> Array:
        """Products of the rows with their own combination, ``scores(combine(factor))`` in one go."""
        return self._part @ (factor @ self._part)


class CsrBlock:
    """A few rows of a CSR matrix, whose columns are numbered from 0: what is multiplied stays in the cache."""

    def __init__(self, columns: IntArray, parts: tuple[Array, IntArray, IntArray], bias: Array) -> None:
        # The constant feature differs from row to row, since rows are multiplied with factors.
        self.columns, self._bias = columns, bias
        self._parts = parts
        self._all, self._buffer = np.arange(bias.shape[0]), np.empty(columns.shape[0] - 1)

    def scores(self, v: Array) -> Array:
        """See `DenseBlock.scores`."""
        out = np.empty(self._bias.shape[0])
        kernels.scores(self._parts, 0.0, self._all, v, out)
        return out + self._bias * v[-1]

    def combine(self, factor: Array) -> Array:
        """See `DenseBlock.combine`."""
        out = np.zeros(self.columns.shape[0])
        kernels.add_rows(self._parts, 0.0, self._all, factor, out)
        out[-1] = factor @ self._bias
        return out

    def outer(self, factor: Array) -> Array:
        """See `DenseBlock.outer`."""
        out = np.empty(factor.shape[0])
        kernels.outer_product(self._parts, self._bias, factor, self._buffer, out)
        return out


# A few rows, with the columns that they use: numbers of coefficients, the constant one last.
Block: TypeAlias = DenseBlock | CsrBlock


# Rows that one thread passes over at a time, and stored values for each coefficient that it sums up.
_ROWS, _STORED = 1 << 16, 16


class Rows:
    """Some rows of a matrix, with a constant feature behind the others.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_total, n_features)
        Finite float32 or float64 values; kept as it is, whatever the rows.
    at : ndarray of int of shape (n_rows,), default=None
        The rows; ``None`` for all.
    constant : float, default=1.0
        Value of the constant feature; with 0 its coefficient stays 0.

    Examples
    --------
    >>> rows = Rows(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), at=np.array([2, 0]))
    >>> rows.scores(np.array([1.0, 0.0, 0.5]))
    array([5.5, 1.5])
    >>> rows.combine(np.array([1.0, -1.0]))
    array([4., 4., 0.])
    """

    def __init__(self, X: Samples, at: IntArray | None = None, *, constant: float = 1.0) -> None:
        self.constant = float(constant)
        # Stored zeros would count in what a look at the rows costs, and so change when solvers stop.
        self.X: Any = canonical_csr(X)
        if not sparse.issparse(X):
            self.X = np.ascontiguousarray(X)
        self.parts = parts(self.X)
        # Squared lengths of all rows, once they are asked for, for all views.
        self._norms: list[Array] = []
        self.at = small_indices(np.arange(X.shape[0]) if at is None else np.asarray(at), X.shape[0])

    def take(self, at: IntArray) -> Rows:
        """Other rows of the same matrix.

        Parameters
        ----------
        at : ndarray of int
            Rows of the whole matrix.

        Returns
        -------
        Rows
            The view; nothing is copied.
        """
        view = copy(self)
        view.at = small_indices(np.asarray(at), self.X.shape[0])
        return view

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is CSR."""
        return len(self.parts) == 3

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.at.shape[0]

    @property
    def n_coefficients(self) -> int:
        """Number of features, with the constant one."""
        return self.X.shape[1] + 1

    @property
    def stored(self) -> float:
        """Mean number of stored values of a row of the matrix."""
        return (self.X.nnz if self.is_sparse else self.X.size) / max(1, self.X.shape[0])

    def scores(self, w: Array) -> Array:
        """Products of all rows with the coefficients.

        Parameters
        ----------
        w : ndarray of shape (n_coefficients,)
            Coefficients, that of the constant feature last.

        Returns
        -------
        ndarray of shape (n_rows,)
            float64 products.
        """
        out = np.empty(self.n_rows)

        def score(part: slice) -> None:
            kernels.scores(self.parts, self.constant, self.at[part], w, out[part])

        side_by_side(score, self.blocks())
        return out

    def combine(self, factor: Array, *, squares: bool = False) -> Array:
        """Sum of the rows, or of their squares, times a factor each.

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
        kernel = kernels.add_squares if squares else kernels.add_rows
        return self._sum(kernel, factor, self.n_coefficients)

    def image(self, factor: Array, v: Array) -> Array:
        """Image of coefficients under the sum of outer products of the rows, times a factor each.

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
        out = np.zeros(self.n_coefficients)
        kernels.add_images(self.parts, self.constant, self.at, factor, v, out)
        return out

    def combine_by_sign(self, factor: Array) -> Array:
        """Sums of the rows times a factor each, those with negative factors apart.

        Parameters
        ----------
        factor : ndarray of shape (n_rows,)
            Factors.

        Returns
        -------
        ndarray of shape (2, n_coefficients)
            The sums of the rows whose factors are not negative, and of the others.
        """
        return self._sum(kernels.add_by_sign, factor, 2, self.n_coefficients)

    def _sum(self, kernel: Callable[..., None], factor: Array, *shape: int) -> Array:
        """What a kernel sums up over the rows, block by block."""

        def of_block(part: slice) -> Array:
            out = np.zeros(shape)
            kernel(self.parts, self.constant, self.at[part], factor[part], out)
            return out

        first, *others = side_by_side(of_block, self.blocks())
        # In the order of the blocks, whichever thread has summed them up.
        for other in others:
            first += other
        return first

    def blocks(self, size: int = _ROWS) -> list[slice]:
        """Places of rows that are passed over at a time: threads divide the blocks, the sums stay the same.

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
        """Squared lengths of the rows, with the constant feature.

        Returns
        -------
        ndarray of shape (n_rows,)
            The squares.
        """
        if not self._norms:
            self._norms.append(self.take(np.arange(self.X.shape[0]))._squares(np.ones(self.n_coefficients)))
        return self._norms[0][self.at]

    def leverages(self, factor: Array) -> Array:
        """Shares of the squares of each feature that a row holds, summed over the features.

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
        """Sum of the squares of each row, those of each feature times its scale."""
        out = np.empty(self.n_rows)
        kernels.norms(self.parts, self.constant, self.at, scale, out)
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
        part = self.take(self.at[places])
        out += part._sum(kernels.gram_sparse if self.is_sparse else kernels.gram_dense, factor, *out.shape)

    def block(self, places: IntArray, factor: Array) -> Block:
        """Copy of some rows that is fast to multiply with many times.

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
            part = np.full((places.shape[0], self.n_coefficients), self.constant)
            part[:, :-1] = self.X[self.at[places]]
            return DenseBlock(np.arange(self.n_coefficients), part * factor[:, None])
        mark = np.full(self.X.shape[1], -1, dtype=np.int32)
        columns = np.empty(self.n_coefficients, dtype=np.int64)
        values, used, starts, count = kernels.compact(self.parts, self.at[places], factor, mark, columns)
        columns[count] = self.X.shape[1]
        return CsrBlock(columns[: count + 1].copy(), (values, used, starts), self.constant * factor)
