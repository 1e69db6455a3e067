import json
import pickle
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.metaestimators import available_if

from csf import CostSearch
from csf.evaluate import Candidate
from csf.evaluate.choices import Margins
from csf.export import decision_rule
from csf.metrics import Column, Review, RowCosts
from csf.metrics.row_costs import CostTable
from csf.search.config import MANY, SearchConfig
from csf.search.problems.row_costs import RowCostProblem
from csf.strategies import Ladder
from csf.thresholding import row_costs
from csf.thresholding.cost_decisions import CostDecision
from csf.thresholding.row_costs import RowCostChoice, RowCostStore, RowScores
from tests.oracles import row_costs as oracle

COST = RowCosts(fn="amount", fp=5.0, tp=1.0)


def frame(n_rows=600, seed=0):
    """Rows whose amounts have nothing to do with what they are."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows)})
    y = (rng.uniform(size=n_rows) < expit(1.5 * X["a"] + X["b"] - 1.5)).astype(int)
    return X.assign(amount=np.exp(rng.normal(size=n_rows) + 2.0).round(2)), y


def table_of(X):
    return [(amount, 5.0, 1.0, 0.0) for amount in X["amount"]]


def by_row(search, X, p):
    """Decisions that follow from probabilities, by whatever threshold was chosen."""
    odds = p / (1.0 - p) * np.exp(-search.best_threshold_)
    return oracle.elkan(table_of(X), odds / (1.0 + odds))


@pytest.fixture(scope="module")
def fitted():
    X, y = frame()
    return CostSearch(make_pipeline(StandardScaler(), LogisticRegression()), metric=COST).fit(X, y)


def test_each_row_is_decided_by_its_own_costs(fitted):
    X, y = frame(seed=1)
    p = fitted.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(fitted.predict(X), by_row(fitted, X, p))
    assert fitted.score(X, y) == pytest.approx(oracle.savings(table_of(X), y, fitted.predict(X) == 1), abs=1e-12)
    np.testing.assert_array_equal(fitted.decision_function(X) > 0, fitted.predict(X) == 1)
    assert fitted.predict(X).mean() > (p >= 0.5).mean()


def test_nothing_is_tuned_where_nothing_is_gained(monkeypatch):
    monkeypatch.setattr(Margins, "ROW_COSTS", 5.0)
    X, y = frame(2000)
    plain = CostSearch(LogisticRegression(), metric=COST, n_trials=1).fit(X, y)
    assert plain.row_rule_ == "plain"
    assert plain.best_threshold_ == 0.0
    assert [trial.t for trial in plain.trials_] == [0.0]
    # The probability knows nothing of the costs.
    np.testing.assert_allclose(plain.predict_proba(X), plain.best_estimator_.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(plain.predict(X), oracle.elkan(table_of(X), plain.predict_proba(X)[:, 1]))


def test_value_to_expect(fitted):
    X, y = frame(20_000, seed=2)
    low, high = fitted.score_interval_
    assert low < fitted.corrected_score_ < high
    assert low < fitted.score(X, y) < high
    assert 0.01 < fitted.dearest_share_ < 0.2
    assert fitted.assess().monte_carlo_error < 0.01
    assert np.isnan(fitted.upper_bound_)
    assert fitted.feasible_
    assert fitted.held_out_curve().best("accuracy").value > 0.5
    assert [trial.t for trial in fitted.trials_] == [0.0, 0.5, 1.0]
    assert fitted.trials_frame()["winner"].sum() == 1


def interval_widened_and_not(search, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(row_costs, "widened", lambda errors, gap: errors)
        alone = search.result_._assessed(0).score_interval
    return search.result_._assessed(0).score_interval, alone


@pytest.mark.parametrize("measure", ["savings", "cost"])
def test_the_interval_holds_both_values_where_one_row_is_most_of_the_total(fitted, measure, monkeypatch):
    X, y = frame(240, seed=1)
    X.loc[np.flatnonzero(y == 1)[0], "amount"] = 10.0 * X["amount"].sum()
    search = CostSearch(fitted.base, metric=RowCosts(fn="amount", fp=5.0, measure=measure), cv=3, n_trials=1).fit(X, y)
    (low, high), (_, alone) = interval_widened_and_not(search, monkeypatch)
    assert low <= search.corrected_score_ < alone < search.best_score_
    assert high == pytest.approx(search.best_score_)


@pytest.mark.parametrize("tail", ["lognormal", "pareto"])
def test_ordinary_tails_do_not_widen_the_interval(tail, monkeypatch):
    X, y = frame(300)
    rng = np.random.default_rng(0)
    X["amount"] = rng.lognormal(sigma=2.0, size=300) if tail == "lognormal" else 1.0 + rng.pareto(1.3, size=300)
    search = CostSearch(LogisticRegression(), metric=RowCosts(fn="amount", fp=4.0), n_trials=1).fit(X, y)
    reached, alone = interval_widened_and_not(search, monkeypatch)
    assert reached == alone


@pytest.mark.parametrize("measure", ["cost", "benefit"])
def test_other_units_choose_alike(fitted, measure):
    X, y = frame()
    cost = RowCosts(fn="amount", fp=5.0, tp=1.0, measure=measure)
    search = CostSearch(fitted.base, metric=cost).fit(X, y)
    assert search.best_index_ == fitted.best_index_
    negative = oracle.paid(table_of(X), y, [False] * len(y)) / len(y)
    positive = oracle.paid(table_of(X), y, [True] * len(y)) / len(y)
    paid = (1.0 - fitted.best_score_) * min(negative, positive)
    assert search.best_score_ == pytest.approx((negative if measure == "benefit" else 0.0) - paid, abs=1e-9)
    low, high = search.score_interval_
    assert low < search.corrected_score_ < high


def test_costs_that_are_given(fitted):
    X, y = frame()
    features, amount, new, truth = X[["a", "b"]], X["amount"], *frame(seed=1)
    search = CostSearch(fitted.base, metric="savings").fit(features, y, fn_cost=amount, fp_cost=5.0, tp_cost=1.0)
    given = {"fn_cost": new["amount"].to_numpy()}
    p = search.predict_proba(new[["a", "b"]], **given)[:, 1]
    found = search.predict(new[["a", "b"]], **given)
    np.testing.assert_array_equal(found, by_row(search, new, p))
    assert search.score(new[["a", "b"]], truth, **given) == pytest.approx(
        oracle.savings(table_of(new), truth, found == 1)
    )
    with pytest.warns(UserWarning, match="one threshold on the probability of a row decides, .*Give fn_cost="):
        alone = search.predict(new[["a", "b"]])
    own = search.best_estimator_.predict_proba(new[["a", "b"]])[:, 1]
    np.testing.assert_array_equal(alone, own >= search.threshold_without_costs_)
    with pytest.raises(ValueError, match="fn_cost must be given"):
        search.score(new[["a", "b"]], truth)
    with pytest.raises(ValueError, match="fn_cost must have one number for each of 600 rows"):
        search.predict(new[["a", "b"]], fn_cost=[1.0, 2.0])


def test_a_column_that_is_missing_at_predict(fitted):
    with pytest.raises(ValueError, match=r"fn='amount' of the metric is no column of X.*\['a', 'b'\]"):
        fitted.predict(frame()[0][["a", "b"]])


def test_the_base_may_leave_the_column_out():
    X, y = frame()
    base = make_pipeline(make_column_transformer((StandardScaler(), ["a", "b"])), LogisticRegression())
    search = CostSearch(base, metric=COST).fit(X, y)
    assert search.best_estimator_[-1].n_features_in_ == 2
    assert search.predict(X).shape == (600,)
    assert CostSearch(LogisticRegression(), metric=RowCosts(fn=Column(2), fp=5.0)).fit(X.to_numpy(), y).best_score_ > 0


def test_inside_scikit_learn():
    X, y = frame(300)
    search = CostSearch(LogisticRegression(), metric=COST, cv=2, param_grid=None)
    assert (cross_validate(search, X, y, cv=2)["test_score"] > 0).all()
    grid = GridSearchCV(search, {"base__C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert grid.best_score_ > 0
    assert grid.predict(X).shape == (300,)
    keep = make_column_transformer(
        (StandardScaler(), ["a", "b"]), remainder="passthrough", verbose_feature_names_out=False
    )
    assert make_pipeline(keep.set_output(transform="pandas"), search).fit(X, y).score(X, y) > 0
    assert clone(search).metric == COST
    assert pickle.loads(pickle.dumps(search.fit(X, y))).score(X, y) > 0


def test_costs_are_routed():
    X, y = frame(300)
    features, costs = X[["a", "b"]], {"fn_cost": X["amount"].to_numpy(), "fp_cost": np.full(300, 5.0)}
    asks = dict.fromkeys(costs, True)
    with config_context(enable_metadata_routing=True):
        search = CostSearch(LogisticRegression(), metric="savings", cv=2, param_grid=None)
        search.set_fit_request(**asks).set_predict_request(**asks).set_score_request(**asks)
        assert (cross_validate(search, features, y, cv=2, params=costs)["test_score"] > 0).all()
        grid = GridSearchCV(search, {"base__C": [0.1, 1.0]}, cv=2).fit(features, y, **costs)
        assert grid.best_score_ > 0
        pipe = make_pipeline(StandardScaler(), search).fit(features, y, **costs)
        assert pipe.predict(features, **costs).shape == (300,)
        assert pipe.score(features, y, **costs) > 0


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"constraint": "recall[2] >= 0.8"}, {}, r"there is no '2'; accepted: \[0, 1\]"),
        ({"confidence": 0.9}, {}, r"confidence=0.9 needs a constraint, .* or review=Review\(wrong=0.05\)"),
        ({"threshold": None}, {}, "threshold=None is not for costs of rows.*'stable'"),
        ({"refit": "fold"}, {}, "refit must be one of"),
        ({"strategy": "cone"}, {}, "costs of rows, are searched by 'ladder' or 'grid'"),
        ({"metric": "f1"}, {"fn_cost": 1.0}, "fn_cost cannot be given with metric='f1'; accepted"),
        ({"metric": "savings"}, {"fn_cost": 1.0}, "fp_cost must be given"),
        ({}, {"fp_costs": 1.0}, "fp_costs cannot be given .*Did you mean 'fp_cost'"),
        ({}, {"fn_cost": -1.0}, "fn_cost is -1.0 in row 0"),
        ({}, {"fn_cost": np.ones(3)}, "fn_cost must have one number for each of 600 rows"),
        ({}, {"fn_cost": 0.0}, "predicting negative is never more expensive in any row.*fn > tp in no positive row"),
        ({}, {"fn_cost": 1e308}, "more than a float can hold"),
        ({}, {"fn_cost": 1.0, "tp_cost": 3.0, "fp_cost": 0.0, "tn_cost": 1.0}, "cost less than .* in 600 of 600 rows"),
    ],
)
def test_refused_before_training(options, given, message):
    X, y = frame()

    class Untrained(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("nothing is trained")

    with pytest.raises((TypeError, ValueError), match=message):
        CostSearch(Untrained(), **{"metric": COST, **options}).fit(X, y, **given)


def test_no_other_arguments():
    X, y = frame()
    search = CostSearch(LogisticRegression(), metric=COST, cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"fn cannot be given .*accepted: fn_cost, fp_cost"):
        search.predict(X, fn=1.0)
    with pytest.raises(ValueError, match="pos"):
        search.at_prevalence(1.1)


@pytest.mark.parametrize(
    "base", [RandomForestClassifier(30, random_state=0), HistGradientBoostingClassifier(max_iter=20)]
)
def test_other_bases(base):
    X, y = frame()
    search = CostSearch(base, metric=COST, random_state=0).fit(X, y)
    assert search.score(*frame(2000, seed=3)) > 0.1
    assert {trial.t for trial in search.trials_} == {0.0}
    p = search.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_margins_are_calibrated():
    X, y = frame()
    search = CostSearch(make_pipeline(StandardScaler(), LinearSVC()), metric=COST).fit(X, y)
    assert search.row_rule_ == "sigmoid"
    assert search.score(*frame(5000, seed=3)) > 0.2


def test_trainings_with_weights_take_them_out_again():
    """A model that has learnt (g / h) times the odds says the same of the class as one that has not."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=20_000)})
    X["amount"] = np.exp(X["a"])
    y = rng.uniform(size=20_000) < expit(X["a"] - 0.5)
    cost = RowCosts(fn="amount", fp=1.0)
    search = CostSearch(LogisticRegression(C=1e3), metric=cost, strategy=Ladder(3), param_grid=None).fit(
        X[["a", "amount"]], y
    )
    assert [trial.t for trial in search.trials_] == [0.0, 0.5, 1.0]
    assert np.ptp([trial.score for trial in search.trials_]) < 0.01
    # The trial of power 1 alone, whose model says as much of the class as one that was trained without costs.
    alone = replace(search.result_, candidate=Candidate((2, 0), "plain"))
    assert alone.winner.t == 1.0
    rule = replace(
        search._rule,
        power=1.0,
        decision=CostDecision(),
        estimator=LogisticRegression(C=1e3).fit(X, y, X["amount"] ** y),
    )
    plain = LogisticRegression(C=1e3).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(rule.predict_proba(X), plain, atol=0.05)


