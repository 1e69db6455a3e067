"""Held-out scores of trials: what is kept, in which numbers, and what is warned of."""

import pickle

import numpy as np
import pytest

from csf.evaluate import ScoreStore

IS_POS = np.arange(1000) < 300


def test_beyond_the_limit_the_worst_go_but_never_the_best_and_the_best_neutral_one():
    store = ScoreStore(IS_POS, max_bytes=3 * 4000)
    for number, value in enumerate([0.1, 0.5, 0.9, 0.7, 0.8]):
        store.add((0, number), score=np.arange(1000.0), value=value, equal_costs=number < 2)
    assert [row.key[1] for row in store] == [1, 2, 4]
    assert store.n_dropped == 2
    tiny = ScoreStore(IS_POS, max_bytes=1)
    for number in range(3):
        tiny.add((0, number), score=np.arange(1000.0), value=0.1 * number, equal_costs=number == 0)
    assert [row.key[1] for row in tiny] == [0, 2]


def test_a_missed_constraint_is_worse_than_any_value():
    store = ScoreStore(IS_POS, max_bytes=1)
    store.add((0, 0), score=np.arange(1000.0), value=0.9, violation=0.1)
    store.add((0, 1), score=np.arange(1000.0), value=0.2)
    assert [row.key[1] for row in store] == [1]


