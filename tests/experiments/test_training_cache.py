"""Shared trainings: each is made once, and equal to the plain one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from csf.data.responses import respond
from csf.metrics import get_metric
from csf.metrics.profile import ErrorProfile
from csf.thresholding import sweep
from notebooks.experiments import DataSet
from notebooks.experiments.training_cache import BASES, SplitContext, TrainingCache

F1 = get_metric("f1")


def alone(estimator, **params):
    """A clone that LIBLINEAR trains to the end, in an order that does not depend on the generator all tests share."""
    if isinstance(estimator, LinearSVC):
        params |= {"max_iter": 100_000, "random_state": 0}
    return clone(estimator).set_params(**params)


@pytest.mark.parametrize("base", BASES)
def test_held_out_scores_are_those_of_plain_trainings(data, modern, base):
    split = modern.split(data, 0)
    cache = TrainingCache(BASES[base], split, F1, modern)
    trained = cache.trained(0, (1.6, 0.4))
    weight, expected = np.where(split.y == 1, 1.6, 0.4), []
    for train, held_out in split.folds:
        model = alone(BASES[base].estimator, **cache.settings[0])
        expected.append(model.fit(split.X[train], split.y[train], weight[train]).decision_function(split.X[held_out]))
    # The hinge loss is solved to a relative gap, and LIBLINEAR's solution is not exact either.
    np.testing.assert_allclose(trained.score, np.concatenate(expected), atol=0.05 if base == "hinge" else 0.03)
    truth = np.concatenate([split.y[held_out] for _, held_out in split.folds]) == 1
    np.testing.assert_array_equal(cache.is_pos, truth)
    best = sweep(truth, trained.score).best(F1)
    assert (trained.tuned["score"], trained.tuned["threshold"]) == (best.value, best.threshold)
    assert trained.own["score"] == F1.of(ErrorProfile.from_masks(truth, trained.score > 0))


def test_tested_model_is_trained_on_everything_or_is_the_judged_one(data, modern, paper):
    for protocol in (modern, paper):
        split = protocol.split(data, 0)
        cache = TrainingCache(BASES["svc"], split, F1, protocol)
        rows = np.arange(split.y.size) if protocol.refit else split.folds[0][0]
        model = alone(BASES["svc"].estimator, C=4.0)
        weight = np.where(split.y == 1, 1.5, 0.5)
        model.fit(split.X[rows], split.y[rows], weight[rows])
        score, lost, seconds = cache.tested(1, (1.5, 0.5))
        np.testing.assert_allclose(score, model.decision_function(split.X_test), atol=1e-3)
        assert not lost.any()
        assert seconds > 0


@pytest.mark.filterwarnings("ignore:LIBLINEAR stopped at its own limit:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("base", ["hinge", "svc", "logistic"])
def test_liblinear_trains_what_the_paper_s_authors_trained(data, paper, base):
    split = paper.split(data, 0)
    ours = TrainingCache(BASES[base], split, F1, paper)
    theirs = TrainingCache(BASES[base], split, F1, replace(paper, engine="liblinear"))
    assert {type(row[0]).__name__ for row in theirs._trainers} == {"LiblinearTrainer"}
    for costs in ((1.0, 1.0), (1.6, 0.4)):
        one, other = ours.trained(0, costs), theirs.trained(0, costs)
        np.testing.assert_allclose(other.score, one.score, atol=0.05)
        assert other.tuned["score"] == pytest.approx(one.tuned["score"], abs=0.02)


def test_paper_guides_by_the_training_part(data, paper):
    split = paper.split(data, 0)
    train, held_out = split.folds[0]
    cache = TrainingCache(BASES["hinge"], split, F1, paper)
    fields = cache.trained(1, (1.2, 0.8)).fields(tune=False)
    model = alone(cache.bases[1]).fit(split.X[train], split.y[train], np.where(split.y[train] == 1, 1.2, 0.8))
    for part, name in ((train, "value"), (held_out, "score")):
        profile = ErrorProfile.from_masks(split.y[part] == 1, model.decision_function(split.X[part]) > 0)
        assert fields[name] == pytest.approx(F1.of(profile), abs=0.05)
    assert fields["value"] != fields["score"]
    assert cache.pos == pytest.approx(split.y[train].mean())
    assert fields["profile"].pos == pytest.approx(cache.pos)


@pytest.mark.parametrize("base", ["svc", "boosting"])
def test_flexible_learners_are_guided_by_held_out_data(data, paper, base):
    split = paper.split(data, 0)
    cache = TrainingCache(BASES[base], split, F1, paper)
    fields = cache.trained(0, (1.0, 1.0)).fields(tune=True)
    assert fields["profile"].pos == cache.pos == pytest.approx(split.y[split.folds[0][1]].mean())


def test_trainings_are_made_once(data, modern, monkeypatch):
    cache = SplitContext(modern.split(data, 0), F1, modern).cache("svc")
    first = cache.trained(0, (1.5, 0.5)), cache.tested(0, (1.5, 0.5))
    monkeypatch.setattr(cache, "_trainers", None)
    monkeypatch.setattr(cache, "_final", None)
    assert cache.trained(0, (1.5, 0.5 + 1e-15)) is first[0]
    assert cache.tested(0, (1.5, 0.5)) is first[1]


def test_lab_keeps_one_bench_a_base(data, modern):
    context = SplitContext(modern.split(data, 0), F1, modern)
    assert context.cache("svc") is context.cache("svc")
    assert context.cache("boosting").settings == [{}]
    assert context.cache("svc").settings == [{"C": 0.25}, {"C": 4.0}]


@pytest.fixture
def classes():
    """Three classes of which the second one is nothing to find."""
    X, y = make_classification(400, 6, n_informative=4, n_classes=3, weights=[0.2, 0.6, 0.2], random_state=0)
    return DataSet("classes", X, y, null_class=1)


@pytest.mark.parametrize("base", ["svc", "logistic", "boosting"])
def test_several_classes_are_judged_by_what_is_found(classes, modern, base):
    split = modern.split(classes, 0)
    assert set(split.y) == {0, 1, 2}
    cache = TrainingCache(BASES[base], split, F1, modern)
    trained = cache.trained(0, (1.2, 0.8))
    expected = []
    for train, held_out in split.folds:
        model = clone(cache.bases[0])
        if base == "boosting":
            model.fit(split.X[train], split.y[train], np.where(split.y[train] > 0, 1.2, 0.8))
            expected.append(model.predict(split.X[held_out]))
            continue
        scores = []
        for code in range(3):
            own, rest = (0.8, 1.2) if code == 0 else (1.2, 0.8)
            y = split.y[train] == code
            part = clone(model.estimator).fit(split.X[train], y, np.where(y, own, rest))
            scores.append(part.decision_function(split.X[held_out]))
        expected.append(np.argmax(scores, axis=0))
    truth = np.concatenate([split.y[held_out] for _, held_out in split.folds])
    value = mcf(truth, np.concatenate(expected))
    assert trained.own["score"] == pytest.approx(value, abs=0.01)
    assert trained.tuned["score"] >= trained.own["score"]
    found = ErrorProfile.from_masks(cache.is_pos, trained.found(trained.tuned["threshold"]))
    assert F1.of(found) == pytest.approx(trained.tuned["score"])


def mcf(truth, predicted):
    """Multiclass F1 with class 0 as nothing to find, written out."""
    missed, invented = np.mean((truth > 0) & (truth != predicted)), np.mean((truth == 0) & (predicted > 0))
    pos = np.mean(truth > 0)
    return 2 * (pos - missed) / (2 * pos - missed + invented)


def test_models_of_equal_costs(classes, modern, paper):
    for protocol in (modern, paper):
        split = protocol.split(classes, 0)
        cache = TrainingCache(BASES["logistic"], split, F1, protocol)
        models = cache.models(1)
        assert len(models) == len(split.folds) + 1
        answer = respond(models[-1], split.X_test, 0, tune=True)
        score, lost, _ = cache.tested(1, (1.0, 1.0))
        np.testing.assert_array_equal(answer.score, score)
        np.testing.assert_array_equal(lost, (split.y_test > 0) & (split.y_test != answer.found))


def test_learners_of_dense_samples_get_them(data, modern):
    narrow = DataSet("narrow", sparse.csr_array(data.X), data.y)
    dense, thin = (modern.split(replace(d, prepare=MaxAbsScaler()), 0) for d in (data, narrow))
    assert sparse.issparse(thin.X)
    first, second = (TrainingCache(BASES["boosting"], split, F1, modern) for split in (dense, thin))
    np.testing.assert_array_equal(first.trained(0, (1.5, 0.5)).score, second.trained(0, (1.5, 0.5)).score)
    np.testing.assert_array_equal(first.tested(0, (1.5, 0.5))[0], second.tested(0, (1.5, 0.5))[0])
    assert sparse.issparse(TrainingCache(BASES["svc"], thin, F1, modern).split.X)
