"""Limited capacity as users ask for it, beside all that a search may be told."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf import CostSearch
from csf.evaluate.choices import Margins
from csf.export import decision_rule
from csf.metrics import Column, Review, RowCosts
from csf.search.threshold import GivenProbabilities
from tests.benchmarks.capacity import limits
from tests.search.problems.test_row_costs import COST, frame

LINE = LogisticRegression()
PIPELINE = make_pipeline(StandardScaler(), LINE)
BOOSTER = HistGradientBoostingClassifier(max_iter=20, random_state=0)
QUICK = {"cv": 3, "param_grid": None, "n_trials": 2}
# What a search is told, and what its fit is.
SEARCHES = {
    "plain": ({}, {}),
    "weights": ({}, {"sample_weight": np.tile([1.0, 2.5], 300)}),
    "groups": ({}, {"groups": np.repeat(np.arange(200), 3)}),
    "boosters": ({"base": BOOSTER}, {}),
    "several models": ({"base": [LINE, BOOSTER]}, {}),
    "a constraint": ({"metric": "recall", "constraint": "precision >= 0.5"}, {}),
    "a certificate": ({"metric": "recall", "constraint": "precision >= 0.4", "confidence": 0.8}, {}),
    "mean of folds": ({"refit": "folds"}, {}),
    "fitted before": ({"cv": "prefit"}, {}),
    "costs": ({"metric": COST}, {}),
    "costs and groups": ({"metric": COST}, {"groups": np.repeat(np.arange(200), 3)}),
    "costs, weights": ({"metric": COST, "base": BOOSTER}, {"sample_weight": np.tile([1.0, 2.0], 300)}),
    "costs, models": ({"metric": COST, "base": [LINE, make_pipeline(StandardScaler(), BOOSTER)]}, {}),
    "costs, fitted before": ({"metric": COST, "cv": "prefit"}, {"groups": np.repeat(np.arange(200), 3)}),
}

SLOW = dict.fromkeys(
    ["weights", "boosters", "several models", "a certificate", "costs, weights", "costs, models"], pytest.mark.slow
)
# The second one is positive.
CODED = ("no", "yes"), (1, 0)


def made(kind, coded, **more):
    """A fitted search of one of the kinds, with labels as they are or other ones."""
    options, given = SEARCHES[kind]
    X, y = frame()
    y = np.array(coded)[y]
    review = Review(cost=0.1, at_most=0.15, error=0.02)
    options = {"base": PIPELINE, "pos_label": coded[1], "review": review, **QUICK} | options | more
    if options["cv"] == "prefit":
        options["base"] = clone(options["base"]).fit(X, y)
    return CostSearch(**options).fit(X, y, **given)


@pytest.mark.filterwarnings("ignore:no threshold certifies")
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=SLOW.get(kind, ())) for kind in SEARCHES])
def test_laws_of_a_limit(kind):
    coded = CODED[list(SEARCHES).index(kind) % 2]
    search, X = made(kind, coded), frame(500, seed=1)[0]
    every = search.predict(X) == coded[1]
    order = np.random.default_rng(0).permutation(500)
    for at_most, k in ((0, 0), (7, 7), (0.1, 50), (10**6, 10**6)):
        found = search.predict(X, at_most=at_most) == coded[1]
        assert found.sum() == min(k, every.sum())
        assert not (found & ~every).any()
        np.testing.assert_array_equal(search.predict(X.iloc[order], at_most=at_most) == coded[1], found[order])
        worth = search.decision_rule_.ranked(X)[1]
        assert worth[found].min(initial=np.inf) >= worth[every & ~found].max(initial=-np.inf)
    told = [search.at_capacity(share) for share in (0.02, 0.1, 0.999)]
    assert told[0].captured < told[1].captured <= told[2].captured <= 1.0
    assert told[0].threshold >= told[1].threshold >= told[2].threshold
    for each in told:
        assert each.acted_on <= each.at_most
        assert each.interval[0] <= each.value <= each.interval[1]
    # Without a limit it is what the search is worth.
    assert told[2].value == pytest.approx(search.corrected_score_, abs=2e-3)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X, at_most=7), search.predict(X, at_most=7))
    laws_of_a_review(search, again, X, every)


def laws_of_a_review(search, again, X, every):
    told, answers = search.review_, search.predict_with_review(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(search.predict_with_review(X.iloc[order]), answers[order])
    np.testing.assert_array_equal(again.predict_with_review(X), answers)
    negative, positive = search.null_class_, search.pos_label_
    assert set(answers) <= {negative, "review", positive}
    if search.constraint is None:  # else bands are those of the costs for which its threshold is the best one
        assert (answers == search.predict(X))[answers != "review"].all()
    assert list(told.shares) == [str(negative), str(positive), "review"]
    assert told.shares["review"] <= 0.15 + 1e-12
    assert 0.02 < (answers == "review").mean() < 0.3
    assert sum(told.shares.values()) == pytest.approx(1.0)
    assert told.wrong["review"] == pytest.approx(0.02)
    assert told.interval[0] <= told.value <= told.interval[1]
    if search.constraint is None:
        assert told.value > search.corrected_score_
    assert clone(search).review == search.review
    if not hasattr(search, "row_costs_"):
        moved = search.at_prevalence(0.1)
        assert moved.review_.shares[str(positive)] < told.shares[str(positive)]
    else:
        # The answer "positive" is none that costs more than "negative" on average.
        assert every[answers == positive].all()
        assert not every[answers == negative].any()


def test_values_by_hand():
    X, y = frame()
    search = CostSearch(LINE, "f1", **QUICK | {"n_trials": 1}).fit(X, y)
    (row,), store = search.held_out_, search.held_out_
    best = np.argsort(-row.score)[: store.is_pos.size // 20]
    tp = store.is_pos[best].sum()
    told = search.at_capacity(0.05)
    # Neither the threshold nor another trial decides, so that nothing was chosen.
    assert told.value == pytest.approx(2 * tp / (best.size + store.is_pos.sum()), abs=1e-9)
    assert told.captured == pytest.approx(tp / store.is_pos.sum())
    assert told.threshold == row.score[best].min()
    assert search.at_prevalence(0.1).at_capacity(0.05).captured > told.captured


def test_a_limit_that_leaves_no_row_out_keeps_the_threshold():
    X, y = frame(300)
    search = CostSearch(LINE, **QUICK | {"n_trials": 1}).fit(X, y)
    assert search.at_capacity(0.9).threshold == search.best_threshold_
    assert search.at_capacity(0.1).threshold > search.best_threshold_


def test_values_of_costs_by_hand(monkeypatch):
    leave_as_it_is(monkeypatch)
    X, y = frame()
    search = CostSearch(LINE, COST, param_grid=None, cv=3, n_trials=1).fit(X, y)
    store, found = search.held_out_, search.result_
    p = 1 / (1 + np.exp(-found.held_out_odds))
    gain = p * store.table.gain - (1 - p) * store.table.loss
    best = np.argsort(-gain)[: gain.size // 20]
    saved = (store.answers[0] - store.answers[1])[best].sum()
    told = search.at_capacity(0.05)
    assert told.captured == pytest.approx(saved / np.maximum(store.answers[0] - store.answers[1], 0).sum())
    negative, positive = (each.sum() for each in store.answers)
    every = (store.answers[0] - store.answers[1])[gain >= 0.0].sum()
    value, unlimited = (1 - (negative - each) / min(negative, positive) for each in (saved, every))
    # Nothing is chosen, so that the value is without the bias of the ratio alone, as the corrected score is.
    assert told.value == pytest.approx(value, abs=0.01)
    assert (told.value - value) * (search.corrected_score_ - unlimited) > 0.0
    assert told.threshold == pytest.approx(gain[best].min())


def leave_as_it_is(monkeypatch):
    """Have costs of rows decide by the probabilities of the base as they are."""
    monkeypatch.setattr(Margins, "ROW_COSTS", 99.0)
    for kind in Margins.ROW_RULES:
        monkeypatch.setitem(Margins.ROW_RULES, kind, 99.0)


def test_costs_that_are_given_when_predicting():
    X, y = frame()
    features, amount = X[["a", "b"]], X["amount"].to_numpy()
    search = CostSearch(LINE, RowCosts(fp=5.0), **QUICK).fit(features, y, fn_cost=amount)
    inside = CostSearch(LINE, RowCosts(fn="amount", fp=5.0), **QUICK)
    assert search.predict(features, at_most=20, fn_cost=amount).sum() == 20
    with pytest.warns(UserWarning, match="one threshold on the probability of a row"):
        alone = search.predict(features, at_most=20) == 1
    p = search.predict_proba(features, fn_cost=amount)[:, 1]
    assert p[alone].min() >= p[~alone].max()
    whole = make_pipeline(StandardScaler().set_output(transform="pandas"), CostSearch(LINE, **QUICK)).fit(X, y)
    assert whole.predict(X, at_most=20).sum() == 20
    with config_context(enable_metadata_routing=True):
        inside.set_predict_request(at_most=True)
        assert make_pipeline(inside).fit(X, y).predict(X, at_most=5).sum() == 5


def test_what_is_refused():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    classes = CostSearch(LINE, "f1_macro", **QUICK).fit(X, y)
    labels = CostSearch(LINE, "f1_macro", **QUICK).fit(X, np.column_stack([y == 0, y == 1]).astype(int))
    for search, what in ((classes, "class"), (labels, "label")):
        for limited in (lambda s: s.predict(X, at_most=3), lambda s: s.at_capacity(0.1)):
            with pytest.raises(TypeError, match=f"at_most must say which {what} it limits, of .* got"):
                limited(search)
    with pytest.raises(ValueError, match="keeps the base's own predictions"):
        CostSearch(LINE, "f1_macro", threshold=None, **QUICK).fit(X, y).at_capacity({0: 0.1})
    own = CostSearch(LINE, threshold=None, **QUICK).fit(X, y == 0)
    assert own.predict(X, at_most=3).sum() == 3
    with pytest.raises(ValueError, match="keeps the base's own predictions"):
        own.at_capacity(0.1)
    with pytest.raises(TypeError, match="at_most must be a number in"):
        CostSearch(LINE, **QUICK).fit(X, y == 0).at_capacity("few")


def test_value_of_reviews_by_hand(monkeypatch):
    leave_as_it_is(monkeypatch)
    X, y = frame()
    weight = np.tile([1.0, 2.5, 0.5], 200)
    review = Review(cost=0.4, error=0.1)
    search = CostSearch(LINE, COST, review=review, param_grid=None, cv=3, n_trials=1).fit(X, y, sample_weight=weight)
    store, found, told = search.held_out_, search.result_, search.review_
    answers = search._bands.decide(found.allowed_answers(review, 0.0))
    negative, positive = store.answers
    right, wrong = (np.where(store.truth, a, b) for a, b in ((positive, negative), (negative, positive)))
    each = np.select(
        [answers == "negative", answers == "positive"], [negative, positive], 0.4 + 0.9 * right + 0.1 * wrong
    )
    paid = store.weight @ each
    value = 1 - paid / min(store.weight @ negative, store.weight @ positive)
    # Nothing is tuned, so that only the bias of the ratio is taken out, as of the decisions without reviews.
    assert told.value == pytest.approx(search.corrected_score_ + value - search.best_score_, abs=1e-9)
    own = answers == "negative"
    wrong = store.weight[own] @ store.truth[own] / store.weight[own].sum()
    assert told.wrong[str(search.null_class_)] == pytest.approx(wrong)


@pytest.mark.parametrize("metric", ["f1", pytest.param(RowCosts(fp=5.0), marks=pytest.mark.slow)], ids=["f1", "costs"])
def test_certified_bands(metric):
    X, y = frame(2000)
    features = X[["a", "b"]]
    given = {} if metric == "f1" else {"fn_cost": X["amount"].to_numpy()}
    review = Review(cost=0.2, wrong={"negative": 0.1})
    search = CostSearch(LINE, metric, review=review, confidence=0.9, **QUICK).fit(features, y, **given)
    told, new = search.review_, frame(20_000, seed=1)
    assert told.guarantees[str(search.null_class_)].holds
    assert told.guarantees[str(search.null_class_)].error <= 0.1
    assert not hasattr(search, "guarantee_")
    costs = {name: new[0]["amount"].to_numpy() for name in given}
    answers = search.predict_with_review(new[0][["a", "b"]], **costs)
    assert new[1][answers == search.null_class_].mean() < 0.1
    none = CostSearch(LINE, metric, review=Review(cost=0.2, wrong={"positive": 0.001}), confidence=0.9, **QUICK)
    with pytest.warns(UserWarning, match="wrong answers 1 <= 0.001 .*are reviewed"):
        none.fit(features, y, **given)
    assert none.pos_label_ not in set(none.predict_with_review(features, **given))


@pytest.mark.parametrize("metric", ["f1", RowCosts(fn=2.0, fp=1.0)], ids=["f1", "costs"])
@pytest.mark.parametrize(
    "names", [("no", "yes"), ("positive", "negative"), (0, 1), (1, 0), (False, True), (-1, 1)], ids=str
)
def test_answers_are_labels_of_y(names, metric):
    """They are those of predict, also where labels are called like roles, and have another one."""
    X, y = frame(300)
    X, named = X[["a", "b"]], np.array(names)[np.asarray(y).astype(int)]
    options = {"pos_label": names[1], "param_grid": None, "n_trials": 1, "cv": 2}
    review = Review(cost=0.3, at_most=0.2, wrong={names[0]: 0.3})
    search = CostSearch(LINE, metric, review=review, **options).fit(X, named)
    answers, sure = search.predict_with_review(X), search.predict_with_review(X) != "review"
    assert 0.5 < sure.mean() < 1.0
    assert (answers[sure] == search.predict(X)[sure]).all()
    assert list(search.review_.shares) == [str(names[0]), str(names[1]), "review"]
    score = getattr(search.best_estimator_, decision_rule(search).reads)(X)
    np.testing.assert_array_equal(decision_rule(search).decide_with_review(score), answers)
    # Roles name the labels that no label is called like.
    if "negative" not in names:
        role = replace(review, wrong={"negative": 0.3})
        again = CostSearch(LINE, metric, review=role, **options).fit(X, named)
        np.testing.assert_array_equal(again.predict_with_review(X), answers)
    with pytest.raises(ValueError, match="y has a class 'review', the answer to rows that are reviewed"):
        clone(search).set_params(pos_label="yes", review=Review(cost=0.3)).fit(X, np.where(y, "yes", "review"))


@pytest.mark.parametrize("margin", [-99.0, 99.0])
def test_exported_rules_answer_alike(monkeypatch, margin):
    monkeypatch.setattr(Margins, "ROW_COSTS", 5.0)
    monkeypatch.setitem(Margins.ROW_RULES, "sigmoid", margin)
    X, y = frame()
    told = {"review": Review(cost=0.3, at_most=0.2), **QUICK | {"n_trials": 1}}
    search = CostSearch(LINE, **told).fit(X, y)
    reviews, score = decision_rule(search).to_dict()["reviews"], search.best_estimator_.decision_function(X)
    names = np.array([1, 0, "review"], dtype=object)
    by_hand = names[np.select([score >= reviews["upper"], score < reviews["lower"]], [0, 1], 2)]
    np.testing.assert_array_equal(by_hand, search.predict_with_review(X))
    search = CostSearch(LINE, COST, **told).fit(X, y)
    record, z = decision_rule(search).to_dict(), search.best_estimator_.decision_function(X)
    rule, reviews = record["rule"]["decision"], record["reviews"]
    z = rule["slope"] * np.clip(z, -rule["farthest"], rule["farthest"]) + rule["intercept"]
    p, amount = 1 / (1 + np.exp(rule["threshold"] - z)), X["amount"].to_numpy()
    negative, positive = p * (amount - 1.0), (1 - p) * 5.0
    looked_at = reviews["review"]["cost"] + reviews["extra_cost"] + reviews["review"]["error"] * (negative + positive)
    least = np.argmin(np.stack([positive, negative, looked_at]), axis=0)
    np.testing.assert_array_equal(names[least], search.predict_with_review(X))
    # No limit on wrong answers leaves anything out.
    assert reviews["lower"] == -reviews["upper"] == np.finfo(float).max


def test_rows_of_weight_0_set_no_limit_on_wrong_answers():
    X, y = frame(300)
    model, weight = LogisticRegression().fit(X, y), np.random.default_rng(0).integers(0, 2, size=300)
    kept = weight > 0
    options = {"cv": "prefit", "review": Review(cost=0.2, wrong=0.1)}
    search = CostSearch(model, **options).fit(X, y, weight)
    np.testing.assert_array_equal(
        search.predict_with_review(X), CostSearch(model, **options).fit(X[kept], y[kept]).predict_with_review(X)
    )
    # The only wrong answers weigh nothing.
    right = (model.predict(X) == y).astype(float)
    CostSearch(model, **options).fit(X, y, right)


def test_what_has_no_third_answer():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    with pytest.raises(ValueError, match=r"review=.* is not for metric='f1_samples'"):
        CostSearch(LINE, "f1_samples", review=Review(cost=1.0)).fit(X, np.column_stack([y == 0, y == 1]).astype(int))
    with pytest.raises(ValueError, match=r"review=.* is not for threshold=None"):
        CostSearch(LINE, review=Review(cost=1.0), threshold=None).fit(X, y == 0)
    with pytest.raises(TypeError, match=r"review must be a csf\.metrics\.Review or None, got 0\.1"):
        CostSearch(LINE, review=0.1).fit(X, y == 0)
    with pytest.raises(ValueError, match="fitted without a third answer"):
        CostSearch(LINE, **QUICK).fit(X, y == 0).predict_with_review(X)
    with pytest.raises(ValueError, match=r"confidence=0\.9 needs a constraint"):
        CostSearch(LINE, review=Review(cost=1.0), confidence=0.9).fit(X, y == 0)


# ---------------------------------------------------------------- the same data, written in another way


def given(n, seed=0, *, cut=12):
    """Probabilities, of which many are equal, with amounts, and labels."""
    rng = np.random.default_rng(seed)
    p = np.round(cut * rng.beta(1.0, 2.0, size=n)).clip(1, cut - 1) / cut
    return np.column_stack([1.0 - p, p, np.round(np.exp(rng.normal(size=n) + 1.0)) + 1.0]), rng.uniform(size=n) < p


class First(GivenProbabilities):
    """Probabilities that are the first two of three columns."""

    def predict_proba(self, X):
        return X[:, :2]


def worth(metric, review, X, y, weight=None):
    """All that is said of a limit and of reviews."""
    search = CostSearch(First([False, True]), metric, cv="prefit", review=review).fit(X, y, weight)
    limited, reviews = [search.at_capacity(share) for share in (0.01, 0.05, 0.2)], search.review_
    numbers = [(each.value, *each.interval, each.threshold, each.acted_on, each.captured) for each in limited]
    return np.array([*np.ravel(numbers), reviews.value, *reviews.interval, *reviews.shares.values()])


@pytest.mark.parametrize(
    ("metric", "review"),
    [
        ("f1", Review(at_most=0.1)),
        ("mcc", Review(at_most=0.1, error=0.1)),
        pytest.param(RowCosts(fn=Column(2), fp=2.0), Review(cost=0.4, at_most=0.1), marks=pytest.mark.slow),
    ],
    ids=["f1", "mcc", "costs"],
)
def test_neither_order_nor_repetition_of_rows_counts(metric, review):
    X, y = given(120)
    first = worth(metric, review, X, y)
    order = np.random.default_rng(1).permutation(120)
    np.testing.assert_allclose(worth(metric, review, X[order], y[order]), first, atol=1e-9)
    weight = np.random.default_rng(2).integers(0, 4, size=120)
    weighted = worth(metric, review, X, y, weight.astype(float))
    at = np.random.default_rng(3).permutation(np.repeat(np.arange(120), weight))
    np.testing.assert_allclose(worth(metric, review, X[at], y[at]), weighted, atol=1e-9)


# ---------------------------------------------------------------- what a limit is worth


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_what_the_limit_decides_was_not_chosen(share):
    X, y = given(150, cut=1000)
    search = CostSearch(First([False, True]), "f1", cv="prefit").fit(X, y)
    told, k = search.at_capacity(share), 150 * share
    order = np.argsort(-X[:, 1])
    inside = np.clip(k - np.arange(150), 0.0, 1.0)
    assert search.best_score_ > search.corrected_score_
    assert told.value == pytest.approx(2 * (inside @ y[order]) / (k + y.sum()), abs=1e-9)
    assert told.captured == pytest.approx(inside @ y[order] / y.sum(), abs=1e-9)
    assert 0.0 <= told.interval[0] < told.value < told.interval[1] <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "share"),
    [
        (100, 0.03),
        *(pytest.param(*case, marks=pytest.mark.simulation) for case in ((100, 0.01), (300, 0.01), (1000, 0.1))),
    ],
)
def test_values_have_no_bias_and_intervals_hold(n, share):
    (row,) = limits("f1", n, 40, (share,))
    # Of 40 draws, so that chance has its say.
    assert abs(row.bias) < 2.5 * row.error
    assert row.held >= 0.8
    assert row.lowest >= 0.0


def noise(seed, n=1500):
    """Amounts, of which a share is lost whatever is known of the rows."""
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.normal(size=n), np.exp(rng.normal(size=n) + 3.0)])
    return features, (rng.random(n) < 0.2).astype(int)


def test_costs_are_known_from_all_rows_also_where_none_is_acted_on():
    features, y = noise(1)
    base = LogisticRegression().fit(*noise(2))
    search = CostSearch(base, RowCosts(fn=Column(1), fp=200.0, measure="cost"), cv="prefit").fit(features, y)
    assert not search.predict(features).any()
    low, high = search.at_capacity(0.5).interval
    error = (y * features[:, 1]).std() / np.sqrt(y.size)
    assert 0.8 < (high - low) / (2.0 * 1.645 * error) < 1.3


def test_values_of_costs_are_in_their_unit():
    """Eightfold costs, of errors and of reviews, are eightfold values: so large a factor leaves all digits alone."""
    X, y = frame(300)
    base = LogisticRegression().fit(X, y)
    one, eight = (
        CostSearch(
            base,
            RowCosts(fn=lambda X, unit=unit: unit * X["amount"], fp=5.0 * unit, measure="cost"),
            cv="prefit",
            review=Review(cost=0.4 * unit, error=0.02, at_most=0.2),
        ).fit(X, y)
        for unit in (1.0, 8.0)
    )
    assert one.review_.shares == eight.review_.shares
    for values in (lambda search: search.review_, lambda search: search.at_capacity(0.1)):
        (few, some), (many, more) = ((values(search).value, values(search).interval) for search in (one, eight))
        assert many == pytest.approx(8.0 * few, abs=0.0)
        assert more == pytest.approx(8.0 * np.array(some), abs=0.0)


def test_intervals_hold_the_value_on_all_held_out_rows():
    widths = []
    for seed in range(12):
        features, y = noise(seed)
        search = CostSearch(LINE, RowCosts(fn=Column(1), fp=200.0), cv=3, param_grid=None).fit(features, y)
        told, evaluation = search.at_capacity(0.5), search.result_.evaluation(0)
        plain = evaluation.value(evaluation.answers.within({1: 0.5}, evaluation.terms.weight))
        assert told.interval[0] - 1e-12 <= plain <= told.interval[1] + 1e-12
        widths.append(abs(told.value - plain))
    # Choices on parts of the rows act in some of these samples.
    assert max(widths) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signal", "fp"),
    [
        pytest.param(0.0, 200.0, marks=pytest.mark.simulation),
        (1.5, 200.0),
        pytest.param(1.5, 20.0, marks=pytest.mark.simulation),
    ],
)
def test_intervals_of_costs_hold_with_few_and_with_many_rows_acted_on(signal, fp):
    def rows(n, seed):
        features, _ = noise(seed, n)
        rng = np.random.default_rng([seed, 1])
        return features, (rng.random(n) < 1.0 / (1.0 + np.exp(1.4 - 1.5 * signal * features[:, 0]))).astype(int)

    (new, truth), base = rows(30_000, 1), LogisticRegression(max_iter=500).fit(*rows(5000, 2))
    # Where no held-out row is acted on, nothing is saved, and no more is known of rare dear rows.
    for measure in ("cost", "savings") if signal else ("cost",):
        costs, held = RowCosts(fn=Column(1), fp=fp, measure=measure), []
        for seed in range(3, 63):
            search = CostSearch(base, costs, cv="prefit", random_state=seed).fit(*rows(1000, seed))
            for limit in (0.03, 0.9):
                low, high = search.at_capacity(limit).interval
                value = costs.score(truth, search.predict(new, at_most=limit), new)
                held.append(low - 1e-12 <= value <= high + 1e-12)
        # Of 60 draws: 90 % less three standard errors.
        assert np.mean(held[::2]) >= 0.78
        assert np.mean(held[1::2]) >= 0.78


# ---------------------------------------------------------------- alerts and reviews limited together


@pytest.mark.parametrize(
    ("metric", "review"),
    [
        ("f1", Review(at_most=0.1)),
        ("f1", Review(cost=0.2, wrong={"negative": 0.2})),
        (RowCosts(fn=Column(2), fp=2.0), Review(cost=0.4)),
        (RowCosts(fn=Column(2), fp=2.0), Review(cost=0.4, at_most=0.1, error=0.05)),
    ],
    ids=["f1", "limit on wrong answers", "costs", "costs and a limit"],
)
def test_alerts_are_limited_and_reviews_stay_within_theirs(metric, review):
    X, y = given(200, cut=1000)
    search = CostSearch(First([False, True]), metric, cv="prefit", review=review).fit(X, y)
    new = given(300, seed=1, cut=1000)[0]
    without = search.predict_with_review(new)
    order = np.random.default_rng(0).permutation(300)
    for at_most in (300, 10**6):
        np.testing.assert_array_equal(search.predict_with_review(new, at_most=at_most), without)
    for at_most, k in ((0, 0), (7, 7), (0.02, 6)):
        answers = search.predict_with_review(new, at_most=at_most)
        assert (answers == True).sum() == min(k, (without == True).sum())  # noqa: E712
        assert (without[answers == True] == True).all()  # noqa: E712
        np.testing.assert_array_equal(search.predict_with_review(new[order], at_most=at_most), answers[order])
        if review.wrong is not None:
            assert (answers[without != False] != False).all()  # noqa: E712
        elif review.at_most is not None:
            assert (answers == "review").sum() <= max(30, (without == "review").sum())


@pytest.mark.parametrize("metric", ["f1", RowCosts(fn=Column(2), fp=2.0)], ids=["f1", "costs"])
def test_where_no_review_pays_it_is_a_prediction(metric):
    X, y = given(200, cut=1000)
    search = CostSearch(First([False, True]), metric, cv="prefit", review=Review(cost=1e9)).fit(X, y)
    new = given(300, seed=1, cut=1000)[0]
    for at_most in (0, 5, 0.1, 10**6):
        np.testing.assert_array_equal(
            search.predict_with_review(new, at_most=at_most) == search.pos_label_, search.predict(new, at_most)
        )


def test_arguments_that_are_unknown():
    X, y = given(100)
    search = CostSearch(First([False, True]), cv="prefit", review=Review(at_most=0.1)).fit(X, y)
    with pytest.raises(TypeError, match="at_most and wrong_at_most are arguments of predict"):
        search.predict_with_review(X, atmost=5)
    with pytest.raises(TypeError, match="Did you mean 'fn_cost'"):
        search.predict_with_review(X, fn_costs=5)
    with pytest.raises(ValueError, match="at_most must be a number of rows >= 0"):
        search.predict_with_review(X, at_most=-1)
