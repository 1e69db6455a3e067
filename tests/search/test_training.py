"""Trainings on folds, and scores that are pooled before the metric is taken."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from builders import told
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from csf import ErrorProfile, Trial
from csf.data.costs import cost_channel, cost_sample_weight
from csf.data.folds import Fold, Task, bound_share, make_folds
from csf.data.labels import Labels
from csf.data.responses import Response, respond
from csf.metrics import Constrained, FBeta, GMean, Recall, WeightedAccuracy, get_constraint
from csf.metrics.profile import Hull
from csf.search.problems.binary import BinaryEvaluator, evaluate
from csf.search.problems.binary_result import warn_of_one_side
from csf.search.training import Cause, FoldResult, run_fold
from csf.trainers import GenericTrainer, Training

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = (X[:, 0] + RNG.normal(size=90) > 1.0).astype(int)
WEIGHT = RNG.uniform(0.5, 2.0, 90)
SPLITS = list(StratifiedKFold(3).split(X, Y))


class Plain:
    """All that a fold asks of a trainer."""

    def __init__(self, base, fold):
        self.base, self.fold = base, fold

    def fit(self, costs, starts):
        weight = cost_sample_weight(self.fold.y_train == 1, costs, sample_weight=self.fold.weight_train)
        model = clone(self.base).fit(self.fold.X_train, self.fold.y_train, sample_weight=weight)
        return Training(model, state=("trained", costs, *starts), gap=1e-3 * self.fold.train[0])

    def predict(self, training, part, *, tune):
        return respond(training.model, self.fold.X_test if part == "test" else self.fold.X_train, 0, tune=tune)


def results_of(folds, *, tune, base=None, on_train=False, raise_errors=True, costs=(1.5, 0.5)):
    base = LinearSVC() if base is None else base
    options = {"tune": tune, "on_train": on_train}
    results = [run_fold(Plain(base, fold), fold, costs, ("start",), **options) for fold in folds]
    if raise_errors:
        for result in results:
            result.raise_error()
    return results


def folds_of(weight=None, splits=SPLITS):
    return make_folds(Task(X, Y, weight), splits)


def pooled_outcome(metric, folds, results, *, tune):
    fields, predictions = BinaryEvaluator(metric, tune=tune).judge(folds, results, Trial(0, 0.5, (1.5, 0.5)))
    assert (predictions is None) is ("error" in fields)
    return fields


class Broken(LinearSVC):
    """Raises when it is trained."""

    def fit(self, X, y, sample_weight=None):
        raise ValueError("out of memory")


class Nan(LinearSVC):
    """Predicts NaN."""

    def predict(self, X):
        return np.full(X.shape[0], np.nan)

    def decision_function(self, X):
        return np.full(X.shape[0], np.nan)


# ---------------------------------------------------------------- pooling


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_without_a_threshold_the_score_is_that_of_all_predictions_together(weight):
    folds = folds_of(weight)
    results = results_of(folds, tune=False)
    fields = pooled_outcome(FBeta(), folds, results, tune=False)
    y_true, y_pred = (np.concatenate(parts) for parts in ([f.y_test for f in folds], [r.decided for r in results]))
    weights = None if weight is None else np.concatenate([f.weight_test for f in folds])
    assert fields["score"] == pytest.approx(f1_score(y_true, y_pred, sample_weight=weights), abs=1e-12)
    assert fields["threshold"] is None
    each = [f1_score(f.y_test, r.decided, sample_weight=f.weight_test) for f, r in zip(folds, results, strict=True)]
    assert fields["fold_scores"] == pytest.approx(each, abs=1e-12)
    # ... which is not the mean of the folds'.
    assert fields["score"] != pytest.approx(np.mean(each), abs=1e-3)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("metric", [FBeta(), GMean()], ids=repr)
def test_the_threshold_is_the_best_for_all_scores_together(metric, weight):
    folds = folds_of(weight)
    results = results_of(folds, tune=True)
    fields = pooled_outcome(metric, folds, results, tune=True)
    y_true, score = (np.concatenate(parts) for parts in ([f.y_test for f in folds], [r.score for r in results]))
    weights = None if weight is None else np.concatenate([f.weight_test for f in folds])

    def at(threshold):
        return metric.score(y_true, (score >= threshold).astype(int), sample_weight=weights)

    assert fields["score"] == pytest.approx(at(fields["threshold"]), abs=1e-12)
    assert fields["score"] == pytest.approx(max(at(threshold) for threshold in [*score, np.inf]), abs=1e-12)
    assert fields["value"] == pytest.approx(at(np.nextafter(0.0, 1.0)), abs=1e-12)
    assert fields["attained"] == pytest.approx(fields["score"], abs=1e-12)
    assert fields["fit_time"] > 0


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("tune", [True, False])
def test_the_score_of_a_single_fold_is_that_of_its_decisions(weight, tune):
    (fold,) = folds = folds_of(weight, SPLITS[:1])
    fields = pooled_outcome(FBeta(), folds, results := results_of(folds, tune=tune), tune=tune)
    (result,) = results
    found = result.score >= fields["threshold"] if tune else result.decided
    own = f1_score(fold.y_test, found, sample_weight=fold.weight_test)
    assert fields["fold_scores"] == pytest.approx((own,), abs=1e-12)


def test_folds_without_a_class_have_no_score_of_their_own():
    """Leave-one-out, and folds in which only one class has weight."""
    splits = [(np.delete(np.arange(90), i), np.array([i])) for i in range(90)]
    folds = folds_of(splits=splits[:30])
    fields = pooled_outcome(FBeta(), folds, results_of(folds, tune=True), tune=True)
    assert fields["fold_scores"] == (None,) * 30
    assert fields["score"] > 0
    weight = np.ones(90)
    weight[SPLITS[0][1]] = np.where(Y[SPLITS[0][1]] == 1, 0.0, 1.0)
    folds = folds_of(weight)
    fields = pooled_outcome(FBeta(), folds, results_of(folds, tune=True), tune=True)
    assert fields["fold_scores"][0] is None
    assert None not in fields["fold_scores"][1:]


def test_a_constraint_is_kept_on_the_pooled_predictions():
    metric = Constrained(Recall(), get_constraint("precision >= 0.6"))
    folds = folds_of()
    fields = pooled_outcome(metric, folds, results_of(folds, tune=True), tune=True)
    assert fields["violation"] == 0
    assert fields["rate"] >= 0.6 - 1e-12


@given(labels=st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=20), cut=st.integers(0, 4))
def test_scores_that_say_as_much_as_the_decision(labels, cut):
    is_pos, score = (np.array(part) for part in zip((True, 0), (False, 4), *labels, strict=True))
    score = score.astype(float)
    fields = evaluate(FBeta(), is_pos, np.zeros(is_pos.size, bool), score >= cut, score, None)
    best = max(FBeta().of(ErrorProfile.from_masks(is_pos, score >= t)) for t in [*score, np.inf])
    assert fields["score"] == pytest.approx(best, abs=1e-12)
    assert fields["value"] <= fields["score"] + 1e-12


def test_states_and_gaps_come_back():
    folds = folds_of()
    results = results_of(folds, tune=False)
    assert [result.state for result in results] == [("trained", (1.5, 0.5), "start")] * 3
    assert [result.duality_gap for result in results] == [1e-3 * fold.train[0] for fold in folds]
    assert pooled_outcome(FBeta(), folds, results, tune=False)["duality_gap"] == 1e-3 * max(f.train[0] for f in folds)
    results[1] = replace(results[1], duality_gap=None)
    assert pooled_outcome(FBeta(), folds, results, tune=False)["duality_gap"] is None


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize(("base", "text"), [(Broken(), "out of memory"), (Nan(), "NaN")])
@pytest.mark.parametrize("tune", [False, True])
def test_failures_are_recorded_or_raised(base, text, tune):
    folds = folds_of()
    results = results_of(folds, tune=tune, base=base, raise_errors=False)
    fields = pooled_outcome(FBeta(), folds, results, tune=tune)
    assert text in fields["error"]
    assert "Traceback" in fields["error"]
    assert set(fields) == {"error", "fit_time", "score_time"}
    with pytest.raises(ValueError, match=text):
        results_of(folds, tune=tune, base=base, raise_errors=True)


class Answers(LinearSVC):
    """Gives whatever answers it is told to."""

    def __init__(self, answer=None):
        super().__init__()
        self.answer = answer

    def predict(self, X):
        return self.answer(X)

    def decision_function(self, X):
        return self.answer(X)


@pytest.mark.parametrize(
    ("answer", "tune", "text"),
    [
        (lambda X: np.zeros(len(X) - 1), True, r"one score for each .*, got shape \(29,\) for 30 samples"),
        (lambda X: np.zeros((len(X), 1)), True, r"one score for each .*, got shape \(30, 1\) for 30 samples"),
        (lambda X: ["much"] * len(X), True, "could not convert string to float"),
        (lambda X: np.zeros(1, dtype=int), False, r"one label a sample, got \(1,\)"),
        (
            lambda X: np.full(len(X), -1),
            False,
            r"predicted the classes \[-1\], but it was trained on the codes \[0, 1\]",
        ),
        (lambda X: np.full(len(X), "no"), False, r"predicted the classes \['no'\], but"),
    ],
)
def test_answers_that_cannot_be_are_failures(answer, tune, text):
    """One score too few is stretched, or breaks far from the base."""
    folds = folds_of()
    results = results_of(folds, tune=tune, base=Answers(answer), raise_errors=False)
    assert all(result.decided is None for result in results)
    with pytest.raises(ValueError, match=text):
        results[0].raise_error()


class Registered(Plain):
    """A trainer of the user's own, whose answers no other part has checked."""

    def __init__(self, response):
        self.response = response

    def fit(self, costs, starts):
        return Training(None)

    def predict(self, training, part, *, tune):
        return self.response


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (Response(np.zeros(29, bool), np.zeros(30)), r"decisions of shape \(29,\) for 30 samples"),
        (Response(np.zeros(30, bool)), r"scores of shape \(\) for 30 samples"),
        (Response(np.zeros(30, bool), np.full(30, np.nan)), "NaN scores for 30 of 30 samples"),
        (Response(np.zeros(30, bool), np.zeros(30), np.ones(7)), r"labels of shape \(7,\) for 30 samples"),
        (Response(np.zeros(30, bool), np.zeros(30), np.full(30, -1)), r"predicted the classes \[-1\]"),
    ],
)
def test_answers_of_any_trainer_are_checked(response, text):
    result = run_fold(Registered(response), folds_of()[0], (1.0, 1.0), tune=True, on_train=False)
    assert "ValueError" in result.error
    with pytest.raises(ValueError, match=text):
        result.raise_error()


