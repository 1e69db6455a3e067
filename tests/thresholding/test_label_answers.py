"""Answers to pairs of a sample and a label within limits by label, by hand."""

import numpy as np
import pytest

from csf.evaluate import ScoreStore
from csf.thresholding.label_answers import LabelAnswers, LabelTerms

# Three samples of two labels, entry by entry.
LABELS = np.array([0, 1, 0, 1, 0, 1])
SCORE = np.array([0.9, 0.2, 0.8, 0.7, 0.1, 0.6])
TRUTH = np.array([True, False, False, True, False, True])
WEIGHT = np.array([1.0, 1.0, 2.0, 2.0, 1.0, 1.0])


def answers():
    return LabelAnswers(SCORE, 0.5, TRUTH, lambda: (1.0, 1.0), LABELS)


def test_a_limit_of_one_label_leaves_the_others_alone():
    given = answers().within({0: 0.5}, WEIGHT)
    # Label 0 may go to two of the weight of four: to the first sample, and to half of the second one, of weight two.
    assert given.share.tolist() == [1.0, 1.0, 0.5, 1.0, 1.0, 1.0]
    assert given.codes.tolist() == [1, 0, 1, 1, 0, 1]
    assert given.others[2] == 0


@pytest.mark.parametrize(("label", "acted"), [(0, 0.5), (1, 0.75)])
def test_the_share_that_is_acted_on_is_one_of_the_samples(label, acted):
    limited = answers()
    assert limited.acted(label, limited.within({0: 0.5}, WEIGHT), WEIGHT) == acted


def test_tables_hold_what_each_label_gets():
    store = ScoreStore(TRUTH, WEIGHT, samples=np.repeat(np.arange(3), 2))
    terms = LabelTerms(store, LABELS, lambda tables: tables[..., 1, 1])
    sums = terms.sums(answers().within({0: 0.5}, WEIGHT), WEIGHT)
    # Rows: the true class; columns: the answer.
    assert sums.reshape(2, 2, 2).tolist() == [[[2.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 3.0]]]


def test_values_of_several_sums_are_those_of_each():
    store = ScoreStore(TRUTH, WEIGHT, samples=np.repeat(np.arange(3), 2))
    terms = LabelTerms(store, LABELS, lambda tables: tables[..., 1, 1])
    sums = np.array([terms.sums(answers().within({0: share}, WEIGHT), WEIGHT) for share in (0.25, 0.5, 1.0)])
    values = [float(terms.value(one)) for one in sums]
    np.testing.assert_allclose(terms.value(sums), values)
    np.testing.assert_allclose(terms.value(sums[None]), [values])
    # What is right of all pairs, whose weight is 8.
    np.testing.assert_allclose(values, [4.0 / 8.0, 4.0 / 8.0, 4.0 / 8.0])
