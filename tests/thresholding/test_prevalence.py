"""Another share of positives."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from builders import paper_search
from builders_of_kinds import search_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.evaluate.draws import Units
from csf.evaluate.entry_means import mean_of_entries
from csf.metrics import METRICS
from csf.thresholding import curve_at_prevalence, estimate_prevalence, fold_probabilities, sweep
from csf.thresholding.prevalence import KnownSamples, estimate_class_shares
from tests.benchmarks import prevalence as benchmark


@pytest.mark.parametrize("metric", ["f1", "jaccard", "gmean", "mcc"])
@settings(max_examples=20, deadline=None)
@given(pos=st.floats(0.01, 0.99), seed=st.integers(0, 1000))
def test_it_is_the_sweep_of_weighted_classes(metric, pos, seed):
    rng = np.random.default_rng(seed)
    is_pos = rng.random(60) < 0.3
    is_pos[:2] = True, False
    score, weight = rng.normal(size=60) + is_pos, rng.random(60) + 0.1
    share = weight[is_pos].sum() / weight.sum()
    again = sweep(is_pos, score, weight * np.where(is_pos, pos / share, (1 - pos) / (1 - share)))
    moved = curve_at_prevalence(sweep(is_pos, score, weight), pos)
    assert moved.pos == pytest.approx(again.pos, abs=1e-12)
    assert moved.value(METRICS[metric]()) == pytest.approx(again.value(METRICS[metric]()), abs=1e-12)


@pytest.mark.parametrize("kind", ["two", "two words", "classes", "labels"])
def test_shares_in_a_series_go_by_their_names(kind):
    search = search_of(kind)
    names = getattr(search, "label_names_", search.classes_).tolist()
    shares = pd.Series(np.arange(1, len(names) + 1) / (3 * len(names)), index=names)
    expected = search.at_prevalence(shares.to_dict()).best_score_
    for order in (names, names[::-1]):
        assert search.at_prevalence(shares[order]).best_score_ == pytest.approx(expected)
    with pytest.raises(ValueError, match="pos"):
        search.at_prevalence(shares.rename(lambda name: f"other {name}"))


def test_a_search_moves_its_threshold():
    X, y = make_classification(600, 6, weights=[0.7], flip_y=0.05, random_state=0)
    search = paper_search(LinearSVC(), n_trials=4, cv=3).fit(X, y)
    before = search.predict(X)
    same = search.at_prevalence(search.studies_[0].pos)
    assert same.best_threshold_ == pytest.approx(search.best_threshold_, abs=1e-5)
    assert same.best_score_ == pytest.approx(search.best_score_, abs=1e-9)
    assert same.corrected_score_ == pytest.approx(search.corrected_score_, abs=0.02)
    rare = search.at_prevalence(0.02)
    assert rare.best_threshold_ > search.best_threshold_
    assert rare.best_score_ < search.best_score_
    assert rare.score_at_prevalence_ >= rare.best_score_
    assert rare.score_interval_[0] < rare.corrected_score_ < rare.score_interval_[1]
    named = search.at_prevalence({0: 98, 1: 2})
    assert (named.best_threshold_, named.best_score_) == (rare.best_threshold_, rare.best_score_)
    with pytest.raises(ValueError, match=r"pos must have a share for each of \[0, 1\], got those of \[1\]"):
        search.at_prevalence({1: 0.02})
    assert (search.predict(X) == before).all()
    # a test set with that share is judged as it said
    weight = np.where(y == 1, 0.02 / y.mean(), 0.98 / (1 - y.mean()))
    assert rare.score(X, y, weight) == pytest.approx(rare.best_score_, abs=0.05)
    assert rare.score(X, y, weight) > search.score(X, y, weight)
    with pytest.raises(ValueError, match="pos must be"):
        search.at_prevalence(1.0)
    own = CostSearch(LinearSVC(), n_trials=2, cv=3, threshold=None).fit(X, y)
    with pytest.raises(ValueError, match="no threshold can move"):
        own.at_prevalence(0.1)


@pytest.mark.parametrize("share", [0.02, 0.2, 0.7])
def test_the_share_of_unlabelled_samples_is_found(share):
    estimates = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        is_pos = rng.random(2000) < share
        x = rng.normal(size=2000) + 2.0 * is_pos
        estimates.append(estimate_prevalence(1 / (1 + 4.0 * np.exp(2.0 - 2.0 * x)), 0.2))
    assert abs(np.mean(estimates) - share) < 2.5 * np.std(estimates) / np.sqrt(20)


def test_limits_and_weights():
    assert estimate_prevalence(np.zeros(5), 0.3) < 1e-6
    assert estimate_prevalence(np.ones(5), 0.3) > 1 - 1e-6
    proba = np.array([0.1, 0.4, 0.9])
    twice = estimate_prevalence(np.repeat(proba, [1, 2, 3]), 0.3)
    assert estimate_prevalence(proba, 0.3, sample_weight=[1, 2, 3]) == pytest.approx(twice)


@pytest.mark.parametrize(
    ("score", "message"),
    [([], "y_score must have shape"), ([[0.1]], "y_score must have shape"), ([1.5, 0.2], "probabilit")],
)
def test_what_is_no_probability_is_refused(score, message):
    with pytest.raises(ValueError, match=message):
        estimate_prevalence(score, 0.5)


def mixture(rng, n_samples, share, distance=2.0):
    """Which samples are positive, and their probabilities where positives are as many as negatives."""
    is_pos = rng.random(n_samples) < share
    return is_pos, expit(distance * (rng.normal(size=n_samples) + distance * is_pos - distance / 2))


@pytest.mark.parametrize(("share", "sure"), [(0.02, 1.0), (0.3, 3.0), (0.9, 0.3)])
def test_intervals_hold_the_share_whatever_the_probabilities_say(share, sure):
    """Too sure or too unsure: what known samples say of them makes up for it."""
    held, far = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        is_pos, own = mixture(rng, 300, 0.5)
        new = expit(sure * logit(mixture(rng, 400, share)[1]))
        with warnings.catch_warnings(action="ignore"):
            found = estimate_prevalence(new, 0.5, known=(is_pos, expit(sure * logit(own))))
        held.append(found.interval[0] <= share <= found.interval[1])
        far.append(found - share)
    assert np.mean(held) > 0.9 - 2.5 * np.sqrt(0.09 / 150)
    assert abs(np.mean(far)) < 0.01


def test_intervals_are_wider_where_less_is_known():
    rng = np.random.default_rng(0)
    new = mixture(rng, 1000, 0.3)[1]
    many, few = (mixture(rng, n, 0.5) for n in (20_000, 100))
    alone, *others = (estimate_prevalence(new, 0.5, known=known) for known in (None, many, few))
    widths = [high - low for low, high in (each.interval for each in (alone, *others))]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    assert widths[2] > 1.5 * widths[1]
    assert all(each.interval[0] < each < each.interval[1] for each in (alone, *others))
    wide = estimate_prevalence(new, 0.5, known=few, confidence=0.99)
    assert (wide, wide.confidence) == (others[1], 0.99)
    assert wide.interval[0] < others[1].interval[0] < others[1].interval[1] < wide.interval[1]


def test_probabilities_that_are_not_calibrated_are_named():
    rng = np.random.default_rng(0)
    is_pos, own = mixture(rng, 2000, 0.5)
    assert estimate_prevalence(own, 0.5, known=(is_pos, own)) == pytest.approx(is_pos.mean(), abs=1e-9)
    for wrong in (expit(2.0 * logit(own)), own / (own + 3.0 * (1.0 - own))):
        with pytest.warns(UserWarning, match="are not calibrated: .*CalibratedClassifierCV"):
            found = estimate_prevalence(wrong, 0.5, known=(is_pos, wrong))
        assert found == pytest.approx(is_pos.mean(), abs=1e-9)


def test_scores_that_tell_nothing_leave_every_share_open():
    rng = np.random.default_rng(1)
    is_pos, noise = rng.random(200) < 0.5, rng.uniform(0.49, 0.51, 200)
    assert estimate_prevalence(noise, 0.5, known=(is_pos, noise)).interval == (0.0, 1.0)
    flat = np.full(50, 0.5)
    assert estimate_prevalence(flat, 0.5, known=(np.arange(50) < 25, flat)).interval == (0.0, 1.0)
    assert estimate_prevalence(flat, 0.5).interval == (0.0, 1.0)


def test_a_share_is_a_number_that_can_be_kept():
    share = estimate_prevalence([0.2, 0.4, 0.9], 0.3)
    again = pickle.loads(pickle.dumps(share))
    assert (again, again.interval, again.confidence) == (share, share.interval, 0.9)
    assert isinstance(share, float)
    assert type(share + 0.1) is float


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (([0, 1, 0, 1], [0.1, 0.2]), "a label, 0 or 1, for each of 2"),
        (([0, 2, 0, 1], [0.1, 0.2, 0.3, 0.4]), "write y == positive"),
        (([0, 1, 0, 0], [0.1, 0.2, 0.3, 0.4]), "two samples of each class at least, got 1 positives of 4"),
        (([0, 1, 0, 1], [0.1, 0.2, 0.3, 1.4]), "probabilities of known"),
        ([0.5], "a pair of labels and probabilities, got list"),
    ],
)
def test_what_is_known_is_checked(known, message):
    with pytest.raises(ValueError, match=message):
        estimate_prevalence([0.3, 0.4], 0.3, known=known)


def test_models_of_folds_score_known_and_new_samples():
    """Each known sample by the model that has not seen it, each new one by one of these."""
    rng = np.random.default_rng(0)
    y, y_new = rng.random(300) < 0.3, rng.random(200) < 0.5
    X, X_new = (rng.normal(size=(t.size, 3)) + t[:, None] for t in (y, y_new))
    (is_pos, own), new = fold_probabilities(LogisticRegression(), X, y, X_new, cv=KFold(3), random_state=1)
    np.testing.assert_array_equal(is_pos, y)
    expected = cross_val_predict(LogisticRegression(), X, y, cv=KFold(3), method="predict_proba")[:, 1]
    np.testing.assert_allclose(own, expected)
    models = [LogisticRegression().fit(X[train], y[train]) for train, _ in KFold(3).split(X)]
    columns = np.column_stack([model.predict_proba(X_new)[:, 1] for model in models])
    assert np.isclose(columns, new[:, None]).any(axis=1).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the probabilities of the known samples")
def test_models_of_folds_hold_the_share_in_many_dimensions():
    (row,) = benchmark.rows({"many": benchmark.SETTINGS["205 features"]}, 60)
    assert float(row["models of folds"].rstrip("%")) >= 88 - 8  # two standard errors of 60 draws
    assert abs(float(row["their estimate off"])) < float(row["estimate off"])


def three_classes(n, shares, rng):
    """Samples of three classes, with probabilities for shares of 60, 30 and 10 %."""
    codes = rng.choice(3, n, p=shares)
    odds = np.exp(1.5 * (rng.normal(size=(n, 3)) + 1.5 * np.eye(3)[codes])) * [0.6, 0.3, 0.1]
    return known(codes, odds / odds.sum(axis=1, keepdims=True))


def known(codes, proba, copies=None):
    n = codes.size
    return KnownSamples(Units(codes, None, np.arange(n), np.ones(n, dtype=int) if copies is None else copies), proba)


def test_shares_of_three_classes_are_covered():
    """90 % intervals in 150 draws of each of two settings: within what chance leaves of so many."""
    rng, learnt = np.random.default_rng(0), np.array([0.6, 0.3, 0.1])
    for shares in ([0.3, 0.3, 0.4], [0.7, 0.28, 0.02]):
        held = np.zeros(3)
        for _ in range(150):
            samples, new = three_classes(300, learnt, rng), three_classes(3000, shares, rng)
            parts = estimate_class_shares(new.scores, samples)
            assert sum(parts) == pytest.approx(1.0)
            held += [each.interval[0] <= share <= each.interval[1] for each, share in zip(parts, shares)]
        assert (held / 150 >= 0.82).all()
        assert (held / 150 <= 0.98).all()


def test_classes_that_are_not_told_apart_have_any_share():
    rng, learnt = np.random.default_rng(0), np.array([0.6, 0.3, 0.1])
    alike = np.tile(learnt, (500, 1))
    parts = estimate_class_shares(alike, known(rng.choice(3, 500, p=learnt), alike))
    assert all(each.interval == (0.0, 1.0) for each in parts)


def test_a_sample_of_several_copies_is_as_many_and_one_of_several_folds_is_one():
    rng = np.random.default_rng(0)
    samples, new = three_classes(200, [0.5, 0.3, 0.2], rng), three_classes(500, [0.3, 0.3, 0.4], rng).scores
    codes, proba, copies = samples.entries.truth, samples.scores, rng.integers(1, 4, 200)
    again = Units(np.tile(codes, 2), None, np.tile(np.arange(200), 2), np.ones(200, dtype=int))
    for one, other in (
        (known(codes, proba, copies), known(np.repeat(codes, copies), np.repeat(proba, copies, axis=0))),
        (KnownSamples(again, np.tile(proba, (2, 1))), samples),
    ):
        for part, expected in zip(estimate_class_shares(new, one), estimate_class_shares(new, other)):
            assert part == pytest.approx(expected)
            assert part.interval == pytest.approx(expected.interval)


def test_a_mean_and_its_error_by_hand():
    """Units 0 (two entries that go together) and 1 (two copies), of weights 1 and 2."""
    entries = Units(np.ones(3, dtype=bool), np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1]), np.array([1, 2]))
    mean, variance = mean_of_entries(entries, np.array([[1.0], [3.0], [4.0]]))
    assert mean.item() == pytest.approx((1.0 + 3.0 + 4.0 * 4.0) / 6.0)
    off = 4.0 - 2.0 * mean.item(), 2.0 * (4.0 - mean.item())
    assert variance.item() == pytest.approx((off[0] ** 2 + 2.0 * off[1] ** 2) / 6.0**2 * 3.0 / 2.0)
