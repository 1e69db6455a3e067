"""Margins of samples that a solution has not seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from csf.solvers import Logistic, Rows, SquaredHinge
from csf.solvers.base import LOGISTIC, SQUARED_HINGE
from csf.solvers.left_out import margins_left_out


def data(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n, d)), rng.uniform(0.1, 3.0, n)
    sign = np.where(X[:, 0] + rng.normal(size=n) > 0.5, 1.0, -1.0)
    sign[:2] = 1.0, -1.0
    return X, sign, weight


def one_step(X, sign, weight, margins, w, ridge, loss, left):
    """Literal Newton step from a solution to the one without a sample."""
    pull = np.empty(margins.size)
    loss.terms(margins, sign, weight, pull)
    curvature = loss.curvature(margins, weight)
    pull[left] = curvature[left] = 0.0
    slope = ridge * w - X.T @ pull
    moved = w - np.linalg.solve(X.T @ (curvature[:, None] * X) + np.diag(ridge), slope)
    return sign[left] * X[left] @ moved


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), is_free=st.booleans(), is_sparse=st.booleans())
def test_logistic_margins_are_those_of_one_newton_step(seed, is_free, is_sparse):
    X, sign, weight = data(seed)
    rows = Rows(sparse.csr_matrix(X) if is_sparse else X, constant=1.0)
    problem = Logistic(rows, sign, penalise_constant=not is_free)
    solution = problem.solve(weight, tol=1e-12)
    found = margins_left_out(rows, LOGISTIC, problem.ridge, solution.margins, weight)
    full, ridge = np.column_stack([X, np.ones(len(X))]), np.array([1.0, 1.0, 1.0, 0.0 if is_free else 1.0])
    literal = [
        one_step(full, sign, weight, solution.margins, solution.w, ridge, LOGISTIC, left) for left in range(sign.size)
    ]
    np.testing.assert_allclose(found, literal, atol=1e-4)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000))
def test_margins_of_squared_hinges_are_those_of_one_newton_step(seed):
    X, sign, weight = data(seed)
    solution = SquaredHinge(Rows(X), sign).solve(weight, tol=1e-14)
    found = margins_left_out(Rows(X), SQUARED_HINGE, np.ones(4), solution.margins, weight)
    full = np.column_stack([X, np.ones(len(X))])
    parts = full, sign, weight, solution.margins, solution.w, np.ones(4), SQUARED_HINGE
    np.testing.assert_allclose(found, [one_step(*parts, left) for left in range(sign.size)], atol=1e-5)


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_margins_are_near_those_of_trainings_without_the_sample(scale):
    X, sign, weight = data(0, n=60)
    weight = scale * weight
    problem = Logistic(Rows(X), sign)
    solution = problem.solve(weight, tol=1e-12)
    found = margins_left_out(Rows(X), LOGISTIC, problem.ridge, solution.margins, weight)
    trained = []
    for left in range(sign.size):
        others = np.arange(sign.size) != left
        w = Logistic(Rows(X[others]), sign[others]).solve(weight[others], tol=1e-12).w
        trained.append(sign[left] * (X[left] @ w[:-1] + w[-1]))
    seen = np.abs(solution.margins - trained).max()
    assert np.abs(found - trained).max() < 0.3 * seen
