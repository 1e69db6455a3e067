import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.export import decision_rule, fixed_threshold
from csf.plots import CapacityDisplay, ConeDisplay, NetBenefitDisplay
from csf.plots.decisions import answers_to_all, draw_costs
from csf.report import summarise
from csf.report.held_out import held_out
from csf.report.kinds import paid_on
from tests.oracles import row_costs as oracle
from tests.search.problems.test_row_costs import COST, frame, table_of


@pytest.fixture(scope="module")
def search():
    return CostSearch(LogisticRegression(), metric=COST, cv=3).fit(*frame())


def test_answers_to_all(search):
    (X, y), known = frame(), answers_to_all(search)
    assert known["negative for all rows"] == pytest.approx(oracle.paid(table_of(X), y, [False] * 600) / 600)
    assert known["positive for all rows"] == pytest.approx(oracle.paid(table_of(X), y, [True] * 600) / 600)
    least = min(known["negative for all rows"], known["positive for all rows"])
    by_row = known["each row by its own costs"]
    best = min(cost for name, cost in known.items() if name != "each row by its own costs")
    assert search.summary().numbers[2][0] == f"{best - by_row:.4g} a row"
    assert by_row < known["one threshold on the probability"] < least
    if search.row_rule_ == "plain":
        assert 1 - by_row / least == pytest.approx(search.best_score_)


def test_what_is_paid_on_held_out_rows(search):
    X, y = frame()
    held = held_out(search, X[:200], y[:200], None, {"all": np.ones(200, dtype=int)})
    known, found = paid_on(search, held), search.predict(X[:200]) == 1
    assert list(known) == ["positive for all rows", "negative for all rows", "all", "this search"]
    assert known["this search"] == pytest.approx(oracle.paid(table_of(X[:200]), y[:200], found) / 200)
    assert known["all"] == known["positive for all rows"]
    saved, whole = summarise(search, held).numbers[2]
    least = min(known["positive for all rows"], known["negative for all rows"])
    assert saved == f"{least - known['this search']:.4g} a row"
    assert "on 200 held-out rows" in whole


def test_costs_are_drawn_at_each_threshold(search):
    ax = Figure().subplots()
    draw_costs(ax, search)
    x, costs = ax.lines[0].get_data()
    store, score = search.held_out_, search.result_.held_out_scores
    for at in (0, 50, 100):
        paid = np.where(score >= x[at], store.answers[1], store.answers[0])
        assert costs[at] == pytest.approx(paid.mean())
    assert "threshold in use" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_held_out_rows_are_judged_by_their_costs(search):
    X, y = frame(500, seed=7)
    never = np.zeros(500, dtype=int)
    own, other = held_out(search, X, y, None, {"never": never}).judged
    assert own.value == pytest.approx(search.score(X, y))
    assert other.value == pytest.approx(COST.score(y, never, X))
    assert own.interval[0] < own.value < own.interval[1]
    assert other.difference == pytest.approx(own.value - other.value)


@pytest.mark.slow
def test_report(search, tmp_path):
    X, y = frame(500, seed=7)
    path = tmp_path / "report.html"
    search.report(path, X, y, rivals={"never": np.zeros(500, dtype=int)})
    text = path.read_text(encoding="utf-8")
    assert "carried by the dearest 1 % of the rows" in text
    assert "each row by its own costs" in text
    assert "all trainings were tried" in text
    search.report(path)
    assert "What is paid" in path.read_text(encoding="utf-8")


def test_what_has_no_meaning_is_refused(search):
    with pytest.raises(ValueError, match="each row has its own costs"):
        ConeDisplay.from_estimator(search)
    with pytest.raises(ValueError, match=r"csf.export.decision_rule"):
        fixed_threshold(search)


@pytest.mark.parametrize("power", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["plain", "sigmoid", "swept"])
def test_the_rule_with_costs_as_inputs(search, kind, power, tmp_path):
    (X, _), again = frame(seed=5), copy.copy(search)
    store = search.held_out_
    decision = store.tuned(store[search.result_.key].score, kind, store.copies)
    again._rule = replace(search._rule, decision=decision, threshold=decision.threshold, power=power)
    rule = decision_rule(again)
    rule.save(tmp_path / "rule.json")
    read = json.loads((tmp_path / "rule.json").read_text(encoding="utf-8"))["rule"]
    s = again.best_estimator_.decision_function(X)
    np.testing.assert_array_equal(rule.decide(s, fn_cost=X["amount"]), again.predict(X))
    # The formula of the file, for rows in which neither answer is the cheaper one whatever the truth.
    weighs, r = X["amount"] > 1.0, np.log(np.maximum(X["amount"] - 1.0, 1e-9) / 5.0)
    z, decision = s - read["power"] * r, read["decision"]
    z = np.clip(z, -decision["farthest"], decision["farthest"]) if kind == "sigmoid" else z
    found = decision["slope"] * z + decision["intercept"] + r >= read["threshold"]
    np.testing.assert_array_equal((found & weighs).to_numpy(), again.predict(X) == 1)


