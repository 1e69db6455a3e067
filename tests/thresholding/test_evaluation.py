"""What answers are worth within limits and with reviews, against sums by hand."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.evaluate.draws import Units
from csf.metrics import CostMatrix, get_confusion_metric, get_metric
from csf.metrics.averages import values_of_tables
from csf.thresholding.evaluation import GivenAnswers, TableTerms, TunedAnswers, _near_border, _share_kept


class Gains(TunedAnswers):
    """Answers of largest gain."""

    def __init__(self, gains):
        self.gains, self.codes = gains, gains.argmax(axis=1)

    def reviewed(self, review, weight):
        raise NotImplementedError


def units(truth, weight=None):
    n = truth.size
    return Units(truth, weight, np.arange(n), np.ones(n, dtype=int))


def test_reviewed_rows_are_right_but_for_their_error():
    costs = CostMatrix(np.ones((3, 3)) - np.eye(3))
    terms = TableTerms(units(np.arange(3)), 3, lambda tables: np.asarray(costs.value(tables)), error=0.2)
    sums = np.array([[5.0, 1.0, 0.0, 10.0], [0.0, 4.0, 0.0, 0.0], [1.0, 0.0, 3.0, 2.0]])
    np.testing.assert_allclose(terms.final(sums.ravel())[0], [[13.0, 2.0, 1.0], [0.0, 4.0, 0.0], [1.2, 0.2, 4.6]])


def test_wrong_reviews_do_not_matter_where_nobody_reviews():
    rng = np.random.default_rng(0)
    truth, codes = rng.integers(0, 2, (2, 80))
    for of_tables in (partial(values_of_tables, get_metric("f1")), partial(values_of_tables, get_metric("gmean"))):
        right, wrong = (TableTerms(units(truth), 2, of_tables, error=error) for error in (0.0, 0.5))
        given_answers = GivenAnswers.whole(codes)
        np.testing.assert_array_equal(right.drawn(given_answers, 0).errors, wrong.drawn(given_answers, 0).errors)
        reviewed = GivenAnswers.whole(np.where(np.arange(80) < 20, 2, codes))
        assert (right.drawn(reviewed, 0).errors != wrong.drawn(reviewed, 0).errors).any()


@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.0, 1.0), digits=st.sampled_from([1, 8]))
def test_a_limit_keeps_the_entries_that_lose_most(seed, share, digits):
    rng = np.random.default_rng(seed)
    gains, weight = rng.normal(size=(12, 3)).round(digits), rng.integers(1, 4, 12).astype(float)
    answers = Gains(gains)
    found = answers.within({2: share}, weight)
    kept = found.share * (found.codes == 2)
    wanted = weight @ (answers.codes == 2)
    assert weight @ kept == pytest.approx(min(share * weight.sum(), wanted), abs=1e-6)
    margin = gains[:, 2] - gains[:, :2].max(axis=1)
    dropped = (answers.codes == 2) & (found.share < 1.0)
    assert margin[found.gets(2)].min(initial=np.inf) >= margin[dropped].max(initial=-np.inf)
    # Entries that lose the same are kept in the same part.
    for value in np.unique(margin[dropped]):
        assert np.ptp(found.share[dropped & (margin == value)]) < 1e-12
    np.testing.assert_array_equal(found.others[dropped], gains[dropped, :2].argmax(axis=1))
    order = rng.permutation(12)
    again = Gains(gains[order]).within({2: share}, weight[order])
    np.testing.assert_allclose(again.share, found.share[order], atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.sampled_from([2, 3]), share=st.floats(0.05, 1.0))
def test_sums_are_those_of_rows_one_by_one(seed, n_classes, share):
    rng = np.random.default_rng(seed)
    truth, weight = rng.permutation(np.arange(15) % n_classes), rng.uniform(0.5, 2.0, 15)
    answers = Gains(rng.normal(size=(15, n_classes)))
    metric = get_metric("f1") if n_classes == 2 else get_confusion_metric("f1_macro")
    of_tables = partial(values_of_tables, metric) if n_classes == 2 else metric.value
    terms = TableTerms(units(truth, weight), n_classes, of_tables)
    found = answers.within({1: share}, terms.weight)
    table = np.zeros((n_classes, n_classes))
    for true, code, other, part, size in zip(truth, found.codes, found.others, found.share, weight):
        table[true, code] += size * part
        table[true, other] += size * (1.0 - part)
    sums = terms.sums(found, terms.weight)
    np.testing.assert_allclose(terms.final(sums)[0], table, atol=1e-12)
    assert terms.value(sums) == pytest.approx(float(np.squeeze(of_tables(table[None] / table.sum()))))
    assert terms.captured(sums, 1) == pytest.approx(table[1, 1] / table[1].sum())


def test_errors_of_whole_answers_are_those_of_a_share():
    truth = np.arange(200) < 100
    codes = np.where(truth, np.arange(200) % 5 > 0, False).astype(int)
    terms = TableTerms(units(truth), 2, partial(values_of_tables, get_metric("recall")))
    errors = terms.drawn(GivenAnswers.whole(codes), 0).errors
    assert errors.std() == pytest.approx(np.sqrt(0.8 * 0.2 / 100), rel=0.15)


def test_equal_entries_share_what_several_limits_leave():
    answers = Gains(np.tile([0.0, 1.0, 2.0], (10, 1)))
    found = answers.within({2: 0.3, 1: 0.4}, np.ones(10))
    for answer, share in enumerate([0.3, 0.4, 0.3]):
        np.testing.assert_allclose(found.share_of(answer), share)
        assert answers.acted(answer, found, np.ones(10)) == pytest.approx(share)
    np.testing.assert_allclose(sum(share for _, share in found.parts), 1.0)
    terms = TableTerms(units(np.arange(10) % 3), 3, get_confusion_metric("accuracy").value)
    np.testing.assert_allclose(terms.table(found, np.ones(10))[:, :3], np.outer([4, 3, 3], [0.3, 0.4, 0.3]))
    marked = found.marked(lambda codes: codes + 5)
    np.testing.assert_allclose(marked.share_of(1), 0.4)
    np.testing.assert_allclose(terms.table(found.marked(lambda codes: 2 - codes), np.ones(10))[0, :3], [1.2, 1.6, 1.2])


def test_rows_around_a_border_have_a_part_of_the_weight_on_either_side():
    """The border is at 50 of 100 entries of weight 1, and that part is 15 %; entries of weight 0 are none."""
    rank, weight = np.arange(100.0)[::-1], np.ones(100)
    assert np.flatnonzero(_near_border(rank, weight, 50.0)).tolist() == list(range(35, 66))
    order = np.random.default_rng(0).permutation(200)
    rank, weight = np.append(rank, rank)[order], np.append(weight, np.zeros(100))[order]
    near = _near_border(rank, weight, 50.0)
    assert sorted(order[near].tolist()) == list(range(35, 66))


@pytest.mark.parametrize("limit", [0.0, 1.0, 4.0])
def test_entries_of_weight_0_need_no_room(limit):
    rank, weight = np.array([9.0, 8.0, 7.0, 6.0]), np.array([0.0, 2.0, 0.0, 2.0])
    kept = _share_kept(rank, weight, limit)
    assert kept[[1, 3]].tolist() == [min(limit / 2.0, 1.0), max(limit / 2.0 - 1.0, 0.0)]
