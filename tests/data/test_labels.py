"""Targets as codes; positive and null classes; what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.data.labels import Labels, read_classes, read_labels

LABELS = {
    "strings": ["none", "bird", "tree", "stone"],
    "numbers": [3, -1, 7, 0],
    "floats": [0.0, 2.0, 1.0, 5.0],
    "objects": np.array(["b", "a", "c", "d"], dtype=object),
}


@pytest.mark.parametrize("kind", LABELS)
@given(places=st.lists(st.integers(0, 3), min_size=1, max_size=20), null=st.integers(0, 3))
def test_codes_and_labels_are_one_to_one(kind, places, null):
    known = np.asarray(LABELS[kind])
    y = known[[*range(4), *places]]
    labels, codes = read_labels(y, null_class=known[null])
    assert labels.null == known[null]
    assert np.array_equal(codes == 0, y == known[null])
    assert set(codes.tolist()) == set(range(4))
    assert np.array_equal(labels.decode(codes), y)
    assert labels.decode(codes).dtype == labels.classes.dtype
    assert np.array_equal(labels.by_code[1:], np.sort(labels.by_code[1:]))
    assert labels.positive is None


@pytest.mark.parametrize("y", [[0, 1, 1], [-1, 1, 1], [False, True, True], ["no", "yes", "yes"]])
def test_two_classes_are_the_same_either_way(y):
    """The negative class is the one of nothing to find."""
    pos_label = "yes" if "yes" in y else None
    (first, codes), (second, others) = read_labels(y, pos_label=pos_label), read_labels(y, null_class=y[0])
    assert codes.tolist() == others.tolist() == [0, 1, 1]
    assert (first.null, first.positive) == (second.null, second.positive) == (y[0], y[1])
    assert first.classes.tolist() == second.classes.tolist()


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0, 1, 2], {}, "multiclass with 3 classes. Use csf.CostSearch with a metric of several classes"),
        ([0, 1, 2], {"null_class": 3}, r"null_class=3 is not a label of y, which holds \[0, 1, 2\]"),
        (["a", "b", "c"], {"null_class": 0}, "null_class=0 is not a label of y"),
        ([0, 1], {"null_class": 0, "pos_label": 1}, "pos_label=1 and null_class=0 are both given"),
        ([0, 0], {"null_class": 0}, "y has one class only"),
        ([], {"null_class": 0}, "y is empty"),
        ([0.0, np.nan, 1.0], {"null_class": 0}, "Input y contains NaN"),
        ([0.5, 1.5, 2.5], {"null_class": 0.5}, "Unknown label type: continuous"),
        (["a", None, "b"], {"null_class": "a"}, "missing labels"),
    ],
)
def test_targets_that_cannot_be_used(y, options, message):
    with pytest.raises(ValueError, match=message):
        read_labels(np.array(y, dtype=object) if None in y else y, **options)


def test_labels_of_one_class_can_be_coded():
    labels = Labels(np.array(["a", "b", "c"]), "b")
    assert labels.encode(np.array(["b", "b"])).tolist() == [0, 0]


@pytest.mark.parametrize("y", [[2**63, 2**63 + 1, -1], [2**53 + 1, -1.0, 2**53]])
def test_integers_that_a_list_would_merge_are_refused(y):
    with pytest.raises(ValueError, match="not exact as floats, so that different ones may become one; give integers"):
        read_labels(y, null_class=-1)


def test_large_integers_of_an_array_stay_apart():
    labels, codes = read_labels(np.array([2**53, 2**53 + 1, -1]), null_class=-1)
    assert codes.tolist() == [1, 2, 0]
    assert labels.by_code.tolist() == [-1, 2**53, 2**53 + 1]


@pytest.mark.parametrize("kind", LABELS)
@given(places=st.lists(st.integers(0, 3), min_size=1, max_size=20))
def test_codes_of_classes_that_are_alike_are_their_order(kind, places):
    y = np.asarray(LABELS[kind])[[*range(4), *places]]
    labels, codes = read_classes(y)
    assert (labels.null, labels.positive, labels.n_alike) == (None, None, 4)
    assert np.array_equal(codes, np.unique(y, return_inverse=True)[1])
    assert np.array_equal(labels.by_code, labels.classes)
    assert np.array_equal(labels.encode(y), codes)
    assert np.array_equal(labels.decode(codes), y)
    assert labels.count(codes).tolist() == np.bincount(codes).tolist()


def test_classes_with_one_of_nothing_are_not_alike():
    assert read_labels(["a", "b", "c"], null_class="b")[0].n_alike is None


@pytest.mark.parametrize(
    ("y", "message"),
    [(["a", "b"], r"two classes \['a', 'b'\], one of which .* use read_labels"), ([1, 1], "y has one class only")],
)
def test_fewer_classes_are_not_alike(y, message):
    with pytest.raises(ValueError, match=message):
        read_classes(y)


@pytest.mark.parametrize("y", [np.array(["b", "a", "c"]), np.array([7, 5, 9], dtype=np.int32), [2.0, 1.0, 4.0]])
def test_names_of_answers_are_printed_without_the_types_of_numpy(y):
    several = read_labels(y, null_class=np.asarray(y)[1])[0]
    two = read_labels(y[:2], pos_label=y[0])[0]
    assert "np." not in repr([several.null, several.answers, two.null, two.positive, two.answers])
