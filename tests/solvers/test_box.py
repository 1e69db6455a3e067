"""Quadratic programs of dual variables."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csf.solvers import Rows
from csf.solvers.box import BoxProgram


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
