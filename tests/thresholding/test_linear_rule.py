"""Linear rules: the damped fixed point of a metric's gradient, its laws, calibrations, and what predicts with them."""

import itertools
import pickle

import numpy as np
import pytest
from oracles.frank_wolfe_of_classes import (
    XCOLUMNS_EXPECTED,
    XCOLUMNS_ON_LABELS,
    confusion,
    frank_wolfe,
    given,
    macro_f1,
)
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.svm import LinearSVC

from csf.metrics import Averaged, ConfusionFunction, Constraint, CostMatrix, FBeta, get_confusion_metric, get_constraint
from csf.metrics.demands import ConstrainedClasses, demands_on
from csf.thresholding import ClassProbabilityRule
from csf.thresholding import _kernels as kernels
from csf.thresholding.linear_rule import (
    MulticlassRule,
    confusion_of,
    cross_fitted,
    fit_calibrator,
    fit_class_calibrator,
    tune_rule,
)

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
    return ClassProbabilityRule.argmax(inverse.size), ClassProbabilityRule(inverse, np.zeros(inverse.size))


# ---------------------------------------------------------------- what is found


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


def test_two_classes_are_cut_at_half_the_f_measure():
    """The affine rule of a binary F (micro-F without the null class) is p > F / 2."""
    proba, codes = problem(2, 3000)
    metric = Averaged(FBeta(), null=1, average="micro")
    rule = tune_rule(proba, codes, metric)
    confusion = confusion_of(codes, rule.decide(proba), 2)
    at_once = ClassProbabilityRule(*metric.affine(confusion))
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


COSTS = CostMatrix([[0, 1, 2], [5, 0, 1], [9, 3, 0]])
DEMANDS = [
    get_constraint("recall[2] >= 0.6"),
    get_constraint("precision[1] >= 0.5"),
    get_constraint("predicted_rate[0] <= 0.2"),
    get_constraint("f1[2] >= 0.4"),
    get_constraint("accuracy >= 0.5"),
    Constraint(CostMatrix([[0, 3, 1], [1, 0, 4], [2, 1, 0]]), "<=", 1.0),
]


def expected(seed, n_rows):
    """Rows that each have every class, with its probability as weight: sums are expected ones."""
    proba = np.random.default_rng(seed).dirichlet(np.ones(3), n_rows)
    return np.repeat(proba, 3, axis=0), np.tile(np.arange(3), n_rows), proba.ravel() / n_rows, proba


@pytest.mark.parametrize("constraint", DEMANDS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_no_decisions_are_better_than_the_multipliers_allow(constraint, seed):
    """Brute force over all 3^7 decisions: the best that keeps the demand is within what one row's change is worth."""
    entries, codes, weight, proba = expected(seed, 7)
    demands = demands_on(constraint, [0, 1, 2])
    rule = tune_rule(entries, codes, ConstrainedClasses(COSTS, demands), weight=weight)
    every = np.array(list(itertools.product(range(3), repeat=7)))
    sums = np.zeros((len(every), 3, 3))
    for row, p in enumerate(proba):
        for k in range(3):
            sums[:, k] += (every[:, row, None] == np.arange(3)) * p[k] / 7
    keeps = demands[0].missing(sums) <= 1e-9
    confusion = confusion_of(codes, rule.decide(entries), 3, weight)
    assert keeps.any() == (demands[0].missing(confusion) <= 1e-9)
    if not keeps.any():
        return
    best, own = COSTS.value(sums[keeps]).max(), COSTS.value(confusion)
    # Lagrange: no decisions at all have a larger sum of the rule's own gains, and those that keep the demand lose none.
    bound = (rule.worth * confusion).sum() if rule.matrix is not None else own
    assert own <= best + 1e-9 <= bound + 2e-9
    slack = (demands[0].gains * confusion).sum()
    assert slack <= np.ptp(demands[0].gains) / 7 + 1e-9 or bound - own < 1e-9


@pytest.mark.parametrize("metric", ["f1_macro", "mcc", "quadratic_kappa"])
@pytest.mark.parametrize(
    "text", ["recall[2] >= 0.8", "precision[2] >= 0.6, recall[0] >= 0.5", "predicted_rate[3] <= 0.1"]
)
def test_demands_are_kept_and_one_that_holds_anyway_changes_nothing(metric, text):
    proba, codes = problem()
    metric = get_confusion_metric(metric)
    free = tune_rule(proba, codes, metric)
    constrained = ConstrainedClasses(metric, demands_on(get_constraint(text), range(4)))
    confusion = confusion_of(codes, tune_rule(proba, codes, constrained).decide(proba), 4)
    assert constrained.missing(confusion) == 0.0
    assert metric.value(confusion) <= value_of(free, proba, codes, metric) + 1e-9
    easy = ConstrainedClasses(metric, demands_on(get_constraint("recall[0] >= 0.001, accuracy >= 0.01"), range(4)))
    same(tune_rule(proba, codes, easy), free)


def test_of_demands_that_nothing_keeps_the_closest_is_taken():
    proba, codes = problem()
    metric = get_confusion_metric("f1_macro")
    hard = ConstrainedClasses(metric, demands_on(get_constraint("accuracy >= 0.999"), range(4)))
    confusion = confusion_of(codes, tune_rule(proba, codes, hard).decide(proba), 4)
    # No rule is right more often than the largest probability, but by chance of these labels.
    assert np.trace(confusion) >= np.mean(proba.argmax(axis=1) == codes) - 1e-9


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
    for each in (None, weight):
        expected = confusion_matrix(codes, decided, sample_weight=each, normalize="all", labels=range(5))
        np.testing.assert_allclose(confusion_of(codes, decided, 5, each), expected, atol=1e-15)


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
        (kernels.decide_affine, (slopes, offsets), ClassProbabilityRule(slopes, offsets)),
        (kernels.decide_matrix, (matrix,), ClassProbabilityRule(slopes, offsets, matrix)),
    ):
        expected = np.where(counts, rule.decide(proba), before)
        for one in (kernel, kernel.py_func):
            decided = before.copy()
            assert one(proba, *arguments, counts, decided) == np.count_nonzero(expected != before)
            np.testing.assert_array_equal(decided, expected)


