"""A fitted threshold that is watched."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, RepeatedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.metrics import Constraint, MeanCost
from csf.thresholding import estimate_prevalence
from csf.thresholding.linear_rule import Sigmoid
from tests.benchmarks import monitor as benchmark

QUICK = {"n_trials": 2, "param_grid": None, "cv": 3, "threshold": "tune", "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_classification(3000, 8, weights=[0.8], flip_y=0.05, random_state=0)


@pytest.fixture(scope="module")
def search(data):
    return CostSearch(LogisticRegression(), **QUICK).fit(data[0][:1500], data[1][:1500])


def batch(rng, n, tp, fn, fp):
    """Truth and prediction of samples with these chances of the cells."""
    cells = rng.choice(4, n, p=[tp, fn, fp, 1.0 - tp - fn - fp])
    return (cells < 2).astype(int), np.isin(cells, [0, 2]).astype(int)


def test_the_capital_is_a_mixture_of_likelihood_ratios(search):
    """By hand: of five stakes, and of the starts before each batch."""
    monitor, rng, level = search.monitor("f1 >= 0.6"), np.random.default_rng(0), 0.6 / 1.4
    growth, seen = [], [0]
    for _ in range(4):
        y, found = batch(rng, 300, 0.1, 0.12, 0.1)
        ones, zeros = ((y & found).sum(), (y != found).sum())
        lower = level * (1.0 - 0.6 * 0.5 ** np.arange(5))
        growth.append(ones * np.log(lower / level) + zeros * np.log((1 - lower) / (1 - level)))
        seen.append(seen[-1] + ones + zeros)
        monitor.update(y, found)
        starts = [100 / (100 + seen[k]) - 100 / (100 + seen[k + 1]) for k in range(len(growth))]
        capital = 100 / (100 + seen[-1])
        for k, weight in enumerate(starts):
            capital += weight * np.exp(logsumexp(np.sum(growth[k:], axis=0)) - np.log(5))
        assert monitor.capital == pytest.approx(capital)


def test_values_and_counts_are_those_of_the_metric(search):
    monitor, rng = search.monitor("f1 >= 0.2"), np.random.default_rng(1)
    parts = [batch(rng, n, 0.1, 0.05, 0.05) for n in (1, 7, 400)]
    for y, found in parts:
        assert monitor.update(y, found) is False
    y, found = (np.concatenate(each) for each in zip(*parts))
    assert monitor.value == pytest.approx(f1_score(y, found))
    assert (monitor.n_samples, monitor.n_batches) == (408, 3)
    assert monitor.interval[0] < monitor.value < monitor.interval[1]
    assert [name for name, _, _ in monitor.history] == ["1", "2", "3"]
    assert "no evidence against it" in monitor.report()


def test_batches_of_any_size_come_to_much_the_same(search):
    rng = np.random.default_rng(2)
    y, found = batch(rng, 1200, 0.05, 0.06, 0.05)
    capitals = []
    for size in (1, 40, 400):
        monitor = search.monitor("f1 >= 0.6")
        for start in range(0, 1200, size):
            monitor.update(y[start : start + size], found[start : start + size])
        capitals.append(monitor.capital)
    assert max(capitals) < 2.0 * min(capitals)


def test_with_a_horizon_alarms_come_sooner_and_the_state_is_read_again(search, tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "state.json"
    for_ever, monitor = search.monitor("f1 >= 0.6"), search.monitor("f1 >= 0.6", weeks=20, path=path)
    assert (for_ever.limit, monitor.limit) == (pytest.approx(20.0), np.inf)
    first = {}
    for week in range(20):
        rows = batch(rng, 400, 0.1, 0.08, 0.085)
        for each in (for_ever, monitor):
            if each.update(*rows, name=str(week)):
                first.setdefault(each, week)
    assert first[monitor] < first[for_ever]
    again = search.monitor("f1 >= 0.6", weeks=20, path=path)
    assert (again.limit, again.alarm, again.capital) == (monitor.limit, monitor.alarm, pytest.approx(monitor.capital))
    assert f"of {monitor.limit:.3g}" in monitor.report()
    with pytest.raises(ValueError, match="has weeks=20, not None"):
        search.monitor("f1 >= 0.6", path=path)


@pytest.mark.parametrize("options", [{"audit": 0.5}, {"max_weight": 2.0}])
def test_a_horizon_is_for_shares_of_samples_that_all_count_alike(search, options):
    with pytest.raises(ValueError, match="weeks=52 is for shares"):
        search.monitor("f1 >= 0.6", weeks=52, **options)


def test_an_alarm_says_since_when_and_stays(search):
    monitor, rng = search.monitor("f1 >= 0.6"), np.random.default_rng(3)
    for week in range(60):
        good = week < 10 or week > 40
        y, found = batch(rng, 1000, *((0.08, 0.03, 0.03) if good else (0.04, 0.06, 0.05)))
        monitor.update(y, found, name=f"week {week}")
    assert monitor.alarm in {f"week {week}" for week in range(8, 13)}
    assert "ALARM, lost since week" in monitor.report()
    early = search.monitor("f1 >= 0.6")
    for _ in range(10):
        assert early.update(*batch(rng, 1000, 0.08, 0.03, 0.03)) is False


@pytest.mark.parametrize("name", benchmark.WATCHED)
def test_alarms_are_rarer_than_alpha_while_the_level_holds(name):
    """400 streams of a year on the boundary, all at once; the benchmark has more."""
    watched = benchmark.WATCHED[name]
    counts = benchmark.draw(watched, np.random.default_rng(0), 400, 400)
    assert np.isfinite(benchmark.by_monitor(watched, counts)).mean() <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("name", benchmark.WATCHED)
def test_the_streams_of_the_benchmark_are_those_of_the_class(search, name):
    watched = benchmark.WATCHED[name]
    counts = benchmark.draw(watched, np.random.default_rng(1), 1, 1400, 0.1, 5)
    demand = Constraint(watched.metric, watched.side, watched.level)
    monitor, expected = search.monitor(demand, audit=watched.audit), benchmark.evidence(watched, counts)[0]
    for week, cells in enumerate(counts[0]):
        cell = np.repeat(np.arange(4), cells)
        monitor.update((cell < 2).astype(int), np.isin(cell, [0, 2]).astype(int))
        assert np.log(monitor.capital) == pytest.approx(expected[week], abs=1e-8)
    assert bool(monitor.alarm) == bool(expected.max() >= np.log(20))


@pytest.mark.slow
@pytest.mark.parametrize("demand", ["f1 >= 0.3", "f2 >= 0.3", Constraint(MeanCost(5.0), "<=", 0.5)])
@pytest.mark.parametrize("audit", [1.0, 0.3])
def test_confidence_sequences_hold_at_all_times(search, demand, audit):
    """In at most so many streams as alpha allows the value leaves the interval at any of five looks."""
    missed = 0
    for seed in range(20):
        monitor, rng = search.monitor(demand, alpha=0.1, audit=audit), np.random.default_rng(seed)
        true = monitor.metric.value(0.04, 0.04, pos=0.12)
        outside = False
        for n in (25, 50, 100, 300, 1000):
            y, found = batch(rng, n, 0.08, 0.04, 0.04)
            labelled = (found > 0) | (rng.random(n) < audit)
            monitor.update(y[labelled], found[labelled])
            low, high = monitor.interval
            outside |= not low <= true <= high
        missed += outside
    assert missed / 20 <= 0.1 + 2.0 * np.sqrt(0.1 * 0.9 / 20)


def test_intervals_of_costs_up_to_a_largest_one_hold_at_all_times(search):
    """Costs with a heavy tail, of which the normal limit knows nothing for long."""
    missed, true = 0, 0.1 * np.minimum(np.random.default_rng(0).lognormal(0.0, 1.5, 2_000_000), 50.0).mean()
    for seed in range(20):
        monitor, rng = (
            search.monitor(Constraint(MeanCost(20.0), "<=", 9.0), alpha=0.1, max_cost=50.0),
            np.random.default_rng(seed),
        )
        outside = False
        for n in (50, 100, 300, 1000, 3000):
            cost = np.where(rng.random(n) < 0.1, np.minimum(rng.lognormal(0.0, 1.5, n), 50.0), 0.0)
            monitor.update(np.arange(n) % 2, np.arange(n) % 2, cost=cost)
            low, high = monitor.interval
            outside |= not low <= true <= high
        assert low <= monitor.value <= high
        assert "asymptotic" not in monitor.report()
        missed += outside
    assert missed / 20 <= 0.1 + 2.0 * np.sqrt(0.1 * 0.9 / 20)


def test_without_a_largest_cost_there_is_no_interval_at_first(search):
    monitor, rng = search.monitor(Constraint(MeanCost(20.0), "<=", 9.0)), np.random.default_rng(0)
    y = np.arange(50) % 2
    monitor.update(y, y, cost=rng.exponential(size=50))
    assert np.isnan(monitor.interval).all()
    assert "no interval yet: its costs vary as" in monitor.report()
    assert "and it takes 100; with max_cost= there is one" in monitor.report()
    for _ in range(8):
        monitor.update(y, y, cost=rng.exponential(size=50))
    assert monitor.interval[0] < monitor.value < monitor.interval[1]
    assert "95% asymptotic interval" in monitor.report()


def test_labels_that_are_not_known_yet_are_left_out(search):
    y, found = batch(np.random.default_rng(4), 500, 0.1, 0.05, 0.05)
    late = np.arange(500) % 3 == 0
    whole, first = search.monitor("f1 >= 0.6"), search.monitor("f1 >= 0.6")
    whole.update(y[~late], found[~late])
    first.update(np.where(late, np.nan, y), found)
    assert first.capital == whole.capital
    assert first.update(np.array([None, 1], dtype=object), np.array([0, 1])) is False
    assert first.n_samples == whole.n_samples + 1


@pytest.mark.parametrize("kind", [object, "string", "Int64", "float"])
def test_labels_of_frames_may_be_missing(data, kind):
    pandas = pytest.importorskip("pandas")
    X, y = data[0][:600], data[1][:600]
    labels = np.array(["no", "yes"])[y] if kind in (object, "string") else y
    positive = "yes" if kind in (object, "string") else None
    search = CostSearch(LogisticRegression(), pos_label=positive, **QUICK).fit(X, labels)
    monitor, late = search.monitor("f1 >= 0.3"), pandas.Series(labels.tolist(), dtype=kind)
    late[::4] = None
    monitor.update(late, search.predict(X))
    assert monitor.n_samples == 450
    kept = np.arange(600) % 4 > 0
    assert monitor.value == pytest.approx(f1_score(labels[kept], search.predict(X[kept]), pos_label=positive or 1))


def test_labels_below_a_mask_are_missing(search):
    monitor, y = search.monitor("f1 >= 0.3"), np.tile([0, 1, 1, 0], 30)
    monitor.update(np.ma.array(y, mask=np.arange(120) % 4 == 0), y)
    assert monitor.n_samples == 90
    with pytest.raises(ValueError, match="y_pred is masked in 30 places"):
        monitor.update(y, np.ma.array(y, mask=np.arange(120) % 4 == 0))


def test_labels_of_alerts_alone_show_precision(search):
    y, found = batch(np.random.default_rng(5), 4000, 0.1, 0.05, 0.08)
    alerts = found > 0
    monitor = search.monitor("precision >= 0.7", audit=0)
    assert monitor.update(y[alerts], found[alerts])
    assert monitor.value == pytest.approx(y[alerts].mean())
    with pytest.raises(ValueError, match="audit=0 only alerts have labels, but f1 also depends"):
        search.monitor("f1 >= 0.6", audit=0)
    with pytest.raises(ValueError, match=r"all .* labelled samples were predicted positive"):
        search.monitor("f1 >= 0.6").update(y[alerts], found[alerts])
    assert not search.monitor("precision >= 0.5").update(y[alerts], found[alerts])


def test_an_audit_stands_for_what_it_did_not_label(search):
    y, found = batch(np.random.default_rng(6), 60_000, 0.06, 0.04, 0.03)
    labelled = (found > 0) | (np.random.default_rng(7).random(60_000) < 0.2)
    monitor = search.monitor("recall >= 0.3", audit=0.2)
    monitor.update(y[labelled], found[labelled])
    assert monitor.value == pytest.approx(0.6, abs=0.03)


def test_the_share_of_alerts_needs_no_labels(search):
    monitor = search.monitor("predicted_positive_rate <= 0.12")
    assert monitor.update(None, np.repeat([1, 0], [80, 920])) is False
    assert monitor.update(None, np.repeat([1, 0], [300, 700])) == "2"


def test_costs_of_rows_take_the_place_of_those_of_errors(search):
    rng = np.random.default_rng(8)
    monitor = search.monitor(Constraint(MeanCost(5.0), "<=", 1.0))
    y, found = batch(rng, 500, 0.1, 0.05, 0.05)
    assert not monitor.update(y, found, cost=rng.exponential(size=500) * 0.9)
    assert 0.7 < monitor.value < 1.1
    for _ in range(10):
        monitor.update(y, found, cost=rng.exponential(size=500) * 1.5)
    assert monitor.alarm
    with pytest.raises(ValueError, match="cost must hold a finite number >= 0 for each of 500 samples"):
        monitor.update(y, found, cost=-np.ones(500))
    with pytest.raises(ValueError, match=r"cost= is for a monitor of .*MeanCost, but this monitor watches f1 >= 0\.6"):
        search.monitor("f1 >= 0.6").update(y, found, cost=np.ones(500))


def test_the_level_is_what_the_search_promised(data, search):
    assert search.monitor().level == pytest.approx(search.score_interval_[0])
    assert search.monitor().demand.startswith("f1 >= ")
    promise = CostSearch(LinearSVC(), "recall", constraint="precision >= 0.6", confidence=0.9, **QUICK).fit(*data)
    assert promise.monitor().demand == "precision >= 0.6"


def test_what_cannot_be_watched_is_refused(search):
    for demand, message in (
        ("f1 >= 1", "above this level for all predictions, or below it for all"),
        ("recall >= 0.6, recall >= 0.5", "are twice of one metric; give it once"),
        ("recall[7] >= 0.6", r"there is no '7'; accepted: \[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            search.monitor(demand)
    with pytest.raises(ValueError, match="alpha"):
        search.monitor("f1 >= 0.5", alpha=5)
    with pytest.raises(ValueError, match="audit"):
        search.monitor("f1 >= 0.5", audit=1.5)
    monitor = search.monitor("f1 >= 0.5")
    with pytest.raises(ValueError, match=r"y holds the labels \[7\], the search knows \[0, 1\]"):
        monitor.update([0, 7], [0, 1])
    with pytest.raises(ValueError, match="must be of one length"):
        monitor.update([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match=r"y_pred holds the labels \[0\.2, 0\.7\].*what search.predict\(X\) returns"):
        monitor.update([0, 1], [0.2, 0.7])
    with pytest.raises(ValueError, match="y=None is for metrics of predictions alone, and f1 needs labels"):
        monitor.update(None, [0, 1])
    assert monitor.n_batches == 0
    assert np.isnan(monitor.value)
    assert monitor.interval == (0.0, 1.0)


def test_a_threshold_is_tuned_again_and_the_model_stays(data, search):
    X, y = data
    again = search.monitor("f1 >= 0.6").retune(X[1500:], y[1500:])
    np.testing.assert_array_equal(again.score_samples(X), search.score_samples(X))
    low, high = again.threshold_interval_
    assert low <= again.best_threshold_ <= high
    assert again.score_interval_[0] < f1_score(y[1500:], again.predict(X[1500:])) + 0.02
    assert again.monitor().n_batches == 0


def test_the_share_of_positives_is_estimated_without_labels(data, search):
    X, y = data
    share = search.prevalence(X[1500:])
    assert share == pytest.approx(y[1500:].mean(), abs=0.05)
    more = X[1500:][y[1500:] == 1]
    with pytest.warns(UserWarning, match=r"the share of positives has moved .* and at_prevalence\(0\.\d+\) moves"):
        moved = search.prevalence(np.concatenate([X[1500:], more, more]))
    assert search.at_prevalence(moved).best_threshold_ < search.best_threshold_


def test_a_share_at_the_end_of_its_range_is_none(data, search):
    X = data[0][data[1] == 1]
    with pytest.warns(UserWarning, match="samples of one class probably look otherwise than before"):
        assert search.prevalence(X + 5.0 * search.best_estimator_.coef_) > 0.99


def test_no_scores_and_no_probabilities_no_share(data):
    X, y = data
    search = CostSearch(LinearSVC(), **QUICK | {"threshold": None}).fit(X, y)
    with pytest.raises(ValueError, match="estimated from probabilities of two classes"):
        search.prevalence(X)


@pytest.mark.parametrize("base", [LogisticRegression(), LinearSVC()], ids=lambda base: type(base).__name__)
def test_shares_are_estimated_by_held_out_scores(data, base):
    X, y = data
    search = CostSearch(base, **QUICK).fit(X[:1500], y[:1500])
    truth, score = search.held_out_.is_pos, search.held_out_[search.result_.key].score.astype(float)
    sigmoid = Sigmoid().fit(score, truth, None)
    known = truth, sigmoid.predict(score)
    by_hand = estimate_prevalence(sigmoid.predict(search.score_samples(X[1500:])), y[:1500].mean(), known=known)
    share = search.prevalence(X[1500:])
    assert (share, *share.interval) == pytest.approx((by_hand, *by_hand.interval), abs=1e-6)
    stored = search.without_scores().prevalence(X[1500:])
    assert (stored, *stored.interval) == (share, *share.interval)


@pytest.mark.slow
@pytest.mark.parametrize(
    "base", [LogisticRegression(), LinearSVC(), GaussianNB()], ids=lambda base: type(base).__name__
)
def test_intervals_of_shares_by_held_out_scores_hold(base):
    """Nearly as often as they should; by the model's own probabilities, taken as true, 59 to 68 % of them do."""
    held = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        y, later = rng.random(500) < 0.2, rng.random(1000) < 0.35
        X, new = (rng.normal(size=(each.size, 6)) + 1.2 * each[:, None] * (np.arange(6) < 1) for each in (y, later))
        search = CostSearch(base, **QUICK).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # which tells that the share has moved
            low, high = search.prevalence(new).interval
        held += low <= 0.35 <= high
    assert held >= 80 * 0.74


