"""Registered metrics against independent formulas, scikit-learn's where it has them."""

import numpy as np
import pytest
from sklearn import metrics as sk

from csf.metrics import METRICS, get_metric
from csf.testing import check_metric


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
