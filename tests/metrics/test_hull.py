"""Hulls of known error profiles."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from csf.metrics import profile as module
from csf.metrics.profile import Hull

coordinate = st.floats(0.0, 1.0, allow_subnormal=False) | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
clouds = st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=20)
costs = st.tuples(st.floats(0.0, 10.0), st.floats(0.0, 10.0))


@given(points=clouds, c=costs)
def test_cheapest_is_the_cheapest_of_all_points(points, c):
    hull = Hull(points)
    assert hull.cheapest(*c) == pytest.approx(min(c[0] * x + c[1] * y for x, y in points), abs=1e-12)
    assert {tuple(point) for point in hull.points.tolist()} <= set(points)


@given(points=clouds)
def test_vertices_go_down_to_the_right_and_turn_left(points):
    x, y = Hull(points).points.T
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) < 0).all()
    turns = np.diff(x)[:-1] * np.diff(y)[1:] - np.diff(y)[:-1] * np.diff(x)[1:]
    assert (turns > 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_lower_left_part_of_scipys_hull(seed):
    rng = np.random.default_rng(seed)
    points = rng.random((200, 2)) ** rng.uniform(0.3, 3.0)
    full = ConvexHull(points)
    # Facets whose outward normal points down and left, and the vertices they join.
    facing = (full.equations[:, 0] < 0) & (full.equations[:, 1] < 0)
    expected = points[np.unique(full.simplices[facing])]
    assert Hull(points).points == pytest.approx(expected[np.argsort(expected[:, 0])])


@given(points=clouds, seed=st.integers(0, 100))
def test_order_and_copies_do_not_matter(points, seed):
    mixed = np.random.default_rng(seed).permutation(points + points)
    assert Hull(mixed) == Hull(points)
    assert hash(Hull(mixed)) == hash(Hull(points))
    assert Hull(Hull(points).points) == Hull(points)


def test_hulls_are_frozen_values():
    hull = Hull([(0.0, 0.5), (-0.0, 0.6), (0.3, -0.0)])
    assert hull == Hull([(0.0, 0.5), (0.3, 0.0)])
    assert hash(hull) == hash(Hull([(0.0, 0.5), (0.3, 0.0)]))
    assert pickle.loads(pickle.dumps(hull)) == hull
    assert hull != "hull"
    assert eval(repr(hull)) == hull
    with pytest.raises(ValueError, match="read-only"):
        hull.points[0, 0] = 1.0


def test_many_costs_at_once():
    hull = Hull([(0.0, 0.5), (0.1, 0.1), (0.3, 0.0)])
    assert hull.cheapest(np.array([1.0, 10.0]), np.array([10.0, 1.0])).tolist() == pytest.approx([0.3, 0.5])


# ---------------------------------------------------------------- unions


@given(parts=st.lists(clouds, min_size=1, max_size=6), seed=st.integers(0, 100))
def test_union_is_the_hull_of_all_points_in_any_order(parts, seed):
    hulls = [Hull(points) for points in parts]
    expected = Hull([point for points in parts for point in points])
    mixed = [hulls[i] for i in np.random.default_rng(seed).permutation(len(hulls))]
    # Points in rounding distance of an edge may stay or go; what is cheapest does not change.
    for union in (Hull.union(hulls), Hull.union(mixed)):
        for c in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (3.0, 1.0), (0.2, 1.0)):
            assert union.cheapest(*c) == pytest.approx(expected.cheapest(*c), abs=1e-12)


def test_growing_and_shrinking_sequences_are_merged_right():
    rng = np.random.default_rng(0)
    hulls = [Hull(rng.random((5, 2))) for _ in range(60)]
    for n in [*range(1, 61), *range(60, 0, -7)]:
        assert Hull.union(hulls[:n]) == Hull(np.concatenate([hull.points for hull in hulls[:n]]))


def test_sliding_sequences_are_merged_right():
    rng = np.random.default_rng(3)
    hulls = [Hull(rng.random((5, 2))) for _ in range(20)]
    for n in range(1, 6):
        for start in range(15):
            part = hulls[start : start + n]
            assert Hull.union(part) == Hull(np.concatenate([hull.points for hull in part]))
            assert Hull.union(part[::-1]).cheapest(1.0, 1.0) == Hull.union(part).cheapest(1.0, 1.0)


def test_memory_of_unions_is_small_and_never_mistakes_new_hulls_for_old_ones():
    """Python gives the addresses of dead objects to new ones: a key of addresses must keep its objects alive."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        hulls = [Hull(rng.random((3, 2))) for _ in range(4)]
        for n in range(1, 5):
            assert Hull.union(hulls[:n]) == Hull(np.concatenate([hull.points for hull in hulls[:n]]))
        del hulls
        gc.collect(0)
    assert len(module._UNIONS) <= 32


def test_unions_in_threads():
    def work(seed):
        rng = np.random.default_rng(seed)
        hulls = []
        for _ in range(100):
            hulls.append(Hull(rng.random((3, 2))))
            assert Hull.union(hulls) == Hull(np.concatenate([hull.points for hull in hulls]))
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


# ---------------------------------------------------------------- means


@given(parts=st.lists(clouds, min_size=1, max_size=4), weights=st.lists(st.floats(0.1, 1.0), min_size=4, max_size=4))
def test_mean_has_the_mean_support_function(parts, weights):
    """The cheapest mean of one profile a fold is the mean of the cheapest, for all costs."""
    hulls = [Hull(points) for points in parts]
    shares = np.array(weights[: len(hulls)])
    shares /= shares.sum()
    mean = Hull.mean(hulls, shares)
    for angle in np.linspace(0.0, np.pi / 2, 33):
        c = np.cos(angle), np.sin(angle)
        expected = sum(share * hull.cheapest(*c) for share, hull in zip(shares, hulls, strict=True))
        assert mean.cheapest(*c) == pytest.approx(expected, abs=1e-9)


@given(points=clouds)
def test_mean_with_itself_and_with_folds_that_do_not_count(points):
    hull, other = Hull(points), Hull([(0.9, 0.9), (1.0, 0.1)])
    for hulls, shares in (([hull, hull], [0.5, 0.5]), ([hull, other], [1.0, 0.0]), ([other, hull], [0.0, 1.0])):
        mean = Hull.mean(hulls, shares)
        for c in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (3.0, 1.0)):
            assert mean.cheapest(*c) == pytest.approx(hull.cheapest(*c), abs=1e-9)


def test_mean_of_brute_force():
    rng = np.random.default_rng(2)
    first, second = rng.random((8, 2)), rng.random((8, 2))
    pairs = 0.3 * first[:, None] + 0.7 * second
    expected = Hull(pairs.reshape(-1, 2)).points
    assert Hull.mean([Hull(first), Hull(second)], [0.3, 0.7]).points == pytest.approx(expected)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("points", [[], [0.1, 0.2], [[0.1, 0.2, 0.3]], np.empty((0, 2)), [[[0.1, 0.2]]]])
def test_points_are_pairs(points):
    with pytest.raises(ValueError, match=r"points must have shape \(n_points, 2\) with n_points >= 1, got"):
        Hull(points)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_points_are_finite(bad):
    with pytest.raises(ValueError, match=r"points must be finite, got \[0\.2, -?(nan|inf)\]"):
        Hull([(0.1, 0.1), (0.2, bad)])


def test_points_are_numbers():
    with pytest.raises(ValueError, match="points must be an array of numbers"):
        Hull([("a", "b")])
