"""Counts in bins are exact, and the cut by counts is the cut of the sweep over all scores, in a few passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csf.distributed import MemoryScores, PartScores, counted_cut, own_decision
from csf.distributed.counts import Bins, add_bins, count_bins, count_distinct, unite_bins
from csf.metrics import METRICS, Constrained, FBeta, Metric, get_constraint, get_metric
from csf.metrics.profile import ErrorProfile
from csf.thresholding import sweep

INF = np.inf
SCORES = st.sampled_from([-INF, -1e300, -2.5, -0.0, 0.0, 5e-324, 1e-9, 0.3, np.nextafter(0.3, 1), 1.0, 7.0, 1e300, INF])
# Sums of these are exact, so that equal values are equal however they are added up.
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0])
CONSTRAINTS = [None, "precision >= 0.6", "fpr <= 0.3", "predicted_positive_rate <= 0.2", "recall >= 0.9"]
# One edge a class and nothing listed but single scores: everything is left to the search for finer bins.
SIZES = [(1, 1), (2, 5), (50, 1000)]


@st.composite
def samples(draw):
    rows = draw(st.lists(st.tuples(st.booleans(), SCORES, WEIGHTS), max_size=40))
    rows += [(True, draw(SCORES), 1.0), (False, draw(SCORES), 1.0)]
    is_pos, score, weight = zip(*draw(st.permutations(rows)), strict=True)
    return np.array(is_pos), np.array(score), np.array(weight)


def parted(is_pos, score, weight=None, *, n_parts=1, n_folds=1, own_cut=0.0):
    """The same samples in parts, with folds in turns."""
    folds = np.arange(score.size) % n_folds
    parts = np.array_split(np.arange(score.size), n_parts)
    pick = [PartScores(score[at], is_pos[at], None if weight is None else weight[at], folds[at]) for at in parts]
    return MemoryScores(pick, n_folds, own_cut)


def aim(metric, constraint):
    metric = get_metric(metric)
    return metric if constraint is None else Constrained(metric, get_constraint(constraint))


def check_equal(found, curve, metric):
    best = curve.best(metric, metric.constraint)
    assert found.cut.threshold == best.threshold
    assert found.cut.profile == best.profile
    assert (found.cut.value, found.cut.feasible) == (best.value, best.feasible)


@pytest.mark.parametrize("metric", METRICS)
@given(samples(), st.sampled_from(SIZES), st.integers(1, 4), st.sampled_from(CONSTRAINTS))
@settings(max_examples=40)
def test_the_cut_is_that_of_the_sweep(metric, data, sizes, n_parts, constraint):
    metric = aim(metric, constraint)
    scores = parted(*data, n_parts=n_parts, n_folds=2)
    found = counted_cut(scores, metric, n_edges=sizes[0], n_listed=sizes[1])
    check_equal(found, sweep(*data), metric)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("metric", ["f1", "gmean", "jaccard", "recall", "mcc", "accuracy"])
@pytest.mark.parametrize("shape", ["normal", "heavy tails", "rounded", "probabilities", "weights"])
def test_four_passes_do(shape, metric, constraint):
    rng = np.random.default_rng(0)
    n = 60_000
    is_pos = rng.random(n) < 0.04
    score = rng.normal(size=n) + 1.5 * is_pos
    weight = None
    if shape == "heavy tails":
        score = np.sinh(8 * score)
    elif shape == "rounded":
        score = np.round(score, 2)
    elif shape == "probabilities":
        score = 1 / (1 + np.exp(-6 * score))
    elif shape == "weights":
        weight = rng.integers(0, 5, n) / 4
    metric = aim(metric, constraint)
    found = counted_cut(parted(is_pos, score, weight, n_parts=3), metric, n_edges=200, n_listed=3000)
    whole = sweep(is_pos, score, weight)
    check_equal(found, whole, metric)
    # All cuts between bins are known exactly.
    at = whole.cuts_at(found.curve.lowest_score)
    np.testing.assert_allclose([found.curve.fn, found.curve.fp], [whole.fn[at], whole.fp[at]], rtol=1e-12, atol=1e-15)
    assert found.n_passes <= 4
    assert found.n_listed <= 3000


class Blind(MemoryScores):
    """Knows nothing of where its scores are, and keeps how many edges are asked for."""

    most_edges = 0

    def quantiles(self, size):
        return np.zeros(0)

    def counts(self, edges):
        self.most_edges = max(self.most_edges, edges.size)
        return super().counts(edges)


@pytest.mark.parametrize(("n_edges", "n_passes"), [(50, 5), (1000, 4)])
@pytest.mark.parametrize("shape", ["even", "beside tiny ones", "of all sizes"])
def test_finer_bins_are_found_wherever_scores_are(shape, n_edges, n_passes):
    """From one bin that holds everything, with about as many edges in a pass as there may be."""
    rng = np.random.default_rng(0)
    rank = rng.random(20_000)
    is_pos = rng.random(20_000) < 1 / (1 + np.exp(-(rank - 0.6) / 0.1))
    score = rank - 0.5
    if shape == "beside tiny ones":
        score = rank - 1.0
        score[:300] = -(10.0 ** -np.arange(1, 301))
    elif shape == "of all sizes":
        score = np.sign(rank - 0.6) * 10.0 ** (500 * np.abs(rank - 0.6) - 250)
    scores = Blind([PartScores(score, is_pos)], own_cut=-INF)
    found = counted_cut(scores, FBeta(), n_edges=n_edges, n_listed=500)
    check_equal(found, sweep(is_pos, score), FBeta())
    assert found.n_passes <= n_passes
    assert scores.most_edges < 6 * n_edges


AIMS = ["f1", "recall", "gmean", "accuracy", "precision"]
HARD = ["precision >= 0.95", "precision >= 0.6", "recall >= 0.999", "fpr <= 0.001", "fnr <= 0.01", "tnr >= 0.99"]


# Where the smallest violation, or the largest value of those that violate no more, lies inside a bin of worse ends.
@pytest.mark.parametrize("seed", [166, 304, 367, 379, 163, 621, 747, 759])
def test_the_smallest_violation_comes_before_the_largest_value(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    is_pos = rng.random(n) < rng.choice([0.05, 0.1, 0.3])
    is_pos[:2] = [True, False]
    score = rng.normal(size=n) + rng.choice([-1, -0.5, 0, 1]) * is_pos
    score = np.round(score, int(rng.integers(1, 4)))
    metric = aim(str(rng.choice(AIMS)), str(rng.choice(HARD)))
    for n_edges, n_listed in ((1, 1), (2, 5), (4, 1)):
        found = counted_cut(parted(is_pos, score), metric, n_edges=n_edges, n_listed=n_listed)
        check_equal(found, sweep(is_pos, score), metric)


def test_weights_that_do_not_add_up_exactly_change_the_last_digits_at_most():
    rng = np.random.default_rng(1)
    for _ in range(20):
        is_pos, score, weight = rng.random(5000) < 0.2, rng.normal(size=5000).round(2), rng.exponential(size=5000)
        score += is_pos
        found = counted_cut(parted(is_pos, score, weight, n_parts=7), FBeta(), n_edges=20, n_listed=100)
        best = sweep(is_pos, score, weight).best("f1")
        assert found.cut.threshold == best.threshold
        assert found.cut.value == pytest.approx(best.value, rel=1e-13)


def test_each_fold_is_judged_at_the_common_cut():
    rng = np.random.default_rng(2)
    is_pos, weight = rng.random(4000) < 0.3, rng.integers(1, 4, 4000) / 2
    score = rng.normal(size=4000) + is_pos
    found = counted_cut(parted(is_pos, score, weight, n_parts=3, n_folds=4), FBeta(), n_edges=30, n_listed=500)
    assert len(found.fold_profiles) == 4
    for k, profile in enumerate(found.fold_profiles):
        at = np.arange(4000) % 4 == k
        predicted = score[at] >= found.cut.threshold
        assert profile == ErrorProfile.from_masks(is_pos[at], predicted, sample_weight=weight[at])


@pytest.mark.parametrize("own_cut", [0.0, 0.5, np.nextafter(0.3, 1)])
def test_the_own_decision_needs_one_pass(own_cut):
    rng = np.random.default_rng(3)
    is_pos = rng.random(1000) < 0.3
    score = np.round(rng.normal(size=1000) + is_pos, 1)
    expected = ErrorProfile.from_masks(is_pos, score >= own_cut)
    scores = parted(is_pos, score, n_parts=2, own_cut=own_cut)
    found = own_decision(scores)
    assert (found.own, found.n_passes, found.cut) == (expected, 1, None)
    assert counted_cut(scores, FBeta(), n_edges=7).own == expected


def test_scores_that_are_none_and_one_class_alone_are_errors():
    with pytest.raises(ValueError, match="NaN scores"):
        counted_cut(parted(np.array([True, False, True]), np.array([0.1, np.nan, 0.3])), FBeta())
    with pytest.raises(ValueError, match=r"the held-out part gives the positive class 2 and the negative class 0"):
        counted_cut(parted(np.array([True, True]), np.array([0.1, 0.3])), FBeta())


def test_a_metric_of_ones_own_that_only_falls():
    class Youden(Metric):
        def value(self, fn, fp, *, pos):
            return 1 - fn / pos - fp / (1 - pos)

    rng = np.random.default_rng(6)
    is_pos = rng.random(5000) < 0.2
    score = rng.normal(size=5000) + is_pos
    check_equal(counted_cut(parted(is_pos, score), Youden(), n_edges=40, n_listed=50), sweep(is_pos, score), Youden())


@pytest.mark.parametrize("sizes", SIZES)
def test_a_bin_is_looked_into_where_the_metric_says_nothing_of_one_of_its_ends(sizes):
    """Where nothing is found there is no precision, and the best cut lies in the bin that begins there."""

    class Precise(Metric):
        """Precision, and of equal ones the larger recall."""

        def value(self, fn, fp, *, pos):
            found = np.asarray(pos - fn, dtype=float)
            with np.errstate(invalid="ignore"):
                return np.where(found + fp > 0, found / (found + fp) + 0.01 * found / pos, np.nan)

    score = np.r_[3.0, 2.9, 2.8, 2.7, np.linspace(2.0, -2.0, 60)]
    is_pos = np.r_[[True] * 3, [False] * 3, np.arange(58) % 3 == 0]
    found = counted_cut(parted(is_pos, score), Precise(), n_edges=sizes[0], n_listed=sizes[1])
    assert found.cut.threshold == 2.75
    assert found.cut.profile.fp == 0.0


@pytest.mark.parametrize("sizes", SIZES)
def test_a_smaller_violation_is_looked_for_where_values_are_small(sizes):
    """Infinite scores that are always found keep precision below 0.6; the cut closest to it has a small recall."""
    score = np.r_[[INF] * 11, 9, 8.5, 8, np.linspace(7, 5, 20), [1] * 5]
    is_pos = np.r_[[1], [0] * 10, [1] * 3, [0] * 20, [1] * 5].astype(bool)
    metric = aim("recall", "precision >= 0.6")
    found = counted_cut(parted(is_pos, score, own_cut=5.0), metric, n_edges=sizes[0], n_listed=sizes[1])
    assert found.cut.threshold == 7.5
    check_equal(found, sweep(is_pos, score), metric)


# ---------------------------------------------------------------- bins


def test_many_light_parts_beside_a_heavy_one_keep_their_weight():
    """Plain sums of 2^53 and ones stay where they are."""
    weights = [2.0**53, *[1.0] * 10]
    parts = [Bins(np.zeros(1), np.ones(1), np.ones((1, 2), dtype=np.int64), np.full((1, 2), w), None) for w in weights]
    total = add_bins(parts)
    assert total.rows.tolist() == [[11, 11]]
    assert (total.weight - 2.0**53 + total.rest).tolist() == [[10.0, 10.0]]


def test_light_samples_beside_a_heavy_one_keep_their_weight():
    """Within one part too, before and after the heavy one."""
    weight = np.r_[1.0, 2.0**53, [1.0] * 9]
    score, is_pos = np.zeros(11), np.ones(11, dtype=bool)
    bins = count_bins(score, is_pos, weight, None, np.zeros(0))
    assert (bins.weight - 2.0**53 + bins.rest)[0, 1].tolist() == [10.0]
    at_each_score = unite_bins([count_distinct(score, is_pos, weight, None, np.zeros(1), np.zeros(1))] * 2)
    assert (at_each_score.weight - 2.0**54 + at_each_score.rest)[0, 1].tolist() == [20.0]


def test_each_sample_is_counted_once_where_it_belongs():
    rng = np.random.default_rng(0)
    n, edges = 300, np.array([-1.0, 0.0, 0.25, 7.0])
    score, is_pos, fold = rng.normal(size=n).round(2), rng.random(n) < 0.3, rng.integers(0, 3, n)
    weight = rng.integers(0, 4, n) / 2
    bins = count_bins(score, is_pos, weight, fold, edges, n_folds=3)
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    for k in range(5):
        inside = (ends[k] <= score) & (score < ends[k + 1]) & (weight > 0)
        assert bins.rows[k] == np.count_nonzero(inside)
        assert bins.lowest[k] == score[inside].min(initial=np.inf)
        assert bins.highest[k] == score[inside].max(initial=-np.inf)
        sums = [[weight[inside & (fold == f) & (is_pos == c)].sum() for c in (False, True)] for f in range(3)]
        assert bins.weight[..., k].tolist() == sums


@pytest.mark.parametrize("part_sizes", [[1000], [100, 200], [200, 100], [40, 60, 900], [1000] * 4])
@pytest.mark.parametrize("size", [2, 5, 100])
def test_quantiles_are_near_the_middles_of_equal_shares_in_whatever_parts(part_sizes, size):
    n = sum(part_sizes)
    parts = np.split(np.arange(n), np.cumsum(part_sizes)[:-1])
    # The score of each sample is its rank.
    scores = MemoryScores([PartScores(at.astype(float), np.zeros(at.size, dtype=bool)) for at in parts])
    middles = (np.arange(size) + 0.5) * n / size
    assert np.abs(scores.quantiles(size) - middles).max() < 0.48 * n / size
