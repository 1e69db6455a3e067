"""The page of several classes that are all alike."""

import re

import numpy as np
import pytest
from builders_of_reports import fitted, page_of
from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score

from csf import CostSearch
from csf.metrics import get_confusion_metric
from csf.plots import ConeDisplay, ProgressDisplay, ThresholdCurveDisplay
from csf.report.checks import findings
from csf.report.held_out import held_out, judge_classes
from csf.report.search import class_data
from csf.thresholding import LinearRule


@pytest.fixture(scope="module")
def held():
    """A search, and held-out data with weights."""
    search, X, y = fitted("classes")
    weight = np.random.default_rng(0).integers(0, 4, y.size).astype(float)
    return search, held_out(search, X, y, weight, {"rare": np.full_like(y, 2)})


def test_the_page_tells_values_matrices_and_what_decides(tmp_path):
    search, X, y = fitted("classes")
    search.report(tmp_path / "r.html", X, y, rivals={"rare": np.full_like(y, 2)})
    _, words, _ = page_of(tmp_path / "r.html")
    low, high = search.score_interval_
    assert re.search(rf"cross-validated.*{search.corrected_score_:.3f}\s+{low:.3f} to {high:.3f}", words, re.S)
    assert f"{f1_score(y, search.predict(X), average='macro'):.3f}  f1_macro, held-out" in words
    assert "No upper bound is given" in words
    assert "rare" in words
    for count in confusion_matrix(y, search.predict(X)).ravel():
        assert f" {count} " in words or f" {count} (" in words


def test_matrices_and_scores_of_classes_are_those_of_scikit_learn(held):
    search, data = held
    told = class_data(search, data, ())
    y, predicted, weight = data.y, search.predict(data.X), data.weight
    counts = [[count for count, _, _ in row] for _, row in told["matrix"]["rows"]]
    np.testing.assert_allclose(counts, confusion_matrix(y, predicted, sample_weight=weight))
    options = {"average": None, "sample_weight": weight}
    expected = [score(y, predicted, **options) for score in (recall_score, precision_score, f1_score)]
    np.testing.assert_allclose([values for *_, values in told["matrix"]["scores"]], np.transpose(expected))
    out = np.array([[count for count, _, _ in row] for _, row in told["out_of_fold"]["rows"]])
    np.testing.assert_allclose(out.sum(axis=1), search.class_count_)
    assert get_confusion_metric("f1_macro").value(out / out.sum()) == pytest.approx(search.best_score_)
    values = np.array(told["values"])
    assert search.best_score_ == pytest.approx(values[1 if search.rule_.kind == "affine" else 0][search.best_index_])


def test_classifiers_are_judged_by_the_metric_of_the_matrix(held):
    search, data = held
    metric = get_confusion_metric("mcc")
    own, rare = judge_classes(metric, search.classes_, data.y, data.answers, data.weight)
    counts = confusion_matrix(data.y, data.answers["this search"], sample_weight=data.weight)
    assert own.value == pytest.approx(metric.value(counts / counts.sum()))
    assert own.interval[0] < own.value < own.interval[1]
    assert (rare.value, rare.difference) == (0.0, pytest.approx(own.value))
    assert rare.difference_interval == pytest.approx(own.interval)
    with pytest.raises(ValueError, match=r"'odd' predicts the labels \[7\], the search knows \[0, 1, 2\]"):
        judge_classes(metric, search.classes_, data.y, {"odd": np.full_like(data.y, 7)})


def with_rule(rule, **attributes):
    search = fitted("classes")[0]
    other = CostSearch(search.base, search.metric)
    vars(other).update(vars(search) | {"rule_": rule} | attributes)
    return other


@pytest.mark.parametrize(
    ("rule", "words", "columns", "matrix"),
    [
        (LinearRule.argmax(3), "its own decision", 1, False),
        (LinearRule(np.ones(3), np.zeros(3)), "the largest a p − b", 3, False),
        (LinearRule(np.ones(3), np.zeros(3), np.eye(3)), "the largest sum of G(j, k) p(j)", 1, True),
    ],
)
def test_what_decides_is_told_in_words_and_numbers(rule, words, columns, matrix, tmp_path):
    search = with_rule(rule)
    told = class_data(search, None, ())
    assert {len(numbers) for *_, numbers in told["rule"]["rows"]} == {columns}
    assert (told["rule"]["matrix"] is not None) == matrix
    search.report(tmp_path / "r.html")
    assert words in page_of(tmp_path / "r.html")[1]
    assert ("The matrix G" in page_of(tmp_path / "r.html")[1]) == matrix


def test_rare_classes_are_named():
    rare = with_rule(LinearRule.argmax(3), class_count_=np.array([300, 24, 25]))
    found, unseen = findings(rare)
    assert (found.code, unseen.code) == ("CSF001", "CSF010")
    assert found.text.startswith("Fewer than 25 samples of “1”: ")
    assert findings(with_rule(LinearRule.argmax(3)), mute=["CSF010"]) == []


@pytest.mark.parametrize("display", [ConeDisplay, ProgressDisplay, ThresholdCurveDisplay])
def test_what_is_drawn_of_costs_and_cuts_says_what_there_is_instead(display):
    with pytest.raises(ValueError, match=r"ConfusionMatrixDisplay\(search\.confusion_"):
        display.from_estimator(fitted("classes")[0])
