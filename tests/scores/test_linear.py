"""Scores of linear models."""

import numpy as np
import pytest
from scipy import sparse

from csf.scores.linear import linear_scores


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_scores_are_the_products_and_the_intercept(kind):
    X, coef = np.arange(6.0).reshape(3, 2), np.array([2.0, -1.0])
    np.testing.assert_array_equal(linear_scores(kind(X), coef, 0.5), X @ coef + 0.5)


def test_scores_that_overflow_keep_their_sign():
    assert linear_scores(np.array([[1e308], [-1e308]]), np.array([10.0]), 1.0).tolist() == [np.inf, -np.inf]


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="X holds features so large that 1 of 2 scores are no numbers"):
        linear_scores(np.array([[1e308], [1.0]]), np.array([10.0]), -np.inf)
