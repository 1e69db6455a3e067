"""The polygon of support lines: literal clipping, evidence, constraints, and its place among the bounds."""

from itertools import product

import numpy as np
import pytest
import shapely
from builders import exact_learner, histories, paper_search, random_profiles, rates, run, shares, told
from hypothesis import given
from hypothesis import strategies as st
from oracles import half_planes
from sklearn.datasets import make_classification
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import LinearSVC

from csf import Study
from csf.bounds import (
    BOUNDS,
    Bound,
    DiagonalBound,
    SupportLineBound,
    get_bound,
    known_profiles,
    upper_bound,
)
from csf.bounds.support_line import best_on_chain, clip_chain, support_chain
from csf.evaluate import standard_error
from csf.metrics import Constrained, FBeta, GMean, Jaccard, Metric, MinRate, Recall, Tversky, get_constraint, get_metric
from csf.metrics.profile import Hull
from csf.search.margin import bound_with_margin

METRICS = [FBeta(), FBeta(3.0), Jaccard(), Tversky(2.0, 0.3), GMean(), MinRate()]
each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
CONSTRAINTS = [
    "precision >= 0.6",
    "recall >= 0.7",
    "fpr <= 0.1",
    "fnr <= 0.4",
    "specificity >= 0.5",
    "predicted_positive_rate <= 0.3",
    "predicted_positive_rate >= 0.3",
]


def lines_of(bound):
    """Support lines ``(c_fn, c_fp, rhs)`` of a bound, from its trials."""
    own = [t.c_fn * t.profile.fn + t.c_fp * t.profile.fp for t in bound.trials]
    return [(*t.costs, rhs - eps) for t, rhs, eps in zip(bound.trials, own, bound.excess(), strict=True)]


def polygon_of(bound):
    return half_planes.possible(lines_of(bound), bound.pos)


@st.composite
def studies(draw, metric):
    """Trials of exact and of careless learners; some of them know all profiles of their model."""
    pos = draw(st.floats(0.05, 0.95))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    trials = []
    for number, share in enumerate(draw(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6, unique=True))):
        points = random_profiles(rng, pos, 20)
        own = rng.integers(len(points))
        hull = Hull(points) if draw(st.booleans()) else None
        lo, hi = metric.range(pos)
        fnr, fpr = np.clip(points[own] / [pos, 1.0 - pos], 0.0, 1.0)
        trials.append(told(number, lo + share * (hi - lo), fnr, fpr, pos=pos, metric=metric, hull=hull))
    return trials, pos


# ---------------------------------------------------------------- the polygon


@each_metric
@given(data=st.data())
def test_best_possible_is_that_of_the_clipped_box(metric, data):
    trials, pos = data.draw(studies(metric))
    bound = SupportLineBound(trials, metric, pos=pos)
    corners = np.array(polygon_of(bound)).clip(0, [pos, 1 - pos])
    if metric in METRICS[:4]:  # a linear-fractional metric is best at a corner
        best = metric.value(corners[:, 0], corners[:, 1], pos=pos).max()
        assert bound.best_possible() == pytest.approx(best, abs=1e-7)
    assert bound.best_possible() >= metric.value(corners[:, 0], corners[:, 1], pos=pos).max() - 1e-7


@given(data=st.data())
def test_polygon_is_the_clipped_box(data):
    trials, pos = data.draw(studies(FBeta()))
    bound = SupportLineBound(trials, FBeta(), pos=pos)
    polygon = bound.polygon()
    assert polygon.is_valid
    assert polygon.area == pytest.approx(half_planes.area(polygon_of(bound)), abs=1e-9)
    assert polygon.distance(shapely.MultiPoint(known_profiles(trials).points)) == pytest.approx(0, abs=1e-12)


