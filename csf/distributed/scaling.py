"""Scalers before a linear model, from sums over parts: sums over raw features become those over scaled ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from csf._common.sklearn import clone

if TYPE_CHECKING:
    from csf._common.typing import Array, Estimator

__all__ = [
    "Moments",
    "Scaling",
    "scalers_of",
]

_ACCEPTED = StandardScaler, MinMaxScaler, MaxAbsScaler


def scalers_of(base: Estimator) -> list[Estimator] | None:
    """Steps before the last one of a pipeline, where all of them are scalers of columns; ``None`` for other bases."""
    if not isinstance(base, Pipeline):
        return None
    scalers = [step for _, step in base.steps[:-1]]
    known = all(isinstance(step, _ACCEPTED) and not getattr(step, "clip", False) for step in scalers)
    return scalers if scalers and known else None


class Moments(NamedTuple):
    """What scalers learn of the columns of some rows; ``squares`` are sums of squares around the mean."""

    n_rows: int
    mean: Array
    squares: Array
    low: Array
    high: Array
    is_sparse: bool

    @classmethod
    def of(cls, X: Any) -> Self:
        """Moments of rows."""
        if sparse.issparse(X):
            columns: Any = mean_variance_axis(X, axis=0), min_max_axis(X, axis=0)
            (mean, variance), (low, high) = columns
        else:
            mean, variance = X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
            low, high = X.min(axis=0), X.max(axis=0)
        return cls(X.shape[0], mean, X.shape[0] * variance, low, high, sparse.issparse(X))

    @classmethod
    def merged(cls, parts: Sequence[Moments]) -> Self:
        """Moments of the rows of several parts."""
        n_rows, mean, squares, low, high, is_sparse = (np.array(each) for each in zip(*parts, strict=True))
        share = n_rows[:, None] / n_rows.sum()
        middle = (share * mean).sum(axis=0)
        squares = squares.sum(axis=0) + (n_rows[:, None] * (mean - middle) ** 2).sum(axis=0)
        return cls(int(n_rows.sum()), middle, squares, low.min(axis=0), high.max(axis=0), bool(is_sparse.any()))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Fitted scalers, and what they do together: ``scaled = slope * raw + shift``, column by column."""

    scalers: list[Estimator]
    slope: Array
    # Over the value of the constant feature, whose coefficient takes it in.
    shift: Array

    @classmethod
    def of(cls, scalers: Sequence[Estimator], moments: Moments, constant: float, names: Array | None) -> Self:
        """Scalers fitted to rows of these moments; a ValueError where no linear model takes in what they shift."""
        deviation = np.sqrt(moments.squares / moments.n_rows)
        # So far from 0 that the difference of two scaled values is exact.
        step = np.maximum(deviation, np.abs(moments.mean))
        step[step == 0.0] = 1.0
        # Two rows have the mean and the deviation of all, two others their ends, and two show what becomes of a value.
        usual, ends = moments.mean + np.outer([-1.0, 1.0], deviation), np.array([moments.low, moments.high])
        shown: Any = np.outer([0.0, 1.0], step)
        fitted = []
        for scaler in map(clone, scalers):
            scaler.fit(usual if isinstance(scaler, StandardScaler) else ends)
            scaler.n_samples_seen_ = moments.n_rows
            usual, ends, shown = (scaler.transform(each) for each in (usual, ends, shown))
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
        """Coefficients for raw features that say what some for scaled ones do."""
        return np.append(self.slope * w[:-1], w[-1] + self.shift @ w[:-1])

    def scaled(self, sums: Array) -> Array:
        """Sums of raw rows, columns last, as those of scaled ones."""
        inner = self.slope * sums[..., :-1] + self.shift * sums[..., -1:]
        return np.concatenate([inner, sums[..., -1:]], axis=-1)
