"""Dask collections as parts that belong together, passes over them, and the survey by the first pass."""

from __future__ import annotations

import logging
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from csf._common.dtypes import is_float, is_integer, is_object, is_text
from csf._common.sklearn import safe_indexing
from csf._common.typing import Array, IntArray, Keywords, Label, Params, Samples, Values
from csf._common.validation import warn_of_moved_rows
from csf.distributed.engine import hash_folds
from csf.distributed.newton import Moments
from csf.distributed.survey import MOST_CLASSES, Cell, Columns, Mark, Survey
from csf.search.workers import QUIET, WAITS, idle_reason, working

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from dask.dataframe import Series
    from dask.delayed import Delayed
    from distributed import Client

    from csf.data.labels import Labels
    from csf.metrics.row_costs import CostTable, RowCosts

# ---------------------------------------------------------------- a cluster that loses its workers


# Seconds between looks at the cluster, and those for which a pass waits until a worker takes tasks again; after Ctrl-C,
# which at a terminal ends the workers of a LocalCluster too.
_LOOK, _RETURN, HURRY = 1.0, 120.0, 5.0
_GO_ON = "with checkpoint= the search goes on where it was when it is fitted again"
_LOGGER = logging.getLogger("csf")


In = TypeVar("In")
Out = TypeVar("Out")
# A column of a collection.
Column: TypeAlias = "DaskArray | Series"


class LostWorkers(RuntimeError):
    """Error that no worker of the cluster was active for too long."""


def watched_pass(ask: Callable[[], Out], *, first: bool, patience: float | None = None) -> Out:
    """Run a pass; raise a RuntimeError if no worker is active for ``patience`` seconds, or a partition ends them.

    Before the ``first`` pass, the first workers may take as long to start as Dask allows.
    """
    from dask.base import get_scheduler

    # Other schedulers of Dask are functions, and have no workers to lose.
    client: Client | None = getattr(get_scheduler(), "__self__", None)
    if client is None or not hasattr(client, "scheduler_info"):
        return ask()
    from distributed import CancelledError, KilledWorker

    with _Watch(client, patience, waits=first) as watch:
        try:
            return ask()
        except KilledWorker as error:
            raise RuntimeError(
                "workers ended while they read a partition; give the workers more memory or smaller partitions "
                f"(rechunk, repartition), and see their logs; {_GO_ON}. {error}"
            ) from error
        except CancelledError as error:
            if client.status == "running" and watch.is_lost():
                raise LostWorkers(
                    f"no worker was at work for {watch.patience:g} s. {idle_reason(watch.workers)}; {_GO_ON}. A "
                    "LocalCluster gives up workers that take longer to start than "
                    "'distributed.deploy.lost-worker-timeout' of Dask's configuration: raise it where that is so"
                ) from error
            raise RuntimeError(
                "a pass over the data was cancelled: the scheduler was lost or restarted; connect a client, make the "
                f"collections again, and fit again; {_GO_ON}"
            ) from error


def watched_training(client: Client, train: Callable[[], Out], *, patience: float | None = None) -> Out | Exception:
    """Run a training that needs all workers to its end; return its result or error. A lost worker is a RuntimeError."""
    with _Watch(client, patience, needs_all=True) as watch:
        try:
            return train()
        except Exception as error:
            # The libraries raise many kinds of errors for a lost worker, some of them before the scheduler knows.
            end = time.monotonic() + _LOOK
            while not (lost := watch.is_lost()) and time.monotonic() < end:
                time.sleep(_LOOK / 10)
            if lost:
                raise RuntimeError(
                    "a worker was lost during a training that needs all of them until its end. Others may still wait "
                    f"for it: restart the cluster; {_GO_ON}"
                ) from error
            return error


class _Watch:
    """Watchdog of the workers while a task runs, which cancels the task's requests if they are lost.

    Workers are lost once none of them has been active for a while or, for a training that ``needs_all``, once one of
    those at the start is missing in two looks in a row: the client would wait for ever. If it ``waits`` for the first
    worker, none is lost before one has started.
    """

    def __init__(self, client: Client, patience: float | None, *, needs_all: bool = False, waits: bool = False) -> None:
        self._client, self._needs_all = client, needs_all
        self.patience = _RETURN if patience is None else patience
        self.workers, self._others = working(client), set(client.futures)
        self._started_with, self._over, self._lacks_one = set(self.workers), threading.Event(), False
        self._last_seen = inf if waits and not self.workers else time.monotonic()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def is_lost(self) -> bool:
        """Check whether the task would wait for ever."""
        self.workers, now = working(self._client), time.monotonic()
        if self.workers:
            self._last_seen = now if any(self.workers.values()) else min(self._last_seen, now)
        lacked, self._lacks_one = self._lacks_one, self._needs_all and not self._started_with <= set(self.workers)
        return (lacked and self._lacks_one) or now - self._last_seen >= self.patience

    def _look(self) -> None:
        from distributed import Future

        idle = 0
        while not self._over.wait(_LOOK):
            # Without a scheduler all is cancelled already. Libraries may be between two requests: look again.
            with suppress(OSError):
                if self.is_lost() and not self._over.is_set():
                    asked = set(self._client.futures) - self._others
                    self._client.cancel([Future(key, self._client) for key in asked])
            reason = idle_reason(self.workers)
            idle = idle + 1 if reason else 0
            if idle == QUIET // _LOOK:
                # No warning: it is another thread, in which one that is an error would be lost.
                _LOGGER.warning("%s. %s", reason, WAITS)


