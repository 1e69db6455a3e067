"""The tables of the engine have their lines; nothing is said about the times."""

import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification

from tests.benchmarks import __main__ as command
from tests.benchmarks import engine
from tests.benchmarks.memory import memory_rows

TOPICS = [
    "audits",
    "batches",
    "bookkeeping",
    "boosting",
    "capacity",
    "certificates",
    "cluster",
    "demands",
    "differential",
    "engine",
    "fenchel",
    "first_example",
    "honesty",
    "incomplete",
    "kovacs",
    "l1",
    "memory",
    "models",
    "money",
    "monitor",
    "net",
    "online",
    "overhead",
]
TOPICS += [
    "payments",
    "plain_price",
    "prevalence",
    "price",
    "published",
    "row_costs",
    "scale",
    "segments",
    "several_classes",
    "signing",
    "spade",
    "spark",
    "strategies",
    "structural",
    "thresholding",
]
SMALL = ("small", *make_classification(200, 5, weights=[0.8], flip_y=0.1, random_state=0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("base", engine.LINEAR)
def test_the_main_table(base):
    (row,) = engine.rows([SMALL], [base], n_trials=3, n_runs=2, grid=(0.1, 1.0))
    assert (row["data"], row["base"]) == ("small", base)
    assert all(float(row[name]) > 0 for name in ("cold ms", "3 trials", "of 3 cold", "2 C x 3", "5 folds"))
    assert 0.3 < float(row["F1 grid"]) <= float(row["F1"]) + 0.1
    assert 0.0 <= float(row["gap"]) <= 1e-3
    assert -1e-6 <= float(row["off"]) <= float(row["gap"]) + 1e-12
    assert float(row["base off"]) >= -1e-6
    assert (row["base's gap"] == "-") == (base != "squared hinge")


def test_comparisons_that_take_too_long_are_left_out():
    (row,) = engine.rows([SMALL], ["logistic"], n_trials=3, n_runs=3, budget=1e-9)
    assert (row["of 3 cold"], row["13 C x 3"], row["5 folds"], row["F1 grid"]) == ("-",) * 4
    assert engine.ratio(np.array([[2.0, 1.0]]), 5) == "2.00 (1)"
    assert engine.ratio(np.array([[2.0, 1.0], [4.0, 1.0]]), 2) == "3.00"


def test_works_run_in_turns():
    calls = []
    times = engine.paired(lambda: calls.append("a"), lambda: calls.append("b"), n_runs=3)
    assert calls == ["a", "b"] * 3
    assert times.shape == (3, 2)


def test_missing_data_are_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CSF_DATA", str(tmp_path / "nowhere"))
    assert [name for name, *_ in engine.problems(("adult", "dense"), shrink=100)] == ["dense"]
    assert "adult: left out" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the resident memory from /proc")
@pytest.mark.parametrize(
    ("kind", "base"),
    [
        ("dense", "logistic"),
        *(
            pytest.param(kind, base, marks=pytest.mark.simulation)
            for kind in ("dense", "CSR")
            for base in engine.LINEAR
            if (kind, base) != ("dense", "logistic")
        ),
    ],
)
def test_memory_beside_the_data_grows_with_the_samples_not_with_the_data(kind, base):
    """Views of one matrix for all folds; with dual variables a copy of the rows inside the margin of one fold."""
    n, value = (60_000, 8) if kind == "dense" else (30_000, 12)
    share, per_feature = (0.1, 2 * 4096 * 8) if kind == "dense" else (0.1 if base == "logistic" else 0.9, 1000)
    sizes = {width: n * width * value / 2**20 for width in (60, 160)}
    narrow, wide = (next(memory_rows((kind,), (base,), megabytes=sizes[w], n_trials=2, width=w)) for w in sizes)
    assert abs(narrow["samples"] - n) + abs(wide["samples"] - n) <= 2
    grown = (wide["beside, bytes"] - narrow["beside, bytes"]) * n / 2**20
    assert grown <= share * (wide["MB"] - narrow["MB"]) + 100 * per_feature / 2**20
    assert narrow["beside, bytes"] <= 900 + share * 60 * value


# ---------------------------------------------------------------- the command


def test_all_topics_behind_one_command(monkeypatch, capsys):
    assert command.topics() == TOPICS
    called = []
    monkeypatch.setattr(command.runpy, "run_module", lambda name, run_name: called.append((name, run_name, sys.argv)))
    before = sys.argv
    command.main([])
    command.main(["--quick"])
    command.main(["strategies", "--splits", "2"])
    assert [name for name, *_ in called] == ["tests.benchmarks.engine"] * 2 + ["tests.benchmarks.strategies"]
    assert {run_name for _, run_name, _ in called} == {"__main__"}
    assert [argv[1:] for *_, argv in called] == [[], ["--quick"], ["--splits", "2"]]
    called.clear()
    command.main(["all"])
    assert [name for name, *_ in called] == [f"tests.benchmarks.{topic}" for topic in TOPICS]
    assert sys.argv is before


def test_unknown_topics_are_told():
    with pytest.raises(SystemExit, match=r"there is no benchmark 'speed'; accepted: audits, batches, bookkeeping"):
        command.main(["speed"])


def test_options_are_those_of_the_topic(capsys):
    with pytest.raises(SystemExit, match="0"):
        engine.main(["--help"])
    assert "--quick" in capsys.readouterr().out
