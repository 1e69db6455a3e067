"""The weighted linear SVM: optimal, certified, the same for all ways to write the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from liblinear.liblinearutil import problem as liblinear_problem
from liblinear.liblinearutil import train
from scipy import sparse
from scipy.optimize import minimize

import csf.linear._multipliers
from csf.linear import Hinge, Rows


def hinge(X, is_pos, constant=1.0):
    return Hinge(Rows(X, constant=constant), np.where(is_pos, 1.0, -1.0))


def draw(seed, n=120, d=4):
    rng = np.random.default_rng(seed)
    is_pos = np.arange(n) < max(2, n // 4)
    X = rng.normal(size=(n, d))
    X[is_pos] += 0.7
    return X, is_pos, rng.uniform(0.1, 5.0, size=n)


def objective(w, X, is_pos, weight):
    margins = np.where(is_pos, 1.0, -1.0) * (np.column_stack([X, np.ones(len(X))]) @ w)
    return 0.5 * w @ w + weight @ np.maximum(1.0 - margins, 0.0)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-3, 1.0, 1e3]), tol=st.sampled_from([1e-3, 1e-8]))
@settings(max_examples=40)
def test_gap_is_reached_and_true(seed, scale, tol):
    X, is_pos, weight = draw(seed)
    weight = weight * scale
    found = hinge(X, is_pos).solve(weight, tol=0.0, atol=tol * weight.sum())
    assert found.gap <= tol * weight.sum()
    assert found.objective == pytest.approx(objective(found.w, X, is_pos, weight), rel=1e-10)
    assert found.bound <= found.objective + 1e-9 * found.objective
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 1.0):
        assert objective(found.w + size * rng.normal(size=5), X, is_pos, weight) >= found.bound - 1e-12 * weight.sum()
    assert ((found.share >= 0.0) & (found.share <= 1.0)).all()
    np.testing.assert_allclose(found.margins, hinge(X, is_pos).margins(found.w), rtol=1e-9, atol=1e-9)


def test_agrees_with_a_general_solver():
    X, is_pos, weight = draw(1, n=30, d=2)
    found = hinge(X, is_pos).solve(weight, tol=0.0, atol=1e-10)
    n, Z = len(X), np.where(is_pos, 1.0, -1.0)[:, None] * np.column_stack([X, np.ones(len(X))])
    # minimise over (w, slack) with linear constraints
    slack = {"type": "ineq", "fun": lambda v: Z @ v[:3] + v[3:] - 1, "jac": lambda v: np.hstack([Z, np.eye(n)])}
    general = minimize(
        lambda v: 0.5 * v[:3] @ v[:3] + weight @ v[3:],
        np.ones(3 + n),
        jac=lambda v: np.append(v[:3], weight),
        bounds=[(None, None)] * 3 + [(0, None)] * n,
        constraints=slack,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    np.testing.assert_allclose(found.w, general.x[:3], atol=1e-5)


def test_agrees_with_liblinear_where_that_converges():
    X, is_pos, _ = draw(2, n=300)
    weight = np.where(is_pos, 0.03, 0.01)
    found = hinge(X, is_pos).solve(weight, tol=0.0, atol=1e-12)
    y = np.where(is_pos, 1.0, -1.0)
    model = train(liblinear_problem(y, sparse.csr_matrix(X), 1.0), "-s 3 -c 0.01 -w1 3 -w-1 1 -e 1e-9 -B 1 -q")
    np.testing.assert_allclose(found.w, np.array(model.w[:5]) * (1 if model.label[0] == 1 else -1), atol=1e-6)


def test_liblinear_stops_short_where_this_does_not():
    """The reason for a solver of our own: 300 passes are not enough for few features and weak regularisation."""
    X, is_pos, _ = draw(3, n=1000, d=3)
    y, C = np.where(is_pos, 1.0, -1.0), 1000.0
    found = hinge(X, is_pos).solve(np.full(1000, C), tol=0.0, atol=1e-6 * 1000 * C)
    model = train(liblinear_problem(y, sparse.csr_matrix(X), 1.0), f"-s 3 -c {C} -e 1e-6 -B 1 -q")
    w = np.array(model.w[:4]) * (1 if model.label[0] == 1 else -1)
    assert found.gap <= 1e-6 * 1000 * C
    assert objective(w, X, is_pos, np.full(1000, C)) > 1.001 * found.objective


@pytest.mark.parametrize("direct", [0, 256])
def test_dense_sparse_and_both_linear_solvers_agree(direct, monkeypatch):
    monkeypatch.setattr(csf.linear._multipliers, "DIRECT", direct)
    X, is_pos, weight = draw(4)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0.0
    dense = hinge(X, is_pos).solve(weight, tol=0.0, atol=1e-10)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        np.testing.assert_allclose(hinge(kind(X), is_pos).solve(weight, tol=0.0, atol=1e-10).w, dense.w, atol=1e-6)
    monkeypatch.undo()
    np.testing.assert_allclose(dense.w, hinge(X, is_pos).solve(weight, tol=0.0, atol=1e-10).w, atol=1e-6)


def test_integer_weights_repeat_and_zero_weights_drop():
    X, is_pos, _ = draw(5)
    times = np.random.default_rng(5).integers(0, 4, size=len(X))
    weighted = hinge(X, is_pos).solve(2.0 * times, tol=0.0, atol=1e-3)
    rows = np.repeat(np.arange(len(X)), times)
    repeated = hinge(X[rows], is_pos[rows]).solve(np.full(len(rows), 2.0), tol=0.0, atol=1e-3)
    # the path is the same, not only its end: the tolerance here is rough
    np.testing.assert_allclose(weighted.w, repeated.w, rtol=1e-8, atol=1e-10)


def test_no_weight_no_coefficients():
    X, is_pos, weight = draw(6)
    found = hinge(X, is_pos).solve(np.zeros_like(weight), tol=0.0, atol=1e-10)
    assert not found.w.any()
    assert found.gap == 0.0


def test_one_class_alone_can_be_weighted():
    X, is_pos, _ = draw(6)
    found = hinge(X, is_pos).solve(is_pos.astype(float), tol=0.0, atol=1e-9)
    assert found.gap <= 1e-9
    assert (found.margins[is_pos] > 0).all()


def test_warm_start_saves_products_with_the_data(monkeypatch):
    X, is_pos, weight = draw(7, n=2000)
    problem = hinge(X, is_pos)
    tol = 1e-7 * weight.sum()
    first = problem.solve(weight, tol=0.0, atol=tol)
    moved = weight * np.where(is_pos, 1.02, 0.99)
    scores, counts = Rows.scores, []
    monkeypatch.setattr(Rows, "scores", lambda rows, w: counts.append(rows.n_rows) or scores(rows, w))
    cold = problem.solve(moved, tol=0.0, atol=tol)
    products = sum(counts)
    counts.clear()
    warm = problem.solve(moved, tol=0.0, atol=tol, starts=[first])
    assert sum(counts) < 0.8 * products
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


@pytest.mark.parametrize(("scale", "shift", "times"), [(1e-4, 0, 1), (1e4, 0, 1), (1, 1e4, 1), (1e7, 1e7, 100)])
def test_features_of_any_size_converge(scale, shift, times):
    """Rounding makes Newton's matrix singular in the last case."""
    X, is_pos, weight = draw(8)
    weight = times * weight
    problem = hinge(X * np.array([1.0, scale, scale, 1.0]) + shift, is_pos)
    first = problem.solve(weight, tol=0.0, atol=1e-5 * weight.sum())
    moved = problem.solve(weight * np.where(is_pos, 1.1, 0.9), tol=0.0, atol=1e-5 * weight.sum(), starts=[first])
    for found in (first, moved):
        assert found.gap <= 1e-5 * weight.sum()
        assert found.n_iter < 100


