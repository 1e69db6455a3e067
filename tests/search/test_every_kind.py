"""Demands, certificates, capacity, reviews, other shares and means of folds for every kind of problem."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, precision_score, recall_score
from sklearn.naive_bayes import GaussianNB

from csf import CostSearch
from csf.metrics import Constraint, CostMatrix, Review, RowCosts
from csf.metrics.binary import Precision, Recall

NAMES = np.array(["calm", "soon", "urgent"])
QUICK = {"param_grid": None, "cv": 3, "n_trials": 1, "random_state": 0}
COSTS = CostMatrix([[0, 1, 2], [5, 0, 1], [9, 3, 0]])


def classes(n=900, seed=0):
    """Three classes of 70, 20 and 10 %."""
    options = {"n_informative": 4, "n_redundant": 0, "n_classes": 3, "n_clusters_per_class": 1, "class_sep": 1.5}
    X, codes = make_classification(n, 5, weights=[0.7, 0.2], flip_y=0.05, random_state=2, **options)
    return X, NAMES[codes]


X, Y = classes()


def rows(n=900, seed=0):
    """Two classes, and an amount in each row."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    y = (rng.uniform(size=n) < expit(1.5 * frame["a"] + frame["b"] - 2.0)).astype(int)
    return frame.assign(amount=np.exp(rng.normal(size=n) + 1.0)), y.to_numpy()


FRAME, PAID = rows()
AMOUNTS = RowCosts(fn="amount", fp=1.0)
LABELS = pd.DataFrame({"cat": (X[:, 0] > 0.5), "dog": Y == "urgent", "cow": Y == "soon"}).astype(int)


def of_classes(metric="f1_macro", base=None, **options):
    return CostSearch(base or LogisticRegression(), metric, **(QUICK | options)).fit(X, Y)


def of_rows(base=None, metric=AMOUNTS, **options):
    return CostSearch(base or LogisticRegression(), metric, **(QUICK | options)).fit(FRAME, PAID)


def of_two_classes(**options):
    return CostSearch(LogisticRegression(), "f1", **(QUICK | options)).fit(FRAME, PAID)


def of_labels(metric="f1_macro", base=None, **options):
    return CostSearch(base or LogisticRegression(), metric, **(QUICK | options)).fit(X, LABELS)


@pytest.fixture(scope="module")
def plain():
    return of_classes()


@pytest.fixture(scope="module")
def by_row():
    return of_rows()


@pytest.fixture(scope="module")
def by_label():
    return of_labels()


# ---------------------------------------------------------------- demands on classes