# ---------------------------------------------------------------- against Frank-Wolfe and what xCOLUMNs reaches


MATRICES = range(len(XCOLUMNS_EXPECTED))
METRIC = get_confusion_metric("f1_macro")


def on_expected_counts(number):
    """Macro-F1 of our rule where a sample is of each class by its probability, and the oracle's two values."""
    proba, _ = given(number)
    size, n_classes = proba.shape
    each = np.tile(np.arange(n_classes), size)
    rule = tune_rule(np.repeat(proba, n_classes, axis=0), each, METRIC, weight=proba.ravel())
    return macro_f1(confusion(proba, rule.decide(proba))), *frank_wolfe(proba, proba)


def on_labels(number):
    """Macro-F1 of our rule on drawn labels, and the oracle's two values."""
    proba, labels = given(number)
    truth = np.eye(proba.shape[1])[labels]
    return macro_f1(confusion(truth, tune_rule(proba, labels, METRIC).decide(proba))), *frank_wolfe(truth, proba)


@pytest.mark.parametrize("number", MATRICES)
def test_no_rule_or_mixture_is_better_in_expected_counts(number):
    """A decision is worth about 1e-3 here: what is left is less than one between two classes that are nearly alike."""
    own, mixture, best = on_expected_counts(number)
    assert own == pytest.approx(best, abs=2e-5)
    assert own >= mixture - 2e-5
    assert own == pytest.approx(XCOLUMNS_EXPECTED[number], abs=2e-5)


def test_no_method_is_better_on_labels():
    own, mixture, _ = np.transpose([on_labels(number) for number in MATRICES])
    assert (own - mixture).min() >= 0.0
    assert (own - mixture).mean() >= 0.004
    # Its steps are those that are best on the same labels, so that either may find more by luck.
    assert (own - XCOLUMNS_ON_LABELS).mean() >= 0.001
    assert (own - XCOLUMNS_ON_LABELS).min() >= -0.01


# ---------------------------------------------------------------- maps from scores to probabilities


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    score = rng.standard_normal(20_000)
    return score, rng.random(20_000) < expit(2.0 * score - 1.5)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_finds_the_probabilities(kind, scored):
    score, is_pos = scored
    proba = fit_calibrator(kind, score, is_pos, None).predict(np.linspace(-2, 2, 9))
    np.testing.assert_allclose(proba, expit(2.0 * np.linspace(-2, 2, 9) - 1.5), atol=0.04)
    assert (np.diff(proba) >= 0).all()


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_units_of_the_score_do_not_matter(kind, scored):
    score, is_pos = scored
    near = fit_calibrator(kind, score, is_pos, None).predict(score)
    far = fit_calibrator(kind, 1e6 * score + 1e7, is_pos, None).predict(1e6 * score + 1e7)
    np.testing.assert_allclose(near, far, atol=1e-4)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_weights_are_repetitions(kind, scored):
    score, is_pos = scored[0][:300], scored[1][:300]
    times = np.random.default_rng(1).integers(0, 4, 300)
    weighted = fit_calibrator(kind, score, is_pos, times.astype(float)).predict(score)
    repeated = fit_calibrator(kind, np.repeat(score, times), np.repeat(is_pos, times), None).predict(score)
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)


