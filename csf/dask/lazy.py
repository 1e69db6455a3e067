"""Predictions for collections: computed partition by partition when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from csf._common.typing import Array, Estimator, Samples
from csf.dask.collections import DaskData, RawPart, is_array, is_frame
from csf.errors.profile import ErrorProfile

__all__ = ["mapped", "profile_of"]


def mapped(model: Estimator, method: str, X: Samples, *, dtype: Any, n_columns: int | None = None) -> Any:
    """What a model in memory says about samples.

    Parameters
    ----------
    model : estimator
        Fitted.
    method : str
        Its method.
    X : dask array or frame, or array-like, of shape (n_samples, n_features)
        Samples.
    dtype : dtype
        Of the result.
    n_columns : int, default=None
        Columns of the result; ``None`` for one dimension.

    Returns
    -------
    dask array or ndarray
        Lazy where the samples are.
    """
    if is_array(X):
        X = X.rechunk({1: -1})
        shape = {"drop_axis": 1} if n_columns is None else {"chunks": (X.chunks[0], (n_columns,))}
        meta = np.empty((0,) * (1 if n_columns is None else 2), dtype=dtype)
        return X.map_blocks(_said, model=model, method=method, dtype=dtype, meta=meta, **shape)
    if is_frame(X):
        import dask.array as da
        from dask.delayed import delayed

        ask, shape = delayed(_said, pure=False), (np.nan,) if n_columns is None else (np.nan, n_columns)
        whole = delayed(model, traverse=False)
        parts = [ask(part, model=whole, method=method) for part in X.to_delayed()]
        return da.concatenate([da.from_delayed(part, shape, dtype) for part in parts], allow_unknown_chunksizes=True)
    return getattr(model, method)(X)


def _said(X: Samples, *, model: Estimator, method: str) -> Array:
    """What the model says about one partition; an empty one is not asked about."""
    if X.shape[0]:
        return getattr(model, method)(X)
    return np.empty((0, 2)) if method.endswith("proba") else np.empty(0, dtype=model.classes_.dtype)


def profile_of(model: Estimator, data: DaskData) -> ErrorProfile:
    """Errors of a model in memory on collections, in one pass.

    Parameters
    ----------
    model : CostSearch
        Fitted.
    data : DaskData
        Samples, labels and weights.

    Returns
    -------
    ErrorProfile
        The errors.
    """
    (tn, fp), (fn, tp) = data.reduced(_Judged(model), partial(np.sum, axis=0)).tolist()
    return ErrorProfile.from_counts(tp=tp, fp=fp, fn=fn, tn=tn)


@dataclass(frozen=True, eq=False)
class _Judged:
    """Weights of one partition by truth and prediction."""

    model: Estimator

    def __call__(self, part: RawPart) -> Array:
        known = np.isin(part.y, self.model.classes_)
        if not known.all():
            unknown = part.y[~known].tolist()[0]
            raise ValueError(f"y holds the label {unknown!r}, the search knows {self.model.classes_.tolist()}")
        predicted = _said(part.X, model=self.model, method="predict")
        cells = 2 * (part.y == self.model.pos_label_) + (predicted == self.model.pos_label_)
        return np.bincount(cells, weights=part.weight, minlength=4).reshape(2, 2).astype(np.float64)