@pytest.mark.filterwarnings("ignore:the share of positives has moved")
def test_entries_of_one_sample_are_counted_once_for_its_share(data):
    X, y = data
    options = {"n_trials": 1, "param_grid": None, "random_state": 0}
    once, thrice = (
        CostSearch(LogisticRegression(), cv=cv, **options).fit(X[:600], y[:600])
        for cv in (KFold(3), RepeatedKFold(n_splits=3, n_repeats=3, random_state=0))
    )
    widths = [np.diff(search.prevalence(X[600:]).interval).item() for search in (once, thrice)]
    assert widths[1] == pytest.approx(widths[0], rel=0.15)


# ---------------------------------------------------------------- weights and costs of samples


def weighted(search, demand="f1 >= 0.3", **options):
    return search.monitor(demand, max_weight=3.0, **options)


def test_whole_weights_are_samples_repeated(search):
    rng = np.random.default_rng(10)
    y, found = batch(rng, 800, 0.1, 0.06, 0.06)
    weight = rng.integers(0, 4, 800)
    for demand in ("f1 >= 0.3", "f2 >= 0.3", "precision >= 0.3", Constraint(MeanCost(5.0), "<=", 0.9)):
        one, all_rows = weighted(search, demand), search.monitor(demand)
        one.update(y, found, sample_weight=weight)
        all_rows.update(np.repeat(y, weight), np.repeat(found, weight))
        assert one.value == pytest.approx(all_rows.value)
        assert one.n_samples == (weight > 0).sum()
        assert one.interval[0] < one.value < one.interval[1]


