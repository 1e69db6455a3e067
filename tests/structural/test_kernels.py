"""Compiled loops: as interpreted, and on rows of any layout."""

import numpy as np
import pytest
from scipy import sparse

from csf.structural import _rows
from csf.structural._weights import AveragedWeights
from csf.structural.losses import _kernels

RNG = np.random.default_rng(0)
POS, NEG = np.sort(RNG.normal(size=7)), np.sort(RNG.normal(size=20))
SHARES = (1 / 27, 1 / 27, 1 / 27, 1 / 27)
CALLS = {
    "fbeta_tangent": (POS, NEG, POS, NEG, *SHARES, 1.0, np.empty(27)),
    "precision_tangent": (POS, NEG, POS, NEG[-8:], *SHARES, 7 / 27, np.empty(27)),
    "top_precision_tangent": (POS, NEG, POS, NEG[-4:], 4, 1 / 27, np.empty(27)),
    "pair_hinges": (POS, NEG[-5:], np.ones(5), np.empty(12)),
    "table_tangent": (RNG.random((8, 21)), POS, NEG, POS, NEG, 1 / 27, 1 / 27, np.empty(27)),
}


@pytest.mark.parametrize("name", CALLS)
def test_compiled_loops_do_what_is_written(name):
    kernel, arguments = getattr(_kernels, name), CALLS[name]
    interpreted = kernel.py_func(*arguments)
    slope = arguments[-1].copy()
    compiled = kernel(*arguments)
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-13)
    np.testing.assert_allclose(arguments[-1], slope, rtol=1e-13)
    assert slope.any()


def test_every_loop_is_called_here():
    assert set(CALLS) | {"share_top"} == set(_kernels.__all__)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_rows(dtype):
    X = RNG.normal(size=(9, 5)).astype(dtype) * (RNG.random((9, 5)) < 0.6)
    w, factors = RNG.normal(size=6), RNG.normal(size=9) * (np.arange(9) % 3 > 0)
    for rows in (X, _rows.rows_of(sparse.csr_array(X))):
        score = _rows.score_rows(rows, w, 0.5, 2.0)
        np.testing.assert_allclose(score, 0.5 * X.astype(float) @ w[:5] + 2.0 * w[5], rtol=1e-12)
        total = np.zeros(6)
        _rows.add_rows(rows, factors, 0.5, 2.0, total)
        np.testing.assert_allclose(total, np.append(0.5 * X.astype(float).T @ factors, 2.0 * factors.sum()), atol=1e-12)
        without = _rows.score_rows(rows, w[:5], 1.0, 0.0)
        np.testing.assert_allclose(without, X.astype(float) @ w[:5], atol=1e-12)


def test_rows_are_cut_taken_and_stacked():
    X = RNG.normal(size=(9, 5)) * (RNG.random((9, 5)) < 0.6)
    rows = _rows.rows_of(sparse.csr_array(X))

    def dense(part):
        data, indices, indptr = part
        span = slice(indptr[0], indptr[-1])
        return sparse.csr_array((data[span], indices[span], indptr - indptr[0]), shape=(len(indptr) - 1, 5)).toarray()

    middle = _rows.cut_rows(rows, 2, 7)
    np.testing.assert_array_equal(dense(middle), X[2:7])
    np.testing.assert_array_equal(dense(_rows.copy_rows(middle)), X[2:7])
    np.testing.assert_array_equal(dense(_rows.take_rows(middle, np.array([4, 0, 0]))), X[[6, 2, 2]])
    np.testing.assert_array_equal(dense(_rows.stack_rows([middle, X[:2], rows])), np.vstack([X[2:7], X[:2], X]))
    copied = _rows.copy_rows(X[2:4])
    assert not np.shares_memory(copied, X)
    assert dense(_rows.take_rows(rows, np.array([], dtype=int))).shape == (0, 5)


@pytest.mark.parametrize("radius", [1e9, 2.0])
def test_averaged_weights_are_plain_means(radius):
    """Over thousands of steps, most of them cut down by the ball."""
    weights, w, total = AveragedWeights(4), np.zeros(4), np.zeros(4)
    rng = np.random.default_rng(1)
    for t in range(3000):
        X, slopes = rng.normal(size=(3, 4)), rng.normal(size=3)
        squares = weights.add(X, slopes, 1.0, 0.0)
        gradient = X.T @ slopes
        assert squares == pytest.approx(gradient @ gradient, rel=1e-9)
        eta = 50.0 / np.sqrt(t + 1)
        weights.step([(X, slopes)], eta, radius)
        w = w - eta * gradient
        w *= min(1.0, radius / np.linalg.norm(w))
        total += w
    np.testing.assert_allclose(weights.last(), w, rtol=1e-9)
    np.testing.assert_allclose(weights.average(), total / 3000, rtol=1e-9, atol=1e-12 * min(radius, 1e3))
