"""Several labels a sample: macro averages label by label, micro averages and means over samples by one threshold."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    f1_score,
    get_scorer,
    hamming_loss,
    jaccard_score,
    make_scorer,
    precision_score,
    recall_score,
)
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from csf import CostSearch, ErrorProfile
from csf.data.labels import label_strata
from csf.metrics import Averaged, FBeta, Tversky
from csf.metrics.registry import get_label_metric
from csf.strategies import Ladder
from csf.thresholding import threshold_curve

AVERAGES = ("macro", "micro", "samples")
CLOSE = LogisticRegression(tol=1e-9)


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(360, 8, n_classes=4, n_labels=2, random_state=0)
    Y[:, 1] &= np.random.default_rng(0).integers(0, 2, 360)
    return X, Y


@pytest.fixture(scope="module")
def more_data():
    X, Y = make_multilabel_classification(4000, 8, n_classes=5, n_labels=1, random_state=3)
    return X[:1000], Y[:1000], X[1000:], Y[1000:]


def search(average, base=None, **options):
    base = LogisticRegression() if base is None else base
    return CostSearch(base, f"f1_{average}", **({"cv": 3, "param_grid": None} | options))


def f1(average, truth, found, weight=None):
    empty, average = 1.0 * (average == "examples"), average.replace("examples", "samples")
    return f1_score(truth, found, average=average, zero_division=empty, sample_weight=weight)


def every_cut(score):
    """Predictions of every threshold of the scores, one at a time."""
    return [score >= cut for cut in np.append(np.unique(score), np.inf)]


# ---------------------------------------------------------------- what is maximised


def entries(fitted, n_labels):
    """Truth and scores of the winner on the held-out rows."""
    store = fitted.held_out_
    return store.is_pos.reshape(-1, n_labels), fitted.result_.row.score.reshape(-1, n_labels)


@pytest.mark.parametrize("average", ["micro", "samples", "examples"])
def test_the_shared_threshold_is_the_best_of_all(average, data):
    X, Y = data
    fitted = search(average, threshold="tune", n_trials=2).fit(X, Y)
    truth, score = entries(fitted, 4)
    metric = get_label_metric(f"f1_{average}")
    values = [metric.of(truth, found) for found in every_cut(score)]
    assert fitted.best_score_ == pytest.approx(max(values), abs=1e-12)
    assert f1(average, truth, score >= fitted.best_threshold_) == pytest.approx(fitted.best_score_, abs=1e-12)
    stable = search(average, n_trials=2).fit(X, Y)
    assert max(values) >= stable.best_score_ >= max(values) - 0.02


def test_the_macro_average_is_that_of_the_best_threshold_of_each_label(data):
    X, Y = data
    fitted = search("macro", threshold="tune", n_trials=2).fit(X, Y)
    best = []
    for at, each in enumerate(fitted.searches_):
        truth, score = each.held_out_.is_pos, each.result_.row.score
        best.append(max(FBeta().of(ErrorProfile.from_masks(truth, found)) for found in every_cut(score)))
        assert np.array_equal(np.sort(truth), np.sort(Y[:, at]) == 1)
    assert fitted.best_scores_ == pytest.approx(best, abs=1e-12)
    assert fitted.best_score_ == pytest.approx(np.mean(best), abs=1e-12)
    stable = search("macro", n_trials=2).fit(X, Y)
    assert np.mean(best) >= stable.best_score_ >= np.mean(best) - 0.02
    assert stable.upper_bound_ == pytest.approx(np.mean([each.upper_bound_ for each in stable.searches_]))


@pytest.mark.parametrize("average", AVERAGES)
def test_new_data(average, more_data):
    """It beats plain models, loses little against exact cuts of each label, and says what it is worth."""
    X, Y, new, truth = more_data
    fitted = search(average, n_trials=2).fit(X, Y)
    reached = fitted.score(new, truth)
    plain = OneVsRestClassifier(LogisticRegression())
    gain = reached - f1(average, truth, plain.fit(X, Y).predict(new))
    assert gain > {"macro": 0.01, "micro": 0.01, "samples": -0.002}[average]
    if average != "samples":
        held_out = cross_val_predict(plain, X, Y, cv=3, method="predict_proba")
        curves = [threshold_curve(*column) for column in zip(Y.T, held_out.T)]
        cuts = [curve.best("f1").threshold for curve in curves]
        assert reached >= f1(average, truth, plain.predict_proba(new) >= cuts) - 0.003
    low, high = fitted.score_interval_
    assert low < fitted.corrected_score_ < high
    assert low - 0.005 < reached < high + 0.005
    assert high - low < 0.08
    assert fitted.corrected_score_ <= fitted.best_score_ + 0.002
    if average == "samples":
        assert np.isnan(fitted.upper_bound_)
        assert [trial.costs for trial in fitted.trials_] == [(1.0, 1.0)]
    else:
        assert fitted.upper_bound_ > fitted.best_score_


def test_costs_of_a_micro_average_are_those_of_all_pairs(data):
    X, Y = data
    fitted = search("micro", threshold="tune", n_trials=2).fit(X, Y)
    even, balanced = fitted.trials_
    assert even.costs == (1.0, 1.0)
    assert balanced.c_fn / balanced.c_fp == pytest.approx(max((1 - Y).sum() / Y.sum(), 3.0))
    for at, model in enumerate(fitted.best_estimator_.estimators_):
        costs = dict(zip((1, 0), fitted.best_cost_weights_))
        weight = np.where(Y[:, at], costs[1], costs[0])
        alone = LogisticRegression(tol=1e-8).fit(X, Y[:, at], weight / weight.mean())
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-3)


# ---------------------------------------------------------------- predictions


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("base", [LogisticRegression(), LinearSVC()], ids=["proba", "margin"])
def test_predictions_are_those_of_multilabel_classifiers(average, base, data):
    X, Y = data
    fitted = search(average, base).fit(X, Y)
    found = fitted.predict(X)
    assert found.shape == Y.shape
    assert found.dtype.kind == "i"
    assert np.array_equal(found, fitted.decision_function(X) > 0)
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    assert fitted.class_count_.tolist() == Y.sum(axis=0).tolist()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 360)
    assert fitted.score(X, Y) == pytest.approx(f1(average, Y, found))
    assert fitted.score(X, Y, weight) == pytest.approx(f1(average, Y, found, weight))
    assert get_tags(fitted).classifier_tags.multi_label
    assert not get_tags(CostSearch(base)).classifier_tags.multi_label
    if hasattr(base, "predict_proba"):
        proba = fitted.predict_proba(X)
        assert proba.shape == Y.shape
        np.testing.assert_allclose(proba.mean(axis=0), Y.mean(axis=0), atol=0.1)
    else:
        assert not hasattr(fitted, "predict_proba")
    assert fitted.best_estimator_.decision_function(X).shape == Y.shape
    assert fitted.n_features_in_ == 8


@pytest.mark.slow
@pytest.mark.parametrize("average", AVERAGES)
def test_models_are_trained_with_the_given_base_and_kept(average, data):
    X, Y = data
    fitted = search(average, RandomForestClassifier(3), random_state=0, n_trials=2, cv=2).fit(X, Y)
    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copy.predict(X), fitted.predict(X))
    assert copy.corrected_score_ == fitted.corrected_score_
    again = clone(fitted).set_params(n_jobs=None if average == "macro" else 2).fit(X, Y)
    assert np.array_equal(again.decision_function(X), fitted.decision_function(X))
    assert not hasattr(search(average, refit=False).fit(X, Y), "best_estimator_")


@pytest.mark.parametrize("threshold", [None, "tune"])
def test_a_threshold_that_is_set_is_used(threshold, data):
    X, Y = data
    fitted = search("micro", threshold=threshold, n_trials=1).fit(X, Y)
    assert np.array_equal(fitted.predict(X), fitted.best_estimator_.predict(X)) == (threshold is None)
    apart = search("macro", threshold=threshold, n_trials=1).fit(X, Y)
    if threshold is not None:
        fitted.best_threshold_ = np.inf
        assert not fitted.predict(X).any()
        apart.best_threshold_ = np.array([np.inf, -np.inf, np.inf, np.inf])
        assert apart.predict(X).sum(axis=0).tolist() == [0, 360, 0, 0]


def test_scorers_of_scikit_learn(data):
    values = [cross_val_score(search("macro", n_trials=1), *data, cv=2, scoring=name) for name in (None, "f1_macro")]
    assert values[0] == pytest.approx(values[1])
    assert cross_val_score(search("micro", n_trials=1), *data, cv=2, scoring="average_precision").min() > 0.5


def test_the_curve_of_the_shared_threshold(data):
    X, Y = data
    fitted = search("micro", n_trials=1).fit(X, Y)
    curve = fitted.threshold_curve(X, Y)
    assert FBeta().of(curve.at(fitted.best_threshold_)) == pytest.approx(fitted.score(X, Y))
    means = search("samples", n_trials=1).fit(X, Y)
    curve, score, weight = means.threshold_curve(X, Y), means.score_samples(X), np.arange(360.0)
    for at in (0, 10, 200, -1):
        found = score >= curve.thresholds[at]
        assert curve.values[at] == pytest.approx(f1("samples", Y, found))
        weighted = means.threshold_curve(X, Y, weight)
        at = weighted.cuts_at(curve.thresholds[at])
        assert weighted.values[at] == pytest.approx(f1("samples", Y, found, weight))
    with pytest.raises(ValueError, match=r"searches_\[k\].threshold_curve"):
        search("macro", n_trials=1).fit(X, Y).threshold_curve(X, Y)


# ---------------------------------------------------------------- laws


@pytest.mark.slow
@pytest.mark.parametrize("base", [LinearSVC(), RandomForestClassifier(8, random_state=0)], ids=["linear", "forest"])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_label_is_searched_on_the_shared_splits_as_if_it_were_alone(base, weighted, data):
    X, Y = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 360) if weighted else None
    splits = list(KFold(3).split(X))
    options = {"n_trials": 2, "cv": splits, "random_state": 1}
    fitted = search("macro", base, **options).fit(X, Y, weight)
    for codes, one in zip(Y.T, fitted.searches_, strict=True):
        alone = CostSearch(base, param_grid=None, **options | {"random_state": one.random_state}).fit(X, codes, weight)
        assert one.trials_ == alone.trials_
        assert one.corrected_score_ == alone.corrected_score_
        assert np.array_equal(one.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize("cv", [4, 0.3, KFold(2, shuffle=True, random_state=1)], ids=str)
def test_all_labels_have_the_same_splits_whatever_the_number_of_threads(cv, data):
    X, Y = data
    one, other = (search("macro", LinearSVC(), cv=cv, random_state=5, n_trials=2, n_jobs=n).fit(X, Y) for n in (1, 2))
    assert one.trials_ == other.trials_
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
    first, *others = [each.held_out_.samples for each in one.searches_]
    assert all(np.array_equal(first, rows) for rows in others)


def test_groups_are_kept_together_in_the_search_of_every_label(data):
    X, Y = data
    groups = np.arange(360) % 11
    fitted = search("macro", cv=GroupKFold(3), n_trials=1).fit(X, Y, groups=groups)
    for each in fitted.searches_:
        assert all(not set(groups[train]) & set(groups[test]) for train, test in each.cv)


@pytest.mark.parametrize("average", AVERAGES)
def test_the_order_of_labels_changes_nothing(average, data):
    X, Y = data
    order = [2, 0, 3, 1]
    one, other = search(average).fit(X, Y), search(average).fit(X, Y[:, order])
    assert np.array_equal(one.decision_function(X)[:, order], other.decision_function(X))
    assert one.corrected_score_ == pytest.approx(other.corrected_score_, abs=1e-12)
    if average == "macro":
        assert one.best_threshold_[order].tolist() == other.best_threshold_.tolist()


class Rounded(ClassifierMixin, BaseEstimator):
    """Scores that do not depend on the order of rows, to the last digit; those of labels are seldom the same."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.slopes_ = np.round(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0), 1)
        return self

    def predict_proba(self, X):
        proba = expit((0.3 * X * self.slopes_).sum(axis=1))
        return np.column_stack([1.0 - proba, proba])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_repeats", [1, 2])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.slow
