"""csf compare."""

import csv
import io
import re
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

from csf.cli import main
from csf.cli.problem import CommandProblem, make_search
from csf.strategies import STRATEGIES

GRID = ("--trials", 3, "--cv", 3, "--splits", 2, "--threshold", "tune", "--normalize", "none")
QUICK = (*GRID, "--param", "C=1")
RIVALS = ["base as it is", 'base, class_weight="balanced"', "exact pooled threshold", "TunedThresholdClassifierCV"]


def methods_of(text):
    """Cells of the table, by method."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    return {row[0]: row[1:] for row in rows}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """What one comparison prints, and the file of its table."""
    path = tmp_path_factory.mktemp("compared") / "t.csv"
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        assert main([str(word) for word in ("compare", "breast_cancer", *QUICK, "--out", path)]) == 0
    assert err.getvalue() == ""
    return out.getvalue(), path


@pytest.fixture
def few(monkeypatch):
    """Two strategies, where the others would do the same."""
    monkeypatch.setattr("csf.cli.compare.STRATEGIES", {name: STRATEGIES[name] for name in ("cone", "ladder")})


def test_all_strategies_and_rivals_are_compared(compared):
    text, _ = compared
    assert text.startswith("breast_cancer: 569 rows, 30 features, 37.3 % positive (malignant)\n")
    assert "f1 of linear-svc, up to 3 trials, cv = 3; 2 stratified splits, 25 % held out, seed 0" in text
    methods = methods_of(text)
    assert list(methods) == [f"csf, {name}" for name in STRATEGIES] + RIVALS
    assert methods["exact pooled threshold"][1] == "-"
    assert "±" in methods["csf, cone"][0]
    assert max(map(len, text.splitlines())) <= 100


def test_strategies_that_refuse_the_metric_are_listed(ok):
    text = ok("compare", "iris:1", *QUICK, "--metric", "gmean")
    assert "csf, bisection" not in methods_of(text)
    assert "csf, bisection: left out, strategy 'bisection' needs a linear-fractional metric" in text
    assert max(map(len, text.splitlines())) <= 100


def test_weights_and_constraints(few, ok, table):
    options = ["--target", "outcome", "--positive", "churn", "--sample-weight", "weight", *QUICK]
    text = ok("compare", table, *options, "--metric", "recall", "--constraint", "predicted_positive_rate <= 0.4")
    assert "recall with predicted_positive_rate <= 0.4 of linear-svc" in text
    assert "TunedThresholdClassifierCV: left out, its scorer gets no sample weights without" in text
    assert all(len(row) == 4 for row in methods_of(text).values())


def test_the_table_as_csv(compared):
    text, path = compared
    with open(path, encoding="utf-8", newline="") as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert list(rows) == list(methods_of(text))
    cone, pooled = (np.array([float(rows[name][f"split_{i}"]) for i in (0, 1)]) for name in ("csf, cone", RIVALS[2]))
    assert float(rows["csf, cone"]["mean"]) == pytest.approx(cone.mean())
    assert float(rows["csf, cone"]["sd"]) == pytest.approx(cone.std(ddof=1))
    assert float(rows["csf, cone"]["difference"]) == pytest.approx((cone - pooled).mean())
    error = (cone - pooled).std(ddof=1) * np.sqrt(1 / 2 + 0.25 / 0.75)
    assert float(rows["csf, cone"]["difference_se"]) == pytest.approx(error)
    assert rows["csf, cone"]["rate"] == ""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_values(few, ok):
    def values(seed):
        text = ok("compare", "wine:1", "--trials", 1, "--cv", 2, "--splits", 2, "--base", "sgd", "--seed", seed)
        return [row[:2] for row in methods_of(text).values()]

    first = values(3)
    assert values(3) == first
    assert values(4) != first


def test_the_report_holds_the_table_and_the_plot_is_drawn(few, ok, error_of, tmp_path):
    path, plot = tmp_path / "r.html", tmp_path / "methods.png"
    text = ok("compare", "iris:1", *QUICK, "--report", path, "--plot", plot)
    assert f"report: {path}" in text
    page = path.read_text(encoding="utf-8")
    assert "csf, cone" in page
    assert "2 splits are few" in page
    assert "iris:1: 150 rows" in page
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert error_of("compare", "iris:1", "--out", tmp_path).endswith("it is a folder")


def test_the_time_limit_is_that_of_the_whole_command(ok):
    """It was that of each search, of which there are many."""
    text = ok("compare", "iris:1", *QUICK, "--time-limit", 1e-6)
    assert list(methods_of(text)) == ["exact pooled threshold"]
    assert "csf, ladder: left out, the time limit of 1e-06 s leaves no time for it" in text
    assert "base as it is: left out, the time limit of 1e-06 s leaves no time for it" in text
    assert re.search(r"^\d of \d splits: left out, the time limit of 1e-06 s leaves no time for it, which", text, re.M)


@pytest.mark.slow
def test_searches_share_the_time_that_is_left(ok, monkeypatch):
    seen = []

    def note(setup, **extra):
        seen.append(extra["time_limit"])
        return make_search(setup, **extra)

    monkeypatch.setattr("csf.cli.compare.make_search", note)
    ok("compare", "iris:1", "--trials", 1, "--cv", 2, "--splits", 2, "--time-limit", 1000)
    assert len(seen) == 2 * len(STRATEGIES)
    assert 30 < seen[0] < 1000 / len(seen)
    assert seen[-1] > 2 * seen[0]


def test_one_split_has_intervals_and_no_spread(few, ok):
    options = ("--splits", 1, "--trials", 2, "--cv", 3, "--param", "C=1")
    for metric in ("f1", "gmean"):
        text = ok("compare", "iris:1", *options, "--metric", metric)
        assert "In brackets: 90 % interval" in text
        assert all("±" not in cell for row in methods_of(text).values() for cell in row)
        values = re.findall(r"\| (0\.\d{4}|1\.0000) \[(\d\.\d{4}), (\d\.\d{4})\]", text)
        assert values
        assert all(float(low) <= float(value) <= float(high) for value, low, high in values)


def test_groups_stay_together(few, ok, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    rng, parts = np.random.default_rng(0), []
    customer, sick = np.repeat(np.arange(60), 4), np.repeat(rng.random(60) < 0.4, 4).astype(int)
    frame = pandas.DataFrame({"x": rng.normal(size=240) + sick, "customer": customer, "sick": sick})
    frame.to_csv(tmp_path / "visits.csv", index=False)
    part = CommandProblem.part
    monkeypatch.setattr(
        CommandProblem, "part", lambda self, rows: parts.append(set(customer[rows])) or part(self, rows)
    )
    words = ("--target", "sick", "--group", "customer", "--base", "logistic", *QUICK)
    assert "2 stratified splits that keep groups of customer together" in ok("compare", tmp_path / "visits.csv", *words)
    trained, held_out = parts[::2], parts[1::2]
    assert len(trained) == 2
    assert all(not train & test for train, test in zip(trained, held_out))
    assert held_out[0] != held_out[1]
