"""CostSearch where y has several classes that are all alike, as users call it."""

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.evaluate import Candidate
from csf.metrics import ConfusionMetric, CostMatrix, get_confusion_metric
from csf.search.selection import DROPPED
from csf.strategies import Ladder
from csf.thresholding.class_choice import TUNED, MulticlassChoice
from csf.thresholding.linear_rule import confusion_of
from csf.trainers import Prepared

NAMES = np.array(["bird", "stone", "tree"])
X, CODES = make_classification(
    240,
    5,
    n_informative=4,
    n_redundant=0,
    n_classes=3,
    n_clusters_per_class=1,
    weights=[0.7, 0.2],
    flip_y=0.1,
    class_sep=0.7,
    random_state=2,
)
Y = NAMES[CODES]
QUICK = {"param_grid": None, "cv": 3, "error_score": "raise"}


def search(base=None, metric="f1_macro", **options):
    return CostSearch(LogisticRegression() if base is None else base, metric, **(QUICK | options))


@pytest.fixture(scope="module")
def plain():
    """The plain call."""
    return CostSearch(LogisticRegression(), "f1_macro").fit(X, Y)


# ---------------------------------------------------------------- the plain call


def test_the_plain_call_beats_the_largest_probability(plain):
    """On the samples that rules are judged by."""
    own = max(trial.value for trial in plain.trials_ if trial.t == 0.0)
    judged = plain.cv_results_["judged_value"]
    assert judged.max() > own + 0.05
    assert plain.rule_.kind == "affine"
    assert (plain.n_trials_, plain.n_splits_) == (9, 15)
    assert sorted({params["C"] for params in plain.cv_results_["params"]}) == [1 / 16, 1.0, 16.0]


def test_attributes(plain):
    np.testing.assert_array_equal(plain.classes_, NAMES)
    np.testing.assert_array_equal(plain.class_count_, np.bincount(CODES))
    assert 0.0 <= plain.assess().monte_carlo_error < 0.01
    assert plain.pos_label_ is None
    assert plain.null_class_ is None
    assert plain.best_score_ == get_confusion_metric("f1_macro").value(plain.confusion_)
    np.testing.assert_allclose(plain.confusion_.sum(axis=1), np.bincount(CODES) / CODES.size)
    assert np.isnan(plain.upper_bound_)
    assert np.isnan(plain.gap_)
    winner = plain.trials_[plain.best_index_]
    np.testing.assert_array_equal(plain.class_costs_, winner.costs)
    assert plain.best_params_ == {"C": plain.cv_results_["param_C"][plain.best_index_]}
    assert plain.stop_reason_ == "all 3 class weights were tried"
    for name in ("best_t_", "best_threshold_", "threshold_"):
        assert not hasattr(plain, name)
    low, high = plain.score_interval_
    assert low < plain.corrected_score_ < high


def test_the_score_is_that_of_sklearn(plain):
    predicted, weight = plain.predict(X), np.random.default_rng(0).uniform(0.5, 2.0, 240)
    assert plain.score(X, Y) == pytest.approx(f1_score(Y, predicted, average="macro"))
    assert plain.score(X, Y, weight) == pytest.approx(f1_score(Y, predicted, average="macro", sample_weight=weight))


def test_no_threshold_is_offered(plain):
    with pytest.raises(ValueError, match="several classes have no threshold"):
        plain.held_out_curve()
    with pytest.raises(ValueError, match="several classes have no threshold"):
        plain.threshold_curve(X, Y)


# ---------------------------------------------------------------- metrics


def test_weighted_kappa_has_a_rule_of_a_matrix():
    fitted = search(metric="quadratic_kappa", cv=5).fit(X, Y)
    assert fitted.rule_.matrix.shape == (3, 3)


def test_balanced_accuracy_divides_by_the_shares():
    fitted = CostSearch(GaussianNB().fit(X, Y), "balanced_accuracy", cv="prefit").fit(X, Y)
    shares = np.bincount(CODES) / CODES.size
    assert fitted.rule_.slopes * shares == pytest.approx(fitted.rule_.slopes[0] * shares[0] * np.ones(3))
    np.testing.assert_array_equal(fitted.rule_.offsets, 0.0)


