"""Counts and predictions as error profiles, and hulls of these."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from builders import predictions, rates, shares
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from sklearn.metrics import confusion_matrix

from csf import ErrorProfile
from csf.metrics import profile as module
from csf.metrics.profile import Hull

count = st.integers(0, 10**6) | st.floats(0.0, 1e6, allow_subnormal=False)


@given(case=predictions())
def test_predictions_are_counted_as_in_scikit_learn(case):
    y_true, y_pred, weight = case
    table = confusion_matrix(y_true, y_pred, sample_weight=weight, labels=[0, 1])
    (tn, fp), (fn, tp) = table / table.sum()
    e = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight)
    assert (e.tn, e.fp, e.fn, e.tp) == pytest.approx((tn, fp, fn, tp), abs=1e-12)
    assert (e.pos, e.neg, e.predicted_pos) == pytest.approx((fn + tp, tn + fp, tp + fp), abs=1e-12)
    assert (e.fnr, e.fpr) == pytest.approx((fn / (fn + tp), fp / (tn + fp)), abs=1e-12)
    assert (e.tpr, e.tnr) == pytest.approx((1 - e.fnr, 1 - e.fpr), abs=1e-15)


@given(case=predictions())
def test_counting_is_weighting_with_ones(case):
    y_true, y_pred, _ = case
    ones = np.ones(len(y_true))
    assert ErrorProfile.from_predictions(y_true, y_pred) == ErrorProfile.from_predictions(
        y_true, y_pred, sample_weight=ones
    )


@given(tp=count, fp=count, fn=count, tn=count)
def test_counts_and_weights_become_shares(tp, fp, fn, tn):
    total = tp + fp + fn + tn
    if not 1e-9 * total < tp + fn < (1 - 1e-9) * total:
        return
    e = ErrorProfile.from_counts(tp=tp, fp=fp, fn=fn, tn=tn)
    assert (e.tp, e.fp, e.fn, e.tn) == pytest.approx((tp / total, fp / total, fn / total, tn / total), abs=1e-12)
    assert e.tp + e.fp + e.fn + e.tn == pytest.approx(1.0)


@given(tpr=rates, tnr=rates, pos=shares)
def test_rates_there_and_back(tpr, tnr, pos):
    e = ErrorProfile.from_rates(tpr=tpr, tnr=tnr, pos=pos)
    assert (e.tpr, e.tnr, e.pos) == pytest.approx((tpr, tnr, pos), abs=1e-9)


@given(case=predictions(), copies=st.lists(st.integers(1, 4), min_size=30, max_size=30))
def test_whole_weights_are_repeated_samples(case, copies):
    y_true, y_pred, _ = case
    copies = np.array(copies[: y_true.size])
    weighted = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=copies)
    repeated = ErrorProfile.from_predictions(np.repeat(y_true, copies), np.repeat(y_pred, copies))
    assert (weighted.fn, weighted.fp, weighted.pos) == pytest.approx((repeated.fn, repeated.fp, repeated.pos))


@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [([0, 1], None), ([-1, 1], None), ([False, True], None), ([0.0, 1.0], None), (["no", "yes"], "yes"), ([2, 1], 1)],
)
@given(case=predictions())
def test_any_two_labels_will_do(labels, pos_label, case):
    y_true, y_pred, weight = case
    expected = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight)
    labels = np.array(labels)
    e = ErrorProfile.from_predictions(labels[y_true], labels[y_pred], sample_weight=weight, pos_label=pos_label)
    assert e == expected
    swapped = ErrorProfile.from_predictions(labels[y_true], labels[y_pred], sample_weight=weight, pos_label=labels[0])
    assert (swapped.fn, swapped.fp) == pytest.approx((expected.fp, expected.fn))


@pytest.mark.parametrize("container", [list, tuple, pd.Series, pl.Series, lambda y: pd.Series(y, dtype="category")])
def test_containers(container):
    y_true, y_pred = [0, 0, 1, 1, 0], [0, 1, 1, 0, 0]
    assert ErrorProfile.from_predictions(container(y_true), container(y_pred)) == ErrorProfile(fn=0.2, fp=0.2, pos=0.4)


def test_weights_may_be_lists_and_float32():
    for weight in ([1, 2, 3, 2], np.array([1, 2, 3, 2], dtype=np.float32)):
        e = ErrorProfile.from_predictions([0, 1, 1, 0], [0, 0, 1, 1], sample_weight=weight)
        assert e == ErrorProfile(fn=0.25, fp=0.25, pos=0.625)


@given(pos=shares, fnr=rates, fpr=rates)
def test_objects_are_values_of_plain_floats(pos, fnr, fpr):
    e = ErrorProfile(fn=np.float64(fnr * pos), fp=np.float64(fpr * (1 - pos)), pos=np.float64(pos))
    assert {type(part) for part in (e.fn, e.fp, e.pos)} == {float}
    assert eval(repr(e)) == e
    assert pickle.loads(pickle.dumps(e)) == e
    assert hash(e) == hash(ErrorProfile(fn=e.fn, fp=e.fp, pos=e.pos))
    assert 0 <= e.fn <= e.pos
    assert 0 <= e.fp <= e.neg


def test_rounding_is_clipped_and_zero_has_no_sign():
    e = ErrorProfile(fn=-1e-12, fp=0.7 + 1e-12, pos=0.3)
    assert (e.fn, e.fp) == (0.0, 0.7)
    assert repr(ErrorProfile(fn=-0.0, fp=0.0, pos=0.5)) == "ErrorProfile(fn=0.0, fp=0.0, pos=0.5)"


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("pos", [0.0, 1.0, -0.1, np.nan, np.inf])
def test_both_classes_are_needed(pos):
    with pytest.raises(ValueError, match=r"pos must be a share in \(0, 1\), got .*both classes"):
        ErrorProfile(fn=0.0, fp=0.0, pos=pos)


@pytest.mark.parametrize(("fn", "fp", "name"), [(0.4, 0, "fn"), (0, 0.8, "fp"), (-0.1, 0, "fn"), (np.nan, 0, "fn")])
def test_errors_stay_in_the_box(fn, fp, name):
    with pytest.raises(ValueError, match=rf"{name} must be a share of all samples in \[0, 0.*rates and counts go"):
        ErrorProfile(fn=fn, fp=fp, pos=0.3)


def test_one_class_has_no_profile():
    for counts in ({"tp": 0, "fn": 0, "fp": 1, "tn": 2}, {"tp": 1, "fn": 2, "fp": 0, "tn": 0}):
        with pytest.raises(ValueError, match=r"both classes must be present, got tp \+ fn = \d, fp \+ tn = \d"):
            ErrorProfile.from_counts(**counts)
    with pytest.raises(ValueError, match=r"y has one class only \(1\)"):
        ErrorProfile.from_predictions([1, 1], [0, 1])


@pytest.mark.parametrize("bad", [-1, np.nan, np.inf, [3]])
@pytest.mark.parametrize("name", ["tp", "fp", "fn", "tn"])
def test_counts_are_finite_numbers(name, bad):
    with pytest.raises((TypeError, ValueError), match=rf"{name} must be a finite count >= 0, got"):
        ErrorProfile.from_counts(**dict.fromkeys(("tp", "fp", "fn", "tn"), 3) | {name: bad})


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([], [], "y is empty"),
        ([0, 1], [0, 1, 1], r"y_pred must have shape \(2,\) like y_true, got \(3,\)"),
        ([0, 1], [[0], [1]], r"y_pred must have shape \(2,\) like y_true, got \(2, 1\)"),
        ([0, 1, 2], [0, 1, 1], "Only binary classification is supported"),
        ([0.5, 1.5], [0, 1], "Unknown label type: continuous"),
        ([0, np.nan], [0, 1], "Input y contains NaN"),
        ([0, 1], [0, np.nan], r"y_pred holds nan, y_true only \[0, 1\]"),
        ([0, 1], [0, 2], r"y_pred holds 2, y_true only \[0, 1\]"),
        ([0, 1], ["0", "1"], r"y_pred holds '0', y_true only \[0, 1\]"),
        ([0, 1], [None, 1], "Input y_pred contains missing labels"),
        ([1, 2], [1, 2], "pos_label=None stands for 1 with labels"),
        (["a", "b"], ["a", "b"], "pos_label=None stands for 1 .* Give pos_label, e.g. pos_label='b'"),
        (np.array(["a", None, "b"], dtype=object), ["a", "b", "b"], "missing labels"),
    ],
)
def test_bad_labels(y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        ErrorProfile.from_predictions(y_true, y_pred)


def test_an_unknown_positive_class():
    with pytest.raises(ValueError, match=r"pos_label='c' is not a label of y, which holds \['a', 'b'\]"):
        ErrorProfile.from_predictions(["a", "b"], ["a", "b"], pos_label="c")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1, 1], "one weight for each sample"),
        ([1, -1], "must not be negative, got -1.0"),
        ([1, np.nan], "NaN or infinity"),
        ([1, np.inf], "NaN or infinity"),
        ([0, 0], "zero for every sample"),
        (1.0, "must be an array of 2 weights, got 1.0"),
        ([[1, 1]], "1D array"),
        ([0, 1], "needs both classes"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        ErrorProfile.from_predictions([0, 1], [0, 1], sample_weight=weight)


@pytest.mark.parametrize("share", ["0.1", None, 1j, [0.1]])
@pytest.mark.parametrize("name", ["fn", "fp", "pos"])
def test_shares_are_numbers(name, share):
    with pytest.raises(TypeError, match=f"{name} must be a number, a share of all samples, got"):
        ErrorProfile(**{"fn": 0.1, "fp": 0.1, "pos": 0.3} | {name: share})


@pytest.mark.parametrize("rate", ["0.1", None, 1.5, np.nan])
@pytest.mark.parametrize("name", ["tpr", "tnr", "pos"])
def test_rates_are_numbers_in_the_unit_interval(name, rate):
    with pytest.raises(ValueError, match=rf"{name} must be a number in \[0, 1\], got"):
        ErrorProfile.from_rates(**{"tpr": 0.5, "tnr": 0.5, "pos": 0.3} | {name: rate})


# ---------------------------------------------------------------- hulls


coordinate = st.floats(0.0, 1.0, allow_subnormal=False) | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
clouds = st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=20)
costs = st.tuples(st.floats(0.0, 10.0), st.floats(0.0, 10.0))


@given(points=clouds, c=costs)
def test_cheapest_is_the_cheapest_of_all_points(points, c):
    hull = Hull(points)
    assert hull.cheapest(*c) == pytest.approx(min(c[0] * x + c[1] * y for x, y in points), abs=1e-12)
    assert {tuple(point) for point in hull.points.tolist()} <= set(points)


@given(points=clouds)
def test_vertices_go_down_to_the_right_and_turn_left(points):
    x, y = Hull(points).points.T
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) < 0).all()
    turns = np.diff(x)[:-1] * np.diff(y)[1:] - np.diff(y)[:-1] * np.diff(x)[1:]
    assert (turns > 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_lower_left_part_of_scipys_hull(seed):
    rng = np.random.default_rng(seed)
    points = rng.random((200, 2)) ** rng.uniform(0.3, 3.0)
    full = ConvexHull(points)
    # Facets whose outward normal points down and left, and the vertices they join.
    facing = (full.equations[:, 0] < 0) & (full.equations[:, 1] < 0)
    expected = points[np.unique(full.simplices[facing])]
    assert Hull(points).points == pytest.approx(expected[np.argsort(expected[:, 0])])


@given(points=clouds, seed=st.integers(0, 100))
def test_order_and_copies_do_not_matter(points, seed):
    mixed = np.random.default_rng(seed).permutation(points + points)
    assert Hull(mixed) == Hull(points)
    assert hash(Hull(mixed)) == hash(Hull(points))
    assert Hull(Hull(points).points) == Hull(points)


def test_hulls_are_frozen_values():
    hull = Hull([(0.0, 0.5), (-0.0, 0.6), (0.3, -0.0)])
    assert hull == Hull([(0.0, 0.5), (0.3, 0.0)])
    assert hash(hull) == hash(Hull([(0.0, 0.5), (0.3, 0.0)]))
    assert pickle.loads(pickle.dumps(hull)) == hull
    assert hull != "hull"
    assert eval(repr(hull)) == hull
    with pytest.raises(ValueError, match="read-only"):
        hull.points[0, 0] = 1.0


def test_many_costs_at_once():
    hull = Hull([(0.0, 0.5), (0.1, 0.1), (0.3, 0.0)])
    assert hull.cheapest(np.array([1.0, 10.0]), np.array([10.0, 1.0])).tolist() == pytest.approx([0.3, 0.5])


# ---------------------------------------------------------------- unions


@given(parts=st.lists(clouds, min_size=1, max_size=6), seed=st.integers(0, 100))
def test_union_is_the_hull_of_all_points_in_any_order(parts, seed):
    hulls = [Hull(points) for points in parts]
    expected = Hull([point for points in parts for point in points])
    mixed = [hulls[i] for i in np.random.default_rng(seed).permutation(len(hulls))]
    # Points in rounding distance of an edge may stay or go; what is cheapest does not change.
    for union in (Hull.union(hulls), Hull.union(mixed)):
        for c in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (3.0, 1.0), (0.2, 1.0)):
            assert union.cheapest(*c) == pytest.approx(expected.cheapest(*c), abs=1e-12)


def test_growing_and_shrinking_sequences_are_merged_right():
    rng = np.random.default_rng(0)
    hulls = [Hull(rng.random((5, 2))) for _ in range(60)]
    for n in [*range(1, 61), *range(60, 0, -7)]:
        assert Hull.union(hulls[:n]) == Hull(np.concatenate([hull.points for hull in hulls[:n]]))


def test_memory_of_unions_is_small_and_never_mistakes_new_hulls_for_old_ones():
    """Python gives the addresses of dead objects to new ones: a key of addresses must keep its objects alive."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        hulls = [Hull(rng.random((3, 2))) for _ in range(4)]
        for n in range(1, 5):
            assert Hull.union(hulls[:n]) == Hull(np.concatenate([hull.points for hull in hulls[:n]]))
        del hulls
        gc.collect(0)
    assert len(module._UNIONS) <= 32


