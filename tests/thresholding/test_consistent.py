"""Thresholds by the methods of the papers: with expected counts the best cut, with labels close to it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from csf.metrics import get_metric
from csf.plugin import BisectionPlugIn, FrankWolfePlugIn, RandomizedFrankWolfePlugIn
from csf.thresholding import bisection, cost_threshold, frank_wolfe, probability_curve, sweep
from csf.thresholding.consistent import Mixture

RATIOS = ["f1", "f2", "f0.5", "jaccard", "tversky", "accuracy", "balanced_accuracy", "gower_legendre"]
MEANS = ["gmean", "hmean", "qmean"]
SHAPES = st.tuples(st.floats(0.3, 4), st.floats(0.3, 4), st.integers(3, 300), st.integers(1, 6))
each_ratio = pytest.mark.parametrize("name", RATIOS)
each_mean = pytest.mark.parametrize("name", MEANS)


def expected(shape, seed, weighted=False):
    """Curve of counts that are expected under random probabilities, rounded so that some are tied."""
    a, b, n, digits = shape
    rng = np.random.default_rng(seed)
    proba = np.append(rng.beta(a, b, n).round(digits), 0.5)
    return probability_curve(proba, sample_weight=rng.exponential(size=n + 1) if weighted else None)


# ---------------------------------------------------------------- bisection


@each_ratio
@given(SHAPES, st.integers(0, 100), st.booleans(), st.sampled_from([1e-2, 1e-5, 1e-9]))
@settings(max_examples=15)
def test_within_tol_of_the_sweep(name, shape, seed, weighted, tol):
    curve = expected(shape, seed, weighted)
    result, best = bisection(curve, name, tol=tol), curve.best(name).value
    assert best - tol - 1e-12 <= result.cut.value <= best + 1e-12
    assert best - 1e-12 <= result.upper <= result.cut.value + tol + 1e-12


@each_ratio
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


def test_bisection_of_labels_of_a_known_probability():
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


# ---------------------------------------------------------------- Frank-Wolfe


def best_mixture(curve, metric):
    """Largest value on the edges of the lower hull, on a fine grid of each."""
    hull = curve.lower_hull()
    shares = np.linspace(0, 1, 501)[:, np.newaxis]
    points = np.concatenate([hull, *((1 - shares) * a + shares * b for a, b in itertools.pairwise(hull))])
    return metric.value(points[:, 0], points[:, 1], pos=curve.pos).max()


@pytest.mark.filterwarnings("ignore:stopped after")
@each_mean
@given(SHAPES, st.integers(0, 100), st.sampled_from([1, 2, 5, 50]))
@settings(max_examples=25)
def test_gap_is_a_certificate(name, shape, seed, max_iter):
    curve, metric = expected(shape, seed), get_metric(name)
    result = frank_wolfe(curve, metric, max_iter=max_iter)
    assert result.gap >= -1e-12
    assert best_mixture(curve, metric) - result.value <= result.gap + 1e-12
    assert result.n_iter <= max_iter


@each_mean
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
@each_mean
@given(SHAPES, st.integers(0, 100))
@settings(max_examples=10)
def test_line_search_never_falls(name, shape, seed):
    curve = expected(shape, seed)
    results = [frank_wolfe(curve, name, max_iter=steps, tol=0.0) for steps in range(1, 7)]
    assert (np.diff([result.value for result in results]) >= -1e-12).all()
    assert (np.diff([result.gap for result in results]) <= 1e-12).all()


@each_mean
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


@each_mean
def test_mixtures_of_labels_of_a_known_probability(name):
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


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("method", "metric", "options", "error", "message"),
    [
        (bisection, "gmean", {}, TypeError, "gmean.*PlugInClassifier"),
        (bisection, "min_rate", {}, TypeError, "min_rate.*PlugInClassifier"),
        (frank_wolfe, "f1", {}, TypeError, "f1.*not concave.*PlugInClassifier"),
        (frank_wolfe, "min_rate", {}, TypeError, "min_rate.*no tangent.*PlugInClassifier"),
        *((bisection, "f1", {"tol": tol}, ValueError, "tol must be positive") for tol in (0.0, -1.0, np.nan, np.inf)),
        *((frank_wolfe, "gmean", {"tol": tol}, ValueError, "tol") for tol in (-1.0, np.nan)),
        (frank_wolfe, "gmean", {"max_iter": 0}, ValueError, "max_iter"),
        (bisection, "f1", {"tol": "small"}, TypeError, "tol must be a number"),
        (frank_wolfe, "gmean", {"tol": "small"}, TypeError, "tol must be a number"),
    ],
)
def test_other_metrics_and_bad_options_are_refused(method, metric, options, error, message):
    with pytest.raises(error, match=message):
        method(expected((1, 1, 20, 2), 0), metric, **options)


@pytest.mark.parametrize(
    ("plug_in", "metric", "message"),
    [(BisectionPlugIn, "gmean", "linear-fractional"), (FrankWolfePlugIn, "f1", "concave")],
)
def test_metric_is_checked_before_anything_is_fitted(data, plug_in, metric, message):
    with pytest.raises(TypeError, match=message):
        plug_in(None, metric).fit(*data)


# ---------------------------------------------------------------- the classifiers


@pytest.fixture(scope="module")
def data():
    """Logistic data, so that logistic regression has the right probabilities."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    return X, (rng.random(3000) < expit(X @ [1.5, -1.0, 0.5] - 2.5)).astype(int)


@pytest.mark.parametrize("metric", ["f1", "jaccard"])
def test_classifier_by_bisection(data, metric):
    model = BisectionPlugIn(LogisticRegression(), metric).fit(*data)
    best = model.curve_.best(metric)
    assert model.best_score_ == model.bisection_.cut.value
    assert best.value - 0.02 < model.best_score_ <= best.value
    ratio = {"f1": model.best_score_ / 2, "jaccard": model.best_score_ / (1 + model.best_score_)}[metric]
    assert model.threshold_ == pytest.approx(ratio, abs=0.03)
    assert 0 < model.threshold_std_ < 0.05
    np.testing.assert_array_equal(model.predict(data[0]), model.predict_proba(data[0])[:, 1] >= model.threshold_)


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("plug_in", [BisectionPlugIn, FrankWolfePlugIn])
def test_margins_need_calibration(data, plug_in, calibration):
    base = LinearSVC(dual=False)
    with pytest.raises(TypeError, match=r"LinearSVC has no predict_proba.*calibration"):
        plug_in(base).fit(*data)
    model = plug_in(base, calibration=calibration).fit(*data)
    assert model.best_score_ == pytest.approx(plug_in(LogisticRegression()).fit(*data).best_score_, abs=0.02)


@each_mean
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
    X = data[0][:1500]
    score, probability = randomized.positive_score(X), randomized.positive_probability(X)
    np.testing.assert_array_equal(probability, np.select([score >= 0.3, score >= 0.05], [1.0, 0.75], 0.0))
    share = randomized.predict(np.repeat(X, 40, axis=0)).reshape(-1, 40).mean(axis=1)
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
