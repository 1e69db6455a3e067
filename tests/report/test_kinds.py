"""What reports say of each kind of problem."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import csf
from csf import CostSearch
from csf.metrics import Column, CostMatrix, Review, RowCosts
from csf.report.checks import findings
from csf.report.facts import SameAnswer
from csf.report.held_out import JUDGES, held_out, judge_of
from csf.report.kinds import FACTS, facts_of

X, Y = make_classification(200, 4, n_informative=3, n_redundant=0, weights=[0.7], random_state=0)
CLASSES = make_classification(200, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)[1]
LABELS = np.column_stack([Y, X[:, 0] > 0.5, X[:, 1] > 1.0]).astype(int)
CASES = {
    "binary": ("f1", Y, "it predicts “1” if the score is at least"),
    "row_costs": (RowCosts(fn=Column(0), fp=1.0), Y, "it decides each row by its own costs"),
    "multiclass": ("f1_macro", CLASSES, "it predicts by"),
    "multilabel": ("f1_macro", LABELS, "One search for each of 3 labels"),
    "shared_threshold": ("f1_micro", LABELS, "with one threshold for 3 labels"),
}
SAMPLES = np.abs(X)


@pytest.fixture(scope="module", params=CASES)
def kind(request):
    metric, y, sentence = CASES[request.param]
    search = CostSearch(LogisticRegression(), metric, n_trials=2, param_grid=None, cv=3, random_state=0)
    return request.param, search.fit(SAMPLES, y), y, sentence


def test_every_kind_is_described():
    # These need columns of their own, see tests/search/problems.
    assert set(CASES) | {"segments", "row_thresholds"} == set(FACTS) == set(JUDGES)


def test_the_winner_in_a_sentence(kind):
    name, search, _, sentence = kind
    assert search.result_.kind == name
    assert sentence in facts_of(search).winner


@pytest.mark.slow
def test_searches_without_a_model_have_a_summary_and_a_page(kind, tmp_path):
    _, search, y, sentence = kind
    alone = clone(search).set_params(refit=False).fit(SAMPLES, y)
    assert sentence in " ".join(str(alone.summary()).split())
    assert alone.summary().numbers == search.summary().numbers
    alone.report(tmp_path / "r.html")


def test_held_out_predictions_have_the_value_that_score_gives(kind):
    name, search, y, _ = kind
    held = held_out(search, SAMPLES, y, None, {"all": np.ones_like(y)})
    assert held.judged[0].value == pytest.approx(search.score(SAMPLES, y))
    assert held.judged[1].difference == pytest.approx(held.judged[0].value - held.judged[1].value)
    number, text = facts_of(search, held).comparison
    assert number
    assert ("a row" in number) == (name == "row_costs")
    assert "compared with" in text


def test_groups_widen_the_intervals_as_metric_interval_does(kind):
    name, search, y, _ = kind
    groups = np.arange(len(y)) // 5
    copies = np.repeat(np.arange(len(y))[::5], 5)[: len(y)]  # samples of a group are alike
    held = held_out(search, SAMPLES[copies], y[copies], None, {"all": np.ones_like(y)}, groups=groups)
    alone = held_out(search, SAMPLES[copies], y[copies], None, {"all": np.ones_like(y)})
    assert [each.value for each in held.judged] == pytest.approx([each.value for each in alone.judged])
    assert np.ptp(held.judged[0].interval) > 1.4 * np.ptp(alone.judged[0].interval)
    if name == "binary":
        expected = csf.metric_interval(held.y, held.answers["this search"], search.metric, groups=groups)
        assert held.judged[0].interval == tuple(expected)
    with pytest.raises(ValueError, match="groups belong to held-out data"):
        held_out(search, None, None, None, None, groups=groups)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name != "shared_threshold"])
def test_summaries_speak_of_reviews(name):
    metric, y, _ = CASES[name]
    options = {"param_grid": None, "n_trials": 1, "cv": 3, "random_state": 0}
    search = CostSearch(LogisticRegression(), metric, review=Review(cost=0.2, at_most=0.2), **options).fit(SAMPLES, y)
    parts = search.review_ if name == "multilabel" else [search.review_]
    share, value = np.mean([each.shares["review"] for each in parts]), np.mean([each.value for each in parts])
    said = dict(search.summary().numbers)[f"{100.0 * share:.1f} %"]
    assert f"{value:.3f}" in said
    assert f"{value - search.corrected_score_:+.3f}; they cost {0.2 * share:.3g}" in said


def test_held_out_rates_are_those_of_the_predictions(demanding):
    """Recall of the positive class by hand, with the counts behind it."""
    name, search, y = demanding
    held = held_out(search, SAMPLES, y, None, None)
    (predicted,) = held.answers.values()
    rates = {rate.demand.name: rate for rate in judge_of(search).rates(held, predicted)}
    cases = {"multiclass": ("recall[2]", y == 2, predicted == 2)}
    cases["multilabel"] = (
        "recall[1]",
        LABELS[:, 1] == 1,
        np.atleast_2d(predicted.T)[-2 if name == "multilabel" else 0] == 1,
    )
    title, truth, found = cases.get(name, ("recall", np.ravel(y) == 1, np.ravel(predicted) == 1))
    assert rates[title].value == pytest.approx(np.mean(found[truth]))
    assert rates[title].counts == f"{np.sum(found & truth)} of {np.sum(truth)}"
    assert not any(rate.counts for rate in judge_of(search).rates(held._replace(weight=np.ones(len(y))), predicted))


def test_labels_that_the_search_does_not_know_are_named(kind):
    _, search, y, _ = kind
    with pytest.raises(ValueError, match="5"):
        held_out(search, SAMPLES, np.where(y == 1, 5, y), None, None)


def test_one_answer_for_all_competes_where_two_classes_do(kind):
    name, search, _, _ = kind
    worth, answer, _ = facts_of(search).same_answer
    assert np.isfinite(worth) == bool(answer) == (name in ("binary", "row_costs"))
    if name == "binary":
        share = Y.mean()
        assert worth == pytest.approx(2 * share / (1 + share))
        assert answer == "1"


def test_one_answer_to_held_out_rows_is_what_they_cost():
    """The literal costs of both answers."""
    amount = SAMPLES[:, 0]
    search = CostSearch(LogisticRegression(), RowCosts(fn=Column(0), fp=1.0, measure="cost"), n_trials=1, cv=2)
    search.fit(SAMPLES, Y)
    few = np.append(np.flatnonzero(Y == 1)[:20], np.flatnonzero(Y == 0)[0])
    held = held_out(search, SAMPLES[few], Y[few], None, None)
    assert amount[few[:20]].sum() > 1.0
    assert facts_of(search, held).same_answer == (pytest.approx(-1.0 / 21), "positive", pytest.approx(1.0 / 21))
    negative, positive = np.where(Y == 1, amount, 0.0).mean(), np.where(Y == 1, 0.0, 1.0).mean()
    value, answer, stake = facts_of(search).same_answer
    assert -stake == pytest.approx(value)
    assert value == pytest.approx(-min(negative, positive))
    assert answer == ("negative" if negative <= positive else "positive")


def test_one_class_for_all_competes_with_a_cost_matrix():
    """Labels that nothing predicts: the class of least mean cost, by hand."""
    y = np.random.default_rng(0).integers(0, 3, 200)
    costs = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    search = CostSearch(LogisticRegression(), CostMatrix(costs), cv=2, n_trials=1, param_grid=None).fit(SAMPLES, y)
    mean = np.bincount(y) / y.size @ costs
    worth, answer, _ = facts_of(search).same_answer
    assert (worth, answer) == (pytest.approx(-mean.min()), str(mean.argmin()))
    assert f"“{answer}”, at a mean cost of {mean.min():.3f}, may be as good" in " ".join(str(search.summary()).split())
    held = held_out(search, SAMPLES[:50], y[:50], None, None)
    mean = np.bincount(y[:50]) / 50 @ costs
    least = pytest.approx(mean.min())
    assert facts_of(search, held).same_answer == (pytest.approx(-mean.min()), str(mean.argmin()), least)


@pytest.mark.parametrize("stake", [1e-6, 1.0, 1e9])
def test_a_gain_that_is_rounding_is_none(stake):
    same = SameAnswer(-3.0 * stake, "negative", stake)
    assert all(same.reaches(-3.0 * stake + each * stake) for each in (-0.1, -1e-15, 0.0, 1e-14))
    assert not same.reaches(-3.0 * stake + 1e-6 * stake)
    assert not SameAnswer().reaches(-1e9)


# ---------------------------------------------------------------- constraints


DEMANDS = {
    "binary": "recall >= 0.7, precision >= 0.2",
    "row_costs": "recall >= 0.7, predicted_rate <= 0.9",
    "multiclass": "recall[2] >= 0.7, accuracy >= 0.2",
    "multilabel": "recall >= 0.7, precision[2] >= 0.3",
    "shared_threshold": "recall >= 0.7, precision >= 0.1",
}


@pytest.fixture(scope="module", params=DEMANDS)
def demanding(request):
    metric, y, _ = CASES[request.param]
    search = CostSearch(LogisticRegression(), metric, constraint=DEMANDS[request.param], n_trials=2, param_grid=None)
    return request.param, search.set_params(cv=3, random_state=0).fit(SAMPLES, y), y


def test_constrained_values_are_those_of_the_held_out_decisions(demanding):
    name, search, _ = demanding
    known = {part.name: rate for part, rate, holds in facts_of(search).demands if holds}
    assert len(known) == len(facts_of(search).demands) == (4 if name == "multilabel" else 2)
    assert search.feasible_
    if name == "multiclass":
        shares = search.confusion_
        assert known == pytest.approx({"recall[2]": shares[2, 2] / shares[2].sum(), "accuracy": np.trace(shares)})
    elif name == "multilabel":
        assert [known[f"recall[{at}]"] for at in range(3)] == pytest.approx(search.constraint_value_)
    else:
        assert known["recall"] == pytest.approx(search.constraint_value_)


@pytest.mark.slow
def test_the_value_closest_to_its_level_is_a_number_of_the_summary(demanding):
    _, search, _ = demanding
    part, rate, _ = min(
        facts_of(search).demands, key=lambda each: (each[1] - each[0].level) * (1 if each[0].side == ">=" else -1)
    )
    shown = dict(search.summary().numbers)
    said = shown[f"{rate:.3f}"]
    assert said == f"{part.name} out-of-fold: {part} holds, of {len(facts_of(search).demands)} the closest to its level"


def test_what_predictions_miss_is_the_largest_shortfall(demanding):
    """The literal shortfall of an answer to all rows."""
    name, search, y = demanding
    never, ever = np.zeros_like(y), np.full_like(y, 2 if name == "multiclass" else 1)
    held = held_out(search, SAMPLES, y, None, {"never": never, "ever": ever})
    missed = {each.name: each.misses for each in held.judged}
    assert missed["never"] == pytest.approx(0.7)
    expected = {
        "binary": max(0.2 - Y.mean(), 0.0),
        "row_costs": 0.1,
        "multiclass": max(0.2 - np.mean(y == 2), 0.0),
        "multilabel": max(0.3 - LABELS[:, 2].mean(), 0.0),
        "shared_threshold": max(0.1 - LABELS.mean(), 0.0),
    }
    assert missed["ever"] == pytest.approx(expected[name])
    codes = [each.code for each in findings(search, held)]
    assert ("CSF007" in codes) == (held.judged[0].misses > 0.0)
    assert "CSF006" in codes


def test_labels_that_nobody_knows_are_wrong():
    search = CostSearch(LogisticRegression(), "f1_macro", constraint="recall[2] >= 0.7", param_grid=None, cv=3)
    search.fit(SAMPLES, CLASSES)
    held = held_out(search, SAMPLES, CLASSES, None, {"other": np.full_like(CLASSES, 7)})
    assert held.judged[1].misses == pytest.approx(0.7)
