"""One outcome: what is published belongs together, moves together and is gone together."""

import copy
import inspect
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from builders import paper_search, told
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from csf import CostSearch, Trial
from csf.data.labels import Labels, read_classes
from csf.evaluate import Candidate, ScoreStore
from csf.metrics import FBeta, Metric, get_confusion_metric, get_metric
from csf.metrics.trials import best_trial
from csf.search.config import SearchConfig
from csf.search.problems.binary_result import THRESHOLD, cv_results
from csf.search.problems.multiclass import conclude_classes
from csf.search.problems.prevalence import _moved_trial
from csf.search.problems.results import SearchRecord
from csf.search.selection import choose
from csf.search.study import MulticlassStudy, judged_fields
from csf.search.workers import LocalTrainer
from csf.thresholding import curve_at_prevalence
from csf.thresholding.class_choice import MulticlassStore
from csf.thresholding.linear_rule import ClassProbabilityRule, MulticlassRule, confusion_of, cross_fitted, tune_rule
from csf.thresholding.rule import ThresholdRule

X, Y = make_classification(600, 6, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
SEARCHES = {
    "f1": CostSearch(LinearSVC(), cv=3),
    "recall": CostSearch(LogisticRegression(), "recall", constraint="precision >= 0.5", cv=3),
    "cone": paper_search(LinearSVC(), "jaccard", cv=3, n_trials=6, bound="envelope"),
}


@cache
def fitted(kind):
    return SEARCHES[kind].fit(X, Y)


def test_the_plain_call_is_what_the_configuration_says():
    parameters = inspect.signature(CostSearch).parameters
    for field in fields(SearchConfig):
        if field.name != "base":
            given = parameters[field.name].default
            assert given is field.default or given == field.default, field.name
    assert set(parameters) == {field.name for field in fields(SearchConfig)}


@settings(max_examples=25, deadline=None)
@given(kind=st.sampled_from(sorted(SEARCHES)), pos=st.floats(0.01, 0.95))
def test_all_numbers_move_with_the_share(kind, pos):
    search = fitted(kind)
    moved = search.at_prevalence(pos)
    assert moved.best_score_ <= moved.score_at_prevalence_ + 1e-12
    if moved.feasible_:
        assert moved.score_at_prevalence_ <= moved.upper_bound_ + 1e-9
        assert moved.gap_ == pytest.approx(moved.upper_bound_ - moved.score_at_prevalence_, abs=0.2)
        assert moved.gap_ >= 0.0
    curve = moved.held_out_curve()
    assert curve.pos == pytest.approx(pos, rel=1e-6)
    profile = curve.at(moved.best_threshold_)
    metric = get_metric(search.metric)
    assert metric.of(profile) == pytest.approx(moved.best_score_, rel=1e-6)
    if kind == "recall":
        precision = get_metric("precision").of(profile)
        assert moved.constraint_value_ == pytest.approx(precision, rel=1e-6)
        assert moved.feasible_ == (precision >= 0.5 - 1e-9)
    # What was searched stays, and so does the search itself.
    assert moved.trials_ == search.trials_
    assert search.best_threshold_ == fitted(kind).best_threshold_


@pytest.mark.parametrize("kind", sorted(SEARCHES))
def test_the_same_share_moves_nothing(kind):
    search = fitted(kind)
    moved = search.at_prevalence(float(Y.mean()))
    assert moved.score_at_prevalence_ == pytest.approx(max(t.score for t in search.trials_ if t.feasible), rel=1e-6)
    assert moved.upper_bound_ == pytest.approx(search.upper_bound_, abs=0.02)


@pytest.mark.parametrize("pos", [0.05, 0.6])
def test_rates_within_the_classes_stay_at_another_share(pos):
    for old in fitted("f1").trials_:
        new = _moved_trial(old, get_metric("f1"), pos, None)
        before, after = old.profile, new.profile
        assert after.pos == pytest.approx(pos)
        rates = after.fn / after.pos, after.fp / (1.0 - after.pos)
        assert rates == pytest.approx((before.fn / before.pos, before.fp / (1.0 - before.pos)))
        c_fn, c_fp = old.costs[0] * before.pos / pos, old.costs[1] * (1.0 - before.pos) / (1.0 - pos)
        assert new.costs[0] / new.costs[1] == pytest.approx(c_fn / c_fp)


def names_told(search):
    """Names of all that a search can be asked for."""
    names = ("best_score_", "corrected_score_", "score_interval_", "upper_bound_", "trials_", "best_estimator_")
    return [name for name in names if hasattr(search, name)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_fit_that_fails_leaves_nothing():
    search = clone(SEARCHES["f1"]).fit(X, Y)
    assert len(names_told(search)) == 6
    broken = X.copy()
    broken[:, 0] = np.nan
    with pytest.raises(ValueError, match="trials failed"):
        search.fit(broken, Y)
    assert names_told(search) == []
    asked = search.predict, search.decision_function, search.at_prevalence, search.report, lambda X: search.assess()
    for ask in asked:
        with pytest.raises(NotFittedError):
            ask(X)
    with pytest.raises(ValueError, match="n_trials"):
        search.fit(X, Y).set_params(n_trials=0).fit(X, Y)
    assert names_told(search) == []


def test_ctrl_c_in_the_midst_of_trainings_that_are_repeated_is_ctrl_c(tmp_path, monkeypatch):
    """Half of a search is none: scores too large for the file are there again, or nothing is."""
    monkeypatch.setattr("csf.search.loop._LARGEST", 0)
    path = tmp_path / "search.json"
    search = CostSearch(LinearSVC(), n_trials=5, cv=3, checkpoint=path)
    with pytest.warns(UserWarning, match="interrupted"):
        copy.copy(search).set_params(callbacks=[_interrupt_at(2)]).fit(X, Y)
    whole = clone(search).set_params(checkpoint=None).fit(X, Y)
    original, calls = LocalTrainer.train, []

    def interrupted(self, batch, *, raise_errors):
        calls.append(batch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, batch, raise_errors=raise_errors)

    monkeypatch.setattr(LocalTrainer, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clone(search).fit(X, Y)
    monkeypatch.setattr(LocalTrainer, "train", original)
    assert clone(search).fit(X, Y).trials_ == whole.trials_


def _interrupt_at(number):
    def callback(study, trial):
        if trial.number == number:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize(("method", "natural"), [("decision_function", 0.0), ("predict_proba", 0.5)])
def test_a_rule_knows_which_score_it_cuts(method, natural):
    model = LogisticRegression().fit(X, Y)
    classes = {"known": np.array([0, 1]), "names": np.array(["no", "yes"]), "null": "no"}
    own = ThresholdRule.of(model, **classes, threshold=None, method=method, tuned=False)
    assert own.threshold == natural
    np.testing.assert_array_equal(own.predict(X) == "yes", model.predict(X) == 1)
    rule = ThresholdRule.of(model, **classes, threshold=0.3, method=method)
    score = model.decision_function(X) if method == "decision_function" else model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(rule.predict(X) == "yes", score >= 0.3)
    np.testing.assert_array_equal(rule.decision_function(X) > 0, score >= 0.3)


def test_another_share_keeps_the_constraint():
    """Precision falls with the share of positives: the best recall is that of cuts that keep it."""
    rng = np.random.default_rng(0)
    y = np.arange(600) < 200
    X = rng.normal(size=(600, 2)) + 1.5 * y[:, None]
    search = CostSearch(LogisticRegression(), "recall", constraint="precision >= 0.8", param_grid=None, cv=3)
    search.set_params(threshold="tune", n_trials=3).fit(X, y)
    for pos in (0.2, 0.5):
        moved = search.at_prevalence(pos)
        curve = curve_at_prevalence(search.held_out_curve(), pos)
        rate = curve.at(moved.best_threshold_)
        assert moved.feasible_
        assert moved.constraint_value_ == pytest.approx(rate.tp / rate.predicted_pos)
        assert moved.constraint_value_ >= 0.8
        precision = (pos - curve.fn) / np.maximum(pos - curve.fn + curve.fp, 1e-12)
        keeps = precision >= 0.8
        assert not keeps[np.argmin(curve.fn)]  # finding everything would be best without it
        assert moved.best_score_ == pytest.approx(1.0 - curve.fn[keeps].min() / pos)
        assert moved.score_at_prevalence_ >= moved.best_score_


def test_the_best_trial_at_another_share_is_one_that_keeps_the_constraint():
    """One trial finds everything and breaks the constraint; the other finds two in five, and nothing else."""
    is_pos = np.arange(100) < 50
    search = CostSearch(LogisticRegression(), "recall", constraint="precision >= 0.9", param_grid=None, cv=3)
    search.set_params(threshold="tune", n_trials=2).fit(is_pos[:, None] * 1.0, is_pos)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=np.zeros(100), threshold=0.0, value=1.0, equal_costs=True)
    store.add((0, 1), score=np.where(np.arange(100) < 20, 1.0, 0.0), threshold=0.5, value=0.4)
    for own, feasible in ((0, False), (1, True)):
        found = replace(search.result_, store=store, candidate=Candidate((0, own), THRESHOLD))
        moved = found.at_shares(0.3, None)[0]
        assert moved.feasible == feasible
        assert moved.moved_best == (1, pytest.approx(0.4))


class Root(Metric):
    """G-mean, undefined where more samples are wrong than there are."""

    def value(self, fn, fp, *, pos):
        return np.sqrt((1.0 - fn / pos) * (1.0 - fp / (1.0 - pos)))


def test_rounding_of_another_share_makes_no_class_more_than_wrong():
    """The positive that is found last is below all negatives: all of them are wrong at one of the known cuts."""
    y = (np.arange(30) < 9).astype(int)
    score = np.where(np.arange(30) == 0, -9.0, y + np.linspace(0.0, 3.0, 30))[:, None]
    base = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    search = CostSearch(base, Root(), cv="prefit", threshold="tune").fit(score, y)
    for pos in (0.06, 0.12, 0.53, 0.57, 0.7, 0.76):
        moved = search.at_prevalence(pos)
        assert 0.0 <= moved.gap_ <= moved.upper_bound_ <= 1.0


# ---------------------------------------------------------------- the table of trials


SETTINGS = [{"C": 1.0, "kernel": "rbf"}, {"C": 2.0}]


def trials():
    first = replace(told(0, 0.5, 0.2, 0.1, pos=0.25), score=0.6, fold_scores=(0.5, 0.7, None), threshold=np.inf)
    second = replace(told(1, 0.25, 0.1, 0.2, pos=0.25), score=0.8, fold_scores=(0.9, 0.7, 0.8), setting=1, fit_time=2.0)
    third = replace(told(2, None, 0.1, 0.1, pos=0.25, costs=(0.75, 0.25)), score=0.6, fold_scores=(None, None, None))
    failed = Trial(number=3, t=0.75, costs=(1.25, 0.75), state="failed", error="no memory", setting=1)
    return [first, second, third, failed]


def test_one_row_a_trial():
    table = cv_results(trials(), SETTINGS, 3)
    frame = pd.DataFrame(table)
    assert frame.shape[0] == 4
    assert frame["params"].tolist() == [{"t": t, **SETTINGS[s]} for t, s in ((0.5, 0), (0.25, 1), (None, 0), (0.75, 1))]
    assert frame["param_t"].tolist()[:2] == [0.5, 0.25]
    assert np.isnan(frame["param_t"][2])
    assert frame["param_c_fn"].tolist() == [1.5, 1.75, 0.75, 1.25]
    assert frame["param_c_fp"].tolist() == [0.5, 0.25, 0.25, 0.75]
    assert frame["param_C"].tolist() == [1.0, 2.0, 1.0, 2.0]
    assert table["param_kernel"].tolist() == ["rbf", None, "rbf", None]
    assert frame["state"].tolist() == ["complete", "complete", "complete", "failed"]
    assert table["error"].tolist() == [None, None, None, "no memory"]
    assert frame["threshold"][0] == np.inf
    assert frame["fn"].tolist()[:3] == pytest.approx([0.05, 0.025, 0.025])
    assert frame["fp"].tolist()[:3] == pytest.approx([0.075, 0.15, 0.075])
    assert frame["fit_time"].tolist() == [0.0, 2.0, 0.0, 0.0]


def test_gaps_of_linear_models_are_told():
    table = cv_results([replace(each, duality_gap=0.25 if each.number else None) for each in trials()], SETTINGS, 3)
    np.testing.assert_array_equal(table["duality_gap"], [np.nan, 0.25, 0.25, 0.25])


def test_scores_of_folds_their_mean_and_the_pooled_one():
    table = cv_results(trials(), SETTINGS, 3)
    assert table["split1_test_score"][:2].tolist() == [0.7, 0.7]
    assert np.isnan([table["split2_test_score"][0], *(table[f"split{i}_test_score"][3] for i in range(3))]).all()
    assert table["mean_test_score"][:2] == pytest.approx([0.6, 0.8])
    assert table["std_test_score"][:2] == pytest.approx([0.1, np.std([0.9, 0.7, 0.8])])
    assert np.isnan(table["mean_test_score"][2:]).all()
    assert table["pooled_test_score"][:3].tolist() == [0.6, 0.8, 0.6]
    assert table["rank_test_score"].tolist() == [2, 1, 2, 4]


def test_the_winner_has_rank_one_also_under_a_constraint():
    history = trials()
    history[1] = replace(history[1], violation=0.1)
    table = cv_results(history, SETTINGS, 3)
    assert table["rank_test_score"].tolist() == [1, 3, 1, 4]
    assert table["rank_test_score"][history.index(best_trial(history))] == 1
    worse = [replace(trial, violation=0.2 + 0.1 * trial.number) for trial in trials()[:3]]
    assert cv_results(worse, SETTINGS, 3)["rank_test_score"].tolist() == [1, 2, 3]


def test_without_settings_and_folds():
    table = cv_results([told(0, 0.5, 0.2, 0.1, pos=0.25)], [{}], 0)
    assert table["params"].tolist() == [{"t": 0.5}]
    assert not any(name.startswith("split") for name in table)
    assert np.isnan(table["mean_test_score"]).all()
    assert table["rank_test_score"].tolist() == [1]


def test_values_of_any_type_are_kept():
    settings = [{"weights": [1, 2]}, {"weights": {"a": 1}}]
    history = [told(0, 0.5, 0.2, 0.1, pos=0.25), replace(told(1, 0.25, 0.2, 0.1, pos=0.25), setting=1)]
    assert cv_results(history, settings, 0)["param_weights"].tolist() == [[1, 2], {"a": 1}]


class Refused(LinearSVC):
    """Says the same of all data."""

    def fit(self, X, y, sample_weight=None):
        raise TypeError("Input X is odd.\nMore of this elsewhere.")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_where_all_trials_fail_the_cause_comes_first_and_once():
    X, y = np.zeros((40, 2)), np.arange(40) % 4 == 0
    with pytest.raises(TypeError, match=r"^all 5 trials failed: TypeError: Input X is odd\.\n") as caught:
        CostSearch(Refused(), strategy="grid", n_trials=5, cv=2).fit(X, y * 1)
    assert str(caught.value).count("Traceback (most recent call last)") == 1
    assert str(caught.value).count("More of this elsewhere") == 2  # in the line that raises and in its text


class Counted(LinearSVC):
    """Counts its trainings, all of which fail unless C is small: then those with equal costs work."""

    trainings = 0

    def fit(self, X, y, sample_weight=None):
        type(self).trainings += 1
        if self.C < 0.2 and (sample_weight is None or np.ptp(sample_weight) == 0.0):
            return super().fit(X, y, sample_weight)
        raise ArithmeticError(f"{len(y)} samples are too many")


SAMPLES = np.random.default_rng(0).normal(size=(45, 2)), (np.arange(45) % 4 == 0) * 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize(
    ("grid", "trainings"),
    [
        ("auto", 4),
        (None, 4),
        ({"C": [1.0, 2.0]}, 8),
    ],
    ids=str,
)
def test_an_error_of_all_folds_with_equal_costs_ends_the_search_at_once(grid, trainings):
    Counted.trainings = 0
    with pytest.raises(ValueError, match=r"^all trials failed on every fold.*: ArithmeticError: \d+ samples") as caught:
        CostSearch(Counted(), param_grid=grid, cv=4).fit(*SAMPLES)
    assert Counted.trainings == trainings
    assert type(caught.value.__cause__) is ArithmeticError
    assert "Traceback" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_what_only_some_settings_folds_or_costs_cannot_take_ends_no_search():
    other_setting = CostSearch(Counted(), param_grid={"C": [1.0, 0.1]}, cv=4).fit(*SAMPLES)
    assert other_setting.best_params_ == {"C": 0.1}
    assert [trial.state for trial in other_setting.studies_[1].trials] == ["complete", "failed", "failed"]
    assert [trial.state for trial in other_setting.studies_[0].trials] == ["failed"]
    assert "failed, with equal costs" in other_setting.stop_reason_
    X, y = SAMPLES
    splits = [(np.arange(5, 45), np.arange(5)), (np.arange(40), np.arange(40, 42))]
    X = np.where(np.arange(45)[:, None] == 42, np.nan, X)
    with pytest.raises(ValueError, match=r"^all \d+ trials failed: ValueError: Input X contains NaN"):
        CostSearch(LinearSVC(), cv=splits).fit(X, y)


class Moody(LinearSVC):
    """Fails for the C's that a search tries above its own, and in another way where the first sample is held out."""

    def fit(self, X, y, sample_weight=None):
        if self.C > 1.0:
            raise ArithmeticError("C is too large")
        if self.C == 1e-3:
            raise ArithmeticError("the first is there" if X[0, 0] == SAMPLES[0][0, 0] else "the first is not there")
        return super().fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_search_goes_on_after_what_worked_and_after_errors_that_differ():
    search = CostSearch(Moody(), cv=3, param_grid=[{"C": [0.5]}, {"C": [2.0]}], n_trials=2).fit(*SAMPLES)
    assert search.best_params_ == {"C": 0.5}
    with pytest.raises(ValueError, match=r"^all \d+ trials failed: ArithmeticError"):
        CostSearch(Moody(C=1e-3), cv=3).fit(*SAMPLES)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_missing_values_are_told_with_the_way_out():
    X, y = SAMPLES
    X = np.where(np.arange(45)[:, None] % 5 == 0, np.nan, X)
    with pytest.raises(ValueError, match=r"contains NaN.\nFill in .*make_pipeline\(SimpleImputer\(\)") as caught:
        CostSearch(LinearSVC(), cv=4).fit(X, y)
    assert "natively" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match=r"^Input X contains NaN"):
        CostSearch(LinearSVC(), cv=4, error_score="raise").fit(X, y)
    CostSearch(make_pipeline(SimpleImputer(), LinearSVC()), cv=4, n_trials=1).fit(X, y).predict(X)
    CostSearch(HistGradientBoostingClassifier(max_iter=2), cv=2, n_trials=1).fit(X, y).predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_what_is_being_handled_around_a_search_is_no_cause_of_its_failures():
    X, y = np.zeros((40, 2)), np.arange(40) % 4 == 0
    search = CostSearch(Refused(), strategy="grid", n_trials=2, cv=2)
    try:
        raise LookupError("an earlier matter")
    except LookupError:
        with pytest.raises(TypeError, match=r"^all 2 trials failed") as caught:
            search.fit(X, y * 1)
    assert "earlier matter" not in str(caught.value)


def test_other_causes_are_told_in_a_line_each():
    failed = [replace(trials()[3], error=error) for error in ("no memory", "no time\nat all", "no memory")]
    with pytest.raises(ValueError, match=r"^all 3 trials failed: no memory\nothers: no time$"):
        choose(failed, FBeta())


def test_a_winner_far_from_its_optimum_is_told():
    """Counts without scaling and a weak penalty: the solver runs out of products."""
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.3).astype(int)
    X = sparse.csr_array(rng.poisson(0.3, size=(400, 700)) * rng.lognormal(3.0, 2.0, size=(400, 1)))
    search = CostSearch(LinearSVC(C=1e6, max_iter=1), n_trials=2, cv=2, refit=False)
    with pytest.warns(ConvergenceWarning, match="may be .*% above its optimum; scale the features"):
        search.fit(X, y)


