"""Everything public says which types it takes and gives."""

import inspect
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pytest

import csf
from csf._common.compiled import Kernel

ROOT = Path(csf.__file__).parent
PARTS = [path.relative_to(ROOT.parent).with_suffix("").parts for path in sorted(ROOT.rglob("*.py"))]
NAMES = [".".join(parts[:-1] if parts[-1] == "__init__" else parts) for parts in PARTS]
MODULES = [name for name in NAMES if not any(part.startswith("_") for part in name.split("."))]


def gaps_of(function, *, of_self):
    """Names of the parameters without a type, and "return" where that has none."""
    signature = inspect.signature(inspect.unwrap(function), eval_str=False)
    parameters = list(signature.parameters.values())[of_self:]
    gaps = [parameter.name for parameter in parameters if parameter.annotation is parameter.empty]
    return gaps + ["return"] * (signature.return_annotation is signature.empty)


def function_of(member):
    """The function behind a method or property, and whether it gets ``self`` or ``cls``; ``None`` for others."""
    if isinstance(member, property):
        return member.fget, True
    if isinstance(member, cached_property):
        return member.func, True
    if isinstance(member, (staticmethod, classmethod)):
        return member.__func__, isinstance(member, classmethod)
    if inspect.isfunction(member):
        return member, True
    if type(member).__name__ == "_AvailableIfDescriptor":
        return member.fn, True
    return None


def gaps_of_class(kind):
    """Methods and properties without types: its own, and what it has from classes of csf that are not public."""
    found = []
    for base in kind.__mro__:
        own = base is kind or any(part.startswith("_") for part in (*base.__module__.split("."), base.__name__))
        if not (own and base.__module__.split(".")[0] == "csf"):
            continue
        for name, member in vars(base).items():
            function = function_of(member)
            if getattr(kind, "_is_protocol", False) and name == "__init__":
                continue  # written by Python
            if function is not None and (not name.startswith("_") or name == "__init__"):
                gaps = gaps_of(function[0], of_self=function[1])
                found += [f"{kind.__name__}.{name}: {', '.join(gaps)}"] if gaps else []
    return found


def gaps_of_module(module):
    """What the public names of a module leave without a type; what is public elsewhere is looked at there."""
    found = []
    for name in getattr(module, "__all__", ()):
        part = getattr(module, name)
        home = getattr(part, "__module__", None)
        if isinstance(part, Kernel) or (home != module.__name__ and home in MODULES):
            continue
        if inspect.isclass(part) and part.__module__.split(".")[0] == "csf":
            found += gaps_of_class(part)
        elif inspect.isfunction(part):
            gaps = gaps_of(part, of_self=False)
            found += [f"{name}: {', '.join(gaps)}"] if gaps else []
    return found


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_typed(module):
    assert not gaps_of_module(import_module(module))


def test_gaps_are_found():
    class Half:
        def __init__(self, x: int, y=0) -> None: ...

        @property
        def first(self):
            return 1

        @staticmethod
        def second(x) -> int:
            return x

        def _own(self, x): ...

    Half.__module__ = "csf.half"
    assert gaps_of_class(Half) == ["Half.__init__: y", "Half.first: return", "Half.second: x"]
    assert gaps_of(lambda x: x, of_self=False) == ["x", "return"]
