"""Thresholds tuned again on draws, against sweeps of what the draws hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csf.evaluate import CodedRow, ScoreStore, retune
from csf.evaluate.choices import decisions
from csf.metrics import Constrained, FBeta, Metric, get_constraint, get_metric
from csf.metrics.profile import ErrorProfile
from csf.thresholding import sweep_several


class Youden(Metric):
    """A metric of somebody's own, in plain Python."""

    def value(self, fn, fp, *, pos):
        return 1.0 - fn / pos - fp / (1.0 - pos)


class Picky(Metric):
    """One that reads a single share of positives at a time."""

    def value(self, fn, fp, *, pos):
        return (1.0 if pos > 0.0 else 0.0) - fn / pos - fp / (1 - pos)


RECALL = Constrained(get_metric("recall"), get_constraint("precision >= 0.6"))
AIMS = [FBeta(), FBeta(2.0), get_metric("gmean"), get_metric("mcc"), Youden(), Picky(), RECALL]


@st.composite
def problems(draw):
    """A store with one row, and how often a draw holds each sample."""
    seed, n_samples = draw(st.integers(0, 10**6)), draw(st.integers(4, 40))
    rng = np.random.default_rng(seed)
    is_pos = rng.random(n_samples) < 0.4
    is_pos[:2] = True, False
    score = rng.integers(0, draw(st.integers(1, 30)), n_samples) + is_pos * 2.0
    weight = rng.random(n_samples) + 0.1 if draw(st.booleans()) else None
    lost = is_pos & (rng.random(n_samples) < 0.3) if draw(st.booleans()) else np.zeros(n_samples, dtype=bool)
    lost[0] = False
    store = ScoreStore(is_pos, weight)
    store.add((0, 0), score=score, lost=lost, threshold=None, value=0.0)
    counts = rng.integers(0, 3, (n_samples, 5)).astype(np.uint8)
    counts[:, 0] = 1
    return store, score, lost, counts


@pytest.mark.parametrize("metric", AIMS, ids=lambda metric: metric.name)
@settings(max_examples=25, deadline=None)
@given(problem=problems())
def test_each_draw_is_tuned_as_if_it_were_all_there_is(metric, problem):
    store, score, lost, counts = problem
    row = CodedRow.of(store[0, 0], store)
    found = retune(store, [row], metric, counts)
    for draw in range(counts.shape[1]):
        held = np.repeat(np.arange(score.size), counts[:, draw])
        weight = None if store.weight is None else store.weight[held]
        if store.is_pos[held].all() or not store.is_pos[held].any():
            assert np.isnan(found.value[0, draw])
            continue
        best = sweep_several(store.is_pos[held], lost[held], score[held], weight).best(metric, metric.constraint)
        assert found.value[0, draw] == pytest.approx(best.value, abs=1e-6)
        # What is called the best cut has the value that it is said to have.
        decided = (score[held] >= row.thresholds[found.cuts[0, draw]]) & ~lost[held]
        profile = ErrorProfile.from_masks(store.is_pos[held], decided, sample_weight=weight)
        assert metric.of(profile) == pytest.approx(best.value, abs=1e-6)


@pytest.mark.parametrize("tied", [False, True])
def test_the_threshold_of_the_trial_is_found_again(tied):
    rng = np.random.default_rng(0)
    is_pos = rng.random(300) < 0.2
    score = rng.normal(size=300) + is_pos
    score = score.round(1) if tied else score
    best = sweep_several(is_pos, np.zeros(300, dtype=bool), score).best("f1")
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=best.threshold, value=best.value)
    row = CodedRow.of(store[0, 0], store)
    found = retune(store, [row], FBeta(), np.ones((300, 1), dtype=np.uint8))
    assert row.thresholds[found.cuts[0, 0]] == best.threshold
    assert found.value[0, 0] == pytest.approx(best.value, abs=1e-12)


