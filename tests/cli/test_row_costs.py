"""Costs of each row on the command line."""

import json

import numpy as np
import pytest

from tests.search.test_row_costs import frame

pytest.importorskip("skops")
REVIEWS = ("--review-cost", 0.5, "--review-at-most", 0.2)
QUICK = ("--base", "logistic", "--cv", 3, "--fn-cost", "amount", "--fp-cost", 5, "--tp-cost", 1)


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    X, y = frame(500)
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    X.assign(target=y).to_csv(path, index=False)
    return path


def test_search(ok, loans, tmp_path):
    files = {name: tmp_path / name for name in ("all.json", "model.skops", "report.html")}
    flags = ("--json", files["all.json"], "--save", files["model.skops"], "--report", files["report.html"])
    text = ok("search", loans, "-v", "--target", "target", *QUICK, *REVIEWS, *flags)
    assert "maximising savings" in text
    assert "% review (0.0% wrong)" in text
    assert "each row by its own costs" in text
    assert "the dearest 1 % of the rows carry" in text
    assert "csf: savings" in text
    told = json.loads(files["all.json"].read_text(encoding="utf-8"))
    assert told["winner"]["score_interval"][0] < told["winner"]["corrected"] < told["winner"]["score_interval"][1]
    values = {each["method"]: each["value"] for each in told["held_out"]}
    assert values["csf, ladder"] > values["base as it is"]
    assert 0.1 < told["winner"]["review"]["shares"]["review"] <= 0.2
    page = files["report.html"].read_text(encoding="utf-8")
    assert "What is paid" in page
    assert "With reviews: savings" in page
    found = ok("predict", files["model.skops"], loans)
    assert {line.split(",")[-1] for line in found.splitlines()} == {"decision", "negative", "review", "positive"}
    X, y = frame(500)
    labels = np.array([line.split(",")[0] for line in found.splitlines()[1:]])
    assert 0.3 < np.mean(labels == y.astype(str)) < 1.0
    assert X.shape[0] == labels.size
    limited = [line.split(",") for line in ok("predict", files["model.skops"], loans, "--at-most", 20).splitlines()[1:]]
    assert sum(line[0] == "1" for line in limited) == sum(line[-1] == "positive" for line in limited) == 20
    # A fifth of these rows, or as many as without a limit on the alerts.
    before = found.count("review")
    assert 0 < sum(line[-1] == "review" for line in limited) <= max(100, before)
    for limit, k in (("40", 40), ("0.1", 50)):
        limited = ok("predict", files["model.skops"], loans, "--at-most", limit)
        assert sum(line.startswith("1,") for line in limited.splitlines()) == k
    assert "can be acted on" in files["report.html"].read_text(encoding="utf-8")


def test_units_are_asked_for(ok, loans):
    text = ok("search", loans, "-v", "--target", "target", *QUICK, "--metric", "cost", "--no-rivals")
    assert "maximising cost per row (negative)" in text


def test_compare(ok, loans):
    text = ok("compare", loans, "--target", "target", *QUICK, "--splits", 2)
    assert "csf, ladder" in text
    assert "csf, cone: left out" in text
    assert "base as it is" in text


def test_errors(error_of, loans):
    for limit in ("-1", "1.5", "many"):
        assert "a number of rows, or a share of them in (0, 1)" in error_of(
            "predict", "m.skops", loans, "--at-most", limit
        )
    flags = ("search", loans, "--target", "target", "--fp-cost", 5)
    assert "fn_cost must be given" in error_of(*flags)
    assert "fn='amuont' of the metric is no column of X" in error_of(*flags, "--fn-cost", "amuont")
    assert "constraint=" in error_of(*flags, "--fn-cost", "amount", "--constraint", "precision >= 0.8")
