"""What a cost search has to beat."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from csf.cli.rivals import POOLED, RIVALS, NotApplicable, Setup
from csf.metrics import FBeta, Recall, get_constraint
from csf.thresholding import threshold_curve

X, Y = make_classification(300, 6, weights=[0.8], class_sep=0.6, flip_y=0.1, random_state=0)
SPLITS = list(StratifiedKFold(3).split(X, Y))
WEIGHT = np.random.default_rng(0).integers(1, 4, 300).astype(float)


def setup(base=None, grid=None, metric=None, constraint=None):
    base = Pipeline([("classifier", base or LogisticRegression())])
    return Setup(base, grid or {}, metric or FBeta(1.0), constraint, SPLITS, None, 0)


def coefficients(model):
    return getattr(model, "estimator_", model)[-1].coef_


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_base_alone(weight):
    model = RIVALS["base as it is"](setup(), X, Y, weight)
    np.testing.assert_array_equal(coefficients(model), LogisticRegression().fit(X, Y, weight).coef_)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_base_with_balanced_weights(weight):
    model = RIVALS['base, class_weight="balanced"'](setup(), X, Y, weight)
    expected = LogisticRegression(class_weight="balanced").fit(X, Y, weight)
    np.testing.assert_array_equal(coefficients(model), expected.coef_)


@pytest.mark.parametrize("name", ["base as it is", 'base, class_weight="balanced"'])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_parameters_are_chosen_by_the_pooled_metric(name, weight):
    grid = [1e-4, 1e-2, 1.0]
    model = RIVALS[name](setup(grid={"classifier__C": grid}), X, Y, weight)
    kind = None if name == "base as it is" else "balanced"

    def value(C):
        base = LogisticRegression(C=C, class_weight=kind)
        params = {} if weight is None else {"sample_weight": weight}
        return f1_score(Y, cross_val_predict(base, X, Y, cv=SPLITS, params=params), sample_weight=weight)

    assert value(model[-1].C) == max(value(C) for C in grid)
    assert len({value(C) for C in grid}) == 3


def test_the_exact_pooled_threshold():
    model = RIVALS[POOLED](setup(LinearSVC(dual=False), {"classifier__C": [1.0]}), X, Y, None)
    score = cross_val_predict(LinearSVC(dual=False), X, Y, cv=SPLITS, method="decision_function")
    assert model.best_threshold_ == pytest.approx(threshold_curve(Y, score).best("f1").threshold, abs=1e-4)


@pytest.mark.filterwarnings("ignore:recall is largest where every sample")
def test_the_exact_pooled_threshold_with_a_constraint():
    free = RIVALS[POOLED](setup(metric=Recall()), X, Y, None)
    bound = RIVALS[POOLED](setup(metric=Recall(), constraint=get_constraint("precision >= 0.6")), X, Y, None)
    assert bound.feasible_
    assert bound.constraint_value_ >= 0.6
    assert bound.best_score_ < free.best_score_ == 1.0


@pytest.mark.parametrize("name", [POOLED, "TunedThresholdClassifierCV"])
def test_threshold_tuners_choose_parameters_too(name):
    one = [RIVALS[name](setup(grid={"classifier__C": [C]}), X, Y, None) for C in (1e-4, 1.0)]
    both = RIVALS[name](setup(grid={"classifier__C": [1e-4, 1.0]}), X, Y, None)
    assert both.best_score_ == max(model.best_score_ for model in one)


def test_rivals_that_do_not_apply():
    with pytest.raises(NotApplicable, match="its scorer gets no sample weights"):
        RIVALS["TunedThresholdClassifierCV"](setup(), X, Y, WEIGHT)
