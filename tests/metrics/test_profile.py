"""Counts and predictions as error profiles."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from builders import predictions, rates, shares
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from csf import ErrorProfile

count = st.integers(0, 10**6) | st.floats(0.0, 1e6, allow_subnormal=False)


@given(case=predictions())
def test_predictions_are_counted_as_in_scikit_learn(case):
    y_true, y_pred, weight = case
    table = confusion_matrix(y_true, y_pred, sample_weight=weight, labels=[0, 1])
    (tn, fp), (fn, tp) = table / table.sum()
    e = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight)
    assert (e.tn, e.fp, e.fn, e.tp) == pytest.approx((tn, fp, fn, tp), abs=1e-12)
    assert (e.pos, e.neg, e.predicted_pos) == pytest.approx((fn + tp, tn + fp, tp + fp), abs=1e-12)
    assert (e.fnr, e.fpr) == pytest.approx((fn / (fn + tp), fp / (tn + fp)), abs=1e-12)
    assert (e.tpr, e.tnr) == pytest.approx((1 - e.fnr, 1 - e.fpr), abs=1e-15)


@given(case=predictions())
def test_counting_is_weighting_with_ones(case):
    y_true, y_pred, _ = case
    ones = np.ones(len(y_true))
    assert ErrorProfile.from_predictions(y_true, y_pred) == ErrorProfile.from_predictions(
        y_true, y_pred, sample_weight=ones
    )


@given(tp=count, fp=count, fn=count, tn=count)
def test_counts_and_weights_become_shares(tp, fp, fn, tn):
    total = tp + fp + fn + tn
    if not 1e-9 * total < tp + fn < (1 - 1e-9) * total:
        return
    e = ErrorProfile.from_counts(tp=tp, fp=fp, fn=fn, tn=tn)
    assert (e.tp, e.fp, e.fn, e.tn) == pytest.approx((tp / total, fp / total, fn / total, tn / total), abs=1e-12)
    assert e.tp + e.fp + e.fn + e.tn == pytest.approx(1.0)


@given(tpr=rates, tnr=rates, pos=shares)
def test_rates_there_and_back(tpr, tnr, pos):
    e = ErrorProfile.from_rates(tpr=tpr, tnr=tnr, pos=pos)
    assert (e.tpr, e.tnr, e.pos) == pytest.approx((tpr, tnr, pos), abs=1e-9)


@given(case=predictions(), copies=st.lists(st.integers(1, 4), min_size=30, max_size=30))
def test_whole_weights_are_repeated_samples(case, copies):
    y_true, y_pred, _ = case
    copies = np.array(copies[: y_true.size])
    weighted = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=copies)
    repeated = ErrorProfile.from_predictions(np.repeat(y_true, copies), np.repeat(y_pred, copies))
    assert (weighted.fn, weighted.fp, weighted.pos) == pytest.approx((repeated.fn, repeated.fp, repeated.pos))


@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [([0, 1], None), ([-1, 1], None), ([False, True], None), ([0.0, 1.0], None), (["no", "yes"], "yes"), ([2, 1], 1)],
)
@given(case=predictions())
def test_any_two_labels_will_do(labels, pos_label, case):
    y_true, y_pred, weight = case
    expected = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight)
    labels = np.array(labels)
    e = ErrorProfile.from_predictions(labels[y_true], labels[y_pred], sample_weight=weight, pos_label=pos_label)
    assert e == expected
    swapped = ErrorProfile.from_predictions(labels[y_true], labels[y_pred], sample_weight=weight, pos_label=labels[0])
    assert (swapped.fn, swapped.fp) == pytest.approx((expected.fp, expected.fn))


@pytest.mark.parametrize("container", [list, tuple, pd.Series, pl.Series, lambda y: pd.Series(y, dtype="category")])
def test_containers(container):
    y_true, y_pred = [0, 0, 1, 1, 0], [0, 1, 1, 0, 0]
    assert ErrorProfile.from_predictions(container(y_true), container(y_pred)) == ErrorProfile(fn=0.2, fp=0.2, pos=0.4)


def test_weights_may_be_lists_and_float32():
    for weight in ([1, 2, 3, 2], np.array([1, 2, 3, 2], dtype=np.float32)):
        e = ErrorProfile.from_predictions([0, 1, 1, 0], [0, 0, 1, 1], sample_weight=weight)
        assert e == ErrorProfile(fn=0.25, fp=0.25, pos=0.625)


@given(pos=shares, fnr=rates, fpr=rates)
def test_objects_are_values_of_plain_floats(pos, fnr, fpr):
    e = ErrorProfile(fn=np.float64(fnr * pos), fp=np.float64(fpr * (1 - pos)), pos=np.float64(pos))
    assert {type(part) for part in (e.fn, e.fp, e.pos)} == {float}
    assert eval(repr(e)) == e
    assert pickle.loads(pickle.dumps(e)) == e
    assert hash(e) == hash(ErrorProfile(fn=e.fn, fp=e.fp, pos=e.pos))
    assert 0 <= e.fn <= e.pos
    assert 0 <= e.fp <= e.neg


def test_rounding_is_clipped_and_zero_has_no_sign():
    e = ErrorProfile(fn=-1e-12, fp=0.7 + 1e-12, pos=0.3)
    assert (e.fn, e.fp) == (0.0, 0.7)
    assert repr(ErrorProfile(fn=-0.0, fp=0.0, pos=0.5)) == "ErrorProfile(fn=0.0, fp=0.0, pos=0.5)"


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("pos", [0.0, 1.0, -0.1, np.nan, np.inf])
def test_both_classes_are_needed(pos):
    with pytest.raises(ValueError, match=r"pos must be a share in \(0, 1\), got .*both classes"):
        ErrorProfile(fn=0.0, fp=0.0, pos=pos)


@pytest.mark.parametrize(("fn", "fp", "name"), [(0.4, 0, "fn"), (0, 0.8, "fp"), (-0.1, 0, "fn"), (np.nan, 0, "fn")])
def test_errors_stay_in_the_box(fn, fp, name):
    with pytest.raises(ValueError, match=rf"{name} must be a share of all samples in \[0, 0.*rates and counts go"):
        ErrorProfile(fn=fn, fp=fp, pos=0.3)


def test_one_class_has_no_profile():
    for counts in ({"tp": 0, "fn": 0, "fp": 1, "tn": 2}, {"tp": 1, "fn": 2, "fp": 0, "tn": 0}):
        with pytest.raises(ValueError, match=r"both classes must be present, got tp \+ fn = \d, fp \+ tn = \d"):
            ErrorProfile.from_counts(**counts)
    with pytest.raises(ValueError, match=r"y has one class only \(1\)"):
        ErrorProfile.from_predictions([1, 1], [0, 1])


@pytest.mark.parametrize("bad", [-1, np.nan, np.inf])
def test_counts_are_finite_and_not_negative(bad):
    with pytest.raises(ValueError, match=r"fp must be a finite count >= 0, got"):
        ErrorProfile.from_counts(tp=1, fp=bad, fn=1, tn=1)


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([], [], "y is empty"),
        ([0, 1], [0, 1, 1], r"y_pred must have shape \(2,\) like y_true, got \(3,\)"),
        ([0, 1], [[0], [1]], r"y_pred must have shape \(2,\) like y_true, got \(2, 1\)"),
        ([0, 1, 2], [0, 1, 1], "Only binary classification is supported"),
        ([0.5, 1.5], [0, 1], "Unknown label type: continuous"),
        ([0, np.nan], [0, 1], "Input y contains NaN"),
        ([0, 1], [0, np.nan], r"y_pred holds nan, y_true only \[0, 1\]"),
        ([0, 1], [0, 2], r"y_pred holds 2, y_true only \[0, 1\]"),
        ([0, 1], ["0", "1"], r"y_pred holds '0', y_true only \[0, 1\]"),
        ([0, 1], [None, 1], r"y_pred holds None, y_true only \[0, 1\]"),
        ([1, 2], [1, 2], "pos_label=None stands for 1 with labels"),
        (["a", "b"], ["a", "b"], "pos_label=None stands for 1 .* Give pos_label, e.g. pos_label='b'"),
        (np.array(["a", None, "b"], dtype=object), ["a", "b", "b"], "missing labels"),
    ],
)
def test_bad_labels(y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        ErrorProfile.from_predictions(y_true, y_pred)


def test_an_unknown_positive_class():
    with pytest.raises(ValueError, match=r"pos_label='c' is not a label of y, which holds \['a', 'b'\]"):
        ErrorProfile.from_predictions(["a", "b"], ["a", "b"], pos_label="c")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1, 1], "one weight for each sample"),
        ([1, -1], "must not be negative, got -1.0"),
        ([1, np.nan], "NaN or infinity"),
        ([1, np.inf], "NaN or infinity"),
        ([0, 0], "zero for every sample"),
        (1.0, "must be an array of 2 weights, got 1.0"),
        ([[1, 1]], "1D array"),
        ([0, 1], "needs both classes"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        ErrorProfile.from_predictions([0, 1], [0, 1], sample_weight=weight)


@pytest.mark.parametrize("share", ["0.1", None, 1j, [0.1]])
@pytest.mark.parametrize("name", ["fn", "fp", "pos"])
def test_shares_are_numbers(name, share):
    with pytest.raises(TypeError, match=f"{name} must be a number, a share of all samples, got"):
        ErrorProfile(**{"fn": 0.1, "fp": 0.1, "pos": 0.3} | {name: share})


@pytest.mark.parametrize("name", ["tp", "fp", "fn", "tn"])
def test_counts_are_numbers(name):
    with pytest.raises(TypeError, match=rf"{name} must be a finite count >= 0, got \[3\]"):
        ErrorProfile.from_counts(**dict.fromkeys(("tp", "fp", "fn", "tn"), 3) | {name: [3]})


@pytest.mark.parametrize("rate", ["0.1", None, 1.5, np.nan])
@pytest.mark.parametrize("name", ["tpr", "tnr", "pos"])
def test_rates_are_numbers_in_the_unit_interval(name, rate):
    with pytest.raises(ValueError, match=rf"{name} must be a number in \[0, 1\], got"):
        ErrorProfile.from_rates(**{"tpr": 0.5, "tnr": 0.5, "pos": 0.3} | {name: rate})
