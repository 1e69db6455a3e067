"""FTRL: leaders of the stream, penalties that add up, the bound of the regret."""

import math

import numpy as np
import pytest
from learners.structural_streams import each_loss, stream, weights, with_constant
from oracles import structural_programs as oracle
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from csf.structural import FTRL, CuttingPlane, StructuralLoss, Tangent, get_loss


class HingeMean(StructuralLoss):
    """A loss that is a mean over samples: the ordinary case."""

    metric = "accuracy"

    def class_tangent(self, scores):
        """Mean hinge loss."""
        margin = np.concatenate([scores.pos, -scores.neg])
        sign = np.where(np.arange(margin.size) < scores.pos.size, -1.0, 1.0)
        active = margin < 1.0
        return Tangent(np.maximum(1.0 - margin, 0.0).mean(), active.mean(), active * sign / margin.size)


def total(loss, Z, y, w):
    """Loss as a sum; 0 while one class is missing."""
    n_pos = int((y > 0).sum())
    if n_pos in (0, len(y)):
        return 0.0
    scaled, factor = get_loss(loss).total(n_pos, len(y) - n_pos)
    return factor * scaled.value(Z @ w, y > 0)


@each_loss
def test_the_weights_are_the_regularised_minimum(loss):
    X, y = stream(n=80, pos=0.3)
    model = FTRL(loss, eta=0.5, eps=1e-6, shuffle=False).fit(X, y)
    Z, w, rng = with_constant(model, X), weights(model), np.random.default_rng(0)
    least = total(loss, Z, y, w) + 0.25 * w @ w
    for size in (1e-3, 0.1, 3.0):
        for _ in range(40):
            v = w + size * rng.normal(size=w.size)
            assert total(loss, Z, y, v) + 0.25 * v @ v >= least - 1e-5 * len(y) * (1 + least)


def test_a_mean_over_samples_is_the_ordinary_leader():
    X, y = stream(1, n=60, pos=0.4)
    model = FTRL(HingeMean(), eta=0.7, eps=1e-8, shuffle=False).fit(X, y)
    svm = LinearSVC(loss="hinge", C=1 / 0.7, tol=1e-9, max_iter=100_000, random_state=0).fit(X * model.x_scale_, y)
    np.testing.assert_allclose(weights(model), np.append(svm.coef_[0], svm.intercept_), atol=1e-3)


@each_loss
def test_penalties_of_fixed_weights_telescope(loss, monkeypatch):
    X, y = stream(2, n=150)
    w = np.random.default_rng(0).normal(size=5)
    monkeypatch.setattr(FTRL, "_minimise", lambda self, *args: w)
    order = np.random.default_rng(1).permutation(150)
    sums = []
    for rows in (np.arange(150), order):
        for refit in ("every", "geometric", 7):
            model = FTRL(loss, refit=refit)
            model.partial_fit(X[rows][:1], y[rows][:1], classes=[-1, 1])
            model._w = w.copy()
            model.partial_fit(X[rows][1:], y[rows][1:])
            model._refit()
            sums.append(model.penalty_)
    expected = total(loss, with_constant(model, X), y, w)
    np.testing.assert_allclose(sums, expected, rtol=1e-9)


def test_penalties_are_those_of_the_definition():
    """Each example is charged at the weights before it."""
    X, y = stream(3, n=40, pos=0.3)
    model = FTRL("prbep", refit="every", eta=2.0)
    model.partial_fit(X, y)  # sets the scale
    Z, charged, fresh = with_constant(model, X), 0.0, FTRL("prbep", refit="every", eta=2.0)
    for t in range(40):
        w = np.append(fresh.coef_[0] / model.x_scale_, fresh.intercept_) if t else np.zeros(5)
        charged += total("prbep", Z[: t + 1], y[: t + 1], w) - total("prbep", Z[:t], y[:t], w)
        fresh.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
    assert fresh.penalty_ == pytest.approx(charged, abs=1e-6)


def test_the_regret_is_bounded():
    """In the theorem's setting: precision at k, a minimum after each example, 8 as the slope of a penalty."""
    X, y = stream(4, n=100, pos=0.3)
    for w_star_size in (1.0, 5.0):
        eta = 8.0 * math.sqrt(2.0 * 100) / w_star_size
        model = FTRL("prbep", refit="every", eta=eta).partial_fit(X, y)
        Z = with_constant(model, X)
        best = CuttingPlane("prbep", C=1e6).fit(X, y)
        for w in (np.zeros(5), weights(model), weights(best)):
            w = w * min(1.0, w_star_size / max(np.linalg.norm(w), 1e-12))
            bound = total("prbep", Z, y, w) + np.linalg.norm(w) * math.sqrt(2.0 * 100 * 64)
            assert model.penalty_ <= bound