# ---------------------------------------------------------------- what a search of several classes publishes, and how


N = 400
TRUTH = np.repeat([0, 1, 2], [280, 80, 40])
SHARES = np.array([0.7, 0.2, 0.1])
METRIC = get_confusion_metric("f1_macro")
NAMES = np.array(["ant", "bee", "cow"])
LABELS = read_classes(NAMES[TRUTH])[0]


def true_probabilities(shares=SHARES, truth=TRUTH, seed=0):
    """Probabilities of samples that are normal around a corner a class, and these samples."""
    centres = 1.5 * np.eye(3)
    X = centres[truth] + np.random.default_rng(seed).normal(size=(truth.size, 3))
    log = -0.5 * ((X[:, None] - centres) ** 2).sum(axis=2) + np.log(shares)
    proba = np.exp(log - log.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)


class Known(ClassifierMixin, BaseEstimator):
    """Gives the probabilities that it is asked for."""

    classes_ = np.arange(3)

    def predict_proba(self, X):
        return X


def outcome(score=None, tune=True, n_trials=1):
    """Result of a search whose trainings all gave the same."""
    score = true_probabilities() if score is None else score
    config = SearchConfig(base=Known(), metric="f1_macro")
    study = MulticlassStudy(METRIC, "ladder", shares=SHARES, n_trials=n_trials)
    store = MulticlassStore(TRUTH, n_classes=3, margins=False)
    for trial in study.ask_batch():
        score = score.astype(np.float32)
        own, codes, tuned, judged = score.argmax(axis=1), None, None, None
        if tune:
            proba = store.probabilities(score, trial.costs)
            codes = cross_fitted(proba, TRUTH, METRIC, store.parts(score))
            tuned = confusion_of(TRUTH, tune_rule(proba, TRUTH, METRIC).decide(proba), 3)
            judged = confusion_of(TRUTH, codes, 3)
        fields = judged_fields(METRIC, confusion_of(TRUTH, own, 3), tuned, judged)
        told = study.record(trial, fold_scores=(0.25, None), **fields)
        store.add_trial((0, trial.number), told, score if tune else None, own, codes)
    told = {"settings": [{"C": 2.0}], "n_splits": 2, "stop_reason": "over"}
    return conclude_classes(
        SearchRecord(config=config, studies=[study], store=store, **told), Labels(np.arange(3), None)
    )