def test_separable_scores_stay_off_zero_and_one():
    proba = fit_calibrator("sigmoid", np.arange(4.0), np.array([False, False, True, True]), None).predict(
        np.arange(4.0)
    )
    assert 0.1 < proba[0] < 0.5 < proba[-1] < 0.9


def test_equal_scores_get_the_share_of_positives():
    proba = fit_calibrator("sigmoid", np.zeros(1000), np.arange(1000) < 300, None).predict(np.zeros(1))
    assert proba == pytest.approx(0.3, abs=1e-3)


def test_bad_calibrations():
    with pytest.raises(ValueError, match=r"calibration must be one of.*'beta'"):
        fit_calibrator("beta", np.zeros(2), np.array([True, False]), None)
    with pytest.raises(ValueError, match="needs finite scores"):
        fit_calibrator("sigmoid", np.array([0.0, np.inf]), np.array([True, False]), None)


# ---------------------------------------------------------------- one object that predicts several classes


NAMES = np.array(["ant", "bee", "cat"])
RULE = ClassProbabilityRule(np.array([1.0, 3.0, 2.0]), np.array([0.1, 0.0, 0.4]))


@pytest.fixture(scope="module")
def data():
    return make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=3, weights=[0.6, 0.3], class_sep=0.6, random_state=0
    )


@pytest.fixture(scope="module")
def model(data):
    return LogisticRegression().fit(*data)


def test_the_rule_decides_about_probabilities(data, model):
    X, _ = data
    rule = MulticlassRule(model, NAMES, model.classes_, RULE)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(rule.predict_proba(X), proba)
    np.testing.assert_array_equal(rule.decision_function(X), proba * RULE.slopes - RULE.offsets)
    np.testing.assert_array_equal(rule.predict(X), NAMES[(proba * RULE.slopes - RULE.offsets).argmax(axis=1)])
    assert (rule.predict(X) != NAMES[model.predict(X)]).any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rule)).predict(X), rule.predict(X))


