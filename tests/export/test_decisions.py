"""Decisions as data: they and the scores of the base give what the search predicts, for every kind of problem."""

import copy
import json
import pickle

import numpy as np
import pytest
import skops.io
from builders_of_kinds import COSTS, KINDS, samples_of, search_of
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import csf
from csf import CostSearch
from csf.export import ScoreRule, decision_rule, read_rule
from csf.export.records import plain, restored
from csf.metrics import Review
from csf.thresholding.base import ScoredElsewhere
from csf.thresholding.rule import ThresholdRule


def of_threshold(reads, listed, null, threshold):
    """The rule of a threshold on scores of a base that lists its classes in this order."""
    source, names = ScoredElsewhere("Base", reads, np.array(listed)), np.sort(listed)
    return ScoreRule(ThresholdRule(source, names, names, null, reads, threshold))


def scores_of(search, rule, X):
    """What the winner answers to the method that the rule names."""
    if not hasattr(rule, "reads"):
        models = zip(search.best_estimator_.estimators_, rule.by_label)
        columns = [getattr(model, one.reads)(X) for model, one in models]
        return np.column_stack([each[:, 1] if each.ndim == 2 else each for each in columns])
    return getattr(search.best_estimator_, rule.reads)(X)


def beside(kind, X):
    """What a rule takes besides scores: costs that are numbers it knows."""
    return {"fn_cost": COSTS.table(X).fn} if kind.startswith("rows") else {}


def read_again(rule, path):
    rule.save(path / "rule.json")
    return read_rule(path / "rule.json")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_scores_and_the_file_give_the_predictions(kind, tmp_path):
    search, (X, _) = search_of(kind), samples_of(kind)
    expected, known = search.predict(X), beside(kind, X)
    for rule in (decision_rule(search), read_again(decision_rule(search), tmp_path)):
        decided = rule.decide(scores_of(search, rule, X), **known)
        np.testing.assert_array_equal(decided, expected)
        assert decided.dtype == expected.dtype
    assert np.unique(expected).size > 1
    assert read_again(rule, tmp_path).to_dict() == rule.to_dict()


LIMITED = {
    "two": 12,
    "two words": {"no": 0.05},
    "rows": 12,
    "rows demand": 12,
    "null class": 9,
    "classes": {1: 9, 2: 0.2},
    "classes cost matrix": {0: 9},
    "labels": {0: 5, 2: 0.1},
    "labels micro": {1: 5},
}
REVIEWS = {"a price": Review(cost=0.3), "a limit": Review(at_most=0.2), "few wrong": Review(cost=0.1, wrong=0.1)}


@pytest.mark.parametrize("kind", LIMITED)
def test_the_file_keeps_limits(kind, tmp_path):
    search, (X, _) = search_of(kind), samples_of(kind)
    rule, most, known = read_again(decision_rule(search), tmp_path), LIMITED[kind], beside(kind, X)
    decided = rule.decide(scores_of(search, rule, X), most, **known)
    np.testing.assert_array_equal(decided, search.predict(X, at_most=most))
    assert (decided != search.predict(X)).any()


WRONG = {"two": 0.4, "two words": 0.4, "rows": 0.4, "null class": 0.4, "classes": {2: 0.5}, "labels": {0: 0.4, 2: 0.5}}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"review": REVIEWS["a price"]}], ids=["plain", "reviews"])
@pytest.mark.parametrize("kind", [*WRONG, "two boosting"])
@pytest.mark.filterwarnings("ignore:no row can be an alert", "ignore:.*rows are alerts")
def test_the_file_keeps_limits_on_wrong_alerts(kind, options, tmp_path):
    search, (X, _) = search_of(kind, **options), samples_of(kind)
    wrong, known = WRONG.get(kind, 0.4), beside(kind, X)
    rule = read_again(decision_rule(search, wrong), tmp_path)
    scores, most = scores_of(search, rule, X), LIMITED.get(kind)
    decided = rule.decide(scores, **known)
    np.testing.assert_array_equal(decided, search.predict(X, wrong_at_most=wrong))
    np.testing.assert_array_equal(
        rule.decide(scores, most, **known), search.predict(X, at_most=most, wrong_at_most=wrong)
    )
    assert (decided != search.predict(X)).any()
    if options:
        answers = search.predict_with_review(X, wrong_at_most=wrong)
        np.testing.assert_array_equal(rule.decide_with_review(scores, **known), answers)


