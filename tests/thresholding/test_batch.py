"""Limits on some answers: stable, independent of the order of rows, and best where one answer is limited."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.thresholding.batch import batch_within, best_rows, check_capacity, places_limited

NAMES = ["a", "b", "c"]


def scores_of(seed, n_rows):
    return np.random.default_rng(seed).normal(size=(n_rows, 3))


@given(seed=st.integers(0, 500), limit=st.integers(0, 6))
def test_no_other_answers_within_one_limit_score_more(seed, limit):
    scores = scores_of(seed, 6)
    codes = batch_within(scores, {"b": limit}, NAMES, scores)
    every = np.array(list(itertools.product(range(3), repeat=6)))
    allowed = every[(every == 1).sum(axis=1) <= limit]
    best = scores[np.arange(6), allowed].sum(axis=1).max()
    assert (codes == 1).sum() <= limit
    assert scores[np.arange(6), codes].sum() == pytest.approx(best)


@given(seed=st.integers(0, 500), b=st.integers(0, 4), c=st.integers(0, 4))
def test_several_limits_leave_nothing_to_exchange(seed, b, c):
    """No row would score more with an answer that has room, or in the place of a row that loses less by leaving."""
    scores = scores_of(seed, 12)
    limits = {1: b, 2: c}
    codes = batch_within(scores, {"b": b, "c": c}, NAMES, scores)
    assert all((codes == at).sum() <= limit for at, limit in limits.items())
    for row in range(12):
        for at in range(3):
            full = at in limits and (codes == at).sum() >= limits[at]
            assert full or scores[row, at] <= scores[row, codes[row]] + 1e-12


@given(seed=st.integers(0, 200))
def test_the_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, size=(20, 3)).astype(float)
    X, order = np.arange(20.0)[:, None], rng.permutation(20)
    codes = batch_within(scores, {"b": 3, "c": 2}, NAMES, X)
    assert (batch_within(scores[order], {"b": 3, "c": 2}, NAMES, X[order]) == codes[order]).all()


def test_limits_that_do_not_bind_change_nothing():
    scores = scores_of(0, 40)
    for limits in ({"b": 40}, {"a": 40, "b": 40, "c": 40}, {"c": 0.999}):
        assert (batch_within(scores, limits, NAMES, scores) == scores.argmax(axis=1)).all()


def test_shares_are_of_the_batch_and_names_may_be_texts():
    scores = np.tile([0.0, 1.0, 0.5], (50, 1))
    codes = batch_within(scores, {"1": 0.1, 2: 7}, [0, 1, 2], np.arange(50.0)[:, None])
    assert np.bincount(codes).tolist() == [38, 5, 7]


@pytest.mark.parametrize(
    ("at_most", "error", "message"),
    [
        (20, TypeError, r"which class it limits, of \['a', 'b', 'c'\]: a dict such as \{'c': 50\}, got 20"),
        ({"d": 3}, ValueError, r"at_most: there is no 'd'; accepted: \['a', 'b', 'c'\]"),
        ({"a": -1}, ValueError, "number of rows >= 0"),
        ({"a": 1.5}, ValueError, "share of the rows in"),
        ({"a": True}, TypeError, "got True"),
        ({"a": 1, "b": 1, "c": 1}, ValueError, "limits all classes to 3 of 10 rows; leave a class without a limit"),
    ],
)
def test_limits_that_are_refused(at_most, error, message):
    with pytest.raises(error, match=message):
        batch_within(scores_of(0, 10), at_most, NAMES, scores_of(0, 10))


def test_capacities_are_whole_numbers_of_rows():
    assert [check_capacity(each, 100) for each in (0.29, 7, np.int64(200), 0)] == [29, 7, 100, 0]
    assert places_limited({"c": 1, "a": 2}, NAMES) == {2: 1, 0: 2}


def test_of_equal_rows_some_are_taken_whatever_their_order():
    X, decided = np.array([[3.0], [1.0], [2.0], [9.0]]), np.array([True, True, True, False])
    kept = best_rows(decided, np.ones(4), 2, X)
    assert kept.sum() == 2
    assert not kept[3]
    order = np.array([2, 3, 0, 1])
    assert (best_rows(decided[order], np.ones(4), 2, X[order]) == kept[order]).all()