def test_the_order_of_rows_changes_nothing_where_folds_are_the_same(average, n_repeats, weighted, data):
    """Nor does that of labels which share a threshold, where no count tells two of them apart."""
    X, Y = data[0], data[1].copy()
    Y[:, 3] = Y[::-1, 2]
    weight = np.random.default_rng(1).integers(1, 3, 360) if weighted else np.ones(360)
    folds = list(RepeatedKFold(n_splits=3, n_repeats=n_repeats, random_state=0).split(X))
    told = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows, columns = (rng.permutation(360), rng.permutation(4)) if seed else (np.arange(360), np.arange(4))
        columns = np.arange(4) if average == "macro" else columns
        places = np.argsort(rows)
        splits = [(places[train], places[test]) for train, test in folds]
        fitted = search(average, Rounded(), cv=splits, n_trials=2, random_state=0)
        fitted.fit(X[rows], Y[rows][:, columns], weight[rows])
        numbers = [fitted.best_score_, fitted.upper_bound_, fitted.gap_, fitted.corrected_score_]
        thresholds = np.broadcast_to(fitted.best_threshold_, 4)[np.argsort(columns)]
        told.append([*numbers, *fitted.score_interval_, *thresholds])
    np.testing.assert_allclose(told, [told[0]] * 3, rtol=1e-9)


