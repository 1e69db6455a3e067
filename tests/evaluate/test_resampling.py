"""Choice of a threshold made again: draws, partitions, corrected scores and intervals."""

from itertools import islice

import numpy as np
import pytest
from scipy.stats import beta, norm
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.evaluate import Resampling, ScoreStore, assess
from csf.evaluate.draws import (
    Units,
    bootstrap_counts,
    draws_at_once,
    judge_left_out,
    partition_counts,
)
from csf.metrics import FBeta, Metric
from csf.thresholding import sweep

SHIFT = 1.5


def store_of(n_samples=400, pos=0.2, n_trials=5, seed=0, *, repeats=1, weight=None):
    """Trials that are equally good, each sample ``repeats`` times among the entries."""
    rng = np.random.default_rng(seed)
    is_pos = np.arange(n_samples) < pos * n_samples
    samples = np.tile(np.arange(n_samples), repeats)
    store = ScoreStore(is_pos[samples], weight, samples=samples)
    for number in range(n_trials):
        score = (rng.normal(size=n_samples) + SHIFT * is_pos)[samples]
        best = sweep(store.is_pos, score, weight).best("f1")
        store.add((0, number), score=score, threshold=best.threshold, value=best.value)
    return store


def winner_of(store):
    return min(store, key=lambda row: row.rank)


def true_f1(threshold, pos):
    tp, fp = pos * norm.sf(threshold - SHIFT), (1 - pos) * norm.sf(threshold)
    return 2 * tp / (pos + tp + fp)


def drawn(n_samples, n_draws, random_state):
    """All bootstrap draws in one array."""
    return np.concatenate(list(bootstrap_counts(np.ones(n_samples, dtype=int), n_draws, random_state)), axis=1)


def partitions_of(kinds, copies, n):
    """All draws of some partitions into thirds in one array."""
    return np.concatenate(list(islice(partition_counts(kinds, copies, 3, random_state=0), n)), axis=1)


def test_draws():
    counts = drawn(50, 7, random_state=3)
    assert (counts.sum(axis=0) == 50).all()
    assert (counts[:, :4] == drawn(50, 4, random_state=3)).all()
    assert (counts != drawn(50, 7, random_state=4)).any()
    is_pos = np.arange(50) < 7
    parts = partitions_of(is_pos, np.ones(50, dtype=int), 4)
    assert ((parts == 0).reshape(50, 4, 3).sum(axis=2) == 1).all()
    assert set((parts[is_pos] == 0).sum(axis=0)) == {2, 3}
    # a sample counts no less often than it was drawn, up to what fits
    assert drawn(1, 1, 0)[0, 0] == 1


def test_no_part_is_always_the_larger_one():
    """7 samples in thirds are 3, 2 and 2: which of them holds 3 is left to chance, in each class by itself."""
    is_pos = np.arange(14) < 7
    counts = partitions_of(is_pos, np.ones(14, dtype=int), 300).reshape(14, 300, 3)
    larger = [(counts[samples] == 0).sum(axis=0).argmax(axis=1) for samples in (is_pos, ~is_pos)]
    for one in larger:
        assert (np.bincount(one, minlength=3) > 60).all()
    assert 60 < np.count_nonzero(larger[0] == larger[1]) < 140


def test_units_of_several_samples_are_drawn_as_these_are():
    copies = np.array([3, 0, 700, 1, 40])
    counts = np.concatenate(list(bootstrap_counts(copies, 200, 0)), axis=1)
    assert (counts.sum(axis=0) == copies.sum()).all()
    np.testing.assert_allclose(counts.mean(axis=1), copies, atol=4 * np.sqrt(copies.max() / 200))
    assert counts[2].std() == pytest.approx(np.sqrt(700 * 44 / 744), rel=0.2)
    is_pos = np.array([True, True, False, False, False])
    held = partitions_of(is_pos, copies, 5).reshape(5, 5, 3)
    left_out = copies[:, None, None] - held.astype(int)
    assert (left_out >= 0).all()
    assert (left_out.sum(axis=2) == copies[:, None]).all()
    assert (left_out[0] == 1).all()  # each third of the positives has one of the three
    assert set(left_out[2:].sum(axis=0).ravel()) == {247}


