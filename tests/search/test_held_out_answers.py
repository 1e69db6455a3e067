"""The rows that tuned a rule get from it the answers that were counted, whatever the precision of their scores."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import false_discovery_control
from sklearn.base import BaseEstimator, ClassifierMixin

import csf
from csf import CostSearch
from csf.metrics import CostMatrix, Review
from csf.thresholding.capacity import codes_of

N_KNOWN, ANSWERS = 500, np.array(["a", "b", "c", "review"])
SCORES = {
    "tenths": lambda rng, p: np.stack([rng.multinomial(10, each) for each in p]) / 10.0,
    "votes": lambda rng, p: np.stack([rng.multinomial(7, each) for each in p]) / 7.0,
    "any": lambda rng, p: np.stack([rng.dirichlet(4.0 * each) for each in p]),
}
COSTS = CostMatrix([[0, 1, 2], [9, 0, 1], [9, 3, 0]])


class Given(ClassifierMixin, BaseEstimator):
    """Classifier whose samples are its probabilities, whatever it is fitted to."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X[:, : self.classes_.size]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Margins(Given):
    """The same by a decision function, so that probabilities are calibrated."""

    predict_proba = property()

    def decision_function(self, X):
        return X[:, 1] - 0.5 if self.classes_.size == 2 else X

    def predict(self, X):
        raise NotImplementedError


@pytest.fixture(params=[(kind, dtype) for kind in SCORES for dtype in (np.float64, np.float32)], ids=str)
def rows(request):
    """Scores and codes, of three classes and of two."""
    kind, dtype = request.param
    rng, several = np.random.default_rng(0), np.array([[5, 2, 3], [2, 5, 3], [1.2, 1.3, 7.5]]) / 10.0
    codes = rng.choice(3, N_KNOWN + 200, p=[0.57, 0.4, 0.03])
    two = np.array([[0.7, 0.3], [0.3, 0.7]])
    return {
        3: (SCORES[kind](rng, several[codes]).astype(dtype), codes),
        2: (SCORES[kind](rng, two[(codes > 0) * 1]).astype(dtype), (codes > 0) * 1),
    }


def fitted(rows, n_classes, metric, base=Given, by=None, **options):
    X, codes = (each[:N_KNOWN] for each in rows[n_classes])
    y, given = ANSWERS[codes], {} if by is None else {"by": by}
    known = {"cv": 3, "refit": "folds"} if base is Given and by is None else {"cv": "prefit"}
    base = base() if "refit" in known else base().fit(X, y)
    search = CostSearch(base, metric, param_grid=None, n_trials=1, random_state=0, **(known | options))
    return search.fit(X, y, **given), X, y


def counted(*columns):
    return Counter(zip(*(np.asarray(each).astype(str).tolist() for each in columns)))


def alerts(known, new, share, folds=None):
    """Rows that pass, by the definition of their p-values; scores that single precision tells apart are apart.

    Where the models of folds scored the known rows, p-values get half the spread of the folds beyond chance; scores of
    the model that predicts are corrected by Storey's share of wrong rows.
    """
    p = np.array([(1 + np.sum(known >= score - 1e-6)) / (known.size + 1) for score in new])
    if folds is None:
        return false_discovery_control(p) <= share / min(1.0, 2 * (1 + np.sum(p > 0.5)) / p.size)
    names, sizes = np.unique(folds, return_counts=True)
    for at, score in enumerate(new):
        parts = np.array([np.mean(known[folds == name] >= score - 1e-6) for name in names])
        beyond = parts.var(ddof=1) - parts.mean() * (1 - parts.mean()) * np.mean(1 / sizes)
        p[at] = min(1.0, p[at] + 0.5 * max(beyond, 0.0) ** 0.5)
    return false_discovery_control(p) <= share


def known_negatives(search, X, y):
    """Scores of the rows that are not positive, and their folds where models of folds scored them."""
    if not search.n_splits_:
        return X[y == "a", 1].astype(float), None
    held = search.result_.held_out_rows()
    negative = ~held.truth
    return held.rows[negative].astype(float), held.units.folds[negative]


