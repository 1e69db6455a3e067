"""Constraints on decisions by the costs of rows, against literal searches over all decisions."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from csf.metrics import get_constraint
from csf.metrics.row_costs import CostTable
from csf.thresholding.cost_decisions import CostDecision, LabelledCosts
from csf.thresholding.cost_demands import OverallDemand, demand_on_costs, extra_costs
from csf.thresholding.segments import Segments
from tests.thresholding.test_row_costs import population

DEMANDS = ["recall >= 0.7", "precision >= 0.6", "predicted_rate <= 0.3", "fpr <= 0.2", "f1 >= 0.6", "accuracy >= 0.7"]


def on_all_rows(constraint):
    return OverallDemand(get_constraint(constraint))


def missing_of(demand, is_pos, decided, weight):
    return demand.missing(LabelledCosts(np.zeros(is_pos.size), is_pos, None, weight), decided)


def kept(constraint, is_pos, acts, weight):
    return missing_of(on_all_rows(constraint), is_pos, acts, weight) <= 1e-9


@pytest.mark.parametrize("constraint", DEMANDS)
@pytest.mark.parametrize("seed", range(4))
def test_no_decisions_save_more_than_the_multiplier_allows(constraint, seed):
    """Each row is there twice, as positive and as negative, with its probability as weight: sums are expected ones."""
    z, _, table = population(9, seed)
    p = expit(z)
    is_pos, twice, weight = np.repeat([True, False], 9), np.tile(np.arange(9), 2), np.concatenate([p, 1.0 - p])
    rows = LabelledCosts(z[twice], is_pos, table.take(twice), weight)
    decision = on_all_rows(constraint).kept_by(CostDecision(), rows)
    acts, priced = decision.decide(z, table), table.plus(*decision.extra)

    def saved(costs, acts):
        return float(acts @ (p * costs.gain - (1.0 - p) * costs.loss))

    every = [np.array(each) for each in itertools.product([False, True], repeat=9)]
    good = [each for each in every if kept(constraint, is_pos, each[twice], weight)]
    assert bool(good) == kept(constraint, is_pos, acts[twice], weight)
    if good:
        best = max(saved(table, each) for each in good)
        # By the costs with what the constraint adds nothing is better than the decisions; those that keep the
        # constraint are worth what they save and no less.
        added = saved(priced, acts) - saved(table, acts)
        assert saved(table, acts) <= best + 1e-9
        least = min(saved(priced, each) - saved(table, each) for each in good)
        assert best <= saved(table, acts) + added - least + 1e-9
        assert saved(priced, acts) == pytest.approx(max(saved(priced, each) for each in every))


def test_a_constraint_that_holds_anyway_adds_nothing():
    z, y, table = population(300)
    decision = CostDecision("plain", 0.3)
    demand = on_all_rows("recall >= 0.01, fpr <= 0.99")
    assert demand.kept_by(decision, LabelledCosts(z, y, table, np.ones(300))) is decision


@pytest.mark.parametrize("seed", range(5))
def test_the_multiplier_is_the_smallest_one(seed):
    """A little less of it, and the constraint is missed; scanned literally."""
    z, y, table = population(60, seed)
    demand, weight = on_all_rows("recall >= 0.9"), np.random.default_rng(seed).integers(1, 4, 60).astype(float)
    extra, _ = demand.kept_by(CostDecision(), LabelledCosts(z, y, table, weight)).extra
    turns = [0.0, *sorted(np.maximum((1.0 - expit(z)) / expit(z) * table.loss - table.gain, 0.0))]
    kept_from = next(
        each
        for each in turns
        if not missing_of(demand, y, CostDecision().decide(z, table.plus(each + 1e-9, 0.0)), weight)
    )
    assert kept_from <= extra <= min([each for each in turns if each > kept_from], default=np.inf)


def test_cuts_within_a_constraint_are_the_cheapest_that_keep_it():
    z, y, table = population(80, 3)
    demand, weight = on_all_rows("precision >= 0.5"), np.ones(80)
    cut = demand.cut_within(z, y, table, weight)
    costs = {
        each: np.where(z >= each, table.answers(y)[1], table.answers(y)[0]).sum()
        for each in np.append(z, np.inf)
        if not missing_of(demand, y, z >= each, weight)
    }
    assert not missing_of(demand, y, z >= cut, weight)
    assert np.where(z >= cut, table.answers(y)[1], table.answers(y)[0]).sum() == pytest.approx(min(costs.values()))


@pytest.mark.parametrize(("seed", "n", "level"), [(5, 600, 0.81), (8, 600, 0.84), (0, 60, 0.88), (1, 200, 0.88)])
def test_demands_that_pull_against_each_other_are_kept_where_that_is_possible(seed, n, level):
    rng = np.random.default_rng(seed)
    p, fn, fp = rng.beta(1, 2, size=n), np.exp(rng.normal(size=n) + 1.0), np.exp(0.5 * rng.normal(size=n))
    is_pos, none, weight = rng.random(n) < p, np.zeros(n), np.ones(n)
    # The rows of largest probability keep both: costs besides that are large enough rank rows so.
    most = np.argsort(-p)[: int(0.6 * n)]
    assert is_pos[most].sum() >= level * is_pos.sum()
    constraint = get_constraint(f"recall >= {level}, predicted_rate <= 0.6")
    table = CostTable(fn, fp, none, none)
    extra_fn, extra_fp = extra_costs(constraint, p, LabelledCosts(p, is_pos, table, weight), p * fn >= (1.0 - p) * fp)
    acts = p * (fn + extra_fn) >= (1.0 - p) * (fp + extra_fp)
    assert acts[is_pos].mean() >= level
    assert acts.mean() <= 0.6


# ---------------------------------------------------------------- by segments


def test_demands_that_cannot_both_be_kept_do_not_double_their_extra_costs():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.4, 60)
    is_pos = rng.random(60) < p
    table = CostTable(np.full(60, 5.0), np.ones(60), np.zeros(60), np.zeros(60))
    rows = LabelledCosts(p, is_pos, table, np.ones(60))
    extra = extra_costs(get_constraint("recall >= 0.95, precision >= 0.9"), p, rows, 5.0 * p >= 1.0 - p)
    assert np.abs(extra).max() < 1e15


def in_segments(n_rows, n_segments, seed):
    z, y, table = population(n_rows, seed)
    codes = np.random.default_rng(seed + 100).integers(0, n_segments, n_rows)
    return LabelledCosts(z, y, table.in_segments(codes), np.ones(n_rows)), codes


def by_segment(constraint, n_segments):
    return demand_on_costs(get_constraint(constraint), Segments("g", tuple(range(n_segments))))


def savings(rows, decided):
    return -float(decided @ rows.table.stakes(rows.is_pos))


@pytest.mark.parametrize("constraint", ["recall", "precision", "selection_rate", "f1"])
def test_levels_in_each_segment_are_those_of_a_search_of_that_segment(constraint):
    rows, codes = in_segments(400, 3, 0)
    priced = by_segment(f"{constraint} >= 0.6 in each g", 3).kept_by(CostDecision(), rows)
    for segment in range(3):
        part = rows.take(np.flatnonzero(codes == segment))
        part = part._replace(table=CostTable(part.table.fn, part.table.fp, part.table.tp, part.table.tn))
        assert (
            priced.by_segment[segment]
            == OverallDemand(get_constraint(f"{constraint} >= 0.6")).kept_by(CostDecision(), part).extra
        )


def combinations(rate, rows, codes):
    """All decisions by a threshold in each segment on what a row saves for a unit of the rate."""
    p = expit(rows.score)
    unit = {"recall": p, "fpr": 1.0 - p, "selection_rate": np.ones(p.size)}[rate]
    score = (p * rows.table.gain - (1.0 - p) * rows.table.loss) / unit
    cuts = [np.append(score[codes == segment], np.inf) for segment in (0, 1)]
    for first, second in itertools.product(*cuts):
        yield score >= np.where(codes == 0, first, second)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("text", ["recall gap <= 0.1 by g", "selection_rate ratio >= 0.9 by g", "fpr gap <= 0.1 by g"])
def test_gaps_and_ratios_are_kept_by_the_decisions_that_save_most(text, seed):
    """The best one of all pairs of thresholds, enumerated."""
    rows, codes = in_segments(40, 2, seed)
    demand = by_segment(text, 2)
    decided = demand.kept_by(CostDecision(), rows).decide(rows.score, rows.table)
    good = [each for each in combinations(text.split()[0], rows, codes) if not demand.missing(rows, each)]
    free = CostDecision().decide(rows.score, rows.table)
    best = savings(rows, free) if not demand.missing(rows, free) else max(savings(rows, each) for each in good)
    assert not demand.missing(rows, decided)
    assert savings(rows, decided) == pytest.approx(best)


def test_weights_count_as_repeated_rows_by_segment():
    rows, _ = in_segments(60, 2, 3)
    times = np.random.default_rng(0).integers(0, 4, 60)
    demand = by_segment("recall gap <= 0.05 by g", 2)
    repeated = rows.take(np.repeat(np.arange(60), times))
    weighted = demand.kept_by(CostDecision(), rows._replace(weight=times.astype(float)))
    assert np.allclose(weighted.by_segment, demand.kept_by(CostDecision(), repeated).by_segment)


@pytest.mark.parametrize("rate", ["precision", "accuracy", "f1"])
def test_gaps_of_rates_whose_denominator_moves_are_refused(rate):
    with pytest.raises(ValueError, match="rows no decision changes, such as recall, fpr or selection_rate"):
        by_segment(f"{rate} gap <= 0.1 by g", 2)


@pytest.mark.parametrize(
    ("text", "cost", "sign"), [("recall gap <= 0.001 by g", "fp", -1), ("fpr gap <= 0.001 by g", "fn", 1)]
)
def test_certain_rows_without_a_cost_are_as_those_that_are_nearly_certain(text, cost, sign):
    """A probability of 0 or 1, in rows whose other error costs nothing, divides nothing by nothing."""
    rows, _ = in_segments(200, 2, 2)
    free, table = np.arange(200) < 60, rows.table
    columns = table.columns | {
        cost: np.where(free, 0.0, getattr(table, cost)),
        "tp": 0.0 * table.tp,
        "tn": 0.0 * table.tn,
    }
    prices = []
    for odds in (600.0, 1e6):
        score = np.where(free, sign * odds, rows.score)
        given = rows._replace(score=score, table=CostTable(**columns))
        prices.append(by_segment(text, 2).kept_by(CostDecision(), given).by_segment)
    assert np.any(prices[0])
    np.testing.assert_allclose(*prices)
