"""Which training and which decision win among several classes, and what they are worth on new data."""

import pickle

import numpy as np
import pytest

from csf.evaluate import Candidate
from csf.metrics import get_confusion_metric
from csf.metrics.trials import Trial
from csf.thresholding.class_choice import ARGMAX, TUNED, MulticlassChoice, MulticlassStore
from csf.thresholding.linear_rule import confusion_of, cross_fitted

N = 300
TRUTH = np.repeat([0, 1, 2], [200, 70, 30])
METRIC = get_confusion_metric("f1_macro")
EQUAL, OTHER = (1.0, 1.0, 1.0), (0.5, 1.5, 3.0)


def scores(quality, seed=0):
    """Scores that know so much of the truth."""
    rng = np.random.default_rng(seed)
    proba = np.exp(quality * np.eye(3)[TRUTH] + rng.normal(size=(N, 3)) + [1.0, 0.0, -1.0])
    return (proba / proba.sum(axis=1, keepdims=True)).astype(np.float32)


def store_of(*rows, metric=METRIC, truth=TRUTH, weight=None):
    """Store of trials: scores, class weights and, to be told instead of those of rules, judged decisions."""
    store = MulticlassStore(truth, weight, n_classes=3, margins=False)
    for number, (score, costs, *judged) in enumerate(rows):
        own, said = score.argmax(axis=1), judged[0] if judged else None
        if not judged:
            proba = store.probabilities(score, costs)
            said = cross_fitted(proba, truth, metric, store.parts(score), weight=store.weight)
        value = float(metric.value(confusion_of(truth, own, 3, weight)))
        store.add_trial((0, number), Trial(number, 0.0, costs, state="complete", score=value), score, own, said)
    return store


def test_of_equal_candidates_the_first_own_decision_wins():
    score = scores(1.0)
    own = score.argmax(axis=1)
    store = store_of((score, EQUAL, own), (score, EQUAL, own), (score, OTHER, own))
    assert MulticlassChoice(store, METRIC).winner == Candidate((0, 0), ARGMAX)


def test_the_best_own_decision_with_equal_weights_is_the_default():
    worse, better = scores(0.5), scores(2.0)
    store = store_of((worse, EQUAL, None), (better, EQUAL, None), (better, OTHER, None))
    assert MulticlassChoice(store, METRIC).winner == Candidate((0, 1), ARGMAX)


def changed(n_right, n_wrong, score):
    """Own decisions, but so many more samples of the rarest class are right, and fewer of the second."""
    decided = score.argmax(axis=1)
    decided[np.flatnonzero((decided != TRUTH) & (TRUTH == 2))[:n_right]] = 2
    decided[np.flatnonzero((decided == TRUTH) & (TRUTH == 1))[:n_wrong]] = 0
    return decided


@pytest.mark.parametrize(
    ("n_right", "n_wrong", "costs", "wins"),
    [(6, 14, EQUAL, False), (6, 10, EQUAL, True), (6, 10, OTHER, False), (8, 0, OTHER, True)],
)
def test_gains_have_to_exceed_their_errors_and_those_of_other_class_weights_twice(n_right, n_wrong, costs, wins):
    """The gains are 0.2, 0.8 and 2.9 standard deviations of them over draws."""
    score = scores(1.5)
    judged = changed(n_right, n_wrong, score)
    before, after = (METRIC.value(confusion_of(TRUTH, codes, 3)) for codes in (score.argmax(axis=1), judged))
    assert after > before
    store = store_of((score, EQUAL, None), (score, costs, judged))
    assert MulticlassChoice(store, METRIC).winner == (Candidate((0, 1), TUNED) if wins else Candidate((0, 0), ARGMAX))


def test_without_equal_weights_the_best_of_all_is_the_default():
    worse, better = scores(0.5), scores(2.0)
    assert MulticlassChoice(store_of((worse, OTHER, None), (better, OTHER, None)), METRIC).winner == Candidate(
        (0, 1), ARGMAX
    )


def test_what_is_corrected_is_the_rule_on_samples_that_it_has_not_seen():
    """With scores of noise a tuned rule looks better than it is."""
    store = store_of((scores(0.0), EQUAL))
    winner = Candidate((0, 0), TUNED)
    said = MulticlassChoice(store, METRIC).assess(winner)
    row = store[(0, 0)]
    judged = float(METRIC.value(confusion_of(TRUTH, row.judged, 3)))
    assert said.corrected_score == pytest.approx(judged, abs=0.03)
    assert said.score_interval[0] < said.corrected_score < said.score_interval[1]


