"""Find the class costs that maximise the metric you care about."""

from importlib import import_module
from typing import TYPE_CHECKING

from csf._common import __version__

if TYPE_CHECKING:
    from csf.cli.predict import load
    from csf.evaluate.predictions import difference, interval
    from csf.metrics.profile import ErrorProfile
    from csf.metrics.trials import Trial
    from csf.search import CostSearch
    from csf.search.decide import decide
    from csf.search.study import Study

__all__ = ["CostSearch", "ErrorProfile", "Study", "Trial", "__version__", "decide", "difference", "interval", "load"]

# Where the names above live. They are found when they are first asked for: ``import csf`` itself costs nothing.
_MODULES = {
    "CostSearch": "csf.search",
    "ErrorProfile": "csf.metrics",
    "Study": "csf.search.study",
    "Trial": "csf.metrics.trials",
    "decide": "csf.search.decide",
    "difference": "csf.evaluate.predictions",
    "interval": "csf.evaluate.predictions",
    "load": "csf.cli.predict",
}

# Packages that are there after ``import csf``, as ``csf.metrics``, without being loaded by it.
_PACKAGES = (
    *("bounds", "cli", "dask", "data", "distributed", "evaluate", "export", "fenchel", "metrics", "monitoring"),
    *("online", "plots", "plugin", "report", "search", "solvers", "spark", "strategies", "streams", "structural"),
    *("testing", "thresholding", "trainers"),
)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        found = getattr(import_module(_MODULES[name]), name)
        globals()[name] = found
        return found
    if name in _PACKAGES:
        return import_module(f"csf.{name}")
    raise AttributeError(f"module 'csf' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
