"""The highest point under cones, against a look at every crossing."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import envelope as oracle

from csf.bounds.cone import Cone
from csf.bounds.envelope import highest_levels

# Few distinct numbers make ties, touching cones and shared heights likely.
coarse = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 0.875, 1.0])
number = coarse | st.floats(1e-9, 1.0)
slope = st.sampled_from([0.0, 0.5, 1.0, 2.0, 1e3, 1e12]) | st.floats(1e-6, 5.0)


@st.composite
def cones(draw, *, max_size=8, finite=False):
    value = number if finite else number | st.just(np.inf)
    rows = draw(st.lists(st.tuples(number, value, slope, slope), max_size=max_size, unique_by=lambda row: row[0]))
    return Cone(*np.array(rows, dtype=float).reshape(-1, 4).T)


@st.composite
def cones_and_open_intervals(draw):
    part = draw(cones())
    return part, np.array(draw(st.lists(st.booleans(), min_size=part.t.size + 1, max_size=part.t.size + 1)), dtype=bool)


def check_ranges(part, lo, hi, is_open, height, ranges):
    """Each range lies in an open interval, is as high as it says, and holds all that is as high there."""
    assert ranges.shape[0] > 0
    edges = np.concatenate([[lo], np.sort(part.t), [hi]])
    levels = oracle.candidates(part, lo, hi)
    for start, end in ranges:
        assert start <= end
        interval = [k for k in np.flatnonzero(is_open) if edges[k] - 1e-12 <= start and end <= edges[k + 1] + 1e-12]
        assert interval
        steepest = max(part.slope_left.max(initial=1.0), part.slope_right.max(initial=1.0))
        between = oracle.height(part, np.clip(np.linspace(start, end, 9), lo, hi), hi)
        assert (between >= height - 1e-9 * max(1.0, steepest * 1e-6)).all()
    for k in np.flatnonzero(is_open):
        inside = levels[(levels >= edges[k]) & (levels <= edges[k + 1])]
        as_high = inside[oracle.height(part, inside, hi) == height]
        for level in as_high:
            assert ((ranges[:, 0] <= level + 1e-6) & (level - 1e-6 <= ranges[:, 1])).any()


@given(part=cones())
@example(part=Cone(*np.array([[0.25, 0.3, 0.0, 0.01], [0.5, 0.3, 0.0, 0.01]]).T))
@example(part=Cone(*np.array([[0.25, 0.98149648, 0.0, 0.009], [0.5, 0.98149648, 0.0, 0.009]]).T))
def test_highest_point_is_that_of_the_oracle(part):
    height, ranges = highest_levels(part, 0.0, 1.0)
    assert height == pytest.approx(oracle.highest(part, 0.0, 1.0), rel=1e-9, abs=1e-9)
    check_ranges(part, 0.0, 1.0, np.ones(part.t.size + 1, dtype=bool), height, ranges)


@given(case=cones_and_open_intervals())
def test_closed_intervals_are_left_out(case):
    part, is_open = case
    height, ranges = highest_levels(part, 0.0, 1.0, is_open=is_open)
    if not is_open.any():
        assert height == -np.inf
        assert ranges.shape == (0, 2)
        return
    order = np.argsort(part.t)
    part = Cone(*(side[order] for side in part))
    assert height == pytest.approx(oracle.highest(part, 0.0, 1.0, is_open), rel=1e-9, abs=1e-9)
    check_ranges(part, 0.0, 1.0, is_open, height, ranges)


@given(part=cones(finite=True), seed=st.integers(0, 100))
def test_order_of_the_cones_does_not_matter(part, seed):
    mixed = np.random.default_rng(seed).permutation(part.t.size)
    expected = highest_levels(part, 0.0, 1.0)
    height, ranges = highest_levels(Cone(*(side[mixed] for side in part)), 0.0, 1.0)
    assert height == expected[0]
    assert np.array_equal(ranges, expected[1])


@pytest.mark.parametrize("seed", range(20))
def test_sixty_random_cones(seed):
    rng = np.random.default_rng(seed)
    lo, hi = -0.5, 1.5
    t = np.sort(rng.uniform(lo, hi, 60))
    value = rng.uniform(0.2, 1.5, 60) if seed % 2 else rng.choice([0.5, 0.75, 1.0, np.inf], 60)
    part = Cone(t, value, *rng.choice([0.0, 0.3, 1.0, 8.0], (2, 60)))
    is_open = rng.random(61) < 0.7
    for closed in (None, is_open):
        height, ranges = highest_levels(part, lo, hi, is_open=closed)
        assert height == pytest.approx(oracle.highest(part, lo, hi, closed), rel=1e-9, abs=1e-9)
        check_ranges(part, lo, hi, np.ones(61, dtype=bool) if closed is None else closed, height, ranges)


def test_a_thousand_equal_cones_with_flat_sides_end():
    t = np.linspace(0.0005, 0.9995, 1000)
    part = Cone(t, np.full(1000, 1.0 / 3.0), np.zeros(1000), np.full(1000, 0.1))
    height, ranges = highest_levels(part, 0.0, 1.0)
    assert height == pytest.approx(1.0 / 3.0 + 0.1 * 0.0005, abs=1e-12)
    assert ranges == pytest.approx(np.array([[1.0, 1.0]]))


def test_no_cones_leave_everything_at_the_ceiling():
    height, ranges = highest_levels(Cone(*np.empty((4, 0))), 0.0, 1.0)
    assert height == 1.0
    assert ranges.tolist() == [[0.0, 1.0]]


def test_a_cone_that_bounds_nothing_only_divides():
    height, ranges = highest_levels(Cone(*np.array([[0.4], [np.inf], [0.0], [0.0]])), 0.0, 1.0)
    assert height == 1.0
    assert ranges.tolist() == [[0.0, 0.4], [0.4, 1.0]]


def test_ranges_at_the_ceiling_end_where_the_cones_reach_it():
    part = Cone(*np.array([[0.5], [0.8], [1.0], [0.5]]))
    height, ranges = highest_levels(part, 0.0, 1.0)
    assert height == 1.0
    assert ranges == pytest.approx(np.array([[0.0, 0.3], [0.9, 1.0]]))
