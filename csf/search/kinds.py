"""Kind of problem that a fitted search solved."""

from __future__ import annotations

from typing import Any, TypeGuard

# Kinds of several labels a sample: with a search for each, and with one threshold for all.
LABELS = ("multilabel", "shared_threshold")


def kind_of(search: object) -> str | None:
    """Return the ``kind`` of a fitted search's result; ``None`` before `fit`, and for other objects."""
    result = getattr(search, "result_", None)
    return None if result is None else result.kind


def is_search(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch`, fitted or not."""
    return hasattr(type(part), "held_out_curve")
