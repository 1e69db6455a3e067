"""Decisions that wait for labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.metrics import Constraint, MeanCost
from csf.monitoring.cohorts import Cohort

QUICK = {"n_trials": 1, "param_grid": None, "cv": 2, "random_state": 0}
DATA = make_classification(600, 8, weights=[0.8], random_state=0)
SEVERAL = make_classification(400, 8, n_classes=3, n_informative=5, random_state=0)
NAMED = np.array(["no", "yes"])[DATA[1]]


@pytest.fixture(scope="module")
def search():
    return CostSearch(LogisticRegression(), **QUICK).fit(*DATA)


def batches(rng, n_batches=6, n=120):
    """Ids, labels and predictions of batches."""
    for at in range(n_batches):
        y = (rng.random(n) < 0.3).astype(int)
        yield 1000 * at + np.arange(n), y, np.where(rng.random(n) < 0.75, y, 1 - y)


def state(monitor):
    """What a monitor has counted."""
    return monitor.n_samples, monitor.capital, monitor.value, monitor.interval, monitor.alarm


OPTIONS = [
    ("f1 >= 0.5", {}, None),
    ("precision >= 0.5", {}, None),
    ("recall >= 0.5", {"audit": 0.4}, None),
    ("f2 >= 0.5", {"max_weight": 4.0}, "weight"),
    (Constraint(MeanCost(5.0), "<=", 0.8), {}, None),
    (Constraint(MeanCost(5.0), "<=", 0.8), {"max_cost": 20.0, "max_weight": 4.0}, "both"),
]


@given(seed=st.integers(0, 999), case=st.sampled_from(OPTIONS))
def test_labels_in_any_order_and_parts_count_as_whole_batches_in_order(search, seed, case):
    demand, options, given_ = case
    rng = np.random.default_rng(seed)
    late, timely = (search.monitor(demand, **options) for _ in range(2))
    parts = []
    for at, (rows, y, pred) in enumerate(batches(rng)):
        weight = {"sample_weight": rng.uniform(0.1, 4.0, y.size)} if given_ else {}
        cost = rng.uniform(0.0, 20.0, y.size) if given_ == "both" else None
        late.expect(pred, rows=rows, name=f"week {at}", **weight)
        timely.update(y, pred, name=f"week {at}", cost=cost, **weight)
        parts += [(rows[k], y[k], None if cost is None else cost[k]) for k in range(y.size)]
    rng.shuffle(parts)
    for some in np.array_split(np.arange(len(parts)), 5):
        rows, y, cost = zip(*(parts[k] for k in some))
        late.update(y, rows=rows, cost=None if given_ != "both" else cost)
    assert state(late) == state(timely)
    assert late.history == timely.history
    assert (late.n_waiting, late.awaited) == (0, [])


def test_a_whole_batch_waits_for_those_before_it(search):
    monitor, (first, second) = search.monitor("f1 >= 0.5"), batches(np.random.default_rng(0), 2)
    for rows, _, pred in (first, second):
        monitor.expect(pred, rows=rows)
    monitor.update(second[1], rows=second[0])
    assert (monitor.n_samples, monitor.n_waiting) == (0, 2)
    assert np.isnan(monitor.value)
    assert [(name, np.isnan(value)) for name, value, _ in monitor.history] == [("1", True), ("2", True)]
    assert "2 batches wait since 1: 120 of their 240 rows have a label" in monitor.report()
    monitor.update(first[1][:-1], rows=first[0][:-1])
    assert monitor.n_samples == 0
    monitor.update(first[1][-1:], rows=first[0][-1:])
    assert (monitor.n_samples, monitor.n_batches, monitor.n_waiting) == (240, 2, 0)
    assert "wait" not in monitor.report()


@pytest.mark.parametrize("unlabelled", ["negative", "drop"])
def test_an_old_batch_counts_without_all_labels(search, unlabelled):
    monitor, by_hand = search.monitor("f1 >= 0.5", mature_after=2, unlabelled=unlabelled), search.monitor("f1 >= 0.5")
    for at, (rows, y, pred) in enumerate(batches(np.random.default_rng(1))):
        monitor.expect(pred, rows=rows)
        known = np.arange(y.size) % 3 > 0
        monitor.update(y[known], rows=rows[known])
        assert monitor.n_batches == max(0, at - 1)
        if at < 4:
            by_hand.update(np.where(known, y, 0 if unlabelled == "negative" else np.nan), pred)
    assert state(monitor) == state(by_hand)
    assert monitor.n_waiting == 2


def test_an_alarm_has_the_name_of_the_decisions(search):
    monitor, rng = search.monitor("f1 >= 0.5"), np.random.default_rng(2)
    for at, (rows, y, pred) in enumerate(batches(rng, 8, 300)):
        monitor.expect(pred if at < 4 else 1 - pred, rows=rows, name=f"week {at}")
        monitor.update(y, rows=rows)
    assert monitor.alarm == "week 4"


def test_labels_are_texts_and_ids_an_index():
    pandas = pytest.importorskip("pandas")
    search = CostSearch(LogisticRegression(), pos_label="yes", **QUICK).fit(DATA[0], NAMED)
    monitor, pred = search.monitor("f1 >= 0.3"), search.predict(DATA[0])
    ids = [f"customer {k}" for k in range(600)]
    monitor.expect(pandas.Series(pred, index=ids))
    labels = pandas.Series(NAMED, index=ids).sample(frac=1.0, random_state=0)
    monitor.update(labels.mask(np.arange(600) < 300).to_frame())
    assert monitor.n_samples == 0
    monitor.update(labels)
    direct = search.monitor("f1 >= 0.3")
    direct.update(NAMED, pred)
    assert state(monitor) == state(direct)


def test_several_classes_have_cohorts():
    search = CostSearch(LogisticRegression(), "f1_macro", **QUICK).fit(*SEVERAL)
    with pytest.raises(ValueError, match=r"the 3 classes of this search are alike\. Give unlabelled='drop'"):
        search.monitor("accuracy >= 0.4", mature_after=1, unlabelled="negative")
    monitor, pred = search.monitor("accuracy >= 0.4", mature_after=1, unlabelled="drop"), search.predict(SEVERAL[0])
    monitor.expect(pred[:200], rows=range(200))
    monitor.expect(pred[200:], rows=range(200, 400))
    monitor.update(SEVERAL[1][:150], rows=range(150))
    assert (monitor.n_samples, monitor.n_waiting) == (150, 1)
    assert monitor.value == pytest.approx((SEVERAL[1] == pred)[:150].mean())
    null = CostSearch(LogisticRegression(), "f1_micro", null_class=2, **QUICK).fit(*SEVERAL)
    monitor = null.monitor("accuracy >= 0.4", mature_after=1, unlabelled="negative")
    monitor.expect([0, 1, 2], rows=[1, 2, 3])
    monitor.expect([0], rows=[4])
    monitor.update([0], rows=[1])
    assert monitor.value == pytest.approx(2 / 3)


def test_alerts_alone_have_labels_without_an_audit(search):
    monitor = search.monitor("precision >= 0.5", audit=0)
    monitor.expect([1, 0, 1, 0], rows=[1, 2, 3, 4])
    assert monitor.awaited == [1, 3]
    monitor.update([1, 0], rows=[3, 1])
    assert (monitor.n_samples, monitor.value) == (2, 0.5)
    with pytest.raises(ValueError, match=r"all 300 labelled samples were predicted positive, but f1 also"):
        search.monitor("f1 >= 0.5").expect(np.ones(300, dtype=int), rows=range(300))


def test_costs_come_with_labels_or_are_those_of_errors(search):
    monitor = search.monitor(Constraint(MeanCost(5.0, 2.0), "<=", 3.0), mature_after=1, unlabelled="negative")
    monitor.expect([1, 1, 0, 0], rows=[1, 2, 3, 4])
    monitor.expect([0], rows=[5])
    monitor.update([0], rows=[1], cost=[9.0])
    assert monitor.value == pytest.approx((9.0 + 2.0) / 4)
    limited = search.monitor(Constraint(MeanCost(5.0), "<=", 3.0), max_cost=8.0)
    limited.expect([1], rows=[1])
    with pytest.raises(ValueError, match="a sample costs 9, but this monitor takes costs of at most 8"):
        limited.update([0], rows=[1], cost=[9.0])


def test_expected_rows_have_the_weights_of_their_decisions():
    weight = np.where(np.arange(600) % 10 == 0, 3.0, 1.0)
    search = CostSearch(LogisticRegression(), **QUICK).fit(*DATA, sample_weight=weight)
    monitor, direct = search.monitor("f1 >= 0.3"), search.monitor("f1 >= 0.3")
    pred = search.predict(DATA[0])
    monitor.expect(pred, rows=range(600), sample_weight=weight)
    monitor.update(DATA[1], rows=range(600))  # no warning of weights that are missing
    direct.update(DATA[1], pred, sample_weight=weight)
    assert state(monitor) == state(direct)
    with pytest.raises(ValueError, match="give sample_weight= to expect"):
        monitor.update(DATA[1], rows=range(600), sample_weight=weight)
    with pytest.warns(UserWarning, match="these samples have none"):
        monitor.expect(pred[:3], rows=[1, 2, 3])


# ---------------------------------------------------------------- what is refused


def test_rows_are_matched_or_refused(search):
    pandas = pytest.importorskip("pandas")
    monitor = search.monitor("f1 >= 0.5")
    monitor.expect([1, 0, 1], rows=["a", "b", "c"], name="May")
    monitor.update([1], rows=["a"])
    cases = [
        (lambda: monitor.update([1, 0], rows=["a", "z"]), "row 'z' is not expected"),
        (lambda: monitor.update([0], rows=["a"]), "row 'a' has the label 1 already, and now 0"),
        (lambda: monitor.update([0, 1], rows=["b", "b"]), "row 'b' has the label 0 already, and now 1"),
        (lambda: monitor.update([0], [1], rows=["a"]), "take update\\(y, rows=ids\\), without y_pred"),
        (lambda: monitor.update([0], [1]), "all others while batches wait \\(1 do\\)"),
        (lambda: monitor.update([5], rows=["b"]), r"y holds the labels \[5\], the search knows \[0, 1\]"),
        (lambda: monitor.update([0, 1], rows=["b"]), "rows has 1 ids, and y 2 entries"),
        (lambda: monitor.update([0, 1]), "rows= is missing: give the ids of the rows, or y as a pandas Series"),
        (lambda: monitor.update(None), "give y and y_pred, or y with the ids"),
        (lambda: monitor.update([0], rows=["b"], cost=[1.0]), "cost= is for a monitor of .*MeanCost"),
        (lambda: monitor.expect([1], rows=["b"]), "row 'b' is expected twice"),
        (lambda: monitor.expect([1, 0], rows=["d", "d"]), "row 'd' is expected twice"),
        (lambda: monitor.expect([1], rows=[2.5]), r"ids of rows are integers or texts, got 2\.5 \(float\)"),
        (lambda: monitor.expect([1], rows=[True]), "ids of rows are integers or texts, got True"),
        (lambda: monitor.expect([1], rows=[[1, 2]]), r"ids of rows are integers or texts, got \[1, 2\]"),
        (lambda: monitor.expect([3], rows=["d"]), r"y_pred holds the labels \[3\].*what search.predict\(X\) returns"),
        (lambda: monitor.expect(pandas.Series([1, 0])), r"the index of y_pred counts its rows \(\[0, 1\], \.\.\.\)"),
        (lambda: search.monitor("predicted_positive_rate <= 0.5").expect([1], rows=[1]), "needs no labels to wait for"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
    assert monitor.awaited == ["a", "b", "c"]
    monitor.update([1, 0, 1], rows=["a", "b", "c"])  # an equal label may come again
    assert (monitor.n_samples, monitor.value) == (3, 1.0)
    with pytest.raises(ValueError, match="the batch 'May' of these rows was expected before"):
        monitor.expect([1, 0, 1], rows=["a", "b", "c"], name="May")


def test_a_label_with_another_cost_is_refused(search):
    monitor = search.monitor(Constraint(MeanCost(5.0), "<=", 3.0))
    monitor.expect([1, 0], rows=[1, 2])
    monitor.update([0], rows=[1], cost=[2.0])
    monitor.update([0], rows=[1], cost=[2.0])
    with pytest.raises(ValueError, match="row 1 has the cost 2 already, and now 3"):
        monitor.update([0], rows=[1], cost=[3.0])


def test_options_of_late_labels_go_together(search):
    for options, message in (
        ({"mature_after": 3}, "mature_after and unlabelled go together"),
        ({"unlabelled": "drop"}, "mature_after and unlabelled go together"),
        ({"mature_after": 0, "unlabelled": "drop"}, "mature_after must be an int >= 1"),
        ({"mature_after": 3, "unlabelled": "left"}, "unlabelled must be one of"),
        ({"max_cost": 3.0}, r"max_cost= is for a monitor of .*MeanCost.*, but this monitor watches f1 >= 0\.5"),
    ):
        with pytest.raises(ValueError, match=message):
            search.monitor("f1 >= 0.5", **options)


# ---------------------------------------------------------------- files


def test_what_waits_is_in_the_file_until_it_counts(search, tmp_path):
    path, rng = tmp_path / "monitor.json", np.random.default_rng(3)
    options = {"max_cost": 20.0, "max_weight": 4.0, "mature_after": 3, "unlabelled": "negative"}
    demand, whole = Constraint(MeanCost(5.0), "<=", 4.0), list(batches(rng, 5))
    alone = search.monitor(demand, **options)
    for at, (rows, y, pred) in enumerate(whole):
        weight, known, cost = rng.uniform(0.0, 4.0, y.size), y == 0, rng.uniform(0.0, 20.0, y.size)
        for monitor in (search.monitor(demand, path=path, **options), alone):
            monitor.expect(pred, rows=rows, sample_weight=weight, name=f"week {at}")
            monitor.update(y[known], rows=rows[known], cost=cost[known])
    again = search.monitor(demand, path=path, **options)
    assert again.n_batches == 2
    assert state(again) == state(alone)
    assert again.awaited == alone.awaited
    large = path.stat().st_size
    for rows, y, _ in whole[2:]:
        again.update(y[y == 1], rows=rows[y == 1])
    assert again.n_waiting == 0
    assert path.stat().st_size < large
    for other in ({"mature_after": 2}, {"unlabelled": "drop"}, {"max_cost": 30.0}):
        with pytest.raises(ValueError, match=r"it was left as it is\. Give the model and the options"):
            search.monitor(demand, path=path, **options | other)


def test_an_update_that_fails_keeps_no_label(search, tmp_path, monkeypatch):
    path = tmp_path / "monitor.json"
    monitor = search.monitor("f1 >= 0.5", path=path)
    monitor.expect([1, 0, 0], rows=[1, 2, 3])

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        for call in (lambda: monitor.update([0], rows=[1]), lambda: monitor.expect([1], rows=[4])):
            with pytest.raises(OSError, match="No space left"):
                call()
    monitor.update([1], rows=[1])  # no other label is there
    for each in (monitor, search.monitor("f1 >= 0.5", path=path)):
        assert (each.awaited, each.n_samples) == ([1, 2, 3], 0)


PLAIN = {"name": "May", "rows": [1, "b"], "y_pred": [0, 1], "y": [-1, 1], "weight": [0.5, 2], "cost": [None, 3.0]}


def test_a_cohort_is_read_as_it_was_written():
    assert Cohort.read(PLAIN, 2, 1, 1).plain() == PLAIN | {"weight": [0.5, 2.0]}
    assert Cohort.read(PLAIN | {"weight": None}, 2, 1, 1).weight is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("name", ""), ("name", 3), ("rows", [1]), ("rows", [1, 2.5]), ("rows", [True, 2]), ("rows", "ab")),
        *(("y_pred", [0, 2]), ("y_pred", [-1, 0]), ("y", [-2, 0]), ("y", [0.0, 1]), ("y", [True, 0])),
        *(("weight", [1.0]), ("weight", [-1.0, 1.0]), ("weight", [float("nan"), 1.0]), ("weight", [10**400, 1])),
        *(("cost", [None]), ("cost", [-1.0, 0.0]), ("cost", [float("inf"), 0.0]), ("cost", None)),
    ],
)
def test_what_is_no_cohort_is_none(name, value):
    assert Cohort.read(PLAIN | {name: value}, 2, 1, 1) is None
    assert Cohort.read({key: each for key, each in PLAIN.items() if key != name}, 2, 1, 1) is None
    assert Cohort.read([PLAIN], 2, 1, 1) is None
