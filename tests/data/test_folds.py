"""Tasks, their splits and folds."""

import pickle
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import GroupKFold, KFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold
from sklearn.svm import LinearSVC

from csf._common.validation import small_indices
from csf.data import folds
from csf.data.folds import (
    Fold,
    Task,
    bound_share,
    enough_splits,
    first_repeat,
    group_folds,
    make_folds,
    resolve_splits,
)
from csf.data.labels import Labels
from csf.data.responses import Features


def test_labels_are_the_codes_where_there_are_no_others():
    codes = np.array([0, 2, 1, 0])
    assert Task(np.zeros((4, 1)), codes).user_labels.decode(codes).tolist() == codes.tolist()
    labels = Labels(np.array(["a", "b", "c"]), "b")
    assert Task(np.zeros((4, 1)), codes, labels=labels).user_labels is labels


def test_a_fold_without_samples_says_so():
    fold = Fold(Task(np.eye(2), np.array([0, 1])), np.array([0]), np.array([1]))
    assert fold.without_samples.y_test.tolist() == [1]
    assert "X_test" not in vars(fold.without_samples)
    with pytest.raises(ValueError, match="slices alone, not the task"):
        fold.without_samples.X_test  # noqa: B018


@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_features_go_from_one_estimator_to_another(names):
    X = np.eye(2) if names is None else pd.DataFrame(np.eye(2), columns=names)
    model, other = LinearSVC().fit(X, [0, 1]), LinearSVC()
    Features.of(model).put_on(other)
    assert other.n_features_in_ == 2
    assert getattr(other, "feature_names_in_", None) is getattr(model, "feature_names_in_", None)
    Features.of(LinearSVC()).put_on(other)
    assert other.n_features_in_ == 2


RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = (X[:, 0] + RNG.normal(size=90) > 1.0).astype(int)
WEIGHT = RNG.uniform(0.5, 2.0, 90)
SPLITS = list(StratifiedKFold(3).split(X, Y))
weights = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])


@pytest.mark.parametrize(
    "container",
    [lambda X: X, lambda X: X.tolist(), pd.DataFrame, lambda X: pl.DataFrame(X, schema=list("abcd")), sparse.csr_array],
    ids=["array", "list", "pandas", "polars", "CSR"],
)
@pytest.mark.parametrize("sliced", [False, True])
@weights
def test_folds_are_slices_of_every_container(container, weight, sliced):
    data = container(X)
    params = {"group": np.arange(90), "note": "text", "rate": np.float64(0.5), "grid": [1, 2], "none": None}
    folds = make_folds(Task(data, Y, weight, params), SPLITS)
    for fold, (train, test) in zip(folds, SPLITS, strict=True):
        fold = fold.sliced if sliced else fold
        for part, at in ((fold.X_train, train), (fold.X_test, test)):
            assert type(part) is type(data)
            values = part.toarray() if sparse.issparse(part) else np.asarray(part)
            assert np.array_equal(values, X[at])
        assert np.array_equal(fold.y_train, Y[train])
        assert np.array_equal(fold.y_test, Y[test])
        assert (fold.weight_train is None) == (weight is None) == (fold.weight_test is None)
        if weight is not None:
            assert np.array_equal(fold.weight_train, weight[train])
            assert np.array_equal(fold.weight_test, weight[test])
        assert np.array_equal(fold.fit_params["group"], train)
        assert {name: fold.fit_params[name] for name in list(params)[1:]} == {n: params[n] for n in list(params)[1:]}


def test_held_out_samples_without_the_others():
    fold = Fold(Task(np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])), np.array([0, 1]), np.array([2, 3]))
    np.testing.assert_array_equal(fold.held_out.X_test, [[4.0, 5.0], [6.0, 7.0]])
    assert "X_test" not in vars(fold)
    assert "X_train" not in vars(fold.held_out)
    with pytest.raises(ValueError, match="slices"):
        fold.held_out.X_train  # noqa: B018


def test_both_classes_are_held_out_where_both_weigh_something():
    task, every = Task(np.zeros((3, 1)), np.array([0, 1, 2])), np.arange(3)
    assert Fold(task, every, every).holds_out_both
    assert not Fold(task, every, every[1:]).holds_out_both
    weighted = Task(task.X, task.codes, np.array([0.0, 1.0, 1.0]))
    assert not Fold(weighted, every, every).holds_out_both


def test_nothing_is_sliced_before_it_is_asked_for():
    class Watched(np.ndarray):
        def __getitem__(self, at):
            raise AssertionError("sliced")

    folds = make_folds(Task(X.view(Watched), Y, WEIGHT), SPLITS)
    assert folds[0].y_train.shape == SPLITS[0][0].shape
    assert folds[0].weight_test.shape == SPLITS[0][1].shape


