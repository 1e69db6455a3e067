"""Find the class costs that maximise the metric you care about."""

from importlib import import_module
from typing import TYPE_CHECKING

from csf._common import __version__

if TYPE_CHECKING:
    from csf.cli.predict import load, save
    from csf.evaluate.audits import audit, labels_needed
    from csf.evaluate.predictions import metric_difference, metric_interval
    from csf.metrics.profile import ErrorProfile
    from csf.metrics.trials import Trial
    from csf.search import CostSearch
    from csf.search.study import Study
    from csf.search.threshold import certify, tune_threshold

__all__ = [
    "CostSearch",
    "ErrorProfile",
    "Study",
    "Trial",
    "__version__",
    "tune_threshold",
    "certify",
    "metric_difference",
    "metric_interval",
    "audit",
    "labels_needed",
    "load",
    "save",
]

# Where the names above live. They are found when they are first asked for: ``import csf`` itself costs nothing.
_MODULES = {
    "CostSearch": "csf.search",
    "ErrorProfile": "csf.metrics",
    "Study": "csf.search.study",
    "Trial": "csf.metrics.trials",
    "tune_threshold": "csf.search.threshold",
    "certify": "csf.search.threshold",
    "metric_difference": "csf.evaluate.predictions",
    "metric_interval": "csf.evaluate.predictions",
    "audit": "csf.evaluate.audits",
    "labels_needed": "csf.evaluate.audits",
    "load": "csf.cli.predict",
    "save": "csf.cli.predict",
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
