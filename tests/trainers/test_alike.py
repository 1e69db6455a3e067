"""Trainings of three and more classes of which none means nothing to find."""

import pickle
from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf.data.costs import CostChannel, cost_channel, cost_sample_weight
from csf.data.folds import Fold, Task
from csf.data.labels import read_classes
from csf.trainers import make_trainers
from csf.trainers.base import GenericTrainer
from csf.trainers.multiclass import LinearSVCsTrainer, OneVsRestTrainer
from csf.trainers.registry import PipelineTrainer

X, CODES = make_classification(
    240, 7, n_informative=5, n_classes=4, n_clusters_per_class=1, weights=[0.5, 0.3, 0.1], random_state=1
)
NAMES = np.array(["oak", "ash", "fir", "elm"])  # in another order than the codes of make_classification
LABELS, Y = read_classes(NAMES[CODES])
WEIGHT = np.random.default_rng(0).uniform(0.3, 3.0, Y.size)
TRAIN, TEST = np.arange(0, 160), np.arange(160, 240)
COSTS = (0.6, 2.0, 0.3, 1.7)
SVM, REST = partial(LinearSVC, dual=False, tol=1e-8, max_iter=10_000), partial(LogisticRegression, tol=1e-9)
BASES = {
    "tree": (DecisionTreeClassifier(max_depth=4, random_state=0), GenericTrainer),
    "forest": (RandomForestClassifier(5, random_state=0), GenericTrainer),
    "bayes": (GaussianNB(), GenericTrainer),
    "svc": (SVC(break_ties=True), GenericTrainer),
    "sgd": (SGDClassifier(random_state=0), GenericTrainer),
    "svm": (SVM(), LinearSVCsTrainer),
    "balanced svm": (SVM(class_weight="balanced"), LinearSVCsTrainer),
    "own svm": (SVM(class_weight={"elm": 3.0}), LinearSVCsTrainer),
    "svms": (OneVsRestClassifier(SVM()), OneVsRestTrainer),
    "logistics": (OneVsRestClassifier(REST(max_iter=1000)), OneVsRestTrainer),
    "scaled": (make_pipeline(StandardScaler(), SVM()), PipelineTrainer),
    "scaled forest": (make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)), PipelineTrainer),
}


def fold_of(weight=None, train=TRAIN, y=Y):
    return Fold(Task(X, y, weight, labels=LABELS), train, TEST)


def trainer_of(base, fold, normalize="none"):
    return make_trainers(base, [fold], cost_channel(base), normalize)[0]


def expected_scores(model):
    method = getattr(model, "predict_proba", None) or model.decision_function
    return method(X[TEST])


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", BASES)
def test_it_trains_and_answers_as_the_base_with_weights_of_classes(name, weight):
    base, kind = BASES[name]
    trainer = trainer_of(base, fold_of(weight), "mean")
    assert type(trainer) is kind
    training = trainer.fit(COSTS)
    given = np.array(COSTS)[Y[TRAIN]] * (1.0 if weight is None else weight[TRAIN])
    given *= (TRAIN.size if weight is None else weight[TRAIN].sum()) / given.sum()
    prefix = f"{base.steps[-1][0]}__" if hasattr(base, "steps") else ""
    plain, last = clone(base), getattr(base, "steps", [("", base)])[-1][1]
    if getattr(last, "class_weight", None) == "balanced":  # of the samples, not of their costs
        own = None if weight is None else weight[TRAIN]
        shares = np.bincount(Y[TRAIN], own) / (TRAIN.size if own is None else own.sum())
        plain.set_params(class_weight=dict(zip(LABELS.classes, 1.0 / (4.0 * shares))))
    if isinstance(base, OneVsRestClassifier):
        with sklearn.config_context(enable_metadata_routing=True):
            plain.estimator.set_fit_request(sample_weight=True)
            plain.fit(X[TRAIN], NAMES[CODES][TRAIN], sample_weight=given)
    else:
        plain.fit(X[TRAIN], NAMES[CODES][TRAIN], **{f"{prefix}sample_weight": given})
    answer = trainer.predict(training, "test", tune=True)
    np.testing.assert_allclose(answer.score, expected_scores(plain), atol=2e-3)
    assert answer.score.shape == (TEST.size, 4)
    assert np.array_equal(answer.decided, answer.score.argmax(axis=1))
    assert np.array_equal(answer.found, answer.decided)
    assert np.array_equal(LABELS.decode(answer.decided), plain.predict(X[TEST]))
    silent = trainer.predict(training, "test", tune=False)
    assert silent.score is None
    assert np.array_equal(LABELS.decode(silent.decided), plain.predict(X[TEST]))
    told = LABELS.decode(trainer.predict(training, "train", tune=False).decided)
    assert np.array_equal(told, plain.predict(X[TRAIN]))
    assert np.array_equal(trainer.estimator(training).predict(X), plain.predict(X))


