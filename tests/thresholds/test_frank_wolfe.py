"""Frank-Wolfe: with expected counts its gap is a certificate; mixtures are distributions."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from csf.metrics import get_metric
from csf.thresholding import FrankWolfePlugIn, RandomizedFrankWolfePlugIn, frank_wolfe, probability_curve, sweep
from csf.thresholds.consistent import Mixture

NAMES = ["gmean", "hmean", "qmean"]
SHAPES = st.tuples(st.floats(0.3, 4), st.floats(0.3, 4), st.integers(3, 200), st.integers(1, 6))


def expected(shape, seed):
    """Curve of counts that are expected under random probabilities, rounded so that some are tied."""
    a, b, n, digits = shape
    return probability_curve(np.append(np.random.default_rng(seed).beta(a, b, n).round(digits), 0.5))


def best_mixture(curve, metric):
    """Largest value on the edges of the lower hull, on a fine grid of each."""
    hull = curve.lower_hull()
    shares = np.linspace(0, 1, 501)[:, np.newaxis]
    points = np.concatenate([hull, *((1 - shares) * a + shares * b for a, b in itertools.pairwise(hull))])
    return metric.value(points[:, 0], points[:, 1], pos=curve.pos).max()


@pytest.mark.filterwarnings("ignore:stopped after")
@pytest.mark.parametrize("name", NAMES)
@given(SHAPES, st.integers(0, 100), st.sampled_from([1, 2, 5, 50]))
@settings(max_examples=25)
def test_gap_is_a_certificate(name, shape, seed, max_iter):
    curve, metric = expected(shape, seed), get_metric(name)
    result = frank_wolfe(curve, metric, max_iter=max_iter)
    assert result.gap >= -1e-12
    assert best_mixture(curve, metric) - result.value <= result.gap + 1e-12
    assert result.n_iter <= max_iter


@pytest.mark.parametrize("name", NAMES)
@given(SHAPES, st.integers(0, 100))
@settings(max_examples=15)
def test_mixture_is_a_distribution_with_the_value_it_reports(name, shape, seed):
    curve, metric = expected(shape, seed), get_metric(name)
    result = frank_wolfe(curve, metric, max_iter=20)
    assert result.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (result.weights > 0).all()
    assert (np.diff(result.thresholds) < 0).all()
    profiles = [curve.at(threshold) for threshold in result.thresholds]
    fn, fp = (result.weights @ [getattr(p, error) for p in profiles] for error in ("fn", "fp"))
    assert (fn, fp) == pytest.approx((result.profile.fn, result.profile.fp), abs=1e-12)
    assert metric.value(fn, fp, pos=curve.pos) == pytest.approx(result.value, abs=1e-12)
    single = result.best_single
    assert metric.of(curve.at(single.threshold)) == single.value <= curve.best(metric).value + 1e-12


@pytest.mark.filterwarnings("ignore:stopped after")
@pytest.mark.parametrize("name", NAMES)
@given(SHAPES, st.integers(0, 100))
@settings(max_examples=10)
def test_line_search_never_falls(name, shape, seed):
    curve = expected(shape, seed)
    results = [frank_wolfe(curve, name, max_iter=steps, tol=0.0) for steps in range(1, 7)]
    assert (np.diff([result.value for result in results]) >= -1e-12).all()
    assert (np.diff([result.gap for result in results]) <= 1e-12).all()


@pytest.mark.parametrize("name", NAMES)
def test_converges_to_the_sweep(name):
    curve = expected((0.8, 4.0, 5000, 12), 0)
    result, best = frank_wolfe(curve, name), curve.best(name)
    assert result.gap < 1e-5
    assert result.best_single.value == pytest.approx(best.value, abs=1e-4)
    assert result.value == pytest.approx(best.value, abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
@given(SHAPES, st.integers(0, 1000))
@settings(max_examples=60)
def test_it_does_not_zigzag_between_two_thresholds(name, shape, seed):
    """The edge between two rules is one step; before, a hundred steps left a gap of 1e-5 to 1e-4."""
    curve = expected(shape, seed)
    result, best = frank_wolfe(curve, name), curve.best(name)
    assert result.n_iter <= 20
    assert result.gap <= 1e-6
    assert result.best_single.value >= best.value - 1e-5


def test_steps_that_do_not_suffice_come_with_a_warning():
    curve = expected((0.8, 4.0, 5000, 12), 0)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 steps, gap .* > tol=1e-06; raise max_iter"):
        frank_wolfe(curve, "qmean", max_iter=1)


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_a_known_probability(name):
    rng = np.random.default_rng(0)
    proba = rng.beta(1, 6, 20_000)
    curve = sweep(rng.random(20_000) < proba, proba)
    result, best = frank_wolfe(curve, name), curve.best(name)
    assert best.value - 0.01 < result.best_single.value <= best.value
    assert result.gap > -0.01


def test_positive_probability_adds_the_weights_of_the_thresholds_reached():
    result = Mixture(np.array([0.7, 0.41, 0.2, 0.1]), np.array([0.3, 0.1, 0.4, 0.2]), 0.0, None, 0.0, None, 1)
    score = np.concatenate([[0.0, 1.0], result.thresholds, np.nextafter(result.thresholds, 0)])
    direct = [result.weights[result.thresholds <= s].sum() for s in score]
    np.testing.assert_allclose(result.positive_probability(score), direct, atol=1e-12)


@pytest.mark.parametrize(
    ("metric", "match"), [("f1", "not concave"), ("min_rate", "no tangent"), ("accuracy", "not concave")]
)
def test_other_metrics_are_refused(metric, match):
    with pytest.raises(TypeError, match=f"{metric}.*{match}.*PlugInClassifier"):
        frank_wolfe(expected((1, 1, 20, 2), 0), metric)


@pytest.mark.parametrize(
    ("options", "match"), [({"max_iter": 0}, "max_iter"), ({"tol": -1.0}, "tol"), ({"tol": np.nan}, "tol")]
)
def test_bad_options(options, match):
    with pytest.raises(ValueError, match=match):
        frank_wolfe(expected((1, 1, 20, 2), 0), "gmean", **options)


# ---------------------------------------------------------------- the classifiers


@pytest.fixture(scope="module")
def data():
    return make_classification(1500, 6, weights=[0.9], class_sep=0.7, flip_y=0.05, random_state=0)


@pytest.mark.parametrize("name", NAMES)
def test_classifier_uses_the_best_single_threshold(data, name):
    model = FrankWolfePlugIn(LogisticRegression(), name).fit(*data)
    best = model.curve_.best(name)
    assert best.value - 0.02 < model.best_score_ <= best.value
    assert model.threshold_ == model.mixture_.best_single.threshold
    assert model.n_iter_ == model.mixture_.n_iter
    np.testing.assert_array_equal(model.predict(data[0]), model.predict_proba(data[0])[:, 1] >= model.threshold_)
    np.testing.assert_array_equal(model.predict(data[0]), model.decision_function(data[0]) > 0)


@pytest.fixture(scope="module")
def randomized(data):
    """A fitted classifier with a mixture that leaves much to chance."""
    model = RandomizedFrankWolfePlugIn(LogisticRegression(), random_state=0).fit(*data)
    model.mixture_ = replace(model.mixture_, thresholds=np.array([0.3, 0.05]), weights=np.array([0.25, 0.75]))
    return model


def test_randomized_classifier_draws_with_the_stated_probability(data, randomized):
    score, probability = randomized.positive_score(data[0]), randomized.positive_probability(data[0])
    np.testing.assert_array_equal(probability, np.select([score >= 0.3, score >= 0.05], [1.0, 0.75], 0.0))
    share = randomized.predict(np.repeat(data[0], 40, axis=0)).reshape(-1, 40).mean(axis=1)
    certain = probability != 0.75
    np.testing.assert_array_equal(share[certain], probability[certain])
    assert share[~certain].mean() == pytest.approx(0.75, abs=0.01)
    assert 0.04 < share[~certain].std() < 0.1  # drawn for every sample, not once for all


def test_randomized_classifier_repeats_with_a_seed(data, randomized):
    np.testing.assert_array_equal(randomized.predict(data[0]), randomized.predict(data[0]))
    other = RandomizedFrankWolfePlugIn(LogisticRegression()).set_params(**randomized.get_params())
    assert other.random_state == 0


def test_only_the_randomized_classifier_says_that_its_predictions_are_drawn():
    assert get_tags(RandomizedFrankWolfePlugIn(LogisticRegression())).non_deterministic
    assert not get_tags(FrankWolfePlugIn(LogisticRegression())).non_deterministic


def test_randomized_classifier_reports_expectations(data):
    model = RandomizedFrankWolfePlugIn(LogisticRegression(), "hmean", random_state=0).fit(*data)
    assert model.best_score_ == model.mixture_.value
    assert model.profile_ == model.mixture_.profile
    assert not hasattr(model, "decision_function")
    with pytest.raises(AttributeError, match="predictions are drawn"):
        _ = model.decision_function


def test_margins_need_calibration(data):
    with pytest.raises(TypeError, match=r"LinearSVC has no predict_proba.*calibration"):
        FrankWolfePlugIn(LinearSVC()).fit(*data)
    assert FrankWolfePlugIn(LinearSVC(), calibration="sigmoid").fit(*data).best_score_ > 0.7


def test_metric_is_checked_before_anything_is_fitted(data):
    with pytest.raises(TypeError, match="concave"):
        FrankWolfePlugIn(None, "f1").fit(*data)


def test_tol_is_a_number():
    with pytest.raises(TypeError, match="tol must be a number"):
        frank_wolfe(probability_curve([0.2, 0.8]), "gmean", tol="small")
