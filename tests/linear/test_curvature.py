"""Second derivatives that serve several problems: those of each problem, wherever they are taken from."""

import numpy as np
import pytest

from csf.linear import Logistic, Rows
from csf.linear._curvature import Curvatures, thinned

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
    monkeypatch.setattr("csf.linear.logistic._FEWEST", 40)
    few = Logistic(Rows(wide), sign).solve(np.full(300, 0.1), tol=1e-8)
    assert few.relative_gap <= 1e-8
    assert few.objective == pytest.approx(whole.objective, rel=2e-8)
