"""Encoders before linear models of data in parts: the categories of all rows, and scalers of some columns."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from csf._common.sklearn import clone, safe_indexing
from csf._common.typing import Array, Estimator, Samples
from csf.distributed.newton import Moments, Scaling, is_scaler

# Columns that an encoder makes at most: more are identifiers, whose categories grow with the rows.
MOST_COLUMNS = 1 << 14


class _OneHot(ColumnTransformer):
    """OneHotEncoder of all columns."""


def encoder_of(base: Estimator) -> ColumnTransformer | None:
    """Return the encoder that a pipeline starts with, else ``None``; raise a TypeError where parts cannot fit it."""
    if not isinstance(base, Pipeline) or not isinstance(base[0], OneHotEncoder | ColumnTransformer):
        return None
    encoder = clone(base[0])
    if isinstance(encoder, OneHotEncoder):
        encoder = _OneHot([(base.steps[0][0], encoder, slice(0, None))])
    if len(base) != 2 or encoder.transformer_weights:
        raise TypeError(
            "on partitions the linear model comes right after the encoder, scalers are in its ColumnTransformer, and "
            f"transformer_weights is None, got {base!r}"
        )
    _coder(encoder)
    return encoder


def _coder(encoder: ColumnTransformer) -> ColumnTransformer:
    """Return an encoder that leaves out the scalers, and makes sparse rows."""
    steps = [(name, _unscaled(step), columns) for name, step, columns in encoder.transformers]
    return ColumnTransformer(steps, remainder=_unscaled(encoder.remainder), sparse_threshold=1.0)


def _unscaled(step: Estimator) -> Estimator:
    """Return a step that makes the same columns without scaling; raise a TypeError where parts cannot fit it."""
    if is_scaler(step) or (isinstance(step, str) and step in ("drop", "passthrough")):
        return "passthrough" if is_scaler(step) else step
    if isinstance(step, OneHotEncoder) and step.handle_unknown in ("error", "ignore"):
        limits = step.drop, step.min_frequency, step.max_categories
        if limits == (None, None, None):
            return clone(step).set_params(sparse_output=True)
    raise TypeError(
        "before a linear model on partitions are OneHotEncoder (handle_unknown 'error' or 'ignore', without drop, "
        "min_frequency and max_categories), StandardScaler, MinMaxScaler, MaxAbsScaler, 'passthrough' and 'drop', got "
        f"{step!r}; do the rest in the collection before the search, or use csf.CostSearch on data in memory"
    )


def rows_of_categories(parts: Sequence[Samples], encoder: ColumnTransformer) -> Samples:
    """Select rows of some parts that have all categories; raise a TypeError or ValueError for unsuitable samples."""
    import pandas  # which Dask's frames need

    full = [part for part in parts if part.shape[0]]
    if not full:
        return parts[0]
    if sparse.issparse(full[0]):
        raise TypeError("an encoder on partitions takes frames and dense arrays, got sparse ones")
    X: Samples = pandas.concat(full, ignore_index=True) if hasattr(full[0], "iloc") else np.concatenate(full)
    codes: Samples = _coder(encoder).fit_transform(X)
    if codes.shape[1] > MOST_COLUMNS:
        raise ValueError(
            f"the encoder makes {codes.shape[1]} columns, and on partitions at most {MOST_COLUMNS}: drop columns that "
            "identify rows, and join rare categories"
        )
    places = np.unique(codes.argmax(axis=0))
    return safe_indexing(X, places)


class Encoding:
    """Encoder with the categories of all rows, which it learns of ``rows`` that have them all.

    Its columns, with ``names``, are the same for all folds. A category that a training part lacks is a column of zeros
    there, whose coefficient is 0, as if the encoder of that part ignored it.
    """

    def __init__(self, encoder: ColumnTransformer, rows: Samples) -> None:
        self._encoder, self._rows, self._coder = encoder, rows, _coder(encoder).fit(rows)
        self.names: Array = self._coder.get_feature_names_out()

    @cached_property
    def _fitted(self) -> ColumnTransformer:
        return clone(self._encoder).fit(self._rows)

    def coded(self, X: Samples) -> Samples:
        """Encode rows, whose columns are not scaled."""
        return self._coder.transform(X) if X.shape[0] else np.empty((0, self.names.size))

    def scaling(self, trained: Moments, held_out: Moments | None, constant: float) -> Scaling:
        """Fit the encoder to rows of these moments; raise a ValueError for categories of held-out rows alone."""
        slope, shift = np.ones(self.names.size), np.zeros(self.names.size)
        fitted, steps = copy(self._fitted), []
        for name, step, columns in fitted.transformers_:
            columns_made = fitted.output_indices_[name]
            if is_scaler(step) and columns_made.stop > columns_made.start:
                names = getattr(step, "feature_names_in_", None)
                scaled = Scaling.of([step], trained.of_columns(columns_made), constant, names)
                (step,), slope[columns_made], shift[columns_made] = scaled.scalers, scaled.slope, scaled.shift
            elif isinstance(step, OneHotEncoder) and held_out is not None:
                _check_known(step, self.names[columns_made], trained.high[columns_made], held_out.high[columns_made])
            steps.append((name, step, columns))
        fitted.transformers_ = steps
        return Scaling([steps[0][1] if isinstance(fitted, _OneHot) else fitted], slope, shift)


def _check_known(step: OneHotEncoder, names: Array, trained: Array, held_out: Array) -> None:
    """Raise a ValueError where the encoder of a training part would not know a category that is held out."""
    unknown = names[(trained == 0.0) & (held_out > 0.0)]
    if unknown.size and step.handle_unknown == "error" and isinstance(step.categories, str):
        raise ValueError(
            f"a fold has categories that no row outside it has, {unknown[:5].tolist()}, so that the encoder of its "
            "training part would not know them; use OneHotEncoder(handle_unknown='ignore'), or give its categories"
        )
