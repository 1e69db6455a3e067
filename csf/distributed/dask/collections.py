"""Dask collections as parts that belong together, the passes over them, and the first of these."""

from __future__ import annotations

import os
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import isclose
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from csf._common.typing import Array, IntArray, Label, Samples
from csf.distributed.engine import FoldTotals, hash_folds
from csf.distributed.newton import Part
from csf.distributed.scaling import Moments

__all__ = [
    "ChangedRows",
    "DaskData",
    "FAN_IN",
    "Mark",
    "RawPart",
    "Survey",
    "check_labels_given",
    "is_array",
    "is_frame",
    "matrix",
    "require_dask",
    "survey",
    "with_all_workers",
    "with_any_worker",
]

# ---------------------------------------------------------------- passes on a cluster that loses workers


# So many times a pass or a training is begun before the search gives up.
_ATTEMPTS = 5
# Seconds between looks at the cluster; for workers to let go of a training that was given up, for them to end, and for
# the first one to be there again where all were lost.
_LOOK, _PATIENCE, _RESTART, _RETURN = 1.0, 5.0, 30.0, 120.0
_GO_ON = "with checkpoint= the search goes on where it was when it is fitted again"
_WAY_OUT = f"give the workers more memory or smaller partitions (rechunk, repartition), and see their logs; {_GO_ON}"


def with_any_worker(ask: Callable[[], Any], *, first: bool) -> Any:
    """What a pass gives, whatever computes it; a RuntimeError where a cluster loses all of its workers or its data.

    For the first workers of all, before the ``first`` pass, there is as much time as Dask gives them.
    """
    from dask.base import get_scheduler

    # Other schedulers of Dask are functions, and have no workers to lose.
    client: Any = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "nthreads") or (first and not _workers(client)):
        return ask()
    from distributed import CancelledError, KilledWorker

    lost: Exception | None = None
    for _ in range(_ATTEMPTS):
        if client.status != "running":
            _wait_for_a_worker(client)
        with _Watch(client, lambda began, now: not now, _RETURN) as watch:
            try:
                return ask()
            except KilledWorker as error:
                raise RuntimeError(f"workers ended while they read a partition; {_WAY_OUT}. {error}") from error
            except CancelledError as error:
                if watch.hopeless():
                    raise _all_lost(client) from error
                lost = _forgotten(error)
        # Who restarts a cluster wants it empty for a moment.
        time.sleep(_LOOK)
    raise RuntimeError(f"a pass over the data was cancelled {_ATTEMPTS} times; {_WAY_OUT}") from lost


def with_all_workers(client: Any, train: Callable[[], Any]) -> Any | Exception:
    """What a training gives, or its error; a RuntimeError where workers were lost in each of a few trainings."""
    lost: Exception | None = None
    for _ in range(_ATTEMPTS):
        with _Watch(client, lambda began, now: bool(began - now)) as watch:
            try:
                return train()
            except Exception as error:
                # Its libraries say in many ways that a worker is gone, and some of them before the scheduler knows.
                if not watch.hopeless(_LOOK):
                    return error
                lost = _forgotten(error)
        watch.free_workers()
        _wait_for_a_worker(client)
    raise RuntimeError(
        f"workers were lost in each of {_ATTEMPTS} trainings, which need all of them until their end; {_WAY_OUT}"
    ) from lost


def _forgotten(error: Exception) -> Exception:
    """An error whose frames hold nothing: cancelled data would never come, were they asked for once more."""
    traceback.clear_frames(error.__traceback__)
    return error.with_traceback(None)