def test_known_costs_of_mistakes():
    """Where a missed tree costs ten times as much, it is predicted from a tenth of the probability on."""
    losses = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [10.0, 10.0, 0.0]])
    fitted = search(metric=CostMatrix(losses)).fit(X, Y)
    expected = NAMES[(fitted.predict_proba(X) @ losses).argmin(axis=1)]
    np.testing.assert_array_equal(fitted.predict(X), expected)


class WorstRecall(ConfusionMetric):
    """Smallest recall of a class."""

    def value(self, confusion):
        return (np.diagonal(confusion, axis1=-2, axis2=-1) / confusion.sum(axis=-1)).min(axis=-1)


def test_a_metric_of_the_users_own():
    fitted = search(metric=WorstRecall()).fit(X, Y)
    recalls = np.diagonal(fitted.confusion_) / fitted.confusion_.sum(axis=1)
    assert fitted.best_score_ == pytest.approx(recalls.min())
    assert fitted.best_score_ > fitted.trials_[0].value + 0.1


def test_a_null_class_still_means_nothing_to_find():
    fitted = CostSearch(LogisticRegression(), null_class="bird", n_trials=2, **QUICK).fit(X, Y)
    assert fitted.null_class_ == "bird"
    assert not hasattr(fitted, "rule_")


# ---------------------------------------------------------------- bases


class OwnLabels(ClassifierMixin, BaseEstimator):
    """Predicts, without any scores."""

    def fit(self, X, y, sample_weight=None):
        self.tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y, sample_weight)
        self.classes_ = self.tree.classes_
        return self

    def predict(self, X):
        return self.tree.predict(X)


def test_margins_are_calibrated_before_a_rule_decides():
    fitted = search(LinearSVC()).fit(X, Y)
    assert fitted.rule_.kind == "affine"
    assert not hasattr(fitted, "predict_proba")
    proba = fitted.held_out_.probabilities(next(iter(fitted.held_out_)).score, (1.0, 1.0, 1.0))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_without_scores_trainings_alone_are_searched():
    with pytest.raises(ValueError, match="needs decision_function or predict_proba, and OwnLabels"):
        search(OwnLabels()).fit(X, Y)
    fitted = search(OwnLabels(), threshold=None).fit(X, Y)
    assert fitted.rule_.kind == "argmax"
    np.testing.assert_array_equal(fitted.predict(X), fitted.best_estimator_.predict(X))


def test_own_decisions_are_kept_without_a_threshold():
    fitted = search(threshold=None).fit(X, Y)
    assert fitted.rule_.kind == "argmax"
    assert all(trial.judged is None for trial in fitted.trials_)
    np.testing.assert_array_equal(fitted.predict(X), fitted.best_estimator_.predict(X))
    with pytest.raises(ValueError, match="no rule can move"):
        fitted.at_prevalence([0.2, 0.4, 0.4])


class Recording(LogisticRegression):
    """Remembers the weights of its trainings."""

    weights: ClassVar = []

    def fit(self, X, y, sample_weight=None):
        Recording.weights.append((y, sample_weight))
        return super().fit(X, y, sample_weight)


def test_class_weights_reach_the_base():
    Recording.weights.clear()
    fitted = search(Recording(), threshold=None, refit=False).fit(X, Y)
    *_, (y, weight) = Recording.weights
    balanced, y = fitted.trials_[2].costs, np.searchsorted(fitted.classes_, y)
    np.testing.assert_allclose(weight / np.array(balanced)[y], weight[0] / balanced[y[0]])
    assert not hasattr(fitted, "best_estimator_")
    with pytest.raises(AttributeError, match="refit=False"):
        fitted.predict(X)


def test_probabilities_do_not_depend_on_the_trained_weights():
    """With the class weights taken out their mean is the shares, whatever was trained."""
    balanced = search(metric=WorstRecall(), cv=5).fit(X, Y)
    shares = np.bincount(CODES) / CODES.size
    for row in balanced.held_out_:
        mean = balanced.held_out_.probabilities(row.score, row.costs).mean(axis=0)
        np.testing.assert_allclose(mean, shares, atol=0.03)


# ---------------------------------------------------------------- models that are fitted already