DEMANDS = {
    "recall[urgent] >= 0.9": lambda p: recall_score(Y, p, labels=["urgent"], average="macro") >= 0.9,
    "precision[soon] >= 0.75": lambda p: precision_score(Y, p, labels=["soon"], average="macro") >= 0.75,
    "predicted_rate[calm] <= 0.5": lambda p: np.mean(p == "calm") <= 0.5,
    "accuracy >= 0.75": lambda p: accuracy_score(Y, p) >= 0.75,
    "recall[urgent] >= 0.7, precision[soon] >= 0.7": lambda p: (
        recall_score(Y, p, labels=["urgent"], average="macro") >= 0.7
        and precision_score(Y, p, labels=["soon"], average="macro") >= 0.7
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["f1_macro", COSTS, "mcc"], ids=str)
@pytest.mark.parametrize("text", DEMANDS)
def test_demands_hold_on_held_out_predictions(metric, text):
    """A base that is fitted already, so that the held-out rows are the rows."""
    base = FrozenEstimator(LogisticRegression().fit(X, Y))
    search = CostSearch(base, metric, constraint=text).fit(X, Y)
    free = CostSearch(base, metric).fit(X, Y)
    assert search.feasible_
    assert DEMANDS[text](search.predict(X))
    assert search.best_score_ <= search.score(X, Y) + 1e-9
    if not DEMANDS[text](free.predict(X)):
        assert (search.predict(X) != free.predict(X)).any()
    confusion = pd.crosstab(Y, search.predict(X), normalize="all").reindex(index=NAMES, columns=NAMES, fill_value=0.0)
    np.testing.assert_allclose(search.confusion_, confusion)


def test_a_demand_that_holds_anyway_changes_nothing(plain, by_row, by_label):
    easy = of_classes(constraint="recall[urgent] >= 0.01, accuracy >= 0.1")
    assert (easy.predict(X) == plain.predict(X)).all()
    assert (easy.best_score_, easy.corrected_score_) == pytest.approx((plain.best_score_, plain.corrected_score_))
    easy = of_rows(constraint="recall >= 0.01, predicted_rate <= 0.99")
    assert (easy.predict(FRAME) == by_row.predict(FRAME)).all()
    assert (easy.best_score_, easy.corrected_score_) == pytest.approx((by_row.best_score_, by_row.corrected_score_))
    # A constraint of two classes takes the best threshold, not the most stable one.
    easy, free = of_labels(constraint="recall[dog] >= 0.01"), of_labels(threshold="tune")
    assert (easy.predict(X)[:, [0, 2]] == by_label.predict(X)[:, [0, 2]]).all()
    assert (easy.predict(X)[:, 1] == free.predict(X)[:, 1]).all()


def test_demands_on_what_is_not_there_are_refused_before_training():
    for text, message in {
        "recall >= 0.5": r"write recall\[calm\] >= 0.5 for one of \['calm', 'soon', 'urgent'\]",
        "recall[late] >= 0.5": r"there is no 'late'; accepted: \['calm', 'soon', 'urgent'\]",
    }.items():
        with pytest.raises(ValueError, match=message):
            of_classes(constraint=text)
    with pytest.raises(ValueError, match="cannot be certified"):
        of_classes(constraint=Constraint(COSTS, "<=", 1.0), confidence=0.9)
    with pytest.raises(ValueError, match=r"there is no 'horse'; accepted: \['cat', 'dog', 'cow'\]"):
        of_labels(constraint="recall[horse] >= 0.5")
    with pytest.raises(ValueError, match="all labels share a threshold"):
        of_labels("f1_micro", constraint="recall[cat] >= 0.5")
    with pytest.raises(ValueError, match="about pairs of a sample and a label"):
        of_labels("f1_samples", constraint="recall >= 0.5")


def test_what_nothing_keeps_is_told():
    with pytest.warns(UserWarning, match=r"no trial satisfies accuracy >= 0.999"):
        search = of_classes(constraint="accuracy >= 0.999")
    assert not search.feasible_
    assert search.constraint_value_ == pytest.approx(np.trace(search.confusion_))
    with pytest.warns(UserWarning, match="no trial satisfies precision >= 0.999, recall >= 0.999"):
        search = of_rows(constraint="precision >= 0.999, recall >= 0.999")
    assert not search.feasible_


def test_a_mean_cost_can_be_demanded():
    search = of_classes(constraint=Constraint(COSTS, "<=", 0.6))
    assert search.feasible_
    assert (search.confusion_ * COSTS.costs).sum() == pytest.approx(search.constraint_value_)
    assert search.constraint_value_ <= 0.6


def test_two_classes_may_be_named():
    """A demand on either class of two is one of two classes."""
    X, y = FRAME[["a", "b", "c"]], np.where(PAID == 1, "yes", "no")
    options = {**QUICK, "pos_label": "yes"}
    for named, plain in {
        "precision[yes] >= 0.6": "precision >= 0.6",
        "recall[no] >= 0.8": "specificity >= 0.8",
    }.items():
        first, second = (
            CostSearch(LogisticRegression(), constraint=text, **options).fit(X, y) for text in (named, plain)
        )
        assert first.best_threshold_ == second.best_threshold_
        assert first.constraint_value_ == pytest.approx(second.constraint_value_)
    base = CostSearch(GaussianNB(), constraint="recall[calm] >= 0.5", null_class="calm", **QUICK)
    with pytest.raises(ValueError, match="leave the brackets out"):
        base.fit(*classes())


# ---------------------------------------------------------------- certificates


@pytest.mark.slow
def test_certificates_of_classes_are_exact_tests_of_the_calibration_samples():
    search = of_classes(constraint="recall[soon] >= 0.6", confidence=0.9, base=FrozenEstimator(GaussianNB().fit(X, Y)))
    test = search.guarantee_
    assert test.holds
    assert test.error <= 0.1
    assert np.isnan(test.threshold)
    assert test.n_samples == round(0.5 * len(Y))
    assert search.constraint_value_ >= 0.6
    assert list(test.rates) == ["recall[soon]"]
    with pytest.warns(UserWarning, match=r"no rule certifies recall\[soon\] >= 0.8"):
        search = of_classes(constraint="recall[soon] >= 0.8, precision[soon] >= 0.5", confidence=0.9999)
    assert not search.guarantee_.holds
    assert not search.feasible_


@pytest.mark.slow
def test_all_demands_are_tested():
    """One that is kept for sure beside one that is out of reach."""
    with pytest.warns(UserWarning, match="no rule certifies|no trial satisfies"):
        search = of_classes(constraint="recall[calm] >= 0.1, recall[urgent] >= 0.99, accuracy >= 0.8", confidence=0.9)
    assert not search.guarantee_.holds
    with pytest.warns(UserWarning, match="no rule certifies"):
        search = of_rows(constraint="recall >= 0.1, precision >= 0.85", confidence=0.99)
    assert not search.guarantee_.holds


def test_certificates_of_rows_and_labels():
    search = of_rows(constraint="recall >= 0.6", confidence=0.9)
    assert search.guarantee_.holds
    assert search.constraint_value_ >= 0.6
    assert search.best_score_ == pytest.approx(search.corrected_score_, abs=0.05)
    search = of_labels(constraint="recall[dog] >= 0.5, precision[cow] >= 0.5", confidence=0.8)
    cat, dog, cow = search.guarantee_
    assert cat is None
    assert (dog.confidence, cow.confidence) == pytest.approx((0.9, 0.9))
    assert [str(each.constraint) for each in (dog, cow)] == ["recall >= 0.5", "precision >= 0.5"]
    assert search.n_splits_ == 3
    pooled = of_labels("f1_micro", constraint="recall >= 0.5", confidence=0.8)
    assert pooled.guarantee_.holds
    assert pooled.guarantee_.n_samples == 3 * round(0.3 * len(Y))


def test_groups_and_weights_are_certified_too():
    groups = np.arange(len(Y)) // 3
    options = {"param_grid": None, "cv": 3, "random_state": 0, "constraint": "recall[soon] >= 0.3", "confidence": 0.8}
    grouped = CostSearch(LogisticRegression(), "f1_macro", n_trials=1, **options).fit(X, Y, groups=groups)
    assert grouped.guarantee_.holds
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(Y))
    weighted = CostSearch(LogisticRegression(), "f1_macro", n_trials=1, **options).fit(X, Y, sample_weight=weight)
    assert weighted.guarantee_.holds
    options["constraint"] = "recall >= 0.3"
    search = CostSearch(LogisticRegression(), AMOUNTS, n_trials=1, **options).fit(FRAME, PAID, groups=groups)
    assert search.guarantee_.holds


