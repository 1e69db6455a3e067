"""Predictions for collections: computed partition by partition when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from csf._common.typing import Array, Samples
from csf.dask.collections import DaskData, RawPart, is_array, is_frame
from csf.dask.survey import check_labels_given
from csf.metrics.profile import ErrorProfile
from csf.thresholding.rule import ThresholdRule

__all__ = ["mapped", "profile_of"]


def mapped(rule: ThresholdRule, method: str, X: Samples, *, dtype: Any, n_columns: int | None = None) -> Any:
    """What a method of a rule says about samples, lazy where these are; ``n_columns=None`` for one dimension."""
    columns = () if n_columns is None else (n_columns,)
    ask = _Asked(rule, method, np.empty((0, *columns), dtype=dtype))
    if is_array(X):
        X = X.rechunk({1: -1})
        shape = {"drop_axis": 1} if n_columns is None else {"chunks": (X.chunks[0], columns)}
        return X.map_blocks(ask, dtype=dtype, meta=ask.empty, **shape)
    if is_frame(X):
        import dask.array as da
        from dask.delayed import delayed

        whole = delayed(ask, pure=False, traverse=False)
        parts = [da.from_delayed(whole(part), (np.nan, *columns), dtype) for part in X.to_delayed()]
        return da.concatenate(parts, allow_unknown_chunksizes=True)
    return getattr(rule, method)(X)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a rule says about one partition; an empty one is not asked about, as some libraries refuse it."""

    rule: ThresholdRule
    method: str
    empty: Array

    def __call__(self, X: Samples) -> Array:
        return getattr(self.rule, self.method)(X) if X.shape[0] else self.empty


def profile_of(rule: ThresholdRule, data: DaskData) -> ErrorProfile:
    """Errors of a rule on collections, in one pass."""
    (tn, fp), (fn, tp) = data.reduced(partial(_judged, rule=rule), partial(np.sum, axis=0)).tolist()
    return ErrorProfile.from_counts(tp=tp, fp=fp, fn=fn, tn=tn)


def _judged(part: RawPart, *, rule: ThresholdRule) -> Array:
    """Weights of one partition by truth and prediction."""
    check_labels_given(part)
    known = np.isin(part.y, rule.names)
    if not known.all():
        raise ValueError(f"y holds the label {part.y[~known].tolist()[0]!r}, the search knows {sorted(rule.names)}")
    predicted = _Asked(rule, "predict", rule.names[:0])(part.X)
    cells = 2 * (part.y != rule.null) + (predicted != rule.null)
    return np.bincount(cells, weights=part.weight, minlength=4).reshape(2, 2).astype(np.float64)