@pytest.mark.parametrize("frozen", [False, True])
def test_a_fitted_model_gets_a_rule(frozen):
    model = LogisticRegression().fit(X[::2], Y[::2])
    options = {"base": FrozenEstimator(model)} if frozen else {"base": model, "cv": "prefit"}
    fitted = CostSearch(metric="f1_macro", **options).fit(X[1::2], Y[1::2])
    assert fitted.score(X[1::2], Y[1::2]) == pytest.approx(fitted.best_score_)
    assert fitted.best_score_ > f1_score(Y[1::2], model.predict(X[1::2]), average="macro")
    np.testing.assert_allclose(fitted.predict_proba(X), model.predict_proba(X), atol=1e-6)
    assert fitted.n_trials_ == 1
    assert fitted.stop_reason_ == "the base was fitted before: only its decision was tuned"


def test_a_fitted_model_that_has_not_seen_a_class():
    seen = CODES < 2
    fitted = CostSearch(LogisticRegression().fit(X[seen], Y[seen]), "f1_macro", cv="prefit").fit(X, Y)
    assert set(fitted.predict(X)) <= {"bird", "stone"}
    np.testing.assert_array_equal(fitted.predict_proba(X)[:, 2], 0.0)


@pytest.mark.parametrize("names", [["a", "b", "c"], [5, 6, 7], ["bird", "stone", "wood"]])
def test_a_fitted_model_of_other_classes(names):
    model = LogisticRegression().fit(X, np.array(names)[CODES])
    with pytest.raises(ValueError, match=r"has learnt the classes .*, and y holds \['bird', 'stone', 'tree'\]"):
        CostSearch(model, "f1_macro", cv="prefit").fit(X, Y)


def test_a_fitted_model_that_knows_codes():
    named, coded = (CostSearch(GaussianNB().fit(X, y), "f1_macro", cv="prefit").fit(X, Y) for y in (Y, CODES))
    np.testing.assert_array_equal(coded.predict(X), named.predict(X))


