"""Learners of a whole training set: the cutting plane against general solvers, subgradient descent, literally."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import structural_learners as literal
from oracles import structural_programs as oracle
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from structural_streams import each_loss, stream, weights, with_constant

from csf.structural import (
    CuttingPlane,
    FBetaLoss,
    PartialAUC,
    PrecisionAtK,
    ProjectedSubgradient,
    get_loss,
    partial_auc_score,
)
from csf.structural.base import rows_of
from csf.structural.cutting_plane import CuttingPlaneSolver, StructuralProblem, longest_scale, solve_simplex_qp


def objective(model, X, y, w=None):
    """Recomputed from scratch."""
    w = weights(model) if w is None else w
    return 0.5 * w @ w + model.C * get_loss(model.loss).value(with_constant(model, X) @ w, y > 0)


@each_loss
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_it_is_the_program_with_all_constraints(loss, C):
    """Every labelling, or every set of pairs and negatives, is a constraint of a general solver."""
    X, y = stream(n=10, d=3, pos=0.3, noise=0.2)
    model = CuttingPlane(loss, C=C, eps=1e-9).fit(X, y)
    slopes, offsets = oracle.all_cuts(loss, y > 0)
    w, least = oracle.minimise_pieces(with_constant(model, X), slopes, offsets, C)
    assert model.objective_ <= least + 1e-6 * C
    assert model.objective_ == pytest.approx(least, rel=3e-3)
    np.testing.assert_allclose(weights(model), w, atol=2e-2 * max(1.0, np.linalg.norm(w)))


@each_loss
@pytest.mark.parametrize(("n", "C"), [(30, 10.0), (200, 1e2), (200, 1e4)])
def test_it_is_the_minimum_of_a_general_solver(loss, n, C):
    X, y = stream(1, n=n, d=4, pos=0.2, noise=0.4)
    model = CuttingPlane(loss, C=C, eps=1e-6).fit(X, y)

    def value_and_slope(score):
        tangent = get_loss(loss).tangent(score, y > 0)
        return tangent.value, tangent.slope

    best = oracle.minimise_by_bundle(value_and_slope, with_constant(model, X), C)
    assert model.bound_ <= best
    assert model.objective_ == pytest.approx(best, rel=1e-3)


@each_loss
@settings(max_examples=15)
@given(seed=st.integers(0, 1000), C=st.floats(1e-3, 1e6), pos=st.sampled_from([0.02, 0.3, 0.9]))
def test_the_gap_is_certified(loss, seed, C, pos):
    X, y = stream(seed, n=120, pos=pos, noise=0.8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("csf.structural.cutting_plane.warn", lambda *args, **kwargs: None)
        model = CuttingPlane(loss, C=C).fit(X, y)
    assert model.gap_ <= 1e-3
    assert model.objective_ == pytest.approx(objective(model, X, y), rel=1e-9, abs=1e-9)
    assert model.objective_ <= C * (1.0 + 1e-3) + 1e-3
    best, bound = model.history_["objective"], model.history_["bound"]
    assert (np.diff(bound) >= 0).all()
    assert (best >= bound - 1e-9 * max(1.0, C)).all()
    assert len(best) == model.n_iter_ == model.n_updates_


@pytest.mark.filterwarnings("ignore:zero weights")
def test_a_tiny_C_gives_tiny_weights():
    X, y = stream(3)
    sizes = [np.linalg.norm(weights(CuttingPlane("pauc", C=C, eps=1e-9).fit(X, y))) for C in (1e-1, 1e-3, 1e-5)]
    assert sizes[0] > 10 * sizes[1] > 100 * sizes[2] > 0.0


def test_kappa_is_another_C():
    """The loss at kappa w is the loss of kappa 1 at w: so C counts as C times kappa squared."""
    X, y = stream(4, n=100)
    kappa = 0.05
    own = CuttingPlane(FBetaLoss(kappa=kappa), C=1e4, eps=1e-8).fit(X, y)
    unit = CuttingPlane(FBetaLoss(kappa=1.0), C=1e4 * kappa**2, eps=1e-8).fit(X, y)
    np.testing.assert_allclose(kappa * own.coef_, unit.coef_, atol=1e-3 * np.abs(unit.coef_).max())


@each_loss
def test_positives_may_be_the_first_label(loss):
    X, y = stream(6)
    usual = CuttingPlane(loss).fit(X, y)
    swapped = CuttingPlane(loss, pos_label="a").fit(X, np.where(y > 0, "a", "b"))
    np.testing.assert_allclose(swapped.coef_, -usual.coef_)
    np.testing.assert_array_equal(swapped.predict(X) == "a", usual.predict(X) == 1)
    assert pickle.loads(pickle.dumps(swapped)).threshold_ == usual.threshold_


def test_losses_that_rank_predict_as_many_positives_as_there_are():
    X, y = stream(7)
    for loss in ("prbep", "pauc"):
        model = CuttingPlane(loss).fit(X, y)
        assert (model.predict(X) == 1).sum() == (y == 1).sum()
        assert model.intercept_ == pytest.approx(0.0, abs=1e-9)


def test_a_tuned_threshold_is_not_worse():
    X, y = stream(8)
    plain, tuned = (CuttingPlane("f1", C=1e5, tune_threshold=t).fit(X, y) for t in (False, True))
    values = [FBetaLoss().performance(model.decision_function(X), y > 0) for model in (plain, tuned)]
    assert values[1] >= values[0]
    assert (plain.threshold_, tuned.threshold_ != 0.0) == (0.0, True)


def test_planes_that_rest_are_forgotten_and_nothing_else_changes():
    X, y = stream(9, n=400, d=10, noise=0.6)
    short, long = (CuttingPlane("pauc", C=1e5, drop_after=d).fit(X, y) for d in (1, 1000))
    assert (np.diff(short.history_["bound"]) >= 0).all()
    assert short.history_["n_cuts"].max() < long.history_["n_cuts"].max() == long.n_iter_ - 1
    assert short.gap_ <= 1e-3
    assert short.objective_ == pytest.approx(long.objective_, rel=5e-3)


def test_one_solver_serves_many_C():
    X, y = stream(10)
    how = {"n_features": 4, "constant": 1.0, "x_scale": longest_scale(X)}
    problem = StructuralProblem(rows_of(X), y > 0, PartialAUC().class_tangent, **how)
    solver = CuttingPlaneSolver(problem)
    for C in (1e4, 10.0, 1e3):
        best, _, steps = solver.solve(C, eps=1e-6, max_iter=1000)
        fresh, _, fresh_steps = CuttingPlaneSolver(problem).solve(C, eps=1e-6, max_iter=1000)
        assert steps[-1].objective == pytest.approx(fresh_steps[-1].objective, rel=1e-5)
        np.testing.assert_allclose(best, fresh, atol=2e-2 * np.linalg.norm(fresh))
    assert len(steps) < len(fresh_steps)


def test_too_few_planes_come_with_a_warning():
    X, y = stream(11)
    model = CuttingPlane("pauc", C=1e6, max_iter=3)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 3 tangent planes with a gap of .* > eps=0.001") as met:
        model.fit(X, y)
    assert met[0].filename == __file__
    assert model.gap_ > model.eps


def test_a_loss_that_no_weights_lower_comes_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.permutation(200) < 20
    with pytest.warns(UserWarning, match="zero weights are as good as any"):
        CuttingPlane("prbep", C=1e6).fit(X, y)


def test_equal_rows_and_constant_columns_are_harmless():
    X, y = stream(12, n=50)
    X = np.c_[np.repeat(X, 3, axis=0), np.ones(150), np.zeros(150)]
    model = CuttingPlane("f1", C=1e3).fit(X, np.repeat(y, 3))
    assert model.gap_ <= 1e-3
    assert model.coef_[0, -1] == 0.0


def test_rows_of_zeros_have_no_scale():
    X = np.zeros((10, 2))
    assert longest_scale(X) == 1.0
    assert longest_scale(sparse.csr_array(X)) == 1.0
    assert longest_scale(np.array([[4.0]])) == 0.25
    assert longest_scale(np.array([[3.0, 4.0]])) == 0.125
    assert 0.0 < longest_scale(np.array([[1e200]])) * 1e200 <= 1.0


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), rank=st.integers(1, 6), total=st.floats(1e-2, 1e6))
def test_the_small_program_is_solved_to_the_end(seed, n, rank, total):
    """Also where planes are equal or dependent; the slack variable comes first."""
    rng = np.random.default_rng(seed)
    planes = rng.normal(size=(n, rank))[rng.integers(0, n, n)]
    G = np.vstack([np.zeros(rank), planes])
    H, linear = G @ G.T, np.append(0.0, rng.random(n))
    alpha = total * (np.arange(n + 1) == 0)
    scale = max(1.0, total, total**2 * H.max())
    gap = solve_simplex_qp(H, linear, total, alpha, 1e-12 * scale)
    gradient = linear - H @ alpha
    assert gap <= 1e-9 * scale
    assert (alpha >= 0).all()
    assert alpha.sum() == pytest.approx(total)
    assert total * gradient.max() - alpha @ gradient <= 1e-9 * scale


def test_a_threshold_needs_a_metric_to_be_tuned():
    class Unnamed(PrecisionAtK):
        ranking = False

    X, y = stream(n=20, pos=0.5)
    with pytest.raises(ValueError, match="needs a loss with a metric to be tuned"):
        CuttingPlane(Unnamed(), tune_threshold=True).fit(X, y)


def test_bad_data_is_refused():
    X, y = stream(n=20, pos=0.5)
    with pytest.raises(ValueError, match="contains NaN"):
        CuttingPlane().fit(np.where(X > 0.2, np.nan, X), y)
    with pytest.raises(ValueError, match="one class only"):
        CuttingPlane().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="has 2 features, but CuttingPlane is expecting 4"):
        CuttingPlane().fit(X, y).predict(X[:, :2])


def test_it_tells_what_it_does(capsys):
    X, y = stream(n=50, pos=0.3)
    model = CuttingPlane("pauc", verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[-1].startswith("objective ")


# ---------------------------------------------------------------- projected subgradient descent


@each_loss
def test_it_is_the_literal_algorithm(loss):
    X, y = stream(n=150)
    model = ProjectedSubgradient(loss, radius=8.0, max_iter=30, patience=100).fit(X, y)
    Z, w, points, eta = with_constant(model, X), np.zeros(5), [np.zeros(5)], None
    for t in range(1, 31):
        gradient = Z.T @ literal.subgradient(loss, Z @ w, y > 0)
        eta = 8.0 / np.linalg.norm(gradient) if eta is None else eta
        w = literal.project(w - eta / np.sqrt(t) * gradient, 8.0)
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
    gradient = Z.T @ literal.subgradient("pauc", np.zeros(600), y > 0)
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
