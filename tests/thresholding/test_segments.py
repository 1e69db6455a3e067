"""Thresholds by segment against all combinations of thresholds, and the exact test of a gap."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

from csf.metrics import FBeta, WeightedAccuracy, get_constraint, get_metric
from csf.metrics.binary import Recall
from csf.metrics.constraints import share_of
from csf.thresholding import segments
from csf.thresholding.pair_tests import excess_probability, expected_violation_of_pairs
from csf.thresholding.row_thresholds import beyond
from csf.thresholding.segments import (
    SegmentCurves,
    Segments,
)

METRICS = (get_metric("f1"), WeightedAccuracy(w_fn=4.0), get_metric("f2"), get_metric("jaccard"))
LEVELS = {
    "recall": ">= 0.5",
    "fpr": "<= 0.2",
    "precision": ">= 0.6",
    "predicted_rate": "<= 0.4",
    "specificity": ">= 0.7",
    "fnr": "<= 0.4",
}


def draw(seed, n_segments):
    """A small problem with ties in the scores, and weights in one of two: all segments have both classes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 10 if n_segments == 3 else 16)) * n_segments
    codes = np.arange(n) % n_segments
    y = (rng.random(n) < 0.4) | (np.arange(n) < n_segments)
    y[n_segments : 2 * n_segments] = False
    score = np.round(rng.normal(size=n) + y, int(rng.integers(0, 3)))
    return y, score, codes, rng.integers(1, 4, n) * 0.5 if seed % 2 else None


def rates_of(y, decided, weight):
    """All rates of a segment, and its weights of false negatives and false positives."""
    tp, fn, fp, tn = (weight @ (a & b) for a, b in itertools.product((y, ~y), (decided, ~decided)))
    rates = {"recall": tp / (tp + fn), "fnr": fn / (tp + fn), "fpr": fp / (fp + tn), "specificity": tn / (fp + tn)}
    rates |= {"precision": tp / (tp + fp) if tp + fp else 0.0, "predicted_rate": (tp + fp) / weight.sum()}
    return rates, fn, fp


