"""Searches for costs of rows under constraints by segments."""

import pickle
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from csf import CostSearch, load
from csf.cli import main
from csf.export import decision_rule, read_rule
from csf.metrics import Review, RowCosts

N = 3000
RNG = np.random.default_rng(0)
REGION = RNG.choice(["east", "north", "south"], N)
FRAME = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["debt", "income"])
FRAME["amount"] = np.exp(RNG.normal(size=N)) * np.where(REGION == "north", 4.0, 2.0)
Y = (FRAME["debt"] + (REGION == "south") + RNG.normal(size=N) > 1.2).to_numpy().astype(int)
COSTS = RowCosts(fn="amount", fp=1.0)
GAP, EACH = "recall gap <= 0.05 by region", "recall >= 0.8 in each region"


def search_for(constraint=GAP, **options):
    options = {"param_grid": None, "random_state": 0} | options
    return CostSearch(LogisticRegression(), COSTS, constraint=constraint, **options)


def fitted(constraint=GAP, **options):
    return search_for(constraint, **options).fit(FRAME, Y, by=REGION)


def recalls(predicted, y=Y, region=REGION):
    return {name: predicted[(region == name) & (y == 1)].mean() for name in np.unique(region)}


@pytest.fixture(scope="module")
def searched():
    return fitted()


def test_rates_are_as_close_as_was_asked_for(searched):
    rates = [row["recall"] for row in searched.segments_.values()]
    assert searched.feasible_
    assert max(rates) - min(rates) == pytest.approx(searched.constraint_value_)
    assert searched.constraint_value_ <= 0.05
    free = search_for(None).fit(FRAME, Y)
    unconstrained = recalls(free.predict(FRAME)).values()
    assert max(unconstrained) - min(unconstrained) > 0.1
    assert searched.limit_cost_ >= 0.0


def test_predictions_are_those_of_least_expected_cost_with_the_extra_costs_of_the_segment(searched):
    p = searched.predict_proba(FRAME)[:, 1]
    extra = {name: (row["extra_fn"], row["extra_fp"]) for name, row in searched.segments_.items()}
    fn, fp = np.array([extra[name] for name in REGION]).T
    expected = p * (FRAME["amount"].to_numpy() + fn) >= (1.0 - p) * (1.0 + fp)
    predicted = searched.predict(FRAME, by=REGION)
    assert (predicted == expected).all()
    assert searched.score(FRAME, Y, by=REGION) == pytest.approx(COSTS.score(Y, predicted, FRAME))


def test_a_column_of_the_samples_is_as_good_as_an_array(searched):
    frame = FRAME.assign(region=REGION)
    columns = make_column_transformer(("passthrough", ["debt", "income", "amount"]))
    pipeline = make_pipeline(columns, LogisticRegression())
    search = clone(search_for()).set_params(base=pipeline).fit(frame, Y)
    assert (search.predict(frame) == searched.predict(FRAME, by=REGION)).mean() > 0.99


@pytest.mark.parametrize("constraint", [EACH, f"{EACH}, precision >= 0.3 in each region"])
def test_levels_are_kept_in_each_segment(constraint):
    search = fitted(constraint)
    assert search.feasible_
    assert min(row["recall"] for row in search.segments_.values()) >= 0.8
    assert not np.isnan(search.corrected_score_)


@pytest.mark.slow
def test_levels_that_no_decisions_keep_are_said():
    with pytest.warns(UserWarning, match="no decisions keep precision >= 0.99 in each region"):
        search = fitted("precision >= 0.99 in each region, recall >= 0.9 in each region")
    assert not search.feasible_


def one_class_in_south(truth):
    return np.where(REGION == "south", truth, Y)


@pytest.mark.parametrize("truth", [0, 1])
def test_a_segment_may_have_one_class(truth):
    search = search_for("predicted_positive_rate <= 0.4 in each region").fit(
        FRAME, one_class_in_south(truth), by=REGION
    )
    assert np.isfinite([search.corrected_score_, *search.score_interval_]).all()
    assert search.segments_["south"]["positives"] == truth


def test_parts_of_a_small_segment_may_have_one_class():
    """Two positives of forty: most parts of the rows have none of them, or no others."""
    small = np.where(np.arange(N) < 40, "islands", REGION)
    y = np.append(np.arange(40) < 2, Y[40:]).astype(int)
    search = search_for("predicted_positive_rate <= 0.4 in each region").fit(FRAME, y, by=small)
    low, high = search.score_interval_
    assert low < search.best_score_ < high
    assert search.segments_["islands"]["weight"] == 40


