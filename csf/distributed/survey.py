"""What the first pass over rows refuses, in the same words for all engines."""

from __future__ import annotations

from typing import NoReturn


def refuse_weight(name: str, met: object, where: str = "") -> NoReturn:
    """Raise a ValueError for a weight that is none, where it was met."""
    raise ValueError(f"{name} must hold finite numbers >= 0, got {met}{where}")


def refuse_fold(name: str, met: object, where: str = "", limit: str = "1, ...") -> NoReturn:
    """Raise a ValueError for a fold number that is none, where it was met; ``limit`` says which ones there are."""
    raise ValueError(
        f"{name} must hold fold numbers 0, {limit}, integers, or -1 for rows that are never held out, got {met}{where}"
    )