# ---------------------------------------------------------------- costs of rows


@pytest.mark.parametrize(
    "text", ["recall >= 0.9", "predicted_rate <= 0.1", "precision >= 0.7", "fpr <= 0.05, recall >= 0.3"]
)
def test_costs_of_rows_under_a_demand(text, by_row):
    base = FrozenEstimator(LogisticRegression().fit(FRAME, PAID))
    search = CostSearch(base, AMOUNTS, constraint=text).fit(FRAME, PAID)
    acts = search.predict(FRAME) == 1
    rates = {
        "recall": acts[PAID == 1].mean(),
        "predicted_rate": acts.mean(),
        "precision": PAID[acts].mean(),
        "fpr": acts[PAID == 0].mean(),
    }
    for part in text.split(", "):
        name, side, level = part.split()
        assert rates[name] >= float(level) - 1e-9 if side == ">=" else rates[name] <= float(level) + 1e-9
    assert search.feasible_
    free = CostSearch(base, AMOUNTS).fit(FRAME, PAID)
    assert search.best_score_ <= free.best_score_ + 1e-9


def test_no_single_threshold_that_keeps_the_demand_saves_more():
    base = FrozenEstimator(LogisticRegression().fit(FRAME, PAID))
    search = CostSearch(base, AMOUNTS, constraint="recall >= 0.8").fit(FRAME, PAID)
    p = base.predict_proba(FRAME)[:, 1]
    single = [AMOUNTS.score(PAID, p >= cut, FRAME) for cut in p if (p[PAID == 1] >= cut).mean() >= 0.8]
    assert search.score(FRAME, PAID) >= max(single) - 1e-9