@pytest.mark.parametrize("metric", [COSTS, "f1"])
@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"groups": np.arange(N) // 2}])
def test_the_size_of_a_segment_is_that_of_its_rows(metric, options):
    given = {name: options.pop(name) for name in ("groups",) if name in options}
    options = {"param_grid": None, "random_state": 0, "n_trials": 1} | options
    weight = 1 + np.arange(N) % 3
    search = CostSearch(LogisticRegression(), metric, constraint=EACH, **options)
    search.fit(FRAME, Y, by=REGION, sample_weight=weight, **given)
    sizes = {name: row["weight"] for name, row in search.segments_.items()}
    assert sizes == pytest.approx({name: weight[name == REGION].sum() for name in np.unique(REGION)})


def test_a_limit_that_changes_nothing_costs_nothing(searched):
    wide = fitted("recall gap <= 1 by region")
    assert wide.limit_cost_ == 0.0
    np.testing.assert_array_equal(wide.predict(FRAME, by=REGION), search_for(None).fit(FRAME, Y).predict(FRAME))
    costs, held = searched.result_.store, searched.result_.held_out_decisions
    free = searched.result_.tuned.without_prices().decide(*searched.result_._rows)
    lost = costs.value(costs.paid(free), costs.copies) - costs.value(costs.paid(held), costs.copies)
    assert searched.limit_cost_ == pytest.approx(max(lost, 0.0))


def test_whole_weights_in_groups_count_as_repeated_rows():
    rows = slice(0, 900)
    counts, groups = np.arange(900) % 3, np.arange(900) // 2
    rep = np.repeat(np.arange(900), counts)
    base = LogisticRegression().fit(FRAME[900:], Y[900:])
    weighted, repeated = (CostSearch(base, COSTS, constraint=EACH, cv="prefit", random_state=0) for _ in range(2))
    weighted.fit(FRAME[rows], Y[rows], by=REGION[rows], sample_weight=counts, groups=groups)
    repeated.fit(FRAME.iloc[rep], Y[rep], by=REGION[rep], groups=groups[rep])
    assert weighted.best_score_ == pytest.approx(repeated.best_score_)
    assert weighted.row_rule_ == repeated.row_rule_
    np.testing.assert_array_equal(weighted.predict(FRAME, by=REGION), repeated.predict(FRAME, by=REGION))


def test_weights_count_as_repeated_rows():
    part = slice(0, 600)
    times = np.random.default_rng(1).integers(1, 3, 600)
    rows = np.repeat(np.arange(600), times)
    base = LogisticRegression().fit(FRAME[part], Y[part])
    options = {"base": base, "cv": "prefit"}
    weighted = search_for().set_params(**options).fit(FRAME[part], Y[part], sample_weight=times, by=REGION[part])
    repeated = search_for().set_params(**options).fit(FRAME.iloc[rows], Y[rows], by=REGION[rows])
    for name, row in repeated.segments_.items():
        assert row == pytest.approx(weighted.segments_[name])


def test_the_order_of_rows_and_names_of_segments_decide_nothing(searched):
    base = LogisticRegression().fit(FRAME, Y)
    order = np.random.default_rng(2).permutation(N)
    options = {"base": base, "cv": "prefit"}
    known = search_for().set_params(**options).fit(FRAME, Y, by=REGION)
    moved = search_for().set_params(**options).fit(FRAME.iloc[order], Y[order], by=REGION[order])
    assert (known.predict(FRAME, by=REGION) == moved.predict(FRAME, by=REGION)).all()
    other = {"east": 3, "north": 2, "south": 1}
    named = search_for().set_params(**options).fit(FRAME, Y, by=[other[name] for name in REGION])
    assert (named.predict(FRAME, by=[other[name] for name in REGION]) == known.predict(FRAME, by=REGION)).all()


def test_certified_decisions_are_tested_in_each_segment():
    search = fitted("recall >= 0.6 in each region", confidence=0.9)
    assert search.feasible_ == search.guarantee_.holds
    assert search.guarantee_.smallest.startswith("region=")
    assert search.guarantee_.constraint == "recall >= 0.6 in each region"
    assert min(recalls(search.predict(FRAME, by=REGION)).values()) >= 0.6


def test_certified_gaps_are_those_of_all_pairs():
    search = fitted("recall gap <= 0.3 by region", confidence=0.9)
    assert search.guarantee_.constraint == "recall gap <= 0.3 by region"
    with pytest.raises(ValueError, match="leave out sample_weight= and groups="):
        search_for("recall gap <= 0.3 by region", confidence=0.9).fit(FRAME, Y, by=REGION, sample_weight=Y + 1.0)