@each_metric
@given(data=st.data())
def test_with_evidence_no_known_profile_is_unreachable(metric, data):
    trials, pos = data.draw(studies(metric))
    bound = SupportLineBound(trials, metric, pos=pos)
    for fn, fp in known_profiles(trials).points:
        for c_fn, c_fp, rhs in lines_of(bound):
            assert c_fn * fn + c_fp * fp >= rhs - 1e-12 * (c_fn + c_fp)
    assert (bound.excess() >= 0).all()
    assert bound.best_possible() >= max(trial.attained for trial in trials)
    # What a model trained at a level attains is possible at that level.
    own = [t for t, eps in zip(trials, bound.excess(), strict=True) if eps == 0]
    values = np.array([t.value for t in own])
    assert (bound.upper_bound([t.t for t in own]) >= values - 1e-6).all()


@each_metric
@given(data=st.data(), share=st.floats(0.01, 0.99))
def test_upper_bound_is_the_best_of_the_slice(metric, data, share):
    trials, pos = data.draw(studies(metric))
    bound = SupportLineBound(trials, metric, pos=pos)
    lo, hi = metric.range(pos)
    level = lo + share * (hi - lo)
    costs = metric.cost_weights(level, pos=pos)
    reached = half_planes.clip(polygon_of(bound), costs, known_profiles(trials).cheapest(*costs) + 1e-9 * sum(costs))
    values = [metric.value(min(x, pos), min(y, 1 - pos), pos=pos) for x, y in reached]
    assert bound.upper_bound([level])[0] >= max(values, default=-np.inf) - 1e-3
    assert bound.upper_bound([level])[0] <= bound.best_possible() + 1e-6


@pytest.mark.parametrize("metric", METRICS[:4], ids=lambda metric: metric.name)
@given(data=st.data(), pos=shares, eps=st.just(0.0) | st.floats(0.0, 0.05))
def test_one_support_line_implies_the_diagonal_bound(metric, data, pos, eps):
    trials = data.draw(histories(metric, pos, min_size=1, max_size=1))
    support, diagonal = (b(trials, metric, pos=pos, eps=eps).best_possible() for b in (SupportLineBound, DiagonalBound))
    assert support <= diagonal + 1e-9


@each_metric
@pytest.mark.parametrize("seed", range(3))
def test_an_exact_learner_is_never_above_and_closes_the_gap(metric, seed):
    rng = np.random.default_rng(seed)
    pos = rng.uniform(0.05, 0.6)
    points = random_profiles(rng, pos, 200)
    study = run(Study(metric, "cone", pos=pos, n_trials=30), exact_learner(points, pos), known=points)
    best = metric.value(points[:, 0], points[:, 1], pos=pos).max()
    assert best <= study.upper_bound + 1e-12
    assert study.gap < 0.03


@pytest.mark.parametrize("metric", METRICS[:4], ids=lambda metric: metric.name)
def test_rounding_puts_no_known_profile_above_the_bound(metric):
    """The lines of three trials meet in the profile that all of them have."""
    for level, fnr in product((0.4, 0.5, 0.6), (0.2, 0.3, 0.4, 0.5)):
        trials = [told(at, level * c, fnr, 0.1, pos=0.1, metric=metric) for at, c in enumerate((1.0, 0.5, 1.2))]
        assert SupportLineBound(trials, metric, pos=0.1).best_possible() >= trials[0].attained


def test_at_its_own_level_a_trial_leaves_all_of_its_support_line():
    """Nearly perfect, so that what rounding leaves of its cost is small: the ends of the line stay possible."""
    metric, pos = FBeta(), 0.3
    trial = told(0, 0.5, 1e-4, 1e-4, pos=pos, metric=metric)
    cost = trial.c_fn * trial.profile.fn + trial.c_fp * trial.profile.fp
    ends = metric.value(0.0, cost / trial.c_fp, pos=pos), metric.value(cost / trial.c_fn, 0.0, pos=pos)
    assert max(ends) > trial.value + 1e-5
    assert SupportLineBound([trial], metric, pos=pos).upper_bound([0.5])[0] == pytest.approx(max(ends), abs=1e-9)


