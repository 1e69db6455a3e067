"""Constraints that hold on new data with a given confidence."""

from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import pytest
from builders import paper_search
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, multinomial, norm
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.metrics import BalancedAccuracy, Constrained, Constraint, MeanCost, Precision, Rate, get_constraint, get_metric
from csf.thresholding.certificates import STRICTER, Decisions, certify, run_in_order
from csf.thresholding.exact_tests import ClassWeights, ScoredSamples, demands_of, violation_at
from csf.thresholding.score_paths import ScorePaths, _where

IS_POS = np.arange(100) < 40


def violation_probability(constraint, is_pos, found, weight=None, known=None, *, groups=None, error=0.1, sizes=None):
    """Compute the p-value of the hypothesis that predictions violate a constraint, see `violation_at`."""
    if known is None and (weight is not None or groups is not None):
        known = ClassWeights.of(is_pos, np.ones(is_pos.size) if weight is None else weight, groups)
    samples = ScoredSamples(is_pos, found * 1.0, weight, None, groups)
    return violation_at(demands_of(constraint, known), samples, 0.5, error, sizes)


@pytest.fixture(scope="module")
def data():
    return make_classification(1500, 8, weights=[0.8], flip_y=0.05, random_state=0)


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("precision >= 0.7", binom.sf(34, 40, 0.7)),  # 35 of the 40 found are positive
        ("recall >= 0.8", binom.sf(34, 40, 0.8)),
        ("fnr <= 0.2", binom.cdf(5, 40, 0.2)),
        ("fpr <= 0.2", binom.cdf(5, 60, 0.2)),
        ("specificity >= 0.8", binom.sf(54, 60, 0.8)),
        ("predicted_positive_rate <= 0.5", binom.cdf(40, 100, 0.5)),
        ("predicted_positive_rate >= 0.3", binom.sf(39, 100, 0.3)),
    ],
)
def test_tails_are_those_of_the_counts(constraint, expected):
    found = (np.arange(100) >= 5) & (np.arange(100) < 45)
    constraint = get_constraint(constraint)
    assert violation_probability(constraint, IS_POS, found) == pytest.approx(expected)
    assert violation_probability(constraint, IS_POS, found, np.full(100, 2.0)) == pytest.approx(expected)


def test_of_several_constraints_the_worst_counts():
    found = np.arange(100) < 45
    both, *each = (get_constraint(c) for c in ("precision >= 0.7, fpr <= 0.2", "precision >= 0.7", "fpr <= 0.2"))
    assert violation_probability(both, IS_POS, found) == max(violation_probability(one, IS_POS, found) for one in each)
    assert str(both) == "precision >= 0.7, fpr <= 0.2"
    assert both.violation(0.3, 0.3, pos=0.4) == pytest.approx(max(one.violation(0.3, 0.3, pos=0.4) for one in each))


def test_where_nothing_is_counted_nothing_is_known():
    assert violation_probability(get_constraint("precision >= 0.1"), IS_POS, np.zeros(100, bool)) == 1.0
    weight = np.where(IS_POS, 0.0, 1.0)
    assert violation_probability(get_constraint("recall >= 0.1"), IS_POS, np.ones(100, bool), weight) == 1.0


@pytest.mark.parametrize("constraint", ["precision >= 0.6", "fpr <= 0.3", "recall >= 0.5"])
def test_unequal_weights_make_the_tail_larger_but_no_less_true(constraint):
    """p-values at the border of the constraint are small as seldom as they say."""
    constraint, rng, small = get_constraint(constraint), np.random.default_rng(0), []
    rate = 1.0 - constraint.level if constraint.side == "<=" else constraint.level
    for _ in range(400):
        weight, right = rng.exponential(size=80), rng.random(80) < rate
        is_pos, found = {
            "precision": (right, np.ones(80, bool)),
            "recall": (np.ones(80, bool), right),
            "fpr": (np.zeros(80, bool), ~right),
        }[constraint.quantity.name]
        small.append(violation_probability(constraint, is_pos, found, weight) <= 0.2)
    assert np.mean(small) <= 0.2


def assert_as_rare_as_it_says(p, probability, *, exact):
    """The chance of a p-value so small or smaller is that value (up to what discrete counts leave), for all of them."""
    p, probability = np.array(p), np.array(probability)
    assert probability.sum() == pytest.approx(1.0)
    for value in np.unique(p):
        chance = probability[p <= value].sum()
        assert chance == pytest.approx(value, abs=1e-9) if exact else chance <= value + 1e-9


def counted(constraint, n, successes):
    """Truth and prediction of samples that the rate counts, so many of them as ones."""
    one = np.arange(n) < successes
    return {
        "precision": (one, np.ones(n, bool)),
        "recall": (np.ones(n, bool), one),
        "fnr": (np.ones(n, bool), one),
        "fpr": (np.zeros(n, bool), ~one),
        "specificity": (np.zeros(n, bool), ~one),
        "predicted_positive_rate": (one, one),
    }[constraint.quantity.name]