class Recorder(LogisticRegression):
    """Logistic regression that keeps the mean weight of each training."""

    means: ClassVar[list[float]] = []

    def fit(self, X, y, sample_weight=None):
        self.means.append(1.0 if sample_weight is None else float(np.mean(sample_weight)))
        return super().fit(X, y, sample_weight)


def test_weights_by_costs_leave_the_strength_of_regularisation_as_it_is():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.uniform(size=300) < 0.3
    Recorder.means.clear()
    cost = RowCosts(fn=Column(0), fp=50.0)
    CostSearch(Recorder(), cost, strategy=Ladder(3), param_grid=None, cv=3, refit=False).fit(np.exp(X), y)
    assert len(Recorder.means) >= 9
    np.testing.assert_allclose(Recorder.means, 1.0, atol=0.2)


def test_models_with_scores_of_two_kinds():
    X, y = frame()
    models = {"linear": LogisticRegression(), "forest": RandomForestClassifier(30, random_state=0)}
    search = CostSearch(models, metric=COST, cv=2, random_state=0).fit(X, y)
    alone = CostSearch(models["linear"], metric=COST, cv=2, random_state=0).fit(X, y)
    assert search.best_params_["model"] == "linear"
    assert max(trial.score for trial in search.trials_) == pytest.approx(max(t.score for t in alone.trials_), abs=1e-6)
    assert search.score(X, y) > 0.2