# ---------------------------------------------------------------- constraints


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@given(data=st.data())
def test_constraints_clip_the_polygon(constraint, data):
    """The best allowed profile of the polygon, also where the constraint forbids its whole lower-left edge."""
    metric = Constrained(FBeta(), get_constraint(constraint))
    trials, pos = data.draw(studies(metric))
    bound = SupportLineBound(trials, metric, pos=pos)
    normal, rhs = metric.constraint.half_plane(pos=pos)
    allowed = half_planes.clip(polygon_of(bound), normal, rhs)
    if allowed:
        best = max(metric.value(x, y, pos=pos) for x, y in allowed)
        assert bound.best_possible() == pytest.approx(best, abs=2e-6)
    else:
        assert bound.best_possible() <= 1e-6
    assert bound.best_possible() >= max(trial.attained for trial in trials)
    assert (bound.upper_bound([0.1, 0.5, 0.9]) <= bound.best_possible() + 1e-6).all()


@pytest.mark.parametrize(
    ("constraint", "best"), [("predicted_positive_rate >= 0.3", 0.5), ("predicted_positive_rate <= 0.05", 2 / 3)]
)
def test_a_constraint_on_the_predicted_positives_leaves_profiles_off_the_edge(constraint, best):
    """With nothing known, the edge is the perfect classifier: it is forbidden, and F1 is what the rest allows."""
    bound = SupportLineBound([], Constrained(FBeta(), get_constraint(constraint)), pos=0.1)
    assert bound.best_possible() == pytest.approx(best, abs=1e-6)


def test_a_constraint_that_nothing_satisfies_leaves_the_end_of_the_range():
    metric = Constrained(Recall(), get_constraint("precision >= 0.99"))
    blind = told(0, 0.5, 1.0, 1.0, pos=0.1, metric=metric)
    assert SupportLineBound([blind], metric, pos=0.1, eps=0.0).best_possible() == 0.0


# ---------------------------------------------------------------- the rest


def test_without_trials_everything_is_possible():
    for metric in (FBeta(), GMean()):
        bound = SupportLineBound([], metric, pos=0.2)
        assert bound.best_possible() == 1.0
        assert bound.upper_bound([[0.1], [0.5]]).tolist() == [[1.0], [1.0]]
        assert bound.chain_.tolist() == [[0.0, 0.0]]


@each_metric
def test_region_lies_above_the_bound(metric):
    rng = np.random.default_rng(0)
    points = random_profiles(rng, 0.2, 100)
    study = run(Study(metric, "grid", pos=0.2, n_trials=5), exact_learner(points, 0.2))
    bound = SupportLineBound(study.trials, metric, pos=0.2)
    region = bound.region()
    levels = np.linspace(0.02, 0.98, 9)
    for level, height in zip(levels, bound.upper_bound(levels), strict=True):
        if height < 0.97:
            assert region.covers(shapely.Point(level, height + 0.03))
        assert not region.covers(shapely.Point(level, max(height - 0.03, 0.0)))


def test_the_outline_of_the_region_is_the_bound_at_257_levels():
    rng = np.random.default_rng(0)
    points = random_profiles(rng, 0.2, 100)
    study = run(Study(FBeta(), "grid", pos=0.2, n_trials=5), exact_learner(points, 0.2))
    bound = SupportLineBound(study.trials, FBeta(), pos=0.2)
    levels, outline = np.linspace(0.0, 1.0, 257), bound.region().boundary
    points = [shapely.Point(t, height) for t, height in zip(levels, bound.upper_bound(levels)) if height < 1.0]
    assert len(points) > 200
    assert max(map(outline.distance, points)) < 1e-12


def test_trials_may_carry_costs_of_no_level():
    """The imbalance ratio has no level under F2 with half the samples positive, and still bounds."""
    metric = get_metric("f2")
    trial = told(0, None, 0.1, 0.2, pos=0.5, metric=metric, costs=(0.5, 0.5))
    bound = SupportLineBound([trial], metric, pos=0.5)
    assert bound.best_possible() < 1.0
    assert bound.best_possible() >= trial.value


