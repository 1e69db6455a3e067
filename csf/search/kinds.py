"""Kind of problem that a fitted search solved."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_search(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch`, fitted or not."""
    return hasattr(type(part), "held_out_curve")


def is_class_search(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch` fitted to several classes without a null class."""
    return hasattr(part, "class_costs_")


def is_row_search(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch` fitted to costs of each row."""
    return hasattr(part, "row_costs_")


def is_label_search(part: object) -> TypeGuard[Any]:
    """Check for a `CostSearch` fitted to several labels, each of which has its own search."""
    return hasattr(part, "searches_")
