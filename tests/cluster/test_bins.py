"""Counts in bins: sums over parts lose nothing."""

import numpy as np

from csf.cluster.bins import Bins, add_bins


def test_many_light_parts_beside_a_heavy_one_keep_their_weight():
    """Plain sums of 2^53 and ones stay where they are."""
    weights = [2.0**53, *[1.0] * 10]
    parts = [Bins(np.zeros(1), np.ones(1), np.ones((1, 2), dtype=np.int64), np.full((1, 2), w), None) for w in weights]
    total = add_bins(parts)
    assert total.rows.tolist() == [[11, 11]]
    assert (total.weight - 2.0**53 + total.rest).tolist() == [[10.0, 10.0]]
