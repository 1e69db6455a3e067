"""Logistic regression: optimal, its gap true, with the intercept free and not, with few and many features."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from linear_builders import LAYOUTS, problems, tight_logistic

import csf.linear.logistic
from csf.linear import Logistic, Rows

PATHS = {"direct": 10**9, "conjugate gradients": 0}
paths = pytest.mark.parametrize("path", PATHS)
penalties = pytest.mark.parametrize("penalised", [False, True], ids=["free", "penalised"])


def solver(problem, penalised, layout="C order"):
    rows = Rows(LAYOUTS[layout](problem.X), constant=problem.constant)
    return Logistic(rows, problem.sign, penalise_constant=penalised)


def on_path(path):
    """Context in which problems of all widths take one path."""
    return patch.object(csf.linear.logistic, "DIRECT", PATHS[path])


def ridge_of(problem, penalised):
    """Factors of the squared coefficients."""
    free = problem.constant != 0 and not penalised
    return np.append(np.ones(problem.X.shape[1]), 0.0 if free else 1.0)


def both_classes_weigh(problem):
    """Without that the free intercept runs off to infinity."""
    return problem.weight[problem.sign > 0].any() and problem.weight[problem.sign < 0].any()


@paths
@penalties
@given(problem=problems(), layout=st.sampled_from(sorted(LAYOUTS)), tol=st.sampled_from([0.3, 1e-2, 1e-9]))
@settings(max_examples=60)
def test_the_gap_is_true_and_the_goal_is_reached(path, penalised, problem, layout, tol):
    assume(both_classes_weigh(problem))
    ridge = ridge_of(problem, penalised)
    with on_path(path):
        found = solver(problem, penalised, layout).solve(problem.weight, tol=tol)
    assert found.objective == pytest.approx(problem.logistic(found.w, ridge)[0], rel=1e-9)
    assert found.relative_gap <= max(tol, 1e-5)
    best = tight_logistic(problem, penalised=penalised)
    least, rest = problem.logistic(best, ridge)
    assert found.objective - found.gap <= least * (1.0 + 1e-9)
    if ridge.all():  # strong convexity
        reach = np.sqrt(2.0 * max(found.gap, 0.0)) + np.linalg.norm(rest)
        assert np.linalg.norm(found.w - best) <= reach * (1.0 + 1e-6) + 1e-6 * (1.0 + np.linalg.norm(best))


@paths
@penalties
@given(problem=problems(scales=(-3, 2), flaws=("none", "zero column", "equal rows")))
@settings(max_examples=30)
def test_coefficients_are_those_of_scikit_learn(path, penalised, problem):
    """Also where strong convexity says nothing about the intercept."""
    assume(both_classes_weigh(problem))
    with on_path(path):
        found = solver(problem, penalised).solve(problem.weight, tol=1e-13)
    best = tight_logistic(problem, penalised=penalised)
    np.testing.assert_allclose(
        problem.Z @ found.w, problem.Z @ best, atol=2e-3 * (1.0 + np.abs(problem.Z @ best).max())
    )
    np.testing.assert_allclose(found.margins, problem.margins(found.w), atol=1e-8)


@paths
@penalties
@given(problem=problems(scales=(-3, 1), flaws=("none",)), moves=st.lists(st.floats(-2, 2), min_size=8, max_size=8))
@settings(max_examples=25)
def test_warm_starts_lead_to_the_same_solution(path, penalised, problem, moves):
    ours, starts = solver(problem, penalised), ()
    with on_path(path):
        for up, down in zip(moves[:4], moves[4:]):
            weight = problem.weight * np.where(problem.sign > 0, 10.0**up, 10.0**down)
            cold, warm = ours.solve(weight, tol=1e-9), ours.solve(weight, tol=1e-9, starts=starts)
            assert abs(warm.objective - cold.objective) <= warm.gap + cold.gap + 1e-10 * cold.objective
            assert max(warm.relative_gap, cold.relative_gap) <= 1e-8
            starts = (warm,)


def test_a_start_that_leads_astray_is_left():
    """Its first step ends where all curvatures vanish."""
    X = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [0.36159506]], dtype=np.float32)
    sign = np.array([1.0, -1.0, -1.0, -1.0, -1.0, -1.0])
    weight = np.array([2.26909466, 0.07249768, 1.0694003, 0.84893303, 3.14990865, 0.35401004])
    with on_path("conjugate gradients"):
        ours = Logistic(Rows(X), sign)
        start = ours.solve(weight * np.where(sign > 0, 1.0, 100.0), tol=1e-9)
        found = ours.solve(weight * np.where(sign > 0, 1.0, 0.01), tol=1e-9, starts=(start,))
    assert found.relative_gap <= 1e-9


def test_warm_starts_save_steps():
    rng = np.random.default_rng(7)
    X, sign = rng.normal(size=(2000, 6)), np.where(rng.random(2000) < 0.2, 1.0, -1.0)
    X[:, 0] += sign
    ours = Logistic(Rows(X), sign)
    first = ours.solve(np.ones(2000), tol=1e-8)
    moved = np.where(sign > 0, 1.05, 0.98)
    cold, warm = ours.solve(moved, tol=1e-8), ours.solve(moved, tol=1e-8, starts=[first])
    assert warm.n_iter < cold.n_iter


@pytest.mark.parametrize("kind", ["C order", "CSR"])
def test_many_features(kind):
    rng = np.random.default_rng(0)
    X, sign = rng.normal(size=(150, 700)) * (rng.random((150, 700)) < 0.05), np.where(rng.random(150) < 0.3, 1.0, -1.0)
    X[:, 0] += sign
    ours = Logistic(Rows(LAYOUTS[kind](X)), sign)
    found = ours.solve(np.ones(150), tol=1e-10)
    with on_path("direct"):
        direct = ours.solve(np.ones(150), tol=1e-12)
    assert found.relative_gap <= 1e-10
    np.testing.assert_allclose(found.w, direct.w, atol=1e-4)


@paths
@penalties
def test_integer_weights_repeat_and_zero_weights_drop(path, penalised):
    rng = np.random.default_rng(5)
    X, sign, times = rng.normal(size=(80, 4)), np.where(np.arange(80) < 20, 1.0, -1.0), rng.integers(0, 4, size=80)
    again = np.repeat(np.arange(80), times)
    with on_path(path):
        weighted = Logistic(Rows(X), sign, penalise_constant=penalised).solve(2.0 * times, tol=1e-13)
        repeated = Logistic(Rows(X, again), sign[again], penalise_constant=penalised)
        repeated = repeated.solve(np.full(again.size, 2.0), tol=1e-13)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-6)


def test_margins_far_out_overflow_nowhere():
    X = np.array([[1e4], [-1e4], [1e4], [-1e4]])
    found = Logistic(Rows(X), np.array([1.0, -1.0, -1.0, 1.0])).solve(np.array([1.0, 1.0, 1e-6, 1e-6]), tol=1e-9)
    assert found.relative_gap <= 1e-9


def test_one_class_alone_leaves_the_gap_open():
    """The intercept has no best value then; the certificate says so."""
    found = Logistic(Rows(np.ones((4, 1))), np.array([1.0, 1.0, -1.0, -1.0])).solve(np.array([1.0, 1, 0, 0]), tol=1e-9)
    assert found.gap == np.inf


def test_the_limit_of_steps_shows_in_the_gap():
    rng = np.random.default_rng(1)
    X, sign = rng.normal(size=(300, 5)), np.where(np.arange(300) < 60, 1.0, -1.0)
    found = Logistic(Rows(X), sign).solve(np.ones(300), tol=1e-12, max_iter=1)
    assert found.n_iter <= 1
    assert found.relative_gap > 1e-12


@paths
@pytest.mark.filterwarnings("ignore:(overflow|invalid):RuntimeWarning")
def test_features_beyond_all_bounds_are_refused(path):
    X = 1e200 * np.random.default_rng(0).normal(size=(4, 2))
    problem = Logistic(Rows(X), np.array([1.0, 1.0, -1.0, -1.0]))
    with on_path(path), pytest.raises(ValueError, match="features are too large"):
        problem.solve(np.ones(4), tol=1e-6)
