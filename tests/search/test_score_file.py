"""Held-out scores in the file of a checkpoint."""

import json
from dataclasses import replace

import numpy as np
import pytest
from builders import told

from csf.evaluate import ScoreStore
from csf.search.checkpoint import restore_scores, scores_to_record

IS_POS = np.arange(100) < 20
SCORES = np.random.default_rng(0).normal(size=(3, 100)).astype(np.float32)


def store_of(*, rows):
    """A store with room for so many rows of scores."""
    return ScoreStore(IS_POS, max_bytes=rows * SCORES[0].nbytes)


@pytest.fixture
def trials():
    """Three of them, the second one the worst."""
    values = (0.6, 0.2, 0.5)
    return {
        (0, at): replace(told(at, 0.5, 0.1, 0.1, pos=0.2), score=value, threshold=0.5)
        for at, value in enumerate(values)
    }


def heard(trials, *, rows):
    store = store_of(rows=rows)
    for (key, trial), score in zip(trials.items(), SCORES, strict=True):
        store.add_trial(key, trial, score, None)
    return store


def written(store):
    return json.loads(json.dumps(scores_to_record(store, {})))


@pytest.mark.parametrize(("rows", "kept"), [(3, [0, 1, 2]), (2, [0, 2]), (1, [0])])
def test_a_store_comes_back_without_the_rows_that_it_dropped(trials, rows, kept):
    again = store_of(rows=rows)
    assert restore_scores(again, written(heard(trials, rows=rows)), trials)
    assert [row.key for row in again] == [(0, number) for number in kept]
    assert again.n_dropped == 3 - len(kept)
    for row in again:
        np.testing.assert_array_equal(row.score, SCORES[row.key[1]])
        assert (row.threshold, row.value) == (0.5, trials[row.key].score)
