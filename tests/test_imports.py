"""Imports point one way over few floors, and only one file knows scikit-learn's private names.

An import linter follows import statements; here names of modules in strings count too (``import_module("csf.x")``, a
map that ``__getattr__`` reads): what is loaded late is as much an arrow as what is loaded first.
"""

import ast
from functools import cache
from graphlib import TopologicalSorter
from itertools import takewhile
from pathlib import Path

from sklearn.base import BaseEstimator

import csf

ROOT = Path(csf.__file__).parent
MOST_FLOORS = 8
# Methods that draw or write what was found; they import when they are called, and lie below what they import.
LATE = {("csf.search.fitted", "csf.report"), ("csf.monitoring.monitor", "csf.plots")}
PRIVATE = {name for name in dir(BaseEstimator) if name.startswith("_") and not name.startswith("__")}


def name_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules():
    """Trees of all files of csf; they are read by the tests alone, not by every process that collects them."""
    return {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}


def imports(tree):
    """Absolute names that a file imports, wherever in it, as (module, names) pairs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module, tuple(alias.name for alias in node.names)


def arrows(module):
    """Modules of csf that a file imports; names of a package count as its modules where they are some."""
    known = modules()
    tree = known[module]
    for other, names in imports(tree):
        if other.split(".")[0] == "csf":
            below = [f"{other}.{name}" for name in names if f"{other}.{name}" in known]
            yield from below or [other]
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    # A file may name the package that it lies in, to open what lies beside it.
    yield from (text for text in texts if text in known and "." in text and not f"{module}.".startswith(f"{text}."))
    if module == "csf":
        yield from (f"csf.{package}" for package in csf._PACKAGES)


@cache
def all_arrows():
    return {module: {other for other in arrows(module) if (module, other) not in LATE} for module in modules()}


def package_of(module):
    """First part below csf; the package itself is "csf"."""
    return module.split(".")[1] if "." in module else "csf"


def packages():
    """Packages that each package imports from."""
    graph = {package_of(module): set() for module in modules()}
    for module, others in all_arrows().items():
        graph[package_of(module)] |= {package_of(other) for other in others} - {package_of(module)}
    return graph


def test_no_file_imports_itself_through_others():
    TopologicalSorter(all_arrows()).prepare()


def test_packages_import_one_way_over_few_floors():
    graph = {package: others for package, others in packages().items() if package not in {"csf", "__main__"}}
    floors = {}
    for package in TopologicalSorter(graph).static_order():
        floors[package] = 1 + max((floors[other] for other in graph[package]), default=0)
    high = [package for package in graph if floors[package] > MOST_FLOORS]
    assert not high, {package: sorted(graph[package], key=floors.get)[-1] for package in high}


def test_searches_know_nothing_of_what_shows_them():
    assert not packages()["search"] & {"plots", "report", "export", "distributed", "cli", "testing"}


def test_methods_that_import_late_are_the_listed_ones():
    late = {
        (module, other)
        for module, tree in modules().items()
        for part in ast.walk(tree)
        if isinstance(part, ast.FunctionDef)
        for other, _ in imports(part)
        if other.split(".")[0] == "csf" and package_of(other) != package_of(module)
    }
    assert late == LATE


def test_searches_and_learners_know_nothing_of_each_other():
    learners = {"online", "structural", "fenchel", "streams"}
    assert not packages()["search"] & learners
    assert not [name for name in learners if packages()[name] & {"search", "plugin", "bounds", "strategies"}]


def test_strings_are_arrows():
    """The package's own map of late names is one, and so the check sees through it."""
    assert {"search", "plots", "cli"} <= packages()["csf"]
    assert not [package for package, others in packages().items() if "csf" in others]
    assert set(csf._PACKAGES) >= {package for package in packages() if package != "csf" and package[0] != "_"}


def test_packages_are_drawn_below_those_that_they_import():
    """The picture of *parts of your own* is the one that is there."""
    text = (ROOT.parent / "notebooks" / "guide" / "own_parts.md").read_text(encoding="utf-8")
    graph = packages()
    lines = [line.split() for line in text.splitlines() if line.startswith("    ")]
    drawn = [(at, name) for at, line in enumerate(lines) for name in takewhile(graph.__contains__, line)]
    height = {name: at for at, name in drawn}
    assert sorted(name for _, name in drawn) == sorted(set(graph) - {"csf", "__main__", "_common"})
    assert not [(name, other) for at, name in drawn for other in graph[name] - {"_common"} if height[other] >= at]


def test_private_names_of_scikit_learn_stay_in_one_file():
    faults = []
    for module, tree in modules().items():
        if module == "csf._common.sklearn":
            continue
        for other, names in imports(tree):
            if other.split(".")[0] == "sklearn":
                private = [part for part in (*other.split("."), *names) if part.startswith("_")]
                faults += [f"{module} imports {private}"] if private else []
        used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in PRIVATE]
        faults += [f"{module}, line {node.lineno}: {node.attr}" for node in used]
    assert not faults
