"""Support: exploit and explore in turn, stop when neither pays."""

import numpy as np
import pytest
from builders import exact_learner, random_profiles, run, told

from csf import Study
from csf.metrics import FBeta, Jaccard, get_metric
from csf.strategies import Support


def odds(t):
    return np.log(t / (1 - t))


def propose(trials, metric=None, **options):
    return Support(**options).propose(trials, metric=FBeta() if metric is None else metric, pos=0.1)


def test_it_starts_in_the_middle_and_aims_at_the_best_value_next():
    assert propose([]) == pytest.approx(0.5)
    first = told(0, 0.5, 0.5, 0.02, pos=0.1)
    assert propose([first]) == pytest.approx(first.attained)
    # A best value next to a tried level is not trained again: it explores instead.
    near = told(0, 0.5, 0.5, 0.05, pos=0.1)
    assert odds(near.attained) == pytest.approx(odds(0.5), abs=0.25)
    assert odds(propose([near])) == pytest.approx(0.5 * odds(0.01))


@pytest.mark.parametrize("rates", [(0.1, 0.3), (0.5, 0.02), (0.02, 0.6)])
def test_without_levels_it_aims_between_the_support_lines_that_promise_most(rates):
    """One trial: the interval to the side where the end of its line is better."""
    metric = get_metric("gmean")
    trial = told(0, 0.4, *rates, pos=0.1, metric=metric)
    fn, fp = trial.profile.fn, trial.profile.fp
    cost = trial.c_fn * fn + trial.c_fp * fp
    # Left of it everything is found, right of it nothing in vain.
    promise = [metric.value(0.0, cost / trial.c_fp, pos=0.1), metric.value(cost / trial.c_fn, 0.0, pos=0.1)]
    ends = (0.01, 0.4) if promise[0] > promise[1] else (0.4, 0.99)
    assert odds(propose([trial], metric)) == pytest.approx(np.mean(odds(np.array(ends))))


def test_exploring_halves_the_widest_gap_of_the_log_odds():
    trials = [told(0, 0.5, 0.4, 0.02, pos=0.1), told(1, 0.6, 0.4, 0.02, pos=0.1)]
    t = propose(trials)
    assert odds(t) == pytest.approx(0.5 * (odds(0.01) + odds(0.5)))


@pytest.mark.parametrize("metric", [FBeta(), FBeta(3.0), Jaccard(), get_metric("gmean"), get_metric("qmean")], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_an_exact_learner_comes_close_to_the_best_profile(metric, seed):
    rng = np.random.default_rng(seed)
    pos = rng.uniform(0.02, 0.6)
    points = random_profiles(rng, pos, 300)
    study = run(Study(metric, Support(), pos=pos, n_trials=30), exact_learner(points, pos), known=points)
    best = metric.value(points[:, 0], points[:, 1], pos=pos).max()
    assert max(trial.value for trial in study.trials) >= best - 0.03
    assert all(0.01 <= trial.t <= 0.99 for trial in study.trials)


def test_it_stops_when_the_gap_is_closed_and_exploring_does_not_pay():
    pos = 0.2
    points = random_profiles(np.random.default_rng(0), pos, 30)
    study = run(Study("f1", Support(tol=0.01), pos=pos, n_trials=60), exact_learner(points, pos), known=points)
    assert study.stop_reason == "strategy support is done"
    assert study.gap <= 0.01
    assert 3 < len(study.trials) < 30


def test_the_bound_alone_is_no_reason_to_stop():
    """One trial that knows itself to be best closes the gap; exploring goes on for `patience` trials."""
    perfect = told(0, 0.5, 0.0, 0.0, pos=0.1)
    assert propose([perfect]) is not None
    trials = [perfect, *(told(i, 0.5 + i / 20, 0.0, 0.0, pos=0.1) for i in (1, 2))]
    assert propose(trials) is not None
    assert propose([*trials, told(3, 0.75, 0.0, 0.0, pos=0.1)]) is None
    # An improvement starts the count anew.
    poor = [told(i, 0.5 + i / 20, 0.5, 0.1, pos=0.1) for i in range(3)]
    assert propose([*poor, told(3, 0.75, 0.0, 0.0, pos=0.1)]) is not None


@pytest.mark.parametrize("metric", [FBeta(), Jaccard()], ids=repr)
@pytest.mark.parametrize("patience", [1, 2, 3, 5])
def test_patience_counts_exploring_trials_only(metric, patience):
    """The first trial is as good as any and closes the gap; then it explores as often as promised, exploits aside."""
    trials, explored, strategy = [], 0, Support(patience=patience)
    while (t := strategy.propose(trials, metric=metric, pos=0.1)) is not None:
        exploited = len(trials) % 2 and np.isclose(t, 0.99)
        explored += bool(trials) and not exploited
        trials.append(told(len(trials), t, 0.0, 0.0, pos=0.1, metric=metric))
    assert explored == patience


def test_an_exploit_that_pays_starts_the_count_anew():
    trials = []
    while (t := propose(trials, tol=0.02, patience=2)) is not None:
        better = len(trials) == 3
        trials.append(told(len(trials), t, 0.0 if better else 0.3, 0.0 if better else 0.02, pos=0.1))
    assert len(trials) >= 3 + 1 + 2
