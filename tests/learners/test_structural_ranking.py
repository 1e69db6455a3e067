"""Partial AUC and precision at k: equal to double loops, and to scikit-learn where it has the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import structural_losses as oracle
from sklearn.metrics import roc_auc_score

from csf.structural import partial_auc_score, precision_at_k_score

scores = st.lists(st.integers(-2, 2), min_size=2, max_size=8).filter(lambda values: len(values) >= 2)


@given(values=scores, n_pos=st.integers(1, 7), beta=st.floats(0.01, 1.0), mode=st.sampled_from(["count", "fraction"]))
def test_partial_auc_is_that_of_a_double_loop(values, n_pos, beta, mode):
    score, n_pos = np.array(values, dtype=float), min(n_pos, len(values) - 1)
    is_pos = np.arange(len(score)) < n_pos
    count = beta * (len(score) - n_pos)
    expected = oracle.partial_auc(score, is_pos, np.ceil(count - 1e-9) if mode == "count" else count)
    assert partial_auc_score(is_pos, score, beta=beta, mode=mode) == pytest.approx(expected, abs=1e-9)


@given(values=scores, n_pos=st.integers(1, 7), k=st.none() | st.floats(0.01, 0.99))
def test_precision_at_k_is_the_mean_over_all_tops(values, n_pos, k):
    score, n_pos = np.array(values, dtype=float), min(n_pos, len(values) - 1)
    is_pos = np.arange(len(score)) < n_pos
    size = n_pos if k is None else int(np.ceil(k * len(score) - 1e-9))
    expected = oracle.precision_at_k(score, is_pos, size)
    assert precision_at_k_score(is_pos, score, k=k) == pytest.approx(expected, abs=1e-12)


def test_all_negatives_give_the_area_under_the_curve():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 200), rng.integers(0, 20, 200)
    assert partial_auc_score(y, score, beta=1.0) == pytest.approx(roc_auc_score(y, score))


def test_without_ties_the_fraction_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    score = rng.normal(size=300) + y
    n_neg = int((y == 0).sum())
    beta = 20 / n_neg  # at whole numbers of negatives the curve has its corners
    least, area = 0.5 * beta**2, partial_auc_score(y, score, beta=beta, mode="fraction") * beta
    standardised = 0.5 * (1.0 + (area - least) / (beta - least))
    assert standardised == pytest.approx(roc_auc_score(y, score, max_fpr=beta))


def test_labels_of_any_kind():
    y, score = np.array(["ill", "well", "ill", "well"]), [0.9, 0.4, 0.3, 0.1]
    assert precision_at_k_score(y, score, pos_label="ill") == 0.5
    assert partial_auc_score(y, score, beta=0.5, pos_label="ill") == 0.5


@pytest.mark.parametrize("beta", [0.0, -0.1, 1.1, float("nan")])
def test_bad_ranges_are_named(beta):
    with pytest.raises(ValueError, match=r"beta must be a number in \(0, 1\]"):
        partial_auc_score([0, 1], [0.0, 1.0], beta=beta)


def test_bad_arguments_are_named():
    with pytest.raises(TypeError, match=r"beta must be a number in \(0, 1\]"):
        partial_auc_score([0, 1], [0.0, 1.0], beta="0.1")
    with pytest.raises(ValueError, match="mode must be one of"):
        partial_auc_score([0, 1], [0.0, 1.0], mode="area")
    with pytest.raises(ValueError, match=r"k must be a number in \(0, 1\)"):
        precision_at_k_score([0, 1], [0.0, 1.0], k=2.0)
    with pytest.raises(ValueError, match="one class only"):
        precision_at_k_score([0, 0], [0.0, 1.0])
    with pytest.raises(ValueError, match="contains NaN"):
        partial_auc_score([0, 1], [0.0, np.nan])
