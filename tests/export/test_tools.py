"""What is exported predicts what the search does, where csf is not installed."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from builders import paper_search
from builders_of_reports import fitted
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.export import decision_rule, fixed_threshold, linear_rule, read_rule, to_onnx
from csf.metrics import CostMatrix, Review
from csf.thresholding.linear_rule import ClassProbabilityRule

N = 100_000
BASES = {
    "svm": LinearSVC(),
    "logistic": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "twice": make_pipeline(MinMaxScaler(), MaxAbsScaler(), StandardScaler(with_mean=False), LinearSVC()),
}
LABELS = {
    "numbers": [0, 1],
    "signs": [-1, 1],
    "words": ["no", "yes"],
    "second first": ["z", "a"],
    "bools": [False, True],
}


def searched(base, labels, **options):
    X, y = make_classification(500, 6, weights=[0.8], flip_y=0.1, random_state=0)
    names = np.array(labels)
    options = {"n_trials": 3, "param_grid": None, "cv": 3} | options
    return paper_search(base, pos_label=names[1].item(), **options).fit(3 * X + 1, names[y])


def new_rows():
    return np.random.default_rng(1).normal(1, 4, (N, 6))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("labels", LABELS)
def test_all_exports_agree_with_the_search(base, labels):
    search, X = searched(BASES[base], LABELS[labels]), new_rows()
    expected = search.predict(X)
    assert 0 < np.mean(expected == search.pos_label_) < 1
    np.testing.assert_array_equal(linear_rule(search).predict(X), expected)
    model = fixed_threshold(search)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert set(model.classes_.tolist()) == set(search.classes_.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS)
def test_onnx_agrees_with_the_search(labels, without_csf, tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    search, X = searched(BASES["scaled"], LABELS[labels]), new_rows()
    (tmp_path / "model.onnx").write_bytes(to_onnx(search).SerializeToString())
    np.save(tmp_path / "new.npy", X)
    without_csf(
        """
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
label, score = session.run(None, {"X": np.load("new.npy")})
np.savez("found.npz", label=label.astype(str) if label.dtype == object else label, score=score)
""",
        tmp_path,
    )
    found = np.load(tmp_path / "found.npz")
    np.testing.assert_array_equal(found["label"].astype(search.classes_.dtype), search.predict(X))
    np.testing.assert_array_equal(found["score"] >= 0, search.predict(X) == search.pos_label_)


PICKLED = """
import pickle
import numpy as np
np.save("model.npy", pickle.load(open("model.pickle", "rb")).predict(np.load("new.npy")))
"""


BY_HAND = """
import json
import numpy as np

