import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from csf.data.responses import LARGEST_LOG_ODDS
from csf.evaluate.assessment import LEVEL, interval
from csf.metrics import get_constraint, get_metric
from csf.metrics.row_costs import CostTable, RowCosts
from csf.thresholding import threshold_curve
from csf.thresholding.class_choice import dealt
from csf.thresholding.cost_decisions import CostDecision, best_cut, cost_curve, tune
from csf.thresholding.cost_demands import OverallDemand
from csf.thresholding.row_costs import RowCostChoice, RowCostStore, RowScores, widened
from tests.oracles import row_costs as oracle


def table_of(costs):
    return CostTable(*np.array(costs, dtype=float).T)


def population(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n_rows) - 1.0
    costs = np.column_stack([np.exp(rng.normal(size=(n_rows, 2))) + 1.0, rng.uniform(size=(n_rows, 2))])
    return z, rng.uniform(size=n_rows) < expit(z), table_of(costs)


small = st.lists(
    st.tuples(*[st.integers(0, 5).map(float)] * 4, st.booleans(), st.integers(-3, 3).map(float)), min_size=2, max_size=9
)


@given(small)
def test_the_sweep_finds_the_least_cost_of_all_thresholds(drawn):
    costs, y, score = [row[:4] for row in drawn], np.array([row[4] for row in drawn]), [row[5] for row in drawn]
    table = table_of(costs)
    negative, positive = table.answers(y)
    if not ((negative < positive).any() and (positive < negative).any()):
        return
    cut = best_cut(np.array(score), y, table)
    assert oracle.paid(costs, y, np.array(score) >= cut) == pytest.approx(
        oracle.best_threshold(costs, y, score), abs=1e-12
    )
    # What the curve says of each threshold is what the decisions cost beyond the cheaper answers.
    curve, total = cost_curve(np.array(score), y, table), np.abs(positive - negative).sum()
    for threshold, fn, fp in zip(curve.thresholds, curve.fn, curve.fp):
        beyond = oracle.paid(costs, y, np.array(score) >= threshold) - np.minimum(negative, positive).sum()
        assert beyond == pytest.approx(total * (fn + fp), abs=1e-12)


def test_equal_costs_are_a_weighted_accuracy():
    z, y, _ = population(400)
    table = CostTable(*(np.full(400, each) for each in (3.0, 1.0, 0.0, 0.0)))
    metric = get_metric("accuracy")
    weighted = threshold_curve(y, z, sample_weight=np.where(y, 3.0, 1.0)).best(metric)
    swept = tune("swept", z, y, table, np.ones(400))
    assert swept.threshold == pytest.approx(weighted.threshold + np.log(3.0), abs=1e-8)
    assert best_cut(z, y, table) == pytest.approx(weighted.threshold, abs=1e-12)
    np.testing.assert_array_equal(CostDecision().scores(z, table) >= 0.0, expit(z) >= 0.25)


def test_true_probabilities_attain_the_least_cost():
    z, y, table = population(1_000_000)
    p, (negative, positive) = expit(z), table.answers(y)
    found = CostDecision().scores(z, table) >= 0.0
    paid = np.where(found, positive, negative)
    bayes = np.minimum(p * table.fn + (1 - p) * table.tn, p * table.tp + (1 - p) * table.fp)
    assert paid.mean() == pytest.approx(bayes.mean(), abs=4 * (paid - bayes).std() / 1e3)


def test_scale_order_and_rows_without_costs_change_nothing():
    z, y, table = population(300)
    score = CostDecision().scores(z, table)
    seven = CostTable(*(7.0 * each for each in (table.fn, table.fp, table.tp, table.tn)))
    np.testing.assert_allclose(CostDecision().scores(z, seven), score, atol=1e-12)
    assert best_cut(score, y, seven) == pytest.approx(best_cut(score, y, table), abs=1e-12)
    order = np.random.default_rng(1).permutation(300)
    assert best_cut(score[order], y[order], table.take(order)) == best_cut(score, y, table)
    empty = CostTable(*(np.append(each, 2.0) for each in (table.fn, table.fp, table.tp, table.tn)))
    longer, truth = CostDecision().scores(np.append(z, 0.3), empty), np.append(y, True)
    assert best_cut(longer, truth, empty) == pytest.approx(best_cut(score, y, table), abs=1e-12)
    cost = RowCosts(measure="savings")
    assert cost.value_of(seven, y, score >= 0, None) == pytest.approx(cost.value_of(table, y, score >= 0, None))


