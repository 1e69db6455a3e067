"""Thresholds of scores without a model: the prefit search on the same scores."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.naive_bayes import GaussianNB

import csf
from csf import CostSearch
from csf.export import decision_rule

X, Y = make_classification(900, 6, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
MODEL = LogisticRegression().fit(X[:300], Y[:300])
SCORE = MODEL.decision_function(X[300:])
TRUTH = Y[300:]


def told(search):
    return (search.best_threshold_, search.best_score_, search.corrected_score_, *search.score_interval_)


@pytest.mark.parametrize(
    ("options", "fit"),
    [
        ({}, {}),
        ({"metric": "mcc"}, {}),
        ({"metric": make_scorer(f1_score)}, {}),
        ({"random_state": 3}, {"sample_weight": np.arange(600) % 3 + 0.5}),
        ({"metric": "recall", "constraint": "precision >= 0.6"}, {}),
        ({"metric": "recall", "constraint": "precision >= 0.5", "confidence": 0.8}, {}),
        ({"pos_label": 0}, {}),
        ({}, {"groups": np.arange(600) // 4}),
    ],
)
def test_it_is_the_prefit_search_bit_for_bit(options, fit):
    search = CostSearch(MODEL, cv="prefit", **options).fit(X[300:], TRUTH, **fit)
    sign = -1 if options.get("pos_label") == 0 else 1
    decision = csf.tune_threshold(TRUTH, sign * SCORE, **options, **fit)
    assert told(decision.search) == told(search)
    assert (decision.threshold, decision.value, decision.interval) == (
        search.best_threshold_,
        search.corrected_score_,
        search.score_interval_,
    )
    assert decision.predict(sign * SCORE).tolist() == search.predict(X[300:]).tolist()
    assert str(decision.certificate) == str(getattr(search, "guarantee_", None))
    assert decision.curve.at(decision.threshold) == search.held_out_curve().at(search.best_threshold_)


def test_probabilities_are_scores():
    base = GaussianNB().fit(X[:300], Y[:300])
    search = CostSearch(base, cv="prefit").fit(X[300:], TRUTH)
    assert told(csf.tune_threshold(TRUTH, base.predict_proba(X[300:])[:, 1]).search) == told(search)


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_several_classes_are_the_prefit_search_too(scale):
    X, y = make_classification(900, 8, n_informative=5, n_classes=3, weights=[0.7, 0.2], random_state=0)
    y = np.array(["x", "y", "z"])[y]
    model = LogisticRegression().fit(X[:300], y[:300])
    scores = model.predict_proba(X[300:]) if scale == 1.0 else scale * model.decision_function(X[300:])
    decision = csf.tune_threshold(y[300:], scores, "f1_macro")
    assert decision.predict(scores).shape == (600,)
    assert decision.interval[0] < decision.value < decision.interval[1]
    if scale == 1.0:
        search = CostSearch(model, "f1_macro", cv="prefit").fit(X[300:], y[300:])
        assert decision.search.best_score_ == search.best_score_
        assert decision.value == search.corrected_score_
        assert decision.rule.slopes.tolist() == search.rule_.slopes.tolist()
        assert decision_rule(decision.search).decide(scores).tolist() == decision.predict(scores).tolist()


@pytest.mark.slow
def test_a_page_a_copy_and_names(tmp_path):
    names = np.where(TRUTH, "fraud", "fine")
    decision = csf.tune_threshold(names, SCORE, pos_label="fraud")
    assert set(decision.predict(SCORE)) == {"fraud", "fine"}
    decision.report(tmp_path / "page.html", title="Judge")
    assert "Judge" in (tmp_path / "page.html").read_text(encoding="utf-8")
    told = str(decision.search.summary())
    assert "fitted before" in told
    assert not re.search("class weights|trained|Cross-validated", told)
    assert pickle.loads(pickle.dumps(decision)).threshold == decision.threshold
    first = csf.tune_threshold(names, -SCORE, pos_label="fine")
    assert first.predict(-SCORE[:50]).tolist() == np.where(-SCORE[:50] >= first.threshold, "fine", "fraud").tolist()


def test_scores_of_few_values_have_a_threshold_between_them():
    ratings = np.clip(np.round(SCORE), -2, 2)
    decision = csf.tune_threshold(TRUTH, ratings)
    assert -2 < decision.threshold <= 2
    assert csf.tune_threshold(TRUTH, np.where(SCORE > -1.0, 0.9, 0.2)).search.best_score_ > 0.0


PROBA = MODEL.predict_proba(X[300:])


@pytest.mark.parametrize(
    ("y", "score", "options", "what"),
    [
        (TRUTH, np.full(600, 0.5), {}, "score is 0.5 for all samples"),
        (TRUTH, np.where(TRUTH, np.nan, 0.1), {}, r"score contains NaN in \d+ of 600 samples; drop these"),
        (TRUTH, SCORE[:5], {}, "score has 5 samples, and y 600"),
        (TRUTH, MODEL.predict(X[300:]), {}, r"score holds the labels \[0\.0, 1\.0\] alone.*csf.metric_interval"),
        (TRUTH, PROBA, {}, r"score must have shape \(n_samples,\) of \[0, 1\], got \(600, 2\); .*score\[:, 1\]"),
        (TRUTH, np.repeat(PROBA, 2, axis=1), {}, r"score must have shape \(n_samples,\) of \[0, 1\], got \(600, 4\)"),
        (TRUTH, ["high"] * 600, {}, "score"),
        (np.arange(600) % 3, SCORE, {"metric": "f1_macro"}, r"\(n_samples, 3\), a column for each class"),
        (np.arange(600) % 3, np.random.default_rng(0).random((600, 3)), {}, "'f1' is a metric of two classes"),
        (TRUTH, SCORE, {"confidence": 0.9}, "confidence=0.9 needs a constraint"),
        (TRUTH, SCORE, {"groups": [1]}, "inconsistent numbers of samples|groups"),
        (TRUTH, SCORE, {"groups": np.where(TRUTH, np.nan, 1.0)}, r"groups contains NaN or None in \d+ of 600 samples"),
    ],
)
def test_what_cannot_be_used(y, score, options, what):
    with pytest.raises(ValueError, match=what):
        csf.tune_threshold(y, score, **options)


@pytest.mark.parametrize(
    ("score", "options", "what"),
    [
        (-SCORE, {}, "the scores of positives are smaller than those of negatives .*give -score"),
        (SCORE, {"groups": TRUTH}, "the (positives|negatives) are those of one group.*corrected_score_"),
        (pd.Series(SCORE).sample(frac=1, random_state=0), {}, "the index of score is that of y in another order"),
    ],
)
def test_what_is_probably_meant_otherwise_is_said(score, options, what):
    with pytest.warns(UserWarning, match=what):
        csf.tune_threshold(pd.Series(TRUTH), score, **options)


def test_new_scores_are_checked_too():
    decision = csf.tune_threshold(TRUTH, SCORE)
    with pytest.raises(ValueError, match=r"such as score\[:, 1\]"):
        decision.predict(PROBA)
    with pytest.raises(ValueError, match="NaN"):
        decision.predict([np.nan])


def test_a_decision_shows_its_threshold_and_what_it_is_worth():
    rng = np.random.default_rng(0)
    y = np.arange(300) < 90
    found = csf.tune_threshold(y, rng.normal(size=300) + 2 * y, "f1", constraint="recall >= 0.2", confidence=0.8)
    low, high = found.interval
    expected = f"Decision(threshold={found.threshold:.4g}, value={found.value:.4g}, interval=({low:.4g}, {high:.4g})"
    assert repr(found) == f"{expected}, certified=True)"


GROUPED = {"constraint": "recall >= 0.7", "confidence": 0.9, "random_state": 0}


def grouped_scores(seed, n_groups=300):
    """Groups of 1 to 15 rows, whose shares of positives differ."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), rng.integers(1, 16, n_groups))
    y = rng.random(groups.size) < 0.1 + 0.3 * rng.random(n_groups)[groups]
    return y, rng.normal(size=groups.size) + 2.0 * y, groups


