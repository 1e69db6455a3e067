"""Copies of a few rows, dense or CSR, that conjugate gradients multiply with many times."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from csf._common.typing import Array, IntArray
from csf.linear import _csr

__all__ = ["Block", "CsrBlock", "DenseBlock"]


class Block(ABC):
    """A few rows with the columns that they use.

    Parameters
    ----------
    columns : ndarray of int of shape (n_columns,)
        Coefficients that the rows use, the constant one last.
    """

    def __init__(self, columns: IntArray) -> None:
        self.columns = columns

    @abstractmethod
    def scores(self, v: Array) -> Array:
        """Products of the rows with coefficients of ``columns``.

        Parameters
        ----------
        v : ndarray of shape (n_columns,)
            Coefficients.

        Returns
        -------
        ndarray of shape (n_rows,)
            The products.
        """

    @abstractmethod
    def combine(self, factor: Array) -> Array:
        """Sum of the rows times a factor each.

        Parameters
        ----------
        factor : ndarray of shape (n_rows,)
            Factors.

        Returns
        -------
        ndarray of shape (n_columns,)
            The sum, in the order of ``columns``.
        """

    @abstractmethod
    def outer(self, factor: Array) -> Array:
        """Products of the rows with their own combination, ``scores(combine(factor))`` in one go.

        Parameters
        ----------
        factor : ndarray of shape (n_rows,)
            Factors.

        Returns
        -------
        ndarray of shape (n_rows,)
            The products.
        """


class DenseBlock(Block):
    """A few rows of a dense matrix.

    Parameters
    ----------
    columns : ndarray of int of shape (n_columns,)
        All coefficients.
    part : ndarray of shape (n_rows, n_columns)
        The rows with the constant feature.
    """

    def __init__(self, columns: IntArray, part: Array) -> None:
        super().__init__(columns)
        self._part = part

    def scores(self, v: Array) -> Array:
        """See `Block.scores`."""
        return self._part @ v

    def combine(self, factor: Array) -> Array:
        """See `Block.combine`."""
        return factor @ self._part

    def outer(self, factor: Array) -> Array:
        """See `Block.outer`."""
        return self._part @ (factor @ self._part)


class CsrBlock(Block):
    """A few rows of a CSR matrix, whose columns are numbered anew: what is multiplied stays in the cache.

    Parameters
    ----------
    columns : ndarray of int of shape (n_columns,)
        Coefficients that the rows use, the constant one last.
    parts : tuple of ndarray
        Values, columns and starts of the rows, without the constant feature.
    bias : ndarray of shape (n_rows,)
        The constant feature of each row, which differs from one to the next since rows are multiplied with factors.
    """

    def __init__(self, columns: IntArray, parts: tuple[Array, IntArray, IntArray], bias: Array) -> None:
        super().__init__(columns)
        self._values, self._places, self._starts = parts
        self._bias, self._all = bias, np.arange(bias.shape[0])
        self._buffer = np.empty(columns.shape[0] - 1)

    def scores(self, v: Array) -> Array:
        """See `Block.scores`."""
        out = np.empty(self._bias.shape[0])
        _csr.scores(self._values, self._places, self._starts, 0.0, self._all, v, out)
        return out + self._bias * v[-1]

    def combine(self, factor: Array) -> Array:
        """See `Block.combine`."""
        out = np.zeros(self.columns.shape[0])
        _csr.add_rows(self._values, self._places, self._starts, 0.0, self._all, factor, out)
        out[-1] = factor @ self._bias
        return out

    def outer(self, factor: Array) -> Array:
        """See `Block.outer`."""
        out = np.empty(factor.shape[0])
        _csr.outer_product(self._values, self._places, self._starts, self._bias, factor, self._buffer, out)
        return out