@pytest.mark.parametrize(("threshold", "side"), [(2.0, "none"), (-2.0, "all")])
def test_a_winner_that_tells_nothing_apart_any_more_is_warned_of(threshold, side):
    """Unless finding all, or none, is as good as the winner is said to be."""
    found = np.linspace(-1.0, 1.0, 9) >= threshold
    pos, metric = 0.2, WeightedAccuracy()
    useless = pos if side == "all" else 1.0 - pos
    for score, warned in ((useless + 0.01, True), (useless, False)):
        winner = replace(told(0, None, 0.1, 0.1, pos=pos, costs=(1.0, 1.0)), score=score, threshold=threshold)
        with warnings.catch_warnings(record=True) as known:
            warnings.simplefilter("always")
            warn_of_one_side(metric, winner, found)
        assert [f"finds {side} of its samples positive" in str(each.message) for each in known] == [True] * warned


def test_one_failed_fold_fails_the_trial():
    folds = folds_of()
    results = results_of(folds, tune=True)
    results[1] = FoldResult(error="no")
    assert pooled_outcome(FBeta(), folds, results, tune=True)["error"] == "no"


# ---------------------------------------------------------------- training parts


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_training_parts_are_averaged_over_folds(weight):
    folds = folds_of(weight)
    results = results_of(folds, tune=True, on_train=True, base=LogisticRegression())
    fields = pooled_outcome(FBeta(), folds, results, tune=True)
    shares = np.array([f.y_train.size if weight is None else f.weight_train.sum() for f in folds])
    shares = shares / shares.sum()
    profiles = [result.train_outcome[0] for result in results]
    for name in ("fn", "fp", "pos"):
        expected = sum(share * getattr(p, name) for share, p in zip(shares, profiles, strict=True))
        assert getattr(fields["profile"], name) == pytest.approx(expected)
    assert fields["profile"].pos == pytest.approx(bound_share(folds, on_train=True))
    for c in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (4.0, 1.0)):
        cheapest = [result.train_outcome[1].cheapest(*c) for result in results]
        assert fields["hull"].cheapest(*c) == pytest.approx(np.dot(shares, cheapest))
    assert isinstance(fields["hull"], Hull)
    # The winner is still chosen on held-out predictions.
    held_out = pooled_outcome(FBeta(), folds, results_of(folds, tune=True, base=LogisticRegression()), tune=True)
    assert (fields["score"], fields["threshold"]) == (held_out["score"], held_out["threshold"])
    assert fields["value"] != held_out["value"]


