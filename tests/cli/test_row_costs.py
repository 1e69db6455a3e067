"""Costs of each row on the command line."""

import json

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict, train_test_split

from csf.cli.data import BUILTIN, ReadOptions, read_dataset
from csf.cli.predict import load_model
from csf.cli.problem import make_base
from csf.evaluate.choices import Margins
from tests.search.problems.test_row_costs import frame

pytest.importorskip("skops")
REVIEWS = ("--review-cost", 0.5, "--review-at-most", 0.2)
QUICK = ("--base", "logistic", "--cv", 3, "--fn-cost", "amount", "--fp-cost", 5, "--tp-cost", 1)


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    X, y = frame(500)
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    X.assign(target=y).to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_search(ok, loans, tmp_path):
    files = {name: tmp_path / name for name in ("all.json", "model.skops", "report.html")}
    flags = ("--json", files["all.json"], "--save", files["model.skops"], "--report", files["report.html"])
    text = ok("search", loans, "-v", "--target", "target", *QUICK, *REVIEWS, *flags)
    assert "maximising savings" in text
    assert "% review (0.0% wrong)" in text
    assert "each row by its own costs" in text
    assert "carried by the dearest 1 % of the rows" in text
    assert "of the costs saved, on 125 held-out samples" in text
    told = json.loads(files["all.json"].read_text(encoding="utf-8"))
    assert told["winner"]["score_interval"][0] < told["winner"]["corrected"] < told["winner"]["score_interval"][1]
    values = {each["method"]: each["value"] for each in told["held_out"]}
    assert values["csf, ladder"] > values["base as it is"]
    assert 0.1 < told["winner"]["review"]["shares"]["review"] <= 0.2
    page = files["report.html"].read_text(encoding="utf-8")
    assert "What is paid" in page
    assert "with the reviews" in page
    found = ok("predict", files["model.skops"], loans)
    assert {line.split(",")[-1] for line in found.splitlines()} == {"decision", "0", "review", "1"}
    X, y = frame(500)
    labels = np.array([line.split(",")[0] for line in found.splitlines()[1:]])
    assert 0.3 < np.mean(labels == y.astype(str)) < 1.0
    assert X.shape[0] == labels.size
    limited = [line.split(",") for line in ok("predict", files["model.skops"], loans, "--at-most", 20).splitlines()[1:]]
    assert sum(line[0] == "1" for line in limited) == sum(line[-1] == "1" for line in limited) == 20
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


@pytest.mark.slow
def test_payments_are_compared_with_the_best_single_threshold(ok, tmp_path):
    """The literal threshold: the cut of least cost on out-of-fold log-odds decides all held-out rows alike."""
    files = {name: tmp_path / name for name in ("all.json", "costs.png", "m.skops")}
    flags = ("--plot", files["costs.png"], "--save", files["m.skops"], "--json", files["all.json"])
    quick = ("--base", "logistic", "--param", "C=1", "--cv", 3, "--trials", 1)
    said = ok("search", "payments", *quick, "--fn-cost", "amount", "--fp-cost", 5, *flags)
    told = json.loads(files["all.json"].read_text(encoding="utf-8"))
    values = {each["method"]: each["value"] for each in told["held_out"]}
    gain = values["csf, ladder"] - values["best single threshold"]
    assert gain > 0.1
    verdict = (
        f"Use it: savings on the held-out rows is {gain:.3f} above that of the best single threshold, beyond chance."
    )
    assert verdict in " ".join(said.split())
    assert values["best single threshold"] > values["base as it is"]
    assert files["costs.png"].stat().st_size > 0
    drawn = BUILTIN["payments"][0]()
    assert ok("predict", files["m.skops"], "payments").count("\n") == drawn.target.size + 1
    assert 0.05 < drawn.target.mean() < 0.15

    frame, y = drawn.data, drawn.target
    assert drawn.data.equals(BUILTIN["payments"][0]().data)
    train, test = train_test_split(
        np.arange(y.size), test_size=0.25, stratify=np.where(y, "fraud", "ok"), random_state=0
    )
    base = make_base("logistic", read_dataset("payments", ReadOptions()).features)
    odds = cross_val_predict(base, frame.iloc[train], y[train], cv=3, method="decision_function")
    amount = frame["amount"].to_numpy()

    def paid(rows, flagged):
        return np.where(y[rows] == 1, np.where(flagged, 0.0, amount[rows]), 5.0 * flagged).sum()

    cut = min(np.quantile(odds, np.linspace(0.0, 1.0, 300)), key=lambda cut: paid(train, odds >= cut))
    flagged = base.fit(frame.iloc[train], y[train]).decision_function(frame.iloc[test]) >= cut
    best = min(paid(test, np.zeros(test.size)), paid(test, np.ones(test.size)))
    assert values["best single threshold"] == pytest.approx(1.0 - paid(test, flagged) / best, abs=0.08)