def test_prefit(fitted):
    X, y = frame(seed=4)
    model = fitted.best_estimator_
    search = CostSearch(FrozenEstimator(model), metric=COST).fit(X, y)
    assert search.best_estimator_ is not None
    assert search.n_splits_ == 0
    np.testing.assert_array_equal(search.predict(X), by_row(search, X, search.predict_proba(X)[:, 1]))
    assert search.corrected_score_ == pytest.approx(search.best_score_, abs=0.05)
    assert CostSearch(model, metric=COST, cv="prefit").fit(X, y).best_score_ == search.best_score_


def test_labels_of_any_kind(fitted):
    X, y = frame()
    named = np.where(y == 1, "lost", "paid")
    search = CostSearch(fitted.base, metric=COST, pos_label="lost").fit(X, named)
    np.testing.assert_array_equal(search.predict(X) == "lost", fitted.predict(X) == 1)
    np.testing.assert_allclose(search.predict_proba(X)[:, 0], fitted.predict_proba(X)[:, 1])
    assert search.score(X, named) == pytest.approx(fitted.score(X, y))
    np.testing.assert_array_equal(search.decision_function(X) > 0, search.predict(X) == "paid")


def test_a_weight_of_two_is_two_rows():
    X, y = frame(300)
    weight = np.where(np.arange(300) % 3, 1, 2)
    twice = np.repeat(np.arange(300), weight)
    splits = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    doubled = [tuple(np.flatnonzero(np.isin(twice, part)) for part in split) for split in splits]
    options = {"metric": COST, "param_grid": None}
    one = CostSearch(LogisticRegression(), cv=splits, **options).fit(X, y, sample_weight=weight)
    two = CostSearch(LogisticRegression(), cv=doubled, **options).fit(X.iloc[twice], y.iloc[twice])
    assert one.best_score_ == pytest.approx(two.best_score_, abs=1e-3)
    assert one.dearest_share_ == pytest.approx(two.dearest_share_)
    assert one.score_interval_[1] - one.score_interval_[0] == pytest.approx(np.ptp(two.score_interval_), rel=0.3)


