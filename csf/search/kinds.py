"""Kind of problem that a fitted search solved."""

from __future__ import annotations

from typing import Any, TypeGuard


def kind_of(search: object) -> str | None:
    """Return the ``kind`` of a fitted search's result; ``None`` before `fit`, and for other objects."""
    result = getattr(search, "result_", None)
    return None if result is None else result.kind


def is_search(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch`, fitted or not."""
    return hasattr(type(part), "held_out_curve")


def is_class_search(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch` fitted to several classes without a null class."""
    return kind_of(part) == "multiclass"


def is_row_search(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch` fitted to costs of each row."""
    return kind_of(part) == "row_costs"


def is_label_search(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch` fitted to several labels, each of which has its own search."""
    return kind_of(part) == "multilabel"


def has_several_labels(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch` fitted to several labels, with a search for each or one threshold for all."""
    return kind_of(part) in ("multilabel", "shared_threshold")
