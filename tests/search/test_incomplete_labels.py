"""Searches by metrics of the truth, where labels miss positives."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score

import csf
from csf import CostSearch
from csf.metrics import FBeta, Incomplete
from csf.metrics.registry import LabelMetric

SHARE = 0.25
X, TRUTH = make_classification(4000, 6, weights=[0.8], flip_y=0.05, class_sep=1.2, random_state=0)
Y = TRUTH * (np.random.default_rng(0).random(4000) < SHARE)
KNOWN, NEW = slice(0, 2000), slice(2000, None)
QUICK = {"param_grid": None, "cv": 3, "n_trials": 1, "random_state": 0}


def searched(metric, **options):
    return CostSearch(LogisticRegression(), metric, **(QUICK | options)).fit(X[KNOWN], Y[KNOWN])


@pytest.fixture(scope="module")
def known():
    return searched(Incomplete("f1", labelled=SHARE))


def test_it_is_the_search_of_another_f_with_the_value_of_the_truth(known):
    other, factor = searched(FBeta(1.0 / np.sqrt(SHARE))), 2.0 / (1.0 + SHARE)
    np.testing.assert_array_equal(known.predict(X), other.predict(X))
    values = known.best_score_, known.corrected_score_, *known.score_interval_, known.upper_bound_
    others = other.best_score_, other.corrected_score_, *other.score_interval_, other.upper_bound_
    np.testing.assert_allclose(values, factor * np.array(others), rtol=1e-6)
    true = f1_score(TRUTH[NEW], known.predict(X[NEW]))
    low, high = known.score_interval_
    assert low <= true <= high
    assert true > f1_score(TRUTH[NEW], searched("f1").predict(X[NEW]))
    assert known.score(X[NEW], Y[NEW]) == pytest.approx(true, abs=0.1)


def test_summary_and_monitor_say_what_the_value_rests_on(known):
    assert "true f1 (25 % of the positives labelled) to expect on new data" in str(known.summary())
    monitor = known.monitor("precision >= 0.3")
    assert not monitor.update(Y[NEW], known.predict(X[NEW]))
    assert monitor.report().startswith("true precision (25 % of the positives labelled) >= 0.3: no evidence against it")
    assert known.monitor().name == known.metric.name


def test_the_interval_reaches_over_a_range_of_shares(known):
    middle = Incomplete("f1", labelled=(SHARE / 2.0, 2.0 * SHARE))
    wide = searched(middle)
    np.testing.assert_array_equal(wide.predict(X), known.predict(X))
    assert wide.corrected_score_ == pytest.approx(known.corrected_score_)
    errors = wide.result_.errors
    low, high = (Incomplete("f1", labelled=each * SHARE).of(errors) / known.best_score_ for each in (2.0, 0.5))
    expected = low * known.score_interval_[0], high * known.score_interval_[1]
    assert wide.score_interval_ == pytest.approx(expected)
    assert wide.at_prevalence(0.08).score_interval_[0] < wide.at_prevalence(0.08).corrected_score_


def test_constraints_hold_for_the_truth():
    search = searched(Incomplete("recall", labelled=SHARE), constraint="precision >= 0.6")
    assert search.feasible_
    predicted = search.predict(X[NEW])
    assert precision_score(TRUTH[NEW], predicted) == pytest.approx(0.6, abs=0.15)
    assert precision_score(Y[NEW], predicted) < 0.25
    assert search.result_.rates == {"true precision (25 % of the positives labelled)": search.constraint_value_}
    certified = searched(Incomplete("recall", labelled=SHARE), constraint="precision >= 0.5", confidence=0.9)
    assert certified.guarantee_.holds
    assert certified.guarantee_.constraint == "true precision (25 % of the positives labelled) >= 0.5"
    assert certified.monitor().name == "true precision (25 % of the positives labelled)"


def test_scores_without_a_model_and_several_labels():
    metric = Incomplete("f1", labelled=SHARE)
    decision = csf.tune_threshold(Y, X[:, 0] + X[:, 1], metric)
    other = csf.tune_threshold(Y, X[:, 0] + X[:, 1], FBeta(2.0))
    assert (decision.threshold, decision.value) == (other.threshold, pytest.approx(1.6 * other.value))
    labels = np.column_stack([Y, (X[:, 1] > 1.0) & (Y == 0)]).astype(int)
    for average in ("macro", "micro"):
        options = QUICK | {"constraint": "precision >= 0.4"}
        search = CostSearch(LogisticRegression(), LabelMetric(metric, average), **options).fit(X, labels)
        names = [part for each in getattr(search, "searches_", [search]) for part in each.result_.rates]
        assert set(names) == {"true precision (25 % of the positives labelled)"}
        assert search.score(X, labels) == pytest.approx(search.corrected_score_, abs=0.1)


def test_shares_that_the_labels_contradict_are_refused_before_training():
    with pytest.raises(ValueError, match="of the samples are labelled positive, and there can only be"):
        CostSearch(LogisticRegression(), Incomplete("f1", labelled=0.1), **QUICK).fit(X, TRUTH)
    codes = TRUTH + (X[:, 0] > 1.0)
    with pytest.raises(ValueError, match="is a metric of two classes"):
        CostSearch(LogisticRegression(), Incomplete("f1", labelled=0.1), **QUICK).fit(X, codes)