def test_constants_and_units_of_costs_change_no_decision_under_a_demand():
    options = {"constraint": "recall >= 0.8"}
    decided = of_rows(**options).predict(FRAME)
    more = FRAME["amount"].to_numpy() * 128.0
    scaled = CostSearch(LogisticRegression(), "savings", **(QUICK | options)).fit(
        FRAME, PAID, fn_cost=more, fp_cost=128.0
    )
    assert (scaled.predict(FRAME, fn_cost=more, fp_cost=128.0) == decided).all()
    given = {"fn_cost": FRAME["amount"] + 7.0, "fp_cost": 8.0, "tp_cost": 7.0, "tn_cost": 7.0}
    moved = CostSearch(LogisticRegression(), "cost", **(QUICK | options)).fit(FRAME, PAID, **given)
    assert (moved.predict(FRAME, **given) == decided).all()


def test_another_share_of_positives_moves_the_log_odds(by_row):
    share = PAID.mean()
    there = by_row.at_prevalence(0.5)
    assert there.predict(FRAME).mean() > by_row.predict(FRAME).mean()
    back = there.at_prevalence(float(share))
    assert (back.predict(FRAME) == by_row.predict(FRAME)).all()
    assert back.corrected_score_ == pytest.approx(by_row.corrected_score_)
    # By Bayes' rule, where nothing but the share has changed.
    plain = CostSearch(FrozenEstimator(LogisticRegression().fit(FRAME, PAID)), AMOUNTS).fit(FRAME, PAID)
    if plain.row_rule_ == "plain":
        p, q = plain.predict_proba(FRAME)[:, 1], plain.at_prevalence(0.5).predict_proba(FRAME)[:, 1]
        odds = p / (1.0 - p) * (1.0 - share) / share
        np.testing.assert_allclose(q, odds / (1.0 + odds), rtol=1e-6)


# ---------------------------------------------------------------- capacity and reviews


def test_capacities_of_classes(plain):
    free = plain.predict(X)
    limited = plain.predict(X, at_most={"urgent": 20, "soon": 0.05})
    assert (limited == "urgent").sum() == min(20, (free == "urgent").sum())
    assert (limited == "soon").sum() <= 45
    assert (limited[free == "calm"] == "calm").all()
    assert (plain.predict(X, at_most={"urgent": len(Y)}) == free).all()
    expected = plain.at_capacity({"urgent": 0.02})
    assert expected.acted_on["urgent"] <= 0.02 + 1e-9
    assert expected.interval[0] <= expected.value <= expected.interval[1]
    assert expected.value <= plain.corrected_score_
    assert 0.0 < expected.captured["urgent"] < plain.at_capacity({"urgent": 0.05}).captured["urgent"]
    assert plain.at_capacity({"urgent": 0.999}).value == pytest.approx(plain.corrected_score_)
    with pytest.raises(TypeError, match=r"which class it limits"):
        plain.predict(X, at_most=20)
    with pytest.raises(ValueError, match=r"limits all classes to less than all rows"):
        plain.at_capacity(dict.fromkeys(NAMES, 0.1))