def test_unions_in_threads():
    def work(seed):
        rng = np.random.default_rng(seed)
        hulls = []
        for _ in range(100):
            hulls.append(Hull(rng.random((3, 2))))
            assert Hull.union(hulls) == Hull(np.concatenate([hull.points for hull in hulls]))
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


# ---------------------------------------------------------------- means


@given(parts=st.lists(clouds, min_size=1, max_size=4), weights=st.lists(st.floats(0.1, 1.0), min_size=4, max_size=4))
def test_mean_has_the_mean_support_function(parts, weights):
    """The cheapest mean of one profile a fold is the mean of the cheapest, for all costs."""
    hulls = [Hull(points) for points in parts]
    shares = np.array(weights[: len(hulls)])
    shares /= shares.sum()
    mean = Hull.mean(hulls, shares)
    for angle in np.linspace(0.0, np.pi / 2, 33):
        c = np.cos(angle), np.sin(angle)
        expected = sum(share * hull.cheapest(*c) for share, hull in zip(shares, hulls, strict=True))
        assert mean.cheapest(*c) == pytest.approx(expected, abs=1e-9)


@given(points=clouds)
def test_mean_with_itself_and_with_folds_that_do_not_count(points):
    hull, other = Hull(points), Hull([(0.9, 0.9), (1.0, 0.1)])
    for hulls, weights in (([hull, hull], [0.5, 0.5]), ([hull, other], [1.0, 0.0]), ([other, hull], [0.0, 1.0])):
        mean = Hull.mean(hulls, weights)
        for c in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (3.0, 1.0)):
            assert mean.cheapest(*c) == pytest.approx(hull.cheapest(*c), abs=1e-9)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("points", [[], [0.1, 0.2], [[0.1, 0.2, 0.3]], np.empty((0, 2)), [[[0.1, 0.2]]]])
def test_points_are_pairs(points):
    with pytest.raises(ValueError, match=r"points must have shape \(n_points, 2\) with n_points >= 1, got"):
        Hull(points)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_points_are_finite(bad):
    with pytest.raises(ValueError, match=r"points must be finite, got \[0\.2, -?(nan|inf)\]"):
        Hull([(0.1, 0.1), (0.2, bad)])


def test_points_are_numbers():
    with pytest.raises(ValueError, match="points must be an array of numbers"):
        Hull([("a", "b")])
