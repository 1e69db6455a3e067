"""Find the class costs that maximise the metric you care about."""

from importlib import import_module
from typing import TYPE_CHECKING

from csf import _common
from csf._common import __version__

if TYPE_CHECKING:
    from csf.cli.predict import load
    from csf.evaluate.predictions import difference, interval
    from csf.evaluate.trials import Trial
    from csf.metrics.profile import ErrorProfile
    from csf.search import CostSearch
    from csf.search.decide import decide
    from csf.search.study import Study

__all__ = ["CostSearch", "ErrorProfile", "Study", "Trial", "__version__", "decide", "difference", "interval", "load"]

# Where the names above live. They are found when they are first asked for: ``import csf`` itself costs nothing.
_MODULES = {
    "CostSearch": "csf.search",
    "ErrorProfile": "csf.metrics",
    "Study": "csf.search.study",
    "Trial": "csf.evaluate.trials",
    "decide": "csf.search.decide",
    "difference": "csf.evaluate.predictions",
    "interval": "csf.evaluate.predictions",
    "load": "csf.cli.predict",
}

# Packages that are there after ``import csf``, as ``csf.metrics``, without being loaded by it.
_PACKAGES = (
    *("bounds", "cli", "dask", "data", "distributed", "evaluate", "export", "fenchel", "learners", "metrics"),
    *("online", "plots", "report", "search", "show", "solvers", "spark", "strategies", "streams", "structural"),
    *("testing", "thresholding", "thresholds", "trainers"),
)


def _write_report(*given: object, **options: object) -> None:
    """Load what draws and writes pages when the first report is asked for."""
    import_module("csf.report").write_report(*given, **options)


def _summarise(search: object) -> object:
    return import_module("csf.report").summarise(search)


def _plot_monitor(monitor: object, ax: object) -> object:
    return import_module("csf.plots").MonitorDisplay.from_monitor(monitor).plot(ax)


_common.write_report, _common.summarise, _common.plot_monitor = _write_report, _summarise, _plot_monitor


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
