"""Find the class costs that maximise the metric you care about."""

from importlib import import_module
from typing import TYPE_CHECKING

from csf._common import __version__, reporting

if TYPE_CHECKING:
    from csf.metrics.profile import ErrorProfile
    from csf.search import CostSearch, MacroCostSearch
    from csf.study import Study
    from csf.trials import Trial

__all__ = ["CostSearch", "ErrorProfile", "MacroCostSearch", "Study", "Trial", "__version__"]

# Where the names above live. They are found when they are first asked for: ``import csf`` itself costs nothing.
_MODULES = {
    "CostSearch": "csf.search",
    "ErrorProfile": "csf.metrics",
    "MacroCostSearch": "csf.search",
    "Study": "csf.study",
    "Trial": "csf.trials",
}

# Packages that are there after ``import csf``, as ``csf.metrics``, without being loaded by it.
_PACKAGES = (
    *("bounds", "cli", "cluster", "dask", "data", "export", "fenchel", "metrics"),
    *("online", "plots", "report", "resampling", "search", "show", "solvers", "spark", "strategies", "streams"),
    *("structural", "study", "testing", "thresholding", "trainers", "trials"),
)


def _write_report(*given: object, **options: object) -> None:
    """Load what draws and writes pages when the first report is asked for."""
    import_module("csf.report").write_report(*given, **options)


reporting.write_report = _write_report


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
