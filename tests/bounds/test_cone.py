"""Cones: the closed forms, the half-plane oracle, the diagonal, polygons."""

import numpy as np
import pytest
import shapely
from builders import betas, histories, rates, shares, told
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import cone as oracle
from oracles import envelope, half_planes
from scipy.integrate import trapezoid

from csf import ErrorProfile, Trial
from csf.bounds import BOUNDS, ConeBound, DiagonalBound, ParambathBound
from csf.bounds.cone import UnreachableCone, error_span, highest_levels
from csf.metrics import (
    BalancedAccuracy,
    CustomMetric,
    FBeta,
    GMean,
    GowerLegendre,
    Jaccard,
    Precision,
    Recall,
    Tversky,
    WeightedAccuracy,
)

LINEAR = [
    FBeta(),
    FBeta(0.3),
    FBeta(4.0),
    Jaccard(),
    Tversky(0.7, 0.2),
    Tversky(2.0, 0.0),
    Tversky(0.0, 1.0),
    GowerLegendre(0.5),
    GowerLegendre(3.0),
    Precision(),
    Recall(),
    WeightedAccuracy(3.0, 0.5),
    BalancedAccuracy(),
    CustomMetric(lambda pos: (1.0, -1.0, -2.0, 3.0, 1.0, -0.5), levels=(-1.0, 0.5)),
]
each_metric = pytest.mark.parametrize("metric", LINEAR, ids=lambda metric: metric.name)
some_metrics = pytest.mark.parametrize("metric", [LINEAR[i] for i in (0, 2, 5, 9, 13)], ids=lambda metric: metric.name)


def trial(t=0.5, *, fn=0.1, fp=0.1, pos=0.3, **changes):
    c_fn, c_fp = FBeta().cost_weights(t, pos=pos)
    profile = ErrorProfile(fn=fn, fp=fp, pos=pos)
    return Trial(**{"number": 0, "t": t, "costs": (c_fn, c_fp), "state": "complete", "profile": profile} | changes)


# ---------------------------------------------------------------- spans


@given(pos=shares, beta=betas, fnr=rates, fpr=rates)
def test_span_of_f_beta_has_the_closed_forms_of_the_paper(pos, beta, fnr, fpr):
    fn, fp = fnr * pos, fpr * (1.0 - pos)
    lowest, highest = (float(end[0]) for end in error_span(FBeta(beta), fn, fp, pos=pos))
    assert highest == pytest.approx(oracle.largest_difference(fn, fp, pos, beta), rel=1e-9, abs=1e-9)
    assert highest == pytest.approx(oracle.largest_difference_by_errors(fn, fp, pos, beta), rel=1e-9, abs=1e-9)
    assert lowest == pytest.approx(oracle.smallest_difference(fn, fp, pos, beta), rel=1e-9, abs=1e-9)
    assert lowest == pytest.approx(oracle.smallest_difference_by_errors(fn, fp, pos, beta), rel=1e-9, abs=1e-9)


@each_metric
@given(pos=shares, fnr=rates, fpr=rates)
def test_span_is_that_of_the_clipped_box(metric, pos, fnr, fpr):
    """A linear function is extreme at a corner of {better profiles}, which is the box cut by one half-plane."""
    fn, fp = fnr * pos, fpr * (1.0 - pos)
    lowest, highest = (float(end[0]) for end in error_span(metric, fn, fp, pos=pos))
    c = metric.coefficients(pos)
    a_fn, a_fp = metric.cost_weights(metric.value(fn, fp, pos=pos), pos=pos)
    better = half_planes.clip(half_planes.box(pos), (a_fn, a_fp), a_fn * fn + a_fp * fp)
    spans = [c.d_fn * x + c.d_fp * y for x, y in [*better, (fn, fp)]]
    assert lowest == pytest.approx(min(spans), rel=1e-9, abs=1e-9)
    assert highest == pytest.approx(max(spans), rel=1e-9, abs=1e-9)


