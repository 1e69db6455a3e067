"""Linear systems, and the signature that all solvers share."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.solvers import Hinge, HingeDescent, Logistic, Rows, Solver, SquaredHinge
from csf.solvers.losses import note_changes


@given(seed=st.integers(0, 10**6), n=st.integers(0, 30))
def test_changes_are_those_between_two_sets_of_losing_samples(seed, n):
    rng = np.random.default_rng(seed)
    factor, weight = rng.choice([-1.5, 0.0, 2.0], n), rng.uniform(0.1, 2.0, n)
    before, losing = rng.random(n) < 0.5, factor != 0.0
    active, places, change = before.copy(), np.empty(n, dtype=np.int64), np.empty(n)
    count, n_active = note_changes(factor, weight, active, places, change)
    changed = np.flatnonzero(losing != before)
    assert places[:count].tolist() == changed.tolist()
    assert change[:count].tolist() == np.where(losing[changed], 2.0 * weight[changed], -2.0 * weight[changed]).tolist()
    assert n_active == losing.sum()
    assert active.tolist() == losing.tolist()


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
