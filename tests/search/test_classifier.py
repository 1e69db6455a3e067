"""What searches of costs and plug-ins share: names of results, routing, logarithms of probabilities."""

import numpy as np
import pytest
import sklearn
from builders import paper_search
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.svm import LinearSVC

from csf.thresholding import BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier, RandomizedFrankWolfePlugIn

X, Y = make_classification(200, weights=[0.8], random_state=0)
SPELLINGS = (("threshold_", "best_threshold_"), ("estimator_", "best_estimator_"))
PLUG_INS = [BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier, RandomizedFrankWolfePlugIn]


def search(base, **options):
    return paper_search(base, n_trials=2, **options)


@pytest.mark.parametrize("make", [search, *PLUG_INS])
def test_results_have_both_names(make):
    model = make(LogisticRegression(), cv=3)
    assert not any(hasattr(model, name) for names in SPELLINGS for name in names)
    model.fit(X, Y)
    for one, other in SPELLINGS:
        assert getattr(model, one) is getattr(model, other)
    assert not any(hasattr(clone(model), name) for names in SPELLINGS for name in names)


@pytest.mark.parametrize(("make", "names"), [(search, 0), *((plug_in, 1) for plug_in in PLUG_INS)])
def test_the_other_name_is_read_only(make, names):
    model = make(LogisticRegression(), cv=3).fit(X, Y)
    with pytest.raises(AttributeError, match="has no setter"):
        setattr(model, SPELLINGS[0][names], 0.5)


def test_a_search_without_refit_has_no_estimator_under_any_name():
    model = search(LogisticRegression(), refit=False, cv=3).fit(X, Y)
    assert model.threshold_ == model.best_threshold_
    assert not hasattr(model, "estimator_")


@pytest.mark.parametrize("make", [search, PlugInClassifier])
def test_logarithms_come_and_go_with_probabilities(make):
    without, having = make(LinearSVC(), cv=3), make(LogisticRegression(), cv=3).fit(X, Y)
    assert not hasattr(without, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_log_proba'"):
        without.predict_log_proba(X)
    np.testing.assert_array_equal(having.predict_log_proba(X), np.log(having.predict_proba(X)))


def test_a_calibration_gives_logarithms():
    assert hasattr(PlugInClassifier(LinearSVC(), calibration="sigmoid"), "predict_log_proba")


@pytest.mark.parametrize("make", [search, PlugInClassifier])
def test_groups_go_to_the_splitter_with_and_without_routing(make):
    groups = np.arange(Y.size) % 5
    plain = make(LogisticRegression(), cv=GroupKFold(3)).fit(X, Y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make(LogisticRegression(), cv=GroupKFold(3)).fit(X, Y, groups=groups)
    assert routed.best_score_ == plain.best_score_
    assert routed.best_threshold_ == plain.best_threshold_
