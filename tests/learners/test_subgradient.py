"""Projected subgradient descent on all samples."""

import numpy as np
import pytest
from learners.structural_streams import each_loss, stream, weights, with_constant
from oracles import structural_learners as oracle

from csf.structural import CuttingPlane, PartialAUC, ProjectedSubgradient, get_loss, partial_auc_score


@each_loss
def test_it_is_the_literal_algorithm(loss):
    X, y = stream(n=150)
    model = ProjectedSubgradient(loss, radius=8.0, max_iter=30, patience=100).fit(X, y)
    Z, w, points, eta = with_constant(model, X), np.zeros(5), [np.zeros(5)], None
    for t in range(1, 31):
        gradient = Z.T @ oracle.subgradient(loss, Z @ w, y > 0)
        eta = 8.0 / np.linalg.norm(gradient) if eta is None else eta
        w = oracle.project(w - eta / np.sqrt(t) * gradient, 8.0)
        points.append(w)
    losses = [get_loss(loss).value(Z @ w, y > 0) for w in points]
    np.testing.assert_allclose(model.history_["loss"], losses, rtol=1e-8)
    np.testing.assert_allclose(weights(model), points[int(np.argmin(losses))], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.coef_last_[0] / model.x_scale_, w[:-1], rtol=1e-7, atol=1e-9)
    assert model.loss_ == pytest.approx(min(losses))
    assert np.linalg.norm(weights(model)) <= 8.0 * (1 + 1e-12)


def test_it_finds_what_the_cutting_plane_finds():
    """The minimum over the ball of the length that the regulariser leads to."""
    X, y = stream(1, n=800, noise=0.3)
    best = CuttingPlane("pauc", C=100.0, eps=1e-6).fit(X, y)
    radius = float(np.linalg.norm(weights(best)))
    model = ProjectedSubgradient("pauc", radius=radius, max_iter=3000, patience=3000).fit(X, y)
    least = PartialAUC().value(with_constant(best, X) @ weights(best), y > 0)
    assert least - 1e-4 <= model.loss_ <= least + 1e-2


def test_it_stops_when_the_loss_no_longer_falls():
    X, y = stream(2)
    model = ProjectedSubgradient("pauc", patience=20, max_iter=5000).fit(X, y)
    losses = model.history_["loss"]
    assert model.n_iter_ == len(losses) - 1 < 5000
    before = np.minimum.accumulate(losses)[-21]
    assert losses.min() >= before - 20 * 1e-5 * before


def test_a_step_size_may_be_given():
    X, y = stream(3)
    model = ProjectedSubgradient("pauc", eta=0.5, max_iter=1).fit(X, y)
    Z = with_constant(model, X)
    gradient = Z.T @ oracle.subgradient("pauc", np.zeros(600), y > 0)
    np.testing.assert_allclose(weights(model), -0.5 * gradient, atol=1e-12)


def test_shifts_do_not_matter_to_the_whole_area():
    """The subgradient of the constant feature is 0, and the loss the mean pair hinge."""
    X, y = stream(5)
    model = ProjectedSubgradient(PartialAUC(1.0), radius=10.0).fit(X, y)
    assert model.intercept_ == pytest.approx(0.0, abs=1e-12)
    score = X @ model.coef_[0]
    assert model.loss_ == pytest.approx(np.maximum(0, 1 - score[y > 0][:, None] + score[y < 0][None, :]).mean())
    without = ProjectedSubgradient(PartialAUC(1.0), radius=10.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(without.coef_, model.coef_, atol=1e-9)


def test_a_first_step_that_is_too_long_is_shortened():
    """The published first step jumps to where the loss is above that of zero."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, 4)), np.where(rng.random(600) < 0.15, 1, -1)
    X[:, 0] += 3.0 * (y > 0)
    long = ProjectedSubgradient("pauc", radius=1e5, eta=1e5).fit(X, y)
    assert long.n_iter_ == long.patience
    model = ProjectedSubgradient("pauc", radius=1e5).fit(X, y)
    assert model.loss_ < 0.95 < 1.0 <= long.loss_
    assert partial_auc_score(y, model.decision_function(X)) > 0.6


def test_where_zero_weights_are_best_it_says_so_and_ranks_still():
    """Labels that flip among close neighbours: no direction lowers the tight loss, some rank better than chance."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2))
    y = np.where(rng.random(300) < 0.1 + 0.05 * (X[:, 0] > 0), 1, -1)
    with pytest.warns(UserWarning, match="no step lowered the loss of 1 at zero weights, however short") as met:
        model = ProjectedSubgradient("pauc").fit(X, y)
    assert met[0].filename == __file__
    assert model.coef_.any()
    assert model.loss_ == min(model.history_["loss"][1:])
    assert partial_auc_score(y, model.decision_function(X), beta=1.0) > 0.5


def test_nothing_to_descend():
    X, y = np.zeros((20, 3)), np.arange(20) < 5
    model = ProjectedSubgradient("pauc", fit_intercept=False).fit(X, y)
    assert model.n_iter_ <= model.patience
    assert model.loss_ == pytest.approx(1.0)
    assert not model.coef_.any()