def test_what_is_published_comes_from_one_confusion_matrix():
    told = outcome().published()
    assert told["best_score_"] == METRIC.value(told["confusion_"])
    assert told["confusion_"].sum(axis=1) == pytest.approx(SHARES)
    assert told["rule_"].kind == "affine"
    assert np.isnan([told["upper_bound_"], told["gap_"]]).all()
    assert told["best_params_"] == {"C": 2.0}


def test_the_table_tells_all_three_decisions():
    found = outcome(n_trials=3)
    table = found.published()["cv_results_"]
    for name in ("own", "tuned", "judged"):
        column = "value" if name == "own" else f"{name}_value"
        values = [METRIC.value(np.array(getattr(trial, name))) for trial in found.trials]
        np.testing.assert_array_equal(table[column], values)
    np.testing.assert_array_equal(table["param_t"], [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(table["split0_test_score"], [0.25] * 3)
    assert np.isnan(table["split1_test_score"]).all()
    assert table["params"][1] == {"t": 0.5, "C": 2.0}
    assert np.isnan(outcome(tune=False).published()["cv_results_"]["judged_value"]).all()


def test_at_other_shares_the_rule_is_what_would_be_tuned_there():
    new = np.array([0.2, 0.3, 0.5])
    found = outcome()
    moved, rule = found.at_shares(new, found.rule_with(Known(), LABELS))
    assert moved.confusion.sum(axis=1) == pytest.approx(new)
    # New data with these shares, of which the old probabilities are told.
    truth = np.repeat([0, 1, 2], (20_000 * new).astype(int))
    old, true = true_probabilities(truth=truth, seed=1), true_probabilities(new, truth, seed=1)
    np.testing.assert_allclose(rule.predict_proba(old), true, atol=1e-9)
    ideal = tune_rule(true, truth, METRIC).decide(true)
    decided = np.searchsorted(NAMES, rule.predict(old))
    best, got = (METRIC.value(confusion_of(truth, codes, 3)) for codes in (ideal, decided))
    assert best - got < 0.01
    assert moved.published()["best_score_"] == pytest.approx(got, abs=0.08)


def test_moving_to_the_own_shares_changes_nothing():
    found = outcome()
    moved, none = found.at_shares(SHARES * 10.0, None)
    assert none is None
    assert moved.rule.slopes == pytest.approx(found.rule.slopes)
    assert moved.confusion == pytest.approx(found.confusion)


@pytest.mark.parametrize("shares", [0.2, [0.5, 0.5], [0.5, 0.5, 0.0], [0.5, np.nan, 0.5], [np.inf, 1.0, 1.0]])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(ValueError, match="one positive share for each of 3 classes, got"):
        outcome().at_shares(shares, None)


class FeatureProbabilities(ClassifierMixin, BaseEstimator):
    """Its probabilities are the features."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[X.argmax(axis=1)]

    def predict_proba(self, X):
        return X


def test_values_of_new_labels():
    X, y = np.eye(3)[[0, 1, 2, 1]], NAMES[[0, 1, 2, 2]]
    rule = MulticlassRule(
        FeatureProbabilities().fit(X, NAMES[[0, 1, 2, 1]]), NAMES, NAMES, ClassProbabilityRule.argmax(3)
    )
    assert rule.score("f1_macro", X, y) == pytest.approx((1.0 + 2 / 3 + 2 / 3) / 3)
    assert rule.score("f1_macro", X, y, [1.0, 1.0, 1.0, 0.0]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"holds 'dog', which is none of the fitted classes \['ant', 'bee', 'cow'\]"):
        rule.score("f1_macro", X[:2], ["ant", "dog"])
