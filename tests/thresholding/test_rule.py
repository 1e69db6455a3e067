"""Margins agree with predictions, and labels that are unknown are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
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


@pytest.mark.parametrize("null_class", [None, 0])
def test_labels_that_are_unknown_are_no_negatives(null_class):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] > 0).astype(int) if null_class is None else np.arange(90) % 3
    search = CostSearch(LogisticRegression(), null_class=null_class, param_grid=None, n_trials=1, cv=2).fit(X, y)
    with pytest.raises(ValueError, match=r"y holds the labels \[.*7\], the search knows"):
        search.score(X, np.where(np.arange(90) < 5, 7, y))