@pytest.mark.parametrize("base", [Given, Margins])
@pytest.mark.parametrize("metric", ["f1_macro", COSTS], ids=["f1", "costs"])
@pytest.mark.parametrize(
    "review", [Review(cost=0.3), Review(at_most=0.2), Review(wrong=0.2)], ids=["cost", "most", "wrong"]
)
def test_of_several_classes(rows, base, metric, review):
    search, X, y = fitted(rows, 3, metric, base, review=review)
    predicted, known = search.predict(X), search.result_._held_out_rows()
    table = np.array([[np.mean((y == one) & (predicted == other)) for other in "abc"] for one in "abc"])
    np.testing.assert_allclose(search.confusion_, table, atol=1e-12)
    answers = ANSWERS[search.review_bands().decide(known.rows)]
    assert counted(ANSWERS[known.truth], answers) == counted(y, search.predict_with_review(X))
    rule = csf.export.decision_rule(search)
    np.testing.assert_array_equal(rule.decide(getattr(search.best_estimator_, rule.reads)(X)), predicted)


def test_wrong_alerts_of_one_of_several_classes(rows):
    search, X, y = fitted(rows, 3, "f1_macro")
    new = rows[3][0][N_KNOWN:]
    for share in (0.1, 0.2, 0.4):
        expected = alerts(X[y != "c", 2].astype(float), new[:, 2].astype(float), share)
        np.testing.assert_array_equal(search.predict(new, wrong_at_most={"c": share}) == "c", expected)


@pytest.mark.parametrize("base", [Given, Margins])
@pytest.mark.parametrize("review", [Review(at_most=0.2), Review(wrong={"positive": 0.3}), Review(wrong=0.1)], ids=str)
@pytest.mark.parametrize("constraint", [None, "recall >= 0.9"])
def test_of_two_classes(rows, base, review, constraint):
    search, X, y = fitted(rows, 2, "f1", base, constraint=constraint, review=review, pos_label="b")
    predicted, errors, bands = search.predict(X), search.result_.errors, search.review_bands()
    missed, wrong = np.mean((y == "b") & (predicted == "a")), np.mean((y == "a") & (predicted == "b"))
    assert (errors.fn, errors.fp) == pytest.approx((missed, wrong), abs=1e-12)
    known = search.result_.allowed_answers(bands.review, bands.extra_cost), ANSWERS[search.result_.store.truth * 1]
    answers = np.array(["a", "review", "b"])[codes_of(bands.decide(known[0]))]
    assert counted(known[1], answers) == counted(y, search.predict_with_review(X))
    new = rows[2][0][N_KNOWN:]
    for share in (0.1, 0.2, 0.4):
        known = known_negatives(search, X, y)
        expected = alerts(known[0], new[:, 1].astype(float), share, known[1])
        np.testing.assert_array_equal(search.predict(new, wrong_at_most=share) == "b", expected)


def test_of_segments_and_beside_a_null_class(rows):
    by = np.random.default_rng(1).choice(["u", "v"], N_KNOWN)
    search, X, y = fitted(rows, 2, "f1", by=by, constraint="recall >= 0.8 in each g", pos_label="b")
    predicted, errors = search.predict(X, by=by), search.result_.errors
    missed, wrong = np.mean((y == "b") & (predicted == "a")), np.mean((y == "a") & (predicted == "b"))
    assert (errors.fn, errors.fp) == pytest.approx((missed, wrong), abs=1e-12)
    search, X, y = fitted(rows, 3, "f1", null_class="a", refit=True)
    predicted, errors = search.predict(X), search.result_.errors
    assert errors.fn == pytest.approx(np.mean((y != "a") & (predicted != y)), abs=1e-12)
    assert errors.fp == pytest.approx(np.mean((y == "a") & (predicted != "a")), abs=1e-12)


def test_beside_infinite_scores():
    score = np.repeat([-np.inf, 0.1, 0.7], [30, 10, 10])
    y = np.repeat([0, 1], [30, 20])
    decision = csf.tune_threshold(y, score, "f1")
    np.testing.assert_array_equal(decision.predict(score), y)


def test_probabilities_of_users_keep_their_precision():
    rng = np.random.default_rng(0)
    X, y = rng.dirichlet([2.0, 1.0, 1.0], 300), rng.choice(3, 300)
    search = CostSearch(Given().fit(X, y), "f1_macro", cv="prefit").fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), X)
