"""Numbers at the ends of what a float can hold: clear errors, and nothing on the way to them."""

import re

import numpy as np
import pytest
from builders import paper_search
from sklearn.base import clone
from sklearn.svm import LinearSVC

from csf import Study
from csf.fenchel import AMP, FenchelSVM
from csf.metrics import FBeta
from csf.metrics.profile import Hull
from csf.strategies import GoldenSection
from csf.structural import CuttingPlane, FBetaLoss, OnePassMiniBatch, PrecisionAtK, ProjectedSubgradient
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
        paper_search(LinearSVC()).fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match="sample_weight adds up to more than a float can hold"):
        threshold_curve(Y, X[:, 0], sample_weight=weight)


def test_a_class_that_is_lost_in_rounding_is_named():
    with pytest.raises(ValueError, match="the smaller one is lost in the rounding of the larger one"):
        probability_curve([0.2, 0.8], [0.0, 1.0], sample_weight=[1e-300, 1e300])
    for use in (paper_search(LinearSVC()).fit, FenchelSVM().fit):
        with pytest.raises(ValueError, match="the smaller one is lost in the rounding of the larger one"):
            use(X, Y, sample_weight=np.where(Y == 1, 1e-300, 1e300 / 60))
    with pytest.raises(ValueError, match="the smaller one is lost in the rounding of the larger one"):
        threshold_curve(Y, X[:, 0], sample_weight=np.where(Y == 1, 1e-30, 1.0))


@pytest.mark.parametrize("value", [5e-324, 1e-150, 1e150, 1e308])
@pytest.mark.parametrize(
    ("model", "name"),
    [
        (CuttingPlane(), "intercept_scaling"),
        (OnePassMiniBatch(), "radius"),
        (OnePassMiniBatch(), "eta"),
        (OnePassMiniBatch(), "intercept_scaling"),
        (ProjectedSubgradient(), "radius"),
        (ProjectedSubgradient(), "eta"),
    ],
)
def test_structural_learners_work_with_squares(model, name, value):
    limits = r"(a number from 1e-70 to 1e\+70|at most 1e\+100)"
    with pytest.raises(ValueError, match=rf"{name} must be {limits}, got {re.escape(repr(value))}"):
        clone(model).set_params(**{name: value}).fit(X, Y)


@pytest.mark.parametrize("value", [5e-324, 1e-150, 1e150, 1e308])
@pytest.mark.parametrize(("loss", "name"), [(FBetaLoss, "beta"), (FBetaLoss, "kappa"), (PrecisionAtK, "kappa")])
def test_structural_losses_work_with_squares(loss, name, value):
    with pytest.raises(ValueError, match=rf"{name} must be a number from 1e-70 to 1e\+70, got"):
        loss(**{name: value})


@pytest.mark.parametrize("beta", [1e-70, 1e70])
def test_the_ends_of_beta_can_be_learnt_with(beta):
    model = CuttingPlane(FBetaLoss(beta), max_iter=20, eps=0.1).fit(X, Y)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("value", ["1", b"f1", int, (1.0, 2.0)])
@pytest.mark.parametrize(("thing", "name"), [(FBeta, "beta"), (GoldenSection, "tol")])
def test_parameters_that_are_no_numbers_are_named(thing, name, value):
    with pytest.raises(TypeError, match=rf"{name} must be a number, .*, got"):
        thing(value)


@pytest.mark.parametrize("model", [FenchelSVM(), AMP(), CuttingPlane(max_iter=20)], ids=repr)
def test_scores_of_huge_features_are_infinite(model):
    model = clone(model).fit(X, Y)
    coef = model.coef_[0]
    huge = np.sign(coef) * 1.7e308
    many = np.outer([1.0, -1.0], huge)
    model.coef_ = 10.0 * model.coef_ / np.abs(coef).min()
    assert model.decision_function(many)[0] == np.inf
    assert model.predict(many).tolist() == [1, 0]


@pytest.mark.parametrize("pos", [5e-324, 1e-300, 1e-16])
def test_a_share_that_rounding_loses_has_no_costs(pos):
    with pytest.raises(ValueError, match=r"pos gives the positive class .* is lost in the rounding of the larger one"):
        Study("f1", pos=pos)


def test_points_of_a_hull_are_shares():
    with pytest.raises(ValueError, match="points must be shares of all samples, got"):
        Hull([(0.0, 1e308)])


def test_probabilities_that_leave_a_class_no_weight_are_named():
    with pytest.raises(ValueError, match=r"^proba gives the positive class 1e-300 and the negative class 3 in total"):
        probability_curve([0.0, 1e-300, 0.0])
