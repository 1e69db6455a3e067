"""Searches that were moved, copied, stored or fitted again say what they should, however often and in any order."""

import copy
import pickle
import sys
from functools import cache

import numpy as np
import pytest
from builders_of_reports import data
from builders_of_reports import fitted as reported
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.data.folds import group_folds, read_groups
from csf.export import decision_rule
from csf.metrics import RowCosts
from csf.strategies import Ladder

QUICK = {"cv": 3, "random_state": 0}
X, Y = make_classification(300, 6, n_informative=4, weights=[0.8], flip_y=0.1, random_state=1)
X3, Y3 = make_classification(
    300, 6, n_informative=4, n_redundant=0, n_classes=3, weights=[0.7, 0.2], class_sep=0.7, flip_y=0.05, random_state=0
)
LABELS = (np.random.default_rng(0).normal(size=(300, 3)) + X[:, :3] > [0.5, 0.8, 1.0]).astype(int)
FOREST = RandomForestClassifier(10, max_depth=3, random_state=0)
BINARY, ALIKE, LABELLED = (0.5, 0.02), ([0.2, 0.3, 0.5], [0.5, 0.4, 0.1]), ([0.1, 0.2, 0.3], [0.6, 0.1, 0.05])
# A search, what it is fitted to, and two shares.
CASES = {
    "two classes": (CostSearch(LogisticRegression(), **QUICK), X, Y, BINARY),
    "constraint": (CostSearch(LinearSVC(), "recall", constraint="precision >= 0.5", **QUICK), X, Y, BINARY),
    "training parts": (CostSearch(LinearSVC(), bound_on="train", n_trials=2, **QUICK), X, Y, BINARY),
    "mean of folds": (CostSearch(FOREST, refit="folds", **QUICK), X, Y, BINARY),
    "prefit": (CostSearch(LinearSVC().fit(X, Y), cv="prefit"), X, Y, BINARY),
    "null class": (CostSearch(LogisticRegression(), null_class=0, **QUICK), X3, Y3, BINARY),
    "classes": (CostSearch(LogisticRegression(), "f1_macro", param_grid=None, **QUICK), X3, Y3, ALIKE),
    "classes, calibrated": (CostSearch(LinearSVC(), "gmean", param_grid=None, **QUICK), X3, Y3, ALIKE),
    "classes, prefit": (CostSearch(LinearSVC().fit(X3, Y3), "f1_macro", cv="prefit"), X3, Y3, ALIKE),
    "labels": (CostSearch(LogisticRegression(), "f1_macro", n_trials=2, **QUICK), X, LABELS, LABELLED),
}
NUMBERS = (
    *("best_threshold_", "best_score_", "best_scores_", "feasible_", "constraint_value_", "upper_bound_", "gap_"),
    *("bound_margin_", "best_index_", "best_index_at_prevalence_", "score_at_prevalence_", "confusion_"),
    *("corrected_score_", "score_interval_", "threshold_interval_", "class_costs_", "classes_"),
)


@cache
def fitted(name):
    search, samples, y, _ = CASES[name]
    return search.fit(samples, y)


def told(search, samples):
    """All that a search says of itself and of samples."""
    numbers = {name: getattr(search, name) for name in NUMBERS if hasattr(search, name)}
    asked = [
        name for name in ("predict", "decision_function", "predict_proba", "score_samples") if hasattr(search, name)
    ]
    return numbers | {name: getattr(search, name)(samples) for name in asked}


def check_same(one, other, name):
    samples = CASES[name][1]
    first, second = told(one, samples), told(other, samples)
    assert first.keys() == second.keys()
    for key, value in first.items():
        np.testing.assert_array_equal(second[key], value, err_msg=key)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_search_that_is_moved_twice_is_that_moved_to_the_last_share(name):
    search, (first, second) = fitted(name), CASES[name][3]
    before, once = told(search, CASES[name][1]), search.at_prevalence(second)
    check_same(once, search.at_prevalence(first).at_prevalence(second), name)
    check_same(once, once.at_prevalence(first).at_prevalence(second), name)
    for key, value in told(search, CASES[name][1]).items():
        np.testing.assert_array_equal(value, before[key], err_msg=f"{key} of the search that was moved")


