"""Splits of every form of ``cv``, and the ones that cannot be trained or tested on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold

from csf.samples.splits import resolve_splits

X = np.arange(60).reshape(30, 2)
Y = np.array([0, 0, 1] * 10)
LABELS = np.where(Y == 1, "yes", "no")


def same(first, second):
    return all(
        np.array_equal(a, b) for one, two in zip(first, second, strict=True) for a, b in zip(one, two, strict=True)
    )


@pytest.mark.parametrize("cv", [{"a": 1}, (1.0, 2.0), ["train", "test"], [(1, 2, 3)]])
def test_splits_are_pairs(cv):
    with pytest.raises(ValueError, match=r"cv must give pairs \(train, test\) of indices or masks, got"):
        resolve_splits(cv, X, Y)


@pytest.mark.parametrize("seed", [-1, "0", 0.5])
def test_the_seed_is_named(seed):
    with pytest.raises(ValueError, match=r"random_state=.* cannot be used"):
        resolve_splits(0.3, X, Y, random_state=seed)


@pytest.mark.parametrize("y", [Y, LABELS, Y.tolist()])
@pytest.mark.parametrize("cv", [None, 2, 5, np.int64(3), 10])
def test_numbers_are_stratified_folds(cv, y):
    splits = resolve_splits(cv, X, y)
    assert same(splits, StratifiedKFold(5 if cv is None else cv).split(X, y))
    assert np.array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(30))


@pytest.mark.parametrize("cv", [0.3, 0.5, np.float64(0.1)])
def test_shares_are_one_stratified_hold_out(cv):
    ((train, test),) = resolve_splits(cv, X, Y, random_state=0)
    assert test.size == np.ceil(cv * 30)
    assert set(train) | set(test) == set(range(30))
    assert Y[test].mean() == pytest.approx(1 / 3, abs=0.1)
    assert same(resolve_splits(cv, X, Y, random_state=0), [(train, test)])


@pytest.mark.parametrize("splitter", [KFold(3), RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)])
def test_splitters_and_their_splits(splitter):
    expected = list(splitter.split(X, Y))
    assert same(resolve_splits(splitter, X, Y), expected)
    assert same(resolve_splits(expected, X, Y), expected)
    assert same(resolve_splits(iter(expected), X, Y), expected)


def test_masks_are_places():
    train = np.arange(30) < 20
    ((first, second),) = resolve_splits([(train, ~train)], X, Y)
    assert np.array_equal(first, np.arange(20))
    assert np.array_equal(second, np.arange(20, 30))


def test_groups_reach_the_splitter():
    groups = np.repeat(np.arange(10), 3)
    for train, test in resolve_splits(GroupKFold(5), X, Y, split_params={"groups": groups}):
        assert not set(groups[train]) & set(groups[test])


@given(seed=st.integers(0, 100), share=st.floats(0.1, 0.9))
def test_every_training_part_has_both_classes(seed, share):
    splits = resolve_splits(share, X, Y, random_state=seed)
    assert all(0 < Y[train].sum() < train.size for train, _ in splits)


@pytest.mark.parametrize(
    ("cv", "error", "message"),
    [
        (True, TypeError, "cv must be an int, a float, a splitter, an iterable of splits or 'prefit', got True"),
        (0.0, ValueError, r"cv=0.0: a float is the share held out, in \(0, 1\)"),
        (1.0, ValueError, r"cv=1.0: a float is the share held out, in \(0, 1\)"),
        (np.nan, ValueError, "cv=nan: a float is the share held out"),
        (0.999, ValueError, "cv=0.999 leaves 30 of 30 samples to test on; both parts need 2"),
        (11, ValueError, "cv=11 needs at least 11 samples of each class, the rarer one has n_samples=10; use fewer"),
        (1, ValueError, "n_splits=2 or more"),
        (0, ValueError, "n_splits=2 or more"),
        (-1, ValueError, "n_splits=2 or more"),
        ("five", ValueError, "Expected .?cv.? as an integer"),
        ([], ValueError, "gave no split; at least one"),
        (
            [(np.flatnonzero(Y == 0), np.flatnonzero(Y == 1))],
            ValueError,
            "split 0 of cv has 20 training samples of 1",
        ),
        (
            [(np.arange(30), [])],
            ValueError,
            "split 0 of cv .* and 0 test samples; it needs both classes",
        ),
        (KFold(30), None, None),
        (ShuffleSplit(1, train_size=1, test_size=29, random_state=0), ValueError, r"has 1 training samples of 1 class"),
    ],
)
def test_splits_that_cannot_work(cv, error, message):
    if error is None:  # leave-one-out is fine: predictions are pooled
        assert len(resolve_splits(cv, X, Y)) == 30
        return
    with pytest.raises(error, match=message):
        resolve_splits(cv, X, Y)


def test_a_hold_out_needs_two_of_each_class():
    with pytest.raises(ValueError, match=r"cv=0\.5 needs at least 2 samples of each class, the rarer one has 1"):
        resolve_splits(0.5, X[:4], [0, 0, 0, 1])


@pytest.mark.parametrize(
    ("split", "error", "text"),
    [
        (5, TypeError, r"must be a pair \(train, test\) of indices from 0 to 9 or of masks, got 5"),
        ((np.arange(5),), ValueError, r"must be a pair .*, got arrays of shapes \[\(5,\)\]"),
        ((np.arange(4), np.arange(4, 6), np.arange(6, 10)), ValueError, r"must be a pair .*, got arrays of shapes"),
        ((np.arange(8), np.array([[8, 9]])), ValueError, r"must be a pair .*, got arrays of shapes"),
        ((np.arange(8), np.array([8, 10])), ValueError, r"indices from 0 to 9 .*, got 8 to 10"),
        ((np.arange(8), np.array([-1, 9])), ValueError, r"indices from 0 to 9 .*, got -1 to 9"),
        ((np.arange(8), np.array([8.0, np.nan])), ValueError, r"must be a pair .*, got values such as 8.0"),
        ((np.arange(8), np.ones(4, dtype=bool)), ValueError, r"must be a pair .*, got a mask of 4 for 10 samples"),
    ],
)
def test_garbage_of_splitters_is_refused(split, error, text):

    class Splitter:
        def get_n_splits(self, X=None, y=None, groups=None):
            return 1

        def split(self, X, y):
            yield split

    with pytest.raises(error, match=text):
        resolve_splits(Splitter(), np.zeros((10, 1)), np.arange(10) % 2)