def test_capacities_of_labels_and_two_classes(by_label, by_row):
    limited = by_label.predict(X, at_most={"dog": 15})
    assert limited[:, 1].sum() == 15
    assert (limited[:, [0, 2]] == by_label.predict(X)[:, [0, 2]]).all()
    expected = by_label.at_capacity({"dog": 0.02})
    assert expected.at_most == {"dog": 0.02}
    assert expected.value <= by_label.corrected_score_ + 1e-9
    with pytest.raises(TypeError, match="which label it limits"):
        by_label.predict(X, at_most=15)
    assert (by_row.predict(FRAME, at_most={1: 20}) == by_row.predict(FRAME, at_most=20)).all()
    named, plain = by_row.at_capacity({1: 0.05}), by_row.at_capacity(0.05)
    assert (named.value, named.captured) == (plain.value, {1: plain.captured})
    with pytest.raises(ValueError, match="positive class"):
        by_row.predict(FRAME, at_most={0: 20})


def test_beside_a_null_class_limits_are_on_all_others_or_by_class():
    X, y = classes()
    search = CostSearch(LogisticRegression(), null_class="calm", **QUICK).fit(X, y)
    assert (search.predict(X, at_most=30) != "calm").sum() == 30
    limited = search.predict(X, at_most={"urgent": 5})
    assert (limited == "urgent").sum() == 5
    assert search.at_capacity({"urgent": 0.05}).acted_on["urgent"] <= 0.05 + 1e-9


def test_reviews_of_classes():
    search = of_classes(review=Review(cost=0.3, at_most=0.1))
    answers = search.predict_with_review(X)
    assert answers.dtype == object
    assert set(answers.tolist()) == {*NAMES.tolist(), "review"}
    looked_at = answers == "review"
    assert (answers[~looked_at] == search.predict(X)[~looked_at]).all()
    assert search.review_.shares["review"] <= 0.1 + 1e-9
    assert sum(search.review_.shares.values()) == pytest.approx(1.0)
    assert search.review_.value > search.corrected_score_
    # Rows beyond a capacity get their next best class or a review, within the desk's own limit.
    within = search.predict_with_review(X, at_most={"urgent": 5})
    assert (within == "urgent").sum() == min(5, (answers == "urgent").sum())
    assert (within == "review").sum() <= max(0.1 * len(Y), looked_at.sum())
    never = of_classes(review=Review(cost=1e9))
    assert (never.predict_with_review(X) == never.predict(X)).all()
    assert never.review_.value == pytest.approx(never.corrected_score_)


# Powers of two, by which nothing is rounded.
@pytest.mark.parametrize("scale", [2.0**-10, 2.0**10])
def test_the_unit_of_a_cost_matrix_decides_nothing(scale):
    matrix = np.array(COSTS.costs)
    search = of_classes(CostMatrix(matrix * scale), review=Review(cost=0.5 * scale))
    np.testing.assert_allclose(search.review_bands().prices, matrix * scale)
    shares, value = search.review_.shares, search.review_.value / scale
    unit = of_classes(COSTS, review=Review(cost=0.5))
    assert shares == pytest.approx(unit.review_.shares)
    assert (value, search.corrected_score_ / scale) == pytest.approx((unit.review_.value, unit.corrected_score_))
    assert 0.0 < shares["review"] < 1.0
    ends = np.array(search.review_.interval) / scale
    np.testing.assert_allclose(ends, unit.review_.interval)


def test_intervals_of_reviews_have_no_unit():
    amounts = {"fn_cost": FRAME["amount"].to_numpy(), "fp_cost": 1.0}
    ends = []
    for unit in (2.0**-7, 1.0, 2.0**7):
        given = {name: each * unit for name, each in amounts.items()}
        search = CostSearch(LogisticRegression(), "savings", review=Review(cost=0.5 * unit), **QUICK)
        ends.append(search.fit(FRAME[["a", "b", "c"]], PAID, **given).review_.interval)
    assert np.isfinite(ends).all()
    np.testing.assert_allclose(ends, ends[:1] * 3, rtol=1e-6)