@pytest.mark.slow
@pytest.mark.parametrize("review", REVIEWS)
@pytest.mark.parametrize("kind", [*LIMITED, "two boosting", "classes boosting", "labels models"])
def test_the_file_answers_with_reviews(kind, review, tmp_path):
    search, (X, _) = search_of(kind, review=REVIEWS[review]), samples_of(kind)
    rule, known = read_again(decision_rule(search), tmp_path), beside(kind, X)
    scores, most = scores_of(search, rule, X), LIMITED.get(kind)
    np.testing.assert_array_equal(rule.decide(scores, **known), search.predict(X))
    answers = rule.decide_with_review(scores, **known)
    np.testing.assert_array_equal(answers, search.predict_with_review(X))
    assert (answers == "review").any()
    limited = search.predict_with_review(X, at_most=most)
    np.testing.assert_array_equal(rule.decide_with_review(scores, most, **known), limited)


def by_words(rule, scores, threshold=None):
    """Labels by the words of a rule's record alone, row by row."""
    if "rules" in rule:
        parts = [*zip(rule["rules"], rule["threshold"], strict=True)]
        return [[by_words(one, [s], cut)[0] for (one, cut), s in zip(parts, row)] for row in scores.tolist()]
    listed, names, null = rule["estimator"]["classes_"], rule["names"], rule["null"]
    is_decision, answers = rule["estimator"]["reads"] == "decision_function", []
    for row in scores if isinstance(scores, list) else scores.tolist():
        if len(listed) == 2:
            found = listed[1 - listed.index(null)]
            s = row if np.ndim(row) == 0 else row[listed.index(found)]
            s = -s if is_decision and listed[-1] == null else s
        else:
            known = dict(zip(listed, row))
            g, f = known[null], max(p for name, p in known.items() if name != null)
            found = next(name for name in names if known[name] == f and name != null)
            s = f - g if is_decision else (f / (f + g) if f + g else 0.5)
        answers.append(found if s >= (rule["threshold"] if threshold is None else threshold) else null)
    return answers


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith(("rows", "classes"))])
def test_the_words_of_the_file_give_the_predictions(kind, tmp_path):
    search, (X, _) = search_of(kind), samples_of(kind)
    rule = decision_rule(search)
    rule.save(tmp_path / "rule.json")
    record = json.loads((tmp_path / "rule.json").read_text(encoding="utf-8"))
    assert np.array(by_words(record["rule"], scores_of(search, rule, X))).tolist() == search.predict(X).tolist()


def test_the_rule_names_the_winner_of_several_models():
    for kind in ("two models", "classes models", "rows models"):
        search = search_of(kind)
        rule = decision_rule(search)
        assert hasattr(search.best_estimator_, rule.reads)
        assert rule.base == type(search.best_estimator_).__name__
    estimators = search_of("labels models").best_estimator_.estimators_
    rule = decision_rule(search_of("labels models"))
    assert [each.base for each in rule.by_label] == [type(one).__name__ for one in estimators]
    for name, differ in (("base", "are of several classes"), ("reads", "are asked for scores by several methods")):
        with pytest.raises(AttributeError, match=rf"labels {differ}, \[.*\]: by_label has a rule for each"):
            getattr(rule, name)


@pytest.mark.parametrize("metric", ["f1_macro", "f1_micro", "f1_samples"])
@pytest.mark.parametrize("last", [LogisticRegression(), LinearSVC(), GaussianNB()])
def test_one_method_has_the_scores_of_all_labels(metric, last, tmp_path):
    X, y = samples_of("labels")
    base = make_pipeline(StandardScaler(), last)
    search = CostSearch(base, metric, cv=3, param_grid=None, n_trials=1).fit(X, y)
    for rule in (decision_rule(search), read_again(decision_rule(search), tmp_path)):
        assert rule.base == type(last).__name__
        assert rule.reads == ("predict_proba" if isinstance(last, GaussianNB) else "decision_function")
        scores = getattr(search.best_estimator_, rule.reads)(X)
        assert scores.shape == y.shape
        np.testing.assert_array_equal(rule.decide(scores), search.predict(X))


SCORES = {
    "decision_function": st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.25, np.inf]),
    "predict_proba": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
}