@pytest.mark.parametrize("each", [1, 2, 100])
def test_units_of_equally_many_samples_are_drawn_equally_often(each):
    counts = np.concatenate(list(bootstrap_counts(np.full(50, each), 40, 0)), axis=1)
    assert (counts.sum(axis=0) == 50 * each).all()
    np.testing.assert_allclose(counts.mean(axis=1), each, atol=5 * np.sqrt(each / 40))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_size_of_a_block_changes_nothing(monkeypatch, weighted):
    store = store_of(weight=np.random.default_rng(1).uniform(0.5, 2.0, 400) if weighted else None)
    whole = Resampling(store, "f1", n_draws=50)
    monkeypatch.setattr("csf.evaluate.draws._BYTES", 1)
    blocks = Resampling(store, "f1", n_draws=50)
    sizes = [counts.shape[1] for counts in bootstrap_counts(np.ones(400, dtype=int), 50, 0)]
    assert sizes == [4] * 12 + [2]
    assert blocks.keys == whole.keys
    for name in ("cuts", "value", "violation"):
        np.testing.assert_array_equal(getattr(blocks.retuned, name), getattr(whole.retuned, name))
    np.testing.assert_allclose(blocks.corrected_score, whole.corrected_score, rtol=1e-12)
    np.testing.assert_allclose(blocks.errors(whole.keys[0]), whole.errors(whole.keys[0]), atol=1e-7)


@pytest.mark.parametrize("n_entries", [0, 1, 10**6, 1 << 21, 1 << 30])
def test_a_block_of_draws_takes_no_more_memory_than_it_may(n_entries):
    size = draws_at_once(n_entries)
    assert 4 <= size <= 32
    assert size == 4 or size * n_entries <= 1 << 24


def test_a_repeated_cross_validation_is_no_larger_sample():
    once, thrice = (Resampling(store_of(repeats=repeats), "f1") for repeats in (1, 3))
    assert once.corrected_score == pytest.approx(thrice.corrected_score, abs=1e-12)
    assert once.errors((0, 0)) == pytest.approx(thrice.errors((0, 0)), abs=1e-6)


def test_equal_weights_that_are_no_counts_change_nothing():
    plain = Resampling(store_of(), "f1")
    weighted = Resampling(store_of(weight=np.full(400, 2.7)), "f1")
    assert plain.corrected_score == pytest.approx(weighted.corrected_score, abs=1e-6)
    assert plain.threshold_interval((0, 1)) == pytest.approx(weighted.threshold_interval((0, 1)))


def test_hopeless_trials_are_left_out_and_change_nothing():
    store = store_of(n_samples=1000, n_trials=15)
    rng = np.random.default_rng(9)
    with_noise = store_of(n_samples=1000, n_trials=15)
    for number in range(15, 30):
        with_noise.add((0, number), score=rng.normal(size=1000), threshold=0.0, value=0.2)
    sampled = Resampling(with_noise, "f1", keep=[(0, 20)])
    assert set(sampled.keys) - set(Resampling(store, "f1").keys) == {(0, 20)}
    assert sampled.corrected_score == Resampling(store, "f1").corrected_score


def test_what_is_a_few_errors_behind_can_still_win():
    """Decisions that miss other positives each: behind by 2.5 and by 6 standard errors of the difference."""
    store = ScoreStore(np.arange(2000) < 1000)
    for number in range(13):
        store.add((0, number), decided=np.arange(2000) < 900, value=0.9)
    for number, n_missed in ((13, 36 + 100), (14, 140 + 100)):
        missed = (np.arange(2000) >= 1000) | (np.arange(2000) < n_missed)
        store.add((0, number), decided=~missed, value=1 - n_missed / 1000)
    keys = Resampling(store, "recall").keys
    spread = [np.sqrt(100 + n) / 1000 for n in (136, 240)]
    assert 1.5 < 0.036 / spread[0] < 4 < 0.14 / spread[1]
    assert ((0, 13) in keys, (0, 14) in keys) == (True, False)


