"""Concave metrics and their dual variables."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csf.metrics import GMean, HMean, MinRate, QMean, get_metric
from csf.thresholding import threshold_curve

CONCAVE = [GMean(), GMean(eps=0.04), HMean(), QMean(), MinRate()]
BOX_TOP = {GMean(): 0.5 / np.sqrt(1e-3), GMean(eps=0.04): 2.5, HMean(): 2.0, QMean(): np.sqrt(0.5), MinRate(): 1.0}

rate = st.floats(0.0, 1.0)
average = st.floats(-5.0, 1.0)
coordinate = st.floats(-1e6, 1e6) | st.floats(-3.0, 3.0)
each_metric = pytest.mark.parametrize("metric", CONCAVE, ids=repr)


def border(metric, count=2001):
    """Dense points of the part of the border of the dual region that faces the origin (for Q-mean, the arc)."""
    s = np.linspace(0.0, 1.0, count)
    if isinstance(metric, GMean):
        u = -0.5 * np.log(metric.eps) * (2.0 * s - 1.0)
        return 0.5 * np.exp(u), 0.5 * np.exp(-u)
    if isinstance(metric, HMean):
        return 2.0 * s**2, 2.0 * (1.0 - s) ** 2
    if isinstance(metric, QMean):
        return np.sin(s * np.pi / 2) * np.sqrt(0.5), np.cos(s * np.pi / 2) * np.sqrt(0.5)
    return s, 1.0 - s


def region(metric, count=401):
    """Border and interior of the dual region on a grid."""
    alpha, beta = border(metric)
    top = BOX_TOP[metric]
    low = 0.25 / top if isinstance(metric, GMean) else 0.0
    grid_a, grid_b = (g.ravel() for g in np.meshgrid(*[np.linspace(low, top, count)] * 2))
    keep = np.isfinite(metric.conjugate(grid_a, grid_b))
    return np.append(alpha, grid_a[keep]), np.append(beta, grid_b[keep])


@each_metric
def test_they_are_values_that_compare_and_pickle(metric):
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert get_metric(metric.name).name == metric.name


@each_metric
@given(tpr=rate, tnr=rate, other_tpr=rate, other_tnr=rate)
def test_tangents_majorise_and_touch(metric, tpr, tnr, other_tpr, other_tnr):
    """link(v) <= link(u) + grad(u)·(v - u), with equality of the Fenchel form at u; where a tangent exists."""
    alpha, beta = metric.gradient(tpr, tnr)
    touches = alpha * tpr + beta * tnr - metric.conjugate(alpha, beta)
    if min(tpr, tnr) > 1e-300:
        assert touches == pytest.approx(metric.link(tpr, tnr), abs=1e-12)
    tangent = alpha * other_tpr + beta * other_tnr - metric.conjugate(alpha, beta)
    assert tangent >= metric.link(other_tpr, other_tnr) - 1e-9 * max(1.0, alpha, beta)


@pytest.mark.parametrize(
    ("metric", "corner"),
    [(HMean(), (0, 0)), (GMean(), (0, 0.3)), (GMean(), (0.3, 0)), (QMean(), (1, 1)), (MinRate(), (0.2, 0.2))],
)
def test_where_there_is_no_tangent_both_slopes_are_a_half(metric, corner):
    assert metric.gradient(*corner) == (0.5, 0.5)
    assert np.isfinite(metric.conjugate(0.5, 0.5))


@each_metric
@given(tpr=rate, tnr=rate, other_tpr=rate, other_tnr=rate)
def test_lipschitz_constant_holds(metric, tpr, tnr, other_tpr, other_tnr):
    distance = np.hypot(tpr - other_tpr, tnr - other_tnr)
    if np.isfinite(metric.lipschitz):
        change = abs(metric.link(tpr, tnr) - metric.link(other_tpr, other_tnr))
        assert change <= metric.lipschitz * distance + 1e-12


@pytest.mark.parametrize(
    ("metric", "near", "far"),
    [
        (HMean(), (0.0, 1.0), (1e-6, 1.0)),
        (QMean(), (0.3, 0.3), (0.4, 0.4)),
        (MinRate(), (0.3, 0.9), (0.4, 0.9)),
    ],
)
def test_lipschitz_constant_is_tight(metric, near, far):
    slope = (metric.link(*far) - metric.link(*near)) / np.hypot(far[0] - near[0], far[1] - near[1])
    assert slope == pytest.approx(metric.lipschitz, rel=1e-3)


@each_metric
@given(alpha=st.floats(0.0, 3.0), beta=st.floats(0.0, 3.0))
@settings(max_examples=50)
def test_conjugate_is_the_infimum(metric, alpha, beta):
    """Against brute force over directions; the three homogeneous links need only the sign of the least form."""
    if isinstance(metric, QMean):  # by the distances of the rates from 1, over the plane
        angle = np.linspace(0.0, 2 * np.pi, 7201)
        slope = np.sqrt(0.5) - alpha * np.cos(angle) - beta * np.sin(angle)
        value_at_one = alpha + beta - 1.0
    else:
        angle = np.append(np.linspace(0.0, np.pi / 2, 7201), np.geomspace(1e-12, 1e-3, 400))
        u, v = np.cos(angle), np.sin(angle)
        link = {"gmean": np.sqrt(u * v), "hmean": 2 * u * v / (u + v), "min_rate": np.minimum(u, v)}[metric.name]
        slope = alpha * u + beta * v - link
        slope = np.append(np.append(slope, alpha * v + beta * u - link), 0.0)
        if isinstance(metric, MinRate):  # over the plane: also against the diagonal
            slope = np.append(slope, 1.0 - alpha - beta)
        value_at_one = 0.0
    conjugate, least = metric.conjugate(alpha, beta), slope.min()
    if np.isfinite(conjugate):
        assert conjugate == value_at_one
        assert least >= -1e-6
    else:
        assert least < 1e-6


@each_metric
@given(tpr=average, tnr=average)
@settings(max_examples=50)
@example(tpr=-1.0, tnr=-2.0)
@example(tpr=-1.0, tnr=-1.0)
@example(tpr=0.0, tnr=-1.0)
@example(tpr=-1.0, tnr=0.0)
@example(tpr=0.0, tnr=0.0)
@example(tpr=0.0, tnr=1.0)
@example(tpr=-1.0, tnr=1.0)
def test_extension_is_the_minimum_over_the_region(metric, tpr, tnr):
    alpha, beta = region(metric)
    brute = (alpha * tpr + beta * tnr - metric.conjugate(alpha, beta)).min()
    assert brute >= metric.extension(tpr, tnr) - 1e-9
    assert brute == pytest.approx(metric.extension(tpr, tnr), abs=1e-4 * (1 + abs(tpr) + abs(tnr)))


@each_metric
@given(tpr=rate, tnr=rate)
def test_extension_majorises_the_link(metric, tpr, tnr):
    link, extension = metric.link(tpr, tnr), metric.extension(tpr, tnr)
    assert extension >= link - 1e-12
    if not isinstance(metric, GMean) or (min(tpr, tnr) > metric.eps * max(tpr, tnr)):
        assert extension == pytest.approx(link, abs=1e-12)
    else:
        assert extension - link <= 0.5 * np.sqrt(metric.eps) + 1e-12


@each_metric
@given(p=average, n=average)
def test_duals_lie_in_the_region_and_swap_with_the_classes(metric, p, n):
    alpha, beta = metric.dual(p, n)
    assert np.isfinite(metric.conjugate(alpha, beta))
    assert max(alpha, beta) <= BOX_TOP[metric] * (1.0 + 1e-12)
    assert metric.dual(n, p) == pytest.approx((beta, alpha), rel=1e-12)


@each_metric
def test_learners_start_inside_the_region(metric):
    assert np.isfinite(metric.conjugate(*metric.initial_dual))
    assert max(metric.initial_dual) <= BOX_TOP[metric]


@each_metric
def test_arrays_give_arrays_and_scalars_floats(metric):
    p, n = np.array([[0.0, -0.3], [0.5, 1.0]]), np.array([[0.2, -0.1], [0.9, 1.0]])
    assert metric.extension(p, n).shape == p.shape
    for k in np.ndindex(p.shape):
        assert metric.extension(p, n)[k] == metric.extension(p[k], n[k])
        assert tuple(side[k] for side in metric.dual(p, n)) == metric.dual(p[k], n[k])
    assert isinstance(metric.extension(0.5, 0.2), float)
    assert isinstance(metric.link(0.5, 0.2), float)
    assert all(isinstance(side, float) for side in metric.gradient(0.5, 0.2))
    assert metric.link(np.linspace(0, 1, 5), 0.5).shape == (5,)


@each_metric
@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan])
def test_rates_out_of_range_are_refused(metric, bad):
    with pytest.raises(ValueError, match=r"tpr must be a rate in \[0, 1\], got"):
        metric.link(bad, 0.5)
    with pytest.raises(ValueError, match="tnr must be a rate"):
        metric.gradient(0.5, [0.2, bad])


def test_the_box_bounds_the_slope_of_the_extension():
    top = 0.5 / np.sqrt(1e-3)
    assert GMean().dual(0.0, 1.0) == pytest.approx((top, 0.25 / top))
    assert GMean().dual(-1.0, -2.0) == pytest.approx((top, top))
    assert GMean().extension(-1.0, -2.0) == pytest.approx(-3 * top)
    assert GMean().extension(-0.1, 0.5) == pytest.approx(-0.1 * top + 0.5 * 0.25 / top)


def test_eps_leaves_the_value_alone():
    assert GMean(eps=0.1).link(1e-6, 1.0) == GMean().link(1e-6, 1.0) == 1e-3


@pytest.mark.parametrize("metric", [GMean(), "hmean", "min_rate"], ids=str)
def test_what_rounding_leaves_of_a_rate_is_no_rate(metric):
    """1 - 2/3 is a little more than 1/3: all negatives are wrong at every cut, so that none is worth anything."""
    cut = threshold_curve([1, 0, 1], [1.0, 2.0, 0.0]).best(metric)
    assert (cut.threshold, cut.value) == (np.inf, 0.0)


def test_no_rate_no_value():
    assert HMean().link(0.0, 0.0) == 0.0
    assert HMean().link(5e-324, 1.0) == pytest.approx(0.0)


def test_extension_takes_the_corners_of_the_box():
    assert HMean().dual(-1.0, 0.5) == (2.0, 0.0)
    assert HMean().dual(-1.0, -2.0) == (2.0, 2.0)
    assert HMean().extension(-1.0, -2.0) == -6.0


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-9, 1.1e-10])
def test_classes_of_very_different_weight_keep_their_digits(share):
    y, score = np.array([1, 1, 0, 0, 0]), np.array([3.0, 1.0, 4.0, 2.0, 0.0])
    weight = np.where(y == 1, 0.5, share / 3)
    assert threshold_curve(y, score, sample_weight=weight).best("hmean").value == pytest.approx(4 / 7, rel=2e-6)


def test_classes_whose_rates_would_be_noise_are_refused():
    weight = np.array([1.0, 1.0, 1e-14])
    with pytest.raises(ValueError, match=r"negative class 1e-14 in total.*more similar size"):
        threshold_curve([1, 1, 0], [3.0, 1.0, 2.0], sample_weight=weight)


@given(p=st.floats(-5.0, 1.0), n=st.floats(-5.0, 1.0))
def test_extension_is_the_smaller_average(p, n):
    assert MinRate().extension(p, n) == pytest.approx(min(p, n), rel=1e-15, abs=1e-300)


@given(p=st.floats(-3.0, 1.0), n=st.floats(-3.0, 1.0))
def test_extension_is_the_formula_itself_up_to_one(p, n):
    formula = 1.0 - np.sqrt(((1.0 - p) ** 2 + (1.0 - n) ** 2) / 2.0)
    assert QMean().extension(p, n) == pytest.approx(formula, abs=1e-12)
