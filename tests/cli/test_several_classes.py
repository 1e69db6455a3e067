"""Demands, capacity, reviews and shares of several classes on the command line."""

import csv
import io
import json
import re
from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import csf
from csf.cli.predict import load_model
from csf.metrics import Review

pytest.importorskip("skops")
pandas = pytest.importorskip("pandas")

CLASSES = ["later", "soon", "urgent"]
QUICK = ("--target", "level", "--metric", "f1_macro", "--base", "logistic", "--cv", 3, "--param", "C=1", "--trials", 1)


def patients(n_rows, seed):
    """Frame of patients, the rarest class the one that matters."""
    rng = np.random.default_rng(seed)
    severity, age = rng.normal(size=(2, n_rows))
    odds = np.column_stack([np.zeros(n_rows), -1.0 + 1.2 * severity, -2.6 + 2.2 * severity + 0.8 * age])
    level = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    return pandas.DataFrame({"severity": severity, "age": age, "level": np.array(CLASSES)[level]})


@pytest.fixture(scope="module")
def triage(tmp_path_factory):
    path = tmp_path_factory.mktemp("triage") / "triage.csv"
    patients(800, 0).to_csv(path, index=False)
    return path


@pytest.fixture
def model(ok, triage, tmp_path):
    path = tmp_path / "model.skops"
    reviews = ("--review-cost", 0.3, "--review-at-most", 0.1)
    ok("search", triage, *QUICK, "--no-rivals", "--save", path, *reviews)
    return path


def column(text, name="prediction"):
    return np.array([row[name] for row in csv.DictReader(io.StringIO(text))])


@pytest.mark.slow
def test_a_demand_on_a_class_is_searched_shown_and_written(ok, triage, tmp_path):
    files = {name: tmp_path / name for name in ("all.json", "model.skops", "report.html")}
    flags = ("--json", files["all.json"], "--save", files["model.skops"], "--report", files["report.html"])
    text = ok("search", triage, "-v", *QUICK, "--constraint", "recall[urgent] >= 0.7, precision[urgent] >= 0.1", *flags)
    assert "maximising f1_macro with recall[urgent] >= 0.7, precision[urgent] >= 0.1 of logistic" in text
    told = json.loads(files["all.json"].read_text(encoding="utf-8"))
    winner = told["winner"]
    confusion = np.array(winner["confusion"])
    recall, precision = confusion[2, 2] / confusion[2].sum(), confusion[2, 2] / confusion[:, 2].sum()
    assert winner["feasible"]
    assert [each["constraint"] for each in winner["constraints"]] == [
        "recall[urgent] >= 0.7",
        "precision[urgent] >= 0.1",
    ]
    assert [each["value"] for each in winner["constraints"]] == pytest.approx([recall, precision])
    assert all(each["holds"] for each in winner["constraints"])
    assert re.search(rf"^{recall:.3f} +recall\[urgent\] out-of-fold: recall\[urgent\] >= 0\.7 holds$", text, re.M)
    assert re.search(rf"^{precision:.3f} +precision\[urgent\] out-of-fold: precision", text, re.M)
    rates = {each["method"]: each["rate"] for each in told["held_out"]}
    # The rival with a rule is under the same constraint, as what it is trained on are codes.
    assert rates["base as it is"] < min(rates["csf, ladder"], rates["tuned rule, equal weights"])
    assert "recall[urgent] |" in text
    assert load_model(files["model.skops"])[0].constraint_value_ == pytest.approx(recall)
    assert "recall[urgent] out-of-fold: recall[urgent] &gt;= 0.7 holds" in files["report.html"].read_text(
        encoding="utf-8"
    )
    short = ok("search", triage, *QUICK, "--no-rivals", "--constraint", "recall[urgent] >= 0.7")
    assert f"; {recall:.3f} recall[urgent] out-of-fold: recall[urgent] >= 0.7 holds" in " ".join(short.split())