def by_brute_force(y, score, codes, weight, name, metric, constraint):
    """The best value over all combinations of thresholds that keep a constraint; ``None`` where none does."""
    weight, options = np.ones(y.size) if weight is None else weight, []
    for code in np.unique(codes):
        at = codes == code
        cuts = [np.inf, *np.unique(score[at])]
        rows = [rates_of(y[at], score[at] >= cut, weight[at]) for cut in cuts]
        options.append([(rates[name], fn, fp) for rates, fn, fp in rows])
    total, best = weight.sum(), None
    for rates, fn, fp in (zip(*each) for each in itertools.product(*options)):
        rates = np.array(rates)
        kept = {
            "gap": np.ptp(rates) <= constraint.level + 1e-9,
            "ratio": rates.min() >= constraint.level * rates.max() - 1e-9,
            "each": not constraint.missing(rates).any(),
        }[constraint.compare]
        if kept:
            value = metric.value(sum(fn) / total, sum(fp) / total, pos=weight @ y / total)
            best = value if best is None else max(best, value)
    return best


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("seed", range(36))
def test_the_best_of_all_combinations(seed, name):
    """On 216 problems of two and three segments."""
    n_segments, metric = 2 + seed % 2, METRICS[seed % len(METRICS)]
    tolerance = (0.0, 0.05, 0.1, 0.3)[seed // 2 % 4]
    ratio = f"{name} ratio >= {(0.0, 0.5, 0.8, 1.0)[seed // 3 % 4]} by s"
    text = (f"{name} {LEVELS[name]} in each s", f"{name} gap <= {tolerance} by s", ratio)[seed % 3]
    y, score, codes, weight = draw(seed, n_segments)
    constraint = get_constraint(text)
    found = SegmentCurves.of(y, score, codes, n_segments, weight).best(metric, constraint)
    best = by_brute_force(y, score, codes, weight, name, metric, constraint)
    assert found.keeps == (best is not None)
    each, decided = np.ones(y.size) if weight is None else weight, score >= found.cuts[codes]
    fn, fp = (each @ wrong / each.sum() for wrong in (y & ~decided, ~y & decided))
    assert metric.value(fn, fp, pos=each @ y / each.sum()) == pytest.approx(found.value)
    if best is not None:
        assert found.value == pytest.approx(best)
        assert found.free >= found.value


def test_few_places_are_enough_to_find_the_best(monkeypatch):
    """Bounds by bins leave out places of many scores, and no better ones."""
    rng, n = np.random.default_rng(0), 30_000
    codes, y = rng.integers(0, 3, n), rng.random(n) < 0.3
    score = rng.normal(size=n) + (0.5 + codes) * y
    curves = SegmentCurves.of(y, score, codes, 3, None)
    constraints = [get_constraint(f"{name} gap <= {level} by s") for name in LEVELS for level in (0.0, 0.03, 0.2)]
    constraints += [get_constraint(f"{name} ratio >= {level} by s") for name in LEVELS for level in (0.8, 0.97)]
    bounded = [curves.best(METRICS[0], constraint).value for constraint in constraints]
    everything = lambda self, worth, least: {k: np.arange(r.size) for k, r in self.rates.items()}  # noqa: E731
    monkeypatch.setattr(segments.SegmentLimits, "_candidates", everything)
    assert bounded == [curves.best(METRICS[0], constraint).value for constraint in constraints]


def test_a_segment_without_the_rate_has_no_limit():
    y, codes = np.array([1, 1, 0, 0, 0, 0]) > 0, np.array([0, 0, 0, 1, 1, 1])
    found = SegmentCurves.of(y, np.array([3.0, 2, 1, 3, 2, 1]), codes, 3, None)
    assert found.best(METRICS[0], get_constraint("recall gap <= 0 by s")).value == 1.0


@given(st.lists(st.floats(width=32), min_size=1, max_size=30), st.floats())
def test_scores_beyond_a_threshold_decide_as_it_does(scores, cut):
    scores = np.array([0.0 if np.isnan(each) else each for each in scores])
    cut = 0.0 if np.isnan(cut) else cut
    np.testing.assert_array_equal(beyond(scores, np.full(scores.size, cut)) >= 0.0, scores >= cut)


# ---------------------------------------------------------------- the test of a gap


def gap(level):
    return get_constraint(f"recall gap <= {level} by s").pair_limit


def ratio(level):
    return get_constraint(f"recall ratio >= {level} by s").pair_limit


@pytest.mark.parametrize("metric", [Recall(), FBeta()], ids=["recall", "f1"])
@pytest.mark.parametrize("limit", [gap(0.2), gap(0.05), ratio(0.8), ratio(0.4)], ids=str)
@pytest.mark.parametrize(("n", "m"), [(12, 7), (5, 20), (15, 15), (9, 1)])
def test_a_false_limit_is_certified_no_more_often_than_promised(n, m, limit, metric):
    """The chance of a small p-value, over all outcomes, at rates that are just at the limit or beyond it."""
    share = share_of(metric)
    p = np.array([[excess_probability((x, n), (y, m), share, limit, 0.2) for y in range(m + 1)] for x in range(n + 1)])
    for low in np.linspace(0.0, limit.excess(1.0, 0.0), 15):
        for high in (limit.largest_beside(low), 0.5 * (limit.largest_beside(low) + 1.0)):
            ones, others = (float(share.share(rate)) for rate in (min(high, 1.0), low))
            chance = np.outer(binom.pmf(np.arange(n + 1), n, ones), binom.pmf(np.arange(m + 1), m, others))
            for error in (0.05, 0.1, 0.2):
                assert chance[p <= error].sum() <= error


@pytest.mark.parametrize("counts", [(4, 5), (3, 7), (2, 8), (1, 3), (6, 6)], ids=str)
def test_the_p_value_is_the_largest_chance_at_rates_that_are_likely(counts):
    """Berger and Boos: rates of the second segment within an interval of a hundredth of the error, which is added."""
    (x, y), n, error, slack = counts, 10, 0.2, 0.1
    low, high = beta.ppf(0.0005 * 2, y, n - y + 1), beta.ppf(1.0 - 0.0005 * 2, y + 1, n - y)
    outcomes = np.arange(n + 1)
    as_far = outcomes[:, None] - outcomes <= x - y + 1e-9
    rates = np.linspace(low, min(high, 1.0 - slack), 4001)
    chances = [binom.pmf(outcomes, n, rate + slack) @ as_far @ binom.pmf(outcomes, n, rate) for rate in rates]
    p = excess_probability((x, n), (y, n), share_of(Recall()), gap(slack), error)
    assert max(chances) + 0.002 - 1e-9 <= p <= max(chances) + 0.03


def test_the_p_value_is_hardly_larger_than_the_normal_one_of_many_rows():
    share = share_of(Recall())
    assert 0.0929 <= excess_probability((4000, 5000), (1600, 2000), share, gap(0.014)) <= 0.12
    # Hoeffding's bound, of rates that are far apart.
    assert excess_probability((40_000, 50_000), (16_000, 20_000), share, gap(0.1)) <= 1e-6
    assert excess_probability((0, 0), (3, 4), share, gap(0.1)) == 1.0


def test_the_p_value_of_a_ratio_is_hardly_larger_than_the_normal_one_of_many_rows():
    share, limit = share_of(Recall()), ratio(0.8)
    # Rates .30 and .26: 0.8 of the first lies two standard errors below the second.
    error = np.sqrt(0.64 * 0.3 * 0.7 / 5000 + 0.26 * 0.74 / 5000)
    normal = norm.sf((0.26 - 0.24) / error)
    assert normal <= excess_probability((1500, 5000), (1300, 5000), share, limit) <= normal + 0.01
    assert excess_probability((0, 500), (0, 500), share, limit) == 1.0
    assert excess_probability((500, 500), (500, 500), share, limit) <= 0.01


@pytest.mark.parametrize("limit", [gap(0.05), ratio(0.8)], ids=str)
@pytest.mark.parametrize("metric", [Recall(), FBeta()], ids=["recall", "f1"])
def test_the_p_value_that_is_expected_is_the_normal_one(metric, limit):
    """That of the rates that were counted, on four times as many rows."""
    share, counts = share_of(metric), np.array([[600, 800], [900, 1250]])
    (expected,) = expected_violation_of_pairs([counts], share, limit, 2050)(4.0 * 2050)
    drawn = np.random.default_rng(0).binomial(4 * counts[:, 1], counts[:, 0] / counts[:, 1], (40_000, 2))
    rates = np.asarray(share.value(drawn / (4 * counts[:, 1])))
    by_draws = [limit.excess(rates[:, first], rates[:, 1 - first]) for first in (0, 1)]
    normal = max(norm.cdf(each.mean() / each.std()) for each in by_draws)
    assert expected == pytest.approx(normal, rel=0.05, abs=2e-3)


# ---------------------------------------------------------------- segments


def test_segments_of_any_kind_of_values():
    X = np.zeros((4, 1))
    for values in (["b", "a", "b", "a"], [2, 1, 2, 1], [True, False, True, False], np.array(["b", 1, "b", 1], object)):
        known = Segments.of("s", X, values)
        np.testing.assert_array_equal(known.codes(X, values), [1, 0, 1, 0])


@settings(max_examples=25)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=40), st.integers(0, 10_000))
def test_a_table_adds_up(codes, seed):
    codes, rng = np.array(codes), np.random.default_rng(seed)
    y, decided = rng.random((2, codes.size)) < 0.5
    table = Segments("s", (0, 1, 2)).table(codes, y, decided, None, get_constraint("fpr gap <= 0.1 by s"))
    for code, row in table.items():
        at = codes == code
        assert row["weight"] == at.sum()
        for name, top, bottom in (("recall", y & decided, y), ("fpr", ~y & decided, ~y)):
            counted = (at & bottom).sum()
            assert row[name] == pytest.approx((at & top).sum() / counted if counted else np.nan, nan_ok=True)