@given(rows=st.lists(st.tuples(rates, rates), min_size=1, max_size=8), pos=shares)
def test_known_profiles_are_the_hull_of_all_hulls(rows, pos):
    trials = [told(i, 0.5, fnr, fpr, pos=pos) for i, (fnr, fpr) in enumerate(rows)]
    points = [(t.profile.fn, t.profile.fp) for t in trials]
    assert known_profiles(trials) == Hull(points)
    assert known_profiles(trials[::-1]) == Hull(points)
    assert known_profiles([]) is None


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


# ---------------------------------------------------------------- bounds by name


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


# ---------------------------------------------------------------- the bound of a search with its margin


@pytest.fixture(scope="module")
def data():
    return make_classification(400, 6, weights=[0.85], class_sep=0.7, flip_y=0.05, random_state=0)


@pytest.fixture(scope="module")
def search(data):
    return paper_search(LinearSVC(), n_trials=4, cv=3).fit(*data)


def of(search, trials=None, **changed):
    study = search.studies_[0]
    options = {"pos": study.pos, "bound": "support", "store": search.held_out_} | changed
    return bound_with_margin(search.trials_ if trials is None else trials, study.metric, **options)


def test_it_is_what_a_search_reports(search):
    found, study = of(search), search.studies_[0]
    assert (found.value, found.margin) == (search.upper_bound_, search.bound_margin_)
    best = search.trials_[search.best_index_]
    error = standard_error(search.held_out_, search.held_out_[0, best.number], study.metric)
    assert found.margin == pytest.approx(2.4 * 4**-0.25 * error)
    bound = upper_bound(search.trials_, study.metric, pos=study.pos, bound="support")
    assert found.value == pytest.approx(bound + found.margin)
    assert search.gap_ == pytest.approx(search.upper_bound_ - max(trial.attained for trial in search.trials_))


def test_the_margin_falls_with_the_number_of_trials(search):
    best = search.trials_[search.best_index_]
    alone = of(search, [best])
    assert alone.margin == pytest.approx(4**0.25 * of(search).margin)


def test_repeated_folds_lower_it(data):
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=0)
    found = paper_search(LinearSVC(), n_trials=4, cv=cv).fit(*data)
    best = found.trials_[found.best_index_]
    error = standard_error(found.held_out_, found.held_out_[0, best.number], found.studies_[0].metric)
    assert found.bound_margin_ == pytest.approx(2.4 * 4**-0.25 * error / 2)


@pytest.mark.parametrize("changed", [{"bound": "diagonal"}, {"store": None}])
def test_bounds_of_the_papers_and_of_the_training_part_have_no_margin(search, changed):
    study = search.studies_[0]
    found = of(search, **changed)
    bound = changed.get("bound", "support")
    assert found == (upper_bound(search.trials_, study.metric, pos=study.pos, bound=bound), 0.0)


def test_it_never_leaves_the_range_of_the_metric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0.8).astype(int)
    found = paper_search(LinearSVC(C=100.0), n_trials=2, cv=3).fit(X, y)
    assert found.upper_bound_ <= 1.0
    assert found.bound_margin_ >= 0.0


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_dense_sweeps_stay_below_it(metric):
    """In nine of ten small problems at least, of which each has its own luck."""
    covered = []
    for seed in range(20):
        X, y = make_classification(500, 6, weights=[0.9], class_sep=0.8, flip_y=0.03, random_state=seed)
        dense = paper_search(LinearSVC(), metric, "grid", n_trials=99, refit=False).fit(X, y)
        found = paper_search(LinearSVC(), metric, n_trials=5, refit=False).fit(X, y)
        covered.append(found.upper_bound_ >= max(trial.attained for trial in dense.trials_))
    assert np.mean(covered) >= 0.9
