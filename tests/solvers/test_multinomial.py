"""Logistic regression of several classes: the optimum, whatever the data, the weights and the start."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import log_softmax, softmax
from sklearn.datasets import make_classification

from csf.solvers import Rows
from csf.solvers.logistic import Multinomial, scores_of, shares_of

X, Y = make_classification(150, 5, n_informative=4, n_redundant=0, n_classes=4, n_clusters_per_class=1, random_state=2)
WEIGHT = np.random.default_rng(0).uniform(0.0, 3.0, Y.size) * np.array([0.3, 1.0, 2.0, 4.0])[Y]
WIDE = np.random.default_rng(1).normal(size=(150, 600)) * (np.random.default_rng(2).random((150, 600)) < 0.05)


def objective(X, w, constant, weight):
    scores = X @ w[:, :-1].T + constant * w[:, -1]
    penalty = 0.5 * np.sum(w[:, :-1] ** 2)
    return penalty - weight @ log_softmax(scores, axis=1)[np.arange(Y.size), Y]


def slope(X, w, constant, weight):
    ones = np.column_stack([X, np.full(len(X), constant)])
    off = softmax(ones @ w.T, axis=1) - np.eye(4)[Y]
    ridge = np.append(np.ones(X.shape[1]), 0.0)
    return ridge * w + (weight[:, None] * off).T @ ones


@pytest.mark.parametrize("constant", [1.0, 0.0, 2.5])
def test_a_look_sees_the_objective_and_its_derivatives(constant):
    problem, w = Multinomial(Rows(X, constant=constant), Y, 4), np.random.default_rng(3).normal(size=(4, 6))
    if not constant:
        w[:, -1] = 0.0
    point = problem._look(w, WEIGHT)
    assert point.objective == pytest.approx(objective(X, w, constant, WEIGHT))
    np.testing.assert_allclose(point.slope * (1.0 if constant else [1, 1, 1, 1, 1, 0]), slope(X, w, constant, WEIGHT))
    numbers = approx_fprime(w.ravel(), lambda v: problem._look(v.reshape(4, 6), WEIGHT).objective)
    np.testing.assert_allclose(point.slope.ravel(), numbers, atol=1e-3)


@pytest.mark.parametrize("samples", [X, WIDE], ids=["few features", "many features"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32], ids=["dense", "CSR", "float32"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("constant", [1.0, 0.0])
def test_no_derivative_is_left(samples, form, C, constant):
    problem = Multinomial(Rows(form(samples), constant=constant), Y, 4)
    weight = C * WEIGHT
    found = problem.solve(weight, tol=1e-9)
    values = np.asarray(form(samples).todense() if form is sparse.csr_array else form(samples), dtype=float)
    left = slope(values, found.w, constant, weight)
    assert np.abs(left).max() <= 2e-9 * weight.sum()
    assert found.objective == pytest.approx(objective(values, found.w, constant, weight))
    assert np.abs(found.w.sum(axis=0)).max() <= 1e-6 * np.abs(found.w).max()


@pytest.mark.parametrize("start", [None, np.random.default_rng(5).normal(size=(4, 6)) * 3.0], ids=["zero", "far"])
def test_the_start_does_not_matter(start):
    problem = Multinomial(Rows(X), Y, 4)
    near = problem.solve(WEIGHT, tol=1e-10)
    again = problem.solve(WEIGHT, tol=1e-10, start=start)
    np.testing.assert_allclose(again.w, near.w, atol=1e-7)
    assert problem.solve(WEIGHT, tol=1e-8, start=near.w).n_iter == 0


def test_weights_are_repetitions_and_rows_are_chosen():
    times, at = np.random.default_rng(0).integers(0, 4, Y.size), np.random.default_rng(1).permutation(Y.size)[:100]
    weighted = Multinomial(Rows(X, at), Y[at], 4).solve(times[at].astype(float), tol=1e-10)
    rows = np.repeat(at, times[at])
    repeated = Multinomial(Rows(X[rows]), Y[rows], 4).solve(np.ones(rows.size), tol=1e-10)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-7)


def test_scales_of_features_take_few_more_steps():
    """Plain steps along slopes would take thousands where features are of sizes 0.001 to 1000."""
    scaled = X * np.logspace(-3, 3, 5)
    steps = [Multinomial(Rows(each), Y, 4).solve(1e9 * np.ones(Y.size), tol=1e-5).n_iter for each in (X, scaled)]
    assert steps[0] <= 40
    assert steps[1] <= 2 * steps[0]


def test_many_rows_are_looked_at_in_parts(monkeypatch):
    monkeypatch.setattr("csf.solvers.logistic._ROWS", 16)
    monkeypatch.setattr("csf.solvers.logistic._ENOUGH_TO_GUESS", 50)
    monkeypatch.setattr("csf.solvers.logistic._ENOUGH_TO_GUESS_PER_FEATURE", 1)
    problem = Multinomial(Rows(X), Y, 4)
    found = problem.solve(WEIGHT, tol=1e-9)
    assert np.abs(slope(X, found.w, 1.0, WEIGHT)).max() <= 1e-9 * WEIGHT.sum()
    scores = X @ found.w[:, :-1].T + found.w[:, -1]
    np.testing.assert_allclose(scores_of(problem.rows, found.w), scores)
    np.testing.assert_allclose(shares_of(problem.rows, found.w), softmax(scores, axis=1))


def test_the_guess_is_the_inverse_where_probabilities_do_not_depend_on_the_features():
    """Of equal classes and weights it is exact: the means are of independent parts."""
    problem, weight = Multinomial(Rows(X, constant=0.0), Y, 4), np.full(Y.size, 2.0)
    apply = problem._inverse(np.zeros((4, 6)), weight)
    step = np.zeros((4, 6))
    step[:, :-1] = np.random.default_rng(0).normal(size=(4, 5))
    moved = 1e-6 * step
    change = (problem._look(moved, weight).slope - problem._look(-moved, weight).slope) / 2e-6
    np.testing.assert_allclose(apply(change)[:, :-1], step[:, :-1], atol=1e-5)


def test_the_guess_of_many_rows_is_that_of_every_second_one(monkeypatch):
    twice, w = np.repeat(np.arange(Y.size), 2), np.random.default_rng(0).normal(size=(4, 6))
    all_rows, half = (Multinomial(Rows(X[at]), Y[at], 4) for at in (twice, np.arange(Y.size)))
    expected = half._inverse(w, 2.0 * WEIGHT)(w)
    monkeypatch.setattr("csf.solvers.logistic._ENOUGH_TO_GUESS", Y.size)
    monkeypatch.setattr("csf.solvers.logistic._ENOUGH_TO_GUESS_PER_FEATURE", 1)
    np.testing.assert_allclose(all_rows._inverse(w, WEIGHT[twice])(w), expected)


@pytest.mark.parametrize("weight", [np.ones(Y.size), 1e200 * np.ones(Y.size)])
def test_features_that_are_too_large_are_named(weight):
    with pytest.raises(ValueError, match="too large for a linear model to be solved"):
        Multinomial(Rows(1e200 * X), Y, 4).solve(weight, tol=1e-6)


def test_equal_rows_and_empty_features_have_a_solution():
    flat = np.column_stack([np.zeros(Y.size), np.ones(Y.size)])
    found = Multinomial(Rows(flat), Y, 4).solve(np.ones(Y.size), tol=1e-10)
    np.testing.assert_allclose(shares_of(Rows(flat[:1]), found.w)[0], np.bincount(Y) / Y.size, atol=1e-8)
    assert (found.w[:, 0] == 0.0).all()