@pytest.mark.parametrize("name", ["bayes", "svc", "sgd", "svm", "svms", "logistics", "scaled"])
@pytest.mark.parametrize("missing", [[1], [0, 3]], ids=str)
def test_a_class_that_the_training_part_lacks_is_the_least_likely(name, missing):
    base = BASES[name][0]
    trainer = trainer_of(base, fold_of(train=TRAIN[~np.isin(Y[TRAIN], missing)]))
    training = trainer.fit(COSTS)
    answer, model = trainer.predict(training, "test", tune=True), trainer.estimator(training)
    learnt = np.setdiff1d(np.arange(4), missing)
    assert np.array_equal(model.classes_, LABELS.classes[learnt])
    assert np.isfinite(answer.score).all()
    rest = answer.score[:, learnt]
    assert np.array_equal(model.classes_[rest.argmax(axis=1)], model.predict(X[TEST]))
    if hasattr(model, "predict_proba"):
        assert (answer.score[:, missing] == 0.0).all()
        np.testing.assert_allclose(rest, model.predict_proba(X[TEST]))
    else:
        lowest = rest.min(axis=1, keepdims=True) - 1.0
        assert np.array_equal(answer.score[:, missing], np.repeat(lowest, len(missing), axis=1))
        own = model.decision_function(X[TEST])
        np.testing.assert_allclose(rest, np.column_stack([-own, own]) if own.ndim == 1 else own)
    decided = trainer.predict(training, "test", tune=False).decided
    assert np.array_equal(LABELS.decode(decided), model.predict(X[TEST]))


def test_shares_of_next_to_nothing_are_shares():
    """One class against the rest: all of them may be next to 0."""
    far = OneVsRestClassifier(LogisticRegression(C=1e6, max_iter=10_000))
    task = Task(1e4 * X, Y, labels=LABELS)
    trainer = trainer_of(far, Fold(task, TRAIN, TEST))
    answer = trainer.predict(trainer.fit((1.0, 1.0, 1.0, 1.0)), "test", tune=True)
    np.testing.assert_allclose(answer.score.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["svm", "logistics"])
def test_earlier_solutions_are_starts(name):
    trainer = trainer_of(BASES[name][0], fold_of())
    assert len(trainer.position(COSTS)) == 4
    cold = trainer.fit(COSTS)
    starts = [trainer.fit(costs).state for costs in ((1.0, 1.0, 1.0, 1.0), (0.7, 1.5, 0.5, 1.3))]
    warm = trainer.fit(COSTS, starts)
    first, second = (trainer.predict(each, "test", tune=True).score for each in (cold, warm))
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_it_travels_without_its_samples():
    trainer = pickle.loads(pickle.dumps(trainer_of(GaussianNB(), fold_of())))
    assert trainer.fold.n_alike == 4
    assert trainer.predict(trainer.fit(COSTS), "test", tune=True).score.shape == (TEST.size, 4)


class ByClass(ClassifierMixin, BaseEstimator):
    """Takes class weights, no sample weights."""

    def __init__(self, class_weight=None):
        self.class_weight = class_weight

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


def test_weights_of_classes_go_by_class_weight_too():
    base = ByClass()
    assert cost_channel(base) == CostChannel("class_weight", "class_weight")
    model = cost_channel(base).fit(base, X, Y, COSTS, normalize="mean")
    scale = Y.size / cost_sample_weight(Y, COSTS).sum()
    assert model.class_weight == pytest.approx({k: scale * c for k, c in enumerate(COSTS)})


def test_liblinear_says_that_it_does_not_weigh_them():
    with pytest.raises(ValueError, match="y has 4 classes of which none means nothing to find; use engine='auto'"):
        make_trainers(LinearSVC(), [fold_of()], cost_channel(LinearSVC()), engine="liblinear")