def test_groups_of_unequal_size_are_certified_by_all_of_their_rows():
    y, score, groups = grouped_scores(0)
    found = csf.tune_threshold(y, score, "specificity", groups=groups, **GROUPED)
    assert found.certificate.holds
    assert (found.certificate.n_samples, found.certificate.rows) == (y.size, "given scores")
    order = np.random.default_rng(1).permutation(y.size)
    again = csf.tune_threshold(y[order], score[order], "specificity", groups=groups[order], **GROUPED)
    assert again.certificate.error == pytest.approx(found.certificate.error)
    assert again.threshold == found.threshold


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_of_weight_0_have_no_say_in_a_certificate(grouped):
    (y, score, groups), rng = grouped_scores(2), np.random.default_rng(3)
    more = rng.integers(0, y.size, 100)
    columns = [np.concatenate([each, other]) for each, other in ((y, y[more]), (score, rng.normal(size=100)))]
    extra = {"groups": np.concatenate([groups, groups[more]])} if grouped else {}
    weight = np.concatenate([np.ones(y.size), np.zeros(100)])
    found = csf.tune_threshold(*columns, "specificity", sample_weight=weight, **extra, **GROUPED)
    plain = csf.tune_threshold(y, score, "specificity", **({"groups": groups} if grouped else {}), **GROUPED)
    assert found.certificate.holds
    assert found.certificate == plain.certificate


def test_one_group_without_positives_and_all_positives_in_one_group():
    y, score, groups = grouped_scores(4, 40)
    some = (groups == 0) | np.isin(groups, np.unique(groups[y]))
    y[groups == 0] = False
    found = csf.tune_threshold(y[some], score[some], groups=groups[some], **GROUPED | {"constraint": "fpr <= 0.5"})
    assert found.certificate.n_samples == some.sum()
    with pytest.raises(ValueError, match=r"calibration=0.3 of .* samples cannot be held out"):
        csf.tune_threshold(y & (groups == groups[y][0]), score, groups=groups, calibration=0.3, **GROUPED)


def test_its_search_takes_frames_of_scores():
    rng = np.random.default_rng(0)
    y, score = np.arange(60) % 2, pd.Series(rng.normal(size=60), name="risk")
    decision = csf.tune_threshold(y, score)
    np.testing.assert_array_equal(decision.search.predict(score.to_frame()), decision.predict(score))
    for limits in ({}, {0: 5}):
        with pytest.raises(ValueError, match=r"at_most limits the positive class alone, \{1: 50\}, got"):
            decision.predict(score, at_most=limits)


def test_messages_about_many_segments_are_short():
    rng = np.random.default_rng(0)
    y, score, shop = rng.random(6000) < 0.4, rng.normal(size=6000), rng.integers(0, 1500, 6000)
    with pytest.raises(ValueError, match="1478 in all") as caught:
        csf.tune_threshold(y, score, constraint="recall gap <= 0.1 by shop", by=shop)
    assert len(str(caught.value)) <= 600
