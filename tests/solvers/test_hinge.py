"""The hinge loss, by Newton steps with multipliers and by coordinate descent, and its square."""

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_builders import LAYOUTS, problems, tight_squared_hinge
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

import csf.solvers.hinge
from csf.solvers import Hinge, HingeDescent, Logistic, Rows, SquaredHinge
from csf.solvers.base import NOISE
from csf.solvers.hinge import BoxProgram, best_mixture


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


def problem(seed, n=60, d=90, density=0.2):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density, "csr", random_state=rng) * rng.lognormal(0.0, 1.0)
    sign = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    return sparse.csr_array(X), sign, rng


def hinge_objective(rows, sign, weight, w):
    return 0.5 * w @ w + weight @ np.maximum(1.0 - sign * rows.scores(w), 0.0)


@given(seed=st.integers(0, 10_000), size=st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e4]))
@settings(max_examples=25)
def test_it_finds_what_newton_steps_find(seed, size):
    """Separable or not: weights are small, or so large that hardly any sample loses."""
    X, sign, rng = problem(seed)
    weight = size * rng.uniform(0.1, 2.0, sign.size) * (rng.random(sign.size) < 0.9)
    for matrix in (X, X.toarray()):
        rows = Rows(matrix)
        found = HingeDescent(rows, sign).solve(weight, tol=1e-8, max_iter=20_000)
        other = Hinge(rows, sign).solve(weight, tol=1e-9)
        assert found.relative_gap <= 1e-8
        assert found.objective == pytest.approx(hinge_objective(rows, sign, weight, found.w), rel=1e-12)
        assert found.objective == pytest.approx(other.objective, rel=1e-7)
        assert ((found.dual >= 0) & (found.dual <= weight)).all()
        np.testing.assert_allclose(rows.combine(found.dual * sign), found.w, atol=1e-9 * (1.0 + abs(found.w).max()))


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


SOLVERS = {"descent": (HingeDescent, 512), "Newton": (Hinge, 10**9), "Newton, conjugate gradients": (Hinge, 0)}
solvers = pytest.mark.parametrize("solver", [pytest.param("descent", marks=pytest.mark.slow), *list(SOLVERS)[1:]])


def solve(solver, problem, weight, layout="C order", start=None, **options):
    kind, direct = SOLVERS[solver]
    rows = Rows(LAYOUTS[layout](problem.X), constant=problem.constant)
    if start is not None:
        options["starts"] = [start]
    with patch.object(csf.solvers.hinge, "DIRECT", direct):
        return kind(rows, problem.sign).solve(weight, **options)


@pytest.mark.slow
@solvers
@given(problem=problems(), layout=st.sampled_from(sorted(LAYOUTS)), tol=st.sampled_from([0.3, 1e-2, 1e-6]))
@settings(max_examples=20)
def test_the_bound_is_what_feasible_dual_variables_prove(solver, problem, layout, tol):
    found = solve(solver, problem, problem.weight, layout, tol=tol)
    assert ((found.share >= 0.0) & (found.share <= 1.0)).all()
    combined = (found.share * problem.weight * problem.sign) @ problem.Z
    bound = problem.weight @ found.share - 0.5 * combined @ combined
    # a bound closer to the objective than rounding can tell is lowered to what it can
    hidden = NOISE * (found.objective + problem.weight.sum())
    assert found.bound == pytest.approx(bound, rel=1e-9, abs=1e-9 * found.objective + hidden)
    # losses of margins that are 1 but for rounding weigh as much as the weights do
    rounding = 1e-14 * problem.weight.sum() * (1.0 + np.abs(problem.Z @ np.diag(found.w)).max())
    assert found.objective == pytest.approx(problem.hinge(found.w), rel=1e-9, abs=rounding)
    assert found.gap >= -1e-9 * found.objective
    if solver != "descent":
        assert found.gap <= 1.001 * max(tol * found.objective, hidden)


@given(problem=problems(scales=(-3, 0), flaws=("none", "zero column", "equal rows", "zero rows", "zero weights")))
@settings(max_examples=30)
def test_all_solvers_agree(problem):
    found = [solve(solver, problem, problem.weight, tol=1e-9, max_iter=10_000) for solver in SOLVERS]
    for one in found:
        assert one.relative_gap <= (1e-8 if one.penalty > 1.0 else 1e-3)  # coordinates end slowly with few features
        for other in found:
            assert one.bound <= other.objective * (1.0 + 1e-12)
            reach = np.sqrt(2.0 * max(one.gap, 0.0)) + np.sqrt(2.0 * max(other.gap, 0.0))
            assert np.linalg.norm(one.w - other.w) <= reach + 1e-9