rule, X = json.load(open("rule.json")), np.load("new.npy")
is_pos = X @ np.array(rule["coef"]) + rule["intercept"] >= rule["threshold"]
np.save("labels.npy", np.where(is_pos, rule["positive"], rule["negative"]))
"""


@pytest.mark.slow
def test_a_rule_of_numbers_and_a_pickled_classifier_need_nothing_of_csf(without_csf, tmp_path):
    search, X = searched(BASES["scaled"], LABELS["words"]), new_rows()
    linear_rule(search).save(tmp_path / "rule.json")
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(fixed_threshold(search)))
    np.save(tmp_path / "new.npy", X)
    without_csf(f"{BY_HAND}\n{PICKLED}", tmp_path)
    for name in ("labels.npy", "model.npy"):
        np.testing.assert_array_equal(np.load(tmp_path / name), search.predict(X))


def test_the_base_s_own_decision_is_kept():
    search, X = searched(LinearSVC(), [0, 1], threshold=None), new_rows()
    for model in (linear_rule(search), fixed_threshold(search)):
        np.testing.assert_array_equal(model.predict(X), search.predict(X))


def test_a_model_that_is_fitted_already_may_have_the_positive_class_first():
    X, y = make_classification(500, 6, weights=[0.8], flip_y=0.1, random_state=0)
    names = np.array(["z", "a"])[y]
    search = paper_search(LinearSVC().fit(X, names), cv="prefit", pos_label="a").fit(X, names)
    expected = search.predict(new_rows())
    assert 0 < np.mean(expected == "a") < 1
    for model in (linear_rule(search), fixed_threshold(search)):
        np.testing.assert_array_equal(model.predict(new_rows()), expected)


def test_a_rule_is_valid_json_with_any_cut():
    search = searched(LinearSVC(), [0, 1])
    search.best_threshold_ = np.inf
    record = json.loads(json.dumps(linear_rule(search).to_dict(), allow_nan=False))
    assert record["threshold"] > 1e300


@pytest.mark.parametrize("bands", [(-np.inf, np.inf), (np.inf, -np.inf), (0.25, np.inf), (0.25, 0.5)])
def test_three_answers_are_valid_json_and_each_limit_is_another(bands):
    X, y = make_classification(300, 6, weights=[0.7], random_state=0)
    options = {"n_trials": 1, "param_grid": None, "cv": 2, "review": Review(cost=0.1)}
    search = CostSearch(LogisticRegression(), **options).fit(X, y)
    search._bands = replace(search._bands, lower=bands[0], upper=bands[1])
    record = json.loads(json.dumps(decision_rule(search).to_dict(), allow_nan=False))
    score, reviews = search.score_samples(X), record["reviews"]
    # As the words say, without a special case.
    names = np.array([1, 0, "review"], dtype=object)
    by_hand = names[np.select([score >= reviews["upper"], score < reviews["lower"]], [0, 1], 2)]
    np.testing.assert_array_equal(by_hand, search.predict_with_review(X))
    assert (reviews["lower"], reviews["upper"]) == tuple(np.nan_to_num(bands))


@pytest.mark.parametrize("threshold", [np.inf, -np.inf, 0.5])
def test_rules_of_costs_are_valid_json(threshold):
    X, y = make_classification(300, 6, weights=[0.7], random_state=0)
    options = {"n_trials": 1, "param_grid": None, "cv": 2, "review": Review(wrong=0.2)}
    search = CostSearch(LogisticRegression(), "cost", **options).fit(X, y, fn_cost=3.0, fp_cost=np.abs(X[:, 0]))
    search.best_threshold_ = threshold
    record = json.loads(json.dumps(decision_rule(search).to_dict(), allow_nan=False))
    assert record["reviews"]["extra_cost"] > 1e300  # for the limits alone
    assert record["rule"]["threshold"] == np.nan_to_num(threshold)
    assert record["rule"]["row_costs"]["fn"] == 3.0


def test_what_has_no_rule_is_refused():
    forest = searched(RandomForestClassifier(5, random_state=0), [0, 1])
    np.testing.assert_array_equal(fixed_threshold(forest).predict(new_rows()[:5000]), forest.predict(new_rows()[:5000]))
    with pytest.raises(TypeError, match=r"RandomForestClassifier is no linear classifier .*fixed_threshold"):
        linear_rule(forest)
    curved = searched(make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=5000)), [0, 1])
    with pytest.raises(TypeError, match="PolynomialFeatures comes before it"):
        linear_rule(curved)
    with pytest.raises(ValueError, match="knows 3 classes"):
        fixed_threshold(fitted("three")[0])
    with pytest.raises(NotFittedError):
        linear_rule(paper_search(LinearSVC()))
    with pytest.raises(TypeError, match=r"must be a fitted csf\.CostSearch, got LinearSVC"):
        to_onnx(LinearSVC())
    with pytest.raises(ValueError, match="refit=False"):
        linear_rule(searched(LinearSVC(), [0, 1], refit=False))


NAMES = np.array(["ash", "elm", "oak"])


def searched_classes(base, metric="gmean", **options):
    X, y = make_classification(
        300, 5, n_informative=3, n_redundant=0, n_classes=3, weights=[0.7, 0.2], flip_y=0.2, random_state=0
    )
    return CostSearch(base, metric, **{"n_trials": 1, "param_grid": None, "cv": 3} | options).fit(X, NAMES[y])


def new_class_rows():
    return 2 * np.random.default_rng(1).normal(size=(5000, 5))


@pytest.mark.parametrize(
    ("base", "options", "kind"),
    [
        (LogisticRegression(), {}, "affine"),
        (LinearSVC(), {}, "affine"),
        (LogisticRegression(), {"metric": CostMatrix([[0, 1, 1], [9, 0, 1], [20, 1, 0]])}, "affine"),
        (LogisticRegression(), {"threshold": None, "metric": "balanced_accuracy"}, "argmax"),
        (LinearSVC(), {"threshold": None}, "argmax"),
    ],
)
def test_table_and_estimator_predict_what_the_search_does(base, options, kind):
    search, X = searched_classes(base, **options), new_class_rows()
    rule = decision_rule(search)
    assert search.rule_.kind == kind
    scores = getattr(search.best_estimator_, rule.reads)(X)
    expected = search.predict(X)
    assert set(expected) == set(NAMES)
    np.testing.assert_array_equal(rule.decide(scores), expected)
    if kind == "argmax":  # the estimator alone
        np.testing.assert_array_equal(search.best_estimator_.predict(X), expected)


def test_weights_of_training_are_taken_out():
    """As a winner that was trained with them: the same model, a rule of its unweighted probabilities."""
    search = searched_classes(LogisticRegression())
    rule = search._rule
    weights = np.array([0.5, 2.0, 3.0])
    slopes, offsets = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.1, 0.2])
    object.__setattr__(rule, "class_weights", weights)
    object.__setattr__(rule, "rule", ClassProbabilityRule(slopes, offsets))
    object.__setattr__(rule, "own", False)
    table, proba = decision_rule(search), search.best_estimator_.predict_proba(new_class_rows())
    np.testing.assert_array_equal(table.decide(proba), search.predict(new_class_rows()))
    plain = proba / weights
    plain /= plain.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(table.decide(proba), NAMES[(plain * slopes - offsets).argmax(axis=1)])
    assert (table.decide(proba) != NAMES[(proba * slopes - offsets).argmax(axis=1)]).any()


CODE = """
import json, pickle, numpy as np
rule, model, X = json.load(open("rule.json"))["rule"], pickle.load(open("model.pkl", "rb")), np.load("X.npy")
s = getattr(model, rule["estimator"]["reads"])(X)
if rule["calibrator"] is not None:
    slope, intercept = np.array([(one["slope_"], one["intercept_"]) for one in rule["calibrator"]["calibrators"]]).T
    s = 1 / (1 + np.exp(-(slope * s + intercept)))
    s = s / s.sum(axis=1, keepdims=True)
