"""Means over samples of several labels, on all samples and on draws."""

import numpy as np
import pytest
from sklearn.metrics import fbeta_score

from csf.evaluate import ScoreStore
from csf.evaluate.draws import CodedRow, units_of
from csf.evaluate.label_means import LabelledSamples, SampleDraws
from csf.metrics import Averaged, FBeta

EXAMPLES = Averaged(FBeta(), "examples")


def mean_f(truth, found, weight=None, beta=1.0, empty=1.0):
    return fbeta_score(truth, found, beta=beta, average="samples", zero_division=empty, sample_weight=weight)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    truth = rng.uniform(size=(40, 3)) < 0.3
    return truth, np.round(rng.normal(size=(40, 3)) + truth, 1), rng.integers(0, 3, 40)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("average", "empty"), [("samples", 0.0), ("examples", 1.0)])
def test_the_best_cut_is_the_best_of_all(average, empty, beta, weighted, rows):
    truth, score, weight = rows
    given = weight.astype(float) if weighted else None
    known = LabelledSamples(truth.ravel(), 3, Averaged(FBeta(beta), average))
    cut, value = known.best_cut(score.ravel(), None if given is None else np.repeat(given, 3))
    every = [mean_f(truth, score >= each, given, beta, empty) for each in [*np.unique(score), np.inf]]
    assert value == pytest.approx(max(every))
    assert mean_f(truth, score >= cut, given, beta, empty) == pytest.approx(value)
    found = score >= 0.7
    each = [mean_f(truth[[at]], found[[at]], beta=beta, empty=empty) for at in range(40)]
    assert known.values(found.ravel()) == pytest.approx(each)


def test_finding_nothing_can_be_best():
    nothing = LabelledSamples(np.array([False, False, False, True]), 2, EXAMPLES)
    assert nothing.best_cut(np.array([0.9, 0.8, 0.7, 0.1]), None) == (np.inf, 0.5)
    everything = LabelledSamples(np.ones(4, dtype=bool), 2, EXAMPLES)
    assert everything.best_cut(np.array([0.9, 0.8, 0.7, 0.1]), None) == (-np.inf, 1.0)


def stored(truth, score, weight=None):
    at = np.repeat(np.arange(len(truth)), truth.shape[1])
    store = ScoreStore(truth.ravel(), None if weight is None else np.repeat(weight, truth.shape[1]), samples=at)
    cut, value = LabelledSamples(truth.ravel(), truth.shape[1], EXAMPLES).best_cut(score.ravel(), store.weight)
    store.add((0, 0), score=score.ravel(), threshold=cut, value=value)
    return store


def test_draws_count_rows(rows):
    truth, score, _ = rows
    draws = SampleDraws(stored(truth, score), 3, EXAMPLES, 8, 0)
    counts = draws.counts[:, :1]
    cut, (value,) = draws.tuned(0, counts)
    # units are rows in an order of their own: what is drawn of each is counted once more
    truth, codes = (part.reshape(-1, 3) for part in (draws.units.is_pos, draws.coded[0].codes))
    weight = counts[draws.units.samples[::3], 0].astype(float)
    every = [mean_f(truth, codes <= each, weight) for each in range(draws.coded[0].thresholds.size)]
    assert value == pytest.approx(max(every))
    assert every[cut[0]] == pytest.approx(max(every))


def test_whole_weights_are_rows(rows):
    truth, score, weight = rows
    repeated = np.repeat(np.arange(40), weight)
    one = SampleDraws(stored(truth, score, weight.astype(float)), 3, EXAMPLES, 200, 0).assess((0, 0))
    other = SampleDraws(stored(truth[repeated], score[repeated]), 3, EXAMPLES, 200, 0).assess((0, 0))
    assert one.corrected_score == pytest.approx(other.corrected_score)
    assert one.monte_carlo_error == pytest.approx(other.monte_carlo_error)
    assert one.score_interval == pytest.approx(other.score_interval)
    assert one.score_interval[0] < one.corrected_score < one.score_interval[1]


def test_rows_that_differ_in_a_later_label_are_two():
    truth = np.array([[True, False], [True, True], [True, True]])
    store = stored(truth, np.zeros((3, 2)))
    units, _ = units_of(store, [CodedRow.of(row, store) for row in store])
    assert sorted(units.copies.tolist()) == [1, 2]
    assert sorted(units.is_pos.reshape(-1, 2).tolist()) == [[True, False], [True, True]]