def test_intervals_hold_nine_of_ten_draws():
    found = assess(store := store_of(), "f1", (0, 0))
    low, high = np.quantile(found.errors, [0.05, 0.95], method="nearest") + found.corrected_score
    assert found.score_interval == (low, high)
    thresholds = Resampling(store, "f1", keep=[(0, 0)]).thresholds((0, 0))
    assert found.threshold_interval == tuple(np.quantile(thresholds, [0.05, 0.95], method="nearest"))


@pytest.mark.parametrize("right", [True, False], ids=["all right", "all wrong"])
@pytest.mark.parametrize("metric", ["f1", "recall", "precision", "gmean"])
def test_decisions_without_exception_leave_room_for_one(metric, right):
    """Where none of 12 positives is missed, 1 of 8 may be; that none of 138 negatives is right says more."""
    is_pos = np.arange(150) < 12
    store = ScoreStore(is_pos)
    store.add((0, 0), decided=is_pos == right, value=float(right))
    low, high = assess(store, metric, (0, 0)).score_interval
    assert (0.02 if right else 0.004) < high - low < 0.25
    assert (high == 1.0) if right else (low == 0.0)


def test_the_interval_of_a_share_is_that_of_jeffreys():
    is_pos, wide = np.arange(400) < 200, {}
    for n_missed in (0, 1, 3, 60):
        store = ScoreStore(is_pos)
        store.add((0, 0), decided=is_pos & (np.arange(400) >= n_missed), value=1 - n_missed / 200)
        errors = Resampling(store, "recall", n_draws=4000).errors((0, 0))
        wide[n_missed] = np.subtract(*np.quantile(errors, [0.95, 0.05]))
        low, high = beta.ppf([0.05, 0.95], n_missed + 0.5, 200 - n_missed + 0.5)
        assert wide[n_missed] == pytest.approx(high - low, rel=0.25)
    assert sorted(wide.values()) == list(wide.values())


def test_few_samples_give_a_number_or_nan():
    for n_pos in (1, 2, 3):
        is_pos = np.arange(30) < n_pos
        store = ScoreStore(is_pos)
        store.add((0, 0), score=np.arange(30.0)[::-1] - 3.0 * ~is_pos, threshold=20.0, value=0.5)
        found = assess(store, "f1", (0, 0))
        assert np.isnan(found.corrected_score) == (n_pos == 1)
        low, high = found.score_interval
        assert n_pos == 1 or 0.0 <= low <= found.corrected_score <= high <= 1.0


@pytest.mark.parametrize(("n_samples", "n_draws"), [(10_000, 200), (10_001, 96)])
def test_more_than_ten_thousand_samples_are_drawn_less_often(n_samples, n_draws):
    """However they are given, here as weights."""
    store = ScoreStore(np.array([True, True, False, False]), np.array([1.0, 100.0, 899.0, n_samples - 1000.0]))
    store.add((0, 0), decided=np.array([True, False, True, False]), value=0.5)
    assert assess(store, "f1", (0, 0)).errors.size == n_draws


@pytest.mark.parametrize(("n_samples", "pos", "sizes"), [(300, 0.1, {33}), (3000, 0.4, {4, 8, 16})])
def test_partitions_are_as_many_as_leave_little_to_chance(n_samples, pos, sizes):
    store = store_of(n_samples, pos, n_trials=1)
    found = [Resampling(store, "f1", random_state=seed) for seed in range(8)]
    assert {len(each.left_out.sums) for each in found} <= sizes
    spread = np.std([each.corrected_score for each in found], ddof=1)
    assert (spread < 0.002) == (sizes != {33})


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_partitions_are_judged_until_their_mean_is_known(chance):
    """One rule for every kind of problem: as many partitions as the error of the mean of their values asks for."""
    units = Units(np.arange(30) < 10, None, np.arange(30, dtype=np.int32), np.ones(30, dtype=np.int64))
    rng, seen = np.random.default_rng(0), []

    def judge(counts, first):
        seen.extend(range(first, first + counts.shape[1]))
        values = 0.5 + chance * rng.normal(size=counts.shape[1])
        return np.column_stack([values, np.ones(counts.shape[1])])

    found = judge_left_out(units, judge, lambda sums: float(sums[0] / sums[1]), 0)
    assert seen == list(range(found.sums[..., 0].size))
    assert found.sums.shape[1:] == (3, 2)
    assert len(found.sums) == (33 if chance else 4)
    values = found.sums[..., 0].mean(axis=1)
    assert found.corrected_score == pytest.approx(values.mean())
    assert found.monte_carlo_error == pytest.approx(values.std(ddof=1) / np.sqrt(len(values)))