def test_costs_that_decide_a_row():
    table = table_of([(0, 1, 2, 0), (2, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 1, 1), (0, 0, 0, 1)])
    for z in (-np.inf, -30.0, 30.0, np.inf):
        found = CostDecision().scores(np.full(6, z), table) >= 0.0
        assert found.tolist() == [False, True, True, False, False, True]


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["plain", "swept", "sigmoid"]))
@settings(max_examples=30)
def test_extra_costs_leave_each_row_its_answer_of_least_expected_cost(seed, kind):
    """They can make both errors cost less than the right answers: then the less likely class is the better answer."""
    rng = np.random.default_rng(seed)
    table = CostTable(*rng.uniform(0.0, 5.0, (2, 200)), rng.uniform(0.0, 3.0, 200), np.zeros(200))
    z = rng.normal(size=200) * 2.0
    decision = CostDecision(kind, threshold=float(rng.normal()), extra=tuple(rng.normal(size=2) * 3.0))
    priced, p = decision.priced(table), expit(decision.odds(z))
    saved = p * priced.gain - (1.0 - p) * priced.loss
    clear = np.abs(saved) > 1e-6
    np.testing.assert_array_equal(decision.decide(z, table)[clear], saved[clear] > 0.0)
    acts, answered, _ = decision.with_review(z, table, 1.0, 0.0)
    np.testing.assert_array_equal(acts[clear], saved[clear] > 0.0)
    np.testing.assert_allclose(answered, np.minimum(p * priced.gain, (1.0 - p) * priced.loss), rtol=1e-8, atol=1e-12)


def test_calibrated_scores_are_never_certain():
    z, y, table = population(500)
    odds = tune("sigmoid", z, y, table, np.ones(500)).log_odds(np.array([-np.inf, -5.0, 0.0, 5.0, np.inf]))
    assert np.isfinite(odds).all()
    assert (np.diff(odds) > 0).all()


def test_odds_of_nothing_do_not_flatten_a_sigmoid():
    """Trees that find no positive in a leaf say 0, of rows that are much like others."""
    z, y, table = population(4000)
    said = np.where(z < -2.5, -np.inf, z)
    store = RowCostStore(y, None, RowCosts(), table, likely=True, samples=np.arange(4000))
    assert store.tuned(said, "sigmoid", store.copies).slope > 0.5
    assert store.tuned(z, "sigmoid", store.copies).slope == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("gap", [-9.0, -0.5, 0.0, 0.5, 9.0, np.nan])
def test_errors_reach_as_far_as_asked(gap):
    errors = np.random.default_rng(0).normal(size=200)
    (low, high), reached = interval(errors, LEVEL), widened(errors, gap)
    assert interval(reached, LEVEL) == (np.fmin(low, gap), np.fmax(high, gap))
    if not (gap < low or gap > high):
        np.testing.assert_array_equal(reached, errors)


def test_the_threshold_where_one_side_has_no_stakes():
    z, y = np.array([0.5, -1.0, 2.0]), np.array([True, False, False])
    nothing = np.zeros(3)
    assert best_cut(z, y, CostTable(np.ones(3), nothing, nothing, nothing)) == -np.inf
    assert best_cut(z, y, CostTable(nothing, np.ones(3), nothing, nothing)) == np.inf
    assert best_cut(z, y, CostTable(nothing, nothing, nothing, nothing)) == np.inf
    # So large a ratio that the smaller side is lost in the rounding of the other.
    assert best_cut(z, y, CostTable(np.full(3, 1e300), np.ones(3), nothing, nothing)) < 0.5
    assert best_cut(z, y, CostTable(np.ones(3), np.full(3, 1e300), nothing, nothing)) > 2.0


@pytest.mark.parametrize(("kind", "answer"), [("negative", False), ("positive", True)])
def test_the_same_answer_to_all_rows_but_those_that_costs_decide(kind, answer):
    z = np.array([-LARGEST_LOG_ODDS, -3.0, 700.0, LARGEST_LOG_ODDS, 0.0, 0.0])
    table = table_of([(5, 1, 0, 0)] * 3 + [(1, 1e6, 0, 0), (0, 1, 2, 0), (2, 0, 0, 1)])
    rule = tune(kind, z, z > 0, table, np.ones(6))
    assert rule.decide(z, table).tolist() == [answer] * 4 + [False, True]
    assert np.isfinite(rule.threshold)


