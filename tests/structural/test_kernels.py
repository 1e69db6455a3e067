"""Compiled loops: as interpreted, and on rows of any layout."""

import numpy as np
import pytest
from scipy import sparse

from csf.structural.base import AveragedWeights, rows_of, stack_rows

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_rows(dtype):
    X = RNG.normal(size=(9, 5)).astype(dtype) * (RNG.random((9, 5)) < 0.6)
    w, slopes = RNG.normal(size=6), RNG.normal(size=7) * (np.arange(7) % 3 > 0)
    places = np.array([8, 0, 3, 3, 1, 7, 2])
    Z = X[places].astype(float)
    for rows in (rows_of(X).take(places), rows_of(sparse.csr_array(X)).take(places)):
        np.testing.assert_allclose(rows.scores(w, 0.5, 2.0), 0.5 * Z @ w[:5] + 2.0 * w[5], rtol=1e-12)
        total = np.arange(6.0)
        gain = rows.add(slopes, 0.5, 2.0, total)
        expected = np.arange(6.0) + np.append(0.5 * Z.T @ slopes, 2.0 * slopes.sum())
        np.testing.assert_allclose(total, expected, atol=1e-12)
        assert gain == pytest.approx(expected @ expected - 55.0)
        np.testing.assert_allclose(rows.scores(w[:5], 1.0, 0.0), Z @ w[:5], atol=1e-12)


def test_rows_are_taken_copied_and_stacked():
    X = RNG.normal(size=(9, 5)) * (RNG.random((9, 5)) < 0.6)

    def content(rows):
        return np.column_stack([rows.scores(column, 1.0, 0.0) for column in np.eye(5)])

    dense, csr = rows_of(X), rows_of(sparse.csr_array(X))
    for rows, other in ((dense, csr), (csr, dense)):
        middle = rows.take(slice(2, 7))
        assert len(middle) == 5
        np.testing.assert_array_equal(content(middle), X[2:7])
        np.testing.assert_array_equal(content(middle.copy()), X[2:7])
        np.testing.assert_array_equal(content(middle.take(np.array([4, 0, 0]))), X[[6, 2, 2]])
        for last in (rows, other):
            stacked = stack_rows([middle, rows.take(slice(0, 2)), last])
            np.testing.assert_array_equal(content(stacked), np.vstack([X[2:7], X[:2], X]))
        assert len(rows.take(np.array([], dtype=int)).copy()) == 0
    assert not np.shares_memory(dense.take(slice(2, 4)).copy().X, X)
    assert not np.shares_memory(csr.take(slice(2, 4)).copy().X.data, csr.X.data)
    assert csr.take(slice(2, 4)).copy().X.data.size == np.count_nonzero(X[2:4])


def test_the_length_is_free_of_drift():
    """A huge step and its opposite leave an error in the running squared length; it must not reach a later ball."""
    rows, rng = rows_of(sparse.csr_array(np.eye(3))), np.random.default_rng(2)
    for _ in range(20):
        weights, w = AveragedWeights(4, 0.0), np.zeros(4)
        for size, radius in ((1e10, 1e300), (1e10, 1e300), (0.1, 1e300), (0.1, 1.0)):
            slopes = size * rng.uniform(0.9, 1.1, 3) if w[0] == 0.0 or size < 1.0 else w[:3] - 0.1
            weights.add(rows, slopes, 1.0, 0.0)
            weights.step([(rows, slopes)], 1.0, radius)
            w[:3] -= slopes
        np.testing.assert_allclose(weights.last(), w, atol=1e-5)


@pytest.mark.parametrize("radius", [1e9, 2.0])
@pytest.mark.parametrize("power", [0.0, 3.0])
def test_averaged_weights_are_plain_means(radius, power):
    """Over thousands of steps, most of them cut down by the ball."""
    weights, w, total, parts = AveragedWeights(4, power), np.zeros(4), np.zeros(4), 0.0
    rng = np.random.default_rng(1)
    for t in range(3000):
        X, slopes = rng.normal(size=(3, 4)), rng.normal(size=3)
        squares = weights.add(rows_of(X), slopes, 1.0, 0.0)
        gradient = X.T @ slopes
        assert squares == pytest.approx(gradient @ gradient, rel=1e-9)
        eta = 50.0 / np.sqrt(t + 1)
        weights.step([(rows_of(X), slopes)], eta, radius)
        w = w - eta * gradient
        w *= min(1.0, radius / np.linalg.norm(w))
        total += (t + 1.0) ** power * w
        parts += (t + 1.0) ** power
    np.testing.assert_allclose(weights.last(), w, rtol=1e-9)
    np.testing.assert_allclose(weights.average(), total / parts, rtol=1e-9, atol=1e-12 * min(radius, 1e3))
