"""The delta method against the bootstrap."""

import numpy as np
import pytest

from csf.evaluate import ScoreStore, standard_error
from csf.evaluate.choices import JudgedDecisions, outcomes
from csf.metrics import get_metric
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
    expected = np.std(JudgedDecisions.of(store, store[0, 0], get_metric(metric)).errors(1000, 0))
    assert standard_error(store, store[0, 0], get_metric(metric)) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("most", [255, 256, 1000])
@pytest.mark.parametrize("others", ["as often", "once"])
def test_each_time_that_a_sample_is_held_out_counts(most, others):
    times = np.full(40, most if others == "as often" else 1)
    times[[0, 39]] = most
    samples, y = np.repeat(np.arange(40), times), np.arange(40) < 20
    store = ScoreStore(y[samples], samples=samples)
    found = np.arange(40) % 5 > 0
    store.add((0, 0), decided=found[samples], value=0.5)
    expected = [times[at].sum() for at in (y & found, y & ~found, ~y & found, ~y & ~found)]
    assert outcomes(store, store[0, 0]).sum(axis=0).tolist() == expected
    if others == "as often":  # which says no more than once
        once = ScoreStore(y)
        once.add((0, 0), decided=found, value=0.5)
        errors = [standard_error(each, each[0, 0], get_metric("f1")) for each in (store, once)]
        assert errors[0] == pytest.approx(errors[1], rel=1e-6)


def test_nothing_found_has_an_error_of_nothing():
    store = ScoreStore(np.arange(50) < 5)
    store.add((0, 0), decided=np.zeros(50, dtype=bool), value=0.0)
    assert standard_error(store, store[0, 0], get_metric("f1")) == pytest.approx(0.0, abs=1e-6)