def test_the_interval_of_a_decision_without_an_error_reaches_below_it():
    score = scores(30.0)
    said = MulticlassChoice(store_of((score, EQUAL)), METRIC).assess(Candidate((0, 0), ARGMAX))
    assert said.corrected_score == 1.0
    low, high = said.score_interval
    # Errors that were not made yet: about one of the 30 samples of the rarest class.
    assert 0.95 < low < 0.995
    assert high <= 1.0


@pytest.mark.parametrize("metric", ["f1_macro", "mcc", "gmean"])
def test_a_row_of_weight_two_is_two_rows(metric):
    metric = get_confusion_metric(metric)
    weight = np.random.default_rng(3).integers(0, 4, N).astype(float)
    rows = np.repeat(np.arange(N), weight.astype(int))
    score = scores(1.0)
    heavy = store_of((score, EQUAL), (scores(1.0, seed=1), OTHER), metric=metric, weight=weight)
    long = store_of((score[rows], EQUAL), (scores(1.0, seed=1)[rows], OTHER), metric=metric, truth=TRUTH[rows])
    winner = MulticlassChoice(heavy, metric).winner
    assert winner == MulticlassChoice(long, metric).winner
    first, second = (MulticlassChoice(store, metric).assess(winner) for store in (heavy, long))
    assert first.corrected_score == pytest.approx(second.corrected_score, abs=1e-12)
    assert first.score_interval == pytest.approx(second.score_interval, abs=1e-12)


def test_two_thirds_of_the_samples_have_to_gain_more():
    """Their error is sqrt(3/2) times that of all: some gains win on all samples, and lose on two thirds of them.

    All samples of a class are decided alike, so that parts which are stratified by class gain what all samples do.
    """
    accuracy, n, wins, kept = get_confusion_metric("accuracy"), 1200, None, None
    for n_worse in range(297, 0, -3):
        # 300 samples of one class become right, fewer of another one wrong; of a third nothing changes.
        truth = np.repeat([0, 1, 2], [n_worse, 300, n - 300 - n_worse])
        decisions = np.array([0, 2, 2])[truth], np.array([2, 1, 2])[truth]
        store = MulticlassStore(truth, n_classes=3, margins=False)
        for number, (decided, costs) in enumerate(zip(decisions, (EQUAL, OTHER))):
            value = float(np.mean(decided == truth))
            told = Trial(number, 0.0, costs, state="complete", score=value)
            store.add_trial((0, number), told, np.eye(3)[decided] + 0.01 * truth[:, None], decided)
        # The gain in standard errors.
        gain = (300 - n_worse) / np.sqrt(300 + n_worse - (300 - n_worse) ** 2 / n)
        winner = MulticlassChoice(store, accuracy).winner
        if winner.key == (0, 1) and wins is None:
            wins = gain
        if MulticlassChoice(store, accuracy).assess(winner).corrected_score == pytest.approx(value):
            kept = gain
            break
    assert wins == pytest.approx(2.0, rel=0.25)
    assert kept / wins == pytest.approx(np.sqrt(1.5), abs=0.07)


# ---------------------------------------------------------------- held-out scores of several classes


RNG = np.random.default_rng(0)
CODES = np.repeat([0, 1, 2], [30, 20, 10])
PROBA = RNG.dirichlet([2.0, 1.0, 1.0], 60).astype(np.float32)


def trial(number, score, costs=(1.0, 1.0, 1.0)):
    return Trial(number, 0.0, costs, state="complete", score=score)


def store_of_trials(*scores, weight=None, **options):
    store = MulticlassStore(CODES, weight, n_classes=3, margins=False, **options)
    for number, score in enumerate(scores):
        codes = PROBA.argmax(axis=1)
        store.add_trial((0, number), trial(number, score, (1.0, 1.0, 1.0 + number)), PROBA, codes, codes)
    return store


def test_rows_are_kept_small():
    (row,) = store_of_trials(0.5)
    assert row.score.dtype == np.float32
    assert row.decided.dtype == row.judged.dtype == np.uint8
    assert row.n_bytes == 60 * (3 * 4 + 2)
    assert row.equal_costs


def test_weights_of_the_training_are_taken_out():
    store, costs = store_of_trials(0.5), (0.5, 1.0, 4.0)
    weighted = PROBA * costs
    weighted /= weighted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(store.probabilities(weighted, costs), PROBA, atol=1e-6)


