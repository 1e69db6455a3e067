"""What is particular to the Q-mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import QMean


@given(p=st.floats(-3.0, 0.99), n=st.floats(-3.0, 0.99))
def test_tangents_have_the_length_of_the_lipschitz_constant(p, n):
    assert np.hypot(*QMean().dual(p, n)) == pytest.approx(QMean().lipschitz, rel=1e-12)


@given(p=st.floats(-3.0, 1.0), n=st.floats(-3.0, 1.0))
def test_extension_is_the_formula_itself_up_to_one(p, n):
    formula = 1.0 - np.sqrt(((1.0 - p) ** 2 + (1.0 - n) ** 2) / 2.0)
    assert QMean().extension(p, n) == pytest.approx(formula, abs=1e-12)


def test_radius_of_the_disc_is_not_a_half():
    assert np.hypot(*QMean().project(3.0, 4.0)) == pytest.approx(np.sqrt(0.5))
    assert QMean().project(-1.0, 0.3) == (0.0, 0.3)