def test_many_features_as_scikit_learn_has_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 700)) * (rng.random((200, 700)) < 0.05), (rng.random(200) < 0.3).astype(int)
    X[:, 0] += y
    weight, rows = np.where(y == 1, 1.5, 0.5), Rows(LAYOUTS["CSR"](X))
    model = LinearSVC(loss="hinge", tol=1e-10, max_iter=100_000, random_state=0).fit(X, y, sample_weight=weight)
    found = HingeDescent(rows, np.where(y == 1, 1.0, -1.0)).solve(weight, tol=1e-10, max_iter=100_000)
    np.testing.assert_allclose(found.w, np.append(model.coef_, model.intercept_), atol=1e-4)


@pytest.mark.parametrize("solver", [Hinge, HingeDescent, SquaredHinge, Logistic])
@pytest.mark.parametrize("C", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_gaps_are_as_large_as_what_rounding_hides(solver, C, offset):
    """Where an objective is the rest of large terms, no gap below their rounding is proven, and none is negative."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + offset
    sign = np.where(X[:, 0] + 0.1 * rng.normal(size=60) > offset, 1.0, -1.0)
    solution = solver(Rows(X), sign).solve(np.full(60, C), tol=1e-9)
    assert solution.gap > 0.0
    assert solution.gap >= 1e-16 * solution.objective
    if solver in (Hinge, HingeDescent):
        assert solution.gap >= 2e-16 * C * 60


# ---------------------------------------------------------------- quadratic programs in dual variables


def drawn(seed, *, n=40, d=12):
    """A program with finite and infinite bounds, and variables in its box."""
    rng = np.random.default_rng(seed)
    rows, sign = Rows(rng.normal(size=(n, d))), np.where(rng.random(n) < 0.4, 1.0, -1.0)
    upper = np.where(rng.random(n) < 0.2, np.inf, rng.uniform(0.0, 0.3, n))
    upper[rng.random(n) < 0.1] = 0.0
    program = BoxProgram(rows, sign, rng.uniform(0.1, 1.0, n), upper, rows.squared_norms())
    return program, np.clip(rng.uniform(-0.2, 0.4, n), 0.0, upper)


def value(program, dual):
    w = program.rows.combine(dual * program.sign)
    return 0.5 * w @ w + 0.5 * program.ridge @ dual**2 - dual.sum()


@given(seed=st.integers(0, 10_000), passes=st.integers(1, 30))
def test_a_turn_goes_down_and_stays_in_the_box(seed, passes):
    program, dual = drawn(seed)
    before, w = value(program, dual), program.rows.combine(dual * program.sign)
    margins = program.sign * program.rows.scores(w)
    found, used = program.turn(dual, w, margins, passes)
    assert ((dual >= 0.0) & (dual <= program.upper)).all()
    assert value(program, dual) <= before + 1e-12 * abs(before)
    assert 0 <= used <= passes
    np.testing.assert_array_equal(found, program.rows.combine(dual * program.sign))


@given(seed=st.integers(0, 10_000))
def test_variables_that_their_bounds_keep_are_left_alone(seed):
    program, dual = drawn(seed)
    w = program.rows.combine(dual * program.sign)
    margins = program.sign * program.rows.scores(w)
    gradient = margins - 1.0 + program.ridge * dual
    kept = ((dual == 0.0) & (gradient >= 0.0)) | ((dual == program.upper) & (gradient <= 0.0))
    before = dual.copy()
    program.turn(dual, w, margins, 3)
    np.testing.assert_array_equal(dual[kept], before[kept])


@given(seed=st.integers(0, 10_000))
def test_turns_end_where_no_variable_wants_to_move(seed):
    program, dual = drawn(seed)
    w = np.zeros(program.rows.n_coefficients)
    for turn in range(200):
        w = program.rows.combine(dual * program.sign)
        margins = program.sign * program.rows.scores(w)
        w, _ = program.turn(dual, w, margins, 20, seed=turn)
    gradient = program.sign * program.rows.scores(w) - 1.0 + program.ridge * dual
    wants = np.where(dual <= 0.0, np.minimum(gradient, 0.0), gradient)
    wants = np.where(dual >= program.upper, np.maximum(wants, 0.0), wants)
    np.testing.assert_allclose(wants[program.upper > 0.0], 0.0, atol=1e-7)


# ---------------------------------------------------------------- the squared hinge


# Up to how many features there is a matrix, and whether the coefficients are solved for without one.
PATHS = {"direct": (10**9, False), "primal": (0, True), "dual": (0, False)}
paths = pytest.mark.parametrize("path", PATHS)


def solver(problem, layout="C order"):
    return SquaredHinge(Rows(LAYOUTS[layout](problem.X), constant=problem.constant), problem.sign)


@contextmanager
def on_path(path):
    """Context in which problems of all shapes take one path."""
    direct, tall = PATHS[path]
    with (
        patch.object(csf.solvers.hinge, "DIRECT", direct),
        patch.object(SquaredHinge, "_is_tall", lambda self: tall),
    ):
        yield


def check_certificate(problem, found):
    """The objective is that of the coefficients, and strong convexity puts the optimum within the gap."""
    assert found.objective == pytest.approx(problem.squared_hinge(found.w)[0], rel=1e-9)
    best = tight_squared_hinge(problem)
    least, rest = problem.squared_hinge(best)
    assert found.objective - found.gap <= least * (1.0 + 1e-10)
    # both are within the root of twice their gaps of the optimum
    reach = np.sqrt(2.0 * max(found.gap, 0.0)) + np.linalg.norm(rest)
    assert np.linalg.norm(found.w - best) <= reach * (1.0 + 1e-6) + 1e-6 * (1.0 + np.linalg.norm(best))


@given(problem=problems(), layout=st.sampled_from(sorted(LAYOUTS)))
@settings(max_examples=40)
def test_few_features_are_solved_to_the_last_digits(problem, layout):
    found = solver(problem, layout).solve(problem.weight, tol=1e-10)
    check_certificate(problem, found)
    assert found.relative_gap <= 1e-4
    if problem.weight.max() * np.abs(problem.X).max() ** 2 < 1e6:
        assert found.relative_gap <= 1e-10
    np.testing.assert_allclose(found.margins, problem.margins(found.w), atol=1e-9 * (1 + np.abs(problem.X).max()))


@paths
@given(problem=problems(), layout=st.sampled_from(sorted(LAYOUTS)), tol=st.sampled_from([0.3, 1e-2, 1e-8]))
@settings(max_examples=30)
def test_the_gap_is_true_whatever_the_data_and_the_goal(path, problem, layout, tol):
    with on_path(path):
        check_certificate(problem, solver(problem, layout).solve(problem.weight, tol=tol))


@given(problem=problems(scales=(-6, 1), flaws=("none", "zero column", "equal rows", "zero rows", "zero weights")))
@settings(max_examples=30)
def test_the_dual_path_is_nearly_as_good_where_features_have_one_scale(problem):
    with on_path("dual"):
        found = solver(problem).solve(problem.weight, tol=1e-6, max_iter=10_000)
    assert found.relative_gap <= 1e-4


@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_many_features_take_the_dual_path(kind):
    rng = np.random.default_rng(0)
    X, sign = rng.normal(size=(150, 700)) * (rng.random((150, 700)) < 0.05), np.where(rng.random(150) < 0.3, 1.0, -1.0)
    X[:, 0] += sign
    ours = SquaredHinge(Rows(LAYOUTS["CSR"](X) if kind == "CSR" else X), sign)
    weight = np.where(sign > 0, 1.5, 0.5)
    found = ours.solve(weight, tol=1e-9)
    assert found.dual is not None
    assert found.relative_gap <= 1e-9
    with on_path("direct"):
        direct = ours.solve(weight, tol=1e-12)
    assert direct.dual is None
    np.testing.assert_allclose(found.w, direct.w, atol=np.sqrt(2 * found.gap) + 1e-9)


def test_more_samples_than_features_are_solved_in_the_coefficients():
    rng = np.random.default_rng(0)
    X, sign = sparse.random(900, 600, 0.02, "csr", random_state=0), np.where(rng.random(900) < 0.3, 1.0, -1.0)
    ours, weight = SquaredHinge(Rows(X), sign), np.where(sign > 0, 1.5, 0.5)
    found = ours.solve(weight, tol=1e-9)
    with on_path("dual"):
        other = ours.solve(weight, tol=1e-9)
    assert found.dual is None
    assert other.dual is not None
    assert max(found.relative_gap, other.relative_gap) <= 1e-9
    np.testing.assert_allclose(found.w, other.w, atol=2.0 * np.sqrt(2.0 * max(found.gap, other.gap)))
    # Solutions of the other kind are no starts.
    again = ours.solve(weight, tol=1e-9, starts=[replace(other, w=None), found])
    assert again.n_iter == 0


@given(seed=st.integers(0, 10**6), count=st.integers(1, 6))
@settings(max_examples=30)
def test_the_best_mixture_is_none_worse_than_the_nearest_start(seed, count):
    rng = np.random.default_rng(seed)
    X, sign = rng.normal(size=(60, 5)), np.where(rng.random(60) < 0.4, 1.0, -1.0)
    ours, weight = SquaredHinge(Rows(X), sign), rng.exponential(size=60)
    with on_path("dual"):
        starts = [ours.solve(weight * np.exp(rng.normal(size=60)), tol=1e-4) for _ in range(count)]

    def value(w, margins):
        return 0.5 * w @ w + weight @ np.maximum(1.0 - margins, 0.0) ** 2

    w = ours.rows.combine(best_mixture(starts, weight) * sign)
    assert value(w, sign * ours.rows.scores(w)) <= value(starts[0].w, starts[0].margins) * (1 + 1e-9)