@pytest.mark.parametrize("average", AVERAGES)
def test_weights_are_repeated_rows(average, data):
    X, Y = data
    weight = np.random.default_rng(3).integers(0, 3, 360)
    rows = np.repeat(np.arange(360), weight)
    halves = np.array_split(np.arange(360), 2), np.array_split(np.arange(rows.size), [weight[:180].sum()])
    one, other = (search(average, LogisticRegression(tol=1e-10), cv=[(a, b), (b, a)], n_trials=2) for a, b in halves)
    one.fit(X, Y, weight)
    other.fit(X[rows], Y[rows])
    for name in ("best_score_", "corrected_score_", "score_interval_"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)


def test_rows_are_drawn_and_not_pairs():
    """Rows whose labels are copies of each other say no more than one label of them."""
    X, Y = make_multilabel_classification(300, 6, n_classes=3, n_labels=1, random_state=0)
    y = Y[:, :1]
    alone = CostSearch(LogisticRegression(), cv=3, param_grid=None, n_trials=2).fit(X, y.ravel())
    widths = []
    for fitted in (alone, search("micro", n_trials=2).fit(X, np.repeat(y, 6, axis=1))):
        low, high = fitted.score_interval_
        widths.append(high - low)
        assert fitted.best_score_ == pytest.approx(alone.best_score_, abs=0.01)
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