# A published example, the 750 patients of the package dcurves and their risk "cancerpredmarker": patients, and cancers
# among them, below the first threshold, between each two, and from the last one on; and the published net benefit.
THRESHOLDS = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35]
PATIENTS = [(334, 9), (136, 9), (70, 5), (37, 7), (29, 3), (33, 10), (18, 5), (93, 57)]
PUBLISHED = [0.10554386, 0.08740741, 0.07921569, 0.06733333, 0.064, 0.05466667, 0.05015385]


def test_net_benefit_of_a_published_example():
    y = np.concatenate([np.arange(n) < cancers for n, cancers in PATIENTS]).astype(int)
    p = np.repeat([0.0, *THRESHOLDS], [n for n, _ in PATIENTS])
    display = NetBenefitDisplay.from_predictions(y, p, thresholds=THRESHOLDS)
    np.testing.assert_allclose(display.values, PUBLISHED, atol=1e-8)
    assert (display.values > display.treat_all).all()


def test_net_benefit_by_hand():
    y, p = np.array([0, 1, 0, 1, 1, 0, 0, 0]), np.array([0.1, 0.2, 0.2, 0.3, 0.9, 0.4, 0.05, 0.0])
    display = NetBenefitDisplay.from_predictions(y, p, thresholds=[0.2, 0.3, 0.5])
    for at, value, treat_all in zip(display.thresholds, display.values, display.treat_all):
        found, rate = p >= at, at / (1 - at)
        assert value == pytest.approx((found & (y == 1)).mean() - rate * (found & (y == 0)).mean(), abs=1e-12)
        assert treat_all == pytest.approx(3 / 8 - rate * 5 / 8, abs=1e-12)
    assert display.drawn.shape == (3, 200)
    assert [line.get_label() for line in display.ax_.lines] == ["classifier", "treat all", "treat none"]
    named = NetBenefitDisplay.from_predictions(np.where(y == 1, "b", "a"), p, pos_label="b", name="marker")
    assert named.thresholds.size == 99
    assert named.name == "marker"


def test_net_benefit_refuses():
    with pytest.raises(ValueError, match=r"thresholds must be probabilities in \(0, 1\)"):
        NetBenefitDisplay.from_predictions([0, 1], [0.1, 0.9], thresholds=[0.0, 0.5])
    with pytest.raises(ValueError, match="y_proba must hold probabilities"):
        NetBenefitDisplay.from_predictions([0, 1], [-1.0, 0.9])


# ---------------------------------------------------------------- few rows, and a third answer


@pytest.mark.parametrize("metric", ["f1", COST], ids=["f1", "costs"])
def test_values_against_capacity(metric):
    search = CostSearch(LogisticRegression(), metric, cv=3, param_grid=None, n_trials=1).fit(*frame())
    display = CapacityDisplay.from_estimator(search, at_most=[0.02, 0.1])
    for at, value, drawn in zip(display.at_most, display.values, display.drawn):
        told = search.at_capacity(at)
        assert value == pytest.approx(told.value)
        assert np.quantile(drawn, [0.05, 0.95]) == pytest.approx(told.interval, abs=0.01)
    lines = [line.get_label() for line in display.ax_.lines]
    if metric == "f1":
        assert lines == ["largest scores", "more do not pay"]
        return
    assert lines == ["largest expected gain", "most probable", "more do not pay"]
    odds, gain = search.result_.held_out_odds, search.result_.evaluation(0).answers.rank
    negative, positive = search.held_out_.answers
    values = []
    for rank in (odds, gain):
        best = np.argsort(-rank)[: odds.size // 10]
        paid = negative.sum() - (negative - positive)[best].sum()
        values.append(1 - paid / min(negative.sum(), positive.sum()))
    # As much as for the gain is what the choice of the winner added.
    assert display.by_probability[1] == pytest.approx(values[0] - values[1] + display.values[1])
    assert CapacityDisplay.from_estimator(search).at_most.size == 24
    with pytest.raises(ValueError, match=r"at_most must be shares of the rows in \(0, 1\)"):
        CapacityDisplay.from_estimator(search, at_most=[0.5, 2.0])
