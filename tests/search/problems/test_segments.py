"""Searches with thresholds by segment, as users call them."""

import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB

import csf
from csf import CostSearch
from csf.export import decision_rule, fixed_threshold, linear_rule, read_rule
from csf.metrics import Incomplete, Review, get_constraint, get_metric
from csf.metrics.profile import ErrorProfile
from csf.plots import ThresholdCurveDisplay
from csf.plugin import PlugInClassifier
from csf.search.problems.segments import SegmentConstraint
from csf.thresholding.segments import Segments

QUICK = {"param_grid": None, "cv": 3, "n_trials": 1, "random_state": 0}
GAP, EACH = "recall gap <= 0.05 by sex", "precision >= 0.5 in each sex"


def samples(n=900, seed=0):
    """Two segments whose scores and shares of positives differ."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    sex = rng.choice(["f", "m"], n)
    y = (rng.uniform(size=n) < expit(1.5 * X["a"] + 1.5 * (sex == "m") - 1.5)).astype(int).to_numpy()
    return X, y, sex


X, Y, SEX = samples()
FRAME = X.assign(sex=np.where(SEX == "m", 1.0, 0.0))


def fitted(constraint=GAP, base=None, **options):
    return CostSearch(base or LogisticRegression(), constraint=constraint, **(QUICK | options)).fit(X, Y, by=SEX)


def prefit(constraint=GAP, **options):
    base = FrozenEstimator(LogisticRegression().fit(X, Y))
    return CostSearch(base, constraint=constraint, **options).fit(X, Y, by=SEX)


def recalls(predicted, sex=SEX, y=Y):
    return [predicted[(sex == each) & (y == 1)].mean() for each in "fm"]


@pytest.fixture(scope="module")
def search():
    return fitted()


def test_wrong_reviews_miss_a_constraint_that_right_ones_keep():
    """Half of the positives are reviewed: of five such rows one answer is wrong."""
    constraint = get_constraint("recall >= 0.85 in each sex")
    codes, is_pos = np.repeat([0, 1], 20), np.tile(np.repeat([True, False], 10), 2)
    segmented = SegmentConstraint(constraint, Segments("sex", ("f", "m")))
    reviewed = np.tile(np.arange(20) < 5, 2)
    segmented.check_reviews(codes, is_pos, is_pos, reviewed, None, 0.2)
    with pytest.warns(UserWarning, match=r"with reviews, .* they do not \(.*0\.8\)"):
        segmented.check_reviews(codes, is_pos, is_pos, reviewed, None, 0.4)


@pytest.mark.parametrize("n_positives", [21, 22])
def test_as_many_rows_as_a_certificate_needs_are_enough(n_positives):
    """Of recall >= 0.9 with confidence 0.9 there are 22: 0.9**22 < 0.1 < 0.9**21."""
    segmented = SegmentConstraint(get_constraint("recall >= 0.9 in each sex"), Segments("sex", ("f", "m")))
    codes, is_pos = np.repeat([0, 1], [60, 40]), np.arange(100) >= 100 - 30
    is_pos[:n_positives] = True
    counted = (codes, is_pos, 0.1, 1.0)
    if n_positives == 22:
        segmented._check_numbers(*counted)
        return
    with pytest.raises(ValueError, match="where sex is 'f' there are 21 that recall counts, and 22 are needed"):
        segmented._check_numbers(*counted)


@pytest.mark.parametrize("n_repeats", [1, 3])
def test_rows_of_segments_are_counted_once(n_repeats):
    table = fitted(cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=n_repeats, random_state=0)).segments_
    assert {name: row["weight"] for name, row in table.items()} == {name: np.sum(name == SEX) for name in "fm"}


@pytest.mark.parametrize("options", [{}, {"threshold": "tune"}, {"metric": "accuracy"}], ids=str)
def test_the_gap_is_kept_where_thresholds_were_tuned(options):
    found, free = prefit(**options), CostSearch(FrozenEstimator(LogisticRegression().fit(X, Y)), **options).fit(X, Y)
    predicted = found.predict(X, by=SEX)
    assert np.ptp(recalls(predicted)) == pytest.approx(found.constraint_value_)
    assert found.feasible_
    assert found.constraint_value_ <= 0.05
    assert np.ptp(recalls(free.predict(X))) > found.constraint_value_
    assert found.score(X, Y, by=SEX) == pytest.approx(found.best_score_)
    assert found.limit_cost_ >= 0.0
    for name, row in found.segments_.items():
        at = name == SEX
        assert row["threshold"] == found.thresholds_[name]
        assert (row["weight"], row["positives"]) == (at.sum(), Y[at].mean())
        assert row["recall"] == pytest.approx(predicted[at & (Y == 1)].mean())
        assert row["precision"] == pytest.approx(Y[at & (predicted == 1)].mean())


def test_a_level_is_kept_in_each_segment():
    found = prefit("precision >= 0.7 in each sex, recall >= 0.2 in each sex")
    predicted = found.predict(X, by=SEX)
    precision = [Y[(each == SEX) & (predicted == 1)].mean() for each in "fm"]
    assert found.feasible_
    assert min(precision) >= 0.7
    assert min(precision) == pytest.approx(found.constraint_value_)
    assert min(recalls(predicted)) >= 0.2
    assert "upper" not in str(found.summary())


def test_a_level_that_no_threshold_reaches_is_said():
    closest = pytest.warns(UserWarning, match="no decisions keep precision >= 0.99 in each sex")
    with pytest.warns(UserWarning, match="no trial satisfies precision >= 0.99"), closest:
        found = prefit("precision >= 0.99 in each sex, recall >= 0.9 in each sex")
    assert not found.feasible_


def test_a_column_of_the_samples_is_as_good_as_an_array():
    column = CostSearch(LogisticRegression(), constraint=GAP, **QUICK).fit(FRAME, Y)
    array = CostSearch(LogisticRegression(), constraint=GAP, **QUICK).fit(FRAME.to_numpy(), Y, by=FRAME["sex"])
    np.testing.assert_array_equal(column.predict(FRAME), array.predict(FRAME.to_numpy(), by=FRAME["sex"].to_numpy()))
    assert list(column.thresholds_) == [0.0, 1.0]
    np.testing.assert_array_equal(column.decision_function(FRAME) >= 0.0, column.predict(FRAME) == 1)
    assert column.predict_proba(FRAME).shape == (len(FRAME), 2)


def test_scores_and_thresholds_agree(search):
    rule = search.decision_rule_
    raw = search.best_estimator_.decision_function(X)
    cuts = np.array([search.thresholds_[each] for each in SEX])
    np.testing.assert_array_equal(search.predict(X, by=SEX), raw >= cuts)
    assert (search.best_threshold_, rule.threshold_proba) == (0.0, None)
    search.best_threshold_ = 0.5
    np.testing.assert_array_equal(search.predict(X, by=SEX), raw - cuts >= 0.5)
    search.best_threshold_ = 0.0


def test_words_in_any_order_and_copies(search):
    words = np.where(Y == 1, "bad", "good")
    other = CostSearch(LogisticRegression(), constraint=GAP, pos_label="bad", **QUICK).fit(X, words, by=SEX)
    np.testing.assert_array_equal(other.predict(X, by=SEX) == "bad", search.predict(X, by=SEX) == 1)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X, by=SEX), search.predict(X, by=SEX))
    assert clone(search).fit(X, Y, by=SEX).thresholds_ == search.thresholds_
    order = np.random.default_rng(1).permutation(len(Y))
    moved = prefit().thresholds_
    base = FrozenEstimator(LogisticRegression().fit(X, Y))
    assert CostSearch(base, constraint=GAP).fit(X.iloc[order], Y[order], by=SEX[order]).thresholds_ == moved


def test_a_weight_of_two_is_two_rows():
    base, weight = FrozenEstimator(LogisticRegression().fit(X, Y)), np.random.default_rng(2).integers(1, 3, len(Y))
    twice = np.repeat(np.arange(len(Y)), weight)
    one = CostSearch(base, constraint=GAP).fit(X, Y, sample_weight=weight, by=SEX)
    two = CostSearch(base, constraint=GAP).fit(X.iloc[twice], Y[twice], by=SEX[twice])
    assert one.thresholds_ == two.thresholds_
    assert (one.best_score_, one.corrected_score_) == pytest.approx((two.best_score_, two.corrected_score_))


def test_the_corrected_value_is_that_of_thresholds_tuned_apart():
    """Scores that say nothing: what the tuned thresholds attain is chance, and its correction is below."""
    rng = np.random.default_rng(0)
    y, by = rng.random(120) < 0.3, rng.integers(0, 2, 120)
    decision = csf.tune_threshold(
        y, rng.normal(size=120), "accuracy", constraint="selection_rate gap <= 0.3 by s", by=by
    )
    assert decision.value < decision.search.best_score_
    low, high = decision.interval
    assert low < decision.value < high
    assert np.isnan(decision.search.threshold_interval_).all()


def test_means_of_folds_and_several_models():
    mean = fitted(refit="folds")
    assert np.ptp(recalls(mean.predict(X, by=SEX))) < 0.2
    several = fitted(base=[LogisticRegression(), GaussianNB()])
    assert set(several.thresholds_) == {"f", "m"}


@pytest.mark.parametrize("rate", ["selection_rate", "recall", "fpr"])
def test_the_smallest_rate_is_a_share_of_the_largest_one(rate):
    found = prefit(f"{rate} ratio >= 0.8 by sex")
    predicted, counted = found.predict(X, by=SEX), {"recall": Y == 1, "fpr": Y == 0}.get(rate, Y >= 0)
    rates = [predicted[(each == SEX) & counted].mean() for each in "fm"]
    assert found.feasible_
    assert min(rates) / max(rates) == pytest.approx(found.constraint_value_)
    assert 0.8 <= found.constraint_value_ < 0.95
    assert "ratio by sex" in str(found.summary())
    raw = LogisticRegression().fit(X, Y).decision_function(X)
    decision = csf.tune_threshold(Y, raw, constraint=f"{rate} ratio >= 0.8 by sex", by=SEX)
    assert decision.thresholds == pytest.approx(found.thresholds_)
    np.testing.assert_array_equal(decision_rule(found).decide(raw, by=SEX), predicted)


def test_brackets_name_either_class():
    words = np.where(Y == 1, "bad", "good")
    base = FrozenEstimator(LogisticRegression().fit(X, words))

    def cuts(constraint):
        return CostSearch(base, constraint=constraint, pos_label="bad").fit(X, words, by=SEX).thresholds_

    assert cuts("recall[bad] gap <= 0.05 by sex") == cuts(GAP)
    assert cuts("recall[good] gap <= 0.02 by sex") == cuts("specificity gap <= 0.02 by sex")
    assert cuts("precision[good] >= 0.75 in each sex") == cuts("npv >= 0.75 in each sex")
    with pytest.raises(ValueError, match=r"there is no 'ugly'; accepted: \['bad', 'good'\]"):
        cuts("recall[ugly] gap <= 0.05 by sex")


# ---------------------------------------------------------------- reviews


def test_reviews_are_those_of_the_score_beyond_each_threshold():
    found = prefit("recall gap <= 0.3 by sex", review=Review(cost=0.2, at_most=0.1))
    bands, raw = found.review_bands(), found.best_estimator_.decision_function(X)
    beyond = raw - np.array([found.thresholds_[each] for each in SEX])
    answers = found.predict_with_review(X, by=SEX)
    expected = np.select([beyond >= bands.upper, beyond < bands.lower], ["1", "0"], "review")
    np.testing.assert_array_equal(answers.astype(str), expected)
    assert 0.0 < np.mean(expected == "review") <= 0.1
    c_fn, c_fp = get_metric("f1").cost_weights(found.best_score_, pos=Y.mean())

    def cost(lower, upper):
        up, down = beyond >= upper, (beyond < lower) & (beyond < upper)
        return c_fn * (Y & down).sum() + c_fp * ((1 - Y) & up).sum() + 0.2 * c_fp * (~up & ~down).sum()

    pairs = np.sort(np.random.default_rng(0).choice(beyond, (200, 2)), axis=1)
    allowed = [pair for pair in pairs if ((beyond >= pair[0]) & (beyond < pair[1])).mean() <= 0.1]
    assert cost(bands.lower, bands.upper) <= min(cost(*pair) for pair in allowed) + 1e-9
    final = np.where(expected == "review", Y, expected == "1").astype(int)
    assert found.review_.value == pytest.approx(
        get_metric("f1").of(ErrorProfile.from_masks(Y == 1, final == 1)), abs=0.03
    )


def test_reviews_that_break_the_limit_are_told():
    with pytest.warns(UserWarning, match="with reviews, which some segments have more of, they do not"):
        prefit("recall gap <= 0.001 by sex", review=Review(cost=0.1, at_most=0.2))


# ---------------------------------------------------------------- certificates


def test_certified_thresholds_keep_the_gap_on_the_rows_held_back():
    X, y, sex = samples(6000, seed=1)
    found = CostSearch(LogisticRegression(), constraint="recall gap <= 0.15 by sex", confidence=0.9, **QUICK)
    found.fit(X, y, by=sex)
    test = found.guarantee_
    assert test.holds
    assert test.rates == {"recall gap by sex": found.constraint_value_}
    assert found.constraint_value_ < 0.15
    assert test.error <= 0.1
    assert test.smallest == "sex=f"
    assert "in sex=f" in str(test)
    new, truth, other = samples(20_000, seed=2)
    assert np.ptp(recalls(found.predict(new, by=other), other, truth)) <= 0.15
    # Of the decisions that were certified, and of no others.
    assert found.corrected_score_ == pytest.approx(found.best_score_)


def test_a_certified_ratio_is_that_of_the_pairs_and_no_level_of_each():
    X, y, sex = samples(6000, seed=1)
    options = {"constraint": "selection_rate ratio >= 0.6 by sex", "confidence": 0.9}
    found = CostSearch(LogisticRegression(), **options, **QUICK).fit(X, y, by=sex)
    test = found.guarantee_
    assert test.holds
    assert test.rates == {"predicted_positive_rate ratio by sex": found.constraint_value_}
    assert found.constraint_value_ > 0.6
    new, _, other = samples(20_000, seed=2)
    rates = [found.predict(new, by=other)[other == each].mean() for each in "fm"]
    assert min(rates) < 0.6  # below the level that each rate had to keep, were it one in each
    assert min(rates) / max(rates) >= 0.55  # one in ten certificates may be false, by little


def test_a_level_in_each_segment_is_certified():
    X, y, sex = samples(3000, seed=1)
    options = {"constraint": "precision >= 0.4 in each sex", "confidence": 0.9}
    found = CostSearch(LogisticRegression(), **options, **QUICK).fit(X, y, by=sex)
    assert found.guarantee_.holds
    assert found.guarantee_.constraint == "precision >= 0.4 in each sex"
    assert found.guarantee_.rates["precision in each sex"] >= 0.4
    weight = np.where(sex == "m", 2.0, 1.0)
    weighted = CostSearch(LogisticRegression(), **options, **QUICK).fit(X, y, sample_weight=weight, by=sex)
    assert weighted.guarantee_.n_samples == 900


def test_too_few_rows_are_told_how_many_are_needed():
    with pytest.warns(UserWarning, match=r"about \d+ positives in sex=f would be needed"):
        found = fitted("recall gap <= 0.1 by sex", confidence=0.9)
    assert not found.feasible_
    with pytest.raises(ValueError, match=r"too few rows to certify .* where sex is 'f' there are \d+ .* are needed"):
        fitted("recall gap <= 0.01 by sex", confidence=0.9)


# ---------------------------------------------------------------- what else reads such a search


def test_reports_exports_and_plots(search, tmp_path):
    rule = decision_rule(search)
    raw = search.best_estimator_.decision_function(X)
    np.testing.assert_array_equal(rule.decide(raw, by=SEX), search.predict(X, by=SEX))
    rule.save(tmp_path / "rule.json")
    written = json.loads((tmp_path / "rule.json").read_text())
    thresholds = written["rule"]["thresholds"]
    assert dict(zip(thresholds["segments"]["known"], thresholds["cuts"], strict=True)) == search.thresholds_
    assert thresholds["demand"] == GAP
    np.testing.assert_array_equal(read_rule(tmp_path / "rule.json").decide(raw, by=SEX), search.predict(X, by=SEX))
    with pytest.raises(ValueError, match="the value 'x', for which there is no threshold"):
        rule.decide(raw[:1], by=["x"])
    with pytest.raises(ValueError, match="or its values as by="):
        rule.decide(raw)
    with pytest.raises(ValueError, match="would leave out more rows of some segments"):
        rule.decide(raw, 10, by=SEX)
    for export in (linear_rule, fixed_threshold):
        with pytest.raises(ValueError, match="thresholds by segment"):
            export(search)
    ThresholdCurveDisplay.from_estimator(search)
    summary = str(search.summary())
    assert "recall gap by sex" in summary
    assert "for f" in summary
    held = CostSearch(LogisticRegression(), constraint=GAP, **QUICK).fit(FRAME, Y)
    held.report(tmp_path / "page.html", FRAME, Y, rivals={"all": np.ones_like(Y)})
    page = (tmp_path / "page.html").read_text()
    assert "Segments by sex" in page
    assert "is what the limit costs, out-of-fold" in page


def test_thresholds_of_scores_alone():
    raw = LogisticRegression().fit(X, Y).decision_function(X)
    decision = csf.tune_threshold(Y, raw, constraint=GAP, by=SEX)
    assert decision.thresholds == pytest.approx(prefit().thresholds_)
    assert "thresholds=" in repr(decision)
    np.testing.assert_array_equal(decision.predict(raw, by=SEX), prefit().predict(X, by=SEX))


def test_a_monitor_watches_all_rows(search):
    assert search.monitor().demand.startswith("f1 >= ")
    with pytest.raises(ValueError, match="is by segments"):
        search.monitor(GAP)


def test_a_gap_that_only_no_alerts_keep_is_told_with_the_way_out():
    # Precision is 1, 1, 2/3 or 0 (of nothing) in a, and 0, 1/2, 1/3, 1/4 or 0 in b.
    y, score, by = [1, 1, 0, 0, 1, 0, 0], [3.0, 2.0, 1.0, 4.0, 3.0, 2.0, 1.0], list("aaabbbb")
    with pytest.warns(UserWarning, match=r"no held-out row positive in any segment. Loosen it.*'recall >= 0.5 in each"):
        found = csf.tune_threshold(y, score, constraint="precision gap <= 0.1 by part", by=by)
    assert found.search.feasible_
    assert found.search.best_score_ == 0.0
    found = csf.tune_threshold(y, score, constraint="precision gap <= 0.2 by part", by=by)
    assert found.search.best_score_ > 0.5


REFUSED = {
    "an unknown segment": (lambda: fitted().predict(X, by=np.where(SEX == "m", "x", SEX)), "known: ['f', 'm']"),
    "a missing segment": (lambda: fitted().predict(X, by=np.where(SEX == "m", None, SEX)), "'unknown'"),
    "a segment of NaN": (lambda: fitted().predict(X, by=np.where(SEX == "m", np.nan, 1.0)), "missing in"),
    "no segments": (lambda: fitted().predict(X), "or its values as by="),
    "segments of other rows": (lambda: fitted().predict(X, by=SEX[:9]), "one value for each of 900 rows"),
    "segments without a constraint": (lambda: CostSearch(LogisticRegression()).fit(X, Y, by=SEX), "leave by out"),
    "a single segment": (
        lambda: CostSearch(LogisticRegression(), constraint=GAP).fit(X, Y, by=["f"] * len(Y)),
        "by segments needs two",
    ),
    "a segment of one class": (
        lambda: CostSearch(LogisticRegression(), constraint=GAP).fit(X, Y, by=np.where(Y == 1, "a", "b")),
        "Merge it with another one",
    ),
    "a segment of positives without weight": (
        lambda: CostSearch(LogisticRegression(), constraint=GAP).fit(X, Y, (SEX == "m") | (Y == 0), by=SEX),
        "Merge it with another one",
    ),
    "capacity": (lambda: fitted().predict(X, by=SEX, at_most=9), "leave them out"),
    "few wrong alerts": (lambda: fitted().predict(X, by=SEX, wrong_at_most=0.2), "leave them out"),
    "labels that miss positives": (lambda: fitted(metric=Incomplete("f1", labelled=0.4)), "complete labels"),
    "a capacity": (lambda: fitted().at_capacity(0.1), "leave them out"),
    "another share": (lambda: fitted().at_prevalence(0.2), "cv='prefit'"),
    "a capacity beside reviews": (
        lambda: fitted(review=Review(at_most=0.1)).predict_with_review(X, by=SEX, at_most=9),
        "leave them out",
    ),
    "own decisions": (lambda: fitted(threshold=None), "'stable'"),
    "a gap and a level": (lambda: fitted("recall gap <= 0.1 by sex, fpr <= 0.2 in each sex"), "keep one gap or ratio"),
    "a level of all rows": (lambda: fitted("fpr <= 0.2 in each sex, recall >= 0.2"), "of one column"),
    "no ratio of sums": (lambda: fitted(metric="gmean"), "use F1"),
    "several classes": (
        lambda: CostSearch(LogisticRegression(), "f1_macro", constraint=GAP).fit(X, np.arange(len(Y)) % 3, by=SEX),
        "classes",
    ),
    "several labels": (
        lambda: CostSearch(LogisticRegression(), "f1_macro", constraint=GAP).fit(FRAME, np.column_stack([Y, 1 - Y])),
        "is by segments",
    ),
    "a plug-in classifier": (
        lambda: PlugInClassifier(LogisticRegression(), constraint=GAP).fit(X, Y),
        "tune_threshold",
    ),
    "weights under a certificate": (
        lambda: CostSearch(LogisticRegression(), constraint="recall gap <= 0.3 by s", confidence=0.9).fit(
            X, Y, sample_weight=np.arange(len(Y)) + 1.0, by=SEX
        ),
        "leave out sample_weight=",
    ),
    "a certified ratio of no share": (lambda: fitted("f2 ratio >= 0.3 by sex", confidence=0.9), "leave confidence out"),
    "weights under a certified ratio": (
        lambda: CostSearch(LogisticRegression(), constraint="recall ratio >= 0.3 by s", confidence=0.9).fit(
            X, Y, sample_weight=np.arange(len(Y)) + 1.0, by=SEX
        ),
        "leave out sample_weight=",
    ),
    "a certified gap of no share": (lambda: fitted("f2 gap <= 0.3 by sex", confidence=0.9), "leave confidence out"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused_with_the_way_out(name):
    call, way_out = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
    assert way_out in str(caught.value)


def test_scores_take_segments_as_predictions_do(search):
    predicted = search.predict(X, by=SEX) == 1
    np.testing.assert_array_equal(search.score_samples(X, by=SEX) >= search.best_threshold_, predicted)
    np.testing.assert_array_equal(search.decision_function(X, by=SEX) > 0.0, predicted)


DATES = pd.date_range("2024-01-01", periods=2, freq="D")
MOMENTS = {
    "datetime64": DATES.to_numpy(),
    "dates": np.array([each.date() for each in DATES]),
    "time zone": DATES.tz_localize("UTC").astype(object).to_numpy(),
    "periods": DATES.to_period().astype(object).to_numpy(),
    "durations": (DATES - DATES[0]).to_numpy(),
}


@pytest.mark.parametrize("values", MOMENTS.values(), ids=MOMENTS)
def test_moments_are_no_segments(values):
    with pytest.raises(ValueError, match=r"sex holds .* segments are texts, numbers or booleans\. Turn it into text"):
        CostSearch(LogisticRegression(), constraint=GAP, **QUICK).fit(X, Y, by=values[(SEX == "m").astype(int)])


def test_masked_segments_are_refused():
    with pytest.raises(ValueError, match="sex is masked in"):
        CostSearch(LogisticRegression(), constraint=GAP, **QUICK).fit(X, Y, by=np.ma.masked_array(SEX, SEX == "m"))


def test_segments_of_weight_0_alone_are_none():
    sex, weight = np.where(np.arange(len(Y)) < 5, "none", SEX), (np.arange(len(Y)) >= 5).astype(float)
    search = CostSearch(LogisticRegression(), constraint=GAP, **QUICK).fit(X, Y, by=sex, sample_weight=weight)
    assert list(search.thresholds_) == ["f", "m"]


def test_a_report_takes_segments_beside_the_samples(search, tmp_path):
    path = tmp_path / "report.html"
    search.report(path, X, Y, by=SEX)
    assert "this search" in path.read_text(encoding="utf-8")
    drawn = ThresholdCurveDisplay.from_estimator(search, X, Y, by=SEX)
    assert drawn.value == pytest.approx(search.score(X, Y, by=SEX))
    with pytest.raises(ValueError, match="by belong to held-out data"):
        search.report(path, by=SEX)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 0, 1]])
@pytest.mark.parametrize("by", ["3", 3, np.int64(3)])
def test_a_column_with_a_number_as_name_is_that_column(by, order):
    """Not the one at that place; and it is found by its text."""
    table = pd.DataFrame(np.column_stack([FRAME[["a", "b", "c"]].to_numpy(), np.unique(SEX, return_inverse=True)[1]]))
    constraint = replace(get_constraint("recall gap <= 0.1 by 3"), by=by)
    search = CostSearch(LogisticRegression(), constraint=constraint, **QUICK).fit(table[order], Y)
    assert set(search.thresholds_) == {0.0, 1.0}
    again = CostSearch(LogisticRegression(), constraint="recall gap <= 0.1 by sex", **QUICK)
    again.fit(table[order].to_numpy(), Y, by=table[3])
    assert search.thresholds_ == pytest.approx(again.thresholds_)
