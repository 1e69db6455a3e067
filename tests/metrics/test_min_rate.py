"""What is particular to the smaller of the two rates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import MinRate


@given(p=st.floats(-5.0, 1.0), n=st.floats(-5.0, 1.0))
def test_extension_is_the_smaller_average(p, n):
    assert MinRate().extension(p, n) == pytest.approx(min(p, n), rel=1e-15, abs=1e-300)


@given(a=st.floats(-1e3, 1e3), b=st.floats(-1e3, 1e3))
def test_projection_stays_on_the_segment(a, b):
    alpha, beta = MinRate().project(a, b)
    assert alpha + beta == pytest.approx(1.0)
    assert min(alpha, beta) >= 0.0


def test_it_says_that_it_has_a_kink():
    assert not MinRate().differentiable
