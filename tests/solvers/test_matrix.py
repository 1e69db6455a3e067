"""Rows of a matrix: what views of them give is what slices would give, whatever the layout."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_builders import LAYOUTS, unsorted_csr
from scipy import sparse

from csf._common.threads import Threads
from csf.solvers import Logistic, Rows, SquaredHinge, matrix

layouts = pytest.mark.parametrize("layout", LAYOUTS)
both = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture(autouse=True, scope="module", params=["numpy", "compiled"])
def products(request):
    """Both ways to multiply dense rows, whatever their number."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compiled":
            patch.setattr(matrix, "_FEW", 0)
        yield


def drawn(seed, *, dtype=np.float64, n=40, d=6):
    """A matrix with zeros, zero rows and columns; rows of it in any order, some twice; and a random generator."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[rng.integers(n, size=3)] = 0.0
    X[:, rng.integers(d)] = 0.0
    return X.astype(dtype), rng.integers(n, size=rng.integers(1, 2 * n)), rng


@layouts
@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64])
@pytest.mark.parametrize("constant", [0.0, 2.5])
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), d=st.sampled_from([1, 6, 30]))
def test_a_view_equals_a_slice(layout, dtype, constant, seed, d):
    X, at, rng = drawn(seed, dtype=dtype, d=d)
    rows = Rows(LAYOUTS[layout](X), at, constant=constant)
    Z = np.column_stack([X[at].astype(float), np.full(at.size, constant)])
    v, w = rng.normal(size=at.size) * (rng.random(at.size) < 0.7), rng.normal(size=d + 1)
    tight = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(rows.scores(w), Z @ w, **tight)
    np.testing.assert_allclose(rows.combine(v), v @ Z, **tight)
    np.testing.assert_allclose(rows.combine(v, squares=True), v @ Z**2, **tight)
    np.testing.assert_allclose(rows.image(v, w), (v * (Z @ w)) @ Z, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(rows.squared_norms(), (Z**2).sum(axis=1), **tight)
    squares = (v**2)[:, None] * Z**2
    totals = np.where(squares.any(axis=0), squares.sum(axis=0), 1.0)
    np.testing.assert_allclose(rows.leverages(v**2), (squares / totals).sum(axis=1), **tight)
    places = np.flatnonzero(rng.random(at.size) < 0.5)
    gram = np.ones((d + 1, d + 1))
    rows.add_gram(places, v[places], gram)
    expected = 1.0 + (Z[places].T * v[places]) @ Z[places]
    np.testing.assert_allclose(np.triu(gram), np.triu(expected), **tight)
    assert (rows.n_rows, rows.n_coefficients) == (at.size, d + 1)


@layouts
@pytest.mark.parametrize("count", [0, 255, 256, 257, 600])
def test_outer_products_of_many_rows(layout, count):
    X, _, rng = drawn(count, n=700)
    places, factor, gram = rng.permutation(700)[:count], rng.normal(size=count), np.zeros((7, 7))
    Rows(LAYOUTS[layout](X), constant=2.5).add_gram(places, factor, gram)
    Z = np.column_stack([X[places], np.full(count, 2.5)])
    np.testing.assert_allclose(np.triu(gram), np.triu((Z.T * factor) @ Z), rtol=1e-12, atol=1e-10)


@layouts
@pytest.mark.parametrize("constant", [0.0, 2.5])
@given(seed=st.integers(0, 10**6))
def test_a_block_equals_a_slice(layout, constant, seed):
    X, at, rng = drawn(seed)
    places = np.flatnonzero(rng.random(at.size) < 0.5)
    factor, v, w = rng.normal(size=places.size), rng.normal(size=places.size), rng.normal(size=7)
    block = Rows(LAYOUTS[layout](X), at, constant=constant).block(places, factor)
    Z = factor[:, None] * np.column_stack([X[at[places]], np.full(places.size, constant)])
    np.testing.assert_allclose(block.scores(w[block.columns]), Z @ w, atol=1e-12)
    np.testing.assert_allclose(block.combine(v), (v @ Z)[block.columns], atol=1e-12)
    np.testing.assert_allclose(block.outer(v), Z @ (Z.T @ v), atol=1e-12)
    unused = np.setdiff1d(np.arange(7), block.columns)
    assert not Z[:, unused].any()
    assert block.columns[-1] == 6


@layouts
@both
def test_layouts_agree_bit_for_bit_with_their_kind(layout, dtype):
    """Dense ones with dense ones, sparse ones with sparse ones: the layout is not what a result depends on."""
    X, at, rng = drawn(3, dtype=dtype)
    kind = np.asarray if isinstance(LAYOUTS[layout](X), np.ndarray) else sparse.csr_array
    w = rng.normal(size=7)
    assert Rows(LAYOUTS[layout](X), at).stored == Rows(kind(X), at).stored
    if layout == "unsorted CSR":  # its values are stored in two parts, whose sum is rounded
        np.testing.assert_allclose(Rows(LAYOUTS[layout](X), at).scores(w), Rows(kind(X), at).scores(w), rtol=1e-6)
    else:
        np.testing.assert_array_equal(Rows(LAYOUTS[layout](X), at).scores(w), Rows(kind(X), at).scores(w))


@both
@pytest.mark.parametrize("layout", ["C order", "CSR", "CSR matrix", "64-bit CSR"])
def test_nothing_is_copied(layout, dtype):
    X = LAYOUTS[layout](drawn(0, dtype=dtype)[0])
    rows = Rows(X)
    for one in (rows, rows.take(np.array([3, 1])), rows.take(np.array([3, 1])).take(np.array([0]))):
        parts = (X,) if layout == "C order" else (X.data, X.indices, X.indptr)
        own = (one.X,) if layout == "C order" else (one.X.data, one.X.indices, one.X.indptr)
        assert all(np.shares_memory(a, b) and a.dtype == b.dtype for a, b in zip(parts, own, strict=True))


def test_rows_that_are_taken_are_those_of_the_whole_matrix():
    X = np.arange(12.0).reshape(6, 2)
    rows = Rows(X, np.array([5, 4]), constant=3.0).take(np.array([0, 2]))
    np.testing.assert_array_equal(rows.scores(np.array([1.0, 0.0, 1.0])), [3.0, 7.0])


def test_the_given_matrix_is_left_as_it_is():
    X = unsorted_csr(drawn(1)[0])
    before = [part.copy() for part in (X.data, X.indices, X.indptr)]
    Rows(X).scores(np.ones(7))
    for part, old in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)
    fixed = drawn(1)[0]
    fixed.setflags(write=False)
    Rows(fixed).combine(np.ones(40))


@pytest.mark.parametrize("layout", ["C order", "CSR"])
def test_no_rows_at_all(layout):
    none = np.array([], dtype=int)
    rows = Rows(LAYOUTS[layout](drawn(0)[0]), none)
    assert rows.scores(np.ones(7)).shape == (0,)
    assert not rows.combine(np.empty(0)).any()
    block = rows.block(none, np.empty(0))
    assert block.scores(np.ones(block.columns.size)).shape == (0,)
    assert not block.combine(np.empty(0)).any()


@pytest.mark.parametrize("layout", ["C order", "CSR"])
def test_rows_travel(layout):
    X, at, rng = drawn(2)
    rows, w = Rows(LAYOUTS[layout](X), at), rng.normal(size=7)
    copy = pickle.loads(pickle.dumps(rows))
    np.testing.assert_array_equal(copy.scores(w), rows.scores(w))
    assert copy.is_sparse == rows.is_sparse


@pytest.fixture(scope="module")
def long():
    """More rows than are passed over at a time, and signs."""
    X = np.random.default_rng(0).normal(size=(140_000, 3))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 > 1.0, 1.0, -1.0)


@layouts
def test_threads_share_the_rows_and_change_no_bit(layout, long):
    X, v = long
    rows, w = Rows(LAYOUTS[layout](X)), np.arange(4.0)
    assert [part.start for part in rows.blocks()] == [0, 65_536, 131_072]

    def sums():
        gram = np.zeros((4, 4))
        rows.add_gram(np.arange(v.size), v, gram)
        return rows.scores(w), rows.combine(v), rows.combine(v, squares=True), rows.combine_by_sign(v), gram

    Z, alone = np.column_stack([X, np.ones(v.size)]), sums()
    for found, expected in zip(alone, (Z @ w, v @ Z, v @ Z**2, [v * (v > 0) @ Z, v * (v < 0) @ Z])):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.triu(alone[-1]), np.triu((Z.T * v) @ Z), rtol=1e-9, atol=1e-9)
    with Threads(3):
        for found, expected in zip(sums(), alone):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("solver", [Logistic, SquaredHinge])
def test_threads_change_no_bit_of_a_solution(solver, long):
    def solution():
        return solver(Rows(long[0]), long[1]).solve(np.ones(140_000), tol=1e-6)

    alone = solution()
    with Threads(2):
        helped = solution()
    assert (helped.objective, helped.gap) == (alone.objective, alone.gap)
    np.testing.assert_array_equal(helped.w, alone.w)


def test_blocks_are_long_enough_for_the_sums_of_wide_sparse_rows():
    rows = Rows(sparse.csr_array((np.ones(50_000), (np.arange(50_000), np.arange(50_000))), shape=(50_000, 90_000)))
    assert rows.blocks(1000) == [slice(0, 16 * 90_001)]