class _Watch:
    """Looks at the workers while something runs, and cancels what it asked for where it would wait for ever.

    That is where those of its beginning and those of now say that some are ``missing``, for more than some seconds.
    """

    def __init__(self, client: Any, missing: Callable[[set[str], set[str]], bool], patience: float = 0.0) -> None:
        self._client, self._missing, self._patience = client, missing, patience
        self._workers, self._others, self._well = _workers(client), set(client.futures), time.monotonic()
        self._asked: set[Any] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        # No longer: a question to a scheduler that is gone takes minutes.
        self._thread.join(_PATIENCE)

    def _look(self) -> None:
        from distributed import Future

        unknown: set[Any] = set()
        while not self._over.wait(_LOOK):
            # Without a scheduler all is cancelled already.
            with suppress(OSError):
                # Again at each look, as what runs may have been between two requests. A restarted scheduler may have
                # dropped a request that came meanwhile: at two looks it does not know what the client waits for.
                before, unknown = unknown, self._unknown()
                hopeless = self.hopeless()
                lost = self._requests() if hopeless else before & unknown
                if (hopeless or lost) and not self._over.is_set():
                    self._client.cancel([Future(key, self._client) for key in lost])

    def hopeless(self, seconds: float = 0.0) -> bool:
        """Whether what runs cannot end well, or cannot within some seconds."""
        end = time.monotonic() + seconds
        while not (lacks := self._lacks()) and time.monotonic() < end:
            time.sleep(seconds / 10)
        self._requests()
        return lacks

    def _lacks(self) -> bool:
        if not self._missing(self._workers, _workers(self._client)):
            self._well = time.monotonic()
            return False
        return time.monotonic() - self._well >= self._patience

    def _requests(self) -> set[Any]:
        """Keys of what was asked for since the beginning, as far as the client still waits for it."""
        own = set(self._client.futures) - self._others
        self._asked |= own
        return own

    def _unknown(self) -> set[Any]:
        """Keys of what the client waits for and the scheduler does not know."""
        waiting = [key for key in self._requests() if _is_pending(self._client, key)]
        if not waiting or self._client.status != "running":
            return set()
        return set(self._client.run_on_scheduler(_missing_keys, keys=waiting))

    def free_workers(self) -> None:
        """Restart workers that cannot let go: LightGBM waits for the lost one for minutes, or without end."""
        end = time.monotonic() + _PATIENCE
        while busy := [worker for worker, keys in _awaited(self._client, _active_keys) if keys & self._asked]:
            if time.monotonic() > end:
                self._restart(busy)
                return
            time.sleep(_LOOK)

    def _restart(self, busy: list[str]) -> None:
        orphans = [worker for worker, nanny in _awaited(self._client, _nanny, workers=busy) if nanny is None]
        if orphans:
            raise RuntimeError(
                f"a worker was lost during a training, and {', '.join(orphans)} cannot be freed of it, as no nanny can "
                "restart them; restart them yourself, and start workers with a nanny"
            )
        # They end themselves, and their nannies start others: asked to restart them, a nanny may wait without end. So
        # may the question to one that ends; nobody waits for its answer.
        last = {"workers": busy, "on_error": "ignore"}
        threading.Thread(target=self._client.run, args=(os._exit, 1), kwargs=last, daemon=True).start()
        end = time.monotonic() + _RESTART
        while _workers(self._client) & set(busy) and time.monotonic() < end:
            time.sleep(_LOOK / 10)


def _workers(client: Any) -> set[str]:
    """Addresses of the cluster's workers, none without its scheduler."""
    if client.status == "running":
        with suppress(OSError):
            return set(client.nthreads())
    return set()


def _wait_for_a_worker(client: Any) -> None:
    """Wait until one is there; a RuntimeError where none comes."""
    # Not `Client.wait_for_workers`: it has no end where nobody looks after the workers any more, and while it waits, a
    # LocalCluster misses which ones come and go.
    end = time.monotonic() + _RETURN
    while not _workers(client):
        # A client that did not find its scheduler again is closed for good.
        if time.monotonic() > end or client.status == "closed":
            raise _all_lost(client)
        time.sleep(_LOOK)


def _all_lost(client: Any) -> RuntimeError:
    if client.status != "running":
        return RuntimeError(
            f"the scheduler was lost; connect a client to another, and make the collections again; {_GO_ON}"
        )
    return RuntimeError(
        f"all workers were lost, and none was back after {_RETURN:g} s; start workers; {_GO_ON}. A LocalCluster gives "
        "up workers that take longer to start than 'distributed.deploy.lost-worker-timeout' of Dask's configuration: "
        "raise it where that is so"
    )


def _awaited(client: Any, question: Callable[..., Any], **options: Any) -> Any:
    """Workers and what they answer, without those that are lost meanwhile."""
    return client.run(question, on_error="ignore", **options).items() if client.status == "running" else ()


def _is_pending(client: Any, key: Any) -> bool:
    """Whether a client still waits for a result."""
    state = client.futures.get(key)
    return state is not None and state.status == "pending"


def _missing_keys(dask_scheduler: Any, keys: list[Any]) -> list[Any]:
    """Keys that a scheduler has no task of."""
    return [key for key in keys if key not in dask_scheduler.tasks]


def _nanny(dask_worker: Any) -> str | None:
    """Address of what starts a worker again."""
    return dask_worker.nanny


def _active_keys(dask_worker: Any) -> set[Any]:
    """What a worker is at."""
    return set(dask_worker.active_keys)


