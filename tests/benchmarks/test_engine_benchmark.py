"""The benchmark of the linear engine runs; its numbers are for people."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification

from csf.benchmarks.engine import BASES, data_sets, grid_rows, penalty_rows, search_rows

X, Y = make_classification(400, 8, weights=[0.8], flip_y=0.1, random_state=0)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_rows_of_one_small_set():
    sets = [("small", X, Y)]
    rows = list(search_rows(n_runs=1, sets=sets))
    assert [row["base"] for row in rows] == list(BASES)
    assert all(row["gap"] < 1e-3 and row["excess of scikit-learn"] > -1e-6 for row in rows)
    (row,) = grid_rows(sets=sets, n_runs=1)
    assert row["pooled F1"] >= row["pooled F1, no threshold"] >= row["pooled F1, grid"] - 1e-9
    (row,) = penalty_rows(sets=sets)
    assert row["gap"] < 1e-6


def test_generated_data_are_always_there(monkeypatch):
    monkeypatch.setenv("CSF_DATA", "nowhere")
    ((name, X, y),) = data_sets()
    assert name == "dense 20 000 x 50"
    assert X.shape == (20_000, 50)
    assert set(np.unique(y)) == {0, 1}


def test_an_unknown_benchmark_is_named():
    done = subprocess.run(
        [sys.executable, "-m", "csf.benchmarks", "speed"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no benchmark 'speed'; accepted: bookkeeping, engine" in done.stderr