if rule["class_weights"] is not None:
    s = s / np.array(rule["class_weights"])
    s = s / s.sum(axis=1, keepdims=True)
decides = rule["rule"]
if decides["matrix"] is not None:
    s = s @ np.array(decides["matrix"])
else:
    s = np.array(decides["slopes"]) * s - np.array(decides["offsets"])
print(" ".join(np.array(rule["classes"])[s.argmax(axis=1)]))
"""


@pytest.mark.slow
def test_the_file_predicts_where_csf_is_not_installed(tmp_path, without_csf):
    search, X = searched_classes(LinearSVC()), new_class_rows()
    decision_rule(search).save(tmp_path / "rule.json")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(search.best_estimator_))
    np.save(tmp_path / "X.npy", X)
    assert without_csf(CODE, tmp_path).split() == search.predict(X).tolist()
    record = json.loads((tmp_path / "rule.json").read_text(encoding="utf-8"))
    assert record["rule"]["classes"] == NAMES.tolist()
    assert "none of slopes * p - offsets" in record["words"]


def test_several_classes_have_no_cut():
    for export in (fixed_threshold, linear_rule, to_onnx):
        with pytest.raises(ValueError, match=r"knows 3 classes; .* csf\.export\.decision_rule\(search\)"):
            export(searched_classes(LogisticRegression()))


def test_linear_rules_are_read_again(tmp_path):
    search, X = searched(BASES["scaled"], LABELS["words"]), new_rows()
    rule = linear_rule(search)
    rule.save(tmp_path / "rule.json")
    again = read_rule(tmp_path / "rule.json")
    np.testing.assert_array_equal(again.predict(X), rule.predict(X))
    assert again.to_dict() == rule.to_dict()
