"""Held-out results and their intervals, and words for what a search found."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import csf
from csf.metrics import Averaged, FBeta, GMean, Incomplete, get_confusion_metric, get_metric
from csf.plots.words import base_name, parameter_names, short, spread
from csf.report.held_out import JUDGES, HeldOut, confusion, label_scores


def judged_as(kind, metric, truth, answers, weight=None, **about):
    """Judge predictions beside a search that has this metric."""
    about = {"classes_": np.arange(2), "label_names_": np.arange(2), "searches_": [], **about}
    result = SimpleNamespace(read_metric=lambda _: metric, constraint=None, segmented=None)
    search = SimpleNamespace(result_=result, metric="", **about)
    return JUDGES[kind].of(search).judge(HeldOut(None, truth, weight, answers, []))


def judge(metric, null, truth, answers, *, promised=False, weight=None):
    about = {"null_class_": null, "pos_label_": 1, "confidence": 0.9 if promised else None}
    return judged_as("binary", metric, truth, answers, weight, **about)


def judge_classes(metric, classes, truth, answers, weight=None):
    return judged_as("multiclass", metric, truth, answers, weight, classes_=classes)


def judge_labels(metric, truth, answers, weight=None):
    return judged_as("multilabel", metric, truth, answers, weight)


def answers(n=400, seed=0):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.3).astype(int)
    noisy = np.where(rng.random(n) < 0.2, 1 - truth, truth)
    worse = np.where(rng.random(n) < 0.4, 1 - truth, truth)
    return truth, {"noisy": noisy, "worse": worse}


def test_values_and_differences_are_those_of_the_metric():
    truth, predicted = answers()
    noisy, worse = judge(FBeta(), 0, truth, predicted)
    expected = [f1_score(truth, column) for column in predicted.values()]
    assert [noisy.value, worse.value] == pytest.approx(expected)
    assert worse.difference == pytest.approx(expected[0] - expected[1])
    assert noisy.difference == 0
    assert noisy.interval[0] < noisy.value < noisy.interval[1]
    assert worse.difference_interval[0] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f1", "gmean", "mcc", "accuracy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_places_give_the_same_intervals(name, weighted):
    truth, predicted = answers()
    weight = np.random.default_rng(2).integers(1, 4, truth.size).astype(float) if weighted else None
    for judged in judge(get_metric(name), 0, truth, predicted, weight=weight):
        assert judged.interval == csf.metric_interval(truth, predicted[judged.name], name, sample_weight=weight)
        pair = predicted["noisy"], predicted[judged.name]
        expected = csf.metric_difference(truth, *pair, name, sample_weight=weight)
        assert (judged.difference, *judged.difference_interval) == expected
    if name != "f1":
        first, _ = judge_classes(get_confusion_metric(name), np.arange(2), truth, predicted, weight=weight)
        assert first.interval == pytest.approx(
            csf.metric_interval(truth, predicted["noisy"], name, sample_weight=weight)
        )


def test_intervals_of_no_share_are_those_of_resampled_rows():
    truth, predicted = answers()
    (judged, _) = judge(FBeta(2.0), 0, truth, predicted)
    rng = np.random.default_rng(1)
    rows = rng.integers(0, truth.size, (2000, truth.size))
    t, p = truth[rows], predicted["noisy"][rows]
    values = 5 * (t & p).sum(axis=1) / (4 * t.sum(axis=1) + p.sum(axis=1))
    assert judged.interval == pytest.approx(np.quantile(values, [0.05, 0.95]), abs=0.015)


def test_weights_count_like_repeated_rows_in_the_value():
    truth, predicted = answers(100)
    weight = np.random.default_rng(2).integers(1, 4, truth.size)
    weighted = judge(FBeta(), 0, truth, predicted, weight=weight.astype(float))
    repeated = [f1_score(np.repeat(truth, weight), np.repeat(column, weight)) for column in predicted.values()]
    assert [one.value for one in weighted] == pytest.approx(repeated)


@pytest.mark.parametrize("average", ["macro", "micro", "samples"])
def test_several_labels_are_judged_by_their_average(average):
    rng = np.random.default_rng(3)
    truth, noise = rng.integers(0, 2, (300, 3)), rng.random((300, 3)) < 0.3
    truth[:, 2] = 0  # a label that no sample has counts as in scikit-learn
    weight = rng.integers(1, 4, 300).astype(float)
    noisy, right = judge_labels(
        Averaged(FBeta(), average), truth, {"it": truth ^ noise, "right": truth > 0}, weight=weight
    )
    options = {"average": average, "sample_weight": weight, "zero_division": 0.0}
    assert noisy.value == pytest.approx(f1_score(truth, truth ^ noise, **options))
    assert noisy.interval[0] < noisy.value < noisy.interval[1]
    assert right.difference == pytest.approx(noisy.value - right.value)
    assert right.difference_interval[1] < 0
    with pytest.raises(ValueError, match=r"'sure' must predict 0 or 1 for each label, got 0\.5"):
        judge_labels(Averaged(FBeta(), average), truth, {"sure": np.full(truth.shape, 0.5)})


def test_several_classes_with_nothing_to_find_count_wrong_ones_as_missed():
    truth, predicted = np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2])
    (judged,) = judge(FBeta(), 0, truth, {"it": predicted})
    assert judged.value == pytest.approx(2 * 1 / (2 * 1 + 1 + 1))


def test_a_single_positive_tells_little():
    truth = np.array([0] * 20 + [1])
    (judged,) = judge(GMean(), 0, truth, {"it": truth})
    assert judged.interval[0] < 0.5
    assert judged.interval[1] == judged.value == 1.0


def test_data_of_one_class_have_no_value():
    (judged,) = judge(GMean(), 0, np.zeros(20, dtype=int), {"it": np.zeros(20, dtype=int)})
    assert np.isnan([judged.value, *judged.interval]).all()


def test_a_class_that_only_a_rival_predicts_counts_for_it_alone():
    truth, right = np.repeat([0, 1, 2], 20), np.repeat([0, 1, 2, 1], [20, 20, 15, 5])
    rival = np.where(np.arange(60) % 7, truth, 5)
    mine, other = judge_classes(get_confusion_metric("f1_macro"), np.arange(3), truth, {"it": right, "rival": rival})
    assert mine.value == pytest.approx(f1_score(truth, right, average="macro"))
    assert other.value == pytest.approx(f1_score(truth, rival, average="macro"))


def test_intervals_of_shares_are_exact():
    truth, predicted = answers()
    tp, errors = (truth & predicted["noisy"]).sum(), (truth != predicted["noisy"]).sum()
    ends = {promised: judge(FBeta(), 0, truth, predicted, promised=promised)[0].interval for promised in (False, True)}
    for promised, more in ((False, 0.5), (True, 1.0)):
        low = beta.ppf(0.05, tp + 1.0 - more, errors + more)
        high = beta.ppf(0.95, tp + more, errors + 1.0 - more)
        assert ends[promised] == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)))
    assert judge(FBeta(), 0, truth, predicted, weight=np.ones(truth.size))[0].interval == ends[False]


def test_of_several_classes_accuracy_has_an_exact_interval():
    truth, predicted = np.repeat([0, 1, 2], 20), np.repeat([0, 1, 2, 1], [20, 20, 15, 5])
    (judged,) = judge_classes(get_confusion_metric("accuracy"), np.arange(3), truth, {"it": predicted})
    assert judged.interval == pytest.approx(tuple(beta.ppf([0.05, 0.95], 55.5, 5.5)))


def test_values_parameters_and_bases_are_short_texts():
    found = short("a" * 10, 5), short(0.1 + 0.2), spread((0.1, 0.25)), spread(None)
    assert found == ("aaaa…", "0.3", "0.100 to 0.250", "")
    names = parameter_names(["classifier__C", "scale__copy", "scale__clip__copy"])
    assert list(names.values()) == ["C", "scale__copy", "scale__clip__copy"]
    assert base_name(make_pipeline(StandardScaler(), LinearSVC())) == "StandardScaler, LinearSVC"


@pytest.mark.parametrize("positive", [0, 1])
def test_tables_of_classes_and_labels_are_of_the_truth(positive):
    truth, predicted = answers()
    truth, found = np.repeat(truth, 10), np.repeat(predicted["noisy"], 10)
    # Of each ten rows that are alike three have the wrong label if they are positive, and one if they are negative.
    y = np.where(np.tile(np.arange(10), 400) < np.where(truth == positive, 3, 1), 1 - truth, truth)
    metric = Incomplete("f1", missed=0.3, false=0.1)
    X = np.random.default_rng(0).normal(size=(len(y), 2)) + truth[:, None]
    options = {"n_trials": 1, "param_grid": None, "cv": 3}

    def tables(metric, labels):
        search = csf.CostSearch(LogisticRegression(), metric, pos_label=positive, **options).fit(X, labels)
        return confusion(search, HeldOut(X, labels, None, {"found": found}, []))

    known, expected = tables(metric, y), tables("f1", truth)
    for (label, cells), (name, others) in zip(known.rows, expected.rows, strict=True):
        assert label == name
        np.testing.assert_allclose(cells, others)
    for (label, *numbers, scores), (name, *others, values) in zip(known.scores, expected.scores, strict=True):
        assert (label, *numbers) == (name, *map(pytest.approx, others))
        assert scores == pytest.approx(values)
    if positive:
        several = np.column_stack([y, truth])

        def of_labels(metric, labels):
            search = csf.CostSearch(LogisticRegression(), Averaged(metric, "micro"), **options).fit(X, labels)
            return label_scores(search, HeldOut(X, labels, None, {"found": np.column_stack([found, found])}, []))

        first, other = (of_labels(*each)[0] for each in ((metric, several), (FBeta(), np.column_stack([truth, truth]))))
        assert first[1:5] == pytest.approx(other[1:5])
        assert first[5] == pytest.approx(other[5])
