"""What every package needs: checks, types, files, messages, threads, compiled loops, scikit-learn's private names.

``import csf`` loads this file, and nothing else of csf.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["__version__"]

__version__ = "0.2.0"

# What writes and sums up the report of a fitted search, and draws a monitor. Searches lie below plots and pages, and
# import neither: csf itself, which knows all packages, names them here.
write_report: Callable[..., None]
summarise: Callable[..., Any]
plot_monitor: Callable[..., Any]
