"""The sweep of one offset against all offsets tried one by one, against the sweep of two classes, and its ascent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csf.metrics import CONFUSION_METRICS, ConfusionFunction, CostMatrix, MicroF, get_confusion_metric
from csf.thresholding import sweep
from csf.thresholding.linear_rule import confusion_of, tune_rule
from csf.thresholding.offset_sweep import ascend, sweep_offset


def roots(confusion):
    """A metric of which only the value is known."""
    return float(np.sqrt(np.diag(confusion)).sum())


COSTS = np.array([[0.0, 1.0, 3.0], [2.0, -1.0, 1.0], [5.0, 4.0, 0.0]])
METRICS = [*map(get_confusion_metric, CONFUSION_METRICS), MicroF(null=1), CostMatrix(COSTS), ConfusionFunction(roots)]


def value_at(offsets, scores, codes, metric, weight):
    """Counted one entry after the other."""
    decided = [max(range(len(row)), key=lambda k: row[k]) for row in (scores + offsets).tolist()]
    return metric.value(confusion_of(codes, np.array(decided), scores.shape[1], weight))


@st.composite
def problems(draw, n_classes=3):
    """Scores with many ties, one of them infinite at times; classes may be absent; weights with zeros."""
    size = draw(st.integers(2, 12))
    row = st.lists(st.sampled_from([-2.0, -1.0, 0.0, 1.0, 3.0]), min_size=n_classes, max_size=n_classes)
    scores = np.array(draw(st.lists(row, min_size=size, max_size=size)))
    for column in draw(st.lists(st.integers(0, n_classes - 1), max_size=2)):
        scores[column % size] = np.where(np.arange(n_classes) == column, 0.0, -np.inf)
    codes = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=size, max_size=size)))
    weight = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=size, max_size=size)))
    weight[0] = 1.0
    return scores, codes, draw(st.sampled_from([None, weight]))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@settings(max_examples=40)
@given(problems(), st.integers(0, 2), st.sampled_from([0.0, 1.0]))
def test_best_of_all_offsets(metric, problem, code, other):
    """Scores are whole numbers, so offsets in the middle between them make all decisions."""
    scores, codes, weight = problem
    offsets = np.array([0.25, 0.5, 0.0]) * other
    tried = []
    for offset in np.arange(-8.125, 8.25, 0.25):
        offsets[code] = offset
        tried.append(value_at(offsets, scores, codes, metric, weight))
    found, value = sweep_offset(scores, codes, code, metric, offsets=offsets, weight=weight)
    assert value == pytest.approx(max(tried), abs=1e-12)
    offsets[code] = found
    assert value_at(offsets, scores, codes, metric, weight) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", ["balanced_accuracy", "mcc", "cohen_kappa", "gmean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_are_those_of_the_binary_sweep(name, weighted):
    rng = np.random.default_rng(0)
    is_pos = rng.random(300) < 0.2
    score = np.round(rng.normal(size=300) + is_pos, 1)
    weight = rng.integers(0, 5, 300) / 4 if weighted else None
    offset, value = sweep_offset(
        np.column_stack([0.0 * score, score]), is_pos * 1, 1, get_confusion_metric(name), weight=weight
    )
    best = sweep(is_pos, score, weight).best(name)
    assert value == pytest.approx(best.value, abs=1e-12)
    assert offset == pytest.approx(-best.threshold, abs=1e-12)


def test_what_rounding_leaves_of_a_class_is_nothing():
    """A recall just below 0 would count as none at all in a geometric mean, a negative share has no root."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        is_pos, score, weight = rng.random(40) < 0.5, rng.normal(size=40), rng.random(40)
        for name in ("gmean", "mcc"):
            metric, scores = get_confusion_metric(name), np.column_stack([0.0 * score, score])
            best = sweep(is_pos, score, weight).best(name).value
            for one in (metric, ConfusionFunction(metric.value)):
                assert sweep_offset(scores, is_pos * 1, 1, one, weight=weight)[1] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("block", [1, 1 << 16])
def test_of_equal_values_the_lowest_offset(block, monkeypatch):
    """Whether they lie in one block or in several."""
    monkeypatch.setattr("csf.thresholding.offset_sweep._BLOCK", block)
    scores, codes = np.column_stack([np.zeros(6), np.arange(6.0)]), np.array([0, 1, 0, 1, 0, 1])
    accuracy = get_confusion_metric("accuracy")
    for metric in (accuracy, ConfusionFunction(accuracy.value)):
        assert sweep_offset(scores, codes, 1, metric) == (-4.5, pytest.approx(4 / 6))


def wide(n_classes=5, size=3000):
    rng = np.random.default_rng(1)
    share = np.geomspace(1.0, 12.0, n_classes) / np.geomspace(1.0, 12.0, n_classes).sum()
    codes = rng.choice(n_classes, size, p=share)
    return rng.normal(size=(size, n_classes)) + np.eye(n_classes)[codes] + np.log(share), codes


@pytest.mark.parametrize("metric", METRICS[:-1], ids=lambda metric: metric.name)
def test_sums_say_what_whole_matrices_say(metric):
    """With weights that are no sums of powers of two, and all of a class wrong at one end."""
    rng = np.random.default_rng(0)
    codes, scores, weight = rng.integers(0, 3, 60), rng.normal(size=(60, 3)), rng.random(60) / 3
    for code in range(3):
        _, by_sums = sweep_offset(scores, codes, code, metric, weight=weight)
        _, by_matrices = sweep_offset(scores, codes, code, ConfusionFunction(metric.value), weight=weight)
        assert by_sums == pytest.approx(by_matrices, abs=1e-12)


@pytest.mark.parametrize("name", ["f1_macro", "quadratic_kappa"])
def test_no_single_offset_improves_what_the_ascent_found(name, monkeypatch):
    """Over many blocks of matrices."""
    monkeypatch.setattr("csf.thresholding.offset_sweep._BLOCK", 1000)
    (scores, codes), metric = wide(), get_confusion_metric(name)
    weight = np.random.default_rng(0).integers(0, 3, codes.size).astype(float)
    offsets = ascend(scores, codes, metric, weight)
    value = metric.value(confusion_of(codes, (scores + offsets).argmax(axis=1), 5, weight))
    for code in range(5):
        assert sweep_offset(scores, codes, code, metric, offsets=offsets, weight=weight)[1] == pytest.approx(value)
        for moved in (-0.3, 0.3):
            near = offsets + moved * (np.arange(5) == code)
            assert metric.value(confusion_of(codes, (scores + near).argmax(axis=1), 5, weight)) <= value
    repeated = ascend(np.repeat(scores, weight.astype(int), axis=0), np.repeat(codes, weight.astype(int)), metric)
    np.testing.assert_array_equal(repeated, offsets)


def test_one_round_gains_less_than_many_and_more_than_the_affine_rule_where_it_was_tuned():
    (scores, codes), metric = wide(), get_confusion_metric("f1_macro")
    proba = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    values = [
        metric.value(confusion_of(codes, (scores + offsets).argmax(axis=1), 5))
        for offsets in (np.zeros(5), ascend(scores, codes, metric, max_rounds=1), ascend(scores, codes, metric))
    ]
    assert values == sorted(set(values))
    assert values[-1] > metric.value(confusion_of(codes, tune_rule(proba, codes, metric).decide(proba), 5))
