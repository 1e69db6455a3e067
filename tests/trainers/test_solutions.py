"""Starts that earlier solutions make."""

import numpy as np
import pytest

from csf.solvers import HingeDescent, Rows
from csf.trainers.linear import light, starts_at


def path(seed=0, n=150, d=600):
    """A hinge problem of many features, and a function that solves it for the weights of both classes."""
    rng = np.random.default_rng(seed)
    X, sign = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.05), np.where(np.arange(n) < 30, 1.0, -1.0)
    solver = HingeDescent(Rows(X), sign)

    def solve(t, tol=1e-8, starts=()):
        weight = np.where(sign > 0, 2.0 - t, t) * 0.1
        return solver.solve(weight, tol=tol, starts=starts, max_iter=20_000)

    return solve


def known(solve, t):
    return np.log([2.0 - t, t]), light(solve(t))


@pytest.mark.parametrize("t", [0.55, 0.5, 0.42])
def test_dual_variables_move_along_with_the_weights(t):
    """The path of an SVM is piecewise linear in the weights: between two solutions the third is near the line."""
    solve = path()
    right = solve(t).dual
    starts = [known(solve, 0.5), known(solve, 0.6)]
    (found,) = starts_at(starts, np.log([2.0 - t, t]))
    nearest = np.linalg.norm(starts[0][1].dual - right)
    assert np.linalg.norm(found.dual - right) <= 0.6 * nearest + 1e-6
    assert solve(t, starts=[found]).relative_gap <= 1e-8


def test_a_start_between_two_solutions_saves_passes():
    """Of single problems the order of the passes decides: all of them together take a quarter less."""
    passes = np.zeros(2)
    for seed in range(4):
        solve = path(seed)
        (found,) = starts_at([known(solve, 0.5), known(solve, 0.6)], np.log([1.45, 0.55]))
        passes += [solve(0.55, starts=given).n_iter for given in ([found], [])]
    assert passes[0] <= 0.9 * passes[1]


def test_one_solution_is_its_own_start():
    solve = path()
    start = known(solve, 0.5)
    assert starts_at([start], np.log([1.4, 0.6])) == [start[1]]


def test_far_beyond_both_the_line_ends():
    solve = path()
    starts = [known(solve, 0.5), known(solve, 0.55)]
    (found,) = starts_at(starts, np.log([1.9, 0.1]))
    near, far = (solution.dual for _, solution in starts)
    np.testing.assert_allclose(found.dual, 2.0 * near - far)
