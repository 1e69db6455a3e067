"""Counts in bins: sums over parts lose nothing, and bins begin at even ranks."""

import numpy as np
import pytest

from csf.distributed import MemoryScores, PartScores
from csf.distributed.counts import Bins, add_bins, count_bins, count_distinct, unite_bins


def test_many_light_parts_beside_a_heavy_one_keep_their_weight():
    """Plain sums of 2^53 and ones stay where they are."""
    weights = [2.0**53, *[1.0] * 10]
    parts = [Bins(np.zeros(1), np.ones(1), np.ones((1, 2), dtype=np.int64), np.full((1, 2), w), None) for w in weights]
    total = add_bins(parts)
    assert total.rows.tolist() == [[11, 11]]
    assert (total.weight - 2.0**53 + total.rest).tolist() == [[10.0, 10.0]]


def test_light_samples_beside_a_heavy_one_keep_their_weight():
    """Within one part too, before and after the heavy one."""
    weight = np.r_[1.0, 2.0**53, [1.0] * 9]
    score, is_pos = np.zeros(11), np.ones(11, dtype=bool)
    bins = count_bins(score, is_pos, weight, None, np.zeros(0))
    assert (bins.weight - 2.0**53 + bins.rest)[0, 1].tolist() == [10.0]
    at_each_score = unite_bins([count_distinct(score, is_pos, weight, None, np.zeros(1), np.zeros(1))] * 2)
    assert (at_each_score.weight - 2.0**54 + at_each_score.rest)[0, 1].tolist() == [20.0]


def test_each_sample_is_counted_once_where_it_belongs():
    rng = np.random.default_rng(0)
    n, edges = 300, np.array([-1.0, 0.0, 0.25, 7.0])
    score, is_pos, fold = rng.normal(size=n).round(2), rng.random(n) < 0.3, rng.integers(0, 3, n)
    weight = rng.integers(0, 4, n) / 2
    bins = count_bins(score, is_pos, weight, fold, edges, n_folds=3)
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    for k in range(5):
        inside = (ends[k] <= score) & (score < ends[k + 1]) & (weight > 0)
        assert bins.rows[k] == np.count_nonzero(inside)
        assert bins.lowest[k] == score[inside].min(initial=np.inf)
        assert bins.highest[k] == score[inside].max(initial=-np.inf)
        sums = [[weight[inside & (fold == f) & (is_pos == c)].sum() for c in (False, True)] for f in range(3)]
        assert bins.weight[..., k].tolist() == sums


@pytest.mark.parametrize("part_sizes", [[1000], [100, 200], [200, 100], [40, 60, 900], [1000] * 4])
@pytest.mark.parametrize("size", [2, 5, 100])
def test_quantiles_are_near_the_middles_of_equal_shares_in_whatever_parts(part_sizes, size):
    n = sum(part_sizes)
    parts = np.split(np.arange(n), np.cumsum(part_sizes)[:-1])
    # The score of each sample is its rank.
    scores = MemoryScores([PartScores(at.astype(float), np.zeros(at.size, dtype=bool)) for at in parts])
    middles = (np.arange(size) + 0.5) * n / size
    assert np.abs(scores.quantiles(size) - middles).max() < 0.48 * n / size