@given(data=st.data(), reads=st.sampled_from([*SCORES]), null=st.sampled_from(["a", "b", "c"]))
def test_of_ties_the_first_class_is_best(data, reads, null):
    """Whatever the order of the columns; also where the threshold is infinite."""
    threshold = data.draw(st.sampled_from([-np.inf, -0.25, 0.0, 0.5, np.inf]))
    listed = data.draw(st.permutations(["a", "b", "c"]))
    row = st.lists(SCORES[reads].filter(np.isfinite), min_size=3, max_size=3)
    if reads == "predict_proba":
        row = row.filter(lambda p: sum(p) == 1.0)
    scores = data.draw(st.lists(row, min_size=1, max_size=5))
    rule = of_threshold(reads, listed, null, threshold)
    again = restored(json.loads(json.dumps(rule.to_dict(), allow_nan=False)))
    expected = rule.decide(scores).tolist()
    assert again.decide(scores).tolist() == expected
    assert by_words(rule.to_dict()["rule"], scores) == expected


@given(score=st.lists(SCORES["decision_function"], min_size=1), threshold=SCORES["decision_function"])
def test_infinite_scores_and_thresholds_of_two_classes(score, threshold):
    rule = of_threshold("decision_function", [0, 1], 0, threshold)
    again = restored(json.loads(json.dumps(rule.to_dict(), allow_nan=False)))
    assert again.decide(score).tolist() == [int(each >= threshold) for each in score]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.1, 0.2, 0.3]], r"what Base.predict_proba answers for 2 classes, got \(1, 3\)"),
        (0.5, r"for 2 classes, got \(\)"),
        ([0.1, np.nan], "NaN in 1 places"),
    ],
)
def test_scores_of_another_shape_are_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        of_threshold("predict_proba", [0, 1], 0, 0.3).decide(scores)
    with pytest.raises(ValueError, match=r"a column for each of 3 labels, got \(3,\)"):
        decision_rule(search_of("labels")).decide([0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "it holds none"),
        ("{", "cannot read .*rule.json as a rule"),
        ('{"rule": "positive where sum(coef * features) + ...", "coef": [1.0]}', "version 1, and this csf reads 2"),
        ('{"words": "", "version": 3}', "version 3, and this csf reads 2"),
        ('{"words": "", "version": 2, "type": "Hours"}', "no file holds what Hours decides by"),
        ('{"words": "", "version": 2, "type": "LinearRule"}', "TypeError: .*missing"),
    ],
)
def test_what_is_no_rule_is_refused(content, message, tmp_path):
    (tmp_path / "rule.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_rule(tmp_path / "rule.json")
    with pytest.raises(FileNotFoundError):
        read_rule(tmp_path / "none.json")


@pytest.mark.parametrize("pos_label", ["a", "b"])
def test_ties_of_a_base_that_decides_by_itself(pos_label):
    """Of equal scores its decision is the first class."""
    X, y = np.arange(8.0)[:, None] // 4, np.array(["a", "b"] * 4)
    for base in (DecisionTreeClassifier(), DummyClassifier(strategy="prior")):
        search = CostSearch(base, threshold=None, pos_label=pos_label, n_trials=1, param_grid=None, cv=2).fit(X, y)
        rule = decision_rule(search)
        assert rule.decide(scores_of(search, rule, X)).tolist() == search.predict(X).tolist() == ["a"] * 8


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
    with pytest.raises(TypeError, match="Silent has no scores, it decides alone; export best_estimator_ itself"):
        decision_rule(silent)


def test_numbers_come_back_in_their_precision():
    """Limits on wrong alerts compare scores up to the last digits of the held-out ones."""
    for numbers in (np.array([0.1, -np.inf, np.inf], dtype=np.float32), None):
        again = restored(json.loads(json.dumps(plain({"a": numbers}), allow_nan=False)))["a"]
        np.testing.assert_array_equal(again, numbers)
        assert getattr(again, "dtype", None) == getattr(numbers, "dtype", None)


@pytest.mark.parametrize("saved", ["pickle", "skops", "pickled rule"])
@pytest.mark.parametrize("kind", ["two", "rows", "classes"])
def test_what_another_version_saved_is_refused(kind, saved, tmp_path):
    """Its objects lack what those of this version have, as deep as they are."""
    search = copy.deepcopy(search_of(kind))
    message = (
        r"saved by another version of csf, whose \w+ has no 'method|precision'; train and save it again, or load it"
    )
    lost = "precision" if kind == "classes" else "method"
    if saved == "pickled rule":
        rule = decision_rule(search)
        del vars(rule.rule)[lost]
        with pytest.raises(ValueError, match=message):
            pickle.loads(pickle.dumps(rule))
        return
    del vars(search._rule)[lost]
    if saved == "pickle":
        with pytest.raises(ValueError, match=message):
            pickle.loads(pickle.dumps(search))
        return
    skops.io.dump(search, tmp_path / "model.skops")
    with pytest.raises(ValueError, match="cannot read .*model.skops: it was " + message):
        csf.load(tmp_path / "model.skops")