@each_metric
def test_span_holds_every_better_profile_of_a_grid(metric):
    pos, (x, y) = 0.3, np.meshgrid(np.linspace(0, 0.3, 121), np.linspace(0, 0.7, 121))
    values = metric.value(x, y, pos=pos)
    c = metric.coefficients(pos)
    differences = c.d_fn * x + c.d_fp * y
    for fn, fp in [(0.1, 0.2), (0.3, 0.0), (0.0, 0.7), (0.3, 0.7), (0.0, 0.0), (0.3, 0.2), (0.2, 0.0), (0.0, 0.1)]:
        lowest, highest = error_span(metric, fn, fp, pos=pos)
        better = differences[values > metric.value(fn, fp, pos=pos) + 1e-12]
        assert lowest[0] <= better.min(initial=np.inf) + 1e-9
        assert highest[0] >= better.max(initial=-np.inf) - 1e-9


def test_one_share_serves_several_of_the_other():
    each = [error_span(FBeta(), 0.1, fp, pos=0.3) for fp in (0.1, 0.4)]
    assert np.array_equal(error_span(FBeta(), 0.1, [0.1, 0.4], pos=0.3), np.concatenate(each, axis=1))


# ---------------------------------------------------------------- one cone


@given(pos=shares, beta=betas, fnr=rates, fpr=rates, t=st.floats(0.01, 0.99), other=rates, eps=st.floats(0.0, 0.1))
def test_cone_of_f_beta_is_the_one_of_the_paper(pos, beta, fnr, fpr, t, other, eps):
    told_trial = told(0, t, fnr, fpr, pos=pos, metric=FBeta(beta))
    e = told_trial.profile
    expected = oracle.cone_height(other, t, e.fn, e.fp, pos, beta, eps)
    bound = ConeBound([told_trial], FBeta(beta), pos=pos, eps=eps)
    assert bound.upper_bound(other) == pytest.approx(min(expected, 1.0), rel=1e-7, abs=1e-7)


@some_metrics
@given(data=st.data(), pos=shares)
def test_cones_open_upwards_from_the_value(metric, data, pos):
    trials = data.draw(histories(metric, pos, min_size=1))
    cones = ConeBound(trials, metric, pos=pos, eps=0.0).cones
    assert np.allclose(cones.value, [t.value for t in trials], rtol=0, atol=0)
    assert (cones.slope_left >= 0).all()
    assert (cones.slope_right >= 0).all()
    assert all(np.isfinite(part).all() for part in cones)


@some_metrics
@given(data=st.data(), pos=shares, levels=st.lists(rates, max_size=5))
def test_upper_bound_is_the_literal_minimum(metric, data, pos, levels):
    trials = data.draw(histories(metric, pos))
    lo, hi = metric.range(pos)
    levels = lo + (hi - lo) * np.array(levels)
    for bound in (ConeBound, ParambathBound):
        bound = bound(trials, metric, pos=pos)
        assert bound.upper_bound(levels) == pytest.approx(envelope.height(bound.cones, levels, hi), rel=1e-9, abs=1e-9)


def test_scaled_costs_make_the_same_bounds():
    """The imbalance ratio trains with a multiple of a(t); the excess is then in other units, not the bound."""
    plain, eps = trial(), 0.03
    scaled = trial(costs=(plain.c_fn / 4, plain.c_fp / 4))
    for name in ("envelope", "diagonal", "parambath"):
        expected = BOUNDS[name]([plain], FBeta(), pos=0.3, eps=eps)
        bound = BOUNDS[name]([scaled], FBeta(), pos=0.3, eps=eps / 4)
        assert bound.cones.value == pytest.approx(expected.cones.value, rel=1e-12)
        assert bound.best_possible() == pytest.approx(expected.best_possible(), rel=1e-12)


