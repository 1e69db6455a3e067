"""All solvers are called in one way."""

import inspect

import numpy as np
import pytest

from csf.linear import Hinge, HingeDescent, Logistic, Rows, Solver, SquaredHinge

solvers = pytest.mark.parametrize("kind", [Hinge, HingeDescent, Logistic, SquaredHinge])


def draw():
    rng = np.random.default_rng(0)
    sign = np.where(np.arange(200) < 60, 1.0, -1.0)
    return Rows(rng.normal(size=(200, 4)) + 0.5 * sign[:, None]), sign, rng.exponential(size=200)


@solvers
def test_arguments_of_all_solvers_are_those_of_the_protocol(kind):
    names = [(p.name, p.kind) for p in inspect.signature(kind.solve).parameters.values()]
    assert names == [(p.name, p.kind) for p in inspect.signature(Solver.solve).parameters.values()]


@solvers
def test_the_larger_tolerance_counts(kind):
    rows, sign, weight = draw()
    solver = kind(rows, sign)
    tight = solver.solve(weight, tol=1e-8)
    assert tight.relative_gap <= 1e-8
    loose = solver.solve(weight, tol=1e-8, atol=0.5 * tight.objective)
    assert loose.relative_gap > 1e-8
    assert loose.gap <= 0.5 * tight.objective
    assert loose.n_iter < tight.n_iter
    by_share = solver.solve(weight, tol=0.5 * tight.objective / loose.objective)
    np.testing.assert_array_equal(by_share.w, loose.w)
    both = solver.solve(weight, tol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(both.w, tight.w)


@solvers
@pytest.mark.parametrize("sequence", [list, tuple])
def test_any_number_of_starts_is_taken(kind, sequence):
    rows, sign, weight = draw()
    solver, found = kind(rows, sign), []
    for factor in (1.0, 1.2, 1.5, 2.0):
        found.insert(0, solver.solve(factor * weight, tol=1e-7, starts=sequence(found)))
        assert found[0].relative_gap <= 1e-7
        cold = solver.solve(factor * weight, tol=1e-7)
        assert found[0].objective == pytest.approx(cold.objective, rel=1e-6)


def test_starts_without_dual_variables_are_refused_where_they_are_needed():
    rows, sign, weight = draw()
    start = Hinge(rows, sign).solve(weight, tol=1e-3)
    with pytest.raises(ValueError, match="without dual variables; accepted: those of HingeDescent"):
        HingeDescent(rows, sign).solve(weight, tol=1e-3, starts=[start])
