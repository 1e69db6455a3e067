"""What all solvers share: what holds for each of them on each of its paths, and their losses."""

import inspect
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from linear_builders import problems

from csf.solvers import Hinge, HingeDescent, Logistic, Rows, SquaredHinge
from csf.solvers.base import HINGE, LOGISTIC, SQUARED_HINGE, least_gap, multiplier_terms, note_changes


@given(seed=st.integers(0, 10**6), n=st.integers(0, 30))
def test_changes_are_those_between_two_sets_of_losing_samples(seed, n):
    rng = np.random.default_rng(seed)
    factor, weight = rng.choice([-1.5, 0.0, 2.0], n), rng.uniform(0.1, 2.0, n)
    before, losing = rng.random(n) < 0.5, factor != 0.0
    active, places, change = before.copy(), np.empty(n, dtype=np.int64), np.empty(n)
    count, n_active = note_changes(factor, weight, active, places, change)
    changed = np.flatnonzero(losing != before)
    assert places[:count].tolist() == changed.tolist()
    assert change[:count].tolist() == np.where(losing[changed], 2.0 * weight[changed], -2.0 * weight[changed]).tolist()
    assert n_active == losing.sum()
    assert active.tolist() == losing.tolist()


solvers = pytest.mark.parametrize("kind", [Hinge, HingeDescent, Logistic, SquaredHinge])


def draw():
    rng = np.random.default_rng(0)
    sign = np.where(np.arange(200) < 60, 1.0, -1.0)
    return Rows(rng.normal(size=(200, 4)) + 0.5 * sign[:, None]), sign, rng.exponential(size=200)


@solvers
def test_the_larger_tolerance_counts(kind):
    rows, sign, weight = draw()
    solver = kind(rows, sign)
    tight = solver.solve(weight, tol=1e-8)
    assert tight.relative_gap <= 1e-8
    loose = solver.solve(weight, tol=1e-8, atol=0.5 * tight.objective)
    assert loose.relative_gap > 1e-8
    assert loose.gap <= 0.5 * tight.objective
    assert loose.n_iter < tight.n_iter
    by_share = solver.solve(weight, tol=0.5 * tight.objective / loose.objective)
    np.testing.assert_array_equal(by_share.w, loose.w)
    both = solver.solve(weight, tol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(both.w, tight.w)


@solvers
@pytest.mark.parametrize("sequence", [list, tuple])
def test_any_number_of_starts_is_taken(kind, sequence):
    rows, sign, weight = draw()
    solver, found = kind(rows, sign), []
    for factor in (1.0, 1.2, 1.5, 2.0):
        found.insert(0, solver.solve(factor * weight, tol=1e-7, starts=sequence(found)))
        assert found[0].relative_gap <= 1e-7
        cold = solver.solve(factor * weight, tol=1e-7)
        assert found[0].objective == pytest.approx(cold.objective, rel=1e-6)


def test_starts_without_dual_variables_are_refused_where_they_are_needed():
    rows, sign, weight = draw()
    start = Hinge(rows, sign).solve(weight, tol=1e-3)
    with pytest.raises(ValueError, match="without dual variables; accepted: those of HingeDescent"):
        HingeDescent(rows, sign).solve(weight, tol=1e-3, starts=[start])


# Each solver, whether there is a matrix of second derivatives, and whether coefficients are solved for without one.
ALWAYS = 10**9
PATHS = {
    "hinge": (Hinge, ALWAYS, False),
    "hinge, conjugate gradients": (Hinge, 0, False),
    "hinge, dual": (HingeDescent, ALWAYS, False),
    "squared hinge": (SquaredHinge, ALWAYS, False),
    "squared hinge, primal": (SquaredHinge, 0, True),
    "squared hinge, dual": (SquaredHinge, 0, False),
    "logistic": (Logistic, ALWAYS, False),
    "logistic, conjugate gradients": (Logistic, 0, False),
    "logistic, penalised": (partial(Logistic, penalise_constant=True), ALWAYS, False),
    "logistic, penalised, conjugate gradients": (partial(Logistic, penalise_constant=True), 0, False),
}
paths = pytest.mark.parametrize("path", PATHS)


@contextmanager
def on_path(path):
    """The solver of a path, in a context in which problems of all shapes take it."""
    kind, direct, tall = PATHS[path]
    owner = inspect.getmodule(getattr(kind, "func", kind))
    with (
        patch.object(owner, "DIRECT", direct),
        patch.object(SquaredHinge, "_is_tall", lambda self: tall),
    ):
        yield kind


@paths
@given(problem=problems(scales=(-3, 0), flaws=("none", "zero weights")), moves=st.lists(st.floats(-1, 1), min_size=8))
@settings(max_examples=25)
def test_warm_starts_lead_to_the_same_solution(path, problem, moves):
    """From solutions for other weights of the classes, up to a hundred times as large."""
    assume(problem.weight[problem.sign > 0].any() and problem.weight[problem.sign < 0].any())
    with on_path(path) as kind:
        ours, starts = kind(Rows(problem.X, constant=problem.constant), problem.sign), []
        for up, down in zip(moves[:4], moves[4:]):
            weight = problem.weight * np.where(problem.sign > 0, 10.0**up, 10.0**down)
            options = {"tol": 1e-6, "max_iter": 20_000}
            cold, warm = ours.solve(weight, **options), ours.solve(weight, starts=starts, **options)
            value = max(cold.objective, 1e-300)
            assert abs(warm.objective - cold.objective) <= warm.gap + cold.gap + 1e-10 * value
            assert max(warm.gap, cold.gap) <= 1e-5 * value
            starts = [warm, *starts]


@paths
def test_integer_weights_repeat_and_zero_weights_drop(path):
    rng = np.random.default_rng(5)
    X, sign, times = rng.normal(size=(80, 4)), np.where(np.arange(80) < 20, 1.0, -1.0), rng.integers(0, 4, size=80)
    again, options = np.repeat(np.arange(80), times), {"tol": 1e-12, "max_iter": 100_000}
    with on_path(path) as kind:
        weighted = kind(Rows(X), sign).solve(2.0 * times, **options)
        repeated = kind(Rows(X, again), sign[again]).solve(np.full(again.size, 2.0), **options)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-5)


