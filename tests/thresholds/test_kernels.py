"""Compiled loops do what their Python source does."""

import numpy as np
import pytest

from csf.thresholds import _kernels as kernels


def run(kernel, arguments, python):
    """Result of a kernel and its arrays afterwards; they are written in place."""
    arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result = (kernel.py_func if python else kernel)(*arguments)
    return result, [a for a in arguments if isinstance(a, np.ndarray)]


def cases():
    rng = np.random.default_rng(0)
    n = 60
    score = np.sort(rng.choice([-np.inf, -1.0, -0.0, 0.0, 0.3, np.nextafter(0.3, 1), np.inf], n))
    is_pos, weight = rng.random(n) < 0.4, rng.choice([0.1, 0.7], n)
    out = [np.zeros(n + 1) for _ in range(3)]
    yield kernels.merge_cuts, (score[is_pos], None, score[~is_pos], None, *out)
    yield kernels.merge_cuts, (score[is_pos], weight[is_pos], score[~is_pos], weight[~is_pos], *out)
    yield kernels.hull_cuts, (np.linspace(0.4, 0, 12) ** 2, np.linspace(0, 0.6, 12))


@pytest.mark.parametrize(("kernel", "arguments"), list(cases()))
def test_compiled_equals_python(kernel, arguments):
    (compiled, arrays), (python, expected) = run(kernel, arguments, False), run(kernel, arguments, True)
    np.testing.assert_array_equal(compiled, python)
    for array, other in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array, other)