def test_a_slice_is_made_once():
    fold = make_folds(Task(X, Y), SPLITS)[0]
    assert fold.X_train is fold.X_train
    # The one who took the slices keeps them, the fold does not.
    sliced = fold.sliced
    assert sliced.X_train is sliced.X_train
    assert "X_train" not in vars(fold)
    assert fold.sliced is sliced


def test_a_sliced_fold_travels_without_the_data():
    whole = np.arange(90_000.0).reshape(90, 1000)
    sliced = pickle.loads(pickle.dumps(make_folds(Task(whole, Y), SPLITS)[0].sliced))
    assert sliced.given is None
    np.testing.assert_array_equal(sliced.X_test, whole[SPLITS[0][1]])
    assert len(pickle.dumps(sliced)) < 1.01 * whole.nbytes + 10_000


@weights
def test_share_of_the_data_that_bounds_read(weight):
    folds = make_folds(Task(X, Y, weight), SPLITS)
    assert bound_share(folds, on_train=False) == pytest.approx(np.average(Y, weights=weight))
    train = np.concatenate([train for train, _ in SPLITS])
    expected = np.average(Y[train], weights=None if weight is None else weight[train])
    assert bound_share(folds, on_train=True) == pytest.approx(expected)


@pytest.mark.parametrize(("y", "weight"), [([0, 0], None), ([1, 1], None), ([0, 1], np.array([1.0, 0.0]))])
def test_parts_of_one_class_are_named(y, weight):
    fold = Fold(Task(X[:2], np.array(y), weight), np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"the held-out parts of cv hold a weight of \d in the positive class of \d"):
        bound_share([fold], on_train=False)


@pytest.mark.parametrize(("labels", "expected"), [(Labels(np.array(["a", "b", "c"]), None), 3), (None, None)])
def test_how_many_classes_are_alike_survives_every_slice(labels, expected):
    fold = Fold(Task(X, np.arange(90) % 3, labels=labels), *SPLITS[0])
    slices = fold.sliced, fold.without_samples, fold.sliced.sliced, pickle.loads(pickle.dumps(fold.without_samples))
    assert [each.n_alike for each in (fold, *slices)] == [expected] * 5


PAIRS = np.arange(60).reshape(30, 2)
TARGET = np.array([0, 0, 1] * 10)
LABELS = np.where(TARGET == 1, "yes", "no")


def same(first, second):
    return all(
        np.array_equal(a, b) for one, two in zip(first, second, strict=True) for a, b in zip(one, two, strict=True)
    )


@pytest.mark.parametrize("cv", [{"a": 1}, (1.0, 2.0), ["train", "test"], [(1, 2, 3)]])
def test_splits_are_pairs(cv):
    with pytest.raises(ValueError, match=r"cv must give pairs \(train, test\) of indices or masks, got"):
        resolve_splits(cv, PAIRS, TARGET)


@pytest.mark.parametrize("seed", [-1, "0", 0.5])
def test_the_seed_is_named(seed):
    with pytest.raises(ValueError, match=r"random_state=.* cannot be used"):
        resolve_splits(0.3, PAIRS, TARGET, random_state=seed)


@pytest.mark.parametrize("y", [TARGET, LABELS, TARGET.tolist()])
@pytest.mark.parametrize("cv", [None, 2, 5, np.int64(3), 10])
def test_numbers_are_stratified_folds(cv, y):
    splits = resolve_splits(cv, PAIRS, y)
    assert same(splits, StratifiedKFold(5 if cv is None else cv).split(PAIRS, y))
    assert np.array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(30))


@pytest.mark.parametrize("cv", [0.3, 0.5, np.float64(0.1)])
def test_shares_are_one_stratified_hold_out(cv):
    ((train, test),) = resolve_splits(cv, PAIRS, TARGET, random_state=0)
    assert test.size == np.ceil(cv * 30)
    assert set(train) | set(test) == set(range(30))
    assert TARGET[test].mean() == pytest.approx(1 / 3, abs=0.1)
    assert same(resolve_splits(cv, PAIRS, TARGET, random_state=0), [(train, test)])


@pytest.mark.parametrize("splitter", [KFold(3), RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)])
def test_splitters_and_their_splits(splitter):
    expected = list(splitter.split(PAIRS, TARGET))
    assert same(resolve_splits(splitter, PAIRS, TARGET), expected)
    assert same(resolve_splits(expected, PAIRS, TARGET), expected)
    assert same(resolve_splits(iter(expected), PAIRS, TARGET), expected)


def test_masks_are_places():
    train = np.arange(30) < 20
    ((first, second),) = resolve_splits([(train, ~train)], PAIRS, TARGET)
    assert np.array_equal(first, np.arange(20))
    assert np.array_equal(second, np.arange(20, 30))


def test_groups_reach_the_splitter():
    groups = np.repeat(np.arange(10), 3)
    for train, test in resolve_splits(GroupKFold(5), PAIRS, TARGET, split_params={"groups": groups}):
        assert not set(groups[train]) & set(groups[test])


