"""What is particular to the H-mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import HMean


@given(p=st.floats(1e-6, 1.0), n=st.floats(1e-6, 1.0))
def test_tangents_trace_the_curve(p, n):
    assert np.sqrt(HMean().gradient(p, n)).sum() == pytest.approx(np.sqrt(2.0), rel=1e-12)


def test_no_rate_no_value():
    assert HMean().link(0.0, 0.0) == 0.0
    assert HMean().link(5e-324, 1.0) == pytest.approx(0.0)


def test_extension_takes_the_corners_of_the_box():
    assert HMean().dual(-1.0, 0.5) == (2.0, 0.0)
    assert HMean().dual(-1.0, -2.0) == (2.0, 2.0)
    assert HMean().extension(-1.0, -2.0) == -6.0