def test_weights_are_stable():
    X, y = stream(5, n=60, pos=0.3)
    eta, before = 20.0, np.zeros(5)
    model = FTRL("prbep", refit="every", eta=eta, eps=1e-9)
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    for t in range(1, 60):
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        assert np.linalg.norm(weights(model) - before) <= 8.0 / eta + 1e-3
        before = weights(model)


@each_loss
def test_weights_stay_in_the_ball_and_use_it(loss):
    X, y = stream(6, n=200)
    free = FTRL(loss, eta=1e-4, radius=1e6, random_state=0).fit(X, y)
    radius = 0.3 * float(np.linalg.norm(weights(free)))
    model = FTRL(loss, eta=1e-4, radius=radius, random_state=0).fit(X, y)
    assert 0.95 * radius <= np.linalg.norm(weights(model)) <= radius * (1 + 1e-9)


@each_loss
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_the_minimum_in_the_ball_is_as_precise_as_asked_for(loss, share):
    """Against a general solver of the tangent planes met, with the ball as a constraint of its own."""
    X, y = stream(6, n=120)
    free = FTRL(loss, eta=1e-4, radius=1e6, shuffle=False).fit(X, y)
    radius, eps = share * float(np.linalg.norm(weights(free))), 1e-7
    model = FTRL(loss, eta=1e-4, radius=radius, eps=eps, shuffle=False).fit(X, y)
    Z, w = with_constant(model, X), weights(model)
    scaled, factor = get_loss(loss).total(int((y > 0).sum()), int((y < 0).sum()))

    def objective(v):
        return scaled.value(Z @ v, y > 0) + 0.5e-4 / factor * v @ v

    def value_and_slope(v):
        return objective(v), Z.T @ scaled.tangent(Z @ v, y > 0).slope + 1e-4 / factor * v

    assert np.linalg.norm(w) <= radius * (1 + 1e-12)
    assert objective(w) <= oracle.minimise_in_ball(value_and_slope, w.size, radius) + 2 * eps


def test_the_default_regulariser_grows_with_the_stream():
    X, y = stream(7, n=300)
    model = FTRL("prbep", radius=50.0, shuffle=False).fit(X, y)
    given = FTRL("prbep", radius=50.0, eta=8.0 * math.sqrt(600.0) / 50.0, shuffle=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, given.coef_, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(("refit", "updates"), [("every", 49), (10, 5), ("geometric", None)])
def test_the_schedule_is_kept_whatever_the_chunks(refit, updates):
    X, y = stream(8, n=50, pos=0.4)
    y[:2] = 1, -1
    whole = FTRL("pauc", refit=refit).partial_fit(X, y)
    parts = FTRL("pauc", refit=refit)
    for start in range(0, 50, 3):
        parts.partial_fit(X[start : start + 3], y[start : start + 3], classes=[-1, 1])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert parts.penalty_ == whole.penalty_
    assert updates is None or whole.n_updates_ == updates
    assert 5 <= whole.n_updates_ <= 49


def test_nothing_is_learnt_before_both_classes_are_there():
    X, y = stream(10, n=60)
    y[:] = -1
    model = FTRL("f1").partial_fit(X, y, classes=[-1, 1])
    assert (model.n_updates_, model.penalty_, model.n_seen_) == (0, 0.0, 60)
    assert not model.coef_.any()
    ranking = FTRL("pauc").partial_fit(X, y, classes=[-1, 1])
    assert (ranking.predict(X) == -1).all()
    ranking.partial_fit(-X, -y)
    assert ranking.n_updates_ > 0


def test_fit_ends_with_all_samples():
    X, y = stream(11, n=500)
    model = FTRL("pauc", refit=1000, random_state=0).fit(X, y)
    assert model.n_updates_ == 1
    assert (model.predict(X) == 1).sum() == (y == 1).sum()


def test_too_few_planes_come_with_a_warning():
    X, y = stream(13)
    model = FTRL("pauc", eta=1e-3, max_planes=3, refit=1000, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped after 3 tangent planes .*; raise max_planes or eta") as met:
        model.fit(X, y)
    assert met[0].filename == __file__


def test_a_loss_that_no_weights_lower_comes_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.permutation(200) < 20
    with pytest.warns(UserWarning, match=r"zero weights are as good as any .* Lower eta or raise radius, use a looser"):
        FTRL("prbep", random_state=0).fit(X, y)