def test_checkpoint(fitted, tmp_path):
    X, y = frame()
    path = tmp_path / "search.json"
    first = CostSearch(fitted.base, metric=COST, checkpoint=path, callbacks=[lambda *_: True]).fit(X, y)
    assert len(first.trials_) == 1
    resumed = CostSearch(fitted.base, metric=COST, checkpoint=path).fit(X, y)
    assert resumed.trials_ == fitted.trials_
    assert resumed.corrected_score_ == fitted.corrected_score_
    with pytest.raises(ValueError, match="another search"):
        CostSearch(fitted.base, metric=COST, checkpoint=path).fit(X, y, fn_cost=X["amount"] + 1.0)


# ---------------------------------------------------------------- laws: the unit, the order and the copies of rows


class Given(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose probability is the first column, or whose margin it is."""

    def __init__(self, margins=False):
        self.margins = margins
        self.classes_ = np.array([0, 1])

    def fit(self, X, y, sample_weight=None):
        return self

    @available_if(lambda self: not self.margins)
    def predict_proba(self, X):
        return np.c_[1.0 - X[:, 0], X[:, 0]]

    @available_if(lambda self: self.margins)
    def decision_function(self, X):
        return X[:, 0] - 0.4


def judged(X, y, costs, new, *, measure="savings", margins=False, weight=None, unit=1.0):
    """Decisions, the choice, and what it is said to be worth in the first unit, of a search of given probabilities."""
    search = CostSearch(Given(margins), measure, cv="prefit").fit(X, y, weight, **costs)
    values = np.array([search.best_score_, search.corrected_score_, *search.score_interval_])
    captured = search.at_capacity(0.2).captured, search.dearest_share_
    return search.predict(new[0], **new[1]), search.row_rule_, np.append(values / unit, captured)


def same(one, two):
    np.testing.assert_array_equal(one[0], two[0])
    assert one[1] == two[1]
    np.testing.assert_allclose(one[2], two[2], rtol=1e-9, atol=1e-9)


def times(costs, factor, more=0.0):
    return {name: factor * each + more for name, each in costs.items()}


@st.composite
def drawn_rows(draw):
    """Probabilities and costs, some of few values, so that much is tied."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, coarse, whole = draw(st.integers(12, 60)), draw(st.booleans()), draw(st.booleans())
    p = rng.integers(1, 8, n_rows) / 8 if coarse else rng.uniform(size=n_rows)
    y = (rng.uniform(size=n_rows) < p).astype(int)
    y[:4] = 0, 1, 0, 1
    fn, fp = rng.integers(1, 8, size=(2, n_rows)) * 1.0 if whole else rng.lognormal(size=(2, n_rows))
    costs = {"fn_cost": fn, "fp_cost": fp, "tp_cost": rng.integers(0, 2, n_rows) * 0.5, "tn_cost": np.zeros(n_rows)}
    copies = rng.integers(0, 4, n_rows)
    copies[:4] = 1
    options = {"measure": draw(st.sampled_from(["savings", "cost", "benefit"])), "margins": draw(st.booleans())}
    return p[:, None], y, costs, copies, options


def check_laws(drawn, factor):
    X, y, costs, copies, options = drawn
    new = X, costs
    plain = judged(X, y, costs, new, **options)
    dearer = times(costs, factor)
    unit = 1.0 if options["measure"] == "savings" else factor
    same(judged(X, y, dearer, (X, dearer), unit=unit, **options), plain)
    order = np.random.default_rng(0).permutation(y.size)
    same(judged(X[order], y[order], {name: each[order] for name, each in costs.items()}, new, **options), plain)
    at = np.repeat(np.arange(y.size), copies)
    repeated = judged(X[at], y[at], {name: each[at] for name, each in costs.items()}, new, **options)
    same(judged(X, y, costs, new, weight=copies.astype(float), **options), repeated)
    # What is paid in any case: savings are other shares then, and decisions the same.
    found, kind, _ = judged(X, y, times(costs, 1.0, 4.0), (X, times(costs, 1.0, 4.0)), **options)
    np.testing.assert_array_equal(found, plain[0])
    assert kind == plain[1]


def test_unit_order_and_copies_of_rows_decide_nothing():
    rng = np.random.default_rng(3)
    p = rng.integers(1, 8, size=60) / 8
    y = (rng.uniform(size=60) < p).astype(int)
    costs = dict(zip(("fn_cost", "fp_cost"), rng.integers(1, 8, size=(2, 60)) * 1.0)) | dict.fromkeys(
        ("tp_cost", "tn_cost"), np.zeros(60)
    )
    check_laws((p[:, None], y, costs, rng.integers(0, 4, 60), {"measure": "savings"}), 1e-9)


@pytest.mark.slow
@settings(max_examples=3)
@given(drawn_rows(), st.sampled_from([3.0, 0.1, 1e-9, 7 / 3, 1e9]))
def test_laws_of_costs_of_rows(drawn, factor):
    check_laws(drawn, factor)


# ---------------------------------------------------------------- few rows with stakes, and no rule that saves


def test_one_row_may_carry_all_that_is_at_stake():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=120)
    y = (rng.uniform(size=120) < 0.3 * p).astype(int)
    X, first = p[:, None], np.flatnonzero(y)[0]
    fn = np.where(np.arange(120) == first, 50.0, np.where(y == 1, 0.0, 3.0))
    search = CostSearch(Given(), "cost", cv="prefit").fit(X, y, fn_cost=fn, fp_cost=1.0)
    # Nobody else's cost can say to act on that row: the choice is judged on rows that did not make it.
    assert -50.0 / 120 - 1.0 <= search.best_score_ <= 0.0
    assert np.isfinite(search.corrected_score_)
    weight = np.where(np.arange(120) == first, 0.0, 1.0)
    for rows in (slice(None), weight > 0.0):
        with pytest.raises(ValueError, match="predicting negative is never more expensive in any row"):
            CostSearch(Given(), "cost", cv="prefit").fit(X[rows], y[rows], weight[rows], fn_cost=fn[rows], fp_cost=1.0)
    search = CostSearch(Given(), "cost", cv="prefit").fit(X, y, fn_cost=1e300, fp_cost=1.0)
    assert search.predict(X, fn_cost=1e300).all()
    assert search.best_score_ == pytest.approx(-np.mean(y == 0))


