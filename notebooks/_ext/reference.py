"""A page for each name of csf that users import, and links to names of csf and of the libraries that it works with."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from builtins import __dict__ as builtin_names
from pathlib import Path

from docutils import nodes

import csf

FOLDER = "api"
# Parts by the task that brings a reader to them; the others come last.
TASKS = {
    "Search and decide": ["csf", "csf.metrics", "csf.thresholding", "csf.plugin", "csf.monitoring", "csf.cli"],
    "Show and take along": ["csf.plots", "csf.report", "csf.export"],
    "Large data": ["csf.dask", "csf.spark"],
    "Streams, rankings and other learners": ["csf.online", "csf.streams", "csf.structural", "csf.fenchel"],
    "Inside a search": ["csf.strategies", "csf.bounds", "csf.trainers"],
}
EXTENDING = "Extend csf"
# Packages whose names nobody imports, and modules of others whose names come as results.
INTERNAL = ("csf.distributed", "csf.evaluate", "csf.search")
RETURNED = {
    "csf.evaluate.assessment": ["Assessment"],
    "csf.evaluate.audits": ["AuditPlan"],
    "csf.evaluate.predictions": ["AuditedValue", "Difference"],
    "csf.search.threshold": ["Decision"],
    "csf.thresholding.capacity": ["Capacity", "NamedCapacities", "ReviewBands", "Reviewed"],
    "csf.thresholding.certificates": ["Guarantee"],
}
# Where the pages of other libraries are; nothing is fetched to write a link.
OUTSIDE = {
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{name}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{name}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{name}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{name}.html",
    "matplotlib": "https://matplotlib.org/stable/api/_as_gen/{name}.html",
}
# Names that docstrings use without their module.
SHORT = {
    "ndarray": "numpy.ndarray",
    "DataFrame": "pandas.DataFrame",
    "RepeatedStratifiedKFold": "sklearn.model_selection.RepeatedStratifiedKFold",
    "OneVsRestClassifier": "sklearn.multiclass.OneVsRestClassifier",
    "LinearSVC": "sklearn.svm.LinearSVC",
    "LogisticRegression": "sklearn.linear_model.LogisticRegression",
}


def modules() -> list[str]:
    """Public modules, those that others are parts of first."""
    names = ["csf", *(module.name for module in pkgutil.walk_packages(csf.__path__, "csf."))]
    return sorted(
        (name for name in names if not any(part.startswith("_") for part in name.split("."))),
        key=lambda name: (name.count("."), name),
    )


def public() -> dict[str, object]:
    """Each object that users import or get as a result, by the shortest name that it can be imported by."""
    packages = [name for name in modules() if name.count(".") <= 1 and name not in INTERNAL]
    exports = {name: importlib.import_module(name).__all__ for name in packages} | RETURNED
    found, known = {}, set()
    for module, names in exports.items():
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            defined = inspect.isclass(thing) or inspect.isroutine(thing)
            key = id(thing) if defined else (name, repr(thing)[:200])
            # Old names of things that are called otherwise today lead to their page.
            if key not in known and (not defined or thing.__name__ == name):
                known.add(key)
                found[f"{module}.{name}"] = thing
    return found


def package_of(name: str) -> str:
    """Part of the package that a name belongs to."""
    parts = name.split(".")
    package = ".".join(parts[:2])
    return "csf" if len(parts) == 2 or package in INTERNAL else package


def summary(thing: object) -> str:
    """First line of a docstring."""
    documented = inspect.isclass(thing) or inspect.isroutine(thing)
    return (inspect.getdoc(thing) or "").partition("\n")[0] if documented else f"{type(thing).__name__}."


def titled(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def page(name: str, thing: object) -> str:
    """Source of the page of one name."""
    head = titled(name.rpartition(".")[2]) + f"\n.. currentmodule:: {name.rpartition('.')[0]}\n\n"
    if inspect.isclass(thing):
        members = "".join(f"\n   .. auto{kind}:: {name}.{member}\n" for member, kind in _members(thing))
        return f"{head}.. autoclass:: {name}\n{members}"
    if inspect.isroutine(thing):
        return f"{head}.. autofunction:: {name}\n"
    return f"{head}.. py:data:: {name.rpartition('.')[2]}\n\n   {value_of(thing)}\n"


def _members(owner: type) -> list[tuple[str, str]]:
    """Public methods and properties that csf defines, its own first."""
    found = []
    for kind in owner.__mro__:
        for member, value in vars(kind).items():
            if (
                member.startswith("_")
                or not kind.__module__.startswith("csf.")
                or _home(owner, member) != kind.__module__
            ):
                continue
            if isinstance(value, property) or type(value).__name__ == "cached_property":
                found.append((member, "property"))
            # What scikit-learn adds to each class is documented there.
            elif callable(method := getattr(owner, member)) and _module(method).startswith("csf"):
                found.append((member, "method"))
    return list(dict.fromkeys(found))


def _module(thing: object) -> str:
    return getattr(thing, "__module__", None) or ""


def _home(owner: type, member: str) -> str:
    """Module of the class that defines a member."""
    return next(kind.__module__ for kind in owner.__mro__ if member in vars(kind))


def value_of(thing: object) -> str:
    """What a constant holds, in a line."""
    if isinstance(thing, dict):
        return f"Names: {', '.join(f'``{key!r}``' for key in thing)}."
    return f"``{thing!r}``" if isinstance(thing, (str, int, float, tuple)) else f"A {type(thing).__name__}."


def package_page(name: str, members: dict[str, object]) -> str:
    """Source of the page of one part of the package."""
    module = importlib.import_module(name)
    lines = [titled(name), f".. py:module:: {name}\n", f"{inspect.getdoc(module)}\n"]
    lines += [".. list-table::\n   :widths: 35 65\n"]
    for member, thing in members.items():
        shown = member if name == "csf" else member.removeprefix(f"{name}.")
        lines.append(f"   * - :py:obj:`{shown} <{member}>`\n     - {summary(thing)}")
    lines.append("\n.. toctree::\n   :hidden:\n")
    lines += [f"   {member}" for member in members]
    return "\n".join(lines) + "\n"


def index_page(packages: list[str]) -> str:
    """Source of the first page: the parts of the package by task."""
    known = {name for names in TASKS.values() for name in names}
    lines = [titled("Reference"), "What you import, by what you want to do.\n"]
    for task, names in {**TASKS, EXTENDING: [name for name in packages if name not in known]}.items():
        lines += [titled(task, "-"), ".. list-table::\n   :widths: 25 75\n"]
        lines += [f"   * - :doc:`{name} <{name}>`\n     - {summary_of_module(name)}" for name in names]
        lines.append("")
    lines.append(".. toctree::\n   :hidden:\n")
    lines += [f"   {name}" for name in packages]
    return "\n".join(lines) + "\n"


def write_sources(app) -> None:
    """Write the sources of all pages; those that stay as they are keep their time, so that nothing is built twice."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    names = public()
    packages: dict[str, dict[str, object]] = {}
    for name, thing in names.items():
        packages.setdefault(package_of(name), {})[name] = thing
    sources = {f"{name}.rst": page(name, thing) for name, thing in names.items()}
    sources |= {f"{name}.rst": package_page(name, members) for name, members in packages.items()}
    sources["index.rst"] = index_page(list(packages))
    for path in folder.glob("*.rst"):
        if path.name not in sources:
            path.unlink()
    for name, text in sources.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    app.env.csf_names = _aliases(names)
    classes = {name: thing for name, thing in names.items() if inspect.isclass(thing)}
    app.env.csf_members = {f"{name}.{member}" for name, kind in classes.items() for member, _ in _members(kind)}


