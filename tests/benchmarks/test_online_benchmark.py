"""The tables of the online benchmark can be made, and memory does not grow; nothing is said about times."""

import subprocess
import sys

import numpy as np
import pytest

from tests.benchmarks import online
from tests.benchmarks.online import compile_rows, dense_stream, learners, memory_row, throughput_rows


@pytest.mark.slow
def test_every_learner_has_its_rows():
    rows = list(throughput_rows(chunk_sizes=(200,), n_turns=1, streams={"few": dense_stream(600, 3)}))
    own = [row for row in rows if row["chunk"] == 200]
    assert [row["name"] for row in own] == list(learners()) != []
    assert [row["name"] for row in rows[len(own) :]] == ["SGD", "river", "Vowpal Wabbit"]
    assert all(row["examples_per_second"] > 0 and row["to_sgd"] > 0 for row in own)
    assert all(row["to_vowpal_from_arrays"] >= row["to_vowpal"] > 0 for row in own if not np.isnan(row["to_vowpal"]))
    assert all(row["to_river_from_arrays"] >= row["to_river"] > 0 for row in rows if not np.isnan(row["to_river"]))


def test_rows_for_river_are_those_of_the_arrays():
    X, _ = dense_stream(20, 3)
    X[X < 0.3] = 0.0
    assert online._dicts(X)[4] == dict(enumerate(X[4].tolist()))
    from scipy import sparse

    assert online._dicts(sparse.csr_array(X)) == [
        {j: value for j, value in enumerate(row) if value != 0.0} for row in X.tolist()
    ]


@pytest.mark.slow
def test_the_second_process_finds_what_the_first_has_compiled(monkeypatch):
    monkeypatch.setattr(online, "NAMES", ("OFO",))
    (row,) = compile_rows(kinds=("dense",))
    assert row["name"] == "OFO"
    assert 0.0 < row["cached_seconds"] < row["compile_seconds"]


@pytest.mark.slow
def test_memory_of_few_rows():
    row = memory_row("OFO", gigabytes=0.01, n_features=5, chunk=1000)
    assert row["examples"] == 250_000
    assert row["gigabytes"] == pytest.approx(0.01)
    assert row["megabytes_after_5_percent"] > 10.0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "gigabytes"), [(name, 5.0 if name == "FOFO" else 0.5) for name in online.NAMES])
def test_memory_does_not_grow_with_the_stream(name, gigabytes):
    """In a process of its own, where nothing larger has been."""
    if name not in learners():
        pytest.skip(f"there is no {name}")
    code = f"from tests.benchmarks.online import memory_row; print(memory_row({name!r}, gigabytes={gigabytes}))"
    out = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    row = eval(out.stdout)
    assert row["examples"] * 8 * 50 == pytest.approx(gigabytes * 1e9)
    assert row["megabytes_grown"] < 16.0