def test_rows_of_weight_0_change_nothing():
    rng = np.random.default_rng(1)
    p, weight = rng.uniform(size=80), rng.integers(0, 2, size=80).astype(float)
    y, X, kept = (rng.uniform(size=80) < p).astype(int), p[:, None], weight > 0.0
    costs = {"fn_cost": rng.lognormal(size=80), "fp_cost": rng.lognormal(size=80)}
    with_them = judged(X, y, costs, (X, costs), weight=weight)
    same(with_them, judged(X[kept], y[kept], {name: each[kept] for name, each in costs.items()}, (X, costs)))


@pytest.mark.parametrize(("share", "answer"), [(0.05, "negative"), (0.95, "positive")])
def test_the_same_answer_to_all_is_a_candidate(share, answer):
    """Probabilities that say nothing."""
    rng = np.random.default_rng(0)
    p, noise = rng.uniform(size=400), rng.uniform(size=400)
    y = (noise < share).astype(int)
    search = CostSearch(Given(), "savings", cv="prefit").fit(p[:, None], y, fn_cost=1.0, fp_cost=1.0)
    plain = RowCosts(fn=1.0, fp=1.0).score(y, p >= 0.5)
    assert plain < search.best_score_ <= 0.01
    assert search.best_score_ >= 0.0
    low, high = search.score_interval_
    assert low <= search.corrected_score_ <= high
    assert f"does not lie above 0, the value of the same answer to all rows, “{answer}”" in in_one_line(search)


def in_one_line(search):
    return " ".join(str(search.summary()).split())


