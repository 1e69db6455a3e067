"""The table of several models has its rows, and files are completed; nothing is said about the times."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tests.benchmarks.models import METHODS, largest_of_families, main, summary


def cell(method, f1, seconds, name="one", fold=0):
    row = {"method": method, "set": name, "seed": 0, "fold": fold, "f1": f1, "seconds": seconds}
    return row | {"corrected": f1 + 0.01, "winner": method}


def test_gains_are_means_over_families():
    f1 = {"logistic": 0.5, "forest": 0.6, "lightgbm": 0.7, "several": 0.72}
    seconds = {"logistic": 1.0, "forest": 8.0, "lightgbm": 4.0, "several": 10.0}
    cells = [cell(m, f1[m] + 0.1 * at, seconds[m], name) for m in METHODS for at, name in enumerate(("one", "two"))]
    # A fold that not all methods have is left out.
    *singles, several = summary([*cells, cell("logistic", 0.0, 1.0, fold=1)])
    assert [row["models"] for row in singles] == ["logistic", "forest", "lightgbm"]
    assert singles[2]["several - it"].startswith("+2.00 [")
    assert several["of the dearest"] == 1.25
    assert (several["families"], several["fits"], several["corrected - test"]) == (2, 2, "+1.00 [+1.00, +1.00]")
    assert not list(summary([cell("logistic", 0.5, 1.0)]))


def test_of_each_family_the_set_with_the_most_positives_is_taken():
    X = np.zeros((40, 1))
    found = [(name, X, (np.arange(40) < n) * 1) for name, n in (("ecoli1", 9), ("ecoli2", 12), ("pc1", 5))]
    assert [name for name, _, _ in largest_of_families(found)] == ["ecoli2", "pc1"]


@pytest.mark.slow
def test_a_file_is_completed(tmp_path, monkeypatch, capsys):
    X, y = make_classification(80, 4, weights=[0.7], random_state=0)
    models = {"logistic": LogisticRegression(), "forest": DecisionTreeClassifier(), "lightgbm": LogisticRegression()}
    monkeypatch.setattr("tests.benchmarks.models.sets", lambda: [("one", X, y)])
    monkeypatch.setattr("tests.benchmarks.models.models", lambda: models)
    out = tmp_path / "runs.json"
    main(["--splits", "2", "--methods", "logistic", "forest", "--out", str(out)])
    assert not capsys.readouterr().out.strip()
    main(["--splits", "2", "--out", str(out)])
    assert len(json.loads(out.read_text())) == 2 * len(METHODS)
    assert "| several |" in capsys.readouterr().out
