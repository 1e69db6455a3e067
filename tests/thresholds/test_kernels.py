"""Compiled loops do what their Python source does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.thresholds import _kernels as kernels


def run(kernel, arguments, python):
    """Result of a kernel and its arrays afterwards; they are written in place."""
    arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result = (kernel.py_func if python else kernel)(*arguments)
    return result, [a for a in arguments if isinstance(a, np.ndarray)]


def cases():
    rng = np.random.default_rng(0)
    n = 60
    score = rng.choice([-np.inf, -1.0, -0.0, 0.0, 0.3, np.nextafter(0.3, 1), np.inf], n)
    is_pos, weight = rng.random(n) < 0.4, rng.choice([0.0, 0.1, 0.7], n)
    out = [np.zeros(n + 1) for _ in range(3)]
    pos, neg = np.sort(score[is_pos]), np.sort(score[~is_pos])
    bits = n.bit_length()
    keys = np.empty(n, dtype=np.uint64)
    kernels.pack_keys(score.view(np.uint64), bits, keys)
    fn, fp = np.linspace(0.4, 0, 12) ** 2, np.linspace(0, 0.6, 12)
    yield kernels.split, (score, is_pos, np.zeros(n))
    yield kernels.split, (np.append(score, np.nan), np.append(is_pos, True), np.zeros(n + 1))
    yield kernels.split_weighted, (score, is_pos, weight, np.zeros(n), np.zeros(n))
    yield kernels.pack_keys, (score.view(np.uint64), bits, np.zeros(n, dtype=np.uint64))
    yield kernels.unpack_keys, (np.sort(keys), bits, score, np.sort(score), np.zeros(n, dtype=bool))
    yield kernels.merge_cuts, (pos, neg, *out)
    yield kernels.merge_weighted_cuts, (pos, weight[: pos.size], neg, weight[: neg.size], *out)
    yield kernels.hull_cuts, (fn, fp)


@pytest.mark.parametrize(("kernel", "arguments"), list(cases()))
def test_compiled_equals_python(kernel, arguments):
    (compiled, arrays), (python, expected) = run(kernel, arguments, False), run(kernel, arguments, True)
    np.testing.assert_array_equal(compiled, python)
    for array, other in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array, other)


def order_of(score):
    """Indices that the packed keys sort by, and the places that are still to be sorted."""
    bits, keys = score.shape[0].bit_length(), np.empty(score.shape[0], dtype=np.uint64)
    kernels.pack_keys(score.view(np.uint64), bits, keys)
    keys.sort()
    unsorted = np.zeros(score.shape[0], dtype=bool)
    assert kernels.unpack_keys(keys, bits, score, np.sort(score), unsorted) == unsorted.sum()
    np.testing.assert_array_equal(np.sort(keys), np.arange(score.shape[0]))
    return keys.view(np.int64), unsorted


ENDS = np.array([-np.inf, -np.finfo(float).max, -5e-324, -0.0, 0.0, 5e-324, np.finfo(float).max, np.inf])


@pytest.mark.parametrize("count", [2, 30, 5000])
@pytest.mark.parametrize("others", [[], [0.5, 0.75], ENDS, np.random.default_rng(0).standard_normal(100)])
def test_keys_sort_scores_that_agree_in_their_leading_bits(count, others):
    """All bits fit where scores are close together; else few in one place are put in order, many left."""
    score = np.append(1.0 + np.random.default_rng(count).permutation(count) * 2.0**-52, others)
    order, unsorted = order_of(score)
    assert unsorted.sum() == (count if count == 5000 and len(others) > 2 else 0)
    np.testing.assert_array_equal(score[order][~unsorted], np.sort(score)[~unsorted])


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=60))
def test_keys_sort_any_scores(score):
    score = np.array(score)
    order, unsorted = order_of(score)
    np.testing.assert_array_equal(score[order][~unsorted], np.sort(score)[~unsorted])