@pytest.mark.parametrize("path", [path for path in PATHS if "hinge" in path])
def test_no_weight_no_coefficients(path):
    with on_path(path) as kind:
        found = kind(Rows(np.ones((4, 2))), np.array([1.0, 1.0, -1.0, -1.0])).solve(np.zeros(4), tol=1e-6)
    assert not found.w.any()
    assert (found.gap, found.relative_gap) == (0.0, 0.0)


@pytest.mark.parametrize("path", [path for path in PATHS if path not in ("squared hinge", "squared hinge, primal")])
def test_the_limit_of_steps_is_kept_and_shows_in_the_gap(path):
    """Newton steps of the squared hinge are few and have a limit of their own."""
    rng = np.random.default_rng(1)
    X, sign = 10.0 * rng.normal(size=(300, 40)), np.where(np.arange(300) < 60, 1.0, -1.0)
    with on_path(path) as kind:
        ours = kind(Rows(X), sign)
        found, best = (ours.solve(np.ones(300), tol=1e-9, max_iter=most) for most in (1, 20_000))
    assert found.n_iter <= 1
    assert found.relative_gap > 1e-9
    assert found.objective - found.gap <= best.objective <= found.objective


@paths
@pytest.mark.filterwarnings("ignore:(overflow|invalid):RuntimeWarning")
def test_features_beyond_all_bounds_are_refused_or_leave_the_gap_open(path):
    X = 1e200 * np.random.default_rng(0).normal(size=(4, 2))
    with on_path(path) as kind:
        ours = kind(Rows(X), np.array([1.0, 1.0, -1.0, -1.0]))
        if path == "squared hinge, dual":
            assert ours.solve(np.ones(4), tol=1e-6).relative_gap > 0.5
        else:
            with pytest.raises(ValueError, match="features are too large"):
                ours.solve(np.ones(4), tol=1e-6)


# ---------------------------------------------------------------- losses


LITERAL = {
    "logistic": (LOGISTIC, lambda z: np.log1p(np.exp(-z))),
    "squared hinge": (SQUARED_HINGE, lambda z: np.maximum(0.0, 1.0 - z) ** 2),
}
smooth = pytest.mark.parametrize("loss", LITERAL)