def test_excess_is_a_number_a_function_or_evidence():
    better = told(1, 0.4, 0.1, 0.1, pos=0.3)
    trials = [trial(), better]
    for eps in (0.02, lambda _: 0.02):
        assert ConeBound(trials, FBeta(), pos=0.3, eps=eps).excess() == pytest.approx([0.02, 0.02])
    own, other = trial().profile, better.profile
    missing = 1.5 * (own.fn - other.fn) + 0.5 * (own.fp - other.fp)
    assert ConeBound(trials, FBeta(), pos=0.3, eps="evidence").excess() == pytest.approx([missing, 0.0], abs=1e-15)


def test_only_complete_trials_with_a_level_count_in_any_order():
    trials = [told(i, t, 0.5 * t, 0.1, pos=0.3) for i, t in enumerate((0.3, 0.6, 0.8))]
    others = [
        Trial(number=7, t=None, costs=(0.7, 0.3), state="complete", profile=trial().profile),
        Trial(number=8, t=0.1, costs=(1.9, 0.1)),
        Trial(number=9, t=0.2, costs=(1.8, 0.2), state="failed", error="no"),
    ]
    levels = np.linspace(0, 1, 11)
    for name in ("envelope", "diagonal", "parambath"):
        expected = BOUNDS[name](trials, FBeta(), pos=0.3)
        bound = BOUNDS[name]([*others, *trials[::-1]], FBeta(), pos=0.3)
        assert np.array_equal(bound.upper_bound(levels), expected.upper_bound(levels))
        assert bound.best_possible() == expected.best_possible()


@pytest.mark.parametrize("name", ["envelope", "diagonal", "parambath"])
def test_without_trials_everything_is_possible(name):
    bound = BOUNDS[name]([], FBeta(), pos=0.3)
    assert bound.best_possible() == 1.0
    assert bound.upper_bound([0.1, 0.5]).tolist() == [1.0, 1.0]
    assert bound.excess().shape == (0,)
    assert bound.region().is_empty or bound.region().area == 0.0


def test_a_model_that_predicts_nothing_leaves_finite_precision_cones():
    """The denominator of precision is 0 there; a model trained at t that predicts nothing says that none exceeds t."""
    blind = told(0, 0.6, 1.0, 0.0, pos=0.3, metric=Precision())
    bound = DiagonalBound([blind], Precision(), pos=0.3)
    assert all(np.isfinite(part).all() for part in bound.cones)
    assert bound.best_possible() == pytest.approx(0.6, abs=1e-9)
    assert ConeBound([blind], Precision(), pos=0.3).region().area < 1.0


def test_parambath_cones_have_one_slope():
    pos, beta = 0.2, 2.0
    trials = [told(i, t, t, 0.1, pos=pos, metric=FBeta(beta)) for i, t in enumerate((0.3, 0.6))]
    cones = ParambathBound(trials, FBeta(beta), pos=pos, eps=0.0).cones
    slope = 4.0 * np.hypot(pos, 1 - pos) / (beta**2 * pos)
    for part in (cones.slope_left, cones.slope_right):
        assert part == pytest.approx([slope, slope], rel=1e-12)


@given(data=st.data(), pos=shares, beta=betas)
def test_parambath_is_never_below_the_envelope(data, pos, beta):
    trials = data.draw(histories(FBeta(beta), pos))
    levels = np.linspace(0, 1, 21)
    loose, tight = (bound(trials, FBeta(beta), pos=pos).upper_bound(levels) for bound in (ParambathBound, ConeBound))
    assert (loose >= tight - 1e-9).all()


# ---------------------------------------------------------------- the diagonal


@each_metric
@given(pos=shares, fnr=rates, fpr=rates)
def test_cones_rise_to_the_right_by_less_than_the_diagonal(metric, pos, fnr, fpr):
    """So the diagonal never leaves a cone again, and each cone alone has its say on the optimum."""
    lo, hi = metric.range(pos)
    cone = ConeBound([told(0, 0.5 * (lo + hi), fnr, fpr, pos=pos, metric=metric)], metric, pos=pos).cones
    assert cone.slope_right[0] <= 1.0 + 1e-6


