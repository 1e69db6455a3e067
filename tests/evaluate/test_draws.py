"""Thresholds tuned again on draws, against sweeps of what the draws hold."""

from collections import Counter
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from csf.evaluate import Chooser, CodedRow, Resampling, ScoreStore, assess, mean_assessment, retune, standard_error
from csf.evaluate.choices import decisions
from csf.evaluate.draws import count_distinct, distinct, partition_counts
from csf.metrics import Constrained, FBeta, Metric, get_constraint, get_metric
from csf.metrics.profile import ErrorProfile
from csf.search.selection import stable_choice
from csf.thresholding import sweep, sweep_several


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


# ---------------------------------------------------------------- what draws are made of: the same for rows that are


N = 160
RNG = np.random.default_rng(0)
IS_POS = np.arange(N) < 40
# Some trials, each sample held out twice, by row of the last axis.
SCORES = RNG.normal(size=(5, 2, N)) + np.linspace(1.0, 1.6, 5)[:, None, None] * IS_POS
COUNTS = RNG.integers(0, 4, N)


def store_of(rows, weight=None, *, repeats=2, digits=None, scale=np.asarray):
    """The store of some rows of the data, by repeat."""
    samples = np.tile(np.arange(rows.size), repeats)
    store = ScoreStore(IS_POS[rows][samples], None if weight is None else np.tile(weight, repeats), samples=samples)
    for number, table in enumerate(SCORES):
        score = table[:repeats, rows].ravel()
        score = score if digits is None else score.round(digits)
        best = sweep(store.is_pos, score, store.weight).best("f1")
        counted = np.ones(score.size, dtype=bool) if store.weight is None else store.weight > 0
        threshold = float(middle(scale(score)[counted], score[counted] >= best.threshold))
        store.add((0, number), score=scale(score), threshold=threshold, value=best.value, equal_costs=number == 0)
    return store


def middle(score, found):
    """The threshold halfway between what is found and what is not."""
    return 0.5 * score[found].min() + 0.5 * score[~found].max()


def told(store, metric="f1"):
    """Every number that is made of draws."""
    sampled, metric = Resampling(store, metric), get_metric(metric)
    stable = stable_choice(store, metric)
    found, steady = assess(store, metric, stable.key), assess(store, metric, stable.key, chooser=Chooser(1.0))
    return np.array(
        [
            sampled.corrected_score,
            *(*stable.key, *astuple(stable.profile)),
            *(found.corrected_score, *found.score_interval, standard_error(store, store[0, 3], metric)),
            *(steady.corrected_score, steady.monte_carlo_error),
        ]
    )


@pytest.mark.parametrize("metric", ["f1", "mcc"])
@pytest.mark.parametrize("digits", [None, 0], ids=["scores", "ties"])
@pytest.mark.parametrize("repeats", [1, 2])
def test_a_whole_weight_is_so_many_rows(metric, digits, repeats):
    weighted = store_of(np.arange(N), COUNTS.astype(float), digits=digits, repeats=repeats)
    repeated = store_of(np.repeat(np.arange(N), COUNTS), digits=digits, repeats=repeats)
    np.testing.assert_allclose(told(weighted, metric), told(repeated, metric), rtol=1e-12, atol=1e-12)
    assert weighted.repeats == repeated.repeats == repeats
    keys = Resampling(weighted, metric).keys
    for key in keys:
        intervals = [Resampling(store, metric).threshold_interval(key) for store in (weighted, repeated)]
        assert intervals[0] == pytest.approx(intervals[1])


def test_a_unit_is_all_samples_that_no_trial_tells_apart():
    """Decisions of two trials on 60 samples, every third of them held out twice."""
    rng = np.random.default_rng(0)
    samples = np.concatenate([np.arange(60), np.arange(0, 60, 3)])
    store, decided = ScoreStore(samples < 20, samples=samples), rng.random((2, samples.size)) < 0.5
    for number, each in enumerate(decided):
        store.add((0, number), decided=each, value=0.5)
    kinds = Counter((at < 20, *map(tuple, decided[:, samples == at])) for at in range(60))
    units = Resampling(store, "f1").units
    for is_pos in (True, False):
        known = sorted(count for kind, count in kinds.items() if kind[0] == is_pos)
        assert sorted(units.copies[units.kinds == is_pos].tolist()) == known


def test_more_rows_are_more_certain():
    """Three times the rows: errors of 1 / sqrt(3), however they are given."""
    once, thrice = (assess(store_of(np.arange(N), weight), "f1", (0, 3)) for weight in (None, np.full(N, 3.0)))
    assert thrice.errors.std() == pytest.approx(once.errors.std() / np.sqrt(3), rel=0.15)


@pytest.mark.parametrize("weight", [COUNTS.astype(float), COUNTS * 0.7], ids=["whole", "shares"])
def test_rows_without_weight_say_nothing(weight):
    used = np.flatnonzero(weight)
    np.testing.assert_allclose(
        told(store_of(np.arange(N), weight)), told(store_of(used, weight[used])), rtol=1e-9, atol=1e-9
    )