def test_what_reviews_cannot_tell_apart_is_refused():
    with pytest.raises(ValueError, match="y has a class 'review'"):
        CostSearch(LogisticRegression(), "f1_macro", review=Review(cost=0.1)).fit(X, np.where(Y == "soon", "review", Y))
    search = of_classes(review=Review(cost=0.3))
    with pytest.raises(ValueError, match="limits all classes to 3 of 900 rows"):
        search.predict_with_review(X, at_most=dict.fromkeys(NAMES, 1))
    search.best_threshold_ = 0.3
    with pytest.raises(ValueError, match="best_threshold_ was set by hand to 0"):
        search.predict(X)
    two = CostSearch(LogisticRegression(), review=Review(at_most=0.1), **QUICK).fit(FRAME, PAID)
    two.best_threshold_ = 3.0
    with pytest.raises(ValueError, match="the answers with reviews are those of"):
        two.predict_with_review(FRAME)


def test_limits_on_wrong_answers_of_classes():
    base = FrozenEstimator(LogisticRegression().fit(X, Y))
    search = CostSearch(base, "f1_macro", review=Review(wrong={"urgent": 0.2, "soon": 0.1})).fit(X, Y)
    answers = search.predict_with_review(X)
    for name, limit in {"urgent": 0.2, "soon": 0.1}.items():
        own = answers == name
        assert not own.any() or (Y[own] != name).mean() <= limit + 1e-9
    assert (answers[search.predict(X) == "calm"] == "calm").all()
    certified = of_classes(review=Review(wrong={"calm": 0.3}), confidence=0.9)
    test = certified.review_.guarantees["calm"]
    assert test.holds
    assert test.constraint == "wrong answers 'calm' <= 0.3"
    with pytest.raises(ValueError, match=r"wrong of a review: there is no 'late'"):
        of_classes(review=Review(wrong={"late": 0.1}))
    with pytest.raises(ValueError, match=r"wrong of a review: there is no 'urgent'.*'negative'"):
        of_rows(review=Review(wrong={"urgent": 0.1}))


def test_reviews_of_labels():
    search = of_labels(review=Review(cost=0.2, at_most=0.1))
    answers = search.predict_with_review(X)
    assert answers.shape == LABELS.shape
    for at, each in enumerate(search.searches_):
        assert (answers[:, at] == each.predict_with_review(X)).all()
    assert [each.value for each in search.review_] == [each.review_.value for each in search.searches_]
    limited = search.predict_with_review(X, at_most={"dog": 3})
    assert (limited[:, 1] == 1).sum() == 3
    shared = of_labels("f1_micro", review=Review(cost=0.2, at_most=0.1))
    answers, predicted = shared.predict_with_review(X), shared.predict(X)
    sure = answers != "review"
    assert (answers == predicted)[sure].all()
    assert shared.review_.value > shared.corrected_score_


# ---------------------------------------------------------------- shares of classes, means of folds


def test_shares_of_classes_and_labels_without_labels(plain, by_label):
    rng = np.random.default_rng(0)
    more = np.concatenate([np.flatnonzero(Y == "urgent"), rng.choice(np.flatnonzero(Y != "urgent"), 200)])
    with pytest.warns(UserWarning, match="the shares of the classes have moved"):
        shares = plain.prevalence(X[more])
    assert list(shares) == NAMES.tolist()
    assert sum(shares.values()) == pytest.approx(1.0)
    low, high = shares["urgent"].interval
    assert low <= np.mean(Y[more] == "urgent") <= high
    there = plain.at_prevalence(shares)
    assert (there.predict(X) == "urgent").sum() > (plain.predict(X) == "urgent").sum()
    with warnings.catch_warnings():
        # Those of one label are not calibrated.
        warnings.simplefilter("ignore")
        by_name = by_label.prevalence(X)
    assert list(by_name) == ["cat", "dog", "cow"]
    assert by_name["cat"].interval[0] <= LABELS["cat"].mean() <= by_name["cat"].interval[1]