@some_metrics
@given(data=st.data(), pos=shares, eps=st.just(0.0) | st.floats(0.0, 0.2))
def test_diagonal_bound_is_the_largest_level_below_all_cones(metric, data, pos, eps):
    trials = data.draw(histories(metric, pos))
    bound = DiagonalBound(trials, metric, pos=pos, eps=eps)
    expected = envelope.best_on_diagonal(bound.cones, *metric.range(pos))
    assert bound.best_possible() == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert bound.upper_bound([0.1, 0.9]).tolist() == [bound.best_possible()] * 2


@some_metrics
@given(data=st.data(), pos=shares)
def test_diagonal_bound_is_at_most_the_envelope(metric, data, pos):
    trials = data.draw(histories(metric, pos))
    diagonal, envelope_bound = (b(trials, metric, pos=pos).best_possible() for b in (DiagonalBound, ConeBound))
    assert diagonal <= envelope_bound + 1e-9


# ---------------------------------------------------------------- regions


def exact_area(bound):
    """Area above the envelope: it is linear between the places where lines cross each other or the ceiling."""
    lo, hi = bound.lo, bound.hi
    extra = [
        t + side * (lo - v) / s for t, v, *slopes in zip(*bound.cones) for side, s in zip((-1, 1), slopes) if s > 0
    ]
    levels = envelope.candidates(bound.cones, lo, hi)
    levels = np.unique(np.concatenate([levels, [x for x in extra if lo <= x <= hi]]))
    free = np.clip(envelope.height(bound.cones, levels, hi), lo, hi)
    return (hi - lo) ** 2 - trapezoid(free - lo, levels)


@some_metrics
@given(data=st.data(), pos=st.floats(0.05, 0.95))
def test_region_has_the_exact_area(metric, data, pos):
    trials = data.draw(histories(metric, pos, max_size=5))
    for bound in (ConeBound(trials, metric, pos=pos, eps=0.0), ParambathBound(trials, metric, pos=pos, eps=0.0)):
        if max(bound.cones.slope_left.max(initial=0.0), bound.cones.slope_right.max(initial=0.0)) < 1e3:
            assert bound.region().area == pytest.approx(exact_area(bound), rel=1e-6, abs=1e-6)


@given(data=st.data(), pos=st.floats(0.05, 0.95), points=st.lists(st.tuples(rates, rates), min_size=1, max_size=10))
def test_polygons_hold_exactly_the_points_above_their_cone(data, pos, points):
    trials = data.draw(histories(FBeta(), pos, min_size=1, max_size=4))
    bound = ConeBound(trials, FBeta(), pos=pos, eps=0.0)
    polygons, region = bound.polygons(), bound.region()
    assert all(isinstance(polygon, shapely.Polygon) and polygon.is_valid for polygon in polygons)
    for t, value in points:
        point, anywhere = shapely.Point(t, value), False
        for told_trial, polygon in zip(trials, polygons, strict=True):
            e = told_trial.profile
            height = oracle.cone_height(t, told_trial.t, e.fn, e.fp, pos, 1.0)
            if abs(value - height) > 1e-6:
                assert polygon.covers(point) == (value > height)
                anywhere |= value > height
            else:
                anywhere = None
                break
        if anywhere is not None:
            assert region.covers(point) == anywhere


def test_a_perfect_model_leaves_an_empty_polygon():
    perfect = told(0, 0.5, 0.0, 0.0, pos=0.3)
    (polygon,) = ConeBound([perfect], FBeta(), pos=0.3).polygons()
    assert polygon.is_empty
    assert isinstance(polygon, shapely.Polygon)