@pytest.mark.parametrize(
    ("learnt", "given", "options"),
    [
        ([0, 1, 2], [0, 2, 3], {"metric": "f1_macro"}),
        ([0, 1, 2], [0, 1, 3], {"metric": "f1_macro"}),
        ([0, 1], [1, 2, 3], {"metric": "mcc"}),
        ([0, 1, 2], [0, 2, 3], {"null_class": 0}),
        ([0, 1, 2], [1, 2, 3], {"null_class": 1}),
        ([0, 1], [1, 2], {"pos_label": 2}),
        ([0, 1], [1, 2], {"pos_label": 2, "cv": None}),
    ],
)
def test_a_fitted_model_of_labels_that_might_be_codes(learnt, given, options):
    """It knows 0, 1 and 2, and y holds 0, 2 and 3: its 2 is the label 2, or the code of 3."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(240, 3)) + np.eye(4)[np.arange(240) % 4, :3], np.arange(240) % 4
    before, after = np.isin(b, learnt), np.isin(b, given)
    base = LogisticRegression().fit(A[before], b[before])
    base = FrozenEstimator(base) if "cv" in options else base
    message = rf"trained on the classes \{learnt}, but y has \{given}. Only .* in both.*give codes as y: 0 for"
    with pytest.raises(ValueError, match=message):
        CostSearch(base, **{"cv": "prefit", **options}).fit(A[after], b[after])


@pytest.mark.parametrize("labels", [[-1, 1], ["no", "yes"], [False, True], [3, 4], [0, 5]])
def test_a_fitted_model_of_two_codes(labels):
    y = (CODES > 0).astype(int)
    names = np.array(labels)
    fitted = CostSearch(GaussianNB().fit(X, y), cv="prefit", pos_label=labels[1]).fit(X, names[y])
    plain = CostSearch(GaussianNB().fit(X, y), cv="prefit").fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X), names[plain.predict(X)])


def test_two_classes_of_a_metric_of_several():
    fitted = search(GaussianNB()).fit(X, CODES > 0)
    predicted = fitted.predict(X)
    assert fitted.score(X, CODES > 0) == pytest.approx(f1_score(CODES > 0, predicted, average="macro"))
    assert np.isfinite(fitted.best_threshold_)


def test_a_model_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        CostSearch(LogisticRegression(), "f1_macro", cv="prefit").fit(X, Y)


# ---------------------------------------------------------------- laws


def test_names_and_order_of_classes_decide_nothing():
    order = np.array([2, 0, 1])
    codes = order[CODES]
    first, second = search(GaussianNB()).fit(X, CODES), search(GaussianNB()).fit(X, codes)
    for one, other in zip(first.trials_, second.trials_):
        assert one.costs == pytest.approx(np.array(other.costs)[order])
        np.testing.assert_allclose(one.own, np.array(other.own)[np.ix_(order, order)])
        np.testing.assert_allclose(one.tuned, np.array(other.tuned)[np.ix_(order, order)])
    first, second = (each.at_prevalence(np.ones(3)) for each in (first, second))
    assert first.rule_.slopes == pytest.approx(second.rule_.slopes[order])
    np.testing.assert_array_equal(order[first.predict(X)], second.predict(X))


def test_a_weight_of_two_is_a_row_that_is_there_twice():
    weight = np.random.default_rng(0).integers(0, 4, 240)
    rows = np.repeat(np.arange(240), weight)
    fold = np.arange(240) % 3
    splits = [(np.flatnonzero(fold != each), np.flatnonzero(fold == each)) for each in range(3)]
    repeated = [(np.flatnonzero(fold[rows] != each), np.flatnonzero(fold[rows] == each)) for each in range(3)]
    base = GaussianNB(var_smoothing=0.0)
    heavy = search(base, cv=splits).fit(X, Y, sample_weight=weight)
    long = search(base, cv=repeated).fit(X[rows], Y[rows])
    assert heavy.best_index_ == long.best_index_
    np.testing.assert_allclose(heavy.confusion_, long.confusion_, atol=1e-12)
    np.testing.assert_allclose(heavy.rule_.slopes, long.rule_.slopes)
    assert heavy.corrected_score_ == pytest.approx(long.corrected_score_, abs=1e-9)
    assert heavy.score_interval_ == pytest.approx(long.score_interval_, abs=1e-9)
    np.testing.assert_array_equal(heavy.predict(X), long.predict(X))


def test_labels_that_features_do_not_tell_give_the_value_of_chance():
    shuffled = np.random.default_rng(0).permutation(np.repeat(np.arange(3), 80))
    fitted = CostSearch(GaussianNB(), "f1_macro").fit(X, shuffled)
    assert fitted.corrected_score_ == pytest.approx(1 / 3, abs=0.06)


def test_accuracy_needs_no_rule():
    fitted = search(metric="accuracy").fit(X, Y)
    np.testing.assert_array_equal(fitted.predict(X), NAMES[fitted.predict_proba(X).argmax(axis=1)])


class Even(ClassifierMixin, BaseEstimator):
    """Finds all classes as likely."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), self.classes_.size), 1.0 / self.classes_.size)

    def predict(self, X):
        return self.classes_[np.zeros(len(X), dtype=int)]


def test_ties_go_to_the_first_class_and_the_earlier_trial():
    fitted = search(Even(), threshold=None).fit(X, Y)
    assert (fitted.predict(X) == "bird").all()
    assert fitted.best_index_ == 0


@pytest.mark.parametrize("base", [LogisticRegression(), LinearSVC()])
def test_shares_that_change_move_the_rule(base):
    """What decides on new data is what was judged: on the samples of the training both count about the same."""
    moved = search(base, cv=5).fit(X, Y).at_prevalence([0.2, 0.2, 0.6])
    weight = np.array([0.2, 0.2, 0.6])[CODES] / np.bincount(CODES)[CODES]
    assert moved.score(X, Y, weight) == pytest.approx(moved.best_score_, abs=0.05)