@pytest.mark.parametrize("average", ["micro", "samples"])
def test_a_checkpoint_goes_on(average, data, tmp_path):
    X, Y = data
    file, grid = tmp_path / "trials.json", {"C": [0.1, 1.0]}
    whole = search(average, param_grid=grid, n_trials=2).fit(X, Y)
    stopped = search(average, param_grid=grid, n_trials=2, checkpoint=file, callbacks=[lambda study, trial: True])
    assert stopped.fit(X, Y).n_trials_ < whole.n_trials_
    resumed = search(average, param_grid=grid, n_trials=2, checkpoint=file).fit(X, Y)
    assert resumed.trials_ == whole.trials_
    assert resumed.best_threshold_ == whole.best_threshold_


class Counted(LogisticRegression):
    """Counts its trainings."""

    trainings = 0

    def fit(self, X, y, sample_weight=None):
        type(self).trainings += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("n_before", [6, 8])
def test_labels_with_a_search_each_go_on_where_they_were(n_before, seed, data, tmp_path, monkeypatch):
    """Three labels with six trials on three folds each; the power fails after some of the trials."""
    X, Y = data[0], data[1][:, :3]
    monkeypatch.setattr(Counted, "trainings", 0)

    def fit(Y=Y, **more):
        before = Counted.trainings
        options = {"engine": "generic", "strategy": Ladder(3, race=False), "random_state": seed}
        fitted = search("macro", Counted(), param_grid={"C": [0.1, 1.0]}, **options, **more).fit(X, Y)
        return fitted, Counted.trainings - before

    def fail(study, trial):
        finished.append(trial)
        if len(finished) == n_before:
            raise RuntimeError("power cut")

    (whole, n_whole), finished, path = fit(), [], tmp_path / "trials.json"
    assert n_whole == 3 * (6 * 3 + 1)
    with pytest.raises(RuntimeError, match="power cut"):
        fit(checkpoint=path, callbacks=[fail])
    resumed, n_resumed = fit(checkpoint=path)
    assert n_resumed == n_whole - 3 * n_before
    assert resumed.trials_ == whole.trials_
    assert resumed.best_threshold_.tolist() == whole.best_threshold_.tolist()
    assert resumed.score_interval_ == whole.score_interval_
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))
    assert sorted(each.name for each in tmp_path.iterdir()) == [f"trials.label{at}.json" for at in range(3)]

    # Once all is finished, only the winners are trained.
    again, n_again = fit(checkpoint=path)
    assert n_again == 3
    assert again.trials_ == whole.trials_
    with pytest.raises(ValueError, match=r"trials\.label\d\.json belongs to another search"):
        fit(np.roll(Y, 1, axis=0), checkpoint=path)