def drawn(seed):
    rng = np.random.default_rng(seed)
    return 3.0 * rng.normal(size=40), np.where(rng.random(40) < 0.3, 1.0, -1.0), rng.exponential(size=40)


@smooth
@given(seed=st.integers(0, 10**6))
def test_all_forms_are_those_of_one_function(loss, seed):
    (z, sign, weight), (loss, literal), factor = drawn(seed), LITERAL[loss], np.empty(40)
    value = loss.terms(z, sign, weight, factor)
    assert value == pytest.approx(weight @ literal(z), rel=1e-12)
    assert loss.value(z, weight) == pytest.approx(value, rel=1e-12)
    step = 1e-5
    slope = weight * (literal(z + step) - literal(z - step)) / (2.0 * step)
    np.testing.assert_allclose(factor, -slope * sign, atol=1e-8)
    before, after = np.empty(40), np.empty(40)
    loss.terms(z - step, np.ones(40), weight, before)
    loss.terms(z + step, np.ones(40), weight, after)
    bent = np.abs(z - 1.0) > step
    np.testing.assert_allclose(loss.curvature(z, weight)[bent], (before - after)[bent] / (2.0 * step), atol=1e-7)


@given(seed=st.integers(0, 10**6))
def test_the_squared_hinge_pulls_as_its_factors_say(seed):
    z, sign, weight = drawn(seed)
    factor = np.empty(40)
    SQUARED_HINGE.terms(z, sign, weight, factor)
    np.testing.assert_array_equal(SQUARED_HINGE.pull(z, weight) * sign, factor)


@given(seed=st.integers(0, 10**6), penalty=st.floats(0.01, 100.0))
def test_multipliers_see_the_hinge(seed, penalty):
    """With shares of those who lose, nothing is left of the loss; with any others, the Fenchel gap is."""
    z, sign, weight = drawn(seed)
    share, clipped, factor = np.random.default_rng(seed).random(40), np.empty(40), np.empty(40)
    loss, slack = multiplier_terms(z, share, weight, sign, penalty, clipped, factor)
    assert loss == pytest.approx(HINGE.value(z, weight), rel=1e-12)
    assert slack == pytest.approx(loss - (weight * clipped) @ (1.0 - z), abs=1e-9)
    assert multiplier_terms(z, (z < 1.0) * 1.0, weight, sign, 0.0, clipped, factor)[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("free", [False, True])
@given(seed=st.integers(0, 10**6))
def test_the_gap_is_that_of_feasible_dual_variables(free, seed):
    """Literal duality gap of the logistic loss: entropies of the evened dual variables, less half their squared sum."""
    (_, sign, weight), rng, factor = drawn(seed), np.random.default_rng(seed), np.empty(40)
    Z, w = np.column_stack([rng.normal(size=(40, 2)), np.full(40, 2.0)]), rng.normal(size=3)
    ridge, margins = np.array([1.0, 1.0, 0.0 if free else 1.0]), sign * (Z @ w)
    LOGISTIC.terms(margins, sign, weight, factor)
    pulls = np.array([factor[of_class] @ Z[of_class] for of_class in (sign > 0, sign < 0)])
    gap, scale = least_gap(w, ridge, pulls)
    factors = np.where(sign > 0, *scale)
    share = factors * np.abs(factor) / weight
    inner = np.clip(share, 1e-300, 1.0 - 1e-16)
    dual = (
        weight @ -(inner * np.log(inner) + (1 - inner) * np.log1p(-inner)) - 0.5 * ridge @ ((factors * factor) @ Z) ** 2
    )
    primal = 0.5 * ridge @ w**2 + LOGISTIC.value(margins, weight)
    assert not free or abs((factors * factor).sum()) < 1e-9
    less, scaled = 1.0 - scale.min(), sign == (1.0 if scale[0] < 1.0 else -1.0)
    loosely = gap + less * LOGISTIC.value(margins[scaled], weight[scaled])
    closely = gap + LOGISTIC.lost(margins[scaled], weight[scaled], less) if less else gap
    assert gap - 1e-9 <= primal - dual <= closely + 1e-9 <= loosely + 2e-9