def test_weights_and_their_largest_have_no_unit(search):
    rng = np.random.default_rng(11)
    y, found = batch(rng, 500, 0.05, 0.08, 0.05)
    weight = rng.uniform(0.1, 3.0, 500)
    capitals = []
    for unit in (1.0, 1e-3, 1e4):
        monitor = search.monitor("f1 >= 0.5", max_weight=3.0 * unit)
        monitor.update(y, found, sample_weight=weight * unit)
        capitals.append(monitor.capital)
    assert capitals == pytest.approx([capitals[0]] * 3)


def test_alarms_of_weighted_samples_are_rarer_than_alpha(search):
    """Heavy samples are worse and light ones better: at the level only with their weights."""
    alarms = 0
    for seed in range(60):
        rng, monitor = np.random.default_rng(seed), search.monitor("precision >= 0.6", alpha=0.1, max_weight=10.0)
        for _ in range(12):
            heavy = rng.random(300) < 0.1
            right = rng.random(300) < np.where(heavy, 0.5, 0.7111)  # (1 * .5 + .9 * .7111) / 1.9 = .6
            monitor.update(right.astype(int), np.ones(300, dtype=int), sample_weight=np.where(heavy, 10.0, 1.0))
        alarms += bool(monitor.alarm)
    assert alarms / 60 <= 0.1 + 2.0 * np.sqrt(0.1 * 0.9 / 60)