# ---------------------------------------------------------------- bases and containers


class Spy(TransformerMixin, BaseEstimator):
    """Counts its trainings."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append(np.shape(y))
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize("average", AVERAGES)
def test_steps_of_a_pipeline_are_fitted_once_for_all_labels(average, data):
    Spy.seen.clear()
    grid = {"logisticregression__C": [0.1, 1.0]}
    fitted = search(average, make_pipeline(Spy(), LogisticRegression()), param_grid=grid, n_trials=2).fit(*data)
    assert Spy.seen == [(240, 4)] * 3 + [(360, 4)]
    assert np.array_equal(fitted.predict(data[0]), fitted.decision_function(data[0]) > 0)


def test_steps_that_want_one_target_are_fitted_for_each_label(data):
    X, Y = data
    fitted = search("micro", make_pipeline(SelectKBest(k=2), LogisticRegression()), n_trials=1).fit(X, Y)
    for at, model in enumerate(fitted.best_estimator_.estimators_):
        assert np.array_equal(model[0].get_support(), SelectKBest(k=2).fit(X, Y[:, at]).get_support())


@pytest.mark.parametrize(
    ("wrapped", "name"),
    [
        (MultiOutputClassifier(CLOSE), "estimator__C"),
        (
            make_pipeline(StandardScaler(), MultiOutputClassifier(CLOSE)),
            "multioutputclassifier__estimator__C",
        ),
        (OneVsRestClassifier(CLOSE), "estimator__C"),
    ],
    ids=["multi-output", "pipeline", "one-vs-rest"],
)
def test_bases_that_train_one_model_a_label_themselves(wrapped, name, data):
    X, Y = data
    steps = [StandardScaler()] if name.startswith("multi") else []
    plain = make_pipeline(*steps, CLOSE) if steps else CLOSE
    own = "logisticregression__C" if steps else "C"
    one = search("micro", wrapped, param_grid={name: [0.1, 1.0]}, n_trials=2).fit(*data)
    other = search("micro", plain, param_grid={own: [0.1, 1.0]}, n_trials=2).fit(*data)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-3)
    auto = search("micro", wrapped, param_grid="auto", n_trials=1, threshold="tune").fit(X, Y)
    assert auto.n_trials_ == 7


def test_a_base_that_could_learn_all_labels_at_once_is_trained_for_each(data):
    """Costs are those of a label, and weights of rows would be those of all."""
    X, Y = data
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    fitted = search("micro", tree, n_trials=1).fit(X, Y)
    for model, codes in zip(fitted.best_estimator_.estimators_, Y.T):
        np.testing.assert_array_equal(model.predict_proba(X), clone(tree).fit(X, codes).predict_proba(X))


def test_containers(data):
    pd = pytest.importorskip("pandas")
    X, Y = data
    frame = pd.DataFrame(Y, columns=["sky", "sea", "sun", "sand"])
    expected = search("micro", n_trials=1).fit(X, Y)
    assert expected.label_names_.tolist() == [0, 1, 2, 3]
    for given in (frame, frame.astype(bool), sp.csr_array(Y), sp.coo_matrix(Y), Y.tolist(), Y.astype(float)):
        fitted = search("micro", n_trials=1).fit(X, given)
        assert np.array_equal(fitted.decision_function(X), expected.decision_function(X))
        assert fitted.score(X, given) == expected.score(X, Y)
    assert search("macro", n_trials=1).fit(X, frame).label_names_.tolist() == ["sky", "sea", "sun", "sand"]


def test_strata_spread_rare_labels():
    rng = np.random.default_rng(0)
    Y = (rng.uniform(size=(500, 4)) < [0.6, 0.97, 0.1, 0.02]) * 1
    strata = label_strata(Y)
    counts = Y.sum(axis=0)
    assert np.bincount(strata).min(where=np.bincount(strata) > 0, initial=500) == counts[3]
    assert np.array_equal(np.flatnonzero(Y[:, 3]), np.flatnonzero(strata == strata[Y[:, 3] == 1][0]))
    one_hot = np.eye(3, dtype=int)[np.arange(90) % 3]
    assert np.array_equal(np.unique(label_strata(one_hot), return_inverse=True)[1], np.arange(90) % 3)


# ---------------------------------------------------------------- metrics


@pytest.mark.parametrize("average", [*AVERAGES, "examples"])
@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_are_those_of_scikit_learn(average, weighted):
    rng = np.random.default_rng(0)
    truth, found = rng.integers(0, 2, (2, 50, 3))
    truth[:9], found[4:7] = 0, 0
    truth[:, 2], found[:, 2] = 0, 0
    weight = rng.uniform(0.5, 2.0, 50) if weighted else None
    metric, wrong = get_label_metric(f"f1_{average}"), np.where([0, 0, 1], 1, found)
    assert metric.of(truth, wrong, weight) == pytest.approx(f1(average, truth, wrong, weight))
    assert metric.of(truth, found, weight) == pytest.approx(f1(average, truth, found, weight))
    if average in ("macro", "micro"):
        expected = jaccard_score(truth, found, average=average, sample_weight=weight, zero_division=0.0)
        assert get_label_metric(f"jaccard_{average}").of(truth, found, weight) == pytest.approx(expected)


NAMED = {"f1": f1_score, "jaccard": jaccard_score, "precision": precision_score, "recall": recall_score}


@pytest.mark.parametrize("seed", range(30))
def test_names_of_scikit_learn_have_its_values(seed):
    """Also where a sample has no label, where no sample has a label, or every one, and where nothing is predicted."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(3, 9)), int(rng.integers(2, 5))
    truth, found = (rng.random((2, *shape)) < rng.choice([0.1, 0.4, 0.9])) * 1
    weight = rng.integers(1, 4, shape[0]) * 1.0
    for name, function in NAMED.items():
        for average in ("macro", "micro", "weighted", "samples")[: 4 if name == "f1" else 3]:
            expected = function(truth, found, average=average, sample_weight=weight, zero_division=0.0)
            metric = get_label_metric(f"{name}_{average}")
            assert metric.of(truth, found, weight) == pytest.approx(expected)
            assert get_label_metric(make_scorer(function, average=average)) == metric