def through_skops(search):
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(search)
    return skops.loads(data, trusted=skops.get_untrusted_types(data=data))


def through_pickle(search):
    return pickle.loads(pickle.dumps(search))


@pytest.mark.parametrize(
    "stored",
    [
        *(pytest.param(each, marks=pytest.mark.slow) for each in (copy.copy, copy.deepcopy, through_skops)),
        through_pickle,
    ],
)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_stored_searches_say_the_same_and_move_on(name, stored):
    search, (first, second) = fitted(name), CASES[name][3]
    check_same(search.at_prevalence(second), stored(search).at_prevalence(second), name)
    moved = search.at_prevalence(first)
    check_same(moved, stored(moved), name)
    check_same(search.at_prevalence(second), stored(moved).at_prevalence(second), name)


def booster(package, name, **options):
    return getattr(pytest.importorskip(package), name)(n_estimators=8, n_jobs=1, **options)


BASES = {
    "svm": LinearSVC,
    "logistic": LogisticRegression,
    "forest": lambda: FOREST,
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=8),
    "lightgbm": lambda: booster("lightgbm", "LGBMClassifier", verbose=-1),
    "xgboost": lambda: booster("xgboost", "XGBClassifier"),
    "pipeline": lambda: make_pipeline(StandardScaler(), LinearSVC()),
    "calibrated": lambda: CalibratedClassifierCV(LinearSVC(), cv=3),
    "frozen": lambda: FrozenEstimator(LogisticRegression().fit(X, Y)),
    "prefit": lambda: HistGradientBoostingClassifier(max_iter=8).fit(X, Y),
}
VARIANTS = [
    *((name, {}) for name in BASES),
    *((name, {"refit": "folds"}) for name in ("logistic", "forest", "histograms", "lightgbm", "xgboost")),
    *((name, {"pos_label": 0}) for name in ("svm", "lightgbm", "prefit")),
    *((name, {"threshold": None}) for name in ("svm", "forest")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_the_threshold_is_for_the_scores_of_samples(name, options):
    base = BASES[name]()
    more = {"cv": "prefit"} if name == "prefit" else QUICK
    search = CostSearch(base, n_trials=2, param_grid=None, **more, **options).fit(X, Y)
    moved = (
        [] if "threshold" in options else [search.at_prevalence(0.05), search.at_prevalence(0.05).at_prevalence(0.6)]
    )
    for each in [search, *moved, through_pickle(search)]:
        scores = each.score_samples(X)
        assert scores.shape == (300,)
        # A base's own decision is positive above its threshold, and not at it.
        found = scores > each.best_threshold_ if "threshold" in options else scores >= each.best_threshold_
        np.testing.assert_array_equal(each.predict(X) == each.pos_label_, found)
    # On the scale of the model: decisions where it has them, else probabilities.
    model = search.best_estimator_
    method = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
    said = np.asarray(getattr(model, method)(X))
    said = said[:, -1] if said.ndim == 2 else said
    if "pos_label" in options:
        said = -said if method == "decision_function" else 1.0 - said
    np.testing.assert_allclose(search.score_samples(X), said, atol=1e-12)


def test_the_threshold_is_for_the_scores_of_several_labels_or_beside_a_null_class():
    for average in ("macro", "micro", "samples"):
        search = CostSearch(LogisticRegression(), f"f1_{average}", n_trials=2, param_grid=None, **QUICK).fit(X, LABELS)
        np.testing.assert_array_equal(search.predict(X), search.score_samples(X) >= search.best_threshold_)
    search = fitted("null class")
    np.testing.assert_array_equal(search.predict(X3) != 0, search.score_samples(X3) >= search.best_threshold_)


def test_without_a_threshold_or_scores_there_are_no_scores_of_samples():
    search = CostSearch(LogisticRegression())
    assert hasattr(search, "score_samples")
    with pytest.raises(NotFittedError):
        search.score_samples(X)
    with pytest.raises(AttributeError, match="has no attribute 'score_samples'") as caught:
        fitted("classes").score_samples(X3)
    assert "several classes have no threshold: rule_ says" in str(caught.value.__cause__)
    assert not hasattr(fitted("classes"), "score_samples")
    assert not hasattr(CostSearch(Lasso()), "score_samples")
    with pytest.raises(AttributeError, match="refit=False"):
        CostSearch(LinearSVC(), refit=False, n_trials=1, param_grid=None, **QUICK).fit(X, Y).score_samples(X)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_clone_and_another_fit_know_nothing_of_a_move(name):
    search, samples, y, (first, _) = CASES[name]
    moved = fitted(name).at_prevalence(first)
    # A base that is fitted already loses that where it is cloned.
    for again in [moved] if search.cv == "prefit" else [moved, clone(moved)]:
        check_same(fitted(name), again.fit(samples, y), name)


@pytest.mark.parametrize("name", ["classes", "classes, calibrated", "classes, prefit"])
def test_exported_rules_of_moved_searches_decide_as_these_do(name):
    _, samples, _, (first, second) = CASES[name]
    for moved in (fitted(name).at_prevalence(first), fitted(name).at_prevalence(first).at_prevalence(second)):
        rule = decision_rule(moved)
        scores = getattr(moved.best_estimator_, rule.reads)(samples)
        assert np.mean(rule.decide(scores) == moved.predict(samples)) == 1.0


# ---------------------------------------------------------------- what a fitted search gives to people's tools


def test_the_frame_holds_the_trials():
    pandas = pytest.importorskip("pandas")
    search, _, _ = reported("plain")
    frame = search.trials_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == search.n_trials_
    assert frame.index[frame["winner"]].tolist() == [search.best_index_]
    assert frame["param_C"].tolist() == search.cv_results_["param_C"].tolist()
    assert frame["feasible"].all()
    np.testing.assert_array_equal(frame["pooled_test_score"], search.cv_results_["pooled_test_score"])


def test_the_frame_tells_constraints_and_failures():
    pytest.importorskip("pandas")
    search, _, _ = reported("infeasible")
    frame = search.trials_frame()
    assert not frame["feasible"].any()
    assert frame.loc[frame["winner"], "rate"].item() == search.constraint_value_
    failed = reported("failed")[0].trials_frame()
    assert failed.loc[failed["state"] == "failed", "feasible"].eq(False).all()


def test_the_frame_asks_for_a_fit_and_for_pandas(monkeypatch):
    with pytest.raises(NotFittedError):
        CostSearch(LinearSVC()).trials_frame()
    search, _, _ = reported("plain")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas: install it, or read cv_results_"):
        search.trials_frame()


def test_samples_of_each_class_are_counted():
    search, _, _ = reported("three")
    counts = [np.sum(data(3)[1] == label) for label in (0, 1, 2)]
    assert search.class_count_.tolist() == counts
    coded = CostSearch(LinearSVC(), n_trials=1, pos_label="a", cv=2).fit(np.eye(6), list("aabbbb"))
    assert coded.class_count_.tolist() == [2, 4]


# ---------------------------------------------------------------- rows that belong together are held out, drawn and


OPTIONS = {"n_trials": 2, "param_grid": None, "random_state": 0}
SIZE = 6


@pytest.fixture(scope="module")
def rows():
    """Groups of six rows that are the same but for the last one."""
    X, y = make_classification(150, 5, weights=[0.75], flip_y=0.15, random_state=0)
    return np.repeat(X, SIZE, axis=0), np.repeat(y, SIZE), np.repeat(np.arange(150), SIZE)


@pytest.mark.parametrize("cv", [None, 3, 0.3])
def test_folds_keep_groups_together(rows, cv):
    X, y, groups = rows
    search = CostSearch(LogisticRegression(), cv=cv, refit=False, **OPTIONS)
    given = []
    search.set_params(callbacks=[lambda study, trial: given.append(trial)]).fit(X, y, groups=groups)
    store = search.held_out_
    assert store.n_samples <= 150
    assert store.has_groups
    plain = CostSearch(LogisticRegression(), cv=cv, refit=False, **OPTIONS).fit(X, y)
    assert plain.held_out_.n_samples > 150 * 1.5


def test_the_number_of_folds_and_repeats_stays():
    y, groups = np.arange(200) % 4 == 0, np.arange(200) // 5
    for cv, n_splits in ((4, 4), (0.25, 1)):
        splits = group_folds(cv, y, groups, random_state=0)
        splits = splits if isinstance(splits, list) else list(splits.split(y, y, groups))
        assert len(splits) == n_splits
        assert all(not set(groups[train]) & set(groups[test]) for train, test in splits)


def test_a_splitter_of_ones_own_is_taken(rows):
    X, y, groups = rows
    search = CostSearch(LogisticRegression(), cv=GroupKFold(4), **OPTIONS).fit(X, y, groups=groups)
    assert search.n_splits_ == 4
    assert search.held_out_.n_samples == 150


def test_copies_of_rows_tell_no_more_than_the_rows(rows):
    """Six equal rows a group: the interval is that of the 150 different rows."""
    X, y, groups = rows
    model = GaussianNB().fit(X[: 50 * SIZE], y[: 50 * SIZE])
    X, y, groups = (part[50 * SIZE :] for part in (X, y, groups))
    grouped = CostSearch(model, cv="prefit").fit(X, y, groups=groups)
    different = CostSearch(model, cv="prefit").fit(X[::SIZE], y[::SIZE])
    alone = CostSearch(model, cv="prefit").fit(X, y)
    width = [np.diff(search.score_interval_).item() for search in (grouped, different, alone)]
    assert width[0] == pytest.approx(width[1], rel=0.15)
    assert width[2] < 0.6 * width[0]
    assert grouped.best_score_ == alone.best_score_


def test_groups_of_one_row_change_little(rows):
    X, y, _ = rows
    X, y = X[::SIZE], y[::SIZE]
    model = GaussianNB().fit(X[:50], y[:50])
    single = CostSearch(model, cv="prefit").fit(X[50:], y[50:], groups=np.arange(100))
    plain = CostSearch(model, cv="prefit").fit(X[50:], y[50:])
    assert single.best_score_ == plain.best_score_
    assert single.score_interval_ == pytest.approx(plain.score_interval_, abs=0.05)


def test_weights_names_and_files_of_groups(rows, tmp_path):
    X, y, groups = rows
    names = np.array([f"customer {group:03d}" for group in groups], dtype=object)
    weight = np.random.default_rng(0).integers(1, 5, y.size).astype(float)
    options = OPTIONS | {"checkpoint": tmp_path / "search"}
    search = CostSearch(LogisticRegression(), **options).fit(X, y, sample_weight=weight, groups=names)
    again = CostSearch(LogisticRegression(), **options).fit(X, y, sample_weight=weight, groups=groups)
    assert again.trials_[0].score == search.trials_[0].score
    assert search.held_out_.copies.tolist() == [1] * search.held_out_.n_samples
    loaded = pickle.loads(pickle.dumps(search))
    assert loaded.score_interval_ == search.score_interval_
    moved = search.at_prevalence(0.1)
    assert moved.score_interval_[0] <= moved.corrected_score_ <= moved.score_interval_[1]


def test_several_classes_have_groups_too(rows):
    X, y, groups = rows
    y = np.where(X[:, 0] > 1.0, 2, y)
    search = CostSearch(LogisticRegression(), "f1_macro", **OPTIONS).fit(X, y, groups=groups)
    plain = CostSearch(LogisticRegression(), "f1_macro", **OPTIONS).fit(X, y)
    assert search.held_out_.n_samples == 150
    assert np.diff(search.score_interval_) > 1.3 * np.diff(plain.score_interval_)


def test_certificates_count_groups(rows):
    """Copies of rows certify no more than the rows do."""
    X, y, groups = rows
    options = OPTIONS | {"constraint": "precision >= 0.8", "confidence": 0.99, "metric": "recall"}
    with pytest.warns(UserWarning, match="precision"):
        search = CostSearch(LogisticRegression(), **options).fit(X, y, groups=groups)
    assert not search.guarantee_.holds
    # As if they were independent.
    assert CostSearch(LogisticRegression(), **options).fit(X, y).guarantee_.error < 0.01


def test_groups_that_cannot_be_used():
    with pytest.raises(ValueError, match="one entry for each of 5 samples"):
        read_groups([1, 2], 5)
    with pytest.raises(ValueError, match="at least two groups"):
        read_groups(["a"] * 5, 5)
    with pytest.raises(ValueError, match="5 folds need at least 5 groups, got 3"):
        group_folds(5, np.arange(9) % 2, np.arange(9) // 3, random_state=0)


@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(),
        GaussianNB(),
        pytest.param(HistGradientBoostingClassifier(max_iter=5), marks=pytest.mark.slow),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda base: type(base).__name__,
)
@pytest.mark.parametrize("pos_label", ["bad", "good"])
@pytest.mark.parametrize("strategy", ["ladder", Ladder(3, race=False)], ids=["equal", "weighed"])
def test_the_threshold_as_a_probability_decides_as_predict_does(base, pos_label, strategy):
    X, y, *_ = data()
    labels = np.array(["bad", "good"])[y]
    search = CostSearch(base, param_grid=None, strategy=strategy, cv=3, pos_label=pos_label).fit(X, labels)
    proba = search.predict_proba(X)[:, search.classes_.tolist().index(pos_label)]
    clear = abs(proba - search.best_threshold_proba_) > 1e-9
    assert ((proba >= search.best_threshold_proba_) == (search.predict(X) == pos_label))[clear].all()


def test_margins_of_other_bases_are_no_probabilities():
    X, y, *_ = data()
    assert CostSearch(LinearSVC(), param_grid=None, n_trials=1, cv=3).fit(X, y).best_threshold_proba_ is None
    three = CostSearch(LogisticRegression(), "f1_macro", param_grid=None, n_trials=1, cv=3).fit(*data(3)[:2])
    assert three.best_threshold_proba_ is None
    labels = CostSearch(LogisticRegression(), "f1_macro", param_grid=None, n_trials=1, cv=3).fit(X, np.c_[y, 1 - y])
    assert labels.best_threshold_proba_ is None
    rows = CostSearch(LogisticRegression(), "savings", param_grid=None, cv=3).fit(X, y, fn_cost=2.0, fp_cost=1.0)
    assert rows.best_threshold_proba_ is None


@pytest.mark.parametrize("cv", [None, 5, 0.3, GroupKFold(3)], ids=str)
def test_groups_are_taken_whatever_metadata_routing_says(cv):
    groups = np.arange(300) // 3
    search = CostSearch(LogisticRegression(), param_grid=None, n_trials=1, cv=cv, random_state=0)
    plain = clone(search).fit(X, Y, groups=groups)
    with config_context(enable_metadata_routing=True):
        routed = clone(search).set_fit_request(groups=True).fit(X, Y, groups=groups)
    assert (routed.best_threshold_, routed.score_interval_) == (plain.best_threshold_, plain.score_interval_)


@pytest.mark.parametrize("cv", [None, 5, 0.3, GroupKFold(3)], ids=str)
def test_a_class_in_one_group_is_named_as_the_cause(cv):
    groups = np.where(Y == 1, 100, np.arange(300) // 10)
    with pytest.raises(ValueError, match=r"all samples of class 1 are in one of the groups.*Give smaller groups"):
        CostSearch(LogisticRegression(), param_grid=None, cv=cv).fit(X, Y, groups=groups)


# ---------------------------------------------------------------- what is estimated from held-out rows

PROBABLE, PROBABLE3 = LogisticRegression().fit(X, Y), LogisticRegression().fit(X3, Y3)
AMOUNT, PART = np.exp(X[:, 0]) + 1.0, np.where(X[:, 1] > 0.0, "A", "B")
NEW = np.random.default_rng(0).normal(size=(200, 6)) + 0.3
# Base and options of a search, what it is fitted to, and what its fit is given beside that.
ESTIMATING = {
    "two classes": (PROBABLE, {}, Y, {}),
    "margins": (LinearSVC().fit(X, Y), {}, Y, {}),
    "constraint": (PROBABLE, {"metric": "recall", "constraint": "precision >= 0.5"}, Y, {}),
    "segments": (PROBABLE, {"constraint": "recall gap <= 0.1 by part"}, Y, {"by": PART}),
    "costs of rows": (PROBABLE, {"metric": RowCosts(fp=5.0)}, Y, {"fn_cost": AMOUNT}),
    "null class": (PROBABLE3, {"null_class": 0}, Y3, {}),
    "classes": (PROBABLE3, {"metric": "f1_macro"}, Y3, {}),
}


def estimates(search, name):
    """All that a search says of rows without labels, and of what its threshold stands for."""
    known = []
    if name != "null class":
        shares = search.prevalence(NEW)
        known += [(share, *share.interval) for share in (shares.values() if isinstance(shares, dict) else [shares])]
    if name in ("segments", "two classes", "margins", "constraint", "null class"):
        segments = ("A", "B") if name == "segments" else (None,)
        known += [tuple(search.exchange_rate(segment=segment)) for segment in segments]
    if name in ("two classes", "margins", "constraint", "classes"):
        plan = search.audit(NEW, labels=40)
        known += [(plan.expected_width, *plan.rows[:2])]
    return known


@pytest.mark.parametrize("name", ESTIMATING)
@pytest.mark.filterwarnings("ignore:the share")
def test_whole_weights_are_repeated_rows_in_estimates(name):
    base, options, y, given = ESTIMATING[name]
    features = X3 if y is Y3 else X
    weight = np.random.default_rng(1).integers(0, 4, y.size)
    rows = np.repeat(np.arange(y.size), weight)
    weighted, repeated = (CostSearch(base, cv="prefit", **options) for _ in range(2))
    weighted.fit(features, y, sample_weight=weight.astype(float), **given)
    repeated.fit(features[rows], y[rows], **{key: values[rows] for key, values in given.items()})
    for one, other in zip(estimates(weighted, name), estimates(repeated, name), strict=True):
        assert one == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("name", ESTIMATING)
@pytest.mark.filterwarnings("ignore:the share")
def test_the_unit_of_weights_changes_no_estimate(name):
    base, options, y, given = ESTIMATING[name]
    weight = np.random.default_rng(1).uniform(0.2, 3.0, y.size)
    searches = [
        CostSearch(base, cv="prefit", **options).fit(X3 if y is Y3 else X, y, sample_weight=unit * weight, **given)
        for unit in (1.0, 3.7)
    ]
    for one, other in zip(*(estimates(search, name) for search in searches), strict=True):
        assert one == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("name", ["two classes", "classes"])
@pytest.mark.filterwarnings("ignore:the share")
def test_folds_of_groups_that_are_repeated_tell_nothing_new(name):
    """Intervals of one split and of five are about as wide, but for the chance of a split."""
    _, options, y, _ = ESTIMATING[name]
    features, groups = (X3 if y is Y3 else X), np.arange(y.size) // 2
    widths = []
    for n_repeats in (1, 5):
        cuts = [StratifiedGroupKFold(3, shuffle=True, random_state=seed) for seed in range(n_repeats)]
        splits = [split for cut in cuts for split in cut.split(features, y, groups)]
        search = CostSearch(LogisticRegression(), cv=splits, param_grid=None, n_trials=1, **options)
        search.fit(features, y, groups=groups)
        known = [tuple(search.exchange_rate())[1:]] if name == "two classes" else []
        shares = search.prevalence(NEW)
        known += [share.interval for share in (shares.values() if isinstance(shares, dict) else [shares])]
        widths.append([high - low for low, high in known])
    assert np.divide(*widths[::-1]).mean() > 0.7