@pytest.mark.parametrize("shares", [None, [0.2, 0.2, 0.6]], ids=["own shares", "other shares"])
@pytest.mark.parametrize("number", range(3), ids=["equal weights", "roots", "balanced"])
@pytest.mark.parametrize("base", [LogisticRegression(), GaussianNB(), LinearSVC()])
def test_what_predicts_reads_the_probabilities_that_it_was_tuned_on(base, number, shares, monkeypatch):
    """With held-out scores in the place of new ones it decides as the search was judged, whatever was trained."""
    monkeypatch.setattr(MulticlassChoice, "winner", Candidate((0, number), TUNED))
    fitted = search(base).fit(X, Y)
    fitted = fitted if shares is None else fitted.at_prevalence(shares)
    held_out, method = fitted.held_out_, "predict_proba" if hasattr(base, "predict_proba") else "decision_function"
    row = held_out[(0, number)]
    assert row.equal_costs == (number == 0)
    rule = replace(fitted._rule, estimator=SimpleNamespace(classes_=np.arange(3), **{method: lambda X: X}))
    np.testing.assert_allclose(rule.predict_proba(row.score), held_out.probabilities(row.score, row.costs), atol=1e-6)
    codes = np.searchsorted(NAMES, rule.predict(row.score))
    np.testing.assert_allclose(
        confusion_of(held_out.truth, codes, 3, held_out.weight), fitted.confusion_, atol=2.0 / CODES.size
    )
    # Neither weights of the training nor other shares leave the probabilities of a class too large on the whole.
    expected = np.bincount(CODES) / CODES.size if shares is None else shares
    mean = np.average(rule.predict_proba(row.score), axis=0, weights=held_out.weight)
    np.testing.assert_allclose(mean, expected, atol=0.1)