@pytest.mark.parametrize("rate", ["precision >=", "recall >=", "fnr <=", "fpr <=", "predicted_positive_rate >="])
@pytest.mark.parametrize("level", [0.05, 0.3, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_all_outcomes_of_a_classifier_at_the_border(rate, level, n):
    constraint, at = get_constraint(f"{rate} {level}"), np.arange(n + 1)
    share = level if rate.endswith(">=") else 1.0 - level
    p = [violation_probability(constraint, *counted(constraint, n, k)) for k in at]
    assert_as_rare_as_it_says(p, binom.pmf(at, n, share), exact=True)
    assert_as_rare_as_it_says(p, binom.pmf(at, n, 0.9 * share), exact=False)


@pytest.mark.parametrize("level", [0.3, 0.7, 0.9])
@pytest.mark.parametrize(("w_neg", "w_pos"), [(20.0, 1.0), (1.0, 20.0), (0.5, 3.0)])
def test_all_outcomes_where_a_class_weighs_more(level, w_neg, w_pos):
    """Negatives that stand for twenty: the weighted rate is at its level where another share is counted."""
    constraint, n = get_constraint(f"precision >= {level}"), 30
    share = level * w_neg / (level * w_neg + (1 - level) * w_pos)
    assert share * w_pos / (share * w_pos + (1 - share) * w_neg) == pytest.approx(level)
    known = ClassWeights.of(np.array([False, True]), np.array([w_neg, w_pos]))
    p = []
    for k in range(n + 1):
        is_pos, found = counted(constraint, n, k)
        p.append(violation_probability(constraint, is_pos, found, np.where(is_pos, w_pos, w_neg), known))
    assert_as_rare_as_it_says(p, binom.pmf(np.arange(n + 1), n, share), exact=True)


@pytest.mark.parametrize(
    ("constraint", "chances"),
    [
        # chances of positives of weight 1 and 3, and of heavy negatives; the others are light, of weight 1
        ("precision >= 0.5", (0.3, 0.1, 0.02)),
        ("precision >= 0.5", (0.6, 0.3, 0.02)),
        ("precision >= 0.8", (0.5, 0.3, 0.01)),
        ("precision >= 0.8", (0.2, 0.6, 0.04)),
        ("predicted_positive_rate <= 0.2", (0.2, 0.05, 0.03)),
    ],
)
def test_all_outcomes_of_weights_that_vary_within_a_class(constraint, chances):
    """The weight of a light negative is such that the rate is at its level: rare and heavy ones make the difference."""
    constraint, n = get_constraint(constraint), 9
    level, (low, high, rare) = constraint.level, chances
    chance = np.array([low, high, 1.0 - low - high - rare, rare])
    positive, found = np.array([True, True, False, False]), np.ones(4, bool)
    if constraint.side == "<=":
        found = positive.copy()
    one = positive if constraint.side == ">=" else ~positive
    share = level if constraint.side == ">=" else 1.0 - level
    weight = np.array([1.0, 3.0, 1.0, 1.0])
    # the heavy negative takes what is missing for a mean of w (one - share) of 0
    rest = chance[:3] @ (weight[:3] * (one[:3] - share))
    weight[3] = -rest / (chance[3] * (one[3] - share))
    assert weight[3] > 0
    known = ClassWeights.of(positive, weight)
    p, probability = [], []
    for drawn in combinations_with_replacement(range(4), n):
        at = np.array(drawn)
        p.append(violation_probability(constraint, positive[at], found[at], weight[at], known))
        probability.append(multinomial.pmf(np.bincount(at, minlength=4), n, chance))
    assert_as_rare_as_it_says(p, probability, exact=False)


def test_the_bet_on_three_samples_by_hand():
    """All three add as much as a heavy negative would subtract, and .95 of the capital is at stake each time."""
    known = ClassWeights.of(np.array([True, False, False]), np.array([2.0, 1.0, 2.0]))
    yes, weight = np.ones(3, bool), np.full(3, 2.0)
    p = violation_probability(get_constraint("precision >= 0.5"), yes, yes, weight, known)
    assert p == pytest.approx(1 / 1.95**3)


@pytest.mark.parametrize("error", [0.05, 0.1, 0.4])
def test_the_bet_on_equal_gains_by_the_formula(error):
    """The stake is the derivative of the chance to reach the goal, in units of the chance."""
    known = ClassWeights.of(np.array([True, False, False]), np.array([1.0, 1.0, 2.0]))
    n, gain, size, capital, goal = 30, 0.5, 0.4, 1.0, 1.25 / error
    for before in range(n):
        rest = np.sqrt((n - before) * (20 * size + before * gain**2) / (20 + before))
        at = norm.ppf(min(capital / goal, 1.0))
        capital *= 1 + gain * min(norm.pdf(at) / (norm.cdf(at) * rest), 0.95)
    constraint, yes = get_constraint("precision >= 0.5"), np.ones(n, bool)
    # The largest loss is 1, so that the sizes are in its unit.
    p = violation_probability(constraint, yes, yes, np.ones(n), known, error=error, sizes=np.array([size]))
    assert p == pytest.approx(1 / capital)
    assert p <= error


@pytest.mark.parametrize("groups", [[0, 0, 0, 1, 1, 2], [5, 5, 5, 9, 9, 7]])
def test_a_unit_is_the_sum_of_its_group(groups):
    """Groups of 2 right and 1 wrong, of 2 right, and of 1 wrong: gains of .5, 1 and -.5, of at most two negatives."""
    is_pos, yes = np.array([True, True, False, True, True, False]), np.ones(6, bool)
    samples = ScoredSamples(is_pos, yes * 1.0, None, None, np.array(groups))
    (demand,) = demands_of(get_constraint("precision >= 0.5"), ClassWeights.of(is_pos, yes * 1.0, samples.groups))
    assert (demand.level, demand.loss) == (None, 0.5)
    gains = samples.totals(demand.gains[[0, 0, 2, 0, 0, 2]])
    assert sorted(gains) == [-0.5, 0.5, 1.0]
    # Below all scores: the first group has 1 and then 0 of its worst; no sample of weight 1 loses more than .5.
    found = samples.sums(np.array([np.inf, -np.inf]), demand.gains, lambda gains: np.stack([gains, gains**2]))
    np.testing.assert_allclose(found, [[0.0, 1.0], [0.0, 1.5]])


def test_a_loss_that_was_not_met_stays_possible_where_it_matters():
    """Of 70 and 30 samples, a negative of weight 40 that no threshold in question predicts positive counts as 12."""
    is_pos, score, weight = np.arange(100) % 2 == 0, np.arange(100.0), np.ones(100)
    weight[1], weight[99] = 40.0, 3.0
    parts = [ScoredSamples(is_pos[at], score[at], weight[at]) for at in (slice(30, 100), slice(30))]
    (demand,) = demands_of(get_constraint("precision >= 0.5"), ClassWeights.of(is_pos, weight))
    assert demand.loss == 20.0

    def taken(*thresholds):
        return tuple([part.predicted(threshold) for threshold in thresholds] for part in parts)

    assert demand.within(*parts, taken(50.0, np.inf)).loss == pytest.approx(20.0 * 0.3)
    assert demand.within(*parts, taken(0.0, np.inf)).loss == 20.0
    weight[1] = 1.0
    (demand,) = demands_of(get_constraint("precision >= 0.5"), ClassWeights.of(is_pos, weight))
    assert demand.within(*parts, taken(50.0, np.inf)).loss == 1.5


def grouped_samples(rng, n_groups, pos=0.3):
    """Groups of 1 to 12 samples that are alike, and the population's rates at a threshold by many groups."""
    groups = np.repeat(np.arange(n_groups), rng.integers(1, 13, n_groups))
    tilt = rng.normal(size=n_groups)[groups]
    is_pos = rng.random(groups.size) < 1 / (1 + np.exp(-np.log(pos / (1 - pos)) - 0.5 * tilt))
    return ScoredSamples(is_pos, rng.normal(size=groups.size) + 2.0 * is_pos + 0.3 * tilt, None, None, groups)


LAWS = ["precision >= 0.6", "recall >= 0.6", "fpr <= 0.15", "f1 >= 0.5", Constraint(MeanCost(3.0), "<=", 0.5)]


def certified(constraint, searched, calibrated, confidence=0.9):
    constraint = get_constraint(constraint)
    metric = "precision" if constraint.quantity.name in ("recall", "f1", "mean_cost") else "recall"
    return certify(calibrated, Constrained(get_metric(metric), constraint), confidence, searched)


def assert_same(one, other):
    assert (one.holds, one.threshold, one.n_tested) == (other.holds, other.threshold, other.n_tested)
    assert one.error == pytest.approx(other.error, rel=1e-6)
    assert one.rates == pytest.approx(other.rates)


def taken(samples, at, **changes):
    arrays = {name: getattr(samples, name) for name in ("is_pos", "score", "weight", "groups")}
    return replace(samples, **{name: None if each is None else each[at] for name, each in arrays.items()}, **changes)


@pytest.mark.parametrize("constraint", LAWS)
@pytest.mark.parametrize("kind", ["groups", "weights", "both", "plain"])
def test_neither_the_order_of_rows_nor_rows_of_weight_0_nor_the_unit_of_weights_matter(constraint, kind):
    rng = np.random.default_rng(3)
    parts = [grouped_samples(rng, n) for n in (120, 60)]
    if kind in ("weights", "both"):
        parts = [replace(part, weight=rng.integers(1, 4, part.score.size) * 1.0) for part in parts]
    if kind in ("weights", "plain"):
        parts = [replace(part, groups=None) for part in parts]
    expected = certified(constraint, *parts)
    assert_same(certified(constraint, *(taken(part, rng.permutation(part.score.size)) for part in parts)), expected)
    ones = [np.ones(part.score.size) if part.weight is None else part.weight for part in parts]
    assert_same(certified(constraint, *(replace(part, weight=3.0 * w) for part, w in zip(parts, ones))), expected)
    more = []
    for part, w in zip(parts, ones):
        at = np.concatenate([np.arange(w.size), rng.integers(0, w.size, 50)])
        extra = taken(part, at, lost=None)
        score = np.concatenate([part.score, rng.normal(size=50)])
        more.append(replace(extra, score=score, weight=np.concatenate([w, np.zeros(50)])))
    assert_same(certified(constraint, *more), expected)


@pytest.mark.parametrize("constraint", LAWS)
def test_a_whole_weight_within_a_group_is_a_repeated_row(constraint):
    rng = np.random.default_rng(4)
    weighted, repeated = [], []
    for part in [grouped_samples(rng, n) for n in (120, 60)]:
        weight = rng.integers(1, 4, part.score.size)
        weighted.append(replace(part, weight=weight * 1.0))
        repeated.append(taken(part, np.repeat(np.arange(weight.size), weight)))
    assert_same(certified(constraint, *weighted), certified(constraint, *repeated))


@pytest.mark.parametrize("constraint", LAWS)
def test_groups_of_one_row_are_none_and_folds_that_are_repeated_count_once(constraint):
    rng = np.random.default_rng(5)
    grouped = [grouped_samples(rng, n) for n in (120, 60)]
    plain = [replace(part, groups=None) for part in grouped]
    alone = [replace(part, groups=rng.permutation(part.score.size)) for part in grouped]
    assert_same(certified(constraint, *alone), certified(constraint, *plain))
    twice = taken(grouped[0], np.tile(np.arange(grouped[0].score.size), 2), repeats=2.0)
    assert_same(certified(constraint, twice, grouped[1]), certified(constraint, *grouped))


@pytest.mark.parametrize("constraint", ["precision >= 0.6", "recall >= 0.7", "fpr <= 0.15"])
def test_unequal_groups_are_signed_and_seldom_falsely(constraint):
    whole, told = grouped_samples(np.random.default_rng(0), 10_000), []
    demand = get_constraint(constraint)
    for seed in range(12):
        rng = np.random.default_rng([seed, 1])
        test = certified(constraint, grouped_samples(rng, 250), grouped_samples(rng, 110), 0.8)
        found = whole.predicted(test.threshold)
        fn, fp = (whole.is_pos & ~found).mean(), (~whole.is_pos & found).mean()
        told.append((test.holds, test.holds and demand.violation(fn, fp, pos=whole.is_pos.mean()) > 0.0))
    signed, false = np.mean(told, axis=0)
    assert signed > 0.5
    assert false <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 12)


def test_a_rate_that_cannot_be_missed_or_reached():
    weight, yes, known = np.array([1.0, 2.0]), np.ones(2, bool), np.array([True, False])
    for constraint, p in (("precision >= 0", 0.0), ("precision >= 1", 1.0)):
        assert violation_probability(get_constraint(constraint), known, yes, weight) == p
    weight, yes, known = np.array([1.0, 2.0, 1.0, 3.0]), np.ones(4, bool), np.array([True, True, False, False])
    for constraint, p in (("precision >= 0", 0.0), ("precision >= 1", 1.0)):
        assert violation_probability(get_constraint(constraint), known, yes, weight) == p


@pytest.mark.parametrize("constraint", ["precision >= 0", "recall >= 0", "fnr <= 1", "fpr <= 1"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_every_classifier_satisfies_is_shown_at_the_best_cut(constraint, weighted):
    rng = np.random.default_rng(0)
    is_pos = rng.random(400) < 0.3
    score, weight = rng.normal(size=400) + 2.0 * is_pos, rng.exponential(size=400) if weighted else None
    scored, aim = ScoredSamples(is_pos, score, weight), Constrained(get_metric("f1"), get_constraint(constraint))
    test = certify(scored, aim, 0.9, scored)
    assert (test.holds, test.error, test.threshold) == (True, 0.0, scored.curve().best("f1").threshold)


def test_a_class_whose_weight_nobody_knows_shows_nothing():
    yes, weight = np.ones(60, bool), np.ones(60)
    assert violation_probability(get_constraint("precision >= 0.7"), yes, yes, weight) == 1.0
    known = ClassWeights.of(np.array([True, False]), np.ones(2))
    assert violation_probability(get_constraint("precision >= 0.7"), yes, yes, weight, known) == pytest.approx(0.7**60)
    assert violation_probability(get_constraint("recall >= 0.7"), yes, yes, weight) == pytest.approx(0.7**60)


@pytest.mark.parametrize("weight", [None, np.ones(3)], ids=["plain", "weights of 1"])
def test_three_right_answers_without_a_wrong_one_anywhere_sign_nothing(weight):
    """What a wrong one would weigh is then unknown, and must not count as nothing."""
    samples = ScoredSamples(np.ones(3, dtype=bool), np.arange(3.0), weight)
    metric = Constrained(get_metric("recall"), get_constraint("precision >= 0.999"))
    promise = certify(samples, metric, 0.9, samples)
    assert not promise.holds
    assert promise.error > 0.9


@pytest.mark.parametrize("others", [1.0, 3.0])
def test_a_sample_of_weight_0_is_none(others):
    """Beside samples of one weight, and beside samples of several."""
    is_pos, found = counted(get_constraint("precision >= 0.7"), 60, 55)
    weight = np.where(np.arange(60) % 2, 1.0, others)
    more = [np.concatenate([each, each[-20:]]) for each in (is_pos, found)]
    p = violation_probability(get_constraint("precision >= 0.7"), is_pos, found, weight)
    assert 0.0 < p < 0.1
    assert violation_probability(
        get_constraint("precision >= 0.7"), *more, np.concatenate([weight, np.zeros(20)])
    ) == pytest.approx(p)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684), (1, 29, 0.0009, 0.1776)],
)
def test_exact_limits_as_published(successes, n, low, high):
    """R. Newcombe, Statistics in Medicine 17, 1998, table I: 95 % limits of Clopper and Pearson."""
    for limit, side in ((low, ">="), (high, "<=")):
        tails = []
        for level in (limit - 6e-5, limit + 6e-5):
            constraint = get_constraint(f"precision {side} {min(max(level, 0.0), 1.0)}") if side == ">=" else None
            constraint = constraint or Constraint(Precision(), "<=", level)
            tails.append(violation_probability(constraint, *counted(constraint, n, successes)))
        if successes or side == "<=":
            assert min(tails) <= 0.025 <= max(tails)


