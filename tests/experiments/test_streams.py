"""Online learners side by side."""

import csv

import numpy as np
import pytest
from experiment_builders import small_set
from sklearn.base import clone

from csf.metrics import FBeta
from notebooks.experiments.run import Plan
from notebooks.experiments.streams import LEARNERS, run_streams


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_all_learners_run_and_are_reported(modern, tmp_path):
    plan = Plan([small_set(n=400)], LEARNERS, modern, n_splits=2)
    text, paths = run_streams(plan, tmp_path, every=100, command="csf experiment stream")
    assert text.startswith("# f1 x 100 of online learners after one pass\n\n    csf experiment stream\n")
    assert all(f"| {name} |" in text for name in LEARNERS)
    names = {path.name for path in paths}
    assert {"streams.md", "streams.csv", "stream_records.csv", "stream_small_examples.png"} <= names
    rows, records = read(tmp_path / "streams.csv"), read(tmp_path / "stream_records.csv")
    assert len(rows) == 2 * len(LEARNERS)
    assert len(records) == 3 * len(rows)  # 300 training samples
    assert {row["examples"] for row in records} == {"100", "200", "300"}


def test_numbers_are_those_of_one_pass(modern, tmp_path):
    data = small_set(n=400)
    run_streams(Plan([data], {"SGD": LEARNERS["SGD"]}, modern, n_splits=1), tmp_path, every=100)
    split = modern.split(data, 0)
    order = np.random.default_rng(split.seed).permutation(300)
    learner, predicted = clone(LEARNERS["SGD"]), []
    for at in (order[:100], order[100:200], order[200:]):
        if hasattr(learner, "coef_"):
            predicted.append((split.y[at], learner.predict(split.X[at])))
        learner.partial_fit(split.X[at], split.y[at], classes=[0, 1])
    (row,) = read(tmp_path / "streams.csv")
    assert float(row["value"]) == FBeta().score(split.y_test, learner.predict(split.X_test))
    truth, decided = (np.concatenate(parts) for parts in zip(*predicted))
    assert float(row["prequential"]) == pytest.approx(FBeta().score(truth, decided))


def test_short_streams_have_one_record(modern, tmp_path):
    plan = Plan([small_set(n=80)], {"OFO": LEARNERS["OFO"]}, modern, n_splits=1)
    run_streams(plan, tmp_path, every=1000)
    assert [row["examples"] for row in read(tmp_path / "stream_records.csv")] == ["60"]
