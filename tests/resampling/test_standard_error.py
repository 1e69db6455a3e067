"""The delta method against the bootstrap."""

import numpy as np
import pytest

from csf.metrics import get_metric
from csf.resampling import Resampling, ScoreStore, standard_error
from csf.thresholding import sweep


@pytest.mark.parametrize("metric", ["f1", "f2", "jaccard", "gmean", "precision"])
@pytest.mark.parametrize("repeats", [1, 3])
def test_it_is_that_of_the_bootstrap(metric, repeats):
    rng = np.random.default_rng(0)
    is_pos = rng.random(2000) < 0.1
    score = rng.normal(size=2000) + 1.5 * is_pos
    samples = np.tile(np.arange(2000), repeats)
    weight = np.tile(rng.random(2000) + 0.5, repeats)
    store = ScoreStore(is_pos[samples], weight, samples=samples)
    best = sweep(store.is_pos, score[samples], weight).best("f1")
    store.add((0, 0), score=score[samples], threshold=best.threshold, value=best.value)
    expected = np.std(Resampling(store, metric, n_draws=1000).score_errors((0, 0)))
    assert standard_error(store, store[0, 0], get_metric(metric)) == pytest.approx(expected, rel=0.1)


def test_nothing_found_has_an_error_of_nothing():
    store = ScoreStore(np.arange(50) < 5)
    store.add((0, 0), decided=np.zeros(50, dtype=bool), value=0.0)
    assert standard_error(store, store[0, 0], get_metric("f1")) == pytest.approx(0.0, abs=1e-6)