def test_region_of_the_diagonal_bound_is_all_above_it():
    bound = DiagonalBound([trial()], FBeta(), pos=0.3)
    assert bound.region().area == pytest.approx(1.0 - bound.best_possible())


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("bound", [ConeBound, DiagonalBound, ParambathBound])
def test_cones_need_levels(bound):
    with pytest.raises(TypeError, match=rf"{bound.__name__} needs a linear-fractional metric .*'gmean' has none"):
        bound([], GMean(), pos=0.3)
    with pytest.raises(TypeError, match=r"must be a csf.metrics.Metric object, got 'f1'"):
        bound([], "f1", pos=0.3)


@pytest.mark.parametrize("eps", [-0.1, np.nan, None, "exact", [0.1], True + 0j, object, np.inf])
def test_eps_is_checked(eps):
    with pytest.raises(ValueError, match="eps must be a number >= 0, a function of a trial or 'evidence', got"):
        ConeBound([], FBeta(), pos=0.3, eps=eps)


@pytest.mark.parametrize("bound", BOUNDS.values())
@pytest.mark.parametrize("trials", [None, 0.5, "text", [0.5]])
def test_trials_are_trials(bound, trials):
    with pytest.raises(TypeError, match=r"trials must be a sequence of csf\.Trial, got"):
        bound(trials, FBeta(), pos=0.3)


@pytest.mark.parametrize("bound", BOUNDS.values())
@pytest.mark.parametrize("levels", [[np.nan], [np.inf], "text", None])
def test_levels_are_finite_numbers(bound, levels):
    with pytest.raises((ValueError, TypeError), match="levels must be"):
        bound([told(0, 0.5, 0.2, 0.1, pos=0.3)], FBeta(), pos=0.3).upper_bound(levels)


@pytest.mark.parametrize("bound", BOUNDS.values())
def test_enormous_numbers_leave_the_end_of_the_range(bound):
    trials = [told(0, 0.5, 0.2, 0.1, pos=0.3)]
    assert bound(trials, FBeta(), pos=0.3, eps=1e308).best_possible() == 1.0
    assert bound(trials, FBeta(), pos=0.3).upper_bound([-1e308, 1e308]).max() <= 1.0


@pytest.mark.parametrize("pos", [0.0, 1.0, np.nan, "0.3"])
def test_the_share_is_checked(pos):
    with pytest.raises((ValueError, TypeError), match=r"pos must be a number in \(0, 1\), got"):
        ConeBound([], FBeta(), pos=pos)


# Few distinct numbers make ties, touching cones and shared heights likely.
coarse = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 0.875, 1.0])
number = coarse | st.floats(1e-9, 1.0)
slope = st.sampled_from([0.0, 0.5, 1.0, 2.0, 1e3, 1e12]) | st.floats(1e-6, 5.0)


@st.composite
def cones(draw, *, max_size=8, finite=False):
    value = number if finite else number | st.just(np.inf)
    rows = draw(st.lists(st.tuples(number, value, slope, slope), max_size=max_size, unique_by=lambda row: row[0]))
    return UnreachableCone(*np.array(rows, dtype=float).reshape(-1, 4).T)


@st.composite
def cones_and_open_intervals(draw):
    part = draw(cones())
    return part, np.array(draw(st.lists(st.booleans(), min_size=part.t.size + 1, max_size=part.t.size + 1)), dtype=bool)


def check_ranges(part, lo, hi, is_open, height, ranges):
    """Each range lies in an open interval, is as high as it says, and holds all that is as high there."""
    assert ranges.shape[0] > 0
    edges = np.concatenate([[lo], np.sort(part.t), [hi]])
    levels = envelope.candidates(part, lo, hi)
    for start, end in ranges:
        assert start <= end
        interval = [k for k in np.flatnonzero(is_open) if edges[k] - 1e-12 <= start and end <= edges[k + 1] + 1e-12]
        assert interval
        steepest = max(part.slope_left.max(initial=1.0), part.slope_right.max(initial=1.0))
        between = envelope.height(part, np.clip(np.linspace(start, end, 9), lo, hi), hi)
        assert (between >= height - 1e-9 * max(1.0, steepest * 1e-6)).all()
    for k in np.flatnonzero(is_open):
        inside = levels[(levels >= edges[k]) & (levels <= edges[k + 1])]
        as_high = inside[envelope.height(part, inside, hi) == height]
        for level in as_high:
            assert ((ranges[:, 0] <= level + 1e-6) & (level - 1e-6 <= ranges[:, 1])).any()


