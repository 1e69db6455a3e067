"""Winner and cut by the mean over draws."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin

from csf import CostSearch
from csf.evaluate import Chooser, Resampling, ScoreStore
from csf.metrics import Constrained, FBeta, get_metric
from csf.metrics.constraints import get_constraint
from csf.search.selection import N_DRAWS, stable_choice


def best_cut(score, is_pos, weight, metric):
    """Value and cut by trying all of them."""
    best = (-1.0, None)
    levels = np.unique(score)
    for below, cut in pairwise(levels):
        found = score >= cut
        tp, fp, pos = (float(weight @ part) for part in (found & is_pos, found & ~is_pos, is_pos))
        value = 2 * tp / (pos + tp + fp)
        if value > best[0] + 1e-12:
            best = (value, (below + cut) / 2)
    return best


def scores(n=300, seed=0, shift=1.5):
    rng = np.random.default_rng(seed)
    is_pos = np.arange(n) < n // 5
    return is_pos, rng.normal(size=n) + shift * is_pos


def test_the_cut_is_the_mean_of_the_best_cuts_of_draws():
    """Literally, on the same draws: the mean of the log-odds of what they find."""
    is_pos, score = scores()
    score = score.astype(np.float32).astype(float)
    value, cut = best_cut(score, is_pos, np.ones(300), None)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=cut, value=value)
    thresholds = Resampling(store, FBeta(), n_draws=N_DRAWS).thresholds((0, 0))
    expected = expit(logit([np.mean(score >= threshold) for threshold in thresholds]).mean())
    found = stable_choice(store, FBeta())
    assert np.mean(score >= found.threshold) == pytest.approx(expected, abs=0.51 / 300)
    assert np.quantile(score, 1 - expected) == pytest.approx(found.threshold, abs=0.02)
    assert found.profile.fn == pytest.approx(np.mean(is_pos & (score < found.threshold)))
    assert found.threshold != cut


def test_one_setting_can_be_the_one_that_others_have_to_beat():
    """Equal costs of another setting need the margin too where fewer rounds have to gain over the base's own."""
    is_pos, score = scores()
    store = ScoreStore(is_pos)
    for setting, noise in enumerate((0.0, 0.05)):
        each = score + noise * np.random.default_rng(5).normal(size=300)
        value, cut = best_cut(each, is_pos, np.ones(300), None)
        store.add((setting, 0), score=each, threshold=cut, value=value, equal_costs=True)
    assert [stable_choice(store, FBeta(), chooser=Chooser(1.0, own=setting)).key for setting in (0, 1)] == [
        (0, 0),
        (1, 0),
    ]
    assert stable_choice(store, FBeta(), chooser=Chooser(1.0)) == stable_choice(store, FBeta())


def test_the_winner_is_best_on_average_not_once():
    """One lucky cut of a bad score does not win."""
    is_pos, good = scores(shift=1.5)
    _, bad = scores(seed=1, shift=0.6)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=bad, threshold=0.5, value=0.99)
    store.add((0, 1), score=good, threshold=0.9, value=0.6)
    assert stable_choice(store, FBeta()).key == (0, 1)
    assert stable_choice(store, FBeta(), among=(0, 0)).key == (0, 0)


def test_equals_are_decided_for_the_first():
    is_pos, score = scores()
    store = ScoreStore(is_pos)
    for key in ((1, 0), (0, 0), (0, 1)):
        store.add(key, score=score, threshold=0.9, value=0.6)
    assert stable_choice(store, FBeta()).key == (0, 0)


def test_between_two_distant_cuts_the_better_one_is_taken_not_their_mean():
    """Half of the positives is far above all negatives, the other half just above them: both ends are good cuts."""
    rng = np.random.default_rng(0)
    is_pos = np.arange(3000) < 200
    score = np.where(np.arange(3000) < 100, 20.0, rng.normal(size=3000).clip(max=1.9))
    score[100:200] = 2.0
    score[200:400] = np.linspace(3.0, 10.0, 200)  # in between there are negatives alone
    value, cut = best_cut(score, is_pos, np.ones(3000), None)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=cut, value=value)
    drawn = Resampling(store, FBeta(), n_draws=N_DRAWS).thresholds((0, 0))
    assert min(np.mean(drawn > 11), np.mean(drawn < 3)) > 0.1
    assert stable_choice(store, FBeta()).threshold == cut