def test_nothing_after_the_first_failure_is_taken():
    """Four cuts; the samples speak against the second, and for the third and fourth."""
    is_pos = np.repeat([True, False], 50)
    aim = Constrained(get_metric("recall"), get_constraint("precision >= 0.8"))
    samples = ScoredSamples(is_pos, np.repeat([4, 3, 2, 3, 0], [20, 5, 25, 5, 45]))
    p = [violation_probability(aim.constraint, is_pos, samples.score >= cut) for cut in (3.5, 2.5, 1.5)]
    assert [one <= 0.1 for one in p] == [True, False, True]
    test = certify(samples, aim, 0.9)
    assert (test.holds, test.threshold, test.n_tested, test.error) == (True, 3.5, 2, pytest.approx(p[0]))
    assert (test.rates, test.rows) == ({"precision": 1.0}, "given scores")
    assert not certify(samples, aim, 0.99).holds


@pytest.mark.parametrize(
    ("p_values", "run"),
    [
        ([0.01, 0.03, 0.2, 0.01], (1, 0.03, 3, True)),
        ([0.01, 0.03], (1, 0.03, 2, True)),
        ([0.3, 0.01], (0, 0.3, 1, False)),
    ],
)
def test_tests_in_order_end_at_the_first_that_fails(p_values, run):
    assert run_in_order([partial(float, p) for p in p_values], 0.05) == run


