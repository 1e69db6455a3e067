"""``wrong_at_most`` as users ask for it, of every kind of problem, by its definition on the held-out scores."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import false_discovery_control
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import csf
from csf import CostSearch
from csf.metrics import Review
from csf.search.threshold import GivenProbabilities
from tests.search.test_every_kind import FRAME, LABELS, PAID, QUICK, X, Y, of_classes, of_labels, of_rows

A, B = make_classification(1600, 6, weights=[0.85], random_state=0, class_sep=1.2)
NAMED = np.array(["yes", "no"])[B]  # the first label is the negative one of B, and "no" sorts first
KNOWN, NEW = slice(0, 1000), slice(1000, None)


def binary(**options):
    base = options.pop("base", LogisticRegression())
    return CostSearch(base, **(QUICK | {"pos_label": "no"} | options)).fit(A[KNOWN], NAMED[KNOWN])


def p_values(known, new):
    """By their definition."""
    return np.array([(1 + np.sum(known >= score - 1e-9)) / (known.size + 1) for score in new])


def level(p, share):
    """The share over Storey's share of wrong rows, where the model that predicts has scored the known rows."""
    return share / min(1.0, 2 * (1 + np.sum(p > 0.5)) / p.size)


def most_alerts(p, share, most):
    """Largest number of alerts for which as many p-values are small enough."""
    numbers = [k for k in range(1, most + 1) if np.sum(p <= share * k / p.size + 1e-12) >= k]
    return max(numbers, default=0)


@pytest.fixture(scope="module")
def plain():
    return binary()


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_alerts_are_those_that_the_held_out_negatives_allow(share):
    fitted = LogisticRegression().fit(A[:300], NAMED[:300])
    search = binary(base=fitted, cv="prefit")
    score = search.score_samples(A)
    p = p_values(score[KNOWN][NAMED[KNOWN] == "yes"], score[NEW])
    expected = false_discovery_control(p) <= level(p, share)
    found = search.predict(A[NEW], wrong_at_most=share) == "no"
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(search.predict(A[NEW], wrong_at_most={"no": share}) == "no", expected)
    decision = csf.tune_threshold(NAMED[KNOWN], score[KNOWN], pos_label="no")
    np.testing.assert_array_equal(decision.predict(score[NEW], wrong_at_most=share) == "no", expected)


def test_the_smaller_limit_wins_and_the_order_of_rows_does_not(plain):
    every = plain.predict(A[NEW], wrong_at_most=0.3) == "no"
    best = plain.predict(A[NEW], at_most=10, wrong_at_most=0.3) == "no"
    assert every.sum() > 10 == best.sum()
    assert not (best & ~every).any()
    score = plain.score_samples(A[NEW])
    assert score[best].min() >= score[every & ~best].max()
    np.testing.assert_array_equal(plain.predict(A[NEW], at_most=10**6, wrong_at_most=0.3) == "no", every)
    order = np.random.default_rng(0).permutation(600)
    np.testing.assert_array_equal(plain.predict(A[NEW][order], wrong_at_most=0.3) == "no", every[order])


def test_they_survive_files_other_shares_and_lean_copies(plain):
    expected = plain.predict(A[NEW], wrong_at_most=0.2)
    for search in (pickle.loads(pickle.dumps(plain)), plain.without_scores()):
        np.testing.assert_array_equal(search.predict(A[NEW], wrong_at_most=0.2), expected)
    with pytest.warns(UserWarning, match="times as many as of held-out rows"):
        moved = plain.at_prevalence(0.02).predict(A[NEW], wrong_at_most=0.2)
    np.testing.assert_array_equal(moved, expected)


def overfit(seed, n=400, n_pos=20):
    """Few positives in many columns."""
    rng, y = np.random.default_rng(seed), (np.arange(n) < n_pos).astype(int)
    return rng.normal(size=(n, 30)) + 0.35 * y[:, None], y