@given(part=cones())
@example(part=UnreachableCone(*np.array([[0.25, 0.3, 0.0, 0.01], [0.5, 0.3, 0.0, 0.01]]).T))
@example(part=UnreachableCone(*np.array([[0.25, 0.98149648, 0.0, 0.009], [0.5, 0.98149648, 0.0, 0.009]]).T))
def test_highest_point_is_that_of_the_oracle(part):
    height, ranges = highest_levels(part, 0.0, 1.0)
    assert height == pytest.approx(envelope.highest(part, 0.0, 1.0), rel=1e-9, abs=1e-9)
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
    part = UnreachableCone(*(side[order] for side in part))
    assert height == pytest.approx(envelope.highest(part, 0.0, 1.0, is_open), rel=1e-9, abs=1e-9)
    check_ranges(part, 0.0, 1.0, is_open, height, ranges)


@given(part=cones(finite=True), seed=st.integers(0, 100))
def test_order_of_the_cones_does_not_matter(part, seed):
    mixed = np.random.default_rng(seed).permutation(part.t.size)
    expected = highest_levels(part, 0.0, 1.0)
    height, ranges = highest_levels(UnreachableCone(*(side[mixed] for side in part)), 0.0, 1.0)
    assert height == expected[0]
    assert np.array_equal(ranges, expected[1])


@pytest.mark.parametrize("seed", range(6))
def test_sixty_random_cones(seed):
    rng = np.random.default_rng(seed)
    lo, hi = -0.5, 1.5
    t = np.sort(rng.uniform(lo, hi, 60))
    value = rng.uniform(0.2, 1.5, 60) if seed % 2 else rng.choice([0.5, 0.75, 1.0, np.inf], 60)
    part = UnreachableCone(t, value, *rng.choice([0.0, 0.3, 1.0, 8.0], (2, 60)))
    is_open = rng.random(61) < 0.7
    for closed in (None, is_open):
        height, ranges = highest_levels(part, lo, hi, is_open=closed)
        assert height == pytest.approx(envelope.highest(part, lo, hi, closed), rel=1e-9, abs=1e-9)
        check_ranges(part, lo, hi, np.ones(61, dtype=bool) if closed is None else closed, height, ranges)


def test_a_thousand_equal_cones_with_flat_sides_end():
    t = np.linspace(0.0005, 0.9995, 1000)
    part = UnreachableCone(t, np.full(1000, 1.0 / 3.0), np.zeros(1000), np.full(1000, 0.1))
    height, ranges = highest_levels(part, 0.0, 1.0)
    assert height == pytest.approx(1.0 / 3.0 + 0.1 * 0.0005, abs=1e-12)
    assert ranges == pytest.approx(np.array([[1.0, 1.0]]))


def test_no_cones_leave_everything_at_the_ceiling():
    height, ranges = highest_levels(UnreachableCone(*np.empty((4, 0))), 0.0, 1.0)
    assert height == 1.0
    assert ranges.tolist() == [[0.0, 1.0]]


def test_a_cone_that_bounds_nothing_only_divides():
    height, ranges = highest_levels(UnreachableCone(*np.array([[0.4], [np.inf], [0.0], [0.0]])), 0.0, 1.0)
    assert height == 1.0
    assert ranges.tolist() == [[0.0, 0.4], [0.4, 1.0]]


def test_ranges_at_the_ceiling_end_where_the_cones_reach_it():
    part = UnreachableCone(*np.array([[0.5], [0.8], [1.0], [0.5]]))
    height, ranges = highest_levels(part, 0.0, 1.0)
    assert height == 1.0
    assert ranges == pytest.approx(np.array([[0.0, 0.3], [0.9, 1.0]]))