def test_other_shares_move_weights_and_probabilities_alike():
    new = np.array([0.2, 0.2, 0.6])
    store = store_of_trials(0.5)
    moved = store.at_shares(new)
    odds = new / [0.5, 1 / 3, 1 / 6]
    np.testing.assert_allclose(np.bincount(CODES, moved.weight) / moved.weight.sum(), new)
    expected = PROBA * odds
    np.testing.assert_allclose(
        moved.probabilities(PROBA, (1.0, 1.0, 1.0)), expected / expected.sum(axis=1, keepdims=True), atol=1e-6
    )
    # And once more: it is the shares of the data that odds refer to.
    np.testing.assert_allclose(moved.at_shares(np.array([0.5, 1 / 3, 1 / 6])).odds, np.ones(3))
    np.testing.assert_array_equal(store.odds, np.ones(3))


def test_margins_are_made_probabilities():
    store = MulticlassStore(CODES, n_classes=3, margins=True)
    scores = 2.0 * np.eye(3)[CODES] - 1.0 + RNG.normal(size=(60, 3))
    proba = store.probabilities(scores.astype(np.float32), (1.0, 1.0, 9.0))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    # They are calibrated, whatever the training weighed.
    np.testing.assert_allclose(proba.mean(axis=0), [0.5, 1 / 3, 1 / 6], atol=0.03)
    assert store_of_trials(0.5).calibrator(PROBA) is None


def test_parts_hold_about_as_much_of_each_class():
    part = store_of_trials().parts(PROBA)
    counts = np.array([np.bincount(part[code == CODES], minlength=5) for code in range(3)])
    np.testing.assert_array_equal(counts, [[6] * 5, [4] * 5, [2] * 5])


def test_all_entries_of_a_sample_and_of_its_copies_are_in_one_part():
    samples = np.tile(np.arange(60), 2)
    twice = MulticlassStore(np.tile(CODES, 2), n_classes=3, margins=False, samples=samples)
    part = twice.parts(np.vstack([PROBA, PROBA[::-1]]))
    np.testing.assert_array_equal(part[:60], part[60:])
    # A row that is there twice is in one part, wherever it stands; the order of rows decides nothing.
    once, order = (
        store_of_trials().parts(PROBA),
        RNG.permutation(np.repeat(np.arange(60), 1 + (np.arange(60) % 7 == 0))),
    )
    copied = MulticlassStore(CODES[order], n_classes=3, margins=False).parts(PROBA[order])
    np.testing.assert_array_equal(copied, once[order])


def test_where_few_samples_differ_equal_scores_mean_no_copies():
    few = np.repeat(PROBA[[0, 31, 55]], [30, 20, 10], axis=0)
    part = store_of_trials().parts(few)
    assert np.bincount(part[CODES == 0]).tolist() == [6] * 5


def test_what_is_drawn_knows_rows_that_came_later_and_survives_pickling():
    store = store_of_trials(0.5)
    assert store.drawn[0].copies.sum() == 60
    other = RNG.dirichlet([1.0, 1.0, 1.0], 60).astype(np.float32)
    merged = MulticlassStore(CODES, n_classes=3, margins=False)
    for number, score in enumerate((np.repeat(PROBA[:1], 60, axis=0), other)):
        merged.add_trial((0, number), trial(number, 0.5), score, score.argmax(axis=1))
        # Samples of which all trials say the same are one unit.
        assert merged.drawn[0].copies.size == (3, 60)[number]
    again = pickle.loads(pickle.dumps(store))
    np.testing.assert_array_equal(again.drawn[0].samples, store.drawn[0].samples)


def test_the_last_digits_of_scores_deal_hardly_a_sample_anew():
    rng = np.random.default_rng(0)
    truth, proba = rng.integers(0, 3, 3000), rng.dirichlet(np.ones(3), 3000)
    store = MulticlassStore(truth, n_classes=3, margins=False)
    parts = store.parts(proba)
    moved = store.parts(proba * (1.0 + 1e-7 * rng.normal(size=proba.shape)))
    assert np.mean(parts != moved) < 0.01
    # Each part has its share of every class, and they are not one score after the other.
    counts = np.bincount(3 * parts + truth).reshape(5, 3)
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert [abs(proba[parts == part, 0].mean() - proba[:, 0].mean()) < 0.03 for part in range(5)] == [True] * 5
