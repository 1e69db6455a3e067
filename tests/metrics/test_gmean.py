"""What is particular to the G-mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import GMean
from csf.thresholding import threshold_curve


@given(p=st.floats(1e-6, 1.0), n=st.floats(1e-6, 1.0))
def test_gmean_tangents_and_duals_stay_on_the_hyperbola(p, n):
    for alpha, beta in (GMean().gradient(p, n), GMean().dual(p, n)):
        assert alpha * beta == pytest.approx(0.25, rel=1e-12)


def test_the_box_bounds_the_slope_of_the_extension():
    top = 0.5 / np.sqrt(1e-3)
    assert GMean().dual(0.0, 1.0) == pytest.approx((top, 0.25 / top))
    assert GMean().dual(-1.0, -2.0) == pytest.approx((top, top))
    assert GMean().extension(-1.0, -2.0) == pytest.approx(-3 * top)
    assert GMean().extension(-0.1, 0.5) == pytest.approx(-0.1 * top + 0.5 * 0.25 / top)


def test_eps_leaves_the_value_alone():
    assert GMean(eps=0.1).link(1e-6, 1.0) == GMean().link(1e-6, 1.0) == 1e-3


@pytest.mark.parametrize("metric", [GMean(), "hmean", "min_rate"], ids=str)
def test_what_rounding_leaves_of_a_rate_is_no_rate(metric):
    """1 - 2/3 is a little more than 1/3: all negatives are wrong at every cut, so that none is worth anything."""
    cut = threshold_curve([1, 0, 1], [1.0, 2.0, 0.0]).best(metric)
    assert (cut.threshold, cut.value) == (np.inf, 0.0)
