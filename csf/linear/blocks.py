"""Copies of a few rows, dense or CSR, that conjugate gradients multiply with many times."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from csf._common.typing import Array, IntArray
from csf.linear import _csr

__all__ = ["Block", "CsrBlock", "DenseBlock"]


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
        self._values, self._places, self._starts = parts
        self._all, self._buffer = np.arange(bias.shape[0]), np.empty(columns.shape[0] - 1)

    def scores(self, v: Array) -> Array:
        """See `DenseBlock.scores`."""
        out = np.empty(self._bias.shape[0])
        _csr.scores(self._values, self._places, self._starts, 0.0, self._all, v, out)
        return out + self._bias * v[-1]

    def combine(self, factor: Array) -> Array:
        """See `DenseBlock.combine`."""
        out = np.zeros(self.columns.shape[0])
        _csr.add_rows(self._values, self._places, self._starts, 0.0, self._all, factor, out)
        out[-1] = factor @ self._bias
        return out

    def outer(self, factor: Array) -> Array:
        """See `DenseBlock.outer`."""
        out = np.empty(factor.shape[0])
        _csr.outer_product(self._values, self._places, self._starts, self._bias, factor, self._buffer, out)
        return out


# A few rows, with the columns that they use: numbers of coefficients, the constant one last.
Block: TypeAlias = DenseBlock | CsrBlock
