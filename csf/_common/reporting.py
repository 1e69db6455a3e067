"""What writes the report of a fitted search.

Searches lie below plots and pages, and import neither: csf itself, which knows all packages, names the writer here.
"""

from collections.abc import Callable

__all__ = ["write_report"]

write_report: Callable[..., None]
