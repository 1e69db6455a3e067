"""The lower-left edge of what support lines leave, against half-plane clipping."""

import numpy as np
import pytest
from builders import rates, shares
from hypothesis import given
from hypothesis import strategies as st
from oracles import half_planes

from csf.bounds.polygon import best_on_chain, clip_chain, support_chain
from csf.metrics import FBeta, Metric, get_metric

cost = st.floats(1e-3, 10.0) | st.sampled_from([0.5, 1.0, 2.0])


class Youden(Metric):
    """Constant along support lines of balanced costs: the hardest case for a search on an edge."""

    def value(self, fn, fp, *, pos):
        return 1 - fn / pos - fp / (1 - pos)


@st.composite
def support_lines(draw, *, max_size=6):
    """Shares, and lines of profiles that are possible: (c_fn, c_fp, rhs) with the upper right corner above each."""
    pos = draw(shares)
    rows = draw(st.lists(st.tuples(cost, cost, rates, rates), max_size=max_size))
    lines = [(c_fn, c_fp, c_fn * fnr * pos + c_fp * fpr * (1 - pos)) for c_fn, c_fp, fnr, fpr in rows]
    return pos, lines


def chain_of(lines, pos):
    c_fn, c_fp, rhs = np.array(lines, dtype=float).reshape(-1, 3).T
    return support_chain(c_fn, c_fp, rhs, pos=pos)


@given(case=support_lines(), tilt=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_chain_supports_the_polygon_in_every_direction(case, tilt):
    """Two sets with the same smallest weighted error for all costs have the same lower-left edge."""
    pos, lines = case
    chain, polygon = chain_of(lines, pos), np.array(half_planes.possible(lines, pos))
    for share in [*tilt, 1e-3, 0.5, 1.0 - 1e-3]:
        costs = np.array([share / pos, (1.0 - share) / (1.0 - pos)])
        # Clipping may lose a polygon that is a single corner to rounding.
        if polygon.size:
            assert (chain @ costs).min() == pytest.approx((polygon @ costs).min(), abs=1e-6)


@given(case=support_lines())
def test_chain_goes_down_to_the_right_inside_the_box_above_all_lines(case):
    pos, lines = case
    chain = chain_of(lines, pos)
    assert (np.diff(chain[:, 0]) >= 0).all()
    assert (np.diff(chain[:, 1]) <= 0).all()
    assert (chain >= 0).all()
    assert (chain <= [pos, 1.0 - pos]).all()
    for c_fn, c_fp, rhs in lines:
        assert (chain @ [c_fn, c_fp] >= rhs - 1e-9 * (c_fn + c_fp)).all()


def test_upright_and_level_lines():
    chain = support_chain(np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.1, 0.2]), pos=0.4)
    assert chain.tolist() == [[0.1, 0.2]]
    assert support_chain(*np.empty((3, 0)), pos=0.4).tolist() == [[0.0, 0.0]]


def test_a_line_through_the_worst_corner_leaves_the_corner():
    chain = support_chain(np.array([2.0]), np.array([1.0]), np.array([2.0 * 0.4 + 0.6]), pos=0.4)
    assert np.allclose(chain, [[0.4, 0.6]])


# ---------------------------------------------------------------- clipping


@given(case=support_lines(), normal=st.tuples(cost, cost), level=rates)
def test_clipped_chain_is_the_edge_of_the_clipped_polygon(case, normal, level):
    pos, lines = case
    rhs = level * (normal[0] * pos + normal[1] * (1 - pos))
    part = clip_chain(chain_of(lines, pos), normal, rhs)
    polygon = half_planes.clip(half_planes.possible(lines, pos) or [(2.0, 2.0)], normal, rhs)
    if not part.size:
        assert all(normal[0] * x + normal[1] * y >= rhs - 1e-9 for x, y in polygon)
        return
    assert (part @ normal <= rhs + 1e-9 * (1.0 + rhs)).all()
    assert (np.diff(part[:, 0]) >= -1e-12).all()
    if polygon:
        best = max(FBeta().value(x, y, pos=pos) for x, y in polygon)
        assert FBeta().value(part[:, 0], part[:, 1], pos=pos).max() == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_clipping_keeps_a_chain_that_lies_inside_and_drops_one_that_does_not():
    chain = np.array([[0.0, 0.5], [0.1, 0.1], [0.4, 0.0]])
    assert clip_chain(chain, (1.0, 1.0), 2.0) is chain
    assert clip_chain(chain, (1.0, 1.0), 0.1).shape == (0, 2)
    assert np.allclose(clip_chain(chain, (1.0, 1.0), 0.2), [0.1, 0.1])
    middle = clip_chain(chain, (1.0, 1.0), 0.3)
    assert middle == pytest.approx(np.array([[0.2 / 3, 0.7 / 3], [0.1, 0.1], [0.25, 0.05]]))


# ---------------------------------------------------------------- maxima


@pytest.mark.parametrize("metric", [FBeta(2.0), Youden(), *map(get_metric, ("gmean", "hmean", "qmean", "min_rate"))])
@given(case=support_lines(max_size=4), tol=st.sampled_from([1e-2, 1e-4]))
def test_best_on_chain_is_the_maximum_or_a_little_more(metric, case, tol):
    pos, lines = case
    chain = chain_of(lines, pos)

    def value(fn, fp):
        return metric.value(fn, fp, pos=pos)

    share = np.linspace(0.0, 1.0, 2001)[:, None, None]
    dense = (chain[:-1] + share * np.diff(chain, axis=0)).reshape(-1, 2)
    dense = np.concatenate([chain, dense]).clip(0, [pos, 1 - pos])
    true = value(dense[:, 0], dense[:, 1]).max()
    best = best_on_chain(chain, value, tol=tol)
    assert best >= true - 1e-12
    # The grid itself misses the maximum by no more than one of its steps.
    assert best <= true + tol + 1e-3


def test_pieces_that_were_given_up_keep_their_say():
    """The first edge is given up at once, its ceiling of 0.58 being within tol; it holds the maximum all the same."""
    chain = np.array([[0.0, 1.0], [0.5, 0.4], [1.0, 0.0]])

    def value(fn, fp):
        fn, fp = np.asarray(fn), np.asarray(fp)
        peak, decoy = (fn <= 0.25) & (fp <= 0.7), (fn <= 0.5) & (fp <= 0.0)
        return np.where(decoy, 0.7, np.where(peak, 0.58, 0.5))

    assert value(0.25, 0.7) == 0.58
    assert best_on_chain(chain, value, tol=0.1) >= 0.58


def test_one_vertex_is_its_own_best():
    assert best_on_chain(np.array([[0.1, 0.2]]), lambda fn, fp: 1 - fn - fp) == pytest.approx(0.7)
