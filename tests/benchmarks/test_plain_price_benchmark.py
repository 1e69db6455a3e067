"""The table of costs beside scikit-learn has its lines; nothing is said about the times."""

from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tests.benchmarks import plain_price

X, Y = make_classification(120, 3, n_informative=2, n_redundant=0, random_state=0)


@pytest.mark.slow
def test_the_table(monkeypatch, capsys):
    monkeypatch.setattr(plain_price, "load", lambda name: (X[:80], X[80:], Y[:80], Y[80:]))
    monkeypatch.setattr(plain_price, "bases", lambda: {"logistic": LogisticRegression()})
    monkeypatch.setattr(plain_price, "promised", lambda name, base: {"bank": 1e9, "news20": 0.0}[name])
    monkeypatch.setattr(plain_price, "MULTIPLES", [1.0])
    plain_price.main(["--sets", "bank", "news20", "--runs", "1"])
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[2].startswith("| bank, 80 × 3 | logistic | ")
    assert lines[3].split(" | ")[4] == "-"
    assert lines[-2].startswith("news20, 80 × 3, logistic: ")
    assert lines[-1] == "1 of 2 lines cost at most what is promised"


def test_runs_in_turns():
    calls = []

    class Told(DecisionTreeClassifier):
        def fit(self, X, y):
            calls.append(self.max_depth)
            return super().fit(X, y)

    models = {"fit": Told(max_depth=1), "grid": Told(max_depth=2), "csf": Told(max_depth=3)}
    seconds, f1 = plain_price.measure(models, X[:80], X[80:], Y[:80], Y[80:], n_runs=2)
    assert calls == [1, 2, 3, 1, 3]
    assert [len(values) for values in seconds.values()] == [2, 1, 2]
    assert all(50 < value <= 100 for value in f1.values())


@pytest.mark.parametrize(
    ("name", "base", "most"),
    [
        ("bank", "logistic", 0.6),
        ("news20", "LinearSVC", 3.0),
        ("million", "LinearSVC", 1.0),
        ("wider", "logistic", 1.5),
        ("bank", "forest", 0.25),
        ("mammography", "neighbours", 1.5),
        ("pageblocks", "logistic", 0.35),
    ],
)
def test_what_is_promised(name, base, most):
    assert plain_price.promised(name, base) == most
    assert plain_price.promised(name, "LightGBM") == (0.8 if name in plain_price.FEW else 2.0)
    assert "grid" not in plain_price.methods(DecisionTreeClassifier(), name)


def test_the_drawn_million(monkeypatch):
    monkeypatch.setattr(plain_price, "_drawn", partial(plain_price._drawn, 900, 4))
    X_train, X_test, y_train, y_test = plain_price.load("million")
    assert (X_train.shape, X_test.shape, X_train.dtype) == ((900, 4), (300, 4), np.float32)
    assert (y_train.size, y_test.size, set(y_train)) == (900, 300, {0, 1})


def test_drawn_sets_have_the_shape_that_they_say():
    X, y = plain_price.wide(300, 60, 0.1)
    assert X.shape == (300, 60)
    assert set(np.unique(X[:, 15:])) == {0.0, 1.0}
    assert 0.05 < y.mean() < 0.2
    X_train, X_test, y_train, y_test = plain_price.load("few")
    assert (X_train.shape, X_test.shape) == ((1500, 20), (500, 20))
    assert 0 < y_test.sum() < y_train.sum() < 200


def test_dear_bases_are_measured_on_few_rows_unless_sets_are_named(monkeypatch):
    monkeypatch.setattr(plain_price, "load", lambda name: (X[:80], X[80:], Y[:80], Y[80:]))
    monkeypatch.setattr(plain_price, "bases", lambda: {"forest": DecisionTreeClassifier(random_state=0)})
    found = [row["data"].split(",")[0] for row in plain_price.rows(["bank", "few"], ["forest"], n_runs=1)]
    assert found == ["few"]
    named = plain_price.rows(["bank"], ["forest"], n_runs=1, named=["bank"])
    assert [row["two jobs"] for row in named] == ["-"]


def test_two_jobs(monkeypatch):
    asked = []
    monkeypatch.setattr(plain_price, "CostSearch", lambda *args, n_jobs, **options: asked.append(n_jobs) or Mock())
    assert plain_price.two_jobs(LogisticRegression(), X, Y, n_runs=2) > 0.0
    assert asked == [1, 2, 1, 2]
