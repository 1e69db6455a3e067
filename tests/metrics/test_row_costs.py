from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from csf.metrics import Column, RowCosts, get_metric
from csf.metrics.row_costs import CostTable, row_costs
from csf.metrics.row_costs import paid as paid_in_rows
from tests.oracles import row_costs as oracle

amounts = st.floats(0.0, 100.0).map(lambda value: round(value, 3))
rows = st.lists(st.tuples(amounts, amounts, amounts, amounts, st.booleans(), st.booleans()), min_size=2, max_size=12)


def columns(drawn):
    costs = [row[:4] for row in drawn]
    y, answers = ([row[at] for row in drawn] for at in (4, 5))
    return costs, y, answers, dict(zip(("fn_cost", "fp_cost", "tp_cost", "tn_cost"), map(np.array, zip(*costs))))


@given(rows)
def test_value_is_what_the_answers_cost(drawn):
    costs, y, answers, given = columns(drawn)
    table = CostTable(*given.values())
    value = RowCosts(measure="cost").value_of(table, np.array(y), np.array(answers), None)
    assert value == pytest.approx(-oracle.paid(costs, y, answers) / len(y), abs=1e-12)
    benefit = RowCosts(measure="benefit").value_of(table, np.array(y), np.array(answers), None)
    nothing = oracle.paid(costs, y, [False] * len(y)) / len(y)
    assert benefit == pytest.approx(nothing + value, abs=1e-12)
    least = min(oracle.paid(costs, y, [answer] * len(y)) for answer in (False, True))
    saved = RowCosts().value_of(table, np.array(y), np.array(answers), None)
    assert np.isnan(saved) if least <= 0 else saved == pytest.approx(oracle.savings(costs, y, answers), rel=1e-9)


@given(rows, st.floats(0.01, 0.99))
def test_shift_decides_as_elkan_does(drawn, p):
    costs, _, _, given = columns(drawn)
    kept = [not (fn < tp and fp < tn) for fn, fp, tp, tn in costs]
    table = CostTable(*given.values())
    answers = np.log(p / (1.0 - p)) + table.shift >= 0.0
    expected = np.array(oracle.elkan(costs, [p] * len(costs)))
    # The expected costs of both answers, which rounding may put on either side where they are the same.
    fn, fp, tp, tn = np.array(costs).T
    tied = np.isclose(p * tp + (1 - p) * fp, p * fn + (1 - p) * tn, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(answers[kept & ~tied], expected[kept & ~tied])


@given(rows, amounts)
def test_what_is_paid_in_any_case_changes_no_decision(drawn, more):
    table = CostTable(*columns(drawn)[3].values())
    moved = CostTable(table.fn + more, table.fp, table.tp + more, table.tn)
    other = CostTable(table.fn, table.fp + more, table.tp, table.tn + more)
    finite = np.isfinite(table.shift) & (np.minimum(table.gain, table.loss) > 1e-6)
    for each in (moved, other):
        np.testing.assert_allclose(each.shift[finite], table.shift[finite], atol=1e-6)


def test_sources_of_costs():
    X = pd.DataFrame({"amount": [4.0, 5.0], "fee": [1, 2]})
    read = RowCosts(fn="amount", fp=lambda X: 2 * X["fee"]).table(X)
    assert read.fn.tolist() == [4.0, 5.0]
    assert read.fp.tolist() == [2.0, 4.0]
    assert read.tp.tolist() == [0.0, 0.0]
    for other in (pl.from_pandas(X), X):
        assert RowCosts(fn="amount", fp=1).table(other).fn.tolist() == [4.0, 5.0]
    for other in (X.to_numpy(), sparse.csr_matrix(X.to_numpy()), X):
        assert RowCosts(fn=Column(0), fp=1).table(other).fn.tolist() == [4.0, 5.0]
    given = RowCosts(fn="amount", fp=1).table(X, fn_cost=[7, 8], tn_cost=0.5)
    assert given.fn.tolist() == [7.0, 8.0]
    assert given.tn.tolist() == [0.5, 0.5]
    assert RowCosts(fp=1).needs({}) == ["fn_cost"]
    assert RowCosts(fp=1).needs({"fn_cost": 3.0}) == []
    assert RowCosts(fp=1).remembering({"fn_cost": 3, "tp_cost": [1, 2]}) == RowCosts(fn=3.0, fp=1)
    assert clone(RowCosts(fn="amount"), safe=False) == RowCosts(fn="amount")


@pytest.mark.parametrize(
    ("costs", "given", "message"),
    [
        (RowCosts(fp=1), {}, "fn_cost must be given"),
        (RowCosts(), {"fp_cost": 1}, "fn_cost must be given: .* a false negative costs"),
        (RowCosts(fn="amuont", fp=1), {}, r"fn='amuont' of the metric is no column of X.*\['amount', .*'amount'"),
        (RowCosts(fn=1, fp=-2.0), {}, "fp=-2.0 of the metric is -2.0 in row 0 .*write a gain as a cost .*tn"),
        (RowCosts(fn=1, fp=1), {"fn_cost": [1.0, np.nan, 3.0]}, "fn_cost is nan in row 1 .1 such rows of 3.; costs"),
        (RowCosts(fn=1, fp=1), {"fn_cost": [1.0, np.inf, 3.0]}, "fn_cost is inf in row 1"),
        (RowCosts(fn=1, fp=1), {"tp_cost": [1.0, 2.0]}, r"tp_cost must have one number for each of 3 rows, .*\(2,\)"),
        (
            RowCosts(fn=1, fp=1),
            {"fn_cost": [0, 2, 0], "tp_cost": [1, 1, 1], "tn_cost": 2},
            "cost less .* in 2 of 3 .*0",
        ),
        (RowCosts(fn="name", fp=1), {}, "fn='name' of the metric must be an array of numbers"),
    ],
)
def test_costs_that_cannot_be(costs, given, message):
    X = pd.DataFrame({"amount": [4.0, 5.0, 6.0], "name": list("abc")})
    with pytest.raises(ValueError, match=message):
        costs.table(X, **given)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match=r"X, which has no names.*Column.*or the costs themselves as fn_cost="):
        RowCosts(fn="amount", fp=1).table(np.ones((2, 2)))


