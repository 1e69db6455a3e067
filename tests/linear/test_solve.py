"""Compiled loops that the solvers share, against plain numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csf.linear.losses import note_changes


@given(seed=st.integers(0, 10**6), n=st.integers(0, 30))
def test_changes_are_those_between_two_sets_of_losing_samples(seed, n):
    rng = np.random.default_rng(seed)
    factor, weight = rng.choice([-1.5, 0.0, 2.0], n), rng.uniform(0.1, 2.0, n)
    before, losing = rng.random(n) < 0.5, factor != 0.0
    active, places, change = before.copy(), np.empty(n, dtype=np.int64), np.empty(n)
    count, n_active = note_changes(factor, weight, active, places, change)
    changed = np.flatnonzero(losing != before)
    assert places[:count].tolist() == changed.tolist()
    assert change[:count].tolist() == np.where(losing[changed], 2.0 * weight[changed], -2.0 * weight[changed]).tolist()
    assert n_active == losing.sum()
    assert active.tolist() == losing.tolist()
