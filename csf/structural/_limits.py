"""Limits of parameters that are squared, or multiply what is."""

from __future__ import annotations

from typing import Any

from csf._common.validation import check_positive

__all__ = ["check_moderate"]

# Squares of both ends, times shares of any number of samples, are numbers still.
_SMALLEST, _LARGEST = 1e-70, 1e70


def check_moderate(value: Any, name: str) -> float:
    """Check that ``value`` is a number > 0 whose square neither overflows nor vanishes, and return it as float."""
    value = check_positive(value, name)
    if not _SMALLEST <= value <= _LARGEST:
        raise ValueError(f"{name} must be a number from {_SMALLEST:g} to {_LARGEST:g}, got {value!r}")
    return value