@pytest.fixture(scope="module")
def of_weights(data):
    weight = np.where(np.arange(1500) % 10 == 0, 20.0, 1.0)
    return CostSearch(LogisticRegression(), **QUICK).fit(data[0][:1500], data[1][:1500], sample_weight=weight)


def test_a_fall_of_heavy_samples_is_found(data, of_weights):
    X, y = data[0][1500:], data[1][1500:]
    weight = np.where(np.arange(1500) % 10 == 0, 20.0, 1.0)
    monitor, found = of_weights.monitor(), of_weights.predict(X)
    assert monitor.max_weight == 40.0
    assert not monitor.update(y, found, sample_weight=weight)
    assert monitor.value == pytest.approx(f1_score(y, found, sample_weight=weight))
    turned = np.where(weight > 1.0, 1 - y, y)
    assert monitor.update(turned, found, sample_weight=weight) == "2"
    again = monitor.retune(X, y, sample_weight=weight)
    assert again.monitor().max_weight == 40.0


def test_weights_that_are_missing_or_too_large_are_said(data, search, of_weights):
    y, found = batch(np.random.default_rng(12), 50, 0.2, 0.1, 0.1)
    with pytest.warns(UserWarning, match=r"fitted with sample weights.*these samples have none.*Give sample_weight="):
        of_weights.monitor("f1 >= 0.3").update(y, found)
    monitor = of_weights.monitor("f1 >= 0.3")
    monitor.update(y, found, sample_weight=np.ones(50))
    with pytest.raises(
        ValueError, match=r"weight 2, but this monitor bets on weights of at most 1.*larger max_weight="
    ):
        search.monitor("f1 >= 0.3").update(y, found, sample_weight=np.full(50, 2.0))
    for weight, message in (
        (np.full(50, 41.0), r"has the weight 41, but this monitor bets on weights of at most 40"),
        (-np.ones(50), r"sample_weight must hold a finite number >= 0 for each of 50 samples"),
        (np.ones(49), r"sample_weight must hold a finite number >= 0 for each of 50 samples"),
    ):
        with pytest.raises(ValueError, match=message):
            monitor.update(y, found, sample_weight=weight)
    assert monitor.n_batches == 1
    for value in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="max_weight must be positive and finite"):
            search.monitor("f1 >= 0.3", max_weight=value)