@given(seed=st.integers(0, 100), share=st.floats(0.1, 0.9))
def test_every_training_part_has_both_classes(seed, share):
    splits = resolve_splits(share, PAIRS, TARGET, random_state=seed)
    assert all(0 < TARGET[train].sum() < train.size for train, _ in splits)


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
        ([], ValueError, "yields no splits; at least one"),
        (
            [(np.flatnonzero(TARGET == 0), np.flatnonzero(TARGET == 1))],
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
        assert len(resolve_splits(cv, PAIRS, TARGET)) == 30
        return
    with pytest.raises(error, match=message):
        resolve_splits(cv, PAIRS, TARGET)


def test_a_hold_out_needs_two_of_each_class():
    with pytest.raises(ValueError, match=r"cv=0\.5 needs at least 2 samples of each class, the rarer one has 1"):
        resolve_splits(0.5, PAIRS[:4], [0, 0, 0, 1])


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


def test_the_first_folds_that_hold_out_each_sample_once():
    def splits(*tests):
        return [(np.array([0]), np.array(test)) for test in tests]

    assert first_repeat(splits([0, 1], [2, 3], [0, 2], [1, 3])) == 2
    assert first_repeat(splits([0, 1, 2, 3], [0, 1], [2, 3])) == 1
    # Shares that are drawn again, one repetition, and a single part.
    assert first_repeat(splits([0, 1], [1, 2], [0, 3])) == 3
    assert first_repeat(splits([0, 1], [2, 3])) == 2
    assert first_repeat(splits([0, 1])) == 1


def test_there_may_be_as_many_folds_as_groups():
    groups = np.repeat([0, 1, 2], 4)
    splits = group_folds(3, np.arange(12) % 2, groups, random_state=0)
    assert sorted(np.unique(groups[test]).tolist() for _, test in splits) == [[0], [1], [2]]


def test_places_take_four_bytes_where_these_reach():
    at = np.array([2, 0])
    assert (small_indices(at, 3).dtype, small_indices(at, 2**32).dtype) == (np.int32, np.int64)


# ---------------------------------------------------------------- as many folds as the threshold asks for


@pytest.mark.parametrize(
    ("n_pos", "count"), [(1999, 5), (2000, 5), (2500, 4), (2495, 5), (4996, 3), (4997, 2), (9995, 2), (10_000, 1)]
)
def test_as_many_folds_as_hold_out_two_thousand_of_the_rarest_class(n_pos, count):
    y = np.arange(30_000) < n_pos
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))
    assert enough_splits(splits, y) == splits[:count]
    assert enough_splits(splits, ~y) == splits[:count]
    assert enough_splits(splits, np.column_stack([y, np.arange(30_000) % 2])) == splits[:count]


def test_uneven_weights_and_groups_count_as_fewer_samples():
    y = np.arange(30_000) % 2
    splits = list(KFold(5, shuffle=True, random_state=0).split(y))
    assert len(enough_splits(splits, y, 3.0 * np.ones(y.size))) == 1
    # One row of a hundred weighs as much as all others together.
    assert enough_splits(splits, y, np.where(np.arange(y.size) % 200 < 2, 100.0, 1.0)) == splits
    assert enough_splits(splits, y, np.zeros(y.size)) == splits
    groups = np.arange(30_000) // 20
    grouped = list(GroupKFold(5, shuffle=True, random_state=0).split(y, y, groups))
    assert len(enough_splits(grouped, y)) == 1
    assert enough_splits(grouped, y, groups=groups) == grouped


@given(st.data())
def test_folds_end_with_the_first_that_is_enough(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, enough = 120, data.draw(st.integers(1, 40))
    y, weight = rng.integers(0, 3, n), rng.integers(0, 4, n).astype(float)
    groups = data.draw(st.sampled_from([None, rng.integers(0, 30, n)]))
    splits = [(np.array([], dtype=int), test) for test in np.array_split(rng.permutation(n), 5)]
    if groups is not None:
        splits = [(np.array([], dtype=int), np.flatnonzero(groups % 5 == fold)) for fold in range(5)]

    def is_enough(count, code):
        units = {}
        for at in np.concatenate([test for _, test in splits[:count]]):
            if y[at] == code:
                unit = at if groups is None else groups[at]
                units[unit] = units.get(unit, 0.0) + weight[at]
        total, squares = sum(units.values()), sum(size**2 for size in units.values())
        return squares > 0 and total**2 >= enough * squares

    counts = [count for count in range(1, 6) if all(is_enough(count, code) for code in np.unique(y))]
    rare = min(np.bincount(y)[np.unique(y)]) < enough
    with mock.patch.object(folds, "ENOUGH", enough):
        assert len(enough_splits(splits, y, weight, groups)) == (5 if rare or not counts else counts[0])