def test_decisions_about_samples_of_weight_0_do_not_count():
    weight = np.array([1.0, 0.0, 2.0])
    samples = ScoredSamples(np.array([True, False, False]), np.zeros(3), weight)
    counted = Decisions(samples, [np.array([True, True, False]), np.array([False, True, True])]).counted()
    assert [answers.tolist() for answers in counted.predicted] == [[True, False], [False, True]]
    assert counted.samples.weight.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("demand", "wrong", "n"), [("recall >= 0.8", "pos", 80), ("fpr <= 0.2", "neg", 120)])
def test_a_rate_of_given_scores_ends_at_an_order_statistic(demand, wrong, n):
    """The largest number of errors among all of a class whose binomial tail is within the error, and no fewer."""
    rng = np.random.default_rng(0)
    is_pos = np.arange(200) < 80
    score = rng.normal(size=200) + is_pos
    metric = "specificity" if wrong == "pos" else "recall"
    test = certify(ScoredSamples(is_pos, score), Constrained(get_metric(metric), get_constraint(demand)), 0.9)
    errors = (score < test.threshold) & is_pos if wrong == "pos" else (score >= test.threshold) & ~is_pos
    most = int(binom.ppf(0.1, n, 0.2)) - int(binom.cdf(binom.ppf(0.1, n, 0.2), n, 0.2) > 0.1)
    assert errors.sum() == most