# ---------------------------------------------------------------- what a training on a fold leaves behind where it


def test_an_error_travels_with_the_text_of_its_traceback():
    try:
        raise MemoryError("too large")
    except MemoryError as error:
        cause = Cause(error)
    arrived = pickle.loads(pickle.dumps(cause)).error
    assert isinstance(arrived, MemoryError)
    (note,) = arrived.__notes__
    assert "In a worker:" in note
    assert 'raise MemoryError("too large")' in note


def test_what_cannot_travel_breaks_nothing():
    assert pickle.loads(pickle.dumps(Cause(None))).error is None
    error = ValueError("no")
    error.lock = (each for each in ())
    assert pickle.loads(pickle.dumps(Cause(error))).error is None


class Told(GenericTrainer):
    """Answers what it is told."""

    def predict(self, training, part, *, tune):
        return self.answer


def alike(trainer=GenericTrainer):
    labels, y = Labels(np.array(["a", "b", "c"]), None), np.tile([0, 1, 2], 8)
    fold = Fold(
        Task(np.random.default_rng(0).normal(size=(24, 2)) + y[:, None], y, labels=labels),
        *np.split(np.arange(24), [18]),
    )
    return trainer(GaussianNB(), fold, cost_channel(GaussianNB())), fold.without_samples


