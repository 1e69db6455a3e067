"""Metrics by name, and registered ones against independent formulas, scikit-learn's where it has them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, make_scorer, roc_auc_score

import csf
from csf import CostSearch, ErrorProfile, Study
from csf.metrics import (
    CONFUSION_METRICS,
    METRICS,
    ConfusionFunction,
    Constrained,
    CostMatrix,
    CustomMetric,
    FalseNegativeRate,
    FalsePositiveRate,
    FBeta,
    MeanCost,
    Metric,
    PredictedPositiveRate,
    get_confusion_metric,
    get_constraint,
    get_metric,
)
from csf.metrics.averages import values_of_tables
from csf.metrics.named import MEASURES, RATES, SYNONYMS
from csf.metrics.registry import get_label_metric, get_quantity
from csf.plugin import PlugInClassifier
from csf.testing import check_metric
from csf.thresholding import sweep, tuned_scorer


@pytest.mark.parametrize("name", METRICS)
def test_names_give_metrics(name):
    assert isinstance(get_metric(name), Metric)
    assert get_metric(name) == get_metric(name)
    if name not in ("tversky", "gower_legendre"):  # these say their parameters too
        assert get_metric(name).name == name


@given(beta=st.floats(0.01, 100.0).map(lambda x: round(x, 3)))
def test_any_beta_has_a_name(beta):
    assert get_metric(f"f{beta}") == FBeta(beta)


@pytest.mark.parametrize(("name", "beta"), [("f3", 3.0), ("f.5", 0.5), ("f2.", 2.0), ("f1.0", 1.0)])
def test_betas_may_be_written_as_people_do(name, beta):
    assert get_metric(name) == FBeta(beta)


def test_objects_are_taken_as_they_are():
    metric = FBeta(0.7)
    assert get_metric(metric) is metric


@pytest.mark.parametrize("name", ["f0", "F1", "f-1", "f", "fnan", "auc", "", "f1 ", "f1e3"])
def test_unknown_names_are_listed(name):
    with pytest.raises(ValueError, match=rf"unknown metric '{name}'; known: f1, f2, .*, f<beta>, or a Metric object"):
        get_metric(name)


@pytest.mark.parametrize("metric", [None, 1, FBeta, ["f1"]])
def test_anything_else_is_refused(metric):
    with pytest.raises(TypeError, match=r"metric must be a name or a csf.metrics.Metric object, got .*CustomMetric"):
        get_metric(metric)


@pytest.mark.parametrize(
    ("metric", "what"),
    [
        *((name, "the order of the scores") for name in ("average_precision", "roc_auc", "roc_auc_ovr", "pr_auc")),
        *((name, "probabilities") for name in ("log_loss", "neg_log_loss", "brier", "neg_brier_score")),
        (make_scorer(roc_auc_score, response_method="decision_function"), "the order of the scores"),
        (log_loss, "probabilities"),
    ],
)
def test_metrics_that_no_threshold_changes(metric, what):
    with pytest.raises((ValueError, TypeError), match=f"judges {what}, which no threshold changes: .*'f1'"):
        get_metric(metric)


@pytest.mark.parametrize(
    ("metric", "what"),
    [
        ("gmean_macro", "ratios of sums, such as 'f1_macro'.* 'gmean', 'mcc' and 'cohen_kappa' take any number"),
        ("mcc_weighted", "ratios of sums, such as 'f1_macro'"),
        ("f1_samples", "several labels of each sample"),
    ],
)
def test_other_averages_over_classes_name_what_there_is(metric, what):
    with pytest.raises((ValueError, TypeError), match=what):
        get_metric(metric)
    with pytest.raises((ValueError, TypeError), match=what):
        get_confusion_metric(metric)


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("quadratic_weighted_kappa", "quadratic_kappa"),
        ("F2-macro", "f2_macro"),
    ],
)
def test_metrics_of_several_classes_that_were_meant(metric, name):
    for look_up in (get_metric, get_confusion_metric):
        with pytest.raises((ValueError, TypeError), match=rf"Did you mean '{name}'\?$"):
            look_up(metric)


@pytest.mark.parametrize(("name", "known"), SYNONYMS.items())
def test_other_names_are_those_of_the_same_number(name, known):
    made = [look_up for look_up in (METRICS, CONFUSION_METRICS) if known in look_up]
    assert made or known in RATES
    assert name not in {**METRICS, **CONFUSION_METRICS, **RATES}
    if known in METRICS:
        assert get_metric(name) == get_metric(known)
    if known in CONFUSION_METRICS:
        assert get_confusion_metric(name) == get_confusion_metric(known)
    if known in RATES:
        side = MEASURES[known].sides[-1]
        assert get_constraint(f"{name} {side} 0.3") == get_constraint(f"{known} {side} 0.3")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fpr", "a rate to limit, constraint='fpr <= 0.1'"),
        ("selection_rate", "constraint='predicted_positive_rate <= 0.1'"),
        ("Youden", r"Did you mean 'informedness'\?$"),
        ("sum_sens_spec", r"Did you mean 'balanced_accuracy'\?$"),
    ],
)
def test_names_that_are_near(name, said):
    with pytest.raises(ValueError, match=said):
        get_metric(name)


# ---------------------------------------------------------------- values of other formulas


def rates(y_true, y_pred, *, sample_weight=None):
    """True positive and true negative rate."""
    return sk.recall_score(y_true, y_pred, sample_weight=sample_weight), sk.recall_score(
        y_true, y_pred, pos_label=0, sample_weight=sample_weight
    )


def fbeta(beta):
    return lambda y, z, *, sample_weight: sk.fbeta_score(y, z, beta=beta, sample_weight=sample_weight)


def cells(y_true, y_pred, *, sample_weight):
    """Weights of tn, fp, fn, tp."""
    return sk.confusion_matrix(y_true, y_pred, sample_weight=sample_weight).ravel()


def of_rates(formula):
    return lambda y, z, *, sample_weight: formula(*rates(y, z, sample_weight=sample_weight))


def of_cells(formula):
    return lambda y, z, *, sample_weight: formula(*cells(y, z, sample_weight=sample_weight))


def informedness(y_true, y_pred, *, sample_weight):
    return sk.balanced_accuracy_score(y_true, y_pred, adjusted=True, sample_weight=sample_weight)


REFERENCES = {
    "f1": sk.f1_score,
    "f2": fbeta(2.0),
    "f0.5": fbeta(0.5),
    "jaccard": sk.jaccard_score,
    "tversky": of_cells(lambda tn, fp, fn, tp: tp / (tp + 0.5 * fp + 0.5 * fn)),
    "gower_legendre": of_cells(lambda tn, fp, fn, tp: (tp + tn) / (tp + tn + 2 * (fp + fn))),
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "specificity": of_cells(lambda tn, fp, fn, tp: tn / (tn + fp)),
    "npv": lambda y, z, *, sample_weight: sk.precision_score(y, z, pos_label=0, sample_weight=sample_weight),
    "gmean": of_rates(lambda tpr, tnr: np.sqrt(tpr * tnr)),
    "hmean": of_rates(lambda tpr, tnr: 2 / (1 / tpr + 1 / tnr)),
    "qmean": of_rates(lambda tpr, tnr: 1 - np.sqrt(((1 - tpr) ** 2 + (1 - tnr) ** 2) / 2)),
    "min_rate": of_rates(min),
    "cohen_kappa": sk.cohen_kappa_score,
    "mcc": sk.matthews_corrcoef,
    "fowlkes_mallows": of_cells(lambda tn, fp, fn, tp: np.sqrt(tp / (tp + fp) * tp / (tp + fn))),
    "informedness": informedness,
}


def test_every_metric_has_a_reference():
    assert set(REFERENCES) == set(METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_registered_metrics_agree_with_their_references(name):
    assert check_metric(get_metric(name), reference=REFERENCES[name]) is None


# ---------------------------------------------------------------- which way is better


@pytest.mark.parametrize(
    "metric",
    [
        FalsePositiveRate(),
        FalseNegativeRate(),
        PredictedPositiveRate(),
        CostMatrix([[2, 1], [1, 2]]),
        CustomMetric((0.0, 1.0, 1.0, 1.0, 0.0, 0.0)),
        Constrained(MeanCost(), get_constraint("recall >= 0.5")),
    ],
    ids=lambda metric: metric.name,
)
def test_what_is_smaller_without_errors_is_not_maximised(metric):
    with pytest.raises(
        ValueError, match=r"without errors and .* where all is wrong; larger must be better.*constraint="
    ):
        get_metric(metric)
    assert get_quantity(metric).value(0.01, 0.02, pos=0.2) == get_quantity(metric).value(0.01, 0.02, pos=0.2)


@pytest.mark.parametrize(
    "use",
    [
        lambda metric, X, y: CostSearch(LogisticRegression(), metric).fit(X, y),
        lambda metric, X, y: csf.tune_threshold(y, X[:, 0], metric),
        lambda metric, X, y: tuned_scorer(metric),
        lambda metric, X, y: Study(metric, pos=0.2),
        lambda metric, X, y: sweep(y, X[:, 0]).best(metric),
        lambda metric, X, y: PlugInClassifier(LogisticRegression(), metric).fit(X, y),
    ],
)
def test_nothing_maximises_a_cost(use):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="larger must be better"):
        use(FalseNegativeRate(), rng.normal(size=(60, 2)), np.arange(60) % 2)


@pytest.mark.parametrize("cost", [MeanCost(fn=5.0), MeanCost(fn=1.0, fp=3.0)], ids=str)
def test_a_mean_cost_is_made_least(cost):
    rng = np.random.default_rng(0)
    y, score = np.arange(80) % 3 == 0, rng.normal(size=80)
    score[y] += 1.0
    assert check_metric(get_metric(cost)) is None
    decision = csf.tune_threshold(y, score, cost)
    profiles = [ErrorProfile.from_masks(y, score >= cut) for cut in [*np.unique(score), np.inf]]
    found = ErrorProfile.from_masks(y, decision.predict(score))
    assert cost.of(found) == pytest.approx(min(cost.of(each) for each in profiles), abs=0.05)
    assert decision.search.best_score_ == pytest.approx(-cost.of(found))
    # A rate to look at is what it was.
    low, high = csf.metric_interval(y, score > 0.0, cost)
    assert low < cost.of(ErrorProfile.from_masks(y, score > 0.0)) < high


def test_confusion_metrics_have_a_direction_too():
    with pytest.raises(ValueError, match="'errors' is worth 0 without errors and 1 where all is wrong"):
        get_confusion_metric(ConfusionFunction(lambda table: 1.0 - np.trace(table), "errors"))
    with pytest.raises(ValueError, match="larger must be better"):
        get_confusion_metric(CostMatrix(np.eye(4)))


def test_all_names_have_the_right_direction():
    for name in METRICS | CONFUSION_METRICS:
        assert get_metric(name).value(0.0, 0.0, pos=0.2) > get_metric(name).value(0.2, 0.8, pos=0.2)


# ---------------------------------------------------------------- many tables at once


@pytest.mark.parametrize("name", METRICS)
def test_many_tables_have_the_values_of_single_ones(name):
    tables, metric = np.random.default_rng(0).gamma(0.5, size=(40, 2, 2)), get_metric(name)
    tables[0, 1] = 0.0
    expected = [metric.of(ErrorProfile.from_counts(tn=t[0, 0], fp=t[0, 1], fn=t[1, 0], tp=t[1, 1])) for t in tables[1:]]
    values = values_of_tables(metric, tables)
    assert np.isnan(values[0])
    assert values[1:] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_metrics_of_one_share_of_positives_are_asked_one_by_one():
    class Of(Metric):
        def value(self, fn, fp, *, pos):
            return 1.0 - fn / pos if pos > 0.5 else 1.0 - fp / (1.0 - pos)

    tables = np.random.default_rng(0).gamma(2.0, size=(40, 2, 2))
    rates = np.where(tables[:, 1].sum(axis=1) > tables[:, 0].sum(axis=1), tables[:, 1, 1], tables[:, 0, 0])
    classes = np.maximum(tables[:, 1].sum(axis=1), tables[:, 0].sum(axis=1))
    assert values_of_tables(Of(), tables) == pytest.approx(rates / classes)


@pytest.mark.parametrize("kind", [bool, np.int64, np.int8])
def test_the_mean_over_samples_is_the_same_whatever_holds_the_labels(kind):
    truth, found = np.array([[1, 0, 1], [0, 0, 1]]), np.array([[1, 1, 0], [0, 0, 1]])
    metric = get_label_metric("f1_samples")
    assert metric.of_samples(truth.astype(kind), found.astype(kind)) == pytest.approx([0.5, 1.0])
    # A label that is found in half counts half.
    assert metric.of_samples(truth > 0, found / 2.0) == pytest.approx([2 * 0.5 / (2 + 1.0), 2 * 0.5 / (1 + 0.5)])
