"""What draws are made of: the same for rows that are repeated or weighted, in any order, with scores on any scale."""

from collections import Counter
from dataclasses import astuple

import numpy as np
import pytest
from scipy.special import expit

from csf.evaluate import Chooser, Resampling, ScoreStore, assess, mean_assessment, standard_error
from csf.metrics import get_metric
from csf.search.selection import GainRule, stable_choice
from csf.thresholding import sweep

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
    stable, gain = stable_choice(store, metric), GainRule().choose(store, metric)
    found, steady = assess(store, metric, stable.key), assess(store, metric, stable.key, chooser=Chooser(1.0))
    return np.array(
        [
            sampled.corrected_score,
            *(*stable.key, *astuple(stable.profile), gain.gain, gain.luck, gain.error, *gain.key),
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