def searched_trees(seed, **options):
    rows, y = overfit(seed)
    return CostSearch(DecisionTreeClassifier(max_depth=4, random_state=0), **(QUICK | options)).fit(rows, y)


@pytest.mark.filterwarnings("ignore:the winner")
def test_out_of_fold_scores_are_compared_with_besides_those_of_training_rows():
    """A p-value is the larger one of both, whatever the kind of problem."""
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    (rows, y), (new, _) = overfit(0), overfit(1, n_pos=200)
    search = searched_trees(0)
    score = search.score_samples
    known = [search.result_.row.score[~search.held_out_.truth], score(rows)[y == 0]]
    p = np.max([[(1 + np.sum(each >= s - 1e-6)) / (each.size + 1) for s in score(new)] for each in known], axis=0)
    got = search.result_.wrong_alerts(1)
    np.testing.assert_allclose(replace(got, margin=None).p_values(score(new)), p)
    assert (got.p_values(score(new)) >= p - 1e-12).all()
    assert (replace(got, trained=None).p_values(score(new)) < p - 1e-9).any()
    for other, place in ((of_classes(base=tree), 2), (of_rows(tree), 1), (of_labels("f1_micro", tree), 1)):
        both = other.result_.wrong_alerts(place)
        values = both.p_values(both.scores)
        assert (values >= replace(both, trained=None).p_values(both.scores)).all()
        assert (values >= both.trained.p_values(both.scores)).all()
    labels = of_labels(base=tree)
    assert all(each.result_.wrong_alerts(1).trained is not None for each in labels.searches_)
    truth = labels.result_.searches[1].result_.trained.truth
    np.testing.assert_array_equal(truth, LABELS["dog"] == 1)
    np.testing.assert_array_equal(of_labels("f1_micro", tree).result_.trained.truth, LABELS)
    for exact in (binary(base=LogisticRegression().fit(A[:300], NAMED[:300]), cv="prefit"), binary(refit=False)):
        assert exact.result_.trained is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the winner", "ignore:no row can be", r"ignore:\d+ of \d+ rows are alerts")
def test_bases_that_overfit_keep_the_mean_share():
    shares = []
    for seed in range(30):
        search, (rows, y) = searched_trees(seed), overfit(1000 + seed, 1000, 50)
        order = np.random.default_rng(seed).permutation(1000).reshape(-1, 5)
        for batch in order:
            alerts = search.predict(rows[batch], wrong_at_most=0.2) == 1
            shares.append(np.sum(alerts & (y[batch] == 0)) / max(alerts.sum(), 1))
    # Against held-out rows alone it is 0.36.
    assert np.mean(shares) < 0.19


def test_far_more_alerts_than_among_held_out_rows_are_said():
    rng = np.random.default_rng(0)
    y = rng.uniform(size=4000) < 0.08
    decision = csf.tune_threshold(y, rng.normal(size=4000) + 2.5 * y)
    new = rng.uniform(size=500) < 0.08
    decision.predict(rng.normal(size=500) + 2.5 * new, wrong_at_most=0.2)
    with pytest.warns(UserWarning, match=r"\d+ of 500 rows are alerts, \d+ times as many as of held-out rows \(\d"):
        decision.predict(rng.normal(size=500) + 1.5 + new, wrong_at_most=0.2)


def test_out_of_fold_scores_count_each_sample_once():
    repeated = binary(cv=None)
    assert repeated.n_splits_ == 15
    assert repeated.result_.wrong_alerts(1).n_rows == pytest.approx((NAMED[KNOWN] == "yes").sum())


