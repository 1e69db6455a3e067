"""Metrics by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    cohen_kappa_score,
    f1_score,
    fbeta_score,
    get_scorer,
    jaccard_score,
    log_loss,
    make_scorer,
    roc_auc_score,
)

from csf.metrics import METRICS, FBeta, Metric, get_confusion_metric, get_metric


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
    ("metric", "name"),
    [
        (make_scorer(f1_score), "f1"),
        (make_scorer(fbeta_score, beta=2), "f2"),
        (make_scorer(fbeta_score, beta=0.5), "f0.5"),
        (make_scorer(fbeta_score, beta=3.0), "f3"),
        (make_scorer(jaccard_score), "jaccard"),
        (get_scorer("precision"), "precision"),
        (get_scorer("recall"), "recall"),
        (get_scorer("balanced_accuracy"), "balanced_accuracy"),
        (get_scorer("matthews_corrcoef"), "mcc"),
        (make_scorer(cohen_kappa_score), "cohen_kappa"),
        (f1_score, "f1"),
        (accuracy_score, "accuracy"),
    ],
)
def test_functions_and_scorers_of_scikit_learn_are_the_metrics_of_their_names(metric, name):
    assert get_metric(metric) == get_metric(name)


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
        ("recall_macro", "'balanced_accuracy', which is the mean of the recalls"),
        ("precision_macro", "'f1_macro'"),
        ("jaccard_micro", "'accuracy'; where one class means nothing to find, give null_class="),
        ("f1_weighted", "'f1_macro' counts all classes alike"),
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
        ("macro_f1", "f1_macro"),
        ("quadratic_weighted_kappa", "quadratic_kappa"),
        ("F2-macro", "f2_macro"),
    ],
)
def test_metrics_of_several_classes_that_were_meant(metric, name):
    for look_up in (get_metric, get_confusion_metric):
        with pytest.raises((ValueError, TypeError), match=rf"Did you mean '{name}'\?$"):
            look_up(metric)


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (make_scorer(f1_score, average="macro"), "f1_macro"),
        (make_scorer(fbeta_score, beta=3, average="macro"), "f3_macro"),
        (make_scorer(cohen_kappa_score, weights="quadratic"), "quadratic_kappa"),
        (get_scorer("f1_micro"), "f1_micro"),
    ],
)
def test_scorers_of_several_classes_are_the_metrics_of_their_names(metric, name):
    assert get_confusion_metric(metric) == get_confusion_metric(name)
