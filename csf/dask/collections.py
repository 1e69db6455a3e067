"""Dask collections as parts that belong together: rows, labels, weights and fold numbers of the same samples."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from csf._common.typing import Array, IntArray, Label, Samples
from csf.cluster.folds import hash_folds
from csf.cluster.newton import Part
from csf.dask.watch import with_any_worker

__all__ = ["FAN_IN", "ChangedRows", "DaskData", "Mark", "RawPart", "is_array", "is_frame", "matrix", "require_dask"]

# Parts whose results are merged at a time.
FAN_IN = 8
# Rows, about, whose features are compared with those of the first read, and what rounding may change of their sum.
_COMPARED, _ROUNDING = 64, 1e-3
# Names of columns in a message.
_NAMED = 5


def require_dask() -> None:
    """Raise an ImportError that names the extra where Dask, its frames or its arrays are missing."""
    try:
        import dask.array
        import dask.dataframe  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"searching on Dask collections needs Dask with its arrays and frames ({error}): "
            "pip install 'csf-search[dask]'"
        ) from error


def is_array(value: Any) -> bool:
    """Whether a value is a Dask array."""
    import dask.array as da

    return isinstance(value, da.Array)


def is_frame(value: Any) -> bool:
    """Whether a value is a Dask frame or series."""
    import dask.dataframe as dd

    return isinstance(value, dd.DataFrame | dd.Series)


class ChangedRows(RuntimeError):
    """A partition is not what it was at the first read: no training and no score means anything then."""


class Mark(NamedTuple):
    """By what a partition is known again: its labels and folds to the bit, the features of some rows about."""

    labels: int
    features: float

    def differs(self, other: Mark) -> str:
        """What differs, or nothing."""
        if self.labels != other.labels:
            return "labels and folds"
        # Not to the bit: where features are computed, workers of another kind round them in another way.
        return "" if isclose(self.features, other.features, rel_tol=_ROUNDING) else "features"


@dataclass(frozen=True, eq=False)
class RawPart:
    """One partition as the user's collections hold it: its number, samples, labels, weights and folds."""

    index: int
    X: Samples
    y: Array
    weight: Array | None
    fold: Array

    def rows(self, at: IntArray) -> Samples:
        """Samples at some places."""
        return self.X.iloc[at] if hasattr(self.X, "iloc") else self.X[at]

    @property
    def mark(self) -> Mark:
        """See `Mark`."""
        from pandas import util

        hash_array: Any = util.hash_array
        rows = self.rows(np.arange(0, self.y.size, max(self.y.size // _COMPARED, 1)))
        rows = matrix(rows.select_dtypes("number") if hasattr(rows, "columns") else rows)
        rows = abs(sparse.csr_array(rows, dtype=np.float64))
        rows.data = np.nan_to_num(rows.data, nan=0.0, posinf=0.0)
        # Weights by place, spread over (0, 1), so that an exchange of rows or columns shows.
        of_rows, of_columns = (np.arange(1, n + 1) * 0.6180339887498949 % 1.0 for n in rows.shape)
        labels = zlib.crc32(np.ascontiguousarray(self.fold).tobytes(), zlib.crc32(hash_array(self.y).tobytes()))
        return Mark(labels, float(of_rows @ (rows @ of_columns)))

    def coded(self, pos_label: Label) -> Part:
        """The part with a matrix, and with codes for labels, for the linear solvers."""
        return Part(matrix(self.X), self.y == pos_label, self.weight, self.fold)


def matrix(X: Samples) -> Any:
    """Samples of one partition as a CSR matrix or an array of float32 or float64; a TypeError for other columns."""
    if sparse.issparse(X):
        return X.tocsr()
    try:
        values = X.to_numpy(dtype=None, na_value=np.nan) if hasattr(X, "to_numpy") else np.asarray(X)
        return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        # A frame of texts and numbers does not say which column it was.
        others = list(X.select_dtypes(exclude=["number", "bool"]))[:_NAMED] if hasattr(X, "columns") else "others"
        raise TypeError(
            f"samples must be columns of numbers ({error}); encode {others} in the collection before the search, e.g. "
            "with dask.dataframe.get_dummies, or leave them out"
        ) from None


@dataclass(frozen=True, eq=False)
class DaskData:
    """Collections of the same samples, part by part.

    Without ``folds`` these are those of a hash with the seed: ``cv`` of them, or one that holds out that share. With
    ``marks``, those of a first read, each partition that is no longer what it was then is an error.
    """

    X: Any
    y: Any
    weight: Any
    folds: Any
    cv: int | float
    seed: int
    marks: Mapping[int, Mark] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check("X", self.X, 2)
        _check("y", self.y, 1)
        for name, value in (("sample_weight", self.weight), ("folds", self.folds)):
            if value is not None:
                _check(name, value, 1)

    @cached_property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @cached_property
    def feature_names(self) -> Array | None:
        """Names of the features of a frame, where all are texts."""
        names = list(getattr(self.X, "columns", ()))
        return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None

    @cached_property
    def parts(self) -> list[Any]:
        """Delayed `RawPart` of each partition; nothing is read before they are asked for."""
        from dask.delayed import delayed

        rows = self.X if is_frame(self.X) else self.X.rechunk({1: -1})
        blocks = _delayed(rows)
        columns = [_aligned(*pair, rows) for pair in (("y", self.y), ("sample_weight", self.weight))]
        columns.append(_aligned("folds", self.folds, rows))
        expected = list(self.X.columns) if is_frame(self.X) else self.n_features
        make = delayed(_Reader(expected, self.cv, self.seed), pure=False, traverse=False)
        return [
            make(index, X, y, weight, fold, self.marks.get(index))
            for index, (X, y, weight, fold) in enumerate(zip(blocks, *columns, strict=True))
        ]

    def reduced(self, of_part: Callable[[RawPart], Any], of_results: Callable[[Sequence[Any]], Any]) -> Any:
        """Run a function on each part, where that part is, and merge the results in order, a few at a time."""
        from dask.delayed import delayed

        # What a function brings with it, such as edges and coefficients, is one node of the graph for all parts.
        function, merge = delayed(of_part, traverse=False), delayed(of_results, traverse=False)
        call = delayed(_call, pure=False)
        results = [call(function, part) for part in self.parts]
        while len(results) > 1:
            groups = [results[start : start + FAN_IN] for start in range(0, len(results), FAN_IN)]
            results = [call(merge, group) if len(group) > 1 else group[0] for group in groups]
        return with_any_worker(results[0].compute, first=not self.marks)


def _check(name: str, value: Any, ndim: int) -> None:
    """Raise an error for what is no Dask collection of so many dimensions."""
    if not (is_array(value) or is_frame(value)):
        raise TypeError(
            f"{name} must be a Dask {'array or frame' if ndim == 2 else 'array or series'}, got a "
            f"{type(value).__name__}; for data in memory use csf.CostSearch, or dask.array.from_array({name}, ...)"
        )
    if value.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)}, got {value.ndim}")


def _call(function: Callable[[Any], Any], argument: Any) -> Any:
    return function(argument)


def _delayed(collection: Any) -> list[Any]:
    """One delayed value for each partition."""
    if is_frame(collection):
        # Full optimisation joins small partitions, those of one column more than those of all others.
        return collection.simplify().to_delayed(optimize_graph=False)
    return list(collection.to_delayed().ravel())


def _aligned(name: str, value: Any, rows: Any) -> list[Any]:
    """Partitions of a column that are those of the samples."""
    n_parts = rows.npartitions
    if value is None:
        return [None] * n_parts
    if is_array(value) and is_array(rows):
        known, own = rows.chunks[0], value.chunks[0]
        if not np.isnan([*known, *own]).any():
            if sum(known) != sum(own):
                raise ValueError(f"X has {sum(known)} rows, {name} {sum(own)}: they must be those of the same samples")
            value = value if own == known else value.rechunk((known,))
    if value.npartitions != n_parts:
        raise ValueError(
            f"X has {n_parts} partitions and {name} {value.npartitions}, and their rows cannot be matched without "
            f"their lengths; give {name} the partitions of X, e.g. with repartition or compute_chunk_sizes"
        )
    return _delayed(value)


@dataclass(frozen=True, eq=False)
class _Reader:
    """Makes a part of its pieces, and checks that they belong together and to the collections."""

    # Of a frame; the number of those of an array.
    columns: list[Any] | int
    cv: int | float
    seed: int

    def __call__(self, index: int, X: Samples, y: Any, weight: Any, fold: Any, mark: Mark | None) -> RawPart:
        _check_columns(index, X, self.columns)
        n_rows, y = X.shape[0], np.asarray(y)
        weight = None if weight is None else np.asarray(weight, dtype=np.float64)
        fold = hash_folds(index, n_rows, self.cv, self.seed) if fold is None else np.asarray(fold)
        for name, values in (("y", y), ("sample_weight", weight), ("folds", fold)):
            if values is not None and values.shape != (n_rows,):
                raise ValueError(
                    f"in partition {index} X has {n_rows} rows and {name} {values.shape[0]}: their partitions must "
                    "hold the same samples"
                )
        part = RawPart(index, X, y, weight, fold)
        if mark is not None and (what := mark.differs(part.mark)):
            raise ChangedRows(
                f"the {what} of partition {index} are not those of the first read: its source gives other rows, or "
                "the same ones in another order, each time that it is read, and a search reads it many times. Persist "
                "the collections (X, y = dask.persist(X, y)) or write them down and read that; or sort a query, and "
                "give random numbers a seed"
            )
        return part


def _check_columns(index: int, X: Samples, expected: list[Any] | int) -> None:
    given = X.shape[1] if isinstance(expected, int) else list(X.columns)
    if given == expected:
        return
    if isinstance(expected, int):
        what = f"{given} columns in place of {expected}"
    else:
        apart = [name for name in [*expected, *given] if (name in given) != (name in expected)]
        what = f"other columns, which differ in {apart[:_NAMED]}" if apart else f"another order, {given[:_NAMED]}"
    raise ValueError(
        f"partition {index} of X has {what}; give all partitions the columns of X, in the same order, e.g. read files "
        "with columns=[...]"
    )