@pytest.mark.parametrize(
    ("scorer", "name"),
    [
        (get_scorer("f1_samples"), "f1_samples"),
        (make_scorer(f1_score, average="samples", zero_division=1), "f1_examples"),
        (make_scorer(f1_score, average="macro", zero_division=1), None),
        (make_scorer(f1_score, average="macro", greater_is_better=False), None),
        (make_scorer(hamming_loss, greater_is_better=False), None),
        (get_scorer("jaccard_samples"), None),
        (get_scorer("f1"), None),
    ],
)
def test_scorers_of_averages(scorer, name):
    if name is not None:
        assert get_label_metric(scorer).name == name
        return
    with pytest.raises(ValueError, match=r"'accuracy_micro'|the mean over samples is that of F-beta"):
        get_label_metric(scorer)


def test_what_is_proposed_for_the_hamming_loss(data):
    with pytest.raises(ValueError, match="'accuracy_micro', which is 1 less the Hamming loss"):
        get_label_metric("hamming_loss")
    X, Y = data
    fitted = CostSearch(LogisticRegression(), "accuracy_micro", cv=3, param_grid=None, n_trials=1).fit(X, Y)
    assert fitted.score(X, Y) == pytest.approx(1.0 - hamming_loss(Y, fitted.predict(X)))


