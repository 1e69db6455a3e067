"""Bounds of all rates at all thresholds: monotone, below what was observed, and true together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import csf
from csf.metrics import Jaccard, MeanCost
from csf.metrics.profile import ErrorProfile
from csf.thresholding.band import _PARTS, ConfidenceBand, _local_level, _places

RATES = ("recall", "specificity", "precision")


def sample(n=300, pos=0.2, shift=2.0, seed=0, digits=None):
    """Truth and scores, which are equal for many samples with few digits."""
    rng = np.random.default_rng(seed)
    is_pos = rng.random(n) < pos
    is_pos[:2] = True, False
    score = rng.normal(shift * is_pos)
    return is_pos, score if digits is None else score.round(digits)


@given(seed=st.integers(0, 50), digits=st.sampled_from([None, 1, 0]), confidence=st.sampled_from([0.5, 0.9, 0.99]))
def test_bounds_are_monotone_and_below_what_was_observed(seed, digits, confidence):
    is_pos, score = sample(60, 0.3, seed=seed, digits=digits)
    band = csf.certify(is_pos, score, confidence)
    assert (np.diff(band.thresholds) < 0.0).all()
    assert (np.diff(band.recall) >= 0.0).all()
    assert (np.diff(band.specificity) <= 0.0).all()
    for place, threshold in enumerate(band.thresholds):
        profile = ErrorProfile.from_masks(is_pos, score >= threshold)
        assert band.recall[place] < 1.0 - profile.fn / profile.pos + 1e-12
        assert band.specificity[place] < 1.0 - profile.fp / (1.0 - profile.pos) + 1e-12
        observed = is_pos[score >= threshold].mean() if (score >= threshold).any() else 0.0
        assert band.precision[place] <= observed
    assert band.share[0] < is_pos.mean() < band.share[1]


def test_more_confidence_is_less_certain():
    is_pos, score = sample()
    loose, strict = csf.certify(is_pos, score, 0.8), csf.certify(is_pos, score, 0.99)
    for name in (*RATES, "f1", "gmean"):
        assert (loose.worst(name) >= strict.worst(name)).all()
        assert loose.worst(name).max() > strict.worst(name).max()


def test_levels_of_order_statistics_are_exact():
    """Of one sample the bound is the error itself; of two the probability of both bounds is a polynomial."""
    assert _local_level(1, 0.1) == pytest.approx(0.1, abs=0.01)
    eta = _local_level(2, 0.1)
    low, high = 1.0 - np.sqrt(1.0 - eta), np.sqrt(eta)  # of the smaller and the larger one
    assert 1.0 - high**2 - 2.0 * low * (1.0 - high) == pytest.approx(0.9, abs=0.01)
    assert _local_level(2000, 0.03) < _local_level(200, 0.03) < _local_level(20, 0.03) < 0.03


def test_places_of_many_are_few_and_those_of_few_all():
    assert _places(40).tolist() == list(range(1, 41))
    places = _places(10**6)
    assert places.size <= 1000
    assert (places[0], places[-1]) == (1, 10**6)


@pytest.mark.parametrize("digits", [None, 0])
def test_all_bounds_hold_together(digits):
    """Rates of the normal distributions that the scores are drawn from."""
    false = 0
    for seed in range(60):
        is_pos, score = sample(400, 0.2, seed=100 + seed, digits=digits)
        band = csf.certify(is_pos, score)
        # A rounded score is at least the threshold where the score is half a unit below the next whole number.
        cuts = band.thresholds if digits is None else np.ceil(band.thresholds) - 0.5
        recall, fpr = norm.sf(cuts - 2.0), norm.sf(cuts)
        precision = 0.2 * recall / np.maximum(0.2 * recall + 0.8 * fpr, 1e-300)
        false += (band.recall > recall + 1e-9).any() or (band.specificity > 1.0 - fpr + 1e-9).any()
        false += (band.worst("precision") > precision + 1e-9).any()
        false += (band.worst("gmean") > np.sqrt(recall * (1.0 - fpr)) + 1e-9).any()
    assert false <= 12  # 6 of 60 at most on average, and one draw may count more than once


def test_the_best_threshold_keeps_its_demands():
    band = csf.certify(*sample(2000))
    found = band.best("specificity", "recall >= 0.8, gmean >= 70%")
    assert found.holds
    assert band.holds("recall >= 0.8, gmean >= 0.7", found.threshold)
    assert band.at(found.threshold)["specificity"] == found.value
    assert not band.holds("recall >= 0.99", found.threshold)
    none = band.best("recall", "precision >= 0.999")
    assert not none.holds
    assert band.holds("fpr <= 0.2, specificity >= 0.8", 2.0)


def test_thresholds_between_two_scores_are_as_sure_as_the_larger_one():
    band = csf.certify(*sample(100))
    for larger, smaller in zip(band.thresholds[1:], band.thresholds[2:]):
        between = 0.5 * (larger + smaller)
        if smaller < between < larger:
            assert band.at(between) == band.at(larger)
    assert band.at(band.thresholds[-1] - 1.0) == band.at(band.thresholds[-1])
    assert band.at(np.inf)["recall"] == 0.0


def test_a_precision_is_that_of_the_scores_above_one_of_them():
    """Of 20 scores those above the last one are 19, and of 19 positives in as many the bound is a binomial tail."""
    is_pos, score = np.arange(20) < 19, np.arange(20.0)[::-1]
    band = csf.certify(is_pos, score, 0.9)
    tested = np.flatnonzero(band.precision > 0.0)
    assert [(score >= cut).sum() for cut in band.thresholds[tested]] == [13, 19]
    np.testing.assert_allclose(band.precision[tested], (0.1 * _PARTS["precision"] / 2.0) ** (1.0 / np.array([13, 19])))


def test_costs_have_the_largest_value_that_may_be():
    is_pos, score = sample(2000)
    band = csf.certify(is_pos, score)
    cost = band.worst(MeanCost(5.0, 1.0))
    observed = [5.0 * (is_pos & (score < cut)).mean() + (~is_pos & (score >= cut)).mean() for cut in band.thresholds]
    assert (cost >= observed).all()
    assert band.best(MeanCost(5.0, 1.0)).value == pytest.approx(cost.min())
    assert band.worst(Jaccard()).max() < band.worst("f1").max()


def test_labels_of_any_kind():
    is_pos, score = sample()
    words = np.where(is_pos, "bad", "good")
    expected = csf.certify(is_pos, score).at(1.0)
    assert csf.certify(words, score, pos_label="bad").at(1.0) == expected
    assert csf.certify(is_pos.astype(int).tolist(), score.tolist()).at(1.0) == expected


def test_what_cannot_be_certified_is_refused():
    is_pos, score = sample()
    band = csf.certify(is_pos, score)
    with pytest.raises(ValueError, match="predicted_positive_rate rises with one error and falls with the other"):
        band.holds("predicted_positive_rate <= 0.1", 1.0)
    with pytest.raises(ValueError, match="cannot read constraint 'recall'"):
        band.best("f1", "recall")
    with pytest.raises(ValueError, match="needs a level in"):
        band.holds("gmean >= 2", 1.0)
    with pytest.raises(ValueError, match="confidence must be"):
        csf.certify(is_pos, score, 1.0)
    with pytest.raises(ValueError, match=r"y must have two classes, got \['a', 'b', 'c'\]; .* certify\(y == label"):
        csf.certify(np.array(["a", "b", "c"])[np.arange(300) % 3], score)
    assert isinstance(band, ConfidenceBand)


def test_a_search_has_the_band_of_scores_that_its_model_has_not_seen():
    X, y = make_classification(900, 5, weights=[0.7], flip_y=0.05, random_state=0)
    quick = {"param_grid": None, "n_trials": 1, "cv": 3, "threshold": "tune"}
    held_back = csf.CostSearch(LogisticRegression(), constraint="recall >= 0.6", confidence=0.8, **quick).fit(X, y)
    known = held_back.result_.calibrated
    assert held_back.band_.confidence == 0.8
    np.testing.assert_array_equal(held_back.band_.recall, ConfidenceBand(known.truth, known.rows, 0.8).recall)
    given = csf.tune_threshold(y, X[:, 0])
    np.testing.assert_array_equal(given.search.band_.precision, csf.certify(y, X[:, 0]).precision)
    weight = np.arange(1.0, 901.0)
    for other in (
        csf.CostSearch(LogisticRegression(), **quick).fit(X, y),
        csf.tune_threshold(y, X[:, 0], sample_weight=weight).search,
        csf.tune_threshold(y, X[:, 0], groups=np.arange(900) // 3).search,
    ):
        with pytest.raises(AttributeError, match=r"csf.certify\(y, search.score_samples\(X\)\)"):
            assert other.band_
        assert not csf.plots.ThresholdCurveDisplay.from_estimator(other).bounds
    shaded = csf.plots.ThresholdCurveDisplay.from_estimator(held_back)
    assert set(shaded.bounds) == {"precision", "recall"}
    at = shaded.thresholds.tolist().index(min(shaded.thresholds, key=abs))
    assert shaded.bounds["recall"][at] == held_back.band_.at(shaded.thresholds[at])["recall"]


def test_demands_are_read_as_constraints_are():
    band = csf.certify(np.arange(90) % 3 == 0, np.arange(90.0))
    assert band.holds("recall >= 0%, fpr ≤ 1", 0.0)
    for text, error in (
        ("recall[a] >= 0.5", "leave the brackets out"),
        ("recall > 0.5", "the side must be >= or <="),
        ("recall gap <= 0.1 by sex", "by segments"),
        ("recall >= 0.5,", "cannot read constraint"),
    ):
        with pytest.raises(ValueError, match=error):
            band.holds(text, 0.0)
