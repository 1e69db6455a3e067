"""What writes and sums up the report of a fitted search, and draws a monitor.

Searches lie below plots and pages, and import neither: csf itself, which knows all packages, names them here. It is a
file of its own because ``import csf`` loads it, and nothing else.
"""

from collections.abc import Callable
from typing import Any

write_report: Callable[..., None]
summarise: Callable[..., Any]
plot_monitor: Callable[..., Any]
