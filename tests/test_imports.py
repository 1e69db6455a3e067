"""Imports point one way over few floors, and only one file knows scikit-learn's private names.

An import linter follows import statements; here names of modules in strings count too (``import_module("csf.x")``, a
map that ``__getattr__`` reads): what is loaded late is as much an arrow as what is loaded first.
"""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from sklearn.base import BaseEstimator

import csf

ROOT = Path(csf.__file__).parent
MOST_FLOORS = 11
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
        yield from (f"csf.{room}" for room in csf._ROOMS)


@cache
def all_arrows():
    return {module: set(arrows(module)) for module in modules()}


def room_of(module):
    """First part below csf; the package itself is "csf"."""
    return module.split(".")[1] if "." in module else "csf"


def rooms():
    """Rooms that each room imports from."""
    graph = {room_of(module): set() for module in modules()}
    for module, others in all_arrows().items():
        graph[room_of(module)] |= {room_of(other) for other in others} - {room_of(module)}
    return graph


def test_no_file_imports_itself_through_others():
    TopologicalSorter(all_arrows()).prepare()


def test_rooms_import_one_way_over_few_floors():
    graph = rooms()
    floors = {}
    for room in TopologicalSorter(graph).static_order():
        floors[room] = 1 + max((floors[other] for other in graph[room]), default=0)
    high = [room for room in graph if floors[room] > MOST_FLOORS]
    assert not high, {room: sorted(graph[room], key=floors.get)[-1] for room in high}


def test_searches_know_nothing_of_what_shows_them():
    assert not rooms()["search"] & {"show", "plots", "report", "export", "cli"}


def test_strings_are_arrows():
    """The package's own map of late names is one, and so the check sees through it."""
    assert {"search", "study", "cli"} <= rooms()["csf"]
    assert not [room for room, others in rooms().items() if "csf" in others]
    assert set(csf._ROOMS) >= {room for room in rooms() if room != "csf" and room[0] != "_"}


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
