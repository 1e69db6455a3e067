"""Monitors of classes, of costs of rows, and of weights below 1, against the metrics by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from csf import CostSearch
from csf.metrics import Column, Constraint, CostMatrix, MeanCost, Recall, RowCosts
from csf.monitoring.bets import TermHistogram
from csf.monitoring.terms import amounts_by_kind, amounts_in_parts

QUICK = {"n_trials": 1, "param_grid": None, "cv": 2, "random_state": 0}
CLASSES = np.array(["calm", "spam", "urgent"])
COSTS = [[0.0, 1.0, 2.0], [5.0, 0.0, 1.0], [9.0, 3.0, 0.0]]


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(900, 8, n_classes=3, n_informative=5, weights=[0.6, 0.3], random_state=0)
    return X, CLASSES[y]


@pytest.fixture(scope="module")
def search(data):
    return CostSearch(LogisticRegression(), "f1_macro", **QUICK).fit(*data)


def by_hand(name, y, pred, label):
    if name == "predicted_rate":
        return (pred == label).mean()
    score = {"recall": recall_score, "precision": precision_score, "f1": f1_score}[name]
    return score(y == label, pred == label)


@pytest.mark.parametrize("label", CLASSES)
@pytest.mark.parametrize("name", ["recall", "precision", "f1", "predicted_rate"])
def test_a_class_is_watched_against_all_others(data, search, name, label):
    X, y = data
    side = "<=" if name == "predicted_rate" else ">="
    monitor = search.monitor(f"{name}[{label}] {side} 0.5")
    monitor.update(y, search.predict(X))
    assert monitor.value == pytest.approx(by_hand(name, y, search.predict(X), label))
    assert monitor.name.endswith(f"[{label}]")
    assert monitor.demand in monitor.report()
    low, high = monitor.interval
    assert low < monitor.value < high
    # Of the same samples in two classes all numbers are the same.
    two = CostSearch(LogisticRegression(), **QUICK).fit(X, (y == label).astype(int)).monitor(f"{name} {side} 0.5")
    two.update((y == label).astype(int), (search.predict(X) == label).astype(int))
    assert (two.capital, *two.interval) == pytest.approx((monitor.capital, *monitor.interval))


def test_of_several_classes_accuracy_is_watched(data, search):
    X, y = data
    monitor = search.monitor("accuracy >= 0.5")
    monitor.update(y, search.predict(X))
    assert monitor.value == pytest.approx(accuracy_score(y, search.predict(X)))
    with pytest.raises(ValueError, match=r"cannot watch f1_macro.*'recall\[calm\] >= 0.8'.* or monitor\('accuracy"):
        search.monitor()
    with pytest.raises(
        ValueError, match=r"f1, because it needs two classes.*\['calm', 'spam', 'urgent'\].*'recall\[calm\]"
    ):
        search.monitor("f1 >= 0.5")
    with pytest.raises(ValueError, match=r"there is no 'odd'; accepted: \['calm', 'spam', 'urgent'\]"):
        search.monitor("recall[odd] >= 0.5")


def test_labels_of_a_class_may_come_late_or_be_audited(data, search):
    X, y = data
    pred, rows, rng = search.predict(X), np.arange(y.size), np.random.default_rng(0)
    labelled = (pred == "urgent") | (rng.random(y.size) < 0.5)
    monitor = search.monitor("recall[urgent] >= 0.1", audit=0.5)
    monitor.update(y[labelled], pred[labelled])
    assert monitor.value == pytest.approx(recall_score(y == "urgent", pred == "urgent"), abs=0.1)
    late = search.monitor("recall[urgent] >= 0.1", mature_after=1, unlabelled="negative")
    known = y == "urgent"
    for at in (rows[:400], rows[400:]):
        late.expect(pred[at], rows=at)
        late.update(y[at][known[at]], rows=at[known[at]])
    at_once = search.monitor("recall[urgent] >= 0.1")
    at_once.update(y[:400], pred[:400])
    assert (late.value, late.capital) == (at_once.value, at_once.capital)
    with pytest.raises(ValueError, match=r"audit=0 only alerts have labels, but recall\[urgent\] also depends"):
        search.monitor("recall[urgent] >= 0.1", audit=0)


@pytest.mark.parametrize("pos_label", [0, 1])
def test_of_two_classes_either_can_be_named(pos_label):
    X, y = make_classification(600, weights=[0.7], random_state=0)
    search = CostSearch(LogisticRegression(), pos_label=pos_label, **QUICK).fit(X, y)
    pred = search.predict(X)
    for label in (0, 1):
        monitor = search.monitor(f"f1[{label}] >= 0.5")
        monitor.update(y, pred)
        assert monitor.value == pytest.approx(f1_score(y, pred, pos_label=label))
    plain, named = search.monitor("f1 >= 0.5"), search.monitor(f"f1[{pos_label}] >= 0.5")
    for monitor in (plain, named):
        monitor.update(y, pred)
    assert (plain.capital, plain.interval) == (named.capital, named.interval)


def test_beside_a_null_class_each_can_be_named(data):
    X, y = data
    search = CostSearch(LogisticRegression(), null_class="calm", **QUICK).fit(X, y)
    pred = search.predict(X)
    for label in CLASSES:
        monitor = search.monitor(Constraint(Recall(), ">=", 0.1, of=label))
        monitor.update(y, pred)
        assert monitor.value == pytest.approx(recall_score(y == label, pred == label))
    monitor = search.monitor("recall >= 0.1")
    monitor.update(y, pred)
    assert monitor.value == pytest.approx((y == pred)[y != "calm"].mean())


# ---------------------------------------------------------------- mean costs by a matrix


def test_mean_costs_of_a_matrix_have_their_own_sign(data):
    X, y = data
    search = CostSearch(LogisticRegression(), CostMatrix(COSTS), **QUICK).fit(X, y)
    pred = search.predict(X)
    paid = np.array(COSTS)[np.searchsorted(CLASSES, y), np.searchsorted(CLASSES, pred)]
    monitor = search.monitor()
    assert (monitor.side, monitor.level) == ("<=", pytest.approx(-search.score_interval_[0]))
    assert not monitor.update(y, pred)
    assert monitor.value == pytest.approx(paid.mean())
    assert 0.0 < monitor.interval[0] < paid.mean() < monitor.interval[1]
    assert monitor.update(np.roll(y, 1), pred) == "2"
    demand = search.monitor(Constraint(CostMatrix(COSTS), "<=", 2.0))
    demand.update(y, pred)
    assert demand.value == pytest.approx(paid.mean())
    with pytest.raises(ValueError, match="cost matrix is for 2 classes, and there are 3"):
        search.monitor(Constraint(CostMatrix([[0, 1], [1, 0]]), "<=", 0.5))


@pytest.mark.parametrize("pos_label", [0, 1])
def test_cost_matrices_of_two_classes_have_the_negative_one_first(pos_label):
    X, y = make_classification(600, weights=[0.7], random_state=0)
    metric = CostMatrix([[0.0, 1.0], [5.0, 0.0]])
    search = CostSearch(LogisticRegression(), metric, pos_label=pos_label, **QUICK).fit(X, y)
    pred, monitor = search.predict(X), search.monitor()
    monitor.update(y, pred)
    missed, wrong = (pred != y) & (y == pos_label), (pred != y) & (y != pos_label)
    assert monitor.value == pytest.approx((5.0 * missed + wrong).mean())
    assert monitor.value == pytest.approx(-search.score(X, y))
    assert monitor.side == "<="


def test_a_cost_matrix_beside_a_null_class_is_watched_as_a_mean_cost(data):
    """Two classes of errors: a wrong class is a miss."""
    X, y = data
    search = CostSearch(LogisticRegression(), CostMatrix([[0.0, 1.0], [5.0, 0.0]]), null_class="calm", **QUICK).fit(
        X, y
    )
    pred, monitor = search.predict(X), search.monitor()
    monitor.update(y, pred)
    missed, wrong = (y != "calm") & (pred != y), (y == "calm") & (pred != y)
    assert monitor.value == pytest.approx((5.0 * missed + wrong).mean())
    assert monitor.value == pytest.approx(-search.score(X, y))


# ---------------------------------------------------------------- costs of rows


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(1200, 6, n_informative=4, weights=[0.8], random_state=1)
    amount = np.exp(np.random.default_rng(0).normal(2.0, 0.5, 1200))
    return np.column_stack([X, amount]), y


def costs(measure="savings"):
    return RowCosts(fn=Column(6), fp=3.0, tp=1.0, measure=measure)


@pytest.fixture(scope="module")
def costly(rows):
    return {
        measure: CostSearch(LogisticRegression(max_iter=300), costs(measure), **QUICK).fit(*rows)
        for measure in ("savings", "cost", "benefit")
    }


@pytest.mark.parametrize("measure", ["savings", "cost", "benefit"])
def test_the_value_of_rows_is_that_of_their_costs(rows, costly, measure):
    X, y = rows
    search = costly[measure]
    monitor, pred = search.monitor(), search.predict(X)
    assert monitor.level == pytest.approx(search.score_interval_[0])
    assert not monitor.update(y, pred, X=X)
    assert monitor.value == pytest.approx(costs(measure).score(y, pred, X))
    assert monitor.interval[0] < monitor.value < monitor.interval[1]
    given, table = search.monitor(), costs(measure).table(X)
    given.update(y, pred, fn_cost=X[:, 6], fp_cost=table.fp, tp_cost=1.0, X=X)
    assert given.capital == monitor.capital
    assert monitor.update(y, 1 - pred, X=X)
    assert ("savings are those against the answer 0 to all rows" in monitor.report()) == (measure == "savings")


def test_costs_that_fit_was_given_are_given_again(rows):
    X, y = rows
    amount = X[:, 6]
    search = CostSearch(LogisticRegression(max_iter=300), "savings", **QUICK).fit(X, y, fn_cost=amount, fp_cost=3.0)
    monitor, pred = search.monitor(), search.predict(X, fn_cost=amount)
    monitor.update(y, pred, fn_cost=amount)
    assert monitor.value == pytest.approx(RowCosts(fp=3.0).score(y, pred, fn_cost=amount))
    assert monitor.max_cost == pytest.approx(2.0 * amount[y == 1].max())
    with pytest.raises(ValueError, match="fn_cost must be given"):
        monitor.update(y, pred)
    with pytest.raises(ValueError, match=r"a sample costs .* larger max_cost="):
        monitor.update(y, pred, fn_cost=amount * 10.0)
    assert not search.monitor(max_cost=1e4).update(y, pred, fn_cost=amount * 10.0)
    with pytest.raises(ValueError, match="fn_cost must have one number for each of 1200 rows"):
        monitor.update(y, pred, fn_cost=amount[:3])
    assert monitor.n_batches == 1


def test_a_lean_model_watches_the_same(rows, costly):
    lean = costly["savings"].without_scores()
    assert lean.monitor().max_cost == costly["savings"].monitor().max_cost


def test_savings_below_nothing_have_an_interval(rows, costly):
    X, y = rows
    monitor = costly["savings"].monitor()
    monitor.update(y, np.ones_like(y), X=X)
    assert monitor.value == pytest.approx(1.0 - (3.0 * (y == 0) + (y == 1)).sum() / X[y == 1, 6].sum())
    assert -np.inf < monitor.interval[0] < monitor.value < 0.0
    few = costly["savings"].monitor()
    few.update(y[:3], np.ones(3, dtype=int), X=X[:3])
    assert few.interval[1] <= 1.0


@pytest.mark.parametrize("audit", [1.0, 0.5])
def test_late_labels_have_the_costs_of_their_decisions(rows, costly, audit, tmp_path):
    X, y = rows
    search, rng = costly["savings"], np.random.default_rng(0)
    pred = search.predict(X)
    kept = (pred == 1) | (rng.random(y.size) < audit)
    X, y, pred, ids = X[kept], y[kept], pred[kept], np.flatnonzero(kept)
    late, timely = search.monitor(path=tmp_path / "late.json", audit=audit), search.monitor(audit=audit)
    for part in np.array_split(np.arange(y.size), 3):
        late.expect(pred[part], rows=ids[part], X=X[part])
        timely.update(y[part], pred[part], X=X[part])
    for part in np.array_split(rng.permutation(y.size), 4):
        again = search.monitor(path=tmp_path / "late.json", audit=audit)
        again.update(y[part], rows=ids[part])
    assert (again.n_samples, again.value) == (y.size, pytest.approx(timely.value))
    assert again.capital == pytest.approx(timely.capital)
    with pytest.raises(ValueError, match="give X= to expect"):
        late.update(y[:2], rows=ids[:2], X=X[:2])


def test_costs_are_for_costs_of_rows(rows, costly):
    X, y = rows
    monitor = costly["savings"].monitor("f1 >= 0.1")
    assert not monitor.update(y, y)
    with pytest.raises(ValueError, match=r"X= cannot be given: .* are for costs of rows.*watches f1 >= 0\.1"):
        monitor.update(y, y, X=X)
    with pytest.raises(TypeError, match=r"weight= cannot be given.*sample_weight"):
        monitor.update(y, y, weight=np.ones(y.size))
    with pytest.raises(ValueError, match="X must be given"):
        costly["savings"].monitor().update(y, y)
    assert costly["savings"].monitor(Constraint(MeanCost(), "<=", 0.3)).max_cost is None


@given(
    st.sampled_from(["savings", "cost", "benefit"]),
    st.integers(0, 1),
    st.lists(st.tuples(*[st.integers(0, 1)] * 2, *[st.floats(0.0, 50.0)] * 4), min_size=1, max_size=20),
    st.floats(-3.0, 0.95),
)
def test_rows_in_parts_keep_their_sums_and_win_no_more(measure, reference, rows, value):
    truth, pred, *four = (np.array(each) for each in zip(*rows))
    (fixed, per_cost), (fn, fp, tp, tn) = amounts_by_kind(per_gain=measure == "savings"), four
    negative, positive = np.where(truth, fn, tn), np.where(truth, tp, fp)
    paid, first = np.where(pred, positive, negative), (negative, positive)[reference]
    gain = {"savings": first, "cost": np.zeros_like(paid), "benefit": negative}[measure]
    kinds, parts, cost = amounts_in_parts(gain, paid)
    top = {"savings": first - paid, "cost": -paid, "benefit": negative - paid}[measure]
    bottom = first if measure == "savings" else np.ones_like(paid)
    np.testing.assert_allclose(parts.sum(axis=1), 1.0)
    histogram = TermHistogram(fixed, per_cost, None, 50.0)
    counts = histogram.count(kinds, parts, np.ones(len(rows)), cost)
    np.testing.assert_allclose(counts @ histogram.places, [top.sum(), bottom.sum()], atol=1e-8)
    gains, possible = top - value * bottom, histogram.places @ [1.0, -value]
    for stake in np.array([0.9, -0.9]) / np.abs(possible).max():
        assert counts @ np.log1p(-stake * possible) <= np.log1p(-stake * gains).sum() + 1e-9


# ---------------------------------------------------------------- weights up to 1


def test_weights_of_one_are_none_and_lighter_ones_parts(data, search):
    X, y = data
    pred, weight = search.predict(X), np.random.default_rng(0).uniform(0.1, 1.0, y.size)
    for demand in ("recall[spam] >= 0.3", "f1[spam] >= 0.3", "accuracy >= 0.3"):
        plain, ones, light = (search.monitor(demand) for _ in range(3))
        plain.update(y, pred)
        ones.update(y, pred, sample_weight=np.ones(y.size))
        light.update(y, pred, sample_weight=weight)
        assert (ones.capital, ones.interval, ones.value) == (plain.capital, plain.interval, plain.value)
        assert light.interval[0] < light.value < light.interval[1]
        assert np.diff(light.interval) > np.diff(plain.interval)
    assert light.value == pytest.approx(accuracy_score(y, pred, sample_weight=weight))


def test_intervals_of_light_samples_hold(search):
    """Exact intervals of shares would be too narrow: here light samples are all right, and heavy ones rarely."""
    missed, rng = 0, np.random.default_rng(0)
    for _ in range(40):
        monitor = search.monitor("recall[spam] >= 0.1", alpha=0.1)
        heavy = rng.random(300) < 0.1
        right = np.where(heavy, rng.random(300) < 0.2, True)
        y, pred = np.full(300, "spam"), np.where(right, "spam", "calm")
        monitor.update(y, pred, sample_weight=np.where(heavy, 1.0, 0.05))
        low, high = monitor.interval
        missed += not low <= (0.1 * 0.2 + 0.9 * 0.05) / (0.1 + 0.9 * 0.05) <= high
    assert missed / 40 <= 0.1 + 2.0 * np.sqrt(0.1 * 0.9 / 40)


# ---------------------------------------------------------------- all labels of a row


@pytest.fixture(scope="module")
def labels():
    return make_multilabel_classification(600, n_classes=3, random_state=0)


@pytest.mark.parametrize("average", ["micro", "samples"])
def test_all_labels_of_a_row_are_watched_together(labels, average):
    X, Y = labels
    search = CostSearch(LogisticRegression(), f"f1_{average}", **QUICK).fit(X, Y)
    monitor, pred = search.monitor(), search.predict(X)
    assert monitor.level == pytest.approx(search.score_interval_[0])
    missing = Y.astype(float)
    missing[::6, 1] = np.nan
    assert not monitor.update(missing, pred, name="June")
    kept = np.arange(600) % 6 > 0
    empty = {"zero_division": 0.0} if average == "samples" else {}
    assert monitor.value == pytest.approx(f1_score(Y[kept], pred[kept], average=average, **empty))
    assert monitor.n_samples == 500
    assert monitor.interval[0] < monitor.value < monitor.interval[1]
    late, rows = search.monitor(), np.arange(600)
    late.expect(pred[kept], rows=rows[kept])
    late.update(missing[::-1][kept[::-1]], rows=rows[::-1][kept[::-1]])
    assert late.capital == pytest.approx(monitor.capital)
    assert monitor.update(1 - Y, pred) == "2"
    assert "train again on newer samples" in monitor.report()
    with pytest.raises(ValueError, match=r"a column for each of 3 labels, got shape \(600,\)"):
        monitor.update(Y[:, 0], pred[:, 0])
    with pytest.raises(ValueError, match="Label whole rows"):
        search.monitor(audit=0.2)


def test_labels_that_come_together_are_no_more_evidence_than_one(labels):
    """The same label three times: bets on pairs would count each row thrice."""
    X, Y = labels
    search = CostSearch(LogisticRegression(), "f1_micro", **QUICK).fit(X, Y)
    alone = CostSearch(LogisticRegression(), **QUICK).fit(X, Y[:, 0])
    level, pred = search.score_interval_[0], search.predict(X)[:, :1]
    together, one = search.monitor(), alone.monitor(f"f1 >= {level}")
    together.update(np.tile(Y[:, :1], 3), np.tile(pred, 3))
    one.update(Y[:, 0], pred[:, 0])
    # Stakes of shares are fewer ones.
    assert abs(np.log(together.capital) - np.log(one.capital)) < 1.0
    assert together.value == pytest.approx(one.value)
