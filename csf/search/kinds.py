"""Which kind of problem a fitted search solved."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_search(part: object) -> TypeGuard[Any]:
    """Whether it is a `CostSearch`, fitted or not."""
    return hasattr(type(part), "held_out_curve")


def is_class_search(part: object) -> TypeGuard[Any]:
    """Whether it is a `CostSearch` that was fitted to several classes that are all alike."""
    return hasattr(part, "class_costs_")


def is_row_search(part: object) -> TypeGuard[Any]:
    """Whether it is a `CostSearch` that was fitted to costs of each row."""
    return hasattr(part, "row_costs_")


def is_label_search(part: object) -> TypeGuard[Any]:
    """Whether it is a `CostSearch` that was fitted to several labels, each of which has a search of its own."""
    return hasattr(part, "searches_")
