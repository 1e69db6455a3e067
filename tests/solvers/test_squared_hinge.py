"""The linear SVM with squared hinge loss: optimal, its gap true, on all paths, for all data."""

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_builders import LAYOUTS, problems, tight_squared_hinge
from scipy import sparse

import csf.solvers.squared_hinge
from csf.solvers import Rows, SquaredHinge
from csf.solvers.squared_hinge import best_mixture

# Up to how many features there is a matrix, and whether the coefficients are solved for without one.
PATHS = {"direct": (10**9, False), "primal": (0, True), "dual": (0, False)}
paths = pytest.mark.parametrize("path", PATHS)


def solver(problem, layout="C order"):
    return SquaredHinge(Rows(LAYOUTS[layout](problem.X), constant=problem.constant), problem.sign)


@contextmanager
def on_path(path):
    """Context in which problems of all shapes take one path."""
    direct, tall = PATHS[path]
    with (
        patch.object(csf.solvers.squared_hinge, "DIRECT", direct),
        patch.object(SquaredHinge, "_is_tall", lambda self: tall),
    ):
        yield


def check_certificate(problem, found):
    """The objective is that of the coefficients, and strong convexity puts the optimum within the gap."""
    assert found.objective == pytest.approx(problem.squared_hinge(found.w)[0], rel=1e-9)
    best = tight_squared_hinge(problem)
    least, rest = problem.squared_hinge(best)
    assert found.objective - found.gap <= least * (1.0 + 1e-10)
    # both are within the root of twice their gaps of the optimum
    reach = np.sqrt(2.0 * max(found.gap, 0.0)) + np.linalg.norm(rest)
    assert np.linalg.norm(found.w - best) <= reach * (1.0 + 1e-6) + 1e-6 * (1.0 + np.linalg.norm(best))


@given(problem=problems(), layout=st.sampled_from(sorted(LAYOUTS)))
@settings(max_examples=150)
def test_few_features_are_solved_to_the_last_digits(problem, layout):
    found = solver(problem, layout).solve(problem.weight, tol=1e-10)
    check_certificate(problem, found)
    assert found.relative_gap <= 1e-4
    if problem.weight.max() * np.abs(problem.X).max() ** 2 < 1e6:
        assert found.relative_gap <= 1e-10
    np.testing.assert_allclose(found.margins, problem.margins(found.w), atol=1e-9 * (1 + np.abs(problem.X).max()))


@paths
@given(problem=problems(), layout=st.sampled_from(sorted(LAYOUTS)), tol=st.sampled_from([0.3, 1e-2, 1e-8]))
@settings(max_examples=100)
def test_the_gap_is_true_whatever_the_data_and_the_goal(path, problem, layout, tol):
    with on_path(path):
        check_certificate(problem, solver(problem, layout).solve(problem.weight, tol=tol))


@given(problem=problems(scales=(-6, 1), flaws=("none", "zero column", "equal rows", "zero rows", "zero weights")))
@settings(max_examples=100)
def test_the_dual_path_is_nearly_as_good_where_features_have_one_scale(problem):
    with on_path("dual"):
        found = solver(problem).solve(problem.weight, tol=1e-6, max_iter=10_000)
    assert found.relative_gap <= 1e-4


@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_many_features_take_the_dual_path(kind):
    rng = np.random.default_rng(0)
    X, sign = rng.normal(size=(150, 700)) * (rng.random((150, 700)) < 0.05), np.where(rng.random(150) < 0.3, 1.0, -1.0)
    X[:, 0] += sign
    ours = SquaredHinge(Rows(LAYOUTS["CSR"](X) if kind == "CSR" else X), sign)
    weight = np.where(sign > 0, 1.5, 0.5)
    found = ours.solve(weight, tol=1e-9)
    assert found.dual is not None
    assert found.relative_gap <= 1e-9
    with on_path("direct"):
        direct = ours.solve(weight, tol=1e-12)
    assert direct.dual is None
    np.testing.assert_allclose(found.w, direct.w, atol=np.sqrt(2 * found.gap) + 1e-9)


def test_more_samples_than_features_are_solved_in_the_coefficients():
    rng = np.random.default_rng(0)
    X, sign = sparse.random(900, 600, 0.02, "csr", random_state=0), np.where(rng.random(900) < 0.3, 1.0, -1.0)
    ours, weight = SquaredHinge(Rows(X), sign), np.where(sign > 0, 1.5, 0.5)
    found = ours.solve(weight, tol=1e-9)
    with on_path("dual"):
        other = ours.solve(weight, tol=1e-9)
    assert found.dual is None
    assert other.dual is not None
    assert max(found.relative_gap, other.relative_gap) <= 1e-9
    np.testing.assert_allclose(found.w, other.w, atol=2.0 * np.sqrt(2.0 * max(found.gap, other.gap)))
    # Solutions of the other kind are no starts.
    again = ours.solve(weight, tol=1e-9, starts=[replace(other, w=None), found])
    assert again.n_iter == 0


@given(seed=st.integers(0, 10**6), count=st.integers(1, 6))
@settings(max_examples=30)
def test_the_best_mixture_is_none_worse_than_the_nearest_start(seed, count):
    rng = np.random.default_rng(seed)
    X, sign = rng.normal(size=(60, 5)), np.where(rng.random(60) < 0.4, 1.0, -1.0)
    ours, weight = SquaredHinge(Rows(X), sign), rng.exponential(size=60)
    with on_path("dual"):
        starts = [ours.solve(weight * np.exp(rng.normal(size=60)), tol=1e-4) for _ in range(count)]

    def value(w, margins):
        return 0.5 * w @ w + weight @ np.maximum(1.0 - margins, 0.0) ** 2

    w = ours.rows.combine(best_mixture(starts, weight) * sign)
    assert value(w, sign * ours.rows.scores(w)) <= value(starts[0].w, starts[0].margins) * (1 + 1e-9)
