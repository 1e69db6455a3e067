"""Linear rules: the damped fixed point of a metric's gradient, its laws, and what is counted."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from csf.metrics import ConfusionFunction, CostMatrix, MicroF, get_confusion_metric
from csf.thresholding import LinearRule
from csf.thresholds import _kernels as kernels
from csf.thresholds.linear_rule import confusion_of, cross_fitted, tune_rule

ITERATED = ("f1_macro", "f2_macro", "gmean", "mcc", "cohen_kappa", "quadratic_kappa")


def problem(n_classes=4, size=400, seed=0):
    """Probabilities of skewed classes that are not quite true, and codes."""
    rng = np.random.default_rng(seed)
    share = np.geomspace(1.0, 12.0, n_classes) / np.geomspace(1.0, 12.0, n_classes).sum()
    codes = rng.choice(n_classes, size, p=share)
    margin = rng.normal(size=(size, n_classes)) + np.eye(n_classes)[codes] + np.log(share)
    proba = np.exp(margin)
    return proba / proba.sum(axis=1, keepdims=True), codes


def value_of(rule, proba, codes, metric, weight=None):
    return get_confusion_metric(metric).value(confusion_of(codes, rule.decide(proba), proba.shape[1], weight))


def same(rule, other, order=None):
    order = np.arange(rule.slopes.size) if order is None else order
    np.testing.assert_allclose(rule.slopes[order], other.slopes, rtol=1e-10)
    np.testing.assert_allclose(rule.offsets[order], other.offsets, rtol=1e-10, atol=1e-12)
    if rule.matrix is not None:
        np.testing.assert_allclose(rule.matrix[np.ix_(order, order)], other.matrix, rtol=1e-10, atol=1e-12)


def starts(proba, codes):
    inverse = 1.0 / np.bincount(codes)
    return LinearRule.argmax(inverse.size), LinearRule(inverse, np.zeros(inverse.size))


# ---------------------------------------------------------------- what is found


@pytest.mark.parametrize("metric", ITERATED)
@pytest.mark.parametrize("seed", range(3))
def test_the_rule_is_never_below_a_start_and_mostly_above(metric, seed):
    proba, codes = problem(seed=seed)
    found = value_of(tune_rule(proba, codes, get_confusion_metric(metric)), proba, codes, metric)
    best = max(value_of(start, proba, codes, metric) for start in starts(proba, codes))
    assert found >= best
    if metric.endswith("macro"):
        assert found > best


def literal(proba, codes, metric):
    """The algorithm with matrices and numpy: the best value on the way from both starts."""
    n_classes = proba.shape[1]
    values = []
    for start in starts(proba, codes):
        rule = np.diag(start.slopes)
        decided = None
        for step in range(41):
            before, decided = decided, (proba @ rule).argmax(axis=1) if step == 0 else scores(proba, rule)
            if before is not None and np.array_equal(before, decided):
                break
            confusion = confusion_matrix(codes, decided, labels=range(n_classes)) / codes.size
            values.append(metric.value(confusion))
            gradient = metric.gradient(confusion)
            if step == 0:
                size = np.abs(metric.affine(confusion)[0]).max()
                rule = rule * (size / rule.max())
            rule = 0.7 * rule + 0.3 * gradient
    return max(values)


def scores(proba, rule):
    return (proba @ rule).argmax(axis=1)


@pytest.mark.parametrize("metric", ["f1_macro", "gmean", "mcc", "cohen_kappa"])
def test_the_kept_rule_has_the_best_value_of_the_literal_algorithm(metric):
    proba, codes = problem(5, seed=3)
    metric = get_confusion_metric(metric)
    assert value_of(tune_rule(proba, codes, metric), proba, codes, metric) == literal(proba, codes, metric)


def test_macro_f_of_true_probabilities_is_near_the_best_of_a_grid():
    proba, codes = problem(3, 3000)
    found = value_of(tune_rule(proba, codes, get_confusion_metric("f1_macro")), proba, codes, "f1_macro")
    ladder = np.geomspace(0.2, 5.0, 15)
    grid = [LinearRule(np.array([1.0, a, b]), np.zeros(3)) for a in ladder for b in ladder]
    assert found > max(value_of(rule, proba, codes, "f1_macro") for rule in grid) - 0.004


def test_two_classes_are_cut_at_half_the_f_measure():
    """The affine rule of a binary F (micro-F without the null class) is p > F / 2."""
    proba, codes = problem(2, 3000)
    metric = MicroF(null=1)
    rule = tune_rule(proba, codes, metric)
    confusion = confusion_of(codes, rule.decide(proba), 2)
    at_once = LinearRule(*metric.affine(confusion))
    np.testing.assert_array_equal(at_once.decide(proba) == 0, proba[:, 0] > metric.value(confusion) / 2.0)
    # The best one that is counted on the way has nearly that: the p of class 0 above which it is found.
    cut = (rule.offsets[0] - rule.offsets[1]) / rule.slopes[0]
    assert cut == pytest.approx(metric.value(confusion) / 2.0, abs=0.03)


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("metric", [*ITERATED[:5], "balanced_accuracy"])
def test_permuted_classes_have_the_permuted_rule(metric):
    proba, codes = problem()
    metric = get_confusion_metric(metric)
    order = np.array([2, 0, 3, 1])  # new class k is old class order[k]
    rule, permuted = tune_rule(proba, codes, metric), tune_rule(proba[:, order], order.argsort()[codes], metric)
    same(rule, permuted, order)
    np.testing.assert_array_equal(order[permuted.decide(proba[:, order])], rule.decide(proba))


@pytest.mark.parametrize("metric", [*ITERATED, "balanced_accuracy"])
def test_integer_weights_are_repeated_rows_and_zeros_are_none(metric):
    proba, codes = problem()
    metric = get_confusion_metric(metric)
    weight = np.random.default_rng(1).integers(0, 4, codes.size)
    rule = tune_rule(proba, codes, metric, weight=weight.astype(float))
    repeated = tune_rule(np.repeat(proba, weight, axis=0), np.repeat(codes, weight), metric)
    for name in ("slopes", "offsets", "matrix"):
        np.testing.assert_array_equal(getattr(rule, name), getattr(repeated, name))


def test_a_row_of_weight_zero_may_not_keep_the_search_going():
    """Its decision changes at steps where no other does."""
    proba, codes = problem(3, 60)
    metric = get_confusion_metric("f1_macro")
    rows = np.tile(np.linspace(0.0, 1.0, 200)[:, None], (1, 3)) * [1.0, -1.0, 0.0] + [0.0, 1.0, 0.0]
    wide, more = np.vstack([proba, rows]), np.concatenate([codes, np.zeros(200, int)])
    weight = np.concatenate([np.ones(60), np.zeros(200)])
    np.testing.assert_array_equal(
        tune_rule(wide, more, metric, weight=weight).slopes, tune_rule(proba, codes, metric).slopes
    )


def test_linear_metrics_have_their_rule_at_once():
    """Whatever rule counts best on these entries."""
    proba, codes = problem()
    share = np.bincount(codes) / codes.size
    balanced = tune_rule(proba, codes, get_confusion_metric("balanced_accuracy"))
    np.testing.assert_allclose(balanced.slopes * share, (balanced.slopes * share)[0])
    assert not balanced.offsets.any()
    for metric in (get_confusion_metric("accuracy"), CostMatrix(1.0 - np.eye(4))):
        rule = tune_rule(proba, codes, metric)
        np.testing.assert_array_equal(rule.decide(proba), proba.argmax(axis=1))


@pytest.mark.parametrize("metric", ["f1_macro", "quadratic_kappa"])
def test_ties_go_to_the_lowest_code_in_tuning_and_prediction(metric):
    """Probabilities on a coarse grid, so that the start and most rules meet ties."""
    metric = get_confusion_metric(metric)
    proba, codes = np.round(problem()[0] * 4.0) / 4.0, problem()[1]
    rule = tune_rule(proba, codes, metric)
    np.testing.assert_array_equal(
        rule.decide(proba), [row.tolist().index(max(row.tolist())) for row in rule.scores(proba)]
    )
    assert value_of(rule, proba, codes, metric) >= max(value_of(s, proba, codes, metric) for s in starts(proba, codes))


def test_equal_values_keep_the_largest_probability():
    """Nothing is better than what is right everywhere."""
    codes = np.arange(30) % 3
    rule = tune_rule(np.eye(3)[codes] * 0.4 + 0.2, codes, get_confusion_metric("f1_macro"))
    assert rule.slopes.tolist() == [1.0, 1.0, 1.0]
    assert rule.offsets.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("metric", ["f1_macro", "quadratic_kappa"])
def test_single_precision_and_any_order_in_memory(metric):
    proba, codes = problem()
    metric = get_confusion_metric(metric)
    small = proba.astype(np.float32)
    rule = tune_rule(small, codes, metric)
    for rows in (small.astype(float), np.asfortranarray(small)):
        np.testing.assert_array_equal(rule.decide(small), tune_rule(rows, codes, metric).decide(rows))


@pytest.mark.parametrize("metric", ["f1_macro", "quadratic_kappa", "linear_kappa"])
def test_the_unit_of_a_metric_does_not_matter(metric):
    """A metric in thousandths, whose gradient comes from differences, decides like the metric itself."""
    proba, codes = problem()
    metric = get_confusion_metric(metric)
    small = ConfusionFunction(lambda confusion: metric.value(confusion) / 1024.0)
    decided = (tune_rule(proba, codes, one).decide(proba) for one in (metric, small))
    assert np.mean(next(decided) == next(decided)) > 0.97


def test_a_class_without_rows_is_left_alone():
    proba, codes = problem()
    wide = np.column_stack([proba[:, :2], np.zeros(len(proba)), proba[:, 2:]])
    for metric in map(get_confusion_metric, ITERATED[:5]):
        rule = tune_rule(wide, np.where(codes > 1, codes + 1, codes), metric)
        assert np.isfinite(rule.scores(wide)).all()


# ---------------------------------------------------------------- cross-fitting, counting, kernels


@pytest.mark.parametrize("metric", ["f1_macro", "quadratic_kappa"])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_group_is_decided_by_the_rule_of_the_others(metric, weighted):
    proba, codes = problem()
    metric = get_confusion_metric(metric)
    groups = np.random.default_rng(2).integers(0, 5, codes.size)
    weight = np.random.default_rng(3).integers(0, 3, codes.size).astype(float) if weighted else None
    decided = cross_fitted(proba, codes, metric, groups, weight=weight)
    for group in range(5):
        held = groups == group
        others = None if weight is None else weight[~held]
        rule = tune_rule(proba[~held], codes[~held], metric, weight=others)
        np.testing.assert_array_equal(decided[held], rule.decide(proba[held]))


def test_confusion_matrix_is_that_of_scikit_learn():
    proba, codes = problem()
    decided, weight = proba.argmax(axis=1), np.random.default_rng(0).random(codes.size)
    for given in (None, weight):
        expected = confusion_matrix(codes, decided, sample_weight=given, normalize="all", labels=range(5))
        np.testing.assert_allclose(confusion_of(codes, decided, 5, given), expected, atol=1e-15)


def test_nothing_that_weighs_anything():
    proba, codes = problem()
    with pytest.raises(ValueError, match="weighs something"):
        tune_rule(proba, codes, get_confusion_metric("f1_macro"), weight=np.zeros(codes.size))


def test_compiled_equals_python_and_the_rule():
    """With many ties."""
    proba, codes = np.round(problem()[0] * 4.0) / 4.0, problem()[1]
    rng = np.random.default_rng(0)
    slopes, offsets, matrix = (
        np.array([1.0, 2.0, 1.0, 1.0]),
        np.array([0.0, 0.25, 0.0, 0.0]),
        rng.integers(0, 3, (4, 4)),
    )
    matrix = matrix.astype(float)
    counts, before = rng.random(codes.size) < 0.7, rng.integers(0, 4, codes.size)
    for kernel, arguments, rule in (
        (kernels.decide_affine, (slopes, offsets), LinearRule(slopes, offsets)),
        (kernels.decide_matrix, (matrix,), LinearRule(slopes, offsets, matrix)),
    ):
        expected = np.where(counts, rule.decide(proba), before)
        for one in (kernel, kernel.py_func):
            decided = before.copy()
            assert one(proba, *arguments, counts, decided) == np.count_nonzero(expected != before)
            np.testing.assert_array_equal(decided, expected)