# ---------------------------------------------------------------- partitions


# Parts whose results are merged at a time.
FAN_IN = 8
# Rows, about, whose features are compared with those of the first read.
_COMPARED = 64
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


def is_array(value: object) -> bool:
    """Check whether a value is a Dask array."""
    import dask.array as da

    return isinstance(value, da.Array)


def is_frame(value: object) -> bool:
    """Check whether a value is a Dask frame or series."""
    import dask.dataframe as dd

    return isinstance(value, dd.DataFrame | dd.Series)


class ChangedRows(RuntimeError):
    """Error that a partition differs from its first read, so that no training and no score is valid."""


@dataclass(frozen=True, eq=False)
class RawPart:
    """Partition as the user's collections hold it: its number, samples, labels, weights, folds and costs."""

    index: int
    X: Samples
    y: Array
    weight: Array | None
    fold: Array
    # Of each row, where the metric is costs of rows.
    costs: CostTable | None = None
    # Labels of the rows of weight 0, which are left out.
    weightless: Array | None = None

    def take(self, places: IntArray) -> RawPart:
        """Return the part of the rows at these places."""
        weight = None if self.weight is None else self.weight[places]
        costs = None if self.costs is None else self.costs.take(places)
        return RawPart(self.index, safe_indexing(self.X, places), self.y[places], weight, self.fold[places], costs)

    def weighed(self, weight: Array) -> RawPart:
        """Return the part with other weights."""
        return replace(self, weight=weight)

    @property
    def mark(self) -> Mark:
        """Fingerprint of the partition, see `Mark`."""
        from pandas import util

        hash_array: Any = util.hash_array
        rows = safe_indexing(self.X, np.arange(0, self.y.size, max(self.y.size // _COMPARED, 1)))
        frame = _with_texts(rows)
        rows = abs(sparse.csr_array(matrix(rows if frame is None else frame.select_dtypes("number")), dtype=np.float64))
        rows.data = np.nan_to_num(rows.data, nan=0.0, posinf=0.0)
        # Weights by place, spread over (0, 1), so that an exchange of rows or columns shows.
        of_rows, of_columns = (np.arange(1, n + 1) * 0.6180339887498949 % 1.0 for n in rows.shape)
        labels = zlib.crc32(np.ascontiguousarray(self.fold).tobytes(), zlib.crc32(hash_array(self.y).tobytes()))
        if frame is not None:
            labels = zlib.crc32(_hashes(frame.select_dtypes(exclude=["number"]), index=False).tobytes(), labels)
        return Mark(labels, float(of_rows @ (rows @ of_columns)))

    def table(self) -> CostTable:
        """Return the costs of the rows."""
        assert self.costs is not None, "asked for where the metric is costs of rows"
        return self.costs


def truth_of(y: Array, labels: Labels) -> Array:
    """Return which labels are positive, or the codes of their classes where there are several."""
    # By equality: labels that are equal may be of several types in several partitions.
    return y == labels.positive if labels.n_alike is None else np.argmax(y[:, None] == labels.classes, axis=1)


def _with_texts(X: Samples) -> Samples:
    """Return samples as a frame where columns may be no numbers, else ``None``."""
    import pandas

    if hasattr(X, "columns"):
        return X
    return pandas.DataFrame(X) if (is_object(X) or is_text(X)) else None


def _hashes(values: Values, **options: bool) -> IntArray:
    """Compute a hash of each row of a frame, or of each value of an index."""
    from pandas import util

    hash_of: Any = util.hash_pandas_object
    return hash_of(values, **options).to_numpy()


def matrix(X: Samples) -> Samples:
    """Convert samples to a CSR matrix or an array of float32 or float64; raise a TypeError for other columns."""
    if sparse.issparse(X):
        return X.tocsr()
    try:
        values = X.to_numpy(dtype=None, na_value=np.nan) if hasattr(X, "to_numpy") else np.asarray(X)
        return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        # A frame of texts and numbers does not say which column it was.
        others = list(X.select_dtypes(exclude=["number", "bool"]))[:_NAMED] if hasattr(X, "columns") else "others"
        raise TypeError(
            f"samples must be columns of numbers ({error}); encode {others}, e.g. by a ColumnTransformer with "
            "OneHotEncoder before a linear model, or leave them out"
        ) from None


@dataclass(frozen=True, eq=False)
class DaskData:
    """Collections of the same samples, part by part.

    Without ``folds``, rows are hashed with the seed to ``cv`` folds, or to one that holds out that share. With the
    ``marks`` of a first read, a partition that has changed since is an error. ``thinned`` are the parts of a sample.
    """

    X: Samples
    y: Column
    weight: Column | None = None
    folds: Column | None = None
    cv: int | float = 2
    seed: int = 0
    # Costs of rows, where these are the metric, and those of them that were given as columns.
    costs: RowCosts | None = None
    given: Mapping[str, Column] = field(default_factory=dict)
    marks: Mapping[int, Mark] = field(default_factory=dict)
    # Parts that are no longer those of the collections.
    thinned: Sequence[Delayed] | None = None
    # Seconds for which passes wait until a worker is at work; ``None`` for the usual ones.
    patience: float | None = None

    def __post_init__(self) -> None:
        _check("X", self.X, 2)
        _check("y", self.y, 1)

    @cached_property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @cached_property
    def feature_names(self) -> Array | None:
        """Names of the features of a frame if all are texts, else ``None``."""
        names = list(getattr(self.X, "columns", ()))
        return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None

    @property
    def features(self) -> Params:
        """Attributes of a search that describe the features."""
        named = {} if self.feature_names is None else {"feature_names_in_": self.feature_names}
        return {"n_features_in_": self.n_features, **named}

    @cached_property
    def parts(self) -> list[Delayed]:
        """Delayed `RawPart` of each partition; nothing is read before they are computed."""
        from dask.delayed import delayed

        if self.thinned is not None:
            return list(self.thinned)
        expected = list(self.X.columns) if is_frame(self.X) else self.n_features
        reader = _Reader(expected, self.cv, self.seed, self.costs, tuple(self.given))
        make = delayed(reader, pure=False, traverse=False)
        return [make(index, self.marks.get(index), *pieces) for index, pieces in enumerate(self.pieces)]

    @cached_property
    def pieces(self) -> list[tuple[Delayed | None, ...]]:
        """Delayed samples, labels, weights, folds and given costs of each partition, as the collections hold them."""
        return pieces_of(self.X, {"y": self.y, "sample_weight": self.weight, "folds": self.folds, **self.given})

    def of_parts(self, parts: Sequence[Delayed]) -> DaskData:
        """Return the data that consist of other parts."""
        return replace(self, thinned=parts)

    def changed(self, of_part: Callable[[RawPart], RawPart]) -> DaskData:
        """Return the data with other parts, which are made when they are read."""
        from dask.delayed import delayed

        function, call = delayed(of_part, traverse=False), delayed(_call, pure=False)
        return self.of_parts([call(function, part) for part in self.parts])

    def sampled(self, of_part: Callable[[RawPart], RawPart]) -> DaskData:
        """Return the data with fewer rows in each part, kept on the workers."""
        from dask.base import persist

        fewer = self.changed(of_part).parts
        return self.of_parts(watched_pass(lambda: persist(*fewer), first=not self.marks))

    def reduced(self, of_part: Callable[[RawPart], Out], of_results: Callable[[Sequence[Out]], Out]) -> Out:
        """Run a function on each part, where that part is stored, and merge the results in order, a few at a time."""
        from dask.base import compute
        from dask.delayed import delayed

        # What a function brings with it, such as edges and coefficients, is one node of the graph for all parts.
        function, merge = delayed(of_part, traverse=False), delayed(of_results, traverse=False)
        call = delayed(_call, pure=False)
        results = [call(function, part) for part in self.parts]
        while len(results) > 1:
            groups = [results[start : start + FAN_IN] for start in range(0, len(results), FAN_IN)]
            results = [call(merge, group) if len(group) > 1 else group[0] for group in groups]
        is_first = not self.marks and self.thinned is None
        moves = [delayed(_moved)(*pieces) for pieces in self.pieces] if is_first and is_frame(self.X) else []
        result, *differences = watched_pass(
            lambda: compute(results[0], *moves), first=not self.marks, patience=self.patience
        )
        sums: Values = np.sum(differences, axis=0) if differences else ()
        for name, (difference, differs) in zip(("y", "sample_weight", "folds", *self.given), sums):
            if differs and difference % 2**64 == 0:
                way = f"join {name} to X by it before the two are separated"
                warn_of_moved_rows(name, "X", way, f"{name}.reset_index(drop=True)")
        return result


def pieces_of(X: Samples, columns: Mapping[str, Column | None]) -> list[tuple[Delayed | None, ...]]:
    """Return delayed samples of each partition with the columns of the same rows."""
    rows = X if is_frame(X) else X.rechunk({1: -1})
    return list(zip(_delayed(rows), *(_aligned(name, column, rows) for name, column in columns.items()), strict=True))


def _moved(X: Samples, *columns: Samples) -> Array:
    """Return each column's difference to X in the hash of its pandas index, and whether the indexes differ.

    Over all partitions, the differences sum to 0, modulo 2^64, if both have the same rows in any order.
    """
    indexes = [getattr(column, "index", X.index) for column in columns]
    pairs = [(int(_hashes(index).sum()) - int(_hashes(X.index).sum()), not index.equals(X.index)) for index in indexes]
    return np.array(pairs, dtype=object)


def _check(name: str, value: Samples, ndim: int) -> None:
    """Raise an error unless a value is a Dask collection of so many dimensions."""
    if not (is_array(value) or is_frame(value)):
        raise TypeError(
            f"{name} must be a Dask {'array or frame' if ndim == 2 else 'array or series'}, got a "
            f"{type(value).__name__}; for data in memory use csf.CostSearch, or dask.array.from_array({name}, ...)"
        )
    if value.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)}, got {value.ndim}")


def _call(function: Callable[[In], Out], argument: In) -> Out:
    return function(argument)


def _delayed(collection: Samples) -> list[Delayed]:
    """Return one delayed value for each partition."""
    if is_frame(collection):
        # Full optimisation joins small partitions, those of one column more than those of all others.
        return collection.simplify().to_delayed(optimize_graph=False)
    return list(collection.to_delayed().ravel())


def _aligned(name: str, value: Samples, rows: Samples) -> Sequence[Delayed | None]:
    """Return the partitions of a column, aligned with those of the samples."""
    n_parts = rows.npartitions
    if value is None:
        return [None] * n_parts
    _check(name, value, 1)
    if is_array(value) and is_array(rows):
        known, chunks = rows.chunks[0], value.chunks[0]
        if not np.isnan([*known, *chunks]).any():
            if sum(known) != sum(chunks):
                raise ValueError(
                    f"X has {sum(known)} rows, {name} {sum(chunks)}: they must be those of the same samples"
                )
            value = value if chunks == known else value.rechunk((known,))
    if value.npartitions != n_parts:
        raise ValueError(
            f"X has {n_parts} partitions and {name} {value.npartitions}, and their rows cannot be matched without "
            f"their lengths; give {name} the partitions of X, e.g. with repartition or compute_chunk_sizes"
        )
    return _delayed(value)


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reader that makes a part of its pieces, and checks that they match each other and the collections."""

    # Of a frame; the number of those of an array.
    columns: list[Label] | int
    cv: int | float
    seed: int
    costs: RowCosts | None
    names: tuple[str, ...]

    def __call__(
        self,
        index: int,
        mark: Mark | None,
        X: Samples,
        y: Array,
        weight: Array | None,
        fold: Array | None,
        *given: Array,
    ) -> RawPart:
        _check_columns(index, X, self.columns)
        n_rows, y = X.shape[0], np.asarray(y)
        weight = None if weight is None else np.asarray(weight, dtype=np.float64)
        fold = hash_folds(index, n_rows, self.cv, self.seed) if fold is None else np.asarray(fold)
        costs = {name: np.asarray(cost) for name, cost in zip(self.names, given)}
        for name, values in (("y", y), ("sample_weight", weight), ("folds", fold), *costs.items()):
            if values is not None and values.shape != (n_rows,):
                raise ValueError(
                    f"in partition {index} X has {n_rows} rows and {name} {values.shape[0]}: their partitions must "
                    "hold the same samples"
                )
        weightless = None
        if weight is not None and not weight.all():
            kept, weightless = np.flatnonzero(weight), y[weight == 0.0]
            X, y, weight, fold = safe_indexing(X, kept), y[kept], weight[kept], fold[kept]
            costs = {name: cost[kept] for name, cost in costs.items()}
        part = RawPart(index, X, y, weight, fold, self._table(index, X, costs), weightless)
        if mark is not None and (what := mark.differs(part.mark)):
            raise ChangedRows(
                f"the {what} of partition {index} are not those of the first read: its source gives other rows, or "
                "the same ones in another order, each time that it is read, and a search reads it many times. Persist "
                "the collections (X, y = dask.persist(X, y)) or write them down and read that; or sort a query, and "
                "give random numbers a seed"
            )
        return part

    def _table(self, index: int, X: Samples, given: Mapping[str, Array]) -> CostTable | None:
        """Compute the costs of the rows; say of which partition they are where they cannot be."""
        if self.costs is None:
            return None
        try:
            return self.costs.table(X, n_rows=X.shape[0], **given)
        except (TypeError, ValueError) as error:
            raise type(error)(f"in partition {index} {error}") from None


def _check_columns(index: int, X: Samples, expected: list[Label] | int) -> None:
    given = X.shape[1] if isinstance(expected, int) else list(X.columns)
    if given == expected:
        return
    if isinstance(expected, int):
        what = f"{given} columns in place of {expected}"
    else:
        different = [name for name in [*expected, *given] if (name in given) != (name in expected)]
        what = (
            f"other columns, which differ in {different[:_NAMED]}" if different else f"another order, {given[:_NAMED]}"
        )
    raise ValueError(
        f"partition {index} of X has {what}; give all partitions the columns of X, in the same order, e.g. read files "
        "with columns=[...]"
    )


# ---------------------------------------------------------------- the first pass


COLUMNS = Columns()


def first_pass(data: DaskData, moments: Callable[[RawPart], dict[int, Moments]], *, checksum: bool) -> Survey:
    """Make the first pass, with moments of the features; the ``checksum`` distinguishes the data from others."""
    return data.reduced(partial(_of_part, moments=moments, checksum=checksum), Survey.merged)


def check_labels_given(part: RawPart) -> None:
    """Raise a ValueError where a label is missing, in any form that arrays and frames have for that."""
    import pandas  # which Dask's frames need

    given = [part.y] if part.weightless is None else [part.y, part.weightless]
    if any(np.any(pandas.isna(y)) or (is_float(y) and np.isinf(y).any()) for y in given):
        raise COLUMNS.label_error("NaN, None or infinity", f" in partition {part.index}")


def _of_part(part: RawPart, *, moments: Callable[[RawPart], dict[int, Moments]], checksum: bool) -> Survey:
    weight, where = part.weight, f" in partition {part.index}"
    if weight is not None and not (fine := np.isfinite(weight) & (weight >= 0)).all():
        raise COLUMNS.weight_error(weight[~fine][0], where)
    check_labels_given(part)
    if not is_integer(part.fold):
        raise COLUMNS.fold_error(f"values of dtype {part.fold.dtype}", where)
    if part.fold.size and part.fold.min() < -1:
        raise COLUMNS.fold_error(part.fold.min(), where)
    cells = _cells(part)
    n_labels = len({cell.label for cell in cells})
    if n_labels > MOST_CLASSES:
        raise COLUMNS.label_error(f"{n_labels} different values", where)
    number = _checksum(part) if checksum else 0
    return Survey(cells, number, {part.index: part.mark}, moments(part))


def _cells(part: RawPart) -> list[Cell]:
    """Count the rows of each fold and label."""
    import pandas

    weight = 1.0 if part.weight is None else part.weight
    rows = pandas.DataFrame({"fold": part.fold, "label": part.y, "weight": weight})
    if part.weightless is not None:
        rows = pandas.concat([rows, pandas.DataFrame({"fold": -1, "label": part.weightless, "weight": 0.0})])
    counts: Keywords = {"rows": np.count_nonzero, "weight": "sum", "largest": "max"}
    cells = rows.groupby(["fold", "label"])["weight"].agg(**counts).reset_index()
    return [Cell(part.index, *row) for row in zip(*(cells[name].tolist() for name in cells))]


def _checksum(part: RawPart) -> int:
    """Compute a checksum of the content of a part; sums of checksums do not depend on the order."""
    crc, pieces, frame = part.mark.labels, [part.weight], _with_texts(part.X)
    X: Samples = matrix(part.X) if frame is None else _hashes(frame, index=False)
    pieces += [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    pieces += [] if part.costs is None else [part.costs.fn, part.costs.fp, part.costs.tp, part.costs.tn]
    for piece in pieces:
        crc = zlib.crc32(np.ascontiguousarray(piece if piece is not None else 0).tobytes(), crc)
    # Spread over 64 bits, so that sums of parts seldom agree.
    return (crc * 0x9E3779B97F4A7C15 + part.index * 0xBF58476D1CE4E5B9) % 2**64
