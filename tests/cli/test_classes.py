"""Several classes that are all alike, on the command line."""

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.model_selection import train_test_split

pytest.importorskip("skops")
pandas = pytest.importorskip("pandas")

from csf import CostSearch  # noqa: E402
from csf.cli.models import make_base  # noqa: E402
from csf.cli.persistence import load_model, required_trust  # noqa: E402

KINDS = np.array(["setosa", "versicolor", "virginica"])
QUICK = ("--metric", "f1_macro", "--cv", 3, "--param", "C=1")


@pytest.fixture
def flowers(tmp_path):
    """Irises, the last kind rare, two of their columns."""
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:50, 50:100, 100:125]
    frame = pandas.DataFrame(X[rows, :2], columns=["length", "width"])
    path = tmp_path / "flowers.csv"
    frame.assign(kind=KINDS[y[rows]]).to_csv(path, index=False)
    return path


def cells(text, first):
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {first}"))
    rows = [line.strip("|").split("|") for line in lines[start + 2 :]]
    end = next((at for at, row in enumerate(rows) if len(row) < 2), len(rows))
    return [[cell.strip() for cell in row] for row in rows[:end]]


def test_a_search_tells_its_rule_its_value_and_what_it_does_on_held_out_rows(ok, flowers, tmp_path):
    files = {"--json": "r.json", "--save": "m.skops", "--report": "r.html", "--plot": "c.png"}
    outputs = [word for option, name in files.items() for word in (option, tmp_path / name)]
    text = ok("search", flowers, "--target", "kind", "--base", "logistic", *QUICK, *outputs)
    assert "125 rows, 2 features, 3 classes (setosa 40 %, versicolor 40 %, virginica 20 %)\n" in text
    assert "maximising f1_macro of logistic, up to 3 trials by the strategy ladder, 3 folds" in text
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    winner = report["winner"]
    assert report["data"]["classes"] == KINDS.tolist()
    assert f"out-of-fold f1_macro {winner['out_of_fold']:.4f}" in text
    low, high = winner["score_interval"]
    assert f"f1_macro {winner['corrected']:.4f}, 90 % interval [{low:.4f}, {high:.4f}]" in text
    assert [row[0] for row in cells(text, "class ")] == KINDS.tolist()
    # The same search by hand, on the same split.
    frame = pandas.read_csv(flowers)
    train, test = train_test_split(frame, test_size=0.25, stratify=frame["kind"], random_state=0)
    search, _ = load_model(tmp_path / "m.skops")
    base = make_base("logistic", load_model(tmp_path / "m.skops")[1])
    same = CostSearch(base, "f1_macro", param_grid={"classifier__C": [1]}, cv=3, random_state=0)
    same.fit(train[["length", "width"]], train["kind"])
    predicted = same.predict(test[["length", "width"]])
    np.testing.assert_array_equal(search.predict(test[["length", "width"]]), predicted)
    shown = [[float(cell) for cell in row[1:]] for row in cells(text, "truth")]
    np.testing.assert_array_equal(shown, confusion_matrix(test["kind"], predicted))
    values = {row[0]: float(row[1]) for row in cells(text, "method")}
    assert values["csf, ladder"] == pytest.approx(f1_score(test["kind"], predicted, average="macro"), abs=5e-5)
    plain = base.fit(train[["length", "width"]], train["kind"]).predict(test[["length", "width"]])
    assert values["base as it is"] == pytest.approx(f1_score(test["kind"], plain, average="macro"), abs=5e-5)
    assert list(values)[2:] == ['base, class_weight="balanced"', "tuned rule, equal weights"]
    assert f"difference to the base as it is: {values['csf, ladder'] - values['base as it is']:+.3f}" in text
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 100


@pytest.mark.parametrize("base", ["logistic", "linear-svc"])
def test_a_saved_model_predicts_labels_with_scores_of_each_class(base, ok, flowers, tmp_path):
    model, out = tmp_path / "m.skops", tmp_path / "out.csv"
    ok("search", flowers, "--target", "kind", "--base", base, *QUICK, "--test-size", 0, "--save", model, "-q")
    assert required_trust(model) == []
    search, _ = load_model(model)
    X = pandas.read_csv(flowers)[["length", "width"]]
    text = ok("predict", model, flowers, "-o", out)
    names, counts = np.unique(search.predict(X), return_counts=True)
    assert text.endswith("predicted " + ", ".join(f"{n} ({c})" for n, c in zip(names, counts)) + "\n")
    with open(out, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kinds = ["score", "probability"] if base == "logistic" else ["score"]
    assert list(rows[0]) == ["prediction", *(f"{kind} {name}" for kind in kinds for name in KINDS)]
    scores = np.array([[float(row[f"score {name}"]) for name in KINDS] for row in rows])
    np.testing.assert_array_equal(KINDS[scores.argmax(axis=1)], [row["prediction"] for row in rows])
    np.testing.assert_array_equal(search.predict(X), [row["prediction"] for row in rows])


def test_compare_takes_the_strategies_that_several_classes_have(ok, flowers):
    text = ok("compare", flowers, "--target", "kind", "--base", "logistic", *QUICK, "--splits", 2, "--trials", 2)
    rows = cells(text, "method")
    assert sorted(row[0] for row in rows) == [
        "base as it is",
        'base, class_weight="balanced"',
        "csf, grid",
        "csf, ladder",
        "tuned rule, equal weights",
    ]
    assert [row[2] for row in rows if row[0] == "base as it is"] == ["-"]
    assert "difference: paired, to the base as it is" in text
    assert "csf, cone: left out" in text


def test_one_class_can_be_searched_by_a_metric_of_several(ok, flowers):
    text = ok("search", flowers, "--target", "kind", "--positive", "virginica", *QUICK, "--trials", 1)
    assert "20 % positive (virginica)" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--metric", "f1"), "search all classes by a metric such as --metric f1_macro"),
        (("--metric", "f1_macro", "--constraint", "recall >= 0.5"), "is not for several classes: rates of errors"),
        (("--metric", "f1_macro", "--strategy", "cone"), "several classes are searched by 'ladder' or 'grid'"),
        (("--metric", "f1_macro", "--tol", 0.1), "there is no upper bound for several classes"),
        (("--metric", "f1_macro", "--rule", "rule.json"), "--rule is for two classes"),
    ],
)
def test_what_several_classes_do_not_have_is_refused(options, words, error_of, flowers):
    assert words in error_of("search", flowers, "--target", "kind", *options)


def test_built_in_sets_have_all_their_classes(ok):
    assert "wine: 178 rows, 13 features, 3 classes (class_0 33.1 %" in ok("search", "wine", *QUICK, "--trials", 1)