def test_weights_of_samples_without_a_label_may_be_missing(search):
    y, weight = np.array([1.0, np.nan, 0.0, 1.0]), np.array([2.0, np.nan, 1.0, 0.0])
    monitor = weighted(search)
    monitor.update(y, [1, 0, 1, 0], sample_weight=weight)
    assert (monitor.n_samples, monitor.value) == (2, pytest.approx(4.0 / 5.0))


@pytest.mark.parametrize("cost", [MeanCost(), MeanCost(fn=5.0), MeanCost(fn=1.0, fp=1.0)], ids=str)
def test_intervals_of_mean_costs_are_those_of_the_costs_of_rows(search, cost):
    rng = np.random.default_rng(13)
    monitor = search.monitor(Constraint(cost, "<=", 0.3))
    y, found = batch(rng, 2000, 0.05, 0.1, 0.1)
    costs = np.where(y != found, rng.exponential(3.0, 2000), 0.0)
    monitor.update(y, found, cost=costs)
    assert monitor.value == pytest.approx(costs.mean())
    assert monitor.interval[0] < costs.mean() < monitor.interval[1]
    assert "asymptotic interval" in monitor.report()


def test_costs_that_have_no_bound_are_not_bet_on(search):
    with pytest.raises(ValueError, match="costs of samples have no upper bound to bet on"):
        search.monitor(Constraint(MeanCost(), ">=", 0.1)).update([0, 1], [1, 1], cost=[9.0, 0.0])


