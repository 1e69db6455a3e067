"""What a search of several classes publishes, and how it moves to other shares of the classes."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from csf.data.labels import read_classes
from csf.metrics import get_confusion_metric
from csf.search.config import SearchConfig
from csf.search.outcome import Outcome, conclude_classes
from csf.search.study import ClassStudy, judged_fields
from csf.thresholds.class_choice import ClassStore
from csf.thresholds.linear_rule import confusion_of, cross_fitted, tune_rule

N = 400
TRUTH = np.repeat([0, 1, 2], [280, 80, 40])
SHARES = np.array([0.7, 0.2, 0.1])
METRIC = get_confusion_metric("f1_macro")
NAMES = np.array(["ant", "bee", "cow"])
LABELS = read_classes(NAMES[TRUTH])[0]


def true_probabilities(shares=SHARES, truth=TRUTH, seed=0):
    """Probabilities of samples that are normal around a corner a class, and these samples."""
    centres = 1.5 * np.eye(3)
    X = centres[truth] + np.random.default_rng(seed).normal(size=(truth.size, 3))
    log = -0.5 * ((X[:, None] - centres) ** 2).sum(axis=2) + np.log(shares)
    proba = np.exp(log - log.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)


class Known(ClassifierMixin, BaseEstimator):
    """Gives the probabilities that it is asked for."""

    classes_ = np.arange(3)

    def predict_proba(self, X):
        return X


def outcome(score=None, tune=True, n_trials=1):
    """Outcome of a search whose trainings all gave the same."""
    score = true_probabilities() if score is None else score
    config = SearchConfig(base=Known(), metric="f1_macro")
    study = ClassStudy(METRIC, "ladder", shares=SHARES, n_trials=n_trials)
    store = ClassStore(TRUTH, n_classes=3, margins=False)
    for trial in study.ask_batch():
        score = score.astype(np.float32)
        own, codes, tuned, judged = score.argmax(axis=1), None, None, None
        if tune:
            proba = store.probabilities(score, trial.costs)
            codes = cross_fitted(proba, TRUTH, METRIC, store.parts(score))
            tuned = confusion_of(TRUTH, tune_rule(proba, TRUTH, METRIC).decide(proba), 3)
            judged = confusion_of(TRUTH, codes, 3)
        fields = judged_fields(METRIC, confusion_of(TRUTH, own, 3), tuned, judged)
        told = study.record(trial, fold_scores=(0.25, None), **fields)
        store.add_trial((0, trial.number), told, score if tune else None, own, codes)
    told = {"settings": [{"C": 2.0}], "n_splits": 2, "stop_reason": "over"}
    return conclude_classes(Outcome(config=config, studies=[study], store=store, **told))


def test_what_is_published_comes_from_one_confusion_matrix():
    told = outcome().published()
    assert told["best_score_"] == METRIC.value(told["confusion_"])
    assert told["confusion_"].sum(axis=1) == pytest.approx(SHARES)
    assert told["rule_"].kind == "affine"
    assert np.isnan([told["upper_bound_"], told["gap_"]]).all()
    assert told["best_params_"] == {"C": 2.0}


def test_the_table_tells_all_three_decisions():
    found = outcome(n_trials=3)
    table = found.published()["cv_results_"]
    for name in ("own", "tuned", "judged"):
        column = "value" if name == "own" else f"{name}_value"
        values = [METRIC.value(np.array(getattr(trial, name))) for trial in found.trials]
        np.testing.assert_array_equal(table[column], values)
    np.testing.assert_array_equal(table["param_t"], [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(table["split0_test_score"], [0.25] * 3)
    assert np.isnan(table["split1_test_score"]).all()
    assert table["params"][1] == {"t": 0.5, "C": 2.0}
    assert np.isnan(outcome(tune=False).published()["cv_results_"]["judged_value"]).all()


def test_at_other_shares_the_rule_is_what_would_be_tuned_there():
    new = np.array([0.2, 0.3, 0.5])
    found = outcome()
    moved, rule = found.moved(new, found.rule_with(Known(), LABELS))
    assert moved.confusion.sum(axis=1) == pytest.approx(new)
    # New data with these shares, of which the old probabilities are told.
    truth = np.repeat([0, 1, 2], (20_000 * new).astype(int))
    old, true = true_probabilities(truth=truth, seed=1), true_probabilities(new, truth, seed=1)
    np.testing.assert_allclose(rule.predict_proba(old), true, atol=1e-9)
    ideal = tune_rule(true, truth, METRIC).decide(true)
    decided = np.searchsorted(NAMES, rule.predict(old))
    best, got = (METRIC.value(confusion_of(truth, codes, 3)) for codes in (ideal, decided))
    assert best - got < 0.01
    assert moved.published()["best_score_"] == pytest.approx(got, abs=0.08)


def test_moving_to_the_own_shares_changes_nothing():
    found = outcome()
    moved, none = found.moved(SHARES * 10.0, None)
    assert none is None
    assert moved.rule.slopes == pytest.approx(found.rule.slopes)
    assert moved.confusion == pytest.approx(found.confusion)


@pytest.mark.parametrize("shares", [0.2, [0.5, 0.5], [0.5, 0.5, 0.0], [0.5, np.nan, 0.5], [np.inf, 1.0, 1.0]])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(ValueError, match="one positive share for each of 3 classes, got"):
        outcome().moved(shares, None)


def test_kept_decisions_cannot_move():
    with pytest.raises(ValueError, match=r"kept the base's own decisions \(threshold=None\)"):
        outcome(tune=False).moved(SHARES, None)


def test_there_is_no_curve_of_thresholds():
    with pytest.raises(ValueError, match="several classes have no threshold: rule_ says"):
        outcome().curve()


def test_values_of_new_labels():
    found, y = outcome(), NAMES[[0, 1, 2, 2]]
    assert found.value_of(y, NAMES[[0, 1, 2, 1]], NAMES, None) == pytest.approx((1.0 + 2 / 3 + 2 / 3) / 3)
    assert found.value_of(y, NAMES[[0, 1, 2, 1]], NAMES, [1.0, 1.0, 1.0, 0.0]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"the labels \['ant', 'dog'\], the search knows \['ant', 'bee', 'cow'\]"):
        found.value_of(["ant", "dog"], NAMES[:2], NAMES, None)