def test_means_of_the_models_of_all_folds():
    search = of_classes(refit="folds")
    assert isinstance(search.best_estimator_, VotingClassifier)
    assert len(search.best_estimator_.estimators_) == 3
    proba = np.mean([each.predict_proba(X) for each in search.best_estimator_.estimators_], axis=0)
    np.testing.assert_allclose(search.best_estimator_.predict_proba(X), proba)
    assert search.score(X, Y) > search.corrected_score_ - 0.1
    search = of_rows(refit="folds", constraint="recall >= 0.8")
    assert len(search.best_estimator_.estimators_) == 3
    assert search.feasible_
    assert (search.predict(FRAME)[PAID == 1]).mean() > 0.75
    search = of_labels(refit="folds")
    assert all(len(each.best_estimator_.estimators_) == 3 for each in search.searches_)
    assert search.predict(X).shape == LABELS.shape
    assert search.refit_time_ == sum(each.refit_time_ for each in search.searches_) > 0.0
    shared = of_labels("f1_micro", refit="folds")
    assert [len(each.estimators_) for each in shared.best_estimator_.estimators_] == [3, 3, 3]
    assert shared.score(X, LABELS) > shared.corrected_score_ - 0.1


def test_members_of_a_group_keep_their_own_mean_scores():
    """A group is drawn as one sample; its members' scores are not averaged with each other."""
    groups = np.arange(len(PAID)) // 5
    search = CostSearch(LogisticRegression(), refit="folds", **QUICK).fit(FRAME, PAID, groups=groups)
    score = search.held_out_[search.result_.key].score
    assert np.unique(score).size > 0.9 * len(PAID)
    by_row = CostSearch(LogisticRegression(), AMOUNTS, refit="folds", **QUICK).fit(FRAME, PAID, groups=groups)
    assert np.unique(by_row.held_out_[by_row.result_.key].score).size > 0.9 * len(PAID)


@pytest.mark.slow
@pytest.mark.parametrize("make", [of_classes, of_rows, of_labels])
def test_searches_can_be_sent_and_copied(make):
    import pickle

    data = FRAME if make is of_rows else X
    text = "recall >= 0.5" if make is not of_classes else "recall[soon] >= 0.5"
    search = make(constraint=text, review=Review(cost=0.3, at_most=0.1))
    again = pickle.loads(pickle.dumps(search))
    assert (again.predict_with_review(data) == search.predict_with_review(data)).all()
    lean = search.without_scores()
    assert (lean.predict_with_review(data) == search.predict_with_review(data)).all()


@pytest.mark.slow
@pytest.mark.parametrize("make", [of_two_classes, of_classes, of_rows, of_labels, partial(of_labels, "f1_micro")])
def test_copies_without_held_out_scores_predict_summarise_and_watch(make):
    """What is left says the same as before; what is not there is an error that says so."""
    import pickle

    samples, y = (FRAME, PAID) if make in (of_rows, of_two_classes) else (X, Y if make is of_classes else LABELS)
    search = make(review=None if getattr(make, "args", ()) else Review(cost=0.3, at_most=0.1))
    lean = pickle.loads(pickle.dumps(search.without_scores(winner=False)))
    assert len(pickle.dumps(lean)) < 0.7 * len(pickle.dumps(search.without_scores())) < len(pickle.dumps(search))
    assert np.array_equal(lean.predict(samples), search.predict(samples))
    assert str(lean.summary()) == str(search.summary())
    assert lean.score(samples, y) == search.score(samples, y)
    assert (lean.corrected_score_, lean.score_interval_) == (search.corrected_score_, search.score_interval_)
    if search.review is not None:
        assert (lean.predict_with_review(samples) == search.predict_with_review(samples)).all()
    reports = []
    for each in (search, lean):
        monitor = each.monitor("recall >= 0.1" if make is not of_classes else "recall[soon] >= 0.1")
        monitor.update(y, each.predict(samples))
        reports.append(monitor.report())
    assert reports[0] == reports[1]
    share = {"dog": 0.5} if y is LABELS else 0.5 if make in (of_rows, of_two_classes) else {"soon": 0.5}
    calls = {
        "wrong_at_most": lambda: lean.predict(samples, wrong_at_most=share),
        "prevalence": lambda: lean.prevalence(samples),
        "at_capacity": lambda: lean.at_capacity(share),
        "at_prevalence": lambda: lean.at_prevalence(0.2),
        "held_out_curve": lean.held_out_curve,
        "report": lambda: lean.report("report.html"),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=f"{name} needs the held-out scores, which this copy lacks"):
            call()
    again = lean.fit(samples, y)
    assert str(again.summary()) == str(search.summary())


