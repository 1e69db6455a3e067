"""Bisection: with expected counts the best cut, with labels close to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf.metrics import get_metric
from csf.thresholding import BisectionPlugIn, bisection, cost_threshold, probability_curve, sweep

NAMES = ["f1", "f2", "f0.5", "jaccard", "tversky", "accuracy", "balanced_accuracy", "gower_legendre"]
SHAPES = st.tuples(st.floats(0.3, 4), st.floats(0.3, 4), st.integers(3, 300), st.integers(1, 6))


def expected(shape, seed, weighted=False):
    """Curve of counts that are expected under random probabilities, rounded so that some are tied."""
    a, b, n, digits = shape
    rng = np.random.default_rng(seed)
    proba = np.append(rng.beta(a, b, n).round(digits), 0.5)
    return probability_curve(proba, sample_weight=rng.exponential(size=n + 1) if weighted else None)


@pytest.mark.parametrize("name", NAMES)
@given(SHAPES, st.integers(0, 100), st.booleans(), st.sampled_from([1e-2, 1e-5, 1e-9]))
@settings(max_examples=15)
def test_within_tol_of_the_sweep(name, shape, seed, weighted, tol):
    curve = expected(shape, seed, weighted)
    result, best = bisection(curve, name, tol=tol), curve.best(name).value
    assert best - tol - 1e-12 <= result.cut.value <= best + 1e-12
    assert best - 1e-12 <= result.upper <= result.cut.value + tol + 1e-12


@pytest.mark.parametrize("name", NAMES)
@given(SHAPES, st.integers(0, 100))
@settings(max_examples=15)
def test_dinkelbach_rises_to_the_same_value(name, shape, seed):
    """v+ = M(threshold of v): monotone with expected counts, and it ends where bisection does."""
    curve, metric = expected(shape, seed), get_metric(name)
    level = metric.range(curve.pos)[0]
    for _ in range(30):
        reached = metric.of(curve.at(cost_threshold(*metric.cost_weights(level, pos=curve.pos))))
        assert reached >= level - 1e-12
        level = reached
    assert level == pytest.approx(bisection(curve, metric).cut.value, abs=2e-9)


def test_steps_are_recorded():
    curve = expected((1.0, 1.0, 200, 6), 0)
    result = bisection(curve, "f1", tol=1e-6)
    np.testing.assert_allclose(result.thresholds, result.levels / 2)
    assert result.values.max() == result.cut.value
    assert result.cut.threshold == result.thresholds[result.values.argmax()]
    assert 3 < result.levels.shape[0] <= 22


def test_a_bracket_as_wide_as_tol_is_the_final_one():
    """Finding everything has a Jaccard index of 1/2: what is left of [0, 1] then is 1/2 wide."""
    curve = sweep(np.array([True, False]), np.array([0.2, 0.8]))
    assert bisection(curve, "jaccard", tol=0.5).levels.tolist() == [0.0]
    assert bisection(curve, "jaccard", tol=0.4999).levels.tolist() == [0.0, 0.75]


def test_labels_of_a_known_probability():
    """The threshold goes to F*/2; the sweep needs the labels' noise to do better."""
    rng = np.random.default_rng(0)
    proba = rng.beta(1, 4, 40_000)
    curve = sweep(rng.random(40_000) < proba, proba)
    truth = probability_curve(proba).best("f1")
    result, best = bisection(curve, "f1"), curve.best("f1")
    assert result.cut.threshold == pytest.approx(truth.value / 2, abs=0.01)
    assert best.threshold == pytest.approx(truth.value / 2, abs=0.03)
    assert best.value - 0.005 < result.cut.value <= best.value


def test_a_metric_of_value_zero_everywhere_ends():
    curve = sweep(np.array([True, False]), np.array([0.0, 1.0]))
    assert bisection(curve, "f1").cut.value == pytest.approx(2 / 3)
    assert bisection(curve, "precision").cut.value == pytest.approx(0.5)


@pytest.mark.parametrize("metric", ["gmean", "min_rate"])
def test_other_metrics_are_refused(metric):
    with pytest.raises(TypeError, match=f"{metric}.*PlugInClassifier"):
        bisection(expected((1, 1, 20, 2), 0), metric)


@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan, np.inf])
def test_bad_tol(tol):
    with pytest.raises(ValueError, match="tol must be positive"):
        bisection(expected((1, 1, 20, 2), 0), "f1", tol=tol)


# ---------------------------------------------------------------- the classifier


@pytest.fixture(scope="module")
def data():
    """Logistic data, so that logistic regression has the right probabilities."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    return X, (rng.random(3000) < expit(X @ [1.5, -1.0, 0.5] - 2.5)).astype(int)


@pytest.mark.parametrize("metric", ["f1", "jaccard"])
def test_classifier(data, metric):
    model = BisectionPlugIn(LogisticRegression(), metric).fit(*data)
    best = model.curve_.best(metric)
    assert model.best_score_ == model.bisection_.cut.value
    assert best.value - 0.02 < model.best_score_ <= best.value
    ratio = {"f1": model.best_score_ / 2, "jaccard": model.best_score_ / (1 + model.best_score_)}[metric]
    assert model.threshold_ == pytest.approx(ratio, abs=0.03)
    assert 0 < model.threshold_std_ < 0.05
    np.testing.assert_array_equal(model.predict(data[0]), model.predict_proba(data[0])[:, 1] >= model.threshold_)


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_margins_need_calibration(data, calibration):
    base = LinearSVC(dual=False)
    with pytest.raises(TypeError, match=r"LinearSVC has no predict_proba.*calibration"):
        BisectionPlugIn(base).fit(*data)
    model = BisectionPlugIn(base, calibration=calibration).fit(*data)
    assert model.best_score_ == pytest.approx(BisectionPlugIn(LogisticRegression()).fit(*data).best_score_, abs=0.02)


def test_metric_is_checked_before_anything_is_fitted(data):
    with pytest.raises(TypeError, match="linear-fractional"):
        BisectionPlugIn(None, "gmean").fit(*data)


def test_tol_is_a_number():
    with pytest.raises(TypeError, match="tol must be a number"):
        bisection(probability_curve([0.2, 0.8]), "f1", tol="small")
