"""Bounds by name."""

import pytest

from csf.bounds import BOUNDS, Bound, get_bound


@pytest.mark.parametrize("name", BOUNDS)
def test_names_and_classes_are_known(name):
    assert issubclass(get_bound(name), Bound)
    assert get_bound(get_bound(name)) is BOUNDS[name]
    assert isinstance(BOUNDS[name].proven_at_levels, bool)


@pytest.mark.parametrize("name", ["convex", None, [], int, Bound.excess])
def test_anything_else_is_refused(name):
    with pytest.raises(ValueError, match=r"unknown bound .*; known: support, diagonal, envelope, parambath, or a subc"):
        get_bound(name)


def test_cones_are_not_proven_level_by_level():
    assert {name for name, bound in BOUNDS.items() if not bound.proven_at_levels} == {"envelope", "parambath"}
