"""Precomputed kernels and distances: rows and columns are samples, and both are split."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import euclidean_distances, linear_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC
from sklearn.utils import get_tags

from csf import CostSearch
from csf.plugin import PlugInClassifier
from tests.builders_of_kinds import CLASSES, SEVERAL, X, Y

QUICK = {"n_trials": 3, "param_grid": None, "cv": 3, "random_state": 0}
FIRST, LAST = slice(0, 160), slice(160, 240)
TARGETS = {"two": (Y, "f1", {}), "classes": (CLASSES[1], "f1_macro", {}), "labels": (SEVERAL, "f1_macro", {})}
TARGETS["null class"] = (CLASSES[1], "f1", {"null_class": 1})
# The base on features, on what is computed before, and how that is computed.
BASES = {
    "svm": (SVC(kernel="linear"), SVC(kernel="precomputed"), linear_kernel),
    "rest": (OneVsRestClassifier(SVC(kernel="linear")), OneVsRestClassifier(SVC(kernel="precomputed")), linear_kernel),
    "neighbours": (
        KNeighborsClassifier(algorithm="brute"),
        KNeighborsClassifier(metric="precomputed"),
        euclidean_distances,
    ),
}


def check_alike(usual, ours, metric, target, **options):
    """Decisions on features and on what is computed of them are the same."""
    expected = usual.fit(X[FIRST], target[FIRST], **options)
    search = ours.fit(metric(X[FIRST]), target[FIRST], **options)
    assert search.best_score_ == pytest.approx(expected.best_score_, abs=1e-9)
    np.testing.assert_array_equal(search.predict(metric(X[LAST], X[FIRST])), expected.predict(X[LAST]))
    return search


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("base", BASES)
def test_rows_and_columns_are_split(base, kind):
    (target, metric, options), (usual, ours, compute) = TARGETS[kind], BASES[base]
    searches = [CostSearch(each, metric, **(QUICK | options)) for each in (usual, ours)]
    search = check_alike(*searches, compute, target)
    assert get_tags(search).input_tags.pairwise


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("base", BASES)
def test_plug_in_and_fitted_classifiers_take_kernels(base):
    usual, ours, compute = BASES[base]
    check_alike(*(PlugInClassifier(each, cv=3) for each in (usual, ours)), compute, Y)
    fitted = clone(ours).fit(compute(X[FIRST]), Y[FIRST])
    other = clone(usual).fit(X[FIRST], Y[FIRST])
    between = compute(X[LAST], X[FIRST])
    for make, model in ((CostSearch, fitted), (PlugInClassifier, fitted), (CostSearch, FrozenEstimator(fitted))):
        search = make(model, cv="prefit").fit(between, Y[LAST])
        expected = make(other, cv="prefit").fit(X[LAST], Y[LAST])
        assert search.best_score_ == pytest.approx(expected.best_score_)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_frame_is_a_kernel():
    usual, ours = (CostSearch(each, **QUICK) for each in BASES["svm"][:2])
    expected = usual.fit(X, Y)
    assert ours.fit(pd.DataFrame(linear_kernel(X)), Y).best_score_ == pytest.approx(expected.best_score_, abs=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_weights_reach_the_base_and_those_of_0_are_refused():
    """The kernel machines of scikit-learn predict nonsense after a training with a kernel and weights of 0."""
    weight = np.arange(160) % 4 + 1
    usual, ours = (CostSearch(each, **QUICK) for each in BASES["svm"][:2])
    check_alike(usual, ours, linear_kernel, Y, sample_weight=weight)
    for search in (ours, PlugInClassifier(SVC(kernel="precomputed"), cv=3)):
        with pytest.raises(ValueError, match="leave those of weight 0 out of rows and columns"):
            search.fit(linear_kernel(X[FIRST]), Y[FIRST], weight - 1)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_pipelines_and_searches_of_scikit_learn():
    pipeline = make_pipeline(KernelCenterer(), SVC(kernel="precomputed"))
    kernel = linear_kernel(X)
    ours = CostSearch(pipeline, **QUICK).fit(kernel, Y)
    assert ours.best_score_ == pytest.approx(CostSearch(SVC(kernel="linear"), **QUICK).fit(X, Y).best_score_, abs=0.03)
    scores = cross_val_score(CostSearch(SVC(kernel="precomputed"), **QUICK), kernel, Y, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(CostSearch(SVC(kernel="linear"), **QUICK), X, Y, cv=3))
    usual, ours = (GridSearchCV(SVC(kernel=name), {"C": [0.1, 1.0]}, cv=2) for name in ("linear", "precomputed"))
    expected = CostSearch(usual, **QUICK).fit(X, Y)
    assert CostSearch(ours, **QUICK).fit(kernel, Y).best_score_ == pytest.approx(expected.best_score_, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "samples", "message"),
    [
        ({}, X, r"square matrix of all samples with each other, got shape \(240, 6\)"),
        ({"refit": "folds", "base": KNeighborsClassifier(metric="precomputed")}, linear_kernel(X), "use refit=True"),
        (
            {"confidence": 0.9, "metric": "recall", "constraint": "precision >= 0.3"},
            linear_kernel(X),
            "train on a part of the samples",
        ),
    ],
)
def test_kernels_that_cannot_be_split_are_refused(options, samples, message):
    with pytest.raises(ValueError, match=message):
        CostSearch(**({"base": SVC(kernel="precomputed")} | QUICK | options)).fit(samples, Y)