def test_measures_and_names():
    assert row_costs("savings") == RowCosts()
    assert row_costs("cost") == RowCosts(measure="cost")
    assert row_costs("f1") is None
    assert row_costs(get_metric("f1")) is None
    with pytest.raises(ValueError, match=r"measure must be one of .*'savings'"):
        RowCosts(measure="saving")
    for metric in ("savings", RowCosts(fn=1, fp=1)):
        with pytest.raises(ValueError, match=r"csf.CostSearch decides each row by its own costs, in memory"):
            get_metric(metric)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda cost, X, y: cost.score(y, [0, 1], X), "one of the labels .* for each of 3 rows"),
        (lambda cost, X, y: cost.score(y, [0, 7, 1], X), "one of the labels"),
        (lambda cost, X, y: cost.score(y, [0.2, 0.7, np.nan], X), "one of the labels"),
        (lambda cost, X, y: cost.score(y, y, X, fncost=3.0), "fncost cannot be given; .*Did you mean 'fn_cost'"),
        (lambda cost, X, y: cost.table(X, fn_cost="amount"), r"belong to the metric: RowCosts\(fn='amount'\)"),
        (lambda cost, X, y: cost.table(X, fn_cost=Column(0)), "belong to the metric"),
        (lambda cost, X, y: RowCosts(fn=Column(4), fp=1.0).table(X), "places 0 to 0"),
        (lambda cost, X, y: RowCosts(fn=np.ones(3)), "got ndarray; give costs of rows to fit"),
    ],
)
def test_hostile_calls(wrong, message):
    X, y = pd.DataFrame({"amount": [4.0, 5.0, 6.0]}), [0, 1, 1]
    with pytest.raises((TypeError, ValueError), match=message):
        wrong(RowCosts(fn="amount", fp=5.0), X, y)


def test_places_of_lists():
    assert RowCosts(fn=Column(1), fp=2.0).table([[0.1, 8.0], [0.2, 9.0]]).fn.tolist() == [8.0, 9.0]


def test_score_of_labels():
    cost = RowCosts(fn="amount", fp=5.0)
    X, y = pd.DataFrame({"amount": [100.0, 2.0, 40.0, 3.0]}), np.array(["b", "b", "a", "a"])
    predicted = np.array(["b", "a", "b", "a"])
    assert cost.score(y, predicted, X, pos_label="b") == pytest.approx(0.3)
    doubled = cost.score(np.append(y, "b"), np.append(predicted, "a"), pd.concat([X, X.iloc[[1]]]), pos_label="b")
    weighted = cost.score(y, predicted, X, pos_label="b", sample_weight=[1, 2, 1, 1])
    assert doubled == pytest.approx(weighted) == pytest.approx(1 - 9 / 10)


