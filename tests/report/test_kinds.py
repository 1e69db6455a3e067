"""What reports say of each kind of problem."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.metrics import Column, RowCosts
from csf.report.kinds import REPORTED, held_out, reported

X, Y = make_classification(200, 4, n_informative=3, n_redundant=0, weights=[0.7], random_state=0)
CLASSES = make_classification(200, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)[1]
LABELS = np.column_stack([Y, X[:, 0] > 0.5, X[:, 1] > 1.0]).astype(int)
CASES = {
    "binary": ("f1", Y, "it predicts “1” if the score is at least"),
    "row_costs": (RowCosts(fn=Column(0), fp=1.0), Y, "it decides each row by its own costs"),
    "multiclass": ("f1_macro", CLASSES, "it predicts by"),
    "multilabel": ("f1_macro", LABELS, "One search for each of 3 labels"),
    "shared_threshold": ("f1_micro", LABELS, "with one threshold for 3 labels"),
}
SAMPLES = np.abs(X)


@pytest.fixture(scope="module", params=CASES)
def kind(request):
    metric, y, sentence = CASES[request.param]
    search = CostSearch(LogisticRegression(), metric, n_trials=2, param_grid=None, cv=3, random_state=0)
    return request.param, search.fit(SAMPLES, y), y, sentence


def test_every_kind_is_described():
    assert set(CASES) == set(REPORTED)


def test_the_winner_in_a_sentence(kind):
    name, search, _, sentence = kind
    assert search.result_.kind == name
    assert sentence in reported(search).winner(search)


def test_held_out_predictions_have_the_value_that_score_gives(kind):
    name, search, y, _ = kind
    held = held_out(search, SAMPLES, y, None, {"all": np.ones_like(y)})
    assert held.judged[0].value == pytest.approx(search.score(SAMPLES, y))
    assert held.judged[1].difference == pytest.approx(held.judged[0].value - held.judged[1].value)
    number, text = reported(search).number(search, held)
    assert number
    assert ("a row" in number) == (name == "row_costs")
    assert "compared with" in text


def test_labels_that_the_search_does_not_know_are_named(kind):
    _, search, y, _ = kind
    with pytest.raises(ValueError, match="5"):
        held_out(search, SAMPLES, np.where(y == 1, 5, y), None, None)


def test_one_answer_for_all_competes_where_two_classes_do(kind):
    name, search, _, _ = kind
    worth = reported(search).same_answer(search, None)
    assert np.isfinite(worth) == (name in ("binary", "row_costs"))
    if name == "binary":
        share = Y.mean()
        assert worth == pytest.approx(2 * share / (1 + share))