@pytest.mark.parametrize("name", ["f2", "gmean", "jaccard", "mcc"])
def test_any_metric_has_one(name):
    is_pos, score = scores()
    metric = get_metric(name)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=0.9, value=0.5)
    found = stable_choice(store, metric)
    assert np.isfinite(found.threshold)
    assert metric.of(found.profile) > 0.3


def test_constraints_and_empty_stores_have_none():
    is_pos, score = scores()
    store = ScoreStore(is_pos)
    assert stable_choice(store, FBeta()) is None
    store.add((0, 0), score=score, threshold=0.9, value=0.6)
    assert stable_choice(store, Constrained(FBeta(), get_constraint("precision >= 0.5"))) is None


def test_a_cut_at_infinity_stays_there():
    is_pos = np.arange(20) < 10
    store = ScoreStore(is_pos)
    store.add((0, 0), score=np.zeros(20), threshold=-np.inf, value=2 / 3)
    assert stable_choice(store, FBeta()).threshold == -np.inf
    is_pos, score = scores()
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=np.inf, value=0.0)  # which draws have no say in
    assert stable_choice(store, FBeta()).threshold == np.inf


def test_infinite_scores_have_a_cut_too():
    is_pos, score = scores()
    score[[0, 1, 60]], score[-5:] = np.inf, -np.inf
    value, cut = best_cut(score, is_pos, np.ones(300), None)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=cut, value=value)
    assert stable_choice(store, FBeta()).threshold == pytest.approx(cut, abs=0.5)


@pytest.mark.parametrize("base", ["scores", "ties"])
def test_one_ranking_finds_the_same_samples_on_any_scale_and_in_any_order(base):
    """As users call it, with a model that is fitted already."""
    rng = np.random.default_rng(1)
    y = (rng.random(600) < 0.15).astype(int)
    score = rng.normal(size=600) + 1.3 * y
    score = score.round(1) if base == "ties" else score
    found = []
    for scale in (np.asarray, lambda s: 3e4 * s - 7e3, lambda s: np.exp(2 * s), lambda s: expit(4 * s)):
        search = CostSearch(Given(scale).fit(), cv="prefit").fit(score[:, None], y)
        found.append(search.predict(score[:, None]))
    order = rng.permutation(600)
    search = CostSearch(Given(np.asarray).fit(), cv="prefit").fit(score[order, None], y[order])
    found.append(search.predict(score[:, None]))
    assert 20 < found[0].sum() < 300
    assert (np.array(found) == found[0]).all()


class Given(ClassifierMixin, BaseEstimator):
    """Scores by the first feature, as they are or on another scale."""

    def __init__(self, scale):
        self.scale = scale

    def fit(self, X=None, y=None):
        self.classes_, self.n_features_in_ = np.array([0, 1]), 1
        return self

    def decision_function(self, X):
        return self.scale(X[:, 0])

    def predict(self, X):
        return (self.decision_function(X) >= 0).astype(int)


def test_where_costs_hardly_change_the_model_they_have_to_gain_more():
    """A gain that some draws have and others do not is none there."""
    is_pos, score = scores(n=1000)
    rng = np.random.default_rng(3)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=score, threshold=0.9, value=0.6, equal_costs=True)
    for number in range(1, 6):
        store.add((0, number), score=score + rng.normal(scale=0.2, size=1000), threshold=0.9, value=0.6)
    assert stable_choice(store, FBeta(), chooser=Chooser(1.0)).key == (0, 0)
    _, better = scores(n=1000, seed=5, shift=3.0)
    store.add((0, 6), score=better, threshold=1.5, value=0.8)
    assert stable_choice(store, FBeta(), chooser=Chooser(1.0)).key == (0, 6)