@pytest.mark.filterwarnings("ignore:(overflow|invalid):RuntimeWarning")
def test_features_beyond_all_bounds_are_refused():
    X, is_pos, weight = draw(8)
    problem = hinge(1e200 * X, is_pos)
    with pytest.raises(ValueError, match="features are too large"):
        problem.solve(weight, tol=0.0, atol=1e-5)


def test_intercept_is_a_feature_of_the_given_value():
    X, is_pos, weight = draw(9)
    scaled = hinge(X, is_pos, 3.0).solve(weight, tol=0.0, atol=1e-10)
    by_hand = hinge(np.column_stack([X, np.full(len(X), 3.0)]), is_pos, 0.0)
    by_hand = by_hand.solve(weight, tol=0.0, atol=1e-10).w
    np.testing.assert_allclose(scaled.w, by_hand[:-1], atol=1e-9)
    assert by_hand[-1] == 0.0


def test_limit_of_steps_is_kept_and_shows_in_the_gap():
    X, is_pos, weight = draw(10)
    found = hinge(X, is_pos).solve(weight, tol=0.0, atol=1e-10, max_iter=3)
    assert found.n_iter <= 3
    assert found.gap > 1e-10
    assert found.objective == pytest.approx(objective(found.w, X, is_pos, weight))