@pytest.mark.parametrize(
    "demand", ["recall >= 0.8", "precision >= 0.6", "f1 >= 0.5", "recall >= 0.6, precision >= 0.3"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_paths_of_given_scores_do_not_read_labels(demand, weighted):
    """What is tested up to the first failure does not change where labels behind it do."""
    rng = np.random.default_rng(1)
    is_pos = rng.random(600) < 0.2
    score, weight = rng.normal(size=600) + 2 * is_pos, np.exp(0.3 * rng.normal(size=600)) if weighted else None
    known = None if weight is None else ClassWeights.of(np.arange(600) < 300, weight)
    demands = demands_of(get_constraint(demand), known)
    drawn = [ScorePaths(ScoredSamples(each, score, weight), demands, 0.1) for each in (is_pos, ~is_pos)]
    for where, family in ((_where(one.gains)[0], [place]) for place, one in enumerate(demands)):
        paths = [each._paths(where, family, get_metric("f1")) for each in drawn]
        for one, other in zip(*paths, strict=True):
            np.testing.assert_array_equal(one, other)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(["recall >= 0.7", "fpr <= 0.2", "precision >= 0.5", "f1 >= 0.4"]))
def test_rising_scores_and_copies_of_folds_change_no_certificate(seed, demand):
    """Only the order of scores counts; folds that are repeated alike say everything twice."""
    rng = np.random.default_rng(seed)
    is_pos = rng.random(300) < 0.3
    score = np.round(rng.normal(size=300) + 1.5 * is_pos, 1)
    aim = Constrained(get_metric("accuracy"), get_constraint(demand))
    one = certify(ScoredSamples(is_pos, score), aim, 0.9)
    rising = certify(ScoredSamples(is_pos, np.exp(score)), aim, 0.9)
    twice = certify(ScoredSamples(np.tile(is_pos, 2), np.tile(score, 2), repeats=2.0), aim, 0.9)
    assert (one.holds, one.n_tested, one.error) == (rising.holds, rising.n_tested, rising.error)
    assert (one.holds, one.threshold, one.n_samples) == (twice.holds, twice.threshold, twice.n_samples)


def test_the_rates_are_those_of_what_the_threshold_finds():
    """Of 50 positives 20 are found, of which 5 are taken for another class; of 50 negatives 5."""
    is_pos, at = np.repeat([True, False], 50), np.arange(100)
    score = np.where((at < 20) | (at >= 95), 1.0, 0.0)
    aim = Constrained(get_metric("recall"), get_constraint("precision >= 0.2, fpr <= 0.3"))
    test = certify(ScoredSamples(is_pos, score, None, at < 5), aim, 0.9)
    assert test.holds
    assert test.rates == pytest.approx({"precision": 15 / 20, "fpr": 5 / 50})


def test_weights_of_a_class_are_no_reason_to_sign():
    """Negatives that stand for 20 each: the weighted rate on all data holds as often as promised."""
    broken, held, aim = [], [], Constrained(get_metric("recall"), get_constraint("precision >= 0.7"))
    for seed in range(60):
        rng = np.random.default_rng(seed)
        is_pos = rng.random(4000) < 0.5
        score, weight = rng.normal(size=4000) + 2.5 * is_pos, np.where(is_pos, 1.0, 20.0)
        parts = (ScoredSamples(is_pos[at], score[at], weight[at]) for at in (slice(2800), slice(2800, None)))
        searched, tested = parts
        found = certify(tested, aim, 0.8, searched)
        tp, fp = norm.sf(found.threshold - 2.5), 20.0 * norm.sf(found.threshold)
        held.append(found.holds)
        broken.append(found.holds and tp / (tp + fp) < 0.7)
    assert np.mean(broken) <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 60)
    assert np.mean(held) > 0.6


