"""Bounds by name."""

import pytest
from builders import told

from csf.bounds import BOUNDS, Bound, get_bound, upper_bound
from csf.metrics import FBeta


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


@pytest.mark.parametrize("name", BOUNDS)
def test_no_bound_is_below_what_was_attained(name):
    """Models of levels that are far from exact, and a better one of equal costs, which have no level."""
    poor = [told(number, t, 0.8, 0.3, pos=0.3) for number, t in enumerate((0.2, 0.3, 0.4, 0.6))]
    good = told(4, None, 0.2, 0.1, pos=0.3, costs=(1.0, 1.0))
    assert upper_bound(poor, FBeta(), pos=0.3, bound="diagonal") < good.attained
    assert upper_bound([*poor, good], FBeta(), pos=0.3, bound=name) >= good.attained
