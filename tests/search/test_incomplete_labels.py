"""Searches by metrics of the truth, where labels miss positives."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score

import csf
from csf import CostSearch
from csf.metrics import FBeta, Incomplete, Review
from csf.metrics.averages import Averaged

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
        search = CostSearch(LogisticRegression(), Averaged(metric, average), **options).fit(X, labels)
        names = [part for each in getattr(search, "searches_", [search]) for part in each.result_.rates]
        assert set(names) == {"true precision (25 % of the positives labelled)"}
        assert search.score(X, labels) == pytest.approx(search.corrected_score_, abs=0.1)


def test_shares_that_the_labels_contradict_are_refused_before_training():
    with pytest.raises(ValueError, match="of the samples are labelled positive, and there can only be"):
        CostSearch(LogisticRegression(), Incomplete("f1", labelled=0.1), **QUICK).fit(X, TRUTH)
    codes = TRUTH + (X[:, 0] > 1.0)
    with pytest.raises(ValueError, match="is a metric of two classes"):
        CostSearch(LogisticRegression(), Incomplete("f1", labelled=0.1), **QUICK).fit(X, codes)


def test_complete_labels_are_the_truth():
    complete, plain = (
        CostSearch(LogisticRegression(), metric, **QUICK).fit(X[KNOWN], TRUTH[KNOWN])
        for metric in (Incomplete("f1", labelled=1.0), "f1")
    )
    for name in ("best_threshold_", "best_score_", "corrected_score_", "score_interval_", "upper_bound_"):
        assert getattr(complete, name) == pytest.approx(getattr(plain, name))
    found, expected = (each.at_capacity(0.1) for each in (complete, plain))
    for name in ("value", "interval", "captured", "acted_on", "threshold"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name))
    first, second = (each.monitor("precision[0] >= 0.5", path=None) for each in (complete, plain))
    for monitor in (first, second):
        monitor.update(TRUTH[NEW], plain.predict(X[NEW]))
    assert first.interval == pytest.approx(second.interval)


@pytest.mark.parametrize("rates", [{"labelled": 0.6}, {"missed": 0.3, "false": 0.1}], ids=str)
def test_capacity_and_monitors_of_either_class_are_of_the_truth(rates):
    rng, rows, n = np.random.default_rng(1), np.random.default_rng(2).normal(size=(40000, 3)), 20000
    truth = (rows @ [1.5, -1.5, 0.0] + rng.logistic(size=len(rows)) > 1.0).astype(int)
    missed, false = rates.get("missed", 1.0 - rates.get("labelled", 1.0)), rates.get("false", 0.0)
    labels = np.where(rng.random(truth.size) < np.where(truth, missed, false), 1 - truth, truth)
    search = CostSearch(LogisticRegression(), Incomplete("f1", **rates), **QUICK).fit(rows[:n], labels[:n])
    few, all_ = search.predict(rows[n:], at_most=0.1), search.predict(rows[n:])
    capacity = search.at_capacity(0.1)
    assert capacity.captured == pytest.approx(recall_score(truth[n:], few), abs=0.015)
    assert capacity.value == pytest.approx(f1_score(truth[n:], few), abs=0.015)
    for rate, score in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        for label in (0, 1):
            monitor = search.monitor(f"{rate}[{label}] >= 0.1")
            assert not monitor.update(labels[n:], all_)
            low, high = monitor.interval
            assert low < score(truth[n:], all_, pos_label=label) < high


class Untrainable(LogisticRegression):
    """Classifier that fails where a refusal comes too late."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("it was trained")


@pytest.mark.parametrize("given", [{"wrong": {"negative": 0.05}}, {"cost": 0.5, "at_most": 0.1}], ids=str)
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_reviews_are_refused_before_training(given, confidence):
    options = QUICK | {"review": Review(**given), "error_score": "raise"}
    options |= {"confidence": confidence} if "wrong" in given else {}
    single, noisy = Incomplete("f1", labelled=SHARE), Incomplete("accuracy", missed=0.3, false=0.1)
    for metric, y in ((single, Y), (noisy, Y), (Averaged(single, "macro"), np.column_stack([Y, Y]))):
        with pytest.raises(ValueError, match=r"review=Review\(.* is not for metric='true .*complete labels"):
            CostSearch(Untrainable(), metric, **options).fit(X, y)


def test_several_classes_beside_a_null_class_are_refused_before_training():
    with pytest.raises(ValueError, match=r"beside null_class=0 there are 2: .* Merge these classes"):
        CostSearch(Untrainable(), Incomplete("f1", labelled=SHARE), null_class=0, error_score="raise").fit(
            X, Y * (1 + (X[:, 0] > 0.0))
        )


@pytest.mark.slow
def test_other_shares_of_positives_are_refused_and_not_advised(known, tmp_path):
    labels = CostSearch(LogisticRegression(), Averaged(known.metric, "macro"), **QUICK)
    labels.fit(X, np.column_stack([Y, Y]))
    for search, shares in ((known, 0.1), (known, {0: 0.9, 1: 0.1}), (labels, [0.1, 0.2])):
        for call in (lambda each=search, pos=shares: each.at_prevalence(pos), lambda each=search: each.prevalence(X)):
            with pytest.raises(ValueError, match=r"metric='true f1 .*hide more or fewer of them.*retune"):
                call()
    monitor = known.monitor("precision >= 0.8")
    assert monitor.update(Y[NEW], 1 - known.predict(X[NEW]))
    assert "prevalence" not in monitor.report()
    assert "monitor.retune(X, y)" in monitor.report()
    found = monitor.retune(X[NEW], Y[NEW])
    assert found.corrected_score_ == pytest.approx(f1_score(TRUTH[KNOWN], found.predict(X[KNOWN])), abs=0.1)
    often = np.append(np.flatnonzero(Y[NEW] == 1), np.arange(700)) + 2000
    known.report(tmp_path / "page.html", X[often], Y[often])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "CSF005" in page
    assert "at_prevalence" not in page


def test_audits_of_missed_positives_name_the_way_out():
    """Who labels the rows of an audit sees which are positive."""
    search = searched(Incomplete("f1", labelled=SHARE))
    with pytest.raises(ValueError, match=r"labels of an audit are complete.*csf\.audit\(p, search\.predict\(X\)"):
        search.audit(X[NEW])
    p = np.minimum(search.predict_proba(X[NEW])[:, 1] / SHARE, 1)
    plan = csf.audit(p, search.predict(X[NEW]), metric="f1")
    low, high = plan.interval(TRUTH[NEW][plan.rows])[1:]
    assert low <= f1_score(TRUTH[NEW], search.predict(X[NEW])) <= high