# ---------------------------------------------------------------- what to do


def test_what_is_recommended_works(data, search):
    X, y = data
    several = make_classification(600, 8, n_classes=3, n_informative=5, random_state=0)
    options = QUICK | {"n_trials": 3}
    searches = {
        "plain": (search, "f1 >= 0.99", X, y, {"prevalence", "retune"}),
        "own decision": (
            CostSearch(LogisticRegression(), **options | {"threshold": None}).fit(X, y),
            *("f1 >= 0.99", X, y, set()),
        ),
        "classes": (
            CostSearch(LogisticRegression(), "f1_macro", **options).fit(*several),
            *("accuracy >= 0.99", *several, {"prevalence", "retune"}),
        ),
        "costs": (
            CostSearch(LogisticRegression(), "cost", **options | {"threshold": "stable"}).fit(
                X, y, fn_cost=5.0, fp_cost=1.0
            ),
            *(Constraint(MeanCost(), "<=", 0.001), X, y, {"prevalence", "retune"}),
        ),
    }
    for name, (fitted, demand, X_new, y_new, expected) in searches.items():
        monitor = fitted.monitor(demand)
        assert monitor.update(y_new, fitted.predict(X_new, **costs_of(name))), name
        text = monitor.report()
        assert {way for way in ("prevalence", "retune") if way in text} == expected, name
        if "prevalence" in expected:
            shares = fitted.prevalence(X_new)
            assert all(0.0 < share < 1.0 for share in (shares.values() if name == "classes" else [shares])), name
            moved = fitted.at_prevalence([0.4, 0.3, 0.3] if name == "classes" else 0.4)
            assert (moved.predict(X_new, **costs_of(name)) != fitted.predict(X_new, **costs_of(name))).any(), name
        if "retune" in expected:
            assert monitor.retune(X_new, y_new, **costs_of(name)).predict(X_new, **costs_of(name)).shape == y_new.shape


def costs_of(name):
    return {"fn_cost": 5.0, "fp_cost": 1.0} if name == "costs" else {}


