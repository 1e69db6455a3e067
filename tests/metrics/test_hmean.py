"""What is particular to the H-mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import HMean
from csf.thresholding import threshold_curve


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


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-9, 1.1e-10])
def test_classes_of_very_different_weight_keep_their_digits(share):
    y, score = np.array([1, 1, 0, 0, 0]), np.array([3.0, 1.0, 4.0, 2.0, 0.0])
    weight = np.where(y == 1, 0.5, share / 3)
    assert threshold_curve(y, score, sample_weight=weight).best("hmean").value == pytest.approx(4 / 7, rel=2e-6)


def test_classes_whose_rates_would_be_noise_are_refused():
    weight = np.array([1.0, 1.0, 1e-14])
    with pytest.raises(ValueError, match=r"negative class 1e-14 in total.*more similar size"):
        threshold_curve([1, 1, 0], [3.0, 1.0, 2.0], sample_weight=weight)
