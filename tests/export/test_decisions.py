"""Decisions as data: they and the scores of the base give what the search predicts, for every kind of problem."""

import json

import numpy as np
import pytest
from builders_of_kinds import COSTS, KINDS, samples_of, search_of
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.export import LabelRules, ScoreRule, decision_rule


def scores_of(search, rule, X):
    """What the winner answers to the method that the rule names."""
    if isinstance(rule, LabelRules):
        models = zip(search.best_estimator_.estimators_, rule.rules)
        columns = [getattr(model, one.reads)(X) for model, one in models]
        return np.column_stack([each[:, 1] if each.ndim == 2 else each for each in columns])
    return getattr(search.best_estimator_, rule.reads)(X)


def costs_of(kind, X):
    """Costs that a rule takes besides scores."""
    if not kind.startswith("rows"):
        return {}
    table = COSTS.table(X)
    return {"fn": table.fn, "fp": table.fp, "tp": table.tp, "tn": table.tn}


@pytest.mark.parametrize("kind", KINDS)
def test_scores_and_the_rule_give_the_predictions(kind):
    search, (X, _) = search_of(kind), samples_of(kind)
    rule, expected = decision_rule(search), search.predict(X)
    decided = rule.decide(scores_of(search, rule, X), **costs_of(kind, X))
    np.testing.assert_array_equal(decided, expected)
    assert decided.dtype == expected.dtype
    assert np.unique(expected).size > 1


def by_words(record, scores):
    """Labels by the words of a record alone, row by row."""
    if "labels" in record:
        return [[by_words(one, [s])[0] for one, s in zip(record["labels"], row)] for row in scores.tolist()]
    classes, null = record["classes"], record["null"]
    answers = []
    for row in scores if isinstance(scores, list) else scores.tolist():
        if len(classes) == 2:
            found = classes[1 - classes.index(null)]
            s = row if np.ndim(row) == 0 else row[classes.index(found)]
            s = -s if record["reads"] == "decision_function" and classes[-1] == null else s
        else:
            g, f = row[classes.index(null)], max(p for p, name in zip(row, classes) if name != null)
            found = next(name for p, name in zip(row, classes) if p == f and name != null)
            s = f - g if record["reads"] == "decision_function" else (f / (f + g) if f + g else 0.5)
        answers.append(found if s >= record["threshold"] else null)
    return answers


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith(("rows", "classes"))])
def test_the_words_of_the_file_give_the_predictions(kind, tmp_path):
    search, (X, _) = search_of(kind), samples_of(kind)
    rule = decision_rule(search)
    rule.save(tmp_path / "rule.json")
    record = json.loads((tmp_path / "rule.json").read_text(encoding="utf-8"))
    assert np.array(by_words(record, scores_of(search, rule, X))).tolist() == search.predict(X).tolist()


def test_the_rule_names_the_winner_of_several_models():
    for kind in ("two models", "classes models", "rows models"):
        search = search_of(kind)
        assert hasattr(search.best_estimator_, decision_rule(search).reads)
    record = decision_rule(search_of("two models")).to_dict()
    assert record["base"] == type(search_of("two models").best_estimator_).__name__
    labels = decision_rule(search_of("labels models")).to_dict()["labels"]
    estimators = search_of("labels models").best_estimator_.estimators_
    assert [each["base"] for each in labels] == [type(one).__name__ for one in estimators]


@given(
    scores=st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=3, max_size=3), min_size=1, max_size=5),
    reads=st.sampled_from(["decision_function", "predict_proba"]),
    null=st.sampled_from(["a", "b", "c"]),
    threshold=st.sampled_from([-np.inf, -0.25, 0.0, 0.5, np.inf]),
)
def test_of_ties_the_first_class_is_best(scores, reads, null, threshold):
    rule = ScoreRule("Base", reads, np.array(["a", "b", "c"]), null, threshold)
    assert rule.decide(scores).tolist() == by_words(rule.to_dict(), scores)


def test_an_infinite_threshold_is_valid_json():
    rule = ScoreRule("Base", "decision_function", np.array([0, 1]), 0, np.inf)
    assert json.loads(json.dumps(rule.to_dict(), allow_nan=False))["threshold"] > 1e300


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.1, 0.2, 0.3]], r"what Base.predict_proba answers for 2 classes, got \(1, 3\)"),
        (0.5, r"for 2 classes, got \(\)"),
        ([0.1, np.nan], "NaN in 1 places"),
    ],
)
def test_scores_of_another_shape_are_refused(scores, message):
    rule = ScoreRule("Base", "predict_proba", np.array([0, 1]), 0, 0.3)
    with pytest.raises(ValueError, match=message):
        rule.decide(scores)
    with pytest.raises(ValueError, match=r"a column for each of 2 labels, got \(3,\)"):
        LabelRules(["a", "b"], (rule, rule)).decide([0.1, 0.2, 0.3])


class Silent(ClassifierMixin, BaseEstimator):
    """Classifier without scores."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]


def test_what_has_no_decision_on_scores_is_refused():
    X, y = samples_of("two")
    with pytest.raises(ValueError, match="refit=False"):
        decision_rule(search_of("two", refit=False))
    with pytest.raises(TypeError, match=r"must be a fitted csf\.CostSearch"):
        decision_rule(LinearSVC())
    silent = CostSearch(Silent(), threshold=None, n_trials=1, param_grid=None, cv=2).fit(X, y)
    with pytest.raises(TypeError, match="Silent has no scores; export best_estimator_ itself"):
        decision_rule(silent)