def test_class_weights_of_the_training_are_taken_out(data, model):
    X, _ = data
    weights = np.array([0.5, 1.0, 4.0])
    rule = MulticlassRule(model, NAMES, model.classes_, RULE, class_weights=weights)
    odds = model.predict_proba(X) / weights
    np.testing.assert_allclose(rule.predict_proba(X), odds / odds.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(rule.predict(X), NAMES[RULE.decide(rule.predict_proba(X))])


def test_the_classifiers_own_decision_reads_scores_as_they_are(data, model):
    """Its probabilities are without the weights all the same."""
    X, _ = data
    weights = np.array([0.5, 1.0, 4.0])
    rule = MulticlassRule(model, NAMES, model.classes_, ClassProbabilityRule.argmax(3), class_weights=weights, own=True)
    np.testing.assert_array_equal(rule.predict(X), NAMES[model.predict(X)])
    np.testing.assert_array_equal(rule.decision_function(X), model.predict_proba(X))
    assert (rule.predict_proba(X).argmax(axis=1) != model.predict(X)).any()


def test_without_probabilities_its_own_decision_reads_margins(data):
    X, y = data
    model = LinearSVC().fit(X, y)
    rule = MulticlassRule(model, NAMES, model.classes_, ClassProbabilityRule.argmax(3), own=True)
    np.testing.assert_array_equal(rule.predict(X), NAMES[model.predict(X)])
    np.testing.assert_array_equal(rule.decision_function(X), model.decision_function(X))
    with pytest.raises(TypeError, match="has no predict_proba"):
        rule.predict_proba(X)


class Silent(ClassifierMixin, BaseEstimator):
    """A classifier without any scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]


def test_its_own_decision_needs_no_scores(data):
    X, y = data
    model = Silent().fit(X, np.where(y == 0, 2, 1))  # codes 1 and 2
    rule = MulticlassRule(model, NAMES, model.classes_, ClassProbabilityRule.argmax(3), own=True)
    np.testing.assert_array_equal(rule.predict(X), np.where(X[:, 0] > 0, "cat", "bee"))


@pytest.mark.parametrize("as_labels", [True, False])
def test_a_class_that_was_not_learnt_has_probability_0(data, as_labels):
    X, y = data
    keep = y != 1
    model = LogisticRegression().fit(X[keep], NAMES[y[keep]] if as_labels else y[keep])
    rule = MulticlassRule(model, NAMES, model.classes_, RULE)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(rule.predict_proba(X), np.column_stack([proba[:, 0], 0.0 * proba[:, 0], proba[:, 1]]))


def test_labels_that_look_like_codes_are_labels(data):
    """Classes 0, 2, 3 learnt by their names: column 1 is class 2, not the third one."""
    X, y = data
    classes = np.array([0, 2, 3])
    model = LogisticRegression().fit(X[y < 2], classes[y[y < 2]])
    assert not MulticlassRule(model, classes, model.classes_, RULE).predict_proba(X)[:, 2].any()


# ---------------------------------------------------------------- decision scores


def test_calibrated_margins_are_a_sigmoid_of_each_class_scaled_to_sum_1(data):
    X, y = data
    weight = np.random.default_rng(0).random(y.size)
    model = LinearSVC().fit(X, y)
    scores = model.decision_function(X)
    calibrator = fit_class_calibrator(scores, y, weight)
    rule = MulticlassRule(model, NAMES, model.classes_, RULE, calibrator=calibrator)
    columns = [fit_calibrator("sigmoid", scores[:, k], y == k, weight).predict(scores[:, k]) for k in range(3)]
    expected = np.column_stack(columns) / np.sum(columns, axis=0)[:, None]
    np.testing.assert_allclose(rule.predict_proba(X), expected)
    np.testing.assert_array_equal(rule.predict(X), NAMES[RULE.decide(rule.predict_proba(X))])
    assert calibrator.predict(scores).sum(axis=1) == pytest.approx(1.0)


def test_scores_that_no_class_likes_and_infinite_ones(data):
    X, y = data
    scores = np.eye(3)[y] + 0.1 * X[:, :3]
    calibrator = fit_class_calibrator(scores, y, None)
    assert calibrator.predict(np.full((1, 3), -1e9)).tolist() == [[1 / 3] * 3]
    with pytest.raises(ValueError, match="needs finite scores"):
        fit_class_calibrator(np.where(scores > 1.2, np.inf, scores), y, None)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level", [0.3, 0.6, 0.9])
def test_of_two_classes_a_demand_is_a_threshold(seed, level):
    """The largest threshold with the recall, or that of the costs where it has more."""
    rng = np.random.default_rng(seed)
    p = rng.random(300)
    codes = (rng.random(300) < p**2).astype(int)
    metric = ConstrainedClasses(
        CostMatrix([[0, 1], [2, 0]]), demands_on(get_constraint(f"recall[1] >= {level}"), [0, 1])
    )
    decided = tune_rule(np.column_stack([1.0 - p, p]), codes, metric).decide(np.column_stack([1.0 - p, p]))
    own = np.sort(p[codes == 1])[::-1]
    threshold = min(own[int(np.ceil(level * own.size - 1e-9)) - 1], 1 / 3)
    assert (decided == (p >= threshold)).all()


def test_probabilities_that_are_too_sure_reach_a_precision_by_stricter_answers():
    """Answers of which the model promises a precision of 0.8 have less: only surer ones have so much."""
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(3), 4000)
    codes = np.array([rng.choice(3, p=p) for p in true])
    sure = true**2.5 / (true**2.5).sum(axis=1, keepdims=True)
    metric = ConstrainedClasses(
        get_confusion_metric("f1_macro"), demands_on(get_constraint("precision[1] >= 0.8"), range(3))
    )
    plain = tune_rule(sure, codes, metric.metric)
    assert np.mean(codes[sure[:, 1] >= 0.8] == 1) < 0.8
    confusion = confusion_of(codes, tune_rule(sure, codes, metric).decide(sure), 3)
    assert metric.missing(confusion) == 0.0
    assert confusion[:, 1].sum() > 0.02
    assert metric.value(confusion) < value_of(plain, sure, codes, "f1_macro")


@pytest.mark.parametrize("seed", range(3))
def test_under_a_demand_no_offsets_are_much_better(seed):
    """A grid of 4 900 offsets of three classes."""
    proba, codes = problem(3, 300, seed)
    metric = ConstrainedClasses(
        get_confusion_metric("f1_macro"), demands_on(get_constraint("recall[0] >= 0.7"), range(3))
    )
    confusion = confusion_of(codes, tune_rule(proba, codes, metric).decide(proba), 3)
    best, logs = 0.0, np.log(proba)
    for first, second in itertools.product(np.linspace(-1.0, 6.0, 70), repeat=2):
        other = confusion_of(codes, (logs + np.array([first, second, 0.0])).argmax(axis=1), 3)
        if not metric.missing(other):
            best = max(best, float(metric.value(other)))
    assert metric.missing(confusion) == 0.0
    assert metric.value(confusion) >= best - 0.015