def answering_alike(kind, monkeypatch):
    """A search that answers all rows the same, but the first one, which is never worth it."""
    for each in Margins.ROW_RULES:
        monkeypatch.setitem(Margins.ROW_RULES, each, -99.0 if each == kind else 99.0)
    X, y = frame(300)
    X["amount"] = X["amount"].clip(lower=2.0)
    X.loc[0, "amount"] = 0.5  # less than a true positive costs
    return CostSearch(LogisticRegression(), metric=COST, cv=2, n_trials=1, review=Review(cost=0.5)).fit(X, y), X, y


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["negative", "positive"])
def test_the_report_of_the_same_answer_to_all_rows(kind, monkeypatch, tmp_path):
    search, X, y = answering_alike(kind, monkeypatch)
    search.report(tmp_path / "report.html", X, y)
    assert "to all rows, as no rule saved anything" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("kind", ["negative", "positive"])
def test_a_search_that_answers_all_rows_the_same(kind, monkeypatch):
    search, X, _ = answering_alike(kind, monkeypatch)
    assert search.row_rule_ == kind
    assert (search.predict(X)[1:] == (kind == "positive")).all()
    assert search.predict(X)[0] == 0
    assert np.isfinite(search.best_threshold_)
    assert 0.0 < search.predict_proba(X)[:, 1].mean() < 1.0
    assert search.at_capacity(0.1).acted_on == pytest.approx(0.1 if kind == "positive" else 0.0)
    assert f"it answers '{kind}' to all rows" in in_one_line(search)
    rule, score = decision_rule(search), search.best_estimator_.decision_function(X)
    np.testing.assert_array_equal(rule.decide(score, fn_cost=X["amount"]), search.predict(X))
    json.dumps(rule.to_dict(), allow_nan=False)
    # Nothing was tuned: the value of the answer is what it is worth, without an optimism of the choice.
    assert search.corrected_score_ == search.best_score_


@pytest.mark.parametrize("kind", ["negative", "positive"])
def test_limits_and_reviews_of_the_same_answer_rank_rows_by_what_is_expected(kind, monkeypatch):
    search, X, _ = answering_alike(kind, monkeypatch)
    p, amount = search.predict_proba(X)[:, 1], X["amount"].to_numpy()
    negative, positive = p * (amount - 1.0), (1.0 - p) * 5.0
    own, answers = (positive if kind == "positive" else negative), search.predict_with_review(X)
    own[0] = negative[0]  # which its costs decide
    np.testing.assert_array_equal(answers == "review", own > 0.5)
    assert 0.1 < np.mean(answers == "review") < 1.0
    label = search.pos_label_ if kind == "positive" else search.null_class_
    assert set(answers[answers != "review"][1:]) <= {label}
    rule, z = decision_rule(search), search.best_estimator_.decision_function(X)
    np.testing.assert_array_equal(rule.decide_with_review(z, fn_cost=amount), answers)
    decision = rule.to_dict()["rule"]["decision"]
    z = decision["slope"] * np.clip(z, -decision["farthest"], decision["farthest"]) + decision["intercept"]
    np.testing.assert_allclose(expit(z), p)
    assert decision["kind"] == kind
    if kind == "negative":
        assert search.predict(X, at_most=20).sum() == 0
        return
    order = np.argsort(positive - negative, kind="stable")
    for most in (1, 20, 299):
        kept = order[order != 0][:most]
        np.testing.assert_array_equal(np.flatnonzero(search.predict(X, at_most=most)), np.sort(kept))
    dear = replace(search.review_bands(), review=Review(cost=1e9))
    for most in (0, 20, 299):
        limited = dear.answers(search.decision_rule_, X, most)
        np.testing.assert_array_equal(limited == search.pos_label_, search.predict(X, at_most=most) == 1)
    held = search.result_.evaluation(0).answers
    assert held.codes.mean() > 0.99
    assert np.ptp(held.rank[held.codes == 1]) > 1.0


@pytest.mark.parametrize("seed", range(4))
def test_reviews_stay_within_their_share_on_the_rows_that_priced_them(seed):
    X, y = frame(200)
    noisy = X.assign(a=X["a"] + np.random.default_rng(seed).normal(size=200))
    search = CostSearch(LogisticRegression().fit(X, y), COST, cv="prefit", review=Review(cost=0.2, at_most=0.2))
    search.fit(noisy, y)
    answers = search.predict_with_review(noisy)
    assert 0.15 < np.mean(answers == "review") <= 0.2
    assert search.review_.shares["review"] == pytest.approx(np.mean(answers == "review"))


def test_costs_of_probabilities_are_read(fitted):
    X, y = frame()
    search = CostSearch(fitted.base, "savings", cv=2, n_trials=1).fit(X, y, fn_cost=X["amount"], fp_cost=5.0)
    with pytest.raises(TypeError, match="fn_cost must be a number or an array"):
        search.predict_proba(X, fn_cost="a")
    with pytest.raises(ValueError, match="fn_cost must be given"):
        search.monitor().update(y, y, X=X)


# ---------------------------------------------------------------- where no rule saves


def losing(answer, n_rows=200):
    """Rows in which acting by their costs always loses: the dear ones are never of the class that makes them dear."""
    rng = np.random.default_rng(0)
    is_dear = np.arange(n_rows) % 4 == 0
    y = (rng.uniform(size=n_rows) < 0.3) & ~is_dear
    X = pd.DataFrame({"noise": rng.normal(size=n_rows), "amount": np.where(is_dear, 20.0, 1.0)})
    # The base sees noise alone.
    base = make_pipeline(make_column_transformer(("passthrough", ["noise"])), LogisticRegression())
    if answer == "negative":
        return base, RowCosts(fn="amount", fp=4.0), X, y.astype(int)
    return base, RowCosts(fn=4.0, fp="amount"), X, (~y).astype(int)