def test_metrics_by_name():
    assert get_label_metric("f0.25_micro") == Averaged(FBeta(0.25), "micro")
    assert get_label_metric("balanced_accuracy_macro").name == "balanced_accuracy_macro"
    assert get_label_metric(Averaged(Tversky(), "macro")).metric == Tversky()
    with pytest.raises(ValueError, match="average must be one of"):
        Averaged(FBeta(), "median")
    with pytest.raises(ValueError, match="the mean over samples is that of F-beta"):
        get_label_metric("gmean_samples")
    with pytest.raises(ValueError, match="unknown metric 'nothing'"):
        get_label_metric("nothing_macro")


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda Y: np.where(np.arange(360)[:, None] * [0, 0, 1, 0] == 7, 2, Y), "column 2 of y holds 2; each column"),
        (lambda Y: np.where(np.arange(360)[:, None] * [0, 0, 1, 0] == 7, np.nan, Y), "column 2 of y contains NaN"),
        (lambda Y: Y.astype(str), "column 0 of y holds '[01]'; each column must hold 0 and 1"),
        (lambda Y: Y * [1, 0, 1, 1], "column 1 of y is 0 for all 360 samples"),
        (lambda Y: np.maximum(Y, [0, 0, 0, 1]), "column 3 of y is 1 for all 360 samples"),
        (lambda Y: Y * [1, 0, 1, 1] + (np.arange(360) > 0)[:, None] * [0, 1, 0, 0], "column 1 of y is 0 for 1"),
        (lambda Y: Y[..., None], r"must have shape \(n_samples, n_labels\), got \(360, 4, 1\)"),
        (lambda Y: [np.flatnonzero(row).tolist() for row in Y], "MultiLabelBinarizer"),
    ],
)
def test_bad_targets(spoil, message, data):
    with pytest.raises(ValueError, match=message):
        search("micro", cv=None).fit(data[0], spoil(data[1]))


def test_a_label_without_weight_is_named(data):
    X, Y = data
    with pytest.raises(ValueError, match=r"column 1 of y is 0 for all \d+ samples with a positive weight"):
        search("macro").fit(X, Y, 1.0 - Y[:, 1])


def test_a_training_part_without_a_label_is_named(data):
    X, Y = data
    rows = np.flatnonzero(Y[:, 1])
    with pytest.raises(ValueError, match="split 1 of cv trains on samples all of which have 0 in column 1"):
        search("micro", cv=[(np.arange(360), rows), (np.flatnonzero(Y[:, 1] == 0), rows)]).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "f1"}, "write 'f1_macro' for the mean over labels"),
        ({"metric": "gmean"}, "write 'gmean_macro'"),
        ({"metric": FBeta()}, "write 'f1_macro'"),
        ({"constraint": "precision[1] >= 0.8"}, "all labels share a threshold, and constraints are on all pairs"),
        ({"null_class": 0}, "null_class=0 is not for several labels"),
        ({"pos_label": 1}, "pos_label=1 is not for several labels"),
        ({"cv": "prefit"}, "the base is already fitted"),
        ({"cv": 300}, r"cv=300 needs at least 300 samples with and without each label; column . of y is [01] for \d+"),
        ({"base": ClassifierChain(LogisticRegression())}, "trains on all labels at once.* csf.thresholding.sweep"),
        ({"base": OneVsRestClassifier(LogisticRegression()), "weighting": "one-vs-rest"}, "weighting='one-vs-rest' is"),
    ],
)
def test_searches_that_make_no_sense(options, message, data):
    with pytest.raises(ValueError, match=message):
        search("micro").set_params(**options).fit(*data)


@pytest.mark.parametrize("few", ["with it", "without it"])
def test_as_many_samples_of_a_label_as_folds_are_enough(few, data):
    X, Y = data
    rows = np.r_[np.flatnonzero(Y[:, 1])[:4], np.flatnonzero(Y[:, 1] == 0)[:60]]
    wanted = Y[rows] if few == "with it" else 1 - Y[rows]
    assert search("micro", cv=4, n_trials=1).fit(X[rows], wanted).n_splits_ == 4
    with pytest.raises(ValueError, match="cv=5 needs at least 5 samples with and without each label; column 1"):
        search("micro", cv=5, n_trials=1).fit(X[rows], wanted)