@pytest.mark.parametrize("kind", ["negative", "positive"])
def test_the_same_answer_knows_calibrated_probabilities(kind):
    """By which rows rank where it is limited; those of scores that say nothing are the share of positives."""
    z, y, table = population(4000)
    weight = np.random.default_rng(1).integers(0, 3, 4000).astype(float)
    rule = tune(kind, 3.0 * z + 2.0, y, table, weight)
    assert rule.slope == pytest.approx(1 / 3, abs=0.05)
    assert np.average(expit(rule.odds(3.0 * z + 2.0)), weights=weight) == pytest.approx(
        np.average(y, weights=weight), abs=1e-3
    )
    turned = tune(kind, -z, y, table, weight)
    np.testing.assert_allclose(expit(turned.odds(-z)), np.average(y, weights=weight))
    gain, least = turned.ranks(-z, table)
    share = np.average(y, weights=weight)
    expected = share * table.gain - (1.0 - share) * table.loss
    if kind == "positive":
        np.testing.assert_allclose(gain, expected, rtol=1e-6, atol=1e-9)
        assert least == gain.min() < 0.0
    else:
        assert least == np.inf


def test_ties_do_not_depend_on_rounding():
    """Log-odds of 1/8, and costs of 7 to 1."""
    for unit in (1.0, 0.1, 3.0, 1e-3, 7 / 3, 1e300):
        table = table_of(
            [(7 * unit, unit, 0, 0), (7 * unit + 4, unit + 4, 4, 4)] if unit < 10 else [(7 * unit, unit, 0, 0)]
        )
        z = np.full(table.fn.size, np.log(1 / 7))
        assert CostDecision().decide(z, table).all()
        assert not CostDecision().decide(z - 1e-8, table).any()


def test_copies_are_dealt_as_rows_are():
    rng = np.random.default_rng(0)
    for most in (3, 30):
        kind, content = rng.integers(0, 2, size=(2, 12)).astype(float)
        copies = rng.integers(0, most, size=12)
        at = np.repeat(np.arange(12), copies)
        held = dealt([kind, content], copies)
        np.testing.assert_array_equal(held.sum(axis=1), copies)
        assert np.ptp(held.sum(axis=0)) <= 1  # hardly any is like no other: they are dealt one by one
        rows = dealt([kind[at], content[at]], np.ones(at.size, dtype=int))
        of_kinds = [(rows[(kind[at] == k) & (content[at] == c)].sum(axis=0)) for k in (0, 1) for c in (0, 1)]
        expected = [(held[(kind == k) & (content == c)].sum(axis=0)) for k in (0, 1) for c in (0, 1)]
        np.testing.assert_array_equal(of_kinds, expected)


def test_candidates_that_cannot_keep_the_constraint_are_not_allowed():
    z, y, table = population(400)
    store = RowCostStore(
        y, None, RowCosts(fn=1.0, fp=1.0), table, likely=True, demand=OverallDemand(get_constraint("recall >= 0.6"))
    )
    for number in range(2):
        noisy = z + number * np.random.default_rng(1).normal(size=z.size)
        store.put(RowScores(key=(0, number), score=noisy, value=0.0, equal_costs=True, power=0.0))
    rules = {each.rule for each in RowCostChoice(store).allowed}
    assert rules >= {"plain", "sigmoid", "swept"}
    assert "negative" not in rules


@pytest.mark.parametrize("far", [5.0, 40.0])
def test_scores_that_are_too_far_calibrate_as_the_farthest_one(far):
    z, y, table = population(2000)
    z = np.where(np.arange(z.size) % 10 == 0, 100.0 * z, z)
    tuned, clipped = (tune("sigmoid", one, y, table, np.ones(z.size), far) for one in (z, np.clip(z, -far, far)))
    assert tuned.slope > 0.0
    assert (tuned.slope, tuned.intercept) == (clipped.slope, clipped.intercept)


def test_rows_without_anything_to_win_are_no_alerts_whatever_a_review_costs():
    table = table_of([(0, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0)])
    acts, answered, _ = CostDecision().with_review(np.zeros(4), table, 1.0, 0.0)
    assert acts.tolist() == [False, False, True, True]
    assert answered.tolist() == [0.0, 0.0, 0.0, 0.5]