def test_of_weights_that_are_no_counts_only_ratios_matter():
    weight = RNG.uniform(0.5, 3.0, N)
    one, other = (told(store_of(np.arange(N), weight * factor)) for factor in (1.0, 0.01))
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
    equal = store_of(np.arange(N), np.full(N, 2.5))
    np.testing.assert_allclose(told(equal), told(store_of(np.arange(N))), rtol=1e-12, atol=1e-12)
    # More than a million rows are not drawn one by one.
    many = store_of(np.arange(N), 10_000.0 * (1 + COUNTS))
    assert (many.copies == 1).all()


@pytest.mark.parametrize("weight", [None, COUNTS.astype(float), COUNTS * 0.7], ids=["none", "whole", "shares"])
@pytest.mark.parametrize("digits", [None, 0], ids=["scores", "ties"])
def test_the_order_of_rows_changes_nothing(weight, digits):
    moved = np.random.default_rng(1).permutation(N)
    one = store_of(np.arange(N), weight, digits=digits)
    other = store_of(moved, None if weight is None else weight[moved], digits=digits)
    np.testing.assert_allclose(told(one), told(other), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "scale", [lambda s: 3e4 * s - 7e3, lambda s: np.exp(2 * s), lambda s: expit(4 * s)], ids=["affine", "exp", "expit"]
)
def test_the_ranking_is_all_that_counts(scale):
    np.testing.assert_allclose(
        told(store_of(np.arange(N), scale=scale)), told(store_of(np.arange(N))), rtol=1e-12, atol=1e-12
    )


def test_the_mean_over_classes_draws_the_same_samples_for_all():
    """Errors of twice the same problem do not cancel; those of two that are independent do."""
    store = store_of(np.arange(N))
    one, other = (assess(store, "f1", (0, number)) for number in (3, 3))
    assert mean_assessment([one, other]).errors.std() == pytest.approx(one.errors.std(), rel=0.1)
    apart = ScoreStore(store.is_pos[np.random.default_rng(2).permutation(N * 2)])
    apart.add((0, 0), decided=np.random.default_rng(3).random(2 * N) < 0.5, value=0.3)
    store = ScoreStore(store.is_pos)
    store.add((0, 0), decided=np.random.default_rng(4).random(2 * N) < 0.5, value=0.3)
    parts = [assess(each, "f1", (0, 0)) for each in (store, apart)]
    both = mean_assessment(parts).errors.std()
    assert both == pytest.approx(np.hypot(*(part.errors.std() for part in parts)) / 2, rel=0.2)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_kinds_of_rows_are_counted_as_a_sort_counts_them(seed):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, 60).astype(np.uint8), rng.random(60) < 0.5, rng.integers(0, 2, 60)]
    copies = rng.integers(0, 3, 60)
    order, starts = distinct(columns, np.flatnonzero(copies))
    first, counts = count_distinct(columns, copies)
    np.testing.assert_array_equal(first, order[starts])
    np.testing.assert_array_equal(counts, np.add.reduceat(copies[order], starts))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_rows_are_sorted_by_all_columns_and_equal_ones_stay_in_their_order(seed, n_columns):
    rng = np.random.default_rng(seed)
    makers = (lambda: rng.random(40) < 0.5, lambda: rng.integers(0, 3, 40) / 2.0, lambda: rng.normal(size=40))
    columns, among = [makers[rng.integers(3)]() for _ in range(n_columns)], np.flatnonzero(rng.random(40) < 0.8)
    order, starts = distinct(columns, among)
    rows = {entry: tuple(column[entry] for column in columns) for entry in among.tolist()}
    assert order.tolist() == sorted(rows, key=rows.get)
    assert [rows[entry] for entry in order[starts].tolist()] == sorted(set(rows.values()))


def test_parts_of_many_samples_are_thirds_of_each_class():
    kinds, copies = np.array([0, 1, 1, 0]), np.array([4000, 7000, 2001, 3000])
    counts = next(partition_counts(kinds, copies, 3, 0))
    left_out = copies[:, None] - counts
    np.testing.assert_array_equal(left_out.sum(axis=1), copies)
    for units in ([1, 2], [0, 3]):
        assert np.ptp(left_out[units].sum(axis=0)) <= 1
    assert np.abs(3 * left_out / copies[:, None] - 1.0).max() < 0.15


def test_entries_of_a_group_are_no_further_places_of_thresholds():
    """Of negatives there is a threshold after as many entries as a group has on average."""
    store = ScoreStore(np.arange(60) < 1)
    store.draw_together(np.arange(60) // 3)
    store.add((0, 0), score=-np.arange(60.0), threshold=-0.5, value=1.0)
    (row,) = store
    assert CodedRow.of(row, store).thresholds.size == 2 + 20
