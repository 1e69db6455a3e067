"""Held-out scores of several classes: what is kept, and the parts that rules are tuned and judged on."""

import pickle

import numpy as np

from csf.evaluate.trials import Trial
from csf.metrics import get_confusion_metric
from csf.thresholds.class_choice import ClassStore

RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1, 2], [30, 20, 10])
PROBA = RNG.dirichlet([2.0, 1.0, 1.0], 60).astype(np.float32)
METRIC = get_confusion_metric("f1_macro")


def trial(number, score, costs=(1.0, 1.0, 1.0)):
    return Trial(number, 0.0, costs, state="complete", score=score)


def store_of(*scores, weight=None, **options):
    store = ClassStore(TRUTH, weight, n_classes=3, margins=False, **options)
    for number, score in enumerate(scores):
        codes = PROBA.argmax(axis=1)
        store.add_trial((0, number), trial(number, score, (1.0, 1.0, 1.0 + number)), PROBA, codes, codes)
    return store


def test_rows_are_kept_small():
    (row,) = store_of(0.5)
    assert row.score.dtype == np.float32
    assert row.decided.dtype == row.judged.dtype == np.uint8
    assert row.n_bytes == 60 * (3 * 4 + 2)
    assert row.equal_costs


def test_beyond_the_limit_the_worst_trials_are_dropped_but_not_the_best_with_equal_weights():
    one = store_of(0.5)
    limit = 2 * next(iter(one)).n_bytes
    store = store_of(0.1, 0.9, 0.8, max_bytes=limit)
    assert [row.key for row in store] == [(0, 0), (0, 1)]
    assert store.n_dropped == 1


def test_weights_of_the_training_are_taken_out():
    store, costs = store_of(0.5), (0.5, 1.0, 4.0)
    weighted = PROBA * costs
    weighted /= weighted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(store.probabilities(weighted, costs), PROBA, atol=1e-6)


def test_other_shares_move_weights_and_probabilities_alike():
    new = np.array([0.2, 0.2, 0.6])
    store = store_of(0.5)
    moved = store.moved(new)
    odds = new / [0.5, 1 / 3, 1 / 6]
    np.testing.assert_allclose(np.bincount(TRUTH, moved.weight) / moved.weight.sum(), new)
    expected = PROBA * odds
    np.testing.assert_allclose(
        moved.probabilities(PROBA, (1.0, 1.0, 1.0)), expected / expected.sum(axis=1, keepdims=True), atol=1e-6
    )
    # And once more: it is the shares of the data that odds refer to.
    np.testing.assert_allclose(moved.moved(np.array([0.5, 1 / 3, 1 / 6])).odds, np.ones(3))
    np.testing.assert_array_equal(store.odds, np.ones(3))


def test_margins_are_made_probabilities():
    store = ClassStore(TRUTH, n_classes=3, margins=True)
    scores = 2.0 * np.eye(3)[TRUTH] - 1.0 + RNG.normal(size=(60, 3))
    proba = store.probabilities(scores.astype(np.float32), (1.0, 1.0, 9.0))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    # They are calibrated, whatever the training weighed.
    np.testing.assert_allclose(proba.mean(axis=0), [0.5, 1 / 3, 1 / 6], atol=0.03)
    assert store_of(0.5).calibrator(PROBA) is None


def test_parts_hold_about_as_much_of_each_class():
    part = store_of().parts(PROBA)
    counts = np.array([np.bincount(part[code == TRUTH], minlength=5) for code in range(3)])
    np.testing.assert_array_equal(counts, [[6] * 5, [4] * 5, [2] * 5])


def test_all_entries_of_a_sample_and_of_its_copies_are_in_one_part():
    samples = np.tile(np.arange(60), 2)
    twice = ClassStore(np.tile(TRUTH, 2), n_classes=3, margins=False, samples=samples)
    part = twice.parts(np.vstack([PROBA, PROBA[::-1]]))
    np.testing.assert_array_equal(part[:60], part[60:])
    # A row that is there twice is in one part, wherever it stands; the order of rows decides nothing.
    once, order = store_of().parts(PROBA), RNG.permutation(np.repeat(np.arange(60), 1 + (np.arange(60) % 7 == 0)))
    copied = ClassStore(TRUTH[order], n_classes=3, margins=False).parts(PROBA[order])
    np.testing.assert_array_equal(copied, once[order])


def test_where_few_samples_differ_equal_scores_mean_no_copies():
    few = np.repeat(PROBA[[0, 31, 55]], [30, 20, 10], axis=0)
    part = store_of().parts(few)
    assert np.bincount(part[TRUTH == 0]).tolist() == [6] * 5


def test_what_is_drawn_knows_rows_that_came_later_and_survives_pickling():
    store = store_of(0.5)
    assert store.drawn[0].copies.sum() == 60
    other = RNG.dirichlet([1.0, 1.0, 1.0], 60).astype(np.float32)
    merged = ClassStore(TRUTH, n_classes=3, margins=False)
    for number, score in enumerate((np.repeat(PROBA[:1], 60, axis=0), other)):
        merged.add_trial((0, number), trial(number, 0.5), score, score.argmax(axis=1))
        # Samples of which all trials say the same are one unit.
        assert merged.drawn[0].copies.size == (3, 60)[number]
    again = pickle.loads(pickle.dumps(store))
    np.testing.assert_array_equal(again.drawn[0].samples, store.drawn[0].samples)


def test_the_last_digits_of_scores_deal_hardly_a_sample_anew():
    rng = np.random.default_rng(0)
    truth, proba = rng.integers(0, 3, 3000), rng.dirichlet(np.ones(3), 3000)
    store = ClassStore(truth, n_classes=3, margins=False)
    parts = store.parts(proba)
    moved = store.parts(proba * (1.0 + 1e-7 * rng.normal(size=proba.shape)))
    assert np.mean(parts != moved) < 0.01
    # Each part has its share of every class, and they are not one score after the other.
    counts = np.bincount(3 * parts + truth).reshape(5, 3)
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert [abs(proba[parts == part, 0].mean() - proba[:, 0].mean()) < 0.03 for part in range(5)] == [True] * 5