@pytest.fixture(scope="module", params=["negative", "positive"])
def alike(request):
    base, costs, X, y = losing(request.param)
    options = {"cv": 3, "n_trials": 1, "param_grid": None, "review": Review(cost=0.5)}
    return request.param, CostSearch(base, costs, **options).fit(X, y), X, y


def test_one_answer_wins_where_every_rule_loses(alike):
    answer, search, X, y = alike
    assert search.row_rule_ == answer
    assert (search.predict(X) == (answer == "positive")).all()
    # By hand: the threshold of each row on the probability of the base loses.
    p, amount = y.mean(), X["amount"]
    gain, loss = (amount, 4.0) if answer == "negative" else (4.0, amount)
    acts = p * gain >= (1.0 - p) * loss
    assert search.row_costs_.score(y, acts.astype(int), X) < 0.0
    assert search.best_score_ == search.score(X, y) == search.corrected_score_ == 0.0
    assert search.score_interval_ == (0.0, 0.0)
    said = in_one_line(search)
    assert f"answers {answer!r} to all rows, as no rule saved anything" in said
    assert f"It does not lie above 0, the value of the same answer to all rows, “{answer}”" in said
    assert f"What to do: Do without a model: no rule saved anything over “{answer}” for all rows." in said


@pytest.mark.parametrize("measure", ["savings", "benefit", "cost"])
def test_a_rule_that_acts_on_nobody_saves_nothing(measure):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"a": rng.normal(size=600), "amount": rng.uniform(5.0, 60.0, 600)})
        y = (rng.random(600) < 0.2).astype(int)
        costs = RowCosts(fn="amount", fp=400.0, measure=measure)
        search = CostSearch(LogisticRegression(), costs, cv=3, param_grid=None).fit(X, y)
        assert not search.predict(X).any()
        said = in_one_line(search)
        assert "What to do: Do without a model: no rule saved anything over “negative” for all rows." in said
        assert "a gain over that is not shown" in said


def test_one_answer_works_like_any_rule(alike, tmp_path):
    answer, search, X, y = alike
    acted_on = 5 if answer == "positive" else 0
    assert search.predict(X, at_most=5).sum() == acted_on
    rule, score = decision_rule(search), search.best_estimator_.decision_function(X)
    costs = {"fn_cost" if answer == "negative" else "fp_cost": X["amount"]}
    np.testing.assert_array_equal(rule.decide(score, **costs), search.predict(X))
    json.dumps(rule.to_dict(), allow_nan=False)
    same = search.pos_label_ if answer == "positive" else search.null_class_
    assert set(search.predict_with_review(X)) <= {same, "review"}
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(X), search.predict(X))
    moved = search.at_prevalence(0.5)
    assert np.isin(moved.predict(X), [0, 1]).all()
    assert search.monitor().update(y, search.predict(X), X=X) is False
    assert np.isfinite(search.threshold_curve(X, y).values).all()


def certified(answer, demand):
    base, costs, X, y = losing(answer, 600)
    options = {"cv": 3, "n_trials": 1, "param_grid": None, "random_state": 0}
    search = CostSearch(base, costs, constraint=demand, confidence=0.8, **options).fit(X, y)
    assert search.guarantee_.holds
    return search, X


def test_one_answer_that_breaks_a_constraint_does_not_win():
    search, X = certified("negative", "recall >= 0.2")
    assert len(set(search.predict(X))) == 2


@pytest.mark.parametrize(("answer", "demand"), [("negative", "fpr <= 0.5"), ("positive", "recall >= 0.5")])
def test_one_answer_that_keeps_a_constraint_is_certified(answer, demand):
    search, X = certified(answer, demand)
    assert search.row_rule_ == answer
    assert (search.predict(X) == (answer == "positive")).all()
    assert search.predict(X, at_most=5).sum() == (5 if answer == "positive" else 0)


# ---------------------------------------------------------------- settings of boosters


SMALL = HistGradientBoostingClassifier(max_iter=4, random_state=0)


def small(**options):
    """A search of trees so few that they are quickly trained; their number is the user's, and stays."""
    return CostSearch(**{"base": SMALL, "metric": COST, "cv": 2, "n_trials": 1} | options)


