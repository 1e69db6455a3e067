"""Rules of tables predict what the search does, and what has no rule is refused."""

import numpy as np
import pytest
from builders import paper_search
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

from csf.cli import main
from csf.export import read_rule, table_rule

pandas = pytest.importorskip("pandas")

N = 100_000
CODE = OneHotEncoder(handle_unknown="ignore")


def people(n, seed, *, gaps=True):
    """A table of numbers and texts with gaps, and who leaves."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 80, n).astype(float), np.round(rng.lognormal(3, 1, n), 4)
    city = rng.choice(np.array(["Rome", "Oslo", "Lima, Peru", "Aachen"], dtype=object), n)
    smoker = rng.choice(np.array(["yes", "no"], dtype=object), n)
    leaves = 0.05 * (age - 50) + 1.5 * (city == "Lima, Peru") + 1.5 * (smoker == "yes") + rng.normal(0, 1, n) > 2
    if gaps:
        age[rng.random(n) < 0.1] = np.nan
        smoker[rng.random(n) < 0.1] = None
    return pandas.DataFrame({"age": age, "city": city, "income": income, "smoker": smoker}), leaves


def searched(parts, table, y, *after, base=None, remainder="drop"):
    prepare = ColumnTransformer(parts, remainder=remainder)
    model = make_pipeline(prepare, *after, LogisticRegression() if base is None else base)
    return paper_search(model, n_trials=3, param_grid=None, cv=3).fit(table, y)


def filled(*scalers):
    return make_pipeline(SimpleImputer(strategy="median"), *scalers)


@pytest.mark.parametrize("base", [pytest.param("linear-svc", marks=pytest.mark.slow), "logistic"])
@pytest.mark.slow
def test_the_guide_s_script_predicts_what_the_command_line_does(base, without_csf, guide, tmp_path):
    X, leaves = people(600, 0)
    X.assign(leaves=np.where(leaves, "yes", "no")).to_csv(tmp_path / "train.csv", index=False)
    new = people(N, 1)[0]
    new.loc[:50, "city"] = "Atlantis"
    new.to_csv(tmp_path / "new.csv", index=False)
    files = ["--save", f"{tmp_path}/model.skops", "--rule", f"{tmp_path}/rule.json"]
    target = ["--target", "leaves", "--positive", "yes", "--trials", "2", "--cv", "3", "--base", base]
    assert main(["search", f"{tmp_path}/train.csv", *target, *files]) == 0
    assert main(["predict", f"{tmp_path}/model.skops", f"{tmp_path}/new.csv", "-o", f"{tmp_path}/scores.csv"]) == 0
    expected = pandas.read_csv(tmp_path / "scores.csv", keep_default_na=False)["prediction"].tolist()
    found = without_csf(guide("DictReader"), tmp_path, "rule.json", "new.csv").split()
    assert set(found) == {"yes", "no"}
    assert found == expected


@pytest.mark.parametrize(
    ("parts", "after"),
    [
        ([("numbers", filled(), ["age", "income"]), ("texts", CODE, ["city", "smoker"])], ()),
        ([("texts", CODE, ["city"]), ("numbers", filled(StandardScaler(), MinMaxScaler()), ["income", "age"])], ()),
        ([("texts", CODE, ["smoker"]), ("age", filled(), ["age"]), ("none", "passthrough", [])], (MaxAbsScaler(),)),
        ([("out", "drop", ["city"]), ("numbers", filled(MaxAbsScaler()), ["age"])], ()),
    ],
    ids=["as on the command line", "scaled", "scaled together", "one column"],
)
def test_rules_predict_what_the_search_does(parts, after):
    search = searched(parts, *people(600, 0), *after)
    new, _ = people(5000, 1)
    rule = table_rule(search)
    np.testing.assert_array_equal(rule.predict(new), search.predict(new))
    used = {name for _, what, names in parts if not isinstance(what, str) for name in names}
    assert set(rule.columns) == used
    assert rule.predict({name: new[name] for name in used}).shape == (5000,)


@pytest.mark.parametrize("positive", [True, False])
def test_columns_that_are_left_over_count(positive, tmp_path):
    X, leaves = people(600, 0, gaps=False)
    search = paper_search(
        make_pipeline(ColumnTransformer([("texts", CODE, ["city", "smoker"])], remainder="passthrough"), LinearSVC()),
        n_trials=3,
        cv=3,
        pos_label=positive,
    ).fit(X, leaves)
    new, _ = people(5000, 1, gaps=False)
    rule = table_rule(search)
    np.testing.assert_array_equal(rule.predict(new), search.predict(new))
    assert rule.to_dict()["columns"]["age"]["missing"] is None
    rule.save(tmp_path / "rule.json")
    again = read_rule(tmp_path / "rule.json")
    np.testing.assert_array_equal(again.predict(new), rule.predict(new))
    assert again.to_dict() == rule.to_dict()


def test_what_has_no_rule_is_refused():
    X, leaves = people(300, 0, gaps=False)
    numbers = ("numbers", filled(), ["age", "income"])
    refused = {
        "PolynomialFeatures as a rule, because it makes 2 features of 1 columns": [
            ("numbers", PolynomialFeatures(2, include_bias=False), ["age"])
        ],
        "without drop and limits": [numbers, ("texts", OneHotEncoder(drop="first"), ["city"])],
        "no rule has what SimpleImputer": [("numbers", SimpleImputer(add_indicator=True), ["age"])],
        "chosen by lists of their names": [("numbers", filled(), [True, False, True, False])],
        "categories must be texts .* 18.0 is none": [("texts", CODE, ["age"])],
    }
    for message, parts in refused.items():
        with pytest.raises(TypeError, match=message):
            table_rule(searched(parts, X, leaves))
    with pytest.raises(TypeError, match="starts with StandardScaler, not with a ColumnTransformer"):
        table_rule(paper_search(make_pipeline(StandardScaler(), LinearSVC()), cv=3).fit(X[["age"]], leaves))
