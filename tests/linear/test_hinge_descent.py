"""Hinge loss with many features, in its dual variables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from csf.linear import Hinge, HingeDescent, Rows


def problem(seed, n=60, d=90, density=0.2):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density, "csr", rng=rng) * rng.lognormal(0.0, 1.0)
    sign = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    return sparse.csr_array(X), sign, rng


def objective(rows, sign, weight, w):
    return 0.5 * w @ w + weight @ np.maximum(1.0 - sign * rows.scores(w), 0.0)


@given(seed=st.integers(0, 10_000), size=st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e4]))
def test_it_finds_what_newton_steps_find(seed, size):
    """Separable or not: weights are small, or so large that hardly any sample loses."""
    X, sign, rng = problem(seed)
    weight = size * rng.uniform(0.1, 2.0, sign.size) * (rng.random(sign.size) < 0.9)
    for matrix in (X, X.toarray()):
        rows = Rows(matrix)
        found = HingeDescent(rows, sign).solve(weight, tol=1e-8, max_iter=20_000)
        other = Hinge(rows, sign).solve(weight, tol=1e-9)
        assert found.relative_gap <= 1e-8
        assert found.objective == pytest.approx(objective(rows, sign, weight, found.w), rel=1e-12)
        assert found.objective == pytest.approx(other.objective, rel=1e-7)
        assert ((found.dual >= 0) & (found.dual <= weight)).all()
        np.testing.assert_allclose(rows.combine(found.dual * sign), found.w, atol=1e-9 * (1.0 + abs(found.w).max()))


@given(seed=st.integers(0, 10_000), factors=st.tuples(st.floats(0.05, 20.0), st.floats(0.05, 20.0)))
def test_starts_change_the_work_not_the_solution(seed, factors):
    X, sign, rng = problem(seed)
    rows = Rows(X)
    solver, weight = HingeDescent(rows, sign), rng.uniform(0.1, 2.0, sign.size)
    first = solver.solve(weight, tol=1e-10, max_iter=20_000)
    weight = weight * np.where(sign > 0, *factors)
    cold, warm = (solver.solve(weight, tol=1e-9, starts=s, max_iter=20_000) for s in ((), (first,)))
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)


def test_a_solution_is_a_start_that_needs_nothing():
    X, sign, rng = problem(1)
    solver, weight = HingeDescent(Rows(X), sign), rng.uniform(0.5, 50.0, sign.size)
    first = solver.solve(weight, tol=1e-6)
    assert solver.solve(weight, tol=1e-6, starts=(first,)).n_iter == 0


def test_large_weights_need_few_passes():
    """Coordinate descent alone takes thousands where classes are separated by a hair."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.05, size=(400, 900)) * rng.lognormal(0.0, 1.5, 900))
    sign = np.where(rng.random(400) < 0.2, 1.0, -1.0)
    solution = HingeDescent(Rows(X), sign).solve(np.full(400, 1e3), tol=1e-4)
    assert solution.relative_gap <= 1e-4
    assert solution.n_iter <= 400


def test_samples_of_zeros_and_of_no_weight():
    X = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]))
    rows = Rows(X, constant=0.0)
    solution = HingeDescent(rows, np.array([1.0, 1.0, -1.0])).solve(np.array([5.0, 2.0, 0.0]), tol=0.0, atol=1e-9)
    assert solution.w == pytest.approx([1.0, 0.0, 0.0])
    assert solution.objective == pytest.approx(2.5)
    nothing = HingeDescent(rows, np.array([1.0, 1.0, -1.0])).solve(np.zeros(3), tol=0.0, atol=1e-9)
    assert nothing.objective == 0.0


def test_sums_that_overflow_are_told():
    X = sparse.csr_array(np.full((4, 3), 1e200))
    with pytest.raises(ValueError, match="too large for a linear model"):
        HingeDescent(Rows(X), np.array([1.0, 1.0, -1.0, -1.0])).solve(np.ones(4), tol=0.0, atol=1e-9)