def test_rows_come_as_ties_are_broken():
    store = ScoreStore(IS_POS)
    for key in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        store.add(key, score=np.arange(1000.0), value=0.5)
    assert [row.key for row in store] == [(0, 0), (1, 0), (0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("score", "kind"),
    [
        (np.linspace(-3, 3, 1000), np.float32),
        (1e6 + np.linspace(0, 1e-3, 1000), np.float64),
        (1.0 - np.logspace(-20, -1, 1000), np.float64),
        (np.r_[np.linspace(0, 1, 999), 1e300], np.float64),
        (np.r_[np.linspace(0, 1, 998), -np.inf, np.inf], np.float64),
        (np.repeat([0.1, 0.2], 500), np.float32),
    ],
)
def test_single_precision_where_it_keeps_scores_apart(score, kind):
    store = ScoreStore(IS_POS)
    store.add((0, 0), score=score, value=0.5)
    kept = store[0, 0].score
    assert kept.dtype == kind
    assert np.unique(kept).size >= 0.99 * np.unique(score).size or kind == np.float64


def test_equal_rows_stay_equal_whose_scores_differ_in_the_last_digit():
    # Products of equal rows are rounded differently on some processors, by their place among the others.
    score = np.array([0.3, np.nextafter(0.3, 1.0), 0.1, 0.7])
    store = ScoreStore(np.array([True, True, False, True]))
    store.add((0, 0), score=score, value=0.5)
    kept = store[0, 0].score
    assert kept[0] == kept[1]
    assert kept.dtype == np.float32


def test_one_answer_for_each_entry():
    store = ScoreStore(IS_POS)
    with pytest.raises(ValueError, match="one score or decision for each of 1000 entries"):
        store.add((0, 0), score=np.arange(3.0), value=0.5)
    with pytest.raises(ValueError, match="one score or decision for each of 1000 entries"):
        store.add((0, 0), value=0.5)


@pytest.mark.parametrize("way", ["pickle", "skops"])
def test_stores_are_kept_by_formats_that_know_plain_keys_alone(way):
    store = ScoreStore(np.array([False, True, True]))
    store.add((0, 1), score=np.array([0.1, 0.4, 0.8]), threshold=0.25, value=1.0)
    if way == "pickle":
        again = pickle.loads(pickle.dumps(store))
    else:
        skops = pytest.importorskip("skops.io")
        content = skops.dumps(store)
        again = skops.loads(content, trusted=skops.get_untrusted_types(data=content))
    assert [row.key for row in again] == [(0, 1)]
    assert again[0, 1].threshold == 0.25
    np.testing.assert_array_equal(again[0, 1].score, store[0, 1].score)
    again.add((1, 0), score=np.array([0.1, 0.4, 0.8]), value=0.5)
    assert (len(again), len(store)) == (2, 1)


def test_whole_weights_are_counts_and_others_are_shares():
    samples = np.array([0, 1, 2, 0, 1, 2])
    counted = ScoreStore(samples == 1, np.array([2.0, 0.0, 3.0, 2.0, 0.0, 3.0]), samples=samples)
    assert counted.copies.tolist() == [2, 0, 3]
    assert counted.importance is None
    shares = ScoreStore(samples == 1, np.array([2.5, 0.0, 3.0, 2.5, 0.0, 3.0]), samples=samples)
    assert shares.copies.tolist() == [1, 0, 1]
    assert (4.0 * shares.importance).tolist() == [2.5, 0.0, 3.0, 2.5, 0.0, 3.0]
    assert (counted.repeats, shares.repeats) == (2.0, 2.0)
    given = ScoreStore(samples == 1, shares.weight, samples=samples, copies=np.array([5, 1, 2]))
    assert (2.0 * given.importance).tolist() == [0.5, 0.0, 1.5, 0.5, 0.0, 1.5]


def test_scores_whose_order_single_precision_would_lose_are_kept_as_they_are():
    store = ScoreStore(IS_POS)
    score = np.linspace(0.0, 1.0, 1000)
    score[500] = score[499] + 1e-12
    store.add((0, 0), score=score, value=0.5)
    assert store[0, 0].score.dtype == np.float64


TRUTH = np.arange(100) < 30


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("others", [np.ones(30), np.arange(30)], ids=["ones", "counts"])
def test_whole_weights_that_are_one_number_for_a_class_are_hardly_counts(others, repeats):
    weight = np.full(100, 20.0)
    weight[TRUTH], weight[40] = others, 0.0
    options = {"samples": np.tile(np.arange(100), repeats)}
    truth, weight = np.tile(TRUTH, repeats), np.tile(weight, repeats)
    with pytest.warns(UserWarning, match="the weight 20, .* divide such weights by their mean"):
        ScoreStore(truth, weight, **options)
    assert ScoreStore(truth, weight / weight.mean(), **options).importance is not None


@pytest.mark.parametrize(
    "weight",
    [
        np.full(100, 2.0),  # each row twice
        np.random.default_rng(0).integers(0, 3, 100),
        np.where(np.arange(100) < 19, 0.0, np.where(TRUTH, 3.0, np.arange(100) % 4)),  # 11 positives
        np.where(TRUTH, 1.0, np.arange(100) % 4),
        np.where(TRUTH, 1.0, 0.0),
        np.where(TRUTH, 2.5, 1.0),
    ],
    ids=["twice", "counts", "few", "rare", "one class", "shares"],
)
def test_counts_are_not_warned_of(weight):
    ScoreStore(TRUTH, np.asarray(weight, dtype=float))


def test_gaps_between_classes_have_a_memory_limit_of_their_own():
    store = ScoreStore(np.arange(100) % 2 > 0, max_bytes=2000)
    for number in range(3):
        gaps, score = np.zeros((100, 2), dtype=np.float32), np.arange(100.0) + number
        store.add((0, number), score=score, class_gaps=gaps, threshold=0.5, value=0.1 * number)
    # Three scores of 400 bytes fit, and two gaps of 800: the worst trial does without.
    assert [row.class_gaps is None for row in store] == [True, False, False]
    assert store.n_dropped == 0
    assert all(row.n_bytes == 400 for row in store)
    one = ScoreStore(np.arange(100) % 2 > 0, max_bytes=500)
    one.add((0, 0), score=np.arange(100.0), class_gaps=np.zeros((100, 2), dtype=np.float32), threshold=0.5, value=0.1)
    assert one[0, 0].class_gaps is not None