def test_objects_say_the_same_as_texts():
    both = Constraint(Recall(), ">=", 0.7, of="urgent", others=(Constraint(Precision(), ">=", 0.5, of="soon"),))
    first, second = of_classes(constraint=both), of_classes(constraint="recall[urgent] >= 0.7, precision[soon] >= 0.5")
    assert (first.predict(X) == second.predict(X)).all()


# ---------------------------------------------------------------- options in pairs


KINDS = {
    "classes": (X, Y, "f1_macro", {"urgent": 20}, [0.5, 0.3, 0.2], ("recall[urgent] >= 0.5", "accuracy >= 0.5")),
    "rows": (FRAME, PAID, AMOUNTS, 20, 0.2, ("recall >= 0.5", "predicted_rate <= 0.3")),
    "labels": (X, LABELS, "f1_macro", {"dog": 5}, [0.2, 0.2, 0.2], ("recall >= 0.4", "recall[dog] >= 0.3")),
    "shared threshold": (X, LABELS, "f1_micro", {"dog": 5}, None, ("recall >= 0.4", "precision >= 0.3")),
    "two classes": (FRAME, PAID, "f1", 20, 0.2, ("precision >= 0.4", "recall >= 0.5")),
}


def drawn_options(rng, constraints):
    """Options and arguments of fit, each there or not."""
    options = {"constraint": str(rng.choice(constraints))} if rng.random() < 0.6 else {}
    if options and rng.random() < 0.5:
        options["confidence"] = 0.7
    if rng.random() < 0.6:
        reviews = Review(cost=0.3, at_most=0.2), Review(wrong=0.3), Review(at_most=0.1, error=0.1)
        options["review"] = reviews[rng.integers(3)]
    if rng.random() < 0.4:
        options["refit"] = "folds"
    given = {"groups": np.arange(900) // 4} if rng.random() < 0.4 else {}
    if rng.random() < 0.4:
        given["sample_weight"] = rng.integers(1, 4, 900).astype(float)
    return options, given


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_options_go_together(kind, tmp_path):
    """Fifteen searches with options at random; whatever a search has can be asked for after each of them."""
    rng = np.random.default_rng(0)
    data, target, metric, at_most, shares, constraints = KINDS[kind]
    for _ in range(15):
        options, given = drawn_options(rng, constraints)
        if kind == "shared threshold" and options.get("confidence") and getattr(options.get("review"), "wrong", None):
            continue  # refused
        search = CostSearch(GaussianNB(), metric, **(QUICK | options)).fit(data, target, **given)
        searches = [search]
        if shares is not None:
            limits = dict.fromkeys(at_most, 0.02) if isinstance(at_most, dict) else 0.02
            searches.append(search.at_prevalence(shares))
            assert all(np.isfinite(each.at_capacity(limits).value) for each in searches)
            search.prevalence(data)
        for each in searches:
            assert np.isfinite(each.score_interval_).all()
            assert len(each.predict(data, at_most=at_most)) == len(each.predict(data)) == 900
            if "review" in options:
                assert len(each.predict_with_review(data, at_most=at_most)) == 900
        if "review" in options:
            assert search.review_ is not None
        assert str(search.summary())
        search.report(tmp_path / "page.html")
