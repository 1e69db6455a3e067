"""The public names: they exist, star imports work, and importing csf loads nothing heavy."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from importlib.metadata import version

import pytest

import csf

MODULES = ["csf", *(module.name for module in pkgutil.walk_packages(csf.__path__, "csf."))]
PUBLIC = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_all_is_a_list_of_names_that_exist(name):
    module = importlib.import_module(name)
    if not hasattr(module, "__all__"):
        public = [n for n, part in vars(module).items() if getattr(part, "__module__", None) == name and n[0] != "_"]
        assert not public, f"{name} defines {public} without an __all__"
        return
    assert all(isinstance(part, str) for part in module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    for part in module.__all__:
        assert hasattr(module, part), f"{name}.__all__ names {part!r}, which it does not have"


@pytest.mark.parametrize("name", PUBLIC)
def test_star_imports_work(name):
    scope = {}
    exec(f"from {name} import *", scope)
    assert set(getattr(importlib.import_module(name), "__all__", ())) <= set(scope)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name):
    module = importlib.import_module(name)
    assert inspect.getdoc(module)
    for part in getattr(module, "__all__", ()):
        thing = getattr(module, part)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__, f"{name}.{part} has no docstring"


def test_the_names_people_start_with():
    assert {"CostSearch", "ErrorProfile", "Study", "Trial", "__version__"} <= set(csf.__all__)
    for package, names in {
        "csf.metrics": {"METRICS", "Metric", "LinearFractional", "FBeta", "get_metric"},
        "csf.strategies": {"STRATEGIES", "Strategy", "Proposal", "Cone", "get_strategy"},
        "csf.bounds": {"BOUNDS", "Bound", "ConeBound", "DiagonalBound", "SupportLineBound"},
        "csf.thresholding": {"ThresholdCurve", "threshold_curve"},
        "csf.testing": {"check_metric", "check_online", "check_strategy", "check_trainer"},
    }.items():
        assert names <= set(importlib.import_module(package).__all__)


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
