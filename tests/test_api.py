"""The public names: they exist, star imports work, each is documented and typed, and importing csf loads nothing heavy.

What a package's ``__all__`` names is exported; ruff looks at everything else.
"""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
import tomllib
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import pytest
from numpydoc.validate import validate

import csf
from csf._common.compiled import Kernel

MODULES = ["csf", *(m.name for m in pkgutil.walk_packages(csf.__path__, "csf.") if not m.name.endswith("__main__"))]
PUBLIC = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]
# Rooms whose classes people make themselves; those of others come as results, or out of them.
SHOWN = ("csf", *(f"csf.{name}" for name in ("metrics", "strategies", "bounds", "thresholding", "fenchel", "plots")))
SHOWN += ("csf.online", "csf.structural", "csf.streams", "csf.solvers")
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))


def module(name):
    return importlib.import_module(name)


def exported():
    """Classes and functions of csf by the names under which packages export them, each once."""
    found = {}
    for name in PUBLIC:
        if name.count(".") == 1 or hasattr(module(name), "__path__"):
            for part in getattr(module(name), "__all__", ()):
                thing = getattr(module(name), part)
                if (getattr(thing, "__module__", None) or "").partition(".")[0] == "csf" and callable(thing):
                    found[id(thing)] = f"{name}.{part}", thing
    return dict(found.values())


def members(kind):
    """Public methods and properties of a class: its own, and what it has from classes of csf that are not exported."""
    public = {id(thing) for thing in exported().values()}
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "csf" and (base is kind or id(base) not in public):
            yield from ((name, part) for name, part in vars(base).items() if not name.startswith("_"))


def function_of(member):
    """The function behind a method or property, and whether it gets ``self`` or ``cls``; ``None`` for others."""
    if isinstance(member, property | cached_property):
        return (member.fget if isinstance(member, property) else member.func), 1
    if isinstance(member, staticmethod | classmethod):
        return member.__func__, int(isinstance(member, classmethod))
    if type(member).__name__ == "_AvailableIfDescriptor":
        return member.fn, 1
    return (member, 1) if inspect.isfunction(member) else None


def gaps_of(function, n_own=0):
    """Names of the parameters without a type, and "return" where that has none."""
    signature = inspect.signature(inspect.unwrap(function), eval_str=False)
    parameters = list(signature.parameters.values())[n_own:]
    gaps = [parameter.name for parameter in parameters if parameter.annotation is parameter.empty]
    return gaps + ["return"] * (signature.return_annotation is signature.empty)


def test_all_is_a_list_of_names_that_exist():
    faults = []
    for name in MODULES:
        names = getattr(module(name), "__all__", None)
        if names is None:
            own = [n for n, part in vars(module(name)).items() if getattr(part, "__module__", 0) == name]
            faults += [f"{name} defines {own} without an __all__"] if own and name.count(".") == 1 else []
            continue
        faults += [f"{name}.__all__ names {part!r} twice" for part in set(names) if names.count(part) > 1]
        faults += [
            f"{name}.__all__ names {part!r}, which is not there" for part in names if not hasattr(module(name), part)
        ]
        if name in PUBLIC:
            scope = {}
            exec(f"from {name} import *", scope)
            assert set(names) <= set(scope)
    assert not faults


@pytest.mark.slow
def test_public_modules_and_exported_names_are_documented():
    """numpydoc's rules (pyproject.toml), a section of parameters that is complete, an example for each class."""
    rules = set(PROJECT["tool"]["numpydoc_validation"]["checks"])
    faults = [f"{name} has no docstring" for name in PUBLIC if not (module(name).__doc__ or "").strip()]
    for name, thing in exported().items():
        names = [name]
        if inspect.isclass(thing):
            names += [f"{name}.{part}" for part, member in members(thing) if function_of(member)]
            shown = name.rpartition(".")[0] in SHOWN and not inspect.isabstract(thing) and not issubclass(thing, tuple)
            faults += [f"{name} has no example"] if shown and ">>>" not in (thing.__doc__ or "") else []
        for each in names:
            result = validate(each)
            complete = {"PR01"} if "Parameters\n" in result["docstring"] else set()
            faults += [f"{each}: {text}" for code, text in result["errors"] if code in rules | complete]
    assert not faults, "\n".join(faults)


def test_exported_names_are_typed():
    faults = []
    for name, thing in exported().items():
        if inspect.isclass(thing):
            parts = dict(members(thing))
            if "__init__" in vars(thing) and not getattr(thing, "_is_protocol", False):
                parts["__init__"] = thing.__init__
            functions = {f"{name}.{part}": function_of(member) for part, member in parts.items()}
        else:
            functions = {name: None if isinstance(thing, Kernel) else (thing, 0)}
        found = {part: gaps_of(*function) for part, function in functions.items() if function}
        faults += [f"{part}: {', '.join(gaps)}" for part, gaps in found.items() if gaps]
    assert not faults, "\n".join(faults)
    assert gaps_of(lambda x, *, y: x) == ["x", "y", "return"]


def test_the_names_people_start_with():
    assert {"CostSearch", "ErrorProfile", "Study", "Trial", "__version__"} <= set(csf.__all__)
    for package, names in {
        "csf.metrics": {"METRICS", "Metric", "LinearFractional", "FBeta", "get_metric"},
        "csf.strategies": {"STRATEGIES", "Strategy", "Proposal", "Cone", "get_strategy"},
        "csf.bounds": {"BOUNDS", "Bound", "ConeBound", "DiagonalBound", "SupportLineBound"},
        "csf.thresholding": {"ThresholdCurve", "threshold_curve"},
        "csf.testing": {"check_metric", "check_online", "check_strategy", "check_trainer"},
    }.items():
        assert names <= set(module(package).__all__)


def test_importing_csf_loads_nothing_heavy():
    """Beyond what scikit-learn, numba and joblib load by themselves."""
    code = """
import sys
import joblib, numba, sklearn.base, sklearn.model_selection, tqdm.auto
before = set(sys.modules)
import csf
import csf.bounds, csf.metrics, csf.strategies, csf.testing, csf.thresholding
print(sorted({name.split('.')[0] for name in set(sys.modules) - before}))
"""
    out = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(out.stdout))
    heavy = {"matplotlib", "shapely", "pandas", "polars", "skops", "lightgbm", "xgboost", "IPython", "pytest"}
    assert "csf" in loaded
    assert not loaded & heavy


def test_the_version_is_that_of_the_package():
    assert csf.__version__ == version("csf-search")
