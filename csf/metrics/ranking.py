"""Who is better, said once: what every choice among trials, thresholds and tables of results goes by."""

from __future__ import annotations

__all__ = ["rank"]


def rank(violation: float, value: float, number: int = 0, setting: int = 0) -> tuple[float, float, int, int]:
    """Smaller is better: the smaller miss of the constraint, the larger value, then the earlier trial and setting."""
    return violation, -value, number, setting