def test_a_certificate_names_the_classes_for_the_rival_too(run, triage, tmp_path):
    flags = ("--constraint", "recall[urgent] >= 0.95", "--confidence", 0.9, "--json", tmp_path / "all.json")
    code, text, err = run("search", triage, "-v", *QUICK, *flags)
    assert code == 0
    assert err.startswith("csf: warning: no rule certifies recall[urgent] >= 0.95 with confidence 0.9 (")
    assert err.count("\n") == 1
    assert "tuned rule, equal weights: left out, no rule certifies recall[urgent] >= 0.95" in text
    assert " recall[urgent] on calibration data: recall[urgent] >= 0.95 is not certified\n" in text
    told = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["winner"]
    assert (told["feasible"], told["guarantee"]["holds"]) == (False, False)
    assert "Do not use it as it is." in text


@pytest.mark.slow
def test_a_comparison_is_under_the_constraint(ok, triage):
    flags = ("--constraint", "recall[urgent] >= 0.8", "--splits", 2)
    text = ok("compare", triage, *QUICK[:-2], *flags)
    assert "csf, ladder: left out" not in text
    assert "| recall[urgent] |" in text


def test_reviews_are_shown_and_written(ok, triage, model):
    search, _ = load_model(model)
    assert search.review == Review(cost=0.3, at_most=0.1)
    assert list(search.review_.shares) == [*CLASSES, "review"]
    text = ok("search", triage, "-v", *QUICK, "--no-rivals", "--review-cost", 0.3, "--review-at-most", 0.1)
    worth = search.review_
    assert f"{worth.shares['urgent']:.1%} urgent ({worth.wrong['urgent']:.1%} wrong)" in " ".join(text.split())
    decided = column(ok("predict", model, triage), "decision")
    assert set(decided) == {*CLASSES, "review"}
    frame = pandas.read_csv(triage)
    assert decided.tolist() == search.predict_with_review(frame[["severity", "age"]]).tolist()


def test_wrong_answers_are_limited_and_certified(run, triage, tmp_path):
    path = tmp_path / "m.skops"
    flags = ("--review-wrong", "later=0.25,urgent=0.01", "--confidence", 0.9, "--save", path)
    code, text, err = run("search", triage, "-v", *QUICK, *flags)
    assert code == 0
    assert "certifies wrong answers 'urgent' <= 0.01" in err
    assert "; wrong answers 'later' <= 0.25 holds with confidence 0.95" in " ".join(text.split())
    assert "promised with" not in text
    search, _ = load_model(path)
    assert search.review.wrong == {"later": 0.25, "urgent": 0.01}
    assert {name: test.holds for name, test in search.review_.guarantees.items()} == {"later": True, "urgent": False}
    assert search.review_.shares["urgent"] == 0.0


def test_places_of_classes_are_kept(ok, triage, model):
    counts = Counter(column(ok("predict", model, triage)))
    assert counts["urgent"] > 20
    for limits, most in (("urgent=20", {"urgent": 20}), ("urgent=0.01,soon=30", {"urgent": 8, "soon": 30})):
        text = ok("predict", model, triage, "--at-most", limits)
        limited, decided = Counter(column(text)), Counter(column(text, "decision"))
        for name, limit in most.items():
            assert limited[name] == limit
            assert decided[name] <= limit
        assert sum(limited.values()) == 800


