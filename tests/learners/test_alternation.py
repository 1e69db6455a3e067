"""The alternation: monotone, certified, quick; and what goes wrong without its parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.fenchel_slides import alternate_rewards

from csf.learners.fenchel import RewardProblem, alternate, alternate_base, best_step
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
@pytest.mark.parametrize("seed", range(5))
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


@each_metric
@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_fenchel_form_of_any_duals_bounds_the_objective(metric, seed):
    """H(w) = alpha P + beta N - conjugate - lam/2 ||w||^2 >= G(w), with equality at the rates of the duals."""
    problem, rng = toy(seed % 7), np.random.default_rng(seed)
    w, other = rng.normal(size=(2, 4))
    alpha, beta = metric.dual(*problem.rates(problem.margins(other)))
    for point, equal in ((w, False), (other, True)):
        p, n = problem.rates(problem.margins(point))
        form = alpha * p + beta * n - metric.conjugate(alpha, beta) - 0.5 * problem.lam * point @ point
        assert form >= value(problem, metric, point) - 1e-9
        assert not equal or form == pytest.approx(value(problem, metric, point), abs=1e-9)


@pytest.mark.parametrize("metric", [HMean(), QMean()], ids=repr)
def test_optimum_against_a_derivative_free_search(metric):
    from scipy.optimize import minimize

    problem = toy(1, lam=0.1)
    w, steps = run(problem, metric, tol=1e-8)
    found = minimize(lambda v: -value(problem, metric, v), w + 0.3, method="Powell", options={"xtol": 1e-8})
    assert steps[-1].objective >= -found.fun - 1e-7
    assert steps[-1].objective == pytest.approx(-found.fun, abs=1e-3)


@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3])
def test_without_line_search_it_collapses_into_a_cycle(lam):
    """The plain alternation: the same two objectives, far below the start, over and over."""
    problem = toy(0, lam)
    values, duals = alternate_rewards(problem, GMean())
    np.testing.assert_allclose(duals[-1], duals[-3], rtol=1e-6)
    assert np.abs(duals[-1] - duals[-2]).max() > 1.0
    assert values[-1] < -10 < 0 < values[0]
    assert run(problem, GMean())[1][-1].objective >= values.max()


def test_geometric_mean_of_losses_is_a_trap():
    """min over alpha beta >= 1/4 of alpha L+ + beta L- is sqrt(L+ L-): any constant classifier makes it 0."""
    u = np.linspace(-10, 10, 2001)
    for loss_pos, loss_neg in ((0.3, 1.2), (2.0, 0.0)):
        least = (0.5 * np.exp(u) * loss_pos + 0.5 * np.exp(-u) * loss_neg).min()
        assert least == pytest.approx(np.sqrt(loss_pos * loss_neg), abs=1e-3)
    problem = toy(0)
    all_positive = problem.losses(problem.margins(np.array([0.0, 0.0, 0.0, 1.0])))
    assert all_positive[0] == 0.0
    assert np.sqrt(all_positive[0] * all_positive[1]) == 0.0


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