def test_a_heavy_sample_of_the_searched_part_is_known_to_the_test(data):
    """Weights that are all alike among the calibration samples are not all alike."""
    X, y = data
    searched, _ = train_test_split(np.arange(y.size), test_size=0.3, stratify=y, random_state=0)
    heavy = searched[y[searched] == 0][0]
    search = CostSearch(
        LinearSVC(), "recall", constraint="precision >= 0.7", confidence=0.9, n_trials=2, cv=3, random_state=0
    )
    search.set_params(param_grid=None, threshold="tune")
    errors = {}
    for weight in (1.0, 1.5):
        sample_weight = np.ones(y.size)
        sample_weight[heavy] = weight
        errors[weight] = search.fit(X, y, sample_weight=sample_weight).guarantee_
    assert errors[1.0] == search.set_params().fit(X, y).guarantee_
    assert errors[1.5].error != pytest.approx(errors[1.0].error)


def test_samples_of_weight_0_have_no_say():
    rng = np.random.default_rng(0)
    is_pos, weight = rng.random(2000) < 0.3, np.tile([0.0, 1.0], 1000)
    score, counts = rng.normal(size=2000) + 1.5 * is_pos, weight > 0
    for constraint in ("recall >= 0.8", "precision >= 0.7", "predicted_positive_rate >= 0.3"):
        aim = Constrained(get_metric("accuracy"), get_constraint(constraint))
        half = certify(ScoredSamples(is_pos[counts], score[counts]), aim, 0.9)
        assert_same(certify(ScoredSamples(is_pos, score, weight), aim, 0.9), half)


@pytest.mark.parametrize(
    ("metric", "constraint", "rate"),
    [
        ("recall", "precision >= 0.7", lambda t: 0.2 * norm.sf(t - 2) / (0.2 * norm.sf(t - 2) + 0.8 * norm.sf(t))),
        ("recall", "fpr <= 0.05", norm.sf),
        ("recall", "predicted_positive_rate <= 0.2", lambda t: 0.2 * norm.sf(t - 2) + 0.8 * norm.sf(t)),
        ("specificity", "recall >= 0.8", lambda t: norm.sf(t - 2)),
    ],
)
def test_violations_are_rarer_than_the_error(metric, constraint, rate):
    aim, broken, passed = Constrained(get_metric(metric), get_constraint(constraint)), [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        is_pos = rng.random(2000) < 0.2
        score = rng.normal(size=2000) + 2.0 * is_pos
        found = certify(
            ScoredSamples(is_pos[:1400], score[:1400]), aim, 0.8, ScoredSamples(is_pos[1400:], score[1400:])
        )
        margin = (rate(found.threshold) - aim.constraint.level) * (1 if aim.constraint.side == ">=" else -1)
        broken.append(found.holds and margin < 0)
        passed.append(found.holds)
    assert np.mean(broken) <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 60)
    assert np.mean(passed) > 0.9


@pytest.mark.parametrize("constraint", ["precision >= 0.7", "precision >= 0.7, fpr <= 0.1"])
def test_a_search_that_signs(data, constraint):
    search = paper_search(LinearSVC(), "recall", constraint=constraint, confidence=0.9, n_trials=3, random_state=0)
    search.fit(*data)
    assert search.feasible_
    assert search.guarantee_.holds
    assert search.guarantee_.error <= 0.1 + 1e-12
    assert search.guarantee_.n_samples == 450
    assert search.best_threshold_ == search.guarantee_.threshold
    assert search.held_out_.n_samples == 1050
    assert "holds with confidence 0.9" in str(search.guarantee_)
    assert search.corrected_score_ == pytest.approx(search.best_score_, abs=1e-6)
    plain = paper_search(LinearSVC(), "recall", constraint=constraint, n_trials=3).fit(*data)
    assert not hasattr(plain, "guarantee_")
    assert search.best_score_ < plain.best_score_


def test_where_nothing_passes_it_says_what_is_missing(data):
    search = paper_search(LinearSVC(), "recall", constraint="precision >= 0.99", confidence=0.99, n_trials=3)
    with pytest.warns(UserWarning, match="no threshold certifies precision >= 0.99"):
        search.set_params(random_state=0).fit(*data)
    assert not search.feasible_
    assert not search.guarantee_.holds


def test_how_many_positives_would_be_needed():
    rng = np.random.default_rng(0)
    is_pos = rng.random(400) < 0.1
    score = rng.normal(size=400) + 2.0 * is_pos
    aim = Constrained(get_metric("recall"), get_constraint("recall >= 0.75"))
    few = certify(ScoredSamples(is_pos[:60], score[:60]), aim, 0.95, ScoredSamples(is_pos, score))
    assert not few.holds
    assert few.needed > is_pos[:60].sum()
    assert f"about {few.needed} positives" in str(few)
    unlucky = replace(few, needed=few.n_positives)
    assert "so many would be enough" in str(unlucky)
    never = Constrained(get_metric("recall"), get_constraint("precision >= 1"))
    none = certify(ScoredSamples(is_pos[:60], score[:60]), never, 0.95, ScoredSamples(is_pos, score))
    assert none.needed is None
    assert "more samples would not help" in str(none)


