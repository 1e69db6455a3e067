"""Imports point one way, and only one file knows scikit-learn's private names."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import csf

ROOT = Path(csf.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# Each part imports from parts further up alone. "csf" stands for the public names of csf/__init__.py.
ORDER = [
    *(
        "_common",
        "_moved",
        "_sklearn",
        "_validation",
        "samples",
        "errors",
        "metrics",
        "scores",
        "costs",
        "linear",
        "resampling",
        "thresholding",
    ),
    *("trials", "bounds", "strategies", "study", "trainers", "search", "cluster", "dask", "spark", "csf", "fenchel"),
    *("streams", "online", "structural", "testing", "plots", "report", "export", "experiments", "cli", "__main__"),
]
# Slow to import, or not installed everywhere: only where they are used, inside functions.
LATE = {
    "onnx",
    "jinja2",
    "markupsafe",
    "matplotlib",
    "shapely",
    "pandas",
    "polars",
    "skops",
    "IPython",
    "lightgbm",
    "xgboost",
    "pyarrow",
    "river",
    "dask",
    "distributed",
    "pyspark",
}
PRIVATE = {name for name in dir(BaseEstimator) if name.startswith("_") and not name.startswith("__")}


def name_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
each_module = pytest.mark.parametrize("module", MODULES)


def imports(tree):
    """Absolute names that a file imports, wherever in it, as (module, names) pairs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            yield node.module, tuple(alias.name for alias in node.names)


def csf_imports(tree):
    """Modules of csf that a file imports; names of a package count as its modules where they are some."""
    for module, names in imports(tree):
        if module.split(".")[0] == "csf":
            below = [f"{module}.{name}" for name in names if f"{module}.{name}" in MODULES]
            yield from below or [module]


def part_of(module):
    """First part below csf; the package itself is "csf"."""
    return module.split(".")[1] if "." in module else "csf"


@each_module
def test_every_module_has_a_place(module):
    assert part_of(module) in ORDER, f"put {part_of(module)!r} into ORDER, below what it imports"


@each_module
def test_imports_point_one_way(module):
    own = part_of(module)
    for other in csf_imports(MODULES[module]):
        part = part_of(other)
        assert part == own or ORDER.index(part) < ORDER.index(own), f"{module} imports {other}"


def test_no_module_imports_itself_through_others():
    graph = {module: set(csf_imports(tree)) for module, tree in MODULES.items()}
    TopologicalSorter(graph).prepare()


@each_module
def test_no_package_is_imported_from_inside(module):
    """Its ``__init__`` imports the module that asks: a cycle that only the order of lines hides."""
    package = ".".join(module.split(".")[:2]) if module.count(".") > 1 else "csf"
    names = set(csf_imports(MODULES[module])) if module != "csf" else set()
    if package != "csf" or ORDER.index(part_of(module)) < ORDER.index("csf"):
        assert package not in names


@each_module
def test_private_names_of_scikit_learn_stay_in_one_file(module):
    if module == "csf._sklearn":
        return
    for name, names in imports(MODULES[module]):
        if name.split(".")[0] == "sklearn":
            private = [part for part in (*name.split("."), *names) if part.startswith("_")]
            assert not private, f"{module} imports {private} of scikit-learn; only csf._sklearn may"
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Attribute):
            assert node.attr not in PRIVATE, f"{module}, line {node.lineno}: {node.attr} belongs to scikit-learn"


@each_module
def test_heavy_libraries_are_imported_where_they_are_used(module):
    # Its classes are Spark's, so that nothing works without; no other part imports it.
    late = LATE - {"pyspark"} if part_of(module) == "spark" else LATE
    for node in MODULES[module].body:
        top = [node] if isinstance(node, ast.Import | ast.ImportFrom) else []
        names = {name.split(".")[0] for name, _ in imports(ast.Module(top, []))}
        assert not names & late, f"{module} imports {names & late} at its top"
