"""Margins agree with predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.data.responses import margin

ANY = st.floats(allow_nan=False)


@given(st.lists(ANY, min_size=1, max_size=30), ANY, st.booleans())
def test_margin_is_positive_exactly_where_the_last_class_is_predicted(score, threshold, positive_is_last):
    with np.errstate(over="ignore"):
        score = np.array([*score, threshold, np.nextafter(threshold, -np.inf), np.nextafter(threshold, np.inf)])
    result = margin(score, threshold, positive_is_last)
    np.testing.assert_array_equal(result > 0, (score >= threshold) == positive_is_last)


@given(st.lists(ANY, min_size=2, max_size=30), ANY, st.booleans())
def test_margin_keeps_the_order(score, threshold, positive_is_last):
    result = margin(np.sort(score), threshold, positive_is_last)
    ordered = result if positive_is_last else result[::-1]
    assert (ordered[1:] >= ordered[:-1]).all()


@pytest.mark.parametrize("threshold", [-np.inf, np.inf])
def test_margin_of_an_infinite_threshold_still_ranks(threshold):
    assert np.unique(margin(np.linspace(-3, 3, 50), threshold, True)).shape[0] == 50
