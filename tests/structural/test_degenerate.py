"""Training sets on which planes are equal or dependent: every learner gets through, and certificates hold."""

import warnings

import numpy as np
import pytest
from oracles import structural_programs as oracle
from structural_streams import each_loss, with_constant

from csf.structural import (
    FTRL,
    CuttingPlane,
    OnePassMiniBatch,
    ProjectedSubgradient,
    TwoPassMiniBatch,
    get_loss,
)
from csf.structural.cutting_plane import solve_simplex_qp

FEATURES = {
    "constant": lambda rng, n: np.ones((n, 1)),
    "zero": lambda rng, n: np.zeros((n, 2)),
    "binary": lambda rng, n: rng.integers(0, 2, (n, 1)).astype(float),
    "three binary": lambda rng, n: rng.integers(0, 2, (n, 3)).astype(float),
    "duplicate columns": lambda rng, n: np.repeat(rng.normal(size=(n, 1)), 3, axis=1),
    "duplicate rows": lambda rng, n: rng.normal(size=(3, 2))[rng.integers(0, 3, n)],
    "one column large": lambda rng, n: np.column_stack([np.full(n, 1e6), rng.integers(0, 2, n)]),
    "large": lambda rng, n: rng.integers(0, 2, (n, 2)) * 1e100,
    "small": lambda rng, n: rng.integers(0, 2, (n, 2)) * 1e-100,
}
LEARNERS = {
    "ftrl": lambda loss: FTRL(loss, shuffle=False),
    "cutting plane": lambda loss: CuttingPlane(loss),
    "one pass": lambda loss: OnePassMiniBatch(loss, random_state=0),
    "two passes": lambda loss: TwoPassMiniBatch(loss, random_state=0),
    "subgradient": lambda loss: ProjectedSubgradient(loss),
}
each_kind = pytest.mark.parametrize("kind", FEATURES)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def problem(kind, seed, n):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < rng.choice([0.1, 0.3, 0.7]), 1, -1)
    y[:2] = 1, -1
    return FEATURES[kind](rng, n), y


@each_kind
@pytest.mark.parametrize("learner", LEARNERS)
@each_loss
def test_every_learner_gets_through(kind, learner, loss):
    for seed, n in [(0, 4), (1, 30)]:
        X, y = problem(kind, seed, n)
        model = LEARNERS[learner](loss).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()


def test_one_row_again_and_again():
    model = FTRL("prbep", shuffle=False).fit([[1.0]] * 4, [0, 1, 0, 0])
    assert np.isfinite(model.coef_).all()


@each_kind
@each_loss
def test_certificates_hold(kind, loss):
    """Objectives are what they are, bounds are below those of a general solver, gaps are as small as asked for."""
    for seed in range(2):
        X, y = problem(kind, seed, 12)
        C = float(10.0 ** np.random.default_rng(seed).integers(-1, 3))
        model = CuttingPlane(loss, C=C, eps=1e-6).fit(X, y)
        Z = with_constant(model, X)

        def value_and_slope(score, y=y):
            tangent = get_loss(loss).tangent(score, y > 0)
            return tangent.value, tangent.slope

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the general solver
            best = oracle.minimise_by_bundle(value_and_slope, Z, C, rounds=60)
        assert 0.0 < model.gap_ <= 1e-6
        assert model.bound_ <= best * (1 + 1e-12)
        assert model.objective_ <= best + 1e-5 * max(1.0, C)


@pytest.mark.parametrize("seed", range(12))
def test_dependent_planes(seed):
    """The small program with planes that are equal, multiples, mixtures, or zero."""
    rng = np.random.default_rng(seed)
    basis = rng.integers(-2, 3, (rng.integers(1, 3), 3)) * 10.0 ** rng.integers(-8, 9)
    planes = rng.integers(-1, 2, (12, len(basis))) @ basis
    planes[rng.random(12) < 0.2] = 0.0
    H, linear = planes @ planes.T, np.append(0.0, rng.integers(0, 3, 11).astype(float))
    total = float(10.0 ** rng.integers(-3, 5))
    alpha = total * (np.arange(12) == 0)
    size = max(1.0, total, total**2 * H.max())
    gap = solve_simplex_qp(H, linear, total, alpha, 1e-12 * size)
    gradient = linear - H @ alpha
    assert alpha.min() >= 0.0
    assert alpha.sum() == pytest.approx(total)
    assert gap == pytest.approx(total * gradient.max() - alpha @ gradient, abs=1e-12 * size)
    assert gap <= 1e-9 * size
