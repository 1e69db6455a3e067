"""What writes the report of a fitted search, sums it up, and draws a monitor.

Searches lie below plots and pages, and import neither: csf itself, which knows all packages, names them here.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["plot_monitor", "summarise", "write_report"]

write_report: Callable[..., None]
summarise: Callable[..., Any]
plot_monitor: Callable[..., Any]