def test_probabilities_are_those_of_the_model_after_another_tuning(data):
    X, y = data
    search = CostSearch(LogisticRegression(), strategy="cone", **QUICK).fit(X[:1500], y[:1500])
    assert search.best_cost_weights_[0] != search.best_cost_weights_[1]
    again = search.monitor("f1 >= 0.6").retune(X[1500:], y[1500:])
    np.testing.assert_allclose(again.predict_proba(X), search.predict_proba(X))
    np.testing.assert_allclose(again.monitor().retune(X, y).predict_proba(X), search.predict_proba(X))


# ---------------------------------------------------------------- files


def test_a_state_is_read_again_and_small(search, tmp_path):
    path, rng = tmp_path / "monitor.json", np.random.default_rng(9)
    one, whole = search.monitor("f2 >= 0.5", path=path), search.monitor("f2 >= 0.5")
    for week in range(150):
        y, found = batch(rng, 50, 0.1, 0.05, 0.05)
        one.update(y, found, name=f"2026-01-01 00:00:00 {week}")
        whole.update(y, found, name=f"2026-01-01 00:00:00 {week}")
        if week % 50 == 0:
            one = search.monitor("f2 >= 0.5", path=path)
    assert one.capital == pytest.approx(whole.capital)
    assert (one.value, one.interval) == (whole.value, whole.interval)
    assert one.history == whole.history
    assert len(whole.history) <= 64
    assert path.stat().st_size <= 10_000
    assert json.loads(path.read_text(encoding="utf-8"))["format"] == "csf-monitor"


def test_a_state_of_another_model_or_of_other_options_is_refused(data, search, tmp_path):
    path = tmp_path / "monitor.json"
    search.monitor("f1 >= 0.6", path=path).update([0, 1], [0, 1])
    before = path.read_bytes()
    other = CostSearch(LogisticRegression(C=0.01), **QUICK).fit(*data)
    with pytest.raises(ValueError, match="is of another model; it was left as it is"):
        other.monitor("f1 >= 0.6", path=path)
    for demand, options in (("f1 >= 0.5", {}), ("f2 >= 0.6", {}), ("f1 >= 0.6", {"alpha": 0.1})):
        with pytest.raises(ValueError, match=r"it was left as it is\. Give the model and the options"):
            search.monitor(demand, path=path, **options)
    path.write_bytes(before[:-20])
    with pytest.raises(ValueError, match="is damaged"):
        search.monitor("f1 >= 0.6", path=path)


def test_an_update_that_fails_counts_nothing(search, tmp_path, monkeypatch):
    y, found = batch(np.random.default_rng(14), 300, 0.1, 0.05, 0.05)
    path = tmp_path / "folder" / "monitor.json"
    monitor = search.monitor("f1 >= 0.2", path=path)
    with pytest.raises(FileNotFoundError):
        monitor.update(y, found, name="May")
    path.parent.mkdir()
    monitor.update(y, found, name="May")

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            monitor.update(y, found, name="June")
    assert (monitor.n_samples, monitor.n_batches) == (300, 1)
    assert [name for name, _, _ in monitor.history] == ["May"]
    monitor.update(y, found, name="June")
    once = search.monitor("f1 >= 0.2")
    for name in ("May", "June"):
        once.update(y, found, name=name)
    for each in (monitor, search.monitor("f1 >= 0.2", path=path)):
        assert (each.n_samples, each.capital, each.history) == (600, once.capital, once.history)


def test_monitors_of_one_file_add_to_each_other(search, tmp_path):
    rng, path = np.random.default_rng(15), tmp_path / "monitor.json"
    one, other, alone = (search.monitor("f1 >= 0.2", path=each) for each in (path, path, None))
    for week in range(8):
        y, found = batch(rng, 100, 0.1, 0.05, 0.05)
        (one, other)[week % 3 % 2].update(y, found, name=f"week {week}")
        alone.update(y, found, name=f"week {week}")
    known = search.monitor("f1 >= 0.2", path=path)
    assert (known.n_samples, known.capital, known.history) == (800, alone.capital, alone.history)


def test_threads_of_one_file_lose_nothing(search, tmp_path):
    path = tmp_path / "monitor.json"
    y, found = batch(np.random.default_rng(16), 20, 0.3, 0.1, 0.1)
    monitors = [search.monitor("f1 >= 0.2", path=path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda monitor: [monitor.update(y, found) for _ in range(5)], monitors))
    assert search.monitor("f1 >= 0.2", path=path).n_samples == 400


