"""Forms of arrays."""

import numpy as np

from csf._common.validation import small_indices


def test_places_take_four_bytes_where_these_reach():
    at = np.array([2, 0])
    assert (small_indices(at, 3).dtype, small_indices(at, 2**32).dtype) == (np.int32, np.int64)
