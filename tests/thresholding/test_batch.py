"""Limits on some answers: the best ones within them, whatever the order of the rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from csf.thresholding.batch import (
    batch_within,
    best_answers,
    best_rows,
    check_capacity,
    limits_of,
    places_limited,
    reviewed_within,
    shared_answers,
)

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


@given(seed=st.integers(0, 500), b=st.integers(0, 6), c=st.integers(0, 6), whole=st.booleans())
def test_no_other_answers_within_several_limits_gain_more(seed, b, c, whole):
    """Brute force over all answers; whole numbers have many ties."""
    gains = scores_of(seed, 6)
    gains = np.round(gains) if whole else gains
    codes = best_answers(gains, {1: b, 2: c}, scores_of(seed + 1, 6))
    every = np.array(list(itertools.product(range(3), repeat=6)))
    allowed = every[((every == 1).sum(axis=1) <= b) & ((every == 2).sum(axis=1) <= c)]
    best = gains[np.arange(6), allowed].sum(axis=1).max()
    assert (codes == 1).sum() <= b
    assert (codes == 2).sum() <= c
    assert gains[np.arange(6), codes].sum() == pytest.approx(best)


def least_bound(gains, limits, weight):
    """Compute the dual bound of the linear program of all rows at once."""
    n_rows, n_answers = gains.shape
    solution = linprog(
        -(gains * weight[:, None]).ravel(),
        A_ub=np.concatenate([np.kron(weight, np.eye(n_answers)[at])[None] for at in limits]),
        b_ub=list(limits.values()),
        A_eq=sparse.kron(sparse.eye(n_rows), np.ones((1, n_answers))),
        b_eq=np.ones(n_rows),
        bounds=(0.0, 1.0),
    )
    return -solution.fun


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("values", [4, None])
def test_many_rows_get_the_best_answers_too(seed, values):
    """Prices of a part of the rows tell which rows need a linear program."""
    rng = np.random.default_rng(seed)
    gains = rng.integers(0, values, (1500, 4)) * 1.0 if values else rng.normal(size=(1500, 4)) ** 3
    limits = {1: int(rng.integers(20, 400)), 3: int(rng.integers(20, 400)), 0: 700}
    codes = best_answers(gains, limits, rng.normal(size=(1500, 2)))
    assert all((codes == at).sum() <= limit for at, limit in limits.items())
    best = least_bound(gains, limits, np.ones(1500))
    assert gains[np.arange(1500), codes].sum() == pytest.approx(best, abs=1e-3)


@given(seed=st.integers(0, 2000), limit=st.integers(0, 4), reviews=st.integers(0, 4))
def test_barred_answers_are_reviewed_whatever_the_limit(seed, limit, reviews):
    """Brute force: the best answers that are not barred, and where there are none no more reviews than it takes."""
    rng = np.random.default_rng(seed)
    gains, barred = rng.normal(size=(5, 3)), rng.random((5, 3)) < [0.5, 0.5, 0.0]
    decided = np.where(barred, -np.inf, gains).argmax(axis=1)
    limits = {1: limit, 2: max(reviews, int((decided == 2).sum()))}
    codes = reviewed_within(gains, barred, decided, limits, gains, review=2)
    rows, every = np.arange(5), np.array(list(itertools.product(range(3), repeat=5)))
    every = every[~barred[rows, every].any(axis=1) & ((every == 1).sum(axis=1) <= limit)]
    assert not barred[rows, codes].any()
    assert (codes == 1).sum() <= limit
    least = (every == 2).sum(axis=1).min()
    assert (codes == 2).sum() <= max(limits[2], least)
    if least <= limits[2]:
        allowed = every[(every == 2).sum(axis=1) <= limits[2]]
        assert gains[rows, codes].sum() == pytest.approx(gains[rows, allowed].sum(axis=1).max())


@pytest.mark.parametrize("n_limits", [1, 2])
@pytest.mark.parametrize("values", [4, None])
def test_answers_in_parts_use_limits_on_weights_up(n_limits, values):
    rng = np.random.default_rng(n_limits)
    gains = rng.integers(0, values, (900, 3)) * 1.0 if values else rng.normal(size=(900, 3))
    weight = rng.exponential(size=900) * (rng.random(900) < 0.9)
    limits = {answer: share * weight.sum() for answer, share in [(1, 0.1), (2, 0.25)][:n_limits]}
    shares = shared_answers(gains, limits, weight)
    assert (shares >= 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for answer, limit in limits.items():
        assert weight @ shares[:, answer] == pytest.approx(limit)
    assert weight @ (gains * shares).sum(axis=1) == pytest.approx(least_bound(gains, limits, weight))


@given(seed=st.integers(0, 2**32 - 1), b=st.floats(0.0, 0.6), c=st.floats(0.0, 0.6), whole=st.booleans())
def test_an_answer_in_parts_to_weight_2_is_one_to_two_entries(seed, b, c, whole):
    rng = np.random.default_rng(seed)
    gains, weight = rng.normal(size=(12, 3)), rng.integers(0, 4, 12)
    gains = np.round(gains) if whole else gains
    limits, copies = {1: b * weight.sum(), 2: c * weight.sum()}, np.repeat(np.arange(12), weight)
    shares = shared_answers(gains, limits, weight.astype(float))
    order = rng.permutation(copies.size)
    of_copies = shared_answers(gains[copies[order]], limits, np.ones(copies.size))
    np.testing.assert_allclose(of_copies, shares[copies[order]], atol=1e-7)
    # Entries that gain alike get the same.
    for row in range(12):
        alike = (gains == gains[row]).all(axis=1) & (weight > 0)
        assert not alike.any() or np.ptp(shares[alike], axis=0).max() < 1e-7


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


def test_limits_on_all_classes_leave_no_row_without_one():
    assert limits_of({"a": 2, "b": 1, "c": 2}, NAMES, 5) == {0: 2, 1: 1, 2: 2}
    with pytest.raises(ValueError, match="limits all classes to 5 of 6 rows; leave a class without a limit"):
        limits_of({"a": 2, "b": 1, "c": 2}, NAMES, 6)
