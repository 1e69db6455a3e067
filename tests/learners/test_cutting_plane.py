"""The cutting plane: equal to general solvers, certified, whatever the input."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.structural_streams import each_loss, sparse_rows, stream, weights, with_constant
from oracles import structural_programs as oracle
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from csf.learners.cutting_plane import CuttingPlaneSolver, StructuralProblem, longest_scale, solve_simplex_qp
from csf.learners.structural import rows_of
from csf.structural import CuttingPlane, FBetaLoss, PartialAUC, PrecisionAtK, get_loss


def objective(model, X, y, w=None):
    """Recomputed from scratch."""
    w = weights(model) if w is None else w
    return 0.5 * w @ w + model.C * get_loss(model.loss).value(with_constant(model, X) @ w, y > 0)


@each_loss
@pytest.mark.parametrize("C", [1.0, 30.0, 1e3])
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
def test_random_points_are_never_better(loss):
    """The bound holds everywhere, which no solver has to be trusted for."""
    X, y = stream(2, n=200)
    model = CuttingPlane(loss, C=1e3, eps=1e-5).fit(X, y)
    rng, w = np.random.default_rng(0), weights(model)
    for size in (1e-3, 1e-1, 10.0):
        for _ in range(50):
            assert objective(model, X, y, w + size * rng.normal(size=w.size)) >= model.bound_
    found = minimize(lambda v: objective(model, X, y, v), w, method="Nelder-Mead", options={"maxiter": 2000})
    assert found.fun >= model.objective_ - 1e-5 * model.C


@each_loss
@settings(max_examples=15)
@given(seed=st.integers(0, 1000), C=st.floats(1e-3, 1e6), pos=st.sampled_from([0.02, 0.3, 0.9]))
def test_the_gap_is_certified(loss, seed, C, pos):
    X, y = stream(seed, n=120, pos=pos, noise=0.8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("csf.learners.cutting_plane.warn", lambda *args, **kwargs: None)
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
def test_sparse_rows_and_small_floats_give_the_same(loss):
    D, S = sparse_rows(stream(5, d=8)[0])
    y = stream(5, d=8)[1]
    inputs = D, S, D.astype(np.float32), S.astype(np.float32)
    models = [CuttingPlane(loss, C=1e4, eps=1e-6).fit(X, y) for X in inputs]
    for model in models[1:]:
        assert model.objective_ == pytest.approx(models[0].objective_, rel=3e-6)
    np.testing.assert_allclose(models[1].coef_, models[0].coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(models[3].coef_, models[2].coef_, rtol=1e-7, atol=1e-9)


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


def test_the_small_program_is_that_of_a_general_solver():
    rng = np.random.default_rng(3)
    for total in (0.5, 5.0):
        G = np.vstack([np.zeros(3), rng.normal(size=(6, 3))])
        H, linear = G @ G.T, np.append(0.0, rng.random(6))
        alpha = total * (np.arange(7) == 0)
        solve_simplex_qp(H, linear, total, alpha, 1e-12)
        general = minimize(
            lambda a, H=H, linear=linear: 0.5 * a @ H @ a - linear @ a,
            np.full(7, total / 7),
            bounds=[(0, None)] * 7,
            constraints={"type": "eq", "fun": lambda a, total=total: a.sum() - total},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert linear @ alpha - 0.5 * alpha @ H @ alpha == pytest.approx(-general.fun, abs=1e-7)


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