def test_rules_of_files_decide_alike(searched, tmp_path):
    decision_rule(searched).save(tmp_path / "rule.json")
    rule = read_rule(tmp_path / "rule.json")
    scores = searched.best_estimator_.decision_function(FRAME)
    decided = rule.decide(scores, by=REGION, fn_cost=FRAME["amount"].to_numpy())
    assert (decided == searched.predict(FRAME, by=REGION)).all()


def test_pickles_reports_and_summaries_know_the_segments(searched, tmp_path):
    again = pickle.loads(pickle.dumps(searched))
    assert (again.predict(FRAME, by=REGION) == searched.predict(FRAME, by=REGION)).all()
    searched.report(tmp_path / "report.html", FRAME, Y, by=REGION)
    page = (tmp_path / "report.html").read_text()
    assert "Segments by region" in page
    assert "what the limit costs" in page
    assert "recall gap by region" in str(searched.summary())


def test_reviews_that_move_the_rates_are_said():
    with pytest.warns(UserWarning, match="with reviews, which some segments have more of, they do not"):
        search = fitted(review=Review(0.3))
    assert set(search.predict_with_review(FRAME, by=REGION)) <= {0, 1, "review", "0", "1"}


def test_rates_after_reviews_are_those_of_reviewed_rows_that_are_right():
    base = LogisticRegression().fit(FRAME, Y)
    with pytest.warns(UserWarning, match="with reviews") as caught:
        search = search_for(review=Review(0.3)).set_params(base=base, cv="prefit").fit(FRAME, Y, by=REGION)
    answers = np.asarray(search.predict_with_review(FRAME, by=REGION)).astype(str)
    final = np.where(answers == "review", Y.astype(str), search.predict(FRAME, by=REGION).astype(str)).astype(int)
    rates = recalls(final).values()
    assert f"recall gap by region {max(rates) - min(rates):.4g}" in str(caught[-1].message)


def test_means_of_folds_keep_the_constraint():
    search = fitted(refit="folds")
    assert search.feasible_
    assert search.constraint_value_ <= 0.05


REFUSED = {
    "a number of positives": (lambda s: s.predict(FRAME, at_most=9, by=REGION), "would leave out more rows"),
    "wrong alerts": (lambda s: s.predict(FRAME, wrong_at_most=0.2, by=REGION), "would leave out more rows"),
    "a capacity": (lambda s: s.at_capacity(0.1), "would leave out more rows"),
    "another prevalence": (lambda s: s.at_prevalence(0.1), "segments have shares of their own"),
    "no segments": (lambda s: s.predict(FRAME), "Give a frame with this column, or its values as by="),
    "unknown segments": (lambda s: s.predict(FRAME, by=np.full(N, "west")), "known: "),
    "no costs": (lambda s: s.predict(FRAME[["debt", "income"]], by=REGION), "fn='amount' of the metric is no column"),
    "a gap of precision": (lambda s: fitted("precision gap <= 0.1 by region"), "such as recall, fpr or selection_rate"),
    "a level of all rows": (lambda s: fitted(f"{EACH}, fpr <= 0.5"), "of one column"),
    "one segment": (lambda s: search_for().fit(FRAME, Y, by=np.full(N, "east")), "needs two"),
    "a segment of negatives": (
        lambda s: search_for().fit(FRAME, Y, by=np.where(Y == 1, "east", REGION)),
        "has no value where region",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused_with_the_way_out(name, searched):
    call, way_out = REFUSED[name]
    with pytest.raises(ValueError, match=way_out):
        call(searched)


@pytest.mark.slow
def test_commands_search_and_predict_by_segments(tmp_path, capsys):
    FRAME.assign(region=REGION, y=Y)[:800].to_csv(tmp_path / "known.csv", index=False)
    new = FRAME.assign(region=REGION)[800:900]
    new.to_csv(tmp_path / "new.csv", index=False)
    model = str(tmp_path / "model.skops")
    costs = ["--metric", "savings", "--fn-cost", "amount", "--fp-cost", "1", "--base", "logistic", "--trials", "1"]
    known = ["search", str(tmp_path / "known.csv"), "--target", "y", "--param", "C=1", "--no-rivals", "--save", model]
    main([*known, *costs, "--constraint", GAP])
    assert "recall gap" in capsys.readouterr().out
    main(["predict", model, str(tmp_path / "new.csv")])
    printed = pd.read_csv(StringIO(capsys.readouterr().out))
    assert (printed["prediction"] == load(model).predict(new)).all()
    assert main(["predict", model, str(tmp_path / "new.csv"), "--at-most", "5"]) != 0
    assert "would leave out more rows of some segments" in capsys.readouterr().err