def test_shares_that_change():
    fitted = search().fit(X, Y)
    moved = fitted.at_prevalence([0.2, 0.2, 0.6])
    np.testing.assert_allclose(moved.confusion_.sum(axis=1), [0.2, 0.2, 0.6])
    assert (moved.predict(X) == "tree").sum() > (fitted.predict(X) == "tree").sum()
    odds = np.array([0.2, 0.2, 0.6]) / (np.bincount(CODES) / CODES.size)
    expected = fitted.predict_proba(X) * odds
    np.testing.assert_allclose(moved.predict_proba(X), expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(moved.predict(X), NAMES[moved.decision_function(X).argmax(axis=1)])
    assert moved.score_interval_[0] < moved.corrected_score_ < moved.score_interval_[1]
    np.testing.assert_array_equal(fitted.predict_proba(X), search().fit(X, Y).predict_proba(X))
    with pytest.raises(ValueError, match=r"one positive share for each of 3 classes, got 0\.5"):
        fitted.at_prevalence(0.5)
    named = fitted.at_prevalence(dict(zip(fitted.classes_.tolist()[::-1], [0.6, 0.2, 0.2])))
    np.testing.assert_array_equal(named.confusion_, moved.confusion_)
    with pytest.raises(ValueError, match=r"pos: there is no 'fish'; accepted: \['bird', "):
        fitted.at_prevalence({"fish": 1.0})


# ---------------------------------------------------------------- data and arguments of scikit-learn


def test_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = search().fit(frame, pd.Series(Y))
    np.testing.assert_array_equal(fitted.predict(frame), search().fit(X, Y).predict(X))
    assert fitted.feature_names_in_.tolist() == list("abcde")
    table = fitted.trials_frame()
    assert table["winner"].sum() == 1
    assert table["judged_value"].notna().all()


def test_within_pipelines_and_searches():
    piped = make_pipeline(StandardScaler(), search()).fit(X, Y)
    assert piped.score(X, Y) == pytest.approx(f1_score(Y, piped.predict(X), average="macro"))
    outer = GridSearchCV(search(cv=2), {"base__C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert 0.3 < outer.best_score_ < 0.8


def test_the_tag_says_whether_several_classes_can_be_searched():
    assert search().__sklearn_tags__().classifier_tags.multi_class
    assert not CostSearch(LogisticRegression()).__sklearn_tags__().classifier_tags.multi_class


# ---------------------------------------------------------------- rare classes and failures


def test_a_class_that_a_training_part_lacks_is_refused():
    part = np.where(CODES == 2, 0, np.arange(240) % 3)  # all trees are held out together
    splits = [(np.flatnonzero(part != each), np.flatnonzero(part == each)) for each in range(3)]
    with pytest.raises(ValueError, match=r"without fold 0 there is no .* row of positive weight to train on;"):
        search(LogisticRegression(), cv=splits).fit(X, Y)
    # Rows of weight 0 are none to train on.
    splits, weight = [(np.arange(240), np.arange(80)), (np.arange(80, 240), np.arange(80))], np.ones(240)
    weight[80:][CODES[80:] == 2] = 0.0
    with pytest.raises(ValueError, match="without fold 1 there is no"):
        search(LogisticRegression(), cv=splits).fit(X, Y, weight)


def test_few_samples_of_a_class_are_warned_of():
    few = np.flatnonzero((CODES < 2) | (np.cumsum(CODES == 2) <= 3))
    with pytest.warns(UserWarning, match=r"the classes \[2\] have fewer samples than there are folds"):
        fitted = CostSearch(GaussianNB(), "f1_macro").fit(X[few], CODES[few])
    assert fitted.n_splits_ == 5
    single = np.flatnonzero((CODES < 2) | (np.cumsum(CODES == 2) <= 1))
    with pytest.raises(ValueError, match=r"at least 2 samples of each class, and \[2\] have 1"):
        CostSearch(GaussianNB(), "f1_macro").fit(X[single], CODES[single])


def test_scores_beyond_the_memory_are_dropped_but_not_the_winner():
    two_trials = 2 * 240 * (3 * 4 + 2)
    fitted = search(strategy="grid", n_trials=5)._fit(X, Y, None, {}, Prepared(), two_trials)
    assert (len(fitted.held_out_), fitted.held_out_.n_dropped) == (2, 3)
    assert (0, fitted.trials_[fitted.best_index_].number) in fitted.held_out_
    assert (0, 0) in fitted.held_out_


# ---------------------------------------------------------------- checkpoints


def stop_after(n_trials):
    left = iter(range(n_trials - 1))
    return lambda study, trial: next(left, None) is None


@pytest.mark.parametrize(
    "base", [LogisticRegression(), LinearSVC(), DecisionTreeClassifier(max_depth=3, random_state=0)]
)
@pytest.mark.parametrize("n_trials", [1, 2])
@pytest.mark.slow
def test_a_stopped_search_goes_on_to_the_same_winner(base, n_trials, tmp_path):
    whole, path = search(base).fit(X, Y), tmp_path / "c.json"
    stopped = search(base, checkpoint=path, callbacks=[stop_after(n_trials)]).fit(X, Y)
    assert stopped.n_trials_ == n_trials
    assert stopped.stop_reason_ == "a callback ended the search"
    resumed = search(base, checkpoint=path).fit(X, Y)
    assert resumed.trials_ == whole.trials_
    assert resumed.best_index_ == whole.best_index_
    assert resumed.corrected_score_ == whole.corrected_score_
    np.testing.assert_array_equal(resumed.decision_function(X), whole.decision_function(X))


# ---------------------------------------------------------------- what cannot be used


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "f1"}, "3 classes: 'f1' is a metric of two classes; for more, write 'f1_macro'"),
        ({"constraint": "recall >= 0.8"}, r"write recall\[bird\] >= 0.8 for one of \['bird', 'stone', 'tree'\]"),
        ({"constraint": "recall[tre] >= 0.8"}, r"there is no 'tre'; accepted: \['bird', 'stone', 'tree'\]"),
        ({"tol": 0.1}, "tol=0.1 is not for several classes: there is no upper bound"),
        ({"weighting": "one-vs-rest"}, "not for several classes: costs of each problem.*Leave it out"),
        ({"bound_on": "train"}, "there is no upper bound for several classes. Leave it out"),
        ({"strategy": "cone"}, "strategy='cone' searches the costs of two errors.*'ladder' or 'grid'"),
        ({"metric": CostMatrix(1.0 - np.eye(2))}, r"2.*3|3.*2"),
    ],
)
def test_arguments_of_two_classes_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        search(**options).fit(X, Y)


def test_the_interval_of_a_fitted_model_is_not_widened_for_a_training():
    """As for two classes: no other model takes the place of the one that was judged."""
    trained = search(LogisticRegression(), cv=3).fit(X, Y)
    fitted = CostSearch(LogisticRegression().fit(X, Y), trained.metric, cv="prefit").fit(X, Y)
    assert trained.assess().spread > fitted.assess().spread == 1.0


