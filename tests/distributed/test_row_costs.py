"""Costs of rows over an engine: what engines have to tell, and what those say that have no costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from csf.distributed import MemoryEngine, search_on
from csf.metrics import RowCosts
from csf.metrics.row_costs import CostTable, cost_sums, stake_weights
from csf.search.config import Model, SearchConfig


def test_an_engine_without_costs_of_rows_says_so():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 3 == 0
    config = SearchConfig(LogisticRegression(), RowCosts(fn=2.0, fp=1.0))
    model = Model(None, LogisticRegression(), None, [{}])
    with pytest.raises(TypeError, match=r"MemoryEngine has no costs of rows; use csf\.CostSearch on a sample"):
        search_on(MemoryEngine(X, y, np.arange(20) % 2), config, [model], [LogisticRegression()])


@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_sums_of_parts_are_those_of_all_rows(seed, cut):
    """Weights of parts, and their sums, are those of the whole; they keep the sum of the user's weights."""
    rng = np.random.default_rng(seed)
    table = CostTable(*rng.choice([0.0, 1.0, 2.5, 40.0], (4, 12)))
    is_pos, weight, powers = rng.random(12) < 0.5, rng.integers(0, 3, 12) / 2, (0.0, 0.5)
    parts = [np.arange(12)[:cut], np.arange(12)[cut:]]
    tables = [table.take(at) for at in parts]
    sums = [cost_sums(each, is_pos[at], weight[at], powers) for each, at in zip(tables, parts, strict=True)]
    whole = cost_sums(table, is_pos, weight, powers)
    np.testing.assert_allclose(np.sum(sums, axis=0), whole)
    stakes = np.where(is_pos, table.tp - table.fn, table.fp - table.tn)
    assert whole[:2].tolist() == [np.sum((stakes > 0) & (weight > 0)), np.sum((stakes < 0) & (weight > 0))]
    np.testing.assert_array_equal(CostTable.joined(tables).fn, table.fn)
    if whole[5] > 0.0:
        scale = whole[4] / whole[5]
        weighed = [stake_weights(each, is_pos[at], weight[at], 0.5, scale) for each, at in zip(tables, parts)]
        np.testing.assert_array_equal(np.concatenate(weighed), stake_weights(table, is_pos, weight, 0.5, scale))
        np.testing.assert_allclose(np.concatenate(weighed), weight * np.abs(stakes) ** 0.5 * scale, rtol=1e-6)
