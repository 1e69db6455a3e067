"""Metrics of the truth from labels that miss positives: exact on expected tables, and metrics like any other."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import jaccard_score

from csf import metric_interval
from csf.metrics import (
    METRICS,
    CostMatrix,
    ErrorProfile,
    FBeta,
    Incomplete,
    LinearFractional,
    MeanCost,
    Tversky,
    get_constraint,
    get_metric,
    named,
)
from csf.metrics.averages import Averaged
from csf.metrics.base import CELLS
from csf.metrics.constraints import share_of
from csf.metrics.incomplete import TrueMetric, TrueRatio
from csf.metrics.registry import aim, constraint_of_truth, get_label_metric, truth_of
from csf.testing import check_metric

RATES = ({"labelled": 0.2}, {"missed": 0.3, "false": 0.05})
counts = st.tuples(*[st.integers(1, 50)] * 4)


def labelled_table(tp, fn, fp, tn, missed, false):
    """Expected table of the labels."""
    return {
        "tp": (1 - missed) * tp + false * fp,
        "fn": (1 - missed) * fn + false * tn,
        "fp": missed * tp + (1 - false) * fp,
        "tn": missed * fn + (1 - false) * tn,
    }


@given(table=counts, missed=st.floats(0.0, 0.6), false=st.floats(0.001, 0.3))
def test_the_expected_table_of_the_labels_has_the_value_of_the_truth(table, missed, false):
    truth = dict(zip(("tp", "fn", "fp", "tn"), table))
    labels = ErrorProfile.from_counts(**labelled_table(*table, missed, false))
    known = [get_metric(name) for name in METRICS] + [*named.RATES.values()] + [MeanCost(5.0, 1.0)]
    for metric in known:
        found = Incomplete(metric, missed=missed, false=false).of(labels)
        assert found == pytest.approx(metric.of(ErrorProfile.from_counts(**truth)), abs=1e-7)


@given(share=st.floats(0.05, 1.0), beta=st.sampled_from([0.5, 1.0, 2.0]), fn=st.floats(0, 1), fp=st.floats(0, 1))
def test_the_true_f_is_another_f_of_the_labels(share, beta, fn, fp):
    pos = 0.9 * share
    fn, fp, other = fn * pos, fp * (1.0 - pos), beta / np.sqrt(share)
    factor = (1.0 + beta**2) / (1.0 + other**2) / share
    expected = factor * FBeta(other).value(fn, fp, pos=pos)
    assert Incomplete(FBeta(beta), labelled=share).value(fn, fp, pos=pos) == pytest.approx(expected)


@pytest.mark.parametrize("rates", RATES, ids=str)
@pytest.mark.parametrize("metric", [*METRICS, Tversky(0.5, 9.0), "f1_macro"], ids=str)
def test_it_is_a_metric(metric, rates):
    check_metric(Incomplete(metric, **rates))


def test_where_a_ratio_stays_one_it_is_kept():
    for name in ("f1", "f2", "precision", "recall", "jaccard", "accuracy"):
        assert isinstance(Incomplete(name, labelled=0.2), TrueRatio)
    # Where all labels are found, estimates of so many false positives make the denominator negative.
    assert not isinstance(Incomplete(Tversky(0.5, 9.0), labelled=0.2), LinearFractional)
    assert type(Incomplete("gmean", labelled=0.2)) is TrueMetric


@pytest.mark.parametrize("name", ["f1", "f2", "precision", "recall", "fpr", "accuracy", "jaccard"])
@pytest.mark.parametrize("rates", RATES, ids=str)
def test_terms_of_samples_sum_to_the_value(name, rates):
    quantity = named.RATES[name] if name in named.RATES else get_metric(name)
    metric, table = Incomplete(quantity, **rates), {"tp": 7.0, "fn": 5.0, "fp": 20.0, "tn": 68.0}
    terms = metric.terms()
    top, bottom = np.array([terms[cell] for cell in CELLS]).T @ [table[cell] for cell in CELLS]
    assert top / bottom == pytest.approx(metric.of(ErrorProfile.from_counts(**table)))


@pytest.mark.parametrize(
    "rates", [*RATES, {"labelled": 0.05}, {"labelled": 0.5}, {"missed": 0.5, "false": 0.3}], ids=str
)
def test_directions_are_looked_at_where_there_can_be_such_labels(rates):
    def own(y_true, y_pred, sample_weight=None):
        return jaccard_score(y_true, y_pred, sample_weight=sample_weight)

    for metric in ("jaccard", Tversky(1.0, 1.0), own):
        found = Incomplete(metric, **rates)
        assert get_metric(found) is found
    with pytest.raises(ValueError, match="is worth"):
        get_metric(Incomplete(named.RATES["fpr"], **rates))


@given(table=counts, other=counts, missed=st.floats(0.0, 0.6), false=st.floats(0.0, 0.3))
def test_labels_are_averaged_by_their_true_positives(table, other, missed, false):
    def stacked(*tables):
        return np.array([[[each["tn"], each["fp"]], [each["fn"], each["tp"]]] for each in tables], dtype=float)

    if missed + false == 0.0:
        return
    truth = stacked(*(dict(zip(("tp", "fn", "fp", "tn"), each)) for each in (table, other)))
    labels = stacked(*(labelled_table(*each, missed, false) for each in (table, other)))
    for average in ("macro", "micro", "weighted"):
        found = Averaged(Incomplete("f1", missed=missed, false=false), average).of_tables(labels)
        assert found == pytest.approx(Averaged(FBeta(), average).of_tables(truth))


def test_the_truth_is_found_inside_averages_and_constraints():
    metric = Incomplete("f1", labelled=0.2)
    constrained = aim(metric, "precision >= 0.5")
    assert truth_of(metric) is truth_of(Averaged(metric, "macro")) is truth_of(constrained) is metric
    assert truth_of("f1") is truth_of(get_metric("f1")) is truth_of(Averaged(FBeta(), "macro")) is None


def test_precision_is_still_a_share_of_samples():
    share = share_of(Incomplete("precision", labelled=0.25))
    assert (share.ones, share.zeros, share.value(0.2)) == (("tp",), ("fp",), pytest.approx(0.8))
    assert share_of(Incomplete("f1", labelled=0.25)) is None


def test_ranges_take_the_middle_and_reach_over_both_ends():
    metric = Incomplete("f1", labelled=(0.1, 0.4))
    assert metric.name == "true f1 (10 % to 40 % of the positives labelled)"
    assert 1.0 - metric.missed == pytest.approx(0.2)
    assert [1.0 - each.missed for each in metric.extremes] == pytest.approx([0.1, 0.4])
    assert Incomplete("f1", labelled=(0.2, 0.2)) == Incomplete("f1", labelled=0.2)
    assert metric == Incomplete("f1", labelled=[0.1, 0.4]) == Incomplete("f1", labelled=np.array([0.1, 0.4]))
    y, pred = [1] * 10 + [0] * 190, [1] * 8 + [0] * 2 + [1] * 12 + [0] * 178
    low, high = metric_interval(y, pred, metric)
    ends = [metric_interval(y, pred, Incomplete("f1", labelled=share)) for share in (0.1, 0.4)]
    assert (low, high) == (ends[1][0], ends[0][1])
    label = Averaged(metric, "macro")
    both = metric_interval(np.column_stack([y, y]), np.column_stack([pred, pred]), label)
    assert (
        both[0]
        < metric_interval(
            np.column_stack([y, y]), np.column_stack([pred, pred]), Averaged(Incomplete("f1", labelled=0.2), "macro")
        )[0]
    )


def test_constraints_are_of_the_truth_at_both_ends():
    constraint = constraint_of_truth(Incomplete("f1", labelled=0.2), get_constraint("precision >= 0.8, recall >= 0.1"))
    assert [part.name for part in constraint.parts] == [
        "true precision (20 % of the positives labelled)",
        "true recall (20 % of the positives labelled)",
    ]
    # One in five labels among what is predicted is a precision of 1.
    assert constraint.violation(0.01, 0.04, pos=0.02) == 0.0
    assert constraint.violation(0.01, 0.06, pos=0.02) > 0.0
    both = aim(Incomplete("recall", labelled=(0.2, 0.4)), "precision >= 0.8").constraint
    assert [1.0 - part.quantity.missed for part in both.parts] == pytest.approx([0.4, 0.2])
    assert constraint_of_truth(Incomplete("f1", labelled=(0.2, 0.4)), both) == both
    assert constraint_of_truth("f1", both) is both
    with pytest.raises(ValueError, match="of the truth is no ratio of what labels show"):
        aim(Incomplete("f1", missed=0.5, false=0.1), "jaccard >= 0.5")


def test_they_are_objects_like_other_metrics():
    metric = Incomplete("f1", labelled=0.2)
    assert pickle.loads(pickle.dumps(metric)) == metric == get_metric(metric)
    assert hash(metric) == hash(Incomplete(FBeta(), labelled=0.2))
    assert get_label_metric(Averaged(metric, "macro")).name.startswith("true f1")
    assert Incomplete("specificity", labelled=0.2).trivial_answer(pos=0.1) == "negative"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "what labels miss is not said"),
        ({"labelled": 1.2}, r"labelled must be a number in \(0, 1\], got 1.2"),
        ({"labelled": (0.3, 0.2)}, "or the smallest and largest one, got"),
        ({"labelled": (0.1, 0.2, 0.3)}, "or the smallest and largest one, got"),
        ({"labelled": 0.2, "missed": 0.1}, "give it alone"),
        ({"missed": 0.6, "false": 0.4}, "must sum to less than 1"),
        ({"missed": -0.1}, "missed must be >= 0"),
    ],
)
def test_rates_are_checked(given, message):
    with pytest.raises(ValueError, match=message):
        Incomplete("f1", **given)


@pytest.mark.parametrize("labelled", ["0.2", [[0.2, 0.4]], np.array([[0.2, 0.4]])], ids=str)
def test_shares_are_numbers(labelled):
    with pytest.raises(TypeError, match=r"labelled must be a number in \(0, 1\]"):
        Incomplete("f1", labelled=labelled)


def test_other_metrics_and_contradictions_are_refused():
    for metric in (Incomplete("f1", labelled=0.5), aim("f1", "recall >= 0.5"), CostMatrix([[0, 1], [5, 0]])):
        with pytest.raises(ValueError, match="takes a metric of two classes without a constraint"):
            Incomplete(metric, labelled=0.2)
    with pytest.raises(ValueError, match="has costs for each row"):
        Incomplete("savings", labelled=0.2)
    with pytest.raises(ValueError, match="30 % of the samples are labelled positive, and there can only be"):
        metric_interval([1] * 3 + [0] * 7, [1] * 5 + [0] * 5, Incomplete("f1", labelled=0.2))
    with pytest.raises(ValueError, match="and less than 20 % if that is so"):
        Incomplete("gmean", labelled=0.2).score([1] * 3 + [0] * 7, [1] * 5 + [0] * 5)
