from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from csf.metrics import RowCosts
from csf.search.decide import GivenProbabilities, GivenScores
from csf.thresholds.capacity import predict_within
from csf.thresholds.row_costs import RowRule, Tuned
from csf.thresholds.rule import ThresholdRule

LABELS = {"known": np.array([0, 1]), "names": np.array([0, 1]), "null": 0}
# Tenths: many rows are equal.
tenths = st.integers(0, 10).map(lambda x: x / 10)
amounts = st.sampled_from([0.0, 0.5, 1.0, 2.0, 8.0])


class _First(GivenScores):
    """Scores that are the first of several columns."""

    def decision_function(self, X):
        return X[:, 0].toarray().ravel() if sparse.issparse(X) else X[:, 0]


def rule_of_costs(**given):
    told = {"method": "predict_proba", "threshold": 0.0, "row_costs": RowCosts(), "decision": Tuned(), "alone": 0.0}
    return RowRule(estimator=GivenProbabilities([0, 1]), **LABELS, **told, given=given)


def rule_of_scores(threshold):
    return ThresholdRule(_First([0, 1]), **LABELS, method="decision_function", threshold=threshold)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(tenths, amounts, amounts), min_size=1, max_size=8), st.integers(0, 9))
def test_no_other_choice_of_so_many_rows_gains_more(rows, k):
    p, fn, fp = np.array(rows).T
    rule = rule_of_costs(fn_cost=fn, fp_cost=fp)
    found = predict_within(rule, np.column_stack([1 - p, p]), k)
    gains = [each * miss - (1 - each) * alarm for each, miss, alarm in rows]
    best = max(sum(chosen) for size in range(min(k, len(rows)) + 1) for chosen in combinations(gains, size))
    assert sum(gain for gain, acted in zip(gains, found) if acted) == pytest.approx(best, abs=1e-12)
    assert found.sum() <= k


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(tenths, st.integers(0, 3)), min_size=1, max_size=12), tenths, st.integers(0, 13), st.randoms()
)
def test_the_largest_scores_in_any_order(rows, threshold, k, random):
    def acted(order):
        # The second column is a feature that scores know nothing of.
        X = np.array([rows[at] for at in order], dtype=float)
        rule = rule_of_scores(threshold)
        found = predict_within(rule, X, k)
        same = predict_within(rule, sparse.csr_array(X), k)
        np.testing.assert_array_equal(found, same)
        return sorted(map(tuple, X[found == 1].tolist()))

    places = list(range(len(rows)))
    chosen = acted(places)
    passing = sorted((score for score, _ in rows if score >= threshold), reverse=True)
    assert sorted((score for score, _ in chosen), reverse=True) == passing[:k]
    random.shuffle(places)
    assert acted(places) == chosen


def test_numbers_and_shares_of_equal_rows():
    rule, X = rule_of_scores(0.0), np.zeros((6, 1))
    assert predict_within(rule, X, 2).sum() == 2
    assert predict_within(rule, X, 0.5).sum() == 3
    assert predict_within(rule, X, 0.34).sum() == 2
    assert predict_within(rule, X, np.int64(4)).sum() == 4
    # 0.29 * 100 is a little less than 29 in binary.
    assert predict_within(rule, np.zeros((100, 1)), 0.29).sum() == 29


@pytest.mark.parametrize("at_most", [True, "3", None, [1]])
def test_what_is_no_number(at_most):
    with pytest.raises(TypeError, match="at_most must be a number of rows or a share of them in"):
        predict_within(rule_of_scores(0.0), np.zeros((3, 1)), at_most)


@pytest.mark.parametrize("at_most", [-1, 0.0, 1.0, 1.5, -0.5, np.nan, np.inf])
def test_what_is_no_capacity(at_most):
    with pytest.raises(ValueError, match="at_most must be"):
        predict_within(rule_of_scores(0.0), np.zeros((3, 1)), at_most)