def test_few_units_are_drawn_at_once_as_often_as_one_by_one():
    copies = np.array([9000, 0, 2, 2998])
    few = np.concatenate(list(bootstrap_counts(copies, 400, 0)), axis=1)
    many = np.concatenate(list(bootstrap_counts(np.append(copies, np.zeros(500, dtype=int)), 400, 0)), axis=1)[:4]
    assert few.dtype == many.dtype
    assert (few != many).any()
    assert (few.sum(axis=0) == 12_000).all()
    np.testing.assert_allclose(few.mean(axis=1), many.mean(axis=1), atol=4 * np.sqrt(12_000 / 4 / 200))
    np.testing.assert_allclose(few.std(axis=1), many.std(axis=1), rtol=0.2)


@pytest.mark.parametrize("pos", [False, True])
def test_a_class_that_is_not_there_leaves_nothing_to_be_wrong_about(pos):
    store = ScoreStore(np.full(50, pos))
    store.add((0, 0), decided=np.arange(50) < 25, value=0.0)
    assert Resampling(store, "f1").errors((0, 0)).tolist() == [0.0] * 200


@pytest.mark.parametrize("n_trials", [1, 11])
def test_the_corrected_score_is_not_optimistic(n_trials):
    pos, best, corrected, truth = 0.2, [], [], []
    for seed in range(60):
        store = store_of(300, pos, n_trials, seed)
        winner = winner_of(store)
        best.append(winner.value)
        corrected.append(Resampling(store, FBeta()).corrected_score)
        truth.append(true_f1(winner.threshold, pos))
    error = np.subtract(corrected, truth)
    assert abs(error.mean()) < 3 * error.std() / np.sqrt(error.size)
    assert np.subtract(best, truth).mean() > 3 * error.std() / np.sqrt(error.size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_samples", "pos", "n_trials"),
    [
        (300, 0.2, 11),
        (2000, 0.05, 1),
        *(
            pytest.param(*case, marks=pytest.mark.simulation)
            for case in ((300, 0.2, 1), (2000, 0.05, 11), (2000, 0.4, 1), (2000, 0.4, 11))
        ),
    ],
)
def test_intervals_cover(n_samples, pos, n_trials):
    inside = []
    for seed in range(200):
        rng = np.random.default_rng([seed, 7])
        store = store_of(n_samples, rng.binomial(n_samples, pos) / n_samples, n_trials, seed)
        winner = winner_of(store)
        low, high = assess(store, "f1", winner.key).score_interval
        inside.append(low <= true_f1(winner.threshold, pos) <= high)
    assert 0.82 <= np.mean(inside) <= 0.99


class Root(Metric):
    """A metric that has no value outside what a profile can be."""

    def value(self, fn, fp, *, pos):
        return np.sqrt((1 - fn / pos) * (1 - fp / (1 - pos)))


def test_draws_have_no_more_errors_than_samples_however_shares_are_rounded():
    y = np.arange(30) < 9
    X = np.random.default_rng(0).normal(size=(30, 2)) + y[:, None]
    search = CostSearch(LogisticRegression(), Root(), cv=2, param_grid=None, n_trials=2).fit(X, y)
    assert np.isfinite([search.best_score_, search.corrected_score_, *search.score_interval_]).all()
