"""Numbers at the ends of what a float can hold: clear errors, and nothing on the way to them."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.fenchel import AMP, FenchelSVM
from csf.metrics import FBeta
from csf.thresholding import probability_curve, threshold_curve

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0.5).astype(int)
each = pytest.mark.parametrize("model", [FenchelSVM(), AMP()], ids=repr)


@pytest.mark.parametrize("beta", [1e308, 1e150, np.inf, np.nan, 0.0])
def test_beta_has_a_square(beta):
    with pytest.raises(ValueError, match=r"beta must be positive and finite, got .*; accepted: numbers below 1e\+150"):
        FBeta(beta)


@each
@pytest.mark.parametrize("C", [1e308, 1e-308])
def test_the_regulariser_is_a_number(model, C):
    with pytest.raises(ValueError, match=r"C times the total weight must be between .*, got C="):
        model.set_params(C=C).fit(X, Y)


@each
def test_features_that_overflow_are_named_without_a_warning(model):
    with pytest.raises(ValueError, match="the features are too large for a linear model"):
        model.set_params(C=1.0).fit(np.clip(X, -1, 1) * 1e200, Y)


@pytest.mark.parametrize("base", ["x", LinearSVC, 3])
def test_the_base_is_a_classifier(base):
    with pytest.raises(TypeError, match="base must be a classifier such as"):
        FenchelSVM(base=base).fit(X, Y)


def test_weights_that_overflow_are_named():
    weight = np.full(60, 1e308)
    with pytest.raises(ValueError, match="sample_weight adds up to more than a float can hold; its largest is 1e"):
        CostSearch(LinearSVC()).fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match="sample_weight adds up to more than a float can hold"):
        threshold_curve(Y, X[:, 0], sample_weight=weight)


def test_a_class_that_is_lost_in_rounding_is_named():
    with pytest.raises(ValueError, match="the smaller one is lost in the rounding of the larger one"):
        probability_curve([0.2, 0.8], [0.0, 1.0], sample_weight=[1e-300, 1e300])
    for use in (CostSearch(LinearSVC()).fit, FenchelSVM().fit):
        with pytest.raises(ValueError, match="the smaller one is lost in the rounding of the larger one"):
            use(X, Y, sample_weight=np.where(Y == 1, 1e-300, 1e300 / 60))
    with pytest.raises(ValueError, match="the smaller one is lost in the rounding of the larger one"):
        threshold_curve(Y, X[:, 0], sample_weight=np.where(Y == 1, 1e-30, 1.0))