def test_prefit_models_and_several_classes(data):
    X, y = data
    model = LogisticRegression().fit(X[:500], y[:500])
    options = {"constraint": "fpr <= 0.2", "confidence": 0.9, "random_state": 0}
    search = paper_search(model, "recall", cv="prefit", **options).fit(X[500:], y[500:])
    assert search.guarantee_.holds
    several = np.where((y == 1) & (X[:, 0] > 0), 2, y)
    base = OneVsRestClassifier(LinearSVC())
    search = paper_search(base, "recall", null_class=0, n_trials=2, cv=3, **options).fit(X, several)
    assert search.guarantee_.holds


def test_one_positive_and_ties_are_no_trouble():
    X = np.repeat(np.arange(20.0), 10)[:, None]
    y = (X[:, 0] >= 18).astype(int)
    search = paper_search(LinearSVC(), "recall", constraint="fpr <= 0.3", confidence=0.8, cv=3, n_trials=2)
    assert search.set_params(random_state=0).fit(X, y).guarantee_.n_positives == 6
    y[:] = np.arange(200) >= 199
    with pytest.raises(ValueError, match=r"calibration=0.3 of 200 samples cannot be held out"):
        search.fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constraint": None}, "needs a constraint"),
        ({"threshold": None}, "needs a threshold, 'stable' or 'tune'"),
        ({"refit": False}, "needs refit=True"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"calibration": 0.0}, "calibration must be"),
        ({"cv": list(KFold(3).split(np.zeros(1500)))}, "cv cannot be a fixed list of splits"),
    ],
)
def test_what_does_not_go_together_is_refused(data, options, message):
    search = paper_search(LinearSVC(), **({"constraint": "fpr <= 0.1", "confidence": 0.9} | options))
    with pytest.raises(ValueError, match=message):
        search.fit(*data)


def test_of_labels_that_share_a_threshold_no_single_one_is_certified(data):
    X, y = data
    labels = CostSearch(LinearSVC(), "f1_micro", constraint="fpr[0] <= 0.1", confidence=0.9)
    with pytest.raises(ValueError, match="all labels share a threshold"):
        labels.fit(X, np.column_stack([y, 1 - y]))


class Blocked(LinearSVC):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("nothing is to be trained")


class MyPrecision(Precision):
    pass


class FalseDiscoveryRate(Rate):
    ones, zeros = ("fp",), ("tp",)


def test_a_rate_of_ones_own_says_what_it_counts():
    found = (np.arange(100) >= 5) & (np.arange(100) < 45)
    known = violation_probability(get_constraint("precision >= 0.7"), IS_POS, found)
    for rate, side, level in ((MyPrecision(), ">=", 0.7), (FalseDiscoveryRate(), "<=", 0.3)):
        assert violation_probability(Constraint(rate, side, level), IS_POS, found) == pytest.approx(known)


def test_a_search_takes_rates_of_ones_own_and_refuses_what_is_none_before_it_trains(data):
    options = {"confidence": 0.9, "cv": 3, "n_trials": 2, "random_state": 0}
    own, known = (
        paper_search(LinearSVC(), "recall", constraint=constraint, **options).fit(*data).guarantee_
        for constraint in (Constraint(MyPrecision(), ">=", 0.5), "precision >= 0.5")
    )
    assert own == known
    search = paper_search(Blocked(), "recall", constraint=Constraint(BalancedAccuracy(), ">=", 0.5), **options)
    with pytest.raises(
        ValueError, match=r"balanced_accuracy >= 0.5 cannot be certified.* Constrain one of .*precision, .*confidence"
    ):
        search.fit(*data)


F1_AND_OTHERS = [
    ("f1 >= 0.6", binom.sf(34, 45, 0.6 / 1.4)),  # 35 are right of 45 that are positive or found
    ("jaccard >= 0.7", binom.sf(34, 45, 0.7)),
    ("accuracy >= 0.8", binom.sf(89, 100, 0.8)),
]


@pytest.mark.parametrize(("constraint", "expected"), F1_AND_OTHERS)
def test_f1_is_a_share_and_has_a_tail(constraint, expected):
    found = (np.arange(100) >= 5) & (np.arange(100) < 45)
    assert violation_probability(get_constraint(constraint), IS_POS, found) == pytest.approx(expected)
    # three of weight 2 are three of weight 1, for errors of both kinds alike
    assert violation_probability(get_constraint(constraint), IS_POS, found, np.full(100, 2.0)) == pytest.approx(
        expected
    )


def test_a_mean_cost_of_two_equal_costs_is_a_share():
    found = (np.arange(100) >= 5) & (np.arange(100) < 45)
    cost = Constraint(MeanCost(3.0, 3.0), "<=", 0.6)
    assert violation_probability(cost, IS_POS, found) == pytest.approx(binom.sf(89, 100, 0.8))


