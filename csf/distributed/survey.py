"""What the first pass over rows refuses, in the same words for all engines."""

from __future__ import annotations


def weight_error(name: str, met: object, where: str = "") -> ValueError:
    """Return the error for a weight that is none, where it was met."""
    return ValueError(f"{name} must hold finite numbers >= 0, got {met}{where}")


def fold_error(name: str, met: object, where: str = "", limit: str = "1, ...") -> ValueError:
    """Return the error for a fold number that is none, where it was met; ``limit`` says which ones there are."""
    return ValueError(
        f"{name} must hold fold numbers 0, {limit}, integers, or -1 for rows that are never held out, got {met}{where}"
    )
