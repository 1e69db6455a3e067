"""How many folds a search without ``cv`` trains on, for every kind of problem."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB

from csf import CostSearch
from csf.data import folds
from csf.metrics import Review, RowCosts
from csf.search.config import FAST, open_cv

RNG = np.random.default_rng(0)
N = 1500
X = RNG.normal(size=(N, 3))
SCORE = X[:, 0] + RNG.normal(size=N)
Y = (SCORE > 0.3).astype(int)  # 600 and 900
CLASSES = np.array(["low", "mid", "top"])[np.digitize(SCORE, [-0.6, 0.6])]
LABELS = np.column_stack([Y, X[:, 1] + RNG.normal(size=N) > 0])


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    """As many samples as one fold of the data holds out."""
    monkeypatch.setattr(folds, "ENOUGH", 90)


def fitted(base=None, metric="f1", y=Y, data=X, **options):
    groups = options.pop("groups", None)
    given = {} if groups is None else {"groups": groups}
    return CostSearch(base or GaussianNB(), metric, **options).fit(data, y, **given)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 1),
        ({"base": LogisticRegression(), "param_grid": None}, 1),
        ({"metric": "gmean", "threshold": "tune"}, 1),
        ({"y": CLASSES, "metric": "f1_macro"}, 1),
        ({"y": LABELS, "metric": "f1_macro"}, 1),
        ({"y": LABELS, "metric": "f1_micro"}, 1),
        ({"metric": RowCosts(fn=2.0, fp=1.0)}, 1),
        ({"review": Review(cost=0.1)}, 1),
        # A small error of the threshold counts under a constraint and a limit, and a mean of folds needs folds.
        ({"constraint": "precision >= 0.6"}, 5),
        ({"constraint": "recall[top] >= 0.5", "y": CLASSES, "metric": "f1_macro"}, 5),
        ({"review": Review(wrong=0.2)}, 5),
        ({"refit": "folds"}, 5),
        # What the user gives is taken as it is.
        ({"cv": 5}, 5),
        ({"cv": TimeSeriesSplit(4)}, 4),
        ({"cv": RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)}, 4),
        ({"groups": np.arange(N)}, 1),
        ({"groups": np.arange(N) // 15}, 5),
    ],
    ids=str,
)
def test_the_number_of_folds(options, count):
    search = fitted(**options)
    assert search.n_splits_ == count
    assert search.score(options.get("data", X), options.get("y", Y)) > 0.0


def test_few_dear_rows_need_all_folds():
    frame = pd.DataFrame(X, columns=list("abc")).assign(amount=np.exp(2.0 * RNG.normal(size=N)))
    assert fitted(metric=RowCosts(fn="amount", fp=1.0), data=frame).n_splits_ == 5
    assert fitted(metric=RowCosts(fn="amount", fp=1.0), data=frame.assign(amount=3.0)).n_splits_ == 1


def told(search):
    trials = [(t.setting, t.number, t.costs, t.threshold, t.score, t.fold_scores) for t in search.trials_]
    return trials, search.best_threshold_, search.corrected_score_, search.score_interval_, search.upper_bound_


@pytest.mark.parametrize("base", [GaussianNB(), LogisticRegression(random_state=0)], ids=str)
def test_one_fold_is_the_first_of_five_and_its_interval_that_of_what_it_holds_out(base, monkeypatch):
    one = fitted(base, random_state=3)
    monkeypatch.setattr(folds, "ENOUGH", 10_000)
    five = fitted(base, random_state=3)
    splits = list(open_cv(Y, FAST, random_state=np.random.RandomState(3)).split(X, Y))
    assert told(one) == told(fitted(base, random_state=3, cv=splits[:1]))
    assert told(five) == told(fitted(base, random_state=3, cv=splits))
    assert one.held_out_.n_samples == N // 5
    (low, high), (low_of_five, high_of_five) = one.score_interval_, five.score_interval_
    assert low <= one.corrected_score_ <= high
    assert 1.6 < (high - low) / (high_of_five - low_of_five) < 3.2
    assert "Judged on the samples that one split holds out" in str(one.summary())
    assert "Cross-validated on 5 folds" in str(five.summary())


def test_a_search_on_one_fold_goes_on_from_its_checkpoint(tmp_path):
    whole = fitted(LogisticRegression())
    path = tmp_path / "search"
    fitted(LogisticRegression(), checkpoint=path, callbacks=[lambda study, trial: True])
    resumed = fitted(LogisticRegression(), checkpoint=path)
    assert told(resumed) == told(whole)
    assert resumed.n_splits_ == 1