@pytest.mark.parametrize(
    ("constraint", "cells"),
    [
        # chances of tp, fn and fp at the border
        (get_constraint("f2 >= 0.5"), (0.2, 0.2, 0.2)),
        (get_constraint("f0.5 >= 0.5"), (0.2, 0.4, 0.15)),
        (Constraint(MeanCost(5.0, 1.0), "<=", 0.8), (0.2, 0.1, 0.3)),
    ],
)
def test_all_outcomes_where_three_amounts_count(constraint, cells):
    """Bets are at least as rare as they say at the border, also with a stake that was chosen before."""
    n, (tp, fn, fp) = 9, cells
    assert constraint.quantity.value(fn, fp, pos=tp + fn) == pytest.approx(constraint.level)
    chance, is_pos, found = (*cells, 1.0 - sum(cells)), np.array([1, 1, 0, 0]) > 0, np.array([1, 0, 1, 0]) > 0
    for sizes in (None, np.array([0.5])):
        p, probability = [], []
        for drawn in combinations_with_replacement(range(4), n):
            at = np.array(drawn)
            p.append(violation_probability(constraint, is_pos[at], found[at], sizes=sizes))
            probability.append(multinomial.pmf(np.bincount(at, minlength=4), n, chance))
        assert_as_rare_as_it_says(p, probability, exact=False)
        assert min(p) < 0.5


@pytest.mark.parametrize(
    "constraint", ["f1 >= 0.5", "jaccard >= 0.3", "f2 >= 0.5", Constraint(MeanCost(3.0), "<=", 0.5)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_search_signs_f1_and_others(data, constraint, weighted):
    X, y = data
    weight = np.random.default_rng(0).exponential(size=y.size) if weighted else None
    options = {"constraint": constraint, "confidence": 0.9, "cv": 3, "n_trials": 2, "random_state": 0}
    search = paper_search(LinearSVC(), "precision", **options).fit(X, y, sample_weight=weight)
    guarantee = search.guarantee_
    assert guarantee.holds
    (name, value), (part,) = next(iter(guarantee.rates.items())), get_constraint(constraint).parts
    assert name == part.quantity.name
    assert value > part.level if part.side == ">=" else value < part.level


@pytest.mark.slow
def test_lognormal_weights_are_signed_more_often_by_stakes_of_the_searched_samples():
    """In most draws, and false ones stay rare."""
    constraint = get_constraint("precision >= 0.7")
    aim, signed, false = Constrained(get_metric("recall"), constraint), [], []

    def draw(rng, n):
        is_pos = rng.random(n) < 0.3
        side = rng.normal(size=n)
        score = rng.normal(size=n) + 2.5 * is_pos
        return ScoredSamples(is_pos, score, np.exp(0.7 * rng.normal(size=n) + 0.4 * side))

    whole = draw(np.random.default_rng(1), 60_000)
    for seed in range(200):
        rng = np.random.default_rng([seed, 3])
        test = certify(draw(rng, 840), aim, 0.9, draw(rng, 360))
        found = whole.predicted(test.threshold)
        precision = whole.weight[found & whole.is_pos].sum() / whole.weight[found].sum()
        signed.append(test.holds)
        false.append(test.holds and precision < 0.7)
    assert np.mean(signed) > 0.5
    assert np.mean(false) <= 0.1 + 2.0 * np.sqrt(0.1 * 0.9 / 200)


def test_a_score_at_the_threshold_is_predicted_positive():
    samples = ScoredSamples(np.array([True, False, True]), np.array([0.2, 0.5, 0.7]))
    assert samples.predicted(0.5).tolist() == [False, True, True]
    lost = replace(samples, lost=np.array([False, False, True]))
    assert lost.predicted(0.5).tolist() == [False, True, False]


def test_a_path_of_bets_starts_where_they_can_win_what_a_heavy_sample_takes():
    """The twenty largest scores are not enough where the heaviest of 9000 weighs as much."""
    rng = np.random.default_rng(0)
    is_pos = rng.random(9000) < 0.05
    score, weight = rng.normal(size=9000) + 2.5 * is_pos, np.exp(0.8 * rng.normal(size=9000))
    aim = Constrained(get_metric("recall"), get_constraint("precision >= 0.5"))
    test = certify(ScoredSamples(is_pos, score, weight), aim, 0.9)
    assert test.holds
    assert norm.sf(test.threshold - 2.5) > 0.7


@pytest.mark.parametrize(
    ("demand", "metric", "n_paths"),
    [
        ("recall >= 0.8", "specificity", 1),
        ("precision >= 0.4, fpr <= 0.5", "recall", 1),
        ("recall >= 0.8, fpr <= 0.5", "specificity", 2),
        ("f1 >= 0.45", "precision", 3),
        ("f1 >= 0.45", "f1", 6),
    ],
)
def test_paths_of_given_scores_share_the_error(demand, metric, n_paths):
    """Of many samples some best threshold has a p-value just within the share of its path."""
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        is_pos = rng.random(1500) < 0.2
        samples = ScoredSamples(is_pos, rng.normal(size=1500) + 1.5 * is_pos)
        test = certify(samples, Constrained(get_metric(metric), get_constraint(demand)), 0.9)
        errors.append(test.error if test.holds else 0.0)
    assert max(errors) <= 0.1 / n_paths
    assert n_paths == 6 or max(errors) > 0.05 / n_paths


def test_the_best_of_many_thresholds_is_among_those_that_say_how_many_samples_would_do():
    """Three of ten thousand thresholds are good, at one end of them."""
    rng = np.random.default_rng(0)
    is_pos, score = np.arange(10_000) < 30, rng.random(10_000)
    score[:30] += 1.0
    score[30:33] = 1.0 + rng.random(3)
    test = certify(ScoredSamples(is_pos, score), Constrained(get_metric("f1"), get_constraint("recall >= 0.5")), 0.9)
    assert test.holds
    assert test.needed is None or test.needed > 0


def test_the_steps_of_a_test_end_with_the_demand_itself():
    assert (np.diff(STRICTER) < 0.0).all()
    assert 0.0 == STRICTER[-1] < STRICTER[0] < 1.0
