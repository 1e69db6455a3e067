"""Limits on single classes beside a null class, against predictions and sums by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.data.responses import class_gaps, compare, moved_scores
from csf.evaluate.draws import Units
from csf.metrics import get_metric
from csf.thresholding.batch import batch_within, refuse_null
from csf.thresholding.null_class import ClassGapAnswers, LimitedClasses, LimitedClassTerms, class_limits

F1 = get_metric("f1")


def units(truth, weight=None):
    n = truth.size
    return Units(truth > 0, weight, np.arange(n), np.ones(n, dtype=int))


def drawn(rng, n, n_classes, probabilities):
    """Scores of codes, the score that is thresholded, and the gaps between classes."""
    scores = rng.normal(size=(n, n_classes))
    scores = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) if probabilities else scores
    gaps = class_gaps(scores[:, 1:], np.arange(1, n_classes), n_classes)
    return scores, compare(scores, 0, probabilities=probabilities)[0], gaps


def f1_by_hand(truth, predicted, weight):
    right = weight @ ((truth == predicted) & (truth > 0))
    wrong = weight @ ((predicted != truth) & (truth > 0)) + weight @ ((truth == 0) & (predicted > 0))
    return 2.0 * right / (2.0 * right + wrong)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(3, 5),
    probabilities=st.booleans(),
    threshold=st.sampled_from([-0.5, 0.0, 0.3, 0.5, 0.9]),
)
def test_answers_are_those_of_predictions(seed, n_classes, probabilities, threshold):
    """A limit of so many entries leaves what `predict` gives a batch of them, also where several classes have one."""
    rng = np.random.default_rng(seed)
    scores, score, gaps = drawn(rng, 40, n_classes, probabilities)
    truth = rng.integers(0, n_classes, 40)
    moved = moved_scores(scores, 0, threshold, probabilities=probabilities)
    numbers = {1: 3} if seed % 2 else {1: 3, 2: 2}
    classes = LimitedClasses(truth, list(numbers))
    answers = ClassGapAnswers(score, threshold, gaps, classes)
    np.testing.assert_array_equal(answers.codes, moved.argmax(axis=1))
    ordered = np.sort(moved, axis=1)
    top = np.take_along_axis(answers.gains, answers.codes[:, None], axis=1)[:, 0]
    second = np.sort(answers.gains, axis=1)[:, -2]
    np.testing.assert_allclose(top - second, ordered[:, -1] - ordered[:, -2], atol=1e-6)
    limited = answers.within({code: number / 40 for code, number in numbers.items()}, np.ones(40))
    predicted = batch_within(moved, numbers, list(range(n_classes)), np.arange(40)[:, None])
    final = np.where(limited.share > 0.5, limited.codes, limited.others)
    np.testing.assert_array_equal(final, classes.marked(predicted))
    for code in numbers:
        assert limited.gets(code).sum() == (predicted == code).sum()


@given(seed=st.integers(0, 2**32 - 1))
def test_several_limits_have_the_largest_total_gain(seed):
    rng = np.random.default_rng(seed)
    _, score, gaps = drawn(rng, 6, 4, False)
    classes = LimitedClasses(np.zeros(6, dtype=int), [1, 3])
    answers = ClassGapAnswers(score, -1.0, gaps, classes)
    limited = answers.within({1: 1 / 6, 3: 2 / 6}, np.ones(6))
    assert limited.counted is not None
    gained = answers.gains[np.arange(6), limited.counted.codes].sum()
    every = [np.array(codes) for codes in product(range(4), repeat=6)]
    kept = [codes for codes in every if (codes == 1).sum() <= 1 and (codes == 3).sum() <= 2]
    assert gained == pytest.approx(max(answers.gains[np.arange(6), codes].sum() for codes in kept))


@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.02, 0.5))
def test_values_and_captured_shares_are_those_of_rows_one_by_one(seed, share):
    rng = np.random.default_rng(seed)
    truth, weight = rng.permutation(np.arange(30) % 4), rng.uniform(0.5, 2.0, 30)
    _, score, gaps = drawn(rng, 30, 4, False)
    classes = LimitedClasses(truth, [2])
    answers, terms = ClassGapAnswers(score, -0.5, gaps, classes), LimitedClassTerms(units(truth, weight), F1, classes)
    # By hand: the rows of class 2 that lose most without it, up to the share of all weight, the last one in part.
    best, others = answers.gains.argmax(axis=1), answers.gains.copy()
    others[:, 2] = -np.inf
    loss, free, parts = answers.gains[:, 2] - others.max(axis=1), share * weight.sum(), np.zeros(30)
    for row in np.argsort(-loss):
        if best[row] == 2:
            parts[row] = np.clip(free / weight[row], 0.0, 1.0)
            free -= weight[row] * parts[row]
    twice = np.concatenate([truth, truth])
    predicted = np.concatenate([best, np.where(best == 2, others.argmax(axis=1), best)])
    sizes = np.concatenate([weight * np.where(best == 2, parts, 1.0), weight * np.where(best == 2, 1.0 - parts, 0.0)])
    given_answers = answers.within({2: share}, terms.weight)
    sums = terms.sums(given_answers, terms.weight)
    assert terms.value(sums) == pytest.approx(f1_by_hand(twice, predicted, sizes))
    captured = sizes @ ((twice == 2) & (predicted == 2)) / weight[truth == 2].sum()
    assert terms.captured(sums, 2) == pytest.approx(captured, abs=1e-9)
    assert answers.acted(2, given_answers, weight) == pytest.approx(weight @ (parts * (best == 2)) / weight.sum())


def test_classes_that_were_not_learnt_are_never_next():
    gaps = class_gaps(np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([1, 3]), 4)
    np.testing.assert_array_equal(gaps, [[2.0, np.inf, 0.0], [0.0, np.inf, 0.0]])
    answers = ClassGapAnswers(np.array([5.0, 1.0]), 0.0, gaps, LimitedClasses(np.array([2, 0]), [3]))
    assert answers.codes.tolist() == [3, 1]
    # The second class is worth 2 less than the third one, and the null class 5.
    assert answers.margin(3)[0].tolist() == [1, 1]


def test_infinite_scores_are_of_the_best_class():
    scores = np.array([[np.inf, 1.0], [np.inf, np.inf], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(class_gaps(scores, np.array([1, 2]), 3), [[0.0, np.inf], [0.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"bear": 0.1}, r"there is no 'bear'; accepted: \['none', 'bird', 'tree'\]"),
        ({"bird": 0.0}, r"at_most of 'bird' must be a number in \(0, 1\], got 0.0"),
        ({"bird": 1.1}, r"at_most of 'bird' must be a number in \(0, 1\], got 1.1"),
        ({"tree": 20}, r"at_most of 'tree' must be a number in \(0, 1\], got 20"),
    ],
)
def test_limits_are_shares_of_classes_other_than_the_null_class(limits, words):
    with pytest.raises(ValueError, match=words):
        class_limits(limits, ["none", "bird", "tree"])


def test_the_null_class_itself_has_no_limit():
    words = r"at_most=\{'none': 3\} limits the null class 'none'; limit others of \['bird', 'tree'\], or all of them"
    with pytest.raises(ValueError, match=words):
        refuse_null({np.str_("none"): np.int64(3)}, ["bird", "none", "tree"], np.str_("none"))


def test_limits_are_read_by_code():
    assert class_limits({"tree": 0.2, "bird": 1.0}, ["none", "bird", "tree"]) == {2: 0.2, 1: 1.0}
