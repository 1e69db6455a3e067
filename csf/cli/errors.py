"""Errors that a user of the command line can correct, and packages that only the command line needs."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["CliError", "require"]


class CliError(Exception):
    """Something in the command or the data that the user can correct; shown as one line."""


def require(module: str, purpose: str) -> ModuleType:
    """Import a package of the extra ``csf-search[cli]``."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise CliError(f"{purpose} needs {package}: pip install 'csf-search[cli]'") from error