def amounts(n_rows):
    rng = np.random.default_rng(n_rows)
    amount = np.exp(rng.normal(size=n_rows)).round(1) + 0.1
    return pd.DataFrame({"amount": amount, "customer": rng.integers(0, max(n_rows // 3, 1), n_rows)})


OF_SEVERAL_ROWS = {
    "mean": lambda X: X["amount"] / X["amount"].mean(),
    "largest": lambda X: X["amount"] / X["amount"].max(),
    "smallest": lambda X: X["amount"] - X["amount"].min(),
    "clipped": lambda X: X["amount"].clip(upper=X["amount"].quantile(0.8)),
    "filled": lambda X: X["amount"].where(X["amount"] > 1.0).fillna(X["amount"].median()),
    "ranks": lambda X: X["amount"].rank(),
    "running sum": lambda X: X["amount"].cumsum(),
    "before": lambda X: X["amount"].shift(fill_value=0.0),
    "customers": lambda X: X.groupby("customer")["amount"].transform("sum"),
    "places": lambda X: np.arange(len(X)),
    "one number": lambda X: X["amount"].sum(),
    "noise": lambda X: np.random.default_rng().random(len(X)),
    "those of other rows": lambda X: np.ones(len(amounts(1000))),
}


@pytest.mark.parametrize("n_rows", [9, 1000, 20_000])
@pytest.mark.parametrize("name", OF_SEVERAL_ROWS)
def test_functions_of_several_rows_are_refused(name, n_rows):
    costs = RowCosts(fn=OF_SEVERAL_ROWS[name], fp=1.0)
    with pytest.raises(ValueError, match=r"must depend on each row alone|must have one number for each of"):
        costs.table(amounts(n_rows))


@pytest.mark.parametrize("n_rows", [1, 2, 3, 1000, 20_000])
def test_functions_of_single_rows_are_taken(n_rows):
    X = amounts(n_rows)
    mean = X["amount"].mean()  # of rows that are the same ones in each call
    functions = [
        lambda X: X["amount"] / mean,
        lambda X: np.log1p(X["amount"]),
        lambda X: X[["amount", "customer"]].to_numpy(dtype=np.float32) @ np.array([0.1, 7.0], dtype=np.float32),
        lambda X: 3.0,
        lambda X: 1e-12 * X["amount"],
    ]
    for function in functions:
        expected = np.broadcast_to(function(X), n_rows)
        np.testing.assert_allclose(RowCosts(fn=function, fp=1.0).table(X).fn, expected, rtol=1e-6)
    array = sparse.csr_array(X.to_numpy())
    doubled = RowCosts(fn=lambda X: 2.0 * X[:, [0]].toarray().ravel(), fp=1.0)
    np.testing.assert_allclose(doubled.table(array).fn, 2.0 * X["amount"])


def test_costs_that_need_X_are_not_read_elsewhere():
    X, y, predicted = np.array([[100.0], [2.0], [40.0], [3.0]]), [1, 1, 0, 0], [1, 0, 1, 0]
    for source in (Column(0), lambda X: X[:, 0]):
        cost = RowCosts(fn=source, fp=5.0)
        assert cost.score(y, predicted, X) == pytest.approx(0.3)
        with pytest.raises(ValueError, match=r"X must be given: fn=.* is a column of X, or a function of it"):
            cost.score(y, predicted)
        # What is given with the rows needs none.
        assert cost.score(y, predicted, fn_cost=X[:, 0]) == pytest.approx(0.3)
    assert RowCosts(fn=2.0, fp=5.0).score(y, predicted) == pytest.approx(1 - 7 / 4)
    with pytest.raises(ValueError, match="X has 3 rows, and y_true 4 labels"):
        RowCosts(fn=Column(0), fp=5.0).score(y, predicted, X[:3])


@pytest.mark.parametrize("place", [True, np.True_, 1.0, -1])
def test_places_count_from_0(place):
    with pytest.raises((TypeError, ValueError), match="place of a Column must be an int >= 0"):
        Column(place)


def test_places_of_frames_of_all_kinds():
    table = np.array([[1.0, 7.0], [2.0, 8.0]])
    for X in (pd.DataFrame(table), pd.DataFrame(table, columns=[5, 3]), pl.DataFrame(table), table.tolist()):
        assert RowCosts(fn=Column(np.int64(1)), fp=1).table(X).fn.tolist() == [7.0, 8.0]


@pytest.mark.parametrize(
    ("cost", "error", "message"),
    [
        (np.array(["2020-01-01"] * 3, dtype="M8[D]"), TypeError, "got dates"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 3)), TypeError, "got dates"),
        (pl.Series([1, 2, 3]).cast(pl.Datetime), TypeError, "got dates"),
        (np.array([1, 2, 3], dtype="m8[D]"), TypeError, "got spans of time"),
        (np.array([np.datetime64("2020")] * 3, dtype=object), TypeError, "got dates"),
        (["1", "2", "3"], ValueError, "got texts"),
        (np.array([1.0, "2", 3], dtype=object), ValueError, "got texts"),
        (np.array([1j, 2, 3]), TypeError, "real numbers, got complex ones"),
        (np.ma.array([1.0, 999.0, 3.0], mask=[0, 1, 0]), ValueError, "fn_cost is masked in 1 places; fill"),
        (pd.array([1, None, 3], dtype="Int64"), ValueError, "fn_cost is nan in row 1"),
        (pl.Series([1.0, None, 3.0]), ValueError, "fn_cost is nan in row 1"),
        (True, TypeError, "fn_cost must be a number or an array"),
        (np.full(3, 1e308), ValueError, "more than a float can hold"),
    ],
)
def test_what_is_no_cost(cost, error, message):
    with pytest.raises(error, match=message):
        RowCosts(fp=1.0).score([1, 1, 0], [1, 0, 1], fn_cost=cost)
    with pytest.raises(TypeError, match="fn must be a number"):
        RowCosts(fn=True)


@pytest.mark.parametrize(
    "cost", [[Decimal("1.5"), Decimal(2), 3], np.ma.array([1.5, 2.0, 3.0]), [np.float32(1.5), 2, 3]]
)
def test_what_is_a_cost(cost):
    assert RowCosts(fp=1.0).table(np.ones((3, 1)), fn_cost=cost).fn.tolist() == [1.5, 2.0, 3.0]


@given(rows, st.sampled_from([3.0, 0.1, 1e-3, 7 / 3, 1e5]), st.integers(0, 8).map(lambda eighths: eighths / 8))
def test_the_unit_of_costs_moves_no_tie(drawn, factor, p):
    given = columns(drawn)[3]
    table, other = (CostTable(*(unit * each for each in given.values())) for unit in (1.0, factor))
    np.testing.assert_array_equal(np.sign(table.gain), np.sign(other.gain))
    one, two = table.expected_gain(p), other.expected_gain(p)
    np.testing.assert_array_equal(np.sign(one), np.sign(two))
    # Which rows rank before which others, and which ones the same.
    np.testing.assert_array_equal(np.sign(one[:, None] - one), np.sign(two[:, None] - two))


@given(rows)
def test_a_share_of_a_row_pays_its_share(drawn):
    costs, y, answers, given = columns(drawn)
    table, half = CostTable(*given.values()), np.full(len(y), 0.5)
    negative, positive = table.answers(np.array(y))
    np.testing.assert_array_equal(
        paid_in_rows(negative, positive, np.array(answers)), np.where(answers, positive, negative)
    )
    both = [oracle.paid(costs, y, [answer] * len(y)) for answer in (False, True)]
    assert paid_in_rows(negative, positive, half).sum() == pytest.approx(np.mean(both), abs=1e-9)


def test_a_cost_may_be_a_share_of_a_column():
    pandas = pytest.importorskip("pandas")
    X = np.array([[0.1, 8.0], [0.2, 10.0]])
    frame = pandas.DataFrame(X, columns=["a", "amount"])
    for source in (Column("amount", share=0.05), Column(1, share=0.05)):
        assert RowCosts(fn=Column("amount"), fp=source).table(frame).fp.tolist() == [0.4, 0.5]
    assert RowCosts(fn=1.0, fp=Column(1, 0.05)).table(X).fp.tolist() == [0.4, 0.5]
    with pytest.raises(ValueError, match=r"is no column of X.*Did you mean 'amount'"):
        RowCosts(fn=1.0, fp=Column("amout", 0.05)).table(frame)
    for share in (0.0, -1.0, np.inf, "2"):
        with pytest.raises(ValueError, match="share of a Column must be a finite number > 0"):
            Column("amount", share=share)


@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dok", "lil"])
def test_columns_of_sparse_matrices_of_any_format_are_costs(kind):
    X = np.array([[0.0, 3.0], [1.0, 0.0], [0.0, 8.0]])
    table = RowCosts(fn=Column(1), fp=Column(1, share=0.5)).table(sparse.csr_matrix(X).asformat(kind))
    np.testing.assert_array_equal(table.fn, X[:, 1])
    np.testing.assert_array_equal(table.fp, 0.5 * X[:, 1])
