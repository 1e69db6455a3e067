"""csf monitor."""

import json

import numpy as np
import pytest

from csf.cli import main
from csf.cli.predict import ALARM

pytest.importorskip("skops")

LABELS = ("--target", "outcome", "--positive", "churn", "--drop", "weight")


@pytest.fixture
def model(ok, table, tmp_path):
    path = tmp_path / "model.skops"
    ok("search", table, *LABELS, "--trials", 2, "--cv", 3, "--base", "logistic", "--no-rivals", "--save", path)
    return path


def test_batches_are_counted_and_an_alarm_is_an_exit_code(ok, model, table, customers, tmp_path):
    state, plot = tmp_path / "monitor.json", tmp_path / "monitor.png"
    options = ("--target", "outcome", "--state", state, "--constraint", "f1 >= 0.3")
    text = ok("monitor", model, table, *options, "--name", "May")
    assert "no evidence against it" in text
    assert json.loads(state.read_text(encoding="utf-8"))["n_batches"] == 1
    wrong = customers.copy()
    wrong["outcome"] = np.where(customers["outcome"] == "churn", "stay", "churn")
    wrong.loc[:5, "outcome"] = None
    other = tmp_path / "june.csv"
    wrong.to_csv(other, index=False)
    command = ["monitor", str(model), str(other), *map(str, options), "--plot", str(plot), "-q"]
    assert [main(command) for _ in range(2)] == [ALARM, ALARM]
    assert plot.stat().st_size > 1000


def test_alerts_need_no_labels(ok, model, table, tmp_path):
    state = ("--state", tmp_path / "alerts.json", "--constraint", "predicted_positive_rate <= 0.9")
    assert "no evidence against it" in ok("monitor", model, table, *state)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "outcom"), "has no column 'outcom'"),
        (("--target", "city"), "and the model knows"),
        (("--target", "outcome", "--alpha", "3"), "must be a probability in (0, 1)"),
        (("--target", "outcome", "--constraint", "gmean >= 0.5"), "cannot read constraint"),
        (("--target", "outcome", "--audit", "0", "--constraint", "f1 >= 0.5"), "audit=0 only alerts have labels"),
    ],
)
def test_mistakes_are_said_in_one_line(error_of, model, table, tmp_path, options, message):
    assert message in error_of("monitor", model, table, "--state", tmp_path / "state.json", *options)