def test_savings_are_watched(ok, error_of, loans, tmp_path):
    pandas = pytest.importorskip("pandas")
    model, later = tmp_path / "model.skops", tmp_path / "later.csv"
    ok("search", loans, "--target", "target", *QUICK, "--save", model, "-q")
    search, _ = load_model(model)
    rows = pandas.read_csv(loans)
    rows["id"] = np.arange(500)
    rows.to_csv(later, index=False)
    text = ok("monitor", model, loans, "--target", "target", "--state", tmp_path / "s.json", "--name", "June")
    X = rows[list(search.feature_names_in_)]
    assert f"{search.row_costs_.score(rows['target'], search.predict(X), X):.4f}" in text
    late = ("monitor", model, later, "--id", "id", "--state", tmp_path / "late.json")
    ok(*late)
    said = ok(*late, "--target", "target")
    assert "500 labelled samples in 1 batches" in said
    assert said.splitlines()[2] == text.splitlines()[1]
    rows["amount"] *= 1e4
    rows.to_csv(later, index=False)
    assert "larger max_cost= (csf monitor --max-cost)" in error_of(
        "monitor", model, later, "--target", "target", "--state", tmp_path / "s.json"
    )
    ok("monitor", model, later, "--target", "target", "--state", tmp_path / "t.json", "--max-cost", 1e9)


def test_a_demand_is_kept_at_least_cost_and_moves(ok, loans, tmp_path):
    files = {name: tmp_path / name for name in ("all.json", "m.skops", "o.csv")}
    flags = ("--constraint", "recall >= 0.9, predicted_rate <= 0.9", "--json", files["all.json"])
    text = ok("search", loans, "-v", "--target", "target", *QUICK, *flags, "--save", files["m.skops"])
    told = json.loads(files["all.json"].read_text(encoding="utf-8"))["winner"]
    (recall, rate) = (each["value"] for each in told["constraints"])
    assert told["feasible"]
    assert recall >= 0.9
    assert rate <= 0.9
    assert f"{recall:.3f}  " in text
    assert "recall out-of-fold: recall >= 0.9 holds\n" in text
    assert "predicted_positive_rate out-of-fold: predicted_positive_rate <= 0.9 holds\n" in text
    assert "does not hold" not in text
    said = ok("predict", files["m.skops"], loans, "--prevalence", 0.1, "-o", files["o.csv"])
    assert (
        "the decision is the one for these shares: positives 0.1; it predicts “1” if the score is at least 0\n" in said
    )


def test_a_certificate_beside_one_threshold_that_has_none(ok, loans):
    flags = ("--constraint", "predicted_rate <= 0.9", "--confidence", 0.9)
    text = ok("search", loans, "-v", "--target", "target", *QUICK, *flags)
    assert "Certificate: predicted_positive_rate <= 0.9 holds with confidence 0.9 (" in text
    assert "predicted_positive_rate on calibration data: predicted_positive_rate <= 0.9 holds" in text
    lines = [line.split("|") for line in text.splitlines() if "best single threshold" in line and line[0] == "|"]
    assert lines[0][4].strip() == "no"


@pytest.mark.parametrize("answer", ["negative", "positive"])
def test_one_answer_to_all_rows(ok, loans, tmp_path, monkeypatch, answer):
    for rule in Margins.ROW_RULES:
        monkeypatch.setitem(Margins.ROW_RULES, rule, -99.0 if rule == answer else 99.0)
    files = {name: tmp_path / name for name in ("all.json", "model.skops")}
    flags = ("--json", files["all.json"], "--save", files["model.skops"], "--no-rivals", "--trials", 1)
    text = " ".join(ok("search", loans, "-v", "--target", "target", *QUICK, *flags).split())
    assert f"it answers {answer!r} to all rows" in text
    # The answer "positive" to all rows costs more, out-of-fold, than "negative".
    assert "no rule saved anything over “negative” for all rows" in text
    json.loads(files["all.json"].read_text(encoding="utf-8"))
    label = "1" if answer == "positive" else "0"
    rows = [line.split(",")[0] for line in ok("predict", files["model.skops"], loans).splitlines()[1:]]
    # Where a hit costs more than a miss, no answer is the cheaper one but "negative".
    assert rows.count(label) > 0.9 * len(rows)
    limited = ok("predict", files["model.skops"], loans, "--at-most", 20).splitlines()[1:]
    assert sum(line.startswith("1,") for line in limited) == (20 if answer == "positive" else 0)
