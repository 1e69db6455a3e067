"""The alternation: rewards that bound the rates, steps that are monotone, certified and quick."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from csf.fenchel import RewardProblem, alternate, alternate_base, best_step
from csf.metrics import GMean, HMean, QMean
from tests.benchmarks.data import BINARY_SETS, data_folder, load_binary

METRICS = [GMean(), HMean(), QMean()]
each_metric = pytest.mark.parametrize("metric", METRICS, ids=repr)


def toy(seed, lam=0.01, gap=1.0, n=200, pos=0.2):
    rng = np.random.default_rng(seed)
    is_pos = np.arange(n) < pos * n
    X = rng.normal(size=(n, 3))
    X[is_pos] += gap / np.sqrt(3)
    return RewardProblem(X, is_pos, None, C=1.0 / (lam * n))


def run(problem, metric, tol=1e-6, max_iter=100):
    reported = []
    w, steps = alternate(problem, metric, tol=tol, max_iter=max_iter, report=reported.append)
    assert reported == steps
    return w, steps


def value(problem, metric, w):
    return metric.extension(*problem.rates(problem.margins(w))) - 0.5 * problem.lam * w @ w


def check_run(problem, metric, w, steps):
    objective, gap = np.array([(step.objective, step.gap) for step in steps]).T
    assert (np.diff(objective) >= 0.0).all()
    assert (np.diff(gap) <= 0.0).all()
    assert (gap >= -1e-12).all()
    assert value(problem, metric, w) == pytest.approx(objective[-1], abs=1e-12)
    if isinstance(metric, GMean):
        assert [step.alpha * step.beta for step in steps] == pytest.approx([0.25] * len(steps), rel=1e-12)


@each_metric
@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("gap", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(2))
def test_monotone_and_certified_within_12_steps(metric, lam, gap, seed):
    problem = toy(seed, lam, gap)
    w, steps = run(problem, metric)
    check_run(problem, metric, w, steps)
    assert steps[-1].gap <= 1e-6
    assert len(steps) <= 12


@each_metric
@given(seed=st.integers(0, 10**6), size=st.floats(0.0, 3.0))
@settings(max_examples=25)
def test_gap_bounds_every_other_model(metric, seed, size):
    problem = toy(seed % 7)
    w, steps = run(problem, metric, tol=1e-3)
    rng = np.random.default_rng(seed)
    for other in (size * rng.normal(size=4), w + 0.1 * size * rng.normal(size=4)):
        assert value(problem, metric, other) <= steps[-1].objective + steps[-1].gap


def test_limit_of_steps_is_kept():
    problem = toy(3, lam=1e-3, gap=0.3)
    assert len(run(problem, GMean(), tol=1e-9, max_iter=2)[1]) == 2


@given(peak=st.floats(-1.0, 2.0), width=st.floats(0.1, 10.0))
def test_best_step_finds_the_peak(peak, width):
    assert best_step(lambda t: -width * (t - peak) ** 2) == pytest.approx(np.clip(peak, 0.0, 1.0), abs=1e-4)


def test_best_step_stands_still_on_the_flat():
    assert best_step(lambda t: 1.0) == 0.0


def pool(metric, rates, **limits):
    """Alternation over a finite set of classifiers, each the best one for the prices asked."""
    rates = np.array(rates)

    def fit(alpha, beta):
        best = int(np.argmax(rates @ (alpha, beta)))
        return best, *rates[best]

    return alternate_base(fit, metric, **{"tol": 1e-6, "max_iter": 50, "report": lambda step: None} | limits)


@each_metric
def test_any_base_mixture_rises_and_the_best_single_model_is_kept(metric):
    rates = [(0.99, 0.05), (0.9, 0.6), (0.5, 0.95), (0.05, 0.99)]
    best, steps = pool(metric, rates)
    assert best == 1
    objective = [step.objective for step in steps]
    assert (np.diff(objective) >= 0).all()
    assert steps[-1].gap <= 1e-6
    # the certificate of the mixture bounds every single model as well
    assert objective[-1] + steps[-1].gap >= max(metric.link(*pair) for pair in rates) - 1e-12


def test_any_base_starts_from_a_degenerate_model():
    best, steps = pool(GMean(), [(1.0, 0.0), (0.8, 0.8), (0.0, 1.0)])
    assert best == 1
    assert steps[-1].objective == pytest.approx(0.8)


def test_any_base_keeps_an_early_model_that_was_better():
    rates, asked = np.array([(0.95, 0.5), (0.5, 0.9)]), []

    def fit(alpha, beta):
        asked.append(int(np.argmax(rates @ (alpha, beta))))
        return asked[-1], *rates[asked[-1]]

    best, _ = alternate_base(fit, GMean(), tol=1e-6, max_iter=1, report=lambda step: None)
    assert asked == [0, 1]
    assert best == 0


def test_any_base_stops_after_the_given_number():
    assert len(pool(GMean(), [(1.0, 0.0), (0.8, 0.1), (0.0, 1.0)], max_iter=1)[1]) == 1


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(data_folder() is None, reason="needs the real data sets: set CSF_DATA")
@each_metric
@pytest.mark.parametrize("name", sorted(BINARY_SETS))
def test_real_data(name, metric):
    X, y = load_binary(name)
    problem = RewardProblem(X, y == 1, None, C=1.0)
    w, steps = run(problem, metric, tol=1e-4)
    check_run(problem, metric, w, steps)
    assert steps[-1].gap <= 1e-4
    assert len(steps) <= 12


# ---------------------------------------------------------------- rewards


def draw(seed, n=80):
    rng = np.random.default_rng(seed)
    is_pos = np.arange(n) < max(2, rng.integers(2, n // 2))
    X = rng.normal(size=(n, 3))
    X[is_pos] += 0.8
    return X, is_pos, rng.uniform(0.0, 3.0, size=n) + 1e-6


@given(seed=st.integers(0, 10**6), size=st.floats(0.0, 20.0))
def test_rewards_are_below_the_rates(seed, size):
    X, is_pos, weight = draw(seed)
    problem = RewardProblem(X, is_pos, weight, C=1.0)
    margins = problem.margins(size * np.random.default_rng(seed).normal(size=4))
    fn, fp = problem.errors(margins)
    rates = problem.rates(margins)
    assert rates[0] <= 1.0 - fn / problem.pos + 1e-12
    assert rates[1] <= 1.0 - fp / (1.0 - problem.pos) + 1e-12
    assert HMean().extension(*rates) <= HMean().value(fn, fp, pos=problem.pos) + 1e-12


def test_a_score_of_zero_is_a_negative_prediction():
    problem = RewardProblem(np.zeros((4, 1)), np.array([True, True, False, False]), None, C=1.0)
    assert problem.errors(problem.margins(np.zeros(2))) == (0.5, 0.0)


def test_weights_count_like_repetition():
    X, is_pos, _ = draw(0)
    times = np.arange(len(X)) % 3
    rows = np.repeat(np.arange(len(X)), times)
    weighted = RewardProblem(X, is_pos, times.astype(float), C=2.0)
    repeated = RewardProblem(X[rows], is_pos[rows], None, C=2.0)
    w = np.array([0.3, -1.0, 0.2, 0.5])
    assert weighted.pos == pytest.approx(repeated.pos)
    assert weighted.lam == pytest.approx(repeated.lam)
    assert weighted.rates(weighted.margins(w)) == pytest.approx(repeated.rates(repeated.margins(w)))
    assert weighted.errors(weighted.margins(w)) == pytest.approx(repeated.errors(repeated.margins(w)))


def test_equal_prices_give_the_balanced_svm_of_the_same_c():
    X, is_pos, _ = draw(1)
    problem = RewardProblem(X, is_pos, None, C=0.01)
    svm = problem.solve(problem.balanced(), tol=1e-10)
    model = LinearSVC(loss="hinge", C=0.01, class_weight="balanced", tol=1e-10, max_iter=10**6, random_state=0)
    model.fit(X, is_pos)
    np.testing.assert_allclose(svm.w, np.append(model.coef_, model.intercept_), atol=1e-5)


def test_objective_in_units_of_rewards():
    """alpha P + beta N - lam/2 ||w||^2 = alpha + beta - lam * objective of the SVM."""
    X, is_pos, weight = draw(2)
    problem = RewardProblem(X, is_pos, weight, C=3.0)
    svm = problem.solve(problem.balanced(0.7, 0.2), tol=1e-8)
    p, n = problem.rates(svm.margins)
    rewards = 0.7 * p + 0.2 * n - 0.5 * problem.lam * svm.w @ svm.w
    assert rewards == pytest.approx(0.9 - problem.lam * svm.objective, abs=1e-12)
    assert problem.lam * svm.gap <= 1e-8