# ---------------------------------------------------------------- partitions


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
    ``marks``, those of a first read, each partition that is no longer what it was then is an error. ``thinned`` are the
    parts of a sample.
    """

    X: Any
    y: Any
    weight: Any
    folds: Any
    cv: int | float
    seed: int
    marks: Mapping[int, Mark] = field(default_factory=dict)
    # Parts that are no longer those of the collections.
    thinned: Sequence[Any] | None = None

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

        if self.thinned is not None:
            return list(self.thinned)
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

    def sampled(self, of_part: Callable[[RawPart], RawPart]) -> DaskData:
        """The data with fewer rows in each part, kept where the parts are."""
        from dask.base import persist
        from dask.delayed import delayed

        function, call = delayed(of_part, traverse=False), delayed(_call, pure=False)
        fewer = [call(function, part) for part in self.parts]
        return replace(self, thinned=with_any_worker(lambda: persist(*fewer), first=not self.marks))

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


# ---------------------------------------------------------------- the first pass


# More labels than anyone has classes.
_MOST_LABELS = 100


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass found.

    ``table`` is a pandas frame with the ``weight`` and number of ``rows`` of each partition, fold and label;
    ``marks`` are by what partitions are known again; ``checksum`` is that of everything, where it was asked for;
    ``moments`` are those of each fold, where the base needs them.
    """

    table: Any
    marks: dict[int, Mark]
    checksum: int
    moments: dict[int, Moments]

    @property
    def labels(self) -> Array:
        """All labels."""
        return np.unique(np.array(self.table["label"].tolist()))

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return 1 + int(self.table["fold"].max())

    def count(self, labels: Array) -> IntArray:
        """Rows of each label."""
        return np.array([self.table.loc[self.table["label"] == label, "rows"].sum() for label in labels])

    def fold_totals(self, pos_label: Label) -> FoldTotals:
        """What each fold weighs."""
        fold, is_pos = self.table["fold"].to_numpy(), (self.table["label"] == pos_label).to_numpy(dtype=int)
        weight, rows = np.zeros((self.n_folds + 1, 2)), np.zeros(self.n_folds + 1, dtype=np.int64)
        np.add.at(weight, (fold, is_pos), self.table["weight"])
        np.add.at(rows, fold, self.table["rows"])
        return FoldTotals(weight, rows)

    def n_training(self, fold: int | None, n_parts: int) -> list[int]:
        """Rows of each partition that a fold trains on."""
        kept = self.table if fold is None else self.table[self.table["fold"] != fold]
        return kept.groupby("part")["rows"].sum().reindex(range(n_parts), fill_value=0).tolist()


def survey(data: DaskData, moments: Callable[[RawPart], dict[int, Moments]], *, checksum: bool) -> Survey:
    """Make the first pass, with moments of the features; with ``checksum`` other data are recognised by them."""
    return data.reduced(partial(_of_part, moments=moments, checksum=checksum), _merged)


def check_labels_given(part: RawPart) -> None:
    """Raise a ValueError where a label is missing, in whatever way arrays and frames say so."""
    import pandas  # which Dask's frames need

    if np.any(pandas.isna(part.y)) or (part.y.dtype.kind == "f" and np.isinf(part.y).any()):
        raise ValueError(
            f"y contains NaN, None or infinity in partition {part.index}: labels are missing there; drop those rows or "
            "give them a class"
        )


def _of_part(part: RawPart, *, moments: Callable[[RawPart], dict[int, Moments]], checksum: bool) -> Survey:
    import pandas

    n_rows, weight = part.y.shape[0], part.weight
    if weight is not None and not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError(f"sample_weight must be finite numbers >= 0, which it is not in partition {part.index}")
    check_labels_given(part)
    if part.fold.dtype.kind not in "iu" or (n_rows and part.fold.min() < -1):
        raise ValueError(
            f"folds must be integers: 0, 1, ... for rows that are held out, -1 for those that never are; in partition "
            f"{part.index} they are not"
        )
    rows = pandas.DataFrame({"fold": part.fold, "label": part.y, "weight": 1.0 if weight is None else weight})
    cells = rows.groupby(["fold", "label"])["weight"].agg(weight="sum", rows="size").reset_index()
    n_labels = len(set(cells["label"]))
    if n_labels > _MOST_LABELS:
        raise ValueError(f"y must hold two class labels, got {n_labels} different values in one partition")
    known, told = moments(part), _checksum(part) if checksum else 0
    return Survey(cells.assign(part=part.index), {part.index: part.mark}, told, known)


def _checksum(part: RawPart) -> int:
    """Number that other content gives another one of, almost surely; sums of it do not depend on an order."""
    from pandas import util

    hash_rows: Any = util.hash_pandas_object
    crc, pieces = part.mark.labels, [part.weight]
    # Frames may have columns that are no numbers.
    X = hash_rows(part.X, index=False) if hasattr(part.X, "columns") else matrix(part.X)
    pieces += [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    for piece in pieces:
        crc = zlib.crc32(np.ascontiguousarray(piece if piece is not None else 0).tobytes(), crc)
    # Spread over 64 bits, so that sums of parts seldom agree.
    return (crc * 0x9E3779B97F4A7C15 + part.index * 0xBF58476D1CE4E5B9) % 2**64


def _merged(parts: Sequence[Survey]) -> Survey:
    import pandas

    # Empty partitions say nothing, not even which kind their labels are of.
    told = [part.table for part in parts if len(part.table)] or [parts[0].table]
    marks = dict(mark for part in parts for mark in part.marks.items())
    folds = {fold for part in parts for fold in part.moments}
    moments = {fold: Moments.merged([part.moments[fold] for part in parts if fold in part.moments]) for fold in folds}
    return Survey(pandas.concat(told, ignore_index=True), marks, sum(part.checksum for part in parts) % 2**64, moments)
