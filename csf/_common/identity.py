"""Identity of searches, metrics and strategies: descriptions that every process agrees on."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType

import numpy as np
from scipy import sparse

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_CODE = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_exceptiontable")
_WRAPPERS = (MethodType, partial, staticmethod, classmethod, property, cached_property)
_WRAPPED = ("__func__", "__self__", "func", "args", "keywords", "fget", "fset", "fdel", "py_func", "__wrapped__")
_COUNTS = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount")


def fingerprint(content: object) -> str:
    """Hash the result of `describe`: equal in every process for equal content, different for different content."""
    return hashlib.sha256(json.dumps(describe(content)).encode()).hexdigest()


def named(part: object) -> list[str]:
    """Describe an object that has to be passed again: its text without memory addresses, and its fingerprint."""
    return [re.sub(r" at 0x[0-9a-fA-F]+", "", repr(part)), fingerprint(part)]


def describe(content: object) -> list[object]:
    """Describe estimators, functions, arrays and values in the same plain way in every process.

    Values of different types differ (1, 1.0 and True). Functions count by their names and code, by their default
    arguments, by what they enclose, by the instance they are bound to, and by the plain values and the functions of
    their own module that they read as global variables. Classes count by their names, those made inside a function
    by their methods too. A class, or a function of another module, that a function reads counts by its name.
    """
    try:
        return _Describer().of(content)
    except RecursionError:
        raise TypeError("this cannot be distinguished from others: it is nested too deeply") from None


class _Describer:
    """One walk through an object, which keeps track of the objects around the current part and of functions seen."""

    def __init__(self) -> None:
        self.around, self.functions = [], {}

    def of(self, part: object) -> list:
        """Describe a part."""
        kind = type(part)
        if kind in _PLAIN:
            return [kind.__name__, repr(part)]
        if any(part is outer for outer in self.around):
            return ["around", _name(part if isinstance(part, FunctionType | type) else kind)]
        self.around.append(part)
        try:
            return self._container(part, kind) or self._code(part) or self._object(part, kind)
        finally:
            self.around.pop()

    def _described(self, parts):
        return [self.of(part) for part in parts]

    def _container(self, part, kind):
        if kind in (tuple, list):
            return [kind.__name__, *self._described(part)]
        if kind in (dict, MappingProxyType):
            return ["dict", *_in_order([self.of(key), self.of(value)] for key, value in part.items())]
        if kind in (set, frozenset):
            return [kind.__name__, *_in_order(map(self.of, part))]
        if isinstance(part, np.generic):
            return ["number", *self._array(np.asarray(part))]
        if kind in (np.ndarray, np.memmap):
            return ["array", *self._array(part)]
        if sparse.issparse(part):
            part = part if part.format in ("csr", "csc", "coo") else part.tocsr()
            names = ("row", "col", "data") if part.format == "coo" else ("indptr", "indices", "data")
            return [_name(kind), part.format, str(part.shape), *self._described(getattr(part, name) for name in names)]
        return None

    def _array(self, array):
        about = [array.dtype.str if array.dtype.names is None else str(array.dtype.descr), str(array.shape)]
        if array.dtype.hasobject or array.dtype.kind == "T" or not array.dtype.itemsize:
            return [*about, *self._described(array.ravel().tolist())]
        plain = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return [*about, hashlib.sha256(plain.data).hexdigest()]

    # ---------------------------------------------------------------- code

    def _code(self, part):
        """Describe a function, method, class or module; return ``None`` for others."""
        if isinstance(part, FunctionType):
            if id(part) not in self.functions:  # functions call functions: each is read once
                self.functions[id(part)] = part, _digest(self._function(part))
            return ["function", _name(part), self.functions[id(part)][1]]
        if isinstance(part, CodeType):
            return ["code", *(repr(getattr(part, name)) for name in _CODE + _COUNTS), *self._described(part.co_consts)]
        if isinstance(part, BuiltinFunctionType):
            owner = part.__self__
            return ["builtin", _name(part), [] if isinstance(owner, ModuleType | None) else self.of(owner)]
        if isinstance(part, ModuleType):
            return ["module", part.__name__]
        if isinstance(part, type):
            return self._class(part)
        # Compiled by numba; functools.lru_cache.
        compiled = any(isinstance(getattr(part, name, None), FunctionType) for name in ("py_func", "__wrapped__"))
        if compiled or isinstance(part, _WRAPPERS):
            return ["wrapped", _name(type(part)), *self._described(getattr(part, name, None) for name in _WRAPPED)]
        return None

    def _function(self, function):
        cells = [_cell(cell) for cell in function.__closure__ or ()]
        parts = function.__code__, function.__defaults__, function.__kwdefaults__, cells, vars(function)
        return [*self._described(parts), *_in_order(self._read_globals(function, function.__code__))]

    def _read_globals(self, function, code):
        """Yield the global variables that code may read and that could change what it does."""
        known = function.__globals__
        for name in code.co_names:
            value = known.get(name)
            if _is_plain(value) or (isinstance(value, FunctionType) and value.__globals__ is known):
                yield [name, self.of(value)]
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                yield from self._read_globals(function, inner)

    def _class(self, kind):
        if "<locals>" not in kind.__qualname__:
            return ["class", _name(kind)]
        parts = {
            name: value
            for name, value in vars(kind).items()
            if isinstance(value, FunctionType | staticmethod | classmethod | property | cached_property)
            or not (name.startswith("__") or name == "_abc_impl")
        }
        return ["class", _name(kind), self.of(kind.__bases__), self.of(parts)]

    # ---------------------------------------------------------------- objects

    def _object(self, part, kind):
        if hasattr(part, "get_params"):
            # Parameters as they are, whatever the estimator does for pickle; the rest is what a frozen one has learnt.
            params = part.get_params(deep=False)
            rest = {name: value for name, value in vars(part).items() if name not in params}
            return [self.of(kind), self.of(params), self.of(rest)]
        try:
            reduced = part.__reduce_ex__(4)
        except Exception as error:
            # An object that cannot be pickled is what it holds.
            if not getattr(part, "__dict__", None):
                raise TypeError(
                    f"{part!r} cannot be distinguished from others of its kind, and so a file of another search could "
                    "be taken for this one's: it has no content to compare. Keep it out of metric, strategy and base "
                    "and of what their functions enclose; or give the object that holds it a __getstate__ that leaves "
                    "it out"
                ) from error
            reduced = kind, vars(part)
        if isinstance(reduced, str):
            return ["global", _name(part) if hasattr(part, "__qualname__") else f"{_module(part)}.{reduced}"]
        make, arguments, state, *items = (*reduced, None, None, None)[:5]
        if isinstance(state, dict):
            state = {name: value for name, value in state.items() if not _is_cache(kind, name)}
        return [
            "object",
            *self._described((kind, make, arguments, state)),
            *(self._described(i) if i else [] for i in items),
        ]


def _in_order(parts):
    """Sort descriptions, so that their order does not depend on where they come from."""
    return sorted(parts, key=json.dumps)


def _digest(description):
    return hashlib.sha256(json.dumps(description).encode()).hexdigest()


def _name(part):
    name = getattr(part, "__qualname__", None) or getattr(part, "__name__", None) or type(part).__qualname__
    return f"{_module(part)}.{name}"


def _module(part):
    return getattr(part, "__module__", None) or type(part).__module__


def _cell(cell):
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return "empty cell"


def _is_plain(value):
    """Check that a value holds nothing but numbers, texts and containers of these."""
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(_is_plain(key) and _is_plain(entry) for key, entry in value.items())
    if type(value) is np.ndarray:
        return not value.dtype.hasobject
    return type(value) in _PLAIN or isinstance(value, np.generic)


def _is_cache(kind, name):
    """Check whether an attribute is a `cached_property`, whose value may be there or not."""
    return isinstance(getattr(kind, name, None), cached_property)