def test_shares_of_classes_are_given_or_estimated(ok, run, triage, model, tmp_path):
    before = Counter(column(ok("predict", model, triage)))
    code, text, err = run("predict", model, triage, "--prevalence", "urgent=0.4,later=0.4,soon=0.2")
    assert (code, err) == (0, "the decision is the one for these shares: urgent 0.4, later 0.4, soon 0.2\n")
    assert Counter(column(text))["urgent"] > before["urgent"]
    said = ok("predict", model, triage, "--prevalence", "estimate", "-o", tmp_path / "o.csv")
    shares = {part.split()[0]: float(part.split()[1]) for part in said.split(":")[1].split("\n")[0].split(", ")}
    truth = pandas.read_csv(triage)["level"].value_counts(normalize=True)
    assert shares == pytest.approx(truth.to_dict(), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at-most", 50), "--at-most 50 names none of several classes; write --at-most urgent=50"),
        (("--at-most", "urgnt=50"), "--at-most: there is no 'urgnt'; accepted: ['later', 'soon', 'urgent']. Did you"),
        (("--at-most", "urgent=50,soon"), "must be numbers by class, such as urgent=50,soon=100; got"),
        (("--at-most", "urgent=1.5"), "must be a number of rows, or a share of them in (0, 1), got '1.5'"),
        (("--at-most", "later=1,soon=1,urgent=1"), "limits all classes to 3 of 800 rows"),
        (("--prevalence", 0.3), "--prevalence 0.3 names none of several classes; write --prevalence urgent=0.3"),
        (("--prevalence", "urgent=0.3"), "--prevalence must have a share for each of ['later', 'soon', 'urgent'], got"),
    ],
)
def test_mistakes_of_predict_are_said_in_one_line(error_of, triage, model, options, message):
    assert message in error_of("predict", model, triage, *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--constraint", "recall[urgnt] >= 0.9"), "there is no 'urgnt'"),
        (("--constraint", "recall >= 0.9"), "constraint recall >= 0.9 is on a class: write recall[later] >= 0.9"),
        (("--review-wrong", "urgnt=0.1"), "wrong of a review: there is no 'urgnt'"),
        (("--review-wrong", "urgent=2"), "must be a number in (0, 1), got 2"),
    ],
)
def test_mistakes_of_a_search_are_said_before_it(error_of, triage, options, message):
    assert message in error_of("search", triage, *QUICK, *options)


def test_a_confidence_in_nothing_names_both_ways_out(run, triage):
    code, _, err = run("search", triage, *QUICK, "--confidence", 0.9)
    assert code == 2
    assert "--confidence 0.9 needs a constraint, such as 'precision >= 0.8', or --review-wrong 0.05" in err


def test_limits_beside_a_null_class_are_numbers_or_have_a_name(ok, tmp_path):
    frame, path = patients(800, 0), tmp_path / "model.skops"
    X = frame[["severity", "age"]]
    X.to_csv(data := tmp_path / "new.csv", index=False)
    search = csf.CostSearch(LogisticRegression(), null_class="later", cv=3, param_grid=None, n_trials=1)
    csf.save(search.fit(X, frame["level"]), path)
    expected = search.predict(X, at_most=20)
    assert np.sum(expected != "later") == 20
    for limit in (20, "not later=20"):
        assert column(ok("predict", path, data, "--at-most", limit)).tolist() == expected.tolist()
    for limit in (0.3, "not later=0.3"):
        alerts = column(ok("predict", path, data, "--wrong-at-most", limit))
        assert alerts.tolist() == search.predict(X, wrong_at_most=0.3).tolist()
    ok("predict", path, data, "--at-most", 20, "-o", tmp_path / "out.csv")
    assert Counter(column(ok("predict", path, data, "--at-most", "urgent=5")))["urgent"] == 5


def test_limits_on_one_class_beside_a_null_class_leave_reviews_out(ok, error_of, tmp_path):
    frame, path = patients(800, 0), tmp_path / "model.skops"
    X = frame[["severity", "age"]]
    X.to_csv(data := tmp_path / "new.csv", index=False)
    options = {"cv": 3, "param_grid": None, "n_trials": 1, "review": Review(at_most=0.1)}
    search = csf.CostSearch(LogisticRegression(), null_class="later", **options).fit(X, frame["level"])
    csf.save(search, path)
    assert "--columns prediction,score" in error_of("predict", path, data, "--at-most", "urgent=5")
    text = ok("predict", path, data, "--at-most", "urgent=5", "--columns", "prediction,score")
    assert column(text).tolist() == search.predict(X, at_most={"urgent": 5}).tolist()
    assert "np." not in repr((search.null_class_, search.pos_label_))
    with pytest.raises(ValueError, match="limits the null class 'later'"):
        search.predict(X, at_most={"later": 5})
    with pytest.raises(ValueError, match="limits the null class 'later'"):
        search.at_capacity({"later": 0.1})