@pytest.mark.parametrize("tries_large", [False, True])
def test_settings_of_boosters_are_raced_and_all_of_them_count(monkeypatch, tries_large):
    monkeypatch.setattr(row_costs.RowCostChoice, "is_behind", lambda *_: not tries_large)
    X, y = frame(200)
    search = small().fit(X, y)
    assert search.n_trials_ == len(search.held_out_) == (12 if tries_large else 9)
    assert search.best_params_ in [trial_params(search, at) for at in range(search.n_trials_)]
    assert {each.key for each in RowCostChoice(search.held_out_).allowed} == {
        (trial.setting, trial.number) for trial in search.trials_
    }
    assert {params["max_iter"] for params in search.result_.settings} == {1, 2, 4}
    assert ("larger trees than the base's own were left out" in search.stop_reason_) == (not tries_large)
    again = clone(search).set_params(param_grid=[{name: [each] for name, each in search.best_params_.items()}])
    np.testing.assert_array_equal(again.fit(X, y).best_estimator_.predict(X), search.best_estimator_.predict(X))


def trial_params(search, at):
    return search.result_.settings[search.trials_[at].setting]


def test_large_trees_are_tried_where_small_ones_cost_no_less():
    """By hand: what the rows pay under the rule of Elkan on held-out log-odds."""
    rng = np.random.default_rng(0)
    is_pos, amount = rng.uniform(size=60) < 0.4, rng.lognormal(size=60) + 1.0
    table = CostTable(amount, np.full(60, 2.0), np.zeros(60), np.zeros(60))
    store, paid = RowCostStore(is_pos, None, COST, table, likely=True), {}
    for setting in range(6):
        score = rng.normal(size=60) + is_pos
        store.put(RowScores(key=(setting, 0), score=score, value=0.0, equal_costs=True, power=0.0))
        acts = expit(score) * amount >= expit(-score) * 2.0
        paid[setting] = np.where(is_pos, np.where(acts, 0.0, amount), np.where(acts, 2.0, 0.0)).sum()
    choice = RowCostChoice(store)
    for own, others in (((0, 1), (2, 3)), ((2, 3), (0, 1)), ((4,), (0, 5)), ((5, 1), (3, 4))):
        assert choice.is_behind(own, others) == (min(map(paid.get, others)) < min(map(paid.get, own)))
    # Failed trials have no scores, and cost more than any.
    assert choice.is_behind((9,), (0,))
    assert not choice.is_behind((0,), (9,))


def test_settings_are_tried_up_to_so_many_rows():
    def number(grid, n_samples, **options):
        base = clone(SMALL).set_params(early_stopping=False)
        config = SearchConfig(base=base, param_grid=grid, **options)
        return len(RowCostProblem.settings(None, config, config.models[0], n_samples))  # pyright: ignore[reportArgumentType]

    assert number("auto", MANY) == number("wide", MANY) == 12
    assert number("auto", MANY + 1) == 1
    # Arguments of fit may stop trainings early.
    assert number("auto", None) == 1
    assert number("wide", MANY + 1, engine="generic") == number("auto", MANY, engine="generic") == 4
    assert number({"max_depth": [1, 2]}, MANY) == 2
    assert number(None, 10) == 1


def test_settings_of_pipelines_and_of_several_models():
    X, y = frame(200)
    models = {"boosting": make_pipeline(StandardScaler(), SMALL), "linear": LogisticRegression()}
    search = small(base=models).fit(X, y)
    prefix = "histgradientboostingclassifier__"
    tried = [params for params in search.result_.settings if params["model"] == "boosting"]
    assert len(tried) == 12
    assert all(name == "model" or name.startswith(prefix) for params in tried for name in params)
    assert len(search.held_out_) == search.n_trials_ in (10, 13)


def test_a_race_goes_on_where_it_was_stopped(tmp_path):
    X, y = frame(200)
    whole = small().fit(X, y)
    options = {"checkpoint": tmp_path / "search.json"}
    stopped = small(**options, callbacks=[lambda study, trial: trial.setting == 4]).fit(X, y)
    assert stopped.n_trials_ < whole.n_trials_
    resumed = small(**options).fit(X, y)
    assert resumed.n_trials_ == whole.n_trials_
    assert resumed.best_params_ == whole.best_params_
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))


def test_scores_with_costs_are_what_a_positive_saves():
    X, y = frame()
    amount = X.pop("amount").to_numpy()
    search = CostSearch(LogisticRegression(), "savings", param_grid=None, cv=3).fit(X, y, fn_cost=amount, fp_cost=5.0)
    predicted = search.predict(X, fn_cost=amount, fp_cost=5.0) == 1
    for scores in (search.score_samples, search.decision_function):
        np.testing.assert_array_equal(scores(X, fn_cost=amount, fp_cost=5.0) > 0.0, predicted)
    with pytest.raises(TypeError, match="cannot be given with metric='f1'"):
        CostSearch(LogisticRegression(), param_grid=None, cv=3).fit(X, y).score_samples(X, fn_cost=amount)


def test_a_report_takes_costs_beside_the_samples(tmp_path):
    X, y = frame()
    amount, path = X.pop("amount").to_numpy(), tmp_path / "report.html"
    search = CostSearch(LogisticRegression(), "savings", param_grid=None, cv=3).fit(X, y, fn_cost=amount, fp_cost=5.0)
    search.report(path, X, y, fn_cost=amount, fp_cost=5.0)
    assert f"{search.score(X, y, fn_cost=amount, fp_cost=5.0):.3f}" in path.read_text(encoding="utf-8")
