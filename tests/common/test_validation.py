"""Checks of single arguments: the message names the argument, whatever it was given."""

import re
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from csf._common.messages import shown
from csf._common.validation import (
    check_binary_target,
    check_bool,
    check_labels,
    check_number,
    check_samples,
    check_scores,
    check_weights,
    floats,
    generator,
)
from csf.data.labels import read_codes
from csf.evaluate import metric_interval
from csf.metrics import RowCosts
from csf.metrics.profile import ErrorProfile


@pytest.mark.parametrize("value", [0, 1.0, None, "True", ()])
def test_switches_are_booleans(value):
    with pytest.raises(TypeError, match=f"average must be True or False, got {re.escape(repr(value))}"):
        check_bool(value, "average")


def test_booleans_of_numpy_are_taken():
    assert check_bool(np.False_, "average") is False
    assert check_bool(True, "average") is True


@pytest.mark.parametrize("value", ["1", None, (), True, np.True_, 1j, len])
def test_numbers_are_numbers(value):
    with pytest.raises(TypeError, match=f"tol must be a number, >= 0 and finite, got {re.escape(shown(value))}"):
        check_number(value, "tol")


@pytest.mark.parametrize("value", [-1, np.nan, np.inf, -np.inf])
def test_numbers_are_finite_and_not_negative(value):
    with pytest.raises(ValueError, match="tol must be >= 0 and finite, got"):
        check_number(value, "tol")


def test_positive_numbers_are_not_zero():
    assert check_number(0, "tol") == 0
    with pytest.raises(ValueError, match="tol must be positive and finite, got 0"):
        check_number(0, "tol", positive=True)


@pytest.mark.parametrize("values", [["a", "b"], [None, {}], [[1.0], [1.0, 2.0]], np.ones(2, dtype=complex)])
def test_arrays_hold_real_numbers(values):
    with pytest.raises((TypeError, ValueError), match=r"points must be an array of (real )?numbers"):
        floats(values, "points")


def test_scores_and_weights_that_are_no_numbers_are_named():
    with pytest.raises(ValueError, match="y_score must be an array of numbers"):
        check_scores(["a", "b"], 2)
    with pytest.raises(ValueError, match="sample_weight must be an array of numbers"):
        check_weights("balanced", 2)
    with pytest.raises(TypeError, match="sample_weight must be an array of real numbers, got complex ones"):
        check_weights(np.ones(2, dtype=complex), 2)


MASKED = np.ma.array([0, 1, 1], mask=[0, 0, 1])


@pytest.mark.parametrize(
    "read",
    [
        lambda: check_scores(MASKED, 3),
        lambda: check_weights(MASKED, 3),
        lambda: check_labels(MASKED),
        lambda: check_samples(np.ones((3, 1)), MASKED),
        lambda: check_samples(MASKED[:, None], [0, 1, 1]),
        lambda: ErrorProfile.from_predictions([0, 1, 1], MASKED),
        lambda: ErrorProfile.from_classes([0, 1, 1], MASKED, null_class=0),
        lambda: metric_interval([0, 1, 1], MASKED),
        lambda: RowCosts(fn=1.0, fp=1.0).score([0, 1, 1], MASKED),
        lambda: read_codes(np.ma.array([[0, 1], [1, 0]], mask=[[0, 0], [0, 1]]), [0, 1]),
    ],
)
def test_what_is_below_a_mask_is_not_known(read):
    with pytest.raises(ValueError, match=r"(y|X|y_pred|pred|y_score|sample_weight) is masked in 1 places; fill these"):
        read()


@pytest.mark.parametrize("seed", ["0", 0.5, {}, -1])
def test_seeds_are_named(seed):
    with pytest.raises(TypeError, match="random_state must be an int >= 0, a Generator or None, got"):
        generator(seed)


@pytest.mark.parametrize(
    ("given", "kind"),
    [([0, 1], "i"), ([True, False], "b"), ([1.0, 0.0], "f"), ([np.int8(1), 0], "i"), ([np.True_, np.False_], "b")],
)
def test_labels_of_objects_are_read_as_what_they_are(given, kind):
    """As a database hands them over, or a column whose missing entries were dropped."""
    labels, classes = check_labels(np.array(given * 20, dtype=object))
    assert labels.dtype.kind == kind
    assert (labels.tolist(), classes.tolist()) == (given * 20, sorted(given))


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "Float64", "object", "category", "bool"])
def test_labels_of_pandas_are_read(dtype):
    pd = pytest.importorskip("pandas")
    given = pd.Series([1, 0, 0, 1]).astype("bool" if dtype == "boolean" else "int").astype(dtype)
    assert check_labels(given)[1].tolist() == [0, 1]
    missing = pd.Series([1, 0, None, 1], dtype="object" if dtype in ("category", "bool") else dtype)
    with pytest.raises(ValueError, match=r"missing|NaN"):
        check_labels(missing)


@pytest.mark.parametrize("kind", ["Boolean", "Int64", "Object"])
def test_labels_of_polars_are_read(kind):
    pl = pytest.importorskip("polars")
    assert check_labels(pl.Series([True, False] * 9, dtype=getattr(pl, kind), strict=False))[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    "given",
    [
        [date(2020, 1, 1), date(2020, 1, 2)],
        [date(2020, 1, 1), 0],
        [Decimal(0), Decimal(1)],
        [2**70, 1],
        [(1, 2), 0],
        [1, None],
        ["yes", 1],
    ],
)
def test_other_labels_are_refused_in_few_words(given):
    y = np.empty(600, dtype=object)
    y[:] = given * 300
    with pytest.raises(ValueError, match=r"label|multi-label") as refused:
        check_labels(y)
    assert len(str(refused.value)) < 300


def test_labels_of_several_kinds_have_no_order():
    with pytest.raises(ValueError, match="y mixes texts with labels of another kind"):
        check_labels(np.array(["a", 1, "a", 1], dtype=object))


@pytest.mark.parametrize("pos_label", [(), [0, 1], np.array([1.0])])
def test_the_positive_label_is_one_label(pos_label):
    with pytest.raises(ValueError, match="pos_label must be one label, got"):
        check_binary_target([0, 1, 1], pos_label)
