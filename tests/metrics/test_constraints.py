"""Rates, constraints on them, and metrics under one."""

import numpy as np
import pytest
from builders import predictions, rates, shares
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_score, recall_score

from csf import ErrorProfile
from csf.metrics import (
    Constrained,
    Constraint,
    FalseNegativeRate,
    FalsePositiveRate,
    FBeta,
    GMean,
    Precision,
    PredictedPositiveRate,
    Recall,
    Specificity,
    get_constraint,
)
from csf.metrics.constraints import QUANTITIES


@given(case=predictions())
def test_they_are_those_of_scikit_learn(case):
    y_true, y_pred, weight = case
    options = {"sample_weight": weight, "zero_division": 0.0}
    expected = {
        Precision(): precision_score(y_true, y_pred, **options),
        Recall(): recall_score(y_true, y_pred, **options),
        Specificity(): recall_score(y_true, y_pred, pos_label=0, **options),
        FalsePositiveRate(): 1 - recall_score(y_true, y_pred, pos_label=0, **options),
        FalseNegativeRate(): 1 - recall_score(y_true, y_pred, **options),
    }
    found = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight).predicted_pos
    expected[PredictedPositiveRate()] = found
    for metric, value in expected.items():
        assert metric.score(y_true, y_pred, sample_weight=weight) == pytest.approx(value, abs=1e-12)


level = st.floats(0.0, 1.0).map(lambda x: round(x, 6))
sides = [(name, side) for name, (_, only) in QUANTITIES.items() for side in ([only] if only else [">=", "<="])]


@pytest.mark.parametrize(("name", "side"), sides)
@given(level=level, space=st.sampled_from(["", " ", "  "]))
def test_texts_are_read(name, side, level, space):
    constraint = get_constraint(f"{space}{name}{space}{side}{space}{level!r}{space}")
    assert isinstance(constraint.quantity, QUANTITIES[name][0])
    assert (constraint.side, constraint.level) == (side, level)
    assert get_constraint(str(constraint)).level == pytest.approx(level, rel=1e-5)
    assert get_constraint(constraint) is constraint
    assert get_constraint(None) is None


@pytest.mark.parametrize(("name", "side"), sides)
@given(pos=shares, fnr=rates, fpr=rates, level=level)
def test_violation_is_what_is_missing(name, side, pos, fnr, fpr, level):
    constraint = get_constraint(f"{name} {side} {level!r}")
    fn, fp = fnr * pos, fpr * (1 - pos)
    rate = constraint.quantity.value(fn, fp, pos=pos)
    missing = level - rate if side == ">=" else rate - level
    violation = constraint.violation(fn, fp, pos=pos)
    assert violation == (missing if missing > 1e-12 else 0.0)
    assert constraint.violation(np.array([fn, fn]), fp, pos=pos).tolist() == [violation] * 2


@pytest.mark.parametrize(("name", "side"), sides)
@given(pos=shares, fnr=rates, fpr=rates, level=level)
def test_half_plane_holds_what_satisfies(name, side, pos, fnr, fpr, level):
    constraint = get_constraint(f"{name} {side} {level!r}")
    fn, fp = fnr * pos, fpr * (1 - pos)
    (n_fn, n_fp), rhs = constraint.half_plane(pos=pos)
    if constraint.quantity.denominator(fn, fp, pos=pos) <= 0:
        return
    excess = n_fn * fn + n_fp * fp - rhs
    violation = constraint.violation(fn, fp, pos=pos)
    if violation == 0:
        assert excess <= 1e-12
    elif violation > 1e-6 and constraint.quantity.denominator(fn, fp, pos=pos) > 1e-5:
        assert excess > 0


def test_rounding_is_no_violation():
    for percent in range(1, 100):
        constraint = get_constraint(f"recall >= {percent / 100!r}")
        assert constraint.violation((1 - percent / 100) * 0.3, 0.0, pos=0.3) == 0.0


@pytest.mark.parametrize(
    "text", ["precision", "gmean >= 0.5", "Precision >= 0.8", "", "0.8 <= recall", ">= 0.5", "recall >= 0.1 >= 0"]
)
def test_unreadable_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"cannot read constraint .*; accepted: '<rate> <side> <level>' with prec"):
        get_constraint(text)


