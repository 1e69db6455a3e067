"""Maps from scores to probabilities."""

import numpy as np
import pytest
from scipy.special import expit

from csf.thresholds.linear_rule import fit_calibrator


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    score = rng.standard_normal(20_000)
    return score, rng.random(20_000) < expit(2.0 * score - 1.5)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_finds_the_probabilities(kind, data):
    score, is_pos = data
    proba = fit_calibrator(kind, score, is_pos, None).predict(np.linspace(-2, 2, 9))
    np.testing.assert_allclose(proba, expit(2.0 * np.linspace(-2, 2, 9) - 1.5), atol=0.04)
    assert (np.diff(proba) >= 0).all()


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_units_of_the_score_do_not_matter(kind, data):
    score, is_pos = data
    near = fit_calibrator(kind, score, is_pos, None).predict(score)
    far = fit_calibrator(kind, 1e6 * score + 1e7, is_pos, None).predict(1e6 * score + 1e7)
    np.testing.assert_allclose(near, far, atol=1e-4)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_weights_are_repetitions(kind, data):
    score, is_pos = data[0][:300], data[1][:300]
    times = np.random.default_rng(1).integers(0, 4, 300)
    weighted = fit_calibrator(kind, score, is_pos, times.astype(float)).predict(score)
    repeated = fit_calibrator(kind, np.repeat(score, times), np.repeat(is_pos, times), None).predict(score)
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)


def test_separable_scores_stay_off_zero_and_one():
    proba = fit_calibrator("sigmoid", np.arange(4.0), np.array([False, False, True, True]), None).predict(
        np.arange(4.0)
    )
    assert 0.1 < proba[0] < 0.5 < proba[-1] < 0.9


def test_equal_scores_get_the_share_of_positives():
    proba = fit_calibrator("sigmoid", np.zeros(1000), np.arange(1000) < 300, None).predict(np.zeros(1))
    assert proba == pytest.approx(0.3, abs=1e-3)


def test_bad_input():
    with pytest.raises(ValueError, match=r"calibration must be one of.*'beta'"):
        fit_calibrator("beta", np.zeros(2), np.array([True, False]), None)
    with pytest.raises(ValueError, match="needs finite scores"):
        fit_calibrator("sigmoid", np.array([0.0, np.inf]), np.array([True, False]), None)
