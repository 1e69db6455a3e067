"""Logistic regression, and its second derivatives."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from linear_builders import LAYOUTS, problems, tight_logistic

import csf.solvers.logistic
from csf.solvers import Logistic, Rows
from csf.solvers.logistic import Curvatures, thinned
from csf.trainers.linear import part_of

PATHS = {"direct": 10**9, "conjugate gradients": 0}
paths = pytest.mark.parametrize("path", PATHS)
penalties = pytest.mark.parametrize("penalised", [False, True], ids=["free", "penalised"])


def solver(problem, penalised, layout="C order"):
    rows = Rows(LAYOUTS[layout](problem.X), constant=problem.constant)
    return Logistic(rows, problem.sign, penalise_constant=penalised)


def on_path(path):
    """Context in which problems of all widths take one path."""
    return patch.object(csf.solvers.logistic, "DIRECT", PATHS[path])


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
@settings(max_examples=25)
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
@settings(max_examples=15)
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


def test_margins_far_out_overflow_nowhere():
    X = np.array([[1e4], [-1e4], [1e4], [-1e4]])
    found = Logistic(Rows(X), np.array([1.0, -1.0, -1.0, 1.0])).solve(np.array([1.0, 1.0, 1e-6, 1e-6]), tol=1e-9)
    assert found.relative_gap <= 1e-9


def test_one_class_alone_leaves_the_gap_open():
    """The intercept has no best value then; the certificate says so."""
    found = Logistic(Rows(np.ones((4, 1))), np.array([1.0, 1.0, -1.0, -1.0])).solve(np.array([1.0, 1, 0, 0]), tol=1e-9)
    assert found.gap == np.inf


RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
SIGN = np.where(X[:, 0] + RNG.normal(size=60) > 0.8, 1.0, -1.0)
SHARES = RNG.integers(1, 4, size=60).astype(float)


def literal(w, weight, ridge):
    """Inverse of the second derivatives of the objective, from its definition."""
    Z = np.column_stack([X, np.ones(60)])
    p = 1.0 / (1.0 + np.exp(-Z @ w))
    return np.linalg.inv((Z * (weight * p * (1.0 - p))[:, None]).T @ Z + np.diag(ridge))


@pytest.mark.parametrize("shares", [None, SHARES], ids=["equal", "weights"])
def test_kept_matrices_serve_other_costs(shares):
    ridge, w, slope = np.array([1.0, 1.0, 1.0, 0.0]), RNG.normal(size=4), RNG.normal(size=4)
    kept = Curvatures(Rows(X), SIGN, ridge, shares)
    for costs in ((1.0, 1.0), (1.9, 0.1), (0.3, 1.7)):
        weight = np.where(SIGN > 0, *costs) * (1.0 if shares is None else shares)
        there = kept.inverse(w, kept.totals(weight))(slope)
        np.testing.assert_allclose(there, literal(w, weight, ridge) @ slope, rtol=1e-9)


def test_weights_of_another_kind_get_their_own_matrix():
    ridge, w, slope = np.ones(4), RNG.normal(size=4), RNG.normal(size=4)
    kept = Curvatures(Rows(X), SIGN, ridge, None)
    margins = SIGN * Rows(X).scores(w)
    inverse, anchor = kept.inverse_at(w, margins, SHARES, kept.totals(SHARES))
    assert anchor is None
    np.testing.assert_allclose(inverse(slope), literal(w, SHARES, ridge) @ slope, rtol=1e-9)
    equal = np.full(60, 2.0)
    assert kept.inverse_at(w, margins, equal, kept.totals(equal))[1] is w


def test_costs_that_change_are_foretold():
    """From two solutions the third is closer, before the data are looked at, than on the line between them."""
    solver, solutions = Logistic(Rows(X), SIGN), []
    for c_fn in (1.0, 1.3, 1.15):
        weight = np.where(SIGN > 0, c_fn, 2.0 - c_fn)
        solutions.append(solver.solve(weight, tol=1e-12, starts=solutions[::-1]))
    first, second, third = solutions
    guess, _ = solver._start(solver._curvatures.totals(np.where(SIGN > 0, 1.15, 0.85)), [second, first])
    midway = 0.5 * (first.w + second.w)
    assert np.linalg.norm(guess - third.w) < 0.6 * np.linalg.norm(midway - third.w)


def test_few_terms_stand_for_the_whole_sum():
    sizes = np.random.default_rng(1).exponential(size=5000) ** 3
    taken, factor = thinned(sizes, 500)
    assert abs(taken.size - 500) <= 2
    assert (factor >= 1.0).all()
    assert factor @ sizes[taken] == pytest.approx(sizes.sum(), rel=1e-2)
    # The largest are all among them, as they are.
    largest = np.argsort(sizes)[-20:]
    assert np.isin(largest, taken).all()
    np.testing.assert_array_equal(factor[np.isin(taken, largest)], 1.0)


def test_no_more_terms_are_taken_than_there_are():
    taken, factor = thinned(np.array([0.0, 2.0, 0.0, 1.0]), 3)
    assert taken.tolist() == [1, 3]
    assert factor.tolist() == [1.0, 1.0]


def test_thinned_second_derivatives_lead_to_the_same_optimum(monkeypatch):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(300, 600))
    sign = np.where(wide[:, 0] + rng.normal(size=300) > 0.5, 1.0, -1.0)
    whole = Logistic(Rows(wide), sign).solve(np.full(300, 0.1), tol=1e-8)
    monkeypatch.setattr("csf.solvers.logistic._FEWEST", 40)
    few = Logistic(Rows(wide), sign).solve(np.full(300, 0.1), tol=1e-8)
    assert few.relative_gap <= 1e-8
    assert few.objective == pytest.approx(whole.objective, rel=2e-8)


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_second_derivatives_of_some_rows_know_rare_features(layout):
    rng = np.random.default_rng(0)
    X = (rng.random((60_000, 40)) < np.geomspace(2e-4, 0.5, 40)).astype(float)
    sign = np.where(rng.random(60_000) < 0.4, 1.0, -1.0)
    rows, weight, ridge = Rows(LAYOUTS[layout](X)), rng.lognormal(0.0, 2.0, 60_000), np.full(41, 1e-3)
    kept = Curvatures(rows, sign, ridge, weight)
    assert kept.share < 0.5
    inverse, _ = kept.inverse_at(np.zeros(41), np.zeros(60_000), weight, kept.totals(weight))
    Z = np.column_stack([X, np.ones(60_000)])
    exact = np.linalg.inv(0.25 * (Z.T * weight) @ Z + np.diag(ridge))
    known = np.array([inverse(each)[k] for k, each in enumerate(np.eye(41))])
    # A feature that none of the rows has would be about 1000 here, and a Newton step along it as much too long.
    np.testing.assert_array_less(np.abs(np.log(known / np.diag(exact))), np.log(2.0))


def wide_problem(n=400, d=60):
    """Features enough for matrices to be kept, not made anew in each step."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(n, d))
    return Rows(wide, constant=1.0), np.where(wide[:, 0] + rng.normal(size=n) > 1.0, 1.0, -1.0)