def separated():
    """Three classes of which the most probable one is as good an answer as any rule's."""
    rng = np.random.default_rng(3)
    y = rng.choice(3, 300, p=[0.4, 0.3, 0.3])
    return rng.normal(size=(300, 2)) + 1.5 * y[:, None], y


def test_at_its_own_shares_a_search_decides_as_before():
    features, y = separated()
    own = search(LogisticRegression(), cv=4, random_state=0, param_grid=None).fit(features, y)
    assert own.rule_.kind == "argmax"
    same = own.at_prevalence(np.bincount(y) / y.size)
    np.testing.assert_array_equal(same.predict(features), own.predict(features))
    assert same.best_score_ == own.best_score_
    # At other shares the corrected score is that of the tuned rule alone.
    moved = own.at_prevalence([0.2, 0.3, 0.5])
    assert moved.result_.only == moved.result_.candidate


def test_shares_of_classes_need_no_probabilities_of_the_base():
    features, y = separated()
    shares = search(LinearSVC(), cv=3, param_grid=None).fit(features, y).prevalence(features)
    np.testing.assert_allclose([float(shares[each]) for each in range(3)], np.bincount(y) / y.size, atol=0.1)


# ---------------------------------------------------------------- settings that drop out


def test_with_many_samples_the_base_and_the_best_setting_alone_have_other_weights(monkeypatch, tmp_path):
    monkeypatch.setattr("csf.search.problems.multiclass.LARGE", 200)
    fitted = CostSearch(LogisticRegression(), "f1_macro", cv=3).fit(X, Y)
    first = {trial.setting: trial for trial in fitted.trials_ if trial.t == 0.0}
    best = max(first.values(), key=lambda trial: (trial.score, -trial.setting)).setting
    assert len(first) == len(fitted.studies_) > 2
    assert {trial.setting for trial in fitted.trials_ if trial.t > 0.0} == {0, best}
    assert DROPPED in fitted.stop_reason_
    # A search that was interrupted asks for the same trials.
    options = {"cv": 3, "checkpoint": tmp_path / "trials.json"}
    stops = iter([False, True])
    CostSearch(LogisticRegression(), "f1_macro", callbacks=[lambda study, trial: next(stops)], **options).fit(X, Y)
    resumed = CostSearch(LogisticRegression(), "f1_macro", **options).fit(X, Y)
    assert resumed.trials_ == fitted.trials_


@pytest.mark.parametrize(
    "options",
    [{"strategy": Ladder(race=False)}, {"constraint": "recall[bird] >= 0.3"}, {"n_trials": 1}, {"threshold": "tune"}],
    ids=str,
)
def test_options_that_compare_all_trials_drop_no_setting(monkeypatch, options):
    monkeypatch.setattr("csf.search.problems.multiclass.LARGE", 200)
    fitted = CostSearch(LogisticRegression(), "f1_macro", cv=3, **options).fit(X, Y)
    assert len({study.most_trials for study in fitted.studies_}) == 1
    assert fitted.n_trials_ == sum(study.most_trials for study in fitted.studies_)
    assert DROPPED not in fitted.stop_reason_


def test_shares_count_by_what_they_are_to_each_other():
    base = LogisticRegression().fit(X, Y)
    fitted = CostSearch(base, "f1_macro", cv="prefit").fit(X, Y)
    shares, thrice = (fitted.at_prevalence(factor * np.array([0.2, 0.2, 0.6])) for factor in (1.0, 3.0))
    assert thrice.best_score_ == pytest.approx(shares.best_score_)
    np.testing.assert_allclose(thrice.confusion_, shares.confusion_)


def test_scores_without_samples_of_a_predicted_class_are_warned_of():
    base = LogisticRegression().fit(X, Y)
    fitted = CostSearch(base, "balanced_accuracy", cv="prefit").fit(X, Y)
    rows = fitted.classes_[2] != Y
    assert (fitted.predict(X[rows]) == fitted.classes_[2]).any()
    with pytest.warns(UserWarning, match="1 of 3 classes are predicted, and no sample has them"):
        fitted.score(X[rows], Y[rows])
