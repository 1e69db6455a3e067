"""Each loss is one function: value, slope, curvature and gap belong together, in whichever form they are asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.solvers.losses import HINGE, LOGISTIC, SQUARED_HINGE, least_gap, multiplier_terms

LITERAL = {
    "logistic": (LOGISTIC, lambda z: np.log1p(np.exp(-z))),
    "squared hinge": (SQUARED_HINGE, lambda z: np.maximum(0.0, 1.0 - z) ** 2),
}
smooth = pytest.mark.parametrize("loss", LITERAL)


def drawn(seed):
    rng = np.random.default_rng(seed)
    return 3.0 * rng.normal(size=40), np.where(rng.random(40) < 0.3, 1.0, -1.0), rng.exponential(size=40)


@smooth
@given(seed=st.integers(0, 10**6))
def test_all_forms_are_those_of_one_function(loss, seed):
    (z, sign, weight), (loss, literal), factor = drawn(seed), LITERAL[loss], np.empty(40)
    value = loss.terms(z, sign, weight, factor)
    assert value == pytest.approx(weight @ literal(z), rel=1e-12)
    assert loss.value(z, weight) == pytest.approx(value, rel=1e-12)
    step = 1e-5
    slope = weight * (literal(z + step) - literal(z - step)) / (2.0 * step)
    np.testing.assert_allclose(factor, -slope * sign, atol=1e-8)
    before, after = np.empty(40), np.empty(40)
    loss.terms(z - step, np.ones(40), weight, before)
    loss.terms(z + step, np.ones(40), weight, after)
    bent = np.abs(z - 1.0) > step
    np.testing.assert_allclose(loss.curvature(z, weight)[bent], (before - after)[bent] / (2.0 * step), atol=1e-7)


@given(seed=st.integers(0, 10**6))
def test_the_squared_hinge_pulls_as_its_factors_say(seed):
    z, sign, weight = drawn(seed)
    factor = np.empty(40)
    SQUARED_HINGE.terms(z, sign, weight, factor)
    np.testing.assert_array_equal(SQUARED_HINGE.pull(z, weight) * sign, factor)


@given(seed=st.integers(0, 10**6), penalty=st.floats(0.01, 100.0))
def test_multipliers_see_the_hinge(seed, penalty):
    """With shares of those who lose, nothing is left of the loss; with any others, the Fenchel gap is."""
    z, sign, weight = drawn(seed)
    share, clipped, factor = np.random.default_rng(seed).random(40), np.empty(40), np.empty(40)
    loss, slack = multiplier_terms(z, share, weight, sign, penalty, clipped, factor)
    assert loss == pytest.approx(HINGE.value(z, weight), rel=1e-12)
    assert slack == pytest.approx(loss - (weight * clipped) @ (1.0 - z), abs=1e-9)
    assert multiplier_terms(z, (z < 1.0) * 1.0, weight, sign, 0.0, clipped, factor)[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("free", [False, True])
@given(seed=st.integers(0, 10**6))
def test_the_gap_is_that_of_feasible_dual_variables(free, seed):
    """Literal duality gap of the logistic loss: entropies of the evened dual variables, less half their squared sum."""
    (_, sign, weight), rng, factor = drawn(seed), np.random.default_rng(seed), np.empty(40)
    Z, w = np.column_stack([rng.normal(size=(40, 2)), np.full(40, 2.0)]), rng.normal(size=3)
    ridge, margins = np.array([1.0, 1.0, 0.0 if free else 1.0]), sign * (Z @ w)
    LOGISTIC.terms(margins, sign, weight, factor)
    pulls = np.array([factor[of_class] @ Z[of_class] for of_class in (sign > 0, sign < 0)])
    gap, scale = least_gap(w, ridge, pulls)
    factors = np.where(sign > 0, *scale)
    share = factors * np.abs(factor) / weight
    inner = np.clip(share, 1e-300, 1.0 - 1e-16)
    dual = (
        weight @ -(inner * np.log(inner) + (1 - inner) * np.log1p(-inner)) - 0.5 * ridge @ ((factors * factor) @ Z) ** 2
    )
    primal = 0.5 * ridge @ w**2 + LOGISTIC.value(margins, weight)
    assert not free or abs((factors * factor).sum()) < 1e-9
    less, scaled = 1.0 - scale.min(), sign == (1.0 if scale[0] < 1.0 else -1.0)
    loosely = gap + less * LOGISTIC.value(margins[scaled], weight[scaled])
    closely = gap + LOGISTIC.lost(margins[scaled], weight[scaled], less) if less else gap
    assert gap - 1e-9 <= primal - dual <= closely + 1e-9 <= loosely + 2e-9