def test_scores_of_classes_that_are_alike_are_those_of_all():
    trainer, fold = alike()
    result = run_fold(trainer, fold, (1.0, 2.0, 1.0), tune=True, on_train=False)
    model = trainer.train_base((1.0, 2.0, 1.0))
    assert result.error is None
    assert result.lost is None
    assert np.array_equal(result.score, model.predict_proba(trainer.fold.X_test))
    assert np.array_equal(trainer.fold.labels.decode(result.decided), model.predict(trainer.fold.X_test))


CODES, GOOD = np.array([0, 1, 2, 0, 1, 2]), np.full((6, 3), 1 / 3)


@pytest.mark.parametrize(
    ("decided", "score", "message"),
    [
        (CODES[:5], GOOD, r"GaussianNB gave decisions of shape \(5,\) for 6 samples"),
        (CODES, GOOD[:, 0], r"GaussianNB gave scores of shape \(6,\) for 6 samples, not \(6, 3\)"),
        (CODES, GOOD[:, :2], r"GaussianNB gave scores of shape \(6, 2\) for 6 samples, not \(6, 3\)"),
        (CODES, None, r"GaussianNB gave scores of shape \(\) for 6 samples, not \(6, 3\)"),
        (CODES, np.where(np.eye(6, 3), np.nan, GOOD), "GaussianNB gave NaN or infinite scores for 3 of 6 samples"),
        (CODES, np.where(np.eye(6, 3), -np.inf, GOOD), "GaussianNB gave NaN or infinite scores for 3 of 6 samples"),
        (CODES + 1, GOOD, r"predicted the classes \[3\], but it was trained on the codes \[0, 1, 2\] alone"),
    ],
)
def test_answers_about_classes_that_cannot_be(decided, score, message):
    trainer, fold = alike(Told)
    trainer.answer = Response(decided, score, 1)
    result = run_fold(trainer, fold, (1.0, 1.0, 1.0), tune=True, on_train=False)
    with pytest.raises(ValueError, match=message):
        result.raise_error()
