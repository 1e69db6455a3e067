"""Compiled loops that import numba when the first of them is called, not before.

Importing csf, and predicting with most of its models, needs no compiled code and so no numba.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import update_wrapper
from threading import Lock
from types import CodeType, FunctionType
from typing import TypeVar, cast

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from csf._common.typing import Array, Params, Samples

Loop = TypeVar("Loop", bound=Callable[..., object])

_LOCK = Lock()


# Numbers in the largest array of a call, up to which it takes less time than numba takes to be imported.
FEW = 1 << 16


def njit(
    *, cache: bool = True, few: Callable[..., object] | None = None, most: int = FEW, **options: object
) -> Callable[[Loop], Loop]:
    """Delay `numba.njit` until the first call; ``cache`` keeps the code for other processes, see `compile_cache`.

    In a process without numba, where no array has more than ``most`` numbers, the function ``few`` is called, which
    returns exactly the same; with `on_lists` the loop itself, on lists.
    """

    def decorate(function: Loop) -> Loop:
        of_few = on_lists(function) if few is on_lists else few
        return cast(Loop, Kernel(cast(FunctionType, function), cache, options, of_few, most))

    return decorate


def on_lists(function: Loop) -> Loop:
    """Run a loop over arrays of one dimension on lists, which Python reads faster, and write to the arrays."""

    def run(*arguments: object) -> object:
        lists = [given.tolist() if isinstance(given, np.ndarray) else given for given in arguments]
        result = function(*lists)
        for given, values in zip(arguments, lists):
            if isinstance(given, np.ndarray) and given.flags.writeable:
                given[...] = values
        return result

    return cast(Loop, run)


def _numba_is_loaded() -> bool:
    return "numba" in sys.modules


class Kernel:
    """Function that is compiled when it is first called."""

    __name__: str

    def __init__(
        self, py_func: FunctionType, cache: bool, options: Params, few: Callable[..., object] | None, most: int
    ) -> None:
        update_wrapper(self, py_func)
        self.py_func, self._cache, self._options, self._few, self._most = py_func, cache, options, few, most
        self._dispatcher: Callable[..., object] | None = None

    def __call__(self, *arguments: object) -> object:
        """Call the compiled function, or what takes its place for small arrays."""
        if self._few is not None and not _numba_is_loaded():
            arrays = [given for given in arguments if isinstance(given, np.ndarray)]
            if all(array.size <= self._most for array in arrays):
                return self._few(*arguments)
        return (self._dispatcher or self.dispatcher())(*arguments)

    def dispatcher(self) -> Callable[..., object]:
        """Return numba's dispatcher, which other kernels can inline; it is the same object each time."""
        with _LOCK:
            return self._made()

    def _made(self) -> Callable[..., object]:
        if self._dispatcher is None:
            from csf._common.compile_cache import compiled

            made = compiled(self.py_func, cache=self._cache, **self._options)
            # numba looks the names of a kernel up when it compiles it, and knows nothing of kernels that wait.
            known = self.py_func.__globals__
            for name in _names(self.py_func.__code__):
                if isinstance(known.get(name), Kernel) and known[name] is not self:
                    known[name] = known[name]._made()
            # Whether small arrays are compiled for is decided at each call.
            if known.get(self.__name__) is self and self._few is None:
                known[self.__name__] = made
            self._dispatcher = made
        return self._dispatcher

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        return _kernel_named, (self.__module__, self.__name__)


def _names(code: CodeType) -> Iterator[str]:
    """Collect the global names that a function and its nested functions read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _kernel_named(module: str, name: str) -> object:
    """Look up the kernel of another process by its name."""
    from importlib import import_module

    return getattr(import_module(module), name)


# ---------------------------------------------------------------- rows of samples


def stacked(pieces: Sequence[Samples]) -> Samples:
    """Stack the rows of all pieces; the result is sparse if one of them is."""
    if len(pieces) == 1:
        return pieces[0]
    if any(map(issparse, pieces)):
        return csr_array(vstack([csr_array(piece) for piece in pieces]))
    return np.concatenate(pieces)


# Kernels take samples as a tuple, ``(X,)`` or ``(data, indices, indptr)``. numba knows the length of a tuple when it
# compiles and leaves out the branches of the other kind, so that one kernel serves both at full speed.
def parts(X: Samples) -> tuple[Array, ...]:
    """Return samples in the form that kernels take: one array, or the data, indices and row pointers of sparse rows."""
    return (X.data, X.indices, X.indptr) if issparse(X) else (X,)


# Places are unsigned: for signed ones the compiler allows for places counted from the end, which is slower.
@njit(cache=True, nogil=True)
def row_at(X, i) -> tuple[Array, ...]:
    """Return the values of row i, and their columns if it is sparse."""
    if len(X) == 1:
        return (X[0][np.uint64(i)],)
    data, indices, indptr = X
    start, stop = indptr[np.uint64(i)], indptr[np.uint64(i) + np.uint64(1)]
    return data[start:stop], indices[start:stop]


@njit(cache=True, nogil=True)
def row_and_bounds(X, i) -> tuple[tuple[Array, ...], np.uint64, np.uint64]:
    """Return the arrays that hold row i, without slicing, with the start of the row in them and its end.

    Slicing the arrays of a sparse row takes half as long as a product with its few values.
    """
    if len(X) == 1:
        values = X[0][np.uint64(i)]
        return (values,), np.uint64(0), np.uint64(values.size)
    data, indices, indptr = X
    return (data, indices), np.uint64(indptr[np.uint64(i)]), np.uint64(indptr[np.uint64(i) + np.uint64(1)])


@njit(cache=True, nogil=True)
def column_of(row, k) -> np.uint64:
    """Return the column of value k of a row."""
    if len(row) == 1:
        return k
    return np.uint64(row[1][k])
