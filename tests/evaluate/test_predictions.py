"""Intervals of predicted labels and of the difference between two methods."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.metrics import f1_score

import csf
from csf.evaluate.predictions import Difference
from csf.metrics import get_metric

RNG = np.random.default_rng(0)
Y = np.arange(600) < 120
A = np.where(Y, RNG.random(600) < 0.8, RNG.random(600) < 0.05)
B = np.where(Y, RNG.random(600) < 0.5, RNG.random(600) < 0.05)
SHARES = ["f1", "jaccard", "precision", "recall", "specificity", "accuracy"]
OTHERS = ["f2", "gmean", "mcc", "balanced_accuracy", "f1_macro"]


def inside(interval, value):
    return interval[0] <= value <= interval[1]


@pytest.mark.parametrize("metric", SHARES + OTHERS)
@pytest.mark.parametrize("options", [{}, {"groups": np.arange(600) // 6}, {"sample_weight": RNG.gamma(2.0, size=600)}])
def test_the_value_lies_inside_and_higher_levels_are_wider(metric, options):
    weight = options.get("sample_weight")
    value = get_metric(metric).score(Y, A, sample_weight=weight)
    narrow, wide = (csf.interval(Y, A, metric, level=level, **options) for level in (0.5, 0.95))
    assert inside(narrow, value)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert csf.interval(Y, A, metric, **options) == csf.interval(Y, A, metric, **options)


def test_a_share_has_jeffreys_interval():
    found, right = A.sum(), (A & Y).sum()
    low, high = csf.interval(Y, A, "precision")
    assert low == pytest.approx(beta.ppf(0.05, right + 0.5, found - right + 0.5))
    assert high == pytest.approx(beta.ppf(0.95, right + 0.5, found - right + 0.5))


def test_functions_are_metrics_too():
    assert csf.interval(Y, A, f1_score) == csf.interval(Y, A, "f1")


@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_whole_weights_are_rows(metric):
    weight = np.random.default_rng(1).integers(0, 4, 600)
    rows = np.repeat(np.arange(600), weight)
    assert csf.interval(Y, A, metric, sample_weight=weight) == csf.interval(Y[rows], A[rows], metric)


@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_the_order_of_rows_does_not_matter(metric):
    order = np.random.default_rng(1).permutation(600)
    assert csf.interval(Y[order], A[order], metric) == csf.interval(Y, A, metric)


@pytest.mark.parametrize("metric", ["f1", "gmean", "accuracy"])
def test_copies_of_rows_in_groups_tell_no_more_than_the_rows(metric):
    copies = np.repeat(np.arange(600), 8)
    single, alone = csf.interval(Y, A, metric), csf.interval(Y[copies], A[copies], metric)
    grouped = csf.interval(Y[copies], A[copies], metric, groups=copies)
    assert np.diff(grouped) == pytest.approx(np.diff(single), rel=0.1)
    assert np.diff(alone) < 0.5 * np.diff(single)


def test_no_errors_and_nothing_found_have_intervals():
    low, high = csf.interval(Y, Y, "f1")
    assert high == 1.0
    assert 0.95 < low < 1.0
    nothing = np.zeros(600, dtype=bool)
    assert csf.interval(Y, nothing, "precision") == (0.0, 1.0)
    assert csf.interval(Y, nothing, "recall")[0] == 0.0
    assert csf.interval(Y, Y, "gmean")[0] < 1.0
    groups = np.arange(600) // 10
    assert csf.interval(Y, Y, "f1", groups=groups)[0] < low


def test_differences_are_paired():
    found = csf.difference(Y, A, B)
    assert isinstance(found, Difference)
    assert found.value == pytest.approx(f1_score(Y, A) - f1_score(Y, B))
    assert 0.0 < found.low < found.value < found.high
    turned = csf.difference(Y, B, A)
    assert (turned.value, turned.low) == pytest.approx((-found.value, -found.high), abs=0.02)
    near = A.copy()
    near[:2] = ~near[:2]
    close = csf.difference(Y, A, near)
    assert close.high - close.low < 0.3 * np.diff(csf.interval(Y, A))
    same = csf.difference(Y, A, A)
    assert same.low < same.value == 0.0 < same.high


def test_intervals_stay_within_what_a_metric_can_be():
    few = np.arange(600) // 200
    found = csf.difference(Y, Y, ~Y, "f1", groups=few)
    assert (found.low, found.high) == (-1.0, 1.0)
    low, high = csf.interval(Y, A, "f2", groups=few)
    assert 0.0 <= low < high <= 1.0


def test_an_index_in_another_order_is_told():
    with pytest.warns(UserWarning, match="the index of pred is that of y in another order"):
        csf.interval(pd.Series(Y), pd.Series(A).sample(frac=1, random_state=0))


def test_several_classes():
    truth = RNG.choice(["a", "b", "c"], 500, p=[0.7, 0.2, 0.1])
    pred = np.where(RNG.random(500) < 0.7, truth, "a")
    for metric in ("accuracy", "f1_macro", "mcc"):
        low, high = csf.interval(truth, pred, metric)
        assert 0.0 < low < high < 1.0
    assert csf.interval(truth, pred, "accuracy")[0] == pytest.approx(
        beta.ppf(0.05, (truth == pred).sum() + 0.5, (truth != pred).sum() + 0.5)
    )
    assert csf.difference(truth, truth, pred, "f1_macro").low > 0.0


@pytest.mark.parametrize(
    ("given", "options", "what"),
    [
        (RNG.random(600), {}, r"pred contains 0\.\d+, but .* \[False, True\]. Give predicted labels.*csf.decide"),
        (A[:5], {}, "pred must have one label for each of 600 samples"),
        (A, {"metric": "auc"}, "unknown metric 'auc'"),
        (A, {"level": 90}, "level must"),
        (A, {"groups": [1, 2]}, "groups must have one entry for each of 600 samples"),
        (A, {"groups": np.zeros(600)}, "at least two groups"),
        (A, {"sample_weight": -np.ones(600)}, "sample_weight"),
        (A, {"pos_label": "yes"}, "pos_label='yes' is not a label"),
    ],
)
def test_what_cannot_be_used(given, options, what):
    with pytest.raises(ValueError, match=what):
        csf.interval(Y, given, **options)


def test_one_class_and_a_metric_of_two():
    with pytest.raises(ValueError, match="y has one class only"):
        csf.interval(np.ones(10), np.ones(10))
    with pytest.raises(ValueError, match="'f1' is a metric of two classes; for more, write 'f1_macro'"):
        csf.interval([0, 1, 2], [0, 1, 2], "f1")
    with pytest.raises(ValueError, match="pred_b contains 7"):
        csf.difference(Y, A, np.full(600, 7))


def drawn(rng, n_positives, f1, group, spread):
    """Truth and decisions of a population with an F1 score, in groups whose errors go together."""
    n_groups = 8 * n_positives // group
    tilt = np.repeat(spread * rng.normal(size=n_groups), group)
    n = tilt.size
    y = rng.random(n) < 1.0 / (1.0 + 7.0 * np.exp(-0.5 * tilt))
    right = 1.0 / (1.0 + np.exp(-(np.log(f1 / (1.0 - f1)) + tilt)))
    found = np.where(y, rng.random(n) < right, rng.random(n) < (1.0 - right) / 7.0)
    return y, found, np.arange(n) // group


@pytest.mark.slow
@pytest.mark.parametrize(("group", "spread", "least"), [(1, 0.0, 0.86), (10, 0.8, 0.83)])
@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_intervals_cover(group, spread, least, metric):
    rng, held, n = np.random.default_rng(0), 0, 300
    y, found, _ = drawn(rng, 200_000, 0.7, group, spread)
    truth = get_metric(metric).score(y, found)
    for _ in range(n):
        y, found, groups = drawn(rng, 60, 0.7, group, spread)
        held += inside(csf.interval(y, found, metric, groups=groups if group > 1 else None), truth)
    assert held / n >= least
