"""AMP: Newton's method on exact SVMs; levels of the predictions; data, labels, errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from csf.fenchel import AMP, RewardProblem
from csf.metrics import GowerLegendre, Jaccard, get_metric
from tests.benchmarks.data import BINARY_SETS, data_folder, load_binary

METRICS = ["f1", "f2", "f0.5", "jaccard", "gower_legendre"]


def draw(seed=0, n=400, weights=(0.85,)):
    return make_classification(
        n, n_features=6, weights=list(weights), flip_y=0.1, class_sep=0.7, random_state=seed, shuffle=True
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_levels_rise_to_the_root_in_8_svms(metric, C, seed):
    X, y = draw(seed)
    model = AMP(metric, C=C, level="surrogate").fit(X, y)
    level, after = model.history_["level"], model.history_["next_level"]
    assert (after >= level).all()
    np.testing.assert_array_equal(level[1:], after[:-1])
    assert after[-1] - level[-1] <= 1e-6
    assert model.n_iter_ + 1 <= 8
    assert model.level_ == after[-1]
    # the largest valuation falls along the way and ends at 0: max n - v d - lam/2 ||w||^2 = 0 at the root
    valuation = model.history_["valuation"]
    assert (np.diff(valuation) <= 1e-9).all()
    assert valuation[-1] == pytest.approx(0.0, abs=1e-5)
    assert (model.history_["bound"] >= valuation - 1e-12).all()


def surrogate(metric, problem, w):
    fn, fp = problem.losses(problem.margins(w))
    n0, n_fn, n_fp, d0, d_fn, d_fp = metric.coefficients(problem.pos)
    below = d0 + d_fn * fn + d_fp * fp
    # hinge losses far above 1 leave the domain of the ratio
    return (n0 + n_fn * fn + n_fp * fp - 0.5 * problem.lam * w @ w) / below if below > 0 else -np.inf


@pytest.mark.parametrize("name", ["f1", "f0.5", "jaccard"])
def test_equals_a_grid_of_1000_levels(name):
    metric, (X, y) = get_metric(name), draw(1, n=150)
    problem = RewardProblem(X, y == 1, None, C=1.0)
    model = AMP(name, level="surrogate").fit(X, y)
    best, svm = -np.inf, None
    for v in np.linspace(0.0, 1.0, 1002)[1:-1]:
        svm = problem.solve(metric.cost_weights(v, pos=problem.pos), tol=1e-7, start=svm)
        best = max(best, surrogate(metric, problem, svm.w))
    assert model.level_ == pytest.approx(best, abs=1e-5)
    assert model.level_ >= best - 1e-8
    w = np.append(model.coef_, model.intercept_)
    assert surrogate(metric, problem, w) == pytest.approx(model.level_, abs=1e-9)


@given(seed=st.integers(0, 10**6), size=st.floats(0, 3))
@settings(max_examples=20)
def test_no_model_has_a_larger_surrogate(seed, size):
    X, y = draw(2)
    problem, rng = RewardProblem(X, y == 1, None, C=1.0), np.random.default_rng(seed)
    model = AMP("jaccard", level="surrogate").fit(X, y)
    w = np.append(model.coef_, model.intercept_)
    for other in (size * rng.normal(size=7), w + 0.1 * size * rng.normal(size=7)):
        assert surrogate(Jaccard(), problem, other) <= model.level_ + 1e-6


def test_gower_legendre_is_accuracy_and_takes_one_step():
    X, y = draw(0)
    models = [AMP(GowerLegendre(sigma), level="surrogate").fit(X, y) for sigma in (0.5, 2.0)]
    for model in models:
        np.testing.assert_allclose(model.history_["c_fn"], model.history_["c_fp"])
        assert model.n_iter_ <= 4


@pytest.mark.parametrize("seed", [0, 4, 7, 14])
def test_level_of_the_predictions_keeps_the_best_model(seed):
    X, y = draw(seed, n=200)
    model = AMP("f0.5").fit(X, y)
    level, seen = model.history_["level"], model.history_["next_level"]
    assert model.level_ == pytest.approx(get_metric("f0.5").score(y, model.predict(X)), rel=1e-12)
    assert model.level_ >= seen.max()
    assert seen[-1] < seen.max()
    # each step aims at the metric of the predictions before it
    np.testing.assert_allclose(level[1:], seen[:-1], atol=1e-6)


def test_levels_of_predictions_are_above_those_of_losses():
    X, y = draw(4)
    assert AMP("f1").fit(X, y).level_ > AMP("f1", level="surrogate").fit(X, y).level_


def test_noise_ends_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) < 10
    for level in ("actual", "surrogate"):
        model = AMP("f1", level=level).fit(X, y)
        assert model.n_iter_ <= 50
        assert 0 <= model.level_ <= 1


def test_strong_regularisation_leaves_the_lowest_level():
    X, y = draw(0)
    model = AMP("f1", C=1e-9, level="surrogate").fit(X, y)
    assert model.level_ == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("level", ["actual", "surrogate"])
def test_sparse_strings_weights_and_order_of_classes(level):
    X, y = draw(5)
    X[np.abs(X) < 0.3] = 0.0
    model = AMP("f2", level=level).fit(X, y)
    by_csr = AMP("f2", level=level).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(by_csr.coef_, model.coef_, atol=1e-4)
    names = np.where(y == 1, "bad", "good")
    named = AMP("f2", level=level, pos_label="bad").fit(X, names)
    np.testing.assert_array_equal(named.predict(X) == "bad", model.predict(X) == 1)
    np.testing.assert_array_equal(named.decision_function(X) > 0, named.predict(X) == "good")
    np.testing.assert_allclose(named.coef_, -model.coef_)
    times = np.random.default_rng(0).integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = AMP("f2", level=level).fit(X, y, sample_weight=times)
    np.testing.assert_allclose(weighted.coef_, AMP("f2", level=level).fit(X[rows], y[rows]).coef_, atol=1e-4)


def test_steps_are_printed_on_demand(capsys):
    X, y = draw(0)
    AMP().fit(X, y)
    assert capsys.readouterr().out == ""
    model = AMP(verbose=1).fit(X, y)
    assert len(capsys.readouterr().out.splitlines()) == model.n_iter_


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metric": "gmean"}, TypeError, "FenchelSVM for concave metrics"),
        ({"metric": "f7x"}, ValueError, "unknown metric 'f7x'"),
        ({"level": "true"}, ValueError, r"level must be one of \('actual', 'surrogate'\), got 'true'"),
        ({"C": 0.0}, ValueError, "C must be positive and finite, got 0.0"),
        ({"C": "1"}, TypeError, "C must be a number, positive and finite, got '1'"),
        ({"tol": -1.0}, ValueError, "tol must be positive"),
        ({"max_iter": 0}, ValueError, "max_iter must be an int >= 1"),
        ({"metric": "fpr"}, ValueError, "unknown metric"),
        ({"pos_label": 7}, ValueError, "pos_label=7 is not a label"),
    ],
)
def test_bad_arguments(arguments, error, message):
    model, (X, y) = AMP(**arguments), draw(0)
    with pytest.raises(error, match=message):
        model.fit(X, y)


def test_metrics_that_reward_errors_are_refused():
    from csf.metrics import FalsePositiveRate

    model, (X, y) = AMP(FalsePositiveRate()), draw(0)
    with pytest.raises(ValueError, match="larger must be better"):
        model.fit(X, y)


def test_too_few_steps_are_said():
    X, y = draw(0)
    model = AMP("f0.5", level="surrogate", max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps"):
        model.fit(X, y)


@pytest.mark.data
@pytest.mark.skipif(data_folder() is None, reason="needs the real data sets: set CSF_DATA")
@pytest.mark.parametrize("name", sorted(set(BINARY_SETS) - {"adult"}))
def test_real_data(name):
    X, y = load_binary(name)
    for C in (1.0, 100.0):
        model = AMP("f1", C=C, level="surrogate").fit(X, y)
        assert (model.history_["next_level"] >= model.history_["level"]).all()
        assert model.n_iter_ + 1 <= 8