@pytest.mark.parametrize(
    "given",
    ["precision ≥ 0.8", "precision>=80%", " precision >= 80 % ", ("precision", ">=", 0.8), ("precision", "≥", "80%")],
)
def test_other_spellings_are_read(given):
    assert get_constraint(given) == Constraint(Precision(), ">=", 0.8)


@pytest.mark.parametrize(
    ("text", "side", "offer"),
    [("precision > 0.8", ">", ">="), ("fpr < 1%", "<", "<="), ("recall => 0.5", "=>", ">="), ("fpr = 0", "=", "<=")],
)
def test_strict_and_equal_sides_are_refused_with_the_one_to_write(text, side, offer):
    with pytest.raises(ValueError, match=rf"the side must be >= or <=, got '{side}'; write {offer}, which takes"):
        get_constraint(text)


@pytest.mark.parametrize(
    ("text", "meant"), [("Precision >= 0.8", "'precision'"), ("recal >= 0.8", "'recall'"), ("recall >= 80", "80%")]
)
def test_what_was_meant_is_said(text, meant):
    with pytest.raises(ValueError, match=rf"\. Did you mean {meant}\?$"):
        get_constraint(text)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("precision", ">=", 0.8), TypeError, "quantity must be a rate such as"),
        ((Precision(), ">", 0.8), ValueError, r"side must be one of \('>=', '<='\), got '>'"),
        ((Precision(), ">=", 80), ValueError, r"level must be a number in \[0, 1\], got 80"),
        ((Precision(), ">=", "0.8"), TypeError, r"level must be a number in \[0, 1\], got '0.8'"),
    ],
)
def test_a_constraint_made_by_hand_is_checked(arguments, error, text):
    """Any side but >= used to count as <=."""
    with pytest.raises(error, match=text):
        Constraint(*arguments)


def test_numbers_must_be_numbers():
    with pytest.raises(ValueError, match=r"constraint 'recall >= 1e' needs a number in \[0, 1\], got '1e'"):
        get_constraint("recall >= 1e")


@pytest.mark.parametrize(("text", "side"), [("precision <= 0.8", ">="), ("fpr >= 0.1", "<="), ("recall <= 0.5", ">=")])
def test_sides_that_make_no_sense_are_refused(text, side):
    with pytest.raises(ValueError, match=rf"can only be asked to be {side} a level"):
        get_constraint(text)


@pytest.mark.parametrize("text", ["recall >= 1.01", "fpr <= -0.1", "precision >= 80"])
def test_levels_are_rates(text):
    with pytest.raises(ValueError, match=r"needs a level in \[0, 1\], got"):
        get_constraint(text)


@pytest.mark.parametrize("constraint", [0.8, Precision(), ("precision", 0.8), ["precision", ">=", 0.8]])
def test_other_objects_are_refused(constraint):
    with pytest.raises(TypeError, match=r"constraint must be a text such as 'precision >= 0\.8' or a Constraint, got"):
        get_constraint(constraint)


@given(pos=shares, fnr=rates, fpr=rates)
def test_a_constrained_metric_is_the_metric_with_generic_costs(pos, fnr, fpr):
    constraint = Constraint(Precision(), ">=", 0.8)
    for metric in (Recall(), FBeta(), GMean()):
        both = Constrained(metric, constraint)
        assert both.value(fnr * pos, fpr * (1 - pos), pos=pos) == metric.value(fnr * pos, fpr * (1 - pos), pos=pos)
        assert both.range(pos) == metric.range(pos)
        assert both.cost_weights(0.3, pos=pos) == pytest.approx((0.7 / pos, 0.3 / (1 - pos)))
        assert both.name == f"{metric.name}, precision >= 0.8"


def test_parts_of_a_constrained_metric_are_checked():
    with pytest.raises(TypeError, match=r"metric must be a csf\.metrics\.Metric object, got 'f1'"):
        Constrained("f1", get_constraint("fpr <= 0.1"))
    with pytest.raises(TypeError, match=r"constraint must be a csf\.metrics\.Constraint object, got 'fpr <= 0.1'"):
        Constrained(FBeta(), "fpr <= 0.1")
