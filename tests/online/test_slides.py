"""The scheme of the slides: what of it is right, and where it fails."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.fenchel_slides import (
    active_shares,
    alternate_struct,
    ascend,
    gmean,
    margin_svm,
    struct_gmean_loss,
    struct_loss,
    struct_loss_by_enumeration,
)

from csf.metrics import GMean
from csf.online._ascent import _project_gmean


def draw(seed, n=9):
    rng = np.random.default_rng(seed)
    is_pos = np.arange(n) < rng.integers(1, n)
    return rng.normal(size=n) * rng.uniform(0.1, 3.0), is_pos, rng.uniform(0.1, 3.0, size=2)


@given(alpha=st.floats(0.01, 10), beta=st.floats(0.01, 10), p=st.floats(0, 1), n=st.floats(0, 1))
def test_identity_of_the_conjugate(alpha, beta, p, n):
    left = alpha * p + beta * n - np.sqrt(p * n)
    right = (np.sqrt(alpha * p) - np.sqrt(beta * n)) ** 2 + np.sqrt(p * n) * (2 * np.sqrt(alpha * beta) - 1)
    assert left == pytest.approx(right, abs=1e-12)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_weighted_hinge_form_is_the_maximum_over_labellings(seed):
    scores, is_pos, (alpha, beta) = draw(seed)
    enumerated = struct_loss_by_enumeration(scores, is_pos, lambda p, n: -alpha * p - beta * n)
    assert struct_loss(scores, is_pos, alpha, beta) == pytest.approx(enumerated, abs=1e-12)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_table_is_the_maximum_over_labellings(seed):
    scores, is_pos, _ = draw(seed)
    enumerated = struct_loss_by_enumeration(scores, is_pos, lambda p, n: -gmean(p, n))
    assert struct_gmean_loss(scores, is_pos)[0] == pytest.approx(enumerated, abs=1e-12)


@given(seed=st.integers(0, 10**6))
def test_printed_gradient_lacks_a_minus_one(seed):
    scores, is_pos, dual = draw(seed, n=40)
    h = 1e-7
    slopes = [
        (struct_loss(scores, is_pos, *(dual + h * e)) - struct_loss(scores, is_pos, *(dual - h * e))) / (2 * h)
        for e in np.eye(2)
    ]
    assert slopes == pytest.approx(active_shares(scores, is_pos, *dual) - 1.0, abs=1e-5)


def test_printed_ascent_diverges_and_the_right_one_shrinks_to_the_hyperbola():
    scores, is_pos, _ = draw(3, n=200)
    half, full = (ascend(scores, is_pos, active_shares, steps=steps) for steps in (2000, 4000))
    assert (half > 50).all()
    assert full == pytest.approx(2.0 * half, rel=0.05)
    right = ascend(
        scores, is_pos, lambda *a: active_shares(*a) - 1.0, project=lambda *dual: _project_gmean(*dual, GMean().eps)
    )
    assert right.prod() == pytest.approx(0.25, rel=1e-6)


def test_projection_does_not_mend_the_printed_gradient():
    scores, is_pos, _ = draw(3, n=200)
    dual = ascend(scores, is_pos, active_shares, steps=4000, project=lambda *dual: _project_gmean(*dual, 1e-6))
    assert (dual > 50).all()


def toy(seed):
    rng = np.random.default_rng(seed)
    is_pos = np.arange(100) < 20
    X = rng.normal(size=(100, 3))
    X[is_pos] += 0.6
    return X, is_pos


def test_features_divided_by_the_margin_solve_the_struct_form():
    X, is_pos = toy(0)
    features, C, dual = np.column_stack([X, np.ones(100)]), 10.0, (0.8, 0.4)
    w = margin_svm(X, is_pos, *dual, C)

    def objective(v):
        return 0.5 * v @ v + C * struct_loss(features @ v, is_pos, *dual)

    least, rng = objective(w), np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        assert min(objective(w + size * rng.normal(size=4)) for _ in range(200)) >= least - 1e-9
    # a long subgradient descent ends at the same value
    v, best = np.zeros(4), np.inf
    n_pos, n_neg = 20, 80
    for t in range(1, 20001):
        s = features @ v
        active_pos = is_pos & (s < dual[0] * 100 / (2 * n_pos))
        active_neg = ~is_pos & (-s < dual[1] * 100 / (2 * n_neg))
        slope = v - C * 2 / 100 * (features[active_pos].sum(axis=0) - features[active_neg].sum(axis=0))
        v = v - slope / t
        best = min(best, objective(v))
    assert best == pytest.approx(least, abs=1e-3)


@pytest.mark.parametrize("C", [10.0, 100.0])
def test_alternation_of_the_struct_form_does_not_descend(C):
    """Even with closed-form duals: it stays above w = 0, whose objective is 0, in most draws."""
    ends = np.array([alternate_struct(*toy(seed), C)[-1] for seed in range(8)])
    assert (ends > 0.0).mean() > 0.5