def test_calibration_samples_are_compared_with_where_there_are_some():
    asked = {"constraint": "precision >= 0.5", "confidence": 0.8}
    searches = [
        (binary(metric="recall", **asked), 1, A[NEW]),
        (of_rows(constraint="recall >= 0.1", confidence=0.8), 1, FRAME),
        (of_classes(constraint="recall[urgent] >= 0.2", confidence=0.8), 2, X),
        (of_labels("f1_micro", constraint="precision >= 0.5", confidence=0.8), 1, X),
    ]
    for search, place, rows in searches:
        assert search.result_.calibrated is not None
        apart = search.result_.wrong_alerts(place)
        assert apart.n_rows == apart.scores.size < 0.3 * 1000
        name = {1: 0.2} if place == 1 and search.pos_label_ is None else 0.2
        name = {search.classes_[2]: 0.2} if place == 2 else {"dog": 0.2} if name == {1: 0.2} else name
        search.predict(rows, wrong_at_most=name)
    labels = of_labels(constraint="precision >= 0.5", confidence=0.8)
    assert all(each.result_.calibrated is not None for each in labels.searches_)
    moved = searches[2][0].at_prevalence([0.5, 0.3, 0.2])
    assert moved.result_.calibrated is None


@pytest.mark.filterwarnings("ignore:no row can be an alert")
def test_with_costs_of_rows_those_that_do_not_pay_are_no_candidates():
    base = LogisticRegression().fit(FRAME, PAID)
    search = of_rows(base, cv="prefit")
    pays, odds = search.predict(FRAME) == 1, base.decision_function(FRAME)
    known = odds[(PAID == 0) & pays]
    p = np.array([(1 + np.sum(known >= each - 1e-9)) / (1 + (PAID == 0).sum()) for each in odds])
    p[~pays] = 1.0
    expected = false_discovery_control(p) <= 0.4
    np.testing.assert_array_equal(search.predict(FRAME, wrong_at_most=0.4) == 1, expected)
    assert 5 < expected.sum() < pays.sum()
    gain = search.decision_rule_.ranked(FRAME)[1]
    # The best by gain of rows that are sure enough for as many alerts as there are.
    numbers = set()
    for most in (1, 5, 20, 60):
        best, number = search.predict(FRAME, wrong_at_most=0.4, at_most=most) == 1, most_alerts(p, 0.4, most)
        sure = p <= 0.4 * number / p.size
        numbers.add(number - most)
        assert best.sum() == number
        assert not (best & ~sure).any()
        assert not number or gain[best].min() >= gain[sure & ~best].max(initial=-np.inf)
    assert max(numbers) == 0 > min(numbers)


def test_without_the_costs_that_fit_was_given_no_row_is_known_to_pay():
    search = CostSearch(LogisticRegression(), "savings", **QUICK).fit(FRAME, PAID, fn_cost=FRAME["amount"], fp_cost=1)
    assert search.predict(FRAME, wrong_at_most=0.5, fn_cost=FRAME["amount"]).any()
    with pytest.raises(ValueError, match="fn_cost must be given"):
        search.predict(FRAME, wrong_at_most=0.5)


def frauds(rng, n, spread):
    """Payments of which most frauds are of a few cents, so that most alerts that pay are wrong."""
    y = (rng.random(n) < 0.1).astype(int)
    few_cents = (y == 1) & (rng.random(n) < 0.7)
    return (rng.normal(size=n) + 2.5 * y)[:, None], y, np.exp(spread * rng.normal(size=n) + 4.6 - 6.9 * few_cents)


