"""A decision of one's own, a threshold that depends on the hour of a row: every other feature works with it unasked."""

import json
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import csf
from csf import CostSearch
from csf.export import decision_rule, read_rule
from csf.metrics import Review
from csf.plots import ThresholdCurveDisplay
from csf.testing import check_row_thresholds
from csf.thresholding import RowThresholds, TunedThresholds

SLOPES = (-0.1, 0.0, 0.1)


@dataclass(frozen=True)
class HourThresholds(RowThresholds):
    """Threshold that rises or falls with the hour of a row."""

    column: str = "hour"
    first: float = 0.0
    slope: float = 0.0

    def beside(self, X, given=None):
        return np.asarray(X[self.column] if given is None else given, dtype=float)

    def of_rows(self, beside):
        return self.first + self.slope * beside

    def tuned(self, metric, rows, share=0.0):
        cuts = {slope: rows.best_cut(metric, slope * rows.beside, share) for slope in SLOPES}
        slope = max(cuts, key=lambda key: (cuts[key].feasible, cuts[key].value))
        best = cuts[slope]
        return TunedThresholds(replace(self, first=best.threshold, slope=slope), best.value, best.feasible)

    @property
    def parameters(self):
        return {"at midnight": self.first, "an hour": self.slope}


def samples(n=1500, seed=0):
    """Rows that are likelier to be positive later, which the base does not see."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=list("ab"))
    hour = rng.integers(0, 24, n)
    y = (X["a"] + 0.1 * hour + rng.logistic(size=n) > 3.2).astype(int).to_numpy()
    return X, y, hour


X, Y, HOUR = samples()
QUICK = {"param_grid": None, "cv": 3, "n_trials": 1, "random_state": 0}


def fitted(**options):
    return CostSearch(LogisticRegression(), threshold=HourThresholds(), **(QUICK | options)).fit(X, Y, by=HOUR)


@pytest.fixture(scope="module")
def search():
    return fitted()


def test_it_keeps_the_contract():
    check_row_thresholds(HourThresholds(), HOUR)


def test_values_without_a_number_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"beside must give a finite number for each of 1500 rows, got .* drop these"):
        CostSearch(LogisticRegression(), threshold=HourThresholds(), **QUICK).fit(X, Y, by=np.where(HOUR, HOUR, np.nan))
    with pytest.raises(ValueError, match="finite number for each of 2 rows"):
        fitted().predict(X[:2], by=[1.0, np.nan])


def test_its_thresholds_decide_and_are_better_than_one(search):
    raw = search.best_estimator_.decision_function(X)
    thresholds = search.thresholds_
    assert thresholds["an hour"] == -0.1
    above = raw >= thresholds["at midnight"] + thresholds["an hour"] * HOUR
    np.testing.assert_array_equal(search.predict(X, by=HOUR), above)
    new, y, hour = samples(seed=1)
    one = CostSearch(LogisticRegression(), **QUICK).fit(X, Y)
    assert f1_score(y, search.predict(new, by=hour)) > f1_score(y, one.predict(new)) + 0.02
    np.testing.assert_array_equal(search.decision_function(new, by=hour) >= 0.0, search.predict(new, by=hour) == 1)


def test_a_column_of_a_frame_is_read_by_its_name():
    class NoHour(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X[["a", "b"]], y, sample_weight)

        def decision_function(self, X):
            return super().decision_function(X[["a", "b"]])

    frame = X.assign(hour=HOUR)
    column = CostSearch(NoHour(), threshold=HourThresholds(), **QUICK).fit(frame, Y)
    np.testing.assert_array_equal(column.predict(frame), fitted().predict(X, by=HOUR))


def test_value_and_interval_are_those_of_thresholds_tuned_again(search):
    values = []
    for seed in range(1, 21):
        new, y, hour = samples(seed=seed)
        values.append(f1_score(y, search.predict(new, by=hour)))
    low, high = search.score_interval_
    assert search.corrected_score_ < search.best_score_
    assert low < np.mean(values) < high
    assert np.isnan(search.threshold_interval_).all()


def test_limits_take_the_rows_farthest_beyond_their_thresholds(search):
    beyond = search.decision_function(X, by=HOUR)
    kept = np.flatnonzero(search.predict(X, 30, by=HOUR) == 1)
    assert set(kept) == set(np.argsort(-beyond)[:30])
    capacity = search.at_capacity(0.02)
    assert capacity.acted_on == pytest.approx(0.02)
    assert 0.0 < capacity.captured < 0.2
    alerts = search.predict(X, wrong_at_most=0.5, by=HOUR) == 1
    assert 0 < alerts.sum() < len(Y)
    assert beyond[alerts].min() >= np.sort(beyond)[-alerts.sum()]


def test_reviews_are_nearest_to_the_threshold_of_the_row():
    found = fitted(review=Review(cost=0.3, at_most=0.2))
    answers = found.predict_with_review(X, by=HOUR)
    beyond = found.decision_function(X, by=HOUR)
    looked_at = beyond[answers == "review"]
    assert 0.1 < looked_at.size / len(Y) < 0.3
    assert beyond[answers == 0].max() < looked_at.min()
    assert looked_at.max() < beyond[answers == 1].min()
    assert found.review_.value > found.corrected_score_


def test_certificates_test_stricter_thresholds_of_the_same_kind():
    found = fitted(constraint="recall >= 0.6", confidence=0.9)
    assert found.guarantee_.holds
    assert found.feasible_
    new, y, hour = samples(4000, seed=2)
    assert found.predict(new, by=hour)[y == 1].mean() >= 0.6


def test_files_and_copies(search, tmp_path):
    rule = decision_rule(search)
    scores = search.best_estimator_.decision_function(X)
    np.testing.assert_array_equal(rule.decide(scores, by=HOUR), search.predict(X, by=HOUR))
    with pytest.raises(ValueError, match="finite number for each of 1500 rows"):
        rule.decide(scores, by=np.where(HOUR, HOUR, np.nan))
    rule.save(tmp_path / "rule.json")
    saved = json.loads((tmp_path / "rule.json").read_text())
    assert saved["rule"]["thresholds"].items() >= ({"type": "HourThresholds"} | search.thresholds_).items()
    with pytest.raises(ValueError, match=r"no file holds what HourThresholds decides by; .*csf\.save"):
        read_rule(tmp_path / "rule.json")
    copy = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copy.predict(X, by=HOUR), search.predict(X, by=HOUR))
    assert clone(search).threshold == HourThresholds()


def test_report_summary_plot_and_monitor(search, tmp_path):
    search.report(tmp_path / "report.html", X=X, y=Y, by=HOUR)
    page = (tmp_path / "report.html").read_text()
    assert "at midnight" in page
    assert "at midnight" in str(search.summary())
    assert "upper" not in str(search.summary())
    ThresholdCurveDisplay.from_estimator(search)
    monitor = search.monitor("recall >= 0.3")
    new, y, hour = samples(seed=3)
    assert not monitor.update(y, search.predict(new, by=hour))


@pytest.mark.parametrize(
    ("call", "way_out"),
    [
        (lambda search: search.at_prevalence(0.3), "cv='prefit'"),
        (lambda search: csf.plots.ConeDisplay.from_estimator(search), "ThresholdCurveDisplay"),
        (lambda search: fitted(tol=0.1), "Leave it out"),
    ],
    ids=["prevalence", "cones", "tol"],
)
def test_what_needs_one_threshold_is_refused_with_the_way_out(search, call, way_out):
    with pytest.raises(ValueError, match=way_out):
        call(search)
