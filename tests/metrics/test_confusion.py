"""Metrics of the confusion matrix: scikit-learn's values, slopes as gradients, the binary metric for two classes."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from builders import rates, shares
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.linear_model import LogisticRegression

import csf
from csf import CostSearch
from csf.metrics import (
    CONFUSION_METRICS,
    METRICS,
    Averaged,
    BalancedAccuracy,
    ConfusionFunction,
    ConfusionMetric,
    Constrained,
    CostMatrix,
    CustomMetric,
    FBeta,
    GMean,
    OfTwoClasses,
    WeightedAccuracy,
    get_confusion_metric,
    get_constraint,
    get_metric,
)
from csf.metrics.registry import for_classes
from csf.testing import check_metric

PLAIN = {"zero_division": 0}
# What of scikit-learn each metric is, for labels 0 to K - 1 that all occur.
REFERENCES = {
    "f1_macro": partial(sk.f1_score, average="macro", **PLAIN),
    "f2_macro": partial(sk.fbeta_score, beta=2.0, average="macro", **PLAIN),
    "f0.5_macro": partial(sk.fbeta_score, beta=0.5, average="macro", **PLAIN),
    "f1_micro": partial(sk.f1_score, average="micro", **PLAIN),
    "f1_weighted": partial(sk.f1_score, average="weighted", **PLAIN),
    "jaccard_macro": partial(sk.jaccard_score, average="macro", **PLAIN),
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "gmean": lambda y, z, *, sample_weight: (
        np.prod(recalls := sk.recall_score(y, z, average=None, sample_weight=sample_weight)) ** (1 / len(recalls))
    ),
    "cohen_kappa": sk.cohen_kappa_score,
    "mcc": sk.matthews_corrcoef,
    "quadratic_kappa": partial(sk.cohen_kappa_score, weights="quadratic"),
    "linear_kappa": partial(sk.cohen_kappa_score, weights="linear"),
}
WITH_BINARY = [name for name in CONFUSION_METRICS if name in METRICS]
COSTS = np.array([[0.0, 1.0, 3.0], [2.0, -1.0, 1.0], [5.0, 4.0, 0.0]])


def root_of_recalls(confusion):
    """Nothing that comes with the package."""
    return float(np.sqrt(np.diag(confusion) / confusion.sum(axis=1)).sum())


OTHERS = [
    Averaged(FBeta(3.0)),
    Averaged(FBeta(2.0), null=1, average="micro"),
    CostMatrix(COSTS),
    ConfusionFunction(root_of_recalls),
]
ALL = [*map(get_confusion_metric, CONFUSION_METRICS), *OTHERS]


def shares_of(y, z, n_classes, weight=None):
    counts = sk.confusion_matrix(y, z, labels=range(n_classes), sample_weight=weight)
    return counts / counts.sum()


def predictions(seed, n_classes=4, n=60):
    """Labels of which each class occurs, predictions that are right half the time, weights."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes)))])
    z = np.where(rng.random(len(y)) < 0.5, y, rng.integers(n_classes, size=len(y)))
    return y, z, rng.uniform(0.1, 3.0, len(y))


def random_confusion(seed, n_classes=3):
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes**2)).reshape(n_classes, n_classes)