def test_each_label_may_have_another_share(data):
    X, Y = data
    fitted = search("macro", n_trials=2).fit(X, Y)
    shares = np.array([0.1, 0.3, 0.6, 0.4])
    moved = fitted.at_prevalence(shares)
    each = [one.at_prevalence(share) for one, share in zip(fitted.searches_, shares.tolist())]
    assert moved.best_threshold_.tolist() == [one.best_threshold_ for one in each]
    assert moved.best_score_ == pytest.approx(np.mean([one.best_score_ for one in each]))
    assert moved.corrected_score_ == pytest.approx(np.mean([one.corrected_score_ for one in each]))
    assert moved.upper_bound_ == pytest.approx(np.mean([one.upper_bound_ for one in each]))
    np.testing.assert_array_equal(moved.predict(X), np.column_stack([one.predict(X) for one in each]))
    assert fitted.best_threshold_.tolist() == [one.best_threshold_ for one in fitted.searches_]
    named = fitted.at_prevalence(dict(zip((3, 2, 1, 0), shares[::-1].tolist())))
    np.testing.assert_array_equal(named.best_threshold_, moved.best_threshold_)
    with pytest.raises(ValueError, match=r"pos: there is no 5; accepted: \[0, 1, 2, 3\]"):
        fitted.at_prevalence({0: 0.1, 5: 0.2})
    with pytest.raises(ValueError, match="pos must be"):
        fitted.at_prevalence([0.1, 0.2, 1.0, 0.4])


@pytest.mark.slow
def test_each_label_has_a_page_and_a_rule_of_its_own(data, tmp_path):
    from csf.export import linear_rule

    X, Y = data
    fitted = search("macro", n_trials=1).fit(X, Y)
    found = fitted.predict(X)
    for k, one in enumerate(fitted.searches_):
        np.testing.assert_array_equal(linear_rule(one).predict(X), found[:, k])
    fitted.searches_[1].report(tmp_path / "page.html", X, Y[:, 1])
    assert (tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.parametrize("average", AVERAGES)
def test_what_is_of_one_label_is_refused(average, data):
    from csf.export import fixed_threshold

    X, Y = data
    fitted = search(average, n_trials=1).fit(X, Y)
    shares = "several labels a sample.*share of samples with each of 4 labels"
    way_out = shares if average == "macro" else "such as metric='f1_macro'"
    with pytest.raises(ValueError, match=way_out):
        fitted.at_prevalence(0.3)
    with pytest.raises(ValueError, match="4 labels a sample"):
        fixed_threshold(fitted)
    if average == "macro":
        for ask in (fitted.held_out_curve, fitted.trials_frame):
            with pytest.raises(ValueError, match=r"ask searches_\[k\]"):
                ask()
    with pytest.raises(ValueError, match="a column for each of 4 labels, got 3"):
        fitted.score(X, Y[:, :3])


# ---------------------------------------------------------------- capacities where labels share a threshold


@pytest.mark.filterwarnings("ignore:F-score is ill-defined")
@pytest.mark.parametrize("metric", ["f1_micro", "f1_samples"])
def test_capacities_of_labels_that_share_a_threshold_are_those_of_new_rows(metric):
    def samples(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 3))
        signal = np.column_stack([X[:, 0], 1.5 * X[:, 1], X[:, 0] + X[:, 2]]) - [2.0, 1.5, 3.0]
        return X, (signal + rng.logistic(size=(n, 3)) > 0.0).astype(int)

    new, truth = samples(20_000, seed=1)
    options = {"param_grid": None, "cv": 3, "n_trials": 1, "random_state": 0}
    X, Y = samples(1500, seed=0)
    search = CostSearch(LogisticRegression(), metric, **options).fit(X, Y)
    for limits in ({1: 0.08}, {0: 0.05, 2: 0.03}, {2: 0.9}):
        capacity, predicted = search.at_capacity(limits), search.predict(new, limits)
        low, high = capacity.interval
        assert low < f1_score(truth, predicted, average=metric.removeprefix("f1_"), zero_division=0.0) < high
        for label, share in limits.items():
            given = predicted[:, label]
            assert given.mean() <= share
            assert capacity.acted_on[label] == pytest.approx(given.mean(), abs=0.03)
            assert capacity.captured[label] == pytest.approx(given[truth[:, label] == 1].mean(), abs=0.08)
    # A limit that decides nothing changes nothing.
    assert search.at_capacity({2: 0.9}).value == pytest.approx(search.corrected_score_, abs=0.01)