def test_parts_take_the_matrices_of_all_samples(monkeypatch):
    rows, sign = wide_problem()
    whole, made, add = Logistic(rows, sign), [], Rows.add_gram
    start = part_of(whole.solve(np.ones(400), tol=1e-6), rows, sign)
    monkeypatch.setattr(Rows, "add_gram", lambda self, *rest: made.append(self.n_rows) or add(self, *rest))
    for left_out in range(4):
        at = np.flatnonzero(np.arange(400) % 4 != left_out)
        part = Logistic(rows.take(at), sign[at], whole=lambda: whole)
        found = part.solve(np.ones(300), tol=1e-4, starts=[start])
        assert found.relative_gap <= 1e-4
        best = Logistic(rows.take(at), sign[at]).solve(np.ones(300), tol=1e-10).objective
        assert best * (1.0 - 1e-9) <= found.objective <= best * (1.0 + 2e-4)
        # Other settings of the same part go on with them.
        again = Logistic(rows.take(at), sign[at], whole=lambda: whole)
        assert again.solve(np.full(300, 1.1), tol=1e-4, starts=[found]).relative_gap <= 1e-4
    # Once for both classes of the whole.
    assert made.count(400) == 2


def test_a_solution_on_a_part_says_whose_matrices_serve():
    rows, sign = wide_problem()
    whole = Logistic(rows, sign)
    solution = whole.solve(np.ones(400), tol=1e-6)
    assert not solution.of_all
    assert part_of(solution, rows, sign).of_all
    # Without the whole problem a part makes its own.
    at = np.arange(0, 400, 2)
    found = Logistic(rows.take(at), sign[at]).solve(np.ones(200), tol=1e-8, starts=[part_of(solution, rows, sign)])
    assert not found.of_all


# ---------------------------------------------------------------- many rows


@penalties
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_many_rows_start_from_a_few_and_end_where_all_do(penalised, seed):
    rng = np.random.default_rng(seed)
    n, share = 1500, rng.choice([0.02, 0.3])
    sign = np.where(rng.random(n) < share, 1.0, -1.0)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 1.0] + 0.5 * sign[:, None]
    # In the order of the classes, as files are.
    order = np.argsort(sign, kind="stable")
    weight = rng.choice([0.0, 1.0, 5.0], n)
    weight[[0, -1]] = 1.0
    module = csf.solvers.logistic
    with patch.multiple(module, _ENOUGH=20, _ENOUGH_PER_FEATURE=2, _FEW_OF_MANY=0.2):
        problem = Logistic(Rows(X[order]), sign[order], penalise_constant=penalised)
        found = problem.solve(weight, tol=1e-6)
        assert problem._few is not None
        alone = problem._solve(weight, 1e-6, 0.0, (), 200, guess=False)
    assert found.relative_gap <= 1e-6
    assert found.objective == pytest.approx(alone.objective, rel=2e-6)


def test_a_few_rows_spare_looks_at_the_others(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 4))
    sign = np.where(X.sum(axis=1) + rng.normal(size=40_000) > 1.0, 1.0, -1.0)
    monkeypatch.setattr(csf.solvers.logistic, "_ENOUGH", 500)
    problem, weight = Logistic(Rows(X), sign), np.ones(40_000)
    alone = problem._solve(weight, 1e-4, 0.0, (), 200, guess=False)
    assert problem.solve(weight, tol=1e-4).n_iter <= alone.n_iter - 3
    monkeypatch.setattr(csf.solvers.logistic, "_ENOUGH", 10_000)
    assert Logistic(Rows(X), sign)._few is None