@pytest.mark.parametrize("name", CONFUSION_METRICS)
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 6), is_weighted=st.booleans())
@settings(max_examples=20)
def test_values_are_those_of_scikit_learn(name, seed, n_classes, is_weighted):
    y, z, weight = predictions(seed, n_classes)
    weight = weight if is_weighted else None
    expected = REFERENCES[name](y, z, sample_weight=weight)
    assert get_confusion_metric(name).value(shares_of(y, z, n_classes, weight)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("beta", [0.7, 1.0, 3.0])
def test_micro_averages_leave_out_the_class_of_nothing_to_find(beta):
    y, z, weight = predictions(0)
    expected = sk.fbeta_score(y, z, beta=beta, labels=[0, 1, 3], average="micro", sample_weight=weight)
    metric = Averaged(FBeta(beta), null=2, average="micro")
    assert metric.value(shares_of(y, z, 4, weight)) == pytest.approx(expected, abs=1e-12)
    slopes, offsets = metric.affine(shares_of(y, z, 4))
    assert (slopes[2], *offsets[[0, 1, 3]]) == (0.0, 0.0, 0.0, 0.0)
    # Something is found where the largest probability exceeds F / (1 + beta^2).
    assert -offsets[2] / slopes[0] == pytest.approx(metric.value(shares_of(y, z, 4)) / (1 + beta**2))


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_slopes_of_values(metric, seed):
    """Samples of class j that move from column l to k change the value by G[j, k] - G[j, l] each."""
    confusion, step = random_confusion(seed), 1e-6
    gradient = metric.gradient(confusion)
    for j, k, into in np.ndindex(3, 3, 3):
        move = np.zeros((3, 3))
        move[j, k] += step * confusion.min()
        move[j, into] -= step * confusion.min()
        slope = (metric.value(confusion + move) - metric.value(confusion - move)) / (2 * step * confusion.min())
        assert gradient[j, k] - gradient[j, into] == pytest.approx(slope, abs=1e-4 * (1 + np.abs(gradient).max()))


@pytest.mark.parametrize("metric", [*map(get_confusion_metric, CONFUSION_METRICS), *OTHERS[:2]], ids=lambda m: m.name)
def test_affine_metrics_say_so(metric):
    confusion = random_confusion(5)
    known = metric.affine(confusion)
    assert (known is None) == metric.needs_order == (metric.name in ("quadratic_kappa", "linear_kappa"))
    if known is not None:
        np.testing.assert_array_equal(metric.gradient(confusion), np.diag(known[0]) - known[1])


def test_differences_never_ask_for_negative_shares():
    """A metric of the user's own may have no value there; rows without samples have no slope."""
    confusion = np.array([[0.5, 0.0, 0.1], [0.0, 0.4, 0.0], [0.0, 0.0, 0.0]])

    def entropy(confusion):
        assert confusion.min() >= 0.0
        assert confusion.sum(axis=1) == pytest.approx([0.6, 0.4, 0.0])
        return -np.sum(confusion**2)

    gradient = ConfusionFunction(entropy).gradient(confusion)
    np.testing.assert_allclose(gradient, [[0.0, 1.0, 0.8], [0.8, 0.0, 0.8], [0.0, 0.0, 0.0]], atol=1e-4)


@pytest.mark.parametrize("metric", [m for m in ALL if not m.needs_order and m not in OTHERS[1:3]], ids=lambda m: m.name)
def test_the_order_of_classes_does_not_matter(metric):
    confusion, order = random_confusion(7, 4), [2, 0, 3, 1]
    turned = confusion[np.ix_(order, order)]
    assert metric.value(turned) == pytest.approx(metric.value(confusion), abs=1e-14)
    gradient, other = metric.gradient(confusion), metric.gradient(turned)
    expected = gradient[np.ix_(order, order)]
    np.testing.assert_allclose(other - other[:, :1], expected - expected[:, :1], atol=1e-6)


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_many_matrices_at_once(metric):
    stack = np.array([random_confusion(seed) for seed in range(6)]).reshape(2, 3, 3, 3)
    values = metric.value(stack)
    assert values.shape == (2, 3)
    alone = [[metric.value(confusion) for confusion in row] for row in stack]
    assert all(isinstance(value, float) for row in alone for value in row)
    np.testing.assert_allclose(values, alone, atol=1e-14)


@pytest.mark.parametrize(
    "metric", [metric for metric in ALL if metric not in OTHERS[2:]], ids=lambda metric: metric.name
)
def test_missing_classes_are_worth_numbers(metric):
    """Classes that are never true, never predicted or neither; one class that is all; single and half precision."""
    corners = [np.diag(part) for part in np.eye(3)] + [np.eye(3)[[row]].T * [[0.3, 0.5, 0.2]] for row in range(3)]
    corners += [np.diag([0.4, 0.6, 0.0]), np.roll(np.diag([0.2, 0.5, 0.3]), 1, axis=1), np.array([[0.1] * 3] * 3) / 0.9]
    with np.errstate(all="raise"):
        for confusion in corners:
            assert np.isfinite(metric.value(confusion))
            assert np.isfinite(metric.gradient(confusion)).all()
            assert metric.value(confusion.astype(np.float32)) == pytest.approx(metric.value(confusion), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [("f1_macro", 2 / 3), ("balanced_accuracy", 1.0), ("gmean", 1.0), ("mcc", 1.0), ("cohen_kappa", 1.0)],
)
def test_a_class_that_never_occurs_counts_as_in_scikit_learn(name, value):
    """0 in macro-F1; without a recall it is left out of the others."""
    assert get_confusion_metric(name).value(np.diag([0.4, 0.6, 0.0])) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize("name", ["mcc", "cohen_kappa", "quadratic_kappa", "linear_kappa"])
def test_what_chance_is_worth(name):
    metric = get_confusion_metric(name)
    only_one, by_chance = np.zeros((3, 3)), np.outer([0.2, 0.5, 0.3], [0.1, 0.6, 0.3])
    only_one[:, 1] = 0.2, 0.5, 0.3
    assert metric.value(only_one) == pytest.approx(0.0, abs=1e-14)
    assert metric.value(by_chance) == pytest.approx(0.0, abs=1e-14)
    assert metric.value(np.diag([0.0, 1.0, 0.0])) == 0.0


def test_slopes_of_the_gmean_stay_finite_where_a_class_is_missed():
    slopes, offsets = get_confusion_metric("gmean").affine(
        np.array([[0.5, 0.0, 0.0], [0.3, 0.0, 0.0], [0.1, 0.0, 0.1]])
    )
    assert slopes[1] / slopes[0] == pytest.approx(0.5 / 0.3 * 1e3)
    assert not offsets.any()


# ---------------------------------------------------------------- two classes


@pytest.mark.parametrize("name", WITH_BINARY)
@given(fnr=rates, fpr=rates, pos=st.floats(0.01, 0.99))
def test_two_classes_are_the_binary_metric(name, fnr, fpr, pos):
    two, fn, fp = OfTwoClasses(get_confusion_metric(name)), fnr * pos, fpr * (1 - pos)
    value = two.value(fn, fp, pos=pos)
    assert isinstance(value, float)
    assert value == pytest.approx(get_metric(name).value(fn, fp, pos=pos), abs=1e-10)


@given(fnr=rates, fpr=rates, pos=shares)
def test_one_class_of_nothing_to_find_is_the_binary_f1(fnr, fpr, pos):
    fn, fp = fnr * pos, fpr * (1 - pos)
    two = get_metric(Averaged(FBeta(2.0), null=0, average="micro"))
    assert two.value(fn, fp, pos=pos) == pytest.approx(FBeta(2.0).value(fn, fp, pos=pos), rel=1e-9)


@pytest.mark.parametrize("name", [name for name in CONFUSION_METRICS if name not in METRICS])
def test_new_names_keep_the_laws_of_binary_metrics(name):
    metric = get_metric(name)
    assert (metric.name, metric) == (name, OfTwoClasses(get_confusion_metric(name)))
    check_metric(metric, reference=REFERENCES[name])


def test_what_rounding_leaves_of_a_class_is_nothing():
    """1 - 1/3 is a little more than 2/3: all negatives are wrong."""
    gmean = OfTwoClasses(get_confusion_metric("gmean"))
    assert gmean.value(0.0, 2 / 3, pos=1 / 3) == gmean.value(0.1 + 0.2, 0.0, pos=0.3 + 1e-16) == 0.0


def test_levels_lie_between_all_wrong_and_all_right():
    assert get_metric("f1_macro").range(0.3) == (0.0, 1.0)
    assert get_metric(CostMatrix([[0, 1], [5, 0]])).range(0.25) == pytest.approx((-2.0, 0.0))
    check_metric(get_metric(CostMatrix([[0, 1], [5, 0]])))
    with pytest.raises(
        ValueError, match=r"'cost_matrix' is worth -2 without errors and -1 where all is wrong.*its sign"
    ):
        get_metric(CostMatrix([[2, 1], [1, 2]])).range(0.25)


# ---------------------------------------------------------------- names and objects


@pytest.mark.parametrize("name", CONFUSION_METRICS)
def test_names_give_metrics_of_any_number_of_classes(name):
    metric = get_confusion_metric(name)
    assert isinstance(metric, ConfusionMetric)
    assert (metric.name, metric) == (name, get_confusion_metric(name))
    assert get_confusion_metric(get_metric(name)) == metric  # binary metrics and metrics of two classes alike
    assert pickle.loads(pickle.dumps(metric)) == metric


def test_any_beta_has_a_name():
    assert get_confusion_metric("f.25_macro") == Averaged(FBeta(0.25))
    assert get_confusion_metric("f3_micro") == Averaged(FBeta(3.0), average="micro")
    assert get_metric("f3_macro") == OfTwoClasses(Averaged(FBeta(3.0)))
    assert Averaged(FBeta(), null=2, average="micro").name == "f1_micro(null=2)"


def test_objects_stay_themselves_or_become_those_of_their_name():
    metric = CostMatrix(COSTS)
    assert get_confusion_metric(metric) is metric
    assert get_confusion_metric(OfTwoClasses(metric)) is metric
    assert get_metric(metric) == OfTwoClasses(metric)
    assert get_confusion_metric(GMean(eps=0.1)) == get_confusion_metric("gmean")
    assert get_confusion_metric(BalancedAccuracy()) == get_confusion_metric("balanced_accuracy")
    assert hash(metric) == hash(CostMatrix(COSTS.tolist()))


@pytest.mark.parametrize(
    ("metric", "way_out"),
    [
        *(
            ("f1", "'f1_macro'.*null_class="),
            ("f2", "'f2_macro'"),
            ("f.3", "'f.3_macro'"),
            ("jaccard", "'jaccard_macro'"),
        ),
        *((FBeta(2.0), "'f2_macro'"), (WeightedAccuracy(3.0, 1.0), "ConfusionMetric object")),
        (CustomMetric((1, -1, -1, 1, 0, 0), label="accuracy"), "ConfusionMetric object"),
        (Constrained(get_metric("gmean"), get_constraint("precision >= 0.8")), "'f1_macro'"),
    ],
)
def test_metrics_of_two_classes_alone_name_the_way_out(metric, way_out):
    with pytest.raises(ValueError, match=f"is a metric of two classes; for more, write .*{way_out}"):
        get_confusion_metric(metric)


def test_other_things_are_no_metrics():
    with pytest.raises(TypeError, match=r"ConfusionMetric object, got 3; .*csf\.metrics\.ConfusionFunction$"):
        get_confusion_metric(3)
    with pytest.raises(
        ValueError, match=r"unknown metric of several classes 'f0_macro'; known: f1_macro, .*f<beta>_macro"
    ):
        get_confusion_metric("f0_macro")


@pytest.mark.parametrize("costs", [[[0, 1, 2], [1, 0, 2]], [0, 1], [[0]], [[0, np.nan], [1, 0]], [[0, np.inf], [1, 0]]])
def test_cost_matrices_are_squares_of_numbers(costs):
    with pytest.raises(ValueError, match="costs must be a square of finite numbers"):
        CostMatrix(costs)


@pytest.mark.parametrize("ask", [CostMatrix(COSTS).value, CostMatrix(COSTS).gradient])
def test_a_cost_matrix_is_for_its_number_of_classes(ask):
    with pytest.raises(ValueError, match="the cost matrix is for 3 classes, and there are 4; give a row and a column"):
        ask(random_confusion(0, 4))


@pytest.mark.parametrize("value", [np.nan, np.inf, [0.1, 0.2]])
def test_functions_return_one_finite_number(value):
    with pytest.raises(ValueError, match="'mine' must return one finite number for a confusion matrix, got"):
        ConfusionFunction(lambda confusion: value, label="mine").value(random_confusion(0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConfusionFunction("f1"), "function must be a function of a confusion matrix, got 'f1'"),
        (lambda: ConfusionFunction(np.sum, label=3), "label must be a text, got 3"),
        (lambda: OfTwoClasses(BalancedAccuracy()), "confusion must be a csf.metrics.ConfusionMetric"),
        (lambda: Averaged(FBeta(0.0)), "beta must be positive"),
        (lambda: Averaged(FBeta(-1.0), average="micro"), "beta must be positive"),
        (lambda: Averaged(FBeta(), null=-1, average="micro"), "null must be an int >= 0"),
        (lambda: Averaged(FBeta(), null=1), "null=1 is of the micro average, got average='macro'"),
        (lambda: Averaged(FBeta(), average="median"), "average must be one of"),
        (
            lambda: Averaged(FBeta(), null=3, average="micro").value(random_confusion(0)),
            "null=3 is no code of the 3 classes",
        ),
        (
            lambda: Averaged(FBeta(), null=3, average="micro").gradient(random_confusion(0)),
            "null=3 is no code of the 3 classes",
        ),
    ],
)
def test_wrong_parameters_are_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_functions_of_modules_can_be_pickled():
    metric = ConfusionFunction(root_of_recalls, label="roots")
    assert pickle.loads(pickle.dumps(metric)).value(random_confusion(1)) == metric.value(random_confusion(1))
    assert metric.name == "roots"