def summary_of_module(name: str) -> str:
    return (inspect.getdoc(importlib.import_module(name)) or "").partition("\n")[0]


def _aliases(names: dict[str, object]) -> dict[str, str]:
    """Documented name by every name that docstrings may use."""
    found: dict[str, str] = {}
    by_object = {id(thing): name for name, thing in names.items()}
    for module in map(importlib.import_module, modules()):
        for name, thing in list(vars(module).items()):
            if id(thing) in by_object:
                found[f"{module.__name__}.{name}"] = by_object[id(thing)]
    short: dict[str, set[str]] = {}
    for name in names:
        short.setdefault(name.rpartition(".")[2], set()).add(name)
    # A name that two parts have is that of the one which people import from.
    for name, targets in short.items():
        found.setdefault(name, min(targets, key=lambda target: (target.count("."), target)))
    return found


def resolve(app, env, node, contnode):
    """Link to a name that Sphinx does not know under what a docstring calls it."""
    target = node.get("reftarget", "").lstrip(".~")
    known = env.csf_names
    head, _, member = target.rpartition(".")
    for name, anchor in ((target, ""), (head, member)):
        if name in known:
            page, documented = f"{FOLDER}/{known[name]}", f"{known[name]}.{anchor}"
            documented = documented if documented in env.csf_members else known[name]
            uri = app.builder.get_relative_uri(node["refdoc"], page)
            return nodes.reference("", "", contnode, internal=True, refuri=f"{uri}#{documented}")
    if target.startswith("csf.") and target.count(".") > 1:  # a module within a part
        part = ".".join(target.split(".")[:2])
        if target in modules():
            uri = app.builder.get_relative_uri(node["refdoc"], f"{FOLDER}/{part}")
            return nodes.reference("", "", contnode, internal=True, refuri=uri)
    return _outside(SHORT.get(target, target), contnode)


def _outside(target, contnode):
    library = target.partition(".")[0]
    if library in OUTSIDE and "." in target and _is_public(target):
        return nodes.reference("", "", contnode, internal=False, refuri=OUTSIDE[library].format(name=target))
    if target in builtin_names and target not in ("None", "True", "False"):
        kind = "exceptions" if target.endswith(("Error", "Warning", "Exception")) else "functions"
        uri = f"https://docs.python.org/3/library/{kind}.html#{target}"
        return nodes.reference("", "", contnode, internal=False, refuri=uri)
    return None


def _is_public(target: str) -> bool:
    """Whether a library has such a class or function."""
    module, _, name = target.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False


def setup(app):
    app.connect("builder-inited", write_sources)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
