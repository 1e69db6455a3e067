"""Audits: which rows are drawn, what their labels say of all rows, and how many labels show a level."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression

import csf
from csf import CostSearch, audit, labels_needed
from csf.evaluate.audits import _at_equal_steps, _chances
from csf.metrics import RowCosts
from csf.metrics.registry import get_quantity

QUICK = {"n_trials": 1, "param_grid": None, "cv": 3, "random_state": 0}


def population(seed, n=5000):
    """Truth, probabilities that are right, and predictions."""
    rng = np.random.default_rng(seed)
    proba = expit(rng.normal(-4.0, 2.0, n))
    return rng.random(n) < proba, proba, proba >= 0.4


# ---------------------------------------------------------------- the plan


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 60))
def test_chances_sum_to_the_number_of_labels_and_are_in_proportion(seed, n_rows, n_labels):
    rng = np.random.default_rng(seed)
    roots = rng.exponential(size=n_rows) ** 4
    chance = _chances(roots, roots**2 + 1.0, min(n_labels, n_rows))
    assert chance.sum() == pytest.approx(min(n_labels, n_rows))
    assert ((chance > 0.0) & (chance <= 1.0)).all()
    wanted = 0.9 * roots / roots.sum() + 0.1 / n_rows
    open_ = chance < 1.0
    np.testing.assert_allclose(chance[open_] * wanted[open_].sum(), wanted[open_] * chance[open_].sum())
    assert wanted[~open_].min(initial=np.inf) >= wanted[open_].max(initial=0.0)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_each_row_is_drawn_as_often_as_its_chance_says(seed):
    rng = np.random.default_rng(seed)
    chance = _chances(rng.exponential(size=30), np.ones(30), 7)
    starts = (np.arange(500) + 0.5) / 500
    drawn = [_at_equal_steps(chance, rng.permutation(30), start) for start in starts]
    assert {rows.size for rows in drawn} == {7}
    np.testing.assert_allclose(np.bincount(np.concatenate(drawn), minlength=30) / 500, chance, atol=0.09)


def test_rows_whose_label_changes_nothing_are_left_out():
    _, proba, found = population(0)
    plan = audit(proba, found, 100, "precision")
    assert found[plan.rows].all()
    assert plan.weight.sum() == pytest.approx(found.sum(), rel=0.05)
    assert not audit(proba, found, 100, "recall").rows.size < 100


@pytest.mark.parametrize("metric", ["f1", "recall", "gmean", "accuracy"])
def test_labels_of_all_rows_leave_no_doubt(metric):
    y, proba, found = population(1, 400)
    plan = audit(proba, found, 400, metric)
    value = get_quantity(metric).score(y, found)
    np.testing.assert_allclose(plan.interval(y[plan.rows]), [value] * 3, atol=1e-6)
    assert plan.expected_width == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_intervals_hold_and_errors_are_below_those_of_random_rows(metric):
    y, proba, found = population(2)
    value, errors, blind, held, widths = get_quantity(metric).score(y, found), [], [], [], []
    for seed in range(60):
        plan = audit(proba, found, 150, metric, random_state=seed)
        estimate, low, high = plan.interval(y[plan.rows])
        errors.append(estimate - value)
        held.append(low <= value <= high)
        widths.append(high - low)
        at = np.random.default_rng(seed).choice(y.size, 150, replace=False)
        blind.append(get_quantity(metric).score(y[at], found[at]) - value)
    assert np.mean(held) >= 0.8
    assert np.std(errors) < 0.7 * np.std(blind)
    assert np.mean(widths) == pytest.approx(plan.expected_width, rel=0.3)


def test_scores_that_are_no_probabilities_are_log_odds_and_names_of_labels_do_not_matter():
    y, proba, found = population(3)
    plan = audit(proba, found, 50)
    same = audit(np.log(proba / (1.0 - proba)), np.where(found, "yes", "no"), 50, pos_label="yes")
    np.testing.assert_array_equal(plan.rows, same.rows)
    np.testing.assert_allclose(
        plan.interval(y[plan.rows]), same.interval(np.where(y, "yes", "no")[plan.rows]), atol=1e-9
    )
    columns = np.column_stack([1.0 - proba, proba])
    for score, classes, names, positive in (
        (columns, None, [0, 1], 1),
        (columns[:, ::-1], ["bad", "good"], ["good", "bad"], "bad"),
        (columns, ["good", "bad"], ["good", "bad"], "bad"),
        (pd.DataFrame(columns, columns=["good", "bad"]), None, ["good", "bad"], "bad"),
    ):
        of_columns = audit(score, np.array(names)[found.astype(int)], 50, classes=classes, pos_label=positive)
        np.testing.assert_array_equal(plan.rows, of_columns.rows)


def test_a_search_of_two_or_more_classes_plans_its_own_audit():
    X, y = make_classification(3000, 8, n_informative=6, n_classes=3, weights=[0.7, 0.2], random_state=0)
    for labels, metric in ((y == 2, "f1"), (np.array(["a", "b", "c"])[y], "f1_macro")):
        search = CostSearch(LogisticRegression(), metric, **QUICK).fit(X[:1000], labels[:1000])
        plan = search.audit(X[1000:], labels=300)
        value, low, high = plan.interval(labels[1000:][plan.rows])
        assert low <= search.score(X[1000:], labels[1000:]) <= high
        assert low < value < high < low + 0.25


def test_what_cannot_be_audited_is_refused_with_a_way_out():
    X, Y = make_multilabel_classification(300, n_classes=2, random_state=0)
    several = CostSearch(LogisticRegression(), "f1_macro", **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match=r"Plan each label by itself: csf\.audit"):
        several.audit(X)
    y = Y[:, 0]
    costly = CostSearch(LogisticRegression(), RowCosts(fn=2.0, fp=1.0), **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="give a metric of counts"):
        costly.audit(X)
    assert costly.audit(X, 50, "recall").rows.size == 50
    proba, found = np.full(10, 0.5), np.arange(10) < 4
    with pytest.raises(ValueError, match="name the positive one by pos_label="):
        audit(proba, np.where(found, "yes", "no"))
    with pytest.raises(ValueError, match="a finite number for each of 10 predictions, got 9"):
        audit(proba[:9], found)
    with pytest.raises(ValueError, match="a column for each class"):
        audit(np.ones((10, 3)), found)
    with pytest.raises(ValueError, match="one label for each of 4 samples"):
        audit(proba, found, 5).interval([1, 0, 1, 0])


# ---------------------------------------------------------------- how many labels


@given(st.floats(0.3, 0.9), st.floats(0.5, 0.95), st.floats(0.4, 0.8))
@settings(max_examples=10, deadline=None)
def test_the_number_of_labels_is_the_first_that_shows_the_level_often_enough(level, confidence, part):
    rate = level + part * (1.0 - level)
    n = labels_needed(f"precision >= {level}", confidence, expected=rate)

    def chance(n):
        shown = binom.sf(np.arange(n + 1) - 1, n, level) <= 1.0 - confidence
        return binom.pmf(np.arange(n + 1), n, rate)[shown].sum()

    assert chance(n) >= 0.8 - 1e-9
    assert all(chance(fewer) < 0.8 + 1e-9 for fewer in range(max(n - 15, 1), n))


def test_without_an_error_the_fewest_labels_are_those_of_the_power():
    assert labels_needed("precision >= 0.9") == 22  # 0.9**22 < 0.1 < 0.9**21
    assert labels_needed("fpr <= 0.1") == labels_needed("specificity >= 0.9") == 22
    assert labels_needed("f1 >= 0.8", 0.95) == labels_needed("jaccard >= 0.6666666667", 0.95)
    assert labels_needed("precision >= 0.9", expected=0.95) > labels_needed("precision >= 0.9", expected=0.98) > 22


@pytest.mark.parametrize(
    ("demand", "options", "message"),
    [
        ("balanced_accuracy >= 0.7", {}, "one level of a share"),
        ("recall >= 0.8, precision >= 0.5", {}, "one level of a share"),
        ("precision >= 0.9", {"expected": 0.85}, "no number of labels shows it"),
        ("fpr <= 0.1", {"expected": 0.2}, "no number of labels shows it"),
        ("precision >= 0.9", {"expected": 0.90001}, "too close"),
    ],
)
def test_levels_that_no_number_of_labels_shows_are_refused(demand, options, message):
    with pytest.raises(ValueError, match=message):
        csf.labels_needed(demand, **options)