def wrong_shares(search, rng, spread, options, other):
    """Mean shares of wrong alerts of new batches, by options of ``predict`` and of ``predict_with_review``."""
    shares = []
    for _ in range(8):
        features, truth, amount = frauds(rng, 500, spread)
        found = [search.predict(features, wrong_at_most=0.2, fn_cost=amount, **other, **each) == 1 for each in options]
        if search.review is not None:
            answers = search.predict_with_review(features, wrong_at_most=0.2, fn_cost=amount, **other)
            found.append(answers == 1)
        shares.append([np.sum(each & (truth == 0)) / max(each.sum(), 1) for each in found])
    return np.mean(shares, axis=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no rule certifies")
@pytest.mark.parametrize("spread", [0.0, 0.5])
@pytest.mark.parametrize(
    ("metric", "options", "other"),
    [
        ("savings", {}, {"fp_cost": 10.0}),
        ("benefit", {"review": Review(cost=2.0, error=0.1)}, {"fp_cost": 11.0, "tn_cost": 1.0}),
        ("cost", {"constraint": "recall >= 0.2"}, {"fp_cost": 11.0, "tp_cost": 0.05, "tn_cost": 1.0}),
        ("savings", {"constraint": "recall >= 0.2", "confidence": 0.9, "cv": 3}, {"fp_cost": 10.0}),
    ],
    ids=str,
)
def test_with_costs_of_rows_the_mean_share_of_wrong_alerts_is_kept(metric, options, other, spread):
    shares = []
    for seed in range(40):
        rng = np.random.default_rng([seed, 7])
        features, y, amount = frauds(rng, 4000, spread)
        base = LogisticRegression().fit(*frauds(rng, 3000, spread)[:2])
        search = CostSearch(base, metric, **(QUICK | {"cv": "prefit"} | options))
        search.fit(features, y, fn_cost=amount, **other)
        shares.append(wrong_shares(search, rng, spread, [{}, {"at_most": 10}], other))
    error = np.std(shares, axis=0) / np.sqrt(len(shares))
    assert (np.mean(shares, axis=0) <= 0.2 * 0.9 + 2.0 * error).all()
    assert (np.mean(shares, axis=0)[:2] >= 0.1).all()


def test_with_costs_of_rows_another_share_of_positives_makes_other_rows_pay():
    search = of_rows(constraint="recall >= 0.1", confidence=0.8)
    for each in (search.at_prevalence(0.02), search.at_prevalence(0.5)):
        known, errors = each.result_.wrong_alerts(1), each.result_.errors
        assert known.shares[np.isneginf(known.scores).sum()] == pytest.approx(errors.fp / (1.0 - errors.pos))


def test_a_class_with_a_limit_goes_to_all_rows_that_pass_and_to_no_others():
    search = of_classes(threshold=None)
    with pytest.raises(ValueError, match="so there is no score for wrong_at_most"):
        search.predict(X, wrong_at_most={"urgent": 0.2})
    search = of_classes()
    proba, row = search.predict_proba(X)[:, 2], search.result_._held_out_rows()
    known = row.rows.proba[Y[np.arange(Y.size)][search.held_out_.samples] != "urgent", 2]
    expected = false_discovery_control(search.result_.wrong_alerts(2).p_values(proba)) <= 0.1
    assert (false_discovery_control(p_values(known, proba)) <= 0.1)[expected].all()
    found = search.predict(X, wrong_at_most={"urgent": 0.1})
    np.testing.assert_array_equal(found == "urgent", expected)
    rest = search.decision_function(X)[:, :2].argmax(axis=1)
    np.testing.assert_array_equal(found[~expected], search.classes_[rest][~expected])
    few = search.predict(X, at_most={"urgent": 9, "soon": 30}, wrong_at_most={"urgent": 0.4})
    assert ((few == "urgent").sum(), (few == "soon").sum()) == (9, 30)


@pytest.mark.parametrize("metric", ["f1_macro", "f1_micro", "f1_samples"])
def test_labels_have_limits_of_their_own(metric):
    search = of_labels(metric)
    found, plain = search.predict(X, wrong_at_most={"dog": 0.1}), search.predict(X)
    np.testing.assert_array_equal(found[:, [0, 2]], plain[:, [0, 2]])
    score = search.score_samples(X)[:, 1]
    own = search.searches_[1].result_.wrong_alerts(1) if metric == "f1_macro" else search.result_.wrong_alerts(1)
    assert own.n_rows == pytest.approx((LABELS["dog"] == 0).sum())
    p = own.p_values(score)
    assert (p >= p_values(own.scores.astype(float), score) - 1e-12).all()
    np.testing.assert_array_equal(found[:, 1] == 1, false_discovery_control(p) <= 0.1)
    both = search.predict(X, at_most={"dog": 7, "cat": 5}, wrong_at_most={"dog": 0.4})
    assert both.sum(axis=0).tolist() == [5, 7, plain[:, 2].sum()]


def test_reviews_take_what_does_not_pass():
    review, share = Review(cost=0.5, at_most=0.2), 0.05
    for search, rows, limit, positive in (
        (binary(review=review), A[NEW], share, "no"),
        (of_rows(review=review), FRAME, share, 1),
        (of_classes(review=review), X, {"urgent": share}, "urgent"),
    ):
        plain, limited = search.predict_with_review(rows), search.predict_with_review(rows, wrong_at_most=limit)
        assert ((limited == positive) <= (plain == positive)).all()
        assert (limited == positive).sum() < (plain == positive).sum()
        assert set(limited[(plain == positive) & (limited != positive)].tolist()) <= {
            "review",
            "yes",
            0,
            "soon",
            "calm",
        }
    labels = of_labels(review=review)
    limited = labels.predict_with_review(X, wrong_at_most={"dog": 0.01})
    np.testing.assert_array_equal(limited[:, [0, 2]], labels.predict_with_review(X)[:, [0, 2]])


def test_beside_a_null_class_alerts_of_a_wrong_class_are_wrong():
    search = CostSearch(LogisticRegression(), null_class="calm", **QUICK).fit(X, Y)
    lost = search.result_.row.lost
    wrong = (Y == "calm").sum() + (0 if lost is None else lost.sum())
    assert search.result_.wrong_alerts(1).n_rows == wrong > (Y == "calm").sum()
    found = search.predict(X, wrong_at_most=0.1)
    assert 0.0 < np.mean(found[found != "calm"] != Y[found != "calm"]) < 0.2
    assert (search.predict(X, wrong_at_most=0.2, at_most=40) != "calm").sum() == 40
    with pytest.raises(ValueError, match=r"no 'urgent'; accepted: \['calm', 'not calm'\]"):
        search.predict(X, wrong_at_most={"urgent": 0.1})
    with pytest.raises(ValueError, match=r"is by class, and wrong_at_most limits all but calm together"):
        search.predict(X, wrong_at_most=0.1, at_most={"urgent": 5})


def test_what_cannot_be_decided_is_refused_with_the_way_out(plain):
    with pytest.raises(ValueError, match="this is one row"):
        plain.predict(A[:1], wrong_at_most=0.2)
    with pytest.raises(ValueError, match=r"wrong_at_most must be a number in \(0, 1\), got 1.5"):
        plain.predict(A, wrong_at_most=1.5)
    with pytest.raises(ValueError, match=r"wrong_at_most limits the positive class alone, \{'no': 0.2\}, got"):
        plain.predict(A, wrong_at_most={"yes": 0.2})
    with pytest.raises(ValueError, match="limits all classes; leave one"):
        of_classes().predict(X, wrong_at_most=dict.fromkeys(["calm", "soon", "urgent"], 0.2))
    for search in (of_classes(), of_labels()):
        with pytest.raises(TypeError, match=r"wrong_at_most must say which .*: a dict such as \{'\w+': 0.2\}, got 0.2"):
            search.predict(X, wrong_at_most=0.2)
    with pytest.raises(ValueError, match="so there is no score for wrong_at_most"):
        binary(threshold=None).predict(A, wrong_at_most=0.2)
    plain = pickle.loads(pickle.dumps(plain))
    plain.result_ = replace(plain.result_, store=None)
    with pytest.raises(ValueError, match=r"searches on Dask and Spark do not keep; search in memory"):
        plain.predict(A, wrong_at_most=0.2)


def given(search, kind, known, new, limit, most):
    """What limits compare of known and new rows by their definitions, known wrong rows, and the alerts in a batch."""
    (X, y, costs), (Z, _, paid) = known, new
    place, name = X.shape[1] - 1, search.classes_[-1]
    limits = {"wrong_at_most": limit, "at_most": most}
    if X.shape[1] == 3:
        limits = {
            key: dict.fromkeys(search.classes_[1:] if kind == "two" else [name], each) for key, each in limits.items()
        }
    if kind == "review":
        own, there = (search.predict_with_review(rows, **more) == name for rows, more in ((X, costs), (Z, paid)))
        alerts = search.predict_with_review(Z, **limits, **paid) == name
    else:
        own, there = np.ones(len(X), dtype=bool), np.ones(len(Z), dtype=bool)
        if costs:
            own, there = search.predict(X, **costs) == name, search.predict(Z, **paid) == name
        if kind == "two":
            own, there = (search.decision_function(rows)[:, 1:].argmax(axis=1) == 1 for rows in (X, Z))
        alerts = search.predict(Z, **limits, **paid) == name
    return np.where(own, X[:, place], -np.inf)[y != place], np.where(there, Z[:, place], -np.inf), alerts


def coarse(seed, n, n_classes):
    """Probabilities of two decimals, of which the largest ones are right least, truth and costs of both errors."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    proba = rng.dirichlet(np.ones(n_classes), size=n) + 2.0 * np.eye(n_classes)[y] * (rng.random(n) < 0.8)[:, None]
    proba = (proba / proba.sum(axis=1, keepdims=True)).round(2)
    costs = {"fn_cost": rng.lognormal(1.5, 0.5, n), "fp_cost": rng.lognormal(0.0, 0.5, n)}
    return proba, y, costs


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no row can be an alert")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n_classes", "metric", "kind"),
    [
        (2, "f1", ""),
        (2, "f1", "review"),
        (2, "cost", ""),
        (2, "cost", "review"),
        (3, "f1_macro", ""),
        (3, "f1_macro", "two"),
        (3, "f1_macro", "review"),
        (3, csf.metrics.CostMatrix([[0, 1, 2], [3, 0, 1], [9, 5, 0]]), "review"),
    ],
    ids=str,
)
def test_the_rows_that_are_kept_keep_the_limit_by_its_definition(n_classes, metric, kind, seed):
    """The largest k up to a number for which k p-values are at most share * k / m, among rows with the answer."""
    known, new = coarse([seed, 1], 500, n_classes), coarse([seed, 2], 60, n_classes)
    if metric != "cost":
        known, new = (*known[:2], {}), (*new[:2], {})
    base = GivenProbabilities(np.arange(n_classes))
    review = Review(cost=0.15, at_most=0.3) if kind == "review" else None
    search = CostSearch(base, metric, cv="prefit", review=review, random_state=0).fit(*known[:2], **known[2])
    numbers = []
    for limit, most in ((0.1, 3), (0.3, 5), (0.3, 12), (0.6, 1), (0.6, 60)):
        wrong, score, alerts = given(search, kind, known, new, limit, most)
        p = p_values(wrong, score)
        limit = level(p, limit)
        numbers.append(most_alerts(p, limit, most))
        assert alerts.sum() == numbers[-1]
        assert (p[alerts] <= limit * numbers[-1] / p.size + 1e-12).all()
    assert max(numbers) > 0


def test_reviews_of_classes_stay_reviews_beside_a_limit_on_wrong_alerts():
    search = of_classes(review=Review(cost=0.3))
    # A limit that no row keeps.
    free, limited = search.predict_with_review(X), search.predict_with_review(X, wrong_at_most={"urgent": 0.02})
    assert np.sum(free == "urgent") > np.sum(limited == "urgent") == 0
    assert (limited[free == "review"] == "review").all()