# ---------------------------------------------------------------- costs by name


NAMES = ["none", "injured", "dying"]
FRAME = pd.DataFrame(COSTS, index=NAMES, columns=NAMES)
# The order of the sorted classes, as places in these names.
SORTED = [2, 1, 0]


@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0, 1]])
@pytest.mark.parametrize("columns", [[0, 1, 2], [1, 0, 2]])
def test_rows_and_columns_go_by_their_names(rows, columns):
    metric = CostMatrix(FRAME.iloc[rows, columns])
    found = for_classes(metric, np.array(sorted(NAMES)))
    assert found == CostMatrix(COSTS[np.ix_(SORTED, SORTED)])
    assert hash(metric) == hash(CostMatrix(FRAME.iloc[rows, columns]))
    with pytest.raises(ValueError, match="has the names"):
        metric.value(np.eye(3) / 3)


@pytest.mark.parametrize(
    ("frame", "classes"),
    [
        (FRAME.reset_index(drop=True), NAMES),  # rows in the order of the columns
        (FRAME.set_axis(range(3), axis=1), NAMES),
        (FRAME.set_axis([7, 5, 3]).set_axis([7, 5, 3], axis=1), np.array([7, 5, 3])),
        (FRAME.set_axis(["7", "5", "3"]).set_axis(["7", "5", "3"], axis=1), np.array([7, 5, 3])),
        (FRAME.set_axis([2, 0, 1]).set_axis([2, 0, 1], axis=1), np.array([2, 0, 1])),
        (FRAME.set_axis(pd.CategoricalIndex(NAMES)), NAMES),
    ],
)
def test_names_of_any_kind(frame, classes):
    assert for_classes(CostMatrix(frame), np.array(classes)) == CostMatrix(COSTS)
    order = np.argsort(classes)
    assert for_classes(CostMatrix(frame), np.array(classes)[order]) == CostMatrix(COSTS[np.ix_(order, order)])


