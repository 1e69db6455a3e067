"""All solvers of the hinge loss: true certificates, one optimum."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_builders import LAYOUTS, problems
from sklearn.svm import LinearSVC

import csf.linear._multipliers
from csf.linear import Hinge, HingeDescent, Logistic, Rows, SquaredHinge
from csf.linear._solve import NOISE

SOLVERS = {"descent": (HingeDescent, 512), "Newton": (Hinge, 10**9), "Newton, conjugate gradients": (Hinge, 0)}
solvers = pytest.mark.parametrize("solver", SOLVERS)


def solve(solver, problem, weight, layout="C order", start=None, **options):
    kind, direct = SOLVERS[solver]
    rows = Rows(LAYOUTS[layout](problem.X), constant=problem.constant)
    if start is not None:
        options["starts"] = [start]
    with patch.object(csf.linear._multipliers, "DIRECT", direct):
        return kind(rows, problem.sign).solve(weight, **options)


@solvers
@given(problem=problems(), layout=st.sampled_from(sorted(LAYOUTS)), tol=st.sampled_from([0.3, 1e-2, 1e-6]))
@settings(max_examples=60)
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
        assert found.relative_gap <= 1.001 * tol


@given(problem=problems(scales=(-3, 0), flaws=("none", "zero column", "equal rows", "zero rows", "zero weights")))
@settings(max_examples=60)
def test_all_solvers_agree(problem):
    found = [solve(solver, problem, problem.weight, tol=1e-9, max_iter=10_000) for solver in SOLVERS]
    for one in found:
        assert one.relative_gap <= (1e-8 if one.penalty > 1.0 else 1e-3)  # coordinates end slowly with few features
        for other in found:
            assert one.bound <= other.objective * (1.0 + 1e-12)
            reach = np.sqrt(2.0 * max(one.gap, 0.0)) + np.sqrt(2.0 * max(other.gap, 0.0))
            assert np.linalg.norm(one.w - other.w) <= reach + 1e-9


@solvers
@given(problem=problems(scales=(-3, 0), flaws=("none", "zero weights")), moves=st.lists(st.floats(-1, 1), min_size=8))
@settings(max_examples=25)
def test_warm_starts_lead_to_the_same_solution(solver, problem, moves):
    start = None
    for up, down in zip(moves[:4], moves[4:]):
        weight = problem.weight * np.where(problem.sign > 0, 10.0**up, 10.0**down)
        cold, warm = (solve(solver, problem, weight, start=s, tol=1e-6, max_iter=20_000) for s in (None, start))
        assert abs(warm.objective - cold.objective) <= warm.gap + cold.gap + 1e-12 * cold.objective
        assert max(warm.relative_gap, cold.relative_gap) <= 1e-5
        start = warm


def test_many_features_as_scikit_learn_has_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 700)) * (rng.random((200, 700)) < 0.05), (rng.random(200) < 0.3).astype(int)
    X[:, 0] += y
    weight, rows = np.where(y == 1, 1.5, 0.5), Rows(LAYOUTS["CSR"](X))
    model = LinearSVC(loss="hinge", tol=1e-10, max_iter=100_000, random_state=0).fit(X, y, sample_weight=weight)
    found = HingeDescent(rows, np.where(y == 1, 1.0, -1.0)).solve(weight, tol=1e-10, max_iter=100_000)
    np.testing.assert_allclose(found.w, np.append(model.coef_, model.intercept_), atol=1e-4)


def test_the_limit_of_passes_is_kept_and_shows_in_the_gap():
    rng = np.random.default_rng(1)
    X, sign = 100.0 * rng.normal(size=(300, 5)), np.where(rng.random(300) < 0.3, 1.0, -1.0)
    found = HingeDescent(Rows(X), sign).solve(np.ones(300), tol=1e-9, max_iter=7)
    assert found.n_iter <= 7
    assert found.relative_gap > 1e-9


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