def test_the_same_batch_is_counted_once(search, tmp_path):
    path = tmp_path / "monitor.json"
    y, found = batch(np.random.default_rng(17), 60, 0.2, 0.1, 0.1)
    search.monitor("f1 >= 0.2", path=path).update(y, found, name="June")
    monitor = search.monitor("f1 >= 0.2", path=path)
    with pytest.raises(ValueError, match="the batch 'June' with these labels and predictions was counted before"):
        monitor.update(y, found, name="June")
    assert monitor.n_samples == 60
    monitor.update(y, found, name="July")
    monitor.update(y[1:], found[1:], name="June")
    for _ in range(2):  # without a name they may be other samples that look alike
        monitor.update(y, found)
    assert monitor.n_samples == 299


def test_an_empty_name_is_none(search):
    monitor = search.monitor("f1 >= 0.9")
    assert monitor.update(np.repeat([0, 1], 300), np.repeat([1, 0], 300), name="") == "1"


@pytest.fixture(scope="module")
def written(search, tmp_path_factory):
    path = tmp_path_factory.mktemp("state") / "monitor.json"
    monitor = search.monitor("f1 >= 0.2", path=path)
    for week in range(3):
        monitor.update(*batch(np.random.default_rng(week), 60, 0.2, 0.1, 0.1), name=f"week {week}")
    monitor.expect([0, 1], rows=["a", 2])
    return path, json.loads(path.read_text(encoding="utf-8"))


STATE = ("alarm", "n_batches", "_n_counted", "_mixed", "_best", "_starts", "_since", "_whole", "_names", "_values")
ODD = [None, "1", -1, 1.5, 10**400, float("nan"), float("inf"), [], [1], [[1.0], [1.0, 2.0]], {}, {"a": 1}, True, 5]


@given(
    name=st.sampled_from([*STATE, "_seen", "_has_costs", "_cohorts"]),
    value=st.sampled_from(ODD),
    depth=st.integers(0, 2),
)
def test_a_crafted_state_is_refused_or_is_one(search, written, name, value, depth):
    """Whatever is read can be told; what is no state of this version is a ValueError that leaves the file."""
    path, content = written
    crafted = json.loads(json.dumps(content))
    place, key = crafted, name
    while depth and isinstance(place[key], list) and place[key]:
        place, key, depth = place[key], 0, depth - 1
    place[key] = value
    crafted.pop("sha256")
    crafted["sha256"] = hashlib.sha256(json.dumps(crafted, sort_keys=True).encode()).hexdigest()
    other = path.with_name("crafted.json")
    other.write_text(json.dumps(crafted), encoding="utf-8")
    try:
        monitor = search.monitor("f1 >= 0.2", path=other)
    except ValueError as error:
        assert "it was left as it is" in str(error)  # noqa: PT017
        return
    assert not (isinstance(value, float) and not np.isfinite(value))
    assert np.isfinite([*monitor.interval, monitor.capital, *monitor.history[0][1:]]).all() or name == "_has_costs"
    assert monitor.n_samples >= 0
    monitor.report()
    monitor.update([0] * len(monitor.awaited), rows=monitor.awaited)
    monitor.update([0, 1], [0, 1], name="next")


@pytest.mark.parametrize("name", STATE)
def test_a_state_without_a_part_is_refused(search, written, name):
    path, content = written
    crafted = {key: value for key, value in content.items() if key not in (name, "sha256")}
    crafted["sha256"] = hashlib.sha256(json.dumps(crafted, sort_keys=True).encode()).hexdigest()
    other = path.with_name("short.json")
    other.write_text(json.dumps(crafted), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"is not a state that this csf writes \(see {name}"):
        search.monitor("f1 >= 0.2", path=other)


KILLED = """
import numpy as np, sys
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from csf import CostSearch
X, y = make_classification(400, random_state=0)
search = CostSearch(LogisticRegression(), n_trials=2, param_grid=None, cv=3, threshold="tune", random_state=0).fit(X, y)
monitor = search.monitor("f1 >= 0.2", path=sys.argv[1])
print(monitor.n_batches, flush=True)
for _ in range(int(sys.argv[2])):
    monitor.update(y, search.predict(X))
"""


@pytest.mark.slow
def test_a_state_survives_a_kill(tmp_path):
    """The file is that of some batch, whole, whenever the process ends."""
    path, script = tmp_path / "monitor.json", tmp_path / "watch.py"
    script.write_text(textwrap.dedent(KILLED), encoding="utf-8")
    seen = []
    for wait in (0.01, 0.05, 0.2):
        command = [sys.executable, str(script), str(path), "1000000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            seen.append(int(process.stdout.readline() or -1))
            time.sleep(1.0 + wait)
            process.kill()
    done = subprocess.run([sys.executable, str(script), str(path), "0"], capture_output=True, check=True)
    seen.append(int(done.stdout))
    assert seen[0] == 0
    assert seen == sorted(set(seen))