def test_numbers_that_only_count_are_no_names():
    assert CostMatrix(pd.DataFrame(COSTS)) == CostMatrix(COSTS)
    polars = pytest.importorskip("polars")
    assert CostMatrix(polars.DataFrame(COSTS, orient="row")) == CostMatrix(COSTS)
    named = CostMatrix(polars.DataFrame(COSTS, schema=NAMES, orient="row"))
    assert for_classes(named, np.array(NAMES)) == CostMatrix(COSTS)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.rename(columns={"dying": "dead"}),
        lambda frame: frame.rename(columns={"dying": "dead"}, index={"dying": "dead"}),
        lambda frame: frame.rename(columns={"dying": "none"}, index={"dying": "none"}),
        lambda frame: frame.rename(index={"dying": "none"}),
    ],
)
def test_names_that_are_not_those_of_the_classes(change):
    with pytest.raises(
        ValueError, match=r"the cost matrix has the names .*, and there should be .*name rows and columns"
    ):
        for_classes(CostMatrix(change(FRAME)), np.array(NAMES))


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_a_search_reads_names(order, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.choice(NAMES, 200, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(200, 3)) + (y[:, None] == NAMES)
    costs = pd.DataFrame([[0, 1, 1], [2, 0, 1], [20, 20, 0]], index=NAMES, columns=NAMES)
    base, named = LogisticRegression().fit(X, y), CostMatrix(costs.iloc[order, order[::-1]])
    plain = CostMatrix(costs.iloc[SORTED, SORTED].to_numpy())
    first, second = (CostSearch(base, metric, cv="prefit").fit(X, y) for metric in (named, plain))
    assert (first.predict(X) == second.predict(X)).all()
    assert (first.best_score_, first.score(X, y)) == (second.best_score_, second.score(X, y))
    first.report(tmp_path / "report.html", X=X, y=y)
    assert csf.metric_interval(y, first.predict(X), named) == csf.metric_interval(y, first.predict(X), plain)


@pytest.mark.parametrize("positive", ["bad", "good"])
def test_names_of_two_classes_do_not_depend_on_the_positive_one(positive):
    rng = np.random.default_rng(0)
    y = rng.choice(["bad", "good"], 200)
    X = rng.normal(size=(200, 1)) + (y[:, None] == "bad")
    costs = pd.DataFrame([[0, 9], [1, 0]], index=["bad", "good"], columns=["bad", "good"])
    search = CostSearch(LogisticRegression().fit(X, y), CostMatrix(costs), cv="prefit", pos_label=positive).fit(X, y)
    predicted = search.predict(X)
    paid = 9 * np.mean((y == "bad") & (predicted == "good")) + np.mean((y == "good") & (predicted == "bad"))
    assert search.best_score_ == pytest.approx(search.score(X, y)) == pytest.approx(-paid)
    assert (predicted == "bad").mean() > 0.7


@pytest.mark.parametrize(
    ("name", "function"),
    [("gmean", lambda y, z: np.prod(sk.recall_score(y, z, average=None)) ** (1 / 3)), ("balanced_accuracy", None)],
)
def test_classes_that_are_predicted_and_never_true_are_said(name, function):
    rng = np.random.default_rng(0)
    y, pred = rng.integers(0, 3, (2, 60))
    low, high = csf.metric_interval(y, pred, name)
    assert low < (function or sk.balanced_accuracy_score)(y, pred) < high
    without = np.where(y == 2, 0, y)
    with pytest.warns(UserWarning, match=f"1 of 3 classes are predicted, and no sample has them: '{name}' is of the"):
        csf.metric_interval(without, pred, name)
    csf.metric_interval(without, pred, "f1_macro")
    X = np.random.default_rng(0).normal(size=(60, 2))
    search = CostSearch(LogisticRegression(), name, param_grid=None, n_trials=1, cv=3).fit(X, y)
    with pytest.warns(UserWarning, match="no sample has them"):
        search.score(X, without)
