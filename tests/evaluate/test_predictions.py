"""Intervals of predicted labels and of the difference between two methods."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.metrics import f1_score

import csf
from csf.evaluate.predictions import Difference, Predictions
from csf.metrics import METRICS, CostMatrix, FalseNegativeRate, MeanCost, RowCosts, get_metric
from csf.metrics.constraints import Share

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
    narrow, wide = (csf.metric_interval(Y, A, metric, level=level, **options) for level in (0.5, 0.95))
    assert inside(narrow, value)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert csf.metric_interval(Y, A, metric, **options) == csf.metric_interval(Y, A, metric, **options)


def test_a_share_has_jeffreys_interval_unless_all_or_none_are_right():
    found, right = A.sum(), (A & Y).sum()
    low, high = csf.metric_interval(Y, A, "precision")
    assert low == pytest.approx(beta.ppf(0.05, right + 0.5, found - right + 0.5))
    assert high == pytest.approx(beta.ppf(0.95, right + 0.5, found - right + 0.5))


def test_functions_are_metrics_too():
    assert csf.metric_interval(Y, A, f1_score) == csf.metric_interval(Y, A, "f1")


@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_whole_weights_are_rows(metric):
    weight = np.random.default_rng(1).integers(0, 4, 600)
    rows = np.repeat(np.arange(600), weight)
    assert csf.metric_interval(Y, A, metric, sample_weight=weight) == csf.metric_interval(Y[rows], A[rows], metric)


@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_the_order_of_rows_does_not_matter(metric):
    order = np.random.default_rng(1).permutation(600)
    assert csf.metric_interval(Y[order], A[order], metric) == csf.metric_interval(Y, A, metric)


@pytest.mark.parametrize("metric", ["f1", "gmean", "accuracy"])
def test_copies_of_rows_in_groups_tell_no_more_than_the_rows(metric):
    copies = np.repeat(np.arange(600), 8)
    single, alone = csf.metric_interval(Y, A, metric), csf.metric_interval(Y[copies], A[copies], metric)
    grouped = csf.metric_interval(Y[copies], A[copies], metric, groups=copies)
    assert np.diff(grouped) == pytest.approx(np.diff(single), rel=0.1)
    assert np.diff(alone) < 0.5 * np.diff(single)


def test_no_errors_and_nothing_found_have_intervals():
    low, high = csf.metric_interval(Y, Y, "f1")
    assert high == 1.0
    assert 0.95 < low < 1.0
    nothing = np.zeros(600, dtype=bool)
    assert csf.metric_interval(Y, nothing, "precision") == (0.0, 1.0)
    assert csf.metric_interval(Y, nothing, "recall")[0] == 0.0
    assert csf.metric_interval(Y, Y, "gmean")[0] < 1.0
    groups = np.arange(600) // 10
    assert csf.metric_interval(Y, Y, "f1", groups=groups)[0] < low


def test_differences_are_paired():
    found = csf.metric_difference(Y, A, B)
    assert isinstance(found, Difference)
    assert found.value == pytest.approx(f1_score(Y, A) - f1_score(Y, B))
    assert 0.0 < found.low < found.value < found.high
    near = A.copy()
    near[:2] = ~near[:2]
    close = csf.metric_difference(Y, A, near)
    assert close.high - close.low < 0.35 * np.diff(csf.metric_interval(Y, A))
    same = csf.metric_difference(Y, A, A)
    assert same.low < same.value == 0.0 < same.high


def test_intervals_stay_within_what_a_metric_can_be():
    few = np.arange(600) // 200
    found = csf.metric_difference(Y, Y, ~Y, "f1", groups=few)
    assert -1.0 <= found.low < found.value == found.high == 1.0
    low, high = csf.metric_interval(Y, A, "f2", groups=few)
    assert 0.0 <= low < high <= 1.0


def test_an_index_in_another_order_is_told():
    with pytest.warns(UserWarning, match="the index of pred is that of y in another order"):
        csf.metric_interval(pd.Series(Y), pd.Series(A).sample(frac=1, random_state=0))


def test_several_classes():
    truth = RNG.choice(["a", "b", "c"], 500, p=[0.7, 0.2, 0.1])
    pred = np.where(RNG.random(500) < 0.7, truth, "a")
    for metric in ("accuracy", "f1_macro", "mcc"):
        low, high = csf.metric_interval(truth, pred, metric)
        assert 0.0 < low < high < 1.0
    assert csf.metric_interval(truth, pred, "accuracy")[0] == pytest.approx(
        beta.ppf(0.05, (truth == pred).sum() + 0.5, (truth != pred).sum() + 0.5)
    )
    assert csf.metric_difference(truth, truth, pred, "f1_macro").low > 0.0


@pytest.mark.parametrize(
    ("given", "options", "what"),
    [
        (
            RNG.random(600),
            {},
            r"pred contains 0\.\d+, but .* \[False, True\]. Give predicted labels.*csf.tune_threshold",
        ),
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
        csf.metric_interval(Y, given, **options)


def test_a_metric_of_two_classes_and_predictions_of_more():
    with pytest.raises(ValueError, match="'f1' is a metric of two classes; for more, write 'f1_macro'"):
        csf.metric_interval([0, 1, 2], [0, 1, 2], "f1")
    with pytest.raises(ValueError, match="pred_b contains 7"):
        csf.metric_difference(Y, A, np.full(600, 7))


def drawn(rng, n_positives, f1, group, spread):
    """Truth and decisions of a population with an F1 score, in groups whose errors go together."""
    n_groups = 8 * n_positives // group
    tilt = np.repeat(spread * rng.normal(size=n_groups), group)
    n = tilt.size
    y = rng.random(n) < 1.0 / (1.0 + 7.0 * np.exp(-0.5 * tilt))
    right = 1.0 / (1.0 + np.exp(-(np.log(f1 / (1.0 - f1)) + tilt)))
    found = np.where(y, rng.random(n) < right, rng.random(n) < (1.0 - right) / 7.0)
    return y, found, np.arange(n) // group


# ---------------------------------------------------------------- laws


METHODS = st.tuples(st.integers(0, 10**6), st.sampled_from([2, 3, 4]), st.sampled_from(["none", "weights", "groups"]))


@given(METHODS, st.sampled_from(["f1_macro", "mcc", "accuracy", "gmean"]))
@settings(max_examples=8, deadline=None)
def test_exchanged_methods_have_the_mirrored_difference(case, metric):
    seed, n_classes, kind = case
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=60)])
    a, b = (np.where(rng.random(y.size) < share, y, rng.integers(n_classes, size=y.size)) for share in rng.random(2))
    options = {
        "none": {},
        "weights": {"sample_weight": rng.random(y.size)},
        "groups": {"groups": np.arange(y.size) // 4},
    }
    there, back = (csf.metric_difference(y, *pair, metric, **options[kind]) for pair in ((a, b), (b, a)))
    assert there == pytest.approx((-back.value, -back.high, -back.low), abs=1e-12)
    assert there.low <= there.value <= there.high


def test_a_method_is_as_good_as_itself():
    found = csf.metric_difference(Y, A, A, "gmean")
    assert found.low == -found.high < 0.0 == found.value


@pytest.mark.parametrize("metric", [MeanCost(fn=5.0), MeanCost(fn=2.0, fp=2.0), FalseNegativeRate()])
def test_costs_and_rates_have_intervals_on_both_sides(metric):
    value = get_metric("recall").score(Y, A)
    assert csf.metric_interval(Y, A, FalseNegativeRate()) == pytest.approx(
        tuple(1.0 - end for end in csf.metric_interval(Y, A, "recall"))[::-1]
    )
    low, high = csf.metric_interval(Y, A, metric)
    fn, fp = np.mean(Y & ~A), np.mean(A & ~Y)
    value = metric.value(fn, fp, pos=Y.mean())
    assert low < value < high
    found = csf.metric_difference(Y, A, B, metric)
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(value - metric.value(np.mean(Y & ~B), np.mean(B & ~Y), pos=Y.mean()))


def test_a_class_that_is_only_predicted_counts():
    y = np.random.default_rng(0).integers(0, 3, 400)
    a, b = y.copy(), y.copy()
    a[:10] = 3
    b[:40] = (y[:40] + 1) % 3
    for labels in (np.arange(4), np.array(["d", "a", "b", "c"])):
        truth, more, less = labels[y], labels[a], labels[b]
        value = f1_score(truth, more, average="macro")
        assert inside(csf.metric_interval(truth, more, "f1_macro"), value)
        # The other method does not predict it, so that it is no class of its own.
        assert csf.metric_difference(truth, more, less, "f1_macro").value == pytest.approx(
            value - f1_score(truth, less, average="macro")
        )
    two = np.where(y > 0, 1, 0)
    assert inside(
        csf.metric_interval(two, np.where(a == 3, 3, two), "f1_macro"),
        f1_score(two, np.where(a == 3, 3, two), average="macro"),
    )
    with pytest.raises(ValueError, match=r"pred contains 3, but the labels of y are \[0, 1\]. 'f1' is a metric of two"):
        csf.metric_interval(two, np.where(a == 3, 3, two), "f1")
    with pytest.raises(ValueError, match=r"pred contains 'x'.*Give predicted labels"):
        csf.metric_interval(y, np.full(400, "x"), "f1_macro")


@pytest.mark.parametrize("average", ["macro", "micro", "samples", "weighted"])
def test_several_labels_a_sample(average):
    rng = np.random.default_rng(0)
    y = rng.random((300, 4)) < [0.5, 0.3, 0.1, 0.0]
    a, b, weight = y ^ (rng.random(y.shape) < 0.1), y ^ (rng.random(y.shape) < 0.2), rng.random(300)
    options = {"average": average, "sample_weight": weight, "zero_division": 0.0}
    low, high = csf.metric_interval(y * 1, a, f"f1_{average}", sample_weight=weight)
    assert low < f1_score(y, a, **options) < high
    assert high - low < 0.15
    found = csf.metric_difference(y * 1, a, b, f"f1_{average}", sample_weight=weight)
    assert found.value == pytest.approx(f1_score(y, a, **options) - f1_score(y, b, **options))
    assert 0.0 < found.low < found.value < found.high
    back = csf.metric_difference(y * 1, b, a, f"f1_{average}", sample_weight=weight)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low), abs=1e-12)
    rows = np.random.default_rng(1).permutation(300)
    assert csf.metric_interval(y[rows] * 1, a[rows], f"f1_{average}") == pytest.approx(
        csf.metric_interval(y * 1, a, f"f1_{average}")
    )


@pytest.mark.parametrize(
    ("pred", "options", "what"),
    [
        ([[0, 1]] * 3, {}, "metric='f1' is one of a single label.*f1_macro"),
        ([[0, 1]] * 3, {"metric": "f1_macro", "pos_label": 1}, "pos_label=1 is for two classes"),
        ([[0, 0.5]] * 3, {"metric": "f1_macro"}, r"'pred' must predict 0 or 1 for each label, got 0\.5"),
        ([0, 1, 1], {"metric": "f1_macro"}, r"pred must have the shape of y, \(3, 2\)"),
    ],
)
def test_what_several_labels_cannot_have(pred, options, what):
    with pytest.raises(ValueError, match=what):
        csf.metric_interval([[0, 1], [1, 0], [1, 1]], pred, **options)


def test_names_of_a_cost_matrix_are_those_of_classes():
    costs = pd.DataFrame([[0.0, 9.0], [1.0, 0.0]], index=[True, False], columns=[True, False])
    by_name, by_place = CostMatrix(costs), CostMatrix([[0.0, 1.0], [9.0, 0.0]])
    assert csf.metric_interval(Y, A, by_name) == csf.metric_interval(Y, A, by_place)
    assert csf.metric_interval(Y, A, by_name, pos_label=False) == pytest.approx(
        csf.metric_interval(Y, A, by_place), abs=0.02
    )


def test_rows_that_cost_something_have_intervals_of_their_sums():
    rng = np.random.default_rng(0)
    negative, positive = np.where(Y, rng.exponential(5.0, 600), 0.0), np.where(Y, 0.0, 1.0)
    read = Predictions.of_rows(RowCosts(fn=1.0, fp=1.0), negative, positive, A)
    paid = np.where(A, positive, negative).sum()
    assert read.value[0] == pytest.approx(1.0 - paid / min(negative.sum(), positive.sum()))
    low, high = read.interval(0.9)
    assert low < read.value[0] < high
    for unit in (1e-9, 1e9):
        other = Predictions.of_rows(RowCosts(fn=1.0, fp=1.0), unit * negative, unit * positive, A)
        assert other.interval(0.9) == pytest.approx((low, high))


def test_arrays_of_dask_say_what_to_do():
    array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"pred must be in memory, got a dask Array.*give pred\.compute\(\)"):
        csf.metric_interval(Y, array.from_array(A))


# ---------------------------------------------------------------- coverage


def coverage(metric, rates, n_draws, weights=None, n=1000, n_pos=50):
    """How often the interval holds the value of a method with some rates of errors."""
    (tpr, fpr), rng, held = rates, np.random.default_rng(0), 0
    truth = get_metric(metric).value((1.0 - tpr) * n_pos / n, fpr * (1.0 - n_pos / n), pos=n_pos / n)
    for _ in range(n_draws):
        y = rng.random(n) < n_pos / n
        pred = rng.random(n) < np.where(y, tpr, fpr)
        weight = None if weights is None else rng.choice(weights, n)
        held += inside(csf.metric_interval(y, pred, metric, sample_weight=weight), truth)
    return held / n_draws


@pytest.mark.parametrize("metric", ["gmean", "f2"])
def test_few_positives_that_are_found_are_covered(metric):
    assert coverage(metric, (0.04, 0.01), 40) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric", ["mcc", *(pytest.param(name, marks=pytest.mark.simulation) for name in METRICS if name != "mcc")]
)
@pytest.mark.parametrize(("rates", "weights"), [((0.04, 0.01), None), ((0.97, 0.01), (0.5, 1.0, 1.5))])
def test_all_metrics_are_covered(metric, rates, weights):
    assert coverage(metric, rates, 200, weights) >= 0.86 - 2.0 * np.sqrt(0.86 * 0.14 / 200)


@pytest.mark.slow
@pytest.mark.parametrize(("common", "least", "most"), [(0.5, 0.84, 0.97), (0.98, 0.84, 1.0)])
def test_differences_of_equal_methods_are_covered(common, least, most):
    rng, held = np.random.default_rng(0), 0
    for _ in range(200):
        y, shared = np.arange(1000) < 100, rng.random(1000)
        a, b = (np.where(rng.random(1000) < common, shared, rng.random(1000)) < np.where(y, 0.6, 0.03) for _ in "ab")
        held += inside(csf.metric_difference(y, a, b, "mcc")[1:], 0.0)
    assert least <= held / 200 <= most


@pytest.mark.slow
@pytest.mark.parametrize(("group", "spread", "least"), [(1, 0.0, 0.86), (10, 0.8, 0.83)])
@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_intervals_cover(group, spread, least, metric):
    rng, held, n = np.random.default_rng(0), 0, 300
    y, found, _ = drawn(rng, 200_000, 0.7, group, spread)
    truth = get_metric(metric).score(y, found)
    for _ in range(n):
        y, found, groups = drawn(rng, 60, 0.7, group, spread)
        held += inside(csf.metric_interval(y, found, metric, groups=groups if group > 1 else None), truth)
    assert held / n >= least


# ---------------------------------------------------------------- labels of one class

# Metrics that samples of one class determine.
POSITIVES = ["precision", "recall", FalseNegativeRate(), "f1", "f2", "jaccard", "accuracy", MeanCost(5.0)]
NEGATIVES = ["precision", "specificity", "f1", "f2", "jaccard", "accuracy", MeanCost(5.0)]
BOTH = ["gmean", "balanced_accuracy", "mcc", "cohen_kappa", "f1_macro", "informedness"]
ALONE = [(1, each) for each in POSITIVES] + [(0, each) for each in NEGATIVES]


def value_by_hand(metric, positive, flagged, weight):
    """The metric of samples of one class, some of which are flagged."""
    cells = positive & flagged, positive & ~flagged, ~positive & flagged, ~positive & ~flagged
    tp, fn, fp, tn = (weight @ cell for cell in cells)
    if isinstance(metric, MeanCost):
        return (5.0 * fn + fp) / weight.sum()
    if isinstance(metric, FalseNegativeRate):
        return fn / (tp + fn)
    return {
        "precision": lambda: tp / (tp + fp),
        "recall": lambda: tp / (tp + fn),
        "specificity": lambda: tn / (tn + fp),
        "f1": lambda: 2 * tp / (2 * tp + fn + fp),
        "f2": lambda: 5 * tp / (5 * tp + 4 * fn + fp),
        "jaccard": lambda: tp / (tp + fn + fp),
        "accuracy": lambda: (tp + tn) / weight.sum(),
    }[metric]()


@pytest.mark.parametrize("options", [{}, {"sample_weight": np.linspace(0.5, 1.5, 80)}, {"groups": np.arange(80) // 2}])
@pytest.mark.parametrize(("label", "metric"), ALONE, ids=str)
def test_labels_of_one_class_do_where_the_metric_does_not_need_both(label, metric, options):
    y, pred = np.full(80, label), (np.arange(80) % 10 > 0).astype(int)
    value = value_by_hand(metric, y == 1, pred == 1, options.get("sample_weight", np.ones(80)))
    low, high = csf.metric_interval(y, pred, metric, **options)
    assert low <= value <= high
    assert low < high
    assert csf.metric_difference(y, pred, pred, metric, **options).value == pytest.approx(0.0)
    names = np.array(["no", "yes"])
    assert csf.metric_interval(names[y], names[pred], metric, pos_label="yes", **options) == (low, high)


def test_an_audit_without_a_wrong_alert_has_the_interval_of_its_share():
    for n in (20, 100):
        ones = np.ones(n, dtype=int)
        expected = Share(("tp",), ("fp",)).interval(n, n)
        assert csf.metric_interval(ones, ones, "precision") == pytest.approx(expected)
        assert csf.metric_interval(ones == 1, ones == 1, "recall") == pytest.approx(expected)
        # Weights and groups leave some doubt too.
        for options in ({"sample_weight": np.linspace(0.5, 1.5, n)}, {"groups": np.arange(n)}):
            low, high = csf.metric_interval(ones, ones, "precision", **options)
            assert 0.5 * (1.0 - expected[0]) < 1.0 - low < 2.0 * (1.0 - expected[0])
            assert high == 1.0
    weight = np.repeat([1.0, 0.0], 20)
    rows = np.arange(40) < 20
    assert csf.metric_interval(rows, rows, "precision", sample_weight=weight)[0] < 0.95


@pytest.mark.parametrize("metric", BOTH)
@pytest.mark.parametrize("label", [0, 1])
def test_a_metric_that_needs_both_classes_says_so(metric, label):
    pred = np.arange(30) % 2
    with pytest.raises(ValueError, match=f"y has one class only, and {metric} needs both classes"):
        csf.metric_interval(np.full(30, label), pred, metric)
    for rate, of in (("recall", 0), ("specificity", 1)):
        with pytest.raises(ValueError, match=f"y has one class only, and {rate} counts none of these samples"):
            csf.metric_interval(np.full(30, of), pred, rate)


@pytest.mark.parametrize(
    ("y", "pred", "options", "message"),
    [
        (["a"] * 4, ["a"] * 4, {}, "y has one class only"),
        (["a"] * 4, ["a", "b", "c", "a"], {"pos_label": "a"}, "y has one class only"),
        (["a"] * 4, ["a"] * 4, {"pos_label": 1}, "y has one class only"),
        ([2] * 4, [2] * 4, {}, "pos_label=None stands for 1"),
    ],
)
def test_one_class_whose_other_one_nobody_knows_is_refused(y, pred, options, message):
    with pytest.raises(ValueError, match=message):
        csf.metric_interval(y, pred, "recall", **options)