def test_own_decisions_have_no_other_cut():
    is_pos = np.arange(10) < 4
    decided = np.arange(10) % 2 == 0
    store = ScoreStore(is_pos)
    store.add((0, 0), decided=decided, lost=np.arange(10) == 0, value=0.4)
    row = CodedRow.of(store[0, 0], store)
    found = retune(store, [row], FBeta(), np.ones((10, 1), dtype=np.uint8))
    profile = ErrorProfile.from_masks(is_pos, decisions(store[0, 0]))
    assert found.value[0, 0] == pytest.approx(FBeta().of(profile))
    assert profile.fn == pytest.approx(0.3)  # one of the two positives that were found is lost


def test_infinite_scores_are_found_at_every_cut():
    is_pos = np.array([False, True, False, False])
    store = ScoreStore(is_pos)
    store.add((0, 0), score=np.array([np.inf, 1.0, 0.0, -np.inf]), value=0.0)
    row = CodedRow.of(store[0, 0], store)
    assert row.thresholds[0] == np.inf  # which an infinite score reaches
    assert row.codes[0] == 0
    assert (row.codes[1:] > 0).all()


def test_many_cuts_are_thinned_and_lose_next_to_nothing():
    rng = np.random.default_rng(0)
    is_pos = rng.random(20_000) < 0.4
    score = rng.normal(size=20_000) + is_pos
    best = sweep_several(is_pos, np.zeros(20_000, dtype=bool), score).best("f1")
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=None, value=0.0)
    row = CodedRow.of(store[0, 0], store)
    assert row.thresholds.size < 1100
    found = retune(store, [row], FBeta(), np.ones((20_000, 1), dtype=np.uint8))
    assert best.value - 2e-4 < found.value[0, 0] <= best.value + 1e-12


def test_the_threshold_of_the_trial_is_never_thinned_out():
    rng = np.random.default_rng(0)
    is_pos = rng.random(20_000) < 0.4
    score = (rng.normal(size=20_000) + is_pos).astype(np.float32)
    store, cuts = ScoreStore(is_pos), np.sort(score)[[2000, 7003, 9001, 13_007, 17_011]]
    for number, threshold in enumerate(cuts.tolist()):
        store.add((0, number), score=score, threshold=threshold, value=0.0)
        row = CodedRow.of(store[0, number], store)
        assert 1000 < row.thresholds.size < 1100
        at = np.flatnonzero(row.thresholds == threshold)
        assert at.size == 1
        # ... and finds what it finds.
        assert np.count_nonzero(row.codes <= at[0]) == np.count_nonzero(score >= threshold)


@pytest.mark.parametrize("weight", [None, 3.0], ids=["rows", "copies"])
def test_samples_that_are_held_out_often_have_no_more_cuts(weight):
    """The ends of runs of positives, and about 256 besides."""
    rng, sizes = np.random.default_rng(0), []
    for repeats in (1, 5):
        samples = np.tile(np.arange(3000), repeats)
        is_pos = samples < 8
        store = ScoreStore(is_pos, None if weight is None else np.full(samples.size, weight), samples=samples)
        store.add((0, 0), score=rng.normal(size=samples.size), threshold=None, value=0.0)
        sizes.append(CodedRow.of(store[0, 0], store).thresholds.size - np.count_nonzero(is_pos))
    assert all(200 < size < 290 for size in sizes)


def test_a_cut_in_the_middle_divides_what_the_draw_leaves_out():
    """Positives above negatives: whatever is left out, the cut between what is held takes as many from both sides."""
    is_pos = np.arange(20) >= 10
    store = ScoreStore(is_pos)
    store.add((0, 0), score=np.arange(20.0), threshold=9.5, value=1.0)
    row = CodedRow.of(store[0, 0], store)
    counts = np.ones((20, 1), dtype=np.uint8)
    counts[6:14] = 0  # the four of each class that are nearest to the border
    first = retune(store, [row], FBeta(), counts)
    middle = retune(store, [row], FBeta(), counts, middle=True)
    assert first.value[0, 0] == middle.value[0, 0] == 1.0
    assert first.cuts[0, 0] < middle.cuts[0, 0]
    assert row.thresholds[middle.cuts[0, 0]] == pytest.approx(9.5, abs=0.6)
